//! ProactMP packet by packet: inputs, and expected outputs.

use crate::script;

use headway_packet::{HostId, Packet, PacketFlags, PacketKind};
use headway_params::{ParamValue, Params};
use headway_transport::endpoint::{Checked, Transport};
use headway_transport::proactmp::{ProactMp, ProactMpEndpoint, ProactMpParams};
use headway_transport::{Endpoint, Message};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

/// Two paths, OWDbytes of two packets in 10 us, T_out of 160 us.
struct Script {
    machine: Checked<ProactMpEndpoint>,
}

impl Steps for Script {
    type Machine = ProactMpEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<ProactMpEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        let again = if packet.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
        let (on, allowed) = match packet.kind {
            PacketKind::Data | PacketKind::Rts | PacketKind::Probe => {
                (packet.token & 0xffff, packet.token >> 16)
            }
            _ => (packet.remaining & 0xffff, packet.remaining >> 16),
        };
        match packet.kind {
            PacketKind::Data => format!("data {} on {on}{again}", packet.index),
            PacketKind::Grant if packet.count > 0 => {
                format!("grant {} on {on}, answers {}", packet.token, packet.index)
            }
            PacketKind::Grant => format!("grant {} to {} on {on}", packet.token, packet.dst.0),
            PacketKind::Pull if packet.count > 0 => format!("request {}", packet.count),
            PacketKind::Pull => format!("join {on} of {allowed} by {}", packet.entropy),
            PacketKind::Rts => format!("response {on} by {}", packet.entropy),
            PacketKind::Resend => format!("resend {}..{} on {on}", packet.index, packet.index + packet.count),
            kind => kind.name().to_string(),
        }
    }
}

fn script_of(set: &[(&str, ParamValue)]) -> Script {
    let mut params = ProactMpParams::default();
    let base = [("owd_bytes", ParamValue::Int(2 * FULL)), ("owd", ParamValue::Time(us(10)))];
    base.iter().chain(set).for_each(|(name, value)| params.set(name, value.clone()).expect("a parameter"));
    Script { machine: Checked::new(ProactMp::make_endpoint(&params, host_context(us(20), us(40), 2))) }
}

fn default_script() -> Script {
    script_of(&[])
}

/// Data of a message of `packets` packets, on a subflow; the sender allows two.
fn data_packet(from: HostId, packets: u64, index: u32, on: u32, sent: Time) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, from, HERE, 0);
    (packet.index, packet.count, packet.message_bytes) = (index, 2, packets * FULL);
    (packet.token, packet.lifetime, packet.entropy) = (on | 2 << 16, sent, 9 % 2 + on);
    (packet.payload, packet.wire, packet.tag) = (FULL as u16, 1538, from.0);
    packet
}

/// A grant of PEER: packets in all, and the subflow and packet that it answers, which left at a time.
fn grant_packet(number: u32, answers: Option<(u32, u32, Time)>) -> Packet {
    let mut packet = Packet::new(PacketKind::Grant, PEER, HERE, 0);
    (packet.token, packet.flags, packet.remaining) = (number, PacketFlags::PULL, 2 << 16);
    if let Some((on, index, sent)) = answers {
        (packet.count, packet.index, packet.lifetime, packet.remaining) = (1, index, sent, on | 2 << 16);
    }
    packet
}

fn resend_packet(from: u32, count: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Resend, PEER, HERE, 0);
    (packet.index, packet.count) = (from, count);
    packet
}

fn join_request(on: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Pull, PEER, HERE, 0);
    (packet.remaining, packet.entropy) = (on | 2 << 16, on);
    packet
}

/// A sender whose two subflows are established at 20 us, with everything granted before answered.
fn joined_script() -> Script {
    let mut s = default_script();
    assert_eq!(s.open_message(us(0), message_of(40)), ["data 0 on 0", "data 1 on 0"]);
    assert_eq!(s.receive_and_send(us(10), join_request(1)), ["response 1 by 1"]);
    assert!(
        s.receive_and_send(us(20), grant_packet(2, Some((0, 1, us(0))))).is_empty(),
        "no credit, nothing to send"
    );
    assert!(s.receive_and_send(us(30), grant_packet(2, Some((1, 0, us(10))))).is_empty());
    s
}

#[test]
fn owdbytes_leave_at_once_and_everything_else_takes_credit() {
    let mut s = default_script();
    assert_eq!(s.open_message(us(0), message_of(5)), ["data 0 on 0", "data 1 on 0"]);
    assert_eq!(
        s.receive_and_send(us(20), grant_packet(4, Some((0, 0, us(0))))),
        ["data 2 on 0", "data 3 on 0"]
    );
    assert!(s.receive_and_send(us(21), grant_packet(4, None)).is_empty(), "the same grant twice is one");
    assert!(s.receive_and_send(us(22), grant_packet(3, None)).is_empty(), "an older grant is none");
    assert_eq!(s.receive_and_send(us(23), grant_packet(9, None)), ["data 4 on 0"], "no more than there is");
    let done = Packet { message: 0, ..Packet::new(PacketKind::Finished, PEER, HERE, 0) };
    assert_eq!(s.receive_and_send(us(40), done), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn credit_is_divided_and_a_subflow_has_owdbytes_in_flight_at_most() {
    let mut s = joined_script();
    // Equal weights and round trips: the two take turns, and each has room for two packets.
    let sent = s.receive_and_send(us(40), grant_packet(8, None));
    assert_eq!(sent.len(), 4, "{sent:?}");
    assert_eq!(sent.iter().filter(|p| p.ends_with("on 1")).count(), 2, "{sent:?}");
    assert!(s.sent_words(us(41)).is_empty(), "both are full, with credit for two more");
    // An answered packet makes room on its subflow.
    assert_eq!(
        s.receive_and_send(us(60), grant_packet(8, Some((1, 3, us(40))))),
        ["data 6 on 1", "data 7 on 1"]
    );
}

#[test]
fn a_silent_subflow_is_removed_and_its_packets_move() {
    let mut s = joined_script();
    assert_eq!(s.receive_and_send(us(40), grant_packet(6, None)).len(), 4);
    // Subflow 0 goes on, subflow 1 is never answered: its packets are missing.
    assert!(s.receive_and_send(us(60), grant_packet(6, Some((0, 2, us(40))))).is_empty());
    let lost = s.receive_and_send(us(230), resend_packet(3, 1));
    assert_eq!(lost, ["data 3 on 0 again"]);
    let next = s.receive_and_send(us(250), grant_packet(12, Some((0, 3, us(230)))));
    assert!(next.len() >= 4 && next.iter().all(|p| p.ends_with("on 0")), "{next:?}");
    // The receiver asks whether the path is there, and a grant on it brings it back.
    assert_eq!(s.receive_and_send(us(300), join_request(1)), ["response 1 by 1"]);
    s.receive_and_send(us(320), grant_packet(12, Some((1, 0, us(300)))));
    let back = s.receive_and_send(us(330), grant_packet(16, None));
    assert!(back.iter().any(|p| p.ends_with("on 1")), "{back:?}");
}

#[test]
fn a_range_that_has_not_left_was_granted_by_a_lost_grant() {
    let mut s = default_script();
    s.open_message(us(0), message_of(10));
    assert_eq!(s.receive_and_send(us(200), resend_packet(2, 2)), ["data 2 on 0", "data 3 on 0"]);
    assert!(
        s.receive_and_send(us(201), resend_packet(2, 2)).is_empty(),
        "what left a moment ago is on its way"
    );
    assert_eq!(s.receive_and_send(us(400), resend_packet(2, 2)), ["data 2 on 0 again", "data 3 on 0 again"]);
}

#[test]
fn every_data_packet_is_answered_by_one_grant() {
    let mut s = default_script();
    // The pool is full: OWDbytes at once, and Pro_Join.
    assert_eq!(
        s.receive_and_send(us(50), data_packet(PEER, 40, 0, 0, us(30))),
        ["delivered 1460", "grant 4 on 0, answers 0", "join 1 of 2 by 0"]
    );
    // 4 us of idle credit are less than a whole packet.
    assert_eq!(
        s.receive_and_send(us(54), data_packet(PEER, 40, 1, 0, us(34))),
        ["delivered 1460", "grant 4 on 0, answers 1"]
    );
    // 7 us are one. A packet that comes twice is answered twice, and gives no credit back.
    assert_eq!(s.receive_and_send(us(57), data_packet(PEER, 40, 1, 0, us(34))), ["grant 5 on 0, answers 1"]);
    // Idle credit saturates at OWDbytes; 3 packets are outstanding, 5 then.
    assert_eq!(
        s.receive_and_send(us(80), data_packet(PEER, 40, 2, 0, us(60))),
        ["delivered 1460", "grant 7 on 0, answers 2"]
    );
}

#[test]
fn withheld_credit_goes_to_those_who_waited() {
    let mut s = default_script();
    s.receive_and_send(us(50), data_packet(PEER, 40, 0, 0, us(30)));
    s.receive_and_send(us(60), data_packet(PEER, 40, 1, 0, us(40)));
    s.receive_and_send(us(70), data_packet(PEER, 40, 1, 0, us(40)));
    // Six packets, 3 OWDbytes, are outstanding: nothing is left for a newcomer, which waits.
    assert_eq!(
        s.receive_and_send(us(80), data_packet(OTHER, 40, 0, 0, us(60))),
        ["delivered 1460", "grant 2 on 0, answers 0", "join 1 of 2 by 0"]
    );
    assert_eq!(
        s.receive_and_send(us(81), data_packet(PEER, 40, 2, 0, us(61))),
        ["delivered 1460", "grant 8 on 0, answers 2"]
    );
    assert_eq!(
        s.receive_and_send(us(82), data_packet(PEER, 40, 3, 0, us(62))),
        ["delivered 1460", "grant 4 to 2 on 0", "grant 8 on 0, answers 3"]
    );
}

#[test]
fn silence_is_followed_by_a_request_for_what_is_missing_and_withholding_is_not() {
    let mut s = default_script();
    s.receive_and_send(us(50), data_packet(PEER, 40, 0, 0, us(30)));
    s.receive_and_send(us(51), data_packet(PEER, 40, 2, 0, us(31)));
    // Packets 1, 3 and 4 are permitted and missing, and nothing comes for T_out, 160 us.
    assert_eq!(
        s.effects_until(us(230)),
        [(us(210), vec!["join 1 of 2 by 0".into()]), (us(211), vec!["resend 1..2 on 0".into()])]
    );
    // It comes; the next range was silent for as long, and is requested at once.
    let next = s.receive_and_send(us(240), data_packet(PEER, 40, 1, 0, us(235)));
    assert!(next.contains(&"resend 3..5 on 0".to_string()), "{next:?}");
    // Everything permitted has arrived: no deadline has an effect while credit is withheld.
    let mut quiet = default_script();
    quiet.receive_and_send(us(50), data_packet(PEER, 2, 0, 0, us(30)));
    quiet.receive_and_send(us(51), data_packet(PEER, 2, 1, 0, us(31)));
    assert!(quiet.effects_until(us(10_000)).is_empty());
}

#[test]
fn a_message_may_wait_for_its_request() {
    let request = ("request", ParamValue::Bool(true));
    let mut s = script_of(std::slice::from_ref(&request));
    assert_eq!(s.open_message(us(0), message_of(5)), ["probe"]);
    let mut asks = Packet::new(PacketKind::Pull, PEER, HERE, 0);
    asks.count = 2;
    assert_eq!(s.receive_and_send(us(5), asks), ["data 0 on 0", "data 1 on 0"]);
    assert!(s.receive_and_send(us(6), asks).is_empty());
    let mut client = script_of(&[request]);
    let mut announced = data_packet(PEER, 5, 0, 0, us(0));
    (announced.kind, announced.payload) = (PacketKind::Probe, 0);
    assert_eq!(client.receive_and_send(us(0), announced), ["request 2"]);
    // A lost Request is repeated after T_out, next to what would follow it if it was not lost.
    assert_eq!(
        client.effects_until(us(200)),
        [(us(160), vec!["request 2".into(), "resend 0..2 on 0".into()])]
    );
}

#[test]
fn a_lost_announcement_or_last_word_is_asked_for() {
    let mut s = default_script();
    s.open_message(us(0), message_of(2));
    assert_eq!(s.effects_until(us(200)), [(us(160), vec!["probe".to_string()])]);
    let mut receiver = default_script();
    let mut probe = data_packet(PEER, 2, 0, 0, us(0));
    (probe.kind, probe.payload) = (PacketKind::Probe, 0);
    assert_eq!(receiver.receive_and_send(us(5), probe), ["resend 0..2 on 0"]);
    receiver.receive_and_send(us(30), data_packet(PEER, 2, 0, 0, us(20)));
    assert!(
        receiver
            .receive_and_send(us(31), data_packet(PEER, 2, 1, 0, us(21)))
            .contains(&"finished".to_string())
    );
    assert_eq!(receiver.receive_and_send(us(40), probe), ["finished"]);
}

#[test]
fn without_pro_capable_at_either_end_nobody_joins() {
    let mut old = data_packet(PEER, 40, 0, 0, us(30));
    old.token = 0;
    assert_eq!(default_script().receive_and_send(us(50), old), ["delivered 1460", "grant 4 on 0, answers 0"]);
    let mut s = script_of(&[("capable", ParamValue::Bool(false))]);
    assert_eq!(
        s.receive_and_send(us(50), data_packet(PEER, 40, 0, 0, us(30))),
        ["delivered 1460", "grant 4 on 0, answers 0"]
    );
    s.open_message(us(60), message_of(40));
    assert!(s.receive_and_send(us(70), join_request(1)).is_empty());
}

#[test]
fn a_peer_that_is_gone_leaves_no_state_and_no_credit() {
    let mut s = default_script();
    s.open_message(us(0), Message { dst: PEER, ..message_of(5) });
    s.receive_and_send(us(50), data_packet(PEER, 40, 0, 0, us(30)));
    s.machine.forget_peer(us(60), PEER);
    assert_eq!(s.drain_events(), ["failed: the peer is gone"]);
    assert_eq!(s.machine.live_messages(), 0);
    let gauges = s.machine.collect_gauges(us(60));
    let credit = gauges.iter().find(|g| g.name == "outstanding_credit_bytes").expect("a gauge");
    // OWDbytes, which the first packet brought.
    assert_eq!((credit.value, credit.max), (0, 2 * FULL));
}
