//! pCA: the credit that a receiver has to give. ProactMP §III-C4, algorithm 1
//!
//! One pool for a host's downlink, over all of its messages. The counted quantity is the credit outstanding O, so that
//! `credits_rem` is OWDbytes - O, and pairs of hosts at different distances share a pool.

use super::params::Owd;
use headway_gauges::{Gauge, GaugeInfo, Level};
use headway_units::Time;

pub(super) const OUTSTANDING: GaugeInfo = GaugeInfo::bytes(
    "outstanding_credit_bytes",
    "outstanding credit",
    "permitted by a receiver and not arrived",
);

/// The credit of one downlink.
#[derive(Clone, Debug, Default)]
pub struct CreditPool {
    /// Bytes permitted that have not arrived.
    outstanding: Level,
    /// T_last, unset while the downlink has nothing to do.
    last: Option<Time>,
    clamp: bool,
}

impl CreditPool {
    /// A pool that has everything to give; with `clamp`, never more than 2 OWDbytes at a time.
    pub fn new(clamp: bool) -> CreditPool {
        CreditPool { clamp, ..CreditPool::default() }
    }

    /// Bytes permitted that have not arrived.
    pub fn outstanding_bytes(&self) -> u64 {
        self.outstanding.value()
    }

    /// Bytes permitted that have not arrived, as a gauge.
    pub(super) fn outstanding_gauge(&self, now: Time) -> Gauge {
        self.outstanding.gauge(&OUTSTANDING, now)
    }

    /// Notes that the downlink has something to do from now on.
    pub fn begin_busy(&mut self, now: Time) {
        // While the downlink is busy T_last stays: the time since then is idle credit.
        self.last.get_or_insert(now);
    }

    /// Notes that the downlink has nothing more to do: the next allocation is a first one.
    pub fn end_busy(&mut self) {
        self.last = None;
    }

    /// Idle credit since the last allocation. ProactMP §III-C4, equation 3
    fn idle_credit(&self, now: Time, owd: &Owd) -> u64 {
        // Without T_last the allocation is a first one, which has no idle credit.
        let elapsed = now.saturating_sub(self.last.unwrap_or(now)).min(owd.time);
        (u128::from(elapsed.0) * u128::from(owd.bytes) / u128::from(owd.time.0)) as u64
    }

    /// Bytes that may be given now. ProactMP §III-C4, algorithm 1, lines 7 to 17
    pub fn available_credit(&self, now: Time, owd: &Owd) -> u64 {
        let out = self.outstanding_bytes();
        // `over` is -credits_rem of algorithm 1.
        let credit = match out.checked_sub(owd.bytes) {
            None | Some(0) => owd.bytes - out + self.idle_credit(now, owd),
            Some(over) if over <= owd.bytes => self.idle_credit(now, owd),
            Some(_) => 0,
        };
        if self.clamp { credit.min((2 * owd.bytes).saturating_sub(out)) } else { credit }
    }

    /// Gives `bytes`, no more than [`CreditPool::available_credit`] said. The rest of it stays, and so does the time in
    /// which it came up.
    pub fn give_credit(&mut self, now: Time, owd: &Owd, bytes: u64) {
        let spare = owd.bytes.saturating_sub(self.outstanding_bytes());
        let of_idle = u128::from(bytes.saturating_sub(spare));
        // Bytes times picoseconds may need more than 64 bits.
        // Rounded up, so that rounding makes no credit.
        let spent = (of_idle * u128::from(owd.time.0)).div_ceil(u128::from(owd.bytes)) as u64;
        let elapsed = now.saturating_sub(self.last.unwrap_or(now)).min(owd.time);
        self.last = Some(now.saturating_sub(elapsed.saturating_sub(Time(spent))));
        self.count_outstanding(now, bytes);
    }

    /// Counts `bytes` as outstanding that need no credit.
    pub fn count_outstanding(&mut self, now: Time, bytes: u64) {
        self.outstanding.set(now, self.outstanding_bytes() + bytes);
    }

    /// `bytes` have arrived, or are given up.
    pub fn return_credit(&mut self, now: Time, bytes: u64) {
        self.outstanding.set(now, self.outstanding_bytes().saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Owd = Owd { time: Time(1_000_000), bytes: 12_500 };

    /// Everything there is, at this time in hundredths of an OWD.
    fn give_all(pool: &mut CreditPool, hundredths: u64) -> u64 {
        let now = Time(hundredths * 10_000);
        pool.begin_busy(now);
        let credit = pool.available_credit(now, &SEED);
        if credit > 0 {
            pool.give_credit(now, &SEED, credit);
        }
        credit
    }

    /// Equations 4 and 5, in hundredths of the paper's 125 bytes: five unscheduled first packets within an OWD.
    #[test]
    fn allocations_within_one_delay_add_up_to_a_round_trip() {
        let mut pool = CreditPool::new(false);
        let given: Vec<u64> = [0, 25, 50, 75, 100].map(|t| give_all(&mut pool, t)).to_vec();
        assert_eq!(given, [12_500, 3125, 3125, 3125, 3125]);
        assert_eq!(pool.outstanding_bytes(), 25_000, "RTTbytes, credits_rem -OWDbytes");
        assert_eq!(give_all(&mut pool, 125), 3125, "the second level reaches as far as -OWDbytes");
        assert_eq!(give_all(&mut pool, 150), 0, "the third withholds");
        pool.return_credit(Time(1_600_000), 3125);
        assert_eq!(give_all(&mut pool, 160), 4375, "time goes on while credit is withheld");
    }

    /// Equation 7: more than an OWD apart, the idle credit is one OWDbytes.
    #[test]
    fn idle_credit_saturates() {
        let mut pool = CreditPool::new(false);
        assert_eq!((give_all(&mut pool, 0), give_all(&mut pool, 160)), (12_500, 12_500));
        assert_eq!(give_all(&mut pool, 260), 12_500, "three OWDbytes at most");
        assert_eq!(give_all(&mut pool, 900), 0);
        assert_eq!(pool.outstanding_bytes(), 37_500);
        let mut clamped = CreditPool::new(true);
        assert_eq!(
            (give_all(&mut clamped, 0), give_all(&mut clamped, 160), give_all(&mut clamped, 260)),
            (12_500, 12_500, 0)
        );
    }

    #[test]
    fn credit_that_is_not_given_stays() {
        let mut pool = CreditPool::new(false);
        give_all(&mut pool, 0);
        let now = Time(600_000);
        assert_eq!(pool.available_credit(now, &SEED), 7500);
        pool.give_credit(now, &SEED, 5000);
        assert_eq!(pool.available_credit(now, &SEED), 2500);
        assert_eq!(pool.available_credit(Time(1_200_000), &SEED), 10_000);
        pool.return_credit(now, 17_500);
        pool.end_busy();
        assert_eq!((pool.outstanding_bytes(), pool.available_credit(Time(9_000_000), &SEED)), (0, 12_500));
    }
}
