//! Number of threads that make a run fastest here and now, as its first windows tell.

use super::Clock;
use crate::scenario::{Resolved, Scenario};
use headway_network::Progress;
use headway_sim::Around;
use std::time::Duration;

/// Packet-hops below which a run is over before anything is measured: about a second.
const LEAST_HOPS: u64 = 10_000_000;
/// Time that each number of threads is tried for, at least.
const TRIED_FOR: Duration = Duration::from_millis(300);
/// Speed of several threads over that of one, from which on they are used: the machine may be busier later.
const WORTH: f64 = 1.25;

/// `threads`, or 1 where that many do not make the first windows faster. Results do not depend on it.
pub(super) fn worth_while(scenario: &Scenario, resolved: &Resolved, room: u64, threads: usize) -> usize {
    if threads < 2 || scenario.expected_hops() < LEAST_HOPS {
        return 1;
    }
    let alone = events_per_second(resolved, room, 1);
    let together = events_per_second(resolved, room, threads);
    // Other work may have held up the first one.
    let again = events_per_second(resolved, room, 1);
    if together > alone.max(again) * WORTH { threads } else { 1 }
}

/// Speed of the first windows; 0 of a run that is refused, which is said when it is made.
fn events_per_second(resolved: &Resolved, room: u64, threads: usize) -> f64 {
    let clock = Clock::start();
    let mut speed = 0.0;
    let mut watch = |state: &Progress| {
        let elapsed = clock.elapsed();
        speed = state.events as f64 / elapsed.as_secs_f64();
        elapsed < TRIED_FOR
    };
    let around = Around { threads, room, ..Around::default() };
    let ran = headway_sim::run_within(&resolved.spec, around, &mut watch);
    if ran.is_ok() { speed } else { 0.0 }
}
