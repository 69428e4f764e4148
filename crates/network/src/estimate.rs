//! Size of a run, before anything is allocated: an upper bound.
//!
//! The constants cover the lab's tables of a run as well, because both are in memory at its end: tables
//! of flows and of samples, and the data that they are made from. `crates/lab/tests/it/memory.rs` compares them with
//! the peaks of real processes.

use crate::topology::{Size, Tier};
use crate::{FlowChoice, LinkChoice, LinkSpec, ProbeChoice, RunSpec, TopologySpec, TransportSpec};
use headway_fabric::Limit;
use headway_packet::Stamps;
use headway_transport::{Capabilities, CreditBound, CreditDemand, registry};
use headway_units::{Rate, Time};

/// Bytes that every run takes: of the program itself, of the event ring, and of the writers of tables.
pub const BASE: u64 = 32 << 20;
/// Bytes that the machine of an interface, its link and its timers take.
const PER_HOST: u64 = 2_500;
/// Bytes a port takes with empty queues, its name, and its event ring slots.
const PER_LINK: u64 = 1_500;
/// Bytes a flow takes in the specification, in the machines, in the records and in the table of flows.
pub const PER_FLOW: u64 = 1_000;
/// Bytes an edge or a step of a graph takes: in the list that it is made from, in the graph, and while it is waited for.
const PER_EDGE: u64 = 64;
/// Bytes a packet in flight takes: pool, event, queue entry.
pub const PER_PACKET: u64 = 144;
/// Bytes for a packet in flight in addition to itself, if times are recorded by cause.
const PER_TRIP: u64 = 128;
/// Bytes for a packet in flight in addition to itself, if ports write into packets.
const PER_STAMPS: u64 = size_of::<Stamps>() as u64;
/// Bytes that are kept of a flow if times are recorded by cause, with its part of the table.
const PER_ACCOUNT: u64 = 500;
/// Packets in flight that every flow may have, however short its path.
const LEAST_WINDOW: u64 = 64;
/// Control packets of a flow that nothing else accounts for.
const CONTROL: u64 = 4;
/// Bytes a sample takes: 32 in the simulator, and in the table of the series 24 in addition to the names of its entity
/// and of its metric.
pub const PER_SAMPLE: u64 = 112;

/// Flows of a run as far as memory goes, before they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Number of flows.
    pub total: u64,
    /// Flows that are sampled.
    pub sampled: u64,
    /// Full packets of data of all of them.
    pub packets: u64,
    /// Most flows that are under way at a time; others wait for them.
    pub at_once: u64,
    /// Full packets of data of these.
    pub packets_at_once: u64,
    /// Edges and steps of their graph.
    pub edges: u64,
    /// Hosts that receive any of them.
    pub receivers: u64,
    /// Latest end of the run.
    pub stop: Time,
    /// Largest number of credits in flight, if the flows were counted one by one ([`crate::credits_in_flight`]).
    pub credits: Option<u64>,
}

impl Flows {
    /// The flows that a specification holds.
    pub fn of(spec: &RunSpec) -> Flows {
        let total = spec.flows.len() as u64;
        let sampled = match spec.sample.as_ref().map(|s| &s.flows) {
            None | Some(FlowChoice::None) => 0,
            Some(FlowChoice::All) => total,
            Some(FlowChoice::Some(list)) => list.len() as u64,
        };
        let packets = spec.flows.iter().map(|f| spec.fabric.sizes.packets_of(f.bytes));
        let mut receivers: Vec<u32> = spec.flows.iter().map(|f| f.dst).collect();
        receivers.sort_unstable();
        receivers.dedup();
        let (packets, receivers) = (packets.fold(0, u64::saturating_add), receivers.len() as u64);
        let edges = spec.graph.as_ref().map_or(0, |graph| (graph.edges() + graph.steps().len()) as u64);
        let (at_once, packets_at_once) = (total, packets);
        Flows {
            total,
            sampled,
            packets,
            at_once,
            packets_at_once,
            edges,
            receivers,
            stop: spec.stop,
            credits: None,
        }
    }
}

/// Size of a run before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of directed links.
    pub links: u64,
    /// Number of flows.
    pub flows: u64,
    /// Bytes of memory that the network takes without a packet in it.
    pub network_bytes: u64,
    /// Bytes of memory that flows and their packets take.
    pub flow_bytes: u64,
    /// Part of it for packets in flight.
    pub packet_bytes: u64,
    /// Bytes of memory that samples may take.
    pub sample_bytes: u64,
    /// Bytes of memory at the most, as long as the run ends at its stated end.
    pub memory_bytes: u64,
}

/// Hosts, links, flows, and memory of a run.
pub fn estimate(spec: &RunSpec) -> Estimate {
    estimate_for(spec, Flows::of(spec))
}

/// Hosts, links, flows, and memory of a run with these flows instead of the specification's, which may not be made yet.
pub fn estimate_for(spec: &RunSpec, flows: Flows) -> Estimate {
    let Size { hosts, switches, links } = spec.topology.size();
    let sum = |parts: &[u64]| parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part));
    let network_bytes = sum(&[
        spec.topology.interfaces().saturating_mul(PER_HOST),
        links.saturating_mul(PER_LINK),
        next_hops(&spec.topology, spec.topology.interfaces(), switches, links),
    ]);
    let packet_bytes = in_flight(spec, flows).saturating_mul(per_packet(spec));
    let per_flow = PER_FLOW + if asks_causes(spec) { PER_ACCOUNT } else { 0 };
    let flow_bytes =
        sum(&[flows.total.saturating_mul(per_flow), flows.edges.saturating_mul(PER_EDGE), packet_bytes]);
    let sample_bytes = sample_rows(spec, flows.sampled).saturating_mul(PER_SAMPLE);
    let memory_bytes = sum(&[BASE, network_bytes, flow_bytes, sample_bytes]);
    Estimate {
        hosts,
        links,
        flows: flows.total,
        network_bytes,
        flow_bytes,
        packet_bytes,
        sample_bytes,
        memory_bytes,
    }
}

fn asks_causes(spec: &RunSpec) -> bool {
    spec.sample.as_ref().is_some_and(|sample| sample.causes)
}

/// True if a transport of the run declares something.
fn declares(spec: &RunSpec, what: impl Fn(&Capabilities) -> bool) -> bool {
    spec.transports.iter().filter_map(|t| registry::capabilities(&t.name)).any(|declared| what(&declared))
}

/// Bytes that a packet in flight takes in a run.
pub fn per_packet(spec: &RunSpec) -> u64 {
    let stamped = declares(spec, |known| known.telemetry > 0);
    PER_PACKET + if asks_causes(spec) { PER_TRIP } else { 0 } + if stamped { PER_STAMPS } else { 0 }
}

/// Packets in flight at the most: no more than all flows have to send that are under way at a time, than their windows let
/// them send, and than links and buffers hold; and the credits of transports that give them out whether data answers them or not.
fn in_flight(spec: &RunSpec, flows: Flows) -> u64 {
    let wire = u64::from(spec.fabric.sizes.full_wire());
    let packets = |limit: Limit| match limit {
        Limit::Packets(n) => u64::from(n),
        // Rounded up, as everything here.
        Limit::Bytes(n) => n / wire + 1,
    };
    // If ports differ, the largest buffer stands for all.
    let buffers = spec.fabric.at.iter().map(|ports| ports.buffer.data);
    let room = buffers.map(packets).fold(packets(spec.fabric.buffer.data), u64::max);
    let at_host = spec.fabric.host_queue.map_or(0, packets);
    let mut tiers = spec.topology.tiers();
    // Links that differ may be faster or longer than all others, and count as if they came on top.
    tiers.extend(spec.fabric.altered.iter().map(|altered| {
        let rate = altered.rate.unwrap_or(spec.topology.fastest());
        let link = LinkSpec { rate, delay: altered.delay.unwrap_or(Time::ZERO) };
        Tier { count: altered.names.len() as u64, link, from_switch: true, hops: 2 }
    }));
    let on = |link: &LinkSpec| link.rate.bytes_in(link.delay) / wire + 1;
    // A host whose processor is behind holds arrived packets, without a bound of its own.
    let behind = if spec.costs.holds_arrivals() { u64::MAX } else { 0 };
    let held_with = |room: u64| {
        tiers.iter().fold(behind, |sum, tier| {
            let one = on(&tier.link).saturating_add(if tier.from_switch { room } else { at_host });
            sum.saturating_add(tier.count.saturating_mul(one))
        })
    };
    // Ports that share a memory hold no more than it does.
    let shared = spec.fabric.memory.as_ref().map(|memory| {
        let all = packets(Limit::Bytes(memory.params.size)).saturating_mul(spec.topology.size().switches);
        held_with(0).saturating_add(all)
    });
    let held = held_with(room).min(shared.unwrap_or(u64::MAX));
    let Some(nic) =
        tiers.iter().filter(|g| !g.from_switch).map(|g| g.link.rate).max_by_key(|rate| rate.bps())
    else {
        return 0;
    };
    // Ports of one interface send together.
    let ports =
        if spec.fabric.bonded { spec.topology.interfaces() / spec.topology.size().hosts.max(1) } else { 1 };
    let nic = Rate::new(nic.bps().saturating_mul(ports)).unwrap_or(nic);
    // The longest path there, at the rate of the fastest host.
    let trip = tiers.iter().fold(Time::ZERO, |sum, tier| {
        let hop = hop_delay(spec, tier).saturating_add(tier.link.rate.time_of(wire));
        sum.saturating_add(hop.saturating_mul(tier.hops))
    });
    let filled = nic.bytes_in(trip.saturating_mul(2)) / wire + 1;
    let fills = declares(spec, |known| known.window_grows || known.rate_alone);
    let queue = if fills { room.saturating_add(at_host) } else { 0 };
    let window = filled.saturating_add(queue).max(LEAST_WINDOW);
    let sent = flows.packets_at_once.saturating_add(flows.at_once.saturating_mul(CONTROL));
    let data = sent.min(flows.at_once.saturating_mul(window)).min(held);
    data.saturating_add(flows.credits.unwrap_or_else(|| credits(spec, flows, &tiers, nic, trip)))
}

/// Delay from a link's end to where a packet can leave again.
fn hop_delay(spec: &RunSpec, tier: &Tier) -> Time {
    tier.link.delay.saturating_add(spec.fabric.switch_latency)
}

/// Credits in flight at the most: those that all receivers give out in the time of a path, and no more than each link
/// lets through. The data that is left to send does not bound them: a stop takes as long as they do.
fn credits(spec: &RunSpec, flows: Flows, tiers: &[Tier], nic: Rate, trip: Time) -> u64 {
    let receivers = flows.receivers.min(flows.total).max(1);
    let demand = CreditDemand {
        packets: flows.packets.div_ceil(flows.total.max(1)),
        sharers: 1,
        round_trip: trip.saturating_mul(2),
        nic,
        sizes: spec.fabric.sizes,
    };
    let bounds = spec.transports.iter().filter_map(|t| registry::credit_bound(&t.name, &t.params, &demand));
    let one = |bound: CreditBound| {
        // Those that wait for others ask for none yet.
        let at_each = flows.at_once.min(flows.total).div_ceil(receivers) as f64;
        let all = (bound.share * at_each).min(1.0) * receivers as f64;
        let given = |time: Time| (all * (nic.bytes_in(time) / bound.bytes) as f64) as u64;
        let on = tiers.iter().fold(0u64, |sum, tier| {
            let delay = hop_delay(spec, tier);
            let most = tier.count.saturating_mul(tier.link.rate.bytes_in(delay) / bound.bytes);
            sum.saturating_add(most.min(given(delay.saturating_mul(tier.hops))))
        });
        // None is given before the first request has arrived.
        let until_stop = given(flows.stop.saturating_sub(trip));
        // And more than a link takes waits there.
        let beyond = (at_each * bound.share - 1.0).max(0.0) * (nic.bytes_in(trip) / bound.bytes) as f64;
        let waiting = (beyond as u64).min(bound.waiting).saturating_mul(receivers);
        on.min(until_stop).saturating_add(waiting)
    };
    if flows.total == 0 { 0 } else { bounds.map(one).max().unwrap_or(0) }
}

/// Rows of the series at the most: each interval has three a link and one a flow, and the end of the run
/// has them once more.
fn sample_rows(spec: &RunSpec, sampled_flows: u64) -> u64 {
    let Some(sample) = &spec.sample else { return 0 };
    let links = spec.topology.size().links;
    let links = match &sample.links {
        LinkChoice::None => 0,
        LinkChoice::All => links.saturating_sub(spec.topology.interfaces()),
        LinkChoice::Some(names) => names.len() as u64,
    };
    let intervals = spec.stop.0 / sample.every.0.max(1) + 1;
    let of_flow = 1 + probes(spec, &sample.probes);
    intervals.saturating_mul(links.saturating_mul(3).saturating_add(sampled_flows.saturating_mul(of_flow)))
}

/// Probes of a flow at the most.
fn probes(spec: &RunSpec, choice: &ProbeChoice) -> u64 {
    let of = |t: &TransportSpec| {
        let declared = registry::find_entry(&t.name).map_or(&[][..], |entry| entry.probes);
        declared.iter().filter(|probe| choice.has(probe.name)).count() as u64
    };
    spec.transports.iter().map(of).max().unwrap_or(0)
}

/// Bytes of the table of next hops, where they are not arithmetic: a range for each pair of switches, and
/// at the most every link of a switch towards every other, in a list that doubles as it grows.
fn next_hops(topology: &TopologySpec, interfaces: u64, switches: u64, links: u64) -> u64 {
    if topology.has_computed_hops() {
        return 0;
    }
    let between = links.saturating_sub(2 * interfaces);
    switches
        .saturating_mul(switches)
        .saturating_mul(8)
        .saturating_add(switches.saturating_mul(between).saturating_mul(8))
}
