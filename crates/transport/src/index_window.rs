//! A set of packet indices that fills roughly from the front.

use headway_primitives::prefetch;
use std::collections::VecDeque;

/// Indices of one message: a watermark below which all are present, and a bit set above it. Memory
/// follows the reordering extent, not the message, and an index in order costs an addition.
#[derive(Clone, Debug, Default)]
pub struct IndexWindow {
    /// Every smaller index is in the set, and this one is not.
    below: u32,
    /// Bits from `below` rounded down to a multiple of 64; empty when nothing above `below` is present.
    words: VecDeque<u64>,
    len: u32,
}

impl IndexWindow {
    /// Asks the processor for the place of `index`.
    #[inline]
    pub fn prefetch_index(&self, index: u32) {
        // An index below the watermark counts as one in the first word: near enough for a hint.
        let (word, _) = word_and_bit(index.saturating_sub(self.below & !63));
        self.words.get(word).into_iter().for_each(prefetch);
    }

    /// Adds `index`; `false` when it was there already.
    #[inline]
    pub fn insert(&mut self, index: u32) -> bool {
        // Packets in order touch no memory beyond this struct.
        if index == self.below && self.words.is_empty() {
            self.below += 1;
            self.len += 1;
            return true;
        }
        index >= self.below && self.insert_above(index)
    }

    fn insert_above(&mut self, index: u32) -> bool {
        let base = self.below & !63;
        let (word, bit) = word_and_bit(index - base);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if self.words[word] & bit != 0 {
            return false;
        }
        self.words[word] |= bit;
        self.len += 1;
        // Only the first hole, when it is filled, can move the watermark.
        if index == self.below {
            self.raise_watermark(base);
        }
        true
    }

    /// Raises the watermark over indices that have become contiguous.
    fn raise_watermark(&mut self, base: u32) {
        // Bits under the old watermark stand for indices that are present.
        self.words[0] |= (1u64 << (self.below - base)) - 1;
        // Counted up again from the word's start, as the run of ones below includes the bits just set.
        self.below = base;
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.below += 64;
        }
        if let Some(&first) = self.words.front() {
            let ones = first.trailing_ones();
            self.below += ones;
            // Without words the fast path of `insert` applies again.
            if self.words.len() == 1 && first >> ones == 0 {
                self.words.clear();
            }
        }
    }

    /// Adds all of `0..end` that are missing.
    pub fn insert_below(&mut self, end: u32) {
        for index in self.below..end {
            self.insert(index);
        }
    }

    /// Adds every index below `end` that is missing, in little time however many these are.
    pub fn skip_to(&mut self, end: u32) {
        if end <= self.below {
            return;
        }
        let (from, base) = (self.below & !63, end & !63);
        let dropped = self.words.len().min(((base - from) / 64) as usize);
        if let Some(first) = self.words.front_mut() {
            // Its bits under the watermark may be clear.
            *first |= (1u64 << (self.below - from)) - 1;
        }
        // Indices below `end` are counted once, as the window passes them.
        let there: u32 = self.words.drain(..dropped).map(u64::count_ones).sum();
        // No word reaches `end`: nothing above it is present, and every smaller index is from now on.
        if self.words.is_empty() {
            (self.below, self.len) = (end, end);
            return;
        }
        let below = (1u64 << (end - base)) - 1;
        let there = there + (self.words[0] & below).count_ones();
        // Present before: all under the first word, and the bits that were set in it and up to `end`.
        self.len += end - (from + there);
        self.words[0] |= below;
        self.below = end;
        self.raise_watermark(base);
    }

    /// True if `index` is in the set.
    #[inline]
    pub fn contains(&self, index: u32) -> bool {
        if index < self.below {
            return true;
        }
        let (word, bit) = word_and_bit(index - (self.below & !63));
        self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    /// A bit for each of the 64 indices from `from` on, set if the index is in the set; the lowest bit is the first.
    pub fn bits_from(&self, from: u32) -> u64 {
        // Bit by bit, as the words below the watermark are gone.
        if from < self.below {
            let bits = (0..64).filter(|&i| from.checked_add(i).is_some_and(|index| self.contains(index)));
            return bits.fold(0, |all, bit| all | 1 << bit);
        }
        let offset = from - (self.below & !63);
        let word = |n: u32| self.words.get(n as usize).copied().unwrap_or(0);
        let (first, shift) = (offset / 64, offset % 64);
        // A shift by all 64 bits is an overflow.
        let high = if shift == 0 { 0 } else { word(first + 1) << (64 - shift) };
        word(first) >> shift | high
    }

    /// Number of indices in the set.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The smallest index not in the set that is at least `from`.
    pub fn next_missing(&self, from: u32) -> u32 {
        let base = self.below & !63;
        let mut index = from.max(self.below);
        loop {
            let offset = index - base;
            let Some(word) = self.words.get((offset / 64) as usize) else { return index };
            // A run of ones up to the word's end may go on in the next word.
            let ones = (word >> (offset % 64)).trailing_ones();
            index += ones;
            if ones == 0 || (offset % 64) + ones < 64 {
                return index;
            }
        }
    }
}

/// Word and bit of an offset.
#[inline]
fn word_and_bit(offset: u32) -> (usize, u64) {
    ((offset / 64) as usize, 1 << (offset % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_the_full_front_and_finds_holes() {
        let mut set = IndexWindow::default();
        // Holes at 3, 73 and 143: one in each of the first three words.
        for i in (0..200).filter(|i| i % 70 != 3) {
            assert!(set.insert(i));
            assert!(!set.insert(i));
        }
        assert_eq!(set.next_missing(0), 3);
        assert_eq!(set.next_missing(4), 73);
        assert!(set.insert(3));
        assert_eq!(set.next_missing(0), 73);
        assert_eq!(set.next_missing(144), 200);
        assert_eq!(set.words.len(), 3, "64..256");
        assert_eq!(set.len(), 198);
        assert!(set.contains(10) && !set.contains(73) && !set.contains(1000));
    }
    #[test]
    fn skipping_is_inserting_all_below() {
        // Ends at a word's border, just before and just after one, and beyond all words.
        for (stride, end) in [(1, 5), (3, 64), (7, 65), (70, 200), (50, 1000), (64, 128), (63, 127)] {
            let (mut skipped, mut plain) = (IndexWindow::default(), IndexWindow::default());
            for i in (0..400).filter(|i| i % stride == 0) {
                skipped.insert(i);
                plain.insert(i);
            }
            skipped.skip_to(end);
            plain.insert_below(end);
            for probe in 0..1100 {
                assert_eq!(skipped.contains(probe), plain.contains(probe), "{stride}, {end}: {probe}");
                assert_eq!(
                    skipped.next_missing(probe),
                    plain.next_missing(probe),
                    "{stride}, {end}: {probe}"
                );
            }
            assert_eq!(skipped.len(), plain.len(), "{stride}, {end}");
        }
        let mut far = IndexWindow::default();
        // Near the end of the range: nothing may be allocated for the four billion that are skipped.
        far.skip_to(u32::MAX - 100);
        assert!(far.insert(u32::MAX - 90) && !far.insert(7) && far.words.len() < 4);
    }

    #[test]
    fn agrees_with_a_plain_set_in_any_order() {
        // 401 is a prime, so that every step visits each index once.
        for step in [1u32, 7, 37, 64, 101] {
            let mut set = IndexWindow::default();
            let mut plain = std::collections::BTreeSet::new();
            for i in 0..401u32 {
                let index = i * step % 401;
                assert_eq!(set.insert(index), plain.insert(index));
                assert_eq!(set.len() as usize, plain.len());
                for probe in [0, index, 63, 64, 65, 200, 400, 500] {
                    assert_eq!(set.contains(probe), plain.contains(&probe), "step {step}, {i}: {probe}");
                    let missing = (probe..).find(|p| !plain.contains(p));
                    let bits: u64 = (0..64).map(|i| u64::from(plain.contains(&(probe + i))) << i).sum();
                    assert_eq!(set.bits_from(probe), bits, "step {step}, {i}: 64 from {probe}");
                    assert_eq!(Some(set.next_missing(probe)), missing, "step {step}, {i}: from {probe}");
                }
            }
            // A full set is a watermark alone.
            assert!(set.words.is_empty());
        }
    }
}
