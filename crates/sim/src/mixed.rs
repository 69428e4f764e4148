//! A host of several transports: one machine for each that has a flow there, and one wire for all of them.
//!
//! **Owner of a packet.** The transport of its flow: every packet carries the number of its flow in `tag`, control
//! packets and strays too, and a flow has one transport.
//!
//! **Shares of the wire.** Each machine gets an equal share of bytes, framing included, while it has something to
//! send; the others take the part that one leaves. This is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM
//! 1996) over machines in place of queues: a machine's turn is where it has got to in bytes, or where the wire is if it
//! was quiet, and the least turn goes first, the first machine's among equals. A machine that was quiet so waits for
//! one packet of each other at most, as an acknowledgement should. The order of packets within a machine stays its own
//! business.

use headway_gauges::{Gauge, RoundTrips};
use headway_network::{FlowSpec, RunSpec};
use headway_packet::{HostId, Packet, Stamps};
use headway_transport::endpoint::{Ahead, Checked, Next, SubflowShare};
use headway_transport::probes::Sink;
use headway_transport::{End, Endpoint, EndpointEvent, Message};
use headway_units::Time;
use std::sync::Arc;

/// A machine of a transport that is known only at run time.
pub use headway_transport::registry::Machine;

/// One transport at a host.
struct Part {
    /// Position in [`RunSpec::transports`].
    transport: u8,
    machine: Checked<Machine>,
    /// Its progress on the wire, in bytes.
    turn: u64,
}

/// The machines of one host.
pub(crate) struct Mixed {
    /// Parts by transport, each once; at least one.
    parts: Box<[Part]>,
    /// The transport of each flow.
    of_flow: Arc<[u8]>,
    /// Start of the packet that left last, in bytes, and the place of the machine that sent it.
    wire: u64,
    sent: usize,
    /// True if ports write into the packets of one of them.
    stamped: bool,
}

/// The transports of each host, in their order. A host without a flow has the first.
pub(crate) fn transports_of(spec: &RunSpec, hosts: u32) -> Vec<Vec<u8>> {
    let mut of_host = vec![Vec::new(); hosts as usize];
    for FlowSpec { src, dst, transport, .. } in &spec.flows {
        // The receiver as well, which answers by the same transport.
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

/// Packets that ports dropped, by transport; of one transport the ports' own counters say it.
pub(crate) struct Dropped<'a> {
    flows: &'a [FlowSpec],
    /// All, and data among them; empty with one transport.
    counts: Vec<(u64, u64)>,
}

impl<'a> Dropped<'a> {
    pub(crate) fn new(spec: &'a RunSpec) -> Dropped<'a> {
        let transports = spec.transports.len();
        Dropped {
            flows: &spec.flows,
            counts: if transports > 1 { vec![(0, 0); transports] } else { Vec::new() },
        }
    }

    /// A packet of a flow is dropped; `data` if the port took it for data.
    pub(crate) fn note(&mut self, tag: u32, data: bool) {
        if self.counts.is_empty() {
            return;
        }
        let (all, of_data) = &mut self.counts[usize::from(self.flows[tag as usize].transport)];
        *all += 1;
        *of_data += u64::from(data);
    }

    /// All, and data among them, by transport.
    pub(crate) fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }
}

impl Mixed {
    /// Machines with the positions of their transports, in that order, for flows of these transports.
    pub(crate) fn new(machines: Vec<(u8, Machine)>, of_flow: Arc<[u8]>) -> Mixed {
        let part = |(transport, machine)| Part { transport, machine: Checked::new(machine), turn: 0 };
        let parts: Box<[Part]> = machines.into_iter().map(part).collect();
        let stamped = parts.iter().any(|part| part.machine.reads_stamps());
        Mixed { parts, of_flow, wire: 0, sent: 0, stamped }
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
        // A machine that was quiet starts where the wire is, without a claim to shares that it did not use.
        let turns = wanting.map(|(place, part)| (part.turn.max(self.wire), place));
        turns.filter(|turn| last.is_none_or(|last| *turn > last)).min()
    }
}

// A method that is not here would answer its default for all machines.
#[deny(clippy::missing_trait_methods)]
impl Endpoint for Mixed {
    fn open_message(&mut self, now: Time, message: &Message) {
        self.parts[self.place(message.tag)].machine.open_message(now, message);
    }

    fn receive_packet(&mut self, now: Time, packet: &Packet) {
        self.parts[self.place(packet.tag)].machine.receive_packet(now, packet);
    }

    fn handle_timeout(&mut self, now: Time) {
        if let [only] = &mut *self.parts {
            return only.machine.handle_timeout(now);
        }
        // A timeout is an input, and a machine may get it only when its own deadline has come.
        let due = |part: &&mut Part| part.machine.next_timeout().is_some_and(|at| at <= now);
        self.parts.iter_mut().filter(due).for_each(|part| part.machine.handle_timeout(now));
    }

    fn abandon_message(&mut self, now: Time, end: End) {
        let place = self.place(end.tag);
        self.parts[place].machine.abandon_message(now, end);
    }

    fn forget_peer(&mut self, now: Time, peer: HostId) {
        // All of them: a peer that is gone is gone for every transport.
        self.parts.iter_mut().for_each(|part| part.machine.forget_peer(now, peer));
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let [only] = &mut *self.parts {
            return only.machine.poll_transmit(now);
        }
        let mut asked = None;
        // A machine that wants the wire may have nothing that may leave now: then the next one is polled.
        while let Some((turn, place)) = self.next(asked) {
            let part = &mut self.parts[place];
            if let Some(packet) = part.machine.poll_transmit(now) {
                (self.wire, self.sent) = (turn, place);
                part.turn = turn + u64::from(packet.wire);
                return Some(packet);
            }
            asked = Some((turn, place));
        }
        None
    }

    /// Control packet of the machine whose turn it is, if it has one.
    fn poll_control(&mut self, now: Time) -> Option<Packet> {
        let mut order: Vec<(u64, usize)> =
            // The same order as for data: control packets count in the share of their machine.
            self.parts.iter().map(|part| part.turn.max(self.wire)).zip(0..).collect();
        order.sort_unstable();
        for (turn, place) in order {
            let part = &mut self.parts[place];
            if let Some(packet) = part.machine.poll_control(now) {
                self.wire = turn;
                part.turn = turn + u64::from(packet.wire);
                return Some(packet);
            }
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

    fn receive_and_poll(&mut self, now: Time, packet: &Packet) -> Option<EndpointEvent> {
        self.parts[self.place(packet.tag)].machine.receive_and_poll(now, packet)
    }

    fn poll_next(&mut self, now: Time, place: &mut Packet) -> Next {
        if let [only] = &mut *self.parts {
            return only.machine.poll_next(now, place);
        }
        Next::poll_machine(self, now, place)
    }

    fn prefetch_input(&self, packet: Option<&Packet>, ahead: Ahead) {
        match packet {
            Some(packet) => self.parts[self.place(packet.tag)].machine.prefetch_input(Some(packet), ahead),
            None => self.parts.iter().for_each(|part| part.machine.prefetch_input(None, ahead)),
        }
    }

    fn reads_stamps(&self) -> bool {
        self.stamped
    }

    fn receive_stamped(&mut self, now: Time, packet: &Packet, stamps: &Stamps) {
        self.parts[self.place(packet.tag)].machine.receive_stamped(now, packet, stamps);
    }

    fn poll_echo(&mut self) -> Option<Stamps> {
        self.parts[self.sent].machine.poll_echo()
    }

    fn live_messages(&self) -> usize {
        self.parts.iter().map(|part| part.machine.live_messages()).sum()
    }

    fn path_lost(&mut self, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        self.parts.iter_mut().for_each(|part| part.machine.path_lost(now, peer, lost));
    }

    fn visit_subflows(&self, found: &mut dyn FnMut(SubflowShare)) {
        self.parts.iter().for_each(|part| part.machine.visit_subflows(found));
    }

    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        self.parts.iter().flat_map(|part| part.machine.collect_gauges(now)).collect()
    }

    fn probe_message(&self, end: &End, found: &mut Sink<'_>) {
        self.parts[self.place(end.tag)].machine.probe_message(end, found);
    }

    /// There is not one distribution to lend: each of [`Mixed::parts`] has its own.
    fn round_trips(&self) -> Option<&RoundTrips> {
        None
    }

    fn transport_parts(&self) -> Vec<(u8, &dyn Endpoint)> {
        self.parts.iter().map(|part| (part.transport, &part.machine as &dyn Endpoint)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_packet::PacketKind;

    /// A machine with so many packets of one size for the wire, that are more after each input.
    struct Chatter {
        tag: u32,
        wire: u16,
        packets: u32,
    }

    impl Endpoint for Chatter {
        fn open_message(&mut self, _: Time, message: &Message) {
            self.packets += message.bytes as u32;
        }
        fn receive_packet(&mut self, _: Time, packet: &Packet) {
            assert_eq!(packet.tag, self.tag);
            self.packets += 1;
        }
        fn handle_timeout(&mut self, _: Time) {}
        fn abandon_message(&mut self, _: Time, _: End) {}
        fn forget_peer(&mut self, _: Time, _: HostId) {
            self.packets = 0;
        }
        fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
            self.packets = self.packets.checked_sub(1)?;
            let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
            (packet.tag, packet.wire) = (self.tag, self.wire);
            Some(packet)
        }
        fn next_timeout(&self) -> Option<Time> {
            (self.packets > 0).then_some(Time::us(u64::from(self.wire)))
        }
        fn poll_event(&mut self) -> Option<EndpointEvent> {
            None
        }
        fn live_messages(&self) -> usize {
            self.packets as usize
        }
    }

    /// Machines of transports 0, 1, ... for flows of the same numbers, with so many packets of these sizes.
    fn chatters(all: &[(u16, u32)]) -> Mixed {
        let machine = |(tag, &(wire, packets)): (usize, &(u16, u32))| {
            (tag as u8, Box::new(Chatter { tag: tag as u32, wire, packets }) as Machine)
        };
        Mixed::new(all.iter().enumerate().map(machine).collect(), (0..all.len() as u8).collect())
    }

    fn pull(host: &mut Mixed) -> Option<u32> {
        assert_eq!(host.poll_event(), None);
        host.poll_transmit(Time::ZERO).map(|packet| packet.tag)
    }

    /// A packet of a flow arrives.
    fn hear(host: &mut Mixed, flow: u32) {
        let mut packet = Packet::new(PacketKind::Ack, HostId(1), HostId(0), 0);
        packet.tag = flow;
        host.receive_packet(Time::ZERO, &packet);
        assert_eq!(host.poll_event(), None);
    }

    #[test]
    fn busy_machines_share_the_wire_by_bytes() {
        // From full packets down to the shortest frame of Ethernet with its framing, 84 B.
        let sizes = [1_500u64, 1_500, 300, 84];
        let mut host = chatters(&sizes.map(|wire| (wire as u16, u32::MAX)));
        let mut left = [0u64; 4];
        for _ in 0..10_000 {
            let tag = pull(&mut host).expect("all have more") as usize;
            left[tag] += sizes[tag];
            // Start-time fair queueing bounds the difference by one packet of the largest size.
            let (least, most) = (left.iter().min().expect("four"), left.iter().max().expect("four"));
            assert!(most - least <= 1_500, "{left:?}: apart by more than a packet");
        }
    }

    #[test]
    fn what_one_machine_leaves_others_take_and_who_comes_back_has_no_claim_on_it() {
        let mut host = chatters(&[(1_500, u32::MAX), (1_500, 0)]);
        assert!((0..1_000).all(|_| pull(&mut host) == Some(0)));
        // Three in a row would leave if machine 1 had a claim to the share that it left unused.
        hear(&mut host, 1);
        hear(&mut host, 1);
        hear(&mut host, 1);
        let next: Vec<_> = (0..6).map(|_| pull(&mut host)).collect();
        assert_eq!(next, [1, 0, 1, 0, 1, 0].map(Some), "at once, and then in turns");
    }

    #[test]
    fn inputs_reach_the_machine_of_their_flow_alone() {
        let mut host = chatters(&[(100, 0), (200, 0), (300, 0)]);
        hear(&mut host, 2);
        assert_eq!((host.live_messages(), host.next_timeout()), (1, Some(Time::us(300))));
        hear(&mut host, 1);
        assert_eq!((host.live_messages(), host.next_timeout()), (2, Some(Time::us(200))));
        assert_eq!(
            host.transport_parts().iter().map(|(_, machine)| machine.live_messages()).collect::<Vec<_>>(),
            [0, 1, 1]
        );
        let mut left = [pull(&mut host), pull(&mut host)];
        left.sort_unstable();
        assert_eq!((left, pull(&mut host)), ([Some(1), Some(2)], None));
        hear(&mut host, 0);
        host.forget_peer(Time::ZERO, HostId(1));
        assert_eq!(host.poll_event(), None);
        assert_eq!((host.live_messages(), host.next_timeout()), (0, None));
    }
}
