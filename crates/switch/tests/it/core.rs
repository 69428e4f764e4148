//! The switch without sockets: frames in, frames out, to the picosecond.

use etherparse::PacketBuilder;
use headway_fabric::{Buffer, Limit};
use headway_network::topology::Dumbbell;
use headway_network::{
    Change, Down, FabricSpec, Fault, FaultSpec, LinkChoice, LinkSpec, Metric, Network, Routing, SampleSpec,
    TopologySpec,
};
use headway_packet::session::{HANDSHAKE_BYTES, Handshake, HandshakeKind, Terms};
use headway_packet::{Ecn, HostId, Packet, PacketKind, Sizes};
use headway_primitives::TokenBucket;
use headway_switch::{Addresses, Core, CoreConfig, FrameError, FrameTap, parse};
use headway_units::{Rate, Time};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const HOSTS: u32 = 4;

fn core(bottleneck: u64, packets: u32) -> Core {
    core_of("anti-ecn", bottleneck, packets)
}

pub(crate) fn core_of(discipline: &str, bottleneck: u64, packets: u32) -> Core {
    core_with(discipline, bottleneck, packets, Vec::new())
}

fn core_with(discipline: &str, bottleneck: u64, packets: u32, faults: Vec<FaultSpec>) -> Core {
    let link =
        |mbps: u64| LinkSpec { rate: Rate::new(mbps * 1_000_000).expect("a rate"), delay: Time::us(100) };
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 2,
        receivers: 2,
        access: link(100),
        bottleneck: link(bottleneck),
    });
    let limit = Limit::Packets(packets);
    let fabric = FabricSpec {
        discipline: discipline.into(),
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
    };
    let network = Arc::new(Network::build(&topology, &fabric).expect("a network"));
    let sample = SampleSpec {
        probes: headway_network::ProbeChoice::None,
        causes: false,
        volumes: Vec::new(),
        every: Time::ms(1),
        most: u64::MAX,
        flows: headway_network::FlowChoice::None,
        links: LinkChoice::Some(vec!["s0->s1".into()]),
    };
    Core::new(CoreConfig { network, seed: 1, addresses: Addresses::new(HOSTS), sample: Some(sample), faults })
        .expect("a core")
}

/// A data frame with its mark set, `bytes` of payload behind the header.
pub(crate) fn frame(from: u32, to: u32, index: u32, bytes: usize) -> Vec<u8> {
    frame_of(PacketKind::Data, from, to, index, bytes)
}

pub(crate) fn frame_of(kind: PacketKind, from: u32, to: u32, index: u32, bytes: usize) -> Vec<u8> {
    let mut packet = Packet::new(kind, HostId(from), HostId(to), 0);
    (packet.index, packet.payload, packet.wire, packet.priority) = (index, bytes as u16, 1538, 1);
    let mut payload = packet.header_bytes().to_vec();
    payload.resize(payload.len() + bytes, index as u8);
    let plan = Addresses::new(HOSTS);
    let mut ip = etherparse::Ipv4Header::new(
        (8 + payload.len()) as u16,
        64,
        etherparse::IpNumber::UDP,
        plan.of(from).octets(),
        plan.of(to).octets(),
    )
    .expect("short enough");
    ip.ecn = etherparse::IpEcn::try_new(Ecn::Spare as u8).expect("two bits");
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ip(etherparse::IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default()))
        .udp(4000, 4000);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &payload).expect("room");
    bytes
}

/// A frame with a UDP datagram between the ports of hosts.
fn datagram(from: u32, to: u32, payload: &[u8]) -> Vec<u8> {
    let plan = Addresses::new(HOSTS);
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(plan.of(from).octets(), plan.of(to).octets(), 64)
        .udp(4000, 4000);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).expect("room");
    bytes
}

/// Times at which the last of 20 full packets, and after them a frame of `bytes`, leave a port that has them all at
/// once.
fn behind_data(discipline: &str, bytes: &[u8]) -> (Time, Time) {
    let mut core = core_of(discipline, 10, 64);
    for index in 0..20 {
        core.receive(Time::us(5), 0, &frame(0, 2, index, 1412)).expect("good");
    }
    // By then some of the data is at the bottleneck.
    core.receive(Time::ms(2), 0, bytes).expect("good");
    let (mut data, mut other) = (Time::ZERO, Time::ZERO);
    while let Some(at) = core.next_event().filter(|&at| at < Time::s(1)) {
        core.advance(at);
        while let Some((due, length)) = core.poll_frame(|_, due, bytes| (due, bytes.len())) {
            *(if length > 1000 { &mut data } else { &mut other }) = due;
        }
    }
    (data, other)
}

#[test]
fn a_handshake_is_served_like_control_by_every_discipline() {
    let handshake = Handshake {
        kind: HandshakeKind::Hello,
        terms: Terms::new("amrt", 1500).expect("a short name"),
        cipher: 0,
        epoch: 1,
        peer_epoch: 0,
        shown: 0,
        offered: 7,
        mac: [0; 16],
        share: None,
    };
    // Of the same length on the wire: a packet without data, as hosts send it.
    let mut grant = Packet::new(PacketKind::Grant, HostId(0), HostId(2), 0).header_bytes().to_vec();
    grant.resize(HANDSHAKE_BYTES, 0);
    let mut overtaken = 0;
    for name in headway_fabric::registry::NAMES {
        let (_, control) = behind_data(name, &datagram(0, 2, &grant));
        let (data, hello) = behind_data(name, &datagram(0, 2, &handshake.to_bytes()));
        assert!(hello > Time::ZERO && hello == control, "{name}: {hello}, control {control}");
        overtaken += u32::from(hello < data.saturating_sub(Time::ms(5)));
        let (data, other) = behind_data(name, &datagram(0, 2, &[7; HANDSHAKE_BYTES]));
        assert!(
            other > data || other == Time::ZERO || *name == "fair-queue",
            "{name}: what is not ours goes last"
        );
    }
    // The others have one queue for everything.
    assert!(overtaken >= 11, "{overtaken} overtake data");
}

/// Frames that came out: host, time, mark, index.
fn drain(core: &mut Core) -> Vec<(u32, Time, Ecn, u32)> {
    let mut out = Vec::new();
    loop {
        while let Some(row) = core.poll_frame(|host, due, bytes| {
            let from = if host == 2 { 0 } else { 1 };
            let packet = parse(bytes, from, &Addresses::new(HOSTS)).expect("still a good frame");
            (host, due, packet.ecn, packet.index)
        }) {
            out.push(row);
        }
        let Some(at) = core.next_event().filter(|&at| at < Time::s(1)) else { return out };
        core.advance(at);
    }
}

#[test]
fn a_frame_crosses_store_and_forward() {
    let mut core = core(100, 16);
    let bytes = frame(0, 2, 0, 1412);
    assert_eq!(bytes.len(), 1514, "a full frame of a 1500-byte interface");
    core.receive(Time::us(5), 0, &bytes).expect("good");
    let slot = Rate::new(100_000_000).expect("a rate").time_of(1538);
    assert_eq!(drain(&mut core), [(2, Time::us(5) + (slot + Time::us(100)) * 3, Ecn::Spare, 0)]);
    core.links(Time::s(1)).expect("counters add up");
}

#[test]
fn a_saturated_port_clears_the_mark_and_an_idle_one_leaves_it() {
    let mut core = core(100, 16);
    for i in 0..4 {
        core.receive(Time::us(5), 0, &frame(0, 2, i, 1412)).expect("good");
    }
    core.receive(Time::ms(5), 0, &frame(0, 2, 4, 1412)).expect("good");
    let marks: Vec<_> = drain(&mut core).iter().map(|row| row.2).collect();
    assert_eq!(marks, [Ecn::Spare, Ecn::NotEct, Ecn::NotEct, Ecn::NotEct, Ecn::Spare]);
}

#[test]
fn a_late_driver_changes_no_mark_and_no_due_time() {
    let feed = |core: &mut Core| {
        for i in 0..40 {
            let at = Time::us(200 * u64::from(i));
            core.receive(at, i % 2, &frame(i % 2, 2 + i % 2, i, 1412)).expect("good");
        }
    };
    let (mut prompt, mut late) = (core(50, 64), core(50, 64));
    feed(&mut prompt);
    feed(&mut late);
    let expected = drain(&mut prompt);
    late.advance(Time::ms(900));
    assert_eq!(drain(&mut late), expected);
    assert_eq!(expected.len(), 40);
}

#[test]
fn a_full_buffer_drops_and_the_books_say_so() {
    let mut core = core(10, 8);
    core.start_measuring(Time::ZERO);
    for i in 0..30 {
        core.receive(Time::us(5), 0, &frame(0, 2, i, 1412)).expect("good");
    }
    // Thirty frames come within three slots of the bottleneck: three leave meanwhile, eight wait.
    assert_eq!(drain(&mut core).len(), 11);
    let links = core.links(Time::s(1)).expect("counters add up");
    let bottleneck = links.iter().find(|l| l.name == "s0->s1").expect("it is there");
    assert_eq!((bottleneck.counters.drops(), bottleneck.counters.dequeued), (19, 11));
    assert_eq!(bottleneck.busy, Rate::new(10_000_000).expect("a rate").time_of(11 * 1538));
    let samples = core.take_samples();
    let peak =
        samples.iter().filter(|s| s.metric == Metric::QueueMaxBytes).map(|s| s.value).fold(0.0, f64::max);
    assert_eq!(peak, 8.0 * 1538.0);
}

/// Starts of frames on the link `s0->s1`.
fn starts(core: &mut Core, seen: &Seen) -> Vec<Time> {
    drain(core);
    let name = core.network().link_names().iter().position(|n| n == "s0->s1").expect("a link") as u32;
    seen.0.borrow().iter().filter(|row| row.0 == name).map(|row| row.1).collect()
}

#[test]
fn credits_that_are_held_back_leave_when_they_may_and_data_goes_first() {
    let (mut core, seen) = (core_of("credit-shaping", 10, 64), Seen::default());
    core.set_tap(Box::new(seen.clone()));
    let credit = frame_of(PacketKind::Credit, 0, 2, 0, 0);
    let wire = u64::from(parse(&credit, 0, &Addresses::new(HOSTS)).expect("good").wire);
    let (access, rate) = (Rate::new(100_000_000).expect("a rate"), Rate::new(10_000_000).expect("a rate"));
    for _ in 0..4 {
        core.receive(Time::us(5), 0, &credit).expect("good");
    }
    // A data frame that comes when the wire is free and three credits are held back.
    let data = frame(1, 3, 9, 1412);
    core.receive(Time::us(500), 1, &data).expect("good");
    let arrives = |at: Time, bytes| at + access.time_of(bytes) + Time::us(100);
    let mut bucket = TokenBucket::of_link(rate, 84, 1538, 168);
    let mut expected = Vec::new();
    let (mut free, at_data) = (Time::ZERO, arrives(Time::us(500), 1538));
    let mut waiting = Some(at_data);
    for i in 1..=4 {
        let came = arrives(Time::us(5), wire * i);
        let mut start = free.max(came).max(bucket.eligible_at(wire));
        if let Some(at) = waiting.filter(|at| *at < start) {
            expected.push(at);
            (free, waiting) = (at + rate.time_of(1538), None);
            start = start.max(free);
        }
        expected.push(start);
        bucket.take(start, wire);
        free = start + rate.time_of(wire);
    }
    assert_eq!(waiting, None, "the data frame came first");
    assert_eq!(starts(&mut core, &seen), expected);
    core.links(Time::s(1)).expect("counters add up");
}

#[test]
fn what_is_refused_is_counted_by_reason() {
    let mut core = core(100, 16);
    assert_eq!(core.receive(Time::ZERO, 1, &frame(0, 2, 0, 10)), Err(FrameError::Spoofed));
    assert_eq!(core.receive(Time::ZERO, 0, &[0; 9]), Err(FrameError::Malformed));
    assert_eq!(core.counters().refused, [0, 1, 0, 1, 0]);
    assert_eq!(core.counters().received, 2);
}

/// Frames as a tap sees them: link, start, mark.
#[derive(Clone, Default)]
struct Seen(Rc<RefCell<Vec<(u32, Time, Ecn)>>>);

impl FrameTap for Seen {
    fn started(&mut self, link: u32, start: Time, frame: &[u8]) {
        let packet = (0..2).find_map(|from| parse(frame, from, &Addresses::new(HOSTS)).ok());
        let packet = packet.expect("a good frame of host 0 or 1");
        self.0.borrow_mut().push((link, start, packet.ecn));
    }
}

#[test]
fn a_tap_sees_every_frame_as_it_starts_on_each_link_with_the_marks_of_its_port() {
    let (mut core, seen) = (core(100, 16), Seen::default());
    core.set_tap(Box::new(seen.clone()));
    for i in 0..2 {
        core.receive(Time::us(5), 0, &frame(0, 2, i, 1412)).expect("good");
    }
    drain(&mut core);
    let names = core.network().link_names();
    let number = |name: &str| names.iter().position(|n| n == name).expect("a link") as u32;
    let slot = Rate::new(100_000_000).expect("a rate").time_of(1538);
    let hop = slot + Time::us(100);
    let mut expected = Vec::new();
    for (i, name) in (0..).zip(["h0->s0", "s0->s1", "s1->h2"]) {
        let start = Time::us(5) + hop * i;
        // The host's own link marks nothing; at the first port of a switch, the second frame follows at once.
        let second = if i == 0 { Ecn::Spare } else { Ecn::NotEct };
        expected.push((number(name), start, Ecn::Spare));
        expected.push((number(name), start + slot, second));
    }
    expected.sort_by_key(|row| row.1);
    assert_eq!(*seen.0.borrow(), expected);
}

/// Fate of 40 full frames of one host, one after the other over links of 100 Mb/s, when something happens
/// to the link between the switches: hosts and times of those that are delivered, and the core.
fn row(what: Fault) -> (Vec<(u32, Time, Ecn, u32)>, Core) {
    let links = LinkChoice::Some(vec!["s0->s1".into()]);
    let mut core = core_with("drop-tail", 100, 64, vec![FaultSpec { links, kind: None, what }]);
    // Times of faults count from the start of measuring.
    core.start_measuring(OPENED);
    for i in 0..40 {
        core.receive(OPENED + frame_time() * i, 0, &frame(0, 2, i as u32, 1412)).expect("a frame");
    }
    let out = drain(&mut core);
    (out, core)
}

const OPENED: Time = Time::ms(7);

fn frame_time() -> Time {
    Rate::new(100_000_000).expect("a rate").time_of(1538)
}

/// Half a frame's time after frame `i` started on the link between the switches.
fn amid(i: u64) -> Time {
    frame_time() * (i + 1) + Time::us(100) + Time(frame_time().0 / 2)
}

#[test]
fn frames_meet_a_link_that_goes_down_as_packets_of_the_simulator_do() {
    let down = |until, converge| Fault::Down(Down { switches: Vec::new(), at: amid(20), until, converge });
    let stats = |core: &Core, name: &str| {
        let links = core.links(OPENED + Time::ms(100)).expect("counters add up");
        links.into_iter().find(|l| l.name == name).expect("a link")
    };
    let (out, core) = row(down(Time::MAX, Time::MAX));
    let hurt = stats(&core, "s0->s1");
    assert_eq!(hurt.faults.dropped_on_the_wire, 2, "frames 19 and 20");
    assert_eq!((hurt.counters.dropped, hurt.counters.dequeued), ([0, 0, 0, 19, 0, 0], 21));
    assert_eq!(out.len(), 19);

    let (out, core) = row(down(amid(30), Time::MAX));
    assert_eq!(stats(&core, "s0->s1").counters.dropped, [0, 0, 0, 10, 0, 0], "frames 21 to 30");
    assert_eq!(out.len(), 28);

    let (out, core) = row(down(Time::MAX, frame_time() * 5));
    assert_eq!(stats(&core, "s0->s1").counters.dropped, [0, 0, 0, 5, 0, 0], "before routes know");
    assert_eq!(stats(&core, "h0->s0").faults.dropped_without_route, 14);
    assert_eq!((out.len(), core.counters().unroutable), (19, 14));
}

#[test]
fn frames_meet_rates_and_delays_that_change_as_packets_of_the_simulator_do() {
    let last = |rate, delay| {
        let (out, _) = row(Fault::Change(Change { at: amid(20), until: Time::MAX, rate, delay }));
        assert_eq!(out.len(), 40);
        out.iter().map(|frame| frame.1).max().expect("frames") - OPENED
    };
    let undisturbed = frame_time() * 42 + Time::us(300);
    assert_eq!(last(Rate::new(100_000_000), None), undisturbed);
    assert_eq!(last(Rate::new(50_000_000), None), undisturbed + frame_time() * 19);
    assert_eq!(last(None, Some(Time::us(900))), undisturbed + Time::us(800));
}
