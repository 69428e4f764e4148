//! One pool of credit for all messages of a pair of hosts, as in the authors' simulator (`pool = "pair"`).
//!
//! The receiver counts the credits that it has given to a sender since it knows it, and each credit carries this count, so that the
//! next one makes up for one that was lost. The sender pays one credit for each packet that needs one, of the message that comes first
//! by its own order. The receiver therefore does not know which packets a credit brings, and takes credit for lost by other signs than
//! where credit belongs to a message: see [`PairCredit::lose_credits`].

use headway_units::Time;

/// The pool at its receiver: credit that is out, and the data that it is still to be given for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairCredit {
    /// Credits given in all; it wraps around.
    given: u32,
    /// Credits that no data has answered, and the bytes that they stand for.
    outstanding: u32,
    pub(super) bytes: u64,
    /// Packets that need credit and have not arrived, and their bytes on the wire.
    missing: u32,
    missing_bytes: u64,
    /// Arrival of the last data packet of this sender.
    pub(super) heard: Time,
    /// Time at which all credit was last taken for lost.
    written_off: Time,
}

impl PairCredit {
    /// Packets that need credit and are still to come.
    pub(super) fn expect_packets(&mut self, packets: u32, bytes: u64) {
        self.missing += packets;
        self.missing_bytes += bytes;
    }

    /// Packets that will not come any more.
    pub(super) fn give_up(&mut self, packets: u32, bytes: u64) {
        self.missing -= packets;
        self.missing_bytes -= bytes;
        // The credit for them may still be out; what it stands for is no more than is left to come.
        self.bytes = self.bytes.min(self.missing_bytes);
    }

    /// Bytes that the next credit stands for, if there is something to give it for: a `frame`, or the rest.
    pub(super) fn next_bytes(&self, frame: u64) -> Option<u64> {
        (self.outstanding < self.missing).then(|| frame.min(self.missing_bytes - self.bytes))
    }

    /// Gives a credit for so many bytes. Returns the count that it carries.
    pub(super) fn give_credit(&mut self, bytes: u64) -> u32 {
        self.outstanding += 1;
        self.bytes += bytes;
        self.given = self.given.wrapping_add(1);
        self.given
    }

    /// A packet that needs credit arrives, with so many bytes on the wire.
    pub(super) fn count_answer(&mut self, bytes: u64) {
        self.missing -= 1;
        self.missing_bytes -= bytes;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.lose_credits(1);
    }

    /// So many credits are not out any more.
    ///
    /// Credit that was taken for lost and is used after all is not counted a second time: a sender then has a few credits more than
    /// it needs, and gets as many fewer later.
    pub(super) fn lose_credits(&mut self, credits: u32) {
        self.outstanding = self.outstanding.saturating_sub(credits);
        let most = if self.outstanding == 0 { 0 } else { self.missing_bytes };
        self.bytes = self.bytes.min(most);
    }

    /// Nothing has come for so long: all credit is taken for lost, but once in this time for all messages together.
    pub(super) fn write_off(&mut self, now: Time, silence: Time) {
        // Time 0 stands for never.
        if self.written_off == Time::ZERO || now.saturating_sub(self.written_off) >= silence {
            self.written_off = now;
            self.lose_credits(u32::MAX);
        }
    }

    /// Credits that are out.
    pub(super) fn outstanding_credits(&self) -> u32 {
        self.outstanding
    }
}

/// The pool at its sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairPermits {
    /// Credits that have come in all, as their receiver counts them, and those that are used.
    permitted: u32,
    used: u32,
}

impl PairPermits {
    /// A credit with this count has come. One that was overtaken changes nothing.
    pub(super) fn raise_permitted(&mut self, permitted: u32) {
        // Both counts wrap around: half of all numbers are ahead of any.
        if permitted.wrapping_sub(self.permitted) < 1 << 31 {
            self.permitted = permitted;
        }
    }

    /// Credits that are there to be used.
    pub(super) fn unused_permits(&self) -> u32 {
        // Both numbers may have wrapped.
        self.permitted.wrapping_sub(self.used)
    }

    /// A packet leaves that needs credit.
    pub(super) fn pay_permit(&mut self) {
        self.used = self.used.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_wrap_around_and_a_credit_that_was_overtaken_changes_nothing() {
        let mut permits = PairPermits { permitted: u32::MAX - 1, used: u32::MAX - 1 };
        permits.raise_permitted(2);
        assert_eq!(permits.unused_permits(), 4);
        permits.raise_permitted(u32::MAX);
        assert_eq!(permits.unused_permits(), 4);
        (0..4).for_each(|_| permits.pay_permit());
        assert_eq!((permits.unused_permits(), permits.used), (0, 2));
    }

    #[test]
    fn credit_stands_for_what_is_missing_and_for_no_more() {
        let mut pair = PairCredit::default();
        pair.expect_packets(3, 1538 + 1538 + 100);
        let sizes: Vec<u64> = std::iter::from_fn(|| {
            let bytes = pair.next_bytes(1538)?;
            pair.give_credit(bytes);
            Some(bytes)
        })
        .collect();
        assert_eq!(sizes, [1538, 1538, 100]);
        // The short one comes first.
        pair.count_answer(100);
        assert_eq!((pair.outstanding_credits(), pair.bytes), (2, 3076));
        pair.write_off(Time::us(1), Time::us(1));
        assert_eq!((pair.outstanding_credits(), pair.bytes, pair.next_bytes(1538)), (0, 0, Some(1538)));
        pair.give_credit(1538);
        pair.write_off(Time::us(1), Time::us(1));
        assert_eq!(pair.outstanding_credits(), 1, "once for all messages");
    }
}
