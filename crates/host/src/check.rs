//! The check of a sealed data packet's header, which stands when a switch has cut the payload off.
//!
//! The seal of the payload is gone with the payload. So data packets carry a second, shorter authenticator, of the
//! session and of the header's fields that no switch may change ([`covered_of_cut`]): SipHash-2-4 under a key of its
//! own for each direction of a meeting. Its 64 bits decide about one thing, whether the transport hears that this
//! packet lost its payload, and each datagram's number is believed once; a forger's chance is 2^-64 a datagram.

use headway_packet::{HEADER_CHECK, WIRE_FRONT, covered_of_cut};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use zeroize::Zeroizing;

/// The key of one direction, overwritten when it is dropped.
type CheckKey = Zeroizing<[u8; 16]>;

/// Keys of both directions.
pub(crate) struct HeaderChecks {
    /// Key for the headers that this endpoint sends.
    own: CheckKey,
    /// Key for the headers that the peer sends.
    peer: CheckKey,
}

impl HeaderChecks {
    /// Makes the checks from a key for each direction.
    pub(crate) fn new(own: &[u8; 32], peer: &[u8; 32]) -> HeaderChecks {
        let keyed = |key: &[u8; 32]| {
            let mut short = Zeroizing::new([0; 16]);
            // HKDF gives 32 bytes and SipHash takes 16; any part of HKDF's output is as good as another.
            short.copy_from_slice(&key[..16]);
            short
        };
        HeaderChecks { own: keyed(own), peer: keyed(peer) }
    }

    /// The check of a data packet that is sent from here.
    pub(crate) fn make_check(&self, front: &[u8; WIRE_FRONT]) -> [u8; HEADER_CHECK] {
        header_check(&self.own, front)
    }

    /// True if the peer made this check; or this endpoint itself, of a header that a switch `returned`.
    pub(crate) fn is_genuine(&self, returned: bool, front: &[u8; WIRE_FRONT], said: &[u8]) -> bool {
        let key = if returned { &self.own } else { &self.peer };
        let Ok(said) = <[u8; HEADER_CHECK]>::try_from(said) else { return false };
        // One comparison of two numbers: it takes as long whichever bit differs.
        u64::from_be_bytes(header_check(key, front)) ^ u64::from_be_bytes(said) == 0
    }
}

fn header_check(key: &CheckKey, front: &[u8; WIRE_FRONT]) -> [u8; HEADER_CHECK] {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(&covered_of_cut(front));
    hasher.finish().to_be_bytes()
}
