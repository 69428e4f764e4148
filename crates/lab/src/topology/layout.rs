//! Layout of a topology, for programs that draw it.

use super::Topology;
use headway_network::topology::sketch::Sketch;
use serde_json::{Value as Json, json};

/// Nodes and links of a topology with places.
pub fn topology_json(topology: &Topology) -> Json {
    let mut sketch = Sketch::new(topology.hosts);
    topology.spec.draw(&mut sketch);
    let node = |node: &headway_network::topology::sketch::Node| {
        let kind = if node.is_host { "host" } else { "switch" };
        json!({ "name": node.name, "kind": kind, "tier": node.tier, "x": rounded(node.x), "y": rounded(node.y),
            "count": node.count })
    };
    let line = |line: &headway_network::topology::sketch::Line| {
        let name = format!("{}->{}", line.a, line.b);
        let own = topology.altered.iter().find(|altered| altered.names.contains(&name));
        let rate = own.and_then(|own| own.rate).unwrap_or(line.link.rate);
        let delay = own.and_then(|own| own.delay).unwrap_or(line.link.delay);
        let delay = crate::text::quantity::as_seconds(delay);
        json!({ "a": line.a, "b": line.b, "rate_bps": rate.bps(), "delay_s": delay })
    };
    let (nodes, links) = (sketch.nodes.iter().map(node), sketch.lines.iter().map(line));
    json!({ "nodes": nodes.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>() })
}

/// Four digits are enough to draw by.
fn rounded(x: f64) -> f64 {
    libm::round(x.clamp(0.0, 1.0) * 1e4) / 1e4
}
