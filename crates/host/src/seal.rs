//! Cookies, and what a shared key protects.
//!
//! Handshakes carry an HMAC under a key made from the shared one. Data is sealed with ChaCha20-Poly1305: one
//! key for each direction and meeting of two incarnations, made by HKDF from the shared key, both epochs and
//! both cookies. The cookies come from secrets that die with their process, so that no two meetings have the
//! same keys even if clocks went back; the nonce is the datagram's number, which is never used twice.

use crate::check::HeaderChecks;
use crate::config::PreSharedKey;
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit, Nonce, Tag};
use headway_packet::SEAL_TAG;
use headway_packet::session::{HANDSHAKE_BYTES, Handshake};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::SocketAddrV4;

/// A process's own secret, from which its cookies come.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 16]);

impl Secret {
    /// The cookie that the host at `address` is to show while this endpoint's incarnation is `epoch`; never 0.
    pub(crate) fn cookie(&self, address: SocketAddrV4, epoch: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&address.ip().octets());
        hasher.write(&address.port().to_be_bytes());
        hasher.write(&epoch.to_be_bytes());
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
}

/// What is made from a shared key.
pub(crate) struct Authority {
    root: Hkdf<Sha256>,
    handshake: Hmac<Sha256>,
}

/// Sealing one way, opening the other.
pub(crate) struct Seals {
    seal: ChaCha20Poly1305,
    open: ChaCha20Poly1305,
    pub(crate) headers: HeaderChecks,
}

impl Authority {
    pub(crate) fn new(key: &PreSharedKey) -> Authority {
        let root = Hkdf::<Sha256>::new(Some(b"headway host 1"), &key.0);
        let handshake = Hmac::<Sha256>::new_from_slice(&expand(&root, &[b"handshake"]));
        Authority { root, handshake: handshake.unwrap_or_else(|_| unreachable!("any length will do")) }
    }

    /// Authenticates a handshake.
    pub(crate) fn sign(&self, bytes: &mut [u8; HANDSHAKE_BYTES]) {
        let mut mac = self.handshake.clone();
        mac.update(Handshake::covered(bytes));
        let code = mac.finalize().into_bytes();
        let place = HANDSHAKE_BYTES - SEAL_TAG;
        bytes[place..].copy_from_slice(&code[..SEAL_TAG]);
    }

    /// Whether a handshake comes from a holder of the key.
    pub(crate) fn is_genuine(&self, bytes: &[u8; HANDSHAKE_BYTES]) -> bool {
        let mut mac = self.handshake.clone();
        mac.update(Handshake::covered(bytes));
        mac.verify_truncated_left(&bytes[HANDSHAKE_BYTES - SEAL_TAG..]).is_ok()
    }

    /// The keys of a meeting.
    pub(crate) fn seals(&self, m: &Meeting) -> Seals {
        let own = [m.local_epoch, m.peer_epoch, m.expected, m.shown].map(u64::to_be_bytes);
        let peer = [m.peer_epoch, m.local_epoch, m.shown, m.expected].map(u64::to_be_bytes);
        let key = |numbers: &[[u8; 8]; 4]| {
            ChaCha20Poly1305::new(&Key::from(expand(&self.root, &[b"data", numbers.as_flattened()])))
        };
        let check = |numbers: &[[u8; 8]; 4]| expand(&self.root, &[b"header", numbers.as_flattened()]);
        Seals { seal: key(&own), open: key(&peer), headers: HeaderChecks::new(&check(&own), &check(&peer)) }
    }
}

fn expand(root: &Hkdf<Sha256>, info: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 32];
    let expanded = root.expand_multi_info(info, &mut key);
    debug_assert!(expanded.is_ok(), "32 bytes are not too many");
    key
}

fn nonce(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::from(nonce)
}

impl Seals {
    /// Seals `payload` in place; answers the tag that goes behind it. `None` cannot happen for payload of a
    /// datagram's length.
    pub(crate) fn seal(&self, counter: u64, header: &[u8], payload: &mut [u8]) -> Option<[u8; SEAL_TAG]> {
        let tag = self.seal.encrypt_inout_detached(&nonce(counter), header, payload.into());
        tag.ok().map(Into::into)
    }

    /// Opens `sealed`, payload and tag, in place; the payload if it is genuine.
    pub(crate) fn open<'a>(&self, counter: u64, header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let length = sealed.len().checked_sub(SEAL_TAG)?;
        let (payload, tag) = sealed.split_at_mut(length);
        let tag: [u8; SEAL_TAG] = (&*tag).try_into().ok()?;
        let opened = self.open.decrypt_inout_detached(
            &nonce(counter),
            header,
            (&mut *payload).into(),
            &Tag::from(tag),
        );
        opened.ok().map(|()| &*payload)
    }
}
