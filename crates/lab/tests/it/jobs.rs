//! Jobs on an idle network take as long as their closed forms say, to the picosecond.

use crate::common::{good, run};
use headway_network::{Network, Until};
use headway_units::{Rate, Time};

/// Homa sends the first `unscheduled_bytes` of a message without being asked, so that nothing but the messages themselves
/// takes time, and the packet by which a receiver acknowledges a message.
const NETWORK: &str = r#"
[topology]
kind = "single-switch"
hosts = HOSTS
rate = "100 Gbps"
delay = "1 us"

[transport]
name = "homa"
"#;

/// So many of them that no message needs a permission, and buffers in which nothing is lost where several meet.
pub(crate) const UNASKED: [&str; 2] = ["transport.unscheduled_bytes=100 MB", "fabric.buffer=100000 packets"];

pub(crate) struct Job {
    network: Network,
    pub(crate) took: Time,
    known: Option<Time>,
}

pub(crate) fn job(hosts: u32, entry: &str, sets: &[&str]) -> Job {
    let text = format!("{}\n[[traffic]]\n{entry}\n", NETWORK.replace("HOSTS", &hosts.to_string()));
    let scenario = good(&text, sets);
    let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
    let network = Network::build(&resolved.spec.topology, &resolved.spec.fabric).expect("a network");
    let outcome = headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs");
    let finish = outcome.flows.iter().map(|flow| flow.finish.expect("it is complete")).max();
    let steps = outcome.steps.iter().map(|step| step.finish.expect("it is over")).max();
    let start = outcome.flows.iter().filter_map(|flow| flow.start).min().expect("a flow");
    let steps_start = outcome.steps.iter().filter_map(|step| step.start).min();
    let start = steps_start.map_or(start, |at| at.min(start));
    let known = outcome.flows.first().and_then(headway_network::FlowRecord::until_known);
    assert_eq!(resolved.spec.until, Until::Received);
    Job { took: finish.max(steps).expect("a flow") - start, known, network }
}

/// Terms of closed forms, in picoseconds: `t(x)` is the time of a message of x bytes between two hosts, `s(x)` what its
/// packets take on a link, `k(x)` the time until its sender knows, and `a` what an acknowledgement takes on a link.
pub(crate) struct Alone(Network);

impl Alone {
    pub(crate) fn new(hosts: u32) -> Alone {
        Alone(job(hosts, &flow(1), &[]).network)
    }

    pub(crate) fn t(&self, bytes: u64) -> u64 {
        self.0.ideal_fct(0, 1, bytes).0
    }

    fn wire(&self, bytes: u64) -> u64 {
        let sizes = self.0.sizes();
        let before = sizes.packets_of(bytes) - 1;
        let last = bytes - before * u64::from(sizes.payload) + u64::from(sizes.full_wire() - sizes.payload);
        // No data packet is shorter than a control packet.
        before * u64::from(sizes.full_wire()) + last.max(u64::from(sizes.control))
    }

    pub(crate) fn s(&self, bytes: u64) -> u64 {
        Rate::new(100_000_000_000).expect("a rate").time_of(self.wire(bytes)).0
    }

    fn k(&self, bytes: u64) -> u64 {
        // Another flow keeps the run going until the sender knows.
        let two = format!(
            "kind = \"flows\"\nflows = [{{ src = 0, dst = 1, bytes = {bytes} }}, {{ src = 0, dst = 1, bytes = 1, start = \"1 ms\" }}]"
        );
        job(self.0.hosts(), &two, &[]).known.expect("it is acknowledged").0
    }

    pub(crate) fn a(&self) -> u64 {
        Rate::new(100_000_000_000).expect("a rate").time_of(u64::from(self.0.sizes().control)).0
    }
}

fn flow(bytes: u64) -> String {
    format!("kind = \"flows\"\nflows = [{{ src = 0, dst = 1, bytes = {bytes} }}]")
}

const RANKS: [u32; 6] = [2, 3, 4, 7, 8, 16];

#[track_caller]
fn takes(hosts: u32, entry: &str, expected: u64) {
    takes_up_to(hosts, entry, expected, 0);
}

/// Asserts that a job takes at least this time, and at most so much more.
#[track_caller]
fn takes_up_to(hosts: u32, entry: &str, least: u64, more: u64) {
    let took = job(hosts, entry, &UNASKED).took.0;
    let beyond = took as i64 - least as i64;
    assert!(
        (0..=more as i64).contains(&beyond),
        "{hosts} hosts, {entry}: {took} ps is {beyond} more than {least}, and {more} are allowed"
    );
}

#[test]
fn rings_take_a_message_a_step() {
    for hosts in RANKS {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        for part in [1, 1_000, 1_460, 5_000, 200_000] {
            let bytes = n * part;
            for (kind, steps) in [("allreduce", 2 * (n - 1)), ("allgather", n - 1), ("reduce-scatter", n - 1)]
            {
                // Between two steps a rank first acknowledges what it has received.
                let expected = steps * alone.t(part) + (steps - 1) * alone.a();
                takes(hosts, &format!("kind = \"{kind}\"\nbytes = {bytes}"), expected);
            }
        }
    }
}

#[test]
fn channels_and_chunks_fill_a_ring() {
    for hosts in headway_testing::one_in!(3, &RANKS) {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        let a = alone.a();
        let mut forms = [0, 0];
        for (kind, k) in [("allreduce", 2 * (n - 1)), ("reduce-scatter", n - 1)] {
            for (channels, chunks) in [(1, 2), (2, 1), (3, 1), (2, 2), (4, 4), (16, 16), (1, 100)] {
                for m in [84, 250, 1_460, 3_000] {
                    let q = channels * chunks;
                    let (t, s) = (alone.t(m), alone.s(m));
                    // Either the latency of a message decides or the link; cases in between have no closed form.
                    let (least, more) = if q * (s + a) <= t / 2 {
                        forms[0] += 1;
                        (k * t + (k - 1) * a + (q - 1) * s, (k + 2 * q) * a)
                    } else if q * s >= t {
                        forms[1] += 1;
                        (t + (k * q - 1) * s, (k * q - 1) * a)
                    } else {
                        continue;
                    };
                    let keys = format!("channels = {channels}\nchunks = {chunks}");
                    takes_up_to(
                        hosts,
                        &format!("kind = \"{kind}\"\nbytes = {}\n{keys}", n * q * m),
                        least,
                        more,
                    );
                }
            }
        }
        assert!(forms.iter().all(|tried| *tried > 5), "{forms:?}");
    }
}

#[test]
fn halving_and_doubling_take_a_message_a_round() {
    for hosts in [2u32, 4, 8, 16, 32] {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        for bytes in [n, 64 * n, 1_000 * n] {
            let rounds = u64::from(hosts.ilog2());
            // Messages halve from round to round, and then grow again through the same sizes.
            let sum: u64 = (1..=rounds).map(|round| 2 * alone.t(bytes >> round)).sum();
            let entry = format!("kind = \"allreduce\"\nalgorithm = \"halving-doubling\"\nbytes = {bytes}");
            takes(hosts, &entry, sum + (2 * rounds - 1) * alone.a());
        }
    }
}

#[test]
fn barriers_and_broadcasts_take_their_rounds() {
    for hosts in RANKS {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        let rounds = u64::from(hosts.next_power_of_two().ilog2());
        for bytes in [1, 1_460] {
            let expected = rounds * alone.t(bytes) + (rounds - 1) * alone.a();
            takes(hosts, &format!("kind = \"barrier\"\nbytes = {bytes}"), expected);
            let chain = (n - 1) * alone.t(bytes) + (n - 2) * alone.a();
            takes(hosts, &format!("kind = \"broadcast\"\nalgorithm = \"chain\"\nbytes = {bytes}"), chain);
            let tree = (rounds - 1) * alone.k(bytes) + alone.t(bytes);
            takes(hosts, &format!("kind = \"broadcast\"\nbytes = {bytes}"), tree);
        }
    }
}

#[test]
fn exchanges_take_their_rounds_or_fill_the_link() {
    for hosts in RANKS.into_iter().chain([32]) {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        for m in [1_000, 1_460, 5_000, 80_000] {
            let bytes = n * m;
            let serial = (n - 1) * alone.t(m) + (n - 2) * alone.a();
            takes(hosts, &format!("kind = \"all-to-all\"\nat_once = 1\nbytes = {bytes}"), serial);
            // No acknowledgement overlaps with the sending.
            let apart = m <= 1_460 && (n - 1) * alone.s(m) <= alone.t(m);
            let full = alone.t(m) + (n - 2) * alone.s(m);
            let more = if apart { 0 } else { (n - 2) * alone.a() };
            takes_up_to(hosts, &format!("kind = \"all-to-all\"\nbytes = {bytes}"), full, more);
        }
    }
}

#[test]
fn exchanges_of_some_at_a_time_take_rounds_of_these() {
    let mut forms = [0, 0];
    for hosts in RANKS.into_iter().chain([32, 64]) {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        for m in [84, 1_000, 1_460] {
            let (t, s) = (alone.t(m), alone.s(m));
            for at_once in [2, 3, 7, 20, 50].into_iter().filter(|count| *count < n - 1) {
                let fills = at_once * s > t;
                forms[usize::from(fills)] += 1;
                let expected = match fills {
                    true => t + (n - 2) * s,
                    false => (n - 1).div_ceil(at_once) * t + (n - 2) % at_once * s,
                };
                let entry = format!("kind = \"all-to-all\"\nat_once = {at_once}\nbytes = {}", n * m);
                takes_up_to(hosts, &entry, expected, (n - 2) * alone.a());
            }
        }
    }
    assert!(forms.iter().all(|tried| *tried > 0), "{forms:?}");
}

#[test]
fn two_trees_take_their_levels_twice() {
    for hosts in RANKS.into_iter().chain([32, 64]) {
        let alone = Alone::new(hosts);
        let (a, down) = (alone.a(), u64::from(hosts.ilog2()));
        let depth = u64::from(hosts.next_power_of_two().ilog2());
        for bytes in [2, 2_000, 8_000, 400_000] {
            let (t, s) = (alone.t(bytes / 2), alone.s(bytes / 2));
            let most = 2 * depth * t + 2 * (depth - 1) * s + 2 * depth * a;
            let (least, more) = if hosts.is_power_of_two() {
                (most - a, if bytes / 2 <= 1_460 { 0 } else { a })
            } else {
                (2 * down * t, most - 2 * down * t)
            };
            let entry = format!("kind = \"allreduce\"\nalgorithm = \"double-binary-tree\"\nbytes = {bytes}");
            takes_up_to(hosts, &entry, least, more);
        }
    }
}

#[test]
fn pipelines_take_their_bubbles_and_their_messages() {
    for hosts in [2u32, 3, 5] {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        for (m, (f, b), bytes) in
            [1, 2, 7].into_iter().flat_map(|m| [(m, (3, 5), 1_000), (m, (100, 200), 1_000_000)])
        {
            let t = alone.t(bytes);
            let keys =
                format!("kind = \"pipeline\"\nmicro_batches = {m}\nbytes = {bytes}\nforward = \"{f} us\"");
            let both = format!("{keys}\nbackward = \"{b} us\"\norder = \"gpipe\"");
            let (f, b) = (f * 1_000_000, b * 1_000_000);
            // A stage may have computed a micro-batch in the instant in which it acknowledges another one.
            let each = if m == 1 || n == 2 { 0 } else { 2 * (n - 2) * alone.a() };
            takes_up_to(hosts, &keys, (m + n - 1) * f + (n - 1) * t, each);
            takes_up_to(hosts, &both, (m + n - 1) * (f + b) + 2 * (n - 1) * t, 2 * each);
        }
    }
}

#[test]
fn pipelines_in_turn_wait_for_what_comes_back() {
    for hosts in [2u32, 3, 5, 8] {
        let (n, alone) = (u64::from(hosts), Alone::new(hosts));
        for m in [1, 2, 3, 5, 8, 9, 17] {
            for ((f, b), bytes) in [((3, 5), 1_000), ((7, 1), 1_000), ((100, 200), 1_000_000)] {
                let entry = format!(
                    "kind = \"pipeline\"\nmicro_batches = {m}\nbytes = {bytes}\nforward = \"{f} us\"\nbackward = \"{b} us\"\norder = \"1f1b\""
                );
                let messages = 2 * (n + m - 2 - (m - 1u64).div_ceil(n));
                let expected = (m + n - 1) * (f + b) * 1_000_000 + messages * alone.t(bytes);
                let more = if m == 1 { 0 } else { 2 * messages * alone.a() };
                takes_up_to(hosts, &entry, expected, more);
            }
        }
    }
}

#[test]
fn closed_loops_take_their_calls() {
    let alone = Alone::new(3);
    for calls in [1, 2, 9] {
        let think = 7_000_000;
        let keys = "kind = \"rpc\"\nclients = [0]\nservers = [1]\nrequest = 100\nreply = 1460\nservice = \"2 us\"\nthink = \"7 us\"";
        let each = alone.t(100) + 2_000_000 + alone.t(1_460);
        takes(3, &format!("{keys}\ncalls = {calls}"), calls * each + (calls - 1) * think);
    }
}

#[test]
fn calls_to_several_servers_take_their_packets_on_the_link_of_the_client() {
    for servers in [2u32, 3, 6] {
        let (k, alone) = (u64::from(servers), Alone::new(servers + 1));
        for (request, reply) in [(100, 1_460), (1_460, 100), (700, 700)] {
            let slower = alone.s(request).max(alone.s(reply));
            let call = alone.t(request) + 2_000_000 + alone.t(reply) + (k - 1) * slower;
            for calls in [1, 4] {
                let entry = format!(
                    "kind = \"rpc\"\nclients = [0]\nservers = {servers}\nfan_out = {servers}\nrequest = {request}\nreply = {reply}\n\
                     service = \"2 us\"\nthink = \"7 us\"\ncalls = {calls}"
                );
                let more = calls * 2 * (k - 1) * alone.a();
                takes_up_to(servers + 1, &entry, calls * call + (calls - 1) * 7_000_000, more);
            }
        }
    }
}

#[test]
fn summaries_have_bandwidths_as_nccl_tests_counts_them() {
    let (hosts, bytes) = (4, 4_000_000);
    // Of n = 4 ranks: 2 (n - 1) / n, (n - 1) / n, and 1 for a broadcast.
    for (kind, factor) in [
        ("allreduce", 1.5),
        ("allgather", 0.75),
        ("reduce-scatter", 0.75),
        ("all-to-all", 0.75),
        ("broadcast", 1.0),
    ] {
        let text = format!(
            "{}\n[[traffic]]\nkind = \"{kind}\"\nbytes = {bytes}\nrepeat = 3\nstart = \"2 us\"\n",
            NETWORK.replace("HOSTS", &hosts.to_string())
        );
        let summary = run(&good(&text, &[])).summary;
        let job = &summary["jobs"][0];
        let of = |key: &str| job[key].as_f64().unwrap_or_else(|| panic!("{key} of {job}"));
        let took = of("completion_s");
        assert_eq!((of("ranks"), of("iterations"), of("size_bytes")), (4.0, 3.0, 4e6));
        assert!((of("algorithm_bandwidth_bps") / (3.0 * 4e6 * 8.0 / took) - 1.0).abs() < 1e-12, "{job}");
        assert!((of("bus_bandwidth_bps") / of("algorithm_bandwidth_bps") - factor).abs() < 1e-12, "{job}");
        assert!(of("bus_bandwidth_bps") < 100e9 && of("slowdown") >= 1.0, "{job}");
        assert!(
            (of("start_s") - 2e-6).abs() < 1e-15 && (of("finish_s") - of("start_s") - took).abs() < 1e-12
        );
        let path = job["critical_path"].as_array().expect("a path");
        let seconds = |link: &serde_json::Value, key: &str| link[key].as_f64().expect("a time");
        let whole: f64 = path.iter().map(|link| seconds(link, "finish_s") - seconds(link, "start_s")).sum();
        assert!((whole - took).abs() < 1e-9, "{kind}: {whole} on the path, {took} in all");
        assert!(
            path.windows(2).all(|two| seconds(&two[0], "finish_s") == seconds(&two[1], "start_s")),
            "{kind}"
        );
        let excess: f64 = path.iter().map(|link| seconds(link, "excess_s")).sum();
        assert!((excess - of("critical_path_excess_s")).abs() < 1e-12, "{kind}");
    }
}

#[test]
fn flows_say_of_which_entry_and_round_they_are() {
    let text = format!(
        "{}\n[[traffic]]\nkind = \"allreduce\"\nbytes = 40000\nranks = 4\n[[traffic]]\nkind = \"permutation\"\nbytes = 1000\n\
         [[traffic]]\nkind = \"rpc\"\nclients = 2\nservers = 3\nrequest = 100\nreply = 5000\ncalls = 7\n",
        NETWORK.replace("HOSTS", "8")
    );
    let output = run(&good(&text, &[]));
    let entries = output.flows.numbers::<u64>("entry").expect("a column");
    let rounds = output.flows.numbers::<u32>("round").expect("a column");
    let of = |entry: u64| (0..output.flows.rows()).filter(move |flow| entries.value(*flow) == entry);
    // 6 steps of 4 messages, one from each of 8 hosts, and a request and a reply for 7 calls of 2 clients.
    assert_eq!([0, 1, 2].map(|entry| of(entry).count()), [24, 8, 28]);
    assert!(of(1).all(|flow| rounds.get(flow).is_none()), "a permutation has no rounds");
    let finishes = output.flows.numbers::<f64>("finish_s").expect("a column");
    for job in output.summary["jobs"].as_array().expect("two jobs") {
        let entry = job["entry"].as_u64().expect("a number");
        for time in job["round_times"].as_array().expect("rounds") {
            let round = time["round"].as_u64().expect("a number") as u32;
            let last = of(entry)
                .filter(|flow| rounds.get(*flow) == Some(round))
                .map(|flow| finishes.value(flow))
                .fold(0.0, f64::max);
            assert_eq!(time["finish_s"].as_f64(), Some(last), "{job}");
        }
    }
}

#[test]
fn a_slow_host_is_the_straggler_and_is_on_the_critical_path() {
    let text = format!(
        "{}\n[[traffic]]\nkind = \"flows\"\nflows = [{{ name = \"a\", src = 0, dst = 1, bytes = 100 }}, \
         {{ name = \"slow\", src = 2, dst = 3, bytes = 1000000 }}, {{ name = \"b\", src = 3, dst = 1, bytes = 100, after = [\"slow\"] }}, \
         {{ name = \"end\", src = 1, dst = 0, bytes = 100, after = [\"work\"] }}]\n\
         steps = [{{ name = \"work\", host = 1, takes = \"3 us\", after = [\"a\", \"b\"] }}]\n",
        NETWORK.replace("HOSTS", "4")
    );
    let job = run(&good(&text, &[])).summary["jobs"][0].clone();
    let path = job["critical_path"].as_array().expect("a path");
    let names: Vec<&str> =
        path.iter().map(|link| link["flow"].as_str().or(link["step"].as_str()).expect("a name")).collect();
    assert_eq!(names, ["slow", "b", "work", "end"]);
    // The last byte of all is that of `end`, which host 0 receives.
    assert_eq!(job["straggler"]["host"], 0, "{job}");
    assert_eq!(job["bus_bandwidth_bps"], serde_json::Value::Null);
}

#[test]
fn steps_of_one_processor_take_turns_and_a_step_may_need_some_causes_only() {
    let text = format!(
        "{}\n[[traffic]]\nkind = \"flows\"\nflows = [{{ name = \"end\", src = 0, dst = 1, bytes = 100, after = [\"first\"] }}]\n\
         steps = [{{ name = \"a\", host = 0, takes = \"3 us\", processor = 7 }}, {{ name = \"b\", host = 0, takes = \"4 us\", processor = 7 }}, \
         {{ name = \"c\", host = 0, takes = \"6 us\", processor = 8 }}, \
         {{ name = \"first\", host = 0, after = [\"a\", \"b\", \"c\"], needs = 2 }}]\n",
        NETWORK.replace("HOSTS", "2")
    );
    let scenario = good(&text, &[]);
    let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
    let outcome = headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs");
    let ends: Vec<Option<Time>> = outcome.steps.iter().map(|step| step.finish).collect();
    // The second waits for the first; the join for the two that are over first.
    assert_eq!(ends, [3, 7, 6, 6].map(|at| Some(Time::us(at))));
    assert_eq!(outcome.flows[0].start, Some(Time::us(6)));
}

#[test]
fn the_time_until_a_sender_knows_is_not_called_slowness() {
    let text = format!(
        "{}\n[[traffic]]\nkind = \"flows\"\nflows = [{{ name = \"a\", src = 0, dst = 1, bytes = 100 }}, \
         {{ name = \"b\", src = 0, dst = 2, bytes = 100, after = [{{ name = \"a\", until = \"known\" }}] }}]\n",
        NETWORK.replace("HOSTS", "4")
    );
    let job = run(&good(&text, &[])).summary["jobs"][0].clone();
    let path = job["critical_path"].as_array().expect("a path");
    assert_eq!(path.len(), 2, "{job}");
    let notice = path[0]["notice_s"].as_f64().expect("the second waited for it");
    assert!(notice > 2e-6, "an acknowledgement crosses two links of 1 us: {job}");
    assert_eq!(path[1].get("notice_s"), None, "nobody waits for the last one");
    assert!(path.iter().all(|link| link["excess_s"].as_f64() == Some(0.0)), "nothing is in their way: {job}");
}

#[test]
fn a_job_that_sends_all_at_once_has_its_numbers_too() {
    let all = "kind = \"all-to-all\"\nbytes = 40000";
    let text = format!("{}\n[[traffic]]\n{all}\n", NETWORK.replace("HOSTS", "4"));
    let summary = run(&good(&text, &[])).summary;
    let job = &summary["jobs"][0];
    assert_eq!(job["kind"], "all-to-all");
    assert_eq!(job["critical_path"].as_array().map(Vec::len), Some(1), "nothing waits for anything: {job}");
    let completion = job["completion_s"].as_f64().expect("it is complete");
    let last = summary["fct_max_s"].as_f64().expect("flows are done");
    assert!((completion - last).abs() < 1e-15, "{completion} and {last}");
    let plain = NETWORK.replace("HOSTS", "4") + "\n[[traffic]]\nkind = \"permutation\"\nbytes = 40000\n";
    assert!(run(&good(&plain, &[])).summary.get("jobs").is_none(), "a permutation is no job");
}

/// Four nodes of four GPUs, with NVLink nine times as fast as their NICs.
const RAIL: &str = r#"
[topology]
kind = "rail"
nodes = 4
gpus = 4
spines = 4
node_rate = "3600 Gbps"
rail_rate = "400 Gbps"
node_delay = "50 ns"
rail_delay = "500 ns"

[fabric]
payload = "4096 B"

[transport]
name = "homa"
"#;

fn on_rails(entry: &str) -> (Network, headway_network::Outcome) {
    let scenario = good(&format!("{RAIL}\n[[traffic]]\n{entry}\n"), &UNASKED);
    let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
    let network = Network::build(&resolved.spec.topology, &resolved.spec.fabric).expect("a network");
    (network, headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs"))
}

#[test]
fn channels_leave_a_node_by_another_rail_each() {
    let took = |entry: &str| {
        let (_, out) = on_rails(entry);
        let nic =
            |link: &&headway_network::LinkRecord| link.name.starts_with('h') && link.name.contains("leaf");
        let loads: Vec<u64> = out.links.iter().filter(nic).map(|link| link.counters.payload_bytes).collect();
        let spine: u64 =
            out.links.iter().filter(|l| l.name.contains("spine")).map(|l| l.counters.payload_bytes).sum();
        (out.flows.iter().filter_map(|flow| flow.finish).max().expect("it is done"), loads, spine)
    };
    let entry = "kind = \"allreduce\"\nbytes = \"8 MB\"\nchunks = 2\n";
    let (one, loads, _) = took(&format!("{entry}channels = 1"));
    assert_eq!(loads.iter().filter(|load| **load > 0).count(), 4, "one ring leaves each node by one NIC");
    let (four, loads, spine) = took(&format!("{entry}channels = 4"));
    assert!(loads.iter().all(|load| *load > 0), "all NICs work: {loads:?}");
    assert_eq!(loads.iter().max(), loads.iter().min(), "and as much: {loads:?}");
    assert_eq!(spine, 0, "no channel changes its rail");
    let gain = one.0 as f64 / four.0 as f64;
    assert!(gain > 2.5, "{gain} times as fast with four rails");
}

#[test]
fn a_hierarchical_allreduce_takes_its_closed_form() {
    let (own, nodes, n) = (4u64, 4u64, 16u64);
    for bytes in [16 * 4096u64, 1_600_000, 16_000_000] {
        let (network, out) =
            on_rails(&format!("kind = \"allreduce\"\nalgorithm = \"hierarchical\"\nbytes = {bytes}"));
        let t = |dst: u32, bytes: u64| {
            let (a, b) = network.pair(0, dst).expect("a path");
            network.ideal_fct(a, b, bytes).0
        };
        // Host 1 is in the same node, and host 4 on the same rail of the next one.
        let least = 2 * (own - 1) * t(1, bytes / own) + 2 * (nodes - 1) * t(4, bytes / n);
        let took = out.flows.iter().filter_map(|flow| flow.finish).max().expect("it is done").0;
        let ack = Rate::gbps(400).time_of(u64::from(network.sizes().control)).0;
        let more = (2 * own + 2 * nodes) * ack;
        assert!(
            (least..=least + more).contains(&took),
            "{bytes} B: {took} ps, {least} and up to {more} more"
        );
    }
}

/// Times on the idle network of `RAIL`, in picoseconds: of a message to the next rank of the node, and to the next node.
struct Idle(Network);

impl Idle {
    fn t(&self, dst: u32, bytes: u64) -> u64 {
        let (a, b) = self.0.pair(0, dst).expect("a path");
        self.0.ideal_fct(a, b, bytes).0
    }

    /// Time of its packets on the slowest link; whole packets.
    fn s(&self, dst: u32, bytes: u64) -> u64 {
        self.t(dst, 2 * bytes) - self.t(dst, bytes)
    }

    fn a(&self, gbps: u64) -> u64 {
        Rate::gbps(gbps).time_of(u64::from(self.0.sizes().control)).0
    }
}

/// Asserts what an entry takes on rails, and returns the idle network.
#[track_caller]
fn takes_on_rails(entry: &str, form: impl Fn(&Idle) -> (u64, u64)) {
    let (network, out) = on_rails(entry);
    let took = out.flows.iter().filter_map(|flow| flow.finish).max().expect("it is done").0;
    assert!(out.flows.iter().all(|flow| flow.finish.is_some()), "{entry}");
    let (least, more) = form(&Idle(network));
    let beyond = took as i64 - least as i64;
    assert!(
        (0..=more as i64).contains(&beyond),
        "{entry}: {took} ps is {beyond} more than {least}, {more} are allowed"
    );
}

const INSIDE: u32 = 1;
const BETWEEN: u32 = 4;

#[test]
fn trees_of_nodes_take_their_levels_inside_and_between() {
    for packets in [1, 2, 30] {
        let bytes = 2 * packets * 4096;
        let entry = format!("kind = \"allreduce\"\nalgorithm = \"node-trees\"\nbytes = {bytes}");
        takes_on_rails(&entry, |idle| {
            let levels = |to: u32| 2 * (2 * idle.t(to, bytes / 2) + idle.s(to, bytes / 2));
            (levels(INSIDE) + levels(BETWEEN), 16 * idle.a(400))
        });
    }
}

#[test]
fn an_all_to_all_by_node_takes_a_round_inside_and_one_between() {
    for packets in [1, 3, 40] {
        let part = packets * 4096;
        let entry = format!("kind = \"all-to-all\"\nalgorithm = \"by-node\"\nbytes = {}", 16 * part);
        takes_on_rails(&entry, |idle| {
            let round = |to: u32| idle.t(to, 4 * part) + 2 * idle.s(to, 4 * part);
            (round(INSIDE) + round(BETWEEN), 8 * idle.a(400))
        });
    }
}

#[test]
fn what_is_handed_over_to_rails_fills_them_from_the_first_instant() {
    for packets in [3, 10, 60] {
        let part = packets * 4096;
        let entry = format!("kind = \"all-to-all\"\nalgorithm = \"pxn\"\nbytes = {}", 16 * part);
        takes_on_rails(&entry, |idle| (idle.t(BETWEEN, part) + 11 * idle.s(BETWEEN, part), 16 * idle.a(400)));
    }
}

#[test]
fn all_to_alls_over_rails_keep_to_them_and_bring_the_same_bytes() {
    for skew in [0.0, 1.0] {
        let brought = |way: &str| {
            let (_, out) = on_rails(&format!(
                "kind = \"all-to-all\"\nbytes = \"4 MB\"\nalgorithm = \"{way}\"\nskew = {skew:?}"
            ));
            let bytes = |name: &str, to: bool| -> u64 {
                let own = out.links.iter().filter(|link| {
                    let (from, other) = link.name.split_once("->").expect("a link");
                    from.contains(name) && (!to || other.starts_with('h'))
                });
                own.map(|link| link.counters.payload_bytes).sum()
            };
            (bytes("leaf", true), bytes("spine", false))
        };
        let (direct, over_spines) = brought("direct");
        assert!(over_spines > 0, "other rails are behind spines");
        for way in ["pxn", "by-node"] {
            assert_eq!(brought(way), (direct, 0), "{way}: each byte crosses one leaf and no spine");
        }
    }
}

#[test]
fn small_sums_go_over_trees_and_large_ones_round() {
    let chosen = |bytes: &str| {
        let entry = format!("kind = \"allreduce\"\nalgorithm = \"auto\"\nbytes = \"{bytes}\"");
        let scenario = good(&format!("{RAIL}\n[[traffic]]\n{entry}\n"), &UNASKED);
        let json = scenario.resolved_json();
        let entry = &json["traffic"][0];
        (entry["algorithm"].as_str().expect("a name").to_string(), entry["channels"].as_u64())
    };
    assert_eq!(chosen("16 kB"), ("node-trees".to_string(), Some(4)));
    assert_eq!(chosen("64 MB"), ("ring".to_string(), Some(4)));
    // The choice is the faster of both, on either side of the change.
    let took = |entry: &str| {
        let (_, out) = on_rails(&format!("kind = \"allreduce\"\n{entry}"));
        out.flows.iter().filter_map(|flow| flow.finish).max().expect("it is done")
    };
    let ring = |bytes: &str| took(&format!("bytes = \"{bytes}\"\nchannels = 4"));
    let trees = |bytes: &str| took(&format!("bytes = \"{bytes}\"\nalgorithm = \"node-trees\"\nchannels = 4"));
    assert!(trees("16 kB") < ring("16 kB"));
    assert!(ring("16 MB") < trees("16 MB"));
}

/// Two nodes with eight NICs of 400 Gb/s each: a ring with a channel for each of them fills them all.
#[test]
fn a_large_sum_over_eight_rails_has_nearly_the_bandwidth_of_eight_nics() {
    let text = RAIL.replace("nodes = 4\ngpus = 4", "nodes = 2\ngpus = 8");
    let entry = "kind = \"allreduce\"\nbytes = \"256 MB\"\nchannels = 8\nchunks = 4";
    let summary = run(&good(&format!("{text}\n[[traffic]]\n{entry}\n"), &[])).summary;
    let rate = summary["jobs"][0]["bus_bandwidth_bps"].as_f64().expect("it is over");
    let share = rate / (8.0 * 400e9);
    assert!((0.95..1.0).contains(&share), "{share} of eight NICs");
    assert_eq!(summary["jobs"][0]["algorithm"], "ring");
}
