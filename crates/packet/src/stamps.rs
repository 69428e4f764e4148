//! What ports write into a packet hop by hop, where its transport asks for it (in-band network telemetry, INT).

use headway_units::{Rate, Time};

/// What one port says of itself as a packet begins to leave it. HPCC §4.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// When the packet begins to leave.
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
    crossed: u8,
}

impl Stamps {
    /// Hops that have room.
    pub const ROOM: usize = 5;
    /// Bytes that they take in a packet, filled or not: 64 bits a hop and a count of 16. HPCC §4.1
    pub const WIRE: u16 = 42;

    /// Adds the stamp of the next hop.
    pub fn push(&mut self, hop: Hop) {
        if let Some(place) = self.hops.get_mut(usize::from(self.crossed)) {
            *place = hop;
        }
        self.crossed = self.crossed.saturating_add(1);
    }

    /// The stamps that had room.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.crossed).min(Stamps::ROOM)]
    }

    /// Whether every hop of the way had room, and there was one.
    pub fn is_whole(&self) -> bool {
        (1..=Stamps::ROOM).contains(&usize::from(self.crossed))
    }
}

impl Default for Stamps {
    /// Of a packet that has crossed no port.
    fn default() -> Stamps {
        let none = Hop { at: Time::ZERO, sent: 0, queue: 0, rate: Rate::gbps(1) };
        Stamps { hops: [none; Stamps::ROOM], crossed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_is_too_long_is_known_as_such() {
        let mut stamps = Stamps::default();
        assert!(!stamps.is_whole() && stamps.hops().is_empty());
        for n in 1..=7 {
            stamps.push(Hop { at: Time(n), sent: n, queue: 0, rate: Rate::gbps(100) });
            assert_eq!(stamps.hops().len() as u64, n.min(5));
            assert_eq!(stamps.is_whole(), n <= 5);
        }
        assert_eq!(stamps.hops()[4].at, Time(5), "those that came first stay");
    }
}
