//! Rail-optimised leaf-spine for clusters of accelerators, in one or several planes.

use super::keys::{like, needed};
use super::sketch::{Sketch, spread, stands_for};
use super::{
    Declared, Hop, Info, Key, Kind, NextHops, Size, Tier, Topology, Usual, Values, Wiring, ends, positive,
};
use crate::error::BuildError;
use crate::link::LinkSpec;
use headway_units::Rate;

/// Nodes of several accelerators, each of them a host. Wang et al., "Rail-only", HotI 2024, §2.
///
/// A host has an interface to the switch of its node (an NVLink domain), and one to a leaf of every plane: its NIC. Hosts
/// number `r` of the nodes of a group have their NICs at leaf `r` of the group, which is the rail `r`. The leaves of a plane
/// are joined to all spines of the plane.
///
/// Hosts of a node reach each other over its switch, and all others over their NICs: those of one rail of a group over its
/// leaf, the rest over a spine. Forwarding over another host of the node, which NCCL calls PXN, is a matter of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rail {
    /// Groups of nodes that have leaves of their own.
    pub groups: u32,
    /// Nodes of a group.
    pub nodes: u32,
    /// Hosts of a node, and rails of a group.
    pub gpus: u32,
    /// Planes: networks of leaves and spines that only meet at nodes.
    pub planes: u32,
    /// Spines of each plane.
    pub spines: u32,
    /// Each link inside a node, between a host and the node's switch.
    pub node: LinkSpec,
    /// Each link between a host and a leaf.
    pub rail: LinkSpec,
    /// Each link between a leaf and a spine.
    pub spine: LinkSpec,
}

const PLANES: Key = Key { name: "planes", kind: Kind::Count, usual: Usual::Count("1", |_| 1), doc: "planes" };
const GROUPS: Key = Key {
    name: "groups",
    kind: Kind::Count,
    usual: Usual::Count("1", |_| 1),
    doc: "groups of nodes with leaves of their own",
};

impl Declared for Rail {
    const INFO: Info = Info {
        name: "rail",
        summary: "nodes of gpus hosts, each with an interface to node<n> and one to leaf<plane>.<group>.<r> under spines; host n * gpus + r is number r of node n",
        keys: &[
            needed("nodes", Kind::Count, "nodes of a group"),
            needed("gpus", Kind::Count, "hosts of a node, and leaves of a group in a plane"),
            needed("spines", Kind::Count, "spines of a plane"),
            GROUPS,
            PLANES,
            needed("node_rate", Kind::Rate, "of each link inside a node"),
            like("node_rate", "rail_rate", Kind::Rate, "of each link between host and leaf"),
            like("rail_rate", "spine_rate", Kind::Rate, "of each link between leaf and spine"),
            needed("node_delay", Kind::Duration, "of each link inside a node, one way"),
            like("node_delay", "rail_delay", Kind::Duration, "of each link between host and leaf"),
            like("rail_delay", "spine_delay", Kind::Duration, "of each link between leaf and spine"),
        ],
        size: &["nodes", "gpus", "groups", "spines", "planes"],
    };
    type NextHops = ByRail;

    fn of(values: &Values) -> Rail {
        Rail {
            groups: values.count("groups"),
            nodes: values.count("nodes"),
            gpus: values.count("gpus"),
            planes: values.count("planes"),
            spines: values.count("spines"),
            node: values.link("node_rate", "node_delay"),
            rail: values.link("rail_rate", "rail_delay"),
            spine: values.link("spine_rate", "spine_delay"),
        }
    }
}

impl Rail {
    fn leaves(&self) -> u64 {
        u64::from(self.planes).saturating_mul(self.groups.into()).saturating_mul(self.gpus.into())
    }

    fn all_hosts(&self) -> u64 {
        u64::from(self.groups).saturating_mul(self.nodes.into()).saturating_mul(self.gpus.into())
    }

    /// Undirected links between hosts and leaves, and between leaves and spines.
    fn joints(&self) -> [u64; 2] {
        let leaves = self.leaves();
        [leaves.saturating_mul(self.nodes.into()), leaves.saturating_mul(self.spines.into())]
    }

    fn leaf(&self, plane: u32, group: u32, rail: u32) -> u32 {
        self.groups * self.nodes + (plane * self.groups + group) * self.gpus + rail
    }

    fn first_spine(&self) -> u32 {
        self.leaf(self.planes, 0, 0)
    }
}

impl Topology for Rail {
    fn size(&self) -> Size {
        let nodes = u64::from(self.groups).saturating_mul(self.nodes.into());
        let hosts = self.all_hosts();
        let spines = u64::from(self.planes).saturating_mul(self.spines.into());
        let switches = nodes.saturating_add(self.leaves()).saturating_add(spines);
        let links = self.joints().iter().fold(hosts, |sum, joints| sum.saturating_add(*joints));
        Size { hosts, switches, links: links.saturating_mul(2) }
    }

    fn interfaces(&self) -> u64 {
        self.all_hosts().saturating_mul(u64::from(self.planes).saturating_add(1))
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        let Rail { groups, nodes, gpus, planes, spines, .. } = *self;
        for (name, number) in
            [("groups", groups), ("nodes", nodes), ("gpus", gpus), ("planes", planes), ("spines", spines)]
        {
            positive(name, number)?;
        }
        let hosts = groups * nodes * gpus;
        // Those inside the nodes, then those of each plane.
        let owners: Vec<u32> = (0..=planes).flat_map(|_| 0..hosts).collect();
        let first = owners.len() as u32;
        wiring.interfaces(owners, self.first_spine() + planes * spines);
        // The NIC of a host has a port in each plane.
        wiring.bond((0..hosts).chain((0..planes).flat_map(|_| hosts..2 * hosts)).collect());
        let leaf = |plane, group, rail| first + self.leaf(plane, group, rail);
        let spine = |plane: u32, s: u32| first + self.first_spine() + plane * spines + s;
        let own = |plane: u32, h: u32| (hosts * (plane + 1) + h, leaf(plane, h / gpus / nodes, h % gpus));
        let ends = (0..hosts).map(|h| (h, first + h / gpus, self.node));
        let ends: Vec<(u32, u32, LinkSpec)> = ends
            .chain((0..planes).flat_map(|plane| {
                (0..hosts).map(move |h| (plane, h)).map(|(plane, h)| {
                    let (interface, leaf) = own(plane, h);
                    (interface, leaf, self.rail)
                })
            }))
            .collect();
        ends.iter().for_each(|&(interface, switch, link)| wiring.one_way(interface, switch, link));
        ends.iter().for_each(|&(interface, switch, link)| wiring.one_way(switch, interface, link));
        let leaves = (0..planes * groups * gpus).map(|l| (l / gpus / groups, l / gpus % groups, l % gpus));
        for (plane, group, rail) in leaves {
            (0..spines).for_each(|s| wiring.one_way(leaf(plane, group, rail), spine(plane, s), self.spine));
        }
        for s in 0..planes * spines {
            let plane = s / spines;
            for under in 0..groups * gpus {
                wiring.one_way(spine(0, s), leaf(plane, under / gpus, under % gpus), self.spine);
            }
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        let (hosts, [rail, spine]) = (self.all_hosts(), self.joints());
        // The longest path goes from NIC to NIC.
        let inside =
            [false, true].map(|from_switch| Tier { count: hosts, link: self.node, from_switch, hops: 0 });
        let between = Tier { count: spine.saturating_mul(2), link: self.spine, from_switch: true, hops: 2 };
        inside.into_iter().chain(ends(rail, self.rail)).chain([between]).collect()
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.node, &mut self.rail, &mut self.spine]
    }

    fn bears_load(&self, interface: u32) -> bool {
        u64::from(interface) >= self.all_hosts()
    }

    fn host_link(&self) -> Option<LinkSpec> {
        let rate = Rate::new(self.rail.rate.bps().saturating_mul(self.planes.into()));
        Some(LinkSpec { rate: rate.unwrap_or(self.rail.rate), ..self.rail })
    }

    fn switch_name(&self, switch: u32) -> String {
        let nodes = self.groups * self.nodes;
        match (switch.checked_sub(nodes), switch.checked_sub(self.first_spine())) {
            (None, _) => format!("node{switch}"),
            (_, Some(spine)) => format!("spine{}.{}", spine / self.spines, spine % self.spines),
            (Some(leaf), None) => {
                let (above, rail) = (leaf / self.gpus, leaf % self.gpus);
                format!("leaf{}.{}.{rail}", above / self.groups, above % self.groups)
            }
        }
    }

    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.groups * self.nodes).map(|node| node * self.gpus).collect())
    }

    fn has_many_paths(&self) -> bool {
        self.planes > 1 || self.spines > 1
    }

    fn draw(&self, sketch: &mut Sketch) {
        let Rail { groups, nodes, gpus, planes, spines, .. } = *self;
        let (groups, nodes, rails) =
            (groups.min(GROUPS_DRAWN), nodes.min(NODES_DRAWN), gpus.min(RAILS_DRAWN));
        let (planes, tops) = (planes.min(PLANES_DRAWN), spines.min(RAILS_DRAWN));
        for plane in 0..planes {
            let alike = stands_for(plane, planes, self.planes);
            for s in 0..tops {
                let x = spread(plane * tops + s, planes * tops);
                sketch.switch(&format!("spine{plane}.{s}"), 3, x, 0.08, alike * stands_for(s, tops, spines));
            }
            for group in 0..groups {
                for r in 0..rails {
                    let name = format!("leaf{plane}.{group}.{r}");
                    let x = spread((group * planes + plane) * rails + r, groups * planes * rails);
                    let of_group = stands_for(group, groups, self.groups) * stands_for(r, rails, gpus);
                    sketch.switch(&name, 2, x, 0.36, alike * of_group);
                    (0..tops).for_each(|s| sketch.link(&name, &format!("spine{plane}.{s}"), &self.spine));
                }
            }
        }
        for group in 0..groups {
            for n in 0..nodes {
                let number = group * self.nodes + n;
                let (name, x) = (format!("node{number}"), spread(group * nodes + n, groups * nodes));
                let count = stands_for(group, groups, self.groups) * stands_for(n, nodes, self.nodes);
                sketch.switch(&name, 1, x, 0.66, count);
                let width = 0.85 / f64::from(groups * nodes);
                let place = |t: f64| (x + (t - 0.5) * width, 0.92);
                sketch.hosts((&name, count), (number * gpus, gpus), &self.node, place);
                let shown = if sketch.draws_every_host() { gpus.min(rails) } else { 1 };
                for (plane, r) in (0..planes).flat_map(|plane| (0..shown).map(move |r| (plane, r))) {
                    let host = format!("h{}", number * gpus + r);
                    sketch.link(&host, &format!("leaf{plane}.{group}.{r}"), &self.rail);
                }
            }
        }
    }
}

/// Groups, nodes of a group, rails or spines, and planes that are drawn at most.
const GROUPS_DRAWN: u32 = 2;
const NODES_DRAWN: u32 = 4;
const RAILS_DRAWN: u32 = 4;
const PLANES_DRAWN: u32 = 2;

/// Position of an interface.
enum Home {
    /// At the switch of a node.
    Inside(u32),
    /// At a leaf, of all of them and of those of its group and plane; and its plane.
    Outside { leaf: u32, under: u32, plane: u32 },
}

/// Down inside a node and under a leaf, and over any spine of the plane to another leaf.
pub(crate) struct ByRail {
    interfaces: u32,
    nodes: u32,
    leaves_of_plane: u32,
    spines: u32,
    first_spine: u32,
    /// First ports of the tiers.
    leaf_up: u32,
    spine_down: u32,
    home: Vec<Home>,
}

impl NextHops<Rail> for ByRail {
    const COMPUTED: bool = true;

    fn new(shape: &Rail) -> ByRail {
        let nodes = shape.groups * shape.nodes;
        let hosts = nodes * shape.gpus;
        let leaves_of_plane = shape.groups * shape.gpus;
        let interfaces = hosts * (1 + shape.planes);
        let home = |interface: u32| {
            let (plane, node) = (interface / hosts, interface % hosts / shape.gpus);
            match plane.checked_sub(1) {
                None => Home::Inside(node),
                Some(plane) => {
                    let under = node / shape.nodes * shape.gpus + interface % shape.gpus;
                    Home::Outside { leaf: nodes + plane * leaves_of_plane + under, under, plane }
                }
            }
        };
        let leaf_up = 2 * interfaces;
        ByRail {
            interfaces,
            nodes,
            leaves_of_plane,
            spines: shape.spines,
            first_spine: shape.first_spine(),
            leaf_up,
            spine_down: leaf_up + shape.planes * leaves_of_plane * shape.spines,
            home: (0..interfaces).map(home).collect(),
        }
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let down = Hop::One(self.interfaces + dst);
        Some(match self.home[dst as usize] {
            Home::Inside(node) if switch == node => down,
            Home::Outside { leaf, .. } if switch == leaf => down,
            Home::Inside(_) => Hop::Nowhere,
            Home::Outside { .. } if switch < self.nodes => Hop::Nowhere,
            // Planes do not meet.
            Home::Outside { plane, .. } if switch < self.first_spine => {
                let leaf = switch - self.nodes;
                if leaf / self.leaves_of_plane == plane {
                    Hop::Many { first: self.leaf_up + leaf * self.spines, count: self.spines, level: 1 }
                } else {
                    Hop::Nowhere
                }
            }
            Home::Outside { under, plane, .. } => {
                let spine = switch - self.first_spine;
                if spine / self.spines == plane {
                    Hop::One(self.spine_down + spine * self.leaves_of_plane + under)
                } else {
                    Hop::Nowhere
                }
            }
        })
    }
}
