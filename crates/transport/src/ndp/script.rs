//! NDP packet by packet: inputs, expected outputs, and their times.
//!
//! The path holds 10 packets, its largest round trip is 20 us: a packet is lost after 50 us, and a pull is
//! repeated after 100 us of silence. Windows are 4 packets. Outputs are written as words: `data 3 push`,
//! `data 3 again`, `data 3 push again`, `ack 3 <2` (all below 2 have arrived), `ack 3 <2 pull 1`,
//! `nack 3 <0`, `pull 5 <2`.

use crate::script;

use headway_packet::{Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::ndp::{Ndp, NdpEndpoint, NdpParams, PullOrder};
use headway_transport::{Endpoint, InitialWindow, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// A full frame at 10 Gb/s.
const SLOT: Time = Time::ns(1230).saturating_add(Time::ps(400));
// Two and a half largest round trips.
const LOST: Time = Time::us(50);

/// One host's NDP and the words for its outputs.
struct Script {
    machine: Checked<NdpEndpoint>,
}

fn script_params() -> NdpParams {
    NdpParams { window: 4, ..NdpParams::default() }
}

/// Packet `index` of message 0 of `PEER`, `packets` long, as it arrives here.
fn data_packet(packets: u64, index: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, 0);
    packet.index = index;
    packet.count = packets.min(4) as u32;
    packet.message_bytes = packets * FULL;
    packet.payload = FULL as u16;
    packet.wire = Sizes::default().full_wire();
    packet.tag = 77;
    packet.priority = 1;
    packet
}

/// Packet `index` of a message, trimmed to its header.
fn header_packet(packets: u64, index: u32) -> Packet {
    let mut packet = data_packet(packets, index);
    packet.trim_payload(84);
    packet
}

/// Answer of `PEER` about message 0 of this host: all packets below `below` have arrived.
fn feedback_packet(kind: PacketKind, index: u32, below: u32) -> Packet {
    let mut packet = Packet::new(kind, PEER, HERE, 0);
    (packet.index, packet.count) = (index, below);
    packet
}

fn ack_packet(index: u32, below: u32) -> Packet {
    feedback_packet(PacketKind::Ack, index, below)
}

fn nack_packet(index: u32, below: u32) -> Packet {
    feedback_packet(PacketKind::Nack, index, below)
}

fn pull_packet(number: u32, below: u32) -> Packet {
    Packet { token: number, flags: PacketFlags::PULL, ..feedback_packet(PacketKind::Pull, 0, below) }
}

/// Packet `index` of this host's message 0, trimmed and sent back.
fn returned_header(index: u32) -> Packet {
    let mut packet = Packet { src: HERE, dst: PEER, ..data_packet(100, index) };
    packet.trim_payload(84);
    packet.bounce_header();
    packet
}

impl Script {
    fn new(params: NdpParams) -> Script {
        let context = host_context(SLOT * 10, us(20), 4);
        Script { machine: Checked::new(Ndp::make_endpoint(&params, context)) }
    }
}

impl Steps for Script {
    type Machine = NdpEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<NdpEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        packet_words(packet)
    }
}

fn packet_words(p: &Packet) -> String {
    let flag = |flag, word: &'static str| if p.flags.has_all(flag) { word } else { "" };
    let again = flag(PacketFlags::AGAIN, " again");
    match p.kind {
        PacketKind::Data => format!("data {}{}{again}", p.index, flag(PacketFlags::UNSCHEDULED, " push")),
        PacketKind::Pull => format!("pull {} <{}{again}", p.token, p.count),
        kind => {
            let pull =
                if p.flags.has_all(PacketFlags::PULL) { format!(" pull {}", p.token) } else { "".into() };
            format!("{} {} <{}{pull}", kind.name(), p.index, p.count)
        }
    }
}

fn pushed_words(packets: std::ops::Range<u32>) -> Vec<String> {
    packets.map(|i| format!("data {i} push")).collect()
}

#[test]
fn the_first_window_is_pushed_and_pulls_bring_the_rest() {
    let mut s = Script::new(script_params());
    assert_eq!(s.open_message(us(1), message_of(9)), pushed_words(0..4));
    assert!(s.receive_and_send(us(12), ack_packet(0, 1)).is_empty(), "an acknowledgement permits nothing");
    assert_eq!(s.receive_and_send(us(13), pull_packet(1, 1)), ["data 4"]);
    assert_eq!(
        s.receive_and_send(us(14), pull_packet(4, 2)),
        ["data 5", "data 6", "data 7"],
        "a late pull has been made up for"
    );
    assert!(s.receive_and_send(us(15), pull_packet(2, 2)).is_empty());
    assert_eq!(
        s.receive_and_send(us(16), Packet { token: 6, flags: PacketFlags::PULL, ..ack_packet(3, 4) }),
        ["data 8"]
    );
    assert!(s.receive_and_send(us(17), ack_packet(8, 4)).is_empty());
    assert_eq!(
        s.receive_and_send(us(18), pull_packet(6, 9)),
        ["acknowledged"],
        "what is heard of all below counts"
    );
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn the_default_window_is_30_packets_or_what_the_path_holds() {
    let mut s = Script::new(NdpParams::default());
    assert_eq!(s.open_message(us(1), message_of(100)).len(), 30);
    let mut s = Script::new(NdpParams::default());
    let initial_window = InitialWindow { window: Some(7), ..InitialWindow::default() };
    assert_eq!(s.open_message(us(1), Message { initial_window, ..message_of(100) }).len(), 7);
}

#[test]
fn packets_say_what_a_receiver_must_know_and_use_each_path_once() {
    let mut s = Script::new(script_params());
    s.machine.open_message(us(1), &Message { class: 3, bytes: 8 * FULL + 5, ..message_of(0) });
    assert!(s.drain_events().is_empty());
    s.machine.receive_packet(us(2), &pull_packet(4, 0));
    assert!(s.drain_events().is_empty());
    let packets = s.poll_packets(us(2));
    assert_eq!(packets.len(), 8);
    for packet in &packets {
        assert_eq!((packet.count, packet.message_bytes, packet.remaining), (4, 8 * FULL + 5, 3));
        assert_eq!((packet.priority, packet.tag, packet.payload), (1, 77, 1460));
    }
    for pass in packets.chunks(4) {
        let mut paths: Vec<u32> = pass.iter().map(|p| p.entropy).collect();
        paths.sort_unstable();
        assert_eq!(paths, [0, 1, 2, 3]);
    }
}

#[test]
fn trimmed_packets_wait_for_a_pull_and_go_before_new_ones() {
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(9));
    assert!(s.receive_and_send(us(12), nack_packet(2, 0)).is_empty());
    assert!(s.receive_and_send(us(12), nack_packet(0, 0)).is_empty());
    assert_eq!(s.receive_and_send(us(13), pull_packet(3, 0)), ["data 0 again", "data 2 again", "data 4"]);
    assert_eq!(
        s.receive_and_send(us(14), Packet { token: 4, flags: PacketFlags::PULL, ..nack_packet(1, 0) }),
        ["data 1 again"]
    );
}

#[test]
fn a_pull_without_anything_to_send_is_remembered() {
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(3));
    assert!(s.receive_and_send(us(12), pull_packet(2, 0)).is_empty());
    assert_eq!(s.receive_and_send(us(13), nack_packet(1, 0)), ["data 1 again"]);
    assert_eq!(s.receive_and_send(us(13), nack_packet(2, 0)), ["data 2 again"]);
    assert!(s.receive_and_send(us(13), nack_packet(0, 0)).is_empty());
}

#[test]
fn a_lost_packet_goes_again_on_another_path_and_less_and_less_often() {
    let mut s = Script::new(script_params());
    s.machine.open_message(us(0), &message_of(1));
    assert!(s.drain_events().is_empty());
    let mut path = s.poll_packets(us(0))[0].entropy;
    let mut sent = us(0);
    for timeout in [LOST, LOST * 2, LOST * 4] {
        let at = s.machine.next_timeout().expect("a deadline");
        assert_eq!(at, sent + timeout);
        s.machine.handle_timeout(at);
        assert!(s.drain_events().is_empty());
        let again = s.poll_packets(at);
        assert_eq!(again.iter().map(packet_words).collect::<Vec<_>>(), ["data 0 push again"]);
        assert_ne!(again[0].entropy, path);
        (path, sent) = (again[0].entropy, at);
    }
    assert_eq!(s.receive_and_send(sent + us(1), ack_packet(0, 1)), ["acknowledged"]);
    assert!(s.effects_until(us(1_000_000)).is_empty());
}

#[test]
fn only_what_was_not_heard_of_is_lost() {
    let mut s = Script::new(script_params());
    s.open_message(us(0), message_of(4));
    for packet in [ack_packet(0, 1), nack_packet(2, 1), ack_packet(3, 1)] {
        assert!(s.receive_and_send(us(12), packet).is_empty());
    }
    assert_eq!(s.effects_until(us(60)), [(LOST, vec!["data 1 push again".to_string()])]);
}

#[test]
fn a_returned_packet_waits_while_a_pull_is_to_come() {
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(4));
    for packet in [nack_packet(0, 0), nack_packet(1, 0), returned_header(2), returned_header(3)] {
        assert!(s.receive_and_send(us(9), packet).is_empty(), "two pulls are owed");
    }
    assert_eq!(s.receive_and_send(us(10), pull_packet(1, 0)), ["data 0 again"]);
    assert_eq!(s.receive_and_send(us(11), pull_packet(2, 0)), ["data 1 again"]);
    assert!(s.receive_and_send(us(12), returned_header(0)).is_empty(), "packet 1 is still under way");
    assert_eq!(
        s.receive_and_send(us(13), returned_header(1)),
        ["data 0 push again"],
        "nothing is to come: one keeps the clock going"
    );
}

#[test]
fn when_the_whole_first_window_comes_back_one_packet_goes_again() {
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(9));
    for index in [1, 0, 3] {
        assert!(s.receive_and_send(us(8), returned_header(index)).is_empty());
    }
    assert_eq!(s.receive_and_send(us(9), returned_header(2)), ["data 0 push again"]);
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(1));
    assert_eq!(s.receive_and_send(us(8), returned_header(0)), ["data 0 push again"]);
}

#[test]
fn a_returned_packet_among_arrivals_met_a_bad_path() {
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(20));
    for index in 0..3 {
        s.receive_and_send(us(9), ack_packet(index, index + 1));
    }
    assert_eq!(s.receive_and_send(us(10), returned_header(3)), ["data 3 push again"]);
}

#[test]
fn a_repeated_pull_starts_a_sender_that_has_nothing_under_way() {
    let mut s = Script::new(script_params());
    s.open_message(us(1), message_of(9));
    let repeated =
        |n, below| Packet { flags: PacketFlags::PULL.with(PacketFlags::AGAIN), ..pull_packet(n, below) };
    assert!(s.receive_and_send(us(10), repeated(0, 0)).is_empty(), "four packets are under way");
    for index in 0..4 {
        s.receive_and_send(us(11), ack_packet(index, index + 1));
    }
    assert_eq!(s.receive_and_send(us(12), repeated(1, 4)), ["data 4"]);
    assert!(s.receive_and_send(us(13), ack_packet(4, 5)).is_empty());
    assert_eq!(s.receive_and_send(us(14), repeated(1, 5)), ["data 5 push"]);
}

#[test]
fn every_packet_is_answered_at_once_and_pulled_at_the_links_rate() {
    let mut s = Script::new(script_params());
    let t = us(10);
    assert_eq!(
        s.receive_and_send(t, data_packet(100, 0)),
        ["delivered 1460", "ack 0 <1 pull 1"],
        "the pull need not wait"
    );
    assert_eq!(s.receive_and_send(t, data_packet(100, 2)), ["delivered 1460", "ack 2 <1"]);
    assert_eq!(s.receive_and_send(t, header_packet(100, 1)), ["nack 1 <1"]);
    let pulls = s.effects_until(us(20));
    let at = |n, words: &str| (t + SLOT * n, vec![words.to_string()]);
    assert_eq!(pulls, [at(1, "pull 2 <1"), at(2, "pull 3 <1")]);
    assert_eq!(s.receive_and_send(us(21), data_packet(100, 3)), ["delivered 1460", "ack 3 <1 pull 4"]);
}

#[test]
fn pulls_may_be_slower_and_always_apart_from_acknowledgements() {
    let mut s = Script::new(NdpParams { pull_rate: 0.5, pull_ack: false, ..script_params() });
    s.receive_and_send(us(10), data_packet(100, 0));
    s.receive_and_send(us(10), data_packet(100, 1));
    let pulls = s.effects_until(us(30));
    let at = |time, words: &str| (time, vec![words.to_string()]);
    assert_eq!(pulls, [at(us(10), "pull 1 <2"), at(us(10) + SLOT * 2, "pull 2 <2")]);
}

#[test]
fn a_message_ends_with_its_last_packet_and_its_pulls_with_it() {
    let mut s = Script::new(script_params());
    for index in 0..3 {
        s.receive_and_send(us(10), data_packet(4, index));
    }
    assert_eq!(s.receive_and_send(us(10), data_packet(4, 3)), ["delivered 1460", "completed", "ack 3 <4"]);
    assert_eq!(s.machine.live_messages(), 0);
    assert!(s.effects_until(us(1_000_000)).is_empty(), "no pull is left");
    let later = us(1_000_001);
    assert_eq!(s.receive_and_send(later, data_packet(4, 1)), ["ack 1 <4"], "it is not taken for a new one");
    assert_eq!(s.receive_and_send(later, header_packet(4, 1)), ["ack 1 <4"]);
}

#[test]
fn a_repetition_is_acknowledged_and_earns_no_pull() {
    for (params, expected) in [
        (script_params(), vec![]),
        (NdpParams { pull_duplicates: true, ..script_params() }, vec!["pull 2 <1".to_string()]),
    ] {
        let mut s = Script::new(params);
        s.receive_and_send(us(10), data_packet(100, 0));
        assert_eq!(s.receive_and_send(us(10), data_packet(100, 0)), ["ack 0 <1"]);
        let pulls: Vec<String> = s.effects_until(us(20)).into_iter().flat_map(|(_, words)| words).collect();
        assert_eq!(pulls, expected);
    }
    let mut s = Script::new(script_params());
    s.receive_and_send(us(10), data_packet(100, 0));
    assert_eq!(s.receive_and_send(us(10), header_packet(100, 0)), ["ack 0 <1"], "it has arrived by now");
}

#[test]
fn a_receiver_that_hears_nothing_repeats_its_last_pull() {
    let mut s = Script::new(script_params());
    assert_eq!(s.receive_and_send(us(10), data_packet(100, 0)), ["delivered 1460", "ack 0 <1 pull 1"]);
    let repeats = s.effects_until(us(800));
    let at = |time, words: &str| (us(time), vec![words.to_string()]);
    assert_eq!(
        repeats,
        [at(110, "pull 1 <1 again"), at(310, "pull 1 <1 again"), at(710, "pull 1 <1 again")],
        "after 100, 200 and 400 us of silence"
    );
    s.receive_and_send(us(801), data_packet(100, 1));
    assert_eq!(s.effects_until(us(902)), [at(901, "pull 2 <2 again")], "an arrival makes it attentive again");
}

#[test]
fn messages_are_pulled_in_turn_and_classes_in_order() {
    let of = |src, class, index| Packet { src, remaining: class, ..data_packet(100, index) };
    let pulls = |pull_order| {
        let mut s = Script::new(NdpParams { pull_order, ..script_params() });
        // The first answer takes its pull with it.
        s.receive_and_send(us(10), of(PEER, 1, 0));
        for index in 1..4 {
            s.receive_and_send(us(10), of(PEER, 1, index));
        }
        for index in 0..2 {
            s.receive_and_send(us(10), of(OTHER, 0, index));
        }
        let mut to = String::new();
        while let Some(at) = s.machine.next_timeout().filter(|at| *at < us(20)) {
            s.machine.handle_timeout(at);
            assert!(s.drain_events().is_empty());
            to.extend(s.poll_packets(at).iter().map(|p| if p.dst == PEER { 'p' } else { 'o' }));
        }
        to
    };
    assert_eq!(pulls(PullOrder::Classes), "ooppp");
    assert_eq!(pulls(PullOrder::Fair), "popop");
}

#[test]
fn messages_of_one_host_take_turns_on_its_link() {
    let mut s = Script::new(script_params());
    s.machine.open_message(us(1), &message_of(3));
    assert!(s.drain_events().is_empty());
    s.machine.open_message(us(1), &Message { id: 1, dst: OTHER, ..message_of(2) });
    assert!(s.drain_events().is_empty());
    let to: Vec<u32> = s.poll_packets(us(1)).iter().map(|p| p.dst.0).collect();
    assert_eq!(to, [1, 2, 1, 2, 1]);
}

#[test]
fn a_peer_that_is_gone_is_forgotten_both_ways_and_others_are_not() {
    let mut s = Script::new(script_params());
    s.machine.open_message(us(1), &message_of(5));
    assert!(s.drain_events().is_empty());
    s.machine.open_message(us(1), &Message { dst: OTHER, tag: 79, ..message_of(2) });
    assert!(s.drain_events().is_empty());
    s.machine.receive_packet(us(2), &data_packet(20, 3));
    s.machine.poll_event();
    assert!(s.drain_events().is_empty());
    assert_eq!(s.machine.live_messages(), 3);
    s.machine.forget_peer(us(3), PEER);
    assert_eq!(s.drain_events(), ["failed: the peer is gone"]);
    assert_eq!(
        s.sent_words(us(3)),
        pushed_words(0..2),
        "the acknowledgement is gone, the other host's message is not"
    );
    s.machine.receive_packet(us(4), &Packet { src: OTHER, ..ack_packet(1, 2) });
    assert_eq!(s.drain_events(), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
    assert!(s.effects_until(us(1_000_000)).is_empty(), "and no deadline of it has an effect");
    assert_eq!(
        s.receive_and_send(us(1_000_001), data_packet(1, 0)),
        ["delivered 1460", "completed", "ack 0 <1"]
    );
}

#[test]
fn a_repetition_does_not_wait_for_a_finished_receiver_for_ever() {
    let mut s = Script::new(script_params());
    s.open_message(us(0), message_of(1));
    assert!(s.receive_and_send(us(12), nack_packet(0, 0)).is_empty());
    let sends = s.effects_until(us(900));
    assert_eq!(
        sends,
        // Sixteen time-outs after the last word at 12 us; then one for the repetition itself.
        [(us(812), vec!["data 0 push again".to_string()]), (us(862), vec!["data 0 push again".into()])]
    );
    assert_eq!(s.receive_and_send(us(901), ack_packet(0, 1)), ["acknowledged"]);
}
