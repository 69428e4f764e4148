//! Each rank gets its part of the sum of the data of all.

use super::PatternInfo;
use super::job::{Collective, HalfRing, OnRing, RING_KEYS};

/// Each rank gets its part of the sum of the data of all; `bytes` are those that each begins with.
pub type ReduceScatter = Collective<HalfRing<Scatter>>;

/// Algorithm of [`ReduceScatter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scatter;

impl OnRing for Scatter {
    const INFO: PatternInfo = PatternInfo {
        name: "reduce-scatter",
        summary: "each rank gets its part of the sum of what all of them have, round a ring",
        keys: RING_KEYS,
        counts: &["repeat", "ranks"],
    };
}
