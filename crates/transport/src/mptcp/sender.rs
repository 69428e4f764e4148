//! All messages that a host sends over several paths, and their turns at its wire.

use super::outgoing::Outgoing;
use super::packets::Ack;
use super::params::MultipathParams;
use super::{Shared, TimerKey};
use crate::endpoint::{EndpointEvent, Gone, SubflowShare};
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::tcp::control::erased::Controllers;
use crate::two_sided::SendingHalf;
use headway_gauges::{GaugeInfo, RoundTrips};
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// Subflows of a message.
pub(super) const SUBFLOWS: GaugeInfo =
    GaugeInfo::connections("subflows", "subflows", "subflows of the message that are established");

/// See the module.
pub struct Sender {
    rules: MultipathParams,
    controllers: Controllers,
    messages: Messages<Outgoing>,
    /// Messages that may have a packet: each sends one, and goes to the end.
    turns: VecDeque<DefaultKey>,
    round_trips: RoundTrips,
}

impl Sender {
    pub(super) fn new(rules: MultipathParams, controllers: Controllers) -> Self {
        Sender {
            rules,
            controllers,
            messages: Messages::default(),
            turns: VecDeque::new(),
            round_trips: RoundTrips::default(),
        }
    }

    /// Sends the packet of a handshake that is to be answered.
    fn send_syn(&mut self, shared: &mut Shared, now: Time, key: DefaultKey, number: usize) {
        let outgoing = &mut self.messages[key];
        let message = outgoing.message;
        let syn = outgoing.subflows[number].make_syn(&shared.context, &message, number as u32, now);
        shared.control.push_back(syn);
        self.arm_retransmit(shared, key, number);
    }

    /// More packets of a first window may leave.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, (peer, id): (HostId, u32)) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        if let Some(at) = self.messages[key].release_first_window(now) {
            shared.timers.arm_deadline(at, TimerKey::InitialWindow(peer, id));
        }
        self.queue_message(key);
    }

    pub(super) fn receive_ack(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let id = (packet.src, packet.message);
        let Some(key) = self.messages.find_key(id) else { return };
        let outgoing = &mut self.messages[key];
        let number = packet.subflow_number() as usize;
        // The number comes from the packet, and may be of a subflow that was never opened.
        if number >= outgoing.subflows.len() {
            return;
        }
        // Reported round trips are those of data, so answers to handshakes are left out.
        if !outgoing.subflows[number].is_connecting() {
            self.round_trips.answered(now, Ack::from_packet(packet).echo);
        }
        // The message first: once all of it has arrived, the subflow's own numbers do not matter.
        match outgoing.advance_message(packet) {
            None => return,
            Some(true) => {
                outgoing.close_subflows();
                shared.events.push_back(EndpointEvent::Acknowledged { tag: outgoing.message.tag });
                self.messages.remove(id);
                return;
            }
            Some(false) => {}
        }
        if outgoing.subflows[number].is_connecting() {
            self.process_answer(shared, now, (key, number), packet);
        } else {
            outgoing.acknowledge_subflow(number, now, packet);
        }
        for joining in self.messages[key].join_subflows(&self.controllers, &shared.context, now) {
            self.send_syn(shared, now, key, joining);
        }
        // After the subflow has taken its part in, so that windows and round trips are the present ones.
        self.messages[key].penalise_holder(now);
        self.arm_retransmit(shared, key, number);
        self.queue_message(key);
    }

    /// A subflow's handshake goes on.
    fn process_answer(
        &mut self,
        shared: &mut Shared,
        now: Time,
        (key, number): (DefaultKey, usize),
        packet: &Packet,
    ) {
        let outgoing = &mut self.messages[key];
        let (peer, id) = (outgoing.message.dst, outgoing.message.id);
        if outgoing.process_answer(number, &self.controllers, &shared.context, (now, packet)) {
            self.send_syn(shared, now, key, number);
        } else if number == 0 {
            self.release_first_window(shared, now, (peer, id));
        }
    }

    /// A subflow's retransmission timer has expired, if its deadline still stands.
    pub(super) fn handle_expiry(
        &mut self,
        shared: &mut Shared,
        (at, now): (Time, Time),
        id: (HostId, u32),
        number: u32,
    ) {
        let Some(key) = self.messages.find_key(id) else { return };
        let outgoing = &mut self.messages[key];
        let number = number as usize;
        let connection = &mut outgoing.subflows[number].connection;
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if connection.armed != at {
            return;
        }
        connection.armed = Time::MAX;
        // Acknowledgements move the deadline and not the armed timer, so this one may be early.
        if connection.deadline.is_some_and(|deadline| deadline <= now) {
            // A handshake that was not answered is repeated; an established subflow hands over instead.
            if outgoing.timed_out(number, now) {
                self.send_syn(shared, now, key, number);
            }
            self.queue_message(key);
        }
        self.arm_retransmit(shared, key, number);
    }

    /// Arms a subflow's retransmission timer, unless an earlier deadline is armed already: that one looks again.
    fn arm_retransmit(&mut self, shared: &mut Shared, key: DefaultKey, number: usize) {
        let outgoing = &mut self.messages[key];
        if let Some(at) = outgoing.subflows[number].connection.rearm_deadline() {
            let (peer, id) = (outgoing.message.dst, outgoing.message.id);
            shared.timers.arm_deadline(at, TimerKey::Retransmit(peer, id, number as u32));
        }
    }

    fn queue_message(&mut self, key: DefaultKey) {
        let outgoing = &mut self.messages[key];
        // Only messages that can send have a turn, so that `is_ready` need not ask them.
        if !outgoing.queued && outgoing.choose_task().is_some() {
            outgoing.queued = true;
            self.turns.push_back(key);
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let outgoing = Outgoing::new(&self.rules, &self.controllers, &shared.context, now, message);
        let key = self.messages.insert((message.dst, message.id), outgoing);
        if self.controllers.connection.handshake && !message.initial_window.connected {
            self.send_syn(shared, now, key, 0);
        } else {
            self.messages[key].begin_first(&self.controllers, &shared.context, now);
            self.release_first_window(shared, now, (message.dst, message.id));
        }
    }

    /// The retransmission timers of subflows there expire now: others carry what they carried.
    fn path_lost(&mut self, shared: &mut Shared, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        // Collected first, in the order of their numbers: the loop changes the messages.
        for id in self.messages.covered_ids(Gone::Peer(peer)) {
            let Some(key) = self.messages.find_key(id) else { continue };
            for number in 0..self.messages[key].subflows.len() {
                let outgoing = &mut self.messages[key];
                if outgoing.subflows[number].is_lost_with(lost) {
                    if outgoing.timed_out(number, now) {
                        self.send_syn(shared, now, key, number);
                    }
                    self.arm_retransmit(shared, key, number);
                }
            }
            // After all subflows: one turn serves the whole message.
            self.queue_message(key);
        }
    }

    fn visit_subflows(&self, shared: &Shared, found: &mut dyn FnMut(SubflowShare)) {
        let payload = u64::from(shared.context.sizes.payload);
        for out in self.messages.values() {
            out.subflows
                .iter()
                .filter_map(|subflow| subflow.subflow_share(out.message.dst, payload))
                .for_each(&mut *found);
        }
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let key = self.turns.pop_front()?;
            // A message may be acknowledged while it waits for its turn.
            let Some(outgoing) = self.messages.get_mut(key) else { continue };
            outgoing.queued = false;
            if let Some((number, packet)) = outgoing.poll_packet(&shared.context, now) {
                self.arm_retransmit(shared, key, number);
                self.queue_message(key);
                return Some(packet);
            }
        }
    }

    fn is_ready(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.turns.retain(|&key| self.messages.contains_key(key));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some(out) = self.messages.named_now(id) else { return };
        let usable = || out.subflows.iter().filter(|subflow| subflow.is_established());
        // Windows and flights add up; of round trips the shortest is reported.
        let (mut sums, mut shortest) = ([0.0, 0.0], f64::INFINITY);
        for subflow in usable() {
            subflow.connection.probe_values(&mut |info, value| match info.name {
                name if name == probes::WINDOW.name => sums[0] += value,
                name if name == probes::IN_FLIGHT.name => sums[1] += value,
                _ => shortest = shortest.min(value),
            });
        }
        found(&probes::WINDOW, sums[0]);
        found(&probes::IN_FLIGHT, sums[1]);
        if shortest.is_finite() {
            found(&probes::SMOOTHED_RTT, shortest);
        }
        found(&SUBFLOWS, usable().count() as f64);
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }
}
