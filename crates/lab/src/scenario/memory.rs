//! Memory that a run needs, against its limit: refused before anything is made, at the key to change.

use super::Setup;
use super::sample::{Flows, Sample};
use crate::fabric;
use crate::text::{Origin, Problem, ScenarioError, quantity};
use crate::topology::{Named, Topology};
use headway_fabric::{Buffer, Limit};
use headway_network::{Estimate, FabricSpec, FlowChoice, HostCosts, Routing, RunSpec};
use headway_packet::Sizes;
use headway_units::Time;
use std::sync::Arc;

/// Memory of the network alone, before anything is made for its hosts.
pub(super) fn check_network(topology: &Topology, limit: u64) -> Result<(), ScenarioError> {
    // The least that any scenario takes: buffers, routing and transports are not read yet.
    let least = Limit::Packets(1);
    let fabric = FabricSpec {
        discipline: String::new(),
        params: Vec::new(),
        buffer: Buffer { data: least, control: least },
        routing: Routing::Ecmp,
        sizes: Sizes::default(),
        switch_latency: topology.switch_latency,
        at: Vec::new(),
        forwarding: headway_network::Forwarding::StoreAndForward,
        host_queue: None,
        bonded: false,
        altered: Vec::new(),
        pfc: None,
        memory: None,
    };
    let estimate = headway_network::estimate(&RunSpec {
        topology: topology.spec.clone(),
        fabric,
        transports: Vec::new(),
        flows: Vec::new(),
        seed: 0,
        stop: Time::ZERO,
        sample: None,
        faults: Vec::new(),
        jitter: Time::ZERO,
        costs: HostCosts::default(),
        until: headway_network::Until::Received,
        graph: None,
    });
    match estimate.memory_bytes <= limit {
        true => Ok(()),
        false => Err(network_too_big(topology, &estimate, limit)),
    }
}

/// Rows of the tables of a run.
pub(super) struct Rows {
    pub(super) flows: u64,
    pub(super) links: u64,
    /// Edges and steps.
    pub(super) edges: u64,
    pub(super) samples: u64,
}

impl Setup {
    /// Memory that a run needs, or an error at the key that needs most of it if the limit is exceeded.
    pub fn check_memory(&self) -> Result<Estimate, ScenarioError> {
        let (spec, flows) = (self.bare(), self.expected());
        let estimate = headway_network::estimate_for(&spec, flows);
        if estimate.memory_bytes <= self.memory_limit {
            return Ok(estimate);
        }
        let limit = self.memory_limit;
        let others = estimate.network_bytes.max(estimate.flow_bytes);
        Err(match &self.sample {
            Some(sample) if estimate.sample_bytes >= others => {
                samples_too_big(sample, spec.stop, &estimate, limit)
            }
            _ if estimate.flow_bytes > estimate.network_bytes => self.flows_too_big(&estimate, limit),
            _ => network_too_big(&self.topology, &estimate, limit),
        })
    }

    /// Bytes that are left for what grows while a run lasts: its packets in flight and its samples.
    pub fn room(&self) -> Result<u64, ScenarioError> {
        let estimate = self.check_memory()?;
        let growing = estimate.packet_bytes.saturating_add(estimate.sample_bytes);
        Ok(self.memory_limit.saturating_sub(estimate.memory_bytes.saturating_sub(growing)))
    }

    /// Number of rows that the tables of its results will have.
    pub(super) fn expected_rows(&self) -> Result<Rows, ScenarioError> {
        let estimate = self.check_memory()?;
        let flows = self.expected();
        Ok(Rows {
            flows: flows.total,
            links: estimate.links,
            edges: flows.edges,
            samples: estimate.sample_bytes / headway_network::PER_SAMPLE,
        })
    }

    /// The run without its flows, up to its expected end.
    fn bare(&self) -> RunSpec {
        let rate = self.topology.spec.slowest();
        let ends = self.traffic.iter().map(|e| e.horizon(self.topology.hosts, rate));
        // Entries may send at the same time over the same links: the last start, then all of their bytes.
        let (start, length) = ends.fold((Time::ZERO, Time::ZERO), |(start, length), (last, takes)| {
            (start.max(last), length.saturating_add(takes))
        });
        let stop = start.saturating_add(length).min(self.stop);
        RunSpec { stop, ..self.spec(Vec::new(), FlowChoice::None) }
    }

    /// Number of flows that there will be.
    fn expected(&self) -> headway_network::Flows {
        let expected: f64 = self.traffic.iter().map(|e| e.expected_flows(self.topology.hosts)).sum();
        let total = expected.ceil() as u64;
        let sampled = match self.sample.as_ref().map(|s| &s.flows) {
            None | Some(Flows::None) => 0,
            Some(Flows::All) => total,
            Some(Flows::Named(names)) => names.len() as u64,
        };
        let bytes = self.traffic.iter().map(|e| e.expected_bytes(self.topology.hosts));
        let bytes = bytes.fold(0, u64::saturating_add);
        // At least a packet a flow, and one that is not full.
        let packets = total.saturating_add(bytes / u64::from(self.fabric.sizes.payload));
        let (mut at_once, mut packets_at_once) = (0.0, 0.0);
        for entry in &self.traffic {
            let flows = entry.expected_flows(self.topology.hosts);
            let bytes = entry.expected_bytes(self.topology.hosts) as f64;
            // Flows that are complete may have answers under way while the next begin.
            let open = (2.0 * entry.expected_at_once(self.topology.hosts)).min(flows);
            let share = if flows > 0.0 { open / flows } else { 0.0 };
            at_once += open;
            packets_at_once += share * (flows + bytes / f64::from(self.fabric.sizes.payload));
        }
        let (at_once, packets_at_once) = (at_once.ceil() as u64, packets_at_once.ceil() as u64);
        let edges = self.traffic.iter().map(|e| e.expected_edges(self.topology.hosts)).sum::<f64>() as u64;
        let receivers = self.traffic.iter().map(|e| e.receivers(self.topology.hosts)).sum::<u64>();
        // Entries may have receivers in common.
        let receivers = receivers.min(u64::from(self.topology.hosts));
        let credits = *self.credits.get_or_init(|| self.credits(total));
        headway_network::Flows {
            total,
            sampled,
            packets,
            at_once,
            packets_at_once,
            edges,
            receivers,
            stop: self.stop,
            credits,
        }
    }

    /// Largest number of credits in flight: a few flows are looked at one by one, and only made for it if a transport
    /// gives out credits. That depends on nothing that is read after the first estimate: neither on samples nor on
    /// faults.
    fn credits(&self, flows: u64) -> Option<u64> {
        let hosts = u64::from(self.topology.hosts);
        if !headway_network::counts_credits(&self.transports, flows, hosts) {
            return None;
        }
        let made = self.made(self.seed);
        // Flows that wait for each other are refused later, and count here as if they did not.
        let graph = made.graph().ok().flatten().map(Arc::new);
        let flows = made.flows.into_iter().map(|flow| flow.spec).collect();
        let spec = RunSpec { seed: self.seed, graph, ..self.spec(flows, FlowChoice::None) };
        headway_network::credits_in_flight(&spec)
    }

    fn flows_too_big(&self, estimate: &Estimate, limit: u64) -> ScenarioError {
        let hosts = self.topology.hosts;
        let most =
            self.traffic.iter().max_by(|a, b| a.expected_flows(hosts).total_cmp(&b.expected_flows(hosts)));
        let Some(entry) = most else { return network_too_big(&self.topology, estimate, limit) };
        let advice = match &entry.count {
            Some(named) => format!("change `{}`", named.key),
            None => format!("change `{}` of the topology", self.topology.size.key),
        };
        let at = entry.count.as_ref().map_or(&entry.at, |named| &named.at);
        let buffer = fabric::show_limit(self.fabric.buffer.data);
        let help = format!(
            "{} flows, with what they have in flight in buffers of {buffer}, take {}: {advice}{}",
            estimate.flows,
            quantity::show_bytes(estimate.flow_bytes),
            or_raise(estimate)
        );
        too_big(estimate, limit, at).help(help)
    }
}

fn too_big(estimate: &Estimate, limit: u64, at: &Origin) -> ScenarioError {
    let needed = quantity::show_bytes(estimate.memory_bytes);
    ScenarioError::new(Problem::TooBig { needed, limit: quantity::show_bytes(limit) }, at)
}

/// The other way out. Beyond some size a higher limit is not helpful advice, as no machine has that much.
fn or_raise(estimate: &Estimate) -> String {
    const LARGE: u64 = 1_000_000_000_000;
    if estimate.memory_bytes > LARGE {
        return String::new();
    }
    format!(", or allow more: memory_limit = \"{} GB\"", estimate.memory_bytes.div_ceil(1_000_000_000))
}

fn network_too_big(topology: &Topology, estimate: &Estimate, limit: u64) -> ScenarioError {
    let Named { key, at } = &topology.size;
    let (hosts, links) = (estimate.hosts, estimate.links);
    let raise = or_raise(estimate);
    too_big(estimate, limit, at).help(format!("{hosts} hosts, {links} links: change `{key}`{raise}"))
}

fn samples_too_big(sample: &Sample, stop: Time, estimate: &Estimate, limit: u64) -> ScenarioError {
    let rest = estimate.memory_bytes.saturating_sub(estimate.sample_bytes);
    let intervals = stop.0 / sample.every.0.max(1) + 1;
    // At least 1, since it divides.
    let per_interval = (estimate.sample_bytes / intervals).max(1);
    let room = limit.saturating_sub(rest) / per_interval;
    let what = format!("samples up to {stop} take {}", quantity::show_bytes(estimate.sample_bytes));
    let advice = match room.checked_sub(1) {
        // One interval at the end, and at least one before it.
        Some(fit @ 1..) => format!("every = \"{}\" would fit", rounded_up(Time(stop.0.div_ceil(fit)))),
        _ => "no interval fits: sample fewer `flows` or `links`".into(),
    };
    let sooner = "; so would a sooner `stop`";
    too_big(estimate, limit, &sample.every_at).help(format!("{what}: {advice}{sooner}"))
}

/// The next longer duration of two digits.
fn rounded_up(time: Time) -> Time {
    let scale = 10u64.pow(time.0.max(1).ilog10().saturating_sub(1));
    Time(time.0.div_ceil(scale).saturating_mul(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_to_two_digits() {
        for (exact, rounded) in [(1, 1), (99, 99), (101, 110), (1_999, 2_000), (120_000, 120_000)] {
            assert_eq!(rounded_up(Time(exact)), Time(rounded));
        }
    }
}
