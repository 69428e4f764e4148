//! State of every packet between the first one not acknowledged and the next one to send. RFC 6675

use headway_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// Packets above one that must have arrived before it counts as lost. RFC 6675 §2
const DUP_THRESHOLD: u32 = 3;

/// State of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// On its way.
    Flying,
    /// Arrived, above a hole.
    Sacked,
    /// Lost, to be sent again.
    Lost,
    /// Sent again after it was lost.
    Again,
    /// Sent again although nothing says that it is lost: two copies may be on their way.
    Doubled,
}

/// A packet's last departure, and the state of delivery at that time, from which its rate is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    /// Time at which the packet left.
    pub(crate) at: Time,
    /// Packets delivered until then.
    pub(crate) delivered: u64,
    /// Time at which the last of them was acknowledged.
    pub(crate) delivered_at: Time,
    /// Departure of the packet whose acknowledgement was the last before this one left.
    pub(crate) first_at: Time,
    /// True if the sender lacked data then.
    pub(crate) app_limited: bool,
    /// Packets in flight then, this one among them.
    pub(crate) in_flight: u32,
    /// Packets found lost, and reported as marked, until then. Both wrap.
    pub(crate) lost: u32,
    pub(crate) marked: u32,
}

/// Effect of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    /// Packets that are known to have arrived, and were not before.
    pub(crate) packets: u32,
    /// The one among these that left last.
    pub(crate) newest: Option<Departed>,
    /// True if one of these was sent more than once.
    pub(crate) repaired: bool,
}

impl Delivery {
    fn add_packet(&mut self, fate: Fate, departed: Departed) {
        self.packets += 1;
        self.repaired |= matches!(fate, Fate::Again | Fate::Doubled);
        // draft-cheng-iccrg-delivery-rate-estimation §3.3: the sample is that of the packet sent last.
        if self.newest.is_none_or(|n| (n.at, n.delivered) <= (departed.at, departed.delivered)) {
            self.newest = Some(departed);
        }
    }
}

/// The packets of one message that are sent and not acknowledged cumulatively.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// First packet not acknowledged.
    una: u32,
    packets: VecDeque<(Fate, Departed)>,
    sacked: u32,
    lost: u32,
    doubled: u32,
    /// One more than the highest packet known to have arrived above a hole.
    high: u32,
    /// Packets below this that are not selectively acknowledged have been found lost once.
    judged: u32,
    /// No packet below this is lost and waits.
    search: u32,
}

impl Scoreboard {
    /// First packet not acknowledged.
    pub(crate) fn una(&self) -> u32 {
        self.una
    }

    /// First packet never sent.
    pub(crate) fn next(&self) -> u32 {
        self.una + self.packets.len() as u32
    }

    /// Packets sent and not acknowledged cumulatively.
    pub(crate) fn outstanding(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Packets on their way, as far as is known. RFC 6675 §4 SetPipe
    pub(crate) fn pipe(&self) -> u32 {
        self.outstanding() - self.sacked - self.lost + self.doubled
    }

    /// A new packet leaves.
    pub(crate) fn push(&mut self, departed: Departed) {
        self.packets.push_back((Fate::Flying, departed));
    }

    /// All packets below `end`, which have been sent, have arrived. Returns the number of those that this is news for.
    pub(crate) fn acknowledge_below(&mut self, end: u32, delivery: &mut Delivery) -> u32 {
        let acked = end.min(self.next()).saturating_sub(self.una);
        for (fate, departed) in self.packets.drain(..acked as usize) {
            match fate {
                Fate::Sacked => self.sacked -= 1,
                Fate::Lost => self.lost -= 1,
                Fate::Doubled => self.doubled -= 1,
                Fate::Flying | Fate::Again => {}
            }
            // A sacked packet was counted when its block came in.
            if fate != Fate::Sacked {
                delivery.add_packet(fate, departed);
            }
        }
        self.una += acked;
        acked
    }

    /// These packets have arrived, above one that has not.
    pub(crate) fn sack_block(&mut self, block: Range<u32>, delivery: &mut Delivery) {
        // A block may begin below `una`, which may just have moved, and a damaged one may end beyond what was sent.
        let (start, end) = (block.start.max(self.una), block.end.min(self.next()));
        for index in start..end {
            let (fate, departed) = &mut self.packets[(index - self.una) as usize];
            match fate {
                Fate::Sacked => continue,
                Fate::Lost => self.lost -= 1,
                Fate::Doubled => self.doubled -= 1,
                Fate::Flying | Fate::Again => {}
            }
            delivery.add_packet(*fate, *departed);
            *fate = Fate::Sacked;
            self.sacked += 1;
            self.high = self.high.max(index + 1);
        }
    }

    /// Declares packets lost that have three arrived ones above them. Returns their number, and calls `each` for them.
    pub(crate) fn detect_losses(&mut self, mut each: impl FnMut(Departed)) -> u32 {
        let Some(end) = self.lost_below() else { return 0 };
        let mut found = 0;
        // A packet is judged once: a repetition has arrivals above it from the start, and would be lost at once again.
        for index in self.judged.max(self.una)..end {
            if let Some(departed) = self.declare_lost(index) {
                found += 1;
                each(departed);
            }
        }
        self.judged = self.judged.max(end);
        found
    }

    /// The third highest packet that has arrived above a hole.
    fn lost_below(&self) -> Option<u32> {
        if self.sacked < DUP_THRESHOLD {
            return None;
        }
        let arrived = |&index: &u32| self.packets[(index - self.una) as usize].0 == Fate::Sacked;
        // RFC 6675 §4: a packet is lost once DupThresh packets above it have arrived.
        // From the top, so that the search is short: it ends at the third arrival.
        (self.una..self.high).rev().filter(arrived).nth(DUP_THRESHOLD as usize - 1)
    }

    /// Declares one packet lost, if it is on its way for the first time. Returns its departure if it was.
    pub(crate) fn declare_lost(&mut self, index: u32) -> Option<Departed> {
        let place = index.checked_sub(self.una)?;
        let departed = match self.packets.get_mut(place as usize) {
            // RFC 6675 cannot tell that a repetition is lost: the time-out finds that.
            Some((fate @ Fate::Flying, departed)) => {
                *fate = Fate::Lost;
                *departed
            }
            _ => return None,
        };
        self.lost += 1;
        self.search = self.search.min(index);
        Some(departed)
    }

    /// Declares everything lost that is not known to have arrived, repetitions as well. Tells of `each` that was not
    /// declared lost before. RFC 6298 §5
    pub(crate) fn lose_all(&mut self, mut each: impl FnMut(Departed)) {
        for (fate, departed) in &mut self.packets {
            match fate {
                Fate::Sacked | Fate::Lost => {}
                Fate::Flying | Fate::Again | Fate::Doubled => {
                    *fate = Fate::Lost;
                    each(*departed);
                }
            }
        }
        self.lost = self.outstanding() - self.sacked;
        self.doubled = 0;
        self.search = self.una;
        // Arrivals judge only packets that leave from now on.
        self.judged = self.next();
    }

    /// The lowest packet that is lost and waits to be sent again.
    pub(crate) fn next_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        self.search = self.search.max(self.una);
        // `lost` counts a packet at or above `search`, so the loop ends before the board does.
        while self.packets.get((self.search - self.una) as usize)?.0 != Fate::Lost {
            self.search += 1;
        }
        Some(self.search)
    }

    /// The lowest packet below the highest arrived one of which nothing is known. RFC 6675 §4 NextSeg (3)
    pub(crate) fn next_hole(&self) -> Option<u32> {
        let flying = |&index: &u32| self.packets[(index - self.una) as usize].0 == Fate::Flying;
        (self.una..self.high).find(flying)
    }

    /// Packets that are not known to have arrived.
    pub(crate) fn missing_packets(&self) -> impl Iterator<Item = u32> {
        let numbered = (self.una..).zip(&self.packets);
        numbered.filter(|(_, packet)| packet.0 != Fate::Sacked).map(|(index, _)| index)
    }

    /// True if the first packet not acknowledged has been sent again.
    pub(crate) fn first_repeated(&self) -> bool {
        self.packets.front().is_some_and(|packet| matches!(packet.0, Fate::Again | Fate::Doubled))
    }

    /// A packet leaves again.
    pub(crate) fn repeat_packet(&mut self, index: u32, departed: Departed) {
        // An index below `una` wraps to a place beyond the end, and finds nothing.
        let Some(entry) = self.packets.get_mut(index.wrapping_sub(self.una) as usize) else { return };
        entry.1 = departed;
        entry.0 = match entry.0 {
            Fate::Lost => {
                self.lost -= 1;
                Fate::Again
            }
            Fate::Flying => {
                self.doubled += 1;
                Fate::Doubled
            }
            // Not reached: `Connection::pick` names only lost and flying packets.
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departed_at(n: u64) -> Departed {
        let at = Time(n);
        Departed {
            at,
            delivered: n,
            delivered_at: at,
            first_at: at,
            app_limited: false,
            in_flight: 1,
            lost: 0,
            marked: 0,
        }
    }

    fn detect_and_count(board: &mut Scoreboard) -> u32 {
        let mut told = 0;
        let found = board.detect_losses(|_| told += 1);
        assert_eq!(told, found);
        found
    }

    fn board_with(packets: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..packets).for_each(|n| board.push(departed_at(n)));
        board
    }

    #[test]
    fn three_arrivals_above_a_hole_lose_it_and_the_pipe_is_counted() {
        let (mut board, mut delivery) = (board_with(10), Delivery::default());
        assert_eq!(board.acknowledge_below(2, &mut delivery), 2);
        board.sack_block(3..5, &mut delivery);
        assert_eq!((detect_and_count(&mut board), board.pipe()), (0, 6));
        board.sack_block(3..5, &mut delivery);
        board.sack_block(6..7, &mut delivery);
        assert_eq!((delivery.packets, delivery.newest.map(|n| n.at)), (5, Some(Time(6))));
        assert_eq!(detect_and_count(&mut board), 1, "2 has 3, 4 and 6 above it; 5 has one");
        assert_eq!((board.next_lost(), board.next_hole(), board.pipe()), (Some(2), Some(5), 4));
        board.repeat_packet(2, departed_at(20));
        board.repeat_packet(5, departed_at(21));
        assert_eq!((board.next_lost(), board.next_hole(), board.pipe()), (None, None, 6));
        board.sack_block(5..6, &mut delivery);
        assert_eq!(board.pipe(), 4, "both copies of 5 are settled");
        assert_eq!(
            (detect_and_count(&mut board), board.next_lost()),
            (0, None),
            "a repetition is not judged"
        );
        let mut told = 0;
        board.lose_all(|_| told += 1);
        assert_eq!((board.pipe(), board.next_lost(), told), (0, Some(2), 4), "what has arrived is not lost");
        assert_eq!((board.acknowledge_below(99, &mut delivery), board.pipe(), board.una()), (8, 0, 10));
        assert_eq!((board.next(), board.next_lost(), delivery.packets), (10, None, 10));
    }

    #[test]
    fn agrees_with_a_count_of_everything_whatever_happens() {
        let (mut board, mut state) = (Scoreboard::default(), 12345u32);
        let mut random = move |n: u32| {
            // A linear congruential generator, by its upper bits: the low ones repeat after a few draws.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % n
        };
        for step in 0..20_000u64 {
            let (start, delivery) = (board.una() + random(30), &mut Delivery::default());
            match random(8) {
                0 | 1 if board.outstanding() < 50 => board.push(departed_at(step)),
                2 => board.sack_block(start..start + random(5), delivery),
                3 => _ = board.acknowledge_below(board.una() + random(4), delivery),
                4 => _ = detect_and_count(&mut board),
                5 if random(20) == 0 => board.lose_all(|_| ()),
                6 => board.next_lost().into_iter().for_each(|i| board.repeat_packet(i, departed_at(step))),
                _ => board.next_hole().into_iter().for_each(|i| board.repeat_packet(i, departed_at(step))),
            }
            let of = |fate| board.packets.iter().filter(|p| p.0 == fate).count() as u32;
            assert_eq!(
                (board.lost, board.sacked, board.doubled),
                (of(Fate::Lost), of(Fate::Sacked), of(Fate::Doubled))
            );
            assert_eq!(board.pipe(), of(Fate::Flying) + of(Fate::Again) + 2 * of(Fate::Doubled));
            let first = board.packets.iter().position(|p| p.0 == Fate::Lost).map(|i| board.una() + i as u32);
            assert_eq!(board.next_lost(), first);
        }
    }
}
