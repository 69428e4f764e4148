//! A message at its receiver: the packets that have tokens, and if it may be given more. dcPIM §3.5

use super::Terms;
use super::packets::Data;
use crate::index_window::IndexWindow;
use headway_packet::{Packet, TypedView};
use headway_units::Time;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Announced { Free => Waiting, Wanted => Eligible }
        Waiting { Overdue => Eligible, Last => Done }
        Eligible { PassOver => Waiting, Last => Done }
        Done {}
    }
    events { Free, Wanted, Overdue, PassOver, Last }
}

/// A message being received.
pub(super) struct Incoming {
    pub(super) packets: u32,
    pub(super) received: IndexWindow,
    /// Tokens to give until this pass over the missing packets is over, free ones included, and those given.
    goal: u32,
    given: u32,
    /// Tokens with smaller numbers are answered, or written off.
    answered: u32,
    /// The packet that the last token of this pass named.
    named: Option<u32>,
    last_token: Time,
    /// Order of announcement, for ties.
    pub(super) order: u64,
    /// Start of the message, if its announcement met no queue.
    pub(super) began: Time,
    pub(super) state: ReceiverState,
    /// End of the wait.
    pub(super) until: Time,
    pub(super) tag: u32,
    pub(super) entropy: u32,
}

impl Incoming {
    /// Tokens that are neither answered nor written off.
    pub(super) fn open_tokens(&self) -> u32 {
        self.given.saturating_sub(self.answered)
    }

    /// A message that `packet` is the first to speak of.
    pub(super) fn new(packet: &Packet, packets: u32, order: u64, now: Time, began: Time) -> Incoming {
        // An announcement says this where data packets do.
        let window = Data::from_packet(packet).window.min(packets);
        let mut incoming = Incoming {
            packets,
            received: IndexWindow::default(),
            // Free packets count as given tokens, so that what is to come is what needs one.
            goal: packets,
            given: window,
            answered: 0,
            named: window.checked_sub(1),
            last_token: now,
            order,
            began,
            state: ReceiverState::Announced,
            until: Time::MAX,
            tag: packet.tag,
            entropy: packet.entropy,
        };
        incoming.state.step(if window == packets { ReceiverEvent::Free } else { ReceiverEvent::Wanted });
        incoming
    }

    /// Packets to come that have not been given a token in this pass.
    pub(super) fn to_come(&self) -> u32 {
        self.goal - self.given
    }

    /// Packets that have not arrived.
    pub(super) fn missing_packets(&self) -> u32 {
        self.packets - self.received.len()
    }

    pub(super) fn is_eligible(&self) -> bool {
        self.state == ReceiverState::Eligible
    }

    /// A packet arrives; returns true if for the first time.
    pub(super) fn store_packet(&mut self, index: u32, number: u32) -> bool {
        // A number that was never given comes from the wire.
        if number < self.given {
            self.answered = self.answered.max(number + 1);
        }
        self.received.insert(index)
    }

    /// The packet that a match of `links` channels gives the next token for, and its number; `None` while too many are out.
    pub(super) fn next_token(
        &mut self,
        terms: &Terms,
        links: u32,
        window_timeout: Time,
        now: Time,
    ) -> Option<(u32, u32)> {
        let each = terms.window / terms.channels;
        let out = self.given - self.answered;
        // Forgiven down to just below the limit and not to nothing: some may still be under way.
        if out > links * each && now.saturating_sub(self.last_token) >= window_timeout {
            self.answered = self.given - (links * each).saturating_sub(1).min(self.given);
        }
        let out = u64::from(self.given - self.answered);
        // Multiplied out in 64 bits, because the window need not divide by the channels.
        if out * u64::from(terms.channels) > u64::from(links) * u64::from(terms.window) {
            return None;
        }
        let index = self.received.next_missing(self.named.map_or(0, |named| named + 1));
        if index >= self.packets {
            return None;
        }
        let number = self.given;
        self.named = Some(index);
        // Packets that have arrived in the meantime need no token.
        self.given = number + 1;
        self.last_token = now;
        self.goal = self.goal.max(self.given);
        Some((index, number))
    }

    /// True if every missing packet has had its token in this pass.
    pub(super) fn is_pass_over(&self) -> bool {
        self.received.next_missing(self.named.map_or(0, |named| named + 1)) >= self.packets
    }

    /// Waits for packets under way.
    pub(super) fn wait_until(&mut self, until: Time) {
        self.goal = self.given;
        self.until = until;
        self.state.step(ReceiverEvent::PassOver);
    }

    /// The wait is over: missing packets get tokens again.
    pub(super) fn end_wait(&mut self) {
        self.goal = self.given + self.missing_packets();
        self.named = None;
        self.until = Time::MAX;
        self.state.step(ReceiverEvent::Overdue);
    }
}
