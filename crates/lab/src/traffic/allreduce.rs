//! All ranks get the sum of the data of all.

use super::draw::Ground;
use super::job::{
    ALL_BYTES, Algorithm, CHANNELS, CHUNKS, COMPUTE, Collective, Extent, FIRST, NodeTrees, PLACEMENT, Parts,
    RANKS, REPEAT, Ranks, Ring, Schedule, count_of, faster, hierarchical, in_trees, too_few, trees,
};
use super::keys::{START, Takes, key};
use super::reading::{Resolved, object};
use super::{Context, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::{Value as Json, json};

/// All ranks get the sum of the data of all.
pub type AllReduce = Collective<How>;

/// Names of algorithms.
pub(super) const ALGORITHMS: [&str; 6] =
    ["ring", "double-binary-tree", "halving-doubling", "hierarchical", "node-trees", "auto"];
const AUTO: usize = 5;

/// Algorithm of the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A ring for each channel: n - 1 steps in which segments are summed, n - 1 in which sums go round.
    #[allow(private_interfaces, reason = "read from keys")]
    Ring(Ring),
    /// Half of the buffer over each of two binary trees: up to the root, and down again, chunk by chunk.
    Trees {
        /// Chunks of each half.
        chunks: u64,
    },
    /// Halves are exchanged with ranks ever nearer, then sums with ranks ever farther (Rabenseifner).
    Halving,
    /// Segments are summed inside each node, then each between the nodes on its rail, and then go round inside each node.
    Hierarchical {
        /// Ranks of each node.
        node: u32,
    },
    /// Two binary trees inside nodes and between them for each channel.
    #[allow(private_interfaces, reason = "read from keys")]
    NodeTrees(NodeTrees),
}

impl Algorithm for How {
    const INFO: PatternInfo = PatternInfo {
        name: "allreduce",
        summary: "all ranks get the sum of what all of them have",
        keys: &[
            ALL_BYTES,
            RANKS,
            PLACEMENT,
            FIRST,
            key(
                "algorithm",
                Takes::Word(&ALGORITHMS),
                "`ring`",
                "which messages that takes; `halving-doubling` takes a power of two of ranks, and `hierarchical` and `node-trees` whole nodes or racks; \
                 `auto` is the ring or the trees that take less on an idle network, by size as NCCL chooses",
            ),
            CHANNELS,
            CHUNKS,
            START,
            REPEAT,
            COMPUTE,
        ],
        counts: &["repeat", "ranks"],
    };

    const FORM: &'static str = "ring: K t(S/n) + (K-1) a in K = 2 (n-1) steps. With q = channels x chunks above 1 and m = S/nq: \
        K t(m) + (K-1) a + (q-1) s(m) and up to (K+2q) a more, while q (s(m)+a) is at most t(m)/2; once q s(m) is t(m) or more, t(m) + (Kq-1) s(m) and up to \
        (Kq-1) a more. halving-doubling: 2 (t(S/2) + t(S/4) + ... + t(S/n)) + (2 log2 n - 1) a. double-binary-tree with one chunk and n a power of two, \
        D = log2 n: 2 D t(S/2) + 2 (D-1) s(S/2) + (2D-1) a if half of the buffer is one packet, and up to a more if not; for other n that is too much, \
        with D rounded up, and 2 floor(log2 n) t(S/2) too little. hierarchical, of N nodes of G ranks: 2 (G-1) t(S/G) inside a node and 2 (N-1) t(S/n) between nodes, and up to \
        (2G+2N) a more. node-trees with one channel and one chunk, G and N powers of two: the form of double-binary-tree with D = log2 G and times inside a node, \
        plus that with D = log2 N and times between nodes";

    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        let item = table.get("algorithm");
        let algorithm = item.as_ref().map_or(Ok(0), |item| item.choice(&ALGORITHMS))?;
        let name = ALGORITHMS[algorithm];
        let unused = |key: &str| match table.get(key) {
            None => Ok(()),
            Some(item) => {
                let table = format!("[[traffic]] with algorithm = \"{name}\"");
                Err(item.fail(Problem::UnusedKey { key: key.into(), table }))
            }
        };
        let n = u64::from(ranks);
        let mut resolved = object(json!({ "algorithm": name }));
        let how = match algorithm {
            0 => {
                let (ring, mut own) = Ring::read(table, ranks, bytes)?;
                resolved.append(&mut own);
                How::Ring(ring)
            }
            1 => {
                unused("channels")?;
                if bytes < 2 {
                    return Err(too_few(table, bytes, 2));
                }
                let chunks = count_of(table, "chunks", 2, bytes)?;
                resolved.append(&mut object(json!({ "chunks": chunks })));
                How::Trees { chunks }
            }
            AUTO => {
                unused("channels")?;
                unused("chunks")?;
                if bytes < n {
                    return Err(too_few(table, bytes, n));
                }
                // Until it is known where its ranks are.
                How::simple(0)
            }
            4 => {
                if bytes < 2 {
                    return Err(too_few(table, bytes, 2));
                }
                let channels = count_of(table, "channels", 2, bytes)?;
                let chunks = count_of(table, "chunks", 2 * channels, bytes)?;
                resolved.append(&mut object(json!({ "channels": channels, "chunks": chunks })));
                How::NodeTrees(NodeTrees { node: ranks, channels, chunks })
            }
            3 => {
                unused("channels")?;
                unused("chunks")?;
                if bytes < n {
                    return Err(too_few(table, bytes, n));
                }
                How::Hierarchical { node: ranks }
            }
            _ => {
                unused("channels")?;
                unused("chunks")?;
                if let (false, Some(item)) = (ranks.is_power_of_two(), &item) {
                    let text = format!("{ranks} ranks are no power of two, which `halving-doubling` takes");
                    return Err(item.fail(Problem::Contradiction(text)));
                }
                if bytes < n {
                    return Err(too_few(table, bytes, n));
                }
                How::Halving
            }
        };
        Ok((how, resolved))
    }

    fn placed(
        self,
        ranks: &Ranks,
        context: &Context<'_>,
        table: &Reader<'_>,
        bytes: u64,
    ) -> Result<(Self, Resolved), ScenarioError> {
        if table.get("algorithm").is_some_and(|item| item.choice(&ALGORITHMS) == Ok(AUTO)) {
            return Ok(chosen(ranks, context, bytes));
        }
        let place = ranks.place(context.topology);
        let how = match self {
            How::Ring(ring) => How::Ring(Ring { node: place.rail_node(), ..ring }),
            How::Hierarchical { .. } => How::Hierarchical { node: place.needs_node("hierarchical", table)? },
            How::NodeTrees(trees) => {
                How::NodeTrees(NodeTrees { node: place.needs_node("node-trees", table)?, ..trees })
            }
            How::Trees { .. } | How::Halving => self,
        };
        Ok((how, Resolved::new()))
    }

    fn name(&self) -> Option<&'static str> {
        let place = match self {
            How::Ring(_) => 0,
            How::Trees { .. } => 1,
            How::Halving => 2,
            How::Hierarchical { .. } => 3,
            How::NodeTrees(_) => 4,
        };
        Some(ALGORITHMS[place])
    }

    fn schedule(&self, ranks: u32, bytes: u64, _: &mut Stream) -> Schedule {
        match *self {
            How::Hierarchical { node } => hierarchical(ranks, node, bytes),
            How::Ring(ring) => ring.schedule(ranks, 2 * (ranks - 1), bytes),
            How::Trees { chunks } => both_trees(ranks, bytes, chunks),
            How::Halving => halving(ranks, bytes),
            How::NodeTrees(trees) => trees.schedule(ranks, bytes),
        }
    }

    fn extent(&self, ranks: u32, bytes: u64) -> Extent {
        let n = f64::from(ranks);
        match *self {
            How::Hierarchical { node } => {
                let (inside, nodes) = (f64::from(node - 1), f64::from(ranks / node - 1));
                let messages = 2.0 * n * (inside + nodes);
                // Each rank sends all but its own part twice, as in a ring.
                let sent = bytes.saturating_mul(2 * u64::from(ranks));
                Extent { messages, at_once: n, edges: messages - n, bytes: sent }
            }
            How::Ring(ring) => ring.extent(ranks, 2 * (ranks - 1), bytes),
            How::Trees { .. } | How::NodeTrees(_) => {
                let lanes = match self {
                    How::NodeTrees(trees) => trees.channels * trees.chunks,
                    How::Trees { chunks } => *chunks,
                    _ => 1,
                };
                let messages = 4.0 * (n - 1.0) * lanes as f64;
                Extent {
                    messages,
                    at_once: messages,
                    edges: messages,
                    bytes: bytes.saturating_mul(2 * u64::from(ranks - 1)),
                }
            }
            How::Halving => {
                let rounds = 2.0 * f64::from(ranks.ilog2());
                Extent {
                    messages: n * rounds,
                    at_once: n * rounds,
                    edges: n * rounds * (rounds - 1.0) / 2.0,
                    bytes: bytes.saturating_mul(2 * u64::from(ranks - 1)),
                }
            }
        }
    }

    fn bus_factor(&self, ranks: u32) -> f64 {
        2.0 * f64::from(ranks - 1) / f64::from(ranks)
    }

    fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json {
        let mut entry = Ring::draw(ground, ranks);
        let some: &[usize] = if ranks.is_power_of_two() { &[0, 1, 5, 2] } else { &[0, 1, 5] };
        let algorithm = some[ground.dice.below(some.len() as u64) as usize];
        entry["algorithm"] = ALGORITHMS[algorithm].into();
        if let Some(table) = entry.as_object_mut() {
            table.retain(|key, _| algorithm == 0 || key != "channels" && (algorithm == 1 || key != "chunks"));
        }
        entry
    }
}

impl How {
    /// The algorithm at a position of [`ALGORITHMS`], in one piece.
    pub(super) fn simple(algorithm: usize) -> How {
        match algorithm {
            0 => How::Ring(Ring { channels: 1, chunks: 1, node: 1 }),
            1 => How::Trees { chunks: 1 },
            _ => How::Halving,
        }
    }
}

/// The ring or the trees that take less, and their keys.
fn chosen(ranks: &Ranks, context: &Context<'_>, bytes: u64) -> (How, Resolved) {
    let node = ranks.place(context.topology).rail_node();
    let (channels, chunks, by_trees) = faster(ranks, context, bytes).unwrap_or((1, 1, false));
    let (how, keys) = match (by_trees, node) {
        (false, _) => {
            let channels = channels.min((bytes / u64::from(ranks.count())).max(1));
            (How::Ring(Ring { channels, chunks: 1, node }), json!({ "channels": channels, "chunks": 1 }))
        }
        (true, 1) => (How::Trees { chunks }, json!({ "chunks": chunks })),
        (true, _) => {
            let channels = channels.min(bytes / 2);
            let keys = json!({ "channels": channels, "chunks": chunks });
            (How::NodeTrees(NodeTrees { node, channels, chunks }), keys)
        }
    };
    let mut resolved = object(json!({ "algorithm": how.name() }));
    resolved.append(&mut object(keys));
    (how, resolved)
}

/// Half of the buffer over each of two trees of all ranks.
fn both_trees(ranks: u32, bytes: u64, chunks: u64) -> Schedule {
    let mut schedule = Schedule::default();
    let first = trees::in_order(ranks);
    let second = trees::beside(&first);
    for (half, parents) in [first, second].iter().enumerate() {
        in_trees(&mut schedule, parents, Parts::of(bytes, 2).get(half as u64), chunks);
    }
    schedule
}

/// Recursive halving, then recursive doubling.
fn halving(ranks: u32, bytes: u64) -> Schedule {
    let mut schedule = Schedule::default();
    let parts = Parts::of(bytes, u64::from(ranks));
    let (half, rounds) = (ranks.ilog2(), 2 * ranks.ilog2());
    // The reduction halves the distance with each round, and the distribution doubles it.
    let distance = |round: u32| if round < half { ranks >> (round + 1) } else { 1 << (round - half) };
    for round in 0..rounds {
        let apart = distance(round);
        for rank in 0..ranks {
            // A rank sends the partner's half while it sums, and its own parts while sums go round.
            let partner = rank ^ apart;
            let owner = if round < half { partner } else { rank };
            let size = parts.sum(u64::from(owner / apart * apart), u64::from(apart));
            let send = schedule.send(round, rank, partner, size);
            // Data of any round before is part of the message.
            for before in 0..round {
                schedule.after(send, before * ranks + (rank ^ distance(before)));
            }
        }
    }
    schedule
}
