//! The receiver's control of its rate of credits, once a round trip, from the credits that were lost.
//!
//! Rates are shares of the highest one in 2^-32, so that nothing that decides an event is a floating-point
//! number.

use super::params::{Feedback, Values};
use headway_units::Time;

/// A share of one.
pub(super) const ONE: u64 = 1 << 32;

/// A parameter as a share.
pub(super) fn fixed_share(value: f64) -> u64 {
    (value * ONE as f64) as u64
}

/// `a` of `b`, both shares.
fn times_share(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 32) as u64
}

/// Rate at which credits for one message leave. ExpressPass §3.2
#[derive(Clone, Debug)]
pub(super) struct CreditRate {
    feedback: Feedback,
    target: u64,
    w_min: u64,
    w_max: u64,
    w: u64,
    rate: u64,
    /// True if the last change was an increase.
    increased: bool,
    /// Credits known to have been used or lost since the last change, and those lost among them.
    total: u64,
    lost: u64,
    changed: Time,
}

/// Growth of the weight in the released code, a change.
const W_STEP: f64 = 0.05;

impl CreditRate {
    /// The present rate, as a share of the highest.
    pub(super) fn rate_share(&self) -> f64 {
        self.rate as f64 / ONE as f64
    }

    /// Starts at the first rate, for a message of which `packets` packets are to be sent.
    pub(super) fn new(params: &Values, packets: u32, now: Time) -> CreditRate {
        let alpha = fixed_share(params.alpha);
        let usual = params.adaptive_start.max(1);
        // `packets` comes from the wire, and 0 would be no rate at all.
        let rate = if u64::from(packets) < usual { alpha * u64::from(packets.max(1)) / usual } else { alpha };
        CreditRate {
            feedback: params.feedback,
            target: fixed_share(params.target_loss),
            w_min: fixed_share(params.w_min),
            // The minimum holds where a scenario sets the two the wrong way round.
            w_max: fixed_share(params.w_max.max(params.w_min)),
            w: fixed_share(params.w_init),
            // Never 0, because `gap` divides by it.
            rate: rate.max(1),
            increased: false,
            total: 0,
            lost: 0,
            changed: now,
        }
    }

    /// The mean gap to the next credit, if credits at full rate are `slot` apart.
    pub(super) fn credit_gap(&self, slot: Time) -> Time {
        // 128 bits, because a time times a share of 32 bits exceeds 64.
        Time((u128::from(slot.0) * u128::from(ONE) / u128::from(self.rate)).min(u64::MAX.into()) as u64)
    }

    /// A data packet tells of one credit used, and of `lost` ones before it that were not.
    pub(super) fn count_credits(&mut self, lost: u64) {
        self.total += lost + 1;
        self.lost += lost;
    }

    /// Changes the rate if it has stood for a round trip and something is known about it. ExpressPass §3.2
    pub(super) fn update_rate(&mut self, now: Time, rtt: Time, slot: Time) {
        let elapsed = now.saturating_sub(self.changed);
        // The effect of a change shows a round trip later; judged sooner, it would be made twice.
        if rtt == Time::ZERO || elapsed < rtt || self.total == 0 {
            return;
        }
        let target = match self.feedback {
            Feedback::Adaptive => times_share(ONE.saturating_sub(self.rate), self.target),
            Feedback::Constant => self.target,
        };
        let loss = (u128::from(self.lost) * u128::from(ONE) / u128::from(self.total)) as u64;
        if loss > target {
            self.decrease_rate(loss, target, elapsed, slot);
        } else {
            self.increase_rate(target);
        }
        // The paper's rule aims at losing some credits even at the highest rate, and so has to exceed it.
        let most = match self.feedback {
            Feedback::Adaptive => ONE,
            Feedback::Constant => ONE + self.target,
        };
        // One credit a round trip, at least; for a round trip of less than a slot that would be more than the whole rate.
        let least = (u128::from(slot.0) * u128::from(ONE) / u128::from(rtt.0)).clamp(1, ONE.into()) as u64;
        self.rate = self.rate.min(most).max(least);
        (self.total, self.lost, self.changed) = (0, 0, now);
    }

    fn increase_rate(&mut self, target: u64) {
        let full = match self.feedback {
            Feedback::Adaptive => {
                if self.increased {
                    self.w = (self.w + fixed_share(W_STEP)).min(self.w_max);
                }
                ONE
            }
            Feedback::Constant => {
                if self.increased {
                    self.w = (self.w + self.w_max) / 2;
                }
                ONE + target
            }
        };
        self.increased = true;
        if self.rate < full {
            self.rate = times_share(self.w.min(ONE), full) + times_share(ONE - self.w.min(ONE), self.rate);
        }
    }

    fn decrease_rate(&mut self, loss: u64, target: u64, elapsed: Time, slot: Time) {
        let through = match self.feedback {
            Feedback::Adaptive => {
                let used = u128::from(self.total - self.lost) * u128::from(slot.0) * u128::from(ONE);
                // Bounded before the cast to 64 bits; above the present rate it has no effect anyway.
                (used / u128::from(elapsed.0)).min((4 * ONE).into()) as u64
            }
            Feedback::Constant => times_share(self.rate, ONE.saturating_sub(loss)),
        };
        self.rate = self.rate.min(times_share(through, ONE + target)).max(1);
        self.w = (self.w / 2).max(self.w_min);
        self.increased = false;
    }
}

/// Share of the highest rate that the credits on their way have at the most, if none is lost: the rate grows once a
/// round trip, until as many left as the message has packets, and the stop that follows from that takes one more.
pub(super) fn greatest_share(params: &Values, packets: u64, round_trip: Time, slot: Time) -> f64 {
    let few = u32::try_from(packets).unwrap_or(u32::MAX);
    let mut rate = CreditRate::new(params, few, Time::ZERO);
    let (mut left, mut now) = (packets as f64, Time::ZERO);
    loop {
        let before = rate.rate;
        now = now.saturating_add(round_trip);
        // One credit is news enough: without losses the increase does not depend on their number.
        rate.count_credits(0);
        rate.update_rate(now, round_trip, slot);
        let round = round_trip.0 as f64 / slot.0.max(1) as f64 * before as f64 / ONE as f64;
        if left <= round || rate.rate <= before || now == Time::MAX {
            // A credit takes half a round trip: so much of the next round is on its way when the stop arrives.
            let next = (2.0 * left / round.max(f64::MIN_POSITIVE)).min(1.0);
            let mixed = next * rate.rate as f64 + (1.0 - next) * before as f64;
            return (mixed.max(before as f64) / ONE as f64).min(1.0);
        }
        left -= round;
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::Preset;
    use super::*;

    // 84 + 1538 bytes at 10 Gb/s: a credit and the data that it brings.
    const SLOT: Time = Time::ps(1_297_600);
    const RTT: Time = Time::us(50);

    fn rate_from(preset: Preset, alpha: f64, w_init: f64) -> CreditRate {
        CreditRate::new(&Values { alpha, w_init, ..Values::for_preset(preset) }, 1000, Time::ZERO)
    }

    /// Round trips without a loss until 95 % of the highest rate.
    fn ramp_round_trips(mut rate: CreditRate) -> u64 {
        (1..100)
            .find(|n| {
                rate.count_credits(0);
                rate.update_rate(RTT * *n, RTT, SLOT);
                // Rounded down at each step.
                rate.rate + 16 >= fixed_share(0.95)
            })
            .expect("it gets there")
    }

    #[test]
    fn the_ramp_from_each_first_rate_takes_the_round_trips_that_it_should() {
        assert_eq!(ramp_round_trips(rate_from(Preset::Paper, 0.5, 0.5)), 2);
        assert_eq!(ramp_round_trips(rate_from(Preset::Paper, 0.0625, 0.0625)), 5);
        assert_eq!(ramp_round_trips(rate_from(Preset::Released, 0.5, 0.5)), 4);
        assert_eq!(ramp_round_trips(rate_from(Preset::Released, 0.0625, 0.0625)), 10);
    }

    #[test]
    fn a_rate_that_loses_too_much_falls_to_what_got_through() {
        let mut rate = rate_from(Preset::Released, 1.0, 0.5);
        // 20 credits of 38.5 that a round trip at full rate has were used, 18 lost.
        (0..19).for_each(|_| rate.count_credits(0));
        rate.count_credits(18);
        rate.update_rate(RTT, RTT, SLOT);
        assert_eq!(rate.rate, (20 * u128::from(SLOT.0) * u128::from(ONE) / u128::from(RTT.0)) as u64);
        assert_eq!((rate.w, rate.increased), (fixed_share(0.25), false));
        // Half the rate: a loss of 1/16 is aimed at.
        let half = rate.rate;
        (0..31).for_each(|_| rate.count_credits(0));
        rate.count_credits(1);
        rate.update_rate(RTT * 2, RTT, SLOT);
        assert!(rate.rate > half && rate.increased);
    }

    #[test]
    fn the_papers_rule_loses_a_tenth_at_full_rate_and_stays() {
        let mut rate = rate_from(Preset::Paper, 1.0, 0.5);
        for n in 1..50 {
            // Ten credits in a hundred and ten are too many for a link.
            (0..9).for_each(|_| rate.count_credits(0));
            rate.count_credits(u64::from(rate.rate > fixed_share(1.05)));
            rate.update_rate(RTT * n, RTT, SLOT);
            assert!(rate.rate <= fixed_share(1.1) && rate.rate > fixed_share(0.9), "{}", rate.rate);
        }
        // A fifth is twice too much.
        rate.rate = ONE;
        (0..8).for_each(|_| rate.count_credits(0));
        rate.count_credits(2);
        // Set outright: `used` counts the credit that data came for as well.
        (rate.total, rate.lost) = (10, 2);
        rate.update_rate(RTT * 100, RTT, SLOT);
        assert_eq!(rate.rate, times_share(times_share(ONE, ONE - ONE * 2 / 10), ONE + fixed_share(0.1)));
    }

    #[test]
    fn nothing_changes_within_a_round_trip_or_without_news_and_one_credit_a_round_trip_remains() {
        let mut rate = rate_from(Preset::Released, 0.5, 0.5);
        rate.count_credits(0);
        rate.update_rate(Time(RTT.0 - 1), RTT, SLOT);
        rate.update_rate(RTT, Time::ZERO, SLOT);
        assert_eq!((rate.rate, rate.total), (fixed_share(0.5), 1));
        rate.update_rate(RTT, RTT, SLOT);
        let raised = rate.rate;
        assert!(raised > fixed_share(0.5));
        rate.update_rate(RTT * 9, RTT, SLOT);
        assert_eq!(rate.rate, raised);
        rate.count_credits(10_000);
        rate.update_rate(RTT * 10, RTT, SLOT);
        assert_eq!(rate.credit_gap(SLOT).0 / 1000, RTT.0 / 1000);
    }

    /// A round trip holds 38.5 credits at the full rate.
    #[test]
    fn credits_on_their_way_grow_with_the_rounds_that_a_message_needs() {
        let share = |packets| greatest_share(&Values::default(), packets, RTT, SLOT);
        assert!((0.125..0.5).contains(&share(10)), "a short one starts slower: {}", share(10));
        let once = greatest_share(&Values::default(), 40, Time::ms(50), SLOT);
        assert!((0.5..0.51).contains(&once), "all of it leaves at the first rate: {once}");
        assert!((0.5..0.7).contains(&share(40)), "{}", share(40));
        assert!(share(1_000_000) > 0.95);
        let all: Vec<f64> = (1..300).map(|n| share(n * 10)).collect();
        assert!(all.windows(2).all(|two| two[0] <= two[1] + 1e-9), "{all:?}");
    }

    #[test]
    fn short_messages_start_slower() {
        let gap = |packets| CreditRate::new(&Values::default(), packets, Time::ZERO).credit_gap(SLOT);
        assert_eq!(gap(40), SLOT * 2);
        assert_eq!(gap(1000), SLOT * 2);
        assert_eq!(gap(10), SLOT * 8);
        assert_eq!(gap(0), gap(1));
    }
}
