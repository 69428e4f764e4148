//! The wire codec: round trips, refusals, and the field table.

use headway_packet::paths::{
    ADDRESS_FIELDS, CHALLENGE_BYTES, LONGEST_LIST, MOST_ADDRESSES, PATH_FIELDS, PathKind, PathSaid,
    is_about_paths,
};
use headway_packet::session::{
    HANDSHAKE_BYTES, HANDSHAKE_FIELDS, Handshake, HandshakeKind, LONGEST_HANDSHAKE, SESSION_FIELDS,
    SESSION_HEADER, SHARE_FIELDS, Session, Terms, TransportName,
};
use headway_packet::{
    CROSSED_FIELDS, Ecn, Envelope, HEADER_CHECK, HOP_BYTES, HOP_FIELDS, Hop, HostId, MUTABLE_BITS, Mutable,
    Packet, PacketFlags, PacketKind, PacketView, SEAL_TAG, STAMPS_BYTES, Stamps, WIRE_FIELDS, WIRE_FRONT,
    WIRE_HEADER, WIRE_VERSION, WireError, covered_front, covered_of_cut,
};
use headway_units::{Rate, Time};
use proptest::prelude::*;
use std::net::SocketAddr;

#[allow(unreachable_pub, reason = "public to the fuzz target, whose file this is")]
#[path = "../../../../fuzz/src/packet_codec.rs"]
mod packet_codec;

fn any_packet() -> impl Strategy<Value = Packet> {
    let numbers = (any::<[u32; 8]>(), any::<u64>(), any::<u64>());
    let rest = (0..PacketKind::ALL.len(), any::<u8>(), 0u8..4, any::<u8>(), 0u16..3000, 0u16..200);
    (numbers, rest).prop_map(|((n, bytes, lifetime), (kind, priority, ecn, flags, payload, header))| {
        let kind = PacketKind::ALL[kind];
        let mut packet = Packet::new(kind, HostId(n[0]), HostId(n[1]), n[2]);
        [packet.index, packet.count, packet.token, packet.remaining, packet.entropy] =
            [n[3], n[4], n[5], n[6], n[7]];
        (packet.message_bytes, packet.lifetime) = (bytes, Time(lifetime));
        packet.payload = if packet.is_data() { payload } else { 0 };
        // The codec refuses packets that take less room than their payload.
        packet.wire = packet.payload + header;
        (packet.priority, packet.ecn, packet.flags) = (priority, Ecn::from_bits(ecn), PacketFlags(flags));
        packet
    })
}

/// A stamp as a real packet has it: whole kilobits a second, 32 bits of queue.
fn any_hop() -> impl Strategy<Value = Hop> {
    let rate = (1u64..=u32::MAX.into()).prop_map(|kbps| Rate::new(kbps * 1000).expect("not 0"));
    let numbers = (any::<u64>(), any::<u64>(), any::<u32>(), rate);
    numbers.prop_map(|(at, sent, queue, rate)| Hop { at: Time(at), sent, queue: queue.into(), rate })
}

fn any_stamps() -> impl Strategy<Value = Stamps> {
    proptest::collection::vec(any_hop(), 0..8).prop_map(|hops| {
        let mut stamps = Stamps::default();
        hops.into_iter().for_each(|hop| stamps.push(hop));
        stamps
    })
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let payload: Vec<u8> = (0..packet.payload).map(|i| i as u8).collect();
    let mut bytes = vec![0; WIRE_HEADER + payload.len()];
    assert_eq!(packet.emit_packet(&payload, &mut bytes), Ok(bytes.len()));
    bytes
}

fn session_bytes_of(packet: &Packet, session: &Session, sealed: bool) -> Vec<u8> {
    stamped_bytes_of(packet, session, sealed, None)
}

fn stamped_bytes_of(packet: &Packet, session: &Session, sealed: bool, stamps: Option<&Stamps>) -> Vec<u8> {
    let (check, tag) = match (sealed, packet.kind) {
        (false, _) => (0, 0),
        (true, PacketKind::Data) => (HEADER_CHECK, SEAL_TAG),
        (true, PacketKind::Header) => (HEADER_CHECK, 0),
        (true, _) => (0, SEAL_TAG),
    };
    let front = WIRE_HEADER + SESSION_HEADER + if stamps.is_some() { STAMPS_BYTES } else { 0 } + check;
    let mut bytes = vec![0; front + usize::from(packet.payload) + tag];
    let envelope = Envelope::between_hosts(sealed, stamps.is_some());
    let stamps = stamps.copied().unwrap_or_default();
    assert_eq!(packet.emit_session(session, envelope, &stamps, &mut bytes), Ok(front));
    bytes
}

proptest! {
    #![proptest_config(headway_testing::cases!(2000))]

    #[test]
    fn a_packet_comes_back_as_it_was(packet in any_packet()) {
        let bytes = bytes_of(&packet);
        let view = PacketView::parse(&bytes).expect("what was emitted");
        prop_assert_eq!(view.to_packet(), packet);
        prop_assert!(view.payload_bytes().iter().enumerate().all(|(i, &b)| b == i as u8));
        packet_codec::check(&bytes);
    }

    #[test]
    fn a_packet_in_a_session_comes_back_as_it_was(packet in any_packet(), n in any::<[u64; 3]>(), sealed: bool) {
        let session = Session { src_epoch: n[0], cookie: n[1], counter: n[2] };
        let bytes = session_bytes_of(&packet, &session, sealed);
        let view = PacketView::parse(&bytes).expect("what was emitted");
        prop_assert_eq!(view.to_packet(), packet);
        prop_assert_eq!(view.session_fields(), Some(session));
        let envelope = if sealed { Envelope::Sealed } else { Envelope::Session };
        prop_assert_eq!(view.envelope(), envelope);
        prop_assert_eq!(view.payload_bytes().len(), usize::from(packet.payload) + envelope.bytes_after(packet.kind));
        let header = PacketView::parse_header(&bytes[..WIRE_HEADER]).expect("the header alone");
        prop_assert_eq!((header.to_packet(), header.session_fields()), (packet, None));
        packet_codec::check(&bytes);
    }

    #[test]
    fn stamps_come_back_as_they_were(
        packet in any_packet(), n in any::<[u64; 3]>(), sealed: bool, stamps in any_stamps(), junk: u8,
    ) {
        let session = Session { src_epoch: n[0], cookie: n[1], counter: n[2] };
        let mut bytes = stamped_bytes_of(&packet, &session, sealed, Some(&stamps));
        let view = PacketView::parse(&bytes).expect("what was emitted");
        prop_assert_eq!((view.to_packet(), view.session_fields(), view.port_stamps()), (packet, Some(session), Some(stamps)));
        prop_assert_eq!(view.takes_stamps(), packet.kind == PacketKind::Data);
        packet_codec::check(&bytes);
        // Bytes that no port has written yet may hold anything.
        let used = WIRE_FRONT + 2 + stamps.filled_hops().len() * HOP_BYTES;
        bytes[used..WIRE_FRONT + STAMPS_BYTES].fill(junk);
        prop_assert_eq!(PacketView::parse(&bytes).expect("as before").port_stamps(), Some(stamps));
        packet_codec::check(&bytes);
        // And no seal covers any of it.
        let plain = session_bytes_of(&packet, &session, sealed);
        let front = |bytes: &[u8]| -> [u8; WIRE_FRONT] { *bytes.first_chunk().expect("as long") };
        let mut other = front(&bytes);
        other[5] = plain[5];
        prop_assert_eq!(other, front(&plain), "beside the envelope's number");
    }

    /// A port does to bytes what it does to stamps in memory.
    #[test]
    fn a_stamp_in_bytes_is_the_stamp(stamps in any_stamps(), hop in any_hop(), hostile: [u8; STAMPS_BYTES]) {
        let mut pushed = stamps;
        pushed.push(hop);
        prop_assert_eq!(Stamps::with_next(&stamps.to_bytes(), &hop), pushed.to_bytes());
        prop_assert_eq!(Stamps::parse(&pushed.to_bytes()), Some(pushed));
        // Whatever stands there, at most one slot and the number change.
        let after = Stamps::with_next(&hostile, &hop);
        let changed: Vec<usize> = (2..STAMPS_BYTES).filter(|&at| after[at] != hostile[at]).collect();
        let slots: std::collections::BTreeSet<usize> = changed.iter().map(|at| (at - 2) / HOP_BYTES).collect();
        let crossed = u16::from_be_bytes([hostile[0], hostile[1]]);
        prop_assert!(slots.into_iter().all(|slot| slot == usize::from(crossed)));
        prop_assert_eq!(u16::from_be_bytes([after[0], after[1]]), crossed.saturating_add(1));
    }

    #[test]
    fn stamps_of_a_port_without_a_rate_are_none(stamps in any_stamps(), at in 0usize..5) {
        let mut bytes = stamps.to_bytes();
        // The rate is the last four of a stamp's 24 bytes.
        bytes[2 + at * HOP_BYTES + 20..][..4].fill(0);
        prop_assert_eq!(Stamps::parse(&bytes).is_none(), at < stamps.filled_hops().len());
        prop_assert_eq!(Stamps::parse(&bytes[..STAMPS_BYTES - 1]), None);
    }

    #[test]
    fn a_handshake_comes_back_as_it_was(
        kind in 0..HandshakeKind::ALL.len(), n in any::<[u64; 4]>(), mac: [u8; 16],
        (wire, session, mtu, cipher) in any::<(u8, u8, u16, u8)>(), name in "[a-z0-9-]{0,26}",
        share: Option<[u8; 32]>,
    ) {
        let kind = HandshakeKind::ALL[kind];
        let transport = TransportName::new(&name).expect("not too long");
        let terms = Terms { wire, session, mtu, transport };
        let [epoch, peer_epoch, shown, offered] = n;
        let share = share.filter(|_| kind.has_share());
        let sent = Handshake { kind, terms, cipher, epoch, peer_epoch, shown, offered, mac, share };
        prop_assert_eq!(transport.to_string(), name);
        let bytes = sent.to_bytes();
        prop_assert_eq!(bytes.len(), HANDSHAKE_BYTES + share.map_or(0, |share| share.len()));
        prop_assert_eq!(Handshake::parse(&bytes), Some(sent));
        let (covered, said) = Handshake::covered_bytes(&bytes).expect("long enough");
        prop_assert_eq!(said, mac);
        prop_assert_eq!(covered.concat().len() + mac.len(), bytes.len());
        prop_assert_eq!(covered[1], share.as_ref().map_or(&[][..], |share| share));
        // A share where none belongs, or half of one, is not a handshake.
        let longer = [&bytes[..], &[0; 32]].concat();
        prop_assert_eq!(Handshake::parse(&longer).is_some(), kind.has_share() && share.is_none());
        prop_assert_eq!(Handshake::parse(&longer[..bytes.len() + 16]), None);
        prop_assert!(PacketView::parse_header(&bytes).is_err(), "it is no packet");
        prop_assert_eq!(Handshake::parse(&bytes[1..]), None);
    }

    #[test]
    fn what_is_said_of_paths_comes_back_as_it_was(
        kind in 0..PathKind::ALL.len(), n in any::<[u64; 6]>(), mac: [u8; 16],
        (home, asks) in any::<(bool, bool)>(),
        addresses in proptest::collection::vec(any::<(std::net::IpAddr, u16)>(), 0..=MOST_ADDRESSES), more in 0..200usize,
    ) {
        let terms = Terms::new("proactmp", 1500).expect("not too long");
        let [epoch, peer_epoch, shown, offered, number, heard] = n;
        let (cipher, share) = (0, None);
        let hello = HandshakeKind::Hello;
        let front = Handshake { kind: hello, terms, cipher, epoch, peer_epoch, shown, offered, mac, share };
        let kind = PathKind::ALL[kind];
        let canonical = addresses.iter().map(|(ip, port)| SocketAddr::new(ip.to_canonical(), *port));
        let addresses = if kind == PathKind::Addresses { canonical.collect() } else { Vec::new() };
        let sent = PathSaid { front, kind, number, heard, home, asks, addresses };
        let bytes = sent.to_bytes(0);
        prop_assert!(is_about_paths(&bytes) && bytes.len() <= LONGEST_LIST);
        prop_assert_eq!(Handshake::parse(&bytes), None, "versions of before drop it");
        prop_assert_eq!(PathSaid::parse(&bytes), Some(sent.clone()));
        // Zeros may follow a challenge alone.
        let longer = sent.to_bytes(bytes.len() + more);
        prop_assert_eq!(longer.len(), bytes.len() + more);
        prop_assert_eq!(PathSaid::parse(&longer).is_some(), more == 0 || kind == PathKind::Challenge);
        let (covered, said) = Handshake::covered_bytes(&longer).expect("long enough");
        prop_assert_eq!((said, covered.concat().len()), (&mac[..], longer.len() - mac.len()));
        prop_assert_eq!(PathSaid::parse(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn no_bytes_are_a_list_that_is_too_long(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0x86u8..=0x88) {
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        let said = PathSaid::parse(&bytes);
        prop_assert!(said.is_none_or(|said| said.addresses.len() <= MOST_ADDRESSES));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2 * WIRE_HEADER)) {
        packet_codec::check(&bytes);
    }

    #[test]
    fn no_damage_panics(packet in any_packet(), at in 0..WIRE_HEADER, to in any::<u8>(), cut in any::<u16>()) {
        let mut bytes = bytes_of(&packet);
        bytes[at] = to;
        packet_codec::check(&bytes);
        bytes.truncate(usize::from(cut) % (bytes.len() + 1));
        packet_codec::check(&bytes);
    }

    /// Whatever ports do to a packet, what its seal and its check cover is the same; and every bit that they must
    /// not touch is covered.
    #[test]
    fn what_is_covered_is_all_that_ports_do_not_touch(packet in any_packet(), rate: u32, at in 0..WIRE_FRONT, bit in 0u8..8) {
        let session = Session { src_epoch: 1, cookie: 2, counter: 3 };
        let front = |p: &Packet| -> [u8; WIRE_FRONT] {
            *session_bytes_of(p, &session, true).first_chunk().expect("as long")
        };
        let (sent, asks) = (front(&packet), packet.flags.has_all(PacketFlags::RATE));
        let mut rated = packet;
        rated.token = if asks { rate } else { packet.token };
        prop_assert_eq!(covered_front(&front(&rated)), covered_front(&sent));
        if packet.is_data() {
            let mut cut = rated;
            cut.trim_payload(158);
            prop_assert_eq!(covered_of_cut(&front(&cut)), covered_of_cut(&sent));
            (cut.flags, cut.tag) = (cut.flags.with(PacketFlags::BOUNCED), 9);
            prop_assert_eq!(covered_of_cut(&front(&cut)), covered_of_cut(&sent), "nor as it returns");
        }
        let mut other = sent;
        other[at] ^= 1 << bit;
        let mutable = at < WIRE_HEADER && MUTABLE_BITS[at] & 1 << bit != 0;
        // The bytes of `token`.
        let rate_field = (32..36).contains(&at);
        prop_assert_eq!(covered_front(&other) == covered_front(&sent), asks && rate_field);
        let hidden = mutable && (!rate_field || asks);
        prop_assert_eq!(covered_of_cut(&other) == covered_of_cut(&sent), hidden, "byte {}", at);
    }

    /// Each field of the table is where the table says: changing its bytes changes that field alone.
    #[test]
    fn the_table_says_where_each_field_is(packet in any_packet(), other in any_packet()) {
        let (from, to) = (packet.header_bytes(), other.header_bytes());
        for field in WIRE_FIELDS {
            let range = field.offset / 8..(field.offset + field.bits) / 8;
            let mut bytes = from;
            bytes[range.clone()].copy_from_slice(&to[range]);
            let mut expected = packet;
            copy_field(field.name, &other, &mut expected);
            prop_assert_eq!(bytes, expected.header_bytes(), "{}", field.name);
        }
    }
}

fn copy_field(name: &str, from: &Packet, to: &mut Packet) {
    match name {
        "version" | "envelope" | "reserved" => {}
        "kind" => to.kind = from.kind,
        "flags" => to.flags = from.flags,
        "ecn" => to.ecn = from.ecn,
        "priority" => to.priority = from.priority,
        "wire" => to.wire = from.wire,
        "payload" => to.payload = from.payload,
        "src" => to.src = from.src,
        "dst" => to.dst = from.dst,
        "message" => to.message = from.message,
        "index" => to.index = from.index,
        "count" => to.count = from.count,
        "token" => to.token = from.token,
        "remaining" => to.remaining = from.remaining,
        "entropy" => to.entropy = from.entropy,
        "message_bytes" => to.message_bytes = from.message_bytes,
        "lifetime" => to.lifetime = from.lifetime,
        other => panic!("the table has a field `{other}` that no packet has"),
    }
}

#[test]
fn the_fields_that_a_switch_may_change_are_these() {
    let of = |way: Mutable| {
        let all = WIRE_FIELDS.iter().filter(move |f| f.mutable == way);
        all.map(|f| f.name).collect::<Vec<_>>()
    };
    assert_eq!(of(Mutable::Cut), ["kind", "priority", "wire", "payload"]);
    assert_eq!((of(Mutable::Rate), of(Mutable::Flags)), (vec!["token"], vec!["flags"]));
    let changeable: u32 = MUTABLE_BITS.iter().map(|byte| byte.count_ones()).sum();
    // The four fields of a cut, `token`, and two of the eight flags.
    assert_eq!(changeable, 8 + 8 + 16 + 16 + 32 + 2);
}

#[test]
fn the_table_covers_the_header_without_gaps() {
    let mut bit = 0;
    for field in WIRE_FIELDS {
        assert_eq!(field.offset, bit, "{}", field.name);
        bit += field.bits;
    }
    assert_eq!(bit, WIRE_HEADER * 8);
    assert_eq!(WIRE_HEADER, 60);
}

#[test]
fn the_tables_of_session_and_handshake_have_no_gaps() {
    let end = |fields: &[headway_packet::WireField], start: usize| {
        fields.iter().fold(start, |bit, field| {
            assert_eq!(field.offset, bit, "{}", field.name);
            bit + field.bits
        })
    };
    assert_eq!(end(SESSION_FIELDS, WIRE_HEADER * 8), (WIRE_HEADER + SESSION_HEADER) * 8);
    assert_eq!(end(HANDSHAKE_FIELDS, 0), HANDSHAKE_BYTES * 8);
    let hops = end(CROSSED_FIELDS, WIRE_FRONT * 8);
    assert_eq!(end(HOP_FIELDS, hops), hops + HOP_BYTES * 8);
    assert_eq!((HOP_BYTES, STAMPS_BYTES), (24, 122));
    assert!(CROSSED_FIELDS.iter().chain(HOP_FIELDS).all(|field| field.mutable == Mutable::Stamp));
    assert_eq!(end(SHARE_FIELDS, HANDSHAKE_BYTES * 8), LONGEST_HANDSHAKE * 8);
    assert_eq!((SESSION_HEADER, HANDSHAKE_BYTES, LONGEST_HANDSHAKE), (24, 80, 112));
    assert_eq!(end(PATH_FIELDS, HANDSHAKE_BYTES * 8), CHALLENGE_BYTES * 8);
    let list = end(ADDRESS_FIELDS, CHALLENGE_BYTES * 8);
    assert_eq!(CHALLENGE_BYTES + MOST_ADDRESSES * (list / 8 - CHALLENGE_BYTES), LONGEST_LIST);
    assert_eq!((CHALLENGE_BYTES, LONGEST_LIST), (100, 244));
    for (kind, (number, name)) in
        PathKind::ALL.iter().zip(&HANDSHAKE_FIELDS[0].values[HandshakeKind::ALL.len()..])
    {
        assert_eq!((*number, *name), (0x80 + *kind as u64, format!("{kind:?}").to_lowercase().as_str()));
    }
    let names = |i: usize| HANDSHAKE_FIELDS[0].values[i];
    for (i, kind) in HandshakeKind::ALL.iter().enumerate() {
        assert_eq!(names(i), (0x80 + *kind as u64, format!("{kind:?}").to_lowercase().as_str()));
    }
}

#[test]
fn a_name_on_the_wire_is_printable_and_is_refused_when_too_long() {
    assert_eq!(TransportName::new(&"x".repeat(27)), None);
    let mut bytes = Handshake {
        kind: HandshakeKind::Hello,
        terms: Terms::new("amrt", 1500).expect("not too long"),
        cipher: 0,
        epoch: 1,
        peer_epoch: 2,
        shown: 3,
        offered: 4,
        mac: [0; 16],
        share: None,
    }
    .to_bytes()
    .to_vec();
    // The place of the name, which begins with an escape sequence of terminals.
    bytes[6..12].copy_from_slice(b"\x1b[\xffe\n\"");
    let name = Handshake::parse(&bytes).expect("a handshake").terms.transport.to_string();
    assert_eq!(name, "\\x1b[\\xffe\\n\\\"");
}

#[test]
fn names_of_values_in_the_table_are_the_names_of_kinds() {
    let kind = WIRE_FIELDS.iter().find(|f| f.name == "kind").expect("a field for the kind");
    let named: Vec<_> = PacketKind::ALL.iter().map(|k| (*k as u64, k.name())).collect();
    assert_eq!(kind.values, named);
    for (n, _) in kind.values {
        assert_eq!(PacketKind::from_wire(*n as u8).map(|k| k as u64), Some(*n));
    }
}

/// The layout byte by byte: a change of it needs a new version.
#[test]
fn the_layout_of_version_1() {
    let mut packet = Packet::new(PacketKind::Grant, HostId(0x0102_0304), HostId(0x1112_1314), 0x2122_2324);
    (packet.index, packet.count, packet.token) = (0x3132_3334, 0x4142_4344, 0x5152_5354);
    (packet.remaining, packet.entropy) = (0x6162_6364, 0x7172_7374);
    (packet.message_bytes, packet.lifetime) = (0x8182_8384_8586_8788, Time(0x9192_9394_9596_9798));
    (packet.wire, packet.priority, packet.tag) = (84, 7, 99);
    (packet.ecn, packet.flags) = (Ecn::Spare, PacketFlags::ECE.with(PacketFlags::UNSCHEDULED));
    let bytes = bytes_of(&packet);
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let expected = "0101050107000000005400000102030411121314212223243132333441424344\
                    515253546162636471727374818283848586878891929394959697 98";
    assert_eq!(hex, expected.replace(' ', ""));
    let read = PacketView::parse(&bytes).expect("a grant").to_packet();
    assert_eq!(read, Packet { tag: 0, ..packet }, "the tag does not travel");
}

#[test]
fn what_is_wrong_is_said() {
    let mut packet = Packet::new(PacketKind::Data, HostId(1), HostId(2), 3);
    (packet.payload, packet.wire) = (10, 88);
    let good = bytes_of(&packet);
    let with = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        PacketView::parse(&bytes).map(|v| v.to_packet()).expect_err("damaged")
    };
    assert_eq!(with(0, 9), WireError::Version(9));
    assert_eq!(with(1, 200), WireError::Kind(200));
    assert_eq!(with(1, 5), WireError::Sizes { kind: "finished", wire: 88, payload: 10 });
    assert_eq!(with(3, 4), WireError::Ecn(4));
    assert_eq!(with(5, 5), WireError::Envelope(5));
    // An envelope with a session needs its 24 bytes, of which ten are there.
    assert_eq!(with(5, 1), WireError::Truncated { need: 84, have: 70 });
    assert_eq!(with(6, 1), WireError::Reserved);
    assert_eq!(with(9, 9), WireError::Sizes { kind: "data", wire: 9, payload: 10 });
    assert_eq!(with(11, 11), WireError::Length { declared: 11, actual: 10 });
    let short = PacketView::parse(&good[..WIRE_HEADER - 1]).map(|_| ()).expect_err("short");
    assert_eq!(short, WireError::Truncated { need: WIRE_HEADER, have: WIRE_HEADER - 1 });
    assert_eq!(short.to_string(), "the packet is truncated: it has 59 of 60 bytes");
    assert_eq!(
        with(0, 9).to_string(),
        format!("the packet has wire version 9, and this program has version {WIRE_VERSION}")
    );
    assert_eq!(
        packet.emit_packet(&[0; 9], &mut [0; 100]),
        Err(WireError::Length { declared: 10, actual: 9 })
    );
    assert_eq!(packet.emit_packet(&[0; 10], &mut [0; 69]), Err(WireError::Truncated { need: 70, have: 69 }));
}

/// The committed corpus, as the fuzzer sees it.
#[test]
#[allow(clippy::disallowed_methods, reason = "the corpus is files")]
fn the_corpus_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/packet_codec");
    let mut seeds = 0;
    let mut parsed = [0; PacketKind::ALL.len()];
    for entry in std::fs::read_dir(folder).expect("the corpus is committed") {
        let bytes = std::fs::read(entry.expect("readable").path()).expect("readable");
        if let Ok(view) = PacketView::parse(&bytes) {
            parsed[view.to_packet().kind as usize] += 1;
        }
        packet_codec::check(&bytes);
        seeds += 1;
    }
    assert!(seeds >= 20, "only {seeds} seeds in the corpus");
    assert!(parsed.iter().all(|&n| n > 0), "seeds of every kind: {parsed:?}");
}
