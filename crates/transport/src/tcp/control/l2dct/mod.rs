//! L2DCT: DCTCP in which a message's share falls with the service it has had.
//!
//! Source: A. Munir et al., INFOCOM 2013. A message carries a weight w, from w_max while it is young down to
//! w_min; it adds w / w_max packets a round trip, and cuts by half of alpha^w. Receiver and switch are
//! DCTCP's, losses TCP's. [`analysis`] is the paper's model (equations 5 to 13).

pub mod analysis;
pub mod weights;

use super::dctcp::fixed_cut;
use super::marks::{Arithmetic, MarkedShare, UNIT, exact_power};
use super::{Ack, CongestionControl, Flow, Window};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;
use weights::{Weighting, Weights};

headway_params::choice! {
    /// Measure of the service that a message has had.
    pub enum Attained {
        /// Payload acknowledged cumulatively.
        Acked = "acked",
        /// Payload sent for the first time.
        Sent = "sent",
    }
}

headway_params::params! {
    /// Parameters of L2DCT.
    pub struct L2dctParams {
        /// Weight of the newest window in the share of marked packets. L2DCT §II-A
        g: f64 = 0.0625, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Share of marked packets assumed at first; compare with DCTCP at the same value only.
        alpha_init: f64 = 1.0, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Quantity that the weight follows: data sent (las), data left (srpt), nothing (ps), or `weight`. L2DCT §III-E
        weights: Weighting = Weighting::Las, ParamKind::Choice(Weighting::WORDS);
        /// Largest weight. L2DCT §II-A
        w_max: f64 = 2.5, ParamKind::Float { min: 0.001, max: 100.0 };
        /// Smallest weight. L2DCT §II-A
        w_min: f64 = 0.125, ParamKind::Float { min: 0.001, max: 100.0 };
        /// Bytes up to which the weight is the largest. L2DCT §II-A
        young: u64 = 200_000, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Bytes from which on the weight is the smallest. L2DCT §II-A
        old: u64 = 1_000_000, ParamKind::Bytes { min: 1, max: u64::MAX };
        /// The weight under `weights = "fixed"`.
        weight: f64 = 1.0, ParamKind::Float { min: 0.001, max: 100.0 };
        /// Packets added a round trip under `weights = "fixed"`; 0 = weight / w_max.
        increase: f64 = 0.0, ParamKind::Float { min: 0.0, max: 100.0 };
        /// Bytes that count as data sent.
        attained: Attained = Attained::Acked, ParamKind::Choice(Attained::WORDS);
        /// Numbers in which weight, share and cut are computed. linux-4.19: fixed-point
        arithmetic: Arithmetic = Arithmetic::Exact, ParamKind::Choice(Arithmetic::WORDS);
    }
}

impl ByPreset for L2dctParams {
    fn from_preset(preset: Preset) -> Self {
        let arithmetic = match preset {
            Preset::PaperNs2 | Preset::Datacenter => Arithmetic::Exact,
            Preset::Linux419 => Arithmetic::Fixed,
        };
        L2dctParams { arithmetic, ..L2dctParams::default() }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct L2dct {
    share: MarkedShare,
    weights: Weights,
    attained: Attained,
    arithmetic: Arithmetic,
    bytes: u64,
    payload: u64,
    /// The weight at the last acknowledgement.
    weight: f64,
}

impl L2dct {
    // L2DCT §II-A
    fn update_weight(&mut self, ack: &Ack) {
        let packets = match self.attained {
            Attained::Acked => ack.una,
            Attained::Sent => ack.next,
        };
        // The last packet may be short: no more is sent than the message has.
        let sent = (u64::from(packets) * self.payload).min(self.bytes);
        self.weight = self.weights.weight_for(sent, self.bytes - sent);
    }
}

impl CongestionControl for L2dct {
    type Params = L2dctParams;
    const INFO: TransportInfo = TransportInfo {
        name: "l2dct",
        summary: "DCTCP with weights: young messages grow faster and back off less than old ones",
        paper: "L2DCT, INFOCOM 2013",
        discipline: "ecn-threshold",
        states: STATES,
        deviations: deviations![
            "L2DCT §II-A: data sent so far is payload acknowledged cumulatively, so that repetitions do not age a message; `attained = \"sent\"` differs by less than a window.",
            "L2DCT §II-A: the text has a new message grow by a packet a round trip (§II-B) and builds on TCP; slow start is on here, without weights, and `slow_start = false` is the text's rule, which the scenarios of the paper set for every transport.",
            "L2DCT §III: the paper states no first time-out and no handshake. `paper-ns2` starts the estimator with the unloaded round trip, waits for the RTO_min of 10 ms before anything is measured, and has no handshake; ns-2 waits 3 s and sends a SYN.",
            "L2DCT §III: the paper states no size of packets, which is the scenario's to set; those of the paper have ns-2's 1000 B.",
            "L2DCT §II-A: weights are continuous; under `arithmetic = \"fixed-point\"` they are 20 steps of w_max / 20, and powers are whole 1/1024.",
            "L2DCT §II-A: 1/s and e^-s, which the text names as possible functions of the data sent, are not offered; the paper evaluates the line of §III alone.",
            "L2DCT §II-A: alpha begins at 1 and is brought up to date before a cut on the same acknowledgement, as in RFC 8257; with `alpha_init = 0` young messages hardly back off at all.",
            "L2DCT §II-A: no growth in a window of data that had marks, and a window of at least `min_window`: 2 packets, as Linux's DCTCP has it.",
            "L2DCT §II-C: equation 10 is printed as Tc = D, which holds for k = 1 alone; the analysis has D / k.",
            "L2DCT §III-E: weights for processor sharing are w = w_max = 1, which is DCTCP; w = 1 with w_max = 2.5 would add 0.4 packets a round trip.",
        ],
    };
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT, probes::ALPHA];
    const ECN: bool = true;

    fn new(params: &L2dctParams, _: &ConnectionParams, flow: &Flow) -> Self {
        let weights = Weights::new(params);
        L2dct {
            share: MarkedShare::new(params.g, params.alpha_init, params.arithmetic),
            weight: weights.weight_for(0, flow.bytes),
            weights,
            attained: params.attained,
            arithmetic: params.arithmetic,
            bytes: flow.bytes,
            payload: flow.payload.into(),
        }
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        found(&probes::ALPHA, self.share.alpha());
    }

    fn handle_ack(&mut self, _: &mut Window, ack: &Ack) {
        // Both are brought up to date first: a cut on this acknowledgement uses its own weight and share.
        self.update_weight(ack);
        self.share.count_ack(ack);
    }

    // L2DCT §II-A eq. 1
    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        window.grow_reno(ack.acked, self.weights.increase_per_round(self.weight));
    }

    // L2DCT §II-A eq. 3
    fn window_after_mark(&mut self, window: &Window, _: &Ack) -> f64 {
        match self.arithmetic {
            Arithmetic::Exact => window.cwnd * (1.0 - exact_power(self.share.alpha(), self.weight) / 2.0),
            Arithmetic::Fixed => fixed_cut(window.cwnd, fixed_power(self.weight, self.share.units())),
        }
    }
}

/// `(alpha / 1024)^weight` to the nearest 1/1024, for any weight: an entry of the table that a kernel looks up, which has
/// a row for each of its weights. L2DCT §IV-A
pub fn fixed_power(weight: f64, alpha: u32) -> u32 {
    let unit = f64::from(UNIT);
    // An alpha above one counts as one: the kernel's table ends there.
    (libm::pow(f64::from(alpha.min(UNIT)) / unit, weight) * unit + 0.5) as u32
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control};
    use super::*;
    use crate::tcp::control::dctcp::Dctcp;

    const WINDOW: Window = Window { cwnd: 32.0, ssthresh: 16.0 };

    #[test]
    fn backs_off_as_tcp_does_when_every_packet_is_marked() {
        // With all packets marked, every weight cuts by a half: any power of one is one.
        for weight in [0.125, 0.5, 1.0, 2.5] {
            for arithmetic in [Arithmetic::Exact, Arithmetic::Fixed] {
                let mut l2dct = test_control::<L2dct>(1_000_000, |p| {
                    (p.weights, p.weight, p.arithmetic) = (Weighting::Fixed, weight, arithmetic);
                });
                assert_eq!(
                    l2dct.window_after_mark(&WINDOW, &plain_ack()),
                    super::super::half_flight(WINDOW.cwnd),
                    "w = {weight}"
                );
                assert_eq!(
                    l2dct.window_after_loss(&WINDOW, WINDOW.cwnd, plain_ack().now),
                    super::super::half_flight(WINDOW.cwnd)
                );
            }
        }
    }

    #[test]
    fn backs_off_between_nothing_and_alpha_while_young_and_between_alpha_and_half_while_old() {
        for alpha in [0.0, 0.0625, 0.25, 0.5, 0.9, 1.0] {
            let cut = |weight: f64| {
                let mut l2dct = test_control::<L2dct>(1_000_000, |p| {
                    (p.weights, p.weight, p.alpha_init) = (Weighting::Fixed, weight, alpha);
                });
                2.0 * (1.0 - l2dct.window_after_mark(&WINDOW, &plain_ack()) / WINDOW.cwnd)
            };
            // A power above one is below alpha and one below it above, as alpha is at most one.
            for young in [1.5, 2.5] {
                assert!((0.0..=alpha + 1e-12).contains(&cut(young)), "alpha {alpha}, w {young}");
            }
            for old in [0.125, 0.5] {
                assert!((alpha - 1e-12..=1.0 + 1e-12).contains(&cut(old)), "alpha {alpha}, w {old}");
            }
        }
    }

    #[test]
    fn equal_weights_make_it_dctcp() {
        let mut l2dct = test_control::<L2dct>(50_000_000, |p| p.weights = Weighting::Ps);
        let mut dctcp = test_control::<Dctcp>(50_000_000, |_| ());
        let (mut one, mut other) = (WINDOW, WINDOW);
        // 31 shares no factor with the window of 32, so that marks and cuts fall on all phases of a window.
        for i in 0..5000u32 {
            let ack = Ack { una: i + 1, next: i + 30, ece: i % 31 < 3, ..plain_ack() };
            l2dct.handle_ack(&mut one, &ack);
            dctcp.handle_ack(&mut other, &ack);
            if i % 31 == 0 {
                (one.cwnd, other.cwnd) =
                    (l2dct.window_after_mark(&one, &ack), dctcp.window_after_mark(&other, &ack));
            } else if !ack.ece {
                l2dct.grow_window(&mut one, &ack);
                dctcp.grow_window(&mut other, &ack);
            }
            assert_eq!(one, other);
        }
    }

    #[test]
    fn the_smallest_weight_adds_a_packet_in_twenty_round_trips() {
        let mut l2dct =
            test_control::<L2dct>(50_000_000, |p| (p.weights, p.weight) = (Weighting::Fixed, 0.125));
        let mut window = WINDOW;
        for packets in 32..40u32 {
            let mut rounds = 0;
            while window.cwnd < f64::from(packets + 1) {
                rounds += 1;
                // One acknowledgement for each packet of the window: a round trip.
                (0..packets).for_each(|_| l2dct.grow_window(&mut window, &plain_ack()));
            }
            assert!((20..=21).contains(&rounds), "{rounds} round trips at {packets} packets");
        }
    }

    #[test]
    fn integer_powers_are_within_half_a_unit_for_every_weight() {
        let mut worst: f64 = 0.0;
        // Weights on both sides of one: the published ends among them, and the ends of the parameter's range.
        for weight in [0.001, 0.0625, 0.125, 0.2, 0.3, 0.5, 1.0, 1.9, 2.5, 4.0, 100.0] {
            for alpha in 0..=UNIT {
                let exact = libm::pow(f64::from(alpha) / f64::from(UNIT), weight);
                let here = f64::from(fixed_power(weight, alpha)) / f64::from(UNIT);
                worst = worst.max((here - exact).abs());
            }
            assert_eq!((fixed_power(weight, 0), fixed_power(weight, UNIT)), (0, UNIT), "w = {weight}");
        }
        assert!(worst <= 0.5 / f64::from(UNIT) + 1e-12, "{worst}");
        // The largest error has to come near a half, or the test has not met the worst case.
        assert!(worst > 0.4 / f64::from(UNIT), "rounded: {worst}");
        assert_eq!(fixed_power(1.0, 5000), UNIT);
    }

    #[test]
    fn in_integers_every_weight_has_its_own_cut() {
        let window = Window { cwnd: 1000.0, ssthresh: 16.0 };
        let cut = |weight: f64| {
            let mut l2dct = test_control::<L2dct>(1_000_000, |p| {
                (p.weights, p.weight, p.arithmetic, p.alpha_init) =
                    (Weighting::Fixed, weight, Arithmetic::Fixed, 0.25);
            });
            l2dct.window_after_mark(&window, &plain_ack())
        };
        let cuts = [0.0625, 0.125, 0.25, 0.3, 2.5, 4.0].map(cut);
        assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]), "{cuts:?}");
    }
}
