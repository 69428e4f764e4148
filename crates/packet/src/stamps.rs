//! Stamps that ports write into a packet hop by hop, where its transport asks for it (in-band network telemetry, INT),
//! and their place in a real packet.
//!
//! In the simulator stamps are exact, and are kept next to the packet. Between real hosts they are a part of the packet
//! of fixed size ([`STAMPS_BYTES`]), which follows the session in envelopes that have it
//! ([`crate::Envelope::is_stamped`]). There a rate has whole kilobits a second, and a queue at most 2^32 - 1 bytes.
//!
//! **Panics: none**, for any bytes.

use crate::fields::{U16, U32, U64, wire_fields};
use crate::session::WIRE_FRONT;
use headway_units::{Rate, Time};
use std::mem::{offset_of, size_of};

/// Stamp of one port, as a packet begins to leave it. HPCC §4.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Time at which the packet begins to leave.
    pub at: Time,
    /// Bytes on the wire that the port has sent, this packet not among them.
    pub sent: u64,
    /// Bytes on the wire that wait at the port in all its queues, this packet not among them.
    pub queue: u64,
    /// Rate of the port.
    pub rate: Rate,
}

/// Stamps of one packet, in the order of its hops. The first five have room, as in HPCC's header; further ones are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    hops: [Hop; Stamps::ROOM],
    crossed: u16,
}

impl Stamps {
    /// Hops that have room.
    pub const ROOM: usize = 5;
    /// Bytes that they take in a packet, filled or not: 64 bits a hop and a count of 16. HPCC §4.1
    // HPCC's compact format, which the simulator counts; real packets have wider fields (`STAMPS_BYTES`).
    pub const WIRE: u16 = 42;

    /// Adds the stamp of the next hop.
    pub fn push(&mut self, hop: Hop) {
        if let Some(place) = self.hops.get_mut(usize::from(self.crossed)) {
            *place = hop;
        }
        // A count that wrapped would begin to fill the places again.
        self.crossed = self.crossed.saturating_add(1);
    }

    /// The stamps that had room.
    pub fn filled_hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.crossed).min(Stamps::ROOM)]
    }

    /// True if every hop of the way had room, and there was one.
    pub fn is_whole(&self) -> bool {
        (1..=Stamps::ROOM).contains(&usize::from(self.crossed))
    }
}

impl Default for Stamps {
    /// Stamps of a packet that has crossed no port.
    fn default() -> Stamps {
        // A rate cannot be 0. Places that were not crossed are not read.
        let none = Hop { at: Time::ZERO, sent: 0, queue: 0, rate: Rate::gbps(1) };
        Stamps { hops: [none; Stamps::ROOM], crossed: 0 }
    }
}

wire_fields! {
    /// Number of ports that have stamped a packet, before their stamps; offsets count from the start of the packet.
    CROSSED_FIELDS of Crossed from WIRE_FRONT;
    #[mutable(Stamp)]
    crossed: U16, "Ports of switches that the packet has left, those beyond the fifth too";
}

wire_fields! {
    /// The stamp of the first port; those of the others follow it without gaps. Offsets count from the start of the packet.
    HOP_FIELDS of WireHop from WIRE_FRONT + size_of::<Crossed>();
    #[mutable(Stamp)]
    at: U64, "Time at which the packet began to leave, in picoseconds of the switch's clock";
    #[mutable(Stamp)]
    sent: U64, "Bytes on the wire that the port had sent before it";
    #[mutable(Stamp)]
    queue: U32, "Bytes on the wire that waited at the port";
    #[mutable(Stamp)]
    rate: U32, "Rate of the port in kb/s, not 0";
}

/// Bytes of a stamp in a real packet.
pub const HOP_BYTES: usize = size_of::<WireHop>();

/// Bytes of all stamps in a real packet, filled or not.
pub const STAMPS_BYTES: usize = size_of::<Crossed>() + Stamps::ROOM * HOP_BYTES;

impl WireHop {
    fn from_hop(hop: &Hop) -> WireHop {
        // At least 1, because `parse` refuses the stamp of a port without a rate.
        let kbps = (hop.rate.bps() / 1000).clamp(1, u32::MAX.into()) as u32;
        let queue = u32::try_from(hop.queue).unwrap_or(u32::MAX);
        WireHop { at: hop.at.0.into(), sent: hop.sent.into(), queue: queue.into(), rate: kbps.into() }
    }

    /// The stamp; `None` where its rate is 0, which no port has.
    fn to_hop(self) -> Option<Hop> {
        let rate = Rate::new(u64::from(self.rate.get()) * 1000)?;
        let (at, sent, queue) = (Time(self.at.get()), self.sent.get(), self.queue.get().into());
        Some(Hop { at, sent, queue, rate })
    }
}

impl Stamps {
    /// The stamps as bytes of a real packet.
    pub fn to_bytes(&self) -> [u8; STAMPS_BYTES] {
        let mut bytes = [0; STAMPS_BYTES];
        let (crossed, slots) = bytes.split_at_mut(size_of::<Crossed>());
        crossed.copy_from_slice(&Crossed { crossed: self.crossed.into() }.to_bytes());
        for (slot, hop) in slots.chunks_exact_mut(HOP_BYTES).zip(self.filled_hops()) {
            slot.copy_from_slice(&WireHop::from_hop(hop).to_bytes());
        }
        bytes
    }

    /// Reads the stamps of a real packet. Slots that no port has filled are not looked at. `None` where there are too
    /// few bytes, or a stamp is of a port without a rate.
    pub fn parse(bytes: &[u8]) -> Option<Stamps> {
        let (Crossed { crossed }, slots) = Crossed::split_front(bytes.get(..STAMPS_BYTES)?)?;
        let mut stamps = Stamps { crossed: crossed.get(), ..Stamps::default() };
        let filled = stamps.filled_hops().len();
        for (hop, slot) in stamps.hops.iter_mut().zip(slots.chunks_exact(HOP_BYTES)).take(filled) {
            *hop = WireHop::split_front(slot)?.0.to_hop()?;
        }
        Some(stamps)
    }

    /// [`Stamps::push`] on stamps in a real packet: all of them as they are then. Former contents are not judged.
    pub fn with_next(bytes: &[u8; STAMPS_BYTES], hop: &Hop) -> [u8; STAMPS_BYTES] {
        let mut bytes = *bytes;
        let (crossed, slots) = bytes.split_at_mut(size_of::<Crossed>());
        let before = crossed.iter().fold(0, |number: u16, byte| number << 8 | u16::from(*byte));
        if let Some(slot) = slots.chunks_exact_mut(HOP_BYTES).nth(before.into()) {
            slot.copy_from_slice(&WireHop::from_hop(hop).to_bytes());
        }
        crossed.copy_from_slice(&before.saturating_add(1).to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_is_too_long_is_known_as_such() {
        let mut stamps = Stamps::default();
        assert!(!stamps.is_whole() && stamps.filled_hops().is_empty());
        for n in 1..=7 {
            stamps.push(Hop { at: Time(n), sent: n, queue: 0, rate: Rate::gbps(100) });
            assert_eq!(stamps.filled_hops().len() as u64, n.min(5));
            assert_eq!(stamps.is_whole(), n <= 5);
        }
        assert_eq!(stamps.filled_hops()[4].at, Time(5), "those that came first stay");
    }
}
