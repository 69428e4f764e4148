//! Traces of other simulators do what those mean by them: the times are those of closed forms, to the picosecond where nothing else is
//! said, and what cannot be done is refused at its place.

#![allow(clippy::disallowed_methods, reason = "tests write temporary directories")]

use crate::common::{load, repository};
use crate::jobs::{Alone, UNASKED, job};
use headway_lab::{Request, Scenario};
use headway_network::{Node, Outcome};
use headway_units::Time;
use std::fmt::Write;
use std::path::Path;

fn sample(name: &str) -> String {
    repository().join("workloads/traces").join(name).display().to_string()
}

fn entry(path: &str, more: &str) -> String {
    format!("kind = \"trace\"\npath = \"{path}\"\n{more}\n")
}

/// The trace of a text, over a single switch.
fn scenario(
    text: &str,
    ending: &str,
    hosts: u32,
    more: &str,
    sets: &[&str],
) -> (tempfile::TempDir, Scenario) {
    let (folder, loaded) = loaded(text, ending, hosts, more, sets);
    (folder, loaded.expect("a scenario"))
}

fn loaded(
    text: &str,
    ending: &str,
    hosts: u32,
    more: &str,
    sets: &[&str],
) -> (tempfile::TempDir, Result<Scenario, headway_lab::ScenarioError>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("x.{ending}"));
    std::fs::write(&path, text).expect("a file");
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[transport]\n\
         name = \"homa\"\n\n[[traffic]]\n{}",
        entry(&path.display().to_string(), more)
    );
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_string()).collect();
    let loaded = Request::text(&text, "scenario.toml", folder.path(), &sets, None).load();
    (folder, loaded)
}

pub(crate) fn outcome(scenario: &Scenario) -> Outcome {
    let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
    headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs")
}

/// Time at which everything is over.
pub(crate) fn end(outcome: &Outcome) -> Time {
    let flows = outcome.flows.iter().map(|flow| flow.finish.expect("it is complete"));
    let steps = outcome.steps.iter().map(|step| step.finish.expect("it is over"));
    flows.chain(steps).max().expect("something happened")
}

// htsim.

#[test]
fn connections_that_wait_for_triggers_are_flows_that_wait() {
    let text = "Nodes 4\nConnections 4\nTriggers 2\n0->1 id 1 start 0 size 20000 send_done_trigger 1\n\
        0->2 id 2 trigger 1 size 30000 recv_done_trigger 2\n2->3 id 3 trigger 2 size 9000\n2->1 id 4 trigger 2 size 7\n\
        trigger id 1 oneshot\ntrigger id 2 oneshot\n";
    let (_folder, traced) = scenario(text, "cm", 4, "", &[]);
    let flows = "kind = \"flows\"\nflows = [\n\
        { name = \"1\", src = 0, dst = 1, bytes = 20000 },\n\
        { name = \"2\", src = 0, dst = 2, bytes = 30000, after = [{ name = \"1\", until = \"known\" }] },\n\
        { name = \"3\", src = 2, dst = 3, bytes = 9000, after = [\"2\"] },\n\
        { name = \"4\", src = 2, dst = 1, bytes = 7, after = [\"2\"] },\n]";
    let (traced, written) = (outcome(&traced), job(4, flows, &[]));
    assert_eq!(end(&traced), written.took);
    assert_eq!(traced.flows[1].start, traced.flows[0].known);
    assert_eq!(traced.flows[3].start, traced.flows[1].finish);
}

#[test]
fn a_multishot_trigger_starts_one_connection_each_time_it_is_fired() {
    // The second of the two that fire it is over first.
    let text = "Nodes 5\n0->1 id 1 start 0 size 900000 send_done_trigger 7\n0->2 id 2 start 0 size 9000 send_done_trigger 7\n\
        0->3 id 3 trigger 7 size 9000\n0->4 id 4 trigger 7 size 9000\ntrigger id 7 multishot\n";
    let (_folder, traced) = scenario(text, "cm", 5, "", &[]);
    let found = outcome(&traced);
    assert!(found.flows[1].known < found.flows[0].known);
    assert_eq!((found.flows[2].start, found.flows[3].start), (found.flows[1].known, found.flows[0].known));
}

#[test]
fn failed_links_have_to_be_faults() {
    let text = "Nodes 4\nConnections 1\nFailures 1\n0->3 id 1 start 0 size 9000\nfailure switch_type AGG switch_id 0 link_id 0\n";
    let (_folder, refused) = loaded(text, "cm", 4, "", &[]);
    assert_eq!(refused.expect_err("a failure").to_string(), "failed links are no part of [[traffic]]");
    let (_folder, said) = scenario(text, "cm", 4, "failures = \"elsewhere\"", &[]);
    assert_eq!(outcome(&said).flows.len(), 1);
}

// GOAL.

/// In a network whose shortest packet takes 1 ns on a link of 1249 ns, a byte takes the 2500 ns of LogGOPSim's default L.
const LOGGOPS: [&str; 2] = ["topology.rate=672 Gbps", "topology.delay=1249 ns"];

/// Time at which each rank of a binomial broadcast has all in the model of LogGOPSim, for messages of a byte: a send
/// takes o on the sender's processor, the byte L, and the receive o. Two sends of a rank begin g apart at least.
fn tree(ranks: u32, (o, g): (u64, u64), l: u64) -> u64 {
    let mut has = vec![0; ranks as usize];
    let mut busy = vec![0; ranks as usize];
    for rank in 0..ranks {
        busy[rank as usize] = has[rank as usize];
        // A rank sends in the order of the rounds after that in which it received.
        let first = if rank == 0 { 0 } else { rank.ilog2() + 1 };
        let mut open = 0;
        for to in (first..ranks.ilog2()).map(|round| rank + (1 << round)) {
            let begins = busy[rank as usize].max(open);
            (busy[rank as usize], open) = (begins + o, begins + g);
            has[to as usize] = busy[rank as usize] + l + o;
        }
    }
    has.into_iter().chain(busy).max().unwrap_or(0)
}

#[test]
fn the_published_tree_of_loggopsim_takes_what_its_model_says() {
    for (o, g) in [(10u64, 0u64), (700, 0), (1500, 0), (1500, 1000), (700, 1000), (10, 5000)] {
        let more = format!("overhead = \"{o} ns\"\ngap = \"{g} ns\"");
        for ending in ["goal", "bin"] {
            let path = sample(&format!("loggopsim/binary_tree_32.{ending}"));
            let took = job(32, &entry(&path, &more), &LOGGOPS).took;
            assert_eq!(took, Time::ns(tree(32, (o, g), 2500)), "o = {o} ns, g = {g} ns, .{ending}");
        }
    }
    // Output of LogGOPSim for it with its defaults, of which g is 1000 ns.
    assert_eq!(tree(32, (1500, 1000), 2500), 27_500);
}

#[test]
fn computations_without_a_message_take_their_time() {
    let (_folder, traced) =
        scenario("num_ranks 2\nrank 0 {\na: calc 8000\n}\nrank 1 {\n}\n", "goal", 2, "", &[]);
    let found = outcome(&traced);
    assert_eq!((found.flows.len(), end(&found)), (0, Time::us(8)));
}

#[test]
fn ping_pong_takes_its_computations_overheads_and_messages() {
    let alone = Alone::new(2);
    let text = "num_ranks 2\nrank 0 {\na: calc 1000\ns: send 100b to 1 tag 1\ns requires a\nr: recv 200b from 1 tag 2\nr requires s\n\
        b: calc 500\nb requires r\n}\nrank 1 {\na: recv 100b from 0 tag 1\nb: calc 700\nc: calc 900\nb requires a\nc requires a\n\
        s: send 200b to 0 tag 2\ns requires b\ns requires c\n}\n";
    let more = "overhead = \"300 ns\"\nbyte_overhead = \"2 ns\"";
    let (_folder, traced) = scenario(text, "goal", 2, more, &[]);
    let overhead = |bytes: u64| 300_000 + 2_000 * (bytes - 1);
    // The two computations of rank 1 are on one processor.
    let computed = (1000 + 700 + 900 + 500) * 1000;
    let messages = alone.t(100) + alone.t(200);
    let expected = computed + 2 * overhead(100) + 2 * overhead(200) + messages;
    // The receiver of the first message acknowledges it long before it answers.
    assert_eq!(end(&outcome(&traced)), Time(expected));
    let (_folder, apart) = scenario(&text.replace("c: calc 900", "c: calc 900 cpu 1"), "goal", 2, more, &[]);
    assert_eq!(end(&outcome(&apart)), Time(expected - 700_000));
}

#[test]
fn messages_that_a_host_receives_begin_a_gap_apart() {
    // All are there when rank 0 is done with its computation; messages that it sends wait for nothing that it receives.
    let receives: String =
        (0..3).map(|n| format!("r{n}: recv 8b from 1 tag {n}\nr{n} requires c\n")).collect();
    let text = format!(
        "num_ranks 2\nrank 0 {{\nc: calc 100000\n{receives}s: send 8b to 1 cpu 1\ns requires c\n}}\nrank 1 {{\nsend 8b to 0 tag 0\n\
         send 8b to 0 tag 1\nsend 8b to 0 tag 2\nrecv 8b from 0\n}}\n"
    );
    let over = |gap: &str| {
        let (_folder, traced) =
            scenario(&text, "goal", 2, &format!("overhead = \"10 ns\"\ngap = \"{gap}\""), &[]);
        let found = outcome(&traced);
        let mut over: Vec<u64> =
            found.steps.iter().filter_map(|step| step.finish).map(|at| at.0 / 1000).collect();
        // Without the sends of rank 1, and the computation of rank 0 that is over at this time.
        over.retain(|at| *at > 100_000);
        over.sort_unstable();
        (over, found.flows[0].start.expect("it begins"))
    };
    // The last is the receive of rank 1.
    let (apart, sent) = over("400 ns");
    assert_eq!((&apart[..4], sent), (&[100_010, 100_010, 100_410, 100_810][..], Time::ns(100_010)));
    assert_eq!(over("0 s").0[..4], [100_010, 100_010, 100_020, 100_030]);
}

#[test]
fn short_messages_are_over_when_they_are_sent_and_long_ones_when_that_is_known() {
    let text = "num_ranks 3\nrank 0 {\na: send 1000b to 1\nb: send 1000b to 2\nb requires a\n}\nrank 1 {\nrecv 1000b from 0\n}\n\
        rank 2 {\nrecv 1000b from 0\n}\n";
    let start = |more: &str| {
        let (_folder, traced) = scenario(text, "goal", 3, more, &[]);
        let found = outcome(&traced);
        (found.flows[0].known, found.flows[1].start.expect("it begins"))
    };
    // Two overheads on one processor.
    assert_eq!(start("overhead = \"10 ns\"").1, Time::ns(20));
    let (known, begins) = start("overhead = \"10 ns\"\neager = \"999 B\"");
    assert_eq!(Some(begins), known.map(|known| known + Time::ns(10)));
}

#[test]
fn receives_from_any_rank_take_messages_in_the_order_in_which_they_come() {
    // Rank 2 sends later than rank 1, though its receive would be the first by number.
    let text = "num_ranks 4\nrank 0 {\na: recv 50b from -1\nx: calc 10\nx requires a\nb: recv 50b from -1\ny: calc 10\ny requires b\n}\n\
        rank 1 {\na: calc 50000\nb: send 50b to 0\nb requires a\n}\nrank 2 {\nsend 50b to 0\n}\nrank 3 {\n}\n";
    let (_folder, traced) = scenario(text, "goal", 4, "", &[]);
    let found = outcome(&traced);
    let (late, early) = (found.flows[0].finish.expect("complete"), found.flows[1].finish.expect("complete"));
    assert!(early < late);
    let over: Vec<Time> = found.steps.iter().filter_map(|step| step.finish).collect();
    assert!(over.contains(&(early + Time::ns(10))) && over.contains(&(late + Time::ns(10))), "{over:?}");
}

#[test]
fn an_operation_that_waits_for_the_begin_of_another_begins_with_it() {
    let text = "num_ranks 2\nrank 0 {\na: calc 100\nb: calc 5000\nb requires a\nc: send 10b to 1\nc irequires b\nd: send 10b to 1 tag 1\nd requires b\n}\n\
        rank 1 {\nrecv 10b from 0\nrecv 10b from 0 tag 1\n}\n";
    let (_folder, traced) =
        scenario(&text.replace("c: send 10b to 1", "c: send 10b to 1 cpu 1"), "goal", 2, "", &[]);
    let found = outcome(&traced);
    assert_eq!(found.flows[0].start, Some(Time::ns(100)));
    assert_eq!(found.flows[1].start, Some(Time::ns(5100)));
}

#[test]
fn what_can_never_be_done_is_refused_where_it_is_written() {
    let pair = |zero: &str, one: &str| format!("num_ranks 2\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\n");
    let cases = [
        (pair("send 8b to 1 tag 3", ""), "nobody receives this: rank 1 has no receive for it with tag 3", 3),
        (pair("", "recv 8b from 0"), "nobody sends this: rank 0 has no send for it to rank 1 with tag 0", 6),
        (
            pair("", "recv 8b from -1 tag -1"),
            "nobody sends this: any rank has no send for it to rank 1 with any tag",
            6,
        ),
        (pair("send 9b to 1", "recv 8b from 0"), "8 B are too few for the message of 9 B that is sent", 6),
        (
            pair("a: calc 1\nb: calc 1\na requires b\nb requires a\nsend 8b to 1", "recv 8b from 0"),
            "waits for",
            4,
        ),
        (
            pair(
                "a: recv 8b from 1\nb: send 8b to 1\nb requires a",
                "a: recv 8b from 0\nb: send 8b to 0\nb requires a",
            ),
            "waits for",
            3,
        ),
        (pair("", ""), "holds no operation", 0),
        (
            pair("send 8b to 1\nsend 8b to 1", "recv 8b from -1"),
            "2 sends may belong to 1 receive that name no sender or no tag",
            7,
        ),
    ];
    for (text, message, line) in cases {
        let (_folder, refused) = loaded(&text, "goal", 2, "", &[]);
        let error = refused.expect_err(message);
        assert!(error.to_string().contains(message), "{error}");
        if line > 0 && !message.contains("waits for") {
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }
}

// Chakra and ASTRA-sim.

#[test]
fn the_microbenchmarks_of_astra_sim_take_what_their_algorithms_say() {
    let (ranks, size, alone) = (8u64, 1u64 << 20, Alone::new(8));
    let part = size / ranks;
    // ASTRA-sim's size of an all-gather is what each rank has before.
    let cases = [
        ("all_reduce", 2 * (ranks - 1), part),
        ("reduce_scatter", ranks - 1, part),
        ("all_gather", ranks - 1, size),
    ];
    for (name, steps, message) in cases {
        let took = job(8, &entry(&sample(&format!("astra-sim/{name}.0.et")), ""), &UNASKED).took;
        assert_eq!(took, Time(steps * alone.t(message) + (steps - 1) * alone.a()), "{name}");
    }
    // All messages at once: a rank receives seven parts one after the other, and their last packets may share its link.
    let took = job(8, &entry(&sample("astra-sim/all_to_all.0.et"), ""), &UNASKED).took;
    let least = alone.t(part) + (ranks - 2) * alone.s(part);
    assert!(took.0 >= least && took.0 <= least + least / 50, "{took} and at least {}", Time(least));
    let kind = "kind = \"all-to-all\"\nbytes = 1048576";
    assert_eq!(took, job(8, kind, &UNASKED).took, "as the kind of traffic");
}

#[test]
fn a_collective_of_all_ranks_has_the_bandwidths_of_one() {
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = 8\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[transport]\nname = \"dctcp\"\n\n[[traffic]]\n{}",
        entry(&sample("astra-sim/all_reduce.0.et"), "")
    );
    let run = |text: &str| {
        let scenario =
            Request::text(text, "scenario.toml", Path::new("."), &[], None).load().expect("a scenario");
        let output = crate::common::run(&scenario);
        output.summary["jobs"][0].clone()
    };
    let kind = &text[..text.find("kind = \"trace\"").expect("the entry")];
    let (traced, written) = (run(&text), run(&format!("{kind}kind = \"allreduce\"\nbytes = 1048576\n")));
    for number in ["completion_s", "size_bytes", "bus_bandwidth_bps", "bound_s"] {
        assert_eq!(traced[number], written[number], "{number}");
    }
    assert!(traced["completion_s"].is_number());
}

#[test]
fn a_file_of_a_rank_that_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for rank in [0, 1, 3] {
        let name = format!("all_reduce.{rank}.et");
        std::fs::copy(sample(&format!("astra-sim/{name}")), folder.path().join(name)).expect("a copy");
    }
    let path = folder.path().join("all_reduce.0.et").display().to_string();
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = 8\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n[transport]\nname = \"homa\"\n[[traffic]]\n{}",
        entry(&path, "")
    );
    let error = load(&text, &[]).expect_err("a rank is missing").render();
    assert!(error.contains("all_reduce.2.et") && error.contains("files of ranks up to 3 are"), "{error}");
}

// SimAI.

#[test]
fn a_workload_of_simai_computes_and_exchanges_layer_by_layer() {
    let (ranks, alone) = (4u64, Alone::new(4));
    let ring = |bytes: u64, steps: u64| steps * alone.t(bytes / ranks) + (steps - 1) * alone.a();
    let text = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 \
        checkpoint_initiates: 0\n2\nembedding -1 5000 ALLREDUCE 16000 1000 NONE 0 2000 NONE 0 100\n\
        mlp -1 7000 ALLGATHER 8000 3000 REDUCESCATTER 8000 900000 NONE 0 10\n";
    let (_folder, traced) = scenario(text, "txt", 4, "", &UNASKED);
    let forward = 5_000_000 + ring(16_000, 6) + 100_000 + 7_000_000 + ring(8_000, 3) + 10_000;
    // The gradients of weights take longer than the exchange of those of inputs, which goes on meanwhile.
    let backward = 3_000_000 + 900_000_000 + 1_000_000 + 2_000_000;
    assert_eq!(end(&outcome(&traced)), Time(forward + backward));
    let short = text.replace("900000", "1000");
    let (_folder, traced) = scenario(&short, "txt", 4, "", &UNASKED);
    let backward = 3_000_000 + ring(8_000, 3) + 10_000 + 1_000_000 + 2_000_000;
    assert_eq!(end(&outcome(&traced)), Time(forward + backward));
}

#[test]
fn collectives_of_groups_go_on_at_the_same_time() {
    let alone = Alone::new(8);
    let text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 8\n1\nmlp -1 0 ALLREDUCE 2000 0 NONE 0 0 NONE 0 0\n";
    let (_folder, traced) = scenario(text, "txt", 8, "", &UNASKED);
    // A ring of two sends halves of the 2000 B twice.
    assert_eq!(end(&outcome(&traced)), Time(2 * alone.t(1_000) + alone.a()));
}

#[test]
fn the_published_workload_of_simai_is_read() {
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = 8\nrate = \"400 Gbps\"\ndelay = \"1 us\"\n[transport]\nname = \"ndp\"\n[[traffic]]\n{}",
        entry(&sample("simai/microAllReduce.txt"), "")
    );
    let resolved =
        load(&text, &[]).expect("a scenario").setup().expect("a network").resolve(1).expect("a run");
    // Two layers, each a ring of eight ranks: 2 (8 - 1) steps, in which each rank sends an eighth.
    assert_eq!(resolved.spec.flows.len(), 2 * 8 * 14);
    let bytes: u64 = resolved.spec.flows.iter().map(|flow| flow.bytes).sum();
    assert_eq!(bytes, 14 * (16_777_216 + 67_108_864));
    let graph = resolved.spec.graph.as_ref().expect("a graph");
    assert!(graph.all_edges().all(|(cause, node)| graph.is_local(&resolved.spec.flows, node, cause)));
}

// All formats.

#[test]
fn ranks_are_hosts_as_those_of_a_job_and_begin_when_they_are_told() {
    let text = "num_ranks 2\nrank 0 {\na: send 10b to 1\n}\nrank 1 {\nrecv 10b from 0\n}\n";
    let (_folder, traced) = scenario(text, "goal", 6, "ranks = [4, 2]\nstart = \"3 us\"", &[]);
    let resolved = traced.setup().expect("a network").resolve(1).expect("a run");
    assert_eq!((resolved.spec.flows[0].src, resolved.spec.flows[0].dst), (4, 2));
    assert_eq!(outcome(&traced).flows[0].start, Some(Time::us(3)));
    let (_folder, few) = loaded(text, "goal", 6, "ranks = 3", &[]);
    assert_eq!(
        few.expect_err("too many").to_string(),
        "`traffic.0.ranks` must be the 2 ranks of the trace, not 3"
    );
    let (_folder, unused) = loaded(text, "goal", 6, "start_unit = \"us\"", &[]);
    assert!(unused.expect_err("no matrix").to_string().contains("`start_unit` has no effect"));
    let many = "num_ranks 8\n".to_string()
        + &(0..8).fold(String::new(), |mut all, rank| {
            let _ = write!(
                all,
                "rank {rank} {{\nsend 1b to {}\nrecv 1b from {}\n}}\n",
                (rank + 1) % 8,
                (rank + 7) % 8
            );
            all
        });
    let (_folder, tight) = loaded(&many, "goal", 6, "", &[]);
    assert_eq!(tight.expect_err("six hosts").to_string(), "8 ranks do not fit on 6 hosts from host 0 on");
}

#[test]
fn a_trace_is_the_same_on_any_number_of_threads() {
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nracks = 4\nhosts_per_rack = 2\nspines = 2\nhost_rate = \"100 Gbps\"\nspine_rate = \"100 Gbps\"\n\
         host_delay = \"1 us\"\n[transport]\nname = \"dctcp\"\n[[traffic]]\n{}",
        entry(&sample("astra-sim/all_reduce.0.et"), "allreduce = \"halving-doubling\"")
    );
    let resolved =
        load(&text, &[]).expect("a scenario").setup().expect("a network").resolve(1).expect("a run");
    // With an edge from host to host the run would not be divided, and show nothing.
    assert!(resolved.spec.graph.as_ref().is_some_and(|graph| graph.local()));
    let alone = headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs");
    let around = headway_sim::Around { threads: 3, ..headway_sim::Around::default() };
    assert_eq!(headway_sim::run_within(&resolved.spec, around, &mut |_| true).expect("it runs"), alone);
    let steps = resolved.spec.graph.as_ref().map_or(0, |graph| graph.steps().len());
    assert_eq!(steps, 16, "a begin and an end at each rank");
    assert!(
        resolved
            .spec
            .graph
            .as_ref()
            .is_some_and(|graph| graph.all_edges().any(|(_, node)| matches!(node, Node::Flow(_))))
    );
}

#[test]
fn one_group_of_each_kind_takes_as_long_as_all_that_are_equal() {
    let layer =
        |name: &str| format!("{name} -1 1000 ALLREDUCE 80000 2000 ALLTOALL_EP 64000 500 NONE 0 100\n");
    let head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 pp: 2 all_gpus: 16\n3\n";
    let text = format!("{head}{}{}{}", layer("a"), layer("b"), layer("c"));
    let (_folder, each) = scenario(&text, "txt", 16, "", &[]);
    let (_folder, one) = scenario(&text, "txt", 16, "equal_groups = \"one\"", &[]);
    let (each, shared) = (outcome(&each), outcome(&one));
    // Nothing meets on a single switch. A group of two sends two messages for an allreduce twice, and two for an all-to-all.
    assert_eq!((each.flows.len(), shared.flows.len()), (16 / 2 * 3 * (4 + 2), 3 * (4 + 2)));
    assert_eq!(end(&shared), end(&each));
    let notes = one.setup().expect("a network").notes.join("\n");
    assert!(
        notes.contains("each collective is done by the group of rank 0 for all groups of its kind"),
        "{notes}"
    );
}
