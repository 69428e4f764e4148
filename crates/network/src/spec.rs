//! Specification of a run. Everything here is already checked and in base units; scenarios are parsed
//! and explained elsewhere.

use crate::chips::MemorySpec;
use crate::faults::FaultSpec;
use crate::flow::{FlowSpec, Until};
use crate::graph::Graph;
use crate::link::{Altered, LinkChoice};
use crate::pfc::PfcParams;
use crate::processor::HostCosts;
use crate::topology::TopologySpec;
use headway_fabric::{Buffer, Limit};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::Time;
use std::sync::Arc;

/// Choice of a switch among equal next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// By a hash of (source, destination, entropy): one path a flow.
    Ecmp,
    /// At random for every packet.
    Spray,
    /// The entropy field is the number of the path.
    Pinned,
    /// By a hash in which the two addresses are alike: packets of a flow in both directions cross the same
    /// switches and links.
    Symmetric,
    /// By the hash of [`Routing::Ecmp`], in proportion to the rates of the next links.
    Weighted,
    /// For every packet the next port with the least to send, as it is when the packet arrives. Ghorbani et al., "DRILL",
    /// SIGCOMM 2017, §3, with the queues of all equal next hops compared.
    LeastQueue,
    /// At random for every flowlet: packets of a flow that follow each other at a switch within this gap stay on one path.
    /// Vanini et al., "LetFlow", NSDI 2017, §3.
    Flowlet(Time),
}

impl Routing {
    /// True if a switch chooses when a packet arrives, by its state at that time. Other choices are functions of the
    /// packet, and are made as it leaves for the switch.
    pub fn is_late(self) -> bool {
        match self {
            Routing::LeastQueue | Routing::Flowlet(_) => true,
            Routing::Ecmp | Routing::Spray | Routing::Pinned | Routing::Symmetric | Routing::Weighted => {
                false
            }
        }
    }

    /// True if packets of one flow may take several paths because switches choose so.
    pub fn divides_flows(self) -> bool {
        self == Routing::Spray || self.is_late()
    }
}

/// Time at which a switch passes a packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// Once its last bit has arrived.
    StoreAndForward,
    /// Once its header has arrived ([`headway_packet::Sizes::head`]), over a link that is no faster than the one it
    /// came over.
    CutThrough,
}

/// Some ports of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// Those of hosts, towards their switches.
    Hosts,
    /// Those of switches towards hosts.
    Edge,
    /// Those of switches towards switches.
    Core,
    /// All of switches.
    Switches,
    /// Those of links with these names.
    Links(Vec<String>),
    /// Those of the switches with these names.
    Of(Vec<String>),
}

/// Rules of some ports in place of those of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct PortsAt {
    /// Ports that the rules are for.
    pub ports: PortChoice,
    /// Name of their discipline.
    pub discipline: String,
    /// Parameters of the discipline that differ from its defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Buffer of each port that belongs to a switch.
    pub buffer: Buffer,
    /// Part of the free shared memory that a queue of theirs may take, in place of that of [`MemorySpec`].
    pub alpha: Option<f64>,
}

/// Ports of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricSpec {
    /// Name of the port discipline, on switches and on host links.
    pub discipline: String,
    /// Parameters of the discipline that differ from its defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Buffer of each switch port.
    pub buffer: Buffer,
    /// The choice among equal paths.
    pub routing: Routing,
    /// Links that differ from what their topology has.
    pub altered: Vec<Altered>,
    /// True if ports of one interface have one machine ([`crate::Owners`]), as they do if packets of a message may take
    /// several paths.
    pub bonded: bool,
    /// Sizes of packets.
    pub sizes: Sizes,
    /// Time a switch takes to forward, beyond store-and-forward.
    pub switch_latency: Time,
    /// Ports that do something else; of several for one port, the last holds.
    pub at: Vec<PortsAt>,
    /// Time at which switches pass a packet on.
    pub forwarding: Forwarding,
    /// Room of the first-in first-out queue between a host's machines and its link, where there is one: for data, and
    /// as much for control. Without one, packets are pulled from the machines when the wire is free.
    pub host_queue: Option<Limit>,
    /// Memory of switches that stop links before they run out of it: they drop no data then.
    pub pfc: Option<PfcParams>,
    /// Memory that all ports of a switch share, of switches that drop.
    pub memory: Option<MemorySpec>,
}

/// A transport, with the parameters that differ from its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportSpec {
    /// Name in the registry.
    pub name: String,
    /// Parameters that differ from their defaults, by name.
    pub params: Params,
    /// Parameters that replace `params` at some interfaces: hosts with several interfaces are in several networks, whose
    /// longest paths, and the values that follow from them, may differ.
    pub apart: Vec<(Arc<[u32]>, Params)>,
}

/// Parameters by name.
pub type Params = Vec<(String, ParamValue)>;

impl TransportSpec {
    /// A transport with these parameters at every interface.
    pub fn new(name: impl Into<String>, params: Params) -> TransportSpec {
        TransportSpec { name: name.into(), params, apart: Vec::new() }
    }

    /// Its parameters at an interface.
    pub fn params_at(&self, interface: u32) -> &Params {
        let apart = self.apart.iter().find(|(interfaces, _)| interfaces.contains(&interface));
        apart.map_or(&self.params, |(_, params)| params)
    }
}

/// Samples to take while the run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSpec {
    /// Interval between samples.
    pub every: Time,
    /// Flows whose throughput is sampled, by position in [`RunSpec::flows`].
    pub flows: FlowChoice,
    /// Links whose queue and utilisation are sampled, by name.
    pub links: LinkChoice,
    /// Probes of the machines for each sampled flow that is under way.
    pub probes: ProbeChoice,
    /// Rows that may be taken: a run that has more ends there, as one that was interrupted.
    pub most: u64,
    /// True if the completion time of every flow is recorded by cause ([`crate::TimeByCause`]).
    pub causes: bool,
    /// Groups of flows by which bytes of links are counted: the position of the first flow of each, ascending. Empty if
    /// volumes are not sampled.
    pub volumes: Vec<u32>,
}

impl SampleSpec {
    /// True if anything is sampled every interval.
    pub fn is_periodic(&self) -> bool {
        self.flows != FlowChoice::None || self.links != LinkChoice::None
    }
}

/// A choice of flows by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// No flow at all.
    None,
    /// All; an interval without a byte makes no row unless the flow is open.
    All,
    /// Flows with these numbers.
    Some(Vec<u32>),
}

/// A choice of probes by name ([`headway_transport::Transport::PROBES`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeChoice {
    /// None: no machine is asked anything.
    None,
    /// All that there are.
    All,
    /// Those of these names.
    Some(Vec<String>),
}

impl ProbeChoice {
    /// True if a probe is among them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            ProbeChoice::None => false,
            ProbeChoice::All => true,
            ProbeChoice::Some(names) => names.iter().any(|one| one == name),
        }
    }
}

/// The specification of a run: the network, the transports, the flows, and all options that its events depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec {
    /// Hosts, switches and links.
    pub topology: TopologySpec,
    /// Port discipline, buffers, routing and packet sizes.
    pub fabric: FabricSpec,
    /// Transports, at least one; more than one make a mixture.
    pub transports: Vec<TransportSpec>,
    /// Flows in any order; results keep this order.
    pub flows: Vec<FlowSpec>,
    /// Seed of all streams of random numbers.
    pub seed: u64,
    /// Virtual time at which the run ends at the latest. With `Time::MAX` it ends when everything is over or nothing arrives
    /// any more.
    pub stop: Time,
    /// Sampling, if any.
    pub sample: Option<SampleSpec>,
    /// Faults on links.
    pub faults: Vec<FaultSpec>,
    /// Each packet of a host reaches the first switch later by a random time below this.
    pub jitter: Time,
    /// Time that hosts take beyond that of their links.
    pub costs: HostCosts,
    /// Event that the run waits for.
    pub until: Until,
    /// Dependencies between flows. Those that wait count their start, and their deadline with it, from the time at
    /// which all that they wait for is over.
    pub graph: Option<Arc<Graph>>,
}
