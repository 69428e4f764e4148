//! Named generators: one stream for each (seed, purpose, entity).
//!
//! The simulator derives its own streams in the same way from other purposes, so traffic is the same
//! under every transport and for every draw of the network.

use headway_units::Time;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Purpose of random numbers. The numbers are part of the format of runs: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Gaps between arrivals.
    Gaps = 101,
    /// Sizes of messages.
    Sizes = 102,
    /// Sources and destinations.
    Pairs = 103,
    /// Pairs of senders and receivers in a permutation.
    Permutation = 104,
    /// Senders that answer.
    Responsive = 105,
    /// Time after its start at which a flow has to be done.
    Deadlines = 106,
    /// Delay that is added to starts.
    Jitter = 107,
    /// Hosts that are the ranks of jobs.
    Placement = 108,
    /// When loops of calls begin.
    Stagger = 109,
}

/// Finaliser of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream of an entity for a purpose under a seed.
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Stream {
        let base =
            // Entities below 2^48 never meet the stream of another purpose.
            mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(mix(((purpose as u64) << 48) ^ entity)));
        let state = u128::from(base) << 64 | u128::from(mix(base.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        Stream(Pcg64Mcg::new(state))
    }

    /// A number from 0 up to, but not including, 1: a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        // 53 bits, as many as a double holds.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number below `n`, which is not 0, without bias.
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            let low = product as u64;
            // Lemire's method: the few products that would make some numbers likelier are drawn again.
            if low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// An exponential gap with this mean, to the nearest picosecond.
    pub fn exponential(&mut self, mean_ps: f64) -> Time {
        // 1 - u is never 0, so the logarithm is finite.
        let gap = -libm::log(1.0 - self.unit()) * mean_ps;
        Time(libm::round(gap) as u64)
    }

    /// A lognormal gap with this mean, to the nearest picosecond, by the method of Box and Muller; `sigma` is the standard
    /// deviation of its logarithm.
    pub fn lognormal(&mut self, mean_ps: f64, sigma: f64) -> Time {
        let (radius, angle) =
            (libm::sqrt(-2.0 * libm::log(1.0 - self.unit())), std::f64::consts::TAU * self.unit());
        // The second number that the method gives, by the sine, is not kept: a stream has no state but its
        // generator.
        let normal = radius * libm::cos(angle);
        // Less half the variance, so that the mean and not the median is `mean_ps`.
        Time(libm::round(mean_ps * libm::exp(sigma * normal - 0.5 * sigma * sigma)) as u64)
    }

    /// Puts a list into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        // The shuffle of Fisher and Yates: each order is as likely.
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_purpose_and_entity_and_on_nothing_else() {
        let draw = |seed, purpose, entity| Stream::new(seed, purpose, entity).below(1 << 60);
        let first = draw(1, Purpose::Gaps, 0);
        assert_eq!(first, draw(1, Purpose::Gaps, 0));
        for other in [draw(2, Purpose::Gaps, 0), draw(1, Purpose::Sizes, 0), draw(1, Purpose::Gaps, 1)] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_their_spread() {
        let mut stream = Stream::new(7, Purpose::Gaps, 0);
        let n = 200_000;
        let gaps: Vec<f64> = (0..n).map(|_| stream.exponential(1e6).0 as f64).collect();
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        let second = gaps.iter().map(|g| g * g).sum::<f64>() / f64::from(n);
        // 4.5 standard deviations of a mean of 200,000.
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "mean {mean}");
        assert!((second / 2e12 - 1.0).abs() < 0.03, "second moment {second}");
    }

    #[test]
    fn lognormal_gaps_have_their_mean_and_their_median() {
        let mut stream = Stream::new(7, Purpose::Gaps, 0);
        let mut gaps: Vec<f64> = (0..200_000).map(|_| stream.lognormal(1e6, 1.0).0 as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        gaps.sort_by(f64::total_cmp);
        let median = gaps[gaps.len() / 2];
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "mean {mean}");
        assert!((median / (1e6 * libm::exp(-0.5)) - 1.0).abs() < 0.02, "median {median}");
    }

    #[test]
    fn whole_numbers_are_even() {
        let mut stream = Stream::new(3, Purpose::Pairs, 0);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[stream.below(7) as usize] += 1);
        // Four standard deviations, which are 93 each.
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
    }
}
