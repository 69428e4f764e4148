//! The sending half of RCP: asks for a rate, and paces at it.

use super::flight::Flight;
use super::packets::{Ack, Data, Rts};
use super::{RcpParams, Shared, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::shared::scale_time;
use crate::two_sided::SendingHalf;
use headway_gauges::RoundTrips;
use headway_packet::{HostId, Packet, PacketFlags, TypedView};
use headway_units::{Rate, Time};
use slotmap::DefaultKey;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        SynSent { Rate => Running, SlowRate => RunningWithRef, IdleTimeout => SynSent }
        Running { SlowRate => RunningWithRef, AllSent => FinSent, Acknowledged => Done }
        RunningWithRef { Rate => Running, AllSent => FinSent, Acknowledged => Done }
        FinSent { Lost => Retransmit, Acknowledged => Done }
        Retransmit { AllSent => FinSent, Acknowledged => Done }
        Done {}
    }
    events { Rate, SlowRate, IdleTimeout, AllSent, Lost, Acknowledged }
}

/// The rate of a packet that no router has lowered.
const ANY_RATE: u32 = u32::MAX;

/// Reference packets take one twentieth of the host's link, however many messages ask.
const REFERENCE_PARTS: u64 = 20;

/// A message being sent.
struct Outgoing {
    message: Message,
    packets: u32,
    state: SenderState,
    flight: Flight,
    /// Packets sent and not acknowledged at most; the same before any data is acknowledged.
    limit: u32,
    initial_window: u32,
    /// True if any data is acknowledged.
    heard: bool,
    /// The rate received last, in kilobits a second, and the departure of the packet that brought it.
    rate: u32,
    rate_at: Time,
    /// Round trip measured last, and the smallest; zero and the greatest time before the first.
    rtt: Time,
    min_rtt: Time,
    base_rtt: Time,
    max_rtt: Time,
    /// Longest silence before it asks again.
    longest: Time,
    /// The last packet: when it left, and its bytes.
    last: Option<(Time, u16)>,
    /// True if it stands in the line for the wire.
    queued: bool,
    /// Time of the last SYN.
    asked: Time,
    backoff: u32,
    /// The earliest deadline of each kind that is armed; others of this message are left over.
    pace_armed: Time,
    idle_armed: Time,
    reference_armed: Time,
}

/// All messages that this host sends.
pub struct Sender {
    params: RcpParams,
    messages: Messages<Outgoing>,
    /// Messages whose next packet is due: each sends one, and goes to the end.
    ready: VecDeque<DefaultKey>,
    /// Time between reference packets, whichever messages they are of.
    reference_slot: Time,
    round_trips: RoundTrips,
}

impl Sender {
    pub(super) fn new(params: RcpParams, context: &HostContext) -> Sender {
        let control = context.nic.time_of(context.sizes.control.into());
        Sender {
            params,
            messages: Messages::default(),
            ready: VecDeque::new(),
            reference_slot: control.saturating_mul(REFERENCE_PARTS),
            round_trips: RoundTrips::default(),
        }
    }

    /// Takes in an acknowledgement: of data, or of a SYN or reference packet, which carries the rate alone.
    pub(super) fn receive_ack(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let id = (packet.src, packet.message);
        let Some(key) = self.messages.find_key(id) else { return };
        let out = &mut self.messages[key];
        out.learn_rate(now, packet);
        if out.flight.process_ack(packet, self.params.reordering as u32) {
            (out.heard, out.backoff) = (true, 0);
            self.round_trips.answered(now, Ack::from_packet(packet).echo);
        }
        if out.flight.arrived_packets() == out.packets {
            out.state.step(SenderEvent::Acknowledged);
            shared.report_acknowledged(&out.message);
            self.messages.remove(id);
            return;
        }
        let slow = self.is_slow(shared, key);
        let out = &mut self.messages[key];
        out.state.step(if slow { SenderEvent::SlowRate } else { SenderEvent::Rate });
        if out.flight.first_lost().is_some() {
            out.state.step(SenderEvent::Lost);
        }
        self.queue_message(shared, now, key);
        self.await_silence(shared, key);
        self.await_reference(shared, now, key);
    }

    /// A paced packet is due.
    pub(super) fn pace_due(&mut self, shared: &mut Shared, at: Time, now: Time, id: (HostId, u32)) {
        let Some(key) = self.messages.find_key(id) else { return };
        let out = &mut self.messages[key];
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if out.pace_armed == at {
            out.pace_armed = Time::MAX;
            self.queue_message(shared, now, key);
        }
    }

    /// Nothing may have been heard of something for too long: it is sent again.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, at: Time, now: Time, id: (HostId, u32)) {
        let Some(key) = self.messages.find_key(id) else { return };
        let timeout = self.current_timeout(key);
        let out = &mut self.messages[key];
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if out.idle_armed != at {
            return;
        }
        out.idle_armed = Time::MAX;
        if out.silent_since().is_some_and(|since| since.saturating_add(timeout) <= now) {
            let most = self.params.backoff as u32;
            out.backoff = (out.backoff + 1).min(most);
            if out.state == SenderState::SynSent {
                out.state.step(SenderEvent::IdleTimeout);
                out.send_request(shared, now);
            } else {
                out.flight.lose_until(now.saturating_sub(timeout));
                out.state.step(SenderEvent::Lost);
                self.queue_message(shared, now, key);
            }
        }
        self.await_silence(shared, key);
        self.await_reference(shared, now, key);
    }

    /// A message that sends rarely asks for its rate in between. rcp-host.cc §ref_timeout
    pub(super) fn reference_due(&mut self, shared: &mut Shared, at: Time, now: Time, id: (HostId, u32)) {
        let Some(key) = self.messages.find_key(id) else { return };
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if self.messages[key].reference_armed != at {
            return;
        }
        self.messages[key].reference_armed = Time::MAX;
        if self.is_slow(shared, key) && self.messages[key].pick_packet().is_some() {
            // The answer would bring the rate of the next packet: without one to send there is nothing to ask for.
            self.messages[key].send_request(shared, now);
        }
        self.await_reference(shared, now, key);
    }

    /// Puts a message in the line for the wire if it has a packet that is due, or arms the time it is due at.
    fn queue_message(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        if out.queued || out.pick_packet().is_none() {
            return;
        }
        let due = out.due_time(&shared.context);
        if due <= now {
            out.queued = true;
            self.ready.push_back(key);
        } else if due < out.pace_armed {
            out.pace_armed = due;
            shared.timers.arm_deadline(due, TimerKey::Pace(out.message.dst, out.message.id));
        }
    }

    /// Longest time without an answer about the message.
    fn current_timeout(&self, key: DefaultKey) -> Time {
        let out = &self.messages[key];
        // A measured round trip may be longer than the largest that the path was taken to have.
        let first = scale_time(out.max_rtt.max(out.rtt), self.params.timeout);
        first.saturating_mul(1 << out.backoff).min(out.longest.max(first))
    }

    fn await_silence(&mut self, shared: &mut Shared, key: DefaultKey) {
        let timeout = self.current_timeout(key);
        let out = &mut self.messages[key];
        let Some(since) = out.silent_since() else { return };
        let at = since.saturating_add(timeout);
        if at < out.idle_armed {
            out.idle_armed = at;
            shared.timers.arm_deadline(at, TimerKey::Idle(out.message.dst, out.message.id));
        }
    }

    /// The time between reference packets of a message: a smallest round trip of data, which on short paths is much
    /// longer than that of a SYN, but no less than the turns of all messages take. Without those, slow messages fill
    /// the link with questions: the port that counts them as load lowers its rate, and all stay slow for ever.
    fn reference_gap(&self, out: &Outgoing) -> Time {
        // Before the first sample the smallest is the greatest of all times; a SYN measures less than data does.
        let rtt = out.min_rtt.min(out.max_rtt).max(out.base_rtt);
        let turns = self.reference_slot.saturating_mul(self.messages.len() as u64);
        scale_time(rtt, self.params.reference).max(turns)
    }

    /// True if the message's packets are further apart than reference packets would be.
    fn is_slow(&self, shared: &Shared, key: DefaultKey) -> bool {
        let out = &self.messages[key];
        let gap = out.paced_rate(&shared.context).time_of(shared.context.sizes.full_wire().into());
        gap > self.reference_gap(out)
    }

    fn await_reference(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &self.messages[key];
        let running = out.state != SenderState::SynSent && out.pick_packet().is_some();
        if !running || out.reference_armed != Time::MAX || !self.is_slow(shared, key) {
            return;
        }
        let at = now.saturating_add(self.reference_gap(out));
        let out = &mut self.messages[key];
        out.reference_armed = at;
        shared.timers.arm_deadline(at, TimerKey::Reference(out.message.dst, out.message.id));
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// A new message asks for a rate. rcp-host.cc §sendfile
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let context = &shared.context;
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let limit = self.params.flight_limit(&path, context).min(packets);
        let out = Outgoing {
            message: *message,
            packets,
            state: SenderState::SynSent,
            flight: Flight::default(),
            limit,
            // At least one: a message without a first packet would hear nothing.
            initial_window: message.initial_window.window.unwrap_or(limit).clamp(1, limit),
            heard: false,
            rate: ANY_RATE,
            rate_at: Time::ZERO,
            rtt: Time::ZERO,
            min_rtt: Time::MAX,
            base_rtt: path.base_rtt,
            max_rtt: path.max_rtt,
            longest: path.longest_timeout,
            last: None,
            queued: false,
            asked: now,
            backoff: 0,
            pace_armed: Time::MAX,
            idle_armed: Time::MAX,
            reference_armed: Time::MAX,
        };
        let key = self.messages.insert((message.dst, message.id), out);
        self.messages[key].send_request(shared, now);
        self.await_silence(shared, key);
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let key = self.ready.pop_front()?;
            let Some(out) = self.messages.get_mut(key) else { continue };
            out.queued = false;
            // Since it was due, the packet may have been acknowledged, or its rate lowered.
            let due = out.due_time(&shared.context) <= now;
            let Some(index) = out.pick_packet().filter(|_| due) else {
                self.queue_message(shared, now, key);
                continue;
            };
            let packet = out.send_data(&shared.context, now, index);
            self.queue_message(shared, now, key);
            self.await_silence(shared, key);
            return Some(packet);
        }
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
    }

    fn is_ready(&self) -> bool {
        // Deadlines expire within `poll_transmit`, so any message may have a packet once the wire is free.
        !self.messages.is_empty()
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some(out) = self.messages.named_now(id) else { return };
        found(&probes::IN_FLIGHT, out.flight.outstanding().into());
        if out.rate > 0 {
            found(&probes::RATE, f64::from(out.rate) * 1000.0);
        }
        if out.rtt > Time::ZERO {
            found(&probes::LAST_ROUND_TRIP, out.rtt.as_secs_f64());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }
}

impl Outgoing {
    /// Sends a SYN, or a reference packet: the same, but that it knows a round trip.
    fn send_request(&mut self, shared: &mut Shared, now: Time) {
        let m = &self.message;
        let (rate, round_trip) = (ANY_RATE, self.round_trip());
        let request = Rts { message_bytes: m.bytes, rate, round_trip, left: now };
        let packet = shared.control_view(request, m.dst, m.id, m.tag, m.entropy);
        shared.control.push_back(Packet { flags: PacketFlags::RATE, ..packet });
        self.asked = now;
    }

    /// The round trip that every packet carries to routers, in nanoseconds.
    fn round_trip(&self) -> u32 {
        // Rounded up, because 0 stands for "none known".
        u32::try_from(self.rtt.0.div_ceil(1000)).unwrap_or(u32::MAX)
    }

    /// Takes in the rate and the time that an acknowledgement brings. rcp-host.cc §recv
    fn learn_rate(&mut self, now: Time, ack: &Packet) {
        let Ack { echo, rate, .. } = Ack::from_packet(ack);
        if echo <= now {
            // Zero would stand for none.
            self.rtt = (now - echo).max(Time(1));
            self.min_rtt = self.min_rtt.min(self.rtt);
        }
        // Answers may overtake each other: the rate is that of the latest departure.
        if echo >= self.rate_at && echo <= now {
            // At a rate of zero no further packet would leave, and none could bring a higher one.
            (self.rate, self.rate_at) = (rate.max(1), echo);
        }
    }

    /// The rate to pace at: what routers say, and no more than the host's link has.
    fn paced_rate(&self, context: &HostContext) -> Rate {
        let sharers = if self.heard { 1000 } else { self.message.initial_window.sharer_thousandths() };
        // Kilobits to bits, and sharers in thousandths: a factor of a million.
        let told = (u128::from(self.rate) * 1_000_000 / u128::from(sharers)) as u64;
        Rate::new(told.clamp(1, context.nic.bps())).unwrap_or(context.nic)
    }

    /// Time at which the next packet is due: a change of the rate counts from the last one. rcp-host.cc §rate_change
    fn due_time(&self, context: &HostContext) -> Time {
        let Some((at, wire)) = self.last else { return Time::ZERO };
        at.saturating_add(self.paced_rate(context).time_of(wire.into()))
    }

    /// The packet to send next: a lost one, or a new one.
    fn pick_packet(&self) -> Option<u32> {
        if self.state == SenderState::SynSent {
            return None;
        }
        if let Some(lost) = self.flight.first_lost() {
            return Some(lost);
        }
        let end = if self.message.responsive { self.packets } else { self.limit };
        let room = if self.heard { self.limit } else { self.initial_window };
        let next = self.flight.next();
        (next < end && self.flight.outstanding() < room).then_some(next)
    }

    /// Time since which something has been waited for.
    fn silent_since(&self) -> Option<Time> {
        match self.state {
            SenderState::SynSent => Some(self.asked),
            _ => self.flight.oldest_departure(),
        }
    }

    fn send_data(&mut self, context: &HostContext, now: Time, index: u32) -> Packet {
        let again = index < self.flight.next();
        let packet = context.data_packet(&self.message, index, self.limit);
        let (rate, round_trip) = (ANY_RATE, self.round_trip());
        let mut packet = Data { rate, round_trip, left: now, ..Data::from_packet(&packet) }.put_on(packet);
        packet.flags = PacketFlags::only_if(again, PacketFlags::AGAIN).with(PacketFlags::RATE);
        self.flight.record_departure(now, index);
        self.last = Some((now, packet.wire));
        // Both: a repetition may still be waiting when the last new packet leaves.
        if self.flight.first_lost().is_none() && self.flight.next() == self.packets {
            self.state.step(SenderEvent::AllSent);
        }
        packet
    }
}
