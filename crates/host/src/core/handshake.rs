//! Handshake of two hosts.
//!
//! ```text
//!   A                                   B
//!   | -- hello    (A's cookie) -------> |   no state is kept for this
//!   | <- welcome  (A's back, B's) ----- |   proves that B hears
//!   | -- confirm  (B's back, A's) ----> |   proves that A hears: B takes it into its table
//!   | <- accept   (A's back, B's) ----- |
//!   | == data ========================> |
//! ```
//!
//! No answer is longer than its question. Where a key is shared, both carry an authentication by it, and confirm and
//! accept carry the public halves of a key exchange. Only a host that has returned its cookie and has the key causes an
//! exchange; a confirmation that is repeated is answered by the same half. Both may call each other at once: each then
//! has one half, in a confirmation or in an acceptance, and whichever of the two arrives first ends the exchange. While
//! keys change, the two may call with different ones: then the confirmation of the larger epoch counts, and is the
//! answer to the other. A datagram that shows a wrong cookie is answered by *stale*, which carries the wrong cookie
//! back: a sender that recognises it knows that its peer has restarted or has forgotten it. A hello or a confirmation
//! with other terms (version, transport, MTU) is answered by *refuse*, which says this host's. Hosts that have met send
//! further hellos to measure their round trip ([`super::round_trip`]); they are answered like any other, and change
//! nothing.
//!
//! An incarnation is an epoch, drawn at random, and a cookie. Epochs are not ordered, so that no clock can be wrong:
//! the cookies alone show which of two incarnations is the newer. One cookie admits one incarnation. What
//! the next one has to show is another, and it hears of that only by a hello of its own; so a confirmation that
//! was delayed or is repeated shows one that is used up, and all messages of a meeting are void with it.

use super::peers::{Deadline, Peer, PeerKey, Phase};
use super::{Core, Count, SendError};
use crate::counters::Counters;
use crate::error::Disagreement;
use crate::exchange::Exchange;
use crate::generations::Generations;
use crate::replay::ReplayWindow;
use crate::scrub::call_scrubbed;
use crate::seal::Meeting;
use headway_packet::session::{Handshake, HandshakeBytes, HandshakeKind, SHARE_BYTES};
use headway_units::Time;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Deref;

/// Shortest wait for an answer, and longest.
const FIRST_WAIT: Time = Time::ms(10);
const LONGEST_WAIT: Time = Time::s(1);
/// Handshakes that wait to be sent at most.
const MOST_WAITING: usize = 512;
/// Answers to wrong cookies: so many at once, and one more each such time.
const STALE_BURST: u64 = 256;
const STALE_EVERY: Time = Time::us(100);

/// The share of a host without one.
const NO_SHARE: [u8; SHARE_BYTES] = [0; SHARE_BYTES];

/// A datagram of a handshake, or one about paths.
pub(super) enum Said {
    Handshake(HandshakeBytes),
    Paths(Vec<u8>),
}

impl Deref for Said {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Said::Handshake(bytes) => bytes,
            Said::Paths(bytes) => bytes,
        }
    }
}

/// Handshakes on their way out, each with the place of this endpoint's address that it leaves from.
#[derive(Default)]
pub(super) struct Answers {
    queue: VecDeque<(u8, SocketAddr, Said)>,
    /// Time at which the allowance for stale answers will be whole again.
    stale_until: Time,
    /// Stale answers to hosts that are not known, of whose key nothing is known either.
    to_strangers: usize,
}

/// A genuine handshake, and which of this endpoint's keys its sender has.
pub(super) struct Heard {
    said: Handshake,
    key: usize,
}

impl Deref for Heard {
    type Target = Handshake;
    fn deref(&self) -> &Handshake {
        &self.said
    }
}

impl Answers {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<(u8, SocketAddr, Said)> {
        self.queue.pop_front()
    }

    /// Lets a datagram leave, unless too many wait.
    pub(super) fn push(&mut self, counters: &Counters, (local, to): (u8, SocketAddr), said: Said) {
        match self.queue.len() < MOST_WAITING {
            true => self.queue.push_back((local, to, said)),
            // The newest is dropped: an answer that was queued first is closer to being sent, and both ends
            // repeat their questions.
            false => counters.one(Count::answers_withheld),
        }
    }

    /// Takes one stale answer from the allowance.
    fn allow_stale(&mut self, now: Time) -> bool {
        // A token bucket that is stored as one instant, at which it will be full again.
        let until = self.stale_until.max(now) + STALE_EVERY;
        let allowed = until.saturating_sub(now) <= STALE_EVERY * STALE_BURST;
        if allowed {
            self.stale_until = until;
        }
        allowed
    }
}

impl Core {
    /// Handles a datagram that should be a handshake.
    pub(super) fn receive_handshake(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let Some(said) = Handshake::parse(datagram) else {
            return self.counters.one(Count::dropped_malformed);
        };
        // Before anything that it says is used: a host without the key is not even told which terms this one
        // has.
        let Some(key) = self.authorities.find_signer(datagram) else {
            return self.counters.one(Count::dropped_handshake);
        };
        let received = Heard { said, key };
        let known = self.peers.find_address(from);
        // A restarted peer answers packets on any path, and that need not be the one where the two met.
        let by_path = || known.or_else(|| self.peers.of_path(from));
        let used = match received.kind {
            // Only questions are refused. An answer to an answer could go back and forth between two hosts for
            // ever.
            HandshakeKind::Hello | HandshakeKind::Confirm if received.terms != self.terms => {
                self.answer_refusal(from, known, &received)
            }
            // A share is required where one belongs, and refused elsewhere.
            kind if received.share.is_some() != (kind.has_share() && self.envelope.is_sealed()) => false,
            HandshakeKind::Hello => self.answer_hello(from, known, &received),
            HandshakeKind::Welcome => known.is_some_and(|key| self.handle_welcome(now, key, &received)),
            HandshakeKind::Confirm => self.handle_confirm(now, from, known, &received),
            HandshakeKind::Accept => known.is_some_and(|key| self.handle_accept(now, key, &received)),
            HandshakeKind::Stale => by_path().is_some_and(|key| self.handle_stale(now, key, &received)),
            HandshakeKind::Refuse => known.is_some_and(|key| self.handle_refusal(now, key, &received)),
        };
        if !used {
            self.counters.one(Count::dropped_handshake);
        }
    }

    /// Sends the handshake that a peer has to answer next, and waits for the answer.
    pub(super) fn send_greeting(&mut self, now: Time, key: PeerKey) {
        let round_trip = self.paths.get(key.host_id()).max_rtt;
        let Some(peer) = self.peers.get_mut(key) else { return };
        let kind = if peer.phase == Phase::Hello { HandshakeKind::Hello } else { HandshakeKind::Confirm };
        let first = round_trip.saturating_mul(2).max(FIRST_WAIT);
        // Bounded, so that the shift cannot overflow.
        // A path whose round trip is above a second keeps its longer first wait.
        let wait = first.saturating_mul(1 << peer.attempts.min(10)).min(LONGEST_WAIT.max(first));
        peer.attempts += 1;
        if kind == HandshakeKind::Hello {
            // A peer that does not have the one key may have the other.
            peer.meeting.key = (peer.attempts as usize - 1) % self.authorities.len().max(1);
        }
        // After several attempts it would be unknown which one the answer is to.
        let alone = peer.attempts == 1;
        peer.probing.note_handshake(now, alone);
        peer.answer_due = now.saturating_add(wait);
        let (address, meeting, due) = (peer.address, peer.meeting, peer.answer_due);
        self.timers.arm_deadline(due, (key, Deadline::Handshake));
        self.send_handshake(kind, address, &meeting);
    }

    /// Says `kind` in a meeting.
    pub(super) fn send_handshake(&mut self, kind: HandshakeKind, to: SocketAddr, m: &Meeting) {
        let authority = self.authorities.get(m.key);
        // Said in each handshake: AES is used only if both hosts announce it as their faster cipher.
        let cipher = authority.map_or(0, |authority| authority.announced_cipher() as u8);
        let handshake = Handshake {
            kind,
            terms: self.terms,
            cipher,
            epoch: m.local_epoch,
            peer_epoch: m.peer_epoch,
            shown: m.shown,
            offered: m.expected,
            mac: [0; 16],
            share: authority.map(|_| m.share),
        };
        let mut bytes = handshake.to_bytes();
        if let Some(authority) = authority {
            authority.sign_handshake(&mut bytes);
        }
        self.answers.push(&self.counters, (self.locals.home_place(), to), Said::Handshake(bytes));
    }

    /// This endpoint's epoch and cookie for the sender of a handshake, whether it is in the table or not.
    fn own_identity(&self, from: SocketAddr, known: Option<PeerKey>, said: &Handshake) -> (u64, u64) {
        match known.and_then(|key| self.peers.get(key)) {
            None => (self.epoch, self.secret.cookie_for(from, self.epoch, 0)),
            // The next incarnation has to show the next cookie; the one that was used cannot admit it.
            Some(peer) if peer.phase == Phase::Met && !is_met(peer, said) => {
                let epoch = peer.meeting.local_epoch;
                (epoch, self.secret.cookie_for(from, epoch, peer.before + 1))
            }
            Some(peer) => (peer.meeting.local_epoch, peer.meeting.expected),
        }
    }

    /// Answers a handshake by `kind`, without any state.
    fn send_reply(
        &mut self,
        kind: HandshakeKind,
        to: SocketAddr,
        known: Option<PeerKey>,
        shown: u64,
        to_what: &Heard,
    ) {
        let (local_epoch, expected) = self.own_identity(to, known, to_what);
        let (peer_epoch, key) = (to_what.epoch, to_what.key);
        self.send_handshake(
            kind,
            to,
            &Meeting { local_epoch, peer_epoch, shown, expected, cipher: 0, key, share: NO_SHARE },
        );
    }

    fn answer_hello(&mut self, from: SocketAddr, known: Option<PeerKey>, hello: &Heard) -> bool {
        self.send_reply(HandshakeKind::Welcome, from, known, hello.offered, hello);
        true
    }

    /// Answers a host that runs something else.
    fn answer_refusal(&mut self, from: SocketAddr, known: Option<PeerKey>, said: &Heard) -> bool {
        self.counters.one(Count::handshakes_refused);
        self.send_reply(HandshakeKind::Refuse, from, known, said.offered, said);
        true
    }

    /// The peer runs something else: nothing can be sent to it.
    fn handle_refusal(&mut self, now: Time, key: PeerKey, refuse: &Handshake) -> bool {
        // A session that works is not ended by a refusal, which may be a late answer to an earlier hello.
        let asked = |peer: &&Peer| peer.phase != Phase::Met && answers_last(peer, refuse);
        let known = self.peers.get(key).filter(asked).is_some() && refuse.terms != self.terms;
        if known {
            let disagreement = Disagreement { ours: self.terms, theirs: refuse.terms };
            self.forget_peer(now, key, SendError::Refused(disagreement));
        }
        known
    }

    fn handle_welcome(&mut self, now: Time, key: PeerKey, welcome: &Heard) -> bool {
        // First: a measurement shows a number of its own in place of the cookie, and the checks below would
        // refuse it.
        if self.probe_answered(now, key, welcome) {
            return true;
        }
        let Some(peer) = self.peers.get_mut(key) else { return false };
        if !answers_last(peer, welcome) || peer.phase == Phase::Met {
            return false;
        }
        if peer.phase == Phase::Confirm {
            // The answer to a repeated hello; the confirmation is under way. If it is of another incarnation than
            // the one before, the confirmation will be stale where it arrives.
            return is_met(peer, welcome);
        }
        if welcome.terms != self.terms {
            return self.handle_refusal(now, key, welcome);
        }
        if !self.begin_exchange(key) {
            return false;
        }
        let Some(peer) = self.peers.get_mut(key) else { return false };
        peer.phase = Phase::Confirm;
        // The confirmation is another question, whose waits begin at the shortest again.
        peer.attempts = 0;
        // Before `send_greeting`, which notes the departure of the confirmation in the same place.
        self.greeting_answered(now, key);
        // The confirmation has to show the peer's cookie, so it is stored before `send_greeting` sends one.
        self.store_identity(key, welcome);
        self.send_greeting(now, key);
        true
    }

    fn handle_confirm(
        &mut self,
        now: Time,
        from: SocketAddr,
        known: Option<PeerKey>,
        confirm: &Heard,
    ) -> bool {
        let (epoch, cookie) = self.own_identity(from, known, confirm);
        if confirm.shown != cookie || confirm.peer_epoch != epoch {
            // Tells a host that confirms an older meeting which cookie would be right now.
            self.answer_stale(now, from, confirm.epoch, confirm.shown);
            return false;
        }
        let key = match known.and_then(|key| self.peers.get(key)) {
            None => self.add_peer(now, from),
            Some(peer) if goes_before(peer, confirm) => {
                // Once more, so that it is answered even if it was lost and nothing waits for it any more.
                let (address, meeting) = (peer.address, peer.meeting);
                self.send_handshake(HandshakeKind::Confirm, address, &meeting);
                return true;
            }
            Some(peer) if peer.phase == Phase::Met && !is_met(peer, confirm) => {
                let key = peer.key;
                self.replace_peer(now, key)
            }
            Some(peer) => Some(peer.key),
        };
        let Some(key) = key else {
            // The table is full of peers with work. The handshake is genuine, so it does not count as a wrong
            // one too.
            self.counters.one(Count::dropped_no_place);
            return true;
        };
        self.complete_meeting(now, key, confirm, (epoch, cookie))
    }

    /// The peer has shown that it hears: it is met, and told so.
    fn complete_meeting(&mut self, now: Time, key: PeerKey, confirm: &Heard, own: (u64, u64)) -> bool {
        let Some(peer) = self.peers.get_mut(key) else { return false };
        // A repeated confirmation of a peer that is met only has its acceptance repeated: new keys would break
        // the session.
        if peer.phase != Phase::Met {
            // A place that was made by forgetting another has a newer epoch than the one that the peer has heard.
            (peer.meeting.local_epoch, peer.meeting.expected) = own;
            self.store_identity(key, confirm);
            if !self.begin_exchange(key) || !self.end_exchange(now, key, confirm) {
                return false;
            }
        }
        let Some(peer) = self.peers.get_mut(key) else { return false };
        (peer.phase, peer.heard) = (Phase::Met, now);
        let (address, meeting) = (peer.address, peer.meeting);
        self.ready.push(key);
        self.send_handshake(HandshakeKind::Accept, address, &meeting);
        self.met_with_addresses(now, key);
        self.send_probe(now, key);
        true
    }

    /// Stores the epoch, cipher and key that the other side has said in its handshake.
    fn store_identity(&mut self, key: PeerKey, handshake: &Heard) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        // The new incarnation counts its datagrams from 0 again.
        peer.replay = ReplayWindow::default();
        (peer.meeting.peer_epoch, peer.meeting.shown) = (handshake.epoch, handshake.offered);
        (peer.meeting.cipher, peer.meeting.key) = (handshake.cipher, handshake.key);
    }

    /// Makes this endpoint's part of an exchange, unless it has one; `true` without a key, where none is wanted.
    fn begin_exchange(&mut self, key: PeerKey) -> bool {
        let sealed = self.envelope.is_sealed();
        let Some(peer) = self.peers.get_mut(key).filter(|_| sealed) else { return !sealed };
        if peer.exchange.is_none() {
            self.counters.one(Count::key_exchanges);
            peer.exchange = Exchange::new();
        }
        // A repeated confirmation says the same half again, and costs no second exchange.
        peer.meeting.share = peer.exchange.as_ref().map_or(NO_SHARE, Exchange::public_half);
        peer.exchange.is_some()
    }

    /// Makes the keys of a meeting with the peer's half of the exchange, and overwrites this endpoint's; `true` without a
    /// key, where none are wanted.
    fn end_exchange(&mut self, now: Time, key: PeerKey, heard: &Heard) -> bool {
        let (Some(authority), Some(share)) = (self.authorities.get(heard.key), &heard.share) else {
            return !self.envelope.is_sealed();
        };
        let Some(peer) = self.peers.get_mut(key) else { return false };
        // Used up, even if the handshake fails.
        let exchange = peer.exchange.take();
        peer.generations = call_scrubbed(|| {
            let chain = authority.agree_chains(&peer.meeting, &mut exchange?, share)?;
            Generations::new(now, chain).map(Box::new)
        });
        peer.generations.is_some()
    }

    fn handle_accept(&mut self, now: Time, key: PeerKey, accept: &Heard) -> bool {
        let Some(peer) = self.peers.get_mut(key) else { return false };
        if !answers_last(peer, accept) || !is_met(peer, accept) {
            return false;
        }
        if peer.phase == Phase::Confirm {
            if !self.end_exchange(now, key, accept) {
                return false;
            }
            let Some(peer) = self.peers.get_mut(key) else { return false };
            (peer.phase, peer.heard) = (Phase::Met, now);
            self.ready.push(key);
            self.greeting_answered(now, key);
            self.met_with_addresses(now, key);
            self.send_probe(now, key);
        }
        true
    }

    /// Answers a wrong cookie with the right one, within the allowance.
    pub(super) fn answer_stale(&mut self, now: Time, from: SocketAddr, peer_epoch: u64, shown: u64) {
        if !self.answers.allow_stale(now) {
            return self.counters.one(Count::answers_withheld);
        }
        let known = self.peers.find_address(from);
        let meeting = match known.and_then(|key| self.peers.get(key)) {
            // `shown` is the wrong cookie: by it the sender recognises that the answer is to its own datagram.
            Some(peer) => Meeting { peer_epoch, shown, ..peer.meeting },
            None => {
                // Both keys by turns while keys change: a datagram with packets does not say which of them its
                // sender has.
                let key = self.answers.to_strangers % self.authorities.len().max(1);
                self.answers.to_strangers = self.answers.to_strangers.wrapping_add(1);
                let expected = self.secret.cookie_for(from, self.epoch, 0);
                Meeting {
                    local_epoch: self.epoch,
                    peer_epoch,
                    shown,
                    expected,
                    cipher: 0,
                    key,
                    share: NO_SHARE,
                }
            }
        };
        self.send_handshake(HandshakeKind::Stale, from, &meeting);
    }

    fn handle_stale(&mut self, now: Time, key: PeerKey, stale: &Handshake) -> bool {
        let Some(peer) = self.peers.get(key) else { return false };
        let meeting = &peer.meeting;
        let about_us = stale.shown == meeting.shown && stale.peer_epoch == meeting.local_epoch;
        // In phase `Hello` no cookie of the peer has been shown yet, so no answer can be about it.
        if peer.phase == Phase::Hello || !about_us {
            return false;
        }
        if let Some(fresh) = self.replace_peer(now, key)
            && self.peers.get(fresh).is_some_and(|peer| !peer.waiting.is_empty())
        {
            self.send_greeting(now, fresh);
        }
        true
    }
}

/// True if a handshake comes from the incarnation of the peer that is known.
fn is_met(peer: &Peer, handshake: &Handshake) -> bool {
    (handshake.epoch, handshake.offered) == (peer.meeting.peer_epoch, peer.meeting.shown)
}

/// True if both confirm at once with different keys, of which both have two, and this endpoint's confirmation is the
/// one that counts: that of the larger epoch, at both ends.
fn goes_before(peer: &Peer, confirm: &Heard) -> bool {
    let m = &peer.meeting;
    let differ = peer.phase == Phase::Confirm && is_met(peer, confirm) && m.key != confirm.key;
    // The cookies break a tie of epochs, which each end may choose (`Config::epoch`).
    differ && (m.local_epoch, m.expected) > (m.peer_epoch, m.shown)
}

/// True if a handshake answers this endpoint's last message to the peer.
fn answers_last(peer: &Peer, handshake: &Handshake) -> bool {
    handshake.shown == peer.meeting.expected && handshake.peer_epoch == peer.meeting.local_epoch
}
