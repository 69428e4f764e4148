//! From a file and overrides to a scenario.

use super::plan;
use super::sample;
use super::{About, Scenario, Setup};
use crate::catalogue;
use crate::fabric;
use crate::foreign::Foreign;
use crate::model;
use crate::text::overrides::{self, Override};
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Source, Table, Value, decode, names, parse};
use crate::topology::{self, Topology};
use crate::traffic::{self, Start};
use headway_network::{
    BuildError, FabricSpec, Fault, FaultSpec, LinkChoice, Lossless, Network, Routing, Surplus, Until,
};
use headway_units::Time;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Event that a run waits for, with its word in a scenario.
pub(super) const UNTIL: [(Until, &str); 2] = [(Until::Received, "received"), (Until::Known, "known")];
/// Memory limit where neither the scenario nor the system says one.
const DEFAULT_MEMORY: u64 = 16_000_000_000;

/// A scenario's text, with its overrides and scale.
#[derive(Clone, Debug)]
pub struct Request {
    source: Arc<Source>,
    name: String,
    folder: PathBuf,
    sets: Vec<Arc<str>>,
    scale: Option<String>,
    foreign: Arc<[Foreign]>,
    /// The tree as every point has it before it is changed, once it was computed.
    base: Arc<OnceLock<(Table, Origin)>>,
}

impl Request {
    /// A scenario in a file.
    #[allow(clippy::disallowed_methods, reason = "scenarios are files, and this is where they are read")]
    pub fn file(path: &Path, sets: &[String], scale: Option<&str>) -> Result<Request, ScenarioError> {
        let bytes = std::fs::read(path).map_err(|error| {
            let reason = error.to_string();
            ScenarioError::nowhere(Problem::Unreadable { path: path.display().to_string(), reason })
        })?;
        let text = decode(&path.display().to_string(), bytes)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let source = Source::new(path.display().to_string(), text);
        Ok(Request {
            source,
            name,
            folder,
            sets: sets.iter().map(|set| set.as_str().into()).collect(),
            scale: scale.map(str::to_string),
            foreign: Arc::default(),
            base: Arc::default(),
        })
    }

    /// A scenario in a string; relative paths in it start at `folder`.
    pub fn text(text: &str, name: &str, folder: &Path, sets: &[String], scale: Option<&str>) -> Request {
        Request {
            source: Source::new(name, text),
            name: name.into(),
            folder: folder.to_path_buf(),
            sets: sets.iter().map(|set| set.as_str().into()).collect(),
            scale: scale.map(str::to_string),
            foreign: Arc::default(),
            base: Arc::default(),
        }
    }

    /// Adds transports that are in no registry; an error if the name of one is taken.
    pub fn with_foreign(self, foreign: Vec<Foreign>) -> Result<Request, ScenarioError> {
        for (place, one) in foreign.iter().enumerate() {
            let taken = headway_transport::registry::NAMES.contains(&one.name.as_str())
                || foreign[..place].iter().any(|before| before.name == one.name);
            if taken {
                let text = format!("there is a transport called `{}` already", one.name);
                let error = ScenarioError::nowhere(Problem::Contradiction(text));
                return Err(error.help("give your own another name"));
            }
            if headway_fabric::registry::find(&one.discipline).is_none() {
                let problem = Problem::NoSuchName { what: "port discipline", name: one.discipline.clone() };
                let nearest =
                    names::name_suggestion(&one.discipline, headway_fabric::registry::NAMES.iter().copied());
                return Err(ScenarioError::nowhere(problem).maybe_help(nearest));
            }
        }
        Ok(Request { foreign: foreign.into(), ..self })
    }

    /// Reads and checks everything.
    pub fn load(&self) -> Result<Scenario, ScenarioError> {
        self.load_with(&[])
    }

    /// Reads and checks everything, with further overrides after the request's own.
    pub(crate) fn load_with(&self, further: &[Override]) -> Result<Scenario, ScenarioError> {
        let (mut root, at) = self.document()?;
        // From the text, before anything changes it.
        let written = plan::written_scales(&root);
        let sets = self.overrides()?;
        self.apply(&mut root, &sets, further)?;
        let scenario = self.read(&root, &at, None).map_err(catalogue::with_hint)?;
        Ok(Scenario { written_scales: written, ..scenario })
    }

    /// Reads and checks a point of `whole`, whose text and scale this has, too.
    ///
    /// Variants and the values of swept keys are read once, with the whole: a point costs the same however many there are.
    pub(crate) fn load_point(
        &self,
        whole: &Scenario,
        further: &[Override],
    ) -> Result<Scenario, ScenarioError> {
        if further.iter().any(|set| is_of_sweep(&set.path)) {
            return self.load_with(further);
        }
        let (base, at) = self.base()?;
        let sets = self.sets.iter().filter(|set| !is_of_sweep(set));
        let sets: Vec<Override> = sets.map(|set| overrides::argument(set)).collect::<Result<_, _>>()?;
        let mut root = base.clone();
        overrides::apply_all(&mut root, &sets)?;
        overrides::apply_all(&mut root, further)?;
        let scenario = self.read(&root, at, Some(&whole.plan)).map_err(catalogue::with_hint)?;
        Ok(Scenario { written_scales: whole.written_scales.clone(), ..scenario })
    }

    /// The tree at the scale, without keys that only sweeps read.
    fn base(&self) -> Result<&(Table, Origin), ScenarioError> {
        // Not by `get_or_init` alone, since computing it may fail.
        if let Some(found) = self.base.get() {
            return Ok(found);
        }
        let (mut root, at) = self.document()?;
        let scale = plan::scale(&root, self.scale.as_deref())?;
        overrides::apply_all(&mut root, &scale)?;
        // After the scale, which may set keys in these tables.
        root.entries.retain(|entry| !OF_SWEEPS.contains(&entry.key.as_str()));
        Ok(self.base.get_or_init(|| (root, at)))
    }

    /// The text as a tree.
    fn document(&self) -> Result<(Table, Origin), ScenarioError> {
        let document = parse::document(&self.source)?;
        // An empty file is likely a mistake, unless overrides make up the whole scenario.
        match document.value {
            Value::Table(root) if root.entries.is_empty() && self.sets.is_empty() => {
                let problem = Problem::Contradiction("the scenario is empty".into());
                let help = "`headway new FILE` writes a small one with comments";
                Err(ScenarioError::new(problem, &Origin::line(&self.source, 1)).help(help))
            }
            Value::Table(root) => Ok((root, document.at)),
            _ => Err(ScenarioError::nowhere(Problem::Syntax("a scenario is a table".into()))),
        }
    }

    /// Overrides from `--set`.
    pub(super) fn overrides(&self) -> Result<Vec<Override>, ScenarioError> {
        self.sets.iter().map(|s| overrides::argument(s)).collect()
    }

    /// Changes the tree by the scale, by `sets`, and by the last changes.
    fn apply(&self, root: &mut Table, sets: &[Override], further: &[Override]) -> Result<(), ScenarioError> {
        let scale = plan::scale(root, self.scale.as_deref())?;
        overrides::apply_all(root, &scale)?;
        overrides::apply_all(root, sets)?;
        overrides::apply_all(root, further)
    }

    /// The tree as it is read at a point, with these overrides of its own.
    pub(super) fn tree(&self, sets: &[Override], point: &[Override]) -> Result<Table, ScenarioError> {
        let (mut root, _) = self.document()?;
        self.apply(&mut root, sets, point)?;
        Ok(root)
    }

    /// The tree as it is read at a point, without keys that only sweeps read.
    pub(super) fn tree_of_point(
        &self,
        sets: &[Override],
        point: &[Override],
    ) -> Result<Table, ScenarioError> {
        let mut root = self.base()?.0.clone();
        let sets: Vec<Override> = sets.iter().filter(|set| !is_of_sweep(&set.path)).cloned().collect();
        overrides::apply_all(&mut root, &sets)?;
        overrides::apply_all(&mut root, point)?;
        Ok(root)
    }

    /// A request with further overrides after those of this one.
    pub(crate) fn with_sets(&self, further: &[String]) -> Request {
        let further = further.iter().map(|set| set.as_str().into());
        // `base` stays, which holds the tree before any override.
        Request { sets: self.sets.iter().cloned().chain(further).collect(), ..self.clone() }
    }

    /// All that is needed to load it again, from anywhere.
    #[allow(clippy::disallowed_methods, reason = "a relative folder is one of this process")]
    pub(crate) fn to_json(&self) -> serde_json::Value {
        // Absolute: it may be loaded again from another working directory.
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        serde_json::json!({ "name": self.name, "folder": folder, "text": self.source.text, "sets": self.sets.iter().map(|set| &**set).collect::<Vec<&str>>(),
            "scale": self.scale })
    }

    /// The same scenario at another scale.
    pub(crate) fn at_scale(&self, scale: &str) -> Request {
        // The tree of `base` is of the old scale.
        Request { scale: Some(scale.into()), base: Arc::default(), ..self.clone() }
    }

    /// The scenario that a tree holds; `plan` is its variation, if that is no longer in the tree.
    fn read(&self, root: &Table, at: &Origin, plan: Option<&plan::Plan>) -> Result<Scenario, ScenarioError> {
        let table = Reader::root(root, at, "the scenario");
        // First of all, so that a misspelt table is reported as such and not as one that is missing.
        table.refuse_unknown(&[ABOUT_KEYS, SETUP_KEYS].concat())?;
        let text = |key: &str| table.get(key).map_or(Ok(""), |i| i.text()).map(str::to_string);
        let about = About {
            name: self.name.clone(),
            title: text("title")?,
            description: text("description")?,
            paper: text("paper")?,
        };
        // TOML's integers have a sign.
        let seed = table.get("seed").map_or(Ok(1), |i| i.int(0, i64::MAX as u64))?;
        let report = match table.get("report") {
            Some(item) => item.table().map(|_| item.value().to_json())?,
            None => serde_json::json!({}),
        };
        let sweep = table.get("sweep").map(|i| i.table()).transpose()?;
        let plan = match plan {
            Some(plan) => plan.seeded(seed),
            None => plan::read(root, sweep.as_ref(), seed)?,
        };
        // Read before anything else, by the plan.
        let _ = (table.get("variants"), table.get("scale"));
        let model = table.get("model").map(|i| model::read(&i)).transpose()?;
        let setup = match table.get("topology") {
            None if model.is_some() => None,
            None if draws_model(&report) => {
                let problem = Problem::MissingKey { key: "model".into(), table: table.name() };
                let help = "the figure `model` draws the scenario's closed-form model; with a [topology] there is something to run";
                return Err(ScenarioError::new(problem, table.at()).help(help));
            }
            _ => Some(read_setup(&table, &self.folder, &self.foreign, seed)?),
        };
        match setup {
            Some(_) => table.finish(&[], None)?,
            // Keys of a network are named in the error: without one they would have no effect.
            None => table.finish(SETUP_KEYS, Some("a model and no [topology]".into()))?,
        }
        let request = self.clone();
        Ok(Scenario { about, seed, setup, model, report, plan, written_scales: Vec::new(), request })
    }
}

/// Tables of the root that only sweeps read.
pub(super) const OF_SWEEPS: [&str; 2] = ["sweep", "variants"];

/// True if an override, or its path, is of one of these tables.
pub(super) fn is_of_sweep(set: &str) -> bool {
    OF_SWEEPS.contains(&set.split(['.', '=']).next().unwrap_or_default().trim())
}

/// Keys of the root for a scenario's description, its sizes, its variants and its report.
const ABOUT_KEYS: &[&str] =
    &["title", "description", "paper", "seed", "report", "sweep", "variants", "scale", "model"];

/// Keys of the root that a scenario without a network does not use.
const SETUP_KEYS: &[&str] = &[
    "stop",
    "until",
    "warmup",
    "bottleneck",
    "memory_limit",
    "topology",
    "fabric",
    "transport",
    "start",
    "traffic",
    "sample",
    "fault",
    "hosts",
];

/// True if the report draws a model, which needs no network.
fn draws_model(report: &serde_json::Value) -> bool {
    report.get("figure").is_some_and(|figure| match figure.as_array() {
        Some(figures) => figures.iter().any(|f| f == "model"),
        None => figure == "model",
    })
}

fn read_setup(
    table: &Reader<'_>,
    folder: &Path,
    foreign: &Arc<[Foreign]>,
    seed: u64,
) -> Result<Setup, ScenarioError> {
    let topology_item = table.need("topology")?;
    let topology = topology::read(&topology_item.table()?, folder)?;
    let memory_limit = match table.get("memory_limit") {
        Some(item) => item.bytes(1)?,
        None => physical_memory().unwrap_or(DEFAULT_MEMORY),
    };
    // Before anything is made in proportion to the network.
    super::memory::check_network(&topology, memory_limit)?;
    let own_item = table.get("transport");
    let own = own_item.as_ref().map(|item| fabric::transport(item, foreign)).transpose()?;
    let start = read_start(table)?;
    let fabric_table = table.get("fabric").map(|i| i.table()).transpose()?;
    // Traffic depends on sizes and routing, the default discipline on the transports that traffic names.
    let at = own_item.as_ref().map_or(topology_item.at(), Item::at).clone();
    let probe = fabric::sizes_and_routing(fabric_table.as_ref())?;
    let (sizes, routing) = (probe.0, probe.1.unwrap_or(Routing::Ecmp));
    let transports = RefCell::default();
    let context = traffic::Context {
        topology: &topology,
        sizes,
        routing,
        folder,
        start,
        foreign,
        own: own.as_ref(),
        transports,
        notes: RefCell::default(),
        facts: RefCell::default(),
    };
    let traffic_item = table.need("traffic")?;
    let mut entries = Vec::new();
    let items = traffic_item.list().map_err(|e| e.help("traffic is a list of tables: write [[traffic]]"));
    for item in items? {
        entries.push(traffic::read(&item, &context)?);
    }
    if entries.is_empty() {
        return Err(traffic_item.range("at least one entry", "an empty list"));
    }
    let traffic::Context { transports, notes, facts, .. } = context;
    let (transports, mut notes, facts) = (transports.into_inner(), notes.into_inner(), facts.into_inner());
    // First what the topology assumes, which is read first.
    notes.splice(0..0, topology.notes.iter().cloned());
    let mut said = rustc_hash::FxHashSet::default();
    notes.retain(|note| said.insert(note.clone()));
    if let (Some(item), Some(own)) = (&own_item, &own)
        && !transports.has_own(own)
    {
        let problem =
            Problem::Contradiction("[transport] has no effect: every [[traffic]] names its own".into());
        return Err(item.fail(problem));
    }
    let mut transports = transports.specs;
    let place = |number: usize| {
        let entry = entries.iter().find(|entry| usize::from(entry.common.transport) == number);
        entry.map_or_else(|| at.clone(), |entry| entry.at.clone())
    };
    let fabric = fabric::read(fabric_table.as_ref(), &transports, foreign, &topology, &at, &place)?;
    let hosts = super::hosts::read(table)?;
    let fabric = FabricSpec { host_queue: hosts.queue, ..fabric };
    super::tuning::tune(&mut transports, &entries, &topology, &fabric);
    let stop = table.get("stop").map_or(Ok(Time::MAX), |i| i.period())?;
    let until = table.get("until").map_or(Ok(0), |i| i.choice(&UNTIL.map(|(_, name)| name)))?;
    let warmup_item = table.get("warmup");
    let warmup = warmup_item.as_ref().map_or(Ok(Time::ZERO), |i| i.time())?;
    // Nothing would be left to measure.
    if let Some(item) = warmup_item.filter(|_| warmup >= stop) {
        return Err(item.range(format!("shorter than the run, {stop}"), warmup));
    }
    let mut setup = Setup {
        seed,
        stop,
        until: UNTIL[until].0,
        warmup,
        bottleneck: Vec::new(),
        topology,
        fabric,
        transports,
        foreign: Arc::clone(foreign),
        start,
        traffic: entries,
        notes,
        facts,
        sample: None,
        faults: Vec::new(),
        hosts,
        memory_limit,
        credits: OnceLock::new(),
    };
    // Names of links are made from the network itself: not before it is known to fit.
    super::steady::settle(&mut setup, table.get("warmup").is_some())?;
    check_paths(&setup)?;
    check_external(&setup)?;
    read_links(table, &mut setup)?;
    check_volumes(&setup)?;
    check_ports(&setup)?;
    if let Some(item) = fabric_table.as_ref().and_then(|table| table.get("pfc")) {
        check_lossless(&setup).map_err(|error| fabric::no_pfc(&item, &error))?;
    }
    // Again: samples and faults are known only now.
    setup.check_memory()?;
    Ok(setup)
}

/// Refuses a second entry for messages of another program.
fn check_external(setup: &Setup) -> Result<(), ScenarioError> {
    let Some(second) = setup.traffic.iter().filter(|entry| entry.pattern.is_external()).nth(1) else {
        return Ok(());
    };
    let text = "two [[traffic]] entries are of kind = \"external\", and messages do not say which they mean";
    Err(ScenarioError::new(Problem::Contradiction(text.into()), &second.at))
}

/// Messages of another program do not belong to the flows of any entry.
fn check_volumes(setup: &Setup) -> Result<(), ScenarioError> {
    let Some(sample) = setup.sample.as_ref().filter(|sample| sample.volumes) else { return Ok(()) };
    if !setup.traffic.iter().any(|entry| entry.pattern.is_external()) {
        return Ok(());
    }
    let text = "`volumes` are told apart by [[traffic]] entries, and messages of another program (kind = \"external\") come while the run goes on";
    Err(ScenarioError::new(Problem::Contradiction(text.into()), &sample.every_at))
}

/// Refuses what interfaces of several ports do not go with.
fn check_ports(setup: &Setup) -> Result<(), ScenarioError> {
    let spec = &setup.topology.spec;
    if !setup.fabric.bonded || spec.interfaces() == spec.size().hosts {
        return Ok(());
    }
    let causes = setup.sample.as_ref().is_some_and(|sample| sample.causes);
    let network = Network::build(spec, &setup.fabric);
    let checked =
        network.and_then(|network| headway_network::check_ports(&network, &setup.hosts.costs, causes));
    checked.map_err(|error| {
        let help = "with routing = \"ecmp\" and a transport whose messages take one path, every port is an interface";
        ScenarioError::new(Problem::Topology(error.to_string()), &setup.topology.size.at).help(help)
    })
}

/// Checks that lossless switches go with the rest of the scenario.
fn check_lossless(setup: &Setup) -> Result<(), BuildError> {
    headway_network::lossless::check_around(&setup.hosts.costs)?;
    let network = Network::build(&setup.topology.spec, &setup.fabric)?;
    // Packets that delayed hosts send late are under way as well.
    let surplus = Surplus::new(setup.hosts.jitter, &setup.transports, &setup.faults);
    Lossless::new(&network, surplus).map(drop)
}

/// Refuses a path number beyond the paths that there are between the two hosts.
fn check_paths(setup: &Setup) -> Result<(), ScenarioError> {
    let flows = setup.traffic.iter().flat_map(|entry| entry.pattern.written());
    let mut network = None;
    for flow in flows {
        let (Some(path), Some(at)) = (flow.spec.path, &flow.path_at) else { continue };
        let built = || Network::build(&setup.topology.spec, &setup.fabric).ok();
        // Built for the first flow with a path number, and not for scenarios without any.
        let Some(network) = network.get_or_insert_with(built) else { return Ok(()) };
        let (src, dst) = (flow.spec.src, flow.spec.dst);
        let paths = network.paths(src, dst);
        if u64::from(path) >= paths {
            let between = format!("from host {src} to host {dst}");
            let text = match paths {
                1 => format!("there is no path {path} {between}: there is one, path 0"),
                n => format!("there is no path {path} {between}: there are {n}, numbered from 0"),
            };
            return Err(ScenarioError::new(Problem::Contradiction(text), at));
        }
    }
    Ok(())
}

/// Reads what names links: `bottleneck`, `[sample]` and `[[fault]]`.
fn read_links(table: &Reader<'_>, setup: &mut Setup) -> Result<(), ScenarioError> {
    let names = || network_links(&setup.topology, &setup.fabric);
    let bottleneck = table.get("bottleneck").map(|i| sample::link_list(&i, &names)).transpose()?;
    let bottleneck = bottleneck.unwrap_or_default();
    let sampling = table.get("sample").map(|i| i.table()).transpose()?;
    let sample = sampling
        .map(|t| sample::read(&t, &setup.topology, &names, &bottleneck, &setup.transports))
        .transpose()?;
    let switches = || network_switches(&setup.topology, &setup.fabric);
    let known = topology::link_choice::Known { links: &names, switches: &switches };
    let mut faults =
        table.get("fault").map(|i| super::faults::read(&i, &known)).transpose()?.unwrap_or_default();
    // Losses that a file states for its links are faults like those of the scenario.
    faults.extend(setup.topology.losses.iter().map(|(links, loss)| FaultSpec {
        links: LinkChoice::Some(links.clone()),
        kind: None,
        what: Fault::Random { loss: *loss, duplicate: 0.0, reorder: 0.0, reorder_by: Time::ZERO },
    }));
    (setup.bottleneck, setup.sample, setup.faults) = (bottleneck, sample, faults);
    Ok(())
}

/// Names of all links; empty if the network cannot be built, which is reported elsewhere.
fn network_links(topology: &Topology, fabric: &FabricSpec) -> Vec<String> {
    Network::build(&topology.spec, fabric).map(|n| n.link_names()).unwrap_or_default()
}

/// Names of all switches, with the same exception.
fn network_switches(topology: &Topology, fabric: &FabricSpec) -> Vec<String> {
    Network::build(&topology.spec, fabric).map(|n| n.switch_names()).unwrap_or_default()
}

fn read_start(table: &Reader<'_>) -> Result<Start, ScenarioError> {
    let Some(item) = table.get("start") else { return Ok(Start { line_rate: false, clump: 1 }) };
    let table = item.table()?;
    let mode = table.get("mode").map_or(Ok(0), |i| i.choice(&["as-written", "line-rate"]))?;
    let clump = table.get("clump").map_or(Ok(1), |i| i.count())?;
    table.finish(&[], None)?;
    Ok(Start { line_rate: mode == 1, clump })
}

/// The machine's memory, or the part that a container may take, where the system says.
#[allow(clippy::disallowed_methods, reason = "a limit of this machine, not part of any run")]
fn physical_memory() -> Option<u64> {
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    // Without a limit the file has the word `max`, which is no number and so does not count.
    let container = container.and_then(|text| text.trim().parse::<u64>().ok());
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(container.unwrap_or(u64::MAX).min(kilobytes * 1024))
}
