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
fn ack_destination(
    shared: &mut Shared,
    (peer, message): (HostId, u32),
    window: u32,
) -> Towards<'_, TimerKey, impl Fn(&mut Packet) + use<>> {
    let complete = move |ack: &mut Packet| Ack { window, ..Ack::from_packet(ack) }.write_to(ack);
    Towards { shared, peer, message, timer: TimerKey::Ack(peer, message), complete }
}

impl Receiver {
    pub(super) fn new(params: &ConnectionParams, rules: AckRules) -> Receiver {
        Receiver {
            rules,
            window: params.initial_edge(),
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
        }
    }

    /// A SYN: state for the message, and an acknowledgement of nothing.
    pub(super) fn receive_syn(&mut self, shared: &mut Shared, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return Self::repeat_last(shared, packet, self.window);
        }
        let Some(incoming) = self.find_or_create(shared, packet) else { return };
        incoming.acks.push_ack(&mut ack_destination(shared, key, u32::MAX), 0, Rts::from_packet(packet).left);
    }

    fn find_or_create(&mut self, shared: &Shared, packet: &Packet) -> Option<&mut Incoming> {
        // A SYN carries the length in the same field as a data packet.
        // More packets than there are numbers for: not from a sender of this machine.
        let packets =
            u32::try_from(shared.context.sizes.packets_of(Data::from_packet(packet).message_bytes)).ok()?;
        let fresh = || Incoming { packets, acks: Acknowledger::new(packet) };
        Some(self.messages.entry((packet.src, packet.message)).or_insert_with(fresh))
    }

    /// Delivers a data packet once, and acknowledges it at once or after the delay of the acknowledgement rules.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return Self::repeat_last(shared, packet, self.window);
        }
        let (rules, window) = (self.rules, self.window);
        let Some(incoming) = self.find_or_create(shared, packet) else { return };
        let index = Data::from_packet(packet).index;
        // Beyond the end that the message's first packet announced.
        if index >= incoming.packets {
            return;
        }
        let to = &mut ack_destination(shared, key, window);
        let taken = incoming.acks.process_packet(to, now, (packet, index), rules);
        if taken.first {
            to.shared.report_delivered(packet);
        }
        // Decided before the answer: the last packet is acknowledged at once.
        let full = incoming.acks.next() == incoming.packets;
        incoming.acks.answer_packet(to, now, (packet, taken), (rules, full));
        if full {
            self.complete_message(shared, key, packet.tag);
        }
    }

    fn complete_message(&mut self, shared: &mut Shared, key: (HostId, u32), tag: u32) {
        if let Some(mut incoming) = self.messages.remove(&key) {
            incoming.acks.finish_sequence();
        }
        self.finished.insert(key.0, key.1);
        shared.events.push_back(EndpointEvent::Completed { tag, src: key.0, message: key.1 });
    }

    /// Acknowledges a finished message once more: its sender has not heard that everything has arrived.
    fn repeat_last(shared: &mut Shared, packet: &Packet, window: u32) {
        // A SYN has the length and the time in the fields of data packets; its index reads as 0.
        let Data { index, message_bytes, left, .. } = Data::from_packet(packet);
        let Ok(arrived) = u32::try_from(shared.context.sizes.packets_of(message_bytes)) else { return };
        let (peer, id) = (packet.src, packet.message);
        let ack = Ack { index, arrived, blocks: 0, block: 0, window, echo: left };
        shared.control.push_back(shared.control_view(ack, peer, id, packet.tag, packet.entropy));
    }

    /// An acknowledgement has been put off for as long as it may.
    pub(super) fn handle_overdue(&mut self, shared: &mut Shared, at: Time, now: Time, key: (HostId, u32)) {
        let Some(incoming) = self.messages.get_mut(&key) else { return };
        incoming.acks.handle_overdue(&mut ack_destination(shared, key, self.window), (at, now), self.rules);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        self.messages.retain(|key, _| !gone.covers_message(*key));
        self.finished.forget_gone(gone);
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
