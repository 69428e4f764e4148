//! Gain of more threads for a run, estimated from the events in each part of its network.
//!
//! The network is divided as it is for so many threads, and its parts take turns on one. Each window of time counts with
//! the events of its busiest part, and one in which parts cannot go on side by side with all of its events. An event
//! takes the time that it takes on one thread here; what other threads' caches give or take is left out. At the end
//! of a window all threads wait for each other: for two that is measured here, and as much again for each doubling of
//! their number.

use super::{Clock, explain};
use crate::scenario::Scenario;
use crate::text::LabError;
use headway_network::RunSpec;
use headway_sim::{Around, Trial};
use serde_json::{Value as Json, json};

/// Meetings that are timed together, and how often: the quickest are those that nothing else held up.
const MEETINGS: u64 = 200;
const TIMES: usize = 50;

/// Counts of windows.
#[derive(Default)]
struct Counted {
    parts: usize,
    windows: u64,
    /// Windows in which parts went on side by side.
    together: u64,
    events: u64,
    /// Events of the busiest part of each window, or of all where they were one by one.
    critical: u64,
    /// Events of windows in which all were one by one.
    one_by_one: u64,
}

impl Trial for Counted {
    fn window(&mut self, events: &[u64], together: bool) {
        let all: u64 = events.iter().sum();
        self.parts = events.len();
        self.windows += 1;
        self.events += all;
        if together {
            self.together += 1;
            self.critical += events.iter().max().copied().unwrap_or(0);
        } else {
            self.one_by_one += all;
            self.critical += all;
        }
    }
}

/// The speed-up of a run for each number of threads, as rows of a table (see docs/scaling.md for their meaning).
pub fn scaling(scenario: &Scenario, threads: &[usize]) -> Result<Json, LabError> {
    let setup = scenario.setup()?;
    setup.check_memory()?;
    let resolved = setup.resolve(scenario.seed)?;
    let spec = &resolved.spec;
    let fail = |error| explain(error, scenario, &resolved);
    let clock = Clock::start();
    let outcome = headway_sim::run(spec, &mut |_| true).map_err(fail)?;
    let alone = clock.elapsed().as_secs_f64();
    let times = (0..TIMES).map(|_| {
        let clock = Clock::start();
        headway_sim::meet(2, MEETINGS);
        clock.elapsed().as_secs_f64() / MEETINGS as f64
    });
    // The shortest: longer ones were disturbed.
    let meeting = times.fold(f64::INFINITY, f64::min);
    let mut rows = Vec::new();
    for &threads in threads {
        let counted = count(spec, threads).map_err(fail)?;
        rows.push(row(threads, &counted, alone, outcome.events, meeting));
    }
    Ok(json!({ "wall_s": alone, "events": outcome.events, "meeting_s": meeting, "threads": rows }))
}

fn count(spec: &RunSpec, threads: usize) -> Result<Counted, headway_network::RunError> {
    let mut counted = Counted::default();
    let around = Around { threads, trial: Some(&mut counted), ..Around::default() };
    headway_sim::run_within(spec, around, &mut |_| true)?;
    Ok(counted)
}

fn row(threads: usize, counted: &Counted, alone: f64, events: u64, meeting: f64) -> Json {
    // A run of one part has nothing to count.
    if counted.parts < 2 {
        return json!({ "threads": threads, "parts": 1, "speedup": 1.0, "limit": "one part" });
    }
    let an_event = alone / events.max(1) as f64;
    let waits = counted.together as f64 * meeting * libm::log2(counted.parts as f64);
    let work = counted.critical as f64 * an_event;
    let even = (counted.events - counted.one_by_one) as f64 / counted.parts as f64;
    let lost = [
        ("uneven parts", (counted.critical - counted.one_by_one) as f64 * an_event - even * an_event),
        ("events one by one", counted.one_by_one as f64 * an_event),
        ("waiting for each other", waits),
    ];
    let limit = lost.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |most| most.0);
    json!({
        "threads": threads,
        "parts": counted.parts,
        "windows": counted.windows,
        "critical_events": counted.critical,
        "one_by_one_events": counted.one_by_one,
        "speedup_without_waiting": alone / work.max(f64::MIN_POSITIVE),
        "speedup": alone / (work + waits).max(f64::MIN_POSITIVE),
        "limit": limit,
    })
}
