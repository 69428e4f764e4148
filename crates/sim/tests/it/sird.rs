//! SIRD in networks: exact times, and the bounds of credit.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::SingleSwitch;
use headway_network::{FlowSpec, FlowState, Outcome, RunSpec, TopologySpec};
use headway_params::ParamValue;
use headway_units::Time;

/// Hosts around a switch, 100 Gb/s and 1 us a link, and the authors' bandwidth-delay product.
fn run_of(hosts: u32, flows: Vec<FlowSpec>) -> RunSpec {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts, link: link(100, Time::us(1)) });
    let mut run = param(spec(topology, "sird", flows, Time::ms(50)), "bdp", ParamValue::Int(100_000));
    run.fabric.buffer = Buffer { data: Limit::Packets(10_000), control: Limit::Packets(10_000) };
    run
}

fn finish(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done, "flow {flow}");
    out.flows[flow].finish.expect("done")
}

/// A full frame on a link; the way of control, and of a full frame, from host to host.
const FRAME: Time = Time(123_040);
const CONTROL: Time = Time(2_013_440);
const DATA: Time = Time(2_246_080);

#[test]
fn a_lone_message_takes_the_time_that_its_kind_takes() {
    for packets in [1, 35, 65] {
        let out = outcome(&run_of(2, vec![flow(0, 1, packets * 1460, Time::ZERO)]));
        assert_eq!(finish(&out, 0), DATA + FRAME * (packets - 1), "{packets} packets at once");
    }
    // 66 packets are more than 100,000 bytes on the wire.
    for packets in [66, 100, 1000] {
        let out = outcome(&run_of(2, vec![flow(0, 1, packets * 1460, Time::ZERO)]));
        assert_eq!(
            finish(&out, 0),
            CONTROL * 2 + DATA + FRAME * (packets - 1),
            "{packets} packets ask first"
        );
    }
}

#[test]
fn two_long_messages_to_one_receiver_go_one_after_the_other() {
    let flows = vec![flow(0, 2, 1_000_000, Time::ZERO), flow(1, 2, 2_000_000, Time::ZERO)];
    let out = outcome(&run_of(3, flows));
    let (first, second) = (finish(&out, 0), finish(&out, 1));
    let alone = |packets: u64| CONTROL * 2 + DATA + FRAME * (packets - 1);
    // 1 MB are 685 packets.
    assert!(first < alone(685) + FRAME * 3, "the shorter one as if alone: {first}");
    assert!(second < alone(685 + 1370) + FRAME * 3, "and no gap before the other: {second}");
}

/// SIRD §4.2: many messages of one sender leave its credit where it can be used.
#[test]
fn a_congested_sender_does_not_hold_the_credit_of_its_receivers() {
    // Host 0 sends to four receivers. The last of these, which gets an eighth of its link, has another sender as well.
    let took = |threshold: f64| {
        let mut flows: Vec<FlowSpec> = (1..5).map(|dst| flow(0, dst, 20_000_000, Time::ZERO)).collect();
        flows.push(flow(5, 4, 20_000_000, Time::us(400)));
        // The round trip holds 53,000 bytes of credit.
        let mut run = run_of(6, flows);
        run.transports[0].params = vec![
            ("bdp".into(), ParamValue::Int(53_000)),
            ("sender_threshold".into(), ParamValue::Float(threshold)),
            ("policy".into(), ParamValue::Choice("round-robin".into())),
        ];
        let out = outcome(&run);
        finish(&out, 4) - Time::us(400)
    };
    // All in turn, because the shorter message would get credit first. 13,699 packets alone take 1.69 ms. Without the bit csn, two thirds of the credit lie at host 0.
    let alone = CONTROL * 2 + DATA + FRAME * 13_698;
    let (told, untold) = (took(0.5), took(1000.0));
    assert!(told < Time(alone.0 * 5 / 4), "{told}, alone {alone}");
    assert!(untold > Time(told.0 * 5 / 4), "{untold} without the bit, {told} with it");
}

#[test]
fn scheduled_traffic_leaves_no_queue_beyond_the_credit_that_is_too_much() {
    let flows = (0..15).map(|src| flow(src, 15, 1_000_000, Time::ZERO)).collect();
    let out = outcome(&run_of(16, flows));
    let port = out.links.iter().find(|l| l.name == "s0->h15").expect("the port to the receiver");
    // 150,000 bytes of credit, of which the round trip holds 53,000.
    assert!(port.counters.queue_max_bytes <= 150_000 - 53_000 + 1538, "{}", port.counters.queue_max_bytes);
    assert_eq!(out.links.iter().map(|l| l.counters.dropped.iter().sum::<u64>()).sum::<u64>(), 0);
    let last = (0..15).map(|flow| finish(&out, flow)).max().expect("flows");
    assert!(last < CONTROL * 2 + DATA + FRAME * (685 * 15 + 40), "the link is busy throughout: {last}");
}
