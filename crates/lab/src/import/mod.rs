//! Flow lists from other simulators and from tables, and back.

pub mod cm;
pub mod csv;

use headway_units::Time;

/// A flow as a file gives it, not yet checked against a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFlow {
    /// What the file calls it.
    pub id: String,
    /// Sending host.
    pub src: u64,
    /// Receiving host.
    pub dst: u64,
    /// Application bytes.
    pub bytes: u64,
    /// Start.
    pub start: Time,
    /// Application class, where the file says.
    pub class: Option<u16>,
    /// Deadline from the start, where the file says.
    pub deadline: Option<Time>,
    /// Line of the file, from 1.
    pub line: usize,
}
