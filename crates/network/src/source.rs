//! Messages that are handed over while a run goes on.
//!
//! A [`Graph`](crate::Graph) is complete before its run. A source is not: it hears of each end, and decides then what
//! begins. It may be an outside program. Such a run has one thread, and may never end.

use crate::flow::{FlowSpec, Until};
use headway_units::Time;

/// Events that a source hears of, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The last byte of a flow is at its receiver, or its sender knows that.
    Flow(u32, Until),
    /// The transport of a flow gave it up.
    Lost(u32),
    /// A time is over that it asked for.
    Timer(u64),
}

/// Request of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A flow, whose `start` counts from now. Flows are numbered in the order in which they are given, after those of the
    /// specification. A deadline is a time since the start of the run.
    Flow {
        /// The flow. It has no `stop`.
        flow: FlowSpec,
        /// True if the run is to last until its sender knows that it is complete, as if [`RunSpec::until`] said so for
        /// this flow.
        ///
        /// [`RunSpec::until`]: crate::RunSpec::until
        known: bool,
    },
    /// A timer, reported by its number when this time has passed.
    Timer {
        /// Delay from now.
        after: Time,
        /// Number that the event will carry.
        number: u64,
    },
}

/// Begins flows while a run goes on.
///
/// Its requests of one instant begin in this order, after everything else that happens in that instant.
pub trait Source {
    /// Something is over.
    fn hear(&mut self, now: Time, what: Happening);

    /// The next thing that it asks for; `None` when it asks for no more. It is asked when a run goes on, and after each
    /// event of which it heard.
    fn ask(&mut self) -> Option<Ask>;

    /// True if the run is to rest after the event that is being handled. It can go on later.
    fn rests(&self) -> bool {
        false
    }
}
