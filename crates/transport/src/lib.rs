//! Datacenter transports as state machines, without clock, socket, thread or random generator.
//!
//! [`endpoint`] is the contract between a machine and its driver. [`registry`] is the list of machines.
//! Each protocol has its own folder. Machines are built from small shared parts.

pub mod aeolus;
pub mod amrt;
mod arrived;
pub mod control_queue;
pub mod dcpim;
pub mod deploy;
pub mod endpoint;
pub mod eqds;
pub mod expresspass;
pub mod finished;
pub mod first_window;
pub mod homa;
pub mod idle;
pub mod index_window;
pub mod message;
pub mod messages;
pub mod mptcp;
pub mod ndp;
pub mod phost;
pub mod proactmp;
pub mod probes;
pub mod promises;
mod ranking;
pub mod rcp;
pub mod registry;
pub mod roce;
pub mod rpo;
pub mod shared;
pub mod sird;
pub mod spraying;
pub mod states;
pub mod subflows;
pub mod tcp;
pub mod template;
pub mod timers;
pub mod turns;
pub mod two_sided;
pub mod uet;

pub use endpoint::{
    Capabilities, CreditBound, CreditDemand, End, Endpoint, EndpointEvent, Gone, HostContext, Path, Room,
    Transport, TransportInfo,
};
pub use message::{InitialWindow, Message};
