//! Timing noise of hosts: packets that reach the first switch a little later than the wire alone would have it.
//!
//! Real hosts never send with the same spacing twice. Without that noise, senders of the same rate that share a
//! small buffer lock each other out for good: one finds the slot that its own last packet has just left, all
//! others find the buffer full. [`HostTiming`] knows no clock and no network; each host has a stream of random
//! numbers of its own.

use crate::rng::{Purpose, stream};
use headway_units::Time;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// See the module.
#[derive(Clone, Debug)]
pub struct HostTiming {
    jitter: Time,
    hosts: Vec<OneHost>,
}

#[derive(Clone, Debug)]
struct OneHost {
    stream: Pcg32,
    /// Time at which its last packet counts as having left.
    last: Time,
}

impl HostTiming {
    /// Noise below `jitter` for this many hosts; `None` without any.
    pub fn new(jitter: Time, hosts: u32, seed: u64) -> Option<HostTiming> {
        let one =
            |host| OneHost { stream: stream(seed, Purpose::HostTiming, u64::from(host)), last: Time::ZERO };
        (jitter > Time::ZERO).then(|| HostTiming { jitter, hosts: (0..hosts).map(one).collect() })
    }

    /// Time at which a packet whose last bit leaves `host` at `ends` counts as having left: later by a random time
    /// below the jitter, and after one that the host sent earlier.
    ///
    /// The latter cannot add up: the one before was late by less than the jitter as well, and left earlier.
    #[inline]
    pub fn leaves(&mut self, host: u32, ends: Time) -> Time {
        let OneHost { stream, last } = &mut self.hosts[host as usize];
        // The upper half of the product is evenly spread below the jitter.
        let late = (u128::from(stream.next_u64()) * u128::from(self.jitter.0)) >> 64;
        *last = ends.saturating_add(Time(late as u64)).max(last.saturating_add(Time(1)));
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays of packets that leave `host` every `gap`.
    fn lateness(timing: &mut HostTiming, host: u32, gap: Time) -> Vec<Time> {
        (1..=2000u64).map(|i| timing.leaves(host, gap * i) - gap * i).collect()
    }

    fn timing(jitter: Time) -> HostTiming {
        HostTiming::new(jitter, 3, 7).expect("noise")
    }

    #[test]
    fn lateness_is_spread_over_all_that_is_allowed() {
        let late = lateness(&mut timing(Time::us(9)), 1, Time::us(12));
        let mean = late.iter().map(|t| t.0).sum::<u64>() / late.len() as u64;
        // Four standard deviations of the mean of 2000 numbers.
        assert!(mean.abs_diff(Time::us(9).0 / 2) < Time::us(9).0 / 43, "{mean}");
        assert!(late.iter().all(|t| *t < Time::us(9)));
        assert!(late.iter().min() < Some(&Time::ns(100)) && late.iter().max() > Some(&Time::ns(8_900)));
    }

    #[test]
    fn packets_of_a_host_keep_their_order_and_the_bound_also_where_noise_is_longer_than_a_packet() {
        let (mut timing, mut last) = (timing(Time::us(50)), Time::ZERO);
        for i in 1..=5000u64 {
            let ends = Time::us(3 * i);
            let leaves = timing.leaves(2, ends);
            assert!(leaves >= last && leaves >= ends && leaves - ends < Time::us(50), "packet {i}");
            last = leaves;
        }
    }

    #[test]
    fn a_host_has_noise_of_its_own_and_the_same_again() {
        let (mut one, mut other) = (timing(Time::us(9)), timing(Time::us(9)));
        let alone = lateness(&mut one, 0, Time::us(12));
        assert_ne!(lateness(&mut other, 1, Time::us(12)), alone);
        assert_eq!(lateness(&mut other, 0, Time::us(12)), alone, "another host's packets shift nothing");
        let seeded = HostTiming::new(Time::us(9), 3, 8);
        assert_ne!(lateness(&mut seeded.expect("noise"), 0, Time::us(12)), alone);
        assert!(HostTiming::new(Time::ZERO, 3, 7).is_none());
    }
}
