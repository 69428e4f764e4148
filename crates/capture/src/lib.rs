//! Captures: packets as frames of Ethernet, IPv4 and UDP ([`frame`]), and frames with their interfaces and
//! times in a pcapng file ([`CaptureWriter`]).
//!
//! The crate does not depend on the source of the packets: the simulator and the software switch write the same kind
//! of files, and one Wireshark dissector reads both. The writer streams, and keeps at most the packets of its
//! reordering window in memory.

mod block;
pub mod frame;
mod order;
mod writer;

pub use frame::{FRAME_HEADERS, Frame};
pub use writer::{CaptureError, CaptureWriter, Interface};
