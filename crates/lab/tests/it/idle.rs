//! Overrides without effect are errors that say what sets the key again.

use headway_lab::{Request, Scenario, ScenarioError};
use std::path::Path;

const SWEPT: &str = r#"
title = "x"
[topology]
kind = "single-switch"
hosts = 3
rate = "10 Gbps"
delay = "1 us"
[transport]
name = "amrt"
[[traffic]]
kind = "incast"
receiver = 0
senders = 2
bytes = 1000
[scale.smoke]
stop = "1 ms"
[variants.amrt]
"transport.name" = "amrt"
[variants.phost]
"transport.name" = "phost"
[sweep]
"traffic.0.bytes" = [1000, 2000]
seeds = SEEDS
"#;

fn load(seeds: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_string()).collect();
    let text = SWEPT.replace("SEEDS", seeds);
    Request::text(&text, "x.toml", Path::new(""), &sets, None)
        .load()
        .unwrap_or_else(|e| panic!("{}", e.render()))
}

fn said(checked: Result<(), ScenarioError>) -> String {
    let error = checked.expect_err("an error");
    let at = error.origin().expect("a place");
    assert_eq!(at.source.name, "--set", "the override is shown");
    error.render()
}

#[test]
fn what_every_point_of_a_sweep_sets_again_is_refused() {
    for (seeds, set, message) in [
        ("2", "transport.name=dctcp", "`transport.name` has no effect: every variant sets it"),
        (
            "2",
            "traffic.0.bytes=500",
            "`traffic.0.bytes` has no effect: the sweep sets `traffic.0.bytes` at every",
        ),
        ("[4, 5]", "seed=9", "`seed` has no effect: the sweep lists its seeds"),
        (
            "2",
            "scale.smoke.stop=2 ms",
            "`scale.smoke.stop` has no effect: the tables of scales are read before",
        ),
    ] {
        let shown = said(load(seeds, &[set]).check_sets_of_sweep());
        assert!(shown.contains(message) && shown.contains("help:"), "{shown}");
    }
    // A variant that names another transport starts from that one's defaults.
    let dropped = SWEPT.replace("[variants.amrt]\n\"transport.name\" = \"amrt\"\n", "").replace("SEEDS", "2");
    let sets = ["transport.loss_timeout=4.0".to_string()];
    let scenario = Request::text(&dropped, "x.toml", Path::new(""), &sets, None).load().expect("a scenario");
    assert!(said(scenario.check_sets_of_sweep()).contains("starts from its defaults"));
}

#[test]
fn what_some_point_has_is_taken() {
    for (seeds, sets) in [
        ("2", &["seed=9"][..]),
        ("2", &["fabric.buffer=9 packets", "fabric.buffer=12 packets"]),
        ("2", &["sweep.traffic.0.bytes=[700]", "sweep.seeds=3", "variants.amrt.transport.loss_timeout=4.0"]),
        // In effect for the variant that keeps the transport.
        ("2", &["transport.loss_timeout=4.0"]),
        ("[4, 5]", &["sweep.seeds=1", "seed=3"]),
    ] {
        load(seeds, sets).check_sets_of_sweep().unwrap_or_else(|e| panic!("{}", e.render()));
    }
}

#[test]
fn one_run_refuses_what_only_a_sweep_reads() {
    for set in ["sweep.seeds=3", "variants.amrt.stop=1 ms", "scale.smoke.stop=2 ms"] {
        assert!(said(load("2", &[set]).check_sets_of_run()).contains("has no effect"), "{set}");
    }
    load("2", &["transport.name=dctcp", "seed=4"]).check_sets_of_run().expect("it is taken");
}

#[test]
fn a_variant_is_what_its_point_is_at_the_scenarios_own_values() {
    let variant = load("2", &["fabric.buffer=9 packets"]).variant("phost").expect("a variant");
    let sets = ["fabric.buffer=9 packets", "transport.name=phost"];
    assert_eq!(variant.digest(), load("2", &sets).digest());
    let shown = load("2", &["transport.name=dctcp"]).variant("phost").expect_err("no effect").render();
    assert!(shown.contains("the variant `phost` sets it"), "{shown}");
    let shown = load("2", &[]).variant("phots").expect_err("no such variant").render();
    assert!(
        shown.contains("there is no variant `phots`") && shown.contains("did you mean `phost`?"),
        "{shown}"
    );
}
