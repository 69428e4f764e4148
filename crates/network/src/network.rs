//! A network built from its specification: nodes, directed links, and the properties of paths.
//!
//! Nodes are numbered interfaces of hosts first, then switches. Every directed link has the number of the port it
//! leaves by; the link of interface `i` towards its switch is number `i`. Where every host has one interface, both have
//! the same number.

use crate::error::BuildError;
use crate::flow::FlowSpec;
use crate::interfaces::Owners;
use crate::link::{Altered, Link};
use crate::rng::{Purpose, derive};
use crate::router::Router;
use crate::spec::{FabricSpec, Forwarding, PortChoice, PortsAt, Routing};
use crate::topology::{TopologySpec, Wiring};
use headway_fabric::registry::AnyDiscipline;
use headway_fabric::{Buffer, Limit, Need, Offers, PortContext};
use headway_packet::{HostId, Sizes};
use headway_transport::Path;
use headway_transport::endpoint::HostContext;
use headway_units::{Rate, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// See the module.
pub struct Network {
    /// Interfaces of all hosts.
    interfaces: u32,
    owners: Owners,
    links: Vec<Link>,
    pub(crate) router: Router,
    fabric: FabricSpec,
    /// Rules of ports: those of most first, then those of some in their place.
    rules: Vec<PortsAt>,
    /// Place of each link's rules among these; empty if all ports have the same.
    rules_of: Vec<u16>,
    switches: u32,
    topology: TopologySpec,
    /// Round trip for a discipline that needs one.
    round_trip: Option<Time>,
}

impl Network {
    /// Builds the network, or returns the fault of its shape.
    pub fn build(topology: &TopologySpec, fabric: &FabricSpec) -> Result<Network, BuildError> {
        let mut wiring = Wiring::default();
        topology.wire(&mut wiring)?;
        let (interfaces, switches) = (wiring.interfaces, wiring.switches);
        let owners =
            Owners::new(interfaces, wiring.owners, if fabric.bonded { wiring.bonds } else { Vec::new() })?;
        // Links of interfaces first, in their order, so that the number of an interface is its port's.
        let mut links = Vec::with_capacity(wiring.links.len());
        let mut own = vec![None; interfaces as usize];
        wiring.links.iter().filter(|l| l.from < interfaces).for_each(|l| own[l.from as usize] = Some(*l));
        for (interface, link) in (0..).zip(&own) {
            let none = BuildError::NoLink { host: owners.host_of(interface) };
            links.push(link.ok_or(none)?);
        }
        let all = wiring.links.len();
        links.extend(wiring.links.into_iter().filter(|l| l.from >= interfaces));
        debug_assert_eq!(links.len(), all, "an interface has one link");
        let name = |node: u32| topology.node_name(node, interfaces, &owners);
        alter(&mut links, &fabric.altered, &name)?;
        let router = Router::new(topology, (interfaces, switches), &links, &owners);
        let (fabric, topology) = (fabric.clone(), topology.clone());
        let (rules, rules_of) = (rules(&fabric), Vec::new());
        let mut network = Network {
            interfaces,
            owners,
            links,
            router,
            fabric,
            rules,
            rules_of,
            switches,
            topology,
            round_trip: None,
        };
        network.rules_of = network.rules_of_links()?;
        network.round_trip = network.longest_round_trip();
        network.check_lossless()?;
        Ok(network)
    }

    /// Gives ports of lossless switches all of the switch's memory: the switch decides on the data that may wait there.
    fn check_lossless(&mut self) -> Result<(), BuildError> {
        let Some(params) = &self.fabric.pfc else { return Ok(()) };
        let rates = self.fastest_hosts();
        let largest = rates.iter().map(|rate| crate::pfc::buffer_of(params, *rate)).max();
        let buffer = Limit::Bytes(largest.unwrap_or(1));
        for rules in self.rules.iter_mut().filter(|rules| rules.ports != PortChoice::Hosts) {
            rules.buffer.data = buffer;
        }
        let stiff = |rules: &&PortsAt| !headway_fabric::registry::is_holdable(&rules.discipline);
        if let Some(rules) = self.rules.iter().find(stiff) {
            let text =
                format!("ports with the discipline `{}` cannot be stopped class by class", rules.discipline);
            return Err(BuildError::Lossless(text));
        }
        Ok(())
    }

    /// Place of the rules of each link's port in [`Network::rules`].
    fn rules_of_links(&self) -> Result<Vec<u16>, BuildError> {
        if self.rules.len() == 1 {
            return Ok(Vec::new());
        }
        let mut of = vec![0; self.links.len()];
        // Of several rules for one port, the last holds.
        for (place, rules) in self.rules.iter().enumerate().skip(1) {
            for number in self.ports(&rules.ports)? {
                of[number as usize] = place as u16;
            }
        }
        Ok(of)
    }

    /// The numbers of the ports that are meant.
    pub fn ports(&self, choice: &PortChoice) -> Result<Vec<u32>, BuildError> {
        let mut named = Vec::new();
        if let PortChoice::Links(wanted) | PortChoice::Of(wanted) = choice {
            let (kind, known) = match choice {
                PortChoice::Of(_) => ("switch", self.switch_names()),
                _ => ("link", self.link_names()),
            };
            for name in wanted {
                let missing = || BuildError::NoSuchPort { kind, name: name.clone() };
                let alike = |(number, other): (usize, &String)| (other == name).then_some(number as u32);
                let before = named.len();
                // Several links between two switches have one name.
                named.extend(known.iter().enumerate().filter_map(alike));
                if named.len() == before {
                    return Err(missing());
                }
            }
        }
        let meant = |(number, link): &(usize, &Link)| {
            let (of_host, to_host) = (link.from < self.interfaces, link.to < self.interfaces);
            match choice {
                PortChoice::Hosts => of_host,
                PortChoice::Edge => !of_host && to_host,
                PortChoice::Core => !of_host && !to_host,
                PortChoice::Switches => !of_host,
                PortChoice::Links(_) => named.contains(&(*number as u32)),
                PortChoice::Of(_) => {
                    link.from.checked_sub(self.interfaces).is_some_and(|s| named.contains(&s))
                }
            }
        };
        Ok(self.links.iter().enumerate().filter(meant).map(|(number, _)| number as u32).collect())
    }

    /// Rules of the port of link `number`.
    fn rules(&self, number: u32) -> &PortsAt {
        &self.rules[self.rules_of.get(number as usize).map_or(0, |place| usize::from(*place))]
    }

    /// Part of the free shared memory that a queue of a port may take, where it is not that of the others.
    pub(crate) fn alpha_at(&self, number: u32) -> Option<f64> {
        self.rules(number).alpha
    }

    /// The longest base round trip of the first host, for disciplines that need one.
    fn longest_round_trip(&self) -> Option<Time> {
        let mut found = self.rules.iter().filter_map(|r| headway_fabric::registry::find(&r.discipline));
        let needed = found.any(|(info, _)| info.needs.contains(&Need::RoundTrip));
        if !needed {
            return None;
        }
        let pairs = (1..self.hosts()).filter_map(|peer| self.pair(0, peer));
        pairs.map(|(src, dst)| self.path(src, dst).base_rtt).max()
    }

    /// Checks that the driver of its ports offers what their disciplines want.
    pub fn check(&self, offers: &Offers) -> Result<(), BuildError> {
        let refused = self.rules.iter().find_map(|rules| {
            let (info, _) = headway_fabric::registry::find(&rules.discipline)?;
            let name = rules.discipline.clone();
            offers.check(&info).err().map(|source| BuildError::Unoffered { name, source })
        });
        refused.map_or(Ok(()), Err)
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.owners.hosts()
    }

    /// Number of interfaces of all hosts. Machines, addresses and the first nodes are numbered by interface; where each host
    /// has one, its number is the host's.
    #[inline]
    pub fn interfaces(&self) -> u32 {
        self.interfaces
    }

    /// Host of each interface.
    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Every directed link, by number; packets leave interface `i` by number `i`.
    #[inline]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Ratio of the rates of a switch's hosts to those of its links upwards, at the worst switch; 1 where
    /// they carry all, or there are none.
    pub fn oversubscription(&self) -> f64 {
        let mut rates = vec![(0.0, 0.0); self.switches() as usize];
        for link in &self.links {
            let bps = link.spec.rate.bps() as f64;
            match (link.from.checked_sub(self.interfaces), link.to.checked_sub(self.interfaces)) {
                (None, Some(switch)) => rates[switch as usize].0 += bps,
                (Some(switch), Some(_)) => rates[switch as usize].1 += bps,
                _ => {}
            }
        }
        rates.iter().filter(|(_, up)| *up > 0.0).map(|(down, up)| down / up).fold(1.0, f64::max)
    }

    /// Specification of its ports.
    pub fn fabric(&self) -> &FabricSpec {
        &self.fabric
    }

    /// Shape of the network.
    pub fn topology(&self) -> &TopologySpec {
        &self.topology
    }

    /// Sizes of packets.
    pub fn sizes(&self) -> &Sizes {
        &self.fabric.sizes
    }

    /// Name of every directed link, by number: `h3->s0`.
    pub fn link_names(&self) -> Vec<String> {
        self.links.iter().map(|l| format!("{}->{}", self.node_name(l.from), self.node_name(l.to))).collect()
    }

    /// Name of every switch, by number.
    pub fn switch_names(&self) -> Vec<String> {
        (0..self.switches).map(|switch| self.topology.switch_name(switch)).collect()
    }

    /// Name of a node.
    pub fn node_name(&self, node: u32) -> String {
        self.topology.node_name(node, self.interfaces, &self.owners)
    }

    /// True if packets from the interface `src` reach the interface `dst`.
    pub fn reachable(&self, src: u32, dst: u32) -> bool {
        src < self.interfaces && dst < self.interfaces && self.walk(src, dst, |_| ())
    }

    /// The links of one shortest path, or `None` when there is none.
    pub fn links_between(&self, src: u32, dst: u32) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        self.walk(src, dst, |link| path.push(link)).then_some(path)
    }

    /// Tells every link of one shortest path, in order; returns true if there is one.
    fn walk(&self, src: u32, dst: u32, mut takes: impl FnMut(u32)) -> bool {
        let mut link = src;
        loop {
            takes(link);
            let node = self.links[link as usize].to;
            if node < self.interfaces {
                return self.owners.address_of(node) == dst;
            }
            let Some(port) = self.router.any(node - self.interfaces, dst) else { return false };
            link = port;
        }
    }

    /// Every link that a packet from `src` to `dst` may take, for any choice among equal next hops.
    pub fn links_any(&self, src: u32, dst: u32) -> Vec<u32> {
        let mut taken = self.links_towards(src, dst);
        if self.fabric.routing == Routing::Symmetric && !self.router.is_alike() {
            // The way back of the other direction's packets.
            let back = self.links_towards(dst, src);
            let ends = |link: &Link| (link.from, link.to);
            let is_back = |link: &Link| {
                back.iter().map(|number| &self.links[*number as usize]).any(|l| (l.to, l.from) == ends(link))
            };
            let back = self.links.iter().enumerate().filter(|(_, link)| is_back(link));
            taken.extend(back.map(|(number, _)| number as u32));
            taken.sort_unstable();
            taken.dedup();
        }
        taken
    }

    fn links_towards(&self, src: u32, dst: u32) -> Vec<u32> {
        let mut taken = if self.owners.is_bonded() { self.ways(src, dst) } else { vec![src] };
        let mut next = 0;
        while let Some(&link) = taken.get(next) {
            next += 1;
            let node = self.links[link as usize].to;
            if let Some(switch) = node.checked_sub(self.interfaces) {
                let (onward, _) = self.router.all(switch, dst);
                taken.extend(onward.into_iter().filter(|port| !taken.contains(port)).collect::<Vec<_>>());
            }
        }
        taken
    }

    /// Number of paths that a flow between two hosts can be pinned to ([`Routing::Pinned`]): numbers from 0 up to,
    /// but not including, this; larger ones repeat them.
    pub fn path_numbers(&self, src: u32, dst: u32) -> u64 {
        let by = |port: u32| match self.links[port as usize].to {
            host if host < self.interfaces => 1,
            switch => self.router.path_numbers(switch - self.interfaces, dst, &self.links),
        };
        if !self.owners.is_bonded() {
            return by(src);
        }
        let ways = self.ways(src, dst);
        let all = ways.len().max(1) as u64;
        ways.into_iter().fold(all, |numbers, port| crate::router::least_common_multiple(numbers, by(port)))
    }

    /// Properties of a host's path to another; `src` and `dst` are connected.
    pub fn path(&self, src: u32, dst: u32) -> Path {
        let sizes = &self.fabric.sizes;
        let (full, control) = (u64::from(sizes.full_wire()), u64::from(sizes.control));
        let links = self.links_between(src, dst).unwrap_or_default();
        let mut bottleneck = self.links[src as usize].spec.rate;
        // Windows are rounded up to whole packets, so that even a lone flow waits for up to one packet
        // at its own link, and for one more of another message's.
        let mut queueing = bottleneck.time_of(2 * full);
        for &number in &links {
            let link = &self.links[number as usize];
            let rate = link.spec.rate;
            if link.from >= self.interfaces || self.fabric.host_queue.is_some() {
                queueing += self.rules(number).buffer.data.drain_time(rate, sizes.full_wire());
            }
            if rate.bps() < bottleneck.bps() {
                bottleneck = rate;
            }
        }
        if self.owners.is_bonded() {
            bottleneck = self.together(src, dst);
        }
        let link = |number: &u32| &self.links[*number as usize];
        let out = self.crossing(links.iter().map(link).map(|l| (l.spec.rate, self.hop_delay(l))), full);
        let latency =
            |node: u32| if node >= self.interfaces { self.fabric.switch_latency } else { Time::ZERO };
        let back = links.iter().rev().map(link).map(|l| (l.spec.rate, l.back + latency(l.from)));
        let base = out + self.crossing(back, control);
        let paths = match self.fabric.routing {
            Routing::Pinned => u32::try_from(self.path_numbers(src, dst)).unwrap_or(u32::MAX),
            _ => 0,
        };
        let hops = links.len().saturating_sub(1) as u32;
        Path {
            longest_timeout: Time::MAX,
            base_rtt: base,
            max_rtt: base.saturating_add(queueing),
            bottleneck,
            paths,
            hops,
        }
    }

    /// The time that a packet takes over links that are empty, given by rate and by delay.
    pub fn crossing(&self, links: impl Iterator<Item = (Rate, Time)>, wire: u64) -> Time {
        let mut begins = Time::ZERO;
        let mut before: Option<(Rate, Time)> = None;
        for (rate, delay) in links {
            if let Some((former, delay)) = before {
                begins += self.seen(former, rate, wire) + delay;
            }
            before = Some((rate, delay));
        }
        before.map_or(begins, |(rate, delay)| begins + rate.time_of(wire) + delay)
    }

    /// Time for which a packet is sent at a rate before the switch at the far end may pass it on at another: as long as
    /// all of it takes, or its header ([`Forwarding::CutThrough`]).
    pub fn seen(&self, rate: Rate, onward: Rate, wire: u64) -> Time {
        // A faster link onward would run out of bits.
        let cut = self.fabric.forwarding == Forwarding::CutThrough && onward.bps() <= rate.bps();
        rate.time_of(if cut { self.fabric.sizes.head_bytes(wire) } else { wire })
    }

    /// Context of a host for its machine, in a run with this seed.
    pub fn host_context(self: &Arc<Self>, host: u32, seed: u64) -> HostContext {
        let shared = Arc::clone(self);
        HostContext {
            host: HostId(host),
            nic: self.line_rate(host),
            sizes: *self.sizes(),
            seed,
            path: Box::new(move |peer| shared.path(host, peer.0)),
        }
    }

    /// Number that ECMP hashes for a flow, in addition to its addresses; or its path, if routes are pinned.
    pub fn entropy(&self, seed: u64, number: u32, flow: &FlowSpec) -> u32 {
        match (self.fabric.routing, flow.path) {
            (Routing::Pinned, Some(path)) => path,
            _ => derive(seed, Purpose::Entropy, u64::from(number)) as u32,
        }
    }

    /// True if equal next hops may lead on over links that differ: only in a graph.
    pub fn has_uneven_paths(&self) -> bool {
        self.router.has_choice_in_table() || !self.fabric.altered.is_empty()
    }

    /// Propagation, and the switch's own time where the link ends at one.
    pub fn hop_delay(&self, link: &Link) -> Time {
        let latency = if link.to >= self.interfaces { self.fabric.switch_latency } else { Time::ZERO };
        link.spec.delay + latency
    }

    /// Rules for the port of link `number` in a run with this seed.
    pub fn discipline(&self, number: u32, seed: u64) -> Result<(AnyDiscipline, PortContext), BuildError> {
        self.discipline_at(number, self.links[number as usize].spec.rate, seed)
    }

    /// Rules for the port of link `number` if the link had another rate.
    pub fn discipline_at(
        &self,
        number: u32,
        rate: Rate,
        seed: u64,
    ) -> Result<(AnyDiscipline, PortContext), BuildError> {
        let rules = self.rules(number);
        let context = PortContext {
            rate,
            sizes: self.fabric.sizes,
            buffer: rules.buffer,
            seed: derive(seed, Purpose::Port, number.into()),
            round_trip: self.round_trip,
            to_host: self.links[number as usize].to < self.interfaces,
        };
        let fail = |reason: String| BuildError::Discipline { name: rules.discipline.clone(), reason };
        let rules = AnyDiscipline::make(&rules.discipline, &rules.params, &context)
            .ok_or_else(|| fail("there is none of that name".into()))?
            .map_err(|e| fail(e.to_string()))?;
        Ok((rules, context))
    }
}

/// Rules of ports: those of most first, then the exceptions.
fn rules(fabric: &FabricSpec) -> Vec<PortsAt> {
    let most = PortsAt {
        ports: PortChoice::Switches,
        discipline: fabric.discipline.clone(),
        params: fabric.params.clone(),
        buffer: fabric.buffer,
        alpha: None,
    };
    // A queue in front of a host's link is one, and it is first in, first out.
    let queue = fabric.host_queue.map(|room| PortsAt {
        ports: PortChoice::Hosts,
        discipline: headway_fabric::registry::USUAL.into(),
        params: Vec::new(),
        buffer: Buffer { data: room, control: room },
        alpha: None,
    });
    std::iter::once(most).chain(fabric.at.iter().cloned()).chain(queue).collect()
}

/// Gives links the rates and delays that they have in place of their topology's.
fn alter(links: &mut [Link], altered: &[Altered], name: &dyn Fn(u32) -> String) -> Result<(), BuildError> {
    if altered.is_empty() {
        return Ok(());
    }
    let mut known: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    for (number, link) in links.iter().enumerate() {
        known.entry(format!("{}->{}", name(link.from), name(link.to))).or_default().push(number);
    }
    for (one, wanted) in altered.iter().flat_map(|one| one.names.iter().map(move |name| (one, name))) {
        let missing = || BuildError::NoSuchPort { kind: "link", name: wanted.clone() };
        for &number in known.get(wanted).ok_or_else(missing)? {
            let spec = &mut links[number].spec;
            spec.rate = one.rate.unwrap_or(spec.rate);
            spec.delay = one.delay.unwrap_or(spec.delay);
        }
    }
    // Parallel links are paired in the order of their making.
    let delays: Vec<Time> = links.iter().map(|link| link.spec.delay).collect();
    let mut made: FxHashMap<(u32, u32), Vec<usize>> = FxHashMap::default();
    links.iter().enumerate().for_each(|(at, l)| made.entry((l.from, l.to)).or_default().push(at));
    for ((from, to), own) in &made {
        let back = made.get(&(*to, *from)).into_iter().flatten();
        own.iter().zip(back).for_each(|(own, back)| links[*own].back = delays[*back]);
    }
    Ok(())
}
