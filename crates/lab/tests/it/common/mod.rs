//! Helpers that the tests of the lab share.

#![allow(dead_code, unreachable_pub, reason = "every test binary uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "tests read the repository and write temporary directories")]

use headway_lab::{Options, Request, RunOutput, Scenario, ScenarioError, run_scenario};
use std::path::{Path, PathBuf};

/// A dumbbell of two senders and two receivers with one flow: small enough to show in messages.
pub const SMALL: &str = r#"seed = 1

[topology]
kind = "dumbbell"
senders = 2
receivers = 2
rate = "10 Gbps"
delay = "10 us"

[transport]
name = "amrt"

[[traffic]]
kind = "flows"
flows = [
  { name = "f0", src = 0, dst = 2, bytes = "1 MB" },
  { name = "f1", src = 1, dst = 3, bytes = "200 kB", start = "50 us" },
]
"#;

/// A leaf-spine under a Poisson workload; `LOAD` stands for further keys of its traffic.
pub const LEAF_SPINE: &str = r#"seed = 1

[topology]
kind = "leaf-spine"
racks = 4
hosts_per_rack = 8
spines = 4
host_rate = "10 Gbps"
spine_rate = "10 Gbps"
host_delay = "1 us"

[transport]
name = "amrt"

[[traffic]]
kind = "poisson"
cdf = "dctcp_websearch"
load = 0.5
LOAD
"#;

/// The folder of the fixtures.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A scenario from a string called `scenario.toml`, with relative paths in the fixtures.
pub fn load(text: &str, sets: &[&str]) -> Result<Scenario, ScenarioError> {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    Request::text(text, "scenario.toml", &fixtures(), &sets, None).load()
}

/// A scenario from a string called `scenario.toml`; panics if it has a mistake.
#[track_caller]
pub fn good(text: &str, sets: &[&str]) -> Scenario {
    load(text, sets).unwrap_or_else(|e| panic!("{}", e.render()))
}

/// Runs a scenario in memory.
#[track_caller]
pub fn run(scenario: &Scenario) -> RunOutput {
    run_scenario(scenario, &Options::default(), &mut |_| true).unwrap_or_else(|e| panic!("{}", e.render()))
}
