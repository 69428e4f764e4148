//! D2TCP: DCTCP whose cut is gentler the nearer a deadline is.
//!
//! Source: B. Vamanan et al., SIGCOMM 2012. The penalty alpha^d decides the cut alone and never goes back
//! into the estimate of alpha.

use super::dctcp::fixed_cut;
use super::l2dct::{fixed_power, weights::STEPS};
use super::marks::{Arithmetic, MarkedShare, exact_power};
use super::{Ack, CongestionControl, Flow, Window};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;
use headway_units::Time;

headway_params::choice! {
    /// Urgency of a message whose deadline has passed.
    pub enum Expired {
        /// As without a deadline, d = 1.
        Neutral = "neutral",
        /// As one with time to spare: the smallest d.
        Patient = "patient",
        /// As one about to miss it: the largest d.
        Urgent = "urgent",
    }
}

headway_params::params! {
    /// Parameters of D2TCP.
    pub struct D2tcpParams {
        /// Weight of the newest window in the share of marked packets, as in DCTCP.
        g: f64 = 0.0625, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Share of marked packets assumed at first.
        alpha_init: f64 = 1.0, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Smallest urgency d. D2TCP §3.2
        d_min: f64 = 0.5, ParamKind::Float { min: 0.01, max: 1.0 };
        /// Largest urgency d. D2TCP §3.2
        d_max: f64 = 2.0, ParamKind::Float { min: 1.0, max: 100.0 };
        /// Urgency of a message whose deadline has passed.
        on_expired: Expired = Expired::Neutral, ParamKind::Choice(Expired::WORDS);
        /// Numbers in which share, urgency and cut are computed; fixed-point is that of the congestion control for Linux.
        arithmetic: Arithmetic = Arithmetic::Exact, ParamKind::Choice(Arithmetic::WORDS);
    }
}

impl ByPreset for D2tcpParams {
    fn from_preset(_: Preset) -> Self {
        D2tcpParams::default()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct D2tcp {
    share: MarkedShare,
    params: D2tcpParams,
    packets: u32,
    deadline: Option<Time>,
}

impl D2tcp {
    /// Urgency: time still needed at this window over time left, within bounds. D2TCP §3.2
    fn urgency(&self, window: &Window, ack: &Ack) -> f64 {
        // Without a deadline it is DCTCP: alpha to the power of one.
        let Some(deadline) = self.deadline else { return 1.0 };
        if deadline <= ack.now {
            return match self.params.on_expired {
                Expired::Neutral => 1.0,
                Expired::Patient => self.params.d_min,
                Expired::Urgent => self.params.d_max,
            };
        }
        // A sawtooth between half a window and a window carries three quarters of it.
        let rounds = f64::from(self.packets - ack.una) / (0.75 * window.cwnd);
        // The present smoothed round trip stands for all that are still to come.
        let needed = rounds * ack.srtt.as_secs_f64();
        (needed / (deadline - ack.now).as_secs_f64()).clamp(self.params.d_min, self.params.d_max)
    }

    /// Urgency in eighths, from whole packets and microseconds, within the rows of the table of powers.
    fn urgency_in_eighths(&self, window: &Window, ack: &Ack) -> u32 {
        let [least, most] = [self.params.d_min, self.params.d_max].map(nearest_eighth);
        let Some(deadline) = self.deadline else { return 8 };
        // Whole microseconds, as in the kernel's program: less than one counts as passed.
        let available = deadline.saturating_sub(ack.now).0 / MICROSECOND;
        if available == 0 {
            return match self.params.on_expired {
                Expired::Neutral => 8,
                Expired::Patient => least,
                Expired::Urgent => most,
            };
        }
        // Times 8 for eighths and times 4/3 for the sawtooth: 32 here, 3 below.
        let needed = u128::from(self.packets - ack.una) * u128::from(ack.srtt.0 / MICROSECOND) * 32;
        // The product divides, so a window counts as at least one packet.
        let available = u128::from(available) * 3 * (window.cwnd.max(1.0) as u128);
        // To the nearest eighth.
        ((needed + available / 2) / available).clamp(least.into(), most.into()) as u32
    }
}

/// A microsecond, in picoseconds.
const MICROSECOND: u64 = Time::us(1).0;

/// The eighth nearest to an urgency, of those that the table of powers has.
pub fn nearest_eighth(urgency: f64) -> u32 {
    // An urgency of nothing would make the penalty one, whatever alpha is.
    ((urgency * 8.0 + 0.5) as u32).clamp(1, STEPS)
}

impl CongestionControl for D2tcp {
    type Params = D2tcpParams;
    const INFO: TransportInfo = TransportInfo {
        name: "d2tcp",
        summary: "DCTCP with deadlines: the nearer one is, the gentler the cut",
        paper: "D2TCP, SIGCOMM 2012",
        discipline: "ecn-threshold",
        states: STATES,
        deviations: deviations![
            "D2TCP §3.2: a message whose deadline has passed is treated as one without (d = 1); `on_expired` has the alternatives.",
            "D2TCP §3.2: the urgency is computed at each cut, and the time needed is B / (0.75 W) smoothed round trips.",
            "RFC8257 §3.3: the share counts packets, not bytes, and is kept in real numbers under both presets; `arithmetic = \"fixed-point\"` has the integers of `headway kernel load d2tcp`, with the urgency in eighths.",
        ],
    };
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT, probes::ALPHA];
    const ECN: bool = true;

    fn new(params: &D2tcpParams, _: &ConnectionParams, flow: &Flow) -> Self {
        let share = MarkedShare::new(params.g, params.alpha_init, params.arithmetic);
        D2tcp { share, params: params.clone(), packets: flow.packets, deadline: flow.deadline }
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        found(&probes::ALPHA, self.share.alpha());
    }

    fn handle_ack(&mut self, _: &mut Window, ack: &Ack) {
        self.share.count_ack(ack);
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        window.grow_reno(ack.acked, 1.0);
    }

    // D2TCP §3.2
    fn window_after_mark(&mut self, window: &Window, ack: &Ack) -> f64 {
        match self.params.arithmetic {
            Arithmetic::Exact => {
                let penalty = exact_power(self.share.alpha(), self.urgency(window, ack));
                window.cwnd * (1.0 - penalty / 2.0)
            }
            Arithmetic::Fixed => {
                let urgency = f64::from(self.urgency_in_eighths(window, ack)) / 8.0;
                fixed_cut(window.cwnd, fixed_power(urgency, self.share.units()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control, test_flow};
    use super::*;

    fn d2tcp_with(packets: u64, deadline: Option<Time>) -> D2tcp {
        let params = D2tcpParams { alpha_init: 0.25, ..D2tcpParams::default() };
        let flow = Flow { deadline, ..test_flow(packets * 1460) };
        D2tcp::new(&params, &ConnectionParams::default(), &flow)
    }

    #[test]
    fn urgency_and_cut_are_the_published_ones() {
        let window = Window { cwnd: 20.0, ssthresh: 10.0 };
        // `ack()` has `una` 1, so that 101 packets leave 100.
        // 100 packets left at W = 20 and 300 us: 6.67 round trips, 2 ms.
        let cut = |deadline: Option<Time>| {
            let mut d2tcp = d2tcp_with(101, deadline);
            let d = d2tcp.urgency(&window, &plain_ack());
            (d, 1.0 - d2tcp.window_after_mark(&window, &plain_ack()) / window.cwnd)
        };
        assert_eq!(cut(None), (1.0, 0.125));
        assert_eq!(cut(Some(Time::ms(4))), (0.5, 0.25));
        assert_eq!(cut(Some(Time::ms(40))), (0.5, 0.25), "no less than the smallest");
        assert_eq!(cut(Some(Time::ms(1))), (2.0, 0.03125));
        let (d, _) = cut(Some(Time::us(1600)));
        assert!((d - 1.25).abs() < 1e-9, "{d}");
    }

    #[test]
    fn integers_have_the_urgency_to_the_nearest_eighth() {
        let window = Window { cwnd: 20.0, ssthresh: 10.0 };
        // Deadlines of 0.1 to 19.9 ms: from beyond the largest urgency to beyond the smallest.
        for tenths in 1..200u64 {
            let mut d2tcp = d2tcp_with(101, Some(Time::us(100 * tenths)));
            let (exact, rounded) =
                (d2tcp.urgency(&window, &plain_ack()), d2tcp.urgency_in_eighths(&window, &plain_ack()));
            // Half of an eighth: rounding to the nearest errs by no more.
            assert!((exact - f64::from(rounded) / 8.0).abs() <= 1.0 / 16.0, "{exact} {rounded}");
            d2tcp.params.arithmetic = Arithmetic::Fixed;
            let cut = d2tcp.window_after_mark(&window, &plain_ack());
            assert!((14.0..=20.0).contains(&cut) && cut.fract() == 0.0, "{cut}");
        }
        assert_eq!(d2tcp_with(101, None).urgency_in_eighths(&window, &plain_ack()), 8);
    }

    #[test]
    fn a_passed_deadline_is_what_the_parameter_says() {
        let window = Window { cwnd: 20.0, ssthresh: 10.0 };
        let late = Ack { now: Time::ms(2), ..plain_ack() };
        for (word, d) in [(Expired::Neutral, 1.0), (Expired::Patient, 0.5), (Expired::Urgent, 2.0)] {
            let mut d2tcp = test_control::<D2tcp>(1_000_000, |p| p.on_expired = word);
            d2tcp.deadline = Some(Time::ms(1));
            assert_eq!(d2tcp.urgency(&window, &late), d);
        }
    }
}
