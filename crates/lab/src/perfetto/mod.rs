//! A run as a Perfetto trace: hosts and switches with their ports, messages and steps as slices, samples as
//! counters, and dependencies as arrows. It is made from the tables of a run, in memory or in its directory.

mod counters;
mod read;
mod slices;

use crate::results::{Directory, RunOutput, Table};
use crate::text::LabError;
use crate::text::quantity::{self, Dimension};
use headway_perfetto::{Track, Writer};
use read::Columns;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use slices::Slices;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes the trace of a run that is in memory.
pub fn write(output: &RunOutput, out: &Path) -> Result<(), LabError> {
    let tables = Tables {
        flows: &output.flows,
        links: &output.links,
        series: &output.series,
        graph: output.graph.as_ref().map(|(steps, edges)| (steps, edges)),
    };
    write_tables(&tables, &output.summary, &output.manifest, Path::new("the run"), out)
}

/// Writes the trace of the run in a directory.
pub fn write_directory(run: Directory<'_>, out: &Path) -> Result<(), LabError> {
    let Directory { path: directory, format } = run;
    let table = |name: &str| read::table(&directory.join(format!("{name}.parquet")), format);
    let has_graph = directory.join("edges.parquet").exists();
    let graph = has_graph.then(|| Ok::<_, LabError>((table("steps")?, table("edges")?))).transpose()?;
    let (flows, links, series) = (table("flows")?, table("links")?, table("series")?);
    let tables = Tables {
        flows: &flows,
        links: &links,
        series: &series,
        graph: graph.as_ref().map(|(steps, edges)| (steps, edges)),
    };
    let document = |name: &str| read::document(&directory.join(name));
    write_tables(&tables, &document("summary.json")?, &document("manifest.json")?, directory, out)
}

struct Tables<'a> {
    flows: &'a Table,
    links: &'a Table,
    series: &'a Table,
    /// Steps and edges, where anything waits.
    graph: Option<(&'a Table, &'a Table)>,
}

/// Reason why a trace was not written: an error of reading, or of writing.
enum Failed {
    Read(LabError),
    Write(io::Error),
}

impl From<LabError> for Failed {
    fn from(error: LabError) -> Failed {
        Failed::Read(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Write(error)
    }
}

fn write_tables(
    tables: &Tables<'_>,
    summary: &Json,
    manifest: &Json,
    from: &Path,
    out: &Path,
) -> Result<(), LabError> {
    let unwritable = |error: io::Error| LabError::Unwritable {
        path: out.to_path_buf(),
        reason: error.to_string(),
        kind: error.kind(),
    };
    let file = create(out).map_err(unwritable)?;
    let written = fill(tables, summary, manifest, from, BufWriter::with_capacity(1 << 18, file));
    written.map_err(|failed| match failed {
        Failed::Read(error) => error,
        Failed::Write(error) => unwritable(error),
    })
}

#[allow(clippy::disallowed_methods, reason = "the trace is written here")]
fn create(out: &Path) -> io::Result<File> {
    File::create(out)
}

/// The tracks at the root, and those of ports below them.
struct Tree {
    /// Tracks of hosts and switches, by name.
    nodes: FxHashMap<String, Track>,
    /// Names of hosts, by number.
    hosts: Vec<String>,
    /// Tracks of links, by name.
    ports: FxHashMap<String, Track>,
}

impl Tree {
    /// A track for each host, switch and port. On that of a port there is one slice, with its counts.
    fn write<W: Write>(trace: &mut Writer<W>, links: &Columns<'_>, end_ns: u64) -> Result<Tree, Failed> {
        let names = links.text("name")?;
        let mut tree = Tree { nodes: FxHashMap::default(), hosts: Vec::new(), ports: FxHashMap::default() };
        for link in names.iter().flatten() {
            let node = link.split("->").next().unwrap_or(link);
            if !tree.nodes.contains_key(node) {
                tree.nodes.insert(node.into(), trace.track(None, node)?);
            }
        }
        let from_switch = links.whole("from_switch")?;
        for (row, link) in names.iter().flatten().enumerate() {
            let node = link.split("->").next().unwrap_or(link);
            if from_switch.value(row) == 0 {
                // The link of a host has the number of the host.
                tree.hosts.push(node.into());
            }
            let port = trace.track(tree.nodes.get(node).copied(), &format!("port {link}"))?;
            tree.ports.insert(link.into(), port);
            let args = [
                ("rate_bps", "rate_bps"),
                ("wire_bytes", "wire_bytes"),
                ("drops", "drops"),
                ("trims", "trims"),
                ("queue_max_bytes", "queue_max_bytes"),
            ];
            let mut slice = headway_perfetto::Slice { name: link, ..Default::default() };
            for (arg, column) in args {
                slice.args.push((arg, headway_perfetto::Value::Whole(links.whole(column)?.value(row))));
            }
            let busy = links.numbers("busy_fraction")?.value(row);
            slice.args.push(("busy_fraction", headway_perfetto::Value::Number(busy)));
            trace.begin(port, 0, slice)?;
            trace.end(port, end_ns)?;
        }
        Ok(tree)
    }

    /// The track of a host, by its number.
    fn host(&self, number: u32) -> Option<Track> {
        self.nodes.get(self.hosts.get(number as usize)?).copied()
    }
}

fn fill<W: Write>(
    tables: &Tables<'_>,
    summary: &Json,
    manifest: &Json,
    from: &Path,
    out: W,
) -> Result<(), Failed> {
    let flows = Columns::new(from, "flows", tables.flows);
    let links = Columns::new(from, "links", tables.links);
    let end_ns = nanoseconds(picoseconds(manifest["virtual_s"].as_f64().unwrap_or(0.0)));
    let mut trace = Writer::new(out);
    let tree = Tree::write(&mut trace, &links, end_ns)?;
    let graph = tables
        .graph
        .map(|(steps, edges)| (Columns::new(from, "steps", steps), Columns::new(from, "edges", edges)));
    let mut slices = Slices::new(&mut trace);
    slices.jobs(summary)?;
    slices.flows(&flows, &tree)?;
    if let Some((steps, edges)) = &graph {
        slices.steps(steps, &tree)?;
        slices.edges(edges)?;
    }
    slices.write()?;
    let every =
        manifest["scenario"]["sample"]["every"].as_str().and_then(|text| quantity::parse_quantity(text).ok());
    let every = every.filter(|every| every.dimension == Dimension::Time).map(|every| every.amount);
    let every = every.ok_or_else(|| LabError::Unreadable {
        path: from.join("manifest.json"),
        reason: "it does not say at what interval the scenario samples".into(),
    });
    counters::write(&mut trace, &Columns::new(from, "series", tables.series), &flows, &tree, every)?;
    trace.finish()?;
    Ok(())
}

/// Picoseconds of a number of seconds that was made from them.
fn picoseconds(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

/// The nanosecond in which a picosecond is.
fn nanoseconds(picoseconds: u64) -> u64 {
    picoseconds / 1_000
}
