//! Reports of hosts and switch, put together as the outcome of a run.

use crate::messages::{HostReport, MachineReport, SwitchReport, unpack_gauge, unpack_sample};
use crate::slowdown::{LONGEST, speed_up};
use crate::{Job, TestbedError};
use headway_gauges::{Gauge, RoundTrips};
use headway_network::{
    Ending, Entity, FlowRecord, FlowState, Ideals, Metric, Outcome, Sample, TransportRecord,
};
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Notes of a testbed run, in addition to its outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// Rates were divided and times multiplied by this.
    pub slowdown: u64,
    /// Seconds of wall-clock time from the scenario's start to its end.
    pub wall_s: f64,
    /// Upper bounds of how late frames left the switch, in nanoseconds: median, 99 %, worst.
    pub switch_late_ns: [u64; 3],
    /// Processor time of the switch, in seconds.
    pub switch_cpu_s: f64,
    /// Processor time of all hosts, in seconds.
    pub hosts_cpu_s: f64,
    /// The shortest and the longest base round trip by which windows were sized, in nanoseconds in the scenario's own
    /// units: by topology, and as measured; `None` where none was measured.
    pub base_round_trips_ns: Option<[[u64; 2]; 2]>,
    /// Frames that the switch took from hosts.
    pub frames: u64,
    /// Flows whose bytes arrived otherwise than sent: always empty, or something is badly wrong.
    pub corrupted: Vec<u32>,
    /// Drops outside the ports, by place and reason.
    pub dropped: BTreeMap<String, u64>,
    /// Frames in the capture, and frames that it missed; `None` without one.
    pub captured: Option<[u64; 2]>,
    /// Seconds from the time zero of the testbed's clock, and of the capture, to the scenario's start.
    pub start_s: f64,
    /// Notes on the kernel's flows, in sentences.
    pub kernel: Vec<String>,
    /// Packet I/O of the switch, as `--io` has it, and why, in a clause.
    pub io: (String, String),
}

/// Reports of a run so far.
#[derive(Default)]
pub(crate) struct Heard {
    /// Finish times by flow, after the start, and whether the bytes were right.
    pub(crate) done: BTreeMap<u32, (Time, bool)>,
    pub(crate) hosts: Vec<HostReport>,
    pub(crate) switch: Option<SwitchReport>,
    /// Time zero of the scenario on the testbed's clock.
    pub(crate) start: Time,
    /// Duration of the run.
    pub(crate) lasted: Time,
    /// True if it ended with the last flow that it waits for.
    pub(crate) whole: bool,
    pub(crate) interrupted: bool,
    /// Hosts whose kernels send faster than their links, and why.
    pub(crate) unshaped: Vec<(u32, String)>,
}

/// Puts everything together, in the scenario's own units.
pub(crate) fn assemble_outcome(job: &Job, heard: Heard) -> Result<(Outcome, Notes), TestbedError> {
    let missing =
        |what: &str| TestbedError::Child { name: "switch".into(), why: format!("it reported no {what}") };
    let switch = heard.switch.as_ref().ok_or_else(|| missing("links"))?;
    let links = switch.links.iter().map(|l| l.to_record()).collect::<Option<Vec<_>>>();
    let links = links.ok_or_else(|| missing("possible rates"))?;
    let scaled = match job.factor {
        1 => "at the rates that are written".to_string(),
        n => format!("{n} times slower than written; rates and times are scaled back"),
    };
    let mut warnings = vec![format!(
        "Measured on real packets between network namespaces, {scaled}; order_digest and events are not those of a \
         simulation"
    )];
    for flow in corrupted_flows(&heard) {
        warnings.push(format!("flow {flow} arrived with other bytes than were sent"));
    }
    let unconnected: u64 = heard.hosts.iter().map(|h| h.unconnected).sum();
    warnings.extend(headway_network::outcome::unconnected_warning(unconnected));
    warnings.extend(kernel_notes(job, &heard));
    if job.resolved.spec.stop == Time::MAX && !heard.whole && !heard.interrupted {
        warnings.push(format!(
            "the run ended at {LONGEST}: real packets go on no longer where the scenario has no `stop`"
        ));
    }
    let packet_hops = links.iter().map(|l| l.counters.dequeued).sum();
    let mut outcome = Outcome {
        by_cause: Vec::new(),
        steps: Vec::new(),
        flows: flow_records(job, &heard),
        links,
        arrivals: None,
        host_gauges: heard.hosts.iter().map(|host| merge_gauges(&host.machines)).collect(),
        round_trips: round_trips(machine_reports(&heard)),
        by_transport: by_transport(job, &heard),
        samples: merge_samples(job, &heard, switch),
        // The switch's clock counts from the origin, which is before the scenario's start.
        end: end_time(heard.whole, heard.lasted, Time::ns(switch.until_ns).saturating_sub(heard.start)),
        events: switch.received,
        packet_hops,
        // The order of real packets differs from run to run, so a digest of it would mean nothing.
        digest: 0,
        interrupted: heard.interrupted,
        ending: match (heard.interrupted, heard.whole) {
            (true, _) => Ending::Outside,
            (false, true) => Ending::Complete,
            (false, false) => Ending::Stop,
        },
        deadlock: None,
        warnings,
    };
    // Last: everything above compares times of the slowed run with each other.
    speed_up(&mut outcome, job.factor);
    Ok((outcome, run_notes(job, &heard, switch)))
}

/// The end of the run. A switch that stops late has counted until then, and shares of time are of all of it.
fn end_time(whole: bool, lasted: Time, counted: Time) -> Time {
    if whole { lasted } else { lasted.max(counted) }
}

/// Notes on the kernel's flows.
fn kernel_notes(job: &Job, heard: &Heard) -> Vec<String> {
    let mut warnings = Vec::new();
    if job.factor > 1 && job.stacks.iter().any(Option::is_some) {
        warnings.push(format!(
            "The kernel's timers are not slowed down with the network: its least retransmission time-out of 200 ms and \
             its delayed acknowledgements of up to 40 ms are {} and {} in the scenario's units. `--slowdown 1` with \
             links of at most 1 Gb/s has none of that; the larger the slowdown, the less a time-out weighs",
            Time::ms(200) / job.factor,
            Time::ms(40) / job.factor
        ));
    }
    for (host, why) in &heard.unshaped {
        warnings.push(format!(
            "The kernel of h{host} does not know its link's rate ({why}): its packets wait at the switch, not at the host"
        ));
    }
    let failed = heard.hosts.iter().flat_map(|h| &h.failed);
    let of_kernel = |flow: u32| job.slow.flows.get(flow as usize).is_some_and(|f| job.kernel_of(f).is_some());
    let failed = failed.filter(|(flow, _)| of_kernel(*flow) && !heard.done.contains_key(flow));
    warnings.extend(failed.map(|(flow, why)| format!("flow {flow} failed: {why}")));
    warnings
}

/// Flows of which wrong bytes arrived, whole or not.
fn corrupted_flows(heard: &Heard) -> BTreeSet<u32> {
    let whole = heard.done.iter().filter(|(_, (_, intact))| !intact).map(|(flow, _)| *flow);
    whole.chain(heard.hosts.iter().flat_map(|h| h.corrupted.iter().copied())).collect()
}

fn machine_reports(heard: &Heard) -> impl Iterator<Item = &MachineReport> {
    heard.hosts.iter().flat_map(|host| &host.machines)
}

fn merge_gauges<'a>(machines: impl IntoIterator<Item = &'a MachineReport>) -> Vec<Gauge> {
    machines.into_iter().flat_map(|m| m.gauges.iter().map(unpack_gauge)).collect()
}

fn round_trips<'a>(machines: impl Iterator<Item = &'a MachineReport>) -> Option<RoundTrips> {
    let trips: Vec<RoundTrips> =
        machines.filter_map(|m| m.round_trips.as_ref()).map(|t| t.round_trips()).collect();
    RoundTrips::together(trips.iter())
}

/// Measurements of several transports' machines; the switch does not know whose packets it drops.
fn by_transport(job: &Job, heard: &Heard) -> Vec<TransportRecord> {
    let count = job.slow.transports.len();
    let of = |number: usize| {
        let own = || machine_reports(heard).filter(move |m| usize::from(m.transport) == number);
        TransportRecord {
            drops: None,
            data_drops: None,
            gauges: merge_gauges(own()),
            round_trips: round_trips(own()),
        }
    };
    if count > 1 { (0..count).map(of).collect() } else { Vec::new() }
}

fn flow_records(job: &Job, heard: &Heard) -> Vec<FlowRecord> {
    let mut ideals = Ideals::new(&job.network, &job.slow);
    let mut records: Vec<FlowRecord> = job
        .slow
        .flows
        .iter()
        .enumerate()
        .map(|(number, flow)| {
            let done = heard.done.get(&(number as u32));
            let state = match done {
                Some(_) => FlowState::Done,
                // The run ended before the flow began.
                None if flow.start > heard.lasted => FlowState::Pending,
                None => FlowState::Unfinished,
            };
            // Endpoints count these of every flow, the kernel of connections that it could be asked about.
            let of_kernel = job.kernel_of(flow).is_some();
            FlowRecord {
                start: Some(flow.start),
                state,
                finish: done.map(|(at, _)| *at),
                known: None,
                ideal: ideals.of(number),
                ideal_return: None,
                delivered: 0,
                // 0 and not unknown: an endpoint that reports nothing has repeated nothing.
                retransmitted: (!of_kernel).then_some(0),
                // Ports do not know whose packets they drop.
                drops: None,
                trims: None,
                marks: (!of_kernel).then_some(0),
            }
        })
        .collect();
    let mut with = |flow: u32, change: &dyn Fn(&mut FlowRecord)| {
        if let Some(record) = records.get_mut(flow as usize) {
            change(record);
        }
    };
    for host in &heard.hosts {
        host.delivered.iter().for_each(|&(flow, bytes)| with(flow, &|r| r.delivered += bytes));
        host.retransmitted
            .iter()
            .for_each(|&(flow, bytes)| with(flow, &|r| *r.retransmitted.get_or_insert(0) += bytes));
        host.marks.iter().for_each(|&(flow, marks)| with(flow, &|r| *r.marks.get_or_insert(0) += marks));
        for (flow, _) in &host.failed {
            // A flow that the kernel's receiver has whole is done, however its connection is closed.
            let whole = job.slow.flows.get(*flow as usize).is_some_and(|f| job.kernel_of(f).is_some());
            with(*flow, &|r| {
                if !(whole && r.state == FlowState::Done) {
                    r.state = FlowState::Failed;
                }
            });
        }
    }
    records
}

/// Samples of flows from hosts and of links from the switch, in order of time.
fn merge_samples(job: &Job, heard: &Heard, switch: &SwitchReport) -> Vec<Sample> {
    let every = job.slow.sample.as_ref().map_or(Time::MAX, |s| s.every);
    let flow = |&(at_ns, flow, bytes): &(u64, u32, u64)| Sample {
        at: Time::ns(at_ns),
        entity: Entity::Flow(flow),
        metric: Metric::ThroughputBps,
        value: bytes as f64 * 8.0 / every.as_secs_f64(),
    };
    let mut samples: Vec<Sample> = heard.hosts.iter().flat_map(|h| h.samples.iter().map(flow)).collect();
    samples.extend(switch.samples.iter().map(unpack_sample));
    // Hosts sample until the order to finish reaches them.
    samples.retain(|s| s.at <= heard.lasted);
    samples.sort_by_key(|s| s.at);
    samples
}

fn run_notes(job: &Job, heard: &Heard, switch: &SwitchReport) -> Notes {
    let mut dropped = BTreeMap::new();
    let hosts =
        heard.hosts.iter().flat_map(|h| h.dropped.iter().map(|(why, n)| (format!("host: {why}"), *n)));
    let door = switch.refused.iter().map(|(why, n)| (format!("switch: {why}"), *n));
    for (why, count) in hosts.chain(door).filter(|(_, n)| *n > 0) {
        *dropped.entry(why).or_insert(0) += count;
    }
    Notes {
        slowdown: job.factor,
        wall_s: heard.lasted.as_secs_f64(),
        switch_late_ns: switch.late_ns,
        switch_cpu_s: switch.cpu_s,
        hosts_cpu_s: heard.hosts.iter().map(|h| h.cpu_s).sum(),
        base_round_trips_ns: base_round_trips(job.factor, heard),
        frames: switch.received,
        corrupted: corrupted_flows(heard).into_iter().collect(),
        dropped,
        captured: switch.captured,
        start_s: heard.start.as_secs_f64(),
        kernel: kernel_notes(job, heard),
        io: (switch.io.clone(), switch.io_reason.clone()),
    }
}

/// The least and the greatest base round trip, by topology and as measured.
fn base_round_trips(factor: u64, heard: &Heard) -> Option<[[u64; 2]; 2]> {
    let all = || heard.hosts.iter().flat_map(|host| &host.base_round_trips);
    let span = |of: &dyn Fn(&(u32, u64, u64)) -> u64| {
        // Nanoseconds of the slowed network, scaled back as all other times are.
        Some([all().map(of).min()? / factor, all().map(of).max()? / factor])
    };
    Some([span(&|trip| trip.1)?, span(&|trip| trip.2)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_counts_on_makes_a_run_that_was_stopped_longer() {
        let (stop, late) = (Time::ms(100), Time::ms(224));
        assert_eq!(
            end_time(false, stop, late),
            late,
            "a link that was busy all the time is at its rate, not above it"
        );
        assert_eq!(end_time(false, stop, Time::ZERO), stop);
        assert_eq!(end_time(true, stop, late), stop, "nothing but answers leaves behind the last byte");
    }
}
