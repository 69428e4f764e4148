//! Attacks by a thief of a process's memory on recorded datagrams. In a process of its own, whose memory is that of
//! this test: all of it is searched, stacks too, for keys that open a recorded datagram.
#![allow(clippy::disallowed_methods, reason = "reads the memory of this process")]

#[path = "it/wire/mod.rs"]
mod wire;

use aws_lc_rs::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use headway_host::{Cipher, Config, Count, Renewal};
use headway_packet::session::Handshake;
use headway_packet::{PacketView, SEAL_TAG, WIRE_FRONT, covered_front};
use headway_units::Time;
use hkdf::Hkdf;
use sha2::Sha256;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use wire::{Datagram, Faults, World, host_address, message_content, shared_key, world_config};
use x25519_dalek::{PublicKey, StaticSecret};

/// A datagram without payload, as an eavesdropper recorded it.
struct Recorded {
    cipher: Cipher,
    counter: u64,
    covered: [u8; WIRE_FRONT],
    tag: [u8; SEAL_TAG],
}

impl Recorded {
    fn new(cipher: Cipher, datagram: &Datagram) -> Option<Recorded> {
        let counter = PacketView::parse(&datagram.bytes).ok()?.session_fields()?.counter;
        let (front, tag) = datagram.bytes.split_first_chunk::<WIRE_FRONT>()?;
        Some(Recorded { cipher, counter, covered: covered_front(front), tag: tag.try_into().ok()? })
    }

    fn key_generation(&self) -> u64 {
        self.counter >> 32
    }

    fn opens_with(&self, bytes: &[u8; 32]) -> bool {
        let algorithm = match self.cipher {
            Cipher::Aes128Gcm => &AES_128_GCM,
            Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        let key = UnboundKey::new(algorithm, &bytes[..algorithm.key_len()]);
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.counter.to_be_bytes());
        let key = LessSafeKey::new(key.expect("of the right length"));
        let nonce = Nonce::assume_unique_for_key(nonce);
        key.open_in_place(nonce, Aad::from(self.covered), &mut self.tag.to_vec()).is_ok()
    }

    /// True if these bytes are its key, or the secret from which its key comes.
    fn comes_from(&self, secret: &[u8; 32]) -> bool {
        let mut key = [0; 32];
        let root = Hkdf::<Sha256>::from_prk(secret).expect("32 bytes");
        root.expand(b"data", &mut key).expect("32 bytes");
        self.opens_with(secret) || self.opens_with(&key)
    }
}

/// Everything that this process can write to, now.
fn dump_memory() -> Vec<u8> {
    let file = format!("{}/memory-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let (maps, own) = (fs::read_to_string("/proc/self/maps"), File::open("/proc/self/mem"));
    let (maps, own) = (maps.expect("this is Linux"), own.expect("this is Linux"));
    let dump = File::create(&file).expect("a file");
    let (mut at, mut buffer) = (0, vec![0; 1 << 16]);
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').expect("a range");
        // Keys are written at run time, so they are in writable memory. The kernel's own `[vvar]` and the like
        // do not read.
        if !rest.starts_with("rw") || rest.contains("[v") {
            continue;
        }
        let (from, to) = range.split_once('-').expect("two addresses");
        let [from, to] = [from, to].map(|place| u64::from_str_radix(place, 16).expect("an address"));
        let mut place = from;
        while place < to {
            let most = buffer.len().min((to - place) as usize);
            // A page that is not there, or went away meanwhile, cannot be stolen.
            let Ok(length) = own.read_at(&mut buffer[..most], place) else { break };
            if length == 0 {
                break;
            }
            // To a file and not to a vector, which would grow while it is searched and hold earlier parts of
            // itself.
            dump.write_all_at(&buffer[..length], at).expect("room for it");
            (place, at) = (place + length as u64, at + length as u64);
        }
    }
    let bytes = fs::read(&file).expect("it was written");
    fs::remove_file(&file).expect("removed");
    bytes
}

/// True if a thief of this memory finds 32 bytes that satisfy `what`. Keys are random bytes, at any place.
fn holds_secret(memory: &[u8], what: impl Fn(&[u8; 32]) -> bool) -> bool {
    let mut tried = 0u64;
    let found = (0..memory.len().saturating_sub(31)).any(|at| {
        let Some((window, _)) = memory[at..].split_first_chunk::<32>() else { return false };
        let mut seen = [0u64; 4];
        window.iter().for_each(|&byte| seen[usize::from(byte >> 6)] |= 1 << (byte & 63));
        // 32 random bytes have about 30 different values; fewer than 22 are too unlikely to matter, and most
        // memory has fewer.
        if seen.iter().map(|bits| bits.count_ones()).sum::<u32>() < 22 {
            return false;
        }
        tried += 1;
        what(window)
    });
    println!("{} bytes of memory, {tried} windows tried, found: {found}", memory.len());
    // A search that tried nothing would find nothing, and pass.
    assert!(found || tried > 1000, "the memory is there");
    found
}

/// True if a thief of this memory reads the datagram.
fn opens_recorded(memory: &[u8], recorded: &Recorded) -> bool {
    holds_secret(memory, |window| recorded.comes_from(window))
}

/// True if a thief finds the private half of one of these.
fn has_half(memory: &[u8], shares: &[[u8; 32]]) -> bool {
    let share = |window: &[u8; 32]| PublicKey::from(&StaticSecret::from(*window)).to_bytes();
    holds_secret(memory, |window| shares.contains(&share(window)))
}

/// The public halves in messages.
fn public_shares(world: &World) -> Vec<[u8; 32]> {
    world.sent.iter().filter_map(|d| Handshake::parse(&d.bytes)?.share).collect()
}

/// Two hosts that talk for a while after the first message; returns all datagrams.
fn talked_world(cipher: Cipher, until: Time) -> World {
    let config = Config {
        cipher,
        renewal: Renewal { datagrams: 50, time: Time::ms(100), late: Time::ms(10) },
        ..world_config("amrt", shared_key())
    };
    let mut world = World::new(&config, 2, Faults::default(), 1);
    world.keep_sent = true;
    for n in 0..40 {
        let from = (n % 2) as usize;
        world.schedule_send(Time::ms(20 * n), from, 1 - from, n, message_content(n, 500));
    }
    world.run_until(until);
    world
}

/// The first datagram without payload of a generation that each host sent.
fn first_recorded(cipher: Cipher, world: &World, generation: u64) -> [Recorded; 2] {
    [0, 1].map(|host| {
        let mut said = world
            .sent
            .iter()
            .filter(|d| d.from == host_address(host))
            .filter_map(|d| Recorded::new(cipher, d));
        said.find(|recorded| recorded.key_generation() == generation).expect("it was sent")
    })
}

/// Time at which the first confirmation is on its way, and time at which its answer has arrived.
const CONFIRMED: Time = Time::us(50);
const ACCEPTED: Time = Time::us(90);

#[test]
fn stolen_memory_opens_nothing_of_sessions_that_are_over_nor_from_before_the_last_renewal() {
    // Searches that must fail come first everywhere, as a search that finds something leaves it in memory. A
    // handshake takes 20 us on the wire: the confirmation leaves at 40 us, and its answer arrives at 80 us.
    let world = talked_world(Cipher::ChaCha20Poly1305, ACCEPTED);
    let said = public_shares(&world);
    assert_eq!(
        (said.len(), has_half(&dump_memory(), &said)),
        (2, false),
        "both halves are gone when they were used"
    );
    let world = talked_world(Cipher::ChaCha20Poly1305, CONFIRMED);
    let said = public_shares(&world);
    assert_eq!((said.len(), has_half(&dump_memory(), &said)), (1, true), "one is there until then");

    nothing_is_left(Cipher::ChaCha20Poly1305);
    // With other ciphers the expanded key is in memory, and not the key itself.
    if Cipher::fastest() == Cipher::Aes128Gcm {
        nothing_is_left(Cipher::Aes128Gcm);
    }
}

fn nothing_is_left(cipher: Cipher) {
    let talked = |until| talked_world(cipher, until);
    let recorded = |world: &World, generation| first_recorded(cipher, world, generation);
    let over = {
        let world = talked(Time::ms(150));
        [recorded(&world, 0), recorded(&world, 1)]
    };
    let stolen = dump_memory();
    for recorded in over.as_flattened() {
        assert!(!opens_recorded(&stolen, recorded), "the session is over");
    }

    // The keys have been renewed once, and it is too late for datagrams of before.
    let mut world = talked(Time::ms(150));
    let renewed = |world: &World| [0, 1].map(|host| world.hosts[host].counters.get(Count::keys_renewed));
    assert_eq!(renewed(&world), [1, 1]);
    let first = recorded(&world, 0);
    let second = recorded(&world, 1);
    let stolen = dump_memory();
    for recorded in &first {
        assert!(!opens_recorded(&stolen, recorded), "it was sent before the renewal");
    }
    // So that the search is known to find what is there: what the session has keys for, and what they lead to.
    for recorded in &second {
        assert!(opens_recorded(&stolen, recorded), "a key that is in use");
    }
    world.run_until(Time::s(1));
    let [later, _] = recorded(&world, 3);
    assert!(opens_recorded(&stolen, &later), "the secret from which the next keys come");

    // Before its renewal the first generation is there, in memory that is otherwise the same.
    let world = talked(Time::ms(40));
    assert_eq!(renewed(&world), [0, 0]);
    let first = recorded(&world, 0);
    let stolen = dump_memory();
    for recorded in &first {
        assert!(opens_recorded(&stolen, recorded));
    }
}
