//! Departures from one queue, in order, until each is acknowledged or overtaken.

use headway_units::Time;
use std::collections::VecDeque;

/// A packet that left, not acknowledged yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) index: u32,
    pub(super) at: Time,
    /// The packet has left again since, or is about to: whether this departure is lost says nothing.
    pub(super) repeated: bool,
}

/// Numbers the departures of one queue of one message. A queue keeps its order all the way, so that an
/// acknowledged departure says of all earlier ones without acknowledgement that they are lost.
#[derive(Clone, Debug)]
pub(super) struct SentLog {
    /// Number of the first entry.
    base: u32,
    /// `None` once acknowledged.
    left: VecDeque<Option<Departure>>,
    /// Departures that are remembered at the most.
    most: usize,
}

/// Departures that are remembered beyond two of every packet of a message.
const REPETITIONS: usize = 1000;

impl SentLog {
    /// Log for a message of so many packets.
    pub(super) fn new(packets: u32) -> SentLog {
        let most = (packets as usize).saturating_mul(2).saturating_add(REPETITIONS);
        SentLog { base: 0, left: VecDeque::new(), most }
    }

    /// The number of the departure of packet `index` now. If a message gets no answer, its oldest departures are
    /// forgotten.
    pub(super) fn push(&mut self, index: u32, now: Time) -> u32 {
        if self.left.len() >= self.most {
            self.drop_first();
        }
        self.left.push_back(Some(Departure { index, at: now, repeated: false }));
        self.base.wrapping_add(self.left.len() as u32 - 1)
    }

    /// Acknowledges a departure; `None` if it was acknowledged before, or is not remembered.
    pub(super) fn take_departure(&mut self, number: u32, index: u32) -> Option<Departure> {
        // A number before the base wraps to a place beyond the end, and finds nothing.
        let place = number.wrapping_sub(self.base) as usize;
        // An answer counts only if packet and departure fit together: both numbers come from the wire.
        let departure = self.left.get_mut(place)?.take_if(|entry| entry.index == index)?;
        while self.left.front() == Some(&None) {
            self.drop_first();
        }
        Some(departure)
    }

    /// The next entry that more than `tolerance` later departures, of which `number` is the last known one,
    /// have overtaken.
    pub(super) fn take_overtaken(&mut self, number: u32, tolerance: u32) -> Option<u32> {
        loop {
            // The numbers wrap: later than the first entry is a small positive difference.
            let behind = number.wrapping_sub(self.base) as i32;
            if self.left.is_empty() || behind <= 0 || behind as u32 <= tolerance {
                return None;
            }
            if let Some(index) = self.drop_first() {
                return Some(index);
            }
        }
    }

    /// Time at which a packet left last, if that departure is neither acknowledged nor overtaken.
    pub(super) fn last_departure(&self, index: u32) -> Option<Time> {
        self.left
            .iter()
            .rev()
            .flatten()
            .find(|departure| departure.index == index)
            .map(|departure| departure.at)
    }

    /// A packet is about to leave again: none of its departures counts as lost. Each may still be acknowledged.
    pub(super) fn mark_repeated(&mut self, index: u32) {
        let departures = self.left.iter_mut().flatten().filter(|departure| departure.index == index);
        departures.for_each(|departure| departure.repeated = true);
    }

    fn drop_first(&mut self) -> Option<u32> {
        self.base = self.base.wrapping_add(1);
        self.left
            .pop_front()
            .flatten()
            // A packet that left again has a later departure to be judged by.
            .filter(|departure| !departure.repeated)
            .map(|departure| departure.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_overtaken_comes_out_once_and_in_order() {
        let mut log = SentLog::new(100);
        let numbers: Vec<u32> = (10..18).map(|index| log.push(index, Time(index.into()))).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert_eq!(
            (log.take_departure(0, 10).map(|d| d.at), log.take_departure(0, 10)),
            (Some(Time(10)), None),
            "once"
        );
        assert!(log.take_departure(3, 99).is_none(), "another packet");
        assert!(log.take_departure(3, 13).is_some());
        assert_eq!(log.take_overtaken(3, 2), None, "two later ones are tolerated");
        assert_eq!(log.take_overtaken(3, 1), Some(11));
        assert_eq!(log.take_overtaken(3, 1), None);
        assert_eq!(log.take_overtaken(3, 0), Some(12));
        assert_eq!(log.take_overtaken(3, 0), None);
        assert!(log.take_departure(1, 11).is_none(), "it counts as lost");
        assert_eq!((log.last_departure(14), log.last_departure(13)), (Some(Time(14)), None));
        log.mark_repeated(14);
        log.mark_repeated(15);
        assert_eq!(
            log.take_departure(5, 15).map(|d| d.repeated),
            Some(true),
            "the first copy arrived after all"
        );
        assert_eq!(log.take_overtaken(5, 0), None, "packet 14 leaves anew");
        assert_eq!(log.push(14, Time(20)), 8);
    }

    #[test]
    fn what_is_never_answered_is_forgotten_in_time() {
        let mut log = SentLog::new(100);
        log.push(0, Time(0));
        for index in 1..5000 {
            let number = log.push(index, Time(0));
            assert!(log.take_departure(number, index).is_some());
            while log.take_overtaken(number, 100).is_some() {}
            assert!(log.left.len() <= 101, "after {index}: {}", log.left.len());
        }
    }

    #[test]
    fn repetitions_that_nobody_answers_are_forgotten_in_time() {
        let mut log = SentLog::new(2);
        let numbers: Vec<u32> = (0..5000)
            .map(|at| {
                log.mark_repeated(0);
                log.push(0, Time(at))
            })
            .collect();
        // Two for each of 2 packets, and 1000: the last 1004 of 5000 departures, from number 3996 on.
        assert_eq!(log.left.len(), 1004);
        assert_eq!(numbers, (0..5000).collect::<Vec<_>>());
        assert_eq!(log.take_departure(3995, 0), None, "too long ago");
        assert_eq!(log.take_departure(3996, 0).map(|d| (d.at, d.repeated)), Some((Time(3996), true)));
        assert_eq!(log.last_departure(0), Some(Time(4999)));
    }
}
