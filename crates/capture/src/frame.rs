//! A Headway packet as the frame it would be on an Ethernet: Ethernet II, IPv4, UDP, Headway's header.
//!
//! | field | from |
//! |---|---|
//! | IPv4 address | host number plus 1, below 10.0.0.0: host 0 is 10.0.0.1 ([`HostId::ipv4_address`]) |
//! | MAC address | 02:00 and the four bytes of the IPv4 address |
//! | DSCP | class selector 7 less the packet's queue class ([`class_selector`]) |
//! | ECN | the packet's |
//! | UDP ports | [`headway_packet::UDP_PORT`], both |
//! | UDP checksum | 0, "none": the payload that it covers is not there |

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv4Options, UdpHeader,
};
use headway_packet::{Ecn, HostId, Packet, UDP_PORT, WIRE_HEADER};

/// Bytes of an Ethernet header, without frame check sequence.
pub const ETHERNET_HEADER: usize = Ethernet2Header::LEN;

/// Bytes of all headers of a frame, Headway's included.
pub const FRAME_HEADERS: usize = ETHERNET_HEADER + IP_HEADERS;

/// Bytes of IPv4, UDP and Headway headers.
const IP_HEADERS: usize = Ipv4Header::MIN_LEN + UdpHeader::LEN + WIRE_HEADER;

/// Hops a packet may take; none of Headway's networks counts them.
const TIME_TO_LIVE: u8 = 64;

/// The first bytes of a frame, and how long the frame was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The bytes that are kept, from the Ethernet header on.
    pub data: Vec<u8>,
    /// Bytes of the frame, Ethernet header included, frame check sequence not: the quantity that a capture
    /// calls the original length.
    pub original_len: u32,
}

/// MAC address of a host: locally administered, with its IPv4 address inside.
pub fn mac_address(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = host.ipv4_address();
    [0x02, 0, a, b, c, d]
}

/// DSCP of a queue class: class 0, served first, is CS7, class 7 and all after it CS0. RFC 2474 §4.2.2
pub fn class_selector(priority: u8) -> u8 {
    (7 - priority.min(7)) << 3
}

impl Frame {
    /// The frame of a simulated packet, its headers kept; `framing` is what the simulation counts around every network-layer
    /// packet.
    ///
    /// The network-layer length is the simulated one, `wire - framing`: links are as full in the capture as in
    /// the run, although a simulation may count fewer header bytes (40 by default) than there are. Where it
    /// leaves no room beyond the headers, as for control packets, the length is that of the headers and payload.
    pub fn from_packet(packet: &Packet, framing: u16) -> Frame {
        let simulated = packet.wire.saturating_sub(framing);
        let real = (IP_HEADERS as u16).saturating_add(packet.payload);
        let total = if usize::from(simulated) > IP_HEADERS { simulated } else { real };
        Frame { data: frame_headers(packet, total), original_len: u32::from(total) + ETHERNET_HEADER as u32 }
    }
}

/// All headers of a packet whose IPv4 total length is `total`, at least [`IP_HEADERS`].
fn frame_headers(packet: &Packet, total: u16) -> Vec<u8> {
    let ethernet = Ethernet2Header {
        source: mac_address(packet.src),
        destination: mac_address(packet.dst),
        ether_type: EtherType::IPV4,
    };
    let ip = ipv4_header(packet, total);
    let udp = UdpHeader {
        source_port: UDP_PORT,
        destination_port: UDP_PORT,
        length: total - Ipv4Header::MIN_LEN_U16,
        checksum: 0,
    };
    let mut bytes = Vec::with_capacity(FRAME_HEADERS);
    bytes.extend_from_slice(&ethernet.to_bytes());
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&udp.to_bytes());
    bytes.extend_from_slice(&packet.header_bytes());
    bytes
}

fn ipv4_header(packet: &Packet, total: u16) -> Ipv4Header {
    let ecn = match packet.ecn {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Spare => IpEcn::Ect1,
        Ecn::Ect => IpEcn::Ect0,
        Ecn::Ce => IpEcn::CongestionExperienced,
    };
    let mut header = Ipv4Header {
        // Never refused: a class selector is below 64.
        dscp: IpDscp::try_new(class_selector(packet.priority)).unwrap_or(IpDscp::ZERO),
        ecn,
        total_len: total,
        // Never fragmented, so the identification says nothing. RFC 6864 §4
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: IpFragOffset::ZERO,
        time_to_live: TIME_TO_LIVE,
        protocol: IpNumber::UDP,
        header_checksum: 0,
        source: packet.src.ipv4_address(),
        destination: packet.dst.ipv4_address(),
        options: Ipv4Options::default(),
    };
    // Wireshark would mark every packet of a capture without it.
    header.header_checksum = header.calc_header_checksum();
    header
}
