//! Events of messages for an observer, with the time of each.

use headway_units::Time;
use std::net::SocketAddr;

/// Something happened to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEvent {
    /// Time of the event on the endpoint's clock.
    pub at: Time,
    /// The other host.
    pub peer: SocketAddr,
    /// Number of the message among those of its sender to its receiver, since the two last met.
    pub message: u32,
    /// Kind of the event.
    pub what: MessageEventKind,
}

/// Events in the life of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEventKind {
    /// A message to the peer was given to the transport.
    Opened {
        /// The sending application's ticket, as in [`crate::SendHandle::ticket`].
        ticket: u64,
        /// Length of the message.
        bytes: u64,
    },
    /// Bytes of a message to the peer left for the first time.
    Sent {
        /// Bytes that left.
        bytes: u32,
    },
    /// Bytes of a message to the peer left again.
    Repeated {
        /// Bytes that left again.
        bytes: u32,
    },
    /// The peer's machine acknowledged a message.
    Acknowledged {
        /// The sending application's ticket.
        ticket: u64,
    },
    /// A message to the peer failed.
    Failed {
        /// The sending application's ticket.
        ticket: u64,
    },
    /// A data packet of a message from the peer arrived with a mark of the switches.
    Marked,
    /// Bytes of a message from the peer arrived for the first time.
    Delivered {
        /// Bytes that arrived for the first time.
        bytes: u32,
    },
    /// A message from the peer is complete.
    Completed {
        /// Length of the message.
        bytes: u64,
    },
}
