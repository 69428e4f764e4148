//! Sketches of topologies: every node in the picture, every link between nodes that are there, and all of
//! them names of the network.

use crate::common;

use common::good;
use headway_lab::topology::layout::topology_json;
use headway_network::Network;
use std::collections::BTreeSet;

const REST: &str = "\n[transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"permutation\"\nbytes = 1\n";
const LINKS: &str = "host_rate = \"10 Gbps\"\nhost_delay = \"1 us\"\n";
const PLAIN: &str = "rate = \"10 Gbps\"\ndelay = \"1 us\"\n";

/// Nodes, links, and hosts that the nodes stand for.
fn check(keys: &str) -> (usize, usize, u64) {
    let scenario = good(&format!("[topology]\n{keys}{REST}"), &[]);
    let setup = scenario.setup().expect("a network");
    let network = Network::build(&setup.topology.spec, &setup.fabric).expect("a network");
    let known: BTreeSet<String> = network.link_names().into_iter().collect();
    let sketch = topology_json(&setup.topology);
    let nodes = sketch["nodes"].as_array().expect("nodes");
    let mut names = BTreeSet::new();
    let mut hosts = 0;
    for node in nodes {
        for axis in ["x", "y"] {
            assert!(node[axis].as_f64().is_some_and(|v| (0.0..=1.0).contains(&v)), "{node}");
        }
        assert!(names.insert(node["name"].as_str().expect("a name")), "{node} is there twice");
        if node["kind"] == "host" {
            assert_eq!(node["tier"], 0);
            hosts += node["count"].as_u64().expect("a count");
        }
    }
    let links = sketch["links"].as_array().expect("links");
    let mut seen = BTreeSet::new();
    for link in links {
        let (a, b) = (link["a"].as_str().expect("a name"), link["b"].as_str().expect("a name"));
        assert!(names.contains(a) && names.contains(b), "{link}");
        assert!(known.contains(&format!("{a}->{b}")) && known.contains(&format!("{b}->{a}")), "{link}");
        assert!(seen.insert((a, b)), "{link} is there twice");
        assert!(link["rate_bps"].as_u64().is_some_and(|r| r > 0));
    }
    (nodes.len(), links.len(), hosts)
}

#[test]
fn small_networks_are_drawn_whole() {
    assert_eq!(check(&format!("kind = \"single-switch\"\nhosts = 5\n{PLAIN}")), (6, 5, 5));
    assert_eq!(check(&format!("kind = \"dumbbell\"\nsenders = 3\nreceivers = 2\n{PLAIN}")), (7, 6, 5));
    let parking = format!("kind = \"parking-lot\"\nbottlenecks = 2\nhosts_per_switch = 4\n{PLAIN}");
    assert_eq!(check(&parking), (15, 14, 12));
    let leaf_spine = format!("kind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 4\nspines = 2\n{LINKS}");
    assert_eq!(check(&leaf_spine), (17, 18, 12));
    assert_eq!(check(&format!("kind = \"fat-tree\"\nk = 4\n{LINKS}")), (36, 48, 16));
    assert_eq!(check("kind = \"graph\"\nfile = \"ring.toml\"\n"), (7, 7, 4));
    let cores = "pods = 2\nedges = 2\nhosts_per_edge = 2\naggs = 2\ncores_per_agg = 1";
    assert_eq!(check(&format!("kind = \"three-tier\"\n{cores}\n{LINKS}")), (18, 20, 8));
    let dual = format!("kind = \"dual-homed\"\nracks = 2\nhosts_per_rack = 3\nspines = 2\n{LINKS}");
    assert_eq!(check(&dual), (12, 20, 6));
    let rail = "nodes = 2\ngpus = 2\nspines = 2\nnode_rate = \"1 Tbps\"\nnode_delay = \"200 ns\"";
    assert_eq!(check(&format!("kind = \"rail\"\n{rail}\n")), (10, 12, 4));
    // The links that close a row lie on the row, and are not drawn.
    assert_eq!(check(&format!("kind = \"torus\"\nx = 4\ny = 2\n{LINKS}")), (16, 18, 8));
    let groups = "groups = 3\nswitches_per_group = 2\nhosts_per_switch = 1";
    assert_eq!(check(&format!("kind = \"dragonfly\"\n{groups}\n{LINKS}")), (12, 12, 6));
    // Those of other simulators, one with a host of two links.
    assert_eq!(check("kind = \"graph\"\nfile = \"two-tiers.topo\"\n"), (8, 8, 4));
    assert_eq!(check("kind = \"graph\"\nfile = \"two-links.txt\"\n"), (5, 4, 3));
}

#[test]
fn big_networks_are_abbreviated_and_no_host_is_forgotten() {
    for (keys, most, hosts) in [
        (format!("kind = \"single-switch\"\nhosts = 500\n{PLAIN}"), 2, 500),
        (format!("kind = \"leaf-spine\"\nracks = 10\nhosts_per_rack = 40\nspines = 8\n{LINKS}"), 28, 400),
        (format!("kind = \"leaf-spine\"\nracks = 40\nhosts_per_rack = 10\nspines = 40\n{LINKS}"), 36, 400),
        (format!("kind = \"fat-tree\"\nk = 16\n{LINKS}"), 60, 1024),
        (format!("kind = \"torus\"\nx = 16\ny = 16\nz = 4\n{LINKS}"), 64, 1024),
    ] {
        let (nodes, _, shown) = check(&keys);
        assert!(nodes <= most, "{nodes} nodes for {keys}");
        assert_eq!(shown, hosts, "{keys}");
    }
}
