//! The event queue: a ring of buckets for the near future, a heap for the rest.
//!
//! Events come out by (time, class, order of insertion). Almost all events of a network are at most a
//! link's delay ahead, so they land in a ring of buckets of a fixed width; a bucket is sorted when its
//! turn comes. Timers and flow starts further ahead wait in a heap until the ring reaches them.
//!
//! In a large network nothing that an event touches is in cache. Then the next events are sorted some way
//! ahead of their turn ([`EventQueue::look_ahead`]), and the engine asks for their memory in the meantime.

use crate::prefetch::prefetch;
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

impl Near {
    #[inline(always)]
    fn due(&self, shift: u32, bucket: u64) -> Due {
        let at = bucket << shift | self.key >> RANK_BITS;
        Due { at, key: self.key, what: self.what, packet: self.packet }
    }
}

/// An event beyond the ring, by (time, class and order of insertion).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    at: u64,
    rank: u64,
    what: u32,
    packet: u32,
}

/// Bits of a key for class and order of insertion: 4 classes, 2^42 events.
const RANK_BITS: u32 = 44;
const CLASS_SHIFT: u32 = 42;
/// Widest bucket, so that a time within it fits above the rank: 2^20 ps, about a microsecond.
const MAX_SHIFT: u32 = 64 - RANK_BITS;

/// Events of one bucket, in the order of their insertion, in one cache line. A bucket's other chunks follow
/// from it by `next`, and are full.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Chunk {
    events: [Near; CHUNK],
    next: Place,
    /// The ones after `next`, so that a long list can be asked for ahead of reading it. Nothing where there
    /// are none, or something left over where `next` is none.
    further: [Place; FURTHER],
}

/// Events a chunk holds.
const CHUNK: usize = 3;
const FURTHER: usize = 3;

/// Number of a chunk and how many events it holds, in the two lowest bits; all bits set for none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const NONE: Place = Place(u32::MAX);

    #[inline(always)]
    fn chunk(self) -> usize {
        (self.0 >> 2) as usize
    }

    #[inline(always)]
    fn len(self) -> usize {
        (self.0 & 3) as usize
    }
}

/// An event that the ring has handed over, by (time, key).
#[derive(Clone, Copy)]
struct Due {
    at: u64,
    key: u64,
    what: u32,
    packet: u32,
}

/// Buckets at most: the summary has 64 words of 64 bits over words of 64 buckets.
const MOST_BUCKETS: usize = 1 << 18;

/// Buckets ahead of the last event taken that may be sorted before their turn: an event that is added to
/// a sorted bucket has to be moved into place, so there must not be many.
const MOST_AHEAD: u64 = 256;

/// See the module.
pub(crate) struct EventQueue {
    /// log2 of a bucket's width in picoseconds.
    shift: u32,
    /// Bits of a time within its bucket.
    within: u64,
    mask: u64,
    /// Number of the last bucket whose events are, or were, in `current`.
    bucket: u64,
    /// Events of the buckets up to that one in order; those before `taken` are gone.
    current: Vec<Due>,
    taken: usize,
    /// How many events to hold in `current` beyond the next one.
    ahead: usize,
    /// First chunk of each bucket.
    heads: Box<[Place]>,
    /// One bit a bucket that holds something, and one bit a word of those.
    words: Box<[u64]>,
    summary: Box<[u64]>,
    /// One bit a word of the summary: zero when the ring is empty.
    top: u64,
    chunks: Vec<Chunk>,
    /// The chunk released last, and so on by `next`: the one most likely still in cache.
    free: Place,
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
        let buckets = density.next_power_of_two().clamp(1 << 12, MOST_BUCKETS);
        let shift = (horizon / buckets as u64).max(1).ilog2().min(MAX_SHIFT);
        EventQueue {
            shift,
            within: (1 << shift) - 1,
            mask: buckets as u64 - 1,
            bucket: 0,
            current: Vec::new(),
            taken: 0,
            ahead: 0,
            heads: vec![Place::NONE; buckets].into(),
            words: vec![0; buckets / 64].into(),
            summary: vec![0; buckets / 4096].into(),
            top: 0,
            chunks: Vec::new(),
            free: Place::NONE,
            far: BinaryHeap::new(),
            far_bucket: u64::MAX,
            inserted: 0,
        }
    }

    /// Sorts at least `events` events ahead of their turn, where they are near enough in time.
    pub(crate) fn look_ahead(&mut self, events: usize) {
        self.ahead = events;
    }

    /// Adds an event of a class from 0 to 3; `at` is not before the last one popped.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: u64, class: u8, what: u32, packet: u32) {
        let rank = u64::from(class) << CLASS_SHIFT | self.inserted;
        self.inserted += 1;
        let bucket = at >> self.shift;
        // Ahead by 1 ..= mask: in the ring. By nothing, or more than the ring holds: elsewhere.
        if bucket.wrapping_sub(self.bucket).wrapping_sub(1) < self.mask {
            let key = self.key(at, rank);
            self.insert_ring(bucket, Near { key, what, packet });
        } else {
            self.insert_elsewhere(bucket, Far { at, rank, what, packet });
        }
    }

    /// Takes the earliest event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.current.len() - self.taken <= self.ahead {
            self.replenish();
        }
        let due = self.current.get(self.taken)?;
        self.taken += 1;
        Some(Event { at: due.at, what: due.what, packet: due.packet })
    }

    /// The event `place` events after the next one, if it is known already: what, with which packet, when.
    #[inline(always)]
    pub(crate) fn upcoming(&self, place: usize) -> Option<Event> {
        let due = self.current.get(self.taken + place)?;
        Some(Event { at: due.at, what: due.what, packet: due.packet })
    }

    /// Sorts buckets until enough events are known, or the next ones are too far ahead.
    #[inline(never)]
    fn replenish(&mut self) {
        if self.taken == self.current.len() {
            self.current.clear();
            self.taken = 0;
        } else if self.taken >= 4 * self.ahead {
            self.current.drain(..self.taken);
            self.taken = 0;
        }
        loop {
            let near = self.current.get(self.taken).map(|first| (first.at >> self.shift) + MOST_AHEAD);
            if !self.advance(near.unwrap_or(u64::MAX)) || self.current.len() - self.taken > self.ahead {
                return;
            }
        }
    }

    /// Events waiting.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let listed = |head: &Place| {
            let next = |place: &Place| self.chunks.get(place.chunk()).map(|chunk| chunk.next);
            let chunks = std::iter::successors(Some(*head), next);
            chunks.take_while(|&place| place != Place::NONE).map(Place::len).sum::<usize>()
        };
        let ring: usize = self.heads.iter().map(listed).sum();
        self.current.len() - self.taken + ring + self.far.len()
    }

    #[inline(always)]
    fn key(&self, at: u64, rank: u64) -> u64 {
        (at & self.within) << RANK_BITS | rank
    }

    #[inline(always)]
    fn insert_ring(&mut self, bucket: u64, event: Near) {
        let index = (bucket & self.mask) as usize;
        let head = self.heads[index];
        if head.len() < CHUNK {
            self.chunks[head.chunk()].events[head.len()] = event;
            self.heads[index] = Place(head.0 + 1);
            return;
        }
        let place = self.free;
        if let Some(reused) = self.chunks.get_mut(place.chunk()) {
            self.free = reused.next;
            reused.events[0] = event;
            reused.next = head;
            self.heads[index] = place;
        } else {
            self.heads[index] = Place((self.chunks.len() as u32) << 2 | 1);
            let further = [Place::NONE; FURTHER];
            self.chunks.push(Chunk { events: [event; CHUNK], next: head, further });
        }
        if head == Place::NONE {
            self.words[index / 64] |= 1 << (index % 64);
            self.summary[index / 4096] |= 1 << (index / 64 % 64);
            self.top |= 1 << (index / 4096);
        } else if self.ahead > 0 {
            self.link(index, head);
        }
    }

    /// Names in a list's new first chunk the ones further on.
    #[inline(never)]
    fn link(&mut self, index: usize, second: Place) {
        let next = &self.chunks[second.chunk()];
        let further = [next.next, next.further[0], next.further[1]];
        self.chunks[self.heads[index].chunk()].further = further;
    }

    #[cold]
    #[inline(never)]
    fn insert_elsewhere(&mut self, bucket: u64, event: Far) {
        if bucket <= self.bucket {
            // Sorted already; it is near, so this is rare and short.
            let due = self.near(event).due(self.shift, bucket);
            let later = |other: &Due| (other.at, other.key) < (due.at, due.key);
            let place = self.taken + self.current[self.taken..].partition_point(later);
            self.current.insert(place, due);
        } else {
            self.far.push(Reverse(event));
            self.far_bucket = self.far_bucket.min(bucket);
        }
    }

    fn near(&self, far: Far) -> Near {
        Near { key: self.key(far.at, far.rank), what: far.what, packet: far.packet }
    }

    /// Sorts the next bucket that holds something into `current`, if it is not beyond `limit`.
    #[inline(always)]
    fn advance(&mut self, limit: u64) -> bool {
        let bucket = if self.top != 0 { self.next_bucket() } else { self.far_bucket };
        if bucket > limit || (self.top == 0 && self.far.is_empty()) {
            return false;
        }
        self.bucket = bucket;
        if self.far_bucket.wrapping_sub(self.bucket) <= self.mask {
            self.refill();
        }
        let index = (self.bucket & self.mask) as usize;
        let place = std::mem::replace(&mut self.heads[index], Place::NONE);
        self.words[index / 64] &= !(1 << (index % 64));
        if self.words[index / 64] == 0 {
            self.summary[index / 4096] &= !(1 << (index / 64 % 64));
            if self.summary[index / 4096] == 0 {
                self.top &= !(1 << (index / 4096));
            }
        }
        self.drain(place);
        true
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

    /// Sorts the events of the bucket reached last, whose list begins at `head`, into `current`.
    #[inline(always)]
    fn drain(&mut self, head: Place) {
        let start = self.current.len();
        let mut place = head;
        let (shift, bucket) = (self.shift, self.bucket);
        while let Some(chunk) = self.chunks.get_mut(place.chunk()) {
            let next = std::mem::replace(&mut chunk.next, self.free);
            let [first, second, third] = chunk.events.each_ref().map(|near| near.due(shift, bucket));
            match place.len() {
                CHUNK => self.current.extend_from_slice(&[third, second, first]),
                2 => self.current.extend_from_slice(&[second, first]),
                _ => self.current.push(first),
            }
            let further = chunk.further[FURTHER - 1];
            self.free = Place(place.0 & !3 | 1);
            place = next;
            if place == Place::NONE {
                break;
            }
            prefetch(&self.chunks, further.chunk());
        }
        sort(&mut self.current[start..]);
    }

    /// The number of the first non-empty bucket after the current one; the ring is not empty.
    #[inline(always)]
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

/// Sorts events that come from the last one inserted to the first, and are nearly in order of time.
#[inline(always)]
fn sort(events: &mut [Due]) {
    if events.len() == 1 {
        return;
    }
    events.reverse();
    if events.is_sorted_by_key(|e| e.key) {
        return;
    }
    if events.len() > SMALL {
        return events.sort_unstable_by_key(|e| e.key);
    }
    for end in 1..events.len() {
        let mut hole = end;
        while hole > 0 && events[hole - 1].key > events[hole].key {
            events.swap(hole - 1, hole);
            hole -= 1;
        }
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
            ring.look_ahead(if seed % 3 == 0 { 0 } else { seed as usize });
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
                if step % 256 == 0 {
                    assert_eq!(ring.len(), heap.len());
                }
            }
            while let Some(Reverse((at, _, what))) = heap.pop() {
                assert_eq!(ring.pop(), Some(Event { at, what, packet: 0 }), "seed {seed}, draining");
            }
            assert_eq!(ring.pop(), None);
        }
    }
}
