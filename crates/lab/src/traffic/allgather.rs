//! Every rank gets the data of each of them.

use super::PatternInfo;
use super::job::{Collective, HalfRing, OnRing, RING_KEYS};

/// Every rank gets the data of each of them; `bytes` are those of all together.
pub type AllGather = Collective<HalfRing<Gather>>;

/// Algorithm of [`AllGather`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather;

impl OnRing for Gather {
    const INFO: PatternInfo = PatternInfo {
        name: "allgather",
        summary: "every rank gets what each of them has, round a ring",
        keys: RING_KEYS,
        counts: &["repeat", "ranks"],
    };
}
