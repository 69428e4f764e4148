//! Probes of flows: the requested ones are in the series, nothing else moves, and mistakes say what helps.

use crate::common;

use common::{SMALL, good, load, run};
use headway_lab::RunOutput;
use headway_transport::registry;
use std::collections::BTreeSet;

/// The metrics of a series, without those that every sampled flow has.
fn probes(output: &RunOutput) -> BTreeSet<String> {
    let metrics = output.series.text("metric").expect("a column of text").iter().flatten();
    metrics.filter(|name| *name != "throughput_bps").map(str::to_string).collect()
}

/// Values of a metric, in order of time and flow.
fn values(output: &RunOutput, metric: &str) -> Vec<f64> {
    let (metrics, values) = (output.series.text("metric"), output.series.numbers::<f64>("value"));
    let pairs = metrics.expect("text").iter().flatten().zip(values.expect("numbers").iter().flatten());
    pairs.filter(|(name, _)| *name == metric).map(|(_, value)| value).collect()
}

fn sampled(transport: &str, probes: &str) -> RunOutput {
    let name = format!("transport.name={transport}");
    let sample = format!("sample={{every = \"5 us\", flows = \"all\", probes = {probes}}}");
    // Its senders have a window, and values of it, only if they are asked to.
    let windowed = if transport == "uet-rccc" { "transport.window=true" } else { &*name };
    run(&good(SMALL, &[&name, windowed, &sample]))
}

#[test]
fn every_transport_tells_all_that_it_declares_and_nothing_else() {
    for entry in registry::all_entries() {
        let name = entry.info.name;
        let declared: BTreeSet<String> = entry.probes.iter().map(|probe| probe.name.to_string()).collect();
        assert!(!declared.is_empty(), "{name}");
        assert_eq!(declared.len(), entry.probes.len(), "{name} declares one twice");
        let output = sampled(name, "true");
        assert_eq!(probes(&output), declared, "{name}");
        for probe in &declared {
            assert!(values(&output, probe).iter().all(|v| v.is_finite() && *v >= 0.0), "{name}: {probe}");
        }
    }
}

#[test]
fn asking_changes_no_event() {
    for entry in registry::all_entries() {
        let name = entry.info.name;
        let (asked, not) = (sampled(name, "true"), sampled(name, "false"));
        assert_eq!(asked.manifest["order_digest"], not.manifest["order_digest"], "{name}");
        assert_eq!(asked.manifest["events"], not.manifest["events"], "{name}");
        assert_eq!(asked.summary, not.summary, "{name}");
        assert_eq!(probes(&not), BTreeSet::new(), "{name}");
    }
}

#[test]
fn a_window_is_what_the_machine_holds_of_each_message() {
    // Two messages of one pair of hosts, the second of which is smaller: message numbers tell them apart.
    let flows = "traffic.0.flows=[{ src = 0, dst = 2, bytes = \"300 kB\" }, { src = 0, dst = 2, bytes = \"3 kB\", start = \"40 us\" }]";
    let sample =
        "sample={every = \"20 us\", flows = \"all\", probes = [\"window_packets\", \"in_flight_packets\"]}";
    let output = run(&good(SMALL, &["transport.name=template", "transport.window=6", flows, sample]));
    let windows = values(&output, "window_packets");
    // 3 kB are three packets: a window has no more than its message.
    assert!(windows.contains(&6.0) && windows.contains(&3.0), "{windows:?}");
    assert!(windows.iter().all(|w| *w == 6.0 || *w == 3.0), "{windows:?}");
    assert!(values(&output, "in_flight_packets").iter().all(|packets| *packets <= 6.0));
}

#[test]
fn a_flow_that_waits_for_another_is_asked_from_its_begin() {
    // The later flow of the list begins first, so the numbers of messages are not those of the list.
    let flows = "traffic.0.flows=[{ name = \"reply\", src = 0, dst = 2, bytes = \"300 kB\", after = [\"request\"] }, { name = \"request\", src = 0, dst = 2, bytes = \"3 kB\" }]";
    let sample = "sample={every = \"2 us\", flows = [\"reply\"], probes = [\"window_packets\"]}";
    let output = run(&good(SMALL, &["transport.name=template", "transport.window=6", flows, sample]));
    let windows = values(&output, "window_packets");
    assert!(windows.len() > 10 && windows.iter().all(|w| *w == 6.0), "{windows:?}");
    let before = run(&good(SMALL, &["transport.name=template", "transport.window=6", flows]));
    assert_eq!(before.manifest["order_digest"], output.manifest["order_digest"]);
}

#[test]
fn several_threads_and_several_transports_give_the_same_rows() {
    let other = "[[traffic]]\nkind = \"flows\"\ntransport = \"cubic\"\nflows = [{ src = 0, dst = 3, bytes = \"1 MB\" }]\n";
    let text = format!("{SMALL}\n{other}");
    let sets = ["transport.name=dctcp", "fabric.discipline=ecn-threshold"];
    let sample = "sample={every = \"10 us\", flows = \"all\", probes = true}";
    let scenario = good(&text, &[sets[0], sets[1], sample]);
    let one = run(&scenario);
    assert!(!values(&one, "alpha").is_empty() && !values(&one, "window_packets").is_empty());
    let threads = std::num::NonZeroUsize::new(2);
    let options = headway_lab::Options { threads, ..headway_lab::Options::default() };
    let two = headway_lab::run_scenario(&scenario, &options, &mut |_| true).expect("it runs");
    assert_eq!(one.series, two.series);
}

#[test]
fn the_digest_of_a_scenario_without_probes_is_what_it_was() {
    let sample = "sample={every = \"10 us\", flows = \"all\"}";
    let off = "sample={every = \"10 us\", flows = \"all\", probes = false}";
    assert_eq!(good(SMALL, &[sample]).digest(), good(SMALL, &[off]).digest());
    let on = "sample={every = \"10 us\", flows = \"all\", probes = true}";
    assert_ne!(good(SMALL, &[sample]).digest(), good(SMALL, &[on]).digest());
}

#[test]
fn mistakes_say_what_helps() {
    for (sample, message) in [
        (
            "{every = \"1 us\", flows = \"all\", probes = [\"windw_packets\"]}",
            "there is no probe `windw_packets`",
        ),
        (
            "{every = \"1 us\", flows = \"all\", probes = [\"windw_packets\"]}",
            "did you mean `window_packets`?",
        ),
        (
            "{every = \"1 us\", flows = \"all\", probes = [\"alpha\", \"alpha\"]}",
            "probe `alpha` is listed twice",
        ),
        ("{every = \"1 us\", flows = \"all\", probes = [\"credit\"]}", "alpha, in_flight_packets"),
        ("{every = \"1 us\", flows = \"all\", probes = \"all\"}", "true, false or a list of names of probes"),
        ("{every = \"1 us\", links = \"all\", probes = true}", "say flows = \"all\", or name flows"),
    ] {
        let error = load(SMALL, &["transport.name=dctcp", &format!("sample={sample}")]).expect_err(message);
        assert!(error.render().contains(message), "{}", error.render());
    }
}
