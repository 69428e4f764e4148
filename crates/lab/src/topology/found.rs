//! A graph that was read from a file.

use crate::text::Origin;
use headway_network::topology::Graph;
use serde_json::{Map, Value as Json, json};

/// A graph, checked.
#[derive(Debug)]
pub struct Found {
    /// What the simulator builds.
    pub graph: Graph,
    /// Where the number of its hosts is written.
    pub at: Origin,
    /// Every key with its value.
    pub resolved: Map<String, Json>,
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
        Found { graph, at, resolved }
    }
}

fn name(node: u32, hosts: u32) -> String {
    if node < hosts { format!("h{node}") } else { format!("s{}", node - hosts) }
}
