//! Messages between the testbed's processes: one JSON object a line, commands on standard input,
//! answers on standard output. A child ends when its standard input ends.

use headway_fabric::PortCounters;
use headway_gauges::{Gauge, RoundTrips};
use headway_network::PauseCounts;
use headway_network::{Entity, FaultCounts, LinkRecord, Metric, Sample};
use headway_units::{Rate, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};

/// Command from the testbed's main process to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum ControlCommand {
    /// The network is there: open interfaces and sockets.
    Open,
    /// Get ready to talk to the hosts that flows go to.
    Connect,
    /// Time zero of the scenario, in nanoseconds after the common origin.
    Start {
        /// Time as above, in nanoseconds.
        at_ns: u64,
    },
    /// Data has arrived over the connection of a flow, which others from here go over.
    Opened {
        /// Number of the flow.
        flow: u32,
    },
    /// Send the report, and end.
    Finish,
}

/// Message from a child process to its parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "say")]
pub enum Answer {
    /// The last command has been carried out.
    Ready,
    /// It cannot be: a sentence that says why.
    Failed {
        /// Reason, as above.
        why: String,
    },
    /// A flow has arrived whole; nanoseconds after the start.
    Done {
        /// Number of the flow.
        flow: u32,
        /// Time as above, in nanoseconds.
        at_ns: u64,
        /// True if its bytes are those that were sent.
        intact: bool,
    },
    /// The first data of a flow has arrived, whose connection others go over.
    Opened {
        /// Number of the flow.
        flow: u32,
    },
    /// The last message of a host: its report.
    Host(Box<HostReport>),
    /// The last message of the switch: its report.
    Switch(Box<SwitchReport>),
}

/// Results of a host, by flow number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// Bytes delivered here, by flow.
    pub delivered: Vec<(u32, u64)>,
    /// Bytes sent again from here, by flow.
    pub retransmitted: Vec<(u32, u64)>,
    /// Data packets that came in marked, by flow.
    pub marks: Vec<(u32, u32)>,
    /// Flows of which wrong bytes came here, or the same twice.
    pub corrupted: Vec<u32>,
    /// Flows that began before the connection that they name was open.
    pub unconnected: u64,
    /// Flows that the transport gave up, with its reason.
    pub failed: Vec<(u32, String)>,
    /// Throughput samples: end of the interval in nanoseconds after the start, flow, bytes.
    pub samples: Vec<(u64, u32, u64)>,
    /// Measurements of the host's machines, since the start.
    pub machines: Vec<MachineReport>,
    /// Base round trips by which windows were sized at the end, where they were measured: peer, nanoseconds on the
    /// slowed network through empty queues by topology, and as measured.
    pub base_round_trips: Vec<(u32, u64, u64)>,
    /// Datagrams dropped, by reason.
    pub dropped: Vec<(String, u64)>,
    /// User and system time of the process since the start, in seconds.
    pub cpu_s: f64,
}

/// Measurements of one transport's machine at a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineReport {
    /// The transport's number in the scenario.
    pub transport: u8,
    /// Gauges that its machine reports in addition to the common numbers.
    pub gauges: Vec<GaugeMessage>,
    /// Round trips from data to its answer.
    pub round_trips: Option<Trips>,
}

/// A [`Gauge`] on its way between processes: name, present value, largest, mean.
pub type GaugeMessage = (String, u64, u64, f64);

/// [`RoundTrips`] on their way between processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trips {
    /// Upper ends of the bins in nanoseconds, and counts.
    pub bins: Vec<(u64, u64)>,
    /// Sum, in nanoseconds.
    pub sum_ns: u64,
    /// The longest, in picoseconds.
    pub longest: u64,
}

impl From<&RoundTrips> for Trips {
    fn from(trips: &RoundTrips) -> Trips {
        let (bins, sum_ns, longest) = trips.to_parts();
        Trips { bins, sum_ns, longest: longest.0 }
    }
}

impl Trips {
    /// Back from the way.
    pub fn round_trips(&self) -> RoundTrips {
        RoundTrips::from_parts(&self.bins, self.sum_ns, Time(self.longest))
    }
}

/// A gauge for the way.
pub fn pack_gauge(gauge: &Gauge) -> GaugeMessage {
    (gauge.name.to_string(), gauge.value, gauge.max, gauge.mean)
}

/// Back from the way.
pub fn unpack_gauge((name, value, max, mean): &GaugeMessage) -> Gauge {
    Gauge { name: interned_name(name), value: *value, max: *max, mean: *mean }
}

/// The name with a lifetime as long as the process. There are as many as programs of this version have gauges.
fn interned_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    // Without this every sample would leak its name again.
    if let Some(same) = names.get(name) {
        return same;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

/// Results of the switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchReport {
    /// Time until which they were counted, on the testbed's clock.
    pub until_ns: u64,
    /// Every link, in order of number.
    pub links: Vec<LinkMessage>,
    /// Samples of links.
    pub samples: Vec<LinkSample>,
    /// Frames from hosts.
    pub received: u64,
    /// Frames to hosts.
    pub delivered: u64,
    /// Frames rejected on arrival, by reason.
    pub refused: Vec<(String, u64)>,
    /// Kind of packet I/O, as `--io` has it.
    pub io: String,
    /// Reason for this kind, in a clause.
    pub io_reason: String,
    /// Upper bounds of how late frames left, in nanoseconds: median, 99 %, worst.
    pub late_ns: [u64; 3],
    /// User and system time of the process, in seconds; since the start, if the process was given one.
    pub cpu_s: f64,
    /// Frames in the capture, and frames that it missed; `None` without one.
    pub captured: Option<[u64; 2]>,
}

/// [`LinkRecord`] on its way between processes; times in picoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields of LinkRecord and PortCounters, documented there")]
pub struct LinkMessage {
    pub name: String,
    pub from_switch: bool,
    pub rate_bps: u64,
    pub busy: u64,
    pub queue_mean_bytes: f64,
    pub received: u64,
    pub enqueued: u64,
    pub dequeued: u64,
    pub dropped: Vec<u64>,
    pub returned: u64,
    pub trimmed: u64,
    pub marked: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub port_busy: u64,
    pub queue_max_bytes: u64,
    pub queue_max_packets: u32,
    /// The counts of `FaultCounts`, in their order there.
    pub faults: [u64; 7],
    pub gauges: Vec<GaugeMessage>,
}

/// A sample of a link: picoseconds after the start, link, quantity, value.
pub type LinkSample = (u64, u32, String, f64);

const LINK_METRICS: [Metric; 3] = [Metric::QueueBytes, Metric::QueueMaxBytes, Metric::Utilisation];

impl From<&LinkRecord> for LinkMessage {
    fn from(record: &LinkRecord) -> LinkMessage {
        let c = &record.counters;
        LinkMessage {
            name: record.name.clone(),
            from_switch: record.from_switch,
            rate_bps: record.rate.bps(),
            busy: record.busy.0,
            queue_mean_bytes: record.queue_mean_bytes,
            received: c.received,
            enqueued: c.enqueued,
            dequeued: c.dequeued,
            dropped: c.dropped.to_vec(),
            returned: c.returned,
            trimmed: c.trimmed,
            marked: c.marked,
            wire_bytes: c.wire_bytes,
            payload_bytes: c.payload_bytes,
            port_busy: c.busy.0,
            queue_max_bytes: c.queue_max_bytes,
            queue_max_packets: c.queue_max_packets,
            gauges: record.gauges.iter().map(pack_gauge).collect(),
            faults: {
                let f = &record.faults;
                [
                    f.dropped_by_number,
                    f.dropped_at_random,
                    f.dropped_in_blackhole,
                    f.dropped_on_the_wire,
                    f.dropped_without_route,
                    f.duplicated,
                    f.delayed,
                ]
            },
        }
    }
}

impl LinkMessage {
    /// The record; `None` when a rate or a list of reasons is impossible.
    pub fn to_record(&self) -> Option<LinkRecord> {
        Some(LinkRecord {
            name: self.name.clone(),
            from_switch: self.from_switch,
            rate: Rate::new(self.rate_bps)?,
            busy: Time(self.busy),
            queue_mean_bytes: self.queue_mean_bytes,
            gauges: self.gauges.iter().map(unpack_gauge).collect(),
            pauses: PauseCounts::default(),
            volumes: Vec::new(),
            faults: {
                let [
                    dropped_by_number,
                    dropped_at_random,
                    dropped_in_blackhole,
                    dropped_on_the_wire,
                    dropped_without_route,
                    duplicated,
                    delayed,
                ] = self.faults;
                FaultCounts {
                    dropped_by_number,
                    dropped_at_random,
                    dropped_in_blackhole,
                    dropped_on_the_wire,
                    dropped_without_route,
                    duplicated,
                    delayed,
                }
            },
            counters: PortCounters {
                received: self.received,
                enqueued: self.enqueued,
                dequeued: self.dequeued,
                dropped: self.dropped.clone().try_into().ok()?,
                returned: self.returned,
                trimmed: self.trimmed,
                marked: self.marked,
                wire_bytes: self.wire_bytes,
                payload_bytes: self.payload_bytes,
                busy: Time(self.port_busy),
                queue_max_bytes: self.queue_max_bytes,
                queue_max_packets: self.queue_max_packets,
            },
        })
    }
}

/// A link's sample for the way; `None` for a sample of a flow.
pub fn pack_sample(sample: &Sample) -> Option<LinkSample> {
    let Entity::Link(link) = sample.entity else { return None };
    Some((sample.at.0, link, sample.metric.name().to_string(), sample.value))
}

/// The inverse of the above: a name that is not a metric of every link is a gauge of its port.
pub fn unpack_sample(sample: &LinkSample) -> Sample {
    let (at, link, name, value) = sample;
    let metric = LINK_METRICS.into_iter().find(|m| m.name() == name);
    // Both programs are of one version, so a name that is none of these can only be a gauge.
    let metric = metric.unwrap_or_else(|| Metric::Gauge(interned_name(name)));
    Sample { at: Time(*at), entity: Entity::Link(*link), metric, value: *value }
}

/// Sends a line to the parent process. If the parent is gone, the closed standard input tells the program.
pub fn print_answer(answer: &Answer) {
    if let Ok(line) = serde_json::to_string(answer) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// Commands from standard input; the end of it is the order to end.
#[allow(clippy::disallowed_methods, reason = "standard input is read while the child works")]
pub fn read_commands() -> Receiver<ControlCommand> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            // A line that is not a command is skipped: only the testbed's own process writes here.
            if let Ok(command) = serde_json::from_str(&line)
                && sender.send(command).is_err()
            {
                return;
            }
        }
    });
    receiver
}
