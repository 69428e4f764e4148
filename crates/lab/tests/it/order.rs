//! The order of events is the same in every build: `tests/golden/order.digests` is compared here in the
//! build of the tests, and by the Python tests in the release build. `HEADWAY_TRANSPORTS=mine` leaves out the others.

#![allow(clippy::disallowed_methods, reason = "tests read the repository")]

use crate::common;

use common::{good, repository, run};
use headway_harness::selected_transports;
use headway_lab::scenario::EPOCH;

#[test]
fn the_order_of_events_is_the_committed_one() {
    let golden = repository().join("tests/golden");
    let text = std::fs::read_to_string(golden.join("order.toml")).expect("the scenario");
    let committed = std::fs::read_to_string(golden.join("order.digests")).expect("the digests");
    let mut found = String::new();
    let asked = selected_transports();
    for transport in headway_transport::registry::NAMES {
        let known = committed.lines().find(|l| l.split_once(' ').is_some_and(|(name, _)| name == *transport));
        // Kept as it is, so that blessing with some transports alone loses no line of the others.
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

/// A line of committed digests.
struct Committed<'a> {
    name: &'a str,
    digest: &'a str,
    /// Revision at that time, if it is written.
    revision: u32,
}

impl<'a> Committed<'a> {
    fn of(line: &'a str) -> Option<Committed<'a>> {
        let mut words = line.split(' ');
        let (name, digest) = (words.next()?, words.next()?);
        let revision = words.next().and_then(|word| word.strip_prefix("revision-")?.parse().ok());
        Some(Committed { name, digest, revision: revision.unwrap_or(0) })
    }

    fn moved_to(&self, now: &Committed<'_>) -> bool {
        let revision = headway_transport::registry::find_entry(now.name).map_or(0, |entry| entry.revision);
        self.name == now.name && self.digest != now.digest && self.revision == revision
    }
}

/// A line of `order.digests` with the revision of its transport, unless that is the first.
fn with_revision(line: &str) -> String {
    let name = line.split(' ').next().unwrap_or_default();
    match headway_transport::registry::find_entry(name).map_or(0, |entry| entry.revision) {
        0 => format!("{line}\n"),
        revision => format!("{line} revision-{revision}\n"),
    }
}

/// A transport whose order of events moved is in another epoch, or has another revision: stored runs of the former are
/// not its own. Blessing writes new transports and revisions, and all of a new epoch; it does not write what moved without
/// either.
fn what_moved_since_has_an_epoch_of_its_own() {
    let golden = repository().join("tests/golden");
    let read = |name: &str| std::fs::read_to_string(golden.join(name)).unwrap_or_default();
    let (now, then) = (read("order.digests"), read("epoch.digests"));
    let epoch = EPOCH.to_string();
    let mut lines = then.lines();
    let written = lines.next().and_then(|line| line.strip_prefix("epoch ")).unwrap_or_default();
    let moved: Vec<&str> = lines
        .filter_map(Committed::of)
        .filter(|then| now.lines().filter_map(Committed::of).any(|now| then.moved_to(&now)))
        .map(|then| then.name)
        .collect();
    assert!(
        written != epoch || moved.is_empty(),
        "the order of events moved under {}: raise `REVISION` of the transport, or EPOCH in crates/lab/src/scenario/mod.rs \
         where many moved",
        moved.join(", ")
    );
    let fresh = format!("epoch {epoch}\n{}", now.lines().map(with_revision).collect::<String>());
    if bless() {
        std::fs::write(golden.join("epoch.digests"), &fresh).expect("the digests can be written");
    } else {
        assert_eq!(then, fresh, "HEADWAY_BLESS=1 writes tests/golden/epoch.digests");
    }
}

/// True if lines of new transports are to be added; those that are there are only compared.
fn bless() -> bool {
    std::env::var_os("HEADWAY_BLESS").is_some()
}
