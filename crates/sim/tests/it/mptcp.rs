//! MPTCP and its couplings on whole networks, against the reference's numbers.

use crate::common;

use common::{flow, link, link_series, mean, outcome, param, sampled, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::{Dumbbell, Graph, LeafSpine};
use headway_network::{
    Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, LinkSpec, Metric, Outcome, Routing, RunSpec,
    TopologySpec, TransportSpec,
};
use headway_packet::{PacketKind, Sizes};
use headway_params::ParamValue;
use headway_units::{Rate, Time};

const BOTTLENECK: &str = "s0->s1";
const COUPLED: [&str; 3] = ["mptcp-lia", "mptcp-olia", "mptcp-balia"];
const FOREVER: u64 = 1 << 40;

fn word(w: &str) -> ParamValue {
    ParamValue::Choice(w.into())
}

fn mbps(n: u64) -> Rate {
    Rate::new(n * 1_000_000).expect("a rate")
}

/// Frames as ns-2 counts them.
fn frames() -> Sizes {
    Sizes { payload: 1460, header: 40, framing: 0, control: 40 }
}

fn with_second(mut run: RunSpec, transport: &str) -> RunSpec {
    run.transports.push(TransportSpec::new(transport, Vec::new()));
    run
}

/// The flow runs over the second transport.
fn second(mut flow: FlowSpec) -> FlowSpec {
    flow.transport = 1;
    flow
}

/// A message and a TCP connection through one link with a round trip of 300 us, which loses packets by chance, or
/// because `buffer` packets wait.
fn shared(transport: &str, rate: Rate, loss: f64, buffer: u32, stop: Time) -> RunSpec {
    let access = LinkSpec { rate: Rate::gbps(10), delay: Time::us(20) };
    let bottleneck = LinkSpec { rate, delay: Time::ns(108_100) };
    let topology = TopologySpec::Dumbbell(Dumbbell { senders: 2, receivers: 2, access, bottleneck });
    let flows = vec![flow(0, 2, FOREVER, Time::ZERO), second(flow(1, 3, FOREVER, Time::us(137)))];
    let mut run = with_second(spec(topology, transport, flows, stop), "tcp");
    run.fabric.sizes = frames();
    // The packet on the wire is one of `buffer`.
    run.fabric.buffer = Buffer { data: Limit::Packets(buffer - 1), control: Limit::Packets(1000) };
    let what = Fault::Random { loss, duplicate: 0.0, reorder: 0.0, reorder_by: Time::ZERO };
    let links = LinkChoice::Some(vec![BOTTLENECK.into()]);
    if loss > 0.0 {
        run.faults = vec![FaultSpec { links, kind: Some(PacketKind::Data), what }];
    }
    run
}

/// Share of the first flow in what both have delivered.
fn share(out: &Outcome) -> f64 {
    let [ours, theirs] = [0, 1].map(|i| out.flows[i].delivered as f64);
    ours / (ours + theirs)
}

/// Reference: 52, 50, 51 % and uncoupled 66 %; windows of 14.3, 13.3, 14.0 and 25.7 next to a TCP's 13.1 at a loss of
/// 1 %, with windows that are real numbers and without time-outs. Whole packets and time-outs cost two small windows
/// more than one of twice the size: over six seeds of 4 s, 50.1, 47.9, 49.0 and 66.6 %. With a loss of 0.2 % both cost
/// little: 51.6, 49.3, 50.1 and 66.6 %.
#[test]
#[ignore = "seconds of a full link, again and again: make test-long"]
fn coupled_subflows_take_one_share_under_random_loss_and_uncoupled_ones_two() {
    let expected = [("mptcp-lia", 0.52), ("mptcp-olia", 0.50), ("mptcp-balia", 0.51), ("mptcp-reno", 0.66)];
    for (loss, near) in [(0.01, 0.025), (0.002, 0.02)] {
        for (transport, expected) in expected {
            let out = under_loss(transport, loss, Time::s(3));
            assert!((share(&out) - expected).abs() < near, "{transport}, {loss}: {}", share(&out));
        }
    }
}

/// A message next to a TCP connection, both with a time-out of at least 1 ms.
fn under_loss(transport: &str, loss: f64, stop: Time) -> Outcome {
    let mut run = shared(transport, Rate::gbps(10), loss, 2500, stop);
    let quick = ("min_rto".to_string(), ParamValue::Time(Time::ms(1)));
    run.transports.iter_mut().for_each(|transport| transport.params.push(quick.clone()));
    let out = outcome(&run);
    let rounds = stop.as_secs_f64() / 300e-6;
    let [ours, theirs] = [0, 1].map(|i| out.flows[i].delivered as f64 / 1460.0 / rounds);
    println!("{transport}, loss {loss}: share {:.3}, windows {ours:.1} and {theirs:.1}", share(&out));
    out
}

/// Reference: 54 to 58 %, and uncoupled 66 %, with 100 packets at 1 Gb/s.
#[test]
#[ignore = "seconds of a full link, again and again: make test-long"]
fn coupled_subflows_take_little_more_than_one_share_of_a_full_buffer() {
    for (transport, least, most) in [
        ("mptcp-lia", 0.45, 0.60),
        ("mptcp-olia", 0.45, 0.60),
        ("mptcp-balia", 0.45, 0.60),
        ("mptcp-reno", 0.62, 0.72),
    ] {
        let run = shared(transport, Rate::gbps(1), 0.0, 100, Time::s(3));
        let regular = share(&outcome(&run));
        let run = jittered(run, Time::us(12));
        let jittered = over_seeds(&run, |run| share(&outcome(run)));
        println!("{transport}: share {regular:.3}, with jitter {jittered:.3}");
        assert!([regular, jittered].iter().all(|share| (least..most).contains(share)), "{transport}");
    }
}

/// Two racks, two spines; the first host of each rack for MPTCP, the others for TCP. One link from leaf to spine is
/// a path's bottleneck.
fn two_paths(transport: &str, rate: Rate, flows: Vec<FlowSpec>, stop: Time) -> RunSpec {
    let (host, spine) = (link(10, Time::us(20)), LinkSpec { rate, delay: Time::us(52) });
    let topology = TopologySpec::LeafSpine(LeafSpine { racks: 2, hosts_per_rack: 9, spines: 2, host, spine });
    let mut run = with_second(spec(topology, transport, flows, stop), "tcp");
    run.fabric.routing = Routing::Pinned;
    run.fabric.sizes = frames();
    run.fabric.buffer = Buffer { data: Limit::Packets(99), control: Limit::Packets(1000) };
    param(run, "path_manager", word("full-mesh"))
}

/// The mean over four seeds: one run of a few seconds is one of several.
fn over_seeds(run: &RunSpec, measure: impl Fn(&RunSpec) -> f64) -> f64 {
    (1..=4).map(|seed| measure(&RunSpec { seed, ..run.clone() })).sum::<f64>() / 4.0
}

/// Half of all acknowledgements come a packet's time later: without that, packets arrive at a full queue just when one
/// has left it, and a slowly growing flow loses nothing.
fn jittered(mut run: RunSpec, packet: Time) -> RunSpec {
    let what = Fault::Random { loss: 0.0, duplicate: 0.0, reorder: 0.5, reorder_by: packet };
    run.faults.push(FaultSpec { links: LinkChoice::All, kind: Some(PacketKind::Ack), what });
    run
}

/// A flow from the first rack to the second, whose first subflow takes this path.
fn on(path: u32, host: u32, bytes: u64) -> FlowSpec {
    FlowSpec { path: Some(path), ..flow(host, 9 + host, bytes, Time::ZERO) }
}

fn rate_of(out: &Outcome, flow: usize, stop: Time) -> f64 {
    out.flows[flow].delivered as f64 * 8.0 / stop.as_secs_f64()
}

#[test]
fn two_free_paths_are_filled() {
    let stop = Time::ms(200);
    for transport in ["mptcp-reno", "mptcp-cubic", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas"] {
        for scheduler in ["min-rtt", "round-robin"] {
            let run = two_paths(transport, Rate::gbps(1), vec![on(0, 0, FOREVER)], stop);
            let out = outcome(&param(run, "scheduler", word(scheduler)));
            // Payload of two paths of 1 Gb/s.
            let whole = 2e9 * 1460.0 / 1500.0;
            let part = rate_of(&out, 0, stop) / whole;
            println!("{transport}, {scheduler}: {part:.3} of both paths");
            assert!(part > 0.95, "{transport}, {scheduler}: {part}");
        }
    }
}

/// Payload of the message's subflows on each path, without that of the TCP connections.
fn by_path(out: &Outcome, tcp: &[u64; 2], stop: Time) -> [f64; 2] {
    [0, 1].map(|path| {
        let name = format!("leaf0->spine{path}");
        let found = out.links.iter().find(|l| l.name == name).expect("a link of that name");
        (found.counters.payload_bytes - tcp[path]) as f64 * 8.0 / stop.as_secs_f64()
    })
}

/// Four TCP connections on path 0, none on path 1: the part of path 0 that the message takes in addition to all of path
/// 1, in Mb/s.
#[test]
#[ignore = "seconds of a full link, again and again: make test-long"]
fn coupled_subflows_move_off_a_congested_path() {
    let stop = Time::s(4);
    let taken = |transport: &str| {
        let mut flows = vec![on(0, 0, FOREVER)];
        flows.extend((1..5).map(|host| second(on(0, host, FOREVER))));
        let run = jittered(two_paths(transport, mbps(200), flows, stop), Time::us(60));
        let congested = over_seeds(&run, |run| {
            let out = outcome(run);
            let tcp = (1..5).map(|i| out.flows[i].delivered).sum();
            let [congested, free] = by_path(&out, &[tcp, 0], stop).map(|bps| bps / 1e6);
            assert!(free > 185.0, "{transport}: {free}");
            congested
        });
        println!("{transport}: {congested:.1} Mb/s of the congested path");
        congested
    };
    let [olia, reno, wvegas] = ["mptcp-olia", "mptcp-reno", "mptcp-wvegas"].map(taken);
    let others = ["mptcp-lia", "mptcp-balia"].map(taken);
    // Five equal connections would have 39 each.
    assert!(olia < 14.0 && wvegas < 14.0 && reno > 35.0, "{olia}, {wvegas} and {reno}");
    assert!(others.iter().all(|&mbps| olia < mbps && mbps < 20.0), "{others:?}");
}

/// One TCP connection on each path: coupled subflows keep both paths. Ten seconds, as in the reference.
#[test]
fn equal_paths_are_both_kept() {
    let stop = Time::s(10);
    for transport in COUPLED {
        let flows = vec![on(0, 0, FOREVER), second(on(0, 1, FOREVER)), second(on(1, 2, FOREVER))];
        let run = two_paths(transport, mbps(50), flows, stop);
        let out = outcome(&jittered(run, Time::us(240)));
        let [a, b] = by_path(&out, &[1, 2].map(|i| out.flows[i].delivered), stop);
        let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
        println!("{transport}: {:.1} and {:.1} Mb/s, Jain {jain:.3}", a / 1e6, b / 1e6);
        assert!(jain > 0.8, "{transport}: {a} and {b}");
    }
}

/// Loses everything on a link from packet `from` on.
fn dies(name: &str, from: u64) -> FaultSpec {
    // Far more packets than the message has.
    let what = Fault::DropNth((from..from + 10_000).collect());
    FaultSpec { links: LinkChoice::Some(vec![name.into()]), kind: None, what }
}

/// Data that was under way on the path arrives a time-out and a round trip of the other path later; the path itself is
/// never repaired.
#[test]
fn a_message_survives_a_path_that_dies() {
    let stop = Time::s(5);
    for transport in ["mptcp-reno", "mptcp-cubic", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas"] {
        for (path, from) in [(0, 200), (1, 150), (0, 1)] {
            let mut run = two_paths(transport, Rate::gbps(1), vec![on(0, 0, 3_000_000)], stop);
            let whole = finish(&outcome(&run), 0);
            run.faults = vec![dies(&format!("leaf0->spine{path}"), from)];
            let out = outcome(&run);
            if from == 1 {
                // The first subflow never came to be, and no other path was announced.
                assert_eq!((out.flows[0].state, out.flows[0].delivered), (FlowState::Unfinished, 0));
                continue;
            }
            let later = finish(&out, 0) - whole;
            println!("{transport}: path {path} dies, {later} later than {whole}");
            // The time-out of 10 ms runs from the last acknowledgement; then half of the message has to leave by
            // one path instead of two.
            assert!(later < Time::ms(10) + Time::ms(13), "{transport}: {later}");
        }
    }
}

fn finish(out: &Outcome, number: usize) -> Time {
    assert_eq!(out.flows[number].state, FlowState::Done, "{:?}", out.warnings);
    out.flows[number].finish.expect("done")
}

/// 100 Mb/s with a round trip of 1 ms, and with one of 100 ms.
fn fast_and_slow(set: &[(&str, ParamValue)], stop: Time) -> RunSpec {
    let link = |rate, delay| LinkSpec { rate, delay };
    let (wide, narrow) = (Rate::gbps(1), mbps(100));
    let links = vec![
        (0, 2, link(wide, Time::us(10))),
        (1, 3, link(wide, Time::us(10))),
        (2, 4, link(narrow, Time::us(240))),
        (4, 3, link(wide, Time::us(240))),
        (2, 5, link(narrow, Time::ms(25))),
        (5, 3, link(wide, Time::ms(25))),
    ];
    let topology = TopologySpec::Graph(Graph { hosts: 2, switches: 4, links, back: Vec::new() });
    let flows = vec![FlowSpec { path: Some(0), ..flow(0, 1, FOREVER, Time::ZERO) }];
    let mut run = spec(topology, "mptcp-lia", flows, stop);
    run.fabric.routing = Routing::Pinned;
    run.fabric.buffer = Buffer { data: Limit::Packets(30), control: Limit::Packets(1000) };
    let all = [("preset", word("linux-4.19")), ("path_manager", word("full-mesh"))];
    all.iter().chain(set).fold(run, |run, (name, value)| param(run, name, value.clone()))
}

/// Reference: more than 0.8 of the rate of the fast path alone. Each packet that the slow path holds up costs a round trip
/// of the fast one, so with some windows the rate is lower.
#[test]
fn a_slow_path_does_not_stop_a_fast_one_where_the_receive_window_is_small() {
    let stop = Time::s(6);
    for (window, part) in [(256, 0.8), (64, 0.7)] {
        let rate = |set: &[(&str, ParamValue)]| {
            let window = [("receive_window", ParamValue::Int(window))];
            let out = outcome(&fast_and_slow(&[&window, set].concat(), stop));
            rate_of(&out, 0, stop) / 1e6
        };
        let single = rate(&[("subflows", ParamValue::Int(1))]);
        let (with, without) = (rate(&[]), rate(&[("opportunistic", ParamValue::Bool(false))]));
        println!(
            "window {window}: fast path alone {single:.1} Mb/s; both {with:.1}, unoptimised {without:.1}"
        );
        assert!(single > 90.0 && with > part * single && without < 0.6 * single);
    }
}

#[test]
fn twenty_bytes_take_two_round_trips_with_any_number_of_subflows() {
    let time = |subflows| {
        let run = two_paths("mptcp-lia", Rate::gbps(1), vec![on(0, 0, 20)], Time::s(1));
        let run = param(run, "preset", word("linux-4.19"));
        finish(&outcome(&param(run, "subflows", ParamValue::Int(subflows))), 0)
    };
    // The SYN and its answer over four links, then 60 bytes one way.
    let wire = |bytes: u64| Rate::gbps(10).time_of(bytes) * 2 + Rate::gbps(1).time_of(bytes) * 2;
    let expected = Time::us(2 * 20 + 2 * 52) * 3 + wire(40) * 2 + wire(60);
    assert_eq!((time(1), time(2), time(8)), (expected, expected, expected));
}

/// Reference: 4 to 10 packets of both subflows together in the queue of one bottleneck. What each wants is compared in
/// whole packets, so that it may hold one more.
#[test]
fn wvegas_holds_a_few_packets_in_the_queue() {
    let mut run = shared("mptcp-wvegas", Rate::gbps(1), 0.0, 250, Time::s(2));
    run.flows.truncate(1);
    let out = outcome(&sampled(run, Time::ms(1)));
    let queue = link_series(&out, BOTTLENECK, Metric::QueueBytes);
    let late: Vec<f64> = queue.iter().filter(|(t, _)| *t > Time::s(1)).map(|(_, b)| b / 1500.0).collect();
    let waiting = late.iter().sum::<f64>() / late.len() as f64;
    let most = late.iter().copied().fold(0.0, f64::max);
    let busy = mean(&link_series(&out, BOTTLENECK, Metric::Utilisation), Time::s(1), Time::s(2));
    println!("wvegas: {waiting:.1} packets wait, {most:.0} at most, {busy:.3} busy");
    assert!((4.0..=12.0).contains(&waiting) && most <= 14.0 && busy > 0.99, "{waiting}, {most}, {busy}");
    let mut run = shared("mptcp-wvegas", Rate::gbps(1), 0.0, 250, Time::s(2));
    run.transports[1].name = "cubic".into();
    let share = share(&outcome(&run));
    println!("wvegas beside CUBIC: {share:.3}");
    assert!(share < 0.1, "what goes by delay gives way to what goes by loss: {share}");
}

#[test]
fn linux_parameters_run_every_coupling_to_the_end() {
    for name in ["mptcp-reno", "mptcp-cubic", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas"] {
        let flows = (0..8).map(|i| FlowSpec { path: None, ..on(0, i, 300_000 + 40_000 * u64::from(i)) });
        let run = two_paths(name, Rate::gbps(1), flows.collect(), Time::s(20));
        let out = outcome(&param(param(run, "preset", word("linux-4.19")), "subflows", ParamValue::Int(4)));
        assert!(out.flows.iter().all(|f| f.state == FlowState::Done), "{name}: {:?}", out.warnings);
    }
}
