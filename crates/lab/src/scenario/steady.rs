//! Arrivals that last until the network is in a steady state: `flows = "steady"`.

use super::Setup;
use crate::text::{Problem, ScenarioError};
use headway_units::Time;

/// The length of arrivals changes how much of them other traffic is, and that the length: it settles at once.
const ROUNDS: usize = 4;
/// More flows than a run may have.
const MOST_FLOWS: f64 = 1e9;

/// Checks that the network fits into memory, gives every entry that leaves it to the network its number of flows, and
/// the run its warm-up unless that is written.
pub(super) fn settle(setup: &mut Setup, has_warmup: bool) -> Result<(), ScenarioError> {
    setup.check_memory()?;
    let Some(first) = setup.traffic.iter().find(|entry| entry.pattern.is_steady()) else { return Ok(()) };
    let at = first.at.clone();
    let fail = |text: String, help: &'static str| {
        Err(ScenarioError::new(Problem::Contradiction(text), &at).help(help))
    };
    let asked = setup.traffic.clone();
    for _ in 0..ROUNDS {
        let Some(length) = setup.run_length() else {
            let text =
                "`flows = \"steady\"` needs one place of the load, and these entries load different links";
            return fail(text.into(), "say how many flows each has: headway docs run-length");
        };
        let Some((warmup_s, measured_s)) = length.advice().map(|(warmup, all)| (warmup, all - warmup)) else {
            let text = format!(
                "there is no steady state: the links that are loaded most are asked for {:.3} of their rate",
                length.load
            );
            return fail(text, "take a lower `load`, or say how many flows there are");
        };
        if !has_warmup {
            setup.warmup = Time(((length.start_s + warmup_s) * 1e12).ceil() as u64);
        }
        let left_out_s = (setup.warmup.as_secs_f64() - length.start_s).max(0.0);
        let lasts_s = left_out_s + measured_s;
        if lasts_s * length.per_second > MOST_FLOWS {
            let text = format!(
                "a steady state takes {:.3e} messages at load {:.3}",
                lasts_s * length.per_second,
                length.load
            );
            return fail(
                text,
                "take a lower `load`, or sizes without the longest messages: headway docs run-length",
            );
        }
        setup.traffic =
            asked.iter().map(|entry| entry.lasting(lasts_s).unwrap_or_else(|| entry.clone())).collect();
        if setup.stop <= setup.warmup {
            let text =
                format!("a steady state takes longer than `stop`: the warm-up alone takes {}", setup.warmup);
            return fail(text, "leave `stop` out, and the run ends with its last flow");
        }
    }
    Ok(())
}
