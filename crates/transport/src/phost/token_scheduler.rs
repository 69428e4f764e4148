//! Token slots: when a receiver may issue a token, and for which message.
//!
//! *Paced*: the downlink's frame times are the slots; [`Receiver::pace_tokens`] gives each to the message that
//! the policy prefers.
//!
//! *Arrival*: an authorisation leaves a slot behind when it retires, so that the authorisations
//! and slots of a message stay as many as they were, and it keeps the rate at which its packets arrive.
//! A slot that an arrival frees becomes a token at once; slots freed by time-outs, which no arrival
//! clocks, go through the pacer as well. Slots move between messages of one receiver only:
//! - SRPT hands each freed slot to the message with the fewest packets remaining;
//! - a message that has nothing left to ask for passes its slots on: at once under SRPT, one downgrade
//!   time after each slot was freed under fair scheduling (AMRT §III-B);
//! - a message that was downgraded and stayed silent lends its slots to others.
//!
//! A message passes on at most as many slots as tokens it was given, and is given none beyond its limit.

use super::incoming::{Incoming, ReceiverEvent, ReceiverState};
use super::receiver::Receiver;
use super::{Mode, Policy, Shared, TimerKey};
use headway_units::Time;
use slotmap::DefaultKey;

impl Receiver {
    /// pHost §3: an announcement takes token slots from all messages, as many as it brings free packets, as
    /// far as these come on top of a full pipe. A lone message, and one of several fair sharers, has room.
    pub(super) fn hold_back(&mut self, now: Time, slot: Time, free: u32, bdp: u32) {
        let mut awaited = 0;
        for message in self.messages.values() {
            // A downgraded source is not expected to fill the pipe.
            if message.state != ReceiverState::Downgraded {
                awaited += message.open_tokens();
            }
            // All of the announcement is in excess then, however many follow.
            if awaited >= bdp {
                break;
            }
        }
        let excess = (awaited + free).saturating_sub(bdp).min(free);
        self.next_slot = self.next_slot.max(now) + slot * u64::from(excess);
    }

    /// Begins with a message that has nothing under way: it has no free tokens, or all of them were lost.
    pub(super) fn start_slots(&mut self, key: DefaultKey, free: u32) {
        if self.params.mode == Mode::Arrival {
            let message = &mut self.messages[key];
            message.slots = if free == 0 { message.terms.bdp } else { free };
        }
    }

    /// One token each frame time while any message may have one. pHost §3
    pub(super) fn pace_tokens(&mut self, shared: &mut Shared, now: Time) {
        if now >= self.next_slot {
            // With no message to serve the pacer sleeps, until an arrival or a deadline of a message leads here.
            let Some((place, index)) = self.next_turn(shared, now) else { return };
            let key = self.listed[place];
            self.use_slot(shared, now, key, index);
            // Counted from now: slots without a message to serve are not made up for.
            self.next_slot = now + shared.context.sizes.slot_time(shared.context.nic);
            if self.params.scheduler == Policy::Fair {
                self.listed.remove(place);
                self.listed.push_back(key);
            }
            self.settle_slots(shared, now, key);
        }
        if !self.pacer_armed && !self.listed.is_empty() {
            self.pacer_armed = true;
            shared.timers.arm_deadline(self.next_slot, TimerKey::Pacer);
        }
    }

    /// The pacer's slot has come.
    pub(super) fn pacer_due(&mut self, shared: &mut Shared, now: Time) {
        self.pacer_armed = false;
        self.pace_tokens(shared, now);
    }

    /// The message with the next turn at the pacer: its place in the list, and the packet to ask for.
    fn next_turn(&mut self, shared: &mut Shared, now: Time) -> Option<(usize, u32)> {
        let mut best: Option<((u32, u64), usize, u32)> = None;
        let mut place = 0;
        while place < self.listed.len() {
            let key = self.listed[place];
            let Some(index) = self.messages.get_mut(key).and_then(Incoming::wanted_packet) else {
                self.unlist_message(place);
                // All of it is asked for: from now on it waits for the end of its pass.
                self.arm_wake_timer(shared, now, key);
                continue;
            };
            let entitled = self.params.mode == Mode::Paced || self.messages[key].slots > 0;
            if entitled && self.is_admissible(shared, now, key) {
                let message = &self.messages[key];
                let rank = (message.remaining_packets(), message.order);
                if best.is_none_or(|(other, ..)| rank < other) {
                    best = Some((rank, place, index));
                }
                // The list is in the order of turns, so that the first message that may have one has it.
                if self.params.scheduler == Policy::Fair {
                    break;
                }
            }
            place += 1;
        }
        best.map(|(_, place, index)| (place, index))
    }

    /// pHost §3: a source that leaves too many tokens unanswered is downgraded; others have its slots.
    fn is_admissible(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) -> bool {
        let message = &mut self.messages[key];
        message.note_answer();
        if message.state == ReceiverState::Active && message.at_limit() {
            message.state.step(ReceiverEvent::Limit);
            self.arm_wake_timer(shared, now, key);
            return false;
        }
        message.state == ReceiverState::Active
    }

    /// A paced message's deadline.
    pub(super) fn paced_due(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let message = &mut self.messages[key];
        match message.state {
            ReceiverState::Announced => message.start_without(),
            ReceiverState::Downgraded => message.forgive_unanswered(),
            // pHost §3: all packets have been asked for, some have not come.
            ReceiverState::Asked => message.next_pass(),
            ReceiverState::Active | ReceiverState::Done => {}
        }
        self.list_message(key);
        self.pace_tokens(shared, now);
    }

    /// AMRT §III-A: a packet arrived; its slot triggers the next token at once.
    pub(super) fn slot_freed(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let preferred = match self.params.scheduler {
            Policy::Fair => key,
            // AMRT §VII: the message with the fewest packets remaining has all tokens.
            Policy::Srpt => self.slot_candidate(true).unwrap_or(key),
        };
        self.messages[preferred].gifts += u32::from(preferred != key);
        self.messages[preferred].slots += 1;
        match self.messages[preferred].wanted_packet() {
            Some(index) if self.is_admissible(shared, now, preferred) => {
                self.use_slot(shared, now, preferred, index)
            }
            _ => {}
        }
        self.settle_slots(shared, now, preferred);
    }

    fn use_slot(&mut self, shared: &mut Shared, now: Time, key: DefaultKey, index: u32) {
        self.send_token(shared, now, key, index);
        let message = &mut self.messages[key];
        // Messages of a paced receiver have no slots.
        message.slots = message.slots.saturating_sub(1);
    }

    /// After a message's slots changed: slots that it cannot use go on to others, and those that no arrival
    /// clocks wait for the pacer.
    pub(super) fn settle_slots(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let Some(message) = self.messages.get_mut(key) else { return };
        if message.wanted_packet().is_none() {
            message.state.step(ReceiverEvent::AllAsked);
            let slots = std::mem::take(&mut message.slots);
            let (count, after) = (message.release_slots(slots), message.terms.downgrade);
            self.hand_on(shared, now, count, after);
        } else if message.slots > 0 {
            self.pace_tokens(shared, now);
        }
        self.arm_wake_timer(shared, now, key);
    }

    /// The message that a slot without an owner goes to; for SRPT, it may also be kept for one at its limit.
    fn slot_candidate(&mut self, keep: bool) -> Option<DefaultKey> {
        let mut best: Option<((u32, u64), DefaultKey)> = None;
        let mut place = 0;
        while place < self.listed.len() {
            let key = self.listed[place];
            if self.messages.get_mut(key).and_then(Incoming::wanted_packet).is_none() {
                self.unlist_message(place);
                continue;
            }
            place += 1;
            let message = &self.messages[key];
            let full = message.state == ReceiverState::Downgraded
                || message.unanswered_tokens() + message.slots >= message.terms.limit;
            // A silent source would leave the slot unanswered like the others.
            if message.silent || (full && !keep) {
                continue;
            }
            let rank = match self.params.scheduler {
                Policy::Srpt => message.remaining_packets(),
                Policy::Fair => message.open_tokens() + message.slots,
            };
            if best.is_none_or(|(other, _)| (rank, message.order) < other) {
                best = Some(((rank, message.order), key));
            }
        }
        best.map(|(_, key)| key)
    }

    /// Hands a finished message's slots on to others.
    pub(super) fn release_surplus(
        &mut self,
        shared: &mut Shared,
        now: Time,
        message: &mut Incoming,
        slots: u32,
    ) {
        let count = message.release_slots(slots);
        self.hand_on(shared, now, count, message.terms.downgrade);
    }

    /// AMRT §III-B: the receiver waits out the downgrade time before it gives a message's tokens to others.
    fn hand_on(&mut self, shared: &mut Shared, now: Time, count: u32, after: Time) {
        if count == 0 {
            return;
        }
        if self.params.scheduler == Policy::Srpt
            && let Some(key) = self.slot_candidate(true)
        {
            return self.give_slots(shared, now, key, count);
        }
        for _ in 0..count {
            shared.timers.arm_deadline(now + after, TimerKey::Released);
        }
    }

    fn give_slots(&mut self, shared: &mut Shared, now: Time, key: DefaultKey, count: u32) {
        self.messages[key].slots += count;
        self.messages[key].gifts += count;
        self.settle_slots(shared, now, key);
    }

    /// A slot that was passed on is free; it is lost when no message can use it.
    pub(super) fn slot_released(&mut self, shared: &mut Shared, now: Time) {
        if let Some(key) = self.slot_candidate(false) {
            self.give_slots(shared, now, key, 1);
        }
    }

    /// An arrival-driven message's deadline.
    pub(super) fn arrival_due(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let message = &mut self.messages[key];
        if message.state == ReceiverState::Downgraded {
            self.lend_window(shared, now, key);
        } else if message.open_tokens() > 0 {
            message.slots += message.give_up_overdue(now);
        } else if message.slots == 0
            && (self.params.scheduler == Policy::Fair
                || self.slot_candidate(true).is_none_or(|best| best == key))
        {
            // It had to give all its slots away, and none was returned.
            self.messages[key].slots = 1;
        }
        if self.messages[key].open_tokens() == 0 {
            self.messages[key].asked_at = now;
        }
        self.list_message(key);
        self.settle_slots(shared, now, key);
    }

    /// AMRT §III-B: a source that stayed silent for the downgrade time loses its tokens to others, and may
    /// show with a new window that it is back.
    fn lend_window(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let message = &mut self.messages[key];
        message.slots += message.open_tokens();
        // Before `forgive_unanswered`, which gives up all that is open.
        let count = message.lend_slots();
        message.forgive_unanswered();
        message.silent = true;
        for _ in 0..count {
            self.slot_released(shared, now);
        }
    }
}
