//! The receiving half of pHost: messages, arrivals for them, and tokens.

use super::incoming::{Announced, Incoming, ReceiverEvent, ReceiverState, Terms};
use crate::probes::{self, Sink};

use super::packets::{Data, Rts, Token};
use super::{Mode, PhostParams, Restore, Shared, TimerKey};
use crate::endpoint::{EndpointEvent, Gone};
use crate::finished::FinishedMessages;
use crate::messages::{MessageId, Messages};
use crate::shared::scale_time;
use crate::two_sided::ReceivingHalf;
use headway_packet::{HostId, Packet, PacketFlags, PacketKind, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// All messages that this host receives.
pub struct Receiver {
    pub(super) params: PhostParams,
    pub(super) messages: Messages<Incoming>,
    finished: FinishedMessages,
    /// Messages with packets to ask for, and some that have none any more.
    pub(super) listed: VecDeque<DefaultKey>,
    announced: u64,
    /// Earliest time of the pacer's next token, and the deadline that is armed for it.
    pub(super) next_slot: Time,
    pub(super) pacer_armed: bool,
}

impl Receiver {
    pub(super) fn new(params: PhostParams) -> Receiver {
        Receiver {
            params,
            messages: Messages::default(),
            finished: FinishedMessages::default(),
            listed: VecDeque::new(),
            announced: 0,
            next_slot: Time::ZERO,
            pacer_armed: false,
        }
    }

    /// pHost §3: an announcement opens a message.
    pub(super) fn receive_announcement(&mut self, shared: &mut Shared, now: Time, rts: &Packet) {
        if self.messages.find_key((rts.src, rts.message)).is_none() {
            self.admit_message(shared, now, rts);
        }
    }

    /// A data packet: for a message not announced yet it doubles as the announcement.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let known = self.messages.find_key((packet.src, packet.message));
        let Some(key) = known.or_else(|| self.admit_message(shared, now, packet)) else { return };
        let message = &mut self.messages[key];
        let first = message.state == ReceiverState::Announced;
        let Data { index, message_bytes, number, .. } = Data::from_packet(packet);
        // Another length is of another message, or of a sender that does not keep to the protocol.
        if index >= message.packets || message_bytes != message.message_bytes {
            return;
        }
        let freed = message.retire_answered(now, number, index);
        let stored = message.store_packet(index);
        if stored.is_some() {
            shared.report_delivered(packet);
        }
        if stored == Some(true) {
            return self.complete_message(shared, now, (packet.src, packet.message), freed);
        }
        message.state.step(ReceiverEvent::Data);
        if freed && self.params.mode == Mode::Arrival {
            self.slot_freed(shared, now, key);
        }
        match self.params.restore {
            // The authors' simulator: no packet but a message's first wakes a receiver without a message to serve.
            Restore::Token if self.params.mode == Mode::Paced && !first => {
                self.arm_wake_timer(shared, now, key)
            }
            _ => self.resume_message(shared, now, key),
        }
    }

    /// Gives the pacer another look, and the message a deadline.
    fn resume_message(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        match self.params.mode {
            Mode::Paced => self.pace_tokens(shared, now),
            Mode::Arrival => self.settle_slots(shared, now, key),
        }
        self.arm_wake_timer(shared, now, key);
    }

    /// State for a message heard of for the first time; a finished one is acknowledged again instead.
    fn admit_message(&mut self, shared: &mut Shared, now: Time, packet: &Packet) -> Option<DefaultKey> {
        let (peer, id) = (packet.src, packet.message);
        if self.finished.contains(peer, id) {
            // The source has not heard that it is done.
            send_finished(shared, peer, id, packet.tag, packet.entropy);
            return None;
        }
        // Announcements and data packets have these two in the same fields.
        let Rts { message_bytes, window, lifetime, .. } = Rts::from_packet(packet);
        let packets = u32::try_from(shared.context.sizes.packets_of(message_bytes)).ok()?;
        let terms = self.message_terms(shared, peer);
        let free = window.min(packets);
        let slot = shared.context.sizes.slot_time(shared.context.nic);
        let again = packet.kind == PacketKind::Rts && packet.flags.has_all(PacketFlags::AGAIN);
        let burst = match packet.kind {
            PacketKind::Rts if again => Time::ZERO,
            PacketKind::Rts => lifetime,
            // A data packet does not say how long its burst takes; at the rate of this host's link it is at least
            // that.
            _ => slot * u64::from(free),
        };
        let (tag, entropy) = (packet.tag, packet.entropy);
        let announced = Announced { peer, id, tag, entropy, packets, message_bytes, free, again, burst };
        self.announced += 1;
        // Before the message is added, whose own free packets would count as awaited.
        if self.params.mode == Mode::Paced && self.params.hold_back && !again {
            self.hold_back(now, slot, free, terms.bdp);
        }
        let mut incoming = Incoming::new(announced, terms, self.announced, now);
        if self.params.short_wait > 0.0 && free == packets && !again {
            let wait = scale_time(slot, self.params.short_wait).saturating_mul(packets.into());
            incoming.first_pass = Some(now.saturating_add(wait));
        }
        let key = self.messages.insert((peer, id), incoming);
        self.list_message(key);
        // Nothing is on its way that could bring the message on.
        if free == 0 || again {
            self.messages[key].state.step(ReceiverEvent::Overdue);
            self.start_slots(key, free);
        }
        self.resume_message(shared, now, key);
        Some(key)
    }

    fn message_terms(&self, shared: &Shared, peer: HostId) -> Terms {
        let context = &shared.context;
        let path = (context.path)(peer);
        let slot = context.sizes.slot_time(context.nic);
        let bdp = path.bdp_packets(context.nic, &context.sizes);
        let paced = self.params.mode == Mode::Paced;
        let resend = match (self.params.resend_wait, paced) {
            // Two slots of room, so that neither trips over a lone message.
            (0, true) => slot * u64::from(bdp + 2),
            (0, false) => path.max_rtt + slot * 2,
            (slots, _) => slot * slots,
        };
        let limit = match self.params.outstanding_limit {
            0 => bdp + 2,
            n => n as u32,
        };
        Terms {
            limit,
            bdp,
            resend,
            longest: path.longest_timeout,
            // AMRT §VII: the default is three round trips.
            downgrade: match self.params.downgrade_frames {
                0 => scale_time(path.base_rtt, self.params.downgrade_time),
                frames => slot * frames,
            },
            lifetime: self.params.token_validity(slot),
            rtt: path.base_rtt,
            passing: paced,
            one_token: paced && self.params.restore == Restore::Token,
        }
    }

    /// pHost §3: all packets have arrived.
    fn complete_message(&mut self, shared: &mut Shared, now: Time, id: MessageId, freed: bool) {
        let Some(mut message) = self.messages.remove(id) else { return };
        message.state.step(ReceiverEvent::Last);
        let (src, id, tag) = (message.peer, message.id, message.tag);
        self.finished.insert(src, id);
        shared.events.push_back(EndpointEvent::Completed { tag, src, message: id });
        send_finished(shared, src, id, tag, message.entropy);
        if self.params.mode == Mode::Arrival {
            debug_assert_eq!(message.open_tokens(), 0, "a token for a packet that is here");
            // `slot_freed` is not reached for the last packet, whose slot goes on with the others.
            let left = message.slots + u32::from(freed);
            self.release_surplus(shared, now, &mut message, left);
        }
    }

    /// A message's own deadline has come; what for, its state says.
    pub(super) fn wake_message(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        if self.messages[key].armed.is_some_and(|at| at <= now) {
            self.messages[key].armed = None;
        }
        if self.wake_deadline(key).is_some_and(|at| at <= now) {
            match self.params.mode {
                Mode::Paced => self.paced_due(shared, now, key),
                Mode::Arrival => self.arrival_due(shared, now, key),
            }
        }
        self.arm_wake_timer(shared, now, key);
    }

    /// Arms the message's one deadline, unless an earlier one is armed.
    pub(super) fn arm_wake_timer(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let Some(at) = self.wake_deadline(key).map(|at| at.max(now)) else { return };
        let message = &mut self.messages[key];
        if message.armed.is_none_or(|armed| at < armed) {
            message.armed = Some(at);
            shared.timers.arm_deadline(at, TimerKey::Wake(message.peer, message.id));
        }
    }

    fn wake_deadline(&mut self, key: DefaultKey) -> Option<Time> {
        let message = self.messages.get_mut(key)?;
        match self.params.mode {
            Mode::Paced => paced_deadline(message),
            Mode::Arrival => arrival_deadline(message),
        }
    }

    /// Puts a message on the list of those with packets to ask for.
    pub(super) fn list_message(&mut self, key: DefaultKey) {
        let message = &mut self.messages[key];
        if message.listed {
            return;
        }
        if message.wanted_packet().is_some() {
            message.listed = true;
            self.listed.push_back(key);
        } else {
            message.state.step(ReceiverEvent::AllAsked);
        }
    }

    /// Takes a message off the list at `place`.
    pub(super) fn unlist_message(&mut self, place: usize) {
        if let Some(key) = self.listed.remove(place)
            && let Some(message) = self.messages.get_mut(key)
        {
            message.listed = false;
            message.state.step(ReceiverEvent::AllAsked);
        }
    }

    /// Sends a token for packet `index` of a message.
    pub(super) fn send_token(&mut self, shared: &mut Shared, now: Time, key: DefaultKey, index: u32) {
        let message = &mut self.messages[key];
        let (number, again) = message.issue_token(now, index);
        let (peer, id) = (message.peer, message.id);
        let (lifetime, missing) = (message.terms.lifetime, message.remaining_packets());
        let token = Token { index, permitted: 1, number, missing, lifetime };
        let token = shared.control_view(token, peer, id, message.tag, message.entropy);
        let flags = PacketFlags::only_if(again, PacketFlags::AGAIN);
        shared.control.push_back(Packet { flags, ..token });
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The source is gone: its slots go on to others.
    fn forget_messages(&mut self, shared: &mut Shared, now: Time, gone: Gone) {
        self.finished.forget_gone(gone);
        let all = self.messages.forget_gone(gone);
        self.listed.retain(|key| self.messages.contains_key(*key));
        for mut message in all {
            if self.params.mode == Mode::Arrival {
                // Its tokens will not be answered, and their slots go on as well.
                let left = message.slots + message.open_tokens();
                self.release_surplus(shared, now, &mut message, left);
            }
        }
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.named_now(id) {
            found(&probes::OUTSTANDING, incoming.open_tokens().into());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

fn send_finished(shared: &mut Shared, peer: HostId, id: u32, tag: u32, entropy: u32) {
    shared.control.push_back(shared.control_packet(PacketKind::Finished, peer, id, tag, entropy));
}

/// Deadline of a message at a paced receiver, apart from its turns at the pacer.
fn paced_deadline(message: &Incoming) -> Option<Time> {
    match message.state {
        ReceiverState::Announced => Some(message.asked_at.saturating_add(message.terms.rtt)),
        ReceiverState::Downgraded => Some(message.restored_at()),
        ReceiverState::Asked => Some(
            message.first_pass.unwrap_or_else(|| message.asked_at.saturating_add(message.pass_timeout())),
        ),
        ReceiverState::Active | ReceiverState::Done => None,
    }
}

/// Deadline of a message at a receiver that answers arrivals.
fn arrival_deadline(message: &mut Incoming) -> Option<Time> {
    if message.state == ReceiverState::Downgraded || message.open_tokens() == 0 {
        // Without anything out, a message waits for slots of others, but not for ever.
        return Some(message.restored_at());
    }
    message.overdue_at()
}
