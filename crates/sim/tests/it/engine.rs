//! Routing, determinism and conservation.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_fabric::Limit;
use headway_network::topology::{FatTree, Graph, LeafSpine};
use headway_network::{FlowState, Outcome, Routing, RunSpec, TopologySpec, TransportSpec};
use headway_sim::run;
use headway_transport::registry;
use headway_units::Time;

fn leaf_spine() -> TopologySpec {
    let (host, spine) = (link(10, Time::us(2)), link(10, Time::us(1)));
    TopologySpec::LeafSpine(LeafSpine { racks: 3, hosts_per_rack: 4, spines: 2, host, spine })
}

fn fat_tree(k: u32, hosts_per_edge: u32) -> TopologySpec {
    let fabric = link(40, Time::us(1));
    TopologySpec::FatTree(FatTree { k, hosts_per_edge, host: link(10, Time::us(1)), fabric })
}

/// Every host sends to three others, sizes from one packet to a few windows.
fn busy(topology: TopologySpec, hosts: u32, transport: &str, seed: u64) -> RunSpec {
    let flows = (0..hosts * 3).map(|i| {
        let (src, step) = (i % hosts, 1 + i / hosts * 2 + i % 3);
        let dst = (src + step) % hosts;
        flow(
            src,
            if dst == src { (dst + 1) % hosts } else { dst },
            u64::from(1 + i * i * 997 % 400_000),
            Time::us(u64::from(i % 7)),
        )
    });
    let mut run = spec(topology, transport, flows.collect(), Time::s(2));
    run.seed = seed;
    // So small that packets are lost.
    run.fabric.buffer.data = Limit::Packets(12);
    run
}

/// Everything arrived, once, and the ports lost nothing that they did not count.
fn assert_conserved(run: &RunSpec, out: &Outcome) {
    for (spec, flow) in run.flows.iter().zip(&out.flows) {
        assert_eq!(flow.state, FlowState::Done, "{spec:?}, seed {}", run.seed);
        assert_eq!(flow.delivered, spec.bytes, "{spec:?}, seed {}", run.seed);
        assert!(flow.finish.expect("done") - spec.start >= flow.ideal, "faster than light: {spec:?}");
    }
    let data_drops: u64 = out.links.iter().map(|l| l.counters.data_drops()).sum();
    assert_eq!(data_drops, out.flows.iter().map(|f| u64::from(f.drops.expect("counted"))).sum::<u64>());
    let hops: u64 = out.links.iter().map(|l| l.counters.dequeued).sum();
    assert_eq!(hops, out.packet_hops);
}

#[test]
fn every_transport_delivers_everything_over_every_topology_and_routing() {
    for transport in registry::NAMES {
        for (topology, hosts) in [(leaf_spine(), 12), (fat_tree(4, 2), 16), (fat_tree(4, 3), 24)] {
            for routing in [Routing::Ecmp, Routing::Spray, Routing::Pinned, Routing::Symmetric] {
                for seed in 1..1 + u64::from(headway_testing::times()) {
                    let mut run = busy(topology.clone(), hosts, transport, seed);
                    run.fabric.routing = routing;
                    assert_conserved(&run, &outcome(&run));
                }
            }
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_specification_and_seed() {
    for transport in registry::NAMES {
        let run = busy(leaf_spine(), 12, transport, 7);
        let (a, b) = (outcome(&run), outcome(&run));
        assert_eq!(a, b, "{transport}");
        let other = outcome(&RunSpec { seed: 8, ..run });
        assert_ne!(a.digest, other.digest, "{transport}: the seed has no effect");
    }
}

#[test]
fn structured_routes_are_shortest_paths() {
    for topology in [leaf_spine(), fat_tree(4, 2), fat_tree(6, 5)] {
        let run = spec(topology, "amrt", vec![], Time::s(1));
        let network = headway_network::Network::build(&run.topology, &run.fabric).expect("a network");
        let names = network.link_names();
        let rack = |h: u32| names[h as usize].clone();
        for src in 0..network.hosts() {
            for dst in (0..network.hosts()).filter(|d| *d != src) {
                let path = network.links_between(src, dst).expect("a path");
                let leaf = |name: String| name.split("->").nth(1).expect("an end").to_string();
                let (a, b) = (leaf(rack(src)), leaf(rack(dst)));
                let pod = |name: &str| name.split('.').next().expect("a pod").to_string();
                let expected = if a == b {
                    2
                } else if a.contains('.') && pod(&a) != pod(&b) {
                    6
                } else {
                    4
                };
                assert_eq!(path.len(), expected, "{src} to {dst} by {path:?}");
                assert!(names[path[path.len() - 1] as usize].ends_with(&format!("->h{dst}")));
            }
        }
    }
}

#[test]
fn ecmp_keeps_a_flow_on_one_path_and_spreads_flows_and_spray_uses_all() {
    let used = |routing, flows: u32| {
        let list = (0..flows).map(|_| flow(0, 4, 200_000, Time::ZERO)).collect();
        let mut run = spec(leaf_spine(), "amrt", list, Time::s(1));
        run.fabric.routing = routing;
        let out = outcome(&run);
        out.links.iter().filter(|l| l.name.starts_with("leaf0->spine") && l.counters.dequeued > 0).count()
    };
    assert_eq!(used(Routing::Ecmp, 1), 1);
    // All 20 on one of two paths would be a chance of 2 to the power of -19.
    assert_eq!(used(Routing::Ecmp, 20), 2);
    assert_eq!(used(Routing::Spray, 1), 2);
}

#[test]
fn hosts_of_two_transports_share_one_network() {
    let mut flows = vec![flow(0, 4, 500_000, Time::ZERO), flow(1, 5, 500_000, Time::ZERO)];
    flows[1].transport = 1;
    let mut run = spec(leaf_spine(), "amrt", flows, Time::s(1));
    run.transports.push(TransportSpec::new("phost", Vec::new()));
    assert_conserved(&run, &outcome(&run));
    // Both at one host.
    run.flows[1].src = 0;
    assert_conserved(&run, &outcome(&run));
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let flows = vec![flow(0, 4, 50_000_000, Time::ZERO)];
    let spec = spec(leaf_spine(), "amrt", flows, Time::s(1));
    let mut calls = 0;
    let out = run(&spec, &mut |_| {
        calls += 1;
        calls < 2
    })
    .expect("a valid run");
    assert!(out.interrupted && out.flows[0].delivered > 0);
    assert_eq!(out.flows[0].state, FlowState::Unfinished);
    assert!(out.warnings.iter().any(|w| w.contains("interrupted")), "{:?}", out.warnings);
}

#[test]
fn impossible_runs_are_refused_with_a_reason() {
    let refused = |change: &dyn Fn(&mut RunSpec)| {
        let mut run = spec(leaf_spine(), "amrt", vec![flow(0, 4, 1, Time::ZERO)], Time::s(1));
        change(&mut run);
        headway_sim::run(&run, &mut |_| true).expect_err("refused").to_string()
    };
    assert!(refused(&|r| r.flows[0].dst = 0).contains("sends to itself"));
    assert!(refused(&|r| r.flows[0].dst = 99).contains("host 99 is not there"));
    assert!(refused(&|r| r.transports[0].name = "amrd".into()).contains("amrd"));
    assert!(refused(&|r| r.fabric.discipline = "none".into()).contains("none"));
    assert!(refused(&|r| r.topology = fat_tree(3, 2)).contains("even"));
    let island = TopologySpec::Graph(Graph {
        hosts: 2,
        switches: 2,
        links: vec![(0, 2, link(1, Time::ZERO)), (1, 3, link(1, Time::ZERO))],
        back: Vec::new(),
    });
    assert!(refused(&|r| (r.topology, r.flows[0].dst) = (island.clone(), 1)).contains("cannot be reached"));
}

#[test]
fn samples_end_the_run_when_they_have_taken_what_they_may() {
    let mut run = common::sampled(
        spec(leaf_spine(), "amrt", vec![flow(0, 4, 5_000_000, Time::ZERO)], Time::s(1)),
        Time::us(10),
    );
    let whole = outcome(&run).samples.len() as u64;
    run.sample.as_mut().expect("sampling").most = whole / 2;
    let out = outcome(&run);
    let rows = out.samples.len() as u64;
    assert!(out.interrupted && rows >= whole / 2 && rows < whole * 3 / 4, "{rows} of {whole}");
    assert!(out.warnings.iter().any(|w| w.contains("its samples took all the memory")), "{:?}", out.warnings);
}
