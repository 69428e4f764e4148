//! Links: what they are like, and between which nodes they are.

use headway_units::{Rate, Time};

/// Rate and one-way propagation delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// In each direction.
    pub rate: Rate,
    /// One way.
    pub delay: Time,
}

/// One directed link between two nodes; hosts are numbered first, then switches.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Node it leaves.
    pub from: u32,
    /// Node it ends at.
    pub to: u32,
    /// Rate and delay.
    pub spec: LinkSpec,
}
