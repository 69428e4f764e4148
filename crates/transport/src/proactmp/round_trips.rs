//! Round trips from data to the grant that answers it, as a host measures them: for the results of a run.

use headway_units::{Gauge, Time};

/// Steps of the histogram in an octave.
const STEPS: u64 = 16;

/// How many, how long in all, the longest, and a histogram with steps of a sixteenth of an octave.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    count: u64,
    sum_ns: u64,
    max_ns: u64,
    bins: Vec<u32>,
}

impl RoundTrips {
    pub(super) fn note(&mut self, rtt: Time) {
        let ns = rtt.0 / 1000;
        self.count += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
        let bin = bin_of(ns);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }

    /// An upper end of the 99th percentile, at most 1/16 too high.
    fn p99_ns(&self) -> u64 {
        let rank = self.count - self.count / 100;
        let mut below = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                return end_of(bin).min(self.max_ns);
            }
        }
        0
    }

    /// Longest and 99th percentile, as the largest of all hosts in a summary; sum and number, added up there.
    pub(super) fn gauges(&self) -> [Gauge; 4] {
        let most = |name, max| Gauge { name, value: 0, max, mean: 0.0 };
        [
            most("rtt_ns", self.max_ns),
            most("rtt_p99_ns", self.p99_ns()),
            Gauge::count("rtt_sum_ns", self.sum_ns),
            Gauge::count("rtt_samples", self.count),
        ]
    }
}

fn bin_of(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let octave = u64::from(ns.ilog2()) - u64::from(STEPS.ilog2());
    (octave * STEPS + (ns >> octave)) as usize
}

/// The first value above a bin.
fn end_of(bin: usize) -> u64 {
    let bin = bin as u64 + 1;
    if bin <= STEPS {
        return bin;
    }
    let octave = bin / STEPS - 1;
    (bin - octave * STEPS) << octave
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_and_in_order() {
        let mut before = 0;
        for ns in (0..5000).chain((5000..5_000_000).step_by(977)) {
            let bin = bin_of(ns);
            assert!(bin >= before && ns < end_of(bin), "{ns} in {bin}");
            assert!(bin == 0 || end_of(bin - 1) <= ns, "{ns} in {bin}");
            assert!(end_of(bin) <= ns + ns / 16 + 1);
            before = bin;
        }
    }

    #[test]
    fn the_percentile_is_that_of_the_samples() {
        let mut trips = RoundTrips::default();
        assert_eq!(trips.p99_ns(), 0);
        (1..=1000).for_each(|us| trips.note(Time::us(us)));
        assert!((990_000..=990_000 * 17 / 16).contains(&trips.p99_ns()), "{}", trips.p99_ns());
        assert_eq!((trips.max_ns, trips.sum_ns / trips.count), (1_000_000, 500_500));
    }
}
