//! The receiving half of RPO.

use super::expected::Expected;
use super::packets::{Data, Grant};
use super::{
    Detection, LossTimer, Missing, OPPORTUNISTIC, OpportunisticMark, Reissue, RpoParams, Shared, TimerKey,
};
use crate::endpoint::Gone;
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::messages::MessageId;
use crate::probes::{self, Sink};
use crate::shared::scale_time;
use crate::turns::Turns;
use crate::two_sided::ReceivingHalf;
use headway_gauges::{Gauge, GaugeInfo, Level};
use headway_packet::{Ecn, HostId, Packet, PacketFlags, Sizes, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Unmarked { Unmarked => Unmarked, Marked => Marked, Overdue => Unmarked, Last => Done }
        Marked { Unmarked => Unmarked, Marked => Marked, Overdue => Marked, Last => Done }
        Done {}
    }
    events { Unmarked, Marked, Overdue, Last }
}

pub(super) const REORDER_BUFFER: GaugeInfo =
    GaugeInfo::bytes("reorder_buffer_bytes", "reorder buffer", "held at a receiver for a missing packet");
pub(super) const DUPLICATES: GaugeInfo =
    GaugeInfo::packets("duplicate_packets", "duplicate packets", "that a receiver had already");

/// A sender that claims more is not believed.
const LONGEST_ROUND_TRIP: Time = Time::ms(1000);

/// A message being received.
struct Incoming {
    packets: u32,
    bytes: u64,
    received: IndexWindow,
    /// Everything from here to the end has arrived.
    above: u32,
    received_bytes: u64,
    /// Bytes that arrived ahead of a missing one and wait for it.
    held: u64,
    state: ReceiverState,
    /// Present time-out, and its lower limit.
    timeout: Time,
    least_timeout: Time,
    /// The last arrival of a new packet, or request for one.
    heard: Time,
    /// Requests in a row.
    attempts: u32,
    /// Permitted packets, with a time-out for each grant.
    expected: Option<Expected>,
    /// The one deadline in force; others of this message are left over and mean nothing.
    loss_at: Option<Time>,
    tag: u32,
    entropy: u32,
}

/// All messages that this host receives.
pub struct Receiver {
    params: RpoParams,
    messages: FxHashMap<(HostId, u32), Incoming>,
    finished: FinishedMessages,
    /// The re-sequencing buffer. RPO §IV-C
    held: Level,
    duplicates: u64,
    /// Packets to be granted again, or asked for after a silence.
    again: Turns<((HostId, u32), Again)>,
}

/// Why a receiver speaks although nothing has arrived.
enum Again {
    /// A permitted packet has not come. RPO §IV-C
    Overdue(Missing),
    /// Nothing has come for too long: one packet sets the exchange going again.
    Silence,
}

impl Receiver {
    pub(super) fn new(params: RpoParams) -> Receiver {
        Receiver {
            params,
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
            held: Level::default(),
            duplicates: 0,
            again: Turns::default(),
        }
    }

    /// RPO §IV-C: every new packet, normal or opportunistic, is answered by a grant.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let Some(incoming) = self.messages.get_mut(&key) else {
            return self.receive_first(shared, now, packet);
        };
        let Data { index, round_trip, .. } = Data::from_packet(packet);
        if index >= incoming.packets || !incoming.received.insert(index) {
            self.duplicates += 1;
            return;
        }
        shared.report_delivered(packet);
        let before = incoming.held;
        incoming.count_arrival(&shared.context.sizes, now, packet);
        if self.params.loss_timer == LossTimer::Measured {
            incoming.update_timeout(round_trip, self.params.loss_timeout);
        }
        let held = self.held.value() - before + incoming.held;
        self.held.set(now, held);
        if incoming.received.len() == incoming.packets {
            self.complete_message(shared, key, packet);
            return;
        }
        let echoed = incoming.echoed_mark(packet, self.params.opportunistic_mark);
        // A sender without opportunistic packets and a marked one look the same from here: a packet for each grant.
        let marked = echoed || !self.params.opportunistic;
        incoming.send_grant(shared, key, packet, marked);
        if let Some(expected) = &mut incoming.expected {
            expected.permit_next(now, marked);
        }
        incoming.arm_loss_timer(shared, now, key);
    }

    /// A packet of a message that is not being received: a new one, or one that has finished.
    // Once a message; any other packet finds its entry.
    #[cold]
    fn receive_first(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (peer, id) = (packet.src, packet.message);
        if self.finished.contains(peer, id) {
            // The sender has not heard that it is done.
            self.duplicates += 1;
            shared.say_finished(packet);
        } else if let Some(incoming) = self.admit_message(shared, now, packet) {
            self.messages.insert((peer, id), incoming);
            self.receive_data(shared, now, packet);
        }
    }

    /// State for a message on its first packet: its first window counts as permitted.
    fn admit_message(&self, shared: &Shared, now: Time, packet: &Packet) -> Option<Incoming> {
        let context = &shared.context;
        let Data { window, message_bytes, .. } = Data::from_packet(packet);
        // The length comes from the wire: one of more packets than 32 bits can count is not a message.
        let packets = u32::try_from(context.sizes.packets_of(message_bytes)).ok()?;
        let path = (context.path)(packet.src);
        let timeout = self.params.scaled_timeout(&path, self.params.loss_timeout);
        let window = window.clamp(1, packets);
        let expected = match packet.flags.has_all(PacketFlags::AGAIN) {
            // The whole window left a silence ago, and queues keep their order.
            true => Expected::new(now, Time::ZERO, window, packets),
            // A packet that comes with a grant comes a round trip after it.
            false => {
                let by = now.saturating_add(timeout.saturating_sub(path.base_rtt));
                Expected::new(by, context.sizes.slot_time(path.bottleneck), window, packets)
            }
        };
        Some(Incoming {
            packets,
            bytes: message_bytes,
            received: IndexWindow::default(),
            above: packets,
            received_bytes: 0,
            held: 0,
            state: ReceiverState::Unmarked,
            timeout,
            least_timeout: timeout,
            heard: now,
            attempts: 0,
            expected: (self.params.detection != Detection::Acknowledgements).then_some(expected),
            loss_at: None,
            tag: packet.tag,
            entropy: packet.entropy,
        })
    }

    fn complete_message(&mut self, shared: &mut Shared, key: (HostId, u32), packet: &Packet) {
        let (peer, id) = key;
        if let Some(mut incoming) = self.messages.remove(&key) {
            incoming.state.step(ReceiverEvent::Last);
        }
        self.finished.insert(peer, id);
        shared.report_completed(packet);
        shared.say_finished(packet);
    }

    /// A message's deadline: overdue packets wait for their turn to be granted again.
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let key = (peer, id);
        let Some(incoming) = self.messages.get_mut(&key) else { return };
        if incoming.loss_at.is_none_or(|at| now < at) {
            return;
        }
        incoming.loss_at = None;
        if let Some(expected) = &mut incoming.expected {
            let again = |missing| self.again.push((key, Again::Overdue(missing)));
            expected.take_overdue(now, incoming.timeout, &incoming.received, again);
        }
        if now >= incoming.silent_at() {
            self.again.push((key, Again::Silence));
            incoming.heard = now;
            // None by default: the paper's time-out does not double.
            incoming.attempts = (incoming.attempts + 1).min(self.params.backoff as u32);
        }
        incoming.arm_loss_timer(shared, now, key);
        if self.again.is_idle() {
            self.reissue_grants(shared, now);
        }
    }

    /// Grants as many of the missing packets again as may be by now.
    pub(super) fn reissue_grants(&mut self, shared: &mut Shared, now: Time) {
        self.again.mark_due();
        let slot = match self.params.reissue {
            // If only senders find losses, a receiver asks once a silence for one packet, too rarely to need a
            // pace.
            Reissue::Paced if self.params.detection != Detection::Acknowledgements => {
                shared.context.sizes.slot_time(shared.context.nic)
            }
            _ => Time::ZERO,
        };
        while let Some((key, again)) = self.again.next(now) {
            let Some(incoming) = self.messages.get_mut(&key) else { continue };
            let granted = match again {
                Again::Silence => {
                    let missing = incoming.received.next_missing(0);
                    incoming.send_request(shared, key, missing, 0);
                    true
                }
                Again::Overdue(missing) => {
                    incoming.grant_again(shared, now, key, &missing, self.params.backoff as u32)
                }
            };
            if granted {
                self.again.mark_served(now, slot);
            }
            incoming.arm_loss_timer(shared, now, key);
        }
        if let Some(at) = self.again.arm_deadline() {
            shared.timers.arm_deadline(at, TimerKey::Reissue);
        }
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, now: Time, gone: Gone) {
        let mut held = self.held.value();
        self.messages.retain(|key, incoming| {
            held -= if gone.covers_message(*key) { incoming.held } else { 0 };
            !gone.covers_message(*key)
        });
        self.held.set(now, held);
        self.again.retain(|(key, _)| !gone.covers_message(*key));
        self.finished.forget_gone(gone);
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.get(&id) {
            found(&probes::HELD, incoming.held as f64);
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        vec![self.held.gauge(&REORDER_BUFFER, now), DUPLICATES.count(self.duplicates)]
    }
}

impl Incoming {
    /// Accounts for a new packet.
    fn count_arrival(&mut self, sizes: &Sizes, now: Time, packet: &Packet) {
        while self.above > 0 && self.received.contains(self.above - 1) {
            self.above -= 1;
        }
        self.received_bytes += u64::from(packet.payload);
        let in_order = u64::from(self.received.next_missing(0)) * u64::from(sizes.payload);
        // The last packet may be shorter than a full payload.
        self.held = self.received_bytes.saturating_sub(in_order.min(self.bytes));
        (self.heard, self.attempts) = (now, 0);
    }

    /// True if the grant for a packet is marked. RPO §IV-C
    fn echoed_mark(&mut self, packet: &Packet, opportunistic: OpportunisticMark) -> bool {
        if packet.priority < OPPORTUNISTIC {
            let marked = packet.ecn == Ecn::Ce;
            self.state.step(if marked { ReceiverEvent::Marked } else { ReceiverEvent::Unmarked });
            return marked;
        }
        opportunistic == OpportunisticMark::Inherit && self.state == ReceiverState::Marked
    }

    /// A grant for a packet that arrived: one normal packet, and an opportunistic one unless marked.
    fn send_grant(&self, shared: &mut Shared, (peer, id): (HostId, u32), packet: &Packet, marked: bool) {
        let Data { index, departure, .. } = Data::from_packet(packet);
        let grant = self.grant_about(index, if marked { 1 } else { 2 }, departure);
        let grant = shared.control_view(grant, peer, id, self.tag, self.entropy);
        let flags = PacketFlags::only_if(marked, PacketFlags::ECE);
        shared.control.push_back(Packet { flags, ..grant });
    }

    /// A grant for a packet that is missing, which permits `count` packets: one, or that one and no other.
    fn send_request(&mut self, shared: &mut Shared, (peer, id): (HostId, u32), index: u32, count: u32) {
        self.state.step(ReceiverEvent::Overdue);
        let grant = self.grant_about(index, count, 0);
        let grant = shared.control_view(grant, peer, id, self.tag, self.entropy);
        shared.control.push_back(Packet { flags: PacketFlags::AGAIN, ..grant });
    }

    /// A grant about a packet, with the arrivals of the message.
    fn grant_about(&self, index: u32, permitted: u32, departure: u32) -> Grant {
        let (arrived_below, arrived_from) = (self.received.next_missing(0), self.above.into());
        Grant { index, permitted, departure, arrived_below, arrived_from }
    }

    /// The time-out by the round trip that the sender measures.
    fn update_timeout(&mut self, round_trip: Time, factor: f64) {
        if round_trip > Time::ZERO {
            self.timeout = scale_time(round_trip.min(LONGEST_ROUND_TRIP), factor).max(self.least_timeout);
        }
    }

    /// Grants a packet again, unless it has arrived; `false` if no grant was sent.
    fn grant_again(
        &mut self,
        shared: &mut Shared,
        now: Time,
        key: (HostId, u32),
        missing: &Missing,
        backoff: u32,
    ) -> bool {
        let Missing { index, mut attempts } = *missing;
        if self.received.contains(index) {
            return false;
        }
        let Some(expected) = &mut self.expected else { return false };
        // An opportunistic packet of a marked message waits in a queue, perhaps for long.
        let waits = self.state == ReceiverState::Marked && expected.is_from_the_end(index);
        // The time-out doubles with each attempt that had no result.
        attempts += u32::from(!waits && attempts < backoff);
        let timeout = self.timeout.saturating_mul(1 << attempts);
        expected.permit_again(now.saturating_add(timeout), index, attempts);
        if !waits {
            self.send_request(shared, key, index, 1);
        }
        !waits
    }

    /// Time at which nothing has come for too long.
    fn silent_at(&self) -> Time {
        self.heard.saturating_add(self.timeout.saturating_mul(1 << self.attempts))
    }

    /// Arms this message's one deadline in the machine.
    fn arm_loss_timer(&mut self, shared: &mut Shared, now: Time, (peer, id): (HostId, u32)) {
        let overdue = self.expected.as_mut().map_or(Time::MAX, |e| e.next(self.timeout, &self.received));
        let earliest = overdue.min(self.silent_at());
        // A deadline in force that is not later is looked at when it comes, and moved on.
        if self.loss_at.is_none_or(|at| at <= now || earliest < at) {
            shared.timers.arm_deadline(earliest, TimerKey::Loss(peer, id));
            self.loss_at = Some(earliest);
        }
    }
}
