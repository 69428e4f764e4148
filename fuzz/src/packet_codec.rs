//! What must hold for the packet codec on any bytes. The fuzz target and the test that replays the
//! corpus run this same function.

use headway_packet::{Packet, PacketKind, PacketView, WIRE_HEADER, WireError};

/// Panics when the codec breaks its contract on `bytes`.
pub fn check(bytes: &[u8]) {
    let view = match PacketView::parse(bytes) {
        Ok(view) => view,
        Err(error) => return check_error(bytes, error),
    };
    let packet = view.packet();
    assert_eq!(view.payload().len(), usize::from(packet.payload));
    let mut again = vec![0; bytes.len()];
    assert_eq!(packet.emit(view.payload(), &mut again), Ok(bytes.len()));
    assert_eq!(again, bytes, "what parses is emitted as it came");
    for cut in [0, WIRE_HEADER / 2, bytes.len() - 1] {
        assert!(PacketView::parse(&bytes[..cut]).is_err(), "cut to {cut} bytes it is no packet");
        assert!(packet.emit(view.payload(), &mut again[..cut]).is_err(), "it needs all its room");
    }
    assert!(PacketView::parse(&[bytes, &[0]].concat()).is_err(), "nor with a byte more");
}

fn check_error(bytes: &[u8], error: WireError) {
    assert!(!error.to_string().is_empty());
    match error {
        WireError::Truncated { need, have } => assert!(have == bytes.len() && have < need),
        WireError::Version(found) => assert_eq!(found, bytes[0]),
        WireError::Kind(found) => assert_eq!(PacketKind::from_wire(found), None),
        WireError::Ecn(found) => assert!(found > 3),
        WireError::Reserved => assert!(bytes.len() >= WIRE_HEADER),
        WireError::Length { declared, actual } => {
            assert!(declared != actual && actual == bytes.len() - WIRE_HEADER);
            // The header alone is in order, and says the same packet.
            let header = PacketView::parse_header(bytes).expect("only the length is wrong");
            let packet: Packet = header.packet();
            assert_eq!(packet.header_bytes(), bytes[..WIRE_HEADER]);
        }
        WireError::Sizes { wire, payload, .. } => assert!(payload > 0 || wire == 0),
    }
}
