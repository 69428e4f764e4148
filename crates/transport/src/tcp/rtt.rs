//! Round trips measured, and the retransmission time-out made from them. RFC 6298

use super::params::{ConnectionParams, RtoFloor};
use headway_units::Time;

/// Upper end of the time-out's doublings. RFC 6298 §2
// §2.5 allows any limit of at least 60 s; 120 s is Linux's `TCP_RTO_MAX`.
const MAX_RTO: Time = Time::ms(120_000);

/// Doublings at most; more than these pass [`MAX_RTO`] from any start.
const MAX_BACKOFF: u32 = 20;

/// Estimator of one connection.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    smoothed: Option<Time>,
    variation: Time,
    min: Time,
    backoff: u32,
    min_rto: Time,
    initial_rto: Time,
    floor: RtoFloor,
    /// Longest time for which an acknowledgement may be put off beyond the round trips that are measured.
    put_off: Time,
    /// Upper end of the doublings.
    longest: Time,
}

impl RttEstimator {
    /// An estimator without samples, unless it is primed with a round trip; `counts` if measured round trips include the
    /// time for which acknowledgements are put off.
    pub(crate) fn new(
        params: &ConnectionParams,
        primed: Option<Time>,
        counts: bool,
        longest: Time,
    ) -> RttEstimator {
        let mut fresh = RttEstimator {
            smoothed: None,
            variation: Time::ZERO,
            min: Time::MAX,
            backoff: 0,
            min_rto: params.min_rto,
            initial_rto: params.initial_rto,
            floor: params.rto_floor,
            // Not needed twice: measured round trips may contain the delay, and with an
            // acknowledgement for each packet there is none.
            put_off: if counts || params.ack_every <= 1 { Time::ZERO } else { params.ack_delay },
            longest: longest.min(MAX_RTO),
        };
        if let Some(rtt) = primed {
            fresh.smooth_sample(rtt);
        }
        fresh
    }

    /// Adds a measured round trip to the estimate.
    pub(crate) fn add_sample(&mut self, rtt: Time) {
        self.min = self.min.min(rtt);
        self.smooth_sample(rtt);
    }

    // RFC6298 §2
    fn smooth_sample(&mut self, rtt: Time) {
        let Some(smoothed) = self.smoothed else {
            // RFC 6298 §2.2
            self.smoothed = Some(rtt);
            self.variation = Time(rtt.0 / 2);
            return;
        };
        let error = smoothed.0.abs_diff(rtt.0);
        // Before `smoothed` changes: §2.3 takes the deviation from the old value.
        self.variation = Time(self.variation.0 - self.variation.0 / 4 + error / 4);
        self.smoothed = Some(Time(smoothed.0 - smoothed.0 / 8 + rtt.0 / 8));
    }

    /// Smoothed round trip, if one is known.
    pub(crate) fn smoothed_rtt(&self) -> Option<Time> {
        self.smoothed
    }

    /// Smallest round trip measured; [`Time::MAX`] before the first.
    pub(crate) fn min_rtt(&self) -> Time {
        self.min
    }

    /// The time-out in force, doublings included.
    pub(crate) fn rto(&self) -> Time {
        let variation = self.variation.saturating_mul(4);
        let base = match (self.smoothed, self.floor) {
            (None, _) => self.initial_rto,
            (Some(srtt), RtoFloor::Total) => srtt.saturating_add(variation).max(self.min_rto),
            (Some(srtt), RtoFloor::Variance) => srtt.saturating_add(variation.max(self.min_rto)),
        };
        // RFC 9002 §6.2.1: the largest delay of an acknowledgement comes on top.
        let base = base.saturating_add(self.put_off);
        // A time-out of nothing would expire again and again at once.
        base.saturating_mul(1 << self.backoff).min(self.longest.max(base)).max(Time(1))
    }

    /// The time-out has expired: the next one is twice as long.
    pub(crate) fn back_off(&mut self) {
        // Bounded, so that the shift in `rto` cannot overflow.
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// New data was acknowledged.
    pub(crate) fn clear_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::params::{ByPreset, Preset};

    #[test]
    fn follows_rfc_6298_and_each_floor() {
        let paper = ConnectionParams::from_preset(Preset::PaperNs2);
        let mut rtt = RttEstimator::new(&paper, Some(Time::us(300)), true, Time::MAX);
        assert_eq!((rtt.rto(), rtt.min_rtt()), (Time::ms(10), Time::MAX), "priming measures nothing");
        rtt.add_sample(Time::ms(16));
        // variation 3/4 150 us + 1/4 15.7 ms, then smoothed 7/8 300 us + 1/8 16 ms.
        assert_eq!(rtt.smoothed_rtt(), Some(Time::ns(2_262_500)));
        assert_eq!(rtt.rto(), Time::ns(2_262_500 + 4 * 4_037_500));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Time::ns(2_262_500 + 4 * 4_037_500) * 4);
        rtt.clear_backoff();

        let linux = ConnectionParams::from_preset(Preset::Linux419);
        let mut rtt = RttEstimator::new(&linux, None, true, Time::MAX);
        assert_eq!(rtt.rto(), Time::ms(1000));
        rtt.add_sample(Time::ms(1));
        assert_eq!(rtt.rto(), Time::ms(201), "the floor is on the variance");
        (0..200).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), MAX_RTO);
        let patient = ConnectionParams { min_rto: Time::s(3600), ..paper };
        assert_eq!(
            RttEstimator::new(&patient, Some(Time::us(300)), true, Time::MAX).rto(),
            Time::s(3600),
            "as it was said"
        );
    }
}
