//! Swift: the window follows the delay, which has a target that grows with the path and with small windows.
//!
//! Source: G. Kumar et al., SIGCOMM 2020, as csg-htsim and Bolt's simulator have it: they publish the same rules with other
//! constants. A window below one packet is a pace: one packet in more than a round trip.

use super::{Ack, CongestionControl, Flow, Window};
use crate::endpoint::{Room, TransportInfo};
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_params::ParamKind;
use headway_units::Time;

/// Base target in unloaded round trips, unless a parameter sets it: published settings for round trips of 4 us have 5.06 us.
const BASE_OF_ROUND_TRIP: f64 = 1.25;
/// Ratio of the base target to a hop's share of the target, unless a parameter sets it: 20 us and 3.05 us, 5.06 us and 0.77 us.
const HOPS_IN_BASE: f64 = 6.55;
/// Range of flow scaling in base targets, unless a parameter sets it. Swift §3.1.2
const RANGE_OF_BASE: f64 = 5.0;

headway_params::params! {
    /// Parameters of Swift.
    pub struct SwiftParams {
        /// Delay that a message over no switch and with a large window aims at; 0 = 1.25 unloaded round trips of the path. Swift §3.1
        base_target: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Amount that each switch of the path adds to the target; 0 = the base target divided by 6.55. Swift §3.1.1
        hop_scaling: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// True if the switches of the path add to the target. csg-htsim counts none of them: `false` is its hop scaling of zero.
        hops: bool = true, ParamKind::Bool;
        /// Largest amount that a small window adds to the target; 0 = five base targets. Swift §3.1.2
        fs_range: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Window in packets from which down the target has all of `fs_range`. Swift §3.1.2
        fs_min_cwnd: f64 = 0.1, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Window in packets from which up the target has nothing of it. Swift §3.1.2
        fs_max_cwnd: f64 = 100.0, ParamKind::Float { min: 2.0, max: 1_000_000.0 };
        /// Packets that the window grows by in a round trip below the target. Swift §3.1
        ai: f64 = 1.0, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Share of the excess delay that is taken from the window. Swift §3.1
        beta: f64 = 0.8, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Share of the window that one decrease takes at most. Swift §3.1
        max_mdf: f64 = 0.5, ParamKind::Float { min: 0.01, max: 0.99 };
        /// Smallest window in packets. Swift §3.2
        min_cwnd: f64 = 0.001, ParamKind::Float { min: 0.0001, max: 1.0 };
        /// Largest window in packets.
        max_cwnd: f64 = 1000.0, ParamKind::Float { min: 2.0, max: 1_000_000.0 };
        /// Time-outs in a row from which on the window is the smallest one. Swift §3.4
        retransmit_reset: u64 = 5, ParamKind::Int { min: 1, max: 1000 };
    }
}

impl ByPreset for SwiftParams {
    const USUAL: Preset = Preset::Datacenter;

    fn from_preset(_: Preset) -> Self {
        SwiftParams::default()
    }
}

/// Target of the delay. Swift §3.1
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Target without flow scaling, in picoseconds.
    path: f64,
    /// The range of flow scaling in picoseconds, and its two terms: `alpha / sqrt(cwnd) - beta`.
    range: f64,
    alpha: f64,
    beta: f64,
}

impl Target {
    fn new(params: &SwiftParams, flow: &Flow) -> Target {
        let set = |time: Time, usual: f64| if time == Time::ZERO { usual } else { time.0 as f64 };
        let base = set(params.base_target, BASE_OF_ROUND_TRIP * flow.path.base_rtt.0 as f64);
        let hop = set(params.hop_scaling, base / HOPS_IN_BASE);
        let range = set(params.fs_range, RANGE_OF_BASE * base);
        // Scaled so that the term is `range` at the smallest window and nothing at the largest. Swift §3.1.2
        let ends = (1.0 / libm::sqrt(params.fs_min_cwnd), 1.0 / libm::sqrt(params.fs_max_cwnd));
        let alpha = range / (ends.0 - ends.1);
        let hops = if params.hops { flow.path.hops.into() } else { 0.0 };
        Target { path: base + hop * hops, range, alpha, beta: alpha * ends.1 }
    }

    /// Target in picoseconds, for a window of `cwnd` packets.
    fn target_delay(&self, cwnd: f64) -> f64 {
        // Beyond `fs_max_cwnd` the term is negative, and would lower the target of the path.
        self.path + (self.alpha / libm::sqrt(cwnd) - self.beta).clamp(0.0, self.range)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Swift {
    params: SwiftParams,
    target: Target,
    /// The window in packets, which may be less than one; none before the first decision.
    cwnd: Option<f64>,
    /// The window has given way, and may again a round trip later.
    decreased: Option<Time>,
    srtt: Time,
    /// Time-outs since the last acknowledgement.
    time_outs: u64,
}

impl Swift {
    // Swift §3.1: once a round trip.
    fn may_decrease(&self, now: Time) -> bool {
        self.decreased.is_none_or(|at| now.saturating_sub(at) >= self.srtt)
    }

    /// Sets the window. Returns the part of it that the machine keeps in flight.
    fn set_window(&mut self, now: Time, before: f64, after: f64) -> f64 {
        let after = after.clamp(self.params.min_cwnd, self.params.max_cwnd);
        // Only a decrease starts the wait of a round trip: it may follow an increase at once.
        if after < before {
            self.decreased = Some(now);
        }
        self.cwnd = Some(after);
        // The machine sends one packet at least; less than that is a matter of the pace.
        after.max(1.0)
    }

    fn cut_window(&mut self, window: f64, now: Time) -> f64 {
        let cwnd = self.cwnd.unwrap_or(window);
        let factor = if self.may_decrease(now) { 1.0 - self.params.max_mdf } else { 1.0 };
        self.set_window(now, cwnd, cwnd * factor)
    }

    // Swift §3.4
    fn count_timeout(&mut self, window: f64, now: Time) {
        self.time_outs += 1;
        if self.time_outs >= self.params.retransmit_reset {
            self.set_window(now, window, self.params.min_cwnd);
        } else {
            self.cut_window(window, now);
        }
    }
}

impl CongestionControl for Swift {
    type Params = SwiftParams;
    const INFO: TransportInfo = TransportInfo {
        name: "swift",
        summary: "delay-based: the window follows a target delay, below one packet by pacing",
        paper: "Swift, SIGCOMM 2020",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "Swift §3.2: there is one window. Delays at hosts are part of the round trip that it follows, but not how long an acknowledgement is put off; the paper has a second window and target for them.",
            "Swift §3.1: the base target is 1.25 unloaded round trips of the path unless a parameter says it; the paper sets one for a cluster.",
            "Swift §3.1.1: the switches of a path are known beforehand, and not counted in packets; on real hosts that do not know them there are none.",
            "Swift §3.2: the pace of a window below one packet begins with the first packet that leaves under it.",
            "Swift §3.4: losses are found by the machine's SACK; every time-out repeats one packet, whatever the window is.",
        ],
    };
    /// 1: the time for which acknowledgements are put off is not counted as delay.
    const REVISION: u32 = 1;
    const OWNS_WINDOW: bool = true;
    /// The delay of the network is the round trip less the time at the peer's host.
    const COUNTS_ACK_DELAY: bool = false;
    /// §1: near-zero packet drops.
    const ROOM: Room = Room::Deep;

    /// A packet more each round trip: n of them carry more than n (n + 1) / 2 packets.
    fn rounds_to_fill(packets: u64, initial: u64) -> u64 {
        (packets * 2).isqrt().min(packets / initial) + 1
    }

    fn new(params: &SwiftParams, _: &ConnectionParams, flow: &Flow) -> Self {
        Swift {
            params: params.clone(),
            target: Target::new(params, flow),
            cwnd: None,
            decreased: None,
            srtt: Time::ZERO,
            time_outs: 0,
        }
    }

    // Swift §3.1, Algorithm 1
    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        // Any acknowledgement shows that the path works: only time-outs in a row count.
        self.time_outs = 0;
        self.srtt = ack.srtt;
        let cwnd = self.cwnd.unwrap_or(window.cwnd);
        let mut wanted = cwnd;
        if let Some(rtt) = ack.rtt {
            // The target of the window before the change, under which the delay was measured.
            let (delay, target) = (rtt.0 as f64, self.target.target_delay(cwnd));
            if delay < target {
                // Below one packet Algorithm 1 adds `ai` for each acknowledged packet: divided
                // by the window it would be huge.
                wanted += self.params.ai * f64::from(ack.delivered) / cwnd.max(1.0);
            } else if self.may_decrease(ack.now) {
                let excess = self.params.beta * (delay - target) / delay.max(1.0);
                wanted *= (1.0 - excess).max(1.0 - self.params.max_mdf);
            }
        }
        window.cwnd = self.set_window(ack.now, cwnd, wanted);
    }

    fn grow_window(&mut self, _: &mut Window, _: &Ack) {}

    fn window_after_loss(&mut self, window: &Window, _: f64, now: Time) -> f64 {
        self.cut_window(window.cwnd, now)
    }

    fn timed_out(&mut self, window: &Window, _: f64, now: Time) -> f64 {
        self.count_timeout(window.cwnd, now);
        // Infinite: Swift does not use slow start, so nothing may end it.
        f64::INFINITY
    }

    fn timed_out_again(&mut self, now: Time) {
        // The connection's window has been one packet since the first time-out.
        self.count_timeout(1.0, now);
    }

    // Swift §3.2
    fn packet_gap(&self) -> Option<Time> {
        let cwnd = self.cwnd.filter(|cwnd| *cwnd < 1.0)?;
        // With a quarter of a packet, one leaves in four round trips.
        Some(Time((self.srtt.0 as f64 / cwnd) as u64).max(Time(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control};
    use super::*;

    /// The settings of the published golden values: 100 us of flow scaling between 0.1 and 100 packets, a target of 35 us
    /// at ten packets.
    fn published_swift() -> Swift {
        test_control(1 << 40, |params: &mut SwiftParams| {
            // Flow scaling adds 7.06 us at ten packets: with 27.94 that is 35 us.
            params.base_target = Time::ps(27_939_680);
            params.hop_scaling = Time(1);
            params.fs_range = Time::us(100);
        })
    }

    /// The window of `cwnd` packets after one acknowledgement that comes after `delay`.
    fn window_after(swift: &mut Swift, cwnd: f64, delay: Time) -> f64 {
        swift.cwnd = Some(cwnd);
        swift.decreased = None;
        let mut window = Window { cwnd: cwnd.max(1.0), ssthresh: f64::INFINITY };
        swift.handle_ack(&mut window, &Ack { rtt: Some(delay), srtt: Time::us(40), ..plain_ack() });
        assert_eq!(window.cwnd, swift.cwnd.expect("set").max(1.0));
        swift.cwnd.expect("set")
    }

    #[test]
    fn flow_scaling_is_that_of_the_published_constants() {
        let target = published_swift().target;
        let scaling = |cwnd| (target.target_delay(cwnd) - target.path) / 1e6;
        for (cwnd, us) in [
            // Beyond both ends of the range, and between them.
            (0.01, 100.0),
            (0.1, 100.0),
            (0.25, 62.05),
            (1.0, 29.39),
            (4.0, 13.06),
            (10.0, 7.06),
            (25.0, 3.27),
            (100.0, 0.0),
            (1000.0, 0.0),
        ] {
            assert!((scaling(cwnd) - us).abs() < 0.005, "{} at {cwnd}, not {us}", scaling(cwnd));
        }
    }

    #[test]
    fn the_window_grows_below_the_target_and_gives_way_above_it() {
        let mut swift = published_swift();
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-3, "{found}, not {wanted}");
        // Below the target, above it, and so far above that the largest decrease applies.
        near(window_after(&mut swift, 10.0, Time::us(30)), 10.1);
        near(window_after(&mut swift, 10.0, Time::us(50)), 7.6);
        near(window_after(&mut swift, 10.0, Time::us(200)), 5.0);
        // Below one packet `ai` counts whole: one packet for one acknowledged.
        near(window_after(&mut swift, 0.25, Time::us(30)), 1.25);
    }

    #[test]
    fn it_gives_way_once_a_round_trip() {
        let mut swift = published_swift();
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let mut hear = |at| {
            let (now, rtt) = (Time::us(at), Some(Time::us(200)));
            swift.handle_ack(&mut window, &Ack { now, rtt, srtt: Time::us(40), ..plain_ack() });
            window.cwnd
        };
        // The smoothed round trip is 40 us: 139 and 179 are within one of the last decrease.
        assert_eq!([100, 139, 140, 179, 180].map(&mut hear), [5.0, 5.0, 2.5, 2.5, 1.25]);
        assert_eq!(
            swift.window_after_loss(&window, 1.0, Time::us(200)),
            1.25,
            "a loss of the same round trip takes nothing more"
        );
    }

    #[test]
    fn less_than_a_packet_is_a_pace() {
        let mut swift = published_swift();
        assert_eq!(swift.packet_gap(), None);
        window_after(&mut swift, 0.25, Time::us(1_000_000));
        swift.cwnd = Some(0.25);
        assert_eq!(swift.packet_gap(), Some(Time::us(160)));
        swift.cwnd = Some(1.0);
        assert_eq!(swift.packet_gap(), None);
    }

    #[test]
    fn time_outs_in_a_row_lead_to_the_smallest_window() {
        let mut swift = published_swift();
        let window = Window { cwnd: 64.0, ssthresh: f64::INFINITY };
        let mut seen = vec![];
        for n in 0..5 {
            let now = Time::ms(n + 1);
            if n == 0 {
                swift.timed_out(&window, 64.0, now);
            } else {
                swift.timed_out_again(now);
            }
            seen.push(swift.cwnd.expect("set"));
        }
        // `retransmit_reset` is five: the fifth time-out in a row leads to the smallest window.
        assert_eq!(seen, [32.0, 16.0, 8.0, 4.0, 0.001]);
        window_after(&mut swift, 0.001, Time::us(30));
        swift.timed_out(&window, 1.0, Time::ms(9));
        assert_eq!(swift.cwnd, Some(0.5005), "an acknowledgement starts the count anew");
    }

    #[test]
    fn the_target_follows_the_path_where_nobody_says_it() {
        let swift = test_control::<Swift>(1 << 40, |_| ());
        // 300 us and one switch.
        assert_eq!(swift.target.path, 375e6 + 375e6 / 6.55);
        assert_eq!(swift.target.range, 5.0 * 375e6);
        // Without hop scaling, whatever it would be.
        let flat = test_control::<Swift>(1 << 40, |params: &mut SwiftParams| {
            (params.hops, params.hop_scaling) = (false, Time::us(3));
        });
        assert_eq!((flat.target.path, flat.target.range), (375e6, 5.0 * 375e6));
    }
}
