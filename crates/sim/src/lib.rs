//! Packet-level simulation: virtual time, links, hosts and routes around transport machines and ports.
//!
//! [`run`] takes a [`headway_network::RunSpec`] to an [`headway_network::Outcome`], [`run_within`] on several threads; [`run_tapped`] shows every packet on the way to a [`headway_network::Tap`]. A run is a function of its specification and seed:
//! the digest of its event order says so. A [`Session`] is a run that can rest, and takes flows from a
//! [`headway_network::Source`] while it goes on.

mod attribution;
mod check;
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
mod session;
mod shared;
mod stamping;
mod volumes;
mod waiting;

pub use check::check_flow;
pub use conductor::{Rest, Trial};
pub use mixed::Machine;
pub use run::{Around, Maker, check, meet, run, run_tapped, run_within, run_witnessed};
pub use session::Session;
