//! Round trips packet by packet, where they have known answers.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_gauges::RoundTrips;
use headway_network::topology::SingleSwitch;
use headway_network::{Outcome, TopologySpec};
use headway_units::Time;

/// A full packet and its answer on two links of 10 Gb/s with 1 us each: 1538 and 84 bytes twice, and 4 us.
const EMPTY: Time = Time(6_595_200);

fn over_a_switch(transport: &str, senders: u32, bytes: u64) -> Outcome {
    let topology =
        TopologySpec::SingleSwitch(SingleSwitch { hosts: senders + 1, link: link(10, Time::us(1)) });
    let flows = (0..senders).map(|host| flow(host, senders, bytes, Time::ZERO)).collect();
    outcome(&spec(topology, transport, flows, Time::ms(100)))
}

fn trips(out: &Outcome) -> &RoundTrips {
    out.round_trips.as_ref().expect("a machine that measures them")
}

#[test]
fn every_packet_of_a_first_window_takes_the_empty_round_trip() {
    for transport in ["tcp", "dctcp", "mptcp-reno"] {
        // The run ends with the last of ten packets at its receiver, when eight are answered.
        let out = over_a_switch(transport, 1, 14_600);
        assert_eq!((trips(&out).count(), trips(&out).longest()), (8, EMPTY), "{transport}");
        // The mean is of whole nanoseconds.
        assert_eq!(trips(&out).mean(), Some(Time(EMPTY.0 / 1000 * 1000)), "{transport}");
    }
}

#[test]
fn none_is_shorter_than_the_empty_one_and_the_first_has_no_queue() {
    for transport in ["tcp", "vegas", "mptcp-olia", "rcp", "homa", "proactmp"] {
        let out = over_a_switch(transport, 1, 1_000_000);
        let shortest = trips(&out).quantile(0.0).expect("samples");
        // A bin ends at a whole nanosecond.
        assert!(shortest + Time::ns(1) > EMPTY, "{transport}: {shortest}");
        assert!(shortest < EMPTY + Time::us(1), "{transport}: {shortest}");
        assert!(trips(&out).count() > 300, "{transport}: {}", trips(&out).count());
    }
}

#[test]
fn a_queue_shows_in_them_packet_for_packet() {
    let out = over_a_switch("tcp", 4, 1_000_000);
    let queue = out.links.iter().map(|link| link.counters.queue_max_bytes).max().expect("links");
    let drained = link(10, Time::us(1)).rate.time_of(queue);
    let longest = trips(&out).longest();
    assert!(longest <= EMPTY + drained + Time::us(2), "{longest} with a queue of {queue} bytes");
    assert!(longest + Time::us(2) >= EMPTY + drained, "{longest} with a queue of {queue} bytes");
}

#[test]
fn machines_whose_answers_do_not_tell_have_none() {
    for transport in ["amrt", "phost", "ndp", "rpo", "expresspass"] {
        assert_eq!(over_a_switch(transport, 1, 100_000).round_trips, None, "{transport}");
    }
}
