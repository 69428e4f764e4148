//! Messages of ranks that are whole nodes, in which they reach each other by other links than between nodes.

use super::super::Context;
use super::{Parts, Ranks, Schedule, trees};

/// A tree inside each node and one between nodes: each channel has its root at another rank of a node, and the two halves of a
/// channel at neighbouring ones, so that every rank is a leaf in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeTrees {
    /// Ranks of each node.
    pub(crate) node: u32,
    pub(crate) channels: u64,
    pub(crate) chunks: u64,
}

impl NodeTrees {
    pub(crate) fn schedule(self, ranks: u32, bytes: u64) -> Schedule {
        let mut schedule = Schedule::default();
        let between = trees::in_order(ranks / self.node);
        let between = [trees::beside(&between), between];
        for channel in 0..self.channels {
            let own = Parts::of(bytes, self.channels).get(channel);
            for (half, between) in (0..).zip(between.iter().rev()) {
                let parents = self.parents(channel, half, between);
                in_trees(&mut schedule, &parents, Parts::of(own, 2).get(half), self.chunks);
            }
        }
        schedule
    }

    /// Parents of all ranks: inside each node the tree hangs from one rank, which hangs from that of another node.
    fn parents(self, channel: u64, half: u64, between: &[Option<u32>]) -> Vec<Option<u32>> {
        let node = self.node;
        let root = ((channel + half) % u64::from(node)) as u32;
        // Ranks go up from the root in one half and down from it in the other.
        let local = |place: u32| if half == 0 { (root + place) % node } else { (root + node - place) % node };
        let mut parents = vec![None; between.len() * node as usize];
        for (at, above) in (0..).zip(between) {
            for (place, parent) in (0..).zip(trees::in_order(node)) {
                let parent = match parent {
                    Some(parent) => Some(at * node + local(parent)),
                    None => above.map(|above| above * node + root),
                };
                parents[(at * node + local(place)) as usize] = parent;
            }
        }
        parents
    }
}

/// Chunk by chunk up a tree, and down again.
pub(crate) fn in_trees(schedule: &mut Schedule, parents: &[Option<u32>], bytes: u64, chunks: u64) {
    let order = trees::downwards(parents);
    for chunk in 0..chunks {
        let size = Parts::of(bytes, chunks).get(chunk);
        // Messages that have come from below, and from above.
        let mut came: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
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

/// Around each node, around each rail, and around each node again. A rank goes on when it has received what it sends.
pub(crate) fn hierarchical(ranks: u32, node: u32, bytes: u64) -> Schedule {
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

/// Times of a lone message, in picoseconds, by its bytes.
struct Alone<'a> {
    takes: Box<dyn Fn(u64) -> u64 + 'a>,
}

impl Alone<'_> {
    /// Time until it has arrived.
    fn t(&self, bytes: u64) -> u64 {
        (self.takes)(bytes.max(1))
    }

    /// Time of its packets on the slowest link.
    fn s(&self, bytes: u64) -> u64 {
        (self.takes)(2 * bytes.max(1)) - (self.takes)(bytes.max(1))
    }
}

/// Bytes of a chunk: NCCL divides a buffer of 4 MiB into 8 steps (`NCCL_BUFFSIZE`, `NCCL_STEPS`).
const CHUNK: u64 = 512 * 1024;
/// Most chunks of a half of a channel.
const MOST_CHUNKS: u64 = 64;

/// Chooses between a ring and two trees by what each would take on the idle network, as NCCL's tuning model does by latencies and
/// bandwidths of its own (`src/graph/tuning.cc`): the channels of either, the chunks of trees, and true if trees take less.
pub(crate) fn faster(ranks: &Ranks, context: &Context<'_>, bytes: u64) -> Option<(u64, u64, bool)> {
    let network = context.network()?;
    let place = ranks.place(context.topology);
    let (n, node) = (u64::from(ranks.count()), u64::from(place.rail_node()));
    let hosts = ranks.known_hosts(context.topology.hosts);
    let to = |rank: u64| {
        let (network, pair) = (&network, network.pair(hosts[0], hosts[rank as usize])?);
        Some(Alone { takes: Box::new(move |bytes| network.ideal_fct(pair.0, pair.1, bytes).0) })
    };
    let between = to(node)?;
    let inside = if node > 1 { Some(to(1)?) } else { None };
    let channels = node;
    // A segment goes over 2 (n-1) links, of which every `node`-th leaves a node; and the last rank of a node sends all of them.
    let (segment, steps) = ((bytes / channels / n).max(1), 2 * (n - 1));
    let leaves = steps.div_ceil(node);
    let around = leaves * between.t(segment) + inside.as_ref().map_or(0, |i| (steps - leaves) * i.t(segment));
    let ring = around.max(between.t(segment) + (steps - 1) * between.s(segment));
    let half = (bytes / channels / 2).max(1);
    let chunks = half.div_ceil(CHUNK).clamp(1, MOST_CHUNKS);
    let chunk = (half / chunks).max(1);
    let levels = |alone: &Alone<'_>, ranks: u64| {
        let depth = u64::from(ranks.next_power_of_two().ilog2());
        2 * (depth * alone.t(chunk) + depth.saturating_sub(1) * alone.s(chunk))
    };
    // Once its trees are full, an interface carries each chunk four times: to and from two children and a parent in one, as a leaf in the other.
    let full = (chunks - 1) * 4 * between.s(chunk);
    let trees = levels(&between, n / node) + inside.map_or(0, |inside| levels(&inside, node)) + full;
    Some((channels, chunks, trees < ring))
}
