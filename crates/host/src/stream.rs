//! Messages that are never in memory as a whole: bytes are made as packets leave, and consumed as packets arrive.

use bytes::Bytes;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Source of a message's bytes. Called on the endpoint's thread, for any part and as often as packets leave:
/// the same part must always be the same bytes.
pub trait Source: Send + Sync {
    /// Fills `to` with the message's bytes from `offset` on.
    fn read(&self, offset: u64, to: &mut [u8]);
}

/// Destination of a message's bytes, on the endpoint's thread: every part once, in the order in which packets arrive.
pub trait Sink: Send {
    /// Takes the message's bytes from `offset` on.
    fn write(&mut self, offset: u64, bytes: &[u8]);
}

/// Chooses the destination of a message of so many bytes from a peer, by the message's number; `None` = it is put
/// together in memory.
pub type SinkOf = Arc<dyn Fn(SocketAddr, u32, u64) -> Option<Box<dyn Sink>> + Send + Sync>;

/// Bytes of a message to send.
#[derive(Clone)]
pub enum Body {
    /// Bytes in memory.
    Whole(Bytes),
    /// Bytes that are made as they leave.
    Stream {
        /// Length of the message in bytes.
        bytes: u64,
        /// Source that gives the bytes.
        source: Arc<dyn Source>,
    },
}

impl Body {
    /// Bytes of the message.
    pub fn bytes(&self) -> u64 {
        match self {
            Body::Whole(bytes) => bytes.len() as u64,
            Body::Stream { bytes, .. } => *bytes,
        }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn held_bytes(&self) -> u64 {
        match self {
            Body::Whole(bytes) => bytes.len() as u64,
            Body::Stream { .. } => 0,
        }
    }

    /// Copies bytes from `offset` on.
    pub(crate) fn copy_bytes(&self, offset: u64, to: &mut [u8]) {
        match self {
            Body::Whole(bytes) => {
                let start = offset as usize;
                to.copy_from_slice(&bytes[start..start + to.len()]);
            }
            Body::Stream { source, .. } => source.read(offset, to),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Body {
        Body::Whole(bytes)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
