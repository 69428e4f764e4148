//! Scenarios: TOML with every key checked and every default filled in.

mod changes;
pub mod faults;
mod hosts;
mod idle;
pub mod load;
mod memory;
pub mod path;
pub mod plan;
pub mod run_length;
pub mod sample;
mod steady;
mod tuning;
mod work;

pub use hosts::Hosts;
pub use load::Request;
pub use plan::{Plan, Point};

use crate::foreign::{self, Foreign, Known};
use crate::import;
use crate::model;
use crate::text::{Origin, Problem, ScenarioError, names};
use crate::topology::Topology;
use crate::traffic::{self, Flow, Made};
use crate::{fabric, files};
use headway_network::{
    FabricSpec, FaultSpec, FlowChoice, FlowSpec, GraphError, Node, PortChoice, Routing, RunSpec, SampleSpec,
    TransportSpec, Until,
};
use headway_units::Time;
use rustc_hash::FxHashMap;
use sample::{Flows, Sample};
use serde_json::{Map, Value as Json, json};
use std::sync::{Arc, OnceLock};

/// Version of the simulator, part of every run's identity.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Counts the changes of behaviour: a run of another epoch is another run, although its scenario is the same. A commit
/// that changes what any scenario does raises it; `tests/golden/epoch.digests` finds out where that was forgotten.
pub const EPOCH: u32 = 6;

/// A text form of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// htsim's `.cm`, start times in picoseconds.
    ConnectionMatrix,
    /// Comma-separated: `id,src,dst,bytes,start_s,class,deadline_s`.
    Csv,
}

/// Name and purpose of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Stem of its file, or a text in place of it.
    pub name: String,
    /// Title in one line.
    pub title: String,
    /// Description in prose.
    pub description: String,
    /// The publication it reproduces.
    pub paper: String,
}

/// A scenario, checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name and purpose.
    pub about: About,
    /// Seed of all streams of random numbers.
    pub seed: u64,
    /// Setup of the run; `None` for a scenario that only evaluates a model.
    pub setup: Option<Setup>,
    /// A closed-form model to evaluate.
    pub model: Option<model::Settings>,
    /// The `[report]` table as it stands.
    pub report: Json,
    /// Its variants and sweep.
    pub plan: Plan,
    /// The scales that it writes out.
    written_scales: Vec<String>,
    /// Request that it was loaded by, to load its points.
    pub(crate) request: Request,
}

/// Setup of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of everything random, for estimates from it.
    seed: u64,
    /// Latest end of the run.
    pub stop: Time,
    /// End of a flow, for a run that ends with its last one.
    pub until: Until,
    /// Flows that start earlier are left out of the summary.
    pub warmup: Time,
    /// Links whose utilisation is the bottleneck's; empty for the busiest.
    pub bottleneck: Vec<String>,
    /// Topology of the network.
    pub topology: Topology,
    /// Ports of the network.
    pub fabric: FabricSpec,
    /// Transports; traffic entries refer to them by position.
    pub transports: Vec<TransportSpec>,
    /// Transports that are in no registry.
    foreign: Arc<[Foreign]>,
    /// Start of flows.
    pub start: traffic::Start,
    /// Traffic of the hosts.
    pub traffic: Vec<traffic::Entry>,
    /// Assumptions about files that do not say it themselves, each once.
    pub notes: Vec<String>,
    /// Facts about files of traffic, in sentences.
    pub facts: Vec<String>,
    /// Samples to take.
    pub sample: Option<Sample>,
    /// Faults on links.
    pub faults: Vec<FaultSpec>,
    /// Properties of hosts beyond their wires and transports.
    pub hosts: Hosts,
    /// Bytes that a run may take.
    pub memory_limit: u64,
    /// Credits in flight at the most, once they are counted: that takes its flows, and every estimate asks for them.
    credits: OnceLock<Option<u64>>,
}

/// A run and the names of its flows.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Specification for the simulator.
    pub spec: RunSpec,
    /// Name of each flow.
    pub names: Vec<String>,
    /// Traffic entry of each flow.
    pub entries: Vec<usize>,
    /// Round of each flow in its entry, where flows come in rounds.
    pub rounds: Vec<Option<u32>>,
    /// Steps of the graph, with the names in the scenario.
    pub steps: Vec<traffic::MadeStep>,
    /// Warnings before the run.
    pub warnings: Vec<String>,
}

impl Scenario {
    /// The setup of its run, or an error for a scenario that runs nothing.
    pub fn setup(&self) -> Result<&Setup, ScenarioError> {
        self.setup.as_ref().ok_or_else(|| {
            let text = format!("`{}` evaluates a model; it has no network to run", self.about.name);
            ScenarioError::nowhere(Problem::Contradiction(text))
        })
    }

    /// Its flows for another simulator or a spreadsheet: as an htsim connection matrix, or as a table.
    pub fn export_flows(&self, format: ExportFormat) -> Result<String, ScenarioError> {
        let setup = self.setup()?;
        let made = setup.made(self.seed);
        let graph = made.graph().map_err(|error| setup.no_graph(&error, &made))?;
        let flows = made.flows;
        if let Some(graph) = graph {
            let waiting = (0..).zip(&flows).find(|(flow, _)| graph.waits(*flow) > 0);
            let entry = waiting.map_or(0, |(_, flow)| flow.entry);
            let text = "its flows wait for others or for steps, which a list of flows cannot say";
            return Err(ScenarioError::new(
                Problem::Contradiction(text.into()),
                setup.origin_of(entry, None),
            )
            .help("a run has the times at which they began: `start_s` in flows.parquet"));
        }
        if format == ExportFormat::ConnectionMatrix {
            return Ok(import::cm::write(setup.topology.hosts, flows.iter().map(|f| &f.spec)));
        }
        let (names, _) = setup.names(&flows)?;
        let rows = names.iter().map(String::as_str).zip(flows.iter().map(|f| &f.spec));
        import::csv::write(rows).map_err(|name| {
            let text = format!("a table cannot hold the name `{name}`");
            let entry = flows.iter().find(|f| f.name.as_ref() == Some(&name)).map_or(0, |f| f.entry);
            ScenarioError::new(Problem::Contradiction(text), setup.origin_of(entry, Some(&name)))
                .help("a row of the table is one line, and each has a name: rename the flow")
        })
    }

    /// Reads the scenario again with further overrides (`key=value`) after its own, as for one of its points.
    pub fn with_sets(&self, further: &[String]) -> Result<Scenario, ScenarioError> {
        let request = self.request.with_sets(further);
        if further.iter().any(|set| load::is_of_sweep(set)) {
            request.load()
        } else {
            request.load_point(self, &[])
        }
    }

    /// Everything that a run depends on, and nothing else.
    fn identity(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("seed".into(), self.seed.into());
        if let Some(setup) = &self.setup {
            setup.describe(&mut map);
            if setup.stop == Time::MAX {
                // The former default of such scenarios. All runs that ended before it are the same, and so are their
                // names.
                map.insert("stop".into(), Time::s(100).to_string().into());
            }
        }
        map
    }

    /// The text it was read from and what overrode it: enough to load it again.
    pub fn written_json(&self) -> Json {
        self.request.to_json()
    }

    /// The scenario with every default filled in.
    pub fn resolved_json(&self) -> Json {
        let about = &self.about;
        let mut map = Map::new();
        for (key, text) in [
            ("name", &about.name),
            ("title", &about.title),
            ("description", &about.description),
            ("paper", &about.paper),
        ] {
            map.insert(key.into(), text.as_str().into());
        }
        map.append(&mut self.identity());
        if let Some(model) = &self.model {
            map.insert("model".into(), model.to_json());
        }
        map.insert("report".into(), self.report_json());
        Json::Object(map)
    }

    /// The `[report]` table as it stands.
    pub fn report_json(&self) -> Json {
        self.report.clone()
    }

    /// Identifies (version, epoch, revisions of transports, what is run, seed); titles and reports may change without it.
    pub fn digest(&self) -> String {
        use sha2::Digest;
        let mut hash = sha2::Sha256::new();
        hash.update(format!("{VERSION} {EPOCH}\n"));
        for name in self.setup.as_ref().map(Setup::transport_names).unwrap_or_default() {
            match headway_transport::registry::find_entry(name) {
                // Revision 0 adds nothing, so that transports without revisions keep their digests.
                Some(entry) if entry.revision > 0 => hash.update(format!("{name} {}\n", entry.revision)),
                _ => {}
            }
        }
        hash.update(Json::Object(self.identity()).to_string().as_bytes());
        // 128 bits are enough that no two runs share a name by chance.
        files::hex(&hash.finalize()[..16])
    }

    /// The runs of its sweep, each checked; one run if it sweeps nothing. What it would be at its other
    /// scales is checked as well, but for its size: they may be meant for a larger machine.
    pub fn points(&self) -> Result<Vec<Point>, ScenarioError> {
        self.check_scales()?;
        let points = self.listed_points();
        // The seeds of one combination stand together, and differ in random draws alone.
        // `max(1)`, since `step_by` panics at 0.
        for point in points.iter().step_by(self.plan.seeds.count().max(1)) {
            self.request.load_point(self, &point.overrides)?;
        }
        Ok(points)
    }

    /// Refuses what is wrong at another scale that the scenario writes out, but for its size: it may be meant for a larger machine.
    pub(crate) fn check_scales(&self) -> Result<(), ScenarioError> {
        for scale in &self.written_scales {
            match self.request.at_scale(scale).load() {
                Err(error) if !matches!(error.problem(), Problem::TooBig { .. }) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The runs of its sweep as they are written: each may hold what is wrong for it alone.
    pub fn listed_points(&self) -> Vec<Point> {
        self.points_in(0..usize::MAX)
    }

    /// Some of them, by their positions in the sweep.
    pub fn points_in(&self, range: std::ops::Range<usize>) -> Vec<Point> {
        let Some(setup) = &self.setup else { return Vec::new() };
        let end = range.end.min(self.plan.count());
        self.plan.points_in(range.start.min(end)..end, &setup.transport_names().join("+"))
    }
}

impl Setup {
    fn describe(&self, map: &mut Map<String, Json>) {
        let mut put = |key: &str, value: Json| map.insert(key.into(), value);
        // `identity` puts another value here for digests.
        put("stop", if self.stop == Time::MAX { Json::Null } else { self.stop.to_string().into() });
        // The usual value is left out, so that runs of older scenarios keep their digests.
        if let Some((_, name)) = load::UNTIL.iter().find(|(u, _)| *u == self.until && *u != Until::Received) {
            put("until", (*name).into());
        }
        put("warmup", self.warmup.to_string().into());
        put("bottleneck", json!(self.bottleneck));
        put("topology", self.topology.to_json());
        put("fabric", fabric::fabric_json(&self.fabric));
        put("transport", self.transport_json(&self.transports[0]));
        // Left out for one transport, which keeps the digests of older scenarios.
        if self.transports.len() > 1 {
            put("transports", self.transports.iter().map(|t| self.transport_json(t)).collect());
        }
        let mode = if self.start.line_rate { "line-rate" } else { "as-written" };
        put("start", json!({ "mode": mode, "clump": self.start.clump }));
        put("traffic", self.traffic.iter().map(traffic::Entry::to_json).collect());
        put("sample", self.sample.as_ref().map_or(Json::Null, Sample::to_json));
        put("fault", self.faults.iter().map(faults::to_json).collect());
        if let Some(hosts) = self.hosts.to_json() {
            put("hosts", hosts);
        }
    }

    fn spec(&self, flows: Vec<FlowSpec>, sampled: FlowChoice) -> RunSpec {
        RunSpec {
            topology: self.topology.spec.clone(),
            fabric: self.fabric.clone(),
            transports: self.transports.clone(),
            flows,
            // `resolve` sets it: the seed changes from point to point.
            seed: 0,
            stop: self.stop,
            sample: self.sample.as_ref().map(|s| SampleSpec {
                every: s.every,
                flows: sampled,
                links: s.links.clone(),
                probes: s.probes.clone(),
                most: u64::MAX,
                causes: s.causes,
                volumes: Vec::new(),
            }),
            faults: self.faults.clone(),
            jitter: self.hosts.jitter,
            costs: self.hosts.costs,
            until: self.until,
            graph: None,
        }
    }

    /// The flows of all entries, in order of entry.
    fn flows(&self, seed: u64) -> Vec<Flow> {
        self.made(seed).flows
    }

    /// The flows of all entries and their causes, in order of entry.
    fn made(&self, seed: u64) -> Made {
        let mut made = Made::default();
        for (index, entry) in self.traffic.iter().enumerate() {
            entry.generate(index, seed, self.topology.hosts, &mut made);
        }
        made
    }

    /// By number of the transport, the kernel's TCP where it sends the flows.
    pub fn stacks(&self) -> Vec<Option<traffic::Kernel>> {
        let mut stacks = vec![None; self.transports.len()];
        for entry in &self.traffic {
            stacks[usize::from(entry.common.transport)] = entry.common.kernel;
        }
        stacks
    }

    /// Makes the flows and everything else that a run needs.
    pub fn resolve(&self, seed: u64) -> Result<Resolved, ScenarioError> {
        let estimate = self.check_memory()?;
        let made = self.made(seed);
        let graph = made.graph().map_err(|error| self.no_graph(&error, &made))?;
        let Made { flows, steps, .. } = made;
        let (names, positions) = self.names(&flows)?;
        let sampled = match self.sample.as_ref().map(|s| &s.flows) {
            None | Some(Flows::None) => FlowChoice::None,
            Some(Flows::All) => FlowChoice::All,
            Some(Flows::Named(wanted)) => FlowChoice::Some(find_flows(wanted, &positions)?),
        };
        let mut warnings = self.warnings();
        if flows.is_empty() && !self.traffic.iter().all(|entry| entry.pattern.is_external()) {
            let computes = !steps.is_empty();
            let why = "no flow starts: the arrival process drew none within its duration";
            warnings.push(if computes { "no flow starts: there are only computations" } else { why }.into());
        }
        let entries: Vec<usize> = flows.iter().map(|f| f.entry).collect();
        let rounds = flows.iter().map(|f| f.round).collect();
        let specs = flows.into_iter().map(|f| f.spec).collect();
        let mut spec = RunSpec { seed, graph: graph.map(Arc::new), ..self.spec(specs, sampled) };
        if let Some(sample) = &mut spec.sample {
            if self.sample.as_ref().is_some_and(|asked| asked.volumes) {
                // Flows are in the order of their entries (`made`).
                let first = |entry: usize| entries.partition_point(|other| *other < entry) as u32;
                sample.volumes = (0..self.traffic.len()).map(first).collect();
            }
            // A run without a stated end may go on for longer than was expected of it.
            let others = estimate.memory_bytes.saturating_sub(estimate.sample_bytes);
            sample.most = self.memory_limit.saturating_sub(others) / headway_network::PER_SAMPLE;
        }
        Ok(Resolved { spec, names, entries, rounds, steps, warnings })
    }

    /// Facts about the files of its traffic, and about memory that ports share, in sentences.
    pub fn all_facts(&self) -> Vec<String> {
        let memory = crate::switch_memory::facts(&self.topology, &self.fabric);
        self.facts.iter().cloned().chain(memory).collect()
    }

    /// The chip that could be its switch which carries most, with the chip's memory.
    pub fn fitting_chip(&self) -> Option<(headway_network::Chip, headway_network::ChipMemory)> {
        crate::switch_memory::fitting_chip(&self.topology, &self.fabric)
    }

    /// Warnings before it is run: loads that cannot be carried, transports in a network that does not suit them.
    pub fn warnings(&self) -> Vec<String> {
        let overload = self.traffic.iter().filter_map(|entry| entry.pattern.warning());
        let fabric = self
            .misfits()
            .chain(self.hashed_subflows())
            .chain(self.uneven_routes())
            .chain(self.unseen_entropies())
            .chain(self.too_fast());
        let notes = self.notes.iter().cloned();
        let memory = crate::switch_memory::warn_of_default(&self.topology, &self.fabric);
        let rest = self.tiny_buffer().into_iter().chain(memory).chain(self.timing_warnings());
        notes.chain(overload).chain(fabric).chain(rest).collect()
    }

    /// Ports that cannot hold a full packet of data.
    fn tiny_buffer(&self) -> Option<String> {
        let full = self.fabric.sizes.full_wire();
        // Machines send from hosts without a queue, so that their ports need no room.
        let some = self.fabric.at.iter().filter(|at| at.ports != PortChoice::Hosts);
        let mut buffers = std::iter::once(self.fabric.buffer).chain(some.map(|at| at.buffer));
        buffers.find(|buffer| !buffer.data.admits(0, 0, full)).map(|buffer| {
            let room = fabric::show_limit(buffer.data);
            format!(
                "`fabric.buffer` of {room} has no room for a full packet, {full} bytes on the wire: all that have to wait are dropped"
            )
        })
    }

    /// Declarations of its transports, once for each name.
    fn named_transports(&self) -> impl Iterator<Item = Known> {
        self.transport_names().into_iter().filter_map(|name| foreign::find(name, &self.foreign))
    }

    /// Their names, each once.
    fn transport_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for transport in &self.transports {
            if !names.contains(&transport.name.as_str()) {
                names.push(&transport.name);
            }
        }
        names
    }

    /// Every key of a transport with its value.
    fn transport_json(&self, choice: &TransportSpec) -> Json {
        fabric::transport_json(choice, &self.foreign)
    }

    /// The transports in it that are in no registry.
    pub fn foreign_transports(&self) -> Vec<&str> {
        let own = |name: &&str| self.foreign.iter().any(|foreign| foreign.name == *name);
        self.transport_names().into_iter().filter(own).collect()
    }

    /// Transports that do not slow down to the slowest link, over switches that drop excess packets.
    fn too_fast(&self) -> impl Iterator<Item = String> {
        let slowest = self.topology.spec.slowest();
        let lossy = self.fabric.pfc.is_none();
        self.transports.iter().filter(move |_| lossy).filter_map(move |transport| {
            let least = headway_transport::registry::least_rate(&transport.name, &transport.params)?;
            (least.bps() > slowest.bps()).then(|| {
                format!(
                    "`{}` sends at {least} at the least (`min_rate`), and the slowest link carries {slowest}: where that link's buffer is full, a message may never get through; set a lower `min_rate`, or lossless switches by `[fabric.pfc]`",
                    transport.name
                )
            })
        })
    }

    /// Transports over ports that do not suit them. Those that run over any queue are at home everywhere.
    fn misfits(&self) -> impl Iterator<Item = String> {
        let ports = self.fabric.discipline.as_str();
        let homes = self.named_transports();
        let elsewhere = homes
            .filter(move |e| ports != e.discipline && !headway_fabric::registry::is_plain(&e.discipline));
        elsewhere.map(move |e| {
            format!("`{}` is meant to run over `{}`, and the ports are `{ports}`", e.name, e.discipline)
        })
    }

    /// Transports whose subflows are to take different paths where switches choose for them.
    fn hashed_subflows(&self) -> impl Iterator<Item = String> {
        let hashed = self.has_many_paths() && self.fabric.routing != Routing::Pinned;
        let asks = |t: &&TransportSpec| headway_transport::registry::needs_pinned_paths(&t.name, &t.params);
        self.transports.iter().filter(move |_| hashed).filter(asks).map(|t| {
            format!(
                "`path_manager = \"full-mesh\"` of `{}` needs `fabric.routing = \"pinned\"`: switches choose the paths here, and subflows may meet",
                t.name
            )
        })
    }

    /// Transports that need both directions of a flow on the same links, where switches choose for each direction.
    fn uneven_routes(&self) -> impl Iterator<Item = String> {
        let meet = matches!(self.fabric.routing, Routing::Symmetric | Routing::Pinned);
        let uneven = self.has_many_paths() && !meet;
        self.named_transports().filter(move |e| uneven && e.symmetric).map(|e| {
            format!(
                "`{}` needs `fabric.routing = \"symmetric\"`: its credits make room on other links than its data takes, which is lost or sent again",
                e.name
            )
        })
    }

    /// Transports that spread their packets by entropies, where switches choose without looking at them.
    fn unseen_entropies(&self) -> impl Iterator<Item = String> {
        let unseen = self.has_many_paths() && self.fabric.routing.divides_flows();
        let routing = fabric::routing_name(self.fabric.routing);
        self.named_transports()
            .filter(move |known| unseen && known.params.iter().any(|param| param.name == "spraying"))
            .map(move |known| {
                format!(
                    "`spraying` of `{}` has no effect with `fabric.routing = \"{routing}\"`: switches choose the path of each packet here, and `ecmp` would leave it to the packet",
                    known.name
                )
            })
    }

    /// True if switches have paths to choose from.
    fn has_many_paths(&self) -> bool {
        self.topology.spec.has_many_paths()
    }

    /// Names of flows: their own, or their number.
    fn names(&self, flows: &[Flow]) -> Result<(Vec<String>, FxHashMap<String, u32>), ScenarioError> {
        // All names come first: a number may be the name of a later flow.
        let mut positions: FxHashMap<String, u32> = FxHashMap::default();
        for (position, flow) in flows.iter().enumerate() {
            let Some(name) = &flow.name else { continue };
            if positions.insert(name.clone(), position as u32).is_some() {
                let at = self.origin_of(flow.entry, Some(name));
                let problem = Problem::Contradiction(format!("two flows are called `{name}`"));
                return Err(
                    ScenarioError::new(problem, at).help("results and samples tell flows apart by name")
                );
            }
        }
        let lookup = matches!(self.sample.as_ref().map(|s| &s.flows), Some(Flows::Named(_)));
        let mut names = Vec::with_capacity(flows.len());
        for (position, flow) in flows.iter().enumerate() {
            let name = match &flow.name {
                Some(name) => name.clone(),
                None => {
                    let number = position.to_string();
                    // Another flow may already have this number as its name.
                    let name = if positions.contains_key(&number) { format!("#{number}") } else { number };
                    // There may be millions of flows, which take memory only where samples name some of them.
                    if lookup {
                        positions.insert(name.clone(), position as u32);
                    }
                    name
                }
            };
            names.push(name);
        }
        Ok((names, positions))
    }

    /// An error about flows that wait for each other.
    fn no_graph(&self, error: &GraphError, made: &Made) -> ScenarioError {
        let entry_of = |node: &Node| match node {
            Node::Flow(flow) => made.flows[*flow as usize].entry,
            Node::Step(step) => made.steps[*step as usize].entry,
        };
        let name_of = |node: &Node| match node {
            Node::Flow(flow) => made.flows[*flow as usize].name.clone().unwrap_or_else(|| flow.to_string()),
            Node::Step(step) => {
                made.steps[*step as usize].name.clone().unwrap_or_else(|| format!("step {step}"))
            }
        };
        let (entry, text) = match error {
            GraphError::Cycle(nodes) => {
                // The error stands at the first flow of the circle: any would do.
                let names: Vec<String> = nodes.iter().map(name_of).collect();
                (nodes.first().map_or(0, entry_of), traffic::waiting::cycle(&names))
            }
            other => (0, other.to_string()),
        };
        ScenarioError::new(Problem::Contradiction(text), &self.traffic[entry].at)
    }

    /// Place of the last flow of this name, or of its traffic entry.
    pub(crate) fn origin_of(&self, entry: usize, name: Option<&str>) -> &Origin {
        let entry = &self.traffic[entry];
        let named = entry.pattern.written().iter().rev().find(|f| f.name.as_deref() == name);
        named.map_or(&entry.at, |f| &f.at)
    }
}

fn find_flows(
    wanted: &[(String, Origin)],
    positions: &FxHashMap<String, u32>,
) -> Result<Vec<u32>, ScenarioError> {
    let find = |(name, at): &(String, Origin)| {
        positions.get(name).copied().ok_or_else(|| {
            let mut known: Vec<&str> = positions.keys().map(String::as_str).collect();
            // Of names that are equally near, the suggestion is the same in every run.
            known.sort_unstable();
            let problem = Problem::NoSuchName { what: "flow", name: name.clone() };
            ScenarioError::new(problem, at).maybe_help(names::name_suggestion(name, known))
        })
    };
    wanted.iter().map(find).collect()
}
