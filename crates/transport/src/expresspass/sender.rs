//! The sending half of ExpressPass: asks for credits, sends a packet for each, says when it has enough.

use super::params::{Recovery, Values};
use super::{Shared, TimerKey};
use crate::endpoint::EndpointEvent;
use crate::message::Message;
use headway_packet::{HostId, Packet, PacketFlags, PacketKind};
use headway_units::Time;
use rustc_hash::FxHashMap;
use slotmap::{DefaultKey, SlotMap};
use std::collections::BTreeSet;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Requested { Credit => Receiving, Enough => Stopped, Silence => Requested, Finished => Done }
        Receiving { Credit => Receiving, Enough => Stopped, Finished => Done }
        Stopped { Credit => Stopped, Missing => Requested, Silence => Stopped, More => Requested, Finished => Done }
        Done {}
    }
    events { Credit, Enough, Missing, Silence, More, Finished }
}

/// Doublings at most of the time between repetitions of the same packet.
const MAX_DOUBLINGS: u32 = 6;

/// A message being sent.
struct Outgoing {
    message: Message,
    packets: u32,
    /// The next packet to send that is not known to be missing; those below `sent` have left at least once.
    next: u32,
    sent: u32,
    /// Packets to send again.
    again: BTreeSet<u32>,
    state: SenderState,
    /// Number of the request, from 1.
    attempt: u32,
    /// When the last request left; the round trip from there to its first credit, once it is known.
    requested: Time,
    rtt: Time,
    /// Number of the last credit.
    credit: u32,
    /// Credits since `counted`, a round trip each.
    credits: u64,
    counted: Time,
    retry: Time,
    repeats: u32,
    /// The one deadline in force, `Time::MAX` when none is.
    due: Time,
}

impl Outgoing {
    fn step(&mut self, event: SenderEvent) {
        if let Some(next) = self.state.on(event) {
            self.state = next;
        }
    }

    /// Packets still to be sent.
    fn left(&self) -> u32 {
        self.packets - self.next + self.again.len() as u32
    }

    /// A packet that goes to the receiver.
    fn control(&self, shared: &Shared, kind: PacketKind) -> Packet {
        let m = &self.message;
        let packet = shared.control_packet(kind, m.dst, m.id, m.tag, m.entropy);
        Packet { token: self.attempt, message_bytes: m.bytes, remaining: self.left(), ..packet }
    }

    /// Arms the deadline for an answer, twice as far away for each repetition.
    fn wait(&mut self, shared: &mut Shared, now: Time, patience: Time) {
        self.due = now.saturating_add(patience.saturating_mul(1 << self.repeats.min(MAX_DOUBLINGS)));
        shared.timers.arm(self.due, TimerKey::Silence(self.message.dst, self.message.id));
    }

    /// ExpressPass §3.3: asks for credits, and says how many packets are to be sent.
    fn request(&mut self, shared: &mut Shared, now: Time) {
        self.requested = now;
        let request = Packet { count: self.message.opening.share, ..self.control(shared, PacketKind::Rts) };
        shared.control.push_back(request);
        self.wait(shared, now, self.retry);
    }

    /// Asks anew, after a stop.
    fn request_more(&mut self, shared: &mut Shared, now: Time, why: SenderEvent) {
        self.step(why);
        (self.attempt, self.repeats) = (self.attempt + 1, 0);
        self.request(shared, now);
    }

    /// ExpressPass §3.3: no more credits are needed; says which packets have been sent.
    fn stop(&mut self, shared: &mut Shared, now: Time, linger: Time) {
        let stop = Packet { index: self.sent, ..self.control(shared, PacketKind::CreditStop) };
        shared.control.push_back(stop);
        let patience = if self.rtt == Time::ZERO { linger } else { self.rtt.saturating_mul(2) };
        self.wait(shared, now, patience);
    }

    /// The data packet that a credit releases, if there is one.
    fn data(&mut self, shared: &Shared, credit: &Packet) -> Option<Packet> {
        if !self.message.responsive {
            return None;
        }
        let index = match self.again.pop_first() {
            Some(index) => index,
            None if self.next < self.packets => {
                self.next += 1;
                self.next - 1
            }
            None => return None,
        };
        let mut packet = shared.context.data_packet(&self.message, index, 0);
        packet.flags = PacketFlags::when(index < self.sent, PacketFlags::AGAIN);
        // ExpressPass §3.2: the credit's number and time come back to its receiver.
        (packet.token, packet.lifetime) = (credit.token, credit.lifetime);
        self.sent = self.sent.max(index + 1);
        Some(packet)
    }

    /// Whether the credits of the last round trip, if they come again, are enough.
    fn has_enough_soon(&mut self, now: Time, factor: u64) -> bool {
        if now.saturating_sub(self.counted) < self.rtt {
            return false;
        }
        let enough = factor > 0 && self.credits >= factor * u64::from(self.left());
        (self.credits, self.counted) = (0, now);
        enough
    }
}

/// All messages that this host sends.
pub(super) struct Sender {
    params: Values,
    messages: SlotMap<DefaultKey, Outgoing>,
    by_id: FxHashMap<(HostId, u32), DefaultKey>,
    received: u64,
    wasted: u64,
}

impl Sender {
    pub(super) fn new(params: Values) -> Sender {
        Sender { params, messages: SlotMap::new(), by_id: FxHashMap::default(), received: 0, wasted: 0 }
    }

    pub(super) fn live(&self) -> usize {
        self.messages.len()
    }

    /// Credits received, and those not used among them.
    pub(super) fn credits(&self) -> (u64, u64) {
        (self.received, self.wasted)
    }

    fn find(&mut self, peer: HostId, id: u32) -> Option<&mut Outgoing> {
        self.by_id.get(&(peer, id)).and_then(|&key| self.messages.get_mut(key))
    }

    pub(super) fn open(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let path = (shared.context.path)(message.dst);
        let mut out = Outgoing {
            message: *message,
            packets: shared.context.sizes.packets(message.bytes) as u32,
            next: 0,
            sent: 0,
            again: BTreeSet::new(),
            state: SenderState::Requested,
            attempt: 1,
            requested: now,
            rtt: Time::ZERO,
            credit: 0,
            credits: 0,
            counted: now,
            retry: self.params.retry.max(path.max_rtt),
            repeats: 0,
            due: Time::MAX,
        };
        out.request(shared, now);
        self.by_id.insert((message.dst, message.id), self.messages.insert(out));
    }

    /// ExpressPass §3: a credit releases a packet at once.
    pub(super) fn credit(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        self.received += 1;
        let (linger, early) = (self.params.linger, self.params.early_stop);
        let Some(out) = self.find(packet.src, packet.message).filter(|out| packet.token > out.credit) else {
            self.wasted += 1;
            return;
        };
        out.credit = packet.token;
        // One that left before the request came is good for a packet, but does not say that others follow.
        let answers = packet.count == out.attempt;
        if out.state == SenderState::Requested && answers {
            out.rtt = now.saturating_sub(out.requested);
            (out.credits, out.counted) = (0, now);
            (out.repeats, out.due) = (0, Time::MAX);
        }
        if answers {
            out.step(SenderEvent::Credit);
        }
        out.credits += 1;
        let data = out.data(shared, packet);
        let used = data.is_some();
        shared.control.extend(data);
        let enough = match out.state {
            // An application that stalls has more to send, and does not say so.
            _ if !out.message.responsive => false,
            SenderState::Requested => out.left() == 0,
            SenderState::Receiving => out.left() == 0 || out.has_enough_soon(now, early),
            SenderState::Stopped | SenderState::Done => false,
        };
        if enough {
            out.step(SenderEvent::Enough);
            out.credits = 0;
            out.stop(shared, now, linger);
        }
        self.wasted += u64::from(!used);
    }

    /// The receiver misses packets `index .. index + count` of those that were sent.
    pub(super) fn missing(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let recovery = self.params.recovery;
        let Some(out) = self.find(packet.src, packet.message) else { return };
        let end = packet.index.saturating_add(packet.count).min(out.sent);
        if packet.index >= end {
            return;
        }
        match recovery {
            Recovery::Selective => out.again.extend(packet.index..end),
            Recovery::GoBackN => out.next = out.next.min(packet.index),
        }
        if out.state == SenderState::Stopped {
            out.request_more(shared, now, SenderEvent::Missing);
        }
    }

    /// Nothing was heard of a request or a stop.
    pub(super) fn silence(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let linger = self.params.linger;
        let Some(out) = self.find(peer, id).filter(|out| out.due <= now) else { return };
        out.due = Time::MAX;
        if out.state == SenderState::Stopped && out.left() > 0 {
            // It stopped early, and what came after that was not enough.
            return out.request_more(shared, now, SenderEvent::More);
        }
        out.step(SenderEvent::Silence);
        // ExpressPass §3.3: where credits still come, the stop was lost, and its repetition is urgent.
        let heard = out.state == SenderState::Stopped && out.credits > 0;
        out.repeats = if heard { 0 } else { out.repeats + 1 };
        out.credits = 0;
        match out.state {
            SenderState::Requested => out.request(shared, now),
            SenderState::Stopped => out.stop(shared, now, linger),
            SenderState::Receiving | SenderState::Done => {}
        }
    }

    /// The receiver has all of it.
    pub(super) fn finished(&mut self, shared: &mut Shared, packet: &Packet) {
        let Some(key) = self.by_id.remove(&(packet.src, packet.message)) else { return };
        if let Some(mut out) = self.messages.remove(key) {
            out.step(SenderEvent::Finished);
            shared.events.push_back(EndpointEvent::Acknowledged { tag: out.message.tag });
        }
    }

    /// The receiver is gone.
    pub(super) fn forget(&mut self, shared: &mut Shared, peer: HostId) {
        self.by_id.retain(|key, _| key.0 != peer);
        shared.fail_to(peer, &mut self.messages, |entry| &entry.message);
    }
}
