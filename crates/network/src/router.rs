//! Next hops: computed on regular topologies, from a table on the rest.

use crate::interfaces::Owners;
use crate::link::Link;
use crate::topology::{Computed, Hop, TopologySpec};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Finds the port that leads towards a host.
pub(crate) struct Router {
    hosts: u32,
    computed: Computed,
    table: Table,
}

impl Router {
    pub(crate) fn new(
        topology: &TopologySpec,
        (hosts, switches): (u32, u32),
        links: &[Link],
        owners: &Owners,
    ) -> Router {
        let computed = if owners.is_bonded() { Computed::none() } else { Computed::new(topology) };
        let table = if computed.is_all() {
            Table { list: computed.list(), ..Table::default() }
        } else {
            Table::new((hosts, switches), links, owners)
        };
        Router { hosts, computed, table }
    }

    /// All of the equal next hops, and the divisor of a path number where one of them is chosen.
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

    /// All of the equal next hops, in the place of what `ports` holds.
    pub(crate) fn fill(&self, switch: u32, dst: u32, ports: &mut Vec<u32>) {
        ports.clear();
        match self.hop(switch, dst) {
            Hop::One(port) => ports.push(port),
            Hop::Many { first, count, .. } => ports.extend(first..first + count),
            Hop::Listed { first, count } => {
                ports.extend_from_slice(&self.table.list[first as usize..(first + count) as usize]);
            }
            Hop::Nowhere => {}
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

    /// True if both directions meet when every switch chooses alike.
    pub(crate) fn is_alike(&self) -> bool {
        self.computed.is_alike()
    }

    /// True if a table of next hops leaves a switch a choice.
    pub(crate) fn has_choice_in_table(&self) -> bool {
        self.table.choices
    }

    /// Number of path numbers that lead differently from here on ([`Routing::Pinned`]): where a switch leaves a
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
    pub(crate) fn hop(&self, switch: u32, dst: u32) -> Hop {
        match self.computed.hop(switch, dst) {
            Some(hop) => hop,
            None => self.table.hop(switch, dst),
        }
    }

    /// The ports of a hop that is listed.
    #[inline(always)]
    pub(crate) fn listed(&self, place: u32) -> u32 {
        self.table.list[place as usize]
    }
}

pub(crate) fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    // Divided first: the product of both might not fit.
    (a / x.max(1)).saturating_mul(b)
}

/// Shortest-path next hops from every switch to every switch that has hosts.
#[derive(Default)]
struct Table {
    /// Switches, and addresses that packets reach over several links.
    targets: u32,
    /// By interface: the switch it hangs on, and that switch's port to it; or its number among the targets.
    attached: Vec<(u32, u32)>,
    /// Ranges of `list`, by (switch, destination switch).
    ranges: Vec<(u32, u32)>,
    list: Vec<u32>,
    /// True if any range has several ports.
    choices: bool,
}

impl Table {
    fn new((hosts, switches): (u32, u32), links: &[Link], owners: &Owners) -> Table {
        let mut attached = vec![(u32::MAX, u32::MAX); hosts as usize];
        let targets = Targets::new((hosts, switches), owners);
        let mut out = vec![Vec::new(); targets.all as usize];
        for (port, link) in links.iter().enumerate() {
            if link.from < hosts {
                continue;
            }
            let switch = link.from - hosts;
            match link.to.checked_sub(hosts) {
                Some(far) => out[switch as usize].push((port as u32, far)),
                None => match targets.of(link.to) {
                    None => attached[link.to as usize] = (switch, port as u32),
                    Some(target) => {
                        attached[owners.address_of(link.to) as usize] = (target, u32::MAX);
                        out[switch as usize].push((port as u32, target));
                        out[target as usize].push((u32::MAX, switch));
                    }
                },
            }
        }
        let all = targets.all;
        let mut ranges = vec![(0, 0); switches as usize * all as usize];
        let mut list = Vec::new();
        for target in 0..all {
            let distance = distances(target, switches, &out);
            for from in (0..switches).filter(|&s| s != target && distance[s as usize] != u32::MAX) {
                let first = list.len() as u32;
                // Wrapping: no switch is farther than one that is out of reach.
                let nearer = |to: u32| distance[to as usize].wrapping_add(1) == distance[from as usize];
                list.extend(out[from as usize].iter().filter(|(_, to)| nearer(*to)).map(|(port, _)| *port));
                ranges[from as usize * all as usize + target as usize] = (first, list.len() as u32 - first);
            }
        }
        let choices = ranges.iter().any(|(_, count)| *count > 1);
        Table { targets: all, attached, ranges, list, choices }
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
        match self.ranges[switch as usize * self.targets as usize + home as usize] {
            (_, 0) => Hop::Nowhere,
            (first, 1) => Hop::One(self.list[first as usize]),
            (first, count) => Hop::Listed { first, count },
        }
    }
}

/// Destinations of packets: a switch that an interface is at, or an interface of several ports, which is numbered after
/// all switches.
pub(crate) struct Targets {
    /// By interface, of those of several ports.
    of: Vec<u32>,
    /// Number of targets.
    pub(crate) all: u32,
}

impl Targets {
    pub(crate) fn new((interfaces, switches): (u32, u32), owners: &Owners) -> Targets {
        let mut targets = Targets { of: Vec::new(), all: switches };
        if !owners.is_bonded() {
            return targets;
        }
        targets.of = vec![u32::MAX; interfaces as usize];
        for interface in 0..interfaces {
            let address = owners.address_of(interface);
            if owners.ports_of(address).nth(1).is_none() {
                continue;
            }
            if address == interface {
                targets.of[interface as usize] = targets.all;
                targets.all += 1;
            } else {
                targets.of[interface as usize] = targets.of[address as usize];
            }
        }
        targets
    }

    /// The number of an interface that is a port among others.
    pub(crate) fn of(&self, interface: u32) -> Option<u32> {
        self.of.get(interface as usize).copied().filter(|target| *target != u32::MAX)
    }
}

/// Hops from every switch to `target`; links are symmetric, and nothing goes on from a target beyond the switches. `u32::MAX`
/// where there is no way.
fn distances(target: u32, switches: u32, out: &[Vec<(u32, u32)>]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; out.len()];
    distance[target as usize] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(node) = queue.pop_front() {
        if node >= switches && node != target {
            continue;
        }
        for &(_, next) in &out[node as usize] {
            if distance[next as usize] == u32::MAX {
                distance[next as usize] = distance[node as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}
