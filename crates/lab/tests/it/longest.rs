//! The reported longest path is the one that the engine gives its transports, over every kind of topology.

use headway_lab::Request;
use headway_network::Network;
use headway_network::topology::KINDS;

use std::path::Path;

/// Every kind of topology, with links whose rates differ by tier, and hosts whose links are the fastest in some and the slowest in others.
const SHAPES: [(&str, &str); 10] = [
    ("single-switch", "hosts = 5\nrate = \"10 Gbps\"\ndelay = \"1 us\""),
    ("dumbbell", "senders = 2\nreceivers = 3\nrate = \"FAST\"\ndelay = \"1 us\"\nbottleneck_rate = \"SLOW\""),
    (
        "leaf-spine",
        "racks = 2\nhosts_per_rack = 3\nspines = 2\nhost_rate = \"FAST\"\nspine_rate = \"SLOW\"\nhost_delay = \"1 us\"",
    ),
    ("fat-tree", "k = 4\nhost_rate = \"FAST\"\nhost_delay = \"1 us\"\nfabric_rate = \"SLOW\""),
    (
        "three-tier",
        "pods = 2\nedges = 2\nhosts_per_edge = 2\naggs = 2\ncores_per_agg = 2\nhost_rate = \"FAST\"\nagg_rate = \"40 Gbps\"\n\
         core_rate = \"SLOW\"\nhost_delay = \"1 us\"",
    ),
    (
        "parking-lot",
        "bottlenecks = 2\nhosts_per_switch = 2\nrate = \"FAST\"\ndelay = \"1 us\"\nbottleneck_rate = \"SLOW\"",
    ),
    ("torus", "x = 3\ny = 2\nhost_rate = \"FAST\"\nlink_rate = \"SLOW\"\nhost_delay = \"1 us\""),
    (
        "dragonfly",
        "groups = 3\nswitches_per_group = 2\nhosts_per_switch = 2\nhost_rate = \"FAST\"\nglobal_rate = \"SLOW\"\nhost_delay = \"1 us\"",
    ),
    (
        "dual-homed",
        "racks = 2\nhosts_per_rack = 2\nspines = 2\nhost_rate = \"FAST\"\nspine_rate = \"SLOW\"\nhost_delay = \"1 us\"",
    ),
    (
        "rail",
        "nodes = 2\ngpus = 2\nspines = 2\nnode_rate = \"FAST\"\nrail_rate = \"SLOW\"\nnode_delay = \"1 us\"",
    ),
];

#[test]
fn the_longest_path_is_that_of_the_engine_over_every_topology() {
    let graph = "hosts = 3\nswitches = 2\nlink = [\n{ a = \"h0\", b = \"s0\", rate = \"FAST\", delay = \"1 us\" },\n\
        { a = \"h1\", b = \"s1\", rate = \"FAST\", delay = \"1 us\" },\n{ a = \"h2\", b = \"s1\", rate = \"SLOW\", delay = \"3 us\" },\n\
        { a = \"s0\", b = \"s1\", rate = \"40 Gbps\", delay = \"1 us\" },\n]\n";
    let folder = tempfile::tempdir().expect("a folder");
    let mut slower = 0;
    for (info, _) in KINDS {
        for (fast, slow) in [("100 Gbps", "10 Gbps"), ("10 Gbps", "40 Gbps"), ("25 Gbps", "25 Gbps")] {
            let rates = |text: &str| text.replace("FAST", fast).replace("SLOW", slow);
            let keys = match SHAPES.iter().find(|(kind, _)| *kind == info.name) {
                Some((_, keys)) => rates(keys),
                None => {
                    assert_eq!(info.name, "graph", "a kind of topology without a shape here");
                    write(folder.path(), &rates(graph));
                    "file = \"net.toml\"".into()
                }
            };
            let text = format!(
                "[topology]\nkind = \"{}\"\n{keys}\n[transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"permutation\"\n\
                 bytes = 100000\n",
                info.name
            );
            for set in [
                "seed=1",
                "seed=2",
                "fabric.routing=spray",
                "topology.switch_latency=\"500 ns\"",
                "fabric.payload=\"4096 B\"",
            ] {
                let loaded = Request::text(&text, "x.toml", folder.path(), &[set.into()], None).load();
                let scenario = loaded.unwrap_or_else(|error| panic!("{}: {}", info.name, error.render()));
                let setup = scenario.setup().expect("a network");
                let network = Network::build(&setup.topology.spec, &setup.fabric).expect("a network");
                let flows = setup.resolve(scenario.seed).expect("a run").spec.flows;
                let paths = flows.iter().map(|flow| {
                    let (src, dst) = network.pair(flow.src, flow.dst).expect("they reach each other");
                    (network.path(src, dst), flow)
                });
                // `max_by_key` takes the last of equal ones; in reverse that is the first flow.
                let (path, flow) = paths.rev().max_by_key(|(path, _)| path.base_rtt).expect("a flow");
                let found = scenario.longest_path().expect("a path");
                assert_eq!(
                    (found.round_trip, found.rate),
                    (path.base_rtt, path.bottleneck),
                    "{}, {set}",
                    info.name
                );
                let (src, dst) = network.pair(flow.src, flow.dst).expect("they reach each other");
                let links = network.links_between(src, dst).expect("a path");
                let rates = links.iter().map(|link| network.links()[*link as usize].spec.rate);
                if !network.owners().is_bonded() {
                    assert_eq!(Some(found.rate), rates.min_by_key(|rate| rate.bps()), "{}, {set}", info.name);
                }
                let sizes = &setup.fabric.sizes;
                let packets = found.bdp / f64::from(sizes.payload);
                assert_eq!(
                    packets.ceil() as u32,
                    path.bdp_packets(path.bottleneck, sizes),
                    "{}, {set}",
                    info.name
                );
                slower += usize::from(found.rate.bps() < network.links()[flow.src as usize].spec.rate.bps());
            }
        }
    }
    // With none of these, the rate of the sender's own link would pass for the path's.
    assert!(slower > 20, "links of hosts that are not the slowest: {slower}");
}

#[allow(clippy::disallowed_methods, reason = "tests write temporary directories")]
fn write(folder: &Path, text: &str) {
    std::fs::write(folder.join("net.toml"), text).expect("a file");
}
