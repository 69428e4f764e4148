//! Progress of an outgoing message.
//!
//! Progress is an event that can happen only so often: a packet is sent for the first time, or is acknowledged for the
//! first time.

use headway_packet::Packet;
use headway_units::Time;

/// Progress of a message.
pub(super) struct Watch {
    /// Time at which it last progressed.
    pub(super) at: Time,
    sent: Bits,
    acknowledged: Bits,
    /// Packets before this one have all arrived.
    below: u32,
}

/// One bit for each packet of a message.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// Sets one bit; returns true if it was not set.
    fn set_bit(&mut self, index: u32) -> bool {
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        if word >= self.0.len() {
            // Grows with the packets that leave, so a long message costs nothing before they do.
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] & bit == 0;
        self.0[word] |= bit;
        fresh
    }
}

impl Watch {
    pub(super) fn new(now: Time) -> Watch {
        Watch { at: now, sent: Bits::default(), acknowledged: Bits::default(), below: 0 }
    }

    /// A data packet leaves; returns true if that is progress.
    pub(super) fn note_sent(&mut self, now: Time, index: u32) -> bool {
        let fresh = self.sent.set_bit(index);
        if fresh {
            self.at = now;
        }
        fresh
    }

    /// An acknowledgement arrived, whose numbers are those of packets of the message; returns true if that is progress.
    pub(super) fn note_acknowledged(&mut self, now: Time, packet: &Packet) -> bool {
        // `|` and not `||`: the bit is set in either case.
        let fresh = self.acknowledged.set_bit(packet.index) | (packet.count > self.below);
        self.below = self.below.max(packet.count);
        if fresh {
            self.at = now;
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_packet::{HostId, PacketKind};

    #[test]
    fn what_can_be_said_for_ever_is_no_progress() {
        let mut watch = Watch::new(Time::ZERO);
        assert!(
            watch.note_sent(Time::us(1), 0)
                && watch.note_sent(Time::us(2), 100)
                && watch.note_sent(Time::us(3), 64)
        );
        assert!(
            !watch.note_sent(Time::us(4), 100) && !watch.note_sent(Time::us(5), 0) && watch.at == Time::us(3)
        );
        let mut ack = |at: u64, index, count| {
            let mut packet = Packet::new(PacketKind::Ack, HostId(0), HostId(1), 0);
            (packet.index, packet.count) = (index, count);
            watch.note_acknowledged(Time::us(at), &packet)
        };
        // The fourth repeats no bit although its watermark is older: packet 3 was below 5 before, but not
        // acknowledged by name.
        assert!(ack(6, 0, 0) && !ack(7, 0, 0) && ack(8, 0, 5) && ack(9, 3, 2) && !ack(10, 3, 5));
        assert_eq!(watch.at, Time::us(9));
    }
}
