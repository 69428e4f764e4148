//! ExpressPass packet by packet: inputs, expected outputs, and their times.
//!
//! The link has 10 Gb/s: credits at the highest rate are 1297.6 ns apart. The path's largest round trip is 20 us;
//! requests are repeated after 100 us. Gaps are without jitter and credits are 84 bytes. Outputs are written as
//! words: `request 1 of 5`, `data 3 for 7` (credit 7), `data 3 for 9 again`, `stop 1 sent 5 left 0`, `credit 4 (1)`
//! (of attempt 1), `missing 2..4`, `finished`.

use crate::script;

use headway_packet::{Packet, PacketFlags, PacketKind};
use headway_transport::endpoint::Around;
use headway_transport::endpoint::Checked;
use headway_transport::expresspass::{
    ExpressPass, ExpressPassAeolus, ExpressPassAeolusParams, ExpressPassEndpoint, ExpressPassParams,
    Recovery, Unheard, Values,
};
use headway_transport::{Endpoint, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, PEER, Steps, host_context, message_of, us};

/// Time between two credits at the highest rate.
const SLOT: Time = Time::ps(1_297_600);

struct Script {
    machine: Checked<ExpressPassEndpoint>,
    /// Time of the last input.
    clock: Time,
}

/// Parameters as released, but without random draws, and at full rate from the beginning.
fn script_values() -> Values {
    Values {
        jitter: 0.0,
        credit_shorter: 0,
        credit_longer: 0,
        alpha: 1.0,
        adaptive_start: 0,
        ..Values::default()
    }
}

fn script_with(values: Values) -> Script {
    let context = host_context(us(10), us(20), 0);
    let machine = ExpressPass::make_endpoint(&ExpressPassParams(values), context);
    Script { machine: Checked::new(machine), clock: Time::ZERO }
}

/// A script with Aeolus: a first window of nine packets, a round trip of 10 us.
fn with_aeolus(unheard: Unheard) -> Script {
    let context = host_context(us(10), us(20), 0);
    let mut params =
        ExpressPassAeolusParams { expresspass: ExpressPassParams(script_values()), ..Default::default() };
    params.burst.unheard = unheard;
    Script { machine: Checked::new(ExpressPassAeolus::make_endpoint(&params, context)), clock: Time::ZERO }
}

/// A packet of `PEER` about message 0, which has `packets` packets.
fn peer_packet(kind: PacketKind, packets: u64) -> Packet {
    Packet {
        message_bytes: packets * FULL,
        tag: 77,
        entropy: 9,
        wire: 84,
        ..Packet::new(kind, PEER, HERE, 0)
    }
}

fn request_packet(packets: u64, attempt: u32) -> Packet {
    Packet { token: attempt, remaining: packets as u32, ..peer_packet(PacketKind::Rts, packets) }
}

/// Packet `index`, for credit `credit` that left here at `left`.
fn data_packet(packets: u64, index: u32, credit: u32, left: Time) -> Packet {
    let (payload, wire) = (FULL as u16, 1538);
    Packet { index, token: credit, lifetime: left, payload, wire, ..peer_packet(PacketKind::Data, packets) }
}

fn stop_packet(packets: u64, attempt: u32, sent: u32) -> Packet {
    let left = packets as u32 - sent;
    Packet { token: attempt, index: sent, remaining: left, ..peer_packet(PacketKind::CreditStop, packets) }
}

fn credit_packet(number: u32, attempt: u32) -> Packet {
    // Any time does: it has to come back in the data.
    Packet { token: number, count: attempt, lifetime: us(3), ..peer_packet(PacketKind::Credit, 0) }
}

fn missing_packet(range: std::ops::Range<u32>) -> Packet {
    Packet { index: range.start, count: range.end - range.start, ..peer_packet(PacketKind::Resend, 0) }
}

impl Steps for Script {
    type Machine = ExpressPassEndpoint;
    const WAKES: u32 = 100_000;

    fn checked_machine(&mut self) -> &mut Checked<ExpressPassEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        packet_words(packet)
    }

    fn deadline_met(&mut self, due: Time) -> Time {
        self.clock = due.max(self.clock);
        self.clock
    }

    fn receive_busy(&mut self, now: Time, packet: Packet) -> Vec<String> {
        self.clock = now;
        self.machine.receive_packet(now, &packet);
        self.drain_events()
    }
}

fn packet_words(p: &Packet) -> String {
    let again = if p.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
    match p.kind {
        PacketKind::Rts => format!("request {} of {}", p.token, p.remaining),
        PacketKind::Data if p.flags.has_all(PacketFlags::UNSCHEDULED) => {
            format!("data {} unscheduled", p.index)
        }
        PacketKind::Data => format!("data {} for {}{again}", p.index, p.token),
        PacketKind::Ack if p.flags.has_all(PacketFlags::UNSCHEDULED) => "ack of the probe".into(),
        PacketKind::Ack => format!("ack {}", p.index),
        PacketKind::CreditStop => format!("stop {} sent {} left {}", p.token, p.index, p.remaining),
        PacketKind::Credit => format!("credit {} ({})", p.token, p.count),
        PacketKind::Resend => format!("missing {}..{}", p.index, p.index + p.count),
        kind => kind.name().into(),
    }
}

#[test]
fn each_credit_releases_one_packet_and_the_last_one_is_followed_by_a_stop() {
    let mut s = script_with(script_values());
    assert_eq!(s.open_message(us(1), message_of(3)), ["request 1 of 3"]);
    assert_eq!(s.receive_and_send(us(11), credit_packet(1, 1)), ["data 0 for 1"]);
    assert_eq!(s.receive_and_send(us(12), credit_packet(2, 1)), ["data 1 for 2"]);
    assert!(s.receive_and_send(us(12), credit_packet(2, 1)).is_empty(), "a credit is used once");
    assert_eq!(s.receive_and_send(us(13), credit_packet(5, 1)), ["data 2 for 5", "stop 1 sent 3 left 0"]);
    assert!(s.receive_and_send(us(14), credit_packet(4, 1)).is_empty(), "one that is late is not used");
    assert!(s.receive_and_send(us(15), credit_packet(6, 1)).is_empty());
    let credits = s.machine.inner().credit_counters();
    assert_eq!((credits.received, credits.wasted), (6, 3));
    assert_eq!(s.receive_and_send(us(23), peer_packet(PacketKind::Finished, 0)), ["acknowledged"]);
    assert!(s.receive_and_send(us(24), credit_packet(7, 1)).is_empty());
    assert_eq!(s.machine.inner().credit_counters().wasted, 4);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn a_data_packet_echoes_the_time_of_its_credit() {
    let mut s = script_with(script_values());
    s.open_message(us(1), message_of(2));
    s.machine.receive_packet(us(11), &credit_packet(4, 1));
    assert!(s.drain_events().is_empty());
    let [packet] = s.poll_packets(us(11))[..] else { panic!("one packet") };
    assert_eq!((packet.token, packet.lifetime, packet.count), (4, us(3), 0));
    assert_eq!((packet.message_bytes, packet.entropy, packet.wire), (2 * FULL, 9, 1538));
}

#[test]
fn a_request_is_repeated_until_credits_come_and_a_stop_until_it_is_answered() {
    let mut s = script_with(script_values());
    s.open_message(us(0), message_of(1));
    let words = |list: &[&str]| -> Vec<String> { list.iter().map(|w| w.to_string()).collect() };
    let again = words(&["request 1 of 1"]);
    assert_eq!(s.effects_until(us(650)), [(us(100), again.clone()), (us(300), again.clone())]);
    // 10 us from request to credit: stops are 20 us apart, and then twice that each time.
    assert_eq!(s.effects_until(us(700)), [(us(700), again)]);
    assert_eq!(s.receive_and_send(us(710), credit_packet(1, 1)), ["data 0 for 1", "stop 1 sent 1 left 0"]);
    let stop = words(&["stop 1 sent 1 left 0"]);
    assert_eq!(s.effects_until(us(800)), [(us(730), stop.clone()), (us(770), stop.clone())]);
    assert!(s.receive_and_send(us(801), credit_packet(2, 1)).is_empty(), "the receiver has not heard");
    assert_eq!(s.effects_until(us(880)), [(us(850), stop.clone()), (us(870), stop)], "so that it is urgent");
}

#[test]
fn a_sender_stops_early_and_asks_again_if_it_was_wrong() {
    let mut s = script_with(script_values());
    s.open_message(us(0), message_of(10));
    for number in 1..=5 {
        let out = s.receive_and_send(us(9 + u64::from(number)), credit_packet(number, 1));
        assert_eq!(out, [format!("data {} for {number}", number - 1)]);
    }
    // A round trip of 10 us after the first: five credits since, and four packets left.
    let out = s.receive_and_send(us(20), credit_packet(6, 1));
    assert_eq!(out, ["data 5 for 6", "stop 1 sent 6 left 4"]);
    assert_eq!(
        s.receive_and_send(us(22), credit_packet(7, 1)),
        ["data 6 for 7"],
        "what comes all the same is used"
    );
    let again = vec!["request 2 of 3".to_string()];
    assert_eq!(s.effects_until(us(45)), [(us(40), again)]);
    assert_eq!(
        s.receive_and_send(us(46), credit_packet(8, 1)),
        ["data 7 for 8"],
        "good for a packet, but not the answer"
    );
    assert_eq!(s.effects_until(us(145)), [(us(140), vec!["request 2 of 2".to_string()])]);
    assert_eq!(s.receive_and_send(us(150), credit_packet(9, 2)), ["data 8 for 9"]);
    assert_eq!(s.receive_and_send(us(151), credit_packet(10, 2)), ["data 9 for 10", "stop 2 sent 10 left 0"]);

    let mut late = script_with(Values { early_stop: 0, ..script_values() });
    late.open_message(us(0), message_of(10));
    (1..=9).for_each(|n| drop(late.receive_and_send(us(9 + u64::from(n)), credit_packet(n, 1))));
    assert_eq!(
        late.receive_and_send(us(30), credit_packet(10, 1)),
        ["data 9 for 10", "stop 1 sent 10 left 0"]
    );
}

#[test]
fn what_is_missing_is_sent_again_with_other_credits() {
    for (recovery, again) in [
        (Recovery::Selective, vec!["data 1 for 7 again", "stop 2 sent 4 left 0"]),
        (Recovery::GoBackN, vec!["data 1 for 7 again"]),
    ] {
        let mut s = script_with(Values { recovery, ..script_values() });
        s.open_message(us(0), message_of(4));
        (1..=4).for_each(|n| drop(s.receive_and_send(us(10), credit_packet(n, 1))));
        let left = if recovery == Recovery::Selective { 1 } else { 3 };
        assert_eq!(s.receive_and_send(us(20), missing_packet(1..2)), [format!("request 2 of {left}")]);
        assert!(
            s.receive_and_send(us(21), missing_packet(4..9)).is_empty(),
            "nobody can miss what was not sent"
        );
        assert_eq!(s.receive_and_send(us(30), credit_packet(7, 2)), again);
    }
    // While credits come, nothing has to be asked for.
    let mut s = script_with(Values { early_stop: 0, ..script_values() });
    s.open_message(us(0), message_of(4));
    (1..=3).for_each(|n| drop(s.receive_and_send(us(10), credit_packet(n, 1))));
    assert!(s.receive_and_send(us(20), missing_packet(0..2)).is_empty());
    assert_eq!(s.receive_and_send(us(21), credit_packet(4, 1)), ["data 0 for 4 again"]);
    assert_eq!(s.receive_and_send(us(22), credit_packet(5, 1)), ["data 1 for 5 again"]);
    assert_eq!(s.receive_and_send(us(23), credit_packet(6, 1)), ["data 3 for 6", "stop 1 sent 4 left 0"]);
}

#[test]
fn a_receiver_sends_credits_at_its_rate_until_the_stop() {
    let mut s = script_with(script_values());
    assert_eq!(s.receive_and_send(us(0), request_packet(5, 1)), ["credit 1 (1)"]);
    let credits: Vec<Time> = s.effects_until(SLOT * 4).into_iter().map(|(at, _)| at).collect();
    assert_eq!(credits, [SLOT, SLOT * 2, SLOT * 3, SLOT * 4]);
    assert!(
        s.receive_and_send(us(6), request_packet(5, 1)).is_empty(),
        "a repeated request starts nothing anew"
    );
    for index in 0..4 {
        assert_eq!(
            s.receive_and_send(us(10), data_packet(5, index, index + 1, Time::ZERO)),
            ["delivered 1460"]
        );
    }
    assert_eq!(s.receive_and_send(us(11), data_packet(5, 4, 5, us(1))), ["delivered 1460", "completed"]);
    assert_eq!(s.machine.live_messages(), 1, "credits go on");
    assert_eq!(s.receive_and_send(us(12), stop_packet(5, 1, 5)), ["finished"]);
    assert!(s.effects_until(us(1000)).is_empty());
    assert_eq!((s.machine.live_messages(), s.machine.next_timeout()), (0, None));
    assert_eq!(s.receive_and_send(us(1001), stop_packet(5, 1, 5)), ["finished"], "the answer was lost");
    assert_eq!(s.receive_and_send(us(1002), request_packet(5, 2)), ["finished"]);
    assert!(s.receive_and_send(us(1003), data_packet(5, 0, 1, us(0))).is_empty());
}

#[test]
fn first_rates_follow_alpha_the_length_and_the_share() {
    let second = |values: Values, request: Packet| {
        let mut s = script_with(values);
        assert_eq!(s.receive_and_send(Time::ZERO, request).len(), 1);
        s.effects_until(SLOT * 200)[0].0
    };
    let half = Values { alpha: 0.5, ..script_values() };
    assert_eq!(second(half.clone(), request_packet(100, 1)), SLOT * 2);
    assert_eq!(second(Values { adaptive_start: 40, ..half.clone() }, request_packet(20, 1)), SLOT * 4);
    assert_eq!(second(half, Packet { count: 4, ..request_packet(2, 1) }), SLOT * 4, "one of four sharers");
}

#[test]
fn jitter_and_sizes_of_credits_are_spread_evenly_and_the_same_every_time() {
    let trace = |jitter| {
        let mut s = script_with(Values {
            jitter,
            alpha: 0.1,
            credit_shorter: 8,
            credit_longer: 8,
            ..script_values()
        });
        s.receive_and_send(Time::ZERO, request_packet(5000, 1));
        let (mut times, mut sizes) = (Vec::new(), Vec::new());
        while times.len() < 2000 {
            let at = s.machine.next_timeout().expect("credits go on");
            s.machine.handle_timeout(at);
            assert!(s.drain_events().is_empty());
            for packet in s.poll_packets(at) {
                times.push(at);
                sizes.push(packet.wire);
            }
        }
        (times, sizes)
    };
    let (times, sizes) = trace(0.1);
    assert_eq!(trace(0.1), (times.clone(), sizes.clone()));
    let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]).0 as f64 / (SLOT.0 as f64 * 10.0)).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.005, "{mean}");
    assert!(gaps.iter().all(|g| (0.8999..1.1001).contains(g)));
    assert!(gaps.iter().any(|g| *g < 0.91) && gaps.iter().any(|g| *g > 1.09));
    let mean = sizes.iter().map(|s| f64::from(*s)).sum::<f64>() / sizes.len() as f64;
    assert!((mean - 84.0).abs() < 0.4, "{mean}");
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&76), Some(&92)));
}

#[test]
fn a_host_shapes_and_drops_its_own_credits() {
    // Four messages at full rate each: eight credits wait, two leave at once, one a slot follows.
    let mut s = script_with(script_values());
    let mut left = Vec::new();
    for id in 0..4 {
        left.extend(s.receive_and_send(Time::ZERO, Packet { message: id, ..request_packet(100, 1) }));
    }
    assert_eq!(left.len(), 2, "the burst of the bucket");
    let credits: Vec<Time> = s.effects_until(SLOT * 20).into_iter().map(|(at, _)| at).collect();
    assert_eq!(credits, (1..=20).map(|n| SLOT * n).collect::<Vec<_>>());
    let counters = s.machine.inner().credit_counters();
    // Two left at first and one in each slot, of eight that waited; seven wait behind the last of them.
    // Each message makes a credit at time 0 and one in each of 20 slots.
    assert_eq!((counters.made, counters.dropped), (4 * 21, 4 * 21 - 22 - 7));
}

#[test]
fn a_gap_in_the_numbers_slows_credits_down_and_none_speeds_them_up() {
    let gap = |numbers: &[u32]| {
        let mut s = script_with(Values { alpha: 0.25, ..script_values() });
        s.receive_and_send(Time::ZERO, request_packet(100, 1));
        s.effects_until(us(25));
        for (index, number) in (0..).zip(numbers) {
            s.receive_and_send(us(25), data_packet(100, index, *number, us(15)));
        }
        // The rate changes as the next credit leaves, and counts for the gap after it.
        let times: Vec<_> = s.effects_until(us(60)).into_iter().map(|(at, _)| at).collect();
        times[1] - times[0]
    };
    let before = SLOT * 4;
    assert!(gap(&[1, 2, 3, 4]) < before);
    assert!(gap(&[1, 4]) > before, "half of them were lost");
    assert_eq!(gap(&[]), before, "nothing is known");
    assert_eq!(gap(&[900]), before, "a credit that never was");
}

#[test]
fn gaps_in_the_data_are_named_at_once_and_again_later() {
    let mut s = script_with(script_values());
    s.receive_and_send(Time::ZERO, request_packet(6, 1));
    s.effects_until(us(8));
    assert_eq!(s.receive_and_send(us(9), data_packet(6, 0, 1, us(0))), ["delivered 1460"]);
    s.effects_until(us(10));
    assert_eq!(s.receive_and_send(us(10), data_packet(6, 3, 4, us(0))), ["delivered 1460", "missing 1..3"]);
    assert_eq!(s.receive_and_send(us(11), stop_packet(6, 1, 5)), ["missing 4..5"]);
    // Three largest round trips are less than the 100 us of `retry`, which doubles.
    let named = vec!["missing 1..3".to_string(), "missing 4..5".to_string()];
    assert_eq!(s.effects_until(us(320)), [(us(110), named.clone()), (us(310), named)]);
    assert_eq!(
        s.receive_and_send(us(321), stop_packet(6, 1, 5)),
        ["missing 1..3", "missing 4..5"],
        "it has not heard"
    );
    assert_eq!(s.receive_and_send(us(322), request_packet(3, 2)).len(), 1, "credits again");
    assert_eq!(s.receive_and_send(us(323), stop_packet(6, 1, 5)).len(), 0, "a stop of before is void");
    for (index, number) in [(1, 10), (2, 11), (4, 12)] {
        assert_eq!(s.receive_and_send(us(330), data_packet(6, index, number, us(322))), ["delivered 1460"]);
    }
    s.receive_and_send(us(331), stop_packet(6, 2, 5));
    assert!(s.effects_until(us(5000)).is_empty(), "nothing is known to be missing");
    assert_eq!(
        s.receive_and_send(us(5001), data_packet(6, 5, 13, us(330))),
        ["delivered 1460", "completed", "finished"]
    );
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn an_application_that_stalls_wastes_every_credit() {
    let mut s = script_with(script_values());
    assert_eq!(s.open_message(us(0), Message { responsive: false, ..message_of(5) }), ["request 1 of 5"]);
    for number in 1..40 {
        assert!(s.receive_and_send(us(10 + u64::from(number)), credit_packet(number, 1)).is_empty());
    }
    assert_eq!(s.machine.inner().credit_counters().wasted, 39);
    assert!(s.effects_until(us(10_000)).is_empty());
}

#[test]
fn a_peer_that_is_gone_leaves_nothing_behind() {
    let mut s = script_with(script_values());
    s.open_message(us(0), message_of(5));
    s.receive_and_send(us(1), request_packet(5, 1));
    assert_eq!(s.machine.live_messages(), 2);
    s.machine.forget_peer(us(2), PEER);
    assert_eq!(s.drain_events(), ["failed: the peer is gone"]);
    assert!(s.effects_until(us(10_000)).is_empty() && s.sent_words(us(10_000)).is_empty());
    assert_eq!((s.machine.live_messages(), s.machine.next_timeout()), (0, None));
    assert_eq!(
        s.receive_and_send(us(10_001), request_packet(5, 1)),
        ["credit 1 (1)"],
        "its numbers count anew"
    );
}

/// A receiver's acknowledgement of packet `index` of a first window; of the probe if there is none.
fn ack_packet(index: Option<u32>) -> Packet {
    let flags = PacketFlags::only_if(index.is_none(), PacketFlags::UNSCHEDULED);
    Packet { index: index.unwrap_or(8), flags, ..peer_packet(PacketKind::Ack, 0) }
}

/// Packets that leave at once for a message of this many packets: the request and the first nine of them.
fn burst_words(packets: u32) -> Vec<String> {
    let window = packets.min(9);
    let data = (0..window).map(|i| format!("data {i} unscheduled"));
    std::iter::once(format!("request 1 of {packets}")).chain(data).chain(["probe".into()]).collect()
}

#[test]
fn with_aeolus_credits_bring_what_is_lost_then_what_is_new_then_what_nothing_is_known_of() {
    for unheard in [Unheard::Overdue, Unheard::AtOnce] {
        let mut s = with_aeolus(unheard);
        assert_eq!(s.open_message(us(1), message_of(11)), burst_words(11));
        assert!(s.receive_and_send(us(12), ack_packet(Some(0))).is_empty());
        assert!(s.receive_and_send(us(12), ack_packet(Some(2))).is_empty());
        assert_eq!(
            s.receive_and_send(us(13), credit_packet(1, 1)),
            ["data 1 for 1 again"],
            "Aeolus §4: a hole is a loss"
        );
        assert_eq!(s.receive_and_send(us(13), credit_packet(2, 1)), ["data 9 for 2"]);
        assert_eq!(s.receive_and_send(us(13), credit_packet(3, 1)), ["data 10 for 3"]);
        let early = s.receive_and_send(us(14), credit_packet(4, 1));
        match unheard {
            Unheard::Overdue => assert!(early.is_empty(), "its acknowledgement is not overdue"),
            Unheard::AtOnce => assert_eq!(early, ["data 3 for 4 again"]),
        }
        // A largest round trip after the probe.
        let next = if unheard == Unheard::Overdue { 3 } else { 4 };
        assert_eq!(s.receive_and_send(us(21), credit_packet(5, 1)), [format!("data {next} for 5 again")]);
        // The probe's answer tells the losses of the rest; a packet that was sent again is not sent a third time.
        assert!(s.receive_and_send(us(22), ack_packet(Some(5))).is_empty());
        assert!(s.receive_and_send(us(22), ack_packet(None)).is_empty());
        let left = (next + 1..9).filter(|i| *i != 5);
        let mut out = Vec::new();
        for (number, index) in (6..).zip(left) {
            out = s.receive_and_send(us(23), credit_packet(number, 1));
            assert_eq!(out[0], format!("data {index} for {number} again"));
        }
        assert_eq!(out[1..], ["stop 1 sent 11 left 0"], "all is acknowledged or was sent with a credit");
    }
}

#[test]
fn with_aeolus_a_message_that_arrives_at_once_stops_its_credits() {
    let mut s = with_aeolus(Unheard::Overdue);
    assert_eq!(s.open_message(us(1), message_of(2)), burst_words(2));
    assert!(s.receive_and_send(us(12), credit_packet(1, 1)).is_empty(), "nothing is lost, new, or overdue");
    assert!(s.receive_and_send(us(12), ack_packet(Some(0))).is_empty());
    assert_eq!(s.receive_and_send(us(13), ack_packet(Some(1))), ["stop 1 sent 2 left 0"]);
    assert!(s.receive_and_send(us(13), ack_packet(None)).is_empty());
    assert_eq!(s.receive_and_send(us(23), peer_packet(PacketKind::Finished, 0)), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn with_aeolus_a_receiver_acknowledges_each_packet_and_the_probe() {
    let unscheduled =
        |index| Packet { count: 9, flags: PacketFlags::UNSCHEDULED, ..data_packet(11, index, 0, us(0)) };
    let mut s = with_aeolus(Unheard::Overdue);
    let asked = Packet { index: 8, count: 1, flags: PacketFlags::UNSCHEDULED, ..request_packet(11, 1) };
    assert_eq!(s.receive_and_send(us(0), asked), ["credit 1 (1)"]);
    assert_eq!(s.receive_and_send(us(0), unscheduled(0)), ["delivered 1460", "ack 0"]);
    assert_eq!(
        s.receive_and_send(us(0), unscheduled(3)),
        ["delivered 1460", "ack 3"],
        "gaps are the sender's business"
    );
    assert_eq!(s.receive_and_send(us(0), unscheduled(3)), ["ack 3"]);
    let probe = Packet { token: 1, ..Packet { kind: PacketKind::Probe, ..unscheduled(8) } };
    assert_eq!(s.receive_and_send(us(0), probe), ["ack of the probe"]);
    // A credited packet beyond the window names the missing packets beyond the window alone.
    assert_eq!(s.receive_and_send(us(1), data_packet(11, 10, 1, us(0))), ["delivered 1460", "missing 9..10"]);

    // A packet of a message whose request is lost stands for it.
    let mut s = with_aeolus(Unheard::Overdue);
    assert_eq!(s.receive_and_send(us(0), unscheduled(2)), ["delivered 1460", "credit 1 (1)", "ack 2"]);
    assert!(s.receive_and_send(us(0), asked).is_empty(), "the request itself comes too late");
}
