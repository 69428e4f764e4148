//! Messages that a run is asked to send.

use headway_packet::HostId;
use headway_transport::{InitialWindow, Message};
use headway_units::Time;

/// One message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Host that sends, or its interface ([`crate::Network::address`]).
    pub src: u32,
    /// Host or interface that receives, not `src`.
    pub dst: u32,
    /// Bytes of the application.
    pub bytes: u64,
    /// Time at which the application hands it over.
    pub start: Time,
    /// Class of the application.
    pub class: u16,
    /// Deadline as a time since the start of the run; `None` without one.
    pub deadline: Option<Time>,
    /// Packets that the sender may send before it has heard of its receiver.
    pub initial_window: InitialWindow,
    /// True if the sender answers permissions.
    pub responsive: bool,
    /// Index into [`crate::RunSpec::transports`].
    pub transport: u8,
    /// Path number under [`crate::Routing::Pinned`]; `None` draws entropy from the seed.
    pub path: Option<u32>,
    /// Position in [`crate::RunSpec::flows`] of the flow whose connection this one goes over.
    pub connection: Option<u32>,
    /// Time at which it is over at both ends, whatever has arrived until then; later than its start.
    pub stop: Option<Time>,
}

impl FlowSpec {
    /// Start of its message, if the connection that it names is open.
    pub fn begins(&self) -> InitialWindow {
        InitialWindow { connected: self.connection.is_some(), ..self.initial_window }
    }

    /// The message that a machine is given; `id` is its number among those of its pair of hosts. The connection that it
    /// names counts as open.
    pub fn message(&self, id: u32, tag: u32, entropy: u32) -> Message {
        Message {
            id,
            dst: HostId(self.dst),
            bytes: self.bytes,
            class: self.class,
            deadline: self.deadline,
            initial_window: self.begins(),
            responsive: self.responsive,
            entropy,
            tag,
        }
    }
}

/// End of a flow, for a run that ends with its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Until {
    /// The last byte is at its receiver.
    Received,
    /// The sender knows that.
    Known,
}
