//! The tables of a run, each column with its unit and meaning.

#![allow(clippy::disallowed_types, reason = "metadata of Arrow schemas is a std HashMap")]

use super::columns::{EDGES, FLOWS, LINKS, SERIES, STEPS};
use super::field::Field as Declared;
use super::labels::labels;
use super::table::{Column, Table};
use crate::scenario::Resolved;
use crate::text::quantity::as_seconds;
use crate::traffic::{Kernel, MadeStep};
use arrow_schema::{ArrowError, Field, Schema};
use headway_fabric::DropReason;
use headway_network::{
    Cause, Entity, Fault, FaultSpec, FlowRecord, FlowState, LinkRecord, Node, Outcome, StepRecord,
    TimeByCause, Until,
};
use headway_units::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// Word in results for a flow's end. A flow that never started counts as unfinished.
pub fn state_name(state: FlowState) -> &'static str {
    match state {
        FlowState::Done => "done",
        FlowState::Failed => "failed",
        FlowState::Stopped => "stopped",
        FlowState::Unfinished | FlowState::Pending => "unfinished",
    }
}

/// The table of flows.
pub fn flows(resolved: &Resolved, stacks: &[Option<Kernel>], outcome: &Outcome) -> Result<Table, ArrowError> {
    let spec = &resolved.spec;
    let (declared, records) = (|| spec.flows.iter(), || outcome.flows.iter());
    let labels = labels(&spec.transports, stacks);
    let counted = |of: &dyn Fn(&FlowRecord) -> Option<u64>| Column::with_gaps(records().map(of));
    let ratio = |of: &dyn Fn(&FlowRecord) -> Option<f64>| Column::with_gaps(records().map(of));
    let time = |of: &dyn Fn(&FlowRecord) -> Option<Time>| ratio(&|record| of(record).map(as_seconds));
    let by_cause = |of: &dyn Fn(&TimeByCause) -> Option<Time>| {
        let one = |flow: usize| outcome.by_cause(flow).and_then(of).map(as_seconds);
        Column::with_gaps((0..spec.flows.len()).map(one))
    };
    let held_by = |flow: usize| {
        let (link, _) = outcome.by_cause(flow)?.held?;
        Some(outcome.links[link as usize].name.as_str())
    };
    let columns = vec![
        ("flow", Column::of(0..spec.flows.len() as u64)),
        ("name", Column::text(&resolved.names)),
        ("src", Column::of(declared().map(|f| f.src))),
        ("dst", Column::of(declared().map(|f| f.dst))),
        ("entry", Column::of(resolved.entries.iter().map(|entry| *entry as u64))),
        ("round", Column::with_gaps(resolved.rounds.iter().copied())),
        ("class", Column::of(declared().map(|f| f.class))),
        ("transport", Column::text(declared().map(|f| labels[usize::from(f.transport)].as_str()))),
        ("bytes", Column::of(declared().map(|f| f.bytes))),
        ("start_s", time(&|r| r.start)),
        ("finish_s", time(&|r| r.finish)),
        ("fct_s", time(&FlowRecord::fct)),
        ("at_least_s", time(&|r| super::open::open_for(r, outcome.end))),
        ("sender_fct_s", time(&FlowRecord::until_known)),
        ("ideal_s", Column::of(records().map(|r| as_seconds(r.ideal)))),
        ("slowdown", ratio(&FlowRecord::slowdown)),
        ("sender_slowdown", ratio(&FlowRecord::sender_slowdown)),
        ("delivered_bytes", Column::of(records().map(|r| r.delivered))),
        ("retransmitted_bytes", counted(&|r| r.retransmitted)),
        ("drops", counted(&|r| r.drops.map(u64::from))),
        ("trims", counted(&|r| r.trims.map(u64::from))),
        ("marks", counted(&|r| r.marks.map(u64::from))),
        ("deadline_s", Column::with_gaps(declared().map(|f| f.deadline.map(|d| as_seconds(d - f.start))))),
        ("state", Column::text(records().map(|r| state_name(r.state)))),
        ("host_s", by_cause(&|time| Some(time.host))),
        ("wait_s", by_cause(&|time| Some(time.wait))),
        ("serialise_s", by_cause(&|time| Some(time.serialise))),
        ("propagate_s", by_cause(&|time| Some(time.propagate))),
        ("queue_s", by_cause(&|time| Some(time.queue))),
        ("retransmit_s", by_cause(&|time| Some(time.retransmit))),
        ("held_by", Column::text_with_gaps((0..spec.flows.len()).map(held_by))),
        ("held_s", by_cause(&|time| time.held.map(|(_, waited)| waited))),
    ];
    batch("flows", FLOWS, columns)
}

/// Lowest and highest rate of a link until the end of a run. A link that is down has no rate then.
fn rates_of(link: &LinkRecord, faults: &[FaultSpec], end: Time) -> (u64, u64) {
    let own = link.rate.bps();
    let changed = faults
        .iter()
        .filter(|fault| fault.links.has_link(&link.name, link.from_switch))
        .filter_map(|fault| match fault.what {
            Fault::Change(change) if change.at <= end => change.rate.map(|rate| (change, rate.bps())),
            _ => None,
        });
    // From the first instant on there is no time at its own rate.
    changed.fold((own, own), |(low, high), (change, rate)| {
        if change.at == Time::ZERO && change.until >= end {
            (rate, rate)
        } else {
            (low.min(rate), high.max(rate))
        }
    })
}

/// The table of links.
pub fn links(faults: &[FaultSpec], outcome: &Outcome) -> Result<Table, ArrowError> {
    let all = &outcome.links;
    let rates: Vec<(u64, u64)> = all.iter().map(|link| rates_of(link, faults, outcome.end)).collect();
    let count = |get: &dyn Fn(&LinkRecord) -> u64| Column::of(all.iter().map(get));
    let share = |get: &dyn Fn(&LinkRecord) -> f64| Column::of(all.iter().map(get));
    let mut columns: Vec<(String, Column)> = Vec::with_capacity(LINKS.len());
    let mut put = |name: &str, values: Column| columns.push((name.into(), values));
    put("name", Column::text(all.iter().map(|l| l.name.as_str())));
    put("from_switch", count(&|l| u64::from(l.from_switch)));
    put("rate_bps", count(&|l| l.rate.bps()));
    put("rate_min_bps", Column::of(rates.iter().map(|(low, _)| *low)));
    put("rate_max_bps", Column::of(rates.iter().map(|(_, high)| *high)));
    put("busy_fraction", share(&|l| busy_fraction(l, outcome.end)));
    put("goodput_bps", share(&|l| goodput_bps(l, outcome.end)));
    put("wire_bytes", count(&|l| l.counters.wire_bytes));
    put("received", count(&|l| l.counters.received));
    put("enqueued", count(&|l| l.counters.enqueued));
    put("dequeued", count(&|l| l.counters.dequeued));
    put("waiting", count(&|l| l.counters.enqueued - l.counters.dequeued));
    put("drops", count(&|l| l.counters.drops()));
    // `ALL` has the order of the counters.
    for (number, reason) in DropReason::ALL.iter().enumerate() {
        put(&format!("drops_{}", reason.name()), count(&|l| l.counters.dropped[number]));
    }
    put("returned", count(&|l| l.counters.returned));
    put("trims", count(&|l| l.counters.trimmed));
    put("marks", count(&|l| l.counters.marked));
    put("queue_max_bytes", count(&|l| l.counters.queue_max_bytes));
    put("queue_max_packets", count(&|l| u64::from(l.counters.queue_max_packets)));
    put("queue_mean_bytes", share(&|l| l.queue_mean_bytes));
    put("pauses_sent", count(&|l| l.pauses.sent));
    put("pauses_received", count(&|l| l.pauses.received));
    put("resumes_received", count(&|l| l.pauses.resumes_received));
    put("paused_s", share(&|l| as_seconds(l.pauses.stopped)));
    put("headroom_max_bytes", count(&|l| l.pauses.headroom_max));
    put("pool_max_bytes", count(&|l| l.pauses.shared_max));
    batch("links", LINKS, columns)
}

/// Application bits that left, per second. A packet that is on the wire when the run ends counts whole, and so does
/// the time that it takes: no link is above its rate wherever a run stops.
fn goodput_bps(link: &LinkRecord, end: Time) -> f64 {
    let over = end.saturating_add(link.counters.busy.saturating_sub(link.busy));
    if over == Time::ZERO { 0.0 } else { 8.0 * link.counters.payload_bytes as f64 / as_seconds(over) }
}

/// Share of the run that a link spent transmitting.
pub fn busy_fraction(link: &LinkRecord, end: Time) -> f64 {
    if end == Time::ZERO { 0.0 } else { link.busy.0 as f64 / end.0 as f64 }
}

/// The tables of steps and of edges; `None` of a run in which nothing waits.
pub fn graph(resolved: &Resolved, outcome: &Outcome) -> Result<Option<(Table, Table)>, ArrowError> {
    let Some(graph) = resolved.spec.graph.as_ref() else { return Ok(None) };
    let all = || resolved.steps.iter().zip(&outcome.steps);
    let name = |(number, made): (usize, &MadeStep)| made.name.clone().unwrap_or_else(|| step_name(number));
    let times = |of: fn(&StepRecord) -> Option<Time>| {
        Column::with_gaps(all().map(|(_, record)| of(record).map(as_seconds)))
    };
    let steps = vec![
        ("step", Column::of(0..resolved.steps.len() as u64)),
        ("name", Column::text(resolved.steps.iter().enumerate().map(name))),
        ("entry", Column::of(resolved.steps.iter().map(|made| made.entry as u64))),
        ("host", Column::with_gaps(resolved.steps.iter().map(|made| made.step.host))),
        ("start_s", times(|record| record.start)),
        ("finish_s", times(|record| record.finish)),
    ];
    let cause = |(cause, _): (Cause, Node)| match cause {
        Cause::Flow(flow, Until::Received) => ("received", flow),
        Cause::Flow(flow, Until::Known) => ("known", flow),
        Cause::Step(step) => ("step", step),
    };
    let node = |(_, node): (Cause, Node)| match node {
        Node::Flow(flow) => ("flow", flow),
        Node::Step(step) => ("step", step),
    };
    let names = |of: &dyn Fn((Cause, Node)) -> (&'static str, u32)| {
        Column::text(graph.all_edges().map(|edge| of(edge).0))
    };
    let numbers = |of: &dyn Fn((Cause, Node)) -> (&'static str, u32)| {
        Column::of(graph.all_edges().map(|edge| of(edge).1))
    };
    let edges = vec![
        ("cause", names(&cause)),
        ("from", numbers(&cause)),
        ("node", names(&node)),
        ("to", numbers(&node)),
    ];
    Ok(Some((batch("steps", STEPS, steps)?, batch("edges", EDGES, edges)?)))
}

/// Name of a step that has none of its own.
pub fn step_name(number: usize) -> String {
    format!("step {number}")
}

/// The table of samples.
pub fn series(names: &[String], outcome: &Outcome) -> Result<Table, ArrowError> {
    let samples = &outcome.samples;
    let entity = |e: Entity| match e {
        Entity::Flow(i) => names[i as usize].as_str(),
        Entity::Link(i) => outcome.links[i as usize].name.as_str(),
    };
    let columns = vec![
        ("t_s", Column::of(samples.iter().map(|s| as_seconds(s.at)))),
        ("entity", Column::text(samples.iter().map(|s| entity(s.entity)))),
        ("metric", Column::text(samples.iter().map(|s| s.metric.name()))),
        ("value", Column::of(samples.iter().map(|s| s.value))),
    ];
    batch("series", SERIES, columns)
}

/// Columns as they are declared, with their descriptions as metadata of the schema. What is written and not declared, or
/// declared and not written, is an error of every run.
fn batch(
    name: &str,
    declared: &[Declared],
    columns: Vec<(impl AsRef<str>, Column)>,
) -> Result<Table, ArrowError> {
    if !declared.iter().map(|field| field.name).eq(columns.iter().map(|(name, _)| name.as_ref())) {
        return Err(ArrowError::SchemaError(format!("the columns of {name} are not those that it declares")));
    }
    let field = |(declared, (_, column)): (&Declared, &(_, Column))| {
        let notes = HashMap::from([
            ("unit".to_string(), declared.unit.to_string()),
            ("doc".to_string(), declared.doc.to_string()),
        ]);
        Field::new(declared.name, column.data_type(), declared.nullable).with_metadata(notes)
    };
    let fields: Vec<Field> = declared.iter().zip(&columns).map(field).collect();
    let notes = HashMap::from([
        ("headway.table".to_string(), name.to_string()),
        ("headway.version".to_string(), crate::scenario::VERSION.to_string()),
    ]);
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    Table::new(Arc::new(Schema::new_with_metadata(fields, notes)), columns)
}
