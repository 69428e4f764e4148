//! Results of jobs: entries of traffic whose messages wait for each other.

use super::field::Quantity::{Bytes, Count, List, Rate, Share, Text, Time as Seconds};
use super::field::{Field, Number};
use super::made::{Made, with_bounds};
use super::open::{Found, Sample, Took, begun, missed};
use super::tables::step_name;
use crate::scenario::{Resolved, Setup};
use crate::text::quantity::as_seconds;
use crate::traffic::JobInfo;
use headway_network::{Cause, FlowState, Graph, Network, Node, Outcome, Until};
use headway_units::Time;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most links of a critical path that are written, the last ones.
const MOST_OF_A_PATH: usize = 10_000;
/// Most rounds that are written, the last ones, and most stragglers.
const MOST_ROUNDS: usize = 10_000;
const MOST_STRAGGLERS: usize = 16;
/// Parts of the time of a critical path; those of flows are columns of `flows`.
const PATH_CAUSES: [&str; 8] =
    ["compute_s", "notice_s", "host_s", "wait_s", "serialise_s", "propagate_s", "queue_s", "retransmit_s"];

/// One number of a job, and how it is made.
pub type OfJob = fn(&Job<'_>) -> Json;

/// Numbers of each object in `jobs` of `summary.json`.
pub const JOBS: &[Number<OfJob>] = &[
    Number::new(Field::new("entry", Text, "entry", "number of the `[[traffic]]` entry, from 0"), |job| job.entry.into()),
    Number::new(Field::new("kind", Text, "kind", "kind of traffic"), |job| job.kind.into()),
    Number::new(Field::new("algorithm", Text, "algorithm", "algorithm of a collective, the chosen one of `auto`; null for others").or_null(), |job| {
        json!(job.info.and_then(|info| info.algorithm))
    }),
    Number::new(Field { unit: "ranks", ..Field::new("ranks", Count, "ranks", "ranks of the job, or clients") }, |job| {
        json!(job.info.map(|info| info.ranks))
    }),
    Number::new(Field { unit: "iterations", ..Field::new("iterations", Count, "iterations", "number of repetitions, one after the other") }, |job| {
        json!(job.info.map(|info| info.iterations))
    }),
    Number::new(Field::new("size_bytes", Bytes, "size", "size of a collective, as nccl-tests counts it; null for others").or_null(), |job| {
        json!(job.collective().map(|(bytes, _)| bytes))
    }),
    Number::new(Field::new("start_s", Seconds, "start", "start of its first flow or step").or_null(), |job| json!(job.start.map(as_seconds))),
    Number::new(
        Field::new("finish_s", Seconds, "finish", "end of its last flow and step; null if they were not over").or_null(),
        |job| json!(job.finish.map(as_seconds)),
    ),
    Number::new(Field::new("completion_s", Seconds, "completion", "`finish_s - start_s`").or_null(), |job| {
        json!(job.completion().map(as_seconds))
    }),
    Number::new(
        Field::new(
            "bound_s",
            Seconds,
            "bound",
            "shortest time that it could take: the longest chain of its flows and steps, each flow as fast as if it were alone, \
             what its busiest host sends or receives over the rate of its link, or what its busiest processor computes, whichever is longest",
        ),
        |job| json!(as_seconds(job.bound)),
    ),
    Number::new(Field::slowdown("slowdown", "slowdown", "`completion_s / bound_s`").or_null(), |job| {
        json!(job.completion().filter(|_| job.bound > Time::ZERO).map(|took| took.0 as f64 / job.bound.0 as f64))
    }),
    Number::new(
        Field::new(
            "algorithm_bandwidth_bps",
            Rate,
            "algorithm bandwidth",
            "of a collective: its size over the mean time of an iteration, computation between iterations included (nccl-tests)",
        )
        .or_null(),
        |job| json!(job.bandwidth()),
    ),
    Number::new(
        Field::new(
            "bus_bandwidth_bps",
            Rate,
            "bus bandwidth",
            "the algorithm bandwidth times what each byte of the size crosses the link of a rank (nccl-tests): 2(n-1)/n for an \
             allreduce, (n-1)/n for an allgather, a reduce-scatter and an all-to-all, 1 for a broadcast",
        )
        .or_null(),
        |job| json!(job.bandwidth().zip(job.collective()).map(|(rate, (_, factor))| rate * factor)),
    ),
    Number::new(
        Field::new("rounds", List, "rounds", "steps of a collective, micro-batches of a pipeline, or calls: the numbers below, of the \
            times from the start of the first flow of one to the end of its last"),
        |job| round_numbers(&job.rounds(), job.outcome.end, job.info.and_then(|info| info.within)),
    ),
    Number::new(
        Field::new("round_times", List, "times of rounds", "each of these rounds: `round`, from 0, `start_s`, `finish_s`, which is null if it was not over. Of more than \
            10,000 the last ones"),
        |job| job.round_times(),
    ),
    Number::new(
        Field::new("straggler", List, "straggler", "the host that received its last byte last (`host`, `finish_s`), and how long after the \
            median host that was (`behind_s`; negative for a host that was earlier)").or_null(),
        |job| job.stragglers().map_or(Json::Null, |all| all.into_iter().next().unwrap_or_default()),
    ),
    Number::new(
        Field::new("stragglers", List, "stragglers", "the 16 hosts that received their last byte last, the last first, as `straggler` has one").or_null(),
        |job| job.stragglers().map_or(Json::Null, |mut all| {
            all.truncate(MOST_STRAGGLERS);
            Json::Array(all)
        }),
    ),
    Number::new(
        Field::new("critical_path", List, "critical path", "the flows and steps that bound its end: each begins when the one before is over. Flows have \
            `flow`, `src`, `dst`, `bytes`, steps `step` and `host`; both `start_s`, `finish_s` and `excess_s`, which is how much longer it took than \
            alone in the network. A flow whose sender the next one waited for ends when the sender knows of its end; `notice_s` is the part of it after \
            the last byte had arrived, and no part of `excess_s`. Of more than 10,000 the last ones").or_null(),
        |job| job.path_json(),
    ),
    Number::new(
        Field::new("critical_path_excess_s", Seconds, "excess on the critical path", "sum of `excess_s` over the whole critical path: what a perfect \
            network would have saved on it").or_null(),
        |job| json!(job.path.as_ref().map(|path| path.iter().map(|link| link.excess()).sum::<f64>())),
    ),
    Number::new(
        Field::new("critical_path_by_cause", List, "time by cause", "time of the critical path by cause: `compute_s` of steps, `notice_s` until \
            senders knew of the end of their flows, and of flows the columns `host_s` to `retransmit_s` of `flows`; null without `causes` in `[sample]`")
        .or_null(),
        |job| job.path_by_cause(),
    ),
];

/// One step of a collective, one micro-batch, or one call.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Option<Time>,
    /// End of the last of its flows that ended.
    finish: Option<Time>,
    is_open: bool,
    /// Host that the round belongs to, where each belongs to one.
    owner: Option<u32>,
}

impl Round {
    /// Time at which it was over.
    fn ended(&self) -> Option<Time> {
        self.finish.filter(|_| !self.is_open)
    }

    /// Duration of the round; the least one if it is open.
    fn took(&self, end: Time) -> Took {
        let start = self.start.unwrap_or(end);
        match self.ended() {
            Some(ended) => Took::Ended(as_seconds(ended.saturating_sub(start))),
            None => Took::Open(as_seconds(end.saturating_sub(start))),
        }
    }
}

/// The rounds of a job.
#[derive(Debug)]
pub struct Rounds {
    times: Sample,
    /// Of those that may take a limited time, the share that took longer.
    missed: Option<Found>,
    /// Hosts with a round that is open for longer than any took that ended, and since when all of them wait.
    waiting: Option<(u64, f64)>,
}

/// Function that makes a number of rounds.
pub type OfRounds = fn(&Rounds) -> Made;

/// Numbers of `rounds` of a job.
pub const ROUNDS: &[Number<OfRounds>] = &[
    Number::new(
        Field { unit: "rounds", ..Field::new("count", Count, "rounds", "those that had begun") },
        |rounds| json!(rounds.times.counts().0).into(),
    ),
    Number::new(
        Field {
            unit: "rounds",
            ..Field::new(
                "unfinished",
                Count,
                "rounds unfinished",
                "of them, those that were not over at the end",
            )
        },
        |rounds| json!(rounds.times.counts().1).into(),
    ),
    Number::new(Field::new("mean_s", Seconds, "round, mean", "their mean"), |rounds| {
        rounds.times.mean().into()
    }),
    Number::new(Field::new("p50_s", Seconds, "round, p50", "their median"), |rounds| {
        rounds.times.quantile(0.5).into()
    }),
    Number::new(Field::new("p99_s", Seconds, "round, p99", "their 99th percentile"), |rounds| {
        rounds.times.quantile(0.99).into()
    }),
    Number::new(Field::new("p999_s", Seconds, "round, p99.9", "their 99.9th percentile"), |rounds| {
        rounds.times.quantile(0.999).into()
    }),
    Number::new(Field::new("max_s", Seconds, "round, longest", "the longest"), |rounds| {
        rounds.times.largest().into()
    }),
    Number::new(
        Field::new(
            "missed",
            Share,
            "calls missed",
            "of calls with a `call_deadline`: the share that took longer, or is open for longer; null without one",
        ),
        |rounds| rounds.missed.into(),
    ),
    Number::new(
        Field {
            unit: "hosts",
            ..Field::new(
                "waiting",
                Count,
                "clients that wait",
                "of calls: the clients with a call that has been open for longer than any \
        took that ended",
            )
        },
        |rounds| json!(rounds.waiting.map_or(0, |(hosts, _)| hosts)).into(),
    ),
    Number::new(
        Field::new(
            "waiting_since_s",
            Seconds,
            "clients wait since",
            "since when all of these clients have waited; null if there are none",
        ),
        |rounds| json!(rounds.waiting.map(|(_, since)| since)).into(),
    ),
];

/// The numbers of rounds, and which of them are bounds.
fn round_numbers(rounds: &BTreeMap<u32, Round>, end: Time, within: Option<Time>) -> Json {
    let times = Sample::of(rounds.values().map(|round| round.took(end)));
    // If none ended, each open one counts.
    let longest = times.largest_known().unwrap_or(-1.0);
    let mut since: BTreeMap<u32, Time> = BTreeMap::new();
    for round in rounds.values() {
        if let (Some(owner), Some(start), Took::Open(open)) = (round.owner, round.start, round.took(end))
            && open > longest
        {
            let first = since.entry(owner).or_insert(start);
            *first = (*first).min(start);
        }
    }
    // All of them wait only since the last one began to.
    let all = since.values().max().map(|since_all| (since.len() as u64, as_seconds(*since_all)));
    let missed = within.and_then(|within| {
        let late = |took: Took| took.least() > as_seconds(within);
        missed(rounds.values().map(|round| (round.took(end), late(round.took(end)))))
    });
    let rounds = Rounds { times, missed, waiting: all };
    Json::Object(with_bounds(ROUNDS.iter().map(|number| (number.field.name, (number.of)(&rounds)))))
}

/// A flow or step that bounds the end of a job.
#[derive(Clone, Copy, Debug)]
struct Link {
    node: Node,
    start: Time,
    finish: Time,
    /// Time from the end of it until the next one learnt of that.
    notice: Time,
    least: Time,
}

impl Link {
    fn excess(&self) -> f64 {
        // As floating point, since a flow may be faster than its ideal: links may become faster during a run.
        ((self.finish - self.notice - self.start).0 as f64 - self.least.0 as f64) * 1e-12
    }
}

/// A job of a run.
#[derive(Debug)]
pub struct Job<'a> {
    entry: usize,
    kind: &'static str,
    info: Option<JobInfo>,
    flows: Vec<u32>,
    resolved: &'a Resolved,
    outcome: &'a Outcome,
    start: Option<Time>,
    finish: Option<Time>,
    bound: Time,
    path: Option<Vec<Link>>,
}

/// The jobs of a run as `summary.json` has them; `None` where nothing waits and no entry is a job.
pub(super) fn jobs(resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Option<Json> {
    // A job may send all of its messages at once.
    let unbound;
    let graph = match resolved.spec.graph.as_deref() {
        Some(graph) => graph,
        None if setup.traffic.iter().all(|entry| entry.pattern.job().is_none()) => return None,
        None => {
            unbound = Graph::new(&resolved.spec.flows, Vec::new(), &[]).ok()?;
            &unbound
        }
    };
    let ideal = earliest(graph, resolved, outcome);
    let mut objects = Vec::new();
    for (entry, traffic) in setup.traffic.iter().enumerate() {
        let flows: Vec<u32> = of(&resolved.entries, |of| *of == entry);
        let steps: Vec<u32> = of(&resolved.steps, |step| step.entry == entry);
        let waits = |node: u32| graph.waits(node) > 0;
        let is_job =
            traffic.pattern.job().is_some() || !steps.is_empty() || flows.iter().any(|flow| waits(*flow));
        if !is_job {
            continue;
        }
        let nodes: Vec<u32> =
            flows.iter().copied().chain(steps.iter().map(|step| graph.of_step(*step))).collect();
        let job = Job {
            entry,
            kind: traffic.kind,
            info: traffic.pattern.job(),
            start: nodes.iter().filter_map(|node| start(graph, outcome, *node)).min(),
            finish: nodes
                .iter()
                .map(|node| end(graph, outcome, *node))
                .collect::<Option<Vec<_>>>()
                .and_then(|all| all.into_iter().max()),
            bound: bound(graph, &nodes, &ideal, resolved, outcome, &flows),
            path: path(graph, resolved, outcome, &nodes),
            flows,
            resolved,
            outcome,
        };
        let number = |number: &Number<OfJob>| (number.field.name.to_string(), (number.of)(&job));
        objects.push(Json::Object(JOBS.iter().map(number).collect::<Map<_, _>>()));
    }
    Some(Json::Array(objects))
}

fn of<T>(all: &[T], is_own: impl Fn(&T) -> bool) -> Vec<u32> {
    (0..).zip(all).filter(|(_, one)| is_own(one)).map(|(number, _)| number).collect()
}

/// Time at which a node began.
fn start(graph: &Graph, outcome: &Outcome, node: u32) -> Option<Time> {
    match graph.node(node) {
        Node::Flow(flow) => outcome.flows[flow as usize].start,
        Node::Step(step) => outcome.steps[step as usize].start,
    }
}

/// Time at which a node was over: a flow when its last byte had arrived.
fn end(graph: &Graph, outcome: &Outcome, node: u32) -> Option<Time> {
    match graph.node(node) {
        Node::Flow(flow) => {
            let record = &outcome.flows[flow as usize];
            record.finish.filter(|_| record.state == FlowState::Done)
        }
        Node::Step(step) => outcome.steps[step as usize].finish,
    }
}

/// Least time of a node.
fn least(graph: &Graph, resolved: &Resolved, outcome: &Outcome, node: u32) -> Time {
    match graph.node(node) {
        Node::Flow(flow) => outcome.flows[flow as usize].ideal,
        Node::Step(_) if resolved.spec.graph.is_none() => Time::ZERO,
        Node::Step(step) => graph.steps()[step as usize].takes,
    }
}

/// The earliest time at which each node can begin and be over.
fn earliest(graph: &Graph, resolved: &Resolved, outcome: &Outcome) -> Vec<(Time, Time)> {
    let count = resolved.spec.flows.len() + graph.steps().len();
    let mut times = vec![(Time::ZERO, Time::ZERO); count];
    // Earliest times at which causes are over, of steps that do not need all of them.
    let mut some: FxHashMap<u32, Vec<Time>> = FxHashMap::default();
    graph.in_order(|node| {
        if let Some(mut overs) = some.remove(&node) {
            overs.sort_unstable();
            // The last of those that it needs decides.
            times[node as usize].0 = overs[graph.needs(node) as usize - 1];
        }
        let delay = match graph.node(node) {
            Node::Flow(flow) => resolved.spec.flows[flow as usize].start,
            Node::Step(_) => Time::ZERO,
        };
        let begin = times[node as usize].0.saturating_add(delay);
        let over = begin.saturating_add(least(graph, resolved, outcome, node));
        times[node as usize] = (begin, over);
        for &next in graph.successors(node) {
            if graph.needs(next) < graph.waits(next) {
                some.entry(next).or_default().push(over);
            } else {
                let next = &mut times[next as usize].0;
                *next = (*next).max(over);
            }
        }
    });
    times
}

/// The longest chain of a job, the traffic of its busiest host, or the work of its busiest processor.
fn bound(
    graph: &Graph,
    nodes: &[u32],
    ideal: &[(Time, Time)],
    resolved: &Resolved,
    outcome: &Outcome,
    flows: &[u32],
) -> Time {
    let begin = nodes.iter().map(|node| ideal[*node as usize].0).min().unwrap_or(Time::ZERO);
    let over = nodes.iter().map(|node| ideal[*node as usize].1).max().unwrap_or(Time::ZERO);
    let sizes = resolved.spec.fabric.sizes;
    let mut sent: BTreeMap<(bool, u32), u64> = BTreeMap::new();
    // By interface, whose number is that of its link.
    let network = Network::build(&resolved.spec.topology, &resolved.spec.fabric).ok();
    let addressed = network.as_ref().map_or(Cow::Borrowed(&resolved.spec), |n| n.address(&resolved.spec));
    for &flow in flows {
        let flow = &addressed.flows[flow as usize];
        let wire = flow.bytes + sizes.packets_of(flow.bytes) * u64::from(sizes.full_wire() - sizes.payload);
        *sent.entry((true, flow.src)).or_default() += wire;
        *sent.entry((false, flow.dst)).or_default() += wire;
    }
    // The rates of hosts' links; those of an interface in both directions are the same.
    let rate =
        |own: u32| outcome.links.get(own as usize).filter(|link| !link.from_switch).map(|link| link.rate);
    let busiest = sent.iter().filter_map(|((_, own), bytes)| Some(rate(*own)?.time_of(*bytes))).max();
    debug_assert!(graph.steps().len() <= resolved.steps.len());
    let mut computed: FxHashMap<(Option<u32>, u16), Time> = FxHashMap::default();
    for node in nodes {
        let Node::Step(step) = graph.node(*node) else { continue };
        let step = graph.steps()[step as usize];
        if let Some(processor) = step.processor {
            let all = computed.entry((step.host, processor)).or_default();
            *all = all.saturating_add(step.takes);
        }
    }
    let computed = computed.into_values().max().unwrap_or_default();
    (over - begin).max(busiest.unwrap_or(Time::ZERO)).max(computed)
}

/// Critical path of a job: from its last node back, always to the cause that was over last.
fn path(graph: &Graph, resolved: &Resolved, outcome: &Outcome, nodes: &[u32]) -> Option<Vec<Link>> {
    let ends: Vec<(Time, u32)> =
        nodes.iter().map(|node| Some((end(graph, outcome, *node)?, *node))).collect::<Option<_>>()?;
    // Among several that end in one instant, the first of them.
    let (mut finish, mut at) =
        // Reversed, since the last of equals is taken.
        ends.iter().copied().max_by_key(|(end, node)| (*end, std::cmp::Reverse(*node)))?;
    let causes = graph.causes();
    let turns = turns(graph, outcome);
    let mut path = Vec::new();
    loop {
        let began = start(graph, outcome, at)?;
        path.push(Link {
            node: graph.node(at),
            start: began,
            finish,
            notice: end(graph, outcome, at).map_or(Time::ZERO, |over| finish.saturating_sub(over)),
            least: least(graph, resolved, outcome, at),
        });
        let over = |cause: &Cause| match *cause {
            Cause::Flow(flow, Until::Received) => outcome.flows[flow as usize].finish.map(|at| (at, flow)),
            Cause::Flow(flow, Until::Known) => outcome.flows[flow as usize].known.map(|at| (at, flow)),
            Cause::Step(step) => outcome.steps[step as usize].finish.map(|at| (at, graph.of_step(step))),
        };
        // A cause that was over later cannot have been needed by a step.
        let is_before = |(end, _): &(Time, u32)| *end <= began;
        let over = causes.of(at).iter().filter_map(over).filter(is_before);
        let last = over.max_by_key(|(end, node)| (*end, std::cmp::Reverse(*node)));
        let last = before_its_turn(graph, &turns, at, began, last).or(last);
        let Some(last) = last else { break };
        (finish, at) = last;
    }
    path.reverse();
    Some(path)
}

/// Steps that had a turn at a processor, by their end.
type Turns = FxHashMap<(Option<u32>, u16), BTreeMap<Time, u32>>;

fn turns(graph: &Graph, outcome: &Outcome) -> Turns {
    let mut turns = Turns::default();
    for (number, (step, record)) in (0..).zip(graph.steps().iter().zip(&outcome.steps)) {
        // A step without a duration never makes another one wait.
        if let (Some(processor), Some(finish)) = (step.processor, record.finish)
            && step.takes > Time::ZERO
        {
            turns.entry((step.host, processor)).or_default().insert(finish, number);
        }
    }
    turns
}

/// The step whose turn ended when that of a node began, if the node waited for it longer than for its causes.
fn before_its_turn(
    graph: &Graph,
    turns: &Turns,
    node: u32,
    began: Time,
    last: Option<(Time, u32)>,
) -> Option<(Time, u32)> {
    let Node::Step(step) = graph.node(node) else { return None };
    let step = graph.steps()[step as usize];
    let before = turns.get(&(step.host, step.processor?))?.get(&began)?;
    let waited = last.map_or(began > Time::ZERO, |(end, _)| end < began);
    waited.then(|| (began, graph.of_step(*before)))
}

impl Job<'_> {
    fn collective(&self) -> Option<(u64, f64)> {
        self.info.and_then(|info| info.collective)
    }

    fn completion(&self) -> Option<Time> {
        Some(self.finish? - self.start?)
    }

    /// Bandwidth in bits a second.
    fn bandwidth(&self) -> Option<f64> {
        let (bytes, _) = self.collective()?;
        let each = as_seconds(self.completion()?) / self.info?.iterations as f64;
        (each > 0.0).then(|| bytes as f64 * 8.0 / each)
    }

    /// The rounds that have begun, by their numbers.
    fn rounds(&self) -> BTreeMap<u32, Round> {
        let mut rounds: BTreeMap<u32, Round> = BTreeMap::new();
        let owns = self.info.is_some_and(|info| info.owns_rounds);
        for &flow in &self.flows {
            let record = &self.outcome.flows[flow as usize];
            let Some(round) = self.resolved.rounds[flow as usize] else { continue };
            let whole = rounds.entry(round).or_default();
            whole.owner = whole.owner.or(owns.then(|| self.resolved.spec.flows[flow as usize].src));
            // What waits for a flow that hangs has no start, and the round is as open as if it had.
            whole.is_open |= record.finish.is_none() || record.state != FlowState::Done;
            whole.finish = whole.finish.max(record.finish);
            whole.start = [whole.start, begun(record)].into_iter().flatten().min();
        }
        rounds.retain(|_, round| round.start.is_some());
        rounds
    }

    fn round_times(&self) -> Json {
        let rounds = self.rounds();
        let one = |(number, round): (&u32, &Round)| json!({ "round": number, "start_s": round.start.map(as_seconds), "finish_s": round.ended().map(as_seconds) });
        rounds.iter().skip(rounds.len().saturating_sub(MOST_ROUNDS)).map(one).collect()
    }

    /// All hosts that receive, the one first that received its last byte last; `None` if something never arrived.
    fn stragglers(&self) -> Option<Vec<Json>> {
        let mut last: BTreeMap<u32, Time> = BTreeMap::new();
        for &flow in &self.flows {
            let finish = self.outcome.flows[flow as usize].finish?;
            let host = last.entry(self.resolved.spec.flows[flow as usize].dst).or_insert(finish);
            *host = (*host).max(finish);
        }
        let mut hosts: Vec<(Time, u32)> = last.into_iter().map(|(host, at)| (at, host)).collect();
        hosts.sort_unstable();
        // Of two in the middle, the earlier one.
        let (median, _) = *hosts.get(hosts.len().checked_sub(1)? / 2)?;
        hosts.sort_unstable_by_key(|(at, host)| (std::cmp::Reverse(*at), *host));
        let behind = |at: Time| if at >= median { as_seconds(at - median) } else { -as_seconds(median - at) };
        let one = |(finish, host): &(Time, u32)| json!({ "host": host, "finish_s": as_seconds(*finish), "behind_s": behind(*finish) });
        Some(hosts.iter().map(one).collect())
    }

    /// Sums over the critical path; null unless all of its flows know their time by cause.
    fn path_by_cause(&self) -> Json {
        let mut sums = [0.0; PATH_CAUSES.len()];
        for link in self.path.iter().flatten() {
            let Node::Flow(flow) = link.node else {
                sums[0] += as_seconds(link.finish - link.start);
                continue;
            };
            let Some(time) = self.outcome.by_cause(flow as usize) else { return Json::Null };
            let of_flow = [time.host, time.wait, time.serialise, time.propagate, time.queue, time.retransmit];
            let all = std::iter::once(link.notice).chain(of_flow);
            sums[1..].iter_mut().zip(all).for_each(|(sum, part)| *sum += as_seconds(part));
        }
        let named = PATH_CAUSES.iter().zip(sums).map(|(name, sum)| ((*name).to_string(), json!(sum)));
        if self.path.is_some() { Json::Object(named.collect()) } else { Json::Null }
    }

    fn path_json(&self) -> Json {
        let Some(path) = &self.path else { return Json::Null };
        let one = |link: &Link| {
            let mut object = match link.node {
                Node::Flow(flow) => {
                    let spec = &self.resolved.spec.flows[flow as usize];
                    let name = &self.resolved.names[flow as usize];
                    json!({ "flow": name, "src": spec.src, "dst": spec.dst, "bytes": spec.bytes })
                }
                Node::Step(step) => {
                    let made = &self.resolved.steps[step as usize];
                    let name = made.name.clone().unwrap_or_else(|| step_name(step as usize));
                    json!({ "step": name, "host": made.step.host })
                }
            };
            object["start_s"] = as_seconds(link.start).into();
            object["finish_s"] = as_seconds(link.finish).into();
            if link.notice > Time::ZERO {
                object["notice_s"] = as_seconds(link.notice).into();
            }
            object["excess_s"] = link.excess().into();
            object
        };
        path[path.len().saturating_sub(MOST_OF_A_PATH)..].iter().map(one).collect()
    }
}
