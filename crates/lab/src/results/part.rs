//! Data that numbers of a summary are made from: a run, or the part of one of its transports.

use super::link_use::link_use;
use super::measures::{Measured, Times, measured};
use super::open::{Sample, Took, took};
use super::statistics::mean;
use super::tables::busy_fraction;
use crate::scenario::Setup;
use crate::text::quantity::as_seconds;
use crate::traffic::Kernel;
use headway_fabric::PortCounters;
use headway_gauges::{Gauge, RoundTrips};
use headway_network::{
    FlowRecord, FlowSpec, FlowState, LinkRecord, Network, Outcome, PauseCounts, RunSpec, TransportRecord,
};
use headway_units::Time;
use serde_json::Value as Json;
use std::borrow::Cow;

/// Flows, with their records: those of a run, or of one of its transports.
#[derive(Debug)]
pub struct Part<'a> {
    pub(super) flows: Vec<(&'a FlowSpec, &'a FlowRecord)>,
    pub(super) measured: Vec<Measured>,
    pub(super) times: Times,
    /// Times until senders knew, of the measured flows.
    pub(super) known: Sample,
    pub(super) warmup: Time,
    /// Outcome of the whole run.
    pub(super) outcome: &'a Outcome,
    /// `None` if it is unknown: real switches do not count drops by transport.
    pub(super) drops: Option<u64>,
    pub(super) data_drops: Option<u64>,
    pub(super) trims: Option<u64>,
    pub(super) gauges: Vec<&'a Gauge>,
    pub(super) round_trips: Option<Cow<'a, RoundTrips>>,
}

/// A whole run.
#[derive(Debug)]
pub struct Run<'a> {
    /// All of its flows.
    pub(super) part: Part<'a>,
    pub(super) spec: &'a RunSpec,
    /// Stack by number of the transport: the kernel's TCP where it sends the flows.
    pub(super) stacks: Vec<Option<Kernel>>,
    /// Links that leave a switch.
    pub(super) switch: Vec<&'a LinkRecord>,
    /// The bottleneck that the scenario names, or else the busiest of them.
    pub(super) narrow: Vec<&'a LinkRecord>,
    /// Nominal and reached.
    pub(super) link_use: Option<(f64, Option<f64>)>,
}

impl<'a> Run<'a> {
    /// With the network, if loads of its links are reported.
    pub(super) fn new(
        spec: &'a RunSpec,
        setup: &Setup,
        network: Option<&Network>,
        outcome: &'a Outcome,
    ) -> Run<'a> {
        let switch: Vec<&LinkRecord> = outcome.links.iter().filter(|link| link.from_switch).collect();
        let named: Vec<&LinkRecord> =
            outcome.links.iter().filter(|link| setup.bottleneck.contains(&link.name)).collect();
        let narrow = if named.is_empty() { busiest(&switch).into_iter().collect() } else { named };
        let flows: Vec<_> = spec.flows.iter().zip(&outcome.flows).collect();
        let measured = measured(&flows, setup.warmup, outcome.end);
        let total = |of: fn(&PortCounters) -> u64| outcome.links.iter().map(|l| of(&l.counters)).sum::<u64>();
        let part = Part {
            times: Times::of(&measured),
            known: known_times(&flows, setup.warmup, outcome.end),
            flows,
            measured,
            warmup: setup.warmup,
            outcome,
            drops: Some(total(PortCounters::drops)),
            data_drops: Some(total(PortCounters::data_drops)),
            trims: Some(total(|port| port.trimmed)),
            gauges: outcome
                .host_gauges
                .iter()
                .flatten()
                .chain(switch.iter().flat_map(|l| &l.gauges))
                .collect(),
            round_trips: outcome.round_trips.as_ref().map(Cow::Borrowed),
        };
        let link_use = network.and_then(|network| link_use(setup, network, outcome));
        Run { part, spec, stacks: setup.stacks(), narrow, link_use, switch }
    }

    /// The part that transports of these numbers have in it.
    pub(super) fn part_of(&self, own: &[usize]) -> Part<'a> {
        let (outcome, warmup) = (self.part.outcome, self.part.warmup);
        let mine = |(flow, _): &&(&FlowSpec, &FlowRecord)| own.contains(&usize::from(flow.transport));
        let flows: Vec<_> = self.part.flows.iter().filter(mine).copied().collect();
        let measured = measured(&flows, warmup, outcome.end);
        let records: Vec<&TransportRecord> =
            own.iter().filter_map(|&number| outcome.by_transport.get(number)).collect();
        let known = |of: fn(&TransportRecord) -> Option<u64>| {
            // The sum of no records would be 0 and not unknown.
            records.iter().map(|record| of(record)).sum::<Option<u64>>().filter(|_| !records.is_empty())
        };
        let trips = RoundTrips::together(records.iter().filter_map(|record| record.round_trips.as_ref()));
        Part {
            times: Times::of(&measured),
            known: known_times(&flows, warmup, outcome.end),
            measured,
            warmup,
            outcome,
            drops: known(|record| record.drops),
            data_drops: known(|record| record.data_drops),
            trims: flows.iter().map(|(_, record)| record.trims.map(u64::from)).sum(),
            gauges: records.iter().flat_map(|record| &record.gauges).collect(),
            round_trips: trips.map(Cow::Owned),
            flows,
        }
    }

    /// The largest queue in front of a host's link, where there are such.
    pub(super) fn host_queue(&self) -> Option<u64> {
        self.spec.fabric.host_queue?;
        let own = self.part.outcome.links.iter().filter(|link| !link.from_switch);
        own.map(|link| link.counters.queue_max_bytes).max()
    }

    /// Sum of a count of pauses over all links.
    pub(super) fn sum_of_pauses(&self, of: fn(&PauseCounts) -> u64) -> Json {
        self.part.outcome.links.iter().map(|link| of(&link.pauses)).sum::<u64>().into()
    }

    /// The largest of what pauses did on any.
    pub(super) fn most_of_pauses(&self, of: fn(&PauseCounts) -> u64) -> Json {
        self.part.outcome.links.iter().map(|link| of(&link.pauses)).max().unwrap_or(0).into()
    }

    /// The longest time that a link was stopped, in seconds.
    pub(super) fn longest_paused(&self) -> f64 {
        let longest = self.part.outcome.links.iter().map(|link| link.pauses.stopped).max();
        as_seconds(longest.unwrap_or(Time::ZERO))
    }

    /// Names of the links of a deadlock.
    pub(super) fn deadlocked(&self) -> Vec<Json> {
        let outcome = self.part.outcome;
        let cycle = outcome.deadlock.iter().flat_map(|deadlock| &deadlock.cycle);
        cycle.map(|(link, _)| outcome.links[*link as usize].name.as_str().into()).collect()
    }

    /// Mean busy share of links.
    pub(super) fn busy(&self, links: &[&LinkRecord]) -> Option<f64> {
        let end = self.part.outcome.end;
        mean(&links.iter().map(|link| busy_fraction(link, end)).collect::<Vec<_>>())
    }

    /// The largest of what ports of switches count.
    pub(super) fn most(&self, of: fn(&PortCounters) -> u64) -> Json {
        self.switch.iter().map(|link| of(&link.counters)).max().unwrap_or(0).into()
    }
}

impl Part<'_> {
    /// Flows that ended in one of these states.
    pub(super) fn count(&self, states: &[FlowState]) -> Json {
        self.flows.iter().filter(|(_, record)| states.contains(&record.state)).count().into()
    }

    /// The sum of what records of flows count; null if one of them does not.
    pub(super) fn sum(&self, of: fn(&FlowRecord) -> Option<u64>) -> Json {
        self.flows.iter().map(|(_, record)| of(record)).sum::<Option<u64>>().into()
    }

    /// Bytes of it that were delivered, over those of all.
    pub(super) fn goodput_share(&self) -> Option<f64> {
        let all: u64 = self.outcome.flows.iter().map(|record| record.delivered).sum();
        let own: u64 = self.flows.iter().map(|(_, record)| record.delivered).sum();
        (all > 0).then(|| own as f64 / all as f64)
    }
}

/// Times until senders knew, of flows that count. One that is whole, but of which its sender had not learnt that, has none.
fn known_times(flows: &[(&FlowSpec, &FlowRecord)], warmup: Time, end: Time) -> Sample {
    Sample::of(flows.iter().filter_map(|(_, record)| match took(record, warmup, end)? {
        Took::Ended(_) => record.until_known().map(|known| Took::Ended(as_seconds(known))),
        open => Some(open),
    }))
}

/// The link with the most busy time; the first of them when several tie.
fn busiest<'a>(links: &[&'a LinkRecord]) -> Option<&'a LinkRecord> {
    // Two steps, since `max_by_key` would take the last of equals.
    let most = links.iter().map(|l| l.busy).max()?;
    links.iter().find(|l| l.busy == most).copied()
}
