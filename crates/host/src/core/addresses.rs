//! Several addresses: what two endpoints say to each other about them, and how paths between them are proven and watched.
//!
//! ```text
//!   A (two addresses)                       B
//!   | == met, as with one address ========= |
//!   | -- addresses (A2; list 1) ----------> |
//!   | <- addresses (B2; list 1, heard 1) -- |
//!   | -- challenge  from A2 to B2 --------> |   short; until it is answered nothing else goes there
//!   | <- answer     from B2 to A2 --------- |
//!   | -- challenge  as long as a packet --> |
//!   | <- answer --------------------------- |   packets may take this path
//! ```
//!
//! Each end proves a path for itself, and answers challenges of the other by what it hears. An endpoint with one address says
//! nothing of all this unless its peer does; a peer of an older version answers nothing, and has one path. Where a key is
//! shared, all of it is authenticated; otherwise it shows the cookie of the meeting, which only the peer knows.
//!
//! A peer may lie about its addresses. To one that was not proven go short challenges alone, and of these no more than
//! three bytes for each that the peer sent about them. Lists are bounded, and a new one is believed so often only.

use super::handshake::Said;
use super::paths::{Aim, Care, MOST_PATHS, News, PathCounts, PathState, Paths, Slot};
use super::peers::{Deadline, PeerKey, Phase};
use super::{Core, CoreEvent, Count};
use crate::address::is_of_family;
use crate::error::AddressError;
use crate::path_event::{PathEvent, PathEventKind};
use headway_packet::HostId;
use headway_packet::paths::{MOST_ADDRESSES, PathKind, PathSaid};
use headway_packet::session::{Handshake, HandshakeKind};
use headway_transport::Endpoint;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::net::SocketAddr;

/// Lists that are sent without an answer before the peer counts as one that knows of no paths.
const LIST_TRIES: u32 = 6;
/// First wait for an answer to a list; it doubles.
const LIST_WAIT: Time = Time::ms(10);
/// New lists of one peer that are believed: so many at once, and one more each such time.
const LISTS_BURST: u64 = 16;
const LISTS_EVERY: Time = Time::ms(100);
/// Of the bytes that came about an address that is not proven, so many times as many may go there.
const AMPLIFICATION: u64 = 3;
/// Numbers of challenges begin here among those that cookies are made from.
const FIRST_CHALLENGE: u64 = 1 << 62;

/// The addresses of an endpoint. A place is taken again when its address is gone.
pub(super) struct Locals {
    places: Vec<Option<SocketAddr>>,
    /// Grows with each change.
    number: u64,
}

impl Locals {
    pub(super) fn new(home: SocketAddr) -> Locals {
        Locals { places: vec![Some(home)], number: 1 }
    }

    /// Places that have an address.
    fn present_places(&self) -> Vec<u8> {
        (0..self.places.len())
            .filter(|&place| self.places[place].is_some())
            .map(|place| place as u8)
            .collect()
    }

    /// Place of the address from which datagrams leave that belong to no path.
    pub(super) fn home_place(&self) -> u8 {
        // There is always one: `remove_address` refuses to take the last.
        self.places.iter().position(Option::is_some).unwrap_or(0) as u8
    }

    fn address_count(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// True if peers need no more than the address where they met this endpoint.
    fn is_plain(&self) -> bool {
        self.places.len() == 1 && self.places[0].is_some() && self.number == 1
    }

    pub(super) fn get(&self, place: u8) -> Option<SocketAddr> {
        self.places.get(usize::from(place)).copied().flatten()
    }
}

/// State and counters of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathInfo {
    /// The peer, by the address at which it was met.
    pub peer: SocketAddr,
    /// Address of this endpoint.
    pub local: SocketAddr,
    /// Address of the peer.
    pub remote: SocketAddr,
    /// State of the path.
    pub state: PathState,
    /// Smoothed round trip of challenges; `None` before the first answer.
    pub round_trip: Option<Time>,
    /// Bytes of the longest IP packet that is known to arrive; 0 before the first answer.
    pub mtu: u16,
    /// Counters of the path.
    pub counts: PathCounts,
    /// Share of the subflows of all messages under way there.
    pub share: PathShare,
}

/// Weights, credit and bytes of the subflows of outgoing messages on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathShare {
    /// Sum of their weights: grants of ProactMP, windows of MPTCP in packets.
    pub weight: f64,
    /// Bytes that they may send now.
    pub credit: f64,
    /// Bytes that they may have in flight; 0 where nothing bounds them.
    pub cap: u64,
    /// Bytes that they have in flight.
    pub in_flight: u64,
}

impl Core {
    fn path_aim(&self) -> Aim {
        let longest = u16::try_from(self.datagram_bytes()).unwrap_or(u16::MAX);
        Aim { longest, timeout: self.config.path_timeout }
    }

    /// Another address of this endpoint, from where datagrams leave as [`super::Transmit::local`] says. Peers are told.
    ///
    /// # Errors
    /// It is of another family, is there already, or there are too many.
    pub fn add_address(&mut self, now: Time, address: SocketAddr) -> Result<u8, AddressError> {
        if !is_of_family(address.ip(), self.local.ip()) {
            return Err(AddressError::OtherFamily(address));
        }
        if address.ip().is_unspecified() || self.locals.places.contains(&Some(address)) {
            return Err(AddressError::Known(address));
        }
        // Lists say place 0 by the flag `home`, not by its address, so only the address of the meeting may
        // return there.
        let home = self.local == address && self.locals.places[0].is_none();
        let free = self.locals.places.iter().skip(1).position(Option::is_none).map(|place| place + 1);
        let place = match free {
            _ if home => 0,
            Some(place) => place,
            // Place 0 takes no room in a list, so there may be one place more than a list holds.
            None if self.locals.places.len() > MOST_ADDRESSES => return Err(AddressError::TooMany(address)),
            None => {
                self.locals.places.push(None);
                self.locals.places.len() - 1
            }
        };
        self.locals.places[place] = Some(address);
        self.addresses_changed(now);
        Ok(place as u8)
    }

    /// An address is gone: nothing leaves from there any more. Answers its place.
    ///
    /// # Errors
    /// It is none of this endpoint's, or the last one.
    pub fn remove_address(&mut self, now: Time, address: SocketAddr) -> Result<u8, AddressError> {
        let place = self.locals.places.iter().position(|known| *known == Some(address));
        let place = place.ok_or(AddressError::Unknown(address))?;
        if self.locals.address_count() == 1 {
            return Err(AddressError::Last(address));
        }
        // The place itself stays: paths and sockets name addresses by it.
        self.locals.places[place] = None;
        self.addresses_changed(now);
        Ok(place as u8)
    }

    /// The addresses of this endpoint.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.locals.places.iter().flatten().copied().collect()
    }

    fn addresses_changed(&mut self, now: Time) {
        self.locals.number += 1;
        let keys: Vec<PeerKey> =
            self.peers.iter_peers().filter(|peer| peer.phase == Phase::Met).map(|peer| peer.key).collect();
        for key in keys {
            self.prepare_paths(now, key);
            // Before new paths are planned: the old ones count towards `MOST_PATHS` and keep their addresses
            // from being tried in other pairs.
            self.close_paths(now, key);
            self.say_addresses(now, key);
            self.plan_paths(now, key);
        }
    }

    /// Two endpoints have met: if this one has several addresses, it says so.
    pub(super) fn met_with_addresses(&mut self, now: Time, key: PeerKey) {
        if !self.locals.is_plain() && self.peers.get(key).is_some_and(|peer| peer.paths.is_none()) {
            self.prepare_paths(now, key);
            self.say_addresses(now, key);
            self.tell_paths(key);
        }
    }

    fn prepare_paths(&mut self, now: Time, key: PeerKey) {
        let (aim, home) = (self.path_aim(), self.locals.home_place());
        let Some(peer) = self.peers.get_mut(key).filter(|peer| peer.paths.is_none()) else { return };
        peer.paths = Some(Box::new(Paths::new(now, home, peer.address, aim)));
        // From now on its datagrams may come from addresses that are not in the table; the cookie tells whose
        // they are.
        let cookie = peer.meeting.expected;
        self.peers.register_cookie(cookie, key);
    }

    /// Says this endpoint's addresses to a peer, until it has them.
    fn say_addresses(&mut self, now: Time, key: PeerKey) {
        let number = self.locals.number;
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        paths.said = 0;
        paths.say_at = (paths.known_to_peer < number).then_some(now);
        self.look_after_paths(now, key);
    }

    /// One list, by a path that answers.
    fn say_list(&mut self, key: PeerKey) {
        let number = self.locals.number;
        let Some(paths) = self.peers.get(key).and_then(|peer| peer.paths.as_ref()) else { return };
        // The number of the attempt serves as an entropy: each repetition takes the next path, so one dead path
        // cannot hold the list up.
        let Some(slot) = paths.slots.get(paths.path_of(paths.said)) else { return };
        let (local, remote) = (slot.local, slot.remote);
        let asks = paths.known_to_peer < number;
        let heard = paths.their_number;
        let addresses = self.locals.places.iter().skip(1).flatten().copied().collect();
        let home = self.locals.places[0].is_some();
        let said =
            |front| PathSaid { front, kind: PathKind::Addresses, number, heard, home, asks, addresses };
        self.say_of_paths(key, (local, remote), said, 0);
    }

    /// Says something about paths in a meeting, from one address to another.
    fn say_of_paths(
        &mut self,
        key: PeerKey,
        (local, remote): (u8, SocketAddr),
        said: impl FnOnce(Handshake) -> PathSaid,
        length: usize,
    ) {
        let Some(meeting) = self.peers.get(key).map(|peer| peer.meeting) else { return };
        let front = Handshake {
            // Replaced by the kind of `PathSaid` when the bytes are made.
            kind: HandshakeKind::Hello,
            terms: self.terms,
            cipher: 0,
            epoch: meeting.local_epoch,
            peer_epoch: meeting.peer_epoch,
            shown: meeting.shown,
            offered: meeting.expected,
            mac: [0; 16],
            share: None,
        };
        let mut bytes = said(front).to_bytes(length);
        if let Some(authority) = self.authorities.get(meeting.key) {
            authority.sign_handshake(&mut bytes);
        }
        self.answers.push(&self.counters, (local, remote), Said::Paths(bytes));
    }

    /// A datagram about paths arrived at one of this endpoint's addresses.
    pub(super) fn about_paths(&mut self, now: Time, local: u8, from: SocketAddr, datagram: &[u8]) {
        let Some(said) = PathSaid::parse(datagram) else {
            return self.counters.one(Count::dropped_malformed);
        };
        // One peer may have been met at this address and another may use it for a path, so the cookies decide
        // between the two.
        let known = self.peers.find_address(from).into_iter().chain(self.peers.find_cookie(said.front.shown));
        let known = known.into_iter().find(|key| {
            self.peers.get(*key).is_some_and(|peer| {
                let (m, front) = (&peer.meeting, &said.front);
                peer.phase == Phase::Met
                    && (front.shown, front.peer_epoch) == (m.expected, m.local_epoch)
                    && (front.offered, front.epoch) == (m.shown, m.peer_epoch)
            })
        });
        // Authentication comes last: it costs a MAC, which a host that does not know the cookies must not be
        // able to cause.
        let genuine = known
            .filter(|_| said.front.terms == self.terms && self.authorities.find_signer(datagram).is_some());
        let Some(key) = genuine else { return self.counters.one(Count::dropped_handshake) };
        if let Some(peer) = self.peers.get_mut(key) {
            peer.heard = peer.heard.max(now);
        }
        match said.kind {
            PathKind::Addresses => self.heard_list(now, key, &said, datagram.len()),
            PathKind::Challenge => self.handle_challenge(now, key, (local, from), &said, datagram.len()),
            PathKind::Answer => self.handle_answer(now, key, (local, from), &said),
        }
    }

    /// The peer says its addresses.
    fn heard_list(&mut self, now: Time, key: PeerKey, said: &PathSaid, bytes: usize) {
        self.prepare_paths(now, key);
        let family = self.local.ip();
        let number = self.locals.number;
        let Some(peer) = self.peers.get_mut(key) else { return };
        let Some(paths) = &mut peer.paths else { return };
        // An older list was overtaken or is a copy. Lists are whole, so nothing of it is missed.
        if said.number > paths.their_number {
            // A token bucket that is stored as one instant, at which it will be full again.
            let until = paths.lists_until.max(now) + LISTS_EVERY;
            if until.saturating_sub(now) > LISTS_EVERY * LISTS_BURST {
                // `their_number` is unchanged, so the peer's repetition of this list is as new as the list was.
                return self.counters.one(Count::address_lists_withheld);
            }
            paths.lists_until = until;
            (paths.their_number, paths.home) = (said.number, said.home);
            paths.allowance = paths.allowance.saturating_add(AMPLIFICATION * bytes as u64);
            let home = said.home.then_some(peer.address);
            paths.theirs.clear();
            for address in home.into_iter().chain(said.addresses.iter().copied()) {
                // A peer must not be able to direct datagrams at hosts that this endpoint's own rules exclude.
                let good = is_of_family(address.ip(), family)
                    && address.port() > 0
                    && !address.ip().is_unspecified()
                    && !address.ip().is_multicast()
                    && self.config.admission.admits(address.ip());
                if good && !paths.theirs.contains(&address) {
                    paths.theirs.push(address);
                }
            }
            paths.unproven.clear();
            self.close_paths(now, key);
            self.plan_paths(now, key);
        }
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        // A number that was never sent would keep later lists from being said.
        if said.heard <= number {
            paths.known_to_peer = paths.known_to_peer.max(said.heard);
        }
        if paths.known_to_peer >= number {
            (paths.say_at, paths.said) = (None, 0);
        }
        if said.asks {
            self.say_list(key);
        }
        self.look_after_paths(now, key);
    }

    /// Paths whose addresses are gone carry nothing more.
    fn close_paths(&mut self, now: Time, key: PeerKey) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let (Some(paths), address) = (&mut peer.paths, peer.address) else { return };
        let locals = &self.locals;
        let told = paths.is_told();
        let stays =
            |slot: &Slot| locals.get(slot.local).is_some() && (!told || paths.theirs.contains(&slot.remote));
        // The last one stays, for want of a better one.
        let last = if paths.slots.iter().any(stays) {
            None
        } else {
            paths.slots.first().map(|s| (s.local, s.remote))
        };
        let (kept, gone): (Vec<Slot>, Vec<Slot>) =
            paths.slots.drain(..).partition(|slot| stays(slot) || Some((slot.local, slot.remote)) == last);
        paths.slots = kept;
        paths.unproven.retain(|(local, _)| locals.get(*local).is_some());
        for slot in gone {
            let local = locals.get(slot.local).unwrap_or(self.local);
            let what = PathEventKind::Closed;
            let event = PathEvent { at: now, peer: address, local, remote: slot.remote, what };
            self.events.push_back(CoreEvent::Path(event));
        }
        self.tell_paths(key);
    }

    /// Begins to prove the pairs of addresses that are worth it.
    fn plan_paths(&mut self, now: Time, key: PeerKey) {
        let present = self.locals.present_places();
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        // A peer of an older version never says a list, and would drop every challenge.
        if !paths.is_told() {
            return;
        }
        while let Some((local, remote)) = paths.next_candidate(&present) {
            paths.slots.push(Slot::new(now, local, remote));
        }
        self.tell_paths(key);
        self.look_after_paths(now, key);
    }

    /// The peer wants to know whether this endpoint is here. It is answered as it asked, and asked in turn.
    fn handle_challenge(
        &mut self,
        now: Time,
        key: PeerKey,
        (local, from): (u8, SocketAddr),
        said: &PathSaid,
        bytes: usize,
    ) {
        self.prepare_paths(now, key);
        let has_said =
            |peer: &super::peers::Peer| peer.paths.as_ref().is_some_and(|paths| paths.has_said(from));
        if !self.peers.get(key).is_some_and(has_said) {
            // Packets from there would not be taken either.
            return self.counters.one(Count::dropped_handshake);
        }
        let number = said.number;
        let (heard, home, asks, addresses) = (bytes as u64, false, false, Vec::new());
        let answer = |front| PathSaid { front, kind: PathKind::Answer, number, heard, home, asks, addresses };
        self.say_of_paths(key, (local, from), answer, 0);
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        let known = paths.number_of(local, from);
        if known.is_some_and(|number| paths.slots[number].proven) {
            return;
        }
        paths.allowance = paths.allowance.saturating_add(AMPLIFICATION * bytes as u64);
        // The challenge came through, so the path works in one direction at least.
        paths.unproven.retain(|pair| *pair != (local, from));
        if known.is_none() && paths.slots.len() < MOST_PATHS {
            paths.slots.push(Slot::new(now, local, from));
            self.tell_paths(key);
        }
        self.look_after_paths(now, key);
    }

    fn handle_answer(&mut self, now: Time, key: PeerKey, (local, from): (u8, SocketAddr), said: &PathSaid) {
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        let aim = paths.aim;
        let slot = paths.slots.iter_mut().find(|slot| slot.has_ends(local, from));
        let news = slot.and_then(|slot| slot.note_answer(now, said.number, said.heard, aim));
        match news {
            None => return self.counters.one(Count::dropped_handshake),
            Some(News::Opened) => self.path_event(now, key, (local, from), PathEventKind::Opened),
            Some(News::None) => {}
        }
        self.look_after_paths(now, key);
    }

    fn path_event(
        &mut self,
        now: Time,
        key: PeerKey,
        (local, remote): (u8, SocketAddr),
        what: PathEventKind,
    ) {
        let Some(peer) = self.peers.get(key).map(|peer| peer.address) else { return };
        let count = match what {
            PathEventKind::Opened => Some(Count::paths_opened),
            PathEventKind::Died => Some(Count::paths_died),
            _ => None,
        };
        if let Some(count) = count {
            self.counters.one(count);
        }
        let at = self.locals.get(local).unwrap_or(self.local);
        self.events.push_back(CoreEvent::Path(PathEvent { at: now, peer, local: at, remote, what }));
        if matches!(what, PathEventKind::Died | PathEventKind::Narrowed) {
            self.path_lost(now, key, (local, remote));
        }
    }

    /// Tells the machine which entropies named a path that is dead now.
    fn path_lost(&mut self, now: Time, key: PeerKey, (local, remote): (u8, SocketAddr)) {
        let Some(paths) = self.peers.get(key).and_then(|peer| peer.paths.as_ref()) else { return };
        let count = paths.slots.len();
        let Some(number) = paths.number_of(local, remote).filter(|_| count > 1) else { return };
        // The same mapping as in `Paths::path_of`, before that looks for a path that works.
        let lost = move |entropy: u32| entropy as usize % count == number;
        self.machine.path_lost(self.clock.input_time(now), key.host_id(), &lost);
        self.nic.note_input(now);
        self.drain_events(now, None);
    }

    /// Something is under way with a peer: its paths are watched.
    pub(super) fn watch_paths(&mut self, now: Time, key: PeerKey) {
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        paths.quiet_since = None;
        // A single path has no other to give its packets to; its silence is that of the peer, which has a
        // deadline of its own.
        if paths.is_watched || paths.slots.len() < 2 {
            return;
        }
        paths.is_watched = true;
        paths.slots.iter_mut().filter(|slot| slot.proven).for_each(|slot| slot.restart_silence(now));
        self.look_after_paths(now, key);
    }

    /// The deadline for the paths to a peer has come.
    pub(super) fn paths_deadline(&mut self, now: Time, at: Time, key: PeerKey) {
        if let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut())
            // A deadline that was armed for later is not cancelled when an earlier one takes its place.
            && paths.armed == Some(at)
        {
            paths.armed = None;
            self.look_after_paths(now, key);
        }
    }

    /// Does what is due for the paths to a peer.
    fn look_after_paths(&mut self, now: Time, key: PeerKey) {
        // An index, because the work for one path may remove it, or plan others.
        let mut number = 0;
        loop {
            let Some(peer) = self.peers.get_mut(key) else { return };
            let Some(paths) = &mut peer.paths else { return };
            let busy = !peer.open.is_empty() || !peer.waiting.is_empty() || peer.incoming > 0;
            paths.note_work(now, busy);
            let (aim, single) = (paths.aim, paths.slots.len() < 2);
            let watched = paths.is_watched;
            let Some(slot) = paths.slots.get_mut(number) else { break };
            number += 1;
            let pair = (slot.local, slot.remote);
            if single || !(watched || slot.ends_by_itself(aim)) {
                continue;
            }
            match slot.next_step(now, aim) {
                Care::Wait => {}
                Care::Challenge(bytes) => self.send_challenge(now, key, number - 1, bytes),
                Care::Died => {
                    self.path_event(now, key, pair, PathEventKind::Died);
                    // Once more at once: a path that has just died gets its first challenge now.
                    number -= 1;
                }
                Care::Narrowed => {
                    self.path_event(now, key, pair, PathEventKind::Narrowed);
                    number -= 1;
                }
                Care::Unproven => {
                    number -= 1;
                    paths.slots.remove(number);
                    paths.unproven.push(pair);
                    self.path_event(now, key, pair, PathEventKind::Unproven);
                    self.plan_paths(now, key);
                }
            }
        }
        self.repeat_list(now, key);
        self.arm_paths(now, key);
    }

    /// A challenge leaves, unless its address is not proven and has had its share.
    fn send_challenge(&mut self, now: Time, key: PeerKey, number: usize, bytes: u16) {
        let (Some(peer), sequence) = (self.peers.get_mut(key), self.challenges) else { return };
        let (local_epoch, Some(paths)) = (peer.meeting.local_epoch, &mut peer.paths) else { return };
        let aim = paths.aim;
        let remote = paths.slots[number].remote;
        // The handshake has proven the address of the meeting: the cookie came back from there.
        let proven = remote == peer.address || paths.slots.iter().any(|s| s.remote == remote && s.proven);
        let cost = if proven { 0 } else { u64::from(bytes) };
        // A keyed hash, so that only a host that received the challenge can answer it.
        let challenge = self.secret.cookie_for(remote, local_epoch, FIRST_CHALLENGE + sequence);
        let withheld = paths.allowance < cost;
        if !withheld {
            paths.allowance -= cost;
        }
        let slot = &mut paths.slots[number];
        let pair = (slot.local, slot.remote);
        // One that was withheld counts as one that was not answered.
        slot.note_challenge(now, challenge, bytes, aim);
        if withheld {
            return;
        }
        self.challenges += 1;
        let (heard, home, asks, addresses) = (0, false, false, Vec::new());
        let number = challenge;
        let said =
            |front| PathSaid { front, kind: PathKind::Challenge, number, heard, home, asks, addresses };
        self.say_of_paths(key, pair, said, bytes.into());
    }

    /// Says the list again if it was not answered; a peer that never answers one knows of no paths.
    fn repeat_list(&mut self, now: Time, key: PeerKey) {
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        if paths.say_at.is_none_or(|at| now < at) {
            return;
        }
        if paths.said >= LIST_TRIES {
            paths.say_at = None;
            return self.tell_paths(key);
        }
        let wait = LIST_WAIT.saturating_mul(1 << paths.said);
        paths.said += 1;
        paths.say_at = Some(now.saturating_add(wait));
        self.say_list(key);
    }

    fn arm_paths(&mut self, now: Time, key: PeerKey) {
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return };
        let Some(due) = paths.next_due().map(|due| due.max(now)) else { return };
        if paths.armed.is_none_or(|armed| due < armed) {
            paths.armed = Some(due);
            self.timers.arm_deadline(due, (key, Deadline::Paths));
        }
    }

    /// Tells the machine how many paths there are to a peer.
    pub(super) fn tell_paths(&mut self, key: PeerKey) {
        let own = self.locals.address_count();
        let Some(paths) = self.peers.get(key).and_then(|peer| peer.paths.as_ref()) else { return };
        let told = paths.path_count(own);
        let path = self.paths.get(key.host_id());
        if path.paths != told {
            self.paths.set_path(key.host_id(), headway_transport::Path { paths: told, ..path });
        }
    }

    /// The kernel refused a datagram by one of several paths to a peer: it is dead, whatever it was before. Whether it was one.
    pub(super) fn path_refused(&mut self, now: Time, local: u8, remote: SocketAddr) -> bool {
        let Some(key) = self.peers.find_address(remote).or_else(|| self.peers.of_path(remote)) else {
            return false;
        };
        let Some(paths) = self.peers.get_mut(key).and_then(|peer| peer.paths.as_mut()) else { return false };
        let several = paths.slots.len() > 1;
        let Some(slot) = paths.slots.iter_mut().find(|slot| slot.has_ends(local, remote)) else {
            return false;
        };
        if !several || !slot.proven {
            // Challenges decide about a path that is not proven yet; with several paths the peer is not blamed
            // for it.
            return several;
        }
        if slot.is_alive() {
            slot.mark_dead(now);
            self.path_event(now, key, (local, remote), PathEventKind::Died);
            self.look_after_paths(now, key);
        }
        true
    }

    /// All paths to peers of which one end has several addresses.
    pub fn path_list(&self) -> Vec<PathInfo> {
        let with_paths = || {
            self.peers
                .iter_peers()
                .filter_map(|peer| Some((peer.key.host_id(), peer.address, peer.paths.as_ref()?)))
        };
        let headers = crate::address::header_bytes(self.local.ip());
        let numbers: FxHashMap<HostId, &Paths> =
            with_paths().map(|(host, _, paths)| (host, &**paths)).collect();
        let mut shares: FxHashMap<(HostId, usize), PathShare> = FxHashMap::default();
        self.machine.visit_subflows(&mut |found| {
            let Some(paths) = numbers.get(&found.peer) else { return };
            let share = shares.entry((found.peer, paths.path_of(found.entropy))).or_default();
            share.weight += found.weight;
            share.credit += found.credit;
            share.cap += found.cap.unwrap_or(0);
            share.in_flight += found.in_flight;
        });
        with_paths()
            .flat_map(|(host, peer, paths)| {
                let shares = &shares;
                paths.slots.iter().enumerate().map(move |(number, slot)| PathInfo {
                    peer,
                    local: self.locals.get(slot.local).unwrap_or(self.local),
                    remote: slot.remote,
                    state: slot.path_state(paths.aim),
                    round_trip: slot.round_trip(),
                    mtu: if slot.longest_carried() > 0 { slot.longest_carried() + headers } else { 0 },
                    counts: slot.counts,
                    share: shares.get(&(host, number)).copied().unwrap_or_default(),
                })
            })
            .collect()
    }
}
