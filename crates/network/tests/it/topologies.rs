//! Every kind of topology that is declared does what it says: nothing here knows one by its name, but for the graph,
//! which is whatever a file says.

use headway_fabric::{Buffer, Limit};
use headway_network::topology::sketch::Sketch;
use headway_network::topology::{Graph, Info, KINDS, Kind, Usual, Value, Values};
use headway_network::{FabricSpec, LinkSpec, Network, Routing, TopologySpec};
use headway_packet::Sizes;
use headway_primitives::mix;
use headway_units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A network that is made of the values of its keys, drawn from a seed.
struct Drawn {
    name: &'static str,
    spec: TopologySpec,
    network: Network,
}

fn fabric() -> FabricSpec {
    let limit = Limit::Packets(100);
    FabricSpec {
        discipline: "drop-tail".into(),
        params: Vec::new(),
        buffer: Buffer { data: limit, control: limit },
        routing: Routing::Ecmp,
        sizes: Sizes::default(),
        switch_latency: Time::ZERO,
        at: Vec::new(),
        forwarding: headway_network::Forwarding::StoreAndForward,
        host_queue: None,
        bonded: false,
        altered: Vec::new(),
        pfc: None,
        memory: None,
    }
}

/// Three switches in a ring, each with a host, and two links between one pair of them.
fn ring(number: &mut impl FnMut(u64) -> u64) -> Value {
    let mut link = || LinkSpec { rate: Rate::gbps(1 + number(9)), delay: Time::us(number(9)) };
    let joints = [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3), (3, 4)];
    Value::Graph {
        hosts: 3,
        switches: 3,
        links: joints.map(|(a, b)| (a, b, link())).into(),
        back: Vec::new(),
    }
}

fn values(info: &Info, seed: u64) -> Values {
    let mut state = seed;
    let mut number = |below: u64| {
        state = mix(state.wrapping_add(0x9e37_79b9));
        state % below
    };
    let mut values = Values::default();
    for key in info.keys {
        let value = match (key.usual, key.kind) {
            (Usual::As(other), _) if number(2) == 0 => values.get(other).clone(),
            (Usual::Count(_, of), _) if number(2) == 0 => Value::Count(of(&values)),
            (_, Kind::Count) => Value::Count(1 + number(4) as u32),
            (_, Kind::EvenCount) => Value::Count(2 + 2 * number(3) as u32),
            (_, Kind::Rate) => Value::Rate(Rate::gbps(1 + number(100))),
            (_, Kind::Duration) => Value::Duration(Time::us(number(20))),
            (_, Kind::Graph) => ring(&mut number),
        };
        values.put(key.name, value);
    }
    values
}

fn each(mut holds: impl FnMut(&Drawn)) {
    for (info, make) in KINDS {
        for seed in 1..30 {
            let spec = make(&values(info, seed));
            let network = Network::build(&spec, &fabric()).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
            holds(&Drawn { name: info.name, spec, network });
        }
    }
}

#[test]
fn names_and_keys_are_told_apart() {
    let names: BTreeSet<&str> = KINDS.iter().map(|(info, _)| info.name).collect();
    assert_eq!(names.len(), KINDS.len());
    for (info, _) in KINDS {
        let keys: BTreeSet<&str> = info.all_keys().map(|key| key.name).collect();
        assert_eq!(keys.len(), info.all_keys().count(), "{}", info.name);
        for (place, key) in info.keys.iter().enumerate() {
            if let Usual::As(other) = key.usual {
                let before = info.keys[..place].iter().find(|k| k.name == other);
                assert_eq!(
                    before.map(|k| k.kind),
                    Some(key.kind),
                    "{}.{} is like {other}",
                    info.name,
                    key.name
                );
            }
        }
        assert!(!info.size.is_empty(), "{} does not say what its size depends on", info.name);
        // An error about a network that is too large points at the largest of them.
        let counts = info.keys.iter().filter(|key| matches!(key.kind, Kind::Count | Kind::EvenCount));
        let left_out: Vec<_> = counts.map(|key| key.name).filter(|key| !info.size.contains(key)).collect();
        assert!(left_out.is_empty(), "{} grows with {left_out:?} as well", info.name);
    }
}

#[test]
fn sizes_and_tiers_are_those_of_what_is_wired() {
    each(|drawn| {
        let (spec, network, name) = (&drawn.spec, &drawn.network, drawn.name);
        let size = spec.size();
        let built = (network.hosts().into(), network.switches().into(), network.links().len() as u64);
        assert_eq!((size.hosts, size.switches, size.links), built, "{name}");
        assert_eq!(spec.interfaces(), network.interfaces().into(), "{name}");
        let mut promised = BTreeMap::<(u64, u64, bool), u64>::new();
        for tier in spec.tiers() {
            *promised.entry((tier.link.rate.bps(), tier.link.delay.0, tier.from_switch)).or_default() +=
                tier.count;
        }
        let mut wired = BTreeMap::<(u64, u64, bool), u64>::new();
        for link in network.links() {
            let from_switch = link.from >= network.interfaces();
            *wired.entry((link.spec.rate.bps(), link.spec.delay.0, from_switch)).or_default() += 1;
        }
        promised.retain(|_, count| *count > 0);
        assert_eq!(promised, wired, "{name}: {spec:?}");
        let rates: Vec<u64> = network.links().iter().map(|link| link.spec.rate.bps()).collect();
        assert_eq!(Some(spec.slowest().bps()), rates.iter().copied().min(), "{name}");
        assert_eq!(Some(spec.fastest().bps()), rates.iter().copied().max(), "{name}");
    });
}

#[test]
fn changed_links_are_all_links() {
    each(|drawn| {
        let mut spec = drawn.spec.clone();
        let odd = LinkSpec { rate: Rate::gbps(7), delay: Time::us(77) };
        spec.links_mut().into_iter().for_each(|link| *link = odd);
        let network = Network::build(&spec, &fabric()).unwrap_or_else(|e| panic!("{e}"));
        assert!(network.links().iter().all(|link| link.spec == odd), "{}", drawn.name);
    });
}

#[test]
fn capacities_are_those_of_the_links() {
    each(|drawn| {
        let (spec, network, name) = (&drawn.spec, &drawn.network, drawn.name);
        let own = |host: u32| {
            let own = network.owners().interfaces_of(host).filter(|one| spec.bears_load(*one));
            own.map(|one| network.links()[one as usize].spec.rate.bps() as f64).sum::<f64>()
        };
        let some: Vec<u32> = (0..network.hosts()).step_by(2).collect();
        let sum: f64 = some.iter().map(|host| own(*host)).sum();
        assert_eq!(spec.host_bps(&some), sum, "{name}");
        if let Some(link) = spec.host_link() {
            assert!((0..network.hosts()).all(|host| own(host) == link.rate.bps() as f64), "{name}");
        }
        let first = |host: u32| network.links()[host as usize].to;
        let Some(bounds) = spec.racks() else { return };
        assert_eq!((bounds.first(), bounds.last()), (Some(&0), Some(&network.hosts())), "{name}");
        let racks = |host: u32| bounds.partition_point(|bound| *bound <= host);
        for host in 1..network.hosts() {
            assert_eq!(racks(host) == racks(host - 1), first(host) == first(host - 1), "{name}: h{host}");
        }
        if let Some(core) = spec.core_bps() {
            let homes: BTreeSet<u32> = (0..network.interfaces()).map(first).collect();
            let up =
                network.links().iter().filter(|l| homes.contains(&l.from) && l.to >= network.interfaces());
            assert_eq!(core, up.map(|link| link.spec.rate.bps() as f64).sum::<f64>(), "{name}");
        }
    });
}

/// Hops from every node to a host, over all links.
fn distances(network: &Network, dst: u32) -> BTreeMap<u32, usize> {
    let mut found = BTreeMap::from([(dst, 0)]);
    let mut ahead = VecDeque::from([dst]);
    while let Some(node) = ahead.pop_front() {
        for link in network.links().iter().filter(|link| link.to == node) {
            // Nothing goes through a host.
            if !found.contains_key(&link.from) && (node == dst || node >= network.interfaces()) {
                found.insert(link.from, found[&node] + 1);
                ahead.push_back(link.from);
            }
        }
    }
    found
}

#[test]
fn paths_are_shortest_and_reach_whatever_is_in_the_same_piece() {
    each(|drawn| {
        let (spec, network, name) = (&drawn.spec, &drawn.network, drawn.name);
        let pieces = spec.pieces();
        let mut choices = false;
        for dst in 0..network.interfaces() {
            let hops = distances(network, dst);
            for src in (0..network.interfaces()).filter(|src| *src != dst) {
                let path = network.links_between(src, dst);
                assert_eq!(path.as_ref().map(Vec::len), hops.get(&src).copied(), "{name}: {src} to {dst}");
                let Some(path) = path else { continue };
                let hosts = [src, dst].map(|one| network.owners().host_of(one) as usize);
                let together = pieces
                    .as_ref()
                    .is_none_or(|p| p[hosts[0]].iter().any(|piece| p[hosts[1]].contains(piece)));
                assert!(together, "{name}: h{src} and h{dst} are said to be apart");
                choices |= network.links_any(src, dst).len() > path.len();
            }
        }
        assert!(!choices || spec.has_many_paths(), "{name} has paths to choose from: {spec:?}");
    });
}

#[test]
fn names_of_nodes_and_of_bottlenecks_are_those_of_links() {
    each(|drawn| {
        let (network, name) = (&drawn.network, drawn.name);
        let all = network.interfaces()..network.interfaces() + network.switches();
        let names: BTreeSet<String> = all.clone().map(|node| network.node_name(node)).collect();
        assert_eq!(names.len(), all.count(), "{name}: {names:?}");
        let links = network.link_names();
        for bottleneck in drawn.spec.bottlenecks() {
            assert!(links.contains(&bottleneck), "{name}: {bottleneck}");
        }
        let (left, right): (Vec<u32>, Vec<u32>) =
            (0..network.hosts()).partition(|h| *h < network.hosts() / 2);
        if let Some(rate) = drawn.spec.between(&left, &right) {
            let crossed = |(src, dst): (&u32, &u32)| {
                let path = network.links_between(*src, *dst).unwrap_or_default();
                path.iter().any(|link| network.links()[*link as usize].spec.rate == rate)
            };
            assert!(left.iter().zip(&right).all(crossed), "{name}");
        }
    });
}

#[test]
fn pictures_show_every_host_and_lines_between_what_they_show() {
    each(|drawn| {
        let mut sketch = Sketch::new(drawn.network.hosts());
        drawn.spec.draw(&mut sketch);
        let hosts: u32 = sketch.nodes.iter().filter(|node| node.is_host).map(|node| node.count).sum();
        let switches: u32 = sketch.nodes.iter().filter(|node| !node.is_host).map(|node| node.count).sum();
        assert_eq!((hosts, switches), (drawn.network.hosts(), drawn.network.switches()), "{}", drawn.name);
        let names: BTreeSet<&str> = sketch.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names.len(), sketch.nodes.len(), "{}: a name twice", drawn.name);
        for line in &sketch.lines {
            assert!(names.contains(line.a.as_str()) && names.contains(line.b.as_str()), "{line:?}");
        }
        for node in &sketch.nodes {
            assert!((0.0..=1.0).contains(&node.x) && (0.0..=1.0).contains(&node.y), "{node:?}");
        }
    });
}

#[test]
fn a_link_whose_way_back_takes_longer_does_so_in_every_sum() {
    let link = |us: u64| LinkSpec { rate: Rate::gbps(10), delay: Time::us(us) };
    let links = vec![(0, 2, link(1)), (1, 2, link(4))];
    let graph = Graph { hosts: 2, switches: 1, links, back: vec![(1, link(7))] };
    let network = Network::build(&graph.into(), &fabric()).expect("a network");
    let (full, control) = (u64::from(network.sizes().full_wire()), u64::from(network.sizes().control));
    let wire = |bytes: u64| Rate::gbps(10).time_of(bytes) * 2;
    // From host 0 over 1 and then 7 us, back over 4 and 1 us.
    assert_eq!(network.ideal_fct(0, 1, 1460), wire(full) + Time::us(8));
    assert_eq!(network.ideal_fct(1, 0, 1460), wire(full) + Time::us(5));
    for (src, dst) in [(0, 1), (1, 0)] {
        assert_eq!(network.path(src, dst).base_rtt, wire(full) + wire(control) + Time::us(13));
    }
}
