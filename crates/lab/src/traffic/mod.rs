//! The `[[traffic]]` tables: what hosts are asked to send.

pub mod explicit;
pub mod load;
pub mod patterns;
pub mod poisson;
mod sizes;

use crate::text::{Item, Origin, Problem, Reader, ScenarioError};
use crate::topology::{Named, Topology};
use crate::workload::random::{Purpose, Stream};
use headway_packet::Sizes;
use headway_sim::{FlowSpec, Routing, TransportSpec};
use headway_transport::Opening;
use headway_units::{Rate, Time};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Kinds of traffic with one line each.
pub const KINDS: &[(&str, &str)] = &[
    ("flows", "flows written out one by one"),
    ("file", "flows from a connection matrix (.cm) or a table (.csv)"),
    ("poisson", "Poisson arrivals over a flow-size distribution at a load"),
    ("incast", "many senders to one receiver at once, perhaps repeated"),
    ("permutation", "every host sends to one other, every host receives from one"),
    ("many-to-many", "some hosts send to some others, of which not all may answer"),
    ("on-off", "one source that sends a message in each ON period"),
];

/// Every key of every kind, to tell an unused key from an unknown one.
pub const ALL_KEYS: &[&str] = &[
    "flows",
    "path",
    "start_unit",
    "cdf",
    "interpolation",
    "load",
    "load_reference",
    "load_bytes",
    "mean",
    "pairs",
    "duration",
    "start",
    "senders",
    "receiver",
    "bytes",
    "repeat",
    "period",
    "receivers",
    "fan_out",
    "responsive_ratio",
    "src",
    "dst",
    "rate",
    "on",
    "off",
    "until",
    "mean_deadline",
    "least_deadline",
];

/// For each kind, the keys that say how many flows it makes: the first that is there says it.
const COUNTS: &[(&str, &str)] = &[
    ("flows", "flows"),
    ("file", "path"),
    ("poisson", "flows"),
    ("poisson", "duration"),
    ("incast", "repeat"),
    ("incast", "senders"),
    ("many-to-many", "fan_out"),
    ("many-to-many", "senders"),
    ("on-off", "until"),
];

/// How flows begin: the `[start]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Every share is ignored.
    pub line_rate: bool,
    /// Default of `clump`.
    pub clump: u32,
}

/// What traffic is checked against.
pub struct Context<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// Packet sizes.
    pub sizes: Sizes,
    /// How paths are chosen.
    pub routing: Routing,
    /// Where relative paths start.
    pub folder: &'a Path,
    /// How flows begin.
    pub start: Start,
}

/// What every kind of traffic may carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// Application class.
    pub class: u16,
    /// From a flow's start.
    pub deadline: Option<Time>,
    /// Instead of it, one drawn for each flow.
    pub deadlines: Option<Deadlines>,
    /// Each start is later by a random time below this.
    pub jitter: Time,
    /// Each flow starts as one of this many.
    pub share: u32,
    /// Packets back to back before a pause.
    pub clump: u32,
    /// Index into the run's transports.
    pub transport: u8,
    line_rate: bool,
}

impl Common {
    /// The first window of the `index`-th flow of an entry.
    fn opening(&self, index: usize) -> Opening {
        self.opening_of(self.share, self.clump, None, index)
    }

    fn opening_of(&self, share: u32, clump: u32, slot: Option<u32>, index: usize) -> Opening {
        if self.line_rate || share == 1 {
            return Opening::default();
        }
        let slot = slot.unwrap_or((index % share as usize) as u32);
        Opening { share, clump, slot, ..Opening::default() }
    }

    /// A flow with everything that is common to its entry.
    fn flow(&self, src: u32, dst: u32, bytes: u64, start: Time, index: usize) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            bytes,
            start,
            class: self.class,
            deadline: self.deadline.map(|d| start.saturating_add(d)),
            opening: self.opening(index),
            responsive: true,
            transport: self.transport,
            path: None,
            connection: None,
        }
    }
}

/// Deadlines at random: exponential above the smallest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlines {
    /// Mean, the smallest included.
    pub mean: Time,
    /// Smallest.
    pub least: Time,
}

impl Deadlines {
    fn draw(&self, stream: &mut Stream) -> Time {
        self.least.saturating_add(stream.exponential((self.mean - self.least).0 as f64))
    }
}

/// One flow to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// What the simulator gets.
    pub spec: FlowSpec,
    /// Its name, when somebody gave it one.
    pub name: Option<String>,
    /// Which `[[traffic]]` entry it comes from.
    pub entry: usize,
}

/// What an entry sends.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Flows written out, or from a file.
    Explicit(explicit::Explicit),
    /// Poisson arrivals.
    Poisson(Box<poisson::Poisson>),
    /// Many to one.
    Incast(patterns::Incast),
    /// One to one.
    Permutation(patterns::Permutation),
    /// Many to many.
    ManyToMany(patterns::ManyToMany),
    /// ON and OFF periods.
    OnOff(patterns::OnOff),
}

/// One `[[traffic]]` entry, checked.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it is written.
    pub at: Origin,
    /// The key that says how many flows it makes; `None` when the network says that.
    pub count: Option<Named>,
    /// What its flows have in common.
    pub common: Common,
    /// Its flows.
    pub pattern: Pattern,
    resolved: Json,
}

/// Reads one entry. `transport` is the index of its own transport, or of the scenario's.
pub fn read(
    item: &Item<'_>,
    context: &Context<'_>,
    transports: &mut Vec<TransportSpec>,
    own: Option<&TransportSpec>,
) -> Result<Entry, ScenarioError> {
    let table = item.table()?;
    let names: Vec<&str> = KINDS.iter().map(|k| k.0).collect();
    let kind = names[table.need("kind")?.choice(&names)?];
    let common = common(&table, context, transports, own)?;
    let (pattern, mut resolved) = match kind {
        "flows" => explicit::read_flows(&table, context, &common)?,
        "file" => explicit::read_file(&table, context, &common)?,
        "poisson" => poisson::read(&table, context)?,
        "incast" => patterns::read_incast(&table, context)?,
        "permutation" => patterns::read_permutation(&table, context)?,
        "many-to-many" => patterns::read_many_to_many(&table, context)?,
        _ => patterns::read_on_off(&table, context)?,
    };
    table.finish(ALL_KEYS, Some(format!("kind = \"{kind}\"")))?;
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
    map.insert("share".into(), common.share.into());
    map.insert("clump".into(), common.clump.into());
    map.insert("transport".into(), transports[usize::from(common.transport)].name.as_str().into());
    let count =
        COUNTS.iter().filter(|(k, _)| *k == kind).find_map(|(_, key)| Some(Named::of(key, &table.get(key)?)));
    Ok(Entry { at: item.at().clone(), count, common, pattern, resolved: Json::Object(map) })
}

fn common(
    table: &Reader<'_>,
    context: &Context<'_>,
    transports: &mut Vec<TransportSpec>,
    own: Option<&TransportSpec>,
) -> Result<Common, ScenarioError> {
    let chosen = match (table.get("transport"), own) {
        (Some(item), own) => {
            let asked = crate::fabric::transport(&item)?;
            // A bare name means the scenario's own transport, parameters included, when it is that one.
            own.filter(|o| o.name == asked.name && asked.params.is_empty()).cloned().unwrap_or(asked)
        }
        (None, Some(own)) => own.clone(),
        (None, None) => {
            let problem = Problem::MissingKey { key: "transport".into(), table: table.name() };
            let error = ScenarioError::new(problem, table.at());
            return Err(error.help("name one for all in [transport], or one for each [[traffic]]"));
        }
    };
    let position = transports.iter().position(|t| *t == chosen).unwrap_or_else(|| {
        transports.push(chosen);
        transports.len() - 1
    });
    let transport = u8::try_from(position).map_err(|_| {
        ScenarioError::new(Problem::Contradiction("more than 256 transports".into()), table.at())
    })?;
    let deadlines = read_deadlines(table)?;
    Ok(Common {
        deadlines,
        jitter: table.get("jitter").map_or(Ok(Time::ZERO), |i| i.time())?,
        class: table.get("class").map_or(Ok(0), |i| i.int(0, u64::from(u16::MAX)))? as u16,
        deadline: table.get("deadline").map(|i| i.period()).transpose()?,
        share: table.get("share").map_or(Ok(1), |i| i.count())?,
        clump: table.get("clump").map_or(Ok(context.start.clump), |i| i.count())?,
        transport,
        line_rate: context.start.line_rate,
    })
}

/// `mean_deadline` and `least_deadline`, which stand instead of `deadline`.
fn read_deadlines(table: &Reader<'_>) -> Result<Option<Deadlines>, ScenarioError> {
    let Some(item) = table.get("mean_deadline") else { return Ok(None) };
    let (mean, least_item) = (item.period()?, table.get("least_deadline"));
    let least = least_item.as_ref().map_or(Ok(Time::ZERO), |i| i.time())?;
    if let Some(item) = least_item.filter(|_| least >= mean) {
        return Err(item.range(format!("shorter than the mean, {mean}"), least));
    }
    if let Some(item) = table.get("deadline") {
        let text = "`deadline` and `mean_deadline` both say when flows are due".to_string();
        return Err(item.fail(Problem::Contradiction(text)).help("keep one of them"));
    }
    Ok(Some(Deadlines { mean, least }))
}

impl Entry {
    /// Every key with its value.
    pub fn to_json(&self) -> Json {
        self.resolved.clone()
    }

    /// Adds this entry's flows, the `index`-th of the scenario, under a seed.
    pub fn generate(&self, index: usize, seed: u64, hosts: u32, flows: &mut Vec<Flow>) {
        let (entity, first) = (index as u64, flows.len());
        let mut push = |spec: FlowSpec, name: Option<String>| flows.push(Flow { spec, name, entry: index });
        match &self.pattern {
            Pattern::Explicit(explicit) => explicit.flows.iter().for_each(|f| {
                let connection = f.spec.connection.map(|carrier| first as u32 + carrier);
                push(FlowSpec { connection, ..f.spec }, f.name.clone());
            }),
            Pattern::Poisson(p) => p.generate(&self.common, seed, entity, &mut |spec| push(spec, None)),
            Pattern::Incast(p) => p.generate(&self.common, seed, entity, &mut |spec| push(spec, None)),
            Pattern::Permutation(p) => {
                p.generate(&self.common, seed, entity, hosts, &mut |spec| push(spec, None))
            }
            Pattern::ManyToMany(p) => p.generate(&self.common, seed, entity, &mut |spec| push(spec, None)),
            Pattern::OnOff(p) => p.generate(&self.common, &mut |spec| push(spec, None)),
        }
        self.shift_starts(seed, entity, &mut flows[first..]);
        let Some(deadlines) = &self.common.deadlines else { return };
        let mut stream = Stream::new(seed, Purpose::Deadlines, entity);
        for flow in &mut flows[first..] {
            // Drawn for every flow, so that a deadline of one's own moves no other's.
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

    /// When its last flow starts, and how long its flows take one after the other at `rate`, roughly: for
    /// estimates of runs that have no stated end.
    pub fn horizon(&self, hosts: u32, rate: Rate) -> (Time, Time) {
        let (last, bytes) = self.last_start_and_bytes(hosts);
        let ps = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.bps());
        (last.saturating_add(self.common.jitter), Time(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    fn last_start_and_bytes(&self, hosts: u32) -> (Time, u64) {
        match &self.pattern {
            Pattern::Explicit(explicit) => {
                let last = explicit.flows.iter().map(|f| f.spec.start).max().unwrap_or_default();
                (last, explicit.flows.iter().map(|f| f.spec.bytes).fold(0, u64::saturating_add))
            }
            Pattern::Poisson(p) => p.horizon(),
            Pattern::Incast(p) => {
                let bytes = p.mean_bytes().saturating_mul(p.senders.len() as u64).saturating_mul(p.repeat);
                (p.start.saturating_add(p.period.saturating_mul(p.repeat)), bytes)
            }
            Pattern::Permutation(p) => (p.start, p.bytes.saturating_mul(u64::from(hosts))),
            Pattern::ManyToMany(p) => {
                (p.start, p.bytes.saturating_mul(p.senders.len() as u64 * u64::from(p.fan_out)))
            }
            Pattern::OnOff(p) => p.horizon(),
        }
    }

    /// Roughly how many bytes all of its flows have.
    pub fn expected_bytes(&self, hosts: u32) -> u64 {
        match &self.pattern {
            Pattern::Poisson(p) => (p.expected_flows() * p.mean_bytes()) as u64,
            Pattern::OnOff(p) => p.horizon().1.saturating_mul(p.periods()),
            _ => self.last_start_and_bytes(hosts).1,
        }
    }

    /// Roughly how many flows it makes, before they are made.
    pub fn expected_flows(&self, hosts: u32) -> f64 {
        match &self.pattern {
            Pattern::Explicit(explicit) => explicit.flows.len() as f64,
            Pattern::Poisson(p) => p.expected_flows(),
            Pattern::Incast(p) => p.senders.len() as f64 * p.repeat as f64,
            Pattern::Permutation(_) => f64::from(hosts),
            Pattern::ManyToMany(p) => p.senders.len() as f64 * f64::from(p.fan_out),
            Pattern::OnOff(p) => p.periods() as f64,
        }
    }
}

/// A host named by number.
fn host(item: &Item<'_>, topology: &Topology) -> Result<u32, ScenarioError> {
    let crate::text::Value::Int(number) = item.value() else {
        return Err(item.wrong("the number of a host"));
    };
    let unknown = || item.fail(Problem::NoSuchHost { host: *number, hosts: u64::from(topology.hosts) });
    u32::try_from(*number).ok().filter(|h| *h < topology.hosts).ok_or_else(unknown)
}

/// Hosts given as a list of numbers, or `first` of them by count.
fn host_set(
    item: &Item<'_>,
    topology: &Topology,
    first: impl Fn(u32) -> Option<Vec<u32>>,
) -> Result<Vec<u32>, ScenarioError> {
    if let crate::text::Value::List(_) = item.value() {
        let hosts = item.list()?.iter().map(|i| host(i, topology)).collect::<Result<Vec<_>, _>>()?;
        if hosts.is_empty() {
            return Err(item.range("at least one host", "an empty list"));
        }
        let mut seen = FxHashSet::default();
        if let Some(twice) = hosts.iter().position(|host| !seen.insert(*host)) {
            let problem = Problem::Contradiction(format!("host {} is listed twice", hosts[twice]));
            return Err(ScenarioError::new(problem, element(item, twice)));
        }
        return Ok(hosts);
    }
    let count = item.count()?;
    first(count).ok_or_else(|| item.range(format!("what {} hosts allow", topology.hosts), count))
}

/// Where the entry of a list is written, or the whole value when it is none.
fn element<'a>(item: &Item<'a>, index: usize) -> &'a Origin {
    match item.value() {
        crate::text::Value::List(nodes) => nodes.get(index).map_or(item.at(), |node| &node.at),
        _ => item.at(),
    }
}

/// Packets that a message may have.
const MOST_PACKETS: u64 = u32::MAX as u64;

/// The size of a message in bytes.
fn message(item: &Item<'_>, context: &Context<'_>) -> Result<u64, ScenarioError> {
    let bytes = item.bytes(1)?;
    check_size(item, bytes, context)?;
    Ok(bytes)
}

fn check_size(item: &Item<'_>, bytes: u64, context: &Context<'_>) -> Result<(), ScenarioError> {
    too_long(bytes, context).map_or(Ok(()), |problem| Err(item.fail(problem)))
}

fn too_long(bytes: u64, context: &Context<'_>) -> Option<Problem> {
    let packets = context.sizes.packets(bytes);
    let text = format!("a message of {bytes} B is {packets} packets, more than can be numbered");
    (packets > MOST_PACKETS).then_some(Problem::Contradiction(text))
}

/// An optional `start`.
fn start(table: &Reader<'_>) -> Result<Time, ScenarioError> {
    table.get("start").map_or(Ok(Time::ZERO), |i| i.time())
}

/// An error unless there is a path between every pair of hosts.
fn check_reachable(at: &Origin, topology: &Topology, src: u32, dst: u32) -> Result<(), ScenarioError> {
    if topology.reachable(src, dst) {
        return Ok(());
    }
    let error = ScenarioError::new(Problem::Unreachable { src, dst }, at);
    Err(error.help("the graph is in pieces: no chain of links joins the two"))
}

/// Resolved keys of an entry.
type Resolved = Map<String, Json>;

fn object(value: Json) -> Resolved {
    match value {
        Json::Object(map) => map,
        other => Map::from_iter([("value".into(), other)]),
    }
}

fn hosts_json(hosts: &[u32]) -> Json {
    json!(hosts)
}
