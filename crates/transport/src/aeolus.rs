//! Aeolus: the additions of a receiver-driven transport for its first window. The window leaves at line rate in
//! packets that a switch drops while it has a queue; each that arrives is acknowledged, a probe behind them
//! says where the window ends, and lost packets are sent again with the permissions of the host protocol,
//! before anything else.
//!
//! Source: S. Hu et al., SIGCOMM 2020 (APNet 2018), whose text was not at hand: rules are as the papers that
//! compare against it and later implementations have them. The switch side is the `selective-drop` discipline
//! of the fabric crate. The parts here know no host protocol: [`FirstWindow`] is the sender's,
//! [`FirstArrivals`] the receiver's.

use crate::index_window::IndexWindow;
use crate::shared::Shared;
use crate::timers::TimerKey;
use headway_packet::{Packet, PacketFlags, TypedView};
use headway_params::ParamKind;
use std::collections::BTreeSet;

headway_params::choice! {
    /// Sign by which a sender detects that a packet of the first window was lost.
    pub enum LossSign {
        /// The acknowledgement of a later packet, or of the probe: for paths that keep packets in order.
        Holes = "holes",
        /// The acknowledgement of the probe alone: where packets of a message take many paths.
        Probe = "probe",
    }
}

headway_params::params! {
    /// Parameters of Aeolus.
    pub struct AeolusParams {
        /// Sign by which a sender detects that a packet of the first window was lost: `probe` where packets are sprayed over paths.
        loss_sign: LossSign = LossSign::Holes, ParamKind::Choice(LossSign::WORDS);
    }
}

/// A first window at its sender.
#[derive(Clone, Debug)]
pub struct FirstWindow {
    window: u32,
    sign: LossSign,
    acked: IndexWindow,
    /// Packets sent again with permission: at most once each from here.
    again: IndexWindow,
    lost: BTreeSet<u32>,
    /// Packets below this have been judged: each has arrived, or was found lost.
    judged: u32,
    probed: bool,
    /// Packets that are neither acknowledged nor sent again.
    unresolved: u32,
}

impl FirstWindow {
    /// A window of this many packets, of which none has left.
    pub fn new(window: u32, params: &AeolusParams) -> FirstWindow {
        FirstWindow {
            window,
            sign: params.loss_sign,
            acked: IndexWindow::default(),
            again: IndexWindow::default(),
            lost: BTreeSet::new(),
            judged: 0,
            probed: false,
            unresolved: window,
        }
    }

    /// Packets of the window that are neither acknowledged nor sent again.
    pub fn unresolved_packets(&self) -> u32 {
        self.unresolved
    }

    /// True if packet `index` was sent again, or needed permission in the first place.
    pub fn was_sent_again(&self, index: u32) -> bool {
        self.again.contains(index)
    }

    /// True if the probe has not been sent; it follows the last packet of the window.
    pub fn wants_probe(&self) -> bool {
        !self.probed
    }

    /// Notes that the probe leaves.
    pub fn mark_probed(&mut self) {
        self.probed = true;
    }

    /// Packet `index` was acknowledged.
    pub fn mark_acked(&mut self, index: u32) {
        // Packets beyond the window leave with permission, and the host protocol accounts for them.
        if index >= self.window {
            return;
        }
        // A packet that was sent again counts as resolved since then: a second subtraction would underflow.
        if self.acked.insert(index) && !self.again.contains(index) {
            self.unresolved -= 1;
        }
        // The packet was late and not lost, if it is there.
        self.lost.remove(&index);
        if self.sign == LossSign::Holes {
            self.judge_below(index);
        }
    }

    /// Notes the answer to the probe: packets that are not acknowledged by now were lost.
    pub fn probe_answered(&mut self) {
        self.judge_below(self.window);
    }

    fn judge_below(&mut self, end: u32) {
        // Each packet is judged once: one that was found lost and sent again must not come back.
        for index in self.judged..end {
            if !self.acked.contains(index) && !self.again.contains(index) {
                self.lost.insert(index);
            }
        }
        // Acknowledgements overtake each other, so that `end` may be an earlier one.
        self.judged = self.judged.max(end);
    }

    /// Number of packets that are known to be lost and have not been sent again.
    pub fn lost_packets(&self) -> u32 {
        self.lost.len() as u32
    }

    /// The first packet that is known to be lost: a permission is used for it before all else.
    pub fn first_lost(&self) -> Option<u32> {
        self.lost.first().copied()
    }

    /// The first packet that nothing is known of: a permission is used for it when all else is sent.
    pub fn first_unheard(&self) -> Option<u32> {
        // In order, although lost packets may lie in between: `first_lost` is asked before this, and has none left.
        let mut index = self.acked.next_missing(0);
        while self.again.contains(index) {
            index = self.acked.next_missing(index + 1);
        }
        (index < self.window).then_some(index)
    }

    /// Packet `index` leaves again, by whatever right.
    pub fn sent_again(&mut self, index: u32) {
        if index < self.window {
            self.lost.remove(&index);
            if self.again.insert(index) && !self.acked.contains(index) {
                self.unresolved -= 1;
            }
        }
    }
}

/// Acknowledges one packet of a first window, or with a flag the probe behind it, in the protocol's own view.
pub fn acknowledge_first<K: TimerKey, V: TypedView>(
    shared: &mut Shared<K>,
    ack: V,
    packet: &Packet,
    flags: PacketFlags,
) {
    let ack = shared.control_view(ack, packet.src, packet.message, packet.tag, packet.entropy);
    shared.control.push_back(Packet { flags, ..ack });
}

/// A first window at its receiver: what of its permissions came to nothing.
#[derive(Clone, Debug, Default)]
pub struct FirstArrivals {
    ended: bool,
    written_off: u32,
    repeated: u32,
}

impl FirstArrivals {
    /// The probe arrived behind a window of which `missing` packets had not.
    pub fn write_off_missing(&mut self, missing: u32) {
        // A repeated probe would write off what is on its way again.
        if !self.ended {
            self.ended = true;
            self.written_off = missing;
        }
    }

    /// A packet of the window arrived as it was first sent.
    pub fn take_back_late(&mut self) {
        if self.ended {
            self.written_off = self.written_off.saturating_sub(1);
        }
    }

    /// A packet sent with permission brought nothing new: its first copy had arrived, and was not heard of.
    pub fn count_repeated(&mut self) {
        self.repeated = self.repeated.saturating_add(1);
    }

    /// Permissions, those of the window among them, that brought no packet and will not.
    pub fn in_vain(&self) -> u32 {
        self.written_off.saturating_add(self.repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_window(sign: LossSign) -> FirstWindow {
        FirstWindow::new(6, &AeolusParams { loss_sign: sign })
    }

    #[test]
    fn holes_below_an_acknowledged_packet_are_lost_and_the_tail_waits_for_the_probe() {
        let mut first = test_window(LossSign::Holes);
        [0, 3].into_iter().for_each(|i| first.mark_acked(i));
        assert_eq!((first.lost_packets(), first.first_lost()), (2, Some(1)));
        first.mark_acked(2);
        assert_eq!(first.first_lost(), Some(1), "late, not lost");
        assert_eq!(first.unresolved_packets(), 3, "1, 4 and 5");
        first.sent_again(1);
        assert_eq!((first.lost_packets(), first.first_unheard()), (0, Some(4)));
        first.mark_acked(1);
        assert_eq!((first.unresolved_packets(), first.was_sent_again(1)), (2, true));
        first.probe_answered();
        assert_eq!(
            (first.lost_packets(), first.first_lost()),
            (2, Some(4)),
            "packet 1 is not lost a second time"
        );
    }

    #[test]
    fn where_order_means_nothing_only_the_probe_tells() {
        let mut first = test_window(LossSign::Probe);
        [5, 0].into_iter().for_each(|i| first.mark_acked(i));
        assert_eq!(first.lost_packets(), 0);
        first.probe_answered();
        assert_eq!(first.lost_packets(), 4);
        first.mark_acked(99);
        assert_eq!(first.lost_packets(), 4);
    }

    #[test]
    fn unheard_packets_run_out() {
        let mut first = test_window(LossSign::Holes);
        first.mark_acked(1);
        let mut sent = Vec::new();
        while let Some(index) = first.first_unheard() {
            first.sent_again(index);
            sent.push(index);
        }
        assert_eq!(sent, [0, 2, 3, 4, 5]);
    }

    #[test]
    fn the_probe_writes_off_once_and_what_comes_late_is_taken_back() {
        let mut arrivals = FirstArrivals::default();
        arrivals.take_back_late();
        assert_eq!(arrivals.in_vain(), 0);
        arrivals.write_off_missing(3);
        arrivals.write_off_missing(9);
        assert_eq!(arrivals.in_vain(), 3);
        arrivals.take_back_late();
        arrivals.count_repeated();
        assert_eq!(arrivals.in_vain(), 3);
    }
}
