//! `retransmitted` counts bytes of data that left their sender again, whatever was lost to bring it about.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::{Dumbbell, SingleSwitch};
use headway_network::{Change, Fault, FaultSpec, FlowState, LinkChoice, RunSpec, Tap, TopologySpec};
use headway_packet::{Packet, PacketKind};
use headway_params::ParamValue;
use headway_sim::run_tapped;
use headway_transport::registry;
use headway_units::Time;
use std::collections::BTreeSet;

/// Bytes of each flow's packets that leave their host for the second time or more.
struct Departures {
    hosts: u32,
    left: BTreeSet<(u32, u32)>,
    again: Vec<u64>,
}

impl Tap for Departures {
    fn started(&mut self, link: u32, _start: Time, packet: &Packet) {
        // Links that leave hosts come first.
        if link < self.hosts && packet.is_data() && !self.left.insert((packet.tag, packet.index)) {
            self.again[packet.tag as usize] += u64::from(packet.payload);
        }
    }
}

/// Runs to the end and compares the counts with the packets that left; the bytes that left again, and the packets lost
/// on links.
#[track_caller]
fn repeated(run: &RunSpec) -> (u64, u64) {
    let TopologySpec::SingleSwitch(SingleSwitch { hosts, .. }) = run.topology else { panic!("a star") };
    let mut seen = Departures { hosts, left: BTreeSet::new(), again: vec![0; run.flows.len()] };
    let out = run_tapped(run, &mut seen, &mut |_| true).expect("a valid run");
    let name = &run.transports[0].name;
    for (record, again) in out.flows.iter().zip(&seen.again) {
        assert_eq!(record.state, FlowState::Done, "{name}: {:?}", run.faults);
        assert_eq!(record.retransmitted.expect("counted"), *again, "{name}: {:?}", run.faults);
    }
    let lost =
        out.links.iter().map(|link| link.faults.dropped_by_number + link.faults.dropped_at_random).sum();
    (seen.again.iter().sum(), lost)
}

fn star(transport: &str, flows: Vec<headway_network::FlowSpec>) -> RunSpec {
    spec(
        TopologySpec::SingleSwitch(SingleSwitch { hosts: 4, link: link(10, Time::us(5)) }),
        transport,
        flows,
        Time::s(20),
    )
}

fn lose(links: LinkChoice, kind: Option<PacketKind>, what: Fault) -> Vec<FaultSpec> {
    vec![FaultSpec { links, kind, what }]
}

#[test]
fn what_is_lost_at_random_is_counted_as_often_as_it_leaves_again() {
    for transport in registry::NAMES {
        let mut sum = 0;
        for seed in 1..4 {
            let flows = (0..9).map(|i| flow(i % 3, 3, 150_000, Time::us(u64::from(i) * 11))).collect();
            let mut run = star(transport, flows);
            run.seed = seed;
            let what = Fault::Random { loss: 0.03, duplicate: 0.01, reorder: 0.01, reorder_by: Time::us(30) };
            run.faults = lose(LinkChoice::All, None, what);
            sum += repeated(&run).0;
        }
        assert!(sum > 0, "{transport}: nothing was sent again");
    }
}

/// Transports that learn from a permission nothing but the permission. Where it also says what has arrived (RPO, NDP,
/// ProactMP), data may leave again for want of it, and counts.
const ONLY_PERMITS: [&str; 6] = ["amrt", "homa", "homa-aeolus", "phost", "expresspass", "expresspass-aeolus"];

/// A permission that is lost is requested or given again; the packet that it was for leaves once.
#[test]
fn a_lost_permission_is_no_retransmission() {
    let permissions = [PacketKind::Grant, PacketKind::Token, PacketKind::Pull, PacketKind::Credit];
    for transport in registry::NAMES {
        let mut met = 0;
        for (kind, number) in permissions.iter().flat_map(|kind| [1, 2, 7, 30, 60].map(|n| (*kind, n))) {
            let mut run = star(transport, vec![flow(0, 3, 200_000, Time::ZERO)]);
            let way_back = LinkChoice::Some(vec!["s0->h0".into()]);
            run.faults = lose(way_back, Some(kind), Fault::DropNth(vec![number]));
            let (again, lost) = repeated(&run);
            met += lost;
            let only_permits = ONLY_PERMITS.contains(transport);
            println!("{transport}: {kind:?} {number}: {lost} lost, {again} bytes left again");
            assert!(!only_permits || again == 0, "{transport}: {again} bytes for {kind:?} {number}");
        }
        assert!(met > 0 || !ONLY_PERMITS.contains(transport), "{transport}: nothing was lost");
    }
}

/// A flow of so many bytes over a path of 40 packets that loses 70 packets of the first 900, and is longer by half for
/// 500 us.
fn disturbed(transport: &str, bytes: u64) -> RunSpec {
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 1,
        receivers: 1,
        access: link(10, Time::us(5)),
        bottleneck: link(10, Time::us(12)),
    });
    let mut run = spec(topology, transport, vec![flow(0, 1, bytes, Time::ZERO)], Time::s(20));
    let between = || LinkChoice::Some(vec!["s0->s1".into()]);
    run.faults =
        lose(between(), Some(PacketKind::Data), Fault::DropNth((0..70).map(|i| 200 + 10 * i).collect()));
    let longer = Change { at: Time::us(1500), until: Time::us(2000), rate: None, delay: Some(Time::us(40)) };
    run.faults.extend(lose(between(), None, Fault::Change(longer)));
    run
}

/// A flow that is alone on a whole path sends nothing again, whatever it has been through: twice as many bytes cost no
/// more repetitions.
#[test]
fn a_disturbance_that_is_over_is_paid_for_once() {
    for transport in headway_testing::one_in!(3, registry::NAMES) {
        let [short, long] = [4_000_000, 8_000_000].map(|bytes| {
            let out = outcome(&disturbed(transport, bytes));
            assert_eq!(out.flows[0].state, FlowState::Done, "{transport}");
            out.flows[0].retransmitted.expect("counted") / 1460
        });
        println!("{transport}: {short} packets again in 4 MB, {long} in 8 MB");
        assert!(long <= short + 40, "{transport}: {short} packets again in 4 MB, {long} in 8 MB");
    }
}

#[test]
fn what_may_leave_at_once_is_not_asked_for_before_it_has_left() {
    // Time-outs of some round trips are far shorter than the 0.84 ms in which 1 MB leaves. A receiver that has permitted all of
    // it at once must not ask for packets that its sender has not come to.
    let large = [
        ("window", 1000),
        ("initial_window", 1000),
        ("free_tokens", 1000),
        ("unscheduled_bytes", 2_000_000),
        ("rtt_bytes", 2_000_000),
        ("bdp", 2_000_000),
    ];
    let mut tried = BTreeSet::new();
    for name in registry::NAMES {
        // A choice of another transport may have the same name.
        let numbers =
            registry::param_settings(name, &[]).into_iter().filter(|(_, v)| matches!(v, ParamValue::Int(_)));
        for (key, _) in numbers {
            let Some((_, value)) = large.iter().find(|(large, _)| *large == key) else { continue };
            let mut run = star(name, vec![flow(0, 1, 1_000_000, Time::ZERO)]);
            run.fabric.buffer = Buffer { data: Limit::Packets(128), control: Limit::Packets(128) };
            run.transports[0].params.push((key.into(), ParamValue::Int(*value)));
            assert_eq!(repeated(&run), (0, 0), "{name} with {key} = {value}");
            tried.insert(key);
        }
    }
    assert_eq!(tried.len(), large.len(), "a parameter is called otherwise: {tried:?}");
}
