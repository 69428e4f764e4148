//! The sending half of dcPIM: announcements, answers to requests, and tokens.

use super::matching::{Bid, epoch_and_round, put_bid, round_number, sort_bids};
use super::packets::{Busy, Credit, Data, Rts, Token};
use super::{DcpimParams, Known, Shared, Terms, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::two_sided::SendingHalf;
use headway_packet::{HostId, Packet, PacketFlags, PacketKind, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::BTreeMap;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Announced { Token => Tokened, IdleTimeout => Announced, Finished => Done }
        Tokened { Token => Tokened, IdleTimeout => Tokened, Finished => Done }
        Done {}
    }
    events { Token, IdleTimeout, Finished }
}

/// The rank of free tokens: before all that receivers give. dcPIM §3.5
const FREE: u32 = 1;

/// Permission to send one packet, until it expires.
#[derive(Clone, Copy)]
struct Held {
    key: DefaultKey,
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
    began: Time,
    state: SenderState,
    initial_window: Option<FirstWindowSchedule>,
    window: u32,
    departed: IndexWindow,
    /// Tokens that wait for the wire, and the packets to come under which they do: those of the first of them, so that
    /// they keep their order.
    waiting: u32,
    ranked: u64,
    timeout: Time,
    idle: IdleTimer,
}

/// Channels of this host that are taken, in the epoch that is being matched and in the one before, whose data flows.
#[derive(Clone, Copy, Default)]
struct Booked {
    epoch: u64,
    channels: u32,
    /// Channels of this epoch that are in use already.
    prompt: u32,
    running: u32,
}

impl Booked {
    /// Makes `epoch` the one that is being matched.
    fn advance_epoch(&mut self, epoch: u64) {
        if epoch > self.epoch {
            // Channels that were matched longer ago are idle again.
            let running = if epoch == self.epoch + 1 { self.channels } else { 0 };
            *self = Booked { epoch, channels: 0, prompt: 0, running };
        }
    }
}

/// All messages that this host sends.
pub struct Sender {
    params: DcpimParams,
    known: Known,
    messages: Messages<Outgoing>,
    /// Tokens by rank, packets to come, order of opening, and order of coming.
    tokens: BTreeMap<(u32, u64, u64, u64), Held>,
    requests: Vec<Bid>,
    booked: Booked,
    answering: Option<Time>,
    opened: u64,
    came: u64,
}

/// Class of a message's data by its whole size: powers of seven. dcPIM §3.6
fn data_class(packets: u32) -> u8 {
    let mut most = 7;
    let mut class = 1;
    while class < 6 && packets > most {
        (most, class) = (most * 7, class + 1);
    }
    class
}

impl Sender {
    pub(super) fn new(params: DcpimParams) -> Sender {
        Sender {
            params,
            known: Known::default(),
            messages: Messages::default(),
            tokens: BTreeMap::new(),
            requests: Vec::new(),
            booked: Booked::default(),
            answering: None,
            opened: 0,
            came: 0,
        }
    }

    /// The packets of a message that leave at once, if it has any. dcPIM §3.1
    fn first_window(
        context: &HostContext,
        terms: &Terms,
        now: Time,
        message: &Message,
        packets: u32,
    ) -> Option<FirstWindowSchedule> {
        let path = (context.path)(message.dst);
        // A first window that a scenario asks for holds for long messages, too (see the deviations).
        let asked = message.initial_window.share > 1 || message.initial_window.window.is_some();
        let bdp = if asked { context.bdp_packets(&path, &message.initial_window) } else { terms.bdp };
        let schedule = || {
            let slot = context.sizes.slot_time(path.bottleneck);
            FirstWindowSchedule::new(message.initial_window, bdp, packets, slot, now)
        };
        (asked || packets <= terms.bdp).then(schedule)
    }

    fn hold_token(&mut self, key: DefaultKey, rank: u32, packets: u64, held: Held) {
        let out = &mut self.messages[key];
        if out.waiting == 0 {
            out.ranked = packets;
        }
        out.waiting += 1;
        self.came += 1;
        self.tokens.insert((rank, out.ranked, out.order, self.came), held);
    }

    /// Makes free packets usable when their time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let Some(initial_window) = &mut out.initial_window else { return };
        let (first, count) =
            initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        let packets = out.packets.into();
        for index in first..first + count {
            self.hold_token(key, FREE, packets, Held { key, index, number: index, expires: Time::MAX });
        }
    }

    /// A receiver asks for channels, or takes some that it was offered.
    pub(super) fn receive_matching(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find_key((packet.src, packet.message)) else { return };
        let terms = self.known.terms_for(&self.params, &shared.context, packet.src);
        let Credit { stage, channels, prompt, round, packets } = Credit::from_packet(packet);
        let (epoch, round) = epoch_and_round(round);
        let out = &mut self.messages[key];
        if out.idle.mark_heard(now) {
            out.arm_timeout(shared, now);
        }
        self.booked.advance_epoch(terms.schedule.epoch_at(now));
        // A request: the other stage takes what was offered.
        if stage == 0 {
            let bid = Bid {
                peer: packet.src,
                message: packet.message,
                tag: packet.tag,
                epoch,
                round,
                packets,
                began: out.began,
                // From the wire: a host has no more than these.
                channels: channels.min(terms.channels),
                prompt: prompt.min(terms.channels),
            };
            put_bid(&mut self.requests, bid);
            self.answer_later(shared, &terms, now);
        } else if epoch == self.booked.epoch {
            self.booked.channels += channels.min(terms.channels);
            self.booked.prompt += prompt.min(terms.channels);
        // Taken so late that its data flows in the epoch that has begun.
        } else if epoch + 1 == self.booked.epoch {
            self.booked.running += channels.min(terms.channels);
        }
    }

    fn answer_later(&mut self, shared: &mut Shared, terms: &Terms, now: Time) {
        let at = terms.schedule.next_answer(now);
        // A later deadline finds that it is not the one in force any more.
        if self.answering.is_none_or(|armed| at < armed) {
            self.answering = Some(at);
            shared.timers.arm_deadline(at, TimerKey::Answer);
        }
    }

    /// The middle of a round: offers channels to those that have asked by now. dcPIM §3.2
    pub(super) fn answer_requests(&mut self, shared: &mut Shared, at: Time, now: Time) {
        if self.answering != Some(at) {
            return;
        }
        self.answering = None;
        // Offers of an earlier round that a slow wire has not taken yet would arrive too late.
        shared.control.retain(|packet| packet.kind != PacketKind::Busy);
        let Some(first) = self.requests.first() else { return };
        let terms = self.known.terms_for(&self.params, &shared.context, first.peer);
        let (epoch, round) = terms.schedule.answered_round(at);
        self.booked.advance_epoch(epoch);
        let is_due = |bid: &Bid| (bid.epoch, bid.round) <= (epoch, round);
        let mut due: Vec<Bid> = self.requests.iter().copied().filter(is_due).collect();
        self.requests.retain(|bid| !is_due(bid));
        sort_bids(&mut due, shared.context.host, (epoch, round), round <= self.params.smallest_rounds);
        // Takes that came late may have booked more than there are.
        let mut free = terms.channels.saturating_sub(self.booked.channels);
        let mut idle = terms.channels.saturating_sub(self.booked.running + self.booked.prompt);
        for bid in due {
            let channels = bid.channels.min(free);
            // The message may be over by now.
            let Some(key) = self.messages.find_key((bid.peer, bid.message)) else { continue };
            if channels == 0 {
                continue;
            }
            let prompt = channels.min(bid.prompt).min(idle);
            (free, idle) = (free - channels, idle - prompt);
            let round = round_number((bid.epoch, bid.round));
            let offer = Busy { channels, prompt, round, packets: bid.packets };
            let entropy = self.messages[key].message.entropy;
            let offer = shared.control_view(offer, bid.peer, bid.message, bid.tag, entropy);
            shared.control.push_back(offer);
        }
        if !self.requests.is_empty() {
            self.answer_later(shared, &terms, now);
        }
    }

    /// Permission for one packet.
    pub(super) fn receive_token(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find_key((packet.src, packet.message)) else { return };
        let Token { index, number, rank, packets, lifetime, .. } = Token::from_packet(packet);
        let out = &mut self.messages[key];
        if out.idle.mark_heard(now) {
            out.arm_timeout(shared, now);
        }
        if index >= if out.message.responsive { out.packets } else { out.window } {
            return;
        }
        out.state.step(SenderEvent::Token);
        let held = Held { key, index, number, expires: now.saturating_add(lifetime) };
        // The rank comes from the wire, and must not reach that of free tokens.
        self.hold_token(key, rank.max(FREE + 1), packets, held);
    }

    /// The receiver has everything.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.state.step(SenderEvent::Finished);
            shared.report_acknowledged(&out.message);
        }
        self.drop_tokens();
    }

    /// Tokens of messages that are gone permit nothing.
    fn drop_tokens(&mut self) {
        let messages = &self.messages;
        self.tokens.retain(|_, held| messages.contains_key(held.key));
    }

    /// Announces a message again after silence.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let held = out.waiting > 0 || out.initial_window.as_ref().is_some_and(|w| w.next().is_some());
        let timeout = out.announce_timeout();
        if !out.idle.has_expired(&mut shared.timers, now, held, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        out.send_announcement(shared);
        out.arm_timeout(shared, now);
    }
}

impl SendingHalf<TimerKey> for Sender {
    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id) {
            found(&probes::PERMITTED, out.waiting.into());
        }
    }

    /// dcPIM §3.1: every message is announced; a short one leaves at once.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let terms = self.known.terms_for(&self.params, &shared.context, message.dst);
        let packets = shared.context.sizes.packets_of(message.bytes) as u32;
        let initial_window = Self::first_window(&shared.context, &terms, now, message, packets);
        let matching = terms.schedule.period.saturating_mul(2);
        let path = (shared.context.path)(message.dst);
        self.opened += 1;
        let mut out = Outgoing {
            message: *message,
            packets,
            order: self.opened,
            began: now,
            state: SenderState::Announced,
            window: initial_window.as_ref().map_or(0, FirstWindowSchedule::window_packets),
            initial_window,
            departed: IndexWindow::default(),
            waiting: 0,
            ranked: 0,
            // Before a round in which its receiver asks, a sender hears nothing even if nothing is lost.
            timeout: path.max_rtt.saturating_mul(3).saturating_add(matching),
            idle: IdleTimer::new(now, &path),
        };
        out.send_announcement(shared);
        out.arm_timeout(shared, now);
        self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
    }

    /// The packet of the token with the lowest rank. dcPIM §3.5
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let (_, held) = self.tokens.pop_first()?;
            let Some(out) = self.messages.get_mut(held.key) else { continue };
            out.waiting -= 1;
            // `<`: a token is good in the instant of its end.
            if held.expires < now {
                continue;
            }
            out.idle.mark_sent(now);
            let again = !out.departed.insert(held.index);
            let packet = shared.context.data_packet(&out.message, held.index, out.window);
            let mut packet = Data { number: held.number, ..Data::from_packet(&packet) }.put_on(packet);
            packet.priority = data_class(out.packets);
            packet.flags = PacketFlags::only_if(again, PacketFlags::AGAIN);
            return Some(packet);
        }
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.requests.retain(|bid| !gone.covers_message((bid.peer, bid.message)));
        self.drop_tokens();
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

impl Outgoing {
    fn send_announcement(&self, shared: &mut Shared) {
        let message = &self.message;
        let rts = Rts { window: self.window, message_bytes: message.bytes };
        let mut packet =
            rts.put_on(Packet::new(PacketKind::Rts, shared.context.host, message.dst, message.id));
        packet.wire = shared.context.sizes.control;
        (packet.tag, packet.entropy) = (message.tag, message.entropy);
        shared.control.push_back(packet);
    }

    /// Silence after which the announcement is repeated.
    fn announce_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.timeout, MAX_BACKOFF)
    }

    fn arm_timeout(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(self.announce_timeout()), key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_seven() {
        let ends = [1, 7, 8, 49, 50, 343, 344, 2401, 2402, 16_807, 16_808, u32::MAX];
        assert_eq!(ends.map(data_class), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }
}
