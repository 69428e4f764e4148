//! Random datagrams at an endpoint in service: from a stranger, and from a host that it has met and that has
//! gone bad, while an honest client keeps calling. Shared by the example and an ordinary test.
#![allow(clippy::disallowed_methods, reason = "real sockets, real threads, real time")]

use bytes::Bytes;
use headway_host::core::{Command, Core, Identity, Purpose, SendOptions};
use headway_host::{Config, Counters, Endpoint, Limits, Secret, Stats};
use headway_packet::session::{HANDSHAKE_BASE, HANDSHAKE_BYTES};
use headway_packet::{Ecn, WIRE_HEADER};
use headway_units::Time;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Datagrams that the endpoint has not taken yet, at most: fewer than its socket holds.
const IN_FLIGHT: u64 = 256;
/// Datagrams between two looks at the endpoint's counters.
const BURST: u64 = 32;
/// Datagrams of the insider that are kept as patterns.
const SAMPLES: usize = 400;

/// Results of the flood.
#[derive(Debug)]
pub struct Report {
    /// Random datagrams sent.
    pub random: u64,
    /// Valid ones sent again, changed.
    pub changed: u64,
    /// Calls of the honest client; all were answered, and rightly.
    pub calls: u64,
    /// The longest of them.
    pub slowest: Duration,
    /// Bytes that the stranger sent, and those that it got.
    pub stranger: (u64, u64),
    /// Counters of the endpoint.
    pub stats: Stats,
    /// Datagrams sent to the endpoint that its socket had no room for.
    pub lost: u64,
    /// The most memory that messages took, of the limit.
    pub memory: (u64, u64),
    /// Duration of the flood.
    pub elapsed: Duration,
}

/// An endpoint's limits here.
pub fn endpoint_limits() -> Limits {
    Limits { total_bytes: 64 << 20, peer_bytes: 16 << 20, message_bytes: 4 << 20, ..Limits::default() }
}

/// Sends `datagrams` to an endpoint of `config`.
///
/// # Panics
/// If the endpoint stops serving, uses more memory than it may, or answers the stranger with more than it was
/// sent.
pub fn run_flood(config: &Config, datagrams: u64, seed: u64) -> Report {
    let config = Config { limits: endpoint_limits(), call_timeout: Time::s(20), ..config.clone() };
    let bind = || Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound");
    let (server, client) = (bind(), bind());
    let (over, closed) = (AtomicBool::new(false), AtomicBool::new(false));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| answer_requests(&server, &closed));
        let calling = scope.spawn(|| keep_calling(&client, server.local_addr(), &over));
        let mut flood = Flood::new(&config, &server, &client, seed);
        let ended =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| flood.send_datagrams(datagrams)));
        // One call more after the last datagram.
        std::thread::sleep(Duration::from_millis(20));
        over.store(true, Ordering::Relaxed);
        let called = calling.join();
        closed.store(true, Ordering::Relaxed);
        let (calls, slowest) = called.unwrap_or_else(|_| panic!("a call failed: {:?}", server.stats()));
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let stats = server.stats();
        let reached = flood.random + flood.changed + flood.honest_count();
        Report {
            random: flood.random,
            changed: flood.changed,
            calls,
            slowest,
            stranger: (flood.spent, flood.earned),
            stats,
            lost: reached.saturating_sub(stats.datagrams_received),
            memory: (flood.memory, config.limits.total_bytes),
            elapsed: start.elapsed(),
        }
    })
}

/// Takes everything, and answers what wants an answer.
fn answer_requests(server: &Endpoint, closed: &AtomicBool) {
    while !closed.load(Ordering::Relaxed) {
        if let Ok(message) = server.recv_timeout(Duration::from_millis(50))
            && message.wants_reply()
        {
            let reply: Vec<u8> = message.bytes.iter().rev().copied().collect();
            // The insider's requests may find no room.
            let _ = message.reply(reply);
        }
    }
}

fn keep_calling(client: &Endpoint, server: SocketAddr, over: &AtomicBool) -> (u64, Duration) {
    let (mut calls, mut slowest) = (0u64, Duration::ZERO);
    loop {
        let last = over.load(Ordering::Relaxed);
        let request: Vec<u8> = (0..100).map(|i| (calls as u8).wrapping_mul(31).wrapping_add(i)).collect();
        let asked = Instant::now();
        let reply = client.call(server, request.clone());
        let reply = reply.unwrap_or_else(|error| panic!("call {calls}: {error}: {:?}", client.stats()));
        assert!(reply.iter().rev().eq(&request), "the reply to call {calls} is wrong");
        (calls, slowest) = (calls + 1, slowest.max(asked.elapsed()));
        if last {
            return (calls, slowest);
        }
    }
}

/// The two sending sockets.
struct Flood<'a> {
    server: &'a Endpoint,
    client: &'a Endpoint,
    to: SocketAddr,
    stranger: UdpSocket,
    insider: UdpSocket,
    insider_said: u64,
    samples: Vec<Vec<u8>>,
    rng: Pcg64Mcg,
    fresh: u64,
    random: u64,
    changed: u64,
    spent: u64,
    earned: u64,
    memory: u64,
}

impl<'a> Flood<'a> {
    fn new(config: &Config, server: &'a Endpoint, client: &'a Endpoint, seed: u64) -> Flood<'a> {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
            socket.set_nonblocking(true).expect("set");
            socket
        };
        let to = server.local_addr();
        let (stranger, insider) = (socket(), socket());
        let (samples, insider_said) = play_insider(config, &insider, to);
        Flood {
            server,
            client,
            to,
            stranger,
            insider,
            insider_said,
            samples,
            rng: Pcg64Mcg::seed_from_u64(seed),
            fresh: 1 << 32,
            random: 0,
            changed: 0,
            spent: 0,
            earned: 0,
            memory: 0,
        }
    }

    /// Datagrams to the endpoint that are not this flood's.
    fn honest_count(&self) -> u64 {
        self.client.stats().datagrams_sent + self.insider_said
    }

    fn send_datagrams(&mut self, datagrams: u64) {
        while self.random + self.changed < datagrams {
            for _ in 0..BURST.min(datagrams - self.random - self.changed) {
                self.send_one();
            }
            self.check_endpoint();
        }
    }

    fn send_one(&mut self) {
        let chance = self.rng.next_u32() % 4;
        let bytes = if chance == 0 { self.random_bytes() } else { self.changed_sample() };
        *(if chance == 0 { &mut self.random } else { &mut self.changed }) += 1;
        // A changed handshake of the insider's own would end its session, and with it the deeper part.
        let handshake = bytes.first().is_some_and(|&first| first >= 0x80);
        let by_stranger = handshake || self.rng.next_u32().is_multiple_of(2);
        let socket = if by_stranger { &self.stranger } else { &self.insider };
        while let Err(error) = socket.send_to(&bytes, self.to) {
            assert!(is_transient(&error), "{error}");
            std::thread::yield_now();
        }
        if by_stranger {
            self.spent += bytes.len() as u64;
        }
    }

    fn random_bytes(&mut self) -> Vec<u8> {
        let length = match self.rng.next_u32() % 4 {
            0 => HANDSHAKE_BYTES,
            _ => self.rng.next_u32() as usize % 1600,
        };
        let mut bytes = vec![0; length];
        self.rng.fill_bytes(&mut bytes);
        if self.rng.next_u32().is_multiple_of(2) && !bytes.is_empty() {
            // Random bytes rarely begin with one that means something: the version of packets, or one of the
            // six kinds of handshake.
            bytes[0] = [1, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85][self.rng.next_u32() as usize % 7];
        }
        bytes
    }

    /// A valid datagram with some bytes changed, cut off or added, or nothing but its number made new.
    fn changed_sample(&mut self) -> Vec<u8> {
        let which = self.rng.next_u32() as usize % self.samples.len();
        let mut bytes = self.samples[which].clone();
        let counter = WIRE_HEADER + 16..WIRE_HEADER + 24;
        if bytes[0] < HANDSHAKE_BASE && !self.rng.next_u32().is_multiple_of(8) {
            self.fresh += 1;
            bytes[counter.clone()].copy_from_slice(&self.fresh.to_be_bytes());
        }
        match self.rng.next_u32() % 8 {
            0 => {}
            1 => bytes.truncate(self.rng.next_u32() as usize % bytes.len()),
            2 => bytes.resize(bytes.len() + self.rng.next_u32() as usize % 64, 0x11),
            _ => {
                for _ in 0..=self.rng.next_u32() % 4 {
                    // Mostly in the header: a change of the payload is found by the seal alone, or not at all
                    // without a key.
                    let near = if self.rng.next_u32().is_multiple_of(4) { bytes.len() } else { WIRE_HEADER };
                    let at = self.rng.next_u32() as usize % near;
                    // A number far ahead would make all later ones too old.
                    if !counter.contains(&at) {
                        bytes[at] ^= self.rng.next_u32() as u8;
                    }
                }
            }
        }
        bytes
    }

    /// Waits until the endpoint has taken all datagrams, and checks its limits.
    fn check_endpoint(&mut self) {
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            self.memory = self.memory.max(self.server.memory_used());
            assert!(self.memory <= endpoint_limits().total_bytes, "{} bytes of memory", self.memory);
            let reached = self.random + self.changed + self.honest_count();
            let waiting = reached.saturating_sub(self.server.stats().datagrams_received);
            // Datagrams that the kernel has dropped never arrive, so that the wait for them has to end.
            if waiting < IN_FLIGHT || Instant::now() > until {
                break;
            }
            std::thread::yield_now();
        }
        let mut buffer = [0; 2048];
        while let Ok((length, _)) = self.stranger.recv_from(&mut buffer) {
            self.earned += length as u64;
        }
        assert!(self.earned <= self.spent, "{} bytes for {}", self.earned, self.spent);
        // The flood does not read the endpoint's answers to the insider, which would fill its socket.
        while self.insider.recv_from(&mut buffer).is_ok() {}
    }
}

/// Errors of the kernel for a full queue, or for an answer to a socket that is gone.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused
    )
}

/// Plays an honest host on `socket` for a while; returns its messages, and the number of times that it said something.
fn play_insider(config: &Config, socket: &UdpSocket, to: SocketAddr) -> (Vec<Vec<u8>>, u64) {
    let local = socket.local_addr().expect("bound");
    let identity = Identity { epoch: 1, secret: Secret([9; 16]) };
    let mut core =
        Core::new(config, local, identity, Arc::new(Counters::default())).expect("a configuration");
    let memory = core.memory();
    for (ticket, length) in (0u64..).zip([0usize, 1, 100, 5_000, 100_000]) {
        let bytes = Bytes::from(vec![ticket as u8; length]);
        let purpose = if ticket == 2 { Purpose::Request(7) } else { Purpose::Plain };
        let (options, charge) = (SendOptions::default(), memory.reserve(length as u64).expect("room"));
        core.send(
            Time::ZERO,
            Command { ticket, peer: to, purpose, body: bytes.into(), options, only_epoch: None, charge },
        );
    }
    let (mut samples, mut said, mut buffer) = (Vec::new(), 0, vec![0; 4096]);
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(300) || said == 0 {
        let now = Time::ns(start.elapsed().as_nanos() as u64);
        while let Ok((length, _)) = socket.recv_from(&mut buffer) {
            core.receive(now, to, Ecn::NotEct, &mut buffer[..length]);
        }
        core.timeout(now);
        while core.poll_event().is_some() {}
        while let Some(transmit) = core.poll_transmit(now, &mut buffer) {
            let datagram = &buffer[..transmit.length];
            if socket.send_to(datagram, to).is_ok() {
                said += 1;
            }
            if samples.len() < SAMPLES {
                samples.push(datagram.to_vec());
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    (samples, said)
}
