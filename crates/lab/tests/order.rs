//! The order of events is the same in every build: `tests/golden/order.digests` is compared here in the
//! build of the tests, and by the Python tests in the release build.

#![allow(clippy::disallowed_methods, reason = "tests read the repository")]

mod common;

use common::{good, repository, run};

#[test]
fn the_order_of_events_is_the_committed_one() {
    let golden = repository().join("tests/golden");
    let text = std::fs::read_to_string(golden.join("order.toml")).expect("the scenario");
    let committed = std::fs::read_to_string(golden.join("order.digests")).expect("the digests");
    let mut lines = committed.lines();
    for transport in headway_transport::registry::NAMES {
        let output = run(&good(&text, &[&format!("transport.name={transport}")]));
        let digest = output.manifest["order_digest"].as_str().expect("a digest").to_owned();
        let found = format!("{transport} {digest}");
        assert_eq!(lines.next(), Some(found.as_str()), "if the change of order is meant, commit this line");
    }
    assert_eq!(lines.next(), None);
}
