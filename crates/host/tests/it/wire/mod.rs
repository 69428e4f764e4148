//! Two or more cores joined by a wire in memory, in virtual time.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]

use bytes::Bytes;
use headway_host::PathEvent;
use headway_host::core::{Command, Core, CoreEvent, Identity, Memory, Purpose, SendOptions};
use headway_host::{Admission, Config, Counters, Limits, PreSharedKey, Secret, SendError};
use headway_packet::Ecn;
use headway_packet::session::HANDSHAKE_BASE;
use headway_units::{Rate, Time};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Faults of the wire, in per cent, and the largest delay of a late datagram.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub loss: u8,
    pub duplicate: u8,
    pub late: u8,
    pub lateness: Time,
}

/// A datagram, as it was sent.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub tos: u8,
    pub bytes: Vec<u8>,
}

impl Datagram {
    /// True if it is one of a handshake, by its first byte.
    pub fn is_handshake(&self) -> bool {
        self.bytes.first().is_some_and(|&first| first >= HANDSHAKE_BASE)
    }
}

enum Step {
    Deliver(Datagram),
    Send { host: usize, to: usize, purpose: Purpose, bytes: Bytes, ticket: u64 },
    Restart(usize, Option<u64>),
    Wake(usize),
    AddAddress(usize, SocketAddr),
    RemoveAddress(usize, SocketAddr),
}

/// A message as it arrived.
#[derive(Clone, Debug)]
pub struct Got {
    pub host: usize,
    pub from: SocketAddr,
    pub purpose: Purpose,
    pub bytes: Bytes,
}

pub struct Host {
    pub core: Core,
    pub memory: Memory,
    pub counters: Arc<Counters>,
    pub address: SocketAddr,
    /// By place, the address that it is bound to first.
    pub addresses: Vec<Option<SocketAddr>>,
    /// Events of its paths.
    pub path_events: Vec<PathEvent>,
    pub config: Config,
    /// Processes that have been at its address.
    lives: u64,
    armed: Time,
}

/// Decides if the wire swallows a datagram.
pub type Swallows = Box<dyn Fn(&Datagram, Time) -> bool>;

/// Travel time of a datagram.
pub type Delay = Box<dyn Fn(&Datagram) -> Time>;

/// What the wire does to a datagram.
pub type Meddles = Box<dyn FnMut(&mut Datagram, Time)>;

pub struct World {
    pub now: Time,
    pub hosts: Vec<Host>,
    pub got: Vec<Got>,
    pub outcomes: BTreeMap<u64, Result<(), SendError>>,
    /// Every datagram that left a host.
    pub sent: Vec<Datagram>,
    pub keep_sent: bool,
    pub swallows: Option<Swallows>,
    pub meddles: Option<Meddles>,
    /// Travel time of a datagram, in place of 20 us.
    pub delay: Option<Delay>,
    /// How late a thread is that a deadline wakes.
    pub late: Time,
    /// Loss in per cent of what each host sends, in place of that of the faults.
    pub losses: Vec<u8>,
    faults: Faults,
    rng: Pcg64Mcg,
    // Numbers make the order of steps at one instant that in which they were scheduled, in every run.
    steps: BinaryHeap<Reverse<(Time, u64)>>,
    what: BTreeMap<u64, Step>,
    sequence: u64,
}

pub fn host_address(host: usize) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1 + host as u8).into(), 4000)
}

pub fn prefix_admission() -> Admission {
    Admission::Prefixes(vec!["10.0.0.0/8".parse().expect("a prefix")])
}

pub fn shared_key() -> Admission {
    Admission::PreSharedKey(PreSharedKey([7; 32]))
}

pub fn world_config(transport: &str, admission: Admission) -> Config {
    Config {
        transport: transport.into(),
        admission,
        peer_timeout: Time::s(300),
        nic: Some(Rate::gbps(10)),
        // All hosts of a world have its clock.
        origin_ns: Some(0),
        // No switch of a world writes anything, which transports that want it must survive.
        telemetry: true,
        limits: Limits {
            total_bytes: 8 << 20,
            peer_bytes: 4 << 20,
            message_bytes: 1 << 20,
            ..Limits::default()
        },
        ..Config::default()
    }
}

/// A process, which is the one with this number in its host's life.
fn process_core(config: &Config, address: SocketAddr, epoch: u64, life: u64) -> (Core, Arc<Counters>) {
    let counters = Arc::new(Counters::default());
    let std::net::IpAddr::V4(ip) = address.ip() else { panic!("{address}") };
    // Another secret for each process, as one that restarts draws a new one.
    let mut secret = [ip.octets()[3]; 16];
    secret[..8].copy_from_slice(&life.to_be_bytes());
    let identity = Identity { epoch, secret: Secret(secret) };
    (Core::new(config, address, identity, Arc::clone(&counters)).expect("a configuration"), counters)
}

impl World {
    pub fn new(config: &Config, hosts: usize, faults: Faults, seed: u64) -> World {
        World::from_configs(&vec![config.clone(); hosts], faults, seed)
    }

    /// Hosts with a configuration each.
    pub fn from_configs(configs: &[Config], faults: Faults, seed: u64) -> World {
        let host = |(n, config): (usize, &Config)| {
            let address = host_address(n);
            let (core, counters) = process_core(config, address, 1000 + n as u64, 0);
            let memory = core.memory();
            let addresses = vec![Some(address)];
            let path_events = Vec::new();
            let config = config.clone();
            Host {
                core,
                memory,
                counters,
                address,
                addresses,
                path_events,
                config,
                lives: 1,
                armed: Time::MAX,
            }
        };
        World {
            now: Time::ZERO,
            hosts: configs.iter().enumerate().map(host).collect(),
            swallows: None,
            meddles: None,
            delay: None,
            late: Time::ZERO,
            got: Vec::new(),
            outcomes: BTreeMap::new(),
            sent: Vec::new(),
            keep_sent: false,
            losses: Vec::new(),
            faults,
            rng: Pcg64Mcg::seed_from_u64(seed),
            steps: BinaryHeap::new(),
            what: BTreeMap::new(),
            sequence: 0,
        }
    }

    fn schedule_step(&mut self, at: Time, step: Step) {
        self.steps.push(Reverse((at, self.sequence)));
        self.what.insert(self.sequence, step);
        self.sequence += 1;
    }

    pub fn schedule_send(&mut self, at: Time, host: usize, to: usize, ticket: u64, bytes: impl Into<Bytes>) {
        self.send_as(at, host, to, ticket, Purpose::Plain, bytes);
    }

    pub fn send_as(
        &mut self,
        at: Time,
        host: usize,
        to: usize,
        ticket: u64,
        purpose: Purpose,
        bytes: impl Into<Bytes>,
    ) {
        self.schedule_step(at, Step::Send { host, to, purpose, bytes: bytes.into(), ticket });
    }

    /// Replaces a host by a new process at the same address; its epoch is drawn at random.
    pub fn schedule_restart(&mut self, at: Time, host: usize) {
        self.schedule_step(at, Step::Restart(host, None));
    }

    /// Replaces a host by a new process at the same address, with this epoch.
    pub fn restart_as(&mut self, at: Time, host: usize, epoch: u64) {
        self.schedule_step(at, Step::Restart(host, Some(epoch)));
    }

    /// A host gets another address, or loses one.
    pub fn add_address(&mut self, at: Time, host: usize, address: SocketAddr) {
        self.schedule_step(at, Step::AddAddress(host, address));
    }

    pub fn remove_address(&mut self, at: Time, host: usize, address: SocketAddr) {
        self.schedule_step(at, Step::RemoveAddress(host, address));
    }

    /// A datagram that somebody puts on the wire.
    pub fn inject_datagram(&mut self, at: Time, datagram: Datagram) {
        self.schedule_step(at, Step::Deliver(datagram));
    }

    /// Runs until `until`; no step later than that is taken.
    pub fn run_until(&mut self, until: Time) {
        while self.steps.peek().is_some_and(|Reverse((at, _))| *at <= until) {
            let Some(Reverse((at, number))) = self.steps.pop() else { break };
            self.now = at;
            if let Some(step) = self.what.remove(&number) {
                self.take_step(step);
            }
        }
        self.now = until;
    }

    fn take_step(&mut self, step: Step) {
        let now = self.now;
        let number = match step {
            Step::Deliver(mut datagram) => {
                let place = |h: &Host| h.addresses.iter().position(|known| *known == Some(datagram.to));
                let found = self.hosts.iter().enumerate().find_map(|(n, h)| Some((n, place(h)? as u8)));
                // An address that no host has (any more) swallows its datagrams.
                let Some((number, local)) = found else { return };
                let ecn = Ecn::from_bits(datagram.tos);
                if self.late > Time::ZERO {
                    // Datagrams that were due before leave before, as with threads.
                    self.settle_host(number);
                }
                let by = (local, datagram.from);
                self.hosts[number].core.receive_at(now, by, ecn, &mut datagram.bytes);
                number
            }
            Step::Send { host, to, purpose, bytes, ticket } => {
                let peer = host_address(to);
                match self.hosts[host].memory.reserve(bytes.len() as u64) {
                    None => {
                        let full = Err(SendError::Full { scope: "of this endpoint" });
                        self.outcomes.insert(ticket, full);
                    }
                    Some(charge) => {
                        let options = SendOptions::default();
                        let command = Command {
                            ticket,
                            peer,
                            purpose,
                            body: bytes.into(),
                            options,
                            only_epoch: None,
                            charge,
                        };
                        self.hosts[host].core.send(now, command);
                    }
                }
                host
            }
            Step::Restart(number, epoch) => {
                // Half of them below all before: what is larger must not count.
                let drawn = self.rng.next_u64() >> (32 * (self.rng.next_u32() % 2) + 20) | 1;
                let host = &mut self.hosts[number];
                let epoch = epoch.unwrap_or(drawn);
                (host.core, host.counters) = process_core(&host.config, host.address, epoch, host.lives);
                host.lives += 1;
                (host.memory, host.armed) = (host.core.memory(), Time::MAX);
                host.addresses = vec![Some(host.address)];
                return;
            }
            Step::AddAddress(number, address) => {
                let host = &mut self.hosts[number];
                let place = usize::from(host.core.add_address(now, address).expect("another address"));
                host.addresses.resize(host.addresses.len().max(place + 1), None);
                host.addresses[place] = Some(address);
                number
            }
            Step::RemoveAddress(number, address) => {
                let host = &mut self.hosts[number];
                let place = host.core.remove_address(now, address).expect("one of several");
                host.addresses[usize::from(place)] = None;
                number
            }
            Step::Wake(number) => {
                // A step cannot be taken out of the heap: a deadline that was replaced by an earlier one comes
                // up here, too.
                if self.hosts[number].armed != now {
                    return;
                }
                self.hosts[number].armed = Time::MAX;
                self.hosts[number].core.timeout(now);
                number
            }
        };
        self.settle_host(number);
    }

    fn settle_host(&mut self, number: usize) {
        let now = self.now;
        let mut buffer = vec![0; self.hosts[number].core.datagram_bytes()];
        loop {
            while let Some(event) = self.hosts[number].core.poll_event() {
                self.note_event(number, event);
            }
            let Some(transmit) = self.hosts[number].core.poll_transmit(now, &mut buffer) else { break };
            let bytes = buffer[..transmit.length].to_vec();
            let from = self.hosts[number].addresses[usize::from(transmit.local)].expect("an address");
            self.carry_datagram(Datagram { from, to: transmit.to, tos: transmit.tos, bytes });
        }
        let host = &mut self.hosts[number];
        if let Some(at) = host.core.next_timeout().map(|at| at.max(now) + self.late)
            // A later deadline needs no step of its own: the earlier step asks for the next deadline when it
            // comes.
            && at < host.armed
        {
            host.armed = at;
            self.schedule_step(at, Step::Wake(number));
        }
    }

    fn note_event(&mut self, host: usize, event: CoreEvent) {
        match event {
            CoreEvent::Arrived(m) => {
                self.got.push(Got { host, from: m.peer, purpose: m.purpose, bytes: m.bytes });
            }
            CoreEvent::Sent { ticket, outcome, .. } => {
                let twice = self.outcomes.insert(ticket, outcome);
                assert_eq!(twice, None, "the outcome of {ticket} was told twice");
            }
            CoreEvent::Path(event) => self.hosts[host].path_events.push(event),
            CoreEvent::PeerGone { .. } | CoreEvent::Message(_) => {}
        }
    }

    fn carry_datagram(&mut self, mut datagram: Datagram) {
        // Before any loss: `sent` is what hosts send, not what arrives.
        if self.keep_sent {
            self.sent.push(datagram.clone());
        }
        if self.swallows.as_ref().is_some_and(|swallows| swallows(&datagram, self.now)) {
            return;
        }
        if let Some(meddles) = &mut self.meddles {
            meddles(&mut datagram, self.now);
        }
        let copies = if self.draw_chance(self.faults.duplicate) { 2 } else { 1 };
        let is_from = |host: &Host| host.addresses.contains(&Some(datagram.from));
        let from = self.hosts.iter().position(is_from);
        let own = from.and_then(|from| self.losses.get(from).copied());
        for _ in 0..copies {
            // Each copy has its own luck.
            if self.draw_chance(own.unwrap_or(self.faults.loss)) {
                continue;
            }
            let mut at = self.now + self.delay.as_ref().map_or(Time::us(20), |delay| delay(&datagram));
            if self.draw_chance(self.faults.late) {
                at += Time(self.rng.next_u64() % (self.faults.lateness.0 + 1));
            }
            self.schedule_step(at, Step::Deliver(datagram.clone()));
        }
    }

    fn draw_chance(&mut self, percent: u8) -> bool {
        // Nothing is drawn for a fault that is off, so that its presence does not change the draws of others.
        percent > 0 && self.rng.next_u32() % 100 < u32::from(percent)
    }
}

/// The bytes of message `ticket`: reproducible, and different in every place.
pub fn message_content(ticket: u64, length: usize) -> Vec<u8> {
    let mut rng = Pcg64Mcg::seed_from_u64(ticket);
    let mut bytes = ticket.to_be_bytes().to_vec();
    bytes.resize_with(length.max(8), || rng.next_u32() as u8);
    bytes
}

/// Number of the message in `bytes`; panics when one of them is not as it was sent.
pub fn identify_message(bytes: &[u8]) -> u64 {
    let (front, _) = bytes.split_first_chunk::<8>().expect("messages here are that long");
    let ticket = u64::from_be_bytes(*front);
    assert!(bytes == message_content(ticket, bytes.len()), "message {ticket} was changed on the way");
    ticket
}
