//! A software switch: the ports of `headway-fabric` between real interfaces.
//!
//! One process with one thread runs every switch of a topology. Only links to hosts have interfaces. Between
//! switches, frames cross links in memory, with the rate and the delay of the topology. [`Core`] is the
//! switch without sockets and without a clock: it takes frames with their times, and returns frames. [`run`]
//! drives it over [`FrameIo`] interfaces in real time. There are two kinds of them: packet sockets ([`AfPacket`]),
//! and with the feature `af-xdp` rings in memory that is shared with the kernel ([`interface::open`] chooses).
//!
//! Ports decide on their *virtual* departure clock. An event that is handled a few microseconds late is
//! handled with the time at which it was due. A late thread therefore never looks like an idle link, and
//! causes no false anti-ECN mark (AMRT §IV-A). Lateness is measured and reported ([`DelayHistogram`]).

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
pub use frame::{FrameError, ParsedFrame, complete_checksum, inspect, lacks_checksum, parse, set_ecn};
pub use interface::{AfPacket, FrameIo, InterfaceError, IoChoice, IoKind, Lost, Opened, Stamp};
pub use run::{Clock, RunConfig, Running, run};
