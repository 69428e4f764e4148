//! A lone message over every transport: seeds that are the same each time. `headway-soak lone` draws fresh ones.

use headway_soak::lone;
use headway_transport::registry::NAMES;

const SEEDS: u64 = 12;

#[test]
fn a_lone_message_takes_as_long_as_its_wires_over_every_transport_and_topology() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut broken = Vec::new();
    for (number, name) in (0..).zip(NAMES) {
        for seed in 0..SEEDS {
            // No two transports have the same networks.
            let case = lone::case(seed * 1000 + number, name, folder.path()).expect("a network");
            if let Err(why) = lone::hold(&case, name, folder.path()) {
                broken.push(format!("{name}, seed {seed}: {why}\n{}", case.text()));
            }
        }
    }
    assert!(broken.is_empty(), "{} runs:\n{}", broken.len(), broken.join("\n"));
}
