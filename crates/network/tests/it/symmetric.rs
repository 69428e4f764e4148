//! Symmetric routes: both directions of a flow on the same links, whatever the network; other modes are not.

use headway_fabric::{Buffer, Limit};
use headway_network::topology::{Dragonfly, FatTree, Graph, LeafSpine, Rail, Torus};
use headway_network::{FabricSpec, LinkSpec, Network, PathSelector, Routing, TopologySpec};
use headway_packet::{HostId, Packet, PacketKind, Sizes};
use headway_units::{Rate, Time};
use std::collections::BTreeSet;

const LINK: LinkSpec = LinkSpec { rate: Rate::gbps(10), delay: Time::us(1) };

fn network(topology: &TopologySpec, routing: Routing) -> Network {
    let limit = Limit::Packets(8);
    let fabric = FabricSpec {
        discipline: "drop-tail".into(),
        params: Vec::new(),
        buffer: Buffer { data: limit, control: limit },
        routing,
        sizes: Sizes::default(),
        switch_latency: Time::ZERO,
        at: Vec::new(),
        forwarding: headway_network::Forwarding::StoreAndForward,
        host_queue: None,
        bonded: false,
        altered: Vec::new(),
        pfc: None,
        memory: None,
    };
    Network::build(topology, &fabric).expect("a network")
}

/// Links that a packet crosses.
fn way(network: &Network, choice: &PathSelector, src: u32, dst: u32, entropy: u32) -> Vec<u32> {
    let mut packet = Packet::new(PacketKind::Data, HostId(src), HostId(dst), 0);
    packet.entropy = entropy;
    let mut links = vec![src];
    loop {
        let node = network.links()[links[links.len() - 1] as usize].to;
        if node == dst {
            return links;
        }
        let switch = node - network.interfaces();
        let arrival = (links[links.len() - 1], Time::ZERO);
        links.push(choice.route(network, switch, &packet, arrival).expect("a route"));
        assert!(links.len() < 20, "{src} to {dst} goes round in circles");
    }
}

/// Nodes of a way, and which of the parallel links between two nodes it takes.
fn places(network: &Network, links: &[u32]) -> Vec<(u32, u32, usize)> {
    let place = |number: &u32| {
        let link = &network.links()[*number as usize];
        let parallel = |l: &&headway_network::Link| (l.from, l.to) == (link.from, link.to);
        let before = network.links()[..*number as usize].iter().filter(parallel).count();
        (link.from, link.to, before)
    };
    links.iter().map(place).collect()
}

fn is_symmetric(network: &Network, seed: u64) -> bool {
    let choice = PathSelector::new(network, seed);
    let mut same = true;
    for src in 0..network.interfaces() {
        for dst in (0..network.interfaces()).filter(|dst| *dst != src && network.reachable(src, *dst)) {
            for entropy in 0..5 {
                let out = way(network, &choice, src, dst, entropy);
                let back = way(network, &choice, dst, src, entropy);
                assert_eq!(out.len(), network.links_between(src, dst).expect("a path").len(), "no detours");
                let turned = places(network, &back).into_iter().rev().map(|(a, b, n)| (b, a, n));
                same &= places(network, &out).into_iter().eq(turned);
            }
        }
    }
    same
}

/// Two hosts at each end of three columns of switches, every one joined to all of the next, twice; and two more
/// hosts half way.
fn mesh() -> TopologySpec {
    let node = |column: u32, row: u32| 6 + 3 * column + row;
    let mut links: Vec<_> = (0..2).map(|h| (h, node(0, h), LINK)).collect();
    links.extend((2..4).map(|h| (h, node(3, h - 2), LINK)));
    links.extend((4..6).map(|h| (h, node(1, h - 4), LINK)));
    for column in 0..3 {
        for pair in 0..18 {
            let (a, b) = (node(column, pair / 3 % 3), node(column + 1, (pair + pair / 9) % 3));
            links.push(if pair % 2 == 0 { (a, b, LINK) } else { (b, a, LINK) });
        }
    }
    TopologySpec::Graph(Graph { hosts: 6, switches: 12, links, back: Vec::new() })
}

fn shapes() -> Vec<(&'static str, TopologySpec)> {
    vec![
        (
            "leaf-spine",
            TopologySpec::LeafSpine(LeafSpine {
                racks: 4,
                hosts_per_rack: 3,
                spines: 5,
                host: LINK,
                spine: LINK,
            }),
        ),
        (
            "fat-tree of 4",
            TopologySpec::FatTree(FatTree { k: 4, hosts_per_edge: 2, host: LINK, fabric: LINK }),
        ),
        (
            "fat-tree of 6",
            TopologySpec::FatTree(FatTree { k: 6, hosts_per_edge: 1, host: LINK, fabric: LINK }),
        ),
        (
            "rail",
            Rail { groups: 2, nodes: 2, gpus: 3, planes: 2, spines: 3, node: LINK, rail: LINK, spine: LINK }
                .into(),
        ),
        ("torus", Torus { dims: [4, 3, 2], hosts_per_switch: 1, host: LINK, link: LINK }.into()),
        (
            "dragonfly",
            Dragonfly {
                groups: 5,
                switches_per_group: 3,
                hosts_per_switch: 1,
                links_per_pair: 2,
                host: LINK,
                local: LINK,
                global: LINK,
            }
            .into(),
        ),
        ("graph", mesh()),
    ]
}

#[test]
fn both_directions_cross_the_same_links() {
    for (name, topology) in shapes() {
        let symmetric = network(&topology, Routing::Symmetric);
        assert!((1..4).all(|seed| is_symmetric(&symmetric, seed)), "{name}");
        assert!(!is_symmetric(&network(&topology, Routing::Ecmp), 1), "{name}: the test can tell");
    }
}

/// The number of paths that switches choose from.
fn ways_between(network: &Network, src: u32, dst: u32) -> u64 {
    let choice = PathSelector::new(network, 1);
    let mut ahead = vec![network.links()[src as usize].to];
    let mut paths = 0;
    while let Some(node) = ahead.pop() {
        let Some(switch) = node.checked_sub(network.interfaces()) else {
            paths += 1;
            continue;
        };
        let mut ports = Vec::new();
        choice.choices(network, switch, dst, &mut ports);
        ahead.extend(ports.iter().map(|port| network.links()[*port as usize].to));
    }
    paths
}

#[test]
fn flows_are_spread_over_all_paths_and_seeds_differ() {
    for (name, topology) in shapes() {
        let network = network(&topology, Routing::Symmetric);
        let last = network.interfaces() - 1;
        let (src, dst) = match name {
            "graph" => (0, 3),
            // From NIC to NIC of one plane.
            "rail" => (last - 5, last),
            _ => (0, last),
        };
        let ways = |seed| -> Vec<Vec<u32>> {
            let choice = PathSelector::new(&network, seed);
            (0..400).map(|entropy| way(&network, &choice, src, dst, entropy)).collect()
        };
        // If numbers count choices at several switches, there may be more numbers than paths.
        let paths = ways_between(&network, src, dst).min(network.path_numbers(src, dst)) as usize;
        let used: BTreeSet<_> = ways(1).into_iter().collect();
        assert!(used.len() >= paths, "{name}: {} of {paths}", used.len());
        assert_ne!(ways(1), ways(2), "{name}");
    }
}
