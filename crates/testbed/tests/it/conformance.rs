//! One test body, two arms: the simulator, and the testbed on real packets where this machine can run one.
//!
//! The assertions hold for both: completion and intact bytes, packets a grant, order of finishing. Nothing depends on
//! how fast the machine is. The matrix holds every transport to completion, marks and recovery from single losses.

use crate::common::{Run, broken_identities, find_link, run_arms};
use headway_network::FlowState;
use headway_transport::registry;

/// A dumbbell of two pairs, 10 Gb/s, 90 us: a bandwidth-delay product of about 90 packets.
fn dumbbell_text(transport: &str, flows: &str, more: &str) -> String {
    format!(
        r#"
stop = "400 ms"
[topology]
kind = "dumbbell"
senders = 2
receivers = 2
rate = "10 Gbps"
delay = "15 us"
[fabric]
buffer = "128 packets"
[transport]
{transport}
[[traffic]]
kind = "flows"
flows = [{flows}]
{more}
"#
    )
}

const AMRT: &str = "name = \"amrt\"";

#[test]
fn a_marked_grant_brings_two_packets_and_an_unmarked_one_brings_one() {
    // From a quarter of the path to the whole of it, in about three round trips.
    let filling = r#"{ name = "f0", src = 0, dst = 2, bytes = "190 kB", start = "0 s", share = 4 }"#;
    let saturated = r#"{ name = "f0", src = 0, dst = 2, bytes = "3 MB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "3 MB", start = "0 s" }"#;
    let both = [filling, saturated].map(|flows| run_arms(&dumbbell_text(AMRT, flows, "")));
    for (filling, saturated) in both[0].iter().zip(&both[1]) {
        let ((data, grants), arm) = (data_and_grants(filling), &filling.arm);
        // Hosts that are woken late see fewer gaps than those of the simulator: how many more packets than
        // grants there are is the simulator's to say, that there are more than on a full link holds for both.
        let gains = data * 10 > grants * 12;
        assert!(*arm != "simulator" || gains, "{arm}: {data} packets, {grants} grants while filling");
        let (full_data, full_grants) = data_and_grants(saturated);
        let what = format!("{arm}: {full_data} packets, {full_grants} grants when saturated");
        assert!(full_data * 10 < full_grants * 14 && full_data * 10 > full_grants * 8, "{what}");
        assert!(data * full_grants > full_data * grants, "{what}; {data}, {grants} while filling");
    }
}

/// Data packets forward and control packets backward on the link between the switches.
fn data_and_grants(run: &Run) -> (u64, u64) {
    (find_link(run, "s0->s1").counters.dequeued, find_link(run, "s1->s0").counters.dequeued)
}

#[test]
fn every_transport_delivers_every_flow_once_over_a_lossy_reordering_duplicating_network() {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "350 kB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "350 kB", start = "0 s" },
        { name = "f2", src = 3, dst = 0, bytes = "150 kB", start = "0 s" },
        { name = "f3", src = 0, dst = 3, bytes = 1, start = "100 us" }"#;
    let faults = "[[fault]]\nloss = 0.01\nduplicate = 0.01\nreorder = 0.01\nreorder_by = \"30 us\"";
    for entry in registry::all_entries() {
        let name = entry.info.name;
        // A time-out of the usual 10 ms takes a second on a network that is 100 times slower.
        let timeout =
            if entry.params.iter().any(|p| p.name == "min_rto") { "min_rto = \"1 ms\"" } else { "" };
        for run in run_arms(&dumbbell_text(&format!("name = \"{name}\"\n{timeout}"), flows, faults)) {
            assert!(run.outcome.flows.iter().all(|f| f.state == FlowState::Done), "{} {name}", run.arm);
            let delivered: Vec<u64> = run.outcome.flows.iter().map(|f| f.delivered).collect();
            assert_eq!(
                (&delivered[..], run.corrupted),
                (&[350_000, 350_000, 150_000, 1][..], 0),
                "{} {name}",
                run.arm
            );
        }
    }
}

/// Two pairs of hosts with a transport each, then three transports between the same hosts: a host has an endpoint for each of
/// its transports, and their packets share its link.
#[test]
fn several_transports_share_links_and_hosts_and_every_byte_of_each_arrives() {
    let entry = |transport: &str, flows: &str| {
        format!("[[traffic]]\nkind = \"flows\"\ntransport = {transport}\nflows = [{flows}]\n")
    };
    let dctcp = "name = \"dctcp\"\nmin_rto = \"1 ms\"";
    let flow = |from: u32, to: u32, bytes: u64| format!("{{ src = {from}, dst = {to}, bytes = {bytes} }}");
    let apart = (
        flow(0, 2, 350_000),
        entry("\"homa\"", &[flow(1, 3, 350_000), flow(3, 1, 1)].join(", ")),
        vec![350_000, 350_000, 1],
    );
    let together = (
        [flow(0, 2, 350_000), flow(3, 0, 150_000)].join(", "),
        entry("\"homa\"", &[flow(0, 2, 350_000), flow(2, 0, 1)].join(", "))
            + &entry("\"phost\"", &[flow(0, 2, 200_000), flow(1, 2, 200_000), flow(0, 3, 1)].join(", ")),
        vec![350_000, 150_000, 350_000, 1, 200_000, 200_000, 1],
    );
    for (flows, others, bytes) in [apart, together] {
        let ports = "[fabric]\ndiscipline = \"ecn-threshold\"";
        let text = dumbbell_text(dctcp, &flows, &others).replace("[fabric]", ports);
        for run in run_arms(&text) {
            let (arm, outcome) = (run.arm, &run.outcome);
            assert_eq!(run.done_count(), bytes.len(), "{arm}: {:?}", outcome.flows);
            let delivered: Vec<u64> = outcome.flows.iter().map(|f| f.delivered).collect();
            assert_eq!((&delivered, run.corrupted), (&bytes, 0), "{arm}");
            assert_eq!(broken_identities(outcome), [] as [String; 0], "{arm}");
            // Each measures itself, and dctcp's windows are reported.
            assert_eq!(outcome.by_transport.len(), 1 + others.matches("[[traffic]]").count(), "{arm}");
            let measured: Vec<bool> =
                outcome.by_transport.iter().map(|one| one.round_trips.is_some()).collect();
            assert!(measured[0], "{arm}: {measured:?}");
        }
    }
}

#[test]
fn flows_count_their_marks_and_what_is_sent_again_and_ports_do_not_know_flows() {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "2 MB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "2 MB", start = "0 s" }"#;
    // In the middle of the first windows, with enough packets behind it for duplicate acknowledgements.
    let one_lost = "[[fault]]\nlinks = [\"s0->s1\"]\nkind = \"data\"\ndrop = [40]";
    for run in run_arms(&dumbbell_text("name = \"dctcp\"\nmin_rto = \"1 ms\"", flows, one_lost)) {
        let (flows, arm) = (&run.outcome.flows, run.arm);
        assert_eq!(run.done_count(), 2, "{arm}");
        let marks: u32 = flows.iter().map(|f| f.marks.expect("hosts count them")).sum();
        let marked: u64 = run.outcome.links.iter().map(|l| l.counters.marked).sum();
        assert!(marks > 0 && u64::from(marks) <= marked, "{arm}: {marks} arrived of {marked} marks");
        let again: u64 = flows.iter().map(|f| f.retransmitted.expect("hosts count them")).sum();
        assert!(again >= 1000, "{arm}: the lost packet left again, of {again} bytes");
        let by_flow = flows.iter().all(|f| f.drops.is_some() && f.trims.is_some());
        assert_eq!(by_flow, arm == "simulator", "{arm}: {flows:?}");
    }
}

/// A fault that loses unwanted handshakes shows which ones cross the bottleneck.
#[test]
fn a_flow_over_an_open_connection_leaves_the_handshake_out_and_one_that_comes_too_early_does_not() {
    let flows = |connection: fn(&str) -> String| {
        let over = connection;
        format!(
            r#"{{ name = "request", src = 0, dst = 2, bytes = "20 kB", start = "0 s" }},
            {{ name = "early", src = 0, dst = 2, bytes = "20 kB", start = "1 us"{} }},
            {{ name = "reply", src = 2, dst = 0, bytes = "20 kB", start = "20 ms"{} }},
            {{ name = "second", src = 0, dst = 2, bytes = "20 kB", start = "20 ms"{} }}"#,
            over("request"),
            over("request"),
            over("request"),
        )
    };
    let one_too_many = "[[fault]]\nlinks = [\"s0->s1\"]\nkind = \"rts\"\ndrop = [3]\n\
                        [[fault]]\nlinks = [\"s1->s0\"]\nkind = \"rts\"\ndrop = [1]";
    let tcp = "name = \"tcp\"\nhandshake = true\nmin_rto = \"1 ms\"";
    let named =
        run_arms(&dumbbell_text(tcp, &flows(|name| format!(", connection = \"{name}\"")), one_too_many));
    let unnamed = run_arms(&dumbbell_text(tcp, &flows(|_| String::new()), one_too_many));
    let lost = |run: &Run| run.outcome.links.iter().map(|l| l.faults.dropped_by_number).sum::<u64>();
    for (run, control) in named.iter().zip(&unnamed) {
        assert_eq!((run.done_count(), control.done_count()), (4, 4), "{}", run.arm);
        assert_eq!((lost(run), lost(control)), (0, 2), "{}: two go over the request's connection", run.arm);
        let early = "1 flow began before the connection";
        assert!(
            run.outcome.warnings.iter().any(|w| w.contains(early)),
            "{}: {:?}",
            run.arm,
            run.outcome.warnings
        );
        assert!(!control.outcome.warnings.iter().any(|w| w.contains("connection")), "{}", run.arm);
    }
}

#[test]
fn the_shortest_remaining_flow_finishes_first() {
    let flows = r#"{ name = "long", src = 0, dst = 2, bytes = "4 MB", start = "0 s" },
        { name = "short", src = 1, dst = 2, bytes = "600 kB", start = "500 us" }"#;
    let srpt = "name = \"phost\"\nmode = \"paced\"\nscheduler = \"srpt\"";
    for run in run_arms(&dumbbell_text(srpt, flows, "")) {
        let finish: Vec<_> = run.outcome.flows.iter().map(|f| f.finish.expect("both finish")).collect();
        assert!(finish[1] < finish[0], "{}: {finish:?}", run.arm);
    }
}

/// The last packet is lost, so that only the sender's time-out of 10 ms by default brings it; it cannot come sooner.
#[test]
fn a_time_out_that_no_scenario_writes_lasts_as_long_in_both_arms_as_without_a_slowdown() {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "2 kB", start = "0 s" }"#;
    let lost = "[[fault]]\nlinks = [\"s0->s1\"]\nkind = \"data\"\ndrop = [2]";
    for run in run_arms(&dumbbell_text("name = \"tcp\"", flows, lost)) {
        let finish = run.outcome.flows[0].finish.expect("it finishes");
        assert!(finish >= headway_units::Time::ms(9), "{}: {finish}", run.arm);
    }
}
