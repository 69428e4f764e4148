//! Several transports at one host: each has a machine of its own there, and the wire is theirs in turns.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_fabric::DropReason;
use headway_network::topology::SingleSwitch;
use headway_network::{
    Down, Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, Outcome, RunSpec, Tap, TopologySpec,
    TransportSpec,
};
use headway_packet::Packet;
use headway_sim::run_tapped;
use headway_transport::registry;
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};

fn star(hosts: u32) -> TopologySpec {
    TopologySpec::SingleSwitch(SingleSwitch { hosts, link: link(10, Time::us(5)) })
}

fn of(transport: u8, mut flow: FlowSpec) -> FlowSpec {
    flow.transport = transport;
    flow
}

/// A run of several transports over the ports of the one at `home`.
fn mixture(transports: &[&str], home: &str, flows: Vec<FlowSpec>, hosts: u32) -> RunSpec {
    let mut run = spec(star(hosts), home, flows, Time::s(20));
    let named = |name: &&str| TransportSpec::new(*name, Vec::new());
    run.transports = transports.iter().map(named).collect();
    run
}

/// Four hosts send to the first, both transports from each of them, and it sends to them: between the same two hosts
/// both have messages of the same numbers, and every host has two machines.
fn shared_receiver(first: &str, second: &str, home: &str) -> RunSpec {
    let flows = (0..32u32).map(|i| {
        let other = 1 + i / 2 % 4;
        let (src, dst) = if i % 8 < 6 { (other, 0) } else { (0, other) };
        let bytes = [700, 30_000, 1_461, 200_000][i as usize / 8];
        of((i % 2) as u8, flow(src, dst, bytes, Time::us(u64::from(i / 8) * 20)))
    });
    mixture(&[first, second], home, flows.collect(), 5)
}

/// Asserts that every packet belongs to its flow: the flow must be between the packet's two ends.
struct Ends<'a> {
    flows: &'a [FlowSpec],
    /// Numbers of messages by sender, receiver and transport.
    numbers: BTreeMap<(u32, u32, u8), BTreeSet<u32>>,
}

impl Ends<'_> {
    fn of(flows: &[FlowSpec]) -> Ends<'_> {
        Ends { flows, numbers: BTreeMap::new() }
    }

    /// Receivers remember finished messages by a watermark: there must be no gaps below it.
    #[track_caller]
    fn assert_numbers(&self) {
        for (pair, numbers) in &self.numbers {
            assert_eq!(numbers.last().map(|last| *last as usize + 1), Some(numbers.len()), "{pair:?}");
        }
    }
}

impl Tap for Ends<'_> {
    fn started(&mut self, _link: u32, _start: Time, packet: &Packet) {
        let flow = &self.flows[packet.tag as usize];
        let (src, dst) = (packet.src.0, packet.dst.0);
        if packet.is_data() {
            self.numbers.entry((src, dst, flow.transport)).or_default().insert(packet.message);
        }
        assert!(
            (src, dst) == (flow.src, flow.dst) || (dst, src) == (flow.src, flow.dst),
            "{packet:?} is not of {flow:?}"
        );
    }
}

#[track_caller]
fn assert_whole(run: &RunSpec, out: &Outcome) {
    for (flow, record) in run.flows.iter().zip(&out.flows) {
        assert_eq!((record.state, record.delivered), (FlowState::Done, flow.bytes), "{flow:?} {record:?}");
    }
}

/// Counts by transport add up to those of ports and machines.
#[track_caller]
fn assert_adds_up(run: &RunSpec, out: &Outcome) {
    assert_eq!(out.by_transport.len(), run.transports.len());
    let parts =
        |get: fn(&headway_network::TransportRecord) -> u64| out.by_transport.iter().map(get).sum::<u64>();
    let links = |get: fn(&headway_fabric::PortCounters) -> u64| {
        out.links.iter().map(|link| get(&link.counters)).sum::<u64>()
    };
    assert_eq!(
        parts(|part| part.drops.expect("the simulator knows")),
        links(headway_fabric::PortCounters::drops)
    );
    assert_eq!(
        parts(|part| part.data_drops.expect("the simulator knows")),
        links(headway_fabric::PortCounters::data_drops)
    );
    let gauges: usize = out.host_gauges.iter().map(Vec::len).sum();
    assert_eq!(out.by_transport.iter().map(|part| part.gauges.len()).sum::<usize>(), gauges);
    let trips = out.by_transport.iter().filter_map(|part| part.round_trips.as_ref());
    let all = out.round_trips.as_ref().map_or(0, |trips| trips.count());
    assert_eq!(trips.map(|trips| trips.count()).sum::<u64>(), all);
}

#[test]
fn every_pair_shares_hosts_and_loses_and_doubles_nothing() {
    let mut dropped = 0;
    let all = registry::NAMES;
    let places = (0..all.len()).flat_map(|first| (first + 1..all.len()).map(move |second| (first, second)));
    let pairs: Vec<(&str, &str)> = places.map(|(first, second)| (all[first], all[second])).collect();
    for (first, second) in headway_testing::one_in!(9, &pairs) {
        for home in [first, second] {
            println!("{first} beside {second}, at home with {home}");
            let run = shared_receiver(first, second, home);
            let mut ends = Ends::of(&run.flows);
            let out = run_tapped(&run, &mut ends, &mut |_| true).expect("a valid run");
            ends.assert_numbers();
            assert_whole(&run, &out);
            assert_adds_up(&run, &out);
            assert_eq!(out.digest, outcome(&run).digest);
            dropped +=
                out.by_transport.iter().map(|part| part.drops.expect("the simulator knows")).sum::<u64>();
        }
    }
    assert!(dropped > 0, "no port was ever full");
}

#[test]
fn what_goes_wrong_on_links_is_repaired_beside_another_transport() {
    for pair in [["dctcp", "cubic"], ["amrt", "cubic"], ["ndp", "dctcp"], ["homa", "expresspass"]] {
        let mut run = shared_receiver(pair[0], pair[1], pair[0]);
        let what = Fault::Random { loss: 0.01, duplicate: 0.01, reorder: 0.01, reorder_by: Time::us(50) };
        run.faults = vec![FaultSpec { links: LinkChoice::All, kind: None, what }];
        let out = outcome(&run);
        assert_whole(&run, &out);
        assert_adds_up(&run, &out);
        assert_eq!(out.digest, outcome(&run).digest);
    }
}

#[test]
fn what_a_link_that_goes_down_costs_is_told_by_transport() {
    for pair in [["dctcp", "cubic"], ["amrt", "tcp"], ["ndp", "dctcp"], ["homa", "expresspass"]] {
        let mut run = shared_receiver(pair[0], pair[1], pair[0]);
        let (at, until) = (Time::us(60), Time::us(160));
        let links = LinkChoice::Some(["s0->h0", "h0->s0"].map(str::to_string).to_vec());
        let what = Fault::Down(Down { switches: Vec::new(), at, until, converge: Time::ZERO });
        run.faults = vec![FaultSpec { links, kind: None, what }];
        let out = outcome(&run);
        assert_whole(&run, &out);
        assert_adds_up(&run, &out);
        let down = |reason: DropReason| {
            out.links.iter().map(|link| link.counters.dropped[reason as usize]).sum::<u64>()
        };
        assert!(down(DropReason::LinkDown) + down(DropReason::ControlLinkDown) > 0, "{pair:?}");
        assert_eq!(out.digest, outcome(&run).digest);
    }
}

/// Flows of one transport between hosts of its own, one of them after the other.
fn apart(transport: u8, first: u32) -> Vec<FlowSpec> {
    let bytes = [300_000, 40_000, 1_000];
    let one = |i: usize| {
        of(transport, flow(first + i as u32 % 2, first + 2, bytes[i], Time::us(i as u64 * 30 + 1)))
    };
    (0..bytes.len()).map(one).collect()
}

fn finishes(out: &Outcome) -> Vec<(FlowState, Option<Time>)> {
    out.flows.iter().map(|record| (record.state, record.finish)).collect()
}

#[test]
fn flows_on_hosts_of_their_own_do_not_feel_a_mixture_elsewhere() {
    for name in registry::NAMES {
        let home = registry::find_entry(name).expect("it is registered").info.discipline;
        let mut alone = mixture(&[name], name, apart(0, 0), 6);
        let other = if *name == "dctcp" { "cubic" } else { "dctcp" };
        let mut beside = mixture(&[name, other], name, [apart(0, 0), apart(1, 3)].concat(), 6);
        (alone.fabric.discipline, beside.fabric.discipline) = (home.into(), home.into());
        let (alone, beside) = (outcome(&alone), outcome(&beside));
        assert_eq!(finishes(&alone)[..], finishes(&beside)[..3], "{name}");
        assert!(alone.by_transport.is_empty(), "{name}: one transport has no parts");
    }
}

#[test]
fn a_machine_does_not_feel_another_of_its_host_that_is_quiet() {
    let later = |mut flow: FlowSpec| {
        flow.start += Time::ms(500);
        flow
    };
    for name in registry::NAMES {
        let late: Vec<FlowSpec> = apart(0, 0).into_iter().map(later).collect();
        let other = if *name == "dctcp" { "cubic" } else { "dctcp" };
        let alone = outcome(&mixture(&[name], name, late.clone(), 3));
        let beside = outcome(&mixture(&[name, other], name, [late, apart(1, 0)].concat(), 3));
        assert_eq!(finishes(&alone)[..], finishes(&beside)[..3], "{name}");
        assert!(beside.flows[3..].iter().all(|record| record.state == FlowState::Done), "{name}");
    }
}

#[test]
fn machines_that_are_never_quiet_have_equal_shares_of_their_wire() {
    for pair in [["dctcp", "cubic"], ["tcp", "rcp"], ["cubic", "mptcp-lia"]] {
        let flows =
            vec![of(0, flow(0, 1, 1_000_000_000, Time::ZERO)), of(1, flow(0, 2, 1_000_000_000, Time::ZERO))];
        let mut run = mixture(&pair, pair[1], flows, 3);
        run.stop = Time::ms(40);
        let out = outcome(&run);
        let [first, second] = [0, 1].map(|i| out.flows[i].delivered as f64);
        assert!(first + second > 0.85 * 40e-3 * 10e9 / 8.0, "{pair:?}: {first} and {second} bytes");
        assert!((first / second - 1.0).abs() < 0.1, "{pair:?}: {first} and {second} bytes");
    }
}
