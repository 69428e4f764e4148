//! Promises that every registered transport keeps, over thousands of seeds.
//!
//! `HEADWAY_CASES=100` runs a hundred times as many, `HEADWAY_TRANSPORTS=amrt,ndp` those of some transports only;
//! `HEADWAY_REPLAY=amrt:17` runs one.

use crate::harness;

use harness::Failure;
use harness::ledger::Broken;
use harness::mutant::Fault;
use harness::network::Outcome;
use harness::plan::{Open, Plan, any_plan, perfect_plan};
use headway_packet::PacketKind;
use headway_testing::Test;
use headway_transport::registry;
use headway_units::Time;
use std::ops::Range;

/// The transports and seeds to run: those that failed once, and then `seeds` of each transport.
fn seed_assignments(test: &Test, seeds: u64) -> Vec<(String, Range<u64>)> {
    let one = |(name, seed): (String, u64)| (name, seed..seed + 1);
    if let Some(one_plan) = harness::selected_replay() {
        return vec![one(one_plan)];
    }
    let first = headway_testing::explored().unwrap_or(0);
    let last = first + seeds * u64::from(headway_testing::times());
    let found = test.found().into_iter().map(|seed| one(harness::parse_replay(&seed).expect("name:seed")));
    found.chain(harness::selected_transports().iter().map(|name| (name.to_string(), first..last))).collect()
}

/// Fails `test`, and adds the seed to the list of those that failed if new ones are being explored.
fn fail_test(test: &Test, failure: &Failure) -> ! {
    test.add(&format!("{}:{}", failure.transport, failure.seed), &failure.reason);
    panic!(
        "{failure}\nto repeat it: HEADWAY_REPLAY={}:{} {}",
        failure.transport,
        failure.seed,
        test.command()
    )
}

/// Exactly once, nothing left, never stuck, never without permission, quiet at the end.
#[test]
fn every_message_arrives_exactly_once_over_any_network() {
    let test = headway_testing::test!();
    for (name, seeds) in seed_assignments(&test, 320) {
        let result = harness::check_seeds(&name, Fault::None, &any_plan(), seeds, |_, _| Ok(()));
        let packets = result.unwrap_or_else(|failure| fail_test(&test, &failure));
        println!("{name}: {packets} data packets");
    }
}

/// Without faults nothing is sent twice, and the wire is not idle for longer than a few round trips.
fn is_efficient(name: &str, plan: &Plan, outcome: &Outcome) -> Result<(), String> {
    harness::check_efficiency(plan, outcome, harness::plan_promises(name, plan).ramp)
}

#[test]
fn a_perfect_network_carries_every_packet_once() {
    let test = headway_testing::test!();
    for (name, seeds) in seed_assignments(&test, 40) {
        let accept = |plan: &Plan, outcome: &Outcome| is_efficient(&name, plan, outcome);
        let result = harness::check_seeds(&name, Fault::None, &perfect_plan(), seeds, accept);
        result.unwrap_or_else(|failure| fail_test(&test, &failure));
    }
}

#[test]
fn a_packet_sent_twice_over_a_perfect_network_is_noticed() {
    for name in harness::selected_transports() {
        let accept = |plan: &Plan, outcome: &Outcome| is_efficient(name, plan, outcome);
        let result = harness::check_seeds(name, Fault::SendsTwice, &perfect_plan(), 0..50, accept);
        assert!(result.is_err(), "{name}");
    }
}

/// Cost of the loss of one packet: data packets sent beyond the usual, and delay of the completion.
struct Repair {
    extra: u64,
    delay: Time,
}

/// Loses each packet of `kind` in turn, of one message that is several windows long.
fn loss_repairs(name: &str, plan: &Plan, kind: PacketKind) -> Vec<Repair> {
    let usual = harness::run_plan(name, plan, Fault::None).expect("no promise broken");
    let cost = |nth| {
        let plan = Plan { lose: vec![(kind, nth)], ..plan.clone() };
        let outcome = harness::run_plan(name, &plan, Fault::None).unwrap_or_else(|v| panic!("{name}: {v}"));
        let extra = outcome.data_packets - usual.data_packets;
        let delay = outcome.completed.saturating_sub(usual.completed);
        (outcome.lost > 0).then_some(Repair { extra, delay })
    };
    (0..).map_while(cost).collect()
}

#[test]
fn one_loss_costs_one_packet_or_two_and_a_few_round_trips() {
    let plan = Plan::without_faults(8, one_message(60_000));
    for name in harness::selected_transports() {
        for kind in PacketKind::ALL {
            for (nth, cost) in loss_repairs(name, &plan, kind).iter().enumerate() {
                let what = format!("{name}, {} {nth} lost", kind.name());
                assert!(cost.extra <= harness::repair_copies(name), "{what}: {} packets more", cost.extra);
                let limit = harness::plan_promises(name, &plan).repair;
                assert!(cost.delay <= limit, "{what}: {} later", cost.delay);
            }
        }
    }
}

/// Reference check of AMRT: a lost packet or grant is repaired within a time-out and a round trip, by
/// exactly the packet lost.
#[test]
fn amrt_repairs_one_loss_within_a_timeout_and_a_round_trip() {
    let plan = Plan::without_faults(8, one_message(60_000));
    let limit = plan.common_path().max_rtt + plan.common_path().base_rtt;
    for (kind, count, extra) in
        [(PacketKind::Data, 42, 1), (PacketKind::Grant, 23, 0), (PacketKind::Finished, 1, 1)]
    {
        let repairs = loss_repairs("amrt", &plan, kind);
        assert_eq!(repairs.len(), count, "{}", kind.name());
        assert!(repairs.iter().all(|r| r.extra == extra && r.delay <= limit), "{}", kind.name());
    }
}

/// Delay of a message of 42 packets that loses these, and the number of packets that this costs.
fn cost_of(name: &str, parameters: &[u8], lost: &[u32]) -> Repair {
    let mut plan = Plan::without_faults(8, one_message(60_000));
    plan.parameters = parameters.to_vec();
    let usual = harness::run_plan(name, &plan, Fault::None).expect("no promise broken");
    plan.lose = lost.iter().map(|&nth| (PacketKind::Data, nth)).collect();
    let outcome = harness::run_plan(name, &plan, Fault::None).expect("no promise broken");
    assert_eq!(outcome.lost, lost.len() as u64);
    let extra = outcome.data_packets - usual.data_packets;
    Repair { extra, delay: outcome.completed.saturating_sub(usual.completed) }
}

/// TCP's recoveries: a loss with three packets behind it costs a round trip or two and no time-out; several
/// of one window come back together with SACK and one a round trip without; a lost tail waits for the timer.
#[test]
fn tcp_repairs_losses_by_each_kind_of_recovery() {
    let rtt = Plan::without_faults(8, Vec::new()).common_path().base_rtt;
    // The thirteenth parameter of TCP is `recovery`, whose second word is NewReno's.
    let (sack, newreno) = (&[][..], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..]);
    for parameters in [sack, newreno] {
        // Packet 38 is the last with three behind it, whose acknowledgements show the loss.
        for nth in 2..39 {
            let cost = cost_of("tcp", parameters, &[nth]);
            assert!(cost.extra == 1 && cost.delay <= rtt * 4, "packet {nth}: {}", cost.delay);
        }
        // 10 ms is the least time-out of TCP's default parameters.
        let tail = cost_of("tcp", parameters, &[41]).delay;
        assert!(tail >= Time::ms(10) && tail <= Time::ms(10) + rtt * 2, "a time-out: {tail}");
    }
    let four = [30, 32, 34, 36];
    let (together, apart) = (cost_of("tcp", sack, &four), cost_of("tcp", newreno, &four));
    assert_eq!((together.extra, apart.extra), (4, 4));
    assert!(apart.delay >= together.delay + rtt * 2, "{} and {}", together.delay, apart.delay);
    assert!(together.delay <= rtt * 4 && apart.delay <= rtt * 6, "neither waits for the timer");
}

/// The promises a fault may be caught by; the first seed that trips over it decides.
fn expected_promises(fault: Fault) -> &'static [Broken] {
    match fault {
        Fault::None => &[],
        Fault::DeafToSomePermissions => &[Broken::Endless, Broken::Hang],
        Fault::CompletesTwice => &[Broken::CompletedAgain],
        Fault::DeliversTwice => &[Broken::DeliveredTooMuch],
        Fault::DeliversShort => &[Broken::CompletedShort],
        Fault::NeverAcknowledges => &[Broken::Hang],
        Fault::AcknowledgesEarly => &[Broken::AcknowledgedEarly],
        Fault::KeepsState => &[Broken::StateLeft],
        Fault::EndlessTimer => &[Broken::NeverQuiet, Broken::Endless],
        Fault::NoTimer => &[Broken::Hang],
        Fault::SendsUnauthorised => &[Broken::Unauthorised],
        Fault::SendsTwice => &[Broken::Overspent],
        Fault::HidesPackets => &[Broken::HidPacket],
        Fault::WidensWindow => &[Broken::WrongWindow],
        Fault::WrongSize => &[Broken::Malformed],
        Fault::WrongTag => &[Broken::Unknown],
    }
}

/// A message of `bytes` from host 0 to host 1.
fn one_message(bytes: u64) -> Vec<Open> {
    vec![Open { at: 0, src: 0, hop: 0, bytes, initial_window: Default::default() }]
}

/// True if permissions to send come in packets of their own, so that the ledger can count them.
fn receiver_driven(name: &str) -> bool {
    let outcome = harness::run_plan(name, &Plan::without_faults(5, one_message(400_000)), Fault::None);
    outcome.expect("no promise broken").permissions > 0
}

/// The mutation check: each fault is noticed, and named rightly.
#[test]
fn every_fault_is_caught() {
    for name in harness::selected_transports() {
        for &fault in Fault::ALL {
            // If permissions cannot be counted, a second copy looks like a repetition.
            if fault == Fault::SendsTwice && !receiver_driven(name) {
                continue;
            }
            // The plan of a planted fault is not shown, so that shrinking it would be wasted.
            let run = |plan: &Plan| harness::run_plan(name, plan, fault);
            let Err(first) = harness::check_plans(&any_plan(), 0..200, 0, run, |_, _| Ok(())) else {
                panic!("{name} with {fault:?} passed")
            };
            let broken = run(&first.plan).err().map(|violation| violation.broken);
            let caught = broken.is_some_and(|b| expected_promises(fault).contains(&b));
            assert!(caught, "{name} with {fault:?} was caught as: {}", first.reason);
        }
    }
}

/// A seed that failed fails again with the same plan, and the failure shows the last steps.
#[test]
fn a_failing_seed_makes_the_same_plan_again() {
    let check = |seeds| {
        harness::check_seeds(registry::NAMES[0], Fault::CompletesTwice, &any_plan(), seeds, |_, _| Ok(()))
    };
    let failure = check(0..10).expect_err("a machine that completes twice");
    let again = check(failure.seed..failure.seed + 1).expect_err("the same seed fails again");
    assert_eq!(format!("{:?}", failure.plan), format!("{:?}", again.plan));
    let text = failure.to_string();
    assert!(text.contains("says Completed"), "the trace shows the second report: {text}");
}

/// A run is decided by its plan alone.
#[test]
fn the_same_plan_runs_the_same_way() {
    let mut lossy = Plan::without_faults(9, one_message(400_000));
    (lossy.loss, lossy.late, lossy.lateness) = ([20; PacketKind::ALL.len()], [20; PacketKind::ALL.len()], 30);
    for name in harness::selected_transports() {
        let run = |seed| {
            let plan = Plan { seed, ..lossy.clone() };
            format!("{:?}", harness::run_plan(name, &plan, Fault::None).expect("no promise broken"))
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2), "the seed matters");
    }
}
