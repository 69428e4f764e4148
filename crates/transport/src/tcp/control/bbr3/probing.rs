//! Probes of the bandwidth and of the round trip: the phases of a cycle, and the bounds that they raise.

use super::super::{Ack, Phase, Window};
use super::{
    Bbr3, Congestion, HEADROOM, LEAST_WINDOW, LOSS_CUT, MARK_REPROBE, Mode, PROBE_ROUNDS, PROBE_ROUNDS_DRAW,
    PROBE_RTT, PROBE_RTT_WINDOW, PROBE_WAIT, PROBE_WAIT_DRAW,
};
use headway_units::Time;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time, delivered: u64) {
        // A new cycle: losses and marks of the last one are answered.
        self.congestion = Congestion::default();
        self.slope.every = f64::INFINITY;
        // Random, so that flows which share a bottleneck do not probe together.
        self.rounds_since_probe = self.draw_below(PROBE_ROUNDS_DRAW) as f64;
        self.probe_wait = PROBE_WAIT + Time(self.draw_below(PROBE_WAIT_DRAW.0));
        self.cycle_at = now;
        self.stopping = true;
        self.next_round = delivered;
        self.mode = Mode::Down;
    }

    fn start_cruise(&mut self) {
        // An infinite bound stands for none, and has to stay so.
        if self.lower.is_finite() {
            self.lower = self.lower.min(self.upper);
        }
        self.mode = Mode::Cruise;
    }

    fn start_refill(&mut self, rounds: u32, delivered: u64) {
        self.reset_lower_bounds();
        (self.slope.rounds, self.slope.acked) = (rounds, 0.0);
        self.risky = false;
        self.stopping = false;
        self.next_round = delivered;
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, window: &Window, ack: &Ack, packets: f64) {
        self.stopping = false;
        self.next_round = ack.delivered_total;
        self.cycle_at = ack.now;
        self.pipe.restart_from(packets);
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    /// Each round of a probe raises the upper bound twice as fast. BBRv3 §bbr_raise_inflight_hi_slope
    fn raise_slope(&mut self, window: &Window) {
        // One packet more in the first round of a probe, two in the second, four in the third.
        let growth = f64::from(1u32 << self.slope.rounds);
        // Bounded, so that the shift stays within 32 bits.
        self.slope.rounds = (self.slope.rounds + 1).min(30);
        self.slope.every = (window.cwnd / growth).floor().max(1.0);
    }

    /// A probe went too far: once each, the upper bound falls. BBRv3 §bbr_handle_inflight_too_high
    pub(super) fn handle_too_high(
        &mut self,
        window: &Window,
        in_flight: f64,
        limited: bool,
        (now, delivered): (Time, u64),
    ) {
        self.too_high = true;
        self.probe_samples = false;
        // In flight for a sender that lacked data is less than the path holds: it is not taken for a bound.
        if !limited {
            self.upper = in_flight.max((self.target_inflight(window) * LOSS_CUT).floor());
        }
        if self.mode == Mode::Up {
            self.start_down(now, delivered);
        }
    }

    /// Returns true if it has begun another phase. BBRv3 §bbr_adapt_upper_bounds
    fn adapt_upper_bound(&mut self, window: &Window, ack: &Ack) -> bool {
        let limited = ack.rate.is_none_or(|rate| self.is_limited(&rate));
        // A round after the end of the probe, all its packets have been answered.
        if self.round_begins && self.stopping {
            (self.probe_samples, self.stopping) = (false, false);
            let probing = self.mode.probes_bandwidth();
            if probing && !limited {
                self.bandwidth.advance_cycle();
            }
            // It was stopped for fear alone, and nothing was lost: the next probe goes higher at once.
            if probing && self.risky && !self.too_high {
                self.start_refill(0, ack.delivered_total);
                return true;
            }
        }
        let Some(rate) = ack.rate else { return false };
        let in_flight = f64::from(rate.in_flight);
        if self.is_too_high(&rate) {
            if self.probe_samples {
                self.handle_too_high(window, in_flight, limited, (ack.now, ack.delivered_total));
            }
        } else if self.upper.is_finite() {
            self.upper = self.upper.max(in_flight);
            if self.mode == Mode::Up {
                self.raise_upper_bound(window, ack);
            }
        }
        false
    }

    fn raise_upper_bound(&mut self, window: &Window, ack: &Ack) {
        // A bound that the window does not reach has not been tested.
        if !ack.limited || window.cwnd < self.upper {
            return;
        }
        self.slope.acked += f64::from(ack.delivered);
        if self.slope.acked >= self.slope.every {
            let delta = (self.slope.acked / self.slope.every).floor();
            // The remainder stays, so that slopes of less than a packet an acknowledgement add up.
            self.slope.acked -= delta * self.slope.every;
            self.upper += delta;
        }
        if self.round_begins {
            self.raise_slope(window);
        }
    }

    /// The upper bound, less the part that is left free for others. BBRv3 §bbr_inflight_with_headroom
    pub(super) fn with_headroom(&self) -> f64 {
        if self.upper.is_infinite() {
            return f64::INFINITY;
        }
        // One packet at least is left to others, and four at least to this flow.
        (self.upper - (self.upper * HEADROOM).floor().max(1.0)).max(LEAST_WINDOW)
    }

    /// Begins a probe if it is time. Returns true if it has. BBRv3 §bbr_check_time_to_probe_bw
    fn probes_now(&mut self, window: &Window, ack: &Ack) -> bool {
        let quick = self.marks.believed && self.congestion.mark_in_cycle && !self.congestion.loss_in_cycle;
        if quick && ack.phase == Phase::Open {
            // Starts with the slope that a probe has after growing to half of the bound.
            let volume = (self.upper * MARK_REPROBE).min(f64::from(1u32 << 30)).max(1.0);
            self.start_refill((volume as u32).ilog2(), ack.delivered_total);
            return true;
        }
        let waited = ack.now.saturating_sub(self.cycle_at) > self.probe_wait;
        // Linux, `bbr_is_reno_coexistence_probe_time`: probes are at least as frequent as the losses of a Reno flow of this size.
        if waited || self.rounds_since_probe >= self.target_inflight(window).min(PROBE_ROUNDS) {
            self.start_refill(0, ack.delivered_total);
            return true;
        }
        false
    }

    pub(super) fn update_phase(&mut self, window: &Window, ack: &Ack, packets: Option<f64>) {
        // The cycle of probes begins once the pipe is full; until then startup alone sets the upper bound.
        if !self.pipe.reached || self.adapt_upper_bound(window, ack) {
            return;
        }
        // Linux counts a burst that is just handed over as in flight.
        let burst = if self.mode == Mode::Up { self.burst_packets() } else { 0.0 };
        let in_flight = f64::from(ack.pipe_before) + burst;
        match self.mode {
            Mode::Cruise => _ = self.probes_now(window, ack),
            Mode::Refill if self.round_begins => {
                self.probe_samples = true;
                self.start_up(window, ack, packets.unwrap_or(0.0));
            }
            Mode::Up => {
                let done = if self.too_high && in_flight >= self.upper {
                    self.risky = true;
                    true
                } else if ack.limited && window.cwnd >= self.upper {
                    // The bound holds the window back: that the bandwidth does not grow means nothing.
                    self.pipe.restart_from(packets.unwrap_or(0.0));
                    false
                } else {
                    self.pipe.now
                };
                if done {
                    self.too_high = false;
                    self.start_down(ack.now, ack.delivered_total);
                }
            }
            Mode::Down => {
                let drained = in_flight <= self.wanted_inflight(self.bandwidth.largest_rate());
                if !self.probes_now(window, ack) && drained && in_flight <= self.with_headroom() {
                    self.start_cruise();
                }
            }
            _ => {}
        }
    }

    pub(super) fn update_min_rtt(&mut self, window: &mut Window, ack: &Ack) {
        let old = self.round_trip.add_sample(ack.rtt, ack.now);
        if old && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_ends = None;
            self.stopping = true;
            self.next_round = ack.delivered_total;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window, ack);
        }
    }

    fn probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        // Rates of half a window are not those of the path.
        self.limited_until = ack.delivered_total + u64::from(ack.pipe.max(1));
        let Some(ends) = self.probe_ends else {
            if f64::from(ack.pipe) <= self.probe_rtt_window() {
                self.probe_ends = Some(ack.now.saturating_add(PROBE_RTT));
                self.probe_round = false;
                self.next_round = ack.delivered_total;
            }
            return;
        };
        self.probe_round |= self.round_begins;
        if self.probe_round && ack.now > ends {
            self.round_trip.probe_at = ack.now;
            window.cwnd = window.cwnd.max(self.saved);
            self.reset_lower_bounds();
            if self.pipe.reached {
                self.start_down(ack.now, ack.delivered_total);
                // The path is drained already: `Down` would find nothing to do.
                self.start_cruise();
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.held_packets(self.bandwidth.get(), PROBE_RTT_WINDOW).max(LEAST_WINDOW)
    }
}
