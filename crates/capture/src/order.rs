//! Packets in order of time, from observers that report a bounded time late.

use headway_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Holds items until no earlier one can come.
pub(crate) struct InOrder<T> {
    /// Longest time by which an item comes late.
    window: Time,
    latest: Time,
    /// Items handed in, to keep the order of equal times.
    count: u64,
    waiting: BinaryHeap<Reverse<Entry<T>>>,
}

struct Entry<T> {
    key: (Time, u64),
    item: T,
}

impl<T> InOrder<T> {
    pub(crate) fn new(window: Time) -> InOrder<T> {
        InOrder { window, latest: Time::ZERO, count: 0, waiting: BinaryHeap::new() }
    }

    /// Takes an item that happened at `at`.
    pub(crate) fn push(&mut self, at: Time, item: T) {
        self.latest = self.latest.max(at);
        // The count in the key makes equal times leave in the order in which they came; a heap alone does not.
        self.waiting.push(Reverse(Entry { key: (at, self.count), item }));
        self.count += 1;
    }

    /// The earliest item, if everything that happened before it has been handed in.
    pub(crate) fn pop_ready(&mut self) -> Option<(Time, T)> {
        let horizon = self.latest.saturating_sub(self.window);
        // At the horizon itself others may follow, but none that is earlier.
        let due = self.waiting.peek().is_some_and(|Reverse(e)| e.key.0 <= horizon);
        if due { self.pop_rest() } else { None }
    }

    /// The earliest item, whatever may come.
    pub(crate) fn pop_rest(&mut self) -> Option<(Time, T)> {
        self.waiting.pop().map(|Reverse(e)| (e.key.0, e.item))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(headway_testing::cases!(256))]

        /// Items that come up to the window late leave in order of time, equal times in order of arrival,
        /// none lost, and no more wait than fall into one window.
        #[test]
        fn late_items_leave_in_order(steps in prop::collection::vec((0u64..20, 0u64..=50), 0..300)) {
            let (mut order, mut out, mut given) = (InOrder::new(Time(50)), Vec::new(), Vec::new());
            let mut now = 0;
            for (number, (step, late)) in steps.into_iter().enumerate() {
                now += step;
                // Up to 50 late, which is just the window.
                let at = Time(now.saturating_sub(late));
                order.push(at, number);
                given.push((at, number));
                while let Some(item) = order.pop_ready() {
                    out.push(item);
                }
                let horizon = order.latest.saturating_sub(Time(50));
                // Otherwise holding everything until the end would pass as well.
                prop_assert_eq!(order.waiting.len(), given.iter().filter(|g| g.0 > horizon).count());
            }
            out.extend(std::iter::from_fn(|| order.pop_rest()));
            given.sort();
            prop_assert_eq!(out, given);
        }
    }
}
