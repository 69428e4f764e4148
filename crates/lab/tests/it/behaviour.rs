//! Results of each transport in six small scenarios, as numbers that can be read: `tests/golden/behaviour` holds a
//! table for each transport of the registry. A digest of the order of events says that something changed; these say
//! what it did to completion times, queues and drops. `HEADWAY_TRANSPORTS=mine` leaves out the other transports.

#![allow(clippy::disallowed_methods, reason = "tests read the repository")]

use crate::common::{good, repository, run};
use headway_harness::selected_transports;
use headway_lab::RunOutput;
use serde_json::Value as Json;
use std::fmt::Write;
use std::path::PathBuf;

/// The scenarios, each a file next to the tables.
const SCENARIOS: [&str; 6] = ["incast", "dumbbell", "web-search", "faults", "parking-lot", "permutation"];

/// A column: its heading, its width, and its number in a run.
type Column = (&'static str, usize, fn(&RunOutput) -> f64);

const COLUMNS: [Column; 12] = [
    ("done", 5, |run| number(run, "flows_done")),
    ("mean_fct_us", 12, |run| 1e6 * number(run, "fct_mean_s")),
    ("p99_fct_us", 12, |run| 1e6 * number(run, "fct_p99_s")),
    ("mean_slowdown", 14, |run| number(run, "slowdown_mean")),
    ("p99_slowdown", 13, |run| number(run, "slowdown_p99")),
    ("bottleneck_%", 13, |run| 100.0 * number(run, "bottleneck_utilisation")),
    ("mean_queue_B", 13, longest_mean_queue),
    ("max_queue_B", 12, |run| number(run, "queue_max_bytes")),
    ("drops", 7, |run| number(run, "drops")),
    ("trims", 7, |run| number(run, "trims")),
    ("marks", 7, |run| number(run, "marks")),
    ("resent_B", 10, |run| number(run, "retransmitted_bytes")),
];

/// A number of the summary; NaN where a run has none, as a mean of no flows.
fn number(run: &RunOutput, key: &str) -> f64 {
    match &run.summary[key] {
        Json::Null => f64::NAN,
        value => value.as_f64().unwrap_or_else(|| panic!("{key} is {value}")),
    }
}

/// The mean queue, in bytes over the whole run, of the port that has the longest.
fn longest_mean_queue(run: &RunOutput) -> f64 {
    let column = run.links.numbers::<f64>("queue_mean_bytes").expect("a column of every run");
    column.values().iter().copied().fold(0.0, f64::max)
}

/// Six significant digits: enough to see any change that matters, and to read.
fn shown(value: f64) -> String {
    // Zero has no logarithm.
    let digits = if value == 0.0 { 0 } else { (5 - value.abs().log10().floor() as i32).max(0) as usize };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn folder() -> PathBuf {
    repository().join("tests/golden/behaviour")
}

/// The table of a transport, over the ports that it is made for.
fn table(transport: &str) -> String {
    let mut out = format!("{:<12}", "scenario");
    for (name, width, _) in COLUMNS {
        let _ = write!(out, "{name:>width$}");
    }
    for scenario in SCENARIOS {
        let file = folder().join(format!("{scenario}.toml"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let run = run(&good(&text, &[&format!("transport.name={transport}")]));
        let _ = write!(out, "\n{scenario:<12}");
        for (_, width, value) in COLUMNS {
            let _ = write!(out, "{:>width$}", shown(value(&run)));
        }
    }
    out + "\n"
}

/// Differences, number by number: `web-search p99_fct_us 812.4 -> 837.6 (+3.1 %)`.
fn changes(committed: &str, found: &str) -> Vec<String> {
    let rows = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let (old, new) = (rows(committed), rows(found));
    if old.first() != new.first() || old.len() != new.len() {
        return vec!["the table has other columns or other scenarios".into()];
    }
    let heads = &new[0];
    let mut out = Vec::new();
    for (before, after) in old.iter().zip(&new).skip(1) {
        if before[0] != after[0] || before.len() != after.len() {
            out.push(format!("{} stands where {} is expected", before[0], after[0]));
            continue;
        }
        for ((head, was), is) in heads.iter().zip(before).zip(after).filter(|((_, was), is)| was != is) {
            let share = match (was.parse::<f64>(), is.parse::<f64>()) {
                (Ok(was), Ok(is)) if was > 0.0 && is.is_finite() => {
                    format!(" ({:+.1} %)", 100.0 * (is / was - 1.0))
                }
                _ => String::new(),
            };
            out.push(format!("{} {head} {was} -> {is}{share}", after[0]));
        }
    }
    out
}

#[test]
fn every_transport_behaves_as_its_table_says() {
    let mut wrong = String::new();
    for transport in selected_transports() {
        let file = folder().join(format!("{transport}.txt"));
        let found = table(transport);
        if std::env::var_os("HEADWAY_BLESS").is_some() {
            std::fs::write(&file, &found).expect("the table can be written");
            continue;
        }
        match std::fs::read_to_string(&file) {
            Err(_) => _ = writeln!(wrong, "{transport} has no table yet"),
            Ok(committed) => {
                for change in changes(&committed, &found) {
                    let _ = writeln!(wrong, "{transport}: {change}");
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}if this is meant, HEADWAY_BLESS=1 cargo test -p headway-lab --test it behaviour:: writes the tables"
    );
}

#[test]
fn a_table_of_no_transport_is_found() {
    for entry in std::fs::read_dir(folder()).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let known = match path.extension().and_then(|e| e.to_str()) {
            Some("txt") => headway_transport::registry::NAMES.contains(&name.as_str()),
            _ => SCENARIOS.contains(&name.as_str()),
        };
        assert!(known, "{} belongs to nothing", path.display());
    }
}

#[test]
fn a_change_is_told_by_its_share() {
    let before = "scenario p99_fct_us drops\nincast 800 0\n";
    assert_eq!(changes(before, before), Vec::<String>::new());
    let after = "scenario p99_fct_us drops\nincast 824.8 3\n";
    assert_eq!(changes(before, after), ["incast p99_fct_us 800 -> 824.8 (+3.1 %)", "incast drops 0 -> 3"]);
    assert_eq!(changes(before, "scenario drops\n"), ["the table has other columns or other scenarios"]);
}
