//! `stack = "kernel"`: flows that are TCP connections of the operating system where packets are real, and in the
//! simulator messages of the machine that stands for them.

use crate::text::{Item, Problem, Reader, ScenarioError, Value, names};
use headway_network::{Routing, TransportSpec};
use headway_params::ParamValue;
use serde_json::{Map, Value as Json};

/// A congestion control of Linux, and what stands for it in the simulator.
struct Control {
    /// Its name in the kernel.
    name: &'static str,
    /// The machine of one connection.
    machine: &'static str,
    /// The machine of a multipath connection whose subflows have it, where there is one.
    multipath: Option<&'static str>,
}

const CONTROLS: &[Control] = &[
    Control { name: "reno", machine: "tcp", multipath: Some("mptcp-reno") },
    Control { name: "cubic", machine: "cubic", multipath: Some("mptcp-cubic") },
    Control { name: "bbr", machine: "bbr", multipath: None },
    Control { name: "dctcp", machine: "dctcp", multipath: None },
    Control { name: "d2tcp", machine: "d2tcp", multipath: None },
    Control { name: "l2dct", machine: "l2dct", multipath: None },
    Control { name: "vegas", machine: "vegas", multipath: None },
];

/// The preset of the machines that does as Linux does.
const PRESET: (&str, &str) = ("preset", "linux-4.19");
/// How subflows take different paths, where paths have numbers.
const MESH: (&str, &str) = ("path_manager", "full-mesh");
/// Keys of an entry that say how a flow begins, which the kernel decides by itself.
const OF_ENTRIES: &[&str] = &["share", "clump"];
/// Keys of a flow that say how it begins or goes, likewise.
const OF_FLOWS: &[&str] = &["share", "slot", "clump", "path", "connection"];
/// How an entry stands whose flows are the kernel's.
const WITH: &str = "with stack = \"kernel\"";

/// The kernel's TCP, as an entry asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// The kernel's name of the congestion control.
    pub congestion: &'static str,
    /// Whether connections are multipath TCP.
    pub mptcp: bool,
}

impl Kernel {
    /// Reads `stack`, `congestion` and `mptcp`; `None` for Headway's own transports.
    pub(super) fn read(
        table: &Reader<'_>,
        routing: Routing,
    ) -> Result<Option<(Kernel, TransportSpec)>, ScenarioError> {
        let stack = table.get("stack").map_or(Ok(0), |i| i.choice(&["headway", "kernel"]))?;
        if stack == 0 {
            for key in ["congestion", "mptcp"] {
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
        let name = item.text()?;
        let control = CONTROLS.iter().find(|c| c.name == name).ok_or_else(|| {
            let problem = Problem::NoSuchName { what: "congestion control", name: name.into() };
            item.fail(problem).maybe_help(names::suggestion(name, CONTROLS.iter().map(|c| c.name)))
        })?;
        let multipath = table.get("mptcp").map(|item| Ok((boolean(&item)?, item))).transpose()?;
        let machine = match multipath {
            Some((true, item)) => control.multipath.ok_or_else(|| no_multipath(&item, control.name))?,
            _ => control.machine,
        };
        let mptcp = machine != control.machine;
        let meshed = mptcp && routing == Routing::Pinned;
        Ok(Some((Kernel { congestion: control.name, mptcp }, spec(machine, meshed))))
    }

    /// What it is called in results.
    pub fn label(self) -> String {
        format!("kernel-{}{}", if self.mptcp { "mptcp-" } else { "" }, self.congestion)
    }

    /// Adds the keys to those of an entry.
    pub(super) fn describe(self, map: &mut Map<String, Json>) {
        map.insert("stack".into(), "kernel".into());
        map.insert("congestion".into(), self.congestion.into());
        map.insert("mptcp".into(), self.mptcp.into());
    }
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
    TransportSpec { name: machine.into(), params: params.collect() }
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

    /// Whether an entry has this one, by Headway's own stack.
    pub(crate) fn has_own(&self, spec: &TransportSpec) -> bool {
        self.specs.iter().zip(&self.stacks).any(|(s, k)| s == spec && k.is_none())
    }
}
