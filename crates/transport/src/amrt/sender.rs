//! The sending half of AMRT.

use super::packets::Grant;
use super::{AmrtParams, Shared, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::shared::scale_time;
use crate::two_sided::SendingHalf;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Burst { Grant => Granted, IdleTimeout => Burst, Finished => Done }
        Granted { Grant => Granted, IdleTimeout => Granted, Finished => Done }
        Done {}
    }
    events { Grant, IdleTimeout, Finished }
}

/// A message being sent.
struct Outgoing {
    message: Message,
    packets: u32,
    initial_window: FirstWindowSchedule,
    state: SenderState,
    /// Packets that were authorised: by the first window or by name in a grant.
    authorised: IndexWindow,
    /// Packets that have left this host.
    departed: IndexWindow,
    /// Repetitions that wait in the queue.
    repeating: Vec<u32>,
    restart: Time,
    idle: IdleTimer,
}

/// Consecutive packets of one message that may leave.
struct Run {
    message: DefaultKey,
    first: u32,
    count: u32,
    again: bool,
}

/// All messages that this host sends.
pub struct Sender {
    params: AmrtParams,
    messages: Messages<Outgoing>,
    /// First in, first out over all messages: a newcomer's first window is appended.
    queue: VecDeque<Run>,
}

impl Sender {
    pub(super) fn new(params: AmrtParams) -> Sender {
        Sender { params, messages: Messages::default(), queue: VecDeque::new() }
    }

    /// Queues the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let (first, count) =
            out.initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        if count > 0 {
            // The window is released in order from packet 0, so that everything below is permitted.
            out.authorised.insert_below(first + count);
            self.queue.push_back(Run { message: key, first, count, again: false });
        }
    }

    /// AMRT §IV-C: an unmarked grant releases the one packet it names, a marked one two.
    pub(super) fn receive_grant(&mut self, shared: &mut Shared, now: Time, grant: &Packet) {
        let Some(key) = self.messages.find_key((grant.src, grant.message)) else { return };
        let out = &mut self.messages[key];
        // After doublings the deadline in force is too far away; otherwise it looks again by itself.
        if out.idle.mark_heard(now) {
            out.arm_timeout(shared, now);
        }
        out.state.step(SenderEvent::Grant);
        // AMRT §VIII-D: a stalled application hears grants, which keep its time-out quiet, and sends nothing.
        if !out.message.responsive {
            return;
        }
        let Grant { first, permitted } = Grant::from_packet(grant);
        // Both numbers come from the wire.
        let end = first.saturating_add(permitted).min(out.packets);
        // A grant that is repeated names packets that are authorised already, and would look like a duplicate below.
        if grant.flags.has_all(PacketFlags::AGAIN) {
            for index in first..end {
                out.queue_repetition(key, index, &mut self.queue);
            }
            return;
        }
        for index in first..end {
            // A permission already used is a duplicate of the network's making.
            if !out.authorised.insert(index) {
                continue;
            }
            match self.queue.back_mut() {
                // A repetition stays alone, because `again` holds for the whole run.
                Some(run) if run.message == key && !run.again && run.first + run.count == index => {
                    run.count += 1
                }
                _ => self.queue.push_back(Run { message: key, first: index, count: 1, again: false }),
            }
        }
    }

    /// The receiver has everything.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.state.step(SenderEvent::Finished);
            shared.report_acknowledged(&out.message);
        }
    }

    /// Repeats packet 0, which carries the message's size, when nothing at all has been heard: the whole
    /// first window, or the receiver's last word, was lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let timeout = out.restart_timeout();
        if !out.idle.has_expired(&mut shared.timers, now, false, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        out.queue_repetition(key, 0, &mut self.queue);
        out.arm_timeout(shared, now);
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// AMRT §IV-C: a new message sends one bandwidth-delay product at line rate.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let context = &shared.context;
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let window = context.first_window(self.params.window, &path, &message.initial_window);
        let slot = context.sizes.slot_time(path.bottleneck);
        let initial_window = FirstWindowSchedule::new(message.initial_window, window, packets, slot, now);
        let restart = scale_time(path.max_rtt, self.params.restart_timeout);
        let out = Outgoing {
            message: *message,
            packets,
            initial_window,
            state: SenderState::Burst,
            authorised: IndexWindow::default(),
            departed: IndexWindow::default(),
            repeating: Vec::new(),
            restart,
            idle: IdleTimer::new(now, &path),
        };
        let key = self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
        self.messages[key].arm_timeout(shared, now);
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let context = &shared.context;
        loop {
            let run = self.queue.front_mut()?;
            // The message is over: `finish_message` leaves its packets in the queue, because a search costs more than this.
            let Some(out) = self.messages.get_mut(run.message) else {
                self.queue.pop_front();
                continue;
            };
            let (index, asked_again) = (run.first, run.again);
            run.first += 1;
            run.count -= 1;
            if run.count == 0 {
                self.queue.pop_front();
            }
            if asked_again {
                out.repeating.retain(|&i| i != index);
            }
            // The time-out counts from departure: a packet may wait long for a wire that other messages use.
            out.idle.mark_sent(now);
            // If the first grant for the packet was lost, the receiver asks again for one that has not left yet.
            let again = !out.departed.insert(index);
            return Some(out.data_packet(context, index, again));
        }
    }

    fn is_ready(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.queue.retain(|run| self.messages.contains_key(run.message));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        if let Some(out) = self.messages.named_now(id) {
            // No packet departs before it is authorised, so that the difference is not negative.
            found(&probes::PERMITTED, f64::from(out.authorised.len() - out.departed.len()));
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

impl Outgoing {
    /// Silence after which packet 0 is repeated.
    fn restart_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.restart, MAX_BACKOFF)
    }

    /// Arms the idle timer for a time-out from now on.
    fn arm_timeout(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(self.restart_timeout()), key);
    }

    /// Queues a repetition of a packet, unless a copy of it still waits here: in the queue, or for its
    /// turn in a first window that is spread out.
    fn queue_repetition(&mut self, key: DefaultKey, index: u32, queue: &mut VecDeque<Run>) {
        // A first window that is spread out is permitted from the start, although `authorised` takes it in slot by
        // slot.
        let permitted = index < self.initial_window.window_packets() || self.authorised.contains(index);
        let waits = permitted && !self.departed.contains(index);
        if waits || self.repeating.contains(&index) || index >= self.packets {
            return;
        }
        self.authorised.insert(index);
        self.repeating.push(index);
        queue.push_back(Run { message: key, first: index, count: 1, again: true });
    }

    fn data_packet(&self, context: &HostContext, index: u32, again: bool) -> Packet {
        let mut packet = context.data_packet(&self.message, index, self.initial_window.window_packets());
        // AMRT §IV-A: the bit starts set, every hop without room clears it.
        packet.ecn = Ecn::Spare;
        let unscheduled = index < self.initial_window.window_packets() && !again;
        packet.flags = PacketFlags::only_if(unscheduled, PacketFlags::UNSCHEDULED)
            .with(PacketFlags::only_if(again, PacketFlags::AGAIN));
        packet
    }
}
