//! Round trips of packets, as the machine that sent them measures them.

use hdrhistogram::Histogram;
use headway_units::Time;

/// Significant decimal digits of a bin: its width is less than a hundredth of its value.
const DIGITS: u8 = 2;

/// Number of round trips, their sum, and their distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips {
    /// Histogram of round trips, in nanoseconds.
    histogram: Histogram<u64>,
    /// Sum in nanoseconds; exact, where a mean over bins is not.
    sum: u128,
    longest: Time,
}

impl Default for RoundTrips {
    fn default() -> Self {
        // Fails for other numbers of digits than 0 to 5 only.
        #[expect(clippy::expect_used, reason = "a constant")]
        let histogram = Histogram::new(DIGITS).expect("a possible number of digits");
        RoundTrips { histogram, sum: 0, longest: Time::ZERO }
    }
}

impl RoundTrips {
    /// Adds one round trip.
    #[inline]
    pub fn note(&mut self, rtt: Time) {
        let ns = rtt.0 / 1000;
        // The histogram grows as it must, and holds any number of 64 bits.
        let _ = self.histogram.record(ns);
        self.sum += u128::from(ns);
        self.longest = self.longest.max(rtt);
    }

    /// One more, if the answer that comes at `now` names a departure that has been.
    #[inline]
    pub fn answered(&mut self, now: Time, left: Time) {
        if left <= now {
            self.note(now - left);
        }
    }

    /// Takes in those of another machine.
    pub fn add(&mut self, other: &RoundTrips) {
        // Cannot fail: both have the same digits, and grow as they must.
        let _ = self.histogram.add(&other.histogram);
        self.sum += other.sum;
        self.longest = self.longest.max(other.longest);
    }

    /// Round trips of several machines in one distribution; `None` without any machine.
    pub fn together<'a>(machines: impl Iterator<Item = &'a RoundTrips>) -> Option<RoundTrips> {
        let mut sum: Option<RoundTrips> = None;
        machines.for_each(|one| sum.get_or_insert_default().add(one));
        sum
    }

    /// Round trips that were added since `before`, an earlier copy. The longest is the upper end of a bin, where it may
    /// have been noted before.
    #[must_use]
    pub fn since(&self, before: &RoundTrips) -> RoundTrips {
        let mut histogram = self.histogram.clone();
        // Fails for a histogram that is not a part of this one.
        let _ = histogram.subtract(&before.histogram);
        let bins_end = Time(histogram.max().saturating_mul(1000));
        let longest = if self.longest > before.longest { self.longest } else { bins_end.min(self.longest) };
        RoundTrips { histogram, sum: self.sum.saturating_sub(before.sum), longest }
    }

    /// The round trips as they would have been on a network that is `factor` times faster.
    #[must_use]
    pub fn sped_up(&self, factor: u64) -> RoundTrips {
        let factor = factor.max(1);
        let mut fast = RoundTrips::default();
        for bin in self.histogram.iter_recorded() {
            // The middle of a bin stands for its values, which are not kept.
            let middle = self.histogram.median_equivalent(bin.value_iterated_to());
            let _ = fast.histogram.record_n(middle / factor, bin.count_at_value());
        }
        (fast.sum, fast.longest) = (self.sum / u128::from(factor), self.longest / factor);
        fast
    }

    /// Everything that is known of them, for [`RoundTrips::from_parts`]: in nanoseconds the upper ends of the bins with
    /// their counts, and the sum; the longest.
    pub fn to_parts(&self) -> (Vec<(u64, u64)>, u64, Time) {
        let bins = self.histogram.iter_recorded().map(|b| (b.value_iterated_to(), b.count_at_value()));
        // 2^64 ns of round trips are 584 years: a run does not reach the limit.
        (bins.collect(), u64::try_from(self.sum).unwrap_or(u64::MAX), self.longest)
    }

    /// Puts the parts of [`RoundTrips::to_parts`] together again.
    pub fn from_parts(bins: &[(u64, u64)], sum_ns: u64, longest: Time) -> RoundTrips {
        let mut whole = RoundTrips { sum: sum_ns.into(), longest, ..RoundTrips::default() };
        for &(value, count) in bins {
            let _ = whole.histogram.record_n(value, count);
        }
        whole
    }

    /// Number of round trips.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Their mean, to the nanosecond; `None` without any.
    pub fn mean(&self) -> Option<Time> {
        let mean = self.sum.checked_div(self.count().into())?;
        Some(Time(u64::try_from(mean).ok()?.saturating_mul(1000)))
    }

    /// The longest; zero without any.
    pub const fn longest(&self) -> Time {
        self.longest
    }

    /// The upper end of the bin that holds the `q`-quantile by nearest rank, `q` from 0 to 1; `None` without any.
    pub fn quantile(&self, q: f64) -> Option<Time> {
        // For 0 itself the library gives the lower end.
        let q = q.max(f64::MIN_POSITIVE);
        // The end of the last bin may be beyond the longest round trip.
        let end = || Time(self.histogram.value_at_quantile(q).saturating_mul(1000));
        (self.count() > 0).then(|| end().min(self.longest))
    }

    /// The bins that hold any, shortest first: their upper ends, and how many are in each.
    pub fn bins(&self) -> impl Iterator<Item = (Time, u64)> {
        let recorded = self.histogram.iter_recorded();
        recorded.map(|bin| (Time(bin.value_iterated_to().saturating_mul(1000)), bin.count_at_value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_samples_to_a_hundredth() {
        let mut trips = RoundTrips::default();
        assert_eq!((trips.mean(), trips.quantile(0.99), trips.longest()), (None, None, Time::ZERO));
        (1..=1000).for_each(|us| trips.note(Time::us(us)));
        for (q, us) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1000)] {
            let found = trips.quantile(q).unwrap_or_default();
            assert!((Time::us(us)..=Time(Time::us(us).0 / 100 * 101)).contains(&found), "{q}: {found}");
        }
        assert_eq!((trips.mean(), trips.longest()), (Some(Time::ns(500_500)), Time::us(1000)));
        let bins: Vec<(Time, u64)> = trips.bins().collect();
        assert!(bins.windows(2).all(|two| two[0].0 < two[1].0));
        assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), 1000);
    }

    #[test]
    fn they_survive_the_way_between_processes_and_what_was_before_is_left_out() {
        let mut trips = RoundTrips::default();
        // Longer than all later ones, so that the longest since then has to come from the bins.
        trips.note(Time::ms(90));
        let before = trips.clone();
        (1..=1000).for_each(|us| trips.note(Time::us(us)));
        let (bins, sum, longest) = trips.to_parts();
        assert_eq!(RoundTrips::from_parts(&bins, sum, longest), trips);
        let since = trips.since(&before);
        assert_eq!((since.count(), since.mean()), (1000, Some(Time::ns(500_500))));
        assert!((Time::us(1000)..=Time::us(1010)).contains(&since.longest()), "{}", since.longest());
        assert_eq!(trips.since(&trips).count(), 0);
        assert_eq!(trips.since(&trips).longest(), Time::ZERO);
    }

    #[test]
    fn a_faster_network_has_shorter_ones_and_as_many() {
        let mut slow = RoundTrips::default();
        (1..=1000).for_each(|us| slow.note(Time::us(100 * us)));
        let fast = slow.sped_up(100);
        assert_eq!(
            (fast.count(), fast.mean(), fast.longest()),
            (1000, Some(Time::ns(500_500)), Time::us(1000))
        );
        for (q, us) in [(0.5, 500), (0.99, 990)] {
            let found = fast.quantile(q).unwrap_or_default();
            assert!(
                // A hundredth for the bins of the slow network, and another for those of the fast one.
                (Time::us(us).0 / 100 * 98..=Time::us(us).0 / 100 * 102).contains(&found.0),
                "{q}: {found}"
            );
        }
    }

    #[test]
    fn those_of_two_machines_are_as_of_one() {
        let (mut one, mut two, mut both) =
            (RoundTrips::default(), RoundTrips::default(), RoundTrips::default());
        for us in 1..=100 {
            one.note(Time::us(us));
            two.note(Time::us(70 * us));
            both.note(Time::us(us));
            both.note(Time::us(70 * us));
        }
        assert_eq!(RoundTrips::together([&one, &two].into_iter()), Some(both));
        assert_eq!(RoundTrips::together(std::iter::empty()), None);
    }
}
