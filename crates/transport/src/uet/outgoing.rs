//! A message at its sender: the places of its packets, those that may leave, and the answers.

use super::control::nscc::{Scale, Window};
use super::control::rccc::Credit;
use super::control::sleek::Sleek;
use super::packets::{Ack, Data, Rts};
use super::{LAST_HOP, PROBE, Shared, TimerKey};
use crate::endpoint::HostContext;
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::spraying::{Entropies, Fate};
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, TypedView};
use headway_units::Time;
use std::collections::{BTreeSet, VecDeque};

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(crate) enum SenderState on SenderEvent {
        Speculating { Answer => Told, Bounce => Speculating, Timeout => Speculating, Finished => Done }
        Told { Answer => Told, Bounce => Told, Timeout => Told, Finished => Done }
        Done {}
    }
    events { Answer, Bounce, Timeout, Finished }
}

/// Place of a packet that has been sent at least once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Under way: nothing was heard of it.
    Away,
    /// Waits to be sent again.
    Again,
    /// It is at the receiver.
    There,
}

#[derive(Clone, Copy)]
struct Slot {
    sent: Time,
    entropy: u32,
    place: Place,
    /// Number of times that it was sent.
    sends: u8,
}

/// Doublings of the time-out at most, while nothing at all is heard.
pub(super) const MAX_BACKOFF: u32 = 5;
/// Time-outs without any word after which a sender without credit asks again.
pub(super) const STALLED_TIMEOUTS: u64 = 4;

/// State with which a message begins.
pub(super) struct Start {
    pub(super) packets: u32,
    pub(super) schedule: FirstWindowSchedule,
    pub(super) window: Option<Window>,
    pub(super) credit: Option<Credit>,
    pub(super) sleek: bool,
    pub(super) entropies: Entropies,
    /// Time after which a packet is taken for lost, and the network's base round trip.
    pub(super) timeout: Time,
    pub(super) base_rtt: Time,
    /// True if packets to be sent again are requested in targets, and not counted by the receiver.
    pub(super) asks_again: bool,
}

/// A message being sent.
pub(super) struct Outgoing {
    pub(super) message: Message,
    packets: u32,
    /// Packets that its application has: all, or those of the first window.
    limit: u32,
    /// Packets of the first window, and those whose time has come.
    first: u32,
    pub(super) released: u32,
    pub(super) schedule: FirstWindowSchedule,
    pub(super) state: SenderState,
    /// Packets below have arrived; `slots` are those from here to `next`, which has not been sent.
    base: u32,
    next: u32,
    slots: VecDeque<Slot>,
    again: BTreeSet<u32>,
    again_bytes: i64,
    asks_again: bool,
    /// Packets in order of departure; entries that no longer match their slot mean nothing.
    flight: VecDeque<(Time, u32)>,
    /// Bytes under way: those sent, less those that the receiver has reported and those given up.
    in_flight: i64,
    received: u32,
    /// Bytes of a full packet on the wire, and of the last one.
    full: i64,
    last: i64,
    pub(super) window: Option<Window>,
    pub(super) credit: Option<Credit>,
    /// Detection of losses before the time-out, where it is wanted.
    pub(super) sleek: Option<Box<Sleek>>,
    entropies: Entropies,
    timeout: Time,
    base_rtt: Time,
    backoff: u32,
    /// Time since which the time-out is doubled once more; packets that left before do not wait for that.
    backed_off: Time,
    /// Time of the receiver's last answer or of the last request, and time of the last request.
    active: Time,
    requested: Option<Time>,
    /// The one deadline in force; others of this message are left over and mean nothing.
    lost_at: Option<Time>,
    /// True if it is in the ring of messages that have something to send.
    pub(super) in_turns: bool,
}

impl Outgoing {
    pub(super) fn new(context: &HostContext, message: &Message, start: Start, now: Time) -> Outgoing {
        let Start { packets, schedule, window, credit, sleek, entropies, timeout, base_rtt, asks_again } =
            start;
        let sizes = &context.sizes;
        let last = sizes.data_wire(sizes.payload_of(message.bytes, u64::from(packets) - 1));
        Outgoing {
            message: *message,
            packets,
            limit: if message.responsive { packets } else { schedule.window_packets() },
            first: schedule.window_packets(),
            released: 0,
            schedule,
            state: SenderState::Speculating,
            base: 0,
            next: 0,
            slots: VecDeque::new(),
            again: BTreeSet::new(),
            again_bytes: 0,
            asks_again,
            flight: VecDeque::new(),
            in_flight: 0,
            received: 0,
            full: sizes.full_wire().into(),
            last: last.into(),
            window,
            credit,
            sleek: sleek.then(Box::default),
            entropies,
            timeout,
            base_rtt,
            backoff: 0,
            backed_off: Time::ZERO,
            active: now,
            requested: None,
            lost_at: None,
            in_turns: false,
        }
    }

    /// Bytes of a packet on the wire.
    fn wire_bytes(&self, index: u32) -> i64 {
        if index + 1 == self.packets { self.last } else { self.full }
    }

    /// Bytes of the packets from `index` to the end of the application's data.
    fn bytes_from(&self, index: u32) -> i64 {
        match self.limit.checked_sub(index) {
            None | Some(0) => 0,
            Some(left) => i64::from(left - 1) * self.full + self.wire_bytes(self.limit - 1),
        }
    }

    /// Packets under way, computed from bytes.
    pub(super) fn packets_away(&self) -> f64 {
        self.in_flight.max(0) as f64 / self.full as f64
    }

    /// Packets that the window holds.
    pub(super) fn window_packets(&self) -> Option<f64> {
        self.window.as_ref().map(|window| window.window_bytes() as f64 / self.full as f64)
    }

    /// Packets that credit permits.
    pub(super) fn permitted_packets(&self) -> Option<f64> {
        self.credit.as_ref().map(|credit| credit.credit_bytes().max(0) as f64 / self.full as f64)
    }

    /// True if the receiver has all of it.
    pub(super) fn is_done(&self) -> bool {
        self.base == self.packets
    }

    #[inline]
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index.checked_sub(self.base)? as usize)
    }

    /// The packet that is next, if there is one: repetitions come first.
    fn next_candidate(&self) -> Option<u32> {
        if let Some(&index) = self.again.first() {
            return Some(index);
        }
        // The schedule holds back packets of the first window only.
        let begun = self.next >= self.first || self.next < self.released;
        (begun && self.next < self.limit).then_some(self.next)
    }

    /// True if the message needs credit and has none.
    fn is_without_credit(&self) -> bool {
        self.credit.as_ref().is_some_and(|credit| credit.credit_bytes() <= 0)
    }

    /// The packet that may leave now. UET §1
    #[inline]
    fn pick_packet(&self) -> Option<u32> {
        let index = self.next_candidate()?;
        let needs = self.in_flight.max(0) + self.wire_bytes(index);
        let fits = self.window.as_ref().is_none_or(|window| window.window_bytes() >= needs);
        // NSCC §2.7: repetitions do not wait for the window.
        let repairs = !self.again.is_empty() && self.sleek.as_ref().is_some_and(|sleek| sleek.is_repairing());
        ((fits || repairs) && !self.is_without_credit()).then_some(index)
    }

    /// True if a packet may leave.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.pick_packet().is_some()
    }

    /// The next packet leaves, of one of `waiting` other messages that wait for the wire.
    pub(super) fn send_packet(&mut self, context: &HostContext, now: Time, waiting: usize) -> Option<Packet> {
        let index = self.pick_packet()?;
        let size = self.wire_bytes(index);
        let again = self.again.remove(&index);
        let entropy = self.entropies.next_entropy();
        let slot = Slot { sent: now, entropy, place: Place::Away, sends: 1 };
        match self.slot_mut(index) {
            // The count saturates: only "once" and "twice" are told apart.
            Some(there) => *there = Slot { sends: there.sends.saturating_add(1), ..slot },
            None => {
                self.slots.push_back(slot);
                self.next = index + 1;
            }
        }
        if again {
            self.again_bytes -= size;
        }
        self.in_flight += size;
        // Drops settled departures at the front, so that `flight` does not grow with all that was ever sent.
        self.oldest_departure();
        self.flight.push_back((now, index));
        if let Some(credit) = &mut self.credit {
            credit.spend_bytes(size);
        }
        let speculative = self.credit.is_some() && self.state == SenderState::Speculating;
        let target = self.credit_target(waiting);
        // UET §1: a sender that cannot go on without an answer asks for one.
        let closed =
            self.window.as_ref().is_some_and(|window| self.in_flight + size >= window.window_bytes());
        let ask = again || self.next == self.limit || self.is_without_credit() || closed;
        let packet = context.data_packet(&self.message, index, self.first);
        let mut packet = Data { ask: ask.into(), target, ..Data::from_packet(&packet) }.put_on(packet);
        (packet.entropy, packet.ecn) = (entropy, Ecn::Ect);
        packet.flags = PacketFlags::only_if(speculative, PacketFlags::UNSCHEDULED)
            .with(PacketFlags::only_if(again, PacketFlags::AGAIN));
        Some(packet)
    }

    /// Credit wanted in all. RCCC §3.1
    fn credit_target(&self, waiting: usize) -> u32 {
        let Some(credit) = &self.credit else { return 0 };
        let mut backlog = self.bytes_from(self.next);
        if self.asks_again {
            backlog += self.again_bytes;
        }
        if let Some(window) = &self.window {
            // Credit beyond what the window can use would lie idle.
            backlog = backlog.min(window.window_bytes() + self.full);
        }
        credit.credit_target(backlog, (self.state == SenderState::Speculating, self.full), waiting)
    }

    /// Asks for credit, if it has not done so within a round trip. RCCC §2.6
    pub(super) fn request_credit(&mut self, shared: &mut Shared, now: Time) {
        // The answer to the last request may still be on its way.
        if self.requested.is_some_and(|at| now.saturating_sub(at) < self.base_rtt) {
            return;
        }
        (self.requested, self.active) = (Some(now), now);
        let message = &self.message;
        let rts = Rts {
            again: (self.again.len() as u32).saturating_sub(1),
            window: self.first,
            message_bytes: message.bytes,
            target: self.credit_target(1),
        };
        let (peer, id, tag) = (message.dst, message.id, message.tag);
        // Requests are sprayed, too: after one that is lost, the next takes another path.
        let entropy = self.entropies.next_entropy();
        shared.control.push_back(shared.control_view(rts, peer, id, tag, entropy));
    }

    /// Takes a packet out of the place where it is: the receiver has it.
    fn mark_reached(&mut self, index: u32, place: Place) {
        if place == Place::Again && self.again.remove(&index) {
            let size = self.wire_bytes(index);
            // It was taken out of the packets under way when it was given up, and the receiver's number counts it.
            self.in_flight += size;
            self.again_bytes -= size;
        }
    }

    /// A packet is to be sent again: it was trimmed, returned or lost.
    fn mark_again(&mut self, index: u32) {
        let size = self.wire_bytes(index);
        if let Some(slot) = self.slot_mut(index) {
            slot.place = Place::Again;
        }
        self.in_flight -= size;
        self.again_bytes += size;
        self.again.insert(index);
    }

    /// Notes that the receiver, or the network, was heard.
    pub(super) fn mark_heard(&mut self, now: Time) {
        self.active = now;
    }

    /// The receiver has answered: speculation is over. RCCC §3.1
    pub(super) fn step_state(&mut self, event: SenderEvent) {
        if event == SenderEvent::Answer && self.state == SenderState::Speculating {
            self.credit.iter_mut().for_each(Credit::stop_speculating);
        }
        self.state.step(event);
    }

    /// Packets have arrived. UET §1.3
    pub(super) fn process_ack(&mut self, scale: Option<&Scale>, now: Time, packet: &Packet) -> Option<Time> {
        let Ack { index, arrived, bitmap, from, received } = Ack::from_packet(packet);
        let (marked, again) =
            (packet.flags.has_all(PacketFlags::ECE), packet.flags.has_all(PacketFlags::AGAIN));
        // From the wire: no more than the message has, and never less than before.
        let more = received.min(self.packets).saturating_sub(self.received);
        // In full packets, although the last may be shorter: where the flight is used, it counts as zero at least.
        let newly = i64::from(more) * self.full;
        self.received += more;
        self.in_flight -= newly;
        // The answer to a request names a packet that it does not say to be there.
        let there = index.checked_sub(arrived.saturating_add(from));
        let there = index < arrived || there.is_some_and(|bit| bit < 64 && bitmap >> bit & 1 == 1);
        let sent = self.slot_mut(index).filter(|slot| there && slot.place == Place::Away);
        // A packet that was sent more often has several departures, and the answer names none of them.
        let mut sample =
            sent.filter(|slot| slot.sends == if again { 2 } else { 1 }).map(|slot| now - slot.sent);
        let mut quick = false;
        if let (Some(sleek), Some(window), Some(scale)) = (&mut self.sleek, &self.window, scale)
            && packet.flags.has_all(PROBE)
        {
            // A probe does not measure the base round trip.
            let base_rtt = window.window_limits().1;
            sample = sleek.process_probe_answer(now, packet.entropy).map(|sample| sample.max(base_rtt));
            quick = sample.is_some_and(|sample| sample - base_rtt < scale.target_delay());
        }
        while self.base < arrived {
            // An answer about packets that were never sent finds no place for them.
            let Some(slot) = self.slots.pop_front() else { break };
            self.mark_reached(self.base, slot.place);
            self.base += 1;
        }
        let mut bits = bitmap;
        while bits != 0 {
            let index = arrived.saturating_add(from).saturating_add(bits.trailing_zeros());
            // Clears the lowest bit that is set.
            bits &= bits - 1;
            let Some(slot) = self.slot_mut(index) else { continue };
            let place = std::mem::replace(&mut slot.place, Place::There);
            self.mark_reached(index, place);
        }
        while self.slots.front().is_some_and(|slot| slot.place == Place::There) {
            self.slots.pop_front();
            self.base += 1;
        }
        self.entropies.note_fate(now, packet.entropy, if marked { Fate::Marked } else { Fate::Good });
        if let (Some(window), Some(scale)) = (&mut self.window, scale) {
            window.process_ack(scale, now, (marked, sample), newly, self.in_flight.max(0));
        }
        self.find_lost(received.min(self.packets).saturating_sub(arrived), quick);
        sample
    }

    /// Sends again what SLEEK takes for lost, with `beyond` packets behind a missing one. NSCC §2.7
    fn find_lost(&mut self, beyond: u32, quick: bool) {
        let Some(window) = &self.window else { return };
        let packets = |bytes: i64| bytes / self.full;
        let sizes = (packets(window.window_bytes()), packets(window.window_limits().0));
        let waiting = !self.again.is_empty();
        let Some(sleek) = &mut self.sleek else { return };
        for index in sleek.lost_packets((self.base, self.next), sizes, beyond, (waiting, quick)) {
            if self.slot_mut(index).is_some_and(|slot| slot.place == Place::Away) {
                self.mark_again(index);
            }
        }
    }

    /// Puts off the next probe. NSCC §2.7
    pub(super) fn put_off(&mut self, shared: &mut Shared, scale: Option<&Scale>, now: Time) {
        let (Some(sleek), Some(window), Some(scale)) = (&mut self.sleek, &self.window, scale) else { return };
        let all = self.next == self.limit;
        if let Some(at) = sleek.put_off_probe(now, (window.window_limits().1, scale.target_delay()), all) {
            shared.timers.arm_deadline(at, TimerKey::Probe(self.message.dst, self.message.id));
        }
    }

    /// A probe may be due: a request that the receiver answers at once. NSCC §2.7
    pub(super) fn send_probe(&mut self, shared: &mut Shared, now: Time) {
        let (Some(sleek), Some(window)) = (&mut self.sleek, &self.window) else { return };
        let (due, again) = sleek.expire_deadline(now, window.window_limits().1);
        let message = &self.message;
        let (peer, id, tag) = (message.dst, message.id, message.tag);
        if let Some(at) = again {
            shared.timers.arm_deadline(at, TimerKey::Probe(peer, id));
        }
        if due && self.base < self.next {
            let entropy = self.entropies.next_entropy();
            sleek.note_probe(now, entropy);
            let probe = Rts { again: 0, window: self.first, message_bytes: message.bytes, target: 0 };
            let probe = shared.control_view(probe, peer, id, tag, entropy);
            shared.control.push_back(Packet { flags: PROBE, ..probe });
        }
    }

    /// A packet arrived without its payload. UET §2.4
    pub(super) fn process_nack(&mut self, scale: Option<&Scale>, now: Time, packet: &Packet) {
        let index = Ack::from_packet(packet).index;
        // An answer about a packet that is not under way any more is old.
        let Some(&mut slot) = self.slot_mut(index).filter(|slot| slot.place == Place::Away) else { return };
        let last_hop = packet.flags.has_all(LAST_HOP);
        let size = self.wire_bytes(index);
        let guarded = last_hop && self.credit.is_some();
        if let (Some(window), Some(scale)) = (&mut self.window, scale) {
            let sample = Some(now - slot.sent);
            window.process_trim(scale, now, (sample, guarded), size, self.in_flight.max(0));
        }
        self.mark_again(index);
        // No path is to blame for its receiver's own link.
        let fate = match (last_hop, packet.flags.has_all(PacketFlags::ECE)) {
            (false, _) => Fate::Trimmed,
            (true, true) => Fate::Marked,
            (true, false) => Fate::Good,
        };
        self.entropies.note_fate(now, packet.entropy, fate);
    }

    /// A switch had no room for a header, and returns it.
    pub(super) fn process_bounce(&mut self, now: Time, packet: &Packet) {
        let index = Data::from_packet(packet).index;
        if self.slot_mut(index).is_some_and(|slot| slot.place == Place::Away) {
            self.mark_again(index);
            self.entropies.note_fate(now, packet.entropy, Fate::Trimmed);
        }
    }

    /// Gives up the packets of which nothing was heard for too long, and returns true if there are any. UET §2.6
    pub(super) fn give_up_overdue(&mut self, scale: Option<&Scale>, now: Time) -> bool {
        let waited = !self.again.is_empty();
        let mut lost = false;
        while let Some((sent, index)) =
            self.oldest_departure().filter(|(sent, _)| self.due_time(*sent) <= now)
        {
            self.flight.pop_front();
            // The rest of a window that is lost as a whole does not wait any longer than its first packet.
            if sent >= self.backed_off {
                self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
                self.backed_off = now;
            }
            let Some(&mut slot) = self.slot_mut(index) else { continue };
            self.entropies.note_fate(now, slot.entropy, Fate::Lost);
            let size = self.wire_bytes(index);
            self.mark_again(index);
            if let (Some(window), Some(scale)) = (&mut self.window, scale) {
                window.shrink_for_loss(scale, size);
            }
            lost = true;
        }
        if lost {
            self.state.step(SenderEvent::Timeout);
            // The credit that was awaited has not come either: the speculative credit did not get through.
            if waited {
                self.credit.iter_mut().for_each(Credit::stop_speculating);
            }
        }
        lost
    }

    /// True if a request would help: something is to be sent, and no credit is there for it.
    pub(super) fn wants_credit(&self) -> bool {
        self.is_without_credit() && self.next_candidate().is_some()
    }

    /// Departure and index of the packet that has been under way for longest.
    #[inline]
    fn oldest_departure(&mut self) -> Option<(Time, u32)> {
        while let Some(&(sent, index)) = self.flight.front() {
            if self.slot_mut(index).is_some_and(|slot| slot.place == Place::Away && slot.sent == sent) {
                return Some((sent, index));
            }
            self.flight.pop_front();
        }
        None
    }

    /// Time at which a packet that left at `sent` is taken for lost: later, if it left after others were taken for
    /// lost.
    fn due_time(&self, sent: Time) -> Time {
        let doublings = if sent < self.backed_off { self.backoff.saturating_sub(1) } else { self.backoff };
        sent.saturating_add(self.timeout.saturating_mul(1 << doublings))
    }

    /// Time at which a message without credit or packets under way has heard nothing for too long.
    pub(super) fn stalled_at(&self) -> Option<Time> {
        let wait = self.timeout.saturating_mul(STALLED_TIMEOUTS << self.backoff);
        // It does not ask twice in a round trip.
        let again = self.requested.map_or(Time::ZERO, |at| at.saturating_add(self.base_rtt));
        self.wants_credit().then(|| self.active.saturating_add(wait).max(again))
    }

    /// A request was not answered: doubles the time-out.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// Something was heard: ends the doubling of the time-out. Returns true if it was doubled.
    pub(super) fn reset_backoff(&mut self) -> bool {
        self.backed_off = Time::ZERO;
        std::mem::take(&mut self.backoff) > 0
    }

    /// True if no deadline is in force.
    pub(super) fn is_unwatched(&self) -> bool {
        self.lost_at.is_none()
    }

    /// A deadline has come. Returns true if it is the one in force.
    pub(super) fn expire_deadline(&mut self, now: Time) -> bool {
        let due = self.lost_at.is_some_and(|at| now >= at);
        if due {
            self.lost_at = None;
        }
        due
    }

    /// Arms the deadline of the oldest packet under way, or of a message that waits for credit, unless one that is as early
    /// is in force.
    pub(super) fn arm_deadline(&mut self, shared: &mut Shared, now: Time) {
        let lost = self.oldest_departure().map(|(sent, _)| self.due_time(sent));
        // The time-out may have become shorter since, so that it is due already.
        let Some(due) = lost.or_else(|| self.stalled_at()).map(|due| due.max(now)) else { return };
        if self.lost_at.is_none_or(|at| due < at) {
            shared.timers.arm_deadline(due, TimerKey::Lost(self.message.dst, self.message.id));
            self.lost_at = Some(due);
        }
    }
}

/// True if a packet comes from the sender of a message.
#[inline]
pub(super) fn is_of_sender(packet: &Packet) -> bool {
    match packet.kind {
        PacketKind::Header => !packet.flags.has_all(PacketFlags::BOUNCED),
        kind => matches!(kind, PacketKind::Data | PacketKind::Rts),
    }
}
