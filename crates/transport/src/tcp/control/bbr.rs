//! BBR v1: sends at the measured bandwidth, with a window of a few times the content of the path.
//!
//! Sources: N. Cardwell et al., ACM Queue 2016; Linux 4.19. Bandwidth is the largest delivery rate of ten
//! round trips, the round trip the smallest of ten seconds. Neither losses nor marks cut anything.

use super::{Ack, CongestionControl, Flow, Phase, Window, gap_at};
use crate::endpoint::TransportInfo;
use crate::probes;
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;
use headway_units::Time;
use std::collections::VecDeque;

/// 2 / ln 2: the smallest gain that doubles the rate each round trip.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Drains in one round trip what startup has queued.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Pacing gains of the phases while the bandwidth is probed, one round trip each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Window gain while the bandwidth is probed.
const PROBE_WINDOW_GAIN: f64 = 2.0;
/// Smallest window, and the one of a round trip probe.
const LEAST_WINDOW: f64 = 4.0;
/// Round trips that a bandwidth is remembered.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Time for which a round trip is remembered, and the shortest time for which it is probed.
// Linux: a probe of 200 ms in ten seconds costs two percent.
const MIN_RTT_LIFE: Time = Time::s(10);
const PROBE_RTT: Time = Time::ms(200);
/// Share of the bandwidth that is used, so that a queue does not stand.
// `bbr_pacing_margin_percent` of later kernels.
const MARGIN: f64 = 0.99;

headway_params::choice! {
    /// Number of packets that a sender hands over together.
    pub enum Bursts {
        /// One packet at a time.
        Ideal = "ideal",
        /// As many as Linux 4.19 segments at once: a millisecond's worth, 2 packets to 64 KiB.
        Linux419 = "linux-4.19",
    }
}

headway_params::choice! {
    /// Measurement that keeps the smallest round trip from growing old.
    pub enum Refresh {
        /// A lower one, as in the paper: the round trip is probed every ten seconds.
        Lower = "lower",
        /// A lower one or the same, as in Linux 4.19: an exact clock then hardly ever sees a probe.
        NotHigher = "not-higher",
    }
}

headway_params::params! {
    /// Parameters of BBR.
    pub struct BbrParams {
        /// Packets handed over together, three times which the window has to spare: at 1 Gb/s 3 packets or 132. linux-4.19: linux-4.19
        bursts: Bursts = Bursts::Ideal, ParamKind::Choice(Bursts::WORDS);
        /// Measurement that keeps the smallest round trip from growing old. linux-4.19: not-higher
        refresh: Refresh = Refresh::Lower, ParamKind::Choice(Refresh::WORDS);
    }
}

impl ByPreset for BbrParams {
    fn from_preset(preset: Preset) -> Self {
        match preset {
            Preset::PaperNs2 | Preset::Datacenter => BbrParams::default(),
            Preset::Linux419 => BbrParams { bursts: Bursts::Linux419, refresh: Refresh::NotHigher },
        }
    }
}

/// Mode of the sender. BBR §"State machine"
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubling the rate until the bandwidth stops growing.
    Startup,
    /// Sending slowly until the queue of startup is gone.
    Drain,
    /// Probing the bandwidth, one phase of [`CYCLE`] after the other.
    ProbeBandwidth(usize),
    /// Nearly silent, to see the round trip without a queue.
    ProbeRtt,
}

/// The largest measurement of the last rounds.
#[derive(Clone, Debug, Default)]
struct LargestRecent {
    /// Rounds and rates in packets a second, rates falling.
    samples: VecDeque<(u64, f64)>,
}

impl LargestRecent {
    fn insert(&mut self, round: u64, rate: f64) {
        // An older rate that is not larger can never be the maximum again. Linux's `minmax` keeps three candidates instead.
        while self.samples.back().is_some_and(|s| s.1 <= rate) {
            self.samples.pop_back();
        }
        self.samples.push_back((round, rate));
        while self.samples.front().is_some_and(|s| s.0 + BANDWIDTH_ROUNDS <= round) {
            self.samples.pop_front();
        }
    }

    fn get(&self) -> f64 {
        self.samples.front().map_or(0.0, |s| s.1)
    }
}

/// Detects that the bandwidth has stopped growing: less than a quarter in three rounds.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    rate: f64,
    rounds: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bbr {
    bursts: Bursts,
    refresh: Refresh,
    packet: f64,
    mode: Mode,
    bandwidth: LargestRecent,
    round: u64,
    round_begins: bool,
    next_round: u64,
    pipe: FullPipe,
    min_rtt: Time,
    min_rtt_at: Time,
    cycle_at: Time,
    /// First phase of [`CYCLE`]; anything but the slow one.
    first_phase: usize,
    /// Packets a second, as paced.
    pace: f64,
    /// Window to return to after a recovery or a probe.
    saved: f64,
    /// Sends one packet for each that arrives, in the first round of a recovery.
    conserving: bool,
    conserved: f64,
    probe_ends: Option<Time>,
    probe_round: u64,
}

impl Bbr {
    fn is_full(&self) -> bool {
        self.pipe.rounds >= 3
    }

    fn mode_gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            // The window keeps its high gain (Linux: keep cwnd), so that the pace alone drains the queue.
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth(phase) => (CYCLE[phase], PROBE_WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    /// Mode of the sender.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Packets that are on their way at `gain` times the content of the path, with room for bursts.
    fn target_window(&self, gain: f64) -> f64 {
        // Nothing bounds the window before the first measurement.
        if self.min_rtt == Time::MAX {
            return f64::INFINITY;
        }
        // Rounded up, as in Linux: with less in flight, the next sample of the bandwidth would be lower.
        let held = (gain * self.bandwidth.get() * self.min_rtt.as_secs_f64()).ceil();
        // Linux: three bursts beyond what the path holds, one each at the sender, in its link and at the
        // receiver; and an even number, because receivers acknowledge every second packet.
        let even = ((held + 3.0 * self.burst_packets()) / 2.0).ceil() * 2.0;
        // Linux: in a small pipe the gain of 1.25 alone would not add a whole packet.
        let probing = self.mode == Mode::ProbeBandwidth(0);
        even + if probing { 2.0 } else { 0.0 }
    }

    /// Packets in flight by which a phase is over. Linux counts room for bursts here as well.
    fn in_flight_at(&self, gain: f64) -> f64 {
        match self.bursts {
            Bursts::Ideal => (gain * self.bandwidth.get() * self.min_rtt.as_secs_f64()).ceil(),
            Bursts::Linux419 => self.target_window(gain),
        }
    }

    fn burst_packets(&self) -> f64 {
        match self.bursts {
            Bursts::Ideal => 1.0,
            Bursts::Linux419 => {
                let millisecond = self.pace * self.packet / 1024.0;
                // Linux: the data that is paced in about a millisecond (a right shift by 10), at least two segments.
                (millisecond.min(65_536.0) / self.packet).floor().max(2.0)
            }
        }
    }

    fn update_round(&mut self, ack: &Ack) {
        self.round_begins = false;
        let Some(rate) = ack.rate else { return };
        // A round ends with the first acknowledgement of a packet that left after the round began.
        if rate.prior_delivered >= self.next_round {
            self.next_round = ack.delivered_total;
            self.round += 1;
            self.round_begins = true;
            // Linux, `bbr_update_bw`: conservation lasts for the first round of a recovery.
            self.conserving = false;
        }
        let packets = rate.packets as f64 / rate.interval.as_secs_f64();
        // A rate that the application limited is too low, unless it is a new maximum.
        if !rate.app_limited || packets >= self.bandwidth.get() {
            self.bandwidth.insert(self.round, packets);
        }
    }

    fn update_cycle(&mut self, ack: &Ack) {
        let Mode::ProbeBandwidth(phase) = self.mode else { return };
        let long = ack.now.saturating_sub(self.cycle_at) > self.min_rtt;
        let over = match CYCLE[phase] {
            // More is in flight, or a queue is full.
            gain if gain > 1.0 => {
                long && (ack.lost > 0 || f64::from(ack.pipe_before) >= self.in_flight_at(gain))
            }
            // The slow phase may end early: nothing is queued any more.
            gain if gain < 1.0 => long || f64::from(ack.pipe_before) <= self.in_flight_at(1.0),
            _ => long,
        };
        if over {
            self.enter_phase((phase + 1) % CYCLE.len(), ack.now);
        }
    }

    fn enter_phase(&mut self, phase: usize, now: Time) {
        self.mode = Mode::ProbeBandwidth(phase);
        self.cycle_at = now;
    }

    fn update_full_pipe(&mut self, ack: &Ack) {
        // A round that the application limited says nothing about the pipe.
        if self.is_full() || !self.round_begins || ack.rate.is_some_and(|r| r.app_limited) {
            return;
        }
        // Linux's `bbr_full_bw_thresh` and `bbr_full_bw_cnt`: 25 % in three rounds.
        if self.bandwidth.get() >= self.pipe.rate * 1.25 {
            self.pipe = FullPipe { rate: self.bandwidth.get(), rounds: 0 };
        } else {
            self.pipe.rounds += 1;
        }
    }

    fn update_mode(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && f64::from(ack.pipe) <= self.in_flight_at(1.0) {
            self.enter_phase(self.first_phase, ack.now);
        }
    }

    fn update_min_rtt(&mut self, window: &Window, ack: &Ack) {
        // Before this sample is taken in: one that comes after ten seconds replaces the old minimum, whatever it is.
        let expired = ack.now > self.min_rtt_at.saturating_add(MIN_RTT_LIFE);
        let equal = self.refresh == Refresh::NotHigher;
        let fresh = |rtt: Time| rtt < self.min_rtt || (equal && rtt == self.min_rtt) || expired;
        if let Some(rtt) = ack.rtt.filter(|&rtt| fresh(rtt)) {
            (self.min_rtt, self.min_rtt_at) = (rtt, ack.now);
        }
        if expired && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            // Saved before the probe makes it small.
            self.save_window(window, ack.phase);
            self.probe_ends = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
    }

    fn probe_rtt(&mut self, ack: &Ack) {
        let Some(ends) = self.probe_ends else {
            // The 200 ms count from the time at which four packets are in flight: before, the queue still drains.
            if f64::from(ack.pipe) <= LEAST_WINDOW {
                self.probe_ends = Some(ack.now.saturating_add(PROBE_RTT));
                self.probe_round = self.round + 1;
                self.next_round = ack.delivered_total;
            }
            return;
        };
        // A whole round as well: over a long path it may take more than 200 ms.
        if self.round >= self.probe_round && ack.now >= ends {
            self.min_rtt_at = ack.now;
            match self.is_full() {
                true => self.enter_phase(self.first_phase, ack.now),
                false => self.mode = Mode::Startup,
            }
        }
    }

    fn save_window(&mut self, window: &Window, phase: Phase) {
        let calm = matches!(phase, Phase::Open | Phase::Reducing);
        // A recovery or an earlier probe has cut the window: the larger one is the one to return to.
        self.saved = if calm { window.cwnd } else { self.saved.max(window.cwnd) };
    }

    fn set_pace(&mut self, gain: f64) {
        let pace = gain * self.bandwidth.get() * MARGIN;
        // Before the pipe is full the pace never falls: a low sample must not end the doubling.
        if pace > 0.0 && (self.is_full() || pace > self.pace) {
            self.pace = pace;
        }
    }

    fn set_window(&mut self, window: &mut Window, ack: &Ack, was: Mode, gain: f64) {
        let acked = f64::from(ack.delivered);
        if ack.lost > 0 {
            // Linux, `bbr_set_cwnd_to_recover_or_restore`: lost packets are not in flight any more.
            window.cwnd = (window.cwnd - f64::from(ack.lost)).max(1.0);
        }
        // The probe is over: the window from before it is back at once.
        if was == Mode::ProbeRtt && self.mode != Mode::ProbeRtt {
            window.cwnd = window.cwnd.max(self.saved);
        }
        if self.conserving {
            // One packet leaves for each that arrives.
            window.cwnd = window.cwnd.max(f64::from(ack.pipe) + acked);
        } else {
            let target = self.target_window(gain);
            if self.is_full() {
                window.cwnd = (window.cwnd + acked).min(target);
            // 10 is Linux's `TCP_INIT_CWND`: the first window grows whatever the first measurements say.
            } else if window.cwnd < target || ack.delivered_total < 10 {
                window.cwnd += acked;
            }
            // A message may be set to begin with less; by now slow start has come as far.
            if ack.delivered_total >= LEAST_WINDOW as u64 {
                window.cwnd = window.cwnd.max(LEAST_WINDOW);
            }
        }
        if self.mode == Mode::ProbeRtt {
            // After everything else: nothing may lift the window of a probe.
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    type Params = BbrParams;
    const INFO: TransportInfo = TransportInfo {
        name: "bbr",
        summary: "model-based: paces at the measured bandwidth, probes it and the round trip in turn",
        paper: "BBR, ACM Queue 2016; Linux 4.19",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "BBR §Steady-state: the phase with which probing begins is drawn from the message's entropy instead of a generator, any but the slow one.",
            "BBR §Startup: the first window is at least 4 packets, BBR's smallest, whatever `initial_window` says.",
            "BBR §Policers: the long-term sampler that looks for policers is left out; nothing here polices.",
            "BBR §Steady-state: with `bursts = \"ideal\"` a phase is over at the gain times what the path holds, without the room for bursts that Linux adds and that would lengthen the fast phase.",
            "BBR §Pacing: pacing is exact, one packet at a time, and uses 99 % of the bandwidth; Linux 4.19 paces bursts and stays below by what it counts as a packet's size.",
        ],
    };
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT, probes::RATE];
    const OWNS_WINDOW: bool = true;
    const LEAST_INITIAL_WINDOW: u32 = LEAST_WINDOW as u32;

    fn new(params: &BbrParams, connection: &ConnectionParams, flow: &Flow) -> Self {
        // At least BBR's smallest window, which the connection begins with.
        let initial = connection.initial_window.max(LEAST_WINDOW as u64) as f64;
        // Linux, `bbr_init_pacing_rate_from_rtt`: a millisecond without a sample.
        let rtt = flow.rtt.unwrap_or(Time::ms(1)).as_secs_f64().max(1e-9);
        // Linux: a random phase, so that flows do not probe together; not the slow one, which has nothing to drain yet.
        let draw = flow.entropy as usize % (CYCLE.len() - 1);
        Bbr {
            bursts: params.bursts,
            refresh: params.refresh,
            packet: flow.payload.into(),
            mode: Mode::Startup,
            bandwidth: LargestRecent::default(),
            round: 0,
            round_begins: false,
            next_round: 0,
            pipe: FullPipe::default(),
            min_rtt: Time::MAX,
            min_rtt_at: flow.start,
            cycle_at: flow.start,
            // Phase 1 is the slow one, and is skipped.
            first_phase: if draw == 0 { 0 } else { draw + 1 },
            pace: HIGH_GAIN * initial / rtt,
            saved: 0.0,
            conserving: false,
            conserved: 0.0,
            probe_ends: None,
            probe_round: 0,
        }
    }

    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        let was = self.mode;
        // Order of Linux's `bbr_update_model`: each step goes by what those before it found.
        self.update_round(ack);
        self.update_cycle(ack);
        self.update_full_pipe(ack);
        self.update_mode(ack);
        self.update_min_rtt(window, ack);
        let (pacing, windows) = self.mode_gains();
        self.set_pace(pacing);
        self.set_window(window, ack, was, windows);
        // Kept for `lost`, which does not see the acknowledgement.
        self.conserved = f64::from(ack.pipe) + f64::from(ack.delivered.max(1));
        if ack.phase == Phase::Open {
            self.saved = if self.mode == Mode::ProbeRtt { self.saved } else { window.cwnd };
        }
    }

    fn grow_window(&mut self, _: &mut Window, _: &Ack) {}

    fn window_after_loss(&mut self, window: &Window, _: f64, _: Time) -> f64 {
        self.saved = self.saved.max(window.cwnd);
        self.conserving = true;
        self.conserved
    }

    fn timed_out(&mut self, window: &Window, _: f64, _: Time) -> f64 {
        self.saved = self.saved.max(window.cwnd);
        self.pipe = FullPipe::default();
        self.conserving = false;
        // Infinite: a threshold must not end BBR's growth.
        f64::INFINITY
    }

    fn finish_recovery(&mut self, window: &mut Window, _: Time) {
        self.conserving = false;
        if self.mode != Mode::ProbeRtt {
            window.cwnd = window.cwnd.max(self.saved);
        }
    }

    fn packet_gap(&self) -> Option<Time> {
        gap_at(self.pace)
    }
}

#[cfg(test)]
mod tests {
    use super::super::RateSample;
    use super::super::tests::{plain_ack, test_control};
    use super::*;

    /// One Gb/s in packets of 1500 B a second, and a round trip that holds 25.
    const RATE: f64 = 250_000.0 / 3.0;
    const RTT: Time = Time::us(300);

    /// Feeds acknowledgements of a path of 25 packets for `time`, one every 12 us, and notes each new mode
    /// with its time.
    struct Path {
        bbr: Bbr,
        window: Window,
        now: Time,
        delivered: u64,
        modes: Vec<(Time, Mode)>,
    }

    impl Path {
        fn new() -> Path {
            let bbr = test_control::<Bbr>(1 << 40, |_| ());
            Path {
                bbr,
                window: Window { cwnd: 4.0, ssthresh: f64::INFINITY },
                now: Time::us(300),
                delivered: 0,
                modes: Vec::new(),
            }
        }

        fn run_until(&mut self, until: Time) {
            while self.now < until {
                self.delivered += 1;
                // As many packets as the pace would have put into flight, and no more than the window.
                let pipe = (self.window.cwnd as u32).min((25.0 * self.bbr.mode_gains().0) as u32 + 1);
                let rate = RateSample {
                    packets: 25,
                    interval: RTT,
                    prior_delivered: self.delivered.saturating_sub(25),
                    app_limited: false,
                    in_flight: 25,
                    lost: 0,
                    marked: 0,
                };
                let ack = Ack {
                    now: self.now,
                    delivered_total: self.delivered,
                    rtt: Some(RTT),
                    rate: Some(rate),
                    pipe_before: pipe + 1,
                    pipe,
                    ..plain_ack()
                };
                self.bbr.handle_ack(&mut self.window, &ack);
                if self.modes.last().is_none_or(|m| m.1 != self.bbr.mode) {
                    self.modes.push((self.now, self.bbr.mode));
                }
                // A packet of 1500 B at 1 Gb/s.
                self.now += Time::us(12);
            }
        }
    }

    #[test]
    fn cycles_through_eight_phases_of_a_round_trip_each() {
        let mut path = Path::new();
        path.run_until(Time::ms(20));
        let modes: Vec<Mode> = path.modes.iter().map(|m| m.1).collect();
        assert_eq!(modes[..2], [Mode::Startup, Mode::Drain]);
        let first = modes.iter().position(|m| *m == Mode::ProbeBandwidth(0)).expect("it probes");
        for (step, pair) in path.modes[first..].windows(2).enumerate() {
            assert_eq!(pair[0].1, Mode::ProbeBandwidth(step % 8), "in order");
            let lasted = pair[1].0 - pair[0].0;
            // The slow phase ends when the queue is gone; all others last a round trip.
            let shortest = if step % 8 == 1 { Time::us(12) } else { RTT };
            assert!(lasted >= shortest && lasted <= RTT + Time::us(24), "phase {}: {lasted}", step % 8);
        }
        assert!(path.modes.len() > 40);
    }

    #[test]
    fn window_and_pace_are_the_published_ones() {
        let mut path = Path::new();
        path.run_until(Time::ms(20));
        let steady = |m: &Mode| matches!(m, Mode::ProbeBandwidth(2..));
        while !steady(&path.bbr.mode) || path.bbr.mode == Mode::ProbeBandwidth(2) {
            let next = path.now + Time::us(12);
            assert!(next < Time::ms(40), "it does not go round");
            path.run_until(next);
        }
        assert_eq!(path.window.cwnd, 54.0, "2 x 25 + 3, even");
        let gap = path.bbr.packet_gap().expect("it paces").as_secs_f64();
        assert!((gap * 0.99 * RATE - 1.0).abs() < 1e-4, "{gap}");
        let mut linux = path.bbr.clone();
        linux.bursts = Bursts::Linux419;
        assert_eq!(linux.target_window(2.0), 182.0, "three bursts of 44 packets, even");
    }

    #[test]
    fn probes_the_round_trip_every_ten_seconds_for_200_ms() {
        let mut path = Path::new();
        path.run_until(Time::ms(10_100));
        assert_eq!((path.bbr.mode, path.window.cwnd), (Mode::ProbeRtt, 4.0));
        path.run_until(Time::ms(10_600));
        assert!((54.0..=56.0).contains(&path.window.cwnd), "{}", path.window.cwnd);
        let probes: Vec<_> = path.modes.windows(2).filter(|p| p[0].1 == Mode::ProbeRtt).collect();
        assert_eq!(probes.len(), 1);
        let lasted = probes[0][1].0 - probes[0][0].0;
        assert!(lasted >= PROBE_RTT && lasted < PROBE_RTT + Time::ms(1), "{lasted}");
    }

    #[test]
    fn remembers_the_largest_of_ten_rounds() {
        let mut recent = LargestRecent::default();
        let seen: Vec<f64> = (0..30)
            .map(|round| {
                recent.insert(round, if round == 5 { 9.0 } else { 1.0 });
                recent.get()
            })
            .collect();
        assert_eq!(seen[4], 1.0);
        assert!(seen[5..15].iter().all(|&r| r == 9.0) && seen[15..].iter().all(|&r| r == 1.0));
    }

    #[test]
    fn there_is_some_time_between_any_two_packets() {
        let mut bbr = super::super::tests::test_control::<Bbr>(1 << 40, |_| ());
        bbr.pace = 1e15;
        assert_eq!(bbr.packet_gap(), Some(Time(1)));
        bbr.pace = 1e6;
        assert_eq!(bbr.packet_gap(), Some(Time::us(1)));
    }
}
