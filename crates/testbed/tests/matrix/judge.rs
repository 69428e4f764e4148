//! Checks of a run on real packets, together with the same run in the simulator. They check only what noise cannot
//! change: completion, bytes, counts, and ratios too wide for it.

use crate::common::broken_identities;
use headway_gauges::Gauge;
use headway_network::{FlowState, Outcome};
use std::collections::BTreeSet;

/// A real run and the simulator's, both in the scenario's own units.
pub struct Pair {
    pub real: Outcome,
    pub simulated: Outcome,
    /// Bytes of each flow.
    pub bytes: Vec<u64>,
    /// Flows of which wrong bytes arrived, or the same twice.
    pub corrupted: Vec<u32>,
    /// 99 % of the frames left the switch at most so late, in nanoseconds.
    pub late_ns: u64,
}

/// A share of marked packets of which the other run has this many times more, or less, is another one.
const APART: f64 = 3.0;
/// Marked packets from which on a share is spoken of.
const FEW: f64 = 20.0;

/// Everything that is wrong with a run; nothing when all is well.
pub fn find_faults(pair: &Pair) -> Vec<String> {
    let mut found = check_messages(pair);
    found.extend(broken_identities(&pair.real));
    found.extend(check_measurements(pair));
    found
}

/// Every message whole, right and once.
fn check_messages(pair: &Pair) -> Vec<String> {
    let mut found = Vec::new();
    for (number, (flow, bytes)) in pair.real.flows.iter().zip(&pair.bytes).enumerate() {
        if flow.state != FlowState::Done || flow.delivered != *bytes {
            found.push(format!("flow {number} is {:?} with {} of {bytes} bytes", flow.state, flow.delivered));
        }
    }
    if !pair.corrupted.is_empty() {
        found.push(format!("wrong bytes, or the same twice, in flows {:?}", pair.corrupted));
    }
    found
}

/// The same quantities are measured as in the simulator, in the same units.
fn check_measurements(pair: &Pair) -> Vec<String> {
    let (real, simulated) = (gauge_names(&pair.real), gauge_names(&pair.simulated));
    let mut found = Vec::new();
    if real != simulated {
        found.push(format!("gauges {real:?}, in the simulator {simulated:?}"));
    }
    // A machine whose answers do not come for every packet may have measured none.
    let median = |o: &Outcome| o.round_trips.as_ref().and_then(|trips| trips.quantile(0.5));
    match (median(&pair.real), median(&pair.simulated)) {
        (None, None) => {}
        // Threads that wake up late make real round trips longer, so the upper bound is the wider one.
        (Some(here), Some(there)) if here < there * 20 && here * 4 > there => {}
        other => found.push(format!("median round trips {other:?} here and in the simulator")),
    }
    found
}

fn gauge_names(outcome: &Outcome) -> BTreeSet<&'static str> {
    let ports = outcome.links.iter().filter(|l| l.from_switch).flat_map(|l| &l.gauges);
    outcome.host_gauges.iter().flatten().chain(ports).map(|g: &Gauge| g.name).collect()
}

/// Number of packets on the bottleneck, and of those that were marked and dropped there.
#[derive(Clone, Copy)]
pub struct Bottleneck {
    pub packets: f64,
    pub marked: f64,
    pub dropped: f64,
}

impl Bottleneck {
    pub fn from_outcome(outcome: &Outcome, name: &str) -> Bottleneck {
        let link = outcome.links.iter().find(|l| l.name == name);
        let counters = link.map(|l| l.counters.clone()).unwrap_or_default();
        Bottleneck {
            // A link without packets has a share of 0, not of NaN.
            packets: (counters.received as f64).max(1.0),
            marked: counters.marked as f64,
            dropped: counters.drops() as f64 + counters.trimmed as f64,
        }
    }

    pub fn marked_share(&self) -> f64 {
        self.marked / self.packets
    }
}

/// If the simulator's marks differ between an idle link and a full one, real ones must, too: returns the sentence for
/// the row, and the failure.
pub fn compare_marks(idle: &[Bottleneck; 2], full: &[Bottleneck; 2]) -> (String, Option<String>) {
    let [real_idle, simulated_idle] = idle.map(|b| b.marked_share());
    let [real_full, simulated_full] = full.map(|b| b.marked_share());
    let more = |a: f64, b: f64| a > b * APART;
    let count = |b: &Bottleneck| b.marked;
    let text = format!("{:.0}% idle, {:.0}% full", real_idle * 100.0, real_full * 100.0);
    if more(simulated_full, simulated_idle) && count(&full[1]) >= FEW {
        // Real packets have to show less of a difference than the simulator's, because of noise.
        let right = real_full > real_idle * 2.0;
        return (text.clone(), (!right).then(|| format!("marks tell nothing: {text}")));
    }
    if more(simulated_idle, simulated_full) && simulated_idle * full[1].packets >= FEW {
        let right = real_idle > real_full * 2.0;
        return (text.clone(), (!right).then(|| format!("marks tell nothing: {text}")));
    }
    ("-".into(), None)
}

/// If the simulator's senders share the link without a loss, real ones must nearly: a price, credit or grant that did
/// not arrive would have them send twice as much as the link carries.
pub fn check_restraint(full: &[Bottleneck; 2]) -> Option<String> {
    let [real, simulated] = full;
    let lost = real.dropped / real.packets;
    let wrong = simulated.dropped == 0.0 && lost > 0.05;
    wrong.then(|| format!("{:.0}% of the packets lost to a full queue, none in the simulator", lost * 100.0))
}

/// Mean completion time, relative to the simulator's.
pub fn relative_completion(pair: &Pair) -> f64 {
    let mean = |o: &Outcome| {
        let times: Vec<f64> = o.flows.iter().filter_map(|f| f.finish).map(|t| t.as_secs_f64()).collect();
        times.iter().sum::<f64>() / times.len().max(1) as f64
    };
    mean(&pair.real) / mean(&pair.simulated)
}
