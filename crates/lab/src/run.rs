//! From a scenario to a run directory.

mod live;
mod rails;
mod scaling;
pub mod survey;
mod threads;

pub use headway_sim::{Machine, Maker, Rest};
pub use live::{Desk, Live};
pub use scaling::scaling;

use crate::capture::{Capture, Recorder};
use crate::fabric::show_limit;
use crate::results::manifest::{self, RunInfo};
use crate::results::{Directory, RunOutput, summary, tables, write};
use crate::scenario::{Resolved, Scenario, Setup};
use crate::text::quantity::as_seconds;
use crate::text::{LabError, Problem, ScenarioError};
use headway_fabric::DropReason;
use headway_network::Witness;
use headway_network::{
    Change, Down, Fault, FaultSpec, FlowState, LinkRecord, Outcome, Progress, RunError, RunSpec, SampleSpec,
    TransportSpec,
};
use headway_transport::Room;
use headway_units::Time;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Interval at which progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// Share of a run, and seconds of it, after which the time left is known: before, it is what a run takes to start.
const TELLING_SHARE: f64 = 0.02;
const TELLING_S: f64 = 1.0;

/// Makes the machines of the scenario's foreign transports ([`crate::Foreign`]).
pub trait Machines: Maker + Sync {
    /// True if one of them has failed: the run ends then, without results.
    fn failed(&self) -> bool;
}

/// Options of a run: work in addition to making it.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Directory to write.
    pub out: Option<Directory<'a>>,
    /// Also write `flows.csv`.
    pub csv: bool,
    /// Commit that the program was built from.
    pub commit: Option<String>,
    /// Also write a capture of packets.
    pub capture: Option<Capture>,
    /// Threads that share the run; one without. The results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// True if one thread makes the run where its first windows are no slower on it.
    pub or_one: bool,
    /// Makes the machines of transports that are in no registry, for a scenario that has any.
    pub machines: Option<&'a dyn Machines>,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunProgress {
    /// Virtual time that the run has reached, in seconds.
    pub virtual_s: f64,
    /// Latest end, in virtual seconds.
    pub stop_s: f64,
    /// Number of events handled so far.
    pub events: u64,
    /// Events handled per second of wall-clock time, over the whole run so far.
    pub events_per_s: f64,
    /// Number of flows finished so far.
    pub flows_done: u64,
    /// Number of flows in the whole run.
    pub flows_total: u64,
    /// Share of the run that is over, by time, by flows or by bytes, whichever is more.
    pub fraction: f64,
    /// Wall-clock seconds left if it goes on like this; `None` until so much is over that this can be said.
    pub eta_s: Option<f64>,
}

/// Inputs of a run.
struct Ready<'a> {
    setup: &'a Setup,
    memory_bytes: u64,
    resolved: Resolved,
}

/// Makes all that a run begins with, or refuses it.
fn ready(scenario: &Scenario) -> Result<Ready<'_>, LabError> {
    let setup = scenario.setup()?;
    let memory_bytes = setup.check_memory()?.memory_bytes;
    Ok(Ready { setup, memory_bytes, resolved: setup.resolve(scenario.seed)? })
}

/// Refuses what [`run_scenario`] refuses before the first event, and runs nothing: flows that cannot be, names that no flow
/// has, what the simulator refuses. `machines` are as in [`Options`].
pub fn check_scenario(scenario: &Scenario, machines: Option<&dyn Machines>) -> Result<(), LabError> {
    let Ready { resolved, .. } = ready(scenario)?;
    let maker = machines.map(|machines| machines as &dyn Maker);
    headway_sim::check(&resolved.spec, maker).map_err(|error| explain(error, scenario, &resolved))
}

/// Runs a scenario; with a directory, writes its results there. `progress` is called about five times a
/// second, and stops the run by answering `false`; the results until then are written.
pub fn run_scenario(
    scenario: &Scenario,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&RunProgress) -> bool,
) -> Result<RunOutput, LabError> {
    let Ready { setup, memory_bytes, resolved } = ready(scenario)?;
    if let Some(dir) = options.out {
        write::prepare(dir.path)?;
    }
    let capture_failed = Cell::new(false);
    let wish = options.capture.as_ref();
    let mut recorder = wish.map(|w| Recorder::start(w, &resolved.spec, &capture_failed)).transpose()?;
    let mut threads = options.threads.map_or(1, NonZeroUsize::get);
    if options.or_one && options.machines.is_none() {
        threads = threads::worth_while(scenario, &resolved, setup.room()?, threads);
    }
    let clock = Clock::start();
    // The first report comes at once: a run that is unwanted need not last a fifth of a second.
    let mut next = Duration::ZERO;
    let failed = || options.machines.is_some_and(Machines::failed);
    let mut watch = |state: &Progress| {
        if capture_failed.get() || failed() {
            return false;
        }
        let elapsed = clock.elapsed();
        if elapsed < next {
            return true;
        }
        next = elapsed + REPORT_EVERY;
        progress(&report(state, elapsed))
    };
    let tap = recorder.as_mut().map(|recorder| recorder as &mut dyn headway_network::Tap);
    let maker = options.machines.map(|machines| machines as &dyn Maker);
    let around = headway_sim::Around { threads, room: setup.room()?, tap, maker, trial: None };
    let outcome = headway_sim::run_within(&resolved.spec, around, &mut watch);
    let wall = clock.elapsed();
    recorder.map_or(Ok(()), Recorder::finish)?;
    let outcome = outcome.map_err(|e| explain(e, scenario, &resolved))?;
    if failed() {
        return Err(LabError::Machine);
    }
    let around =
        RunInfo { wall, commit: options.commit.clone(), memory_bytes, warnings: Vec::new(), testbed: None };
    write_results(scenario, &resolved, &outcome, around, options)
}

/// Runs a scenario for a witness of its events, and keeps nothing. The witness ends the run by returning `false`.
pub(crate) fn run_witnessed(
    scenario: &Scenario,
    resolved: &Resolved,
    witness: &mut dyn Witness,
) -> Result<Outcome, LabError> {
    let ran = headway_sim::run_witnessed(&resolved.spec, witness, &mut |_| true);
    ran.map_err(|e| explain(e, scenario, resolved))
}

/// Makes results of an outcome, simulated or real, and writes them where the options say.
pub fn write_results(
    scenario: &Scenario,
    resolved: &Resolved,
    outcome: &Outcome,
    mut around: RunInfo,
    options: &Options<'_>,
) -> Result<RunOutput, LabError> {
    let setup = scenario.setup()?;
    outcome.links.iter().try_for_each(|link| link.check(outcome.end))?;
    let (summary, mut empty) = summary::summarise(resolved, setup, outcome);
    around.warnings.extend(resolved.warnings.iter().chain(&outcome.warnings).cloned());
    around.warnings.append(&mut empty);
    around.warnings.append(&mut notes(resolved, setup, outcome));
    let table = |made: Result<_, arrow_schema::ArrowError>| made.map_err(|e| LabError::Table(e.to_string()));
    let output = RunOutput {
        flows: table(tables::flows(resolved, &setup.stacks(), outcome))?,
        links: table(tables::links(&resolved.spec.faults, outcome))?,
        series: table(tables::series(&resolved.names, outcome))?,
        graph: tables::graph(resolved, outcome).map_err(|e| LabError::Table(e.to_string()))?,
        summary,
        manifest: manifest::manifest(scenario, resolved, outcome, &around)?,
    };
    if let Some(dir) = options.out {
        write::write(dir, &output, options.csv)?;
    }
    Ok(output)
}

fn report(state: &Progress, elapsed: Duration) -> RunProgress {
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let by_time = share(state.now.0 as f64, state.stop.0 as f64);
    let by_flows = share(state.flows_done as f64, state.flows_total as f64);
    let by_bytes = share(state.delivered as f64, state.offered as f64);
    let fraction = by_time.max(by_flows).max(by_bytes).min(1.0);
    let wall = elapsed.as_secs_f64();
    // Short flows end long before those that carry most bytes: their number says how far a run is, and not how long it takes.
    let over = by_time.max(by_bytes).min(1.0);
    let is_known = over >= TELLING_SHARE && wall >= TELLING_S;
    RunProgress {
        virtual_s: as_seconds(state.now),
        stop_s: as_seconds(state.stop),
        events: state.events,
        events_per_s: share(state.events as f64, wall),
        flows_done: state.flows_done,
        flows_total: state.flows_total,
        fraction,
        eta_s: is_known.then(|| wall * (1.0 - over) / over),
    }
}

/// Puts the simulator's complaint about a flow at the place where the flow is written.
fn explain(error: RunError, scenario: &Scenario, resolved: &Resolved) -> LabError {
    let (RunError::Flow { flow, reason }, Ok(setup)) = (&error, scenario.setup()) else {
        return LabError::Run(error);
    };
    let problem = Problem::Contradiction(format!("flow `{}`: {reason}", resolved.names[*flow]));
    let name = &resolved.names[*flow];
    ScenarioError::new(problem, setup.origin_of(resolved.entries[*flow], Some(name))).into()
}

/// Sentences with facts that a reader of the results should know.
fn notes(resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Vec<String> {
    let mut found = shallow(setup, &resolved.spec, outcome);
    found.extend(rails::idle_nics(setup, outcome));
    found.extend(rails::idle_uplinks(setup, outcome));
    let count = |state| outcome.flows.iter().filter(|r| r.state == state).count();
    for (state, what) in [
        (FlowState::Pending, "had not started when the run ended; they count as unfinished"),
        (FlowState::Failed, "were given up by their transport"),
    ] {
        match count(state) {
            0 => {}
            n => found.push(format!("{n} of {} flows {what}", outcome.flows.len())),
        }
    }
    let happened = |fault: &FaultSpec| match &fault.what {
        Fault::Down(Down { at, .. }) | Fault::Change(Change { at, .. }) => *at <= outcome.end,
        // These faults are counted by link.
        Fault::DropNth(_) | Fault::Random { .. } | Fault::Blackhole { .. } => false,
    };
    let faults = &resolved.spec.faults;
    if !faults.is_empty() && !faults.iter().any(happened) && outcome.links.iter().all(|l| l.faults.is_zero())
    {
        found.push("no fault of the scenario's [[fault]] tables came about".into());
    }
    if outcome.interrupted {
        found.push(format!("the run was interrupted at {}", outcome.end));
    }
    let outside =
        resolved.entries.iter().filter(|entry| setup.traffic[**entry].pattern.is_external()).count();
    if outside > 0 {
        found.push(format!(
            "{outside} of {} flows came from another program: the scenario alone does not make this run again",
            outcome.flows.len()
        ));
    } else if let Some(entry) = setup.traffic.iter().position(|entry| entry.pattern.is_external()) {
        found.push(format!(
            "[[traffic]] entry {entry}, kind = \"external\", made no flow: no program handed one over (docs/c-interface.md)"
        ));
    }
    // A scenario that asks for causes alone expects no series.
    let nothing_asked = |sample: &SampleSpec| sample.every == Time::MAX;
    if outcome.samples.is_empty() && !resolved.spec.sample.as_ref().is_some_and(nothing_asked) {
        let why = match &resolved.spec.sample {
            None => "the scenario has no [sample] table".to_string(),
            Some(_) => format!("nothing that is sampled happened before the run ended at {}", outcome.end),
        };
        found.push(format!("series.parquet is empty: {why}"));
    }
    found
}

/// Transports that lost data because ports of switches had no room for it: those whose designs suppose that none is lost, or
/// hardly any, and all that lost more than one packet in a thousand.
/// The sentences contain no numbers of the run: seeds then give the same ones, which are printed once.
fn shallow(setup: &Setup, spec: &RunSpec, outcome: &Outcome) -> Vec<String> {
    let full = [DropReason::BufferFull, DropReason::HeadroomFull];
    let drops_of =
        |link: &LinkRecord| full.iter().map(|reason| link.counters.dropped[*reason as usize]).sum::<u64>();
    let all: u64 = outcome.links.iter().filter(|link| link.from_switch).map(drops_of).sum();
    let mut found = Vec::new();
    if all == 0 {
        return found;
    }
    let (fabric, stacks) = (&setup.fabric, setup.stacks());
    let key = match (&fabric.pfc, &fabric.memory, fabric.at.is_empty()) {
        (Some(_), ..) => "the memory of lossless switches, `buffer` of [fabric.pfc]".to_string(),
        (None, Some(_), _) => "the memory of switches, `size` of [fabric.memory]".to_string(),
        (None, None, true) => format!("`fabric.buffer`, {} here", show_limit(fabric.buffer.data)),
        (None, None, false) => "`buffer` of [fabric] and [[fabric.at]]".to_string(),
    };
    for (number, TransportSpec { name, .. }) in setup.transports.iter().enumerate() {
        // Transports that lost nothing are not meant.
        let known = outcome.by_transport.get(number).and_then(|record| record.data_drops);
        let lost = if setup.transports.len() == 1 { all } else { known.unwrap_or(0) };
        if lost == 0 || stacks[number].is_some() {
            continue;
        }
        let room =
            headway_transport::registry::capabilities(name).map_or(Room::Any, |declared| declared.room);
        let lossy = fabric.pfc.is_none() && room == Room::Lossless;
        let other = if lossy { ", or set `[fabric.pfc]`" } else { "" };
        let why = match room.describe_need() {
            Some(needs) => format!("needs {needs}, and full ports dropped some"),
            None if lost > packets_of(spec, number) / 1000 => {
                "lost more than 0.1 % of its data packets at full ports".to_string()
            }
            None => continue,
        };
        let told = format!(
            "`{name}` {why}: its completion times may tell of the buffer as much as of `{name}`; raise {key}{other}, or give all that you compare the switches of one chip by --fair (headway docs choosing)"
        );
        if !found.contains(&told) {
            found.push(told);
        }
    }
    found
}

/// Data packets of all messages of a transport, each counted once however often it is sent.
fn packets_of(spec: &RunSpec, transport: usize) -> u64 {
    let own = spec.flows.iter().filter(|flow| usize::from(flow.transport) == transport);
    own.map(|flow| spec.fabric.sizes.packets_of(flow.bytes)).sum()
}

/// Wall-clock time, for speeds and progress: nothing in a run depends on it.
struct Clock(Instant);

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "the speed of a run is measured here and nowhere below")]
    fn start() -> Clock {
        Clock(Instant::now())
    }

    #[allow(clippy::disallowed_methods, reason = "the speed of a run is measured here and nowhere below")]
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
