//! A ring: each rank sends to the next one the data that it has received from the one before.

use super::super::draw::Ground;
use super::super::keys::{Key, START};
use super::super::reading::{Resolved, object};
use super::super::{Context, PatternInfo};
use super::{
    ALL_BYTES, Algorithm, CHANNELS, CHUNKS, COMPUTE, Extent, FIRST, PLACEMENT, RANKS, REPEAT, Ranks,
    Schedule, chunk, count_of,
};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::{Value as Json, json};
use std::fmt::Debug;
use std::marker::PhantomData;

/// Division of the buffer: into channels, these into a segment for each rank, and these into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    pub(crate) channels: u64,
    pub(crate) chunks: u64,
    /// Ranks of each node, through which each channel goes another way; 1 if all channels go the same way.
    pub(crate) node: u32,
}

impl Ring {
    /// Reads `channels` and `chunks`.
    pub(crate) fn read(
        table: &Reader<'_>,
        ranks: u32,
        bytes: u64,
    ) -> Result<(Ring, Resolved), ScenarioError> {
        let n = u64::from(ranks);
        if bytes < n {
            return Err(too_few(table, bytes, n));
        }
        let channels = count_of(table, "channels", n, bytes)?;
        let chunks = count_of(table, "chunks", n * channels, bytes)?;
        Ok((Ring { channels, chunks, node: 1 }, object(json!({ "channels": channels, "chunks": chunks }))))
    }

    /// Its keys at random.
    pub(crate) fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json {
        let bytes = ground.bytes(ground.packets / ranks).max(ranks * 16);
        json!({ "bytes": bytes, "channels": ground.dice.between(1, 3), "chunks": ground.dice.between(1, 3) })
    }

    /// Rank at a place of a channel's ring.
    ///
    /// Channel c goes into node 0 at its rank c and leaves it at rank c - 1, goes on to rank c - 1 of node 1 and leaves that at rank c, and so on: it
    /// stays on a rail between nodes, and all interfaces of a node have a channel if there are as many.
    fn rank_at(self, place: u32, channel: u64) -> u32 {
        let own = self.node;
        if own < 2 || self.channels < 2 {
            return place;
        }
        let (node, at, turn) = (place / own, place % own, (channel % u64::from(own)) as u32);
        let local = if node.is_multiple_of(2) { turn + at } else { turn + 2 * own - 1 - at };
        node * own + local % own
    }

    /// So many steps of a ring of all ranks. In step s, the rank at place r sends segment r - s.
    pub(crate) fn schedule(self, ranks: u32, steps: u32, bytes: u64) -> Schedule {
        let mut schedule = Schedule::default();
        let lanes = self.channels * self.chunks;
        let number = |step: u32, rank: u32, lane: u64| (u64::from(step * ranks + rank) * lanes + lane) as u32;
        for step in 0..steps {
            for rank in 0..ranks {
                let segment = (rank + ranks - step % ranks) % ranks;
                for lane in 0..lanes {
                    let (channel, part) = (lane / self.chunks, lane % self.chunks);
                    let of = [self.channels, u64::from(ranks), self.chunks];
                    let size = chunk(bytes, of, [channel, u64::from(segment), part]);
                    let [from, to] = [rank, (rank + 1) % ranks].map(|place| self.rank_at(place, channel));
                    let send = schedule.send(step, from, to, size);
                    debug_assert_eq!(send, number(step, rank, lane));
                    if step > 0 {
                        schedule.after(send, number(step - 1, (rank + ranks - 1) % ranks, lane));
                    }
                }
            }
        }
        schedule
    }

    pub(crate) fn extent(self, ranks: u32, steps: u32, bytes: u64) -> Extent {
        let lanes = (self.channels * self.chunks) as f64 * f64::from(ranks);
        let all = u128::from(bytes) * u128::from(steps);
        Extent {
            messages: lanes * f64::from(steps),
            at_once: lanes,
            edges: lanes * f64::from(steps - 1),
            bytes: u64::try_from(all).unwrap_or(u64::MAX),
        }
    }
}

/// Keys of a collective that goes round a ring once.
pub(crate) const RING_KEYS: &[Key] =
    &[ALL_BYTES, RANKS, PLACEMENT, FIRST, CHANNELS, CHUNKS, START, REPEAT, COMPUTE];

/// A collective that goes round a ring once, in n - 1 steps.
pub(crate) trait OnRing: Debug + Clone + Send + Sync + 'static {
    const INFO: PatternInfo;
}

/// Algorithm on half of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfRing<C> {
    ring: Ring,
    collective: PhantomData<C>,
}

impl<C: OnRing> Algorithm for HalfRing<C> {
    const INFO: PatternInfo = C::INFO;

    const FORM: &'static str =
        "(n-1) t(S/n) + (n-2) a; with channels and chunks as of `allreduce`, with K = n-1 steps";

    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        let (ring, resolved) = Ring::read(table, ranks, bytes)?;
        Ok((HalfRing { ring, collective: PhantomData }, resolved))
    }

    fn placed(
        self,
        ranks: &Ranks,
        context: &Context<'_>,
        _: &Reader<'_>,
        _: u64,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let node = ranks.place(context.topology).rail_node();
        Ok((HalfRing { ring: Ring { node, ..self.ring }, ..self }, Resolved::new()))
    }

    fn schedule(&self, ranks: u32, bytes: u64, _: &mut Stream) -> Schedule {
        self.ring.schedule(ranks, ranks - 1, bytes)
    }

    fn extent(&self, ranks: u32, bytes: u64) -> Extent {
        self.ring.extent(ranks, ranks - 1, bytes)
    }

    fn bus_factor(&self, ranks: u32) -> f64 {
        f64::from(ranks - 1) / f64::from(ranks)
    }

    fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json {
        Ring::draw(ground, ranks)
    }
}

/// An error about a buffer with fewer bytes than messages.
pub(crate) fn too_few(table: &Reader<'_>, bytes: u64, messages: u64) -> ScenarioError {
    let problem = Problem::Contradiction(format!("{bytes} B are not enough for {messages} messages"));
    match table.get("bytes") {
        Some(item) => item.fail(problem),
        None => ScenarioError::new(problem, table.at()),
    }
}
