//! wVegas: Vegas on each subflow, which share out the packets they want in queues by their rates.
//!
//! Source: Y. Cao, M. Xu and X. Fu, IEEE ICNP 2012, as the out-of-tree Linux implementation has it. A path whose queue is
//! dear, because its rate is low, is given up in favour of the others. Losses are answered as NewReno answers them.

use super::Group;
use crate::endpoint::TransportInfo;
use crate::mptcp::{STATES, deviations};
use crate::tcp::control::{Ack, CongestionControl, Flow, Phase, Window, half_flight};
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use headway_params::ParamKind;
use headway_units::Time;

headway_params::params! {
    /// Parameters of wVegas.
    pub struct WvegasParams {
        /// Packets in the queues of all paths together. wVegas §III
        total_alpha: u64 = 10, ParamKind::Int { min: 1, max: 10_000 };
        /// Packets in the queue of a path at least, and at first. wVegas §III
        least_alpha: u64 = 2, ParamKind::Int { min: 1, max: 10_000 };
        /// Packets in the queue above which slow start ends. wVegas §III
        gamma: u64 = 1, ParamKind::Int { min: 0, max: 10_000 };
    }
}

impl ByPreset for WvegasParams {
    fn from_preset(_: Preset) -> Self {
        WvegasParams::default()
    }
}

/// Samples that a round must have more than, for their mean to mean something.
const FEW: u32 = 2;

/// Decision at a round's end, for the acknowledgement that ended it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Decision {
    /// Nothing; inside a round, or hold.
    Hold,
    /// One packet more.
    Increase,
    /// As NewReno: too few samples.
    Reno,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Wvegas {
    params: WvegasParams,
    /// Packets wanted in the queue of this path.
    alpha: f64,
    /// Packets a second, of the last round that filled the queue; 0 after a time-out.
    rate: f64,
    base: Time,
    /// Sum of this round's round trips, and their number.
    sum: Time,
    samples: u32,
    round_end: u32,
    /// Smallest queueing delay in whole microseconds since the queue was drained; 0 before the first.
    least_delay: u64,
    decision: Decision,
}

impl Wvegas {
    fn restart_round(&mut self, end: u32) {
        (self.sum, self.samples, self.round_end) = (Time::ZERO, 0, end);
    }

    // wVegas §III
    fn decide_round(&mut self, window: &mut Window, ack: &Ack) -> Decision {
        if self.samples <= FEW {
            return Decision::Reno;
        }
        let (mean, base) = (self.sum.0 as f64 / f64::from(self.samples), self.base.0 as f64);
        // Linux computes in whole packets.
        let excess = (window.cwnd.floor() * (mean - base) / mean).floor();
        let mut decision = Decision::Hold;
        if window.slow_start() {
            if excess > self.params.gamma as f64 {
                window.cwnd = window.cwnd.min((window.cwnd * base / mean).floor() + 1.0);
                // As in the out-of-tree implementation, one packet below the window.
                window.ssthresh = window.ssthresh.min(window.cwnd - 1.0);
            }
        } else {
            decision = self.avoid_congestion(window, (excess, mean / Time::s(1).0 as f64), ack);
            self.drain_queue(window, mean, base);
        }
        window.cwnd = window.cwnd.max(2.0);
        // Linux, `tcp_current_ssthresh`: at least three quarters of the window.
        window.ssthresh = window.ssthresh.max((0.75 * window.cwnd).floor());
        decision
    }

    fn avoid_congestion(&mut self, window: &mut Window, (excess, rtt): (f64, f64), ack: &Ack) -> Decision {
        if excess >= self.alpha {
            self.rate = window.cwnd / rtt;
            let total: f64 =
                Group::new(ack, window, self.rate).each_sibling().map(|sibling| sibling.shown).sum();
            // At least its own rate, so that its share is at most the whole.
            let weight = self.rate / total.max(self.rate);
            let share = (weight * self.params.total_alpha as f64).floor();
            self.alpha = share.max(self.params.least_alpha as f64);
        }
        if excess > self.alpha {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd - 1.0);
        }
        if excess < self.alpha { Decision::Increase } else { Decision::Hold }
    }

    /// A queue that has doubled is emptied once, so that a base round trip measured through it is corrected.
    fn drain_queue(&mut self, window: &mut Window, mean: f64, base: f64) {
        // Whole microseconds, Linux's unit: a shorter delay counts as none.
        let delay = Time((mean - base) as u64).0 / Time::us(1).0;
        if self.least_delay == 0 || delay < self.least_delay {
            self.least_delay = delay;
        }
        if self.least_delay > 0 && delay >= 2 * self.least_delay {
            // Half of what the path holds without a queue, so that the queue runs empty.
            window.cwnd *= base / (2.0 * mean);
            self.least_delay = 0;
        }
    }
}

impl CongestionControl for Wvegas {
    type Params = WvegasParams;
    const INFO: TransportInfo = TransportInfo {
        name: "mptcp-wvegas",
        summary: "MPTCP by delay: subflows hold packets in queues, shared out among them by their rates",
        paper: "wVegas, IEEE ICNP 2012; RFC 8684",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "wVegas §III: the excess is W (rtt - base) / rtt with the mean round trip of a window of data, in whole packets, as in Linux; rounds with fewer than three samples are NewReno's.",
            "wVegas §III: a queue that has doubled is drained if its delay was a microsecond or more, Linux's unit of time.",
        ],
    };
    const COUPLED: bool = true;

    fn new(params: &WvegasParams, _: &ConnectionParams, _: &Flow) -> Self {
        Wvegas {
            alpha: params.least_alpha as f64,
            params: params.clone(),
            rate: 0.0,
            base: Time::MAX,
            sum: Time::ZERO,
            samples: 0,
            round_end: 0,
            least_delay: 0,
            decision: Decision::Hold,
        }
    }

    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.decision = Decision::Hold;
        if let Some(rtt) = ack.rtt {
            // Never zero, so that it can divide.
            let rtt = rtt.max(Time(1));
            self.base = self.base.min(rtt);
            self.sum = self.sum.saturating_add(rtt);
            self.samples += 1;
        }
        if ack.phase != Phase::Open {
            self.restart_round(ack.next);
        } else if ack.acked > 0 && ack.una >= self.round_end {
            self.decision = self.decide_round(window, ack);
            self.restart_round(ack.next);
        }
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        match self.decision {
            Decision::Reno => window.grow_reno(ack.acked, 1.0),
            Decision::Increase => window.cwnd += 1.0,
            Decision::Hold => _ = window.grow_slowly(ack.acked),
        }
    }

    fn timed_out(&mut self, _: &Window, flight: f64, _: Time) -> f64 {
        // Its packets in queues go to the other subflows until it fills its own again.
        self.rate = 0.0;
        half_flight(flight)
    }

    fn shown_value(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::control::Sibling;
    use crate::tcp::control::tests::{plain_ack, test_control};

    /// The controller and its window after a round of ten samples of `rtt` at a base of 300 us, next to a subflow
    /// that shows `other`.
    fn state_after(window: Window, rtt: Time, other: f64, set: impl Fn(&mut Wvegas)) -> (Wvegas, Window) {
        let mut wvegas = test_control::<Wvegas>(1 << 40, |_| ());
        let mut window = window;
        (wvegas.base, wvegas.round_end) = (Time::us(300), 10);
        set(&mut wvegas);
        let view = |own, shown| Sibling { window: 10.0, rtt: 3e-4, shown, own };
        // wVegas compares rates alone (`shown`): the other's window and round trip only have to be there.
        let siblings = [view(true, 0.0), view(false, other)];
        for i in 1..=10 {
            let ack = Ack { una: i, next: 30, rtt: Some(rtt), siblings: &siblings, ..plain_ack() };
            wvegas.handle_ack(&mut window, &ack);
            wvegas.grow_window(&mut window, &ack);
        }
        (wvegas, window)
    }

    #[test]
    fn holds_alpha_packets_of_its_own_round_trip() {
        let at = Window { cwnd: 40.0, ssthresh: 20.0 };
        // Of 40 packets, 16 us of queue in 316 are 2.03, where Vegas would count 2.13.
        for (queue, cwnd) in [(0, 41.0), (15, 41.0), (16, 40.0), (23, 40.0)] {
            let (wvegas, window) = state_after(at, Time::us(300 + queue), 1e9, |_| ());
            assert_eq!((window.cwnd, wvegas.alpha), (cwnd, 2.0), "{queue} us");
        }
        assert_eq!(state_after(at, Time::us(330), 1e9, |_| ()).1.cwnd, 39.0, "3.6 are more than 2");
    }

    #[test]
    fn alpha_is_a_share_of_ten_by_rate() {
        let at = Window { cwnd: 40.0, ssthresh: 20.0 };
        // 40 packets in 330 us are 121,212 a second.
        for (other, alpha) in [(0.0, 10.0), (121_212.1, 5.0), (40_000.0, 7.0), (2e6, 2.0)] {
            let (wvegas, window) = state_after(at, Time::us(330), other, |_| ());
            assert_eq!(wvegas.alpha, alpha, "beside {other}");
            assert_eq!(window.cwnd, if alpha > 3.0 { 41.0 } else { 39.0 });
        }
        let mut late = state_after(at, Time::us(330), 0.0, |_| ()).0;
        assert!(late.shown_value() > 121_000.0);
        assert_eq!(late.timed_out(&at, 40.0, Time::ZERO), 20.0);
        assert_eq!(late.shown_value(), 0.0, "after a time-out it weighs nothing");
    }

    #[test]
    fn a_queue_that_doubles_is_drained_once() {
        let at = Window { cwnd: 40.0, ssthresh: 20.0 };
        let (wvegas, window) = state_after(at, Time::us(320), 1e9, |wvegas| wvegas.least_delay = 10);
        // 18.75, which is below the threshold: the acknowledgement that leads to it begins slow start.
        assert!((window.cwnd - 40.0 * 300.0 / 640.0 - 1.0).abs() < 1e-9, "{}", window.cwnd);
        assert_eq!(wvegas.least_delay, 0);
        let (wvegas, window) = state_after(at, Time::us(319), 1e9, |wvegas| wvegas.least_delay = 10);
        assert_eq!((window.cwnd, wvegas.least_delay), (40.0, 10));
    }

    #[test]
    fn slow_start_ends_with_a_packet_in_the_queue() {
        let at = Window { cwnd: 40.0, ssthresh: f64::INFINITY };
        let (_, window) = state_after(at, Time::us(320), 0.0, |_| ());
        // Nine acknowledgements have made it 49; 49 x 300 / 320 is 45.9.
        assert_eq!((window.cwnd, window.ssthresh), (46.0, 45.0));
        let (_, window) = state_after(at, Time::us(300), 0.0, |_| ());
        assert_eq!(window.cwnd, 50.0, "and not before");
    }
}
