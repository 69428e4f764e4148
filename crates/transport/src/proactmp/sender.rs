//! The sending half of ProactMP: a host's messages take turns at its wire.

use super::outgoing::{Outgoing, SenderEvent};
use super::params::Settings;
use super::shares::SubflowEvent;
use super::{Shared, TimerKey, allowed_of, number_of};
use crate::endpoint::EndpointEvent;
use crate::message::Message;
use crate::messages::Messages;
use headway_packet::{HostId, Packet, PacketKind};
use headway_units::{RoundTrips, Time};
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// All messages that this host sends.
pub(super) struct Sender {
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

    pub(super) fn live(&self) -> usize {
        self.messages.len()
    }

    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(super) fn round_trips(&self) -> &RoundTrips {
        &self.round_trips
    }

    /// ProactMP §III-C3: OWDbytes leave at once, or when the Request has come.
    pub(super) fn open(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let out = Outgoing::new(message, &self.settings, &shared.context, now);
        let patience = out.patience(&self.settings);
        let key = self.messages.insert((message.dst, message.id), out);
        if self.settings.request {
            let announcement = self.messages[key].about(&shared.context, PacketKind::Probe);
            shared.control.push_back(announcement);
        } else {
            self.begin(shared, now, key);
        }
        self.messages[key].await_answer(shared, now.saturating_add(patience));
    }

    fn begin(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        out.step(SenderEvent::Request);
        let (peer, id) = (out.message.dst, out.message.id);
        self.release_opening(shared, now, peer, id);
    }

    /// Lets the unscheduled packets go whose time has come.
    pub(super) fn release_opening(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find((peer, id)) else { return };
        let out = &mut self.messages[key];
        let (first, count) = out.opening.take(now);
        out.released = out.released.max(first + count);
        if let Some(at) = out.opening.next() {
            shared.timers.arm(at, TimerKey::Opening(peer, id));
        }
        self.queue(shared, key);
    }

    /// Gives a message with a packet to send a turn.
    fn queue(&mut self, shared: &Shared, key: DefaultKey) {
        let out = &mut self.messages[key];
        if !out.queued && out.pick(&shared.context).is_some() {
            out.queued = true;
            self.ready.push_back(key);
        }
    }

    /// Something has changed: the message whose turn is next has a packet, or has no turn.
    fn settle(&mut self, shared: &Shared) {
        while let Some(&key) = self.ready.front() {
            let Some(out) = self.messages.get_mut(key) else {
                self.ready.pop_front();
                continue;
            };
            if out.pick(&shared.context).is_some() {
                return;
            }
            out.queued = false;
            self.ready.pop_front();
        }
    }

    /// News of a message: silence begins anew.
    fn heard(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        out.active = now;
        if out.backoff > 0 {
            out.backoff = 0;
            let patience = out.patience(&self.settings);
            out.await_answer(shared, now.saturating_add(patience));
        }
    }

    /// ProactMP §III-C3: the grant answers a packet of its subflow, and its credit is divided among all.
    pub(super) fn grant(&mut self, shared: &mut Shared, now: Time, grant: &Packet) {
        let Some(key) = self.messages.find((grant.src, grant.message)) else { return };
        let out = &mut self.messages[key];
        let number = number_of(grant.remaining) as usize;
        let answers = grant.count > 0 && number < out.shares.subflows.len();
        if answers {
            out.shares.heard(&self.settings, number, now, grant.lifetime);
            self.round_trips.note(now.saturating_sub(grant.lifetime));
        }
        let news = out.permit(&self.settings, &shared.context, grant.token);
        out.step(SenderEvent::Grant);
        if news || answers {
            self.heard(shared, now, key);
        }
        self.queue(shared, key);
        self.settle(shared);
    }

    /// ProactMP §III-C5: what is missing is sent again at once, outside of the credit.
    pub(super) fn resend(&mut self, shared: &mut Shared, now: Time, ask: &Packet) {
        let Some(key) = self.messages.find((ask.src, ask.message)) else { return };
        let out = &mut self.messages[key];
        if !out.has_begun() {
            return;
        }
        out.step(SenderEvent::Resend);
        let range = (ask.index, ask.index.saturating_add(ask.count));
        out.resend(&self.settings, &shared.context, now, range);
        self.heard(shared, now, key);
        self.queue(shared, key);
        self.settle(shared);
    }

    /// The receiver asks for the message, or for a subflow of it. ProactMP §III-B
    pub(super) fn request(&mut self, shared: &mut Shared, now: Time, request: &Packet) {
        let Some(key) = self.messages.find((request.src, request.message)) else { return };
        let out = &mut self.messages[key];
        if request.count == 0 {
            let wanted = allowed_of(request.remaining) > 0 && out.has_begun();
            let response = wanted.then(|| out.join(&shared.context, now, request)).flatten();
            shared.control.extend(response);
            return;
        }
        if !out.has_begun() {
            self.begin(shared, now, key);
            self.heard(shared, now, key);
        }
    }

    /// The receiver has everything: the last grant.
    pub(super) fn finished(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.step(SenderEvent::Finished);
            out.shares.subflows.iter_mut().for_each(|s| s.on(SubflowEvent::Finished));
            shared.events.push_back(EndpointEvent::Acknowledged { tag: out.message.tag });
            self.settle(shared);
        }
    }

    /// The receiver is gone.
    pub(super) fn forget(&mut self, shared: &mut Shared, peer: HostId) {
        shared.fail(self.messages.forget(peer).iter().map(|out| out.message));
        self.settle(shared);
    }

    /// Asks when nothing has been heard: all that was sent, or the receiver's last word, may be lost.
    pub(super) fn silence(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find((peer, id)) else { return };
        let out = &mut self.messages[key];
        if now < out.silence_at {
            return;
        }
        // A message that waits for this host's own wire cannot have been answered.
        let since =
            if out.queued || out.opening.next().is_some() && out.has_begun() { now } else { out.active };
        let due = since.saturating_add(out.patience(&self.settings));
        if due > now {
            return out.await_answer(shared, due);
        }
        out.step(SenderEvent::Silence);
        out.active = now;
        out.backoff += 1;
        out.try_another_path(&self.settings);
        let probe = out.about(&shared.context, PacketKind::Probe);
        shared.control.push_back(probe);
        let patience = out.patience(&self.settings);
        out.await_answer(shared, now.saturating_add(patience));
    }

    /// The next packet, for a wire that is free now.
    pub(super) fn poll_data(&mut self, shared: &Shared, now: Time) -> Option<Packet> {
        let key = self.ready.pop_front()?;
        let out = self.messages.get_mut(key)?;
        out.queued = false;
        let pick = out.pick(&shared.context)?;
        let packet = out.depart(&shared.context, now, pick);
        self.queue(shared, key);
        self.settle(shared);
        Some(packet)
    }
}
