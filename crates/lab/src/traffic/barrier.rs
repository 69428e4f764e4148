//! No rank goes on before all have arrived.

use super::PatternInfo;
use super::draw::Ground;
use super::job::{Algorithm, COMPUTE, Collective, Extent, FIRST, PLACEMENT, RANKS, REPEAT, Schedule};
use super::keys::{START, Takes, needed};
use super::reading::Resolved;
use crate::text::{Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::{Map, Value as Json, json};

/// No rank goes on before all have arrived.
pub type Barrier = Collective<Dissemination>;

/// In round k each rank tells the one 2^k further (D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier
/// synchronization", 1988).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dissemination;

/// Rounds after which all ranks have heard of all.
fn rounds(ranks: u32) -> u32 {
    ranks.next_power_of_two().ilog2()
}

impl Algorithm for Dissemination {
    const INFO: PatternInfo = PatternInfo {
        name: "barrier",
        summary: "no rank goes on before all have arrived: in round k each tells the one 2^k further",
        keys: &[
            needed("bytes", Takes::Bytes, "of each message"),
            RANKS,
            PLACEMENT,
            FIRST,
            START,
            REPEAT,
            COMPUTE,
        ],
        counts: &["repeat", "ranks"],
    };

    const FORM: &'static str = "R t(S) + (R-1) a in R = ceil(log2 n) rounds";

    fn read(_: &Reader<'_>, _: u32, _: u64) -> Result<(Self, Resolved), ScenarioError> {
        Ok((Dissemination, Map::new()))
    }

    fn schedule(&self, ranks: u32, bytes: u64, _: &mut Stream) -> Schedule {
        let mut schedule = Schedule::default();
        for round in 0..rounds(ranks) {
            for rank in 0..ranks {
                let send = schedule.send(round, rank, (rank + (1 << round)) % ranks, bytes);
                for before in 0..round {
                    schedule.after(send, before * ranks + (rank + ranks - (1 << before)) % ranks);
                }
            }
        }
        schedule
    }

    fn extent(&self, ranks: u32, bytes: u64) -> Extent {
        let (n, rounds) = (u64::from(ranks), u64::from(rounds(ranks)));
        Extent {
            messages: (n * rounds) as f64,
            at_once: n as f64,
            edges: (n * rounds * (rounds - 1)) as f64 / 2.0,
            bytes: bytes.saturating_mul(n * rounds),
        }
    }

    fn bus_factor(&self, _: u32) -> f64 {
        1.0
    }

    fn draw(ground: &mut Ground<'_>, _: u64) -> Json {
        json!({ "bytes": ground.dice.between(1, 64) })
    }
}
