//! The promises that every transport keeps, of one that is written in Python.

use super::{Around, Declared, Failure, Own};
use headway_harness::ledger::{Broken, Expected, Violation};
use headway_harness::network::Outcome;
use headway_harness::plan::{Plan, any_plan, perfect_plan};
use headway_harness::{check_efficiency, check_plans, last_steps, run_machine};
use headway_units::Time;
use proptest::strategy::Strategy;
use pyo3::prelude::*;
use std::sync::Arc;

/// Largest number of steps by which a failing plan is shrunk; machines in Python are slow.
const SHRINKS: u32 = 400;
/// One plan of so many is over a network without faults.
const PERFECT: u64 = 8;
/// Packets that a sender may push that is pulled by number, whatever its path holds.
const NDP_WINDOW: u32 = 30;

/// Runs a transport over random networks, one for each seed, and returns the promise that it broke, with the smallest
/// plan that breaks it; `None` if it kept every promise.
#[pyfunction]
#[pyo3(signature = (declared, seeds, *, window_grows = false, grants_name = true, credits = false, first_window = true))]
pub(crate) fn check_transport(
    py: Python<'_>,
    declared: Declared,
    seeds: u64,
    window_grows: bool,
    grants_name: bool,
    credits: bool,
    first_window: bool,
) -> PyResult<Option<String>> {
    let own = Own::new(py, declared)?;
    let trims = own.foreign.discipline.starts_with("trimming");
    // A sender that is pulled by number may push NDP's window.
    let widest_window = (1000, if trims { NDP_WINDOW } else { 0 });
    let expected = Expected {
        window_grows,
        grants_name,
        credits,
        bursts: first_window,
        widest_window,
        ..Expected::default()
    };
    let failure: Arc<Failure> = Arc::default();
    let run = |plan: &Plan, trace: bool| {
        // An exception in one plan is none in the next, which is a smaller one.
        let caught: Arc<Failure> = Arc::default();
        let around = Around { failure: Arc::clone(&caught), flows: None };
        let make = |context| own.make_machine(&[], context, around.clone());
        let (outcome, steps) = run_machine(plan, expected, trims, trace, &make);
        // Once a plan: a check may take minutes, and Python's own code runs signal handlers only in the main
        // thread.
        let raised = Python::attach(|py| match py.check_signals() {
            Err(interrupt) => {
                failure.note_first(interrupt, String::new());
                None
            }
            Ok(()) => caught.take_exception(py).map(|error| error.value(py).to_string()),
        });
        (raised, outcome, steps)
    };
    let judged = |plan: &Plan| -> Result<Outcome, Violation> {
        // Every further plan fails at once, so that shrinking ends soon after Ctrl-C.
        if failure.has_happened() {
            return Err(Violation { broken: Broken::Hang, at: Time::ZERO, detail: "interrupted".into() });
        }
        match run(plan, false) {
            (Some(raised), ..) => Err(Violation { broken: Broken::Raised, at: Time::ZERO, detail: raised }),
            (None, outcome, _) => outcome,
        }
    };
    let found = py.detach(|| {
        // The defaults of its parameters.
        let any = any_plan().prop_map(|plan| Plan { parameters: Vec::new(), ..plan });
        check_plans(&any, 0..seeds, SHRINKS, judged, |_, _| Ok(())).and_then(|_| {
            let accept = |plan: &Plan, outcome: &Outcome| check_efficiency(plan, outcome, Time::MAX);
            // Last: efficiency over a perfect network only means something for a machine that is correct.
            check_plans(&perfect_plan(), 0..seeds.div_ceil(PERFECT), SHRINKS, judged, accept)
        })
    });
    if let Some(interrupt) = failure.take_exception(py) {
        return Err(interrupt);
    }
    let Err(shrunk) = found else { return Ok(None) };
    // The smallest plan once more with a trace, which would slow down all the others.
    let (_, _, steps) = run(&shrunk.plan, true);
    let shown: String = last_steps(&steps).iter().map(|line| format!("  {line}\n")).collect();
    Ok(Some(format!(
        "{}\nsmallest plan that breaks it (seed {}): {:#?}\nlast steps:\n{shown}",
        shrunk.reason, shrunk.seed, shrunk.plan
    )))
}
