//! Stages of a model that pass micro-batches on, and gradients back.

use super::draw::{Ground, duration};
use super::job::{COMPUTE, FIRST, JobInfo, PLACEMENT, RANKS, REPEAT, Ranks, between, repeated};
use super::keys::{START, Takes, key, needed};
use super::reading::{Resolved, message, object, start};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use headway_network::{Cause, GraphStep, Node, Until};
use headway_units::Time;
use serde_json::{Value as Json, json};

/// Stages of a model that pass micro-batches on, and gradients back. Each rank is a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    ranks: Ranks,
    micro_batches: u32,
    bytes: u64,
    forward: Time,
    backward: Option<Time>,
    order: Order,
    start: Time,
    repeat: u64,
    compute: Time,
}

const ORDERS: [&str; 2] = ["gpipe", "1f1b"];

/// Order in which a stage computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// All micro-batches forward, then all backward (Huang et al., "GPipe", NeurIPS 2019).
    AllForwardFirst,
    /// One forward, one backward, as soon as the pipeline is full (Narayanan et al., "PipeDream", SOSP 2019).
    InTurn,
}

/// Computation of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    backward: bool,
    batch: u32,
}

impl Declared for Pipeline {
    const INFO: PatternInfo = PatternInfo {
        name: "pipeline",
        summary: "stages of a model that pass micro-batches on, and gradients back: each rank is a stage",
        keys: &[
            RANKS,
            PLACEMENT,
            FIRST,
            needed("micro_batches", Takes::Count, "of an iteration"),
            needed("bytes", Takes::Bytes, "that a stage passes to the next for a micro-batch, and gets back"),
            needed("forward", Takes::Duration, "time that a stage computes for a micro-batch"),
            key(
                "backward",
                Takes::Duration,
                "none",
                "the same on the way back; without it nothing goes back",
            ),
            key(
                "order",
                Takes::Word(&["gpipe", "1f1b"]),
                "`1f1b`",
                "all micro-batches forward and then all backward, or one by one as soon as the pipeline is full",
            ),
            START,
            REPEAT,
            COMPUTE,
        ],
        counts: &["repeat", "micro_batches", "ranks"],
    };

    const FORM: &'static str = "with f and b for `forward` and `backward`, m micro-batches, and s(S) at most f and b: (m+n-1) f + (n-1) t(S); with \
        gpipe (m+n-1)(f+b) + 2 (n-1) t(S); with 1f1b (m+n-1)(f+b) + 2 (n+m-2-w) t(S), where w = ceil((m-1)/n). If m is more than 1, up to 2 a \
        more for each t(S) where a stage acknowledges other messages meanwhile, which one of two does in 1f1b alone";

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let (ranks, mut resolved) = Ranks::read(table, context)?;
        let micro_batches = table.need("micro_batches")?.int(1, 1_000_000)? as u32;
        let bytes = message(&table.need("bytes")?, context)?;
        let forward = table.need("forward")?.time()?;
        let backward = table.get("backward").map(|item| item.time()).transpose()?;
        let order_item = table.get("order");
        let order = order_item.as_ref().map_or(Ok(1), |item| item.choice(&ORDERS))?;
        if let (Some(item), None) = (&order_item, backward) {
            let table = "[[traffic]] without `backward`".into();
            return Err(item.fail(Problem::UnusedKey { key: "order".into(), table }));
        }
        let start = start(table)?;
        let (repeat, compute) = repeated(table)?;
        let mut own = json!({ "micro_batches": micro_batches, "bytes": bytes, "forward": forward.to_string(),
            "start": start.to_string(), "repeat": repeat, "compute": compute.to_string() });
        if let Some(backward) = backward {
            own["backward"] = backward.to_string().into();
            own["order"] = ORDERS[order].into();
        }
        resolved.append(&mut object(own));
        let order = [Order::AllForwardFirst, Order::InTurn][order];
        let pattern =
            Pipeline { ranks, micro_batches, bytes, forward, backward, order, start, repeat, compute };
        Ok((pattern, resolved))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let ranks = ground.dice.between(2, ground.hosts.min(6));
        let batches = ground.dice.between(1, 6);
        let mut entry = json!({ "ranks": ranks, "micro_batches": batches, "start": ground.start(),
            "bytes": ground.bytes(ground.packets / (ranks * batches * 2)),
            "forward": duration(ground.dice.below(ground.round_trip + ground.slot)) });
        if ground.dice.percent(70) {
            entry["backward"] = duration(ground.dice.below(ground.round_trip + ground.slot));
            entry["order"] = ORDERS[ground.dice.below(2) as usize].into();
        }
        if ground.dice.percent(30) {
            entry["repeat"] = 2.into();
        }
        entry
    }
}

impl Pipeline {
    /// Computations of a stage in an iteration, in order.
    fn work(&self, stage: u32, stages: u32) -> Vec<Work> {
        let batches = self.micro_batches;
        let forward = |batch| Work { backward: false, batch };
        let backward = |batch| Work { backward: true, batch };
        if self.backward.is_none() {
            return (0..batches).map(forward).collect();
        }
        let ahead = match self.order {
            Order::AllForwardFirst => batches,
            Order::InTurn => (stages - stage - 1).min(batches),
        };
        let mut work: Vec<Work> = (0..ahead).map(forward).collect();
        for batch in 0..batches - ahead {
            work.push(forward(ahead + batch));
            work.push(backward(batch));
        }
        work.extend((batches - ahead..batches).map(backward));
        work
    }

    fn works(&self) -> f64 {
        let directions = if self.backward.is_some() { 2.0 } else { 1.0 };
        f64::from(self.micro_batches) * directions * self.repeat as f64
    }

    /// Every stage computes, in its order, the data that has come, and passes the result on.
    fn iteration(&self, round: u32, hosts: &[u32], before: &mut [Option<u32>], making: &mut Making<'_>) {
        let (stages, batches) = (hosts.len() as u32, self.micro_batches);
        let common = making.common;
        // Steps by direction, stage and micro-batch; messages wait for them, and they for messages.
        let number = |backward: bool, stage: u32, batch: u32| {
            ((u32::from(backward) * stages + stage) * batches + batch) as usize
        };
        let mut steps = vec![0; 2 * (stages * batches) as usize];
        for stage in 0..stages {
            for work in self.work(stage, stages) {
                let takes = if work.backward { self.backward.unwrap_or(Time::ZERO) } else { self.forward };
                let host = Some(hosts[stage as usize]);
                let step = making.step(GraphStep { host, takes, ..GraphStep::default() }, None);
                steps[number(work.backward, stage, work.batch)] = step;
                if let Some(before) = before[stage as usize].replace(step) {
                    making.wait(Node::Step(step), Cause::Step(before));
                }
            }
        }
        let directions: &[bool] = if self.backward.is_some() { &[false, true] } else { &[false] };
        for &backward in directions {
            for batch in 0..batches {
                for stage in 1..stages {
                    let (from, to) = if backward { (stage, stage - 1) } else { (stage - 1, stage) };
                    making.round = Some(round * batches + batch);
                    let (src, dst) = (hosts[from as usize], hosts[to as usize]);
                    let index = (batch * stages + stage) as usize;
                    let flow = making.push(common.flow(src, dst, self.bytes, Time::ZERO, index));
                    making.wait(Node::Flow(flow), Cause::Step(steps[number(backward, from, batch)]));
                    let step = Node::Step(steps[number(backward, to, batch)]);
                    making.wait(step, Cause::Flow(flow, Until::Received));
                }
            }
        }
        // The last stage turns round: its forward results go backward.
        if self.backward.is_some() {
            for batch in 0..batches {
                let turn = Node::Step(steps[number(true, stages - 1, batch)]);
                making.wait(turn, Cause::Step(steps[number(false, stages - 1, batch)]));
            }
        }
        making.round = None;
    }
}

impl Pattern for Pipeline {
    fn generate(&self, making: &mut Making<'_>) {
        let hosts = self.ranks.hosts(making);
        let mut before: Vec<Option<u32>> = vec![None; hosts.len()];
        if self.start > Time::ZERO {
            let first = between(&hosts, self.start, &vec![Vec::new(); hosts.len()], making);
            before = first.into_iter().map(Some).collect();
        }
        for iteration in 0..self.repeat {
            if iteration > 0 && self.compute > Time::ZERO {
                let lasts: Vec<Vec<Cause>> =
                    before.iter().map(|step| step.map(Cause::Step).into_iter().collect()).collect();
                before = between(&hosts, self.compute, &lasts, making).into_iter().map(Some).collect();
            }
            self.iteration(iteration as u32, &hosts, &mut before, making);
        }
    }

    fn horizon(&self, hosts: u32) -> (Time, u64) {
        let each = self.forward.saturating_add(self.backward.unwrap_or(Time::ZERO));
        let batches = u64::from(self.micro_batches + self.ranks.count());
        let computed = each.saturating_mul(batches).saturating_add(self.compute).saturating_mul(self.repeat);
        (self.start.saturating_add(computed), self.expected_bytes(hosts))
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.works() * f64::from(self.ranks.count() - 1)
    }

    fn expected_bytes(&self, hosts: u32) -> u64 {
        (self.bytes as f64 * self.expected_flows(hosts)) as u64
    }

    fn expected_edges(&self, hosts: u32) -> f64 {
        let (stages, works) = (f64::from(self.ranks.count()), self.works());
        // A step of each stage and its order, two edges of each message, turns, and steps between iterations.
        2.0 * works * stages + 2.0 * self.expected_flows(hosts) + works + 2.0 * stages * self.repeat as f64
    }

    fn receivers(&self, _: u32) -> u64 {
        u64::from(self.ranks.count())
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn job(&self) -> Option<JobInfo> {
        Some(JobInfo {
            ranks: self.ranks.count(),
            iterations: self.repeat,
            collective: None,
            algorithm: None,
            owns_rounds: false,
            within: None,
        })
    }
}
