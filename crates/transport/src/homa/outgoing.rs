//! A message at its sender: the packets that may leave, and the next of them.

use super::cutoffs::{Priorities, bytes_from};
use super::packets::{Data, Probe};
use super::{Shared, TimerKey};
use crate::aeolus::FirstWindow;
use crate::endpoint::{HostContext, Path};
use crate::first_window::FirstWindowSchedule;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::message::Message;
use headway_packet::{Packet, PacketFlags, PacketKind, TypedView};
use headway_units::Time;
use std::collections::BTreeSet;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Unscheduled { Grant => Granted, Resend => Unscheduled, IdleTimeout => Unscheduled, Finished => Done }
        Granted { Grant => Granted, Resend => Granted, IdleTimeout => Granted, Finished => Done }
        Done {}
    }
    events { Grant, Resend, IdleTimeout, Finished }
}

/// Packet that leaves next, with its permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// Asked for by name.
    Asked(u32),
    /// A packet of the first window, for the first time.
    Unscheduled(u32),
    /// The probe behind the first window. Aeolus §4
    Probe,
    /// Permitted by a grant, for the first time.
    Granted(u32),
    /// A packet of the first window once more, with a permission. Aeolus §4
    Recovered(u32),
}

/// A message being sent.
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) packets: u32,
    /// Order of opening, for ties and for the oldest.
    pub(super) order: u64,
    pub(super) initial_window: FirstWindowSchedule,
    pub(super) state: SenderState,
    /// Packets of the first window whose time has come.
    pub(super) released: u32,
    pub(super) departed: IndexWindow,
    /// Packets permitted in all, those of the first window among them.
    permitted: u32,
    /// Permissions that a choice of packets was made for; without Aeolus, the packet's index says it.
    used: u32,
    /// Class of scheduled packets, as the last grant said. Homa §3.4
    class: u8,
    /// Bytes from the end that travel no worse than unscheduled ones; 0 = none.
    boosted: u64,
    pub(super) asked: BTreeSet<u32>,
    asked_class: u8,
    pub(super) first_window: Option<FirstWindow>,
    /// Last departure of a packet, and that or the last word of the receiver.
    sent: Time,
    base_rtt: Time,
    pub(super) timeout: Time,
    pub(super) idle: IdleTimer,
    /// The rank it has among the messages that are ready, if it is one of them.
    pub(super) ranked: Option<u32>,
}

/// Decisions of a sender when a message is opened.
pub(super) struct Terms {
    pub(super) initial_window: FirstWindowSchedule,
    pub(super) packets: u32,
    pub(super) order: u64,
    pub(super) path: Path,
    pub(super) timeout: Time,
    pub(super) boosted: u64,
    pub(super) first_window: Option<FirstWindow>,
    pub(super) class: u8,
}

impl Outgoing {
    /// Packets that it is permitted to send, and has not sent.
    pub(super) fn unsent_permissions(&self) -> u32 {
        // With Aeolus, packets that are asked for by name leave without a permission.
        self.permitted.saturating_sub(self.departed.len())
    }

    pub(super) fn new(message: &Message, terms: Terms, now: Time) -> Outgoing {
        Outgoing {
            message: *message,
            packets: terms.packets,
            order: terms.order,
            permitted: terms.initial_window.window_packets(),
            initial_window: terms.initial_window,
            state: SenderState::Unscheduled,
            released: 0,
            departed: IndexWindow::default(),
            used: 0,
            class: terms.class,
            boosted: terms.boosted,
            asked: BTreeSet::new(),
            asked_class: terms.class,
            first_window: terms.first_window,
            sent: now,
            base_rtt: terms.path.base_rtt,
            timeout: terms.timeout,
            idle: IdleTimer::new(now, &terms.path),
            ranked: None,
        }
    }

    /// Packets left to send, repetitions that are wanted among them. Homa §3.2
    pub(super) fn remaining_packets(&self) -> u32 {
        let lost = self.first_window.as_ref().map_or(0, FirstWindow::lost_packets);
        (self.packets - self.departed.len()).saturating_add(self.asked.len() as u32).saturating_add(lost)
    }

    /// The packet that may leave next.
    pub(super) fn pick_packet(&self) -> Option<Pick> {
        // The receiver has waited a time-out for these.
        if let Some(&index) = self.asked.first() {
            return Some(Pick::Asked(index));
        }
        let first = self.departed.next_missing(0);
        if first < self.released {
            return Some(Pick::Unscheduled(first));
        }
        let window = self.initial_window.window_packets();
        let next = self.departed.next_missing(window);
        let may_go_on = self.message.responsive && next < self.packets;
        let Some(first_window) = &self.first_window else {
            return (may_go_on && next < self.permitted).then_some(Pick::Granted(next));
        };
        if first >= window && first_window.wants_probe() {
            return Some(Pick::Probe);
        }
        // `permitted` starts at the window and never falls.
        if self.permitted - window <= self.used {
            return None;
        }
        // Aeolus §4: lost packets first, then new ones, then those of which nothing is known.
        match first_window.first_lost() {
            Some(index) => Some(Pick::Recovered(index)),
            None if may_go_on => Some(Pick::Granted(next)),
            None => first_window.first_unheard().filter(|i| self.departed.contains(*i)).map(Pick::Recovered),
        }
    }

    /// A grant raises the number of permitted packets; one that comes late changes nothing. Homa §3.3
    pub(super) fn raise_permission(&mut self, number: u32, class: u8) {
        if number > self.permitted {
            self.permitted = number;
            self.class = class;
            self.state.step(SenderEvent::Grant);
        }
    }

    /// Takes packets `from..end` for wanted by name; `false` when nothing will be sent again for it. Homa §3.7
    pub(super) fn take_request(&mut self, now: Time, from: u32, end: u32, class: u8) -> bool {
        let window = self.initial_window.window_packets();
        // An application that has stalled has nothing behind its first window (AMRT §VIII-D).
        let end = end.min(if self.message.responsive { self.packets } else { window });
        let unsent = (from..end).any(|i| !self.departed.contains(i));
        // A packet that left a moment ago is on its way, if the sender is still at it.
        let under_way = unsent && now < self.sent.saturating_add(self.base_rtt);
        if self.first_window.is_none() && self.message.responsive {
            // The receiver has granted it, and the grant may be lost.
            self.permitted = self.permitted.max(end);
        }
        let before = self.asked.len();
        for index in from..end {
            // Aeolus grants name no packets, so that the request itself permits one that has not left.
            let named = self.first_window.is_some() && index >= window;
            if (self.departed.contains(index) && !under_way) || (named && !self.departed.contains(index)) {
                self.asked.insert(index);
            }
        }
        self.asked_class = class;
        self.asked.len() > before
    }

    /// Sends the packet that was picked.
    pub(super) fn send_packet(
        &mut self,
        context: &HostContext,
        now: Time,
        pick: Pick,
        priorities: &Priorities,
    ) -> Packet {
        self.sent = now;
        self.idle.mark_sent(now);
        let index = match pick {
            Pick::Probe => {
                if let Some(first_window) = &mut self.first_window {
                    first_window.mark_probed();
                }
                return self.probe_packet(context, priorities);
            }
            Pick::Asked(index) => {
                self.asked.remove(&index);
                // The grant for a packet that has not left is lost, or still to come.
                self.used += u32::from(
                    index >= self.initial_window.window_packets() && !self.departed.contains(index),
                );
                index
            }
            Pick::Granted(index) | Pick::Recovered(index) => {
                self.used += 1;
                index
            }
            Pick::Unscheduled(index) => index,
        };
        let again = !self.departed.insert(index);
        if let Some(first_window) = self.first_window.as_mut().filter(|_| again) {
            first_window.sent_again(index);
        }
        let unscheduled = matches!(pick, Pick::Unscheduled(_));
        let packet = context.data_packet(&self.message, index, self.initial_window.window_packets());
        let mut packet = Data { left: now, ..Data::from_packet(&packet) }.put_on(packet);
        packet.priority = self.class_of(pick, index, context, priorities);
        packet.flags = PacketFlags::only_if(unscheduled, PacketFlags::UNSCHEDULED)
            .with(PacketFlags::only_if(again, PacketFlags::AGAIN));
        packet
    }

    /// Class of packet `index`. Homa §3.4
    fn class_of(&self, pick: Pick, index: u32, context: &HostContext, priorities: &Priorities) -> u8 {
        let bytes = self.message.bytes;
        match pick {
            Pick::Asked(_) => self.asked_class,
            Pick::Unscheduled(_) => priorities.of_unscheduled(bytes, index, &context.sizes),
            _ => {
                let rest = bytes_from(bytes, index, &context.sizes);
                let tail = rest <= self.boosted;
                // The lower number goes first: a boost never makes the class worse than the grant's.
                if tail { self.class.min(priorities.of_size(rest)) } else { self.class }
            }
        }
    }

    /// Asks the receiver for its arrivals, behind all packets of the first window. Aeolus §4
    pub(super) fn probe_packet(&self, context: &HostContext, priorities: &Priorities) -> Packet {
        let message = &self.message;
        let window = self.initial_window.window_packets();
        let probe = Probe { index: window - 1, window, message_bytes: message.bytes };
        let mut packet = probe.put_on(Packet::new(PacketKind::Probe, context.host, message.dst, message.id));
        packet.wire = context.sizes.control;
        (packet.tag, packet.entropy) = (message.tag, message.entropy);
        if self.first_window.is_some() {
            packet.flags = PacketFlags::UNSCHEDULED;
            // The probe travels in the class of the packets that it follows: ahead of them it would find them missing.
            packet.priority = priorities.of_size(message.bytes);
        }
        packet
    }

    /// Silence after which a probe asks.
    pub(super) fn probe_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.timeout, MAX_BACKOFF)
    }

    /// Arms the idle timer for a time-out from now on.
    pub(super) fn arm_timeout(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(self.probe_timeout()), key);
    }
}
