//! The fuzz target of the receive path over its committed corpus, which
//! `HEADWAY_BLESS=1 cargo test -p headway-host --test it receive::write -- --ignored` writes again.

#![allow(clippy::disallowed_methods, reason = "the corpus is files")]

#[path = "../../../../fuzz/src/host_receive.rs"]
#[allow(
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "it is public to the fuzz target, which has the wire too"
)]
mod host_receive;

use headway_packet::paths::{MOST_ADDRESSES, PathKind, PathSaid};
use headway_packet::session::{
    HANDSHAKE_BYTES, Handshake, HandshakeBytes, HandshakeKind, SHARE_BYTES, Terms,
};
use headway_packet::{Envelope, HostId, Packet, PacketKind, WIRE_HEADER};
use headway_transport::registry;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/host_receive");

#[test]
fn the_corpus_holds() {
    let mut seeds = 0;
    for entry in std::fs::read_dir(FOLDER).expect("the corpus is committed") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        host_receive::check(&std::fs::read(path).expect("a seed"));
        seeds += 1;
    }
    assert!(seeds >= 50, "only {seeds} seeds");
}

/// A fuzzer for where there is none: seeds with bytes changed, cut and joined, for a minute of real time.
/// `cargo test --release -p headway-host --test it receive::mutations -- --ignored`
#[test]
#[ignore = "takes a minute"]
fn mutations_of_the_corpus_hold() {
    let seeds: Vec<Vec<u8>> = std::fs::read_dir(FOLDER)
        .expect("the corpus is committed")
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a seed"))
        .collect();
    let start = std::time::Instant::now();
    let mut rng = Pcg64Mcg::seed_from_u64(headway_testing::explored().unwrap_or(headway_testing::SEED));
    let mut inputs = 0u64;
    while start.elapsed().as_secs() < 60 {
        let mut pick = || &seeds[rng.next_u32() as usize % seeds.len()];
        // A seed begins with a byte for transport and admission, which only the first one may contribute.
        let mut bytes = [&pick()[..], &pick()[1..], &pick()[1..]].concat();
        for _ in 0..rng.next_u32() % 16 {
            let at = rng.next_u32() as usize % bytes.len();
            bytes[at] = rng.next_u32() as u8;
        }
        if rng.next_u32().is_multiple_of(4) {
            bytes.truncate(1 + rng.next_u32() as usize % bytes.len());
        }
        if let Err(panic) = std::panic::catch_unwind(|| host_receive::check(&bytes)) {
            println!("after {inputs} inputs: {bytes:?}");
            std::panic::resume_unwind(panic);
        }
        inputs += 1;
    }
    println!("{inputs} inputs");
}

/// The first byte of a step.
fn step_byte(name: &str) -> u8 {
    host_receive::STEPS.iter().position(|step| *step == name).expect("a step") as u8
}

/// A step with a datagram.
fn raw_step(name: &str, bytes: &[u8]) -> Vec<u8> {
    [&[step_byte(name)], &(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}

fn crafted_step(packet: &Packet) -> Vec<u8> {
    [&[step_byte("crafted")][..], &packet.header_bytes_in(Envelope::Session), &[0]].concat()
}

/// A packet as one about message `number` of 4000 bytes would be.
fn packet_about(kind: PacketKind, number: u32) -> Packet {
    let mut packet = Packet::new(kind, HostId(1), HostId(2), number);
    (packet.message_bytes, packet.count) = (4000, 1);
    packet.payload = if packet.is_data() { 1388 } else { 0 };
    packet.wire = packet.payload + 150;
    packet
}

fn handshake_bytes(kind: HandshakeKind, terms: Terms) -> HandshakeBytes {
    let (mac, share) = ([0; 16], None);
    Handshake { kind, terms, cipher: 0, epoch: 2000, peer_epoch: 1001, shown: 5, offered: 6, mac, share }
        .to_bytes()
}

/// Messages that a stranger may send.
fn stranger_seeds() -> BTreeMap<String, Vec<u8>> {
    let mut seeds = BTreeMap::new();
    for kind in HandshakeKind::ALL {
        let terms = Terms::new("amrt", 1500).expect("not too long");
        let (bytes, other) =
            (handshake_bytes(kind, terms), handshake_bytes(kind, Terms { wire: 77, ..terms }));
        let name = format!("{kind:?}").to_lowercase();
        seeds.insert(format!("{name}-other-terms"), raw_step("insider", &other));
        seeds.insert(format!("{name}-from-stranger"), raw_step("stranger", &bytes));
        seeds.insert(format!("{name}-from-insider"), raw_step("insider", &bytes));
        seeds.insert(format!("{name}-cut"), raw_step("stranger", &bytes[..HANDSHAKE_BYTES / 2]));
    }
    for kind in PathKind::ALL {
        let terms = Terms::new("amrt", 1500).expect("not too long");
        let front = Handshake::parse(&handshake_bytes(HandshakeKind::Hello, terms)).expect("a handshake");
        let addresses = (0..MOST_ADDRESSES as u8).map(|n| ([10, 0, n, 9], 4000).into());
        let addresses = if kind == PathKind::Addresses { addresses.collect() } else { Vec::new() };
        let said = PathSaid { front, kind, number: 3, heard: 1, home: true, asks: true, addresses };
        let (bytes, name) = (said.to_bytes(0), format!("{kind:?}").to_lowercase());
        seeds.insert(format!("path-{name}-from-stranger"), raw_step("stranger", &bytes));
        seeds.insert(format!("path-{name}-from-insider"), raw_step("insider", &bytes));
        seeds.insert(format!("path-{name}-cut"), raw_step("insider", &bytes[..bytes.len() - 3]));
        seeds.insert(format!("path-{name}-padded"), raw_step("insider", &said.to_bytes(1472)));
    }
    let front = packet_about(PacketKind::Data, 1).header_bytes_in(Envelope::Session);
    let whole = [&front[..], &[1; 24], &[2; 1388]].concat();
    seeds.insert("data-from-stranger".into(), raw_step("stranger", &whole));
    seeds.insert("data-cut".into(), raw_step("insider", &whole[..WIRE_HEADER + 10]));
    let version = [&[9], &whole[1..]].concat();
    seeds.insert("data-version".into(), raw_step("insider", &version));
    seeds.insert("empty-datagram".into(), raw_step("stranger", &[]));
    seeds.insert("zeros".into(), raw_step("stranger", &[0; 1500]));
    seeds.insert("ones".into(), raw_step("insider", &[0xff; 1500]));
    seeds
}

/// Messages of a host that was met, and changes that may be made to them.
fn insider_seeds() -> BTreeMap<String, Vec<u8>> {
    let mut seeds = BTreeMap::new();
    let sends = |name: &str| [&[step_byte(name)][..], &9000u16.to_be_bytes()].concat();
    for kind in PacketKind::ALL {
        let name = format!("{kind:?}").to_lowercase();
        let good = packet_about(kind, 1);
        // Values at which sums and products of unchecked arithmetic overflow.
        let huge = Packet { message_bytes: u64::MAX, count: u32::MAX, index: u32::MAX, ..good };
        let beyond = Packet { index: 3, ..good };
        for (what, packet) in [("good", good), ("huge", huge), ("beyond", beyond)] {
            // The target has a message under way, so that answers to it get as far as a machine.
            let before = sends("target sends");
            seeds.insert(format!("{name}-{what}"), [before, crafted_step(&packet)].concat());
        }
    }
    // Version, length on the wire, count, then the session's epoch, cookie and number, and the payload.
    for at in [0u16, 8, 30, 62, 70, 80, 100] {
        for name in ["changed", "cut"] {
            let place = [&[step_byte(name)][..], &3u16.to_be_bytes(), &at.to_be_bytes(), &[0x41]].concat();
            let seed = [sends("insider sends"), place.clone(), vec![step_byte("time"), 1], place].concat();
            seeds.insert(format!("{name}-{at}"), seed);
        }
    }
    let restart =
        [sends("insider sends"), vec![step_byte("restart")], sends("insider sends"), sends("target sends")];
    seeds.insert("restart".into(), restart.concat());
    let silent = [crafted_step(&packet_about(PacketKind::Rts, 1)), [step_byte("time"), 255].repeat(20)];
    seeds.insert("silent".into(), silent.concat());
    let many = (1..40).map(|number| crafted_step(&packet_about(PacketKind::Rts, number)));
    seeds.insert("many".into(), many.collect::<Vec<_>>().concat());
    seeds
}

/// Handshakes with a share, and numbers of keys that are in use, may come next, or may not.
fn share_seeds() -> BTreeMap<String, Vec<u8>> {
    let mut seeds = BTreeMap::new();
    let terms = Terms::new("amrt", 1500).expect("not too long").with_seal();
    for kind in HandshakeKind::ALL {
        let name = format!("{kind:?}").to_lowercase();
        let said = handshake_bytes(kind, terms);
        let long = [&said[..], &[9; SHARE_BYTES]].concat();
        for from in ["stranger", "insider"] {
            seeds.insert(format!("{name}-sealed-terms-{from}"), raw_step(from, &said));
            seeds.insert(format!("{name}-share-{from}"), raw_step(from, &long));
            seeds
                .insert(format!("{name}-half-a-share-{from}"), raw_step(from, &long[..HANDSHAKE_BYTES + 16]));
        }
    }
    // In datagrams of both hosts: a byte of the number's upper half, and shares that are changed or cut.
    for (at, what) in [(76u16, "generation"), (79, "next-generation"), (100, "share"), (111, "end-of-share")]
    {
        for name in ["changed", "cut"] {
            let copies = (0..8u16).flat_map(|which| {
                [&[step_byte(name)][..], &which.to_be_bytes(), &at.to_be_bytes(), &[1]].concat()
            });
            let sends = [&[step_byte("insider sends")][..], &9000u16.to_be_bytes()].concat();
            let again = sends.clone();
            let seed = [sends, copies.collect(), vec![step_byte("time"), 200], again].concat();
            seeds.insert(format!("{what}-{name}"), seed);
        }
    }
    let restarts = [
        &[step_byte("restart")][..],
        &[step_byte("insider sends"), 1, 0],
        &[step_byte("target sends"), 1, 0],
    ]
    .concat();
    seeds.insert("restarts".into(), restarts.repeat(8));
    seeds
}

/// With `HEADWAY_BLESS=1`, writes the corpus again.
#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus() {
    if std::env::var_os("HEADWAY_BLESS").is_none() {
        return;
    }
    std::fs::create_dir_all(FOLDER).expect("a folder");
    let seeds = stranger_seeds().into_iter().chain(insider_seeds()).enumerate();
    // These all with a key.
    let sealed = share_seeds().into_iter().enumerate().map(|(number, seed)| (2 * number + 1, seed));
    // Every seed with one transport and admission, in turn: all meet all in a long run.
    for (number, (name, payload_seed)) in seeds.chain(sealed) {
        let mode = (number % (2 * registry::NAMES.len())) as u8;
        std::fs::write(format!("{FOLDER}/{name}"), [&[mode][..], &payload_seed].concat()).expect("written");
    }
}
