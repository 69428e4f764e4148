//! A message at its receiver: the packets that are permitted, on their way, and missing.

use super::packets::{Data, Grant, Resend};
use super::{CUMULATIVE, Shared, TimerKey};
use crate::aeolus::FirstArrivals;
use crate::index_window::IndexWindow;
use crate::ranking::Key;
use crate::shared::Leaving;
use headway_packet::{Packet, TypedView};
use headway_units::Time;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Unscheduled { Data => Unscheduled, Grant => Granted, Missing => Unscheduled, Busy => Unscheduled, Last => Done }
        Granted { Data => Granted, Grant => Granted, Missing => Granted, Busy => Granted, Last => Done }
        Done {}
    }
    events { Data, Grant, Missing, Busy, Last }
}

/// Purpose of the one deadline of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Nothing is on its way.
    Nothing,
    /// Packets are looked for then.
    Look(Time),
    /// Its turn to ask for packets comes then.
    Turn(Time),
}

/// A message being received.
pub(super) struct Incoming {
    pub(super) packets: u32,
    pub(super) bytes: u64,
    /// Packets of the first window, which need no grant.
    pub(super) window: u32,
    /// Packets permitted in all, those of the first window among them.
    pub(super) granted: u32,
    pub(super) received: IndexWindow,
    pub(super) first: FirstArrivals,
    /// Order of arrival of the messages.
    pub(super) order: u64,
    /// Packets that may be on their way.
    pub(super) rtt_packets: u32,
    pub(super) timeout: Time,
    /// Extra time that packets on their way may take.
    pub(super) leaving: Leaving,
    /// Departure time of the packet that arrived last, until a grant echoes it; zero if one has.
    pub(super) echo: Time,
    /// Class of the last grant, if there was one.
    pub(super) class: Option<u8>,
    /// Rank under which it stands among the messages to be granted, if it does.
    pub(super) ranked: Option<u32>,
    /// Packets that it adds to those on their way to this host.
    pub(super) counted: u32,
    pub(super) tag: u32,
    pub(super) entropy: u32,
    pub(super) state: ReceiverState,
    /// Last arrival, or word of the sender.
    active: Time,
    /// Packets that were permitted when missing ones were last looked for.
    looked_at: u32,
    attempts: u32,
    wait: Wait,
}

impl Incoming {
    /// A message that `packet` is the first to speak of.
    pub(super) fn new(packet: &Packet, packets: u32, order: u64, now: Time) -> Incoming {
        // A probe says these two where data packets do.
        let Data { window, message_bytes, .. } = Data::from_packet(packet);
        let window = window.clamp(1, packets);
        Incoming {
            packets,
            bytes: message_bytes,
            window,
            granted: window,
            received: IndexWindow::default(),
            first: FirstArrivals::default(),
            order,
            // One grant for each arrival keeps this up; the receiver replaces it where `grant_window` says RTTbytes.
            rtt_packets: window,
            timeout: Time::ZERO,
            leaving: Leaving::AT_ONCE,
            echo: Time::ZERO,
            class: None,
            ranked: None,
            counted: 0,
            tag: packet.tag,
            entropy: packet.entropy,
            state: ReceiverState::Unscheduled,
            active: now,
            looked_at: 0,
            attempts: 0,
            wait: Wait::Nothing,
        }
    }

    /// Packets still to be received: its rank. Homa §3.5
    pub(super) fn remaining_packets(&self) -> u32 {
        self.packets - self.received.len()
    }

    /// Permissions that the whole message takes.
    fn needed_permissions(&self) -> u32 {
        self.packets.saturating_add(self.first.in_vain())
    }

    /// Permissions still to be given.
    pub(super) fn ungranted_packets(&self) -> u32 {
        self.needed_permissions().saturating_sub(self.granted)
    }

    /// Packets permitted that have neither arrived nor been written off.
    pub(super) fn outstanding_packets(&self) -> u32 {
        self.granted.saturating_sub(self.received.len().saturating_add(self.first.in_vain()))
    }

    /// Notes the arrival of a packet that had not arrived before.
    pub(super) fn mark_progress(&mut self, now: Time) {
        (self.active, self.attempts) = (now, 0);
        self.state.step(ReceiverEvent::Data);
    }

    /// Permits `count` more packets, in a class. Homa §3.3
    pub(super) fn grant_packets(&mut self, shared: &mut Shared, (peer, id): Key, count: u32, class: u8) {
        self.state.step(ReceiverEvent::Grant);
        self.class = Some(class);
        // Permissions for lost packets come on top of the message's, and name none beyond its end. Aeolus §4
        let first = self.granted.min(self.packets.saturating_sub(1));
        // Echoed once: in a second grant the time since then would count as a part of the round trip.
        let (permitted, echo) = (self.granted + count, std::mem::take(&mut self.echo));
        self.granted = permitted;
        let grant = Grant { first, added: count, permitted, class: class.into(), echo };
        let grant = shared.control_view(grant, peer, id, self.tag, self.entropy);
        shared.control.push_back(Packet { flags: CUMULATIVE, ..grant });
    }

    /// Longest time that packets may be on their way: the time-out, and for more packets than it allows for the time in
    /// which they leave. Without that, a receiver would ask for packets that its sender has not come to yet.
    fn idle_timeout(&self, backoff: u32) -> Time {
        let timeout = self.timeout.saturating_mul(1 << self.attempts.min(backoff));
        timeout.saturating_add(self.leaving.extra_time(self.outstanding_packets()))
    }

    fn arm_missing_timer(&self, shared: &mut Shared, (peer, id): Key, at: Time) {
        shared.timers.arm_deadline(at, TimerKey::Missing(peer, id));
    }

    /// Looks for packets in a while, if any are on their way and nothing is due.
    pub(super) fn watch_missing(&mut self, shared: &mut Shared, key: Key, now: Time, backoff: u32) {
        if self.wait == Wait::Nothing && self.outstanding_packets() > 0 {
            self.look_later(shared, key, now.saturating_add(self.idle_timeout(backoff)));
        }
    }

    fn look_later(&mut self, shared: &mut Shared, key: Key, at: Time) {
        self.looked_at = self.granted;
        self.wait = Wait::Look(at);
        self.arm_missing_timer(shared, key, at);
    }

    /// The sender serves others first: missing packets are given more time. Homa §3.7
    pub(super) fn mark_busy(&mut self, shared: &mut Shared, key: Key, now: Time, backoff: u32) {
        self.active = now;
        self.state.step(ReceiverEvent::Busy);
        if self.wait != Wait::Nothing {
            self.look_later(shared, key, now.saturating_add(self.idle_timeout(backoff)));
        }
    }

    /// `Some` if its deadline has come, and true if it is its turn to ask for missing packets.
    pub(super) fn is_due(&self, now: Time) -> Option<bool> {
        match self.wait {
            Wait::Look(at) if at <= now => Some(false),
            Wait::Turn(at) if at <= now => Some(true),
            _ => None,
        }
    }

    /// Number of missing packets, by the rule that nothing of the message, or nothing of the packets
    /// permitted at the last look, is on its way any more; `None` where it is too early to say.
    pub(super) fn look_for_missing(
        &mut self,
        shared: &mut Shared,
        key: Key,
        now: Time,
        wait_for_idle: bool,
        backoff: u32,
    ) -> Option<u32> {
        let quiet_at = self.active.saturating_add(self.idle_timeout(backoff));
        if wait_for_idle && quiet_at > now {
            self.look_later(shared, key, quiet_at);
            return None;
        }
        if wait_for_idle {
            // After a silence all that is permitted is missing, not only what was when the deadline was armed.
            self.looked_at = self.granted;
        }
        let missing = self.missing_packets(self.looked_at).count() as u32;
        if missing > 0 {
            return Some(missing);
        }
        self.wait = Wait::Nothing;
        self.watch_missing(shared, key, now, backoff);
        None
    }

    /// Packets that have not arrived among those that `granted` permissions were for, no more than are on
    /// their way.
    fn missing_packets(&self, granted: u32) -> impl Iterator<Item = u32> {
        // Permissions used for lost packets of the first window named none beyond it. Aeolus §4
        let end = granted.saturating_sub(self.first.in_vain()).max(self.window).min(self.packets);
        let mut from = 0;
        std::iter::from_fn(move || {
            let index = self.received.next_missing(from);
            from = index + 1;
            (index < end).then_some(index)
        })
        .take(self.outstanding_packets() as usize)
    }

    /// Asks when its turn comes.
    pub(super) fn take_turn(&mut self, shared: &mut Shared, key: Key, at: Time) {
        self.wait = Wait::Turn(at);
        self.arm_missing_timer(shared, key, at);
    }

    /// Asks for missing packets, with one request for each run of them. Homa §3.7
    pub(super) fn request_missing(
        &mut self,
        shared: &mut Shared,
        key: Key,
        now: Time,
        class: u8,
        backoff: u32,
    ) {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        // The probe of an unknown message leads here before any look: its whole first window is missing.
        for index in self.missing_packets(self.looked_at.max(self.window)) {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == index => *count += 1,
                _ => runs.push((index, 1)),
            }
        }
        if !runs.is_empty() {
            self.state.step(ReceiverEvent::Missing);
            self.attempts = self.attempts.saturating_add(1);
        }
        for (first, missing) in runs {
            let ask = Resend { first, missing, class: class.into() };
            shared.control.push_back(shared.control_view(ask, key.0, key.1, self.tag, self.entropy));
        }
        self.active = now;
        self.wait = Wait::Nothing;
        self.watch_missing(shared, key, now, backoff);
    }
}
