//! Times by cause: they add up for every transport wherever packets may be lost, trimmed, sprayed and held back, they are the
//! same on several threads and change nothing, and where the answer is known they are that.

use crate::common;

use common::{flow, link, outcome, spec, told_by_cause};
use headway_fabric::Limit;
use headway_network::topology::{LeafSpine, SingleSwitch};
use headway_network::{
    Down, Fault, FaultSpec, FlowSpec, Forwarding, HostCosts, LinkChoice, Outcome, Routing, RunSpec,
    TimeByCause, TopologySpec, TransportSpec,
};
use headway_packet::PacketKind;
use headway_sim::{Around, run_within};
use headway_transport::registry;
use headway_units::{Rate, Time};
use proptest::prelude::*;

fn on_threads(run: &RunSpec, threads: usize) -> Outcome {
    run_within(run, Around { threads, ..Around::default() }, &mut |_| true).expect("a valid run")
}

fn told(out: &Outcome, flow: usize) -> TimeByCause {
    *out.by_cause(flow).expect("a flow that is done")
}

/// Every flow that is done has a record, and the parts add up to its completion time.
fn adds_up(out: &Outcome, what: &str) -> Result<(), TestCaseError> {
    for (number, record) in out.flows.iter().enumerate() {
        let by_cause = out.by_cause(number);
        prop_assert_eq!(
            by_cause.map(TimeByCause::sum),
            record.fct(),
            "{}: flow {} {:?}",
            what,
            number,
            by_cause
        );
    }
    Ok(())
}

fn leaf_spine() -> TopologySpec {
    let (host, spine) = (link(10, Time::us(2)), link(10, Time::us(2)));
    TopologySpec::LeafSpine(LeafSpine { racks: 3, hosts_per_rack: 4, spines: 2, host, spine })
}

/// Flows of many sizes between few hosts, several of one sender and several to one receiver.
fn busy(sizes: &[u64]) -> Vec<FlowSpec> {
    let flows = (0..).zip(sizes).map(|(i, bytes)| {
        let (src, dst) = (i % 7, (i * 5 + 7) % 12);
        flow(src, if dst == src { (dst + 1) % 12 } else { dst }, *bytes, Time::us(u64::from(i) * 3))
    });
    flows.collect()
}

fn faults() -> impl Strategy<Value = Vec<FaultSpec>> {
    let random = |(loss, duplicate, reorder): (f64, f64, f64)| {
        let what = Fault::Random { loss, duplicate, reorder, reorder_by: Time::us(40) };
        FaultSpec { links: LinkChoice::All, kind: None, what }
    };
    let down = |(at, lasts): (u64, u64)| {
        let what = Fault::Down(Down {
            switches: vec!["spine0".into()],
            at: Time::us(at),
            until: Time::us(at + lasts),
            converge: Time::us(5),
        });
        FaultSpec { links: LinkChoice::None, kind: None, what }
    };
    let some = (0.0..0.02, 0.0..0.02, 0.0..0.02).prop_map(random);
    prop_oneof![
        2 => Just(Vec::new()),
        3 => some.clone().prop_map(|one| vec![one]),
        1 => (10..200u64, 20..400u64).prop_map(down).prop_map(|one| vec![one]),
        1 => (some, (10..200u64, 20..400u64)).prop_map(move |(one, other)| vec![one, down(other)]),
    ]
}

fn costs() -> impl Strategy<Value = HostCosts> {
    let some = (0..800u64, 0..3_000u64, 0..10u64, 0..9_000u64);
    let some = some.prop_map(|(packet, message, coalesce, burst)| HostCosts {
        packet: Time::ns(packet),
        message: Time::ns(message),
        coalesce: Time::us(coalesce),
        coalesce_packets: 4,
        burst,
    });
    prop_oneof![2 => Just(HostCosts::default()), 1 => some]
}

/// Surroundings of a run, in addition to its transport.
fn surroundings() -> impl Strategy<Value = RunSpec> {
    let routing = prop_oneof![
        Just(Routing::Ecmp),
        Just(Routing::Spray),
        Just(Routing::LeastQueue),
        Just(Routing::Flowlet(Time::us(20))),
    ];
    // The shortest message, and one byte more than a packet holds.
    let size = prop_oneof![Just(1u64), Just(1_461), 2..40_000u64, 40_000..300_000u64];
    let parts = (
        proptest::collection::vec(size, 1..24),
        faults(),
        costs(),
        routing,
        4..40u32,
        (any::<bool>(), any::<bool>(), 0..300u64, 1..1_000u64),
    );
    parts.prop_map(|(sizes, faults, costs, routing, buffer, (cuts_through, queue, jitter, seed))| {
        let mut run = told_by_cause(spec(leaf_spine(), "ndp", busy(&sizes), Time::s(5)));
        run.fabric.buffer.data = Limit::Packets(buffer);
        run.fabric.routing = routing;
        if cuts_through {
            run.fabric.forwarding = Forwarding::CutThrough;
        }
        run.fabric.host_queue = (queue && costs.is_free()).then_some(Limit::Packets(64));
        run.faults = faults;
        run.costs = costs;
        run.jitter = Time::ns(jitter);
        run.seed = seed;
        run
    })
}

proptest! {
    #![proptest_config(headway_testing::cases!(3))]

    #[test]
    fn parts_add_up_for_every_transport_and_are_the_same_on_threads(around in surroundings(), threads in 2..5usize) {
        for name in registry::NAMES {
            let usual = spec(around.topology.clone(), name, around.flows.clone(), around.stop);
            let run = RunSpec { transports: usual.transports.clone(), ..around.clone() };
            let fabric = headway_network::FabricSpec { discipline: usual.fabric.discipline, ..around.fabric.clone() };
            let run = RunSpec { fabric, ..run };
            // Some transports need what not every host can do.
            let Ok(out) = headway_sim::run(&run, &mut |_| true) else { continue };
            adds_up(&out, name)?;
            prop_assert!(out.by_cause.iter().flatten().count() > 0, "{}: nothing is done", name);
            let not_asked = outcome(&RunSpec { sample: None, ..run.clone() });
            prop_assert!(on_threads(&run, threads) == out, "{} on {} threads", name, threads);
            prop_assert_eq!(not_asked.digest, out.digest, "{}", name);
            prop_assert_eq!(Outcome { by_cause: Vec::new(), ..out }, not_asked, "{}", name);
        }
    }
}

#[test]
fn parts_add_up_where_several_transports_share_hosts() {
    let mut flows = busy(&[200_000, 1_000, 90_000, 1_461, 300_000, 20_000, 150_000, 70_000]);
    flows.iter_mut().enumerate().for_each(|(number, flow)| flow.transport = (number % 2) as u8);
    let mut run = told_by_cause(spec(leaf_spine(), "dctcp", flows, Time::s(5)));
    run.transports.push(TransportSpec::new("cubic", Vec::new()));
    run.fabric.buffer.data = Limit::Packets(12);
    let out = outcome(&run);
    adds_up(&out, "two transports").expect("sums");
    assert_eq!(on_threads(&run, 3), out);
}

const FULL: u64 = 1_538;

/// A full packet on the wire, with what ports write into it.
fn full(name: &str) -> u64 {
    let telemetry = registry::find_entry(name).map(|entry| entry.capabilities.telemetry);
    FULL + u64::from(telemetry.expect("registered"))
}

fn star(hosts: u32) -> TopologySpec {
    TopologySpec::SingleSwitch(SingleSwitch { hosts, link: link(10, Time::us(5)) })
}

fn wire(bytes: u64) -> Time {
    Rate::gbps(10).time_of(bytes)
}

#[test]
fn a_packet_alone_is_serialised_and_propagates() {
    for name in registry::NAMES {
        let out =
            outcome(&told_by_cause(spec(star(3), name, vec![flow(0, 1, 1_460, Time::us(3))], Time::s(1))));
        let by_cause = told(&out, 0);
        let (two_links, delays) = (wire(full(name)) * 2, Time::us(10));
        assert_eq!((by_cause.serialise, by_cause.propagate), (two_links, delays), "{name}");
        // Transports that ask first wait for the answer.
        let rest = out.flows[0].fct().expect("done") - two_links - delays;
        assert_eq!(by_cause, TimeByCause { wait: rest, held: None, ..by_cause }, "{name}");
        assert_eq!((by_cause.host, by_cause.queue, by_cause.retransmit), Default::default(), "{name}");
    }
}

#[test]
fn of_two_packets_the_later_waits_where_they_meet() {
    // At one port of the switch.
    let to_one = vec![flow(0, 2, 1_460, Time::ZERO), flow(1, 2, 1_460, Time::ns(200))];
    let out = outcome(&told_by_cause(spec(star(3), "cubic", to_one, Time::s(1))));
    let by_cause = told(&out, 1);
    // The later one comes 200 ns after the first bit of the other.
    let waited = wire(FULL) - Time::ns(200);
    assert_eq!((by_cause.queue, by_cause.host), (waited, Time::ZERO));
    let (link, longest) = by_cause.held.expect("it waited");
    assert_eq!((out.links[link as usize].name.as_str(), longest), ("s0->h2", waited));
    assert_eq!((told(&out, 0).queue, told(&out, 0).held), (Time::ZERO, None));
    // At one host.
    let of_one = vec![flow(0, 1, 1_460, Time::ZERO), flow(0, 2, 1_460, Time::ns(200))];
    let out = outcome(&told_by_cause(spec(star(3), "cubic", of_one, Time::s(1))));
    let by_cause = told(&out, 1);
    assert_eq!((by_cause.host, by_cause.queue, by_cause.wait), (waited, Time::ZERO, Time::ZERO));
}

#[test]
fn what_a_lost_packet_costs_is_retransmission() {
    for name in registry::NAMES {
        let mut run = told_by_cause(spec(star(3), name, vec![flow(0, 1, 1_460, Time::ZERO)], Time::s(5)));
        let unharmed = told(&outcome(&run), 0);
        let links = LinkChoice::Some(vec!["s0->h1".into()]);
        run.faults = vec![FaultSpec { links, kind: Some(PacketKind::Data), what: Fault::DropNth(vec![1]) }];
        let out = outcome(&run);
        let by_cause = told(&out, 0);
        // The first time on the wire of the sender is serialisation as before; the rest of what it took more is this.
        let more = out.flows[0].fct().expect("done") - unharmed.sum();
        assert!(more > Time::us(10), "{name}");
        let again = by_cause.retransmit + (by_cause.wait - unharmed.wait);
        assert_eq!(
            (by_cause.serialise, again),
            (unharmed.serialise + wire(full(name)), more - wire(full(name))),
            "{name}"
        );
        // If a sender asks for permission again, that packet of its ends a part of the idle time.
        assert!(by_cause.retransmit > Time::ZERO, "{name}: {by_cause:?}");
    }
}

#[test]
fn processors_and_interfaces_of_hosts_are_at_hosts() {
    let costs = HostCosts {
        packet: Time::us(2),
        message: Time::us(3),
        coalesce: Time::us(7),
        ..HostCosts::default()
    };
    let run = told_by_cause(spec(star(3), "cubic", vec![flow(0, 1, 1_460, Time::ZERO)], Time::s(1)));
    let free = outcome(&run);
    let out = outcome(&RunSpec { costs, ..run });
    let more = out.flows[0].fct().expect("done") - free.flows[0].fct().expect("done");
    // A message and a packet to send, the window of the interface, and a packet and a message to receive.
    assert_eq!(more, Time::us(3 + 2 + 7 + 2 + 3));
    assert_eq!(told(&out, 0), TimeByCause { host: more, ..told(&free, 0) });
}
