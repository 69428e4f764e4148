//! Links that go down and come up, and whose rate and delay change during a run: answers known by hand, and every
//! transport through a failure.

mod common;

use common::{flow, link, outcome, spec};
use headway_fabric::DropReason;
use headway_sim::{
    Change, Down, Fault, FaultSpec, FlowState, LinkChoice, LinkRecord, Outcome, Routing, RunSpec, TopologySpec,
};
use headway_transport::registry;
use headway_units::{Rate, Time};

/// A full packet on the wire, and the time of its bits at 10 Gb/s.
const FULL: u64 = 1538;

fn packet() -> Time {
    Rate::gbps(10).time_of(FULL)
}

/// Two spines between two racks of four hosts.
fn leaf_spine() -> TopologySpec {
    let both = link(10, Time::us(1));
    TopologySpec::LeafSpine { racks: 2, hosts_per_rack: 4, spines: 2, host: both, spine: both }
}

/// One bottleneck of 10 Gb/s.
fn dumbbell() -> TopologySpec {
    let access = link(10, Time::us(1));
    TopologySpec::Dumbbell { senders: 2, receivers: 2, access, bottleneck: access }
}

fn named(names: &[&str]) -> LinkChoice {
    LinkChoice::Some(names.iter().map(ToString::to_string).collect())
}

fn down(names: &[&str], at: Time, until: Time, converge: Time) -> FaultSpec {
    let what = Fault::Down(Down { switches: Vec::new(), at, until, converge });
    FaultSpec { links: named(names), kind: None, what }
}

fn switch_down(name: &str, at: Time, until: Time, converge: Time) -> FaultSpec {
    let what = Fault::Down(Down { switches: vec![name.into()], at, until, converge });
    FaultSpec { links: LinkChoice::None, kind: None, what }
}

fn change(names: &[&str], at: Time, until: Time, rate: Option<Rate>, delay: Option<Time>) -> FaultSpec {
    FaultSpec { links: named(names), kind: None, what: Fault::Change(Change { at, until, rate, delay }) }
}

fn on<'a>(out: &'a Outcome, name: &str) -> &'a LinkRecord {
    out.links.iter().find(|l| l.name == name).expect("a link of that name")
}

fn link_down(record: &LinkRecord) -> u64 {
    let reasons = [DropReason::LinkDown, DropReason::ControlLinkDown];
    reasons.map(|reason| record.counters.dropped[reason as usize]).iter().sum()
}

#[track_caller]
fn assert_whole(run: &RunSpec, out: &Outcome) {
    for (spec, flow) in run.flows.iter().zip(&out.flows) {
        let transport = &run.transports[0].name;
        assert_eq!(flow.state, FlowState::Done, "{transport}: {spec:?} {flow:?}");
        assert_eq!(flow.delivered, spec.bytes, "{transport}: {spec:?}");
    }
}

/// Every host of one rack sends to the other, both ways.
fn across(transport: &str) -> RunSpec {
    let one = |i: u32| {
        let (src, dst) = (i % 8, (i * 3 + 4) % 8);
        let dst = if src / 4 == dst / 4 { (dst + 4) % 8 } else { dst };
        flow(src, dst, 400_000 + u64::from(i), Time::us(u64::from(i) * 11))
    };
    spec(leaf_spine(), transport, (0..12).map(one).collect(), Time::s(20))
}

const SPINE_1: [&str; 4] = ["leaf0->spine1", "spine1->leaf0", "leaf1->spine1", "spine1->leaf1"];

#[test]
fn every_transport_survives_a_link_that_goes_down_and_comes_up() {
    for transport in registry::NAMES {
        for routing in [Routing::Ecmp, Routing::Spray, Routing::Pinned, Routing::Symmetric] {
            let mut run = across(transport);
            run.fabric.routing = routing;
            let both = ["leaf0->spine1", "spine1->leaf0"];
            run.faults = vec![down(&both, Time::us(150), Time::us(700), Time::us(50))];
            let out = outcome(&run);
            assert_whole(&run, &out);
            assert_eq!(out.digest, outcome(&run).digest, "{transport}");
            let hurt = on(&out, "leaf0->spine1");
            assert!(
                link_down(hurt) + hurt.faults.dropped_on_the_wire > 0,
                "{transport} under {routing:?}: the failure hit nothing"
            );
        }
    }
}
