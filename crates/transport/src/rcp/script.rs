//! RCP packet by packet: inputs, expected outputs, and their times.
//!
//! The path's base round trip is 10 full packets, 12.304 us, its largest 20 us: a message that is silent for 40 us goes
//! again. Rates are in kilobits a second. Outputs are written as words: `rts` (a SYN, or a reference packet),
//! `data 3`, `data 3 again`, `ack 3 <2` (all below 2 have arrived), each with the rate it carries where that is
//! not the greatest.

#![allow(clippy::single_range_in_vec_init, reason = "blocks are ranges")]

use crate::script;

use headway_packet::{Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::rcp::{Rcp, RcpEndpoint, RcpParams};
use headway_transport::{Endpoint, InitialWindow, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// 1538 bytes at 10 Gb/s.
const SLOT: Time = Time(1_230_400);
/// The rate of the link, half of it, and a packet in more than a round trip.
const LINE: u32 = 10_000_000;
const HALF: u32 = 5_000_000;
const SLOW: u32 = 500_000;

/// One host's RCP and the words for its outputs.
struct Script {
    machine: Checked<RcpEndpoint>,
}

/// Packet `index` of message 0 of `PEER`, `packets` long, as it arrives here after routers made it `rate`.
fn data_packet(packets: u64, index: u32, rate: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, 0);
    packet.index = index;
    packet.count = packets.min(17) as u32;
    packet.message_bytes = packets * FULL;
    packet.payload = FULL as u16;
    packet.wire = Sizes::default().full_wire();
    (packet.token, packet.flags, packet.lifetime) = (rate, PacketFlags::RATE, us(5));
    packet.tag = 77;
    packet
}

/// An answer to a packet that left here at `sent`: its rate, all below `below` have arrived, and these above.
fn answer_packet(sent: Time, rate: u32, below: u32, above: &[std::ops::Range<u32>]) -> Packet {
    let mut packet = Packet::new(PacketKind::Ack, PEER, HERE, 0);
    (packet.count, packet.lifetime, packet.remaining) = (below, sent, rate);
    packet.set_sack(above.iter().cloned());
    packet
}

impl Script {
    fn new(params: RcpParams) -> Script {
        let context = host_context(SLOT * 10, us(20), 0);
        Script { machine: Checked::new(Rcp::make_endpoint(&params, context)) }
    }

    /// A message that was opened at 0 and received `rate` at 13 us.
    fn running_message(message: Message, rate: u32) -> (Script, Vec<String>) {
        let mut s = Script::new(RcpParams::default());
        assert_eq!(s.open_message(us(0), message), ["rts"]);
        let first = s.receive_and_send(us(13), answer_packet(us(0), rate, 0, &[]));
        (s, first)
    }
}

impl Steps for Script {
    type Machine = RcpEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<RcpEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        rcp_words(packet)
    }
}

fn rcp_words(p: &Packet) -> String {
    let again = if p.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
    match p.kind {
        PacketKind::Rts => "rts".into(),
        PacketKind::Data => format!("data {}{again}", p.index),
        kind => format!("{} {} <{} rate {}", kind.name(), p.index, p.count, p.remaining),
    }
}

/// Packets one at a time from `first` on, at these instants.
fn paced_packets(times: &[Time], first: u32) -> Vec<(Time, Vec<String>)> {
    times.iter().zip(first..).map(|(at, index)| (*at, vec![format!("data {index}")])).collect()
}

#[test]
fn a_message_asks_for_a_rate_and_paces_at_it() {
    let (mut s, first) = Script::running_message(message_of(4), HALF);
    assert_eq!(first, ["data 0"], "the answer lets the first packet go at once");
    let at = |n: u64| us(13) + SLOT * 2 * n;
    assert_eq!(s.effects_until(us(24)), paced_packets(&[at(1), at(2), at(3)], 1));
    assert!(s.receive_and_send(us(25), answer_packet(us(13), HALF, 1, &[])).is_empty());
    assert_eq!(s.receive_and_send(us(33), answer_packet(at(3), HALF, 4, &[])), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn every_packet_asks_for_any_rate_and_tells_the_round_trip() {
    let mut s = Script::new(RcpParams::default());
    s.machine.open_message(us(1), &message_of(3));
    assert!(s.drain_events().is_empty());
    let syn = s.poll_packets(us(1))[0];
    let asks = |p: &Packet| (p.token, p.remaining, p.lifetime, p.flags.has_all(PacketFlags::RATE));
    assert_eq!(asks(&syn), (u32::MAX, 0, us(1), true), "a SYN knows no round trip");
    assert_eq!((syn.kind, syn.message_bytes, syn.wire), (PacketKind::Rts, 3 * FULL, 84));
    s.machine.receive_packet(us(15), &answer_packet(us(1), LINE, 0, &[]));
    assert!(s.drain_events().is_empty());
    let data = s.poll_packets(us(15))[0];
    assert_eq!(asks(&data), (u32::MAX, 14_000, us(15), true));
    assert_eq!((data.index, data.count, data.payload, data.tag), (0, 3, 1460, 77));
}

#[test]
fn a_new_rate_counts_from_the_last_packet() {
    let (mut s, _) = Script::running_message(message_of(20), HALF / 2);
    // Packet 1 is due four slots after packet 0; at twice the rate it is due after two.
    let faster = answer_packet(us(0), HALF, 0, &[]);
    assert!(s.receive_and_send(us(14), faster).is_empty());
    assert_eq!(s.effects_until(us(13) + SLOT * 2), paced_packets(&[us(13) + SLOT * 2], 1));
    // At the rate of the link it was due a slot ago: it leaves with the answer.
    assert_eq!(s.receive_and_send(us(17), answer_packet(us(13), LINE, 1, &[])), ["data 2"]);
    // A slower rate puts off packets that were due before.
    assert!(s.receive_and_send(us(18), answer_packet(us(14), HALF / 2, 1, &[])).is_empty());
    assert_eq!(s.effects_until(us(17) + SLOT * 4), paced_packets(&[us(17) + SLOT * 4], 3));
}

#[test]
fn a_late_answer_does_not_bring_back_an_old_rate() {
    let (mut s, _) = Script::running_message(message_of(20), HALF);
    s.effects_until(us(26));
    assert!(s.receive_and_send(us(26), answer_packet(us(14), LINE / 4, 1, &[])).is_empty());
    assert!(s.receive_and_send(us(28), answer_packet(us(13), LINE, 1, &[])).is_empty(), "it left before");
}

#[test]
fn no_rate_exceeds_the_hosts_link() {
    let (mut s, first) = Script::running_message(message_of(4), u32::MAX);
    assert_eq!(first, ["data 0"]);
    let at = |n: u64| us(13) + SLOT * n;
    assert_eq!(s.effects_until(us(24)), paced_packets(&[at(1), at(2), at(3)], 1));
}

#[test]
fn a_wire_that_is_free_when_a_packet_is_due_gets_it_without_a_deadline() {
    let (mut s, _) = Script::running_message(message_of(4), LINE);
    assert!(s.machine.wants_transmit());
    assert_eq!(s.sent_words(us(13) + SLOT), ["data 1"]);
}

#[test]
fn a_rate_of_less_than_a_packet_a_round_trip_is_asked_about_in_between() {
    let (mut s, first) = Script::running_message(message_of(3), SLOW);
    assert_eq!(first, ["data 0"]);
    // A packet each 24.6 us, a smallest round trip of 13 us.
    assert_eq!(s.effects_until(us(13) + us(13)), [(us(26), vec!["rts".to_string()])]);
    assert_eq!(s.receive_and_send(us(27), answer_packet(us(13), SLOW, 1, &[])), [""; 0]);
    assert_eq!(
        s.receive_and_send(us(39), answer_packet(us(26), HALF, 1, &[])),
        ["data 1"],
        "its answer brings the new rate"
    );
    assert_eq!(s.effects_until(us(60)), paced_packets(&[us(39) + SLOT * 2], 2), "and ends the asking");
}

#[test]
fn slow_messages_ask_with_a_twentieth_of_the_link_at_most_however_many_they_are() {
    // 84 bytes are 67.2 ns of the link. A message alone asks each 13 us; these would take half of the link.
    const MESSAGES: u32 = 100;
    let mut s = Script::new(RcpParams::default());
    for id in 0..MESSAGES {
        s.open_message(us(0), Message { id, ..message_of(1000) });
    }
    for id in 0..MESSAGES {
        // A packet each 12.3 ms: none is due in the rest of the test.
        s.receive_and_send(us(13), Packet { message: id, ..answer_packet(us(0), 1000, 0, &[]) });
    }
    let asked =
        |s: &mut Script, until| s.effects_until(us(until)).iter().flat_map(|(_, out)| out.clone()).collect();
    let all: Vec<String> = asked(&mut s, 13 + 1344);
    assert!(all.iter().all(|word| word == "rts"), "{all:?}");
    // A control packet takes 67 ns of the link, and one in 20 such times may go to a question.
    let turns = 1344 * 1000 / (20 * 67);
    let found = all.len();
    assert!(found <= turns && found + MESSAGES as usize >= turns, "{found} times, {turns} are a twentieth");
}

#[test]
fn a_syn_goes_again_after_40_us_and_then_less_and_less_often() {
    let mut s = Script::new(RcpParams::default());
    assert_eq!(s.open_message(us(1), message_of(1)), ["rts"]);
    let sends = s.effects_until(us(300));
    let again = |at| (us(at), vec!["rts".to_string()]);
    assert_eq!(sends, [again(41), again(121), again(281)]);
}

#[test]
fn a_packet_that_three_later_ones_overtook_goes_again_at_once_and_before_new_ones() {
    let (mut s, _) = Script::running_message(message_of(20), LINE);
    s.effects_until(us(13) + SLOT * 5);
    let left = |n: u64| us(13) + SLOT * n;
    assert!(s.receive_and_send(us(20), answer_packet(left(0), HALF, 1, &[])).is_empty());
    for n in 2..4u32 {
        assert!(s.receive_and_send(us(20), answer_packet(left(n.into()), HALF, 1, &[2..n + 1])).is_empty());
    }
    assert!(
        s.receive_and_send(us(20), answer_packet(left(4), HALF, 1, &[2..5])).is_empty(),
        "it waits for its turn at the rate"
    );
    let next = s.effects_until(left(9));
    let words = ["data 1 again".to_string(), "data 6".into()];
    assert_eq!(next, [(left(7), vec![words[0].clone()]), (left(9), vec![words[1].clone()])]);
}

#[test]
fn two_later_packets_may_be_reordered() {
    let (mut s, _) = Script::running_message(message_of(20), LINE);
    s.effects_until(us(13) + SLOT * 5);
    s.receive_and_send(us(20), answer_packet(us(13) + SLOT * 3, HALF, 1, &[2..4]));
    s.receive_and_send(us(20), answer_packet(us(13) + SLOT * 4, HALF, 1, &[2..5]));
    assert_eq!(s.effects_until(us(13) + SLOT * 7), paced_packets(&[us(13) + SLOT * 7], 6));
}

#[test]
fn what_is_silent_for_40_us_goes_again_with_backoff_until_news_comes() {
    let (mut s, _) = Script::running_message(message_of(1), LINE);
    let again = |at| (us(at), vec!["data 0 again".to_string()]);
    // After 40, 80 and 160 us.
    assert_eq!(s.effects_until(us(300)), [again(53), again(133), again(293)]);
    assert_eq!(s.receive_and_send(us(301), answer_packet(us(293), LINE, 1, &[])), ["acknowledged"]);
    assert!(s.effects_until(us(100_000)).is_empty());
}

#[test]
fn no_more_is_under_way_than_the_largest_round_trip_holds() {
    // 20 us of the link are 16.3 packets.
    let (mut s, _) = Script::running_message(message_of(100), LINE);
    let sent = s.effects_until(us(45)).len();
    assert_eq!(1 + sent, 17);
    assert_eq!(s.receive_and_send(us(46), answer_packet(us(13) + SLOT, LINE, 2, &[])), ["data 17"]);
    assert_eq!(
        s.effects_until(us(48)),
        paced_packets(&[us(46) + SLOT], 18),
        "two have arrived, two may leave"
    );
}

#[test]
fn one_of_four_fair_sharers_begins_with_a_quarter_of_its_rate() {
    let initial_window = InitialWindow { share: 4, ..InitialWindow::default() };
    let (mut s, first) = Script::running_message(Message { initial_window, ..message_of(9) }, LINE);
    assert_eq!(first, ["data 0"]);
    assert_eq!(s.effects_until(us(13) + SLOT * 4), paced_packets(&[us(13) + SLOT * 4], 1));
    assert_eq!(
        s.receive_and_send(us(26), answer_packet(us(13), LINE, 1, &[])),
        ["data 2"],
        "and goes on with what it is told"
    );
}

#[test]
fn a_first_window_that_is_given_bounds_what_leaves_before_an_answer() {
    let initial_window = InitialWindow { window: Some(3), ..InitialWindow::default() };
    let (mut s, _) = Script::running_message(Message { initial_window, ..message_of(9) }, LINE);
    assert_eq!(s.effects_until(us(25)).len(), 2);
    assert_eq!(s.receive_and_send(us(26), answer_packet(us(13), LINE, 1, &[])), ["data 3"]);
}

#[test]
fn messages_of_one_host_take_turns_on_its_link() {
    let mut s = Script::new(RcpParams::default());
    s.open_message(us(0), message_of(3));
    s.open_message(us(0), Message { dst: OTHER, ..message_of(3) });
    let mut to = Vec::new();
    for (peer, now) in [(PEER, us(13)), (OTHER, us(13))] {
        s.machine.receive_packet(now, &Packet { src: peer, ..answer_packet(us(0), LINE, 0, &[]) });
        assert!(s.drain_events().is_empty());
    }
    for slot in 0..6 {
        to.extend(s.machine.poll_transmit(us(13) + SLOT * slot).map(|p| p.dst.0));
    }
    assert_eq!(to, [1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_receiver_brings_back_rates_and_names_what_has_arrived() {
    let mut s = Script::new(RcpParams::default());
    let mut syn = data_packet(5, 0, HALF);
    (syn.kind, syn.payload, syn.wire) = (PacketKind::Rts, 0, 84);
    assert_eq!(s.receive_and_send(us(4), syn), [format!("ack 0 <0 rate {HALF}")]);
    assert_eq!(s.machine.live_messages(), 0, "a SYN leaves nothing behind");
    assert_eq!(
        s.receive_and_send(us(6), data_packet(5, 0, LINE)),
        ["delivered 1460".into(), format!("ack 0 <1 rate {LINE}")]
    );
    s.machine.receive_packet(us(7), &data_packet(5, 2, SLOW));
    assert_eq!(s.drain_events(), ["delivered 1460"]);
    let ack = s.poll_packets(us(7))[0];
    assert_eq!((ack.count, ack.lifetime, ack.remaining), (1, us(5), SLOW), "the time is echoed");
    assert_eq!(ack.sack_blocks().collect::<Vec<_>>(), [2..3].to_vec());
    assert_eq!(
        s.receive_and_send(us(8), data_packet(5, 2, SLOW)),
        [format!("ack 2 <1 rate {SLOW}")],
        "a copy delivers nothing"
    );
}

#[test]
fn a_finished_message_is_acknowledged_again_and_never_delivered_twice() {
    let mut s = Script::new(RcpParams::default());
    let done = ["delivered 1460".into(), "completed".into(), format!("ack 0 <1 rate {LINE}")];
    assert_eq!(s.receive_and_send(us(6), data_packet(1, 0, LINE)), done);
    assert_eq!(s.machine.live_messages(), 0);
    assert_eq!(s.receive_and_send(us(9), data_packet(1, 0, HALF)), [format!("ack 0 <1 rate {HALF}")]);
}

#[test]
fn a_peer_that_is_gone_is_forgotten_both_ways_and_others_are_not() {
    let (mut s, _) = Script::running_message(message_of(5), LINE);
    s.open_message(us(13), Message { dst: OTHER, tag: 79, ..message_of(2) });
    s.receive_and_send(us(14), data_packet(20, 3, LINE));
    assert_eq!(s.machine.live_messages(), 3);
    s.machine.forget_peer(us(14), PEER);
    assert_eq!(s.drain_events(), ["failed: the peer is gone"]);
    assert_eq!(s.machine.live_messages(), 1);
    assert_eq!(
        s.receive_and_send(us(20), Packet { src: OTHER, ..answer_packet(us(13), LINE, 0, &[]) }),
        ["data 0"]
    );
    assert!(
        s.effects_until(us(30)).iter().all(|(_, out)| out == &["data 1"]),
        "no deadline of the other is left"
    );
}
