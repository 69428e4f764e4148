//! The event loop of a shard: hosts, links and ports in virtual time.
//!
//! A packet costs one event a hop: its arrival at the far end. Everything a hop touches is a dense array
//! indexed by number. A run on one thread has one shard, which is the whole network; what concerns a run as a whole,
//! such as its end and its samples, is the [conductor](crate::conductor)'s.

use crate::links::{
    ARRIVED, AT_PORT, AT_SWITCH, BACK, CHANGE, CHOOSE, DELIVER, FLOW_START, FORWARD, GIVEN_UP, HOST, Letter,
    NUMBER, OF_HOST, PORT_SERVICE, RELEASE, STEPS, STOPPED, TIMER,
};
use crate::ports::Ports;
use crate::progressing::Progressing;
use crate::queue::Event;
use crate::rank;
use crate::sampler::Deliveries;
use crate::shared::Shared;
use crate::waiting::Waiting;
use headway_fabric::{Fate, Full};
use headway_network::{BuildError, EventKind, FlowSpec, Network, Place, RunSpec, Seen};
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind};
use headway_primitives::{mix, prefetch};
use headway_transport::endpoint::{Ahead, Around, Checked, Next};
use headway_transport::registry::Machine;
use headway_transport::{Endpoint, EndpointEvent};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A host of a network.
pub(crate) struct Host {
    pub(crate) endpoint: Checked<Machine>,
    /// True if ports write into its packets: [`Endpoint::reads_stamps`], which does not change.
    pub(crate) reads_stamps: bool,
    /// Earliest timer event waiting in the queue; `Time::MAX` when none.
    armed: Time,
}

impl Host {
    pub(crate) fn new(endpoint: Machine) -> Host {
        Host { reads_stamps: endpoint.reads_stamps(), endpoint: Checked::new(endpoint), armed: Time::MAX }
    }
}

/// Why a shard stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stopped {
    /// Its next event comes after the limit.
    Limit,
    /// It has handled as many events as it was to.
    Events,
    /// All flows have ended, and so has the instant in which the last did.
    Done,
}

/// An event of the queue in words; `packet` is asked only where there is one.
pub(crate) fn seen(event: &Event, packet: impl Fn(u32) -> Packet) -> Seen {
    let number = event.what & NUMBER;
    let (kind, place) = match event.what & !NUMBER {
        FORWARD => (EventKind::Arrival, Place::Port(number)),
        DELIVER => (EventKind::Delivery, Place::Host(number)),
        PORT_SERVICE => (EventKind::PortFree, Place::Port(number)),
        RELEASE => (EventKind::PortRelease, Place::Port(number)),
        TIMER => (EventKind::Timer, Place::Host(number)),
        FLOW_START if event.packet != 0 => (EventKind::Released, Place::Host(number)),
        FLOW_START => (EventKind::FlowStart, Place::Host(number)),
        CHANGE if event.what & STEPS == ARRIVED => (EventKind::Interface, Place::Host(number & HOST)),
        CHANGE if event.what & STEPS == STOPPED => (EventKind::FlowStop, Place::Host(number & HOST)),
        CHANGE if event.what & STEPS == GIVEN_UP => (EventKind::GivenUp, Place::Host(number & HOST)),
        CHANGE if number & OF_HOST != 0 => (EventKind::HostWork, Place::Host(number & HOST)),
        CHANGE if number & AT_SWITCH != 0 => {
            (EventKind::Choice, Place::Port(number & !(AT_SWITCH | AT_PORT)))
        }
        CHANGE if number & AT_PORT != 0 => (EventKind::Pause, Place::Port(number & !AT_PORT)),
        CHANGE => (EventKind::NetworkChange, Place::Network),
        kind => unreachable!("{kind:#x} is no kind of event"),
    };
    let carries =
        matches!(kind, EventKind::Arrival | EventKind::Choice | EventKind::Delivery | EventKind::Interface);
    Seen { at: Time(event.at), kind, place, packet: carries.then(|| packet(event.packet)) }
}

/// The flows that may end within a window, and those that cannot (see the conductor).
pub(crate) struct Nearness {
    /// Bytes that may be delivered to a host in a window.
    pub(crate) within: u64,
    /// Flows that have come near in this shard.
    pub(crate) came: u64,
}

/// One shard of a run in progress.
pub(crate) struct Engine<'a> {
    spec: &'a RunSpec,
    network: Arc<Network>,
    pub(crate) now: Time,
    pub(crate) ports: Ports<'a>,
    pub(crate) hosts: Shared<Host>,
    /// State of hosts' processors and interfaces, if they take time.
    work: Option<Box<Work>>,
    /// State of the ports of interfaces, if some have several.
    bonds: Option<Box<Bonds>>,
    /// Numbers of the flows that its hosts send, in order of start and then of host; those before `next_flow` have
    /// started.
    order: Vec<u32>,
    next_flow: usize,
    /// Flows that are over at a time, at each end that is a host of it, in order of time and host, and how many of them are
    /// over.
    stops: (Vec<Stop>, usize),
    /// Dependencies of flows, if there are any.
    pub(crate) waiting: Option<Arc<Waiting>>,
    /// Flows that are given while the run goes on, if any are.
    pub(crate) given: Option<Box<Given>>,
    /// True if either is there, so that ends have to be noticed.
    tells: bool,
    /// Times at which the processors are free that steps took turns at, by host.
    processors: FxHashMap<(Option<u32>, u32), Time>,
    /// Responsive flows that waited for others and have begun.
    pub(crate) released: u64,
    /// By flow, the number of its message once it is open; empty where no flow has a stop and none is probed.
    numbers: Arc<[AtomicU32]>,
    pub(crate) flows: Arc<[Progressing]>,
    /// Number of the next message by sender, receiver and transport.
    message_numbers: FxHashMap<(u32, u32, u8), u32>,
    /// Responsive flows that have to end before it stops by itself. Of several shards, none does.
    pub(crate) open: u64,
    /// Flows that ended here, and the responsive ones among them.
    pub(crate) done: u64,
    pub(crate) ended: u64,
    /// Flows whose connection was not open as they began.
    pub(crate) unconnected: u64,
    /// Bytes that were delivered since the last sample, if flows are sampled.
    pub(crate) deliveries: Option<Box<Deliveries>>,
    pub(crate) nearness: Option<Nearness>,
    /// Time after a sender gave a message up for which its run still waits: no shorter than any window.
    patience: Time,
    /// Packets that have come from other shards, by shard.
    pub(crate) inbox: Vec<Vec<Letter>>,
    /// Arrival of the first of them.
    pub(crate) first_letter: u64,
    /// Start of the next waiting packet for another shard, as far as it is known without looking.
    pub(crate) next_start: u64,
    pub(crate) events: u64,
    /// The number of events at which it stops to let the conductor look.
    pub(crate) pause: u64,
    /// A sum over all events of what each is and when: the same for every division of the network.
    pub(crate) digest: u64,
    /// Changes of the network happen in every shard, and count in the first.
    counts_changes: bool,
}

/// A flow is over at one of its ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Stop {
    pub(crate) at: Time,
    pub(crate) host: u32,
    pub(crate) flow: u32,
}

/// Starts and ends of one shard.
#[derive(Default)]
pub(crate) struct Agenda {
    /// Numbers of the flows that its hosts send and that wait for no other, in order of start and then of host.
    pub(crate) order: Vec<u32>,
    /// Flows that are over at a time, at each end that is a host of it, in order of time and host.
    pub(crate) stops: Vec<Stop>,
    /// Steps that wait for nothing.
    pub(crate) steps: Vec<u32>,
}

/// State that all shards of a run share.
pub(crate) struct Common<'a> {
    pub(crate) spec: &'a RunSpec,
    pub(crate) network: Arc<Network>,
    pub(crate) flows: Arc<[Progressing]>,
    pub(crate) patience: Time,
    pub(crate) shards: usize,
    pub(crate) waiting: Option<Arc<Waiting>>,
    /// By flow, the number of its message once it is open; empty where no flow has a stop and none is probed.
    pub(crate) numbers: Arc<[AtomicU32]>,
}

impl<'a> Engine<'a> {
    /// The shard of a number.
    pub(crate) fn new(
        common: &Common<'a>,
        mut ports: Ports<'a>,
        hosts: Shared<Host>,
        agenda: Agenda,
        shard: usize,
    ) -> Result<Engine<'a>, BuildError> {
        let Common { spec, shards, patience, .. } = *common;
        let network = Arc::clone(&common.network);
        let work = Work::new(spec, &network)?;
        // `armed` that never falls keeps the usual events away from wires that the processor serves.
        if work.is_some() {
            (0..network.interfaces()).for_each(|host| ports.egress[host as usize].armed = true);
        }
        let steps = common.waiting.as_ref().map_or(0, |waiting| waiting.graph.steps().len());
        let open = (spec.flows.iter().filter(|f| f.responsive).count() + steps) as u64;
        let mut engine = Engine {
            spec,
            now: Time::ZERO,
            ports,
            hosts,
            work,
            bonds: Bonds::new(spec, &network)?,
            network,
            order: agenda.order,
            next_flow: 0,
            stops: (agenda.stops, 0),
            waiting: common.waiting.clone(),
            given: None,
            tells: common.waiting.is_some(),
            processors: FxHashMap::default(),
            released: 0,
            numbers: Arc::clone(&common.numbers),
            flows: Arc::clone(&common.flows),
            message_numbers: FxHashMap::default(),
            // One of several shards cannot know when all flows have ended: the conductor decides.
            open: if shards > 1 { u64::MAX } else { open },
            done: 0,
            ended: 0,
            unconnected: 0,
            deliveries: None,
            nearness: None,
            patience,
            inbox: (0..shards).map(|_| Vec::new()).collect(),
            first_letter: u64::MAX,
            next_start: u64::MAX,
            events: 0,
            pause: u64::MAX,
            digest: 0,
            counts_changes: shard == 0,
        };
        engine.schedule_next_flow();
        engine.schedule_next_stop();
        engine.begin_steps(&agenda.steps);
        Ok(engine)
    }

    /// Flows that have begun here, and ends of flows and steps.
    pub(crate) fn begun_and_over(&self) -> (u64, u64) {
        let given = self.given.as_ref().map_or(0, |given| given.flows.len());
        let begun = self.next_flow as u64 + self.released + given as u64;
        (begun, self.done + self.ended + self.stops.1 as u64)
    }

    /// True if a flow is still to begin here, or to be over at a time, or a source waits for a time.
    pub(crate) fn has_plans(&self) -> bool {
        let given = self.given.as_ref().is_some_and(|given| given.is_due());
        given || self.next_flow < self.order.len() || self.stops.1 < self.stops.0.len()
    }

    /// Handles all events before `limit`, unless it has to stop earlier.
    pub(crate) fn run_before(&mut self, limit: u64) -> Stopped {
        while self.open > 0 {
            if self.events >= self.pause {
                return Stopped::Events;
            }
            let Some(event) = self.next_before(limit) else { return Stopped::Limit };
            self.step(event);
        }
        // The run ends with an instant, and not in the middle of one.
        while let Some(event) = self.next_before(self.now.0 + 1) {
            self.step(event);
        }
        Stopped::Done
    }

    /// Takes the next event if it is before `limit`.
    #[inline(always)]
    pub(crate) fn next_before(&mut self, limit: u64) -> Option<Event> {
        let hosts = &self.hosts;
        let machine = |host: u32, ahead: Option<Ahead>, packet: Option<&Packet>| match ahead {
            None => {
                if let Some(host) = hosts.get(host as usize) {
                    prefetch::<dyn Endpoint + Send>(&**host.endpoint.inner());
                }
            }
            Some(ahead) => hosts[host as usize].endpoint.prefetch_input(packet, ahead),
        };
        self.ports.next_event(limit, machine)
    }

    /// Handles the next event, wherever it is in time.
    #[inline(never)]
    pub(crate) fn step_once(&mut self) {
        if let Some(event) = self.next_before(u64::MAX) {
            self.step(event);
        }
    }

    /// Takes in what other shards have sent.
    pub(crate) fn take_letters(&mut self) {
        self.first_letter = u64::MAX;
        for (from, letters) in self.inbox.iter_mut().enumerate() {
            self.ports.links.receive(from, letters);
        }
    }

    /// A window: takes in what other shards have sent, handles all events before `until`, and sends everything that leaves
    /// for another shard before it.
    pub(crate) fn run_window(&mut self, until: u64) {
        self.take_letters();
        self.run_before(until);
        self.flush(until);
    }

    /// Sends everything that leaves for another shard before `until`.
    pub(crate) fn flush(&mut self, until: u64) {
        self.next_start = self.ports.flush(until);
    }

    /// Time of its next event, as far as it knows by itself; the end of time if there is none.
    pub(crate) fn next_event_at(&mut self) -> u64 {
        self.ports.links.queue.first().map_or(u64::MAX, |(at, _)| at)
    }

    /// Inline whatever the size of the machines in it: a call for each event is a tenth of the event's time.
    #[inline(always)]
    pub(crate) fn step(&mut self, event: Event) {
        self.now = Time(event.at);
        self.events += 1;
        // Without the packet's handle, which depends on the shard's own pool.
        let word = event.at ^ (u64::from(event.what) << 32);
        // A sum: shards handle events in another order than one thread does.
        self.digest = self.digest.wrapping_add(mix(word));
        let number = event.what & NUMBER;
        let kind = event.what & !NUMBER;
        // Most events are of this kind, so that it comes ahead of a jump through a table.
        if kind == FORWARD {
            return self.forward(number, event.packet);
        }
        match kind {
            DELIVER => self.deliver(number, event.packet),
            PORT_SERVICE => self.port_service(number),
            TIMER => self.timer(number),
            FLOW_START => match event.packet.checked_sub(1) {
                None => self.start_flows(),
                Some(node) => self.node(node),
            },
            RELEASE => self.port_release(number),
            CHANGE if number & OF_HOST != 0 => self.host_step(event.what, event.packet),
            CHANGE if number & AT_SWITCH != 0 => self.choose(event.what & !CHOOSE, event.packet),
            CHANGE if number & AT_PORT != 0 => self.pause_frame(number & !AT_PORT, event.packet),
            CHANGE => {
                if !self.counts_changes {
                    self.events -= 1;
                    self.digest = self.digest.wrapping_sub(mix(word));
                }
                self.change(number);
            }
            // There are seven kinds of three bits, and the first is above.
            kind => unreachable!("{kind:#x} is no kind of event"),
        }
    }

    /// A packet arrived at a switch, for this port. It is part of the event loop: a call for each hop would cost 3 %.
    #[inline(always)]
    fn forward(&mut self, number: u32, handle: u32) {
        if let Err(full) = self.ports.offer(number, handle, self.now) {
            self.overflowed(number, full);
        }
    }

    /// A full queue at this port hit a packet.
    #[inline(never)]
    fn overflowed(&mut self, number: u32, full: Full<u32>) {
        self.ports.overflowed(number, self.now);
        let packet = self.ports.links.pool.get(full.handle);
        let flow = packet.tag as usize;
        let data = matches!(packet.kind, PacketKind::Data | PacketKind::Header);
        if full.trimmed {
            self.flows[flow].trim();
        }
        let onward = match full.fate {
            Fate::Kept => return,
            Fate::Dropped(reason) => {
                self.ports.links.dropped.note(flow as u32, !reason.is_of_control());
                None
            }
            Fate::Returned => self.ports.way_back(number, full.handle, self.now),
        };
        match onward {
            // After all that arrives in this instant.
            Some(port) => {
                let rank = rank::of_return(number);
                let kind = if self.ports.memory.is_some() { BACK } else { FORWARD };
                self.ports.links.queue.push(self.now.0, rank, kind | port, full.handle);
            }
            None => {
                if data {
                    self.flows[flow].drop_one();
                }
                self.ports.links.pool.release(full.handle);
            }
        }
    }

    #[inline]
    fn port_service(&mut self, number: u32) {
        // The wire of a host without a queue in front of it: its machine decides what leaves.
        if number < self.ports.pulled {
            self.ports.egress[number as usize].armed = false;
            self.pull(number);
        } else {
            self.ports.look_after(number, self.now);
        }
    }

    /// A packet arrived at its host.
    #[inline]
    fn deliver(&mut self, host: u32, handle: u32) {
        let packet = self.ports.links.pool.get(handle);
        // AMRT's mark of spare bandwidth counts as well as the standard one.
        if packet.is_data() && matches!(packet.ecn, Ecn::Spare | Ecn::Ce) {
            self.flows[packet.tag as usize].mark();
        }
        let machine = &mut self.hosts[host as usize];
        let event = if machine.reads_stamps {
            self.deliver_stamped(host, handle)
        } else {
            machine.endpoint.receive_and_poll(self.now, packet)
        };
        // Before events are noted: `attribute` finds the packet as the one released last.
        self.ports.links.pool.release(handle);
        if let Some(event) = event {
            self.note(event);
            self.note_events(host);
        }
        self.pull(host);
    }

    /// A packet arrived with what ports have written into it.
    fn deliver_stamped(&mut self, host: u32, handle: u32) -> Option<EndpointEvent> {
        let links = &mut self.ports.links;
        let stamps = links.stamping.as_mut().map(|stamping| stamping.of(handle)).unwrap_or_default();
        let packet = links.pool.get(handle);
        let endpoint = &mut self.hosts[host as usize].endpoint;
        endpoint.receive_stamped(self.now, packet, &stamps);
        endpoint.poll_event()
    }

    fn timer(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if host.armed != self.now {
            // An earlier deadline was armed after this event was made, and has been served.
            return;
        }
        host.armed = Time::MAX;
        host.endpoint.handle_timeout(self.now);
        self.settle(number);
    }

    /// Drains a machine after an input: events, a packet if the wire is free, deadline.
    #[inline]
    fn settle(&mut self, number: u32) {
        self.note_events(number);
        self.pull(number);
    }

    #[inline]
    fn note_events(&mut self, number: u32) {
        while let Some(event) = self.hosts[number as usize].endpoint.poll_event() {
            self.note(event);
        }
    }

    /// Schedules a machine's earliest deadline.
    fn arm(&mut self, number: u32) {
        let timeout = self.hosts[number as usize].endpoint.next_timeout();
        self.arm_at(number, timeout);
    }

    /// Schedules a machine's earliest deadline, which is `timeout`.
    #[inline(always)]
    fn arm_at(&mut self, number: u32, timeout: Option<Time>) {
        let host = &mut self.hosts[number as usize];
        if let Some(at) = timeout
            && at < host.armed
        {
            // A machine may give a deadline that has passed: it is due now.
            let at = at.max(self.now);
            host.armed = at;
            self.ports.links.queue.push(at.0, rank::of_timer(number), TIMER | number, 0);
        }
    }

    /// Asks a host for a packet if its wire is free, and schedules its machine's earliest deadline: a packet that leaves may
    /// set one.
    #[inline]
    fn pull(&mut self, number: u32) {
        if !self.may_send(number) {
            return self.arm(number);
        }
        let host = &mut self.hosts[number as usize];
        let pool = &mut self.ports.links.pool;
        // Reserved before it is known whether there is a packet, so that the machine writes it in its place.
        let handle = pool.reserve();
        let Next { sent, more, timeout } = host.endpoint.poll_next(self.now, pool.get_mut(handle));
        if sent {
            if host.reads_stamps
                && let Some(stamping) = &mut self.ports.links.stamping
            {
                stamping.take_along(host.endpoint.poll_echo());
            }
            let packet = self.ports.links.pool.get(handle);
            note_repeated(&self.flows, packet);
            self.ports.send(number, handle, self.now, more);
        } else {
            pool.release(handle);
        }
        self.arm_at(number, timeout);
    }

    /// True if a host can be polled for a packet. If it cannot, because its wire is busy or down or packets wait in a
    /// queue in front of it, arranges for its next turn.
    #[inline(always)]
    fn may_send(&mut self, host: u32) -> bool {
        if host >= self.ports.pulled {
            self.fill(host);
            return false;
        }
        let egress = &mut self.ports.egress[host as usize];
        if egress.armed {
            if self.work.is_some() {
                self.prepare(host);
            }
            return false;
        }
        let free_at = egress.port.free_at();
        if self.now < free_at {
            // Packets that a machine sends meanwhile have to be lost, not kept: its loss detection has to notice.
            if egress.port.is_down() {
                self.pull_in_vain(host);
                return false;
            }
            egress.armed = true;
            let what = PORT_SERVICE | host;
            self.ports.links.queue.push(free_at.0, rank::of_work(what), what, 0);
            return false;
        }
        true
    }

    /// Takes all that a host has for its wire into the queue in front of it.
    #[cold]
    #[inline(never)]
    fn fill(&mut self, host: u32) {
        if self.bonds.is_some() {
            return self.pull_by_ports(host);
        }
        if self.ports.lossless.is_some() && self.spec.fabric.host_queue.is_none() {
            return self.pull_unless_stopped(host);
        }
        while let Some(packet) = self.hosts[host as usize].endpoint.poll_transmit(self.now) {
            note_repeated(&self.flows, &packet);
            let handle = self.ports.links.pool.insert(packet);
            let machine = &mut self.hosts[host as usize];
            if let (true, Some(stamping)) = (machine.reads_stamps, &mut self.ports.links.stamping) {
                stamping.put(handle, machine.endpoint.poll_echo().unwrap_or_default());
            }
            if self.ports.lossless.is_some() {
                self.queue_lossless(host, handle);
            } else {
                self.forward(host, handle);
            }
        }
    }

    /// Asks a host for a packet although its link is down: it is lost, and takes as long as if it were sent.
    #[cold]
    #[inline(never)]
    fn pull_in_vain(&mut self, host: u32) {
        let Some(packet) = self.hosts[host as usize].endpoint.poll_transmit(self.now) else { return };
        let egress = &mut self.ports.egress[host as usize];
        let next = self.now + egress.port.refuse(&packet);
        self.ports.links.dropped.note(packet.tag, packet.is_data());
        egress.armed = true;
        self.ports.links.queue.push(next.0, rank::of_work(PORT_SERVICE | host), PORT_SERVICE | host, 0);
        if packet.is_data() {
            self.flows[packet.tag as usize].drop_one();
        }
        note_repeated(&self.flows, &packet);
    }

    /// Links go down, come up or change.
    #[cold]
    #[inline(never)]
    fn change(&mut self, number: u32) {
        let back = self.ports.change(number, self.now, self.spec.seed);
        for host in back {
            self.pull(host);
        }
    }

    /// A flow by its number.
    #[inline(always)]
    fn flow(&self, number: u32) -> &FlowSpec {
        match self.spec.flows.get(number as usize) {
            Some(flow) => flow,
            None => self.given_flow(number),
        }
    }
}

/// Counts the packets that a machine sends again.
#[inline(always)]
fn note_repeated(flows: &[Progressing], packet: &Packet) {
    if packet.flags.has_all(PacketFlags::AGAIN) && packet.is_data() {
        flows[packet.tag as usize].retransmit(packet.payload);
    }
}

mod bonds;
mod flows;
mod given;
mod graph;
mod lossless;
mod work;

use bonds::Bonds;
pub(crate) use given::Given;
use work::Work;
