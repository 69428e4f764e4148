//! Flows that are open at the end of a run count in all of its numbers.

use crate::common::{good, run};
use serde_json::Value as Json;

/// Clients whose replies, forty at a time, overflow one port. Packets of a reply's end are lost, and nothing repeats them
/// within the run.
const HUNG: &str = r#"seed = 1
stop = "15 ms"

[topology]
kind = "single-switch"
hosts = 48
rate = "25 Gbps"
delay = "1 us"

[transport]
name = "dctcp"
preset = "linux-4.19"
handshake = false

[fabric]
buffer = "250 packets"

[[traffic]]
kind = "rpc"
clients = 8
servers = 40
fan_out = 40
request = "200 B"
reply = "10 kB"
calls = 40
deadline = "1 ms"
"#;

/// Messages that all begin at once, of sizes from a table, and calls to them.
const AT_ONCE: &str = r#"seed = 1

[topology]
kind = "single-switch"
hosts = 16
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[fabric]
buffer = "60 kB"

[[traffic]]
kind = "incast"
senders = 8
receiver = 8
bytes = "200 kB"
deadline = "1 ms"

[[traffic]]
kind = "rpc"
clients = 4
servers = 8
outstanding = 8
fan_out = 3
request = "homa_w3_google_all"
reply = "homa_w4_fb_hadoop"
calls = 1
"#;

fn number(of: &Json, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", of[key]))
}

#[test]
fn clients_that_hang_are_in_every_number() {
    let summary = run(&good(HUNG, &[])).summary;
    let job = &summary["jobs"][0];
    let rounds = &job["rounds"];
    assert_eq!((number(rounds, "waiting"), number(rounds, "unfinished")), (8.0, 8.0), "{rounds}");
    let since = number(rounds, "waiting_since_s");
    assert!(since < 7e-3, "{since}");
    // Eight of some hundreds are more than a hundredth: the calls that hang are the slowest ones.
    assert_eq!(rounds["bounds"]["p99_s"], "at least");
    assert!(number(rounds, "p99_s") >= 15e-3 - since, "{rounds}");
    assert_eq!(rounds["bounds"].get("p50_s"), None);
    assert!(number(&summary, "flows_open") >= 8.0);
    assert_eq!(summary["bounds"]["fct_max_s"], "at least");
    assert!(number(&summary, "fct_max_s") >= 15e-3 - since);
    assert!(number(&summary, "deadline_missed_fraction") > 0.0);
    assert_eq!(summary["bounds"]["jain"], "of those that ended");
}

#[test]
fn what_began_in_the_warm_up_and_hangs_counts() {
    let summary = run(&good(HUNG, &["warmup=\"12 ms\""])).summary;
    assert_eq!(summary["flows_measured"], summary["flows_open"]);
    assert!(number(&summary, "flows_open") >= 8.0);
    assert_eq!(number(&summary, "deadline_missed_fraction"), 1.0);
    assert!(summary["fct_p99_s"].is_null(), "nothing ended that counts");
}

#[test]
fn a_call_whose_reply_never_began_is_open() {
    // All requests have arrived, and no server has answered yet.
    let sets = ["stop=\"20 us\"", "traffic.0.calls=1", "traffic.0.service=\"1 ms\""];
    let summary = run(&good(HUNG, &sets)).summary;
    let rounds = &summary["jobs"][0]["rounds"];
    assert_eq!((number(rounds, "count"), number(rounds, "unfinished")), (8.0, 8.0));
    assert!(rounds["mean_s"].is_null());
    assert_eq!(number(rounds, "waiting"), 8.0);
}

/// Holds every number of an earlier end against that of a later one of the same run, where all flows had begun before both;
/// returns how many of them were exact, bounds and absent.
fn hold(early: &Json, late: &Json, at: &str, seen: &mut [usize; 3]) {
    match (early, late) {
        (Json::Object(one), Json::Object(other)) => {
            let bounds = one.get("bounds");
            for (key, value) in one {
                let is_time = key.ends_with("_s") && !key.contains("since") && !key.contains("finish");
                let judged = bounds.is_some()
                    && (is_time || key.starts_with("slowdown") || key.starts_with("deadline_m"));
                if !judged {
                    hold(value, other.get(key).unwrap_or(&Json::Null), &format!("{at}.{key}"), seen);
                    continue;
                }
                let bound = bounds.and_then(|all| all.get(key));
                match (value.as_f64(), other[key].as_f64()) {
                    (None, _) => seen[2] += 1,
                    (Some(early), late) if bound.is_some() => {
                        assert!(
                            late.is_some_and(|late| early <= late * (1.0 + 1e-12)),
                            "{at}.{key}: {early}, then {late:?}"
                        );
                        seen[1] += 1;
                    }
                    (early, late) => {
                        assert_eq!(early, late, "{at}.{key}");
                        assert_eq!(other["bounds"].get(key), None, "{at}.{key}");
                        seen[0] += 1;
                    }
                }
            }
        }
        (Json::Array(one), Json::Array(other)) => {
            for (index, (early, late)) in one.iter().zip(other).enumerate() {
                hold(early, late, &format!("{at}.{index}"), seen);
            }
        }
        _ => {}
    }
}

/// The parts of a summary that are of flows and calls.
fn of_flows(summary: &Json) -> Json {
    let names = ["bounds", "by_size", "deadline_missed_fraction"];
    let kept = |key: &str| names.contains(&key) || key.starts_with("fct_") || key.starts_with("slowdown_");
    let mut found: serde_json::Map<String, Json> = serde_json::Map::new();
    for (key, value) in summary.as_object().expect("a table") {
        if kept(key) {
            found.insert(key.clone(), value.clone());
        }
    }
    found.insert("rounds".into(), summary["jobs"][0]["rounds"].clone());
    Json::Object(found)
}

#[test]
fn an_earlier_end_never_makes_a_number_look_better() {
    let mut seen = [0; 3];
    for seed in 1..=3 {
        let seed = format!("seed={seed}");
        // Replies of a call begin when its requests have arrived: after some time, all that there is has begun.
        let ends = [400, 800, 1600, 3200, 100_000].map(|us| {
            let scenario = good(AT_ONCE, &[&seed, &format!("stop=\"{us} us\"")]);
            run(&scenario).summary
        });
        let begun: Vec<bool> =
            ends.iter().map(|one| one["flows_measured"] == ends[4]["flows_measured"]).collect();
        for (index, early) in ends.iter().enumerate().filter(|(index, _)| begun[*index]) {
            for late in &ends[index + 1..] {
                hold(&of_flows(early), &of_flows(late), "summary", &mut seen);
            }
        }
    }
    let [exact, bounds, _] = seen;
    assert!(exact > 50 && bounds > 50, "{exact} exact numbers and {bounds} bounds were compared");
}

/// Calls of one packet each way, that meet nobody.
const CALLS: &str = r#"seed = 1

[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "rpc"
clients = 1
servers = 1
request = "100 B"
reply = "1000 B"
calls = 2000
"#;

/// When calls began, in seconds.
fn begun(sets: &[&str]) -> Vec<f64> {
    let sets: Vec<&str> = sets.iter().copied().chain(["traffic.0.every=\"20 us\""]).collect();
    let summary = run(&good(CALLS, &sets)).summary;
    let times = summary["jobs"][0]["round_times"].as_array().expect("rounds").clone();
    times.iter().map(|one| number(one, "start_s")).collect()
}

#[test]
fn calls_of_an_open_loop_wait_for_no_reply() {
    // A reply takes ten times as long as the time between two calls.
    let slow = ["traffic.0.arrivals=\"even\"", "traffic.0.service=\"200 us\"", "traffic.0.calls=50"];
    let starts = begun(&slow);
    let even = starts.windows(2).all(|two| (two[1] - two[0] - 20e-6).abs() < 1e-12);
    assert!(even && starts.len() == 50, "{starts:?}");
    // The variation of a lognormal whose logarithm has a deviation of 1.
    for (arrivals, variation) in [("poisson", 1.0), ("lognormal", libm::sqrt(libm::exp(1.0) - 1.0))] {
        let starts = begun(&[&format!("traffic.0.arrivals=\"{arrivals}\"")]);
        let gaps: Vec<f64> = starts.windows(2).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let spread =
            libm::sqrt(gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64);
        // Of 2,000 gaps: 4.5 standard errors for `poisson`, 3.4 for `lognormal`.
        assert!((mean / 20e-6 - 1.0).abs() < 0.1, "{arrivals}: mean {mean}");
        assert!(
            (spread / mean / variation - 1.0).abs() < 0.25,
            "{arrivals}: {} and not {variation}",
            spread / mean
        );
    }
}

#[test]
fn an_open_loop_ends_at_its_time_and_loops_are_staggered() {
    let starts = begun(&["traffic.0.until=\"1 ms\""]);
    assert!(starts.len() < 100 && starts.iter().all(|start| *start < 1e-3), "{}", starts.len());
    let sets = ["traffic.0.outstanding=40", "traffic.0.calls=1", "traffic.0.stagger=\"100 us\""];
    let summary = run(&good(CALLS, &sets)).summary;
    let times = summary["jobs"][0]["round_times"].as_array().expect("rounds");
    let starts: std::collections::BTreeSet<u64> =
        times.iter().map(|one| (number(one, "start_s") * 1e12) as u64).collect();
    assert!(starts.len() == 40 && starts.iter().all(|start| *start < 100_000_000), "{starts:?}");
}

#[test]
fn calls_that_take_longer_than_they_may_are_missed() {
    let sets = ["traffic.0.calls=10", "traffic.0.service=\"50 us\""];
    let missed = |deadline: &str, more: &[&str]| {
        let deadline = format!("traffic.0.call_deadline=\"{deadline}\"");
        let sets: Vec<&str> =
            sets.iter().copied().chain([deadline.as_str()]).chain(more.iter().copied()).collect();
        let rounds = run(&good(CALLS, &sets)).summary["jobs"][0]["rounds"].clone();
        (rounds["missed"].as_f64(), rounds["bounds"].get("missed").is_some())
    };
    assert_eq!(missed("40 us", &[]), (Some(1.0), false));
    assert_eq!(missed("100 us", &[]), (Some(0.0), false));
    // The last one has begun, and may still be in time.
    assert_eq!(missed("100 us", &["stop=\"100 us\""]), (Some(0.0), true));
    let none = run(&good(CALLS, &sets)).summary;
    assert!(none["jobs"][0]["rounds"]["missed"].is_null());
}
