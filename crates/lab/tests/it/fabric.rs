//! The keys of `[fabric]` that are declared are those that a scenario has.

use crate::common::{self, good};
use headway_fabric::registry as disciplines;
use headway_lab::fabric::{KEYS, MODES};
use headway_lab::text::key::Takes;

/// Keys that a resolved scenario has only where they are set.
const SAID: [&str; 5] = ["flowlet_gap", "forwarding", "at", "memory", "pfc"];

/// Headroom is bytes or products of a link, and not both.
#[test]
fn headroom_is_said_once() {
    let products = "fabric.pfc.headroom_products=3";
    let text = format!("{}\n[fabric.pfc]\n", common::SMALL);
    good(&text, &[products]);
    let Err(error) = common::load(&text, &[products, "fabric.pfc.headroom=20 kB"]) else {
        panic!("both are taken")
    };
    assert!(error.render().contains("`headroom` says the bytes already"), "{}", error.render());
}

/// A chip says what the table leaves out, and nothing else.
#[test]
fn a_chip_fills_in_its_memory() {
    let text = format!("{}\n[fabric.memory]\nchip = \"tomahawk2\"\nalpha = 2\n", common::SMALL);
    let scenario = good(&text, &[]);
    let memory = &scenario.resolved_json()["fabric"]["memory"];
    assert_eq!((&memory["size"], &memory["alpha"]), (&42_349_632.into(), &2.0.into()));
    assert_eq!((&memory["reserve"], &memory["chip"]), (&1664.into(), &"tomahawk2".into()));
    let facts = scenario.setup().expect("it runs").all_facts();
    assert!(facts.iter().any(|fact| fact.contains("one full queue alone holds")), "{facts:?}");
    // A discipline with a short queue of its own keeps it; another has no limit but the memory.
    let buffer = |discipline: &str| {
        let set = format!("fabric.discipline={discipline}");
        good(&text, &[&set]).resolved_json()["fabric"]["buffer"].as_str().expect("a text").to_string()
    };
    assert_eq!(buffer("drop-tail"), "42349632 B");
    assert!(buffer("trimming").ends_with(" packets"), "{}", buffer("trimming"));
}

/// Lossless switches have a chip's memory if the scenario names one, and a default that no chip has is said.
#[test]
fn a_chip_is_the_memory_of_lossless_switches_too() {
    let text = format!("{}\n[fabric.pfc]\n", common::SMALL);
    let setup = |rate: &str, more: &[&str]| {
        let sets: Vec<&str> = [rate].iter().chain(more).copied().collect();
        good(&text, &sets).setup().expect("it runs").clone()
    };
    let said = |setup: &headway_lab::scenario::Setup| {
        setup.warnings().into_iter().find(|warning| warning.contains("lossless switches have"))
    };
    let fast = "topology.rate=400 Gbps";
    let warning = said(&setup(fast, &[])).expect("128 MiB are more than a shallow chip has");
    assert!(
        warning.contains("134217728 B each by default") && warning.contains("chip = \"tomahawk3\""),
        "{warning}"
    );
    assert_eq!(said(&setup("topology.rate=25 Gbps", &[])), None);
    let chosen = setup(fast, &["fabric.pfc.chip=tomahawk3"]);
    assert_eq!((said(&chosen), chosen.fabric.buffer.data), (None, headway_fabric::Limit::Bytes(67_117_468)));
    let written = setup(fast, &["fabric.pfc.chip=tomahawk3", "fabric.pfc.buffer=100 MB"]);
    assert_eq!(written.fabric.buffer.data, headway_fabric::Limit::Bytes(100_000_000));
}

/// The keys of the list are those that a scenario has, and a default that is written there is the one that counts.
#[test]
fn the_keys_are_those_of_a_scenario() {
    let resolved = good(common::SMALL, &["fabric.discipline=drop-tail"]).resolved_json();
    let fabric = resolved["fabric"].as_object().expect("a table");
    let own = disciplines::find("drop-tail").expect("it is listed").1;
    let there: Vec<&str> =
        fabric.keys().map(String::as_str).filter(|key| own.iter().all(|spec| spec.name != *key)).collect();
    // These two are only there where a scenario has them: they are part of what tells runs apart.
    let said: Vec<&str> = KEYS.iter().map(|key| key.name).filter(|name| !SAID.contains(name)).collect();
    assert_eq!(there, said);
    let at =
        good(common::SMALL, &["fabric.forwarding=cut-through", "fabric.at=[{links='hosts', buffer='9 B'}]"]);
    let fabric = &at.resolved_json()["fabric"];
    assert_eq!(fabric["forwarding"], "cut-through");
    assert_eq!((&fabric["at"][0]["links"], &fabric["at"][0]["buffer"]), (&"hosts".into(), &"9 B".into()));
    for key in KEYS.iter().filter(|key| key.takes == Takes::Bytes) {
        assert_eq!(fabric[key.name].to_string(), key.usual, "{}", key.name);
    }
    let modes: Vec<&str> = MODES.iter().map(|(_, name, _)| *name).collect();
    let routing = KEYS.iter().find(|key| key.name == "routing").expect("it is a key");
    assert_eq!(routing.takes.allowed_words(), modes);
}
