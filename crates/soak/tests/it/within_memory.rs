//! A run takes no more memory than it may: memory that was not expected ends it.

use headway_lab::{Options, run_scenario};
use headway_soak::memory::peak_of;

/// Senders fill a buffer that the estimate cannot know they will fill: every packet is sent twice over.
const LONG: &str = "memory_limit = \"LIMIT\"\n[topology]\nkind = \"single-switch\"\nhosts = 3\nrate = \"100 Gbps\"\n\
    delay = \"20 ms\"\n[transport]\nname = \"expresspass\"\n[[traffic]]\nkind = \"flows\"\nflows = [\n\
    { src = 0, dst = 2, bytes = \"300 MB\" },\n{ src = 1, dst = 2, bytes = \"300 MB\" },\n]\n";

fn peak(limit: &str, sets: &[&str]) -> (headway_lab::RunOutput, u64, u64) {
    peak_in(LONG, limit, sets)
}

fn peak_in(text: &str, limit: &str, sets: &[&str]) -> (headway_lab::RunOutput, u64, u64) {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let text = text.replace("LIMIT", limit);
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

/// A message whose receiver is gone for good is sent again and again.
const NOBODY: &str = "memory_limit = \"LIMIT\"\n[topology]\nkind = \"single-switch\"\nhosts = 3\n\
    rate = \"100 Gbps\"\ndelay = \"10 ns\"\n[transport]\nname = \"rpo\"\n[[traffic]]\nkind = \"flows\"\nflows = [\n\
    { src = 0, dst = 1, bytes = 1000 },\n]\n[[fault]]\ndown_at = \"1 ps\"\nlinks = [\"s0->h1\"]\nconverge = \"never\"\n";

/// A message without an answer is repeated for as long as a run goes on, and takes no more memory for it.
#[test]
fn a_message_that_nobody_answers_takes_no_more_memory_with_time() {
    for name in headway_testing::one_in!(4, headway_transport::registry::NAMES) {
        let after = |stop: &str| {
            let sets = [format!("transport.name=\"{name}\""), format!("stop=\"{stop}\"")];
            peak_in(NOBODY, "1 GB", &sets.each_ref().map(String::as_str))
        };
        let ((_, short, _), (output, long, _)) = (after("1 ms"), after("100 s"));
        assert_eq!(output.summary["flows_done"], 0, "{name}");
        println!("{name}: {short} B, then {long} B");
        assert!(long < short + 500_000, "{name}: {short} B, then {long} B");
    }
}

/// Little to send over a long path: credits flow for a round trip all the same.
const FEW: &str = "memory_limit = \"LIMIT\"\n[topology]\nkind = \"dumbbell\"\nsenders = 8\nreceivers = 8\n\
    rate = \"100 Gbps\"\ndelay = \"300 us\"\nbottleneck_rate = \"100 Gbps\"\nbottleneck_delay = \"300 us\"\n[fabric]\n\
    payload = 100\n[transport]\nname = \"expresspass\"\n[[traffic]]\nkind = \"permutation\"\nbytes = \"100 kB\"\n";

/// Of credits that nothing answers, each of these transports has as many as were expected, and no limit between the
/// estimate and the peak ends the run.
#[test]
fn credits_that_nothing_is_left_to_send_for_are_in_the_estimate() {
    for name in ["expresspass", "expresspass-aeolus"] {
        let (output, peak, said) = peak_in(FEW, "1 GB", &[&format!("transport.name=\"{name}\"")]);
        assert_eq!(output.summary["flows_done"], 16, "{}", output.manifest["warnings"]);
        let ratio = (peak + headway_network::BASE) as f64 / said as f64;
        println!("{name}: {peak} B of the heap, {said} B were said of the process: {ratio:.2}");
        assert!((1.0 / 1.5..=1.5).contains(&ratio), "{name}: {peak} B, {said} B were said");
    }
    // A round trip holds most of it: the forecast follows the delay, and not the bytes that are to be sent.
    let said = |sets: &[&str]| peak_in(FEW, "1 GB", sets).2 - headway_network::BASE;
    let (once, twice) =
        (said(&[]), said(&["topology.delay=\"600 us\"", "topology.bottleneck_delay=\"600 us\""]));
    assert!((1.5..2.2).contains(&(twice as f64 / once as f64)), "{once} B, then {twice} B");
}

/// A fault doubles every packet on every link, which no estimate foresees.
#[test]
fn a_run_that_needs_more_than_was_expected_ends_with_what_it_has() {
    let doubled = ["fault=[{ duplicate = 1.0 }]"];
    let (.., said) = peak("2 GB", &[]);
    // Barely more than is expected, and far less than twice as many packets take.
    let limit = said + said / 20;
    let (output, peak, _) = peak(&format!("{limit} B"), &doubled);
    let warnings = output.manifest["warnings"].to_string();
    assert!(warnings.contains("packets in flight took all the memory that they may"), "{warnings}");
    assert_eq!(output.manifest["interrupted"], true);
    assert!(output.links.rows() > 0, "what happened until then is there");
    assert!((peak + headway_network::BASE) as f64 <= limit as f64 * 1.5, "{peak} B of {limit} B");
}
