//! Round trips of handshakes that are measured to one peer, and what is known from them.

use headway_units::Time;

/// Measurements in a row when two endpoints have met.
pub(super) const AT_FIRST: u32 = 8;
/// Round trips of which the median is taken.
const IN_A_ROW: usize = 8;
/// Between later ones, and after one that was not answered.
const PAUSE: Time = Time::ms(100);
/// Numbers of measurements begin here among those that cookies are made from: incarnations of a peer never get so far.
pub(super) const FIRST_NUMBER: u64 = 1 << 63;

/// What is measured of a peer.
#[derive(Default)]
pub(super) struct Probing {
    /// When the handshake was sent that has not been answered, if it was sent once.
    pub(super) greeted: Option<Time>,
    /// The number that the answer to the last measurement has to return, and when that left; `None` = it is answered.
    pub(super) asked: Option<(u64, Time)>,
    /// When the last one left.
    pub(super) last: Option<Time>,
    /// Measurements so far.
    pub(super) made: u32,
    /// Round trips of handshakes since the last median was taken.
    recent: Vec<Time>,
    /// The least median.
    least: Option<Time>,
}

impl Probing {
    /// A handshake leaves, whose answer counts if it is the only one.
    pub(super) fn greeted(&mut self, now: Time, alone: bool) {
        self.greeted = alone.then_some(now);
    }

    /// Whether another measurement is due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        let rested = self.last.is_none_or(|last| now >= last.saturating_add(PAUSE));
        rested || (self.asked.is_none() && self.made < AT_FIRST)
    }

    /// Takes in a round trip; what is known now.
    pub(super) fn took(&mut self, time: Time) -> Time {
        self.recent.push(time);
        self.recent.sort_unstable();
        let median = self.recent[(self.recent.len() - 1) / 2];
        let known = self.least.map_or(median, |least| least.min(median));
        if self.recent.len() < IN_A_ROW {
            // Of fewer, the median is only good enough where there is nothing better.
            return self.least.unwrap_or(median);
        }
        self.recent.clear();
        self.least = Some(known);
        known
    }

    /// What is known.
    pub(super) fn known(&self) -> Option<Time> {
        let middle = self.recent.len().saturating_sub(1) / 2;
        self.least.or_else(|| self.recent.get(middle).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after each of some round trips, in microseconds.
    fn known(times: &[u64]) -> Vec<u64> {
        let mut probing = Probing::default();
        times.iter().map(|&us| probing.took(Time::us(us)).0 / 1_000_000).collect()
    }

    #[test]
    fn one_lucky_round_trip_is_not_taken_for_the_path() {
        assert_eq!(known(&[90, 30, 95, 91, 92, 93, 94, 96]).last(), Some(&92));
    }

    #[test]
    fn what_a_queue_made_longer_does_not_count_later() {
        let (idle, busy) = ([50; 8], [900; 8]);
        assert_eq!(known(&[busy, idle].concat())[15], 50, "it was busy at first");
        assert_eq!(known(&[idle, busy].concat())[15], 50, "it is busy now");
        assert!(known(&[idle, busy].concat())[8..].iter().all(|us| *us == 50), "nor before eight are there");
    }

    #[test]
    fn the_first_counts_until_there_are_more() {
        assert_eq!(known(&[70, 40, 60]), [70, 40, 60]);
    }
}
