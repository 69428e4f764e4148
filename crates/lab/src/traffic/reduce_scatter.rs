//! Each rank gets its part of the sum of what all of them have.

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

/// Each rank gets its part of the sum of what all of them have; `bytes` are those that each begins with.
pub type ReduceScatter = Collective<Scatter>;

/// Round a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scatter(Ring);

impl Algorithm for Scatter {
    const INFO: PatternInfo = PatternInfo {
        name: "reduce-scatter",
        summary: "each rank gets its part of the sum of what all of them have, round a ring",
        keys: &[ALL_BYTES, RANKS, PLACEMENT, FIRST, CHANNELS, CHUNKS, START, REPEAT, COMPUTE],
        counts: &["repeat", "ranks"],
    };

    const FORM: &'static str = Ring::HALF;

    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        let (ring, resolved) = Ring::read(table, ranks, bytes)?;
        Ok((Scatter(ring), resolved))
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
