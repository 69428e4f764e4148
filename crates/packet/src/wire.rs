//! The packet on the wire: a view over bytes as opposed to the representation [`Packet`].
//!
//! The layout is fixed and stated once, in the list at the end of this file: from it come the header
//! struct, [`WIRE_FIELDS`], and with that the tables and dissectors that are generated. Numbers are in
//! network byte order. What follows the header, its `envelope` says: exactly `payload` bytes, which only
//! data packets carry (bare, as in simulated captures), or the fields of a session first
//! ([`crate::session`]), as between real hosts.
//!
//! **Panics: none.** No input bytes make [`PacketView::parse`] or anything on a view panic; their fault is a
//! [`WireError`]. A packet that parses and is emitted again gives the same bytes.
//!
//! [`Packet::tag`] is the driver's own and does not travel: a parsed packet has tag 0.
//!
//! The bits that a switch may rewrite are declared with the field ([`Mutable`]); the part that a seal covers
//! follows from that ([`covered_front`], [`covered_of_cut`]).

use crate::fields::{Mutable, WireField};
use crate::header::{Header, WIRE_FIELDS, WIRE_HEADER, WIRE_VERSION};
use crate::session::{SESSION_HEADER, Session, WIRE_FRONT};
use crate::stamps::{STAMPS_BYTES, Stamps};
use crate::{Ecn, HostId, Packet, PacketFlags, PacketKind};
use headway_units::Time;
use std::mem::offset_of;

/// UDP port of Headway, in captures of the simulator and by default on real hosts.
///
/// `HW` in ASCII, 0x4857. IANA has it unassigned (nothing stands between 18516 and 18634), and it lies below
/// 32768, where Linux begins to take ports for clients, so that no other socket has it by chance.
pub const UDP_PORT: u16 = u16::from_be_bytes(*b"HW");

/// Bits of the header that may change in one of these ways.
const fn mutable_bits(ways: &[Mutable]) -> [u8; WIRE_HEADER] {
    let mut bits = [0; WIRE_HEADER];
    let mut number = 0;
    // A constant function cannot use iterators.
    while number < WIRE_FIELDS.len() {
        let field = &WIRE_FIELDS[number];
        let mut way = 0;
        while way < ways.len() {
            let mut byte = field.offset / 8;
            // Nor can it compare enums, but by their numbers.
            while ways[way] as u8 == field.mutable as u8 && byte < (field.offset + field.bits) / 8 {
                bits[byte] |= field.mutable.mutable_mask();
                byte += 1;
            }
            way += 1;
        }
        number += 1;
    }
    bits
}

/// Bits of the header that a switch may change.
pub const MUTABLE_BITS: [u8; WIRE_HEADER] = mutable_bits(&[Mutable::Rate, Mutable::Cut, Mutable::Flags]);
const RATE_BITS: [u8; WIRE_HEADER] = mutable_bits(&[Mutable::Rate]);
const CUT_BITS: [u8; WIRE_HEADER] = mutable_bits(&[Mutable::Cut, Mutable::Flags]);

/// Part of header and session that the seal of a whole packet covers: all but a rate that ports may lower.
pub fn covered_front(front: &[u8; WIRE_FRONT]) -> [u8; WIRE_FRONT] {
    let mut bytes = *front;
    let flags = PacketFlags(front[offset_of!(Header, flags)]);
    // Without the flag `token` is a number that no port may touch.
    if flags.has_all(PacketFlags::RATE) {
        bytes.iter_mut().zip(RATE_BITS).for_each(|(byte, mutable)| *byte &= !mutable);
    }
    bytes
}

/// Part that the check of a data packet's header covers: all that is the same when the payload has been cut off and the
/// header been returned.
pub fn covered_of_cut(front: &[u8; WIRE_FRONT]) -> [u8; WIRE_FRONT] {
    let mut bytes = covered_front(front);
    bytes.iter_mut().zip(CUT_BITS).for_each(|(byte, mutable)| *byte &= !mutable);
    bytes
}

/// Why bytes are not a packet, or a packet does not become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than a header.
    #[error("the packet is truncated: it has {have} of {need} bytes")]
    Truncated {
        /// Bytes that the packet needs.
        need: usize,
        /// Bytes that the packet has.
        have: usize,
    },
    /// Another version of the layout.
    #[error("the packet has wire version {0}, and this program has version {WIRE_VERSION}")]
    Version(u8),
    /// No kind of that number.
    #[error("there is no packet kind {0}")]
    Kind(u8),
    /// An ECN field outside its two bits.
    #[error("there is no ECN code point {0}")]
    Ecn(u8),
    /// No envelope of that number.
    #[error("there is no envelope {0}")]
    Envelope(u8),
    /// Bits set that this version does not use.
    #[error("reserved bits are set")]
    Reserved,
    /// The header's payload length is not the number of bytes that follow it.
    #[error("the header declares {declared} bytes of payload, and the packet has {actual}")]
    Length {
        /// Length in the header.
        declared: usize,
        /// Bytes of payload that the packet has.
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

/// Fields between the header and the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Envelope {
    /// Nothing: the payload follows at once.
    #[default]
    Bare = 0,
    /// The fields of a session.
    Session = 1,
    /// The fields of a session; the payload is sealed, and the tag of the seal follows it. Between session and
    /// payload, data and cut data carry a check of the header alone.
    Sealed = 2,
    /// The fields of a session, and stamps behind them ([`Stamps`]), which no seal covers.
    Stamped = 3,
    /// As [`Envelope::Sealed`], with stamps behind the session.
    StampedSealed = 4,
}

/// Bytes of a seal's tag.
pub const SEAL_TAG: usize = 16;

/// Bytes of the check of a sealed data packet's header.
pub const HEADER_CHECK: usize = 8;

impl Envelope {
    /// Every envelope, in wire order.
    pub const ALL: [Envelope; 5] =
        [Envelope::Bare, Envelope::Session, Envelope::Sealed, Envelope::Stamped, Envelope::StampedSealed];

    /// The envelope with this wire number.
    pub fn from_wire(n: u8) -> Option<Envelope> {
        Envelope::ALL.get(usize::from(n)).copied()
    }

    /// Envelope between real hosts, with a seal, with stamps, or without.
    pub const fn between_hosts(sealed: bool, stamped: bool) -> Envelope {
        match (sealed, stamped) {
            (false, false) => Envelope::Session,
            (true, false) => Envelope::Sealed,
            (false, true) => Envelope::Stamped,
            (true, true) => Envelope::StampedSealed,
        }
    }

    /// True if the payload is sealed.
    pub const fn is_sealed(self) -> bool {
        matches!(self, Envelope::Sealed | Envelope::StampedSealed)
    }

    /// True if stamps follow the session.
    pub const fn is_stamped(self) -> bool {
        matches!(self, Envelope::Stamped | Envelope::StampedSealed)
    }

    /// Bytes of stamps.
    pub const fn stamp_bytes(self) -> usize {
        if self.is_stamped() { STAMPS_BYTES } else { 0 }
    }

    /// Bytes before the payload of a packet of this kind, the header not counted: the bytes that are left behind the
    /// header of a data packet whose payload is cut off.
    pub const fn bytes_before(self, kind: PacketKind) -> usize {
        let check = if self.is_sealed() && kind.is_cuttable() { HEADER_CHECK } else { 0 };
        match self {
            Envelope::Bare => 0,
            _ => SESSION_HEADER + self.stamp_bytes() + check,
        }
    }

    /// Bytes after the payload of a packet of this kind.
    pub const fn bytes_after(self, kind: PacketKind) -> usize {
        if self.is_sealed() && !matches!(kind, PacketKind::Header) { SEAL_TAG } else { 0 }
    }
}

/// The check between session and payload of sealed data packets; offsets count from the start of the packet, and where it
/// has stamps, the check is behind these.
pub const CHECK_FIELDS: &[WireField] = &[WireField {
    name: "check",
    offset: WIRE_FRONT * 8,
    bits: HEADER_CHECK * 8,
    doc: "Authentication of the session and of the header's fields that no switch may change",
    values: &[],
    mutable: Mutable::Never,
}];

/// A packet in bytes that have been checked.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'a> {
    header: Header,
    kind: PacketKind,
    ecn: Ecn,
    envelope: Envelope,
    /// Everything after the header.
    rest: &'a [u8],
}

impl<'a> PacketView<'a> {
    /// Checks that `bytes` are one whole packet, header and payload and nothing else.
    pub fn parse(bytes: &'a [u8]) -> Result<PacketView<'a>, WireError> {
        let view = PacketView::parse_header(bytes)?;
        let around = view.envelope.bytes_before(view.kind) + view.envelope.bytes_after(view.kind);
        let Some(actual) = view.rest.len().checked_sub(around) else {
            return Err(WireError::Truncated { need: WIRE_HEADER + around, have: bytes.len() });
        };
        let declared = usize::from(view.header.payload.get());
        if declared == actual { Ok(view) } else { Err(WireError::Length { declared, actual }) }
    }

    /// Checks the header alone, as for a switch, or a capture that keeps only the first bytes of every
    /// packet; the view's payload is whatever bytes follow.
    pub fn parse_header(bytes: &'a [u8]) -> Result<PacketView<'a>, WireError> {
        let truncated = WireError::Truncated { need: WIRE_HEADER, have: bytes.len() };
        let (header, rest) = Header::split_front(bytes).ok_or(truncated)?;
        // Checked first: another version may give every other field another meaning.
        if header.version != WIRE_VERSION {
            return Err(WireError::Version(header.version));
        }
        let kind = PacketKind::from_wire(header.kind).ok_or(WireError::Kind(header.kind))?;
        let ecn = Ecn::from_bits(header.ecn);
        // Bits beyond the two would be lost when the packet is emitted again.
        if ecn as u8 != header.ecn {
            return Err(WireError::Ecn(header.ecn));
        }
        let envelope = Envelope::from_wire(header.envelope).ok_or(WireError::Envelope(header.envelope))?;
        // A later version may give these bits a meaning, which would be lost.
        if header.reserved != [0; 2] {
            return Err(WireError::Reserved);
        }
        check_sizes(kind, header.wire.get(), header.payload.get())?;
        Ok(PacketView { header, kind, ecn, envelope, rest })
    }

    /// The representation; its tag is 0.
    pub fn to_packet(&self) -> Packet {
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

    /// Fields between the header and the payload.
    pub fn envelope(&self) -> Envelope {
        self.envelope
    }

    /// The fields of the session, where the envelope has them and they are there as a whole.
    pub fn session_fields(&self) -> Option<Session> {
        if self.envelope == Envelope::Bare { None } else { Session::parse(self.rest) }
    }

    /// Stamps of ports, where the envelope has room for them; `None` too if no port can have written them.
    pub fn port_stamps(&self) -> Option<Stamps> {
        let stamped = self.envelope.is_stamped();
        stamped.then(|| self.rest.get(SESSION_HEADER..).and_then(Stamps::parse)).flatten()
    }

    /// True if ports stamp it: data with all of its stamps. Stamps in other packets are an echo.
    pub fn takes_stamps(&self) -> bool {
        let room = self.envelope.is_stamped() && self.rest.len() >= SESSION_HEADER + STAMPS_BYTES;
        room && self.kind == PacketKind::Data
    }

    /// The bytes after the header and the session: payload, and the tag of a seal.
    pub fn payload_bytes(&self) -> &'a [u8] {
        // Captures may keep the header alone.
        self.rest.get(self.envelope.bytes_before(self.kind)..).unwrap_or_default()
    }

    /// Bytes of a data packet that are left when its payload is cut off; `None` when they are not all there, and for
    /// packets without a payload.
    pub fn cut_length(&self) -> Option<usize> {
        let left = self.envelope.bytes_before(self.kind);
        let whole = self.kind == PacketKind::Data && self.rest.len() >= left;
        whole.then_some(WIRE_HEADER + left)
    }
}

impl Packet {
    /// Writes the packet and its payload to the front of `buffer`; returns the number of bytes used.
    pub fn emit_packet(&self, payload: &[u8], buffer: &mut [u8]) -> Result<usize, WireError> {
        if payload.len() != usize::from(self.payload) {
            return Err(WireError::Length { declared: self.payload.into(), actual: payload.len() });
        }
        // Nothing is written that `parse` would refuse.
        check_sizes(self.kind, self.wire, self.payload)?;
        let (need, have) = (WIRE_HEADER + payload.len(), buffer.len());
        let Some((header, rest)) = buffer.get_mut(..need).map(|b| b.split_at_mut(WIRE_HEADER)) else {
            return Err(WireError::Truncated { need, have });
        };
        header.copy_from_slice(&self.header_bytes());
        rest.copy_from_slice(payload);
        Ok(need)
    }

    /// Writes header, session and, where the envelope has them, stamps to the front of `buffer`; returns the number of
    /// bytes before the payload. Where it is sealed, the check of the header, the last of these bytes, and the tag
    /// behind the payload are the caller's. `envelope` is not [`Envelope::Bare`].
    pub fn emit_session(
        &self,
        session: &Session,
        envelope: Envelope,
        stamps: &Stamps,
        buffer: &mut [u8],
    ) -> Result<usize, WireError> {
        if envelope == Envelope::Bare {
            return Err(WireError::Envelope(envelope as u8));
        }
        check_sizes(self.kind, self.wire, self.payload)?;
        let (need, have) = (WIRE_HEADER + envelope.bytes_before(self.kind), buffer.len());
        let Some((header, rest)) = buffer.get_mut(..need).map(|b| b.split_at_mut(WIRE_HEADER)) else {
            return Err(WireError::Truncated { need, have });
        };
        header.copy_from_slice(&self.header_bytes_in(envelope));
        let (fields, rest) = rest.split_at_mut(SESSION_HEADER);
        fields.copy_from_slice(&session.to_bytes());
        let (room, check) = rest.split_at_mut(envelope.stamp_bytes());
        if let Some(room) = room.first_chunk_mut() {
            *room = stamps.to_bytes();
        }
        // The buffer may hold bytes of an earlier packet.
        check.fill(0);
        Ok(need)
    }

    /// The header's bytes alone, as a capture of a simulated packet keeps them.
    pub fn header_bytes(&self) -> [u8; WIRE_HEADER] {
        self.header_bytes_in(Envelope::Bare)
    }

    /// The header's bytes alone, which say the kind of the bytes after them.
    pub fn header_bytes_in(&self, envelope: Envelope) -> [u8; WIRE_HEADER] {
        let header = Header {
            version: WIRE_VERSION,
            kind: self.kind as u8,
            flags: self.flags.0,
            ecn: self.ecn as u8,
            priority: self.priority,
            envelope: envelope as u8,
            reserved: [0; 2],
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
        };
        header.to_bytes()
    }
}

fn check_sizes(kind: PacketKind, wire: u16, payload: u16) -> Result<(), WireError> {
    let possible = if kind == PacketKind::Data { payload <= wire } else { payload == 0 };
    if possible { Ok(()) } else { Err(WireError::Sizes { kind: kind.name(), wire, payload }) }
}
