//! SIRD packet by packet: inputs, expected outputs, and their times.
//!
//! The path's base round trip is 10 full packets, 12.304 us, and so is the bandwidth-delay product; its largest round trip is 20 us,
//! the time-out 60 us. Outputs are written as words: `rts 20 (0)` (a request for 20 packets of which none left), `data 3`,
//! `data 3 csn`, `credit 3` (three packets in all), `resend 3+2`, `finished`.

use crate::script;

use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::sird::{Policy, Pool, Sird, SirdEndpoint, SirdParams};
use headway_transport::{Endpoint, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// A full frame at 10 Gb/s.
const SLOT: Time = Time(1_230_400);
// Three largest round trips.
const TIMEOUT: Time = Time::us(60);

struct Script {
    machine: Checked<SirdEndpoint>,
}

impl Script {
    fn new(params: SirdParams) -> Script {
        Script { machine: Checked::new(Sird::make_endpoint(&params, host_context(SLOT * 10, us(20), 0))) }
    }
}

impl Steps for Script {
    type Machine = SirdEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<SirdEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        let again = if packet.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
        let csn = if packet.remaining > 0 { " csn" } else { "" };
        match packet.kind {
            PacketKind::Data => format!("data {}{csn}{again}", packet.index),
            PacketKind::Rts => {
                format!("rts {} ({})", Sizes::default().packets_of(packet.message_bytes), packet.count)
            }
            PacketKind::Grant => format!("credit {}", packet.token),
            PacketKind::Resend => format!("resend {}+{}", packet.index, packet.count),
            kind => kind.name().into(),
        }
    }
}

fn arriving_packet(kind: PacketKind, from: HostId, id: u32, packets: u64) -> Packet {
    let mut packet = Packet::new(kind, from, HERE, id);
    (packet.message_bytes, packet.tag) = (packets * FULL, 70 + from.0);
    packet
}

/// A request of `from` for message `id` of `packets`.
fn request_packet(from: HostId, id: u32, packets: u64) -> Packet {
    arriving_packet(PacketKind::Rts, from, id, packets)
}

/// Packet `index` of it, where `window` packets need no credit.
fn data_packet(from: HostId, id: u32, packets: u64, window: u32, index: u32) -> Packet {
    let mut packet = arriving_packet(PacketKind::Data, from, id, packets);
    (packet.index, packet.count) = (index, window);
    (packet.payload, packet.wire, packet.ecn) = (FULL as u16, 1538, Ecn::Ect);
    packet
}

/// Credit of `PEER` for `permitted` packets of message `id` of this host.
fn credit_packet(id: u32, permitted: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Grant, PEER, HERE, id);
    (packet.index, packet.token, packet.flags) = (permitted - 1, permitted, PacketFlags::PULL);
    packet
}

fn numbered_words(what: &str, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|n| format!("{what} {n}")).collect()
}

fn no_words() -> Vec<String> {
    Vec::new()
}

#[test]
fn a_message_of_a_bandwidth_delay_product_begins_at_once_and_a_larger_one_asks() {
    let mut s = Script::new(SirdParams::default());
    assert_eq!(s.open_message(us(1), message_of(10)), numbered_words("data", 0..10));
    assert_eq!(s.machine.next_timeout(), Some(us(61)));
    let mut s = Script::new(SirdParams::default());
    assert_eq!(s.open_message(us(1), message_of(11)), ["rts 11 (0)"]);
    assert_eq!(s.receive_and_send(us(14), credit_packet(0, 1)), ["data 0"]);
    assert_eq!(
        s.receive_and_send(us(15), credit_packet(0, 3)),
        ["data 1", "data 2"],
        "a credit that came late is made up for"
    );
    assert_eq!(s.receive_and_send(us(16), credit_packet(0, 2)), no_words());
    let mut done = Packet::new(PacketKind::Finished, PEER, HERE, 0);
    done.tag = 77;
    assert_eq!(s.receive_and_send(us(40), done), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn messages_to_one_receiver_hold_one_bandwidth_delay_product_of_their_own() {
    let mut s = Script::new(SirdParams::default());
    s.machine.open_message(us(1), &message_of(8));
    assert_eq!(s.drain_events(), no_words());
    s.machine.open_message(us(1), &Message { id: 1, ..message_of(8) });
    assert_eq!(s.drain_events(), no_words());
    let left = s.sent_words(us(1));
    assert_eq!(left.len(), 10, "eight of the first and two of the second: {left:?}");
    // Each is announced by its first packet before either goes on. Their own credit is more than half a product, too.
    assert_eq!(left[..2], ["data 0 csn", "data 0 csn"].map(String::from));
}

#[test]
fn credit_is_paced_and_bounded_for_a_sender_and_in_all() {
    let mut s = Script::new(SirdParams::default());
    assert_eq!(s.receive_and_send(us(0), request_packet(PEER, 0, 100)), ["credit 1"]);
    let given = s.effects_until(us(40));
    let times: Vec<Time> = given.iter().map(|(at, _)| *at).collect();
    assert_eq!(
        times,
        (1..10).map(|n| SLOT * n).collect::<Vec<_>>(),
        "a bandwidth-delay product, one a frame time"
    );
    // Another sender gets the rest of one and a half.
    assert_eq!(s.receive_and_send(us(40), request_packet(OTHER, 0, 100)), ["credit 1"]);
    assert_eq!(s.effects_until(us(59)).len(), 4);
    // A packet that arrives makes room for the next credit.
    assert_eq!(s.receive_and_send(us(59), data_packet(PEER, 0, 100, 0, 0)), ["delivered 1460", "credit 11"]);
}

#[test]
fn unscheduled_data_is_credit_that_is_out() {
    let mut s = Script::new(SirdParams::default());
    assert_eq!(s.receive_and_send(us(0), data_packet(PEER, 0, 10, 10, 0)), ["delivered 1460"]);
    assert_eq!(s.receive_and_send(us(1), request_packet(OTHER, 0, 100)), ["credit 1"]);
    assert_eq!(s.effects_until(us(30)).len(), 5, "15 in all, of which 9 are the other's");
}

#[test]
fn the_message_with_the_least_to_come_gets_credit_first_or_all_in_turn() {
    let order = |policy| {
        let mut s = Script::new(SirdParams { policy, ..SirdParams::default() });
        let mut out = s.receive_and_send(us(0), request_packet(PEER, 0, 100));
        out.extend(s.receive_and_send(us(0), request_packet(OTHER, 0, 20)));
        let mut to = Vec::new();
        for step in 1..8u64 {
            s.machine.handle_timeout(SLOT * step);
            while s.machine.poll_event().is_some() {}
            to.extend(s.poll_packets(SLOT * step).iter().map(|p| p.dst.0));
        }
        to
    };
    assert_eq!(order(Policy::Srpt), [2; 7]);
    assert_eq!(order(Policy::RoundRobin), [2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_sender_with_too_much_credit_says_so_if_it_has_several_messages() {
    // Half a bandwidth-delay product is five packets.
    let mut s = Script::new(SirdParams::default());
    assert_eq!(s.open_message(us(0), message_of(30)), ["rts 30 (0)"]);
    assert_eq!(
        s.receive_and_send(us(13), credit_packet(0, 10)),
        numbered_words("data", 0..10),
        "a lone message never says it"
    );
    assert_eq!(
        s.open_message(us(14), Message { id: 1, dst: OTHER, tag: 78, ..message_of(30) }),
        ["rts 30 (0)"]
    );
    let said = s.receive_and_send(us(15), credit_packet(0, 20));
    assert_eq!(
        said[..4],
        numbered_words("data", 10..14).iter().map(|w| format!("{w} csn")).collect::<Vec<_>>()
    );
    assert_eq!(
        said[4..],
        numbered_words("data", 14..20),
        "nine packets unused after the first, five after the fifth"
    );
}

#[test]
fn receivers_share_a_sender_and_the_shortest_message_has_half_of_it_more() {
    let mut s = Script::new(SirdParams::default());
    s.open_message(us(0), message_of(300));
    s.open_message(us(0), Message { dst: OTHER, tag: 78, ..message_of(200) });
    s.receive_busy(us(13), credit_packet(0, 100));
    s.receive_busy(us(13), Packet { src: OTHER, ..credit_packet(0, 100) });
    let to: Vec<u32> = (0..80).filter_map(|_| s.poll_packet(us(13))).map(|p| p.dst.0).collect();
    let shortest = to.iter().filter(|dst| **dst == 2).count();
    assert_eq!(shortest, 60, "three quarters: {to:?}");
}

#[test]
fn a_large_first_window_has_the_time_to_leave_before_it_is_asked_for() {
    // Of the time-out of 60 us 20 are for the last packet; 32 frames leave in the rest, and 67 of the other 99 later.
    let mut s = Script::new(SirdParams { bdp: 100 * 1538, ..SirdParams::default() });
    s.receive_busy(us(0), data_packet(PEER, 0, 100, 100, 0));
    s.sent_words(us(0));
    let asked = s.effects_until(us(200));
    assert_eq!(asked[0], (TIMEOUT + SLOT * 67, vec!["resend 1+99".to_string()]));
}

#[test]
fn credit_that_is_not_answered_is_given_again() {
    let mut s = Script::new(SirdParams::default());
    s.receive_and_send(us(0), request_packet(PEER, 0, 20));
    s.effects_until(us(20));
    for index in [0, 1, 2, 5, 6, 7, 8, 9] {
        s.receive_busy(us(25), data_packet(PEER, 0, 20, 0, index));
    }
    s.sent_words(us(25));
    let asked = |s: &mut Script, until| {
        let effects = s.effects_until(until);
        effects.into_iter().filter(|(_, out)| out.iter().any(|w| w.starts_with("resend"))).collect::<Vec<_>>()
    };
    // Packet 0 alone had credit when the timer was armed, so the next look comes a time-out later.
    let first = asked(&mut s, us(200));
    assert_eq!(first[0].0, TIMEOUT * 2);
    assert_eq!(first[0].1[0], "resend 3+2");
    let mut other = Script::new(SirdParams::default());
    other.open_message(us(0), message_of(20));
    other.receive_and_send(us(13), credit_packet(0, 10));
    let mut ask = Packet::new(PacketKind::Resend, PEER, HERE, 0);
    (ask.index, ask.count) = (3, 2);
    assert_eq!(other.receive_and_send(us(80), ask), ["data 3 again", "data 4 again"]);
    (ask.index, ask.count) = (9, 2);
    assert_eq!(other.receive_and_send(us(81), ask), ["data 9 again", "data 10"], "its credit was lost");
}

#[test]
fn a_sender_that_hears_nothing_announces_its_message_again_and_is_told_that_it_has_arrived() {
    let mut s = Script::new(SirdParams::default());
    s.open_message(us(0), message_of(2));
    assert_eq!(s.effects_until(us(60)), [(us(60), vec!["rts 2 (2)".to_string()])]);
    let mut receiver = Script::new(SirdParams::default());
    receiver.receive_busy(us(0), data_packet(PEER, 0, 2, 2, 0));
    assert_eq!(
        receiver.receive_and_send(us(2), data_packet(PEER, 0, 2, 2, 1)),
        ["delivered 1460", "completed", "finished"]
    );
    assert_eq!(receiver.receive_and_send(us(61), request_packet(PEER, 0, 2)), ["finished"]);
    assert_eq!(receiver.machine.live_messages(), 0);
}

#[test]
fn a_peer_that_is_gone_leaves_its_credit_to_others() {
    let mut s = Script::new(SirdParams::default());
    s.receive_and_send(us(0), request_packet(PEER, 0, 100));
    s.effects_until(us(20));
    s.receive_and_send(us(20), request_packet(OTHER, 0, 100));
    assert_eq!(s.effects_until(us(59)).len(), 4, "half a bandwidth-delay product");
    s.machine.forget_peer(us(59), PEER);
    assert_eq!(s.drain_events(), no_words());
    assert_eq!(s.sent_words(us(59)), ["credit 6"]);
    assert_eq!(s.machine.live_messages(), 1);
}

fn pooled_script() -> Script {
    Script::new(SirdParams { pool: Pool::Pair, ..SirdParams::default() })
}

#[test]
fn credit_of_a_pair_goes_to_the_message_with_the_fewest_packets_left() {
    let mut s = pooled_script();
    s.open_message(us(0), message_of(40));
    s.open_message(us(0), Message { id: 1, tag: 78, ..message_of(20) });
    // Both credits name the long message; the short one uses the first two, and the third is the second's that was lost.
    let two = Packet { index: 0, ..credit_packet(0, 2) };
    s.receive_busy(us(13), two);
    let left: Vec<(u32, u32)> =
        s.poll_packets(us(13)).iter().map(|packet| (packet.message, packet.index)).collect();
    assert_eq!(left, [(1, 0), (1, 1)]);
    s.receive_busy(us(14), Packet { token: 1, ..two });
    assert!(s.poll_packets(us(14)).is_empty(), "it was overtaken");
    s.receive_busy(us(15), Packet { token: 4, ..two });
    assert_eq!(s.poll_packets(us(15)).len(), 2);
    // A packet that is asked for again takes a credit, too.
    let mut ask = Packet::new(PacketKind::Resend, PEER, HERE, 1);
    (ask.index, ask.count) = (0, 20);
    s.receive_busy(us(80), ask);
    assert!(s.poll_packets(us(80)).is_empty());
    s.receive_busy(us(81), Packet { token: 5, ..two });
    let left: Vec<(u32, u32)> =
        s.poll_packets(us(81)).iter().map(|packet| (packet.message, packet.index)).collect();
    assert_eq!(left, [(1, 0)]);
}

#[test]
fn a_receiver_counts_the_credit_of_a_pair_over_all_its_messages() {
    let mut s = pooled_script();
    assert_eq!(s.receive_and_send(us(0), request_packet(PEER, 0, 20)), ["credit 1"]);
    assert_eq!(s.receive_and_send(us(0), request_packet(PEER, 1, 3)), no_words());
    assert_eq!(s.effects_until(us(40)).len(), 9, "a bandwidth-delay product for the pair");
    // Data of either message makes room for a credit.
    assert_eq!(s.receive_and_send(us(40), data_packet(PEER, 0, 20, 0, 7)), ["delivered 1460", "credit 11"]);
    assert_eq!(
        s.receive_and_send(us(40), data_packet(PEER, 1, 3, 0, 0)),
        ["delivered 1460"],
        "the next credit is a frame time later"
    );
    // Silence: packets that have not come are asked for, and its credit is given again with new numbers.
    let later: Vec<String> = s.effects_until(us(200)).into_iter().flat_map(|(_, out)| out).collect();
    assert!(
        later.contains(&"resend 1+2".to_string()) && later.contains(&"credit 13".to_string()),
        "{later:?}"
    );
}
