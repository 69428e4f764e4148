//! The receiving half: packets that are kept, and answers.

use super::packets::{Ack, Data, Nack};
use super::{Shared, TimerKey};
use crate::endpoint::Gone;
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::messages::{MessageId, Messages};
use crate::two_sided::ReceivingHalf;
use headway_packet::{Ecn, Packet, PacketFlags, Stamps, TypedView};
use headway_units::Time;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        InOrder { Gap => Waiting, Last => Done }
        Waiting { Filled => InOrder, Last => Done }
        Done {}
    }
    events { Gap, Filled, Last }
}

/// Rules of a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// True if packets behind a gap are kept.
    pub(super) keeps: bool,
    /// Time between two negative acknowledgements of one gap, where it is not.
    pub(super) nack_gap: Time,
    /// Time between two congestion notifications of a message.
    pub(super) notification_gap: Time,
    /// Bytes that answers have for what ports wrote into the packets that they answer.
    pub(super) telemetry: u16,
}

/// A message being received.
struct Incoming {
    packets: u32,
    arrived: IndexWindow,
    /// The first missing packet that was complained of last, and from when on that is done again.
    complained: Option<(u32, Time)>,
    /// Time of the last notification.
    notified: Option<Time>,
    state: ReceiverState,
}

/// All messages that this host receives.
pub struct Receiver {
    rules: Rules,
    messages: Messages<Incoming>,
    finished: FinishedMessages,
    /// Answers that wait for the wire, and where they have telemetry, the stamps that each brings back.
    answers: VecDeque<Packet>,
    echoes: VecDeque<Option<Stamps>>,
    /// Stamps that the answer that left last brings back.
    echo: Option<Stamps>,
}

impl Receiver {
    pub(super) fn new(rules: Rules) -> Receiver {
        Receiver {
            rules,
            messages: Messages::default(),
            finished: FinishedMessages::default(),
            answers: VecDeque::new(),
            echoes: VecDeque::new(),
            echo: None,
        }
    }

    /// The next answer.
    #[inline]
    pub(super) fn poll_answer(&mut self) -> Option<Packet> {
        let answer = self.answers.pop_front();
        if self.rules.telemetry > 0 {
            self.echo = answer.and_then(|_| self.echoes.pop_front()).flatten();
        }
        answer
    }

    /// True if any answer waits.
    #[inline]
    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Stamps that the answer that left last brings back.
    #[inline]
    pub(super) fn poll_echo(&mut self) -> Option<Stamps> {
        self.echo.take()
    }

    /// A data packet: the answer to it, if there is one.
    fn process_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) -> Option<Packet> {
        let key = (packet.src, packet.message);
        let Data { index, message_bytes, left, .. } = Data::from_packet(packet);
        // The length comes from the wire: one of more packets than 32 bits can count is not a message.
        let packets = u32::try_from(shared.context.sizes.packets_of(message_bytes)).ok()?;
        if index >= packets {
            return None;
        }
        if self.finished.contains(key.0, key.1) {
            return Some(ack_packet(shared, key, packet, Ack { index, arrived: packets, echo: left }));
        }
        let place = match self.messages.find_key(key) {
            Some(place) => place,
            None => self.messages.insert(key, Incoming::new(packets)),
        };
        let incoming = &mut self.messages[place];
        // The length of the message's first packet counts, should they differ.
        if index >= incoming.packets {
            return None;
        }
        let answer = incoming.answer_data(shared, now, packet, &self.rules);
        if incoming.state == ReceiverState::Done {
            self.messages.remove(key);
            self.finished.insert(key.0, key.1);
            shared.report_completed(packet);
        }
        answer
    }

    /// Stores a data packet and queues its answer, with the stamps that came with the packet if the transport uses telemetry.
    pub(super) fn receive_data(
        &mut self,
        shared: &mut Shared,
        now: Time,
        packet: &Packet,
        stamps: Option<&Stamps>,
    ) {
        let Some(mut answer) = self.process_data(shared, now, packet) else { return };
        if self.rules.telemetry > 0 {
            answer.wire = answer.wire.saturating_add(self.rules.telemetry);
            // One for each answer, `None` as well: both queues are read in step.
            self.echoes.push_back(stamps.copied());
        }
        self.answers.push_back(answer);
    }
}

/// Packet of an acknowledgement.
fn ack_packet(shared: &Shared, (peer, id): MessageId, packet: &Packet, ack: Ack) -> Packet {
    shared.control_view(ack, peer, id, packet.tag, packet.entropy)
}

impl Incoming {
    fn new(packets: u32) -> Incoming {
        Incoming {
            packets,
            arrived: IndexWindow::default(),
            complained: None,
            notified: None,
            state: ReceiverState::InOrder,
        }
    }

    fn answer_data(
        &mut self,
        shared: &mut Shared,
        now: Time,
        packet: &Packet,
        rules: &Rules,
    ) -> Option<Packet> {
        let key = (packet.src, packet.message);
        let Data { index, left: echo, .. } = Data::from_packet(packet);
        let first_missing = self.arrived.next_missing(0);
        let gap = index > first_missing;
        if (!gap || rules.keeps) && self.arrived.insert(index) {
            shared.report_delivered(packet);
        }
        let arrived = self.arrived.next_missing(0);
        self.state.step(if arrived == self.packets {
            ReceiverEvent::Last
        } else if gap {
            ReceiverEvent::Gap
        // Nothing is kept beyond the first missing packet, so the last gap is filled.
        } else if self.arrived.len() == arrived {
            ReceiverEvent::Filled
        } else {
            ReceiverEvent::Gap
        });
        let mut answer = if !gap {
            ack_packet(shared, key, packet, Ack { index, arrived, echo })
        } else if rules.keeps || self.complains_now(now, arrived, rules.nack_gap) {
            let nack = Nack { index, arrived, echo };
            shared.control_view(nack, key.0, key.1, packet.tag, packet.entropy)
        } else {
            return None;
        };
        // DCQCN §3.2: the first marked packet causes a notification at once, and later ones none for a while.
        let notifies = packet.ecn == Ecn::Ce
            && self.notified.is_none_or(|last| now >= last.saturating_add(rules.notification_gap));
        if notifies {
            self.notified = Some(now);
            answer.flags = answer.flags.with(PacketFlags::ECE);
        }
        Some(answer)
    }

    /// True if a missing packet is to be reported: once, and again after a while.
    fn complains_now(&mut self, now: Time, missing: u32, gap: Time) -> bool {
        // Another first missing packet is another gap, which is reported at once.
        let due = self.complained.is_none_or(|(last, again)| last != missing || now >= again);
        if due {
            self.complained = Some((missing, now.saturating_add(gap)));
        }
        due
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        let gone_with = |answer: &Packet| gone.covers_message((answer.dst, answer.message));
        if self.rules.telemetry > 0 {
            // Echoes stand in the order of the answers that they belong to.
            let mut stay = self.answers.iter().map(|answer| !gone_with(answer));
            self.echoes.retain(|_| stay.next().unwrap_or(false));
        }
        self.answers.retain(|answer| !gone_with(answer));
        self.messages.forget_gone(gone);
        self.finished.forget_gone(gone);
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
