//! The tables of a run, each column with its unit and meaning.

#![allow(clippy::disallowed_types, reason = "metadata of Arrow schemas is a std HashMap")]

use super::labels::labels;
use crate::text::quantity::seconds;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, Field, Schema};
use headway_fabric::DropReason;
use headway_sim::{Entity, FlowState, LinkRecord, Outcome, RunSpec};
use headway_units::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// A column: name, unit (empty for names and counts), meaning.
pub type Column = (&'static str, &'static str, &'static str);

/// Columns of `flows`.
pub const FLOWS: &[Column] = &[
    ("flow", "", "position in the scenario's flows, from 0"),
    ("name", "", "the flow's name, or its number as text"),
    ("src", "", "sending host"),
    ("dst", "", "receiving host"),
    ("class", "", "application class"),
    ("transport", "", "name of the transport, with what it sets where several of the run have one name"),
    ("bytes", "B", "application bytes to deliver"),
    ("start_s", "s", "when the application handed the flow over"),
    ("finish_s", "s", "when the last byte arrived at the receiver; null if it did not"),
    ("fct_s", "s", "finish_s - start_s"),
    ("ideal_s", "s", "completion time on the same path without other packets; formula in the manifest"),
    ("slowdown", "1", "fct_s / ideal_s"),
    ("delivered_bytes", "B", "application bytes that arrived, each counted once"),
    ("retransmitted_bytes", "B", "application bytes that left the sender again"),
    ("drops", "packets", "its data packets dropped by ports, or lost to faults on links"),
    ("trims", "packets", "its data packets trimmed by ports"),
    ("marks", "packets", "its data packets that arrived with a mark"),
    ("deadline_s", "s", "deadline counted from start_s; null without one"),
    ("state", "", "done, unfinished or failed"),
];

/// Columns of `links`; those of drops by reason follow `drops`.
const LINKS: &[Column] = &[
    ("name", "", "from->to"),
    ("from_switch", "", "1 if it leaves a switch, 0 if it leaves a host"),
    ("rate_bps", "bit/s", "rate"),
    ("busy_fraction", "1", "share of the run spent transmitting"),
    (
        "goodput_bps",
        "bit/s",
        "application bits that left, repeats included, over the run and the rest of a packet on the wire at its end",
    ),
    ("wire_bytes", "B", "bytes that left or had begun to, headers and framing included"),
    ("received", "packets", "offered to the port"),
    ("enqueued", "packets", "accepted by the port"),
    ("dequeued", "packets", "that left, or had begun to by the end"),
    ("waiting", "packets", "in the queues at the end"),
    ("drops", "packets", "dropped for any reason"),
    ("returned", "packets", "sent back to where they came from for want of room"),
    ("trims", "packets", "whose payload was cut off"),
    ("marks", "packets", "that left with a mark"),
    ("queue_max_bytes", "B", "most that ever waited, the packet on the wire not counted"),
    ("queue_max_packets", "packets", "most data packets that ever waited"),
    ("queue_mean_bytes", "B", "what waited, averaged over time"),
];

/// Columns of `series`.
pub const SERIES: &[Column] = &[
    ("t_s", "s", "end of the interval"),
    ("entity", "", "name of a flow or of a link"),
    (
        "metric",
        "",
        "throughput_bps, queue_bytes, queue_max_bytes, utilisation, or a gauge of the port's rules",
    ),
    (
        "value",
        "as the metric says",
        "bit/s of new application bytes delivered; B at the end of the interval; most B in the interval; share of the interval spent transmitting; of a gauge, its value at the end of the interval",
    ),
];

/// Columns of `links`, with one for each reason to drop.
pub fn link_columns() -> Vec<(String, &'static str, String)> {
    let mut columns: Vec<_> = LINKS.iter().map(|(n, u, d)| (n.to_string(), *u, d.to_string())).collect();
    let at = 1 + LINKS.iter().position(|c| c.0 == "drops").unwrap_or(LINKS.len() - 1);
    let reasons = DropReason::ALL.iter().map(|r| {
        let doc = format!("dropped because: {}", r.name().replace('_', " "));
        (format!("drops_{}", r.name()), "packets", doc)
    });
    columns.splice(at..at, reasons);
    columns
}

/// How a flow ended, as in results. A flow that never started counts as unfinished.
pub fn state_name(state: FlowState) -> &'static str {
    match state {
        FlowState::Done => "done",
        FlowState::Failed => "failed",
        FlowState::Unfinished | FlowState::Pending => "unfinished",
    }
}

/// The table of flows.
pub fn flows(spec: &RunSpec, names: &[String], outcome: &Outcome) -> Result<RecordBatch, ArrowError> {
    let records = || spec.flows.iter().zip(&outcome.flows);
    let fct: Vec<Option<f64>> = records().map(|(f, r)| r.finish.map(|t| seconds(t - f.start))).collect();
    let slowdown = records().map(|(f, r)| slowdown(f.start, r.finish, r.ideal)).collect::<Float64Array>();
    let labels = labels(&spec.transports);
    let u64s = |get: &dyn Fn(usize) -> u64| column((0..spec.flows.len()).map(get).collect::<Vec<_>>());
    let columns: Vec<ArrayRef> = vec![
        u64s(&|i| i as u64),
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(UInt32Array::from_iter_values(spec.flows.iter().map(|f| f.src))),
        Arc::new(UInt32Array::from_iter_values(spec.flows.iter().map(|f| f.dst))),
        Arc::new(UInt16Array::from_iter_values(spec.flows.iter().map(|f| f.class))),
        Arc::new(StringArray::from_iter_values(
            spec.flows.iter().map(|f| labels[usize::from(f.transport)].as_str()),
        )),
        u64s(&|i| spec.flows[i].bytes),
        Arc::new(Float64Array::from_iter_values(spec.flows.iter().map(|f| seconds(f.start)))),
        Arc::new(outcome.flows.iter().map(|r| r.finish.map(seconds)).collect::<Float64Array>()),
        Arc::new(Float64Array::from(fct)),
        Arc::new(Float64Array::from_iter_values(outcome.flows.iter().map(|r| seconds(r.ideal)))),
        Arc::new(slowdown),
        u64s(&|i| outcome.flows[i].delivered),
        u64s(&|i| outcome.flows[i].retransmitted),
        u64s(&|i| u64::from(outcome.flows[i].drops)),
        u64s(&|i| u64::from(outcome.flows[i].trims)),
        u64s(&|i| u64::from(outcome.flows[i].marks)),
        Arc::new(
            spec.flows.iter().map(|f| f.deadline.map(|d| seconds(d - f.start))).collect::<Float64Array>(),
        ),
        Arc::new(StringArray::from_iter_values(outcome.flows.iter().map(|r| state_name(r.state)))),
    ];
    batch("flows", FLOWS.iter().copied(), columns)
}

/// Completion time over ideal completion time.
pub fn slowdown(start: Time, finish: Option<Time>, ideal: Time) -> Option<f64> {
    finish.filter(|_| ideal > Time::ZERO).map(|finish| (finish - start).0 as f64 / ideal.0 as f64)
}

/// The table of links.
pub fn links(outcome: &Outcome) -> Result<RecordBatch, ArrowError> {
    let all = &outcome.links;
    let count = |get: &dyn Fn(&LinkRecord) -> u64| column(all.iter().map(get).collect::<Vec<_>>());
    let share = |get: &dyn Fn(&LinkRecord) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(all.iter().map(get)))
    };
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(all.iter().map(|l| l.name.as_str()))),
        count(&|l| u64::from(l.from_switch)),
        count(&|l| l.rate.bps()),
        share(&|l| busy_fraction(l, outcome.end)),
        share(&|l| goodput_bps(l, outcome.end)),
        count(&|l| l.counters.wire_bytes),
        count(&|l| l.counters.received),
        count(&|l| l.counters.enqueued),
        count(&|l| l.counters.dequeued),
        count(&|l| l.counters.enqueued - l.counters.dequeued),
        count(&|l| l.counters.drops()),
    ];
    columns.extend((0..DropReason::ALL.len()).map(|reason| count(&|l| l.counters.dropped[reason])));
    let rest: [ArrayRef; 6] = [
        count(&|l| l.counters.returned),
        count(&|l| l.counters.trimmed),
        count(&|l| l.counters.marked),
        count(&|l| l.counters.queue_max_bytes),
        count(&|l| u64::from(l.counters.queue_max_packets)),
        share(&|l| l.queue_mean_bytes),
    ];
    columns.extend(rest);
    batch("links", link_columns().iter().map(|(n, u, d)| (n.as_str(), *u, d.as_str())), columns)
}

/// Application bits that left, per second. A packet that is on the wire when the run ends counts whole, and so does
/// the time that it takes: no link is above its rate wherever a run stops.
fn goodput_bps(link: &LinkRecord, end: Time) -> f64 {
    let over = end.saturating_add(link.counters.busy.saturating_sub(link.busy));
    if over == Time::ZERO { 0.0 } else { 8.0 * link.counters.payload_bytes as f64 / seconds(over) }
}

/// Share of the run that a link spent transmitting.
pub fn busy_fraction(link: &LinkRecord, end: Time) -> f64 {
    if end == Time::ZERO { 0.0 } else { link.busy.0 as f64 / end.0 as f64 }
}

/// The table of samples.
pub fn series(names: &[String], outcome: &Outcome) -> Result<RecordBatch, ArrowError> {
    let samples = &outcome.samples;
    let entity = |e: Entity| match e {
        Entity::Flow(i) => names[i as usize].as_str(),
        Entity::Link(i) => outcome.links[i as usize].name.as_str(),
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| seconds(s.at)))),
        Arc::new(StringArray::from_iter_values(samples.iter().map(|s| entity(s.entity)))),
        Arc::new(StringArray::from_iter_values(samples.iter().map(|s| s.metric.name()))),
        Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| s.value))),
    ];
    batch("series", SERIES.iter().copied(), columns)
}

fn column(values: Vec<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(values))
}

/// Columns with their descriptions as metadata of the schema.
fn batch<'a>(
    name: &str,
    described: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, ArrowError> {
    let field = |((name, unit, doc), array): ((&str, &str, &str), &ArrayRef)| {
        let notes =
            HashMap::from([("unit".to_string(), unit.to_string()), ("doc".to_string(), doc.to_string())]);
        let nulls = matches!(name, "finish_s" | "fct_s" | "slowdown" | "deadline_s");
        Field::new(name, array.data_type().clone(), nulls).with_metadata(notes)
    };
    let fields: Vec<Field> = described.zip(&columns).map(field).collect();
    let notes = HashMap::from([
        ("headway.table".to_string(), name.to_string()),
        ("headway.version".to_string(), crate::scenario::VERSION.to_string()),
    ]);
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, notes)), columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_to_drop_has_a_column_after_the_sum() {
        let names: Vec<String> = link_columns().into_iter().map(|c| c.0).collect();
        let at = names.iter().position(|n| n == "drops").expect("drops");
        for (reason, name) in DropReason::ALL.iter().zip(&names[at + 1..]) {
            assert_eq!(*name, format!("drops_{}", reason.name()));
        }
        assert_eq!(names[at + 1 + DropReason::ALL.len()], "returned");
    }
}
