//! HPCC: ports report their load, and the rate goes where the busiest of them is used to 95 %.
//!
//! Source: Y. Li et al., SIGCOMM 2019, with the numbers of its simulator (`hpcc-sim`) or of the paper. The paper controls a window and
//! sends at that window in a base round trip; the simulator controls the rate, and the window follows. Both are the same.

use super::super::params::{ByPreset, Preset};
use super::super::{STATES, deviations};
use super::dcqcn::{PAPER_MIN_RATE, SLOWEST};
use super::{Answer, Flow, RateControl, Round, Rounds, window_at};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use headway_gauges::GaugeInfo;
use headway_packet::{Hop, Stamps};
use headway_params::ParamKind;
use headway_units::Rate;

headway_params::params! {
    /// Parameters of HPCC, with the values of `hpcc-sim`.
    pub struct HpccParams {
        /// Share of the busiest link that is aimed at. HPCC §3.2
        eta: f64 = 0.95, ParamKind::Float { min: 0.01, max: 1.0 };
        /// Round trips of additive increase in a row, after which the rate is set by the utilisation although that is low. paper: 5. HPCC §3.2
        max_stage: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Amount that each decision adds, as a share of the link's rate. paper: 0.0005, which is (1 - eta) of 100 messages. HPCC §3.3
        rate_ai: f64 = 0.0004, ParamKind::Float { min: 0.000_000_1, max: 1.0 };
        /// Lowest rate. paper: 1 Mbps
        min_rate: Rate = Rate::gbps(1), ParamKind::Rate { min: SLOWEST, max: Rate::gbps(1000) };
        /// True if stamps are read as coarse as HPCC's header of 64 bits a hop has them, but without its overflow. HPCC §4.1
        coarse: bool = false, ParamKind::Bool;
    }
}

impl ByPreset for HpccParams {
    fn from_preset(preset: Preset) -> Self {
        let usual = HpccParams::default();
        match preset {
            Preset::HpccSim => usual,
            Preset::Paper => HpccParams { max_stage: 5, rate_ai: 0.0005, min_rate: PAPER_MIN_RATE, ..usual },
        }
    }
}

/// Utilisation that a sender goes by.
const UTILISATION: GaugeInfo = GaugeInfo::share(
    "inflight_share",
    "in flight",
    "bytes under way over the busiest link of the path, as the sender estimates them, in bandwidth-delay products",
);

/// Units of HPCC's header at 25 Gb/s: bytes sent, and bytes that wait. HPCC §4.1
const UNITS: (u64, u64) = (128, 80);
/// The rate for which they are.
const OF_RATE: f64 = 25e9;

/// The stamps of the answer before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    last: Option<Stamps>,
    /// Units of bytes sent and of bytes that wait; 1 where they are exact. Times are nanoseconds where they are not.
    units: (u64, u64),
}

/// Progress of one hop between two answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    /// Seconds between the two.
    pub(super) seconds: f64,
    /// Bytes that it has sent in it.
    pub(super) sent: f64,
    /// Bytes that waited at its beginning and at its end.
    pub(super) queues: (f64, f64),
    /// Rate of the hop in bits a second.
    pub(super) rate: f64,
}

impl Memory {
    /// Memory of stamps that are read as they are.
    pub(super) fn exact_stamps() -> Memory {
        Memory { last: None, units: (1, 1) }
    }

    /// Memory of stamps that a host with a link of this rate reads in the units of HPCC's header.
    fn coarse_stamps(line: f64) -> Memory {
        let multiple = (line / OF_RATE).max(1.0) as u64;
        Memory { last: None, units: (UNITS.0 * multiple, UNITS.1 * multiple) }
    }

    fn interval_between(&self, before: &Hop, hop: &Hop) -> Option<Interval> {
        let (of_sent, of_queue) = self.units;
        // The header counts nanoseconds.
        let tick = if self.units == (1, 1) { 1 } else { 1000 };
        let time = |hop: &Hop| hop.at.0 / tick;
        // Stamps of an overtaken packet, or of the same instant, measure nothing.
        let took = time(hop).checked_sub(time(before)).filter(|took| *took > 0)? * tick;
        // Each counter is cut for itself, as the header carries only cut ones.
        let sent = (hop.sent / of_sent).saturating_sub(before.sent / of_sent) * of_sent;
        let queue = |hop: &Hop| (hop.queue / of_queue * of_queue) as f64;
        Some(Interval {
            seconds: took as f64 / 1e12,
            sent: sent as f64,
            queues: (queue(before), queue(hop)),
            rate: hop.rate.bps() as f64,
        })
    }

    /// Takes an answer's stamps in, and returns the change of each hop since those of the one before; nothing if they
    /// do not follow those, or are not all there. HPCC §3.2
    pub(super) fn process_stamps(
        &mut self,
        stamps: Option<&Stamps>,
    ) -> Option<([Option<Interval>; Stamps::ROOM], usize)> {
        let stamps = stamps.filter(|stamps| stamps.is_whole())?;
        let before = self.last.replace(*stamps)?;
        let (old, new) = (before.filled_hops(), stamps.filled_hops());
        // The path has changed: its hops cannot be compared.
        if old.len() != new.len() {
            return None;
        }
        let mut intervals = [None; Stamps::ROOM];
        for (place, (before, hop)) in intervals.iter_mut().zip(old.iter().zip(new)) {
            *place = Some(self.interval_between(before, hop)?);
        }
        Some((intervals, new.len()))
    }
}

/// See the module.
pub struct Hpcc {
    params: HpccParams,
    flow: Flow,
    /// The rate now, and the one that decisions start from.
    rate: f64,
    reference: f64,
    stage: u64,
    utilisation: f64,
    rounds: Rounds,
    memory: Memory,
}

impl Hpcc {
    /// Measures the utilisation of the busiest hop, weighted by the time over which it was measured. HPCC §3.2
    fn measure_utilisation(&mut self, intervals: &[Option<Interval>]) {
        let period = self.flow.base_rtt.as_secs_f64();
        let mut busiest = (0.0, 0.0);
        for hop in intervals.iter().flatten() {
            let sent = hop.sent * 8.0 / hop.seconds / hop.rate;
            // The smaller of both: a queue that has gone, or has just come, does not count.
            let waits = hop.queues.0.min(hop.queues.1) * 8.0 / (hop.rate * period);
            if sent + waits > busiest.0 {
                busiest = (sent + waits, hop.seconds);
            }
        }
        let weight = (busiest.1 / period).min(1.0);
        self.utilisation = (1.0 - weight) * self.utilisation + weight * busiest.0;
    }

    /// Sets the rate, and with the end of a round also the start of the next ones. HPCC §3.2
    fn decide_rate(&mut self, ends: bool) {
        let excess = self.utilisation / self.params.eta;
        let adds = self.params.rate_ai * self.flow.line;
        let (rate, stage) = if excess >= 1.0 || self.stage >= self.params.max_stage {
            // A utilisation of zero divides to infinity, which the clamp brings down to the line.
            (self.reference / excess + adds, 0)
        } else {
            (self.reference + adds, self.stage + 1)
        };
        let least = (self.params.min_rate.bps() as f64).min(self.flow.line);
        self.rate = rate.clamp(least, self.flow.line);
        // Within a round all decisions start from the same rate, so that a queue is answered once.
        if ends {
            (self.reference, self.stage) = (self.rate, stage);
        }
    }
}

impl RateControl for Hpcc {
    type Params = HpccParams;
    const INFO: TransportInfo = TransportInfo {
        name: "hpcc",
        summary: "RoCE: ports write what they carry into packets, and the rate follows the busiest of them",
        paper: "HPCC, SIGCOMM 2019",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations!(
            "HPCC §4.1: stamps are exact, and nothing in them overflows; `coarse` reads them in the units of the header. They take its 42 bytes in every data packet and every answer.",
            "HPCC §4.1: a path of more than five switches is too long for the header. Its answers are not looked at, as in the simulator: the message stays at the rate of its link.",
            "HPCC §3.2: there is one rate for a message, that of the busiest hop; the simulator can also keep one for each hop.",
            "HPCC §3.2: an answer whose stamps do not follow those before, because it was overtaken, is no sample.",
        ),
    };
    const PROBES: &'static [GaugeInfo] = &[probes::WINDOW, probes::RATE, probes::IN_FLIGHT, UTILISATION];
    const TELEMETRY: u16 = Stamps::WIRE;

    fn least_rate(params: &HpccParams) -> Rate {
        params.min_rate
    }

    fn new(params: &HpccParams, flow: &Flow) -> Self {
        Hpcc {
            params: params.clone(),
            flow: *flow,
            rate: flow.first,
            reference: flow.first,
            stage: 0,
            utilisation: 1.0,
            rounds: Rounds::default(),
            memory: if params.coarse { Memory::coarse_stamps(flow.line) } else { Memory::exact_stamps() },
        }
    }

    fn handle_answer(&mut self, answer: &Answer<'_>) {
        // Remembered in any round: the next answer measures from this one.
        let intervals = self.memory.process_stamps(answer.stamps);
        // The first answer is remembered alone.
        let round = self.rounds.classify_answer(answer);
        if let (Some((intervals, hops)), true) = (intervals, round != Round::First) {
            self.measure_utilisation(&intervals[..hops]);
            self.decide_rate(round == Round::Ends);
        }
    }

    fn rate_bps(&self) -> f64 {
        self.rate
    }

    fn window_bytes(&self) -> Option<f64> {
        Some(window_at(&self.flow, self.rate))
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        found(&UTILISATION, self.utilisation);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{plain_answer, test_flow};
    use super::*;
    use headway_units::Time;

    /// The stamp of a hop of 100 Gb/s.
    pub(in super::super) fn make_stamp(ns: u64, sent: u64, queue: u64) -> Stamps {
        let mut stamps = Stamps::default();
        stamps.push(Hop { at: Time::ns(ns), sent, queue, rate: Rate::gbps(100) });
        stamps
    }

    fn hpcc_with(params: HpccParams) -> Hpcc {
        Hpcc::new(&params, &test_flow())
    }

    /// Two answers with these stamps, the second of which ends a round.
    fn rate_after(mut hpcc: Hpcc, first: Stamps, second: Stamps) -> f64 {
        hpcc.handle_answer(&Answer { stamps: Some(&first), next: 52, ..plain_answer(Time::us(5)) });
        assert_eq!((hpcc.rate_bps(), hpcc.utilisation), (100e9, 1.0), "the first answer is remembered alone");
        hpcc.handle_answer(&Answer {
            stamps: Some(&second),
            arrived: 53,
            next: 104,
            ..plain_answer(Time::us(9))
        });
        hpcc.rate_bps() / 1e9
    }

    fn assert_near(rate: f64, expected: f64) {
        assert!((rate - expected).abs() < 0.005, "{rate}, not {expected}");
    }

    #[test]
    fn a_busy_link_with_a_queue_divides_the_rate() {
        let usual = HpccParams::default;
        // A whole round trip at line rate, with half a bandwidth-delay product waiting at both ends of it.
        assert_near(
            rate_after(hpcc_with(usual()), make_stamp(1000, 0, 26_000), make_stamp(5160, 52_000, 26_000)),
            63.37,
        );
        // A queue that has gone counts no more.
        assert_near(
            rate_after(hpcc_with(usual()), make_stamp(1000, 0, 26_000), make_stamp(5160, 52_000, 0)),
            95.04,
        );
        // Half a round trip has half the weight.
        assert_near(
            rate_after(hpcc_with(usual()), make_stamp(1000, 0, 26_000), make_stamp(3080, 26_000, 26_000)),
            76.04,
        );
        // Two round trips cannot use more than all of it.
        assert_near(
            rate_after(hpcc_with(usual()), make_stamp(1000, 0, 26_000), make_stamp(9320, 104_000, 26_000)),
            63.37,
        );
    }

    #[test]
    fn answers_within_a_round_start_from_the_same_rate() {
        let mut hpcc = hpcc_with(HpccParams::default());
        let mut send = |arrived, next, stamps: Stamps| {
            hpcc.handle_answer(&Answer { stamps: Some(&stamps), arrived, next, ..plain_answer(Time::us(5)) });
            (hpcc.rate_bps() / 1e7).round() / 100.0
        };
        assert_eq!(send(1, 52, make_stamp(0, 0, 26_000)), 100.0);
        assert_eq!(send(2, 53, make_stamp(4160, 52_000, 26_000)), 63.37);
        assert_eq!(send(3, 54, make_stamp(8320, 104_000, 26_000)), 63.37, "not divided twice");
        assert_eq!(send(53, 70, make_stamp(12_480, 156_000, 26_000)), 63.37, "the round ends");
        assert_eq!(
            send(54, 71, make_stamp(16_640, 208_000, 26_000)),
            40.18,
            "and the next starts from there"
        );
    }

    #[test]
    fn a_link_that_is_not_busy_lets_rates_rise_in_stages() {
        let rates = |params: HpccParams, rounds: u64| {
            let mut hpcc = Hpcc::new(&params, &Flow { first: 40e9, ..test_flow() });
            let mut rates = Vec::new();
            for n in 0..rounds {
                // Half of the link is used.
                let stamps = make_stamp(4160 * n, 26_000 * n, 0);
                let (arrived, next) = (1 + 52 * n as u32, 52 + 52 * n as u32);
                hpcc.handle_answer(&Answer {
                    stamps: Some(&stamps),
                    arrived,
                    next,
                    ..plain_answer(Time::us(5 * n))
                });
                rates.push((hpcc.rate_bps() / 1e7).round() / 100.0);
            }
            rates
        };
        let paper = HpccParams { rate_ai: 0.01, ..HpccParams::from_preset(Preset::Paper) };
        assert_eq!(rates(paper, 8), [40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 86.5, 87.5]);
        assert_eq!(rates(HpccParams { rate_ai: 0.01, ..HpccParams::default() }, 3), [40.0, 77.0, 100.0]);
    }

    #[test]
    fn the_busiest_hop_decides_by_its_own_rate() {
        let two = |ns, sent, queue| {
            let mut stamps = make_stamp(ns, sent, 0);
            stamps.push(Hop { at: Time::ns(ns + 2000), sent, queue, rate: Rate::gbps(400) });
            stamps
        };
        // A queue of 104 kB at 400 Gb/s is half a bandwidth-delay product there; a quarter of the link is used.
        assert_near(
            rate_after(hpcc_with(HpccParams::default()), two(0, 0, 104_000), two(4160, 52_000, 104_000)),
            95.04,
        );
        assert_near(
            rate_after(hpcc_with(HpccParams::default()), two(0, 0, 208_000), two(4160, 52_000, 208_000)),
            100.0 / (1.25 / 0.95) + 0.04,
        );
    }

    #[test]
    fn stamps_that_do_not_follow_are_no_sample() {
        let mut hpcc = hpcc_with(HpccParams::default());
        for (arrived, stamps) in [
            (1, make_stamp(5000, 0, 90_000)),
            (60, make_stamp(5000, 0, 90_000)),
            (120, make_stamp(4000, 0, 90_000)),
        ] {
            hpcc.handle_answer(&Answer {
                stamps: Some(&stamps),
                arrived,
                next: arrived + 50,
                ..plain_answer(Time::us(5))
            });
            assert_eq!(hpcc.rate_bps(), 100e9);
        }
        hpcc.handle_answer(&Answer { arrived: 180, next: 200, ..plain_answer(Time::us(5)) });
        assert_eq!(hpcc.rate_bps(), 100e9, "an answer without stamps");
    }

    #[test]
    fn coarse_stamps_are_those_of_the_header() {
        let memory = Memory::coarse_stamps(100e9);
        assert_eq!(memory.units, (512, 320));
        let hop = |at, sent, queue| Hop { at: Time(at), sent, queue, rate: Rate::gbps(100) };
        let interval =
            memory.interval_between(&hop(1999, 0, 639), &hop(90_001, 1090, 320)).expect("they follow");
        assert_eq!((interval.sent, interval.queues), (1024.0, (320.0, 320.0)));
        assert!((interval.seconds - 89e-9).abs() < 1e-15);
    }
}
