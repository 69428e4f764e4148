//! Frames and files, read back with the libraries' own parsers.

use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
use headway_capture::frame::{class_selector, mac_address};
use headway_capture::{CaptureError, CaptureWriter, FRAME_HEADERS, Frame, Interface};
use headway_packet::{Ecn, HostId, Packet, PacketKind, PacketView, UDP_PORT};
use headway_units::{Rate, Time};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::io::{self, Write};
use std::time::Duration;

const FRAMING: u16 = 38;

fn packet_of(kind: PacketKind, payload: u16, wire: u16) -> Packet {
    // A host whose address has four different bytes: 10.1.2.255.
    let mut packet = Packet::new(kind, HostId(0), HostId(0x0001_02fe), 7);
    (packet.payload, packet.wire, packet.index, packet.message_bytes) = (payload, wire, 3, 9000);
    (packet.priority, packet.ecn) = (1, Ecn::Spare);
    packet
}

fn two_interfaces() -> [Interface; 2] {
    [("h0->s0", 10), ("s0->s1", 40)].map(|(n, g)| Interface { name: n.into(), rate: Rate::gbps(g) })
}

#[test]
fn a_frame_parses_back_to_its_packet_and_its_sizes() {
    let cases = [
        // A full frame, and a control packet: an Ethernet's 1514 and the bytes that the headers need.
        (packet_of(PacketKind::Data, 1460, 1538), 1514),
        (packet_of(PacketKind::Grant, 0, 84), FRAME_HEADERS as u32),
        (packet_of(PacketKind::Data, 1, 84), FRAME_HEADERS as u32 + 1),
        // Network-layer lengths of 88, all headers, and one more.
        (packet_of(PacketKind::Data, 48, 126), FRAME_HEADERS as u32 + 48),
        (packet_of(PacketKind::Data, 49, 127), FRAME_HEADERS as u32 + 1),
        (packet_of(PacketKind::Data, u16::MAX, u16::MAX), 14 + u32::from(u16::MAX - FRAMING)),
        (packet_of(PacketKind::Data, 0, 0), FRAME_HEADERS as u32),
    ];
    for (packet, original) in cases {
        let frame = Frame::from_packet(&packet, FRAMING);
        assert_eq!((frame.data.len(), frame.original_len), (FRAME_HEADERS, original), "{packet:?}");
        let headers = PacketHeaders::from_ethernet_slice(&frame.data);
        // A frame that is cut short has lengths beyond its end, which the strict parser refuses.
        let lax = etherparse::LaxPacketHeaders::from_ethernet(&frame.data).expect("an Ethernet frame");
        assert_eq!(headers.is_ok(), original as usize == FRAME_HEADERS, "{packet:?}");
        let Some(NetHeaders::Ipv4(ip, _)) = &lax.net else { panic!("no IPv4: {lax:?}") };
        let Some(TransportHeader::Udp(udp)) = &lax.transport else { panic!("no UDP: {lax:?}") };
        assert_eq!((ip.source, ip.destination), ([10, 0, 0, 1], [10, 1, 2, 255]));
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!((ip.dscp.value(), ip.ecn.value()), (0b110_000, 1));
        assert_eq!(u32::from(ip.total_len) + 14, original);
        assert_eq!(udp.length, ip.total_len - 20);
        assert_eq!((udp.source_port, udp.destination_port, udp.checksum), (UDP_PORT, UDP_PORT, 0));
        let headway = &frame.data[FRAME_HEADERS - headway_packet::WIRE_HEADER..];
        match PacketView::parse_header(headway) {
            Ok(view) => assert_eq!(view.to_packet(), packet),
            Err(e) => assert!(packet.payload > packet.wire, "{e}"),
        }
    }
}

#[test]
fn addresses_and_classes() {
    assert_eq!(HostId(255).ipv4_address(), [10, 0, 1, 0]);
    assert_eq!(HostId(99_999).ipv4_address(), [10, 1, 0x86, 0xa0]);
    assert_eq!(mac_address(HostId(2)), [2, 0, 10, 0, 0, 3]);
    assert_eq!([0, 1, 6, 7, 8, 255].map(class_selector), [56, 48, 8, 0, 0, 0]);
    for ecn in [Ecn::NotEct, Ecn::Spare, Ecn::Ect, Ecn::Ce] {
        let mut packet = packet_of(PacketKind::Data, 1, 84);
        packet.ecn = ecn;
        assert_eq!(Frame::from_packet(&packet, FRAMING).data[15] & 3, ecn as u8);
    }
}

#[test]
fn a_file_reads_back_with_its_interfaces_and_in_order_of_time() {
    let mut writer =
        CaptureWriter::new(Vec::new(), "headway test", &two_interfaces(), Time::us(2)).expect("a vector");
    let frame = |index| {
        let mut packet = packet_of(PacketKind::Data, 1460, 1538);
        packet.index = index;
        Frame::from_packet(&packet, FRAMING)
    };
    // Up to 1,500 ns late, within the window of 2 us; two at one time, on different interfaces.
    let handed = [(0, 5_000), (1, 3_500), (1, 5_000), (0, 6_999), (1, 5_500), (0, 900_000)];
    for (index, (interface, ns)) in handed.into_iter().enumerate() {
        // The 999 ps are cut off in the file, not rounded.
        writer
            .write_frame(interface, Time(ns * 1000 + 999), frame(index as u32))
            .expect("a declared interface");
    }
    assert!(matches!(writer.write_frame(2, Time::ZERO, frame(0)), Err(CaptureError::NoInterface(2))));
    let file = writer.finish_file().expect("a vector");
    let mut reader = PcapNgReader::new(&file[..]).expect("a section header");
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("a whole block").into_owned() {
            Block::InterfaceDescription(i) => names.push(i.options),
            Block::EnhancedPacket(p) => packets.push((p.timestamp, p.interface_id, p.original_len)),
            other => panic!("{other:?}"),
        }
    }
    assert!(names[1].contains(&InterfaceDescriptionOption::IfName("s0->s1".into())));
    assert!(names[1].contains(&InterfaceDescriptionOption::IfSpeed(40_000_000_000)));
    assert!(names[1].contains(&InterfaceDescriptionOption::IfTsResol(9)));
    let mut sorted = handed.map(|(interface, ns)| (Duration::from_nanos(ns), interface, 1514));
    sorted.sort_by_key(|p| p.0);
    assert_eq!(packets, sorted);
}

/// Fails after some bytes, and shows how each call cuts the stream.
struct Full {
    room: usize,
    calls: Vec<usize>,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.room -= bytes.len();
        self.calls.push(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn blocks_are_handed_on_whole_and_a_full_disk_is_an_error() {
    // Room for the section, the interfaces, and some of the twenty packets.
    let full = Full { room: 1000, calls: Vec::new() };
    let mut writer = CaptureWriter::new(full, "headway test", &two_interfaces(), Time::ZERO).expect("room");
    let frame = Frame::from_packet(&packet_of(PacketKind::Ack, 0, 84), FRAMING);
    let failed = (0..20).map(|i| writer.write_frame(0, Time(i), frame.clone())).find_map(Result::err);
    let Some(CaptureError::Io(error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    let to = writer.finish_file().map(|f| f.calls);
    // A write that failed is not repeated, and nothing else waits.
    let calls = to.expect("nothing left to write");
    // Before the packets there are a section and the interfaces.
    assert!(calls[1 + two_interfaces().len()..].iter().all(|&n| n == 32 + FRAME_HEADERS + 2), "{calls:?}");
}

#[test]
fn a_place_that_takes_nothing_is_an_error_at_once() {
    let full = Full { room: 10, calls: Vec::new() };
    assert!(matches!(
        CaptureWriter::new(full, "headway test", &two_interfaces(), Time::ZERO),
        Err(CaptureError::Io(_))
    ));
}
