//! The sending half of NDP.

use super::packets::{Ack, Data, Header, Nack, Pull};
use super::paths::{Paths, SEVERE};
use super::{NdpParams, Shared, TimerKey};
use crate::endpoint::{Ahead, Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::messages::{MessageId, Messages};
use crate::probes::{self, Sink};
use crate::two_sided::SendingHalf;
use headway_packet::{HostId, Packet, PacketFlags, PacketKind, TypedView};
use headway_primitives::{mix, prefetch};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::{BTreeSet, VecDeque};

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Push { Answer => Push, Pull => Pulled, Bounce => Push, Timeout => Push, Finished => Done }
        Pulled { Answer => Pulled, Pull => Pulled, Bounce => Pulled, Timeout => Pulled, Finished => Done }
        Done {}
    }
    events { Answer, Pull, Bounce, Timeout, Finished }
}

/// Place of a packet that has been sent at least once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Under way: nothing was heard of it.
    Away,
    /// Known not to have arrived; waits for a pull.
    Again,
    /// Known not to have arrived; waits for the wire alone.
    Urgent,
    /// At the receiver.
    There,
}

#[derive(Clone, Copy)]
struct Slot {
    sent: Time,
    path: u16,
    place: Place,
}

/// Feedback that is looked back on to tell a bad path from a busy receiver.
const HISTORY: u32 = 12;

/// Time-outs of a packet that a repetition waits for its pull at first, and doublings of that at most. Only
/// a receiver that has finished, and whose last packet was lost, owes a pull for that long and will not send it.
const STALLED_TIMEOUTS: u64 = 16;
const MAX_STALLS: u32 = 10;

/// A message being sent.
struct Outgoing {
    message: Message,
    packets: u32,
    initial_window: FirstWindowSchedule,
    state: SenderState,
    /// Packets below have arrived; `slots` are those from here to `next`, which has not been sent.
    base: u32,
    next: u32,
    slots: VecDeque<Slot>,
    /// Packets of the first window that may leave.
    pushes: u32,
    /// Pulls not used yet, and the highest number of one. NDP §3.2.1
    credit: u32,
    pulled: u32,
    again: BTreeSet<u32>,
    urgent: VecDeque<u32>,
    /// In order of departure; entries that no longer match their slot mean nothing.
    flight: VecDeque<(Time, u32)>,
    away: u32,
    /// Packets acknowledged, positively or not: the receiver owes a pull for each.
    answered: u32,
    /// The latest answers, one bit each (1 for an acknowledgement), and the number of answers so far.
    history: u16,
    heard: u32,
    paths: Paths,
    timeout: Time,
    backoff: u32,
    /// Time of the receiver's last answer or of the last repetition without a pull, and such repetitions since that answer.
    active: Time,
    stalls: u32,
    /// The one deadline in force; others of this message are left over and mean nothing.
    lost_at: Option<Time>,
    /// In the ring of messages that have something to send.
    in_turns: bool,
}

/// All messages that this host sends.
pub struct Sender {
    params: NdpParams,
    messages: Messages<Outgoing>,
    /// Messages with something to send, a packet each in turn.
    turns: VecDeque<DefaultKey>,
}

impl Sender {
    pub(super) fn new(params: NdpParams) -> Sender {
        Sender { params, messages: Messages::default(), turns: VecDeque::new() }
    }

    /// Prefetches the memory that a packet about message `id`, or an input that is not a packet, will touch.
    #[inline]
    pub(super) fn prefetch_message(&self, id: Option<MessageId>, packet: Option<&Packet>, ahead: Ahead) {
        let Some(out) = self.messages.recent_entry(id) else { return };
        match ahead {
            Ahead::Far => prefetch(out),
            Ahead::Near => {
                let place =
                    // Every answer has the index at the same place.
                    packet.and_then(|packet| Ack::from_packet(packet).index.checked_sub(out.base)).unwrap_or(0);
                out.slots.get(place as usize).into_iter().for_each(prefetch);
                out.slots.front().into_iter().for_each(prefetch);
                out.slots.back().into_iter().for_each(prefetch);
                out.flight.front().into_iter().for_each(prefetch);
                out.flight.back().into_iter().for_each(prefetch);
                out.paths.prefetch_next();
            }
        }
    }

    /// Releases the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        out.pushes +=
            out.initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id)).1;
        self.take_turns(key);
    }

    /// Puts a message into the ring if it has something to send.
    #[inline]
    fn take_turns(&mut self, key: DefaultKey) {
        let out = &mut self.messages[key];
        if !out.in_turns && out.is_ready() {
            out.in_turns = true;
            self.turns.push_back(key);
        }
    }

    /// Handles a receiver's answer about a message, or a header that a switch returns.
    pub(super) fn receive_answer(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find_key((packet.src, packet.message)) else { return };
        let out = &mut self.messages[key];
        (out.active, out.stalls) = (now, 0);
        match packet.kind {
            PacketKind::Ack => out.mark_arrived(Ack::from_packet(packet).index),
            PacketKind::Nack => out.mark_trimmed(Nack::from_packet(packet).index),
            PacketKind::Header => out.mark_bounced(Header::from_packet(packet).index),
            _ => {}
        }
        // Acknowledgements of either sort say these two where pulls do.
        let Pull { arrived, permitted } = Pull::from_packet(packet);
        // A returned header is this host's own packet: that field holds the size of its first window.
        if packet.kind != PacketKind::Header {
            out.arrived_below(arrived);
        }
        if out.base == out.packets {
            return self.finish_message(shared, key, (packet.src, packet.message));
        }
        let pull = packet.flags.has_all(PacketFlags::PULL);
        if pull {
            out.add_pulls(permitted);
        }
        // After the pull was counted, which may be all that is to come.
        out.keep_going(pull && packet.flags.has_all(PacketFlags::AGAIN));
        // The deadline in force counts the doublings, and would come too late.
        if out.backoff > 0 {
            out.backoff = 0;
            out.arm_lost_timer(shared, now);
        }
        self.take_turns(key);
    }

    fn finish_message(&mut self, shared: &mut Shared, key: DefaultKey, id: MessageId) {
        if let Some(mut out) = self.messages.remove(id) {
            out.state.step(SenderEvent::Finished);
            if out.in_turns {
                self.turns.retain(|k| *k != key);
            }
            shared.report_acknowledged(&out.message);
        }
    }

    /// NDP §3.2.3: a lost packet is sent again at once, on another path.
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        if out.lost_at.is_none_or(|at| now < at) {
            return;
        }
        out.lost_at = None;
        let timeout = out.packet_timeout();
        let mut lost = false;
        while let Some((sent, index)) =
            out.oldest_flight().filter(|(sent, _)| sent.saturating_add(timeout) <= now)
        {
            debug_assert!(sent <= now);
            out.flight.pop_front();
            out.mark_lost(index);
            lost = true;
        }
        if lost {
            out.state.step(SenderEvent::Timeout);
            out.backoff = (out.backoff + 1).min(self.params.backoff as u32);
        } else if out.stalled_at().is_some_and(|at| at <= now) {
            out.send_unpulled(now);
        }
        out.arm_lost_timer(shared, now);
        self.take_turns(key);
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// NDP §3.2: a new message pushes its first window at line rate.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let context = &shared.context;
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let window = self.params.first_window(&path, context, &message.initial_window);
        let slot = context.sizes.slot_time(path.bottleneck);
        // Unlike the receiving half's seed for a message of the same number, or both would take paths in step.
        let seed = mix(u64::from(context.host.0) << 32 | u64::from(message.id)) ^ 1;
        let out = Outgoing {
            message: *message,
            packets,
            initial_window: FirstWindowSchedule::new(message.initial_window, window, packets, slot, now),
            state: SenderState::Push,
            base: 0,
            next: 0,
            slots: VecDeque::new(),
            pushes: 0,
            credit: 0,
            pulled: 0,
            again: BTreeSet::new(),
            urgent: VecDeque::new(),
            flight: VecDeque::new(),
            away: 0,
            answered: 0,
            history: 0,
            heard: 0,
            paths: Paths::new(&self.params, &path, message.entropy, seed, true),
            timeout: self.params.packet_timeout(&path),
            backoff: 0,
            active: now,
            stalls: 0,
            lost_at: None,
            in_turns: false,
        };
        self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let key = self.turns.pop_front()?;
            let out = &mut self.messages[key];
            // Its packets may have been acknowledged since.
            let Some((index, flags)) = out.take_next() else {
                out.in_turns = false;
                continue;
            };
            let packet = out.data_packet(&shared.context, now, index, flags);
            // A deadline in force is of an earlier departure.
            if out.lost_at.is_none() {
                out.arm_lost_timer(shared, now);
            }
            out.in_turns = out.is_ready();
            if out.in_turns {
                self.turns.push_back(key);
            }
            return Some(packet);
        }
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.turns.retain(|key| self.messages.contains_key(*key));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id) {
            found(&probes::IN_FLIGHT, out.away.into());
            found(&probes::PERMITTED, f64::from(out.pushes) + f64::from(out.credit));
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

impl Outgoing {
    /// The slot of a packet that was sent and has not been found to have arrived with all before it.
    #[inline]
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index.checked_sub(self.base)? as usize)
    }

    /// True if a packet may leave.
    #[inline]
    fn is_ready(&self) -> bool {
        let new = self.next < self.packets;
        let pulled = self.credit > 0 && (!self.again.is_empty() || (new && self.message.responsive));
        pulled || (self.pushes > 0 && new) || !self.urgent.is_empty()
    }

    /// The next packet that may leave, and by what right. NDP §3.2
    fn take_next(&mut self) -> Option<(u32, PacketFlags)> {
        let new = self.next < self.packets;
        if self.pushes > 0 && new {
            self.pushes -= 1;
            return Some((self.next, PacketFlags::UNSCHEDULED));
        }
        while let Some(index) = self.urgent.pop_front() {
            if self.slot_mut(index).is_some_and(|slot| slot.place == Place::Urgent) {
                return Some((index, PacketFlags::UNSCHEDULED.with(PacketFlags::AGAIN)));
            }
        }
        if self.credit == 0 {
            return None;
        }
        // NDP §3.2: repetitions before new data. A tree keeps a node when it is empty, and asking reads it.
        let again = if self.again.is_empty() { None } else { self.again.pop_first() };
        let next = match again {
            Some(index) => (index, PacketFlags::AGAIN),
            None if new && self.message.responsive => (self.next, PacketFlags::default()),
            None => return None,
        };
        self.credit -= 1;
        Some(next)
    }

    /// Packet `index` leaves now.
    fn data_packet(&mut self, context: &HostContext, now: Time, index: u32, flags: PacketFlags) -> Packet {
        let path = match self.slot_mut(index).copied() {
            // Any path but the one that its last copy took.
            Some(slot) => self.paths.next(Some(slot.path)),
            None => self.paths.next(None),
        };
        let slot = Slot { sent: now, path, place: Place::Away };
        match self.slot_mut(index) {
            Some(there) => *there = slot,
            None => {
                self.slots.push_back(slot);
                self.next = index + 1;
            }
        }
        self.away += 1;
        // For its effect: entries that are over leave the front, so that `flight` stays as short as what is under
        // way.
        self.oldest_flight();
        self.flight.push_back((now, index));
        let packet = context.data_packet(&self.message, index, self.initial_window.window_packets());
        let mut packet =
            Data { class: self.message.class.into(), ..Data::from_packet(&packet) }.put_on(packet);
        packet.entropy = self.paths.path_entropy(path);
        packet.flags = flags;
        packet
    }

    /// Takes a packet out of the place where it is, if it has one.
    #[inline]
    fn leave_place(&mut self, index: u32, place: Place) {
        match place {
            Place::Away => self.away -= 1,
            Place::Again => {
                self.again.remove(&index);
            }
            // Its turn finds it gone.
            Place::Urgent | Place::There => {}
        }
    }

    fn remember_answer(&mut self, ack: bool) {
        self.history = self.history << 1 | u16::from(ack);
        self.heard += 1;
    }

    /// NDP §3.2: an acknowledgement frees the packet's buffer.
    fn mark_arrived(&mut self, index: u32) {
        let Some(slot) = self.slot_mut(index) else { return };
        let was = std::mem::replace(slot, Slot { place: Place::There, ..*slot });
        // Another acknowledgement of the same packet brings no other pull.
        if was.place == Place::There {
            return;
        }
        self.leave_place(index, was.place);
        self.state.step(SenderEvent::Answer);
        self.answered += 1;
        self.paths.count_ack(was.path);
        self.remember_answer(true);
        self.advance_base();
    }

    /// All packets below `index` have arrived.
    #[inline]
    fn arrived_below(&mut self, index: u32) {
        while self.base < index {
            let Some(slot) = self.slots.pop_front() else { return };
            // Its own acknowledgement was lost; the receiver owes a pull for it all the same.
            if slot.place != Place::There {
                self.leave_place(self.base, slot.place);
                self.answered += 1;
            }
            self.base += 1;
        }
        self.advance_base();
    }

    #[inline]
    fn advance_base(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.place == Place::There) {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    /// NDP §3.2: a packet that was trimmed is made ready, and waits for a pull.
    fn mark_trimmed(&mut self, index: u32) {
        let Some(slot) = self.slot_mut(index).filter(|slot| slot.place == Place::Away) else { return };
        slot.place = Place::Again;
        let path = slot.path;
        self.away -= 1;
        self.again.insert(index);
        self.state.step(SenderEvent::Answer);
        self.answered += 1;
        self.paths.count_nack(path, 1);
        self.remember_answer(false);
    }

    /// NDP §3.2.4: a returned packet waits for a pull, unless it met a bad path.
    fn mark_bounced(&mut self, index: u32) {
        let Some(slot) = self.slot_mut(index).filter(|slot| slot.place == Place::Away) else { return };
        let path = slot.path;
        self.away -= 1;
        self.state.step(SenderEvent::Bounce);
        self.paths.count_nack(path, SEVERE);
        self.remember_answer(false);
        let urgent = self.is_path_bad();
        self.queue_repetition(index, urgent);
    }

    /// Puts a packet that is nowhere in line to be sent again.
    fn queue_repetition(&mut self, index: u32, urgent: bool) {
        if urgent {
            self.urgent.push_back(index);
        } else {
            self.again.insert(index);
        }
        if let Some(slot) = self.slot_mut(index) {
            slot.place = if urgent { Place::Urgent } else { Place::Again };
        }
    }

    /// NDP §3.2.4: when a good part of the recent packets arrived, the network is not busy but uneven. A
    /// quarter of the last twelve, as in the authors' simulator.
    fn is_path_bad(&self) -> bool {
        let seen = self.heard.min(HISTORY);
        // As many bits as there have been answers.
        let acks = (self.history & ((1 << seen) - 1)).count_ones();
        acks > 0 && 4 * acks >= seen
    }

    /// Nothing was heard of a packet for too long.
    fn mark_lost(&mut self, index: u32) {
        let Some(path) = self.slot_mut(index).map(|slot| slot.path) else { return };
        self.away -= 1;
        self.paths.count_nack(path, SEVERE);
        self.queue_repetition(index, true);
    }

    /// NDP §3.2.1: as many packets as the number has grown by.
    fn add_pulls(&mut self, number: u32) {
        if number > self.pulled {
            self.state.step(SenderEvent::Pull);
            self.credit = self.credit.saturating_add(number - self.pulled);
            self.pulled = number;
        }
    }

    /// NDP §3.2.4: what keeps the pull clock going when no pull is to come: nothing is under way, and
    /// nothing that the receiver has answered is without its pull. `asked` says that the receiver is waiting.
    fn keep_going(&mut self, asked: bool) {
        let idle = self.away == 0 && self.credit == 0 && self.urgent.is_empty();
        if !idle || (self.pushes > 0 && self.next < self.packets) || (self.answered > self.pulled && !asked) {
            return;
        }
        if let Some(index) = self.again.pop_first() {
            self.queue_repetition(index, true);
        } else if asked && self.message.responsive {
            // Pushed, because a repeated pull has an old number and permits nothing.
            self.pushes = 1;
        }
    }

    /// Departure and index of the packet that has been under way for longest.
    #[inline]
    fn oldest_flight(&mut self) -> Option<(Time, u32)> {
        while let Some(&(sent, index)) = self.flight.front() {
            // A packet that has left again has a later entry.
            if self.slot_mut(index).is_some_and(|slot| slot.place == Place::Away && slot.sent == sent) {
                return Some((sent, index));
            }
            self.flight.pop_front();
        }
        None
    }

    /// Longest time that a packet may be under way.
    fn packet_timeout(&self) -> Time {
        self.timeout.saturating_mul(1 << self.backoff)
    }

    /// Time at which a repetition has waited for its pull for too long, if nothing else will come of this message.
    fn stalled_at(&self) -> Option<Time> {
        let waits = self.away == 0 && !self.again.is_empty();
        let timeout = self.timeout.saturating_mul(STALLED_TIMEOUTS << self.stalls);
        waits.then(|| self.active.saturating_add(timeout))
    }

    /// Repeats a packet without a pull.
    fn send_unpulled(&mut self, now: Time) {
        self.state.step(SenderEvent::Timeout);
        (self.active, self.stalls) = (now, (self.stalls + 1).min(MAX_STALLS));
        if let Some(index) = self.again.pop_first() {
            self.queue_repetition(index, true);
        }
    }

    /// Arms the deadline of the oldest packet under way, or of one that waits while none is, unless one that
    /// is as early is in force.
    fn arm_lost_timer(&mut self, shared: &mut Shared, now: Time) {
        let lost = self.oldest_flight().map(|(sent, _)| sent.saturating_add(self.packet_timeout()));
        let Some(due) = lost.or_else(|| self.stalled_at()).map(|due| due.max(now)) else { return };
        if self.lost_at.is_none_or(|at| due < at) {
            shared.timers.arm_deadline(due, TimerKey::Lost(self.message.dst, self.message.id));
            self.lost_at = Some(due);
        }
    }
}
