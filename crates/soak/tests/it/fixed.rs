//! Four hundred fixed scenarios hold, and whatever they are made of is what the registries list.

use headway_soak::{Size, Verdict, generate, invariants, judge};
use std::collections::BTreeSet;

/// A failure is shown as it is; `headway-soak SEED SEED` makes it small.
fn hold(seeds: std::ops::Range<u64>) {
    let folder = tempfile::tempdir().expect("a directory");
    for seed in seeds {
        let (case, _) = generate(seed, Size::SMALL, folder.path());
        match judge(&case, folder.path(), invariants::ALL) {
            Verdict::Passed(_) => {}
            other => panic!("seed {seed}: {other:?}\n{}", case.text()),
        }
    }
}

#[test]
fn seeds_1_to_100_hold() {
    hold(1..101);
}

#[test]
fn seeds_101_to_200_hold() {
    hold(101..201);
}

#[test]
fn seeds_201_to_300_hold() {
    hold(201..301);
}

#[test]
fn seeds_301_to_400_hold() {
    hold(301..401);
}

/// What is registered is drawn: nothing here names a transport, a discipline or a topology.
#[test]
fn every_registered_name_is_drawn() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut drawn = BTreeSet::new();
    for seed in 1..401 {
        let (case, _) = generate(seed, Size::SMALL, folder.path());
        for (table, key) in
            [("transport", "name"), ("fabric", "discipline"), ("topology", "kind"), ("fabric", "routing")]
        {
            let value = case.scenario.get(table).and_then(|t| t.get(key)).and_then(|v| v.as_str());
            drawn.extend(value.map(str::to_string));
        }
        let entries = case.scenario.get("traffic").and_then(|t| t.as_array()).expect("traffic");
        drawn.extend(entries.iter().filter_map(|e| e.get("kind")?.as_str()).map(str::to_string));
    }
    let topologies = headway_network::topology::KINDS.iter().map(|(info, _)| info.name);
    let traffic = headway_lab::traffic::KINDS.iter().map(|k| k.0);
    let transports = headway_transport::registry::NAMES.iter().copied();
    let disciplines = headway_fabric::registry::NAMES.iter().copied();
    let routings = headway_lab::fabric::ROUTINGS.iter().copied();
    for name in topologies.chain(traffic).chain(transports).chain(disciplines).chain(routings) {
        assert!(drawn.contains(name), "no seed draws {name}");
    }
}
