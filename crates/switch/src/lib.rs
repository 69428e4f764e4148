//! A software switch: the ports of `headway-fabric` between real interfaces.
//!
//! Every switch of a topology runs in this one process and one thread. Interfaces exist only where hosts
//! are; between switches, frames cross links in memory, with the rate and the delay that the topology
//! gives them. [`Core`] is the switch without sockets and without a clock: frames and times in, frames
//! out. [`run`] drives it over [`FrameIo`] interfaces in real time; [`AfPacket`] is the one there is.
//!
//! Ports decide on their *virtual* departure clock: an event that is handled a few microseconds late is
//! handled at the time it was due, so a late thread never looks like an idle link and leaves no false
//! anti-ECN mark (AMRT §IV-A). Lateness is measured and reported instead ([`DelayHistogram`]).

mod addresses;
mod core;
mod counters;
mod delay_histogram;
mod egress;
mod frame;
pub mod interface;
mod measuring;
mod run;

pub use addresses::Addresses;
pub use core::{Core, CoreConfig, FrameTap};
pub use counters::SwitchCounters;
pub use delay_histogram::DelayHistogram;
pub use frame::{FrameError, ParsedFrame, complete_checksum, inspect, parse, set_ecn};
pub use interface::{AfPacket, FrameIo, InterfaceError};
pub use run::{Clock, RunConfig, Running, run};
