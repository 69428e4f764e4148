//! A port of the switch, and the link that it feeds.

use headway_fabric::Port;
use headway_units::Time;

/// See the module.
pub(crate) struct Egress {
    pub(crate) port: Port<u32>,
    pub(crate) to: u32,
    pub(crate) delay: Time,
    /// Time of the event in force that serves this port; `Time::MAX` when none is.
    pub(crate) due: Time,
}
