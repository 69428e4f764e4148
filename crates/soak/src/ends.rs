//! A run that had ended earlier says nothing better of the flows that had begun by then.

use crate::run::Run;
use headway_lab::results::summary::summarise;
use headway_network::{FlowRecord, FlowState, Outcome};
use headway_units::Time;
use serde_json::{Map, Value as Json};

/// Holds the numbers of flows at half of the run against those at its end. Events before an end do not depend on it, so
/// that records alone say what the shorter run would have left.
pub(crate) fn hold(run: &Run<'_>) -> Result<(), String> {
    let setup = run.scenario.setup().map_err(|error| error.render())?;
    let at = Time(run.outcome.end.0 / 2);
    // What another end makes count, or no longer count, is another set of flows.
    let differs = |record: &FlowRecord| {
        let began_early = record.start.is_some_and(|start| start < setup.warmup);
        record.state == FlowState::Stopped || (began_early && record.finish.is_none_or(|finish| finish > at))
    };
    // Nothing that counts has begun before the end of the warm-up.
    if at <= setup.warmup || run.outcome.flows.iter().any(differs) {
        return Ok(());
    }
    let resolved = setup.resolve(run.scenario.seed).map_err(|error| error.render())?;
    let (early, _) = summarise(&resolved, setup, &ended(&run.outcome, at, true));
    let (late, _) = summarise(&resolved, setup, &ended(&run.outcome, at, false));
    numbers(&early, &late)?;
    for band in ["le_10kB", "le_100kB", "le_1MB", "gt_1MB"] {
        numbers(&early["by_size"]["bands"][band], &late["by_size"]["bands"][band])?;
    }
    Ok(())
}

/// The outcome without the flows that began after `at`; if it is cut there, also without what ended later.
fn ended(outcome: &Outcome, at: Time, is_cut: bool) -> Outcome {
    let mut outcome = outcome.clone();
    for record in &mut outcome.flows {
        if record.start.is_none_or(|start| start > at) {
            (record.state, record.finish, record.known) = (FlowState::Pending, None, None);
        } else if is_cut && record.finish.is_some_and(|finish| finish > at) {
            (record.state, record.finish, record.known) = (FlowState::Unfinished, None, None);
        }
    }
    if is_cut {
        outcome.end = at;
    }
    outcome
}

fn numbers(early: &Json, late: &Json) -> Result<(), String> {
    let none = Map::new();
    for (key, value) in early.as_object().unwrap_or(&none) {
        let is_judged =
            ["fct_", "slowdown_m", "slowdown_p", "deadline_m"].iter().any(|start| key.starts_with(start));
        // The halves of the arrivals are others in a shorter run.
        if !is_judged || key.ends_with("early") || key.ends_with("late") {
            continue;
        }
        let is_bound = early["bounds"].get(key).is_some();
        let holds = match (value.as_f64(), late[key].as_f64()) {
            (None, _) => true,
            (Some(early), Some(late)) if is_bound => early <= late * (1.0 + 1e-12),
            (early, found) => early == found && late["bounds"].get(key).is_none(),
        };
        if !holds {
            let said = if is_bound { "at least " } else { "" };
            return Err(format!("`{key}` is {said}{value} at half of the run, and {} at its end", late[key]));
        }
    }
    Ok(())
}
