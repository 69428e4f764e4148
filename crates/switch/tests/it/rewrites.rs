//! Changes of ports to packets, in the frames that leave: displaced, cut, returned and given a rate, to the byte.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use headway_fabric::{Buffer, Limit, PortCounters};
use headway_network::topology::Dumbbell;
use headway_network::{FabricSpec, LinkSpec, Network, Routing, TopologySpec};
use headway_packet::session::{SESSION_HEADER, Session};
use headway_packet::{
    Envelope, HEADER_CHECK, Hop, HostId, Packet, PacketFlags, PacketKind, PacketView, SEAL_TAG, STAMPS_BYTES,
    Sizes, Stamps, WIRE_FRONT, WIRE_HEADER,
};
use headway_params::ParamValue;
use headway_switch::{Addresses, Core, CoreConfig};
use headway_units::{Rate, Time};
use std::sync::Arc;

const HOSTS: u32 = 4;
const SIZES: Sizes = Sizes { payload: 1388, header: 112, framing: 38, control: 150 };

/// Two senders at 100 Mb/s before a link of 10, with room for `data` packets.
fn core(discipline: &str, params: &[(&str, ParamValue)], data: u32, control: Limit) -> Core {
    let link =
        |mbps: u64| LinkSpec { rate: Rate::new(mbps * 1_000_000).expect("a rate"), delay: Time::us(10) };
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 2,
        receivers: 2,
        access: link(100),
        bottleneck: link(10),
    });
    let fabric = FabricSpec {
        discipline: discipline.into(),
        params: params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        buffer: Buffer { data: Limit::Packets(data), control },
        routing: Routing::Ecmp,
        sizes: SIZES,
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
    let addresses = Addresses::new(HOSTS);
    let faults = Vec::new();
    Core::new(CoreConfig { network, seed: 1, addresses, sample: None, faults }).expect("a core")
}

/// A packet in a frame, with a session, sealed or not; its payload is its index, over and over.
fn frame(packet: &Packet, sealed: bool, checksum: bool) -> Vec<u8> {
    stamped(packet, Envelope::between_hosts(sealed, false), &Stamps::default(), checksum)
}

/// A packet in a frame with any envelope, and with the stamps of ports.
fn stamped(packet: &Packet, envelope: Envelope, stamps: &Stamps, checksum: bool) -> Vec<u8> {
    let (session, sealed) =
        (Session { src_epoch: 7, cookie: 8, counter: packet.index.into() }, envelope.is_sealed());
    let mut bytes = vec![0; 2000];
    let front = packet.emit_session(&session, envelope, stamps, &mut bytes).expect("a packet");
    let tag = if sealed { SEAL_TAG } else { 0 };
    let end = front + usize::from(packet.payload) + tag;
    bytes[WIRE_HEADER + SESSION_HEADER + envelope.stamp_bytes()..front].fill(0xc5);
    bytes[front..end].fill(packet.index as u8 ^ 0x5a);
    bytes.truncate(end);
    let plan = Addresses::new(HOSTS);
    let (from, to) = (plan.of(packet.src.0).octets(), plan.of(packet.dst.0).octets());
    let mac = |host: HostId| [2, 0, 0, 0, 0, host.0 as u8];
    let builder =
        PacketBuilder::ethernet2(mac(packet.src), mac(packet.dst)).ipv4(from, to, 64).udp(4000, 4001);
    let mut out = Vec::new();
    builder.write(&mut out, &bytes).expect("room");
    if !checksum {
        out[14 + 20 + 6..14 + 20 + 8].fill(0);
    }
    out
}

fn data(src: u32, dst: u32, index: u32, priority: u8) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, HostId(src), HostId(dst), 5);
    (packet.index, packet.priority, packet.payload, packet.wire) = (index, priority, 1380, 1538);
    (packet.message_bytes, packet.count, packet.entropy) = (1380 * 40, 40, 9);
    packet
}

/// A frame that left, for which host, and the packet in it as that host's own code reads it.
struct Left {
    host: u32,
    bytes: Vec<u8>,
    packet: Packet,
    datagram: Vec<u8>,
}

fn drain(core: &mut Core) -> Vec<Left> {
    let mut out = Vec::new();
    loop {
        while let Some((host, bytes)) = core.poll_frame(|host, _, bytes| (host, bytes.to_vec())) {
            let (packet, datagram) = read(&bytes);
            out.push(Left { host, bytes, packet, datagram });
        }
        let Some(at) = core.next_event() else { return out };
        core.advance(at);
    }
}

/// The packet in a frame, whose lengths and checksums must all be right.
fn read(bytes: &[u8]) -> (Packet, Vec<u8>) {
    let sliced = SlicedPacket::from_ethernet(bytes).expect("well formed");
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (&sliced.net, &sliced.transport) else {
        panic!("it is not UDP any more");
    };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    assert_eq!(usize::from(header.total_len), bytes.len() - 14);
    assert_eq!(usize::from(udp.length()), bytes.len() - 14 - 20);
    let sum = udp.to_header().calc_checksum_ipv4_raw(header.source, header.destination, udp.payload());
    if udp.checksum() != 0 {
        assert_eq!(udp.checksum(), sum.expect("short enough"));
    }
    let view = PacketView::parse(udp.payload()).expect("a whole packet");
    (view.to_packet(), udp.payload().to_vec())
}

fn bottleneck(core: &Core) -> PortCounters {
    let links = core.links(Time::s(1)).expect("counts");
    links.into_iter().find(|l| l.name == "s0->s1").expect("it is there").counters
}

#[test]
fn a_frame_that_is_pushed_out_is_the_one_that_is_lost() {
    let off = ("drop", ParamValue::Choice("off".into()));
    let mut core = core("cross-queue-ecn", &[off], 4, Limit::Packets(8));
    // One on the wire, then two opportunistic ones, then normal ones: two fit, two push the others out, one is lost.
    let feed = [(0, 1), (1, 2), (2, 2), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1)];
    for (index, priority) in feed {
        core.receive(Time::ZERO, 0, &frame(&data(0, 2, index, priority), false, true)).expect("good");
    }
    let left = drain(&mut core);
    assert_eq!(left.iter().map(|l| l.packet.index).collect::<Vec<_>>(), [0, 3, 4, 5, 6]);
    for l in &left {
        assert!(l.datagram[84..].iter().all(|&b| b == l.packet.index as u8 ^ 0x5a), "its own bytes");
    }
    let counters = bottleneck(&core);
    assert_eq!((counters.drops(), counters.dequeued, counters.queue_max_packets), (3, 5, 4));
    assert_eq!(core.held(), 0, "every frame is free again, once");
}

/// A full queue of eight at a busy link; all that comes further is cut.
fn cut(sealed: bool, checksum: bool) {
    let victim = ("victim", ParamValue::Choice("arrival".into()));
    let mut core = core("trimming", &[victim], 8, Limit::Packets(100));
    let mut originals = Vec::new();
    for index in 0..14 {
        originals.push(frame(&data(0, 2, index, 1), sealed, checksum));
        core.receive(Time::ZERO, 0, &originals[index as usize]).expect("good");
    }
    let left = drain(&mut core);
    let headers: Vec<&Left> = left.iter().filter(|l| l.packet.kind == PacketKind::Header).collect();
    let counters = bottleneck(&core);
    assert_eq!((headers.len() as u64, left.len()), (counters.trimmed, 14));
    assert_eq!((counters.trimmed, counters.drops(), counters.returned), (5, 0, 0));
    for l in &headers {
        let check = if sealed { HEADER_CHECK } else { 0 };
        assert_eq!(l.datagram.len(), WIRE_HEADER + SESSION_HEADER + check);
        let wire = l.bytes.len() as u16 + 24;
        let sent = data(0, 2, l.packet.index, 1);
        assert_eq!(l.packet, Packet { kind: PacketKind::Header, payload: 0, wire, priority: 0, ..sent });
        let original = &originals[l.packet.index as usize][42..];
        assert_eq!(l.datagram[WIRE_HEADER..], original[WIRE_HEADER..l.datagram.len()], "session and check");
        assert_eq!(l.bytes[40..42] == [0, 0], !checksum, "a checksum that was left out stays out");
    }
    assert_eq!(core.held(), 0);
}

#[test]
fn what_meets_a_full_queue_is_cut_to_a_header_that_reads() {
    for (sealed, checksum) in [(false, true), (false, false), (true, true), (true, false)] {
        cut(sealed, checksum);
    }
}

#[test]
fn a_damaged_frame_stays_damaged_when_it_is_cut() {
    let victim = ("victim", ParamValue::Choice("arrival".into()));
    let mut core = core("trimming", &[victim], 1, Limit::Packets(100));
    for index in 0..6 {
        let mut bytes = frame(&data(0, 2, index, 1), false, true);
        bytes[42 + 28] ^= 1;
        core.receive(Time::ZERO, 0, &bytes).expect("good");
    }
    let mut cut = 0;
    while let Some(at) = core.next_event() {
        core.advance(at);
        while let Some(bytes) = core.poll_frame(|_, _, bytes| bytes.to_vec()) {
            let sliced = SlicedPacket::from_ethernet(&bytes).expect("well formed");
            let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (&sliced.net, &sliced.transport)
            else {
                panic!("it is not UDP any more");
            };
            let (from, to) = (ip.header().source(), ip.header().destination());
            let right = udp.to_header().calc_checksum_ipv4_raw(from, to, udp.payload()).expect("short");
            assert_ne!(udp.checksum(), right, "the host must notice");
            cut += usize::from(bytes.len() < 200);
        }
    }
    assert_eq!(cut as u64, bottleneck(&core).trimmed);
    assert!(cut > 0);
}

#[test]
fn a_header_without_room_goes_back_to_its_sender() {
    let victim = ("victim", ParamValue::Choice("arrival".into()));
    let mut core = core("trimming", &[victim], 1, Limit::Packets(2));
    for index in 0..8 {
        core.receive(Time::ZERO, 0, &frame(&data(0, 2, index, 1), true, true)).expect("good");
    }
    let left = drain(&mut core);
    let counters = bottleneck(&core);
    let back: Vec<&Left> = left.iter().filter(|l| l.host == 0).collect();
    assert_eq!((back.len() as u64, left.len()), (counters.returned, 8));
    assert_eq!((counters.drops(), core.counters().unroutable, core.held()), (0, 0, 0));
    assert_eq!((counters.trimmed, counters.returned), (6, 4));
    for l in back {
        assert!(l.packet.flags.has_all(PacketFlags::BOUNCED) && l.packet.kind == PacketKind::Header);
        assert_eq!((l.packet.src, l.packet.dst), (HostId(0), HostId(2)), "the host's own names stand");
        assert_eq!((l.bytes[5], l.bytes[11]), (0, 2), "to the interface that it came from");
        assert_eq!((l.bytes[29], l.bytes[33]), (3, 1), "from 10.0.0.3 to 10.0.0.1");
        assert_eq!(l.bytes[34..38], [4001u16.to_be_bytes(), 4000u16.to_be_bytes()].concat());
    }
}

#[test]
fn a_rate_that_a_port_lowers_is_in_the_frame() {
    for checksum in [true, false] {
        let half = ("initial_rate", ParamValue::Float(0.5));
        let mut core = core("explicit-rate", &[half], 8, Limit::Packets(8));
        let mut asks = data(0, 2, 0, 1);
        (asks.token, asks.remaining, asks.flags) = (u32::MAX, 40_000, PacketFlags::RATE);
        let plain = data(0, 2, 1, 1);
        core.receive(Time::ZERO, 0, &frame(&asks, true, checksum)).expect("good");
        core.receive(Time::ms(50), 0, &frame(&plain, true, checksum)).expect("good");
        let left = drain(&mut core);
        // Half of 10 Mb/s, in kilobits a second.
        assert_eq!(left[0].packet, Packet { token: 5_000, ..asks });
        assert_eq!(left[1].packet, plain, "who does not ask is told nothing");
        assert_eq!(left[1].bytes, frame(&plain, true, checksum));
    }
}

/// Three packets at once: each port says when each left, how much left before it, and what waited.
#[test]
fn ports_stamp_data_that_has_room_and_nothing_else() {
    for (sealed, checksum) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut core = core("drop-tail", &[], 8, Limit::Packets(8));
        let envelope = Envelope::between_hosts(sealed, true);
        let none = Stamps::default();
        let originals: Vec<Vec<u8>> =
            (0..3).map(|index| stamped(&data(0, 2, index, 1), envelope, &none, checksum)).collect();
        for bytes in &originals {
            core.receive(Time::ZERO, 0, bytes).expect("good");
        }
        let left = drain(&mut core);
        // A frame has 24 bytes around it on the wire.
        let wire = originals[0].len() as u64 + 24;
        let [fast, slow] = [100, 10].map(|mbps| Rate::new(mbps * 1_000_000).expect("a rate"));
        let (up, bottleneck) = (fast.time_of(wire), slow.time_of(wire));
        for (n, l) in (0..).zip(&left) {
            let stamps = PacketView::parse(&l.datagram).expect("a packet").port_stamps().expect("stamps");
            let reaches = up + Time::us(10);
            let crosses = reaches + bottleneck * n;
            let first = Hop {
                at: crosses,
                sent: wire * n,
                // At the end of one, all have arrived that are still to leave.
                queue: if n == 0 { 0 } else { wire * (2 - n) },
                rate: slow,
            };
            let second =
                Hop { at: crosses + bottleneck + Time::us(10), sent: wire * n, queue: 0, rate: fast };
            assert_eq!(stamps.filled_hops(), [first, second], "packet {n}, sealed {sealed}");
            let mut plain = l.datagram.clone();
            plain[WIRE_FRONT..WIRE_FRONT + STAMPS_BYTES].fill(0);
            assert_eq!(plain, originals[n as usize][42..], "nothing else changes");
        }
        assert_eq!(left.len(), 3);
    }
}

#[test]
fn ports_leave_echoes_alone_and_count_beyond_their_room() {
    let hop = Hop { at: Time::us(7), sent: 8, queue: 9, rate: Rate::gbps(1) };
    let mut echo = Stamps::default();
    echo.push(hop);
    let mut full = Stamps::default();
    (0..5).for_each(|_| full.push(hop));
    let envelope = Envelope::Stamped;
    let mut ack = Packet::new(PacketKind::Ack, HostId(0), HostId(2), 5);
    ack.wire = 150;
    let answer = stamped(&ack, envelope, &echo, true);
    let sent = stamped(&data(0, 2, 1, 1), envelope, &full, true);
    let plain = frame(&data(0, 2, 2, 1), false, true);
    let mut hostile = stamped(&data(0, 2, 3, 1), envelope, &full, false);
    hostile[42 + WIRE_FRONT..42 + WIRE_FRONT + STAMPS_BYTES].fill(0xff);
    let mut core = core("drop-tail", &[], 8, Limit::Packets(8));
    for bytes in [&answer, &sent, &plain, &hostile] {
        core.receive(Time::ZERO, 0, bytes).expect("good");
    }
    let left = drain(&mut core);
    let by = |index: u32, kind| left.iter().find(|l| (l.packet.index, l.packet.kind) == (index, kind));
    let data = |index| by(index, PacketKind::Data).expect("it left");
    assert_eq!(by(0, PacketKind::Ack).expect("it left").bytes, answer);
    assert_eq!(data(2).bytes, plain);
    assert_eq!(data(3).bytes, hostile, "a number that cannot grow");
    let stamps = PacketView::parse(&data(1).datagram).expect("a packet").port_stamps().expect("stamps");
    assert_eq!((stamps.filled_hops(), stamps.is_whole()), (full.filled_hops(), false), "seven are too many");
}

#[test]
fn what_has_no_header_to_leave_is_dropped_where_others_are_cut() {
    let mut core = core("trimming", &[], 2, Limit::Packets(100));
    let plan = Addresses::new(HOSTS);
    let tcp = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(plan.of(0).octets(), plan.of(2).octets(), 64)
        .tcp(4000, 80, 1, 1000);
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, &[7; 1400]).expect("room");
    for _ in 0..9 {
        core.receive(Time::ZERO, 0, &bytes).expect("good");
    }
    let mut out = 0;
    while let Some(at) = core.next_event() {
        core.advance(at);
        while let Some(same) = core.poll_frame(|_, _, left| left == bytes) {
            assert!(same);
            out += 1;
        }
    }
    let counters = bottleneck(&core);
    assert_eq!((counters.trimmed, counters.drops() + out, core.held()), (0, 9, 0));
    assert!(counters.drops() >= 5);
}
