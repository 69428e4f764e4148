//! Vegas: the window holds a few packets in the queue, counted from the round trip.
//!
//! Source: L. Brakmo and L. Peterson, IEEE JSAC 1995, as Linux has it: the excess is divided by the base round
//! trip, and slow start doubles every round trip. ECN is ignored; losses are answered as NewReno answers them.

use super::{Ack, CongestionControl, Flow, Phase, Window};
use crate::endpoint::TransportInfo;
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_params::ParamKind;
use headway_units::Time;

headway_params::params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Packets in the queue below which the window grows. Vegas §III
        alpha: u64 = 2, ParamKind::Int { min: 0, max: 10_000 };
        /// Packets in the queue above which it shrinks. Vegas §III
        beta: u64 = 4, ParamKind::Int { min: 0, max: 10_000 };
        /// Packets in the queue above which slow start ends. Vegas §III
        gamma: u64 = 1, ParamKind::Int { min: 0, max: 10_000 };
    }
}

impl ByPreset for VegasParams {
    fn from_preset(_: Preset) -> Self {
        VegasParams::default()
    }
}

/// Samples that a round must have more than, for its smallest to mean something.
const FEW: u32 = 2;

/// Decision at a round's end, for the acknowledgement that ended it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Decision {
    /// Nothing; inside a round, or hold.
    Hold,
    /// One packet more.
    Increase,
    /// Grow as NewReno: too few samples.
    Reno,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    base: Time,
    /// Smallest round trip of this round, and its samples.
    smallest: Time,
    samples: u32,
    round_end: u32,
    decision: Decision,
}

impl Vegas {
    fn restart_round(&mut self, end: u32) {
        (self.smallest, self.samples, self.round_end) = (Time::MAX, 0, end);
    }

    // Vegas §III
    fn decide_round(&mut self, window: &mut Window) -> Decision {
        if self.samples <= FEW {
            return Decision::Reno;
        }
        let (rtt, base) = (self.smallest.0 as f64, self.base.0 as f64);
        let cwnd = window.cwnd;
        // Linux computes in whole packets.
        // Linux divides by the base; the paper's difference of rates would divide by the present round trip.
        let excess = (cwnd.floor() * (rtt - base) / base).floor() as u64;
        let mut decision = Decision::Hold;
        if window.slow_start() {
            if excess > self.params.gamma {
                // Linux, `tcp_vegas_cong_avoid`: slow start stops at the content of the path without a queue, and
                // one packet more.
                window.cwnd = cwnd.min((cwnd * base / rtt).floor() + 1.0);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            }
        } else if excess > self.params.beta {
            // The threshold follows the window down, or slow start would take back what was given up.
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if excess < self.params.alpha {
            decision = Decision::Increase;
        }
        // Linux, `tcp_vegas_cong_avoid`: two packets at least.
        window.cwnd = window.cwnd.max(2.0);
        // Linux, `tcp_current_ssthresh`: at least three quarters of the window.
        window.ssthresh = window.ssthresh.max((0.75 * window.cwnd).floor());
        decision
    }
}

impl CongestionControl for Vegas {
    type Params = VegasParams;
    const INFO: TransportInfo = TransportInfo {
        name: "vegas",
        summary: "delay-based: holds alpha to beta packets in the queue",
        paper: "Vegas, IEEE JSAC 1995",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "Vegas §III: the excess is W (rtt - base) / base with the smallest round trip of a window of data, as in Linux; slow start doubles every round trip, not every second.",
            "Vegas §III: the base round trip is the smallest ever measured for the message; a message that joins a standing queue overestimates it and takes more.",
        ],
    };

    fn new(params: &VegasParams, _: &ConnectionParams, _: &Flow) -> Self {
        Vegas {
            params: params.clone(),
            base: Time::MAX,
            smallest: Time::MAX,
            samples: 0,
            round_end: 0,
            decision: Decision::Hold,
        }
    }

    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.decision = Decision::Hold;
        if let Some(rtt) = ack.rtt {
            // Never zero, so that it can divide.
            let rtt = rtt.max(Time(1));
            self.base = self.base.min(rtt);
            self.smallest = self.smallest.min(rtt);
            self.samples += 1;
        }
        if ack.phase != Phase::Open {
            // The samples of a round with losses are from two windows: it is not judged.
            self.restart_round(ack.next);
        } else if ack.acked > 0 && ack.una >= self.round_end {
            self.decision = self.decide_round(window);
            self.restart_round(ack.next);
        }
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        match self.decision {
            Decision::Reno => window.grow_reno(ack.acked, 1.0),
            Decision::Increase => window.cwnd += 1.0,
            // Slow start goes on inside a round; past the threshold this adds nothing.
            Decision::Hold => _ = window.grow_slowly(ack.acked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control};
    use super::*;

    /// The window after a round of ten samples of `rtt` at a base of 300 us.
    fn window_after(window: Window, rtt: Time) -> Window {
        let mut vegas = test_control::<Vegas>(1 << 40, |_| ());
        let mut window = window;
        // Set by hand: ten equal samples would be their own base.
        vegas.base = Time::us(300);
        // The tenth acknowledgement ends the round.
        vegas.round_end = 10;
        for i in 1..=10 {
            let ack = Ack { una: i, next: 30, rtt: Some(rtt), ..plain_ack() };
            vegas.handle_ack(&mut window, &ack);
            vegas.grow_window(&mut window, &ack);
        }
        window
    }

    #[test]
    fn holds_between_alpha_and_beta() {
        let at = Window { cwnd: 30.0, ssthresh: 20.0 };
        // 30 packets, 1 more of queue is 10 us.
        // On both sides of alpha (2) and beta (4), and far beyond: the window moves by at most one packet.
        for (queue, cwnd) in [(0, 31.0), (1, 31.0), (2, 30.0), (3, 30.0), (4, 30.0), (5, 29.0), (50, 29.0)] {
            assert_eq!(window_after(at, Time::us(300 + 10 * queue)).cwnd, cwnd, "{queue} queued");
        }
    }

    #[test]
    fn slow_start_ends_when_a_queue_is_seen() {
        let open = Window { cwnd: 30.0, ssthresh: f64::INFINITY };
        assert_eq!(window_after(open, Time::us(305)).cwnd, 40.0, "a packet for each");
        let ended = window_after(open, Time::us(400));
        assert_eq!((ended.cwnd, ended.ssthresh), (30.0, 30.0), "40 x 300 / 400, and one more is left of 39");
    }

    #[test]
    fn few_samples_are_renos() {
        let mut vegas = test_control::<Vegas>(1 << 40, |_| ());
        let mut window = Window { cwnd: 2.0, ssthresh: 2.0 };
        let ack = Ack { rtt: Some(Time::us(300)), ..plain_ack() };
        vegas.handle_ack(&mut window, &ack);
        vegas.grow_window(&mut window, &ack);
        // As Reno: half a packet for one acknowledged in a window of two.
        assert_eq!(window.cwnd, 2.5);
    }
}
