//! RCP over explicit-rate ports: how fast a port's rate grows, what flows share, and where RCP loses packets.
//!
//! Values marked \[T\] come from an independent model of the law alone, those marked \[X\] from the law by
//! hand; no packet-level numbers of the authors are at hand for links and round trips like these.

use crate::common;

use common::{flow, link, link_series, mean, outcome, sampled, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::{ParkingLot, SingleSwitch};
use headway_network::{FlowSpec, FlowState, Metric, Outcome, RunSpec, TopologySpec};
use headway_params::ParamValue;
use headway_units::Time;

const SLOT: u64 = 1_230_400;
const CONTROL: u64 = 67_200;

/// Hosts around a switch, a round trip of 40 full packets at 10 Gb/s.
fn star(hosts: u32) -> TopologySpec {
    TopologySpec::SingleSwitch(SingleSwitch {
        hosts,
        link: link(10, Time((40 * SLOT - 2 * SLOT - 2 * CONTROL) / 4)),
    })
}

const RTT: Time = Time(40 * SLOT);

fn rcp(topology: TopologySpec, flows: Vec<FlowSpec>, stop: Time) -> RunSpec {
    let mut run = spec(topology, "rcp", flows, stop);
    run.fabric.buffer = Buffer { data: Limit::Packets(1000), control: Limit::Packets(1000) };
    sampled(run, RTT)
}

/// Sets a parameter of the ports.
fn port(mut run: RunSpec, name: &str, value: f64) -> RunSpec {
    run.fabric.params.push((name.into(), ParamValue::Float(value)));
    run
}

fn utilisation(out: &Outcome) -> Vec<(Time, f64)> {
    link_series(out, "s0->h0", Metric::Utilisation)
}

fn throughput(out: &Outcome, flow: u32) -> Vec<(Time, f64)> {
    let wanted = |s: &&headway_network::Sample| s.entity == headway_network::Entity::Flow(flow);
    out.samples.iter().filter(wanted).map(|s| (s.at, s.value)).collect()
}

fn finish(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done);
    out.flows[flow].finish.expect("done")
}

#[test]
fn a_lone_flow_is_a_round_trip_later_than_the_ideal() {
    // [X] The ports are idle and give their whole rate: a SYN and its answer of 84 bytes each, then line rate.
    let out = outcome(&rcp(star(2), vec![flow(1, 0, 1000 * 1460, Time::ZERO)], Time::ms(10)));
    let delay = (40 * SLOT - 2 * SLOT - 2 * CONTROL) / 4;
    let syn = 4 * delay + 4 * CONTROL;
    let ideal = 1000 * SLOT + SLOT + 2 * delay;
    assert_eq!(finish(&out, 0), Time(syn + ideal));
    assert_eq!((out.flows[0].retransmitted.expect("counted"), out.flows[0].drops.expect("counted")), (0, 0));
}

/// Intervals of a round trip from the first traffic until the receiver's link carries `level` of its rate.
fn intervals_to(alpha: f64, level: f64) -> usize {
    let run = rcp(star(2), vec![flow(1, 0, 20_000_000, Time::ZERO)], Time::ms(20));
    let run = port(port(port(run, "initial_rate", 0.05), "alpha", alpha), "beta", 0.4);
    let series = utilisation(&outcome(&run));
    let first = series.iter().position(|(_, u)| *u > 0.01).expect("traffic");
    series[first..].iter().position(|(_, u)| *u >= level).expect("it fills")
}

#[test]
fn from_a_twentieth_of_the_link_the_rate_grows_as_the_law_says() {
    // [T] Round trips of the law with T = d: 14 to 0.9 C and 18 to 0.99 C with alpha 0.4, 52 and 75 with 0.1.
    // Here the load is a round trip old, and the sender's and the switch's port work one after the other.
    for (alpha, level, law) in [(0.4, 0.9, 14), (0.4, 0.99, 18), (0.1, 0.9, 52), (0.1, 0.99, 75)] {
        let took = intervals_to(alpha, level);
        println!("alpha {alpha}: {took} round trips to {level}, the law alone {law}");
        assert!(took <= law + 3 && took * 3 >= law * 2, "alpha {alpha}, {level}: {took} against {law}");
    }
}

/// `n` long flows to one host, each some time after the one before.
fn sharers(n: u32, apart: Time, stop: Time) -> RunSpec {
    let flows = (1..=n).map(|h| flow(h, 0, 200_000_000, apart * u64::from(h))).collect();
    rcp(star(n + 1), flows, stop)
}

#[test]
fn n_long_flows_share_the_link_equally() {
    // [X] R -> C/n. The law rests where alpha (C - y) = beta q/d: the link is full but for the share that the
    // packets waiting by chance, of independent flows, take of a round trip.
    for n in [2, 5, 10, 20] {
        let (from, to) = (Time::ms(30), Time::ms(40));
        let out = outcome(&sharers(n, Time::us(500), to));
        let used = mean(&utilisation(&out), from, to);
        let queue = mean(&link_series(&out, "s0->h0", Metric::QueueBytes), from, to) / 1538.0;
        let rates: Vec<f64> = (0..n).map(|f| mean(&throughput(&out, f), from, to)).collect();
        let sum: f64 = rates.iter().sum();
        let jain = sum * sum / (f64::from(n) * rates.iter().map(|r| r * r).sum::<f64>());
        println!("{n} flows: utilisation {used:.4}, queue {queue:.2} packets, Jain {jain:.5}");
        assert!(jain > 0.9999 && queue < 4.0, "{n} flows: {jain}, {queue}");
        assert!((used + queue / 40.0 - 1.0).abs() < 0.01, "{n} flows: {used} with {queue} waiting");
    }
}

#[test]
fn flows_that_ask_in_the_same_round_trip_are_all_told_the_whole_rate() {
    // [X] n C arrives until the port has computed (an interval, which begins with the first of these packets)
    // and the senders have heard (a round trip): a queue of 2 (n - 1) C d stands by then.
    let flows = (1..=5).map(|h| flow(h, 0, 4_000_000, Time::ZERO)).collect();
    let out = outcome(&rcp(star(6), flows, Time::ms(40)));
    let bottleneck = out.links.iter().find(|l| l.name == "s0->h0").expect("the receiver's link");
    let peak = f64::from(bottleneck.counters.queue_max_packets) / 40.0;
    println!("peak queue {peak:.2} round trips");
    assert!((7.5..=8.5).contains(&peak), "{peak}");
    assert!(out.flows.iter().all(|f| f.state == FlowState::Done && f.drops.expect("counted") == 0));
}

#[test]
fn with_a_buffer_smaller_than_that_packets_are_lost_and_all_arrive_in_the_end() {
    let flows = (1..=5).map(|h| flow(h, 0, 4_000_000, Time::ZERO)).collect();
    let mut run = rcp(star(6), flows, Time::ms(60));
    run.fabric.buffer = Buffer { data: Limit::Packets(64), control: Limit::Packets(64) };
    let out = outcome(&run);
    let drops: u32 = out.flows.iter().map(|f| f.drops.expect("counted")).sum();
    let last = (0..5).map(|f| finish(&out, f)).max().expect("five");
    // 4 MB are 2740 packets.
    let alone = Time(5 * 2740 * SLOT);
    println!("{drops} drops, last after {last}, {alone} at the link's rate");
    assert!(drops > 50 && last < alone * 2);
}

#[test]
fn a_flow_over_two_bottlenecks_gets_the_lower_rate_and_leaves_the_rest() {
    // [X] Two flows on the first link, three on the second: max-min shares are a third for those of the second,
    // two thirds for the other one.
    let delay = Time::us(5);
    let (access, bottleneck) = (link(40, delay), link(10, delay));
    let topology =
        TopologySpec::ParkingLot(ParkingLot { bottlenecks: 2, hosts_per_switch: 3, access, bottleneck });
    let pairs = [(0, 6), (1, 3), (4, 7), (5, 8)];
    let flows = pairs.iter().zip(0..).map(|(&(src, dst), n)| flow(src, dst, 100_000_000, Time::us(7) * n));
    let run = rcp(topology, flows.collect(), Time::ms(20));
    let out = outcome(&run);
    let payload = 1460.0 / 1538.0 * 10e9;
    for (number, share) in [1.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0].into_iter().enumerate() {
        let got = mean(&throughput(&out, number as u32), Time::ms(12), Time::ms(20)) / payload;
        println!("flow {number}: {got:.4} of {share:.4}");
        assert!((got / share - 1.0).abs() < 0.03, "flow {number}: {got} of {share}");
    }
}
