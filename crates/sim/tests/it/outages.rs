//! Links that go down and come up, and whose rate and delay change during a run: answers known by hand, and every
//! transport through a failure.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_fabric::DropReason;
use headway_network::topology::{Dumbbell, LeafSpine};
use headway_network::{
    Change, Down, Fault, FaultSpec, FlowState, LinkChoice, LinkRecord, Outcome, Routing, RunSpec, Tap,
    TopologySpec,
};
use headway_packet::Packet;
use headway_sim::run_tapped;
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
    TopologySpec::LeafSpine(LeafSpine { racks: 2, hosts_per_rack: 4, spines: 2, host: both, spine: both })
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

/// Every packet that a tap saw.
#[derive(Default)]
struct Seen(Vec<(u32, Time, Packet)>);

impl Tap for Seen {
    fn started(&mut self, link: u32, start: Time, packet: &Packet) {
        self.0.push((link, start, *packet));
    }
}

/// A message of 40 full packets that are all sent at line rate, from time 0.
const PACKETS: u64 = 40;

fn volley(src: u32, dst: u32) -> headway_network::FlowSpec {
    flow(src, dst, PACKETS * 1460, Time::ZERO)
}

/// One message over links of 10 Gb/s and 10 us, its packets at a distance of one packet's time everywhere.
fn row(sources: u32) -> RunSpec {
    let access = link(10, DELAY);
    let topology = TopologySpec::Dumbbell(Dumbbell { senders: 2, receivers: 2, access, bottleneck: access });
    let flows = (0..sources).map(|src| volley(src, src + 2)).collect();
    // The last packet of a lone message leaves the second link at 60.4 us.
    let mut run = spec(topology, "amrt", flows, Time::us(62));
    run.fabric.discipline = "drop-tail".into();
    run
}

const DELAY: Time = Time::us(10);

/// Time at which packet `i` of a lone message starts on the second link.
fn start(i: u64) -> Time {
    packet() * (i + 1) + DELAY
}

/// Half a packet's time after packet `i` started there.
fn amid(i: u64) -> Time {
    start(i) + Time(packet().0 / 2)
}

#[test]
fn what_is_on_the_wire_what_waits_and_what_comes_is_lost() {
    // 10 us hold 8.1 packets, and the one that is being sent.
    let mut run = row(1);
    run.faults = vec![down(&["s0->s1"], amid(20), Time::MAX, Time::MAX)];
    let out = outcome(&run);
    let hurt = on(&out, "s0->s1");
    assert_eq!(hurt.faults.dropped_on_the_wire, 9, "packets 12 to 20");
    assert_eq!(hurt.counters.dropped, [0, 0, 0, 19, 0, 0], "packets 21 to 39");
    assert_eq!((hurt.counters.received, hurt.counters.dequeued), (40, 21));
    assert_eq!(hurt.busy, amid(20) - start(0), "it was sending all the time until then");
    assert_eq!((out.flows[0].delivered, out.flows[0].drops.expect("counted")), (12 * 1460, 28));
    assert_eq!(out.flows[0].state, FlowState::Unfinished);

    // Two at once: every second packet waits. 42 have come, 21 have begun to leave.
    let mut run = row(2);
    run.faults = vec![down(&["s0->s1"], amid(20), Time::MAX, Time::MAX)];
    let out = outcome(&run);
    let hurt = on(&out, "s0->s1");
    assert_eq!(hurt.faults.dropped_on_the_wire, 9);
    assert_eq!(hurt.counters.dropped, [0, 0, 0, 21 + 38, 0, 0], "those that waited, and those that came");
    assert_eq!(out.flows.iter().map(|f| f.drops.expect("counted")).sum::<u32>(), 9 + 21 + 38);
    assert_eq!(out.flows.iter().map(|f| f.delivered).sum::<u64>(), 12 * 1460);
}

#[test]
fn a_link_that_comes_up_takes_what_comes_from_then_on() {
    let mut run = row(1);
    run.faults = vec![down(&["s0->s1"], amid(20), amid(30), Time::MAX)];
    let out = outcome(&run);
    let hurt = on(&out, "s0->s1");
    assert_eq!((hurt.faults.dropped_on_the_wire, hurt.counters.dropped), (9, [0, 0, 0, 10, 0, 0]));
    assert_eq!(hurt.counters.dequeued, 21 + 9);
    assert_eq!(hurt.busy, packet() * (21 + 9) - Time(packet().0 / 2), "half a packet was cut off");
}

#[test]
fn a_host_whose_own_link_is_down_loses_what_it_sends_at_the_pace_of_its_link() {
    let mut run = row(1);
    let half = Time(packet().0 / 2);
    run.faults = vec![down(&["h0->s0"], packet() * 20 + half, packet() * 30 + half, Time::MAX)];
    let out = outcome(&run);
    let hurt = on(&out, "h0->s0");
    // Packet 20 is on the wire with the 8 before it; the next ones would have been sent in the meantime.
    assert_eq!(hurt.faults.dropped_on_the_wire, 9);
    assert_eq!(hurt.counters.dropped, [0, 0, 0, 10, 0, 0]);
    assert_eq!((hurt.counters.received, hurt.counters.dequeued), (40, 30));
    assert_eq!(out.flows[0].drops.expect("counted"), 19);
}

#[test]
fn routes_avoid_a_link_once_they_have_converged_and_return_once_they_have_again() {
    let mut run = spec(leaf_spine(), "amrt", vec![volley(0, 4)], Time::us(62));
    let (host, spine) = (link(10, DELAY), link(10, DELAY));
    run.topology = TopologySpec::LeafSpine(LeafSpine { racks: 2, hosts_per_rack: 4, spines: 2, host, spine });
    run.fabric.discipline = "drop-tail".into();
    run.fabric.routing = Routing::Pinned;
    run.flows[0].path = Some(1);
    run.faults = vec![down(&["leaf0->spine1"], amid(10), amid(20), packet() * 5)];
    let out = outcome(&run);
    let hurt = on(&out, "leaf0->spine1");
    assert_eq!(hurt.faults.dropped_on_the_wire, 9, "packets 2 to 10");
    assert_eq!(hurt.counters.dropped, [0, 0, 0, 5, 0, 0], "packets 11 to 15, before routes know");
    assert_eq!(on(&out, "leaf0->spine0").counters.dequeued, 10, "packets 16 to 25");
    assert_eq!(hurt.counters.dequeued, 11 + 14, "up to packet 10, and from packet 26");
    assert_eq!(out.flows[0].drops.expect("counted"), 14);

    // A link further on goes down: routes before it change as well.
    run.faults = vec![down(&["spine1->leaf1"], amid(10), Time::MAX, Time::ZERO)];
    let out = outcome(&run);
    assert_eq!(
        on(&out, "leaf0->spine0").counters.received,
        29 + 9,
        "from packet 11 on, and those that turn round"
    );
    let hurt = on(&out, "spine1->leaf1");
    assert_eq!((hurt.faults.dropped_on_the_wire, hurt.counters.drops()), (2, 0), "packets 0 and 1");
    // Those that are on their way to spine1 go on from there by the only other leaf, their own.
    assert_eq!(on(&out, "spine1->leaf0").counters.dequeued, 9, "packets 2 to 10 turn round");
}

#[test]
fn packets_without_a_way_are_dropped_where_they_are_and_said_so() {
    let mut run = row(1);
    run.faults = vec![down(&["s0->s1"], amid(20), Time::MAX, packet() * 5)];
    let out = outcome(&run);
    let hurt = on(&out, "s0->s1");
    assert_eq!(hurt.counters.dropped, [0, 0, 0, 5, 0, 0], "before routes know");
    assert_eq!(on(&out, "h0->s0").faults.dropped_without_route, 14, "packets 26 to 39");
    assert_eq!(out.flows[0].drops.expect("counted"), 9 + 5 + 14);
    assert!(
        out.warnings.iter().any(|w| w.starts_with("1 of 1 flows had not finished")),
        "{:?}",
        out.warnings
    );
    assert!(out.warnings.iter().any(|w| w.starts_with("14 packets had no route")), "{:?}", out.warnings);
}

/// Arrival of the last packet of a lone message, if nothing changes.
fn undisturbed() -> Time {
    start(PACKETS - 1) + packet() * 2 + DELAY * 2
}

fn finish(faults: Vec<FaultSpec>) -> Time {
    let mut run = row(1);
    run.stop = Time::ms(10);
    run.faults = faults;
    let out = outcome(&run);
    assert_whole(&run, &out);
    assert_eq!(on(&out, "s0->s1").rate, Rate::gbps(10), "as written");
    out.flows[0].finish.expect("done")
}

#[test]
fn a_rate_holds_from_the_next_packet_on() {
    assert_eq!(finish(Vec::new()), undisturbed());
    let half = Some(Rate::gbps(5));
    // Packet 20 finishes as it began; 19 others take twice as long, and the last hop goes on after the last.
    let halved = finish(vec![change(&["s0->s1"], amid(20), Time::MAX, half, None)]);
    assert_eq!(halved, undisturbed() + packet() * 19);
    // Until the sixth of them is being sent.
    let until = start(21) + packet() * 11;
    let back = finish(vec![change(&["s0->s1"], amid(20), until, half, None)]);
    assert_eq!(back, undisturbed() + packet() * 6);
    // Steps: a value holds until the next.
    let quarter = Rate::new(2_500_000_000);
    let steps = [
        change(&["s0->s1"], until, Time::MAX, quarter, None),
        change(&["s0->s1"], amid(20), Time::MAX, half, None),
    ];
    assert_eq!(finish(steps.into()), undisturbed() + packet() * (6 + 3 * 13));
    // A rate that grows after it fell: packets 27 to 39 drain in half a packet's time each, the last one as it comes.
    // The next link has its hands full with them from the end of packet 26 on.
    let fast = change(&["s0->s1"], until, Time::MAX, Some(Rate::gbps(20)), None);
    let slow = change(&["s0->s1"], amid(20), Time::MAX, half, None);
    let end_of_26 = start(21) + packet() * 12;
    assert_eq!(finish(vec![fast, slow]), end_of_26 + DELAY + packet() * 14 + DELAY);
}

#[test]
fn a_delay_holds_for_packets_that_start_from_then_on() {
    let grown = finish(vec![change(&["s0->s1"], amid(20), Time::MAX, None, Some(DELAY * 3))]);
    assert_eq!(grown, undisturbed() + DELAY * 2);
    let brief = finish(vec![change(&["s0->s1"], amid(20), amid(30), None, Some(DELAY * 9))]);
    // Packets 21 to 30 are 80 us late, and the last of them is the last of all.
    assert_eq!(brief, start(30) + packet() * 2 + DELAY * 10);

    // Over a shorter way later packets overtake those that are on the longer one.
    let mut run = row(1);
    run.stop = Time::ms(10);
    run.faults = vec![change(&["s0->s1"], amid(20), Time::MAX, None, Some(Time::ZERO))];
    let mut seen = Seen::default();
    let out = run_tapped(&run, &mut seen, &mut |_| true).expect("a valid run");
    assert_whole(&run, &out);
    let last_hop = out.links.iter().position(|l| l.name == "s1->h2").expect("a link") as u32;
    let order: Vec<u32> =
        seen.0.iter().filter(|s| s.0 == last_hop && s.2.is_data()).map(|s| s.2.index).collect();
    // Packet 21 starts 9 packets' times after packet 12, which needs 8.1 of them and one more for its last bit.
    assert_eq!(&order[..16], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 21, 13, 22]);
    assert_eq!(out.flows[0].finish, Some(undisturbed()), "the last link has no pause");
}

#[test]
fn a_tap_sees_starts_at_the_rate_of_the_time() {
    let mut run = row(2);
    run.stop = Time::ms(10);
    run.faults = vec![
        change(&["s0->s1", "h1->s0"], amid(5), amid(30), Some(Rate::gbps(1)), None),
        change(&["s0->s1"], amid(35), Time::MAX, Some(Rate::gbps(40)), Some(Time::us(1))),
    ];
    let mut seen = Seen::default();
    let out = run_tapped(&run, &mut seen, &mut |_| true).expect("a valid run");
    assert_eq!(out.digest, outcome(&run).digest);
    let number = out.links.iter().position(|l| l.name == "s0->s1").expect("a link") as u32;
    let here: Vec<_> = seen.0.iter().filter(|s| s.0 == number).collect();
    assert_eq!(here.len() as u64, out.links[number as usize].counters.dequeued);
    let rate = |at: Time| match at {
        at if at < amid(5) => Rate::gbps(10),
        at if at < amid(30) => Rate::gbps(1),
        at if at < amid(35) => Rate::gbps(10),
        _ => Rate::gbps(40),
    };
    for pair in here.windows(2) {
        let ends = pair[0].1 + rate(pair[0].1).time_of(pair[0].2.wire.into());
        assert!(ends <= pair[1].1, "{} and {} overlap", pair[0].1, pair[1].1);
    }
}

/// Two messages through one link: 80 packets leave it one after the other. From the time on that the last one has come,
/// the port is brought up to date only when the link changes, instead of by an event for each packet.
#[test]
fn what_left_a_port_before_a_change_left_as_things_were_then() {
    let seen_on = |faults: Vec<FaultSpec>, name: &str| {
        let mut run = row(2);
        (run.stop, run.faults) = (Time::ms(10), faults);
        let mut seen = Seen::default();
        let out = run_tapped(&run, &mut seen, &mut |_| true).expect("a valid run");
        assert_whole(&run, &out);
        let number = out.links.iter().position(|l| l.name == name).expect("a link") as u32;
        seen.0.iter().filter(|s| s.0 == number && s.2.is_data()).map(|s| s.1).collect::<Vec<_>>()
    };
    let half = change(&["s0->s1"], amid(60), Time::MAX, Some(Rate::gbps(5)), None);
    let starts = |i: u64| start(i) + packet() * i.saturating_sub(61);
    assert_eq!(seen_on(vec![half], "s0->s1"), (0..80).map(starts).collect::<Vec<_>>());
    // One packet starts while the delay is 80 us longer.
    let brief = change(&["s0->s1"], amid(60), amid(61), None, Some(DELAY * 9));
    let both = ["s1->h2", "s1->h3"].map(|name| seen_on(vec![brief.clone()], name)).concat();
    let late = both.iter().filter(|at| **at >= start(61) + packet() + DELAY * 9).count();
    assert_eq!((both.len(), late), (80, 1));
}

const SPINE_1: [&str; 4] = ["leaf0->spine1", "spine1->leaf0", "leaf1->spine1", "spine1->leaf1"];
const ROUTINGS: [Routing; 4] = [Routing::Ecmp, Routing::Spray, Routing::Pinned, Routing::Symmetric];

#[test]
fn every_transport_survives_a_link_that_goes_down_and_comes_up() {
    let all: Vec<_> = registry::NAMES.iter().flat_map(|t| ROUTINGS.map(|r| (t, r))).collect();
    for (transport, routing) in headway_testing::one_in!(5, &all) {
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

#[test]
fn every_transport_survives_a_switch_that_goes_down_for_ever_and_a_host_that_comes_back() {
    for transport in headway_testing::one_in!(3, registry::NAMES) {
        let mut run = across(transport);
        run.faults = vec![
            switch_down("spine1", Time::us(150), Time::MAX, Time::us(50)),
            down(&["h2->leaf0", "leaf0->h2"], Time::us(100), Time::us(400), Time::MAX),
            change(&["leaf1->spine0"], Time::us(120), Time::us(600), Some(Rate::gbps(3)), Some(Time::us(4))),
        ];
        let out = outcome(&run);
        assert_whole(&run, &out);
        for name in SPINE_1 {
            let busy = on(&out, name).busy;
            assert!(busy <= Time::us(150), "{transport}: {name} was busy for {busy}");
        }
    }
}

#[test]
fn links_between_an_only_spine_end_what_crosses_it_and_leave_the_rest_alone() {
    for transport in registry::NAMES {
        let mut run = across(transport);
        let both = link(10, Time::us(1));
        run.topology = TopologySpec::LeafSpine(LeafSpine {
            racks: 2,
            hosts_per_rack: 4,
            spines: 1,
            host: both,
            spine: both,
        });
        run.flows.push(flow(0, 1, 400_000, Time::us(300)));
        run.stop = Time::ms(300);
        run.faults = vec![switch_down("spine0", Time::us(60), Time::MAX, Time::us(50))];
        let out = outcome(&run);
        let (near, far) = out.flows.split_last().expect("flows");
        assert_eq!(near.state, FlowState::Done, "{transport}: within a rack");
        assert!(far.iter().all(|f| f.state != FlowState::Done), "{transport}");
        assert!(
            out.warnings.iter().any(|w| w.contains("12 of 13 flows had not finished")),
            "{:?}",
            out.warnings
        );
    }
}

/// The new order of events has the changes in it; all else is as without them.
#[test]
fn a_change_to_what_was_before_changes_nothing() {
    for transport in registry::NAMES {
        let run = across(transport);
        let mut other = run.clone();
        let (all, rate) = (LinkChoice::All, Some(Rate::gbps(10)));
        let what = Change { at: Time::us(130), until: Time::us(260), rate, delay: Some(Time::us(1)) };
        other.faults = vec![FaultSpec { links: all, kind: None, what: Fault::Change(what) }];
        let (plain, changed) = (outcome(&run), outcome(&other));
        assert_eq!(plain.flows, changed.flows, "{transport}");
        for (a, b) in plain.links.iter().zip(&changed.links) {
            assert_eq!((&a.counters, a.busy, &a.name), (&b.counters, b.busy, &b.name), "{transport}");
        }
    }
}

#[test]
fn a_look_ahead_in_a_large_network_meets_changes_too() {
    let both = link(10, Time::us(1));
    let topology = TopologySpec::LeafSpine(LeafSpine {
        racks: 16,
        hosts_per_rack: 60,
        spines: 8,
        host: both,
        spine: both,
    });
    let flows = (0..200u32).map(|i| flow(i, 959 - i * 3, 60_000, Time::us(u64::from(i)))).collect();
    let mut run = spec(topology, "dctcp", flows, Time::s(5));
    run.faults = vec![switch_down("spine3", Time::us(50), Time::us(400), Time::us(20))];
    let out = outcome(&run);
    assert!(out.links.len() > 2048, "a network for which the engine looks ahead");
    assert_whole(&run, &out);
    assert!(out.links.iter().map(link_down).sum::<u64>() > 0);
}
