//! Topologies laid out for drawing: x from 0 to 1, y downwards from 0 to 1, hosts at the bottom or outside.
//!
//! Big fabrics are abbreviated: a node with `count` stands for that many alike.

use super::topology::Topology;
use headway_sim::{LinkSpec, TopologySpec};
use serde_json::{Value as Json, json};
use std::f64::consts::TAU;

/// Hosts that are drawn one by one at most.
const HOSTS_DRAWN: u32 = 40;
/// Leaves, spines, or switches of a graph that are drawn at most.
const SWITCHES_DRAWN: u32 = 12;
/// Pods that are all drawn, and the pods, and switches of one layer of a pod, that are drawn of more.
const POD_DRAWN: (u32, u32) = (4, 3);
/// Cores above each place in a pod that are drawn at most.
const CORES_DRAWN: u32 = 2;

#[derive(Default)]
struct Sketch {
    nodes: Vec<Json>,
    links: Vec<Json>,
    hosts_drawn_singly: bool,
}

/// Nodes and links of a topology with places.
pub fn topology_json(topology: &Topology) -> Json {
    let mut sketch = Sketch { hosts_drawn_singly: topology.hosts <= HOSTS_DRAWN, ..Sketch::default() };
    match &topology.spec {
        TopologySpec::SingleSwitch { hosts, link } => sketch.single_switch(*hosts, link),
        TopologySpec::Dumbbell { senders, receivers, access, bottleneck } => {
            sketch.dumbbell(*senders, *receivers, access, bottleneck);
        }
        TopologySpec::ParkingLot { bottlenecks, hosts_per_switch, access, bottleneck } => {
            sketch.parking_lot(bottlenecks + 1, *hosts_per_switch, access, bottleneck);
        }
        TopologySpec::LeafSpine { racks, hosts_per_rack, spines, host, spine } => {
            sketch.leaf_spine(*racks, *hosts_per_rack, *spines, host, spine);
        }
        TopologySpec::FatTree { k, hosts_per_edge, host, fabric } => {
            sketch.fat_tree(*k, *hosts_per_edge, host, fabric);
        }
        TopologySpec::Graph { hosts, switches, links } => sketch.graph(*hosts, *switches, links),
    }
    json!({ "nodes": sketch.nodes, "links": sketch.links })
}

/// The `i`-th of `n` evenly spread places between 0 and 1.
fn spread(i: u32, n: u32) -> f64 {
    (f64::from(i) + 0.5) / f64::from(n)
}

/// How many alike the `i`-th of `shown` stands for when there are `all`.
fn stands_for(i: u32, shown: u32, all: u32) -> u32 {
    if i + 1 == shown { all - i } else { 1 }
}

impl Sketch {
    fn node(&mut self, name: &str, kind: &str, tier: u32, x: f64, y: f64, count: u32) {
        let (x, y) = (rounded(x), rounded(y));
        self.nodes.push(json!({ "name": name, "kind": kind, "tier": tier, "x": x, "y": y, "count": count }));
    }

    fn switch(&mut self, name: &str, tier: u32, x: f64, y: f64, count: u32) {
        self.node(name, "switch", tier, x, y, count);
    }

    fn link(&mut self, a: &str, b: &str, link: &LinkSpec) {
        let (rate, delay) = (link.rate.bps(), crate::results::seconds(link.delay));
        self.links.push(json!({ "a": a, "b": b, "rate_bps": rate, "delay_s": delay }));
    }

    /// Hosts `first .. first + n` of a switch, one by one or as one node, at places that `at` gives. The switch
    /// stands for `alike` switches, so its hosts do too.
    fn hosts(
        &mut self,
        (switch, alike): (&str, u32),
        (first, n): (u32, u32),
        link: &LinkSpec,
        at: impl Fn(f64) -> (f64, f64),
    ) {
        let shown = if self.hosts_drawn_singly { n } else { 1 };
        for i in 0..shown {
            let (x, y) = at(spread(i, shown));
            let name = format!("h{}", first + i);
            self.node(&name, "host", 0, x, y, stands_for(i, shown, n) * alike);
            self.link(&name, switch, link);
        }
    }

    fn single_switch(&mut self, hosts: u32, link: &LinkSpec) {
        self.switch("s0", 1, 0.5, 0.2, 1);
        self.hosts(("s0", 1), (0, hosts), link, |t| (t, 0.85));
    }

    fn dumbbell(&mut self, senders: u32, receivers: u32, access: &LinkSpec, bottleneck: &LinkSpec) {
        self.switch("s0", 1, 0.35, 0.5, 1);
        self.switch("s1", 1, 0.65, 0.5, 1);
        self.link("s0", "s1", bottleneck);
        self.hosts(("s0", 1), (0, senders), access, |t| (0.08, t));
        self.hosts(("s1", 1), (senders, receivers), access, |t| (0.92, t));
    }

    fn parking_lot(&mut self, switches: u32, each: u32, access: &LinkSpec, bottleneck: &LinkSpec) {
        let shown = switches.min(SWITCHES_DRAWN);
        for i in 0..shown {
            let (name, x) = (format!("s{i}"), spread(i, shown));
            let count = stands_for(i, shown, switches);
            self.switch(&name, 1, x, 0.3, count);
            if i > 0 {
                self.link(&format!("s{}", i - 1), &name, bottleneck);
            }
            let width = 0.85 / f64::from(shown);
            self.hosts((&name, count), (i * each, each), access, |t| (x + (t - 0.5) * width, 0.85));
        }
    }

    fn leaf_spine(&mut self, racks: u32, each: u32, spines: u32, host: &LinkSpec, spine: &LinkSpec) {
        let (leaves, tops) = (racks.min(SWITCHES_DRAWN), spines.min(SWITCHES_DRAWN));
        for s in 0..tops {
            self.switch(&format!("spine{s}"), 2, spread(s, tops), 0.1, stands_for(s, tops, spines));
        }
        let width = 0.85 / f64::from(leaves);
        for r in 0..leaves {
            let (name, x) = (format!("leaf{r}"), spread(r, leaves));
            let count = stands_for(r, leaves, racks);
            self.switch(&name, 1, x, 0.5, count);
            (0..tops).for_each(|s| self.link(&name, &format!("spine{s}"), spine));
            self.hosts((&name, count), (r * each, each), host, |t| (x + (t - 0.5) * width, 0.9));
        }
    }

    fn fat_tree(&mut self, k: u32, each: u32, host: &LinkSpec, fabric: &LinkSpec) {
        let half = k / 2;
        let most = if k <= POD_DRAWN.0 { POD_DRAWN.0 } else { POD_DRAWN.1 };
        let (pods, places, cores) = (k.min(most), half.min(most), half.min(CORES_DRAWN));
        for a in 0..places {
            for c in 0..cores {
                let x = spread(a * cores + c, places * cores);
                let count = stands_for(c, cores, half) * stands_for(a, places, half);
                self.switch(&format!("core{}", a * half + c), 3, x, 0.08, count);
            }
        }
        let columns = pods * places;
        for pod in 0..pods {
            for i in 0..places {
                let x = spread(pod * places + i, columns);
                let count = stands_for(pod, pods, k) * stands_for(i, places, half);
                let (edge, agg) = (format!("edge{pod}.{i}"), format!("agg{pod}.{i}"));
                self.switch(&agg, 2, x, 0.36, count);
                self.switch(&edge, 1, x, 0.64, count);
                (0..cores).for_each(|c| self.link(&agg, &format!("core{}", i * half + c), fabric));
                (0..places).for_each(|j| self.link(&edge, &format!("agg{pod}.{j}"), fabric));
                let width = 0.85 / f64::from(columns);
                let first = (pod * half + i) * each;
                self.hosts((&edge, count), (first, each), host, |t| (x + (t - 0.5) * width, 0.92));
            }
        }
    }

    /// Switches on a circle, hosts outside of their switch; pairs of hosts without a switch at the bottom.
    fn graph(&mut self, hosts: u32, switches: u32, links: &[(u32, u32, LinkSpec)]) {
        let shown = switches.min(SWITCHES_DRAWN);
        let name = |node: u32| if node < hosts { format!("h{node}") } else { format!("s{}", node - hosts) };
        let place = |s: u32, radius: f64, turn: f64| {
            let angle = TAU * (f64::from(s) + turn) / f64::from(shown.max(1));
            (0.5 + radius * libm::sin(angle), 0.5 - radius * libm::cos(angle))
        };
        for s in 0..shown {
            let (x, y) = place(s, if shown == 1 { 0.0 } else { 0.25 }, 0.0);
            self.switch(&format!("s{s}"), 1, x, y, stands_for(s, shown, switches));
        }
        for s in 0..shown {
            let of = |l: &&(u32, u32, LinkSpec)| l.0.max(l.1) == hosts + s && l.0.min(l.1) < hosts;
            let mine: Vec<_> = links.iter().filter(of).collect();
            let count = mine.len() as u32;
            let drawn = if self.hosts_drawn_singly { count } else { count.min(1) };
            for (i, (a, b, link)) in mine.iter().take(drawn as usize).enumerate() {
                let (x, y) = place(s, 0.46, (spread(i as u32, drawn) - 0.5) * 0.85);
                let host = name(*a.min(b));
                self.node(&host, "host", 0, x, y, stands_for(i as u32, drawn, count));
                self.link(&host, &format!("s{s}"), link);
            }
        }
        let pairs: Vec<_> =
            links.iter().filter(|l| l.0.max(l.1) < hosts).take(HOSTS_DRAWN as usize).collect();
        for (i, (a, b, link)) in pairs.iter().enumerate() {
            let x = spread(i as u32, pairs.len() as u32);
            self.node(&name(*a), "host", 0, x - 0.03, 0.98, 1);
            self.node(&name(*b), "host", 0, x + 0.03, 0.98, 1);
            self.link(&name(*a), &name(*b), link);
        }
        for (a, b, link) in links.iter().filter(|l| l.0.min(l.1) >= hosts && l.0.max(l.1) < hosts + shown) {
            self.link(&name(*a), &name(*b), link);
        }
    }
}

/// Four digits are enough to draw by.
fn rounded(x: f64) -> f64 {
    libm::round(x.clamp(0.0, 1.0) * 1e4) / 1e4
}
