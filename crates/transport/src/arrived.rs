//! The packets of a message that have arrived, in the form that selective acknowledgements report. RFC 2018

use std::ops::Range;

/// Blocks remembered for the order in which they are reported. RFC 2018 §4
// As many as TCP's options have room for next to a timestamp.
const RECENT: usize = 3;

/// The packets of a message that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// First packet that has not.
    next: u32,
    /// Ranges that arrived above it: sorted, neither touching nor overlapping.
    blocks: Vec<Range<u32>>,
    /// A packet of each block that grew last, the latest first.
    recent: [Option<u32>; RECENT],
}

impl Arrived {
    /// First packet that has not arrived.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// True if packets have arrived above it.
    pub(crate) fn has_holes(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Adds a packet; `false` when it was there already.
    pub(crate) fn insert(&mut self, index: u32) -> bool {
        if index < self.next {
            return false;
        }
        // Not `<=`: a block that ends at `index` is one that this packet extends.
        let place = self.blocks.partition_point(|block| block.end < index);
        match self.blocks.get_mut(place) {
            Some(block) if block.contains(&index) => return false,
            Some(block) if block.end == index => block.end += 1,
            Some(block) if block.start == index + 1 => block.start = index,
            _ => self.blocks.insert(place, index..index + 1),
        }
        if self.blocks.get(place + 1).is_some_and(|after| after.start == self.blocks[place].end) {
            self.blocks[place].end = self.blocks.remove(place + 1).end;
        }
        // Noted even if the block is about to fall below `next`: `reported_blocks` skips packets that no block holds now.
        self.note_recent(index, self.blocks[place].clone());
        // The packet has just gone into a block, so that there is one.
        if self.blocks[0].start == self.next {
            self.next = self.blocks.remove(0).end;
        }
        true
    }

    /// Puts a packet in front of the packets of other blocks.
    fn note_recent(&mut self, index: u32, block: Range<u32>) {
        let mut kept = [Some(index), None, None];
        // Packets stand for their blocks, which grow and merge: one block must not be reported twice.
        let others = self.recent.iter().flatten().filter(|i| !block.contains(i)).copied();
        kept[1..].iter_mut().zip(others).for_each(|(slot, other)| *slot = Some(other));
        self.recent = kept;
    }

    /// Blocks above the first missing packet, the one that grew last first.
    pub(crate) fn reported_blocks(&self) -> impl Iterator<Item = Range<u32>> {
        let block = |index: &u32| self.blocks.iter().find(|block| block.contains(index)).cloned();
        self.recent.iter().flatten().filter_map(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_merge_and_are_reported_latest_first() {
        let mut arrived = Arrived::default();
        for index in [0, 2, 7, 5, 9, 10] {
            assert!(arrived.insert(index));
            assert!(!arrived.insert(index));
        }
        assert_eq!(arrived.next, 1);
        assert_eq!(arrived.reported_blocks().collect::<Vec<_>>(), [9..11, 5..6, 7..8]);
        assert!(arrived.insert(6));
        assert_eq!(
            arrived.reported_blocks().collect::<Vec<_>>(),
            [5..8, 9..11],
            "the oldest is not remembered"
        );
        assert!(arrived.insert(1));
        assert_eq!((arrived.next, arrived.blocks.len()), (3, 2));
        assert_eq!(
            arrived.reported_blocks().collect::<Vec<_>>(),
            [5..8, 9..11],
            "what is below is not reported"
        );
        for index in [3, 4, 8] {
            arrived.insert(index);
        }
        assert_eq!((arrived.next, arrived.reported_blocks().count()), (11, 0));
    }

    #[test]
    fn agrees_with_a_plain_set_in_any_order() {
        for step in [1u32, 7, 37, 64, 101] {
            let (mut arrived, mut plain) = (Arrived::default(), std::collections::BTreeSet::new());
            for i in 0..401u32 {
                // 401 is prime, so that each step visits every index once.
                let index = i * step % 401;
                assert_eq!(arrived.insert(index), plain.insert(index));
                assert_eq!(arrived.next, (0..).find(|n| !plain.contains(n)).unwrap_or(0));
                let above: Vec<u32> = arrived.blocks.iter().cloned().flatten().collect();
                assert_eq!(above, plain.range(arrived.next..).copied().collect::<Vec<_>>());
            }
        }
    }
}
