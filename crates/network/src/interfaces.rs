//! Hosts with several interfaces.
//!
//! An interface is a link of a host with an address of its own. A machine runs at each interface, so that what it knows of
//! its line, and of its path to a peer, is that of this link: first windows, pacing, credits and the clock of a receiver
//! follow it. A message leaves by one interface of its sender and arrives at one of its receiver. Those are the two with the
//! fewest links between them; among equal pairs, the seed and the number of the flow decide, as a hash of addresses and ports
//! does.
//!
//! An interface may have several ports, as a NIC has in several planes or a host at two leaves. Where packets of a message
//! may take several paths ([`crate::FabricSpec::bonded`]), one machine drives them: its address is the first port's, its line is as fast
//! as all of them, and a packet leaves by any port that is on a shortest path. Where messages take one path each, every port is an
//! interface.
//!
//! A [`RunSpec`] names hosts. [`Network::address`] makes one whose flows name interfaces, which is what machines and ports
//! are driven by. Where every host has one interface, both are the same.

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

/// Host of each interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    hosts: u32,
    /// By interface its host; empty where every host has one interface, of its own number.
    of: Vec<u32>,
    /// By host, where its interfaces begin in `list`, and the end.
    first: Vec<u32>,
    list: Vec<u32>,
    /// By interface the one whose machine drives it; empty where each has its own.
    bonds: Vec<u32>,
}

impl Owners {
    /// Of so many interfaces; `of` has the host of each, or nothing where they are the hosts'.
    ///
    /// `bonds` has for each interface the first one of those that are ports of one, or nothing where none are.
    pub(crate) fn new(interfaces: u32, of: Vec<u32>, bonds: Vec<u32>) -> Result<Owners, BuildError> {
        let alike =
            of.is_empty() || of.iter().enumerate().all(|(interface, host)| interface == *host as usize);
        if alike {
            return Ok(Owners { hosts: interfaces, ..Owners::default() });
        }
        let hosts = of.iter().max().map_or(0, |last| last + 1);
        let mut first = vec![0u32; hosts as usize + 1];
        of.iter().for_each(|host| first[*host as usize + 1] += 1);
        if let Some(host) = first[1..].iter().position(|links| *links == 0) {
            return Err(BuildError::NoLink { host: host as u32 });
        }
        for host in 1..first.len() {
            first[host] += first[host - 1];
        }
        let mut list: Vec<u32> = (0..of.len() as u32).collect();
        // Stable: interfaces of a host keep their order.
        list.sort_by_key(|interface| of[*interface as usize]);
        let alike = bonds.iter().enumerate().all(|(interface, first)| interface == *first as usize);
        Ok(Owners { hosts, of, first, list, bonds: if alike { Vec::new() } else { bonds } })
    }

    /// True if every host has one interface.
    #[inline]
    pub fn are_alike(&self) -> bool {
        self.of.is_empty()
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The host of an interface.
    #[inline]
    pub fn host_of(&self, interface: u32) -> u32 {
        self.of.get(interface as usize).copied().unwrap_or(interface)
    }

    /// The interfaces of a host, in order.
    pub fn interfaces_of(&self, host: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let range = match self.first.get(host as usize..host as usize + 2) {
            Some(bounds) => bounds[0] as usize..bounds[1] as usize,
            None => 0..0,
        };
        self.list[range].iter().copied().chain(self.are_alike().then_some(host))
    }

    /// True if some interfaces have several ports.
    #[inline]
    pub fn is_bonded(&self) -> bool {
        !self.bonds.is_empty()
    }

    /// The address of an interface: its own number, or that of the first port of the interface that it is a port of.
    #[inline]
    pub fn address_of(&self, interface: u32) -> u32 {
        self.bonds.get(interface as usize).copied().unwrap_or(interface)
    }

    /// The addresses of a host, in order.
    pub fn addresses_of(&self, host: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        self.interfaces_of(host).filter(|one| self.address_of(*one) == *one)
    }

    /// The ports of an address, itself first.
    pub fn ports_of(&self, address: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        self.interfaces_of(self.host_of(address)).filter(move |one| self.address_of(*one) == address)
    }

    /// The first interface of a host, which stands for it where one has to.
    pub fn first_of(&self, host: u32) -> u32 {
        self.interfaces_of(host).next().unwrap_or(host)
    }
}

/// Refuses what interfaces of several ports do not go with.
pub fn check_ports(network: &Network, costs: &HostCosts, causes: bool) -> Result<(), BuildError> {
    let fabric = network.fabric();
    let refused = [
        (!costs.is_free(), "hosts whose processors take time ([hosts])"),
        (fabric.host_queue.is_some(), "a queue in front of the links of hosts ([hosts] queue)"),
        (fabric.pfc.is_some(), "lossless switches ([fabric.pfc])"),
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

/// Pairs of interfaces between hosts, looked up once.
#[derive(Default)]
pub struct Pairs {
    known: FxHashMap<(u32, u32), Box<[(u32, u32)]>>,
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

    /// Interfaces that reach each other, in order; with several interfaces a host is in several such networks.
    pub fn parts(&self) -> Vec<Vec<u32>> {
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
        let mut parts: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        (0..self.interfaces()).for_each(|one| parts.entry(root(&mut parent, one)).or_default().push(one));
        let mut parts: Vec<Vec<u32>> = parts.into_values().collect();
        parts.sort_unstable();
        parts
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
