//! A network built from its specification: nodes, directed links, and what is known of paths.
//!
//! Nodes are numbered hosts first, then switches. Every directed link has the number of the port it
//! leaves by; the link of host `h` towards its switch is number `h`.

use crate::rng::{Purpose, derive};
use crate::routes::{Router, RouterKind};
use crate::spec::{FabricSpec, FlowSpec, LinkSpec, Routing, TopologySpec};
use headway_fabric::registry::AnyDiscipline;
use headway_fabric::{Need, Offers, PortContext, Unoffered};
use headway_packet::{HostId, Sizes};
use headway_transport::Path;
use headway_transport::endpoint::HostContext;
use headway_units::{Rate, Time};
use std::sync::Arc;

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A count that must be positive is zero, or an even one odd.
    #[error("{0}")]
    Shape(String),
    /// Host without a link, or with more than one.
    #[error("host {host} has {links} links; it needs exactly one")]
    HostLinks {
        /// Which.
        host: u32,
        /// How many it has.
        links: usize,
    },
    /// A link names a node that is not there.
    #[error("link {link} names node {node}, but there are only {nodes} nodes")]
    NoSuchNode {
        /// Position in the list of links.
        link: usize,
        /// The node.
        node: u32,
        /// How many there are.
        nodes: u32,
    },
    /// No path.
    #[error("host {dst} cannot be reached from host {src}")]
    Unreachable {
        /// From.
        src: u32,
        /// To.
        dst: u32,
    },
    /// No such discipline, or a parameter it refuses.
    #[error("port discipline `{name}`: {reason}")]
    Discipline {
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The discipline wants more than the driver of the ports offers.
    #[error("port discipline `{name}`: {source}")]
    Unoffered {
        /// Its name.
        name: String,
        /// What it wants.
        source: Unoffered,
    },
    /// Faults that cannot be injected.
    #[error("faults: {0}")]
    Fault(String),
}

/// One directed link between two nodes; hosts are numbered first, then switches.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Node it leaves.
    pub from: u32,
    /// Node it ends at.
    pub to: u32,
    /// Rate and delay.
    pub spec: LinkSpec,
}

/// See the module.
pub struct Network {
    hosts: u32,
    links: Vec<Link>,
    pub(crate) router: Router,
    fabric: FabricSpec,
    switches: u32,
    names: Names,
    /// Of a discipline that needs one.
    round_trip: Option<Time>,
}

/// How nodes are called.
enum Names {
    Plain,
    LeafSpine { racks: u32 },
    FatTree { half: u32, pods: u32 },
}

impl Network {
    /// Builds the network, or says what is wrong with its shape.
    pub fn build(topology: &TopologySpec, fabric: &FabricSpec) -> Result<Network, BuildError> {
        let mut plan = plan(topology)?;
        let hosts = plan.hosts;
        // Hosts' own links first, in order of host, so that a host's number is its port's.
        let mut links = Vec::with_capacity(plan.links.len());
        let mut own = vec![None; hosts as usize];
        let mut count = vec![0usize; hosts as usize];
        for link in &plan.links {
            if link.from < hosts {
                own[link.from as usize] = Some(*link);
                count[link.from as usize] += 1;
            }
        }
        for (host, link) in own.iter().enumerate() {
            match link {
                Some(link) if count[host] == 1 => links.push(*link),
                _ => return Err(BuildError::HostLinks { host: host as u32, links: count[host] }),
            }
        }
        links.extend(plan.links.drain(..).filter(|l| l.from >= hosts));
        let router = Router::new(plan.router, hosts, plan.switches, &links);
        let fabric = fabric.clone();
        let (switches, names) = (plan.switches, plan.names);
        let mut network = Network { hosts, links, router, fabric, switches, names, round_trip: None };
        network.round_trip = network.longest_round_trip();
        Ok(network)
    }

    /// The longest base round trip of the first host, for a discipline that needs one.
    fn longest_round_trip(&self) -> Option<Time> {
        let (info, _) = headway_fabric::registry::find(&self.fabric.discipline)?;
        let needed = info.needs.contains(&Need::RoundTrip);
        (1..self.hosts).filter(|_| needed).map(|peer| self.path(0, peer).base_rtt).max()
    }

    /// Whether the driver of its ports offers what their discipline wants.
    pub fn check(&self, offers: &Offers) -> Result<(), BuildError> {
        let found = headway_fabric::registry::find(&self.fabric.discipline);
        let refused = found.and_then(|(info, _)| offers.check(&info).err());
        let name = self.fabric.discipline.clone();
        refused.map_or(Ok(()), |source| Err(BuildError::Unoffered { name, source }))
    }

    /// Hosts.
    #[inline]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Switches.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Every directed link, by number; host `h` leaves by number `h`.
    #[inline]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// What its ports do.
    pub fn fabric(&self) -> &FabricSpec {
        &self.fabric
    }

    /// Packet sizes.
    pub fn sizes(&self) -> &Sizes {
        &self.fabric.sizes
    }

    /// Name of every directed link, by number: `h3->s0`.
    pub fn link_names(&self) -> Vec<String> {
        self.links.iter().map(|l| format!("{}->{}", self.node_name(l.from), self.node_name(l.to))).collect()
    }

    /// Name of a node.
    pub fn node_name(&self, node: u32) -> String {
        if node < self.hosts {
            return format!("h{node}");
        }
        let switch = node - self.hosts;
        match self.names {
            Names::Plain => format!("s{switch}"),
            Names::LeafSpine { racks } if switch < racks => format!("leaf{switch}"),
            Names::LeafSpine { racks } => format!("spine{}", switch - racks),
            Names::FatTree { half, pods } => {
                let tier = half * pods;
                match switch / tier {
                    0 => format!("edge{}.{}", switch / half, switch % half),
                    1 => format!("agg{}.{}", (switch - tier) / half, switch % half),
                    _ => format!("core{}", switch - 2 * tier),
                }
            }
        }
    }

    /// Whether packets from `src` reach `dst`.
    pub fn reachable(&self, src: u32, dst: u32) -> bool {
        src < self.hosts && dst < self.hosts && self.links_between(src, dst).is_some()
    }

    /// The links of one shortest path, or `None` when there is none.
    pub fn links_between(&self, src: u32, dst: u32) -> Option<Vec<u32>> {
        let mut path = vec![src];
        let mut node = self.links[src as usize].to;
        while node != dst {
            if node < self.hosts {
                return None;
            }
            let port = self.router.any(node - self.hosts, dst)?;
            path.push(port);
            node = self.links[port as usize].to;
        }
        Some(path)
    }

    /// Every link that a packet from `src` to `dst` may take, whoever chooses among equal next hops.
    pub fn links_any(&self, src: u32, dst: u32) -> Vec<u32> {
        let mut taken = vec![src];
        let mut next = 0;
        while let Some(&link) = taken.get(next) {
            next += 1;
            let node = self.links[link as usize].to;
            if let Some(switch) = node.checked_sub(self.hosts) {
                let (onward, _) = self.router.all(switch, dst);
                taken.extend(onward.into_iter().filter(|port| !taken.contains(port)).collect::<Vec<_>>());
            }
        }
        taken
    }

    /// How many paths a flow between two hosts can be pinned to ([`Routing::Pinned`]): numbers from 0 up to,
    /// but not including, this; larger ones repeat them.
    pub fn path_numbers(&self, src: u32, dst: u32) -> u64 {
        match self.links[src as usize].to {
            host if host < self.hosts => 1,
            switch => self.router.path_numbers(switch - self.hosts, dst, &self.links),
        }
    }

    /// What a host knows of its path to another; `src` and `dst` are connected.
    pub fn path(&self, src: u32, dst: u32) -> Path {
        let sizes = &self.fabric.sizes;
        let (full, control) = (u64::from(sizes.full_wire()), u64::from(sizes.control));
        let links = self.links_between(src, dst).unwrap_or_default();
        let mut base = Time::ZERO;
        let mut bottleneck = self.links[src as usize].spec.rate;
        // Windows are rounded up to whole packets, so that even a lone flow waits for up to one packet
        // at its own link, and for one more of another message's.
        let mut queueing = bottleneck.time_of(2 * full);
        for &number in &links {
            let link = &self.links[number as usize];
            let rate = link.spec.rate;
            base += rate.time_of(full) + rate.time_of(control) + self.hop_delay(link) * 2;
            if link.from >= self.hosts {
                queueing += self.fabric.buffer.data.drain_time(rate, sizes.full_wire());
            }
            if rate.bps() < bottleneck.bps() {
                bottleneck = rate;
            }
        }
        let paths = match self.fabric.routing {
            Routing::Pinned => u32::try_from(self.path_numbers(src, dst)).unwrap_or(u32::MAX),
            Routing::Ecmp | Routing::Spray | Routing::Symmetric => 0,
        };
        Path { base_rtt: base, max_rtt: base.saturating_add(queueing), bottleneck, paths }
    }

    /// What a machine is told of its host.
    pub fn host_context(self: &Arc<Self>, host: u32) -> HostContext {
        let shared = Arc::clone(self);
        HostContext {
            host: HostId(host),
            nic: self.links[host as usize].spec.rate,
            sizes: *self.sizes(),
            path: Box::new(move |peer| shared.path(host, peer.0)),
        }
    }

    /// What ECMP hashes for a flow, beside its addresses; or its path, where routes are pinned.
    pub fn entropy(&self, seed: u64, number: u32, flow: &FlowSpec) -> u32 {
        match (self.fabric.routing, flow.path) {
            (Routing::Pinned, Some(path)) => path,
            _ => derive(seed, Purpose::Entropy, u64::from(number)) as u32,
        }
    }

    /// Whether equal next hops may lead on over links that differ: only in a graph.
    pub fn has_uneven_paths(&self) -> bool {
        self.router.has_choice_in_table()
    }

    /// Propagation, and the switch's own time where the link ends at one.
    pub fn hop_delay(&self, link: &Link) -> Time {
        let latency = if link.to >= self.hosts { self.fabric.switch_latency } else { Time::ZERO };
        link.spec.delay + latency
    }

    /// Rules for the port of link `number` in a run with this seed.
    pub fn discipline(&self, number: u32, seed: u64) -> Result<(AnyDiscipline, PortContext), BuildError> {
        self.discipline_at(number, self.links[number as usize].spec.rate, seed)
    }

    /// The same if the link had another rate.
    pub fn discipline_at(
        &self,
        number: u32,
        rate: Rate,
        seed: u64,
    ) -> Result<(AnyDiscipline, PortContext), BuildError> {
        let fabric = &self.fabric;
        let context = PortContext {
            rate,
            sizes: fabric.sizes,
            buffer: fabric.buffer,
            seed: derive(seed, Purpose::Port, number.into()),
            round_trip: self.round_trip,
        };
        let fail = |reason: String| BuildError::Discipline { name: fabric.discipline.clone(), reason };
        let rules = AnyDiscipline::make(&fabric.discipline, &fabric.params, &context)
            .ok_or_else(|| fail("there is none of that name".into()))?
            .map_err(|e| fail(e.to_string()))?;
        Ok((rules, context))
    }
}

/// A topology as a list of directed links.
struct Plan {
    hosts: u32,
    switches: u32,
    links: Vec<Link>,
    router: RouterKind,
    names: Names,
}

impl Plan {
    fn new(hosts: u32, switches: u32, router: RouterKind, names: Names) -> Plan {
        Plan { hosts, switches, links: Vec::new(), router, names }
    }

    /// Both directions of a link, one after the other.
    fn join(&mut self, a: u32, b: u32, spec: LinkSpec) {
        self.one_way(a, b, spec);
        self.one_way(b, a, spec);
    }

    fn one_way(&mut self, from: u32, to: u32, spec: LinkSpec) {
        self.links.push(Link { from, to, spec });
    }
}

fn positive(what: &str, n: u32) -> Result<(), BuildError> {
    if n == 0 { Err(BuildError::Shape(format!("{what} must be at least 1"))) } else { Ok(()) }
}

fn plan(topology: &TopologySpec) -> Result<Plan, BuildError> {
    match topology {
        TopologySpec::SingleSwitch { hosts, link } => {
            positive("hosts", *hosts)?;
            let mut plan = Plan::new(*hosts, 1, RouterKind::Table, Names::Plain);
            (0..*hosts).for_each(|h| plan.join(h, *hosts, *link));
            Ok(plan)
        }
        TopologySpec::Dumbbell { senders, receivers, access, bottleneck } => {
            positive("senders", *senders)?;
            positive("receivers", *receivers)?;
            let hosts = senders + receivers;
            let mut plan = Plan::new(hosts, 2, RouterKind::Table, Names::Plain);
            (0..hosts).for_each(|h| plan.join(h, hosts + u32::from(h >= *senders), *access));
            plan.join(hosts, hosts + 1, *bottleneck);
            Ok(plan)
        }
        TopologySpec::ParkingLot { bottlenecks, hosts_per_switch, access, bottleneck } => {
            positive("bottlenecks", *bottlenecks)?;
            positive("hosts_per_switch", *hosts_per_switch)?;
            let switches = bottlenecks + 1;
            let hosts = switches * hosts_per_switch;
            let mut plan = Plan::new(hosts, switches, RouterKind::Table, Names::Plain);
            (0..hosts).for_each(|h| plan.join(h, hosts + h / hosts_per_switch, *access));
            (0..*bottlenecks).for_each(|i| plan.join(hosts + i, hosts + i + 1, *bottleneck));
            Ok(plan)
        }
        TopologySpec::LeafSpine { racks, hosts_per_rack, spines, host, spine } => {
            leaf_spine(*racks, *hosts_per_rack, *spines, *host, *spine)
        }
        TopologySpec::FatTree { k, hosts_per_edge, host, fabric } => {
            fat_tree(*k, *hosts_per_edge, *host, *fabric)
        }
        TopologySpec::Graph { hosts, switches, links } => graph(*hosts, *switches, links),
    }
}

fn leaf_spine(
    racks: u32,
    per: u32,
    spines: u32,
    host: LinkSpec,
    spine: LinkSpec,
) -> Result<Plan, BuildError> {
    positive("racks", racks)?;
    positive("hosts_per_rack", per)?;
    positive("spines", spines)?;
    let hosts = racks * per;
    let router = RouterKind::LeafSpine { racks, hosts_per_rack: per, spines };
    let mut plan = Plan::new(hosts, racks + spines, router, Names::LeafSpine { racks });
    let (leaf, top) = (|r: u32| hosts + r, |s: u32| hosts + racks + s);
    (0..hosts).for_each(|h| plan.one_way(h, leaf(h / per), host));
    (0..hosts).for_each(|h| plan.one_way(leaf(h / per), h, host));
    for r in 0..racks {
        (0..spines).for_each(|s| plan.one_way(leaf(r), top(s), spine));
    }
    for s in 0..spines {
        (0..racks).for_each(|r| plan.one_way(top(s), leaf(r), spine));
    }
    Ok(plan)
}

fn fat_tree(k: u32, per: u32, host: LinkSpec, fabric: LinkSpec) -> Result<Plan, BuildError> {
    if k < 2 || !k.is_multiple_of(2) {
        return Err(BuildError::Shape(format!("k must be even and at least 2, not {k}")));
    }
    positive("hosts_per_edge", per)?;
    let half = k / 2;
    let edges = k * half;
    let hosts = edges * per;
    let switches = 2 * edges + half * half;
    let router = RouterKind::FatTree { k, hosts_per_edge: per };
    let mut plan = Plan::new(hosts, switches, router, Names::FatTree { half, pods: k });
    let (edge, agg, core) = (|e: u32| hosts + e, |a: u32| hosts + edges + a, |c: u32| hosts + 2 * edges + c);
    (0..hosts).for_each(|h| plan.one_way(h, edge(h / per), host));
    (0..hosts).for_each(|h| plan.one_way(edge(h / per), h, host));
    for e in 0..edges {
        (0..half).for_each(|a| plan.one_way(edge(e), agg(e / half * half + a), fabric));
    }
    for a in 0..edges {
        (0..half).for_each(|e| plan.one_way(agg(a), edge(a / half * half + e), fabric));
    }
    for a in 0..edges {
        (0..half).for_each(|c| plan.one_way(agg(a), core(a % half * half + c), fabric));
    }
    for c in 0..half * half {
        (0..k).for_each(|pod| plan.one_way(core(c), agg(pod * half + c / half), fabric));
    }
    Ok(plan)
}

fn graph(hosts: u32, switches: u32, links: &[(u32, u32, LinkSpec)]) -> Result<Plan, BuildError> {
    positive("hosts", hosts)?;
    let nodes = hosts + switches;
    let mut plan = Plan::new(hosts, switches, RouterKind::Table, Names::Plain);
    for (link, &(a, b, spec)) in links.iter().enumerate() {
        for node in [a, b] {
            if node >= nodes {
                return Err(BuildError::NoSuchNode { link, node, nodes });
            }
        }
        plan.join(a, b, spec);
    }
    Ok(plan)
}
