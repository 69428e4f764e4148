//! Events for `tracing`, with the feature of that name: the events of messages, and of peers.
//!
//! The target is `headway_host`. Messages begin, end and arrive at the level `DEBUG`, their packets at `TRACE`; a message that
//! fails and a peer that is gone are a `WARN`. A subscriber hears on whichever thread drives the endpoint: it must not wait.

#[cfg(feature = "tracing")]
pub(crate) use with::{gone, message, path, refused, wanted};
#[cfg(not(feature = "tracing"))]
pub(crate) use without::{gone, message, path, refused, wanted};

#[cfg(feature = "tracing")]
mod with {
    use crate::error::SendError;
    use crate::leaving::Refused;
    use crate::message_event::{MessageEvent, MessageEventKind};
    use crate::path_event::PathEvent;
    use std::net::SocketAddr;
    use tracing::{Level, debug, enabled, trace, warn};

    const TARGET: &str = "headway_host";

    /// True if events of messages are observed.
    pub(crate) fn wanted() -> bool {
        enabled!(target: TARGET, Level::DEBUG)
    }

    /// Reports an event of a message at the endpoint at `endpoint`; times are nanoseconds of its clock.
    pub(crate) fn message(endpoint: SocketAddr, event: &MessageEvent) {
        let MessageEvent { at, peer, message: number, what } = *event;
        let at_ns = at.0 / 1000;
        match what {
            MessageEventKind::Opened { ticket, bytes } => {
                debug!(target: TARGET, %endpoint, %peer, number, at_ns, ticket, bytes, "opened");
            }
            MessageEventKind::Sent { bytes } => {
                trace!(target: TARGET, %endpoint, %peer, number, at_ns, bytes, "sent");
            }
            MessageEventKind::Repeated { bytes } => {
                trace!(target: TARGET, %endpoint, %peer, number, at_ns, bytes, "repeated");
            }
            MessageEventKind::Acknowledged { ticket } => {
                debug!(target: TARGET, %endpoint, %peer, number, at_ns, ticket, "acknowledged");
            }
            MessageEventKind::Failed { ticket } => {
                warn!(target: TARGET, %endpoint, %peer, number, at_ns, ticket, "failed");
            }
            MessageEventKind::Marked => trace!(target: TARGET, %endpoint, %peer, number, at_ns, "marked"),
            MessageEventKind::Delivered { bytes } => {
                trace!(target: TARGET, %endpoint, %peer, number, at_ns, bytes, "delivered");
            }
            MessageEventKind::Completed { bytes } => {
                debug!(target: TARGET, %endpoint, %peer, number, at_ns, bytes, "completed");
            }
        }
    }

    /// Tells what happened to a path.
    pub(crate) fn path(endpoint: SocketAddr, event: &PathEvent) {
        let PathEvent { at, peer, local, remote, what } = *event;
        let (at_ns, what) = (at.0 / 1000, what.name());
        debug!(target: TARGET, %endpoint, %peer, %local, %remote, at_ns, what, "path");
    }

    /// Tells that a peer was given up.
    pub(crate) fn gone(endpoint: SocketAddr, peer: SocketAddr, reason: SendError) {
        warn!(target: TARGET, %endpoint, %peer, %reason, "peer gone");
    }

    /// Reports a call that the kernel refused for the first time.
    pub(crate) fn refused(endpoint: SocketAddr, new: Refused) {
        for (what, reason) in new.iter() {
            warn!(target: TARGET, %endpoint, what, %reason, "the kernel refuses");
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod without {
    use crate::error::SendError;
    use crate::leaving::Refused;
    use crate::message_event::MessageEvent;
    use crate::path_event::PathEvent;
    use std::net::SocketAddr;

    pub(crate) const fn wanted() -> bool {
        false
    }

    pub(crate) fn message(_: SocketAddr, _: &MessageEvent) {}

    pub(crate) fn path(_: SocketAddr, _: &PathEvent) {}

    pub(crate) fn gone(_: SocketAddr, _: SocketAddr, _: SendError) {}

    pub(crate) fn refused(_: SocketAddr, _: Refused) {}
}
