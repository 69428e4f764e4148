//! Record of a run, its version and its machine: `manifest.json`.

#![allow(clippy::disallowed_methods, reason = "the manifest says on which machine a run was made")]

use crate::scenario::{EPOCH, Resolved, Scenario, VERSION};
use crate::text::ScenarioError;
use crate::topology::layout;
use headway_network::{LinkRecord, Outcome};
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// The formula behind `ideal_s`.
pub const IDEAL_FCT_FORMULA: &str = "store and forward on the flow's path without other packets: \
    E[h][i] = max(E[h-1][i] + d_(h-1) + s, E[h][i-1]) + w_i / C_h, FCT = E[H][N] + d_H; packets i of w_i bytes on the \
    wire, links h of rate C_h and delay d_h, switch latency s; from the hand-over at the sender to the last byte at the receiver";

/// Facts about a run that the driver knows and the simulator does not.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// Wall-clock time of the simulation.
    pub wall: Duration,
    /// Commit that the program was built from, if it was built from one.
    pub commit: Option<String>,
    /// Estimated bytes of memory.
    pub memory_bytes: u64,
    /// Sentences about what looks odd.
    pub warnings: Vec<String>,
    /// Record of a run on real packets; `None` for a simulation.
    pub testbed: Option<Json>,
}

/// Makes the manifest.
pub fn manifest(
    scenario: &Scenario,
    resolved: &Resolved,
    outcome: &Outcome,
    around: &RunInfo,
) -> Result<Json, ScenarioError> {
    let setup = scenario.setup()?;
    // The sizes are those that were run: packets on real wires have other sizes than those that the scenario asks for.
    let sizes = resolved.spec.fabric.sizes;
    let wall = around.wall.as_secs_f64();
    let per_s = |n: u64| if wall > 0.0 { n as f64 / wall } else { 0.0 };
    let mut manifest = json!({
        "version": VERSION,
        "epoch": EPOCH,
        "commit": around.commit,
        "seed": scenario.seed,
        "digest": scenario.digest(),
        "host": machine(),
        "wall_s": wall,
        "virtual_s": crate::text::quantity::as_seconds(outcome.end),
        "events": outcome.events,
        "events_per_s": per_s(outcome.events),
        "packet_hops": outcome.packet_hops,
        "packet_hops_per_s": per_s(outcome.packet_hops),
        "order_digest": format!("{:016x}", outcome.digest),
        "memory_estimate_bytes": around.memory_bytes,
        "interrupted": outcome.interrupted,
        "faults": faults(outcome),
        "warnings": around.warnings,
        "testbed": around.testbed,
        "ideal_fct_formula": IDEAL_FCT_FORMULA,
        "packet_sizes": {
            "payload": sizes.payload, "header": sizes.header, "framing": sizes.framing,
            "control": sizes.control, "full_wire": sizes.full_wire(),
        },
        "topology": layout::topology_json(&setup.topology),
    });
    let mut whole = about(scenario);
    if let Json::Object(rest) = &mut manifest {
        whole.append(rest);
    }
    Ok(Json::Object(whole))
}

/// The part of a manifest that says which scenario asked for the run, which others may share.
pub fn about(scenario: &Scenario) -> Map<String, Json> {
    Map::from_iter([
        ("name".to_string(), scenario.about.name.as_str().into()),
        ("scenario".into(), scenario.resolved_json()),
        ("written".into(), scenario.written_json()),
        ("figures".into(), figures(&scenario.report).into()),
    ])
}

/// Counts of faults on each link that had any.
fn faults(outcome: &Outcome) -> Vec<Json> {
    let row = |link: &LinkRecord| {
        let faults = &link.faults;
        json!({ "link": link.name, "dropped_by_number": faults.dropped_by_number,
            "dropped_at_random": faults.dropped_at_random, "dropped_in_blackhole": faults.dropped_in_blackhole,
            "dropped_on_the_wire": faults.dropped_on_the_wire, "dropped_without_route": faults.dropped_without_route, "duplicated": faults.duplicated,
            "delayed": faults.delayed })
    };
    outcome.links.iter().filter(|l| !l.faults.is_zero()).map(row).collect()
}

/// The figures that the scenario asks for, as a list.
fn figures(report: &Json) -> Vec<Json> {
    match report.get("figure") {
        Some(Json::Array(list)) => list.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    }
}

fn machine() -> Json {
    // Systems without /proc leave these out.
    let line = |path: &str| std::fs::read_to_string(path).ok().map(|t| t.trim().to_string());
    let cpu = line("/proc/cpuinfo").and_then(|text| {
        let model = text.lines().find(|l| l.starts_with("model name"))?;
        Some(model.split_once(':')?.1.trim().to_string())
    });
    json!({
        "name": line("/proc/sys/kernel/hostname"),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "cpu": cpu,
        "cpus": std::thread::available_parallelism().map(|n| n.get()).ok(),
    })
}
