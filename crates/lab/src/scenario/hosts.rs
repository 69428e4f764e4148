//! The `[hosts]` table: what hosts do that wires and transports do not.

use super::Setup;
use crate::text::{Reader, ScenarioError};
use crate::traffic::Entry;
use headway_network::{FlowSpec, Network};
use headway_units::Time;
use rustc_hash::{FxHashMap, FxHashSet};

/// Packets from which on a flow lives long enough to lock others out.
const LONG: u64 = 1000;

/// Flows at most of an entry that is looked at.
const LOOKED_AT: f64 = 10_000.0;

/// Reads the noise in the timing of hosts, or what it is where nothing is said.
pub(super) fn read_jitter(table: &Reader<'_>) -> Result<Time, ScenarioError> {
    let Some(item) = table.get("hosts") else { return Ok(Time::ZERO) };
    let table = item.table()?;
    let jitter = table.get("jitter").map_or(Ok(Time::ZERO), |i| i.time())?;
    table.finish(&[], None)?;
    Ok(jitter)
}

impl Setup {
    /// Timing noise where there is too much of it, or none where it is needed.
    pub(super) fn timing_warnings(&self) -> Option<String> {
        let Ok(network) = Network::build(&self.topology.spec, &self.fabric) else { return None };
        if self.jitter > Time::ZERO {
            return self.long_jitter(&network);
        }
        self.lock_out(&network)
    }

    /// Noise of a packet's time or more.
    fn long_jitter(&self, network: &Network) -> Option<String> {
        let full = u64::from(self.fabric.sizes.full_wire());
        let own = &network.links()[..network.hosts() as usize];
        let packet = own.iter().map(|link| link.spec.rate.time_of(full)).min()?;
        (self.jitter >= packet).then(|| {
            format!(
                "`hosts.jitter` of {} is no less than a full packet's {packet} on a host's link: packets that leave back to back will arrive together",
                self.jitter
            )
        })
    }

    /// Long flows that share a link as fast as their hosts' own.
    fn lock_out(&self, network: &Network) -> Option<String> {
        let mut sharing: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
        for flow in self.long_flows() {
            let rate = |link: &u32| network.links()[*link as usize].spec.rate.bps();
            let path = network.links_between(flow.src, flow.dst)?;
            // A slower link on the way has the queue; where switches choose, flows may meet at their receiver only.
            if path.iter().map(rate).min() < Some(rate(&flow.src)) {
                continue;
            }
            let shared = if self.has_many_paths() { path.len() - 1 } else { 1 };
            for link in path.into_iter().skip(shared).filter(|link| rate(link) == rate(&flow.src)) {
                sharing.entry(link).or_default().insert(flow.src);
            }
        }
        let crowded = |(link, hosts): (&u32, &FxHashSet<u32>)| (hosts.len() > 1).then_some(*link);
        let link = sharing.iter().filter_map(crowded).min()?;
        let name = network.link_names().swap_remove(link as usize);
        Some(format!(
            "long flows of several hosts share `{name}`, which is as fast as their hosts' own links: without timing noise one of them may lock the others out; `hosts.jitter` adds some"
        ))
    }

    /// Flows of a thousand packets or more whose senders find their own rate.
    fn long_flows(&self) -> impl Iterator<Item = FlowSpec> {
        let (sizes, hosts) = (self.fabric.sizes, self.topology.hosts);
        let grows = |entry: &&Entry| {
            let transport = &self.transports[usize::from(entry.common.transport)];
            headway_transport::registry::find(&transport.name)
                .is_some_and(|found| found.capabilities.window_grows)
        };
        self.traffic.iter().filter(grows).flat_map(move |entry| {
            let mut flows = Vec::new();
            if !entry.pattern.is_spread() && entry.expected_flows(hosts) <= LOOKED_AT {
                entry.generate(0, 0, hosts, &mut flows);
            }
            flows.into_iter().map(|f| f.spec).filter(move |f| sizes.packets(f.bytes) >= LONG)
        })
    }
}
