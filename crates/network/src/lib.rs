//! What the simulator and the real switch and hosts have in common above machines and ports: the shape of
//! a network, next hops, what a run is ([`RunSpec`]) and what it leaves behind ([`Outcome`]).

mod changes;
mod detours;
mod error;
mod estimate;
pub mod faults;
mod ideal;
mod injector;
mod link;
mod link_stats;
mod network;
pub mod outcome;
mod processor;
pub mod rng;
mod router;
mod routes;
pub mod spec;
mod tap;
mod timing;
pub mod topology;
mod witness;

pub use changes::{Changes, Flight, Instant, Step, conflict};
pub use error::{BuildError, Miscounted, RunError};
pub use estimate::{BASE, Estimate, Flows, PER_PACKET, PER_SAMPLE, estimate, estimate_for};
pub use faults::{Change, Down, Fault, FaultSpec};
pub use ideal::Ideals;
pub use injector::{FaultAction, FaultCounts, Injector};
pub use link::{Link, LinkChoice, LinkSpec};
pub use link_stats::{LinkSampler, LinkStats};
pub use network::Network;
pub use outcome::{
    Arrivals, Entity, FlowRecord, FlowState, LinkRecord, Metric, Outcome, Progress, Sample, TransportRecord,
};
pub use processor::{HostCosts, Processor, merged};
pub use routes::PathSelector;
pub use spec::{FabricSpec, FlowChoice, FlowSpec, Routing, RunSpec, SampleSpec, TransportSpec};
pub use tap::Tap;
pub use timing::HostTiming;
pub use topology::TopologySpec;
pub use witness::{EventKind, Place, Seen, Witness};
