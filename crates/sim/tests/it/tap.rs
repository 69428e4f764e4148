//! A tap sees every packet once, at its start, with its marks, and changes nothing.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_network::Network;
use headway_network::topology::LeafSpine;
use headway_network::{Outcome, RunSpec, Tap, TopologySpec};
use headway_packet::{Ecn, Packet};
use headway_sim::run_tapped;
use headway_units::Time;

#[derive(Default)]
struct Seen(Vec<(u32, Time, Packet)>);

impl Tap for Seen {
    fn started(&mut self, link: u32, start: Time, packet: &Packet) {
        self.0.push((link, start, *packet));
    }
}

/// Six hosts of two racks send to one, so that ports queue, mark and drop.
fn incast(transport: &str) -> RunSpec {
    let (host, spine) = (link(10, Time::us(2)), link(10, Time::us(5)));
    let topology = TopologySpec::LeafSpine(LeafSpine { racks: 2, hosts_per_rack: 4, spines: 2, host, spine });
    let flows = (1..7).map(|src| flow(src, 0, 200_000 + u64::from(src), Time::us(u64::from(src)))).collect();
    let mut run = spec(topology, transport, flows, Time::s(1));
    run.fabric.buffer.data = headway_fabric::Limit::Packets(16);
    run
}

fn tapped(run: &RunSpec) -> (Outcome, Seen) {
    let mut seen = Seen::default();
    let out = run_tapped(run, &mut seen, &mut |_| true).expect("a valid run");
    (out, seen)
}

#[test]
fn a_tap_agrees_with_the_counters_of_every_port_and_changes_nothing() {
    for transport in ["amrt", "phost"] {
        let run = incast(transport);
        let (out, seen) = tapped(&run);
        assert_eq!(out.digest, outcome(&run).digest, "{transport}");
        assert_eq!(seen.0.len() as u64, out.packet_hops, "{transport}");
        for (number, link) in out.links.iter().enumerate() {
            let here: Vec<_> = seen.0.iter().filter(|s| s.0 as usize == number).collect();
            let marked = here.iter().filter(|s| matches!(s.2.ecn, Ecn::Spare | Ecn::Ce)).count();
            let bytes: u64 = here.iter().map(|s| u64::from(s.2.wire)).sum();
            let counted = &link.counters;
            assert_eq!(here.len() as u64, counted.dequeued, "{transport} {}", link.name);
            assert_eq!(marked as u64, counted.marked, "{transport} {}", link.name);
            assert_eq!(bytes, counted.wire_bytes, "{transport} {}", link.name);
        }
        assert!(out.links.iter().any(|l| l.counters.dropped[0] > 0), "{transport}: nothing was dropped");
    }
}

#[test]
fn packets_come_in_order_of_time_and_those_of_a_link_do_not_overlap() {
    for transport in ["amrt", "expresspass"] {
        let run = incast(transport);
        let network = Network::build(&run.topology, &run.fabric).expect("a valid network");
        let (_, seen) = tapped(&run);
        let mut free = vec![Time::ZERO; network.links().len()];
        let mut latest = (Time::ZERO, 0);
        for (link, start, packet) in seen.0 {
            assert!((start, link) >= latest, "{transport}: {start} on link {link} after {latest:?}");
            latest = (start, link);
            assert!(start >= free[link as usize], "link {link} was busy at {start}");
            free[link as usize] =
                start + network.links()[link as usize].spec.rate.time_of(packet.wire.into());
        }
    }
}
