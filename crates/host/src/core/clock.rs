//! The time of the machine, which is behind the endpoint's while deadlines are made up for.
//!
//! Transports that pace (pulls, tokens, credits, packets at a rate) arm one deadline after the other, each counted from
//! the one before. A thread wakes up a few microseconds late, or much later; a machine that gets the late time counts
//! from it, and loses as much of its rate with every step: at 100 Gb/s a full packet takes 0.12 us, and a wake-up 5. So
//! every deadline that was missed is answered at its own time, one after the other, and packets are pulled in between: the
//! machine does at once all that it would have done in time. This is to deadlines what [`crate::nic`] is to departures.

use headway_units::Time;

/// Largest lag of the machine: as much as a thread that is woken up is late, on a machine with other work. Packets that
/// a longer silence would have let through are not made up for, so that no burst is longer than that.
pub(super) const LATE: Time = Time::us(200);

/// See the module.
pub(super) struct MachineClock {
    /// Time of the machine's last input.
    told: Time,
    /// True if that was a missed deadline, whose packets have not all been pulled.
    behind: bool,
    /// Largest lag that is made up for.
    most: Time,
}

impl MachineClock {
    /// Clock of a machine on a link that may itself lag by `catch_up`.
    pub(super) fn new(catch_up: Time) -> MachineClock {
        MachineClock { told: Time::ZERO, behind: false, most: catch_up.max(LATE) }
    }

    /// Something happens now.
    pub(super) fn input_time(&mut self, now: Time) -> Time {
        self.behind = false;
        self.told = self.told.max(now);
        self.told
    }

    /// Time at which the machine hears of its deadline `at`, which is not after `now`.
    pub(super) fn deadline_time(&mut self, at: Time, now: Time) -> Time {
        let earliest = now.saturating_sub(self.most);
        // Never back, never ahead of `now`, and never further back than is made up for. `told` may be ahead of
        // `now` only if the caller's clock went back.
        self.told = at.max(earliest).max(self.told).min(now.max(self.told));
        self.behind = true;
        self.told
    }

    /// A packet is pulled for a wire that is free at `free`: at what time.
    pub(super) fn pull_time(&mut self, free: Time, now: Time) -> Time {
        if !self.behind {
            return now;
        }
        // Pulled at the time when the wire became free, so that packets leave as far apart as if the deadline
        // had been met.
        self.told = self.told.max(free.min(now));
        self.told
    }

    /// True if the machine has had a missed deadline, and not all of its packets have been pulled.
    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// All that was missed is made up for.
    pub(super) fn caught_up(&mut self) {
        self.behind = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Time = Time::ns(120);

    /// Turns in 10 ms that each follow the one before by the next step, for a thread that wakes up `late`.
    fn count_turns(late: Time) -> u64 {
        let mut clock = MachineClock::new(Time::us(4));
        let (mut now, mut due, mut turns) = (Time::us(1000), Time::us(1000), 0);
        let end = now + Time::ms(10);
        while now < end {
            // Every wake-up is late by the same amount, so a clock that counts from wake-ups loses that much
            // with each turn.
            now = due.max(now) + late;
            while due <= now {
                let at = clock.deadline_time(due, now);
                due = clock.pull_time(Time::ZERO, now).max(at) + STEP;
                turns += 1;
            }
            clock.caught_up();
        }
        turns
    }

    #[test]
    fn lateness_costs_no_rate_until_it_is_too_long() {
        let all = Time::ms(10).0 / STEP.0;
        for late in [Time::ns(1), Time::us(5), Time::us(60), LATE - Time::us(1)] {
            let made = count_turns(late);
            // More than `all` by what fits into the last wake-up, which ends after the 10 ms.
            assert!(made >= all && made <= all + LATE.0 / STEP.0 + 2, "{late}: {made} of {all}");
        }
        // Each wake-up makes up for 200 us of 800, so a quarter of the turns is expected.
        let rare = count_turns(LATE * 4);
        assert!(rare < all / 3, "a silence is not made up for: {rare} of {all}");
    }

    #[test]
    fn time_never_goes_back_and_never_runs_ahead() {
        let mut clock = MachineClock::new(Time::us(4));
        assert_eq!(clock.input_time(Time::us(500)), Time::us(500));
        assert_eq!(
            clock.deadline_time(Time::us(450), Time::us(520)),
            Time::us(500),
            "after what it was told"
        );
        assert_eq!(clock.deadline_time(Time::us(510), Time::us(520)), Time::us(510), "at its own time");
        assert_eq!(clock.pull_time(Time::us(505), Time::us(520)), Time::us(510));
        assert_eq!(clock.pull_time(Time::us(515), Time::us(520)), Time::us(515), "when the wire became free");
        assert_eq!(clock.pull_time(Time::us(530), Time::us(520)), Time::us(520), "and not later than now");
        assert_eq!(clock.deadline_time(Time::us(516), Time::us(521)), Time::us(520));
        assert_eq!(clock.deadline_time(Time::us(600), Time::us(5000)), Time::us(4800), "too long ago");
        clock.caught_up();
        assert_eq!(clock.pull_time(Time::ZERO, Time::us(5001)), Time::us(5001));
    }
}
