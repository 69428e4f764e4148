//! Ethernet frames: the facts that ports need of one, and the fields that a switch writes back.
//!
//! A frame that carries a Headway header is that packet; a handshake of hosts and ARP are control, and any other IPv4
//! frame is data of the lowest priority. The packet's size on the wire is the frame's own (with preamble, frame
//! check and inter-frame gap), never the sender's claim. Marks live in the IP header's two ECN bits. Of the
//! Headway header a switch writes the fields that `headway-packet` declares mutable, and no others, so that hosts
//! may authenticate the rest; where data has room for stamps, each port fills in its own ([`Stamps`]). A payload that
//! a port cut off is cut off the frame, and a header that a port returned has its addresses exchanged. Lengths and
//! checksums are brought up to date from what changed (RFC 1624), so that a frame that was damaged before stays a
//! damaged one.
//!
//! **Panics: none**, for any bytes.

use crate::Addresses;
use etherparse::{ArpEthIpv4Packet, EtherType, NetSlice, SlicedPacket, TransportSlice};
use headway_packet::session::Handshake;
use headway_packet::{
    Ecn, Hop, HostId, MUTABLE_BITS, Packet, PacketKind, PacketView, STAMPS_BYTES, Stamps, WIRE_FRONT,
    WIRE_HEADER,
};

/// Bytes of preamble, frame check sequence and inter-frame gap around a frame.
pub(crate) const FRAMING: usize = 24;
/// Bytes before the IPv4 header.
const ETHERNET: usize = 14;
/// Position of the checksum in an IPv4 header.
const IP_CHECKSUM: usize = ETHERNET + 10;
/// Bytes of a UDP header.
const UDP: usize = 8;
/// Class of frames that are not ours: after control, with data.
const FOREIGN_PRIORITY: u8 = 7;

/// Why a frame is rejected on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Not IPv4 and not ARP for IPv4.
    #[error("neither IPv4 nor ARP")]
    NotIpv4,
    /// Truncated, or with lengths that contradict each other.
    #[error("malformed")]
    Malformed,
    /// An address that no host of the network has.
    #[error("to an unknown address")]
    UnknownDestination,
    /// A source address that is not the one of the port it came in by.
    #[error("from an address of another port")]
    Spoofed,
    /// More bytes than a frame may have, as of a sender with segmentation offload.
    #[error("too long")]
    TooLong,
}

impl FrameError {
    /// Every reason, in the order of [`crate::SwitchCounters::refused`].
    pub const ALL: [FrameError; 5] = [
        FrameError::NotIpv4,
        FrameError::Malformed,
        FrameError::UnknownDestination,
        FrameError::Spoofed,
        FrameError::TooLong,
    ];
}

/// A frame as the ports see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedFrame {
    /// Packet that the ports see for this frame.
    pub packet: Packet,
    /// Position of the Headway header in the frame; `None` in foreign frames.
    pub header: Option<usize>,
    /// Bytes of the frame that are left when its payload is cut off, where it can be.
    pub cut: Option<usize>,
    /// Position of the stamps of ports in the frame: in data that has room for them.
    pub stamps: Option<usize>,
    /// Number of the subflow of multipath TCP: 1 between addresses of which one is a host's second, or else 0.
    pub subflow: Option<u32>,
}

impl ParsedFrame {
    /// A parsed frame without a Headway header.
    fn plain(packet: Packet) -> ParsedFrame {
        ParsedFrame { packet, header: None, cut: None, stamps: None, subflow: None }
    }
}

/// A frame from `host`'s interface as the packet that ports see.
pub fn parse(frame: &[u8], host: u32, addresses: &Addresses) -> Result<Packet, FrameError> {
    inspect(frame, host, addresses).map(|seen| seen.packet)
}

/// The packet in a frame, with the positions of the fields that may be rewritten.
pub fn inspect(frame: &[u8], host: u32, addresses: &Addresses) -> Result<ParsedFrame, FrameError> {
    let sliced = SlicedPacket::from_ethernet(frame).map_err(|_| FrameError::Malformed)?;
    match (&sliced.net, &sliced.transport) {
        (Some(NetSlice::Ipv4(ip)), transport) => {
            let header = ip.header();
            let (src, dst) = ends(header.source_addr(), header.destination_addr(), host, addresses)?;
            let ours = match transport {
                Some(TransportSlice::Udp(udp)) => headway(frame, header.slice().len(), udp.payload())
                    .or_else(|| handshake(udp.payload(), ports(udp.source_port(), udp.destination_port()))),
                _ => None,
            };
            let foreign = || ParsedFrame::plain(foreign(&sliced));
            let mut seen = ours.unwrap_or_else(foreign);
            (seen.packet.src, seen.packet.dst) = (HostId(src), HostId(dst));
            seen.packet.ecn = Ecn::from_bits(header.ecn().value());
            seen.packet.wire = wire(frame.len())?;
            if let Some(TransportSlice::Tcp(tcp)) = transport {
                let second =
                    [header.source_addr(), header.destination_addr()].iter().any(|a| addresses.is_second(*a));
                seen.subflow = is_multipath(tcp.options()).then_some(u32::from(second));
            }
            Ok(seen)
        }
        (Some(NetSlice::Arp(arp)), _) => {
            let arp = ArpEthIpv4Packet::try_from(arp.to_packet()).map_err(|_| FrameError::NotIpv4)?;
            let (src, dst) = ends(arp.sender_ipv4_addr(), arp.target_ipv4_addr(), host, addresses)?;
            let mut packet = Packet::new(PacketKind::Ack, HostId(src), HostId(dst), 0);
            packet.wire = wire(frame.len())?;
            Ok(ParsedFrame::plain(packet))
        }
        _ => Err(FrameError::NotIpv4),
    }
}

fn ends(
    src: std::net::Ipv4Addr,
    dst: std::net::Ipv4Addr,
    host: u32,
    addresses: &Addresses,
) -> Result<(u32, u32), FrameError> {
    if addresses.host(src) != Some(host) {
        return Err(FrameError::Spoofed);
    }
    let dst = addresses.host(dst).filter(|&d| d != host).ok_or(FrameError::UnknownDestination)?;
    Ok((host, dst))
}

/// Bytes on a wire of a frame of `length` bytes.
pub(crate) fn wire(length: usize) -> Result<u16, FrameError> {
    // Short frames are padded to 60 bytes on a real wire.
    u16::try_from(length.max(60) + FRAMING).map_err(|_| FrameError::TooLong)
}

/// A frame with a Headway header in `payload`, behind `ip` bytes of IP header and that of UDP.
fn headway(frame: &[u8], ip: usize, payload: &[u8]) -> Option<ParsedFrame> {
    let view = PacketView::parse_header(payload).ok()?;
    let header = ETHERNET + ip + UDP;
    // Behind a VLAN tag the IP header has another position.
    let plain = is_ipv4(frame) && frame.get(header..)?.starts_with(payload);
    plain.then(|| ParsedFrame {
        packet: view.to_packet(),
        header: Some(header),
        cut: view.cut_length().map(|left| header + left),
        stamps: view.takes_stamps().then_some(header + WIRE_FRONT),
        subflow: None,
    })
}

/// A handshake: what hosts exchange before anything else, and by which they measure round trips. Queued behind data it
/// would measure how long the data waits, and behind data that never ends hosts would never meet.
fn handshake(payload: &[u8], entropy: u32) -> Option<ParsedFrame> {
    Handshake::parse(payload)?;
    let mut packet = Packet::new(PacketKind::Ack, HostId(0), HostId(0), 0);
    packet.entropy = entropy;
    Some(ParsedFrame::plain(packet))
}

fn is_ipv4(frame: &[u8]) -> bool {
    frame.len() >= ETHERNET + 20 && frame[12..14] == EtherType::IPV4.0.to_be_bytes()
}

/// A foreign packet: data behind control, its flow distinguished by addresses and ports.
fn foreign(sliced: &SlicedPacket<'_>) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(0), 0);
    packet.priority = FOREIGN_PRIORITY;
    let (payload, entropy) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            (tcp.payload().len(), ports(tcp.source_port(), tcp.destination_port()))
        }
        Some(TransportSlice::Udp(udp)) => {
            (udp.payload().len(), ports(udp.source_port(), udp.destination_port()))
        }
        _ => (0, 0),
    };
    packet.payload = payload.min(u16::MAX.into()) as u16;
    packet.entropy = entropy;
    packet
}

/// True if TCP options have one of multipath TCP among them, as all but a few of its segments do (RFC 8684).
fn is_multipath(mut options: &[u8]) -> bool {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const MULTIPATH: u8 = 30;
    loop {
        options = match *options {
            [MULTIPATH, ..] => return true,
            [NOTHING, ref rest @ ..] => rest,
            [kind, length, ..] if kind != END && length >= 2 => {
                options.get(usize::from(length)..).unwrap_or(&[])
            }
            _ => return false,
        };
    }
}

/// One number of two ports, the same for both directions, whose low bits depend on both.
fn ports(a: u16, b: u16) -> u32 {
    let both = u32::from(a.min(b)) << 16 | u32::from(a.max(b));
    // The high bits of the product depend on both ports, its low ones on the second alone.
    both.wrapping_mul(0x9e37_79b1).rotate_left(16)
}

/// Writes a mark into the IPv4 header of a frame and keeps its checksum right (RFC 1624 eq. 3). Frames
/// without an IPv4 header are left alone.
pub fn set_ecn(frame: &mut [u8], ecn: Ecn) {
    if is_ipv4(frame) {
        let new = [frame[ETHERNET], frame[ETHERNET + 1] & !3 | ecn as u8];
        write(frame, ETHERNET, new, &[IP_CHECKSUM]);
    }
}

/// Brings a frame up to date with what ports made of its packet, which was `was` when the frame was right.
pub(crate) fn rewrite(frame: &mut Vec<u8>, seen: &ParsedFrame, was: &Packet, is: &Packet) {
    if was.ecn != is.ecn {
        set_ecn(frame, is.ecn);
    }
    let Some(header) = seen.header else { return };
    // If a sender left the checksum out, it stays out.
    let udp = header - UDP;
    let checksum = if frame[udp + 6..udp + 8] == [0; 2] { None } else { Some(udp + 6) };
    if was.is_data() && is.kind == PacketKind::Header {
        trim(frame, seen, udp, checksum);
    }
    let (old, new) = (was.header_bytes(), is.header_bytes());
    for at in (0..WIRE_HEADER).step_by(2) {
        let word = [at, at + 1].map(|i| frame[header + i] & !MUTABLE_BITS[i] | new[i] & MUTABLE_BITS[i]);
        if old[at..at + 2] != new[at..at + 2] {
            write(frame, header + at, word, checksum.as_slice());
        }
    }
    if (was.src, was.dst) != (is.src, is.dst) {
        swap_addresses(frame, udp);
    }
}

/// Writes the stamp of a port into a frame that has room for it, behind those of the ports before.
pub(crate) fn stamp(frame: &mut [u8], seen: &ParsedFrame, hop: &Hop) {
    let (Some(header), Some(place)) = (seen.header, seen.stamps) else { return };
    let Some(was) = frame.get(place..).and_then(<[u8]>::first_chunk::<STAMPS_BYTES>) else { return };
    let udp = header - UDP;
    let checksum = if frame[udp + 6..udp + 8] == [0; 2] { None } else { Some(udp + 6) };
    let (was, is) = (*was, Stamps::with_next(was, hop));
    for at in (0..STAMPS_BYTES).step_by(2).filter(|&at| was[at..at + 2] != is[at..at + 2]) {
        write(frame, place + at, [is[at], is[at + 1]], checksum.as_slice());
    }
}

/// Cuts the payload off, and says so in the lengths.
fn trim(frame: &mut Vec<u8>, seen: &ParsedFrame, udp: usize, checksum: Option<usize>) {
    let Some(left) = seen.cut.filter(|&left| left < frame.len()) else { return };
    let said = u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]);
    let end = (udp + usize::from(said)).min(frame.len());
    if let Some(place) = checksum {
        for at in (left..end).step_by(2) {
            let gone = [frame[at], if at + 1 < end { frame[at + 1] } else { 0 }];
            adjust(frame, place, gone, [0; 2]);
        }
    }
    frame.truncate(left);
    let length = |from: usize| ((left - from) as u16).to_be_bytes();
    write(frame, ETHERNET + 2, length(ETHERNET), &[IP_CHECKSUM]);
    // The length counts in the header and in the pseudo-header.
    let places = [checksum.unwrap_or_default(); 2];
    let sums = if checksum.is_some() { &places[..] } else { &[] };
    write(frame, udp + 4, length(udp), sums);
}

/// Exchanges source and destination of everything that has them; no sum changes.
fn swap_addresses(frame: &mut [u8], udp: usize) {
    let mut swap = |a: usize, b: usize, bytes: usize| {
        for i in 0..bytes {
            frame.swap(a + i, b + i);
        }
    };
    swap(0, 6, 6);
    swap(ETHERNET + 12, ETHERNET + 16, 4);
    swap(udp, udp + 2, 2);
}

/// Writes two bytes at an even distance from the start of the summed bytes, and adjusts the sums at these places.
fn write(frame: &mut [u8], at: usize, new: [u8; 2], sums: &[usize]) {
    let old = [frame[at], frame[at + 1]];
    frame[at..at + 2].copy_from_slice(&new);
    sums.iter().for_each(|&place| adjust(frame, place, old, new));
}

/// RFC 1624 eq. 3.
fn adjust(frame: &mut [u8], place: usize, old: [u8; 2], new: [u8; 2]) {
    let checksum = u16::from_be_bytes([frame[place], frame[place + 1]]);
    let sum = u32::from(!checksum) + u32::from(!u16::from_be_bytes(old)) + u32::from(u16::from_be_bytes(new));
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    // A UDP checksum of zero says that there is none; the same number has another form.
    let sum = if sum == 0 && place != IP_CHECKSUM { 0xffff } else { sum };
    frame[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

/// True if the UDP or TCP checksum of a frame is that of the pseudo-header alone: the value that Linux writes when it
/// leaves the rest to the network card. A whole checksum may be the same number; completing it changes nothing.
pub fn lacks_checksum(frame: &[u8]) -> bool {
    if !is_ipv4(frame) {
        return false;
    }
    let word = |at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let transport = ETHERNET + usize::from(frame[ETHERNET] & 15) * 4;
    let protocol = frame[ETHERNET + 9];
    let place = transport
        + match protocol {
            17 => 6,
            6 => 16,
            _ => return false,
        };
    let offset = word(ETHERNET + 6) & 0x1fff;
    if frame.len() < place + 2 || frame.len() < transport + UDP || offset > 0 {
        return false;
    }
    let addresses: u32 = (ETHERNET + 12..ETHERNET + 20).step_by(2).map(word).sum();
    // A sender may state a total length below that of the header: no panic.
    let length = word(ETHERNET + 2).wrapping_sub((transport - ETHERNET) as u32) & 0xffff;
    let sum = addresses + u32::from(protocol) + length;
    // One's complement: the carries are added back in. RFC 1071
    let sum = (sum & 0xffff) + (sum >> 16);
    word(place) == (sum & 0xffff) + (sum >> 16)
}

/// Fills in the UDP or TCP checksum of a frame whose sender left it to its network card.
pub fn complete_checksum(frame: &mut [u8]) {
    let Some((at, sum)) = transport_checksum(frame) else { return };
    if let Some(field) = frame.get_mut(at..at + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// Position of a frame's UDP or TCP checksum, and its correct value.
fn transport_checksum(frame: &[u8]) -> Option<(usize, u16)> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(NetSlice::Ipv4(ip)) = &sliced.net else { return None };
    let header = ip.header();
    let (src, dst, start) = (header.source(), header.destination(), ETHERNET + header.slice().len());
    match &sliced.transport {
        Some(TransportSlice::Udp(udp)) => {
            let sum = udp.to_header().calc_checksum_ipv4_raw(src, dst, udp.payload()).ok()?;
            Some((start + 6, sum))
        }
        Some(TransportSlice::Tcp(tcp)) => Some((start + 16, tcp.calc_checksum_ipv4(src, dst).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};
    use headway_packet::WIRE_HEADER;

    fn frame(payload: &[u8], from: u32, to: u32) -> Vec<u8> {
        let plan = Addresses::new(4);
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv4(plan.of(from).octets(), plan.of(to).octets(), 64)
            .udp(4000, 4001);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).expect("room");
        bytes
    }

    fn checksums_right(frame: &[u8]) -> bool {
        let sliced = SlicedPacket::from_ethernet(frame).expect("well formed");
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (&sliced.net, &sliced.transport)
        else {
            return false;
        };
        let header = Ipv4HeaderSlice::from_slice(&frame[14..]).expect("a header").to_header();
        let sum = udp
            .to_header()
            .calc_checksum_ipv4_raw(ip.header().source(), ip.header().destination(), udp.payload())
            .expect("short enough");
        header.header_checksum == header.calc_header_checksum() && udp.checksum() == sum
    }

    #[test]
    fn a_headway_packet_is_itself_and_its_size_is_the_frames() {
        let mut sent = Packet::new(PacketKind::Grant, HostId(77), HostId(78), 5);
        (sent.index, sent.count, sent.wire) = (3, 2, 9);
        let frame = frame(&sent.header_bytes(), 1, 2);
        let seen = parse(&frame, 1, &Addresses::new(4)).expect("ours");
        assert_eq!((seen.kind, seen.index, seen.count, seen.message), (PacketKind::Grant, 3, 2, 5));
        assert_eq!((seen.src, seen.dst), (HostId(1), HostId(2)), "addresses are the IP header's");
        assert_eq!(usize::from(seen.wire), 14 + 28 + WIRE_HEADER + FRAMING);
    }

    #[test]
    fn what_cannot_be_forwarded_is_named() {
        let plan = Addresses::new(4);
        let good = frame(&[1; 10], 1, 2);
        assert_eq!(parse(&good, 1, &plan).map(|p| (p.kind, p.priority)), Ok((PacketKind::Data, 7)));
        assert_eq!(parse(&good, 0, &plan), Err(FrameError::Spoofed));
        assert_eq!(parse(&frame(&[], 1, 1), 1, &plan), Err(FrameError::UnknownDestination));
        assert_eq!(parse(&frame(&[], 1, 9), 1, &plan), Err(FrameError::UnknownDestination));
        assert_eq!(parse(&good[..20], 1, &plan), Err(FrameError::Malformed));
        let mut v6 = good.clone();
        v6[12..14].copy_from_slice(&[0x88, 0xcc]);
        assert_eq!(parse(&v6, 1, &plan), Err(FrameError::NotIpv4));
    }

    #[test]
    fn every_mark_keeps_both_checksums_right() {
        for payload in [&[0u8; 0][..], &[0xff; 33], &[7; 1400]] {
            let mut bytes = frame(payload, 0, 3);
            assert!(checksums_right(&bytes));
            for ecn in [Ecn::Spare, Ecn::Ce, Ecn::Ect, Ecn::NotEct] {
                set_ecn(&mut bytes, ecn);
                assert!(checksums_right(&bytes), "{ecn:?}");
                let seen = parse(&bytes, 0, &Addresses::new(4)).expect("good");
                assert_eq!(seen.ecn, ecn);
            }
        }
    }

    fn segment(
        options: &[u8],
        from: std::net::Ipv4Addr,
        to: std::net::Ipv4Addr,
        ports: (u16, u16),
    ) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv4(from.octets(), to.octets(), 64)
            .tcp(ports.0, ports.1, 1, 1000)
            .options_raw(options)
            .expect("options that fit");
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &[5; 100]).expect("room");
        bytes
    }

    #[test]
    fn subflows_of_multipath_tcp_are_known_by_their_option_and_addresses() {
        let plan = Addresses::new(4);
        let (a, b) = (plan.of(0), plan.of(1));
        let subflow = |options: &[u8], from, to| {
            inspect(&segment(options, from, to, (10_000, 9001)), 0, &plan).expect("a good frame").subflow
        };
        let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let both = [&timestamps[..], &[30, 4, 0x20, 0]].concat();
        assert_eq!(subflow(&timestamps, a, b), None, "plain TCP");
        assert_eq!(subflow(&both, a, b), Some(0));
        assert_eq!(subflow(&both, plan.second_of(0), b), Some(1));
        assert_eq!(subflow(&both, a, plan.second_of(1)), Some(1), "the way back");
        for broken in [&[8, 0, 30, 4][..], &[8, 1, 30, 4], &[8, 99, 0, 0], &[0, 30, 4, 0]] {
            assert_eq!(subflow(broken, a, b), None, "{broken:?}");
        }
    }

    #[test]
    fn both_directions_of_a_connection_hash_alike_and_neighbouring_ports_do_not() {
        let plan = Addresses::new(4);
        let of = |from: u32, to: u32, ports| {
            parse(&segment(&[], plan.of(from), plan.of(to), ports), from, &plan)
                .expect("a good frame")
                .entropy
        };
        assert_eq!(of(0, 1, (10_000, 9001)), of(1, 0, (9001, 10_000)));
        let low: std::collections::BTreeSet<u32> =
            (0..64).map(|i| of(0, 1, (10_000 + i, 9001)) % 16).collect();
        assert!(low.len() > 8, "{low:?}");
    }

    /// A frame with the checksum that Linux leaves in it for a network card: the sum of the pseudo-header.
    fn left_to_the_card(mut bytes: Vec<u8>, place: usize) -> Vec<u8> {
        let length = (bytes.len() - ETHERNET - 20) as u32;
        let words = bytes[ETHERNET + 12..ETHERNET + 20].chunks(2);
        let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        let sum = sum + u32::from(bytes[ETHERNET + 9]) + length;
        let folded = ((sum & 0xffff) + (sum >> 16)) as u16;
        bytes[ETHERNET + 20 + place..][..2].copy_from_slice(&folded.to_be_bytes());
        bytes
    }

    #[test]
    fn a_checksum_of_the_pseudo_header_alone_is_seen_and_completed() {
        let plan = Addresses::new(4);
        for (whole, place) in [
            (frame(&[9; 100], 0, 3), 6),
            (frame(&[], 0, 3), 6),
            (segment(&[], plan.of(0), plan.of(3), (1, 2)), 16),
        ] {
            assert!(!lacks_checksum(&whole));
            let mut bytes = left_to_the_card(whole.clone(), place);
            assert!(lacks_checksum(&bytes));
            complete_checksum(&mut bytes);
            assert_eq!(bytes, whole);
        }
    }

    #[test]
    fn frames_that_have_no_checksum_lack_none() {
        let mut without = frame(&[9; 100], 0, 3);
        without[14 + 20 + 6..14 + 20 + 8].fill(0);
        assert!(!lacks_checksum(&without), "a sender that left it out meant it");
        let whole = left_to_the_card(frame(&[9; 100], 0, 3), 6);
        assert!((0..14 + 28).all(|length| !lacks_checksum(&whole[..length])));
        let mut other = whole.clone();
        other[14 + 9] = 1;
        assert!(!lacks_checksum(&other), "neither UDP nor TCP");
        let mut fragment = whole;
        fragment[14 + 7] = 8;
        assert!(!lacks_checksum(&fragment), "data where a header would be");
    }

    #[test]
    fn a_checksum_left_to_the_card_is_completed() {
        let mut bytes = frame(&[9; 100], 0, 3);
        bytes[14 + 20 + 6] ^= 0x55;
        assert!(!checksums_right(&bytes));
        complete_checksum(&mut bytes);
        assert!(checksums_right(&bytes));
    }
}
