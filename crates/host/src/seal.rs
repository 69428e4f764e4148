//! Cookies, and the protection by a shared key.
//!
//! Handshakes carry an HMAC under a key made from the shared one. Data is sealed with AES-128-GCM where both
//! processors have instructions for it, and with ChaCha20-Poly1305 otherwise. Its keys come from a key exchange
//! ([`crate::exchange`]) and the shared key, as those of TLS 1.3 with both (RFC 8446, 7.1): HKDF-Extract of the
//! exchange's secret, with what is made from the shared key as salt. For each direction HKDF-Expand then makes a
//! secret of that, both epochs, both cookies, both public halves and the cipher. From it come the keys of a generation
//! and the secret of the next ([`Chain`]), which cannot be turned back. The nonce is the datagram's number, which is
//! never used twice in a meeting.

use crate::check::HeaderChecks;
use crate::exchange::Exchange;
use crate::key::PreSharedKey;
use aws_lc_rs::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use headway_packet::SEAL_TAG;
use headway_packet::session::{Handshake, SHARE_BYTES};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use siphasher::sip::SipHasher24;
use std::fmt;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Cipher that payload is sealed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cipher {
    /// Fast on every processor.
    ChaCha20Poly1305 = 1,
    /// Faster where the processor has instructions for it, and slow elsewhere.
    Aes128Gcm = 2,
}

impl Cipher {
    /// The faster of the two on this processor.
    pub fn fastest() -> Cipher {
        #[cfg(target_arch = "x86_64")]
        // GCM needs both: AES for the stream, and a carry-less multiplication for the tag.
        let has = std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let has = std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let has = false;
        if has { Cipher::Aes128Gcm } else { Cipher::ChaCha20Poly1305 }
    }

    /// Cipher of two hosts that announce these two.
    fn agreed_cipher(mine: Cipher, theirs: u8) -> Cipher {
        // Any other number, also one of a later version, means ChaCha20-Poly1305, which every host has.
        let both = mine == Cipher::Aes128Gcm && theirs == Cipher::Aes128Gcm as u8;
        if both { Cipher::Aes128Gcm } else { Cipher::ChaCha20Poly1305 }
    }
}

/// A process's own secret, from which its cookies come.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret(pub [u8; 16]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// The cookie that the host at `address` is to show while this endpoint's incarnation is `epoch`, after
    /// `meetings` incarnations of that host; never 0.
    pub(crate) fn cookie_for(&self, address: SocketAddr, epoch: u64, meetings: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        match address.ip() {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write(&address.port().to_be_bytes());
        hasher.write(&epoch.to_be_bytes());
        hasher.write(&meetings.to_be_bytes());
        // 0 stands for no cookie.
        hasher.finish().max(1)
    }
}

/// Two incarnations that have met: epochs and cookies, as one of them sees it.
#[derive(Clone, Copy)]
pub(crate) struct Meeting {
    pub(crate) local_epoch: u64,
    pub(crate) peer_epoch: u64,
    /// The cookie that this endpoint shows.
    pub(crate) shown: u64,
    /// The cookie that the peer shows.
    pub(crate) expected: u64,
    /// The cipher that the peer would rather use, as it is on the wire.
    pub(crate) cipher: u8,
    /// Position of the key that the two share, in [`Authorities`].
    pub(crate) key: usize,
    /// The public half of this endpoint's exchange, once there is one.
    pub(crate) share: [u8; SHARE_BYTES],
}

/// Secrets that are derived from each key that peers may share with this endpoint: the one that it uses first and,
/// while keys change, another. None where no key is shared.
pub(crate) struct Authorities(Vec<Authority>);

impl Authorities {
    pub(crate) fn new<'a>(keys: impl Iterator<Item = &'a PreSharedKey>, cipher: Cipher) -> Authorities {
        Authorities(keys.map(|key| Authority::new(key, cipher)).collect())
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Secrets of a key; `None` only where no key is shared.
    pub(crate) fn get(&self, key: usize) -> Option<&Authority> {
        self.0.get(key).or(self.0.first())
    }

    /// The key whose holder made a handshake; the first one where no key is shared.
    pub(crate) fn find_signer(&self, datagram: &[u8]) -> Option<usize> {
        if self.0.is_empty() {
            return Some(0);
        }
        // Two MACs at most, and the second only while keys change.
        self.0.iter().position(|authority| authority.is_genuine(datagram))
    }
}

/// Secrets that are derived from a shared key. The states of both hash functions are overwritten when they are dropped.
pub(crate) struct Authority {
    root: Hkdf<Sha256>,
    handshake: Hmac<Sha256>,
    /// The cipher that this endpoint would rather use.
    cipher: Cipher,
}

/// The secrets of both directions of a meeting, from which come the keys of the next generation. They are overwritten when
/// they are dropped, and by those of the generation after.
pub(crate) struct Chain {
    cipher: Cipher,
    own: Zeroizing<[u8; 32]>,
    peer: Zeroizing<[u8; 32]>,
}

/// The keys of one generation: sealing one way, opening the other.
pub(crate) struct Seals {
    seal: DataKey,
    open: DataKey,
    pub(crate) headers: HeaderChecks,
}

/// A key with the state that its cipher has computed from it. The library keeps it in one place of memory, which it
/// overwrites when the key is dropped.
struct DataKey(LessSafeKey);

impl DataKey {
    fn new(cipher: Cipher, bytes: &[u8; 32]) -> Option<DataKey> {
        let algorithm = match cipher {
            Cipher::Aes128Gcm => &AES_128_GCM,
            Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        Some(DataKey(LessSafeKey::new(UnboundKey::new(algorithm, bytes.get(..algorithm.key_len())?).ok()?)))
    }
}

impl Authority {
    pub(crate) fn new(key: &PreSharedKey, cipher: Cipher) -> Authority {
        let root = Hkdf::<Sha256>::new(Some(b"headway host 2"), &key.0);
        let handshake = Hmac::<Sha256>::new_from_slice(&*expand_key(&root, &[b"handshake"]));
        let handshake = handshake.unwrap_or_else(|_| unreachable!("any length will do"));
        Authority { root, handshake, cipher }
    }

    /// The cipher that this endpoint announces.
    pub(crate) fn announced_cipher(&self) -> Cipher {
        self.cipher
    }

    /// Authenticates a handshake.
    pub(crate) fn sign_handshake(&self, bytes: &mut [u8]) {
        // Never for bytes that this endpoint made.
        let Some((covered, _)) = Handshake::covered_bytes(bytes) else { return };
        let code = self.handshake_code(covered).finalize().into_bytes();
        if let Some(mac) = Handshake::mac_mut(bytes) {
            // Truncated to 128 bits, as HMAC allows (RFC 2104, section 5).
            mac.copy_from_slice(&code[..SEAL_TAG]);
        }
    }

    /// True if a handshake comes from a holder of the key.
    pub(crate) fn is_genuine(&self, bytes: &[u8]) -> bool {
        let Some((covered, said)) = Handshake::covered_bytes(bytes) else { return false };
        // In constant time: a comparison that ends at the first difference would let a forger find the code
        // byte by byte.
        self.handshake_code(covered).verify_truncated_left(said).is_ok()
    }

    fn handshake_code(&self, covered: [&[u8]; 2]) -> Hmac<Sha256> {
        // A clone has the key's state already; a new one would hash the key for each handshake.
        let mut mac = self.handshake.clone();
        covered.into_iter().for_each(|piece| mac.update(piece));
        mac
    }

    /// The secrets of a meeting, from the shared key and an exchange with the peer, whose public half is `theirs`; `None`
    /// when that gives nothing.
    pub(crate) fn agree_chains(
        &self,
        m: &Meeting,
        exchange: &mut Exchange,
        theirs: &[u8; SHARE_BYTES],
    ) -> Option<Chain> {
        let ours = exchange.public_half();
        let secret = exchange.agree_secret(theirs)?;
        let agreed = Hkdf::<Sha256>::new(Some(&*expand_key(&self.root, &[b"exchange 3"])), secret.as_bytes());
        let cipher = Cipher::agreed_cipher(self.cipher, m.cipher);
        let way = |numbers: [u64; 4], from: &[u8; SHARE_BYTES], to: &[u8; SHARE_BYTES]| {
            let numbers = numbers.map(u64::to_be_bytes);
            // All pieces but the label have a fixed length, so no two meetings give the same string.
            expand_key(&agreed, &[b"way", numbers.as_flattened(), from, to, &[cipher as u8]])
        };
        // From the sender's side in both lines, so that one end's `own` is the other end's `peer`.
        let own = way([m.local_epoch, m.peer_epoch, m.expected, m.shown], &ours, theirs);
        let peer = way([m.peer_epoch, m.local_epoch, m.shown, m.expected], theirs, &ours);
        Some(Chain { cipher, own, peer })
    }
}

impl Chain {
    /// The keys of the next generation. What they came from is overwritten by what those after it will come from. `None`
    /// cannot happen with keys of the right length.
    pub(crate) fn next_seals(&mut self) -> Option<Seals> {
        let roots = [&self.own, &self.peer].map(|secret| Hkdf::<Sha256>::from_prk(&**secret).ok());
        let [Some(own), Some(peer)] = roots else { return None };
        let key = |root| DataKey::new(self.cipher, &expand_key(root, &[b"data"]));
        let headers = HeaderChecks::new(&expand_key(&own, &[b"header"]), &expand_key(&peer, &[b"header"]));
        let seals = Seals { seal: key(&own)?, open: key(&peer)?, headers };
        // Last: from here on the secrets that gave these keys are gone.
        (self.own, self.peer) = (expand_key(&own, &[b"next"]), expand_key(&peer, &[b"next"]));
        Some(seals)
    }
}

fn expand_key(root: &Hkdf<Sha256>, info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let expanded = root.expand_multi_info(info, &mut *key);
    debug_assert!(expanded.is_ok(), "32 bytes are not too many");
    key
}

fn nonce_of(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    // 96 bits as RFC 5116 wants them; the upper 32 stay zero, because each direction has a key of its own.
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl Seals {
    /// Seals `payload` in place; returns the tag that goes behind it. `None` cannot happen for payload of a
    /// datagram's length.
    pub(crate) fn seal_payload(
        &self,
        counter: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Option<[u8; SEAL_TAG]> {
        let tag = self.seal.0.seal_in_place_separate_tag(nonce_of(counter), Aad::from(header), payload);
        tag.ok()?.as_ref().try_into().ok()
    }

    /// Opens `sealed`, payload and tag, in place; the payload if it is genuine.
    pub(crate) fn open_payload<'a>(
        &self,
        counter: u64,
        header: &[u8],
        sealed: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        let opened = self.open.0.open_in_place(nonce_of(counter), Aad::from(header), sealed);
        opened.ok().map(|payload| &*payload)
    }
}

/// Two ends of a meeting that announce these ciphers.
#[cfg(test)]
pub(crate) fn agreed_chains(a: Cipher, b: Cipher) -> (Chain, Chain) {
    let mut halves = [Exchange::from_private(&[3; 32]), Exchange::from_private(&[4; 32])];
    let shares = halves.each_ref().map(Exchange::public_half);
    let mut chain = |end: usize, mine, theirs: Cipher, numbers: [u64; 4]| {
        let [local_epoch, peer_epoch, shown, expected] = numbers;
        let (cipher, share) = (theirs as u8, shares[end]);
        let meeting = Meeting { local_epoch, peer_epoch, shown, expected, cipher, key: 0, share };
        let authority = Authority::new(&PreSharedKey([9; 32]), mine);
        authority.agree_chains(&meeting, &mut halves[end], &shares[1 - end]).expect("a secret")
    };
    (chain(0, a, b, [1, 2, 3, 4]), chain(1, b, a, [2, 1, 4, 3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_gcm::Aes128Gcm;
    use aes_gcm::aead::AeadInOut;
    use chacha20poly1305::ChaCha20Poly1305;

    const CIPHERS: [Cipher; 2] = [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305];

    fn hex_bytes(hex: &str) -> Vec<u8> {
        let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("digits");
        (0..hex.len()).step_by(2).map(digits).collect()
    }

    /// Their keys of the first generation.
    fn first_seals(a: Cipher, b: Cipher) -> (Seals, Seals) {
        let (mut one, mut other) = agreed_chains(a, b);
        (one.next_seals().expect("keys"), other.next_seals().expect("keys"))
    }

    /// Made by X25519 and HKDF in thirty lines of Python: key of payload and of headers for one way, by generation.
    const OTHERS: [(Cipher, [[&str; 2]; 3]); 2] = [
        (
            Cipher::Aes128Gcm,
            [
                ["8261b8c5c23600bb1958ae7b12e69f82", "36cbb6291ba4a4c827a5651103583a28"],
                ["8e3cbd4bd7f258d23792c2f3007cb0a9", "9a5e1de38e6d7d848d3feb8d4f6bba74"],
                ["aba40dd2af64ebc43853022f75c118f1", "299431afa5a37d1d3ab120eabf8d2652"],
            ],
        ),
        (
            Cipher::ChaCha20Poly1305,
            [
                [
                    "9b9780cd646943343f53b04fe2da60ca2329938585a0685db2702e01f037d548",
                    "750e4da22f8385448a25c1d90020a923",
                ],
                [
                    "a5fa2580d1f1869a2549f68a8407c3809c8c5210713ae946fcc20554b53e97f3",
                    "9e88ae2d753731263fe99d88e28d3c30",
                ],
                [
                    "5e27d4646e171c34f4e2e80d26ddaedc81ff69466c8e13987c2f834c905382da",
                    "bef893199887771add6dd3e578ed0a30",
                ],
            ],
        ),
    ];

    #[test]
    fn another_implementation_makes_the_same_keys() {
        let whole = |hex: &str| -> [u8; 32] {
            let mut key = [0; 32];
            key[..hex.len() / 2].copy_from_slice(&hex_bytes(hex));
            key
        };
        for (cipher, generations) in OTHERS {
            let (mut one, mut other) = agreed_chains(cipher, cipher);
            for [data, header] in generations {
                let (ours, theirs) = (one.next_seals().expect("keys"), other.next_seals().expect("keys"));
                let expected = DataKey::new(cipher, &whole(data)).expect("a key");
                let expected = Seals {
                    seal: DataKey::new(cipher, &whole(data)).expect("a key"),
                    open: expected,
                    headers: HeaderChecks::new(&whole(header), &whole(header)),
                };
                let mut sealed = b"payload".to_vec();
                let tag = ours.seal_payload(7, b"header", &mut sealed).expect("sealed");
                sealed.extend(tag);
                let front = [5; headway_packet::WIRE_FRONT];
                for opening in [&expected, &theirs] {
                    let opened = opening.open_payload(7, b"header", &mut sealed.clone()).map(<[u8]>::to_vec);
                    assert_eq!(opened.as_deref(), Some(&b"payload"[..]), "{cipher:?}");
                    assert!(opening.headers.is_genuine(false, &front, &ours.headers.make_check(&front)));
                }
            }
        }
    }

    /// Both ends of a meeting whose keys are not those of another that differs in one thing.
    #[test]
    fn all_that_two_hosts_say_goes_into_their_keys() {
        let base = Meeting {
            local_epoch: 1,
            peer_epoch: 2,
            shown: 3,
            expected: 4,
            cipher: 1,
            key: 0,
            share: [0; 32],
        };
        let theirs = Exchange::from_private(&[4; 32]).public_half();
        let sealed = |key: u8, mine: u8, theirs: [u8; 32], cipher: Cipher, meeting: &Meeting| {
            let authority = Authority::new(&PreSharedKey([key; 32]), cipher);
            let mut chain = authority
                .agree_chains(meeting, &mut Exchange::from_private(&[mine; 32]), &theirs)
                .expect("a secret");
            chain.next_seals().expect("keys").seal_payload(0, b"header", &mut []).expect("sealed")
        };
        let (chacha, aes) = (Cipher::ChaCha20Poly1305, Cipher::Aes128Gcm);
        let usual = sealed(9, 3, theirs, chacha, &base);
        assert_eq!(sealed(9, 3, theirs, chacha, &base), usual);
        let others = [
            sealed(8, 3, theirs, chacha, &base),
            sealed(9, 5, theirs, chacha, &base),
            sealed(9, 3, Exchange::from_private(&[6; 32]).public_half(), chacha, &base),
            sealed(9, 3, theirs, aes, &Meeting { cipher: 2, ..base }),
            sealed(9, 3, theirs, chacha, &Meeting { local_epoch: 7, ..base }),
            sealed(9, 3, theirs, chacha, &Meeting { peer_epoch: 7, ..base }),
            sealed(9, 3, theirs, chacha, &Meeting { shown: 7, ..base }),
            sealed(9, 3, theirs, chacha, &Meeting { expected: 7, ..base }),
        ];
        assert!(others.iter().all(|other| *other != usual));
    }

    /// Test case 2 of the GCM specification: a key, a nonce and a block of zeros.
    #[test]
    fn the_published_vector_of_gcm() {
        let key = || DataKey::new(Cipher::Aes128Gcm, &[0; 32]).expect("a key");
        let seals = Seals { seal: key(), open: key(), headers: HeaderChecks::new(&[0; 32], &[0; 32]) };
        let mut payload = [0; 16];
        let tag = seals.seal_payload(0, &[], &mut payload).expect("short");
        assert_eq!(payload[..], hex_bytes("0388dace60b6a392f328c2b971b2fe78"));
        assert_eq!(tag[..], hex_bytes("ab6e47d42cec13bdf53a67b21257bddf"));
        let mut sealed = [payload, tag].concat();
        assert_eq!(seals.open_payload(0, &[], &mut sealed), Some(&[0; 16][..]));
    }

    /// The same key, nonce and header in two libraries that have nothing in common.
    #[test]
    fn another_library_seals_the_same() {
        let key: [u8; 32] = std::array::from_fn(|i| i as u8);
        let aes = Aes128Gcm::new(key.first_chunk::<16>().expect("long enough").into());
        let chacha = ChaCha20Poly1305::new(&key.into());
        // No payload, less than a block, a full packet of 1500 bytes and of 9000, and numbers that fill the
        // nonce.
        for (counter, length) in [(0u64, 0usize), (1, 1), (u64::MAX, 15), (1 << 40, 1372), (77, 8872)] {
            let (header, plain) = (vec![counter as u8; 84], vec![0x33; length]);
            let mut nonce = [0; 12];
            nonce[4..].copy_from_slice(&counter.to_be_bytes());
            for cipher in CIPHERS {
                let made = || DataKey::new(cipher, &key).expect("a key");
                let (mut ours, mut theirs) = (plain.clone(), plain.clone());
                let tag =
                    Seals { seal: made(), open: made(), headers: HeaderChecks::new(&[0; 32], &[0; 32]) }
                        .seal_payload(counter, &header, &mut ours)
                        .expect("sealed");
                let room = theirs.as_mut_slice().into();
                let other: [u8; 16] = match cipher {
                    Cipher::Aes128Gcm => {
                        aes.encrypt_inout_detached(&nonce.into(), &header, room).expect("sealed").into()
                    }
                    Cipher::ChaCha20Poly1305 => {
                        chacha.encrypt_inout_detached(&nonce.into(), &header, room).expect("sealed").into()
                    }
                };
                assert!(ours == theirs && tag == other, "{cipher:?}, {length} bytes");
            }
        }
    }

    #[test]
    fn either_end_opens_what_the_other_sealed_and_nothing_else() {
        for (a, b) in CIPHERS.iter().flat_map(|&a| CIPHERS.map(|b| (a, b))) {
            let (one, other) = first_seals(a, b);
            let mut sealed = b"payload".to_vec();
            let tag = one.seal_payload(5, b"header", &mut sealed).expect("sealed");
            sealed.extend(tag);
            assert_eq!(
                other.open_payload(5, b"header", &mut sealed.clone()),
                Some(&b"payload"[..]),
                "{a:?} and {b:?}"
            );
            assert_eq!(other.open_payload(6, b"header", &mut sealed.clone()), None);
            assert_eq!(other.open_payload(5, b"Header", &mut sealed.clone()), None);
            assert_eq!(
                one.open_payload(5, b"header", &mut sealed.clone()),
                None,
                "not what it sealed itself"
            );
            for at in 0..sealed.len() {
                let mut changed = sealed.clone();
                changed[at] ^= 1;
                assert_eq!(other.open_payload(5, b"header", &mut changed), None);
                assert_eq!(other.open_payload(5, b"header", &mut sealed[..at].to_vec()), None);
            }
        }
    }
}
