//! The sending half of ProactMP: a host's messages take turns at its wire.

use super::outgoing::{Outgoing, SenderEvent};
use super::packets::{Grant, Pull, Resend};
use super::params::Settings;
use super::shares::SubflowEvent;
use super::{Shared, TimerKey, allowed_of, number_of};
use crate::endpoint::{Gone, SubflowShare};
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::two_sided::SendingHalf;
use headway_gauges::RoundTrips;
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// All messages that this host sends.
pub struct Sender {
    settings: Settings,
    messages: Messages<Outgoing>,
    /// Messages with a packet to send, in the order of their turns.
    ready: VecDeque<DefaultKey>,
    round_trips: RoundTrips,
}

impl Sender {
    pub(super) fn new(settings: Settings) -> Sender {
        Sender {
            settings,
            messages: Messages::default(),
            ready: VecDeque::new(),
            round_trips: RoundTrips::default(),
        }
    }

    fn begin_message(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        out.state.step(SenderEvent::Request);
        let (peer, id) = (out.message.dst, out.message.id);
        self.release_first_window(shared, now, peer, id);
    }

    /// Releases the unscheduled packets whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let (first, count) =
            out.initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        out.released = out.released.max(first + count);
        self.queue_message(shared, key);
    }

    /// Gives a message with a packet to send a turn.
    fn queue_message(&mut self, shared: &Shared, key: DefaultKey) {
        let out = &mut self.messages[key];
        if !out.queued && out.pick_packet(&shared.context).is_some() {
            out.queued = true;
            self.ready.push_back(key);
        }
    }

    /// Something has changed: goes on to the first message in line that has a packet to send.
    fn drop_idle_front(&mut self, shared: &Shared) {
        // `is_ready` goes by the front alone, which therefore has to have a packet to send.
        while let Some(&key) = self.ready.front() {
            let Some(out) = self.messages.get_mut(key) else {
                self.ready.pop_front();
                continue;
            };
            if out.pick_packet(&shared.context).is_some() {
                return;
            }
            out.queued = false;
            self.ready.pop_front();
        }
    }

    /// News of a message: its time of silence starts again.
    fn mark_heard(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        if out.idle.mark_heard(now) {
            let timeout = out.probe_timeout(&self.settings);
            out.arm_timeout(shared, now, timeout);
        }
    }

    /// ProactMP §III-C3: the grant answers a packet of its subflow, and its credit is divided among all.
    pub(super) fn receive_grant(&mut self, shared: &mut Shared, now: Time, grant: &Packet) {
        let Some(key) = self.messages.find_key((grant.src, grant.message)) else { return };
        let out = &mut self.messages[key];
        let Grant { answers, permitted, subflow, echo, .. } = Grant::from_packet(grant);
        let number = number_of(subflow) as usize;
        // The number comes from the wire, and may be of no subflow.
        let answers = answers > 0 && number < out.shares.subflows.len();
        if answers {
            out.shares.count_grant(&self.settings, number, now, echo);
            self.round_trips.note(now.saturating_sub(echo));
        }
        let news = out.raise_permission(&self.settings, &shared.context, permitted);
        out.state.step(SenderEvent::Grant);
        // A grant that is neither may be an old one that comes late: it shows no progress.
        if news || answers {
            self.mark_heard(shared, now, key);
        }
        self.queue_message(shared, key);
        self.drop_idle_front(shared);
    }

    /// ProactMP §III-C5: missing packets are sent again at once, outside of the credit.
    pub(super) fn receive_resend(&mut self, shared: &mut Shared, now: Time, ask: &Packet) {
        let Some(key) = self.messages.find_key((ask.src, ask.message)) else { return };
        let out = &mut self.messages[key];
        // The Request is lost. A receiver repeats it ahead of each RESEND.
        if !out.has_begun() {
            return;
        }
        out.state.step(SenderEvent::Resend);
        let Resend { first, missing, .. } = Resend::from_packet(ask);
        let range = (first, first.saturating_add(missing));
        out.queue_repetitions(&self.settings, &shared.context, now, range);
        self.mark_heard(shared, now, key);
        self.queue_message(shared, key);
        self.drop_idle_front(shared);
    }

    /// The receiver asks for the message, or for a subflow of it. ProactMP §III-B
    pub(super) fn receive_request(&mut self, shared: &mut Shared, now: Time, request: &Packet) {
        let Some(key) = self.messages.find_key((request.src, request.message)) else { return };
        let out = &mut self.messages[key];
        let Pull { window, subflow } = Pull::from_packet(request);
        if window == 0 {
            let wanted = allowed_of(subflow) > 0 && out.has_begun();
            let response = wanted.then(|| out.join_subflow(&shared.context, now, request)).flatten();
            shared.control.extend(response);
            return;
        }
        // A repeated Request changes nothing.
        if !out.has_begun() {
            self.begin_message(shared, now, key);
            self.mark_heard(shared, now, key);
        }
    }

    /// The receiver has everything: the last grant.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.state.step(SenderEvent::Finished);
            out.shares.subflows.iter_mut().for_each(|s| s.state.step(SubflowEvent::Finished));
            shared.report_acknowledged(&out.message);
            self.drop_idle_front(shared);
        }
    }

    /// Asks when nothing has been heard: all that was sent, or the receiver's last word, may be lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        // An announced message has nothing to wait for here: its time-out is for the Request.
        let held = out.queued || out.initial_window.next().is_some() && out.has_begun();
        let timeout = out.probe_timeout(&self.settings);
        if !out.idle.has_expired(&mut shared.timers, now, held, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        out.try_another_path(&self.settings);
        let probe = out.probe_packet(&shared.context);
        shared.control.push_back(probe);
        let timeout = out.probe_timeout(&self.settings);
        out.arm_timeout(shared, now, timeout);
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// ProactMP §III-C3: OWDbytes leave at once, or when the Request has come.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let out = Outgoing::new(message, &self.settings, &shared.context, now);
        let timeout = out.probe_timeout(&self.settings);
        let key = self.messages.insert((message.dst, message.id), out);
        if self.settings.request {
            let announcement = self.messages[key].probe_packet(&shared.context);
            shared.control.push_back(announcement);
        } else {
            self.begin_message(shared, now, key);
        }
        self.messages[key].arm_timeout(shared, now, timeout);
    }

    /// The next packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let key = self.ready.pop_front()?;
        let out = self.messages.get_mut(key)?;
        out.queued = false;
        let pick = out.pick_packet(&shared.context)?;
        let packet = out.send_packet(&shared.context, now, pick);
        // To the end of the line: messages take turns, a packet each.
        self.queue_message(shared, key);
        self.drop_idle_front(shared);
        Some(packet)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.drop_idle_front(shared);
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id) {
            found(&probes::PERMITTED, out.unsent_permissions().into());
        }
    }

    /// Packets in flight there leave again by others, and so does the credit. ProactMP §III-B2
    fn path_lost(&mut self, shared: &mut Shared, _: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        for id in self.messages.covered_ids(Gone::Peer(peer)) {
            let Some(key) = self.messages.find_key(id) else { continue };
            self.messages[key].path_lost(lost);
            self.queue_message(shared, key);
        }
        self.drop_idle_front(shared);
    }

    fn visit_subflows(&self, _: &Shared, found: &mut dyn FnMut(SubflowShare)) {
        for out in self.messages.values() {
            out.shares.report_subflows(out.message.dst, found);
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }
}
