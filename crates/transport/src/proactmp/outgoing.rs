//! One message at its sender.

use super::packets::{Data, Probe, Pull, Rts};
use super::params::Settings;
use super::shares::{Shares, SubflowEvent};
use super::{Shared, TimerKey, number_of, subflow_label};
use crate::endpoint::{HostContext, Path};
use crate::first_window::FirstWindowSchedule;
use crate::idle::IdleTimer;
use crate::message::Message;
use headway_packet::{Packet, PacketFlags, TypedView};
use headway_units::Time;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Announced { Request => Pregrant, IdleTimeout => Announced, Finished => Done }
        Pregrant { Grant => Granted, Resend => Pregrant, IdleTimeout => Pregrant, Finished => Done }
        Granted { Grant => Granted, Resend => Granted, IdleTimeout => Granted, Finished => Done }
        Done {}
    }
    events { Request, Grant, Resend, IdleTimeout, Finished }
}

/// A packet that may leave, and the subflow that takes it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pick {
    /// Wanted again. ProactMP §III-C5
    Again(u32, usize),
    /// Before any grant, on the first subflow.
    Unscheduled(u32),
    /// A scheduled packet, which has credit, and its subflow.
    Scheduled(u32, usize),
}

/// A message being sent.
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) packets: u32,
    pub(super) path: Path,
    pub(super) initial_window: FirstWindowSchedule,
    pub(super) state: SenderState,
    pub(super) shares: Shares,
    /// Unscheduled packets that may leave by now.
    pub(super) released: u32,
    /// Packets permitted in all, from the beginning of the message.
    permitted: u32,
    /// First packet that has not left.
    next: u32,
    /// Packets wanted again, in the order of asking.
    again: VecDeque<u32>,
    /// True if the message stands in the queue of those with a packet to send.
    pub(super) queued: bool,
    pub(super) idle: IdleTimer,
    /// Value of the option Pro_Capable in its packets.
    allowed: u32,
}

impl Outgoing {
    /// Packets that it is permitted to send, and has not sent.
    pub(super) fn unsent_permissions(&self) -> u32 {
        self.permitted.saturating_sub(self.next)
    }

    pub(super) fn new(message: &Message, settings: &Settings, context: &HostContext, now: Time) -> Outgoing {
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let owd = settings.one_way_delay(&path, context);
        let window = settings.first_window(owd, &path, context, message.initial_window.share > 1);
        let slot = context.sizes.slot_time(path.bottleneck);
        let allowed = settings.allowed_subflows(&path);
        let cap = settings.cap.then_some(owd.bytes);
        let mut shares = Shares::new(message.entropy, allowed, path.base_rtt, cap, now);
        shares.filled = !settings.whole_packets;
        Outgoing {
            message: *message,
            packets,
            path,
            initial_window: FirstWindowSchedule::new(message.initial_window, window, packets, slot, now),
            state: SenderState::Announced,
            shares,
            released: 0,
            permitted: 0,
            next: 0,
            again: VecDeque::new(),
            queued: false,
            idle: IdleTimer::new(now, &path),
            allowed,
        }
    }

    /// True if the first packets may leave.
    pub(super) fn has_begun(&self) -> bool {
        self.state != SenderState::Announced
    }

    /// The end of the packets that it will ever send.
    fn sendable_end(&self) -> u32 {
        if self.message.responsive { self.packets } else { self.initial_window.window_packets() }
    }

    /// Payload of packets `from..end`.
    fn range_bytes(&self, context: &HostContext, from: u32, end: u32) -> u64 {
        let payload = u64::from(context.sizes.payload);
        let upto = |n: u32| (u64::from(n) * payload).min(self.message.bytes);
        upto(end) - upto(from)
    }

    /// The packet that may leave now, if there is one.
    pub(super) fn pick_packet(&self, context: &HostContext) -> Option<Pick> {
        if let Some(&index) = self.again.front() {
            return Some(Pick::Again(index, self.shares.fastest_subflow()));
        }
        if self.next < self.released {
            return Some(Pick::Unscheduled(self.next));
        }
        // Packets of a window that is spread out wait for their slots, and scheduled ones come after them.
        if self.next < self.initial_window.window_packets() || self.next >= self.permitted {
            return None;
        }
        let bytes = self.range_bytes(context, self.next, self.next + 1);
        self.shares.pick_subflow(bytes).map(|number| Pick::Scheduled(self.next, number))
    }

    /// Sends the packet that was picked.
    pub(super) fn send_packet(&mut self, context: &HostContext, now: Time, pick: Pick) -> Packet {
        let (index, number) = match pick {
            Pick::Again(index, number) | Pick::Scheduled(index, number) => (index, number),
            // ProactMP §III-C3: the burst of the pre-grant phase is the first subflow's alone.
            Pick::Unscheduled(index) => (index, 0),
        };
        let again = matches!(pick, Pick::Again(..));
        if again {
            self.again.pop_front();
        } else {
            self.next += 1;
        }
        let packet = context.data_packet(&self.message, index, self.initial_window.window_packets());
        let paid = matches!(pick, Pick::Scheduled(..));
        self.shares.count_departure(number, now, index, packet.payload.into(), paid);
        self.idle.mark_sent(now);
        let (subflow, round_trip) = self.of_subflow(number);
        let mut packet = Data { subflow, round_trip, left: now, ..Data::from_packet(&packet) }.put_on(packet);
        packet.entropy = self.shares.subflows[number].entropy;
        let unscheduled = matches!(pick, Pick::Unscheduled(_));
        packet.flags = PacketFlags::only_if(unscheduled, PacketFlags::UNSCHEDULED)
            .with(PacketFlags::only_if(again, PacketFlags::AGAIN));
        packet
    }

    /// Fields of data and Responses about their subflow: its label, and the longest smoothed round trip in nanoseconds.
    fn of_subflow(&self, number: usize) -> (u32, u32) {
        let round_trip = u32::try_from(self.shares.slowest_rtt().0 / 1000).unwrap_or(u32::MAX);
        (subflow_label(number as u32, self.allowed), round_trip)
    }

    /// Packets up to a number may be sent; one that comes late changes nothing. ProactMP §III-C3
    pub(super) fn raise_permission(
        &mut self,
        settings: &Settings,
        context: &HostContext,
        number: u32,
    ) -> bool {
        // The window takes no credit: a grant brings only what lies beyond it.
        let (before, number) =
            (self.permitted.max(self.initial_window.window_packets()), number.min(self.sendable_end()));
        if number <= before {
            return false;
        }
        self.permitted = number;
        let bytes = self.range_bytes(context, before, number);
        self.shares.divide_credit(settings, bytes);
        true
    }

    /// Packets `from..end` have not arrived. ProactMP §III-C5
    pub(super) fn queue_repetitions(
        &mut self,
        settings: &Settings,
        context: &HostContext,
        now: Time,
        range: (u32, u32),
    ) {
        let (from, end) = (range.0, range.1.min(self.sendable_end()));
        let lately: Vec<u32> =
            (from..end.min(self.next)).filter(|i| self.shares.left_lately(*i, now)).collect();
        let timeout = settings.resend_timeout(&self.path, self.shares.slowest_rtt());
        // A packet that left within a base round trip has crossed the request, which then says nothing of the path.
        if lately.is_empty() {
            self.shares.count_missed(settings, from, end, now.saturating_sub(Time(timeout.0 / 2)));
        }
        for index in (from..end.min(self.next)).filter(|i| !lately.contains(i)) {
            // A range may be asked for again before its packets have left.
            if !self.again.contains(&index) {
                self.again.push_back(index);
            }
        }
        // Packets that have not left were granted, and the grant is lost.
        self.raise_permission(settings, context, end);
    }

    /// Queues the packets that were in flight on dead paths to be sent again.
    pub(super) fn path_lost(&mut self, lost: &dyn Fn(u32) -> bool) {
        for index in self.shares.path_lost(lost) {
            if !self.again.contains(&index) {
                self.again.push_back(index);
            }
        }
    }

    /// The receiver adds a subflow, or asks for one again. ProactMP §III-B2
    pub(super) fn join_subflow(
        &mut self,
        context: &HostContext,
        now: Time,
        request: &Packet,
    ) -> Option<Packet> {
        let number = number_of(Pull::from_packet(request).subflow) as usize;
        let subflow = self.shares.subflows.get_mut(number).filter(|_| self.allowed > 0)?;
        subflow.entropy = request.entropy;
        subflow.state.step(SubflowEvent::Join);
        let (subflow, round_trip) = self.of_subflow(number);
        let (message_bytes, window) = (self.message.bytes, self.initial_window.window_packets());
        let response = Rts { message_bytes, window, subflow, round_trip, left: now };
        Some(self.control_packet(context, response, number))
    }

    /// Announces the message, or asks for its arrivals.
    pub(super) fn probe_packet(&self, context: &HostContext) -> Packet {
        let fastest = self.shares.fastest_subflow();
        let (message_bytes, window) = (self.message.bytes, self.initial_window.window_packets());
        let subflow = subflow_label(fastest as u32, self.allowed);
        // No grant echoes a probe, so that it has no departure time.
        let probe = Probe { message_bytes, window, subflow, round_trip: 0, left: Time::ZERO };
        self.control_packet(context, probe, fastest)
    }

    /// A control packet about the message on subflow `number`.
    fn control_packet<V: TypedView>(&self, context: &HostContext, view: V, number: usize) -> Packet {
        let message = &self.message;
        let mut packet = view.put_on(Packet::new(V::VIEW.kind, context.host, message.dst, message.id));
        packet.wire = context.sizes.control;
        packet.tag = message.tag;
        packet.entropy = self.shares.subflows[number].entropy;
        packet
    }

    /// The first subflow takes another path while nothing at all has been heard: its own may be dead.
    pub(super) fn try_another_path(&mut self, settings: &Settings) {
        if self.allowed > 1 && self.shares.slowest_rtt() == Time::ZERO {
            // Another one at each time-out, in a circle.
            let number = self.idle.backoff_count() % self.allowed;
            let path = settings.path_manager.subflow_entropy(self.message.entropy, number, &self.path);
            self.shares.subflows[0].entropy = path;
        }
    }

    /// Silence after which a probe asks.
    pub(super) fn probe_timeout(&self, settings: &Settings) -> Time {
        settings.doubled_timeout(
            &self.path,
            settings.resend_timeout(&self.path, self.shares.slowest_rtt()),
            self.idle.backoff_count(),
        )
    }

    /// Arms the idle timer for `timeout` from now on.
    pub(super) fn arm_timeout(&mut self, shared: &mut Shared, now: Time, timeout: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(timeout), key);
    }
}
