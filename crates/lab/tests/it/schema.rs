//! Runs write what `results::schema` declares.

#![allow(clippy::disallowed_methods, reason = "reads and writes documentation")]

use crate::common;

use common::{SMALL, good, run};
use headway_lab::results::schema::{self, GaugeField, Number, Of};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The summary of the small scenario with this transport.
fn summary(transport: &str) -> Json {
    run(&good(SMALL, &[&format!("transport.name={transport}")])).summary
}

/// The summary of the small scenario with flows of two transports, one of which waits for another, and a few random ones.
fn mixed() -> Json {
    let other = "[[traffic]]\nkind = \"flows\"\ntransport = \"cubic\"\n\
                 flows = [{ name = \"a\", src = 0, dst = 3, bytes = \"1 MB\" }, { src = 3, dst = 0, bytes = 9, after = [\"a\"] }]\n\
                 [[traffic]]\nkind = \"poisson\"\ncdf = { kind = \"uniform\", mean = \"9 kB\", spread = 0 }\nload = 0.1\nflows = 3\n";
    let sample = "[sample]\nvolumes = true\n";
    run(&good(
        &format!("{SMALL}\n{other}\n{sample}"),
        &["transport.name=dctcp", "fabric.discipline=ecn-threshold"],
    ))
    .summary
}

fn keys(json: &Json) -> BTreeSet<&str> {
    json.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn declared<F: Copy>(numbers: &[Number<F>], of: impl Fn(F) -> bool) -> BTreeSet<&'static str> {
    numbers.iter().filter(|number| of(number.of)).map(|number| number.field.name).collect()
}

#[test]
fn a_summary_has_the_keys_that_are_declared() {
    let summary = mixed();
    assert_eq!(keys(&summary), declared(schema::SUMMARY, Of::is_of_run));
    for part in summary["by_transport"].as_object().expect("two transports").values() {
        assert_eq!(keys(part), declared(schema::SUMMARY, Of::is_of_transport));
    }
    let links = summary["busiest_links"].as_array().expect("a list");
    assert!(!links.is_empty() && links.len() <= 16);
    for link in links {
        let entries = link["entries"].as_array().expect("a list");
        let sum: u64 = entries.iter().filter_map(|entry| entry["bytes"].as_u64()).sum();
        // Those that arrive at random are too few for every link.
        assert!((2..=3).contains(&entries.len()), "{link}");
        assert_eq!(Some(sum), link["bytes"].as_u64(), "{link}");
    }
    let jobs = summary["jobs"].as_array().expect("a list");
    assert_eq!(jobs.len(), 1);
    assert_eq!(keys(&jobs[0]), declared(schema::JOBS, |_| true));
    assert_eq!(keys(&summary["round_trips"]), declared(schema::ROUND_TRIPS, |_| true));
}

#[test]
fn a_run_has_the_gauges_that_its_transport_and_its_discipline_declare() {
    let of = |owner: &str| schema::gauges().into_iter().filter(|gauge| gauge.owners.contains(&owner)).count();
    assert!(of("rpo") > 0 && of("cross-queue-ecn") > 0 && of("no-such-owner") == 0);
    for entry in headway_transport::registry::all_entries() {
        let owners = [entry.info.name, entry.info.discipline];
        let own = |gauge: &GaugeField| owners.iter().any(|owner| gauge.owners.contains(owner));
        let gauges: BTreeSet<_> =
            schema::gauges().into_iter().filter(own).map(|gauge| gauge.field.name).collect();
        let summary = summary(entry.info.name);
        assert_eq!(keys(&summary["gauges"]), gauges, "{}", entry.info.name);
        for gauge in summary["gauges"].as_object().expect("gauges").values() {
            assert_eq!(keys(gauge), declared(schema::GAUGE_PARTS, |_| true), "{}", entry.info.name);
        }
    }
}
