//! The receiving half: messages put together from the packets of their subflows, each acknowledged for itself.

use super::packets::{Ack, Data, Rts};
use super::{Shared, TimerKey};
use crate::endpoint::{EndpointEvent, Gone};
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::mptcp::subflow::REACH;
use crate::tcp::acknowledger::{AckRules, Acknowledger, Towards};
use crate::tcp::params::ConnectionParams;
use crate::two_sided::ReceivingHalf;
use headway_packet::{HostId, MOST_SUBFLOWS, Packet, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;

/// A message being received.
struct Incoming {
    packets: u32,
    arrived: IndexWindow,
    /// By number; none for one of which nothing has been heard.
    subflows: Vec<Option<Acknowledger>>,
}

/// All messages that this host receives.
pub struct Receiver {
    rules: AckRules,
    /// Packets of a message beyond the first missing one, whichever subflow they come by.
    window: u32,
    messages: FxHashMap<(HostId, u32), Incoming>,
    finished: FinishedMessages,
}

/// Acknowledgements of a subflow also report the arrivals of the message.
fn ack_destination(
    shared: &mut Shared,
    (peer, message): (HostId, u32),
    number: u32,
    (data_ack, window): (u32, u32),
) -> Towards<'_, TimerKey, impl Fn(&mut Packet) + use<>> {
    let complete = move |ack: &mut Packet| ack.put_subflow(number, data_ack, window);
    Towards { shared, peer, message, timer: TimerKey::Ack(peer, message, number), complete }
}

impl Receiver {
    pub(super) fn new(params: &ConnectionParams) -> Receiver {
        Receiver {
            rules: AckRules::new(params),
            // The machine's receive window counts packets of the message here, whichever subflow brings them.
            window: params.initial_edge(),
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
        }
    }

    /// A SYN of a message, or of a subflow that joins it, or the third packet of the latter: an acknowledgement of
    /// what there is.
    pub(super) fn receive_syn(&mut self, shared: &mut Shared, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return self.repeat_last(shared, packet);
        }
        let window = self.window;
        let Some(incoming) = self.find_or_create(shared, packet) else { return };
        let data_ack = incoming.arrived.next_missing(0);
        let Some(acks) = incoming.subflow_acks(packet) else { return };
        let Rts { subflow, left, .. } = Rts::from_packet(packet);
        let to = &mut ack_destination(shared, key, subflow, (data_ack, window));
        acks.push_ack(to, 0, left);
    }

    fn find_or_create(&mut self, shared: &Shared, packet: &Packet) -> Option<&mut Incoming> {
        // A SYN carries these two in the same fields as a data packet.
        let Data { message_bytes, subflow, .. } = Data::from_packet(packet);
        let packets = u32::try_from(shared.context.sizes.packets_of(message_bytes)).ok()?;
        // Checked before anything is stored, as the number sizes a list.
        if subflow >= MOST_SUBFLOWS {
            return None;
        }
        let fresh = || Incoming { packets, arrived: IndexWindow::default(), subflows: Vec::new() };
        Some(self.messages.entry((packet.src, packet.message)).or_insert_with(fresh))
    }

    /// Delivers a data packet once, and acknowledges it on the subflow that brought it.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if self.finished.contains(key.0, key.1) {
            return self.repeat_last(shared, packet);
        }
        let (rules, window) = (self.rules, self.window);
        let Some(incoming) = self.find_or_create(shared, packet) else { return };
        let packets = incoming.packets;
        let Data { index, sequence, subflow, .. } = Data::from_packet(packet);
        if index >= packets || !incoming.takes_sequence(subflow, sequence) {
            return;
        }
        // Before the packet is inserted, after which the gap looks filled.
        let fills = incoming.fills_gap(index);
        // Two subflows may carry a packet: it is delivered once, and acknowledged on both.
        if incoming.arrived.insert(index) {
            shared.report_delivered(packet);
        }
        let data_ack = incoming.arrived.next_missing(0);
        let Some(acks) = incoming.subflow_acks(packet) else { return };
        let to = &mut ack_destination(shared, key, subflow, (data_ack, window));
        let taken = acks.process_packet(to, now, (packet, sequence), rules);
        let full = data_ack == packets;
        acks.answer_packet(to, now, (packet, taken), (rules, full || fills));
        if full {
            self.complete_message(shared, key, packet.tag);
        }
    }

    fn complete_message(&mut self, shared: &mut Shared, key: (HostId, u32), tag: u32) {
        if let Some(mut incoming) = self.messages.remove(&key) {
            incoming.subflows.iter_mut().flatten().for_each(Acknowledger::finish_sequence);
        }
        self.finished.insert(key.0, key.1);
        shared.events.push_back(EndpointEvent::Completed { tag, src: key.0, message: key.1 });
    }

    /// Acknowledges a finished message once more: its sender has not heard that everything has arrived.
    fn repeat_last(&self, shared: &mut Shared, packet: &Packet) {
        // A SYN carries all but the index in the same fields as a data packet; its index reads as 0.
        let Data { index, message_bytes, subflow, left, .. } = Data::from_packet(packet);
        let Ok(packets) = u32::try_from(shared.context.sizes.packets_of(message_bytes)) else { return };
        let (peer, id) = (packet.src, packet.message);
        let ack = Ack { index, data_ack: 0, blocks: 0, arrived: 0, subflow_and_window: 0, echo: left };
        let mut ack = shared.control_view(ack, peer, id, packet.tag, packet.entropy);
        // The field has room for no larger number.
        ack.put_subflow(subflow % MOST_SUBFLOWS, packets, self.window);
        shared.control.push_back(ack);
    }

    /// An acknowledgement has been put off for as long as it may.
    pub(super) fn handle_overdue(
        &mut self,
        shared: &mut Shared,
        (at, now): (Time, Time),
        key: (HostId, u32),
        number: u32,
    ) {
        let Some(incoming) = self.messages.get_mut(&key) else { return };
        let data_ack = incoming.arrived.next_missing(0);
        let Some(Some(acks)) = incoming.subflows.get_mut(number as usize) else { return };
        acks.handle_overdue(
            &mut ack_destination(shared, key, number, (data_ack, self.window)),
            (at, now),
            self.rules,
        );
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

impl Incoming {
    /// The subflow of a packet, whose number has been checked.
    fn subflow_acks(&mut self, packet: &Packet) -> Option<&mut Acknowledger> {
        let number = Data::from_packet(packet).subflow as usize;
        if number >= self.subflows.len() {
            self.subflows.resize_with(number + 1, || None);
        }
        let place = self.subflows.get_mut(number)?;
        Some(place.get_or_insert_with(|| Acknowledger::new(packet)))
    }

    /// True if the message waits for this packet while others lie above it: its sender hears at once, because the
    /// receive window may be what it waits for. RFC 5681 §4.2
    fn fills_gap(&self, index: u32) -> bool {
        index == self.arrived.next_missing(0) && self.arrived.len() > index
    }

    /// True if the number of a packet in its subflow is one that a sender can have reached: memory is bounded by it.
    fn takes_sequence(&self, subflow: u32, sequence: u32) -> bool {
        let known = self.subflows.get(subflow as usize).and_then(Option::as_ref);
        let next = known.map_or(0, Acknowledger::next);
        sequence < next.saturating_add(REACH)
    }
}
