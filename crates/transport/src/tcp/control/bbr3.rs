//! BBR v3: BBR with bounds on the data in flight, which losses and marks lower and probes raise.
//!
//! Source: `net/ipv4/tcp_bbr.c` of github.com/google/bbr, branch v3 (commit 2aaf0059), which draft-ietf-ccwg-bbr describes;
//! sections named below are its functions. Windows and rates are real numbers, rounded where Linux rounds windows; constants
//! are its, in 1/256.

use super::{Ack, CongestionControl, Flow, LostPacket, Phase, RateSample, Window, gap_at};
use crate::endpoint::TransportInfo;
use crate::probes;
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;
use headway_primitives::mix;
use headway_units::Time;

/// Gains of pace and window while the rate doubles each round trip.
// 277/100 in 1/256, and one more: just above 4 ln 2.
const STARTUP_PACE: f64 = 710.0 / 256.0;
const STARTUP_WINDOW: f64 = 2.0;
/// Drains in one round trip what startup has queued.
const DRAIN_PACE: f64 = 88.0 / 256.0;
/// Gains of the four phases in which the bandwidth is probed.
const UP_PACE: f64 = 1.25;
const DOWN_PACE: f64 = 232.0 / 256.0;
const PROBE_WINDOW: f64 = 2.0;
const UP_WINDOW: f64 = 2.25;
/// Share of the bandwidth that is used, so that a queue does not stand.
const MARGIN: f64 = 0.99;
/// Smallest window, in packets.
const LEAST_WINDOW: f64 = 4.0;
/// Growth below which a round counts as one without growth, and the number of such rounds after which the path is full.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Acknowledgements with losses, and rounds with too many marks, that end the startup.
const FULL_LOSSES: u32 = 6;
const FULL_MARKED_ROUNDS: u32 = 2;
/// Shares of lost and of marked packets at which too much is in flight.
const LOSS_THRESHOLD: f64 = 5.0 / 256.0;
const MARK_THRESHOLD: f64 = 0.5;
/// Factor of a round with losses on the lower bounds, and of a probe that went too far on the upper one.
const LOSS_CUT: f64 = 180.0 / 256.0;
/// Cut of the lower bound in a round with marks, as a share of the marked share.
const MARK_FACTOR: f64 = 85.0 / 256.0;
/// Weight of the newest round in the marked share.
const MARK_GAIN: f64 = 16.0 / 256.0;
/// Round trip up to which marks are believed.
const MARK_MAX_RTT: Time = Time::ms(5);
/// Share of the upper bound with which probing begins again once marks have ceased.
const MARK_REPROBE: f64 = 0.5;
/// Share of the upper bound that is left free between probes.
const HEADROOM: f64 = 38.0 / 256.0;
/// Rounds, and time with a random part, after which the bandwidth is probed again.
const PROBE_ROUNDS: f64 = 63.0;
const PROBE_ROUNDS_DRAW: u64 = 2;
const PROBE_WAIT: Time = Time::s(2);
const PROBE_WAIT_DRAW: Time = Time::s(1);
/// Time for which round trips are remembered, interval of probes for them, and length of such a probe.
const MIN_RTT_LIFE: Time = Time::s(10);
const PROBE_RTT_EVERY: Time = Time::s(5);
const PROBE_RTT: Time = Time::ms(200);
const PROBE_RTT_WINDOW: f64 = 0.5;
/// Rounds that acknowledgements in excess are remembered, at least; and time of them at most.
const EXCESS_ROUNDS: u32 = 5;
const EXCESS_TIME: f64 = 0.1;
/// Packets in excess after which counting begins again.
const EXCESS_RESET: f64 = 1_048_576.0;

headway_params::choice! {
    /// Number of packets that a sender hands over together.
    pub enum Bursts {
        /// One packet at a time.
        Ideal = "ideal",
        /// As many as Linux segments at once: a millisecond's worth and up to 64 KiB more, 2 packets to 64 KiB.
        Linux = "linux",
    }
}

headway_params::params! {
    /// Parameters of BBR v3.
    pub struct Bbr3Params {
        /// True if packets are ECN-capable, and marks answered where the round trip is 5 ms at most: the route feature `ecn_low` of Linux, for ports that mark early.
        ecn: bool = true, ParamKind::Bool;
        /// Packets handed over together, three times which the window is at least: 4 packets or, over a short path, 132. linux-4.19: linux
        bursts: Bursts = Bursts::Ideal, ParamKind::Choice(Bursts::WORDS);
    }
}

impl ByPreset for Bbr3Params {
    fn from_preset(preset: Preset) -> Self {
        let bursts = if preset == Preset::Linux419 { Bursts::Linux } else { Bursts::Ideal };
        Bbr3Params { bursts, ..Bbr3Params::default() }
    }
}

/// Mode of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubling the rate until the bandwidth stops growing.
    Startup,
    /// Sending slowly until the queue of startup is gone.
    Drain,
    /// Probing: draining the queue of the last probe.
    Down,
    /// Cruises between two probes.
    Cruise,
    /// Filling the path before a probe.
    Refill,
    /// Sending faster than the bandwidth, and raising the upper bound.
    Up,
    /// Half of the path's content, to see the round trip without a queue.
    ProbeRtt,
}

impl Mode {
    fn probes_bandwidth(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// True if losses and marks are its own doing, and lower no bound. BBRv3 §bbr_is_probing_bandwidth
    fn pushes_queue(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }

    /// Gains of pace and window. BBRv3 §bbr_update_gains
    fn mode_gains(self) -> (f64, f64) {
        match self {
            Mode::Startup => (STARTUP_PACE, STARTUP_WINDOW),
            Mode::Drain => (DRAIN_PACE, STARTUP_WINDOW),
            Mode::Down => (DOWN_PACE, PROBE_WINDOW),
            Mode::Cruise | Mode::Refill => (1.0, PROBE_WINDOW),
            Mode::Up => (UP_PACE, UP_WINDOW),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }
}

/// The largest bandwidth of the present and the last cycle of probes, in packets a second, and what losses leave of it.
#[derive(Clone, Copy, Debug)]
struct Bandwidth {
    last: f64,
    present: f64,
    bound: f64,
}

impl Bandwidth {
    fn largest_rate(&self) -> f64 {
        self.last.max(self.present)
    }

    fn get(&self) -> f64 {
        self.largest_rate().min(self.bound)
    }

    /// A cycle is over. BBRv3 §bbr_advance_max_bw_filter
    fn advance_cycle(&mut self) {
        if self.present > 0.0 {
            (self.last, self.present) = (self.present, 0.0);
        }
    }
}

/// Detects that the bandwidth has stopped growing. BBRv3 §bbr_check_full_bw_reached
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    rate: f64,
    rounds: u32,
    now: bool,
    /// True if it ever has, since the beginning.
    reached: bool,
}

impl FullPipe {
    fn restart_from(&mut self, rate: f64) {
        *self = FullPipe { rate, reached: self.reached, ..FullPipe::default() };
    }

    fn add_sample(&mut self, rate: f64, round_begins: bool) {
        if self.now {
            return;
        }
        if rate >= self.rate * FULL_GROWTH {
            self.restart_from(rate);
        } else if round_begins {
            self.rounds += 1;
            self.now = self.rounds >= FULL_ROUNDS;
            self.reached |= self.now;
        }
    }
}

/// The smallest round trips of ten seconds, and of five. BBRv3 §bbr_update_min_rtt
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    min: Time,
    at: Time,
    probe: Time,
    probe_at: Time,
}

impl RoundTrip {
    /// Returns true if it is time to probe.
    fn add_sample(&mut self, rtt: Option<Time>, now: Time) -> bool {
        let old = now > self.probe_at.saturating_add(PROBE_RTT_EVERY);
        if let Some(rtt) = rtt.filter(|&rtt| rtt < self.probe || old) {
            (self.probe, self.probe_at) = (rtt, now);
        }
        if self.probe <= self.min || now > self.at.saturating_add(MIN_RTT_LIFE) {
            (self.min, self.at) = (self.probe, self.probe_at);
        }
        old
    }
}

/// Acknowledgements that come faster than the bandwidth, because hosts hold them back. BBRv3 §bbr_update_ack_aggregation
#[derive(Clone, Copy, Debug)]
struct Excess {
    since: Time,
    acked: f64,
    most: [f64; 2],
    rounds: u32,
}

impl Excess {
    fn add_sample(&mut self, ack: &Ack, rate: f64, cwnd: f64, turn: Option<u32>) {
        if let Some(rounds) = turn {
            self.rounds += 1;
            if self.rounds >= rounds {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let acked = f64::from(ack.delivered);
        let mut expected = (rate * ack.now.saturating_sub(self.since).as_secs_f64()).floor();
        if self.acked <= expected || self.acked + acked >= EXCESS_RESET {
            (self.acked, self.since, expected) = (0.0, ack.now, 0.0);
        }
        self.acked += acked;
        self.most[0] = self.most[0].max((self.acked - expected).min(cwnd));
    }

    fn get(&self, rate: f64) -> f64 {
        self.most[0].max(self.most[1]).min((rate * EXCESS_TIME).floor())
    }
}

/// The share of packets that are marked. BBRv3 §bbr_update_ecn_alpha
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// True if the round trip is short enough.
    believed: bool,
    share: f64,
    total: u64,
    /// Packets delivered, and of these marked, as the share was last computed.
    counted: (u64, u64),
    /// Rounds of startup in a row with too many.
    rounds: u32,
}

/// Events in a round of losses, and in a cycle of probes.
#[derive(Clone, Copy, Debug, Default)]
struct Congestion {
    loss_in_round: bool,
    mark_in_round: bool,
    loss_in_cycle: bool,
    mark_in_cycle: bool,
    /// The largest rate of the round, and packets delivered in a round trip.
    rate: f64,
    delivered: f64,
}

/// Slope of the upper bound: it rises by a packet for every `every` that are acknowledged.
#[derive(Clone, Copy, Debug)]
struct Slope {
    rounds: u32,
    every: f64,
    acked: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Bbr3Params,
    packet: f64,
    /// First window, in packets.
    initial: f64,
    /// Its own random numbers, and how many were drawn.
    seed: u64,
    draws: u64,
    mode: Mode,
    bandwidth: Bandwidth,
    pipe: FullPipe,
    round_trip: RoundTrip,
    excess: Excess,
    marks: Marks,
    congestion: Congestion,
    /// Packets delivered as the round ends, and whether one has just begun.
    next_round: u64,
    round_begins: bool,
    /// Packets delivered as a round of counted losses ends, and true if one has just begun.
    loss_round: u64,
    loss_round_begins: bool,
    loss_events: u32,
    /// Bounds of the data in flight.
    lower: f64,
    upper: f64,
    slope: Slope,
    /// True if a probe has ended, and acknowledgements of its packets still come, for a round.
    stopping: bool,
    /// True if acknowledgements report on a probe from which nothing was concluded.
    probe_samples: bool,
    /// True if the last probe saw too much loss or marks, and true if it was ended for fear of that.
    too_high: bool,
    risky: bool,
    rounds_since_probe: f64,
    cycle_at: Time,
    probe_wait: Time,
    /// End of a probe of the round trip, and whether a round has passed in it.
    probe_ends: Option<Time>,
    probe_round: bool,
    /// Rates below this many packets delivered say nothing: they are from a probe of the round trip.
    limited_until: u64,
    /// Packets a second, as paced.
    pace: f64,
    /// Window to return to after a time-out or a probe.
    saved: f64,
    calm: bool,
    timed_out: bool,
}

impl Bbr3 {
    /// Mode of the sender.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Packets that the path holds at a rate, times `gain`. BBRv3 §bbr_bdp
    fn held_packets(&self, rate: f64, gain: f64) -> f64 {
        // Nothing is measured yet: Linux is on the safe side with the first window.
        if self.round_trip.min == Time::MAX {
            return self.initial;
        }
        // A product that is a whole number but for the last bit counts as that number.
        (gain * rate * self.round_trip.min.as_secs_f64() * (1.0 - 1e-12)).ceil()
    }

    /// Window with room for bursts. BBRv3 §bbr_quantization_budget
    fn roomy_window(&self, window: f64) -> f64 {
        let extra = if self.mode == Mode::Up { 2.0 } else { 0.0 };
        // Three bursts have room even where the path holds less: hosts handle packets in bursts. The two on
        // top let a probe of a short path rise at all.
        window.max(3.0 * self.burst_packets()).max(LEAST_WINDOW) + extra
    }

    fn wanted_inflight(&self, rate: f64) -> f64 {
        self.roomy_window(self.held_packets(rate, 1.0))
    }

    fn target_inflight(&self, window: &Window) -> f64 {
        self.wanted_inflight(self.bandwidth.get()).min(window.cwnd)
    }

    /// Packets that leave together. BBRv3 §bbr_tso_segs_generic
    fn burst_packets(&self) -> f64 {
        match self.params.bursts {
            Bursts::Ideal => 1.0,
            Bursts::Linux => {
                let halvings = self.round_trip.min.0 / Time::us(512).0;
                // Linux: 64 KiB for near peers, halved for each 512 us of round trip.
                let near = if halvings < 32 { (65_536u64 >> halvings) as f64 } else { 0.0 };
                ((self.pace * self.packet / 1024.0 + near).min(65_216.0) / self.packet).floor().max(2.0)
            }
        }
    }

    /// A number below `below`.
    fn draw_below(&mut self, below: u64) -> u64 {
        self.draws += 1;
        // The steps of SplitMix64: draws do not depend on other messages.
        mix(self.seed.wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15))) % below
    }

    fn update_round(&mut self, ack: &Ack) {
        self.round_begins = ack.rate.is_some_and(|rate| rate.prior_delivered >= self.next_round);
        if self.round_begins {
            self.next_round = ack.delivered_total;
            self.rounds_since_probe += 1.0;
            self.update_marks(ack);
        }
    }

    fn update_marks(&mut self, ack: &Ack) {
        // The connection may know a shorter round trip than `round_trip`, which takes this acknowledgement in only later.
        let min = self.round_trip.min.min(ack.min_rtt);
        // Decided once for the path, as Linux's `ecn_eligible`.
        self.marks.believed |= self.params.ecn && min <= MARK_MAX_RTT;
        let delivered = ack.delivered_total - self.marks.counted.0;
        if !self.marks.believed || delivered == 0 {
            return;
        }
        let share = (self.marks.total - self.marks.counted.1) as f64 / delivered as f64;
        self.marks.counted = (ack.delivered_total, self.marks.total);
        self.marks.share = (1.0 - MARK_GAIN) * self.marks.share + MARK_GAIN * share;
        // Marks end the startup; later they lower the bounds.
        if !self.pipe.reached {
            self.marks.rounds = if share >= MARK_THRESHOLD { self.marks.rounds + 1 } else { 0 };
            if self.marks.rounds >= FULL_MARKED_ROUNDS {
                self.end_startup();
            }
        }
    }

    /// The queue is too long for more. BBRv3 §bbr_handle_queue_too_high_in_startup
    fn end_startup(&mut self) {
        self.pipe.reached = true;
        // The packets delivered in a round trip did get through, so the bound is at least their number.
        self.upper = self.wanted_inflight(self.bandwidth.largest_rate()).max(self.congestion.delivered);
    }

    /// Rate and packets of the newest round trip. BBRv3 §bbr_update_latest_delivery_signals
    fn update_latest(&mut self, ack: &Ack, sample: Option<(RateSample, f64)>) {
        self.loss_round_begins = false;
        let Some((rate, packets)) = sample.filter(|_| ack.delivered > 0) else { return };
        self.congestion.rate = self.congestion.rate.max(packets);
        self.congestion.delivered = self.congestion.delivered.max(rate.packets as f64);
        if rate.prior_delivered >= self.loss_round {
            self.loss_round = ack.delivered_total;
            self.loss_round_begins = true;
        }
    }

    fn update_congestion(&mut self, window: &Window, ack: &Ack, sample: Option<(RateSample, f64)>) {
        let Some((rate, packets)) = sample.filter(|_| ack.delivered > 0) else { return };
        if !self.is_limited(&rate) || packets >= self.bandwidth.largest_rate() {
            self.bandwidth.present = self.bandwidth.present.max(packets);
        }
        self.congestion.loss_in_round |= ack.lost > 0;
        // At the end of a round of losses: one answer, however many packets it lost.
        if self.loss_round_begins {
            self.lower_bounds(window);
            (self.congestion.loss_in_round, self.congestion.mark_in_round) = (false, false);
        }
    }

    /// Losses and marks of a round without a probe lower the rate and the window. BBRv3 §bbr_adapt_lower_bounds
    fn lower_bounds(&mut self, window: &Window) {
        if self.mode.pushes_queue() {
            return;
        }
        // The first bad round starts from the window; later ones from the bound that it left.
        if self.lower.is_infinite() && (self.congestion.mark_in_round || self.congestion.loss_in_round) {
            self.lower = window.cwnd;
        }
        let mut marked = f64::INFINITY;
        if self.congestion.mark_in_round {
            marked = (self.lower * (1.0 - self.marks.share * MARK_FACTOR)).floor();
        }
        if self.congestion.loss_in_round {
            // Without a bound so far, the cut is one of the largest bandwidth.
            let bound = self.bandwidth.bound;
            let bound = if bound.is_finite() { bound } else { self.bandwidth.largest_rate() };
            self.bandwidth.bound = self.congestion.rate.max(bound * LOSS_CUT);
            self.lower = self.congestion.delivered.max((self.lower * LOSS_CUT).floor());
        }
        // After both losses and marks the lower of the two bounds stands.
        self.lower = self.lower.min(marked);
    }

    fn reset_lower_bounds(&mut self) {
        (self.bandwidth.bound, self.lower) = (f64::INFINITY, f64::INFINITY);
    }

    /// Too many losses in startup. BBRv3 §bbr_check_loss_too_high_in_startup
    fn check_losses(&mut self, ack: &Ack) {
        if self.pipe.reached {
            return;
        }
        self.loss_events += u32::from(ack.lost > 0);
        if !self.loss_round_begins {
            return;
        }
        // Losses in six acknowledgements of a round: a single one does not show that the pipe is full.
        let many = ack.phase == Phase::Recovery && self.loss_events >= FULL_LOSSES;
        if many && ack.rate.is_some_and(|rate| self.is_too_high(&rate)) {
            self.end_startup();
        } else {
            self.loss_events = 0;
        }
    }

    fn is_limited(&self, rate: &RateSample) -> bool {
        rate.app_limited || rate.prior_delivered < self.limited_until
    }

    /// True if too much was in flight as a packet left. BBRv3 §bbr_is_inflight_too_high
    fn is_too_high(&self, rate: &RateSample) -> bool {
        let lost = too_many_lost(rate.lost, rate.in_flight);
        let marked = f64::from(rate.marked) > (rate.packets as f64 * MARK_THRESHOLD).floor();
        lost || (self.marks.believed && rate.marked > 0 && marked)
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.pipe.reached {
            self.mode = Mode::Drain;
            // Losses of the startup must not lower the bounds.
            self.congestion = Congestion::default();
        }
        if self.mode == Mode::Drain
            && f64::from(ack.pipe) <= self.wanted_inflight(self.bandwidth.largest_rate())
        {
            self.start_down(ack.now, ack.delivered_total);
        }
    }

    /// The window to return to. BBRv3 §bbr_save_cwnd
    fn save_window(&mut self, window: &Window) {
        // In a recovery or a probe the window is a temporary one: the larger of the two is kept.
        let good = self.calm && self.mode != Mode::ProbeRtt;
        self.saved = if good { window.cwnd } else { self.saved.max(window.cwnd) };
    }

    fn set_pace(&mut self, gain: f64) {
        let pace = gain * self.bandwidth.get() * MARGIN;
        if pace > 0.0 && (self.pipe.reached || pace > self.pace) {
            self.pace = pace;
        }
    }

    fn set_window(&self, window: &mut Window, ack: &Ack, gain: f64) {
        let acked = f64::from(ack.delivered);
        if acked > 0.0 {
            let rate = self.bandwidth.get();
            let target = self.roomy_window(self.held_packets(rate, gain) + self.excess.get(rate));
            if self.pipe.reached {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || window.cwnd < 2.0 * self.initial {
                window.cwnd += acked;
            }
            // A message may be set to begin with less; by now slow start has come as far.
            if ack.delivered_total >= LEAST_WINDOW as u64 {
                window.cwnd = window.cwnd.max(LEAST_WINDOW);
            }
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        // Last, so that the bounds apply to whatever the mode wants.
        self.bound_window(window);
    }

    /// Applies the bounds that losses and marks allow. BBRv3 §bbr_bound_cwnd_for_inflight_model
    fn bound_window(&self, window: &mut Window) {
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.upper,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(cap.min(self.lower).max(LEAST_WINDOW));
    }

    /// A time-out, the first or a later one. BBRv3 §bbr_set_state
    fn enter_loss(&mut self, window: &Window) {
        (self.timed_out, self.calm) = (true, false);
        self.pipe.restart_from(0.0);
        // Without a bound so far, the window in use becomes one until the next probe.
        if !self.mode.pushes_queue() && self.lower.is_infinite() {
            self.lower = window.cwnd.max(self.saved);
        }
    }
}

/// More than the share of the packets in flight that may be lost.
fn too_many_lost(lost: u32, in_flight: u32) -> bool {
    // Rounded down, as by Linux's integers: with fewer than 52 packets in flight one loss is too many.
    lost > 0 && in_flight > 0 && f64::from(lost) > (f64::from(in_flight) * LOSS_THRESHOLD).floor()
}

/// Packets in flight at which too many were lost, up to the last of `lost`. BBRv3 §bbr_inflight_hi_from_lost_skb
fn in_flight_at_threshold(lost: u32, in_flight: u32) -> f64 {
    // As it was before the packet that crossed the threshold.
    let (before, lost) = (f64::from(in_flight) - 1.0, f64::from(lost) - 1.0);
    let budget = (before * LOSS_THRESHOLD).ceil();
    before + ((budget - lost).max(0.0) / (1.0 - LOSS_THRESHOLD)).floor()
}

impl CongestionControl for Bbr3 {
    type Params = Bbr3Params;
    const INFO: TransportInfo = TransportInfo {
        name: "bbr3",
        summary: "model-based: BBR with bounds of what is in flight, which losses and marks lower",
        paper: "BBR v3, draft-ietf-ccwg-bbr; google/bbr",
        discipline: "ecn-threshold",
        states: STATES,
        deviations: deviations![
            "BBRv3 §bbr_pick_probe_wait: draws come from the message's entropy instead of a generator.",
            "BBRv3 §bbr_init: the first window is at least 4 packets, BBR's smallest, whatever `initial_window` says.",
            "BBRv3 §bbr_run_fast_path: the model is brought up to date with every acknowledgement; Linux saves that where the application is what limits the rate.",
            "BBRv3 §bbr_packets_in_net_at_edt: what is in flight is in the network; no packet waits behind the pacer.",
            "BBRv3 §bbr_tso_segs: pacing is exact, one packet at a time; with `bursts = \"linux\"` the window has the room for bursts, and none leave.",
            "BBRv3 §bbr_run_loss_probe_recovery: there are no tail loss probes, and no undo, in the machine.",
            "BBRv3 §bbr_plb: a message keeps its path; marks do not move it to another.",
            "BBRv3 §bbr_can_use_ecn: with `ecn = true` the path is said to mark early, as by the route feature `ecn_low`; Linux ignores marks elsewhere.",
        ],
    };
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT, probes::RATE];
    const ECN: bool = true;
    const OWNS_WINDOW: bool = true;
    const LEAST_INITIAL_WINDOW: u32 = LEAST_WINDOW as u32;

    fn new(params: &Bbr3Params, connection: &ConnectionParams, flow: &Flow) -> Self {
        let initial = connection.initial_window.max(LEAST_WINDOW as u64) as f64;
        let rtt = flow.rtt.unwrap_or(Time::ms(1)).as_secs_f64().max(1e-9);
        let start = flow.start;
        Bbr3 {
            params: params.clone(),
            packet: flow.payload.into(),
            initial,
            seed: flow.entropy.into(),
            draws: 0,
            mode: Mode::Startup,
            bandwidth: Bandwidth { last: 0.0, present: 0.0, bound: f64::INFINITY },
            pipe: FullPipe::default(),
            round_trip: RoundTrip { min: Time::MAX, at: start, probe: Time::MAX, probe_at: start },
            excess: Excess { since: start, acked: 0.0, most: [0.0; 2], rounds: 0 },
            marks: Marks { believed: false, share: 1.0, total: 0, counted: (0, 0), rounds: 0 },
            congestion: Congestion::default(),
            next_round: 0,
            round_begins: false,
            loss_round: 1,
            loss_round_begins: false,
            loss_events: 0,
            lower: f64::INFINITY,
            upper: f64::INFINITY,
            slope: Slope { rounds: 0, every: f64::INFINITY, acked: 0.0 },
            stopping: false,
            probe_samples: false,
            too_high: false,
            risky: false,
            rounds_since_probe: 0.0,
            cycle_at: start,
            probe_wait: Time::ZERO,
            probe_ends: None,
            probe_round: false,
            limited_until: 0,
            pace: STARTUP_PACE * initial / rtt,
            saved: 0.0,
            calm: true,
            timed_out: false,
        }
    }

    fn uses_marks(&self) -> bool {
        self.params.ecn
    }

    /// Reacts to a lost packet. BBRv3 §bbr_skb_marked_lost
    fn packet_lost(&mut self, window: &Window, lost: &LostPacket, now: Time) {
        if !self.congestion.loss_in_round {
            // The first loss of a round begins it.
            self.loss_round = lost.delivered_total;
        }
        (self.congestion.loss_in_round, self.congestion.loss_in_cycle) = (true, true);
        // Now and not with the acknowledgement, which does not say which packet crossed the threshold.
        if self.probe_samples && too_many_lost(lost.lost, lost.in_flight) {
            let in_flight = in_flight_at_threshold(lost.lost, lost.in_flight);
            self.handle_too_high(window, in_flight, lost.app_limited, (now, lost.delivered_total));
        }
    }

    /// Main step for each acknowledgement. BBRv3 §bbr_main
    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        // Counted before `update_round`, which may compute the share of a round.
        self.marks.total += if ack.ece { u64::from(ack.delivered) } else { 0 };
        self.update_round(ack);
        self.congestion.mark_in_round |= self.marks.believed && ack.ece;
        let sample = ack.rate.map(|rate| (rate, rate.packets as f64 / rate.interval.as_secs_f64()));
        self.update_latest(ack, sample);
        self.update_congestion(window, ack, sample);
        if sample.is_some() && ack.delivered > 0 {
            let rounds = if self.pipe.reached { EXCESS_ROUNDS } else { 1 };
            let turn = self.round_begins.then_some(rounds);
            self.excess.add_sample(ack, self.bandwidth.get(), window.cwnd, turn);
        }
        self.check_losses(ack);
        if let Some((rate, packets)) = sample
            && !self.is_limited(&rate)
        {
            self.pipe.add_sample(packets, self.round_begins);
        }
        self.check_drain(ack);
        self.update_phase(window, ack, sample.map(|sample| sample.1));
        self.update_min_rtt(window, ack);
        let (pace, gain) = self.mode.mode_gains();
        self.set_pace(pace);
        self.set_window(window, ack, gain);
        if self.loss_round_begins
            && let Some((rate, packets)) = sample
        {
            // The next round of losses starts with this sample.
            (self.congestion.rate, self.congestion.delivered) = (packets, rate.packets as f64);
        }
        self.congestion.loss_in_cycle |= ack.rate.is_some_and(|rate| rate.lost > 0);
        self.congestion.mark_in_cycle |= ack.rate.is_some_and(|rate| rate.marked > 0);
        self.calm = matches!(ack.phase, Phase::Open | Phase::Reducing);
    }

    fn grow_window(&mut self, _: &mut Window, _: &Ack) {}

    fn window_after_mark(&mut self, window: &Window, _: &Ack) -> f64 {
        self.save_window(window);
        window.cwnd
    }

    fn window_after_loss(&mut self, window: &Window, _: f64, _: Time) -> f64 {
        self.save_window(window);
        window.cwnd
    }

    fn timed_out(&mut self, window: &Window, _: f64, _: Time) -> f64 {
        self.save_window(window);
        self.enter_loss(window);
        f64::INFINITY
    }

    fn timed_out_again(&mut self, _: Time) {
        self.pipe.restart_from(0.0);
    }

    /// After a time-out the window is as large as before, within its bounds. BBRv3 §bbr_exit_loss_recovery
    fn finish_recovery(&mut self, window: &mut Window, _: Time) {
        if self.timed_out {
            self.timed_out = false;
            window.cwnd = window.cwnd.max(self.saved);
            self.bound_window(window);
        }
    }

    fn packet_gap(&self) -> Option<Time> {
        gap_at(self.pace)
    }
}

mod probing;

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control};
    use super::*;

    /// One Gb/s in packets of 1500 B a second, over a round trip that holds 25.
    const RTT: Time = Time::us(300);
    const GAP: Time = Time::us(12);
    const HELD: f64 = 25.0;

    /// A bottleneck that takes a packet every 12 us, and that marks and drops above two lengths of its queue.
    struct Path {
        bbr: Bbr3,
        window: Window,
        now: Time,
        delivered: u64,
        marks_above: f64,
        drops_above: f64,
        modes: Vec<(Time, Mode)>,
        flight_at_loss: u32,
        tick: u32,
    }

    impl Path {
        fn new(set: impl Fn(&mut Bbr3Params)) -> Path {
            Path {
                bbr: test_control::<Bbr3>(1 << 40, set),
                window: Window { cwnd: 10.0, ssthresh: f64::INFINITY },
                now: RTT,
                delivered: 0,
                marks_above: f64::INFINITY,
                drops_above: f64::INFINITY,
                modes: Vec::new(),
                flight_at_loss: 0,
                tick: 0,
            }
        }

        /// Packets in flight: what the pace has put into the queue since, at most the window.
        fn in_flight(&self) -> f64 {
            let (pace, _) = self.bbr.mode.mode_gains();
            let wanted = match self.bbr.mode {
                Mode::ProbeRtt | Mode::Drain => 4.0,
                Mode::Down => HELD - 1.0,
                _ => (HELD * pace * 2.0).ceil(),
            };
            wanted.min(self.window.cwnd)
        }

        fn step_ack(&mut self) {
            let in_flight = self.in_flight();
            self.delivered += 1;
            self.tick += 1;
            let queue = (in_flight - HELD).max(0.0);
            let ece = queue > self.marks_above;
            let round = HELD as u64;
            // One acknowledgement in ten, so that a round of 25 has two or three with losses.
            let drops = queue > self.drops_above && self.tick.is_multiple_of(10);
            if drops {
                self.flight_at_loss = in_flight as u32;
                let lost = LostPacket {
                    delivered_total: self.delivered,
                    in_flight: in_flight as u32,
                    lost: 3,
                    app_limited: false,
                };
                self.bbr.packet_lost(&self.window, &lost, self.now);
            }
            let rate = RateSample {
                packets: round,
                interval: RTT,
                prior_delivered: self.delivered.saturating_sub(round),
                app_limited: false,
                in_flight: in_flight as u32,
                lost: if drops { 3 } else { 0 },
                marked: if ece { round as u32 } else { 0 },
            };
            let ack = Ack {
                now: self.now,
                delivered_total: self.delivered,
                rtt: Some(RTT + Time((queue * GAP.0 as f64) as u64)),
                rate: Some(rate),
                pipe_before: in_flight as u32,
                pipe: in_flight as u32 - 1,
                lost: u32::from(drops),
                ece: ece && self.bbr.uses_marks(),
                min_rtt: RTT,
                ..plain_ack()
            };
            self.bbr.handle_ack(&mut self.window, &ack);
            if self.modes.last().is_none_or(|m| m.1 != self.bbr.mode) {
                self.modes.push((self.now, self.bbr.mode));
            }
            self.now += GAP;
        }

        fn run_until(&mut self, until: Time) {
            while self.now < until {
                self.step_ack();
            }
        }

        /// Runs until it begins this phase.
        fn reach_mode(&mut self, mode: Mode) {
            let end = self.now + Time::s(4);
            while self.bbr.mode != mode {
                assert!(self.now < end, "{mode:?} never comes after {:?}", self.modes);
                self.step_ack();
            }
        }

        fn mode_order(&self) -> Vec<Mode> {
            self.modes.iter().map(|mode| mode.1).collect()
        }
    }

    #[test]
    fn the_phases_follow_one_another() {
        let mut path = Path::new(|_| ());
        path.run_until(Time::ms(60));
        let order = path.mode_order();
        // Drained, it is below what the path holds as well: the first phase is over as soon as it begins.
        assert_eq!(order[..3], [Mode::Startup, Mode::Drain, Mode::Cruise]);
        for pair in order[2..].windows(2) {
            let next = match pair[0] {
                Mode::Down => Mode::Cruise,
                Mode::Cruise => Mode::Refill,
                Mode::Refill => Mode::Up,
                _ => Mode::Down,
            };
            assert_eq!(pair[1], next, "{order:?}");
        }
        assert!(order.len() > 20, "{order:?}");
    }

    #[test]
    fn probes_come_after_as_many_rounds_as_the_path_holds_packets() {
        let mut path = Path::new(|_| ());
        path.run_until(Time::ms(200));
        let begins = |wanted| path.modes.iter().filter(move |mode| mode.1 == wanted).map(|mode| mode.0);
        let cycles: Vec<f64> = begins(Mode::Refill)
            .zip(begins(Mode::Refill).skip(1))
            .map(|(one, next)| (next - one).as_secs_f64() / RTT.as_secs_f64())
            .collect();
        assert!(cycles.len() > 10);
        // 25 rounds, or one less by the draw, and those of the probe before: a refill, and the three that end a probe.
        assert!(cycles.iter().all(|rounds| (27.0..32.0).contains(rounds)), "{cycles:?}");
        assert!(cycles.iter().any(|rounds| rounds.round() != cycles[0].round()), "draws differ: {cycles:?}");
    }

    #[test]
    fn window_and_pace_are_the_published_ones() {
        let mut path = Path::new(|_| ());
        path.reach_mode(Mode::Cruise);
        path.run_until(path.now + RTT * 10);
        assert_eq!(path.bbr.mode, Mode::Cruise);
        let excess = path.bbr.excess.get(path.bbr.bandwidth.get());
        assert!((1.0..=2.0).contains(&excess), "one packet at a time is hardly an excess: {excess}");
        assert_eq!(path.window.cwnd, 50.0 + excess, "2 x 25");
        let gap = path.bbr.packet_gap().expect("it paces").as_secs_f64();
        assert!((gap * 0.99 / GAP.as_secs_f64() - 1.0).abs() < 1e-4, "{gap}");
        let mut linux = path.bbr.clone();
        linux.params.bursts = Bursts::Linux;
        assert_eq!(linux.roomy_window(50.0), 132.0, "three bursts of 44 packets");
        linux.round_trip.min = Time::ms(5);
        // 82.5 MB/s for a 1024th of a second, and 64 KiB halved nine times.
        assert_eq!(linux.roomy_window(0.0), 3.0 * 44.0);
        linux.pace /= 10.0;
        assert_eq!(linux.roomy_window(0.0), 3.0 * 8.0);
    }

    #[test]
    fn losses_of_a_probe_bound_what_is_in_flight_and_leave_headroom() {
        let mut path = Path::new(|_| ());
        path.reach_mode(Mode::Cruise);
        assert_eq!(path.bbr.upper, f64::INFINITY, "nothing was lost");
        path.drops_above = 20.0;
        path.reach_mode(Mode::Up);
        path.reach_mode(Mode::Down);
        assert!(path.flight_at_loss > 0 && path.bbr.too_high);
        // One of 59 may be lost, and the last two of them were.
        assert_eq!((path.flight_at_loss, path.bbr.upper), (59, 58.0));
        // Two were lost before, of a budget of one: the bound is the flight before the third.
        assert_eq!(in_flight_at_threshold(3, 50), 49.0);
        assert_eq!(in_flight_at_threshold(1, 101), 100.0 + 2.0, "two of 102 may be lost");
        path.drops_above = f64::INFINITY;
        path.reach_mode(Mode::Cruise);
        path.step_ack();
        assert_eq!(path.window.cwnd, 58.0 - 8.0, "less 38/256");
        // The next probe stops at the bound. As nothing is lost, another begins as soon as that is known, and goes beyond.
        path.reach_mode(Mode::Up);
        path.reach_mode(Mode::Down);
        let stopped = path.now;
        path.reach_mode(Mode::Refill);
        assert!(path.now - stopped <= RTT * 2, "{:?}", path.mode_order());
        path.reach_mode(Mode::Down);
        assert!(path.bbr.upper > 58.0, "{}", path.bbr.upper);
    }

    #[test]
    fn losses_between_probes_lower_rate_and_window_until_the_next() {
        let mut path = Path::new(|_| ());
        path.reach_mode(Mode::Cruise);
        path.run_until(path.now + RTT * 2);
        let (rate, cwnd) = (path.bbr.bandwidth.get(), path.window.cwnd);
        let lost = LostPacket { delivered_total: path.delivered, in_flight: 25, lost: 1, app_limited: false };
        path.bbr.packet_lost(&path.window, &lost, path.now);
        path.run_until(path.now + RTT * 2);
        // The rate that is still delivered is all of it; of the window 180/256 remain.
        assert_eq!(path.bbr.bandwidth.get(), rate);
        assert_eq!(path.window.cwnd, (cwnd * LOSS_CUT).floor());
        path.reach_mode(Mode::Refill);
        assert_eq!((path.bbr.lower, path.bbr.bandwidth.bound), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn marks_lower_the_window_by_a_third_of_their_share_and_end_the_startup() {
        let mut path = Path::new(|_| ());
        path.marks_above = 0.0;
        path.reach_mode(Mode::Drain);
        let early = path.now;
        assert!(path.bbr.upper.is_finite(), "a queue that is marked in two rounds is too long");
        let mut blind = Path::new(|params| params.ecn = false);
        blind.marks_above = 0.0;
        blind.reach_mode(Mode::Drain);
        assert!(blind.bbr.upper.is_infinite() && blind.now >= early, "{:?} {early:?}", blind.now);
        assert!(!blind.bbr.uses_marks() && path.bbr.uses_marks());
        path.marks_above = f64::INFINITY;
        path.reach_mode(Mode::Cruise);
        path.bbr.upper = 1000.0;
        path.bbr.marks.share = 0.6;
        path.window.cwnd = 50.0;
        path.bbr.congestion.mark_in_round = true;
        path.bbr.lower_bounds(&path.window);
        assert_eq!(path.bbr.lower, (50.0 * (1.0 - 0.6 * MARK_FACTOR)).floor());
    }

    #[test]
    fn a_long_round_trip_does_not_believe_marks() {
        let mut path = Path::new(|_| ());
        path.bbr.round_trip.min = Time::ms(6);
        let far = Ack { min_rtt: Time::ms(6), delivered_total: 10, ..plain_ack() };
        path.bbr.update_marks(&far);
        assert!(!path.bbr.marks.believed);
        path.bbr.update_marks(&Ack { min_rtt: Time::ms(5), ..far });
        assert!(path.bbr.marks.believed);
    }

    #[test]
    fn probes_the_round_trip_every_five_seconds_for_200_ms_with_half_of_what_the_path_holds() {
        let mut path = Path::new(|_| ());
        path.run_until(Time::ms(5_100));
        assert_eq!((path.bbr.mode, path.window.cwnd), (Mode::ProbeRtt, 13.0));
        path.run_until(Time::ms(5_600));
        assert!(path.window.cwnd >= 50.0, "{}", path.window.cwnd);
        let probes: Vec<_> = path.modes.windows(2).filter(|p| p[0].1 == Mode::ProbeRtt).collect();
        assert_eq!((probes.len(), probes[0][1].1), (1, Mode::Cruise));
        let lasted = probes[0][1].0 - probes[0][0].0;
        assert!(lasted >= PROBE_RTT && lasted < PROBE_RTT + Time::ms(1), "{lasted}");
    }

    #[test]
    fn a_time_out_is_forgotten_once_it_is_repaired() {
        let mut path = Path::new(|_| ());
        path.reach_mode(Mode::Cruise);
        path.run_until(path.now + RTT * 2);
        let before = path.window.cwnd;
        path.bbr.timed_out(&path.window.clone(), before, path.now);
        path.window.cwnd = 1.0;
        path.step_ack();
        assert_eq!(path.window.cwnd, LEAST_WINDOW, "two packets, and four are the least");
        path.bbr.finish_recovery(&mut path.window, path.now);
        assert_eq!(path.window.cwnd, before.min(path.bbr.lower));
        let now = path.window.cwnd;
        path.window.cwnd = 5.0;
        path.bbr.finish_recovery(&mut path.window, path.now);
        assert_eq!(
            (path.window.cwnd, now >= 35.0),
            (5.0, true),
            "losses without a time-out give nothing back"
        );
    }
}
