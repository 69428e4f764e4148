//! A host's own link: credits are shaped and dropped there as at any switch port, and go before a queue of
//! everything else.

use super::params::Values;
use super::{Shared, TimerKey};
use headway_packet::{Packet, Sizes};
use headway_primitives::TokenBucket;
use headway_units::{Rate, Time};
use std::collections::VecDeque;

/// Credits of a host that wait for its link. ExpressPass §3.1
pub(super) struct HostLink {
    bucket: TokenBucket,
    waiting: VecDeque<Packet>,
    bytes: u64,
    limit: u64,
    dropped: u64,
    /// The deadline in force, `Time::MAX` when none is.
    armed: Time,
}

impl HostLink {
    pub(super) fn new(params: &Values, rate: Rate, sizes: &Sizes) -> HostLink {
        let credit = mean_bytes(params, sizes);
        let bucket =
            TokenBucket::of_link(rate, credit, sizes.full_wire().into(), credit * params.credit_burst);
        let limit = credit * params.credit_queue;
        HostLink { bucket, waiting: VecDeque::new(), bytes: 0, limit, dropped: 0, armed: Time::MAX }
    }

    /// Queues a credit, or drops it for want of room.
    pub(super) fn push(&mut self, shared: &mut Shared, now: Time, credit: Packet) {
        let bytes = self.bytes + u64::from(credit.wire);
        if bytes > self.limit {
            self.dropped += 1;
            return;
        }
        self.bytes = bytes;
        self.waiting.push_back(credit);
        // With others ahead of it, their departures lead to `arm_wake_up`.
        if self.waiting.len() == 1 {
            self.arm_wake_up(shared, now);
        }
    }

    /// Takes the next credit if it may leave.
    pub(super) fn take_credit(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let first =
            self.waiting.front().filter(|credit| self.bucket.eligible_at(credit.wire.into()) <= now)?;
        self.bucket.take(now, first.wire.into());
        let credit = self.waiting.pop_front()?;
        self.bytes -= u64::from(credit.wire);
        self.arm_wake_up(shared, now);
        Some(credit)
    }

    /// Asks to be woken when the next credit may leave, if that is later.
    fn arm_wake_up(&mut self, shared: &mut Shared, now: Time) {
        let Some(credit) = self.waiting.front() else { return };
        let opens = self.bucket.eligible_at(credit.wire.into());
        // An earlier deadline looks again when it comes.
        if opens > now && opens < self.armed {
            self.armed = opens;
            shared.timers.arm_deadline(opens, TimerKey::Line);
        }
    }

    /// A deadline has come: the driver will ask for packets. Another may be needed.
    pub(super) fn line_due(&mut self, shared: &mut Shared, now: Time) {
        self.armed = Time::MAX;
        self.arm_wake_up(shared, now);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Credits dropped here so far.
    pub(super) fn dropped_credits(&self) -> u64 {
        self.dropped
    }

    /// Drops the credits that are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&Packet) -> bool) {
        self.waiting.retain(keep);
        self.bytes = self.waiting.iter().map(|credit| u64::from(credit.wire)).sum();
    }
}

/// Bytes of a credit, on average.
pub(super) fn mean_bytes(params: &Values, sizes: &Sizes) -> u64 {
    let usual = u64::from(sizes.control);
    // Sizes are drawn evenly from the shortest to the longest.
    (usual.saturating_sub(params.credit_shorter).max(1) + usual + params.credit_longer) / 2
}

/// Time between two credits at the highest rate of a link: that of a credit and of the data that it brings.
pub(super) fn credit_slot(params: &Values, rate: Rate, sizes: &Sizes) -> Time {
    rate.time_of(mean_bytes(params, sizes) + u64::from(sizes.full_wire()))
}
