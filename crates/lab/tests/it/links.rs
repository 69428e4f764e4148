//! Links that differ from what their topology says: `[[topology.link]]`, by patterns.

use crate::common::{good, load, run};
use headway_lab::topology::layout::topology_json;
use headway_network::Network;

const RACKS: &str = r#"
[topology]
kind = "leaf-spine"
racks = 2
hosts_per_rack = 2
spines = 2
host_rate = "100 Gbps"
host_delay = "1 us"
"#;
const REST: &str = r#"
[transport]
name = "dctcp"
[[traffic]]
kind = "flows"
flows = [{ src = 0, dst = 2, bytes = 1000000 }]
"#;

fn with(link: &str) -> String {
    format!("{RACKS}\n[[topology.link]]\n{link}\n{REST}")
}

/// Names of the links of a rate.
fn of_rate(text: &str, gbps: u64) -> Vec<String> {
    let scenario = good(text, &[]);
    let setup = scenario.setup().expect("a network");
    let network = Network::build(&setup.topology.spec, &setup.fabric).expect("a network");
    let links = network.link_names().into_iter().zip(network.links());
    links.filter(|(_, link)| link.spec.rate.bps() == gbps * 1_000_000_000).map(|(name, _)| name).collect()
}

#[test]
fn names_and_patterns_choose_links() {
    let both = with("links = [\"leaf0<->spine0\"]\nrate = \"40 Gbps\"");
    assert_eq!(of_rate(&both, 40), ["leaf0->spine0", "spine0->leaf0"]);
    let up = with("links = [\"leaf*->spine1\"]\nrate = \"40 Gbps\"");
    assert_eq!(of_rate(&up, 40), ["leaf0->spine1", "leaf1->spine1"]);
    // 4 links of hosts and 4 between switches, in both directions.
    assert_eq!(of_rate(&with("links = [\"*\"]\nrate = \"40 Gbps\""), 40).len(), 16);
    // Both directions of two hosts; the second pattern chooses one of them again.
    assert_eq!(of_rate(&with("links = [\"h*<->leaf1\", \"h3->*\"]\nrate = \"40 Gbps\""), 40).len(), 4);
}

#[test]
fn ideals_routes_and_pictures_take_links_as_they_are() {
    // The only way to spine1 is slow, so that a flow over it takes longer, and its slowdown is what it was.
    let slow = with("links = [\"*<->spine0\", \"*<->spine1\"]\nrate = \"10 Gbps\"");
    let output = run(&good(&slow, &[]));
    let floats = |name: &str| output.flows.numbers::<f64>(name).expect("the column").value(0);
    // 1 MB at 10 Gb/s.
    assert!(floats("ideal_s") > 8e-4, "{}", floats("ideal_s"));
    assert!((1.0..1.1).contains(&floats("slowdown")), "{}", floats("slowdown"));
    let weighted = with("links = [\"*<->spine1\"]\nrate = \"1 Gbps\"")
        .replace("[transport]", "[fabric]\nrouting = \"weighted-ecmp\"\n[transport]")
        .replace("bytes = 1000000", "bytes = 1000");
    let flows = (0..60).map(|i| format!("{{ src = {}, dst = {}, bytes = 1000 }}", i % 2, 2 + i % 2));
    let flows = flows.collect::<Vec<_>>().join(", ");
    let weighted = weighted.replace("{ src = 0, dst = 2, bytes = 1000 }", &flows);
    let output = run(&good(&weighted, &[]));
    let names: Vec<_> = output.links.text("name").expect("names").iter().flatten().collect();
    let sent = output.links.numbers::<f64>("goodput_bps").expect("the column");
    let of = |name: &str| sent.value(names.iter().position(|one| *one == name).expect("a link"));
    let (fast, slow) = (of("leaf0->spine0"), of("leaf0->spine1"));
    assert!(fast > 10.0 * slow, "routes weigh by the rate that is set: {fast} and {slow}");
    let scenario = good(&with("links = [\"leaf0<->spine0\"]\nrate = \"40 Gbps\""), &[]);
    let drawn = topology_json(&scenario.setup().expect("a network").topology);
    let lines = drawn["links"].as_array().expect("links");
    let line = lines.iter().find(|line| line["a"] == "leaf0" && line["b"] == "spine0").expect("a line");
    assert_eq!(line["rate_bps"], 40_000_000_000u64);
    assert_eq!(scenario.resolved_json()["topology"]["link"][0]["links"][0], "leaf0<->spine0");
}

#[test]
fn what_is_wrong_is_said_with_the_nearest_name() {
    let said = |link: &str| load(&with(link), &[]).expect_err("something is wrong").render();
    for (link, words) in [
        ("links = [\"leaf0->spin0\"]\nrate = \"1 Gbps\"", "did you mean `leaf0->spine0`?"),
        ("links = [\"leef*->spine0\"]\nrate = \"1 Gbps\"", "there is no link like `leef*->spine0`"),
        ("links = [\"leaf0->spine0\"]", "these links do not differ from the others"),
        ("links = []\nrate = \"1 Gbps\"", "at least one link"),
        ("rate = \"1 Gbps\"", "links"),
        ("links = [\"*\"]\nrate = \"1 Gbps\"\nrats = 1", "rats"),
        (
            "links = [\"*->spine0\"]\nrate = \"1 Gbps\"\n[[topology.link]]\nlinks = [\"leaf0->*\"]\ndelay = \"1 us\"",
            "link `leaf0->spine0` is in two [[topology.link]]",
        ),
    ] {
        let error = said(link);
        assert!(error.contains(words), "{link}:\n{error}");
    }
}

#[test]
fn a_link_whose_rate_changes_has_a_range() {
    let fault = |rest: &str| {
        format!("{RACKS}{REST}[[fault]]\nlinks = [\"leaf0->spine0\"]\nrate = \"40 Gbps\"\n{rest}\n")
    };
    let ranges = |rest: &str| {
        let links = run(&good(&fault(rest), &[])).links;
        let names = links.text("name").expect("names");
        let place = |name: &str| names.iter().position(|one| one == Some(name)).expect("a link");
        let rate = |column: &str, row: usize| links.numbers::<u64>(column).expect("rates").value(row);
        let of = |name: &str| {
            ["rate_bps", "rate_min_bps", "rate_max_bps"]
                .map(|column| rate(column, place(name)) / 1_000_000_000)
        };
        (of("leaf0->spine0"), of("leaf1->spine0"))
    };
    assert_eq!(ranges("at = \"10 us\"\nuntil = \"20 us\""), ([100, 40, 100], [100; 3]));
    assert_eq!(ranges("at = \"0 s\"").0, [100, 40, 40], "it never has its own rate");
    assert_eq!(ranges("at = \"1 s\"").0, [100; 3], "the run is over by then");
}
