//! Many deadlines, one earliest.

use headway_units::{Time, prefetch_at};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Deadlines with a key each. Keys are not removed when their reason goes away: the owner checks at
/// expiry whether the reason still stands (lazy cancelling). Ties expire in the order of arming.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    heap: BinaryHeap<Reverse<(Time, u64, K)>>,
    armed: u64,
}

impl<K: Ord + Copy> Default for Timers<K> {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new(), armed: 0 }
    }
}

impl<K: Ord + Copy> Timers<K> {
    /// Arms a deadline.
    pub fn arm(&mut self, at: Time, key: K) {
        self.heap.push(Reverse((at, self.armed, key)));
        self.armed += 1;
    }

    /// The earliest deadline.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.0.0)
    }

    /// Asks the processor for the earliest deadline.
    #[inline]
    pub fn anticipate(&self) {
        prefetch_at(self.heap.as_slice(), 0);
    }

    /// What the earliest deadline is for.
    pub fn first(&self) -> Option<K> {
        self.heap.peek().map(|entry| entry.0.2)
    }

    /// Takes the earliest deadline that is not after `now`.
    pub fn pop_due(&mut self, now: Time) -> Option<(Time, K)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, key))| (at, key))
    }

    /// Drops every deadline whose key is not to be kept.
    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.heap.retain(|Reverse((_, _, key))| keep(key));
    }

    /// Deadlines armed and not yet taken.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no deadline is armed.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
