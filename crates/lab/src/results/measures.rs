//! What is measured of flows, of ports and of machines: a part of a summary each.

use super::statistics::{equal_count, jain, mean, quantile};
use super::tables::slowdown;
use crate::text::quantity::seconds;
use headway_gauges::{Gauge, RoundTrips};
use headway_network::{FlowRecord, FlowSpec, FlowState};
use headway_units::Time;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Bins of equal count.
const BINS: usize = 10;
/// Upper bounds of the fixed bands, with their keys; the last has none.
const BANDS: [(&str, u64); 4] =
    [("le_10kB", 10_000), ("le_100kB", 100_000), ("le_1MB", 1_000_000), ("gt_1MB", u64::MAX)];

/// Flows with their records.
pub(super) type Flows<'a> = [(&'a FlowSpec, &'a FlowRecord)];

/// One flow that counts: finished, and not started in the warm-up.
pub(super) struct Measured {
    pub(super) bytes: u64,
    pub(super) fct: f64,
    pub(super) slowdown: Option<f64>,
}

/// The numbers of one part of the flows, `end` being that of the run.
pub(super) fn of_flows(map: &mut Map<String, Json>, flows: &Flows<'_>, warmup: Time, end: Time) {
    let measured = measured(flows, warmup);
    states(map, flows, &measured);
    counts(map, flows);
    fairness(map, &measured);
    map.insert("deadline_missed_fraction".into(), json!(deadlines(flows, warmup, end)));
}

/// How flows ended, and how long those took that are measured.
pub(super) fn states(map: &mut Map<String, Json>, flows: &Flows<'_>, measured: &[Measured]) {
    let count = |state: fn(FlowState) -> bool| flows.iter().filter(|(_, r)| state(r.state)).count();
    map.insert("flows_done".into(), count(|s| s == FlowState::Done).into());
    let open = count(|s| matches!(s, FlowState::Unfinished | FlowState::Pending));
    map.insert("flows_unfinished".into(), open.into());
    map.insert("flows_failed".into(), count(|s| s == FlowState::Failed).into());
    map.insert("flows_measured".into(), measured.len().into());
    map.append(&mut completion(measured));
    map.insert("by_size".into(), json!({ "equal_count": even_bins(measured), "bands": bands(measured) }));
}

/// What records of flows count.
pub(super) fn counts(map: &mut Map<String, Json>, flows: &Flows<'_>) {
    let sum = |get: fn(&FlowRecord) -> u64| flows.iter().map(|(_, record)| get(record)).sum::<u64>();
    map.insert("marks".into(), sum(|r| u64::from(r.marks)).into());
    map.insert("retransmitted_bytes".into(), sum(|r| r.retransmitted).into());
}

pub(super) fn fairness(map: &mut Map<String, Json>, measured: &[Measured]) {
    let moved = measured.iter().filter(|m| m.fct > 0.0);
    let throughputs: Vec<f64> = moved.map(|m| 8.0 * m.bytes as f64 / m.fct).collect();
    map.insert("jain".into(), json!(jain(&throughputs)));
}

/// The flows that count, the smallest first.
pub(super) fn measured(flows: &Flows<'_>, warmup: Time) -> Vec<Measured> {
    let one = |(flow, record): &(&FlowSpec, &FlowRecord)| {
        let finish = record.finish.filter(|_| record.state == FlowState::Done)?;
        let slowdown = slowdown(flow.start, Some(finish), record.ideal);
        Some(Measured { bytes: flow.bytes, fct: seconds(finish - flow.start), slowdown })
    };
    let late = flows.iter().filter(|(flow, _)| flow.start >= warmup);
    let mut measured: Vec<Measured> = late.filter_map(one).collect();
    measured.sort_by_key(|m| m.bytes);
    measured
}

/// Means and quantiles of completion times and slowdowns.
pub(super) fn completion(flows: &[Measured]) -> Map<String, Json> {
    let mut map = Map::new();
    let sorted = |values: Vec<f64>| {
        let mut values = values;
        values.sort_by(f64::total_cmp);
        values
    };
    let fct = sorted(flows.iter().map(|f| f.fct).collect());
    let slowdown = sorted(flows.iter().filter_map(|f| f.slowdown).collect());
    for (name, unit, values) in [("fct", "_s", &fct), ("slowdown", "", &slowdown)] {
        map.insert(format!("{name}_mean{unit}"), json!(mean(values)));
        for (label, q) in [("p50", 0.50), ("p95", 0.95), ("p99", 0.99)] {
            map.insert(format!("{name}_{label}{unit}"), json!(quantile(values, q)));
        }
        map.insert(format!("{name}_max{unit}"), json!(values.last()));
    }
    map
}

pub(super) fn bin(flows: &[Measured]) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("from_bytes".into(), json!(flows.first().map(|f| f.bytes)));
    map.insert("to_bytes".into(), json!(flows.last().map(|f| f.bytes)));
    map.insert("count".into(), flows.len().into());
    map.append(&mut completion(flows));
    map
}

/// Bins of equal count; flows of one size stay together, so there may be fewer bins than asked for.
pub(super) fn even_bins(flows: &[Measured]) -> Json {
    let bounds = equal_count(flows.len(), BINS, |i| flows[i].bytes == flows[i - 1].bytes);
    bounds.windows(2).map(|w| Json::Object(bin(&flows[w[0]..w[1]]))).collect()
}

pub(super) fn bands(flows: &[Measured]) -> Json {
    let mut map = Map::new();
    let mut first = 0;
    for (key, most) in BANDS {
        let last = flows.partition_point(|f| f.bytes <= most);
        map.insert(key.into(), Json::Object(bin(&flows[first..last])));
        first = last;
    }
    Json::Object(map)
}

/// Gauges by name: the largest value that any of that name ever had, the mean of their means over time, and the sum of
/// their last values.
pub(super) fn gauges<'a>(gauges: impl Iterator<Item = &'a Gauge>) -> Json {
    let mut by_name: BTreeMap<&str, Vec<&Gauge>> = BTreeMap::new();
    for gauge in gauges {
        by_name.entry(gauge.name).or_default().push(gauge);
    }
    let one = |(name, all): (&str, Vec<&Gauge>)| {
        let most = all.iter().map(|g| g.max).max();
        let means: Vec<f64> = all.iter().map(|g| g.mean).collect();
        let sum: u64 = all.iter().map(|g| g.value).sum();
        (name.to_string(), json!({ "max": most, "mean": mean(&means), "sum": sum }))
    };
    Json::Object(by_name.into_iter().map(one).collect())
}

/// From data to its answer: the mean, quantiles, and the bins of a histogram as pairs of upper end and count. An
/// upper end, and so a quantile, is at most a hundredth too high.
pub(super) fn round_trips(trips: &RoundTrips) -> Json {
    let mut map = Map::new();
    map.insert("samples".into(), trips.count().into());
    map.insert("mean_s".into(), json!(trips.mean().map(seconds)));
    for (label, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
        map.insert(format!("{label}_s"), json!(trips.quantile(q).map(seconds)));
    }
    map.insert("max_s".into(), json!((trips.count() > 0).then(|| seconds(trips.longest()))));
    let bins: Vec<(f64, u64)> = trips.bins().map(|(end, count)| (seconds(end), count)).collect();
    map.insert("histogram".into(), json!(bins));
    Json::Object(map)
}

/// Share of the flows with a deadline that were not whole at it; a deadline after the end of the run does
/// not count against a flow that was still open.
pub(super) fn deadlines(flows: &Flows<'_>, warmup: Time, end: Time) -> Option<f64> {
    let (mut due, mut missed) = (0u64, 0u64);
    for (flow, record) in flows.iter().filter(|(f, _)| f.start >= warmup) {
        let Some(deadline) = flow.deadline else { continue };
        let late = match record.finish {
            Some(finish) => finish > deadline,
            None if deadline <= end || record.state == FlowState::Failed => true,
            None => continue,
        };
        due += 1;
        missed += u64::from(late);
    }
    (due > 0).then(|| missed as f64 / due as f64)
}
