//! Hosts whose processors take time, under every transport.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_network::topology::SingleSwitch;
use headway_network::{Down, Fault, FaultSpec, FlowState, HostCosts, LinkChoice, RunSpec, TopologySpec};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_transport::registry;
use headway_units::{Rate, Time};
use proptest::prelude::*;

/// Five messages of several sizes to one host.
fn crowd(transport: &str, costs: HostCosts) -> RunSpec {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 6, link: link(10, Time::us(2)) });
    let sizes = [1, 1460, 20_000, 150_000, 400_000];
    let flows = (1u32..).zip(sizes).map(|(src, bytes)| flow(src, 0, bytes, Time::us(7 * u64::from(src))));
    // Swift takes the delay of coalescing for congestion, and goes down to a packet in a thousand round trips.
    RunSpec { costs, ..spec(topology, transport, flows.collect(), Time::s(2_000)) }
}

proptest! {
    #![proptest_config(headway_testing::cases!(8))]

    #[test]
    fn every_transport_finishes_no_sooner_than_costs_allow_and_the_same_way_again(
        name in prop::sample::select(registry::NAMES),
        packet_ns in 0u64..4_000,
        message_ns in 0u64..4_000,
        coalesce_ns in prop_oneof![Just(0u64), 1u64..60_000],
        coalesce_packets in 0u32..20,
        burst in prop_oneof![Just(0u64), 1u64..64_000],
        seed in 1u64..1000,
    ) {
        let ns = Time::ns;
        let costs = HostCosts {
            packet: ns(packet_ns),
            message: ns(message_ns),
            coalesce: ns(coalesce_ns),
            coalesce_packets,
            burst,
        };
        let run = RunSpec { seed, ..crowd(name, costs) };
        let out = outcome(&run);
        for (spec, found) in run.flows.iter().zip(&out.flows) {
            prop_assert_eq!(found.state, FlowState::Done);
            prop_assert_eq!(found.delivered, spec.bytes);
            let took = found.finish.expect("done") - spec.start;
            // Each end computes for the message and for one packet that nothing overlaps.
            let least = found.ideal + (costs.packet + costs.message) * 2;
            prop_assert!(took >= least, "{} {} {}", name, took, least);
        }
        prop_assert_eq!(outcome(&run), out);
    }
}

#[test]
fn every_cost_moves_the_digest_and_their_absence_does_not() {
    let digest = |costs| outcome(&crowd("homa", costs)).digest;
    let none = HostCosts::default();
    let ns = Time::ns(700);
    let all = [
        none,
        HostCosts { packet: ns, ..none },
        HostCosts { message: ns, ..none },
        HostCosts { coalesce: ns * 10, ..none },
        HostCosts { coalesce: ns * 10, coalesce_packets: 2, ..none },
        HostCosts { burst: 9_000, ..none },
    ];
    let mut digests = all.map(digest).to_vec();
    assert_eq!(digests[0], digest(none));
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), all.len());
    // A number of packets bounds a window, and there is none.
    assert_eq!(digest(HostCosts { coalesce_packets: 2, ..none }), digest(none));
}

#[test]
fn ideals_are_of_the_network_alone() {
    let costs = HostCosts { packet: Time::us(3), message: Time::us(9), ..HostCosts::default() };
    let ideals = |costs| outcome(&crowd("homa", costs)).flows.iter().map(|f| f.ideal).collect::<Vec<_>>();
    assert_eq!(ideals(costs), ideals(HostCosts::default()));
}

#[test]
fn a_handshake_costs_its_packets_too() {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 2, link: link(1, Time::us(1)) });
    let cost = Time::us(4);
    let costs = HostCosts { packet: cost, ..HostCosts::default() };
    // A SYN and its answer: 84 B over two links of 1 Gb/s, and 2 us of propagation, each.
    let handshake = Time::ns(2 * (2 * 672 + 2 * 1000));
    for transport in ["tcp", "cubic", "dctcp"] {
        let run = spec(topology.clone(), transport, vec![flow(0, 1, 100, Time::ZERO)], Time::s(1));
        let run = RunSpec { costs, ..param(run, "preset", ParamValue::Choice("linux-4.19".into())) };
        let out = outcome(&run);
        let ideal = out.flows[0].ideal;
        // SYN, SYN-ACK and the data; the ACK of the handshake is on the data, or before it at the same processors.
        let bare = ideal + handshake + cost * 6;
        let took = out.flows[0].finish.expect("done");
        let ack = Rate::gbps(1).time_of(84);
        assert!(took == bare || took <= bare + cost * 2 + ack, "{transport}: {took} and {bare}");
    }
}

#[test]
fn an_incast_takes_as_long_as_its_receiver_computes() {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 21, link: link(10, Time::us(2)) });
    let flows: Vec<_> = (1..21).map(|src| flow(src, 0, 146_000, Time::ZERO)).collect();
    let cost = Time::us(5);
    for transport in headway_testing::one_in!(3, &["homa", "dctcp", "ndp"]) {
        let run = spec(topology.clone(), transport, flows.clone(), Time::s(20));
        let run = RunSpec { costs: HostCosts { packet: cost, ..HostCosts::default() }, ..run };
        let out = outcome(&run);
        assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done), "{transport}");
        let last = out.flows.iter().filter_map(|flow| flow.finish).max().expect("flows");
        let packets = 20 * Sizes::default().packets_of(146_000);
        assert!(last >= cost * packets, "{transport}: {last} for {packets} packets");
    }
}

#[test]
fn a_host_whose_link_goes_down_loses_what_leaves_and_goes_on_after() {
    for transport in ["homa", "dctcp", "amrt"] {
        for burst in [0, 20_000] {
            let costs = HostCosts {
                packet: Time::ns(900),
                message: Time::us(1),
                coalesce: Time::us(10),
                coalesce_packets: 8,
                burst,
            };
            let mut run = crowd(transport, costs);
            run.faults = vec![FaultSpec {
                links: LinkChoice::Some(vec!["h5->s0".into(), "s0->h5".into()]),
                kind: None,
                what: Fault::Down(Down {
                    switches: Vec::new(),
                    at: Time::us(40),
                    until: Time::us(400),
                    converge: Time::ZERO,
                }),
            }];
            let out = outcome(&run);
            assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done), "{transport}");
            assert!(out.flows[4].finish > Some(Time::us(400)), "{transport}");
            assert!(out.flows[4].drops.expect("counted") > 0, "{transport}: packets were lost as they left");
        }
    }
}
