//! The timer of a message that hears nothing.

use crate::endpoint::Path;
use crate::timers::{TimerKey, Timers};
use headway_units::Time;

/// Doublings of a time-out at most, unless a parameter says otherwise.
pub const MAX_BACKOFF: u32 = 10;

/// The idle timer of one end of a message: it expires once nothing was heard and nothing was sent for a time-out,
/// which the protocol doubles as often as it expired since something was heard.
///
/// A deadline is armed once and looks again: activity moves no deadline, and costs no more than a store.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimer {
    /// The one deadline in force, [`Time::MAX`] when none is.
    armed: Time,
    /// Time of the last packet sent or received.
    active: Time,
    /// Times that it expired since something was heard.
    backoff: u32,
    /// Upper limit of the time-out: [`Path::longest_timeout`].
    longest: Time,
}

impl IdleTimer {
    /// A timer that is not armed, of a message over `path` that begins `now`.
    pub fn new(now: Time, path: &Path) -> IdleTimer {
        IdleTimer { armed: Time::MAX, active: now, backoff: 0, longest: path.longest_timeout }
    }

    /// Something was sent: the time-out counts from `now`.
    #[inline]
    pub fn mark_sent(&mut self, now: Time) {
        self.active = now;
    }

    /// Something was heard: the time-out counts from `now`, and is not doubled. Whether it was: the deadline in force
    /// is too late then.
    #[inline]
    pub fn mark_heard(&mut self, now: Time) -> bool {
        self.active = now;
        std::mem::take(&mut self.backoff) > 0
    }

    /// Times that it expired since something was heard.
    #[inline]
    pub fn backoff_count(&self) -> u32 {
        self.backoff
    }

    /// `timeout`, doubled for each of the first `most` times that it expired, as far as the path lets it.
    pub fn doubled_timeout(&self, timeout: Time, most: u32) -> Time {
        // A time-out that is beyond the longest from the start stays as it is.
        timeout.saturating_mul(1 << self.backoff.min(most)).min(self.longest.max(timeout))
    }

    /// Puts the deadline at `at`, in place of the one in force.
    pub fn arm_timer<K: TimerKey>(&mut self, timers: &mut Timers<K>, at: Time, key: K) {
        // The old deadline stays in the heap: `has_expired` ignores whatever comes before `armed`.
        self.armed = at;
        timers.arm_deadline(at, key);
    }

    /// A deadline has come: returns true if it is the one in force and a time-out has passed in silence. If not,
    /// another is armed where one is needed. A message that is `held` at this host cannot have been answered: its time
    /// counts from `now`.
    pub fn has_expired<K: TimerKey>(
        &mut self,
        timers: &mut Timers<K>,
        now: Time,
        held: bool,
        timeout: Time,
        key: K,
    ) -> bool {
        if now < self.armed {
            return false;
        }
        let since = if held { now } else { self.active };
        let due = since.saturating_add(timeout);
        if due > now {
            self.arm_timer(timers, due, key);
            return false;
        }
        // The next time-out counts from here, even if the caller sends nothing in answer.
        self.active = now;
        self.backoff = self.backoff.saturating_add(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::timer_keys! {
        enum Key { Idle(headway_packet::HostId, u32) }
    }
    const KEY: Key = Key::Idle(headway_packet::HostId(0), 0);
    const TIMEOUT: Time = Time(100);
    const PATH: Path = Path {
        longest_timeout: Time(300),
        base_rtt: Time(10),
        max_rtt: Time(20),
        bottleneck: headway_units::Rate::gbps(10),
        paths: 0,
        hops: 1,
    };

    /// A timer armed at 0 for `TIMEOUT`.
    fn armed_timer() -> (IdleTimer, Timers<Key>) {
        let (mut idle, mut timers) = (IdleTimer::new(Time::ZERO, &PATH), Timers::default());
        idle.arm_timer(&mut timers, TIMEOUT, KEY);
        (idle, timers)
    }

    #[test]
    fn silence_expires_and_doubles_until_something_is_heard() {
        let (mut idle, mut timers) = armed_timer();
        assert!(idle.has_expired(&mut timers, TIMEOUT, false, TIMEOUT, KEY));
        assert_eq!((idle.backoff_count(), idle.doubled_timeout(TIMEOUT, 3)), (1, Time(200)));
        assert_eq!(idle.doubled_timeout(TIMEOUT, 0), TIMEOUT, "not above the limit");
        assert_eq!(idle.doubled_timeout(TIMEOUT * 2, 3), Time(300), "nor above the path's");
        assert_eq!(idle.doubled_timeout(TIMEOUT * 5, 3), TIMEOUT * 5, "and not below the first");
        assert!(idle.mark_heard(Time(150)), "its deadline has to be brought forward");
        assert!(!idle.mark_heard(Time(160)));
        assert_eq!(idle.doubled_timeout(TIMEOUT, 3), TIMEOUT);
    }

    #[test]
    fn activity_puts_the_deadline_off() {
        let (mut idle, mut timers) = armed_timer();
        timers.pop_due(TIMEOUT);
        idle.mark_sent(Time(60));
        assert!(!idle.has_expired(&mut timers, TIMEOUT, false, TIMEOUT, KEY));
        assert_eq!(timers.next(), Some(Time(160)));
        assert!(
            !idle.has_expired(&mut timers, Time(159), false, TIMEOUT, KEY),
            "one that is not in force does nothing"
        );
        assert!(idle.has_expired(&mut timers, Time(160), false, TIMEOUT, KEY));
    }

    #[test]
    fn a_message_held_at_its_own_host_does_not_time_out() {
        let (mut idle, mut timers) = armed_timer();
        timers.pop_due(TIMEOUT);
        assert!(!idle.has_expired(&mut timers, Time(500), true, TIMEOUT, KEY));
        assert_eq!(timers.next(), Some(Time(600)));
    }
}
