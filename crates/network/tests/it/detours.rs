//! Routes around links that are down: they reach every host that can be reached, over links that are up, without
//! circles.

use headway_fabric::{Buffer, Limit};
use headway_network::topology::{FatTree, Graph, LeafSpine};
use headway_network::{
    Changes, Down, FabricSpec, Fault, FaultSpec, LinkChoice, LinkSpec, Network, PathSelector, Routing,
    TopologySpec,
};
use headway_packet::{HostId, Packet, PacketKind, Sizes};
use headway_units::{Rate, Time};
use std::collections::BTreeSet;

const LINK: LinkSpec = LinkSpec { rate: Rate::gbps(10), delay: Time::us(1) };
const MODES: [Routing; 4] = [Routing::Ecmp, Routing::Spray, Routing::Pinned, Routing::Symmetric];

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

fn shapes() -> Vec<TopologySpec> {
    // A ring of five switches with a chord and a double link, a host at each.
    let ring = [(5, 6), (6, 7), (7, 8), (8, 9), (9, 5), (5, 7), (6, 7)];
    let links = ring.into_iter().chain((0..5).map(|h| (h, 5 + h))).map(|(a, b)| (a, b, LINK)).collect();
    vec![
        TopologySpec::LeafSpine(LeafSpine {
            racks: 3,
            hosts_per_rack: 2,
            spines: 3,
            host: LINK,
            spine: LINK,
        }),
        TopologySpec::FatTree(FatTree { k: 4, hosts_per_edge: 1, host: LINK, fabric: LINK }),
        TopologySpec::Graph(Graph { hosts: 5, switches: 5, links, back: Vec::new() }),
    ]
}

/// Links that are down, by name, drawn from a number; a few of those between switches.
fn some_links(network: &Network, number: u64) -> Vec<u32> {
    let between =
        network.links().iter().enumerate().filter(|(_, link)| link.from.min(link.to) >= network.interfaces());
    let drawn =
        between.filter(|(port, _)| headway_primitives::mix(number << 20 | *port as u64).is_multiple_of(4));
    drawn.map(|(port, _)| port as u32).collect()
}

fn down(network: &Network, links: &[u32]) -> FaultSpec {
    let names = network.link_names();
    let names: BTreeSet<String> = links.iter().map(|port| names[*port as usize].clone()).collect();
    let what = Down { switches: Vec::new(), at: Time::us(5), until: Time::us(9), converge: Time::us(1) };
    FaultSpec { links: LinkChoice::Some(names.into_iter().collect()), kind: None, what: Fault::Down(what) }
}

/// Hosts that a switch can reach over these links.
fn reached(network: &Network, from: u32, dead: &BTreeSet<u32>) -> BTreeSet<u32> {
    let (mut seen, mut ahead) = (BTreeSet::from([from]), vec![from]);
    while let Some(node) = ahead.pop() {
        let out = network.links().iter().enumerate().filter(|(port, link)| {
            link.from == node && node >= network.interfaces() && !dead.contains(&(*port as u32))
        });
        ahead.extend(out.map(|(_, link)| link.to).filter(|to| seen.insert(*to)));
    }
    seen
}

/// Links that a packet crosses from a host, or `None` when it ends at a switch without a way on.
fn way(
    network: &Network,
    (changes, choice): (&mut Changes, &PathSelector),
    (src, dst, entropy): (u32, u32, u32),
    at: Time,
) -> Option<Vec<u32>> {
    let mut packet = Packet::new(PacketKind::Data, HostId(src), HostId(dst), 0);
    packet.entropy = entropy;
    let mut links = vec![src];
    loop {
        let node = network.links()[links[links.len() - 1] as usize].to;
        if node == dst {
            return Some(links);
        }
        let arrival = (links[links.len() - 1], at);
        links.push(changes.route(choice, network, node - network.interfaces(), &packet, arrival)?);
        assert!(links.len() < 30, "{src} to {dst} goes round in circles: {links:?}");
    }
}

#[test]
fn packets_reach_whoever_can_be_reached_over_links_that_are_up() {
    for (shape, routing) in shapes().iter().flat_map(|shape| MODES.map(|routing| (shape, routing))) {
        let network = network(shape, routing);
        for number in 0..40 {
            let links = some_links(&network, number);
            if links.is_empty() {
                continue;
            }
            let choice = PathSelector::new(&network, number);
            let spec = down(&network, &links);
            let mut changes = Changes::new(&[spec], &network, &choice).expect("valid").expect("changes");
            let names = network.link_names();
            // A name is that of all parallel links; where routes are symmetric, a link is avoided in both directions.
            let hit = |name: &String| {
                let (from, to) = name.split_once("->").expect("a name");
                let back = format!("{to}->{from}");
                let symmetric = routing == Routing::Symmetric;
                links.iter().any(|l| names[*l as usize] == *name || (symmetric && names[*l as usize] == back))
            };
            let dead: BTreeSet<u32> = (0..names.len() as u32).filter(|n| hit(&names[*n as usize])).collect();
            for (src, dst) in
                (0..network.interfaces()).flat_map(|s| (0..network.interfaces()).map(move |d| (s, d)))
            {
                if src == dst {
                    continue;
                }
                let home = network.links()[src as usize].to;
                let can = reached(&network, home, &dead).contains(&dst);
                for entropy in 0..4 {
                    let found = way(&network, (&mut changes, &choice), (src, dst, entropy), Time::us(7));
                    assert_eq!(found.is_some(), can, "{routing:?} {src} to {dst} without {dead:?}");
                    let used = found.unwrap_or_default();
                    assert!(
                        used.iter().all(|link| !dead.contains(link)),
                        "{routing:?} {used:?} without {dead:?}"
                    );
                    if routing == Routing::Symmetric && can {
                        let back = way(&network, (&mut changes, &choice), (dst, src, entropy), Time::us(7));
                        let nodes = |links: &[u32]| -> Vec<(u32, u32)> {
                            links
                                .iter()
                                .map(|l| network.links()[*l as usize])
                                .map(|l| (l.from, l.to))
                                .collect()
                        };
                        let turned: Vec<_> = nodes(&back.expect("a way back"))
                            .into_iter()
                            .rev()
                            .map(|(a, b)| (b, a))
                            .collect();
                        assert_eq!(nodes(&used), turned, "{src} and {dst} without {dead:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn routes_are_the_usual_ones_before_after_and_where_nothing_is_down() {
    for (shape, routing) in shapes().iter().flat_map(|shape| MODES.map(|routing| (shape, routing))) {
        let network = network(shape, routing);
        let links = some_links(&network, 3);
        let spec = down(&network, &links);
        let choices = || (PathSelector::new(&network, 1), PathSelector::new(&network, 1));
        for at in [Time::ZERO, Time::us(6) - Time(1), Time::us(10), Time::s(1)] {
            let (usual, other) = choices();
            let mut changes =
                Changes::new(std::slice::from_ref(&spec), &network, &other).expect("valid").expect("changes");
            for (switch, dst) in
                (0..network.switches()).flat_map(|s| (0..network.interfaces()).map(move |d| (s, d)))
            {
                let mut packet =
                    Packet::new(PacketKind::Data, HostId((dst + 1) % network.interfaces()), HostId(dst), 0);
                packet.entropy = switch;
                let expected = usual.route(&network, switch, &packet, (0, at));
                assert_eq!(
                    changes.route(&other, &network, switch, &packet, (0, at)),
                    expected,
                    "{routing:?} {at}"
                );
            }
        }
        // A link that carries nothing between two hosts does not move their packets.
        let (usual, other) = choices();
        let spec = down(&network, &[network.links().len() as u32 - 1]);
        let mut changes = Changes::new(&[spec], &network, &other).expect("valid").expect("changes");
        let packet = Packet::new(PacketKind::Data, HostId(1), HostId(0), 0);
        let home = network.links()[0].to - network.interfaces();
        let expected = usual.route(&network, home, &packet, (0, Time::us(7)));
        assert_eq!(changes.route(&other, &network, home, &packet, (0, Time::us(7))), expected);
    }
}
