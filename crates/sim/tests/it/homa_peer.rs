//! Homa beside `HomaL4Protocol-ns-3` (serhatarslan-hub, commit 3cac711), an implementation for ns-3, on the same
//! messages, one by one.
//!
//! How it was run: its Homa, unchanged, over ns-3 3.37; hosts around one switch, 10 Gb/s and 2 us a link,
//! unlimited buffers, frames of 1460 + 40 + 2 bytes and 42 of control, picoseconds. `RttPackets` 10,
//! `OvercommitLevel` 6, `NumUnschedPrioBands` 2 of 8, and `InbndRtxTimeout` 10 s, because nothing is lost. Assertions
//! are off; the call that one of them contains, which makes the packet, is made all the same.
//!
//! What it does otherwise than the paper, and how it is met here:
//!
//! * *Its queues never see a priority.* ns-3's IP layer takes the tag off on which its `PfifoHomaQueueDisc`
//!   sorts, so that everything waits in one queue (`fifo_ns`; here: `levels = 1`). For `priority_ns` the port's
//!   queue reads the byte of the IP header into which the layer copies the tag.
//! * The message granted first always has the highest scheduled priority, not the lowest that is free
//!   (`scheduled_from = "highest"`). Messages below 13 packets have the first unscheduled one, others the second.
//! * Its sender ranks messages by size less what was granted and not by what is left to send, serves equal ones in
//!   the order of a hash table, and sends what is left of the first window in the class of the first grant.
//!   These have no parameter here. They are worth at most 3 % of a mean, and 6 % of a 99th percentile:
//!   with these three replaced there (`priority_same_ns`, `fifo_same_ns`) both agree within 0.5 %.
use crate::common;

use common::beside::{self, Case, close, equal, times};
use common::param;
use headway_network::{FlowSpec, RunSpec};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::Time;

/// How it was run: the columns of the tables.
const PRIORITY: usize = 0;
const FIFO: usize = 1;
const PRIORITY_SAME: usize = 2;
const FIFO_SAME: usize = 3;

/// Completion times here, in us, over eight queues a port or one.
fn ours(case: &Case, queues: u64) -> Vec<f64> {
    times(&homa(case.flows.clone(), queues))
}

fn homa(flows: Vec<FlowSpec>, queues: u64) -> RunSpec {
    let sizes = Sizes { payload: 1460, header: 40, framing: 2, control: 42 };
    let settings = [
        ("overcommit", ParamValue::Int(6)),
        ("rtt_bytes", ParamValue::Int(10 * 1460)),
        ("unscheduled_levels", ParamValue::Int(2)),
        ("cutoff_1", ParamValue::Int(12 * 1460)),
        ("unscheduled_by", ParamValue::Choice("length".into())),
        ("scheduled_from", ParamValue::Choice("highest".into())),
    ];
    beside::homa(flows, sizes, queues, settings)
}

#[test]
fn messages_alone_take_as_long_to_the_nanosecond() {
    // Of 1, 5 and 50 packets, and of 500,000 bytes.
    let case = Case::read(include_str!("homa_peer/single.csv"));
    for (queues, way) in [(8, PRIORITY), (1, FIFO)] {
        assert_eq!(equal(&ours(&case, queues), &case.theirs[way]), 1.0, "{queues} queues");
    }
}

#[test]
fn staggered_incasts_of_equal_and_of_unequal_messages() {
    let cases = [
        ("100 kB each", include_str!("homa_peer/incast.csv")),
        ("50 to 400 kB", include_str!("homa_peer/incast_sizes.csv")),
    ];
    for (what, table) in cases {
        let case = Case::read(table);
        close(what, &ours(&case, 8), &case.theirs[PRIORITY], (0.1, 0.001));
        close(&format!("{what}, one queue"), &ours(&case, 1), &case.theirs[FIFO], (0.1, 0.001));
    }
    // Each message of the unequal ones.
    let case = Case::read(include_str!("homa_peer/incast_sizes.csv"));
    assert_eq!(equal(&ours(&case, 8), &case.theirs[PRIORITY]), 1.0);
}

#[test]
fn an_incast_served_from_the_lowest_priorities_takes_longer_for_the_first() {
    // The paper's rule keeps the highest free for newcomers. Of messages that are equal and begin together each
    // newcomer pushes the others up, and what they were granted below waits.
    let case = Case::read(include_str!("homa_peer/incast.csv"));
    let lowest = param(homa(case.flows.clone(), 8), "scheduled_from", ParamValue::Choice("lowest".into()));
    let out = common::outcome(&lowest);
    let first = out.flows[0].finish.expect("it is done");
    assert!(first > Time::us(390), "{first}");
    assert!(ours(&case, 8)[0] < 175.0);
}

#[test]
fn outcasts_take_as_long_but_for_the_order_of_equals() {
    let case = Case::read(include_str!("homa_peer/outcast_sizes.csv"));
    assert_eq!(equal(&ours(&case, 8), &case.theirs[PRIORITY]), 1.0, "50 to 400 kB");
    let case = Case::read(include_str!("homa_peer/outcast.csv"));
    close("100 kB each", &ours(&case, 8), &case.theirs[PRIORITY], (1.5, 1.0));
    assert_eq!(equal(&ours(&case, 8), &case.theirs[PRIORITY_SAME]), 1.0, "the older first among equals");
}

#[test]
fn at_sixty_per_cent_load_mean_and_p99_are_within_three_per_cent() {
    let cases = [
        ("W3", include_str!("homa_peer/load_w3.csv")),
        ("Hadoop", include_str!("homa_peer/load_hadoop.csv")),
    ];
    for (what, table) in cases {
        let case = Case::read(table);
        let (eight, one) = (ours(&case, 8), ours(&case, 1));
        close(what, &eight, &case.theirs[PRIORITY], (1.0, 3.0));
        // W3's 99th percentile over one queue is 5.3 % apart by the sender's rules.
        close(&format!("{what}, one queue"), &one, &case.theirs[FIFO], (1.0, 6.0));
        close(&format!("{what}, same sender"), &eight, &case.theirs[PRIORITY_SAME], (0.5, 0.5));
        close(&format!("{what}, same sender, one queue"), &one, &case.theirs[FIFO_SAME], (0.5, 0.5));
        println!("{what}: {:.3} of the messages are equal", equal(&eight, &case.theirs[PRIORITY_SAME]));
    }
}
