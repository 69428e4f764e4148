//! The order of events is the same in every build: `tests/golden/order.digests` is compared here in the
//! build of the tests, and by the Python tests in the release build. `HEADWAY_TRANSPORTS=mine` leaves out the others.

#![allow(clippy::disallowed_methods, reason = "tests read the repository")]

use crate::common;

use common::{good, repository, run};
use headway_harness::transports;
use headway_lab::scenario::EPOCH;

#[test]
fn the_order_of_events_is_the_committed_one() {
    let golden = repository().join("tests/golden");
    let text = std::fs::read_to_string(golden.join("order.toml")).expect("the scenario");
    let committed = std::fs::read_to_string(golden.join("order.digests")).expect("the digests");
    let mut found = String::new();
    let asked = transports();
    for transport in headway_transport::registry::NAMES {
        let known = committed.lines().find(|l| l.split_once(' ').is_some_and(|(name, _)| name == *transport));
        if let Some(known) = known.filter(|_| !asked.contains(transport)) {
            found += &format!("{known}\n");
            continue;
        }
        let output = run(&good(&text, &[&format!("transport.name={transport}")]));
        let digest = output.manifest["order_digest"].as_str().expect("a digest").to_owned();
        let line = format!("{transport} {digest}\n");
        match known {
            Some(known) => {
                assert_eq!(known, line.trim_end(), "if the change of order is meant, commit this line")
            }
            None => assert!(bless(), "{transport} has no line yet: HEADWAY_BLESS=1 writes it"),
        }
        found += &line;
    }
    if bless() {
        std::fs::write(golden.join("order.digests"), &found).expect("the digests can be written");
    } else {
        assert_eq!(
            committed, found,
            "lines are in the order of the registry, and of transports that are there"
        );
    }
    what_moved_since_has_an_epoch_of_its_own();
}

/// A transport whose order of events moved is in another epoch: stored runs of the former are not its own. Blessing
/// writes new transports, and all of a new epoch; it does not write what moved within one.
fn what_moved_since_has_an_epoch_of_its_own() {
    let golden = repository().join("tests/golden");
    let read = |name: &str| std::fs::read_to_string(golden.join(name)).unwrap_or_default();
    let (now, then) = (read("order.digests"), read("epoch.digests"));
    let epoch = EPOCH.to_string();
    let mut lines = then.lines();
    let written = lines.next().and_then(|line| line.strip_prefix("epoch ")).unwrap_or_default();
    let moved: Vec<&str> = lines
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, digest)| {
            now.lines().any(|l| l.split_once(' ').is_some_and(|(n, d)| n == *name && d != *digest))
        })
        .map(|(name, _)| name)
        .collect();
    assert!(
        written != epoch || moved.is_empty(),
        "the order of events moved under {}: raise EPOCH in crates/lab/src/scenario/mod.rs",
        moved.join(", ")
    );
    let fresh = format!("epoch {epoch}\n{now}");
    if bless() {
        std::fs::write(golden.join("epoch.digests"), &fresh).expect("the digests can be written");
    } else {
        assert_eq!(then, fresh, "HEADWAY_BLESS=1 writes tests/golden/epoch.digests");
    }
}

/// Whether lines of new transports are to be added; those that are there are only compared.
fn bless() -> bool {
    std::env::var_os("HEADWAY_BLESS").is_some()
}
