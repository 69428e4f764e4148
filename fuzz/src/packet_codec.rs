//! Properties of the packet codec on any bytes. The fuzz target and the test that replays the
//! corpus run this same function.

use headway_packet::session::Handshake;
use headway_packet::{
    Envelope, Packet, PacketKind, PacketView, STAMPS_BYTES, Stamps, WIRE_FRONT, WIRE_HEADER, WireError,
};

/// Panics when the codec breaks its contract on `bytes`.
pub fn check(bytes: &[u8]) {
    if let Some(handshake) = Handshake::parse(bytes) {
        assert_eq!(&*handshake.to_bytes(), bytes, "what parses is emitted as it came");
    }
    let view = match PacketView::parse(bytes) {
        Ok(view) => view,
        Err(error) => return check_error(bytes, error),
    };
    let packet = view.to_packet();
    let envelope = view.envelope();
    assert_eq!(view.payload_bytes().len(), usize::from(packet.payload) + envelope.bytes_after(packet.kind));
    let mut again = vec![0; bytes.len()];
    match view.session_fields() {
        None => {
            assert_eq!(envelope, Envelope::Bare);
            assert_eq!(packet.emit_packet(view.payload_bytes(), &mut again), Ok(bytes.len()));
        }
        Some(session) => {
            let front = WIRE_HEADER + envelope.bytes_before(packet.kind);
            let stamps = view.port_stamps().unwrap_or_default();
            assert_eq!(packet.emit_session(&session, envelope, &stamps, &mut again), Ok(front));
            if view.port_stamps().is_some() {
                check_stamps(&stamps, &bytes[WIRE_FRONT..], &again[WIRE_FRONT..]);
            }
            again[WIRE_FRONT..].copy_from_slice(&bytes[WIRE_FRONT..]);
            assert!(packet.emit_session(&session, envelope, &stamps, &mut vec![0; front - 1]).is_err());
        }
    }
    assert_eq!(again, bytes, "what parses is emitted as it came");
    if let Some(left) = view.cut_length() {
        let mut short = bytes[..left].to_vec();
        let header = Packet { kind: PacketKind::Header, payload: 0, ..packet };
        short[..WIRE_HEADER].copy_from_slice(&header.header_bytes_in(envelope));
        let cut = PacketView::parse(&short).expect("what is left of a data packet is a packet");
        assert_eq!(
            (cut.to_packet(), cut.session_fields(), cut.cut_length()),
            (header, view.session_fields(), None)
        );
    }
    for cut in [0, WIRE_HEADER / 2, bytes.len() - 1] {
        assert!(PacketView::parse(&bytes[..cut]).is_err(), "cut to {cut} bytes it is no packet");
        let bare = &view.payload_bytes()[..usize::from(packet.payload)];
        assert!(
            packet.emit_packet(bare, &mut again[..cut.min(WIRE_HEADER - 1)]).is_err(),
            "it needs all its room"
        );
    }
    assert!(PacketView::parse(&[bytes, &[0]].concat()).is_err(), "nor with a byte more");
}

/// Stamps that parse are emitted as they came; slots that no port has filled are zero then.
fn check_stamps(stamps: &Stamps, came: &[u8], again: &[u8]) {
    assert_eq!(stamps.to_bytes(), again[..STAMPS_BYTES]);
    let used = STAMPS_BYTES - (Stamps::ROOM - stamps.filled_hops().len()) * headway_packet::HOP_BYTES;
    assert_eq!(came[..used], again[..used]);
    assert!(again[used..STAMPS_BYTES].iter().all(|&byte| byte == 0));
    assert_eq!(Stamps::parse(&again[..STAMPS_BYTES]), Some(*stamps));
}

fn check_error(bytes: &[u8], error: WireError) {
    assert!(!error.to_string().is_empty());
    match error {
        WireError::Truncated { need, have } => assert!(have == bytes.len() && have < need),
        WireError::Version(found) => assert_eq!(found, bytes[0]),
        WireError::Kind(found) => assert_eq!(PacketKind::from_wire(found), None),
        WireError::Ecn(found) => assert!(found > 3),
        WireError::Envelope(found) => assert!(usize::from(found) >= Envelope::ALL.len()),
        WireError::Reserved => assert!(bytes.len() >= WIRE_HEADER),
        WireError::Length { declared, actual } => {
            assert!(declared != actual && actual <= bytes.len() - WIRE_HEADER);
            // The header alone is in order, and says the same packet.
            let header = PacketView::parse_header(bytes).expect("only the length is wrong");
            let packet: Packet = header.to_packet();
            assert_eq!(packet.header_bytes_in(header.envelope()), bytes[..WIRE_HEADER]);
        }
        WireError::Sizes { wire, payload, .. } => assert!(payload > 0 || wire == 0),
    }
}
