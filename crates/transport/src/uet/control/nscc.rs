//! NSCC: a window at the sender, which marks and delays move, and the bytes that arrived in a period after a loss.
//!
//! Source: Ultra Ethernet 1.0 as its public simulator has it, uet-htsim; the specification's text was not at hand. Names are
//! those of the specification where the simulator has them.

use headway_params::ParamKind;
use headway_units::{Rate, Time};

headway_params::params! {
    /// Parameters of NSCC.
    pub struct NsccParams {
        /// Queueing delay that the window aims at; 0 = as many base round trips as `target` says. NSCC §2.1
        target_delay: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Queueing delay that the window aims at, in base round trips: 0.75 where switches trim, 1 where they do not. NSCC §2.1
        target: f64 = 0.75, ParamKind::Float { min: 0.01, max: 100.0 };
        /// Largest window, in bandwidth-delay products. NSCC §2.1
        most: f64 = 1.5, ParamKind::Float { min: 0.1, max: 100.0 };
        /// Quick adapt acts if fewer bytes arrived in a period than the largest window divided by two to this power. NSCC §2.5
        quick_gate: u64 = 3, ParamKind::Int { min: 0, max: 32 };
        /// True if the window is cut to what arrived in a period, after losses and long delays. NSCC §2.5
        quick_adapt: bool = true, ParamKind::Bool;
        /// True if the round trip of a trimmed header may be the base round trip: it skips the queues of data, and takes less time on each link. NSCC §2.3
        base_rtt_on_nack: bool = false, ParamKind::Bool;
        /// True if SLEEK finds losses, for switches that do not trim: packets missing ahead of five others and a window and a half are sent again, and
        /// a sender that hears nothing for a few round trips probes. NSCC §2.7
        sleek: bool = false, ParamKind::Bool;
    }
}

/// The network in which the specification's numbers are given. NSCC §2.1
const REFERENCE_BDP: f64 = 150_000.0;
const REFERENCE_RTT: f64 = 12e6;
/// Largest decrease at once, and how much of the excess delay it takes. NSCC §2.2
const MOST_DECREASE: f64 = 0.5;
const GAMMA: f64 = 0.8;
/// Weight of a delay in the average. NSCC §2.2
const DELAY_ALPHA: f64 = 0.0125;
/// Delay below which a path counts as empty. NSCC §2.2
const NO_DELAY: Time = Time::us(1);
/// Full packets acknowledged after which increases are applied. NSCC §2.1
const ADJUST_PACKETS: i64 = 8;
/// Delays of quick adapt, in targets. NSCC §2.5
const QUICK_TARGETS: u64 = 4;

/// Constants of the window's computation; the same for all messages of a network.
#[derive(Clone, Debug)]
pub(in crate::uet) struct Scale {
    target: Time,
    network_rtt: Time,
    nic: Rate,
    most: f64,
    mtu: i64,
    /// Bytes for each byte acknowledged and picosecond below the target.
    alpha: f64,
    /// Bytes for each byte acknowledged, above the target.
    fair: f64,
    /// Bytes a round trip, always.
    eta: f64,
    /// Bytes for each byte acknowledged, on an empty path.
    fast: f64,
    gate: u32,
    quick: bool,
    base_rtt_on_nack: bool,
    /// True if SLEEK finds losses.
    pub(in crate::uet) sleek: bool,
}

impl Scale {
    /// Constants for a network of this base round trip and these packets.
    pub(in crate::uet) fn new(
        params: &NsccParams,
        base_rtt: Time,
        nic: Rate,
        (mtu, mss): (u16, u16),
    ) -> Scale {
        let share = Time((base_rtt.0 as f64 * params.target) as u64);
        let target = if params.target_delay > Time::ZERO { params.target_delay } else { share }.max(Time(1));
        // NSCC §2.1: everything is in proportion to the bandwidth-delay product; what cancels out of alpha is the target.
        let a = nic.bytes_in(base_rtt) as f64 / REFERENCE_BDP;
        let packets = f64::from(mss) * a;
        Scale {
            target,
            network_rtt: base_rtt,
            nic,
            most: params.most,
            mtu: mtu.into(),
            alpha: 4.0 * packets / REFERENCE_RTT,
            fair: 5.0 * packets,
            eta: 0.15 * packets,
            fast: 0.25 * a,
            gate: params.quick_gate as u32,
            quick: params.quick_adapt,
            base_rtt_on_nack: params.base_rtt_on_nack,
            sleek: params.sleek,
        }
    }

    /// Queueing delay that windows aim at.
    pub(in crate::uet) fn target_delay(&self) -> Time {
        self.target
    }

    /// The largest window over a path of this base round trip, in bytes.
    pub(in crate::uet) fn largest_window(&self, base_rtt: Time) -> i64 {
        ((self.nic.bytes_in(base_rtt) as f64 * self.most) as i64).max(self.mtu)
    }
}

/// The window of one message.
#[derive(Clone, Debug)]
pub(in crate::uet) struct Window {
    /// Bytes that may be under way.
    bytes: i64,
    most: i64,
    base_rtt: Time,
    average: f64,
    /// Increase to be applied, in bytes times the window.
    increase: f64,
    received: i64,
    last_adjust: Time,
    last_decrease: Time,
    /// Bytes acknowledged on an empty path in a row, and whether there were enough for growing fast.
    empty: i64,
    growing: bool,
    /// Quick adapt: end of the period, bytes that arrived in it, and those of packets sent before the last cut.
    period_ends: Option<Time>,
    achieved: i64,
    to_ignore: i64,
    ignored: i64,
    trigger: bool,
}

impl Window {
    /// A window of `bytes`.
    pub(in crate::uet) fn new(scale: &Scale, bytes: i64, now: Time) -> Window {
        let base_rtt = scale.network_rtt;
        Window {
            bytes,
            most: scale.largest_window(base_rtt),
            base_rtt,
            average: 0.0,
            increase: 0.0,
            received: 0,
            last_adjust: now,
            last_decrease: Time::ZERO,
            empty: 0,
            growing: false,
            period_ends: None,
            achieved: 0,
            to_ignore: 0,
            ignored: 0,
            trigger: false,
        }
    }

    /// Bytes that may be under way.
    pub(in crate::uet) fn window_bytes(&self) -> i64 {
        self.bytes
    }

    /// The largest number of bytes that may be under way, and the round trip of an empty path.
    pub(in crate::uet) fn window_limits(&self) -> (i64, Time) {
        (self.most, self.base_rtt)
    }

    /// The average delay beyond an empty path, in seconds.
    pub(in crate::uet) fn average_delay(&self) -> f64 {
        self.average / 1e12
    }

    /// Shrinks the window for a lost packet of `bytes`. NSCC §2.6
    pub(in crate::uet) fn shrink_for_loss(&mut self, scale: &Scale, bytes: i64) {
        // Less than a packet would let nothing leave any more.
        self.bytes = (self.bytes - bytes).max(scale.mtu);
    }

    /// The shortest round trip so far is that of an empty path. NSCC §2.3
    fn note_shortest(&mut self, scale: &Scale, sample: Time) {
        if sample < self.base_rtt {
            (self.base_rtt, self.most) = (sample, scale.largest_window(sample));
        }
    }

    /// The average delay, in picoseconds, with another one. NSCC §2.2
    fn average_with(&mut self, scale: &Scale, delay: Time, marked: bool) {
        // A long delay without a mark is not over: the queue is short again behind the packet.
        let over = !marked && delay > scale.target;
        let sample = if over { self.base_rtt.0 as f64 * 0.25 } else { delay.0 as f64 };
        self.average += (sample - self.average) * DELAY_ALPHA;
    }

    /// Takes in an acknowledgement of `newly` bytes, with the round trip of the packet that it answers if that is known.
    pub(in crate::uet) fn process_ack(
        &mut self,
        scale: &Scale,
        now: Time,
        (marked, sample): (bool, Option<Time>),
        newly: i64,
        in_flight: i64,
    ) {
        self.achieved += newly;
        self.received += newly;
        self.ignored += newly;
        let delay = match sample {
            Some(sample) => {
                self.note_shortest(scale, sample);
                let delay = sample.saturating_sub(self.base_rtt);
                self.average_with(scale, delay, marked);
                delay
            }
            // Without a sample the average stands for the delay.
            None => Time(self.average as u64),
        };
        if self.quick_adapt(scale, now, (false, marked), delay, in_flight) {
            return;
        }
        // NSCC §2.2
        match (marked, delay >= scale.target) {
            (false, true) => self.increase += scale.fair * newly as f64,
            (false, false) => self.below_target(scale, delay, newly),
            (true, true) => self.decrease_window(scale, now),
            // The path is changed, and nothing else.
            (true, false) => {}
        }
        // Clamped before it divides.
        self.clamp_window(scale);
        let since = now.saturating_sub(self.last_adjust);
        if self.received > ADJUST_PACKETS * scale.mtu || since > scale.network_rtt {
            self.bytes = self.bytes.saturating_add((self.increase / self.bytes as f64) as i64);
            if since >= scale.network_rtt {
                self.bytes = self.bytes.saturating_add(scale.eta as i64);
                self.last_adjust = now;
            }
            (self.increase, self.received) = (0.0, 0);
        }
        self.clamp_window(scale);
    }

    /// Grows in proportion to the distance below the target, or fast on a path that has been empty for a window. NSCC
    /// §2.2
    fn below_target(&mut self, scale: &Scale, delay: Time, newly: i64) {
        self.empty = if delay < NO_DELAY { self.empty + newly } else { 0 };
        // A whole window without delay starts fast growth, and the first delay ends it.
        self.growing = delay < NO_DELAY && (self.growing || self.empty > self.bytes);
        if self.growing {
            self.bytes = self.bytes.saturating_add((newly as f64 * scale.fast) as i64);
        } else {
            self.increase += scale.alpha * newly as f64 * (scale.target - delay).0 as f64;
        }
    }

    /// Shrinks by how far the average is above the target, once a round trip. NSCC §2.2
    fn decrease_window(&mut self, scale: &Scale, now: Time) {
        (self.growing, self.empty) = (false, 0);
        let target = scale.target.0 as f64;
        if self.average > target && now.saturating_sub(self.last_decrease) > self.base_rtt {
            let factor = (1.0 - GAMMA * (self.average - target) / self.average).max(MOST_DECREASE);
            self.bytes = ((self.bytes as f64 * factor) as i64).max(scale.mtu);
            self.last_decrease = now;
        }
    }

    fn clamp_window(&mut self, scale: &Scale) {
        self.bytes = self.bytes.max(scale.mtu).min(self.most.max(scale.mtu));
    }

    /// Takes in that a packet of `bytes` was trimmed; `last_hop` = in front of a receiver that gives credit itself. NSCC §2.4
    pub(in crate::uet) fn process_trim(
        &mut self,
        scale: &Scale,
        now: Time,
        (sample, last_hop): (Option<Time>, bool),
        bytes: i64,
        in_flight: i64,
    ) {
        if let Some(sample) = sample.filter(|_| scale.base_rtt_on_nack) {
            self.note_shortest(scale, sample);
        }
        self.ignored += bytes;
        // Trimmed in front of a full queue: it counts as a base round trip of delay.
        self.average_with(scale, scale.network_rtt, true);
        self.trigger = true;
        let adapted = self.quick_adapt(scale, now, (true, true), Time::ZERO, in_flight);
        if !adapted && !last_hop {
            self.bytes -= bytes;
            self.clamp_window(scale);
        }
    }

    /// Sets the window to what arrived in a period, if that is very little; packets sent before are not judged then.
    /// Returns true if nothing else is to be done. NSCC §2.5
    fn quick_adapt(
        &mut self,
        scale: &Scale,
        now: Time,
        (loss, marked): (bool, bool),
        delay: Time,
        in_flight: i64,
    ) -> bool {
        if !scale.quick {
            return false;
        }
        let mut done = marked && self.ignored < self.to_ignore;
        if !done && self.period_ends.is_none_or(|end| now > end) {
            let bad = self.trigger || loss || delay > scale.target.saturating_mul(QUICK_TARGETS);
            // The first call only begins a period.
            if self.period_ends.is_some() && bad && self.achieved < self.most >> scale.gate {
                self.bytes = self.achieved.max(scale.mtu);
                (self.to_ignore, self.ignored, self.trigger) = (in_flight, 0, false);
                done = true;
            }
            // Each period is judged for itself.
            self.achieved = 0;
            self.period_ends = Some(now.saturating_add(self.base_rtt).saturating_add(scale.target));
        }
        if done {
            (self.increase, self.received) = (0.0, 0);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The public simulator's fat-tree: 100 Gb/s, links of 1 us, packets of 4150 bytes.
    const RTT: Time = Time(14_022_720);
    const MTU: i64 = 4150;

    fn scale_at(gbps: u64, rtt: Time) -> Scale {
        Scale::new(&NsccParams::default(), rtt, Rate::gbps(gbps), (4150, 4086))
    }

    #[test]
    fn the_numbers_of_the_specification_at_four_rates() {
        let rates = [
            (100, 14_022_720, 10_517_040, 0.001_591_578_72, 23_873.68, 716.21, 262_926),
            (200, 13_011_360, 9_758_520, 0.002_953_578_72, 44_303.68, 1329.11, 487_926),
            (400, 12_505_680, 9_379_260, 0.005_677_578_72, 85_163.68, 2554.91, 937_926),
            (800, 12_252_840, 9_189_630, 0.011_125_578_72, 166_883.68, 5006.51, 1_837_926),
        ];
        for (gbps, rtt, target, alpha, fair, eta, most) in rates {
            let scale = scale_at(gbps, Time(rtt));
            assert_eq!((scale.target, scale.largest_window(Time(rtt))), (Time(target), most));
            assert!((scale.alpha - alpha).abs() < 1e-11, "{}", scale.alpha);
            assert!((scale.fair - fair).abs() < 0.005 && (scale.eta - eta).abs() < 0.005);
        }
    }

    #[test]
    fn the_average_moves_by_an_eightieth() {
        let scale = scale_at(100, RTT);
        let mut window = Window::new(&scale, scale.largest_window(RTT), Time::ZERO);
        for _ in 0..55 {
            window.average_with(&scale, Time::us(8), false);
        }
        let left = (0..55).fold(1.0, |left, _| left * 79.0 / 80.0);
        let expected = 8e6 * (1.0 - left);
        assert!((window.average - expected).abs() < 1.0, "{} and {expected}", window.average);
        window.average = 0.0;
        window.average_with(&scale, Time::us(11), false);
        assert!((window.average - RTT.0 as f64 / 320.0).abs() < 1.0, "a long delay without a mark is over");
    }

    /// A window of half the largest, after acknowledgements of so many packets each for a round trip, with this delay.
    fn after_a_window(delay: Time, marked: bool) -> f64 {
        let scale = scale_at(100, RTT);
        let start = scale.largest_window(RTT) / 2;
        let mut window = Window::new(&scale, start, Time::ZERO);
        window.average = delay.0 as f64;
        let acks = start / (4 * MTU);
        for i in 0..acks {
            let now = Time(RTT.0 * 10 + RTT.0 * i as u64 / acks as u64 / 2);
            window.last_adjust = now;
            window.process_ack(&scale, now, (marked, Some(RTT + delay)), 4 * MTU, start);
        }
        (window.bytes - start) as f64 / 4086.0
    }

    #[test]
    fn a_window_grows_by_what_the_delay_leaves_and_shrinks_by_the_average() {
        let fair = after_a_window(Time::us(11), false);
        // Six of seven acknowledgements have been applied: three quarters of a window.
        assert!((4.1..4.5).contains(&fair), "{fair} packets above the target");
        let near = after_a_window(Time::us(9), false);
        assert!((0.3..0.7).contains(&near), "{near} packets just below it");
        assert_eq!(after_a_window(Time::us(9), true), 0.0, "only the path is changed");
        let less = after_a_window(Time::us(14), true);
        let expected = -0.8 * (14.0 - 10.51704) / 14.0 * 262_926.0 / 2.0 / 4086.0;
        assert!((less - expected).abs() < 0.4, "{less}, not {expected}: once a round trip");
    }

    #[test]
    fn a_path_that_stays_empty_for_a_window_is_filled_fast() {
        let scale = scale_at(100, RTT);
        let mut window = Window::new(&scale, 10 * MTU, Time::ZERO);
        let mut grown = Vec::new();
        for i in 0..5 {
            let before = window.bytes;
            window.last_adjust = Time::us(100 + i);
            window.received = 0;
            window.process_ack(&scale, Time::us(100 + i), (false, Some(RTT)), 4 * MTU, 0);
            grown.push(window.bytes - before);
        }
        let fast = (4.0 * MTU as f64 * 0.25 * scale.alpha * 12e6 / 4.0 / 4086.0) as i64;
        assert_eq!(grown, [0, 0, fast, fast, fast], "the third passes ten packets");
    }

    #[test]
    fn after_trimming_the_window_becomes_what_arrives() {
        let scale = scale_at(100, RTT);
        let mut window = Window::new(&scale, scale.largest_window(RTT), Time::ZERO);
        window.process_ack(&scale, Time::us(1), (false, Some(RTT)), MTU, 0);
        window.process_trim(&scale, Time::us(2), (None, false), MTU, 50 * MTU);
        assert_eq!(
            window.window_bytes(),
            scale.largest_window(RTT) - MTU,
            "the period goes on: a packet less"
        );
        window.process_ack(&scale, Time::us(20), (true, Some(RTT)), 6 * MTU, 40 * MTU);
        let later = Time::us(1) + RTT + scale.target + Time(1);
        window.process_trim(&scale, later, (None, false), MTU, 30 * MTU);
        assert_eq!(window.window_bytes(), 6 * MTU, "what arrived since the period began");
        window.process_ack(&scale, later + Time(1), (true, Some(RTT * 3)), 20 * MTU, 30 * MTU);
        assert_eq!(window.window_bytes(), 6 * MTU, "what was sent before does not count");
        window.process_trim(&scale, later + Time(2), (None, true), MTU, 30 * MTU);
        assert_eq!(window.window_bytes(), 6 * MTU, "nor in front of a receiver that gives credit");
    }

    #[test]
    fn the_shortest_round_trip_is_the_base() {
        let scale = scale_at(100, RTT);
        let mut window = Window::new(&scale, scale.largest_window(RTT), Time::ZERO);
        window.process_trim(&scale, Time::us(1), (Some(Time::us(9)), false), MTU, MTU);
        assert_eq!(window.base_rtt, RTT, "not that of a header");
        window.process_ack(&scale, Time::us(2), (false, Some(Time::us(5))), MTU, MTU);
        assert_eq!((window.base_rtt, window.most), (Time::us(5), 93_750));
        assert!(window.window_bytes() <= 93_750);
        let params = NsccParams { base_rtt_on_nack: true, ..NsccParams::default() };
        let scale = Scale::new(&params, RTT, Rate::gbps(100), (4150, 4086));
        window.process_trim(&scale, Time::us(3), (Some(Time::us(4)), false), MTU, MTU);
        assert_eq!(window.base_rtt, Time::us(4));
    }
}
