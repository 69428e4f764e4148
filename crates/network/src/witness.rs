//! Witnesses of a run's events.

use headway_packet::Packet;
use headway_units::Time;
use std::fmt;

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventKind {
    /// A packet arrives at a switch, for the port that it will leave by.
    Arrival,
    /// A packet arrives at a switch that chooses its next port then, over the link of the place.
    Choice,
    /// A packet arrives at the host that it is for.
    Delivery,
    /// A packet arrives at the interface of the host that it is for, whose processor takes time.
    Interface,
    /// A host's processor or interface has finished its work.
    HostWork,
    /// A port has sent a packet and can send another.
    PortFree,
    /// A port that held packets back may send one.
    PortRelease,
    /// A pause frame arrives that stops the port or lets it go on.
    Pause,
    /// A host's deadline.
    Timer,
    /// Flows begin their messages.
    FlowStart,
    /// A flow that waited for others begins, or a step between flows is over.
    Released,
    /// The run no longer waits for a message that its sender gave up.
    GivenUp,
    /// Flows of a host are over, before they are complete.
    FlowStop,
    /// Links go down, come up, or change their rate or delay.
    NetworkChange,
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventKind::Arrival => "a packet arrives at the switch",
            EventKind::Choice => "a packet arrives at a switch that chooses its way",
            EventKind::Delivery => "a packet arrives at its host",
            EventKind::Interface => "a packet arrives at its host's interface",
            EventKind::HostWork => "a host's processor or interface is done",
            EventKind::PortFree => "the port is free",
            EventKind::PortRelease => "the port may send again",
            EventKind::Pause => "a pause frame stops the port or lets it go on",
            EventKind::Timer => "a timer runs out",
            EventKind::FlowStart => "a flow begins",
            EventKind::Released => "a flow that waited begins, or a step is over",
            EventKind::FlowStop => "flows are over at a host",
            EventKind::GivenUp => "a message that was given up is no longer waited for",
            EventKind::NetworkChange => "the network changes",
        })
    }
}

/// Place of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// The port of a link, by the link's number.
    Port(u32),
    /// The machine of a host, by the host's number.
    Host(u32),
    /// Everywhere: changes of the network.
    Network,
}

/// One event, before it is handled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Seen {
    /// Virtual time of the event.
    pub at: Time,
    /// Kind of the event.
    pub kind: EventKind,
    /// Port or host at which it happens, or the whole network.
    pub place: Place,
    /// The packet that arrives, as it was sent.
    pub packet: Option<Packet>,
}

/// Sees every event of a run before it is handled, in order.
pub trait Witness {
    /// The next event; `false` ends the run before it.
    fn event(&mut self, event: &Seen) -> bool;
}
