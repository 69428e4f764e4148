//! Turns that come at intervals: entries wait in a queue, and one is served at each turn.

use headway_units::Time;
use std::collections::VecDeque;

/// Things that are dealt with one at a time, each a while after the last one, in the order in which they came.
///
/// The owner keeps one deadline of its timers for it: it deals with what [`Turns::next`] gives, and arms
/// what [`Turns::arm_deadline`] says.
#[derive(Clone, Debug)]
pub struct Turns<T> {
    waiting: VecDeque<T>,
    /// Time of the next turn.
    at: Time,
    /// True if a deadline for that turn is armed.
    armed: bool,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Turns { waiting: VecDeque::new(), at: Time::ZERO, armed: false }
    }
}

impl<T> Turns<T> {
    /// Something waits for its turn.
    pub fn push(&mut self, thing: T) {
        self.waiting.push_back(thing);
    }

    /// Drops the items that are not to be kept.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.waiting.retain(keep);
    }

    /// True if no deadline is armed, so that the caller has to look for a turn.
    pub fn is_idle(&self) -> bool {
        !self.armed
    }

    /// Notes that the armed deadline has come.
    pub fn mark_due(&mut self) {
        self.armed = false;
    }

    /// The entry that has waited longest, if its turn has come.
    pub fn next(&mut self, now: Time) -> Option<T> {
        if now < self.at {
            return None;
        }
        // This alone uses up no turn: the entry may need nothing any more by the time it comes up.
        self.waiting.pop_front()
    }

    /// Records that the entry from [`Turns::next`] was served: the next turn is `gap` later.
    pub fn mark_served(&mut self, now: Time, gap: Time) {
        // From now, and not from the time at which the turn was due: late turns must not come in a burst.
        self.at = now.saturating_add(gap);
    }

    /// The deadline to arm, if anything waits.
    pub fn arm_deadline(&mut self) -> Option<Time> {
        self.armed = !self.waiting.is_empty();
        self.armed.then_some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_gap_in_the_order_of_coming() {
        let mut turns = Turns::default();
        (0..3).for_each(|i| turns.push(i));
        assert!(turns.is_idle());
        assert_eq!(turns.next(Time(5)), Some(0));
        turns.mark_served(Time(5), Time(10));
        assert_eq!(turns.next(Time(5)), None);
        assert_eq!((turns.arm_deadline(), turns.is_idle()), (Some(Time(15)), false));
        turns.mark_due();
        // An entry that was withdrawn uses up no turn.
        assert_eq!(turns.next(Time(15)), Some(1));
        assert_eq!(turns.next(Time(15)), Some(2));
        turns.mark_served(Time(15), Time(10));
        assert_eq!((turns.arm_deadline(), turns.is_idle()), (None, true));
        turns.push(3);
        assert_eq!(turns.next(Time(24)), None, "the pace outlives an empty queue");
        turns.retain(|&i| i != 3);
        assert_eq!(turns.arm_deadline(), None);
    }
}
