//! Results of a run.

use crate::by_cause::TimeByCause;
use crate::deadlock::Deadlock;
use crate::error::Miscounted;
use crate::injector::FaultCounts;
use crate::pfc::PauseCounts;
use headway_fabric::PortCounters;
use headway_gauges::{Gauge, RoundTrips};
use headway_units::{Rate, Time};

/// State of a flow at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowState {
    /// Not started before the end of the run.
    Pending,
    /// Started, not all bytes arrived.
    Unfinished,
    /// All bytes arrived.
    Done,
    /// The transport gave it up.
    Failed,
    /// The scenario ended the flow before all bytes arrived.
    Stopped,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All that it waits for is over.
    Complete,
    /// The run reached the `stop` of its specification.
    Stop,
    /// Something is not over, and no event is left.
    Quiet,
    /// Something is not over, no byte has arrived for as long as the run had lasted before, and nothing is planned that could
    /// change that: only in a run without a `stop`.
    NoProgress,
    /// Pauses wait for each other, and the specification says that this ends the run.
    Deadlock,
    /// Samples, packets or flows took all the memory that they may.
    Memory,
    /// An outside event: a signal, an observer, or the program that drives the run.
    Outside,
}

impl Ending {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Complete => "complete",
            Ending::Stop => "stop",
            Ending::Quiet => "quiet",
            Ending::NoProgress => "no-progress",
            Ending::Deadlock => "deadlock",
            Ending::Memory => "memory",
            Ending::Outside => "outside",
        }
    }
}

/// One flow's record, in the order of the flows given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Time at which it began; for one that never did, the time at which it was to begin, or `None` if that
    /// is not known.
    pub start: Option<Time>,
    /// State of the flow at the end of the run.
    pub state: FlowState,
    /// Arrival of the last byte at the receiver.
    pub finish: Option<Time>,
    /// Time at which the sender knew that; `None` also if the run ended before, or did not note it.
    pub known: Option<Time>,
    /// Completion time on the same path without any other packet: store and forward with headers,
    /// from the application's hand-over to the last byte at the receiver.
    pub ideal: Time,
    /// Time that one control packet takes back to the sender without any other packet, if `known` is there.
    pub ideal_return: Option<Time>,
    /// Application bytes delivered, each counted once.
    pub delivered: u64,
    /// Application bytes that left the sender again; `None`, here and below, if it was not counted.
    pub retransmitted: Option<u64>,
    /// Its data packets dropped by ports, or lost to faults on links.
    pub drops: Option<u32>,
    /// Its data packets trimmed by ports.
    pub trims: Option<u32>,
    /// Its data packets that arrived marked.
    pub marks: Option<u32>,
}

/// Start and end of a step of the run's graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepRecord {
    /// `None` if something that it waited for was never over.
    pub start: Option<Time>,
    /// `None` if the run ended before.
    pub finish: Option<Time>,
}

/// One directed link's record.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRecord {
    /// Name of the link, `from->to`.
    pub name: String,
    /// True if it leaves a switch (and not a host).
    pub from_switch: bool,
    /// Rate of the link.
    pub rate: Rate,
    /// The port's counters.
    pub counters: PortCounters,
    /// Time spent transmitting before the end of the run.
    pub busy: Time,
    /// Bytes waiting, averaged over time from the start of the run to its end.
    pub queue_mean_bytes: f64,
    /// Faults behind the port, whose counters do not include them.
    pub faults: FaultCounts,
    /// Measurements of the port's rules.
    pub gauges: Vec<Gauge>,
    /// Counts of pauses, if switches are lossless.
    pub pauses: PauseCounts,
    /// Bytes that began to leave over it for each of the groups of [`crate::SampleSpec::volumes`]; empty if volumes are
    /// not sampled.
    pub volumes: Vec<u64>,
}

impl FlowRecord {
    /// Time from its start to the last byte at its receiver.
    pub fn fct(&self) -> Option<Time> {
        Some(self.finish? - self.start?)
    }

    /// Time from its start until its sender knew that it was whole.
    pub fn until_known(&self) -> Option<Time> {
        Some(self.known? - self.start?)
    }

    /// Completion time over the ideal one; `None` also for a flow without a path.
    pub fn slowdown(&self) -> Option<f64> {
        ratio(self.fct()?, self.ideal)
    }

    /// Time until the sender knew, over the same without any other packet: the ideal completion time, and the way of one
    /// control packet back.
    pub fn sender_slowdown(&self) -> Option<f64> {
        ratio(self.until_known()?, self.ideal + self.ideal_return?)
    }
}

fn ratio(taken: Time, ideal: Time) -> Option<f64> {
    (ideal > Time::ZERO).then(|| taken.0 as f64 / ideal.0 as f64)
}

impl Outcome {
    /// Completion time of the flow at this position by cause, if that was recorded and the flow is complete.
    pub fn by_cause(&self, flow: usize) -> Option<&TimeByCause> {
        self.by_cause.get(flow)?.as_ref()
    }
}

impl LinkRecord {
    /// Checks that its counters can be true, from any driver.
    pub fn check(&self, at: Time) -> Result<(), Miscounted> {
        let waiting = self.counters.enqueued.saturating_sub(self.counters.dequeued);
        let broken = |source| Miscounted { link: self.name.clone(), at, source };
        self.counters.check(waiting).map_err(broken)
    }
}

/// One transport's part in the drops of ports, and the measurements of its machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransportRecord {
    /// Its packets that ports dropped, control and credits included; `None` from ports that do not tell.
    pub drops: Option<u64>,
    /// Drops that ports count as data.
    pub data_drops: Option<u64>,
    /// Measurements of its machines.
    pub gauges: Vec<Gauge>,
    /// Round trips from data to its answer, of all its machines; `None` if they do not measure them.
    pub round_trips: Option<RoundTrips>,
}

/// Metric of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// New application bits delivered per second, averaged over the interval.
    ThroughputBps,
    /// Bytes waiting at the end of the interval.
    QueueBytes,
    /// Most bytes that waited in the interval.
    QueueMaxBytes,
    /// Share of the interval spent transmitting.
    Utilisation,
    /// A gauge of the port's rules, at the end of the interval.
    Gauge(&'static str),
    /// A probe of a flow's transport, at the end of the interval.
    Probe(&'static str),
}

impl Metric {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Metric::ThroughputBps => "throughput_bps",
            Metric::QueueBytes => "queue_bytes",
            Metric::QueueMaxBytes => "queue_max_bytes",
            Metric::Utilisation => "utilisation",
            Metric::Gauge(name) | Metric::Probe(name) => name,
        }
    }
}

/// Entity that a sample is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// Position in the run's flows.
    Flow(u32),
    /// Position in [`Outcome::links`].
    Link(u32),
}

/// One sample, at the end of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// End of the interval.
    pub at: Time,
    /// Flow or link that was sampled.
    pub entity: Entity,
    /// Quantity that was sampled.
    pub metric: Metric,
    /// Value of the sample, in the unit of its quantity.
    pub value: f64,
}

/// Use of links while the second half of the flows started: by then there are as many under way as there will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Start of the flow in the middle of their order.
    pub middle: Time,
    /// Start of the last flow.
    pub end: Time,
    /// Time that each link spent transmitting between the two, in the order of [`Outcome::links`]; the last packet may be missing.
    pub busy: Vec<Time>,
}

/// Everything a run leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One a flow, in the order given.
    pub flows: Vec<FlowRecord>,
    /// Completion time of each flow by cause, `None` for one that is not complete; empty if it was not recorded.
    pub by_cause: Vec<Option<TimeByCause>>,
    /// One for each step of the run's graph.
    pub steps: Vec<StepRecord>,
    /// One record for each link and direction.
    pub links: Vec<LinkRecord>,
    /// Use of links while the second half of the flows started; `None` if the last never did, or if it was not
    /// measured.
    pub arrivals: Option<Arrivals>,
    /// Measurements of the hosts' machines, host by host.
    pub host_gauges: Vec<Vec<Gauge>>,
    /// Round trips from data to its answer, of all hosts together; `None` if their machine does not measure them.
    pub round_trips: Option<RoundTrips>,
    /// Counts of each of several transports that are not in flows, in the order of the run's; empty for a run of one.
    pub by_transport: Vec<TransportRecord>,
    /// Samples in order of time.
    pub samples: Vec<Sample>,
    /// Virtual time at which the run ended.
    pub end: Time,
    /// Number of events handled.
    pub events: u64,
    /// Departures onto links, control packets included.
    pub packet_hops: u64,
    /// Digest of the order of events: equal for equal (version, run, seed).
    pub digest: u64,
    /// Stopped from outside before its end.
    pub interrupted: bool,
    /// Why it ended.
    pub ending: Ending,
    /// Pauses that wait for each other, where switches are lossless.
    pub deadlock: Option<Deadlock>,
    /// Sentences about what looks odd.
    pub warnings: Vec<String>,
}

/// Progress of a run, for displays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time that the run has reached.
    pub now: Time,
    /// Virtual time at which the run ends at the latest; `Time::MAX` if it has none.
    pub stop: Time,
    /// Number of events handled.
    pub events: u64,
    /// Number of flows finished.
    pub flows_done: u64,
    /// Flows of the run.
    pub flows_total: u64,
    /// Bytes that have arrived of some flows, which are spread evenly over all.
    pub delivered: u64,
    /// Bytes of these flows.
    pub offered: u64,
}

impl Progress {
    /// Progress of a run that is over.
    pub const OVER: Progress = Progress {
        now: Time::ZERO,
        stop: Time::ZERO,
        events: 0,
        flows_done: 0,
        flows_total: 0,
        delivered: 0,
        offered: 0,
    };
}

/// Warning about flows whose connection was not open when they began; nothing if there are none.
pub fn unconnected_warning(flows: u64) -> Option<String> {
    match flows {
        0 => None,
        1 => Some(
            "1 flow began before the connection that it names was open, and opened one of its own".into(),
        ),
        n => Some(format!(
            "{n} flows began before the connections that they name were open, and opened some of their own"
        )),
    }
}
