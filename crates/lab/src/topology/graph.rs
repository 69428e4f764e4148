//! A topology from a file: `hosts = N`, `switches = M`, `link = [{ a = "h0", b = "s0", rate, delay }, ...]`; a link whose
//! way from `b` to `a` takes another time has `delay_back`. Files of other simulators are read too, by [`super::htsim`] and [`super::ns3`]:
//! the content decides which one a file is.

use super::found::Found;
use crate::files;
use crate::import::kinds::{self, Network};
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Source, parse, tree::Value};
use headway_network::LinkSpec;
use headway_network::topology::Graph;
use rustc_hash::FxHashSet;
use std::path::Path;
use std::sync::Arc;

/// Reads the file that `file` names.
pub fn read(file: &Item<'_>, folder: &Path) -> Result<Found, ScenarioError> {
    let (path, text) = files::read(file, folder)?;
    let source = Source::new(path.display().to_string(), text);
    let mut found = parse_any(&source)?;
    found.resolved.insert("file".into(), file.text()?.into());
    Ok(found)
}

/// Reads a file of any kind of topology.
pub fn parse_any(source: &Arc<Source>) -> Result<Found, ScenarioError> {
    let bytes = source.text.as_bytes();
    match kinds::find(bytes).map(|kind| kind.reader) {
        Ok(kinds::Reader::Topology(Network::Htsim)) => super::htsim::parse(source),
        Ok(kinds::Reader::Topology(Network::Ns3)) => super::ns3::parse(source),
        Ok(kinds::Reader::Topology(Network::Graph)) => parse(source),
        _ => {
            let is_topology = |kind: &kinds::Kind| matches!(kind.reader, kinds::Reader::Topology(_));
            match kinds::other(bytes, is_topology) {
                Some((text, help)) => {
                    let error = ScenarioError::new(Problem::Topology(text), &Origin::line(source, 1));
                    Err(error.maybe_help(help.map(Into::into)))
                }
                // Nearest to what Headway writes itself, whose reader says what is missing.
                None => parse(source),
            }
        }
    }
}

/// Reads a graph from its text.
pub fn parse(source: &Arc<Source>) -> Result<Found, ScenarioError> {
    let document = parse::document(source)?;
    let Value::Table(table) = &document.value else { return Err(empty(source)) };
    let root = Reader::root(table, &document.at, "the graph file");
    let hosts_item = root.need("hosts")?;
    let hosts = hosts_item.int(1, 1 << 24)? as u32;
    let switches = root.need("switches")?.int(0, 1 << 16)? as u32;
    let (mut links, mut back) = (Vec::new(), Vec::new());
    // A set, which grows with the links: `hosts` is only a number in a file, and may be anything.
    let mut attached: FxHashSet<u32> = FxHashSet::default();
    for item in root.need("link")?.list()? {
        let link = item.table()?;
        let (a, b) = (node(&link.need("a")?, hosts, switches)?, node(&link.need("b")?, hosts, switches)?);
        let spec = LinkSpec { rate: link.need("rate")?.rate()?, delay: link.need("delay")?.time()? };
        if let Some(item) = link.get("delay_back") {
            back.push((links.len() as u32, LinkSpec { delay: item.time()?, ..spec }));
        }
        link.finish(&[], None)?;
        if a == b {
            let problem = Problem::Topology("a link joins a node to itself".into());
            return Err(item.fail(problem));
        }
        for end in [a, b].into_iter().filter(|n| *n < hosts) {
            attached.insert(end);
        }
        links.push((a, b, spec));
    }
    root.finish(&[], None)?;
    if let Some(host) = (0..hosts).find(|host| !attached.contains(host)) {
        let problem = Problem::Topology(format!("host h{host} has no link"));
        return Err(hosts_item.fail(problem));
    }
    Ok(Found::new(Graph { hosts, switches, links, back }, hosts_item.at().clone()))
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
    // `parse` alone would accept `h+3`.
    let digits = Some(&text[1..]).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let number: u32 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(expected)?;
    if number >= count {
        return Err(item.range(format!("one of {count} {what}, numbered from 0"), format!("`{text}`")));
    }
    Ok(base + number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_network::topology::Topology;
    use serde_json::json;

    const TWO: &str = "hosts = 4\nswitches = 1\nlink = [\n  {a=\"h0\", b=\"s0\", rate=\"10 Gbps\", delay=\"1 us\"},\n  \
        {a=\"h1\", b=\"s0\", rate=\"10 Gbps\", delay=\"1 us\"},\n  {a=\"h2\", b=\"h3\", rate=\"1 Gbps\", delay=\"1 us\"},\n]\n";

    #[test]
    fn the_way_back_may_take_another_time() {
        let text = TWO
            .replace("delay=\"1 us\"},\n  {a=\"h2\"", "delay=\"1 us\", delay_back=\"3 us\"},\n  {a=\"h2\"");
        let found = parse(&Source::new("g.toml", &*text)).expect("a graph");
        let rate = headway_units::Rate::gbps(10);
        assert_eq!(found.graph.back, [(1, LinkSpec { rate, delay: headway_units::Time::us(3) })]);
        assert_eq!(found.resolved["links"][1], json!(["h1", "s0", "10 Gbps", "1 us", "3 us"]));
        assert_eq!(found.resolved["links"][0], json!(["h0", "s0", "10 Gbps", "1 us"]));
    }

    #[test]
    fn parts_are_what_links_join() {
        let found = parse(&Source::new("g.toml", TWO)).expect("a graph");
        let pieces = found.graph.pieces().expect("a graph may be in pieces");
        assert_eq!(pieces[0], pieces[1]);
        assert_eq!(pieces[2], pieces[3]);
        assert_ne!(pieces[0], pieces[2]);
    }

    #[test]
    fn hosts_have_a_link_or_several() {
        let none = TWO.replace("hosts = 4", "hosts = 5");
        let error = parse(&Source::new("g.toml", none)).expect_err("no link");
        assert_eq!(error.to_string(), "host h4 has no link");
        let twice = TWO.replace("hosts = 4", "hosts = 3").replace("\"h3\"", "\"h1\"");
        let graph = parse(&Source::new("g.toml", twice)).expect("two links of h1").graph;
        assert_eq!((graph.size().hosts, graph.interfaces()), (3, 4));
        let pieces = graph.pieces().expect("a graph may be in pieces");
        let together = |a: usize, b: usize| pieces[a].iter().any(|piece| pieces[b].contains(piece));
        assert!(together(0, 1) && together(1, 2) && !together(0, 2), "nothing goes through h1: {pieces:?}");
    }
}
