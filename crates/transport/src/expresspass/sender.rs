//! The sending half of ExpressPass: asks for credits, sends a packet for each, says when it has enough. With Aeolus
//! it also sends a first window at once.

use super::burst::{Burst, Push};
use super::packets::{Ack, Credit, CreditStop, Data, Probe, Resend, Rts};
use super::params::{BurstParams, Recovery, Values};
use super::{Shared, TimerKey};
use crate::aeolus::AeolusParams;
use crate::endpoint::Gone;
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::Sink;
use crate::two_sided::SendingHalf;
use headway_gauges::GaugeInfo;
use headway_packet::{HostId, Packet, PacketFlags, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::{BTreeSet, VecDeque};

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Requested { Credit => Receiving, Enough => Stopped, IdleTimeout => Requested, Finished => Done }
        Receiving { Credit => Receiving, Enough => Stopped, Finished => Done }
        Stopped { Credit => Stopped, Missing => Requested, IdleTimeout => Stopped, More => Requested, Finished => Done }
        Done {}
    }
    events { Credit, Enough, Missing, IdleTimeout, More, Finished }
}

/// Doublings at most of the time between repetitions of the same packet.
const MAX_DOUBLINGS: u32 = 6;

/// Time from the request to the first credit.
pub(super) const FIRST_ROUND_TRIP: GaugeInfo = GaugeInfo::seconds(
    "first_rtt_s",
    "first round trip",
    "from the sender's last request for credits to the first credit",
);

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
    /// Time of the last request; the round trip from there to its first credit, once it is known.
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
    burst: Option<Burst>,
}

impl Outgoing {
    /// Packets still to be sent.
    fn packets_left(&self) -> u32 {
        let unresolved = self.burst.as_ref().map_or(0, |burst| burst.window.unresolved_packets());
        self.packets - self.next + self.again.len() as u32 + unresolved
    }

    /// Packets of the first window.
    fn first_window(&self) -> u32 {
        self.burst.as_ref().map_or(0, Burst::window_size)
    }

    /// A packet that goes to the receiver.
    fn control_packet<V: TypedView>(&self, shared: &Shared, view: V) -> Packet {
        let m = &self.message;
        shared.control_view(view, m.dst, m.id, m.tag, m.entropy)
    }

    /// Arms the deadline for an answer, twice as far away for each repetition.
    fn arm_answer_timer(&mut self, shared: &mut Shared, now: Time, timeout: Time) {
        let path = (shared.context.path)(self.message.dst);
        self.due = now.saturating_add(path.doubled_timeout(timeout, self.repeats, MAX_DOUBLINGS));
        shared.timers.arm_deadline(self.due, TimerKey::Idle(self.message.dst, self.message.id));
    }

    /// ExpressPass §3.3: asks for credits, and says how many packets are to be sent.
    fn request_credits(&mut self, shared: &mut Shared, now: Time) {
        self.requested = now;
        let (share, last) = (self.message.initial_window.share, self.first_window().checked_sub(1));
        let flags = PacketFlags::only_if(last.is_some(), PacketFlags::UNSCHEDULED);
        let (last, attempt, left) = (last.unwrap_or(0), self.attempt, self.packets_left());
        let request = Rts { last, share, attempt, left, message_bytes: self.message.bytes };
        shared.control.push_back(Packet { flags, ..self.control_packet(shared, request) });
        self.arm_answer_timer(shared, now, self.retry);
    }

    /// Asks for credits again, after a stop.
    fn request_more(&mut self, shared: &mut Shared, now: Time, why: SenderEvent) {
        self.state.step(why);
        (self.attempt, self.repeats) = (self.attempt + 1, 0);
        self.request_credits(shared, now);
    }

    /// ExpressPass §3.3: no more credits are needed; says which packets have been sent.
    fn send_stop(&mut self, shared: &mut Shared, now: Time, linger: Time) {
        let (sent, attempt, left) = (self.sent, self.attempt, self.packets_left());
        let stop = CreditStop { sent, attempt, left, message_bytes: self.message.bytes };
        shared.control.push_back(self.control_packet(shared, stop));
        let timeout = match self.rtt {
            // No answer comes sooner than a round trip, and repetitions without waiting never end.
            Time::ZERO => linger.max((shared.context.path)(self.message.dst).base_rtt).max(Time(1)),
            rtt => rtt.saturating_mul(2),
        };
        self.arm_answer_timer(shared, now, timeout);
    }

    /// The packet for a credit. Aeolus §4: lost packets first, then new ones, then those that nothing is known of.
    fn choose_packet(&mut self, now: Time) -> Option<u32> {
        let lost = self.burst.as_ref().and_then(|burst| burst.window.first_lost());
        // Packets that the receiver names come first: it has a timer for them.
        if let Some(index) = self.again.pop_first().or(lost) {
            return Some(index);
        }
        if self.message.responsive && self.next < self.packets {
            self.next += 1;
            return Some(self.next - 1);
        }
        self.burst.as_ref().and_then(|burst| burst.unheard_packet(now))
    }

    /// The data packet that a credit releases, if there is one.
    fn credited_packet(&mut self, shared: &Shared, now: Time, credit: Credit) -> Option<Packet> {
        let index = self.choose_packet(now)?;
        let first_window = self.first_window();
        let again = match &mut self.burst {
            Some(burst) if index < first_window => burst.mark_credited(index),
            _ => index < self.sent,
        };
        let packet = shared.context.data_packet(&self.message, index, first_window);
        // ExpressPass §3.2: the credit's number and time come back to its receiver.
        let Credit { number: credit, left: echo, .. } = credit;
        let mut packet = Data { credit, echo, ..Data::from_packet(&packet) }.put_on(packet);
        packet.flags = PacketFlags::only_if(again, PacketFlags::AGAIN);
        self.sent = self.sent.max(index + 1);
        Some(packet)
    }

    /// The packet that leaves without a credit, if there is one.
    fn unscheduled_packet(&mut self, shared: &Shared, now: Time) -> Option<Packet> {
        let size = self.first_window();
        match self.burst.as_mut()?.push(now)? {
            Push::Data(index) => {
                self.sent = self.sent.max(index + 1);
                let packet = shared.context.data_packet(&self.message, index, size);
                Some(Packet { flags: PacketFlags::UNSCHEDULED, ..packet })
            }
            Push::Probe => {
                let (attempt, left, message_bytes) = (self.attempt, self.packets_left(), self.message.bytes);
                let probe = Probe { index: size - 1, window: size, attempt, left, message_bytes };
                Some(Packet { flags: PacketFlags::UNSCHEDULED, ..self.control_packet(shared, probe) })
            }
        }
    }

    /// Enough credits have come: says so, and waits for an answer.
    fn has_enough(&mut self, shared: &mut Shared, now: Time, linger: Time) {
        self.state.step(SenderEvent::Enough);
        self.credits = 0;
        self.send_stop(shared, now, linger);
    }

    /// True if the credits of the last round trip, if they come again, are enough.
    fn has_enough_soon(&mut self, now: Time, factor: u64) -> bool {
        // Credits of less than a round trip say nothing about the next one.
        if now.saturating_sub(self.counted) < self.rtt {
            return false;
        }
        let enough = factor > 0 && self.credits >= factor * u64::from(self.packets_left());
        (self.credits, self.counted) = (0, now);
        enough
    }
}

/// All messages that this host sends.
pub struct Sender {
    params: Values,
    messages: Messages<Outgoing>,
    /// Messages whose first window has packets to send, in the order of their opening.
    bursts: VecDeque<DefaultKey>,
    aeolus: Option<(AeolusParams, BurstParams)>,
    received: u64,
    wasted: u64,
}

impl Sender {
    pub(super) fn new(params: Values, aeolus: Option<(AeolusParams, BurstParams)>) -> Sender {
        let (messages, bursts) = Default::default();
        Sender { params, messages, bursts, aeolus, received: 0, wasted: 0 }
    }

    /// Credits received, and those not used among them.
    pub(super) fn credit_counts(&self) -> (u64, u64) {
        (self.received, self.wasted)
    }

    /// Releases the packets of a first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let Some(burst) = self.messages.get_mut(key).and_then(|out| out.burst.as_mut()) else { return };
        if let Some(at) = burst.release_packets(now) {
            shared.timers.arm_deadline(at, TimerKey::InitialWindow(peer, id));
        }
        if !burst.queued {
            burst.queued = true;
            self.bursts.push_back(key);
        }
    }

    /// A packet of a first window has arrived, or the probe behind it. Aeolus §4
    pub(super) fn receive_ack(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let linger = self.params.linger;
        let Some(out) = self.messages.named_mut((packet.src, packet.message)) else { return };
        let Some(burst) = &mut out.burst else { return };
        if packet.flags.has_all(PacketFlags::UNSCHEDULED) {
            burst.window.probe_answered();
        } else {
            burst.window.mark_acked(Ack::from_packet(packet).index);
        }
        let asking = matches!(out.state, SenderState::Requested | SenderState::Receiving);
        if asking && out.message.responsive && out.packets_left() == 0 {
            out.has_enough(shared, now, linger);
        }
    }

    /// ExpressPass §3: a credit releases a packet at once.
    pub(super) fn receive_credit(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        self.received += 1;
        let credit = Credit::from_packet(packet);
        let (linger, early) = (self.params.linger, self.params.early_stop);
        let Some(out) =
            self.messages.named_mut((packet.src, packet.message)).filter(|out| credit.number > out.credit)
        else {
            self.wasted += 1;
            return;
        };
        // Credits that were overtaken are not used: `learn_from_data` at the receiver has counted them as lost.
        out.credit = credit.number;
        // One that left before the request came is good for a packet, but does not say that others follow.
        let answers = credit.attempt == out.attempt;
        // Only the first credit of an attempt is a sample: later ones come by the receiver's clock.
        if out.state == SenderState::Requested && answers {
            out.rtt = now.saturating_sub(out.requested);
            (out.credits, out.counted) = (0, now);
            (out.repeats, out.due) = (0, Time::MAX);
        }
        if answers {
            out.state.step(SenderEvent::Credit);
        }
        out.credits += 1;
        let data = out.credited_packet(shared, now, credit);
        let used = data.is_some();
        shared.control.extend(data);
        let enough = match out.state {
            // An application that stalls has more to send, and does not say so.
            _ if !out.message.responsive => false,
            SenderState::Requested => out.packets_left() == 0,
            SenderState::Receiving => out.packets_left() == 0 || out.has_enough_soon(now, early),
            SenderState::Stopped | SenderState::Done => false,
        };
        if enough {
            out.has_enough(shared, now, linger);
        }
        self.wasted += u64::from(!used);
    }

    /// The receiver misses packets `index .. index + count` of those that were sent.
    pub(super) fn receive_missing(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let recovery = self.params.recovery;
        let Some(out) = self.messages.named_mut((packet.src, packet.message)) else { return };
        let Resend { first, missing } = Resend::from_packet(packet);
        let end = first.saturating_add(missing).min(out.sent);
        if first >= end {
            return;
        }
        if let Some(burst) = &mut out.burst {
            let all = if recovery == Recovery::GoBackN {
                burst.window_size()
            } else {
                end.min(burst.window_size())
            };
            // From here on they count as sent again.
            (first..all).for_each(|index| burst.window.sent_again(index));
        }
        match recovery {
            Recovery::Selective => out.again.extend(first..end),
            // `sent` stays, so that what leaves again is known to.
            Recovery::GoBackN => out.next = out.next.min(first),
        }
        if out.state == SenderState::Stopped {
            out.request_more(shared, now, SenderEvent::Missing);
        }
    }

    /// Nothing was heard of a request or a stop.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let linger = self.params.linger;
        let Some(out) = self.messages.named_mut((peer, id)).filter(|out| out.due <= now) else { return };
        out.due = Time::MAX;
        if out.state == SenderState::Stopped && out.packets_left() > 0 {
            // It stopped early, and the credits after that were not enough.
            return out.request_more(shared, now, SenderEvent::More);
        }
        out.state.step(SenderEvent::IdleTimeout);
        // ExpressPass §3.3: where credits still come, the stop was lost, and its repetition is urgent.
        let heard = out.state == SenderState::Stopped && out.credits > 0;
        out.repeats = if heard { 0 } else { out.repeats + 1 };
        out.credits = 0;
        match out.state {
            SenderState::Requested => out.request_credits(shared, now),
            SenderState::Stopped => out.send_stop(shared, now, linger),
            SenderState::Receiving | SenderState::Done => {}
        }
    }

    /// The receiver has all of it.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.state.step(SenderEvent::Finished);
            shared.report_acknowledged(&out.message);
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let path = (shared.context.path)(message.dst);
        let packets = shared.context.sizes.packets_of(message.bytes) as u32;
        let burst = self.aeolus.as_ref().map(|(aeolus, params)| {
            let context = &shared.context;
            let bdp = context.bdp_packets(&path, &message.initial_window);
            let slot = context.sizes.slot_time(path.bottleneck);
            let initial_window = FirstWindowSchedule::new(message.initial_window, bdp, packets, slot, now);
            Burst::new(initial_window, (aeolus, params.unheard), path.max_rtt)
        });
        let mut out = Outgoing {
            message: *message,
            packets,
            next: burst.as_ref().map_or(0, Burst::window_size),
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
            burst,
        };
        out.request_credits(shared, now);
        self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
    }

    /// The next packet of a first window, for a wire that nothing else wants.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let out = self.messages.get_mut(*self.bursts.front()?);
            if let Some(packet) = out.and_then(|out| out.unscheduled_packet(shared, now)) {
                return Some(packet);
            }
            let done = self.bursts.pop_front().and_then(|key| self.messages.get_mut(key));
            if let Some(burst) = done.and_then(|out| out.burst.as_mut()) {
                burst.queued = false;
            }
        }
    }

    /// True if a first window may have a packet to send.
    fn is_ready(&self) -> bool {
        !self.bursts.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.bursts.retain(|&key| self.messages.contains_key(key));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id).filter(|out| out.rtt > Time::ZERO) {
            found(&FIRST_ROUND_TRIP, out.rtt.as_secs_f64());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
