//! The lossless switches of a network: the memory that each reserves for its links.

use crate::changes::{Range, ranges};
use crate::chips::whole_alpha;
use crate::error::BuildError;
use crate::faults::FaultSpec;
use crate::link::Link;
use crate::network::Network;
use crate::pfc::{Account, Ledger, PfcParams, buffer_of};
use crate::processor::HostCosts;
use crate::spec::TransportSpec;
use headway_transport::registry;
use headway_units::Time;

/// A link that ends at a lossless switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// Number of the switch.
    pub switch: u32,
    /// Its place among the links that end there.
    pub place: u32,
    /// Bytes for packets that arrive after a stop was sent.
    pub headroom: u64,
    /// Part of the free pool, in 2^-20.
    alpha: u64,
}

/// The lossless switches of a network.
#[derive(Clone, Debug)]
pub struct Lossless {
    params: PfcParams,
    /// Memory of each switch.
    buffers: Vec<u64>,
    /// Memory for each link that ends at a switch.
    inbound: Vec<Option<Inbound>>,
    /// Link between the same nodes in the other direction, for each link.
    back: Vec<u32>,
    /// Pool of each switch.
    pools: Vec<u64>,
}

/// The most bytes that can arrive over a link, `there` and back a time, after its switch decided to stop it.
///
/// These are the bytes that arrive while the pause waits for a packet on the way back that has just begun (`largest`
/// bytes), is sent itself (`frame` bytes), and is under way; the bytes under way on the link by then; and the packet
/// that begins just before the pause is there. And the packet that made the switch decide: where the pool has shrunk,
/// it is the first in the headroom.
///
/// Of a link that changes during the run, packets come at its highest rate, a pause waits at the lowest of the way back, and
/// both are under way for the longest delays.
fn headroom_of(params: &PfcParams, largest: u64, (to, back): (Range, Range)) -> u64 {
    let waits = match params.out_of_band {
        true => Time::ZERO,
        false => {
            let ahead = back.lowest.time_of(largest.max(params.frame));
            ahead.saturating_add(back.lowest.time_of(params.frame))
        }
    };
    let time = to.longest.saturating_add(back.longest).saturating_add(waits);
    to.highest.bytes_in(time).saturating_add(2 * largest)
}

/// Headroom of a link in products of its rate and its own delay: switch latency and frames do not count.
fn products_of(products: f64, to: Range) -> u64 {
    (to.highest.bytes_in(to.longest) as f64 * products) as u64
}

/// Properties of a run because of which more arrives after a stop than the network alone would deliver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surplus<'a> {
    /// Packets of hosts reach their switch later by a random time below this.
    pub jitter: Time,
    /// Bytes that ports write into packets of the transport that has most of them.
    pub telemetry: u16,
    /// Faults that change rates and delays of links.
    pub faults: &'a [FaultSpec],
}

impl<'a> Surplus<'a> {
    /// Surplus of hosts with this timing noise and these transports, and of links with these faults.
    pub fn new(jitter: Time, transports: &[TransportSpec], faults: &'a [FaultSpec]) -> Surplus<'a> {
        let of = |transport: &TransportSpec| Some(registry::capabilities(&transport.name)?.telemetry);
        Surplus { jitter, telemetry: transports.iter().filter_map(of).max().unwrap_or(0), faults }
    }
}

impl Lossless {
    /// Memory of its switches; an error if it is not enough. `None` for a network that drops.
    pub fn new(network: &Network, surplus: Surplus<'_>) -> Result<Option<Lossless>, BuildError> {
        let Some(params) = network.fabric().pfc.clone() else { return Ok(None) };
        let (hosts, links) = (network.interfaces(), network.links());
        let fastest = network.fastest_hosts();
        let buffers: Vec<u64> = fastest.iter().map(|rate| buffer_of(&params, *rate)).collect();
        let back = pairs(network)?;
        let ranges = ranges(surplus.faults, network)?;
        let largest = match params.largest_packet {
            0 => {
                u64::from(network.sizes().full_wire().max(network.sizes().control))
                    + u64::from(surplus.telemetry)
            }
            bytes => bytes,
        };
        let mut places = vec![0; network.switches() as usize];
        let mut taken = vec![0u64; network.switches() as usize];
        let mut inbound = Vec::with_capacity(links.len());
        for (number, link) in links.iter().enumerate() {
            let Some(switch) = link.to.checked_sub(hosts) else {
                inbound.push(None);
                continue;
            };
            let way = |number: usize| {
                let link: &Link = &links[number];
                let late = if link.from < hosts { surplus.jitter } else { Time::ZERO };
                let switch = network.hop_delay(link) - link.spec.delay;
                let longest = ranges[number].longest.saturating_add(switch).saturating_add(late);
                Range { longest, ..ranges[number] }
            };
            let whole = match params.headroom {
                0 if params.headroom_products > 0.0 => products_of(params.headroom_products, ranges[number]),
                0 => headroom_of(&params, largest, (way(number), way(back[number] as usize))),
                bytes => bytes,
            };
            let headroom = whole.saturating_sub(params.headroom_less);
            let place = places[switch as usize];
            places[switch as usize] += 1;
            let own = params.reserve.saturating_add(headroom).saturating_mul(params.classes);
            let sum = &mut taken[switch as usize];
            *sum = sum.saturating_add(own);
            // Doubled with each doubling of the rate.
            let times = (link.spec.rate.bps() / fastest[switch as usize].bps().max(1)).max(1).ilog2();
            let alpha = whole_alpha(params.alpha);
            // Bounded, so that the shift cannot overflow.
            inbound.push(Some(Inbound { switch, place, headroom, alpha: alpha << times.min(20) }));
        }
        let mut pools = Vec::with_capacity(taken.len());
        for (switch, taken) in taken.into_iter().enumerate() {
            let buffer = buffers[switch];
            let Some(pool) = buffer.checked_sub(taken) else {
                return Err(BuildError::Memory {
                    switch: network.node_name(hosts + switch as u32),
                    links: places[switch],
                    needed: taken,
                    buffer,
                });
            };
            pools.push(pool);
        }
        Ok(Some(Lossless { params, buffers, inbound, back, pools }))
    }

    /// Parameters of pauses.
    pub fn params(&self) -> &PfcParams {
        &self.params
    }

    /// Memory of the switch that has most of it.
    pub fn buffer(&self) -> u64 {
        self.buffers.iter().max().copied().unwrap_or(0)
    }

    /// Memory of a switch.
    pub fn buffer_at(&self, switch: u32) -> u64 {
        self.buffers[switch as usize]
    }

    /// Least memory of a switch, for reserves and headroom.
    pub fn set_apart(&self) -> u64 {
        self.buffers.iter().zip(&self.pools).map(|(buffer, pool)| buffer - pool).max().unwrap_or(0)
    }

    /// Memory of a switch for a link; `None` for a link that ends at a host.
    #[inline]
    pub fn inbound(&self, link: u32) -> Option<&Inbound> {
        self.inbound[link as usize].as_ref()
    }

    /// The link between the same nodes in the other direction.
    #[inline]
    pub fn back(&self, link: u32) -> u32 {
        self.back[link as usize]
    }

    /// The memory of a switch, empty.
    pub fn ledger(&self, switch: u32) -> Ledger {
        let own = self.inbound.iter().flatten().filter(|inbound| inbound.switch == switch);
        let account = |inbound: &Inbound| Account {
            reserve: self.params.reserve,
            headroom_limit: inbound.headroom,
            alpha: inbound.alpha,
            resume_offset: self.params.resume_offset,
            ..Account::default()
        };
        let classes = self.params.classes as usize;
        let accounts = own.flat_map(|inbound| std::iter::repeat_n(account(inbound), classes)).collect();
        Ledger { pool: self.pools[switch as usize], classes, accounts, shared: 0, shared_max: 0 }
    }
}

/// Checks that lossless switches go with the costs of hosts; the error names the conflict.
pub fn check_around(costs: &HostCosts) -> Result<(), BuildError> {
    match costs.is_free() {
        true => Ok(()),
        false => Err(BuildError::Lossless("hosts whose processors take time do not go with them".into())),
    }
}

/// Link in the other direction, for each link: of several between the same nodes, the first belongs to the first.
fn pairs(network: &Network) -> Result<Vec<u32>, BuildError> {
    let mut of: std::collections::BTreeMap<(u32, u32), Vec<u32>> = std::collections::BTreeMap::new();
    for (number, link) in network.links().iter().enumerate() {
        of.entry((link.from, link.to)).or_default().push(number as u32);
    }
    let mut back = vec![0; network.links().len()];
    for ((from, to), there) in &of {
        let other = of.get(&(*to, *from)).map_or(&[][..], Vec::as_slice);
        if other.len() != there.len() {
            let (from, to) = (network.node_name(*from), network.node_name(*to));
            let text = format!(
                "lossless switches stop {from} -> {to} over the other direction of that link, which is not there"
            );
            return Err(BuildError::Shape(text));
        }
        for (one, other) in there.iter().zip(other) {
            back[*one as usize] = *other;
        }
    }
    Ok(back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Rate;

    #[test]
    fn headroom_is_what_can_still_arrive() {
        let way = |rate, delay| {
            let rate = Rate::gbps(rate);
            Range { lowest: rate, highest: rate, longest: Time::ns(delay) }
        };
        let params = PfcParams::default();
        // 2 us at 100 Gb/s are 25000 B; the packet ahead of the pause, the pause, and two packets more.
        let usual = headroom_of(&params, 1090, (way(100, 1000), way(100, 1000)));
        assert_eq!(usual, 25_000 + 1090 + 84 + 2 * 1090);
        let apart = PfcParams { out_of_band: true, ..params };
        assert_eq!(headroom_of(&apart, 1090, (way(25, 100), way(25, 100))), 625 + 2 * 1090);
        // A way that is sometimes faster and a way back that is sometimes slower: 1 us, and 1174 B at 10 Gb/s = 939.2 ns.
        let (to, back) = (way(25, 500), way(25, 500));
        let (to, back) = (Range { highest: Rate::gbps(100), ..to }, Range { lowest: Rate::gbps(10), ..back });
        assert_eq!(headroom_of(&PfcParams::default(), 1090, (to, back)), 24_240 + 2 * 1090);
    }

    #[test]
    fn headroom_in_products_is_of_each_link() {
        let way = |rate, delay| {
            let rate = Rate::gbps(rate);
            Range { lowest: rate, highest: rate, longest: Time::ns(delay) }
        };
        // HPCC's simulator: rate x delay / 8 x 3.
        assert_eq!(products_of(3.0, way(100, 1000)), 37_500);
        assert_eq!(products_of(3.0, way(400, 1000)), 150_000);
        assert_eq!(products_of(3.0, way(25, 5000)), 46_875);
        assert_eq!(products_of(0.5, way(100, 1000)), 6_250);
    }
}
