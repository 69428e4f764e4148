//! The sums of docs/results.md are read from the page, and speak of columns that there are.

use headway_soak::{Size, Verdict, generate, identities, invariants, judge};

#[test]
fn the_page_has_identities_of_links_of_flows_and_of_runs() {
    let all = identities::all();
    for (of, least) in [("links", 5), ("flows", 1), ("run", 6)] {
        let count = all.iter().filter(|i| i.of == of).count();
        assert!(count >= least, "{count} identities of {of}: {all:?}");
    }
}

/// Trimming returns packets: a row in which something came back holds, and would not without that column.
#[test]
fn what_trimming_returned_is_counted() {
    let folder = tempfile::tempdir().expect("a directory");
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 9\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
        [transport]\nname = \"ndp\"\n[fabric]\nbuffer = \"2 packets\"\nbounce = \"on\"\ncontrol_buffer = \"2 packets\"\n\
        [[traffic]]\nkind = \"incast\"\nsenders = 8\nreceiver = 8\nbytes = \"60 kB\"\n";
    let case = headway_soak::Case::of(text).expect("TOML");
    let scenario = case.load(folder.path()).unwrap_or_else(|e| panic!("{e}"));
    let output = headway_lab::run_scenario(&scenario, &headway_lab::Options::default(), &mut |_| true);
    let output = output.unwrap_or_else(|e| panic!("{}", e.render()));
    let returned = output.links.numbers::<u64>("returned").expect("the column");
    assert!(returned.values().iter().sum::<u64>() > 0, "nothing was returned: the test shows nothing");
    for identity in identities::all() {
        identity.check(&output, &|_| true).unwrap_or_else(|found| panic!("{found}"));
    }
}

/// A run that ends inside of packets has a goodput below the rate of every link.
#[test]
fn goodput_is_below_the_rate_wherever_a_run_stops() {
    let folder = tempfile::tempdir().expect("a directory");
    // None is a multiple of the 1168 ns of a packet without header.
    for ns in [50, 1_300, 2_000, 3_333, 7_001] {
        let text = format!(
            "stop = \"{ns} ns\"\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 2\nrate = \"10 Gbps\"\n\
             delay = \"10 ns\"\n[transport]\nname = \"dctcp\"\n[fabric]\nheader = 0\nframing = 0\n\
             [[traffic]]\nkind = \"incast\"\nsenders = 2\nreceiver = 3\nbytes = \"1 MB\"\n"
        );
        let case = headway_soak::Case::of(&text).expect("TOML");
        let verdict = judge(&case, folder.path(), invariants::ALL);
        assert!(matches!(verdict, Verdict::Passed(_)), "{ns} ns: {verdict:?}");
    }
}

/// An identity that does not hold is found, and so is a column that does not exist.
#[test]
fn the_first_seeds_are_held_against_the_page() {
    let folder = tempfile::tempdir().expect("a directory");
    let (case, _) = generate(7, Size::SMALL, folder.path());
    let scenario = case.load(folder.path()).unwrap_or_else(|e| panic!("{e}"));
    let output = headway_lab::run_scenario(&scenario, &headway_lab::Options::default(), &mut |_| true);
    let mut output = output.unwrap_or_else(|e| panic!("{}", e.render()));
    let all = identities::all();
    let broken =
        |output: &headway_lab::RunOutput| all.iter().filter(|i| i.check(output, &|_| true).is_err()).count();
    assert_eq!(broken(&output), 0);
    // One identity names it.
    output.summary["trims"] = 1_000_000.into();
    assert_eq!(broken(&output), 1);
    output.summary["trims"] = "many".into();
    assert_eq!(broken(&output), 1);
}
