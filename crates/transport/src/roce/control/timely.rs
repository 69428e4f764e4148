//! TIMELY: the rate follows the gradient of the round trip.
//!
//! Source: R. Mittal et al., SIGCOMM 2015, with one decision for each segment (preset `paper`) or for each round trip, as HPCC's
//! simulator has it (`hpcc-sim`); the patched rule is that of Y. Zhu et al., CoNEXT 2016.

use super::super::params::{ByPreset, Preset};
use super::super::{STATES, deviations};
use super::dcqcn::SLOWEST;
use super::{Answer, Flow, RateControl, Round, Rounds, window_at};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;
use headway_units::{Rate, Time};

headway_params::choice! {
    /// Reaction between the two thresholds of the round trip.
    pub enum Rule {
        /// Its gradient alone decides. TIMELY §4.3
        Original = "original",
        /// The gradient decides how much its distance from the lower threshold counts: there is one fixed point. Zhu §4.3
        Patched = "patched",
    }
}

headway_params::params! {
    /// Parameters of TIMELY, with the values of `hpcc-sim`.
    pub struct TimelyParams {
        /// Reaction between the two thresholds.
        rule: Rule = Rule::Original, ParamKind::Choice(Rule::WORDS);
        /// Weight of the new sample in the average of differences. TIMELY §4.3
        alpha: f64 = 0.875, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Factor of a decrease. With the patched rule, its authors use 0.008. TIMELY §4.3
        beta: f64 = 0.8, ParamKind::Float { min: 0.0001, max: 1.0 };
        /// Round trip below which the rate always rises. TIMELY §4.4
        t_low: Time = Time::us(50), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Round trip above which the rate always falls. TIMELY §4.4
        t_high: Time = Time::us(500), ParamKind::Time { min: Time::ns(1), max: Time::DAY };
        /// Round trip that gradients are measured by; it is a constant for all paths. TIMELY §4.3
        min_rtt: Time = Time::us(20), ParamKind::Time { min: Time::ns(1), max: Time::DAY };
        /// Amount that an increase adds, as a share of the link's rate. TIMELY §4.4
        delta: f64 = 0.001, ParamKind::Float { min: 0.000_000_1, max: 1.0 };
        /// Increases in a row after which each adds five times as much. TIMELY §4.3
        hai_after: u64 = 5, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Bytes of payload for which one decision is made; 0 = those of a round trip. paper: 16 kB. TIMELY §3.1
        segment: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 30 };
        /// Lowest rate of a message.
        min_rate: Rate = Rate::gbps(1), ParamKind::Rate { min: SLOWEST, max: Rate::gbps(1000) };
        /// True if no more than a bandwidth-delay product at the present rate may be under way. HPCC §5.1
        window: bool = false, ParamKind::Bool;
    }
}

impl ByPreset for TimelyParams {
    fn from_preset(preset: Preset) -> Self {
        let usual = TimelyParams::default();
        match preset {
            Preset::HpccSim => usual,
            Preset::Paper => TimelyParams { segment: 16_000, ..usual },
        }
    }
}

/// Amount that an increase adds after many of them, in usual ones. TIMELY §4.3
const HYPER: f64 = 5.0;

/// See the module.
pub struct Timely {
    params: TimelyParams,
    flow: Flow,
    rate: f64,
    rounds: Rounds,
    /// Bytes of payload that have arrived since the last decision.
    arrived: u64,
    last: Time,
    /// The round trip at the last decision, in picoseconds.
    previous: Option<f64>,
    /// Average of differences, in picoseconds.
    difference: f64,
    /// Increases in a row.
    increases: u64,
}

impl Timely {
    /// True if a decision is due.
    fn decision_due(&mut self, answer: &Answer<'_>) -> bool {
        if self.params.segment == 0 {
            // HPCC's simulator has one decision a round trip.
            return self.rounds.classify_answer(answer) != Round::Within;
        }
        self.arrived += u64::from(answer.newly) * self.flow.payload as u64;
        let due = self.arrived >= self.params.segment;
        if due {
            self.arrived = 0;
        }
        due
    }

    /// The factor of the patched rule for a gradient. Zhu §4.3
    fn gradient_weight(gradient: f64) -> f64 {
        (2.0 * gradient + 0.5).clamp(0.0, 1.0)
    }

    /// A decision. TIMELY §4.3
    fn decide_rate(&mut self, rtt: f64, before: f64) {
        let Timely { params, flow, .. } = self;
        // TIMELY §4.3: differences of single round trips are noisy, so the gradient is of their average.
        self.difference = (1.0 - params.alpha) * self.difference + params.alpha * (rtt - before);
        let gradient = self.difference / params.min_rtt.0 as f64;
        let (low, high) = (params.t_low.0 as f64, params.t_high.0 as f64);
        // A lowest rate above the link's is the link's.
        let least = (params.min_rate.bps() as f64).min(flow.line);
        let delta = params.delta * flow.line;
        let falls = if rtt < low {
            None
        } else if rtt > high {
            Some(1.0 - params.beta * (1.0 - high / rtt))
        } else if params.rule == Rule::Patched {
            let (weight, error) = (Timely::gradient_weight(gradient), (rtt - low) / low.max(1.0));
            let rate = delta * (1.0 - weight) + self.rate * (1.0 - params.beta * weight * error);
            self.increases = 0;
            self.rate = rate.clamp(least, flow.line);
            return;
        } else {
            // A gradient above 1/beta would make the factor negative.
            (gradient > 0.0).then_some((1.0 - params.beta * gradient).max(0.0))
        };
        match falls {
            Some(factor) => {
                self.increases = 0;
                self.rate = (self.rate * factor).max(least);
            }
            None => {
                // TIMELY §4.3, hyperactive increase: a rate far too low would take long to grow by single steps.
                let adds = if self.increases < params.hai_after { delta } else { HYPER * delta };
                self.increases += 1;
                self.rate = (self.rate + adds).min(flow.line);
            }
        }
    }
}

impl RateControl for Timely {
    type Params = TimelyParams;
    const INFO: TransportInfo = TransportInfo {
        name: "timely",
        summary: "RoCE: the rate follows the gradient of the round trip",
        paper: "TIMELY, SIGCOMM 2015",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations!(
            "TIMELY §3.1: every packet is answered, and a decision is made once a round trip, or for each segment of payload that was acknowledged; the paper has one completion for each segment, which leaves as a burst.",
            "TIMELY §5: packets are paced one by one and not in bursts of a segment.",
            "TIMELY §4.3: the first round trip is no decision, as in HPCC's simulator, and the factor of a gradient does not fall below 0.",
        ),
    };
    const PROBES: &'static [GaugeInfo] = &[probes::RATE, probes::IN_FLIGHT, probes::LAST_ROUND_TRIP];
    const WINDOWED: bool = false;

    fn least_rate(params: &TimelyParams) -> Rate {
        params.min_rate
    }

    fn new(params: &TimelyParams, flow: &Flow) -> Self {
        Timely {
            params: params.clone(),
            flow: *flow,
            rate: flow.first,
            rounds: Rounds::default(),
            arrived: 0,
            last: Time::ZERO,
            previous: None,
            difference: 0.0,
            increases: 0,
        }
    }

    fn handle_answer(&mut self, answer: &Answer<'_>) {
        self.last = answer.rtt;
        if !self.decision_due(answer) {
            return;
        }
        let rtt = answer.rtt.0 as f64;
        if let Some(before) = self.previous.replace(rtt) {
            self.decide_rate(rtt, before);
        }
    }

    fn rate_bps(&self) -> f64 {
        self.rate
    }

    fn window_bytes(&self) -> Option<f64> {
        self.params.window.then(|| window_at(&self.flow, self.rate))
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        if self.last > Time::ZERO {
            found(&probes::LAST_ROUND_TRIP, self.last.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_answer, test_flow};
    use super::*;

    /// A rate of 50 Gb/s after two round trips in nanoseconds, in Gb/s.
    fn rate_after(params: TimelyParams, before: u64, rtt: u64) -> f64 {
        let mut timely = Timely::new(&params, &Flow { first: 50e9, ..test_flow() });
        timely.handle_answer(&Answer { rtt: Time::ns(before), ..plain_answer(Time::us(1)) });
        assert_eq!(timely.rate_bps(), 50e9, "the first round trip is not judged");
        timely.handle_answer(&Answer {
            rtt: Time::ns(rtt),
            arrived: 3,
            next: 9,
            ..plain_answer(Time::us(2))
        });
        timely.rate_bps() / 1e9
    }

    fn usual_params() -> TimelyParams {
        TimelyParams::default()
    }

    fn assert_near(rate: f64, expected: f64) {
        assert!((rate - expected).abs() < 1e-9, "{rate}, not {expected}");
    }

    #[test]
    fn between_the_thresholds_the_gradient_decides() {
        // 0.875 x 4 us / 20 us is 0.175, and 0.8 of it is taken.
        assert_near(rate_after(usual_params(), 60_000, 64_000), 50.0 * 0.86);
        assert_near(rate_after(usual_params(), 64_000, 60_000), 50.1);
        assert_near(rate_after(usual_params(), 60_000, 60_000), 50.1);
        // A gradient of 2 and more takes everything.
        assert_near(rate_after(usual_params(), 60_000, 120_000), 1.0);
    }

    #[test]
    fn beyond_the_thresholds_the_round_trip_decides() {
        assert_near(rate_after(usual_params(), 10_000, 49_000), 50.1);
        // Twice the upper threshold: half of beta is taken, although the round trip falls.
        assert_near(rate_after(usual_params(), 1_100_000, 1_000_000), 50.0 * 0.6);
    }

    #[test]
    fn increases_in_a_row_become_larger() {
        let mut timely = Timely::new(&usual_params(), &Flow { first: 50e9, ..test_flow() });
        let mut rates = Vec::new();
        for round in 0..8u32 {
            timely.handle_answer(&Answer {
                rtt: Time::us(10),
                arrived: round * 10 + 1,
                next: round * 10 + 5,
                ..plain_answer(Time::us(1))
            });
            rates.push((timely.rate_bps() / 1e8).round() as u64);
        }
        assert_eq!(rates, [500, 501, 502, 503, 504, 505, 510, 515]);
    }

    #[test]
    fn the_patched_rule_weighs_the_distance_from_the_lower_threshold() {
        let params = TimelyParams { rule: Rule::Patched, t_low: Time::us(35), ..usual_params() };
        // A gradient of zero weighs a half, and the round trip is twice the lower threshold.
        assert_near(rate_after(params, 70_000, 70_000), 50.0 * 0.6 + 0.05);
        assert_eq!([-1.0, -0.25, 0.0, 0.25, 1.0].map(Timely::gradient_weight), [0.0, 0.0, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn the_paper_decides_for_each_segment() {
        let mut timely =
            Timely::new(&TimelyParams::from_preset(Preset::Paper), &Flow { first: 50e9, ..test_flow() });
        let mut decisions = 0;
        for n in 0..48u32 {
            let before = timely.rate_bps();
            timely.handle_answer(&Answer {
                rtt: Time::us(10),
                arrived: n + 1,
                next: 100,
                ..plain_answer(Time::us(1))
            });
            decisions += u32::from(timely.rate_bps() > before);
        }
        assert_eq!(decisions, 2, "48 kB are three segments, of which the first is no decision");
    }
}
