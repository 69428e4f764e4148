//! Timing noise of hosts, and connections that are open already.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::Limit;
use headway_network::topology::{Graph, SingleSwitch};
use headway_network::{FlowSpec, FlowState, Outcome, RunError, RunSpec, Tap, TopologySpec};
use headway_packet::Packet;
use headway_params::ParamValue;
use headway_sim::{run, run_tapped};
use headway_transport::registry;
use headway_units::Time;
use proptest::prelude::*;

const NOISE: Time = Time::us(9);

fn linux(spec: RunSpec) -> RunSpec {
    param(spec, "preset", ParamValue::Choice("linux-4.19".into()))
}

/// Ten hosts of 1 Gb/s send to one for as long as the run lasts; buffers of 16 packets.
fn incast(transport: &str, jitter: Time) -> RunSpec {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 11, link: link(1, Time::ns(500)) });
    let flows = (0..10).map(|src| flow(src, 10, 1 << 40, Time::ns(900 * u64::from(src)))).collect();
    let run = linux(spec(topology, transport, flows, Time::s(2)));
    let mut run = param(run, "min_rto", ParamValue::Time(Time::ms(10)));
    run.fabric.buffer.data = Limit::Packets(16);
    run.jitter = jitter;
    run
}

fn jain(outcome: &Outcome) -> f64 {
    let delivered: Vec<f64> = outcome.flows.iter().map(|f| f.delivered as f64).collect();
    let (sum, squares) = delivered.iter().fold((0.0, 0.0), |(sum, squares), d| (sum + d, squares + d * d));
    sum * sum / (delivered.len() as f64 * squares)
}

#[test]
fn a_small_buffer_is_shared_with_noise_and_locked_without() {
    let (exact, noisy) = (outcome(&incast("cubic", Time::ZERO)), outcome(&incast("cubic", NOISE)));
    println!("Jain's index {:.3} without noise, {:.3} with it", jain(&exact), jain(&noisy));
    assert!(jain(&exact) < 0.3, "one of ten has nearly all: {}", jain(&exact));
    assert!(jain(&noisy) > 0.6, "all have some: {}", jain(&noisy));
    let most = |out: &Outcome| out.flows.iter().map(|f| f.delivered).max();
    assert!(most(&noisy) < most(&exact).map(|bytes| bytes / 2));
}

/// Starts of packets by link, in order.
#[derive(Default)]
struct Starts(Vec<(u32, Time, Packet)>);

impl Tap for Starts {
    fn started(&mut self, link: u32, start: Time, packet: &Packet) {
        self.0.push((link, start, *packet));
    }
}

/// Delay of each packet of a host at the switch, whose other links are so fast that nothing waits for them.
fn lateness(transport: &str, jitter: Time, seed: u64) -> Vec<Time> {
    let slow = link(1, Time::us(2));
    let links = vec![(0, 2, slow), (1, 2, link(100, Time::us(2)))];
    let topology = TopologySpec::Graph(Graph { hosts: 2, switches: 1, links, back: Vec::new() });
    let mut run = spec(topology, transport, vec![flow(0, 1, 400_000, Time::ZERO)], Time::s(1));
    (run.jitter, run.seed) = (jitter, seed);
    let mut starts = Starts::default();
    let out = run_tapped(&run, &mut starts, &mut |_| true).expect("a valid run");
    assert_eq!(out.flows[0].state, FlowState::Done, "{transport}");
    let of = |number: u32| starts.0.iter().filter(move |s| s.0 == number && s.2.dst.0 == 1);
    let onward = out.links.iter().position(|l| l.name == "s0->h1").expect("a link") as u32;
    let pairs = of(0).zip(of(onward));
    pairs
        .map(|(first, second)| {
            let identity = |p: &Packet| (p.kind, p.index, p.wire, p.lifetime);
            assert_eq!(identity(&first.2), identity(&second.2), "{transport}: order is kept");
            let arrives = first.1 + slow.rate.time_of(u64::from(first.2.wire)) + slow.delay;
            second.1 - arrives
        })
        .collect()
}

proptest! {
    #![proptest_config(headway_testing::cases!(8))]

    #[test]
    fn packets_are_late_by_less_than_the_jitter_and_in_order(
        transport in prop::sample::select(vec!["tcp", "dctcp", "cubic", "mptcp-olia"]),
        jitter_ns in 1u64..60_000,
        seed in 1u64..1000,
    ) {
        let late = lateness(transport, Time::ns(jitter_ns), seed);
        // 400 kB are 274 packets.
        prop_assert!(late.len() > 270);
        prop_assert!(late.iter().all(|t| *t < Time::ns(jitter_ns)));
        prop_assert!(late.iter().any(|t| *t > Time::ns(jitter_ns) / 3));
    }

    #[test]
    fn every_transport_finishes_no_sooner_than_ideal_and_the_same_way_again(
        name in prop::sample::select(registry::NAMES),
        jitter_ns in 0u64..30_000,
        seed in 1u64..1000,
    ) {
        let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 6, link: link(10, Time::us(2)) });
        let sizes = [1, 1460, 20_000, 150_000, 400_000];
        let flows = (1u32..).zip(sizes).map(|(src, bytes)| flow(src, 0, bytes, Time::us(7 * u64::from(src))));
        let mut run = spec(topology, name, flows.collect(), Time::s(20));
        (run.jitter, run.seed) = (Time::ns(jitter_ns), seed);
        let out = outcome(&run);
        for (spec, found) in run.flows.iter().zip(&out.flows) {
            prop_assert_eq!(found.state, FlowState::Done);
            prop_assert_eq!(found.delivered, spec.bytes);
            let took = found.finish.expect("done") - spec.start;
            prop_assert!(took >= found.ideal, "{} {} {}", name, took, found.ideal);
        }
        prop_assert_eq!(outcome(&run), out);
    }
}

#[test]
fn noise_moves_the_digest_and_its_absence_does_not() {
    let exact = outcome(&incast("dctcp", Time::ZERO));
    assert_ne!(outcome(&incast("dctcp", Time::ns(1))).digest, exact.digest);
    assert_eq!(outcome(&incast("dctcp", Time::ZERO)).digest, exact.digest);
}

/// A request and its reply on an idle network, over one connection or two.
fn exchange(transport: &str, reply_at: Time, connection: Option<u32>) -> RunSpec {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 2, link: link(1, Time::us(1)) });
    let reply = FlowSpec { connection, ..flow(1, 0, 100, reply_at) };
    let run = spec(topology, transport, vec![flow(0, 1, 100, Time::ZERO), reply], Time::s(1));
    if transport == "homa" { run } else { linux(run) }
}

fn took(spec: &RunSpec) -> ([Time; 2], Outcome) {
    let out = outcome(spec);
    let took = [0, 1].map(|i| out.flows[i].finish.expect("done") - spec.flows[i].start);
    (took, out)
}

#[test]
fn a_reply_over_the_connection_of_its_request_pays_no_handshake() {
    // A SYN and its answer: 84 B over two links of 1 Gb/s, and 2 us of propagation, each.
    let handshake = Time::ns(2 * (2 * 672 + 2 * 1000));
    for transport in ["tcp", "cubic", "dctcp", "mptcp-olia", "mptcp-wvegas"] {
        let (one, out) = took(&exchange(transport, Time::ms(1), Some(0)));
        let ideal = out.flows[0].ideal;
        assert_eq!(one, [ideal + handshake, ideal], "{transport}");
        assert!(out.warnings.is_empty(), "{:?}", out.warnings);
        let (two, _) = took(&exchange(transport, Time::ms(1), None));
        assert_eq!(two, [ideal + handshake; 2], "{transport}");
    }
    let (open, out) = took(&exchange("homa", Time::ms(1), Some(0)));
    assert_eq!(open, [out.flows[0].ideal; 2], "who has no handshake has none to save");
}

#[test]
fn a_connection_that_is_not_open_yet_is_no_help_and_said_to_be_none() {
    let ([_, reply], out) = took(&exchange("cubic", Time::us(1), Some(0)));
    assert_eq!(reply, took(&exchange("cubic", Time::us(1), None)).0[1], "it has a handshake of its own");
    assert!(out.warnings.iter().any(|w| w.contains("before the connection")), "{:?}", out.warnings);
}

#[test]
fn a_connection_between_other_hosts_is_refused() {
    let mut spec = exchange("cubic", Time::ms(1), Some(0));
    spec.topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 3, link: link(1, Time::us(1)) });
    spec.flows[1].src = 2;
    for carrier in [0, 7] {
        spec.flows[1].connection = Some(carrier);
        let found = run(&spec, &mut |_| true);
        assert!(matches!(found, Err(RunError::Flow { flow: 1, .. })), "{carrier}");
    }
}
