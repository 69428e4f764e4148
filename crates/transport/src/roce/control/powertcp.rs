//! PowerTCP: the window follows the power of the busiest hop, the product of its queue and of the rate of change of
//! that; theta-PowerTCP does the same with round trips, and asks nothing of ports.
//!
//! Source: V. Addanki et al., NSDI 2022. Preset `hpcc-sim` has the numbers of its authors' simulator, which descends from HPCC's.

use super::super::params::{ByPreset, Preset};
use super::super::{STATES, deviations};
use super::dcqcn::{PAPER_MIN_RATE, SLOWEST};
use super::hpcc::Memory;
use super::{Answer, Flow, RateControl, Round, Rounds};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use headway_gauges::GaugeInfo;
use headway_packet::Stamps;
use headway_params::ParamKind;
use headway_units::{Rate, Time};

headway_params::params! {
    /// Parameters of PowerTCP, with the values of the authors' simulator.
    pub struct PowerTcpParams {
        /// Weight of the new window. PowerTCP §3.3
        gamma: f64 = 0.9, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Growth of the window, as a share of a bandwidth-delay product. paper: 0.01, that of 100 messages. PowerTCP §3.3
        beta: f64 = 0.006, ParamKind::Float { min: 0.000_000_1, max: 1.0 };
        /// Power that is taken for 1. paper: 1. PowerTCP §3.3
        target: f64 = 0.95, ParamKind::Float { min: 0.01, max: 2.0 };
        /// Lowest rate. paper: 1 Mbps
        min_rate: Rate = HUNDRED_MBPS, ParamKind::Rate { min: SLOWEST, max: Rate::gbps(1000) };
    }
}

headway_params::params! {
    /// Parameters of theta-PowerTCP, with the values of the authors' simulator.
    pub struct ThetaParams {
        /// Weight of the new window. paper: 0.9. PowerTCP §3.4
        gamma: f64 = 0.7, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Growth of the window, as a share of a bandwidth-delay product. paper: 0.01, that of 100 messages. PowerTCP §3.3
        beta: f64 = 0.006, ParamKind::Float { min: 0.000_000_1, max: 1.0 };
        /// Power that is taken for 1. paper: 1. PowerTCP §3.4
        target: f64 = 1.05, ParamKind::Float { min: 0.01, max: 2.0 };
        /// Lowest rate. paper: 1 Mbps
        min_rate: Rate = HUNDRED_MBPS, ParamKind::Rate { min: SLOWEST, max: Rate::gbps(1000) };
    }
}

const HUNDRED_MBPS: Rate = match Rate::new(100_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// The share of a bandwidth-delay product that one of a hundred messages adds. PowerTCP §3.3
const PAPER_BETA: f64 = 0.01;

impl ByPreset for PowerTcpParams {
    fn from_preset(preset: Preset) -> Self {
        let usual = PowerTcpParams::default();
        match preset {
            Preset::HpccSim => usual,
            Preset::Paper => {
                PowerTcpParams { beta: PAPER_BETA, target: 1.0, min_rate: PAPER_MIN_RATE, ..usual }
            }
        }
    }
}

impl ByPreset for ThetaParams {
    fn from_preset(preset: Preset) -> Self {
        let usual = ThetaParams::default();
        match preset {
            Preset::HpccSim => usual,
            Preset::Paper => {
                ThetaParams { gamma: 0.9, beta: PAPER_BETA, target: 1.0, min_rate: PAPER_MIN_RATE }
            }
        }
    }
}

/// Power that a sender goes by.
const POWER: GaugeInfo = GaugeInfo::share(
    "power",
    "power",
    "the smoothed power of the path, 1 where its busiest link is full and nothing waits",
);

/// The window, whatever power is measured by.
struct Law {
    flow: Flow,
    gamma: f64,
    /// Additive increase in bytes.
    beta: f64,
    least: f64,
    window: f64,
    /// The window a round trip ago.
    old: f64,
    /// Power, smoothed over a round trip.
    power: f64,
    rounds: Rounds,
}

impl Law {
    fn new(flow: &Flow, (gamma, beta, min_rate): (f64, f64, Rate)) -> Law {
        let period = flow.base_rtt.as_secs_f64();
        // The lowest rate as a window: the law knows windows alone.
        let least = min_rate.bps() as f64 / 8.0 * period;
        let window = flow.bdp * flow.first / flow.line;
        Law {
            flow: *flow,
            gamma,
            beta: beta * flow.bdp,
            least: least.clamp(1.0, flow.bdp.max(1.0)),
            window,
            old: window,
            power: 1.0,
            rounds: Rounds::default(),
        }
    }

    /// Takes in a measurement of power over `seconds`. PowerTCP §3.3
    fn smooth_power(&mut self, power: f64, seconds: f64) {
        let period = self.flow.base_rtt.as_secs_f64();
        // A measurement over more than a round trip replaces the average altogether.
        let weight = (seconds / period).min(1.0);
        self.power = (1.0 - weight) * self.power + weight * power;
    }

    /// Sets the window. PowerTCP §3.3
    fn update_window(&mut self) {
        // Without measurements a link counts as nearly idle.
        let power = self.power.max(0.001);
        let aims = self.old / power + self.beta;
        let window = self.gamma * aims + (1.0 - self.gamma) * self.window;
        self.window = window.clamp(self.least, self.flow.bdp.max(self.least));
    }

    fn window_rate(&self) -> f64 {
        (self.window * 8.0 / self.flow.base_rtt.as_secs_f64()).clamp(1.0, self.flow.line)
    }
}

/// PowerTCP. See the module.
pub struct PowerTcp {
    target: f64,
    law: Law,
    memory: Memory,
}

impl RateControl for PowerTcp {
    type Params = PowerTcpParams;
    const INFO: TransportInfo = TransportInfo {
        name: "powertcp",
        summary: "RoCE: ports write what they carry into packets, and the window follows the power of the busiest",
        paper: "PowerTCP, NSDI 2022",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations!(
            "PowerTCP §3.3: stamps are those of HPCC and take the same 42 bytes. A path of more than five switches is too long for them, and its answers are not looked at.",
            "PowerTCP §3.3: what a message adds is a share of a bandwidth-delay product; the paper divides one by the number of messages, which a sender does not know, and the authors' simulator adds 150 Mb/s.",
            "PowerTCP §3.3: power has no bound from above, nor has the rate at which a port is fed one from below; the simulators have the one or the other.",
            "PowerTCP §3.3: the first answer is remembered alone, and an answer whose stamps do not follow those before is no sample.",
        ),
    };
    const PROBES: &'static [GaugeInfo] = &[probes::WINDOW, probes::RATE, probes::IN_FLIGHT, POWER];
    const TELEMETRY: u16 = Stamps::WIRE;

    fn least_rate(params: &PowerTcpParams) -> Rate {
        params.min_rate
    }

    fn new(params: &PowerTcpParams, flow: &Flow) -> Self {
        let law = Law::new(flow, (params.gamma, params.beta, params.min_rate));
        PowerTcp { target: params.target, law, memory: Memory::exact_stamps() }
    }

    fn handle_answer(&mut self, answer: &Answer<'_>) {
        let intervals = self.memory.process_stamps(answer.stamps);
        let round = self.law.rounds.classify_answer(answer);
        if let (Some((intervals, hops)), true) = (intervals, round != Round::First) {
            let period = self.law.flow.base_rtt.as_secs_f64();
            let mut busiest = (0.0, 0.0);
            for hop in intervals[..hops].iter().flatten() {
                // PowerTCP §3.3: the bytes that arrive at the port in a second, times those under way there.
                let current = (hop.queues.1 - hop.queues.0 + hop.sent) / hop.seconds;
                let voltage = hop.queues.1 + hop.rate / 8.0 * period;
                let base = (hop.rate / 8.0) * (hop.rate / 8.0) * period;
                let power = current * voltage / base / self.target;
                if power > busiest.0 {
                    busiest = (power, hop.seconds);
                }
            }
            self.law.smooth_power(busiest.0, busiest.1);
            self.law.update_window();
        }
        // Windows within a round start from the one at its beginning.
        if round != Round::Within {
            self.law.old = self.law.window;
        }
    }

    fn rate_bps(&self) -> f64 {
        self.law.window_rate()
    }

    fn window_bytes(&self) -> Option<f64> {
        Some(self.law.window)
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        found(&POWER, self.law.power);
    }
}

/// theta-PowerTCP. See the module.
pub struct Theta {
    target: f64,
    law: Law,
    /// The answer before: when it came, and its round trip.
    before: Option<(Time, Time)>,
}

impl RateControl for Theta {
    type Params = ThetaParams;
    const INFO: TransportInfo = TransportInfo {
        name: "powertcp-theta",
        summary: "RoCE: the window follows power, which is computed from round trips",
        paper: "PowerTCP, NSDI 2022",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations!(
            "PowerTCP §3.4: the base round trip is that of the network; the authors' simulator takes the smallest one that was measured.",
            "PowerTCP §3.3: what a message adds is a share of a bandwidth-delay product; the paper divides one by the number of messages, which a sender does not know, and the authors' simulator adds 150 Mb/s.",
            "PowerTCP §3.4: two answers of one instant are one sample, and the first answer is remembered alone.",
        ),
    };
    const PROBES: &'static [GaugeInfo] = &[probes::WINDOW, probes::RATE, probes::IN_FLIGHT, POWER];

    fn least_rate(params: &ThetaParams) -> Rate {
        params.min_rate
    }

    fn new(params: &ThetaParams, flow: &Flow) -> Self {
        let law = Law::new(flow, (params.gamma, params.beta, params.min_rate));
        Theta { target: params.target, law, before: None }
    }

    fn handle_answer(&mut self, answer: &Answer<'_>) {
        let round = self.law.rounds.classify_answer(answer);
        if let Some((then, rtt)) = self.before
            // Two answers of one instant would divide by nothing.
            && answer.now > then
        {
            // PowerTCP §3.4: the gradient of the round trip stands for that of the queue.
            let seconds = (answer.now - then).as_secs_f64();
            let gradient = (answer.rtt.as_secs_f64() - rtt.as_secs_f64()) / seconds;
            let empty = self.law.flow.base_rtt.as_secs_f64();
            let power = (gradient + 1.0) * answer.rtt.as_secs_f64() / empty / self.target;
            // A round trip that falls faster than time passes would be a negative power.
            self.law.smooth_power(power.max(0.0), seconds);
        }
        if self.before.is_none_or(|(then, _)| answer.now > then) {
            self.before = Some((answer.now, answer.rtt));
        }
        // The window moves once a round trip.
        if round == Round::Ends {
            self.law.update_window();
            self.law.old = self.law.window;
        }
    }

    fn rate_bps(&self) -> f64 {
        self.law.window_rate()
    }

    fn window_bytes(&self) -> Option<f64> {
        Some(self.law.window)
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        found(&POWER, self.law.power);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpcc::tests::make_stamp;
    use super::super::tests::{plain_answer, test_flow};
    use super::*;

    /// A window of 26,000 bytes after two answers with these stamps, over an own share of 520 bytes.
    fn window_after(first: Stamps, second: Stamps) -> f64 {
        let params = PowerTcpParams::from_preset(Preset::Paper);
        let mut power = PowerTcp::new(&params, &Flow { first: 50e9, ..test_flow() });
        power.handle_answer(&Answer { stamps: Some(&first), next: 26, ..plain_answer(Time::us(5)) });
        assert_eq!(power.window_bytes(), Some(26_000.0), "the first answer is remembered alone");
        power.handle_answer(&Answer {
            stamps: Some(&second),
            arrived: 27,
            next: 52,
            ..plain_answer(Time::us(9))
        });
        power.window_bytes().expect("it has one")
    }

    fn assert_near(window: f64, expected: f64) {
        assert!((window - expected).abs() < 1e-6, "{window}, not {expected}");
    }

    #[test]
    fn a_full_link_without_a_queue_has_a_power_of_one() {
        assert_near(window_after(make_stamp(0, 0, 0), make_stamp(4160, 52_000, 0)), 26_000.0 + 0.9 * 520.0);
    }

    #[test]
    fn a_queue_or_twice_the_rate_is_a_power_of_two() {
        let halved = 26_000.0 * 0.55 + 0.9 * 520.0;
        // A bandwidth-delay product waits, and stays.
        assert_near(window_after(make_stamp(0, 0, 52_000), make_stamp(4160, 52_000, 52_000)), halved);
        // The port receives twice as much as it sends, for half of a round trip: of that, the window remembers half.
        let fed = (1.0 + 2.0 * (26_000.0 + 52_000.0) / 52_000.0) / 2.0;
        assert_near(
            window_after(make_stamp(0, 0, 0), make_stamp(2080, 26_000, 26_000)),
            0.9 * (26_000.0 / fed + 520.0) + 2600.0,
        );
        // It drains, and receives half of what it sends, and a bandwidth-delay product is left.
        assert_near(
            window_after(make_stamp(0, 0, 78_000), make_stamp(4160, 52_000, 52_000)),
            26_000.0 + 0.9 * 520.0,
        );
    }

    #[test]
    fn within_a_round_trip_windows_start_from_the_same_one() {
        let params = PowerTcpParams { gamma: 1.0, ..PowerTcpParams::from_preset(Preset::Paper) };
        let mut power = PowerTcp::new(&params, &test_flow());
        let mut windows = Vec::new();
        for (n, arrived) in [(0, 1), (1, 2), (2, 3), (3, 54), (4, 55)] {
            let stamps = make_stamp(4160 * n, 52_000 * n, 52_000);
            let next = arrived + 52;
            power.handle_answer(&Answer {
                stamps: Some(&stamps),
                arrived,
                next,
                ..plain_answer(Time::us(5))
            });
            windows.push(power.window_bytes().expect("it has one").round());
        }
        assert_eq!(windows, [52_000.0, 26_520.0, 26_520.0, 26_520.0, 26_520.0 / 2.0 + 520.0]);
    }

    #[test]
    fn theta_moves_once_a_round_trip_by_what_round_trips_say() {
        let base = Time::ns(4160);
        let window = |rtts: [Time; 2]| {
            let mut theta =
                Theta::new(&ThetaParams::from_preset(Preset::Paper), &Flow { first: 50e9, ..test_flow() });
            theta.handle_answer(&Answer { rtt: rtts[0], next: 26, ..plain_answer(Time::us(10)) });
            let (now, rtt) = (Time::us(10) + base, rtts[1]);
            theta.handle_answer(&Answer { rtt, now, arrived: 20, next: 40, ..plain_answer(Time::ZERO) });
            assert_eq!(theta.window_bytes(), Some(26_000.0), "within the round");
            theta.handle_answer(&Answer { rtt, now, arrived: 27, next: 52, ..plain_answer(Time::ZERO) });
            theta.window_bytes().expect("it has one")
        };
        assert_near(window([base, base]), 26_000.0 + 0.9 * 520.0);
        // Twice the base round trip, steadily.
        assert_near(window([base * 2, base * 2]), 26_000.0 * 0.55 + 0.9 * 520.0);
        // The base round trip, falling by half of the time that passes: a power of a half, and 1.9 times the window.
        assert_near(window([base + base / 2, base]), 26_000.0 * 1.9 + 0.9 * 520.0);
    }
}
