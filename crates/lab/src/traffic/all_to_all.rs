//! Every rank sends something else to every other rank.

use super::PatternInfo;
use super::draw::Ground;
use super::job::{
    ALL_BYTES, Algorithm, COMPUTE, Collective, Extent, FIRST, PLACEMENT, Parts, RANKS, REPEAT, Schedule,
    too_few,
};
use super::keys::{START, Takes, key};
use super::reading::{Resolved, object};
use crate::text::{Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::{Value as Json, json};

/// Every rank sends something else to every other rank; `bytes` are those that a rank has for all ranks, itself included.
pub type AllToAll = Collective<Exchange>;

/// Number of messages at a time, and their inequality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Messages that a rank has on their way at a time.
    at_once: Option<u64>,
    /// Exponent of Zipf's law over the ranks that messages go to.
    skew: f64,
}

impl Exchange {
    /// All messages at once, of equal sizes.
    pub(super) const SIMPLE: Exchange = Exchange { at_once: None, skew: 0.0 };
}

impl Algorithm for Exchange {
    const INFO: PatternInfo = PatternInfo {
        name: "all-to-all",
        summary: "every rank sends something else to every other rank",
        keys: &[
            ALL_BYTES,
            RANKS,
            PLACEMENT,
            FIRST,
            key(
                "at_once",
                Takes::Count,
                "all",
                "messages that a rank sends before it has received one: 1 is one after the other, in step with the others",
            ),
            key(
                "skew",
                Takes::Number,
                "0",
                "inequality, as of experts in a mixture of experts: the rank that is k-th in a random order gets a share of 1/k^`skew` of the bytes that each other rank sends; 0 is equal shares",
            ),
            START,
            REPEAT,
            COMPUTE,
        ],
        counts: &["repeat", "ranks"],
    };

    const FORM: &'static str = "one at a time: (n-1) t(S/n) + (n-2) a; all at once: t(S/n) + (n-2) s(S/n), and up to \
        (n-2) a more unless a message is one packet and (n-1) s(S/n) at most t(S/n); q at a time, messages of one packet: \
        ceil((n-1)/q) t(S/n) + ((n-2) mod q) s(S/n) if q s(S/n) is at most t(S/n), t(S/n) + (n-2) s(S/n) otherwise, and up to (n-2) a more. \
        With `skew`, at least what the busiest host receives takes on its link";

    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        if bytes < u64::from(ranks) {
            return Err(too_few(table, bytes, u64::from(ranks)));
        }
        let others = u64::from(ranks - 1);
        let at_once = table.get("at_once").map(|item| item.int(1, others)).transpose()?;
        let skew = match table.get("skew") {
            None => 0.0,
            Some(item) => match item.number()? {
                skew if (0.0..=10.0).contains(&skew) => skew,
                skew => return Err(item.range("from 0 to 10", skew)),
            },
        };
        let resolved = json!({ "at_once": at_once.unwrap_or(others), "skew": skew });
        Ok((Exchange { at_once, skew }, object(resolved)))
    }

    fn schedule(&self, ranks: u32, bytes: u64, random: &mut Stream) -> Schedule {
        let unequal = unequal(ranks, bytes, self.skew, random);
        let at_once = self.at_once.map_or(ranks, |count| count as u32);
        let mut schedule = Schedule::default();
        let even = Parts::of(bytes, u64::from(ranks));
        for round in 1..ranks {
            for rank in 0..ranks {
                // In a round every rank has another receiver, so that no link into a host has two senders.
                let to = (rank + round) % ranks;
                let size = match &unequal {
                    None => even.get(u64::from(to)),
                    Some(sizes) => sizes[rank as usize][to as usize],
                };
                let send = schedule.send(round - 1, rank, to, size);
                if let Some(before) = round.checked_sub(at_once).filter(|before| *before > 0) {
                    let from = (rank + ranks - before) % ranks;
                    schedule.after(send, (before - 1) * ranks + from);
                }
            }
        }
        schedule
    }

    fn extent(&self, ranks: u32, bytes: u64) -> Extent {
        let (n, others) = (f64::from(ranks), u64::from(ranks - 1));
        let first = self.at_once.map_or(others, |count| count.min(others));
        // With `skew` all of a buffer goes to other ranks.
        let sent = if self.skew > 0.0 { u64::from(ranks) } else { others };
        Extent {
            messages: n * others as f64,
            at_once: n * if self.skew > 0.0 { others } else { first } as f64,
            edges: n * (others - first) as f64,
            bytes: bytes.saturating_mul(sent),
        }
    }

    fn bus_factor(&self, ranks: u32) -> f64 {
        f64::from(ranks - 1) / f64::from(ranks)
    }

    fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json {
        let bytes = ground.bytes(ground.packets / ranks).max(ranks);
        let mut entry = json!({ "bytes": bytes });
        if ground.dice.percent(50) {
            entry["at_once"] = ground.dice.between(1, ranks - 1).into();
        }
        if ground.dice.percent(30) {
            entry["skew"] = (ground.dice.share() * 2.0).into();
        }
        entry
    }
}

/// Bytes that each rank sends to each other, if they are not the same for all. All of a buffer goes to others, a byte
/// to each at least.
fn unequal(ranks: u32, bytes: u64, skew: f64, random: &mut Stream) -> Option<Vec<Vec<u64>>> {
    if skew == 0.0 {
        return None;
    }
    let mut weights: Vec<f64> = (1..=ranks).map(|place| libm::pow(f64::from(place), -skew)).collect();
    random.shuffle(&mut weights);
    let from = |rank: u32| {
        let others = weights.iter().sum::<f64>() - weights[rank as usize];
        let shared = (bytes - u64::from(ranks - 1)) as f64;
        let (mut weight, mut given) = (0.0, 0.0);
        let to = |to: u32| {
            if to == rank {
                return 0;
            }
            weight += weights[to as usize];
            // Sums are rounded instead of parts, so that the parts add up.
            let upto = libm::round(shared * (weight / others)).min(shared);
            1 + (upto - std::mem::replace(&mut given, upto)) as u64
        };
        (0..ranks).map(to).collect()
    };
    Some((0..ranks).map(from).collect())
}
