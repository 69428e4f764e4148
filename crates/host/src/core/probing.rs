//! Round trips of handshakes that are measured to one peer, and the estimates from them.

use headway_units::Time;
use std::collections::VecDeque;

/// Measurements in a row when two endpoints have met.
pub(super) const AT_FIRST: u32 = 8;
/// Number of the last round trips from which an estimate is made.
const IN_A_ROW: usize = 8;
/// Position of the estimate among them, sorted: the second shortest. The shortest may be luck, of threads that happened to
/// be awake; and where round trips meet a queue now and then, two of eight have not.
const COUNTS: usize = 1;
/// Interval between later ones, and after one that was not answered.
const PAUSE: Time = Time::ms(100);
/// Numbers of measurements begin here among those that cookies are made from: incarnations of a peer never get so far.
pub(super) const FIRST_NUMBER: u64 = 1 << 63;

/// Measurements of a peer.
#[derive(Default)]
pub(super) struct Probing {
    /// Time at which the handshake was sent that has not been answered, if it was sent once.
    pub(super) greeted: Option<Time>,
    /// The number that the answer to the last measurement has to return, and when that left; `None` = it is answered.
    pub(super) asked: Option<(u64, Time)>,
    /// Time at which the last one left.
    pub(super) last: Option<Time>,
    /// Measurements so far.
    pub(super) made: u32,
    /// The last round trips of handshakes.
    recent: VecDeque<Time>,
    /// The least that counted of so many in a row.
    least: Option<Time>,
    /// True if so many are being measured because of one that was far shorter than that.
    anew: bool,
}

impl Probing {
    /// A handshake leaves, whose answer counts if it is the only one.
    pub(super) fn note_handshake(&mut self, now: Time, alone: bool) {
        // A second attempt takes the time back: the answer may be to either (Karn's rule, RFC 6298, section 3).
        self.greeted = alone.then_some(now);
    }

    /// True if another measurement is due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        // Also for a measurement that was never answered, which otherwise would be the last.
        let rested = self.last.is_none_or(|last| now >= last.saturating_add(PAUSE));
        rested || (self.asked.is_none() && self.made < AT_FIRST)
    }

    /// Takes in a round trip; returns the round trip that is known now. One that is far shorter than the known one
    /// says that this was the length of a queue, which is gone: then it is measured again.
    pub(super) fn add_sample(&mut self, time: Time) -> Time {
        if !self.anew && self.least.is_some_and(|least| time < least / 2) {
            (self.anew, self.made) = (true, 0);
            self.recent.clear();
        }
        if self.recent.len() == IN_A_ROW {
            self.recent.pop_front();
        }
        self.recent.push_back(time);
        let counts = self.counted_sample().unwrap_or(time);
        if self.recent.len() == IN_A_ROW {
            self.least = Some(self.least.map_or(counts, |least| least.min(counts)));
            self.anew = false;
        }
        // Of fewer, it is only good enough where there is nothing better.
        self.least.unwrap_or(counts)
    }

    fn counted_sample(&self) -> Option<Time> {
        let mut sorted: Vec<Time> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        // The shorter of two, the middle of three: with few samples the second shortest may be the longest.
        sorted.get(COUNTS.min(sorted.len().saturating_sub(1) / 2)).copied()
    }

    /// The round trip that is known.
    pub(super) fn known_rtt(&self) -> Option<Time> {
        self.least.or_else(|| self.counted_sample())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trip that is known after each of some samples, in microseconds.
    fn known_after(times: &[u64]) -> Vec<u64> {
        let mut probing = Probing::default();
        times.iter().map(|&us| probing.add_sample(Time::us(us)).0 / 1_000_000).collect()
    }

    #[test]
    fn one_lucky_round_trip_is_not_taken_for_the_path() {
        assert_eq!(known_after(&[90, 30, 95, 91, 92, 93, 94, 96]).last(), Some(&90));
    }

    #[test]
    fn two_of_eight_that_met_no_queue_are_enough() {
        assert_eq!(known_after(&[900, 400, 52, 910, 700, 50, 880, 905]).last(), Some(&52));
    }

    #[test]
    fn one_far_shorter_than_what_was_known_has_it_measured_anew() {
        // The first eight are over, so that only the short one can cause new measurements.
        let mut probing = Probing { made: AT_FIRST, ..Probing::default() };
        (0..8).for_each(|_| _ = probing.add_sample(Time::us(900)));
        assert_eq!(
            (probing.add_sample(Time::us(50)), probing.made),
            (Time::us(900), 0),
            "not by a lucky one alone"
        );
        let last = (0..7).map(|_| probing.add_sample(Time::us(55))).last();
        assert_eq!(last, Some(Time::us(55)));
        (0..100).for_each(|_| _ = probing.add_sample(Time::us(900)));
        assert_eq!(probing.known_rtt(), Some(Time::us(55)));
    }

    #[test]
    fn what_a_queue_made_longer_does_not_count_later() {
        let (idle, busy) = ([50; 8], [900; 8]);
        assert_eq!(known_after(&[busy, idle].concat())[15], 50, "it was busy at first");
        assert_eq!(known_after(&[idle, busy].concat())[15], 50, "it is busy now");
        assert!(
            known_after(&[idle, busy].concat())[8..].iter().all(|us| *us == 50),
            "nor before eight are there"
        );
    }

    #[test]
    fn the_first_counts_until_there_are_more() {
        assert_eq!(known_after(&[70, 40, 60]), [70, 40, 60]);
    }
}
