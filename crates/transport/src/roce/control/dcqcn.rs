//! DCQCN: a congestion notification cuts the rate by a share that follows how often they come; timers raise it again.
//!
//! Source: Y. Zhu et al., SIGCOMM 2015, whose numbers are the preset `paper`; the rules of NICs as HPCC's simulator has them are
//! `hpcc-sim`. Ticks of the timers that change nothing cost nothing: they are made up for at the next
//! question.

use super::super::params::{ByPreset, Preset};
use super::super::{STATES, deviations};
use super::{Answer, Flow, RateControl, window_at};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;
use headway_units::{Rate, Time};

headway_params::params! {
    /// Parameters of DCQCN, with the values of `hpcc-sim`.
    pub struct DcqcnParams {
        /// Time between two congestion notifications of a message; with 0 the answer to every marked packet is one. paper: 50 us. DCQCN §3.2
        cnp_interval: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Weight of a notification in alpha. DCQCN §3.2
        g: f64 = 1.0 / 256.0, ParamKind::Float { min: 0.000_001, max: 1.0 };
        /// Time after which alpha falls if no notification came. paper: 55 us. DCQCN §3.2
        alpha_period: Time = Time::us(1), ParamKind::Time { min: Time::ns(100), max: Time::DAY };
        /// Time between two looks at whether to cut the rate; with 0 every notification cuts it. paper: 0 s. DCQCN §3.2
        decrease_period: Time = Time::us(4), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Time between two increases of the rate. paper: 55 us. DCQCN §3.2
        increase_period: Time = Time::us(300), ParamKind::Time { min: Time::us(1), max: Time::DAY };
        /// Bytes on the wire after which the rate is increased as well; 0 = never. paper: 10 MB. DCQCN §3.2
        byte_counter: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Increases that only return to the rate before the cut. paper: 5. DCQCN §3.2
        fast_recovery: u64 = 1, ParamKind::Int { min: 1, max: 1000 };
        /// Amount that an increase beyond these adds to the target, as a share of the link's rate. paper: 0.001. DCQCN §3.2
        rate_ai: f64 = 0.0002, ParamKind::Float { min: 0.000_000_1, max: 1.0 };
        /// The same when the rate has been increased for longer. paper: 0.01. DCQCN §3.2
        rate_hai: f64 = 0.002, ParamKind::Float { min: 0.000_000_1, max: 1.0 };
        /// True if a cut sets the target to the rate before it, although nothing was increased since the last cut. paper: true. DCQCN §3.2
        clamp_target: bool = false, ParamKind::Bool;
        /// Lowest rate. paper: 1 Mbps
        min_rate: Rate = Rate::gbps(1), ParamKind::Rate { min: SLOWEST, max: Rate::gbps(1000) };
        /// True if no more than a bandwidth-delay product at the present rate may be under way. HPCC §5.1
        window: bool = false, ParamKind::Bool;
    }
}

/// The lowest of all rates.
pub(super) const SLOWEST: Rate = match Rate::new(1) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// The lowest rate where a paper names none: that of NICs.
pub(super) const PAPER_MIN_RATE: Rate = match Rate::new(1_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

impl ByPreset for DcqcnParams {
    fn from_preset(preset: Preset) -> Self {
        match preset {
            Preset::HpccSim => DcqcnParams::default(),
            Preset::Paper => DcqcnParams {
                cnp_interval: Time::us(50),
                alpha_period: Time::us(55),
                decrease_period: Time::ZERO,
                increase_period: Time::us(55),
                byte_counter: 10_000_000,
                fast_recovery: 5,
                rate_ai: 0.001,
                rate_hai: 0.01,
                clamp_target: true,
                min_rate: PAPER_MIN_RATE,
                ..DcqcnParams::default()
            },
        }
    }
}

/// Looks at whether to cut come this much after the ticks of alpha, which begin with them. HPCC §5.1
const AFTER_ALPHA: Time = Time::ns(1);

/// State of a message under limits.
#[derive(Clone, Debug)]
struct Limited {
    alpha: f64,
    /// Last tick of alpha that is made up for, and whether a notification came since.
    alpha_at: Time,
    alpha_heard: bool,
    /// Last look at whether to cut, and whether a notification came since.
    looked: Time,
    look_heard: bool,
    target: f64,
    /// Increases since the last cut: by time, and by bytes.
    by_time: u64,
    by_bytes: u64,
    /// Time at which the next one is due; never if it would change nothing.
    increase: Option<Time>,
    bytes: u64,
}

/// See the module.
pub struct Dcqcn {
    params: DcqcnParams,
    flow: Flow,
    rate: f64,
    /// Nothing before the first notification.
    limited: Option<Limited>,
}

impl Dcqcn {
    fn least_bps(&self) -> f64 {
        (self.params.min_rate.bps() as f64).min(self.flow.line)
    }

    /// The next timer event, if one that has an effect comes by `now`.
    fn next(&self, now: Time) -> Option<(Time, Tick)> {
        let limited = self.limited.as_ref()?;
        let look = (limited.look_heard && self.params.decrease_period > Time::ZERO).then(|| {
            // The first look that no notification has missed.
            limited.looked.saturating_add(self.params.decrease_period)
        });
        // At one instant the cut comes before the increase: `min_by_key` keeps the first.
        let ticks = [look.map(|at| (at, Tick::Look)), limited.increase.map(|at| (at, Tick::Increase))];
        ticks.into_iter().flatten().filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at)
    }

    fn cut_rate(&mut self, now: Time) {
        let least = self.least_bps();
        let Some(limited) = &mut self.limited else { return };
        if self.params.clamp_target || limited.by_time + limited.by_bytes > 0 {
            limited.target = self.rate;
        }
        self.rate = (self.rate * (1.0 - limited.alpha / 2.0)).max(least);
        (limited.by_time, limited.by_bytes, limited.bytes) = (0, 0, 0);
        // A cut starts the wait for the next increase from the beginning.
        limited.increase = Some(now.saturating_add(self.params.increase_period));
    }

    /// Increases the rate, because of time or because of bytes. DCQCN §3.2
    fn increase_rate(&mut self, by_bytes: bool) {
        let (line, threshold) = (self.flow.line, self.params.fast_recovery);
        let Some(limited) = &mut self.limited else { return };
        let adds = if self.params.byte_counter == 0 {
            // The number of increases before this one decides. HPCC §5.1
            limited.by_time += 1;
            match (limited.by_time - 1).cmp(&threshold) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => self.params.rate_ai,
                std::cmp::Ordering::Greater => self.params.rate_hai,
            }
        } else {
            *(if by_bytes { &mut limited.by_bytes } else { &mut limited.by_time }) += 1;
            let (least, most) =
                (limited.by_time.min(limited.by_bytes), limited.by_time.max(limited.by_bytes));
            if most < threshold {
                0.0
            } else if least > threshold {
                (least - threshold) as f64 * self.params.rate_hai
            } else {
                self.params.rate_ai
            }
        };
        limited.target = (limited.target + adds * line).min(line);
        self.rate = self.rate / 2.0 + limited.target / 2.0;
    }
}

/// Event of a timer.
#[derive(Clone, Copy)]
enum Tick {
    Look,
    Increase,
}

impl Limited {
    /// Alpha as it is at `now`.
    fn decay_alpha(&mut self, params: &DcqcnParams, now: Time) {
        let period = params.alpha_period.0;
        let mut ticks = now.saturating_sub(self.alpha_at).0 / period;
        self.alpha_at = self.alpha_at.saturating_add(Time(ticks.saturating_mul(period)));
        // A notification counts in the period in which it arrived, the first of these; the others had none.
        if ticks > 0 && std::mem::take(&mut self.alpha_heard) {
            self.alpha = (1.0 - params.g) * self.alpha + params.g;
            ticks -= 1;
        }
        self.alpha *= repeated_power(1.0 - params.g, ticks);
    }
}

/// `base`, which is at most 1, to the power of `times`.
fn repeated_power(base: f64, times: u64) -> f64 {
    let (mut out, mut square, mut left) = (1.0, base, times);
    while left > 0 && out > 0.0 {
        if left & 1 == 1 {
            out *= square;
        }
        square *= square;
        left >>= 1;
    }
    out
}

impl RateControl for Dcqcn {
    type Params = DcqcnParams;
    const INFO: TransportInfo = TransportInfo {
        name: "dcqcn",
        summary: "RoCE: marks come back as congestion notifications that cut the rate, timers raise it",
        paper: "DCQCN, SIGCOMM 2015",
        discipline: "red-ecn",
        states: STATES,
        deviations: deviations!(
            "DCQCN §3.2: a congestion notification is a flag of the answer to a marked packet, as in HPCC's simulator, and no packet of its own; it leaves at the same time.",
            "DCQCN §3.2: the paper names no rate of hyper increase. `paper` has ten times the additive one, which is the ratio of HPCC's simulator.",
            "DCQCN §3.2: alpha, target and byte counter begin anew with each message: a message is a queue pair of its own.",
        ),
    };
    const PROBES: &'static [GaugeInfo] = &[probes::RATE, probes::IN_FLIGHT, probes::ALPHA];
    const WINDOWED: bool = false;
    const ECN: bool = true;

    fn notification_gap(params: &DcqcnParams) -> Time {
        params.cnp_interval
    }

    fn least_rate(params: &DcqcnParams) -> Rate {
        params.min_rate
    }

    fn new(params: &DcqcnParams, flow: &Flow) -> Self {
        Dcqcn { params: params.clone(), flow: *flow, rate: flow.first, limited: None }
    }

    fn pass_time(&mut self, now: Time) {
        while let Some((at, tick)) = self.next(now) {
            match tick {
                Tick::Look => {
                    if let Some(limited) = &mut self.limited {
                        // Alpha first: the cut uses its value at this tick.
                        limited.decay_alpha(&self.params, at);
                        (limited.looked, limited.look_heard) = (at, false);
                    }
                    self.cut_rate(at);
                }
                Tick::Increase => {
                    self.increase_rate(false);
                    // At the line nothing can rise: the timer rests until the next cut.
                    let (done, every) = (self.rate >= self.flow.line, self.params.increase_period);
                    if let Some(limited) = &mut self.limited {
                        limited.increase = (!done).then(|| at.saturating_add(every));
                    }
                }
            }
        }
    }

    fn handle_answer(&mut self, answer: &Answer<'_>) {
        let now = answer.now;
        // Steps that were due before this answer come first.
        self.pass_time(now);
        if !answer.marked {
            return;
        }
        let period = self.params.decrease_period;
        let (first, target) = (self.limited.is_none(), self.rate);
        let limited = self.limited.get_or_insert(Limited {
            alpha: 1.0,
            alpha_at: now,
            alpha_heard: false,
            looked: now.saturating_add(AFTER_ALPHA),
            look_heard: false,
            target,
            by_time: 0,
            by_bytes: 0,
            increase: None,
            bytes: 0,
        });
        limited.decay_alpha(&self.params, now);
        if period == Time::ZERO {
            // DCQCN §3.2: a notification cuts at once, and the next decay of alpha is a period away.
            self.cut_rate(now);
            if let Some(limited) = &mut self.limited {
                limited.alpha = (1.0 - self.params.g) * limited.alpha + self.params.g;
                limited.alpha_at = now;
            }
            return;
        }
        // The first notification sets alpha, and does not count for its first tick.
        limited.alpha_heard |= !first;
        limited.look_heard = true;
        // Looks before which nothing was heard changed nothing: they are only counted.
        let missed = now.saturating_sub(limited.looked).0 / period.0;
        limited.looked = limited.looked.saturating_add(Time(missed * period.0));
    }

    fn note_departure(&mut self, _: Time, wire: u16) {
        let every = self.params.byte_counter;
        let (below, Some(limited)) = (self.rate < self.flow.line, &mut self.limited) else { return };
        if every == 0 || !below {
            return;
        }
        limited.bytes += u64::from(wire);
        if limited.bytes >= every {
            limited.bytes -= every;
            self.increase_rate(true);
        }
    }

    fn rate_bps(&self) -> f64 {
        self.rate
    }

    fn window_bytes(&self) -> Option<f64> {
        self.params.window.then(|| window_at(&self.flow, self.rate))
    }

    fn next_rise(&self) -> Option<Time> {
        self.limited.as_ref().and_then(|limited| limited.increase)
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        if let Some(limited) = &self.limited {
            found(&probes::ALPHA, limited.alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_answer, test_flow};
    use super::*;

    fn dcqcn_with(preset: Preset) -> Dcqcn {
        Dcqcn::new(&DcqcnParams::from_preset(preset), &test_flow())
    }

    fn notify_at(dcqcn: &mut Dcqcn, now: Time) {
        dcqcn.handle_answer(&Answer { marked: true, ..plain_answer(now) });
    }

    fn gbps_at(dcqcn: &mut Dcqcn, now: Time) -> f64 {
        dcqcn.pass_time(now);
        (dcqcn.rate_bps() / 1e7).round() / 100.0
    }

    /// One notification: alpha has fallen four times when the rate is cut, and the target stays.
    #[test]
    fn one_notification_halves_the_rate_nearly_and_timers_bring_it_back() {
        let mut dcqcn = dcqcn_with(Preset::HpccSim);
        let start = Time::us(10);
        notify_at(&mut dcqcn, start);
        assert_eq!(gbps_at(&mut dcqcn, start + Time::us(4)), 100.0);
        let cut = start + Time::us(4) + Time::ns(1);
        let alpha = repeated_power(255.0 / 256.0, 4);
        assert_eq!(gbps_at(&mut dcqcn, cut), 50.78);
        assert_eq!(dcqcn.rate_bps(), 100e9 * (1.0 - alpha / 2.0));
        assert_eq!(dcqcn.next_rise(), Some(cut + Time::us(300)));
        for (step, rate) in [75.39, 87.69, 93.85].into_iter().enumerate() {
            let at = cut + Time::us(300 * (step as u64 + 1));
            assert!(gbps_at(&mut dcqcn, Time(at.0 - 1)) < rate);
            assert_eq!(gbps_at(&mut dcqcn, at), rate);
            assert_eq!(dcqcn.limited.as_ref().map(|limited| limited.target), Some(100e9));
        }
    }

    #[test]
    fn notifications_all_the_time_lead_to_the_lowest_rate_in_seven_cuts() {
        let mut dcqcn = dcqcn_with(Preset::HpccSim);
        let mut seen = vec![100.0];
        // Every half microsecond for 40 us: ten looks, of which seven reach the lowest rate.
        for half in 0..80 {
            let now = Time::ns(500 * half);
            notify_at(&mut dcqcn, now);
            let rate = gbps_at(&mut dcqcn, now + Time::ns(1));
            if seen.last() != Some(&rate) {
                seen.push(rate);
            }
        }
        assert_eq!(seen, [100.0, 50.0, 25.0, 12.5, 6.25, 3.13, 1.56, 1.0]);
        assert_eq!(
            dcqcn.limited.as_ref().map(|limited| limited.target),
            Some(100e9),
            "none was increased between"
        );
    }

    #[test]
    fn a_cut_after_an_increase_sets_the_target() {
        let mut dcqcn = dcqcn_with(Preset::HpccSim);
        notify_at(&mut dcqcn, Time::ZERO);
        let before = gbps_at(&mut dcqcn, Time::us(310));
        assert_eq!(before, 75.39);
        notify_at(&mut dcqcn, Time::us(310));
        // The looks come every 4 us from the first notification on.
        assert_eq!(gbps_at(&mut dcqcn, Time::us(312)), before);
        let alpha = repeated_power(255.0 / 256.0, 311) + 1.0 / 256.0 * 255.0 / 256.0;
        let rate = gbps_at(&mut dcqcn, Time::us(312) + Time::ns(1));
        assert!((rate - before * (1.0 - alpha / 2.0)).abs() < 0.15, "{rate}");
        assert_eq!(
            dcqcn.limited.as_ref().map(|limited| (limited.target / 1e7).round() / 100.0),
            Some(before)
        );
    }

    #[test]
    fn alpha_is_half_after_177_periods_of_silence() {
        for (preset, period) in [(Preset::HpccSim, 1), (Preset::Paper, 55)] {
            let mut dcqcn = dcqcn_with(preset);
            notify_at(&mut dcqcn, Time::ZERO);
            let limited = dcqcn.limited.as_mut().expect("a notification came");
            let before = limited.alpha;
            limited.decay_alpha(&dcqcn.params, Time::us(176 * period));
            assert!(limited.alpha > before / 2.0);
            limited.decay_alpha(&dcqcn.params, Time::us(177 * period + 1));
            assert!(limited.alpha * 2.0 - before < 0.001 && limited.alpha < before * 0.5005);
        }
    }

    /// The paper's own rules: at once to the half, and back in five steps, by time or by bytes.
    #[test]
    fn the_papers_rules_recover_fast_and_then_add() {
        let mut by_time = dcqcn_with(Preset::Paper);
        notify_at(&mut by_time, Time::us(7));
        assert_eq!((gbps_at(&mut by_time, Time::us(7)), by_time.next_rise()), (50.0, Some(Time::us(62))));
        let seen: Vec<f64> = (1..=4).map(|n| gbps_at(&mut by_time, Time::us(7 + 55 * n))).collect();
        assert_eq!(seen, [75.0, 87.5, 93.75, 96.88]);
        let mut by_bytes = dcqcn_with(Preset::Paper);
        notify_at(&mut by_bytes, Time::us(7));
        // 10 MB on the wire: one step of the byte counter.
        (0..10_000).for_each(|_| by_bytes.note_departure(Time::us(8), 1000));
        assert_eq!(by_bytes.rate_bps(), 75e9);
        assert_eq!(by_bytes.limited.as_ref().map(|limited| limited.target), Some(100e9));
    }

    /// Below the line, with the target there too: time adds 0.1 % of the line, and time and bytes together ten times that, more
    /// with each step.
    #[test]
    fn the_papers_target_rises_in_steps() {
        let mut dcqcn = dcqcn_with(Preset::Paper);
        notify_at(&mut dcqcn, Time::ZERO);
        notify_at(&mut dcqcn, Time::us(1));
        assert_eq!(
            dcqcn.limited.as_ref().map(|limited| limited.target),
            Some(50e9),
            "the rate before the second cut"
        );
        let target = |dcqcn: &Dcqcn| dcqcn.limited.as_ref().map(|limited| (limited.target / 1e6) as u64);
        (0..4).for_each(|_| dcqcn.increase_rate(false));
        assert_eq!(target(&dcqcn), Some(50_000));
        dcqcn.increase_rate(false);
        dcqcn.increase_rate(false);
        assert_eq!(target(&dcqcn), Some(50_200), "additive from the fifth on");
        (0..5).for_each(|_| dcqcn.increase_rate(true));
        assert_eq!(target(&dcqcn), Some(50_700));
        dcqcn.increase_rate(true);
        assert_eq!(target(&dcqcn), Some(51_700), "both have more than five: hyper, once");
        dcqcn.increase_rate(false);
        dcqcn.increase_rate(true);
        assert_eq!(target(&dcqcn), Some(54_700), "and twice");
    }

    #[test]
    fn a_power_is_that_of_the_long_way() {
        for times in [0, 1, 2, 3, 177, 1000] {
            let long = (0..times).fold(1.0, |product, _| product * (255.0 / 256.0));
            assert!((repeated_power(255.0 / 256.0, times) - long).abs() < 1e-12);
        }
        assert_eq!(repeated_power(0.5, u64::MAX), 0.0);
    }
}
