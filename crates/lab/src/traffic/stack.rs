//! `stack = "kernel"`: flows that are TCP connections of the operating system where packets are real, and in the
//! simulator messages of the machine that stands for them.

use crate::fabric::param_json;
use crate::text::{Item, Problem, Reader, ScenarioError, Value, names};
use headway_network::{Routing, TransportSpec};
use headway_params::ParamValue;
use serde_json::{Map, Value as Json};

/// A congestion control of Linux, and its counterpart in the simulator.
struct Control {
    /// Its name in the kernel.
    name: &'static str,
    /// The machine of one connection.
    machine: &'static str,
    /// The machine of a multipath connection whose subflows have it, where there is one.
    multipath: Option<&'static str>,
    /// The machine of a connection that answers marks though the control does not ask for them, and what makes it that.
    marked: Option<(&'static str, &'static [(&'static str, f64)])>,
    /// True if it asks for marks by itself.
    asks: bool,
    /// Parameters that `headway kernel load` sets, by the names that the machine has for them.
    settings: &'static [&'static str],
}

const PLAIN: Control =
    Control { name: "", machine: "", multipath: None, marked: None, asks: false, settings: &[] };
/// Halves the window on a mark, once a window of data: L2DCT's rule as its weight goes to 0.
const HALVING: (&str, &[(&str, f64)]) = ("l2dct", &[("weight", 0.001), ("increase", 1.0)]);
const SHARE: &[&str] = &["g", "alpha_init", "min_window", "slow_start"];
const WEIGHTS: &[&str] = &[
    "g",
    "alpha_init",
    "min_window",
    "slow_start",
    "weights",
    "w_max",
    "w_min",
    "young",
    "old",
    "weight",
    "increase",
];
const QUEUED: &[&str] = &["alpha", "beta", "gamma"];

/// Parameters that are set, by name.
type Set = Vec<(String, ParamValue)>;

const CONTROLS: &[Control] = &[
    Control { name: "reno", machine: "tcp", multipath: Some("mptcp-reno"), marked: Some(HALVING), ..PLAIN },
    Control { name: "cubic", machine: "cubic", multipath: Some("mptcp-cubic"), ..PLAIN },
    Control { name: "bbr", machine: "bbr", ..PLAIN },
    Control { name: "dctcp", machine: "dctcp", asks: true, settings: SHARE, ..PLAIN },
    Control { name: "d2tcp", machine: "d2tcp", asks: true, settings: SHARE, ..PLAIN },
    Control { name: "l2dct", machine: "l2dct", asks: true, settings: WEIGHTS, ..PLAIN },
    Control { name: "vegas", machine: "vegas", settings: QUEUED, ..PLAIN },
];

/// Places on real hosts in which Headway runs the transport called `name`.
pub fn runs_here(name: &str) -> Vec<String> {
    let kernel = CONTROLS.iter().find(|control| control.machine == name || control.multipath == Some(name));
    let own = kernel.map(|control| format!("kernel: stack = \"kernel\" with `{}`", control.name));
    std::iter::once("user space: over UDP".to_string()).chain(own).collect()
}

/// The preset of the machines that does as Linux does.
const PRESET: (&str, &str) = ("preset", "linux-4.19");
/// Parameter of the machines for the packets of a first window.
const FIRST: &str = "initial_window";
/// The longest first window.
const MOST_WINDOW: u64 = 1000;
/// Setting by which subflows take different paths, if paths are numbered.
const MESH: (&str, &str) = ("path_manager", "full-mesh");
/// Keys of an entry that say how a flow begins or ends, which the kernel decides by itself.
const OF_ENTRIES: &[&str] = &["share", "clump", "stop"];
/// Keys of a flow that set its start, path or end; the kernel cannot follow them either.
const OF_FLOWS: &[&str] = &["share", "slot", "clump", "path", "connection", "stop"];
/// Phrase for an entry whose flows are the kernel's.
const WITH: &str = "with stack = \"kernel\"";

/// The kernel's TCP, as an entry asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// The kernel's name of the congestion control.
    pub congestion: &'static str,
    /// True if connections are multipath TCP.
    pub mptcp: bool,
    /// True if connections ask for marks though the control does not.
    pub ecn: bool,
    /// Packets of the first window, where it is not the kernel's own.
    pub initial_window: Option<u32>,
}

impl Kernel {
    /// Reads `stack`, `congestion` and `mptcp`; `None` for Headway's own transports.
    pub(super) fn read(
        table: &Reader<'_>,
        routing: Routing,
    ) -> Result<Option<(Kernel, TransportSpec)>, ScenarioError> {
        let stack = table.get("stack").map_or(Ok(0), |i| i.choice(&["headway", "kernel"]))?;
        if stack == 0 {
            for key in ["congestion", "mptcp", "ecn", "initial_window"] {
                let help = "stack = \"kernel\" beside it has the kernel's TCP send these flows";
                refuse(table, key, "without stack = \"kernel\"").map_err(|e| e.help(help))?;
            }
            return Ok(None);
        }
        refuse(table, "transport", WITH).map_err(|e| e.help("`congestion` says what the kernel sends by"))?;
        refuse_openings(table, OF_ENTRIES)?;
        let item = table.need("congestion").map_err(|error| match error.problem() {
            Problem::MissingKey { .. } => {
                let known: Vec<&str> = CONTROLS.iter().map(|c| c.name).collect();
                error.help(format!("the kernel's congestion control: {}", known.join(", ")))
            }
            _ => error,
        })?;
        let (control, settings) = read_control(&item)?;
        let multipath = table.get("mptcp").map(|item| Ok((boolean(&item)?, item))).transpose()?;
        let machine = match multipath {
            Some((true, item)) => control.multipath.ok_or_else(|| no_multipath(&item, control.name))?,
            _ => control.machine,
        };
        let mptcp = machine != control.machine;
        let meshed = mptcp && routing == Routing::Pinned;
        let mut spec = spec(machine, meshed);
        let ecn = read_ecn(table, control, mptcp)?;
        if let (true, Some((machine, params))) = (ecn, control.marked) {
            spec.name = machine.into();
            spec.params.push(("weights".into(), ParamValue::Choice("fixed".into())));
            spec.params.push(("arithmetic".into(), ParamValue::Choice("exact".into())));
            spec.params
                .extend(params.iter().map(|(name, value)| ((*name).into(), ParamValue::Float(*value))));
        }
        spec.params.extend(settings);
        let initial_window = table.get("initial_window").map(|i| i.int(1, MOST_WINDOW)).transpose()?;
        spec.params.extend(initial_window.map(|packets| (FIRST.into(), ParamValue::Int(packets))));
        let initial_window = initial_window.map(|packets| packets as u32);
        Ok(Some((Kernel { congestion: control.name, mptcp, ecn, initial_window }, spec)))
    }

    /// Name in results.
    pub fn label(self) -> String {
        let (mptcp, ecn) = (if self.mptcp { "mptcp-" } else { "" }, if self.ecn { "-ecn" } else { "" });
        format!("kernel-{mptcp}{}{ecn}", self.congestion)
    }

    /// `Some` if its connections ask for marks only by a setting of the host, with that setting.
    pub fn asks_by_setting(self) -> Option<bool> {
        let asks = CONTROLS.iter().any(|c| c.name == self.congestion && c.asks);
        (!asks).then_some(self.ecn)
    }

    /// Adds the keys to those of an entry; `machine` is its counterpart in the simulator.
    pub(super) fn describe(self, machine: &TransportSpec, map: &mut Map<String, Json>) {
        map.insert("stack".into(), "kernel".into());
        map.insert("congestion".into(), self.congestion.into());
        map.insert("mptcp".into(), self.mptcp.into());
        // A default is left out, so that it does not change the identity of a run.
        if self.ecn {
            map.insert("ecn".into(), true.into());
        }
        if let Some(packets) = self.initial_window {
            map.insert(FIRST.into(), packets.into());
        }
        let own = CONTROLS.iter().find(|c| c.name == self.congestion).map_or(&[][..], |c| c.settings);
        let set = machine.params.iter().filter(|(name, _)| own.contains(&name.as_str()));
        let set: Map<String, Json> = set.map(|(name, value)| (name.clone(), param_json(value))).collect();
        if !set.is_empty() {
            map.insert("settings".into(), Json::Object(set));
        }
    }
}

/// The control of an entry, by its name or with settings of its own, and those.
fn read_control(item: &Item<'_>) -> Result<(&'static Control, Set), ScenarioError> {
    if let Value::Text(name) = item.value() {
        return Ok((find_control(item, name)?, Vec::new()));
    }
    let table = item.table()?;
    let name_item = table.need("name")?;
    let name = name_item.text()?;
    let control = find_control(&name_item, name)?;
    let known = headway_transport::registry::find_entry(control.machine).map_or(Vec::new(), |e| e.params);
    let mut settings = Vec::new();
    for spec in known.iter().filter(|spec| control.settings.contains(&spec.name)) {
        if let Some(item) = table.get(spec.name) {
            settings.push((spec.name.to_string(), item.param(spec)?));
        }
    }
    let others: Vec<&str> = CONTROLS.iter().flat_map(|c| c.settings).copied().collect();
    table.finish(&others, Some(format!("name = \"{name}\"")))?;
    Ok((control, settings))
}

fn find_control(item: &Item<'_>, name: &str) -> Result<&'static Control, ScenarioError> {
    CONTROLS.iter().find(|c| c.name == name).ok_or_else(|| {
        let problem = Problem::NoSuchName { what: "congestion control", name: name.into() };
        item.fail(problem).maybe_help(names::name_suggestion(name, CONTROLS.iter().map(|c| c.name)))
    })
}

/// True if connections ask for marks by a setting of the host; those whose control asks by itself need none.
fn read_ecn(table: &Reader<'_>, control: &Control, mptcp: bool) -> Result<bool, ScenarioError> {
    let Some(item) = table.get("ecn") else { return Ok(false) };
    let ecn = boolean(&item)?;
    if control.asks && !ecn {
        let text = format!("`{}` asks for marks by itself", control.name);
        return Err(item.fail(Problem::Contradiction(text)).help("leave `ecn` out"));
    }
    if ecn && !control.asks && (mptcp || control.marked.is_none()) {
        let multipath = if mptcp { "multipath " } else { "" };
        let text = format!("no machine of the simulator stands for {multipath}`{}` with ECN", control.name);
        let known: Vec<&str> =
            CONTROLS.iter().filter(|c| c.asks || c.marked.is_some()).map(|c| c.name).collect();
        return Err(item
            .fail(Problem::Contradiction(text))
            .help(format!("there is one for {}", known.join(", "))));
    }
    Ok(ecn && !control.asks)
}

/// Refuses keys of a flow that mean nothing to the kernel.
pub(super) fn check_flow(table: &Reader<'_>, kernel: Option<Kernel>) -> Result<(), ScenarioError> {
    if kernel.is_some() { refuse_openings(table, OF_FLOWS) } else { Ok(()) }
}

/// Refuses a share of senders that stop after a first window: the kernel's senders go on.
pub(super) fn check_responsive(
    item: &Item<'_>,
    ratio: f64,
    kernel: Option<Kernel>,
) -> Result<(), ScenarioError> {
    if kernel.is_none() || ratio == 1.0 {
        return Ok(());
    }
    let help = "leave it out: the kernel's senders all go on";
    Err(item.range(format!("1 {WITH}"), ratio).help(help))
}

fn refuse_openings(table: &Reader<'_>, keys: &[&str]) -> Result<(), ScenarioError> {
    let help =
        "the kernel opens a connection for each flow, and decides itself how it begins and where it goes";
    keys.iter().try_for_each(|key| refuse(table, key, WITH).map_err(|e| e.help(help)))
}

fn refuse(table: &Reader<'_>, key: &str, how: &str) -> Result<(), ScenarioError> {
    let Some(item) = table.get(key) else { return Ok(()) };
    let table = format!("{} {how}", table.name());
    Err(item.fail(Problem::UnusedKey { key: key.into(), table }))
}

fn no_multipath(item: &Item<'_>, name: &str) -> ScenarioError {
    let known: Vec<&str> = CONTROLS.iter().filter(|c| c.multipath.is_some()).map(|c| c.name).collect();
    let text = format!("no machine of the simulator stands for multipath TCP by `{name}`");
    item.fail(Problem::Contradiction(text)).help(format!("there is one by {}", known.join(" and by ")))
}

fn boolean(item: &Item<'_>) -> Result<bool, ScenarioError> {
    match item.value() {
        Value::Bool(value) => Ok(*value),
        _ => Err(item.wrong("true or false")),
    }
}

/// The machine as Linux has it; where subflows are `meshed`, each has a path of its own.
fn spec(machine: &str, meshed: bool) -> TransportSpec {
    let set = if meshed { &[PRESET, MESH][..] } else { &[PRESET] };
    let params = set.iter().map(|(key, value)| (key.to_string(), ParamValue::Choice((*value).into())));
    TransportSpec::new(machine, params.collect())
}

/// Transports of a run, and which of them are the kernel's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transports {
    pub(crate) specs: Vec<TransportSpec>,
    stacks: Vec<Option<Kernel>>,
}

impl Transports {
    /// The number of a transport, which is a new one where this is its first entry.
    pub(super) fn number(&mut self, spec: TransportSpec, stack: Option<Kernel>) -> usize {
        let known = self.specs.iter().zip(&self.stacks);
        known.into_iter().position(|(s, k)| *s == spec && *k == stack).unwrap_or_else(|| {
            self.specs.push(spec);
            self.stacks.push(stack);
            self.specs.len() - 1
        })
    }

    /// True if an entry has this one, by Headway's own stack.
    pub(crate) fn has_own(&self, spec: &TransportSpec) -> bool {
        self.specs.iter().zip(&self.stacks).any(|(s, k)| s == spec && k.is_none())
    }
}
