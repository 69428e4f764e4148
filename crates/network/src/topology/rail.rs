//! Rail-optimised leaf-spine for clusters of accelerators, in one or several planes.

use super::keys::{like, needed};
use super::sketch::{Sketch, spread, stands_for};
use super::{
    Declared, Hop, Info, Key, Kind, NextHops, Size, Tier, Topology, Usual, Values, Wiring, ends, positive,
};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// Nodes of several accelerators, each of them a host. Wang et al., "Rail-only", HotI 2024, §2.
///
/// A node has a switch of its own (an NVLink domain) that every host of the node is joined to, and from it for each host one
/// link to every plane: the host's interface. Interface `r` of every node of a group leads to leaf `r` of the group, which is
/// the rail `r`. The leaves of a plane are joined to all spines of the plane.
///
/// A host has one link in this model, so that the switch of its node stands between it and its interface. Packets for
/// host `r` of another node leave their node by the interface `r`, over the switch of the node, and stay on rail `r`: NCCL
/// calls that PXN.
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
    /// Each link between a node and a leaf.
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
        summary: "nodes of gpus hosts; interface r of a group's nodes is at leaf<plane>.<group>.<r>, spines above; host n * gpus + r is at node<n>",
        keys: &[
            needed("nodes", Kind::Count, "nodes of a group"),
            needed("gpus", Kind::Count, "hosts of a node, and leaves of a group in a plane"),
            needed("spines", Kind::Count, "spines of a plane"),
            GROUPS,
            PLANES,
            needed("node_rate", Kind::Rate, "of each link inside a node"),
            like("node_rate", "rail_rate", Kind::Rate, "of each link between node and leaf"),
            like("rail_rate", "spine_rate", Kind::Rate, "of each link between leaf and spine"),
            needed("node_delay", Kind::Duration, "of each link inside a node, one way"),
            like("node_delay", "rail_delay", Kind::Duration, "of each link between node and leaf"),
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

    /// Undirected links between nodes and leaves, and between leaves and spines.
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
        let hosts = nodes.saturating_mul(self.gpus.into());
        let spines = u64::from(self.planes).saturating_mul(self.spines.into());
        let switches = nodes.saturating_add(self.leaves()).saturating_add(spines);
        let links = self.joints().iter().fold(hosts, |sum, joints| sum.saturating_add(*joints));
        Size { hosts, switches, links: links.saturating_mul(2) }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        let Rail { groups, nodes, gpus, planes, spines, .. } = *self;
        for (name, number) in
            [("groups", groups), ("nodes", nodes), ("gpus", gpus), ("planes", planes), ("spines", spines)]
        {
            positive(name, number)?;
        }
        let all = groups * nodes;
        let hosts = all * gpus;
        wiring.nodes(hosts, self.first_spine() + planes * spines);
        let leaf = |plane, group, rail| hosts + self.leaf(plane, group, rail);
        let spine = |plane: u32, s: u32| hosts + self.first_spine() + plane * spines + s;
        (0..hosts).for_each(|h| wiring.one_way(h, hosts + h / gpus, self.node));
        (0..hosts).for_each(|h| wiring.one_way(hosts + h / gpus, h, self.node));
        for node in 0..all {
            for rail in 0..gpus {
                (0..planes)
                    .for_each(|p| wiring.one_way(hosts + node, leaf(p, node / nodes, rail), self.rail));
            }
        }
        let leaves = (0..planes * groups * gpus).map(|l| (l / gpus / groups, l / gpus % groups, l % gpus));
        for (plane, group, rail) in leaves.clone() {
            let node = |n: u32| hosts + group * nodes + n;
            (0..nodes).for_each(|n| wiring.one_way(leaf(plane, group, rail), node(n), self.rail));
        }
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
        let mut tiers = ends(self.size().hosts, self.node);
        let [rail, spine] = self.joints();
        tiers.extend([(rail, self.rail), (spine, self.spine)].map(|(joints, link)| Tier {
            count: joints.saturating_mul(2),
            link,
            from_switch: true,
            hops: 2,
        }));
        tiers
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.node, &mut self.rail, &mut self.spine]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.node)
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

    fn core_bps(&self) -> Option<f64> {
        Some(self.joints()[0] as f64 * self.rail.rate.bps() as f64)
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
                for plane in 0..planes {
                    (0..rails)
                        .for_each(|r| sketch.link(&name, &format!("leaf{plane}.{group}.{r}"), &self.rail));
                }
                let width = 0.85 / f64::from(groups * nodes);
                let place = |t: f64| (x + (t - 0.5) * width, 0.92);
                sketch.hosts((&name, count), (number * gpus, gpus), &self.node, place);
            }
        }
    }
}

/// Groups, nodes of a group, rails or spines, and planes that are drawn at most.
const GROUPS_DRAWN: u32 = 2;
const NODES_DRAWN: u32 = 4;
const RAILS_DRAWN: u32 = 4;
const PLANES_DRAWN: u32 = 2;

/// Position of a host.
struct Home {
    node: u32,
    group: u32,
    rail: u32,
}

/// Up on the rail of the destination, in any plane, and over any spine to another group.
pub(crate) struct ByRail {
    hosts: u32,
    nodes: u32,
    nodes_of_group: u32,
    groups: u32,
    gpus: u32,
    planes: u32,
    spines: u32,
    first_spine: u32,
    /// First ports of the tiers.
    node_up: u32,
    leaf_down: u32,
    leaf_up: u32,
    spine_down: u32,
    home: Vec<Home>,
    /// The group of each leaf.
    group: Vec<u32>,
}

impl NextHops<Rail> for ByRail {
    const COMPUTED: bool = true;
    // The way back is on the rail of the host at its end.
    const ALIKE: bool = false;

    fn new(shape: &Rail) -> ByRail {
        let nodes = shape.groups * shape.nodes;
        let hosts = nodes * shape.gpus;
        let leaves = shape.planes * shape.groups * shape.gpus;
        let node_up = 2 * hosts;
        let leaf_down = node_up + hosts * shape.planes;
        let leaf_up = leaf_down + leaves * shape.nodes;
        let home = |host: u32| {
            let node = host / shape.gpus;
            Home { node, group: node / shape.nodes, rail: host % shape.gpus }
        };
        ByRail {
            hosts,
            nodes,
            nodes_of_group: shape.nodes,
            groups: shape.groups,
            gpus: shape.gpus,
            planes: shape.planes,
            spines: shape.spines,
            first_spine: shape.first_spine(),
            node_up,
            leaf_down,
            leaf_up,
            spine_down: leaf_up + leaves * shape.spines,
            home: (0..hosts).map(home).collect(),
            group: (0..leaves).map(|leaf| leaf / shape.gpus % shape.groups).collect(),
        }
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let home = &self.home[dst as usize];
        Some(if switch < self.nodes {
            if switch == home.node {
                Hop::One(self.hosts + dst)
            } else {
                let first = self.node_up + (switch * self.gpus + home.rail) * self.planes;
                Hop::Many { first, count: self.planes, level: 0 }
            }
        } else if switch < self.first_spine {
            let leaf = switch - self.nodes;
            if self.group[leaf as usize] == home.group {
                let node = home.node - home.group * self.nodes_of_group;
                Hop::One(self.leaf_down + leaf * self.nodes_of_group + node)
            } else {
                let first = self.leaf_up + leaf * self.spines;
                Hop::Many { first, count: self.spines, level: self.planes }
            }
        } else {
            let under = home.group * self.gpus + home.rail;
            let first = self.spine_down + (switch - self.first_spine) * self.groups * self.gpus + under;
            // One, but another on the way back where routes are the same both ways.
            Hop::Many { first, count: 1, level: self.planes * self.spines }
        })
    }
}
