//! A host of several transports: one machine for each that has a flow there, and one wire for all of them.
//!
//! **Whose is a packet?** That of its flow: every packet carries the number of its flow in `tag`, control packets
//! and strays too, and a flow has one transport.
//!
//! **Whose is the wire?** Each machine's in equal shares of bytes, framing included, while it has something to
//! send; what one leaves the others take. This is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) over
//! machines in place of queues: a machine's turn is where it has got to in bytes, or where the wire is if it was
//! quiet, and the least turn goes first, the first machine's among equals. A machine that was quiet so waits for one
//! packet of each other at most, as an acknowledgement should. What leaves first within a machine stays its own
//! business.

use headway_network::{FlowSpec, RunSpec};
use headway_packet::{HostId, Packet};
use headway_transport::endpoint::{Ahead, Checked};
use headway_transport::{Endpoint, EndpointEvent, Message};
use headway_units::Time;
use std::sync::Arc;

/// A machine of a transport that is known only at run time.
pub(crate) type Machine = Box<dyn Endpoint + Send>;

/// One transport at a host.
struct Part {
    /// Position in [`RunSpec::transports`].
    transport: u8,
    machine: Checked<Machine>,
    /// Where it has got to on the wire, in bytes.
    turn: u64,
}

/// The machines of one host.
pub(crate) struct Mixed {
    /// By transport, each once; at least one.
    parts: Box<[Part]>,
    /// The transport of each flow.
    of_flow: Arc<[u8]>,
    /// Where the packet began that left last, in bytes.
    wire: u64,
}

/// The transports of each host, in their order. A host without a flow has the first.
pub(crate) fn transports_of(spec: &RunSpec, hosts: u32) -> Vec<Vec<u8>> {
    let mut of_host = vec![Vec::new(); hosts as usize];
    for FlowSpec { src, dst, transport, .. } in &spec.flows {
        for host in [*src, *dst] {
            let known: &mut Vec<u8> = &mut of_host[host as usize];
            if let Err(place) = known.binary_search(transport) {
                known.insert(place, *transport);
            }
        }
    }
    of_host.iter_mut().filter(|known| known.is_empty()).for_each(|known| known.push(0));
    of_host
}

impl Mixed {
    /// Machines with the positions of their transports, in that order, for flows of these transports.
    pub(crate) fn new(machines: Vec<(u8, Machine)>, of_flow: Arc<[u8]>) -> Mixed {
        let part = |(transport, machine)| Part { transport, machine: Checked::new(machine), turn: 0 };
        Mixed { parts: machines.into_iter().map(part).collect(), of_flow, wire: 0 }
    }

    /// Each machine with the position of its transport.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u8, &dyn Endpoint)> {
        self.parts.iter().map(|part| (part.transport, &part.machine as &dyn Endpoint))
    }

    /// The place of the machine that a flow belongs to.
    #[inline]
    fn place(&self, tag: u32) -> usize {
        if self.parts.len() == 1 {
            return 0;
        }
        let transport = self.of_flow[tag as usize];
        let place = self.parts.iter().position(|part| part.transport == transport);
        debug_assert!(place.is_some(), "flow {tag} has nothing to do with this host");
        place.unwrap_or(0)
    }

    /// The machine that goes first at the wire among those after `last`, a turn and a place that were asked before.
    fn next(&self, last: Option<(u64, usize)>) -> Option<(u64, usize)> {
        let wanting = self.parts.iter().enumerate().filter(|(_, part)| part.machine.wants_transmit());
        let turns = wanting.map(|(place, part)| (part.turn.max(self.wire), place));
        turns.filter(|turn| last.is_none_or(|last| *turn > last)).min()
    }
}

impl Endpoint for Mixed {
    fn open(&mut self, now: Time, message: &Message) {
        self.parts[self.place(message.tag)].machine.open(now, message);
    }

    fn receive(&mut self, now: Time, packet: &Packet) {
        self.parts[self.place(packet.tag)].machine.receive(now, packet);
    }

    fn timeout(&mut self, now: Time) {
        if let [only] = &mut *self.parts {
            return only.machine.timeout(now);
        }
        let due = |part: &&mut Part| part.machine.next_timeout().is_some_and(|at| at <= now);
        self.parts.iter_mut().filter(due).for_each(|part| part.machine.timeout(now));
    }

    fn forget(&mut self, now: Time, peer: HostId) {
        self.parts.iter_mut().for_each(|part| part.machine.forget(now, peer));
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let [only] = &mut *self.parts {
            return only.machine.poll_transmit(now);
        }
        let mut asked = None;
        while let Some((turn, place)) = self.next(asked) {
            let part = &mut self.parts[place];
            if let Some(packet) = part.machine.poll_transmit(now) {
                self.wire = turn;
                part.turn = turn + u64::from(packet.wire);
                return Some(packet);
            }
            asked = Some((turn, place));
        }
        None
    }

    fn wants_transmit(&self) -> bool {
        self.parts.iter().any(|part| part.machine.wants_transmit())
    }

    fn next_timeout(&self) -> Option<Time> {
        self.parts.iter().filter_map(|part| part.machine.next_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.parts.iter_mut().find_map(|part| part.machine.poll_event())
    }

    fn anticipate(&self, packet: Option<&Packet>, ahead: Ahead) {
        match packet {
            Some(packet) => self.parts[self.place(packet.tag)].machine.anticipate(Some(packet), ahead),
            None => self.parts.iter().for_each(|part| part.machine.anticipate(None, ahead)),
        }
    }

    fn live_messages(&self) -> usize {
        self.parts.iter().map(|part| part.machine.live_messages()).sum()
    }
}
