//! What becomes of a flow while the run goes on.

use headway_network::FlowState;
use headway_units::Time;

/// What a flow has gone through so far.
#[derive(Clone, Copy)]
pub(crate) struct Progressing {
    pub(crate) state: FlowState,
    pub(crate) delivered: u64,
    pub(crate) finish: Time,
    pub(crate) retransmitted: u64,
    pub(crate) drops: u32,
    pub(crate) trims: u32,
    pub(crate) marks: u32,
}
