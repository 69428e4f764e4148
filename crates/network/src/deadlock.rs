//! Pauses that wait for each other.
//!
//! A cycle of pauses is not yet a deadlock: packets that a stopped link brought may still leave by links that are open,
//! and then it goes on. A deadlock is a set of stopped links (and classes) each of which stays stopped even when all
//! has left that does not wait for a link of the set: then nothing of the set ever moves. It is computed as the largest
//! such set, by taking out of all stopped links those that would go on, until none would.

use crate::lossless::Lossless;
use crate::pfc::Ledger;
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A link in one class.
pub type Lane = (u32, u8);

/// Links that are stopped, and the links that wait for them.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    /// Time since which each is.
    pub since: BTreeMap<Lane, Time>,
    /// Bytes that came by the first and wait for the second, which is stopped.
    pub waits: BTreeMap<(Lane, Lane), u64>,
}

/// Pauses that wait for each other for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Time at which the last link of the cycle was stopped, after which none went on.
    pub closed: Time,
    /// Time at which it was found.
    pub found: Time,
    /// Links in a cycle, each of which waits for the next and the last for the first, by number and class.
    pub cycle: Vec<Lane>,
    /// All links that stay stopped, the cycle among them.
    pub stuck: Vec<Lane>,
    /// Bytes that will never leave.
    pub bytes: u64,
}

impl Stopped {
    /// Finds a deadlock; `ledger` is the memory of a switch by its number.
    pub fn deadlock<'l>(
        &self,
        now: Time,
        lossless: &Lossless,
        ledger: &dyn Fn(u32) -> &'l Ledger,
    ) -> Option<Deadlock> {
        // Only links that end at a switch are stopped, and only if it has not changed its mind.
        let wanted = |lane: &&Lane| {
            lossless
                .inbound(lane.0)
                .is_some_and(|inbound| ledger(inbound.switch).stopped(inbound.place) & 1 << lane.1 != 0)
        };
        let mut set: BTreeSet<Lane> = self.since.keys().filter(wanted).copied().collect();
        loop {
            let (stuck, shared) = self.stuck(&set, lossless, ledger);
            let stays = |lane: &Lane| {
                let Some(inbound) = lossless.inbound(lane.0) else { return false };
                let left = (
                    stuck.get(lane).copied().unwrap_or(0),
                    shared.get(&inbound.switch).copied().unwrap_or(0),
                );
                ledger(inbound.switch).stays_stopped(inbound.place, lane.1.into(), left)
            };
            let before = set.len();
            set.retain(stays);
            if set.len() == before {
                let cycle = self.cycle(&set)?;
                let closed = cycle.iter().map(|lane| self.since[lane]).max().unwrap_or(now);
                let bytes = stuck.values().sum();
                return Some(Deadlock { closed, found: now, cycle, stuck: set.into_iter().collect(), bytes });
            }
        }
    }

    /// Bytes that wait for links of a set, by the link that they came over; and what of it is in the pool of each switch.
    fn stuck<'l>(
        &self,
        set: &BTreeSet<Lane>,
        lossless: &Lossless,
        ledger: &dyn Fn(u32) -> &'l Ledger,
    ) -> (BTreeMap<Lane, u64>, BTreeMap<u32, u64>) {
        let mut stuck: BTreeMap<Lane, u64> = BTreeMap::new();
        for ((from, _), bytes) in self.waits.iter().filter(|((_, to), _)| set.contains(to)) {
            *stuck.entry(*from).or_default() += bytes;
        }
        let mut shared: BTreeMap<u32, u64> = BTreeMap::new();
        for (lane, bytes) in &stuck {
            if let Some(inbound) = lossless.inbound(lane.0) {
                let own = ledger(inbound.switch).shared_of(inbound.place, lane.1.into(), *bytes);
                *shared.entry(inbound.switch).or_default() += own;
            }
        }
        (stuck, shared)
    }

    /// A cycle in a set each of whose links waits for one of it; it begins with its lowest link.
    fn cycle(&self, set: &BTreeSet<Lane>) -> Option<Vec<Lane>> {
        let next = |lane: Lane| {
            let own = self.waits.range((lane, (0, 0))..=(lane, (u32::MAX, u8::MAX)));
            own.map(|((_, to), _)| *to).find(|to| set.contains(to))
        };
        let mut path = vec![*set.first()?];
        loop {
            let after = next(*path.last()?)?;
            if let Some(at) = path.iter().position(|lane| *lane == after) {
                let mut cycle = path.split_off(at);
                // The lowest link first, so that the same cycle always reads the same.
                let lowest = cycle.iter().enumerate().min_by_key(|(_, lane)| **lane).map_or(0, |(at, _)| at);
                cycle.rotate_left(lowest);
                return Some(cycle);
            }
            path.push(after);
        }
    }
}
