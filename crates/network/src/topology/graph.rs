//! A topology given as a graph of any form.

use super::keys::needed;
use super::sketch::{HOSTS_DRAWN, SWITCHES_DRAWN, Sketch, spread, stands_for};
use super::{Declared, FromTable, Info, Kind, Size, Tier, Topology, Value, Values, Wiring, positive};
use crate::error::BuildError;
use crate::link::LinkSpec;
use rustc_hash::FxHashSet;
use std::f64::consts::TAU;

/// Any graph: nodes `0 .. hosts` are hosts (one link each), then switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Undirected links by node number.
    pub links: Vec<(u32, u32, LinkSpec)>,
    /// Those that are different from their second node to their first: position among the links, and what they are that
    /// way. Ascending.
    pub back: Vec<(u32, LinkSpec)>,
}

impl Declared for Graph {
    const INFO: Info = Info {
        name: "graph",
        summary: "any graph, from a TOML file (hosts, switches, link = [{ a, b, rate, delay }, ...]), or from htsim's `.topo` or HPCC's `.txt`",
        keys: &[needed("file", Kind::Graph, "the graph, relative to the scenario")],
        size: &["hosts", "switches"],
    };
    type NextHops = FromTable;

    fn of(values: &Values) -> Graph {
        match values.get("file") {
            Value::Graph { hosts, switches, links, back } => {
                Graph { hosts: *hosts, switches: *switches, links: links.clone(), back: back.clone() }
            }
            other => panic!("`file` is no graph but {other:?}"),
        }
    }
}

impl Topology for Graph {
    fn size(&self) -> Size {
        Size { hosts: self.hosts.into(), switches: self.switches.into(), links: 2 * self.links.len() as u64 }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        positive("hosts", self.hosts)?;
        let nodes = self.hosts + self.switches;
        wiring.nodes(self.hosts, self.switches);
        for (link, &(a, b, spec)) in self.links.iter().enumerate() {
            for node in [a, b] {
                if node >= nodes {
                    return Err(BuildError::NoSuchNode { link, node, nodes });
                }
            }
            wiring.join_uneven(a, b, spec, self.back(link));
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        // A path may cross every link once, one way.
        let one = |(number, &(a, b, link)): (usize, &(u32, u32, LinkSpec))| {
            let tier = |from: u32, link, hops| Tier { count: 1, link, from_switch: from >= self.hosts, hops };
            let back = self.back(number);
            // The longer way counts: which one a path takes is not known.
            let hops = u64::from(link.delay >= back.delay);
            [tier(a, link, hops), tier(b, back, 1 - hops)]
        };
        self.links.iter().enumerate().flat_map(one).collect()
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        let back = self.back.iter_mut().map(|(_, link)| link);
        self.links.iter_mut().map(|(_, _, link)| link).chain(back).collect()
    }

    fn host_link(&self) -> Option<LinkSpec> {
        None
    }

    fn host_bps(&self, hosts: &[u32]) -> f64 {
        let hosts: FxHashSet<u32> = hosts.iter().copied().collect();
        let ends = self.links.iter().flat_map(|(a, b, link)| [(*a, link), (*b, link)]);
        ends.filter(|(node, _)| hosts.contains(node)).map(|(_, link)| link.rate.bps() as f64).sum()
    }

    fn has_many_paths(&self) -> bool {
        true
    }

    fn pieces(&self) -> Option<Vec<u32>> {
        let mut parent: Vec<u32> = (0..self.hosts + self.switches).collect();
        fn find(parent: &mut [u32], mut node: u32) -> u32 {
            while parent[node as usize] != node {
                parent[node as usize] = parent[parent[node as usize] as usize];
                node = parent[node as usize];
            }
            node
        }
        for &(a, b, _) in &self.links {
            let (a, b) = (find(&mut parent, a), find(&mut parent, b));
            parent[a as usize] = b;
        }
        Some((0..self.hosts).map(|h| find(&mut parent, h)).collect())
    }

    /// Switches on a circle, hosts outside of their switch; pairs of hosts without a switch at the bottom.
    fn draw(&self, sketch: &mut Sketch) {
        let shown = self.switches.min(SWITCHES_DRAWN);
        let place = |s: u32, radius: f64, turn: f64| {
            let angle = TAU * (f64::from(s) + turn) / f64::from(shown.max(1));
            (0.5 + radius * libm::sin(angle), 0.5 - radius * libm::cos(angle))
        };
        for s in 0..shown {
            let (x, y) = place(s, if shown == 1 { 0.0 } else { 0.25 }, 0.0);
            sketch.switch(&format!("s{s}"), 1, x, y, stands_for(s, shown, self.switches));
        }
        for s in 0..shown {
            self.draw_hosts(sketch, s, |turn| place(s, 0.46, turn));
        }
        self.draw_pairs(sketch);
        let (hosts, last) = (self.hosts, self.hosts + shown);
        for (a, b, link) in self.links.iter().filter(|l| l.0.min(l.1) >= hosts && l.0.max(l.1) < last) {
            sketch.link(&self.node(*a), &self.node(*b), link);
        }
    }
}

impl Graph {
    /// Specification of a link from its second node to its first.
    fn back(&self, link: usize) -> LinkSpec {
        let known = self.back.binary_search_by_key(&link, |(number, _)| *number as usize);
        known.map_or(self.links[link].2, |place| self.back[place].1)
    }

    fn node(&self, node: u32) -> String {
        node.checked_sub(self.hosts).map_or_else(|| format!("h{node}"), |switch| format!("s{switch}"))
    }

    /// The hosts of a switch, at places that `at` gives to turns between -0.5 and 0.5.
    fn draw_hosts(&self, sketch: &mut Sketch, switch: u32, at: impl Fn(f64) -> (f64, f64)) {
        let node = self.hosts + switch;
        let of = |l: &&(u32, u32, LinkSpec)| l.0.max(l.1) == node && l.0.min(l.1) < self.hosts;
        let mine: Vec<_> = self.links.iter().filter(of).collect();
        let count = mine.len() as u32;
        let drawn = if sketch.draws_every_host() { count } else { count.min(1) };
        for (i, (a, b, link)) in mine.iter().take(drawn as usize).enumerate() {
            let (x, y) = at((spread(i as u32, drawn) - 0.5) * 0.85);
            let host = self.node(*a.min(b));
            sketch.host(&host, x, y, stands_for(i as u32, drawn, count));
            sketch.link(&host, &self.node(node), link);
        }
    }

    fn draw_pairs(&self, sketch: &mut Sketch) {
        let pairs = self.links.iter().filter(|l| l.0.max(l.1) < self.hosts);
        let pairs: Vec<_> = pairs.take(HOSTS_DRAWN as usize).collect();
        for (i, (a, b, link)) in pairs.iter().enumerate() {
            let x = spread(i as u32, pairs.len() as u32);
            sketch.host(&self.node(*a), x - 0.03, 0.98, 1);
            sketch.host(&self.node(*b), x + 0.03, 0.98, 1);
            sketch.link(&self.node(*a), &self.node(*b), link);
        }
    }
}
