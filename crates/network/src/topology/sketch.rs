//! Topologies laid out for drawing: x from 0 to 1, y downwards from 0 to 1, hosts at the bottom or outside.
//!
//! Big networks are abbreviated: a node with `count` stands for that many alike.

use crate::link::LinkSpec;

/// Hosts that are drawn one by one at most.
pub const HOSTS_DRAWN: u32 = 40;
/// Leaves, spines, or switches of a graph that are drawn at most.
pub const SWITCHES_DRAWN: u32 = 12;

/// A node of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The name that links use.
    pub name: String,
    /// True if it is a host.
    pub is_host: bool,
    /// 0 for hosts, and for switches how far they are from hosts.
    pub tier: u32,
    /// Its place, from the left.
    pub x: f64,
    /// Its place, from the top.
    pub y: f64,
    /// Number of nodes that it stands for.
    pub count: u32,
}

/// A line of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of one end.
    pub a: String,
    /// Name of the other.
    pub b: String,
    /// Specification of the link.
    pub link: LinkSpec,
}

/// The picture of a topology, to which nodes and lines are added one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketch {
    /// Nodes, in the order in which they are drawn.
    pub nodes: Vec<Node>,
    /// Lines that stand for links.
    pub lines: Vec<Line>,
    every_host: bool,
}

impl Sketch {
    /// An empty one, for a network with so many hosts.
    pub fn new(hosts: u32) -> Sketch {
        Sketch { every_host: hosts <= HOSTS_DRAWN, ..Sketch::default() }
    }

    /// True if hosts are drawn one by one.
    pub fn draws_every_host(&self) -> bool {
        self.every_host
    }

    /// Adds a switch that stands for `count` switches.
    pub fn switch(&mut self, name: &str, tier: u32, x: f64, y: f64, count: u32) {
        self.nodes.push(Node { name: name.into(), is_host: false, tier, x, y, count });
    }

    /// Adds a host that stands for `count` hosts.
    pub fn host(&mut self, name: &str, x: f64, y: f64, count: u32) {
        self.nodes.push(Node { name: name.into(), is_host: true, tier: 0, x, y, count });
    }

    /// Adds a link between two nodes.
    pub fn link(&mut self, a: &str, b: &str, link: &LinkSpec) {
        self.lines.push(Line { a: a.into(), b: b.into(), link: *link });
    }

    /// Adds hosts `first .. first + n` of a switch, one by one or as one node, at places that `at` gives. The switch
    /// stands for `alike` switches, so its hosts do too.
    pub fn hosts(
        &mut self,
        (switch, alike): (&str, u32),
        (first, n): (u32, u32),
        link: &LinkSpec,
        at: impl Fn(f64) -> (f64, f64),
    ) {
        let shown = if self.every_host { n } else { 1 };
        for i in 0..shown {
            let (x, y) = at(spread(i, shown));
            let name = format!("h{}", first + i);
            self.host(&name, x, y, stands_for(i, shown, n) * alike);
            self.link(&name, switch, link);
        }
    }
}

/// The `i`-th of `n` evenly spread places between 0 and 1.
pub fn spread(i: u32, n: u32) -> f64 {
    (f64::from(i) + 0.5) / f64::from(n)
}

/// Number of nodes that the `i`-th of `shown` stands for when there are `all`.
pub fn stands_for(i: u32, shown: u32, all: u32) -> u32 {
    if i + 1 == shown { all - i } else { 1 }
}
