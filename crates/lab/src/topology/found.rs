//! A graph that was read from a file.

use crate::text::Origin;
use headway_network::topology::Graph;
use serde_json::{Map, Value as Json, json};

/// A graph, checked.
#[derive(Debug)]
pub struct Found {
    /// Graph that the simulator builds.
    pub graph: Graph,
    /// Place where the number of its hosts is written.
    pub at: Origin,
    /// Every key with its value.
    pub resolved: Map<String, Json>,
    /// Host of each node of the file, if it numbers hosts and switches together; `None` for switches.
    pub nodes: Option<Vec<Option<u32>>>,
    /// Links by their ends on which packets are lost at random, in both directions, with the probability.
    pub losses: Vec<(u32, u32, f64)>,
    /// Parts of the file that are not read, and assumptions.
    pub notes: Vec<String>,
}

impl Found {
    /// A graph, and where the number of its hosts is written.
    pub(super) fn new(graph: Graph, at: Origin) -> Found {
        let name = |node: u32| name(node, graph.hosts);
        let mut rows: Vec<Json> = graph
            .links
            .iter()
            .map(|(a, b, l)| json!([name(*a), name(*b), l.rate.to_string(), l.delay.to_string()]))
            .collect();
        // Only links whose way back differs have a fifth column.
        for (number, link) in &graph.back {
            if let Some(row) = rows[*number as usize].as_array_mut() {
                row.push(link.delay.to_string().into());
            }
        }
        let mut resolved = Map::new();
        let counts =
            [("hosts", json!(graph.hosts)), ("switches", json!(graph.switches)), ("links", rows.into())];
        for (key, value) in counts {
            resolved.insert(key.into(), value);
        }
        Found { graph, at, resolved, nodes: None, losses: Vec::new(), notes: Vec::new() }
    }
}

/// Name of a node in messages and lists of links.
pub(super) fn name(node: u32, hosts: u32) -> String {
    if node < hosts { format!("h{node}") } else { format!("s{}", node - hosts) }
}
