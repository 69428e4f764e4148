//! Times by cause in results: the columns add up, nothing else moves, and mistakes say what helps.

use crate::common;

use common::{SMALL, good, load, run};
use headway_lab::RunOutput;
use headway_lab::results::table::Values;

const PARTS: [&str; 6] = ["host_s", "wait_s", "serialise_s", "propagate_s", "queue_s", "retransmit_s"];

fn column<'a>(output: &'a RunOutput, name: &str) -> &'a Values<f64> {
    output.flows.numbers(name).unwrap_or_else(|| panic!("a column {name} of numbers"))
}

fn picoseconds(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

#[test]
fn the_columns_of_a_flow_add_up_to_its_time() {
    let output = run(&good(SMALL, &["transport.name=dctcp", "sample={causes = true}"]));
    let fct = column(&output, "fct_s");
    for flow in 0..output.flows.rows() {
        let parts = PARTS.map(|part| picoseconds(column(&output, part).value(flow)));
        assert_eq!(parts.iter().sum::<u64>(), picoseconds(fct.value(flow)), "flow {flow}: {parts:?}");
        let longest = column(&output, "held_s");
        let held = longest.get(flow).map(picoseconds);
        // `held_s` is the longest of the waits that `queue_s`, part 4, adds up.
        assert_eq!(held.is_some(), parts[4] > 0);
        assert!(held.unwrap_or(0) <= parts[4]);
    }
    let held = output.flows.text("held_by").expect("a column of text");
    assert!(held.iter().flatten().count() > 0, "no flow waited anywhere");
    let links: Vec<&str> = output.links.text("name").expect("text").iter().flatten().collect();
    assert!(held.iter().flatten().all(|link| links.contains(&link)));
}

#[test]
fn without_the_question_the_columns_are_empty_and_nothing_else_differs() {
    let sampled = "sample={every = \"10 us\", flows = \"all\"}";
    let asked = "sample={every = \"10 us\", flows = \"all\", causes = true}";
    let not = "sample={every = \"10 us\", flows = \"all\", causes = false}";
    let (with, without) = (run(&good(SMALL, &[asked])), run(&good(SMALL, &[sampled])));
    for part in PARTS.into_iter().chain(["held_by", "held_s"]) {
        let column = without.flows.column(part).expect("a column");
        assert_eq!(column.valid(), Some(&vec![false; without.flows.rows()][..]), "{part}");
    }
    assert_eq!(
        (&with.links, &with.series, &with.summary),
        (&without.links, &without.series, &without.summary)
    );
    assert_eq!(with.manifest["order_digest"], without.manifest["order_digest"]);
    assert_eq!(good(SMALL, &[not]).digest(), good(SMALL, &[sampled]).digest());
    assert_ne!(good(SMALL, &[asked]).digest(), good(SMALL, &[sampled]).digest());
    // A run that records causes alone ends as one that samples nothing.
    let (alone, bare) = (run(&good(SMALL, &["sample={causes = true}"])), run(&good(SMALL, &[])));
    assert_eq!(alone.manifest["virtual_s"], bare.manifest["virtual_s"]);
    assert_eq!(alone.summary, bare.summary);
}

#[test]
fn mistakes_say_what_helps() {
    for (sample, message) in [
        ("{causes = 1}", "true or false"),
        ("{causes = false}", "every"),
        ("{every = \"1 us\", causes = true}", "`every` has no effect: no flow and no link is sampled"),
        (
            "{every = \"1 us\", causes = false}",
            "say flows = \"all\", links = \"bottlenecks\", causes = true or volumes = true",
        ),
        ("{cause = true}", "did you mean `causes`?"),
        ("{causes = true, probes = true}", "say flows = \"all\", or name flows"),
    ] {
        let error = load(SMALL, &["transport.name=dctcp", &format!("sample={sample}")]).expect_err(message);
        assert!(error.render().contains(message), "{}", error.render());
    }
}
