//! How large a run is, before anything is allocated: a bound from above.
//!
//! The constants cover what the lab makes of a run as well, because both stand in memory at its end: tables
//! of flows and of samples beside what they are made from. `crates/lab/tests/memory.rs` compares them with the
//! peaks of real processes.

use crate::run::Estimate;
use headway_fabric::Limit;
use headway_network::{FlowChoice, LinkChoice, RunSpec, TopologySpec};

/// Bytes of the program itself, of the event ring, and of the writers of tables.
const BASE: u64 = 32 << 20;
/// Bytes a host's machine, its link and its timers take.
const PER_HOST: u64 = 2_500;
/// Bytes a port takes with empty queues, its name, and its event ring slots.
const PER_LINK: u64 = 1_500;
/// Bytes a flow takes in the specification, in the machines, in the records and in the table of flows.
const PER_FLOW: u64 = 1_000;
/// Bytes a packet in flight takes: pool, event, queue entry.
const PER_PACKET: u64 = 144;
/// Bytes a sample takes: 32 in the simulator, and in the table of the series 24 beside the names of its entity
/// and of its metric.
pub const PER_SAMPLE: u64 = 112;

/// Flows of a run as far as memory goes, before they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// All of them.
    pub total: u64,
    /// Those that are sampled.
    pub sampled: u64,
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
        Flows { total, sampled }
    }
}

/// Hosts, switches and directed links of a topology.
pub fn size(topology: &TopologySpec) -> (u64, u64, u64) {
    match *topology {
        TopologySpec::SingleSwitch { hosts, .. } => (hosts.into(), 1, 2 * u64::from(hosts)),
        TopologySpec::Dumbbell { senders, receivers, .. } => {
            let hosts = u64::from(senders) + u64::from(receivers);
            (hosts, 2, 2 * hosts + 2)
        }
        TopologySpec::ParkingLot { bottlenecks, hosts_per_switch, .. } => {
            let switches = u64::from(bottlenecks) + 1;
            let hosts = switches.saturating_mul(hosts_per_switch.into());
            (hosts, switches, 2 * hosts + 2 * u64::from(bottlenecks))
        }
        TopologySpec::LeafSpine { racks, hosts_per_rack, spines, .. } => {
            let (racks, spines) = (u64::from(racks), u64::from(spines));
            let hosts = racks * u64::from(hosts_per_rack);
            (hosts, racks + spines, 2 * hosts + 2 * racks * spines)
        }
        TopologySpec::FatTree { k, hosts_per_edge, .. } => {
            let half = u64::from(k / 2);
            let edges = u64::from(k) * half;
            let hosts = edges * u64::from(hosts_per_edge);
            (hosts, 2 * edges + half * half, 2 * hosts + 4 * edges * half)
        }
        TopologySpec::Graph { hosts, switches, ref links } => {
            (hosts.into(), switches.into(), 2 * links.len() as u64)
        }
    }
}

/// Hosts, links, flows, and memory of a run.
pub fn estimate(spec: &RunSpec) -> Estimate {
    estimate_for(spec, Flows::of(spec))
}

/// The same for other flows than those that the specification holds, which may not be made yet.
pub fn estimate_for(spec: &RunSpec, flows: Flows) -> Estimate {
    let (hosts, switches, links) = size(&spec.topology);
    // Every flow may have a window in flight; a link holds no more than its buffer and its delay.
    let buffered = match spec.fabric.buffer.data {
        Limit::Packets(n) => u64::from(n),
        Limit::Bytes(n) => n / u64::from(spec.fabric.sizes.full_wire()) + 1,
    };
    let packets = flows.total.saturating_mul(256).min(links.saturating_mul(buffered + 64));
    let sum = |parts: &[u64]| parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part));
    let network_bytes = sum(&[
        hosts.saturating_mul(PER_HOST),
        links.saturating_mul(PER_LINK),
        next_hops(&spec.topology, hosts, switches, links),
    ]);
    let flow_bytes = sum(&[flows.total.saturating_mul(PER_FLOW), packets.saturating_mul(PER_PACKET)]);
    let sample_bytes = sample_rows(spec, flows.sampled).saturating_mul(PER_SAMPLE);
    let memory_bytes = sum(&[BASE, network_bytes, flow_bytes, sample_bytes]);
    Estimate { hosts, links, flows: flows.total, network_bytes, flow_bytes, sample_bytes, memory_bytes }
}

/// Rows of the series at the most: each interval has three a link and one a flow, and the end of the run
/// has them once more.
fn sample_rows(spec: &RunSpec, sampled_flows: u64) -> u64 {
    let Some(sample) = &spec.sample else { return 0 };
    let (hosts, _, links) = size(&spec.topology);
    let links = match &sample.links {
        LinkChoice::None => 0,
        LinkChoice::All => links.saturating_sub(hosts),
        LinkChoice::Some(names) => names.len() as u64,
    };
    let intervals = spec.stop.0 / sample.every.0.max(1) + 1;
    intervals.saturating_mul(links.saturating_mul(3).saturating_add(sampled_flows))
}

/// Bytes of the table of next hops, where they are not arithmetic: a range for each pair of switches, and
/// at the most every link of a switch towards every other, in a list that doubles as it grows.
fn next_hops(topology: &TopologySpec, hosts: u64, switches: u64, links: u64) -> u64 {
    if matches!(topology, TopologySpec::LeafSpine { .. } | TopologySpec::FatTree { .. }) {
        return 0;
    }
    let between = links.saturating_sub(2 * hosts);
    switches
        .saturating_mul(switches)
        .saturating_mul(8)
        .saturating_add(switches.saturating_mul(between).saturating_mul(8))
}
