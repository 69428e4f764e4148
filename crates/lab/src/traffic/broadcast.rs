//! Rank 0 sends the same to all others.

use super::PatternInfo;
use super::draw::Ground;
use super::job::{
    ALL_BYTES, Algorithm, CHUNKS, COMPUTE, Collective, Extent, FIRST, PLACEMENT, Parts, RANKS, REPEAT,
    Schedule, count_of,
};
use super::keys::{START, Takes, key};
use super::reading::{Resolved, object};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::{Value as Json, json};

/// Rank 0 sends the same to all others.
pub type Broadcast = Collective<Along>;

const ALGORITHMS: [&str; 2] = ["binomial-tree", "chain"];

/// Algorithm of the broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// A binomial tree: in each round, every rank that has the data sends it to one that has not.
    Tree,
    /// A chain: from rank to rank, in chunks.
    Chain {
        /// Number of chunks.
        chunks: u64,
    },
}

impl Algorithm for Along {
    const INFO: PatternInfo = PatternInfo {
        name: "broadcast",
        summary: "rank 0 sends the same to all others",
        keys: &[
            ALL_BYTES,
            RANKS,
            PLACEMENT,
            FIRST,
            key(
                "algorithm",
                Takes::Word(&["binomial-tree", "chain"]),
                "`binomial-tree`",
                "in each round every rank that has it sends it to one more, or each rank sends it to the next",
            ),
            CHUNKS,
            START,
            REPEAT,
            COMPUTE,
        ],
        counts: &["repeat", "ranks"],
    };

    const FORM: &'static str = "binomial-tree: (R-1) k(S) + t(S) in R = ceil(log2 n) rounds, where k(x) is the time until the sender of x bytes knows \
        that they have arrived; chain: (n-1) t(S) + (n-2) a with one chunk";

    fn read(table: &Reader<'_>, _: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        let algorithm = table.get("algorithm").map_or(Ok(0), |item| item.choice(&ALGORITHMS))?;
        if algorithm == 0 {
            if let Some(item) = table.get("chunks") {
                let table = "[[traffic]] with algorithm = \"binomial-tree\"".into();
                return Err(item.fail(Problem::UnusedKey { key: "chunks".into(), table }));
            }
            return Ok((Along::Tree, object(json!({ "algorithm": ALGORITHMS[0] }))));
        }
        let chunks = count_of(table, "chunks", 1, bytes)?;
        Ok((Along::Chain { chunks }, object(json!({ "algorithm": ALGORITHMS[1], "chunks": chunks }))))
    }

    fn schedule(&self, ranks: u32, bytes: u64, _: &mut Stream) -> Schedule {
        let mut schedule = Schedule::default();
        match *self {
            Along::Tree => {
                // Messages that each rank has received, and sent last.
                let (mut received, mut sent) = (vec![None; ranks as usize], vec![None; ranks as usize]);
                for round in 0..ranks.next_power_of_two().ilog2() {
                    for rank in 0..(1 << round).min(ranks) {
                        let to = rank + (1 << round);
                        if to >= ranks {
                            continue;
                        }
                        let send = schedule.send(round, rank, to, bytes);
                        match (sent[rank as usize], received[rank as usize]) {
                            (Some(own), _) => schedule.after_own(send, own),
                            (None, Some(from)) => schedule.after(send, from),
                            (None, None) => {}
                        }
                        sent[rank as usize] = Some(send);
                        received[to as usize] = Some(send);
                    }
                }
            }
            Along::Chain { chunks } => {
                let parts = Parts::of(bytes, chunks);
                for rank in 0..ranks - 1 {
                    for chunk in 0..chunks {
                        let send = schedule.send(rank, rank, rank + 1, parts.get(chunk));
                        if rank > 0 {
                            schedule.after(send, send - chunks as u32);
                        }
                    }
                }
            }
        }
        schedule
    }

    fn extent(&self, ranks: u32, bytes: u64) -> Extent {
        let others = u64::from(ranks - 1);
        let messages = match self {
            Along::Tree => others as f64,
            Along::Chain { chunks } => others as f64 * *chunks as f64,
        };
        Extent { messages, at_once: messages, edges: messages, bytes: bytes.saturating_mul(others) }
    }

    fn bus_factor(&self, _: u32) -> f64 {
        1.0
    }

    fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json {
        let bytes = ground.bytes(ground.packets / ranks).max(16);
        match ground.dice.below(2) {
            0 => json!({ "bytes": bytes }),
            _ => json!({ "bytes": bytes, "algorithm": "chain", "chunks": ground.dice.between(1, 4) }),
        }
    }
}
