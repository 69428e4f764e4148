//! A failure is shown as the smallest scenario that fails in the same way.

use headway_soak::invariants::{ALL, Invariant};
use headway_soak::run::Run;
use headway_soak::shrink::shrink;
use headway_soak::{Bounds, Case, Failure, Size, Verdict, generate, judge, judge_within};
use std::path::Path;

/// Broken on purpose: it says that no packet is ever marked.
const UNMARKED: Invariant = Invariant { name: "no packet is marked", holds: unmarked };

fn unmarked(run: &Run<'_>) -> Result<(), String> {
    let marks: u32 = run.outcome.flows.iter().map(|f| f.marks.expect("counted")).sum();
    if marks == 0 { Ok(()) } else { Err(format!("{marks} packets are marked")) }
}

fn failure(case: &Case, folder: &Path) -> Option<Failure> {
    match judge(case, folder, &[UNMARKED]) {
        Verdict::Failed(failure) => Some(failure),
        _ => None,
    }
}

#[test]
fn a_broken_invariant_is_shown_by_a_scenario_of_a_few_lines() {
    let folder = tempfile::tempdir().expect("a directory");
    let (large, first) = (1..)
        .map(|seed| generate(seed, Size::SMALL, folder.path()).0)
        // A short one leaves nothing to take away.
        .filter(|case| case.text().lines().count() > 40)
        .find_map(|case| failure(&case, folder.path()).map(|found| (case, found)))
        .expect("some seed marks a packet");
    let mut trials = 0;
    let small = shrink(&large, &mut |case| {
        trials += 1;
        failure(case, folder.path()).is_some_and(|found| found.invariant == first.invariant)
    });
    println!("{trials} trials\n{}", small.text());
    let lines = |case: &Case| case.text().lines().filter(|l| !l.trim().is_empty()).count();
    assert!(lines(&small) <= 20, "from {} lines to {}:\n{}", lines(&large), lines(&small), small.text());
    assert_eq!(failure(&small, folder.path()).map(|f| f.invariant), Some(first.invariant));
    // The smallest is right in every other way: it does not fail because it is broken otherwise.
    assert!(matches!(judge(&small, folder.path(), ALL), Verdict::Passed(_)), "{}", small.text());
}

#[test]
fn a_panic_is_a_failure_with_its_place() {
    fn falls(_: &Run<'_>) -> Result<(), String> {
        panic!("on purpose")
    }
    let folder = tempfile::tempdir().expect("a directory");
    let (case, _) = generate(1, Size::SMALL, folder.path());
    let falling = [Invariant { name: "falls", holds: falls }];
    match judge(&case, folder.path(), &falling) {
        Verdict::Failed(failure) => {
            assert!(failure.invariant.contains("shrinks.rs"), "{failure:?}");
            assert_eq!(failure.found, "on purpose");
        }
        other => panic!("{other:?}"),
    }
}

/// A run is stopped at an event that threads do not agree about: its state then is compared with nothing.
#[test]
fn a_run_that_is_stopped_for_its_length_is_not_held_against_another() {
    let folder = tempfile::tempdir().expect("a directory");
    let judged = |transport: &str, most| {
        let text = format!(
            "stop = \"20 ms\"\n[topology]\nkind = \"parking-lot\"\nbottlenecks = 2\nhosts_per_switch = 2\nrate = \"10 Gbps\"\n\
             delay = \"10 us\"\n[transport]\nname = \"{transport}\"\n[[traffic]]\nkind = \"permutation\"\nbytes = 3000000\n"
        );
        let case = Case { scenario: text.parse().expect("a table"), graph: None, flows: None };
        judge_within(&case, folder.path(), ALL, Bounds { most, ..Bounds::default() })
    };
    for transport in ["expresspass", "ndp"] {
        let whole = judged(transport, None);
        assert!(matches!(whole, Verdict::Passed(_)), "{transport}: {whole:?}");
    }
    // Credits may go on for as long as the scenario does. Whatever else goes on is a fault.
    let stopped = judged("expresspass", Some(9_000));
    assert!(matches!(&stopped, Verdict::TooLong(why) if why.contains("credits go on")), "{stopped:?}");
    let stopped = judged("ndp", Some(9_000));
    let ends = "a run ends within the events that its packets need";
    assert!(matches!(&stopped, Verdict::Failed(failure) if failure.invariant == ends), "{stopped:?}");
}

/// A run that used up its time says what it waits for, whatever its transport.
#[test]
fn a_run_without_time_says_what_it_waits_for() {
    let folder = tempfile::tempdir().expect("a directory");
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
                [transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"permutation\"\nbytes = 30000000\n";
    let case = Case { scenario: text.parse().expect("a table"), graph: None, flows: None };
    let bounds = Bounds { has_time: &|| false, ..Bounds::default() };
    let stopped = judge_within(&case, folder.path(), ALL, bounds);
    let says = |why: &str| why.contains("waits for 2 of 2 flows, the first of them 0 (dctcp)");
    assert!(matches!(&stopped, Verdict::TooLong(why) if says(why)), "{stopped:?}");
}

/// Flows over a link that stays down, and flows that do not slow down to a link that drops, try for as long as they are
/// let. With the link up, or with switches that pause, the same flows have to end.
#[test]
fn flows_that_cannot_finish_may_go_on() {
    let folder = tempfile::tempdir().expect("a directory");
    let judged = |bottleneck: &str, fabric: &str, faults: &str, most| {
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\nsenders = 1\nreceivers = 1\nrate = \"2 Gbps\"\ndelay = \"27 us\"\n\
             bottleneck_rate = \"{bottleneck}\"\nbottleneck_delay = \"27 us\"\n{fabric}\n\
             [transport]\nname = \"dcqcn\"\n[[traffic]]\nkind = \"permutation\"\nbytes = 20000000\n{faults}"
        );
        let case = Case { scenario: text.parse().expect("a table"), graph: None, flows: None };
        judge_within(&case, folder.path(), ALL, Bounds { most, ..Bounds::default() })
    };
    let lossy = "[fabric]\nbuffer = \"13928 B\"";
    let lossless = "[fabric.pfc]";
    let dead = "[[fault]]\nlinks = \"all\"\ndown_at = \"10 us\"\n";
    for (bottleneck, fabric) in [("2 Gbps", lossy), ("50 Mbps", lossless)] {
        let whole = judged(bottleneck, fabric, "", None);
        assert!(matches!(whole, Verdict::Passed(_)), "{bottleneck}: {whole:?}");
        let stopped = judged(bottleneck, fabric, "", Some(9_000));
        let ends = "a run ends within the events that its packets need";
        let failed = matches!(&stopped, Verdict::Failed(failure) if failure.invariant == ends);
        assert!(failed, "{bottleneck}: {stopped:?}");
    }
    // Each flow sends at 1 Gb/s at the least.
    let second = "[[traffic]]\nkind = \"permutation\"\nbytes = 20000000\n";
    for (bottleneck, faults) in [("2 Gbps", dead), ("50 Mbps", ""), ("1500 Mbps", second)] {
        let stopped = judged(bottleneck, lossy, faults, Some(100_000));
        let goes_on = |why: &str| why.contains("cannot finish go on trying");
        assert!(matches!(&stopped, Verdict::TooLong(why) if goes_on(why)), "{bottleneck}: {stopped:?}");
    }
}
