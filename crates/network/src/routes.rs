//! Next hops: arithmetic on structured topologies, a table on the rest.

use crate::detours::{Detours, Next};
use crate::network::{Link, Network};
use crate::rng::{Purpose, derive};
use crate::spec::Routing;
use headway_packet::Packet;
use headway_units::mix;
use rand_core::Rng;
use rand_pcg::Pcg32;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Shape of the network, as far as routing needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RouterKind {
    Table,
    LeafSpine { racks: u32, hosts_per_rack: u32, spines: u32 },
    FatTree { k: u32, hosts_per_edge: u32 },
}

/// Equal next hops: ports `first .. first + count`, or `count` entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hop {
    One(u32),
    /// Consecutive ports; `level` counts the choices made before this one on the way up.
    Many {
        first: u32,
        count: u32,
        level: u32,
    },
    Listed {
        first: u32,
        count: u32,
    },
    Nowhere,
}

/// Finds the port that leads towards a host.
pub(crate) struct Router {
    kind: RouterKind,
    hosts: u32,
    table: Table,
    /// By host: its edge switch and pod, or its rack: a look-up is cheaper than two divisions.
    home: Vec<(u32, u32)>,
    tiers: Tiers,
}

/// First switches and first ports of a fat-tree's tiers.
#[derive(Clone, Copy, Default)]
struct Tiers {
    k: u32,
    half: u32,
    /// Edge switches; as many aggregation switches follow.
    edges: u32,
    edge_up: u32,
    agg_down: u32,
    agg_up: u32,
    core_down: u32,
}

impl Tiers {
    fn new(k: u32, hosts: u32) -> Tiers {
        let (half, edges) = (k / 2, k * (k / 2));
        let edge_up = 2 * hosts;
        let agg_down = edge_up + edges * half;
        let agg_up = agg_down + edges * half;
        Tiers { k, half, edges, edge_up, agg_down, agg_up, core_down: agg_up + edges * half }
    }
}

impl Router {
    pub(crate) fn new(kind: RouterKind, hosts: u32, switches: u32, links: &[Link]) -> Router {
        let table = match kind {
            RouterKind::Table => Table::new(hosts, switches, links),
            _ => Table::default(),
        };
        let place = |host: u32| match kind {
            RouterKind::Table => (0, 0),
            RouterKind::LeafSpine { hosts_per_rack, .. } => (host / hosts_per_rack, 0),
            RouterKind::FatTree { k, hosts_per_edge } => {
                let edge = host / hosts_per_edge;
                (edge, edge / (k / 2))
            }
        };
        let tiers = match kind {
            RouterKind::FatTree { k, .. } => Tiers::new(k, hosts),
            _ => Tiers::default(),
        };
        Router { kind, hosts, table, home: (0..hosts).map(place).collect(), tiers }
    }

    /// All of the equal next hops, and by what a path number is divided where they are chosen from.
    pub(crate) fn all(&self, switch: u32, dst: u32) -> (Vec<u32>, u32) {
        match self.hop(switch, dst) {
            Hop::One(port) => (vec![port], 0),
            Hop::Many { first, count, level } => ((first..first + count).collect(), level),
            Hop::Listed { first, count } => {
                (self.table.list[first as usize..(first + count) as usize].to_vec(), 0)
            }
            Hop::Nowhere => (Vec::new(), 0),
        }
    }

    /// The first of the equal next hops; `None` when the host cannot be reached.
    pub(crate) fn any(&self, switch: u32, dst: u32) -> Option<u32> {
        match self.hop(switch, dst) {
            Hop::One(port) => Some(port),
            Hop::Many { first, .. } => Some(first),
            Hop::Listed { first, .. } => Some(self.table.list[first as usize]),
            Hop::Nowhere => None,
        }
    }

    /// Whether a table of next hops leaves a switch a choice.
    pub(crate) fn has_choice_in_table(&self) -> bool {
        self.table.choices
    }

    /// How many path numbers lead differently from here on ([`Routing::Pinned`]): where a switch leaves a
    /// choice, the number counts its choices, and on structured topologies those after it.
    pub(crate) fn path_numbers(&self, switch: u32, dst: u32, links: &[Link]) -> u64 {
        let mut numbers = 1u64;
        let mut ahead = vec![switch];
        let mut seen = FxHashSet::default();
        while let Some(switch) = ahead.pop() {
            let ports: &[u32] = match self.hop(switch, dst) {
                Hop::One(port) => &[port],
                // All of them go on alike: one shows the choices that follow.
                Hop::Many { first, count, .. } => {
                    numbers = numbers.saturating_mul(u64::from(count));
                    &[first]
                }
                Hop::Listed { first, count } => {
                    numbers = least_common_multiple(numbers, u64::from(count));
                    &self.table.list[first as usize..(first + count) as usize]
                }
                Hop::Nowhere => &[],
            };
            let next = ports.iter().map(|port| links[*port as usize].to).filter(|node| *node >= self.hosts);
            ahead.extend(next.map(|node| node - self.hosts).filter(|s| seen.insert(*s)));
        }
        numbers
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Hop {
        match self.kind {
            RouterKind::Table => self.table.hop(switch, dst),
            RouterKind::LeafSpine { racks, spines, .. } => {
                let rack = self.home[dst as usize].0;
                let up = 2 * self.hosts;
                if switch >= racks {
                    Hop::One(up + racks * spines + (switch - racks) * racks + rack)
                } else if switch == rack {
                    Hop::One(self.hosts + dst)
                } else {
                    Hop::Many { first: up + switch * spines, count: spines, level: 0 }
                }
            }
            RouterKind::FatTree { .. } => self.fat_tree(switch, dst),
        }
    }

    #[inline(always)]
    fn fat_tree(&self, switch: u32, dst: u32) -> Hop {
        let t = &self.tiers;
        let (edge, pod) = self.home[dst as usize];
        if switch < t.edges {
            if switch == edge {
                Hop::One(self.hosts + dst)
            } else {
                Hop::Many { first: t.edge_up + switch * t.half, count: t.half, level: 0 }
            }
        } else if switch < 2 * t.edges {
            let agg = switch - t.edges;
            let first = agg * t.half;
            if agg.wrapping_sub(pod * t.half) < t.half {
                Hop::One(t.agg_down + first + edge - pod * t.half)
            } else {
                Hop::Many { first: t.agg_up + first, count: t.half, level: t.half }
            }
        } else {
            Hop::One(t.core_down + (switch - 2 * t.edges) * t.k + pod)
        }
    }
}

/// The choices of a run: routing mode, salts and spray streams.
pub struct Choice {
    routing: Routing,
    salts: Vec<u64>,
    spray: Vec<Pcg32>,
    symmetric: Symmetric,
}

impl Choice {
    /// The choices of `network` under a seed.
    pub fn new(network: &Network, seed: u64) -> Choice {
        let (routing, switches) = (network.fabric().routing, network.switches());
        let range = 0..u64::from(switches);
        let salts = range.clone().map(|s| derive(seed, Purpose::Salt, s)).collect();
        let spray = range.map(|s| crate::rng::stream(seed, Purpose::Spray, s)).collect();
        let symmetric = match routing {
            Routing::Symmetric => Symmetric::new(network, seed),
            _ => Symmetric::default(),
        };
        Choice { routing, salts, spray, symmetric }
    }

    /// The port by which `switch` forwards `packet`; `None` when its destination is out of reach.
    #[inline(always)]
    pub fn route(&mut self, network: &Network, switch: u32, packet: &Packet) -> Option<u32> {
        let router = &network.router;
        match router.hop(switch, packet.dst.0) {
            Hop::One(port) => Some(port),
            Hop::Many { first, count, level } => Some(first + self.pick(switch, packet, count, level)),
            Hop::Listed { .. } if self.routing == Routing::Symmetric => {
                self.symmetric.listed(network, switch, packet)
            }
            Hop::Listed { first, count } => {
                Some(router.table.list[(first + self.pick(switch, packet, count, 0)) as usize])
            }
            Hop::Nowhere => None,
        }
    }

    /// [`Choice::route`] where routes avoid links that are down.
    pub(crate) fn route_around(
        &mut self,
        network: &Network,
        switch: u32,
        packet: &Packet,
        detours: &mut Detours,
    ) -> Option<u32> {
        if self.routing == Routing::Symmetric {
            return self.symmetric.around(network, switch, packet, detours);
        }
        match detours.next(network, switch, packet.dst.0) {
            Next::Usual => self.route(network, switch, packet),
            Next::Few { ports, level } => {
                let place = self.pick(switch, packet, ports.len() as u32, *level);
                ports.get(place as usize).copied()
            }
            Next::Nowhere => None,
        }
    }

    /// The port of the other direction of each port's link, where routes are the same in both.
    pub(crate) fn reverse(&self) -> &[u32] {
        &self.symmetric.reverse
    }

    #[inline(always)]
    fn pick(&mut self, switch: u32, packet: &Packet, count: u32, level: u32) -> u32 {
        let number = match self.routing {
            Routing::Ecmp => {
                let addresses = u64::from(packet.src.0) << 32 | u64::from(packet.dst.0);
                mix(mix(addresses ^ self.salts[switch as usize]) ^ u64::from(packet.entropy)) as u32
            }
            Routing::Spray => self.spray[switch as usize].next_u32(),
            Routing::Pinned => return packet.entropy / level.max(1) % count,
            Routing::Symmetric => self.symmetric.hash(packet, level.into()),
        };
        // The high bits of the product: as good as a remainder, without a division.
        ((u64::from(number) * u64::from(count)) >> 32) as u32
    }
}

/// Routes that are the same in both directions. ExpressPass §3.1
///
/// On structured topologies every switch of a tier chooses by the same hash among next hops that are numbered
/// alike, so that both directions meet at the same spine or core. On any other graph the host with the lower
/// number decides: the other direction walks its path, and takes it backwards.
#[derive(Default)]
struct Symmetric {
    salt: u64,
    /// By port of a switch: the port of the same link's other direction.
    reverse: Vec<u32>,
}

impl Symmetric {
    fn new(network: &Network, seed: u64) -> Symmetric {
        // Parallel links are paired in the order of their making.
        let mut made = FxHashMap::<(u32, u32), Vec<u32>>::default();
        for (number, link) in network.links().iter().enumerate() {
            made.entry((link.from, link.to)).or_default().push(number as u32);
        }
        let other = |(number, link): (usize, &Link)| {
            let place = made[&(link.from, link.to)].iter().position(|n| *n == number as u32);
            made.get(&(link.to, link.from)).zip(place).map_or(number as u32, |(back, place)| back[place])
        };
        let reverse = network.links().iter().enumerate().map(other).collect();
        Symmetric { salt: derive(seed, Purpose::Salt, u64::MAX), reverse }
    }

    #[inline]
    fn hash(&self, packet: &Packet, place: u64) -> u32 {
        let (a, b) = (packet.src.0.min(packet.dst.0), packet.src.0.max(packet.dst.0));
        let addresses = u64::from(a) << 32 | u64::from(b);
        mix(mix(addresses ^ self.salt.wrapping_add(place)) ^ u64::from(packet.entropy)) as u32
    }

    /// The next hop from a switch of a graph that has several.
    fn listed(&self, network: &Network, switch: u32, packet: &Packet) -> Option<u32> {
        if packet.src < packet.dst {
            return self.outward(network, switch, packet, packet.dst.0);
        }
        // The way of the other direction, up to here.
        let mut port = packet.dst.0;
        loop {
            let next = network.links()[port as usize].to.checked_sub(network.hosts())?;
            if next == switch {
                return Some(self.reverse[port as usize]);
            }
            port = self.outward(network, next, packet, packet.src.0)?;
        }
    }

    /// The next hop where links are down. The lower host decides on every shape of network: detours are not
    /// numbered alike in both directions.
    fn around(&self, network: &Network, switch: u32, packet: &Packet, detours: &mut Detours) -> Option<u32> {
        if packet.src < packet.dst {
            return self.outward_around(network, switch, packet, packet.dst.0, detours);
        }
        let mut port = packet.dst.0;
        while let Some(next) = network.links()[port as usize].to.checked_sub(network.hosts()) {
            if next == switch {
                return Some(self.reverse[port as usize]);
            }
            port = self.outward_around(network, next, packet, packet.src.0, detours)?;
        }
        // It was under way on another path when routes changed: any way on will do.
        self.outward_around(network, switch, packet, packet.dst.0, detours)
    }

    fn outward_around(
        &self,
        network: &Network,
        switch: u32,
        packet: &Packet,
        dst: u32,
        detours: &mut Detours,
    ) -> Option<u32> {
        match detours.next(network, switch, dst) {
            Next::Usual => match network.router.hop(switch, dst) {
                Hop::Many { first, count, level } => {
                    let number = u64::from(self.hash(packet, level.into()));
                    Some(first + ((number * u64::from(count)) >> 32) as u32)
                }
                _ => self.outward(network, switch, packet, dst),
            },
            Next::Few { ports, .. } => {
                let number = u64::from(self.hash(packet, switch.into()));
                ports.get(((number * ports.len() as u64) >> 32) as usize).copied()
            }
            Next::Nowhere => None,
        }
    }

    /// The next hop of packets from the lower host to the higher one.
    fn outward(&self, network: &Network, switch: u32, packet: &Packet, dst: u32) -> Option<u32> {
        match network.router.hop(switch, dst) {
            Hop::Listed { first, count } => {
                let number = u64::from(self.hash(packet, switch.into()));
                let place = (number * u64::from(count)) >> 32;
                Some(network.router.table.list[first as usize + place as usize])
            }
            _ => network.router.any(switch, dst),
        }
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

/// Shortest-path next hops from every switch to every switch that has hosts.
#[derive(Default)]
struct Table {
    switches: u32,
    /// By host: the switch it hangs on, and that switch's port to it.
    attached: Vec<(u32, u32)>,
    /// By (switch, destination switch): a range of `list`.
    ranges: Vec<(u32, u32)>,
    list: Vec<u32>,
    /// Whether any range has several ports.
    choices: bool,
}

impl Table {
    fn new(hosts: u32, switches: u32, links: &[Link]) -> Table {
        let mut attached = vec![(u32::MAX, u32::MAX); hosts as usize];
        let mut out = vec![Vec::new(); switches as usize];
        for (port, link) in links.iter().enumerate() {
            if link.from < hosts {
                continue;
            }
            let switch = link.from - hosts;
            if link.to < hosts {
                attached[link.to as usize] = (switch, port as u32);
            } else {
                out[switch as usize].push((port as u32, link.to - hosts));
            }
        }
        let mut ranges = vec![(0, 0); switches as usize * switches as usize];
        let mut list = Vec::new();
        for target in 0..switches {
            let distance = distances(target, &out);
            for from in (0..switches).filter(|&s| s != target && distance[s as usize] != u32::MAX) {
                let first = list.len() as u32;
                let nearer = |to: u32| distance[to as usize].wrapping_add(1) == distance[from as usize];
                list.extend(out[from as usize].iter().filter(|(_, to)| nearer(*to)).map(|(port, _)| *port));
                ranges[from as usize * switches as usize + target as usize] =
                    (first, list.len() as u32 - first);
            }
        }
        let choices = ranges.iter().any(|(_, count)| *count > 1);
        Table { switches, attached, ranges, list, choices }
    }

    #[inline]
    fn hop(&self, switch: u32, dst: u32) -> Hop {
        let (home, port) = self.attached[dst as usize];
        if home == switch {
            return Hop::One(port);
        }
        if home == u32::MAX {
            return Hop::Nowhere;
        }
        match self.ranges[switch as usize * self.switches as usize + home as usize] {
            (_, 0) => Hop::Nowhere,
            (first, 1) => Hop::One(self.list[first as usize]),
            (first, count) => Hop::Listed { first, count },
        }
    }
}

/// Hops from every switch to `target`; links are symmetric. `u32::MAX` where there is no way.
fn distances(target: u32, out: &[Vec<(u32, u32)>]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; out.len()];
    distance[target as usize] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(node) = queue.pop_front() {
        for &(_, next) in &out[node as usize] {
            if distance[next as usize] == u32::MAX {
                distance[next as usize] = distance[node as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}
