//! Measures of flows, of ports and of machines: a part of a summary each.

use super::field::Quantity::{Count, List, Ratio, Time as TimeOf};
use super::field::{Field, Number};
use super::open::{Found, Sample, Took, begun, open_for, took};
use super::statistics::{equal_count, jain, mean};
use crate::text::quantity::as_seconds;
use headway_gauges::{Gauge, RoundTrips};
use headway_network::{FlowRecord, FlowSpec, FlowState};
use headway_units::Time;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Bins of equal count.
const BINS: usize = 10;
/// Upper bounds of the fixed bands, with their keys; the last has none.
const BANDS: [(&str, u64); 4] =
    [("le_10kB", 10_000), ("le_100kB", 100_000), ("le_1MB", 1_000_000), ("gt_1MB", u64::MAX)];

/// Flows with their records.
pub(super) type Flows<'a> = [(&'a FlowSpec, &'a FlowRecord)];

/// One flow that counts.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) bytes: u64,
    pub(super) fct: Took,
    pub(super) slowdown: Option<Took>,
}

/// Jain's index over the mean throughputs of those that ended.
pub(super) fn fairness(measured: &[Measured]) -> Option<f64> {
    // A flow without a duration has no throughput.
    let moved = measured.iter().filter(|m| !m.fct.is_open() && m.fct.least() > 0.0);
    let throughputs: Vec<f64> = moved.map(|m| 8.0 * m.bytes as f64 / m.fct.least()).collect();
    jain(&throughputs)
}

/// The flows that count, the smallest first.
pub(super) fn measured(flows: &Flows<'_>, warmup: Time, end: Time) -> Vec<Measured> {
    let one = |(flow, record): &(&FlowSpec, &FlowRecord)| {
        let fct = took(record, warmup, end)?;
        Some(Measured { bytes: flow.bytes, fct, slowdown: slowdown(record, fct) })
    };
    let mut measured: Vec<Measured> = flows.iter().filter_map(one).collect();
    measured.sort_by_key(|m| m.bytes);
    measured
}

/// The slowdown of a flow that took so long; at least that of one that is open.
pub(super) fn slowdown(record: &FlowRecord, fct: Took) -> Option<Took> {
    match fct {
        Took::Ended(_) => record.slowdown().map(Took::Ended),
        Took::Open(open) => {
            // At least 1, since it cannot end in less than its ideal.
            (record.ideal > Time::ZERO).then(|| Took::Open((open / as_seconds(record.ideal)).max(1.0)))
        }
    }
}

/// Completion times and slowdowns of flows.
#[derive(Debug)]
pub struct Times {
    pub(super) fct: Sample,
    pub(super) slowdown: Sample,
}

impl Times {
    pub(super) fn of(flows: &[Measured]) -> Times {
        Times {
            fct: Sample::of(flows.iter().map(|f| f.fct)),
            slowdown: Sample::of(flows.iter().filter_map(|f| f.slowdown)),
        }
    }
}

/// Bins of equal count; flows of one size stay together, so there may be fewer bins than asked for.
pub(super) fn even_bins(flows: &[Measured]) -> Vec<&[Measured]> {
    let bounds = equal_count(flows.len(), BINS, |i| flows[i].bytes == flows[i - 1].bytes);
    bounds.windows(2).map(|w| &flows[w[0]..w[1]]).collect()
}

/// The fixed bands, with their keys.
pub(super) fn bands(flows: &[Measured]) -> [(&'static str, &[Measured]); BANDS.len()] {
    let mut first = 0;
    BANDS.map(|(key, most)| {
        let last = flows.partition_point(|f| f.bytes <= most);
        let band = &flows[first..last];
        first = last;
        (key, band)
    })
}

/// Function that makes a number of round trips.
pub type OfTrips = fn(&RoundTrips) -> Json;

/// Function that makes a number of all gauges of one name.
pub type OfGauges = fn(&[&Gauge]) -> Json;

/// Numbers of `round_trips` in the summary. An upper end of a bin, and so a quantile, is at most a hundredth too high.
pub const ROUND_TRIPS: &[Number<OfTrips>] = &[
    Number::new(
        Field {
            unit: "packets",
            ..Field::new("samples", Count, "round trips", "number of measured round trips")
        },
        |trips| trips.count().into(),
    ),
    Number::new(Field::new("mean_s", TimeOf, "round trip, mean", "their mean"), |trips| {
        json!(trips.mean().map(as_seconds))
    }),
    Number {
        field: Field::new(
            "p50_s",
            TimeOf,
            "round trip, p50",
            "their median, which like every quantile is at most a hundredth too high",
        ),
        of: |trips| json!(trips.quantile(0.5).map(as_seconds)),
        shown: true,
    },
    Number::new(Field::new("p90_s", TimeOf, "round trip, p90", "their 90th percentile"), |trips| {
        json!(trips.quantile(0.9).map(as_seconds))
    }),
    Number {
        field: Field::new("p99_s", TimeOf, "round trip, p99", "their 99th percentile"),
        of: |trips| json!(trips.quantile(0.99).map(as_seconds)),
        shown: true,
    },
    Number::new(Field::new("p999_s", TimeOf, "round trip, p999", "their 99.9th percentile"), |trips| {
        json!(trips.quantile(0.999).map(as_seconds))
    }),
    Number::new(Field::new("max_s", TimeOf, "round trip, max", "the longest"), |trips| {
        json!((trips.count() > 0).then(|| as_seconds(trips.longest())))
    }),
    Number::new(
        Field::new("histogram", List, "histogram", "pairs of a bin's upper end and how many are in it"),
        |trips| trips.bins().map(|(end, count)| json!((as_seconds(end), count))).collect(),
    ),
];

/// Numbers of the summary for each gauge, over all that have its name.
pub const GAUGE_PARTS: &[Number<OfGauges>] = &[
    Number::new(Field::new("max", Ratio, "max", "the largest value that any of that name ever had"), |all| {
        json!(all.iter().map(|gauge| gauge.max).max())
    }),
    Number::new(
        Field::new(
            "mean",
            Ratio,
            "mean",
            "the mean of their means over time; of what only counts, of the counts",
        ),
        |all| json!(mean(&all.iter().map(|gauge| gauge.mean).collect::<Vec<_>>())),
    ),
    Number::new(Field::new("sum", Ratio, "sum", "the sum of the last values"), |all| {
        all.iter().map(|gauge| gauge.value).sum::<u64>().into()
    }),
];

/// Numbers of round trips from data to its answer.
pub(super) fn round_trips(trips: &RoundTrips) -> Json {
    let one = |number: &Number<OfTrips>| (number.field.name.to_string(), (number.of)(trips));
    Json::Object(ROUND_TRIPS.iter().map(one).collect())
}

/// Gauges by name.
pub(super) fn gauges(gauges: &[&Gauge]) -> Json {
    let mut by_name: BTreeMap<&str, Vec<&Gauge>> = BTreeMap::new();
    for gauge in gauges {
        by_name.entry(gauge.name).or_default().push(gauge);
    }
    let one = |(name, all): (&str, Vec<&Gauge>)| {
        let part = |number: &Number<OfGauges>| (number.field.name.to_string(), (number.of)(&all));
        (name.to_string(), Json::Object(GAUGE_PARTS.iter().map(part).collect()))
    };
    Json::Object(by_name.into_iter().map(one).collect())
}

/// Share of the flows with a deadline that were not whole at it. Open ones whose deadline is after the end of the run are
/// not known to miss it: the share is at least the one without them.
pub(super) fn deadlines(flows: &Flows<'_>, warmup: Time, end: Time) -> Option<Found> {
    let (mut due, mut missed, mut unknown) = (0u64, 0u64, 0u64);
    for (flow, record) in flows {
        // That of a flow that waited counts from when it began.
        let after = flow.deadline.map(|deadline| deadline - flow.start);
        let (Some(after), Some(start)) = (after, begun(record)) else { continue };
        if start < warmup && open_for(record, end).is_none() {
            continue;
        }
        let deadline = start.saturating_add(after);
        match record.finish {
            Some(finish) => missed += u64::from(finish > deadline),
            // It was stopped while the deadline was still to come, and so neither met nor missed it.
            None if flow.stop.is_some_and(|stop| stop < deadline) && record.state == FlowState::Stopped => {
                continue;
            }
            // A failed flow will not make it, whatever the time.
            None if deadline <= end || record.state == FlowState::Failed => missed += 1,
            None => unknown += 1,
        }
        due += 1;
    }
    (due > unknown).then(|| Found { value: missed as f64 / due as f64, at_least: unknown > 0 })
}
