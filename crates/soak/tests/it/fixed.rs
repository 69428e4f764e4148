//! Four hundred fixed scenarios hold, and whatever they are made of is what the registries list.

use headway_soak::{Size, Verdict, generate, invariants, judge};
use std::collections::BTreeSet;

/// One in eight of the seeds, or with `make test-long` all of them. A failure is shown as it is; `headway-soak SEED SEED` makes
/// it small.
fn hold(seeds: std::ops::Range<u64>) {
    let folder = tempfile::tempdir().expect("a directory");
    for seed in seeds.step_by(if headway_testing::times() > 1 { 1 } else { 8 }) {
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

/// Everything that is registered is drawn: this test names no transport, discipline or topology.
#[test]
fn every_registered_name_is_drawn() {
    let folder = tempfile::tempdir().expect("a directory");
    let topologies = headway_network::topology::KINDS.iter().map(|(info, _)| info.name);
    let traffic = headway_lab::traffic::KINDS.iter().map(|k| k.info.name);
    let transports = headway_transport::registry::NAMES.iter().copied();
    let disciplines = headway_fabric::registry::NAMES.iter().copied();
    let routings = headway_lab::fabric::ROUTINGS.iter().copied();
    let mut missing: BTreeSet<&str> =
        topologies.chain(traffic).chain(transports).chain(disciplines).chain(routings).collect();
    // The draws of a seed change with every name that is registered. The rarest comes once in about two hundred draws.
    for seed in 1..4001 {
        let (case, _) = generate(seed, Size::SMALL, folder.path());
        for (table, key) in
            [("transport", "name"), ("fabric", "discipline"), ("topology", "kind"), ("fabric", "routing")]
        {
            let value = case.scenario.get(table).and_then(|t| t.get(key)).and_then(|v| v.as_str());
            value.map(|name| missing.remove(name));
        }
        let entries = case.scenario.get("traffic").and_then(|t| t.as_array()).expect("traffic");
        for name in entries.iter().filter_map(|e| e.get("kind")?.as_str()) {
            missing.remove(name);
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("no seed draws {missing:?}");
}

/// The page that lists every key of a scenario.
const PAGE: &str = include_str!("../../../../docs/scenario-format.md");

/// Keys that no seed draws, by their table, and why.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("", "title", "a text for readers"),
    ("", "description", "a text for readers"),
    ("", "paper", "a text for readers"),
    ("", "memory_limit", "within_memory.rs has it"),
    ("fabric", "headroom", "with less than there may arrive, packets are lost as they should be"),
    ("fabric", "headroom_products", "with less than there may arrive, packets are lost as they should be"),
    ("fabric", "headroom_less", "with less than there may arrive, packets are lost as they should be"),
    ("traffic", "stack", KERNELS),
    ("traffic", "congestion", KERNELS),
    ("traffic", "mptcp", KERNELS),
    ("traffic", "ecn", KERNELS),
    ("traffic", "initial_window", KERNELS),
    ("traffic", "interpolation", "of files of sizes, and none is written"),
    ("traffic", "size_unit", "of files of sizes, and none is written"),
    ("traffic", "format", TRACES),
    ("traffic", "failures", TRACES),
    ("traffic", "overhead", TRACES),
    ("traffic", "byte_overhead", TRACES),
    ("traffic", "gap", TRACES),
    ("traffic", "eager", TRACES),
    ("traffic", "allreduce", TRACES),
    ("traffic", "operations_per_second", TRACES),
    ("traffic", "collective_bytes", TRACES),
    ("traffic", "equal_groups", TRACES),
    ("traffic", "groups", TRACES),
];
const KERNELS: &str = "kernels are on real packets alone";
const TRACES: &str =
    "of traces in other formats than the matrix that is drawn: traces.rs and chakra.rs of the lab have them";

/// Every key of the page as (table of the root, key), from the rows under each heading.
fn keys_of_the_page() -> BTreeSet<(String, String)> {
    let (mut table, mut inside, mut found) = (None, false, BTreeSet::new());
    // Tables of the page are made from the declarations.
    for line in headway_lab::pages::filled(PAGE).lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let named = heading
                .strip_prefix('`')
                .and_then(|rest| rest.strip_suffix('`'))
                .filter(|one| !one.contains('`'));
            let root = (heading == "The whole run").then_some("");
            table = named.map(|named| named.trim_matches(['[', ']'])).or(root).map(str::to_string);
        }
        inside = line.starts_with("| key") || (inside && line.starts_with('|'));
        let (Some(table), true, Some(cell)) = (&table, inside, line.split('|').nth(1)) else { continue };
        // A cell may hold several keys: the texts between every other pair of quotes.
        let names = cell.split('`').skip(1).step_by(2).filter(|name| !name.starts_with('['));
        found.extend(names.map(|name| (table.clone(), name.to_string())));
    }
    found
}

/// Names of all keys below a value; parameters of transports are not the page's.
fn keys_below(value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            found.extend(table.keys().cloned());
            table
                .iter()
                .filter(|(key, _)| *key != "transport")
                .for_each(|(_, value)| keys_below(value, found));
        }
        toml::Value::Array(list) => list.iter().for_each(|value| keys_below(value, found)),
        _ => {}
    }
}

/// A new key of a scenario is drawn, or is on the list above with the reason.
#[test]
fn every_key_of_the_page_is_drawn() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut drawn = BTreeSet::new();
    for seed in 1..2001 {
        let (case, _) = generate(seed, Size::SMALL, folder.path());
        for (name, value) in &case.scenario {
            drawn.insert((String::new(), name.clone()));
            let mut below = BTreeSet::new();
            keys_below(value, &mut below);
            drawn.extend(below.into_iter().map(|key| (name.clone(), key)));
        }
    }
    let known = keys_of_the_page();
    for table in ["", "fabric", "hosts", "start", "traffic", "sample", "fault"] {
        assert!(known.iter().any(|(of, _)| of == table), "the page has no table of `{table}`: {known:?}");
    }
    let left_out = |of: &str, key: &str| LEFT_OUT.iter().any(|(table, name, _)| (*table, *name) == (of, key));
    let wrong =
        known.iter().filter(|(of, key)| drawn.contains(&(of.clone(), key.clone())) == left_out(of, key));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "not drawn and without a reason, or drawn and with one: {wrong:?}");
    for (table, key, _) in LEFT_OUT {
        assert!(known.contains(&(table.to_string(), key.to_string())), "the page has no `{key}`");
    }
}
