//! Window of datagram numbers that have arrived: a sliding window, as in RFC 6479.

const WORDS: usize = 32;
/// Numbers this far below the highest one are too old to tell.
pub(crate) const WINDOW: u64 = (WORDS as u64 - 1) * 64;

/// The window. Blocks of 64 bits are reused in a ring and cleared as the window moves over them, so that
/// no bit is ever shifted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayWindow {
    words: [u64; WORDS],
    /// One more than the highest number seen.
    next: u64,
}

impl ReplayWindow {
    /// True if `number` may be new.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            // `next` is one more than the highest, and would not fit.
            return number < u64::MAX;
        }
        let (word, bit) = bit_place(number);
        // One word less than the ring holds: the word of the highest number is only partly of this turn.
        number.saturating_add(WINDOW) >= self.next && self.words[word] & bit == 0
    }

    /// Marks `number` as arrived.
    pub(crate) fn insert(&mut self, number: u64) {
        if number >= self.next {
            let (from, to) = (self.next.div_ceil(64), number / 64);
            // A jump over the whole ring clears each word once.
            let fresh = (to + 1).saturating_sub(from).min(WORDS as u64);
            // Words between the last number and this one are of an earlier turn of the ring.
            (0..fresh).for_each(|n| self.words[((to - n) % WORDS as u64) as usize] = 0);
            self.next = number + 1;
        }
        let (word, bit) = bit_place(number);
        self.words[word] |= bit;
    }
}

fn bit_place(number: u64) -> (usize, u64) {
    ((number / 64 % WORDS as u64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(headway_testing::cases!(256))]

        #[test]
        fn agrees_with_a_set(steps in proptest::collection::vec((any::<bool>(), 0u64..5000), 1..400)) {
            let (mut window, mut set) = (ReplayWindow::default(), BTreeSet::new());
            let mut base = 0u64;
            for (jump, offset) in steps {
                let number = if jump { base + offset } else { base.saturating_sub(offset) };
                let top = set.last().map_or(0, |n: &u64| n + 1);
                let old = number < top && number + WINDOW < top;
                prop_assert_eq!(window.is_new(number), !set.contains(&number) && !old, "{}", number);
                if window.is_new(number) {
                    window.insert(number);
                    set.insert(number);
                }
                base = base.max(number);
            }
        }
    }

    #[test]
    fn the_last_number_of_all_is_never_new() {
        let mut window = ReplayWindow::default();
        window.insert(u64::MAX - 1);
        assert!(!window.is_new(u64::MAX) && !window.is_new(u64::MAX - 1) && window.is_new(u64::MAX - 2));
        assert!(!window.is_new(0));
    }
}
