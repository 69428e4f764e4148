//! Effects of an acknowledgement on a connection.

use super::connection::{Connection, SenderEvent, SenderState};
use super::control::{Ack, Phase, Sibling};
use super::packets;
use super::scoreboard::Delivery;
use headway_packet::{Packet, PacketFlags, TypedView};
use headway_units::Time;

/// Duplicate acknowledgements that mean a loss. RFC 5681 §3.2
const DUP_ACKS: u32 = 3;

/// Kind of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It acknowledges packets never sent.
    Stray,
    /// It acknowledges some packets, or nothing new.
    Some,
    /// It acknowledges the last packet.
    All,
}

impl Connection {
    /// Takes in an acknowledgement of an established connection whose packets end before `end`. `siblings` are
    /// the subflows of its message, for controllers that are coupled.
    pub(crate) fn acknowledge(
        &mut self,
        now: Time,
        packet: &Packet,
        end: u32,
        siblings: &[Sibling],
    ) -> Heard {
        let arrived = packets::Ack::read(packet).arrived;
        if arrived > self.board.next() {
            return Heard::Stray;
        }
        let (pipe_before, phase) = (self.pipe(), self.phase());
        let mut delivery = Delivery::default();
        let acked = self.board.acknowledge(arrived, &mut delivery);
        if self.selective {
            packet.sack().for_each(|block| self.board.sack(block, &mut delivery));
        }
        if self.board.una() == end {
            self.state.step(SenderEvent::AllAcked);
            return Heard::All;
        }
        let rtt = (delivery.packets > 0).then(|| self.measure(now, packet)).flatten();
        let lost = self.find_losses(now, acked, packet, end, delivery.packets);
        let mut ack = self.summary((now, packet), (acked, &delivery, lost, rtt), (pipe_before, phase));
        ack.siblings = siblings;
        self.control.acknowledged(&mut self.window, &ack);
        if acked > 0 {
            self.rtt.clear_backoff();
            let rto = now.saturating_add(self.rtt.rto());
            self.deadline = (self.board.outstanding() > 0).then_some(rto);
            self.leave_phase(now);
        }
        self.respond(&ack);
        Heard::Some
    }

    fn summary(
        &mut self,
        (now, packet): (Time, &Packet),
        (acked, delivery, lost, rtt): (u32, &Delivery, u32, Option<Time>),
        (pipe_before, phase): (u32, Phase),
    ) -> Ack<'static> {
        let ece = self.marks && packet.flags.has(PacketFlags::ECE);
        let rate = self.rate.deliver(now, delivery, ece, self.rtt.min());
        Ack {
            now,
            una: self.board.una(),
            next: self.board.next(),
            acked,
            delivered: delivery.packets,
            delivered_total: self.rate.delivered(),
            repaired: delivery.repaired,
            lost,
            ece,
            rtt,
            srtt: self.rtt.smoothed().unwrap_or_default(),
            min_rtt: self.rtt.min(),
            pipe_before,
            pipe: self.pipe(),
            limited: self.usage.is_limited(),
            phase,
            rate,
            siblings: &[],
        }
    }

    /// The echo names the copy that arrived, so repetitions measure as well as first copies do. RFC 7323 §4
    pub(crate) fn measure(&mut self, now: Time, packet: &Packet) -> Option<Time> {
        let echo = packets::Ack::read(packet).echo;
        let rtt = (echo <= now).then(|| now - echo)?;
        self.rtt.sample(rtt);
        Some(rtt)
    }

    /// Declares one packet lost, if it is on its way for the first time. Returns true if it was.
    fn lose(&mut self, now: Time, index: u32, news: u32) -> bool {
        let departed = self.board.lose(index);
        let lost = departed.map(|departed| self.rate.lose(departed, news));
        lost.iter().for_each(|lost| self.control.packet_lost(&self.window, lost, now));
        lost.is_some()
    }

    /// Packets found lost by this acknowledgement, of which `news` packets are known to have arrived.
    fn find_losses(&mut self, now: Time, acked: u32, packet: &Packet, end: u32, news: u32) -> u32 {
        let una = self.board.una();
        if self.selective {
            let Connection { board, rate, control, window, .. } = self;
            let found =
                board.detect_losses(|departed| control.packet_lost(window, &rate.lose(departed, news), now));
            let partial = self.resends && acked > 0 && una < self.point && self.phase() == Phase::Recovery;
            let sends = partial && !self.board.first_repeated();
            self.forced |= sends;
            let nothing_else = sends && self.board.next_lost().is_none() && self.board.next() == end;
            return found + u32::from(nothing_else && self.lose(now, una, news));
        }
        match self.phase() {
            Phase::Loss => 0,
            // RFC6582 §3.2 step 3: a partial acknowledgement shows the next hole, and deflates the window.
            Phase::Recovery if acked > 0 && una < self.point => {
                self.duplicates = self.duplicates.saturating_sub(acked) + 1;
                let lost = self.lose(now, una, news);
                self.forced |= lost;
                u32::from(lost)
            }
            _ if acked > 0 => {
                self.duplicates = 0;
                0
            }
            phase if packets::Ack::read(packet).arrived == una && self.board.outstanding() > 0 => {
                self.duplicates = (self.duplicates + 1).min(self.board.outstanding());
                let third = phase != Phase::Recovery && self.duplicates == DUP_ACKS;
                u32::from(third && self.lose(now, una, news))
            }
            _ => 0,
        }
    }

    /// Ends a phase whose data is acknowledged.
    fn leave_phase(&mut self, now: Time) {
        let una = self.board.una();
        let (over, ssthresh) = match self.state {
            // RFC8257 §3.3: until something sent after the cut is acknowledged.
            SenderState::Reducing => (una > self.point, self.proportional.then_some(self.window.ssthresh)),
            SenderState::Recovery => (una >= self.point, Some(self.window.ssthresh)),
            SenderState::Loss => (una >= self.point, None),
            _ => return,
        };
        if !over {
            return;
        }
        if let Some(ssthresh) = ssthresh.filter(|_| !self.owns_window) {
            // RFC6582 §3.2 step 3: no burst at the end of recovery.
            let least = f64::from(self.board.outstanding().max(1) + 1);
            self.window.cwnd = if self.selective { ssthresh } else { ssthresh.min(least) };
        }
        (self.duplicates, self.forced) = (0, false);
        self.state.step(SenderEvent::Repaired);
        self.control.recovered(&mut self.window, now);
    }

    /// Losses come before marks, marks before growth.
    fn respond(&mut self, ack: &Ack) {
        let phase = self.phase();
        let calm = matches!(phase, Phase::Open | Phase::Reducing);
        // A loss found beyond the end of the last recovery begins another.
        if calm && self.board.next_lost().is_some() {
            let flight = f64::from(self.board.outstanding() + ack.acked).min(self.window.cwnd);
            let target = self.control.lost(&self.window, flight, ack.now);
            self.begin(SenderEvent::LossFound, target);
            self.forced = true;
        } else if ack.ece && phase == Phase::Open {
            // The lower limit must not raise a window that is already below it.
            let least = self.min_window.min(self.window.cwnd);
            let target = self.control.marked(&self.window, ack).max(least);
            self.begin(SenderEvent::Marked, target);
        } else if !ack.ece
            && ack.acked > 0
            && matches!(phase, Phase::Open | Phase::Loss)
            && self.usage.allows_growth(&self.window)
        {
            self.control.grow(&mut self.window, ack);
        }
        let reducing = matches!(self.phase(), Phase::Recovery | Phase::Reducing);
        if reducing && self.proportional {
            let delivered = if self.selective { ack.delivered } else { ack.acked.max(1) };
            let window = self.prr.window(delivered, ack.repaired, self.pipe(), self.window.ssthresh);
            self.window.cwnd = window;
        }
    }

    fn begin(&mut self, event: SenderEvent, target: f64) {
        self.prr.begin(self.window.cwnd.max(1.0));
        if !self.owns_window {
            self.window.ssthresh = target;
        }
        if !self.proportional {
            self.window.cwnd = target;
        }
        self.point = self.board.next();
        self.state.step(event);
    }
}
