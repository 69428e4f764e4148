//! Events in the life of a path, for observers, traces and files.

use headway_units::Time;
use std::net::SocketAddr;

/// A change of the state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// Time of the event on the endpoint's clock.
    pub at: Time,
    /// The peer, by the address at which it was met.
    pub peer: SocketAddr,
    /// Address of this endpoint.
    pub local: SocketAddr,
    /// Address of the peer.
    pub remote: SocketAddr,
    /// The event.
    pub what: PathEventKind,
}

/// Events in the life of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEventKind {
    /// It carries packets from now on.
    Opened,
    /// No answer came for [`crate::Config::path_timeout`], or the kernel refuses to send there.
    Died,
    /// It carries no packets of full length any more.
    Narrowed,
    /// One of its addresses is gone for good.
    Closed,
    /// No challenge was answered.
    Unproven,
}

impl PathEventKind {
    /// Its name, in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            PathEventKind::Opened => "opened",
            PathEventKind::Died => "died",
            PathEventKind::Narrowed => "narrowed",
            PathEventKind::Closed => "closed",
            PathEventKind::Unproven => "unproven",
        }
    }
}
