//! Configuration of an endpoint.

use crate::address::header_bytes;
use crate::key::PreSharedKey;
use crate::message_event::MessageEvent;
use crate::pace::Pace;
use crate::path_event::PathEvent;
use crate::seal::Cipher;
use crate::stream::SinkOf;
use headway_packet::session::HANDSHAKE_BYTES;
use headway_packet::{Envelope, PacketKind, STAMPS_BYTES, Sizes, WIRE_HEADER};
use headway_params::ParamValue;
use headway_transport::Path;
use headway_units::{Rate, Time};
use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Admission of peers to an endpoint.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Admission {
    /// Processes of this machine; the endpoint binds to loopback addresses only.
    #[default]
    Loopback,
    /// Hosts with an address in one of these networks. Nothing is encrypted or authenticated.
    Prefixes(Vec<IpNet>),
    /// Hosts that share this key, wherever they are. Headers are authenticated, payload is sealed.
    PreSharedKey(PreSharedKey),
}

impl Admission {
    /// True if a host with this address may be heard at all.
    pub fn admits(&self, address: IpAddr) -> bool {
        match self {
            Admission::Loopback => address.is_loopback(),
            Admission::Prefixes(prefixes) => prefixes.iter().any(|prefix| prefix.contains(&address)),
            Admission::PreSharedKey(_) => true,
        }
    }

    /// True if payload is sealed.
    pub fn seals(&self) -> bool {
        matches!(self, Admission::PreSharedKey(_))
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Admission::Loopback => f.write_str("Loopback"),
            Admission::Prefixes(prefixes) => f.debug_tuple("Prefixes").field(prefixes).finish(),
            Admission::PreSharedKey(_) => f.write_str("PreSharedKey(..)"),
        }
    }
}

/// Bounds of an endpoint's memory. Messages and datagrams beyond them are refused or dropped, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of messages being sent, being received, and received but not taken by the application.
    pub total_bytes: u64,
    /// Bytes of such messages to and from one peer.
    pub peer_bytes: u64,
    /// Length in bytes of the longest message that is sent or accepted.
    pub message_bytes: u64,
    /// Messages to one peer that its transport works on at a time, and from one peer; further ones to it wait.
    pub peer_messages: u32,
    /// Peers. The one longest silent makes room for a new one if nothing is under way with it.
    pub peers: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            total_bytes: 1 << 30,
            // A quarter of the total: one peer must not take the memory of all others.
            peer_bytes: 256 << 20,
            message_bytes: 64 << 20,
            peer_messages: 256,
            peers: 4096,
        }
    }
}

/// Source of the base round trip of a path, by which transports size windows and time-outs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RoundTrip {
    /// The least of several that are measured when two endpoints have met, and now and then while they exchange messages: of
    /// eight in a row the second shortest counts. Until the first is there, what [`Config::path`] says. Never less than [`Config::path_to`] says, because
    /// that is about one path, and the properties of a path are known there.
    #[default]
    Measured,
    /// Values of [`Config::path`] and [`Config::path_to`], without measurement. Transports whose hosts count rounds of
    /// time together, as dcPIM, always have this: measured times differ from host to host.
    Given,
}

/// Time at which two endpoints that share a key renew the keys of their session: with the next datagram after so many,
/// or after such a time. An endpoint that sends nothing renews nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Datagrams that an endpoint seals with one generation of keys, from 1 to 2^31; more only while the peer has not
    /// answered the renewal before, or sooner than [`Renewal::late`] after it.
    pub datagrams: u32,
    /// Time for which an endpoint seals with one generation, from [`Renewal::late`] on; longer only while it sends
    /// nothing or is not answered.
    pub time: Time,
    /// Time for which keys of before are kept for datagrams that arrive late, from 1 us to 1000 s. Keys are not renewed
    /// sooner than that after the last time.
    pub late: Time,
}

impl Default for Renewal {
    fn default() -> Self {
        Renewal { datagrams: 1 << 20, time: Time::s(60), late: Time::s(1) }
    }
}

/// Default upper limit of a transport's time-out that doubles while its peer is silent: people and callers wait for
/// real hosts, and a packet a second for a message that has waited for so long is a negligible load.
const LONGEST_TIMEOUT: Time = Time::s(1);

/// [`Config::progress_timeout`] counts so many times while other messages to the same peer progress.
pub const STALL_FACTOR: u64 = 10;

/// Assumption about the path to a peer; `None` = the default of [`Config::path`].
pub type PathOf = Arc<dyn Fn(SocketAddr) -> Option<Path> + Send + Sync>;

/// A time that is known of some peers.
pub type RoundTripOf = Arc<dyn Fn(SocketAddr) -> Option<Time> + Send + Sync>;

/// Hears the events of messages, on whichever thread drives the endpoint: it must not wait.
pub type Observer = Arc<dyn Fn(&MessageEvent) + Send + Sync>;

/// Hears what happens to paths, as an [`Observer`] hears of messages.
pub type PathObserver = Arc<dyn Fn(&PathEvent) + Send + Sync>;

/// Everything an endpoint is told. [`Config::default`] is AMRT between processes of one machine.
#[derive(Clone)]
pub struct Config {
    /// Name of the transport in its registry.
    pub transport: String,
    /// Its parameters that differ from their defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Port discipline of this host's own link; `None` = the one that the transport is meant to run over.
    pub discipline: Option<String>,
    /// Parameters of the discipline that differ from their defaults.
    pub discipline_params: Vec<(String, ParamValue)>,
    /// Rate of this host's link, or of all links together: packets leave no faster. `None` = what the kernel says of the interfaces
    /// whose addresses the endpoint has, and [`Pace::UNPACED`] where it knows none; [`crate::Endpoint::pace`] says which.
    pub nic: Option<Rate>,
    /// Full packets by which the departures may lag behind the link, and be caught up with at once.
    pub catch_up: u32,
    /// Largest IP packet on every path, in bytes.
    pub mtu: u16,
    /// Assumptions about the path to any peer. A bottleneck faster than this host's link counts as that.
    pub path: Path,
    /// Assumptions about the path to some peers.
    pub path_to: Option<PathOf>,
    /// Round trips of [`handshake_wire`] bytes each way on the paths that [`Config::path_to`] says, through empty queues.
    /// If one is known, the excess of the measured one is added to the path's base round trip; otherwise
    /// what a full packet takes longer than a handshake is estimated.
    pub handshake_to: Option<RoundTripOf>,
    /// Source of their base round trips. A measured one moves [`Path::max_rtt`] along.
    pub round_trip: RoundTrip,
    /// True if long messages of about one length to one peer are sent one after the other, as whole as their transport
    /// sends them: each begins when all packets of the one before have left. Otherwise all are under way at once.
    pub turns: bool,
    /// Admission of peers to this endpoint.
    pub admission: Admission,
    /// Another key that peers may share instead of the one in [`Config::admission`], while keys change: first all hosts get the
    /// new one as this, then as theirs with the old one as this, then the old one goes.
    /// [`ConfigError::OtherKeyAlone`](crate::ConfigError::OtherKeyAlone) with any other admission.
    pub other_key: Option<PreSharedKey>,
    /// Times at which the keys of sessions are renewed.
    pub renewal: Renewal,
    /// Bounds of its memory.
    pub limits: Limits,
    /// More addresses of this host, for more paths to peers that have several or know what to do with them: each has a socket of its
    /// own. With port 0, one that differs from the endpoint's has the endpoint's port, and the same address once more any port.
    pub addresses: Vec<SocketAddr>,
    /// True if its addresses follow the interfaces of this host: one that an interface loses is removed, and added again when it
    /// is back. Otherwise [`crate::Endpoint::add_address`] and [`crate::Endpoint::remove_address`] alone change them.
    pub follow_interfaces: bool,
    /// Without an answer for so long, a path counts as dead, and what is meant for it takes another. A quarter of that is between two
    /// challenges while something is under way.
    pub path_timeout: Time,
    /// Silence of a peer, with something under way, after which it counts as unreachable.
    pub peer_timeout: Time,
    /// Time for which a message that the transport works on may be without progress: nothing of it sent for the first
    /// time, and nothing newly acknowledged. Then it fails, and with the last message to a peer the peer, which
    /// answers and takes none of them. [`STALL_FACTOR`] times as long while other messages to the same peer progress, because
    /// transports that serve the shortest first let the others wait.
    pub progress_timeout: Time,
    /// Time for which a thread that waits for a small message polls for datagrams before it sleeps. Waking a
    /// thread takes longer than a message's way through the network: this saves it, and costs a processor meanwhile. There
    /// must be more processors than threads that wait so.
    pub spin: Time,
    /// Longest wait of a call for its reply.
    pub call_timeout: Time,
    /// Cipher for payload where a key is shared, if the peer would rather use the same; ChaCha20-Poly1305 otherwise.
    pub cipher: Cipher,
    /// Incarnation of this endpoint, another one than any before at the same address; `None` = a random number.
    pub epoch: Option<u64>,
    /// The reading of the machine's monotonic clock at which this endpoint's time is zero, in nanoseconds, so
    /// that several processes share it; `None` = when it is bound.
    pub origin_ns: Option<u64>,
    /// True if switches on every path write stamps into packets that have room for them (in-band telemetry, as the
    /// testbed's switch does). Transports that set their rate by stamps are refused otherwise.
    pub telemetry: bool,
    /// Hears the events of messages.
    pub observer: Option<Observer>,
    /// Hears what happens to paths.
    pub path_observer: Option<PathObserver>,
    /// File that takes what happens to messages, as qlog (JSON text sequences): one of its own for each endpoint. `headway report
    /// FILE` draws it. It is whole when the endpoint is dropped.
    pub trace_file: Option<PathBuf>,
    /// Takes the bytes of messages that are not to be put together in memory; those are received empty. Calls cannot be
    /// taken so.
    pub sinks: Option<SinkOf>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            transport: "amrt".into(),
            params: Vec::new(),
            discipline: None,
            discipline_params: Vec::new(),
            nic: None,
            catch_up: 32,
            mtu: 1500,
            path: Path {
                longest_timeout: LONGEST_TIMEOUT,
                base_rtt: Time::us(100),
                max_rtt: Time::ms(5),
                // So fast that the host's own link counts unless a slower one is set: see `path_over`.
                bottleneck: Rate::gbps(400),
                paths: 0,
                hops: 0,
            },
            path_to: None,
            handshake_to: None,
            round_trip: RoundTrip::Measured,
            turns: true,
            admission: Admission::Loopback,
            other_key: None,
            renewal: Renewal::default(),
            limits: Limits::default(),
            addresses: Vec::new(),
            follow_interfaces: false,
            path_timeout: Time::ms(200),
            peer_timeout: Time::s(30),
            progress_timeout: Time::s(60),
            spin: Time::ZERO,
            call_timeout: Time::s(60),
            cipher: Cipher::fastest(),
            epoch: None,
            origin_ns: None,
            telemetry: false,
            observer: None,
            path_observer: None,
            trace_file: None,
            sinks: None,
        }
    }
}

impl Config {
    /// The keys that peers may share, the one that is tried first in front.
    pub(crate) fn shared_keys(&self) -> impl Iterator<Item = &PreSharedKey> {
        let key = match &self.admission {
            Admission::PreSharedKey(key) => Some(key),
            Admission::Loopback | Admission::Prefixes(_) => None,
        };
        key.into_iter().chain(&self.other_key)
    }

    /// The rate of this host's link, as far as it is known without asking the kernel.
    pub fn rate(&self) -> Rate {
        self.nic.unwrap_or(Pace::UNPACED)
    }

    /// Bytes of telemetry in the packets of its transport, as the simulator counts them.
    fn telemetry_bytes(&self) -> u16 {
        headway_transport::registry::capabilities(&self.transport).map_or(0, |declared| declared.telemetry)
    }

    /// Fields between the header and the payload of every packet.
    pub(crate) fn packet_envelope(&self) -> Envelope {
        Envelope::between_hosts(self.admission.seals(), self.telemetry_bytes() > 0)
    }

    /// Sizes of its packets over IPv4.
    pub fn sizes(&self) -> Sizes {
        self.sizes_at(IPV4)
    }

    /// Sizes of the packets of an endpoint with this address.
    pub fn sizes_at(&self, local: IpAddr) -> Sizes {
        let plain = sizes_at(self.mtu, &self.admission, local);
        match self.telemetry_bytes() {
            0 => plain,
            telemetry => stamped_sizes(plain, telemetry),
        }
    }

    /// A path of which this host's link is a part.
    pub(crate) fn path_over(&self, path: Path) -> Path {
        let nic = self.rate();
        let bottleneck = if path.bottleneck.bps() > nic.bps() { nic } else { path.bottleneck };
        Path { bottleneck, ..path }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("transport", &self.transport)
            .field("params", &self.params)
            .field("nic", &self.nic)
            .field("mtu", &self.mtu)
            .field("path", &self.path)
            .field("admission", &self.admission)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Ethernet header, checksum, preamble and gap.
const FRAMING: u16 = 38;

/// Address of an endpoint of which nothing else is known.
const IPV4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Bytes of a handshake on the wire, over IPv4.
pub const fn handshake_wire() -> u16 {
    handshake_wire_at(IPV4)
}

/// Bytes of a handshake on the wire, for an endpoint with this address.
pub(crate) const fn handshake_wire_at(local: IpAddr) -> u16 {
    HANDSHAKE_BYTES as u16 + header_bytes(local) + FRAMING
}

/// Smallest [`Config::mtu`], in bytes.
pub const MIN_MTU: u16 = 256;
/// Largest [`Config::mtu`], in bytes.
pub const MAX_MTU: u16 = 9_216;

/// Sizes of real packets over IPv4: a full one fills `mtu`, and a control packet is as long as it is on the wire.
///
/// `mtu` is brought into [`MIN_MTU`] ..= [`MAX_MTU`].
///
/// ```
/// use headway_host::{Admission, sizes};
/// let sizes = sizes(1500, &Admission::Loopback);
/// assert_eq!((sizes.payload, sizes.header, sizes.full_wire(), sizes.control), (1388, 112, 1538, 150));
/// ```
pub fn sizes(mtu: u16, admission: &Admission) -> Sizes {
    sizes_at(mtu, admission, IPV4)
}

fn sizes_at(mtu: u16, admission: &Admission, local: IpAddr) -> Sizes {
    let envelope = Envelope::between_hosts(admission.seals(), false);
    let around = |kind| {
        header_bytes(local) + (WIRE_HEADER + envelope.bytes_before(kind) + envelope.bytes_after(kind)) as u16
    };
    let header = around(PacketKind::Data);
    // Cannot underflow: `MIN_MTU` is larger than the longest header with IPv6 and a seal.
    let payload = mtu.clamp(MIN_MTU, MAX_MTU) - header;
    Sizes { payload, header, framing: FRAMING, control: around(PacketKind::Grant) + FRAMING }
}

/// Sizes of the same packets with room for stamps. Machines of such transports add `telemetry` bytes to each of their packets
/// themselves (`Capabilities::telemetry`), which is what stamps take in the published headers; what they take more on a real
/// wire is counted as header.
///
/// ```
/// use headway_host::{Admission, sizes, stamped_sizes};
/// let plain = sizes(1500, &Admission::Loopback);
/// let stamped = stamped_sizes(plain, 42);
/// assert_eq!((stamped.payload, stamped.header), (plain.payload - 122, plain.header + 80));
/// assert_eq!(stamped.full_wire() + 42, plain.full_wire());
/// ```
pub fn stamped_sizes(plain: Sizes, telemetry: u16) -> Sizes {
    // The machine itself adds `telemetry` bytes to each packet, so they must not be counted here as well.
    let more = STAMPS_BYTES as u16 - telemetry.min(STAMPS_BYTES as u16);
    Sizes {
        // An MTU that is too small for stamps is refused by `check_config`; this only keeps the sizes from wrapping
        // until then.
        payload: plain.payload.saturating_sub(STAMPS_BYTES as u16).max(1),
        header: plain.header + more,
        control: plain.control + more,
        ..plain
    }
}
