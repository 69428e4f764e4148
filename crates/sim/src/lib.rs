//! Packet-level simulation: virtual time, links, hosts and routes around transport machines and ports.
//!
//! [`run`] takes a [`RunSpec`] to an [`Outcome`]; [`run_tapped`] shows every packet on the way to a [`Tap`]. A run is a function of its specification and seed:
//! the digest of its event order says so.

mod engine;
mod estimate;
mod mixed;
mod outages;
mod pool;
mod progressing;
mod queue;
mod run;
mod sampler;
mod shaped;
mod tap;
mod transit;
mod wires;

pub use estimate::{BASE, Estimate, Flows, PER_SAMPLE, estimate, estimate_for};
pub use headway_network::{
    BuildError, Change, Down, Entity, FabricSpec, Fault, FaultCounts, FaultSpec, FlowChoice, FlowRecord,
    FlowSpec, FlowState, LinkChoice, LinkRecord, LinkSpec, Metric, Network, Outcome, Progress, Routing,
    RunSpec, Sample, SampleSpec, TopologySpec, TransportRecord, TransportSpec, conflict, topology,
};
pub use run::{RunError, parameters, run, run_tapped, run_within, run_witnessed};
pub use tap::Tap;
