//! Groups of switches that are all joined to each other, and links between the groups.

use super::keys::{HOST_DELAY, HOST_RATE, like, needed};
use super::sketch::{Sketch, stands_for};
use super::{
    Declared, FromTable, Info, Key, Kind, Size, Tier, Topology, Usual, Values, Wiring, ends, positive,
};
use crate::error::BuildError;
use crate::link::LinkSpec;
use std::f64::consts::TAU;

/// Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, §3.
///
/// The links between groups leave a group's switches one after the other: with `g` groups and `l` links for each pair of them,
/// link `k` of a group leaves switch `k / h`, where `h` is `(g - 1) * l / switches_per_group`, rounded up, and leads
/// `k % (g - 1) + 1` groups on. A switch has then `h` of them at most. The balanced network of the paper with `a` switches in a
/// group, `a / 2` hosts and `h = a / 2` links at each switch has `groups = a * h + 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragonfly {
    /// Number of groups.
    pub groups: u32,
    /// Switches of a group.
    pub switches_per_group: u32,
    /// Hosts at each switch.
    pub hosts_per_switch: u32,
    /// Links between each two groups.
    pub links_per_pair: u32,
    /// Each host's link.
    pub host: LinkSpec,
    /// Each link inside a group.
    pub local: LinkSpec,
    /// Each link between groups.
    pub global: LinkSpec,
}

const LINKS_PER_PAIR: Key = Key {
    name: "links_per_pair",
    kind: Kind::Count,
    usual: Usual::Count("1", |_| 1),
    doc: "links between each two groups",
};

impl Declared for Dragonfly {
    const INFO: Info = Info {
        name: "dragonfly",
        summary: "groups of switches that are all joined to each other, and links between each two groups",
        keys: &[
            needed("groups", Kind::Count, "groups"),
            needed("switches_per_group", Kind::Count, "switches of a group"),
            needed("hosts_per_switch", Kind::Count, "hosts at each switch"),
            LINKS_PER_PAIR,
            HOST_RATE,
            like("host_rate", "local_rate", Kind::Rate, "of each link inside a group"),
            like("local_rate", "global_rate", Kind::Rate, "of each link between groups"),
            HOST_DELAY,
            like("host_delay", "local_delay", Kind::Duration, "of each link inside a group"),
            like("local_delay", "global_delay", Kind::Duration, "of each link between groups"),
        ],
        size: &["groups", "switches_per_group", "hosts_per_switch", "links_per_pair"],
    };
    type NextHops = FromTable;

    fn of(values: &Values) -> Dragonfly {
        Dragonfly {
            groups: values.count("groups"),
            switches_per_group: values.count("switches_per_group"),
            hosts_per_switch: values.count("hosts_per_switch"),
            links_per_pair: values.count("links_per_pair"),
            host: values.link("host_rate", "host_delay"),
            local: values.link("local_rate", "local_delay"),
            global: values.link("global_rate", "global_delay"),
        }
    }
}

impl Dragonfly {
    /// Undirected links inside groups, and between them.
    fn joints(&self) -> [u64; 2] {
        let (groups, switches) = (u64::from(self.groups), u64::from(self.switches_per_group));
        let pairs = |n: u64| n.saturating_mul(n.saturating_sub(1)) / 2;
        [groups.saturating_mul(pairs(switches)), pairs(groups).saturating_mul(self.links_per_pair.into())]
    }

    /// The links from a group to later ones: the switch that each leaves, and the one that it leads to.
    fn global_of(&self, group: u32) -> impl Iterator<Item = (u32, u32)> {
        let (groups, switches) = (self.groups, self.switches_per_group);
        let others = groups - 1;
        let each = (others * self.links_per_pair).div_ceil(switches).max(1);
        let later =
            (1..groups - group).flat_map(move |on| (0..self.links_per_pair).map(move |copy| (on, copy)));
        later.map(move |(on, copy)| {
            // The same link is link `groups - on` from the other side.
            let (here, there) = (copy * others + on - 1, copy * others + groups - on - 1);
            (group * switches + here / each, (group + on) * switches + there / each)
        })
    }

    fn name(&self, switch: u32) -> String {
        format!("s{}.{}", switch / self.switches_per_group, switch % self.switches_per_group)
    }
}

impl Topology for Dragonfly {
    fn size(&self) -> Size {
        let switches = u64::from(self.groups).saturating_mul(self.switches_per_group.into());
        let hosts = switches.saturating_mul(self.hosts_per_switch.into());
        let links = self.joints().iter().fold(hosts, |sum, joints| sum.saturating_add(*joints));
        Size { hosts, switches, links: links.saturating_mul(2) }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        for (name, number) in [
            ("groups", self.groups),
            ("switches_per_group", self.switches_per_group),
            ("hosts_per_switch", self.hosts_per_switch),
            ("links_per_pair", self.links_per_pair),
        ] {
            positive(name, number)?;
        }
        let Size { hosts, switches, .. } = self.size();
        let (hosts, switches) = (hosts as u32, switches as u32);
        wiring.nodes(hosts, switches);
        (0..hosts).for_each(|h| wiring.join(h, wiring.switch(h / self.hosts_per_switch), self.host));
        for group in 0..self.groups {
            let own = group * self.switches_per_group..(group + 1) * self.switches_per_group;
            for a in own.clone() {
                (a + 1..own.end).for_each(|b| wiring.join(wiring.switch(a), wiring.switch(b), self.local));
            }
        }
        for group in 0..self.groups {
            self.global_of(group)
                .for_each(|(a, b)| wiring.join(wiring.switch(a), wiring.switch(b), self.global));
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        let mut tiers = ends(self.size().hosts, self.host);
        let [local, global] = self.joints();
        // A shortest path crosses three links between switches at the most: of one kind two, of the other one.
        tiers.extend([(local, self.local), (global, self.global)].map(|(joints, link)| Tier {
            count: joints.saturating_mul(2),
            link,
            from_switch: true,
            hops: 2,
        }));
        tiers
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.host, &mut self.local, &mut self.global]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.host)
    }

    fn switch_name(&self, switch: u32) -> String {
        self.name(switch)
    }

    /// A flow crosses any number of links, so that the core lacks a single capacity.
    fn racks(&self) -> Option<Vec<u32>> {
        let switches = self.groups * self.switches_per_group;
        Some((0..=switches).map(|switch| switch * self.hosts_per_switch).collect())
    }

    fn has_many_paths(&self) -> bool {
        self.groups > 1
    }

    /// Groups on a circle, and the switches of each on a small circle.
    fn draw(&self, sketch: &mut Sketch) {
        let (groups, each) = (self.groups.min(GROUPS_DRAWN), self.switches_per_group.min(OF_A_GROUP_DRAWN));
        let round = |i: u32, n: u32, radius: f64, (x, y): (f64, f64)| {
            let angle = TAU * f64::from(i) / f64::from(n);
            (x + radius * libm::sin(angle), y - radius * libm::cos(angle))
        };
        let radius = |n: u32, full: f64| if n == 1 { 0.0 } else { full };
        let shown = |switch: u32| {
            (switch / self.switches_per_group) < groups && switch % self.switches_per_group < each
        };
        for group in 0..groups {
            let centre = round(group, groups, radius(groups, 0.34), (0.5, 0.5));
            for i in 0..each {
                let switch = group * self.switches_per_group + i;
                let (name, (x, y)) = (self.name(switch), round(i, each, radius(each, 0.08), centre));
                let count =
                    stands_for(group, groups, self.groups) * stands_for(i, each, self.switches_per_group);
                sketch.switch(&name, 1, x, y, count);
                for other in 0..i {
                    sketch.link(&self.name(group * self.switches_per_group + other), &name, &self.local);
                }
                let outwards = |t: f64| {
                    let angle = TAU * (f64::from(i) + (t - 0.5) * 0.7) / f64::from(each);
                    (centre.0 + 0.14 * libm::sin(angle), centre.1 - 0.14 * libm::cos(angle))
                };
                let first = switch * self.hosts_per_switch;
                sketch.hosts((&name, count), (first, self.hosts_per_switch), &self.host, outwards);
            }
        }
        for group in 0..groups {
            for (a, b) in self.global_of(group).filter(|(a, b)| shown(*a) && shown(*b)) {
                sketch.link(&self.name(a), &self.name(b), &self.global);
            }
        }
    }
}

/// Groups, and switches of a group, that are drawn at most.
const GROUPS_DRAWN: u32 = 6;
const OF_A_GROUP_DRAWN: u32 = 4;
