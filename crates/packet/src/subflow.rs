//! Acknowledgements in two sequence spaces: that of a subflow, and that of the message it is part of.
//!
//! Source: RFC 8684 §3.3, in packets instead of bytes, and without options. The fields that name packets of the message
//! are where they always are; the subflow's cumulative acknowledgement takes the place of the third SACK block,
//! which does not fit into a real header with a DATA_ACK either.

use crate::Packet;

/// Subflows of a message at most.
pub const MOST_SUBFLOWS: u32 = 32;

/// Bits of the receive window.
const WINDOW_BITS: u32 = 24;

/// Widest receive window that an acknowledgement tells, in packets.
const WIDEST: u32 = (1 << WINDOW_BITS) - 1;

impl Packet {
    /// Makes an acknowledgement of a subflow's packets one of subflow `number` of a message that has arrived
    /// up to `data_ack`, from where its receiver takes `window` packets. Its blocks are counted from
    /// the subflow's cumulative acknowledgement; the third is left out.
    pub fn put_subflow(&mut self, number: u32, data_ack: u32, window: u32) {
        (self.token, self.count) = (self.count, data_ack);
        debug_assert!(number < MOST_SUBFLOWS);
        self.remaining = number << WINDOW_BITS | window.min(WIDEST);
    }

    /// The subflow that an acknowledgement is of.
    pub const fn subflow_number(&self) -> u32 {
        self.remaining >> WINDOW_BITS
    }

    /// The same acknowledgement as the subflow's connection reads it: its sequence space alone.
    #[must_use]
    pub const fn in_subflow(&self) -> Packet {
        // A connection looks for a third SACK block in `token`, and there is none here.
        Packet { count: self.token, token: 0, remaining: self.remaining & WIDEST, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostId, PacketKind};

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "blocks are ranges")]
    fn both_sequence_spaces_come_back() {
        let mut ack = Packet::new(PacketKind::Ack, HostId(0), HostId(1), 0);
        (ack.index, ack.count) = (70, 1000);
        ack.set_sack([1010..1011, 1001..1004, 1020..1100].into_iter());
        ack.put_subflow(3, 64, 5000);
        assert_eq!((ack.index, ack.count, ack.token, ack.subflow_number()), (70, 64, 1000, 3));
        let own = ack.in_subflow();
        assert_eq!((own.count, own.remaining, own.index), (1000, 5000, 70));
        assert_eq!(own.sack_blocks().collect::<Vec<_>>(), [1010..1011, 1001..1004]);
        ack.put_subflow(MOST_SUBFLOWS - 1, 0, u32::MAX);
        assert_eq!((ack.subflow_number(), ack.in_subflow().remaining), (31, WIDEST), "without limit");
    }
}
