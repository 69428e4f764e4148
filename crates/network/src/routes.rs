//! The choice among equal next hops.

use crate::detours::{Detours, Next};
use crate::link::Link;
use crate::network::Network;
use crate::rng::{Purpose, derive};
use crate::spec::Routing;
use crate::topology::Hop;
use headway_packet::Packet;
use headway_primitives::mix;
use headway_units::Time;
use rustc_hash::FxHashMap;

/// The choices of a run: routing mode, salts and spray keys.
///
/// A choice depends on nothing that was chosen before: it is a function of the seed, the switch and the packet, and
/// where every packet is sprayed, of the link and the instant in which it arrives. Shards that simulate parts of a
/// network side by side therefore choose as a single one would.
pub struct PathSelector {
    routing: Routing,
    /// Basis of most packets' choice.
    way: Way,
    /// True if packets choose otherwise among next hops that are numbered one after the other, and among listed ones.
    apart: bool,
    listed_apart: bool,
    salts: Vec<u64>,
    spray: Vec<u64>,
    symmetric: Symmetric,
}

/// Basis of a packet's choice among equal next hops: a few words of memory, since every packet reads it at
/// every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Hashed,
    Sprayed,
    Pinned,
    Symmetric,
}

impl PathSelector {
    /// The choices of `network` under a seed.
    pub fn new(network: &Network, seed: u64) -> PathSelector {
        let (routing, switches) = (network.fabric().routing, network.switches());
        let range = 0..u64::from(switches);
        // One of the two is needed, by every packet.
        let keys = |purpose| range.clone().map(|s| derive(seed, purpose, s)).collect();
        let (salts, spray) = match routing {
            Routing::Ecmp | Routing::Weighted => (keys(Purpose::Salt), Vec::new()),
            Routing::Spray | Routing::LeastQueue | Routing::Flowlet(_) => (Vec::new(), keys(Purpose::Spray)),
            Routing::Pinned | Routing::Symmetric => (Vec::new(), Vec::new()),
        };
        let symmetric =
            if routing == Routing::Symmetric { Symmetric::new(network, seed) } else { Symmetric::default() };
        let way = match routing {
            Routing::Ecmp | Routing::Weighted => Way::Hashed,
            Routing::Spray | Routing::LeastQueue | Routing::Flowlet(_) => Way::Sprayed,
            Routing::Pinned => Way::Pinned,
            Routing::Symmetric => Way::Symmetric,
        };
        let weighted = routing == Routing::Weighted;
        let (apart, listed_apart) = (weighted || symmetric.walks, weighted || routing == Routing::Symmetric);
        PathSelector { routing, way, apart, listed_apart, salts, spray, symmetric }
    }

    /// True if the driver of the ports chooses among [`PathSelector::choices`] when a packet arrives.
    pub fn is_late(&self) -> bool {
        self.routing.is_late()
    }

    /// The ports by which `switch` may forward a packet for a host, in the place of what `ports` holds; none where that is
    /// out of reach.
    pub fn choices(&self, network: &Network, switch: u32, dst: u32, ports: &mut Vec<u32>) {
        network.router.fill(switch, dst, ports);
    }

    /// A number below `count` for the packet that arrives at `switch` over a link at a time: all are as likely.
    pub fn any_of(&self, switch: u32, count: u32, (link, at): (u32, Time)) -> u32 {
        below(self.sprayed(switch, (link, at)), count)
    }

    /// The port by which `switch` forwards `packet`, which arrives over the link of a number at a time; `None` when its
    /// destination is out of reach.
    #[inline(always)]
    pub fn route(
        &self,
        network: &Network,
        switch: u32,
        packet: &Packet,
        arrival: (u32, Time),
    ) -> Option<u32> {
        let router = &network.router;
        match router.hop(switch, packet.dst.0) {
            Hop::One(port) => Some(port),
            Hop::Many { .. } if self.apart => self.route_apart(network, switch, packet),
            Hop::Many { first, count, level } => {
                Some(first + self.pick(switch, packet, (count, level), arrival))
            }
            Hop::Listed { .. } if self.listed_apart => self.route_apart(network, switch, packet),
            Hop::Listed { first, count } => {
                Some(router.listed(first + self.pick(switch, packet, (count, 0), arrival)))
            }
            Hop::Nowhere => None,
        }
    }

    /// The next port of a packet whose choice depends on more than one number.
    #[cold]
    #[inline(never)]
    fn route_apart(&self, network: &Network, switch: u32, packet: &Packet) -> Option<u32> {
        if self.routing != Routing::Weighted {
            return self.symmetric.listed(network, switch, packet);
        }
        let mut ports = Vec::new();
        network.router.fill(switch, packet.dst.0, &mut ports);
        self.weighted(network, switch, packet, ports.iter().copied())
    }

    /// [`PathSelector::route`] where routes avoid links that are down.
    pub(crate) fn route_around(
        &self,
        network: &Network,
        switch: u32,
        packet: &Packet,
        arrival: (u32, Time),
        detours: &mut Detours,
    ) -> Option<u32> {
        if self.routing == Routing::Symmetric {
            return self.symmetric.around(network, switch, packet, detours);
        }
        match detours.next(network, switch, packet.dst.0) {
            Next::Usual => self.route(network, switch, packet, arrival),
            Next::Few { ports, .. } if self.routing == Routing::Weighted => {
                self.weighted(network, switch, packet, ports.iter().copied())
            }
            Next::Few { ports, level } => {
                let place = self.pick(switch, packet, (ports.len() as u32, *level), arrival);
                ports.get(place as usize).copied()
            }
            Next::Nowhere => None,
        }
    }

    /// The port of the other direction of each port's link, where routes are the same in both.
    pub(crate) fn reverse(&self) -> &[u32] {
        &self.symmetric.reverse
    }

    #[inline(always)]
    fn pick(&self, switch: u32, packet: &Packet, (count, level): (u32, u32), (link, at): (u32, Time)) -> u32 {
        let number = match self.way {
            Way::Hashed => self.hashed(switch, packet),
            Way::Sprayed => self.sprayed(switch, (link, at)),
            // A path number has a digit for each choice on the way; the level is the value of this one's
            // place.
            Way::Pinned => return packet.entropy / level.max(1) % count,
            Way::Symmetric => self.symmetric.hash(packet, level.into()),
        };
        below(number, count)
    }

    #[inline(always)]
    fn hashed(&self, switch: u32, packet: &Packet) -> u32 {
        let addresses = u64::from(packet.src.0) << 32 | u64::from(packet.dst.0);
        mix(mix(addresses ^ self.salts[switch as usize]) ^ u64::from(packet.entropy)) as u32
    }

    /// A link brings one packet at a time.
    #[inline(always)]
    fn sprayed(&self, switch: u32, (link, at): (u32, Time)) -> u32 {
        mix((self.spray[switch as usize] ^ at.0).wrapping_add(u64::from(link) << 40)) as u32
    }

    /// One of these ports, each as likely as its link is fast, by the hash of the packet. Rates are those of the links as
    /// they are written.
    #[cold]
    #[inline(never)]
    fn weighted(
        &self,
        network: &Network,
        switch: u32,
        packet: &Packet,
        ports: impl Iterator<Item = u32> + Clone,
    ) -> Option<u32> {
        let rate = |port: u32| u128::from(network.links()[port as usize].spec.rate.bps());
        let all: u128 = ports.clone().map(rate).sum();
        // The hash, as a share of 2^32, is a point on the line of all rates.
        let mut left = (u128::from(self.hashed(switch, packet)) * all) >> 32;
        for port in ports {
            match left.checked_sub(rate(port)) {
                Some(less) => left = less,
                None => return Some(port),
            }
        }
        None
    }
}

/// A number below `count` from one of 32 bits.
#[inline(always)]
fn below(number: u32, count: u32) -> u32 {
    // The high bits of the product: as good as a remainder, without a division.
    ((u64::from(number) * u64::from(count)) >> 32) as u32
}

/// Routes that are the same in both directions. ExpressPass §3.1
///
/// On structured topologies every switch of a tier chooses by the same hash among next hops that are numbered
/// alike, so that both directions meet at the same spine or core. On any other network the host with the lower
/// number decides: the other direction walks its path, and takes it backwards.
#[derive(Default)]
struct Symmetric {
    salt: u64,
    /// True if the lower host decides on a structured topology too: there, both directions would not meet by
    /// themselves.
    walks: bool,
    /// Port of the same link's other direction, for each port of a switch.
    reverse: Vec<u32>,
}

impl Symmetric {
    fn new(network: &Network, seed: u64) -> Symmetric {
        // Parallel links are paired in the order of their making.
        let mut made = FxHashMap::<(u32, u32), Vec<u32>>::default();
        for (number, link) in network.links().iter().enumerate() {
            made.entry((link.from, link.to)).or_default().push(number as u32);
        }
        let other = |(number, link): (usize, &Link)| {
            let place = made[&(link.from, link.to)].iter().position(|n| *n == number as u32);
            made.get(&(link.to, link.from)).zip(place).map_or(number as u32, |(back, place)| back[place])
        };
        let reverse = network.links().iter().enumerate().map(other).collect();
        Symmetric { salt: derive(seed, Purpose::Salt, u64::MAX), walks: !network.router.is_alike(), reverse }
    }

    #[inline]
    fn hash(&self, packet: &Packet, place: u64) -> u32 {
        // In this order, so that both directions hash alike.
        let (a, b) = (packet.src.0.min(packet.dst.0), packet.src.0.max(packet.dst.0));
        let addresses = u64::from(a) << 32 | u64::from(b);
        mix(mix(addresses ^ self.salt.wrapping_add(place)) ^ u64::from(packet.entropy)) as u32
    }

    /// The next hop from a switch of a graph that has several, or of another network where the lower host decides.
    fn listed(&self, network: &Network, switch: u32, packet: &Packet) -> Option<u32> {
        if packet.src < packet.dst {
            return self.outward(network, switch, packet, packet.dst.0);
        }
        // The way of the other direction, up to here.
        let mut port = packet.dst.0;
        loop {
            let next = network.links()[port as usize].to.checked_sub(network.interfaces())?;
            if next == switch {
                return Some(self.reverse[port as usize]);
            }
            port = self.outward(network, next, packet, packet.src.0)?;
        }
    }

    /// The next hop where links are down. The lower host decides on every shape of network: detours are not
    /// numbered alike in both directions.
    fn around(&self, network: &Network, switch: u32, packet: &Packet, detours: &mut Detours) -> Option<u32> {
        if packet.src < packet.dst {
            return self.outward_around(network, switch, packet, packet.dst.0, detours);
        }
        let mut port = packet.dst.0;
        while let Some(next) = network.links()[port as usize].to.checked_sub(network.interfaces()) {
            if next == switch {
                return Some(self.reverse[port as usize]);
            }
            port = self.outward_around(network, next, packet, packet.src.0, detours)?;
        }
        // It was under way on another path when routes changed: any way on will do.
        self.outward_around(network, switch, packet, packet.dst.0, detours)
    }

    fn outward_around(
        &self,
        network: &Network,
        switch: u32,
        packet: &Packet,
        dst: u32,
        detours: &mut Detours,
    ) -> Option<u32> {
        match detours.next(network, switch, dst) {
            Next::Usual => match network.router.hop(switch, dst) {
                Hop::Many { first, count, level } => {
                    let number = u64::from(self.hash(packet, level.into()));
                    Some(first + ((number * u64::from(count)) >> 32) as u32)
                }
                Hop::One(_) | Hop::Listed { .. } | Hop::Nowhere => self.outward(network, switch, packet, dst),
            },
            Next::Few { ports, .. } => {
                let number = u64::from(self.hash(packet, switch.into()));
                ports.get(((number * ports.len() as u64) >> 32) as usize).copied()
            }
            Next::Nowhere => None,
        }
    }

    /// The next hop of packets from the lower host to the higher one.
    fn outward(&self, network: &Network, switch: u32, packet: &Packet, dst: u32) -> Option<u32> {
        match network.router.hop(switch, dst) {
            Hop::Listed { first, count } => {
                let number = u64::from(self.hash(packet, switch.into()));
                let place = (number * u64::from(count)) >> 32;
                Some(network.router.listed(first + place as u32))
            }
            Hop::Many { first, count, level } if self.walks => {
                Some(first + below(self.hash(packet, level.into()), count))
            }
            Hop::One(_) | Hop::Many { .. } | Hop::Nowhere => network.router.any(switch, dst),
        }
    }
}
