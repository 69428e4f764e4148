//! The numbers of a run of several transports, for each of them.

use super::labels::labels;
use super::measures;
use crate::traffic::Kernel;
use headway_gauges::RoundTrips;
use headway_network::{FlowRecord, FlowSpec, Outcome, RunSpec, TransportRecord};
use headway_units::Time;
use serde_json::{Map, Value as Json, json};

/// An object for each transport, by its label.
pub(super) fn split(spec: &RunSpec, stacks: &[Option<Kernel>], warmup: Time, outcome: &Outcome) -> Json {
    let labels = labels(&spec.transports, stacks);
    let mut map = Map::new();
    for label in &labels {
        // Transports of one label are one: settings that say nothing new.
        let own: Vec<usize> = (0..labels.len()).filter(|&number| labels[number] == *label).collect();
        map.entry(label.as_str()).or_insert_with(|| Json::Object(part(spec, warmup, outcome, &own)));
    }
    Json::Object(map)
}

/// The numbers of these transports.
fn part(spec: &RunSpec, warmup: Time, outcome: &Outcome, own: &[usize]) -> Map<String, Json> {
    let mine = |(flow, _): &(&FlowSpec, &FlowRecord)| own.contains(&usize::from(flow.transport));
    let flows: Vec<_> = spec.flows.iter().zip(&outcome.flows).filter(mine).collect();
    let mut map = Map::new();
    measures::of_flows(&mut map, &flows, warmup, outcome.end);
    let delivered = flows.iter().map(|(_, record)| record.delivered).sum::<u64>();
    let all: u64 = outcome.flows.iter().map(|record| record.delivered).sum();
    map.insert("delivered_bytes".into(), delivered.into());
    map.insert("goodput_share".into(), json!((all > 0).then(|| delivered as f64 / all as f64)));
    map.insert("trims".into(), flows.iter().map(|(_, r)| u64::from(r.trims)).sum::<u64>().into());
    // Whoever ran it may not know: real switches do not tell by transport what they drop.
    let records: Vec<_> = own.iter().filter_map(|&number| outcome.by_transport.get(number)).collect();
    let sum = |of: fn(&TransportRecord) -> Option<u64>| records.iter().map(|r| of(r)).sum::<Option<u64>>();
    let known = |of| sum(of).filter(|_| !records.is_empty());
    map.insert("drops".into(), json!(known(|r| r.drops)));
    map.insert("data_drops".into(), json!(known(|r| r.data_drops)));
    map.insert("gauges".into(), measures::gauges(records.iter().flat_map(|record| &record.gauges)));
    let trips = RoundTrips::together(records.iter().filter_map(|record| record.round_trips.as_ref()));
    map.insert("round_trips".into(), json!(trips.as_ref().map(measures::round_trips)));
    map
}
