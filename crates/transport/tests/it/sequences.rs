//! Properties of every congestion controller, under any sequence of events of a connection:
//! acknowledgements of any kind, marks, losses, repetitions, time-outs, round trips of any length.
//!
//! Every transport of the registry that has a controller is walked ([`registry::visit_controller`]); the machine is the one that
//! runs, and the controller is watched ([`Watched`]):
//!
//! * the window is a number, not below nothing, and its course is the same each time;
//! * slow start adds no more than was acknowledged, and later phases no more than that either;
//! * marks and losses make no window larger, a time-out leaves a packet, and a repair no more than there was;
//! * a round with marks leads to no larger window than the same one without;
//! * a pace is finite, and more than nothing;
//! * no deadline is in the past, and one that is met does not stand.

use crate::watch;

use headway_params::{ParamSpec, ParamValue, Params};
use headway_primitives::mix;
use headway_transport::mptcp::{Coupled, Mptcp};
use headway_transport::registry;
use headway_transport::tcp::Tcp;
use headway_transport::tcp::control::{Ack, CongestionControl, ControllerVisitor, Flow, Phase, Window};
use headway_transport::tcp::params::ConnectionParams;
use headway_transport::{Path, Transport};
use headway_units::{Rate, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use watch::line::{Line, Step, any_steps, value_within};
use watch::wrong::{FAULTS, Wrong};
use watch::{Call, Watched, take_calls};

/// A connection with random parameters, and the events on it.
#[derive(Clone, Debug)]
struct Case {
    /// Choice for each parameter: its default, or another value.
    lot: u64,
    packets: u32,
    deadline: Option<Time>,
    steps: Vec<Step>,
}

fn any_case() -> impl Strategy<Value = Case> {
    let lot = prop_oneof![Just(0u64), any::<u64>()];
    let packets = prop_oneof![1u32..10, 1u32..3000, 1u32..1_000_000];
    let deadline = proptest::option::of(prop_oneof![0u64..1_000_000_000, any::<u64>()]);
    (lot, packets, deadline, any_steps()).prop_map(|(lot, packets, deadline, steps)| Case {
        lot,
        packets,
        deadline: deadline.map(Time),
        steps,
    })
}

impl Case {
    /// Other values than the default for a quarter of the parameters; of none where the lot is 0.
    fn chosen_parameters(&self, specs: Vec<ParamSpec>) -> Vec<(&'static str, ParamValue)> {
        // Hashed first: `lot ^ i` is the same number for many pairs.
        let lots = specs.into_iter().zip(0u64..).map(|(spec, i)| (spec, mix(self.lot ^ mix(i))));
        // `within` goes by lower bits, so that the choice says nothing of the value.
        let chosen = lots.filter(|(_, lot)| self.lot != 0 && lot >> 60 & 3 == 0);
        chosen.map(|(spec, lot)| (spec.name, value_within(&spec, lot))).collect()
    }

    fn run_transport<T: Transport>(&self) -> Vec<Call> {
        Line::new::<T>(
            &self.chosen_parameters(T::Params::specs()),
            self.packets,
            self.deadline,
            self.lot as u32,
        )
        .run_steps(&self.steps);
        take_calls()
    }
}

/// Runs a case through the transport whose controller it is; `None` for one that has none.
fn run_case(name: &str, case: &Case) -> Option<Vec<Call>> {
    let subflows = registry::find_entry(name)?.capabilities.multipath;
    registry::visit_controller(name, RunController { case, subflows })
}

struct RunController<'a> {
    case: &'a Case,
    subflows: bool,
}

impl ControllerVisitor for RunController<'_> {
    type Output = Vec<Call>;

    fn visit_control<C: CongestionControl>(self) -> Vec<Call> {
        match self.subflows {
            true => self.case.run_transport::<Mptcp<Coupled<Watched<C>>>>(),
            false => self.case.run_transport::<Tcp<Watched<C>>>(),
        }
    }
}

/// Asks a controller for `ECN`: true if it answers marks.
struct Ecn;

impl ControllerVisitor for Ecn {
    type Output = bool;

    fn visit_control<C: CongestionControl>(self) -> bool {
        C::ECN
    }
}

/// The transports that have a controller.
fn controlled_names() -> Vec<&'static str> {
    let has = |name: &&str| registry::visit_controller(name, Ecn).is_some();
    registry::NAMES.iter().copied().filter(has).collect()
}

proptest! {
    #![proptest_config(headway_testing::cases!(512))]

    #[test]
    fn every_controller_keeps_its_promises(number in 0..controlled_names().len(), case in any_case()) {
        let name = controlled_names()[number];
        // Calls of an earlier case of this thread are forgotten.
        take_calls();
        let first = run_case(name, &case);
        prop_assert_eq!(first, run_case(name, &case), "{} decides otherwise the second time", name);
    }
}

/// Something of everything: rounds that grow, marks, losses that are repaired, and a time-out.
fn something_of_everything() -> Case {
    let round = |marks| {
        let (wait, send) = (Step::Wait(20_000_000), Step::Send(64));
        [wait, send.clone(), Step::Arrive(255, 0), send, Step::Arrive(255, marks)]
    };
    let calm = || (0..8).flat_map(move |_| round(0));
    let losses = [Step::Send(64), Step::Lose(1)].into_iter().chain(calm());
    // A deadline that was put off since looks again, before it means anything.
    let time_out = [Step::Send(64), Step::Lose(255), Step::Expire, Step::Expire, Step::Expire];
    let time_out = time_out.into_iter().chain(calm());
    let steps = calm().chain(round(1)).chain(calm()).chain(losses).chain(time_out).collect();
    Case { lot: 0, packets: 100_000, deadline: None, steps }
}

/// The promises can be broken: a controller that breaks one is found out, and the same one that does not is left alone.
#[test]
fn a_wrong_controller_is_found_out() {
    let is_found_out = |fault: usize| {
        let case = something_of_everything();
        let run = || std::panic::catch_unwind(|| case.run_transport::<Tcp<Watched<Wrong>>>());
        Wrong::plant_fault(fault);
        // A case that panicked left its calls behind.
        take_calls();
        let (first, second) = (run(), run());
        !matches!((first, second), (Ok(first), Ok(second)) if first == second)
    };
    for (number, fault) in FAULTS.iter().enumerate() {
        assert_eq!(is_found_out(number), *fault != "nothing", "{fault}");
    }
}

/// Every transport with a controller is walked, and each controller gets every kind of call.
#[test]
fn every_kind_of_call_is_made_of_every_controller() {
    let mut runner = TestRunner::deterministic();
    let tree = |_| any_case().new_tree(&mut runner).expect("a case").current();
    let drawn: Vec<Case> = (0..300).map(tree).collect();
    take_calls();
    for name in controlled_names() {
        let made = drawn.iter().filter_map(|case| run_case(name, case)).flatten();
        let made: BTreeSet<&str> = made.map(|call| call.0).collect();
        for what in ["acknowledged", "grow", "marked", "lost", "timed out", "recovered"] {
            let wanted = what != "marked" || registry::visit_controller(name, Ecn) == Some(true);
            assert_eq!(made.contains(what), wanted, "{what} of {name}");
        }
    }
    assert!(controlled_names().len() > 10);
}

/// Rounds of acknowledgements in the order of their packets, one for each: the marks of each round, and the window behind
/// the last. A mark is answered once a window, and nothing grows until that is over.
fn run_rounds<C: CongestionControl>(
    params: &C::Params,
    start: Window,
    deadline: Option<Time>,
    marks: &[u64],
) -> Window {
    let flow = Flow {
        start: Time::ZERO,
        // Longer than any of the cases, so that no controller sees its end.
        bytes: 1 << 40,
        packets: 1 << 28,
        payload: 1460,
        deadline,
        rtt: None,
        entropy: 0,
        path: Path {
            longest_timeout: Time::MAX,
            base_rtt: Time::us(300),
            max_rtt: Time::ms(2),
            bottleneck: Rate::gbps(1),
            paths: 0,
            hops: 1,
        },
    };
    let mut control = C::new(params, &ConnectionParams::default(), &flow);
    let (mut window, mut una, mut reducing) = (start, 0, None);
    // From 1: acknowledgements of the first round come a round trip after the start.
    for (round, marks) in (1..).zip(marks) {
        for packet in 0..window.cwnd as u32 {
            una += 1;
            let ack = one_acknowledgement(
                una,
                &window,
                Time::us(300) * round,
                marks >> (packet % 64) & 1 == 1,
                reducing,
            );
            control.handle_ack(&mut window, &ack);
            reducing = reducing.filter(|point| una <= *point);
            if ack.ece && reducing.is_none() {
                // As the machine does: marks leave at least `min_window`, which is two packets.
                let target = control.window_after_mark(&window, &ack).max(window.cwnd.min(2.0));
                window = Window { cwnd: target, ssthresh: target };
                reducing = Some(ack.next);
            } else if !ack.ece && reducing.is_none() {
                control.grow_window(&mut window, &ack);
            }
        }
    }
    window
}

fn one_acknowledgement(
    una: u32,
    window: &Window,
    now: Time,
    ece: bool,
    reducing: Option<u32>,
) -> Ack<'static> {
    let pipe = window.cwnd as u32;
    let phase = if reducing.is_some() { Phase::Reducing } else { Phase::Open };
    Ack {
        now,
        una,
        next: una + pipe,
        acked: 1,
        delivered: 1,
        delivered_total: una.into(),
        repaired: false,
        lost: 0,
        ece,
        rtt: Some(Time::us(300)),
        srtt: Time::us(300),
        min_rtt: Time::us(300),
        pipe_before: pipe,
        pipe: pipe - 1,
        limited: true,
        phase,
        rate: None,
        siblings: &[],
    }
}

/// Outcome of rounds with some marks.
#[derive(Clone, Debug)]
struct Marked {
    lot: u64,
    window: Window,
    deadline: Option<Time>,
    marks: Vec<u64>,
}

fn any_marked() -> impl Strategy<Value = Marked> {
    let lot = prop_oneof![Just(0u64), any::<u64>()];
    let ssthresh = prop_oneof![Just(f64::INFINITY), 1.0f64..200.0];
    let window = (1.0f64..200.0, ssthresh).prop_map(|(cwnd, ssthresh)| Window { cwnd, ssthresh });
    let deadline = proptest::option::of((0u64..10_000).prop_map(Time::us));
    let marks = proptest::collection::vec(prop_oneof![Just(0u64), Just(1u64), any::<u64>()], 1..6);
    (lot, window, deadline, marks).prop_map(|(lot, window, deadline, marks)| Marked {
        lot,
        window,
        deadline,
        marks,
    })
}

/// Computes the window after rounds, and after the same ones of which the last is without marks.
impl ControllerVisitor for &Marked {
    type Output = Option<(Window, Window)>;

    fn visit_control<C: CongestionControl>(self) -> Self::Output {
        let case = Case { lot: self.lot, packets: 1, deadline: None, steps: Vec::new() };
        let mut params = C::Params::default();
        for (name, value) in case.chosen_parameters(C::Params::specs()) {
            params.set(name, value).expect("within its range");
        }
        let mut without = self.marks.clone();
        without.last_mut().into_iter().for_each(|last| *last = 0);
        let run = |marks: &[u64]| run_rounds::<C>(&params, self.window, self.deadline, marks);
        C::ECN.then(|| (run(&self.marks), run(&without)))
    }
}

proptest! {
    #![proptest_config(headway_testing::cases!(512))]

    #[test]
    fn marks_never_lead_to_a_larger_window(number in 0..controlled_names().len(), case in any_marked()) {
        let name = controlled_names()[number];
        if let Some(Some((with, without))) = registry::visit_controller(name, &case) {
            prop_assert!(with.cwnd <= without.cwnd, "{}: {:?} with marks, {:?} without", name, with, without);
        }
    }
}

/// That test notices a controller that takes marks for good news.
#[test]
fn a_controller_that_likes_marks_is_found_out() {
    let window = Window { cwnd: 20.0, ssthresh: 10.0 };
    let case = Marked { lot: 0, window, deadline: None, marks: vec![0, 1] };
    let larger =
        |outcome: Option<(Window, Window)>| outcome.is_some_and(|(with, without)| with.cwnd > without.cwnd);
    Wrong::plant_fault(3);
    assert!(larger(ControllerVisitor::visit_control::<Wrong>(&case)));
    Wrong::plant_fault(0);
    assert!(!larger(ControllerVisitor::visit_control::<Wrong>(&case)));
}
