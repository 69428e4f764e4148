//! Tori of one to three dimensions.

use super::keys::{HOST_DELAY, HOST_RATE, like, needed};
use super::sketch::{Sketch, stands_for};
use super::{
    Declared, Hop, Info, Key, Kind, NextHops, Size, Tier, Topology, Usual, Values, Wiring, ends, positive,
};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// A grid of switches, each joined to its neighbours in every dimension, and the last to the first. Dally and Seitz, 1986.
///
/// A host that is in the middle of paths is a switch with a host. Two switches in a row have one link between them, not two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torus {
    /// Switches in each dimension.
    pub dims: [u32; 3],
    /// Hosts at each switch.
    pub hosts_per_switch: u32,
    /// Each host's link.
    pub host: LinkSpec,
    /// Each link between switches.
    pub link: LinkSpec,
}

const fn one(name: &'static str, doc: &'static str) -> Key {
    Key { name, kind: Kind::Count, usual: Usual::Count("1", |_| 1), doc }
}

impl Declared for Torus {
    const INFO: Info = Info {
        name: "torus",
        summary: "a grid of x * y * z switches, joined to their neighbours, the last to the first; switch s<x>.<y>.<z> has the hosts from ((z * Y + y) * X + x) * hosts_per_switch on",
        keys: &[
            needed("x", Kind::Count, "switches in the first dimension"),
            one("y", "switches in the second dimension"),
            one("z", "switches in the third dimension"),
            one("hosts_per_switch", "hosts at each switch"),
            HOST_RATE,
            like("host_rate", "link_rate", Kind::Rate, "of each link between switches"),
            HOST_DELAY,
            like("host_delay", "link_delay", Kind::Duration, "of each link between switches"),
        ],
        size: &["x", "y", "z", "hosts_per_switch"],
    };
    type NextHops = Nearer;

    fn of(values: &Values) -> Torus {
        Torus {
            dims: ["x", "y", "z"].map(|key| values.count(key)),
            hosts_per_switch: values.count("hosts_per_switch"),
            host: values.link("host_rate", "host_delay"),
            link: values.link("link_rate", "link_delay"),
        }
    }
}

impl Torus {
    fn switches(&self) -> u64 {
        self.dims.iter().fold(1u64, |product, n| product.saturating_mul((*n).into()))
    }

    /// The ways out of a switch: a dimension, and by how many places on. They are in the order of a switch's ports.
    fn ways(&self) -> Vec<(usize, u32)> {
        let ways = |(dimension, n): (usize, &u32)| match n {
            0 | 1 => vec![],
            2 => vec![(dimension, 1)],
            n => vec![(dimension, 1), (dimension, n - 1)],
        };
        self.dims.iter().enumerate().flat_map(ways).collect()
    }

    fn place(&self, switch: u32) -> [u32; 3] {
        let [x, y, _] = self.dims;
        [switch % x, switch / x % y, switch / x / y]
    }

    fn switch(&self, [x, y, z]: [u32; 3]) -> u32 {
        (z * self.dims[1] + y) * self.dims[0] + x
    }

    /// The switch that a way leads to.
    fn beyond(&self, switch: u32, (dimension, by): (usize, u32)) -> u32 {
        let mut place = self.place(switch);
        place[dimension] = (place[dimension] + by) % self.dims[dimension];
        self.switch(place)
    }

    fn name(&self, place: [u32; 3]) -> String {
        format!("s{}.{}.{}", place[0], place[1], place[2])
    }
}

impl Topology for Torus {
    fn size(&self) -> Size {
        let switches = self.switches();
        let hosts = switches.saturating_mul(self.hosts_per_switch.into());
        let between = switches.saturating_mul(self.ways().len() as u64);
        Size { hosts, switches, links: hosts.saturating_mul(2).saturating_add(between) }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        for (name, n) in ["x", "y", "z"].into_iter().zip(self.dims) {
            positive(name, n)?;
        }
        positive("hosts_per_switch", self.hosts_per_switch)?;
        let Size { hosts, switches, .. } = self.size();
        let (hosts, switches) = (hosts as u32, switches as u32);
        wiring.nodes(hosts, switches);
        let home = |host: u32| hosts + host / self.hosts_per_switch;
        (0..hosts).for_each(|h| wiring.one_way(h, home(h), self.host));
        (0..hosts).for_each(|h| wiring.one_way(home(h), h, self.host));
        let ways = self.ways();
        for s in 0..switches {
            for way in &ways {
                wiring.one_way(hosts + s, hosts + self.beyond(s, *way), self.link);
            }
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        let Size { hosts, links, .. } = self.size();
        let mut tiers = ends(hosts, self.host);
        let hops = self.dims.iter().map(|n| u64::from(n / 2)).sum();
        tiers.push(Tier { count: links - 2 * hosts, link: self.link, from_switch: true, hops });
        tiers
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.host, &mut self.link]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.host)
    }

    fn switch_name(&self, switch: u32) -> String {
        self.name(self.place(switch))
    }

    /// A flow crosses any number of links, so that the core lacks a single capacity.
    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.switches() as u32).map(|switch| switch * self.hosts_per_switch).collect())
    }

    fn has_many_paths(&self) -> bool {
        // An even ring has two ways to the far side, and a grid as many as there are orders of its dimensions.
        let long = self.dims.iter().filter(|n| **n > 1).count();
        long > 1 || self.dims.iter().any(|n| *n > 2 && n.is_multiple_of(2))
    }

    /// The first layers of the grid; links from the last switch to the first are left out.
    fn draw(&self, sketch: &mut Sketch) {
        let [xs, ys, zs] = [0, 1, 2].map(|d| self.dims[d].min(DRAWN[d]));
        let places = (0..zs).flat_map(|z| (0..ys).flat_map(move |y| (0..xs).map(move |x| [x, y, z])));
        for place in places {
            let [x, y, z] = place;
            // Layers are set off to the right and downwards.
            let (width, height) = (1.0 / f64::from(xs), 1.0 / f64::from(ys));
            let shift = (f64::from(z) + 0.5) / f64::from(zs);
            let at =
                (width * (f64::from(x) + 0.25 + 0.5 * shift), height * (f64::from(y) + 0.15 + 0.45 * shift));
            let count = stands_for(x, xs, self.dims[0])
                * stands_for(y, ys, self.dims[1])
                * stands_for(z, zs, self.dims[2]);
            let name = self.name(place);
            sketch.switch(&name, 1, at.0, at.1, count);
            for dimension in 0..3 {
                let mut before = place;
                if let Some(less) = place[dimension].checked_sub(1) {
                    before[dimension] = less;
                    sketch.link(&self.name(before), &name, &self.link);
                }
            }
            let first = self.switch(place) * self.hosts_per_switch;
            let near = |t: f64| {
                (at.0 + (t - 0.5) * 0.3 * width / f64::from(zs), at.1 + 0.3 * height / f64::from(zs))
            };
            sketch.hosts((&name, count), (first, self.hosts_per_switch), &self.host, near);
        }
    }
}

/// Switches that are drawn at most in each dimension.
const DRAWN: [u32; 3] = [4, 4, 2];

/// Next hops by every way that leads nearer, in any order of dimensions.
pub(crate) struct Nearer {
    dims: [u32; 3],
    hosts: u32,
    /// Ways out of a switch.
    ways: u32,
    /// Entries of a switch in the list of ports: for every set of ways, its ports one after the other.
    of_switch: u32,
    /// Position of the ports of each set of ways in the list of a switch.
    sets: Vec<u32>,
    /// Bits of each dimension's ways on and back, which are the same where there is only one.
    bits: [(u32, u32); 3],
    place: Vec<[u32; 3]>,
    home: Vec<u32>,
}

impl NextHops<Torus> for Nearer {
    const COMPUTED: bool = true;

    fn new(shape: &Torus) -> Nearer {
        let ways = shape.ways();
        let mut bits = [(0, 0); 3];
        for (number, (dimension, by)) in ways.iter().enumerate() {
            let (on, back) = &mut bits[*dimension];
            *back = 1 << number;
            if *by == 1 {
                *on = 1 << number;
            }
        }
        let mut of_switch = 0;
        let sets = (0..1u32 << ways.len()).map(|set| {
            of_switch += set.count_ones();
            of_switch - set.count_ones()
        });
        let sets = sets.collect();
        let switches = shape.switches() as u32;
        let hosts = switches * shape.hosts_per_switch;
        Nearer {
            dims: shape.dims,
            hosts,
            ways: ways.len() as u32,
            of_switch,
            sets,
            bits,
            place: (0..switches).map(|switch| shape.place(switch)).collect(),
            home: (0..hosts).map(|host| host / shape.hosts_per_switch).collect(),
        }
    }

    fn list(&self) -> Vec<u32> {
        let first = |switch: usize| 2 * self.hosts + switch as u32 * self.ways;
        let of_set = |set: u32| (0..self.ways).filter(move |way| set & (1 << way) != 0);
        let of_switch =
            |switch| (0..1 << self.ways).flat_map(move |set| of_set(set).map(move |way| first(switch) + way));
        (0..self.place.len()).flat_map(of_switch).collect()
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let home = self.home[dst as usize];
        if home == switch {
            return Some(Hop::One(self.hosts + dst));
        }
        let (here, there) = (self.place[switch as usize], self.place[home as usize]);
        let mut set = 0;
        for dimension in 0..3 {
            let n = self.dims[dimension];
            let mut by = there[dimension] + n - here[dimension];
            if by >= n {
                by -= n;
            }
            let (on, back) = self.bits[dimension];
            if by != 0 && 2 * by <= n {
                set |= on;
            }
            if 2 * by >= n {
                set |= back;
            }
        }
        let first = switch * self.of_switch + self.sets[set as usize];
        Some(match set.count_ones() {
            1 => Hop::One(2 * self.hosts + switch * self.ways + set.trailing_zeros()),
            count => Hop::Listed { first, count },
        })
    }
}
