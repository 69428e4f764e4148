//! What left in one queue, in order, until it is acknowledged or overtaken.

use headway_units::Time;
use std::collections::VecDeque;

/// Numbers the departures of one queue of one message. A queue keeps its order all the way, so that an
/// acknowledged departure says of all earlier ones without acknowledgement that they are lost.
#[derive(Clone, Debug, Default)]
pub(super) struct SentLog {
    /// Number of the first entry.
    base: u32,
    /// Indices of packets, and when they left; `None` once acknowledged.
    left: VecDeque<Option<(u32, Time)>>,
}

impl SentLog {
    /// The number of the departure of packet `index` now.
    pub(super) fn push(&mut self, index: u32, now: Time) -> u32 {
        self.left.push_back(Some((index, now)));
        self.base.wrapping_add(self.left.len() as u32 - 1)
    }

    /// Acknowledges a departure: when it was; `None` if it was acknowledged before, or is not remembered.
    pub(super) fn take(&mut self, number: u32, index: u32) -> Option<Time> {
        let place = number.wrapping_sub(self.base) as usize;
        let (_, at) = self.left.get_mut(place)?.take_if(|entry| entry.0 == index)?;
        while self.left.front() == Some(&None) {
            self.drop_first();
        }
        Some(at)
    }

    /// The next entry that more than `tolerance` later departures, of which `number` is the last known one,
    /// have overtaken.
    pub(super) fn overtaken(&mut self, number: u32, tolerance: u32) -> Option<u32> {
        loop {
            // In numbers that wrap, later than the first entry is a small positive difference.
            let behind = number.wrapping_sub(self.base) as i32;
            if self.left.is_empty() || behind <= 0 || behind as u32 <= tolerance {
                return None;
            }
            if let Some(index) = self.drop_first() {
                return Some(index);
            }
        }
    }

    /// Forgets every departure of a packet, which is about to leave anew.
    pub(super) fn forget(&mut self, index: u32) {
        let departures = self.left.iter_mut().filter(|entry| entry.is_some_and(|e| e.0 == index));
        departures.for_each(|entry| *entry = None);
    }

    fn drop_first(&mut self) -> Option<u32> {
        self.base = self.base.wrapping_add(1);
        self.left.pop_front().flatten().map(|e| e.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_overtaken_comes_out_once_and_in_order() {
        let mut log = SentLog::default();
        let numbers: Vec<u32> = (10..18).map(|index| log.push(index, Time(index.into()))).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert_eq!((log.take(0, 10), log.take(0, 10)), (Some(Time(10)), None), "once");
        assert!(log.take(3, 99).is_none(), "another packet");
        assert!(log.take(3, 13).is_some());
        assert_eq!(log.overtaken(3, 2), None, "two later ones are tolerated");
        assert_eq!(log.overtaken(3, 1), Some(11));
        assert_eq!(log.overtaken(3, 1), None);
        assert_eq!(log.overtaken(3, 0), Some(12));
        assert_eq!(log.overtaken(3, 0), None);
        assert!(log.take(1, 11).is_none(), "it counts as lost");
        log.forget(14);
        assert!(log.take(5, 15).is_some());
        assert_eq!(log.overtaken(5, 0), None, "packet 14 leaves anew");
        assert_eq!(log.push(14, Time(20)), 8);
    }

    #[test]
    fn what_is_never_answered_is_forgotten_in_time() {
        let mut log = SentLog::default();
        log.push(0, Time(0));
        for index in 1..5000 {
            let number = log.push(index, Time(0));
            assert!(log.take(number, index).is_some());
            while log.overtaken(number, 100).is_some() {}
            assert!(log.left.len() <= 101, "after {index}: {}", log.left.len());
        }
    }
}
