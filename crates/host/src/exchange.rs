//! The key exchange of a meeting: X25519 (RFC 7748), with a private half that is used once.
//!
//! It cannot be computed again from the two hosts' messages and the key that they share: both private halves are
//! overwritten as soon as they have been used.

use crate::scrub::call_scrubbed;
use headway_packet::session::SHARE_BYTES;
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};
use zeroize::Zeroizing;

/// This endpoint's part of an exchange.
pub(crate) struct Exchange {
    /// Private half, boxed so that no copy is left when a peer's place in the table moves; `None` once it was used.
    private: Option<Box<StaticSecret>>,
    share: [u8; SHARE_BYTES],
}

impl Exchange {
    /// Makes an exchange with a private half of random bytes; `None` if the operating system gives none.
    pub(crate) fn new() -> Option<Exchange> {
        call_scrubbed(|| {
            let mut bytes = Zeroizing::new([0; 32]);
            getrandom::fill(&mut *bytes).ok()?;
            Some(Exchange::from_private(&bytes))
        })
    }

    /// Makes an exchange with this private half.
    pub(crate) fn from_private(bytes: &[u8; 32]) -> Exchange {
        let private = Box::new(StaticSecret::from(*bytes));
        let share = PublicKey::from(&*private).to_bytes();
        Exchange { private: Some(private), share }
    }

    /// The public half.
    pub(crate) fn public_half(&self) -> [u8; SHARE_BYTES] {
        self.share
    }

    /// Secret of both halves; the private one is gone afterwards. `None` when it was used before, and for a share with
    /// which every private half gives the same.
    pub(crate) fn agree_secret(&mut self, theirs: &[u8; SHARE_BYTES]) -> Option<SharedSecret> {
        let secret = self.private.take()?.diffie_hellman(&PublicKey::from(*theirs));
        // RFC 7748, section 6.1: a point of small order gives zeros whatever the private half is.
        secret.was_contributory().then_some(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
    use aws_lc_rs::rand::SystemRandom;

    fn hex_bytes(hex: &str) -> [u8; 32] {
        std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("digits"))
    }

    /// RFC 7748, section 6.1.
    #[test]
    fn the_published_vector_of_x25519() {
        let mut alice = Exchange::from_private(&hex_bytes(
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        ));
        let mut bob = Exchange::from_private(&hex_bytes(
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        ));
        let shares = [
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
        ];
        assert_eq!([alice.public_half(), bob.public_half()], shares.map(hex_bytes));
        let expected = hex_bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        for (one, share) in [(&mut alice, shares[1]), (&mut bob, shares[0])] {
            assert_eq!(one.agree_secret(&hex_bytes(share)).expect("a secret").to_bytes(), expected);
        }
    }

    #[test]
    fn another_library_agrees_with_it() {
        let random = SystemRandom::new();
        for _ in 0..20 {
            let theirs = EphemeralPrivateKey::generate(&X25519, &random).expect("random bytes");
            let share = theirs.compute_public_key().expect("a share");
            let mut ours = Exchange::new().expect("random bytes");
            let public = UnparsedPublicKey::new(&X25519, ours.public_half());
            let secret = ours.agree_secret(share.as_ref().try_into().expect("32 bytes")).expect("a secret");
            let same = agree_ephemeral(theirs, public, (), |other| Ok(other == secret.as_bytes()));
            assert_eq!(same, Ok(true));
        }
    }

    #[test]
    fn a_private_half_is_used_once_and_is_new_each_time() {
        let (mut one, other) = (Exchange::new().expect("random"), Exchange::new().expect("random"));
        assert_ne!(one.public_half(), other.public_half());
        assert!(one.agree_secret(&other.public_half()).is_some());
        assert!(one.agree_secret(&other.public_half()).is_none() && one.private.is_none());
    }

    /// Points of small order: with them the sender of one would know the secret without a private half.
    #[test]
    fn a_share_that_decides_alone_is_refused() {
        let mut one = [0; 32];
        one[0] = 1;
        let order_8 = hex_bytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800");
        for share in [[0; 32], one, order_8] {
            assert!(Exchange::new().expect("random").agree_secret(&share).is_none());
        }
    }
}
