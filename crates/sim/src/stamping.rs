//! Stamps that ports write into packets hop by hop, if a transport of the run reads them; by handle, apart from the
//! packets.

use headway_fabric::Port;
use headway_network::RunSpec;
use headway_packet::{Hop, Stamps};
use headway_transport::registry;
use headway_units::Time;

/// The stamps of all packets of a shard.
pub(crate) struct Stamping {
    /// Stamps by handle; a free handle keeps its last ones.
    slots: Vec<Stamps>,
    /// Stamps that the next packet on its wire takes along.
    next: Option<Stamps>,
}

impl Stamping {
    /// Nothing where no transport of the run reads stamps.
    pub(crate) fn new(spec: &RunSpec) -> Option<Box<Stamping>> {
        let reads = |name: &str| registry::capabilities(name).is_some_and(|declared| declared.telemetry > 0);
        let asked = spec.transports.iter().any(|transport| reads(&transport.name));
        asked.then(|| Box::new(Stamping { slots: Vec::new(), next: None }))
    }

    fn slot(&mut self, handle: u32) -> &mut Stamps {
        let place = handle as usize;
        if self.slots.len() <= place {
            self.slots.resize(place + 1, Stamps::default());
        }
        &mut self.slots[place]
    }

    /// The next packet that leaves a host takes this along, or nothing.
    pub(crate) fn take_along(&mut self, echo: Option<Stamps>) {
        // Empty stamps and not none: the packet's handle still has those of its former packet.
        self.next = Some(echo.unwrap_or_default());
    }

    /// A packet takes the last stamps along.
    pub(crate) fn left_host(&mut self, handle: u32) {
        if let Some(next) = self.next.take() {
            *self.slot(handle) = next;
        }
    }

    /// A data packet of so many bytes has begun to leave a port of a switch at `start`. HPCC §4.1
    pub(crate) fn stamp(&mut self, handle: u32, port: &Port<u32>, (start, wire): (Time, u16)) {
        let hop = Hop {
            at: start,
            // The counter includes this packet, which has begun to leave.
            sent: port.sent_bytes().saturating_sub(wire.into()),
            queue: port.queue_bytes(),
            rate: port.rate(),
        };
        self.slot(handle).push(hop);
    }

    /// Stamps of a packet.
    pub(crate) fn of(&mut self, handle: u32) -> Stamps {
        *self.slot(handle)
    }

    /// Gives a packet what another has, here or in another shard.
    pub(crate) fn put(&mut self, handle: u32, stamps: Stamps) {
        *self.slot(handle) = stamps;
    }
}
