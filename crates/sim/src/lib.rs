//! Packet-level simulation: virtual time, links, hosts and routes around transport machines and ports.
//!
//! [`run`] takes a [`headway_network::RunSpec`] to an [`headway_network::Outcome`], [`run_within`] on several threads; [`run_tapped`] shows every packet on the way to a [`headway_network::Tap`]. A run is a function of its specification and seed:
//! the digest of its event order says so.

mod attribution;
mod conductor;
mod crew;
mod division;
mod engine;
mod links;
mod mixed;
mod outages;
mod packet_pool;
mod ports;
mod progressing;
mod queue;
mod rank;
mod run;
mod sampler;
mod shared;
mod waiting;

pub use conductor::Trial;
pub use mixed::Machine;
pub use run::{Around, Maker, meet, parameters, run, run_tapped, run_within, run_witnessed};
