//! Ultra Ethernet packet by packet: inputs, expected outputs, and their times.
//!
//! The path's base round trip is 10 full packets, 12.304 us; a bandwidth-delay product and a half is 15 packets. Its largest round
//! trip is 40 us, so that a packet is lost after 50 us. Outputs are written as words: `data 3`, `data 3 ask` (an acknowledgement is
//! wanted), `data 3 spec 20` (without credit yet, and 20 quanta of 256 bytes are wanted in all), `ack 3 <2 +5` (3 is answered, all
//! below 2 have arrived, and 5), `nack 3`, `rts 2 to 40` (2 packets wait to be sent again), `pull 16384` (bytes in all).

use crate::script;

use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::spraying::Spraying;
use headway_transport::uet::{
    NsccParams, RcccParams, UetEndpoint, UetNscc, UetNsccParams, UetParams, UetRccc, UetRcccParams,
};
use headway_transport::{Endpoint, EndpointEvent, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// 1538 bytes at 10 Gb/s.
const SLOT: Time = Time(1_230_400);
const LOST: Time = us_const(50);
/// A pull is 16,384 bytes at 99 % of 10 Gb/s: 64 quanta of 206.868 ns.
const PULL: Time = Time(64 * 206_868);

const fn us_const(n: u64) -> Time {
    Time::us(n)
}

/// One host's machine and the words for its outputs.
struct Script {
    machine: Checked<UetEndpoint>,
}

fn common_params() -> UetParams {
    UetParams { spraying: Spraying::Oblivious, ..UetParams::default() }
}

impl Script {
    fn nscc_script() -> Script {
        Script::over_path(SLOT * 10)
    }

    fn nscc_with(nscc: NsccParams) -> Script {
        let params = UetNsccParams { uet: common_params(), nscc };
        Script { machine: Checked::new(UetNscc::make_endpoint(&params, host_context(SLOT * 10, us(40), 0))) }
    }

    /// A script with a window, over a path of another base round trip.
    fn over_path(base_rtt: Time) -> Script {
        let params = UetNsccParams { uet: common_params(), nscc: NsccParams::default() };
        let max_rtt = base_rtt.max(us(40));
        Script { machine: Checked::new(UetNscc::make_endpoint(&params, host_context(base_rtt, max_rtt, 0))) }
    }

    fn rccc_script(rccc: RcccParams) -> Script {
        let params = UetRcccParams { uet: common_params(), rccc };
        Script { machine: Checked::new(UetRccc::make_endpoint(&params, host_context(SLOT * 10, us(40), 0))) }
    }
}

impl Steps for Script {
    type Machine = UetEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<UetEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        let flag = |flag, word| if packet.flags.has_all(flag) { word } else { "" };
        let (again, marked) = (flag(PacketFlags::AGAIN, " again"), flag(PacketFlags::ECE, " marked"));
        let spec = flag(PacketFlags::UNSCHEDULED, " spec");
        let target = if packet.remaining > 0 { format!(" {}", packet.remaining) } else { String::new() };
        match packet.kind {
            PacketKind::Data => {
                let ask = if packet.token > 0 { " ask" } else { "" };
                format!("data {}{spec}{target}{again}{ask}", packet.index)
            }
            PacketKind::Ack => {
                let bit = |i: u32| packet.message_bytes >> i & 1 == 1;
                let beyond: String = (0..64)
                    .filter(|&i| bit(i))
                    .map(|i| format!(" +{}", packet.count + packet.token + i))
                    .collect();
                let index = packet.index.to_string();
                format!("ack {index} <{}{beyond}{marked}{again}", packet.count)
            }
            PacketKind::Nack => {
                format!("nack {}{marked}{}", packet.index, flag(PacketFlags::LAST_HOP, " last hop"))
            }
            PacketKind::Rts => format!("rts {} to{target}", packet.index + 1),
            PacketKind::Pull => format!("pull {}", packet.message_bytes),
            kind => kind.name().into(),
        }
    }

    fn event_words(event: &EndpointEvent) -> Option<String> {
        match event {
            EndpointEvent::Delivered { .. } => None,
            EndpointEvent::Completed { .. } => Some("completed".into()),
            EndpointEvent::Acknowledged { .. } => Some("acknowledged".into()),
            EndpointEvent::Failed { reason, .. } => Some(format!("failed: {reason}")),
        }
    }
}

/// Packet `index` of message 0 of `PEER`, `packets` long, as it arrives here.
fn data_packet(packets: u64, index: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, 0);
    (packet.index, packet.count, packet.message_bytes) = (index, 15, packets * FULL);
    (packet.payload, packet.wire, packet.tag) = (FULL as u16, Sizes::default().full_wire(), 77);
    (packet.priority, packet.ecn) = (1, Ecn::Ect);
    packet
}

fn asking_packet(packets: u64, index: u32) -> Packet {
    Packet { token: 1, ..data_packet(packets, index) }
}

fn marked_packet(packets: u64, index: u32) -> Packet {
    Packet { ecn: Ecn::Ce, ..data_packet(packets, index) }
}

/// A data packet, trimmed to its header.
fn trimmed_header(packet: Packet, last_hop: bool) -> Packet {
    let mut packet = packet;
    packet.trim_payload(84);
    packet.flags = packet.flags.with(PacketFlags::only_if(last_hop, PacketFlags::LAST_HOP));
    packet
}

/// Answer of `PEER` about message 0 of this host: all below `below` have arrived, and `index` is answered.
fn ack_packet(index: u32, below: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Ack, PEER, HERE, 0);
    (packet.index, packet.count, packet.remaining, packet.entropy) = (index, below, below, 9);
    packet
}

/// Answer of `PEER` about packets `index..=to`, behind a gap at `below`.
fn ack_beyond(index: u32, below: u32, to: u32) -> Packet {
    let arrived = to - below;
    let bits = (1u64 << arrived) - 1;
    Packet { message_bytes: bits << 1, remaining: below + arrived, ..ack_packet(index, below) }
}

fn nack_packet(index: u32, flags: PacketFlags) -> Packet {
    let mut packet = Packet::new(PacketKind::Nack, PEER, HERE, 0);
    (packet.index, packet.entropy, packet.flags) = (index, 9, flags);
    packet
}

fn pull_packet(bytes: u64) -> Packet {
    let mut packet = Packet::new(PacketKind::Pull, PEER, HERE, 0);
    (packet.message_bytes, packet.flags) = (bytes, PacketFlags::PULL);
    packet
}

fn numbered_words(word: &str, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|n| format!("{word} {n}")).collect()
}

#[test]
fn a_window_leaves_at_once_and_what_arrives_makes_room() {
    let mut script = Script::nscc_script();
    let mut first = numbered_words("data", 0..13);
    first.extend(["data 13 ask".into(), "data 14 ask".into()]);
    assert_eq!(script.open_message(us(0), message_of(40)), first, "a product and a half; the last two ask");
    assert_eq!(script.receive_and_send(us(13), ack_packet(0, 1)), ["data 15 ask"]);
    let more = script.receive_and_send(us(18), ack_packet(5, 6));
    assert_eq!(more.len(), 5, "as many as have arrived: {more:?}");
    assert_eq!(script.receive_and_send(us(31), ack_beyond(16, 15, 17)).len(), 11, "and those beyond a gap");
}

#[test]
fn a_receiver_answers_the_first_packet_marks_requests_and_sixteen_kilobytes() {
    // A window of 180 packets. One of 15 has an acknowledgement a packet.
    let mut script = Script::over_path(SLOT * 120);
    assert_eq!(script.receive_and_send(us(1), data_packet(40, 0)), ["ack 0 <1"]);
    for index in 1..11 {
        assert!(script.receive_and_send(us(2), data_packet(40, index)).is_empty(), "packet {index}");
    }
    assert_eq!(
        script.receive_and_send(us(3), data_packet(40, 11)),
        ["ack 11 <12"],
        "11 packets of 1538 bytes"
    );
    assert_eq!(script.receive_and_send(us(4), marked_packet(40, 12)), ["ack 12 <13 marked"]);
    assert_eq!(script.receive_and_send(us(5), asking_packet(40, 14)), ["ack 14 <13 +14"]);
    assert_eq!(
        script.receive_and_send(us(6), data_packet(40, 13)),
        ["ack 13 <15"],
        "the gap before it is closed"
    );
    assert!(script.receive_and_send(us(7), data_packet(40, 15)).is_empty());
    assert_eq!(
        script.receive_and_send(us(8), data_packet(40, 12)),
        ["ack 12 <16"],
        "again: its sender does not know"
    );
}

#[test]
fn a_message_is_over_when_all_has_arrived_and_its_sender_is_told_as_often_as_it_asks() {
    let mut script = Script::nscc_script();
    assert_eq!(script.receive_and_send(us(1), data_packet(2, 1)), ["ack 1 <0 +1"]);
    assert_eq!(script.receive_and_send(us(2), data_packet(2, 0)), ["completed", "ack 0 <2"]);
    assert_eq!(script.receive_and_send(us(3), data_packet(2, 0)), ["ack 0 <2"]);
    assert_eq!(script.receive_and_send(us(4), trimmed_header(data_packet(2, 1), false)), ["ack 1 <2"]);
    assert_eq!(script.checked_machine().live_messages(), 0);
    let mut sender = Script::nscc_script();
    assert_eq!(sender.open_message(us(0), message_of(2)), ["data 0", "data 1 ask"]);
    assert_eq!(sender.receive_and_send(us(14), ack_packet(1, 2)), ["acknowledged"]);
}

#[test]
fn what_was_trimmed_leaves_again_first_and_the_window_shrinks_by_it() {
    let mut script = Script::nscc_script();
    assert_eq!(script.open_message(us(0), message_of(40)).len(), 15);
    assert!(
        script.receive_and_send(us(13), nack_packet(3, PacketFlags::default())).is_empty(),
        "its room is gone as well"
    );
    assert_eq!(script.receive_and_send(us(14), ack_packet(0, 1)), ["data 3 again ask"]);
    assert_eq!(script.receive_and_send(us(15), ack_packet(1, 2)), ["data 15 ask"]);
    assert!(
        script.receive_and_send(us(16), nack_packet(3, PacketFlags::default())).is_empty(),
        "trimmed again"
    );
    assert!(
        script.receive_and_send(us(17), nack_packet(3, PacketFlags::default())).is_empty(),
        "the network has repeated it"
    );
    assert_eq!(script.receive_and_send(us(18), ack_packet(2, 3)), ["data 3 again ask"]);
}

#[test]
fn a_receiver_reports_trimmed_packets_and_where_they_were_cut() {
    let mut script = Script::nscc_script();
    assert_eq!(script.receive_and_send(us(1), trimmed_header(data_packet(9, 4), false)), ["nack 4"]);
    assert_eq!(script.receive_and_send(us(2), trimmed_header(data_packet(9, 5), true)), ["nack 5 last hop"]);
    assert_eq!(
        script.receive_and_send(us(3), trimmed_header(marked_packet(9, 6), true)),
        ["nack 6 marked last hop"]
    );
    assert_eq!(script.receive_and_send(us(4), data_packet(9, 4)), ["ack 4 <0 +4"], "the first");
    assert_eq!(
        script.receive_and_send(us(5), trimmed_header(data_packet(9, 4), false)),
        ["ack 4 <0 +4"],
        "it is here"
    );
}

#[test]
fn silence_gives_up_the_packets_of_a_window_one_by_one() {
    let mut script = Script::nscc_script();
    assert_eq!(script.open_message(us(0), message_of(2)), ["data 0", "data 1 ask"]);
    assert_eq!(
        script.effects_until(LOST),
        [(LOST, vec!["data 0 again ask".into(), "data 1 again ask".into()])]
    );
    // Nothing was heard: twice as long.
    assert_eq!(script.effects_until(LOST * 3).first().map(|(at, _)| *at), Some(LOST * 3));
    assert_eq!(script.receive_and_send(LOST * 3 + us(1), ack_packet(1, 2)), ["acknowledged"]);
    assert_eq!(script.effects_until(us(10_000)), [], "nothing is left to wait for");
}

#[test]
fn speculation_spends_what_is_there_and_ends_with_the_first_answer() {
    let mut script = Script::rccc_script(RcccParams::default());
    let sent = script.open_message(us(0), message_of(40));
    assert_eq!(sent.len(), 15, "credit for 15 packets");
    assert_eq!(sent[0], "data 0 spec 7", "a packet at least is asked for: 1538 bytes");
    assert_eq!(sent[14], "data 14 spec 91 ask", "15 packets are spent, and as many asked for");
    assert!(script.receive_and_send(us(13), ack_packet(0, 1)).is_empty(), "arrivals permit nothing");
    let pulled = script.receive_and_send(us(14), pull_packet(16_384));
    assert_eq!(pulled.len(), 11, "16,384 bytes are ten packets and a part: {pulled:?}");
    assert!(pulled[0].starts_with("data 15 ") && pulled[10].starts_with("data 25 "));
    assert!(pulled.iter().all(|data| !data.contains("spec")));
    assert!(script.receive_and_send(us(15), pull_packet(16_384)).is_empty(), "the same pull permits nothing");
    let next = script.receive_and_send(us(16), pull_packet(16_384 + 1024));
    assert!(next.len() <= 1, "what was overdrawn is owed: {next:?}");
}

#[test]
fn a_message_of_one_answer_leaves_the_rest_of_its_credit() {
    let mut script = Script::rccc_script(RcccParams::default());
    let message = Message {
        initial_window: headway_transport::InitialWindow {
            window: Some(4),
            ..headway_transport::InitialWindow::default()
        },
        ..message_of(20)
    };
    assert_eq!(script.open_message(us(0), message).len(), 4);
    // All is lost: a request, because repeating anything needs credit.
    let effects = script.effects_until(LOST);
    assert_eq!(effects.len(), 1);
    assert!(effects[0].1.iter().any(|word| word.starts_with("rts 4 to ")), "{effects:?}");
    let again = script.receive_and_send(LOST + us(15), pull_packet(2 * 1538));
    assert_eq!(again.len(), 2, "two of them: {again:?}");
    assert!(again[0].starts_with("data 0 ") && again[0].ends_with("again ask"), "{again:?}");
}

#[test]
fn pulls_go_round_at_the_rate_of_the_link_as_far_as_they_are_wanted() {
    let mut script = Script::rccc_script(RcccParams::default());
    let wants = |packet: Packet, quanta| Packet { remaining: quanta, ..packet };
    assert_eq!(
        script.receive_and_send(us(1), wants(data_packet(90, 0), 100)),
        ["ack 0 <1", "pull 16384"],
        "at once"
    );
    let other = |packet: Packet| Packet { src: OTHER, ..packet };
    assert_eq!(
        script.receive_and_send(us(2), other(wants(data_packet(90, 0), 64))),
        ["ack 0 <1"],
        "in its turn"
    );
    let turns = script.effects_until(us(1) + PULL * 3);
    let at: Vec<Time> = turns.iter().map(|(at, _)| *at - us(1)).collect();
    // The first one's rest takes less time.
    assert_eq!(at[..2], [PULL, PULL + Time(36 * 206_868)]);
    let words: Vec<&str> = turns.iter().flat_map(|(_, words)| words).map(String::as_str).collect();
    // The first wanted 36 quanta more; both have all that they asked for then, and get more because no other message
    // wants any.
    assert_eq!(words[..2], ["pull 25600", "pull 16384"], "{words:?}");
    assert!(at[2] - at[1] <= PULL, "{at:?}");
}

#[test]
fn pulls_slow_down_where_packets_are_trimmed_on_the_way_and_links_upwards_are_few() {
    let gaps = |oversubscription, last_hop| {
        let mut script = Script::rccc_script(RcccParams { oversubscription, ..RcccParams::default() });
        let wants = |packet: Packet| Packet { remaining: 1000, ..packet };
        assert_eq!(script.receive_and_send(us(1), wants(data_packet(90, 0))), ["ack 0 <1", "pull 16384"]);
        for index in 1..20 {
            script.receive_and_send(us(2), wants(trimmed_header(data_packet(90, index), last_hop)));
        }
        let at: Vec<Time> = script.effects_until(us(300)).iter().map(|(at, _)| *at - us(1)).collect();
        (at[0], at[1] - at[0], at[2] - at[1])
    };
    // 19 of 20 are trimmed. The first look is within the second gap, and the lowest rate is nine tenths of an eighth.
    let slow = Time(206_868 * 8889 / 1000 * 64);
    assert_eq!(gaps(8.0, false), (PULL, PULL, slow));
    assert_eq!(gaps(8.0, true), (PULL, PULL, PULL), "trimming in front of the receiver is its own doing");
    assert_eq!(gaps(1.0, false), (PULL, PULL, PULL), "links upwards carry all");
}

#[test]
fn unwanted_pulls_end_with_a_window_beyond_the_target() {
    let mut script = Script::rccc_script(RcccParams::default());
    script.receive_and_send(us(1), Packet { remaining: 8, ..data_packet(90, 0) });
    let words: Vec<String> =
        script.effects_until(us(1000)).into_iter().flat_map(|(_, words)| words).collect();
    let last = words.last().expect("pulls").clone();
    // 2048 bytes were wanted; more than 15 packets beyond that end it.
    assert_eq!(last, format!("pull {}", 2048 + 16_384 * 2), "{words:?}");
}

#[test]
fn with_a_window_as_well_both_have_to_permit_a_packet() {
    let mut script = Script::rccc_script(RcccParams { window: true, ..RcccParams::default() });
    assert_eq!(script.open_message(us(0), message_of(60)).len(), 15);
    assert!(script.receive_and_send(us(13), pull_packet(1 << 20)).is_empty(), "the window is full");
    assert_eq!(script.receive_and_send(us(14), ack_packet(1, 2)).len(), 2, "as many as have arrived");
}

#[test]
fn the_base_round_trip_of_credit_with_a_window_may_be_that_of_a_trimmed_header() {
    // A header comes back after 1 us of 12.3: the largest window is then 1.5 us, a packet, and fourteen are under way.
    for (base_rtt_on_nack, more) in [(false, 2), (true, 0)] {
        let mut script =
            Script::rccc_script(RcccParams { window: true, base_rtt_on_nack, ..RcccParams::default() });
        script.open_message(us(0), message_of(60));
        script.receive_and_send(us(1), nack_packet(14, PacketFlags::default()));
        script.receive_and_send(us(2), pull_packet(1 << 20));
        assert_eq!(
            script.receive_and_send(us(14), ack_packet(1, 2)).len(),
            more,
            "base_rtt_on_nack = {base_rtt_on_nack}"
        );
    }
}

#[test]
fn sleek_sends_again_what_is_missing_ahead_of_a_window_and_a_half() {
    // A window of 15 packets, which is the largest.
    let lost = |sleek, to| {
        let mut script = Script::nscc_with(NsccParams { sleek, ..NsccParams::default() });
        script.open_message(us(0), message_of(60));
        script.receive_and_send(us(13), ack_beyond(8, 0, 8));
        let words = script.receive_and_send(us(14), ack_beyond(to, 0, to));
        words.into_iter().filter(|word| word.contains("again")).collect::<Vec<_>>()
    };
    assert_eq!(lost(true, 14), Vec::<String>::new());
    assert_eq!(lost(false, 15), Vec::<String>::new());
    assert_eq!(lost(true, 15), ["data 0 again ask"]);
}

#[test]
fn a_sender_that_hears_nothing_probes_and_repairs_when_the_answer_comes_at_once() {
    let mut script = Script::nscc_with(NsccParams { sleek: true, ..NsccParams::default() });
    script.open_message(us(0), message_of(15));
    assert_eq!(script.receive_and_send(us(13), ack_packet(12, 13)), Vec::<String>::new());
    // All has been sent: a base round trip and the target, three quarters of one, later.
    let due = us(13) + Time(SLOT.0 * 10 * 7 / 4);
    assert_eq!(script.effects_until(due - Time(1)), []);
    script.checked_machine().handle_timeout(due);
    assert!(script.drain_events().is_empty());
    let probe = script.poll_packets(due).pop().expect("a probe");
    assert_eq!(probe.kind, PacketKind::Rts);
    let answer = Packet { entropy: probe.entropy, flags: probe.flags, ..ack_packet(12, 13) };
    assert_eq!(script.receive_and_send(due + us(13), answer), ["data 13 again ask", "data 14 again ask"]);
    // One that took longer than the target more than an empty path tells nothing.
    let mut script = Script::nscc_with(NsccParams { sleek: true, ..NsccParams::default() });
    script.open_message(us(0), message_of(15));
    script.receive_and_send(us(13), ack_packet(12, 13));
    script.checked_machine().handle_timeout(due);
    assert!(script.drain_events().is_empty());
    let probe = script.poll_packets(due).pop().expect("a probe");
    let answer = Packet { entropy: probe.entropy, flags: probe.flags, ..ack_packet(12, 13) };
    assert_eq!(script.receive_and_send(due + us(23), answer), Vec::<String>::new());
}

#[test]
fn ten_control_packets_leave_for_each_of_data() {
    let mut script = Script::nscc_script();
    script.checked_machine().open_message(us(0), &message_of(20));
    assert_eq!(script.drain_events(), Vec::<String>::new());
    for index in 0..12 {
        script.receive_busy(us(1), marked_packet(40, index));
    }
    let kinds: String =
        script.poll_packets(us(1)).iter().map(|p| if p.is_data() { 'd' } else { 'c' }).collect();
    assert!(kinds.starts_with("ccccccccccdccd"), "{kinds}");
}
