//! AMRT on small networks: its speed in filling a link, and that it leaves a full one alone.

use crate::common;

use common::{fair, flow, link, link_series, mean, outcome, rule, sampled, spec};
use headway_network::topology::{Dumbbell, SingleSwitch};
use headway_network::{Metric, RunSpec, TopologySpec};
use headway_transport::InitialWindow;
use headway_units::Time;

/// One flow whose window is a quarter of a 40-packet path, spread evenly or as one block.
fn quarter(clump: u32) -> RunSpec {
    // Two hosts around a switch: 2 x 1.2304 + 2 x 0.0672 us of serialisation and the rest propagation
    // make a round trip of exactly 40 slots.
    let slot = 1_230_400u64;
    let delay = Time((40 * slot - 2 * slot - 2 * 67_200) / 4);
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 2, link: link(10, delay) });
    let mut f = flow(0, 1, 4_000_000, Time::ZERO);
    f.initial_window = InitialWindow { share: 4, burst: clump, ..InitialWindow::default() };
    sampled(spec(topology, "amrt", vec![f], Time::ms(4)), Time(40 * slot))
}

/// Round trips from the first arrival until the link carries at least `level` of its rate.
fn round_trips_to(run: &RunSpec, level: f64) -> usize {
    let series = link_series(&outcome(run), "s0->h1", Metric::Utilisation);
    let first = series.iter().position(|(_, u)| *u > 0.0).expect("traffic");
    series[first..].iter().position(|(_, u)| *u >= level).expect("it fills")
}

#[test]
fn spread_vacancies_fill_in_three_round_trips_and_a_block_in_about_thirty() {
    // ceil(k / (n - k)) = 3 and k = 30 with n = 40, k = 30. AMRT eqs. 2 and 3.
    let spread = round_trips_to(&quarter(1), 0.99);
    assert!((3..=4).contains(&spread), "spread: {spread} round trips");
    let block = round_trips_to(&quarter(10), 0.99);
    assert!((28..=33).contains(&block), "one block: {block} round trips");
}

/// Two hosts send to two others through one link, together filling it from the start.
fn two_flows(bytes: [u64; 2]) -> RunSpec {
    // Three links each way: 40 us, without the time of the packets on them.
    let delay = Time(40_000_000 / 6);
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 2,
        receivers: 2,
        access: link(10, delay),
        bottleneck: link(10, delay),
    });
    let flows = (0..2).map(|i| fair(flow(i, 2 + i, bytes[i as usize], Time::ZERO), 2, i)).collect();
    // With a data packet and an acknowledgement on each of three links, a round trip is 43.9 us.
    sampled(spec(topology, "amrt", flows, Time::ms(6)), Time::us(44))
}

#[test]
fn a_saturated_link_marks_nothing_and_queues_at_most_two_packets() {
    let out = outcome(&two_flows([4_000_000, 4_000_000]));
    let utilisation = link_series(&out, "s0->s1", Metric::Utilisation);
    assert!(mean(&utilisation, Time::us(200), Time::ms(6)) > 0.999);
    let bottleneck = out.links.iter().find(|l| l.name == "s0->s1").expect("the bottleneck");
    let queue = bottleneck.counters.queue_max_packets;
    assert!(queue <= 2, "queue of {queue} packets");
    // Marks come from the first round trips alone: nothing is marked once the link is full.
    let marked = bottleneck.counters.marked;
    assert!(marked <= 40, "{marked} marks in 6 ms");
}

#[test]
fn when_one_of_two_ends_the_other_doubles_within_two_round_trips() {
    let out = outcome(&two_flows([1_000_000, 6_000_000]));
    let end = out.flows[0].finish.expect("flow 0 ends");
    let utilisation = link_series(&out, "s0->s1", Metric::Utilisation);
    assert!(mean(&utilisation, end + Time::us(3 * 44), Time::ms(5)) > 0.995);
    let bottleneck = out.links.iter().find(|l| l.name == "s0->s1").expect("the bottleneck");
    assert!(bottleneck.counters.queue_max_packets <= 3);
}

#[test]
fn equation_one_as_printed_grows_the_queue_by_a_window_every_round_trip() {
    let mut literal = rule(two_flows([40_000_000, 40_000_000]), "literal");
    literal.fabric.buffer.data = headway_fabric::Limit::Packets(1_000_000);
    let queue = link_series(&outcome(&literal), "s0->s1", Metric::QueueBytes);
    let at = |t: Time| mean(&queue, t, t + Time::us(88)) / 1538.0;
    let growth = (at(Time::us(1500)) - at(Time::us(500))) / (1000.0 / 43.9);
    // Every packet on the saturated link is marked: 36 more packets a round trip.
    assert!((30.0..=37.0).contains(&growth), "{growth} packets a round trip");
}

#[test]
fn a_gap_rule_of_a_full_slot_never_fills_gaps_shorter_than_a_slot() {
    // A round trip of 40 slots carries 21 packets, one every 40/21 slots, so that the receiver's link
    // stands idle for 0.9 of a slot between any two.
    let slot = 1_230_400u64;
    let delay = Time((40 * slot - 2 * slot - 2 * 67_200) / 4);
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 22, link: link(10, delay) });
    let one_packet = |i: u32| {
        let mut f = flow(i, 21, 10_000_000, Time(u64::from(i) * 40 * slot / 21));
        f.initial_window.window = Some(1);
        f
    };
    let used = |word: &str| {
        let flows = (0..21).map(one_packet).collect();
        let run = sampled(spec(topology.clone(), "amrt", flows, Time::ms(6)), Time(40 * slot));
        let out = outcome(&rule(run, word));
        mean(&link_series(&out, "s0->h21", Metric::Utilisation), Time::ms(3), Time::ms(6))
    };
    let (exceeds, full) = (used("exceeds"), used("full-slot"));
    assert!(exceeds > 0.999, "exceeds: {exceeds}");
    // 21 of 40, and one more that a port's very first mark releases.
    assert!((0.52..0.56).contains(&full), "full-slot: {full}");
}

#[test]
fn a_sender_of_two_messages_does_not_overcommit_its_own_wire() {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 3, link: link(10, Time::us(12)) });
    let flows = vec![flow(0, 1, 3_000_000, Time::ZERO), flow(0, 2, 3_000_000, Time::ZERO)];
    let out = outcome(&spec(topology, "amrt", flows, Time::ms(10)));
    let own = out.links.iter().find(|l| l.name == "h0->s0").expect("the sender's link");
    assert!(own.busy.0 as f64 > 0.99 * (out.end - Time::us(30)).0 as f64);
    for record in &out.flows {
        assert_eq!(record.drops.expect("counted"), 0);
        // Both windows circulate: two window's worth of wire time a round trip, never more.
        let slowdown = record.finish.expect("done").0 as f64 / record.ideal.0 as f64;
        assert!(slowdown < 2.1, "slowdown {slowdown}");
    }
}
