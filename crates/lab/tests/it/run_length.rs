//! Length of random arrivals for a steady state: warnings before a run, and after it.

use crate::common::{LEAF_SPINE, SMALL, good, load, run};
use headway_lab::scenario::run_length::RunLength;

/// Messages of one full packet, 1538 bytes on the wire, at the hosts' links of 10 Gb/s.
const PACKETS: &str = r#"seed = 1

[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "poisson"
cdf = { kind = "uniform", mean = "1460 B", spread = 0 }
load = 0.5
flows = 1000
"#;
const SERVICE: f64 = 1538.0 * 8.0 / 10e9;

fn length(text: &str, sets: &[&str]) -> RunLength {
    let scenario = good(text, sets);
    let setup = scenario.setup().expect("something to run");
    setup.run_length().expect("random arrivals")
}

#[track_caller]
fn bad(text: &str, sets: &[&str]) -> String {
    match load(text, sets) {
        Ok(_) => panic!("it is taken"),
        Err(error) => error.render(),
    }
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn the_relaxation_time_is_that_of_the_formula() {
    let found = length(PACKETS, &[]);
    near(found.load, 0.5);
    // 2 * 0.5 / 0.5^2 times the time of a message, as all are the same.
    near(found.relaxation_s.expect("a steady state"), 4.0 * SERVICE);
    near(found.per_second, 4.0 * 0.5 / SERVICE);
    // Four hosts at half of their links send two messages in the time of one.
    near(found.arrivals_s, 1000.0 * SERVICE / 2.0);
    let heavier = length(PACKETS, &["traffic.0.load=0.8"]);
    near(heavier.relaxation_s.expect("a steady state"), 2.0 * 0.8 / 0.04 * SERVICE);
}

#[test]
fn a_warm_up_and_a_longer_run_miss_less_of_the_steady_state() {
    let all = |arrivals: f64| (1.0 - libm::exp(-arrivals)) / arrivals;
    let relaxation = 4.0 * SERVICE;
    let found = length(PACKETS, &[]);
    near(found.missing, all(500.0 * SERVICE / relaxation));
    let short = length(PACKETS, &["traffic.0.flows=8"]);
    near(short.missing, all(4.0 * SERVICE / relaxation));
    // Four times 1230.4 ns.
    let warm = length(PACKETS, &["warmup=\"4921600 ps\""]);
    near(warm.warmup_s, relaxation);
    // The integral's other end, exp(-125), is far below the tolerance.
    near(warm.missing, libm::exp(-1.0) / (125.0 - 1.0));
    let (warmup, arrivals) = found.advice().expect("a steady state");
    let sets = [
        format!("warmup=\"{} ns\"", (warmup * 1e9).round()),
        format!("traffic.0.flows={}", (arrivals * found.per_second).round()),
    ];
    let advised = length(PACKETS, &[&sets[0], &sets[1]]);
    assert!(advised.missing < 0.03, "{advised:?}");
    // Arrivals end with the run, and all of them may be left out.
    let cut = length(PACKETS, &["stop=\"100 us\""]);
    near(cut.arrivals_s, 100e-6);
    let none = length(PACKETS, &["warmup=\"1 s\"", "stop=\"2 s\""]);
    assert_eq!(none.warmup_s, none.arrivals_s);
}

#[test]
fn links_that_are_asked_for_more_than_they_carry_have_no_steady_state() {
    // Two hosts a leaf, and one uplink of half of what they send.
    let text = LEAF_SPINE.replace("LOAD", "").replace("load = 0.5\n", "load = 0.9\nflows = 100\n");
    let found = length(&text, &["topology.spine_rate=\"1 Gbps\""]);
    assert!(found.load > 1.0, "{found:?}");
    assert_eq!((found.relaxation_s, found.missing, found.advice()), (None, 1.0, None));
}

#[test]
fn entries_add_up_where_they_load_the_same_links() {
    let one = PACKETS.replace("load = 0.5", "load = 0.25").replace("flows = 1000", "flows = 500");
    let entry = one.find("[[traffic]]").expect("an entry");
    let two = format!("{one}\n{}", &one[entry..]);
    let (both, alone) = (length(&two, &[]), length(PACKETS, &[]));
    near(both.load, alone.load);
    near(both.relaxation_s.expect("a steady state"), alone.relaxation_s.expect("a steady state"));
    near(both.arrivals_s, alone.arrivals_s);
    assert!(good(SMALL, &[]).setup().expect("a run").run_length().is_none(), "nothing is random there");
}

/// The halves of the summary are those of the table of flows, and what begins in the warm-up is in neither.
#[test]
fn the_halves_are_those_of_the_flows_that_are_measured() {
    let scenario = good(PACKETS, &["warmup=\"100 us\"", "traffic.0.load=0.9"]);
    let output = run(&scenario);
    let column = |name: &str| output.flows.numbers::<f64>(name).expect("the column");
    let mut measured: Vec<(f64, f64)> = (0..output.flows.rows())
        .map(|row| (column("start_s").value(row), column("slowdown").value(row)))
        .filter(|(start, _)| *start >= 100e-6)
        .collect();
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (early, late) = measured.split_at(measured.len() / 2);
    let mean =
        |half: &[(f64, f64)]| half.iter().map(|(_, slowdown)| slowdown).sum::<f64>() / half.len() as f64;
    assert!(measured.len() < 1000 && early.len() > 50);
    near(output.summary["slowdown_mean_early"].as_f64().expect("a number"), mean(early));
    near(output.summary["slowdown_mean_late"].as_f64().expect("a number"), mean(late));
    near(
        output.summary["start_up_share"].as_f64().expect("a number"),
        length(PACKETS, &["warmup=\"100 us\"", "traffic.0.load=0.9"]).missing,
    );
    let bytes = output.flows.numbers::<u64>("bytes").expect("the column");
    let (start, finish) = (column("start_s"), column("finish_s"));
    let (middle, end) = (measured[measured.len() / 2].0, measured[measured.len() - 1].0);
    let sum = |counts: &dyn Fn(usize) -> bool| {
        (0..output.flows.rows()).filter(|row| counts(*row)).map(|row| bytes.value(row) as f64).sum::<f64>()
    };
    let backlog = |at: f64| sum(&|row| start.value(row) <= at && finish.value(row) > at);
    let offered = sum(&|row| middle < start.value(row) && start.value(row) <= end);
    let growth = output.summary["backlog_growth"].as_f64().expect("a number");
    assert!((growth - (backlog(end) - backlog(middle)) / offered).abs() < 1e-12, "{growth}");
    // A half of fewer than 50 flows has no mean.
    let few = run(&good(PACKETS, &["traffic.0.flows=99"]));
    assert!(few.summary["slowdown_mean_early"].is_null() && few.summary["slowdown_mean_late"].is_null());
    assert!(run(&good(SMALL, &[])).summary.get("slowdown_mean_early").is_none(), "nothing is random there");
}

#[test]
fn steady_arrivals_last_as_long_as_their_load_asks() {
    let steady = PACKETS.replace("flows = 1000", "flows = \"steady\"");
    for load in [0.3, 0.5, 0.8] {
        let sets = [format!("traffic.0.load={load}")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let scenario = good(&steady, &sets);
        let setup = scenario.setup().expect("a run");
        let found = setup.run_length().expect("random arrivals");
        let (warmup, arrivals) = found.advice().expect("a steady state");
        let flows = setup.traffic[0].expected_flows(4);
        assert!((flows - found.per_second * arrivals).abs() <= 1.0, "{flows} flows at {load}");
        near(setup.warmup.as_secs_f64(), warmup);
        let resolved = scenario.resolved_json();
        assert_eq!(resolved["traffic"][0]["flows"].as_f64(), Some(flows));
        // The settled numbers, written out, give the same run.
        let written = PACKETS.replace("flows = 1000", &format!("flows = {flows}"));
        let warm = format!("warmup=\"{}\"", setup.warmup);
        let twin = good(&written, &[&warm, &format!("traffic.0.load={load}")]);
        assert_eq!(twin.digest(), scenario.digest());
    }
}

#[test]
fn a_written_warm_up_is_kept_before_steady_arrivals() {
    let steady = PACKETS.replace("flows = 1000", "flows = \"steady\"");
    let scenario = good(&steady, &["warmup=\"1 ms\""]);
    let setup = scenario.setup().expect("a run");
    assert_eq!(setup.warmup, headway_units::Time::ms(1));
    let relaxation = 4.0 * SERVICE;
    let flows = setup.traffic[0].expected_flows(4);
    assert!((flows - 4.0 * 0.5 / SERVICE * (1e-3 + 5.0 * relaxation)).abs() <= 1.0, "{flows}");
}

#[test]
fn without_a_steady_state_steady_arrivals_are_refused() {
    let steady = PACKETS.replace("flows = 1000", "flows = \"steady\"");
    for (set, words) in [
        ("traffic.0.load=1.0", "there is no steady state"),
        ("stop=\"1 us\"", "longer than `stop`"),
        ("traffic.0.flows=\"steadi\"", "steady"),
    ] {
        let told = bad(&steady, &[set]);
        assert!(told.contains(words), "{set}: {told}");
    }
}

#[test]
fn zipped_keys_change_together() {
    let sweep = "[sweep]\nzip = [\"traffic.0.load\", \"traffic.0.flows\"]\n\"traffic.0.load\" = [0.3, 0.5]\n\
        \"fabric.buffer\" = [\"64 packets\", \"128 packets\"]\n\"traffic.0.flows\" = [10, 10]\n";
    let scenario = good(&format!("{PACKETS}\n{sweep}"), &[]);
    let points = scenario.points().expect("good points");
    let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
    let of = |load, buffer| format!("dctcp,load={load},buffer={buffer} packets,flows=10,seed=1");
    assert_eq!(labels, [of(0.3, 64), of(0.3, 128), of(0.5, 64), of(0.5, 128)]);
    for (zip, words) in [
        ("[\"traffic.0.load\", \"fabric.bufer\"]", "fabric.buffer"),
        ("[\"traffic.0.load\", \"traffic.0.load\"]", "twice"),
        ("3", "list"),
    ] {
        let text =
            sweep.replace("[\"traffic.0.load\", \"traffic.0.flows\"]", zip).replace("[10, 10]", "[10, 20]");
        let told = bad(&format!("{PACKETS}\n{text}"), &[]);
        assert!(told.contains(words), "{zip}: {told}");
    }
    let uneven = sweep.replace("[10, 10]", "[10, 20, 30]");
    let told = bad(&format!("{PACKETS}\n{uneven}"), &[]);
    assert!(told.contains("has 2 values and `traffic.0.flows` has 3"), "{told}");
    let equal = sweep.replace("[0.3, 0.5]", "[0.3, 0.3]");
    assert!(bad(&format!("{PACKETS}\n{equal}"), &[]).contains("earlier place"));
}
