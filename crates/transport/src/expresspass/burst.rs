//! The first window of a message, which leaves at once together with the request for credits. Aeolus §4

use super::params::Unheard;
use crate::aeolus::{AeolusParams, FirstWindow};
use crate::first_window::FirstWindowSchedule;
use crate::index_window::IndexWindow;
use headway_units::Time;

/// Packet that leaves next without a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    Data(u32),
    Probe,
}

/// A first window at its sender.
pub(super) struct Burst {
    pub(super) window: FirstWindow,
    initial_window: FirstWindowSchedule,
    /// Packets whose time has come.
    released: u32,
    /// Packets below have left, or will leave with credits.
    pushed: u32,
    /// Packets that have left, by whatever right.
    departed: IndexWindow,
    unheard: Unheard,
    /// A largest round trip, and when one has passed since the probe left.
    timeout: Time,
    overdue: Time,
    /// True if it waits for the wire.
    pub(super) queued: bool,
}

impl Burst {
    pub(super) fn new(
        initial_window: FirstWindowSchedule,
        (params, unheard): (&AeolusParams, Unheard),
        timeout: Time,
    ) -> Burst {
        Burst {
            window: FirstWindow::new(initial_window.window_packets(), params),
            initial_window,
            released: 0,
            pushed: 0,
            departed: IndexWindow::default(),
            unheard,
            timeout,
            overdue: Time::MAX,
            queued: false,
        }
    }

    /// Packets of it.
    pub(super) fn window_size(&self) -> u32 {
        self.initial_window.window_packets()
    }

    /// Releases the packets whose time has come; returns the time of the next release.
    pub(super) fn release_packets(&mut self, now: Time) -> Option<Time> {
        self.released += self.initial_window.take_released(now).1;
        self.initial_window.next()
    }

    /// The packet that leaves next: each one once, then the probe.
    pub(super) fn push(&mut self, now: Time) -> Option<Push> {
        // Credits may have brought packets before the wire came to them.
        while self.pushed < self.window_size() && self.window.was_sent_again(self.pushed) {
            self.pushed += 1;
        }
        if self.pushed < self.released {
            self.pushed += 1;
            self.departed.insert(self.pushed - 1);
            return Some(Push::Data(self.pushed - 1));
        }
        let probe = self.pushed == self.window_size() && self.window.wants_probe();
        probe.then(|| {
            self.window.mark_probed();
            // The probe is the last of the window: by then the answers to all of it should be here.
            self.overdue = now.saturating_add(self.timeout);
            Push::Probe
        })
    }

    /// The first packet that nothing is known of, if it has not left yet or it is time to send it again.
    pub(super) fn unheard_packet(&self, now: Time) -> Option<u32> {
        let known = self.window.first_unheard()?;
        let waited = self.unheard == Unheard::AtOnce || now >= self.overdue;
        (waited || !self.departed.contains(known)).then_some(known)
    }

    /// Packet `index` leaves with a credit. Returns true if it had left before.
    pub(super) fn mark_credited(&mut self, index: u32) -> bool {
        self.window.sent_again(index);
        !self.departed.insert(index)
    }
}
