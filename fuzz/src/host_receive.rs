//! Properties of an endpoint, whatever arrives at it. The fuzz target and the test that replays the corpus
//! run this same function.
//!
//! Host 1 has met hosts 0 and 2. The input is a row of steps: datagrams from a stranger, from host 2 as it
//! is and with everything about it changed, time, and a restart. Host 0 is honest, and must not suffer.

use headway_host::Config;
use headway_packet::session::Session;
use headway_packet::{Envelope, PacketView, WIRE_HEADER, WIRE_VERSION};
use headway_transport::registry;
use headway_units::Time;
use wire::{
    Datagram, Faults, World, host_address, identify_message, message_content, prefix_admission, shared_key,
    world_config,
};

#[path = "../../crates/host/tests/it/wire/mod.rs"]
mod wire;

const HONEST: usize = 0;
const TARGET: usize = 1;
const INSIDER: usize = 2;
const STRANGER: usize = 77;
/// Steps of one input at most.
const MOST_STEPS: usize = 64;
/// The honest host's message at the end.
const LAST: u64 = 1_000_000;

/// Steps by number: their meaning as first byte in `check`.
pub const STEPS: [&str; 9] =
    ["stranger", "insider", "crafted", "changed", "cut", "insider sends", "target sends", "time", "restart"];

/// Reads an input from the front; zeros beyond its end.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        front
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }
}

/// The world, and the effects of the steps on it.
struct Attack {
    world: World,
    sealed: bool,
    counter: u64,
    ticket: u64,
    /// Bytes that the stranger has sent.
    spent: usize,
}

/// Panics when an endpoint breaks a rule.
pub fn check(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut attack = Attack::begin(input.byte());
    for _ in 0..MOST_STEPS {
        if input.0.is_empty() {
            break;
        }
        attack.step(&mut input);
        attack.bounds();
    }
    attack.honest_host_is_served();
}

impl Attack {
    fn begin(mode: u8) -> Attack {
        let names = registry::NAMES;
        let name = names[usize::from(mode >> 1) % names.len()];
        let sealed = mode & 1 == 1;
        let config: Config = world_config(name, if sealed { shared_key() } else { prefix_admission() });
        let mut world = World::new(&config, 3, Faults::default(), 1);
        world.keep_sent = true;
        for (ticket, host) in [(0, HONEST), (1, INSIDER)] {
            world.schedule_send(Time::ZERO, host, TARGET, ticket, message_content(ticket, 3000));
            world.schedule_send(Time::ms(2), TARGET, host, ticket + 10, message_content(ticket + 10, 3000));
        }
        world.run_until(Time::ms(20));
        assert_eq!(world.got.len(), 4, "they have met");
        Attack { world, sealed, counter: 1 << 20, ticket: 100, spent: 0 }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() as usize % STEPS.len() {
            0 => {
                let bytes = raw(input);
                self.spent += bytes.len();
                self.inject(STRANGER, bytes);
            }
            1 => {
                let bytes = raw(input);
                self.inject(INSIDER, bytes);
            }
            2 => self.craft(input),
            3 => self.change(input, |bytes, at, with| bytes[at] ^= with),
            4 => self.change(input, |bytes, at, _| bytes.truncate(at)),
            5 => self.send(INSIDER, TARGET, input.short()),
            6 => self.send(TARGET, INSIDER, input.short()),
            7 => {
                let until = self.world.now + Time::ms(u64::from(input.byte()) * 10);
                self.world.run_until(until);
            }
            _ => self.world.schedule_restart(self.world.now, INSIDER),
        }
        let soon = self.world.now + Time::us(30);
        self.world.run_until(soon);
    }

    fn inject(&mut self, from: usize, bytes: Vec<u8>) {
        let (from, to) = (host_address(from), host_address(TARGET));
        self.world.inject_datagram(self.world.now, Datagram { from, to, tos: 0, bytes });
    }

    fn send(&mut self, from: usize, to: usize, length: u16) {
        self.ticket += 1;
        let bytes = message_content(self.ticket, length.into());
        self.world.schedule_send(self.world.now, from, to, self.ticket, bytes);
    }

    /// A packet with any header in the insider's session.
    fn craft(&mut self, input: &mut Input<'_>) {
        let mut header = [0; WIRE_HEADER];
        let given = input.take(WIRE_HEADER);
        header[..given.len()].copy_from_slice(given);
        (header[0], header[6], header[7]) = (WIRE_VERSION, 0, 0);
        let payload = usize::from(u16::from_be_bytes([header[10], header[11]])).min(1600);
        let mine = |d: &&Datagram| d.from == host_address(INSIDER) && !d.is_handshake();
        let sample = self.world.sent.iter().rfind(mine).map(|d| d.bytes.clone()).unwrap_or_default();
        let Ok(view) = PacketView::parse(&sample) else { return };
        let Some(seen) = view.session_fields() else { return };
        let envelope = Envelope::between_hosts(false, view.envelope().is_stamped());
        header[5] = envelope as u8;
        let mut stamps = vec![0; envelope.stamp_bytes()];
        let given = input.take(stamps.len());
        stamps[..given.len()].copy_from_slice(given);
        self.counter += 1 + u64::from(input.byte() % 8);
        let session = Session { counter: self.counter, ..seen };
        let bytes = [&header[..], &session.to_bytes(), &stamps, &vec![7; payload]].concat();
        self.inject(INSIDER, bytes);
    }

    /// A copy of something that was sent to the target, changed. Without a key, an attacker who sees a host's datagrams
    /// can speak for it: there, only those of the insider.
    fn change(&mut self, input: &mut Input<'_>, how: fn(&mut Vec<u8>, usize, u8)) {
        let (which, at, with) = (input.short(), input.short(), input.byte());
        let of =
            |d: &&Datagram| d.to == host_address(TARGET) && (self.sealed || d.from == host_address(INSIDER));
        let copies: Vec<&Datagram> = self.world.sent.iter().filter(of).collect();
        let Some(copy) = copies.get(usize::from(which) % copies.len().max(1)) else { return };
        let mut copy = Datagram::clone(copy);
        let at = usize::from(at) % copy.bytes.len();
        how(&mut copy.bytes, at, with);
        self.world.inject_datagram(self.world.now, copy);
    }

    fn bounds(&self) {
        let target = &self.world.hosts[TARGET];
        assert!(target.memory.used() <= 8 << 20, "more memory than there is");
        assert!(target.core.peers() <= 4096);
        let to_stranger = self.world.sent.iter().filter(|d| d.to == host_address(STRANGER));
        let answered: usize = to_stranger.map(|d| d.bytes.len()).sum();
        assert!(answered <= self.spent, "{answered} bytes for {}", self.spent);
    }

    /// A message of the honest host arrives, once and intact; nothing else came in its name.
    fn honest_host_is_served(mut self) {
        let world = &mut self.world;
        world.schedule_send(world.now, HONEST, TARGET, LAST, message_content(LAST, 20_000));
        let end = world.now + Time::s(700);
        while world.now < end && !world.outcomes.contains_key(&LAST) {
            world.run_until(world.now + Time::ms(100));
        }
        assert_eq!(world.outcomes.get(&LAST), Some(&Ok(())), "the honest host is not served");
        let honest = world.got.iter().filter(|got| got.host == TARGET && got.from == host_address(HONEST));
        let mut numbers: Vec<u64> = honest.map(|got| identify_message(&got.bytes)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, LAST]);
    }
}

/// A datagram as it is in the input, behind its length.
fn raw(input: &mut Input<'_>) -> Vec<u8> {
    let length = usize::from(input.short() % 1600);
    let mut bytes = input.take(length).to_vec();
    bytes.resize(length, 0);
    bytes
}
