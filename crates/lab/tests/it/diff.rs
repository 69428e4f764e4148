//! The first event in which two runs differ, against all events of both.

use crate::common::{good, run};
use headway_lab::Scenario;
use headway_lab::diff::{Compared, diff};
use headway_network::{Seen, Witness};

const TEXT: &str = include_str!("../../../../tests/golden/behaviour/faults.toml");

/// Keeps every event.
#[derive(Default)]
struct All(Vec<Seen>);

impl Witness for All {
    fn event(&mut self, event: &Seen) -> bool {
        self.0.push(*event);
        true
    }
}

fn events(scenario: &Scenario) -> Vec<Seen> {
    let resolved = scenario.setup().and_then(|s| s.resolve(scenario.seed)).expect("it can be run");
    let mut all = All::default();
    headway_sim::run_witnessed(&resolved.spec, &mut all, &mut |_| true).expect("it runs");
    all.0
}

fn compared(left: &Scenario, right: &Scenario) -> Compared {
    diff(left, right, &mut || true).expect("both run").expect("nobody stops it")
}

/// The first event that `diff` finds is the first of all.
#[track_caller]
fn holds(sets: &[&str]) -> u64 {
    let (left, right) = (good(TEXT, &[]), good(TEXT, sets));
    let (ours, theirs) = (events(&left), events(&right));
    let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let found = compared(&left, &right).difference.unwrap_or_else(|| panic!("{sets:?} changes nothing"));
    assert_eq!(found.number, same as u64);
    for (told, seen) in [(&found.left, ours.get(same)), (&found.right, theirs.get(same))] {
        assert_eq!(told.as_ref().map(|e| e["at_ps"].as_u64()), seen.map(|s| Some(s.at.0)));
    }
    assert!(found.before.len() == 4 || same < 4);
    found.number
}

#[test]
fn a_run_is_the_same_as_itself() {
    let scenario = good(TEXT, &[]);
    let found = compared(&scenario, &scenario);
    let output = run(&scenario);
    assert_eq!(found.difference, None);
    assert_eq!(found.events[0], output.manifest["events"]);
    assert_eq!(found.order_digests[0], output.manifest["order_digest"]);
}

#[test]
fn the_first_event_that_differs_is_found() {
    // From the beginning, in the middle of a piece of 4096 events, and many pieces later.
    let early = holds(&["transport.name=phost"]);
    let later = holds(&["fault.0.loss=0.02"]);
    let last = holds(&["fault.1.up_at=1100 us"]);
    assert!(early < 4096 && 4096 < last, "{early} {later} {last}");
}

#[test]
fn a_run_that_ends_earlier_is_over() {
    let number = holds(&["stop=500 us"]);
    let found = compared(&good(TEXT, &[]), &good(TEXT, &["stop=500 us"]));
    let difference = found.difference.expect("one is longer");
    assert!(difference.right.is_none() && difference.left.is_some());
    assert_eq!(found.events[1], number);
}

#[test]
fn packets_that_differ_are_told_by_their_fields() {
    let (left, right) = (good(TEXT, &[]), good(TEXT, &["fabric.rule=half-slot"]));
    let difference = compared(&left, &right).difference.expect("another rule marks other packets");
    let [ecn] = &difference.differs[..] else { panic!("{:?}", difference.differs) };
    assert_eq!((ecn.field, ecn.name, ecn.meaning), ("ecn", "ecn", "ECN code point, in the two low bits"));
    assert_eq!(ecn.values, ["spare", "not-ect"]);
}

#[test]
fn packets_are_told_in_the_words_of_their_protocol() {
    let (left, right) = (good(TEXT, &[]), good(TEXT, &["transport.window=3"]));
    let difference = compared(&left, &right).difference.expect("another window is announced");
    let window = difference.differs.iter().find(|one| one.field == "count").expect("the window differs");
    let meaning = "Packets of the message that leave without permission";
    assert_eq!((window.name, window.meaning), ("window", meaning));
    assert_eq!(window.values[1], "3");
    let says = &difference.left.expect("an event")["packet"]["says"];
    let said: Vec<&str> =
        says.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(said, ["index", "window", "message_bytes"]);
}

#[test]
fn it_stops_when_it_is_told_to() {
    let scenario = good(TEXT, &[]);
    assert_eq!(diff(&scenario, &scenario, &mut || false).expect("no fault"), None);
}
