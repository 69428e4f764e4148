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
