//! Flows and steps of a program of ranks.

use super::all_to_all::Exchange;
use super::allreduce::How;
use super::barrier::Dissemination;
use super::broadcast::Along;
use super::job::{Algorithm, Parts, Ring, Schedule};
use super::waiting::cycle;
use super::{Common, Making};
use crate::import::matching::{self, Source};
use crate::import::trace::{Collective, MOST_OPERATIONS, Trace, What, When};
use crate::text::error::counted;
use crate::text::{Problem, ScenarioError};
use crate::workload::random::{Purpose, Stream};
use headway_network::{Cause, FlowSpec, Gap, Graph, GraphError, GraphStep, Node, Until};
use headway_units::Time;
use std::collections::BTreeMap;

/// Most flows, and most edges, of a program.
const MOST: u64 = MOST_OPERATIONS;
/// Larger groups are counted by a formula.
const COUNTED: u32 = 256;

/// Cost of a collective: its messages, and the edges that belong to them and to its ranks.
pub(crate) fn cost(collective: Collective, ranks: u32, allreduce: usize) -> (u64, u64) {
    if ranks < 2 {
        return (0, 1);
    }
    let n = u64::from(ranks);
    let is_square = matches!(
        collective,
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll
    );
    if ranks > COUNTED && is_square && allreduce == 0 {
        let rounds = if collective == Collective::AllReduce { 2 } else { 1 };
        let messages = rounds * n * (n - 1);
        // Each waits for its rank, its receiver for it, and but the first of a ring it waits for the one before.
        let waits = if collective == Collective::AllToAll { 0 } else { messages - n };
        return (messages, 2 * messages + waits + n);
    }
    if allreduce == 2 && collective == Collective::AllReduce && !ranks.is_power_of_two() {
        // It is refused by its own message.
        return (0, 0);
    }
    let schedule = schedule(collective, ranks, n, 0, allreduce);
    let (messages, waits) = (schedule.sends().len() as u64, schedule.waits().len() as u64);
    let lasts: usize = schedule.lasts(ranks as usize, 0).iter().map(Vec::len).sum();
    (messages, messages + waits + lasts as u64 + n)
}

/// Settings of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Time at which ranks begin.
    pub(crate) start: Time,
    /// Time that a send and a receive each take on their processor.
    pub(crate) overhead: Time,
    /// Time that each byte of a message but the first takes there in addition.
    pub(crate) byte_overhead: Time,
    /// Least time between the beginnings of two messages that a host sends, and of two that it receives.
    pub(crate) gap: Time,
    /// Sends of at most so many bytes are over for their rank when they have left the processor.
    pub(crate) eager: u64,
    /// Position of the algorithm of an allreduce.
    pub(crate) allreduce: usize,
}

impl Settings {
    /// Time that a message takes on a processor.
    fn overhead_of(&self, bytes: u64) -> Time {
        self.overhead.saturating_add(self.byte_overhead.saturating_mul(bytes.saturating_sub(1)))
    }

    fn gap(&self, sends: bool) -> Option<Gap> {
        (self.gap > Time::ZERO).then_some(Gap { sends, lasts: self.gap })
    }
}

#[derive(Clone, Debug)]
struct Flow {
    src: u32,
    dst: u32,
    bytes: u64,
    start: Time,
    class: Option<u16>,
    stop: Option<Time>,
    /// The operation that it comes from.
    of: u32,
    /// The collective that it belongs to.
    round: Option<u32>,
}

/// Flows and steps between ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    flows: Vec<Flow>,
    /// `host` is a rank.
    steps: Vec<GraphStep>,
    edges: Vec<(Node, Cause)>,
    /// The operation of each step.
    of_step: Vec<u32>,
    /// Names of flows, where they have one.
    names: Vec<Option<Box<str>>>,
    /// Size and bus factor, if it is one collective of all ranks and nothing else.
    collective: Option<(u64, f64)>,
    /// Messages that a rank sends to itself.
    own: u64,
    /// Messages of no bytes.
    empty: u64,
    /// The most that a rank computes.
    computes: Time,
}

/// The nodes of an operation: those that wait for others, and those that end it.
#[derive(Clone, Copy, Debug)]
struct Nodes {
    /// Node that waits for everything that the operation waits for.
    begin: Node,
    /// The step at which it begins, if another operation waits for that.
    begun: Option<u32>,
    /// Cause that is over when the operation is.
    over: Cause,
}

impl Program {
    /// Finds what belongs together, and puts it in order.
    pub(crate) fn of(trace: &Trace, settings: &Settings) -> Result<Program, ScenarioError> {
        Builder { trace, settings, program: Program::default(), waits: 0 }.build()
    }

    /// Checks that no operations wait for each other.
    pub(crate) fn check(&self, trace: &Trace, common: &Common) -> Result<(), ScenarioError> {
        let flows: Vec<FlowSpec> = self
            .flows
            .iter()
            .map(|flow| common.flow(flow.src, flow.dst, flow.bytes, flow.start, 0))
            .collect();
        let nodes = match Graph::new(&flows, self.steps.clone(), &self.edges) {
            Ok(_) => return Ok(()),
            Err(GraphError::Cycle(nodes)) => nodes,
            Err(other) => return Err(ScenarioError::nowhere(Problem::Contradiction(other.to_string()))),
        };
        let mut operations: Vec<u32> = nodes
            .iter()
            .map(|node| match node {
                Node::Flow(flow) => self.flows[*flow as usize].of,
                Node::Step(step) => self.of_step[*step as usize],
            })
            .collect();
        operations.dedup();
        if operations.len() > 1 && operations.first() == operations.last() {
            operations.pop();
        }
        let names: Vec<String> = operations.iter().map(|one| trace.called(*one)).collect();
        let first = operations.first().copied().unwrap_or(0);
        Err(trace.fail(first, cycle(&names)).help("operations that wait for each other never begin"))
    }

    /// Makes its flows and steps, with the hosts of its ranks.
    pub(crate) fn generate(&self, hosts: &[u32], making: &mut Making<'_>) {
        let common = making.common;
        for (number, flow) in self.flows.iter().enumerate() {
            making.round = flow.round;
            let (src, dst) = (hosts[flow.src as usize], hosts[flow.dst as usize]);
            let name = self.names.get(number).and_then(|name| name.as_deref());
            let spec = common.flow(src, dst, flow.bytes, flow.start, number);
            let stop = [flow.stop, spec.stop].into_iter().flatten().min();
            making.push_named(FlowSpec { class: flow.class.unwrap_or(spec.class), stop, ..spec }, name);
        }
        making.round = None;
        for step in &self.steps {
            let host = step.host.map(|rank| hosts[rank as usize]);
            making.step(GraphStep { host, ..*step }, None);
        }
        self.edges.iter().for_each(|(node, cause)| making.wait(*node, *cause));
    }

    pub(crate) fn flows(&self) -> usize {
        self.flows.len()
    }

    pub(crate) fn edges_and_steps(&self) -> usize {
        self.edges.len() + self.steps.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).fold(0, u64::saturating_add)
    }

    /// The largest message, and the operation that it is of.
    pub(crate) fn largest(&self) -> Option<(u64, u32)> {
        self.flows.iter().map(|flow| (flow.bytes, flow.of)).max_by_key(|(bytes, _)| *bytes)
    }

    /// About when its last flow begins, if no message took time.
    pub(crate) fn horizon(&self) -> Time {
        let last = self.flows.iter().map(|flow| flow.start).max().unwrap_or_default();
        last.saturating_add(self.computes)
    }

    /// Collective for the job's facts: see [`super::JobInfo`].
    pub(crate) fn collective(&self) -> Option<(u64, f64)> {
        self.collective
    }

    /// Messages that never reach the network because they go from a rank to itself, and messages of no bytes.
    pub(crate) fn unusual(&self) -> (u64, u64) {
        (self.own, self.empty)
    }
}

struct Builder<'a> {
    trace: &'a Trace,
    settings: &'a Settings,
    program: Program,
    waits: u64,
}

impl Builder<'_> {
    fn build(mut self) -> Result<Program, ScenarioError> {
        let (trace, settings) = (self.trace, *self.settings);
        self.fits()?;
        let matched = matching::matched(trace)?;
        let mut begun = vec![false; trace.operations.len()];
        let mut waits = vec![false; trace.operations.len()];
        for wait in &trace.waits {
            waits[wait.operation as usize] = true;
            begun[wait.cause as usize] |= wait.when == When::Begun;
        }
        let mut computes = vec![Time::ZERO; trace.ranks as usize];
        let mut nodes: Vec<Nodes> = Vec::with_capacity(trace.operations.len());
        // The flow of each send, or the step of one to the rank itself.
        let mut sent: Vec<Option<Cause>> = vec![None; trace.operations.len()];
        let mut collectives: Vec<u32> = Vec::new();
        for (number, one) in (0u32..).zip(&trace.operations) {
            let computed = &mut computes[one.rank as usize];
            let made = match one.what {
                What::Message { to, bytes, start, class, stop } => {
                    let flow = self.flow(number, to, bytes, start, None)?;
                    self.program.flows[flow as usize].class = class;
                    self.program.flows[flow as usize].stop = stop;
                    Nodes { begin: Node::Flow(flow), begun: None, over: Cause::Flow(flow, Until::Received) }
                }
                What::Send { to, bytes, processor, .. } => {
                    let takes = settings.overhead_of(bytes);
                    // A message of a rank to itself needs no interface.
                    let gap = settings.gap(true).filter(|_| to != one.rank);
                    let host = Some(one.rank);
                    let step = self.step(number, GraphStep { host, takes, processor, gap, needs: None });
                    let over = if to == one.rank {
                        self.program.own += 1;
                        sent[number as usize] = Some(Cause::Step(step));
                        Cause::Step(step)
                    } else {
                        self.program.empty += u64::from(bytes == 0);
                        // A flow has at least one byte: an empty message is sent as one.
                        let flow = self.flow(number, to, bytes.max(1), Time::ZERO, None)?;
                        self.edge(Node::Flow(flow), Cause::Step(step));
                        sent[number as usize] = Some(Cause::Flow(flow, Until::Received));
                        if bytes <= settings.eager {
                            Cause::Step(step)
                        } else {
                            Cause::Flow(flow, Until::Known)
                        }
                    };
                    *computed = computed.saturating_add(takes);
                    Nodes { begin: Node::Step(step), begun: None, over }
                }
                What::Receive { from, processor, .. } => {
                    let (host, gap) =
                        (Some(one.rank), settings.gap(false).filter(|_| from != Some(one.rank)));
                    let step = self.step(number, GraphStep { host, processor, gap, ..GraphStep::default() });
                    Nodes { begin: Node::Step(step), begun: None, over: Cause::Step(step) }
                }
                What::Compute { takes, processor } => {
                    *computed = computed.saturating_add(takes);
                    let host = Some(one.rank);
                    let step =
                        self.step(number, GraphStep { host, takes, processor, ..GraphStep::default() });
                    Nodes { begin: Node::Step(step), begun: None, over: Cause::Step(step) }
                }
                What::Join { needs, nowhere } => {
                    let host = (!nowhere).then_some(one.rank);
                    let step = self.step(number, GraphStep { host, needs, ..GraphStep::default() });
                    Nodes { begin: Node::Step(step), begun: None, over: Cause::Step(step) }
                }
                What::Collective { .. } => {
                    collectives.push(number);
                    let (begin, end) = (self.join(number, one.rank), self.join(number, one.rank));
                    Nodes { begin: Node::Step(begin), begun: Some(begin), over: Cause::Step(end) }
                }
            };
            nodes.push(made);
        }
        for (number, one) in (0u32..).zip(&trace.operations).filter(|(number, _)| begun[*number as usize]) {
            let made = &mut nodes[number as usize];
            if made.begun.is_none() {
                let step = self.join(number, one.rank);
                self.edge(made.begin, Cause::Step(step));
                (made.begin, made.begun) = (Node::Step(step), Some(step));
            }
        }
        self.receive(&matched, &nodes, &sent);
        self.collectives(&collectives, &nodes)?;
        for wait in &trace.waits {
            let cause = nodes[wait.cause as usize];
            let cause = match (wait.when, cause.over) {
                (When::Begun, _) => Cause::Step(cause.begun.unwrap_or_default()),
                (When::Known, Cause::Flow(flow, _)) => Cause::Flow(flow, Until::Known),
                (When::Received, Cause::Flow(flow, _)) => Cause::Flow(flow, Until::Received),
                (_, over) => over,
            };
            self.edge(nodes[wait.operation as usize].begin, cause);
        }
        if settings.start > Time::ZERO {
            self.begin_at(settings.start, &nodes, &waits);
        }
        if self.waits > MOST {
            return Err(trace.fail(0, format!("{} waits are more than {MOST}", self.waits)));
        }
        self.program.computes = settings.start.saturating_add(computes.into_iter().max().unwrap_or_default());
        Ok(self.program)
    }

    /// Refuses a program whose collectives make too much, before they are made, at the largest of them.
    fn fits(&self) -> Result<(), ScenarioError> {
        let trace = self.trace;
        let mut known: BTreeMap<(Collective, u32), (u64, u64)> = BTreeMap::new();
        let (mut messages, mut waits) = (0u64, trace.waits.len() as u64);
        let mut largest: Option<(u64, u32)> = None;
        for (number, one) in (0u32..).zip(&trace.operations) {
            let What::Collective { collective, group, .. } = one.what else { continue };
            let ranks = &trace.groups[group as usize];
            // All ranks have a part in it: it is counted at the first.
            if ranks.first() != Some(&one.rank) {
                continue;
            }
            let count = ranks.len() as u32;
            let each = known
                .entry((collective, count))
                .or_insert_with(|| cost(collective, count, self.settings.allreduce));
            (messages, waits) = (messages.saturating_add(each.0), waits.saturating_add(each.1));
            if largest.is_none_or(|(most, _)| each.0 > most) {
                largest = Some((each.0, number));
            }
        }
        let beyond = [(messages, "message"), (waits, "wait")].into_iter().find(|(count, _)| *count > MOST);
        let (Some((count, noun)), Some((own, operation))) = (beyond, largest) else { return Ok(()) };
        let What::Collective { collective, group, .. } = trace.operations[operation as usize].what else {
            return Ok(());
        };
        let text = format!("the collectives make {}, more than {MOST}", counted(count, noun));
        let largest = format!(
            "this {} of {} makes {}; fewer ranks or fewer collectives fit",
            collective.name(),
            counted(trace.groups[group as usize].len() as u64, "rank"),
            counted(own, "message")
        );
        Err(trace.fail(operation, text).help(largest))
    }

    fn flow(
        &mut self,
        of: u32,
        to: u32,
        bytes: u64,
        start: Time,
        round: Option<u32>,
    ) -> Result<u32, ScenarioError> {
        let one = &self.trace.operations[of as usize];
        self.flow_between((one.rank, to), of, bytes, start, round)
    }

    fn flow_between(
        &mut self,
        (src, dst): (u32, u32),
        of: u32,
        bytes: u64,
        start: Time,
        round: Option<u32>,
    ) -> Result<u32, ScenarioError> {
        let one = &self.trace.operations[of as usize];
        if src == dst {
            let (flow, at) = (self.trace.called(of), self.trace.origin(&one.at));
            return Err(ScenarioError::new(Problem::SelfFlow { flow, host: src }, &at));
        }
        if self.program.flows.len() as u64 >= MOST {
            return Err(self.trace.fail(of, format!("with this there are more than {MOST} messages")));
        }
        let number = self.program.flows.len() as u32;
        self.program.flows.push(Flow { src, dst, bytes, start, class: None, stop: None, of, round });
        // Other names would be those of all runs of the same program, and of all messages of a collective.
        let is_named = matches!(one.what, What::Message { .. });
        self.program.names.push(one.name.clone().filter(|_| is_named));
        Ok(number)
    }

    fn step(&mut self, of: u32, step: GraphStep) -> u32 {
        self.program.steps.push(step);
        self.program.of_step.push(of);
        self.program.steps.len() as u32 - 1
    }

    fn join(&mut self, of: u32, rank: u32) -> u32 {
        self.step(of, GraphStep { host: Some(rank), ..GraphStep::default() })
    }

    fn edge(&mut self, node: Node, cause: Cause) {
        self.waits += 1;
        if self.waits <= MOST {
            self.program.edges.push((node, cause));
        }
    }

    /// A receive is over when its message is there and it was posted, and its overhead later.
    fn receive(&mut self, matched: &matching::Matched, nodes: &[Nodes], sent: &[Option<Cause>]) {
        let bytes = |send: u32| match self.trace.operations[send as usize].what {
            What::Send { bytes, .. } => bytes,
            _ => 0,
        };
        let settings = *self.settings;
        for (receive, source) in &matched.receives {
            let Cause::Step(step) = nodes[*receive as usize].over else { continue };
            let (takes, cause) = match source {
                Source::One(send) => (settings.overhead_of(bytes(*send)), sent[*send as usize]),
                Source::NthOf(nth, open) => {
                    let sends = &matched.open[*open as usize];
                    let rank = self.trace.operations[*receive as usize].rank;
                    let needs = Some(*nth);
                    let join =
                        self.step(*receive, GraphStep { host: Some(rank), needs, ..GraphStep::default() });
                    for send in sends {
                        if let Some(cause) = sent[*send as usize] {
                            self.edge(Node::Step(join), cause);
                        }
                    }
                    let most = sends.iter().map(|send| bytes(*send)).max().unwrap_or(0);
                    (settings.overhead_of(most), Some(Cause::Step(join)))
                }
            };
            self.program.steps[step as usize].takes = takes;
            if let Some(cause) = cause {
                self.edge(Node::Step(step), cause);
            }
        }
    }

    /// The n-th collective of a group at each of its ranks belong together.
    fn collectives(&mut self, operations: &[u32], nodes: &[Nodes]) -> Result<(), ScenarioError> {
        let trace = self.trace;
        if trace.is_shared {
            for (round, &number) in (0..).zip(operations) {
                let What::Collective { group, .. } = trace.operations[number as usize].what else { continue };
                let there = vec![number; trace.groups[group as usize].len()];
                self.collective(&there, group as usize, round, nodes)?;
            }
            return Ok(());
        }
        // Operations by group and position in it.
        let mut done: Vec<Vec<Vec<u32>>> =
            trace.groups.iter().map(|group| vec![Vec::new(); group.len()]).collect();
        for &number in operations {
            let one = &trace.operations[number as usize];
            let What::Collective { group, .. } = one.what else { continue };
            let Some(place) = trace.groups[group as usize].iter().position(|rank| *rank == one.rank) else {
                return Err(
                    trace.fail(number, format!("rank {} is not in the group of its collective", one.rank))
                );
            };
            done[group as usize][place].push(number);
        }
        let mut round = 0;
        for (group, members) in done.iter().enumerate() {
            let most = members.iter().map(Vec::len).max().unwrap_or(0);
            for nth in 0..most {
                let there: Vec<u32> = members.iter().filter_map(|own| own.get(nth).copied()).collect();
                let first = there[0];
                if there.len() < members.len() {
                    let missing = members.iter().position(|own| own.len() <= nth).unwrap_or(0);
                    let text = format!(
                        "rank {} has no part in this collective, number {} of {}",
                        trace.groups[group][missing],
                        nth + 1,
                        trace.group_called(group)
                    );
                    return Err(trace.fail(first, text).help(
                        "the n-th collectives of a group at its ranks belong together, and each rank has one",
                    ));
                }
                self.collective(&there, group, round, nodes)?;
                round += 1;
            }
        }
        let alone = round == 1 && operations.len() == trace.operations.len();
        if let (true, Some(first)) = (alone && operations.len() == trace.ranks as usize, operations.first())
            && let What::Collective { collective, bytes, .. } = trace.operations[*first as usize].what
        {
            self.program.collective = bus_factor(collective, trace.ranks).map(|factor| (bytes, factor));
        }
        Ok(())
    }

    fn collective(
        &mut self,
        there: &[u32],
        group: usize,
        round: u32,
        nodes: &[Nodes],
    ) -> Result<(), ScenarioError> {
        let (trace, first) = (self.trace, there[0]);
        let What::Collective { collective, bytes, root, .. } = trace.operations[first as usize].what else {
            return Ok(());
        };
        for other in there {
            let what = &trace.operations[*other as usize].what;
            let same = matches!(what, What::Collective { collective: c, bytes: b, root: r, .. } if (*c, *b, *r) == (collective, bytes, root));
            if !same {
                let shown = |what: &What| match what {
                    What::Collective { collective, bytes, root, .. } => {
                        let rooted = bus_factor(*collective, 2) == Some(1.0) && *root > 0;
                        let of = if rooted { format!(" from position {root}") } else { String::new() };
                        format!("{} of {bytes} B{of}", collective.name())
                    }
                    _ => "no collective".into(),
                };
                let text = format!(
                    "{} takes part in another collective than {} does: {}, and not {}",
                    trace.called(*other),
                    trace.called(first),
                    shown(what),
                    shown(&trace.operations[first as usize].what)
                );
                return Err(trace.fail(*other, text));
            }
        }
        let ranks = &trace.groups[group];
        let count = ranks.len() as u32;
        let over = |operation: u32| match nodes[operation as usize].over {
            Cause::Step(step) => Node::Step(step),
            Cause::Flow(flow, _) => Node::Flow(flow),
        };
        let began = |operation: u32| match nodes[operation as usize].begun {
            Some(step) => Cause::Step(step),
            None => nodes[operation as usize].over,
        };
        if count < 2 {
            self.edge(over(first), began(first));
            return Ok(());
        }
        if collective == Collective::AllReduce && self.settings.allreduce == 2 && !count.is_power_of_two() {
            let text = format!("{count} ranks are no power of two, which `halving-doubling` takes");
            return Err(trace.fail(first, text));
        }
        let schedule = schedule(collective, count, bytes, root, self.settings.allreduce);
        let at = |position: u32| there[position as usize];
        let from = self.program.flows.len() as u32;
        for send in schedule.sends() {
            let ends = (ranks[send.src as usize], ranks[send.dst as usize]);
            let flow = self.flow_between(ends, at(send.src), send.bytes.max(1), Time::ZERO, Some(round))?;
            // A rank sends nothing before it takes part.
            self.edge(Node::Flow(flow), began(at(send.src)));
        }
        for &(send, cause, until) in schedule.waits() {
            self.edge(Node::Flow(from + send), Cause::Flow(from + cause, until));
        }
        for (position, lasts) in (0..).zip(schedule.lasts(ranks.len(), from)) {
            let end = over(at(position));
            lasts.into_iter().for_each(|cause| self.edge(end, cause));
            // An operation that stands for all ranks begins once.
            if position == 0 || at(position) != first {
                self.edge(end, began(at(position)));
            }
        }
        Ok(())
    }

    /// Operations that wait for nothing wait for the start.
    fn begin_at(&mut self, start: Time, nodes: &[Nodes], waits: &[bool]) {
        let mut of_rank: Vec<Option<u32>> = vec![None; self.trace.ranks as usize];
        for (number, one) in (0u32..).zip(&self.trace.operations) {
            if waits[number as usize] {
                continue;
            }
            match nodes[number as usize].begin {
                Node::Flow(flow) => {
                    let flow = &mut self.program.flows[flow as usize];
                    flow.start = flow.start.saturating_add(start);
                }
                begin @ Node::Step(_) => {
                    let step = match of_rank[one.rank as usize] {
                        Some(step) => step,
                        None => {
                            let host = Some(one.rank);
                            let step =
                                self.step(number, GraphStep { host, takes: start, ..GraphStep::default() });
                            *of_rank[one.rank as usize].insert(step)
                        }
                    };
                    self.edge(begin, Cause::Step(step));
                }
            }
        }
    }
}

/// Bus bandwidth over algorithm bandwidth, where nccl-tests has one.
fn bus_factor(collective: Collective, ranks: u32) -> Option<f64> {
    let n = f64::from(ranks);
    match collective {
        Collective::AllReduce => Some(2.0 * (n - 1.0) / n),
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Gather
        | Collective::Scatter => Some((n - 1.0) / n),
        Collective::Broadcast | Collective::Reduce => Some(1.0),
        Collective::Barrier => None,
    }
}

/// The messages of a collective; a message has a byte at least.
fn schedule(collective: Collective, ranks: u32, bytes: u64, root: u32, allreduce: usize) -> Schedule {
    // None of these makes a random choice.
    let random = &mut Stream::new(0, Purpose::Sizes, 0);
    let ring = Ring { channels: 1, chunks: 1, node: 1 };
    let parts = bytes.max(u64::from(ranks));
    match collective {
        Collective::AllReduce => How::simple(allreduce).schedule(ranks, parts, random),
        Collective::AllGather | Collective::ReduceScatter => ring.schedule(ranks, ranks - 1, parts),
        Collective::AllToAll => Exchange::SIMPLE.schedule(ranks, parts, random),
        Collective::Broadcast => turned(&Along::Tree.schedule(ranks, bytes, random), ranks, root),
        Collective::Reduce => turned(&reduced(ranks, bytes), ranks, root),
        Collective::Gather => turned(&each(ranks, parts, |rank| (rank, 0)), ranks, root),
        Collective::Scatter => turned(&each(ranks, parts, |rank| (0, rank)), ranks, root),
        Collective::Barrier => Dissemination.schedule(ranks, bytes, random),
    }
}

/// A message of an equal part between rank 0 and each other.
fn each(ranks: u32, bytes: u64, ends: impl Fn(u32) -> (u32, u32)) -> Schedule {
    let mut schedule = Schedule::default();
    for rank in 1..ranks {
        let (src, dst) = ends(rank);
        schedule.send(0, src, dst, Parts::of(bytes, u64::from(ranks)).get(u64::from(rank)));
    }
    schedule
}

/// Sums go up the binomial tree down which a broadcast goes.
fn reduced(ranks: u32, bytes: u64) -> Schedule {
    let mut schedule = Schedule::default();
    let rounds = ranks.next_power_of_two().ilog2();
    let mut came: Vec<Vec<u32>> = vec![Vec::new(); ranks as usize];
    for round in 0..rounds {
        let apart = 1 << (rounds - 1 - round);
        for rank in apart..(2 * apart).min(ranks) {
            let send = schedule.send(round, rank, rank - apart, bytes);
            came[rank as usize].iter().for_each(|received| schedule.after(send, *received));
            came[(rank - apart) as usize].push(send);
        }
    }
    schedule
}

/// The schedule with another rank in the place of rank 0.
fn turned(schedule: &Schedule, ranks: u32, root: u32) -> Schedule {
    let turn = |rank: u32| (rank + root) % ranks;
    let mut turned = Schedule::default();
    for send in schedule.sends() {
        turned.send(send.round, turn(send.src), turn(send.dst), send.bytes);
    }
    for &(send, cause, until) in schedule.waits() {
        match until {
            Until::Received => turned.after(send, cause),
            Until::Known => turned.after_own(send, cause),
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_groups_are_counted_as_small_ones_are() {
        let all = [
            Collective::AllReduce,
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::AllToAll,
            Collective::Broadcast,
            Collective::Reduce,
            Collective::Gather,
            Collective::Scatter,
            Collective::Barrier,
        ];
        for collective in all {
            let ranks = COUNTED + 1;
            let made = schedule(collective, ranks, u64::from(ranks), 0, 0);
            let lasts: usize = made.lasts(ranks as usize, 0).iter().map(Vec::len).sum();
            let messages = made.sends().len();
            let edges = messages + made.waits().len() + lasts + ranks as usize;
            assert_eq!(cost(collective, ranks, 0), (messages as u64, edges as u64), "{}", collective.name());
        }
    }
}
