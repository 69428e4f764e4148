//! Messages being sent: from the application to the machine, and packets of them to datagrams.

use super::peers::{PeerKey, Phase};
use super::watch::Watch;
use super::{
    Command, Core, CoreEvent, Count, MessageEventKind, Purpose, Reservation, SendError, SendOptions, Transmit,
};
use super::{machine_message, tos};
use crate::address::{address_word, is_of_family};
use crate::budget::{Budget, Charge, MESSAGE_COST};
use crate::stream::Body;
use bytes::Bytes;
use headway_packet::session::Session;
use headway_packet::{HostId, Packet, PacketFlags, SEAL_TAG, Stamps, WIRE_FRONT};
use headway_transport::Endpoint;
use headway_units::Time;
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes at the front of a request or a reply: its kind, and its number.
pub(super) const CALL_HEADER: usize = 9;

/// Distance by which the numbers of a peer's messages may run ahead of the first that is not over.
pub(super) const NUMBERS_AHEAD: u32 = 1 << 13;

/// A message being sent.
pub(super) struct Outgoing {
    ticket: u64,
    peer: PeerKey,
    call: bool,
    /// The front of the message, where it is a request or a reply.
    header: [u8; CALL_HEADER],
    body: Body,
    options: SendOptions,
    only_epoch: Option<u64>,
    /// Its number, once the machine has it.
    number: Option<u32>,
    pub(super) watch: Watch,
    /// Packets of it that have not left.
    unsent: u64,
    /// True if others wait until all of them have left.
    pub(super) turn: bool,
    /// Its application has been told that it failed, and the machine does not know.
    over: bool,
    reserved: Option<Reservation>,
    charge: Option<Charge>,
}

impl Outgoing {
    pub(super) fn peer_key(&self) -> PeerKey {
        self.peer
    }

    pub(super) fn message_bytes(&self) -> u64 {
        let header = if self.call { CALL_HEADER } else { 0 };
        header as u64 + self.body.bytes()
    }

    /// True if its application waits for its end.
    pub(super) fn is_awaited(&self) -> bool {
        self.options.responsive && !self.over
    }

    /// True if it is over for its application, while the machine still has it.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// True if a packet is one of this message. A machine may still have one of a message that is over, whose
    /// place another has by now.
    fn has_packet(&self, peer: PeerKey, packet: &Packet) -> bool {
        !self.over && self.peer == peer && self.number == Some(packet.message)
    }

    /// Copies bytes of the message from `offset` on.
    fn copy_bytes(&self, offset: u64, to: &mut [u8]) {
        let header = if self.call { &self.header[..] } else { &[] };
        // Beyond the header `get` fails and the front is empty: all bytes come from the body.
        let front = header.get(offset as usize..).unwrap_or_default();
        let front = &front[..front.len().min(to.len())];
        let (head, rest) = to.split_at_mut(front.len());
        head.copy_from_slice(front);
        // Offsets count from the front of the message, and the body begins behind its header.
        let start = (offset + front.len() as u64).saturating_sub(header.len() as u64);
        self.body.copy_bytes(start, rest);
    }
}

/// The front of a message with this purpose.
fn call_header(purpose: Purpose) -> (bool, [u8; CALL_HEADER]) {
    let (kind, number) = match purpose {
        Purpose::Plain => return (false, [0; CALL_HEADER]),
        Purpose::Request(number) => (1, number),
        Purpose::Reply(number) => (2, number),
    };
    let mut header = [kind; CALL_HEADER];
    header[1..].copy_from_slice(&number.to_be_bytes());
    (true, header)
}

/// The purpose of a call's message and its body; `None` when its front is none.
pub(super) fn parse_call(bytes: &Bytes) -> Option<(Purpose, Bytes)> {
    let (front, _) = bytes.split_first_chunk::<CALL_HEADER>()?;
    let (kind, number) = front.split_first()?;
    let number = u64::from_be_bytes(number.try_into().ok()?);
    let purpose = match kind {
        1 => Purpose::Request(number),
        2 => Purpose::Reply(number),
        _ => return None,
    };
    Some((purpose, bytes.slice(CALL_HEADER..)))
}

impl Core {
    /// A message to send.
    pub fn send(&mut self, now: Time, command: Command) {
        let ticket = command.ticket;
        if let Err(error) = self.submit_message(now, command) {
            self.counters.one(Count::messages_failed);
            self.events.push_back(CoreEvent::Sent { ticket, at: now, outcome: Err(error) });
        }
        self.admit_ready(now);
    }

    fn submit_message(&mut self, now: Time, command: Command) -> Result<(), SendError> {
        if !is_of_family(command.peer.ip(), self.local.ip()) {
            return Err(SendError::OtherFamily);
        }
        // Before a place in the table is taken, which might evict another peer.
        if !self.config.admission.admits(command.peer.ip()) || command.peer.port() == 0 {
            return Err(SendError::NotAdmitted);
        }
        let (call, header) = call_header(command.purpose);
        let out = Outgoing {
            ticket: command.ticket,
            peer: self.peer_for(now, command.peer, command.only_epoch)?,
            call,
            header,
            body: command.body,
            options: command.options,
            only_epoch: command.only_epoch,
            number: None,
            watch: Watch::new(now),
            unsent: 0,
            turn: false,
            over: false,
            reserved: Some(command.charge),
            charge: None,
        };
        let (bytes, limit) = (out.message_bytes(), self.memory_limits().message_bytes);
        if bytes > limit {
            return Err(SendError::TooLong { bytes, limit });
        }
        let key = out.peer;
        // Inserted before it is charged, because `charge` works on the place; both failures below take it out
        // again.
        let place = self.outgoing.insert(out);
        let Some(peer) = self.peers.get_mut(key) else { return Err(SendError::TooManyPeers) };
        let memory = Arc::clone(&peer.memory);
        // The silence until now was not the peer's fault: nothing had been asked of it.
        if !peer.is_busy() {
            peer.heard = peer.heard.max(now);
        }
        if !self.charge_peer(place, &memory) {
            self.outgoing.remove(place);
            return Err(SendError::Full { scope: "to this peer" });
        }
        let Some(peer) = self.peers.get_mut(key) else { return Err(SendError::TooManyPeers) };
        peer.waiting.push_back(place);
        match peer.phase {
            Phase::Met => self.ready.push(key),
            // Otherwise a handshake is under way already, and its deadline repeats it.
            Phase::Hello | Phase::Confirm if peer.attempts == 0 => self.send_greeting(now, key),
            Phase::Hello | Phase::Confirm => {}
        }
        self.watch_silence(now, key);
        Ok(())
    }

    fn peer_for(&mut self, now: Time, to: SocketAddr, only: Option<u64>) -> Result<PeerKey, SendError> {
        let known = self.peers.find_address(to);
        if let Some(epoch) = only {
            let peer = known.and_then(|key| self.peers.get(key));
            let same = peer.filter(|peer| peer.meeting.peer_epoch == epoch);
            // A reply never opens a place: the incarnation that asked is gone with its place.
            return same.map(|peer| peer.key).ok_or(SendError::PeerRestarted);
        }
        known.or_else(|| self.add_peer(now, to)).ok_or(SendError::TooManyPeers)
    }

    /// Charges a message to its peer's share; returns true if that had room.
    fn charge_peer(&mut self, place: usize, memory: &Arc<Budget>) -> bool {
        let Some(out) = self.outgoing.get_mut(place) else { return false };
        let header = out.message_bytes() - out.body.bytes();
        out.charge = memory.try_charge(header + out.body.held_bytes() + MESSAGE_COST);
        out.charge.is_some()
    }

    /// Moves a message that waited to its peer's new incarnation.
    pub(super) fn move_to_incarnation(
        &mut self,
        now: Time,
        place: usize,
        key: PeerKey,
        memory: &Arc<Budget>,
    ) {
        let Some(out) = self.outgoing.get_mut(place) else { return };
        out.peer = key;
        let failure = if out.only_epoch.is_some() {
            Some(SendError::PeerRestarted)
        } else if !self.charge_peer(place, memory) {
            Some(SendError::Full { scope: "to this peer" })
        } else {
            None
        };
        if let Some(error) = failure {
            if let Some(peer) = self.peers.get_mut(key) {
                // Before `discard_message`, so that a free place of the slab is not left in the queue.
                peer.waiting.retain(|&other| other != place);
            }
            self.discard_message(now, place, error);
        }
    }

    /// Gives the machine as many of the waiting messages as it may take.
    pub(super) fn admit_ready(&mut self, now: Time) {
        while let Some(key) = self.ready.pop() {
            while let Some(place) = self.next_to_open(key) {
                self.open_message(now, key, place);
            }
        }
    }

    fn next_to_open(&mut self, key: PeerKey) -> Option<usize> {
        let most = self.config.limits.peer_messages as usize;
        let peer = self.peers.get_mut(key)?;
        let first = peer.open.first_key_value().map_or(peer.next_message, |(&number, _)| number);
        // The receiver drops messages that are further ahead than this of the first that is not finished there.
        let in_window = peer.next_message - first < NUMBERS_AHEAD;
        let may = peer.phase == Phase::Met && peer.open.len() < most && in_window;
        if !may {
            return None;
        }
        let place = self.whose_turn(key, most)?;
        self.peers.get_mut(key)?.waiting.remove(place)
    }

    fn open_message(&mut self, now: Time, key: PeerKey, place: usize) {
        self.take_turn(now, key, place);
        let (Some(peer), Some(out)) = (self.peers.get_mut(key), self.outgoing.get_mut(place)) else { return };
        let number = peer.next_message;
        peer.next_message += 1;
        peer.open.insert(number, place);
        out.number = Some(number);
        // Its time without progress begins now, not when the application sent it.
        out.watch = Watch::new(now);
        out.unsent = self.sizes.packets_of(out.message_bytes());
        // An odd step that visits every value; the paths that hashes choose differ from message to message.
        self.entropy = self.entropy.wrapping_add(0x9e37_79b1);
        let several = peer.paths.as_mut().filter(|paths| paths.slots.len() > 1);
        let own = several.map_or(self.entropy, |paths| paths.next_path());
        let entropy = out.options.entropy.unwrap_or(own);
        let opened =
            machine_message(number, key.host_id(), out.message_bytes(), &out.options, entropy, place as u32);
        let (address, what) =
            (peer.address, MessageEventKind::Opened { ticket: out.ticket, bytes: out.message_bytes() });
        self.note_event(now, address, number, what);
        // A message is the occasion for another measurement; an endpoint without messages measures nothing.
        self.send_probe(now, key);
        self.machine.open_message(self.clock.input_time(now), &opened);
        // After the machine has it: only messages that are open have a deadline for progress.
        self.watch_progress(now, key);
        self.nic.note_input(now);
        self.drain_events(now, None);
    }

    /// Ends a message that the machine is done with.
    pub(super) fn end_message(&mut self, now: Time, tag: u32, outcome: Result<(), SendError>) {
        // First, because it reads the entry that is removed next.
        self.end_turn(tag as usize);
        let Some(out) = self.outgoing.try_remove(tag as usize) else { return };
        let Some(peer) = self.peers.get_mut(out.peer) else { return };
        let number = out.number.unwrap_or_default();
        // A message that is over for its application keeps its number until here, so late packets cannot be
        // taken for another message's.
        peer.open.remove(&number);
        if !peer.waiting.is_empty() {
            self.ready.push(peer.key);
        }
        if out.over {
            return;
        }
        let (address, ticket) = (peer.address, out.ticket);
        let (count, what) = match outcome {
            Ok(()) => (Count::messages_sent, MessageEventKind::Acknowledged { ticket }),
            Err(_) => (Count::messages_failed, MessageEventKind::Failed { ticket }),
        };
        self.counters.one(count);
        self.note_event(now, address, number, what);
        self.events.push_back(CoreEvent::Sent { ticket, at: now, outcome });
    }

    /// Fails a message that the machine keeps, because a machine fails all messages to a peer or none. None of its
    /// packets leaves any more.
    pub(super) fn give_up(&mut self, now: Time, place: usize, error: SendError) {
        self.end_turn(place);
        let Some(out) = self.outgoing.get_mut(place) else { return };
        out.over = true;
        // Its memory goes now; the entry stays until the machine ends the message.
        (out.body, out.reserved, out.charge) = (Body::Whole(Bytes::new()), None, None);
        let (ticket, number) = (out.ticket, out.number.unwrap_or_default());
        let address = self.peers.get(out.peer).map(|peer| peer.address);
        self.counters.one(Count::messages_failed);
        if let Some(address) = address {
            self.note_event(now, address, number, MessageEventKind::Failed { ticket });
        }
        self.events.push_back(CoreEvent::Sent { ticket, at: now, outcome: Err(error) });
    }

    /// Fails a message that the machine never had.
    pub(super) fn discard_message(&mut self, now: Time, place: usize, error: SendError) {
        if let Some(out) = self.outgoing.try_remove(place) {
            self.counters.one(Count::messages_failed);
            self.events.push_back(CoreEvent::Sent { ticket: out.ticket, at: now, outcome: Err(error) });
        }
    }

    /// Writes the datagram of a packet that the machine has made, with the stamps that it takes along.
    pub(super) fn write_datagram(
        &mut self,
        now: Time,
        packet: &Packet,
        echo: &Stamps,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let peer = self.peers.of_host(packet.dst).filter(|peer| peer.phase == Phase::Met)?;
        let key = peer.key;
        let out = match packet.is_data() {
            true => {
                Some(self.outgoing.get_mut(packet.tag as usize).filter(|out| out.has_packet(key, packet))?)
            }
            false => None,
        };
        let sealed = self.envelope.is_sealed();
        let counter = match &mut peer.generations {
            // A number is used up even if the packet cannot be written below: a skipped nonce does no harm.
            Some(generations) => generations.next_number(now, &self.config.renewal)?,
            // Nothing leaves in the clear where it is to be sealed.
            None if sealed => return None,
            None => {
                peer.counter += 1;
                peer.counter - 1
            }
        };
        let mut packet = *packet;
        packet.src = HostId(address_word(self.local.ip()));
        packet.dst = HostId(address_word(peer.address.ip()));
        let meeting = &peer.meeting;
        let session = Session { src_epoch: meeting.local_epoch, cookie: meeting.shown, counter };
        let out = out.map(|out| {
            if out.watch.note_sent(now, packet.index) {
                peer.progressed = now;
                out.unsent = out.unsent.saturating_sub(1);
            }
            if out.call {
                packet.flags = packet.flags.with(PacketFlags::CALL);
            }
            &*out
        });
        let front = packet.emit_session(&session, self.envelope, echo, buffer).ok()?;
        let (header, rest) = buffer.split_at_mut(front);
        let (covered, rest_of_front) = header.split_first_chunk_mut::<WIRE_FRONT>()?;
        let check = rest_of_front.get_mut(self.envelope.stamp_bytes()..)?;
        let payload = rest.get_mut(..usize::from(packet.payload))?;
        if let Some(out) = out {
            out.copy_bytes(u64::from(packet.index) * u64::from(self.sizes.payload), payload);
        }
        let mut length = front + payload.len();
        if let Some(generations) = &peer.generations {
            let seals = generations.sealing_keys(counter)?;
            if packet.is_data() {
                check.copy_from_slice(&seals.headers.make_check(covered));
            }
            // After the flags and the check are written: the seal covers all that switches may not change.
            let tag =
                seals.seal_payload(session.counter, &headway_packet::covered_front(covered), payload)?;
            buffer.get_mut(length..length + SEAL_TAG)?.copy_from_slice(&tag);
            length += SEAL_TAG;
        }
        let address = peer.address;
        let slot = peer.paths.as_mut().map(|paths| {
            let number = paths.path_of(packet.entropy);
            &mut paths.slots[number]
        });
        let (local, to) = slot.map_or((self.locals.home_place(), address), |slot| {
            slot.counts.packets_sent += 1;
            slot.counts.bytes_sent += length as u64;
            (slot.local, slot.remote)
        });
        if packet.is_data() {
            let (bytes, again) = (packet.payload.into(), packet.flags.has_all(PacketFlags::AGAIN));
            let what =
                if again { MessageEventKind::Repeated { bytes } } else { MessageEventKind::Sent { bytes } };
            self.note_event(now, address, packet.message, what);
        }
        if packet.is_data() && self.outgoing.get(packet.tag as usize).is_some_and(|out| out.unsent == 0) {
            self.end_turn(packet.tag as usize);
        }
        let tos = tos(packet.priority, packet.ecn);
        Some(Transmit { local, to, tos, length, answer: !packet.is_data() })
    }
}
