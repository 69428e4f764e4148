//! Messages that make no progress.
//!
//! Answers of a peer do not prove that a message arrives: repair packets are repeated for as long as
//! nothing comes of it. So every message has a deadline of its own. Progress is an event that can happen only so often:
//! a packet is sent for the first time, or is acknowledged for the first time.
//!
//! A message that is overdue while others are not fails alone. Machines fail all messages to a peer or none; so the
//! machine keeps it, and nothing of it leaves any more. It goes with its peer, which is given up when no application
//! has waited for anything there for a while.

use super::outgoing::Outgoing;
use super::peers::{Deadline, PeerKey};
use super::{Core, Count, SendError};
use crate::config::STALL_FACTOR;
use headway_packet::Packet;
use headway_units::Time;

impl Core {
    /// Takes note of an acknowledgement that is possible.
    pub(super) fn note_acknowledgement(&mut self, now: Time, key: PeerKey, packet: &Packet) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let place = peer.open.get(&packet.message);
        let out = place.and_then(|&place| self.outgoing.get_mut(place));
        if out.is_some_and(|out| !out.is_over() && out.watch.note_acknowledged(now, packet)) {
            peer.progressed = now;
        }
    }

    /// Makes sure that the progress of messages to a peer is checked.
    pub(super) fn watch_progress(&mut self, now: Time, key: PeerKey) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        if !peer.watched {
            peer.watched = true;
            self.timers
                .arm_deadline(now.saturating_add(self.config.progress_timeout), (key, Deadline::Progress));
        }
    }

    /// Fails the messages to a peer that are overdue at `at`, and the peer with them if nothing else progresses; looks
    /// again when one may be.
    pub(super) fn look_for_progress(&mut self, now: Time, at: Time, key: PeerKey) {
        let wait = self.config.progress_timeout;
        let Some(peer) = self.peers.get(key) else { return };
        let by_peer = peer.progressed.saturating_add(wait);
        let due_of = |progressed: Time| {
            let extended = progressed.saturating_add(wait.saturating_mul(STALL_FACTOR));
            // While the peer progresses, `by_peer` moves along and the message has up to `STALL_FACTOR` waits;
            // never fewer than one.
            by_peer.min(extended).max(progressed.saturating_add(wait))
        };
        let open = peer.open.values().filter_map(|&place| Some((place, self.outgoing.get(place)?)));
        let awaited: Vec<(Time, usize)> = open
            .filter(|(_, out)| out.is_awaited())
            .map(|(place, out)| (due_of(out.watch.at), place))
            .collect();
        let Some(&(last, _)) = awaited.iter().max() else { return self.look_after_the_rest(now, at, key) };
        // Every message is overdue, and so is the peer; a machine gives up all messages to a peer at once.
        if last.max(by_peer) <= at {
            self.counters.one(Count::peers_stalled);
            return self.forget_peer(now, key, SendError::Stalled);
        }
        for &(_, place) in awaited.iter().filter(|(due, _)| *due <= at) {
            self.counters.one(Count::messages_stalled);
            self.give_up(now, place, SendError::Stalled);
        }
        // If none is left, one more look: messages that failed alone still have to go with their peer.
        let next = awaited.iter().map(|(due, _)| *due).filter(|due| *due > at).min();
        self.timers.arm_deadline(next.unwrap_or(at.saturating_add(wait)), (key, Deadline::Progress));
    }

    /// No message to the peer is awaited. If some have failed alone, the peer goes when nothing has been under way for
    /// a while; messages that these leave no number to go to its next incarnation here.
    fn look_after_the_rest(&mut self, now: Time, at: Time, key: PeerKey) {
        let wait = self.config.progress_timeout;
        let Some(peer) = self.peers.get_mut(key) else { return };
        let mut open = peer.open.values().filter_map(|&place| self.outgoing.get(place));
        // Messages without a waiting sender (`responsive: false`) stay as long as the peer does.
        if !open.any(Outgoing::is_over) {
            peer.watched = false;
            return;
        }
        let quiet = peer.progressed.saturating_add(wait) <= at && peer.incoming == 0;
        // Waiting messages may be waiting for numbers that the failed ones keep, so they do not wait for
        // `quiet`.
        if quiet || !peer.waiting.is_empty() {
            return self.renew_peer(now, key, SendError::Stalled);
        }
        self.timers.arm_deadline(at.saturating_add(wait), (key, Deadline::Progress));
    }
}
