//! Ports that do something else than the others, queues in front of hosts' links, and switches that cut through.

use crate::common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::{Dumbbell, SingleSwitch};
use headway_network::{
    BuildError, FlowState, Forwarding, LinkRecord, Outcome, PortChoice, PortsAt, RunError, RunSpec,
};
use headway_params::ParamValue;
use headway_units::Time;

/// A line of two switches whose middle link is slow or fast.
fn line(senders: u32, middle: u64) -> Dumbbell {
    Dumbbell { senders, receivers: 1, access: link(10, Time::us(1)), bottleneck: link(middle, Time::us(1)) }
}

fn cut(mut run: RunSpec) -> RunSpec {
    run.fabric.forwarding = Forwarding::CutThrough;
    run
}

fn link_of<'a>(outcome: &'a Outcome, name: &str) -> &'a LinkRecord {
    outcome.links.iter().find(|link| link.name == name).expect("a link of that name")
}

/// A full packet at 10 Gb/s, and its first 78 bytes.
const FULL: u64 = 1_230_400;
const HEAD: u64 = 62_400;
const MICROSECOND: u64 = 1_000_000;

#[test]
fn a_packet_leaves_a_switch_as_its_header_is_there_unless_the_way_on_is_faster() {
    let alone = |middle: u64| {
        let mut run =
            cut(spec(line(1, middle).into(), "amrt", vec![flow(0, 1, 1460, Time::ZERO)], Time::ms(1)));
        run.fabric.switch_latency = Time::ns(300);
        let found = outcome(&run);
        assert_eq!(found.flows[0].finish, Some(found.flows[0].ideal), "{middle}: the ideal is exact");
        found.flows[0].ideal.0
    };
    let paths = 3 * MICROSECOND + 2 * 300_000;
    assert_eq!(alone(10), 2 * HEAD + FULL + paths);
    assert_eq!(
        alone(5),
        HEAD + 2 * FULL + FULL + paths,
        "all of it has to be there before it goes on faster"
    );
    // The first switch waits for all of it, the second for a header at twice the rate.
    assert_eq!(alone(20), FULL + HEAD / 2 + FULL + paths);
}

#[test]
fn a_short_packet_is_all_header_and_a_message_is_as_fast_as_its_ideal() {
    let alone = |middle: u64, bytes: u64| {
        let run = cut(spec(line(1, middle).into(), "amrt", vec![flow(0, 1, bytes, Time::ZERO)], Time::ms(1)));
        let found = outcome(&run);
        assert_eq!(found.flows[0].finish, Some(found.flows[0].ideal), "{bytes} bytes over {middle} Gb/s");
        found.flows[0].ideal.0
    };
    // 84 bytes on the wire, of which the first 78 are seen.
    assert_eq!(alone(10, 1), 2 * HEAD + 67_200 + 3 * MICROSECOND);
    for middle in [5, 10, 20] {
        for bytes in [1461, 2 * 1460, 3000, 10_000] {
            alone(middle, bytes);
        }
    }
    assert_eq!(alone(10, 2 * 1460), 2 * HEAD + 2 * FULL + 3 * MICROSECOND);
}

#[test]
fn a_packet_whose_port_is_busy_waits_for_it_alone() {
    let flows = (0..3).map(|host| flow(host, 3, 1460, Time::ZERO)).collect();
    let found = outcome(&cut(spec(line(3, 10).into(), "amrt", flows, Time::ms(1))));
    let mut ends: Vec<u64> = found.flows.iter().map(|f| f.finish.expect("done").0).collect();
    ends.sort_unstable();
    let first = 2 * HEAD + FULL + 3 * MICROSECOND;
    assert_eq!(ends, [first, first + FULL, first + 2 * FULL]);
}

#[test]
fn round_trips_that_hosts_know_are_those_of_their_switches() {
    let run = cut(spec(line(1, 10).into(), "amrt", Vec::new(), Time::ms(1)));
    let network = headway_network::Network::build(&run.topology, &run.fabric).expect("a network");
    let control = 2 * HEAD + 67_200;
    assert_eq!(network.path(0, 1).base_rtt.0, 2 * HEAD + FULL + control + 6 * MICROSECOND);
}

/// Ten senders into one port.
fn incast(transport: &str) -> RunSpec {
    let flows = (1..=10).map(|host| flow(host, 0, 30_000, Time::ZERO)).collect();
    spec(SingleSwitch { hosts: 11, link: link(10, Time::us(1)) }.into(), transport, flows, Time::s(1))
}

fn at(ports: PortChoice, discipline: &str, packets: u32) -> PortsAt {
    let room = Limit::Packets(packets);
    PortsAt {
        ports,
        discipline: discipline.into(),
        params: Vec::new(),
        buffer: Buffer { data: room, control: room },
        alpha: None,
    }
}

#[test]
fn a_link_may_have_a_buffer_of_its_own() {
    let mut run = incast("tcp");
    let usual = outcome(&run);
    run.fabric.at = vec![at(PortChoice::Links(vec!["s0->h0".into()]), "drop-tail", 20)];
    let short = outcome(&run);
    let (usual, short) = (link_of(&usual, "s0->h0"), link_of(&short, "s0->h0"));
    assert!(usual.counters.queue_max_packets > 20 && usual.counters.drops() == 0);
    assert!(short.counters.queue_max_packets == 20 && short.counters.drops() > 0);
}

#[test]
fn tiers_mark_and_others_do_not() {
    let marks = |ports: Vec<PortsAt>| {
        let flows = (0..3).map(|host| flow(host, 3, 300_000, Time::ZERO)).collect();
        let mut run = spec(line(3, 10).into(), "dctcp", flows, Time::s(1));
        run.fabric.at = ports;
        let found = outcome(&run);
        assert!(found.flows.iter().all(|f| f.state == FlowState::Done));
        (link_of(&found, "s0->s1").counters.marked, link_of(&found, "s1->h3").counters.marked)
    };
    assert!(marks(Vec::new()).0 > 0);
    assert_eq!(marks(vec![at(PortChoice::Core, "drop-tail", 500)]).0, 0);
    assert_eq!(marks(vec![at(PortChoice::Of(vec!["s0".into()]), "drop-tail", 500)]).0, 0);
    let again = vec![at(PortChoice::Switches, "drop-tail", 500), at(PortChoice::Core, "ecn-threshold", 500)];
    assert!(marks(again).0 > 0, "the last holds");
    assert!(marks(vec![at(PortChoice::Edge, "drop-tail", 500)]).0 > 0);
}

#[test]
fn a_name_that_is_not_there_is_refused() {
    let mut run = incast("tcp");
    run.fabric.at = vec![at(PortChoice::Links(vec!["s0->h11".into()]), "drop-tail", 20)];
    let error = headway_sim::run(&run, &mut |_| true).expect_err("refused");
    assert!(matches!(error, RunError::Build(BuildError::NoSuchPort { .. })), "{error}");
}

#[test]
fn a_queue_in_front_of_a_link_takes_what_a_host_has_in_order() {
    let two = |queue: Option<Limit>| {
        // A long message, and a short one that a machine would let go first.
        let flows = vec![flow(0, 1, 60_000, Time::ZERO), flow(0, 2, 1_460, Time::us(1))];
        let hosts = SingleSwitch { hosts: 3, link: link(10, Time::us(1)) };
        let mut run = spec(hosts.into(), "tcp", flows, Time::s(1));
        run.fabric.host_queue = queue;
        // All packets of a message may leave at once.
        outcome(&param(run, "initial_window", ParamValue::Int(60)))
    };
    let (pulled, queued) = (two(None), two(Some(Limit::Packets(100))));
    let short = |found: &Outcome| found.flows[1].finish.expect("done") - Time::us(1);
    assert_eq!(pulled.links[0].counters.queue_max_packets, 0);
    // All 42 packets but the one on the wire waited, and the short message behind them.
    assert_eq!(queued.links[0].counters.queue_max_packets, 41 + 1);
    assert!(short(&queued).0 > 42 * FULL && short(&queued) > short(&pulled) * 4);
    assert_eq!(queued.flows[0].finish, pulled.flows[0].finish.map(|_| queued.flows[0].ideal));
    let full = two(Some(Limit::Packets(10)));
    assert!(
        full.links[0].counters.drops() > 0 && full.flows[0].drops > Some(0),
        "a host drops what finds no room"
    );
    assert!(full.flows.iter().all(|f| f.state == FlowState::Done));
}
