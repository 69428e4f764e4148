//! One path of a message: a TCP connection, the mapping of its sequence numbers, its beginning and its end.

use super::packets::{Ack, Data, Rts};
use crate::endpoint::{HostContext, SubflowShare};
use crate::message::Message;
use crate::tcp::connection::{Connection, Pick, SenderState};
use crate::tcp::control::{Phase, Sibling};
use headway_packet::{HostId, Packet, PacketKind, TypedView};
use headway_units::Time;
use std::collections::VecDeque;

crate::state_machine! {
    /// A subflow at its sender.
    "subflow" pub(super) enum SubflowState on SubflowEvent {
        Waiting { Allowed => Joining, Established => Active }
        Joining { Answered => Confirming, Over => Closed }
        Confirming { Answered => Active, Over => Closed }
        Active { TimedOut => Failed, Over => Closed }
        Failed { Advanced => Active, Over => Closed }
        Closed {}
    }
    events { Allowed, Established, Answered, TimedOut, Advanced, Over }
}

/// Packets of a subflow that may be unacknowledged at once: acknowledgements reach as far.
// SACK blocks count from the cumulative acknowledgement in 16 bits.
pub(super) const REACH: u32 = 65_535;

/// Packet that a sequence number stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapped {
    /// The packet of the message.
    pub(super) index: u32,
    /// True if it has been handed to other subflows.
    pub(super) reinjected: bool,
}

/// See the module.
pub(super) struct Subflow {
    pub(super) connection: Connection,
    pub(super) state: SubflowState,
    entropy: u32,
    /// By sequence number, from the first not acknowledged on.
    mapping: VecDeque<Mapped>,
    /// An echo of an earlier time answers an earlier packet of the handshake.
    confirmed: Time,
    /// Time at which it last had another subflow's window halved.
    pub(super) penalised: Option<Time>,
}

impl Subflow {
    pub(super) fn new(connection: Connection, entropy: u32) -> Self {
        let (state, mapping) = (SubflowState::Waiting, VecDeque::new());
        Subflow { connection, state, entropy, mapping, confirmed: Time::ZERO, penalised: None }
    }

    /// Data may flow, through a window of `cwnd` packets.
    pub(super) fn open_window(&mut self, cwnd: u32, settled: bool) {
        self.connection.establish(cwnd, settled);
        self.state.step(SubflowEvent::Established);
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.connection.state == SenderState::Connecting
    }

    /// Takes in the answer to a packet of the handshake, unless it is to one that is answered. Returns true if it
    /// was news.
    pub(super) fn process_answer(&mut self, now: Time, ack: &Packet) -> bool {
        // Older than the last answer: it is to an earlier packet of the handshake.
        if Ack::from_packet(ack).echo < self.confirmed {
            return false;
        }
        self.connection.measure_rtt(now, ack);
        self.connection.rtt.clear_backoff();
        // The handshake's timer ends with its answer; data arms its own.
        self.connection.deadline = None;
        self.confirmed = now;
        true
    }

    /// Asks for the subflow: the SYN, or the third packet of a join.
    pub(super) fn make_syn(
        &mut self,
        context: &HostContext,
        message: &Message,
        number: u32,
        now: Time,
    ) -> Packet {
        let confirms = u32::from(self.state == SubflowState::Confirming);
        let syn = Rts { message_bytes: message.bytes, subflow: number, confirms, left: now };
        let mut syn = syn.put_on(Packet::new(PacketKind::Rts, context.host, message.dst, message.id));
        // The subflow's own entropy: the SYN takes the path that its data will take.
        (syn.wire, syn.tag, syn.entropy) = (context.sizes.control, message.tag, self.entropy);
        self.connection.arm_timeout(now);
        syn
    }

    /// True if it may be given packets: it works, and its window has room.
    pub(super) fn is_free(&self) -> bool {
        self.state == SubflowState::Active
            // After a time-out it gets nothing new until it advances: only its own repetitions leave.
            && self.connection.phase() != Phase::Loss
            && self.connection.board.outstanding() < REACH
            && self.connection.has_room()
    }

    /// True if it is established, even if it has failed since.
    pub(super) fn is_established(&self) -> bool {
        matches!(self.state, SubflowState::Active | SubflowState::Failed)
    }

    /// A packet that it has lost and may repeat.
    pub(super) fn pick_lost(&mut self) -> Option<u32> {
        // With data to send, `pick_packet` does not go on to holes.
        self.pick_again(true)
    }

    /// A packet that it may repeat because there is nothing else to send.
    pub(super) fn pick_hole(&mut self) -> Option<u32> {
        // Without data `pick_packet` offers holes, which are the last resort. RFC 6675 §4 NextSeg (3)
        self.pick_again(false)
    }

    fn pick_again(&mut self, has_data: bool) -> Option<u32> {
        match self.connection.pick_packet(has_data) {
            Some(Pick::Again(sequence)) => Some(sequence),
            _ => None,
        }
    }

    /// A packet of the message leaves, for the first time here. Returns its sequence number.
    pub(super) fn carry_packet(&mut self, now: Time, index: u32) -> u32 {
        self.mapping.push_back(Mapped { index, reinjected: false });
        self.connection.record_departure(now, Pick::New)
    }

    /// A sequence number leaves again. Returns the packet that it stands for.
    pub(super) fn repeat_sequence(&mut self, now: Time, sequence: u32) -> u32 {
        let place = (sequence - self.connection.board.una()) as usize;
        self.connection.record_departure(now, Pick::Again(sequence));
        self.mapping[place].index
    }

    /// Makes a packet that leaves now one of this subflow, which has `number`.
    pub(super) fn sign_packet(&self, packet: Packet, number: u32, sequence: u32, now: Time) -> Packet {
        let data = Data { sequence, subflow: number, left: now, ..Data::from_packet(&packet) };
        Packet { entropy: self.entropy, ..data.put_on(packet) }
    }

    /// Takes in its part of an acknowledgement, and hands on to the coupled controller the state of the others.
    pub(super) fn process_ack(&mut self, now: Time, ack: &Packet, siblings: &[Sibling]) {
        let before = self.connection.board.una();
        // The receive window is that of the message: it bounds which packets are handed to a subflow.
        // The end is out of reach: a subflow may be given more at any time, so it is never done by itself.
        self.connection.process_ack(now, &ack.in_subflow(), u32::MAX, siblings);
        let acked = self.connection.board.una() - before;
        if acked > 0 {
            self.mapping.drain(..acked as usize);
            self.state.step(SubflowEvent::Advanced);
        }
    }

    /// The packets of the message, from `una` on, that are unacknowledged on this subflow, and that were not handed
    /// over to other subflows before. The call marks them as handed over.
    pub(super) fn hand_over(&mut self, una: u32) -> impl Iterator<Item = u32> {
        let first = self.connection.board.una();
        let mapping = &mut self.mapping;
        self.connection.board.missing_packets().filter_map(move |sequence| {
            let mapped = mapping.get_mut((sequence - first) as usize)?;
            // Handed over once: another time-out must not give the same packets to the others again.
            let fresh = !mapped.reinjected && mapped.index >= una;
            mapped.reinjected |= fresh;
            fresh.then_some(mapped.index)
        })
    }

    /// True if this subflow has packet `una`, the first that the receiver waits for. The packets that it
    /// carries are in order, but for those that others have handed over.
    pub(super) fn holds_packet(&self, una: u32) -> bool {
        self.mapping.iter().find(|mapped| mapped.index >= una).is_some_and(|mapped| mapped.index == una)
    }

    /// True if its path is `lost`, and packets are under way there.
    pub(super) fn is_lost_with(&self, lost: &dyn Fn(u32) -> bool) -> bool {
        lost(self.entropy) && (self.is_connecting() || self.connection.board.outstanding() > 0)
    }

    /// Window, credit and bytes under way, in packets of `payload` bytes; `None` before it is established.
    pub(super) fn subflow_share(&self, peer: HostId, payload: u64) -> Option<SubflowShare> {
        let window = &self.connection.window;
        let outstanding = u64::from(self.connection.board.outstanding());
        let cap = (window.cwnd.max(0.0) * payload as f64) as u64;
        let in_flight = outstanding * payload;
        self.is_established().then_some(SubflowShare {
            peer,
            entropy: self.entropy,
            weight: window.cwnd,
            credit: cap.saturating_sub(in_flight) as f64,
            cap: Some(cap),
            in_flight,
        })
    }

    /// Halves the window.
    pub(super) fn halve_window(&mut self) {
        let window = &mut self.connection.window;
        // As in the out-of-tree implementation, the threshold stays in slow start.
        if !window.slow_start() {
            window.ssthresh = (window.ssthresh / 2.0).max(2.0);
        }
        window.cwnd = (window.cwnd / 2.0).max(1.0);
    }

    /// Its state as its siblings see it.
    pub(super) fn sibling_view(&self) -> Sibling {
        let (connection, usable) = (&self.connection, self.is_established());
        let recovering = connection.phase() == Phase::Recovery;
        // During a recovery the window is on its way to the threshold.
        let window = if recovering { connection.window.ssthresh } else { connection.window.cwnd };
        let rtt = connection.rtt.smoothed_rtt().filter(|_| usable).map_or(0.0, Time::as_secs_f64);
        Sibling { window, rtt, shown: connection.control.shown_value(), own: false }
    }
}
