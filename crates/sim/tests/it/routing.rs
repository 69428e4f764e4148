//! Rules of routing that look at the network: least queue, flowlets, and paths weighted by rate.

use super::common::{flow, link, outcome, spec};
use headway_network::topology::{Dragonfly, Graph, LeafSpine, Rail, ThreeTier, Torus};
use headway_network::{Outcome, Routing, RunSpec, TopologySpec};
use headway_sim::{Around, run_within};
use headway_units::Time;
use std::collections::BTreeMap;

/// Hosts of two racks under several spines.
fn racks(spines: u32) -> TopologySpec {
    let link = link(10, Time::us(1));
    LeafSpine { racks: 2, hosts_per_rack: 8, spines, host: link, spine: link }.into()
}

fn routed(topology: TopologySpec, transport: &str, routing: Routing, pairs: &[(u32, u32, u64)]) -> RunSpec {
    let flows = pairs.iter().map(|(src, dst, bytes)| flow(*src, *dst, *bytes, Time::ZERO)).collect();
    let mut spec = spec(topology, transport, flows, Time::s(1));
    spec.fabric.routing = routing;
    spec
}

/// Payload by link from the leaf to the spines.
fn uplinks(outcome: &Outcome) -> Vec<u64> {
    let up = outcome.links.iter().filter(|link| link.name.starts_with("leaf0->spine"));
    up.map(|link| link.counters.payload_bytes).collect()
}

/// The bytes that waited at the ports from a leaf to the spines, averaged over time, and then over ports.
fn waited(outcome: &Outcome) -> f64 {
    let up = outcome.links.iter().filter(|link| link.name.starts_with("leaf0->spine"));
    let means: Vec<f64> = up.map(|link| link.queue_mean_bytes).collect();
    means.iter().sum::<f64>() / means.len() as f64
}

#[test]
fn least_queue_keeps_queues_at_a_packet_where_links_are_as_many_as_senders() {
    let pairs: Vec<(u32, u32, u64)> = (0..8).map(|h| (h, h + 8, 1_000_000)).collect();
    let of = |routing| outcome(&routed(racks(8), "dctcp", routing, &pairs));
    let (queue, hash, spray) = (of(Routing::LeastQueue), of(Routing::Ecmp), of(Routing::Spray));
    // Eight packets at a time find eight links: one waits at the most, while the wire is at another.
    assert!(waited(&queue) < 1538.0, "{}", waited(&queue));
    assert!(waited(&hash) > 5.0 * waited(&queue), "{}: the test can tell", waited(&hash));
    assert!(waited(&spray) > 2.0 * waited(&queue), "{}: the test can tell", waited(&spray));
    let (loads, all) = (uplinks(&queue), 8_000_000f64);
    assert!(loads.iter().all(|load| (*load as f64 / all * 8.0 - 1.0).abs() < 0.1), "{loads:?}");
}

#[test]
fn least_queue_counts_the_time_and_not_the_bytes() {
    // Two ways, of which one is three times as fast.
    let (slow, fast, edge) = (link(10, Time::us(1)), link(30, Time::us(1)), link(40, Time::us(1)));
    let links = vec![(0, 2, edge), (1, 3, edge), (2, 4, slow), (4, 3, slow), (2, 5, fast), (5, 3, fast)];
    let graph = Graph { hosts: 2, switches: 4, links, back: Vec::new() };
    let outcome = outcome(&routed(graph.into(), "ndp", Routing::LeastQueue, &[(0, 1, 3_000_000)]));
    let sent = |name: &str| {
        let link = outcome.links.iter().find(|link| link.name == name).expect("it is there");
        link.counters.payload_bytes as f64
    };
    let share = sent("s0->s3") / (sent("s0->s2") + sent("s0->s3"));
    assert!((share - 0.75).abs() < 0.02, "{share}");
}

#[test]
fn a_flowlet_stays_on_a_path_and_no_pause_is_shorter_than_none() {
    let pairs = [(0, 8, 3_000_000)];
    let spread = |gap| {
        let outcome = outcome(&routed(racks(4), "dctcp", Routing::Flowlet(gap), &pairs));
        uplinks(&outcome).into_iter().filter(|bytes| *bytes > 0).count()
    };
    // Packets follow each other within a second, and never within no time.
    assert_eq!(spread(Time::s(1)), 1);
    assert_eq!(spread(Time::ZERO), 4);
}

#[test]
fn a_pause_makes_a_new_flowlet() {
    // Over links of 1 us the flow never pauses for as long as the gap.
    let mut spec = routed(racks(4), "tcp", Routing::Flowlet(Time::us(100)), &[(0, 8, 600_000)]);
    let count = |spec: &RunSpec| {
        let outcome = outcome(spec);
        uplinks(&outcome).into_iter().filter(|bytes| *bytes > 0).count()
    };
    assert_eq!(count(&spec), 1, "no pause");
    // A round trip is then longer than the gap while the window is small, and each window a flowlet.
    let long = link(10, Time::us(100));
    spec.topology = LeafSpine { racks: 2, hosts_per_rack: 8, spines: 4, host: long, spine: long }.into();
    assert!(count(&spec) > 1, "pauses of a round trip");
}

#[test]
fn weighted_paths_carry_flows_in_proportion_to_their_rates() {
    let (slow, fast, edge) = (link(10, Time::us(1)), link(40, Time::us(1)), link(100, Time::us(1)));
    let links = vec![(0, 2, edge), (1, 3, edge), (2, 4, slow), (4, 3, slow), (2, 5, fast), (5, 3, fast)];
    let graph = Graph { hosts: 2, switches: 4, links, back: Vec::new() };
    let pairs = vec![(0, 1, 1460); 2000];
    let spec = routed(graph.into(), "dctcp", Routing::Weighted, &pairs);
    let mut taken = BTreeMap::<Vec<u32>, u32>::new();
    let network = headway_network::Network::build(&spec.topology, &spec.fabric).expect("a network");
    let mut ideals = headway_network::Ideals::new(&network, &spec);
    for number in 0..pairs.len() {
        *taken.entry(ideals.path(number).expect("one path")).or_default() += 1;
    }
    let outcome = outcome(&spec);
    let sent = |name: &str| {
        let link = outcome.links.iter().find(|link| link.name == name).expect("it is there");
        link.counters.payload_bytes / 1460
    };
    // Retransmissions aside, the run takes the paths that its ideals are computed for.
    let (few, many) = (*taken.values().min().expect("two"), *taken.values().max().expect("two"));
    assert!(sent("s0->s2") >= u64::from(few) && sent("s0->s3") >= u64::from(many));
    let share = f64::from(many) / pairs.len() as f64;
    // 3.4 standard deviations of 2000 flows.
    assert!((share - 0.8).abs() < 0.03, "{share}");
}

/// Clusters with a choice of paths, small enough for a test.
fn clusters() -> Vec<TopologySpec> {
    let (near, far) = (link(40, Time::ns(500)), link(10, Time::us(1)));
    vec![
        Rail { groups: 2, nodes: 2, gpus: 4, planes: 2, spines: 2, node: near, rail: far, spine: far }.into(),
        ThreeTier {
            pods: 2,
            edges: 2,
            hosts_per_edge: 4,
            aggs: 2,
            cores_per_agg: 2,
            host: far,
            agg: far,
            core: near,
        }
        .into(),
        Torus { dims: [4, 2, 2], hosts_per_switch: 1, host: far, link: far }.into(),
        Dragonfly {
            groups: 4,
            switches_per_group: 2,
            hosts_per_switch: 2,
            links_per_pair: 2,
            host: far,
            local: near,
            global: far,
        }
        .into(),
    ]
}

#[test]
fn runs_are_the_same_on_any_number_of_threads_and_end() {
    let pairs: Vec<(u32, u32, u64)> =
        (0..40).map(|i| (i % 16, (i * 7 + 5) % 16, 20_000 + 911 * u64::from(i))).collect();
    let pairs: Vec<(u32, u32, u64)> = pairs.into_iter().filter(|(a, b, _)| a != b).collect();
    for topology in clusters() {
        for routing in
            [Routing::LeastQueue, Routing::Flowlet(Time::us(3)), Routing::Weighted, Routing::Symmetric]
        {
            for transport in ["dctcp", "ndp"] {
                let spec = routed(topology.clone(), transport, routing, &pairs);
                let one = outcome(&spec);
                assert!(
                    one.flows.iter().all(|flow| flow.finish.is_some()),
                    "{routing:?} {transport}: {topology:?}"
                );
                for threads in [2, 4] {
                    let around = Around { threads, ..Around::default() };
                    let several = run_within(&spec, around, &mut |_| true).expect("a run");
                    assert_eq!(
                        one.digest, several.digest,
                        "{routing:?} {transport} on {threads}: {topology:?}"
                    );
                    assert_eq!(one, several);
                }
            }
        }
    }
}
