//! dcPIM in networks: exact times of messages alone, and the effect of matching on several.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::SingleSwitch;
use headway_network::{FlowSpec, FlowState, Outcome, RunSpec, TopologySpec};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::{Rate, Time};

/// Hosts around a switch, 100 Gb/s and 1 us a link: 35 packets of bandwidth-delay product.
fn run_of(hosts: u32, flows: Vec<FlowSpec>) -> RunSpec {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts, link: link(100, Time::us(1)) });
    let mut run = spec(topology, "dcpim", flows, Time::ms(50));
    // Nothing is lost: the matching alone decides.
    run.fabric.buffer = Buffer { data: Limit::Packets(10_000), control: Limit::Packets(10_000) };
    run
}

fn finish(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done, "flow {flow}");
    out.flows[flow].finish.expect("done")
}

/// A full frame on a link; the ways of control and of a full frame from host to host; a round, and an epoch of four.
const FRAME: Time = Time(123_040);
const CONTROL: Time = Time(2_013_440);
const DATA: Time = Time(2_246_080);
// 1.3 (`beta`) round trips of control.
const ROUND: Time = Time(5_234_944);
const EPOCH: Time = Time(20_939_776);

#[test]
fn a_short_message_leaves_behind_its_announcement() {
    let notice = Rate::gbps(100).time_of(Sizes::default().control.into());
    for packets in [1, 10, 35] {
        let out = outcome(&run_of(2, vec![flow(0, 1, packets * 1460, Time::ZERO)]));
        assert_eq!(finish(&out, 0), notice + DATA + FRAME * (packets - 1), "{packets} packets");
    }
}

#[test]
fn by_the_usual_rules_a_long_message_waits_for_an_epoch_and_a_round() {
    for start in [Time::ZERO, Time::us(7), Time::us(18)] {
        let announced = start + CONTROL;
        let epoch = Time(announced.0.div_ceil(EPOCH.0) * EPOCH.0);
        // 200 packets need all four channels, 36 packets need one of 42 packets.
        for (packets, gap) in [(200, FRAME), (36, FRAME * 4)] {
            let run = run_of(2, vec![flow(0, 1, packets * 1460, start)]);
            let out = outcome(&param(run, "rules", ParamValue::Choice("usual".into())));
            let ideal = epoch + ROUND + CONTROL + DATA + gap * (packets - 1);
            let took = finish(&out, 0);
            // A token may meet a request of the next epoch on the wire of the receiver.
            assert!(took >= ideal && took <= ideal + FRAME, "{packets} from {start}: {took}, ideal {ideal}");
        }
    }
}

#[test]
fn a_receiver_takes_part_from_the_next_round_on() {
    // Within an epoch: before its second round, and before its fourth.
    for start in [Time::us(1), Time::us(7), Time::us(12)] {
        let round = Time((start + CONTROL).0.div_ceil(ROUND.0) * ROUND.0);
        let run = run_of(2, vec![flow(0, 1, 36 * 1460, start)]);
        let took = finish(&outcome(&run), 0);
        // One channel; its match starts again with the data phase, up to a gap early, and tokens meet requests on the
        // wire.
        let gap = FRAME * 4;
        let ideal = round + ROUND + CONTROL + DATA + gap * 35;
        assert!(took + gap >= ideal && took <= ideal + gap, "from {start}: {took}, ideal {ideal}");
    }
}

#[test]
fn two_senders_are_matched_one_after_the_other_by_size() {
    // Announced before an epoch begins: only its first round goes by size.
    let start = EPOCH - Time::us(3);
    let flows = vec![flow(0, 2, 300 * 1460, start), flow(1, 2, 150 * 1460, start)];
    let out = outcome(&run_of(3, flows));
    let alone = EPOCH + ROUND + CONTROL + DATA + FRAME * 149;
    assert!(finish(&out, 1) <= alone + FRAME * 2, "the smaller one as if alone: {}", finish(&out, 1));
    assert!(finish(&out, 0) > finish(&out, 1));
}

#[test]
fn a_permutation_is_matched_in_the_first_round() {
    let flows = (0..8).map(|src| flow(src, (src + 3) % 8, 1_000 * 1460, Time::ZERO)).collect();
    let out = outcome(&run_of(8, flows));
    // Each host sends a token for each packet that it receives, and its last packets need two channels of four.
    let token = Rate::gbps(100).time_of(Sizes::default().control.into());
    let ideal = EPOCH + ROUND + CONTROL + DATA + (FRAME + token) * 999;
    for host in 0..8 {
        let took = finish(&out, host);
        assert!(took <= ideal + EPOCH, "host {host}: {took}, ideal {ideal}");
        assert_eq!(out.flows[host].retransmitted, Some(0), "host {host}: no token was too old");
    }
}

#[test]
fn a_receiver_of_many_is_not_overrun() {
    let flows = (0..15).map(|src| flow(src, 15, 1_000_000, Time::ZERO)).collect();
    let out = outcome(&run_of(16, flows));
    let port = out.links.iter().find(|l| l.name == "s0->h15").expect("the port to the receiver");
    // Tokens leave at the rate of the link: what stands in front of it is what crossed the ends of phases.
    assert!(port.counters.queue_max_bytes <= 35 * 1538, "{}", port.counters.queue_max_bytes);
    assert!((0..15).all(|flow| finish(&out, flow) < Time::ms(2)));
}
