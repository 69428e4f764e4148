//! RCCC at the sender: credit in bytes, its speculative part, and the amount that is requested.
//!
//! Source: Ultra Ethernet 1.0 as its public simulator has it, uet-htsim; the specification's text was not at hand.

use headway_params::ParamKind;

/// Largest value that is distinguished.
pub(in crate::uet) const MOST_OVERSUBSCRIPTION: f64 = 1000.0;

headway_params::params! {
    /// Parameters of RCCC.
    pub struct RcccParams {
        /// Speculative credit of a message, and most credit that it may hold, in bandwidth-delay products. RCCC §3.1
        credit: f64 = 1.5, ParamKind::Float { min: 0.1, max: 100.0 };
        /// Bytes on the wire that one pull permits at most. RCCC §3.2
        pull: u64 = 16_384, ParamKind::Bytes { min: 4096, max: 1 << 24 };
        /// Rate of pulls in bytes on the wire, as a share of the rate of the receiver's link. RCCC §3.2
        pull_rate: f64 = 0.99, ParamKind::Float { min: 0.05, max: 1.0 };
        /// True if senders have a window as well, that of `uet-nscc` with its defaults. RCCC §3.3
        window: bool = false, ParamKind::Bool;
        /// True if the round trip of a trimmed header may be the base round trip of that window, as with `uet-nscc`. NSCC §2.3
        base_rtt_on_nack: bool = false, ParamKind::Bool;
        /// Ratio of the rates of a switch's hosts to those of its links upwards. Above 1, and without a window, the rate of pulls
        /// follows the packets that are marked or trimmed on the way; 0 = the network's, as far as it is known. RCCC §3.4
        oversubscription: f64 = 0.0, ParamKind::Float { min: 0.0, max: MOST_OVERSUBSCRIPTION };
    }
}

/// Bytes in which credit is counted. RCCC §1
pub(in crate::uet) const QUANTUM: u64 = 256;

/// The credit of one message at its sender.
#[derive(Clone, Debug)]
pub(in crate::uet) struct Credit {
    /// Bytes that may leave; the packet that takes the last of them may take more than there are.
    bytes: i64,
    most: i64,
    /// Bytes permitted in all, as far as heard.
    permitted: u64,
}

impl Credit {
    /// A message that may send `speculative` bytes before it hears anything, and hold `most`.
    pub(in crate::uet) fn new(speculative: i64, most: i64) -> Credit {
        Credit { bytes: speculative, most, permitted: 0 }
    }

    /// Bytes that may leave.
    pub(in crate::uet) fn credit_bytes(&self) -> i64 {
        self.bytes
    }

    /// A packet leaves.
    pub(in crate::uet) fn spend_bytes(&mut self, bytes: i64) {
        self.bytes -= bytes;
    }

    /// The receiver has answered: the rest of the speculative credit is void, and bytes spent beyond it are owed. RCCC
    /// §3.1
    pub(in crate::uet) fn stop_speculating(&mut self) {
        self.bytes = self.bytes.min(0);
    }

    /// A pull arrives; it permits `permitted` bytes in all. RCCC §3.1
    pub(in crate::uet) fn process_pull(&mut self, permitted: u64) {
        // Totals instead of amounts: a pull that was overtaken or repeated permits nothing.
        if permitted > self.permitted {
            let more = i64::try_from(permitted - self.permitted).unwrap_or(i64::MAX);
            // More than the message may hold is void, but counts as permitted, as at the receiver.
            self.bytes = self.bytes.saturating_add(more).min(self.most);
            self.permitted = permitted;
        }
    }

    /// Credit wanted in all, in quanta, with `backlog` bytes left to send. A sender that speculates asks for a packet at
    /// least, so that short messages are known of; one of `waiting` messages for its share. RCCC §3.1
    pub(in crate::uet) fn credit_target(
        &self,
        backlog: i64,
        (speculating, mtu): (bool, i64),
        waiting: usize,
    ) -> u32 {
        let mut more = backlog.min(self.most) - self.bytes;
        if speculating && backlog > 0 {
            more = more.max(mtu);
        }
        if waiting > 1 {
            more /= waiting as i64;
        }
        let all = self.permitted.saturating_add_signed(more);
        u32::try_from(all.div_ceil(QUANTUM)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: i64 = 4150;

    #[test]
    fn speculation_ends_with_the_first_answer_and_debts_remain() {
        let mut credit = Credit::new(10_000, 20_000);
        (0..2).for_each(|_| credit.spend_bytes(MTU));
        assert_eq!(credit.credit_bytes(), 1700);
        let mut heard = credit.clone();
        heard.stop_speculating();
        assert_eq!(heard.credit_bytes(), 0);
        credit.spend_bytes(MTU);
        credit.stop_speculating();
        assert_eq!(credit.credit_bytes(), -2450);
        credit.process_pull(4096);
        credit.process_pull(2048);
        assert_eq!(credit.credit_bytes(), 1646, "an old pull permits nothing");
        credit.process_pull(1 << 40);
        assert_eq!(credit.credit_bytes(), 20_000);
    }

    #[test]
    fn as_much_is_asked_for_as_is_left_and_fits() {
        let mut credit = Credit::new(10_000, 20_000);
        let told = (false, MTU);
        assert_eq!(credit.credit_target(10_000, told, 1), 0, "it holds all that it needs");
        assert_eq!(credit.credit_target(10_000, (true, MTU), 1), 17, "a packet, rounded up");
        assert_eq!(credit.credit_target(1 << 40, told, 1), 40, "up to what it may hold");
        assert_eq!(credit.credit_target(1 << 40, told, 2), 20, "half of that");
        credit.spend_bytes(12_000);
        credit.process_pull(2048);
        assert_eq!(credit.credit_target(1000, told, 1), 12, "2048 + 1000 - 48 = 3000 bytes");
    }
}
