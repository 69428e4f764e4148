//! Datagrams with packets: the ones that reach the machine, and the messages that come of them.
//!
//! Machines believe a packet's statements about its message and keep tables as large as that asks for. Everything
//! is therefore bounded here, before the machine sees it: a message has a size that is allowed and paid for,
//! and every packet of it says the same and lies within it.

use super::clock::LATE;
use super::outgoing::{CALL_HEADER, NUMBERS_AHEAD, parse_call};
use super::peers::{Deadline, PeerKey, Phase};
use super::{Arrived, Charges, Core, CoreEvent, Count, MessageEventKind, Purpose, SELF, TIDY};
use crate::budget::{MESSAGE_COST, PACKET_COST};
use crate::buffers::{Buffer, Buffers, is_kept};
use crate::stream::Sink;
use bytes::Bytes;
use headway_packet::session::{SESSION_HEADER, Session};
use headway_packet::{
    Ecn, HostId, Packet, PacketFlags, PacketKind, PacketView, Stamps, WIRE_FRONT, covered_front,
};
use headway_transport::Endpoint;
use headway_units::Time;
use std::net::SocketAddr;

/// Longest validity of a permission that a packet may name.
const LONGEST: Time = Time::s(100);

/// A message being received.
pub(super) struct Incoming {
    bytes: u64,
    call: bool,
    data: Data,
    charges: Charges,
}

impl Incoming {
    pub(super) fn message_bytes(&self) -> u64 {
        self.bytes
    }
}

/// Place of a received message's bytes.
enum Data {
    /// None have arrived.
    Announced,
    /// A buffer in memory.
    Buffer(Buffer),
    /// A destination of the application.
    Sink(Box<dyn Sink>),
}

impl Data {
    /// Takes bytes of a message of so many.
    fn write_payload(&mut self, buffers: &Buffers, whole: u64, offset: u64, payload: &[u8]) {
        if matches!(self, Data::Announced) {
            // Memory is taken with the first data: an announcement is charged for it, but costs none.
            *self = Data::Buffer(buffers.take_buffer(whole as usize));
        }
        match self {
            Data::Buffer(buffer) => {
                let start = offset as usize;
                // `check_incoming` has compared the payload with index and length, so this always fits.
                if let Some(room) = buffer.spare_bytes().get_mut(start..start + payload.len()) {
                    room.copy_from_slice(payload);
                }
            }
            Data::Sink(sink) => sink.write(offset, payload),
            Data::Announced => {}
        }
    }
}

/// The packet that the machine is being given, and its payload.
pub(super) struct Arriving<'a> {
    packet: Packet,
    payload: &'a [u8],
    /// Stamps of ports, if the packet can have any.
    stamps: Option<Stamps>,
}

impl Core {
    /// Handles a datagram that should be a packet.
    pub(super) fn receive_packet(
        &mut self,
        now: Time,
        (local, from): (u8, SocketAddr),
        ecn: Ecn,
        datagram: &mut [u8],
    ) {
        let length = datagram.len() as u64;
        let parsed = match PacketView::parse(datagram) {
            Ok(view) => view
                .session_fields()
                .map(|session| (view.to_packet(), session, view.envelope(), view.port_stamps())),
            Err(_) => None,
        };
        let Some((packet, session, envelope, stamps)) = parsed else {
            return self.counters.one(Count::dropped_malformed);
        };
        // Counted as forged rather than malformed: a key is set at one end only, or somebody sends without it.
        if envelope.is_sealed() != self.envelope.is_sealed() {
            return self.counters.one(Count::dropped_forged);
        }
        if envelope != self.envelope {
            return self.counters.one(Count::dropped_malformed);
        }
        let returned = packet.kind == PacketKind::Header && packet.flags.has_all(PacketFlags::BOUNCED);
        let genuine = match returned {
            true => self.recognise_returned(from, &session, datagram),
            false => self.authenticate_packet(now, from, &session, packet.kind, datagram),
        };
        match genuine {
            Ok((key, payload)) => {
                let by = self.arrived_by(key, local, from, length);
                self.accept_packet(now, key, Arriving { packet, payload, stamps }, (ecn, by));
            }
            Err(reason) => {
                self.counters.one(reason);
                if reason == Count::dropped_cookie {
                    self.answer_stale(now, from, session.src_epoch, session.cookie);
                }
            }
        }
    }

    /// Sender and payload of a datagram, if it comes from an incarnation that has been met, and is new.
    fn authenticate_packet<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        session: &Session,
        kind: PacketKind,
        datagram: &'a mut [u8],
    ) -> Result<(PeerKey, &'a [u8]), Count> {
        // The cookie is compared before the seal is opened: a host off the path does not know it, and must not
        // cost a decryption.
        let Some(key) = self.peers.find_sender(from, session.cookie) else {
            // A peer that shows the right cookie, from where it has not said to be, has not restarted.
            let strays = self.peers.find_cookie(session.cookie).is_some();
            return Err(if strays { Count::dropped_unknown_epoch } else { Count::dropped_cookie });
        };
        let peer = self.peers.get_mut(key).ok_or(Count::dropped_cookie)?;
        let meeting = &peer.meeting;
        if session.cookie != meeting.expected {
            return Err(Count::dropped_cookie);
        }
        if session.src_epoch != meeting.peer_epoch || peer.phase == Phase::Hello {
            return Err(Count::dropped_unknown_epoch);
        }
        let (front, rest) = datagram.split_first_chunk_mut::<WIRE_FRONT>().ok_or(Count::dropped_malformed)?;
        let rest = rest.get_mut(self.envelope.stamp_bytes()..).ok_or(Count::dropped_malformed)?;
        let payload: &[u8] = match &mut peer.generations {
            // The peer has this endpoint's half of the exchange, and its own is on its way.
            // An exchange has not ended, so no keys exist that could open it.
            None if self.envelope.is_sealed() => return Err(Count::dropped_unknown_epoch),
            None if !peer.replay.is_new(session.counter) => return Err(Count::dropped_replayed),
            None => {
                peer.replay.insert(session.counter);
                rest
            }
            Some(generations) => {
                let (generation, number) = generations.opening_keys(session.counter)?;
                let seals = &generation.seals;
                let payload = if kind == PacketKind::Header {
                    // A switch has cut the payload off, and its seal.
                    seals.headers.is_genuine(false, front, rest).then_some(&[][..])
                } else {
                    let check =
                        self.envelope.bytes_before(kind) - self.envelope.stamp_bytes() - SESSION_HEADER;
                    let sealed = rest.get_mut(check..).ok_or(Count::dropped_malformed)?;
                    seals.open_payload(session.counter, &covered_front(front), sealed)
                };
                let payload = payload.ok_or(Count::dropped_forged)?;
                // Only after the seal was opened: a forged number must not shut the genuine datagram out.
                generation.replay.insert(number);
                if let Some(at) = generations.note_opened(now, session.counter, &self.config.renewal) {
                    self.counters.one(Count::keys_renewed);
                    self.timers.arm_deadline(at, (key, Deadline::Retire));
                }
                payload
            }
        };
        // Genuine data counts as a sign of life, whatever the transport makes of it.
        peer.heard = now;
        if peer.phase == Phase::Confirm {
            // The peer sends data: it has accepted.
            peer.phase = Phase::Met;
            self.ready.push(key);
        }
        Ok((key, payload))
    }

    /// Checks that a header that a switch returned is of a datagram that was sent from here to this peer, and comes
    /// back for the first time.
    fn recognise_returned<'a>(
        &mut self,
        from: SocketAddr,
        session: &Session,
        datagram: &'a [u8],
    ) -> Result<(PeerKey, &'a [u8]), Count> {
        // The cookie in a returned header is the peer's, not this endpoint's, so the address has to find the
        // peer.
        let key =
            self.peers.find_address(from).or_else(|| self.peers.of_path(from)).ok_or(Count::dropped_late)?;
        let peer = self.peers.get_mut(key).ok_or(Count::dropped_late)?;
        let meeting = &peer.meeting;
        if (session.src_epoch, session.cookie) != (meeting.local_epoch, meeting.shown) {
            return Err(Count::dropped_late);
        }
        let (front, rest) = datagram.split_first_chunk::<WIRE_FRONT>().ok_or(Count::dropped_malformed)?;
        let check = rest.get(self.envelope.stamp_bytes()..).ok_or(Count::dropped_malformed)?;
        match &mut peer.generations {
            // This number has not been sent yet, so no switch can have returned it.
            None if session.counter >= peer.counter => return Err(Count::dropped_forged),
            None if !peer.returned.is_new(session.counter) => return Err(Count::dropped_replayed),
            None => peer.returned.insert(session.counter),
            Some(generations) => {
                let (generation, number) = generations.returning_keys(session.counter)?;
                if !generation.seals.headers.is_genuine(true, front, check) {
                    return Err(Count::dropped_forged);
                }
                generation.returned.insert(number);
            }
        }
        Ok((key, &[]))
    }

    /// Notes by which of several paths a packet came; its number, where there are several.
    fn arrived_by(&mut self, key: PeerKey, local: u8, from: SocketAddr, bytes: u64) -> Option<u32> {
        let paths = self.peers.get_mut(key)?.paths.as_mut()?;
        let number = paths.number_of(local, from);
        if let Some(slot) = number.and_then(|number| paths.slots.get_mut(number)) {
            slot.counts.packets_received += 1;
            slot.counts.bytes_received += bytes;
        }
        (paths.slots.len() > 1).then_some(number.unwrap_or(0) as u32)
    }

    /// Gives a genuine packet to the machine, unless it says what cannot be.
    fn accept_packet(
        &mut self,
        now: Time,
        key: PeerKey,
        arriving: Arriving<'_>,
        (ecn, by): (Ecn, Option<u32>),
    ) {
        let Arriving { mut packet, payload, stamps } = arriving;
        // A mark means something on data alone: an answer may have travelled with the byte of the data before it.
        let ecn = if packet.is_data() || packet.kind == PacketKind::Header { ecn } else { Ecn::NotEct };
        // Addresses in the header are words for other programs to read; the machine knows peers by their place
        // in the table.
        (packet.src, packet.dst, packet.ecn) = (key.host_id(), SELF, ecn);
        // Each end numbers paths for itself.
        packet.entropy = by.unwrap_or(packet.entropy);
        let call = packet.flags.has_all(PacketFlags::CALL);
        // Machines do not know the flag, which is between the two endpoints.
        packet.flags = PacketFlags(packet.flags.0 & !PacketFlags::CALL.0);
        // Elsewhere, in grants too, it is a time that is echoed.
        if packet.kind == PacketKind::Token && packet.lifetime != Time::MAX {
            // If packets travel in batches, a frame time may be shorter than it takes a thread to act on one.
            let late = if self.nic.turn_time() > Time::ZERO { LATE } else { Time::ZERO };
            // Bounded before the sum, which would overflow for a lifetime that a peer made up.
            packet.lifetime = packet.lifetime.min(LONGEST) + late;
        }
        // No port gives a rate of nothing, nor has one.
        let possible = (!packet.flags.has_all(PacketFlags::RATE) || packet.token > 0)
            && stamps.is_some() == self.envelope.is_stamped();
        let returned = packet.flags.has_all(PacketFlags::BOUNCED);
        let checked = match packet.kind {
            _ if !possible => Err(Count::dropped_inconsistent),
            PacketKind::Header if !returned => self.check_incoming(now, key, &packet, call),
            PacketKind::Data | PacketKind::Rts | PacketKind::Probe => {
                self.check_incoming(now, key, &packet, call)
            }
            // Both come from the sender, as data does, but neither begins a message: see `check_known`.
            PacketKind::Busy | PacketKind::CreditStop => self.check_known(key, &packet).map(|()| false),
            _ => self.check_answer(key, &packet).map(|()| false),
        };
        let opened = match checked {
            Ok(opened) => opened,
            Err(reason) => return self.counters.one(reason),
        };
        self.counters.one(Count::packets_accepted);
        if packet.is_data() && matches!(ecn, Ecn::Spare | Ecn::Ce) {
            self.counters.one(Count::marks_received);
            if let Some(peer) = self.peers.get(key) {
                let address = peer.address;
                self.note_event(now, address, packet.message, MessageEventKind::Marked);
            }
        }
        if packet.kind == PacketKind::Ack {
            // Before the machine takes it: with the last acknowledgement the machine ends the message, and its
            // watch is gone.
            self.note_acknowledgement(now, key, &packet);
        }
        // Compared before and after, because a machine does not say whether it has taken a new message.
        let live = self.machine.live_messages();
        let told = self.clock.input_time(now);
        match &stamps {
            None => self.machine.receive_packet(told, &packet),
            Some(stamps) => self.machine.receive_stamped(told, &packet, stamps),
        }
        // An idle machine is ready to send from this input on, however late the thread pulls.
        self.nic.note_input(now);
        let kept = self.machine.live_messages() > live;
        self.drain_events(now, Some(&Arriving { packet, payload, stamps }));
        if opened && !kept {
            // The machine has refused it, or it is complete already.
            self.drop_incoming(key, packet.message);
        }
    }

    /// Checks that a packet about a message from a peer is possible and paid for; `true` if the message is new.
    fn check_incoming(
        &mut self,
        now: Time,
        key: PeerKey,
        packet: &Packet,
        call: bool,
    ) -> Result<bool, Count> {
        let name = (key.host_id(), packet.message);
        let packets = self.sizes.packets_of(packet.message_bytes);
        let fits = |count: u32| u64::from(count) <= packets;
        let data = packet.is_data();
        if data && self.sizes.payload_of(packet.message_bytes, packet.index.into()) != packet.payload {
            return Err(Count::dropped_inconsistent);
        }
        if packet.message_bytes > self.memory_limits().message_bytes {
            return Err(Count::dropped_oversized);
        }
        let within = fits(packet.count) && u64::from(packet.index) < packets;
        if !within || (call && data && packet.message_bytes < CALL_HEADER as u64) {
            return Err(Count::dropped_inconsistent);
        }
        // Late copies still go to the machine, which may have to acknowledge them again; they are not paid for.
        if self.finished.contains(name.0, name.1) {
            return Ok(false);
        }
        if let Some(incoming) = self.incoming.get_mut(&name) {
            // An announcement does not say whether its message is a call: the first data packet does.
            let announced = matches!(incoming.data, Data::Announced);
            let same =
                incoming.bytes == packet.message_bytes && (!data || announced || incoming.call == call);
            if data && announced {
                incoming.call = call;
            }
            return if same { Ok(false) } else { Err(Count::dropped_inconsistent) };
        }
        self.charge_message(now, key, packet, call).map(|()| true)
    }

    /// Checks that a message from a peer is known: other packets about it must not create state.
    fn check_known(&self, key: PeerKey, packet: &Packet) -> Result<(), Count> {
        let name = (key.host_id(), packet.message);
        let known = self.incoming.contains_key(&name) || self.finished.contains(name.0, name.1);
        if known { Ok(()) } else { Err(Count::dropped_late) }
    }

    /// Takes the memory for a message heard of for the first time.
    fn charge_message(&mut self, now: Time, key: PeerKey, packet: &Packet, call: bool) -> Result<(), Count> {
        // Numbers above the watermark are kept one by one (`FinishedMessages`), so a peer may not spread them
        // out.
        let ahead = packet.message.checked_sub(self.finished.finished_below(key.host_id()));
        if ahead.is_none_or(|ahead| ahead >= NUMBERS_AHEAD) {
            return Err(Count::dropped_too_many);
        }
        let most = self.memory_limits().peer_messages;
        let peer = self.peers.get_mut(key).ok_or(Count::dropped_late)?;
        if peer.incoming >= most {
            return Err(Count::dropped_too_many);
        }
        let sinks = self.config.sinks.as_ref();
        let sink = sinks.and_then(|of| of(peer.address, packet.message, packet.message_bytes));
        // A reply is matched by the front of its bytes, which a sink would have taken.
        if sink.is_some() && call {
            return Err(Count::dropped_inconsistent);
        }
        // The whole length is charged at once: a message that begins must not run out of memory halfway.
        let held = if sink.is_some() { 0 } else { packet.message_bytes };
        let cost = held + MESSAGE_COST + PACKET_COST * u64::from(packet.count);
        let total = self.memory.try_charge(cost).ok_or(Count::dropped_no_memory)?;
        // If this fails, `total` is dropped and gives its bytes back.
        let own = peer.memory.try_charge(cost).ok_or(Count::dropped_no_memory)?;
        peer.incoming += 1;
        let charges = Charges([total, own]);
        let data = sink.map_or(Data::Announced, Data::Sink);
        let incoming = Incoming { bytes: packet.message_bytes, call, data, charges };
        self.incoming.insert((key.host_id(), packet.message), incoming);
        self.watch_silence(now, key);
        Ok(())
    }

    /// Checks that a packet about a message to a peer is possible.
    fn check_answer(&self, key: PeerKey, packet: &Packet) -> Result<(), Count> {
        let peer = self.peers.get(key).ok_or(Count::dropped_late)?;
        let place = peer.open.get(&packet.message).ok_or(Count::dropped_late)?;
        let bytes = self.outgoing.get(*place).map_or(0, super::outgoing::Outgoing::message_bytes);
        let packets = self.sizes.packets_of(bytes);
        let end = u64::from(packet.index) + u64::from(packet.count.max(1));
        let possible = match packet.kind {
            // They name no packet.
            PacketKind::Finished | PacketKind::Credit => true,
            // It came back: what else it says is of the data packet that it was.
            PacketKind::Header => u64::from(packet.index) < packets,
            // They name a packet, and say below which one everything has arrived.
            PacketKind::Ack | PacketKind::Nack => {
                u64::from(packet.index) < packets && u64::from(packet.count) <= packets
            }
            // It names a packet that arrived or is wanted, and permits that one or others, perhaps two.
            PacketKind::Grant => {
                u64::from(packet.index) < packets && u64::from(packet.count) <= packets.max(2)
            }
            _ => end <= packets,
        };
        if possible { Ok(()) } else { Err(Count::dropped_inconsistent) }
    }

    /// Bytes of a message are here for the first time.
    pub(super) fn store_payload(
        &mut self,
        now: Time,
        name: (HostId, u32),
        bytes: u32,
        current: Option<&Arriving<'_>>,
    ) {
        let Some(incoming) = self.incoming.get_mut(&name) else { return };
        let arriving = current.filter(|a| (a.packet.src, a.packet.message) == name);
        if let Some(Arriving { packet, payload, .. }) = arriving {
            // All packets but the last are full, so the index alone says where the payload belongs.
            let offset = u64::from(packet.index) * u64::from(self.sizes.payload);
            incoming.data.write_payload(&self.buffers, incoming.bytes, offset, payload);
            if self.tidy_at.is_none() && is_kept(incoming.bytes as usize) {
                self.tidy_at = Some(now.saturating_add(TIDY));
            }
        }
        if let Some(peer) = self.peers.of_host(name.0) {
            let address = peer.address;
            self.note_event(now, address, name.1, MessageEventKind::Delivered { bytes });
        }
    }

    /// A message is complete.
    pub(super) fn complete_message(&mut self, now: Time, src: HostId, number: u32) {
        let Some(incoming) = self.incoming.remove(&(src, number)) else { return };
        // Before anything can fail below: a copy of a malformed call must not open the message again.
        self.finished.insert(src, number);
        let Some(peer) = self.peers.of_host(src) else { return };
        peer.incoming -= 1;
        let (address, peer_epoch) = (peer.address, peer.meeting.peer_epoch);
        self.counters.one(Count::messages_received);
        self.note_event(now, address, number, MessageEventKind::Completed { bytes: incoming.bytes });
        let whole = match incoming.data {
            Data::Buffer(buffer) => buffer.into_bytes(),
            Data::Announced | Data::Sink(_) => Bytes::new(),
        };
        let parsed = if incoming.call { parse_call(&whole) } else { Some((Purpose::Plain, whole)) };
        let Some((purpose, bytes)) = parsed else { return self.counters.one(Count::dropped_malformed) };
        self.events.push_back(CoreEvent::Arrived(Arrived {
            peer: address,
            peer_epoch,
            message: number,
            purpose,
            bytes,
            at: now,
            charges: incoming.charges,
        }));
    }

    /// Gives back the charge of a message that the machine did not take.
    fn drop_incoming(&mut self, key: PeerKey, number: u32) {
        if self.incoming.remove(&(key.host_id(), number)).is_some()
            && let Some(peer) = self.peers.get_mut(key)
        {
            peer.incoming -= 1;
        }
    }
}
