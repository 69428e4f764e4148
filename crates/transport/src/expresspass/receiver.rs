//! The receiving half of ExpressPass: sends credits, at a rate that it learns from those that are lost.

use super::feedback::{CreditRate, ONE, fixed_share};
use super::host_link::{HostLink, credit_slot};
use super::packets::{Ack, Credit, CreditStop, Data, Probe, Resend, Rts};
use super::params::{JitterFrom, Values};
use super::{Shared, TimerKey};
use crate::aeolus::acknowledge_first;
use crate::endpoint::{EndpointEvent, Gone, HostContext};
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::messages::MessageId;
use crate::probes::Sink;
use crate::two_sided::ReceivingHalf;
use headway_gauges::{Gauge, GaugeInfo};
use headway_packet::{HostId, Packet, PacketFlags, TypedView};
use headway_primitives::mix;
use headway_units::Time;
use rustc_hash::FxHashMap;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Crediting { Data => Crediting, Stop => CloseWait, Last => Closed }
        CloseWait { Data => CloseWait, Request => Crediting, Last => Closed }
        Closed {}
    }
    events { Request, Data, Stop, Last }
}

/// A message by its sender and number.
type Key = (HostId, u32);

/// Largest round trips until missing packets are asked for again: one to ask for credits, one for a credit, and the
/// time in the sender's own queue.
const REPAIR_ROUND_TRIPS: u64 = 3;

/// Doublings of that time at most, and gaps named at a time.
const MAX_DOUBLINGS: u32 = 6;
const MAX_GAPS: usize = 16;

/// A message being received.
struct Incoming {
    packets: u32,
    received: IndexWindow,
    /// Packets below are known to have been sent; those of a first window are its sender's business.
    sent: u32,
    first_window: u32,
    state: ReceiverState,
    /// Number of the sender's last request.
    attempt: u32,
    tag: u32,
    entropy: u32,
    rate: CreditRate,
    /// Number of the next credit to send, and of the next one that data should answer.
    credit: u32,
    expected: u32,
    /// Time from a credit to its data, smoothed. ExpressPass §3.2
    rtt: Time,
    /// Seed of jitter and sizes of credits.
    seed: u64,
    /// Deadlines in force, `Time::MAX` when none is: the next credit, the next request for missing packets.
    credit_due: Time,
    missing_due: Time,
    timeout: Time,
    repeats: u32,
}

pub(super) const CREDITS_MADE: GaugeInfo = GaugeInfo::packets(
    "credits_made",
    "credits made",
    "made by a receiver, those included that its own link drops",
);
pub(super) const CREDITS_DROPPED: GaugeInfo = GaugeInfo::packets(
    "credits_dropped_at_host",
    "credits dropped at hosts",
    "dropped at the receiver's own link; no port counts them",
);

/// The rate of credits. ExpressPass §3.2
pub(super) const CREDIT_RATE: GaugeInfo = GaugeInfo::share(
    "credit_rate",
    "rate of credits",
    "the rate at which the receiver makes credits, as a share of the highest",
);
/// Credits on their way.
pub(super) const CREDITS_OUT: GaugeInfo = GaugeInfo::packets(
    "credits_out_packets",
    "credits out",
    "credits that the receiver has made and no data has told of, those lost on the way among them",
);
/// Time from a credit to its data. ExpressPass §3.2
pub(super) const CREDIT_ROUND_TRIP: GaugeInfo = GaugeInfo::seconds(
    "credit_rtt_s",
    "credit's round trip",
    "from a credit to its data, as the receiver has smoothed it",
);

/// All messages that this host receives.
pub struct Receiver {
    params: Values,
    /// Time between two credits at the highest rate.
    slot: Time,
    messages: FxHashMap<Key, Incoming>,
    finished: FinishedMessages,
    /// Credits that wait for this host's link.
    pub(super) host_link: HostLink,
    made: u64,
}

impl Receiver {
    pub(super) fn new(params: Values, context: &HostContext) -> Receiver {
        let slot = credit_slot(&params, context.nic, &context.sizes);
        let (messages, finished) = Default::default();
        let host_link = HostLink::new(&params, context.nic, &context.sizes);
        Receiver { params, slot, messages, finished, host_link, made: 0 }
    }

    /// Credits made so far.
    pub(super) fn made_credits(&self) -> u64 {
        self.made
    }

    /// ExpressPass §3.3: a request starts credits, at the first rate.
    pub(super) fn receive_request(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        self.start_credits(shared, now, packet, Rts::from_packet(packet));
    }

    /// See [`Receiver::receive_request`], for a request that is read off `packet`, or concluded from it.
    fn start_credits(&mut self, shared: &mut Shared, now: Time, packet: &Packet, request: Rts) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return shared.say_finished(packet);
        }
        let Rts { last, attempt, message_bytes, .. } = request;
        let rate = self.first_rate(request, now);
        match self.messages.get_mut(&key) {
            Some(incoming) if attempt <= incoming.attempt => return,
            Some(incoming) => {
                incoming.attempt = attempt;
                // Credits flow already, and the next one answers this attempt.
                if incoming.state == ReceiverState::Crediting {
                    return;
                }
                incoming.state.step(ReceiverEvent::Request);
                incoming.rate = rate;
            }
            None => {
                // The length comes from the wire: one of more packets than 32 bits can count is not a message.
                let Ok(packets) = u32::try_from(shared.context.sizes.packets_of(message_bytes)) else {
                    return;
                };
                let of_run = match self.params.jitter_from {
                    JitterFrom::Numbers => 0,
                    JitterFrom::Seed => mix(!shared.context.seed),
                };
                // Both hosts count: the messages of two pairs with the same number would otherwise jitter in step.
                let hosts = u64::from(shared.context.host.0) << 32 | u64::from(key.0.0);
                let seed = mix(hosts) ^ u64::from(key.1) ^ of_run;
                let timeout = (shared.context.path)(key.0).max_rtt.saturating_mul(REPAIR_ROUND_TRIPS);
                let pushed = packet.flags.has_all(PacketFlags::UNSCHEDULED);
                let first_window = if pushed { last.saturating_add(1).min(packets) } else { 0 };
                let incoming = Incoming {
                    packets,
                    received: IndexWindow::default(),
                    sent: first_window,
                    first_window,
                    state: ReceiverState::Crediting,
                    attempt,
                    tag: packet.tag,
                    entropy: packet.entropy,
                    rate,
                    credit: 1,
                    expected: 1,
                    rtt: Time::ZERO,
                    seed: mix(seed),
                    credit_due: Time::MAX,
                    missing_due: Time::MAX,
                    timeout: timeout.max(self.params.retry),
                    repeats: 0,
                };
                self.messages.insert(key, incoming);
            }
        }
        self.send_credit(shared, now, key);
    }

    /// The rate at which credits for one of several fair sharers begin, or for a message alone.
    fn first_rate(&self, request: Rts, now: Time) -> CreditRate {
        CreditRate::new(&self.params.shared_by(request.share), request.left, now)
    }

    /// The next credit of a message is due.
    pub(super) fn credit_due(&mut self, shared: &mut Shared, now: Time, key: Key) {
        let due = |incoming: &Incoming| incoming.credit_due <= now;
        if self.messages.get(&key).is_some_and(due) {
            self.send_credit(shared, now, key);
        }
    }

    /// ExpressPass §3.2: the rate may change as a credit leaves; the next one follows after a gap with jitter.
    fn send_credit(&mut self, shared: &mut Shared, now: Time, key: Key) {
        let Some(incoming) = self.messages.get_mut(&key) else { return };
        incoming.rate.update_rate(now, incoming.rtt, self.slot);
        // The generator below owns no state: a credit that is dropped does not shift the draws of others.
        let lot =
            // The steps of SplitMix64, of which `mix` is the finaliser: the jitter of a credit follows from its number.
            mix(incoming.seed.wrapping_add(u64::from(incoming.credit).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let credit = Credit { number: incoming.credit, attempt: incoming.attempt, left: now };
        let usual = shared.control_view(credit, key.0, key.1, incoming.tag, incoming.entropy);
        let sizes = self.params.credit_shorter + self.params.credit_longer + 1;
        let least = u64::from(usual.wire).saturating_sub(self.params.credit_shorter).max(1);
        let wire = least + (((lot & (ONE - 1)) * sizes) >> 32);
        let credit = Packet { wire: wire as u16, ..usual };
        incoming.credit = incoming.credit.saturating_add(1);
        self.made += 1;
        self.host_link.push(shared, now, credit);
        let gap =
            jittered_gap(incoming.rate.credit_gap(self.slot), fixed_share(self.params.jitter), lot >> 32);
        incoming.credit_due = now.saturating_add(gap);
        shared.timers.arm_deadline(incoming.credit_due, TimerKey::Credit(key.0, key.1));
    }

    /// A packet of a first window, or the probe behind it, of a message whose request is lost stands for that.
    fn conclude_request(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (src, id) = (packet.src, packet.message);
        if !self.messages.contains_key(&(src, id)) && !self.finished.contains(src, id) {
            // A probe says these two where data packets do.
            let Data { window, message_bytes, .. } = Data::from_packet(packet);
            let left = shared.context.sizes.packets_of(message_bytes) as u32;
            let last = window.saturating_sub(1);
            let request = Rts { last, share: 1, attempt: 1, left, message_bytes };
            self.start_credits(shared, now, packet, request);
        }
    }

    /// Data tells which credits were used and which lost, and how long it took.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if packet.flags.has_all(PacketFlags::UNSCHEDULED) {
            self.conclude_request(shared, now, packet);
        }
        let index = Data::from_packet(packet).index;
        let Some(incoming) = self.messages.get_mut(&key).filter(|m| index < m.packets) else { return };
        incoming.state.step(ReceiverEvent::Data);
        // Before it is known whether the packet is a repetition: its credit was used either way.
        incoming.learn_from_data(now, packet);
        if packet.flags.has_all(PacketFlags::UNSCHEDULED) {
            acknowledge_first(shared, Ack { index }, packet, PacketFlags(0));
        }
        if incoming.received.insert(index) {
            incoming.repeats = 0;
            let (src, message, tag) = (key.0, key.1, incoming.tag);
            let bytes = u32::from(packet.payload);
            shared.events.push_back(EndpointEvent::Delivered { tag, src, message, bytes });
            if incoming.is_complete() {
                shared.events.push_back(EndpointEvent::Completed { tag, src, message });
                return self.close_message(shared, key, packet);
            }
        }
        incoming.sent_up_to(shared, now, key, index);
        // `sent_up_to` stops before this packet, which is here.
        incoming.sent = incoming.sent.max(index + 1);
    }

    /// ExpressPass §3.3: no more credits. Nothing that was sent can still be on its way behind this.
    pub(super) fn receive_stop(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return shared.say_finished(packet);
        }
        let CreditStop { sent, attempt, left, .. } = CreditStop::from_packet(packet);
        // A stop of before the last request would end the credits that were asked for since.
        let Some(incoming) = self.messages.get_mut(&key).filter(|m| attempt >= m.attempt) else {
            return;
        };
        let again = incoming.state == ReceiverState::CloseWait;
        incoming.attempt = attempt;
        incoming.state.step(ReceiverEvent::Stop);
        incoming.credit_due = Time::MAX;
        if incoming.is_complete() {
            return self.close_message(shared, key, packet);
        }
        let end = sent.min(incoming.packets);
        if incoming.first_window > 0 && left == 0 {
            // All of the first window has arrived or was sent again.
            incoming.sent = incoming.sent.max(end);
            incoming.name_gaps(shared, now, key);
        } else if end > incoming.sent {
            incoming.sent_up_to(shared, now, key, end);
        } else if again {
            // The sender still waits. The list of missing packets was lost, or the packets sent in answer to it were.
            incoming.name_gaps(shared, now, key);
        }
    }

    /// The sender asks for the outcome of its first window: packets that have not arrived by now are lost. Aeolus §4
    pub(super) fn receive_probe(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        if self.finished.contains(packet.src, packet.message) {
            return shared.say_finished(packet);
        }
        self.conclude_request(shared, now, packet);
        if self.messages.contains_key(&(packet.src, packet.message)) {
            let ack = Ack { index: Probe::from_packet(packet).index };
            acknowledge_first(shared, ack, packet, PacketFlags::UNSCHEDULED);
        }
    }

    /// A message that is complete and gets no more credits is over.
    fn close_message(&mut self, shared: &mut Shared, key: Key, packet: &Packet) {
        let closes = |m: &Incoming| m.state == ReceiverState::CloseWait;
        if self.messages.get(&key).is_some_and(closes)
            && let Some(mut incoming) = self.messages.remove(&key)
        {
            incoming.state.step(ReceiverEvent::Last);
            self.finished.insert(key.0, key.1);
            shared.say_finished(packet);
        }
    }

    /// Missing packets have not come: they, or the request for them, may be lost.
    pub(super) fn request_again(&mut self, shared: &mut Shared, now: Time, key: Key) {
        let due = |m: &&mut Incoming| m.missing_due <= now;
        let Some(incoming) = self.messages.get_mut(&key).filter(due) else { return };
        incoming.missing_due = Time::MAX;
        incoming.repeats += 1;
        incoming.name_gaps(shared, now, key);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        self.host_link.retain(|credit| !gone.covers_message((credit.dst, credit.message)));
        self.messages.retain(|key, _| !gone.covers_message(*key));
        self.finished.forget_gone(gone);
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.get(&id) {
            found(&CREDIT_RATE, incoming.rate.rate_share());
            found(&CREDITS_OUT, f64::from(incoming.credit.wrapping_sub(incoming.expected)));
            found(&CREDIT_ROUND_TRIP, incoming.rtt.as_secs_f64());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn collect_gauges(&self, _: Time) -> Vec<Gauge> {
        vec![CREDITS_MADE.count(self.made), CREDITS_DROPPED.count(self.host_link.dropped_credits())]
    }
}

impl Incoming {
    fn is_complete(&self) -> bool {
        self.received.len() == self.packets
    }

    /// ExpressPass §3.2: a gap in the numbers of credits that come back is a loss of credits.
    fn learn_from_data(&mut self, now: Time, packet: &Packet) {
        let Data { credit, echo, .. } = Data::from_packet(packet);
        // Late, or never given: neither tells of a loss.
        if credit < self.expected || credit >= self.credit {
            return;
        }
        self.rate.count_credits((credit - self.expected).into());
        self.expected = credit + 1;
        let sample = now.saturating_sub(echo);
        self.rtt = match self.rtt {
            Time::ZERO => sample,
            rtt => Time((4 * u128::from(rtt.0) / 5) as u64 + sample.0 / 5),
        };
    }

    /// All packets below `end` have been sent: names those that are missing and were not known to be.
    fn sent_up_to(&mut self, shared: &mut Shared, now: Time, key: Key, end: u32) {
        if end > self.sent {
            self.request_missing(shared, now, key, self.sent..end);
            self.sent = end;
        }
    }

    /// Asks for all that is known to be missing, or the first of it.
    fn name_gaps(&mut self, shared: &mut Shared, now: Time, key: Key) {
        let mut from = self.received.next_missing(0);
        for _ in 0..MAX_GAPS {
            if from >= self.sent {
                break;
            }
            let end = (from..self.sent).find(|i| self.received.contains(*i)).unwrap_or(self.sent);
            self.request_missing(shared, now, key, from..end);
            from = self.received.next_missing(end);
        }
    }

    /// Asks for packets that were sent and have not come.
    fn request_missing(
        &mut self,
        shared: &mut Shared,
        now: Time,
        (peer, id): Key,
        range: std::ops::Range<u32>,
    ) {
        let missing = Resend { first: range.start, missing: range.end - range.start };
        shared.control.push_back(shared.control_view(missing, peer, id, self.tag, self.entropy));
        if self.missing_due == Time::MAX {
            let timeout = self.timeout.saturating_mul(1 << self.repeats.min(MAX_DOUBLINGS));
            self.missing_due = now.saturating_add(timeout);
            shared.timers.arm_deadline(self.missing_due, TimerKey::Missing(peer, id));
        }
    }
}

/// A gap that deviates by up to `jitter` of itself, as `lot` says; both are shares.
fn jittered_gap(gap: Time, jitter: u64, lot: u64) -> Time {
    let span = ((u128::from(gap.0) * u128::from(jitter)) >> 32) as u64;
    // From one span below the gap to one above.
    let offset = ((u128::from(span) * 2 * u128::from(lot)) >> 32) as u64;
    Time((gap.0 - span).saturating_add(offset).max(1))
}
