//! Core of an endpoint, without socket, clock or thread: datagrams, commands and time go in; datagrams,
//! events and one deadline come out.
//!
//! One transport machine serves all peers. Each (peer, incarnation) has a number of its own in the machine,
//! which is given again only after the machine has forgotten it. Around the machine are the table of peers
//! ([`peers`]), the handshake that fills it ([`handshake`]), the messages being sent ([`outgoing`]) and
//! received ([`incoming`]), and the host's own link ([`crate::nic`]).
//!
//! The contract is that of the machines: after any input, drain the events; pull datagrams whenever
//! [`Core::next_timeout`] says that the wire is free.

mod addresses;
mod clock;
mod handshake;
mod incoming;
mod lengths;
mod outgoing;
mod paths;
mod peers;
mod probing;
mod progress;
mod round_trip;
mod turns;
mod watch;

use crate::address::header_bytes;
use crate::budget::{Budget, Charge};
use crate::buffers::Buffers;
use crate::config::{Config, Limits, MAX_MTU, MIN_MTU, Renewal, RoundTrip};
use crate::counters::{Count, Counters};
use crate::error::{ConfigError, SendError};
use crate::key::PreSharedKey;
use crate::machine::{Machine, PathTable};
use crate::message_event::{MessageEvent, MessageEventKind};
use crate::nic::Nic;
use crate::path_event::PathEvent;
use crate::seal::{Authorities, Secret};
use crate::stream::Body;
use crate::trace;
use addresses::Locals;
pub use addresses::{PathInfo, PathShare};
use bytes::Bytes;
use clock::MachineClock;
use handshake::Answers;
use headway_fabric::PortCounters;
use headway_gauges::{Gauge, RoundTrips};
use headway_packet::paths::is_about_paths;
use headway_packet::session::{HANDSHAKE_BASE, Terms};
use headway_packet::{Ecn, Envelope, HostId, STAMPS_BYTES, Sizes};
use headway_transport::finished::FinishedMessages;
use headway_transport::timers::Timers;
use headway_transport::{Endpoint, EndpointEvent, InitialWindow, Message};
use headway_units::Time;
use incoming::{Arriving, Incoming};
use outgoing::Outgoing;
pub use paths::{PathCounts, PathState};
use peers::Peers;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

/// This host's own number in the machine; peers count from 1.
const SELF: HostId = HostId(0);

/// Messages at a time that are few.
const FEW: usize = 16;
/// Bytes of a small message, at most.
const SMALL: u64 = 16 << 10;

/// Part of the memory for messages that unused buffers may take: one part of so many.
const KEPT: u64 = 8;
/// Time for which unused buffers of messages are kept.
const TIDY: Time = Time::s(1);

/// Identity of an endpoint, beyond its configuration.
pub struct Identity {
    /// Its incarnation: another than any before at the same address.
    pub epoch: u64,
    /// Random, and its own.
    pub secret: Secret,
}

/// Purpose of a message for the applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Nothing but itself.
    Plain,
    /// A request that wants a reply with the same number.
    Request(u64),
    /// The reply to the request with this number.
    Reply(u64),
}

/// Options for sending a message, where the defaults do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOptions {
    /// Packets that are sent before the receiver has answered.
    pub initial_window: InitialWindow,
    /// Class of the application.
    pub class: u16,
    /// `false` models an application that stalls after its first window; such a message is never complete.
    pub responsive: bool,
    /// Number that multipath routing hashes together with the addresses; `None` = a number of the endpoint's choosing.
    pub entropy: Option<u32>,
}

impl Default for SendOptions {
    fn default() -> Self {
        SendOptions { initial_window: InitialWindow::default(), class: 0, responsive: true, entropy: None }
    }
}

/// A message that an application wants sent.
#[derive(Debug)]
pub struct Command {
    /// Names it in [`CoreEvent::Sent`]; the caller's, used once.
    pub ticket: u64,
    /// Address of the receiver.
    pub peer: SocketAddr,
    /// Purpose of the message.
    pub purpose: Purpose,
    /// Bytes of the message.
    pub body: Body,
    /// Options of the message.
    pub options: SendOptions,
    /// The incarnation of the peer that it is meant for; `None` = whichever there is.
    pub only_epoch: Option<u64>,
    /// Its share of the endpoint's memory, from [`Core::reserve`].
    pub charge: Reservation,
}

/// Memory taken for a message.
#[derive(Debug)]
pub struct Reservation(#[allow(dead_code, reason = "held until it is dropped")] Charge);

/// The endpoint's memory for messages, shared with the threads that hand messages to it.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Budget>);

impl Memory {
    /// Memory for a message of `bytes`, if it is there.
    pub fn reserve(&self, bytes: u64) -> Option<Reservation> {
        self.0.try_charge(bytes.saturating_add(crate::budget::MESSAGE_COST)).map(Reservation)
    }

    /// Bytes taken now.
    pub fn used(&self) -> u64 {
        self.0.used_bytes()
    }
}

/// A message that arrived whole.
#[derive(Debug)]
pub struct Arrived {
    /// Address of the sender.
    pub peer: SocketAddr,
    /// The sender's incarnation.
    pub peer_epoch: u64,
    /// Its number among those of its sender to this endpoint.
    pub message: u32,
    /// Purpose of the message.
    pub purpose: Purpose,
    /// Content, as the sending application gave it.
    pub bytes: Bytes,
    /// Arrival of its last byte.
    pub at: Time,
    /// Its memory, given back when this is dropped.
    pub charges: Charges,
}

/// Memory of a received message: of the endpoint, and of its peer's share.
#[derive(Debug)]
pub struct Charges(#[allow(dead_code, reason = "held until they are dropped")] [Charge; 2]);

/// Event for the application.
#[derive(Debug)]
pub enum CoreEvent {
    /// A message arrived.
    Arrived(Arrived),
    /// A message was acknowledged, or was not.
    Sent {
        /// Ticket of the command that sent the message.
        ticket: u64,
        /// Time of the event.
        at: Time,
        /// `Ok` when the peer acknowledged it.
        outcome: Result<(), SendError>,
    },
    /// A peer's incarnation is gone: replies to requests that it acknowledged will not come.
    PeerGone {
        /// Address of the peer.
        peer: SocketAddr,
        /// Error with which its messages fail.
        reason: SendError,
    },
    /// Something happened to a message; only when asked for.
    Message(MessageEvent),
    /// Something happened to a path to a peer.
    Path(PathEvent),
}

/// Measurements of a transport machine since its endpoint's time zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// End of the time that was measured.
    pub at: Time,
    /// Gauges that its machine reports in addition to the common numbers, up to that time.
    pub gauges: Vec<Gauge>,
    /// Round trips from data to its answer; `None` from a machine whose answers do not identify a packet.
    pub round_trips: Option<RoundTrips>,
    /// Base round trips to peers, where they are measured: of full packets, as transports take them for granted now.
    pub base_round_trips: Vec<(SocketAddr, Time)>,
}

/// A datagram to send: the first `length` bytes of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The place of this endpoint's address that it leaves from: 0 is the one that it was bound to, others are those that
    /// [`Core::add_address`] answers.
    pub local: u8,
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Type-of-service byte: see [`tos`].
    pub tos: u8,
    /// Length of the datagram in bytes.
    pub length: usize,
    /// True for a packet without data, on which a mark would mean nothing.
    pub answer: bool,
}

/// The type-of-service byte for a packet: ECN in the two low bits; above them a class selector, CS7 for queue
/// class 0, which is served first, down to CS0 for class 7 and beyond.
pub fn tos(priority: u8, ecn: Ecn) -> u8 {
    // Class selectors (RFC 2474) are the three bits that networks without DSCP rules still read as IP
    // precedence.
    (7 - priority.min(7)) << 5 | ecn as u8
}

/// See the module.
pub struct Core {
    machine: Machine,
    clock: MachineClock,
    paths: PathTable,
    nic: Nic,
    sizes: Sizes,
    /// Fields between the header and the payload of every packet, either way.
    envelope: Envelope,
    local: SocketAddr,
    locals: Locals,
    /// Challenges of paths so far.
    challenges: u64,
    config: Config,
    secret: Secret,
    authorities: Authorities,
    /// Versions that peers must have in common with this endpoint.
    terms: Terms,
    /// This endpoint's incarnation towards peers that it does not know; another one when one is forgotten.
    epoch: u64,
    peers: Peers,
    outgoing: Slab<Outgoing>,
    incoming: FxHashMap<(HostId, u32), Incoming>,
    buffers: Buffers,
    /// Time of the next check that they are still used.
    tidy_at: Option<Time>,
    finished: FinishedMessages,
    timers: Timers<(peers::PeerKey, peers::Deadline)>,
    answers: Answers,
    events: VecDeque<CoreEvent>,
    /// Peers whose transport may take another message.
    ready: Vec<peers::PeerKey>,
    /// Error of the messages that the machine gives up now.
    failing: Option<SendError>,
    /// Peers to which the kernel refused the last datagram.
    unsent: usize,
    memory: Arc<Budget>,
    counters: Arc<Counters>,
    entropy: u32,
}

impl Core {
    /// An endpoint without peers, at the address `local`.
    pub fn new(
        config: &Config,
        local: SocketAddr,
        identity: Identity,
        counters: Arc<Counters>,
    ) -> Result<Core, ConfigError> {
        check_config(config)?;
        if config.other_key.is_some() && !config.admission.seals() {
            return Err(ConfigError::OtherKeyAlone);
        }
        // Keys may come from `Config` and not from a file, which is checked where it is read.
        if config.shared_keys().any(PreSharedKey::is_zero) {
            return Err(ConfigError::ZeroKey);
        }
        let mut config = config.clone();
        let found = headway_transport::registry::find_entry(&config.transport);
        if found.is_some_and(|found| found.capabilities.shared_clock) {
            // Measured round trips differ from host to host, and with them the rounds that hosts have to count together.
            config.round_trip = RoundTrip::Given;
        }
        let config = &config;
        let sizes = config.sizes_at(local.ip());
        let paths = PathTable::new(config.path_over(config.path));
        let (machine, declared) = Machine::new(config, SELF, sizes, &paths)?;
        let nic = Nic::new(config, config.discipline.as_deref().unwrap_or(declared), sizes)?;
        let terms = Terms::new(&config.transport, config.mtu);
        let terms = terms.ok_or_else(|| ConfigError::UnknownTransport(config.transport.clone()))?;
        // Hosts with a key speak another version of the session, so one without it is refused by name.
        let terms = if config.admission.seals() { terms.with_seal() } else { terms };
        Ok(Core {
            machine,
            clock: MachineClock::new(nic.catch_up()),
            paths,
            nic,
            sizes,
            envelope: config.packet_envelope(),
            local,
            locals: Locals::new(local),
            challenges: 0,
            secret: identity.secret,
            authorities: Authorities::new(config.shared_keys(), config.cipher),
            terms,
            epoch: identity.epoch,
            peers: Peers::default(),
            outgoing: Slab::new(),
            incoming: FxHashMap::default(),
            buffers: Buffers::new((config.limits.total_bytes / KEPT) as usize),
            tidy_at: None,
            finished: FinishedMessages::default(),
            timers: Timers::default(),
            answers: Answers::default(),
            events: VecDeque::new(),
            ready: Vec::new(),
            failing: None,
            unsent: 0,
            memory: Budget::new(config.limits.total_bytes),
            counters,
            // A random start: endpoints that bind at the same time would otherwise name the same paths in the
            // same order.
            entropy: identity.epoch as u32,
            config: config.clone(),
        })
    }

    /// The endpoint's memory for messages.
    pub fn memory(&self) -> Memory {
        Memory(Arc::clone(&self.memory))
    }

    /// Bytes of the largest datagram.
    pub fn datagram_bytes(&self) -> usize {
        usize::from(self.config.mtu - header_bytes(self.local.ip()))
    }

    /// Messages that the transport holds state for.
    pub fn live_messages(&self) -> usize {
        self.machine.live_messages()
    }

    /// Peers in the table.
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    /// True if all messages under way, sent and received, are few and small.
    pub(crate) fn is_light(&self) -> bool {
        // Counted first, so that the lengths of no more than `FEW` messages are looked at.
        if self.outgoing.len() + self.incoming.len() > FEW {
            return false;
        }
        let sent = self.outgoing.iter().map(|(_, out)| out.message_bytes());
        sent.chain(self.incoming.values().map(Incoming::message_bytes)).all(|bytes| bytes <= SMALL)
    }

    /// Measurements of the machine until `now`, and the round trips that it saw.
    pub fn measured(&self, now: Time) -> Measured {
        let (gauges, round_trips) = (self.machine.collect_gauges(now), self.machine.round_trips().cloned());
        Measured { at: now, gauges, round_trips, base_round_trips: self.base_round_trips() }
    }

    /// Counters of the host's own link.
    pub fn nic(&self) -> PortCounters {
        self.nic.port_counters()
    }

    /// A datagram arrived from `from`, with these ECN bits in its IP header. Its bytes are opened in place.
    pub fn receive(&mut self, now: Time, from: SocketAddr, ecn: Ecn, datagram: &mut [u8]) {
        self.receive_at(now, (0, from), ecn, datagram);
    }

    /// [`Core::receive`] at the address of this endpoint that has this place.
    pub fn receive_at(&mut self, now: Time, (local, from): (u8, SocketAddr), ecn: Ecn, datagram: &mut [u8]) {
        self.counters.one(Count::datagrams_received);
        self.counters.add(Count::bytes_received, datagram.len() as u64);
        if !self.config.admission.admits(from.ip()) {
            return self.counters.one(Count::dropped_not_admitted);
        }
        // Headers of packets begin below `HANDSHAKE_BASE`, and the kinds about paths follow those of the
        // handshake, so they are asked for first.
        match datagram.first() {
            Some(_) if is_about_paths(datagram) => self.about_paths(now, local, from, datagram),
            Some(&first) if first >= HANDSHAKE_BASE => self.receive_handshake(now, from, datagram),
            _ => self.receive_packet(now, (local, from), ecn, datagram),
        }
        self.admit_ready(now);
    }

    /// The instant of [`Core::next_timeout`] has come. Harmless when early.
    pub fn timeout(&mut self, now: Time) {
        if self.tidy_at.is_some_and(|at| at <= now) {
            // Armed again only while buffers are used, so that an idle endpoint is not woken for it.
            self.tidy_at = self.buffers.clear().then(|| now.saturating_add(TIDY));
        }
        while let Some((at, (key, deadline))) = self.timers.pop_due(now) {
            self.peer_deadline(now, at, key, deadline);
        }
        // Stops at a free wire, where `poll_due` goes on and pulls packets between one deadline and the next.
        while self.machine_deadline(now) && !self.nic.is_free(now) {}
        self.admit_ready(now);
    }

    /// Tells the machine of its first deadline if that has come; returns true if it had.
    fn machine_deadline(&mut self, now: Time) -> bool {
        let Some(at) = self.machine.next_timeout().filter(|&at| at <= now) else { return false };
        let told = self.clock.deadline_time(at, now);
        self.machine.handle_timeout(told);
        // As of the deadline, not of the late wake-up: what it lets go was ready then.
        self.nic.note_input(at);
        self.drain_events(now, None);
        true
    }

    /// Time at which [`Core::timeout`] or [`Core::poll_transmit`] has to be called next.
    pub fn next_timeout(&self) -> Option<Time> {
        // Handshakes leave without regard to the link: they are short, and bounded in number.
        let asap = (!self.answers.is_empty()).then_some(Time::ZERO);
        let own = [asap, self.timers.next(), self.tidy_at];
        own.into_iter().chain([self.machine.next_timeout(), self.nic.next()]).flatten().min()
    }

    /// The next thing the application should know.
    pub fn poll_event(&mut self) -> Option<CoreEvent> {
        self.events.pop_front()
    }

    /// The next datagram, if one may leave now; it is written to `buffer`, which holds
    /// [`Core::datagram_bytes`] at least.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        self.poll_due(now, now, buffer)
    }

    /// [`Core::poll_transmit`], with deadlines of the machine until then, which is not after `now`.
    pub(crate) fn poll_due(&mut self, now: Time, until: Time, buffer: &mut [u8]) -> Option<Transmit> {
        // Before data: their round trip is what transports take for that of the path.
        if let Some((local, to, bytes)) = self.answers.pop() {
            let room = buffer.get_mut(..bytes.len())?;
            room.copy_from_slice(&bytes);
            self.counters.one(Count::datagrams_sent);
            self.counters.add(Count::bytes_sent, bytes.len() as u64);
            let tos = tos(0, Ecn::NotEct);
            return Some(Transmit { local, to, tos, length: bytes.len(), answer: false });
        }
        while self.nic.is_free(now) {
            // Events that were due come before the new request to the machine.
            if !self.clock.is_behind() {
                self.machine_deadline(until);
            }
            let told = self.clock.pull_time(self.nic.free_at(), now);
            let Some(mut packet) = self.machine.poll_transmit(told) else {
                self.nic.machine_idle();
                if self.machine_deadline(until) {
                    continue;
                }
                self.clock.caught_up();
                if !self.ready.is_empty() {
                    // A message has sent everything, and the next one has its turn.
                    self.admit_ready(now);
                    continue;
                }
                return None;
            };
            // Asked for at once, while the echo still belongs to the packet that was just pulled.
            let echo = if self.envelope.is_stamped() { self.machine.poll_echo() } else { None };
            // Charged to the link even if `write_datagram` drops the packet below, as it does for a message that
            // has failed alone.
            self.nic.transmit_packet(now, &mut packet);
            self.drain_events(now, None);
            if let Some(transmit) = self.write_datagram(now, &packet, &echo.unwrap_or_default(), buffer) {
                self.counters.one(Count::datagrams_sent);
                self.counters.add(Count::bytes_sent, transmit.length as u64);
                return Some(transmit);
            }
        }
        None
    }

    /// Takes the events of the machine; `current` is the packet that it has just been given.
    fn drain_events(&mut self, now: Time, current: Option<&Arriving<'_>>) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                EndpointEvent::Delivered { src, message, bytes, .. } => {
                    self.store_payload(now, (src, message), bytes, current);
                }
                EndpointEvent::Completed { src, message, .. } => self.complete_message(now, src, message),
                EndpointEvent::Acknowledged { tag } => self.end_message(now, tag, Ok(())),
                EndpointEvent::Failed { tag, reason } => {
                    // While a peer is dismissed, its machine only knows that it was told to forget; the cause
                    // is known here.
                    let error = self.failing.unwrap_or(SendError::GaveUp(reason));
                    self.end_message(now, tag, Err(error));
                }
            }
        }
    }

    fn note_event(&mut self, at: Time, peer: SocketAddr, message: u32, what: MessageEventKind) {
        // Events are made only if anybody reads them: there are several for each packet.
        if self.config.observer.is_some() || trace::wanted() {
            self.events.push_back(CoreEvent::Message(MessageEvent { at, peer, message, what }));
        }
    }

    fn memory_limits(&self) -> &Limits {
        &self.config.limits
    }
}

fn check_config(config: &Config) -> Result<(), ConfigError> {
    let mtu = u64::from(config.mtu);
    if config.packet_envelope().is_stamped() && mtu < u64::from(MIN_MTU) + STAMPS_BYTES as u64 {
        // 378 = `MIN_MTU` + 122 bytes of stamps.
        let range = "from 378 to 9216 with a transport that needs telemetry";
        return Err(ConfigError::Range { what: "mtu", value: mtu, range });
    }
    if !(u64::from(MIN_MTU)..=u64::from(MAX_MTU)).contains(&mtu) {
        return Err(ConfigError::Range { what: "mtu", value: mtu, range: "from 256 to 9216" });
    }
    let Renewal { datagrams, time, late } = config.renewal;
    for (what, value, range, least, most) in [
        ("renewal.datagrams", datagrams.into(), "from 1 to 2^31", 1, 1 << 31),
        ("renewal.late", late.0, "from 1 us to 1000 s, in picoseconds", Time::us(1).0, Time::s(1000).0),
        ("renewal.time", time.0, "at least `renewal.late`, in picoseconds", late.0, u64::MAX),
    ] {
        if !(least..=most).contains(&value) {
            return Err(ConfigError::Range { what, value, range });
        }
    }
    let largest = config.limits.message_bytes;
    // Packets count in 32 bits on the wire.
    if config.sizes().packets_of(largest) > u64::from(u32::MAX) {
        let range = "at most 2^32 - 1 packets of the MTU";
        return Err(ConfigError::Range { what: "limits.message_bytes", value: largest, range });
    }
    for (what, value) in
        [("limits.peer_messages", config.limits.peer_messages), ("limits.peers", config.limits.peers)]
    {
        if value == 0 || value > 1 << 20 {
            return Err(ConfigError::Range { what, value: value.into(), range: "from 1 to 2^20" });
        }
    }
    Ok(())
}

/// A message as the machine is given it.
fn machine_message(
    id: u32,
    dst: HostId,
    bytes: u64,
    options: &SendOptions,
    entropy: u32,
    tag: u32,
) -> Message {
    Message {
        id,
        dst,
        bytes,
        class: options.class,
        deadline: None,
        initial_window: options.initial_window,
        responsive: options.responsive,
        entropy,
        tag,
    }
}
