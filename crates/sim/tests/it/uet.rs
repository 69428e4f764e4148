//! Ultra Ethernet and EQDS in the fat-tree of the public simulator: exact times of lone messages, bounds of incasts, and paths.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::FatTree;
use headway_network::{
    Change, Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, Network, Outcome, RunSpec, TopologySpec, Until,
};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::{Rate, Time};

/// `-mtu 4150`: 64 bytes of header, no framing.
const SIZES: Sizes = Sizes { payload: 4086, header: 64, framing: 0, control: 64 };
const MTU: u64 = 4150;

/// The base round trip of six links at this rate: NSCC §0.2.
fn round_trip(gbps: u64) -> Time {
    Time::us(12) + (Rate::gbps(gbps).time_of(MTU) + Rate::gbps(gbps).time_of(64)) * 6
}

/// 128 hosts, links of 1 us, and queues of a bandwidth-delay product in packets.
fn run_of(transport: &str, gbps: u64, flows: Vec<FlowSpec>) -> RunSpec {
    let links = link(gbps, Time::us(1));
    let topology = TopologySpec::FatTree(FatTree { k: 8, hosts_per_edge: 4, host: links, fabric: links });
    let mut run = spec(topology, transport, flows, Time::ms(50));
    let queue = Rate::gbps(gbps).bytes_in(round_trip(gbps)).div_ceil(MTU) * MTU;
    run.fabric.sizes = SIZES;
    run.fabric.buffer = Buffer { data: Limit::Bytes(queue), control: Limit::Bytes(2 * queue) };
    run.until = Until::Known;
    if transport == "eqds" { run } else { param(run, "base_rtt", ParamValue::Time(round_trip(gbps))) }
}

/// Time at which the sender of a flow knows that it is over.
fn known(out: &Outcome, flow: usize) -> Time {
    assert_eq!(out.flows[flow].state, FlowState::Done, "flow {flow}");
    out.flows[flow].known.expect("its sender is told")
}

/// Time of a message alone over `links` links: all of it over the first, a full packet over the others, and the last
/// acknowledgement back.
fn alone(gbps: u64, links: u64, bytes: u64) -> Time {
    let rate = Rate::gbps(gbps);
    let full = SIZES.data_wire(bytes.min(4086) as u16).into();
    let once = rate.time_of(full) + Time::us(1) * 2 + rate.time_of(64);
    rate.time_of(SIZES.message_wire(bytes)) + once * links - rate.time_of(full)
}

/// A host, and one that is so many links away.
const AWAY: [(u64, u32); 3] = [(2, 1), (4, 15), (6, 127)];

#[test]
fn a_lone_message_takes_the_time_of_its_bytes_to_the_picosecond() {
    let sizes = [1, 64, 1000, 4086, 40_860, 65_536, 200_000, 1_000_000, 2_000_000, 20_000_000];
    for (links, dst) in AWAY {
        for bytes in sizes {
            let out = outcome(&run_of("uet-nscc", 100, vec![flow(0, dst, bytes, Time::ZERO)]));
            assert_eq!(known(&out, 0), alone(100, links, bytes), "{bytes} bytes over {links} links");
        }
    }
    for gbps in [200, 400, 800] {
        let out = outcome(&run_of("uet-nscc", gbps, vec![flow(0, 127, 262_000, Time::ZERO)]));
        assert_eq!(known(&out, 0), alone(gbps, 6, 262_000), "{gbps} Gb/s");
    }
    // As the public simulator prints them.
    assert_eq!(alone(100, 6, 1_000_000), Time(94_945_120));
    assert_eq!(alone(100, 6, 20_000_000), Time(1_638_753_120));
    assert_eq!(alone(400, 6, 262_000), Time(17_745_880));
}

/// Credit paces the data beyond the speculative window: 99 % of the link, and for EQDS 98.8 %.
#[test]
fn receivers_pace_the_rest_of_a_lone_message() {
    // Simulated by the other program: 2, 4 and 20 MB.
    let theirs = [
        ("uet-rccc", [177.367_66, 341.392_3, 1_654.614_316]),
        ("eqds", [177.821_728, 342.888_946, 1_661.778_512]),
    ];
    for (name, times) in theirs {
        for (bytes, theirs) in [2_000_000, 4_000_000, 20_000_000].into_iter().zip(times) {
            let out = outcome(&run_of(name, 100, vec![flow(0, 127, bytes, Time::ZERO)]));
            let ours = known(&out, 0).0 as f64 / 1e6;
            assert!((ours / theirs - 1.0).abs() < 0.005, "{name}, {bytes} bytes: {ours} us, there {theirs}");
        }
        // Messages that fit into the window need no credit. The other EQDS waits for a time-out from 44 packets on.
        for bytes in [1, 4086, 65_536, 200_000] {
            let out = outcome(&run_of(name, 100, vec![flow(0, 127, bytes, Time::ZERO)]));
            assert_eq!(known(&out, 0), alone(100, 6, bytes), "{name}, {bytes} bytes");
        }
    }
}

#[test]
fn the_link_of_a_receiver_is_busy_from_the_first_packet_to_the_last() {
    for (name, overhead) in [("uet-nscc", 1.04), ("uet-rccc", 1.015), ("eqds", 1.02)] {
        for (senders, bytes) in [(4, 4_000_000), (32, 500_000)] {
            let flows = (0..senders).map(|i| flow(127 - 3 * i, 0, bytes, Time::ZERO)).collect();
            let out = outcome(&run_of(name, 100, flows));
            let last = (0..senders as usize).map(|flow| known(&out, flow)).max().expect("flows");
            let wire = Rate::gbps(100).time_of(SIZES.message_wire(bytes) * u64::from(senders));
            // A base round trip, less the time of the packet that `wire` has already.
            let bound = wire + Time(13_690_000);
            let most = Time((bound.0 as f64 * overhead) as u64);
            // Senders in the same rack are nearer than the bound's.
            assert!(
                last + Time::us(9) >= bound && last <= most,
                "{name}, {senders} senders: {last}, least {bound}"
            );
            let drops: u64 = out.links.iter().map(|l| l.counters.dropped.iter().sum::<u64>()).sum();
            assert_eq!(drops, 0, "{name}: what is trimmed is not dropped");
        }
    }
}

/// Four hosts of one rack send to another pod, and one of the sixteen ways between the pods has a tenth of the rate.
#[test]
fn policies_that_listen_avoid_a_slow_path() {
    let took = |spraying: &str| {
        let flows = (0..4).map(|i| flow(i, 16 + i, 4_000_000, Time::ZERO)).collect();
        let run = run_of("uet-nscc", 100, flows);
        let mut run = param(run, "spraying", ParamValue::Choice(spraying.into()));
        let (at, until, rate, delay) = (Time(1), Time::MAX, Some(Rate::gbps(10)), None);
        let what = Fault::Change(Change { at, until, rate, delay });
        run.faults = vec![FaultSpec { links: LinkChoice::Some(vec![slow_link(&run)]), kind: None, what }];
        let out = outcome(&run);
        (0..4).map(|flow| known(&out, flow)).max().expect("flows")
    };
    let oblivious = took("oblivious");
    for listens in ["bitmap", "reps", "mixed"] {
        let time = took(listens);
        assert!(time.0 * 5 < oblivious.0 * 4, "{listens}: {time}, {oblivious} without listening");
    }
}

/// The link of the first core switch to the second pod.
fn slow_link(run: &RunSpec) -> String {
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    // Four edge and four aggregation switches of each of eight pods come first.
    let core = network.hosts() + 2 * 8 * 4;
    let of_core = |number: &usize| network.links()[*number].from == core;
    let number = (0..network.links().len()).filter(of_core).nth(1).expect("a link for each pod");
    network.link_names()[number].clone()
}
