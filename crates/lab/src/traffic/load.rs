//! Meaning of a load: the links it is relative to, and the bytes it counts.
//!
//! * `host-links`: the reference is the sum of the rates of all hosts' links, and every flow counts. Load
//!   0.6 means that each host sends at 0.6 of its link's rate on average.
//! * `core-links`: the reference is the capacity from the hosts' switches into the rest of the fabric (leaf
//!   to spine, edge to aggregation, both directions of a dumbbell's middle link), and only flows between
//!   hosts of different switches count. Load 0.6 means that those links carry 0.6 of their rate on average.
//! * `receiver-links`: the reference is the sum of the rates of the links of the hosts that receive, where an
//!   entry names senders and receivers; or the middle link of a dumbbell, if all flows cross it the same way and
//!   it is slower. Load 0.6 means that these links carry 0.6 of their rate on average.
//! * `payload` counts application bytes, `wire` also headers, framing, and the padding of short packets.

use crate::topology::Topology;
use crate::workload::{Cdf, Interpolation};
use headway_network::{Link, Network, TopologySpec};
use headway_packet::Sizes;

/// Links that a load is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Hosts' own links.
    HostLinks,
    /// Links from hosts' switches into the rest of the fabric.
    CoreLinks,
    /// Links of the hosts that receive.
    ReceiverLinks,
}

impl Reference {
    /// Names in scenarios.
    pub const NAMES: &[&str] = &["host-links", "core-links", "receiver-links"];
}

/// Load that a traffic entry is to put on links.
#[derive(Clone, Debug, PartialEq)]
pub struct NominalLoad {
    /// Links that it loads.
    pub on: Reference,
    /// Bits on the wire a second of all of its flows that use these links.
    pub bps: f64,
    /// Hosts that receive, where not all do.
    pub receivers: Vec<u32>,
}

/// Capacities of a topology, and which flows cross its core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Sum of the rates of all hosts' links, in bits per second.
    pub hosts_bps: f64,
    /// Capacity out of hosts' switches, where a topology has one.
    pub core_bps: Option<f64>,
    /// Share of flows between random hosts that leave their switch.
    pub crossing: f64,
}

/// Groups of hosts under switches, if groups are of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    /// First host of each group; a last entry is the number of hosts.
    pub bounds: Vec<u32>,
}

impl Racks {
    /// The groups of a topology, where it has several.
    pub fn of(spec: &TopologySpec) -> Option<Racks> {
        spec.racks().map(|bounds| Racks { bounds })
    }

    /// First host of a host's group, and the group's size.
    pub fn group(&self, host: u32) -> (u32, u32) {
        let after = self.bounds.partition_point(|b| *b <= host);
        (self.bounds[after - 1], self.bounds[after] - self.bounds[after - 1])
    }

    /// Share of pairs of distinct hosts that are in different groups.
    fn crossing(&self) -> f64 {
        let hosts = f64::from(self.bounds[self.bounds.len() - 1]);
        let inside: f64 = self.bounds.windows(2).map(|w| f64::from(w[1] - w[0])).map(|n| n * (n - 1.0)).sum();
        1.0 - inside / (hosts * (hosts - 1.0))
    }
}

impl NominalLoad {
    /// The positions of the links that it is on.
    pub fn links(&self, network: &Network) -> Vec<usize> {
        let interfaces = network.interfaces();
        let mut has_hosts = vec![false; (interfaces + network.switches()) as usize];
        network.links().iter().filter(|l| l.from < interfaces).for_each(|l| has_hosts[l.to as usize] = true);
        let bears = |node: u32| node < interfaces && network.topology().bears_load(node);
        let is_on = |link: &Link| match self.on {
            Reference::HostLinks => bears(link.from),
            Reference::CoreLinks => has_hosts[link.from as usize] && link.to >= interfaces,
            Reference::ReceiverLinks => {
                bears(link.to) && self.receivers.contains(&network.owners().host_of(link.to))
            }
        };
        network.links().iter().enumerate().filter(|(_, link)| is_on(link)).map(|(i, _)| i).collect()
    }
}

/// Loads on the same links, together.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The positions of the links.
    pub links: Vec<usize>,
    /// Bits on the wire a second that are put on all of them.
    pub bps: f64,
    /// Bits a second that all of them carry.
    pub capacity_bps: f64,
}

impl Loaded {
    /// Nothing without loads, or where they are on different links.
    pub fn of<'a>(loads: impl Iterator<Item = &'a NominalLoad>, network: &Network) -> Option<Loaded> {
        let mut loads = loads.peekable();
        let first: &NominalLoad = loads.peek()?;
        let links = first.links(network);
        let mut bps = 0.0;
        for load in loads {
            if (load.on, &load.receivers) != (first.on, &first.receivers) {
                return None;
            }
            bps += load.bps;
        }
        let capacity_bps = links.iter().map(|&link| network.links()[link].spec.rate.bps() as f64).sum();
        Some(Loaded { links, bps, capacity_bps })
    }

    /// Ratio of their load to their capacity.
    pub fn share(&self) -> f64 {
        self.bps / self.capacity_bps
    }
}

/// Capacities of a topology.
pub fn capacity(topology: &Topology) -> Capacity {
    let crossing = Racks::of(&topology.spec).map_or(0.0, |r| r.crossing());
    let all: Vec<u32> = (0..topology.hosts).collect();
    Capacity { hosts_bps: topology.spec.host_bps(&all), core_bps: topology.spec.core_bps(), crossing }
}

/// Largest rate of flows from some hosts to others, in bits per second: the receivers' links, or the middle link of
/// a dumbbell.
pub fn inflow(topology: &Topology, senders: &[u32], receivers: &[u32]) -> f64 {
    let links = topology.spec.host_bps(receivers);
    let between = topology.spec.between(senders, receivers);
    between.map_or(links, |rate| links.min(rate.bps() as f64))
}

/// Mean bytes on the wire of a message whose size has this distribution: exact, by summing the wire size
/// of every size between the rows.
pub fn mean_wire(cdf: &Cdf, sizes: &Sizes) -> f64 {
    let wire = |bytes: u64| sizes.message_wire(bytes.max(1)) as f64;
    let rows = cdf.rows();
    match cdf.interpolation() {
        Interpolation::Step => {
            let before = std::iter::once(0.0).chain(rows.iter().map(|r| r.1));
            rows.iter().zip(before).map(|(row, before)| wire(row.0) * (row.1 - before)).sum()
        }
        Interpolation::Linear if rows.len() == 1 => wire(rows[0].0),
        Interpolation::Linear => {
            let sums = WireSums::new(sizes);
            let segment = |w: &[(u64, f64)]| {
                let ((from, start), (to, end)) = (w[0], w[1]);
                let mean = if from == to {
                    wire(from)
                } else {
                    // Sizes are rounded to the nearest byte, so the two ends weigh half.
                    let inside = sums.up_to(to) - sums.up_to(from);
                    (inside + (wire(from) - wire(to)) / 2.0) / (to - from) as f64
                };
                mean * (end - start)
            };
            rows.windows(2).map(segment).sum()
        }
    }
}

/// Sums of wire sizes over all message sizes from 1.
struct WireSums {
    payload: u64,
    full: f64,
    /// `tails[t]`: wire bytes of single packets of 1 to `t` bytes, added up.
    tails: Vec<f64>,
}

impl WireSums {
    fn new(sizes: &Sizes) -> WireSums {
        let mut tails = vec![0.0];
        for t in 1..=sizes.payload {
            tails.push(tails[usize::from(t) - 1] + f64::from(sizes.data_wire(t)));
        }
        WireSums { payload: u64::from(sizes.payload), full: f64::from(sizes.full_wire()), tails }
    }

    fn up_to(&self, bytes: u64) -> f64 {
        let (whole, rest) = (bytes / self.payload, bytes % self.payload);
        let (q, r, p) = (whole as f64, rest as f64, self.payload as f64);
        // Messages of n full packets before their last one have n * full bytes ahead of it.
        let ahead = p * self.full * q * (q - 1.0) / 2.0 + r * q * self.full;
        ahead + q * self.tails[self.payload as usize] + self.tails[rest as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Source;

    #[test]
    fn sums_of_wire_sizes_are_what_adding_them_gives() {
        let sizes = Sizes::default();
        let sums = WireSums::new(&sizes);
        let mut total = 0.0;
        for bytes in 1..=10_000u64 {
            total += sizes.message_wire(bytes) as f64;
            assert_eq!(sums.up_to(bytes), total, "{bytes}");
        }
    }

    #[test]
    fn the_mean_on_the_wire_is_exact() {
        let table = Source::new("x", "bytes,cdf\n10,0\n10,0.5\n20,1\n");
        let cdf = Cdf::parse(&table, Interpolation::Linear).expect("a distribution");
        // A point mass at 10 B, and 10 to 20 B evenly: one packet each, 78 B on top.
        assert_eq!(mean_wire(&cdf, &Sizes::default()), 0.5 * 88.0 + 0.5 * 93.0);
        let table = Source::new("x", "bytes,cdf\n1,0.5\n1461,1\n");
        let cdf = Cdf::parse(&table, Interpolation::Step).expect("a distribution");
        assert_eq!(mean_wire(&cdf, &Sizes::default()), 0.5 * 84.0 + 0.5 * (1538.0 + 84.0));
    }

    #[test]
    fn flows_cross_the_core_as_often_as_pairs_do() {
        let racks = Racks { bounds: vec![0, 2, 4, 6] };
        assert_eq!(racks.crossing(), 4.0 / 5.0);
        assert_eq!(racks.group(3), (2, 2));
        assert_eq!(racks.group(4), (4, 2));
    }
}
