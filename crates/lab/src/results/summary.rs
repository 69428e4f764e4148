//! The numbers of a run: `summary.json`.

use super::by_transport;
use super::link_use::link_use;
use super::measures::{counts, deadlines, fairness, gauges, measured, round_trips, states};
use super::statistics::{QUANTILE_DEFINITION, mean};
use super::tables::busy_fraction;
use crate::scenario::Setup;
use headway_gauges::Gauge;
use headway_network::{FlowState, LinkRecord, Outcome, RunSpec};
use serde_json::{Map, Value as Json, json};

/// Makes the summary, and sentences about what in it is empty.
pub fn summarise(spec: &RunSpec, setup: &Setup, outcome: &Outcome) -> (Json, Vec<String>) {
    let (warmup, bottleneck) = (setup.warmup, &setup.bottleneck[..]);
    let flows: Vec<_> = spec.flows.iter().zip(&outcome.flows).collect();
    let measured = measured(&flows, warmup);
    let mut warnings = Vec::new();
    let mut map = Map::new();
    states(&mut map, &flows, &measured);
    links(&mut map, bottleneck, outcome);
    link_use(&mut map, setup, outcome);
    counts(&mut map, &flows);
    map.insert("gauges".into(), gauges(outcome.host_gauges.iter().flatten().chain(port_gauges(outcome))));
    map.insert("round_trips".into(), json!(outcome.round_trips.as_ref().map(round_trips)));
    fairness(&mut map, &measured);
    map.insert("jain_over".into(), "mean throughputs (bytes over FCT) of the measured flows".into());
    map.insert("deadline_missed_fraction".into(), json!(deadlines(&flows, warmup, outcome.end)));
    map.insert("quantile_definition".into(), QUANTILE_DEFINITION.into());
    if spec.transports.len() > 1 {
        map.insert("by_transport".into(), by_transport::split(spec, &setup.stacks(), warmup, outcome));
    }
    if measured.is_empty() {
        let why = if flows.iter().any(|(_, r)| r.state == FlowState::Done) {
            "every finished flow started in the warm-up"
        } else {
            "no flow finished"
        };
        warnings.push(format!("completion times are empty: {why}"));
    }
    (Json::Object(map), warnings)
}

/// What links did: those that leave a switch, for queues and utilisation.
fn links(map: &mut Map<String, Json>, bottleneck: &[String], outcome: &Outcome) {
    let switch: Vec<&LinkRecord> = outcome.links.iter().filter(|l| l.from_switch).collect();
    let busy =
        |links: &[&LinkRecord]| links.iter().map(|l| busy_fraction(l, outcome.end)).collect::<Vec<_>>();
    let named: Vec<&LinkRecord> = outcome.links.iter().filter(|l| bottleneck.contains(&l.name)).collect();
    let narrow = match &named[..] {
        [] => busiest(&switch).into_iter().collect(),
        named => named.to_vec(),
    };
    map.insert("link_utilisation".into(), json!(mean(&busy(&switch))));
    map.insert("bottleneck_utilisation".into(), json!(mean(&busy(&narrow))));
    let names: Vec<&str> = narrow.iter().map(|l| l.name.as_str()).collect();
    map.insert("bottleneck_links".into(), json!(names));
    map.insert(
        "queue_max_bytes".into(),
        switch.iter().map(|l| l.counters.queue_max_bytes).max().unwrap_or(0).into(),
    );
    let packets = switch.iter().map(|l| l.counters.queue_max_packets).max().unwrap_or(0);
    map.insert("queue_max_packets".into(), packets.into());
    let total = |get: fn(&LinkRecord) -> u64| outcome.links.iter().map(get).sum::<u64>();
    map.insert("drops".into(), total(|l| l.counters.drops()).into());
    map.insert("data_drops".into(), total(|l| l.counters.data_drops()).into());
    map.insert("trims".into(), total(|l| l.counters.trimmed).into());
}

/// What the rules of switch ports measured of themselves.
fn port_gauges(outcome: &Outcome) -> impl Iterator<Item = &Gauge> {
    outcome.links.iter().filter(|l| l.from_switch).flat_map(|l| &l.gauges)
}

/// The link with the most busy time; the first of them when several tie.
fn busiest<'a>(links: &[&'a LinkRecord]) -> Option<&'a LinkRecord> {
    let most = links.iter().map(|l| l.busy).max()?;
    links.iter().find(|l| l.busy == most).copied()
}
