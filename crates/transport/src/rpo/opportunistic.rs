//! The opportunistic packets of a message that have not been acknowledged.

use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Packets by index, with the time when each left; `None` for one that waits at its host.
#[derive(Clone, Debug, Default)]
pub(super) struct Opportunistic {
    packets: BTreeMap<u32, Option<Time>>,
    waiting: u32,
    /// Packets among those here that have left before.
    repeats: BTreeSet<u32>,
    /// Departures in their order; of a packet that has left again or is not here, one that means nothing.
    departures: VecDeque<(Time, u32)>,
}

impl Opportunistic {
    /// Packets that wait at the host.
    pub(super) fn waiting_packets(&self) -> u32 {
        self.waiting
    }

    /// A packet is queued at the host, perhaps not for the first time.
    pub(super) fn queue_packet(&mut self, index: u32, again: bool) {
        // A packet that has left before changes from under way to waiting; its old departure means nothing any more.
        self.remove_packet(index);
        if again {
            self.repeats.insert(index);
        }
        self.packets.insert(index, None);
        self.waiting += 1;
    }

    /// A packet leaves the host; `false` if it does not wait there.
    pub(super) fn mark_departed(&mut self, now: Time, index: u32) -> bool {
        // An entry in the host's queue may be of a packet that became a normal one, or left through another entry.
        let Some(left) = self.packets.get_mut(&index).filter(|left| left.is_none()) else { return false };
        *left = Some(now);
        self.departures.push_back((now, index));
        self.waiting -= 1;
        true
    }

    /// A packet is not opportunistic any more, or has arrived; `false` if it was not here.
    pub(super) fn remove_packet(&mut self, index: u32) -> bool {
        let gone = self.packets.remove(&index);
        self.repeats.remove(&index);
        self.waiting -= u32::from(gone == Some(None));
        gone.is_some()
    }

    /// All packets from `end` on have arrived.
    pub(super) fn remove_from(&mut self, end: u32) {
        let gone = self.packets.split_off(&end);
        self.repeats.split_off(&end);
        self.waiting -= gone.values().filter(|left| left.is_none()).count() as u32;
    }

    /// True if a packet has left before.
    pub(super) fn is_repeat(&self, index: u32) -> bool {
        self.repeats.contains(&index)
    }

    /// True if a packet waits at the host.
    pub(super) fn is_waiting(&self, index: u32) -> bool {
        self.packets.get(&index) == Some(&None)
    }

    /// The smallest packet that waits at the host, or left at least `age` ago; and whether it has ever left.
    pub(super) fn due_packet(&mut self, now: Time, age: Time) -> Option<(u32, bool)> {
        // The search below looks at every packet; the oldest departure shows in most cases that it would find none.
        if self.waiting == 0 && self.oldest_departure().is_none_or(|at| at.saturating_add(age) > now) {
            return None;
        }
        let due = |left: &Option<Time>| left.is_none_or(|at| at.saturating_add(age) <= now);
        let found = self.packets.iter().find(|(_, left)| due(left));
        found.map(|(&index, left)| (index, left.is_some() || self.is_repeat(index)))
    }

    /// Departure time of the first of those under way.
    pub(super) fn oldest_departure(&mut self) -> Option<Time> {
        while let Some(&(at, index)) = self.departures.front() {
            // Departures are not searched when packets go: an entry counts while its packet still has this time.
            if self.packets.get(&index) == Some(&Some(at)) {
                return Some(at);
            }
            self.departures.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_waits_through_every_change() {
        let mut opportunistic = Opportunistic::default();
        for index in [9, 8, 7, 6] {
            opportunistic.queue_packet(index, false);
        }
        assert!(
            opportunistic.mark_departed(Time(10), 9)
                && opportunistic.mark_departed(Time(20), 8)
                && !opportunistic.mark_departed(Time(30), 9)
        );
        assert_eq!(opportunistic.waiting_packets(), 2);
        assert_eq!(
            (opportunistic.oldest_departure(), opportunistic.is_waiting(7), opportunistic.is_waiting(8)),
            (Some(Time(10)), true, false)
        );
        assert_eq!(
            opportunistic.due_packet(Time(15), Time(5)),
            Some((6, false)),
            "the smallest, which waits"
        );
        assert!(
            opportunistic.remove_packet(6)
                && opportunistic.remove_packet(7)
                && !opportunistic.remove_packet(7)
        );
        assert_eq!(opportunistic.waiting_packets(), 0);
        assert_eq!(opportunistic.due_packet(Time(15), Time(5)), Some((9, true)), "8 is too young");
        assert_eq!(opportunistic.due_packet(Time(14), Time(5)), None);
        opportunistic.queue_packet(5, false);
        opportunistic.queue_packet(9, true);
        assert!(opportunistic.is_repeat(9) && !opportunistic.is_repeat(5));
        assert_eq!(opportunistic.waiting_packets(), 2, "9 is queued anew");
        opportunistic.remove_from(6);
        assert_eq!((opportunistic.waiting_packets(), opportunistic.oldest_departure()), (1, None));
    }
}
