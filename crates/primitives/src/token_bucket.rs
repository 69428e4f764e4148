//! A token bucket, as an instant instead of a level.

use headway_units::{Rate, Time};

/// Lets packets of one class through at a fixed rate of bytes, a few of them back to back.
///
/// The level of the bucket is kept as the instant at which it will be full, so that nothing happens to it as
/// time passes and nothing is rounded but the time of one packet.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    full_at: Time,
    /// Time in which the tokens of `quantum` bytes come.
    period: Time,
    quantum: u64,
    /// Time in which an empty bucket fills.
    depth: Time,
}

impl TokenBucket {
    /// A full bucket that gets the tokens of `quantum` bytes every `period`, and holds those of `depth`
    /// bytes. Both sizes are at least 1.
    pub fn new(quantum: u64, period: Time, depth: u64) -> TokenBucket {
        let mut bucket =
            // At least 1, since `time_of` divides by it.
            TokenBucket { full_at: Time::ZERO, period, quantum: quantum.max(1), depth: Time::ZERO };
        bucket.depth = bucket.time_of(depth.max(1));
        bucket
    }

    /// The bucket of a class that may take `share` of every `share + rest` bytes of a link of this rate, and
    /// `depth` bytes at once.
    pub fn of_link(rate: Rate, share: u64, rest: u64, depth: u64) -> TokenBucket {
        TokenBucket::new(share, rate.time_of(share + rest), depth)
    }

    fn time_of(&self, bytes: u64) -> Time {
        // 128 bits, because picoseconds times bytes exceed 64. Rounded up: no packet leaves before its last
        // token is there.
        Time((u128::from(self.period.0) * u128::from(bytes)).div_ceil(self.quantum.into()) as u64)
    }

    /// The earliest instant at which a packet of `bytes` bytes may pass; long past when it may at once. A packet
    /// that is larger than the bucket passes a full one.
    #[inline]
    pub fn eligible_at(&self, bytes: u64) -> Time {
        // The tokens of `bytes` are there as long before the bucket is full as the rest of its depth takes to fill.
        self.full_at.saturating_sub(self.depth.saturating_sub(self.time_of(bytes)))
    }

    /// From `now` on tokens come as fast as those of `like`, which holds as many; missing tokens stay missing.
    pub fn retime(&mut self, now: Time, like: &TokenBucket) {
        let missing = u128::from(self.full_at.saturating_sub(now).0);
        // Rounded up as well: a change of the rate must not make up tokens.
        // At least 1: a period may be rounded down to nothing.
        let (old, new) = (u128::from(self.period.0.max(1)), u128::from(like.period.0));
        let takes = u64::try_from((missing * new).div_ceil(old)).unwrap_or(u64::MAX);
        *self = TokenBucket { full_at: now.saturating_add(Time(takes)), ..*like };
    }

    /// A packet of `bytes` bytes passes at `now`.
    #[inline]
    pub fn take(&mut self, now: Time, bytes: u64) {
        // A bucket that has been full for a while has not got any fuller.
        self.full_at = self.full_at.max(now).saturating_add(self.time_of(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times at which packets of these sizes pass that all wait from the beginning.
    fn passes(mut bucket: TokenBucket, sizes: &[u64]) -> Vec<Time> {
        let mut now = Time::ZERO;
        let mut pass = |&bytes: &u64| {
            now = now.max(bucket.eligible_at(bytes));
            bucket.take(now, bytes);
            now
        };
        sizes.iter().map(&mut pass).collect()
    }

    #[test]
    // ExpressPass: a credit of 84 B for each full packet of 1,538 B, two credits at once.
    fn a_burst_passes_at_once_and_then_one_a_period() {
        // 84 of every 1622 bytes at 10 Gb/s: one every 1297.6 ns.
        let bucket = TokenBucket::of_link(Rate::gbps(10), 84, 1538, 168);
        let period = Time::ps(1_297_600);
        let expected = [Time::ZERO, Time::ZERO, period, period * 2, period * 3];
        assert_eq!(passes(bucket, &[84; 5]), expected);
        assert_eq!(passes(bucket, &[168, 42, 42]), [Time::ZERO, Time(period.0 / 2), period]);
    }

    #[test]
    fn what_a_bucket_lacks_comes_at_the_new_rate() {
        let mut bucket = TokenBucket::new(1, Time(10), 4);
        bucket.take(Time::ZERO, 4);
        // Two of four tokens are there, and two are missing, which now take 30 each.
        bucket.retime(Time(20), &TokenBucket::new(1, Time(30), 4));
        assert_eq!((bucket.eligible_at(2), bucket.eligible_at(3)), (Time(20), Time(50)));
        assert_eq!(bucket.eligible_at(4), Time(80));
        bucket.retime(Time(1000), &TokenBucket::new(1, Time(10), 4));
        assert!(bucket.eligible_at(4) <= Time(1000), "a full one stays full");
    }

    #[test]
    fn an_idle_bucket_saves_no_more_than_it_holds() {
        let mut bucket = TokenBucket::new(1, Time(10), 2);
        bucket.take(Time::ZERO, 2);
        assert_eq!(bucket.eligible_at(1), Time(10));
        let later = Time(1000);
        assert!(bucket.eligible_at(2) <= later);
        bucket.take(later, 2);
        assert_eq!(bucket.eligible_at(1), later + Time(10));
        assert_eq!(bucket.eligible_at(9), later + Time(20), "as soon as it is full");
    }
}
