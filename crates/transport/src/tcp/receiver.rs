//! The receiving half: reassembly, selective and delayed acknowledgements, and DCTCP's echo of marks.

use super::params::ConnectionParams;
use super::{Shared, TimerKey};
use crate::endpoint::EndpointEvent;
use crate::finished::FinishedMessages;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::ops::Range;

crate::state_machine! {
    /// A message at its receiver.
    "receiver connection" pub(super) enum ReceiverState on ReceiverEvent {
        Current { Arrived => Owing, Last => Done }
        Owing { Arrived => Owing, Acknowledged => Current, Last => Done }
        Done {}
    }
    events { Arrived, Acknowledged, Last }
}

/// Blocks remembered for the order in which they are reported. RFC 2018 §4
const RECENT: usize = 3;

/// What has arrived of a message.
#[derive(Clone, Debug, Default)]
struct Arrived {
    /// First packet that has not.
    next: u32,
    /// What has above it: sorted, neither touching nor overlapping.
    blocks: Vec<Range<u32>>,
    /// A packet of each block that grew last, the latest first.
    recent: [Option<u32>; RECENT],
}

impl Arrived {
    /// Adds a packet; `false` when it was there already.
    fn insert(&mut self, index: u32) -> bool {
        if index < self.next {
            return false;
        }
        let place = self.blocks.partition_point(|block| block.end < index);
        match self.blocks.get_mut(place) {
            Some(block) if block.contains(&index) => return false,
            Some(block) if block.end == index => block.end += 1,
            Some(block) if block.start == index + 1 => block.start = index,
            _ => self.blocks.insert(place, index..index + 1),
        }
        if self.blocks.get(place + 1).is_some_and(|after| after.start == self.blocks[place].end) {
            self.blocks[place].end = self.blocks.remove(place + 1).end;
        }
        self.note(index, self.blocks[place].clone());
        if self.blocks[0].start == self.next {
            self.next = self.blocks.remove(0).end;
        }
        true
    }

    /// Puts a packet in front of the packets of other blocks.
    fn note(&mut self, index: u32, block: Range<u32>) {
        let mut kept = [Some(index), None, None];
        let others = self.recent.iter().flatten().filter(|i| !block.contains(i)).copied();
        kept[1..].iter_mut().zip(others).for_each(|(slot, other)| *slot = Some(other));
        self.recent = kept;
    }

    /// Blocks above the first missing packet, the one that grew last first.
    fn report(&self) -> impl Iterator<Item = Range<u32>> {
        let block = |index: &u32| self.blocks.iter().find(|block| block.contains(index)).cloned();
        self.recent.iter().flatten().filter_map(block)
    }
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
        let in_order = packet.index == incoming.arrived.next && incoming.arrived.blocks.is_empty();
        if incoming.arrived.insert(packet.index) {
            incoming.count += 1;
            let (tag, bytes) = (packet.tag, u32::from(packet.payload));
            shared.events.push_back(EndpointEvent::Delivered { tag, src: key.0, message: key.1, bytes });
        }
        incoming.owe(packet);
        let full = incoming.arrived.next == incoming.packets;
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
        (ack.index, ack.count, ack.remaining, ack.lifetime) = (index, self.arrived.next, window, echo);
        ack.set_sack(self.arrived.report());
        ack.flags = PacketFlags::when(self.ce, PacketFlags::ECE);
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_merge_and_are_reported_latest_first() {
        let mut arrived = Arrived::default();
        for index in [0, 2, 7, 5, 9, 10] {
            assert!(arrived.insert(index));
            assert!(!arrived.insert(index));
        }
        assert_eq!(arrived.next, 1);
        assert_eq!(arrived.report().collect::<Vec<_>>(), [9..11, 5..6, 7..8]);
        assert!(arrived.insert(6));
        assert_eq!(arrived.report().collect::<Vec<_>>(), [5..8, 9..11], "the oldest is not remembered");
        assert!(arrived.insert(1));
        assert_eq!((arrived.next, arrived.blocks.len()), (3, 2));
        assert_eq!(arrived.report().collect::<Vec<_>>(), [5..8, 9..11], "what is below is not reported");
        for index in [3, 4, 8] {
            arrived.insert(index);
        }
        assert_eq!((arrived.next, arrived.report().count()), (11, 0));
    }

    #[test]
    fn agrees_with_a_plain_set_in_any_order() {
        for step in [1u32, 7, 37, 64, 101] {
            let (mut arrived, mut plain) = (Arrived::default(), std::collections::BTreeSet::new());
            for i in 0..401u32 {
                let index = i * step % 401;
                assert_eq!(arrived.insert(index), plain.insert(index));
                assert_eq!(arrived.next, (0..).find(|n| !plain.contains(n)).unwrap_or(0));
                let above: Vec<u32> = arrived.blocks.iter().cloned().flatten().collect();
                assert_eq!(above, plain.range(arrived.next..).copied().collect::<Vec<_>>());
            }
        }
    }
}
