//! Collectives: jobs whose ranks do the same thing together, perhaps again and again.

use super::super::draw::Ground;
use super::super::keys::{Key, Takes, key, needed};
use super::super::reading::{Resolved, message, object, start};
use super::super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use super::ranks::Ranks;
use super::schedule::Schedule;
use super::{JobInfo, Parts};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::{Purpose, Stream};
use headway_units::Time;
use serde_json::{Value as Json, json};
use std::fmt::Debug;

pub(crate) const REPEAT: Key = key("repeat", Takes::Count, "1", "iterations, one after the other");
pub(crate) const COMPUTE: Key =
    key("compute", Takes::Duration, "`\"0 s\"`", "time that a rank computes between two iterations");
pub(crate) const ALL_BYTES: Key =
    needed("bytes", Takes::Bytes, "size of the buffer of a rank, as nccl-tests counts it");
pub(crate) const CHANNELS: Key = key(
    "channels",
    Takes::Count,
    "1",
    "parts of the buffer that go round at the same time; ranks that are whole nodes of hosts with several interfaces have each channel leave the node by another rail",
);
pub(crate) const CHUNKS: Key =
    key("chunks", Takes::Count, "1", "parts of each message that go on as soon as they have arrived");

/// Most iterations, channels and chunks that are read: more cannot be held in memory.
const MOST: u64 = 1_000_000;

/// Extent of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    /// Number of messages.
    pub messages: f64,
    /// Most messages that are under way at a time, if all are equally long; otherwise all messages.
    pub at_once: f64,
    /// Edges between them.
    pub edges: f64,
    /// Bytes of all messages.
    pub bytes: u64,
}

/// Algorithm of a collective.
pub(crate) trait Algorithm: Debug + Clone + Send + Sync + Sized + 'static {
    const INFO: PatternInfo;
    /// Time that it takes in a network without other traffic, as a formula.
    const FORM: &'static str;

    /// Reads its own keys; `bytes` are those of a rank's buffer.
    fn read(table: &Reader<'_>, ranks: u32, bytes: u64) -> Result<(Self, Resolved), ScenarioError>;

    /// Fits the algorithm to the hosts of its ranks; returns it with the keys that follow, or an error if it cannot use them.
    fn placed(
        self,
        _: &Ranks,
        _: &Context<'_>,
        _: &Reader<'_>,
        _: u64,
    ) -> Result<(Self, Resolved), ScenarioError> {
        Ok((self, Resolved::new()))
    }

    /// Its name, if there are several ways to do the same.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// The messages of an iteration. Random choices are the same in each.
    fn schedule(&self, ranks: u32, bytes: u64, random: &mut Stream) -> Schedule;

    fn extent(&self, ranks: u32, bytes: u64) -> Extent;

    /// Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md).
    fn bus_factor(&self, ranks: u32) -> f64;

    /// Its own keys at random, `bytes` included.
    fn draw(ground: &mut Ground<'_>, ranks: u64) -> Json;
}

/// A collective of some ranks.
#[derive(Clone, Debug)]
pub struct Collective<A> {
    ranks: Ranks,
    bytes: u64,
    start: Time,
    repeat: u64,
    compute: Time,
    algorithm: A,
}

#[allow(private_bounds, reason = "algorithms are the files beside")]
impl<A: Algorithm> Declared for Collective<A> {
    const INFO: PatternInfo = A::INFO;
    const FORM: &'static str = A::FORM;

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let (ranks, mut resolved) = Ranks::read(table, context)?;
        let bytes = message(&table.need("bytes")?, context)?;
        let (algorithm, mut own) = A::read(table, ranks.count(), bytes)?;
        let (algorithm, mut placed) = algorithm.placed(&ranks, context, table, bytes)?;
        own.append(&mut placed);
        let start = start(table)?;
        let (repeat, compute) = repeated(table)?;
        resolved.append(&mut object(json!({ "bytes": bytes })));
        resolved.append(&mut own);
        resolved.append(&mut object(json!({ "start": start.to_string(), "repeat": repeat,
            "compute": compute.to_string() })));
        Ok((Collective { ranks, bytes, start, repeat, compute, algorithm }, resolved))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let ranks = ground.dice.between(2, ground.hosts.min(12));
        let mut entry = A::draw(ground, ranks);
        entry["ranks"] = ranks.into();
        entry["start"] = ground.start();
        let room = ground.hosts - ranks;
        if room > 0 && ground.dice.percent(40) {
            entry["first"] = ground.dice.between(0, room).into();
        }
        if ground.dice.percent(40) {
            entry["placement"] = "scattered".into();
        }
        if ground.dice.percent(30) {
            entry["repeat"] = ground.dice.between(1, 3).into();
            let most = ground.round_trip * 2;
            entry["compute"] = super::super::draw::duration(ground.dice.below(most + 1));
        }
        entry
    }
}

/// `repeat` and `compute`.
pub(crate) fn repeated(table: &Reader<'_>) -> Result<(u64, Time), ScenarioError> {
    let repeat = table.get("repeat").map_or(Ok(1), |item| item.int(1, MOST))?;
    let Some(item) = table.get("compute") else { return Ok((repeat, Time::ZERO)) };
    let compute = item.time()?;
    if repeat == 1 && compute > Time::ZERO {
        let table = "[[traffic]] with one iteration".into();
        return Err(item
            .fail(Problem::UnusedKey { key: "compute".into(), table })
            .help("`repeat` makes more"));
    }
    Ok((repeat, compute))
}

/// Reads how many parts of a kind there are, of which each has a byte at least.
pub(crate) fn count_of(table: &Reader<'_>, key: &str, others: u64, bytes: u64) -> Result<u64, ScenarioError> {
    let Some(item) = table.get(key) else { return Ok(1) };
    let count = item.int(1, MOST)?;
    if count.saturating_mul(others) > bytes {
        let text = format!("{bytes} B are not enough for {} messages", count.saturating_mul(others));
        return Err(item.fail(Problem::Contradiction(text)));
    }
    Ok(count)
}

#[allow(private_bounds, reason = "algorithms are the files beside")]
impl<A: Algorithm> Collective<A> {
    fn extent(&self) -> Extent {
        let one = self.algorithm.extent(self.ranks.count(), self.bytes);
        let (repeat, ranks) = (self.repeat as f64, f64::from(self.ranks.count()));
        // Between iterations: a step for each rank, the edges to it, and those from it.
        let between = (repeat - 1.0) * (2.0 * ranks + 2.0 * one.messages);
        Extent {
            messages: one.messages * repeat,
            at_once: one.at_once,
            edges: one.edges * repeat + between,
            bytes: one.bytes.saturating_mul(self.repeat),
        }
    }
}

impl<A: Algorithm> Pattern for Collective<A> {
    fn generate(&self, making: &mut Making<'_>) {
        let hosts = self.ranks.hosts(making);
        let mut random = making.stream(Purpose::Sizes);
        let schedule = self.algorithm.schedule(hosts.len() as u32, self.bytes, &mut random);
        schedule.generate(&hosts, self.start, self.repeat, self.compute, making);
    }

    fn horizon(&self, _: u32) -> (Time, u64) {
        let computed = self.compute.saturating_mul(self.repeat - 1);
        (self.start.saturating_add(computed), self.extent().bytes)
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.extent().messages
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        self.extent().bytes
    }

    fn expected_at_once(&self, _: u32) -> f64 {
        self.extent().at_once
    }

    fn expected_edges(&self, _: u32) -> f64 {
        self.extent().edges
    }

    fn receivers(&self, _: u32) -> u64 {
        u64::from(self.ranks.count())
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn job(&self) -> Option<JobInfo> {
        let ranks = self.ranks.count();
        let collective = Some((self.bytes, self.algorithm.bus_factor(ranks)));
        let algorithm = self.algorithm.name();
        Some(JobInfo {
            ranks,
            iterations: self.repeat,
            collective,
            algorithm,
            owns_rounds: false,
            within: None,
        })
    }
}

/// A buffer in parts for channels, these in segments, and these in chunks.
pub(crate) fn chunk(bytes: u64, of: [u64; 3], at: [u64; 3]) -> u64 {
    let channel = Parts::of(bytes, of[0]).get(at[0]);
    let segment = Parts::of(channel, of[1]).get(at[1]);
    Parts::of(segment, of[2]).get(at[2])
}
