//! Time that ciphers take for the payload of a datagram, and a key exchange for a meeting, in two libraries each.
//!
//! `cargo bench -p headway-host` prints nanoseconds and gigabytes a second: the best of several repetitions, so
//! that other work on the machine counts as little as may be.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the wall clock")]

use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use aws_lc_rs::rand::SystemRandom;
use chacha20poly1305::ChaCha20Poly1305;
use std::hint::black_box;
use std::time::Instant;
use x25519_dalek::{PublicKey, StaticSecret};

/// Payload of a control packet's tag alone, of a full packet at MTU 1500, and at 9000.
const SIZES: [usize; 3] = [0, 1372, 8872];
/// Header of a packet with the fields of its session.
const HEADER: [u8; 84] = [3; 84];
const REPETITIONS: usize = 15;
/// Bytes of one repetition, with the cost of a call counted as so many.
const BYTES: usize = 10_000_000;
const CALL: usize = 300;

fn nonce_of(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce
}

fn measure_sizes(name: &str, mut each: impl FnMut(u64, &mut Vec<u8>)) {
    let mut counter = 0;
    for size in SIZES {
        let mut best = f64::INFINITY;
        let calls = BYTES / (size + CALL);
        for _ in 0..REPETITIONS {
            let mut buffer = vec![7; size];
            let start = Instant::now();
            for _ in 0..calls {
                counter += 1;
                each(counter, &mut buffer);
            }
            best = best.min(start.elapsed().as_secs_f64() / calls as f64);
        }
        println!("{name:34} {size:5} B {:7.0} ns {:6.2} GB/s", best * 1e9, size as f64 / best * 1e-9);
    }
}

fn measure_aws(name: &str, algorithm: &'static Algorithm) {
    let bytes = vec![1; algorithm.key_len()];
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &bytes).expect("of the right length"));
    let nonce = |counter| Nonce::assume_unique_for_key(nonce_of(counter));
    measure_sizes(&format!("aws-lc-rs {name} seal"), |counter, buffer| {
        let sealed = key.seal_in_place_separate_tag(nonce(counter), Aad::from(HEADER), buffer);
        let _ = black_box(sealed.expect("not too long"));
    });
    let mut sealed = Vec::new();
    measure_sizes(&format!("aws-lc-rs {name} seal and open"), |counter, buffer| {
        let tag = key.seal_in_place_separate_tag(nonce(counter), Aad::from(HEADER), buffer);
        sealed.clear();
        // Opening in place wants payload and tag in one piece, so this copy is part of the time.
        sealed.extend_from_slice(buffer);
        sealed.extend_from_slice(tag.expect("not too long").as_ref());
        let opened = key.open_in_place(nonce(counter), Aad::from(HEADER), &mut sealed).expect("genuine");
        buffer.copy_from_slice(opened);
    });
}

/// Work of one end for an exchange: a private half, its public one, and the secret.
fn measure_exchange(name: &str, mut each: impl FnMut()) {
    const TIMES: u32 = 200;
    let mut best = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        (0..TIMES).for_each(|_| each());
        best = best.min(start.elapsed().as_secs_f64() / f64::from(TIMES));
    }
    println!("{name:42} {:7.1} us", best * 1e6);
}

fn measure_exchanges() {
    let theirs = PublicKey::from(&StaticSecret::from([7; 32]));
    measure_exchange("dalek X25519, one end", || {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("random bytes");
        let own = StaticSecret::from(bytes);
        black_box((PublicKey::from(&own), own.diffie_hellman(&theirs)));
    });
    let random = SystemRandom::new();
    measure_exchange("aws-lc-rs X25519, one end", || {
        let own = EphemeralPrivateKey::generate(&X25519, &random).expect("random bytes");
        let public = own.compute_public_key().expect("a share");
        let theirs = UnparsedPublicKey::new(&X25519, theirs.to_bytes());
        let secret = agree_ephemeral(own, theirs, (), |secret| Ok(secret.to_vec())).expect("a secret");
        black_box((public, secret));
    });
}

fn main() {
    measure_exchanges();
    measure_aws("AES-128-GCM", &AES_128_GCM);
    // Not one of Headway's ciphers: it shows the price of the longer key.
    measure_aws("AES-256-GCM", &AES_256_GCM);
    measure_aws("ChaCha20-Poly1305", &CHACHA20_POLY1305);
    let aes = Aes128Gcm::new(&[1; 16].into());
    measure_sizes("RustCrypto AES-128-GCM seal", |counter, buffer| {
        let tag =
            aes.encrypt_inout_detached(&nonce_of(counter).into(), &HEADER, buffer.as_mut_slice().into());
        black_box(tag.expect("not too long"));
    });
    let chacha = ChaCha20Poly1305::new(&[1; 32].into());
    measure_sizes("RustCrypto ChaCha20-Poly1305 seal", |counter, buffer| {
        let tag =
            chacha.encrypt_inout_detached(&nonce_of(counter).into(), &HEADER, buffer.as_mut_slice().into());
        black_box(tag.expect("not too long"));
    });
}
