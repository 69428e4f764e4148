//! A run takes no more memory than it may: what was not expected ends it.

use headway_lab::{Options, run_scenario};
use headway_soak::memory::peak_of;

/// Senders fill a buffer that the estimate cannot know they will fill: every packet is sent twice over.
const LONG: &str = "memory_limit = \"LIMIT\"\n[topology]\nkind = \"single-switch\"\nhosts = 3\nrate = \"100 Gbps\"\n\
    delay = \"20 ms\"\n[transport]\nname = \"expresspass\"\n[[traffic]]\nkind = \"flows\"\nflows = [\n\
    { src = 0, dst = 2, bytes = \"300 MB\" },\n{ src = 1, dst = 2, bytes = \"300 MB\" },\n]\n";

fn peak(limit: &str, sets: &[&str]) -> (headway_lab::RunOutput, u64, u64) {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let text = LONG.replace("LIMIT", limit);
    let folder = std::path::Path::new(".");
    let scenario = headway_lab::Request::text(&text, "long.toml", folder, &sets, None).load();
    let scenario = scenario.unwrap_or_else(|e| panic!("{}", e.render()));
    let said = scenario.setup().and_then(|s| s.check_memory()).unwrap_or_else(|e| panic!("{}", e.render()));
    let (output, peak) = peak_of(|| run_scenario(&scenario, &Options::default(), &mut |_| true));
    (output.unwrap_or_else(|e| panic!("{}", e.render())), peak, said.memory_bytes)
}

/// Credits over a long path: hundreds of thousands of packets are in flight, and were expected.
#[test]
fn packets_in_flight_are_in_the_estimate() {
    let (output, peak, said) = peak("2 GB", &[]);
    assert_eq!(output.summary["flows_done"], 2, "{}", output.manifest["warnings"]);
    let ratio = (peak + headway_network::BASE) as f64 / said as f64;
    println!("{peak} B of the heap, {said} B were said of the process: {ratio:.2}");
    assert!((0.25..=1.5).contains(&ratio), "{peak} B, {said} B were said");
}

/// A fault doubles every packet on every link, which no estimate foresees.
#[test]
fn a_run_that_needs_more_than_was_expected_ends_with_what_it_has() {
    let doubled = ["fault=[{ duplicate = 1.0 }]"];
    let (.., said) = peak("2 GB", &[]);
    let limit = said + said / 20;
    let (output, peak, _) = peak(&format!("{limit} B"), &doubled);
    let warnings = output.manifest["warnings"].to_string();
    assert!(warnings.contains("packets in flight took all the memory that they may"), "{warnings}");
    assert_eq!(output.manifest["interrupted"], true);
    assert!(output.links.num_rows() > 0, "what happened until then is there");
    assert!((peak + headway_network::BASE) as f64 <= limit as f64 * 1.5, "{peak} B of {limit} B");
}
