//! Times at which epochs and rounds begin. dcPIM §3

use headway_units::Time;

/// The clock of a host's matching: boundaries are computed from time 0 and not chained, so that an idle host needs no timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Half a round: the time for a request, or for its answer.
    half: Time,
    rounds: u64,
    /// Time from one epoch to the next.
    pub(super) period: Time,
    /// Offset of this host's epochs from multiples of the period.
    later: Time,
}

/// No epoch is longer, 13 days: times of the next two can be said.
const LONGEST: Time = Time(1 << 60);

/// Action of a receiver at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Round `1..=rounds` of an epoch.
    Round(u64, u64),
    /// The data phase of an epoch, without one of the next epoch in the same instant.
    Data(u64),
}

impl Schedule {
    pub(super) fn new(round: Time, rounds: u64, alpha: f64, later: Time) -> Schedule {
        // Bounded, so that no epoch is longer than the longest.
        // Times are divided by it, so that it is 1 ps at least.
        let half = Time((round.0 / 2).clamp(1, LONGEST.0 / (2 * rounds)));
        let matching = half * (2 * rounds);
        let period = crate::shared::scale_time(matching, alpha).clamp(matching, LONGEST);
        Schedule { half, rounds, period, later: Time(later.0 % period.0) }
    }

    /// Time from the beginning of an epoch to its data phase.
    pub(super) fn matching_time(&self) -> Time {
        self.half * (2 * self.rounds)
    }

    /// Time on a clock on which epochs begin at multiples of the period; epoch 0 is over before it begins here.
    fn local_clock(&self, now: Time) -> u64 {
        now.0.saturating_add(self.period.0 - self.later.0)
    }

    /// The epoch whose matching is under way, or was last.
    pub(super) fn epoch_at(&self, now: Time) -> u64 {
        self.local_clock(now) / self.period.0
    }

    fn boundary_time(&self, epoch: u64, halves: u64) -> Time {
        let local = epoch.saturating_mul(self.period.0).saturating_add(self.half.0.saturating_mul(halves));
        // Part of epoch 0 lies before time 0.
        Time(local.saturating_sub(self.period.0 - self.later.0))
    }

    /// The beginning of an epoch after `now`.
    pub(super) fn next_epoch(&self, now: Time) -> Time {
        self.boundary_time(self.epoch_at(now) + 1, 0)
    }

    /// Start of the data phase of an epoch.
    pub(super) fn data_phase(&self, epoch: u64) -> Time {
        self.boundary_time(epoch, 2 * self.rounds)
    }

    /// The next boundary after `now` at which a receiver has something to do.
    pub(super) fn next_boundary(&self, now: Time) -> Time {
        let epoch = self.epoch_at(now);
        let into = self.local_clock(now) - epoch * self.period.0;
        let halves = (into / self.half.0 / 2 + 1) * 2;
        if halves > 2 * self.rounds {
            self.next_epoch(now)
        } else {
            self.boundary_time(epoch, halves).min(self.next_epoch(now))
        }
    }

    /// Action of a receiver at boundary `at`.
    pub(super) fn boundary_at(&self, at: Time) -> Boundary {
        let epoch = self.epoch_at(at);
        let halves = (self.local_clock(at) - epoch * self.period.0) / self.half.0;
        match halves / 2 {
            round if round < self.rounds => Boundary::Round(epoch, round + 1),
            _ => Boundary::Data(epoch),
        }
    }

    /// The next instant after `now` at which a sender answers requests: the middle of a round.
    pub(super) fn next_answer(&self, now: Time) -> Time {
        let epoch = self.epoch_at(now);
        let into = self.local_clock(now) - epoch * self.period.0;
        let halves = (into + self.half.0) / self.half.0 / 2 * 2 + 1;
        if halves > 2 * self.rounds {
            self.boundary_time(epoch + 1, 1)
        } else {
            self.boundary_time(epoch, halves)
        }
    }

    /// The round in whose middle a sender is `at` such an instant.
    pub(super) fn answered_round(&self, at: Time) -> (u64, u64) {
        let epoch = self.epoch_at(at);
        let halves = (self.local_clock(at) - epoch * self.period.0) / self.half.0;
        (epoch, (halves / 2 + 1).min(self.rounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_multiples_of_a_round_from_time_zero() {
        let s = Schedule::new(Time(100), 4, 1.0, Time::ZERO);
        assert_eq!((s.period, s.matching_time()), (Time(400), Time(400)));
        let mut seen = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..5 {
            now = s.next_boundary(now);
            seen.push((now.0, s.boundary_at(now)));
        }
        // Time 0 begins epoch 1, so that there is one before it.
        use Boundary::Round;
        assert_eq!(
            seen,
            [
                (100, Round(1, 2)),
                (200, Round(1, 3)),
                (300, Round(1, 4)),
                (400, Round(2, 1)),
                (500, Round(2, 2))
            ]
        );
        assert_eq!(s.next_answer(Time(0)), Time(50));
        assert_eq!(s.next_answer(Time(49)), Time(50));
        assert_eq!(s.next_answer(Time(50)), Time(150));
        // 350 is itself an answer, of round 4: the next is that of the first round of epoch 2.
        assert_eq!(s.next_answer(Time(350)), Time(450));
        assert_eq!(s.answered_round(Time(450)), (2, 1));
        assert_eq!(s.data_phase(1), Time(400));
    }

    #[test]
    fn a_longer_data_phase_leaves_time_between_matchings() {
        let s = Schedule::new(Time(100), 2, 1.5, Time(30));
        assert_eq!(s.period, Time(300));
        let mut now = Time(30);
        let mut seen = Vec::new();
        for _ in 0..4 {
            now = s.next_boundary(now);
            seen.push((now.0, s.boundary_at(now)));
        }
        use Boundary::{Data, Round};
        assert_eq!(seen, [(130, Round(1, 2)), (230, Data(1)), (330, Round(2, 1)), (430, Round(2, 2))]);
        assert_eq!(s.next_answer(Time(231)), Time(380), "the first round of the next epoch");
    }
}
