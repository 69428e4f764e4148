//! Messages to one peer that are alike take turns.
//!
//! A transport gives each message a window of its own, as large as the path holds. Of several long messages to one peer,
//! each window after the first one only makes the queue longer in which all of them wait; where many hosts send to one,
//! queues are then full of windows, and a short message waits behind them or is lost. So of messages of about one length
//! one sends at a time: the next begins when every packet of the one before has left once. The link is as busy as before,
//! and the first of them arrives sooner.
//!
//! "About one length" is the same power of two of bytes. A shorter message never waits for a longer one, nor the other way
//! round, so that none waits for ever; and small ones never wait. A message without progress gives its turn away.

use super::outgoing::Outgoing;
use super::peers::{Deadline, PeerKey};
use super::{Core, SMALL};
use headway_units::Time;

/// Time without progress after which a message gives its turn away.
const PATIENCE: Time = Time::s(1);

impl Core {
    /// True if a message sends only when it is its turn. One whose application stalls would never end its own.
    fn takes_turns(&self, out: &Outgoing) -> bool {
        self.config.turns && out.is_awaited() && out.message_bytes() > SMALL
    }

    /// Position, among the first `most` messages that wait for a peer, of the first that need not wait for another.
    pub(super) fn whose_turn(&self, key: PeerKey, most: usize) -> Option<usize> {
        let peer = self.peers.get(key)?;
        let waits = |&place: &usize| {
            let out = self.outgoing.get(place);
            out.is_some_and(|out| peer.turns.has_length(out.message_bytes()) && self.takes_turns(out))
        };
        // Bounded, because this is asked for each message that opens, and an application may have any number
        // waiting.
        peer.waiting.iter().take(most).position(|place| !waits(place))
    }

    /// Gives a turn to a message that begins.
    pub(super) fn take_turn(&mut self, now: Time, key: PeerKey, place: usize) {
        let Some(bytes) =
            self.outgoing.get(place).filter(|out| self.takes_turns(out)).map(Outgoing::message_bytes)
        else {
            return;
        };
        if let Some(out) = self.outgoing.get_mut(place) {
            out.turn = true;
        }
        let Some(peer) = self.peers.get_mut(key) else { return };
        let first = peer.turns.is_empty();
        peer.turns.insert(bytes);
        // One deadline for a peer, not one for each turn; `look_at_turns` arms the next.
        if first && !peer.turns_watched {
            peer.turns_watched = true;
            self.timers.arm_deadline(now.saturating_add(PATIENCE), (key, Deadline::Turn));
        }
    }

    /// A message has sent everything once, or is over: another may begin.
    pub(super) fn end_turn(&mut self, place: usize) {
        let Some(out) = self.outgoing.get_mut(place).filter(|out| out.turn) else { return };
        out.turn = false;
        let (key, bytes) = (out.peer_key(), out.message_bytes());
        let Some(peer) = self.peers.get_mut(key) else { return };
        peer.turns.remove_length(bytes);
        if !peer.waiting.is_empty() {
            // Not opened here: packets are being pulled, or events drained, and the machine must not be entered
            // again.
            self.ready.push(key);
        }
    }

    /// Ends the turns of those that make no progress.
    pub(super) fn look_at_turns(&mut self, now: Time, key: PeerKey) {
        let Some(peer) = self.peers.get(key) else { return };
        let stalled = |place: &usize| {
            let out = self.outgoing.get(*place);
            out.is_some_and(|out| out.turn && out.watch.at.saturating_add(PATIENCE) <= now)
        };
        // Collected first, because `end_turn` changes the peer.
        let stalled: Vec<usize> = peer.open.values().copied().filter(stalled).collect();
        stalled.into_iter().for_each(|place| self.end_turn(place));
        let Some(peer) = self.peers.get_mut(key) else { return };
        peer.turns_watched = !peer.turns.is_empty();
        if peer.turns_watched {
            self.timers.arm_deadline(now.saturating_add(PATIENCE), (key, Deadline::Turn));
        }
    }
}
