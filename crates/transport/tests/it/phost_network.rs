//! pHost on one switch: hosts with a 10 Gb/s link each, a round trip of exactly 10 frames.
//!
//! Each port of the switch serves control packets first and has room for 10 data packets.

use headway_packet::{HostId, Packet, PacketKind, Sizes};
use headway_transport::endpoint::{Checked, Path};
use headway_transport::phost::{FreeRule, Mode, Phost, PhostEndpoint, PhostParams, Policy};
use headway_transport::{Endpoint, EndpointEvent, HostContext, InitialWindow, Message, Transport};
use headway_units::{Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

const NIC: Rate = Rate::gbps(10);
const SLOT: Time = Time::ps(1_230_400);
// 84 bytes at 10 Gb/s.
const CONTROL: Time = Time::ps(67_200);
/// One way over one link: two frames, two control packets and four of these make ten slots.
const DELAY: Time = Time::ps((10 * SLOT.0 - 2 * SLOT.0 - 2 * CONTROL.0) / 4);
const RTT: Time = Time::ps(10 * SLOT.0);
const FULL: u64 = 1460;
// A bandwidth-delay product of ten packets, and two.
const LIMIT: usize = 12;
const BUFFER: usize = 10;

/// The next event; packets are kept by number so that the order is by time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Open(usize),
    /// A host's link is free again.
    HostFree(usize),
    /// The switch's link to a host is free again.
    SwitchFree(usize),
    AtSwitch(usize),
    AtHost(usize),
    Timer(usize),
}

struct Host {
    machine: Checked<PhostEndpoint>,
    busy: bool,
    /// Instant of the earliest scheduled `Timer` step.
    armed: Option<Time>,
    /// Towards this host, control first.
    egress: [VecDeque<Packet>; 2],
    egress_busy: bool,
    queue_max: usize,
}

/// A packet that left a host.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    packet: Packet,
}

/// Chooses the packets that are lost on their way to the switch.
type Loss = Box<dyn FnMut(Time, &Packet) -> bool>;

struct Network {
    hosts: Vec<Host>,
    steps: BinaryHeap<Reverse<(Time, u64, Step)>>,
    sequence: u64,
    packets: Vec<Packet>,
    messages: Vec<(usize, Message)>,
    lose: Loss,
    departures: Vec<Departure>,
    drops: usize,
    /// Delivery times of new packets, by tag.
    delivered: BTreeMap<u32, Vec<Time>>,
    completed: BTreeMap<u32, Time>,
    acknowledged: BTreeMap<u32, Time>,
}

impl Network {
    fn new(hosts: usize, params: &PhostParams) -> Network {
        let host = |n| {
            let path = |_| Path {
                longest_timeout: Time::MAX,
                base_rtt: RTT,
                max_rtt: RTT * 2,
                bottleneck: NIC,
                paths: 0,
                hops: 1,
            };
            let context = HostContext {
                host: HostId(n as u32),
                nic: NIC,
                sizes: Sizes::default(),
                seed: 0,
                path: Box::new(path),
            };
            let machine = Checked::new(Phost::make_endpoint(params, context));
            let egress = [VecDeque::new(), VecDeque::new()];
            Host { machine, busy: false, armed: None, egress, egress_busy: false, queue_max: 0 }
        };
        Network {
            hosts: (0..hosts).map(host).collect(),
            steps: BinaryHeap::new(),
            sequence: 0,
            packets: Vec::new(),
            messages: Vec::new(),
            lose: Box::new(|_, _| false),
            departures: Vec::new(),
            drops: 0,
            delivered: BTreeMap::new(),
            completed: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
        }
    }

    /// A message from `src`; its tag is its number among those of the network.
    fn add_message(&mut self, at: Time, src: usize, dst: u32, packets: u64) -> &mut Message {
        let tag = self.messages.len() as u32;
        let same = self.messages.iter().filter(|(s, m)| *s == src && m.dst.0 == dst).count();
        let message = Message {
            id: same as u32,
            dst: HostId(dst),
            bytes: packets * FULL,
            class: 0,
            deadline: None,
            initial_window: InitialWindow::default(),
            responsive: true,
            entropy: 0,
            tag,
        };
        self.schedule_step(at, Step::Open(tag as usize));
        self.messages.push((src, message));
        &mut self.messages[tag as usize].1
    }

    fn schedule_step(&mut self, at: Time, step: Step) {
        self.steps.push(Reverse((at, self.sequence, step)));
        self.sequence += 1;
    }

    fn run_until(&mut self, until: Time) {
        while let Some(Reverse((now, _, step))) = self.steps.pop() {
            if now > until {
                self.schedule_step(now, step);
                return;
            }
            self.take_step(now, step);
        }
    }

    fn take_step(&mut self, now: Time, step: Step) {
        let host = match step {
            Step::Open(n) => {
                let (src, message) = self.messages[n];
                self.hosts[src].machine.open_message(now, &message);
                src
            }
            Step::HostFree(host) => {
                self.hosts[host].busy = false;
                host
            }
            Step::AtHost(n) => {
                let packet = self.packets[n];
                self.hosts[packet.dst.0 as usize].machine.receive_packet(now, &packet);
                packet.dst.0 as usize
            }
            Step::Timer(host) => {
                if self.hosts[host].armed == Some(now) {
                    self.hosts[host].armed = None;
                }
                if self.hosts[host].machine.next_timeout().is_some_and(|at| at <= now) {
                    self.hosts[host].machine.handle_timeout(now);
                }
                host
            }
            Step::AtSwitch(n) => {
                let packet = self.packets[n];
                let port = &mut self.hosts[packet.dst.0 as usize];
                if packet.is_data() && port.egress[1].len() == BUFFER {
                    self.drops += 1;
                    return;
                }
                port.egress[usize::from(packet.is_data())].push_back(packet);
                port.queue_max = port.queue_max.max(port.egress[1].len());
                return self.forward_packet(now, packet.dst.0 as usize);
            }
            Step::SwitchFree(host) => {
                self.hosts[host].egress_busy = false;
                return self.forward_packet(now, host);
            }
        };
        self.drain_events(now, host);
        self.pull_packet(now, host);
        let next = self.hosts[host].machine.next_timeout().map(|at| at.max(now));
        if let Some(at) = next.filter(|at| self.hosts[host].armed.is_none_or(|armed| *at < armed)) {
            self.hosts[host].armed = Some(at);
            self.schedule_step(at, Step::Timer(host));
        }
    }

    fn drain_events(&mut self, now: Time, host: usize) {
        while let Some(event) = self.hosts[host].machine.poll_event() {
            match event {
                EndpointEvent::Delivered { tag, .. } => self.delivered.entry(tag).or_default().push(now),
                EndpointEvent::Completed { tag, .. } => {
                    assert!(self.completed.insert(tag, now).is_none(), "complete twice");
                }
                EndpointEvent::Acknowledged { tag } => {
                    assert!(self.acknowledged.insert(tag, now).is_none(), "acknowledged twice");
                }
                EndpointEvent::Failed { .. } => panic!("given up"),
            }
        }
    }

    fn pull_packet(&mut self, now: Time, host: usize) {
        if self.hosts[host].busy {
            return;
        }
        let Some(packet) = self.hosts[host].machine.poll_transmit(now) else { return };
        self.departures.push(Departure { at: now, packet });
        self.hosts[host].busy = true;
        let end = now + NIC.time_of(packet.wire.into());
        self.schedule_step(end, Step::HostFree(host));
        if !(self.lose)(now, &packet) {
            self.carry_packet(end + DELAY, packet, Step::AtSwitch);
        }
    }

    fn forward_packet(&mut self, now: Time, host: usize) {
        if self.hosts[host].egress_busy {
            return;
        }
        let [control, data] = &mut self.hosts[host].egress;
        let Some(packet) = control.pop_front().or_else(|| data.pop_front()) else { return };
        self.hosts[host].egress_busy = true;
        let end = now + NIC.time_of(packet.wire.into());
        self.schedule_step(end, Step::SwitchFree(host));
        self.carry_packet(end + DELAY, packet, Step::AtHost);
    }

    fn carry_packet(&mut self, at: Time, packet: Packet, step: fn(usize) -> Step) {
        self.packets.push(packet);
        self.schedule_step(at, step(self.packets.len() - 1));
    }

    /// Packets of `kind` that left `host`.
    fn sent_by(&self, host: u32, kind: PacketKind) -> Vec<Departure> {
        let wanted = |d: &&Departure| d.packet.src == HostId(host) && d.packet.kind == kind;
        self.departures.iter().filter(wanted).copied().collect()
    }

    fn sent_by_all(&self, kind: PacketKind) -> usize {
        self.departures.iter().filter(|d| d.packet.kind == kind).count()
    }

    /// New packets of a message delivered in `[from, to)`.
    fn delivered_between(&self, tag: u32, from: Time, to: Time) -> usize {
        self.delivered[&tag].iter().filter(|t| (from..to).contains(*t)).count()
    }
}

fn policy_params(mode: Mode, scheduler: Policy) -> PhostParams {
    PhostParams { mode, scheduler, source_scheduler: scheduler, ..PhostParams::default() }
}

/// Loses the first packet that `hit` says.
fn lose_once(hit: fn(&Packet) -> bool) -> Loss {
    let mut done = false;
    Box::new(move |_, p| {
        let lost = !done && hit(p);
        done |= lost;
        lost
    })
}

const MODES: [Mode; 2] = [Mode::Paced, Mode::Arrival];

/// Arrival of the last packet of a lone message of `packets`: the announcement goes ahead of it.
fn lone_completion(packets: u64) -> Time {
    CONTROL + SLOT * packets + SLOT + DELAY * 2
}

#[test]
fn a_message_within_the_product_is_ideal_and_needs_no_token() {
    for mode in MODES {
        for packets in [1, 7, 10] {
            let mut net = Network::new(2, &policy_params(mode, Policy::Srpt));
            net.add_message(Time::ZERO, 0, 1, packets);
            net.run_until(Time::ms(10));
            assert_eq!(net.completed[&0], lone_completion(packets));
            assert_eq!(net.acknowledged[&0], lone_completion(packets) + CONTROL * 2 + DELAY * 2);
            assert_eq!(net.sent_by(1, PacketKind::Token).len(), 0);
            assert_eq!(net.departures.len() as u64, 2 + packets, "announcement, data, finished");
        }
    }
}

#[test]
fn a_lone_message_of_ten_products_has_no_bubble() {
    for mode in MODES {
        let mut net = Network::new(2, &policy_params(mode, Policy::Srpt));
        net.add_message(Time::ZERO, 0, 1, 100);
        net.run_until(Time::ms(10));
        assert_eq!(net.completed[&0], lone_completion(100), "{mode:?}");
        assert_eq!(net.sent_by(1, PacketKind::Token).len(), 90, "one for each packet that is not free");
        assert!(net.hosts[1].queue_max <= 1);
    }
}

#[test]
fn the_yaps_rule_costs_a_long_message_a_round_trip() {
    for mode in MODES {
        let yaps = PhostParams { free_rule: FreeRule::Yaps, ..policy_params(mode, Policy::Srpt) };
        let mut net = Network::new(2, &yaps);
        net.add_message(Time::ZERO, 0, 1, 100);
        net.run_until(Time::ms(10));
        // Announcement over, token back: a round trip of control packets.
        assert_eq!(net.completed[&0], lone_completion(100) + CONTROL * 3 + DELAY * 4, "{mode:?}");
        assert_eq!(net.sent_by(1, PacketKind::Token).len(), 100);
    }
}

#[test]
fn a_source_of_two_messages_to_two_idle_receivers_keeps_its_link_full() {
    let mut net = Network::new(3, &policy_params(Mode::Paced, Policy::Fair));
    for dst in [1, 2] {
        net.add_message(Time::ZERO, 0, dst, 1000);
    }
    net.run_until(SLOT * 900);
    let data = net.sent_by(0, PacketKind::Data);
    let steady: Vec<_> = data.iter().filter(|d| d.at > RTT * 3 && d.at < SLOT * 900).collect();
    for pair in steady.windows(2) {
        assert!(pair[1].at <= pair[0].at + SLOT, "idle after {}", pair[0].at);
    }
    // Both receivers offer the whole link: of their tokens, half expire.
    for dst in [1, 2] {
        let tokens = net.sent_by(dst, PacketKind::Token).len() as f64;
        let used = steady.iter().filter(|d| d.packet.dst == HostId(dst)).count() as f64;
        assert!((0.45..0.55).contains(&(used / tokens)), "{used} of {tokens} tokens of {dst}");
    }
    net.run_until(Time::ms(10));
    assert_eq!(net.completed.len(), 2, "what expired is asked for again");
}

#[test]
fn a_source_that_stops_answering_gets_the_limit_of_tokens_and_others_its_slots() {
    for (mode, policy) in MODES.into_iter().flat_map(|m| [(m, Policy::Fair), (m, Policy::Srpt)]) {
        let mut net = Network::new(3, &policy_params(mode, policy));
        // The silent one is shorter, so that SRPT prefers it.
        net.add_message(Time::ZERO, 0, 2, 4000).responsive = false;
        net.add_message(Time::ZERO, 1, 2, 5000);
        net.run_until(SLOT * 1000);
        let to_silent: Vec<_> =
            net.sent_by(2, PacketKind::Token).into_iter().filter(|d| d.packet.dst == HostId(0)).collect();
        assert!(to_silent.len() > 2 * LIMIT, "it is tried again and again");
        for (n, first) in to_silent.iter().enumerate() {
            let within = to_silent[n..].iter().take_while(|d| d.at < first.at + RTT * 3).count();
            assert!(
                within <= LIMIT,
                "{mode:?} {policy:?}: {within} tokens in three round trips after {}",
                first.at
            );
        }
        // The other one has all the link, but for paced slots that went to the silent one.
        let slots = net.delivered_between(1, SLOT * 200, SLOT * 1000);
        // The silent source gets the limit in each downgrade time, which is three round trips of ten slots.
        let least = if mode == Mode::Paced { 800 - 800 * LIMIT / 30 } else { 800 };
        assert!(slots >= least - 10, "{mode:?} {policy:?}: {slots} packets in 800 slots");
    }
}

/// Two fair sharers of the link to host 2; the first has `packets`, the second goes on.
fn two_sharers(params: &PhostParams, packets: u64, other: u32) -> Network {
    let mut net = Network::new(4, params);
    for (src, dst, packets, slot) in [(0, 2, packets, 0), (1, other, 5000, 1)] {
        net.add_message(Time::ZERO, src, dst, packets).initial_window =
            InitialWindow { share: 2, phase: slot, ..InitialWindow::default() };
    }
    net
}

#[test]
fn after_a_message_ends_another_gets_its_share_three_round_trips_later() {
    // AMRT §III-B, Fig. 3.
    let mut net = two_sharers(&policy_params(Mode::Arrival, Policy::Fair), 100, 2);
    net.run_until(SLOT * 1000);
    let end = net.completed[&0];
    let per_rtt = |n: u64| net.delivered_between(1, end + RTT * n, end + RTT * (n + 1));
    assert!((4..=6).contains(&per_rtt(0)) && (4..=6).contains(&per_rtt(1)), "half the link at first");
    assert!((4..=6).contains(&per_rtt(2)), "until three round trips have passed");
    for n in 3..40 {
        assert!((9..=11).contains(&per_rtt(n)), "then all of it: {} in round trip {n}", per_rtt(n));
    }
    assert!(net.hosts[2].queue_max <= 2, "and no queue");
    // A paced receiver fills the gap at once.
    let mut net = two_sharers(&policy_params(Mode::Paced, Policy::Fair), 100, 2);
    net.run_until(SLOT * 1000);
    let end = net.completed[&0];
    assert!(net.delivered_between(1, end, end + RTT * 3) >= 28);
}

#[test]
fn a_message_to_another_receiver_gains_nothing() {
    // AMRT §III-B, Fig. 2: the first message ends at host 2, the second goes to host 3.
    let mut net = two_sharers(&policy_params(Mode::Arrival, Policy::Fair), 100, 3);
    net.run_until(SLOT * 1000);
    let end = net.completed[&0];
    for n in 0..50 {
        let packets = net.delivered_between(1, end + RTT * n, end + RTT * (n + 1));
        assert!((4..=6).contains(&packets), "{packets} in round trip {n}");
    }
}

#[test]
fn with_srpt_a_shorter_newcomer_stops_the_other_until_it_ends() {
    // AMRT §VII, Fig. 13 (a).
    for mode in MODES {
        let mut net = Network::new(3, &policy_params(mode, Policy::Srpt));
        net.add_message(Time::ZERO, 0, 2, 2000);
        net.add_message(SLOT * 200, 1, 2, 300);
        net.run_until(SLOT * 3000);
        let (start, end) = (SLOT * 200 + RTT * 4, net.completed[&1]);
        assert!(net.delivered_between(0, start, end - RTT) == 0, "{mode:?}: the long one sends nothing");
        assert!(end < SLOT * 200 + SLOT * 300 + RTT * 4, "{mode:?}: {end}");
        assert!(net.completed[&0] < SLOT * 2300 + RTT * 5, "{mode:?}: and has the link back at once");
    }
}

#[test]
fn a_lost_packet_is_asked_for_again_once() {
    for mode in MODES {
        let mut net = Network::new(2, &policy_params(mode, Policy::Srpt));
        net.add_message(Time::ZERO, 0, 1, 100);
        net.lose = lose_once(|p| p.is_data() && p.index == 40);
        net.run_until(Time::ms(10));
        assert_eq!(net.sent_by(0, PacketKind::Data).len(), 101, "{mode:?}: one extra packet");
        let again: Vec<_> =
            net.sent_by(1, PacketKind::Token).into_iter().filter(|d| d.packet.index == 40).collect();
        assert_eq!(again.len(), 2);
        // In a paced pass packet 40 comes after the last one; otherwise as soon as it is overdue.
        let last = net.sent_by(1, PacketKind::Token).into_iter().find(|d| d.packet.index == 99);
        let from = if mode == Mode::Paced {
            last.expect("a token").at + SLOT * 12
        } else {
            again[0].at + RTT * 2 + SLOT * 2
        };
        assert_eq!(again[1].at, from, "{mode:?}");
        assert!(net.completed[&0] <= (from + RTT + SLOT).max(lone_completion(104)), "{mode:?}");
    }
}

#[test]
fn a_lost_token_is_made_up_for() {
    for mode in MODES {
        let mut net = Network::new(2, &policy_params(mode, Policy::Srpt));
        net.add_message(Time::ZERO, 0, 1, 100);
        net.lose = Box::new(|_, p| p.kind == PacketKind::Token && p.token == 55);
        net.run_until(Time::ms(10));
        assert_eq!(net.sent_by(0, PacketKind::Data).len(), 100, "{mode:?}: no packet is sent twice");
        assert!(net.completed[&0] < lone_completion(100) + RTT * 5);
    }
}

#[test]
fn a_message_of_which_everything_was_lost_is_announced_again() {
    for mode in MODES {
        let mut net = Network::new(2, &policy_params(mode, Policy::Srpt));
        net.add_message(Time::ZERO, 0, 1, 100);
        net.lose = Box::new(|now, _| now < SLOT * 30);
        net.run_until(Time::ms(10));
        let announced: Vec<_> = net.sent_by(0, PacketKind::Rts).iter().map(|d| d.at).collect();
        // The tenth packet leaves then, and a largest round trip is two of the smallest.
        let again = CONTROL + SLOT * 9 + RTT * 6;
        assert_eq!(announced, [Time::ZERO, again], "three largest round trips after the last packet");
        let restart = again + CONTROL * 4 + DELAY * 4;
        assert!(
            net.completed[&0] < restart + lone_completion(100) + SLOT,
            "{mode:?}: then one packet a slot"
        );
    }
}

#[test]
fn a_lost_acknowledgement_is_sent_again() {
    for mode in MODES {
        let mut net = Network::new(2, &policy_params(mode, Policy::Srpt));
        net.add_message(Time::ZERO, 0, 1, 5);
        net.lose = lose_once(|p| p.kind == PacketKind::Finished);
        net.run_until(Time::ms(10));
        assert_eq!(net.sent_by(1, PacketKind::Finished).len(), 2, "{mode:?}");
        assert_eq!(net.sent_by(0, PacketKind::Data).len(), 5, "nothing else again");
        assert!(net.acknowledged.contains_key(&0));
        assert!(net.hosts.iter().all(|h| h.machine.live_messages() == 0));
    }
}

#[test]
fn everyone_gets_through_an_incast() {
    for mode in MODES {
        for policy in [Policy::Srpt, Policy::Fair] {
            let mut net = Network::new(21, &policy_params(mode, policy));
            for src in 0..20 {
                net.add_message(Time::ZERO, src, 20, 60);
            }
            net.run_until(Time::ms(100));
            assert_eq!(net.completed.len(), 20);
            let last = *net.completed.values().max().expect("twenty");
            let ideal = SLOT * (20 * 60);
            let extra = net.sent_by_all(PacketKind::Data) - 20 * 60;
            assert!(last < ideal + ideal / 2, "{mode:?} {policy:?}: {last}, ideal {ideal}");
            assert!(net.drops > 150, "nine windows in ten do not fit");
            assert!(extra <= net.drops + 5, "{mode:?} {policy:?}: {extra} again for {} dropped", net.drops);
        }
    }
}

#[test]
fn losses_and_false_alarms_neither_shrink_nor_swell_the_window() {
    // One packet and one token in 17 are lost for a while, and answers come too late for impatient
    // receivers; afterwards the link is as full as before, and not fuller.
    // Nine slots are less than the round trip of ten, so that each answer comes after its time-out.
    for resend_wait in [0, 9] {
        let params = PhostParams { resend_wait, ..policy_params(Mode::Arrival, Policy::Fair) };
        let mut net = Network::new(2, &params);
        net.add_message(Time::ZERO, 0, 1, 20_000);
        let mut count = 0;
        net.lose = Box::new(move |now, _| {
            count += 1;
            now < SLOT * 1000 && count % 17 == 0
        });
        net.run_until(SLOT * 1000);
        assert!(
            net.drops == 0 && net.delivered_between(0, RTT * 2, SLOT * 1000) < 900,
            "the losses cost something"
        );
        net.run_until(SLOT * 1400);
        net.hosts[1].queue_max = 0;
        net.run_until(SLOT * 2400);
        let packets = net.delivered_between(0, SLOT * 1400, SLOT * 2400);
        let queue = net.hosts[1].queue_max;
        if resend_wait == 0 {
            assert!(packets >= 998, "{packets} packets in 1000 slots");
        }
        assert!(queue <= 2, "queue of {queue}");
    }
}
