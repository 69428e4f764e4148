//! The receiving half of AMRT.

use super::packets::{Data, Grant};
use super::{AmrtParams, LossTimer, Reissue, Shared, TimerKey};
use crate::endpoint::Gone;
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::messages::MessageId;
use crate::probes::{self, Sink};
use crate::shared::{Leaving, scale_time};
use crate::timers::Timers;
use crate::turns::Turns;
use crate::two_sided::ReceivingHalf;
use headway_gauges::GaugeInfo;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Active { Data => Active, Overdue => Active, Last => Done }
        Done {}
    }
    events { Data, Overdue, Last }
}

/// Packets authorised together, expected by one deadline.
struct Expected {
    by: Time,
    first: u32,
    end: u32,
}

/// Grants that a mark has added to those for packets that arrived.
pub(super) const MARKS_USED: GaugeInfo = GaugeInfo::packets(
    "marks_used_packets",
    "marks used",
    "marks that the receiver has handed on with grants of the message; each permits a packet more",
);

/// A message being received.
struct Incoming {
    packets: u32,
    received: IndexWindow,
    /// First packet not authorised yet.
    next: u32,
    /// Expected packets in order of deadline, because the time-out of a message is constant.
    expected: VecDeque<Expected>,
    /// Packets granted again: index and attempts so far.
    again: Timers<(u32, u32)>,
    timeout: Time,
    mark_life: Time,
    /// Grants of this message that permitted two packets.
    marked_grants: u32,
    /// Count of marks as `fair_marks` compares it: a newcomer counts from where the others are. AMRT §VIII-F
    marks_used: u32,
    /// Last arrival of a new packet, kept up for marks alone.
    heard: Option<Time>,
    /// The one loss deadline in force; others of this message are left over and mean nothing.
    loss_at: Option<Time>,
    tag: u32,
    entropy: u32,
    state: ReceiverState,
}

/// A packet to grant again.
struct Missing {
    message: (HostId, u32),
    index: u32,
    /// Times it was granted again before.
    attempts: u32,
}

/// All messages that this host receives.
pub struct Receiver {
    params: AmrtParams,
    messages: FxHashMap<(HostId, u32), Incoming>,
    finished: FinishedMessages,
    /// Marks brought and not yet handed on, with their expiry. AMRT §VIII-F
    pool: VecDeque<Time>,
    /// Overdue packets that wait to be granted again.
    missing: Turns<Missing>,
}

impl Receiver {
    pub(super) fn new(params: AmrtParams) -> Receiver {
        let messages = FxHashMap::default();
        Receiver {
            params,
            messages,
            finished: FinishedMessages::default(),
            pool: VecDeque::new(),
            missing: Turns::default(),
        }
    }

    /// AMRT §IV-B: every data packet is answered by a grant that echoes its mark.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let Some(incoming) = self.messages.get_mut(&key) else {
            return self.receive_first(shared, now, packet);
        };
        let index = Data::from_packet(packet).index;
        if index >= incoming.packets || !incoming.received.insert(index) {
            // A duplicate earns no grant: the first copy did.
            incoming.arm_loss_timer(shared, now, key);
            return;
        }
        shared.report_delivered(packet);
        if incoming.received.len() == incoming.packets {
            self.complete_message(shared, key, packet);
            return;
        }
        incoming.state.step(ReceiverEvent::Data);
        let marked = packet.ecn == Ecn::Spare;
        if !self.params.fair_marks {
            incoming.grant_next(shared, now, key, marked);
            incoming.arm_loss_timer(shared, now, key);
            return;
        }
        // The choice looks at all messages, so that this one cannot stay borrowed.
        let marked = self.reassign_mark(now, key, marked);
        if let Some(incoming) = self.messages.get_mut(&key) {
            incoming.grant_next(shared, now, key, marked);
            incoming.arm_loss_timer(shared, now, key);
        }
    }

    /// A packet of a message that is not being received: a new one, or one that has finished.
    // Once a message; any other packet finds its entry.
    #[cold]
    fn receive_first(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (peer, id) = (packet.src, packet.message);
        if self.finished.contains(peer, id) {
            // The sender has not heard that it is done.
            shared.say_finished(packet);
        } else if let Some(incoming) = self.admit_message(shared, now, packet) {
            self.messages.insert((peer, id), incoming);
            self.receive_data(shared, now, packet);
        }
    }

    /// State for a message on its first packet: its first window counts as authorised.
    fn admit_message(&self, shared: &Shared, now: Time, packet: &Packet) -> Option<Incoming> {
        let context = &shared.context;
        let Data { window, message_bytes, .. } = Data::from_packet(packet);
        // The length comes from the wire: one of more packets than 32 bits can count is not a message.
        let packets = u32::try_from(context.sizes.packets_of(message_bytes)).ok()?;
        let path = (context.path)(packet.src);
        let rtt = match self.params.loss_timer {
            LossTimer::MaxRtt => path.max_rtt,
            LossTimer::BaseRtt => path.base_rtt,
        };
        let timeout = scale_time(rtt, self.params.loss_timeout);
        let next = window.clamp(1, packets);
        // A bandwidth-delay product leaves within the round trip that the time-out counts. Only a window that was set
        // may be larger.
        let leaving = match self.params.window {
            0 => Leaving::AT_ONCE,
            _ => Leaving::over_path(&path, context),
        };
        let by = (now + timeout).saturating_add(leaving.extra_time(next));
        let expected = VecDeque::from([Expected { by, first: 0, end: next }]);
        Some(Incoming {
            packets,
            received: IndexWindow::default(),
            next,
            expected,
            again: Timers::default(),
            timeout,
            mark_life: path.base_rtt,
            marked_grants: 0,
            marks_used: 0,
            heard: None,
            loss_at: None,
            tag: packet.tag,
            entropy: packet.entropy,
            state: ReceiverState::Active,
        })
    }

    fn complete_message(&mut self, shared: &mut Shared, key: (HostId, u32), packet: &Packet) {
        let (peer, id) = key;
        if let Some(mut incoming) = self.messages.remove(&key) {
            incoming.state.step(ReceiverEvent::Last);
        }
        self.finished.insert(peer, id);
        shared.report_completed(packet);
        shared.say_finished(packet);
    }

    /// True if this arrival's grant carries a mark when marks are spread evenly. AMRT §VIII-F
    ///
    /// The number of marks handed on never exceeds the number brought, and a mark not used within a round
    /// trip expires, so that none is spent on a gap that is long gone. Evenly means among the messages that
    /// arrive now: one that starts, or starts again after a pause, counts from where the others are, and a
    /// stalled one does not hold the others back.
    fn reassign_mark(&mut self, now: Time, key: (HostId, u32), brought: bool) -> bool {
        self.pool.retain(|&expiry| expiry >= now);
        let arriving = |m: &&Incoming| m.can_use_mark() && m.is_arriving(now);
        let fewest = self.messages.values().filter(arriving).map(|m| m.marks_used).min();
        let Some(this) = self.messages.get_mut(&key) else { return false };
        if brought {
            self.pool.push_back(now + this.mark_life);
        }
        let fewest = fewest.unwrap_or(this.marks_used);
        if !this.is_arriving(now) {
            this.marks_used = this.marks_used.max(fewest);
        }
        this.heard = Some(now);
        if self.pool.is_empty() || this.marks_used > fewest || !this.can_use_mark() {
            return false;
        }
        // The oldest mark, which expires first.
        self.pool.pop_front();
        this.marks_used += 1;
        true
    }

    /// AMRT §IV-B: grants packets again that have not arrived in time.
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let key = (peer, id);
        let Some(incoming) = self.messages.get_mut(&key) else { return };
        if incoming.loss_at.is_none_or(|at| now < at) {
            return;
        }
        incoming.loss_at = None;
        while incoming.expected.front().is_some_and(|e| e.by <= now) {
            let Some(late) = incoming.expected.pop_front() else { break };
            let missing = (late.first..late.end).filter(|&i| !incoming.received.contains(i));
            missing.for_each(|index| self.missing.push(Missing { message: key, index, attempts: 0 }));
        }
        while let Some((_, (index, attempts))) = incoming.again.pop_due(now) {
            if !incoming.received.contains(index) {
                self.missing.push(Missing { message: key, index, attempts });
            }
        }
        incoming.arm_loss_timer(shared, now, key);
        // Otherwise a turn is armed already, and the packets wait for it.
        if self.missing.is_idle() {
            self.reissue_grants(shared, now);
        }
    }

    /// Grants overdue packets again, as many as may be granted by now.
    pub(super) fn reissue_grants(&mut self, shared: &mut Shared, now: Time) {
        self.missing.mark_due();
        let slot = match self.params.reissue {
            Reissue::Paced => shared.context.sizes.slot_time(shared.context.nic),
            // Without a gap every entry has its turn within this call.
            Reissue::AtOnce => Time::ZERO,
        };
        while let Some(missing) = self.missing.next(now) {
            let Some(incoming) = self.messages.get_mut(&missing.message) else { continue };
            // It came while it waited for its turn, and leaves the turn to the next.
            if incoming.received.contains(missing.index) {
                continue;
            }
            incoming.grant_again(shared, now, &missing, self.params.backoff as u32);
            incoming.arm_loss_timer(shared, now, missing.message);
            self.missing.mark_served(now, slot);
        }
        if let Some(at) = self.missing.arm_deadline() {
            shared.timers.arm_deadline(at, TimerKey::Reissue);
        }
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        self.messages.retain(|key, _| !gone.covers_message(*key));
        self.missing.retain(|missing| !gone.covers_message(missing.message));
        self.finished.forget_gone(gone);
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.get(&id) {
            found(&probes::OUTSTANDING, f64::from(incoming.next.saturating_sub(incoming.received.len())));
            found(&MARKS_USED, incoming.marked_grants.into());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

impl Incoming {
    /// True if a packet came within the life of a mark.
    fn is_arriving(&self, now: Time) -> bool {
        self.heard.is_some_and(|heard| now <= heard.saturating_add(self.mark_life))
    }

    /// True if two packets are left to grant.
    fn can_use_mark(&self) -> bool {
        self.next + 1 < self.packets
    }

    /// Grants the next packet, or the next two for a mark.
    fn grant_next(&mut self, shared: &mut Shared, now: Time, (peer, id): (HostId, u32), marked: bool) {
        let count = (1 + u32::from(marked)).min(self.packets - self.next);
        // The arrival earns nothing: all of the message is granted (§IV-B has no rule for the grant that is left
        // over).
        if count == 0 {
            return;
        }
        let grant = Grant { first: self.next, permitted: count };
        let grant = shared.control_view(grant, peer, id, self.tag, self.entropy);
        // A mark that finds a single packet left is not echoed.
        let flags = PacketFlags::only_if(count == 2, PacketFlags::ECE);
        self.marked_grants += u32::from(count == 2);
        shared.control.push_back(Packet { flags, ..grant });
        let end = self.next + count;
        self.expected.push_back(Expected { by: now + self.timeout, first: self.next, end });
        self.next = end;
    }

    /// Grants one missing packet again, unmarked; its time-out doubles up to `backoff` times.
    fn grant_again(&mut self, shared: &mut Shared, now: Time, missing: &Missing, backoff: u32) {
        let (peer, id) = missing.message;
        self.state.step(ReceiverEvent::Overdue);
        let grant = Grant { first: missing.index, permitted: 1 };
        let grant = shared.control_view(grant, peer, id, self.tag, self.entropy);
        shared.control.push_back(Packet { flags: PacketFlags::AGAIN, ..grant });
        let attempts = missing.attempts + 1;
        // `backoff` is at most 20 by its declaration, so that the shift fits.
        let timeout = self.timeout.saturating_mul(1 << attempts.min(backoff));
        self.again.arm_deadline(now.saturating_add(timeout), (missing.index, attempts));
    }

    /// Arms this message's one deadline in the machine, at the earliest packet that is still missing.
    fn arm_loss_timer(&mut self, shared: &mut Shared, now: Time, (peer, id): (HostId, u32)) {
        // No deadline made since the last call is earlier than one time-out from now.
        if self.loss_at.is_some_and(|at| at <= now.saturating_add(self.timeout)) {
            return;
        }
        while let Some(front) = self.expected.front() {
            if self.received.next_missing(front.first) < front.end {
                break;
            }
            self.expected.pop_front();
        }
        let expected = self.expected.front().map(|e| e.by);
        let earliest = [expected, self.again.next()].into_iter().flatten().min();
        if let Some(at) = earliest
            && self.loss_at.is_none_or(|armed| at < armed)
        {
            shared.timers.arm_deadline(at, TimerKey::Loss(peer, id));
            self.loss_at = Some(at);
        }
    }
}
