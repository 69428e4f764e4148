//! The rate of credit where switches have fewer links upwards than downwards: a receiver asks for less of its link where many
//! packets are marked, or trimmed in front of other ports than its own.
//!
//! Source: the public simulator of Ultra Ethernet, uet-htsim, `oversubscribed_cc`.

use headway_primitives::mix;
use headway_units::Time;

/// Time between two looks, in base round trips, and by how much of itself chance makes it longer or shorter. RCCC §3.4
const PERIOD: f64 = 1.5;
const SPREAD: f64 = 0.25;
/// Weight of the last period in the average share of marked packets, and the share that is tolerated. RCCC §3.4
const WEIGHT: f64 = 0.5;
const TOLERATED: f64 = 0.3;
/// Share of the excess by which the rate falls. RCCC §3.4
const DECREASE: f64 = 0.5;
/// Growth of the rate in a period, as a share of the link's. It doubles from period to period while nothing is marked.
/// RCCC §3.4
const INCREASE: f64 = 0.01;
/// The lowest rate, as a share of a receiver's part of the uplinks, and of its link. RCCC §3.4
const LEAST_OF_UPLINKS: f64 = 0.9;
const LEAST: f64 = 0.01;
/// Periods without a packet after which nothing is left of the earlier estimate: the rate takes seven to grow from the
/// lowest.
const FORGOTTEN: u32 = 64;

/// Packets that have arrived within a period.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    all: u32,
    marked: u32,
    trimmed_here: u32,
    trimmed: u32,
}

/// A receiver's estimate from the marks and headers that arrive, from all senders.
#[derive(Clone, Debug)]
pub(in crate::uet) struct Uplinks {
    /// Share of the rate of pulls, and the lowest.
    rate: f64,
    least: f64,
    /// Average share of marked packets.
    average: f64,
    /// Growth if nothing is marked in this period.
    growth: f64,
    seen: Seen,
    base_rtt: Time,
    next: Time,
    periods: u64,
    seed: u64,
}

impl Uplinks {
    /// Estimate for links upwards that carry one part in `oversubscription` of the hosts' rates below. A base
    /// round trip of 0 is not known yet.
    pub(in crate::uet) fn new(oversubscription: f64, base_rtt: Time, seed: u64) -> Uplinks {
        // Less than the receiver's part of the uplinks would leave them idle.
        let least = (LEAST_OF_UPLINKS / oversubscription).max(LEAST);
        let (seen, next) = (Seen::default(), Time::ZERO);
        let mut uplinks = Uplinks {
            rate: 1.0,
            least,
            average: 0.0,
            growth: INCREASE,
            seen,
            base_rtt,
            next,
            periods: 0,
            seed,
        };
        uplinks.wait_period(Time::ZERO);
        uplinks
    }

    /// The base round trip, where it was not known.
    pub(in crate::uet) fn learn_base_rtt(&mut self, now: Time, base_rtt: impl FnOnce() -> Time) {
        if self.base_rtt == Time::ZERO {
            self.base_rtt = base_rtt();
            self.wait_period(now);
        }
    }

    /// The next look is a period after `from`.
    fn wait_period(&mut self, from: Time) {
        self.periods += 1;
        let lot = mix(self.seed ^ self.periods) as f64 / u64::MAX as f64;
        let period = self.base_rtt.0 as f64 * PERIOD * (1.0 - SPREAD + 2.0 * SPREAD * lot);
        self.next = from.saturating_add(Time(period.max(1.0) as u64));
    }

    /// A packet has arrived: marked or not, whole or trimmed, and in front of this host or not.
    pub(in crate::uet) fn note_arrival(&mut self, now: Time, marked: bool, trimmed: Option<bool>) {
        self.catch_up(now);
        self.seen.all += 1;
        match trimmed {
            Some(true) => self.seen.trimmed_here += 1,
            Some(false) => self.seen.trimmed += 1,
            None => self.seen.marked += u32::from(marked),
        }
    }

    /// Share of the rate of pulls that is requested now.
    pub(in crate::uet) fn pull_share(&mut self, now: Time) -> f64 {
        self.catch_up(now);
        self.rate
    }

    /// The looks that were due. They need no deadline: nothing but a pull depends on them.
    fn catch_up(&mut self, now: Time) {
        if self.base_rtt == Time::ZERO {
            return;
        }
        // Bounded: after a long silence periods are not made up for one by one.
        for _ in 0..FORGOTTEN {
            if now < self.next {
                return;
            }
            self.end_period();
            self.wait_period(self.next);
        }
        if now >= self.next {
            (self.rate, self.average, self.growth) = (1.0, 0.0, INCREASE);
            self.wait_period(now);
        }
    }

    /// The end of a period. RCCC §3.4
    fn end_period(&mut self) {
        let Seen { all, marked, trimmed_here, trimmed } = std::mem::take(&mut self.seen);
        let whole = all - trimmed_here - trimmed;
        let share = if whole > 0 { f64::from(marked) / f64::from(whole) } else { 0.0 };
        self.average = self.average * (1.0 - WEIGHT) + share * WEIGHT;
        if trimmed > 0 {
            // A trimmed packet was one too many on the way, so that share of the pulls is given up.
            self.rate -= f64::from(trimmed) / f64::from(all);
        }
        if self.average > TOLERATED {
            self.rate *= 1.0 - (self.average - TOLERATED) * DECREASE;
        }
        if trimmed > 0 || self.average > TOLERATED {
            self.growth = INCREASE;
        } else {
            self.rate += if marked == 0 { self.growth } else { INCREASE };
            // No rate is larger than 1.
            self.growth = (self.growth * 2.0).min(1.0);
        }
        self.rate = self.rate.clamp(self.least, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::us(10);

    /// So many packets within the next period, a share of them marked or trimmed on the way, and the share requested at
    /// its end.
    fn run_period(uplinks: &mut Uplinks, packets: u32, marked: u32, trimmed: u32) -> f64 {
        let before = uplinks.periods;
        let at = uplinks.next - Time(1);
        for packet in 0..packets {
            uplinks.note_arrival(at, packet < marked, (packet >= packets - trimmed).then_some(false));
        }
        let share = uplinks.pull_share(uplinks.next);
        assert_eq!(uplinks.periods, before + 1);
        share
    }

    fn test_uplinks(oversubscription: f64) -> Uplinks {
        Uplinks::new(oversubscription, RTT, 7)
    }

    #[test]
    fn marks_beyond_the_tolerated_share_lower_the_rate_by_half_of_the_excess() {
        let mut uplinks = test_uplinks(8.0);
        assert_eq!(run_period(&mut uplinks, 100, 50, 0), 1.0, "an average of a quarter is tolerated");
        // The average is 0.25 / 2 + 1 / 2 = 0.625.
        assert!((run_period(&mut uplinks, 100, 100, 0) - (1.0 - 0.325 * 0.5)).abs() < 1e-12);
        let at = uplinks.next - Time(1);
        uplinks.note_arrival(at, true, Some(true));
        assert!((uplinks.seen.trimmed_here, uplinks.seen.marked) == (1, 0), "its own port is no matter");
    }

    #[test]
    fn trimming_on_the_way_lowers_the_rate_by_its_share_down_to_nine_tenths_of_the_uplinks() {
        let mut uplinks = test_uplinks(8.0);
        assert!((run_period(&mut uplinks, 100, 0, 30) - 0.7).abs() < 1e-12);
        assert!((run_period(&mut uplinks, 100, 0, 90) - 0.9 / 8.0).abs() < 1e-12);
        // Nine tenths of a thousandth are below the lowest share of all.
        let mut steep = self::test_uplinks(1000.0);
        assert_eq!(run_period(&mut steep, 100, 0, 100), 0.01);
    }

    #[test]
    fn the_rate_grows_by_a_hundredth_and_twice_as_much_each_time_while_nothing_is_marked() {
        let mut uplinks = test_uplinks(8.0);
        run_period(&mut uplinks, 10, 0, 9);
        let low = uplinks.rate;
        assert!((run_period(&mut uplinks, 10, 0, 0) - (low + 0.01)).abs() < 1e-12);
        assert!((run_period(&mut uplinks, 10, 0, 0) - (low + 0.03)).abs() < 1e-12);
        assert!((run_period(&mut uplinks, 100, 1, 0) - (low + 0.04)).abs() < 1e-12, "one is marked");
        assert!((run_period(&mut uplinks, 10, 0, 0) - (low + 0.12)).abs() < 1e-12, "the fourth time");
    }

    #[test]
    fn a_silent_network_is_forgotten() {
        let mut uplinks = test_uplinks(8.0);
        run_period(&mut uplinks, 10, 0, 9);
        assert!(uplinks.pull_share(uplinks.next) < 0.13);
        assert_eq!(uplinks.pull_share(Time::s(3600)), 1.0);
        assert!(uplinks.next > Time::s(3600) && uplinks.next < Time::s(3600) + RTT * 2);
    }

    #[test]
    fn looks_are_between_nine_and_fifteen_eighths_of_a_round_trip_apart() {
        let mut uplinks = test_uplinks(8.0);
        for _ in 0..1000 {
            let before = uplinks.next;
            uplinks.pull_share(before);
            let period = uplinks.next - before;
            // 1.5 round trips of 10 us, and a quarter of that less or more.
            assert!(period >= Time(11_249_999) && period <= Time(18_750_000), "{period}");
        }
    }

    #[test]
    fn a_round_trip_that_is_learnt_counts_from_then() {
        let mut uplinks = Uplinks::new(8.0, Time::ZERO, 7);
        assert_eq!(uplinks.pull_share(Time::s(1)), 1.0);
        uplinks.learn_base_rtt(Time::s(1), || RTT);
        assert!(uplinks.next > Time::s(1));
    }
}
