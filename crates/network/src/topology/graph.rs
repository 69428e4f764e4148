//! A topology given as a graph of any form.

use super::keys::needed;
use super::sketch::{HOSTS_DRAWN, SWITCHES_DRAWN, Sketch, spread, stands_for};
use super::{Declared, FromTable, Info, Kind, Size, Tier, Topology, Value, Values, Wiring, positive};
use crate::error::BuildError;
use crate::link::LinkSpec;
use rustc_hash::{FxHashMap, FxHashSet};
use std::f64::consts::TAU;

/// Any graph: nodes `0 .. hosts` are hosts, then switches. Each link of a host is an interface of it; packets go through
/// switches only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Undirected links by node number.
    pub links: Vec<(u32, u32, LinkSpec)>,
    /// Links that differ in the direction from their second node to their first: position among `links`, and the
    /// specification in that direction. Ascending.
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
        for (link, &(a, b, _)) in self.links.iter().enumerate() {
            for node in [a, b] {
                if node >= nodes {
                    return Err(BuildError::NoSuchNode { link, node, nodes });
                }
            }
        }
        let ends = self.ends()?;
        wiring.interfaces(ends.owners, self.switches);
        for (link, (a, b)) in ends.of_link.into_iter().enumerate() {
            wiring.join_uneven(a, b, self.links[link].2, self.back(link));
        }
        Ok(())
    }

    fn interfaces(&self) -> u64 {
        let ends = self.links.iter().flat_map(|(a, b, _)| [*a, *b]);
        ends.filter(|node| *node < self.hosts).count() as u64
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

    fn pieces(&self) -> Option<Vec<Vec<u32>>> {
        let ends = self.ends().ok()?;
        let mut parent: Vec<u32> = (0..ends.owners.len() as u32 + self.switches).collect();
        fn find(parent: &mut [u32], mut node: u32) -> u32 {
            while parent[node as usize] != node {
                parent[node as usize] = parent[parent[node as usize] as usize];
                node = parent[node as usize];
            }
            node
        }
        for &(a, b) in &ends.of_link {
            let (a, b) = (find(&mut parent, a), find(&mut parent, b));
            parent[a as usize] = b;
        }
        let mut pieces = vec![Vec::new(); self.hosts as usize];
        for (interface, host) in (0..).zip(&ends.owners) {
            pieces[*host as usize].push(find(&mut parent, interface));
        }
        Some(pieces)
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
        let mut first: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, (a, b, _)) in self.links.iter().enumerate().filter(|(_, l)| l.0.max(l.1) >= self.hosts) {
            first.entry(*a.min(b)).or_insert(at);
        }
        for s in 0..shown {
            self.draw_hosts(sketch, s, &first, |turn| place(s, 0.46, turn));
        }
        self.draw_pairs(sketch);
        self.draw_further(sketch);
        let (hosts, last) = (self.hosts, self.hosts + shown);
        for (a, b, link) in self.links.iter().filter(|l| l.0.min(l.1) >= hosts && l.0.max(l.1) < last) {
            sketch.link(&self.node(*a), &self.node(*b), link);
        }
    }
}

/// The links of a graph between its interfaces and switches.
struct Ends {
    /// By interface its host: in order of hosts, and of their links.
    owners: Vec<u32>,
    /// By link.
    of_link: Vec<(u32, u32)>,
}

impl Graph {
    /// Ends of its links as interfaces and switches; an error if a host has no link.
    fn ends(&self) -> Result<Ends, BuildError> {
        let mut next = vec![0u32; self.hosts as usize + 1];
        for node in self.links.iter().flat_map(|(a, b, _)| [*a, *b]).filter(|node| *node < self.hosts) {
            next[node as usize + 1] += 1;
        }
        if let Some(host) = next[1..].iter().position(|links| *links == 0) {
            return Err(BuildError::NoLink { host: host as u32 });
        }
        let owners: Vec<u32> = (0..self.hosts)
            .flat_map(|host| std::iter::repeat_n(host, next[host as usize + 1] as usize))
            .collect();
        for host in 1..next.len() {
            next[host] += next[host - 1];
        }
        let mut end = |node: u32| match node.checked_sub(self.hosts) {
            Some(switch) => owners.len() as u32 + switch,
            None => {
                next[node as usize] += 1;
                next[node as usize] - 1
            }
        };
        let of_link = self.links.iter().map(|(a, b, _)| (end(*a), end(*b))).collect();
        Ok(Ends { owners, of_link })
    }

    /// Further links of hosts that are drawn, to switches that are drawn.
    fn draw_further(&self, sketch: &mut Sketch) {
        let drawn: FxHashSet<String> = sketch.nodes.iter().map(|node| node.name.clone()).collect();
        let mut seen = FxHashSet::default();
        for (a, b, link) in &self.links {
            let (host, switch) = (*a.min(b), *a.max(b));
            if host >= self.hosts || switch < self.hosts || seen.insert(host) {
                continue;
            }
            let (host, switch) = (self.node(host), self.node(switch));
            let is_there = sketch.lines.iter().any(|line| (&line.a, &line.b) == (&host, &switch));
            if drawn.contains(&switch) && drawn.contains(&host) && !is_there {
                sketch.link(&host, &switch, link);
            }
        }
    }

    /// Specification of a link from its second node to its first.
    fn back(&self, link: usize) -> LinkSpec {
        let known = self.back.binary_search_by_key(&link, |(number, _)| *number as usize);
        known.map_or(self.links[link].2, |place| self.back[place].1)
    }

    fn node(&self, node: u32) -> String {
        node.checked_sub(self.hosts).map_or_else(|| format!("h{node}"), |switch| format!("s{switch}"))
    }

    /// The hosts of a switch, at places that `at` gives to turns between -0.5 and 0.5.
    fn draw_hosts(
        &self,
        sketch: &mut Sketch,
        switch: u32,
        first: &FxHashMap<u32, usize>,
        at: impl Fn(f64) -> (f64, f64),
    ) {
        let node = self.hosts + switch;
        let of = |l: &(u32, u32, LinkSpec)| l.0.max(l.1) == node && l.0.min(l.1) < self.hosts;
        // A host is drawn at the switch of its first link.
        let is_first = |at: usize, l: &(u32, u32, LinkSpec)| first.get(&l.0.min(l.1)) == Some(&at);
        let mine = self.links.iter().enumerate().filter(|(at, l)| of(l) && is_first(*at, l));
        let mine: Vec<_> = mine.map(|(_, link)| link).collect();
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
            for (node, x) in [(self.node(*a), x - 0.03), (self.node(*b), x + 0.03)] {
                if !sketch.nodes.iter().any(|known| known.name == node) {
                    sketch.host(&node, x, 0.98, 1);
                }
            }
            sketch.link(&self.node(*a), &self.node(*b), link);
        }
    }
}
