//! Pairs of interfaces between hosts: which ones a flow takes, see [`interfaces`](crate::interfaces).

use crate::error::BuildError;
use crate::flow::FlowSpec;
use crate::network::Network;
use crate::processor::HostCosts;
use crate::rng::{Purpose, derive};
use crate::spec::{Routing, RunSpec};
use headway_units::Rate;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// An interface of one host and one of another.
type Pair = (u32, u32);

/// Pairs of interfaces between hosts, looked up once.
#[derive(Default)]
pub struct Pairs {
    known: FxHashMap<(u32, u32), Box<[Pair]>>,
}

impl Network {
    /// The pairs of interfaces by which one host reaches another, and is reached by it, over the fewest links.
    pub fn pairs(&self, src: u32, dst: u32) -> Vec<(u32, u32)> {
        if src >= self.hosts() || dst >= self.hosts() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut fewest = usize::MAX;
        for from in self.owners().addresses_of(src) {
            for to in self.owners().addresses_of(dst) {
                let Some(links) = self.fewest(from, to).filter(|links| *links <= fewest) else { continue };
                if self.fewest(to, from).is_none() {
                    continue;
                }
                if links < fewest {
                    fewest = links;
                    found.clear();
                }
                found.push((from, to));
            }
        }
        found
    }

    /// Links of the shortest paths between two addresses.
    fn fewest(&self, src: u32, dst: u32) -> Option<usize> {
        let lengths = self.owners().ports_of(src).filter_map(|port| self.links_between(port, dst));
        lengths.map(|links| links.len()).min()
    }

    /// The ports of an address by which its packets reach another over the fewest links.
    pub fn ways(&self, src: u32, dst: u32) -> Vec<u32> {
        let fewest = self.fewest(src, dst);
        let is_way = |port: &u32| self.links_between(*port, dst).map(|links| links.len()) == fewest;
        self.owners().ports_of(src).filter(|_| fewest.is_some()).filter(is_way).collect()
    }

    /// Bits per second of all ports of an address together.
    pub fn line_rate(&self, address: u32) -> Rate {
        self.sum_of(self.owners().ports_of(address))
    }

    fn sum_of(&self, links: impl Iterator<Item = u32> + Clone) -> Rate {
        let bps = links.clone().map(|link| self.links()[link as usize].spec.rate.bps());
        let first = links.clone().next().map_or(Rate::gbps(1), |link| self.links()[link as usize].spec.rate);
        Rate::new(bps.fold(0, u64::saturating_add)).unwrap_or(first)
    }

    /// The rate of all paths together by which an address may send to another, where they leave by several of its ports.
    pub(crate) fn together(&self, src: u32, dst: u32) -> Rate {
        let slowest = |port: &u32| {
            let links = self.links_between(*port, dst).unwrap_or_default();
            links.into_iter().min_by_key(|link| self.links()[*link as usize].spec.rate.bps())
        };
        let there: Vec<u32> = self.ways(src, dst).iter().filter_map(slowest).collect();
        let (there, back) = (self.sum_of(there.into_iter()), self.sum_of(self.ways(dst, src).into_iter()));
        if there.bps() < back.bps() { there } else { back }
    }

    /// True if packets of a host reach another, and those of the other come back.
    pub fn connects(&self, src: u32, dst: u32) -> bool {
        if self.owners().are_alike() {
            return self.reachable(src, dst) && self.reachable(dst, src);
        }
        !self.pairs(src, dst).is_empty()
    }

    /// The first pair of interfaces between two hosts.
    pub fn pair(&self, src: u32, dst: u32) -> Option<(u32, u32)> {
        if self.owners().are_alike() {
            return self.reachable(src, dst).then_some((src, dst));
        }
        self.pairs(src, dst).first().copied()
    }

    /// Number of paths that a flow between two hosts can be pinned to, over all equal pairs of interfaces.
    pub fn paths(&self, src: u32, dst: u32) -> u64 {
        if self.owners().are_alike() {
            return self.path_numbers(src, dst);
        }
        self.pairs(src, dst).iter().fold(0, |sum, (a, b)| self.path_numbers(*a, *b).saturating_add(sum))
    }

    /// One node of the network that each node is in: with several interfaces a host is in several networks.
    fn roots(&self) -> Vec<u32> {
        fn root(parent: &mut [u32], mut node: u32) -> u32 {
            while parent[node as usize] != node {
                parent[node as usize] = parent[parent[node as usize] as usize];
                node = parent[node as usize];
            }
            node
        }
        let mut parent: Vec<u32> = (0..self.interfaces() + self.switches()).collect();
        for link in self.links() {
            let (from, to) = (root(&mut parent, link.from), root(&mut parent, link.to));
            parent[from as usize] = to;
        }
        (0..parent.len() as u32).map(|node| root(&mut parent, node)).collect()
    }

    /// Interfaces that reach each other, in order; with several interfaces a host is in several such networks.
    pub fn parts(&self) -> Vec<Vec<u32>> {
        let mut parts: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let roots = self.roots();
        (0..self.interfaces()).for_each(|one| parts.entry(roots[one as usize]).or_default().push(one));
        let mut parts: Vec<Vec<u32>> = parts.into_values().collect();
        parts.sort_unstable();
        parts
    }

    /// Rate of the fastest link of a host in the network that each switch is in, by switch.
    pub(crate) fn fastest_hosts(&self) -> Vec<Rate> {
        let (roots, hosts) = (self.roots(), self.interfaces());
        let mut fastest: FxHashMap<u32, Rate> = FxHashMap::default();
        for link in self.links().iter().take(hosts as usize) {
            let rate = fastest.entry(roots[link.from as usize]).or_insert(link.spec.rate);
            *rate = if link.spec.rate.bps() > rate.bps() { link.spec.rate } else { *rate };
        }
        let of = |switch: u32| fastest.get(&roots[(hosts + switch) as usize]).copied();
        (0..self.switches()).map(|switch| of(switch).unwrap_or(Rate::gbps(1))).collect()
    }

    /// The flow at a position of a run, by the interfaces that its packets take; hosts that do not reach each other stay.
    ///
    /// `carrier` is the flow whose connection it goes over, which both have the interfaces of: its position.
    pub fn address_flow(&self, seed: u64, carrier: u32, flow: FlowSpec, pairs: &mut Pairs) -> FlowSpec {
        if self.owners().are_alike() {
            return flow;
        }
        // Both directions of a connection take the same pair.
        let (low, high) = (flow.src.min(flow.dst), flow.src.max(flow.dst));
        let known = pairs.known.entry((low, high)).or_insert_with(|| self.pairs(low, high).into());
        let count = known.len() as u64;
        if count == 0 {
            return flow;
        }
        let (place, path) = match (self.fabric().routing, flow.path) {
            (Routing::Pinned, Some(path)) => (u64::from(path) % count, Some(path / count as u32)),
            _ => (derive(seed, Purpose::Interface, u64::from(carrier)) % count, flow.path),
        };
        let (a, b) = known[place as usize];
        let (src, dst) = if flow.src == low { (a, b) } else { (b, a) };
        FlowSpec { src, dst, path, ..flow }
    }

    /// A specification whose flows and steps name interfaces in the place of hosts.
    pub fn address<'s>(&self, spec: &'s RunSpec) -> Cow<'s, RunSpec> {
        if self.owners().are_alike() {
            return Cow::Borrowed(spec);
        }
        let mut pairs = Pairs::default();
        let mut carriers: Vec<u32> = Vec::with_capacity(spec.flows.len());
        let mut flows = Vec::with_capacity(spec.flows.len());
        for (number, flow) in (0..).zip(&spec.flows) {
            // A carrier may itself go over the connection of another.
            let carrier =
                flow.connection.map_or(number, |at| carriers.get(at as usize).copied().unwrap_or(at));
            carriers.push(carrier);
            flows.push(self.address_flow(spec.seed, carrier, *flow, &mut pairs));
        }
        let graph = spec.graph.as_ref();
        let graph = graph.map(|graph| Arc::new(graph.at_interfaces(|host| self.owners().first_of(host))));
        Cow::Owned(RunSpec { flows, graph, ..spec.clone() })
    }
}

/// Refuses what interfaces of several ports do not go with.
pub fn check_ports(network: &Network, costs: &HostCosts, causes: bool) -> Result<(), BuildError> {
    let fabric = network.fabric();
    let refused = [
        (!costs.is_free(), "hosts whose processors take time ([hosts])"),
        (fabric.host_queue.is_some(), "a queue in front of the links of hosts ([hosts] queue)"),
        (causes, "times that are told by cause ([sample] causes)"),
    ];
    match refused.iter().find(|(is_so, _)| *is_so && network.owners().is_bonded()) {
        Some((_, what)) => {
            let text = format!("interfaces of several ports do not go with {what}");
            Err(BuildError::Shape(text))
        }
        None => Ok(()),
    }
}
