//! The one packet struct.

use headway_units::Time;

/// A host's number in a scenario, dense from 0; on the wire, an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostId(pub u32);

impl HostId {
    /// Its IPv4 address where a scenario's hosts have one, in captures and on testbeds: 10.0.0.0 plus its
    /// number plus 1, so that host 0 does not get the address of the network.
    pub const fn ipv4_address(self) -> [u8; 4] {
        // A number off the wire may be anything, and the sum must not overflow.
        0x0a00_0001_u32.wrapping_add(self.0).to_be_bytes()
    }
}

/// Kind of a packet. Each protocol declares the meaning of the fields for itself ([`packets!`](crate::packets)), as a
/// view of each kind that it sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// The packet carries payload.
    Data = 0,
    /// Permission for packets, by name or by number.
    Grant = 1,
    /// Announcement of a message, or a request for a connection, a rate or credits.
    Rts = 2,
    /// Permission for one packet, by name, for a while.
    Token = 3,
    /// Packets have arrived.
    Ack = 4,
    /// The whole message has arrived.
    Finished = 5,
    /// Header of a data packet whose payload a switch cut off: all of its fields.
    Header = 6,
    /// A packet arrived without its payload.
    Nack = 7,
    /// Permission for a number of packets, counted from the beginning of the message.
    Pull = 8,
    /// Packets have not arrived and are wanted again.
    Resend = 9,
    /// The sender has heard, and serves others first.
    Busy = 10,
    /// Permission for one packet of the message, whichever the sender likes.
    Credit = 11,
    /// The sender has nothing more to send: no more credits.
    CreditStop = 12,
    /// Asks for the state at the far end, or on the way.
    Probe = 13,
}

impl PacketKind {
    /// Every kind, in wire order.
    pub const ALL: [PacketKind; 14] = [
        PacketKind::Data,
        PacketKind::Grant,
        PacketKind::Rts,
        PacketKind::Token,
        PacketKind::Ack,
        PacketKind::Finished,
        PacketKind::Header,
        PacketKind::Nack,
        PacketKind::Pull,
        PacketKind::Resend,
        PacketKind::Busy,
        PacketKind::Credit,
        PacketKind::CreditStop,
        PacketKind::Probe,
    ];

    /// The kind with this wire number.
    pub fn from_wire(n: u8) -> Option<PacketKind> {
        // `ALL` is in wire order, so that a number is a place in it.
        PacketKind::ALL.get(n as usize).copied()
    }

    /// True if it has a payload that a port may cut off, or is the header that was left.
    pub const fn is_cuttable(self) -> bool {
        matches!(self, PacketKind::Data | PacketKind::Header)
    }

    /// The field's lower-case name for it.
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Data => "data",
            PacketKind::Grant => "grant",
            PacketKind::Rts => "rts",
            PacketKind::Token => "token",
            PacketKind::Ack => "ack",
            PacketKind::Finished => "finished",
            PacketKind::Header => "header",
            PacketKind::Nack => "nack",
            PacketKind::Pull => "pull",
            PacketKind::Resend => "resend",
            PacketKind::Busy => "busy",
            PacketKind::Credit => "credit",
            PacketKind::CreditStop => "credit-stop",
            PacketKind::Probe => "probe",
        }
    }
}

/// The two ECN bits, with their usual meaning, and the bit that AMRT's switches use.
///
/// Anti-ECN inverts the sense of a mark (a set bit says that every hop so far had spare room, and a
/// saturated hop clears it), so it must not share a code point with standard marking: `Spare` is a
/// code point of its own (in IP: ECT(1) inside the domain).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN capable.
    #[default]
    NotEct = 0,
    /// Anti-ECN: every hop so far saw an idle gap ahead of this packet. AMRT §IV-A
    Spare = 1,
    /// ECN capable, not marked.
    Ect = 2,
    /// Congestion experienced (CE), set by a port.
    Ce = 3,
}

impl Ecn {
    /// The code point with these two bits.
    pub fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Spare,
            2 => Ecn::Ect,
            _ => Ecn::Ce,
        }
    }
}

/// One-bit facts about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketFlags(pub u8);

impl PacketFlags {
    /// The receiver's echo of a mark.
    pub const ECE: PacketFlags = PacketFlags(1);
    /// This packet repeats one sent before (data), or asks for a repetition (permission).
    pub const AGAIN: PacketFlags = PacketFlags(2);
    /// Sent without permission, in the first window.
    pub const UNSCHEDULED: PacketFlags = PacketFlags(4);
    /// `token` permits packets, as in [`PacketKind::Pull`], although the packet is of another kind.
    pub const PULL: PacketFlags = PacketFlags(8);
    /// A switch had no room for this header and sent it back to where it came from.
    pub const BOUNCED: PacketFlags = PacketFlags(16);
    /// A switch cut this header's payload off at the port in front of its receiver.
    pub const LAST_HOP: PacketFlags = PacketFlags(32);
    /// `token` is a rate in kilobits a second that ports may lower, and `remaining` its sender's round trip in
    /// nanoseconds, 0 when it knows none.
    pub const RATE: PacketFlags = PacketFlags(64);
    /// The driver's own: the message is a request or a reply, and begins with a number that matches the two.
    pub const CALL: PacketFlags = PacketFlags(128);

    /// True if all bits of `other` are set.
    pub const fn has_all(self, other: PacketFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags with the bits of `other` set as well.
    #[must_use]
    pub const fn with(self, other: PacketFlags) -> PacketFlags {
        PacketFlags(self.0 | other.0)
    }

    /// `flag` if `condition`, else nothing.
    pub const fn only_if(condition: bool, flag: PacketFlags) -> PacketFlags {
        if condition { flag } else { PacketFlags(0) }
    }
}

/// One packet; 64 bytes, one cache line.
///
/// `(src, dst, message)` names a message for data; packets towards the sender (grants, tokens,
/// acknowledgements) carry the same `message` with the addresses exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Packet {
    /// Host that sends the packet.
    pub src: HostId,
    /// Host that the packet is for.
    pub dst: HostId,
    /// Number of the message among those of its sender to its receiver, consecutive from 0.
    pub message: u32,
    /// Position in the message, in packets.
    pub index: u32,
    /// Packets spoken of: permitted, sent without permission, or acknowledged in sequence, as the protocol declares.
    pub count: u32,
    /// A number, as the protocol declares: mostly of the authorisation used or given; with [`PacketFlags::RATE`] a rate.
    pub token: u32,
    /// A number, as the protocol declares: mostly packets still to be received or sent.
    pub remaining: u32,
    /// Number that ECMP hashes together with the addresses; multipath and spraying vary it.
    pub entropy: u32,
    /// Bytes of the whole message; in an acknowledgement, SACK blocks: see [`Packet::sack_blocks`].
    pub message_bytes: u64,
    /// Time for which a permission is valid after its arrival, or an echoed time.
    pub lifetime: Time,
    /// The driver's handle for the message, copied from it by the machines; not on the wire.
    pub tag: u32,
    /// Bytes on the wire, framing included.
    pub wire: u16,
    /// Application bytes carried.
    pub payload: u16,
    /// Kind of the packet.
    pub kind: PacketKind,
    /// Queue class at every port: 0 is served first and is for control.
    pub priority: u8,
    /// ECN code point.
    pub ecn: Ecn,
    /// Facts of one bit each.
    pub flags: PacketFlags,
}

const _: () = assert!(size_of::<Packet>() <= 64, "a packet fits one cache line");

impl Packet {
    /// A packet of `kind` from `src` to `dst` about `message`, everything else zero.
    pub const fn new(kind: PacketKind, src: HostId, dst: HostId, message: u32) -> Packet {
        Packet {
            src,
            dst,
            message,
            index: 0,
            count: 0,
            token: 0,
            remaining: 0,
            entropy: 0,
            message_bytes: 0,
            lifetime: Time::ZERO,
            tag: 0,
            wire: 0,
            payload: 0,
            kind,
            priority: 0,
            ecn: Ecn::NotEct,
            flags: PacketFlags(0),
        }
    }

    /// True if it carries payload (as opposed to control).
    pub const fn is_data(&self) -> bool {
        // A header whose payload was cut off counts as control.
        matches!(self.kind, PacketKind::Data)
    }

    /// Cuts the payload off a data packet; `wire` bytes are left of it, in the class of control.
    pub const fn trim_payload(&mut self, wire: u16) {
        self.kind = PacketKind::Header;
        self.payload = 0;
        self.wire = wire;
        self.priority = 0;
    }

    /// Turns a header back towards where it came from.
    pub const fn bounce_header(&mut self) {
        // `message` keeps its number, as in every packet towards a sender.
        (self.src, self.dst) = (self.dst, self.src);
        self.flags = self.flags.with(PacketFlags::BOUNCED);
    }
}
