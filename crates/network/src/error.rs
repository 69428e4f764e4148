//! Why a network cannot be built.

use headway_fabric::{BrokenIdentity, Unoffered};
use headway_params::ParamError;
use headway_units::Time;

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A count that must be positive is zero, or an even one odd.
    #[error("{0}")]
    Shape(String),
    /// A host without a link.
    #[error("host {host} has no link")]
    NoLink {
        /// Number of the host.
        host: u32,
    },
    /// A link names a node that does not exist.
    #[error("link {link} names node {node}, but there are only {nodes} nodes")]
    NoSuchNode {
        /// Position in the list of links.
        link: usize,
        /// Number of the node that does not exist.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// No path leads from one host to another.
    #[error("host {dst} cannot be reached from host {src}")]
    Unreachable {
        /// Number of the sending host.
        src: u32,
        /// Number of the receiving host.
        dst: u32,
    },
    /// No such discipline, or a parameter it refuses.
    #[error("port discipline `{name}`: {reason}")]
    Discipline {
        /// Name of the discipline.
        name: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// Ports that are to do something else do not exist.
    #[error("there is no {kind} `{name}`")]
    NoSuchPort {
        /// The word `link` or `switch`.
        kind: &'static str,
        /// Name of the link or switch.
        name: String,
    },
    /// The discipline wants more than the driver of the ports offers.
    #[error("port discipline `{name}`: {source}")]
    Unoffered {
        /// Name of the discipline.
        name: String,
        /// The thing that its driver does not offer.
        source: Unoffered,
    },
    /// Switches choose paths in a way that their driver does not offer.
    #[error("routing: {driver} does not choose a path when a packet arrives, by queues or by flowlets")]
    LateRouting {
        /// Name of the ports' driver.
        driver: &'static str,
    },
    /// A lossless switch whose memory is smaller than the reserves in it.
    #[error(
        "switch {switch} has {buffer} B, and reserves and headroom of the {links} links that end there take {needed} B of it"
    )]
    Memory {
        /// Name of the switch.
        switch: String,
        /// Links that end there.
        links: u32,
        /// Bytes of all reserves and headrooms.
        needed: u64,
        /// Bytes that it has.
        buffer: u64,
    },
    /// A switch whose shared memory is smaller than the reserves in it.
    #[error(
        "switch {switch} has {size} B, and the queues of its {ports} ports reserve {needed} B of it: nothing is left to share"
    )]
    SharedMemory {
        /// Name of the switch.
        switch: String,
        /// Ports of the switch.
        ports: u64,
        /// Bytes of all reserves.
        needed: u64,
        /// Bytes that it has.
        size: u64,
    },
    /// Something that a lossless fabric does not go with.
    #[error("lossless switches (`[fabric.pfc]`): {0}")]
    Lossless(String),
    /// Faults that cannot be injected.
    #[error("faults: {0}")]
    Fault(String),
}

/// Why a run cannot start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No transport has this name.
    #[error("there is no transport `{0}`")]
    UnknownTransport(String),
    /// A parameter that the transport refuses.
    #[error("transport `{transport}`: {source}")]
    Param {
        /// Name of the transport.
        transport: String,
        /// Fault of its parameters.
        source: ParamError,
    },
    /// A flow that cannot be.
    #[error("flow {flow}: {reason}")]
    Flow {
        /// Position in the list.
        flow: usize,
        /// Fault of the flow.
        reason: String,
    },
    /// Flows that are given while the run goes on, where several transports are.
    #[error("messages from outside need a run of one transport, and this one has {0}")]
    SeveralTransports(usize),
    /// The list of flows, or of transports, is empty.
    #[error("the run has no {0}")]
    Empty(&'static str),
}

/// Counters of a port that contradict each other, in the simulator or in a switch. Only a bug can cause that; a count that
/// fell below zero would be a large number in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("counters of {link} at {at}: {source}")]
pub struct Miscounted {
    /// Name of the link.
    pub link: String,
    /// Time at which they were read.
    pub at: Time,
    /// Identity that is broken.
    pub source: BrokenIdentity,
}
