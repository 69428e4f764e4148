//! How large a run is, before anything is allocated.

use crate::run::Estimate;
use headway_fabric::Limit;
use headway_network::{LinkChoice, RunSpec, TopologySpec};

/// Bytes a host's machine, its link and its timers take.
const PER_HOST: u64 = 1_500;
/// Bytes a port takes with empty queues, and its event ring slots.
const PER_LINK: u64 = 700;
/// Bytes a flow takes in the specification and in the records.
const PER_FLOW: u64 = 400;
/// Bytes a packet in flight takes: pool, event, queue entry.
const PER_PACKET: u64 = 120;
/// Bytes a sample takes.
const PER_SAMPLE: u64 = 40;

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
    let (hosts, switches, links) = size(&spec.topology);
    let flows = spec.flows.len() as u64;
    let structured = matches!(spec.topology, TopologySpec::LeafSpine { .. } | TopologySpec::FatTree { .. });
    let table = if structured { 0 } else { switches * switches * 12 };
    // Every flow may have a window in flight; a link holds no more than its buffer and its delay.
    let buffered = match spec.fabric.buffer.data {
        Limit::Packets(n) => u64::from(n),
        Limit::Bytes(n) => n / u64::from(spec.fabric.sizes.full_wire()) + 1,
    };
    let packets = flows.saturating_mul(256).min(links.saturating_mul(buffered + 64));
    let samples = spec.sample.as_ref().map_or(0, |sample| {
        let rows = match &sample.links {
            LinkChoice::None => 0,
            LinkChoice::All => links - hosts,
            LinkChoice::Some(names) => names.len() as u64,
        };
        (spec.stop.0 / sample.every.0.max(1)).min(1_000_000).saturating_mul(3 * rows)
    });
    let memory_bytes = [
        hosts.saturating_mul(PER_HOST),
        links.saturating_mul(PER_LINK),
        flows.saturating_mul(PER_FLOW),
        packets.saturating_mul(PER_PACKET),
        samples.saturating_mul(PER_SAMPLE),
        table,
        8 << 20,
    ]
    .into_iter()
    .fold(0u64, u64::saturating_add);
    Estimate { hosts, links, flows, memory_bytes }
}
