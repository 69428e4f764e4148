//! Source and destination of frames: one small trait, so that other packet I/O can stand behind it.

mod af_packet;
#[cfg(feature = "af-xdp")]
mod af_xdp;
mod choice;
mod names;

pub use af_packet::AfPacket;
#[cfg(feature = "af-xdp")]
pub use af_xdp::AfXdp;
pub use choice::{IoChoice, IoKind, Opened, open};

use std::io;
use std::os::fd::BorrowedFd;

/// Time at which the kernel had a frame, in nanoseconds of one of its clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Nanoseconds of the wall clock, `CLOCK_REALTIME`.
    Wall(u64),
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    Monotonic(u64),
}

/// A frame as it came in.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Time at which the kernel had it; `None` if the kernel did not report one.
    pub stamp: Option<Stamp>,
    /// The sender left the UDP or TCP checksum to its network card, which does not exist.
    pub checksum_pending: bool,
    /// The frame was longer than the interface's buffers and has lost its end.
    pub cut: bool,
}

/// Frames that the kernel had and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Frames lost because the kernel's buffer for this interface was full.
    pub overrun: u64,
    /// They were longer than the interface's buffers.
    pub cut: u64,
}

/// Packet I/O of one interface.
pub trait FrameIo {
    /// Becomes readable when a frame is there.
    fn fd(&self) -> BorrowedFd<'_>;
    /// Hands every frame that is there to `take`, without waiting; returns their number.
    fn receive(&mut self, take: &mut dyn FnMut(&mut [u8], Incoming)) -> io::Result<usize>;
    /// Keeps a frame for the next [`FrameIo::flush`].
    fn queue(&mut self, frame: &[u8]);
    /// Sends queued frames, without waiting; returns the number that the kernel refused.
    fn flush(&mut self) -> io::Result<usize>;
    /// Frames that the kernel has had for this interface so far, and did not hand over.
    fn lost(&mut self) -> io::Result<Lost>;
}

/// Why an interface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// No interface of that name.
    #[error("there is no interface `{name}`{}", nearest(.known))]
    NotThere {
        /// Name that was given.
        name: String,
        /// Names of the interfaces that exist.
        known: Vec<String>,
    },
    /// The process may not open packet sockets.
    #[error(
        "opening interface `{0}` needs the privilege CAP_NET_RAW: run as root, or `setcap cap_net_raw+ep` the program"
    )]
    Privilege(String),
    /// It is not up.
    #[error("interface `{0}` is down: `ip link set {0} up`")]
    Down(String),
    /// There are no AF_XDP sockets for it.
    #[error("AF_XDP is not possible on interface `{name}`: {why}")]
    NoAfXdp {
        /// Name of the interface.
        name: String,
        /// The reason, in a clause.
        why: String,
    },
    /// An operation on the interface failed.
    #[error("interface `{name}`: {step}: {source}")]
    Io {
        /// Name of the interface.
        name: String,
        /// Operation that failed.
        step: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

fn nearest(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are: {}", known.join(", ")) }
}
