//! Packets that a receiver has permitted and not yet seen.

use super::Missing;
use crate::index_window::IndexWindow;
use crate::timers::Timers;
use headway_units::Time;
use std::collections::VecDeque;

/// The permitted packets of one message, each with the time of its permission. A packet that was permitted again has
/// a deadline of its own. Time-outs are the same for all permissions of a kind, so that the earliest is the first.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The first window: when the next of its packets is overdue, which one that is, and the end.
    window: Option<(Time, u32, u32)>,
    /// Time between two packets of the first window.
    slot: Time,
    /// The two ends of the message as the sender has them if it missed no grant.
    ends: (u32, u32),
    /// Permissions for packets from the front and from the end.
    granted: [VecDeque<(Time, u32)>; 2],
    /// Packets permitted again, with the number of times.
    again: Timers<(u32, u32)>,
}

impl Expected {
    /// A message of `packets` packets whose first window is `window`, overdue from `by` on, one a `slot`.
    pub(super) fn new(by: Time, slot: Time, window: u32, packets: u32) -> Expected {
        let window_left = Some((by, 0, window));
        Expected { window: window_left, slot, ends: (window, packets), ..Expected::default() }
    }

    /// True if a packet is permitted as an opportunistic one.
    pub(super) fn is_from_the_end(&self, index: u32) -> bool {
        index >= self.ends.1
    }

    /// A grant permits the next packet from the front, and unless it is `marked` the next one from the end.
    pub(super) fn permit_next(&mut self, now: Time, marked: bool) {
        if self.ends.0 < self.ends.1 {
            self.granted[0].push_back((now, self.ends.0));
            self.ends.0 += 1;
        }
        // The normal packet may have been the last between the two ends.
        if !marked && self.ends.0 < self.ends.1 {
            self.ends.1 -= 1;
            self.granted[1].push_back((now, self.ends.1));
        }
    }

    /// A packet was permitted again, for the `attempts`th time.
    pub(super) fn permit_again(&mut self, by: Time, index: u32, attempts: u32) {
        self.again.arm_deadline(by, (index, attempts));
    }

    /// Takes out every packet that is overdue and has not arrived: its index, and how often it was permitted again.
    pub(super) fn take_overdue(
        &mut self,
        now: Time,
        timeout: Time,
        received: &IndexWindow,
        mut found: impl FnMut(Missing),
    ) {
        let mut missing = |index, attempts| {
            if !received.contains(index) {
                found(Missing { index, attempts });
            }
        };
        while let Some((_, index, _)) = self.window.filter(|&(by, ..)| by <= now) {
            missing(index, 0);
            self.pass_window();
        }
        for granted in &mut self.granted {
            // Entries keep the time of the grant and no deadline, because the time-out follows the measured round
            // trip.
            while let Some(&(_, index)) = granted.front().filter(|e| e.0.saturating_add(timeout) <= now) {
                missing(index, 0);
                granted.pop_front();
            }
        }
        while let Some((_, (index, attempts))) = self.again.pop_due(now) {
            missing(index, attempts);
        }
    }

    /// The earliest time at which a packet that has not arrived is overdue; `Time::MAX` if there is none.
    pub(super) fn next(&mut self, timeout: Time, received: &IndexWindow) -> Time {
        let mut earliest = Time::MAX;
        while let Some((by, index, _)) = self.window {
            if !received.contains(index) {
                earliest = by;
                break;
            }
            self.pass_window();
        }
        for granted in &mut self.granted {
            while let Some(&(at, index)) = granted.front() {
                if !received.contains(index) {
                    earliest = earliest.min(at.saturating_add(timeout));
                    break;
                }
                granted.pop_front();
            }
        }
        while self.again.earliest_key().is_some_and(|(index, _)| received.contains(index)) {
            // The packet has arrived: its deadline goes, due or not.
            self.again.pop_due(Time::MAX);
        }
        earliest.min(self.again.next().unwrap_or(Time::MAX))
    }

    fn pass_window(&mut self) {
        let slot = self.slot;
        self.window = self
            .window
            .filter(|&(_, index, end)| index + 1 < end)
            .map(|(by, index, end)| (by.saturating_add(slot), index + 1, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overdue_packets(expected: &mut Expected, now: u64, received: &IndexWindow) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        expected.take_overdue(Time(now), Time(100), received, |m| all.push((m.index, m.attempts)));
        all
    }

    #[test]
    fn each_packet_is_overdue_once_a_permission_and_never_after_it_has_arrived() {
        let (mut expected, mut received) = (Expected::new(Time(100), Time(10), 3, 9), IndexWindow::default());
        received.insert(0);
        assert_eq!(expected.next(Time(100), &received), Time(110), "packet 1 of the first window");
        expected.permit_next(Time(5), false);
        assert_eq!(expected.next(Time(100), &received), Time(105));
        assert!(expected.is_from_the_end(8) && !expected.is_from_the_end(7));
        expected.permit_next(Time(50), true);
        assert_eq!(overdue_packets(&mut expected, 104, &received), []);
        assert_eq!(overdue_packets(&mut expected, 110, &received), [(1, 0), (3, 0), (8, 0)]);
        expected.permit_again(Time(130), 1, 1);
        assert_eq!(expected.next(Time(100), &received), Time(120));
        received.insert(2);
        assert_eq!(expected.next(Time(100), &received), Time(130));
        // The time-out is the present one: a shorter one brings earlier grants forward.
        assert_eq!(expected.next(Time(70), &received), Time(120));
        assert_eq!(overdue_packets(&mut expected, 150, &received), [(4, 0), (1, 1)]);
        assert_eq!(expected.next(Time(100), &received), Time::MAX);
    }

    #[test]
    fn nothing_is_permitted_beyond_the_message() {
        let (mut expected, received) = (Expected::new(Time(0), Time(0), 1, 4), IndexWindow::default());
        (0..5).for_each(|_| expected.permit_next(Time(0), false));
        assert_eq!(overdue_packets(&mut expected, 100, &received), [(0, 0), (1, 0), (2, 0), (3, 0)]);
    }
}
