//! Packets that wait for the wire ahead of data.

use headway_packet::Packet;
use std::collections::VecDeque;

/// Control packets in the order of their making, and the data of protocols that have it leave with control.
#[derive(Default)]
pub struct ControlQueue {
    packets: VecDeque<Packet>,
    /// Number of packets at the front that are known to be data, so that a link that holds data back has each looked at
    /// once.
    data: usize,
}

impl ControlQueue {
    /// True if the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packet that leaves next.
    pub fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    /// One more, behind all others.
    #[inline]
    pub fn push_back(&mut self, packet: Packet) {
        self.packets.push_back(packet);
    }

    /// Takes the packet that leaves next.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Packet> {
        // The front is one of the packets known to be data, unless none is known.
        self.data = self.data.saturating_sub(1);
        self.packets.pop_front()
    }

    /// Takes the first packet that carries control, and leaves data packets in their place.
    pub fn pop_control(&mut self) -> Option<Packet> {
        let found = self.packets.range(self.data..).position(|packet| !packet.is_data());
        match found {
            Some(behind) => self.data += behind,
            // One past the end, where `remove` below finds nothing.
            None => self.data = self.packets.len(),
        }
        // The few packets behind this one were queued after the last call, so that removal moves little.
        self.packets.remove(self.data)
    }

    /// Drops all others than these.
    pub fn retain(&mut self, keep: impl FnMut(&Packet) -> bool) {
        self.packets.retain(keep);
        // Some of the packets known to be data may be gone; the next search counts them again.
        self.data = 0;
    }
}

impl Extend<Packet> for ControlQueue {
    fn extend<I: IntoIterator<Item = Packet>>(&mut self, packets: I) {
        self.packets.extend(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_packet::{HostId, PacketKind};
    use proptest::prelude::*;

    fn test_packet(data: bool, number: u32) -> Packet {
        let kind = if data { PacketKind::Data } else { PacketKind::Ack };
        Packet::new(kind, HostId(0), HostId(1), number)
    }

    proptest! {
        #![proptest_config(headway_testing::cases!(300))]

        /// As a list of which each question looks at everything.
        #[test]
        fn packets_leave_in_order_and_control_ahead_of_data(steps in proptest::collection::vec(0u8..6, 0..200)) {
            let (mut queue, mut list) = (ControlQueue::default(), Vec::new());
            for (number, step) in (0..).zip(steps) {
                match step {
                    0..=2 => {
                        queue.push_back(test_packet(step > 0, number));
                        list.push((step > 0, number));
                    }
                    3 => {
                        let first = (!list.is_empty()).then(|| list.remove(0).1);
                        prop_assert_eq!(queue.pop_front().map(|p| p.message), first);
                    }
                    4 => {
                        let place = list.iter().position(|(data, _)| !data);
                        prop_assert_eq!(queue.pop_control().map(|p| p.message), place.map(|place| list.remove(place).1));
                    }
                    _ => {
                        queue.retain(|p| p.message % 3 > 0);
                        list.retain(|(_, number)| number % 3 > 0);
                    }
                }
                prop_assert_eq!(queue.front().map(|p| p.message), list.first().map(|(_, number)| *number));
                prop_assert_eq!(queue.iter().map(|p| p.message).collect::<Vec<_>>(), list.iter().map(|(_, n)| *n).collect::<Vec<_>>());
            }
        }
    }
}
