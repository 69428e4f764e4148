//! The header of a packet on the wire.

use crate::fields::{U16, U32, U64, wire_fields};
use std::mem::{offset_of, size_of};

/// Version of the layout, in the first byte.
pub const WIRE_VERSION: u8 = 1;

/// Bytes of the header.
pub const WIRE_HEADER: usize = size_of::<Header>();

// Written out, because a constant cannot call `PacketKind::name`; a test compares them.
const KIND_NAMES: &[(u64, &str)] = &[
    (0, "data"),
    (1, "grant"),
    (2, "rts"),
    (3, "token"),
    (4, "ack"),
    (5, "finished"),
    (6, "header"),
    (7, "nack"),
    (8, "pull"),
    (9, "resend"),
    (10, "busy"),
    (11, "credit"),
    (12, "credit-stop"),
    (13, "probe"),
];
const ECN_NAMES: &[(u64, &str)] = &[(0, "not-ect"), (1, "spare"), (2, "ect"), (3, "ce")];
const FLAG_NAMES: &[(u64, &str)] = &[
    (1, "ece"),
    (2, "again"),
    (4, "unscheduled"),
    (8, "pull"),
    (16, "bounced"),
    (32, "last-hop"),
    (64, "rate"),
    (128, "call"),
];
const ENVELOPE_NAMES: &[(u64, &str)] =
    &[(0, "bare"), (1, "session"), (2, "sealed"), (3, "stamped"), (4, "stamped-sealed")];

wire_fields! {
    /// Every field of the header, in order and without gaps.
    WIRE_FIELDS of Header from 0;
    version: u8, "Version of this layout: 1";
    #[values(KIND_NAMES)]
    #[mutable(Cut)]
    kind: u8, "Kind of the packet";
    #[values(FLAG_NAMES)]
    #[mutable(Flags)]
    flags: u8, "Flags of one bit each";
    #[values(ECN_NAMES)]
    ecn: u8, "ECN code point, in the two low bits";
    #[mutable(Cut)]
    priority: u8, "Queue class at every port, 0 served first";
    #[values(ENVELOPE_NAMES)]
    envelope: u8, "Fields between this header and the payload";
    reserved: [u8; 2], "Zero";
    #[mutable(Cut)]
    wire: U16, "Bytes on the wire, framing included";
    #[mutable(Cut)]
    payload: U16, "Bytes of payload after the header";
    src: U32, "Sending host";
    dst: U32, "Receiving host";
    message: U32, "Number of the message among those of its sender to its receiver";
    index: U32, "Position in the message, in packets";
    count: U32, "Packets spoken of: granted, sent without permission, or acknowledged cumulatively";
    #[mutable(Rate)]
    token: U32, "By kind and transport: number of the authorisation used or given, a SACK block, packets permitted, a subflow; with the flag rate, kb/s";
    remaining: U32, "By kind and transport: packets still to be received or sent, a window, a class, a subflow, a round trip in ns; in an answer of RCP, kb/s";
    entropy: U32, "Number that multipath routing hashes together with the addresses";
    message_bytes: U64, "Bytes of the whole message; in an ack, two SACK blocks: start above count and length, 16 bits each";
    lifetime: U64, "Time for which a permission is valid, or an echoed time, in picoseconds";
}
