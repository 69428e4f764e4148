//! Hosts that take time, against closed forms: machines here send all they have and answer nothing.

use crate::conductor::{Conductor, Watch};
use headway_fabric::{Buffer, Limit};
use headway_gauges::Gauge;
use headway_network::topology::SingleSwitch;
use headway_network::{
    FabricSpec, FlowSpec, HostCosts, LinkSpec, Network, Outcome, Progress, Routing, RunSpec, TopologySpec,
    TransportSpec,
};
use headway_packet::{HostId, Packet, PacketKind, Sizes};
use headway_transport::registry::Machine;
use headway_transport::{End, Endpoint, EndpointEvent, InitialWindow, Message};
use headway_units::{Rate, Time};
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Sends all it has in order, without a window or an answer, and notes when each packet reaches it.
struct Plain {
    host: u32,
    out: VecDeque<Packet>,
    missing: FxHashMap<u32, u64>,
    events: VecDeque<EndpointEvent>,
    /// Packets that each host received, host by host.
    received: Arc<Mutex<Vec<Vec<Receipt>>>>,
}

impl Endpoint for Plain {
    fn open_message(&mut self, _: Time, message: &Message) {
        let sizes = Sizes::default();
        for index in 0..sizes.packets_of(message.bytes) {
            let mut packet = Packet::new(PacketKind::Data, HostId(self.host), message.dst, message.id);
            let payload = sizes.payload_of(message.bytes, index);
            (packet.index, packet.tag, packet.message_bytes) = (index as u32, message.tag, message.bytes);
            (packet.payload, packet.wire) = (payload, sizes.data_wire(payload));
            self.out.push_back(packet);
        }
    }
    fn receive_packet(&mut self, now: Time, packet: &Packet) {
        self.received.lock().expect("one thread")[self.host as usize].push((now, packet.tag, packet.index));
        let missing = self.missing.entry(packet.tag).or_insert(packet.message_bytes);
        *missing -= u64::from(packet.payload);
        let (tag, src, message) = (packet.tag, packet.src, packet.message);
        self.events.push_back(EndpointEvent::Delivered { tag, src, message, bytes: packet.payload.into() });
        if *missing == 0 {
            self.events.push_back(EndpointEvent::Completed { tag, src, message });
        }
    }
    fn handle_timeout(&mut self, _: Time) {}
    fn forget_peer(&mut self, _: Time, _: HostId) {}
    fn abandon_message(&mut self, _: Time, _: End) {}
    fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
        self.out.pop_front()
    }
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }
    fn live_messages(&self) -> usize {
        self.out.len()
    }
    fn collect_gauges(&self, _: Time) -> Vec<Gauge> {
        Vec::new()
    }
}

const DELAY: Time = Time::us(1);
// More than the 39 that a property lets send, since one host receives.
const HOSTS: u32 = 40;
/// Costs of nothing.
const NONE: HostCosts = HostCosts {
    packet: Time::ZERO,
    message: Time::ZERO,
    coalesce: Time::ZERO,
    coalesce_packets: 0,
    burst: 0,
};

fn full() -> u64 {
    u64::from(Sizes::default().full_wire())
}

/// A full packet's time on any link.
fn slot() -> Time {
    Rate::gbps(10).time_of(full())
}

/// Time from the start of a full packet at a host to its arrival at another over the idle switch.
fn path() -> Time {
    slot() * 2 + DELAY * 2
}

/// A message of so many full packets.
fn flow(src: u32, dst: u32, packets: u64) -> FlowSpec {
    FlowSpec {
        src,
        dst,
        bytes: packets * u64::from(Sizes::default().payload),
        start: Time::ZERO,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        transport: 0,
        path: None,
        connection: None,
        stop: None,
    }
}

fn spec(flows: Vec<FlowSpec>, costs: HostCosts) -> RunSpec {
    let link = LinkSpec { rate: Rate::gbps(10), delay: DELAY };
    // No queue ever fills: the closed forms know no loss.
    let limit = Limit::Packets(10_000);
    RunSpec {
        topology: TopologySpec::SingleSwitch(SingleSwitch { hosts: HOSTS, link }),
        fabric: FabricSpec {
            discipline: "drop-tail".into(),
            params: Vec::new(),
            buffer: Buffer { data: limit, control: limit },
            routing: Routing::Ecmp,
            sizes: Sizes::default(),
            switch_latency: Time::ZERO,
            at: Vec::new(),
            forwarding: headway_network::Forwarding::StoreAndForward,
            host_queue: None,
            bonded: false,
            altered: Vec::new(),
            pfc: None,
            memory: None,
        },
        // It does not run: a specification has to name one, and the machines of these tests are `Plain`.
        transports: vec![TransportSpec::new("homa", Vec::new())],
        flows,
        seed: 1,
        stop: Time::s(10),
        sample: None,
        faults: Vec::new(),
        jitter: Time::ZERO,
        costs,
        until: headway_network::Until::Received,
        graph: None,
    }
}

/// Time at which a packet was received, its flow, and its position in that.
type Receipt = (Time, u32, u32);

/// A run, and the packets that each host's machine received.
fn run(spec: &RunSpec) -> (Outcome, Vec<Vec<Receipt>>) {
    let network = Arc::new(Network::build(&spec.topology, &spec.fabric).expect("a network"));
    let received = Arc::new(Mutex::new(vec![Vec::new(); HOSTS as usize]));
    let machine = |host| {
        Box::new(Plain {
            host,
            out: VecDeque::new(),
            missing: FxHashMap::default(),
            events: VecDeque::new(),
            received: Arc::clone(&received),
        }) as Machine
    };
    let mut progress = |_: &Progress| true;
    let mut watch = Watch {
        progress: &mut progress,
        tap: None,
        witness: None,
        source: None,
        room: u64::MAX,
        threads: 1,
        trial: None,
    };
    let machines = (0..HOSTS).map(machine).collect();
    let mut conductor = Conductor::new(spec, network, machines, &watch).expect("a run");
    assert!(conductor.run(&mut watch));
    let outcome = conductor.finish(false);
    let received = received.lock().expect("one thread").clone();
    (outcome, received)
}

/// Times at which flows finished.
fn finish(flows: Vec<FlowSpec>, costs: HostCosts) -> Vec<Time> {
    run(&spec(flows, costs)).0.flows.iter().map(|flow| flow.finish.expect("done")).collect()
}

/// Times at which the machine of `host` received its packets.
fn received(flows: Vec<FlowSpec>, costs: HostCosts, host: u32) -> Vec<Time> {
    run(&spec(flows, costs)).1[host as usize].iter().map(|seen| seen.0).collect()
}

#[test]
fn hosts_that_cost_nothing_do_what_they_did() {
    let flows = || vec![flow(0, 1, 5), flow(2, 1, 3)];
    let free = run(&spec(flows(), NONE));
    assert_eq!(free.1[1].len(), 8);
    // The last of five packets leaves four slots after the first.
    assert_eq!(finish(vec![flow(0, 1, 5)], NONE), [path() + slot() * 4]);
    let bounded = run(&spec(flows(), HostCosts { coalesce_packets: 4, ..NONE }));
    assert_eq!(bounded, free, "no window, so none that ends early");
}

proptest! {
    #![proptest_config(headway_testing::cases!(256))]

    #[test]
    fn a_lone_packet_is_later_by_two_hosts_costs(ns in 1u64..100_000, message_ns in 0u64..100_000) {
        let costs = HostCosts { packet: Time::ns(ns), message: Time::ns(message_ns), ..NONE };
        let (out, _) = run(&spec(vec![flow(0, 1, 1)], costs));
        prop_assert_eq!(out.flows[0].finish, Some(path() + (costs.packet + costs.message) * 2));
        prop_assert_eq!(out.flows[0].ideal, path(), "what the network alone gives");
    }

    #[test]
    fn packets_into_one_host_take_its_cost_each(senders in 1u64..39, above_ns in 0u64..20_000) {
        // No less than a packet's time on the link, so that the processor never waits for one.
        let cost = slot() + Time::ns(above_ns);
        let flows = (1..=senders as u32).map(|src| flow(src, 0, 1)).collect();
        let times = received(flows, HostCosts { packet: cost, ..NONE }, 0);
        // All senders take their cost at the same time; the first packet finds the processor idle.
        let expected: Vec<Time> = (1..=senders).map(|n| cost + path() + cost * n).collect();
        prop_assert_eq!(times, expected);
    }

    #[test]
    fn a_message_goes_at_the_rate_of_the_slower_of_processor_and_wire(
        packets in 1u64..60,
        cost_ns in 1u64..5_000,
    ) {
        let cost = Time::ns(cost_ns);
        let last = finish(vec![flow(0, 1, packets)], HostCosts { packet: cost, ..NONE });
        // The next packet is prepared while one is on the wire.
        prop_assert_eq!(last[0], cost + cost.max(slot()) * (packets - 1) + path() + cost);
    }

    #[test]
    fn bursts_pay_once_each(packets in 1u64..60, burst in 1u64..20, cost_ns in 1u64..50_000) {
        let cost = Time::ns(cost_ns);
        // A burst holds whole packets, so that 7 bytes more make no difference.
        let costs = HostCosts { packet: cost, burst: burst * full() + 7, ..NONE };
        let times = received(vec![flow(0, 1, packets)], costs, 1);
        prop_assert_eq!(times.len() as u64, packets);
        // Burst i is ready when the processor has done all before it, which begins as the one before it starts to leave.
        let (mut wire, mut ready, mut leaves) = (Time::ZERO, cost, Vec::new());
        for first in (0..packets).step_by(burst as usize) {
            let start = ready.max(wire);
            let here = burst.min(packets - first);
            leaves.extend((0..here).map(|n| start + slot() * n));
            (wire, ready) = (start + slot() * here, start + cost);
        }
        // Without coalescing nothing is merged at the receiver.
        let mut free = Time::ZERO;
        let expected: Vec<Time> = leaves
            .into_iter()
            .map(|at| {
                free = free.max(at + path()) + cost;
                free
            })
            .collect();
        prop_assert_eq!(times, expected);
    }

    #[test]
    fn packets_of_a_window_are_handed_up_together_at_its_end(packets in 1u64..60, window_ns in 1u64..40_000) {
        let window = Time::ns(window_ns);
        let times = received(vec![flow(0, 1, packets)], HostCosts { coalesce: window, ..NONE }, 1);
        let (mut end, mut expected) = (None, Vec::new());
        for arrives in (0..packets).map(|n| path() + slot() * n) {
            // Of one instant, packets arrive before the interface hands up: the window that ends there has them.
            let until = end.filter(|end| arrives <= *end).unwrap_or(arrives + window);
            end = Some(until);
            expected.push(until);
        }
        prop_assert_eq!(times, expected);
    }
}

#[test]
fn a_lone_packet_waits_for_the_whole_window_and_enough_packets_end_it() {
    let window = Time::us(50);
    let costs = HostCosts { coalesce: window, ..NONE };
    assert_eq!(finish(vec![flow(0, 1, 1)], costs), [path() + window]);
    let times = received(vec![flow(0, 1, 7)], HostCosts { coalesce_packets: 3, ..costs }, 1);
    let at = |n: u64| path() + slot() * n;
    // Three and three as the third of them arrives; the seventh waits for others in vain, in a window of its own.
    assert_eq!(times, [at(2), at(2), at(2), at(5), at(5), at(5), at(6) + window]);
}

#[test]
fn what_came_in_one_window_is_handled_as_one_burst() {
    let (window, cost) = (Time::us(50), Time::us(3));
    let costs = HostCosts { packet: cost, coalesce: window, burst: 64_000, ..NONE };
    let all = |packets| received(vec![flow(0, 1, packets)], costs, 1);
    assert_eq!(all(20), [cost + path() + window + cost; 20], "one burst out, one in");
    let apart = HostCosts { burst: 0, ..costs };
    let each = received(vec![flow(0, 1, 4)], apart, 1);
    // Sent every 3 us, so within the window, and each costs the receiver.
    assert_eq!(each, [1, 2, 3, 4].map(|n| cost + path() + window + cost * n));
    let two = received(vec![flow(0, 2, 2), flow(1, 2, 2)], costs, 2);
    assert_eq!(two, [1, 1, 2, 2].map(|n| cost + path() + window + cost * n), "messages are not merged");
}

#[test]
fn messages_wait_for_the_processor_of_their_host() {
    let cost = Time::us(5);
    let costs = HostCosts { message: cost, ..NONE };
    let flows: Vec<_> = (1..=4).map(|dst| flow(0, dst, 1)).collect();
    assert_eq!(finish(flows, costs), [1, 2, 3, 4].map(|n| cost * n + path() + cost));
    let flows: Vec<_> = (1..=4).map(|src| flow(src, 0, 1)).collect();
    // A message takes longer than a packet on the wire: the last three queue.
    assert_eq!(finish(flows, costs), [1, 2, 3, 4].map(|n| cost + path() + cost * n));
}

#[test]
fn a_host_that_sends_and_receives_has_one_processor() {
    let cost = slot();
    let costs = HostCosts { packet: cost, ..NONE };
    let alone = finish(vec![flow(0, 1, 100)], costs)[0];
    let both = finish(vec![flow(0, 1, 100), flow(1, 0, 100)], costs);
    // Each of two hundred packets costs each host as much as a place on its wire.
    assert_eq!(alone, cost + slot() * 99 + path() + cost);
    for end in both {
        assert!(end >= cost * 200, "{end}: two hundred jobs of {cost}");
        assert!(end <= cost * 200 + path() * 3, "{end}: the processor hardly rests");
    }
}

#[test]
fn a_burst_is_of_one_message_and_what_was_pulled_leaves_in_order() {
    let costs = HostCosts { packet: Time::us(20), burst: 64_000, ..NONE };
    let (out, seen) = run(&spec(vec![flow(0, 1, 2), flow(0, 2, 2), flow(0, 1, 3)], costs));
    let order: Vec<_> = seen[1].iter().map(|(_, tag, index)| (*tag, *index)).collect();
    assert_eq!(order, [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]);
    let finish: Vec<_> = out.flows.iter().map(|flow| flow.finish.expect("done")).collect();
    let cost = costs.packet;
    // Three bursts; the receiver handles each packet, which come faster than it can.
    assert_eq!(finish[1], cost * 2 + path() + cost * 2);
    assert_eq!(finish[0], cost + path() + cost * 2);
    assert_eq!(finish[2], cost * 3 + path() + cost * 3);
}
