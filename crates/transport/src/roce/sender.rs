//! All messages that a host sends, and their turns at its wire.

use super::control::Controllers;
use super::outgoing::Outgoing;
use super::packets::Ack;
use super::{Shared, TimerKey};
use crate::endpoint::Gone;
use crate::message::Message;
use crate::messages::{MessageId, Messages};
use crate::probes::{self, Sink};
use crate::two_sided::SendingHalf;
use headway_gauges::RoundTrips;
use headway_packet::{Packet, Stamps, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// See the module.
pub struct Sender {
    controllers: Controllers,
    messages: Messages<Outgoing>,
    /// Messages whose next packet is due: each sends one, and goes to the end.
    turns: VecDeque<DefaultKey>,
    round_trips: RoundTrips,
}

impl Sender {
    pub(super) fn new(controllers: Controllers) -> Self {
        Sender {
            controllers,
            messages: Messages::default(),
            turns: VecDeque::new(),
            round_trips: RoundTrips::default(),
        }
    }

    pub(super) fn is_stamped(&self) -> bool {
        self.controllers.telemetry > 0
    }

    /// More packets of a first window may leave.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, id: MessageId) {
        let Some(key) = self.messages.find_key(id) else { return };
        self.messages[key].release_first_window(shared, now);
        self.queue_message(shared, now, key);
    }

    /// A receiver answers.
    pub(super) fn process_answer(
        &mut self,
        shared: &mut Shared,
        now: Time,
        packet: &Packet,
        stamps: Option<&Stamps>,
    ) {
        let id = (packet.src, packet.message);
        let Some(key) = self.messages.find_key(id) else { return };
        self.round_trips.answered(now, Ack::from_packet(packet).echo);
        let out = &mut self.messages[key];
        if out.process_answer(now, packet, stamps) {
            if let Some(out) = self.messages.remove(id) {
                shared.report_acknowledged(&out.message);
            }
            return;
        }
        out.arm_timeout(shared);
        self.queue_message(shared, now, key);
    }

    /// Nothing may have been heard for a time-out.
    pub(super) fn timed_out(&mut self, shared: &mut Shared, at: Time, now: Time, id: MessageId) {
        let Some(key) = self.messages.find_key(id) else { return };
        let out = &mut self.messages[key];
        let lost = out.timed_out(at, now);
        out.arm_timeout(shared);
        if lost {
            self.queue_message(shared, now, key);
        }
    }

    /// A message may send its next packet.
    pub(super) fn pace_due(&mut self, shared: &mut Shared, at: Time, now: Time, id: MessageId) {
        let Some(key) = self.messages.find_key(id) else { return };
        if self.messages[key].expire_pace(at) {
            self.queue_message(shared, now, key);
        }
    }

    /// The rate of a message rises.
    pub(super) fn rise_due(&mut self, shared: &mut Shared, at: Time, now: Time, id: MessageId) {
        let Some(key) = self.messages.find_key(id) else { return };
        if self.messages[key].expire_rise(at, now) {
            self.queue_message(shared, now, key);
        }
    }

    /// Puts a message in the line for the wire if it has a packet that is due, or arms the time it is due at.
    fn queue_message(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        if out.queued || out.pick_packet().is_none() {
            return;
        }
        let due = out.due_time(&shared.context);
        if due <= now {
            out.queued = true;
            self.turns.push_back(key);
        } else {
            out.wait_for_pace(shared, due);
            // A rate that rises by itself brings the packet's time forward.
            out.wait_for_rise(shared);
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let out = Outgoing::new(&self.controllers, &shared.context, now, message);
        let id = (message.dst, message.id);
        self.messages.insert(id, out);
        self.release_first_window(shared, now, id);
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let key = self.turns.pop_front()?;
            // A message may be acknowledged while it waits for its turn.
            let Some(out) = self.messages.get_mut(key) else { continue };
            out.queued = false;
            // The window may have closed since, or the rate fallen.
            out.control.pass_time(now);
            let due = out.due_time(&shared.context) <= now;
            let Some(index) = out.pick_packet().filter(|_| due) else {
                self.queue_message(shared, now, key);
                continue;
            };
            let packet = out.send_packet(&shared.context, now, index);
            out.arm_timeout(shared);
            // A packet that is due as soon as the wire is free again waits for it in the line.
            let free = now.saturating_add(shared.context.nic.time_of(packet.wire.into()));
            self.queue_message(shared, free, key);
            return Some(packet);
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

    fn probe_message(&self, shared: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some(out) = self.messages.named_now(id) else { return };
        found(&probes::RATE, out.control.rate_bps());
        found(&probes::IN_FLIGHT, out.in_flight().into());
        if let Some(bytes) = out.window_bytes() {
            found(&probes::WINDOW, bytes / f64::from(shared.context.sizes.payload.max(1)));
        }
        out.control.probe_values(found);
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }
}
