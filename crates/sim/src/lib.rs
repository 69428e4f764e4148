//! Packet-level simulation: virtual time, links, hosts and routes around transport machines and ports.
//!
//! [`run`] takes a [`RunSpec`] to an [`Outcome`]. A run is a function of its specification and seed:
//! the digest of its event order says so.

mod engine;
mod estimate;
mod network;
pub mod outcome;
mod pool;
mod prefetch;
mod queue;
mod rng;
mod routes;
mod run;
mod sampler;
pub mod spec;
mod wires;

pub use estimate::{estimate, size};
pub use network::{BuildError, Network};
pub use outcome::{Entity, FlowRecord, FlowState, LinkRecord, Metric, Outcome, Progress, Sample};
pub use run::{Estimate, RunError, parameters, run};
pub use spec::{
    FabricSpec, FlowChoice, FlowSpec, LinkChoice, LinkSpec, Routing, RunSpec, SampleSpec, TopologySpec,
    TransportSpec,
};
