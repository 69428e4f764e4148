//! Selective acknowledgement: runs of packets that have arrived above the cumulative acknowledgement.
//!
//! Source: RFC 2018, in packets instead of bytes. An acknowledgement needs neither the size of its message
//! nor a token, so these two fields hold up to three blocks: first packet, counted from `count`, and length,
//! 16 bits each; a length of 0 means no block.

use crate::Packet;
use std::ops::Range;

/// Blocks of an acknowledgement at most.
const SACK_BLOCKS: usize = 3;

impl Packet {
    /// Writes up to three blocks into an acknowledgement whose `count` is set, the most recent
    /// first. What lies more than 65,535 packets above `count` is left out: the sender then knows less.
    pub fn set_sack(&mut self, blocks: impl Iterator<Item = Range<u32>>) {
        let mut words = [0u32; SACK_BLOCKS];
        let near = blocks.filter_map(|block| {
            // A block below the cumulative acknowledgement tells nothing new.
            let start = u16::try_from(block.start.checked_sub(self.count)?).ok()?;
            let length = block.end.saturating_sub(block.start).min(u16::MAX.into());
            Some(u32::from(start) << 16 | length)
        });
        words.iter_mut().zip(near).for_each(|(word, block)| *word = block);
        self.message_bytes = u64::from(words[0]) << 32 | u64::from(words[1]);
        self.token = words[2];
    }

    /// The blocks of an acknowledgement, in the order they were written.
    pub fn sack_blocks(&self) -> impl Iterator<Item = Range<u32>> + use<> {
        let words = [(self.message_bytes >> 32) as u32, self.message_bytes as u32, self.token];
        let base = self.count;
        words.into_iter().filter(|word| word & 0xffff != 0).map(move |word| {
            // The fields come from the wire.
            let start = base.saturating_add(word >> 16);
            start..start.saturating_add(word & 0xffff)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostId, PacketKind};

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "blocks are ranges")]
    fn blocks_come_back_in_order_and_distant_ones_are_left_out() {
        let mut ack = Packet::new(PacketKind::Ack, HostId(0), HostId(1), 0);
        assert_eq!(ack.sack_blocks().count(), 0, "a fresh acknowledgement has none");
        ack.count = 1000;
        let blocks = [1010..1011, 1001..1004, 1020..1100, 1200..1300];
        ack.set_sack(blocks.iter().cloned());
        assert_eq!(ack.sack_blocks().collect::<Vec<_>>(), blocks[..3]);
        ack.set_sack([70_000..70_001, 3..4, 1002..90_000].into_iter());
        assert_eq!(ack.sack_blocks().collect::<Vec<_>>(), [1002..1002 + 65_535]);
        ack.count = u32::MAX;
        assert_eq!(ack.sack_blocks().collect::<Vec<_>>(), [u32::MAX..u32::MAX], "no overflow");
    }
}
