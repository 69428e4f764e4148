//! A message at its sender: its credit, and the packet that leaves next.

use super::packets::{Data, Rts};
use super::{Pool, Shared, TimerKey};
use crate::endpoint::{HostContext, Path};
use crate::first_window::FirstWindowSchedule;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::message::Message;
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, Sizes, TypedView};
use headway_units::Time;
use std::collections::BTreeSet;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Opened { Push => Unscheduled, Request => Requested }
        Unscheduled { Credit => Credited, Resend => Unscheduled, IdleTimeout => Unscheduled, Finished => Done }
        Requested { Credit => Credited, Resend => Requested, IdleTimeout => Requested, Finished => Done }
        Credited { Credit => Credited, Resend => Credited, IdleTimeout => Credited, Finished => Done }
        Done {}
    }
    events { Push, Request, Credit, Resend, IdleTimeout, Finished }
}

/// A message being sent.
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) packets: u32,
    /// Order of opening, for ties.
    pub(super) order: u64,
    pub(super) state: SenderState,
    pub(super) initial_window: Option<FirstWindowSchedule>,
    /// Packets of the first window, and those whose time has come.
    pub(super) window: u32,
    pub(super) released: u32,
    /// Packets with credit in all, those of the first window among them.
    permitted: u32,
    departed: IndexWindow,
    asked: BTreeSet<u32>,
    timeout: Time,
    pub(super) idle: IdleTimer,
    /// Unused credit in bytes, as its sender counts it.
    pub(super) held: u64,
    /// Packets left, under which it stands among the messages that are ready, and whether it waits for credit of its pair there.
    pub(super) ranked: Option<Rank>,
}

/// Place of a message among those to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rank {
    /// Packets left to send.
    pub(super) remaining: u32,
    /// Its next packet takes credit of the pool of its pair.
    pub(super) pays: bool,
}

impl Outgoing {
    pub(super) fn new(
        message: &Message,
        (packets, order): (u32, u64),
        initial_window: Option<FirstWindowSchedule>,
        (timeout, path): (Time, &Path),
        now: Time,
    ) -> Outgoing {
        let window = initial_window.as_ref().map_or(0, FirstWindowSchedule::window_packets);
        let mut out = Outgoing {
            message: *message,
            packets,
            order,
            state: SenderState::Opened,
            initial_window,
            window,
            released: 0,
            permitted: window,
            departed: IndexWindow::default(),
            asked: BTreeSet::new(),
            timeout,
            idle: IdleTimer::new(now, path),
            held: 0,
            ranked: None,
        };
        out.state.step(if window > 0 { SenderEvent::Push } else { SenderEvent::Request });
        out
    }

    /// Packets that have not left.
    pub(super) fn remaining_packets(&self) -> u32 {
        self.packets - self.departed.len()
    }

    /// True if its receiver knows nothing of it.
    pub(super) fn is_fresh(&self) -> bool {
        // Without a first window a request has announced it.
        self.window > 0 && self.departed.is_empty()
    }

    /// Bytes of credit that it has and has not used.
    pub(super) fn unused_credit(&self, sizes: &Sizes) -> u64 {
        let (next, end) = (self.departed.next_missing(0), self.permitted.min(self.packets));
        if next >= end {
            return 0;
        }
        // Only the last packet of a message may be short.
        u64::from(sizes.full_wire()) * u64::from(end - 1 - next) + wire_bytes(sizes, &self.message, end - 1)
    }

    /// The packet that may leave next, and whether it takes credit of the pool of its pair: one of the first window does not.
    pub(super) fn pick_of(&self, pool: Pool) -> Option<(u32, bool)> {
        if pool == Pool::Message {
            return self.pick_packet().map(|index| (index, false));
        }
        // The first window before repetitions, because it takes no credit.
        let next = self.departed.next_missing(0);
        if next < self.released {
            return Some((next, false));
        }
        let credited = self.message.responsive && next >= self.window && next < self.packets;
        let asked = self.asked.first().copied().filter(|_| self.message.responsive);
        asked.or(credited.then_some(next)).map(|index| (index, true))
    }

    /// The packet that may leave next. SIRD §4
    pub(super) fn pick_packet(&self) -> Option<u32> {
        if let Some(&index) = self.asked.first() {
            return Some(index);
        }
        let next = self.departed.next_missing(0);
        let credited = self.message.responsive && next >= self.window && next < self.permitted;
        (next < self.packets && (next < self.released || credited)).then_some(next)
    }

    /// Bytes of credit that packet `index` takes: none if it leaves again.
    pub(super) fn credit_price(&self, sizes: &Sizes, index: u32) -> u64 {
        if self.departed.contains(index) { 0 } else { wire_bytes(sizes, &self.message, index) }
    }

    /// A credit raises the number of permitted packets; one that comes late changes nothing.
    pub(super) fn raise_permission(&mut self, number: u32) {
        // The number comes from the wire.
        let number = number.min(self.packets);
        if number > self.permitted {
            self.permitted = number;
            self.state.step(SenderEvent::Credit);
        }
    }

    /// Packets `from..end` have not arrived: those that have left leave again, the others have credit that may be lost, unless the
    /// pair has one pool of it.
    pub(super) fn queue_repetitions(&mut self, from: u32, end: u32, pool: Pool) {
        self.state.step(SenderEvent::Resend);
        let end = end.min(if self.message.responsive { self.packets } else { self.window });
        if pool == Pool::Message {
            self.permitted = self.permitted.max(end);
        }
        self.asked.extend((from..end).filter(|&index| self.departed.contains(index)));
    }

    /// The packet that was picked leaves now, of a sender with too much credit or not.
    pub(super) fn send_packet(
        &mut self,
        context: &HostContext,
        now: Time,
        index: u32,
        congested: bool,
        priorities: bool,
    ) -> Packet {
        self.idle.mark_sent(now);
        self.asked.remove(&index);
        let again = !self.departed.insert(index);
        let packet = context.data_packet(&self.message, index, self.window);
        let mut packet = Data { congested: congested.into(), ..Data::from_packet(&packet) }.put_on(packet);
        // Credit is given again for a repetition, so that it is scheduled like the rest.
        let scheduled = again || index >= self.window;
        packet.priority = if priorities && scheduled { 2 } else { 1 };
        packet.ecn = Ecn::Ect;
        packet.flags = PacketFlags::only_if(again, PacketFlags::AGAIN);
        packet
    }

    /// Asks for credit, or whether the message has arrived.
    pub(super) fn request_packet(&self, context: &HostContext) -> Packet {
        let message = &self.message;
        let rts = Rts { window: self.window, message_bytes: message.bytes };
        let mut packet = rts.put_on(Packet::new(PacketKind::Rts, context.host, message.dst, message.id));
        packet.wire = context.sizes.control;
        (packet.tag, packet.entropy) = (message.tag, message.entropy);
        packet
    }

    /// Silence after which the announcement is repeated.
    pub(super) fn announce_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.timeout, MAX_BACKOFF)
    }

    /// Arms the idle timer for a time-out from now on.
    pub(super) fn arm_timeout(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(self.announce_timeout()), key);
    }
}

/// Bytes of packet `index` on the wire.
fn wire_bytes(sizes: &Sizes, message: &Message, index: u32) -> u64 {
    u64::from(sizes.data_wire(sizes.payload_of(message.bytes, index.into())))
}
