//! The event queue: a ring of buckets for the near future, a heap for the rest.
//!
//! Events come out by (time, class, order of insertion). Almost all events of a network are at most a
//! link's delay ahead, so they land in a ring of buckets of a fixed width; a bucket is sorted when its
//! turn comes. Timers and flow starts further ahead wait in a heap until the ring reaches them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due, in the engine's own words; the queue does not look inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Picoseconds.
    pub(crate) at: u64,
    /// What and where.
    pub(crate) what: u32,
    /// With which packet.
    pub(crate) packet: u32,
}

/// An event in the ring. Its bucket gives the high bits of its time; `key` orders it within the bucket:
/// the low bits of its time, then its class, then the order of insertion.
#[derive(Clone, Copy)]
struct Near {
    key: u64,
    what: u32,
    packet: u32,
}

/// An event beyond the ring, by (time, class and order of insertion).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    at: u64,
    rank: u64,
    what: u32,
    packet: u32,
}

const NONE: u32 = u32::MAX;
/// Bits of a key for class and order of insertion: 4 classes, 2^42 events.
const RANK_BITS: u32 = 44;
const CLASS_SHIFT: u32 = 42;
/// Widest bucket, so that a time within it fits above the rank: 2^20 ps, about a microsecond.
const MAX_SHIFT: u32 = 64 - RANK_BITS;

#[derive(Clone, Copy)]
struct Slot {
    event: Near,
    next: u32,
}

/// See the module.
pub(crate) struct EventQueue {
    /// log2 of a bucket's width in picoseconds.
    shift: u32,
    /// Bits of a time within its bucket.
    within: u64,
    mask: u64,
    /// Number of the bucket that was reached last; its events are in `current`.
    bucket: u64,
    /// What is left of that bucket, the earliest last.
    current: Vec<Near>,
    /// First slot of each bucket's list.
    heads: Box<[u32]>,
    /// One bit a bucket that holds something, and one bit a word of those.
    words: Box<[u64]>,
    summary: Box<[u64]>,
    /// One bit a word of the summary: zero when the ring is empty.
    top: u64,
    slots: Vec<Slot>,
    free: u32,
    /// At or beyond `bucket + ring length`, and the bucket of the first of them.
    far: BinaryHeap<Reverse<Far>>,
    far_bucket: u64,
    inserted: u64,
}

/// Buckets with more events than this are sorted by the library; fewer by insertion.
const SMALL: usize = 16;

impl EventQueue {
    /// A queue for events that are mostly less than `horizon` picoseconds ahead, with about `density`
    /// of them in that time.
    pub(crate) fn new(horizon: u64, density: usize) -> EventQueue {
        let buckets = density.next_power_of_two().clamp(1 << 12, 1 << 18);
        let width = (horizon / buckets as u64).max(1).next_power_of_two();
        let shift = width.trailing_zeros().min(MAX_SHIFT);
        EventQueue {
            shift,
            within: (1 << shift) - 1,
            mask: buckets as u64 - 1,
            bucket: 0,
            current: Vec::new(),
            heads: vec![NONE; buckets].into(),
            words: vec![0; buckets / 64].into(),
            summary: vec![0; buckets / 4096].into(),
            top: 0,
            slots: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            far_bucket: u64::MAX,
            inserted: 0,
        }
    }

    /// Adds an event of a class from 0 to 3; `at` is not before the last one popped.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: u64, class: u8, what: u32, packet: u32) {
        let rank = u64::from(class) << CLASS_SHIFT | self.inserted;
        self.inserted += 1;
        let bucket = at >> self.shift;
        // Ahead by 1 ..= mask: in the ring. By 0, or more than the ring holds: elsewhere.
        if (bucket - self.bucket).wrapping_sub(1) < self.mask {
            let key = self.key(at, rank);
            self.insert_ring(bucket, Near { key, what, packet });
        } else {
            self.insert_elsewhere(bucket, Far { at, rank, what, packet });
        }
    }

    /// Takes the earliest event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        match self.pop_current() {
            Some(event) => Some(event),
            None => self.advance().map(|near| self.event(near)),
        }
    }

    /// Takes the earliest event if the bucket reached last still holds one.
    #[inline(always)]
    pub(crate) fn pop_current(&mut self) -> Option<Event> {
        self.current.pop().map(|near| self.event(near))
    }

    /// What and with which packet, of the events left in the bucket reached last.
    #[inline(always)]
    pub(crate) fn current(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.current.iter().rev().map(|near| (near.what, near.packet))
    }

    #[inline(always)]
    fn event(&self, near: Near) -> Event {
        let at = self.bucket << self.shift | near.key >> RANK_BITS;
        Event { at, what: near.what, packet: near.packet }
    }

    /// Events waiting.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let free = std::iter::successors(Some(self.free), |&f| Some(self.slots.get(f as usize)?.next));
        let ring = self.slots.len() - free.take_while(|&f| f != NONE).count();
        self.current.len() + ring + self.far.len()
    }

    #[inline(always)]
    fn key(&self, at: u64, rank: u64) -> u64 {
        (at & self.within) << RANK_BITS | rank
    }

    #[inline(always)]
    fn insert_ring(&mut self, bucket: u64, event: Near) {
        let index = (bucket & self.mask) as usize;
        let next = self.heads[index];
        let slot = Slot { event, next };
        let place = self.free;
        if let Some(reused) = self.slots.get_mut(place as usize) {
            self.free = reused.next;
            *reused = slot;
            self.heads[index] = place;
        } else {
            self.heads[index] = self.slots.len() as u32;
            self.slots.push(slot);
        }
        if next == NONE {
            self.words[index / 64] |= 1 << (index % 64);
            self.summary[index / 4096] |= 1 << (index / 64 % 64);
            self.top |= 1 << (index / 4096);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_elsewhere(&mut self, bucket: u64, event: Far) {
        if bucket == self.bucket {
            // The current bucket is sorted already; its width is small, so this is rare and short.
            let near = self.near(event);
            let place = self.current.partition_point(|e| e.key > near.key);
            self.current.insert(place, near);
        } else {
            self.far.push(Reverse(event));
            self.far_bucket = self.far_bucket.min(bucket);
        }
    }

    fn near(&self, far: Far) -> Near {
        Near { key: self.key(far.at, far.rank), what: far.what, packet: far.packet }
    }

    /// Moves to the next bucket that holds something, and takes its earliest event.
    #[inline(never)]
    fn advance(&mut self) -> Option<Near> {
        if self.top != 0 {
            self.bucket = self.next_bucket();
        } else if self.far.is_empty() {
            return None;
        } else {
            self.bucket = self.far_bucket;
        }
        if self.far_bucket.wrapping_sub(self.bucket) <= self.mask {
            self.refill();
        }
        let index = (self.bucket & self.mask) as usize;
        let place = std::mem::replace(&mut self.heads[index], NONE);
        self.words[index / 64] &= !(1 << (index % 64));
        if self.words[index / 64] == 0 {
            self.summary[index / 4096] &= !(1 << (index / 64 % 64));
            if self.summary[index / 4096] == 0 {
                self.top &= !(1 << (index / 4096));
            }
        }
        let slot = &mut self.slots[place as usize];
        let next = std::mem::replace(&mut slot.next, self.free);
        let event = slot.event;
        self.free = place;
        if next == NONE {
            return Some(event);
        }
        self.drain(event, next);
        self.current.pop()
    }

    /// Brings far events that the ring now reaches into it.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        while let Some(Reverse(first)) = self.far.peek() {
            self.far_bucket = first.at >> self.shift;
            if self.far_bucket - self.bucket > self.mask {
                return;
            }
            let Some(Reverse(event)) = self.far.pop() else { break };
            self.insert_ring(self.far_bucket, self.near(event));
        }
        self.far_bucket = u64::MAX;
    }

    /// Sorts a bucket of several events, `first` and the list from `place`, into `current`.
    ///
    /// The list has the last event inserted first, which is nearly the order wanted.
    #[inline(never)]
    fn drain(&mut self, first: Near, mut place: u32) {
        let current = &mut self.current;
        current.push(first);
        let mut sorted = true;
        let mut last = first.key;
        while let Some(slot) = self.slots.get_mut(place as usize) {
            let next = std::mem::replace(&mut slot.next, self.free);
            self.free = place;
            place = next;
            sorted &= slot.event.key < last;
            last = slot.event.key;
            current.push(slot.event);
        }
        if sorted {
            return;
        }
        if current.len() > SMALL {
            current.sort_unstable_by_key(|e| Reverse(e.key));
            return;
        }
        for end in 1..current.len() {
            let event = current[end];
            let mut hole = end;
            while hole > 0 && current[hole - 1].key < event.key {
                current[hole] = current[hole - 1];
                hole -= 1;
            }
            current[hole] = event;
        }
    }

    /// The number of the first non-empty bucket after the current one; the ring is not empty.
    #[inline]
    fn next_bucket(&self) -> u64 {
        let start = ((self.bucket + 1) & self.mask) as usize;
        let word = start / 64;
        let rest = self.words[word] & (u64::MAX << (start % 64));
        let index = if rest != 0 {
            word * 64 + rest.trailing_zeros() as usize
        } else {
            let next = if word + 1 == self.words.len() { 0 } else { word + 1 };
            let word = self.next_word(next);
            word * 64 + self.words[word].trailing_zeros() as usize
        };
        let ahead = (index as u64).wrapping_sub(start as u64) & self.mask;
        self.bucket + 1 + ahead
    }

    /// The first non-zero word at or after `start`, around the ring.
    #[inline]
    fn next_word(&self, start: usize) -> usize {
        if self.words[start] != 0 {
            return start;
        }
        let first = start / 64;
        let rest = self.summary[first] & (u64::MAX << (start % 64));
        if rest != 0 {
            return first * 64 + rest.trailing_zeros() as usize;
        }
        let later = self.top & (u64::MAX << first << 1);
        let place = if later != 0 { later } else { self.top }.trailing_zeros() as usize;
        place * 64 + self.summary[place].trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;
    use rand_pcg::Pcg64Mcg;

    /// The same operations on the ring and on a library heap, event by event.
    #[test]
    fn agrees_with_a_heap_event_by_event() {
        for seed in 0..50u64 {
            let mut rng = Pcg64Mcg::new(u128::from(seed) * 2 + 1);
            let mut ring = EventQueue::new(2_000_000, 1 << (seed % 14));
            let mut heap = BinaryHeap::new();
            let mut now = 0u64;
            for step in 0..20_000u32 {
                let grow = heap.len() < 4 || (rng.next_u32() % 100 < 50 && heap.len() < 3000);
                if grow {
                    let ahead = match rng.next_u32() % 10 {
                        0 => 0,
                        1 => rng.next_u64() % 100,
                        2..=7 => rng.next_u64() % 2_000_000,
                        8 => rng.next_u64() % 100_000_000,
                        _ => rng.next_u64() % 100_000_000_000,
                    };
                    let class = (rng.next_u32() % 3) as u8;
                    ring.push(now + ahead, class, step, 0);
                    heap.push(Reverse((now + ahead, class, step)));
                } else {
                    let want = heap.pop().map(|Reverse(e)| e);
                    let got = ring.pop();
                    assert_eq!(
                        got.map(|e| (e.at, e.what)),
                        want.map(|e| (e.0, e.2)),
                        "seed {seed}, step {step}"
                    );
                    now = got.map_or(now, |e| e.at);
                }
                assert_eq!(ring.len(), heap.len());
            }
            while let Some(Reverse((at, _, what))) = heap.pop() {
                assert_eq!(ring.pop(), Some(Event { at, what, packet: 0 }), "seed {seed}, draining");
            }
            assert_eq!(ring.pop(), None);
        }
    }
}
