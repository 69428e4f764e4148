//! Flows of a host that the kernel carries, and the ports of their connections.

use crate::scenario::Job;
use headway_lab::traffic::Kernel;
use headway_network::FlowSpec;
use headway_switch::Addresses;
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;

/// Port of the listener of the scenario's first transport; the second has the next one, and so on.
const LISTEN: u16 = 9000;
/// Source port of the first flow between two hosts; the next one has the next port.
const FIRST: u16 = 10_000;
/// Flows by one transport from one host to another at most.
pub(super) const MOST: u16 = 50_000;

/// A flow of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planned {
    /// Number in the run.
    pub(super) flow: u32,
    /// Address and port of the sender.
    pub(super) from: SocketAddrV4,
    /// Address and port of the receiver.
    pub(super) to: SocketAddrV4,
    /// After the scenario's start.
    pub(super) start: Time,
    /// All of its bytes.
    pub(super) bytes: u64,
    /// Its transport's number in the scenario.
    pub(super) transport: u8,
    /// Kernel transport of the connection.
    pub(super) kernel: Kernel,
}

/// The kernel's flows from and to a host.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Flows from here in order of start.
    pub(super) outgoing: Vec<Planned>,
    /// Flows to here by the two ends of their connections.
    pub(super) incoming: BTreeMap<(SocketAddrV4, SocketAddrV4), Planned>,
    /// Seed of what flows carry.
    pub(super) seed: u64,
}

impl Plan {
    /// The part of a host in a job.
    pub fn for_host(job: &Job, host: u32) -> Plan {
        let mut plan = Plan { seed: job.slow.seed, ..Plan::default() };
        for planned in plan_flows(&job.slow.flows, &job.stacks, &job.addresses) {
            let flow = &job.slow.flows[planned.flow as usize];
            if flow.src == host {
                plan.outgoing.push(planned);
            }
            if flow.dst == host {
                plan.incoming.insert((planned.from, planned.to), planned);
            }
        }
        // `Sending` walks this list once, in order of time.
        plan.outgoing.sort_by_key(|p| (p.start, p.flow));
        plan
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// Addresses at which this host listens, and the kernel transport at each.
    pub(super) fn listen_addresses(&self) -> impl Iterator<Item = (SocketAddrV4, Kernel)> {
        let ends: BTreeSet<_> = self.incoming.values().map(|p| (p.to, p.kernel)).collect();
        ends.into_iter()
    }

    /// Settings of the host's namespace: no flow may use the kernel's memory of a path from an earlier one.
    pub(super) fn namespace_settings(&self) -> Vec<(&'static str, &'static str)> {
        let mut settings = vec![("net/ipv4/tcp_no_metrics_save", "1")];
        if self.outgoing.iter().chain(self.incoming.values()).any(|p| p.kernel.mptcp) {
            settings.push(("net/mptcp/enabled", "1"));
        }
        // Requested by every connection that this host opens; accepted where a peer requests it anyway.
        if self.outgoing.iter().any(|p| p.kernel.ecn) {
            settings.push(("net/ipv4/tcp_ecn", "1"));
        }
        settings
    }
}

/// Every flow of the kernel's, with its ports.
fn plan_flows(flows: &[FlowSpec], stacks: &[Option<Kernel>], addresses: &Addresses) -> Vec<Planned> {
    let mut next: BTreeMap<(u32, u32, u8), u16> = BTreeMap::new();
    let mut list = Vec::new();
    for (number, flow) in (0..).zip(flows) {
        let Some(kernel) = stacks.get(usize::from(flow.transport)).copied().flatten() else { continue };
        // Ports count for each pair of hosts and transport, so that both processes find the same ones without
        // talking to each other.
        let rank = next.entry((flow.src, flow.dst, flow.transport)).or_default();
        let end = |host: u32, port: u16| SocketAddrV4::new(addresses.of(host), port);
        list.push(Planned {
            flow: number,
            from: end(flow.src, FIRST + *rank % MOST),
            to: end(flow.dst, LISTEN + u16::from(flow.transport)),
            start: flow.start,
            bytes: flow.bytes,
            transport: flow.transport,
            kernel,
        });
        // More than `MOST` are refused before the run: `largest_crowd` finds them.
        *rank = rank.saturating_add(1);
    }
    list
}

/// The first window of the connections that a host opens, and a clause about combinations that a host cannot have.
pub fn first_window(opened: &[Kernel]) -> Result<Option<u32>, &'static str> {
    let windows: BTreeSet<_> = opened.iter().map(|k| k.initial_window).collect();
    if windows.len() > 1 {
        return Err("first windows of several sizes");
    }
    // Controls that always ask for ECN, as DCTCP, do not look at the setting, and are left out.
    let asking: BTreeSet<bool> = opened.iter().filter_map(|k| k.asks_by_setting()).collect();
    if asking.len() > 1 {
        return Err("connections that ask for marks and others that do not");
    }
    Ok(windows.first().copied().flatten())
}

/// The largest number of the kernel's flows by one transport between two hosts, and the two.
pub(super) fn largest_crowd(flows: &[FlowSpec], stacks: &[Option<Kernel>]) -> Option<(u32, u32, usize)> {
    let mut counts: BTreeMap<(u32, u32, u8), usize> = BTreeMap::new();
    let of_kernel = |f: &&FlowSpec| stacks.get(usize::from(f.transport)).is_some_and(Option::is_some);
    for flow in flows.iter().filter(of_kernel) {
        *counts.entry((flow.src, flow.dst, flow.transport)).or_default() += 1;
    }
    let ((src, dst, _), count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count > usize::from(MOST)).then_some((src, dst, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_transport::InitialWindow;

    fn flow_between(src: u32, dst: u32, transport: u8) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            bytes: 10,
            start: Time::ZERO,
            class: 0,
            deadline: None,
            initial_window: InitialWindow::default(),
            responsive: true,
            transport,
            path: None,
            connection: None,
            stop: None,
        }
    }

    #[test]
    fn a_host_opens_connections_of_one_first_window_and_one_way_to_ask_for_marks() {
        let kernel =
            |congestion, ecn, initial_window| Kernel { congestion, mptcp: false, ecn, initial_window };
        assert_eq!(first_window(&[]), Ok(None));
        // DCTCP asks by itself, under any setting of the host.
        let both = [kernel("dctcp", false, Some(3)), kernel("reno", true, Some(3))];
        assert_eq!(first_window(&both), Ok(Some(3)));
        let plan = |kernel: Kernel| {
            let list = plan_flows(&[flow_between(0, 1, 0)], &[Some(kernel)], &Addresses::new(2));
            Plan { outgoing: list, ..Plan::default() }.namespace_settings()
        };
        assert!(plan(both[1]).contains(&("net/ipv4/tcp_ecn", "1")));
        assert!(!plan(both[0]).iter().any(|(name, _)| name.contains("ecn")));
        assert!(first_window(&[kernel("reno", true, None), kernel("cubic", false, None)]).is_err());
        assert!(first_window(&[kernel("reno", true, None), kernel("reno", true, Some(3))]).is_err());
    }

    #[test]
    fn every_connection_has_ends_of_its_own_and_headways_flows_have_none() {
        let kernel = |congestion| Some(Kernel { congestion, mptcp: false, ecn: false, initial_window: None });
        let stacks = [None, kernel("cubic"), kernel("reno")];
        let mut flows: Vec<FlowSpec> =
            (0..90).map(|i| flow_between(i % 3, (i + 1) % 3, (i % 2) as u8)).collect();
        flows.extend((0..30).map(|_| flow_between(0, 1, 2)));
        let list = plan_flows(&flows, &stacks, &Addresses::new(3));
        assert_eq!(list.len(), 45 + 30);
        let ends: BTreeSet<_> = list.iter().map(|p| (p.from, p.to)).collect();
        assert_eq!(ends.len(), list.len());
        assert!(list.iter().all(|p| stacks[usize::from(p.transport)] == Some(p.kernel)));
        assert_eq!(largest_crowd(&flows, &stacks), None);
        let many = vec![flow_between(0, 1, 1); usize::from(MOST) + 1];
        assert_eq!(largest_crowd(&many, &stacks), Some((0, 1, usize::from(MOST) + 1)));
    }
}
