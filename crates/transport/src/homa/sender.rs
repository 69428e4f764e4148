//! The sending half of Homa: the message with the least left to send goes first.

use super::cutoffs::Priorities;
use super::outgoing::{Outgoing, SenderEvent, Terms};
use super::packets::{Ack, Grant, Resend};
use super::params::{Settings, packets_of};
use super::{Shared, TimerKey, WHOLE, share_to_thousandths};
use crate::aeolus::{AeolusParams, FirstWindow};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::two_sided::SendingHalf;
use headway_gauges::RoundTrips;
use headway_packet::{HostId, Packet, PacketFlags, PacketKind, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::{BTreeMap, BTreeSet};

/// All messages that this host sends.
pub struct Sender {
    settings: Settings,
    priorities: Priorities,
    aeolus: Option<AeolusParams>,
    messages: Messages<Outgoing>,
    /// Messages with a packet that may leave, by packets left to send, the older first. Homa §3.2
    ready: BTreeSet<(u32, u64, DefaultKey)>,
    /// Messages with a packet that may leave, by age.
    ages: BTreeMap<u64, DefaultKey>,
    opened: u64,
    /// Debt to the oldest message, in thousandths of a packet, and its share of each packet.
    owed: u32,
    fifo_share: u32,
    round_trips: RoundTrips,
}

impl Sender {
    pub(super) fn new(settings: Settings, priorities: Priorities, aeolus: Option<AeolusParams>) -> Sender {
        Sender {
            fifo_share: share_to_thousandths(settings.fifo_share),
            settings,
            priorities,
            aeolus,
            messages: Messages::default(),
            ready: BTreeSet::new(),
            ages: BTreeMap::new(),
            opened: 0,
            owed: 0,
            round_trips: RoundTrips::default(),
        }
    }

    fn message_terms(&mut self, context: &HostContext, now: Time, message: &Message) -> Terms {
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let window = self.settings.rtt_packets(&path, context);
        let first = match (self.settings.unscheduled_bytes, self.settings.rtt_bytes) {
            // One of several sharers counts the product at the rate of the path, one alone at that of its host's
            // link.
            (0, 0) => context.bdp_packets(&path, &message.initial_window),
            (0, _) => window,
            (bytes, _) => packets_of(bytes, &context.sizes),
        };
        let slot = context.sizes.slot_time(path.bottleneck);
        let initial_window = FirstWindowSchedule::new(message.initial_window, first, packets, slot, now);
        let tail = u64::from(window) * u64::from(context.sizes.payload);
        self.opened += 1;
        Terms {
            packets,
            order: self.opened,
            timeout: self.settings.resend_timeout(&path),
            path,
            boosted: if self.settings.boost_tail { tail } else { 0 },
            first_window: self
                .aeolus
                .as_ref()
                .map(|params| FirstWindow::new(initial_window.window_packets(), params)),
            class: self.priorities.lowest_class(),
            initial_window,
        }
    }

    /// Releases the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let (first, count) =
            out.initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        out.released = first + count;
        self.update_rank(key);
    }

    /// Puts a message where its rank is now among those that are ready, or takes it out.
    fn update_rank(&mut self, key: DefaultKey) {
        let out = &mut self.messages[key];
        // Only messages with a packet to send have a rank, so that the first of `ready` always has one.
        let rank = out.pick_packet().map(|_| out.remaining_packets());
        if out.ranked == rank {
            return;
        }
        if let Some(before) = std::mem::replace(&mut out.ranked, rank) {
            self.ready.remove(&(before, out.order, key));
        }
        match rank {
            Some(remaining) => {
                self.ready.insert((remaining, out.order, key));
                self.ages.insert(out.order, key);
            }
            None => {
                self.ages.remove(&out.order);
            }
        }
    }

    /// The receiver has said something that brings a message on.
    fn mark_heard(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        if out.idle.mark_heard(now) {
            out.arm_timeout(shared, now);
        }
        self.update_rank(key);
    }

    /// Homa §3.3: packets up to a number may be sent, in the class that the grant says.
    pub(super) fn receive_grant(&mut self, shared: &mut Shared, now: Time, grant: &Packet) {
        let Some(key) = self.messages.find_key((grant.src, grant.message)) else { return };
        let Grant { permitted, class, echo, .. } = Grant::from_packet(grant);
        if echo > Time::ZERO {
            self.round_trips.answered(now, echo);
        }
        let class = self.clamp_class(class);
        self.messages[key].raise_permission(permitted, class);
        self.mark_heard(shared, now, key);
    }

    /// A class that came in a packet.
    fn clamp_class(&self, class: u32) -> u8 {
        // From the wire: class 0 is that of control.
        class.clamp(1, self.priorities.lowest_class().into()) as u8
    }

    /// Homa §3.7: packets that have not arrived are sent again, or the answer is busy.
    pub(super) fn receive_resend(&mut self, shared: &mut Shared, now: Time, ask: &Packet) {
        let (peer, id) = (ask.src, ask.message);
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let Resend { first, missing, class } = Resend::from_packet(ask);
        let class = self.clamp_class(class);
        let out = &mut self.messages[key];
        out.state.step(SenderEvent::Resend);
        // Both numbers come from the wire.
        if !out.take_request(now, first, first.saturating_add(missing), class) {
            let (tag, entropy) = (out.message.tag, out.message.entropy);
            let busy = shared.control_packet(PacketKind::Busy, peer, id, tag, entropy);
            shared.control.push_back(busy);
        }
        self.mark_heard(shared, now, key);
    }

    /// A packet of the first window has arrived, or the probe behind it. Aeolus §4
    pub(super) fn receive_ack(&mut self, shared: &mut Shared, now: Time, ack: &Packet) {
        let Some(key) = self.messages.find_key((ack.src, ack.message)) else { return };
        let Some(first_window) = &mut self.messages[key].first_window else { return };
        if ack.flags.has_all(PacketFlags::UNSCHEDULED) {
            first_window.probe_answered();
        } else {
            first_window.mark_acked(Ack::from_packet(ack).index);
        }
        self.mark_heard(shared, now, key);
    }

    /// The receiver has everything.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        let id = (packet.src, packet.message);
        // The key is looked up first: it is a part of the entry in `ready`, and gone with the message.
        if let Some(key) = self.messages.find_key(id)
            && let Some(mut out) = self.messages.remove(id)
        {
            out.state.step(SenderEvent::Finished);
            if let Some(rank) = out.ranked {
                self.ready.remove(&(rank, out.order, key));
                self.ages.remove(&out.order);
            }
            shared.report_acknowledged(&out.message);
        }
    }

    /// Asks by a probe when nothing has been heard: the whole first window, or the last word, may be lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let (held, timeout) =
            (out.ranked.is_some() || out.initial_window.next().is_some(), out.probe_timeout());
        if !out.idle.has_expired(&mut shared.timers, now, held, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        let probe = out.probe_packet(&shared.context, &self.priorities);
        shared.control.push_back(probe);
        out.arm_timeout(shared, now);
    }

    /// The message whose turn it is: the one with the least left, now and then the oldest. Homa §5.2
    fn next(&mut self) -> Option<DefaultKey> {
        let &(_, _, shortest) = self.ready.first()?;
        self.owed += self.fifo_share;
        if self.owed < WHOLE {
            return Some(shortest);
        }
        self.owed -= WHOLE;
        self.ages.values().next().copied()
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// Homa §3.2: a new message sends RTTbytes without waiting.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let out = Outgoing::new(message, self.message_terms(&shared.context, now, message), now);
        let key = self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
        self.messages[key].arm_timeout(shared, now);
    }

    /// The next packet of a message, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let key = self.next()?;
        let out = &mut self.messages[key];
        let pick = out.pick_packet()?;
        let packet = out.send_packet(&shared.context, now, pick, &self.priorities);
        self.update_rank(key);
        Some(packet)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.ready.retain(|(_, _, key)| self.messages.contains_key(*key));
        self.ages.retain(|_, key| self.messages.contains_key(*key));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id) {
            found(&probes::PERMITTED, out.unsent_permissions().into());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }
}
