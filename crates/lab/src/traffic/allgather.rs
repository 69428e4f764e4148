//! Every rank gets what each of them has.

use super::PatternInfo;
use super::draw::Ground;
use super::job::{
    ALL_BYTES, Algorithm, CHANNELS, CHUNKS, COMPUTE, Collective, Extent, FIRST, PLACEMENT, RANKS, REPEAT, Ring, Schedule,
};
use super::keys::START;
use super::reading::Resolved;
use crate::text::{Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::Value as Json;

/// Every rank gets what each of them has; `bytes` are those of all together.
pub type AllGather = Collective<Gather>;

/// Round a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather(Ring);

impl Algorithm for Gather {
    const INFO: PatternInfo = PatternInfo {
        name: "allgather",
        summary: "every rank gets what each of them has, round a ring",
        keys: &[ALL_BYTES, RANKS, PLACEMENT, FIRST, CHANNELS, CHUNKS, START, REPEAT, COMPUTE],
        counts: &["repeat", "ranks"],
    };

    const FORM: &'static str = Ring::HALF;

    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        let (ring, resolved) = Ring::read(table, ranks, bytes)?;
        Ok((Gather(ring), resolved))
    }

    fn schedule(&self, ranks: u32, bytes: u64, _: &mut Stream) -> Schedule {
        self.0.schedule(ranks, ranks - 1, bytes)
    }

    fn extent(&self, ranks: u32, bytes: u64) -> Extent {
        self.0.extent(ranks, ranks - 1, bytes)
    }

    fn bus_factor(&self, ranks: u32) -> f64 {
        f64::from(ranks - 1) / f64::from(ranks)
    }

    fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json {
        Ring::draw(ground, ranks)
    }
}
