//! `retransmitted` counts bytes of data that left their sender again, whatever was lost to bring it about.

use crate::common;

use common::{flow, link, spec};
use headway_network::topology::SingleSwitch;
use headway_network::{Fault, FaultSpec, FlowState, LinkChoice, RunSpec, Tap, TopologySpec};
use headway_packet::{Packet, PacketKind};
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
        if link < self.hosts && packet.is_data() && !self.left.insert((packet.tag, packet.index)) {
            self.again[packet.tag as usize] += u64::from(packet.payload);
        }
    }
}

/// Runs to the end and compares what is counted with what left; the bytes that left again, and the packets lost on links.
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

/// A permission that is lost is asked for or given again; the packet that it was for leaves once.
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
