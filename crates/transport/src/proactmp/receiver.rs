//! The receiving half of ProactMP: one pool of credit for all messages of a host.

use super::credit::CreditPool;
use super::incoming::{Incoming, ReceiverEvent};
use super::packets::{Data, Probe, Rts};
use super::params::{Order, Settings};
use super::{Key, Shared, TimerKey, allowed_of, number_of};
use crate::endpoint::Gone;
use crate::finished::FinishedMessages;
use crate::messages::MessageId;
use crate::probes::Sink;
use crate::two_sided::ReceivingHalf;
use headway_gauges::{Gauge, GaugeInfo, Level};
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

pub(super) const HELD: GaugeInfo =
    GaugeInfo::bytes("held_bytes", "held", "of unfinished messages, held at a receiver");

/// All messages that this host receives.
pub struct Receiver {
    settings: Settings,
    messages: FxHashMap<Key, Incoming>,
    finished: FinishedMessages,
    credit: CreditPool,
    /// Messages that wait for credit, the one that has waited longest first.
    waiting: VecDeque<Key>,
    /// Messages by age.
    ages: BTreeSet<(u64, Key)>,
    admitted: u64,
    /// Bytes of messages that are not whole.
    held: Level,
}

impl Receiver {
    pub(super) fn new(settings: Settings) -> Receiver {
        Receiver {
            credit: CreditPool::new(settings.clamp),
            settings,
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
            waiting: VecDeque::new(),
            ages: BTreeSet::new(),
            admitted: 0,
            held: Level::default(),
        }
    }

    fn remove_message(&mut self, now: Time, key: Key) -> Option<Incoming> {
        let message = self.messages.remove(&key)?;
        // Its credit that no packet has answered will not be answered any more.
        self.credit.return_credit(now, message.outstanding_bytes());
        self.held.set(now, self.held.value() - message.held);
        self.ages.remove(&(message.age, key));
        if message.waiting {
            self.waiting.retain(|waiting| *waiting != key);
        }
        Some(message)
    }

    /// ProactMP §III-C4: every DATA is answered by one grant, whatever credit there is.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if !self.ensure_known(shared, now, packet) {
            return;
        }
        let Some(message) = self.messages.get_mut(&key) else { return };
        let subflow = Data::from_packet(packet).subflow;
        message.paths.mark_heard(number_of(subflow) as usize, packet.entropy, now, true);
        message.agree_subflows(&self.settings, packet.entropy, allowed_of(subflow));
        let before = message.held;
        if let Some(credit) = message.store_packet(now, packet) {
            shared.report_delivered(packet);
            // Before `answer_packet`, which may give it out again at once.
            self.credit.return_credit(now, credit);
            // The stored length counts from now on: a stray packet may state another length than the message
            // in its place has.
            self.held.set(now, self.held.value() + (message.held - before));
            if message.is_whole() {
                return self.complete_message(shared, now, packet);
            }
            message.ask_on(shared, key);
        }
        self.answer_packet(shared, now, packet);
    }

    /// A subflow is there. ProactMP §III-B2
    pub(super) fn receive_response(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        if !self.ensure_known(shared, now, packet) {
            return;
        }
        if let Some(message) = self.messages.get_mut(&(packet.src, packet.message)) {
            let number = number_of(Rts::from_packet(packet).subflow) as usize;
            message.paths.mark_heard(number, packet.entropy, now, false);
            self.answer_packet(shared, now, packet);
        }
    }

    /// Runs algorithm 1 for the message of a packet, and answers it.
    fn answer_packet(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if let Some(message) = self.messages.get_mut(&key)
            && !message.waiting
            && message.ungranted_bytes() > 0
        {
            message.waiting = true;
            self.waiting.push_back(key);
        }
        self.allocate_credit(shared, now, Some(key));
        let Some(message) = self.messages.get_mut(&key) else { return };
        message.say_granted(shared, key, Some(packet));
        if message.paths.is_incomplete() {
            message.request_subflow(&self.settings, shared, now, key);
        }
        message.arm_missing_timer(&self.settings, shared, key);
    }

    /// True if the packet's message is being received, which it is after its first packet until it is whole.
    fn ensure_known(&mut self, shared: &mut Shared, now: Time, packet: &Packet) -> bool {
        let key = (packet.src, packet.message);
        if self.messages.contains_key(&key) {
            return true;
        }
        if self.finished.contains(key.0, key.1) {
            // The sender has not heard that it is done.
            shared.say_finished(packet);
            return false;
        }
        let Some(mut message) = Incoming::new(&self.settings, shared, now, packet) else { return false };
        self.admitted += 1;
        message.age = self.admitted;
        self.ages.insert((message.age, key));
        self.credit.count_outstanding(now, message.outstanding_bytes());
        self.messages.insert(key, message);
        true
    }

    fn complete_message(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (peer, id) = (packet.src, packet.message);
        if let Some(mut message) = self.remove_message(now, (peer, id)) {
            message.state.step(ReceiverEvent::Last);
        }
        self.finished.insert(peer, id);
        shared.report_completed(packet);
        shared.say_finished(packet);
        self.allocate_credit(shared, now, None);
    }

    /// Gives credit to messages that wait, as long as there is any. The message `answered` hears of it by the grant
    /// that answers its packet. ProactMP §III-C4, algorithm 1
    fn allocate_credit(&mut self, shared: &mut Shared, now: Time, answered: Option<Key>) {
        self.credit.begin_busy(now);
        while let Some(place) = self.next() {
            let key = self.waiting[place];
            let Some(message) = self.messages.get_mut(&key) else { break };
            let most = if self.settings.order == Order::Rr { 1 } else { u32::MAX };
            let (count, bytes) =
                message.fitting_packets(self.credit.available_credit(now, &message.owd), most);
            // Less than a packet is left. It stays in the pool, with the time in which it came up.
            if count == 0 {
                break;
            }
            self.credit.give_credit(now, &message.owd, bytes);
            message.raise_granted(now, count);
            self.waiting.remove(place);
            message.waiting = self.settings.order == Order::Rr && message.ungranted_bytes() > 0;
            if message.waiting {
                self.waiting.push_back(key);
            }
            if answered != Some(key) {
                message.say_granted(shared, key, None);
            }
            message.arm_missing_timer(&self.settings, shared, key);
        }
        if self.credit.outstanding_bytes() == 0 && self.waiting.is_empty() {
            self.credit.end_busy();
        }
    }

    /// The place of the message to serve next among those that wait.
    fn next(&self) -> Option<usize> {
        if self.settings.buffer > 0
            && self.held.value() + self.credit.outstanding_bytes() >= self.settings.buffer
        {
            // ProactMP §III-C2: the buffer is full. The oldest message goes on, so that it empties.
            let (_, oldest) = self.ages.first()?;
            return self.waiting.iter().position(|key| key == oldest);
        }
        match self.settings.order {
            Order::Fifo | Order::Rr => (!self.waiting.is_empty()).then_some(0),
            Order::Srpt => {
                let left = |key: &Key| self.messages.get(key).map(Incoming::ungranted_bytes);
                (0..self.waiting.len()).min_by_key(|place| left(&self.waiting[*place]))
            }
        }
    }

    /// The sender announces a message, or has heard nothing of it. ProactMP §III-A
    pub(super) fn receive_probe(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let known = self.messages.contains_key(&key);
        if !self.ensure_known(shared, now, packet) {
            return;
        }
        let Some(message) = self.messages.get_mut(&key) else { return };
        let number = number_of(Probe::from_packet(packet).subflow) as usize;
        message.paths.mark_heard(number, packet.entropy, now, true);
        if message.has_begun() {
            return message.say_granted(shared, key, None);
        }
        if self.settings.request {
            message.say_request(shared, key);
        } else if !known {
            message.ask_for_all(shared, now, key);
        }
        message.arm_missing_timer(&self.settings, shared, key);
    }

    /// The deadline of a message has come. ProactMP §III-C5
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        if let Some(message) = self.messages.get_mut(&(peer, id)) {
            message.check_overdue(&self.settings, shared, now, (peer, id));
        }
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone; its credit goes to others.
    fn forget_messages(&mut self, shared: &mut Shared, now: Time, gone: Gone) {
        let mut all: Vec<Key> =
            self.messages.keys().filter(|key| gone.covers_message(**key)).copied().collect();
        // The order of a hash map must not show in a run, which has to be the same each time.
        all.sort_unstable();
        for key in all {
            self.remove_message(now, key);
        }
        self.finished.forget_gone(gone);
        self.allocate_credit(shared, now, None);
    }

    /// Grants may have been lost with the path: each message's is repeated on another one.
    fn path_lost(&mut self, shared: &mut Shared, peer: HostId, _: &dyn Fn(u32) -> bool) {
        let mut all: Vec<Key> = self.messages.keys().filter(|key| key.0 == peer).copied().collect();
        all.sort_unstable();
        for key in all {
            if let Some(message) = self.messages.get(&key).filter(|message| message.has_begun()) {
                message.say_granted(shared, key, None);
            }
        }
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.get(&id) {
            incoming.report_probes(found);
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        vec![self.credit.outstanding_gauge(now), self.held.gauge(&HELD, now)]
    }
}
