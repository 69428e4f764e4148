//! CUBIC: the window follows a cubic of the time since the last loss, and Reno where that is faster.
//!
//! Sources: RFC 9438; Linux 4.19 where `dialect` and `hystart` say so. With round trips of a datacenter the
//! cubic hardly moves in a cycle and the Reno-friendly window decides: CUBIC is AIMD(0.53, 0.7) there.

use super::{Ack, CongestionControl, Flow, Window};
use crate::endpoint::TransportInfo;
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_params::ParamKind;
use headway_units::Time;

headway_params::choice! {
    /// Source that is followed where specification and kernel differ.
    pub enum Dialect {
        /// Slope 3 (1 - beta) / (1 + beta), then 1; a time-out keeps the last maximum.
        Rfc9438 = "rfc-9438",
        /// Slope 8/15 throughout; a time-out forgets the last maximum.
        Linux419 = "linux-4.19",
    }
}

headway_params::choice! {
    /// Condition that ends slow start before a loss.
    pub enum HyStart {
        /// It does not.
        Off = "off",
        /// HyStart with a clock of microseconds.
        Ideal = "ideal",
        /// HyStart with Linux 4.19's clock of milliseconds: at random, below a millisecond of round trip.
        Linux419 = "linux-4.19",
    }
}

headway_params::params! {
    /// Parameters of CUBIC.
    pub struct CubicParams {
        /// C, in packets per cubic second. RFC9438 §4.2
        scale: f64 = 0.4, ParamKind::Float { min: 0.001, max: 1000.0 };
        /// Factor that a loss applies to the window. RFC9438 §4.6
        beta: f64 = 0.7, ParamKind::Float { min: 0.1, max: 0.99 };
        /// True if a window that did not reach the last maximum gives way further. RFC9438 §4.7
        fast_convergence: bool = true, ParamKind::Bool;
        /// Source that is followed where specification and kernel differ. linux-4.19: linux-4.19
        dialect: Dialect = Dialect::Rfc9438, ParamKind::Choice(Dialect::WORDS);
        /// Condition that ends slow start before a loss. linux-4.19: linux-4.19
        hystart: HyStart = HyStart::Off, ParamKind::Choice(HyStart::WORDS);
    }
}

impl ByPreset for CubicParams {
    fn from_preset(preset: Preset) -> Self {
        match preset {
            Preset::PaperNs2 | Preset::Datacenter => CubicParams::default(),
            Preset::Linux419 => CubicParams {
                dialect: Dialect::Linux419,
                hystart: HyStart::Linux419,
                ..CubicParams::default()
            },
        }
    }
}

/// The curve between two losses.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Time from the start to the plateau, in seconds.
    k: f64,
    /// The plateau, in packets.
    origin: f64,
    /// The window that Reno would have.
    friendly: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: CubicParams,
    /// Window at the last loss, or less by fast convergence; 0 before the first.
    w_max: f64,
    /// Window before the last cut.
    prior: f64,
    epoch: Option<Epoch>,
    train: Train,
}

impl Cubic {
    // RFC9438 §4.2
    fn new_epoch(&self, window: &Window, now: Time) -> Epoch {
        // Above the last maximum there is nothing to regain: the curve starts on its plateau, at the window itself.
        let missing = (self.w_max - window.cwnd).max(0.0);
        let k = libm::cbrt(missing / self.params.scale);
        Epoch { start: now, k, origin: window.cwnd + missing, friendly: window.cwnd }
    }

    // RFC9438 §4.3
    fn friendly_slope(&self, friendly: f64) -> f64 {
        match self.params.dialect {
            // Linux's `beta_scale` is 15 in integers: one packet for each 15/8 of a window that is acknowledged.
            Dialect::Linux419 => 8.0 / 15.0,
            // RFC 9438 §4.3: once it has regained the window of the last cut, it grows as Reno does.
            Dialect::Rfc9438 if friendly >= self.prior => 1.0,
            Dialect::Rfc9438 => 3.0 * (1.0 - self.params.beta) / (1.0 + self.params.beta),
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack, acked: f64) {
        let mut epoch = self.epoch.unwrap_or_else(|| self.new_epoch(window, ack.now));
        // RFC9438 §4.2: the target is the curve one round trip ahead.
        // Before the first sample the smallest round trip is the greatest time, which stands for none.
        let ahead = if ack.min_rtt == Time::MAX { Time::ZERO } else { ack.min_rtt };
        let t = (ack.now - epoch.start).saturating_add(ahead).as_secs_f64() - epoch.k;
        // RFC9438 §4.4: at most half a window a round trip.
        let target = (epoch.origin + self.params.scale * t * t * t).min(1.5 * window.cwnd);
        // Linux, `bictcp_update`: at or above the target, a hundredth of a packet for each acknowledged window.
        let cubic = ((target - window.cwnd) / window.cwnd).max(0.01 / window.cwnd);
        // Everything that has cut the window since has cut Reno's as well.
        epoch.friendly = epoch.friendly.min(window.cwnd);
        epoch.friendly += self.friendly_slope(epoch.friendly) * acked / window.cwnd;
        // RFC 9438 §4.3: never below the window that Reno would have.
        window.cwnd = (window.cwnd + cubic * acked).max(epoch.friendly);
        self.epoch = Some(epoch);
    }
}

impl CongestionControl for Cubic {
    type Params = CubicParams;
    const INFO: TransportInfo = TransportInfo {
        name: "cubic",
        summary: "the window follows a cubic of the time since the last loss, and Reno where that is faster",
        paper: "RFC 9438; HyStart and Linux 4.19 by parameter",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "RFC9438 §4.3: the window is the larger of the cubic's and the Reno-friendly one after every acknowledgement, in real numbers; Linux approaches the latter by counting acknowledgements.",
            "RFC9438 §4.2: time is exact; Linux 4.19 counts it in clock ticks of 1 to 4 ms.",
            "RFC9438 §5.8: there is no idle time to shift the epoch by, a message being a connection.",
        ],
    };

    fn new(params: &CubicParams, _: &ConnectionParams, flow: &Flow) -> Self {
        let train = Train::new(params.hystart, flow.start);
        Cubic { params: params.clone(), w_max: 0.0, prior: f64::INFINITY, epoch: None, train }
    }

    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        if window.slow_start() && self.train.is_over(window.cwnd, ack) {
            window.ssthresh = window.cwnd;
        }
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        let left = window.grow_slowly(ack.acked);
        if left > 0.0 {
            self.avoid_congestion(window, ack, left);
        }
    }

    // RFC9438 §4.6
    fn window_after_loss(&mut self, window: &Window, _: f64, _: Time) -> f64 {
        let (cwnd, beta) = (window.cwnd, self.params.beta);
        // RFC9438 §4.7
        let yields = self.params.fast_convergence && cwnd < self.w_max;
        self.w_max = if yields { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        // The next growth begins a curve from the window that the cut leaves.
        (self.prior, self.epoch) = (cwnd, None);
        // Of the window, not of the flight: RFC 9438 §4.6 allows it where an unused window does not grow.
        (beta * cwnd).max(2.0)
    }

    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        let ssthresh = self.window_after_loss(window, flight, now);
        if self.params.dialect == Dialect::Linux419 {
            // Linux, `bictcp_reset`.
            self.w_max = 0.0;
            self.train.restart_train(now);
        }
        ssthresh
    }
}

/// HyStart: slow start ends when a round's acknowledgements stretch over half a round trip, or come late.
#[derive(Clone, Debug)]
struct Train {
    kind: HyStart,
    start: Time,
    last: Time,
    end: u32,
    /// Smallest of the round's first samples, and how many these are.
    rtt: Time,
    samples: u32,
}

impl Train {
    fn new(kind: HyStart, now: Time) -> Train {
        Train { kind, start: now, last: now, end: 0, rtt: Time::MAX, samples: 0 }
    }

    fn restart_train(&mut self, now: Time) {
        *self = Train::new(self.kind, now);
    }

    /// A time, rounded to the clock's ticks.
    fn round_to_ticks(&self, time: Time) -> Time {
        let tick = if self.kind == HyStart::Linux419 { Time::ms(1) } else { Time::us(1) };
        Time(time.0 / tick.0 * tick.0)
    }

    /// True if slow start should end.
    fn is_over(&mut self, cwnd: f64, ack: &Ack) -> bool {
        if self.kind == HyStart::Off {
            return false;
        }
        let now = self.round_to_ticks(ack.now);
        if ack.una >= self.end {
            let end = ack.next;
            *self = Train { start: now, last: now, end, rtt: Time::MAX, samples: 0, kind: self.kind };
        }
        // Linux's `hystart_low_window`: small windows are left to double.
        if cwnd < 16.0 || ack.min_rtt == Time::MAX {
            return false;
        }
        let min = match self.kind {
            // Kept in 1/8 ms there, at least one of these.
            HyStart::Linux419 => self.round_to_ticks(ack.min_rtt).max(Time::us(125)),
            _ => ack.min_rtt,
        };
        self.is_stretched(now, self.round_to_ticks(Time(min.0 / 2))) || self.is_late(ack, min)
    }

    fn is_stretched(&mut self, now: Time, limit: Time) -> bool {
        // Linux's `hystart_ack_delta`: acknowledgements further apart do not belong to one train.
        if now.saturating_sub(self.last) > Time::ms(2) {
            return false;
        }
        self.last = now;
        now - self.start > limit
    }

    fn is_late(&mut self, ack: &Ack, min: Time) -> bool {
        if let Some(rtt) = ack.rtt.filter(|_| self.samples < 8) {
            (self.rtt, self.samples) = (self.rtt.min(rtt), self.samples + 1);
        }
        // Linux, `HYSTART_DELAY_THRESH`: an eighth of the round trip, 4 ms to 16 ms.
        let margin = Time(min.0 / 8).max(Time::ms(4)).min(Time::ms(16));
        self.samples >= 8 && self.rtt > min.saturating_add(margin)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control};
    use super::*;

    /// Windows at whole seconds after a cut at `w_max`, acknowledgement by acknowledgement at 100 ms.
    fn window_curve(w_max: f64, seconds: u64) -> Vec<f64> {
        let mut cubic = test_control::<Cubic>(1 << 40, |_| ());
        let mut window = Window { cwnd: w_max, ssthresh: w_max };
        window.cwnd = cubic.window_after_loss(&window, w_max, Time::ZERO);
        window.ssthresh = window.cwnd;
        let mut curve = vec![window.cwnd];
        let rtt = Time::ms(100);
        for second in 0..seconds {
            for round in 0..10 {
                let now = Time::s(second) + rtt * round;
                let packets = window.cwnd as u32;
                for i in 0..packets {
                    let now = now + Time(rtt.0 / u64::from(packets) * u64::from(i));
                    cubic.grow_window(&mut window, &Ack { now, srtt: rtt, min_rtt: rtt, ..plain_ack() });
                }
            }
            curve.push(window.cwnd);
        }
        curve
    }

    #[test]
    fn follows_the_published_curve() {
        let window = Window { cwnd: 1000.0, ssthresh: 1000.0 };
        for (w_max, k) in [(100.0, 4.217), (1000.0, 9.086)] {
            let mut cubic = test_control::<Cubic>(1 << 40, |_| ());
            let cut = cubic.window_after_loss(&Window { cwnd: w_max, ..window }, w_max, Time::ZERO);
            assert!((cut - 0.7 * w_max).abs() < 1e-9);
            let epoch = cubic.new_epoch(&Window { cwnd: cut, ssthresh: cut }, Time::ZERO);
            assert!((epoch.k - k).abs() < 1e-3 && epoch.origin == w_max, "{epoch:?}");
            let at = |t: f64| epoch.origin + 0.4 * (t - epoch.k) * (t - epoch.k) * (t - epoch.k);
            let points: &[(f64, f64)] = match w_max {
                100.0 => &[(0.0, 70.0), (1.0, 86.7), (2.0, 95.6), (8.0, 121.7), (10.0, 177.4)],
                _ => &[(1.0, 788.6), (2.0, 857.7)],
            };
            points.iter().for_each(|(t, w)| assert!((at(*t) - w).abs() < 0.06, "W({t}) = {}", at(*t)));
        }
        // The machine's windows: Reno is slower at 100 ms and W 1000, so the curve decides.
        let walked = window_curve(1000.0, 12);
        for (t, expected) in [(0, 700.0), (1, 788.6), (2, 857.7), (9, 1000.0), (12, 1000.0 + 0.4 * 24.74)] {
            assert!((walked[t] - expected).abs() < 0.01 * expected, "W({t}) = {}", walked[t]);
        }
    }

    #[test]
    fn a_window_that_did_not_reach_the_last_maximum_yields() {
        let mut cubic = test_control::<Cubic>(1 << 40, |_| ());
        cubic.window_after_loss(&Window { cwnd: 100.0, ssthresh: 50.0 }, 100.0, Time::ZERO);
        assert_eq!(cubic.w_max, 100.0);
        cubic.window_after_loss(&Window { cwnd: 90.0, ssthresh: 50.0 }, 90.0, Time::ZERO);
        assert_eq!(cubic.w_max, 0.85 * 90.0);
    }

    #[test]
    fn in_a_datacenter_it_is_aimd() {
        let mut cubic = test_control::<Cubic>(1 << 40, |_| ());
        let mut window = Window { cwnd: 275.0, ssthresh: 275.0 };
        window.cwnd = cubic.window_after_loss(&window, 275.0, Time::ZERO);
        window.ssthresh = window.cwnd;
        let (mut now, mut rounds) = (Time::ZERO, 0);
        while window.cwnd < 275.0 {
            // 12 us is a packet at 1 Gb/s: with a standing queue the round trip is that of the window.
            let rtt = Time::us(12) * (window.cwnd as u64);
            for _ in 0..window.cwnd as u32 {
                cubic.grow_window(&mut window, &Ack { now, min_rtt: Time::us(300), ..plain_ack() });
            }
            (now, rounds) = (now + rtt, rounds + 1);
        }
        assert!((150..=160).contains(&rounds), "82 packets at 0.53 a round trip: {rounds}");
    }

    #[test]
    fn what_somebody_else_takes_from_the_window_stays_taken() {
        let mut cubic = test_control::<Cubic>(1 << 40, |_| ());
        let mut window = Window { cwnd: 100.0, ssthresh: 100.0 };
        window.cwnd = cubic.window_after_loss(&window, 100.0, Time::ZERO);
        window.ssthresh = window.cwnd;
        (0..5000).for_each(|_| cubic.grow_window(&mut window, &plain_ack()));
        (window.cwnd, window.ssthresh) = (window.cwnd / 2.0, 2.0);
        let halved = window.cwnd;
        cubic.grow_window(&mut window, &plain_ack());
        assert!(window.cwnd - halved <= 0.5, "half a window a round trip: {halved}, then {}", window.cwnd);
    }

    #[test]
    fn hystart_ends_slow_start_at_half_a_round_trip_of_acknowledgements() {
        let over = |kind, gap: Time, cwnd: f64| {
            let mut train = Train::new(kind, Time::ZERO);
            (0..40u32).find(|&i| {
                let now = Time::ms(5) + gap * u64::from(i);
                train.is_over(
                    cwnd,
                    &Ack { now, una: 1 + i, next: 200 + i, rtt: Some(Time::us(300)), ..plain_ack() },
                )
            })
        };
        assert_eq!(over(HyStart::Ideal, Time::us(12), 20.0), Some(13), "156 us, more than half of 300");
        assert_eq!(over(HyStart::Ideal, Time::us(12), 15.0), None, "not below 16 packets");
        assert_eq!(over(HyStart::Off, Time::us(12), 200.0), None);
        assert_eq!(over(HyStart::Linux419, Time::us(50), 20.0), Some(20), "as the millisecond ticks");
    }
}
