//! ProactMP on networks: the checks of the paper's equations and figures that have known answers.
//!
//! The network is the paper's testbed: hosts at 1 Gb/s, two cores, 2 us of propagation in a round trip.

use crate::common;

use common::{flow, link_series, mean, outcome, param, sampled, spec};
use headway_fabric::Limit;
use headway_network::topology::{Graph, LeafSpine};
use headway_network::{
    Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, LinkSpec, Metric, Outcome, Routing, RunSpec,
    TopologySpec,
};
use headway_params::ParamValue;
use headway_units::{Rate, Time};

const FRAME: u64 = 1538;
const OWD_BYTES: u64 = 2920;
/// The receiver of most tests, in the rack opposite to hosts 0 to 9.
const CLIENT: u32 = 10;

/// The paper's testbed with ten hosts in each of two racks, and cores of this many Gb/s.
fn testbed(core: u64, flows: Vec<FlowSpec>, stop: Time) -> RunSpec {
    // A round trip has eight links.
    let delay = Time(250_000);
    let host = LinkSpec { rate: Rate::gbps(1), delay };
    let spine = LinkSpec { rate: Rate::gbps(core), delay };
    let topology =
        TopologySpec::LeafSpine(LeafSpine { racks: 2, hosts_per_rack: 10, spines: 2, host, spine });
    let mut run = spec(topology, "proactmp", flows, stop);
    run.fabric.routing = Routing::Pinned;
    run.fabric.buffer.data = Limit::Packets(250);
    run
}

fn incast(senders: u32, bytes: u64) -> Vec<FlowSpec> {
    (0..senders).map(|i| FlowSpec { path: Some(i), ..flow(i, CLIENT, bytes, Time::ZERO) }).collect()
}

fn one(bytes: u64) -> Vec<FlowSpec> {
    vec![FlowSpec { path: Some(0), ..flow(0, CLIENT, bytes, Time::ZERO) }]
}

fn word(run: RunSpec, name: &str, word: &str) -> RunSpec {
    param(run, name, ParamValue::Choice(word.into()))
}

fn finish(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done, "flow {flow}");
    out.flows[flow].finish.expect("done")
}

fn last(out: &Outcome) -> Time {
    (0..out.flows.len()).map(|flow| finish(out, flow)).max().expect("flows")
}

fn gauge(out: &Outcome, host: u32, name: &str) -> (u64, u64) {
    let found = out.host_gauges[host as usize].iter().find(|g| g.name == name).expect("a gauge");
    (found.value, found.max)
}

fn queue_max(out: &Outcome, name: &str) -> u64 {
    out.links.iter().find(|l| l.name == name).expect("the link").counters.queue_max_bytes
}

/// Every flow whole, every byte counted once, and all credit back.
#[track_caller]
fn assert_whole(run: &RunSpec, out: &Outcome) {
    for (spec, flow) in run.flows.iter().zip(&out.flows) {
        assert_eq!((flow.state, flow.delivered), (FlowState::Done, spec.bytes), "{spec:?}");
    }
    for host in 0..20 {
        assert_eq!(gauge(out, host, "outstanding_credit_bytes").0, 0, "credit of host {host}");
    }
}

/// §9.4.5: a megabyte alone at 98 % of what the downlink carries, with no queue in the network.
#[test]
fn a_lone_megabyte_fills_the_downlink() {
    let run = testbed(6, one(1_000_000), Time::s(1));
    let out = outcome(&run);
    assert_whole(&run, &out);
    let took = finish(&out, 0).0 as f64 / 1e12;
    let rate = 8e6 / took;
    let carried = 1e9 * 1460.0 / FRAME as f64;
    println!("{rate:.0} b/s, {:.4} of {carried:.0}", rate / carried);
    assert!(rate >= 0.98 * carried);
    assert_eq!(out.flows[0].retransmitted.expect("counted"), 0);
    assert!(queue_max(&out, "leaf1->h10") <= FRAME, "{}", queue_max(&out, "leaf1->h10"));
}

/// §9.4.4: OWDbytes leave in one round; up to about three of them need one round trip more.
#[test]
fn rounds_of_short_messages() {
    let alone = |bytes| finish(&outcome(&testbed(6, one(bytes), Time::s(1))), 0);
    let ideal = |bytes: u64| {
        let run = testbed(6, one(bytes), Time::s(1));
        headway_network::Network::build(&run.topology, &run.fabric)
            .expect("a network")
            .ideal_fct(0, CLIENT, bytes)
    };
    for bytes in [1, 20, 1460, OWD_BYTES] {
        assert_eq!(alone(bytes), ideal(bytes), "{bytes} bytes: no waiting for credit");
    }
    let rtt = Time(32_281_334);
    for bytes in [OWD_BYTES + 1460, 2 * OWD_BYTES, 3 * OWD_BYTES] {
        let wait = alone(bytes) - ideal(bytes);
        println!("{bytes} bytes: {wait}");
        assert!(wait > Time::ZERO && wait <= rtt, "{bytes} bytes wait {wait} for credit");
    }
}

/// §9.4.3: the bound on outstanding credit, reached to the byte, and all of it back at the end.
#[test]
fn outstanding_credit_reaches_its_bound_and_comes_back() {
    for (clamp, bound) in [(false, 3 * OWD_BYTES), (true, 2 * OWD_BYTES)] {
        for senders in [1, 10] {
            let run = testbed(6, incast(senders, 1_000_000), Time::s(2));
            let run = param(run, "clamp", ParamValue::Bool(clamp));
            let out = outcome(&run);
            assert_whole(&run, &out);
            let most = gauge(&out, CLIENT, "outstanding_credit_bytes").1;
            let all = f64::from(senders) * 8e6 / (last(&out).0 as f64 / 1e12) / 1e6;
            println!("clamp {clamp}, {senders} senders: {most} B at most, {all:.1} Mb/s");
            assert_eq!(most, bound, "clamp {clamp}, {senders} senders");
        }
    }
}

/// §9.4.7: the unscheduled bytes of ten senders queue, and then hardly anything does.
#[test]
fn an_incast_queues_its_first_packets_and_little_more() {
    let run = sampled(testbed(6, incast(10, 1_000_000), Time::s(2)), Time::us(100));
    let out = outcome(&run);
    assert_whole(&run, &out);
    let downlink = "leaf1->h10";
    let peak = queue_max(&out, downlink);
    let later: f64 = link_series(&out, downlink, Metric::QueueMaxBytes)
        .iter()
        .filter(|(at, _)| *at > Time::ms(1) && *at < Time::ms(80))
        .map(|(_, bytes)| *bytes)
        .fold(0.0, f64::max);
    let busy = mean(&link_series(&out, downlink, Metric::Utilisation), Time::ms(1), Time::ms(80));
    println!("peak {peak} B, later {later} B, busy {busy:.4}");
    assert!((10 * FRAME..=20 * FRAME).contains(&peak), "{peak}");
    assert!(later <= (3 * OWD_BYTES + 10 * FRAME) as f64, "{later}");
    assert!(busy > 0.99, "{busy}");
    assert!(
        out.flows.iter().all(|f| f.retransmitted.expect("counted") == 0),
        "withheld senders are not asked again"
    );
    let asked: u64 = out.links.iter().map(|l| l.counters.drops()).sum();
    assert_eq!(asked, 0);
}

/// Two cores of 1 Gb/s, a server and a client at 1 Gb/s, and a source of `load` Mb/s that ignores all feedback, on core
/// 0 in the middle third.
fn migration(third: Time, load: u64) -> RunSpec {
    let link =
        |mbps: u64| LinkSpec { rate: Rate::new(mbps * 1_000_000).expect("a rate"), delay: Time(250_000) };
    let fast = link(1000);
    let topology = TopologySpec::Graph(Graph {
        hosts: 4,
        switches: 4,
        links: vec![
            (0, 4, fast),
            (1, 4, link(load)),
            (2, 5, fast),
            (3, 5, fast),
            (4, 6, fast),
            (4, 7, fast),
            (6, 5, fast),
            (7, 5, fast),
        ],
        back: Vec::new(),
    });
    // As many bytes as 1 Gb/s carries in all three parts.
    let long = third.0 / 1000 * 3 / 8;
    let packets = (third.0 / 1000 * load / 1000 / 8 / FRAME) as u32;
    let mut source = flow(1, 3, u64::from(packets) * 1460, third);
    source.initial_window.window = Some(packets);
    (source.responsive, source.transport) = (false, 1);
    let flows = vec![flow(0, 2, long, Time::ZERO), source].into_iter();
    let flows = flows.map(|f| FlowSpec { path: Some(0), ..f }).collect();
    let mut run = spec(topology, "proactmp", flows, third * 3);
    run.transports.push(headway_network::TransportSpec::new("amrt", Vec::new()));
    run.fabric.routing = Routing::Pinned;
    run.fabric.buffer.data = Limit::Packets(250);
    sampled(run, Time(third.0 / 10))
}

/// The message's payload on both cores in Mb/s before, during and after the load.
fn split(run: &RunSpec, third: Time, load: u64) -> [[f64; 2]; 3] {
    let out = outcome(run);
    let at = |part: u64| {
        // Without the time in which the shares still change.
        let (from, to) = (third * part + Time(third.0 / 5), third * (part + 1));
        let goodput = |name: &str| {
            let series = link_series(&out, name, Metric::Utilisation);
            mean(&series, from, to) * 1000.0 * 1460.0 / FRAME as f64
        };
        let other = if part == 1 { load as f64 * 1460.0 / FRAME as f64 } else { 0.0 };
        [goodput("s2->s1") - other, goodput("s3->s1")]
    };
    [at(0), at(1), at(2)]
}

/// §9.4.6 and Fig. 10: equal paths share evenly; a core that is half taken gives way, and comes back.
#[test]
fn load_moves_away_from_a_congested_core_and_returns() {
    let third = Time::ms(200);
    let carried = 1000.0 * 1460.0 / FRAME as f64;
    for (weights, cap, load) in [
        ("saturating", true, 500),
        ("saturating", false, 500),
        ("saturating", true, 800),
        ("saturating", false, 800),
        ("seed", true, 500),
        ("seed", false, 500),
        ("window", false, 500),
    ] {
        let run = param(word(migration(third, load), "weights", weights), "cap", ParamValue::Bool(cap));
        let parts = split(&run, third, load);
        println!("{weights}, cap {cap}, {load} Mb/s: {parts:.0?} of {carried:.0} Mb/s");
        if weights != "saturating" {
            continue;
        }
        for (part, [one, two]) in parts.iter().enumerate() {
            // A subflow that may have OWDbytes in flight carries little more than half of the line.
            let room = if load == 500 || part != 1 { 0.97 } else { [0.97, 0.75][usize::from(cap)] };
            assert!(one + two > room * carried, "part {part}: {one} + {two}");
        }
        let [before, during, after] = parts.map(|[one, two]| one / (one + two));
        assert!((before - 0.5).abs() < 0.05 && (after - 0.5).abs() < 0.05, "{before} {after}");
        assert!(during <= before + 0.01 && (load == 500 || during < 0.27), "{during}");
    }
}

fn black_hole(links: &[&str], from: Time) -> FaultSpec {
    let links = LinkChoice::Some(links.iter().map(|name| (*name).into()).collect());
    FaultSpec { links, kind: None, what: Fault::Blackhole { from, until: Time::MAX } }
}

/// §9.4.10: a core loses every packet; its bytes move, for one time-out at most, and no credit is lost.
#[test]
fn a_core_that_loses_all_costs_at_most_one_timeout_and_no_byte() {
    // T_out is the drain of full buffers on the path here: the network says how long that is.
    let clean = testbed(6, one(1_000_000), Time::s(2));
    let network = headway_network::Network::build(&clean.topology, &clean.fabric).expect("a network");
    let (path, usual) = (network.path(0, CLIENT), finish(&outcome(&clean), 0));
    let timeout = path.max_rtt.max(path.base_rtt * 8);
    let spine = |n: u32| {
        [
            format!("leaf0->spine{n}"),
            format!("spine{n}->leaf1"),
            format!("leaf1->spine{n}"),
            format!("spine{n}->leaf0"),
        ]
    };
    for core in [0, 1] {
        for at in [0, 20, 200, 1000, 4000, 8200, 8600] {
            let mut run = clean.clone();
            let names = spine(core);
            run.faults = vec![black_hole(&names.each_ref().map(String::as_str), Time::us(at))];
            let out = outcome(&run);
            assert_whole(&run, &out);
            let late = finish(&out, 0).saturating_sub(usual);
            println!("core {core} lost at {at} us: {late} later, T_out {timeout}");
            // The first packets: the receiver, or the sender that knows no other path, waits as well.
            assert!(late <= timeout + path.base_rtt * 4, "core {core} at {at} us: {late}, T_out {timeout}");
        }
    }
}

/// §9.4.8: one lost packet of any kind costs a time-out at most, and nothing is delivered twice.
#[test]
fn any_one_lost_packet_costs_at_most_a_timeout() {
    use headway_packet::PacketKind::{Data, Finished, Grant, Probe, Pull, Rts};
    for request in [false, true] {
        let clean = param(testbed(6, one(100_000), Time::s(2)), "request", ParamValue::Bool(request));
        let usual = finish(&outcome(&clean), 0);
        let network = headway_network::Network::build(&clean.topology, &clean.fabric).expect("a network");
        let path = network.path(0, CLIENT);
        let bound = path.max_rtt.max(path.base_rtt * 8) + path.base_rtt * 4;
        for (kind, on, numbers) in [
            (Data, "h0->leaf0", [1, 2, 40, 69]),
            (Grant, "h10->leaf1", [1, 2, 40, 68]),
            (Finished, "h10->leaf1", [1; 4]),
            (Pull, "h10->leaf1", [1 + u64::from(request); 4]),
            (Pull, "h10->leaf1", [1; 4]),
            (Rts, "h0->leaf0", [1; 4]),
            (Probe, "h0->leaf0", [1; 4]),
        ] {
            for number in numbers {
                let links = LinkChoice::Some(vec![on.into()]);
                let mut run = clean.clone();
                run.faults = vec![FaultSpec { links, kind: Some(kind), what: Fault::DropNth(vec![number]) }];
                let out = outcome(&run);
                assert_whole(&run, &out);
                let lost: u64 = out.links.iter().map(|l| l.faults.dropped()).sum();
                assert!(lost == 1 || (kind == Probe && !request), "{kind:?} {number}: {lost} lost");
                let late = finish(&out, 0).saturating_sub(usual);
                assert!(late <= bound, "request {request}, {kind:?} {number}: {late} later");
            }
        }
    }
}

/// §9.4.9: whatever OWDbytes, and however many messages and paths, everything arrives.
#[test]
fn everything_arrives_whatever_the_credit() {
    for owd in [125, 1460, 2000, 14_600] {
        for (senders, subflows) in [(1, 1), (1, 4), (4, 2), (10, 1), (10, 4)] {
            for loss in [0.0, 0.02] {
                let mut run = testbed(6, incast(senders, 60_000), Time::s(20));
                run.faults = vec![FaultSpec {
                    links: LinkChoice::All,
                    kind: None,
                    what: Fault::Random { loss, duplicate: loss, reorder: 0.0, reorder_by: Time::ZERO },
                }];
                let run = param(run, "owd_bytes", ParamValue::Int(owd));
                let run = param(run, "subflows", ParamValue::Int(subflows));
                let run = word(run, "path_manager", "ndiffports");
                assert_whole(&run, &outcome(&run));
            }
        }
    }
}

/// §9.4.11: where Pro_Capable is missing, a message is what one with a single subflow is.
#[test]
fn without_the_option_a_message_has_one_path() {
    let at = |name: &str, value: ParamValue| {
        let run = param(testbed(6, incast(4, 300_000), Time::s(1)), name, value);
        let out = outcome(&run);
        let sent: Vec<_> = out.links.iter().map(|l| (l.counters.received, l.counters.wire_bytes)).collect();
        ((0..4).map(|flow| finish(&out, flow)).collect::<Vec<_>>(), sent)
    };
    let fallback = at("capable", ParamValue::Bool(false));
    assert_eq!(fallback, at("subflows", ParamValue::Int(1)));
    assert_ne!(fallback, at("subflows", ParamValue::Int(2)));
}

/// The paper's numbers as they stand, with payloads of 125 bytes: bounds hold, the line is far from full.
#[test]
fn the_seed_keeps_its_bounds_and_does_not_fill_the_line() {
    let mut run = testbed(6, one(100_000), Time::s(1));
    run.fabric.sizes.payload = 125;
    let run = word(run, "preset", "seed");
    let out = outcome(&run);
    assert_whole(&run, &out);
    let (_, most) = gauge(&out, CLIENT, "outstanding_credit_bytes");
    let rate = 8e5 / (finish(&out, 0).0 as f64 / 1e12) / 1e6;
    println!("seed: {rate:.0} Mb/s, {most} B outstanding at most");
    // Three times 125 B.
    assert!(most <= 375, "{most}");
    assert!(rate > 100.0 && rate < 616.0, "{rate}");
}

/// The order of waiting messages: in turn they end together, the shortest first they end in order of size.
#[test]
fn the_order_of_waiting_messages_is_a_choice() {
    let ends = |order: &str| {
        let flows = (0..4).map(|i| flow(i, CLIENT, 200_000 * (1 + u64::from(i)), Time::ZERO)).collect();
        let out = outcome(&word(testbed(6, flows, Time::s(1)), "order", order));
        (0..4).map(|flow| finish(&out, flow)).collect::<Vec<_>>()
    };
    let (fifo, rr, srpt) = (ends("fifo"), ends("rr"), ends("srpt"));
    println!("fifo {fifo:?}\nrr {rr:?}\nsrpt {srpt:?}");
    assert!(srpt[0] < rr[0] / 2 && srpt[0] < fifo[0] / 2, "the shortest does not wait for the others");
    assert!(srpt[3] < rr[3] + Time::ms(1), "the last byte comes when it comes");
}

/// A receiver with a full buffer grants one message after the other, and all arrive.
#[test]
fn a_full_buffer_is_never_exceeded_by_more_than_what_is_on_its_way() {
    let run = testbed(6, incast(10, 100_000), Time::s(2));
    let run = param(run, "buffer", ParamValue::Int(150_000));
    let out = outcome(&run);
    assert_whole(&run, &out);
    let held = gauge(&out, CLIENT, "held_bytes").1;
    let free = gauge(&outcome(&testbed(6, incast(10, 100_000), Time::s(2))), CLIENT, "held_bytes").1;
    println!("{held} B held of 150000, {free} B without a limit");
    // The oldest message goes on beyond the limit, by its own size at most.
    assert!(held <= 250_000 && free > 500_000, "{held} {free}");
}
