//! SLEEK: losses that later packets tell of, and probes where nothing is heard, for switches that do not trim.
//!
//! Source: Ultra Ethernet 1.0 as its public simulator has it, uet-htsim; the specification's text was not at hand.

use headway_units::Time;

/// Share of the window, in packets that came later, from which on one that is missing counts as lost. NSCC §2.7
const WINDOWS: f64 = 1.5;
/// The smallest such number.
const LEAST: i64 = 5;
/// Base round trips of silence after which a sender with more to send probes, and after which it does again.
const FIRST_PROBE: u64 = 3;
const NEXT_PROBE: u64 = 5;

/// Loss detection of one message.
#[derive(Clone, Debug, Default)]
pub(in crate::uet) struct Sleek {
    /// First packet that had not been sent when the repair began, while it lasts.
    end: Option<u32>,
    /// Packets below have had their turn.
    repaired: u32,
    /// Time at which a probe is due, and the deadline that is armed.
    due: Option<Time>,
    armed: Option<Time>,
    /// Departure and entropy of the last probe.
    probe: Option<(Time, u32)>,
}

impl Sleek {
    /// True if it repairs, so that repeated packets do not wait for the window.
    pub(in crate::uet) fn is_repairing(&self) -> bool {
        self.end.is_some()
    }

    /// The round trip of the last probe, if this answers it.
    pub(in crate::uet) fn process_probe_answer(&mut self, now: Time, entropy: u32) -> Option<Time> {
        let (sent, _) = self.probe.take_if(|(_, own)| *own == entropy)?;
        Some(now - sent)
    }

    /// The packets, of those from `base` on, of which the ones that are under way are lost; empty if none is known to be.
    ///
    /// `beyond` packets have arrived behind a missing one, `next` is sent next, the window has `window` packets and its largest
    /// `most`; `waiting` = packets wait to be sent again; `quick` = a probe was answered without delay.
    pub(in crate::uet) fn lost_packets(
        &mut self,
        (base, next): (u32, u32),
        (window, most): (i64, i64),
        beyond: u32,
        (waiting, quick): (bool, bool),
    ) -> std::ops::Range<u32> {
        if quick {
            // Packets that had their turn get another: the probe has shown that the path is empty.
            (self.end, self.repaired) = (Some(next), base);
        }
        if self.end.is_some_and(|end| base >= end) {
            self.end = None;
        }
        if self.end.is_none() {
            let threshold = ((window as f64 * WINDOWS) as i64).min(most).max(LEAST);
            // Packets that wait to be sent again go first.
            if i64::from(beyond) < threshold || waiting {
                return base..base;
            }
            self.end = Some(next);
        }
        let window = u32::try_from(window).unwrap_or(u32::MAX);
        let end = self.end.unwrap_or(base).min(base.saturating_add(window));
        let first = base.max(self.repaired).min(end);
        self.repaired = self.repaired.max(end);
        first..end
    }

    /// Something was heard: a probe is due in a while, sooner if `all` has been sent. Returns the deadline to arm, if
    /// any.
    pub(in crate::uet) fn put_off_probe(
        &mut self,
        now: Time,
        (base_rtt, target): (Time, Time),
        all: bool,
    ) -> Option<Time> {
        let wait = if all { base_rtt.saturating_add(target) } else { base_rtt.saturating_mul(FIRST_PROBE) };
        self.arm_probe(now.saturating_add(wait))
    }

    fn arm_probe(&mut self, due: Time) -> Option<Time> {
        self.due = Some(due);
        // An earlier deadline stays, and is moved when it comes (`expire_deadline`).
        let sooner = self.armed.is_none_or(|armed| due < armed);
        sooner.then(|| *self.armed.insert(due))
    }

    /// A deadline has come. Returns true if a probe leaves, and the deadline to arm, if any.
    pub(in crate::uet) fn expire_deadline(&mut self, now: Time, base_rtt: Time) -> (bool, Option<Time>) {
        if self.armed.is_none_or(|armed| now < armed) {
            return (false, None);
        }
        self.armed = None;
        match self.due {
            Some(due) if due > now => (false, self.arm_probe(due)),
            Some(_) => (true, self.arm_probe(now.saturating_add(base_rtt.saturating_mul(NEXT_PROBE)))),
            None => (false, None),
        }
    }

    /// A probe of this entropy has left.
    pub(in crate::uet) fn note_probe(&mut self, now: Time, entropy: u32) {
        self.probe = Some((now, entropy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: (bool, bool) = (false, false);

    #[test]
    fn a_window_and_a_half_behind_a_gap_repairs_it_and_each_packet_has_one_turn() {
        let mut sleek = Sleek::default();
        // A window of ten of at most twelve packets: twelve, and five at least.
        assert_eq!(sleek.lost_packets((3, 40), (10, 12), 11, CALM), 3..3);
        assert_eq!(sleek.lost_packets((3, 40), (10, 12), 12, (true, false)), 3..3, "what waits goes first");
        assert!(!sleek.is_repairing());
        assert_eq!(sleek.lost_packets((3, 40), (10, 12), 12, CALM), 3..13, "a window of them");
        assert!(sleek.is_repairing());
        assert_eq!(sleek.lost_packets((3, 45), (10, 12), 20, CALM), 13..13, "once");
        assert_eq!(sleek.lost_packets((35, 45), (10, 12), 2, CALM), 35..40, "up to what had been sent");
        assert_eq!(sleek.lost_packets((40, 45), (10, 12), 0, CALM), 40..40);
        assert!(!sleek.is_repairing());
        assert_eq!(sleek.lost_packets((40, 60), (1, 12), 4, CALM), 40..40);
        assert_eq!(sleek.lost_packets((40, 60), (1, 12), 5, CALM), 40..41);
    }

    #[test]
    fn a_probe_that_comes_back_at_once_repairs_all_that_is_missing() {
        let mut sleek = Sleek::default();
        let (rtt, target) = (Time::us(10), Time::us(7));
        assert_eq!(sleek.put_off_probe(Time::us(100), (rtt, target), false), Some(Time::us(130)));
        assert_eq!(
            sleek.put_off_probe(Time::us(105), (rtt, target), false),
            None,
            "the deadline moves when it comes"
        );
        assert_eq!(sleek.expire_deadline(Time::us(130), rtt), (false, Some(Time::us(135))));
        assert_eq!(sleek.expire_deadline(Time::us(135), rtt), (true, Some(Time::us(185))));
        sleek.note_probe(Time::us(135), 4);
        assert_eq!(sleek.process_probe_answer(Time::us(145), 3), None, "of another packet");
        assert_eq!(sleek.process_probe_answer(Time::us(146), 4), Some(Time::us(11)));
        assert_eq!(sleek.process_probe_answer(Time::us(147), 4), None);
        assert_eq!(sleek.lost_packets((7, 9), (10, 12), 0, (false, true)), 7..9);
        // A message that has sent all is asked about sooner.
        assert_eq!(sleek.put_off_probe(Time::us(150), (rtt, target), true), Some(Time::us(167)));
        assert_eq!(
            sleek.expire_deadline(Time::us(160), rtt),
            (false, None),
            "one that is left over means nothing"
        );
    }
}
