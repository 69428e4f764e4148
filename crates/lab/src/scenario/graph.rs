//! A topology from a file: `hosts = N`, `switches = M`, `link = [{ a = "h0", b = "s0", rate, delay }, ...]`.

use super::files;
use super::topology::Named;
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Source, parse, tree::Value};
use headway_sim::{LinkSpec, TopologySpec};
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

/// A graph, checked.
#[derive(Debug)]
pub struct Graph {
    /// What the simulator builds.
    pub spec: TopologySpec,
    /// Hosts.
    pub hosts: u32,
    /// Where their number is written.
    pub named: Named,
    /// Which connected part each host is in.
    pub parts: Vec<u32>,
    /// Every key with its value.
    pub resolved: Json,
}

/// Reads the file that `file` names.
pub fn read(file: &Item<'_>, folder: &Path) -> Result<Graph, ScenarioError> {
    let (path, text) = files::read(file, folder)?;
    let mut graph = parse(&Source::new(path.display().to_string(), text))?;
    if let Json::Object(map) = &mut graph.resolved {
        map.insert("file".into(), file.text()?.into());
    }
    Ok(graph)
}

/// Reads a graph from its text.
pub fn parse(source: &Arc<Source>) -> Result<Graph, ScenarioError> {
    let document = parse::document(source)?;
    let Value::Table(table) = &document.value else { return Err(empty(source)) };
    let root = Reader::root(table, &document.at, "the graph file");
    let hosts_item = root.need("hosts")?;
    let hosts = hosts_item.int(1, 1 << 24)? as u32;
    let switches = root.need("switches")?.int(0, 1 << 16)? as u32;
    let mut links = Vec::new();
    // As many as there are links, and not as are promised.
    let mut joined: FxHashMap<u32, Origin> = FxHashMap::default();
    for item in root.need("link")?.list()? {
        let link = item.table()?;
        let (a, b) = (node(&link.need("a")?, hosts, switches)?, node(&link.need("b")?, hosts, switches)?);
        let spec = LinkSpec { rate: link.need("rate")?.rate()?, delay: link.need("delay")?.time()? };
        link.finish(&[], None)?;
        if a == b {
            let problem = Problem::Topology("a link joins a node to itself".into());
            return Err(item.fail(problem));
        }
        for end in [a, b].into_iter().filter(|n| *n < hosts) {
            if let Some(first) = joined.insert(end, item.at().clone()) {
                let line = first.source.line_column(first.span.start).0;
                let problem = Problem::Topology(format!("host h{end} has a second link"));
                return Err(item
                    .fail(problem)
                    .help(format!("a host has one link; its first is on line {line}")));
            }
        }
        links.push((a, b, spec));
    }
    root.finish(&[], None)?;
    if let Some(host) = (0..hosts).find(|host| !joined.contains_key(host)) {
        let problem = Problem::Topology(format!("host h{host} has no link"));
        return Err(hosts_item.fail(problem));
    }
    let parts = parts(hosts, switches, &links);
    let rows: Vec<Json> = links
        .iter()
        .map(|(a, b, l)| json!([name(*a, hosts), name(*b, hosts), l.rate.to_string(), l.delay.to_string()]))
        .collect();
    let resolved = json!({ "kind": "graph", "hosts": hosts, "switches": switches, "links": rows });
    let spec = TopologySpec::Graph { hosts, switches, links };
    Ok(Graph { spec, hosts, named: Named::of("hosts", &hosts_item), parts, resolved })
}

fn empty(source: &Arc<Source>) -> ScenarioError {
    ScenarioError::new(Problem::Topology("the graph is empty".into()), &Origin::line(source, 1))
}

/// `h3` or `s0` as a node number: hosts first, then switches.
fn node(item: &Item<'_>, hosts: u32, switches: u32) -> Result<u32, ScenarioError> {
    let text = item.text()?;
    let expected = || item.wrong("a node such as \"h0\" (a host) or \"s0\" (a switch)");
    let (base, count, what) = match text.as_bytes().first() {
        Some(b'h') => (0, hosts, "hosts"),
        Some(b's') => (hosts, switches, "switches"),
        _ => return Err(expected()),
    };
    let digits = Some(&text[1..]).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let number: u32 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(expected)?;
    if number >= count {
        return Err(item.range(format!("one of {count} {what}, numbered from 0"), format!("`{text}`")));
    }
    Ok(base + number)
}

fn name(node: u32, hosts: u32) -> String {
    if node < hosts { format!("h{node}") } else { format!("s{}", node - hosts) }
}

/// The connected part of each host.
fn parts(hosts: u32, switches: u32, links: &[(u32, u32, LinkSpec)]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..hosts + switches).collect();
    fn find(parent: &mut [u32], mut node: u32) -> u32 {
        while parent[node as usize] != node {
            parent[node as usize] = parent[parent[node as usize] as usize];
            node = parent[node as usize];
        }
        node
    }
    for &(a, b, _) in links {
        let (a, b) = (find(&mut parent, a), find(&mut parent, b));
        parent[a as usize] = b;
    }
    (0..hosts).map(|h| find(&mut parent, h)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "hosts = 4\nswitches = 1\nlink = [\n  {a=\"h0\", b=\"s0\", rate=\"10 Gbps\", delay=\"1 us\"},\n  \
        {a=\"h1\", b=\"s0\", rate=\"10 Gbps\", delay=\"1 us\"},\n  {a=\"h2\", b=\"h3\", rate=\"1 Gbps\", delay=\"1 us\"},\n]\n";

    #[test]
    fn parts_are_what_links_join() {
        let graph = parse(&Source::new("g.toml", TWO)).expect("a graph");
        assert_eq!(graph.parts[0], graph.parts[1]);
        assert_eq!(graph.parts[2], graph.parts[3]);
        assert_ne!(graph.parts[0], graph.parts[2]);
    }

    #[test]
    fn hosts_have_exactly_one_link() {
        let twice = TWO.replace("\"h2\"", "\"h1\"");
        let error = parse(&Source::new("g.toml", twice)).expect_err("two links");
        assert_eq!(error.to_string(), "host h1 has a second link");
        let none = TWO.replace("hosts = 4", "hosts = 5");
        let error = parse(&Source::new("g.toml", none)).expect_err("no link");
        assert_eq!(error.to_string(), "host h4 has no link");
    }
}
