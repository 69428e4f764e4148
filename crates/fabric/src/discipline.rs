//! The contract of a port discipline.

use crate::{Buffer, DropReason};
use headway_packet::{Packet, Sizes};
use headway_units::{Params, Rate, Time};

/// What a discipline knows of its port when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortContext {
    /// The port's own rate.
    pub rate: Rate,
    /// Packet sizes of the network.
    pub sizes: Sizes,
    /// Buffer space.
    pub buffer: Buffer,
}

/// A packet that asks to be queued.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// Packets of its kind (control, or data) that wait already.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Whether a packet of any kind is on the wire, which `packets` does not count.
    pub in_service: bool,
}

/// A packet whose transmission starts.
#[derive(Clone, Copy, Debug)]
pub struct Departing {
    /// When its first bit leaves.
    pub now: Time,
    /// How long it takes.
    pub takes: Time,
    /// Data packets that still wait behind it.
    pub data_waiting: u32,
}

/// What a discipline declares about itself.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
}

/// Rules of one port on enqueue and on dequeue.
pub trait Discipline: Sized {
    /// Its parameters.
    type Params: Params;
    /// Its description.
    const INFO: DisciplineInfo;

    /// The rules for one port.
    fn new(params: &Self::Params, port: &PortContext) -> Self;

    /// How many queues it wants; lower classes are served first.
    fn classes(&self) -> usize;

    /// The queue of a packet.
    fn class_of(&self, packet: &Packet) -> usize;

    /// What happens to a packet that asks to be queued, before the buffer is looked at: it may be marked,
    /// or refused for a reason of the discipline's own.
    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let _ = (port, arrival, packet);
        Ok(())
    }

    /// What happens to a packet as its transmission starts.
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        let _ = (departing, packet);
    }
}
