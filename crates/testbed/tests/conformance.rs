//! One test body, two arms: the simulator, and the testbed on real packets where this machine can run one.
//!
//! What is asserted holds for both: completion, intact bytes, marks at idle and at saturated ports, packets
//! a grant, recovery from drops, order of finishing. Nothing depends on how fast the machine is.

mod common;

use common::{Run, arms, link};
use headway_network::FlowState;

/// A dumbbell of two pairs, 10 Gb/s, 90 us: a bandwidth-delay product of about 90 packets.
fn dumbbell(transport: &str, flows: &str, more: &str) -> String {
    format!(
        r#"
stop = "200 ms"
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
const PHOST: &str = "name = \"phost\"\nmode = \"arrival\"";

#[test]
fn every_flow_completes_with_the_bytes_that_were_sent() {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "1.5 MB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "400 kB", start = "100 us" },
        { name = "f2", src = 0, dst = 3, bytes = 1, start = "200 us" }"#;
    for transport in [AMRT, PHOST] {
        for run in arms(&dumbbell(transport, flows, "")) {
            assert_eq!(run.done(), 3, "{}", run.arm);
            let delivered: Vec<u64> = run.outcome.flows.iter().map(|f| f.delivered).collect();
            assert_eq!(delivered, [1_500_000, 400_000, 1], "{}", run.arm);
            assert_eq!(run.corrupted, 0, "{}", run.arm);
        }
    }
}

#[test]
fn an_idle_port_leaves_marks_and_a_saturated_one_clears_them() {
    // A quarter of the first window, spread over a round trip: every packet follows a gap.
    let spread = r#"{ name = "f0", src = 0, dst = 2, bytes = "25 kB", start = "0 s", share = 4 }"#;
    // Two senders, one link: it is saturated from the first window on.
    let two = r#"{ name = "f0", src = 0, dst = 2, bytes = "2 MB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "2 MB", start = "0 s" }"#;
    let both = [spread, two].map(|flows| arms(&dumbbell(AMRT, flows, "")));
    for (idle, full) in both[0].iter().zip(&both[1]) {
        let marked = |run: &Run| link(run, "s0->s1").counters.marked;
        let (some, of) = (marked(idle), idle.packets(25_000));
        let (few, many) = (marked(full), full.packets(2_000_000) * 2);
        let what =
            format!("{}: {some} of {of} marked on an idle link, {few} of {many} on a full one", idle.arm);
        assert!(few * 5 <= many, "{what}");
        // Real hosts that are woken late send several packets at once, of which the first alone follows a gap.
        assert!(some * many > 2 * few * of, "{what}");
        assert!(idle.arm != "simulator" || some * 10 >= of * 8, "{what}");
    }
}

#[test]
fn a_marked_grant_brings_two_packets_and_an_unmarked_one_brings_one() {
    // From a quarter of the path to the whole of it, in about three round trips.
    let filling = r#"{ name = "f0", src = 0, dst = 2, bytes = "190 kB", start = "0 s", share = 4 }"#;
    let saturated = r#"{ name = "f0", src = 0, dst = 2, bytes = "3 MB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "3 MB", start = "0 s" }"#;
    let both = [filling, saturated].map(|flows| arms(&dumbbell(AMRT, flows, "")));
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
    (link(run, "s0->s1").counters.dequeued, link(run, "s1->s0").counters.dequeued)
}

#[test]
fn a_dropped_data_packet_and_a_dropped_grant_are_recovered() {
    let flow = r#"{ name = "f0", src = 0, dst = 2, bytes = "1 MB", start = "0 s" }"#;
    let drop = |link: &str, kind: &str, nth: u32| {
        format!("[[fault]]\nlinks = [\"{link}\"]\nkind = \"{kind}\"\ndrop = [{nth}]")
    };
    let cases = [
        (AMRT, drop("s0->s1", "data", 3)),
        (AMRT, drop("s0->s1", "data", 300)),
        (AMRT, drop("s1->s0", "grant", 1)),
        (PHOST, drop("s0->s1", "data", 3)),
        (PHOST, drop("s1->s0", "token", 1)),
        (PHOST, drop("s0->s1", "rts", 1)),
    ];
    for (transport, fault) in cases {
        for run in arms(&dumbbell(transport, flow, &fault)) {
            let what = format!("{}, {transport}, {fault}", run.arm);
            assert_eq!(run.done(), 1, "{what}");
            assert_eq!((run.outcome.flows[0].delivered, run.corrupted), (1_000_000, 0), "{what}");
            let lost: u64 = run.outcome.links.iter().map(|l| l.faults.dropped_by_number).sum();
            assert_eq!(lost, 1, "{what}");
        }
    }
}

#[test]
fn a_lossy_reordering_duplicating_network_delivers_every_flow_once() {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "700 kB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "700 kB", start = "0 s" },
        { name = "f2", src = 3, dst = 0, bytes = "300 kB", start = "0 s" }"#;
    let faults = "[[fault]]\nloss = 0.01\nduplicate = 0.01\nreorder = 0.01\nreorder_by = \"30 us\"";
    for transport in [AMRT, PHOST] {
        for run in arms(&dumbbell(transport, flows, faults)) {
            assert!(run.outcome.flows.iter().all(|f| f.state == FlowState::Done), "{} {transport}", run.arm);
            let delivered: u64 = run.outcome.flows.iter().map(|f| f.delivered).sum();
            assert_eq!((delivered, run.corrupted), (1_700_000, 0), "{} {transport}", run.arm);
        }
    }
}

#[test]
fn the_shortest_remaining_flow_finishes_first() {
    let flows = r#"{ name = "long", src = 0, dst = 2, bytes = "4 MB", start = "0 s" },
        { name = "short", src = 1, dst = 2, bytes = "600 kB", start = "500 us" }"#;
    let srpt = "name = \"phost\"\nmode = \"paced\"\nscheduler = \"srpt\"";
    for run in arms(&dumbbell(srpt, flows, "")) {
        let finish: Vec<_> = run.outcome.flows.iter().map(|f| f.finish.expect("both finish")).collect();
        assert!(finish[1] < finish[0], "{}: {finish:?}", run.arm);
    }
}
