//! TCP and its ECN-driven relatives on a whole network, against published and computed values.

use crate::common;

use common::{flow, link_series, mean, outcome, param, sampled, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::Dumbbell;
use headway_network::{
    Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, LinkSpec, Metric, Outcome, RunSpec, TopologySpec,
};
use headway_packet::{PacketKind, Sizes};
use headway_params::ParamValue;
use headway_units::{Rate, Time};

const BOTTLENECK: &str = "s0->s1";

fn word(w: &str) -> ParamValue {
    ParamValue::Choice(w.into())
}

/// The reference's path: `senders` hosts, a bottleneck of 1 Gb/s that holds 25 packets of 1500 B in 300 us,
/// and frames without framing, as ns-2 counts them. Buffer 250 packets, the one on the wire included.
fn reference(transport: &str, senders: u32, flows: Vec<FlowSpec>, stop: Time) -> RunSpec {
    let access = LinkSpec { rate: Rate::gbps(10), delay: Time::us(20) };
    // 12 + 3 x 1.2 us of serialisation forward, 0.5 us back; the rest is propagation.
    let bottleneck = LinkSpec { rate: Rate::gbps(1), delay: Time::ns(102_800) };
    let topology = TopologySpec::Dumbbell(Dumbbell { senders, receivers: 1, access, bottleneck });
    let mut spec = spec(topology, transport, flows, stop);
    spec.fabric.sizes = Sizes { payload: 1460, header: 40, framing: 0, control: 40 };
    spec.fabric.buffer = Buffer { data: Limit::Packets(249), control: Limit::Packets(1000) };
    spec
}

/// Long messages from hosts 0.. to the host behind the bottleneck, all at once.
fn long(senders: u32, bytes: u64) -> Vec<FlowSpec> {
    (0..senders).map(|src| flow(src, senders, bytes, Time::ZERO)).collect()
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.links.iter().map(|l| l.counters.drops()).sum()
}

fn finish(outcome: &Outcome, number: usize) -> Time {
    assert_eq!(outcome.flows[number].state, FlowState::Done, "{:?}", outcome.warnings);
    outcome.flows[number].finish.expect("done")
}

/// Utilisation of the bottleneck between two times.
fn utilisation(outcome: &Outcome, from: Time, to: Time) -> f64 {
    mean(&link_series(outcome, BOTTLENECK, Metric::Utilisation), from, to)
}

/// Packets waiting at the bottleneck, the one on the wire included, at each sample between two times.
fn queue(outcome: &Outcome, metric: Metric, from: Time, to: Time) -> Vec<u32> {
    let series = link_series(outcome, BOTTLENECK, metric);
    let inside = series.iter().filter(|(t, _)| *t > from && *t <= to);
    inside.map(|(_, bytes)| (bytes / 1500.0) as u32 + 1).collect()
}

fn bounds(values: &[u32]) -> (u32, u32) {
    let (least, most) = (values.iter().min(), values.iter().max());
    (*least.expect("samples"), *most.expect("samples"))
}

#[test]
fn a_short_message_takes_what_slow_start_takes() {
    // 62 packets: windows of 2, 4, 8, 16 and 32, each begun by the first acknowledgement of the one before.
    let out = outcome(&reference("tcp", 1, long(1, 62 * 1460), Time::s(1)));
    let took = finish(&out, 0).as_secs_f64() * 1e6;
    let one_way = 20.0 + 102.8 + 20.0 + 1.2 + 12.0 + 1.2;
    let rtt = one_way + 142.8 + 2.0 * 0.032 + 0.32;
    let expected = 4.0 * rtt + one_way + 31.0 * 12.0;
    assert!((took - expected).abs() < 2.0, "{took} us, not {expected}");
    assert_eq!(out.flows[0].retransmitted.expect("counted"), 0);
}

#[test]
fn a_handshake_costs_a_round_trip() {
    let plain = reference("tcp", 1, long(1, 1460), Time::s(1));
    let shaken = param(plain.clone(), "handshake", ParamValue::Bool(true));
    let more = finish(&outcome(&shaken), 0) - finish(&outcome(&plain), 0);
    // Two control packets over three hops.
    assert_eq!(more, Time::ns(2 * 142_800 + 2 * (2 * 32 + 320)));
}

/// Queue at the bottleneck from `from` on, and its utilisation, of one long message.
fn sawtooth(transport: &str, from: Time, to: Time) -> (u32, u32) {
    let out = outcome(&sampled(reference(transport, 1, long(1, 1 << 40), to), Time::ms(1)));
    assert!(utilisation(&out, from, to) > 0.9999, "{transport}: the link is never idle");
    let (least, most) = bounds(&queue(&out, Metric::QueueBytes, from, to));
    println!("{transport}: queue {least}..{most}");
    (least, most)
}

#[test]
fn newreno_swings_between_112_and_250_packets() {
    let (least, most) = sawtooth("tcp", Time::ms(600), Time::ms(1800));
    // A half of 275 packets on the path and in the queue, less the 25 of the path.
    assert!((108..=116).contains(&least) && (247..=250).contains(&most), "{least}..{most}");
}

#[test]
fn cubic_in_a_datacenter_swings_between_167_and_250_packets() {
    let (least, most) = sawtooth("cubic", Time::ms(600), Time::ms(1800));
    // 0.7 of 275 packets, less the 25 of the path.
    assert!((162..=172).contains(&least) && (247..=250).contains(&most), "{least}..{most}");
}

#[test]
fn vegas_holds_alpha_to_beta_packets() {
    let (least, most) = sawtooth("vegas", Time::ms(200), Time::ms(500));
    assert!(least >= 2 && most <= 5, "2 to 4 wait and one is on the wire: {least}..{most}");
}

#[test]
fn bbr_fills_the_link_and_queues_only_while_it_probes() {
    let stop = Time::ms(800);
    let out = outcome(&sampled(reference("bbr", 1, long(1, 1 << 40), stop), Time::ms(1)));
    let (from, share) = (Time::ms(50), utilisation(&out, Time::ms(50), stop));
    println!("bbr: utilisation {share:.4}");
    assert!(share > 0.96 && share < 1.0, "{share}");
    let (_, most) = bounds(&queue(&out, Metric::QueueMaxBytes, from, stop));
    assert!(most <= 8, "a quarter of 25 packets, and the one on the wire: {most}");
    assert_eq!(drops(&out), 0);
}

/// Two long messages of BBR v3 or v1 and a shallow buffer: utilisation, the share of packets that is lost, the smaller's share
/// of what both got, and the longest queue.
fn two_that_probe(name: &str, discipline: &str, ecn: Option<bool>, buffer: u32) -> (f64, f64, f64, u32) {
    let (from, stop) = (Time::ms(200), Time::ms(1200));
    let mut spec = sampled(reference(name, 2, long(2, 1 << 40), stop), Time::ms(1));
    spec.fabric.discipline = discipline.into();
    spec.fabric.buffer.data = Limit::Packets(buffer);
    let spec = match ecn {
        Some(ecn) => param(spec, "ecn", ParamValue::Bool(ecn)),
        None => spec,
    };
    let out = outcome(&spec);
    let got: Vec<f64> = out.flows.iter().map(|flow| flow.delivered as f64).collect();
    let packets = got.iter().sum::<f64>() / 1460.0;
    let smaller = got[0].min(got[1]) / (got[0] + got[1]);
    let most = bounds(&queue(&out, Metric::QueueMaxBytes, from, stop)).1;
    let found = (utilisation(&out, from, stop), drops(&out) as f64 / packets, smaller, most);
    println!("{name}, {discipline}, {ecn:?}, buffer {buffer}: {found:?}");
    found
}

#[test]
fn bbr3_loses_little_where_bbr_loses_much_and_shares() {
    for buffer in [8, 20] {
        let (_, lost, ..) = two_that_probe("bbr", "drop-tail", None, buffer);
        let (used, lost3, smaller, _) = two_that_probe("bbr3", "drop-tail", Some(false), buffer);
        // Version 1 pays no heed to losses; version 3 stops a probe at 2 %.
        assert!(lost > 0.08 && lost3 < 0.02, "{lost} {lost3}");
        assert!(used > 0.99 && smaller > 0.45, "{used} {smaller}");
    }
    let (blind, .., deep) = two_that_probe("bbr3", "ecn-threshold", Some(false), 250);
    let (used, lost, _, most) = two_that_probe("bbr3", "ecn-threshold", Some(true), 250);
    assert!(
        used > 0.99 && blind > 0.99 && lost == 0.0 && most < deep,
        "marks shorten the queue: {most} {deep}"
    );
}

#[test]
fn synchronised_dctcp_peaks_at_k_plus_n_packets() {
    // The rule knows no smallest window. With one of 2 packets, 40 messages have 80 on their way, of which the
    // path holds 25.
    for (n, min_window, most) in [(1, 2, 21), (2, 2, 22), (10, 2, 30), (40, 1, 60), (40, 2, 56)] {
        let (from, stop) = (Time::ms(100), Time::ms(300));
        let spec = reference("dctcp", n, long(n, 1 << 40), stop);
        let spec = param(spec, "min_window", ParamValue::Int(min_window));
        let out = outcome(&sampled(spec, Time::ms(1)));
        let peak = bounds(&queue(&out, Metric::QueueMaxBytes, from, stop)).1;
        println!("N = {n}: peak {peak}");
        assert_eq!((n, min_window, peak), (n, min_window, most));
        assert!(utilisation(&out, from, stop) > 0.9999, "N = {n}");
        assert_eq!(drops(&out), 0);
    }
}

#[test]
fn a_threshold_below_a_seventh_of_the_path_starves_the_link() {
    let spec = reference("dctcp", 1, long(1, 1 << 40), Time::ms(300));
    let mut low = sampled(spec, Time::ms(1));
    // A seventh of the path is 3.6 packets.
    low.fabric.params.push(("threshold".into(), ParamValue::Int(2)));
    assert!(utilisation(&outcome(&low), Time::ms(100), Time::ms(300)) < 0.995);
}

/// Twelve messages into one port, with marks and drops.
fn incast(transport: &str) -> RunSpec {
    let flows = (0..12).map(|i| flow(i, 12, 300_000 + 40_000 * u64::from(i), Time::us(10 * u64::from(i))));
    let mut spec = reference(transport, 12, flows.collect(), Time::s(10));
    spec.fabric.buffer.data = Limit::Packets(30);
    spec
}

#[test]
fn weights_of_processor_sharing_and_no_deadlines_are_dctcp_packet_for_packet() {
    let dctcp = outcome(&incast("dctcp"));
    assert!(
        drops(&dctcp) > 0 && dctcp.flows.iter().all(|f| f.marks.expect("counted") > 0),
        "marks and drops"
    );
    let ps = outcome(&param(incast("l2dct"), "weights", word("ps")));
    let d2tcp = outcome(&incast("d2tcp"));
    for same in [&ps, &d2tcp] {
        assert_eq!((same.digest, same.events), (dctcp.digest, dctcp.events));
        assert_eq!((&same.flows, &same.links), (&dctcp.flows, &dctcp.links));
    }
    let las = outcome(&incast("l2dct"));
    assert_ne!(las.digest, dctcp.digest, "other weights are not");
}

#[test]
fn a_deadline_makes_a_message_faster() {
    let shares = |deadline: Option<Time>| {
        let mut flows = long(2, 1 << 40);
        flows[0].deadline = deadline;
        let out = outcome(&reference("d2tcp", 2, flows, Time::ms(500)));
        out.flows[0].delivered as f64 / (out.flows[0].delivered + out.flows[1].delivered) as f64
    };
    assert!((shares(None) - 0.5).abs() < 0.02);
    // It can never be met: urgency 2 against 1. The reference's model has 60 %.
    let urgent = shares(Some(Time::s(5)));
    println!("urgent: {urgent:.3}");
    assert!((0.55..0.66).contains(&urgent), "{urgent}");
}

#[test]
fn windows_follow_the_square_root_of_random_loss() {
    let stop = Time::s(3);
    let mut spec = reference("tcp", 1, long(1, 1 << 40), stop);
    let what = Fault::Random { loss: 0.01, duplicate: 0.0, reorder: 0.0, reorder_by: Time::ZERO };
    let links = LinkChoice::Some(vec![BOTTLENECK.into()]);
    spec.faults = vec![FaultSpec { links, kind: Some(PacketKind::Data), what }];
    let out = outcome(&spec);
    // The base round trip is 300.4 us.
    let rounds = stop.as_secs_f64() / 300.4e-6;
    let window = out.flows[0].delivered as f64 / 1460.0 / rounds;
    // sqrt(3 / (2 p)) is 12.2; the reference's model has 13.1.
    println!("mean window at 1 % loss: {window:.2}");
    assert!((11.0..13.8).contains(&window), "{window}");
}

#[test]
fn queues_of_fixed_weights_are_those_of_the_reference_model() {
    for (n, weight, increase, lows, most) in [
        (1, 1.0, 1.0, 15..=17, 21),
        (1, 0.5, 0.2, 15..=17, 21),
        (1, 0.5, 1.0, 12..=14, 21),
        (1, 2.5, 1.0, 18..=20, 21),
        (2, 1.0, 1.0, 14..=16, 22),
        (2, 0.5, 0.2, 14..=16, 22),
        (2, 0.5, 1.0, 11..=13, 22),
        // A cycle is longer than alpha remembers: a short one is followed by a deep cut, and that by a long
        // one. The deepest is 11 and 10 in the reference's model, 8.6 and 7.8 in closed form.
        (1, 0.125, 0.05, 7..=12, 21),
        (2, 0.125, 0.05, 7..=11, 22),
    ] {
        let (from, stop) = (Time::ms(300), Time::ms(700));
        let mut spec = param(reference("l2dct", n, long(n, 1 << 40), stop), "weights", word("fixed"));
        spec = param(spec, "weight", ParamValue::Float(weight));
        spec = param(spec, "increase", ParamValue::Float(increase));
        let out = outcome(&sampled(spec, Time::us(100)));
        let low = bounds(&queue(&out, Metric::QueueBytes, from, stop)).0;
        let high = bounds(&queue(&out, Metric::QueueMaxBytes, from, stop)).1;
        println!("N {n}, w {weight}, k {increase}: queue {low}..{high}");
        let near = lows.contains(&low) && high.abs_diff(most) <= 1;
        assert!(near, "N {n}, w {weight}, k {increase}: {low}..{high}, not {lows:?}..{most}");
    }
}

/// Share of the first of two long messages with these weights, over a second.
fn share_of(weights: [f64; 2], min_window: u64) -> f64 {
    let mut flows = vec![flow(0, 2, 1 << 40, Time::ZERO), flow(1, 3, 1 << 40, Time::ZERO)];
    flows[1].transport = 1;
    let mut spec = reference("l2dct", 2, flows, Time::s(1));
    if let TopologySpec::Dumbbell(Dumbbell { receivers, .. }) = &mut spec.topology {
        *receivers = 2;
    }
    let transport = |weight: f64| {
        let mut transport = spec.transports[0].clone();
        let set = [("weights", word("fixed")), ("min_window", ParamValue::Int(min_window))];
        transport.params.extend(set.map(|(name, value)| (name.to_string(), value)));
        transport.params.push(("weight".into(), ParamValue::Float(weight)));
        transport
    };
    spec.transports = weights.map(transport).to_vec();
    let out = outcome(&spec);
    let [first, second] = [0, 1].map(|i| out.flows[i].delivered as f64);
    first / (first + second)
}

#[test]
fn weights_share_the_link_as_the_reference_model_says() {
    for (weights, min_window, share) in [
        ([1.0, 1.0], 1, 0.50),
        ([1.0, 2.5], 1, 0.05),
        ([0.5, 1.0], 1, 0.12),
        ([0.125, 2.5], 1, 0.02),
        ([0.125, 2.5], 2, 0.04),
    ] {
        let measured = share_of(weights, min_window);
        println!("{weights:?}, at least {min_window}: {measured:.3}");
        assert!((measured - share).abs() < 0.02, "{weights:?}, at least {min_window}: {measured}");
    }
}

#[test]
fn an_old_message_fills_the_link_alone_and_makes_room_for_a_young_one() {
    let mut flows = long(2, 1 << 40);
    flows[1] = flow(1, 2, 1 << 40, Time::ms(200));
    let spec = param(reference("l2dct", 2, flows, Time::ms(400)), "young", ParamValue::Int(15_000_000));
    let out = outcome(&sampled(param(spec, "old", ParamValue::Int(20_000_000)), Time::ms(1)));
    assert!(utilisation(&out, Time::ms(50), Time::ms(400)) > 0.999);
    let young = out.flows[1].delivered as f64 / (0.2 * 1e9 / 8.0);
    assert!(young > 0.5, "the young message has {young} of the link from its start");
}

#[test]
fn short_messages_are_faster_with_l2dct_than_with_dctcp_and_tcp() {
    let mean_fct = |transport: &str| {
        let mut flows = long(2, 1 << 40);
        flows.iter_mut().for_each(|f| f.dst = 22);
        flows.extend(
            (0..60u32).map(|i| flow(2 + i % 20, 22, 50_000, Time::us(20_000 + 2_000 * u64::from(i)))),
        );
        let out = outcome(&reference(transport, 22, flows, Time::ms(400)));
        let short = &out.flows[2..];
        assert!(short.iter().all(|f| f.state == FlowState::Done), "{transport}");
        let starts = (0..60u64).map(|i| Time::us(20_000 + 2_000 * i));
        short.iter().zip(starts).map(|(f, s)| (f.finish.expect("done") - s).as_secs_f64()).sum::<f64>() / 60.0
    };
    let (l2dct, dctcp, tcp) = (mean_fct("l2dct"), mean_fct("dctcp"), mean_fct("tcp"));
    println!("mean completion: l2dct {l2dct:.6} s, dctcp {dctcp:.6} s, tcp {tcp:.6} s");
    assert!(l2dct < dctcp && dctcp < tcp, "{l2dct} {dctcp} {tcp}");
}

#[test]
fn linux_parameters_run_every_controller_to_the_end() {
    for name in ["tcp", "dctcp", "d2tcp", "l2dct", "cubic", "vegas", "bbr", "bbr3"] {
        let spec = param(incast(name), "preset", word("linux-4.19"));
        let out = outcome(&spec);
        assert!(out.flows.iter().all(|f| f.state == FlowState::Done), "{name}: {:?}", out.warnings);
    }
}
