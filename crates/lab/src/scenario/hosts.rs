//! The `[hosts]` table: what hosts do that wires and transports do not.

use super::Setup;
use crate::text::{Problem, Reader, ScenarioError};
use crate::traffic::Made;
use headway_fabric::Limit;
use headway_network::{FlowSpec, HostCosts, Network};
use headway_units::Time;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json};

/// Packets from which on a flow lives long enough to lock others out.
const LONG: u64 = 1000;

/// Entries with more flows than this are not checked.
const LOOKED_AT: f64 = 10_000.0;

/// Bytes at most of a burst: twice what Linux hands to an interface at once.
const LARGEST_BURST: u64 = 1_000_000;

/// Properties of hosts beyond their wires and transports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Upper limit of the random delay of a host's packets.
    pub jitter: Time,
    /// Costs of their processors and interfaces.
    pub costs: HostCosts,
    /// Room of the queue in front of their links, where there is one.
    pub queue: Option<Limit>,
}

/// Packets that the queue in front of a host's link holds by default: Linux's `txqueuelen`.
const USUAL_QUEUE: Limit = Limit::Packets(1000);

/// Reads the properties of hosts, or their defaults.
pub(super) fn read(table: &Reader<'_>) -> Result<Hosts, ScenarioError> {
    let Some(item) = table.get("hosts") else { return Ok(Hosts::default()) };
    let table = item.table()?;
    let time = |key: &str| table.get(key).map_or(Ok(Time::ZERO), |i| i.time());
    let hosts = Hosts {
        jitter: time("jitter")?,
        costs: HostCosts {
            packet: time("packet_cost")?,
            message: time("message_cost")?,
            coalesce: time("coalesce")?,
            coalesce_packets: match table.get("coalesce_packets") {
                Some(item) => item.int(0, u64::from(u32::MAX))? as u32,
                None => 0,
            },
            burst: table.get("burst").map_or(Ok(0), |i| i.bytes_up_to(0, LARGEST_BURST))?,
        },
        queue: None,
    };
    let hosts = Hosts { queue: queue(&table, &hosts.costs)?, ..hosts };
    table.finish(&[], None)?;
    Ok(hosts)
}

/// The queue in front of a host's link.
fn queue(table: &Reader<'_>, costs: &HostCosts) -> Result<Option<Limit>, ScenarioError> {
    let buffer = table.get("buffer");
    // Both are looked up even if one is an error: keys that were never asked for are reported as unknown.
    let queue = table.get("queue");
    let fifo = queue.as_ref().map_or(Ok(0), |item| item.choice(&["none", "fifo"]))? == 1;
    let Some(item) = queue.filter(|_| fifo) else {
        let table = "[hosts] without queue = \"fifo\"".into();
        let unused = buffer.map(|item| item.fail(Problem::UnusedKey { key: "buffer".into(), table }));
        return unused.map_or(Ok(None), Err);
    };
    // A burst is prepared while the wire is busy with the one before; a queue in between would take its place.
    if !costs.is_free() {
        let text = "hosts whose processors or interfaces take time have no `queue`".into();
        return Err(item.fail(Problem::Contradiction(text)).help("leave out either the costs or the queue"));
    }
    let buffer = buffer.map(|item| crate::fabric::positive(&item)).transpose()?;
    Ok(Some(buffer.unwrap_or(USUAL_QUEUE)))
}

impl Hosts {
    /// The table with the unusual values, or `None` where all are usual.
    pub(super) fn to_json(self) -> Option<Json> {
        let costs = self.costs;
        let times = [
            ("jitter", self.jitter),
            ("packet_cost", costs.packet),
            ("message_cost", costs.message),
            ("coalesce", costs.coalesce),
        ];
        let counts = [("coalesce_packets", u64::from(costs.coalesce_packets)), ("burst", costs.burst)];
        let times = times.into_iter().filter(|t| t.1 > Time::ZERO).map(|(k, t)| (k, t.to_string().into()));
        let counts = counts.into_iter().filter(|c| c.1 > 0).map(|(k, n)| (k, Json::from(n)));
        let room = self.queue.map(crate::fabric::show_limit);
        let queue = room.into_iter().flat_map(|room| [("queue", "fifo".into()), ("buffer", room.into())]);
        let table: Map<String, Json> =
            times.chain(counts).chain(queue).map(|(k, value)| (k.to_owned(), value)).collect();
        (!table.is_empty()).then_some(Json::Object(table))
    }
}

impl Setup {
    /// Timing noise where there is too much of it, or none where it is needed.
    pub(super) fn timing_warnings(&self) -> Vec<String> {
        // The error of a network that cannot be built is reported where it is used.
        let Ok(network) = Network::build(&self.topology.spec, &self.fabric) else { return Vec::new() };
        let noise =
            if self.hosts.jitter > Time::ZERO { self.long_jitter(&network) } else { self.lock_out(&network) };
        noise.into_iter().chain(self.slow_hosts(&network)).chain(self.no_window()).collect()
    }

    /// The shortest time of so many bytes on a host's link.
    fn fastest(&self, network: &Network, bytes: u64) -> Option<Time> {
        let own = &network.links()[..network.interfaces() as usize];
        own.iter().map(|link| link.spec.rate.time_of(bytes)).min()
    }

    /// Noise of a packet's time or more.
    fn long_jitter(&self, network: &Network) -> Option<String> {
        let packet = self.fastest(network, u64::from(self.fabric.sizes.full_wire()))?;
        let jitter = self.hosts.jitter;
        (jitter >= packet).then(|| {
            format!(
                "`hosts.jitter` of {jitter} is no less than a full packet's {packet} on a host's link: packets that leave back to back will arrive together"
            )
        })
    }

    /// Processors that need longer for a burst than their link.
    fn slow_hosts(&self, network: &Network) -> Option<String> {
        let HostCosts { packet: cost, burst, .. } = self.hosts.costs;
        let full = u64::from(self.fabric.sizes.full_wire());
        let takes = self.fastest(network, full.max(burst))?;
        let what = if burst > full { "burst" } else { "full packet" };
        (cost > takes).then(|| {
            format!(
                "`hosts.packet_cost` of {cost} is more than a {what}'s {takes} on a host's link: hosts are slower than their links"
            )
        })
    }

    /// A bound on packets that wait for nothing.
    fn no_window(&self) -> Option<String> {
        let costs = self.hosts.costs;
        (costs.coalesce_packets > 0 && costs.coalesce == Time::ZERO)
            .then(|| "`hosts.coalesce_packets` has no effect without `hosts.coalesce`".into())
    }

    /// Long flows that share a link as fast as their hosts' own.
    fn lock_out(&self, network: &Network) -> Option<String> {
        let mut sharing: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
        for flow in self.long_flows() {
            let rate = |link: &u32| network.links()[*link as usize].spec.rate.bps();
            let (src, dst) = network.pair(flow.src, flow.dst)?;
            let path = network.links_between(src, dst)?;
            // A slower link on the way has the queue; where switches choose, flows may meet at their receiver only.
            // Lock-out needs arrivals that are exactly as far apart as departures, so equal rates.
            if path.iter().map(rate).min() < Some(rate(&src)) {
                continue;
            }
            // The sender's own link is never shared with another host.
            let shared = if self.has_many_paths() { path.len() - 1 } else { 1 };
            for link in path.into_iter().skip(shared).filter(|link| rate(link) == rate(&src)) {
                sharing.entry(link).or_default().insert(flow.src);
            }
        }
        let crowded = |(link, hosts): (&u32, &FxHashSet<u32>)| (hosts.len() > 1).then_some(*link);
        // The lowest number, so that the warning does not depend on the order of a map.
        let link = sharing.iter().filter_map(crowded).min()?;
        let name = network.link_names().swap_remove(link as usize);
        Some(format!(
            "long flows of several hosts share `{name}`, which is as fast as their hosts' own links: without timing noise one of them may lock the others out; `hosts.jitter` adds some"
        ))
    }

    /// Flows of a thousand packets or more whose senders find their own rate.
    fn long_flows(&self) -> impl Iterator<Item = FlowSpec> {
        let (sizes, hosts) = (self.fabric.sizes, self.topology.hosts);
        let grows = |flow: &FlowSpec| {
            let transport = &self.transports[usize::from(flow.transport)];
            headway_transport::registry::find_entry(&transport.name)
                .is_some_and(|found| found.capabilities.window_grows)
        };
        self.traffic.iter().flat_map(move |entry| {
            let mut made = Made::default();
            // Random flows are not in step, and making millions of them for a warning takes too long.
            if !entry.pattern.is_spread() && entry.expected_flows(hosts) <= LOOKED_AT {
                entry.generate(0, 0, hosts, &mut made);
            }
            made.flows
                .into_iter()
                .map(|f| f.spec)
                .filter(move |f| sizes.packets_of(f.bytes) >= LONG && grows(f))
        })
    }
}
