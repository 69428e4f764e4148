//! The keys of `[fabric]` that are declared are those that a scenario has.

use crate::common::{self, good};
use headway_fabric::registry as disciplines;
use headway_lab::fabric::{KEYS, MODES};
use headway_lab::text::key::Takes;

/// Keys that a resolved scenario has only where they are set.
const SAID: [&str; 4] = ["flowlet_gap", "forwarding", "at", "pfc"];

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
