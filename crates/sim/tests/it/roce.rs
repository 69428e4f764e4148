//! RoCE around one switch, as HPCC's simulator has it: exact times of lone messages, and what incasts put into the queue.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::{Dumbbell, SingleSwitch};
use headway_network::{FlowSpec, FlowState, HostCosts, Outcome, RunSpec, TopologySpec, Until};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_sim::{Around, run_within};
use headway_units::{Rate, Time};

const LINE: Rate = Rate::gbps(100);

/// Bytes of a packet in addition to its payload, and of an answer, without telemetry: what HPCC's simulator has for
/// each of them.
fn sizes(transport: &str) -> (Sizes, u16) {
    let (header, control, telemetry) = match transport {
        "timely" => (56, 60, 0),
        "hpcc" | "powertcp" => (48, 46, 42),
        _ => (48, 60, 0),
    };
    (Sizes { payload: 1000, header, framing: 0, control }, telemetry)
}

/// Sixteen hosts around a switch that never drops, at 100 Gb/s and 1 us a link, with HPCC's base round trip of 4160 ns.
fn star(transport: &str, flows: Vec<FlowSpec>) -> RunSpec {
    let links = link(100, Time::us(1));
    let mut run = spec(
        TopologySpec::SingleSwitch(SingleSwitch { hosts: 16, link: links }),
        transport,
        flows,
        Time::ms(50),
    );
    run.fabric.sizes = sizes(transport).0;
    run.fabric.buffer = Buffer { data: Limit::Bytes(1 << 28), control: Limit::Bytes(1 << 28) };
    run.until = Until::Known;
    param(run, "base_rtt", ParamValue::Time(Time::ns(4160)))
}

fn windowed(run: RunSpec) -> RunSpec {
    param(run, "window", ParamValue::Bool(true))
}

fn known(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done, "flow {flow}");
    out.flows[flow].known.expect("its sender is told")
}

/// The longest queue of any port, in bytes.
fn peak(out: &Outcome) -> u64 {
    out.links.iter().map(|link| link.counters.queue_max_bytes).max().expect("links")
}

fn incast() -> Vec<FlowSpec> {
    (1..16).map(|host| flow(host, 0, 1_000_000, Time::ZERO)).collect()
}

fn joining() -> Vec<FlowSpec> {
    (1..5).map(|host| flow(host, 0, 4_000_000, Time::us(100) * (u64::from(host) - 1))).collect()
}

/// n packets over two links of 1 us and one answer back: (n + 1) t + 4 us + 2 a.
#[test]
fn a_lone_message_takes_the_time_of_its_packets_to_the_picosecond() {
    for (transport, counts) in [
        ("dcqcn", &[1, 2, 47, 1000, 10_000][..]),
        ("timely", &[1, 2, 47, 1000, 10_000]),
        // Answers change the rate as soon as a second one is there.
        ("hpcc", &[1, 2, 47]),
        ("powertcp", &[1, 2, 47]),
        ("powertcp-theta", &[1, 2, 47]),
    ] {
        let (sizes, telemetry) = sizes(transport);
        let packet = LINE.time_of((1000 + sizes.header + telemetry).into());
        let answer = LINE.time_of((sizes.control + telemetry).into());
        for &count in counts {
            let out = outcome(&star(transport, vec![flow(1, 0, count * 1000, Time::ZERO)]));
            let expected = packet * (count + 1) + Time::us(4) + answer * 2;
            assert_eq!(known(&out, 0), expected, "{transport}, {count} packets");
            assert_eq!(out.flows[0].retransmitted, Some(0));
        }
    }
}

/// With a window nothing changes as long as nothing waits.
#[test]
fn a_window_of_a_bandwidth_delay_product_does_not_hold_a_lone_message_back_by_much() {
    for transport in ["dcqcn", "timely"] {
        let one = || vec![flow(1, 0, 1_000_000, Time::ZERO)];
        let free = known(&outcome(&star(transport, one())), 0);
        let bound = known(&outcome(&windowed(star(transport, one()))), 0);
        // The base round trip does not count headers, so that the window is a little short, but one packet may be begun.
        assert!(bound >= free && bound.0 * 100 <= free.0 * 101, "{transport}: {bound}, {free} without");
    }
}

/// A message alone settles at 95 % of the link and the increase. HPCC's simulator takes 95.735 us.
#[test]
fn hpcc_keeps_a_twentieth_of_a_link_free() {
    let took = known(&outcome(&star("hpcc", vec![flow(1, 0, 1_000_000, Time::ZERO)])), 0);
    assert!((took.0 as f64 / 95_735_000.0 - 1.0).abs() < 0.001, "{took}");
}

/// Each of 15 senders puts its window into the queue, from which a window leaves meanwhile.
#[test]
fn windows_bound_what_an_incast_puts_into_the_queue() {
    for (run, packet) in [
        (windowed(star("dcqcn", incast())), 1048),
        (windowed(star("timely", incast())), 1056),
        (star("hpcc", incast()), 1090),
    ] {
        let name = run.transports[0].name.clone();
        let packets = peak(&outcome(&run)) / packet;
        // A window of 4160 ns at 100 Gb/s is 52 packets of 1000 B.
        let expected = 15 * 52 - 52 + 2;
        assert!(packets.abs_diff(expected) <= 3, "{name}: {packets} packets, not {expected}");
    }
}

/// Without a window the queue holds what rates let in: 5264 kB and 13,378 kB in HPCC's simulator.
#[test]
fn rates_alone_let_an_incast_fill_the_queue() {
    let dcqcn = peak(&outcome(&star("dcqcn", incast())));
    assert!(dcqcn.abs_diff(5_264_000) < 526_000, "{dcqcn}");
    let timely = peak(&outcome(&star("timely", incast())));
    assert!(timely.abs_diff(13_378_000) < 267_000, "{timely}");
}

/// Four messages that join one after the other: 55 kB wait at most with HPCC in its simulator, and thousands of kB where round trips
/// alone decide.
#[test]
fn telemetry_keeps_queues_short_while_messages_join() {
    let run = |transport| {
        let out = outcome(&star(transport, joining()));
        let last = (0..4).map(|flow| known(&out, flow)).max().expect("four");
        (peak(&out), last)
    };
    let (waits, last) = run("hpcc");
    assert!((50_000..60_000).contains(&waits), "hpcc: {waits}");
    // Four times 4 MB in packets of 1000 B, with headers and telemetry.
    let wire = LINE.time_of(16_000 * 1090);
    assert!(last.0 < wire.0 * 110 / 100, "hpcc: {last}");
    for transport in ["powertcp", "powertcp-theta"] {
        let (waits, last) = run(transport);
        assert!(waits < 120_000, "{transport}: {waits}");
        assert!(last.0 < wire.0 * 110 / 100, "{transport}: {last}");
    }
    // 5064 kB there: what a newcomer adds hangs on when the others have had their round trips.
    let (waits, _) = run("timely");
    assert!(waits.abs_diff(5_064_000) < 506_000, "timely: {waits}");
}

/// Fair shares: of two equal messages neither is much faster.
#[test]
fn two_messages_share_a_link() {
    for transport in ["dcqcn", "timely", "hpcc", "powertcp", "powertcp-theta"] {
        let flows = vec![flow(1, 0, 10_000_000, Time::ZERO), flow(2, 0, 10_000_000, Time::ZERO)];
        let out = outcome(&star(transport, flows));
        let (one, two) = (known(&out, 0), known(&out, 1));
        let (least, most) = (one.min(two), one.max(two));
        assert!(most.0 < least.0 * 13 / 10, "{transport}: {least} and {most}");
    }
}

/// Ports that drop: both repairs bring everything, and selective repeat sends less again.
#[test]
fn selective_repeat_sends_less_again_than_going_back() {
    let repeated = |word: &str| {
        let mut run = star("dcqcn", incast());
        run.fabric.buffer.data = Limit::Bytes(200_000);
        let out = outcome(&param(run, "recovery", ParamValue::Choice(word.into())));
        (0..15).map(|flow| out.flows[flow].retransmitted.expect("counted")).sum::<u64>()
    };
    let (back, selective) = (repeated("go-back-n"), repeated("selective-repeat"));
    assert!(selective > 0 && back > selective * 2, "{back} and {selective}");
}

/// The contents of stamps do not depend on how the network is divided, on what hosts cost, or on where packets wait.
#[test]
fn stamps_reach_their_senders_whatever_is_around() {
    let links = link(100, Time::us(1));
    let pairs =
        TopologySpec::Dumbbell(Dumbbell { senders: 4, receivers: 4, access: links, bottleneck: links });
    let base = || {
        let mut run = star("hpcc", Vec::new());
        run.topology = pairs.clone();
        run.flows = (0..4).map(|i| flow(i, 4 + i, 1_000_000, Time::us(10) * u64::from(i))).collect();
        run
    };
    let times = |out: &Outcome| (0..4).map(|flow| known(out, flow)).collect::<Vec<_>>();
    let one = outcome(&base());
    let around = Around { threads: 2, ..Around::default() };
    let two = run_within(&base(), around, &mut |_| true).expect("it runs");
    assert_eq!(times(&one), times(&two));
    assert!(peak(&one) < 200_000, "{}", peak(&one));
    let mut queued = base();
    queued.fabric.host_queue = Some(Limit::Packets(64));
    let mut costly = base();
    costly.costs = HostCosts { packet: Time::ns(50), ..HostCosts::default() };
    for run in [queued, costly] {
        let out = outcome(&run);
        // Blind senders would keep the whole link: their queue would hold four windows for good.
        let last = times(&out).into_iter().max().expect("four");
        assert!(peak(&out) < 250_000 && last < Time::us(500), "{} bytes, {last}", peak(&out));
    }
}
