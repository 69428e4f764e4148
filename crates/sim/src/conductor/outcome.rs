//! Outcome of a run: the records of its flows, links and hosts, and its warnings.

use super::{Conductor, Guards, Rest, given, lock, whole};
use crate::engine::Engine;
use crate::sampler::Sampler;
use headway_gauges::{Gauge, RoundTrips};
use headway_network::pfc::OnDeadlock;
use headway_network::{
    Ending, FaultCounts, FlowRecord, FlowSpec, FlowState, Ideals, LinkRecord, LinkStats, Outcome, RunSpec,
    TimeByCause, TransportRecord,
};
use headway_transport::Endpoint;
use headway_units::Time;
use std::sync::MutexGuard;

impl<'a> Conductor<'a> {
    /// Collects the outcome.
    pub(crate) fn finish(mut self, interrupted: bool) -> Outcome {
        let now = self.now;
        let shards = std::mem::take(&mut self.shards);
        let mut all: Guards<'_, 'a> = shards.iter().map(lock).collect();
        // Counters of ports advance when something happens there: brought up to the end of the run.
        all.iter_mut().for_each(|shard| shard.ports.catch_up_all(now));
        // A last sample at the end of the run, whatever the interval.
        if self.sampler.is_some() {
            self.take_sample(&mut all);
        }
        let lost = |number| all.iter().map(|shard| shard.ports.links.fault_drops(number)).sum::<u32>();
        let whole_spec = with_given(self.spec, &all);
        let spec = whole_spec.as_ref().unwrap_or(self.spec);
        let mut ideals = Ideals::new(&self.network, spec);
        let start = |number: usize| match &self.waiting {
            Some(waiting) if waiting.holds(number as u32) => waiting.began(number as u32),
            _ => Some(spec.flows[number].start),
        };
        let flows = self.flows.iter().enumerate().take(spec.flows.len()).map(|(number, flow)| FlowRecord {
            start: start(number),
            state: flow.state(),
            finish: flow.finished(),
            known: flow.known(),
            ideal: ideals.of(number),
            ideal_return: flow.known().map(|_| {
                let FlowSpec { src, dst, .. } = spec.flows[number];
                self.network.ideal_control(dst, src)
            }),
            delivered: flow.delivered(),
            retransmitted: Some(flow.retransmitted()),
            // Machines and ports count what queues drop; losses by faults are counted at links.
            drops: Some(flow.drops() + lost(number)),
            trims: Some(flow.trims()),
            marks: Some(flow.marks()),
        });
        let flows: Vec<FlowRecord> = flows.collect();
        let asked = self.spec.sample.as_ref().is_some_and(|sample| sample.causes);
        let by_cause =
            (0..).zip(flows.iter().filter(|_| asked)).map(|(flow, record)| by_cause(&all, flow, record));
        let by_cause = by_cause.collect();
        self.find_deadlock(&all);
        let warnings = self.warnings(&all, &flows, interrupted);
        let mut links = self.records(&mut all);
        self.note_pauses(&all, &mut links);
        self.note_memory(&all, &mut links);
        note_volumes(&all, &mut links);
        let packet_hops = links.iter().map(|link| link.counters.dequeued).sum();
        let dropped = dropped(&all);
        let (events, digest) = all.iter().fold((0u64, 0u64), |(events, digest), shard| {
            // A wrapping sum: the order of the shards does not matter.
            (events + shard.events, digest.wrapping_add(shard.digest))
        });
        let ending = self.ending();
        let hosts: Vec<_> = whole(&mut all[0].hosts).iter().map(|host| parts(&host.endpoint)).collect();
        let machines = || hosts.iter().flatten().map(|(_, machine)| *machine);
        Outcome {
            flows,
            by_cause,
            steps: self.waiting.as_ref().map(|waiting| waiting.records(now)).unwrap_or_default(),
            links,
            // A run that ended before its last flow started has only the first half of this measurement.
            arrivals: self.arrivals.take().filter(|arrivals| arrivals.end < Time::MAX),
            warnings,
            host_gauges: hosts.iter().map(|host| gauges(host.iter().map(|part| part.1), now)).collect(),
            round_trips: RoundTrips::together(machines().filter_map(|machine| machine.round_trips())),
            by_transport: by_transport(&dropped, &hosts, now),
            samples: self.sampler.take().map(Sampler::finish).unwrap_or_default(),
            end: now,
            events,
            packet_hops,
            digest,
            interrupted,
            ending,
            deadlock: self.deadlock,
        }
    }

    /// The flows that it was given while it went on, and the outcome of all.
    pub(crate) fn finish_with_given(self, interrupted: bool) -> (Vec<FlowSpec>, Outcome) {
        (self.given(), self.finish(interrupted))
    }

    /// Why it ended.
    fn ending(&self) -> Ending {
        let ends = self.spec.fabric.pfc.as_ref().is_some_and(|pfc| pfc.on_deadlock == OnDeadlock::End);
        match self.rest {
            // First: full memory ends a run by `Stop` or by `Cut`, depending on what is full.
            _ if self.full.is_some() => Ending::Memory,
            Some(Rest::Over) => Ending::Complete,
            Some(Rest::Quiet) => Ending::Quiet,
            Some(Rest::NoProgress) => Ending::NoProgress,
            // A deadlock that is found at the run's own `stop` has not ended it.
            Some(Rest::Stop) if ends && self.deadlock.is_some() && self.now < self.spec.stop => {
                Ending::Deadlock
            }
            Some(Rest::Stop) => Ending::Stop,
            Some(Rest::Until | Rest::Asked | Rest::Cut) | None => Ending::Outside,
        }
    }

    /// Records of all links.
    ///
    /// # Panics
    /// If a port's counters contradict each other: only a bug can cause that.
    fn records(&self, all: &mut Guards<'_, 'a>) -> Vec<LinkRecord> {
        let faults: Vec<FaultCounts> = {
            // Most faults are counted in the shard of the link; a switch that chooses late counts packets without a
            // route in its own.
            let of = |link: usize| {
                let counts = all.iter().map(|shard| shard.ports.links.fault_counts(link));
                counts.reduce(FaultCounts::and).unwrap_or_default()
            };
            (0..self.network.links().len()).map(of).collect()
        };
        let ports = whole(&mut all[0].ports.egress).iter().map(|egress| &egress.port);
        let fresh = LinkStats::of_fresh_ports(Time::ZERO);
        let records = fresh.records(self.now, &self.network, ports, |link| faults[link]);
        records.unwrap_or_else(|broken| panic!("{broken} (seed {})", self.spec.seed))
    }

    fn warnings(&self, all: &Guards<'_, 'a>, flows: &[FlowRecord], interrupted: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(what) = self.full {
            warnings
                .push(format!("the run ended at {}: its {what} took all the memory that they may", self.now));
        }
        warnings.extend(self.deadlock_warning());
        match self.ending() {
            Ending::Quiet => warnings.push(format!(
                "the run ended at {}: nothing was left to happen, not even a timer, and not all was over", self.now
            )),
            Ending::NoProgress => warnings.push(format!(
                "the run ended at {}: no byte had arrived for half of that time, and nothing was planned that could change it; \
                 only timers went on. With a `stop` it goes on until then", self.now
            )),
            _ => {}
        }
        let unfinished =
            flows.iter().filter(|f| !matches!(f.state, FlowState::Done | FlowState::Stopped)).count();
        if unfinished > 0 {
            let why = if interrupted { "the run was interrupted" } else { "the run ended" };
            warnings.push(format!("{unfinished} of {} flows had not finished when {why}", flows.len()));
        }
        let unconnected = all.iter().map(|shard| shard.unconnected).sum();
        warnings.extend(headway_network::outcome::unconnected_warning(unconnected));
        let lost: u64 = all.iter().map(|shard| shard.ports.links.lost).sum();
        if lost > 0 {
            warnings.push(format!("{lost} packets had no route to their destination"));
        }
        warnings
    }
}

/// The specification with the flows that were given while the run went on, if any were.
fn with_given(spec: &RunSpec, all: &Guards<'_, '_>) -> Option<RunSpec> {
    let given = given(all);
    if given.is_empty() {
        return None;
    }
    let flows = [&spec.flows[..], &given].concat();
    Some(RunSpec { flows, ..spec.clone() })
}

/// Time of a flow by cause, from its start to its finish. The time between the arrival of its last byte and its
/// finish counts as the receiver's.
fn by_cause(all: &Guards<'_, '_>, flow: u32, record: &FlowRecord) -> Option<TimeByCause> {
    let took = record.fct()?;
    let told = |shard: &MutexGuard<'_, Engine<'_>>| shard.ports.links.attribution.as_ref()?.of(flow);
    let mut by_cause = all.iter().find_map(told)?;
    by_cause.host += took - by_cause.sum();
    Some(by_cause)
}

/// Adds the bytes of links by group of flows to their records. Each link is counted in the shard of its port alone.
fn note_volumes(all: &Guards<'_, '_>, records: &mut [LinkRecord]) {
    for volumes in all.iter().filter_map(|shard| shard.ports.links.volumes.as_deref()) {
        for (number, record) in records.iter_mut().enumerate() {
            let own = volumes.of(number);
            record.volumes.resize(own.len(), 0);
            record.volumes.iter_mut().zip(own).for_each(|(sum, more)| *sum += more);
        }
    }
}

/// Packets that ports dropped, all and data among them, by transport where there are several.
fn dropped(all: &Guards<'_, '_>) -> Vec<(u64, u64)> {
    let mut sum: Vec<(u64, u64)> = all[0].ports.links.dropped.counts().to_vec();
    for shard in &all[1..] {
        let counts = shard.ports.links.dropped.counts();
        sum.iter_mut().zip(counts).for_each(|(sum, more)| *sum = (sum.0 + more.0, sum.1 + more.1));
    }
    sum
}

/// The machines of a host, each with the position of its transport.
fn parts(machine: &dyn Endpoint) -> Vec<(u8, &dyn Endpoint)> {
    let parts = machine.transport_parts();
    if parts.is_empty() { vec![(0, machine)] } else { parts }
}

/// Counts of each of several transports that are not in flows' records.
fn by_transport(
    dropped: &[(u64, u64)],
    hosts: &[Vec<(u8, &dyn Endpoint)>],
    now: Time,
) -> Vec<TransportRecord> {
    let one = |(number, &(drops, data_drops))| {
        let own = || hosts.iter().flatten().filter(move |part| usize::from(part.0) == number);
        TransportRecord {
            drops: Some(drops),
            data_drops: Some(data_drops),
            gauges: gauges(own().map(|part| part.1), now),
            round_trips: RoundTrips::together(own().filter_map(|part| part.1.round_trips())),
        }
    };
    dropped.iter().enumerate().map(one).collect()
}

fn gauges<'m>(machines: impl Iterator<Item = &'m dyn Endpoint>, now: Time) -> Vec<Gauge> {
    machines.flat_map(|machine| machine.collect_gauges(now)).collect()
}
