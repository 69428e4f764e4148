//! RPO on small networks: its speed in filling a link, and its cost for those that fill it already.

use crate::common;

use common::{fair, flow, link, link_series, mean, outcome, param, sampled, spec};
use headway_fabric::Limit;
use headway_network::topology::{Dumbbell, SingleSwitch};
use headway_network::{LinkRecord, Metric, Outcome, RunSpec, TopologySpec};
use headway_params::ParamValue;
use headway_units::Time;

const SLOT: u64 = 1_230_400;
/// 40 packets at 10 Gb/s.
const RTT: Time = Time(40 * SLOT);
const NORMAL_QUEUE: &str = "normal_queue_packets";
const LOW_QUEUE: &str = "opportunistic_queue_packets";

fn named<'a>(out: &'a Outcome, name: &str) -> &'a LinkRecord {
    out.links.iter().find(|l| l.name == name).expect("a link of that name")
}

fn gauge(out: &Outcome, link: &str, name: &str) -> (u64, u64) {
    let gauge = named(out, link).gauges.iter().find(|g| g.name == name).expect("a gauge of that name");
    (gauge.value, gauge.max)
}

/// One flow of five packets in flight, evenly spread, from a host four times as fast as the 10 Gb/s link
/// between the switches, over a path of exactly 40 packets of that link.
fn fast_host(bytes: u64) -> RunSpec {
    // 307,600 + 1,230,400 + 307,600 ps of data, 16,800 + 67,200 + 16,800 ps of a grant, rest propagation.
    let serialised = 2 * 307_600 + SLOT + 2 * 16_800 + 67_200;
    let delay = Time((RTT.0 - serialised) / 6);
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 1,
        receivers: 1,
        access: link(40, delay),
        bottleneck: link(10, delay),
    });
    let mut one = fair(flow(0, 1, bytes, Time::ZERO), 8, 0);
    // One of eight sharers of 40 packets has five.
    one.initial_window.window = Some(40);
    let run = spec(topology, "rpo", vec![one], Time::ms(20));
    sampled(run, RTT)
}

/// Packets of the flow that cross the bottleneck in each round trip, from the first one with any.
fn packets_a_round_trip(out: &Outcome) -> Vec<f64> {
    let series = link_series(out, "s0->s1", Metric::Utilisation);
    series.iter().map(|(_, share)| share * 40.0).skip_while(|packets| *packets == 0.0).collect()
}

#[test]
fn a_flow_at_an_eighth_of_the_rate_fills_the_link_in_three_round_trips() {
    let run = fast_host(3_000_000);
    let out = outcome(&run);
    let packets = packets_a_round_trip(&out);
    // RPO §V: R, 2 R, 4 R, C. Samples are not in step with rounds, so that each may miss a tenth of one.
    for (round, expected) in [5.0, 10.0, 20.0, 40.0, 40.0].into_iter().enumerate() {
        let found = packets[round];
        assert!(
            (found - expected).abs() <= 0.5 + 0.1 * expected,
            "round {round}: {found} packets, {:?}",
            &packets[..8]
        );
    }
    // Without the rounds in which it grows, and those of its end.
    let full = &packets[5..packets.len() - 3];
    let used = full.iter().sum::<f64>() / full.len() as f64;
    assert!(used > 39.8, "{used} packets a round trip");
    assert_eq!(gauge(&out, "s0->s1", NORMAL_QUEUE).1, 1, "normal packets wait for one on the wire at most");
    assert_eq!(out.flows[0].drops.expect("counted"), 0);
}

#[test]
fn the_opportunistic_queue_overshoots_by_the_round_trip_that_marks_take() {
    // k lags by a period and marks by a round trip: about one and a half windows, never two.
    let out = outcome(&fast_host(3_000_000));
    let (_, most) = gauge(&out, "s0->s1", LOW_QUEUE);
    assert!((20..=80).contains(&most), "{most} packets");
    assert_eq!(named(&out, "s0->s1").counters.dropped, [0; 6]);
}

#[test]
fn a_message_alone_repeats_at_most_what_was_not_acknowledged_at_the_meeting() {
    for bytes in [100_000u64, 400_000, 1_000_000, 3_000_000] {
        let run = fast_host(bytes);
        let packets = bytes.div_ceil(1460);
        let patient = outcome(&param(run.clone(), "meeting_patience", ParamValue::Float(1.5)));
        let waited = gauge(&patient, "s0->s1", LOW_QUEUE).1;
        let sent =
            |out: &Outcome| out.host_gauges[0].iter().find(|g| g.name == "data_packets").map(|g| g.value);
        let extra = sent(&patient).expect("counted") - packets;
        assert!(extra <= waited, "{bytes} B: {extra} more, {waited} waited");
        // The paper's rule repeats packets on their way as well: at most a window and those that wait.
        let eager = outcome(&run);
        let extra = sent(&eager).expect("counted") - packets;
        assert!(extra <= 40 + gauge(&eager, "s0->s1", LOW_QUEUE).1, "{bytes} B: {extra} more");
        assert!(patient.flows[0].finish.is_some() && eager.flows[0].finish.is_some());
    }
}

/// Two hosts send to two others through one link, together filling it from the start.
fn two_flows(bytes: [u64; 2]) -> RunSpec {
    let delay = Time(40_000_000 / 6);
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 2,
        receivers: 2,
        access: link(10, delay),
        bottleneck: link(10, delay),
    });
    let flows = (0..2).map(|i| fair(flow(i, 2 + i, bytes[i as usize], Time::ZERO), 2, i)).collect();
    let run = spec(topology, "rpo", flows, Time::ms(6));
    // 40 us of propagation, and 3.9 us of packets on six links.
    sampled(run, Time::us(44))
}

#[test]
fn a_saturated_link_carries_nothing_opportunistic_after_three_round_trips() {
    let out = outcome(&two_flows([4_000_000, 4_000_000]));
    let utilisation = link_series(&out, "s0->s1", Metric::Utilisation);
    assert!(mean(&utilisation, Time::us(200), Time::ms(6)) > 0.995);
    assert!(gauge(&out, "s0->s1", NORMAL_QUEUE).1 <= 2);
    let sent = link_series(&out, "s0->s1", Metric::Gauge("opportunistic_bytes"));
    let after = |t: Time| sent.iter().find(|(at, _)| *at >= t).expect("a sample").1;
    let (early, late) = (after(Time::us(44 * 4)), after(Time::us(5900)));
    assert!((late - early) / 1538.0 <= 3.0, "{} opportunistic packets", (late - early) / 1538.0);
}

#[test]
fn when_one_of_two_ends_the_other_takes_all_in_two_round_trips() {
    let out = outcome(&two_flows([1_000_000, 6_000_000]));
    let end = out.flows[0].finish.expect("flow 0 ends");
    let utilisation = link_series(&out, "s0->s1", Metric::Utilisation);
    // ceil(log2 2) = 1, and one for the lag of k.
    assert!(mean(&utilisation, end + Time::us(3 * 44), Time::ms(4)) > 0.99);
    assert!(gauge(&out, "s0->s1", NORMAL_QUEUE).1 <= 2);
}

#[test]
fn a_newcomer_takes_spare_room_alone_until_what_it_lost_is_granted_again() {
    let mut run = two_flows([6_000_000, 400_000]);
    run.flows[0].initial_window = Default::default();
    (run.flows[1].initial_window, run.flows[1].start) = (Default::default(), Time::ms(1));
    let newcomer = |detection: &str, most: u64| {
        let out = outcome(&param(run.clone(), "detection", ParamValue::Choice(detection.into())));
        let bottleneck = named(&out, "s0->s1");
        // RPO §IV-A: its first window meets a link that normal packets fill, and gives way.
        // `DropReason::Unscheduled`: opportunistic packets.
        assert!(bottleneck.counters.dropped[2] > 10, "{:?}", bottleneck.counters.dropped);
        assert_eq!(out.flows[0].drops.expect("counted"), 0, "what was granted is not dropped");
        let queue = gauge(&out, "s0->s1", NORMAL_QUEUE).1;
        assert!(queue <= most, "{detection}: {queue} normal packets wait");
        out.flows[1].finish.expect("it ends")
    };
    // With its permissions back it has its part of the link, and they wait there: at most a window of 36 packets.
    let (poor, restored) = (newcomer("acknowledgements", 2), newcomer("both", 40));
    let took = |finish: Time| (finish - Time::ms(1)).0 as f64;
    assert!(took(restored) < 0.5 * took(poor), "{restored} with the window back, {poor} without");
}

#[test]
fn without_marks_at_the_host_a_lone_flow_queues_there() {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 2, link: link(10, Time::us(10)) });
    let run = spec(topology, "rpo", vec![flow(0, 1, 3_000_000, Time::ZERO)], Time::ms(10));
    let low = |run: &RunSpec| {
        let out = outcome(run);
        let sent = out.host_gauges[0].iter().find(|g| g.name == "opportunistic_packets").expect("counted");
        (sent.value, out.flows[0].finish.expect("done"))
    };
    let (marked, finish) = low(&run);
    let (unmarked, later) = low(&param(run.clone(), "nic_marks", ParamValue::Bool(false)));
    assert!(marked <= 80, "{marked} opportunistic packets although nothing was spare");
    assert!(unmarked >= marked, "{unmarked} and {marked}");
    assert!(finish <= later + RTT, "marks cost nothing: {finish} and {later}");
}

#[test]
fn incast_completes_whatever_the_first_window_loses() {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 21, link: link(10, Time::us(10)) });
    // 20 x 10 packets are in flight where the path holds 20 or so: packets that are granted again are lost again.
    let readings = [
        ("acknowledgements", 16, 4),
        ("acknowledgements", 128, 4),
        ("both", 16, 8),
        ("both", 128, 8),
        ("timer", 16, 20),
    ];
    for (reading, value, limit) in readings {
        let flows = (0..20).map(|i| flow(i, 20, 200_000, Time::ZERO)).collect();
        let mut run = spec(topology.clone(), "rpo", flows, Time::ms(100));
        run.fabric.buffer.data = Limit::Packets(value);
        let run = param(run, "detection", ParamValue::Choice(reading.into()));
        let out = outcome(&run);
        let finish = out.flows.iter().map(|f| f.finish.expect("it ends")).max().expect("flows");
        // 20 x 200 kB take 3.37 ms of the link.
        assert!(finish < Time::ms(limit), "{reading}, {value} packets: {finish}");
    }
}

#[test]
fn the_same_run_is_the_same() {
    let (a, b) = (outcome(&two_flows([1_000_000, 2_000_000])), outcome(&two_flows([1_000_000, 2_000_000])));
    assert_eq!(a, b);
}
