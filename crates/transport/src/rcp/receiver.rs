//! The receiving half of RCP: returns the rates in packets, and acknowledges arrivals.

use super::packets::{Ack, Data};
use super::{Shared, TimerKey};
use crate::arrived::Arrived;
use crate::endpoint::{EndpointEvent, Gone};
use crate::finished::FinishedMessages;
use crate::two_sided::ReceivingHalf;
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Receiving { Data => Receiving, Last => Done }
        Done {}
    }
    events { Data, Last }
}

/// A message being received.
struct Incoming {
    packets: u32,
    arrived: Arrived,
    state: ReceiverState,
}

/// All messages that this host receives.
#[derive(Default)]
pub struct Receiver {
    messages: FxHashMap<(HostId, u32), Incoming>,
    finished: FinishedMessages,
}

impl Receiver {
    /// A SYN or a reference packet. It leaves no state: the first data packet does. rcp-host.cc §recv
    pub(super) fn receive_request(&mut self, shared: &mut Shared, packet: &Packet) {
        self.push_answer(shared, packet);
    }

    /// Stores a data packet, and answers it with the rate that it brought.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, packet: &Packet) {
        let (src, message, tag) = (packet.src, packet.message, packet.tag);
        if self.finished.contains(src, message) {
            return self.push_answer(shared, packet);
        }
        let Data { index, message_bytes, .. } = Data::from_packet(packet);
        // The length comes from the wire: one of more packets than 32 bits can count is not a message.
        let Ok(packets) = u32::try_from(shared.context.sizes.packets_of(message_bytes)) else { return };
        let fresh = || Incoming { packets, arrived: Arrived::default(), state: ReceiverState::Receiving };
        let incoming = self.messages.entry((src, message)).or_insert_with(fresh);
        if index >= incoming.packets {
            return;
        }
        if incoming.arrived.insert(index) {
            let bytes = u32::from(packet.payload);
            shared.events.push_back(EndpointEvent::Delivered { tag, src, message, bytes });
        }
        let whole = incoming.arrived.next() == incoming.packets;
        incoming.state.step(if whole { ReceiverEvent::Last } else { ReceiverEvent::Data });
        // Before the state is removed, as the answer reports what has arrived.
        self.push_answer(shared, packet);
        if whole {
            self.messages.remove(&(src, message));
            self.finished.insert(src, message);
            shared.events.push_back(EndpointEvent::Completed { tag, src, message });
        }
    }

    /// Echoes the rate and the time that a packet brought, with the arrivals of its message.
    fn push_answer(&self, shared: &mut Shared, packet: &Packet) {
        let (src, id) = (packet.src, packet.message);
        // A request has these in the fields of data packets; its index reads as 0.
        let Data { index, message_bytes, rate, left, .. } = Data::from_packet(packet);
        let incoming = self.messages.get(&(src, id));
        let arrived = match incoming {
            Some(incoming) => incoming.arrived.next(),
            None if self.finished.contains(src, id) => {
                u32::try_from(shared.context.sizes.packets_of(message_bytes)).unwrap_or(u32::MAX)
            }
            None => 0,
        };
        let ack = Ack { index, arrived, blocks: 0, block: 0, rate, echo: left };
        let mut ack = shared.control_view(ack, src, id, packet.tag, packet.entropy);
        if let Some(incoming) = incoming {
            ack.set_sack(incoming.arrived.reported_blocks());
        }
        shared.control.push_back(ack);
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

impl Incoming {}
