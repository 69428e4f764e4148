//! A small scenario around a trace: what `headway import` writes.

use crate::files::Opened;
use crate::import::cm;
use crate::import::format::{Format, NAMES, Told};
use crate::import::kinds::{self, Reader};
use crate::import::trace::{Binary, Trace, What};
use crate::scenario::Request;
use crate::text::error::counted;
use crate::text::quantity::{self, Dimension};
use crate::text::{Origin, Problem, ScenarioError, Source, names};
use crate::topology::found::Found;
use crate::topology::graph;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Options for a trace in addition to its files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Asked<'a> {
    /// Name of its format; by the file if `None`.
    pub format: Option<&'a str>,
    /// Unit of a matrix's start times, `ps` or `us`.
    pub start_unit: Option<&'a str>,
    /// Its ranks, where the file does not say it.
    pub ranks: Option<u32>,
    /// Operations per second, for computations without a duration.
    pub operations_per_second: Option<f64>,
    /// The buffer of a collective that is given in chunks.
    pub collective_bytes: Option<&'a str>,
    /// A list of groups, and its path in the scenario.
    pub groups: Option<(&'a Path, &'a str)>,
}

/// A scenario that runs a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Text of the scenario.
    pub text: String,
    /// Assumptions, and parts of the file that are ignored.
    pub notes: Vec<String>,
    /// Contents of the file: its groups with their ranks.
    pub about: Vec<String>,
}

/// Most hosts of one switch.
const MOST_OF_A_SWITCH: u32 = 64;
/// Name in messages for the text that is made here; a mistake in it has no place that a user could look at.
const MADE: &str = "the scenario to be written";

/// A file, and its path in the scenario.
pub type Named<'a> = (&'a Path, &'a str);

/// The files that a scenario is made of.
struct Parts<'a> {
    traffic: Named<'a>,
    kind: Reader,
    topology: Option<(Named<'a>, Arc<Found>)>,
}

/// A scenario for the trace among `files`, on the topology among them if there is one; it will stand in `folder`.
pub fn scenario(files: &[Named<'_>], folder: &Path, asked: &Asked<'_>) -> Result<Imported, ScenarioError> {
    let paths = paths(files, folder, asked);
    let given = |text: String| paths.iter().fold(text, |text, (long, short)| text.replace(long, short));
    let made = made(files, folder, asked).map_err(|error| as_asked(error, &paths))?;
    Ok(Imported { notes: made.notes.into_iter().map(given).collect(), ..made })
}

fn made(files: &[Named<'_>], folder: &Path, asked: &Asked<'_>) -> Result<Imported, ScenarioError> {
    let said = asked.format.map(|name| choice("format", name, &NAMES)).transpose()?.map(Format::at);
    let unit = asked.start_unit.map(|name| choice("unit", name, cm::START_UNITS)).transpose()?;
    let parts = parts(files, said)?;
    let (path, _) = parts.traffic;
    let (trace, format) = match parts.kind {
        Reader::Table => (None, None),
        _ => {
            let opened = Opened::new(path, said, asked.groups.map(|(path, _)| path))
                .map_err(|problem| problem.error(None))?;
            let format = opened.format;
            let found = parts.topology.as_ref().map(|(_, found)| found);
            let told = Told {
                start_unit: unit.map(cm::start_unit),
                ranks: asked.ranks,
                operations_per_second: asked.operations_per_second,
                collective_bytes: asked.collective_bytes.map(bytes).transpose()?,
                nodes: found.and_then(|found| found.nodes.as_deref()),
                hosts: found.map(|found| found.graph.hosts),
                cost: Some((crate::traffic::collective_cost, 0)),
                is_shared: false,
            };
            refuse_unused(format.name(), Some(format), asked)?;
            let read = |told: &Told<'_>| format.read(opened.files.clone(), opened.groups.clone(), told);
            let trace = match read(&told) {
                // One group of each kind stands for all where that is what fits.
                Err(error) if format == Format::SimAi => {
                    // If that does not fit either, the first error stays, which says what would.
                    read(&Told { is_shared: true, ..told }).map_err(|_| error)?
                }
                read => read?,
            };
            (Some(trace), Some(format))
        }
    };
    let Some(trace) = trace else {
        refuse_unused("a table of flows", None, asked)?;
        let text = table(&parts)?;
        return finish(text, folder, Vec::new());
    };
    if let (Some((_, found)), Some(Format::Matrix)) = (&parts.topology, format)
        && found.graph.hosts != trace.ranks
    {
        let text = format!(
            "the matrix is for {}, and the topology has {}",
            counted(trace.ranks.into(), "host"),
            counted(found.graph.hosts.into(), "host")
        );
        return Err(ScenarioError::new(Problem::Contradiction(text), &found.at));
    }
    let about = about(&trace);
    finish(text(&trace, &parts, asked)?, folder, about)
}

/// Reads the text as a scenario, so that its errors appear now.
fn finish(text: String, folder: &Path, about: Vec<String>) -> Result<Imported, ScenarioError> {
    let scenario = Request::text(&text, MADE, folder, &[], None).load()?;
    let notes = scenario.setup.as_ref().map_or(Vec::new(), |setup| setup.notes.clone());
    Ok(Imported { text, notes, about })
}

/// Options that do not apply to a file of this format.
fn refuse_unused(what: &str, format: Option<Format>, asked: &Asked<'_>) -> Result<(), ScenarioError> {
    let of = |wanted: Format| format == Some(wanted);
    let unused = [
        ("--start-unit", asked.start_unit.is_some() && !of(Format::Matrix)),
        ("--ranks", asked.ranks.is_some() && !of(Format::SimAi)),
        ("--operations-per-second", asked.operations_per_second.is_some() && !of(Format::Chakra)),
        ("--collective-bytes", asked.collective_bytes.is_some() && !of(Format::Chakra)),
        ("--groups", asked.groups.is_some() && !of(Format::Chakra)),
    ];
    match unused.iter().find(|(_, is_unused)| *is_unused) {
        None => Ok(()),
        Some((option, _)) => {
            let table = match format {
                Some(_) => format!("a trace of format `{what}`"),
                None => what.into(),
            };
            Err(ScenarioError::nowhere(Problem::UnusedKey { key: (*option).into(), table }))
        }
    }
}

/// Finds the topology and the traffic among the files.
fn parts<'a>(files: &[Named<'a>], said: Option<Format>) -> Result<Parts<'a>, ScenarioError> {
    let mut topology: Option<(Named<'a>, Arc<Found>)> = None;
    let mut traffic: Option<(Named<'a>, Reader)> = None;
    for &(path, shown) in files {
        let (name, bytes) = crate::files::contents(path).map_err(ScenarioError::nowhere)?;
        let reader = kinds::find(&bytes).map(|kind| kind.reader).ok();
        // A format that the user names counts more than the content.
        let is_named = files.len() == 1 && said.is_some();
        let twice = |what: &str, other: &Path| {
            let text = format!("{} and {} are both {what}", other.display(), path.display());
            ScenarioError::nowhere(Problem::Contradiction(text))
                .help("a scenario has one topology, and `headway import` one file of traffic")
        };
        match reader {
            Some(Reader::Topology(_)) if !is_named => {
                if let Some(((other, _), _)) = &topology {
                    return Err(twice("topologies", other));
                }
                let text = crate::text::decode(&name, bytes)?;
                let found = graph::parse_any(&Source::new(name, text))?;
                topology = Some(((path, shown), Arc::new(found)));
            }
            Some(Reader::Sizes | Reader::Log(_) | Reader::Nothing(_)) if !is_named => {
                let (text, help) = kinds::other(&bytes, |_| false).unwrap_or_default();
                let file = Binary { name, bytes }.into_file();
                return Err(file
                    .fail(0..1, format!("{text}, and no traffic"))
                    .maybe_help(help.map(Into::into)));
            }
            reader => {
                let reader = reader.unwrap_or(Reader::Nothing(""));
                match &traffic {
                    // The files of several ranks are one trace.
                    Some((_, before)) if reader == Reader::Trace(Format::Chakra) && *before == reader => {}
                    Some(((other, _), _)) => return Err(twice("traffic", other)),
                    None => traffic = Some(((path, shown), reader)),
                }
            }
        }
    }
    match (traffic, topology) {
        (Some((traffic, kind)), topology) => Ok(Parts { traffic, kind, topology }),
        (None, topology) => {
            let name = topology.map_or(String::new(), |((path, _), _)| path.display().to_string());
            let text = format!("{name} is a topology, and there is no file of traffic beside it");
            let help = "give both, as in `headway import topology.txt flow.txt`; a scenario of your own names the topology by `file` of [topology]";
            Err(ScenarioError::nowhere(Problem::Contradiction(text)).help(help))
        }
    }
}

/// Paths as the scenario leads to them, and as they were given.
fn paths(files: &[Named<'_>], folder: &Path, asked: &Asked<'_>) -> Vec<(String, String)> {
    let all = files.iter().copied().chain(asked.groups);
    all.map(|(path, shown)| (folder.join(shown).display().to_string(), path.display().to_string())).collect()
}

/// An error in words of the command line: with paths as they were given, without a place in the text that is made here, and with options
/// for the keys of that text.
fn as_asked(error: ScenarioError, paths: &[(String, String)]) -> ScenarioError {
    let keys = ["start_unit", "ranks", "operations_per_second", "collective_bytes", "groups", "format"];
    let given =
        |text: &str| paths.iter().fold(text.to_string(), |text, (long, short)| text.replace(long, short));
    let placed = error.placed(|at| {
        let name = given(&at.source.name);
        if name == MADE {
            return None;
        }
        let Source { text, listing, .. } = &*at.source;
        let source = Source { name, text: text.clone(), listing: *listing };
        Some(Origin::new(&Arc::new(source), at.span.clone()))
    });
    placed.reworded(|text| {
        let mut text = text.replace(" of the entry", "").replace(" of [[traffic]]", "");
        for key in keys {
            text = text.replace(&format!("`{key}`"), &format!("`--{}`", key.replace('_', "-")));
        }
        given(&text)
    })
}

/// The groups of a trace with their ranks; of many the first.
fn about(trace: &Trace) -> Vec<String> {
    const MOST: usize = 16;
    let mut lines: Vec<String> = Vec::new();
    let used: BTreeSet<u32> = trace
        .operations
        .iter()
        .filter_map(|one| match one.what {
            What::Collective { group, .. } => Some(group),
            _ => None,
        })
        .collect();
    for &group in used.iter().take(MOST) {
        let called = trace.group_called(group as usize);
        lines.push(called.strip_prefix("the ").unwrap_or(&called).to_string());
    }
    if used.len() > MOST {
        lines.push(format!("and {} more groups", used.len() - MOST));
    }
    lines
}

/// A size with its unit.
fn bytes(text: &str) -> Result<u64, ScenarioError> {
    let fail = |reason: String| {
        ScenarioError::nowhere(Problem::Quantity { key: "--collective-bytes".into(), reason })
    };
    match quantity::parse_quantity(text) {
        Ok(found) if found.dimension == Dimension::Bytes && found.amount > 0 => Ok(found.amount),
        Ok(_) => Err(fail(format!("`{text}` is no size in bytes, such as \"1 MB\""))),
        Err(error) => Err(fail(error.to_string())),
    }
}

fn choice(what: &'static str, name: &str, known: &[&str]) -> Result<usize, ScenarioError> {
    known.iter().position(|one| *one == name).ok_or_else(|| {
        let error = ScenarioError::nowhere(Problem::NoSuchName { what, name: name.into() });
        error.maybe_help(names::name_suggestion(name, known.iter().copied()))
    })
}

/// Ports of the switches of the smallest fat-tree with so many hosts.
fn ports(hosts: u32) -> u32 {
    // A fat-tree of switches with k ports has k^3 / 4 hosts.
    let holds = |k: &u32| u64::from(*k).pow(3) / 4 >= u64::from(hosts);
    (2..).step_by(2).find(holds).unwrap_or(2)
}

/// The beginning of a scenario: its title, the topology that came with the traffic or a made one, and the transport.
fn head(parts: &Parts<'_>, hosts: u32, is_tree: bool, transport: &str) -> String {
    let name = |shown: &str| {
        Path::new(shown).file_name().map_or_else(|| shown.into(), |name| name.to_string_lossy().into_owned())
    };
    let (_, shown) = parts.traffic;
    let mut text = format!("title = {}\n\n[topology]\n", quoted(&format!("Trace {}", name(shown))));
    // Writing to a string cannot fail.
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(arguments);
    };
    match &parts.topology {
        Some(((_, shown), _)) => line(format_args!("kind = \"graph\"\nfile = {}\n", quoted(shown))),
        None if is_tree => {
            let k = ports(hosts);
            line(format_args!(
                "kind = \"fat-tree\"\nk = {k}\nhost_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\n"
            ));
        }
        None => line(format_args!(
            "kind = \"single-switch\"\nhosts = {}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n",
            hosts.max(2)
        )),
    }
    if is_tree {
        line(format_args!("\n[fabric]\nrouting = \"spray\"\n"));
    }
    line(format_args!("\n[transport]\nname = \"{transport}\"\n"));
    text
}

/// A scenario around a table of flows.
fn table(parts: &Parts<'_>) -> Result<String, ScenarioError> {
    let (path, shown) = parts.traffic;
    let (name, bytes) = crate::files::contents(path).map_err(ScenarioError::nowhere)?;
    let table = crate::import::csv::parse(&Source::new(name.clone(), crate::text::decode(&name, bytes)?))?;
    let last = table.flows.iter().map(|flow| flow.src.max(flow.dst)).max().unwrap_or(0);
    // A number that no network has gets its error when the text is read as a scenario.
    let hosts = u32::try_from(last + 1).unwrap_or(u32::MAX).min(1 << 20);
    let text = head(parts, hosts, hosts > MOST_OF_A_SWITCH && parts.topology.is_none(), "ndp");
    Ok(format!("{text}\n[[traffic]]\nkind = \"file\"\npath = {}\n", quoted(shown)))
}

fn text(trace: &Trace, parts: &Parts<'_>, asked: &Asked<'_>) -> Result<String, ScenarioError> {
    let (_, shown) = parts.traffic;
    let format = match parts.kind {
        Reader::Trace(format) => format,
        _ => asked
            .format
            .and_then(|name| NAMES.iter().position(|one| *one == name))
            .map_or(Format::Goal, Format::at),
    };
    let k = ports(trace.ranks);
    let is_ns3 = format == Format::Hpcc;
    // A matrix is of a fat-tree, whose switches spray; ns-3's send each flow over one path.
    let is_tree = format == Format::Matrix || (parts.topology.is_none() && trace.ranks > MOST_OF_A_SWITCH);
    let mut text = head(parts, trace.ranks, is_tree, if is_ns3 { "powertcp" } else { "ndp" });
    // Writing to a string cannot fail.
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(arguments);
    };
    line(format_args!("\n[[traffic]]\nkind = \"trace\"\npath = {}\n", quoted(shown)));
    if asked.format.is_some() {
        line(format_args!("format = \"{}\"\n", format.name()));
    }
    if let Some(unit) = asked.start_unit {
        line(format_args!("start_unit = \"{unit}\"\n"));
    }
    if let Some(ranks) = asked.ranks {
        line(format_args!("ranks = {ranks}\n"));
    }
    if let Some(rate) = asked.operations_per_second {
        // `{:?}` keeps the point of a whole number.
        line(format_args!("operations_per_second = {rate:?}\n"));
    }
    if trace.is_shared {
        line(format_args!("equal_groups = \"one\"\n"));
    }
    if let Some(bytes) = asked.collective_bytes {
        line(format_args!("collective_bytes = {}\n", quoted(bytes)));
    }
    if let Some((_, shown)) = asked.groups {
        line(format_args!("groups = {}\n", quoted(shown)));
    }
    if trace.failures.is_empty() {
        return Ok(text);
    }
    if parts.topology.is_some() {
        let problem = Problem::Contradiction("a failed link is numbered in htsim's own fat-tree".into());
        let error = ScenarioError::new(problem, &trace.origin(&trace.failures[0].at));
        return Err(error.help("leave the topology out, or write the failure as [[fault]] yourself"));
    }
    line(format_args!("failures = \"elsewhere\"\n"));
    let half = u64::from(k / 2);
    let mut links = Vec::new();
    for failure in &trace.failures {
        let whole = u64::from(k).pow(3) / 4 == u64::from(trace.ranks);
        if !whole || failure.link >= half || failure.switch >= half * u64::from(k) {
            let text = format!(
                "link {} of aggregation switch {} is not there in a fat-tree of {} hosts",
                failure.link, failure.switch, trace.ranks
            );
            return Err(ScenarioError::new(Problem::Contradiction(text), &trace.origin(&failure.at)));
        }
        // csg-htsim numbers switches over all pods.
        let (pod, place) = (failure.switch / half, failure.switch % half);
        links.push(format!("\"agg{pod}.{place}<->core{}\"", place * half + failure.link));
    }
    line(format_args!("\n[[fault]]\nlinks = [{}]\ndown_at = \"0 s\"\n", links.join(", ")));
    Ok(text)
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    // A string of JSON is one of TOML.
    serde_json::Value::String(text.into()).to_string()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write temporary directories")]
mod tests {
    use super::*;

    fn imported(name: &str, text: &str, asked: &Asked<'_>) -> Result<Imported, ScenarioError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        scenario(&[(&path, name)], folder.path(), asked)
    }

    #[test]
    fn failed_links_are_faults_of_the_tree() {
        let text = "Nodes 16\nConnections 1\nFailures 1\n0->15 id 1 start 0 size 9000\n\
            failure switch_type AGG switch_id 3 link_id 1\n";
        let written = imported("x.cm", text, &Asked::default()).expect("a scenario").text;
        assert!(written.contains("k = 4\n") && written.contains("failures = \"elsewhere\""), "{written}");
        // Switch 3 is the second of the second pod, under the cores 2 and 3.
        assert!(written.contains("links = [\"agg1.1<->core3\"]\ndown_at = \"0 s\""), "{written}");
        let far = text.replace("link_id 1", "link_id 2");
        let error = imported("x.cm", &far, &Asked::default()).expect_err("two links each").to_string();
        assert_eq!(error, "link 2 of aggregation switch 3 is not there in a fat-tree of 16 hosts");
    }

    #[test]
    fn what_is_asked_stands_in_the_scenario_and_what_has_no_effect_is_refused() {
        let goal = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n";
        let named = Asked { format: Some("goal"), ..Asked::default() };
        let written = imported("x.log", goal, &named).expect("a scenario").text;
        assert!(
            written.contains("hosts = 2\n") && written.contains("path = \"x.log\"\nformat = \"goal\"\n"),
            "{written}"
        );
        assert!(imported("x.log", goal, &Asked::default()).is_ok(), "its content says what it is");
        let error = imported("x.goal", "hello", &Asked::default()).expect_err("a text").to_string();
        assert!(error.starts_with("this is no file that Headway knows; it is not "), "{error}");
        let more = Asked { ranks: Some(2), ..Asked::default() };
        let error = imported("x.goal", goal, &more).expect_err("it says its ranks").to_string();
        assert_eq!(error, "key `--ranks` has no effect: a trace of format `goal` does not use it");
        let wrong = Asked { format: Some("gaol"), ..Asked::default() };
        assert_eq!(imported("x", goal, &wrong).expect_err("a slip").to_string(), "there is no format `gaol`");
        let simai = "MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8000 1\n";
        let asked = Asked { ranks: Some(4), ..Asked::default() };
        assert!(imported("x.txt", simai, &asked).expect("a scenario").text.contains("ranks = 4\n"));
    }
}
