//! The arithmetic in C and the machines of the lab, on the same recorded connections.
//!
//! The kernel's window is of whole packets, with credit towards the next one; the lab's is a real number. The
//! controllers of the lab are therefore asked twice: with a window of whole packets, which must be equal to the
//! kernel's after every step, and as they are: by how much that may differ is what [`Compared::check_totals`] says.

use crate::host;
use crate::sequences::{Action, PAYLOAD, Sequence, Step, random_sequence, sequence_text, without_marks};
use headway_kernel::Control;
use headway_kernel::settings::PACKET;
use headway_params::{ParamValue, Params};
use headway_transport::Path as NetworkPath;
use headway_transport::tcp::control::d2tcp::D2tcp;
use headway_transport::tcp::control::dctcp::Dctcp;
use headway_transport::tcp::control::l2dct::L2dct;
use headway_transport::tcp::control::vegas::Vegas;
use headway_transport::tcp::control::{Ack, CongestionControl, Flow, Phase, Window};
use headway_transport::tcp::params::ConnectionParams;
use headway_units::{Rate, Time};

/// Number of recorded connections.
fn sequence_count() -> u64 {
    250 * u64::from(headway_testing::times())
}
const STEPS: usize = 400;

/// Window, threshold and share after each step.
type Windows = Vec<(u32, u32, u32)>;

/// Windows that `replay.c` computes; `None` without a C compiler.
fn in_c(control: Control, sets: &[String], text: &str) -> Option<Windows> {
    let settings = control.parse_settings(sets).expect("good").to_bytes();
    let output = host::compiled_output("replay.c", &[control.name()], &settings, text)?;
    let numbers = |line: &str| {
        let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
        let mut next = || words.next().expect("three");
        (next(), next(), next())
    };
    Some(output.lines().map(numbers).collect())
}

/// A controller of the lab, with a window of whole packets or of any.
struct Lab<C> {
    control: C,
    window: Window,
    /// Towards the next packet, in thousandths; for a window of whole packets.
    credit: u64,
    whole: bool,
    least: f64,
}

impl<C: CongestionControl> Lab<C> {
    fn new(
        params: &C::Params,
        sequence: &Sequence,
        deadline: Option<u64>,
        slow_start: bool,
        whole: bool,
    ) -> Self {
        let flow = Flow {
            start: Time::ZERO,
            bytes: u64::from(sequence.packets) * PAYLOAD,
            packets: sequence.packets,
            payload: PAYLOAD as u16,
            deadline: deadline.map(Time::us),
            rtt: None,
            entropy: 0,
            path: NetworkPath {
                base_rtt: Time::us(300),
                max_rtt: Time::ms(2),
                bottleneck: Rate::gbps(1),
                paths: 0,
                hops: 1,
                longest_timeout: Time::MAX,
            },
        };
        let cwnd = f64::from(sequence.steps[0].acked);
        let window = Window { cwnd, ssthresh: if slow_start { f64::INFINITY } else { cwnd } };
        let control = C::new(params, &ConnectionParams::default(), &flow);
        Lab { control, window, credit: 0, whole, least: 2.0 }
    }

    fn take_step(&mut self, step: &Step) {
        let ack = step_ack(step);
        self.control.handle_ack(&mut self.window, &ack);
        let cwnd = self.window.cwnd;
        match step.action {
            Action::New | Action::Nothing => {}
            Action::Grow if self.whole => self.grow_window(&ack),
            Action::Grow => self.control.grow_window(&mut self.window, &ack),
            // The kernel leaves two packets also where there was one; the lab's machine leaves the one.
            Action::Mark => {
                let target = self.control.window_after_mark(&self.window, &ack).max(self.least);
                self.reduce_window(target);
            }
            Action::Loss => {
                let target = self.control.window_after_loss(&self.window, cwnd, ack.now);
                self.reduce_window(target);
            }
            Action::TimeOut => {
                let target = self.control.timed_out(&self.window, cwnd, ack.now);
                self.reduce_window(target);
                self.window.cwnd = 1.0;
            }
        }
    }

    fn reduce_window(&mut self, target: f64) {
        let target = if self.whole { target.floor() } else { target };
        self.window = Window { cwnd: target, ssthresh: target };
        self.credit = 0;
    }

    /// Growth is saved up until it is a whole packet: `tcp_cong_avoid_ai` of Linux.
    fn grow_window(&mut self, ack: &Ack) {
        let mut real = self.window;
        self.control.grow_window(&mut real, ack);
        let mut more = self.window;
        self.control.grow_window(&mut more, &Ack { acked: ack.acked + 1, ..*ack });
        // Growth that does not depend on the number of acknowledged packets comes in whole packets at once.
        if more == real {
            self.window = real;
            return;
        }
        let left = self.window.grow_slowly(ack.acked);
        if left == 0.0 {
            return;
        }
        let (cwnd, full) = (self.window.cwnd, self.window.cwnd * f64::from(PACKET));
        let earned = (real.cwnd - cwnd) * full;
        if self.credit as f64 >= full {
            self.credit = 0;
            self.window.cwnd += 1.0;
        }
        self.credit += earned.round() as u64;
        self.window.cwnd += (self.credit / full as u64) as f64;
        self.credit %= full as u64;
    }
}

fn step_ack(step: &Step) -> Ack<'static> {
    let acked = if step.action == Action::New { 0 } else { step.acked };
    Ack {
        now: Time::us(step.now),
        una: step.una,
        next: step.next,
        acked,
        delivered: acked,
        delivered_total: 0,
        repaired: false,
        lost: 0,
        ece: step.ece,
        rtt: step.rtt.map(|us| Time::us(us.into())),
        srtt: Time::us(step.srtt.into()),
        min_rtt: Time::us(step.srtt.into()),
        pipe_before: 0,
        pipe: 0,
        limited: true,
        phase: if step.open { Phase::Open } else { Phase::Recovery },
        rate: None,
        siblings: &[],
    }
}

/// A controller's parameters that lab and kernel share; those that only the lab has keep their defaults.
fn shared_params<P: Params>(sets: &[(&str, ParamValue)]) -> P {
    let mut params = P::default();
    for (name, value) in sets {
        params.set(name, value.clone()).expect("a parameter");
    }
    params
}

/// Totals over the connections of one control.
#[derive(Debug, Default)]
struct Compared {
    steps: usize,
    reductions: usize,
    /// Times that a window became smaller though nothing was marked or lost.
    decreases: usize,
    largest: u32,
    /// The farthest that the lab's real window was from the kernel's, in packets and as a share.
    packets: f64,
    share: f64,
}

/// Replays all sequences through C and the lab; both windows must be equal after every step.
fn compare_sequences<C: CongestionControl>(
    control: Control,
    sets: &[(&str, ParamValue)],
    deadline: Option<u64>,
    real: &[(&str, ParamValue)],
) -> Option<Compared> {
    let mut texts: Vec<String> = sets.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts.extend(deadline.map(|us| format!("deadline={us} us")));
    let slow_start = sets.iter().all(|(name, _)| *name != "slow_start");
    let recorded = |seed| match C::ECN {
        true => random_sequence(seed, STEPS),
        false => without_marks(random_sequence(seed, STEPS)),
    };
    let sequences: Vec<Sequence> = (0..sequence_count()).map(recorded).collect();
    let recorded: String = sequences.iter().map(|one| sequence_text(one, deadline.unwrap_or(0))).collect();
    let windows = in_c(control, &texts, &recorded)?;
    let fixed = ("arithmetic", ParamValue::Choice("fixed-point".into()));
    // Only controllers that answer marks have arithmetic to choose; Vegas knows no such parameter.
    let whole = if C::ECN { std::slice::from_ref(&fixed) } else { &[] };
    let integers = shared_params::<C::Params>(&[sets, whole].concat());
    let reals = shared_params::<C::Params>(&[sets, real].concat());
    let (mut compared, mut windows) = (Compared::default(), windows.into_iter());
    for (number, sequence) in sequences.iter().enumerate() {
        let mut whole = Lab::<C>::new(&integers, sequence, deadline, slow_start, true);
        let mut exact = Lab::<C>::new(&reals, sequence, deadline, slow_start, false);
        let mut before = 0;
        for (index, step) in sequence.steps.iter().enumerate() {
            let (cwnd, ssthresh, alpha) = windows.next().expect("a line for each step");
            // The first step makes the connection, in C as in the lab.
            if step.action != Action::New {
                whole.take_step(step);
                exact.take_step(step);
            }
            assert_eq!(
                f64::from(cwnd),
                whole.window.cwnd,
                "{control:?}, connection {number}, step {index}: {step:?}, alpha {alpha}"
            );
            if whole.window.ssthresh.is_finite() {
                assert_eq!(f64::from(ssthresh), whole.window.ssthresh, "{control:?} {number} {index}");
            }
            compared.account_step(step, std::mem::replace(&mut before, cwnd), cwnd, exact.window.cwnd);
        }
    }
    assert_eq!(windows.next(), None);
    eprintln!("{}: {compared:?}", control.name());
    Some(compared)
}

impl Compared {
    fn account_step(&mut self, step: &Step, before: u32, cwnd: u32, real: f64) {
        self.steps += 1;
        let calm = matches!(step.action, Action::Grow | Action::Nothing);
        self.reductions += usize::from(!calm && step.action != Action::New);
        self.decreases += usize::from(calm && cwnd < before);
        self.largest = self.largest.max(cwnd);
        let distance = (real - f64::from(cwnd)).abs();
        self.packets = self.packets.max(distance);
        self.share = self.share.max(distance / f64::from(cwnd).max(real));
    }

    /// That something happened in them, and how far the lab's real window went from the kernel's: a whole window
    /// takes W acknowledgements for one more packet, a real one W + 1/2, and a loss leaves half of a fraction.
    /// There are `changes` in 250 connections.
    fn check_totals(&self, farthest: f64, changes: usize) {
        assert!(self.packets < farthest, "{self:?}");
        // Sequences have between half of `STEPS` and all of them.
        assert!(self.steps as u64 > sequence_count() * STEPS as u64 / 2, "{self:?}");
        let changes = changes * headway_testing::times() as usize;
        assert!(self.reductions + self.decreases > changes && self.largest > 100, "{self:?}");
    }
}

#[test]
fn dctcp_has_the_labs_window_after_every_step() {
    let fixed = [("arithmetic", ParamValue::Choice("fixed-point".into()))];
    if let Some(compared) = compare_sequences::<Dctcp>(Control::Dctcp, &[], None, &fixed) {
        compared.check_totals(3.0, 1250);
    }
}

#[test]
fn l2dct_has_the_labs_window_after_every_step() {
    let fixed = [("arithmetic", ParamValue::Choice("fixed-point".into()))];
    if let Some(compared) = compare_sequences::<L2dct>(Control::L2dct, &[], None, &fixed) {
        compared.check_totals(3.0, 1250);
    }
    let sets = [
        ("g", ParamValue::Float(0.25)),
        ("alpha_init", ParamValue::Float(0.45)),
        ("young", ParamValue::Int(30_000)),
        ("old", ParamValue::Int(400_000)),
    ];
    if let Some(compared) = compare_sequences::<L2dct>(Control::L2dct, &sets, None, &fixed) {
        compared.check_totals(3.0, 1250);
    }
}

#[test]
fn d2tcp_has_the_labs_window_after_every_step() {
    for deadline in [None, Some(20_000), Some(300_000)] {
        if let Some(compared) = compare_sequences::<D2tcp>(Control::D2tcp, &[], deadline, &[]) {
            // Its alpha is a real number there, and never falls to 0.
            compared.check_totals(10.0, 1250);
        }
    }
}

#[test]
fn vegas_has_the_labs_window_after_every_step() {
    let tight = [("alpha", ParamValue::Int(0)), ("beta", ParamValue::Int(1)), ("gamma", ParamValue::Int(0))];
    let loose =
        [("alpha", ParamValue::Int(20)), ("beta", ParamValue::Int(60)), ("gamma", ParamValue::Int(30))];
    for sets in [&[][..], &tight, &loose] {
        if let Some(compared) = compare_sequences::<Vegas>(Control::Vegas, sets, None, &[]) {
            // Nothing is marked, and a round trip decides for a packet at most.
            compared.check_totals(3.0, 250);
            assert!(compared.reductions > 125 && compared.decreases > 62, "{compared:?}");
        }
    }
}
