//! Messages as an application hands them to a machine.

use headway_packet::HostId;
use headway_units::Time;

/// Start of a message: the pace of the packets in its first window.
///
/// The default is line rate: one bandwidth-delay product back to back. The motivation figures of the
/// AMRT and RPO papers instead start from flows that already share a path fairly with one
/// bandwidth-delay product in flight in total; `share = n` starts a message as one of `n` such flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialWindow {
    /// The message starts as one of this many; its window is the path's divided by it, rounded. One of several has
    /// a window at the rate of the path's slowest link, which they share, and one alone at that of its host's link.
    pub share: u32,
    /// Thousandths by which they are fewer than that, below 1000: with `share` 3 and 500 here, it is one of 2.5.
    pub fewer: u16,
    /// Packets sent back to back before leaving room for the `share - 1` others.
    pub burst: u32,
    /// Place in the rotation, from 0.
    pub phase: u32,
    /// Window in packets instead of the path's bandwidth-delay product.
    pub window: Option<u32>,
    /// The message goes over a connection that is open already: transports that begin with a handshake leave it out.
    pub connected: bool,
}

impl Default for InitialWindow {
    fn default() -> Self {
        InitialWindow { share: 1, fewer: 0, burst: 1, phase: 0, window: None, connected: false }
    }
}

impl InitialWindow {
    /// As one of how many the message starts, in thousandths.
    #[inline]
    pub fn sharer_thousandths(&self) -> u64 {
        // At least one sharer, whatever `fewer` says: a smaller divisor would widen the window beyond the path's.
        (u64::from(self.share.max(1)) * 1000).saturating_sub(self.fewer.into()).max(1000)
    }
}

/// A message to send: a number of bytes for one destination, delivered whole and once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number among this host's messages to `dst`, consecutive from 0: receivers remember finished
    /// messages by it.
    pub id: u32,
    /// Destination host.
    pub dst: HostId,
    /// Payload in bytes; 0 counts as one empty packet.
    pub bytes: u64,
    /// Application class, for protocols that serve classes apart ([`crate::Capabilities::classes`]): a lower one comes first.
    pub class: u16,
    /// Absolute deadline, for protocols that know deadlines.
    pub deadline: Option<Time>,
    /// Pace of the first window.
    pub initial_window: InitialWindow,
    /// `false` models an application that stalls after the first window: permissions find nothing to
    /// send. AMRT §VIII-D calls such senders unresponsive.
    pub responsive: bool,
    /// ECMP entropy of the message's packets.
    pub entropy: u32,
    /// The driver's handle, copied into every packet of the message.
    pub tag: u32,
}
