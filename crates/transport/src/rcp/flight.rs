//! State of a message's packets at its sender: on their way, arrived, or lost.
//!
//! A packet is lost when enough packets that left later have arrived, which their echoed departure times tell,
//! repetitions included; or when it has been on its way for too long.

use super::packets::Ack;
use crate::index_window::IndexWindow;
use headway_packet::{Packet, TypedView};
use headway_units::Time;
use std::collections::{BTreeSet, VecDeque};

/// A packet that left, and when.
#[derive(Clone, Copy, Debug)]
struct Departure {
    index: u32,
    at: Time,
    /// Acknowledgements with news of a later departure.
    passed: u32,
}

/// The packets of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// First packet never sent.
    next: u32,
    arrived: IndexWindow,
    /// Departures in their order; those that are known to have arrived are dropped when they come to the front.
    flying: VecDeque<Departure>,
    lost: BTreeSet<u32>,
    /// Empty between calls; kept for its memory.
    kept: Vec<Departure>,
}

impl Flight {
    /// First packet never sent.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Packets known to have arrived.
    pub(super) fn arrived_packets(&self) -> u32 {
        self.arrived.len()
    }

    /// Packets sent and not known to have arrived.
    pub(super) fn outstanding(&self) -> u32 {
        self.next - self.arrived.len()
    }

    /// The lowest packet that is lost and waits to be sent again.
    pub(super) fn first_lost(&self) -> Option<u32> {
        self.lost.first().copied()
    }

    /// A packet leaves: a lost one, or the next.
    pub(super) fn record_departure(&mut self, now: Time, index: u32) {
        self.lost.remove(&index);
        self.next = self.next.max(index + 1);
        self.flying.push_back(Departure { index, at: now, passed: 0 });
    }

    /// Takes in the arrivals that an acknowledgement names. Returns true if any of it is news.
    pub(super) fn process_ack(&mut self, ack: &Packet, reordering: u32) -> bool {
        let before = self.arrived.len();
        let Ack { arrived, echo, .. } = Ack::from_packet(ack);
        // Numbers come from the wire: what was never sent cannot have arrived.
        self.arrived.insert_below(arrived.min(self.next));
        for block in ack.sack_blocks() {
            for index in block.start..block.end.min(self.next) {
                self.arrived.insert(index);
            }
        }
        // An acknowledgement that repeats another is not evidence of a later arrival.
        if self.arrived.len() == before {
            return false;
        }
        let arrived = &self.arrived;
        self.lost.retain(|index| !arrived.contains(*index));
        self.pass_departures(echo, reordering);
        true
    }

    /// Something that left at `at` has arrived: everything that left before it has been passed.
    fn pass_departures(&mut self, at: Time, reordering: u32) {
        while let Some(&first) = self.flying.front() {
            let arrived = self.arrived.contains(first.index);
            // Departures are in order: all behind this one left later still.
            if !arrived && first.at >= at {
                break;
            }
            self.flying.pop_front();
            if arrived {
                continue;
            }
            let first = Departure { passed: first.passed + 1, ..first };
            if first.passed >= reordering {
                // It is not in the line of departures any more: its repetition joins that at the end.
                self.lost.insert(first.index);
            } else {
                self.kept.push(first);
            }
        }
        // From the back to the front, so that their order stays.
        while let Some(kept) = self.kept.pop() {
            self.flying.push_front(kept);
        }
    }

    /// Departure time of the packet that has been on its way for longest.
    pub(super) fn oldest_departure(&self) -> Option<Time> {
        self.flying.front().map(|departure| departure.at)
    }

    /// Everything that left at `until` or before and is not known to have arrived is lost.
    pub(super) fn lose_until(&mut self, until: Time) {
        while let Some(&first) = self.flying.front().filter(|d| d.at <= until) {
            self.flying.pop_front();
            if !self.arrived.contains(first.index) {
                self.lost.insert(first.index);
            }
        }
        // A packet that has arrived must not look like one that is waited for.
        while self.flying.front().is_some_and(|d| self.arrived.contains(d.index)) {
            self.flying.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_packet::{HostId, PacketKind};

    fn make_flight(packets: u32) -> Flight {
        let mut flight = Flight::default();
        (0..packets).for_each(|index| flight.record_departure(Time(10 * u64::from(index)), index));
        flight
    }

    /// All below `count` and one block have arrived; the last to arrive left at `echo`.
    fn ack_packet(count: u32, block: std::ops::Range<u32>, echo: u64) -> Packet {
        let mut packet = Packet::new(PacketKind::Ack, HostId(1), HostId(0), 0);
        (packet.count, packet.lifetime) = (count, Time(echo));
        packet.set_sack([block].into_iter());
        packet
    }

    #[test]
    fn three_later_arrivals_lose_a_packet_and_its_repetition_alike() {
        let mut flight = make_flight(6);
        assert!(flight.process_ack(&ack_packet(1, 0..0, 0), 3));
        assert!(flight.process_ack(&ack_packet(1, 2..3, 20), 3));
        assert!(!flight.process_ack(&ack_packet(1, 2..3, 20), 3), "no news, no evidence");
        assert!(flight.process_ack(&ack_packet(1, 2..4, 30), 3));
        assert_eq!(flight.first_lost(), None);
        assert!(flight.process_ack(&ack_packet(1, 2..5, 40), 3));
        assert_eq!((flight.first_lost(), flight.outstanding()), (Some(1), 2));
        flight.record_departure(Time(100), 1);
        (6..9).for_each(|index| flight.record_departure(Time(20 + 100 * u64::from(index)), index));
        assert!(
            flight.process_ack(&ack_packet(1, 2..6, 50), 3),
            "what left before the repetition says nothing of it"
        );
        for n in 6..9u32 {
            assert_eq!(flight.first_lost(), None);
            assert!(flight.process_ack(&ack_packet(1, 2..n + 1, 20 + 100 * u64::from(n)), 3));
        }
        assert_eq!(flight.first_lost(), Some(1));
    }

    #[test]
    fn a_lost_packet_that_turns_up_is_not_sent_again() {
        let mut flight = make_flight(3);
        flight.lose_until(Time(10));
        assert_eq!((flight.first_lost(), flight.oldest_departure()), (Some(0), Some(Time(20))));
        assert!(flight.process_ack(&ack_packet(2, 0..0, 10), 3));
        assert_eq!((flight.first_lost(), flight.outstanding()), (None, 1));
        assert!(flight.process_ack(&ack_packet(3, 0..0, 20), 3));
        assert_eq!((flight.oldest_departure(), flight.arrived_packets()), (None, 3));
    }

    #[test]
    fn what_was_never_sent_cannot_have_arrived() {
        let mut flight = make_flight(2);
        assert!(flight.process_ack(&ack_packet(1_000_000, 3..70_000, 10), 3));
        assert_eq!((flight.arrived_packets(), flight.next(), flight.outstanding()), (2, 2, 0));
    }
}
