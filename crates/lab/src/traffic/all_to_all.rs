//! Every rank sends something else to every other rank.

use super::draw::Ground;
use super::job::{
    ALL_BYTES, Algorithm, COMPUTE, Collective, Extent, FIRST, PLACEMENT, Parts, RANKS, REPEAT, Ranks,
    Schedule, too_few,
};
use super::keys::{START, Takes, key};
use super::reading::{Resolved, object};
use super::{Context, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
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
    /// Ways of messages between nodes.
    way: Way,
}

const WAYS: [&str; 3] = ["direct", "pxn", "by-node"];

/// Ways of messages to ranks of other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From rank to rank.
    Direct,
    /// Each over the rank of the own node that is on the rail of the receiver, as NCCL's PXN.
    Pxn {
        /// Ranks of each node.
        node: u32,
    },
    /// All for one rail to the rank of the own node on it, and from there all for one node in one message (Hwang et al.,
    /// "Tutel", MLSys 2023, two-dimensional hierarchical all-to-all).
    ByNode {
        /// Ranks of each node.
        node: u32,
    },
}

impl Exchange {
    /// All messages at once, of equal sizes.
    pub(super) const SIMPLE: Exchange = Exchange { at_once: None, skew: 0.0, way: Way::Direct };
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
                "algorithm",
                Takes::Word(&WAYS),
                "`direct`",
                "from rank to rank; each message over the rank of the own node that is on the receiver's rail; or, by node, in one message for all ranks of a rail and then in one for all of a node; the last two take whole nodes or racks",
            ),
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
        With `skew`, at least what the busiest host receives takes on its link. by-node, of N nodes of G ranks: t(S/G) + (G-2) s(S/G) inside a node, and then \
        t(S/N) + (N-2) s(S/N) between nodes, and up to (G+N) a more. pxn: t(S/n) + ((N-1) G - 1) s(S/n) between nodes and up to N G a more, if nodes have what is \
        handed over before its turn";

    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError> {
        if bytes < u64::from(ranks) {
            return Err(too_few(table, bytes, u64::from(ranks)));
        }
        let others = u64::from(ranks - 1);
        let way = table.get("algorithm").map_or(Ok(0), |item| item.choice(&WAYS))?;
        if let (Some(item), true) = (table.get("at_once"), way > 0) {
            let table = format!("[[traffic]] with algorithm = \"{}\"", WAYS[way]);
            return Err(item.fail(Problem::UnusedKey { key: "at_once".into(), table }));
        }
        let at_once = table.get("at_once").map(|item| item.int(1, others)).transpose()?;
        let skew = match table.get("skew") {
            None => 0.0,
            Some(item) => match item.number()? {
                skew if (0.0..=10.0).contains(&skew) => skew,
                skew => return Err(item.range("from 0 to 10", skew)),
            },
        };
        let mut resolved = object(json!({ "algorithm": WAYS[way], "skew": skew }));
        let way = match way {
            1 => Way::Pxn { node: ranks },
            2 => Way::ByNode { node: ranks },
            _ => {
                resolved.append(&mut object(json!({ "at_once": at_once.unwrap_or(others) })));
                Way::Direct
            }
        };
        Ok((Exchange { at_once, skew, way }, resolved))
    }

    fn placed(
        self,
        ranks: &Ranks,
        context: &Context<'_>,
        table: &Reader<'_>,
        _: u64,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let node = |algorithm| ranks.place(context.topology).needs_node(algorithm, table);
        let way = match self.way {
            Way::Direct => Way::Direct,
            Way::Pxn { .. } => Way::Pxn { node: node(WAYS[1])? },
            Way::ByNode { .. } => Way::ByNode { node: node(WAYS[2])? },
        };
        Ok((Exchange { way, ..self }, Resolved::new()))
    }

    fn name(&self) -> Option<&'static str> {
        Some(match self.way {
            Way::Direct => WAYS[0],
            Way::Pxn { .. } => WAYS[1],
            Way::ByNode { .. } => WAYS[2],
        })
    }

    fn schedule(&self, ranks: u32, bytes: u64, random: &mut Stream) -> Schedule {
        let unequal = unequal(ranks, bytes, self.skew, random);
        let at_once = self.at_once.map_or(ranks, |count| count as u32);
        let mut schedule = Schedule::default();
        let even = Parts::of(bytes, u64::from(ranks));
        let size = |rank: u32, to: u32| match &unequal {
            None => even.get(u64::from(to)),
            Some(sizes) => sizes[rank as usize][to as usize],
        };
        match self.way {
            Way::Direct => {}
            Way::Pxn { node } => return over_rails(ranks, node, &size),
            Way::ByNode { node } => return by_node(ranks, node, &size),
        }
        for round in 1..ranks {
            for rank in 0..ranks {
                // In a round every rank has another receiver, so that no link into a host has two senders.
                let to = (rank + round) % ranks;
                let send = schedule.send(round - 1, rank, to, size(rank, to));
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
        let over_nodes = |node: u32, twice: f64| {
            let (all, nodes) = (f64::from(node - 1), f64::from(ranks / node - 1));
            let handed = n * all * nodes;
            let messages = n * (all + nodes) + twice * handed;
            let bytes = bytes.saturating_mul(2 * u64::from(ranks));
            Extent { messages, at_once: messages, edges: handed, bytes }
        };
        match self.way {
            Way::Direct => Extent {
                messages: n * others as f64,
                at_once: n * if self.skew > 0.0 { others } else { first } as f64,
                edges: n * (others - first) as f64,
                bytes: bytes.saturating_mul(sent),
            },
            // Inside a node, on the own rail, and twice on others.
            Way::Pxn { node } => over_nodes(node, 2.0),
            Way::ByNode { node } => over_nodes(node, 0.0),
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

/// Each message to a rank of another node goes to the rank of the own node on that rail, and on from there.
fn over_rails(ranks: u32, node: u32, size: &dyn Fn(u32, u32) -> u64) -> Schedule {
    let nodes = ranks / node;
    let mut schedule = Schedule::default();
    for place in 1..node {
        for rank in 0..ranks {
            let to = rank / node * node + (rank + place) % node;
            schedule.send(place - 1, rank, to, size(rank, to));
        }
    }
    for apart in 1..nodes {
        for place in 0..node {
            for rank in 0..ranks {
                let (at, rail) = (rank / node, (rank + place) % node);
                let (over, to) = (at * node + rail, (at + apart) % nodes * node + rail);
                let bytes = size(rank, to);
                let round = node - 1 + 2 * ((apart - 1) * node + place);
                let handed = (over != rank).then(|| schedule.send(round, rank, over, bytes));
                let sent = schedule.send(round + 1, over, to, bytes);
                handed.into_iter().for_each(|received| schedule.after(sent, received));
            }
        }
    }
    schedule
}

/// Each rank gets what its node has for its rail, and sends what a node is due in one message.
fn by_node(ranks: u32, node: u32, size: &dyn Fn(u32, u32) -> u64) -> Schedule {
    let nodes = ranks / node;
    let mut schedule = Schedule::default();
    let mut came: Vec<Vec<u32>> = vec![Vec::new(); ranks as usize];
    for place in 1..node {
        for rank in 0..ranks {
            let (at, rail) = (rank / node, (rank + place) % node);
            let bytes = (0..nodes).map(|other| size(rank, other * node + rail)).sum();
            let to = at * node + rail;
            let sent = schedule.send(place - 1, rank, to, bytes);
            came[to as usize].push(sent);
        }
    }
    for apart in 1..nodes {
        for rank in 0..ranks {
            let (at, rail) = (rank / node, rank % node);
            let to = (at + apart) % nodes * node + rail;
            let bytes = (0..node).map(|place| size(at * node + place, to)).sum();
            let sent = schedule.send(node - 2 + apart, rank, to, bytes);
            came[rank as usize].iter().for_each(|received| schedule.after(sent, *received));
        }
    }
    schedule
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
