//! Homa and Homa with Aeolus in networks: exact times, bounds of overcommitment, losses and their repair.

use crate::common;

use common::{flow, link, link_series, mean, outcome, param, sampled, spec};
use headway_fabric::{Buffer, DropReason, Limit};
use headway_network::topology::SingleSwitch;
use headway_network::{Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, LinkRecord, Metric};
use headway_network::{Outcome, RunSpec, TopologySpec};
use headway_params::ParamValue;
use headway_units::{Rate, Time};

const BOTH: [&str; 2] = ["homa", "homa-aeolus"];

/// Hosts around a switch, 10 Gb/s and 5 us a link: a round trip of 2 x (1.2304 + 0.0672) + 20 us, 19 packets.
fn star(hosts: u32) -> TopologySpec {
    TopologySpec::SingleSwitch(SingleSwitch { hosts, link: link(10, Time::us(5)) })
}

/// Packets of a bandwidth-delay product there, and their wire bytes.
const BDP: u64 = 19;
const FRAME: u64 = 1538;

fn run_of(transport: &str, hosts: u32, flows: Vec<FlowSpec>) -> RunSpec {
    let mut run = spec(star(hosts), transport, flows, Time::ms(50));
    run.fabric.buffer = Buffer { data: Limit::Packets(1000), control: Limit::Packets(1000) };
    run
}

fn finish(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done, "flow {flow}");
    out.flows[flow].finish.expect("done")
}

fn port<'a>(out: &'a Outcome, name: &str) -> &'a LinkRecord {
    out.links.iter().find(|l| l.name == name).expect("a link of that name")
}

fn dropped(out: &Outcome, reason: DropReason) -> u64 {
    out.links.iter().map(|l| l.counters.dropped[reason as usize]).sum()
}

/// Time of `bytes` alone from host to host: all packets on one link, the first on the other, two delays.
fn alone(bytes: u64) -> Time {
    let sizes = headway_packet::Sizes::default();
    let first = sizes.data_wire(sizes.payload_of(bytes, 0)).into();
    let rate = Rate::gbps(10);
    rate.time_of(sizes.message_wire(bytes)) + rate.time_of(first) + Time::us(10)
}

#[test]
fn a_lone_message_takes_the_ideal_time_whatever_its_size() {
    // Not longer than RTTbytes, just longer, and much longer: no bubble, because RTTbytes fill the round trip.
    for transport in BOTH {
        for packets in [1, 7, BDP, BDP + 1, 3 * BDP, 1000] {
            let bytes = packets * 1460 - 60;
            let out = outcome(&run_of(transport, 2, vec![flow(0, 1, bytes, Time::ZERO)]));
            // The probe takes 84 bytes of the wire behind the first window, and delays what follows.
            let probe = match transport {
                "homa-aeolus" if packets > BDP => Rate::gbps(10).time_of(84),
                _ => Time::ZERO,
            };
            let (took, ideal) = (finish(&out, 0), alone(bytes));
            assert!(took >= ideal && took <= ideal + probe, "{transport}, {packets}: {took}, ideal {ideal}");
            assert_eq!(out.flows[0].retransmitted.expect("counted"), 0);
            if packets <= BDP {
                let back = port(&out, "s0->h0").counters.received;
                let answers = if transport == "homa" { 1 } else { packets + 2 };
                assert!(back <= answers, "{transport}: {back} packets back, so some are grants");
            }
        }
    }
}

#[test]
fn a_window_below_the_round_trip_stalls_once_for_the_difference() {
    // One stall a window: the reference's "RTT - unscheduled / rate once" holds with grants for each arrival.
    let bytes = 100 * 1460;
    let short = param(
        run_of("homa", 2, vec![flow(0, 1, bytes, Time::ZERO)]),
        "rtt_bytes",
        ParamValue::Int(10 * 1460),
    );
    let slot = Time(1_230_400);
    let rtt = Time::us(20) + slot * 2 + Time(67_200) * 2;
    // Between ten windows of ten packets.
    let rounds = 9;
    let stall = rtt - slot * 10;
    assert_eq!(finish(&outcome(&short), 0), alone(bytes) + stall * rounds, "ten packets a round trip");
    let mut first = vec![flow(0, 1, bytes, Time::ZERO)];
    first[0].initial_window.window = Some(10);
    let out = outcome(&run_of("homa", 2, first));
    let late = finish(&out, 0) - alone(bytes);
    assert!(late <= stall + Time(67_200 * 2), "a short first window alone stalls once: {late}, {stall}");
}

#[test]
fn with_two_messages_the_shorter_finishes_as_if_alone_and_the_downlink_never_idles() {
    let flows = || vec![flow(1, 0, 3_000_000, Time::ZERO), flow(2, 0, 1_500_000, Time::us(300))];
    for degree in [1, 2] {
        let out = outcome(&sampled(
            param(run_of("homa", 3, flows()), "overcommit", ParamValue::Int(degree)),
            Time::us(100),
        ));
        let (long, short) = (finish(&out, 0), finish(&out, 1) - Time::us(300));
        // Packets that were granted to the long one wait in a class of their own, or in the same one.
        let lag = if degree == 1 { Time(1_230_400) * (BDP + 1) } else { Time(1_230_400) * 2 };
        assert!(short <= alone(1_500_000) + lag, "degree {degree}: {short}");
        let busy = link_series(&out, "s0->h0", Metric::Utilisation);
        let all = Time(1_230_400) * (4_500_000 / 1460 + 2) + Time::us(12);
        let idle = if degree == 1 { Time::us(25) } else { Time::us(2) };
        assert!(long <= all + idle, "degree {degree}: the last byte after {long}, {all} of work");
        assert!(mean(&busy, Time::us(100), Time::ms(3)) > 0.99);
    }
}

#[test]
fn granted_bytes_stand_at_the_downlink_up_to_the_degree_of_overcommitment_less_one_window() {
    // Six long messages, between the end of their unscheduled packets and the last grant of the first. When a
    // message is granted in full and the next takes its place, one window more stands for a while.
    for degree in [1, 2, 4] {
        let flows = (1..=6).map(|i| flow(i, 0, 3_000_000 + 1460 * u64::from(i), Time::ZERO)).collect();
        let run = param(run_of("homa", 7, flows), "overcommit", ParamValue::Int(degree));
        let out = outcome(&sampled(run, Time::us(50)));
        let queue: Vec<f64> = link_series(&out, "s0->h0", Metric::QueueMaxBytes)
            .into_iter()
            .filter(|(at, _)| *at > Time::us(500) && *at <= Time::ms(2))
            .map(|(_, bytes)| bytes)
            .collect();
        let most = queue.iter().copied().fold(0.0, f64::max);
        let bound = ((degree - 1) * BDP * FRAME) as f64;
        println!("degree {degree}: {most} B waited, bound {bound} B");
        // And a packet or two of a message that was among the first while first windows arrived.
        assert!(most <= bound + 6.0 * FRAME as f64, "degree {degree}: {most} B, bound {bound}");
        assert!(most >= 0.85 * bound, "degree {degree}: {most} B, bound {bound}");
        assert_eq!(dropped(&out, DropReason::BufferFull), 0);
    }
}

#[test]
fn a_sender_with_two_grants_serves_the_shorter_and_overcommitment_fills_the_other_downlink() {
    // Host 0 turns to a shorter message for host 1; host 2 also waits for a longer one of host 3.
    let flows = || {
        vec![
            flow(0, 1, 2_000_000, Time::us(50)),
            flow(0, 2, 2_500_000, Time::ZERO),
            flow(3, 2, 3_500_000, Time::ZERO),
        ]
    };
    let at = |degree: u64| {
        let run = param(run_of("homa", 4, flows()), "overcommit", ParamValue::Int(degree));
        let out = outcome(&sampled(run, Time::us(100)));
        let downlink = link_series(&out, "s0->h2", Metric::Utilisation);
        assert!(finish(&out, 0) <= alone(2_000_000) + Time::us(55), "the shorter is served as if alone");
        mean(&downlink, Time::us(400), Time::us(1500))
    };
    let (one, two) = (at(1), at(2));
    println!("downlink of the receiver that waits: {one:.3} with one grant, {two:.3} with two");
    assert!(one < 0.3 && two > 0.99, "{one}, {two}");
}

#[test]
fn what_is_on_its_way_is_not_asked_for_however_much_was_permitted() {
    // 685 packets at 10 Gb/s are 0.84 ms, and the time-out is 0.23 ms with buffers of 128 packets: a receiver that may not
    // have got them all by then must not ask. Repeated packets would be on the wire of the message.
    let permitted: [&[(&str, u64)]; 4] = [
        &[],
        &[("unscheduled_bytes", 2_000_000)],
        &[("rtt_bytes", 500_000)],
        &[("rtt_bytes", 2_000_000), ("unscheduled_bytes", 14_600)],
    ];
    for settings in permitted {
        let run = |bytes: u64| {
            let mut run = run_of("homa", 2, vec![flow(0, 1, bytes, Time::ZERO)]);
            run.fabric.buffer = Buffer { data: Limit::Packets(128), control: Limit::Packets(128) };
            settings.iter().fold(run, |run, (key, value)| param(run, key, ParamValue::Int(*value)))
        };
        let out = outcome(&run(1_000_000));
        let waits = match settings {
            // Ten packets at once are half of a round trip's: the wire is idle until the first grant comes.
            [_, ("unscheduled_bytes", _)] => Time::us(23),
            _ => Time::ZERO,
        };
        let took = finish(&out, 0);
        assert!(took >= alone(1_000_000) && took <= alone(1_000_000) + waits, "{settings:?}: {took}");
        // No packet but those of the message went its way: no answer to a request.
        let carried = port(&out, "h0->s0").counters.dequeued;
        assert_eq!(carried, 685, "{settings:?}");
        // A lost packet is requested all the same, when the time-out is over and all permitted packets have left.
        let mut lossy = run(1_000_000);
        let links = LinkChoice::Some(vec!["h0->s0".into()]);
        lossy.faults = vec![FaultSpec { links, kind: None, what: Fault::DropNth(vec![30]) }];
        let late = finish(&outcome(&lossy), 0);
        assert!(late > took && late < alone(1_000_000) * 2 + Time::ms(1), "{settings:?}: {late}");
    }
}

#[test]
fn an_incast_of_first_windows_is_repaired_after_a_finite_buffer() {
    // 40 windows of 19 packets meet 128 places.
    let flows = || (1..=40).map(|i| flow(i, 0, 60_000, Time::ZERO)).collect::<Vec<_>>();
    for transport in BOTH {
        let mut run = run_of(transport, 41, flows());
        run.fabric.buffer.data = Limit::Packets(128);
        let out = outcome(&run);
        // 60 kB are 42 packets.
        let work = Rate::gbps(10).time_of(40 * 42 * FRAME);
        let last = (0..40).map(|i| finish(&out, i)).max().expect("flows");
        let losses = (dropped(&out, DropReason::BufferFull), dropped(&out, DropReason::Unscheduled));
        println!("{transport}: last after {last}, {work} of work, {losses:?} lost");
        match transport {
            "homa" => {
                assert!(losses.0 > 500 && losses.1 == 0, "{losses:?}");
                assert!(last < work * 2, "{last}");
            }
            _ => {
                assert!(losses.0 == 0 && losses.1 > 600, "scheduled packets are protected: {losses:?}");
                // Aeolus, Check C: what is lost comes back in the second round trip, without a time-out.
                assert!(last < work + Time::us(60), "{last}");
            }
        }
    }
}

#[test]
fn a_newcomers_first_window_does_not_delay_a_saturated_aeolus_message_by_more_than_the_threshold() {
    // Aeolus, Check A: one message of which all is scheduled, then a newcomer from another host.
    let alone_at = |flows: Vec<FlowSpec>| {
        let run = param(run_of("homa-aeolus", 3, flows), "overcommit", ParamValue::Int(1));
        outcome(&run)
    };
    let long = flow(1, 0, 2_000_000, Time::ZERO);
    let late = flow(2, 0, 40_000_000, Time::us(800));
    let (before, after) = (alone_at(vec![long]), alone_at(vec![long, late]));
    let delay = finish(&after, 0) - finish(&before, 0);
    let slot = Time(1_230_400);
    println!("delayed by {delay}, {} dropped", dropped(&after, DropReason::Unscheduled));
    assert_eq!(after.flows[0].retransmitted.expect("counted"), 0);
    assert!(delay <= slot * 6, "four that wait, one on the wire and one for the switch: {delay}");
    assert!(dropped(&after, DropReason::Unscheduled) >= BDP - 6);
}

#[test]
fn two_newcomers_together_are_admitted_a_window_and_a_threshold() {
    // Aeolus, Check C, and B: the window of one alone is admitted as a whole.
    let flows = |n: u32| (1..=n).map(|i| flow(i, 0, BDP * 1460, Time::ZERO)).collect::<Vec<_>>();
    let one = outcome(&run_of("homa-aeolus", 3, flows(1)));
    assert_eq!(dropped(&one, DropReason::Unscheduled), 0);
    let two = outcome(&run_of("homa-aeolus", 3, flows(2)));
    let admitted = 2 * BDP - dropped(&two, DropReason::Unscheduled);
    assert!((BDP + 3..=BDP + 6).contains(&admitted), "{admitted} of {}", 2 * BDP);
    let rtt = Time::us(23);
    let last = finish(&two, 0).max(finish(&two, 1));
    assert!(last <= alone(BDP * 1460) + rtt * 2, "recovered in the second round trip: {last}");
}

#[test]
fn priorities_let_a_short_message_pass_long_ones() {
    // Six long messages fill the downlink; a short one passes them in a higher class, and does not without.
    let mut flows: Vec<FlowSpec> = (1..=6).map(|i| flow(i, 0, 3_000_000, Time::ZERO)).collect();
    flows.push(flow(7, 0, 1000, Time::ms(3)));
    let at = |levels: u64| {
        let run = param(run_of("homa", 8, flows.clone()), "priorities", ParamValue::Int(levels));
        let run = param(run, "overcommit", ParamValue::Int(4));
        finish(&outcome(&run), 6) - Time::ms(3)
    };
    let (eight, one) = (at(8), at(1));
    println!("{eight} with eight priorities, {one} with one, {} alone", alone(1000));
    assert!(eight <= alone(1000) + Time(1_230_400) * 2);
    assert!(one > alone(1000) + Time(1_230_400) * (BDP / 2));
}
