//! The declarations of every transport are complete and free of contradictions. `pages.rs` holds the pages of
//! `docs/transports` to it.

use headway_transport::registry;
use headway_transport::states::StateTable;
use std::collections::BTreeSet;

fn each_table(check: impl Fn(&str, &StateTable)) {
    for entry in registry::all_entries() {
        entry.info.states.iter().for_each(|table| check(entry.info.name, table));
    }
}

#[test]
fn every_declared_state_can_be_reached_and_left_only_to_declared_ones() {
    each_table(|name, table| {
        let mut reached = BTreeSet::from([table.states[0]]);
        // A chain through all states takes as many steps.
        for _ in table.states {
            let next = table.transitions.iter().filter(|t| reached.contains(t.0)).map(|t| t.2);
            let next: Vec<_> = next.collect();
            reached.extend(next);
        }
        let declared: BTreeSet<_> = table.states.iter().copied().collect();
        assert_eq!(reached, declared, "{name}, {}", table.name);
    });
}

#[test]
fn an_event_has_one_outcome_in_a_state_and_none_is_declared_for_nothing() {
    each_table(|name, table| {
        let pairs: Vec<_> = table.transitions.iter().map(|t| (t.0, t.1)).collect();
        let distinct: BTreeSet<_> = pairs.iter().copied().collect();
        assert_eq!(pairs.len(), distinct.len(), "{name}, {}: two outcomes for one event", table.name);
        let used: BTreeSet<_> = table.transitions.iter().map(|t| t.1).collect();
        let declared: BTreeSet<_> = table.events.iter().copied().collect();
        assert_eq!(used, declared, "{name}, {}: events", table.name);
    });
}

#[test]
fn every_machine_ends_in_one_state_without_a_way_out() {
    each_table(|name, table| {
        let ends: Vec<_> =
            table.states.iter().filter(|s| !table.transitions.iter().any(|t| t.0 == **s)).collect();
        assert_eq!(ends.len(), 1, "{name}, {}: ends {ends:?}", table.name);
    });
}

#[test]
fn declarations_say_something() {
    for entry in registry::all_entries() {
        let info = &entry.info;
        assert!(!info.summary.is_empty() && !info.paper.is_empty() && !info.discipline.is_empty());
        for deviation in info.deviations {
            let place = deviation.split(':').next().unwrap_or_default();
            assert!(place.contains('§'), "{}: `{deviation}` names no section", info.name);
        }
        for spec in &entry.params {
            assert!(spec.doc.len() > 10, "{}.{} is not documented", info.name, spec.name);
            assert_eq!(
                spec.check_value(&spec.default),
                Ok(()),
                "{}.{}: illegal default",
                info.name,
                spec.name
            );
        }
    }
}

/// The price of a transport, as promised in `docs/adding-a-transport.md`.
#[test]
fn the_template_is_at_most_190_lines() {
    let lines = include_str!("../../src/template/mod.rs").lines().count();
    assert!(lines <= 190, "{lines} lines");
}
