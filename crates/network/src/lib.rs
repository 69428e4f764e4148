//! The parts that the simulator shares with the real switch and hosts, above machines and ports: topologies,
//! next hops, the specification of a run ([`RunSpec`]) and its outcome ([`Outcome`]).

mod by_cause;
mod changes;
pub mod chips;
mod credits;
mod deadlock;
mod detours;
mod error;
mod estimate;
pub mod faults;
mod flow;
mod graph;
mod ideal;
mod injector;
mod interfaces;
mod link;
mod link_stats;
pub mod lossless;
mod memory;
mod network;
pub mod outcome;
mod pairs;
pub mod pfc;
mod processor;
pub mod rng;
mod router;
mod routes;
mod source;
pub mod spec;
mod tap;
mod timing;
pub mod topology;
mod witness;

pub use by_cause::TimeByCause;
pub use changes::{Changes, Flight, Instant, Range, Step, conflict, ranges};
pub use chips::{Chip, ChipMemory, MemoryParams, MemorySpec};
pub use credits::{counts_credits, credits_in_flight};
pub use deadlock::{Deadlock, Lane, Stopped};
pub use error::{BuildError, Miscounted, RunError};
pub use estimate::{
    BASE, Estimate, Flows, PER_FLOW, PER_PACKET, PER_SAMPLE, estimate, estimate_for, per_packet,
};
pub use faults::{Change, Down, Fault, FaultSpec};
pub use flow::{FlowSpec, Until};
pub use graph::{Cause, Causes, Gap, Graph, GraphError, Node, Step as GraphStep};
pub use ideal::Ideals;
pub use injector::{FaultAction, FaultCounts, Injector};
pub use interfaces::Owners;
pub use link::{Altered, Link, LinkChoice, LinkSpec};
pub use link_stats::{LinkSampler, LinkStats};
pub use lossless::{Lossless, Surplus};
pub use memory::{Memories, Outbound, SharedMemory};
pub use network::Network;
pub use outcome::{
    Arrivals, Ending, Entity, FlowRecord, FlowState, LinkRecord, Metric, Outcome, Progress, Sample,
    StepRecord, TransportRecord,
};
pub use pairs::{Pairs, check_ports};
pub use pfc::{Ledger, PauseCounts, PfcParams};
pub use processor::{HostCosts, Processor, merged};
pub use routes::PathSelector;
pub use source::{Ask, Happening, Source};
pub use spec::{
    FabricSpec, FlowChoice, Forwarding, Params, PortChoice, PortsAt, ProbeChoice, Routing, RunSpec,
    SampleSpec, TransportSpec,
};
pub use tap::Tap;
pub use timing::HostTiming;
pub use topology::TopologySpec;
pub use witness::{EventKind, Place, Seen, Witness};
