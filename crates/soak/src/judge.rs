//! One scenario, run and held against what must hold.

use crate::case::Case;
use crate::invariants::Invariant;
use crate::run::Run;
use crate::simulate::{Bounds, simulate};
use crate::{finish, links, memory};
use headway_fabric::DropReason;
use headway_lab::results::manifest::RunInfo;
use headway_lab::{Options, Scenario, write_results};
use headway_network::{FlowState, LinkRecord, Network, RunSpec};
use headway_primitives::mix;
use headway_transport::endpoint::Room;
use headway_transport::{Capabilities, registry};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Invariant that was broken; of a panic its place in the code as well.
    pub invariant: String,
    /// Observation instead of it.
    pub found: String,
}

/// Numbers of a run that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Number of events handled.
    pub events: u64,
    /// Flows that finished.
    pub done: u64,
    /// Flows of the scenario.
    pub flows: u64,
    /// Most bytes of the heap.
    pub peak: u64,
    /// Bytes that were forecast.
    pub said: u64,
}

/// Result of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every invariant holds.
    Passed(Facts),
    /// The reader refused the scenario, in these words.
    Refused(String),
    /// It is a scenario that takes more events than a draw may, and why it does.
    TooLong(String),
    /// An invariant does not hold.
    Failed(Failure),
}

/// Runs a scenario twice, the second time on several threads, and holds it against every invariant; `folder` is for its files.
pub fn judge(case: &Case, folder: &Path, invariants: &[Invariant]) -> Verdict {
    judge_within(case, folder, invariants, Bounds::default())
}

/// As [`judge`], with runs that stay within these bounds.
pub fn judge_within(case: &Case, folder: &Path, invariants: &[Invariant], bounds: Bounds<'_>) -> Verdict {
    let scenario = match guarded(|| case.load(folder).map_err(|e| e.to_string())) {
        Ok(Ok(scenario)) => scenario,
        Ok(Err(refusal)) => return Verdict::Refused(refusal),
        Err(failure) => return Verdict::Failed(failure),
    };
    match guarded(|| examine(&scenario, invariants, bounds)) {
        Ok(verdict) => verdict,
        Err(failure) => Verdict::Failed(failure),
    }
}

fn examine(scenario: &Scenario, invariants: &[Invariant], bounds: Bounds<'_>) -> Verdict {
    // Only the first run is measured: each thread of the second counts its own memory.
    let (run, peak) = memory::peak_of(|| whole(scenario, bounds));
    let mut run = match run {
        Ok(run) => run,
        Err(refusal) => return Verdict::Refused(refusal),
    };
    run.peak = peak;
    if run.outcome.interrupted {
        return if (bounds.has_time)() { too_long(&run) } else { Verdict::TooLong(out_of_time(&run)) };
    }
    let threads = threads(&run.spec);
    run.again = simulate(&run.spec, threads, bounds).ok().map(|outcome| (threads, outcome));
    if run.again.as_ref().is_some_and(|(_, again)| again.interrupted) && !(bounds.has_time)() {
        return Verdict::TooLong(format!("the second run, on {threads} threads, was not over in its time"));
    }
    for invariant in invariants {
        if let Err(found) = (invariant.holds)(&run) {
            return Verdict::Failed(Failure { invariant: invariant.name.into(), found });
        }
    }
    let done = run.outcome.flows.iter().filter(|f| f.finish.is_some()).count() as u64;
    let (events, flows) = (run.outcome.events, run.outcome.flows.len() as u64);
    Verdict::Passed(Facts { events, done, flows, peak, said: run.said })
}

/// A run that was stopped for its number of events. Credits flow for as long as they may be answered, rounds of a clock
/// may be of picoseconds, flows that are cut off try for ever, and a sender that repeats everything after a lost packet
/// does so for as long as ports drop. Such a draw is only too long; any other run should have ended. It is not
/// compared: threads see its end at other events.
fn too_long(run: &Run<'_>) -> Verdict {
    let found = format!("{} events until {}", run.outcome.events, run.outcome.end);
    let any = |what: &dyn Fn(&Capabilities) -> bool| {
        let all = run.spec.transports.iter();
        all.filter_map(|transport| registry::capabilities(&transport.name)).any(|declared| what(&declared))
    };
    if any(&|declared| declared.credits) {
        return Verdict::TooLong(format!("credits go on for longer than a draw may take: {found}"));
    }
    if any(&|declared| declared.shared_clock) {
        return Verdict::TooLong(format!("rounds are shorter than a draw has events for: {found}"));
    }
    if finish::may_go_on(run) {
        return Verdict::TooLong(format!("flows that cannot finish go on trying: {found}"));
    }
    let full = |link: &LinkRecord| link.counters.dropped[DropReason::BufferFull as usize] > 0;
    if any(&|declared| declared.room == Room::Lossless) && run.outcome.links.iter().any(full) {
        return Verdict::TooLong(format!("full ports drop what supposes that none does: {found}"));
    }
    Verdict::Failed(Failure { invariant: "a run ends within the events that its packets need".into(), found })
}

/// Says what a run that used up its time waits for: its flows that are not over, with the first of them.
fn out_of_time(run: &Run<'_>) -> String {
    let outcome = &run.outcome;
    let is_open = |state: FlowState| matches!(state, FlowState::Unfinished | FlowState::Pending);
    let mut open = outcome.flows.iter().enumerate().filter(|(_, record)| is_open(record.state));
    let waits = match open.next() {
        None => "no flow".to_string(),
        Some((number, record)) => {
            let flow = &run.spec.flows[number];
            format!(
                "{} of {} flows, the first of them {number} ({}), {} of {} B delivered",
                1 + open.count(),
                outcome.flows.len(),
                run.spec.transports[usize::from(flow.transport)].name,
                record.delivered,
                flow.bytes
            )
        }
    };
    format!("it used up its time with {} events until {}, and waits for {waits}", outcome.events, outcome.end)
}

/// Threads of the second run: 1 to 8, drawn from the case.
fn threads(spec: &RunSpec) -> usize {
    let bytes: u64 = spec.flows.iter().map(|flow| flow.bytes).sum();
    // Drawn from the case, so that a failure comes back when the case runs again.
    1 + (mix(spec.seed ^ bytes) % 8) as usize
}

/// Everything that `headway run` does, but for the files.
fn whole<'s>(scenario: &'s Scenario, bounds: Bounds<'_>) -> Result<Run<'s>, String> {
    let setup = scenario.setup().map_err(|e| e.render())?;
    let resolved = setup.resolve(scenario.seed).map_err(|e| e.render())?;
    let estimate = setup.check_memory().map_err(|e| e.render())?;
    let outcome = simulate(&resolved.spec, 1, bounds)?;
    // A run without a `stop` may go on for longer than was expected; its samples are then bounded by the limit alone.
    let samples = outcome.samples.len() as u64 * headway_network::PER_SAMPLE;
    let said_samples = samples.max(estimate.sample_bytes);
    let said = estimate.memory_bytes - estimate.sample_bytes + said_samples;
    let around = RunInfo {
        wall: Duration::ZERO,
        commit: None,
        memory_bytes: said,
        warnings: Vec::new(),
        testbed: None,
    };
    let output = write_results(scenario, &resolved, &outcome, around, &Options::default());
    let output = output.map_err(|e| e.to_string())?;
    let network =
        Network::build(&resolved.spec.topology, &resolved.spec.fabric).map_err(|e| e.to_string())?;
    let extremes = links::extremes(&network, &resolved.spec).map_err(|e| e.to_string())?;
    let ends = network.address(&resolved.spec).flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    Ok(Run {
        scenario,
        ends,
        spec: resolved.spec,
        network,
        extremes,
        outcome,
        output,
        said,
        said_samples,
        peak: 0,
        again: None,
    })
}

thread_local! {
    /// Message and place of the last panic of this thread.
    static SAID: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Does something that may panic, without a word on the terminal.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    // There is one hook for all threads: it asks each whether it is guarded.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let listening = GUARDED.with(|guarded| *guarded.borrow());
            if !listening {
                return usual(info);
            }
            let place = info.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
            let found = info.payload_as_str().unwrap_or("a panic without words").to_string();
            // The payload that `catch_unwind` returns does not have the place.
            SAID.with(|said| {
                *said.borrow_mut() = Some(Failure { invariant: format!("no panic ({place})"), found })
            });
        }));
    });
    GUARDED.with(|guarded| *guarded.borrow_mut() = true);
    let made = catch_unwind(AssertUnwindSafe(work));
    GUARDED.with(|guarded| *guarded.borrow_mut() = false);
    made.map_err(|_| {
        let unknown = Failure { invariant: "no panic".into(), found: "a panic without a message".into() };
        SAID.with(|said| said.borrow_mut().take()).unwrap_or(unknown)
    })
}

thread_local! {
    /// True if a panic of this thread is expected.
    static GUARDED: RefCell<bool> = const { RefCell::new(false) };
}
