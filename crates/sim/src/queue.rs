//! The event queue: a ring of buckets for the near future, a heap for the rest.
//!
//! Events come out by (time, rank). The rank says what an event is, not when it was made: the order of events of one
//! instant is the same however many queues share them. Of events with equal times and ranks, any may come first.
//!
//! Almost all events of a network are at most a link's delay ahead, so they land in a ring of buckets of a fixed
//! width; a bucket is sorted when its turn comes. Timers and flow starts further ahead wait in a heap until the ring
//! reaches them.
//!
//! In a large network nothing that an event touches is in cache. Then the next events are sorted some way
//! ahead of their turn ([`EventQueue::look_ahead`]), and the engine asks for their memory in the meantime.

use headway_primitives::prefetch_at;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event that is due; the queue does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Time in picoseconds.
    pub(crate) at: u64,
    /// Kind and place, in the engine's encoding.
    pub(crate) what: u32,
    /// Handle of the packet.
    pub(crate) packet: u32,
}

/// An event in the ring. Its bucket gives the high bits of its time; `key` orders it within the bucket:
/// the low bits of its time, then its rank.
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

/// An event beyond the ring, by (time, rank).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    at: u64,
    rank: u64,
    what: u32,
    packet: u32,
}

/// Bits of a key for the rank.
pub(crate) const RANK_BITS: u32 = 44;
/// Widest bucket, so that a time within it fits above the rank: 2^20 ps, about a microsecond.
const MAX_SHIFT: u32 = 64 - RANK_BITS;

/// Events of one bucket, in the order of their insertion, in two cache lines. A bucket's other chunks follow
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
const CHUNK: usize = 7;
const FURTHER: usize = 2;

/// Number of a chunk and how many events it holds, in the three lowest bits; all bits set for none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const NONE: Place = Place(u32::MAX);

    #[inline(always)]
    fn chunk(self) -> usize {
        (self.0 >> 3) as usize
    }

    #[inline(always)]
    fn len(self) -> usize {
        (self.0 & 7) as usize
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
    /// Upper limit of `taken` before more events have to be sorted: the length of `current` less `ahead`.
    enough: usize,
    /// Number of events to hold in `current` beyond the next one.
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
    /// Events at or beyond `bucket + ring length`, and the bucket of the first of them.
    far: BinaryHeap<Reverse<Far>>,
    far_bucket: u64,
}

/// Buckets with more events than this are sorted by the library; fewer by insertion.
const SMALL: usize = 16;

impl EventQueue {
    /// A queue for events that are mostly less than `horizon` picoseconds ahead, in about as many `buckets`.
    pub(crate) fn new(horizon: u64, buckets: usize) -> EventQueue {
        // A power of two, so that the place of a bucket in the ring is a mask away.
        // At least 4,096, since a word of the summary stands for so many.
        let buckets = buckets.next_power_of_two().clamp(1 << 12, MOST_BUCKETS);
        // At least 1, as 0 has no logarithm.
        let shift = (horizon / buckets as u64).max(1).ilog2().min(MAX_SHIFT);
        EventQueue {
            shift,
            within: (1 << shift) - 1,
            mask: buckets as u64 - 1,
            bucket: 0,
            current: Vec::new(),
            taken: 0,
            enough: 0,
            ahead: 0,
            heads: vec![Place::NONE; buckets].into(),
            words: vec![0; buckets / 64].into(),
            summary: vec![0; buckets / 4096].into(),
            top: 0,
            chunks: Vec::new(),
            free: Place::NONE,
            far: BinaryHeap::new(),
            far_bucket: u64::MAX,
        }
    }

    /// Sorts at least `events` events ahead of their turn, where they are near enough in time.
    pub(crate) fn look_ahead(&mut self, events: usize) {
        self.ahead = events;
        self.enough = self.current.len().saturating_sub(events);
    }

    /// Adds an event. `at` is not before the last one popped, and the rank is below 2^[`RANK_BITS`].
    #[inline(always)]
    pub(crate) fn push(&mut self, at: u64, rank: u64, what: u32, packet: u32) {
        debug_assert!(rank >> RANK_BITS == 0, "{rank:#x} is no rank");
        let bucket = at >> self.shift;
        // Ahead by 1 ..= mask: in the ring. By nothing, or more than the ring holds: elsewhere.
        if bucket.wrapping_sub(self.bucket).wrapping_sub(1) < self.mask {
            let key = self.key(at, rank);
            self.insert_ring(bucket, Near { key, what, packet });
        } else {
            self.insert_elsewhere(bucket, at, rank, (what, packet));
        }
    }

    /// Takes the earliest event if it is before `limit`.
    #[inline(always)]
    pub(crate) fn pop_before(&mut self, limit: u64) -> Option<Event> {
        if self.taken >= self.enough {
            self.replenish();
        }
        let due = self.current.get(self.taken)?;
        // Its limit is a window's end: the event stays until the next window.
        if due.at >= limit {
            return None;
        }
        self.taken += 1;
        Some(Event { at: due.at, what: due.what, packet: due.packet })
    }

    /// Time and rank of the earliest event.
    pub(crate) fn first(&mut self) -> Option<(u64, u64)> {
        if self.taken >= self.enough {
            self.replenish();
        }
        let due = self.current.get(self.taken)?;
        Some((due.at, due.key & ((1 << RANK_BITS) - 1)))
    }

    /// The event `place` events after the next one, if it is known already: what, with which packet, when.
    #[inline(always)]
    pub(crate) fn upcoming(&self, place: usize) -> Option<Event> {
        let due = self.current.get(self.taken + place)?;
        Some(Event { at: due.at, what: due.what, packet: due.packet })
    }

    /// Sorts buckets until enough events are known, or the next ones are too far ahead.
    #[inline(always)]
    fn replenish(&mut self) {
        // All sorted events are gone: the list starts again from its beginning, which keeps its memory.
        if self.taken == self.current.len() {
            self.current.clear();
            self.taken = 0;
            self.advance(u64::MAX);
            if self.ahead == 0 {
                self.enough = self.current.len();
                return;
            }
        } else if self.taken >= 4 * self.ahead {
            // Moved now and then only, so that it costs little for each event.
            self.current.drain(..self.taken);
            self.taken = 0;
        }
        while self.current.len() - self.taken <= self.ahead {
            let Some(first) = self.current.get(self.taken) else { break };
            if !self.advance((first.at >> self.shift) + MOST_AHEAD) {
                break;
            }
        }
        self.enough = self.current.len().saturating_sub(self.ahead);
    }

    /// Number of events that wait.
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
        // `NONE` has the length of a full chunk, so that one branch serves both.
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
            self.heads[index] = self.grow(event, head);
        }
        if head == Place::NONE {
            self.mark(index);
        } else if self.ahead > 0 {
            self.link(index, head);
        }
    }

    /// A chunk that was not there before, in front of a list. Room is reserved for four times as many, because all chunks
    /// move when there is none left; the unused part of it is address space and no memory.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, event: Near, next: Place) -> Place {
        let chunks = &mut self.chunks;
        if chunks.len() == chunks.capacity() {
            // If not so much, then as much as a list reserves by itself.
            let _ = chunks.try_reserve_exact(3 * chunks.len());
        }
        chunks.push(Chunk { events: [event; CHUNK], next, further: [Place::NONE; FURTHER] });
        Place((chunks.len() as u32 - 1) << 3 | 1)
    }

    /// Marks a bucket as one that holds something.
    #[inline(always)]
    fn mark(&mut self, index: usize) {
        let word = &mut self.words[index / 64];
        let first = *word == 0;
        *word |= 1 << (index % 64);
        if first {
            self.summary[index / 4096] |= 1 << (index / 64 % 64);
            self.top |= 1 << (index / 4096);
        }
    }

    /// Marks a bucket as empty.
    #[inline(always)]
    fn clear(&mut self, index: usize) {
        let word = &mut self.words[index / 64];
        *word &= !(1 << (index % 64));
        if *word != 0 {
            return;
        }
        let words = &mut self.summary[index / 4096];
        *words &= !(1 << (index / 64 % 64));
        if *words == 0 {
            self.top &= !(1 << (index / 4096));
        }
    }

    /// Names in a list's new first chunk the ones further on.
    #[inline(never)]
    fn link(&mut self, index: usize, second: Place) {
        let next = &self.chunks[second.chunk()];
        let further = [next.next, next.further[0]];
        self.chunks[self.heads[index].chunk()].further = further;
    }

    #[cold]
    #[inline(never)]
    fn insert_elsewhere(&mut self, bucket: u64, at: u64, rank: u64, (what, packet): (u32, u32)) {
        if bucket <= self.bucket {
            // Sorted already; it is near, so this is rare and short.
            let due = Due { at, key: self.key(at, rank), what, packet };
            let before = |other: &Due| (other.at, other.key) <= (due.at, due.key);
            let place = self.taken + self.current[self.taken..].partition_point(before);
            self.current.insert(place, due);
            self.enough = self.current.len().saturating_sub(self.ahead);
        } else {
            self.far.push(Reverse(Far { at, rank, what, packet }));
            self.far_bucket = self.far_bucket.min(bucket);
        }
    }

    fn near(&self, far: Far) -> Near {
        Near { key: self.key(far.at, far.rank), what: far.what, packet: far.packet }
    }

    /// Sorts the next bucket that holds something into `current`, if it is not beyond `limit`.
    #[inline(always)]
    fn advance(&mut self, limit: u64) -> bool {
        // All of the ring comes before all far events: `refill` keeps it so.
        let bucket = if self.top != 0 { self.next_bucket() } else { self.far_bucket };
        if bucket > limit || (self.top == 0 && self.far.is_empty()) {
            return false;
        }
        self.bucket = bucket;
        // Not true without far events: their bucket is then the highest number.
        if self.far_bucket.wrapping_sub(self.bucket) <= self.mask {
            self.refill();
        }
        // After `refill`, which may have added to this very bucket.
        let index = (self.bucket & self.mask) as usize;
        let place = std::mem::replace(&mut self.heads[index], Place::NONE);
        self.clear(index);
        self.drain(place);
        if self.ahead > 0 && self.top != 0 {
            // By the time of the next bucket its list is in cache.
            let next = (self.next_bucket() & self.mask) as usize;
            prefetch_at(&self.chunks, self.heads[next].chunk());
        }
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
        // Chunks keep their events when they are released, and nothing is added before these are copied.
        let chunks = self.release(head);
        let mut place = self.free;
        for _ in 1..chunks {
            place = self.take(place, CHUNK);
        }
        self.take(place, head.len());
        sort(&mut self.current[start..]);
    }

    /// Releases a list's chunks and says how many they are. The newest comes first in the list, and each is
    /// released before the one ahead of it: what follows from `free` after that is the oldest first.
    #[inline(always)]
    fn release(&mut self, head: Place) -> u32 {
        let (mut place, mut chunks) = (head, 0);
        while place != Place::NONE {
            let chunk = &mut self.chunks[place.chunk()];
            let next = std::mem::replace(&mut chunk.next, self.free);
            let further = chunk.further[FURTHER - 1];
            // Length 1: the next user puts one event in.
            self.free = Place(place.0 & !7 | 1);
            chunks += 1;
            place = next;
            if place != Place::NONE {
                prefetch_at(&self.chunks, further.chunk());
            }
        }
        chunks
    }

    /// Copies the first `len` events of a chunk into `current`, and names the chunk after it.
    #[inline(always)]
    fn take(&mut self, place: Place, len: usize) -> Place {
        let chunk = &self.chunks[place.chunk()];
        let events = chunk.events.get(..len).unwrap_or(&chunk.events);
        self.current.extend(events.iter().map(|near| near.due(self.shift, self.bucket)));
        chunk.next
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
            // After a whole turn this may be the first word again, whose upper part was empty.
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
        // Two shifts, since `first` may be 63 and a shift by 64 is an overflow.
        let later = self.top & (u64::MAX << first << 1);
        let place = if later != 0 { later } else { self.top }.trailing_zeros() as usize;
        place * 64 + self.summary[place].trailing_zeros() as usize
    }
}

/// Sorts events that come in the order of their insertion: nearly the order of time, and any order in one instant.
#[inline(always)]
fn sort(events: &mut [Due]) {
    if events.len() > SMALL {
        return sort_many(events);
    }
    for end in 1..events.len() {
        let event = events[end];
        let mut hole = end;
        // The key alone decides: all of these are of one bucket, and its high bits are their time.
        while hole > 0 && events[hole - 1].key > event.key {
            events[hole] = events[hole - 1];
            hole -= 1;
        }
        if hole < end {
            events[hole] = event;
        }
    }
}

#[inline(never)]
fn sort_many(events: &mut [Due]) {
    if !events.is_sorted_by_key(|e| e.key) {
        events.sort_unstable_by_key(|e| e.key);
    }
}

#[cfg(test)]
mod tests;
