//! Interfaces of several ports: one machine sends by any of them.
//!
//! The machine is at the first port, whose number is the address. It is asked for a packet when a port is idle. Where packets
//! of a message may take any path, the packet leaves by an idle port; else its entropy names the port, and it waits in front
//! of it while others go ahead. A few packets may wait so, and the machine is not asked for more until one has left. What
//! waits for a port that its switch has stopped does not keep the machine from the other ports.
//!
//! A run without such interfaces executes none of this: its hosts have events of their own kinds.

use super::{Engine, note_repeated};
use crate::links::SENT;
use crate::ports::lossless::Asks;
use crate::rank;
use headway_network::{BuildError, Network, RunSpec, check_ports};
use headway_packet::{Packet, Stamps};
use headway_transport::Endpoint;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Most packets that wait in front of an interface, for each of its ports.
const WAITING: usize = 4;

/// Most packets that wait in front of an interface, for each of its ports that is stopped.
const STOPPED_WAITING: usize = 64;

/// State of the ports of interfaces.
pub(super) struct Bonds {
    network: Arc<Network>,
    /// True if any port will do for a packet.
    divides: bool,
    ports: Vec<Wire>,
    /// By address: the place of the port that is looked at first.
    turns: Vec<u32>,
    /// Ports by which an address reaches another.
    ways: FxHashMap<(u32, u32), Arc<[u32]>>,
}

#[derive(Default)]
struct Wire {
    waiting: VecDeque<(Packet, Option<Stamps>)>,
    /// True if an event waits for the end of the packet on its wire.
    armed: bool,
    /// End of a packet that is lost to a link that is down.
    in_vain: Time,
}

impl Bonds {
    /// `None` where every interface has one port.
    pub(super) fn new(spec: &RunSpec, network: &Arc<Network>) -> Result<Option<Box<Bonds>>, BuildError> {
        if !network.owners().is_bonded() {
            return Ok(None);
        }
        let causes = spec.sample.as_ref().is_some_and(|sample| sample.causes);
        check_ports(network, &spec.costs, causes)?;
        let interfaces = network.interfaces() as usize;
        Ok(Some(Box::new(Bonds {
            network: Arc::clone(network),
            divides: spec.fabric.routing.divides_flows(),
            ports: (0..interfaces).map(|_| Wire::default()).collect(),
            turns: vec![0; interfaces],
            ways: FxHashMap::default(),
        })))
    }

    /// The port by which a packet leaves; `is_idle` answers whether one is, and `is_up` whether its link is.
    fn choose(
        &mut self,
        address: u32,
        packet: &Packet,
        is_idle: impl Fn(u32) -> bool,
        is_up: impl Fn(u32) -> bool,
    ) -> u32 {
        let network = &self.network;
        let ways = self.ways.entry((address, packet.dst.0));
        let ways = Arc::clone(ways.or_insert_with(|| network.ways(address, packet.dst.0).into()));
        let up: Vec<u32> = ways.iter().copied().filter(|port| is_up(*port)).collect();
        // With all links down, a packet is lost on one of them, as at a host with one port.
        let ways = if up.is_empty() { &ways[..] } else { &up[..] };
        if ways.is_empty() {
            return address;
        }
        if !self.divides {
            // As with ECMP: packets of a flow keep to one port and so their order.
            return ways[packet.entropy as usize % ways.len()];
        }
        let turn = &mut self.turns[address as usize];
        let first = *turn as usize;
        // Ports take turns at being the first, so that a lone flow uses all of them alike.
        let mut places = (0..ways.len()).map(|place| ways[(first + place) % ways.len()]);
        let port = places.find(|port| is_idle(*port)).unwrap_or(ways[first % ways.len()]);
        *turn = turn.wrapping_add(1);
        port
    }
}

impl Engine<'_> {
    /// The machine that an interface is a port of.
    fn at(&self, interface: u32) -> u32 {
        self.network.owners().address_of(interface)
    }

    /// A packet has come over the link of a port.
    pub(super) fn deliver_to_address(&mut self, interface: u32, handle: u32) {
        self.deliver(self.at(interface), handle);
    }

    /// The wire of a port is free again.
    pub(super) fn wire_is_free(&mut self, interface: u32) {
        if let Some(bonds) = &mut self.bonds {
            bonds.ports[interface as usize].armed = false;
        }
        self.pull_by_ports(interface);
    }

    /// Sends what waits and what the machine has, as far as ports are idle, and schedules the machine's deadline.
    pub(super) fn pull_by_ports(&mut self, interface: u32) {
        let address = self.at(interface);
        let ports: Vec<u32> = self.network.owners().ports_of(address).collect();
        loop {
            self.send_waiting(&ports);
            let asks = self.asks_by_ports(&ports);
            let endpoint = &mut self.hosts[address as usize].endpoint;
            let packet = match asks {
                Asks::All => endpoint.poll_transmit(self.now),
                Asks::Control => endpoint.poll_control(self.now),
                Asks::Nothing => {
                    ports.iter().for_each(|port| self.wake(*port));
                    break;
                }
            };
            let Some(packet) = packet else { break };
            note_repeated(&self.flows, &packet);
            let machine = &mut self.hosts[address as usize];
            let echo = machine.reads_stamps.then(|| machine.endpoint.poll_echo()).flatten();
            let Some(mut bonds) = self.bonds.take() else { return };
            let is_up = |port: u32| !self.ports.egress[port as usize].port.is_down();
            let is_idle = |port: u32| bonds_idle(&bonds.ports, port) && self.wire_is_idle(port);
            let is_open = |port: u32| !packet.is_data() || !self.ports.stops_data(port);
            let idle: Vec<u32> =
                ports.iter().copied().filter(|port| is_idle(*port) && is_open(*port)).collect();
            let port = bonds.choose(address, &packet, |port| idle.contains(&port), is_up);
            bonds.ports[port as usize].waiting.push_back((packet, echo));
            self.bonds = Some(bonds);
        }
        for port in ports {
            if self.bonds.as_ref().is_some_and(|bonds| !bonds.ports[port as usize].waiting.is_empty()) {
                self.wake(port);
            }
        }
        self.arm(address);
    }

    /// The packets that a machine is asked for: any if a port is idle that is not stopped and little waits, control if
    /// all that are idle are stopped.
    fn asks_by_ports(&self, ports: &[u32]) -> Asks {
        let Some(bonds) = &self.bonds else { return Asks::Nothing };
        let waiting = |stopped: bool| -> usize {
            let own = ports.iter().filter(|port| self.ports.stops_data(**port) == stopped);
            own.map(|port| bonds.ports[*port as usize].waiting.len()).sum()
        };
        if waiting(false) >= WAITING * ports.len() || waiting(true) >= STOPPED_WAITING * ports.len() {
            return Asks::Nothing;
        }
        let idle = |port: &&u32| bonds_idle(&bonds.ports, **port) && self.wire_is_idle(**port);
        if ports.iter().filter(idle).any(|port| !self.ports.stops_data(*port)) {
            return Asks::All;
        }
        let free = ports.iter().any(|port| self.wire_is_idle(*port));
        match free && self.ports.lossless.is_some() && !self.ports.stops_control() {
            true => Asks::Control,
            false => Asks::Nothing,
        }
    }

    fn wire_is_idle(&self, port: u32) -> bool {
        self.free_at(port) <= self.now
    }

    fn free_at(&self, number: u32) -> Time {
        let port = &self.ports.egress[number as usize].port;
        let in_vain = self.bonds.as_ref().map_or(Time::ZERO, |bonds| bonds.ports[number as usize].in_vain);
        if port.is_down() { in_vain } else { port.free_at().max(in_vain) }
    }

    /// Puts what waits onto ports whose wires are free.
    fn send_waiting(&mut self, ports: &[u32]) {
        for &port in ports.iter() {
            if !self.wire_is_idle(port) {
                continue;
            }
            // One packet for each port: its wire is busy with it from now on.
            let Some(bonds) = &mut self.bonds else { return };
            let waiting = &mut bonds.ports[port as usize].waiting;
            // Those of a class that is stopped stay, and others pass them.
            let open = waiting.iter().position(|(packet, _)| !self.ports.holds_back(port, packet));
            let Some((packet, echo)) = open.and_then(|place| waiting.remove(place)) else { continue };
            if self.ports.egress[port as usize].port.is_down() {
                self.lose_in_vain(port, &packet);
                continue;
            }
            let handle = self.ports.links.pool.insert(packet);
            if let Some(stamping) = &mut self.ports.links.stamping {
                stamping.take_along(echo);
            }
            self.ports.send(port, handle, self.now, false);
        }
    }

    /// A packet is lost to a link that is down, and takes as long as if it were sent.
    #[cold]
    fn lose_in_vain(&mut self, port: u32, packet: &Packet) {
        let takes = self.ports.egress[port as usize].port.refuse(packet);
        self.ports.links.dropped.note(packet.tag, packet.is_data());
        if packet.is_data() {
            self.flows[packet.tag as usize].drop_one();
        }
        if let Some(bonds) = &mut self.bonds {
            bonds.ports[port as usize].in_vain = self.now + takes;
        }
    }

    /// Looks after a port when its wire is free, if it is not.
    fn wake(&mut self, port: u32) {
        let free_at = self.free_at(port);
        let Some(bonds) = &mut self.bonds else { return };
        let wire = &mut bonds.ports[port as usize];
        if !wire.armed && free_at > self.now {
            wire.armed = true;
            self.ports.links.queue.push(free_at.0, rank::of_work(SENT | port), SENT | port, 0);
        }
    }
}

fn bonds_idle(wires: &[Wire], port: u32) -> bool {
    wires[port as usize].waiting.is_empty()
}
