//! All ranks get the sum of the data of all.

use super::PatternInfo;
use super::draw::Ground;
use super::job::{
    ALL_BYTES, Algorithm, CHANNELS, CHUNKS, COMPUTE, Collective, Extent, FIRST, PLACEMENT, Parts, Place,
    RANKS, REPEAT, Ring, Schedule, count_of, too_few, trees,
};
use super::keys::{START, Takes, key};
use super::reading::{Resolved, object};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Stream;
use serde_json::{Value as Json, json};

/// All ranks get the sum of the data of all.
pub type AllReduce = Collective<How>;

/// Names of algorithms.
pub(super) const ALGORITHMS: [&str; 4] = ["ring", "double-binary-tree", "halving-doubling", "hierarchical"];

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
                Takes::Word(&["ring", "double-binary-tree", "halving-doubling", "hierarchical"]),
                "`ring`",
                "which messages that takes; `halving-doubling` takes a power of two of ranks, and `hierarchical` whole nodes or racks",
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
        (2G+2N) a more";

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

    fn placed(self, place: Place, table: &Reader<'_>) -> Result<Self, ScenarioError> {
        Ok(match self {
            How::Ring(ring) => How::Ring(Ring { node: place.rail_node(), ..ring }),
            How::Hierarchical { .. } => {
                let Some(node) = place.node else {
                    let text =
                        "`hierarchical` takes ranks that are whole nodes or racks, two at least".into();
                    let problem = Problem::Contradiction(text);
                    let help =
                        "leave `ranks` and `first` out, or name whole nodes of a topology that has some";
                    return Err(match table.get("algorithm") {
                        Some(item) => item.fail(problem).help(help),
                        None => ScenarioError::new(problem, table.at()),
                    });
                };
                How::Hierarchical { node }
            }
            How::Trees { .. } | How::Halving => self,
        })
    }

    fn schedule(&self, ranks: u32, bytes: u64, _: &mut Stream) -> Schedule {
        match *self {
            How::Hierarchical { node } => hierarchical(ranks, node, bytes),
            How::Ring(ring) => ring.schedule(ranks, 2 * (ranks - 1), bytes),
            How::Trees { chunks } => both_trees(ranks, bytes, chunks),
            How::Halving => halving(ranks, bytes),
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
            How::Trees { chunks } => {
                let messages = 4.0 * (n - 1.0) * chunks as f64;
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
        let most = if ranks.is_power_of_two() { 3 } else { 2 };
        let algorithm = ground.dice.below(most) as usize;
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

/// Chunk by chunk up each tree, and down again.
fn both_trees(ranks: u32, bytes: u64, chunks: u64) -> Schedule {
    let mut schedule = Schedule::default();
    let first = trees::in_order(ranks);
    let second = trees::beside(&first);
    for (half, parents) in [first, second].iter().enumerate() {
        let order = trees::downwards(parents);
        let half = Parts::of(bytes, 2).get(half as u64);
        for chunk in 0..chunks {
            let size = Parts::of(half, chunks).get(chunk);
            // Messages that have come from below, and from above.
            let mut came: Vec<Vec<u32>> = vec![Vec::new(); ranks as usize];
            for &rank in order.iter().rev() {
                let Some(parent) = parents[rank as usize] else { continue };
                let send = schedule.send(chunk as u32, rank, parent, size);
                came[rank as usize].iter().for_each(|received| schedule.after(send, *received));
                came[parent as usize].push(send);
            }
            for &rank in &order {
                let Some(parent) = parents[rank as usize] else { continue };
                let send = schedule.send(chunk as u32, parent, rank, size);
                came[parent as usize].iter().for_each(|received| schedule.after(send, *received));
                came[rank as usize] = vec![send];
            }
        }
    }
    schedule
}

/// Around each node, around each rail, and around each node again. A rank goes on when it has received what it sends.
fn hierarchical(ranks: u32, node: u32, bytes: u64) -> Schedule {
    let nodes = ranks / node;
    let parts = Parts::of(bytes, node.into());
    let mut schedule = Schedule::default();
    // The message that each rank has received last.
    let mut came: Vec<Option<u32>> = vec![None; ranks as usize];
    let mut round = 0;
    let mut step = |send: &dyn Fn(u32, u32) -> (u32, u64)| {
        let mut next = came.clone();
        for rank in 0..ranks {
            let (to, size) = send(rank / node, rank % node);
            let number = schedule.send(round, rank, to, size);
            came[rank as usize].into_iter().for_each(|received| schedule.after(number, received));
            next[to as usize] = Some(number);
        }
        came = next;
        round += 1;
    };
    let inside =
        |at: u32, own: u32, segment: u32| (at * node + (own + 1) % node, parts.get((segment % node).into()));
    // In the end rank g of a node has the sum of segment g.
    for s in 0..node - 1 {
        step(&|at, own| inside(at, own, own + 2 * node - 1 - s));
    }
    for s in 0..2 * (nodes - 1) {
        step(&|at, own| {
            let segment = (at + 2 * nodes - s) % nodes;
            let size = Parts::of(parts.get(own.into()), nodes.into()).get(segment.into());
            ((at + 1) % nodes * node + own, size)
        });
    }
    for s in 0..node - 1 {
        step(&|at, own| inside(at, own, own + node - s));
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
