//! The receiving half: acknowledgements, and the credit of pulls.

use super::control::rccc::QUANTUM;
use super::pacer::{Line, Pacer};
use super::packets::{Ack, Data, Nack, Pull, Rts};
use super::{CreditRules, LAST_HOP, PROBE, Settings, Shared, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::messages::{MessageId, Messages};
use crate::probes::Sink;
use crate::spraying::{Entropies, Spraying};
use crate::two_sided::ReceivingHalf;
use headway_gauges::GaugeInfo;
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, TypedView};
use headway_primitives::mix;
use headway_units::Time;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(crate) enum ReceiverState on ReceiverEvent {
        Receiving { Data => Receiving, Header => Receiving, Request => Receiving, Last => Done }
        Done {}
    }
    events { Data, Header, Request, Last }
}

/// Credit that senders have requested and the receiver has not given.
pub(crate) const WANTED: GaugeInfo = GaugeInfo::bytes(
    "wanted_bytes",
    "credit wanted",
    "bytes on the wire that the sender has asked for and that the receiver has not permitted yet",
);

/// Entropies of pulls, in turn. RCCC §3.2
const PULL_ENTROPIES: u64 = 128;
/// Acknowledgements of a largest window at the least: packets without acknowledgement keep the window closed.
const ACKS_IN_WINDOW: u64 = 16;

/// A message being received.
struct Incoming {
    packets: u32,
    received: IndexWindow,
    /// Bytes that have arrived since the last acknowledgement, and true if one was requested since the last hole was
    /// closed.
    unacked: u64,
    asked: bool,
    /// Bytes asked for and permitted, and bytes of packets to be sent again that are owed, where these are counted apart.
    target: u64,
    given: u64,
    owed: u64,
    /// True if it is in the line of messages that want more, and true if it is in that of the others.
    active: bool,
    idle: bool,
    /// Bytes that it may have beyond those that it asked for.
    most: u64,
    tag: u32,
    entropies: Entropies,
    state: ReceiverState,
}

/// All messages that this host receives.
pub struct Receiver {
    settings: Settings,
    messages: Messages<Incoming>,
    finished: FinishedMessages,
    pacer: Pacer,
}

impl Receiver {
    pub(super) fn new(settings: Settings, context: &HostContext) -> Receiver {
        let pacer = Pacer::new(&settings, context);
        Receiver { settings, messages: Messages::default(), finished: FinishedMessages::default(), pacer }
    }

    /// A packet of a sender: data, the header of cut data, or a request.
    pub(super) fn receive_packet(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let (rules, ack_bytes) = (self.settings.credit.clone(), self.settings.common.ack_bytes);
        // Before the message is looked up: the mark of a repeated packet is a sign of congestion as well.
        self.pacer.note_arrival(now, packet, || self.settings.base_rtt(&(shared.context.path)(packet.src)));
        let Some(incoming) = self.find_or_create(shared, packet) else { return };
        if packet.kind == PacketKind::Rts {
            incoming.receive_request(shared, key, packet);
        } else if Data::from_packet(packet).index >= incoming.packets {
            return;
        } else if packet.is_data() {
            incoming.receive_data(shared, key, packet, ack_bytes.min(incoming.most / ACKS_IN_WINDOW));
            if incoming.received.len() == incoming.packets {
                return self.complete_message(shared, key, packet);
            }
        } else {
            incoming.receive_header(shared, key, packet);
        }
        if let Some(rules) = rules {
            self.line_up(key, packet, &rules, shared.context.sizes.full_wire().into());
            self.send_pulls(shared, now);
        }
    }

    /// The state of a message, made if it is new; `None` for one that is over, or makes no sense.
    fn find_or_create(&mut self, shared: &mut Shared, packet: &Packet) -> Option<&mut Incoming> {
        let (peer, id) = (packet.src, packet.message);
        if let Some(place) = self.messages.find_key((peer, id)) {
            return Some(&mut self.messages[place]);
        }
        // A request carries the length in the same field as a data packet.
        let Data { index, message_bytes, .. } = Data::from_packet(packet);
        let packets = u32::try_from(shared.context.sizes.packets_of(message_bytes)).ok()?;
        let request = packet.kind == PacketKind::Rts;
        if self.finished.contains(peer, id) {
            // The sender has not heard that it is done.
            // A request carries no index: the last packet stands for the message.
            let index = if request { packets - 1 } else { index };
            let ack = Ack { index, arrived: packets, bitmap: 0, from: 0, received: packets };
            let mut ack = shared.control_view(ack, peer, id, packet.tag, packet.entropy);
            ack.flags = echoed_flags(packet);
            shared.control.push_back(ack);
            return None;
        }
        if !request && index >= packets {
            return None;
        }
        let path = (shared.context.path)(peer);
        // Differs from the seed that a message of this number has at its sender here.
        let seed = mix(u64::from(shared.context.host.0) << 32 | u64::from(id)) ^ shared.context.seed ^ 1;
        // Nothing answers a pull, so a policy could not learn.
        let (spraying, times) = (Spraying::Oblivious, (&path, Time::ZERO));
        let incoming = Incoming {
            packets,
            received: IndexWindow::default(),
            unacked: 0,
            asked: false,
            target: 0,
            given: 0,
            owed: 0,
            active: false,
            idle: false,
            most: self.settings.largest_window(&shared.context, self.settings.base_rtt(&path)),
            tag: packet.tag,
            entropies: Entropies::new(spraying, PULL_ENTROPIES, times, packet.entropy, seed),
            state: ReceiverState::Receiving,
        };
        let place = self.messages.insert((peer, id), incoming);
        Some(&mut self.messages[place])
    }

    /// The last packet of a message has arrived, and was acknowledged: it is not pulled any more.
    fn complete_message(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        let Some(mut incoming) = self.messages.remove(key) else { return };
        incoming.state.step(ReceiverEvent::Last);
        self.finished.insert(key.0, key.1);
        shared.report_completed(packet);
    }

    /// Puts a message into the lines where a packet of it wants it to be. RCCC §3.2
    fn line_up(&mut self, key: MessageId, packet: &Packet, rules: &CreditRules, full: u64) {
        let Some(incoming) = self.messages.named_mut(key) else { return };
        let target = u64::from(Data::from_packet(packet).target) * QUANTUM;
        let more = target > incoming.target;
        incoming.target = incoming.target.max(target);
        let lost = match packet.kind {
            // The number comes from the wire: no more than the message has.
            PacketKind::Rts => u64::from(Rts::from_packet(packet).again.min(incoming.packets - 1)) + 1,
            PacketKind::Header => 1,
            _ => 0,
        };
        let waited = incoming.owed > 0;
        if rules.counts_again && lost > 0 {
            incoming.owed = (incoming.owed + lost * full).min(u64::from(incoming.packets) * full);
            if !waited {
                self.pacer.again.push_back(key);
            }
        }
        // A message that waits for repetitions joins the line of the others when these are paid for (`pull`).
        let wants = more && !waited || lost > 0 && (!rules.counts_again || packet.kind == PacketKind::Rts);
        if wants && !incoming.active {
            incoming.active = true;
            self.pacer.active.push_back(key);
        }
    }

    /// The pulls whose time has come. RCCC §3.2
    fn send_pulls(&mut self, shared: &mut Shared, now: Time) {
        let Some(rules) = self.settings.credit.clone() else { return };
        while self.pacer.next() <= now {
            let Some((key, line)) = self.pacer.pop() else { return };
            // It may be complete: only `forget_messages` takes messages out of the lines.
            let Some(incoming) = self.messages.named_mut(key) else { continue };
            let before = incoming.given;
            let all = before + rules.pull;
            let to_target = line == Line::Active && !rules.counts_again;
            // Credit does not exceed the requests, but never decreases.
            incoming.given = if to_target { all.min(incoming.target.max(before)) } else { all };
            incoming.owed = incoming.owed.saturating_sub(rules.pull);
            let wants = incoming.target > incoming.given;
            match line {
                Line::Again if incoming.owed > 0 => self.pacer.again.push_back(key),
                Line::Again if wants && !incoming.active => {
                    incoming.active = true;
                    self.pacer.active.push_back(key);
                }
                Line::Again => {}
                Line::Active if wants => self.pacer.active.push_back(key),
                Line::Active => {
                    incoming.active = false;
                    if !incoming.idle {
                        incoming.idle = true;
                        self.pacer.idle.push_back(key);
                    }
                }
                Line::Idle if !wants && incoming.given - incoming.target < incoming.most => {
                    self.pacer.idle.push_back(key);
                }
                Line::Idle => incoming.idle = false,
            }
            let (permitted, gap) = (incoming.given, incoming.given - before);
            let entropy = incoming.entropies.next_entropy();
            let pull = shared.control_view(Pull { permitted }, key.0, key.1, incoming.tag, entropy);
            shared.control.push_back(Packet { flags: PacketFlags::PULL, ..pull });
            self.pacer.record_pull(now, gap);
        }
        if !self.pacer.armed && !self.pacer.is_empty() {
            shared.timers.arm_deadline(self.pacer.next().max(now), TimerKey::Pull);
            self.pacer.armed = true;
        }
    }

    /// The deadline of the next pull has come.
    pub(super) fn pull_due(&mut self, shared: &mut Shared, now: Time) {
        self.pacer.armed = false;
        self.send_pulls(shared, now);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        self.messages.forget_gone(gone);
        self.pacer.retain_messages(|key| !gone.covers_message(*key));
        self.finished.forget_gone(gone);
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let (Some(incoming), true) = (self.messages.named_now(id), self.settings.credit.is_some()) {
            found(&WANTED, incoming.target.saturating_sub(incoming.given) as f64);
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

/// Flags of the answered packet that its answer repeats.
fn echoed_flags(packet: &Packet) -> PacketFlags {
    let again = packet.flags.has_all(PacketFlags::AGAIN);
    PacketFlags::only_if(packet.ecn == Ecn::Ce, PacketFlags::ECE)
        .with(PacketFlags::only_if(again, PacketFlags::AGAIN))
        .with(PacketFlags::only_if(packet.kind == PacketKind::Rts && packet.flags.has_all(PROBE), PROBE))
}

impl Incoming {
    /// A packet with its payload. UET §1.1
    fn receive_data(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet, ack_bytes: u64) {
        self.state.step(ReceiverEvent::Data);
        let Data { index, ask, .. } = Data::from_packet(packet);
        let (marked, asks) = (packet.ecn == Ecn::Ce, ask > 0);
        if !self.received.insert(index) {
            // Its sender is not up to date.
            return self.push_ack(shared, key, packet);
        }
        shared.report_delivered(packet);
        // The first answer ends speculation, and must not wait for more bytes.
        let first = self.received.len() == 1;
        self.unacked += u64::from(packet.wire);
        self.asked |= asks;
        let whole = self.received.next_missing(0) == self.received.len();
        let closed = whole && self.asked;
        if closed {
            self.asked = false;
        }
        let last = self.received.len() == self.packets;
        if marked || asks || first || closed || last || self.unacked >= ack_bytes {
            self.push_ack(shared, key, packet);
        }
    }

    /// Reports the arrivals, the packet itself and those before it first of all. UET §1.1
    fn push_ack(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        self.unacked = 0;
        let arrived = self.received.next_missing(0);
        // A request names no packet, and hosts refuse answers about packets that a message has not.
        let request = packet.kind == PacketKind::Rts;
        let index = if request { arrived.saturating_sub(1) } else { Data::from_packet(packet).index };
        // The bitmap ends with a packet that is more than 63 beyond the first missing one.
        let from = index.saturating_sub(63).saturating_sub(arrived);
        let bitmap = self.received.bits_from(arrived + from);
        let ack = Ack { index, arrived, bitmap, from, received: self.received.len() };
        let mut ack = shared.control_view(ack, key.0, key.1, self.tag, packet.entropy);
        ack.flags = echoed_flags(packet);
        shared.control.push_back(ack);
    }

    /// A packet without its payload. UET §1.2
    fn receive_header(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        self.state.step(ReceiverEvent::Header);
        let index = Data::from_packet(packet).index;
        if self.received.contains(index) {
            return self.push_ack(shared, key, packet);
        }
        let nack = Nack { index, arrived: self.received.next_missing(0) };
        let mut nack = shared.control_view(nack, key.0, key.1, self.tag, packet.entropy);
        nack.flags =
            echoed_flags(packet).with(PacketFlags::only_if(packet.flags.has_all(LAST_HOP), LAST_HOP));
        shared.control.push_back(nack);
    }

    /// Takes in a request for credit; its sender does not know the arrivals.
    fn receive_request(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        self.state.step(ReceiverEvent::Request);
        self.push_ack(shared, key, packet);
    }
}
