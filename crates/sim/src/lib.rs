//! Packet-level simulation: virtual time, links, hosts and routes around transport machines and ports.
//!
//! [`run`] takes a [`headway_network::RunSpec`] to an [`headway_network::Outcome`]; [`run_tapped`] shows every packet on the way to a [`headway_network::Tap`]. A run is a function of its specification and seed:
//! the digest of its event order says so.

mod engine;
mod links;
mod mixed;
mod outages;
mod packet_pool;
mod ports;
mod progressing;
mod queue;
mod run;
mod sampler;

pub use run::{parameters, run, run_tapped, run_within, run_witnessed};
