//! The table of peers, and what becomes of one.

use super::lengths::Lengths;
use super::paths::Paths;
use super::probing::Probing;
use super::{Core, CoreEvent, Count, SendError};
use crate::budget::Budget;
use crate::error::Refusal;
use crate::exchange::Exchange;
use crate::generations::Generations;
use crate::replay::ReplayWindow;
use crate::seal::Meeting;
use headway_packet::HostId;
use headway_packet::session::SHARE_BYTES;
use headway_transport::Endpoint;
use headway_units::Time;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// Number of datagrams in a row, and time over which they are refused, before a refusal counts as final: a firewall
/// that is reloaded, or full of connections, refuses some.
const UNSENT_COUNT: u32 = 6;
const UNSENT_TIME: Time = Time::s(1);

/// A place in the table, and which of its occupants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PeerKey {
    pub(super) place: usize,
    serial: u64,
}

impl PeerKey {
    /// Its number in the machine.
    pub(super) fn host_id(self) -> HostId {
        // 0 is this host itself (`SELF`).
        HostId(self.place as u32 + 1)
    }
}

/// Purpose of a peer's deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// The handshake has not been answered.
    Handshake,
    /// It may have been silent for too long.
    Silence,
    /// A message to it may have been without progress for too long.
    Progress,
    /// Keys of before a renewal are to be overwritten.
    Retire,
    /// One that has its turn may have been without progress for long.
    Turn,
    /// Something is due for its paths.
    Paths,
}

/// Phase of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A hello was sent, or is about to be.
    Hello,
    /// It was answered; the confirmation was not.
    Confirm,
    /// Data may be sent.
    Met,
}

/// One incarnation of a peer.
pub(super) struct Peer {
    pub(super) key: PeerKey,
    pub(super) address: SocketAddr,
    pub(super) phase: Phase,
    /// Epochs and cookies; those of the peer are 0 until they are known.
    pub(super) meeting: Meeting,
    /// Incarnations of the peer before this one, in this place of the table.
    pub(super) before: u64,
    /// This endpoint's part of the exchange, from when the peer has shown that it has the key until they have met.
    pub(super) exchange: Option<Exchange>,
    /// The keys, in one place of memory; `Some` in a session with a key. Numbers and windows are then theirs.
    pub(super) generations: Option<Box<Generations>>,
    /// Number of the next datagram.
    pub(super) counter: u64,
    pub(super) replay: ReplayWindow,
    /// Window for headers that came back: of datagrams sent from here.
    pub(super) returned: ReplayWindow,
    /// Number of the next message.
    pub(super) next_message: u32,
    /// Messages that the machine works on, by number: their places among the outgoing.
    pub(super) open: BTreeMap<u32, usize>,
    /// Messages that wait for the handshake, or for others to end.
    pub(super) waiting: VecDeque<usize>,
    /// Lengths of which one has its turn, and true if a deadline for that is armed.
    pub(super) turns: Lengths,
    pub(super) turns_watched: bool,
    /// Messages being received.
    pub(super) incoming: u32,
    /// Its share of the memory.
    pub(super) memory: Arc<Budget>,
    /// Time at which something genuine last came from it, or it was last given something to do after a pause.
    pub(super) heard: Time,
    /// True if a deadline for its silence is armed.
    pub(super) listening: bool,
    /// Handshakes sent without an answer.
    pub(super) attempts: u32,
    /// The deadline for an answer that is in force; an earlier one is over with its answer.
    pub(super) answer_due: Time,
    /// Time at which a message to it last progressed.
    pub(super) progressed: Time,
    /// True if a deadline for progress is armed.
    pub(super) watched: bool,
    /// The round trips to it that are measured.
    pub(super) probing: Probing,
    /// Datagrams to it that the kernel refused, if it took none since.
    pub(super) unsent: Option<Unsent>,
    /// The paths to it, where one end has several addresses.
    pub(super) paths: Option<Box<Paths>>,
}

/// Datagrams in a row that the kernel refused.
#[derive(Clone, Copy)]
pub(super) struct Unsent {
    /// Time at which it refused the first of them.
    since: Time,
    count: u32,
    /// Its reason for the last one.
    pub(super) why: Refusal,
}

impl Peer {
    /// True if anything is under way with it.
    pub(super) fn is_busy(&self) -> bool {
        !self.open.is_empty() || !self.waiting.is_empty() || self.incoming > 0
    }
}

/// Everybody that this host talks to, by address.
#[derive(Default)]
pub(super) struct Peers {
    places: Slab<Peer>,
    by_address: FxHashMap<SocketAddr, usize>,
    /// By the cookie that they show, those of which one end has several addresses.
    by_cookie: FxHashMap<u64, PeerKey>,
    made: u64,
}

impl Peers {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn find_address(&self, address: SocketAddr) -> Option<PeerKey> {
        self.by_address.get(&address).map(|&place| self.places[place].key)
    }

    /// The peer that shows this cookie, where one end has several addresses.
    pub(super) fn find_cookie(&self, cookie: u64) -> Option<PeerKey> {
        self.by_cookie.get(&cookie).copied()
    }

    /// A peer shows a cookie from several addresses.
    pub(super) fn register_cookie(&mut self, cookie: u64, key: PeerKey) {
        self.by_cookie.insert(cookie, key);
    }

    /// The peer to which a path leads by this address, other than the one where it was met.
    pub(super) fn of_path(&self, remote: SocketAddr) -> Option<PeerKey> {
        let leads = |key: &&PeerKey| {
            let paths = self.get(**key).and_then(|peer| peer.paths.as_ref());
            paths.is_some_and(|paths| paths.slots.iter().any(|slot| slot.remote == remote && slot.proven))
        };
        // A search, because returned headers and kernel refusals are rare.
        self.by_cookie.values().find(leads).copied()
    }

    /// The peer that sends from an address with this cookie.
    pub(super) fn find_sender(&self, from: SocketAddr, cookie: u64) -> Option<PeerKey> {
        let met = self.find_address(from);
        let expected = met.and_then(|key| self.get(key)).map(|peer| peer.meeting.expected);
        // Without peers of several addresses the address alone decides, and no further look-up is paid for.
        if expected == Some(cookie) || self.by_cookie.is_empty() {
            return met;
        }
        let says = |key: &PeerKey| {
            let paths = self.get(*key).and_then(|peer| peer.paths.as_ref());
            paths.is_some_and(|paths| paths.has_said(from))
        };
        // A cookie from an address that its peer has not named is not followed there; `met` then fails by its
        // cookie.
        self.find_cookie(cookie).filter(says).or(met)
    }

    pub(super) fn get(&self, key: PeerKey) -> Option<&Peer> {
        // A place is given to another peer in time; the serial tells a key from one of before.
        self.places.get(key.place).filter(|peer| peer.key == key)
    }

    pub(super) fn get_mut(&mut self, key: PeerKey) -> Option<&mut Peer> {
        self.places.get_mut(key.place).filter(|peer| peer.key == key)
    }

    /// The peer with this number in the machine.
    pub(super) fn of_host(&mut self, host: HostId) -> Option<&mut Peer> {
        self.places.get_mut((host.0 as usize).checked_sub(1)?)
    }

    pub(super) fn iter_peers(&self) -> impl Iterator<Item = &Peer> {
        self.places.iter().map(|(_, peer)| peer)
    }

    /// The peer that has been silent for longest among those with nothing under way.
    fn least_needed(&self) -> Option<PeerKey> {
        // A search over the table, which happens only when a new peer finds it full.
        let idle = self.places.iter().filter(|(_, peer)| !peer.is_busy());
        // The serial breaks ties: of peers heard at the same time the one that was met first goes.
        idle.min_by_key(|(_, peer)| (peer.heard, peer.key.serial)).map(|(_, peer)| peer.key)
    }
}

impl Core {
    /// A place for a host that is not in the table; an idle one makes room.
    pub(super) fn add_peer(&mut self, now: Time, address: SocketAddr) -> Option<PeerKey> {
        if self.peers.len() >= self.memory_limits().peers as usize {
            // A peer with work is never evicted: a stranger could otherwise make messages fail.
            let key = self.peers.least_needed()?;
            self.counters.one(Count::peers_evicted);
            self.forget_peer(now, key, SendError::PeerRestarted);
        }
        let local_epoch = self.epoch;
        let expected = self.secret.cookie_for(address, local_epoch, 0);
        let memory = Budget::new(self.memory_limits().peer_bytes);
        self.peers.made += 1;
        let place = self.peers.places.vacant_entry();
        let key = PeerKey { place: place.key(), serial: self.peers.made };
        place.insert(Peer {
            key,
            address,
            phase: Phase::Hello,
            meeting: Meeting {
                local_epoch,
                peer_epoch: 0,
                shown: 0,
                expected,
                cipher: 0,
                key: 0,
                share: [0; SHARE_BYTES],
            },
            before: 0,
            exchange: None,
            generations: None,
            counter: 0,
            replay: ReplayWindow::default(),
            returned: ReplayWindow::default(),
            next_message: 0,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            turns: Lengths::default(),
            turns_watched: false,
            incoming: 0,
            memory,
            heard: now,
            listening: false,
            attempts: 0,
            answer_due: Time::ZERO,
            progressed: now,
            watched: false,
            probing: Probing::default(),
            unsent: None,
            paths: None,
        });
        self.peers.by_address.insert(address, key.place);
        let (path, _) = self.given_path(address);
        // Machines ask for a path when a message begins (`PathTable`), so it is set with the place.
        self.paths.set_path(key.host_id(), self.config.path_over(path));
        Some(key)
    }

    /// Something is under way with a peer: it must not be silent for too long. Nothing wakes an endpoint for a peer with
    /// which nothing is under way.
    pub(super) fn watch_silence(&mut self, now: Time, key: PeerKey) {
        self.watch_paths(now, key);
        let Some(peer) = self.peers.get_mut(key).filter(|peer| !peer.listening) else { return };
        peer.listening = true;
        self.timers.arm_deadline(now.saturating_add(self.config.peer_timeout), (key, Deadline::Silence));
    }

    pub(super) fn peer_deadline(&mut self, now: Time, at: Time, key: PeerKey, deadline: Deadline) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        match deadline {
            // Deadlines are not cancelled; one of an earlier attempt comes to nothing here.
            Deadline::Handshake if peer.phase == Phase::Met || at < peer.answer_due => {}
            // With nothing to send the greeting ends; 0 lets the next message begin it again.
            Deadline::Handshake if peer.waiting.is_empty() => peer.attempts = 0,
            Deadline::Handshake => self.send_greeting(now, key),
            Deadline::Retire => {
                if let Some(generations) = &mut peer.generations {
                    generations.retire_keys(now);
                }
            }
            Deadline::Turn => self.look_at_turns(now, key),
            Deadline::Paths => self.paths_deadline(now, at, key),
            Deadline::Progress => self.look_for_progress(now, at, key),
            Deadline::Silence => {
                let due = peer.heard.saturating_add(self.config.peer_timeout);
                if !peer.is_busy() {
                    peer.listening = false;
                // Compared with the time that the deadline was armed for: a thread that wakes up late must not
                // shorten the peer's time.
                } else if due <= at {
                    let reason = peer
                        .unsent
                        .map_or(SendError::Unreachable, |unsent| SendError::KernelRefuses(unsent.why));
                    self.counters.one(Count::peers_lost);
                    self.forget_peer(now, key, reason);
                } else {
                    self.timers.arm_deadline(due, (key, Deadline::Silence));
                }
            }
        }
    }

    /// True if departures of datagrams have to be reported.
    pub(crate) fn wants_departures(&self) -> bool {
        self.unsent > 0
    }

    /// The kernel took a datagram to `address`, or refused it. A refusal that does not pass by itself fails the messages to the
    /// peer after a while, with its reason.
    pub(crate) fn note_departure(
        &mut self,
        now: Time,
        local: u8,
        address: SocketAddr,
        refusal: Option<Refusal>,
    ) {
        // A datagram that was too long for a path says nothing about shorter ones: the path's challenges find out.
        let says = refusal.filter(|why| !why.is_about_room() && !why.is_about_length());
        // With several paths a refusal is about one of them, and the peer is reached by the others.
        if says.is_some() && self.path_refused(now, local, address) {
            return;
        }
        let Some(key) = self.peers.find_address(address) else { return };
        let Some(peer) = self.peers.get_mut(key) else { return };
        let several = peer.paths.as_ref().is_some_and(|paths| paths.slots.len() > 1);
        if several && refusal.is_some_and(Refusal::is_about_length) {
            return;
        }
        let before = peer.unsent;
        // A datagram that the kernel took ends the row of refusals.
        peer.unsent = refusal.map(|why| {
            let Unsent { since, count, .. } = before.unwrap_or(Unsent { since: now, count: 0, why });
            Unsent { since, count: count.saturating_add(1), why }
        });
        let due = peer.unsent.is_some_and(|unsent| {
            unsent.count >= UNSENT_COUNT
                && now >= unsent.since.saturating_add(UNSENT_TIME)
                && !unsent.why.may_pass()
        });
        // A peer that is only received from is not given up: its messages still arrive.
        let wanted = !peer.open.is_empty() || !peer.waiting.is_empty();
        self.unsent =
            (self.unsent + usize::from(refusal.is_some())).saturating_sub(usize::from(before.is_some()));
        if let (true, Some(why)) = (due && wanted, refusal) {
            self.counters.one(Count::peers_lost);
            self.forget_peer(now, key, SendError::KernelRefuses(why));
        }
    }

    /// Gives a peer up while its incarnation may live on: this endpoint is a new incarnation for it from now
    /// on, so that neither takes new messages for old ones. Everything under way fails.
    pub(super) fn forget_peer(&mut self, now: Time, key: PeerKey, reason: SendError) {
        // 0 stands for an incarnation that is not known.
        self.epoch = self.epoch.wrapping_add(1).max(1);
        let waiting = self.remove_peer(now, key, reason);
        for place in waiting {
            self.discard_message(now, place, reason);
        }
    }

    /// Gives a peer up as [`Core::forget_peer`] does, but for the messages to it that wait: they start again.
    pub(super) fn renew_peer(&mut self, now: Time, key: PeerKey, reason: SendError) {
        let Some(address) = self.peers.get(key).map(|peer| peer.address) else { return };
        self.epoch = self.epoch.wrapping_add(1).max(1);
        let waiting = self.remove_peer(now, key, reason);
        if waiting.is_empty() {
            return;
        }
        // The machine's number of the place may be given again now: `remove_peer` has made it forget the peer.
        if let Some(fresh) = self.add_peer(now, address) {
            self.rehome_all(now, fresh, waiting);
            self.send_greeting(now, fresh);
        } else {
            waiting.into_iter().for_each(|place| self.discard_message(now, place, SendError::TooManyPeers));
        }
    }

    /// Messages that waited for an incarnation that is gone wait for this one.
    fn rehome_all(&mut self, now: Time, key: PeerKey, waiting: VecDeque<usize>) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let memory = Arc::clone(&peer.memory);
        // All at once, and in order; `move_to_incarnation` takes out those that fail.
        peer.waiting.clone_from(&waiting);
        self.watch_silence(now, key);
        for place in waiting {
            self.move_to_incarnation(now, place, key, &memory);
        }
    }

    /// The peer is a new incarnation: messages that the old one had not acknowledged fail, those that waited go to the
    /// new one.
    pub(super) fn replace_peer(&mut self, now: Time, key: PeerKey) -> Option<PeerKey> {
        let old = self.peers.get(key)?;
        let (address, local_epoch, before) = (old.address, old.meeting.local_epoch, old.before + 1);
        let expected = self.secret.cookie_for(address, local_epoch, before);
        self.counters.one(Count::peer_restarts);
        let waiting = self.remove_peer(now, key, SendError::PeerRestarted);
        let fresh = self.add_peer(now, address);
        let Some(peer) = fresh.and_then(|fresh| self.peers.get_mut(fresh)) else {
            waiting.into_iter().for_each(|place| self.discard_message(now, place, SendError::TooManyPeers));
            return None;
        };
        // The new incarnation has been told this endpoint's epoch as it was, and the cookie that comes next: what
        // showed the one before is no longer taken for news, even if it is repeated.
        (peer.meeting.local_epoch, peer.meeting.expected, peer.before) = (local_epoch, expected, before);
        let key = peer.key;
        self.rehome_all(now, key, waiting);
        fresh
    }

    /// Takes a peer out of the table and the machine; returns the messages that had not begun.
    fn remove_peer(&mut self, now: Time, key: PeerKey, reason: SendError) -> VecDeque<usize> {
        // Read by `drain_events` for the messages that the machine now gives up.
        self.failing = Some(reason);
        self.machine.forget_peer(self.clock.input_time(now), key.host_id());
        self.nic.note_input(now);
        self.drain_events(now, None);
        self.failing = None;
        // Halves of messages give their memory back here, by their charges.
        self.incoming.retain(|(host, _), _| *host != key.host_id());
        self.finished.forget_gone(headway_transport::Gone::Peer(key.host_id()));
        if self.peers.get(key).is_none() {
            return VecDeque::new();
        }
        let peer = self.peers.places.remove(key.place);
        self.unsent -= usize::from(peer.unsent.is_some());
        // Now, not when they are due: peers that come and go would leave any number of them behind.
        self.timers.retain(|(other, _)| *other != key);
        debug_assert!(peer.open.is_empty(), "the machine failed every message to it");
        self.peers.by_address.remove(&peer.address);
        // Only then was its cookie entered (`prepare_paths`).
        if peer.paths.is_some() {
            self.peers.by_cookie.remove(&peer.meeting.expected);
        }
        self.events.push_back(CoreEvent::PeerGone { peer: peer.address, reason });
        peer.waiting
    }
}
