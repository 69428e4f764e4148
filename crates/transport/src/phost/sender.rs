//! The sending half of pHost: announcements, free tokens, tokens.

use super::packets::{Data, Rts, Token};
use super::{FreeRule, Mode, PhostParams, Policy, Shared, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::shared::scale_time;
use crate::two_sided::SendingHalf;
use headway_packet::{HostId, Packet, PacketFlags, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its source.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Announced { Token => Tokened, IdleTimeout => Announced, Finished => Done }
        Tokened { Token => Tokened, IdleTimeout => Tokened, Finished => Done }
        Done {}
    }
    events { Token, IdleTimeout, Finished }
}

/// Token numbers that are remembered one by one, so that a number out of the blue costs no memory.
const NUMBERS: u32 = 1 << 20;

/// Permission to send one packet, until it expires.
#[derive(Clone, Copy)]
struct Held {
    index: u32,
    number: u32,
    expires: Time,
}

/// A message being sent.
struct Outgoing {
    message: Message,
    packets: u32,
    /// Order of opening, for ties.
    order: u64,
    state: SenderState,
    initial_window: Option<FirstWindowSchedule>,
    /// Free tokens not used, `index` and `number` alike, of which those below `released` may go.
    free: u32,
    released: u32,
    free_expire: Time,
    /// Tokens in order of arrival, which is the order of expiry.
    tokens: VecDeque<Held>,
    /// Numbers of tokens that have arrived, the free ones among them.
    numbers: IndexWindow,
    departed: IndexWindow,
    /// Packets that the receiver misses, as its last token said.
    remaining: u32,
    newest: u32,
    priority: u8,
    ready: bool,
    /// Patience before the first repetition of the announcement.
    retry: Time,
    idle: IdleTimer,
}

/// All messages that this host sends.
pub struct Sender {
    params: PhostParams,
    messages: Messages<Outgoing>,
    /// Messages that may hold tokens.
    ready: VecDeque<DefaultKey>,
    opened: u64,
}

impl Sender {
    pub(super) fn new(params: PhostParams) -> Sender {
        Sender { params, messages: Messages::default(), ready: VecDeque::new(), opened: 0 }
    }

    fn new_outgoing(&mut self, context: &HostContext, now: Time, message: &Message) -> Outgoing {
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let bdp = context.first_window(self.params.free_tokens, &path, &message.initial_window);
        let slot = context.sizes.slot_time(path.bottleneck);
        let window = message.initial_window.window.unwrap_or(bdp);
        let initial_window = match self.params.free_rule {
            FreeRule::Yaps if packets > window => None,
            _ => Some(FirstWindowSchedule::new(message.initial_window, bdp, packets, slot, now)),
        };
        // pHost §3: a free token outlives the burst by as much as any token outlives its arrival.
        let life = self.params.token_validity(slot);
        let free_expire = initial_window.as_ref().map_or(now, |o| o.last_departure().saturating_add(life));
        self.opened += 1;
        let mut numbers = IndexWindow::default();
        // Free tokens have the first numbers, so that a token with one of these is a duplicate.
        numbers.insert_below(initial_window.as_ref().map_or(0, FirstWindowSchedule::window_packets));
        Outgoing {
            message: *message,
            packets,
            order: self.opened,
            state: SenderState::Announced,
            initial_window,
            free: 0,
            released: 0,
            free_expire,
            tokens: VecDeque::new(),
            numbers,
            departed: IndexWindow::default(),
            remaining: packets,
            newest: 0,
            // pHost §3: control in class 0, short messages before long ones.
            priority: if self.params.priorities && packets > bdp { 2 } else { 1 },
            ready: false,
            retry: scale_time(path.max_rtt, self.params.rts_retry),
            idle: IdleTimer::new(now, &path),
        }
    }

    /// Makes free tokens usable when their time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let Some(initial_window) = &mut out.initial_window else { return };
        let (first, count) =
            initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        out.released = first + count;
        self.make_ready(key);
    }

    fn make_ready(&mut self, key: DefaultKey) {
        let out = &mut self.messages[key];
        if !out.ready && (out.free < out.released || !out.tokens.is_empty()) {
            out.ready = true;
            self.ready.push_back(key);
        }
    }

    /// pHost §3: a token allows the one packet it names, for its lifetime.
    pub(super) fn receive_token(&mut self, shared: &mut Shared, now: Time, token: &Packet) {
        let Some(key) = self.messages.find_key((token.src, token.message)) else { return };
        let out = &mut self.messages[key];
        if out.idle.mark_heard(now) {
            out.arm_timeout(shared, now);
        }
        out.state.step(SenderEvent::Token);
        let Token { index, number, missing, lifetime, .. } = Token::from_packet(token);
        if !out.message.responsive || index >= out.packets || !out.fresh_number(number) {
            return;
        }
        // Tokens overtake each other, and only the newest says how much is missing now.
        if number >= out.newest {
            out.newest = number;
            out.remaining = missing;
        }
        if token.flags.has_all(PacketFlags::AGAIN) && out.renumber_held(now, index, number) {
            return;
        }
        let expires = now.saturating_add(lifetime);
        out.tokens.push_back(Held { index, number, expires });
        self.make_ready(key);
    }

    /// The receiver has everything.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.state.step(SenderEvent::Finished);
            shared.report_acknowledged(&out.message);
        }
    }

    /// Announces a message again that has heard nothing: its announcement with the whole first window, all
    /// its tokens, or the receiver's last word were lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let timeout = out.announce_timeout();
        if !out.idle.has_expired(&mut shared.timers, now, false, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        out.send_announcement(shared, now);
        out.arm_timeout(shared, now);
    }

    /// Place in `ready` of the message to serve.
    fn preferred_place(&self) -> Option<usize> {
        if self.params.source_scheduler == Policy::Fair {
            return (!self.ready.is_empty()).then_some(0);
        }
        // A message that is gone comes first, to be dropped from the list.
        let rank = |key| self.messages.get(key).map_or((0, 0), |m| (m.remaining, m.order));
        let best = self.ready.iter().enumerate().min_by_key(|(_, key)| rank(**key));
        best.map(|(place, _)| place)
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// pHost §3: a new message is announced and starts on its free tokens.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let out = self.new_outgoing(&shared.context, now, message);
        out.send_announcement(shared, now);
        let key = self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
        let out = &mut self.messages[key];
        out.arm_timeout(shared, now);
    }

    /// pHost §3: the next data packet for a wire that is free now, of the message that the policy prefers
    /// among those with a token that has not expired.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let context = &shared.context;
        loop {
            let place = self.preferred_place()?;
            let key = self.ready[place];
            let Some(out) = self.messages.get_mut(key) else {
                self.ready.remove(place);
                continue;
            };
            let Some(held) = out.take_token(now) else {
                out.ready = false;
                self.ready.remove(place);
                continue;
            };
            if self.params.source_scheduler == Policy::Fair {
                // With this policy `place` is the front.
                self.ready.rotate_left(1);
            }
            out.idle.mark_sent(now);
            let again = !out.departed.insert(held.index);
            return Some(out.data_packet(context, held, again));
        }
    }

    fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.ready.retain(|key| self.messages.contains_key(*key));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id) {
            found(&probes::PERMITTED, f64::from(out.free) + out.tokens.len() as f64);
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

impl Outgoing {
    /// True if a token with this number has not arrived before; one that has is a duplicate of the network's
    /// making. Numbers far below the highest are not remembered one by one and count as duplicates.
    fn fresh_number(&mut self, number: u32) -> bool {
        // The set keeps the number after its last one, which would overflow.
        if number == u32::MAX {
            return false;
        }
        self.numbers.skip_to(number.saturating_sub(NUMBERS));
        self.numbers.insert(number)
    }

    /// Silence after which the message is announced again.
    fn announce_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.retry, MAX_BACKOFF)
    }

    /// Arms the idle timer for a time-out from now on.
    fn arm_timeout(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(self.announce_timeout()), key);
    }

    fn free_window(&self) -> u32 {
        self.initial_window.as_ref().map_or(0, FirstWindowSchedule::window_packets)
    }

    /// `count` packets follow without permission, the last of them within `lifetime`. A repeated
    /// announcement is flagged: its free packets are not on their way.
    fn send_announcement(&self, shared: &mut Shared, now: Time) {
        let m = &self.message;
        let lifetime =
            self.initial_window.as_ref().map_or(Time::ZERO, |o| o.last_departure().saturating_sub(now));
        let rts = Rts { message_bytes: m.bytes, window: self.free_window(), lifetime, packets: self.packets };
        let rts = shared.control_view(rts, m.dst, m.id, m.tag, m.entropy);
        let flags = PacketFlags::only_if(self.idle.backoff_count() > 0, PacketFlags::AGAIN);
        shared.control.push_back(Packet { flags, ..rts });
    }

    /// A token issued again replaces one for the same packet that still waits here, if any.
    fn renumber_held(&mut self, now: Time, index: u32, number: u32) -> bool {
        let usable = |held: &&mut Held| held.index == index && held.expires >= now;
        if let Some(held) = self.tokens.iter_mut().find(usable) {
            held.number = number;
            return true;
        }
        // A free token that waits covers it as well.
        (self.free..self.free_window()).contains(&index) && self.free_expire >= now
    }

    /// pHost §3: uses the token that expires first; expired ones are dropped.
    fn take_token(&mut self, now: Time) -> Option<Held> {
        while self.tokens.front().is_some_and(|held| held.expires < now) {
            self.tokens.pop_front();
        }
        if self.free_expire < now {
            // Free tokens expire together.
            self.free = self.free_window();
        }
        let token = self.tokens.front().map(|held| held.expires);
        if self.free < self.released && token.is_none_or(|expires| self.free_expire <= expires) {
            let index = self.free;
            self.free += 1;
            return Some(Held { index, number: index, expires: self.free_expire });
        }
        self.tokens.pop_front()
    }

    fn data_packet(&self, context: &HostContext, held: Held, again: bool) -> Packet {
        let packet = context.data_packet(&self.message, held.index, self.free_window());
        let mut packet = Data { number: held.number, ..Data::from_packet(&packet) }.put_on(packet);
        packet.priority = self.priority;
        let free = held.number < self.free_window();
        packet.flags = PacketFlags::only_if(free, PacketFlags::UNSCHEDULED)
            .with(PacketFlags::only_if(again, PacketFlags::AGAIN));
        packet
    }
}

impl PhostParams {
    /// Time for which a token is valid after its arrival.
    pub(super) fn token_validity(&self, slot: Time) -> Time {
        match self.mode {
            _ if self.token_lifetime > 0.0 => scale_time(slot, self.token_lifetime),
            Mode::Paced => scale_time(slot, 1.5),
            Mode::Arrival => Time::MAX,
        }
    }
}
