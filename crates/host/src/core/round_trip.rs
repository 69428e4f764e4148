//! The base round trip to a peer, measured.
//!
//! Transports size their first windows, their credit and their time-outs by the base round trip of a path. On real hosts
//! most of it is the time that kernels and threads take, which a configuration cannot know. So it is measured:
//! the handshake itself, then a few hellos one after another once two endpoints have met, and one more now and then when a
//! message begins. Of the last eight the second shortest is taken, and the least of these counts: the shortest round
//! trip of all is one where every thread on the way happened to be awake, and a window of that length leaves the link idle
//! most of the time; and what a queue made longer while others were sending is not taken for the path.
//!
//! If a queue never ends, the least is as long as the queue. Handshakes therefore ask for the class that is served
//! first ([`super::tos`]), like grants: where switches heed it, they wait behind one packet at the most. Where they do
//! not, a queue that ends once is enough: a round trip of less than half of the known one has eight more measured at
//! once.
//!
//! A hello finds threads with nothing else to do. A packet of a long message finds them in the middle of a turn: each end
//! takes the packets that have arrived as a batch, and answers the batch. On links where several packets go through the
//! kernel together the base round trip therefore includes a turn of each end ([`crate::nic::TURN`]); windows without it
//! leave one end idle while the other works.
//!
//! A hello is answered without any state being kept or changed, by an endpoint of any version. A measuring one shows a
//! fresh number in place of this endpoint's cookie, and its answer returns that: so a copy of an earlier answer is none,
//! nor is a forgery by a host that does not see the hello.

use super::Core;
use super::peers::{PeerKey, Phase};
use super::probing::{AT_FIRST, FIRST_NUMBER};
use crate::config::{RoundTrip, handshake_wire_at};
use crate::seal::Meeting;
use headway_packet::session::{Handshake, HandshakeKind};
use headway_transport::Path;
use headway_units::{Rate, Time};
use std::net::SocketAddr;

impl Core {
    /// Configured path to an address, and true if it is set for this address alone.
    pub(super) fn given_path(&self, address: SocketAddr) -> (Path, bool) {
        let path = self.config.path_to.as_ref().and_then(|path_to| path_to(address));
        (path.unwrap_or(self.config.path), path.is_some())
    }

    /// The round trip of a handshake that was measured to a peer.
    pub fn handshake_round_trip(&self, address: SocketAddr) -> Option<Time> {
        let peer = self.peers.get(self.peers.find_address(address)?)?;
        peer.probing.known_rtt()
    }

    /// Base round trips of full packets as transports take them for granted now, of peers to which one was measured.
    pub(super) fn base_round_trips(&self) -> Vec<(SocketAddr, Time)> {
        let measured = self.peers.iter_peers().filter(|peer| peer.probing.known_rtt().is_some());
        measured.map(|peer| (peer.address, self.paths.get(peer.key.host_id()).base_rtt)).collect()
    }

    /// The path to a peer as its transport knows it.
    pub fn path(&self, address: SocketAddr) -> Option<Path> {
        Some(self.paths.get(self.peers.find_address(address)?.host_id()))
    }

    /// Measures the round trip to a peer that has been met, if that is due.
    pub(super) fn send_probe(&mut self, now: Time, key: PeerKey) {
        let Some(peer) = self.peers.get_mut(key).filter(|peer| peer.phase == Phase::Met) else { return };
        if self.config.round_trip == RoundTrip::Given || !peer.probing.is_due(now) {
            return;
        }
        let number = FIRST_NUMBER + u64::from(peer.probing.made);
        let meeting = peer.meeting;
        let expected = self.secret.cookie_for(peer.address, meeting.local_epoch, number);
        peer.probing.made = peer.probing.made.saturating_add(1);
        (peer.probing.asked, peer.probing.last) = (Some((expected, now)), Some(now));
        let address = peer.address;
        // A hello, which peers of every version answer without state.
        self.send_handshake(HandshakeKind::Hello, address, &Meeting { expected, ..meeting });
    }

    /// True if a welcome answers the last measurement; then it is noted, and another may follow.
    pub(super) fn probe_answered(&mut self, now: Time, key: PeerKey, welcome: &Handshake) -> bool {
        let Some(peer) = self.peers.get_mut(key) else { return false };
        let asked = peer.probing.asked.filter(|(number, _)| *number == welcome.shown);
        // An answer that is addressed to an earlier epoch of this endpoint may be of any age.
        let Some((_, at)) = asked.filter(|_| welcome.peer_epoch == peer.meeting.local_epoch) else {
            return false;
        };
        peer.probing.asked = None;
        // A sign of life: only a host on the path can have seen the number that it returns.
        peer.heard = peer.heard.max(now);
        self.measured_round_trip(key, now.saturating_sub(at));
        if self.peers.get(key).is_some_and(|peer| peer.probing.made < AT_FIRST) {
            self.send_probe(now, key);
        }
        true
    }

    /// The handshake that was sent last has been answered.
    pub(super) fn greeting_answered(&mut self, now: Time, key: PeerKey) {
        let greeted = self.peers.get_mut(key).and_then(|peer| peer.probing.greeted.take());
        if let Some(at) = greeted
            && self.config.round_trip == RoundTrip::Measured
        {
            self.measured_round_trip(key, now.saturating_sub(at));
        }
    }

    fn measured_round_trip(&mut self, key: PeerKey, time: Time) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let time = peer.probing.add_sample(time);
        let address = peer.address;
        let (given, about_it) = self.given_path(address);
        let given = self.config.path_over(given);
        let known = self.config.handshake_to.as_ref().and_then(|handshake_to| handshake_to(address));
        let base_rtt = match known {
            // The wire's share is known exactly, so only what kernels and threads add is taken from the
            // measurement.
            Some(ideal) if about_it => given.base_rtt.saturating_add(time.saturating_sub(ideal)),
            _ => {
                let longer = self.longer_on_the_wire(given.bottleneck).saturating_add(self.nic.turn_time());
                let measured = time.saturating_add(longer);
                // The default path is a guess that a measurement may go below; a path that was set for this
                // address is not.
                if about_it { measured.max(given.base_rtt) } else { measured }
            }
        };
        // Queues are as long as before, whatever the hosts take: the longest round trip moves with the base.
        let queues = given.max_rtt.saturating_sub(given.base_rtt);
        // The number of paths is not measured here.
        let paths = self.peers.get(key).and_then(|peer| peer.paths.as_ref());
        let paths = paths.map_or(given.paths, |_| self.paths.get(key.host_id()).paths);
        self.paths.set_path(
            key.host_id(),
            Path { base_rtt, max_rtt: base_rtt.saturating_add(queues), paths, ..given },
        );
    }

    /// Extra time of a full packet over a handshake on this host's link and on the slowest of the path.
    fn longer_on_the_wire(&self, bottleneck: Rate) -> Time {
        let bytes =
            u64::from(self.sizes.full_wire()).saturating_sub(handshake_wire_at(self.local.ip()).into());
        // Stored and forwarded twice: once at this host's link, and once at the slowest of the path.
        self.config.rate().time_of(bytes) + bottleneck.time_of(bytes)
    }
}
