//! Division of a network into shards that are simulated side by side.
//!
//! A shard has whole switches and hosts, each with the ports by which packets leave it. Whatever happens in one shard
//! reaches another a link's delay later, so that all may go on for the shortest delay of the links between them
//! without hearing from each other. A host belongs to the shard of the switch of its first interface, and nodes that a link without delay
//! connects belong together.

use headway_network::{Changes, Link, Network, PathSelector, RunSpec};
use headway_units::Time;
use std::sync::Arc;

/// Shards at most: an owner is a byte.
const MOST: usize = 128;

/// See the module.
pub(crate) struct Division {
    shards: usize,
    /// The shard of each node, hosts first, and of each link's port.
    of_node: Arc<[u8]>,
    of_link: Arc<[u8]>,
    /// The shortest time that a packet takes from one shard to another; the end of time where there is one shard.
    window: Time,
    /// The longest time that a packet takes over any link.
    pub(crate) longest: Time,
    /// No packet goes from one host to another in less time.
    pub(crate) shortest_flight: Time,
}

impl Division {
    /// Divides a network into at most `wanted` shards. Fewer where the network does not have as many switches with
    /// hosts, and one where hosts take time: these interact by more than packets.
    pub(crate) fn new(network: &Network, spec: &RunSpec, wanted: usize) -> Division {
        let delays = delays(network, spec);
        let longest = delays.iter().map(|(_, most)| *most).max().unwrap_or(Time::ZERO);
        let hosts = network.interfaces();
        let least = |of_host: &dyn Fn(&Link) -> bool| {
            let own = network.links().iter().zip(&delays).filter(|(link, _)| of_host(link));
            own.map(|(_, (least, _))| *least).min().unwrap_or(Time::ZERO)
        };
        // A packet leaves over a host's link and arrives over another one's.
        let shortest_flight = least(&|link| link.from < hosts).saturating_add(least(&|link| link.to < hosts));
        // Hosts that take time share their processor between interfaces, which may belong to other shards.
        let wanted = if spec.costs.is_free() { wanted.clamp(1, MOST) } else { 1 };
        let of_node = if wanted > 1 { divide(network, spec, &delays, wanted) } else { Vec::new() };
        let shards = of_node.iter().max().map_or(1, |last| usize::from(*last) + 1);
        let of_node: Arc<[u8]> = match shards {
            1 => vec![0; (network.interfaces() + network.switches()) as usize].into(),
            _ => of_node.into(),
        };
        let of_link = network.links().iter().map(|link| of_node[link.from as usize]).collect();
        let mut division = Division { shards, of_node, of_link, window: Time::MAX, longest, shortest_flight };
        let cut = network.links().iter().zip(&delays).filter(|(link, _)| division.cuts(link));
        division.window = cut.map(|(_, (least, _))| *least).min().unwrap_or(Time::MAX);
        division
    }

    pub(crate) fn shards(&self) -> usize {
        self.shards
    }

    pub(crate) fn window(&self) -> Time {
        self.window
    }

    pub(crate) fn of_node(&self) -> &Arc<[u8]> {
        &self.of_node
    }

    pub(crate) fn of_link(&self) -> &Arc<[u8]> {
        &self.of_link
    }

    /// True if packets go from one shard to another over a link.
    pub(crate) fn cuts(&self, link: &Link) -> bool {
        self.of_node[link.from as usize] != self.of_node[link.to as usize]
    }

    /// The numbers of a shard's links.
    pub(crate) fn links_of(&self, shard: u8) -> Arc<[u32]> {
        (0..self.of_link.len() as u32).filter(|link| self.of_link[*link as usize] == shard).collect()
    }
}

/// The shortest and the longest time that a packet takes from the end of each link to the other, during the run.
fn delays(network: &Network, spec: &RunSpec) -> Vec<(Time, Time)> {
    let written = network.links().iter().map(|link| network.hop_delay(link));
    if spec.faults.is_empty() {
        return written.map(|delay| (delay, delay)).collect();
    }
    // With the run's seed: faults that name a path mean the one that the run takes.
    let choice = PathSelector::new(network, spec.seed);
    match Changes::new(&spec.faults, network, &choice) {
        Ok(Some(changes)) => changes.least_delays().into_iter().zip(changes.longest_delays()).collect(),
        // A wrong specification is refused where it is used.
        Ok(None) | Err(_) => written.map(|delay| (delay, delay)).collect(),
    }
}

/// Sets of nodes that belong together.
struct Joined(Vec<u32>);

impl Joined {
    fn root(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.0[root as usize] != root {
            root = self.0[root as usize];
        }
        // Path compression: later look-ups take one step.
        let mut next = node;
        while next != root {
            next = std::mem::replace(&mut self.0[next as usize], root);
        }
        root
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // The smaller number is the root, so that the result does not depend on the order of links.
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// The shard of each node.
///
/// Switches with hosts are taken in order, neighbours together, with so much of the traffic in each shard as in the
/// others. The rest follow those whose neighbours all are of one shard, and are dealt out in turn otherwise.
fn divide(network: &Network, spec: &RunSpec, delays: &[(Time, Time)], wanted: usize) -> Vec<u8> {
    let (hosts, nodes) = (network.interfaces(), network.interfaces() + network.switches());
    let mut joined = Joined((0..nodes).collect());
    let owners = network.owners();
    // Interfaces of a host belong together, and where the first one leads.
    let goes_along = |node: u32| node < hosts && owners.first_of(owners.host_of(node)) == node;
    for interface in 0..hosts {
        joined.join(interface, owners.first_of(owners.host_of(interface)));
    }
    for (link, (least, _)) in network.links().iter().zip(delays) {
        if goes_along(link.from) || goes_along(link.to) || *least == Time::ZERO {
            joined.join(link.from, link.to);
        }
    }
    // Traffic of hosts, as far as it is known; a little for each host of which nothing is known.
    let mut weight = vec![0f64; nodes as usize];
    (0..hosts).for_each(|host| weight[joined.root(host) as usize] += 1.0);
    let total: u64 = spec.flows.iter().map(|flow| flow.bytes).sum();
    // At least 1: there may be no flows.
    let unit = f64::from(hosts) / (total as f64).max(1.0);
    for flow in &spec.flows {
        for host in [flow.src, flow.dst] {
            // Each flow counts at both ends: all known traffic weighs 16 times as much as the hosts' own weights.
            weight[joined.root(host) as usize] += 8.0 * unit * flow.bytes as f64;
        }
    }
    let all: f64 = weight.iter().sum();
    let mut shard_of = vec![None; nodes as usize];
    let mut before = 0.0;
    for host in 0..hosts {
        let root = joined.root(host) as usize;
        if shard_of[root].is_none() {
            // Its middle decides, so that a heavy switch does not go wholly to the shard in which it begins.
            let middle = before + weight[root] / 2.0;
            // Rounding may take the middle of the last switch to `wanted` itself.
            shard_of[root] = Some(((middle / all * wanted as f64) as usize).min(wanted - 1));
            before += weight[root];
        }
    }
    let mut neighbours = vec![Vec::new(); nodes as usize];
    for link in network.links() {
        let (from, to) = (joined.root(link.from), joined.root(link.to));
        if from != to {
            neighbours[from as usize].push(to);
        }
    }
    // One tier after the other.
    let mut next = 0;
    loop {
        let mut found = Vec::new();
        for node in (hosts..nodes).filter(|node| shard_of[*node as usize].is_none()) {
            if joined.root(node) != node {
                continue;
            }
            let mut of: Vec<usize> =
                neighbours[node as usize].iter().filter_map(|other| shard_of[*other as usize]).collect();
            of.sort_unstable();
            of.dedup();
            match of[..] {
                [] => {}
                [only] => found.push((node, only)),
                _ => {
                    found.push((node, of[next % of.len()]));
                    next += 1;
                }
            }
        }
        if found.is_empty() {
            break;
        }
        // After the whole tier: a node must not count as a neighbour within the round that found it.
        found.into_iter().for_each(|(node, shard)| shard_of[node as usize] = Some(shard));
    }
    // Shards without a host are left out.
    // A switch that no host reaches carries no packet: any shard will do.
    let of: Vec<usize> = (0..nodes).map(|node| shard_of[joined.root(node) as usize].unwrap_or(0)).collect();
    let mut used: Vec<usize> = of[..hosts as usize].to_vec();
    used.sort_unstable();
    used.dedup();
    of.iter().map(|shard| used.binary_search(shard).unwrap_or(0) as u8).collect()
}
