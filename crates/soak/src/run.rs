//! A run, before it is held against anything.

use crate::links::Extremes;
use headway_lab::{RunOutput, Scenario};
use headway_network::{Network, Outcome, RunSpec};

/// A run and everything that is known of it.
pub struct Run<'a> {
    /// What was asked for.
    pub scenario: &'a Scenario,
    /// What the simulator got.
    pub spec: RunSpec,
    /// The network of it.
    pub network: Network,
    /// What faults make of its links.
    pub extremes: Vec<Extremes>,
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// What of it is written.
    pub output: RunOutput,
    /// Bytes of memory that were said.
    pub said: u64,
    /// What of it samples take.
    pub said_samples: u64,
    /// Most bytes of the heap; 0 where nobody counted.
    pub peak: u64,
    /// What came out when the same was run once more, on so many threads.
    pub again: Option<(usize, Outcome)>,
}

impl Run<'_> {
    /// Whether the counters of a link are those of one rate, from the first bit of each packet to its last.
    pub fn is_steady(&self, link: usize) -> bool {
        !self.extremes[link].retuned && self.extremes[link].downs == 0
    }
}
