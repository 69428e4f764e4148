//! Networks of clusters: counts that are known in a closed form, as many paths as are declared, and no circles, under every
//! rule of routing.

use headway_fabric::{Buffer, Limit};
use headway_network::topology::{Dragonfly, Graph, Rail, ThreeTier, Torus};
use headway_network::{
    FabricSpec, LinkSpec, Lossless, Network, PathSelector, PfcParams, Routing, Surplus, TopologySpec,
};
use headway_packet::{HostId, Packet, PacketKind, Sizes};
use headway_units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const LINK: LinkSpec = LinkSpec { rate: Rate::gbps(100), delay: Time::us(1) };
const SLOW: LinkSpec = LinkSpec { rate: Rate::gbps(40), delay: Time::us(3) };

const ROUTINGS: [Routing; 7] = [
    Routing::Ecmp,
    Routing::Spray,
    Routing::Pinned,
    Routing::Symmetric,
    Routing::Weighted,
    Routing::LeastQueue,
    Routing::Flowlet(Time::us(1)),
];

fn network(topology: impl Into<TopologySpec>, routing: Routing) -> Network {
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
    Network::build(&topology.into(), &fabric).expect("a network")
}

fn three_tier(pods: u32, edges: u32, hosts_per_edge: u32, aggs: u32, cores_per_agg: u32) -> ThreeTier {
    ThreeTier { pods, edges, hosts_per_edge, aggs, cores_per_agg, host: LINK, agg: SLOW, core: LINK }
}

fn rail(groups: u32, nodes: u32, gpus: u32, planes: u32, spines: u32) -> Rail {
    Rail { groups, nodes, gpus, planes, spines, node: LINK, rail: SLOW, spine: LINK }
}

fn torus(dims: [u32; 3], hosts_per_switch: u32) -> Torus {
    Torus { dims, hosts_per_switch, host: LINK, link: SLOW }
}

fn dragonfly(groups: u32, switches_per_group: u32, hosts_per_switch: u32, links_per_pair: u32) -> Dragonfly {
    let (local, global) = (SLOW, LINK);
    Dragonfly { groups, switches_per_group, hosts_per_switch, links_per_pair, host: LINK, local, global }
}

/// Several sizes of each, also those at which something is left out.
fn all() -> Vec<TopologySpec> {
    let tiers = [[1, 1, 1, 1, 1], [1, 3, 2, 2, 1], [3, 2, 2, 3, 2], [4, 3, 1, 2, 5], [2, 1, 3, 1, 4]];
    let rails = [[1, 1, 1, 1, 1], [1, 4, 3, 2, 1], [3, 2, 4, 1, 2], [2, 3, 2, 2, 3], [4, 1, 2, 3, 1]];
    let tori =
        [[1, 1, 1], [2, 1, 1], [5, 1, 1], [4, 4, 1], [3, 2, 1], [3, 3, 3], [4, 2, 3], [2, 2, 2], [1, 6, 4]];
    let flies =
        [[1, 1, 1, 1], [1, 4, 2, 1], [2, 3, 1, 2], [5, 2, 2, 1], [9, 4, 1, 1], [4, 1, 1, 1], [3, 2, 1, 5]];
    let mut all: Vec<TopologySpec> = Vec::new();
    all.extend(tiers.map(|[a, b, c, d, e]| three_tier(a, b, c, d, e).into()));
    all.extend(rails.map(|[a, b, c, d, e]| rail(a, b, c, d, e).into()));
    all.extend(tori.map(|dims| torus(dims, 1 + dims[0] % 2).into()));
    all.extend(flies.map(|[a, b, c, d]| dragonfly(a, b, c, d).into()));
    all
}

/// Links between switches that leave each switch.
fn degrees(network: &Network) -> Vec<usize> {
    let mut degrees = vec![0; network.switches() as usize];
    for link in
        network.links().iter().filter(|l| l.from >= network.interfaces() && l.to >= network.interfaces())
    {
        degrees[(link.from - network.interfaces()) as usize] += 1;
    }
    degrees
}

#[test]
fn a_three_tier_network_has_the_links_of_its_tiers() {
    for [pods, edges, per, aggs, each] in [[4, 2, 2, 2, 2], [3, 5, 7, 2, 3], [1, 1, 1, 1, 1], [2, 3, 1, 4, 6]]
    {
        let network = network(three_tier(pods, edges, per, aggs, each), Routing::Ecmp);
        assert_eq!(network.interfaces(), pods * edges * per);
        assert_eq!(network.switches(), pods * edges + pods * aggs + aggs * each);
        let mut expected = vec![aggs; (pods * edges) as usize];
        expected.extend(vec![edges + each; (pods * aggs) as usize]);
        expected.extend(vec![pods; (aggs * each) as usize]);
        let expected: Vec<usize> = expected.into_iter().map(|n| n as usize).collect();
        assert_eq!(degrees(&network), expected);
    }
}

#[test]
fn hosts_can_send_more_than_links_upwards_carry_where_these_are_fewer() {
    for (hosts_per_edge, aggs, times) in [(8, 2, 4.0), (2, 4, 1.0), (3, 2, 1.5)] {
        let tiers = ThreeTier { agg: LINK, ..three_tier(2, 2, hosts_per_edge, aggs, 2) };
        let network = network(tiers, Routing::Ecmp);
        assert!((network.oversubscription() - times).abs() < 1e-12, "{}", network.oversubscription());
    }
}

#[test]
fn a_rail_network_has_a_leaf_for_each_rail_of_a_group_in_each_plane() {
    for [groups, nodes, gpus, planes, spines] in
        [[1, 4, 8, 1, 4], [2, 3, 4, 2, 3], [3, 1, 1, 1, 1], [1, 2, 2, 3, 2]]
    {
        let network = network(rail(groups, nodes, gpus, planes, spines), Routing::Ecmp);
        assert_eq!(network.hosts(), groups * nodes * gpus);
        assert_eq!(network.interfaces(), network.hosts() * (1 + planes), "one inside the node, one a plane");
        let (all, leaves) = (groups * nodes, planes * groups * gpus);
        assert_eq!(network.switches(), all + leaves + planes * spines);
        let mut expected = vec![0; all as usize];
        expected.extend(vec![spines; leaves as usize]);
        expected.extend(vec![groups * gpus; (planes * spines) as usize]);
        let expected: Vec<usize> = expected.into_iter().map(|n| n as usize).collect();
        assert_eq!(degrees(&network), expected);
    }
}

#[test]
fn a_torus_has_two_links_in_each_dimension_and_one_between_two() {
    for dims in [[1, 1, 1], [2, 1, 1], [7, 1, 1], [4, 5, 1], [2, 2, 2], [2, 3, 4], [1, 1, 6]] {
        let network = network(torus(dims, 2), Routing::Ecmp);
        let switches = dims.iter().product::<u32>();
        assert_eq!((network.interfaces(), network.switches()), (2 * switches, switches));
        let degree: usize = dims.iter().map(|n| (*n as usize - 1).min(2)).sum();
        assert_eq!(degrees(&network), vec![degree; switches as usize], "{dims:?}");
    }
}

#[test]
fn a_dragonfly_joins_all_of_a_group_and_each_two_groups() {
    for [groups, each, per, links] in
        [[9, 4, 2, 1], [5, 2, 1, 1], [3, 4, 1, 3], [2, 1, 2, 4], [7, 3, 1, 2], [1, 5, 1, 1]]
    {
        let network = network(dragonfly(groups, each, per, links), Routing::Ecmp);
        assert_eq!((network.interfaces(), network.switches()), (groups * each * per, groups * each));
        let mut pairs = BTreeMap::<(u32, u32), u32>::new();
        let mut inside = BTreeMap::<(u32, u32), u32>::new();
        let mut of_switch = BTreeMap::<u32, u32>::new();
        for link in
            network.links().iter().filter(|l| l.from >= network.interfaces() && l.to >= network.interfaces())
        {
            let (from, to) = (link.from - network.interfaces(), link.to - network.interfaces());
            if from / each == to / each {
                *inside.entry((from, to)).or_default() += 1;
            } else {
                *pairs.entry((from / each, to / each)).or_default() += 1;
                *of_switch.entry(from).or_default() += 1;
            }
        }
        assert_eq!(inside.len() as u32, groups * each * (each - 1));
        assert!(inside.values().all(|n| *n == 1));
        assert_eq!(pairs.len() as u32, groups * (groups - 1));
        assert!(pairs.values().all(|n| *n == links), "{pairs:?}");
        let most = ((groups - 1) * links).div_ceil(each);
        assert!(of_switch.values().all(|n| *n <= most), "{of_switch:?} of {most}");
    }
}

/// Hops from every switch to a host over all links, and the number of shortest ways.
fn counted(network: &Network, dst: u32) -> BTreeMap<u32, (u32, u64)> {
    let hosts = network.interfaces();
    let home = network.links()[dst as usize].to;
    let mut found = BTreeMap::from([(home, (0, 1))]);
    let mut ahead = VecDeque::from([home]);
    while let Some(node) = ahead.pop_front() {
        let (hops, ways) = found[&node];
        for link in network.links().iter().filter(|link| link.to == node && link.from >= hosts) {
            match found.get_mut(&link.from) {
                None => {
                    found.insert(link.from, (hops + 1, ways));
                    ahead.push_back(link.from);
                }
                Some((other, sum)) if *other == hops + 1 => *sum += ways,
                Some(_) => {}
            }
        }
    }
    found
}

/// The number of ways that switches choose from.
fn chosen(network: &Network, choice: &PathSelector, switch: u32, dst: u32) -> u64 {
    let mut ports = Vec::new();
    choice.choices(network, switch, dst, &mut ports);
    let next = |port: &u32| network.links()[*port as usize].to;
    let ways = |node: u32| match node.checked_sub(network.interfaces()) {
        None => u64::from(node == dst),
        Some(switch) => chosen(network, choice, switch, dst),
    };
    ports.iter().map(|port| ways(next(port))).sum()
}

#[test]
fn switches_choose_from_every_shortest_path() {
    for spec in all() {
        let network = network(spec.clone(), Routing::Ecmp);
        let choice = PathSelector::new(&network, 1);
        for dst in 0..network.interfaces() {
            let counted = counted(&network, dst);
            if network.owners().are_alike() {
                assert_eq!(counted.len() as u32, network.switches(), "{spec:?} is in pieces");
            }
            for src in (0..network.interfaces()).filter(|src| *src != dst) {
                let home = network.links()[src as usize].to;
                assert_eq!(
                    network.reachable(src, dst),
                    counted.contains_key(&home),
                    "{spec:?}: {src} to {dst}"
                );
                let Some((_, every)) = counted.get(&home) else { continue };
                let ways = chosen(&network, &choice, home - network.interfaces(), dst);
                assert_eq!(ways, *every, "{spec:?}: {src} to {dst}");
            }
        }
    }
}

fn binomial(n: u32, k: u32) -> u64 {
    (0..k).fold(1, |product, i| product * u64::from(n - i) / u64::from(i + 1))
}

#[test]
fn path_diversity_is_what_the_shape_says() {
    let ways = |network: &Network, src: u32, dst: u32| {
        let home = network.links()[src as usize].to - network.interfaces();
        chosen(network, &PathSelector::new(network, 1), home, dst)
    };
    // Host 0 to one under the same edge, in the same pod, and elsewhere.
    let tiers = network(three_tier(3, 2, 2, 3, 4), Routing::Ecmp);
    assert_eq!([1, 2, 4].map(|dst| ways(&tiers, 0, dst)), [1, 3, 12]);
    // From the NIC of host 0 in the first plane of 16 hosts: on its rail over the leaf, else over any spine of the plane.
    let rails = network(rail(2, 2, 4, 2, 3), Routing::Ecmp);
    assert_eq!([20, 21, 29].map(|dst| ways(&rails, 16, dst)), [1, 3, 3]);
    let pairs = [(0, 3), (0, 4), (0, 5)].map(|(src, dst)| rails.pairs(src, dst));
    assert_eq!(
        pairs,
        [vec![(0, 3)], vec![(16, 20), (32, 36)], vec![(16, 21), (32, 37)]],
        "NVLink, or either plane"
    );
    for dims in [[5, 1, 1], [6, 1, 1], [4, 5, 1], [4, 4, 2], [3, 5, 4], [2, 2, 2]] {
        let torus = torus(dims, 1);
        let network = network(torus, Routing::Ecmp);
        for dst in 1..network.interfaces() {
            let place = [dst % dims[0], dst / dims[0] % dims[1], dst / dims[0] / dims[1]];
            let (mut sum, mut expected) = (0, 1);
            for (at, n) in place.into_iter().zip(dims) {
                let far = at.min(n - at);
                sum += far;
                // The orders of dimensions, and both ways round where they are as long.
                expected *= binomial(sum, far) * if n > 2 && 2 * far == n { 2 } else { 1 };
            }
            assert_eq!(ways(&network, 0, dst), expected, "{dims:?} to {place:?}");
        }
    }
}

#[test]
fn no_packet_goes_in_circles_or_farther_than_it_has_to() {
    for routing in ROUTINGS {
        for spec in all() {
            let network = network(spec.clone(), routing);
            let choice = PathSelector::new(&network, 7);
            for dst in 0..network.interfaces() {
                let counted = counted(&network, dst);
                let reached = (0..network.interfaces()).filter(|src| network.reachable(*src, dst));
                for src in reached.filter(|src| *src != dst) {
                    for entropy in [0, 1, 5, 0xffff_fff0] {
                        let mut packet = Packet::new(PacketKind::Data, HostId(src), HostId(dst), 0);
                        packet.entropy = entropy;
                        let mut link = src;
                        let mut left = counted[&network.links()[src as usize].to].0;
                        while let Some(switch) =
                            network.links()[link as usize].to.checked_sub(network.interfaces())
                        {
                            let arrival = (link, Time::ns(u64::from(entropy)));
                            link = choice.route(&network, switch, &packet, arrival).expect("a route");
                            assert_eq!(network.links()[link as usize].from, network.interfaces() + switch);
                            let to = network.links()[link as usize].to;
                            match counted.get(&to) {
                                Some((hops, _)) => {
                                    assert_eq!(*hops + 1, left, "{spec:?} {routing:?}: {src} to {dst}");
                                    left = *hops;
                                }
                                None => assert_eq!((to, left), (dst, 0)),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Two hosts, and between their switches ways over links of these rates.
fn fan(rates: &[u64]) -> Graph {
    let mut links = vec![(0, 2, LINK), (1, 3, LINK)];
    for (place, rate) in rates.iter().enumerate() {
        let middle = 4 + place as u32;
        let spec = LinkSpec { rate: Rate::gbps(*rate), ..LINK };
        links.extend([(2, middle, spec), (middle, 3, spec)]);
    }
    Graph { hosts: 2, switches: 2 + rates.len() as u32, links, back: Vec::new() }
}

#[test]
fn weighted_choices_are_in_proportion_to_rates() {
    let drawn = |rates: &[u64], routing| {
        let network = network(fan(rates), routing);
        let choice = PathSelector::new(&network, 3);
        let route = |entropy: u32| {
            let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
            packet.entropy = entropy;
            choice.route(&network, 0, &packet, (0, Time::ZERO)).expect("a route")
        };
        (0..40_000).map(route).collect::<Vec<u32>>()
    };
    let rates = [10, 40, 25, 100];
    let ports = drawn(&rates, Routing::Weighted);
    let known: BTreeSet<u32> = ports.iter().copied().collect();
    assert_eq!(known.len(), rates.len());
    for (port, rate) in known.into_iter().zip(rates) {
        let share = ports.iter().filter(|p| **p == port).count() as f64 / ports.len() as f64;
        let due = rate as f64 / 175.0;
        assert!((share / due - 1.0).abs() < 0.1, "{share} in place of {due}");
    }
    assert_eq!(drawn(&[25; 5], Routing::Weighted), drawn(&[25; 5], Routing::Ecmp), "equal rates");
}

/// The switch of a node has its default memory by NVLink, and a leaf by the NICs that it is for.
#[test]
fn lossless_memory_follows_the_interfaces_of_a_switch() {
    let wire = |gbps| LinkSpec { rate: Rate::gbps(gbps), delay: Time::ns(500) };
    let (node, nic) = (wire(3_600), wire(400));
    let shape = Rail { groups: 1, nodes: 2, gpus: 2, planes: 1, spines: 1, node, rail: nic, spine: nic };
    let plain = network(shape, Routing::Ecmp);
    let fabric = FabricSpec { pfc: Some(PfcParams::default()), ..plain.fabric().clone() };
    let lossless = Network::build(plain.topology(), &fabric).expect("a network");
    let memories = Lossless::new(&lossless, Surplus::default()).expect("enough").expect("lossless");
    let names = lossless.switch_names();
    for (switch, name) in names.iter().enumerate() {
        let gbps = if name.starts_with("node") { 3_600 } else { 400 };
        assert_eq!(memories.buffer_at(switch as u32), (16 << 20) * gbps / 50, "{name}");
    }
    assert!(
        names.iter().any(|name| name.starts_with("node"))
            && names.iter().any(|name| !name.starts_with("node"))
    );
}
