//! Properties of the scenario reader on any text. The fuzz target and the test that replays the corpus
//! run this same function.

use headway_lab::{Request, Scenario, ScenarioError};
use std::path::Path;

/// Panics when a text is neither read nor refused with a place and a message.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match read(text) {
        Err(error) => refused(&error),
        Ok(scenario) => {
            let again = read(text).expect("it was read before");
            assert_eq!(scenario.resolved_json(), again.resolved_json());
            assert_eq!(scenario.digest(), again.digest());
            if let Err(error) = scenario.points() {
                refused(&error);
            }
            flows(&scenario);
        }
    }
}

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    // No large networks, and no files from anywhere.
    let sets = ["memory_limit=48 MB".to_string()];
    Request::text(text, "scenario.toml", Path::new("/nowhere"), &sets, None).load()
}

fn flows(scenario: &Scenario) {
    let Ok(setup) = scenario.setup() else { return };
    match setup.resolve(scenario.seed) {
        Err(error) => refused(&error),
        Ok(resolved) => {
            assert_eq!(resolved.names.len(), resolved.spec.flows.len());
            for flow in &resolved.spec.flows {
                assert!(flow.src != flow.dst && flow.bytes > 0);
                assert!(flow.src.max(flow.dst) < setup.topology.hosts);
            }
        }
    }
}

fn refused(error: &ScenarioError) {
    assert!(!error.to_string().is_empty());
    assert!(error.render().contains('×'));
}
