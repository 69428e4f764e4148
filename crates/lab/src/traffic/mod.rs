//! The `[[traffic]]` tables: what hosts are asked to send. Each kind is a file here, and a line in [`patterns!`] below.
//!
//! A kind declares its keys and reads them; everything else that anybody asks about its flows is a method of
//! [`Pattern`]. Nothing outside its file knows a kind by its name.

mod common;
pub mod draw;
mod job;
pub mod kernel_gauges;
mod keys;
mod list;
pub mod load;
mod program;
mod reading;
mod sizes;
mod stack;
pub(crate) mod waiting;

pub use common::{COMMON, Common, Deadlines};
pub use job::JobInfo;
pub use keys::{Key, PatternInfo};
pub use list::Written;
pub(crate) use program::cost as collective_cost;
pub(crate) use stack::Transports;
pub use stack::{Kernel, runs_here};

use crate::foreign::{self, Foreign};
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, names};
use crate::topology::{Named, Topology};
use crate::workload::Cdf;
use crate::workload::random::{Purpose, Stream};
use draw::Ground;
use headway_network::{Cause, FlowSpec, Graph, GraphError, GraphStep, Network, Node, Routing, TransportSpec};
use headway_packet::Sizes;
use headway_units::{Rate, Time};
use reading::Resolved;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// Declares the files of all kinds, and makes the list of them.
macro_rules! patterns {
    ($($module:ident::$name:ident),+ $(,)?) => {
        $(
            mod $module;
            pub use $module::$name;
        )+

        /// Every kind of traffic.
        pub const KINDS: &[Kind] = &[$(Kind::of::<$name>()),+];
    };
}

patterns! {
    flows::Flows,
    file::File,
    poisson::Poisson,
    incast::Incast,
    permutation::Permutation,
    many_to_many::ManyToMany,
    on_off::OnOff,
    allreduce::AllReduce,
    allgather::AllGather,
    reduce_scatter::ReduceScatter,
    all_to_all::AllToAll,
    broadcast::Broadcast,
    barrier::Barrier,
    pipeline::Pipeline,
    rpc::Rpc,
    external::External,
    trace::Trace,
}

pub use external::Later;

type Read = fn(&Reader<'_>, &Context<'_>, &Common) -> Result<(Arc<dyn Pattern>, Resolved), ScenarioError>;

/// A kind of traffic: its declarations, its reader, and its random generator.
pub struct Kind {
    /// Its name and its keys.
    pub info: PatternInfo,
    /// Time that it takes in a network without other traffic, as a formula; empty if it is unknown.
    pub form: &'static str,
    /// An entry at random, without `kind` and without what entries of every kind may have.
    pub draw: fn(&mut Ground<'_>) -> Json,
    read: Read,
}

impl Kind {
    const fn of<P: Declared>() -> Kind {
        Kind { info: P::INFO, form: P::FORM, draw: P::draw, read: read_one::<P> }
    }
}

fn read_one<P: Declared>(
    table: &Reader<'_>,
    context: &Context<'_>,
    common: &Common,
) -> Result<(Arc<dyn Pattern>, Resolved), ScenarioError> {
    let (pattern, resolved) = P::read(table, context, common)?;
    Ok((Arc::new(pattern), resolved))
}

/// Messages that arrive at random, each independent of the others.
#[derive(Clone, Copy, Debug)]
pub struct RandomArrivals<'a> {
    /// Sizes of the messages.
    pub sizes: &'a Cdf,
    /// Number of arrivals in a second.
    pub per_second: f64,
    /// Time at which the first may arrive.
    pub start: Time,
    /// Load on the links that they load most.
    pub heaviest: &'a load::NominalLoad,
}

/// Interface of a pattern of flows.
pub trait Pattern: Debug + Send + Sync {
    /// Makes its flows, in their order.
    fn generate(&self, making: &mut Making<'_>);

    /// Start of its last flow, and the most bytes that have to be sent after that, both roughly: for estimates
    /// of runs without a stated end.
    fn horizon(&self, hosts: u32) -> (Time, u64);

    /// True if its flows begin at fixed times.
    fn has_fixed_times(&self) -> bool {
        self.random_arrivals().is_none()
    }

    /// True if its arrivals last until the network is in a steady state.
    fn is_steady(&self) -> bool {
        false
    }

    /// Such a pattern with arrivals for so many seconds, and the number of its flows; `None` for any other.
    fn lasting(&self, _: f64) -> Option<(Arc<dyn Pattern>, u64)> {
        None
    }

    /// Roughly how many flows it makes, before they are made.
    fn expected_flows(&self, hosts: u32) -> f64;

    /// Roughly how many bytes all of its flows have.
    fn expected_bytes(&self, hosts: u32) -> u64;

    /// Largest number of its flows that are under way at a time, where all are about as long as each other and wait for
    /// those before them.
    fn expected_at_once(&self, hosts: u32) -> f64 {
        self.expected_flows(hosts)
    }

    /// Roughly how many edges and steps the graph of its flows has.
    fn expected_edges(&self, _: u32) -> f64 {
        0.0
    }

    /// Largest number of hosts that they go to.
    fn receivers(&self, hosts: u32) -> u64 {
        u64::from(hosts)
    }

    /// True if its flows start at different times, so that they do not meet again and again in the same phase.
    fn is_spread(&self) -> bool;

    /// Warning about it before it is run.
    fn warning(&self) -> Option<String> {
        None
    }

    /// Its random arrivals, if its messages arrive at random.
    fn random_arrivals(&self) -> Option<RandomArrivals<'_>> {
        None
    }

    /// The load that it puts on links, where it is made to have one.
    fn nominal_load(&self) -> Option<&load::NominalLoad> {
        None
    }

    /// True if its messages come from another program while the run goes on.
    fn is_external(&self) -> bool {
        false
    }

    /// Facts for its results when it is over, if it is a job.
    fn job(&self) -> Option<JobInfo> {
        None
    }

    /// Its flows, where each is written somewhere.
    fn written(&self) -> &[Written] {
        &[]
    }
}

/// Words that closed forms are written in.
pub const FORM_WORDS: &str = "n ranks, buffers of S bytes; t(x) is the completion time of a message of x bytes between two ranks that nothing else \
    disturbs (`ideal_s`), s(x) the time that its packets take on a link, and a the time that the packet takes by which a receiver acknowledges \
    a message, which goes before the next message; 0 for a transport that has none. It is so where a message needs no permission and one acknowledgement, \
    as under `homa` with `unscheduled_bytes` above its size. Other control, which takes 5 % of a link under `ndp`, and windows that grow come on top";

/// A kind of traffic: its keys, and how an entry is read and drawn.
pub(crate) trait Declared: Pattern + Sized + 'static {
    /// Its name, its keys.
    const INFO: PatternInfo;
    /// Time that it takes in a network without other traffic, by [`FORM_WORDS`]. Empty if it is unknown.
    const FORM: &'static str = "";

    /// One of it, and its keys with their values.
    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        common: &Common,
    ) -> Result<(Self, Resolved), ScenarioError>;

    /// An entry at random that the reader mostly accepts.
    fn draw(ground: &mut Ground<'_>) -> Json;
}

/// The flows of entries, the steps between them, and their dependencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// Flows, in order of entry.
    pub flows: Vec<Flow>,
    /// Steps, in the same order.
    pub steps: Vec<MadeStep>,
    /// Dependencies between flows and steps, by position in the two lists.
    pub edges: Vec<(Node, Cause)>,
}

/// A step between flows.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeStep {
    /// Step that the simulator gets.
    pub step: GraphStep,
    /// Name, if the scenario gives one.
    pub name: Option<String>,
    /// Position of the `[[traffic]]` entry that it comes from.
    pub entry: usize,
}

impl Made {
    /// The graph of dependencies, if there are any.
    pub fn graph(&self) -> Result<Option<Graph>, GraphError> {
        if self.steps.is_empty() && self.edges.is_empty() {
            return Ok(None);
        }
        let flows: Vec<FlowSpec> = self.flows.iter().map(|flow| flow.spec).collect();
        let steps = self.steps.iter().map(|step| step.step).collect();
        Graph::new(&flows, steps, &self.edges).map(Some)
    }
}

/// Builder of an entry's flows.
pub struct Making<'a> {
    /// Settings that they share.
    pub common: &'a Common,
    /// Seed of the run.
    pub seed: u64,
    /// The number of the entry, which keeps its random streams apart from those of others.
    pub entity: u64,
    /// Hosts of the network.
    pub hosts: u32,
    /// Number of the `[[traffic]]` entry.
    entry: usize,
    /// Position of its first flow and first step among all.
    first_flow: u32,
    first_step: u32,
    /// The round that flows belong to from now on, where its flows come in rounds.
    pub round: Option<u32>,
    made: &'a mut Made,
}

impl Making<'_> {
    /// The entry's random stream for a purpose.
    pub fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.seed, purpose, self.entity)
    }

    /// Adds a flow without a name, and returns its number in the entry.
    pub fn push(&mut self, spec: FlowSpec) -> u32 {
        self.push_named(spec, None)
    }

    /// Adds a flow; its `connection` counts from the first flow of the entry, as does the number that is answered.
    pub fn push_named(&mut self, spec: FlowSpec, name: Option<&str>) -> u32 {
        let number = self.made.flows.len() as u32 - self.first_flow;
        // Flows of a pattern are numbered from its first, those of a run from the first of all.
        let connection = spec.connection.map(|carrier| self.first_flow + carrier);
        let spec = FlowSpec { connection, ..spec };
        let (name, entry, round) = (name.map(str::to_string), self.entry, self.round);
        self.made.flows.push(Flow { spec, name, entry, round });
        number
    }

    /// Changes the start of a flow of the entry: that of the run, or of its release if it waits.
    pub(crate) fn set_start(&mut self, flow: u32, start: Time) {
        let spec = &mut self.made.flows[(self.first_flow + flow) as usize].spec;
        spec.deadline = spec.deadline.map(|deadline| start.saturating_add(deadline - spec.start));
        spec.start = start;
    }

    /// Adds a step between flows, and returns its number in the entry.
    pub fn step(&mut self, step: GraphStep, name: Option<&str>) -> u32 {
        let number = self.made.steps.len() as u32 - self.first_step;
        self.made.steps.push(MadeStep { step, name: name.map(str::to_string), entry: self.entry });
        number
    }

    /// A flow or step of the entry waits for another; all numbers are those in the entry.
    pub fn wait(&mut self, node: Node, cause: Cause) {
        let node = match node {
            Node::Flow(flow) => Node::Flow(self.first_flow + flow),
            Node::Step(step) => Node::Step(self.first_step + step),
        };
        let cause = match cause {
            Cause::Flow(flow, until) => Cause::Flow(self.first_flow + flow, until),
            Cause::Step(step) => Cause::Step(self.first_step + step),
        };
        self.made.edges.push((node, cause));
    }
}

/// Start of flows: the `[start]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Every share is ignored.
    pub line_rate: bool,
    /// Default of `clump`.
    pub clump: u32,
}

/// Context that traffic is checked against.
pub struct Context<'a> {
    /// Topology of the scenario.
    pub topology: &'a Topology,
    /// Sizes of packets.
    pub sizes: Sizes,
    /// Choice of paths.
    pub routing: Routing,
    /// Folder in which relative paths start.
    pub folder: &'a Path,
    /// Start of flows.
    pub start: Start,
    /// Transports that are in no registry.
    pub(crate) foreign: &'a [Foreign],
    /// The scenario's own transport, if it has one.
    pub(crate) own: Option<&'a TransportSpec>,
    /// The transports of all entries so far. Entries add theirs while they are read against everything else here.
    pub(crate) transports: RefCell<Transports>,
    /// Assumptions about files that do not say it themselves.
    pub(crate) notes: RefCell<Vec<String>>,
    /// Facts about files of traffic, in sentences that are not warnings.
    pub(crate) facts: RefCell<Vec<String>>,
}

impl Context<'_> {
    /// The network as far as it is known while traffic is read: ports do nothing but send.
    pub(crate) fn network(&self) -> Option<Network> {
        let fabric = crate::fabric::plain_fabric(self.topology, self.sizes, self.routing);
        Network::build(&self.topology.spec, &fabric).ok()
    }

    /// The number of a transport that a flow names. The name of the scenario's transport, or of its entry's, means
    /// that one with its parameters.
    fn transport_named(&self, name: &str, common: &Common, at: &Origin) -> Result<u8, ScenarioError> {
        let mut transports = self.transports.borrow_mut();
        let entry = transports.specs.get(usize::from(common.transport));
        let known = entry.into_iter().chain(self.own).find(|spec| spec.name == name).cloned();
        let chosen = match known {
            Some(spec) => spec,
            None if foreign::find(name, self.foreign).is_some() => TransportSpec::new(name, Vec::new()),
            None => {
                let problem = Problem::NoSuchName { what: "transport", name: name.into() };
                let all = foreign::names(self.foreign);
                return Err(ScenarioError::new(problem, at).maybe_help(names::name_suggestion(name, all)));
            }
        };
        common::number(&mut transports, chosen, None, at)
    }
}

/// One flow to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Flow that the simulator gets.
    pub spec: FlowSpec,
    /// Name, if the scenario gives one.
    pub name: Option<String>,
    /// Position of the `[[traffic]]` entry that it comes from.
    pub entry: usize,
    /// The round of its entry, where flows come in rounds.
    pub round: Option<u32>,
}

/// One `[[traffic]]` entry, checked.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Place where it is written.
    pub at: Origin,
    /// Its kind of traffic.
    pub kind: &'static str,
    /// The key that says how many flows it makes; `None` when the network says that.
    pub count: Option<Named>,
    /// Settings that its flows share.
    pub common: Common,
    /// Pattern that makes the flows of the entry.
    pub pattern: Arc<dyn Pattern>,
    resolved: Json,
}

/// Reads one entry.
pub(crate) fn read(item: &Item<'_>, context: &Context<'_>) -> Result<Entry, ScenarioError> {
    let table = item.table()?;
    let kinds: Vec<&str> = KINDS.iter().map(|k| k.info.name).collect();
    let Kind { info, read, .. } = &KINDS[table.need("kind")?.choice(&kinds)?];
    let kind = info.name;
    let common = common::read(&table, context)?;
    let before = table.asked();
    let (pattern, mut resolved) = read(&table, context, &common)?;
    if let (Some(item), true) = (table.get("stop"), pattern.job().is_some()) {
        let text =
            format!("messages of kind = \"{kind}\" wait for each other, and those that wait have no `stop`");
        return Err(item.fail(Problem::Contradiction(text)));
    }
    let undeclared =
        |key: &&String| !before.contains(key) && info.keys.iter().chain(COMMON).all(|k| k.name != **key);
    debug_assert_eq!(
        table.asked().iter().find(undeclared),
        None,
        "kind = \"{kind}\" reads what it does not declare"
    );
    let elsewhere = KINDS.iter().flat_map(|k| k.info.keys).chain(COMMON).map(|k| k.name);
    table.finish(&elsewhere.collect::<Vec<_>>(), Some(format!("kind = \"{kind}\"")))?;
    let mut map = Map::new();
    map.insert("kind".into(), kind.into());
    map.append(&mut resolved);
    map.insert("class".into(), common.class.into());
    map.insert("deadline".into(), common.deadline.map(|d| d.to_string()).into());
    if let Some(deadlines) = &common.deadlines {
        map.insert("mean_deadline".into(), deadlines.mean.to_string().into());
        map.insert("least_deadline".into(), deadlines.least.to_string().into());
    }
    map.insert("jitter".into(), common.jitter.to_string().into());
    map.insert("share".into(), common.share.to_json());
    map.insert("clump".into(), common.clump.into());
    if let Some(stop) = common.stop {
        map.insert("stop".into(), stop.to_string().into());
    }
    let transports = context.transports.borrow();
    let transport = &transports.specs[usize::from(common.transport)];
    map.insert("transport".into(), transport.name.as_str().into());
    if let Some(kernel) = common.kernel {
        kernel.describe(transport, &mut map);
    }
    let count = info.counts.iter().find_map(|key| Some(Named::of(key, &table.get(key)?)));
    Ok(Entry { at: item.at().clone(), kind, count, common, pattern, resolved: Json::Object(map) })
}

impl Entry {
    /// The entry with arrivals for so many seconds, if it leaves their length to the network.
    pub(crate) fn lasting(&self, seconds: f64) -> Option<Entry> {
        let (pattern, flows) = self.pattern.lasting(seconds)?;
        let mut entry = Entry { pattern, ..self.clone() };
        entry.resolved["flows"] = flows.into();
        Some(entry)
    }

    /// Every key with its value.
    pub fn to_json(&self) -> Json {
        self.resolved.clone()
    }

    /// Adds this entry's flows, the `index`-th of the scenario, under a seed.
    pub fn generate(&self, index: usize, seed: u64, hosts: u32, made: &mut Made) {
        let (entity, first) = (index as u64, made.flows.len());
        let (first_flow, first_step, edges) = (first as u32, made.steps.len() as u32, made.edges.len());
        let common = &self.common;
        let mut making =
            Making { common, seed, entity, hosts, entry: index, first_flow, first_step, round: None, made };
        self.pattern.generate(&mut making);
        let waits = made.edges.len() > edges;
        let flows = &mut made.flows;
        self.shift_starts(seed, entity, &mut flows[first..]);
        if let Some(stop) = self.common.stop.filter(|_| !waits) {
            // None of them is named by another: a list that has a flow from then on is refused.
            let mut place = 0;
            flows.retain(|flow| {
                place += 1;
                place <= first || flow.spec.start < stop
            });
        }
        let Some(deadlines) = &self.common.deadlines else { return };
        let mut stream = Stream::new(seed, Purpose::Deadlines, entity);
        for flow in &mut made.flows[first..] {
            // Drawn for every flow, so that a flow with a deadline of its own does not move those of others.
            let drawn = flow.spec.start.saturating_add(deadlines.draw(&mut stream));
            flow.spec.deadline = flow.spec.deadline.or(Some(drawn));
        }
    }

    /// Adds the jitter. A deadline counts from the start and moves with it.
    fn shift_starts(&self, seed: u64, entity: u64, flows: &mut [Flow]) {
        let jitter = self.common.jitter;
        if jitter == Time::ZERO {
            return;
        }
        let mut stream = Stream::new(seed, Purpose::Jitter, entity);
        for flow in flows {
            let late = Time(stream.below(jitter.0));
            flow.spec.start = flow.spec.start.saturating_add(late);
            flow.spec.deadline = flow.spec.deadline.map(|deadline| deadline.saturating_add(late));
        }
    }

    /// Start of its last flow, and the time that its flows take one after the other at `rate`, roughly: for
    /// estimates of runs without a stated end.
    pub fn horizon(&self, hosts: u32, rate: Rate) -> (Time, Time) {
        let (last, bytes) = self.pattern.horizon(hosts);
        let ps = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.bps());
        (last.saturating_add(self.common.jitter), Time(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    /// Roughly how many bytes all of its flows have.
    pub fn expected_bytes(&self, hosts: u32) -> u64 {
        self.pattern.expected_bytes(hosts)
    }

    /// Largest number of hosts that they go to.
    pub fn receivers(&self, hosts: u32) -> u64 {
        self.pattern.receivers(hosts)
    }

    /// Roughly how many flows it makes, before they are made.
    pub fn expected_flows(&self, hosts: u32) -> f64 {
        self.pattern.expected_flows(hosts)
    }

    /// Largest number of its flows that are under way at a time.
    pub fn expected_at_once(&self, hosts: u32) -> f64 {
        self.pattern.expected_at_once(hosts)
    }

    /// Roughly how many edges and steps the graph of its flows has.
    pub fn expected_edges(&self, hosts: u32) -> f64 {
        self.pattern.expected_edges(hosts)
    }
}
