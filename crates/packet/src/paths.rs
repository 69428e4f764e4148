//! Datagrams by which hosts announce that they have several addresses, and prove a path between two of them.
//!
//! These datagrams begin as those of a handshake ([`crate::session`]): terms, epochs, cookies and authentication stand at the
//! same places. They therefore belong to one meeting and, where a key is shared, come from a host that has it. Their kinds
//! follow those of the handshake; hosts older than [`PATHS_VERSION`] 1 drop them. Hosts with one address each never send any.
//!
//! An answer is never longer than its challenge. Zeros may follow the fields of a challenge: its answer shows that the path
//! carries datagrams of that length.
//!
//! **Panics: none**, whatever the bytes.

use crate::fields::{U16, U64, wire_fields};
use crate::session::{HANDSHAKE_BASE, HANDSHAKE_BYTES, Handshake, HandshakeKind};
use std::mem::{offset_of, size_of};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Version of these datagrams.
pub const PATHS_VERSION: u8 = 1;

/// Addresses in a list at most.
pub const MOST_ADDRESSES: usize = 8;

/// Bytes of a challenge that shows nothing of how long datagrams may be, and of an answer.
pub const CHALLENGE_BYTES: usize = HANDSHAKE_BYTES + size_of::<PathFields>();

/// Bytes of the longest list.
pub const LONGEST_LIST: usize = CHALLENGE_BYTES + MOST_ADDRESSES * size_of::<AddressFields>();

/// Kind of a datagram about paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PathKind {
    /// The sender's addresses, and which list of the receiver's it has.
    Addresses = 6,
    /// Asks for an answer from the address at which it arrives.
    Challenge = 7,
    /// Answer to a challenge, from the address that the challenge came to.
    Answer = 8,
}

impl PathKind {
    /// Every kind, in wire order.
    pub const ALL: [PathKind; 3] = [PathKind::Addresses, PathKind::Challenge, PathKind::Answer];
}

/// A datagram about paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSaid {
    /// The front, as a handshake has it. Its kind means nothing.
    pub front: Handshake,
    /// Kind of the datagram.
    pub kind: PathKind,
    /// In a list, its number among those of its sender in this meeting, from 1; in a challenge, a random number; in an
    /// answer, that of the challenge.
    pub number: u64,
    /// In a list, the number of the last list of the receiver that the sender has, 0 for none; in an answer, bytes of
    /// the challenge as it arrived; 0 in a challenge.
    pub heard: u64,
    /// In a list: true if the address at which the receiver met the sender is still one of its addresses.
    pub home: bool,
    /// In a list: true if its sender does not know yet that the receiver has it, and wants the receiver's in return.
    pub asks: bool,
    /// Addresses of a list; empty in other kinds.
    pub addresses: Vec<SocketAddr>,
}

/// True if a datagram is one about paths, by its first byte.
pub fn is_about_paths(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|&first| kind_of(first).is_some())
}

fn kind_of(first: u8) -> Option<PathKind> {
    PathKind::ALL.into_iter().find(|kind| first == HANDSHAKE_BASE + *kind as u8)
}

impl PathSaid {
    /// Reads a datagram about paths; `None` for any other, or one of another version.
    pub fn parse(bytes: &[u8]) -> Option<PathSaid> {
        let kind = kind_of(*bytes.first()?)?;
        let (front, rest) = bytes.split_at_checked(HANDSHAKE_BYTES)?;
        // A handshake's parser refuses these kinds, and is shown a hello in their place.
        let mut front: Vec<u8> = front.to_vec();
        *front.first_mut()? = HANDSHAKE_BASE + HandshakeKind::Hello as u8;
        let front = Handshake::parse(&front)?;
        let (fields, rest) = PathFields::split_front(rest)?;
        if fields.paths != PATHS_VERSION || fields.flags & !(HOME | ASKS) != 0 {
            return None;
        }
        let count = usize::from(fields.count);
        let known = match kind {
            PathKind::Addresses => {
                count <= MOST_ADDRESSES && rest.len() == count * size_of::<AddressFields>()
            }
            // Zeros may follow, up to the length of datagrams that the challenge tests.
            PathKind::Challenge => count == 0,
            PathKind::Answer => count == 0 && rest.is_empty(),
        };
        if !known {
            return None;
        }
        // The zeros behind a challenge are left out by its count, which is 0.
        let list = rest.chunks_exact(size_of::<AddressFields>()).take(count);
        let addresses =
            list.map(|bytes| AddressFields::split_front(bytes).map(|(fields, _)| fields.to_address()));
        Some(PathSaid {
            front,
            kind,
            number: fields.number.get(),
            heard: fields.heard.get(),
            home: fields.flags & HOME != 0,
            asks: fields.flags & ASKS != 0,
            addresses: addresses.collect::<Option<_>>()?,
        })
    }

    /// The datagram, with zeros up to `length` bytes where that is longer, and no authentication. It takes the first
    /// [`MOST_ADDRESSES`] addresses.
    pub fn to_bytes(&self, length: usize) -> Vec<u8> {
        let front = Handshake { kind: HandshakeKind::Hello, share: None, ..self.front };
        let mut bytes = front.to_bytes().to_vec();
        bytes[0] = HANDSHAKE_BASE + self.kind as u8;
        let said = &self.addresses[..self.addresses.len().min(MOST_ADDRESSES)];
        let fields = PathFields {
            number: self.number.into(),
            heard: self.heard.into(),
            paths: PATHS_VERSION,
            count: said.len() as u8,
            flags: if self.home { HOME } else { 0 } | if self.asks { ASKS } else { 0 },
            reserved: 0,
        };
        bytes.extend_from_slice(&fields.to_bytes());
        for address in said {
            bytes.extend_from_slice(&AddressFields::from_address(*address).to_bytes());
        }
        bytes.resize(bytes.len().max(length), 0);
        bytes
    }
}

impl AddressFields {
    fn from_address(address: SocketAddr) -> AddressFields {
        // Both kinds of addresses take the same room, so that a list is a table.
        let ip = match address {
            SocketAddr::V4(v4) => v4.ip().to_ipv6_mapped(),
            SocketAddr::V6(v6) => *v6.ip(),
        };
        AddressFields { address: ip.octets(), port: address.port().into() }
    }

    fn to_address(self) -> SocketAddr {
        // IPv4 addresses travel as mapped ones; sockets compare the plain form.
        SocketAddr::new(IpAddr::V6(Ipv6Addr::from(self.address)).to_canonical(), self.port.get())
    }
}

/// The flag of a list that says [`PathSaid::home`].
const HOME: u8 = 1;
/// The flag of a list that says [`PathSaid::asks`].
const ASKS: u8 = 2;
const FLAG_NAMES: &[(u64, &str)] = &[(HOME as u64, "home"), (ASKS as u64, "asks")];

wire_fields! {
    /// Fields that follow the front of a datagram about paths.
    PATH_FIELDS of PathFields from HANDSHAKE_BYTES;
    number: U64, "Of a list, its number, which grows; of a challenge and its answer, a random number";
    heard: U64, "Of a list, the number of the receiver's list that the sender has; of an answer, bytes of the challenge";
    paths: u8, "Version of datagrams about paths: 1";
    count: u8, "Addresses that follow";
    #[values(FLAG_NAMES)]
    flags: u8, "home: the address where the two met is still one of the sender's; asks: a list is wanted in return";
    reserved: u8, "Zero";
}

wire_fields! {
    /// An address of a list; offsets are those of the first.
    ADDRESS_FIELDS of AddressFields from HANDSHAKE_BYTES + size_of::<PathFields>();
    address: [u8; 16], "Address of the sender, IPv4 as ::ffff:a.b.c.d";
    port: U16, "UDP port there";
}
