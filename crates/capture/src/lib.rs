//! Captures: packets as frames of Ethernet, IPv4 and UDP ([`frame`]), and frames with their interfaces and
//! times in a pcapng file ([`CaptureWriter`]).
//!
//! Nothing here knows who moves the packets: the simulator and the software switch write the same files, and
//! one Wireshark dissector reads both. The writer streams; what it keeps is at most the packets of its
//! reordering window.

pub mod frame;
mod order;
mod writer;

pub use frame::{FRAME_HEADERS, Frame};
pub use writer::{CaptureError, CaptureWriter, Interface};
