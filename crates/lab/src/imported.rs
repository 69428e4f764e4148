//! A small scenario around a trace: what `headway import` writes.

use crate::files::{Opened, Unopened};
use crate::import::cm;
use crate::import::format::{Format, NAMES, Told};
use crate::import::trace::{Trace, What};
use crate::scenario::Request;
use crate::text::quantity::{self, Dimension};
use crate::text::{Problem, ScenarioError, names};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// What is known of a trace beside its files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Asked<'a> {
    /// Name of its format; by the file if `None`.
    pub format: Option<&'a str>,
    /// What start times of a matrix count, `ps` or `us`.
    pub start_unit: Option<&'a str>,
    /// Its ranks, where the file does not say it.
    pub ranks: Option<u32>,
    /// How long computations without a duration take.
    pub operations_per_second: Option<f64>,
    /// The buffer of a collective that is given in chunks.
    pub collective_bytes: Option<&'a str>,
    /// A list of groups, and what the scenario calls it.
    pub groups: Option<(&'a Path, &'a str)>,
}

/// A scenario that runs a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its text.
    pub text: String,
    /// What was assumed, and what of the file has no effect.
    pub notes: Vec<String>,
    /// What the file holds: its groups with their ranks.
    pub about: Vec<String>,
}

/// Most hosts of one switch.
const MOST_OF_A_SWITCH: u32 = 64;

/// A scenario for the trace at `path`, which it calls `shown`; it will stand in `folder`.
pub fn scenario(
    path: &Path,
    shown: &str,
    folder: &Path,
    asked: &Asked<'_>,
) -> Result<Imported, ScenarioError> {
    let said = asked.format.map(|name| choice("format", name, &NAMES)).transpose()?.map(Format::at);
    let unit = asked.start_unit.map(|name| choice("unit", name, cm::START_UNITS)).transpose()?;
    let opened =
        Opened::new(path, said, asked.groups.map(|(path, _)| path)).map_err(|problem| match problem {
            Unopened::Unreadable(problem) => ScenarioError::nowhere(problem),
            Unopened::Unknown => {
                let problem = Problem::Syntax(format!(
                    "{}: neither its name nor its content says what it is",
                    path.display()
                ));
                ScenarioError::nowhere(problem).help(format!("`--format` does: {}", NAMES.join(", ")))
            }
        })?;
    let format = opened.format;
    let unused = [
        ("--start-unit", unit.is_some() && format != Format::Matrix),
        ("--ranks", asked.ranks.is_some() && format != Format::SimAi),
        ("--operations-per-second", asked.operations_per_second.is_some() && format != Format::Chakra),
        ("--collective-bytes", asked.collective_bytes.is_some() && format != Format::Chakra),
        ("--groups", asked.groups.is_some() && format != Format::Chakra),
    ];
    if let Some((option, _)) = unused.iter().find(|(_, is_unused)| *is_unused) {
        let table = format!("a trace of format `{}`", format.name());
        return Err(ScenarioError::nowhere(Problem::UnusedKey { key: (*option).into(), table }));
    }
    let told = Told {
        start_unit: unit.map(cm::start_unit),
        ranks: asked.ranks,
        operations_per_second: asked.operations_per_second,
        collective_bytes: asked.collective_bytes.map(bytes).transpose()?,
    };
    let trace = format.read(opened.files, opened.groups, &told)?;
    let about = about(&trace);
    let text = text(&trace, format, shown, asked)?;
    // What the reader of scenarios says of it, it says now.
    let scenario = Request::text(&text, "the scenario to be written", folder, &[], None).load()?;
    let notes = scenario.setup.as_ref().map_or(Vec::new(), |setup| setup.notes.clone());
    Ok(Imported { text, notes, about })
}

/// A size with its unit.
fn bytes(text: &str) -> Result<u64, ScenarioError> {
    let fail = |reason: String| {
        ScenarioError::nowhere(Problem::Quantity { key: "--collective-bytes".into(), reason })
    };
    match quantity::parse(text) {
        Ok(found) if found.dimension == Dimension::Bytes && found.amount > 0 => Ok(found.amount),
        Ok(_) => Err(fail(format!("`{text}` is no size in bytes, such as \"1 MB\""))),
        Err(error) => Err(fail(error.to_string())),
    }
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

fn choice(what: &'static str, name: &str, known: &[&str]) -> Result<usize, ScenarioError> {
    known.iter().position(|one| *one == name).ok_or_else(|| {
        let error = ScenarioError::nowhere(Problem::NoSuchName { what, name: name.into() });
        error.maybe_help(names::suggestion(name, known.iter().copied()))
    })
}

/// Ports of the switches of the smallest fat-tree with so many hosts.
fn ports(hosts: u32) -> u32 {
    let holds = |k: &u32| u64::from(*k).pow(3) / 4 >= u64::from(hosts);
    (2..).step_by(2).find(holds).unwrap_or(2)
}

fn text(trace: &Trace, format: Format, shown: &str, asked: &Asked<'_>) -> Result<String, ScenarioError> {
    let name =
        Path::new(shown).file_name().map_or_else(|| shown.into(), |name| name.to_string_lossy().into_owned());
    let k = ports(trace.ranks);
    // A matrix is of a fat-tree.
    let is_tree = format == Format::Matrix || trace.ranks > MOST_OF_A_SWITCH;
    let mut text = format!("title = {}\n\n[topology]\n", quoted(&format!("Trace {name}")));
    // Writing to a string cannot fail.
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(arguments);
    };
    if is_tree {
        line(format_args!("kind = \"fat-tree\"\nk = {k}\nhost_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\n"));
        line(format_args!("\n[fabric]\nrouting = \"spray\"\n"));
    } else {
        let hosts = trace.ranks.max(2);
        line(format_args!(
            "kind = \"single-switch\"\nhosts = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n"
        ));
    }
    line(format_args!(
        "\n[transport]\nname = \"ndp\"\n\n[[traffic]]\nkind = \"trace\"\npath = {}\n",
        quoted(shown)
    ));
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
        line(format_args!("operations_per_second = {rate:?}\n"));
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
        scenario(&path, name, folder.path(), asked)
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
        let error = imported("x.log", goal, &Asked::default()).expect_err("no format").to_string();
        assert!(error.ends_with("neither its name nor its content says what it is"), "{error}");
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
