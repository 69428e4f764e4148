//! Transports over links that lose, double and delay packets: every flow ends, and one lost packet costs a
//! bounded time.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_network::topology::{Dumbbell, LeafSpine};
use headway_network::{Fault, FaultSpec, FlowState, LinkChoice, Outcome, RunSpec, TopologySpec};
use headway_packet::PacketKind;
use headway_transport::registry;
use headway_units::Time;

fn leaf_spine() -> TopologySpec {
    let (host, spine) = (link(10, Time::us(2)), link(10, Time::us(2)));
    TopologySpec::LeafSpine(LeafSpine { racks: 3, hosts_per_rack: 4, spines: 2, host, spine })
}

fn dumbbell() -> TopologySpec {
    let access = link(10, Time::us(10));
    TopologySpec::Dumbbell(Dumbbell { senders: 2, receivers: 2, access, bottleneck: access })
}

fn chance(loss: f64, duplicate: f64, reorder: f64) -> FaultSpec {
    let what = Fault::Random { loss, duplicate, reorder, reorder_by: Time::us(50) };
    FaultSpec { links: LinkChoice::All, kind: None, what }
}

/// Flows of many sizes between many hosts, some of them several to one.
fn busy(transport: &str, seed: u64) -> RunSpec {
    let flows = (0..40u32).map(|i| {
        let (src, dst) = (i % 12, (i * 5 + 7) % 12);
        let bytes = [300, 1_461, 20_000, 150_000, 700_000][i as usize % 5];
        flow(src, if dst == src { (dst + 1) % 12 } else { dst }, bytes, Time::us(u64::from(i) * 7))
    });
    let mut run = spec(leaf_spine(), transport, flows.collect(), Time::s(20));
    run.seed = seed;
    run
}

/// Every flow is done, every byte counted once, and the counts of faults and drops agree.
#[track_caller]
fn assert_whole(run: &RunSpec, out: &Outcome) {
    for (spec, flow) in run.flows.iter().zip(&out.flows) {
        let (transport, seed) = (&run.transports[0].name, run.seed);
        assert_eq!(flow.state, FlowState::Done, "{transport}, seed {seed}: {spec:?} {flow:?}");
        assert_eq!(flow.delivered, spec.bytes, "{transport}, seed {seed}: {spec:?}");
    }
}

#[test]
fn every_flow_completes_over_links_that_lose_double_and_delay() {
    for transport in registry::NAMES {
        for seed in 1..1 + u64::from(headway_testing::times()) {
            let mut run = busy(transport, seed);
            run.faults = vec![chance(0.01, 0.01, 0.01)];
            let out = outcome(&run);
            assert_whole(&run, &out);
            let sum = |of: fn(&headway_network::FaultCounts) -> u64| {
                out.links.iter().map(|l| of(&l.faults)).sum::<u64>()
            };
            assert!(
                sum(|f| f.dropped_at_random) > 20 && sum(|f| f.duplicated) > 20 && sum(|f| f.delayed) > 20
            );
            assert_eq!(out, outcome(&run), "{transport}, seed {seed}: the same faults again");
        }
    }
}

#[test]
fn flows_count_what_links_lost_and_ports_do_not() {
    for transport in registry::NAMES {
        let mut run = spec(dumbbell(), transport, vec![flow(0, 2, 300_000, Time::ZERO)], Time::s(1));
        let links = LinkChoice::Some(vec!["s0->s1".into()]);
        run.faults =
            vec![FaultSpec { links, kind: Some(PacketKind::Data), what: Fault::DropNth(vec![3, 5, 90]) }];
        let out = outcome(&run);
        assert_whole(&run, &out);
        let bottleneck = out.links.iter().find(|l| l.name == "s0->s1").expect("the link");
        assert_eq!(out.flows[0].drops.expect("counted"), 3, "{transport}");
        assert_eq!((bottleneck.faults.dropped_by_number, bottleneck.faults.dropped()), (3, 3), "{transport}");
        assert_eq!(out.links.iter().map(|l| l.counters.drops()).sum::<u64>(), 0, "{transport}");
        let next = out.links.iter().find(|l| l.name == "s1->h2").expect("the link");
        assert_eq!(bottleneck.counters.dequeued, next.counters.received + 3, "{transport}");
    }
}

/// The time that one lost packet adds to a flow of 1 MB, in base round trips of the path.
fn cost(transport: &str, kind: PacketKind, number: u64, on: &str) -> f64 {
    let clean = spec(dumbbell(), transport, vec![flow(0, 2, 1_000_000, Time::ZERO)], Time::s(1));
    let mut run = clean.clone();
    let links = LinkChoice::Some(vec![on.into()]);
    run.faults = vec![FaultSpec { links, kind: Some(kind), what: Fault::DropNth(vec![number]) }];
    let (before, after) = (outcome(&clean), outcome(&run));
    assert_whole(&run, &after);
    let lost: u64 = after.links.iter().map(|l| l.faults.dropped()).sum();
    assert_eq!(lost, 1, "{transport}: a {} was lost on {on}", kind.name());
    let finish = |out: &Outcome| out.flows[0].finish.expect("done").0 as f64;
    let network = headway_network::Network::build(&run.topology, &run.fabric).expect("a network");
    (finish(&after) - finish(&before)) / network.path(0, 2).base_rtt.0 as f64
}

#[test]
fn one_lost_packet_costs_a_bounded_time() {
    let permission =
        |transport: &str| if transport == "phost" { PacketKind::Token } else { PacketKind::Grant };
    for transport in ["amrt", "phost"] {
        let data = cost(transport, PacketKind::Data, 3, "s0->s1");
        let grant = cost(transport, permission(transport), 1, "s1->s0");
        // 685 packets: only a timer can notice that the last one is missing.
        let last = cost(transport, PacketKind::Data, 685, "s0->s1");
        println!("{transport}: data {data:.2}, last data {last:.2}, permission {grant:.2} round trips");
        assert!(last > 0.5, "{transport}: the last packet cannot be missed in no time: {last}");
        for found in [data, last, grant] {
            assert!((-0.01..8.0).contains(&found), "{transport}: {found} round trips");
        }
    }
}

#[test]
fn faults_that_never_happen_change_nothing() {
    for transport in registry::NAMES {
        let clean = busy(transport, 3);
        let mut run = clean.clone();
        run.faults = vec![chance(0.0, 0.0, 0.0)];
        let (a, b) = (outcome(&clean), outcome(&run));
        assert_eq!(a, b, "{transport}");
    }
}

#[test]
fn faults_on_links_that_are_not_there_are_refused() {
    let mut run = busy("amrt", 1);
    let links = LinkChoice::Some(vec!["leaf0->spine9".into()]);
    run.faults = vec![FaultSpec { links, kind: None, what: Fault::DropNth(vec![1]) }];
    let error = headway_sim::run(&run, &mut |_| true).expect_err("no such link").to_string();
    assert!(error.contains("leaf0->spine9"), "{error}");
}
