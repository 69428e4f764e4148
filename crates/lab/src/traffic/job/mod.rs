//! Common parts of dependent traffic: ranks and their placement, the messages of one iteration, and the results of a
//! job when it is over.

use headway_units::Time;

mod collective;
mod nodes;
mod parts;
mod ranks;
mod ring;
mod schedule;
pub(super) mod trees;

pub(crate) use collective::{
    ALL_BYTES, Algorithm, CHANNELS, CHUNKS, COMPUTE, Collective, Extent, REPEAT, chunk, count_of, repeated,
};
pub(crate) use nodes::{NodeTrees, faster, hierarchical, in_trees};
pub(crate) use parts::Parts;
pub(crate) use ranks::{FIRST, PLACEMENT, RANKS, Ranks};
pub(crate) use ring::{HalfRing, OnRing, RING_KEYS, Ring, too_few};
pub(crate) use schedule::{Schedule, between};

/// Facts about a job before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobInfo {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of iterations, one after the other.
    pub iterations: u64,
    /// For a collective, its size in bytes as nccl-tests counts it, and the factor by which the algorithm bandwidth is
    /// multiplied to get the bus bandwidth (nccl-tests, doc/PERFORMANCE.md).
    pub collective: Option<(u64, f64)>,
    /// Name of its algorithm, if there are several.
    pub algorithm: Option<&'static str>,
    /// True if each of its rounds belongs to the host that begins it, as a call to its client.
    pub owns_rounds: bool,
    /// Longest duration of a round.
    pub within: Option<Time>,
}
