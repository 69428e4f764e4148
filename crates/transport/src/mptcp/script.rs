//! Packet scripts of MPTCP: a packet in, the packets and deadlines that must come out.

use crate::script;

use headway_packet::{HostId, Packet, PacketFlags, PacketKind};
use headway_params::{ParamValue, Params};
use headway_transport::endpoint::Checked;
use headway_transport::mptcp::{Lia, Reno};
use headway_transport::{Endpoint, Transport};
use headway_units::Time;
use script::{FULL, HERE, PEER, Steps, host_context, message_of, us};

const RTT: Time = Time::us(100);

struct Script<E> {
    machine: Checked<E>,
}

impl<E: Endpoint> Steps for Script<E> {
    type Machine = E;

    fn checked_machine(&mut self) -> &mut Checked<E> {
        &mut self.machine
    }

    /// `2.5 = 7`: number 5 of subflow 2 is packet 7 of the message.
    fn packet_words(p: &Packet) -> String {
        let again = if p.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
        match p.kind {
            PacketKind::Data => format!("{}.{} = {}{again}", p.remaining, p.token, p.index),
            PacketKind::Rts if p.token == 0 => format!("syn {}", p.remaining),
            PacketKind::Rts => format!("confirm {}", p.remaining),
            PacketKind::Ack => {
                let own = p.in_subflow();
                let blocks: String =
                    own.sack_blocks().map(|b| format!(" [{}, {})", b.start, b.end)).collect();
                format!("ack {}.<{}{blocks}, message <{}", p.subflow_number(), own.count, p.count)
            }
            other => other.name().to_string(),
        }
    }
}

fn start_script<T: Transport>(paths: u32, set: &[(&str, ParamValue)]) -> Script<T::Endpoint> {
    let mut params = T::Params::default();
    set.iter().for_each(|(name, value)| params.set(name, value.clone()).expect("legal"));
    Script { machine: Checked::new(T::make_endpoint(&params, host_context(RTT, RTT * 3, paths))) }
}

fn choice_value(w: &str) -> ParamValue {
    ParamValue::Choice(w.into())
}

/// Subflow `number` has everything below `own`, and the message everything below `whole`.
fn ack_packet(number: u32, own: u32, whole: u32, echo: Time) -> Packet {
    limited_ack(number, (own, whole), echo, u32::MAX)
}

fn limited_ack(number: u32, (own, whole): (u32, u32), echo: Time, window: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Ack, PEER, HERE, 0);
    (packet.count, packet.lifetime) = (own, echo);
    packet.put_subflow(number, whole, window);
    packet
}

/// Number `own` of subflow `number`, packet `index` of a message of `packets`, from the peer.
fn data_packet(number: u32, own: u32, index: u32, packets: u64) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, 0);
    (packet.index, packet.message_bytes, packet.payload) = (index, packets * FULL, 1460);
    (packet.remaining, packet.token, packet.entropy) = (number, own, 100 + number);
    packet
}

#[test]
fn a_second_subflow_opens_with_the_first_acknowledgement_of_data() {
    let mut s = start_script::<Lia>(2, &[("path_manager", choice_value("full-mesh"))]);
    assert_eq!(s.open_message(us(0), message_of(20)), ["0.0 = 0", "0.1 = 1"]);
    // Equal round trips: the lower number first, and a window of two on each.
    assert_eq!(
        s.receive_and_send(RTT, ack_packet(0, 1, 1, us(0))),
        ["0.2 = 2", "0.3 = 3", "1.0 = 4", "1.1 = 5"]
    );
    // A shorter round trip is preferred: slow start on subflow 1 takes the next packets.
    let packets: Vec<_> = {
        assert!(s.receive_busy(us(150), ack_packet(1, 1, 1, us(100))).is_empty());
        s.poll_packets(us(150))
    };
    let entropies: Vec<u32> = packets.iter().map(|p| p.entropy % 2).collect();
    assert_eq!(entropies, [0, 0], "the message's own is 9, the other path the other");
    assert_eq!(
        packets.iter().map(Script::<<Lia as Transport>::Endpoint>::packet_words).collect::<Vec<_>>(),
        ["1.2 = 6", "1.3 = 7"]
    );
}

#[test]
fn with_handshakes_a_join_takes_four_packets() {
    let mut s = start_script::<Reno>(
        0,
        &[("preset", choice_value("linux-4.19")), ("initial_window", ParamValue::Int(2))],
    );
    assert_eq!(s.open_message(us(0), message_of(20)), ["syn 0"]);
    assert_eq!(s.receive_and_send(RTT, ack_packet(0, 0, 0, us(0))), ["0.0 = 0", "0.1 = 1"]);
    let second = s.receive_and_send(RTT * 2, ack_packet(0, 2, 2, RTT));
    assert_eq!(second, ["syn 1", "0.2 = 2", "0.3 = 3", "0.4 = 4", "0.5 = 5"]);
    assert_eq!(s.receive_and_send(RTT * 3, ack_packet(1, 0, 2, RTT * 2)), ["confirm 1"]);
    assert!(
        s.receive_and_send(us(310), ack_packet(1, 0, 2, RTT * 2)).is_empty(),
        "the same answer again confirms nothing"
    );
    assert_eq!(s.receive_and_send(RTT * 4, ack_packet(1, 0, 2, RTT * 3)), ["1.0 = 6", "1.1 = 7"]);
    // A SYN that is lost is repeated, as the first one is.
    let mut s = start_script::<Reno>(0, &[("preset", choice_value("linux-4.19"))]);
    s.open_message(us(0), message_of(200));
    assert_eq!(s.effects_until(Time::ms(1000)), [(Time::ms(1000), vec!["syn 0".to_string()])]);
    s.receive_and_send(Time::ms(1001), ack_packet(0, 0, 0, Time::ms(1000)));
    assert_eq!(s.receive_and_send(Time::ms(1002), ack_packet(0, 1, 1, Time::ms(1001)))[0], "syn 1");
    let joins = |effects: Vec<(Time, Vec<String>)>| {
        effects.into_iter().filter(|(_, out)| out.contains(&"syn 1".to_string())).map(|(at, _)| at).collect()
    };
    let asked: Vec<Time> = joins(s.effects_until(Time::ms(5000)));
    assert_eq!(asked, [Time::ms(2002), Time::ms(4002)], "after a second, and two more");
}

#[test]
fn a_short_message_knows_one_subflow() {
    let mut s = start_script::<Lia>(0, &[("initial_window", ParamValue::Int(10))]);
    assert_eq!(s.open_message(us(0), message_of(3)), ["0.0 = 0", "0.1 = 1", "0.2 = 2"]);
    assert!(s.receive_and_send(RTT, ack_packet(0, 1, 1, us(0))).is_empty());
    assert_eq!(s.receive_and_send(RTT, ack_packet(0, 3, 3, us(0))), ["acknowledged"]);
    assert_eq!(s.checked_machine().live_messages(), 0);
}

#[test]
fn what_a_dead_subflow_has_is_sent_by_another_and_by_itself() {
    let mut s = start_script::<Lia>(0, &[]);
    s.open_message(us(0), message_of(8));
    assert_eq!(
        s.receive_and_send(RTT, ack_packet(0, 2, 2, us(0))),
        ["0.2 = 2", "0.3 = 3", "0.4 = 4", "0.5 = 5", "1.0 = 6", "1.1 = 7"]
    );
    // Subflow 1 gets through, subflow 0 does not.
    assert!(s.receive_and_send(RTT * 2, ack_packet(1, 2, 2, RTT)).is_empty());
    let effects = s.effects_until(Time::ms(12));
    let (at, out) = &effects[0];
    assert_eq!(*at, RTT + Time::ms(10), "subflow 0 has waited for 10 ms");
    // Its own repetition, and all of it by subflow 1, whose window is 4.
    assert_eq!(*out, ["0.2 = 2 again", "1.2 = 2 again", "1.3 = 3 again", "1.4 = 4 again", "1.5 = 5 again"]);
    // The message is over when all has arrived, whatever subflow 0 still has to repeat.
    let now = *at + RTT;
    assert!(s.receive_and_send(now, ack_packet(1, 4, 4, *at)).is_empty());
    assert_eq!(s.receive_and_send(now, ack_packet(1, 6, 8, *at)), ["acknowledged"]);
    assert_eq!((s.checked_machine().live_messages(), s.effects_until(Time::ms(1000))), (0, vec![]));
}

#[test]
fn a_subflow_that_has_timed_out_gets_nothing_new_until_it_advances() {
    let mut s = start_script::<Reno>(0, &[]);
    s.open_message(us(0), message_of(100));
    s.receive_and_send(RTT, ack_packet(0, 2, 2, us(0)));
    let (at, _) = s.effects_until(Time::ms(11))[0];
    // Both have timed out at once: each repeats its first, and neither takes the other's.
    assert_eq!(at, RTT + Time::ms(10));
    let now = at + RTT;
    let out = s.receive_and_send(now, ack_packet(1, 1, 2, at));
    assert!(out.iter().all(|p| p.starts_with("1.")), "subflow 1 repairs itself: {out:?}");
    let out = s.receive_and_send(now, ack_packet(1, 2, 2, at));
    assert_eq!(out[..2], ["1.2 = 2 again", "1.3 = 3 again"], "then it takes what subflow 0 handed over");
    let out = s.receive_and_send(now + RTT, ack_packet(0, 4, 6, at));
    assert!(out.iter().any(|p| p.starts_with("0.")), "subflow 0 works again: {out:?}");
}

#[test]
fn a_fast_retransmission_is_not_handed_over() {
    let mut s = start_script::<Reno>(0, &[("initial_window", ParamValue::Int(6))]);
    s.open_message(us(0), message_of(6));
    let mut hole = ack_packet(0, 1, 1, us(0));
    // A SACK block by hand: one above the cumulative acknowledgement, four packets long.
    hole.message_bytes = (1u64 << 16 | 4) << 32;
    assert_eq!(hole.in_subflow().sack_blocks().next(), Some(2..6));
    assert_eq!(s.receive_and_send(RTT, hole), ["0.1 = 1 again"], "by its own subflow, once");
}

/// Window 8, subflow 1 slow: the packet that the receiver waits for is on it.
fn blocked_script(opportunistic: bool) -> Script<<Reno as Transport>::Endpoint> {
    let mut s = start_script::<Reno>(
        0,
        &[("receive_window", ParamValue::Int(8)), ("opportunistic", ParamValue::Bool(opportunistic))],
    );
    s.open_message(us(0), message_of(100));
    let out = s.receive_and_send(RTT, limited_ack(0, (2, 2), us(0), 8));
    assert_eq!(out, ["0.2 = 2", "0.3 = 3", "0.4 = 4", "0.5 = 5", "1.0 = 6", "1.1 = 7"]);
    s
}

#[test]
fn where_the_receive_window_is_full_the_packet_it_waits_for_is_repeated_on_a_free_subflow() {
    let mut s = blocked_script(true);
    // Subflow 0 brings all of its packets, and goes on to the edge, 6 + 8. It has room for more, and subflow 1's
    // window of 2 is small: packet 6 is sent by subflow 0 as well.
    let out = s.receive_and_send(RTT * 2, limited_ack(0, (6, 6), RTT, 8));
    let new = ["0.6 = 8", "0.7 = 9", "0.8 = 10", "0.9 = 11", "0.10 = 12", "0.11 = 13"];
    assert_eq!(out, [&new[..], &["0.12 = 6 again"]].concat());
    assert!(s.receive_and_send(us(201), limited_ack(0, (6, 6), RTT, 8)).is_empty(), "once");
    let out = s.receive_and_send(RTT * 3, limited_ack(0, (13, 7), RTT * 2, 8));
    assert_eq!(out, ["0.13 = 14", "0.14 = 7 again"], "then the next");
    let mut s = blocked_script(false);
    assert_eq!(s.receive_and_send(RTT * 2, limited_ack(0, (6, 6), RTT, 8)), new);
}

#[test]
fn the_receiver_speaks_of_both_sequences() {
    let mut s = start_script::<Lia>(0, &[]);
    assert_eq!(
        s.receive_and_send(us(0), data_packet(0, 0, 0, 6)),
        ["delivered 1460", "ack 0.<1, message <1"]
    );
    assert_eq!(
        s.receive_and_send(us(1), data_packet(1, 0, 3, 6)),
        ["delivered 1460", "ack 1.<1, message <1"]
    );
    assert_eq!(
        s.receive_and_send(us(2), data_packet(1, 2, 5, 6)),
        ["delivered 1460", "ack 1.<1 [2, 3), message <1"]
    );
    assert_eq!(
        s.receive_and_send(us(3), data_packet(0, 1, 1, 6)),
        ["delivered 1460", "ack 0.<2, message <2"]
    );
    // Packet 2 by subflow 1, and again by subflow 0: acknowledged there, delivered once.
    assert_eq!(
        s.receive_and_send(us(4), data_packet(1, 3, 2, 6)),
        ["delivered 1460", "ack 1.<1 [2, 4), message <4"]
    );
    assert_eq!(s.receive_and_send(us(5), data_packet(0, 2, 2, 6)), ["ack 0.<3, message <4"]);
    let out = s.receive_and_send(us(6), data_packet(1, 1, 4, 6));
    assert_eq!(out, ["delivered 1460", "completed", "ack 1.<4, message <6"]);
    // Late packets are answered: all of the message has arrived.
    assert_eq!(s.receive_and_send(us(7), data_packet(0, 3, 4, 6)), ["ack 0.<0, message <6"]);
    assert_eq!(s.checked_machine().live_messages(), 0);
}

#[test]
fn acknowledgements_go_back_the_way_of_their_subflow() {
    let mut s = start_script::<Lia>(0, &[]);
    s.receive_busy(us(0), data_packet(1, 0, 3, 6));
    assert_eq!(s.poll_packets(us(0)).iter().map(|p| p.entropy).collect::<Vec<_>>(), [101]);
}

#[test]
fn numbers_that_no_sender_can_have_reached_make_no_state() {
    let mut s = start_script::<Lia>(0, &[]);
    assert!(s.receive_and_send(us(0), data_packet(32, 0, 0, 6)).is_empty(), "no such subflow");
    assert_eq!(s.checked_machine().live_messages(), 0);
    assert!(
        s.receive_and_send(us(0), data_packet(0, 65_535, 0, 6)).is_empty(),
        "beyond what acknowledgements reach"
    );
    assert!(s.receive_and_send(us(0), data_packet(0, u32::MAX, 5, 6)).is_empty());
    assert!(s.receive_and_send(us(0), data_packet(0, 0, 6, 6)).is_empty(), "beyond the message");
    let mut s = start_script::<Lia>(0, &[]);
    s.open_message(us(0), message_of(3));
    assert!(s.receive_and_send(us(1), ack_packet(0, 900, 0, us(0))).is_empty(), "of packets never sent");
    assert!(s.receive_and_send(us(1), ack_packet(0, 1, 900, us(0))).is_empty());
    assert!(s.receive_and_send(us(1), ack_packet(7, 0, 0, us(0))).is_empty(), "of a subflow never opened");
    let stranger = Packet { src: HostId(2), ..ack_packet(0, 3, 3, us(0)) };
    assert!(s.receive_and_send(us(1), stranger).is_empty());
    assert_eq!(s.checked_machine().live_messages(), 1);
}

#[test]
fn round_robin_takes_subflows_in_turn() {
    let mut s = start_script::<Reno>(
        0,
        &[("scheduler", choice_value("round-robin")), ("subflows", ParamValue::Int(3))],
    );
    s.open_message(us(0), message_of(40));
    assert_eq!(
        s.receive_and_send(RTT, ack_packet(0, 2, 2, us(0))),
        ["1.0 = 2", "2.0 = 3", "0.2 = 4", "1.1 = 5", "2.1 = 6", "0.3 = 7", "0.4 = 8", "0.5 = 9"]
    );
}
