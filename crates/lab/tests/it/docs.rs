//! The documentation of the formats says what is so: its examples are run, its tables are complete.

#![allow(clippy::disallowed_methods, reason = "the documentation is files")]

use crate::common;

use common::{good, load, run};
use headway_lab::pages::filled;
use headway_lab::text::Source;
use headway_lab::topology::graph;
use headway_lab::traffic;
use headway_network::topology;
use serde_json::Value as Json;

fn page(name: &str) -> String {
    filled(&std::fs::read_to_string(common::repository().join("docs").join(name)).expect("the page"))
}

/// The fenced blocks of a page with the words after the fence.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
            found.push((words.to_string(), body.join("\n")));
        }
    }
    found
}

#[test]
fn the_testbeds_first_scenario_is_one() {
    let page = page("testbed.md");
    let blocks = blocks(&page);
    let text = blocks.iter().find(|(words, _)| words == "toml two-hosts").map(|(_, body)| body.as_str());
    let scenario = good(text.expect("its scenario"), &[]);
    assert_eq!(scenario.setup().expect("a network").warnings(), [""; 0]);
    assert_eq!(run(&scenario).summary["flows_done"], 1);
}

#[test]
fn examples_are_right_and_wrong_as_they_say() {
    let page = page("scenario-format.md");
    let blocks = blocks(&page);
    let named = |name: &str| {
        blocks.iter().filter(|(words, _)| words == name).map(|(_, body)| body.as_str()).collect::<Vec<_>>()
    };
    let whole = named("toml")[0];
    run(&good(whole, &[]));
    let swept = format!("{whole}\n{}", named("toml sweep")[0]);
    assert_eq!(good(&swept, &[]).points().expect("points").len(), 20);
    run(&good(&format!("{whole}\n{}", named("toml hosts")[0]), &[]));
    let waiting = run(&good(&format!("{whole}\n{}", named("toml waiting")[0]), &[]));
    assert_eq!(waiting.summary["flows_done"], 4, "{}", waiting.summary);
    let job = run(&good(&format!("{whole}\n{}", named("toml job")[0]), &[]));
    assert!(job.summary["jobs"][0]["bus_bandwidth_bps"].as_f64() > Some(0.0), "{}", job.summary);
    let folder = common::repository().display().to_string();
    let trace = named("toml trace")[0].replace("workloads/", &format!("{folder}/workloads/"));
    let trace = run(&good(&format!("{whole}\n{trace}"), &[]));
    assert!(trace.summary["jobs"][0]["bus_bandwidth_bps"].as_f64() > Some(0.0), "{}", trace.summary);
    let flowlets = good(&format!("{whole}\n{}", named("toml flowlets")[0]), &[]).resolved_json();
    assert_eq!(flowlets["fabric"]["flowlet_gap"], "50 us");
    let lossless = run(&good(&format!("{whole}\n{}", named("toml lossless")[0]), &[]));
    assert_eq!(
        (&lossless.summary["drops"], &lossless.summary["deadlock_s"]),
        (&0.into(), &serde_json::Value::Null)
    );
    let kernel =
        run(&good(&format!("{whole}\n{}", named("toml kernel")[0]), &["fabric.discipline=anti-ecn"]));
    assert!(kernel.summary["by_transport"]["kernel-cubic"]["flows_done"] == 1, "{}", kernel.summary);
    let faults = named("toml fault");
    assert_eq!(faults.len(), 3, "down, changed, lost");
    let plain = run(&good(whole, &[])).summary["fct_mean_s"].clone();
    for fault in faults {
        let faulty = run(&good(&format!("{whole}\n{fault}"), &[]));
        assert_eq!(faulty.summary["flows_unfinished"], 0);
        assert_ne!(faulty.summary["fct_mean_s"], plain, "{fault}");
        // Packets lost on links are in the manifest, by name of the fault, and the page explains each name.
        let lost = faulty.manifest["faults"].as_array().expect("a list");
        assert_eq!(lost.is_empty(), fault.contains("rate ="), "{fault}");
        let results = self::page("results.md");
        let names = lost.iter().flat_map(|row| row.as_object().expect("a table").keys());
        names.for_each(|name| assert!(results.contains(&format!("`{name}`")), "{name}"));
    }
    graph::parse(&Source::new("graph.toml", named("toml graph")[0])).expect("a graph");
    let (wrong, shown) = (named("toml wrong"), named("text"));
    assert_eq!((wrong.len(), shown.len()), (2, 2));
    for (text, shown) in wrong.iter().zip(shown) {
        assert_eq!(load(text, &[]).expect_err("it is wrong").render(), shown);
    }
}

#[test]
fn every_key_is_explained() {
    let page = page("scenario-format.md");
    let explained = |key: &str| page.contains(&format!("`{key}`"));
    for (info, _) in topology::KINDS {
        assert!(explained(info.name), "{}", info.name);
        info.all_keys().for_each(|k| assert!(explained(k.name), "{}", k.name));
    }
    for kind in traffic::KINDS {
        assert!(explained(kind.info.name), "{}", kind.info.name);
        kind.info.keys.iter().for_each(|key| assert!(explained(key.name), "{}", key.name));
    }
    let resolved = good(common::SMALL, &["sample={every = \"1 us\", flows = \"all\"}"]).resolved_json();
    for (key, value) in resolved.as_object().expect("a table") {
        assert!(explained(key) || page.contains(&format!("[{key}]")) || key == "name", "{key}");
        let parameters = ["transport", "report"].contains(&key.as_str());
        // Parameters of `anti-ecn`, the discipline of amrt.
        let skip = |k: &str| key == "fabric" && ["rule", "gap_bytes"].contains(&k);
        if let (Some(table), false) = (value.as_object(), parameters) {
            table.keys().filter(|k| !skip(k)).for_each(|k| assert!(explained(k), "{key}.{k}"));
        }
    }
}

#[test]
fn every_key_of_the_manifest_and_every_band_is_explained() {
    let page = page("results.md");
    let explained = |key: &str| page.contains(&format!("`{key}`"));
    let output = run(&good(common::SMALL, &[]));
    let keys = |json: &Json| json.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    for band in keys(&output.summary["by_size"]["bands"]) {
        assert!(explained(&band), "{band}");
    }
    for key in keys(&output.manifest) {
        assert!(explained(&key), "{key}");
    }
}
