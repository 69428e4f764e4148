//! What the simulator and the real switch and hosts have in common above machines and ports: the shape of
//! a network, next hops, what a run is ([`RunSpec`]) and what it leaves behind ([`Outcome`]).

pub mod faults;
mod ideal;
mod network;
pub mod outcome;
pub mod rng;
mod routes;
pub mod spec;

pub use faults::{Fault, FaultCounts, FaultSpec, Injector, Verdict};
pub use ideal::Ideals;
pub use network::{BuildError, Link, Network};
pub use outcome::{Entity, FlowRecord, FlowState, LinkRecord, Metric, Outcome, Progress, Sample};
pub use routes::Choice;
pub use spec::{
    FabricSpec, FlowChoice, FlowSpec, LinkChoice, LinkSpec, Routing, RunSpec, SampleSpec, TopologySpec,
    TransportSpec,
};
