//! Ports of switches that drop, whose packets wait in a memory that the ports of a switch share.
//!
//! The part of it that a packet's queue may take depends on the packets that wait at the other ports of the switch at
//! that instant ([`headway_network::SharedMemory`]). Other ports are served late ([`super`]); each of these has an event for
//! each departure, at the instant of it, which gives back the packet's memory.
//!
//! Before a packet is offered to its port, the port's buffer gets the limit that the memory leaves it. Rules that cut
//! packets off, throw others out or choose a victim do so by that limit as they do by any other. A packet that takes the place of
//! another takes its memory too, whatever class that was of; and the header of a packet that is cut off needs room in
//! addition to a whole packet.

use super::{Egress, Ports};
use crate::links::RELEASE;
use crate::rank;
use crate::shared::Shared;
use headway_fabric::{Buffer, Fate, Full, Limit};
use headway_network::{BuildError, Memories, Network, Outbound};
use headway_packet::{Ecn, Packet};
use headway_units::Time;

/// A packet in the memory of a switch.
#[derive(Clone, Copy, Default)]
struct Charge {
    at: Option<Outbound>,
    class: u8,
    bytes: u16,
}

/// The memories of a shard's switches.
pub(crate) struct Stores {
    memories: Memories,
    /// Limits of each port's own, by link.
    limits: Vec<Option<Buffer>>,
    /// Charges by handle.
    charges: Vec<Charge>,
}

impl Stores {
    pub(crate) fn new(
        network: &Network,
        egress: &Shared<Egress>,
        own: &[u32],
    ) -> Result<Option<Stores>, BuildError> {
        let Some(memories) = Memories::new(network)? else { return Ok(None) };
        let mut limits = vec![None; network.links().len()];
        for number in own {
            limits[*number as usize] = Some(egress[*number as usize].port.context().buffer);
        }
        Ok(Some(Stores { memories, limits, charges: Vec::new() }))
    }

    /// The class that a packet is counted in, if it is.
    fn counted_class(&self, packet: &Packet) -> Option<usize> {
        let spec = self.memories.spec();
        Some(spec.class_of(packet)).filter(|class| *class > 0 || spec.params.count_control)
    }

    /// Notes that a packet waits at a port; `false` if its memory does not have that much.
    fn charge(&mut self, at: Outbound, handle: u32, packet: &Packet) -> bool {
        let place = handle as usize;
        if self.charges.len() <= place {
            self.charges.resize(place + 1, Charge::default());
        }
        let class = self.counted_class(packet);
        let Some(class) = class else {
            self.charges[place] = Charge::default();
            return true;
        };
        self.charges[place] = Charge { at: Some(at), class: class as u8, bytes: packet.wire };
        self.memories.of_switch_mut(at.switch).take(at.place, class, packet.wire.into())
    }

    /// Gives back the memory of a packet.
    fn discharge(&mut self, handle: u32) {
        let Some(charge) = self.charges.get_mut(handle as usize).map(std::mem::take) else { return };
        if let Some(at) = charge.at {
            let memory = self.memories.of_switch_mut(at.switch);
            memory.release(at.place, charge.class.into(), charge.bytes.into());
        }
    }

    /// Gives back the memory of packets that a link which goes down has dropped.
    pub(crate) fn free(&mut self, handles: &[u32]) {
        handles.iter().for_each(|handle| self.discharge(*handle));
    }

    /// Most bytes that were taken of the memory of a switch.
    pub(crate) fn used_max(&self, switch: u32) -> u64 {
        self.memories.of_switch(switch).used_max()
    }

    /// The limits of a port for one packet; `waiting` are the packets and bytes of control and of data there.
    fn limits_of(&self, at: Outbound, own: Buffer, packet: &Packet, waiting: [(u32, u64); 2]) -> Buffer {
        let (spec, memory) = (self.memories.spec(), self.memories.of_switch(at.switch));
        let class = spec.class_of(packet);
        let wire = u64::from(packet.wire);
        let [control, data] = waiting;
        let mut limits = own;
        if class > 0 {
            let room = memory.room(at.place, class, 0);
            // The victim of another class would leave its place, and not its room.
            limits.data = match room < wire && spec.params.classes > 1 {
                true => Limit::Bytes(0),
                false => limit_within(own.data, data, (room, wire)),
            };
        }
        if spec.params.count_control {
            // A header is cut off a packet that may take the place of another, and then both take more than that had.
            let beside = if class > 0 { wire } else { 0 };
            limits.control = limit_within(own.control, control, (memory.room(at.place, 0, beside), wire));
        }
        limits
    }
}

/// The limit of packets of which some wait: their own, and that of the room that memory has for more of them.
fn limit_within(own: Limit, (packets, bytes): (u32, u64), (room, wire): (u64, u64)) -> Limit {
    match own {
        // One that takes the place of another needs no more room than there is.
        Limit::Packets(most) if packets >= most && room >= wire => own,
        Limit::Packets(_) => Limit::Bytes(bytes.saturating_add(room)),
        Limit::Bytes(most) => Limit::Bytes(bytes.saturating_add(room).min(most)),
    }
}

impl Ports<'_> {
    /// True if the packets of a port wait in the memory of its switch.
    #[inline]
    pub(crate) fn shares_memory(&self, number: u32) -> bool {
        self.memory.is_some() && number >= self.hosts
    }

    /// Sends the packets that leave a port now: each departure has an event, so that none is late.
    pub(crate) fn serve_from_memory(&mut self, number: u32, now: Time) {
        loop {
            let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
            let Some(departure) = egress.port.next_open(now, &mut links.pool) else { return };
            let link = egress.link(number);
            if let Some(stores) = &mut self.memory {
                stores.discharge(departure.handle);
            }
            links.launch(link, &egress.port, departure.handle, departure.ends);
        }
    }

    /// A packet arrives at a port.
    pub(crate) fn offer_to_memory(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        // Departures that were due before this arrival come first.
        self.serve_from_memory(number, now);
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        if egress.port.passes(now) {
            let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
            links.launch(egress.link(number), &egress.port, handle, ends);
            return Ok(());
        }
        let Some(stores) = &mut self.memory else { return Ok(()) };
        let (Some(at), Some(own)) = (stores.memories.outbound(number), stores.limits[number as usize]) else {
            unreachable!("ports of hosts have no shared memory")
        };
        let waiting = [egress.port.waiting_of(false), egress.port.waiting_of(true)];
        egress.port.limit_buffer(stores.limits_of(at, own, links.pool.get(handle), waiting));
        let offered = egress.port.offer(now, handle, &mut links.pool);
        let hit = offered.as_ref().err().copied();
        let mut fits = true;
        if let Some(full) = hit.filter(|full| full.handle != handle) {
            stores.discharge(full.handle);
        }
        if hit.is_none_or(|full| full.handle != handle) {
            fits &= stores.charge(at, handle, links.pool.get(handle));
            let marks = stores.memories.spec().params.mark;
            let packet = links.pool.get_mut(handle);
            if marks > 0 && stores.memories.of_switch(at.switch).used() > marks && packet.ecn == Ecn::Ect {
                packet.ecn = Ecn::Ce;
            }
        }
        if let Some(full) = hit.filter(|full| full.fate == Fate::Kept) {
            fits &= stores.charge(at, full.handle, links.pool.get(full.handle));
        }
        debug_assert!(fits, "more than the memory of switch {} has", at.switch);
        self.serve_from_memory(number, now);
        self.watch_memory(number, now);
        offered
    }

    /// Makes sure that a port is served when something leaves it.
    pub(crate) fn watch_memory(&mut self, number: u32, now: Time) {
        let Some(start) = self.egress[number as usize].port.next_start() else { return };
        let at = start.max(now);
        let release = &mut self.releases[number as usize];
        // An event that is planned for an earlier time sets the next one.
        if at < *release {
            *release = at;
            self.links.queue.push(at.0, rank::of_work(RELEASE | number), RELEASE | number, 0);
        }
    }

    /// Checks that each memory holds the packets that wait at the ports of its switch, and no more.
    pub(crate) fn check_shared_memory(&self) -> Result<(), String> {
        let Some(stores) = &self.memory else { return Ok(()) };
        let spec = stores.memories.spec();
        for number in self.own.iter().filter(|number| **number >= self.hosts) {
            let Some(at) = stores.memories.outbound(*number) else { continue };
            let mut waits = vec![0u64; spec.all_classes()];
            self.egress[*number as usize].port.show_all_waiting(|handle| {
                let packet = self.links.pool.get(handle);
                if let Some(class) = stores.counted_class(packet) {
                    waits[class] += u64::from(packet.wire);
                }
            });
            let memory = stores.memories.of_switch(at.switch);
            memory.check().map_err(|why| format!("switch {}: {why}", at.switch))?;
            for (class, found) in waits.into_iter().enumerate() {
                let counted = memory.bytes(at.place, class);
                if counted != found {
                    return Err(format!(
                        "port {number}, class {class}: {counted} B are counted and {found} B wait"
                    ));
                }
            }
        }
        Ok(())
    }
}
