//! Values that a transport that is configured by its traffic derives from a scenario's distributions.

use crate::common;

use common::{LEAF_SPINE, SMALL, good};
use headway_lab::Scenario;
use serde_json::Value;

/// The transport of a scenario as its manifest has it.
fn transport(scenario: &Scenario) -> Value {
    scenario.resolved_json()["transport"].clone()
}

fn numbers(transport: &Value, keys: &[&str]) -> Vec<u64> {
    keys.iter().map(|key| transport[key].as_u64().expect("a number")).collect()
}

fn homa(cdf: &str, further: &str) -> Value {
    let text = LEAF_SPINE.replace("LOAD", "flows = 10").replace("dctcp_websearch", cdf);
    transport(&good(&text.replace("\"amrt\"", &format!("\"homa\"\n{further}")), &[]))
}

#[test]
fn priorities_follow_the_share_of_unscheduled_bytes() {
    // The authors' configurations for 10 Gb/s and RTTbytes of about 9.7 kB have 1, 7, 7 and 7 scheduled
    // levels of eight; W2, W3 and the web server, where they differ from the rule, are in the page.
    let published = [
        ("homa_w1_fb_memcached", 7),
        ("homa_w4_fb_hadoop", 1),
        ("homa_fb_cachefollower", 1),
        ("homa_w5_dctcp_websearch", 1),
        ("homa_w2_google_search", 6),
        ("homa_w3_google_all", 2),
        ("homa_fb_webserver", 1),
    ];
    for (cdf, levels) in published {
        let found = homa(cdf, "rtt_bytes = 9700");
        assert_eq!(numbers(&found, &["unscheduled_levels"]), [levels], "{cdf}");
    }
}

#[test]
fn cutoffs_rise_and_end_where_the_levels_do() {
    let found = homa("homa_w1_fb_memcached", "rtt_bytes = 9700");
    let cutoffs: Vec<u64> = (1..=7).map(|i| numbers(&found, &[&format!("cutoff_{i}")])[0]).collect();
    assert!(cutoffs[..6].windows(2).all(|pair| 0 < pair[0] && pair[0] < pair[1]), "{cutoffs:?}");
    assert_eq!(cutoffs[6], 0, "the seventh level takes all that is longer");
}

#[test]
fn what_a_scenario_says_stands_and_without_a_distribution_nothing_is_set() {
    let said = homa("homa_w1_fb_memcached", "unscheduled_levels = 2\ncutoff_1 = 1234");
    assert_eq!(numbers(&said, &["unscheduled_levels", "cutoff_1", "cutoff_2"]), [2, 1234, 0]);
    let linux = homa("homa_w1_fb_memcached", "preset = \"linux\"");
    assert_eq!(numbers(&linux, &["unscheduled_levels", "cutoff_1", "cutoff_2"]), [4, 200, 2800]);
    let flows = transport(&good(&SMALL.replace("\"amrt\"", "\"homa-aeolus\""), &[]));
    assert_eq!(numbers(&flows, &["unscheduled_levels", "cutoff_1"]), [0, 0]);
}
