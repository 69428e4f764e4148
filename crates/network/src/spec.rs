//! What a run is made of. Everything here is already checked and in base units; scenarios are parsed
//! and explained elsewhere.

use crate::faults::FaultSpec;
use crate::graph::Graph;
use crate::link::LinkChoice;
use crate::processor::HostCosts;
use crate::topology::TopologySpec;
use headway_fabric::{Buffer, Limit};
use headway_packet::{HostId, Sizes};
use headway_params::ParamValue;
use headway_transport::{InitialWindow, Message};
use headway_units::Time;
use std::sync::Arc;

/// How a switch chooses among equal next hops.
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
}

/// When a switch passes a packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// When its last bit has arrived.
    StoreAndForward,
    /// When its header has arrived ([`headway_packet::Sizes::head`]), over a link that is no faster than the one it came
    /// over.
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

/// What some ports do in place of what the others do.
#[derive(Clone, Debug, PartialEq)]
pub struct PortsAt {
    /// Which ports.
    pub ports: PortChoice,
    /// Name of their discipline.
    pub discipline: String,
    /// Parameters of the discipline that differ from its defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Buffer of each port that belongs to a switch.
    pub buffer: Buffer,
}

/// What the ports of the network do.
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
    /// Packet sizes.
    pub sizes: Sizes,
    /// Time a switch takes to forward, beyond store-and-forward.
    pub switch_latency: Time,
    /// Ports that do something else; of several for one port, the last holds.
    pub at: Vec<PortsAt>,
    /// When switches pass a packet on.
    pub forwarding: Forwarding,
    /// Room of the first-in first-out queue between a host's machines and its link, where there is one: for data, and
    /// as much for control. Without one, packets are pulled from the machines when the wire is free.
    pub host_queue: Option<Limit>,
}

/// One message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Sending host.
    pub src: u32,
    /// Receiving host, not `src`.
    pub dst: u32,
    /// Application bytes.
    pub bytes: u64,
    /// When the application hands it over.
    pub start: Time,
    /// Application class.
    pub class: u16,
    /// Deadline as a time since the start of the run; `None` without one.
    pub deadline: Option<Time>,
    /// What the sender may send before it has heard of its receiver.
    pub initial_window: InitialWindow,
    /// Whether the sender answers permissions.
    pub responsive: bool,
    /// Index into [`RunSpec::transports`].
    pub transport: u8,
    /// Path number under [`Routing::Pinned`]; `None` draws entropy from the seed.
    pub path: Option<u32>,
    /// Position in [`RunSpec::flows`] of the flow whose connection this one goes over.
    pub connection: Option<u32>,
    /// When it is over at both ends, whatever has arrived until then; later than its start.
    pub stop: Option<Time>,
}

impl FlowSpec {
    /// How its message begins, if the connection that it names is open.
    pub fn begins(&self) -> InitialWindow {
        InitialWindow { connected: self.connection.is_some(), ..self.initial_window }
    }

    /// The message that a machine is given; `id` is its number among those of its pair of hosts. The connection that it
    /// names counts as open.
    pub fn message(&self, id: u32, tag: u32, entropy: u32) -> Message {
        Message {
            id,
            dst: HostId(self.dst),
            bytes: self.bytes,
            class: self.class,
            deadline: self.deadline,
            initial_window: self.begins(),
            responsive: self.responsive,
            entropy,
            tag,
        }
    }
}

/// Which transport, with the parameters that differ from its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportSpec {
    /// Name in the registry.
    pub name: String,
    /// Parameters that differ from their defaults, by name.
    pub params: Vec<(String, ParamValue)>,
}

/// What to sample while the run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSpec {
    /// Interval between samples.
    pub every: Time,
    /// Flows whose throughput is sampled, by position in [`RunSpec::flows`].
    pub flows: FlowChoice,
    /// Links whose queue and utilisation are sampled, by name.
    pub links: LinkChoice,
    /// Rows that may be taken: a run that has more ends there, as one that was interrupted.
    pub most: u64,
}

/// A choice of flows by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// No flow.
    None,
    /// All; an interval without a byte makes no row unless the flow is open.
    All,
    /// Flows with these numbers.
    Some(Vec<u32>),
}

/// When a flow has ended, for a run that ends with its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Until {
    /// When its last byte is at its receiver.
    Received,
    /// When its sender knows that.
    Known,
}

/// The specification of a run: the network, the transports, the flows, and all options that its events depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec {
    /// Hosts, switches and links.
    pub topology: TopologySpec,
    /// Port discipline, buffers, routing and packet sizes.
    pub fabric: FabricSpec,
    /// At least one; more than one makes a mixture.
    pub transports: Vec<TransportSpec>,
    /// In any order; results keep this order.
    pub flows: Vec<FlowSpec>,
    /// Seed of all streams of random numbers.
    pub seed: u64,
    /// Virtual time at which the run ends at the latest.
    pub stop: Time,
    /// Sampling, if any.
    pub sample: Option<SampleSpec>,
    /// What goes wrong on links.
    pub faults: Vec<FaultSpec>,
    /// Each packet of a host reaches the first switch later by a random time below this.
    pub jitter: Time,
    /// What hosts take beyond what their links take.
    pub costs: HostCosts,
    /// What the run waits for.
    pub until: Until,
    /// Which flows wait for others. Those count their start, and their deadline with it, from the time at which all that
    /// they wait for is over.
    pub graph: Option<Arc<Graph>>,
}
