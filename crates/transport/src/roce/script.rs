//! RoCE packet by packet: inputs, expected outputs, and their times.
//!
//! The path's base round trip is 10 full packets, 12.304 us, and its largest 40 us: the time-out is 40 us, and with at most
//! three packets under way and selective repeat 40 us as well, unless it is set. Outputs are written as words: `data 3`,
//! `data 3 again`, `ack 3 <4` (3 is answered, and all below 4 have arrived), `nack 6 <3`, and `marked` behind a notification.

use crate::script;

use headway_packet::{Ecn, Hop, Packet, PacketFlags, PacketKind, Sizes, Stamps};
use headway_params::{ParamValue, Params};
use headway_transport::endpoint::Checked;
use headway_transport::roce::control::{RateControl, dcqcn, hpcc, powertcp};
use headway_transport::roce::params::RoceParams;
use headway_transport::roce::{Roce, RoceEndpoint};
use headway_transport::{Endpoint, EndpointEvent, InitialWindow, Message, Transport};
use headway_units::{Rate, Time};
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};
use std::marker::PhantomData;

// 1538 bytes at 10 Gb/s.
const SLOT: Time = Time(1_230_400);

/// One host's machine and the words for its outputs.
struct Script<C> {
    machine: Checked<RoceEndpoint>,
    control: PhantomData<C>,
}

type Dcqcn = Script<dcqcn::Dcqcn>;
type Hpcc = Script<hpcc::Hpcc>;

impl<C: RateControl> Script<C> {
    /// A script with these parameters, which are durations or words.
    fn with_params(set: &[(&str, ParamValue)]) -> Self {
        let mut params = RoceParams::<C::Params>::default();
        for (name, value) in set {
            params.set(name, value.clone()).expect("a parameter");
        }
        let machine = Roce::<C>::make_endpoint(&params, host_context(SLOT * 10, us(40), 0));
        Script { machine: Checked::new(machine), control: PhantomData }
    }

    /// Opens a message; nothing leaves.
    fn begin_message(&mut self, now: Time, message: &Message) {
        self.machine.open_message(now, message);
        assert!(self.drain_events().is_empty());
    }

    /// Packets that leave over a wire of 10 Gb/s from `now` until nothing is due before `until`, with their times.
    fn over_wire(&mut self, mut now: Time, until: Time) -> Vec<(Time, u32)> {
        let mut sent = Vec::new();
        while now < until {
            if let Some(packet) = self.poll_packet(now) {
                sent.push((now, packet.index));
                now += Rate::gbps(10).time_of(packet.wire.into());
                continue;
            }
            let Some(at) = self.machine.next_timeout().filter(|at| *at < until) else { break };
            now = now.max(at);
            self.machine.handle_timeout(now);
            assert!(self.drain_events().is_empty());
        }
        sent
    }
}

fn choice_param(name: &'static str, word: &str) -> (&'static str, ParamValue) {
    (name, ParamValue::Choice(word.into()))
}

fn selective_repeat() -> (&'static str, ParamValue) {
    choice_param("recovery", "selective-repeat")
}

impl<C: RateControl> Steps for Script<C> {
    type Machine = RoceEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<RoceEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        let flag = |flag, word| if packet.flags.has_all(flag) { word } else { "" };
        let (again, marked) = (flag(PacketFlags::AGAIN, " again"), flag(PacketFlags::ECE, " marked"));
        match packet.kind {
            PacketKind::Data => format!("data {}{again}", packet.index),
            kind => format!("{} {} <{}{marked}", kind.name(), packet.index, packet.count),
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
    (packet.index, packet.count, packet.message_bytes) = (index, packets as u32, packets * FULL);
    (packet.payload, packet.wire, packet.tag) = (FULL as u16, Sizes::default().full_wire(), 77);
    (packet.priority, packet.ecn, packet.lifetime) = (1, Ecn::Ect, us(3));
    packet
}

/// Answer of `PEER` about message 0 of this host: all below `below` have arrived, and `index` is answered.
fn answer_packet(kind: PacketKind, index: u32, below: u32) -> Packet {
    let mut packet = Packet::new(kind, PEER, HERE, 0);
    (packet.index, packet.count, packet.entropy) = (index, below, 9);
    packet
}

fn ack_packet(index: u32) -> Packet {
    answer_packet(PacketKind::Ack, index, index + 1)
}

fn nack_packet(index: u32, below: u32) -> Packet {
    answer_packet(PacketKind::Nack, index, below)
}

fn sent_indices(sent: &[(Time, u32)]) -> Vec<u32> {
    sent.iter().map(|(_, index)| *index).collect()
}

/// Ten packets have left, back to back.
fn ten_sent<C: RateControl>(set: &[(&str, ParamValue)]) -> Script<C> {
    let mut script = Script::with_params(set);
    script.begin_message(Time::ZERO, &message_of(10));
    let sent = script.over_wire(Time::ZERO, us(20));
    assert_eq!(sent, (0..10).map(|n| (SLOT * u64::from(n), n)).collect::<Vec<_>>());
    script
}

#[test]
fn a_message_leaves_at_the_rate_of_the_link_and_ends_with_its_last_answer() {
    let mut script: Dcqcn = ten_sent(&[]);
    for index in 0..9 {
        assert!(script.receive_and_send(us(20), ack_packet(index)).is_empty());
    }
    assert_eq!(script.receive_and_send(us(21), ack_packet(9)), ["acknowledged"]);
    assert_eq!(script.machine.live_messages(), 0);
    assert!(script.effects_until(us(10_000)).is_empty());
}

#[test]
fn messages_take_turns_a_packet_each() {
    let mut script = Dcqcn::with_params(&[]);
    script.begin_message(Time::ZERO, &message_of(3));
    script.begin_message(Time::ZERO, &Message { dst: OTHER, tag: 78, ..message_of(2) });
    assert_eq!(sent_indices(&script.over_wire(Time::ZERO, us(20))), [0, 0, 1, 1, 2]);
}

#[test]
fn a_sender_goes_back_to_the_first_missing_packet() {
    let mut script: Dcqcn = ten_sent(&[]);
    for index in 0..3 {
        script.receive_and_send(us(20), ack_packet(index));
    }
    // 3 is lost.
    script.receive_busy(us(21), nack_packet(4, 3));
    let again = script.over_wire(us(21), us(40));
    assert_eq!(sent_indices(&again), [3, 4, 5, 6, 7, 8, 9]);
    assert!(script.receive_and_send(us(40), nack_packet(5, 2)).is_empty(), "an old complaint");
    for index in 3..9 {
        assert!(script.receive_and_send(us(41), ack_packet(index)).is_empty());
    }
    assert_eq!(script.receive_and_send(us(42), ack_packet(9)), ["acknowledged"]);
}

#[test]
fn a_lost_tail_is_sent_again_after_a_time_out() {
    let mut script: Dcqcn = ten_sent(&[]);
    for index in 0..8 {
        script.receive_and_send(us(20), ack_packet(index));
    }
    assert!(script.effects_until(Time(us(60).0 - 1)).is_empty());
    assert_eq!(script.effects_until(us(62)).first(), Some(&(us(60), vec!["data 8 again".into()])));
    // Nothing is heard: the time-out is doubled, five times at most.
    let late = script.effects_until(us(4000));
    let first: Vec<Time> =
        late.iter().filter(|(_, words)| words[0] == "data 8 again").map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = first.windows(2).map(|pair| (pair[1] - pair[0]).0 / 1_000_000).collect();
    assert_eq!(
        gaps[..5],
        [160, 320, 640, 1280, 1280].map(|us| us + 1),
        "and the second packet leaves a frame later"
    );
}

#[test]
fn a_receiver_drops_what_is_behind_a_gap_and_complains_once() {
    let mut script = Dcqcn::with_params(&[]);
    assert_eq!(script.receive_and_send(us(3), data_packet(10, 0)), ["ack 0 <1"]);
    assert_eq!(script.receive_and_send(us(4), data_packet(10, 2)), ["nack 2 <1"]);
    assert!(script.receive_and_send(us(5), data_packet(10, 3)).is_empty());
    assert!(script.receive_and_send(us(503), data_packet(10, 4)).is_empty());
    assert_eq!(script.receive_and_send(us(504), data_packet(10, 5)), ["nack 5 <1"], "again after 500 us");
    assert_eq!(script.receive_and_send(us(505), data_packet(10, 1)), ["ack 1 <2"]);
    // Within 500 us of the last complaint, but about another packet.
    assert_eq!(
        script.receive_and_send(us(506), data_packet(10, 3)),
        ["nack 3 <2"],
        "2 was dropped, and is another gap"
    );
    assert_eq!(
        script.receive_and_send(us(507), data_packet(10, 0)),
        ["ack 0 <2"],
        "what has arrived is acknowledged again"
    );
    for index in 2..9 {
        assert_eq!(
            script.receive_and_send(us(508), data_packet(10, index)),
            [format!("ack {index} <{}", index + 1)]
        );
    }
    assert_eq!(script.receive_and_send(us(509), data_packet(10, 9)), ["completed", "ack 9 <10"]);
    assert_eq!(
        script.receive_and_send(us(600), data_packet(10, 4)),
        ["ack 4 <10"],
        "its sender has not heard the last one"
    );
    assert_eq!(script.machine.live_messages(), 0);
}

/// Of ten packets 3 and 5 are lost: each is repeated once, and nothing else is.
#[test]
fn selective_repeat_repeats_what_is_lost_and_that_once() {
    let mut script: Dcqcn = ten_sent(&[selective_repeat()]);
    for index in 0..3 {
        script.receive_and_send(us(20), ack_packet(index));
    }
    assert_eq!(script.receive_and_send(us(21), nack_packet(4, 3)), ["data 3 again"]);
    assert_eq!(sent_indices(&script.over_wire(us(23), us(24))), []);
    assert_eq!(script.receive_and_send(us(25), nack_packet(6, 3)), ["data 5 again"]);
    for index in 7..10 {
        assert!(script.receive_and_send(us(27), nack_packet(index, 3)).is_empty());
    }
    assert!(script.receive_and_send(us(30), answer_packet(PacketKind::Ack, 3, 5)).is_empty());
    assert_eq!(script.receive_and_send(us(32), answer_packet(PacketKind::Ack, 5, 10)), ["acknowledged"]);
}

#[test]
fn a_receiver_keeps_what_is_behind_a_gap_where_repetition_is_selective() {
    let mut script = Dcqcn::with_params(&[selective_repeat()]);
    let mut words = |index| script.receive_and_send(us(4), data_packet(10, index));
    assert_eq!(words(0), ["ack 0 <1"]);
    assert_eq!(words(3), ["nack 3 <1"]);
    assert_eq!(words(4), ["nack 4 <1"]);
    assert_eq!(words(4), ["nack 4 <1"], "twice");
    assert_eq!(words(1), ["ack 1 <2"]);
    assert_eq!(words(2), ["ack 2 <5"], "what was kept counts");
    (5..9).for_each(|index| assert_eq!(words(index).len(), 1));
    assert_eq!(words(9), ["completed", "ack 9 <10"]);
}

#[test]
fn few_packets_have_the_shorter_time_out() {
    let few = ("rto_low", ParamValue::Time(us(15)));
    // Three packets are few, four are not; go-back-N has one time-out.
    for (packets, recovery, due) in
        [(3, "selective-repeat", 15), (4, "selective-repeat", 40), (3, "go-back-n", 40)]
    {
        let mut script = Dcqcn::with_params(&[few.clone(), choice_param("recovery", recovery)]);
        script.begin_message(Time::ZERO, &message_of(packets));
        let last = script.over_wire(Time::ZERO, us(10)).last().expect("they leave").0;
        let first = script.effects_until(us(80)).first().cloned();
        assert_eq!(first.map(|(at, _)| at), Some(last + us(due)), "{packets} packets, {recovery}");
    }
}

#[test]
fn selective_repeat_sends_no_more_than_its_cap() {
    let cap = ("cap", ParamValue::Int(4 * FULL));
    let mut script = Dcqcn::with_params(&[selective_repeat(), cap]);
    script.begin_message(Time::ZERO, &message_of(10));
    assert_eq!(sent_indices(&script.over_wire(Time::ZERO, us(20))), [0, 1, 2, 3]);
    assert!(script.receive_and_send(us(21), nack_packet(1, 0)).contains(&"data 0 again".to_string()));
    assert_eq!(sent_indices(&script.over_wire(us(23), us(30))), [], "the first one is still missing");
    script.receive_busy(us(30), answer_packet(PacketKind::Ack, 0, 2));
    assert_eq!(sent_indices(&script.over_wire(us(30), us(40))), [4, 5]);
}

#[test]
fn notifications_are_answers_to_marked_packets_and_may_be_rationed() {
    let marked = |index| Packet { ecn: Ecn::Ce, ..data_packet(10, index) };
    let mut each = Dcqcn::with_params(&[]);
    assert_eq!(each.receive_and_send(us(10), marked(0)), ["ack 0 <1 marked"]);
    assert_eq!(each.receive_and_send(us(11), marked(1)), ["ack 1 <2 marked"]);
    assert_eq!(each.receive_and_send(us(12), marked(3)), ["nack 3 <2 marked"]);
    let mut paper = Dcqcn::with_params(&[choice_param("preset", "paper")]);
    assert_eq!(paper.receive_and_send(us(10), marked(0)), ["ack 0 <1 marked"]);
    assert_eq!(paper.receive_and_send(us(59), marked(1)), ["ack 1 <2"]);
    assert_eq!(paper.receive_and_send(us(60), marked(2)), ["ack 2 <3 marked"], "50 us later");
    assert_eq!(paper.receive_and_send(us(200), data_packet(10, 3)), ["ack 3 <4"]);
}

/// A notification halves the rate after 4 us, nearly, and packets leave at twice their distance from then on.
#[test]
fn a_cut_counts_from_the_last_packet_that_left() {
    let mut script = Dcqcn::with_params(&[]);
    script.begin_message(Time::ZERO, &message_of(1000));
    // 20 us are 16.3 slots, so 17 packets have begun.
    assert_eq!(script.over_wire(Time::ZERO, us(20)).len(), 17);
    script.receive_busy(SLOT * 17, Packet { flags: PacketFlags::ECE, ..ack_packet(0) });
    let sent = script.over_wire(SLOT * 17, us(60));
    let gap = |n: usize| sent[n + 1].0 - sent[n].0;
    assert_eq!([gap(0), gap(1), gap(2)], [SLOT; 3]);
    // Alpha has fallen four times, once a microsecond.
    let twice = 255.0 / 256.0 * (255.0 / 256.0);
    let rate = 1e10 * (1.0 - twice * twice / 2.0);
    let slow = Rate::new(rate as u64).expect("it is not zero").time_of(1538);
    assert_eq!([gap(3), gap(4), gap(10)], [slow; 3], "from 4 us and 1 ns after the notification on");
}

#[test]
fn a_window_of_a_message_that_begins_as_one_of_several_is_its_share() {
    let mut script = Dcqcn::with_params(&[("window", ParamValue::Bool(true))]);
    // Two sharers: half of the rate as well as half of the window.
    let initial_window = InitialWindow { share: 2, ..InitialWindow::default() };
    script.begin_message(Time::ZERO, &Message { initial_window, ..message_of(100) });
    // Before its time-out, since nothing is answered.
    let sent = script.over_wire(Time::ZERO, us(40));
    // 10.5 packets of payload are a bandwidth-delay product, and half of it is six packets, at half of the rate.
    assert_eq!(sent.iter().map(|(at, _)| at.0 / SLOT.0).collect::<Vec<_>>(), [0, 2, 4, 6, 8, 10]);
}

fn make_stamp(at: Time, sent: u64, queue: u64) -> Stamps {
    let mut stamps = Stamps::default();
    stamps.push(Hop { at, sent, queue, rate: Rate::gbps(10) });
    stamps
}

#[test]
fn what_ports_wrote_comes_back_with_the_answer_and_takes_room() {
    let mut script = Hpcc::with_params(&[]);
    assert!(script.machine.reads_stamps());
    let (one, two) = (make_stamp(us(1), 0, 0), make_stamp(us(2), 1580, 700));
    script.machine.receive_stamped(us(3), &data_packet(10, 0), &one);
    assert!(script.drain_events().is_empty());
    script.machine.receive_stamped(us(4), &data_packet(10, 1), &two);
    assert!(script.drain_events().is_empty());
    let first = script.poll_packet(us(4)).expect("an answer");
    assert_eq!((first.wire, script.machine.poll_echo()), (84 + 42, Some(one)));
    assert_eq!(script.poll_packet(us(4)).map(|answer| answer.index), Some(1));
    assert_eq!((script.machine.poll_echo(), script.machine.poll_echo()), (Some(two), None));
    script.begin_message(us(5), &message_of(1));
    let sent = script.poll_packet(us(5)).expect("data");
    assert_eq!((sent.wire, script.machine.poll_echo()), (1538 + 42, None));
    let dcqcn = Dcqcn::with_params(&[]);
    assert!(!dcqcn.machine.reads_stamps());
}

/// A whole round trip at line rate with half a bandwidth-delay product waiting: the rate is divided by 1.5/0.95.
#[test]
fn the_rate_follows_the_stamps_of_answers() {
    let base = ("base_rtt", ParamValue::Time(SLOT * 10));
    let mut script = Hpcc::with_params(&[base]);
    script.begin_message(Time::ZERO, &message_of(1000));
    let first = script.over_wire(Time::ZERO, us(30));
    assert_eq!(first.len(), 11, "a bandwidth-delay product of payload, and one packet is begun");
    script.machine.receive_stamped(us(30), &ack_packet(0), &make_stamp(us(1), 0, 7690));
    assert!(script.drain_events().is_empty());
    assert_eq!(sent_indices(&script.over_wire(us(30), us(31))), [11]);
    script.machine.receive_stamped(us(32), &ack_packet(11), &make_stamp(us(1) + SLOT * 10, 15_380, 7690));
    assert!(script.drain_events().is_empty());
    let sent = script.over_wire(us(32), us(60));
    // The window is 6.3 of its 10.5 packets.
    assert_eq!(sent.len(), 7);
    let rate = Rate::new((1e10 / (1.5 / 0.95) + 4e6) as u64).expect("it is not zero");
    assert_eq!(sent[1].0 - sent[0].0, rate.time_of(1580));
}

/// A bandwidth-delay product below one byte, and a cap of one: one packet at a time may be under way all the same.
#[test]
fn a_window_that_rounds_to_nothing_lets_one_packet_leave() {
    fn one_at_a_time<C: RateControl>() {
        for recovery in ["go-back-n", "selective-repeat"] {
            let recovery = ("recovery", ParamValue::Choice(recovery.into()));
            let set = [("base_rtt", ParamValue::Time(Time(1))), recovery];
            let mut script = Script::<C>::with_params(&set);
            script.begin_message(Time::ZERO, &message_of(3));
            let first = script.poll_packet(Time::ZERO).expect("the first packet leaves");
            assert_eq!((first.kind, first.index), (PacketKind::Data, 0));
        }
    }
    one_at_a_time::<dcqcn::Dcqcn>();
    one_at_a_time::<hpcc::Hpcc>();
    one_at_a_time::<powertcp::PowerTcp>();
}
