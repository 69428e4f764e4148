//! Traffic of the L2DCT benchmark: named senders and receivers, sizes in closed form, random deadlines and starts;
//! and the tables of its models.

use crate::common;

use common::{SMALL, good, load};
use headway_lab::Scenario;
use headway_network::FlowSpec;
use headway_units::Time;
use serde_json::json;

/// Five senders and a receiver behind 1 Gb/s, with this in place of the flows of [`SMALL`].
fn text(traffic: &str) -> String {
    let head = &SMALL[..SMALL.find("[[traffic]]").unwrap_or_default()];
    let head = head.replace("senders = 2\nreceivers = 2", "senders = 5\nreceivers = 1");
    let head = head.replace("delay = \"10 us\"", "delay = \"10 us\"\nbottleneck_rate = \"1 Gbps\"");
    format!("{head}\n[[traffic]]\n{traffic}\n")
}

fn flows(scenario: &Scenario) -> Vec<FlowSpec> {
    scenario.setup().expect("a network").resolve(scenario.seed).expect("flows").spec.flows
}

const POISSON: &str = "kind = \"poisson\"\nsenders = 5\nreceivers = [5]\nload = 0.5\nflows = 4000\n";
const EVEN: &str = "cdf = { kind = \"uniform\", mean = \"50 kB\", spread = 0.96 }\n";

#[test]
fn senders_share_the_arrivals_and_the_load_is_that_of_the_narrow_link() {
    let scenario = good(&text(&format!("{POISSON}{EVEN}")), &[]);
    let flows = flows(&scenario);
    let per_sender: Vec<usize> = (0..5).map(|s| flows.iter().filter(|f| f.src == s).count()).collect();
    // 800 each, and four standard deviations of 25.
    assert!(per_sender.iter().all(|n| (700..900).contains(n)), "{per_sender:?}");
    // 50 kB less and plus 96 %.
    assert!(flows.iter().all(|f| f.dst == 5 && (2_000..=98_000).contains(&f.bytes)));
    let mean = flows.iter().map(|f| f.bytes as f64).sum::<f64>() / 4000.0;
    // 2.3 standard deviations of a mean of 4,000 even sizes.
    assert!((49_000.0..51_000.0).contains(&mean), "{mean}");
    let resolved = scenario.resolved_json()["traffic"][0].clone();
    let load = resolved["receiver_link_load"].as_f64().expect("a number");
    assert!((load - 0.5).abs() < 1e-9, "{load}");
    assert_eq!(
        (&resolved["load_reference"], &resolved["core_link_load"]),
        (&json!("receiver-links"), &json!(null))
    );
    // Half of 1 Gb/s, in frames of 50 kB messages: 1202 a second.
    let rate = resolved["arrivals_per_s"].as_f64().expect("a number");
    let last = flows.last().expect("flows").start.as_secs_f64();
    assert!((1180.0..1220.0).contains(&rate) && (4000.0 / last / rate - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn a_host_among_both_never_sends_to_itself() {
    let keys = format!(
        "{}{EVEN}",
        POISSON.replace("senders = 5\nreceivers = [5]", "senders = [0, 1]\nreceivers = [1, 2]")
    );
    let pairs = flows(&good(&text(&keys), &[]));
    assert!(pairs.iter().all(|f| f.src != f.dst));
    for pair in [(0, 1), (0, 2), (1, 2)] {
        assert!(pairs.iter().any(|f| (f.src, f.dst) == pair), "{pair:?}");
    }
}

#[test]
fn deadlines_are_exponential_and_starts_late_by_less_than_the_jitter() {
    let keys = format!("{POISSON}{EVEN}mean_deadline = \"40 ms\"\nleast_deadline = \"10 ms\"\n");
    let due = flows(&good(&text(&keys), &[]));
    let after: Vec<f64> =
        due.iter().map(|f| (f.deadline.expect("one") - f.start).as_secs_f64() * 1e3).collect();
    let mean = after.iter().sum::<f64>() / after.len() as f64;
    // Three standard deviations of the exponential part, whose mean is 30 ms.
    assert!(after.iter().all(|d| *d >= 10.0) && (38.5..41.5).contains(&mean), "{mean}");
    let within = after.iter().filter(|d| **d < 40.0).count() as f64 / after.len() as f64;
    // 40 ms are the least deadline and once the mean of what comes on top.
    assert!((within - (1.0 - libm::exp(-1.0))).abs() < 0.03, "{within}");
    let late = flows(&good(&text(&format!("{keys}jitter = \"1 ms\"\n")), &[]));
    for (a, b) in due.iter().zip(&late) {
        assert!(b.start >= a.start && b.start < a.start.saturating_add(Time::ms(1)));
        assert_eq!(b.deadline.expect("one") - b.start, a.deadline.expect("one") - a.start);
        assert_eq!((a.src, a.bytes), (b.src, b.bytes), "nothing else moves");
    }
    assert!(due.iter().zip(&late).any(|(a, b)| a.start != b.start));
}

#[test]
fn sizes_of_an_incast_are_drawn_for_each_flow_and_round() {
    let keys =
        format!("kind = \"incast\"\nsenders = 5\nreceiver = 5\nrepeat = 200\nperiod = \"1 ms\"\n{EVEN}");
    let drawn = flows(&good(&text(&keys), &[]));
    let mean = drawn.iter().map(|f| f.bytes as f64).sum::<f64>() / drawn.len() as f64;
    // 3.4 standard deviations of a mean of 1,000 even sizes.
    assert!(drawn.len() == 1000 && (47_000.0..53_000.0).contains(&mean), "{mean}");
    let other = flows(&good(&text(&keys), &["seed=2"]));
    assert!(drawn.iter().zip(&other).any(|(a, b)| a.bytes != b.bytes), "the seed matters");
}

#[test]
fn a_pareto_keeps_its_mean_but_for_what_is_cut() {
    let cdf = "cdf = { kind = \"pareto\", mean = \"50 kB\", shape = 1.2, most = \"10 MB\" }\n";
    let scenario = good(&text(&format!("{POISSON}{cdf}")), &[]);
    let mean = scenario.resolved_json()["traffic"][0]["mean_bytes"].as_f64().expect("a number");
    // Sizes above 10 MB count as 10 MB: 50,000 - 8,333^1.2 * (10^7)^-0.2 / 0.2 = 39,909.
    assert!((39_800.0..40_000.0).contains(&mean), "{mean}");
    assert!(flows(&scenario).iter().all(|f| (8_333..=10_000_000).contains(&f.bytes)));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let incast = "kind = \"incast\"\nsenders = 5\nreceiver = 5\n";
    let cases = [
        (
            format!("{POISSON}{EVEN}load_reference = \"host-links\"\n"),
            "the load is that of the receivers' links",
        ),
        (format!("{POISSON}{EVEN}pairs = \"any\"\n"), "key `pairs` has no effect"),
        (format!("{}{EVEN}", POISSON.replace("receivers = [5]\n", "")), "lacks the key `receivers`"),
        (format!("{}{EVEN}", POISSON.replace("senders = 5\n", "senders = [5]\n")), "host 5"),
        (
            format!("{POISSON}{EVEN}deadline = \"1 ms\"\nmean_deadline = \"1 ms\"\n"),
            "both say when flows are due",
        ),
        (
            format!("{POISSON}{EVEN}mean_deadline = \"1 ms\"\nleast_deadline = \"1 ms\"\n"),
            "shorter than the mean",
        ),
        (format!("{POISSON}{EVEN}least_deadline = \"1 ms\"\n"), "key `least_deadline` has no effect"),
        (format!("{POISSON}cdf = {{ kind = \"uniform\", mean = 100, spread = 2.0 }}\n"), "from 0 to 1"),
        (
            format!("{POISSON}cdf = {{ kind = \"uniform\", mean = 100, shape = 2.0 }}\n"),
            "key `shape` has no effect",
        ),
        (
            format!("{POISSON}cdf = {{ kind = \"pareto\", mean = 100, shape = 1.0, most = 1000 }}\n"),
            "more than 1",
        ),
        (
            format!("{POISSON}cdf = {{ kind = \"pareto\", mean = 100, shape = 1.2, most = 10 }}\n"),
            "more than the smallest size",
        ),
        (format!("{POISSON}cdf = {{ kind = \"normal\", mean = 100 }}\n"), "`normal`"),
        (format!("{incast}bytes = 1\n{EVEN}"), "both say how much is sent"),
        (incast.to_string(), "lacks the key `bytes`"),
        (
            format!("kind = \"poisson\"\nload = 0.5\nflows = 1\nload_reference = \"receiver-links\"\n{EVEN}"),
            "every host receives",
        ),
    ];
    for (keys, expected) in cases {
        let error = load(&text(&keys), &[]).expect_err(expected).render();
        assert!(error.contains(expected), "{expected}, not\n{error}");
    }
}

fn model(keys: &str) -> String {
    format!("[model]\n{keys}\n[report]\nfigure = \"model\"\n")
}

#[test]
fn models_are_read_with_their_own_keys_only() {
    let jobs = "name = \"scheduling\"\njobs = [{ name = \"A\", arrival = 1, size = 2 }]";
    let shown = good(&model(jobs), &[]).resolved_json()["model"].clone();
    assert_eq!(
        shown,
        json!({ "name": "scheduling", "jobs": [{ "name": "A", "arrival": 1.0, "size": 2.0 }] })
    );
    let cycle = "name = \"l2dct-cycle\"\nrate = \"1 Gbps\"\nrtt = \"300 us\"\npacket = 1500\nthreshold = 20\n\
        cases = [{ flows = 1, weight = 0.5, increase = 0.2 }]";
    // 1 Gb/s for 300 us are 37,500 B.
    assert_eq!(good(&model(cycle), &[]).resolved_json()["model"]["path_packets"], json!(25.0));
    let wrong = [
        ("name = \"l2dct-backoff\"\nweights = []".to_string(), "an empty list"),
        ("name = \"l2dct-backoff\"\nweights = [0]".to_string(), "more than 0"),
        (format!("{jobs}\nweights = [1]"), "key `weights` has no effect"),
        (jobs.replace("size = 2", "size = 0"), "more than 0"),
        (cycle.replace("increase = 0.2", "increase = 0.2, size = 1"), "size"),
        ("name = \"fifo\"".to_string(), "`fifo`"),
    ];
    for (keys, expected) in wrong {
        let error = load(&model(&keys), &[]).expect_err(expected).render();
        assert!(error.contains(expected), "{expected}, not\n{error}");
    }
}
