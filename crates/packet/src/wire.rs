//! The packet on the wire: a view over bytes beside the representation [`Packet`].
//!
//! The layout is fixed and stated once, in the list at the end of this file: from it come the header
//! struct, [`WIRE_FIELDS`], and with that the tables and dissectors that are generated. Numbers are in
//! network byte order. After the header follow exactly `payload` bytes; only data packets carry any.
//!
//! **Panics: none.** No input bytes make [`PacketView::parse`] or anything on a view panic; what is
//! wrong with them is a [`WireError`]. What parses and is emitted again gives the same bytes.
//!
//! [`Packet::tag`] is the driver's own and does not travel: a parsed packet has tag 0.

use crate::{Ecn, HostId, Packet, PacketFlags, PacketKind};
use headway_units::Time;
use std::mem::{offset_of, size_of};
use zerocopy::byteorder::network_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Version of the layout, in the first byte.
pub const WIRE_VERSION: u8 = 1;

/// UDP port of Headway, in captures of the simulator and by default on real hosts.
///
/// `HW` in ASCII, 0x4857. IANA has it unassigned (nothing stands between 18516 and 18634), and it lies below
/// 32768, where Linux begins to take ports for clients, so that no other socket has it by chance.
pub const UDP_PORT: u16 = u16::from_be_bytes(*b"HW");

/// One field of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireField {
    /// Name, as in [`Packet`].
    pub name: &'static str,
    /// First bit, counted from the start of the packet.
    pub offset: usize,
    /// Width in bits.
    pub bits: usize,
    /// What it holds, with its unit.
    pub doc: &'static str,
    /// Names of values, or of single bits where the field is a set of flags.
    pub values: &'static [(u64, &'static str)],
}

/// Why bytes are not a packet, or a packet does not become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than a header.
    #[error("truncated: {have} bytes, {need} needed")]
    Truncated {
        /// Bytes needed.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// Another version of the layout.
    #[error("version {0}, this is version {WIRE_VERSION}")]
    Version(u8),
    /// No kind of that number.
    #[error("no packet kind {0}")]
    Kind(u8),
    /// An ECN field outside its two bits.
    #[error("no ECN code point {0}")]
    Ecn(u8),
    /// Bits set that this version does not use.
    #[error("reserved bits are set")]
    Reserved,
    /// The header's payload length is not the number of bytes that follow it.
    #[error("{declared} bytes of payload declared, {actual} present")]
    Length {
        /// What the header says.
        declared: usize,
        /// What there is.
        actual: usize,
    },
    /// A control packet with payload, or a packet that takes less room on the wire than its payload.
    #[error("a {kind} packet of {wire} bytes on the wire cannot carry {payload} bytes of payload")]
    Sizes {
        /// Lower-case name of the kind.
        kind: &'static str,
        /// Bytes on the wire.
        wire: u16,
        /// Bytes of payload.
        payload: u16,
    },
}

/// Declares the header and the table of its fields together.
macro_rules! wire_fields {
    ($($(#[values($values:expr)])? $field:ident: $type:ty, $doc:literal;)+) => {
        /// The header as it lies in memory.
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
        #[repr(C)]
        struct Header {
            $($field: $type),+
        }

        /// Every field of the header, in order and without gaps.
        pub const WIRE_FIELDS: &[WireField] = &[$(WireField {
            name: stringify!($field),
            offset: offset_of!(Header, $field) * 8,
            bits: size_of::<$type>() * 8,
            doc: $doc,
            values: wire_fields!(@values $($values)?),
        }),+];
    };
    (@values) => { &[] };
    (@values $values:expr) => { $values };
}

const KIND_NAMES: &[(u64, &str)] =
    &[(0, "data"), (1, "grant"), (2, "rts"), (3, "token"), (4, "ack"), (5, "finished")];
const ECN_NAMES: &[(u64, &str)] = &[(0, "not-ect"), (1, "spare"), (2, "ect"), (3, "ce")];
const FLAG_NAMES: &[(u64, &str)] = &[(1, "ece"), (2, "again"), (4, "unscheduled")];

/// Bytes of the header.
pub const WIRE_HEADER: usize = size_of::<Header>();

/// A packet in bytes that have been checked.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'a> {
    header: &'a Header,
    kind: PacketKind,
    ecn: Ecn,
    payload: &'a [u8],
}

impl<'a> PacketView<'a> {
    /// Checks that `bytes` are one whole packet, header and payload and nothing else.
    pub fn parse(bytes: &'a [u8]) -> Result<PacketView<'a>, WireError> {
        let view = PacketView::parse_header(bytes)?;
        let declared = usize::from(view.header.payload.get());
        let actual = view.payload.len();
        if declared == actual { Ok(view) } else { Err(WireError::Length { declared, actual }) }
    }

    /// Checks the header alone, as for a capture that keeps only the first bytes of every packet; the
    /// view's payload is whatever bytes follow.
    pub fn parse_header(bytes: &'a [u8]) -> Result<PacketView<'a>, WireError> {
        let truncated = WireError::Truncated { need: WIRE_HEADER, have: bytes.len() };
        let (header, payload) = Header::ref_from_prefix(bytes).map_err(|_| truncated)?;
        if header.version != WIRE_VERSION {
            return Err(WireError::Version(header.version));
        }
        let kind = PacketKind::from_wire(header.kind).ok_or(WireError::Kind(header.kind))?;
        let ecn = Ecn::from_bits(header.ecn);
        if ecn as u8 != header.ecn {
            return Err(WireError::Ecn(header.ecn));
        }
        if header.reserved != [0; 3] {
            return Err(WireError::Reserved);
        }
        check_sizes(kind, header.wire.get(), header.payload.get())?;
        Ok(PacketView { header, kind, ecn, payload })
    }

    /// The representation; its tag is 0.
    pub fn packet(&self) -> Packet {
        let h = self.header;
        Packet {
            src: HostId(h.src.get()),
            dst: HostId(h.dst.get()),
            message: h.message.get(),
            index: h.index.get(),
            count: h.count.get(),
            token: h.token.get(),
            remaining: h.remaining.get(),
            entropy: h.entropy.get(),
            message_bytes: h.message_bytes.get(),
            lifetime: Time(h.lifetime.get()),
            tag: 0,
            wire: h.wire.get(),
            payload: h.payload.get(),
            kind: self.kind,
            priority: h.priority,
            ecn: self.ecn,
            flags: PacketFlags(h.flags),
        }
    }

    /// The bytes after the header.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

impl Packet {
    /// Writes the packet and its payload to the front of `buffer`; answers the bytes used.
    pub fn emit(&self, payload: &[u8], buffer: &mut [u8]) -> Result<usize, WireError> {
        if payload.len() != usize::from(self.payload) {
            return Err(WireError::Length { declared: self.payload.into(), actual: payload.len() });
        }
        check_sizes(self.kind, self.wire, self.payload)?;
        let (need, have) = (WIRE_HEADER + payload.len(), buffer.len());
        let Some((header, rest)) = buffer.get_mut(..need).map(|b| b.split_at_mut(WIRE_HEADER)) else {
            return Err(WireError::Truncated { need, have });
        };
        header.copy_from_slice(&self.header_bytes());
        rest.copy_from_slice(payload);
        Ok(need)
    }

    /// The header's bytes alone, as a capture of a simulated packet keeps them.
    pub fn header_bytes(&self) -> [u8; WIRE_HEADER] {
        zerocopy::transmute!(Header {
            version: WIRE_VERSION,
            kind: self.kind as u8,
            flags: self.flags.0,
            ecn: self.ecn as u8,
            priority: self.priority,
            reserved: [0; 3],
            wire: self.wire.into(),
            payload: self.payload.into(),
            src: self.src.0.into(),
            dst: self.dst.0.into(),
            message: self.message.into(),
            index: self.index.into(),
            count: self.count.into(),
            token: self.token.into(),
            remaining: self.remaining.into(),
            entropy: self.entropy.into(),
            message_bytes: self.message_bytes.into(),
            lifetime: self.lifetime.0.into(),
        })
    }
}

fn check_sizes(kind: PacketKind, wire: u16, payload: u16) -> Result<(), WireError> {
    let possible = if kind == PacketKind::Data { payload <= wire } else { payload == 0 };
    if possible { Ok(()) } else { Err(WireError::Sizes { kind: kind.name(), wire, payload }) }
}

wire_fields! {
    version: u8, "Version of this layout: 1";
    #[values(KIND_NAMES)]
    kind: u8, "What the packet is";
    #[values(FLAG_NAMES)]
    flags: u8, "One-bit facts";
    #[values(ECN_NAMES)]
    ecn: u8, "ECN code point, in the two low bits";
    priority: u8, "Queue class at every port, 0 served first";
    reserved: [u8; 3], "Zero";
    wire: U16, "Bytes on the wire, framing included";
    payload: U16, "Bytes of payload after the header";
    src: U32, "Sending host";
    dst: U32, "Receiving host";
    message: U32, "Number of the message among those of its sender to its receiver";
    index: U32, "Position in the message, in packets";
    count: U32, "Packets spoken of: granted, or sent without permission";
    token: U32, "Number of the authorisation used or given";
    remaining: U32, "Packets still to be received or sent";
    entropy: U32, "What multipath hashes beside the addresses";
    message_bytes: U64, "Bytes of the whole message";
    lifetime: U64, "How long a permission is valid, or an echoed time, in picoseconds";
}
