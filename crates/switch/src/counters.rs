//! Counters of a switch outside of its ports.

use crate::frame::FrameError;

/// Frames outside the ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// Frames from hosts, good and bad.
    pub received: u64,
    /// Frames rejected on arrival, by [`FrameError`].
    pub refused: [u64; FrameError::ALL.len()],
    /// Frames that no link leads to the destination of.
    pub unroutable: u64,
    /// Frames that left for hosts.
    pub delivered: u64,
}
