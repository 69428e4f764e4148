//! Entries with `stack = "kernel"`: which machine stands for them in the simulator, and what tells them apart.

use crate::common;

use common::{SMALL, good};
use headway_lab::Scenario;
use headway_lab::traffic::Kernel;
use headway_params::ParamValue;

/// [`SMALL`] on plain queues, with another entry that has these keys.
fn with(keys: &str) -> Scenario {
    let text = format!(
        "{SMALL}\n[[traffic]]\nkind = \"flows\"\n{keys}\nflows = [{{ src = 0, dst = 2, bytes = 1000 }}]\n"
    );
    good(&text, &["fabric.discipline=drop-tail"])
}

/// Name of the second entry's transport, and its kernel.
fn second(scenario: &Scenario) -> (String, Option<Kernel>) {
    let setup = scenario.setup().expect("a network");
    let common = &setup.traffic[1].common;
    (setup.transports[usize::from(common.transport)].name.clone(), common.kernel)
}

#[test]
fn every_control_has_its_machine_with_the_values_that_linux_has() {
    let machines = [
        ("reno", false, "tcp"),
        ("cubic", false, "cubic"),
        ("bbr", false, "bbr"),
        ("dctcp", false, "dctcp"),
        ("d2tcp", false, "d2tcp"),
        ("l2dct", false, "l2dct"),
        ("vegas", false, "vegas"),
        ("reno", true, "mptcp-reno"),
        ("cubic", true, "mptcp-cubic"),
    ];
    for (congestion, mptcp, machine) in machines {
        let scenario = with(&format!("stack = \"kernel\"\ncongestion = \"{congestion}\"\nmptcp = {mptcp}"));
        assert_eq!(
            second(&scenario),
            (machine.to_string(), Some(Kernel { congestion, mptcp, ecn: false, initial_window: None }))
        );
        let setup = scenario.setup().expect("a network");
        let preset = ParamValue::Choice("linux-4.19".into());
        assert_eq!(setup.transports[1].params, [("preset".to_string(), preset)]);
        assert!(setup.traffic[0].common.kernel.is_none());
        let shown = &scenario.resolved_json()["traffic"][1];
        assert_eq!(
            (&shown["stack"], &shown["congestion"], &shown["mptcp"]),
            (&"kernel".into(), &congestion.into(), &mptcp.into())
        );
    }
}

#[test]
fn a_flow_of_the_kernel_and_one_of_headway_have_numbers_of_their_own_though_one_machine_stands_for_both() {
    let linux = "transport = { name = \"cubic\", preset = \"linux-4.19\" }";
    let own = with(linux);
    let kernel = with("stack = \"kernel\"\ncongestion = \"cubic\"");
    let (a, b) = (own.setup().expect("a network"), kernel.setup().expect("a network"));
    assert_eq!(a.transports, b.transports);
    assert_ne!(own.digest(), kernel.digest());
    let both = format!(
        "{linux}\nflows = [{{ src = 1, dst = 3, bytes = 1000 }}]\n[[traffic]]\nkind = \"flows\"\nstack = \"kernel\"\ncongestion = \"cubic\""
    );
    let both = with(&both);
    // SMALL's amrt, and the same cubic twice.
    assert_eq!(both.setup().expect("a network").transports.len(), 3);
}

#[test]
fn the_usual_stack_is_no_part_of_what_identifies_a_run() {
    let (said, unsaid) = (with("transport = \"cubic\"\nstack = \"headway\""), with("transport = \"cubic\""));
    assert_eq!(said.digest(), unsaid.digest());
    assert!(unsaid.resolved_json()["traffic"][1].get("stack").is_none());
}

#[test]
fn reno_that_asks_for_marks_is_told_apart_and_has_a_machine_that_answers_them() {
    let scenario = with("stack = \"kernel\"\ncongestion = \"reno\"\necn = true\ninitial_window = 3");
    let (machine, kernel) = second(&scenario);
    let kernel = kernel.expect("of the kernel");
    assert_eq!((machine.as_str(), kernel.ecn, kernel.initial_window), ("l2dct", true, Some(3)));
    assert_eq!(kernel.label(), "kernel-reno-ecn");
    assert_eq!((kernel.asks_by_setting()), Some(true));
    let shown = &scenario.resolved_json()["traffic"][1];
    assert_eq!((&shown["ecn"], &shown["initial_window"]), (&true.into(), &3.into()));
    assert!(shown.get("settings").is_none());
    // For a control that asks for marks by itself, `ecn` adds nothing.
    let dctcp = with("stack = \"kernel\"\ncongestion = \"dctcp\"\necn = true");
    assert_eq!(dctcp.digest(), with("stack = \"kernel\"\ncongestion = \"dctcp\"").digest());
}

#[test]
fn settings_of_a_control_are_those_of_its_machine_and_shown_by_the_entry() {
    let keys = "congestion = { name = \"l2dct\", young = 100_000, old = 200_000 }";
    let scenario = with(&format!("stack = \"kernel\"\n{keys}"));
    let setup = scenario.setup().expect("a network");
    let young = ("young".to_string(), ParamValue::Int(100_000));
    assert!(setup.transports[1].params.contains(&young));
    let shown = &scenario.resolved_json()["traffic"][1];
    assert_eq!(shown["congestion"], "l2dct");
    assert_eq!(shown["settings"], serde_json::json!({ "young": 100_000, "old": 200_000 }));
}

#[test]
fn vegas_has_settings_of_its_own() {
    let scenario = with("stack = \"kernel\"\ncongestion = { name = \"vegas\", alpha = 1, gamma = 3 }");
    let setup = scenario.setup().expect("a network");
    assert!(setup.transports[1].params.contains(&("gamma".to_string(), ParamValue::Int(3))));
    let shown = &scenario.resolved_json()["traffic"][1];
    assert_eq!(shown["settings"], serde_json::json!({ "alpha": 1, "gamma": 3 }));
}
