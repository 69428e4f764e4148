//! The receiving half: reassembly, selective and delayed acknowledgements, and DCTCP's echo of marks.

use super::params::ConnectionParams;
use super::{Shared, TimerKey};
use crate::arrived::Arrived;
use crate::endpoint::EndpointEvent;
use crate::finished::FinishedMessages;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind};
use headway_units::Time;
use rustc_hash::FxHashMap;

crate::state_machine! {
    /// A message at its receiver.
    "receiver connection" pub(super) enum ReceiverState on ReceiverEvent {
        Current { Arrived => Owing, Last => Done }
        Owing { Arrived => Owing, Acknowledged => Current, Last => Done }
        Done {}
    }
    events { Arrived, Acknowledged, Last }
}

/// A message being received.
struct Incoming {
    packets: u32,
    arrived: Arrived,
    /// Distinct packets that have arrived.
    count: u32,
    /// Whether the last packet was marked. RFC 8257 §3.2
    ce: bool,
    /// Packets in order that no acknowledgement has answered, the last of them, and what the first echoes.
    owed: u32,
    last: u32,
    echo: Time,
    /// When the owed acknowledgement is sent at the latest, and the earliest of these that is armed.
    due: Time,
    armed: Time,
    tag: u32,
    entropy: u32,
    state: ReceiverState,
}

/// All messages that this host receives.
pub(super) struct Receiver {
    ack_every: u32,
    ack_delay: Time,
    quick_acks: u32,
    /// Packets beyond the first missing one.
    window: u32,
    messages: FxHashMap<(HostId, u32), Incoming>,
    finished: FinishedMessages,
}

impl Receiver {
    pub(super) fn new(params: &ConnectionParams) -> Receiver {
        Receiver {
            ack_every: params.ack_every as u32,
            ack_delay: params.ack_delay,
            quick_acks: params.quick_acks as u32,
            window: if params.receive_window == 0 { u32::MAX } else { params.receive_window as u32 },
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
        }
    }

    pub(super) fn live(&self) -> usize {
        self.messages.len()
    }

    /// The sender is gone.
    pub(super) fn forget(&mut self, peer: HostId) {
        self.messages.retain(|key, _| key.0 != peer);
        self.finished.forget(peer);
    }

    /// A SYN: state for the message, and an acknowledgement of nothing.
    pub(super) fn syn(&mut self, shared: &mut Shared, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return Self::repeat_last(shared, packet, self.window);
        }
        let Some(incoming) = self.incoming(shared, packet) else { return };
        let ack = incoming.acknowledgement(shared, key, (0, packet.lifetime), u32::MAX);
        shared.control.push_back(ack);
    }

    fn incoming(&mut self, shared: &Shared, packet: &Packet) -> Option<&mut Incoming> {
        let packets = u32::try_from(shared.context.sizes.packets(packet.message_bytes)).ok()?;
        let fresh = || Incoming {
            packets,
            arrived: Arrived::default(),
            count: 0,
            ce: false,
            owed: 0,
            last: 0,
            echo: Time::ZERO,
            due: Time::MAX,
            armed: Time::MAX,
            tag: packet.tag,
            entropy: packet.entropy,
            state: ReceiverState::Current,
        };
        Some(self.messages.entry((packet.src, packet.message)).or_insert_with(fresh))
    }

    /// A data packet.
    pub(super) fn data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return Self::repeat_last(shared, packet, self.window);
        }
        let (every, quick, window) = (self.ack_every, self.quick_acks, self.window);
        let due = now.saturating_add(self.ack_delay);
        let Some(incoming) = self.incoming(shared, packet) else { return };
        if packet.index >= incoming.packets {
            return;
        }
        let changed = incoming.see_mark(shared, key, packet.ecn == Ecn::Ce, window);
        let in_order = packet.index == incoming.arrived.next() && !incoming.arrived.has_holes();
        if incoming.arrived.insert(packet.index) {
            incoming.count += 1;
            let (tag, bytes) = (packet.tag, u32::from(packet.payload));
            shared.events.push_back(EndpointEvent::Delivered { tag, src: key.0, message: key.1, bytes });
        }
        incoming.owe(packet);
        let full = incoming.arrived.next() == incoming.packets;
        let quick = incoming.owed >= every || incoming.count <= quick;
        if full || !in_order || changed || quick {
            let echo = if in_order { incoming.echo } else { packet.lifetime };
            incoming.send(shared, key, echo, window);
        } else {
            incoming.put_off(shared, key, due);
        }
        if full {
            self.complete(shared, key, packet.tag);
        }
    }

    fn complete(&mut self, shared: &mut Shared, key: (HostId, u32), tag: u32) {
        if let Some(mut incoming) = self.messages.remove(&key) {
            incoming.step(ReceiverEvent::Last);
        }
        self.finished.insert(key.0, key.1);
        shared.events.push_back(EndpointEvent::Completed { tag, src: key.0, message: key.1 });
    }

    /// The sender has not heard that everything has arrived.
    fn repeat_last(shared: &mut Shared, packet: &Packet, window: u32) {
        let Ok(packets) = u32::try_from(shared.context.sizes.packets(packet.message_bytes)) else { return };
        let (peer, id) = (packet.src, packet.message);
        let mut ack = shared.control_packet(PacketKind::Ack, peer, id, packet.tag, packet.entropy);
        (ack.index, ack.count, ack.remaining, ack.lifetime) =
            (packet.index, packets, window, packet.lifetime);
        shared.control.push_back(ack);
    }

    /// An acknowledgement has been put off for as long as it may.
    pub(super) fn overdue(&mut self, shared: &mut Shared, at: Time, now: Time, key: (HostId, u32)) {
        let window = self.window;
        let Some(incoming) = self.messages.get_mut(&key).filter(|i| i.armed == at) else { return };
        incoming.armed = Time::MAX;
        if incoming.owed == 0 {
            return;
        }
        if incoming.due <= now {
            incoming.send(shared, key, incoming.echo, window);
        } else {
            incoming.put_off(shared, key, incoming.due);
        }
    }
}

impl Incoming {
    fn step(&mut self, event: ReceiverEvent) {
        if let Some(next) = self.state.on(event) {
            self.state = next;
        }
    }

    /// Answers whether marks began or ended with this packet. What came before it is acknowledged first, so
    /// that every acknowledgement speaks of marked packets or of others. RFC 8257 §3.2
    fn see_mark(&mut self, shared: &mut Shared, key: (HostId, u32), ce: bool, window: u32) -> bool {
        if ce == self.ce {
            return false;
        }
        if self.owed > 0 {
            self.send(shared, key, self.echo, window);
        }
        self.ce = ce;
        true
    }

    fn owe(&mut self, packet: &Packet) {
        if self.owed == 0 {
            // RFC7323 §4.3: the earliest packet's time, so that a delay here counts as round trip.
            self.echo = packet.lifetime;
        }
        (self.owed, self.last) = (self.owed + 1, packet.index);
        self.step(ReceiverEvent::Arrived);
    }

    fn put_off(&mut self, shared: &mut Shared, key: (HostId, u32), due: Time) {
        if self.owed == 1 {
            self.due = due;
        }
        if self.due < self.armed {
            self.armed = self.due;
            shared.timers.arm(self.due, TimerKey::Ack(key.0, key.1));
        }
    }

    /// Acknowledges everything that has arrived.
    fn send(&mut self, shared: &mut Shared, key: (HostId, u32), echo: Time, window: u32) {
        let ack = self.acknowledgement(shared, key, (self.last, echo), window);
        shared.control.push_back(ack);
        self.owed = 0;
        self.step(ReceiverEvent::Acknowledged);
    }

    fn acknowledgement(
        &self,
        shared: &Shared,
        (peer, id): (HostId, u32),
        (index, echo): (u32, Time),
        window: u32,
    ) -> Packet {
        let mut ack = shared.control_packet(PacketKind::Ack, peer, id, self.tag, self.entropy);
        (ack.index, ack.count, ack.remaining, ack.lifetime) = (index, self.arrived.next(), window, echo);
        ack.set_sack(self.arrived.report());
        ack.flags = PacketFlags::when(self.ce, PacketFlags::ECE);
        ack
    }
}
