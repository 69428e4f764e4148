//! A run, before it is held against anything.

use crate::links::Extremes;
use headway_lab::{RunOutput, Scenario};
use headway_network::{Network, Outcome, RunSpec};

/// A run and everything that is known of it.
pub struct Run<'a> {
    /// The scenario to run.
    pub scenario: &'a Scenario,
    /// The specification that the simulator got.
    pub spec: RunSpec,
    /// The interfaces of its flows, from which and to which they go.
    pub ends: Vec<(u32, u32)>,
    /// The network of it.
    pub network: Network,
    /// Extremes of its links under faults.
    pub extremes: Vec<Extremes>,
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// Results as they are written.
    pub output: RunOutput,
    /// Bytes of memory that were forecast.
    pub said: u64,
    /// Part of them for samples.
    pub said_samples: u64,
    /// Peak of the heap in bytes; 0 if it was not counted.
    pub peak: u64,
    /// Outcome of a second run of the same on this many threads.
    pub again: Option<(usize, Outcome)>,
}

impl Run<'_> {
    /// True if the counters of a link are those of one rate, from the first bit of each packet to its last.
    pub fn is_steady(&self, link: usize) -> bool {
        !self.extremes[link].retuned && self.extremes[link].downs == 0
    }
}
