//! The end of a run that has no `stop` and in which nothing arrives any more (decision 120).
//!
//! The run is checked after a first time, and then whenever it has lasted twice as long as at the check before. It ends
//! if no byte has arrived since the last check, no flow or step has begun or ended, and nothing of that is planned. A timer
//! that doubles without limit, and was set when the run began, has fired at least once since the last check.

use super::{Conductor, Guards};
use headway_network::{Network, RunSpec};
use headway_params::ParamValue;
use headway_units::Time;

/// Earliest time of the first check. Every timer that a transport has by default is shorter.
const LEAST: Time = Time::s(100);
/// The first check comes after this many times the longest time among the transports' parameters.
const TIMERS: u64 = 4;
/// The first check comes after this many largest round trips: sixteen time-outs of two round trips, doubled ten times.
const TRIPS: u64 = 16 << 11;
/// Most paths whose round trips are compared: the time need not be exact.
const PATHS: usize = 1000;

/// Checks of a run's progress, with the counts at the last one.
pub(super) struct Looks {
    pub(super) next: Time,
    seen: [u64; 4],
}

impl Looks {
    /// Checks for a run that ends by itself; `None` for a run with a `stop`.
    pub(super) fn of(spec: &RunSpec, network: &Network) -> Option<Looks> {
        // A run with a `stop` ends then, whether it makes progress or not.
        if spec.stop < Time::MAX {
            return None;
        }
        let parameters = spec.transports.iter().flat_map(|transport| &transport.params);
        let timer = parameters.filter_map(|(_, value)| match value {
            ParamValue::Time(time) => Some(*time),
            _ => None,
        });
        // A sample of paths, spread over all flows and all hosts.
        // `max(1)`: there may be no flows, and `step_by` panics at 0.
        let flows = spec.flows.iter().step_by(spec.flows.len().div_ceil(PATHS).max(1));
        let hosts = (1..network.interfaces()).step_by((network.interfaces() as usize).div_ceil(PATHS).max(1));
        let pairs = flows.map(|flow| (flow.src, flow.dst)).chain(hosts.map(|host| (0, host)));
        let trips = pairs.filter(|(a, b)| network.reachable(*a, *b) && network.reachable(*b, *a));
        let trip = trips.map(|(a, b)| network.path(a, b).max_rtt).max().unwrap_or(Time::ZERO);
        let timer = timer.max().unwrap_or(Time::ZERO).saturating_mul(TIMERS);
        Some(Looks { next: LEAST.max(timer).max(trip.saturating_mul(TRIPS)), seen: [0; 4] })
    }
}

impl<'a> Conductor<'a> {
    /// Time of the next check; never in a run with a `stop`.
    pub(super) fn next_progress(&self) -> Time {
        // A run that rested may be beyond it.
        self.looks.as_ref().map_or(Time::MAX, |looks| looks.next.max(self.now))
    }

    /// Checks the run if it is time for that, after all events of this instant. Returns true if it makes no progress any
    /// more.
    pub(super) fn stands_still(&mut self, all: &Guards<'_, 'a>) -> bool {
        let now = self.now;
        let Some(looks) = self.looks.as_mut().filter(|looks| looks.next <= now) else { return false };
        let flows = all.first().map_or(&self.flows, |shard| &shard.flows);
        // Wrapping: only a difference from the last check matters.
        let arrived = flows.iter().fold(0u64, |sum, flow| sum.wrapping_add(flow.delivered()));
        let counts = all.iter().map(|shard| shard.begun_and_over());
        let (begun, over) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let steps = self.waiting.as_ref().map_or(0, |waiting| waiting.steps_over());
        let seen = [arrived, begun, over, steps];
        let before = std::mem::replace(&mut looks.seen, seen);
        looks.next = now.saturating_mul(2);
        before == seen
            // A run that is to rest at a time may be given something new then.
            && self.until == Time::MAX
            && !all.iter().any(|shard| shard.has_plans())
            && !self.waiting.as_ref().is_some_and(|waiting| waiting.is_under_way())
            && !self.spec.faults.iter().any(|fault| fault.changes_after(now))
    }
}
