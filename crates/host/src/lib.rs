//! Messages between real hosts over UDP, carried by the transports of `headway-transport` unchanged.
//!
//! ```
//! use headway_host::{Config, Endpoint};
//!
//! let server = Endpoint::bind("127.0.0.1:0", Config::default())?;
//! let client = Endpoint::bind("127.0.0.1:0", Config::default())?;
//! let address = server.local_addr();
//!
//! let answering = std::thread::spawn(move || {
//!     let request = server.recv()?;
//!     let reply: Vec<u8> = request.bytes.iter().rev().copied().collect();
//!     request.reply(reply).expect("room for a reply").wait().expect("the peer is there");
//!     Ok::<_, headway_host::RecvError>(())
//! });
//! let reply = client.call(address, "stressed")?;
//! assert_eq!(&reply[..], b"desserts");
//! answering.join().expect("no panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Endpoint`] is a socket around a [`core::Core`]; threads that wait for it drive it, and one of its own when none
//! does. The core uses no socket, no clock and no thread, and owns
//! one transport machine for all peers. Messages arrive completely and once, or their sender learns that they
//! may not have arrived. An endpoint has an IPv4 or an IPv6 address, and so
//! have all of its peers.
//!
//! [`Admission`] says which hosts may exchange messages with an endpoint. By default an endpoint binds to
//! loopback addresses only. [`Limits`] bounds memory. Dropped datagrams are counted by reason in [`Stats`].
//! `docs/real-hosts.md` says which attacks an endpoint is protected against.
//!
//! A datagram consists of a packet's header ([`headway_packet::PacketView`]), the fields of a session, the
//! payload, and the tag of a seal where hosts share a key. The header comes first, so that switches do not have to
//! know about sessions. A packet's queue class is in the DSCP field ([`core::tos`]) and its mark in the ECN
//! field of the IP header. The receiver uses the mark in the IP header, not the header's own copy.

mod address;
mod batch;
mod budget;
mod buffers;
mod check;
mod completion;
mod config;
pub mod core;
mod counters;
mod driver;
mod endpoint;
mod error;
mod exchange;
mod generations;
mod inbox;
mod interfaces;
mod key;
mod leaving;
mod machine;
mod message_event;
mod nic;
mod pace;
mod path_event;
mod path_text;
mod ports;
mod process;
mod qlog;
mod queue;
mod replay;
mod request;
mod scrub;
mod seal;
mod settings;
mod shared;
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;
mod trace;
mod udp;

pub use address::{chosen, toward};
pub use config::{
    Admission, Config, Limits, MAX_MTU, MIN_MTU, Observer, PathObserver, PathOf, Renewal, RoundTrip,
    RoundTripOf, STALL_FACTOR, handshake_wire, sizes, stamped_sizes,
};
pub use core::{Measured, PathCounts, PathInfo, PathShare, PathState, SendOptions};
pub use counters::{Count, Counters, Stats};
pub use endpoint::{CallHandle, Endpoint, Received, SendHandle};
pub use error::{
    AddressError, BindError, CallError, ConfigError, Disagreement, Forked, RecvError, Refusal, SendError,
    SettingError,
};
pub use headway_packet::session::{Terms, TransportName};
pub use key::{KeyFileError, PreSharedKey};
pub use leaving::Refused;
pub use message_event::{MessageEvent, MessageEventKind};
pub use pace::{Pace, PaceReason};
pub use path_event::{PathEvent, PathEventKind};
pub use queue::{Outcome, Queue};
pub use seal::{Cipher, Secret};
pub use settings::{SETTINGS, Setting};
pub use stream::{Body, Sink, SinkOf, Source};
pub use udp::try_to_send;

/// The sample in the guide is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/real-hosts.md")]
struct Guide;
