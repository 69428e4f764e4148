//! Why a network cannot be built.

use headway_fabric::Unoffered;
use headway_units::ParamError;

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

/// Why a run cannot start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The network.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No such transport.
    #[error("there is no transport `{0}`")]
    UnknownTransport(String),
    /// A parameter that the transport refuses.
    #[error("transport `{transport}`: {source}")]
    Param {
        /// Which transport.
        transport: String,
        /// What is wrong.
        source: ParamError,
    },
    /// A flow that cannot be.
    #[error("flow {flow}: {reason}")]
    Flow {
        /// Position in the list.
        flow: usize,
        /// What is wrong.
        reason: String,
    },
    /// Nothing to run.
    #[error("the run has no {0}")]
    Empty(&'static str),
}
