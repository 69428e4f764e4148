//! All connections that a host sends on, and their turns at its wire.

use super::connection::SenderState;
use super::control::erased::Controllers;
use super::outgoing::{Outgoing, Poll};
use super::packets::{Ack, Rts};
use super::{Shared, TimerKey};
use crate::endpoint::{EndpointEvent, Gone};
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::two_sided::SendingHalf;
use headway_gauges::RoundTrips;
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// See the module.
pub struct Sender {
    controllers: Controllers,
    connections: Messages<Outgoing>,
    /// Connections that may have a packet: each sends one, and goes to the end.
    turns: VecDeque<DefaultKey>,
    round_trips: RoundTrips,
}

impl Sender {
    pub(super) fn new(controllers: Controllers) -> Self {
        Sender {
            controllers,
            connections: Messages::default(),
            turns: VecDeque::new(),
            round_trips: RoundTrips::default(),
        }
    }

    fn establish_connection(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let connection = &mut self.connections[key];
        connection.open_first_window(&self.controllers, &shared.context, now);
        let (peer, id) = (connection.message.dst, connection.message.id);
        self.release_first_window(shared, now, (peer, id));
    }

    /// More packets of a first window may leave.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, (peer, id): (HostId, u32)) {
        // Deadlines are not cancelled, so the message may have ended before this one.
        let Some(key) = self.connections.find_key((peer, id)) else { return };
        if let Some(at) = self.connections[key].release_first_window(now) {
            shared.timers.arm_deadline(at, TimerKey::InitialWindow(peer, id));
        }
        self.queue_connection(key);
    }

    pub(super) fn receive_ack(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.connections.find_key((packet.src, packet.message)) else { return };
        let connection = &mut self.connections[key].connection;
        if connection.state == SenderState::Connecting {
            // An echoed time measures a repeated SYN as well, so its back-off need not last. Linux, too,
            // keeps the 3 s of RFC 6298 §5.7 for connections without a sample.
            connection.measure_rtt(now, packet);
            connection.rtt.clear_backoff();
            self.establish_connection(shared, now, key);
        } else {
            // Reported round trips are those of data, so the answer to a SYN is left out.
            self.round_trips.answered(now, Ack::from_packet(packet).echo);
        }
        // The answer to a SYN comes here, too: it acknowledges nothing, but carries the receive window.
        if self.connections[key].process_ack(now, packet) {
            if let Some(connection) = self.connections.remove((packet.src, packet.message)) {
                shared.events.push_back(EndpointEvent::Acknowledged { tag: connection.message.tag });
            }
            return;
        }
        self.arm_retransmit(shared, key);
        self.queue_connection(key);
    }

    /// A retransmission timer has expired, if its deadline still stands.
    pub(super) fn handle_expiry(&mut self, shared: &mut Shared, at: Time, now: Time, id: (HostId, u32)) {
        let Some(key) = self.connections.find_key(id) else { return };
        let outgoing = &mut self.connections[key];
        let connection = &mut outgoing.connection;
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if connection.armed != at {
            return;
        }
        connection.armed = Time::MAX;
        // Acknowledgements move the deadline and not the armed timer, so this one may be early.
        if connection.deadline.is_some_and(|deadline| deadline <= now) {
            if outgoing.timed_out(now) {
                outgoing.send_syn(shared, now);
            }
            self.queue_connection(key);
        }
        self.arm_retransmit(shared, key);
    }

    /// A paced connection may send again.
    pub(super) fn pace_due(&mut self, id: (HostId, u32)) {
        if let Some(key) = self.connections.find_key(id) {
            self.queue_connection(key);
        }
    }

    /// Arms the retransmission timer, unless an earlier deadline is armed already: that one looks again.
    fn arm_retransmit(&mut self, shared: &mut Shared, key: DefaultKey) {
        let outgoing = &mut self.connections[key];
        if let Some(at) = outgoing.connection.rearm_deadline() {
            shared.timers.arm_deadline(at, TimerKey::Retransmit(outgoing.message.dst, outgoing.message.id));
        }
    }

    fn queue_connection(&mut self, key: DefaultKey) {
        let connection = &mut self.connections[key];
        // Only connections that can send have a turn, so that `is_ready` need not ask them.
        if !connection.queued && connection.pick_packet().is_some() {
            connection.queued = true;
            self.turns.push_back(key);
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let connection = Outgoing::new(&self.controllers, &shared.context, now, message);
        let key = self.connections.insert((message.dst, message.id), connection);
        if self.controllers.connection.handshake && !message.initial_window.connected {
            self.connections[key].send_syn(shared, now);
            self.arm_retransmit(shared, key);
        } else {
            self.establish_connection(shared, now, key);
        }
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let key = self.turns.pop_front()?;
            // A connection may be acknowledged while it waits for its turn.
            let Some(connection) = self.connections.get_mut(key) else { continue };
            // Cleared before the poll: `queue_connection` puts it behind the others if it has more.
            connection.queued = false;
            match connection.poll_packet(&shared.context, now) {
                Poll::Send(packet) => {
                    self.arm_retransmit(shared, key);
                    self.queue_connection(key);
                    return Some(packet);
                }
                // The heap does not merge equal deadlines, so one instant is armed once.
                Poll::Later(at) if connection.pace_armed == at => {}
                Poll::Later(at) => {
                    connection.pace_armed = at;
                    shared
                        .timers
                        .arm_deadline(at, TimerKey::Pace(connection.message.dst, connection.message.id));
                }
                // The next acknowledgement or timer queues it again.
                Poll::Nothing => {}
            }
        }
    }

    fn is_ready(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.connections.forget_gone(gone).iter().map(|out| out.message));
        self.turns.retain(|&key| self.connections.contains_key(key));
    }

    fn probe_message(&self, shared: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some(out) = self.connections.named_now(id) else { return };
        out.connection.probe_values(found);
        out.connection.control.probe_values(found);
        if let Some(gap) = out.connection.control.packet_gap() {
            // Gaps are between full packets, so the pace in bits counts full packets.
            let bits = f64::from(shared.context.sizes.full_wire()) * 8.0;
            found(&probes::RATE, bits / gap.as_secs_f64());
        }
    }

    fn live_messages(&self) -> usize {
        self.connections.len()
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }
}

impl Outgoing {
    /// Asks for a connection; the answer is an acknowledgement of nothing.
    fn send_syn(&mut self, shared: &mut Shared, now: Time) {
        let m = &self.message;
        let syn = Rts { message_bytes: m.bytes, left: now };
        shared.control.push_back(shared.control_view(syn, m.dst, m.id, m.tag, m.entropy));
        self.connection.arm_timeout(now);
    }
}
