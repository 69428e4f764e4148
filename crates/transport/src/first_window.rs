//! The first window of a message: its size in packets, and the time at which each may leave.

use crate::InitialWindow;
use crate::timers::{TimerKey, Timers};
use headway_units::Time;

/// Releases the packets of a first window at line rate, or spaced as one of several fair sharers.
#[derive(Clone, Copy, Debug)]
pub struct FirstWindowSchedule {
    start: Time,
    slot: Time,
    initial_window: InitialWindow,
    window: u32,
    released: u32,
}

impl FirstWindowSchedule {
    /// The schedule of a message of `packets` packets on a path that holds `bdp` packets at the rate at which each
    /// takes `slot` on the wire ([`crate::HostContext::bdp_packets`]).
    pub fn new(
        initial_window: InitialWindow,
        bdp: u32,
        packets: u32,
        slot: Time,
        start: Time,
    ) -> FirstWindowSchedule {
        let share = initial_window.share.max(1);
        let full = initial_window.window.unwrap_or(bdp);
        // Rounded to the nearest packet, and never nothing: a message without a first window would wait
        // for a permission that is never sent.
        let sharers = initial_window.sharer_thousandths();
        let rounded = (u64::from(full) * 1000 + sharers / 2) / sharers;
        // `packets` is at least 1, because an empty message has one empty packet: `clamp` cannot panic.
        let window = u32::try_from(rounded).unwrap_or(u32::MAX).clamp(1, packets);
        let initial_window = InitialWindow { share, burst: initial_window.burst.max(1), ..initial_window };
        FirstWindowSchedule { start, slot, initial_window, window, released: 0 }
    }

    /// Packets of the first window.
    pub fn window_packets(&self) -> u32 {
        self.window
    }

    /// Time at which the last packet of the window has left, if nothing else takes the wire.
    pub fn last_departure(&self) -> Time {
        match self.initial_window.share {
            // At line rate all packets leave at `start` as far as this schedule goes; the wire spaces them.
            1 => self.start.saturating_add(self.slot.saturating_mul(self.window.into())),
            // A window has at least one packet.
            _ => self.departure_time(self.window - 1).saturating_add(self.slot),
        }
    }

    /// Earliest time of packet `index` of the window: bursts of `burst` packets, `share` bursts a turn.
    fn departure_time(&self, index: u32) -> Time {
        if self.initial_window.share == 1 {
            return self.start;
        }
        let burst = self.initial_window.burst;
        // The times are in thousandths of a slot.
        let turn = u128::from(index / burst) * u128::from(self.initial_window.sharer_thousandths())
            // 128 bits, because thousandths of slots times picoseconds exceed 64.
            + u128::from(self.initial_window.phase) * 1000;
        let slots = turn * u128::from(burst) + u128::from(index % burst) * 1000;
        // One division at the end, so that rounding does not add up over the packets.
        let after = u128::from(self.slot.0).saturating_mul(slots) / 1000;
        self.start.saturating_add(Time(u64::try_from(after).unwrap_or(u64::MAX)))
    }

    /// Takes the packets that may leave by `now`: first index and count, 0 when none.
    pub fn take_released(&mut self, now: Time) -> (u32, u32) {
        let first = self.released;
        if self.initial_window.share == 1 {
            self.released = self.window;
        }
        while self.released < self.window && self.departure_time(self.released) <= now {
            self.released += 1;
        }
        (first, self.released - first)
    }

    /// [`FirstWindowSchedule::take_released`], and the deadline of the next packet that may leave later.
    pub fn release_and_arm<K: TimerKey>(&mut self, timers: &mut Timers<K>, now: Time, key: K) -> (u32, u32) {
        let taken = self.take_released(now);
        if let Some(at) = self.next() {
            timers.arm_deadline(at, key);
        }
        taken
    }

    /// Earliest time of the next packet of the window, if one is left.
    pub fn next(&self) -> Option<Time> {
        (self.released < self.window).then(|| self.departure_time(self.released))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_fair_sharers_alternate_slots() {
        let initial_window = |slot| InitialWindow { share: 2, phase: slot, ..InitialWindow::default() };
        let slot = Time(10);
        let mut a = FirstWindowSchedule::new(initial_window(0), 6, 100, slot, Time::ZERO);
        let mut b = FirstWindowSchedule::new(initial_window(1), 6, 100, slot, Time::ZERO);
        let mut order = Vec::new();
        for t in (0..60).step_by(10) {
            for (name, s) in [('a', &mut a), ('b', &mut b)] {
                let (_, n) = s.take_released(Time(t));
                order.extend(std::iter::repeat_n(name, n as usize));
            }
        }
        assert_eq!(order.iter().collect::<String>(), "ababab");
        assert_eq!(a.next(), None);
    }

    #[test]
    fn bursts_leave_back_to_back() {
        let initial_window =
            InitialWindow { share: 2, burst: 3, phase: 1, window: Some(12), ..InitialWindow::default() };
        let mut s = FirstWindowSchedule::new(initial_window, 99, 100, Time(1), Time::ZERO);
        let mut leaves = Vec::new();
        while let Some(t) = s.next() {
            leaves.push(t.0);
            s.take_released(t);
        }
        // The other sharer has slots 0 to 2 and 6 to 8.
        assert_eq!(leaves, [3, 4, 5, 9, 10, 11]);
    }

    #[test]
    fn one_of_two_and_a_half_leaves_two_and_a_half_slots_apart() {
        let initial_window = InitialWindow { share: 3, fewer: 500, ..InitialWindow::default() };
        let mut s = FirstWindowSchedule::new(initial_window, 10, 100, Time(10), Time::ZERO);
        let mut leaves = Vec::new();
        while let Some(t) = s.next() {
            leaves.push(t.0);
            s.take_released(t);
        }
        assert_eq!(leaves, [0, 25, 50, 75], "a window of 10 over 2.5");
    }

    #[test]
    fn the_largest_windows_and_shares_do_not_overflow() {
        for (window, share) in
            [(u32::MAX, 1), (u32::MAX, 2), (u32::MAX, u32::MAX), (1, u32::MAX), (7, 2), (6, 4)]
        {
            let initial_window = InitialWindow {
                share,
                burst: u32::MAX,
                phase: u32::MAX,
                window: Some(window),
                ..InitialWindow::default()
            };
            let s = FirstWindowSchedule::new(initial_window, 1, u32::MAX, Time(u64::MAX / 2), Time(1 << 60));
            let rounded = (u64::from(window) + u64::from(share / 2)) / u64::from(share);
            assert_eq!(u64::from(s.window_packets()), rounded.max(1), "{window} / {share}");
            assert!(s.last_departure() >= Time(1 << 60));
        }
    }

    #[test]
    fn line_rate_takes_the_whole_window_at_once() {
        let mut s = FirstWindowSchedule::new(InitialWindow::default(), 36, 20, Time(1), Time(5));
        assert_eq!(s.take_released(Time(5)), (0, 20));
        assert_eq!(s.next(), None);
    }
}
