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
    pub(crate) fn process_ack(
        &mut self,
        now: Time,
        packet: &Packet,
        end: u32,
        siblings: &[Sibling],
    ) -> Heard {
        let arrived = packets::Ack::from_packet(packet).arrived;
        // RFC 9293 §3.10.7.4: an acknowledgement of something not yet sent is dropped.
        if arrived > self.board.next() {
            return Heard::Stray;
        }
        // Read before the scoreboard changes: controllers get the flight and the phase as they were.
        let (pipe_before, phase) = (self.pipe(), self.phase());
        let mut delivery = Delivery::default();
        // Cumulative first: `sack_block` cuts off the part of a block that is below the new `una`.
        let acked = self.board.acknowledge_below(arrived, &mut delivery);
        if self.selective {
            packet.sack_blocks().for_each(|block| self.board.sack_block(block, &mut delivery));
        }
        if self.board.una() == end {
            // The controller does not hear of the last acknowledgement: it has nothing left to decide.
            self.state.step(SenderEvent::AllAcked);
            return Heard::All;
        }
        // RFC 7323 §4.1: an acknowledgement without news does not measure, as it may echo an
        // old time. News in a SACK block counts here.
        let rtt = (delivery.packets > 0).then(|| self.measure_rtt(now, packet)).flatten();
        // Losses first: a controller hears of them before it hears of the acknowledgement.
        let lost = self.find_losses(now, acked, packet, end, delivery.packets);
        let mut ack = self.summarise_ack((now, packet), (acked, &delivery, lost, rtt), (pipe_before, phase));
        ack.siblings = siblings;
        self.control.handle_ack(&mut self.window, &ack);
        if acked > 0 {
            // Cleared before `rto()`, which includes the back-off. RFC 6298 §5.2, §5.3: new data restarts the
            // timer, and stops it when nothing is outstanding.
            self.rtt.clear_backoff();
            let rto = now.saturating_add(self.rtt.rto());
            self.deadline = (self.board.outstanding() > 0).then_some(rto);
            // Before `respond_to_ack`: the acknowledgement that ends one recovery may show the loss that begins the next.
            self.leave_phase(now);
        }
        self.respond_to_ack(&ack);
        Heard::Some
    }

    fn summarise_ack(
        &mut self,
        (now, packet): (Time, &Packet),
        (acked, delivery, lost, rtt): (u32, &Delivery, u32, Option<Time>),
        (pipe_before, phase): (u32, Phase),
    ) -> Ack<'static> {
        let ece = self.marks && packet.flags.has_all(PacketFlags::ECE);
        let rate = self.rate.record_delivery(now, delivery, ece, self.rtt.min_rtt());
        Ack {
            now,
            una: self.board.una(),
            next: self.board.next(),
            acked,
            delivered: delivery.packets,
            delivered_total: self.rate.total_delivered(),
            repaired: delivery.repaired,
            lost,
            ece,
            rtt,
            srtt: self.rtt.smoothed_rtt().unwrap_or_default(),
            min_rtt: self.rtt.min_rtt(),
            pipe_before,
            pipe: self.pipe(),
            limited: self.usage.is_limited(),
            phase,
            rate,
            siblings: &[],
        }
    }

    /// The echo names the copy that arrived, so repetitions measure as well as first copies do. RFC 7323 §4
    pub(crate) fn measure_rtt(&mut self, now: Time, packet: &Packet) -> Option<Time> {
        let echo = packets::Ack::from_packet(packet).echo;
        // Only this host's clock wrote the time, so one that is yet to come is not an echo of it.
        let rtt = (echo <= now).then(|| now - echo)?;
        self.rtt.add_sample(rtt);
        Some(rtt)
    }

    /// Declares one packet lost, if it is on its way for the first time. Returns true if it was.
    fn declare_lost(&mut self, now: Time, index: u32, news: u32) -> bool {
        let departed = self.board.declare_lost(index);
        let lost = departed.map(|departed| self.rate.record_loss(departed, news));
        lost.iter().for_each(|lost| self.control.packet_lost(&self.window, lost, now));
        lost.is_some()
    }

    /// Packets found lost by this acknowledgement, of which `news` packets are known to have arrived.
    fn find_losses(&mut self, now: Time, acked: u32, packet: &Packet, end: u32, news: u32) -> u32 {
        let una = self.board.una();
        if self.selective {
            let Connection { board, rate, control, window, .. } = self;
            let found =
                // `news` are added by hand: the sampler takes this acknowledgement in only afterwards.
                board.detect_losses(|departed| control.packet_lost(window, &rate.record_loss(departed, news), now));
            // RFC 6582 §3.2: partial, if it acknowledges data but not all that was sent before the recovery.
            let partial = self.resends && acked > 0 && una < self.point && self.phase() == Phase::Recovery;
            // Decision 59: sent for every partial acknowledgement, five packets a message were repeated for nothing.
            let sends = partial && !self.board.first_repeated();
            self.forced |= sends;
            // The first missing packet is declared lost only if there is nothing else to send.
            let nothing_else = sends && self.board.next_lost().is_none() && self.board.next() == end;
            return found + u32::from(nothing_else && self.declare_lost(now, una, news));
        }
        match self.phase() {
            // The time-out has declared everything lost already.
            Phase::Loss => 0,
            // RFC6582 §3.2 step 3: a partial acknowledgement shows the next hole, and deflates the window.
            Phase::Recovery if acked > 0 && una < self.point => {
                // The packets that it acknowledges no longer inflate the window, and one is added back.
                self.duplicates = self.duplicates.saturating_sub(acked) + 1;
                let lost = self.declare_lost(now, una, news);
                self.forced |= lost;
                u32::from(lost)
            }
            _ if acked > 0 => {
                self.duplicates = 0;
                0
            }
            phase if packets::Ack::from_packet(packet).arrived == una && self.board.outstanding() > 0 => {
                // The network may duplicate acknowledgements, but no more packets can have left it than are outstanding.
                self.duplicates = (self.duplicates + 1).min(self.board.outstanding());
                // The third alone: further ones only inflate the window.
                let third = phase != Phase::Recovery && self.duplicates == DUP_ACKS;
                u32::from(third && self.declare_lost(now, una, news))
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
            // Slow start goes on from the window that it has reached.
            SenderState::Loss => (una >= self.point, None),
            _ => return,
        };
        if !over {
            return;
        }
        if let Some(ssthresh) = ssthresh.filter(|_| !self.owns_window) {
            // RFC6582 §3.2 step 3: no burst at the end of recovery.
            let least = f64::from(self.board.outstanding().max(1) + 1);
            // Under SACK the pipe was held at the window all the time: a burst cannot follow.
            self.window.cwnd = if self.selective { ssthresh } else { ssthresh.min(least) };
        }
        (self.duplicates, self.forced) = (0, false);
        self.state.step(SenderEvent::Repaired);
        self.control.finish_recovery(&mut self.window, now);
    }

    /// Losses come before marks, marks before growth.
    fn respond_to_ack(&mut self, ack: &Ack) {
        let phase = self.phase();
        let calm = matches!(phase, Phase::Open | Phase::Reducing);
        // A loss found beyond the end of the last recovery begins another.
        if calm && self.board.next_lost().is_some() {
            // As it was before this acknowledgement: the flight in which the loss happened. RFC 5681 §3.1
            let flight = f64::from(self.board.outstanding() + ack.acked).min(self.window.cwnd);
            let target = self.control.window_after_loss(&self.window, flight, ack.now);
            self.begin_reduction(SenderEvent::LossFound, target);
            // RFC 6675 §5 (4.3): the first repetition leaves at once, even if the window is full.
            self.forced = true;
        } else if ack.ece && phase == Phase::Open {
            // The lower limit must not raise a window that is already below it.
            let least = self.min_window.min(self.window.cwnd);
            let target = self.control.window_after_mark(&self.window, ack).max(least);
            self.begin_reduction(SenderEvent::Marked, target);
        // RFC 3168 §6.1.2: an acknowledgement that echoes a mark should not increase the window.
        } else if !ack.ece
            && ack.acked > 0
            && matches!(phase, Phase::Open | Phase::Loss)
            && self.usage.allows_growth(&self.window)
        {
            self.control.grow_window(&mut self.window, ack);
        }
        // Asked again, as `begin_reduction` may have changed the phase.
        let reducing = matches!(self.phase(), Phase::Recovery | Phase::Reducing);
        if reducing && self.proportional {
            // RFC 6937 §3: without SACK, a duplicate stands for one packet that has arrived.
            let delivered = if self.selective { ack.delivered } else { ack.acked.max(1) };
            let window = self.prr.reduced_window(delivered, ack.repaired, self.pipe(), self.window.ssthresh);
            self.window.cwnd = window;
        }
    }

    fn begin_reduction(&mut self, event: SenderEvent, target: f64) {
        // Linux's `prior_cwnd`, where RFC 6937 §3 has the data in flight (RecoverFS). It divides, so at least one.
        self.prr.begin_reduction(self.window.cwnd.max(1.0));
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
