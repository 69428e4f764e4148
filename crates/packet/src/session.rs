//! Fields of real hosts between the header and the payload, and the handshake by which hosts meet.
//!
//! A datagram between hosts is the header, the [`Session`] fields, the payload and, where it is sealed, the tag of the
//! seal. Datagrams of the handshake ([`Handshake`]) begin with a byte that is not [`crate::WIRE_VERSION`]. Where a key
//! is shared, a confirmation and an acceptance carry the public half of a key exchange; otherwise all have one length,
//! so that no answer is longer than its question. The places of their fields are the same in every version from
//! [`SESSION_VERSION`] 2 on, and so is the length of hello, welcome, stale and refuse, so that a host of another
//! version can be refused by name. The meaning of the values and the time at which each datagram is sent are the
//! business of the driver that talks to real hosts.
//!
//! **Panics: none**, for any bytes.

use crate::fields::{U16, U64, wire_fields};
use crate::header::{WIRE_HEADER, WIRE_VERSION};
use std::fmt;
use std::mem::{offset_of, size_of};
use std::ops::{Deref, DerefMut, Range};

/// Bytes of the session fields.
pub const SESSION_HEADER: usize = size_of::<SessionFields>();

/// Bytes of header and session: the part of a packet that a seal covers in addition to its payload.
pub const WIRE_FRONT: usize = WIRE_HEADER + SESSION_HEADER;

/// Bytes of a datagram of the handshake without a share: fewer than the smallest packet with a session.
pub const HANDSHAKE_BYTES: usize = size_of::<HandshakeFields>();

/// Bytes of the public half of a key exchange, by X25519.
pub const SHARE_BYTES: usize = size_of::<ShareFields>();

/// Bytes of the longest datagram of the handshake: a confirmation or an acceptance with a share.
pub const LONGEST_HANDSHAKE: usize = HANDSHAKE_BYTES + SHARE_BYTES;

const _: () =
    assert!(HANDSHAKE_BYTES <= WIRE_HEADER + SESSION_HEADER, "no answer is longer than its question");

/// First byte of a handshake, less its kind.
// The same byte of a packet is its version, which stays below.
pub const HANDSHAKE_BASE: u8 = 0x80;

/// Version of the handshake between hosts without a shared key; [`WIRE_VERSION`] is that of the packet.
pub const SESSION_VERSION: u8 = 2;

/// Version of the handshake between hosts with a shared key, and of the bytes that a seal covers.
pub const SEALED_SESSION_VERSION: u8 = 3;

/// Fields between header and payload on a real network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Incarnation of the sender towards this receiver; another one after a restart.
    pub src_epoch: u64,
    /// Value that the receiver gave the sender to show: proves that the sender hears at its address.
    pub cookie: u64,
    /// Number of the datagram from this sender to this receiver, never used twice. In a sealed session the upper half
    /// is the generation of the keys, and the lower half the number among those of that generation.
    pub counter: u64,
}

impl Session {
    /// The fields at the front of `bytes`; `None` when these are too few.
    pub fn parse(bytes: &[u8]) -> Option<Session> {
        let (SessionFields { src_epoch, cookie, counter }, _) = SessionFields::split_front(bytes)?;
        Some(Session { src_epoch: src_epoch.get(), cookie: cookie.get(), counter: counter.get() })
    }

    /// The fields in bytes.
    pub fn to_bytes(&self) -> [u8; SESSION_HEADER] {
        let (src_epoch, cookie) = (self.src_epoch.into(), self.cookie.into());
        SessionFields { src_epoch, cookie, counter: self.counter.into() }.to_bytes()
    }
}

/// Kind of a datagram of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HandshakeKind {
    /// First contact: here is the cookie to show me.
    Hello = 0,
    /// Answer to a hello, without any state kept: here is mine.
    Welcome = 1,
    /// Answer to a welcome: shows the cookie, and gives the sender's own once more.
    Confirm = 2,
    /// Answer to a confirmation: data may come.
    Accept = 3,
    /// Answer to a datagram with a cookie that is not, or no longer, the right one.
    Stale = 4,
    /// Answer to a hello or a confirmation with other terms: these are mine.
    Refuse = 5,
}

impl HandshakeKind {
    /// Every kind, in wire order.
    pub const ALL: [HandshakeKind; 6] = [
        HandshakeKind::Hello,
        HandshakeKind::Welcome,
        HandshakeKind::Confirm,
        HandshakeKind::Accept,
        HandshakeKind::Stale,
        HandshakeKind::Refuse,
    ];

    /// True if it carries a share where a key is shared.
    pub fn has_share(self) -> bool {
        // No key exchange is computed before the other end has shown a cookie.
        matches!(self, HandshakeKind::Confirm | HandshakeKind::Accept)
    }
}

/// Name of a transport on the wire: bytes behind which there are zeros. A peer's name for its transport need not be a
/// name that this version knows, nor text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TransportName([u8; TransportName::LONGEST]);

impl TransportName {
    /// Bytes of the longest name.
    // With it the fields of a handshake are 80 bytes.
    pub const LONGEST: usize = 26;

    /// `name`, unless it is too long.
    pub fn new(name: &str) -> Option<TransportName> {
        let mut bytes = [0; TransportName::LONGEST];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Some(TransportName(bytes))
    }
}

/// Printable for any bytes.
impl fmt::Display for TransportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A peer's name may hold control characters, and messages print it on terminals.
        write!(f, "{}", self.0.trim_ascii_end().split(|&b| b == 0).next().unwrap_or_default().escape_ascii())
    }
}

impl fmt::Debug for TransportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

/// Versions that two hosts must have in common. Every handshake carries its sender's, at the same place in
/// every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// [`WIRE_VERSION`] of the sender.
    pub wire: u8,
    /// [`SESSION_VERSION`] of the sender, or [`SEALED_SESSION_VERSION`].
    pub session: u8,
    /// Bytes of its largest IP packet.
    pub mtu: u16,
    /// Name of the transport that the host runs.
    pub transport: TransportName,
}

impl Terms {
    /// The terms of this version without a key; `None` when the transport's name is too long.
    pub fn new(transport: &str, mtu: u16) -> Option<Terms> {
        let transport = TransportName::new(transport)?;
        Some(Terms { wire: WIRE_VERSION, session: SESSION_VERSION, mtu, transport })
    }

    /// The terms of a host with a key.
    pub fn with_seal(self) -> Terms {
        Terms { session: SEALED_SESSION_VERSION, ..self }
    }
}

/// A datagram of the handshake; all kinds have all fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Kind of the handshake datagram.
    pub kind: HandshakeKind,
    /// Versions that the sender runs.
    pub terms: Terms,
    /// The cipher that the sender would rather seal with; 0 where no key is shared.
    pub cipher: u8,
    /// Incarnation of the sender.
    pub epoch: u64,
    /// Incarnation of the receiver, as the sender knows it; 0 when it does not.
    pub peer_epoch: u64,
    /// The receiver's cookie, shown back to it; 0 in a hello. In a stale answer, the wrong one that it answers.
    pub shown: u64,
    /// The cookie that the receiver is to show from now on.
    pub offered: u64,
    /// Authentication of all the rest; zero where no key is shared.
    pub mac: [u8; 16],
    /// Public half of the sender's key exchange; `Some` in kinds that have one, where a key is shared.
    pub share: Option<[u8; SHARE_BYTES]>,
}

/// The bytes of a [`Handshake`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeBytes {
    bytes: [u8; LONGEST_HANDSHAKE],
    has_share: bool,
}

impl Deref for HandshakeBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..if self.has_share { LONGEST_HANDSHAKE } else { HANDSHAKE_BYTES }]
    }
}

impl DerefMut for HandshakeBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..if self.has_share { LONGEST_HANDSHAKE } else { HANDSHAKE_BYTES }]
    }
}

/// Bytes of the authentication.
const MAC: Range<usize> = offset_of!(HandshakeFields, mac)..HANDSHAKE_BYTES;

impl Handshake {
    /// The handshake that `bytes` are; `None` when they are none.
    pub fn parse(bytes: &[u8]) -> Option<Handshake> {
        let (fields, rest) = HandshakeFields::split_front(bytes)?;
        // Below the base the first byte is the version of a packet.
        let kind = fields.handshake.checked_sub(HANDSHAKE_BASE)?;
        let kind = *HandshakeKind::ALL.get(usize::from(kind))?;
        // Bytes behind the fields are a share or the datagram is refused.
        let share = match rest {
            [] => None,
            rest if kind.has_share() => match ShareFields::split_front(rest)? {
                (ShareFields { share }, []) => Some(share),
                _ => return None,
            },
            _ => return None,
        };
        let terms = Terms {
            wire: fields.version,
            session: fields.session,
            mtu: fields.mtu.get(),
            transport: TransportName(fields.transport),
        };
        Some(Handshake {
            kind,
            terms,
            cipher: fields.cipher,
            epoch: fields.epoch.get(),
            peer_epoch: fields.peer_epoch.get(),
            shown: fields.shown.get(),
            offered: fields.offered.get(),
            mac: fields.mac,
            share,
        })
    }

    /// The datagram; a share in a kind that has none is left out.
    pub fn to_bytes(&self) -> HandshakeBytes {
        let fields = HandshakeFields {
            handshake: HANDSHAKE_BASE + self.kind as u8,
            version: self.terms.wire,
            session: self.terms.session,
            cipher: self.cipher,
            mtu: self.terms.mtu.into(),
            transport: self.terms.transport.0,
            epoch: self.epoch.into(),
            peer_epoch: self.peer_epoch.into(),
            shown: self.shown.into(),
            offered: self.offered.into(),
            mac: self.mac,
        };
        let mut bytes = [0; LONGEST_HANDSHAKE];
        let (front, rest) = bytes.split_at_mut(HANDSHAKE_BYTES);
        front.copy_from_slice(&fields.to_bytes());
        let share = self.share.filter(|_| self.kind.has_share());
        rest.copy_from_slice(&ShareFields { share: share.unwrap_or([0; SHARE_BYTES]) }.to_bytes());
        HandshakeBytes { bytes, has_share: share.is_some() }
    }

    /// Place of the authentication in a handshake's bytes; `None` when they are too few.
    pub fn mac_mut(bytes: &mut [u8]) -> Option<&mut [u8]> {
        bytes.get_mut(MAC)
    }

    /// The bytes of a handshake that its authentication covers, in two pieces, and the authentication; `None` when
    /// they are too few.
    pub fn covered_bytes(bytes: &[u8]) -> Option<([&[u8]; 2], &[u8])> {
        let (front, share) = bytes.split_at_checked(HANDSHAKE_BYTES)?;
        // In two pieces, because the authentication lies between them.
        Some(([&front[..MAC.start], share], &front[MAC]))
    }
}

const HANDSHAKE_NAMES: &[(u64, &str)] = &[
    (0x80, "hello"),
    (0x81, "welcome"),
    (0x82, "confirm"),
    (0x83, "accept"),
    (0x84, "stale"),
    (0x85, "refuse"),
    (0x86, "addresses"),
    (0x87, "challenge"),
    (0x88, "answer"),
];
const CIPHER_NAMES: &[(u64, &str)] = &[(0, "none"), (1, "chacha20-poly1305"), (2, "aes-128-gcm")];

wire_fields! {
    /// The session fields, in order and without gaps; offsets count from the start of the packet.
    SESSION_FIELDS of SessionFields from WIRE_HEADER;
    src_epoch: U64, "Incarnation of the sender, a random number";
    cookie: U64, "Value that the receiver gave the sender to show";
    counter: U64, "Number of the datagram from this sender to this receiver; with a key, the upper half is the keys' generation";
}

wire_fields! {
    /// The fields of a handshake, in order and without gaps.
    HANDSHAKE_FIELDS of HandshakeFields from 0;
    #[values(HANDSHAKE_NAMES)]
    handshake: u8, "Kind of the handshake datagram";
    version: u8, "Version of the packet's header that the sender runs";
    session: u8, "Version of the handshake and of the seal: 2 without a key, 3 with one";
    #[values(CIPHER_NAMES)]
    cipher: u8, "Cipher that the sender would rather seal with";
    mtu: U16, "Bytes of the sender's largest IP packet";
    transport: [u8; 26], "Name of the sender's transport, zeros behind it";
    epoch: U64, "Incarnation of the sender";
    peer_epoch: U64, "Incarnation of the receiver as the sender knows it, or 0";
    shown: U64, "Cookie of the receiver, shown back to it";
    offered: U64, "Cookie that the receiver is to show from now on";
    mac: [u8; 16], "Authentication of the other bytes, zero without a key";
}

wire_fields! {
    /// Fields that follow in a confirmation or an acceptance where hosts share a key.
    SHARE_FIELDS of ShareFields from HANDSHAKE_BYTES;
    share: [u8; 32], "Public half of the sender's key exchange (X25519), in `confirm` and `accept` with a key";
}
