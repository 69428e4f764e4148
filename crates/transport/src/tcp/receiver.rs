//! The receiving half: messages that are arriving, and the time at which each is whole.

use super::acknowledger::{AckRules, Acknowledger, Towards};
use super::packets::{Ack, Data, Rts};
use super::params::ConnectionParams;
use super::{Shared, TimerKey};
use crate::endpoint::{EndpointEvent, Gone};
use crate::finished::FinishedMessages;
use crate::two_sided::ReceivingHalf;
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;

/// A message being received.
struct Incoming {
    packets: u32,
    acks: Acknowledger,
}

/// All messages that this host receives.
pub struct Receiver {
    rules: AckRules,
    /// Packets beyond the first missing one.
    window: u32,
    messages: FxHashMap<(HostId, u32), Incoming>,
    finished: FinishedMessages,
}

/// Acknowledgements of a message carry the receive window.
fn towards(
    shared: &mut Shared,
    (peer, message): (HostId, u32),
    window: u32,
) -> Towards<'_, TimerKey, impl Fn(&mut Packet) + use<>> {
    let complete = move |ack: &mut Packet| Ack { window, ..Ack::read(ack) }.write(ack);
    Towards { shared, peer, message, timer: TimerKey::Ack(peer, message), complete }
}

impl Receiver {
    pub(super) fn new(params: &ConnectionParams, rules: AckRules) -> Receiver {
        Receiver {
            rules,
            window: params.edge(),
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
        }
    }

    /// A SYN: state for the message, and an acknowledgement of nothing.
    pub(super) fn syn(&mut self, shared: &mut Shared, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return Self::repeat_last(shared, packet, self.window);
        }
        let Some(incoming) = self.incoming(shared, packet) else { return };
        incoming.acks.acknowledge(&mut towards(shared, key, u32::MAX), 0, Rts::read(packet).left);
    }

    fn incoming(&mut self, shared: &Shared, packet: &Packet) -> Option<&mut Incoming> {
        // A SYN carries the length in the same field as a data packet.
        // More packets than there are numbers for: not from a sender of this machine.
        let packets = u32::try_from(shared.context.sizes.packets(Data::read(packet).message_bytes)).ok()?;
        let fresh = || Incoming { packets, acks: Acknowledger::new(packet) };
        Some(self.messages.entry((packet.src, packet.message)).or_insert_with(fresh))
    }

    /// A data packet.
    pub(super) fn data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return Self::repeat_last(shared, packet, self.window);
        }
        let (rules, window) = (self.rules, self.window);
        let Some(incoming) = self.incoming(shared, packet) else { return };
        let index = Data::read(packet).index;
        // Beyond the end that the message's first packet announced.
        if index >= incoming.packets {
            return;
        }
        let to = &mut towards(shared, key, window);
        let taken = incoming.acks.take(to, now, (packet, index), rules);
        if taken.first {
            to.shared.delivered(packet);
        }
        // Decided before the answer: the last packet is acknowledged at once.
        let full = incoming.acks.next() == incoming.packets;
        incoming.acks.answer(to, now, (packet, taken), (rules, full));
        if full {
            self.complete(shared, key, packet.tag);
        }
    }

    fn complete(&mut self, shared: &mut Shared, key: (HostId, u32), tag: u32) {
        if let Some(mut incoming) = self.messages.remove(&key) {
            incoming.acks.close();
        }
        self.finished.insert(key.0, key.1);
        shared.events.push_back(EndpointEvent::Completed { tag, src: key.0, message: key.1 });
    }

    /// Acknowledges a finished message once more: its sender has not heard that everything has arrived.
    fn repeat_last(shared: &mut Shared, packet: &Packet, window: u32) {
        // A SYN has the length and the time in the fields of data packets; its index reads as 0.
        let Data { index, message_bytes, left, .. } = Data::read(packet);
        let Ok(arrived) = u32::try_from(shared.context.sizes.packets(message_bytes)) else { return };
        let (peer, id) = (packet.src, packet.message);
        let ack = Ack { index, arrived, blocks: 0, block: 0, window, echo: left };
        shared.control.push_back(shared.control_view(ack, peer, id, packet.tag, packet.entropy));
    }

    /// An acknowledgement has been put off for as long as it may.
    pub(super) fn overdue(&mut self, shared: &mut Shared, at: Time, now: Time, key: (HostId, u32)) {
        let Some(incoming) = self.messages.get_mut(&key) else { return };
        incoming.acks.overdue(&mut towards(shared, key, self.window), (at, now), self.rules);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        self.messages.retain(|key, _| !gone.covers(*key));
        self.finished.forget(gone);
    }

    fn live(&self) -> usize {
        self.messages.len()
    }
}
