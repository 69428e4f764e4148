//! The event loop: hosts, links and ports in virtual time.
//!
//! A packet costs one event a hop: its arrival at the far end. Everything a hop touches is a dense array
//! indexed by number.

use crate::links::{
    ARRIVED, CHANGE, CLASS_PACKET, DELIVER, FLOW_START, FORWARD, HOST, NUMBER, OF_HOST, PORT_SERVICE,
    RELEASE, SAMPLE, STEPS, TIMER,
};
use crate::packet_pool::PacketPool;
use crate::ports::Ports;
use crate::progressing::Progressing;
use crate::queue::Event;
use crate::sampler::Sampler;
use headway_fabric::{Fate, Full};
use headway_gauges::{Gauge, RoundTrips};
use headway_network::Tap;
use headway_network::{Arrivals, FlowRecord, FlowState, Outcome, Progress, TransportRecord};
use headway_network::{BuildError, Ideals, Network};
use headway_network::{EventKind, FlowSpec, Place, RunSpec, Seen, Witness};
use headway_network::{PER_PACKET, PER_SAMPLE};
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind};
use headway_primitives::prefetch_at;
use headway_transport::endpoint::{Ahead, Around, Checked};
use headway_transport::{Endpoint, EndpointEvent, Message};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Classes order events of one instant: packets and ports, then timers, then new flows, then samples.
const CLASS_TIMER: u8 = 1;
const CLASS_FLOW: u8 = 2;
const CLASS_SAMPLE: u8 = 3;

/// Events between two looks at what packets and samples take: as many packets may be too many.
const ROOM_EVENTS: u64 = 1 << 12;
/// Events between two calls of the progress function, a multiple of the former.
const PROGRESS_EVENTS: u64 = 1 << 16;

struct Host<E> {
    endpoint: Checked<E>,
    /// Earliest timer event waiting in the queue; `Time::MAX` when none.
    armed: Time,
}

/// An event of the queue in words; `packet` is asked only where there is one.
fn seen(event: &Event, packet: impl Fn(u32) -> Packet) -> Seen {
    let number = event.what & NUMBER;
    let (kind, place) = match event.what & !NUMBER {
        FORWARD => (EventKind::Arrival, Place::Port(number)),
        DELIVER => (EventKind::Delivery, Place::Host(number)),
        PORT_SERVICE => (EventKind::PortFree, Place::Port(number)),
        RELEASE => (EventKind::PortRelease, Place::Port(number)),
        TIMER => (EventKind::Timer, Place::Host(number)),
        FLOW_START => (EventKind::FlowStart, Place::Network),
        CHANGE if event.what & STEPS == ARRIVED => (EventKind::Interface, Place::Host(number & HOST)),
        CHANGE if number & OF_HOST != 0 => (EventKind::HostWork, Place::Host(number & HOST)),
        CHANGE => (EventKind::NetworkChange, Place::Network),
        SAMPLE => (EventKind::Sample, Place::Network),
        kind => unreachable!("{kind:#x} is no kind of event"),
    };
    let carries = matches!(kind, EventKind::Arrival | EventKind::Delivery | EventKind::Interface);
    Seen { at: Time(event.at), kind, place, packet: carries.then(|| packet(event.packet)) }
}

/// One run in progress.
pub(crate) struct Engine<'a, E> {
    spec: &'a RunSpec,
    network: Arc<Network>,
    now: Time,
    ports: Ports<'a>,
    hosts: Vec<Host<E>>,
    /// What processors and interfaces of hosts are at, where they take time.
    work: Option<Box<Work>>,
    /// Flow numbers in order of start; those before `next_flow` have started.
    order: Vec<u32>,
    next_flow: usize,
    /// What links did while the second half of the flows started.
    arrivals: Option<Arrivals>,
    flows: Vec<Progressing>,
    /// Of the next message by sender, receiver and transport.
    message_numbers: FxHashMap<(u32, u32, u8), u32>,
    /// Responsive flows that have not ended.
    open: u64,
    done: u64,
    /// Flows whose connection was not open as they began.
    unconnected: u64,
    sampler: Option<Sampler>,
    /// When the run ends at the latest: as it was asked to, or when the sampler has taken all that it may.
    stop: Time,
    /// What took all the memory that it may.
    full: Option<&'static str>,
    /// Bytes that packets in flight and samples may take.
    pub(crate) room: u64,
    events: u64,
    /// The number of events at which the loop looks up: for room, for progress, or for whoever watches each of them.
    pause: u64,
    /// Who sees every event.
    witness: Option<&'a mut dyn Witness>,
    digest: u64,
}

impl<'a, E: Endpoint> Engine<'a, E> {
    pub(crate) fn new(
        spec: &'a RunSpec,
        network: Arc<Network>,
        endpoints: Vec<E>,
        tap: Option<&'a mut dyn Tap>,
    ) -> Result<Engine<'a, E>, BuildError> {
        let mut ports = Ports::new(Arc::clone(&network), spec, tap)?;
        let work = Work::new(spec, network.hosts())?;
        if work.is_some() {
            ports.egress[..network.hosts() as usize].iter_mut().for_each(|egress| egress.armed = true);
        }
        let hosts = endpoints.into_iter().map(|e| Host { endpoint: Checked::new(e), armed: Time::MAX });
        let mut order: Vec<u32> = (0..spec.flows.len() as u32).collect();
        order.sort_by_key(|&f| spec.flows[f as usize].start);
        let fresh = Progressing {
            state: FlowState::Pending,
            delivered: 0,
            finish: Time::ZERO,
            retransmitted: 0,
            drops: 0,
            trims: 0,
            marks: 0,
        };
        let sampler = spec.sample.as_ref().map(|s| Sampler::new(s, &network, &spec.flows));
        Ok(Engine {
            spec,
            now: Time::ZERO,
            ports,
            hosts: hosts.collect(),
            work,
            network,
            order,
            next_flow: 0,
            arrivals: None,
            flows: vec![fresh; spec.flows.len()],
            message_numbers: FxHashMap::default(),
            open: spec.flows.iter().filter(|f| f.responsive).count() as u64,
            done: 0,
            unconnected: 0,
            sampler,
            stop: spec.stop,
            full: None,
            room: u64::MAX,
            events: 0,
            pause: ROOM_EVENTS,
            witness: None,
            digest: 0,
        })
    }

    /// Shows every event to a witness, if there is one.
    pub(crate) fn watched_by(&mut self, witness: Option<&'a mut dyn Witness>) {
        self.pause = if witness.is_some() { 0 } else { ROOM_EVENTS };
        self.witness = witness;
    }

    /// Runs to the end; `false` from `progress` stops early.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(&Progress) -> bool) -> bool {
        self.schedule_next_flow();
        if let Some(every) = self.spec.sample.as_ref().map(|s| s.every) {
            self.ports.links.queue.push(every.0, CLASS_SAMPLE, SAMPLE, 0);
        }
        while self.open > 0 {
            let hosts = &self.hosts;
            let machine = |host: u32, ahead: Option<Ahead>, packet: Option<&Packet>| match ahead {
                None => prefetch_at(hosts, host as usize),
                Some(ahead) => hosts[host as usize].endpoint.anticipate(packet, ahead),
            };
            let Some(event) = self.ports.next_event(machine) else { break };
            if event.at > self.stop.0 {
                self.now = self.stop;
                break;
            }
            if self.events == self.pause && !self.goes_on(event, progress) {
                return false;
            }
            self.step(event);
        }
        self.full.is_none()
    }

    /// Whether there is room for more, and nobody who looks on has seen enough, `event` being the next.
    #[cold]
    fn goes_on(&mut self, event: Event, progress: &mut dyn FnMut(&Progress) -> bool) -> bool {
        self.pause = (self.events / ROOM_EVENTS + 1) * ROOM_EVENTS;
        if let Some(witness) = &mut self.witness {
            self.pause = self.events + 1;
            let pool = &self.ports.links.pool;
            if !witness.event(&seen(&event, |handle| *pool.get(handle))) {
                return false;
            }
        }
        if self.events == 0 || !self.events.is_multiple_of(ROOM_EVENTS) {
            return true;
        }
        let samples = self.sampler.as_ref().map_or(0, Sampler::rows) * PER_SAMPLE;
        let packets = self.ports.links.pool.slots() * PER_PACKET;
        if samples + packets > self.room {
            self.full = Some(if samples > packets { "samples" } else { "packets in flight" });
            return false;
        }
        !self.events.is_multiple_of(PROGRESS_EVENTS) || progress(&self.progress())
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            stop: self.spec.stop,
            events: self.events,
            flows_done: self.done,
            flows_total: self.flows.len() as u64,
        }
    }

    /// Inline whatever the size of the machines in it: a call an event is a tenth of what an event takes.
    #[inline(always)]
    fn step(&mut self, event: Event) {
        self.now = Time(event.at);
        self.events += 1;
        // Rotation and an odd multiplier: a changed order of equal events changes the digest.
        let word = event.at ^ (u64::from(event.what) << 32);
        self.digest = (self.digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        let number = event.what & NUMBER;
        let kind = event.what & !NUMBER;
        // What most events are, ahead of a jump through a table.
        if kind == FORWARD {
            return self.forward(number, event.packet);
        }
        match kind {
            DELIVER => self.deliver(number, event.packet),
            PORT_SERVICE => self.port_service(number),
            TIMER => self.timer(number),
            FLOW_START => self.start_flows(),
            RELEASE => self.ports.release(number, self.now),
            CHANGE if number & OF_HOST != 0 => self.host_step(event.what, event.packet),
            CHANGE => self.change(number),
            SAMPLE => self.sample(),
            // There are eight kinds of three bits, and the first is above.
            kind => unreachable!("{kind:#x} is no kind of event"),
        }
    }

    /// A packet arrived at a switch, for this port.
    #[inline]
    fn forward(&mut self, number: u32, handle: u32) {
        if let Err(full) = self.ports.offer(number, handle, self.now) {
            self.overflowed(number, full);
        }
    }

    /// A full queue at this port hit a packet.
    #[inline(never)]
    fn overflowed(&mut self, number: u32, full: Full<u32>) {
        self.ports.overflowed(number);
        let packet = self.ports.links.pool.get(full.handle);
        let flow = packet.tag as usize;
        let data = matches!(packet.kind, PacketKind::Data | PacketKind::Header);
        if full.trimmed {
            self.flows[flow].trims += 1;
        }
        let onward = match full.fate {
            Fate::Kept => return,
            Fate::Dropped(reason) => {
                self.ports.links.dropped.note(flow as u32, !reason.is_of_control());
                None
            }
            Fate::Returned => self.ports.links.way_back(number, full.handle, self.now),
        };
        match onward {
            Some(port) => self.forward(port, full.handle),
            None => {
                if data {
                    self.flows[flow].drops += 1;
                }
                self.ports.links.pool.release(full.handle);
            }
        }
    }

    #[inline]
    fn port_service(&mut self, number: u32) {
        if number < self.network.hosts() {
            self.ports.egress[number as usize].armed = false;
            self.pull(number);
            self.arm(number);
        } else {
            self.ports.look_after(number, self.now);
        }
    }

    /// A packet arrived at its host.
    #[inline]
    fn deliver(&mut self, host: u32, handle: u32) {
        let packet = self.ports.links.pool.get(handle);
        if packet.is_data() && matches!(packet.ecn, Ecn::Spare | Ecn::Ce) {
            self.flows[packet.tag as usize].marks += 1;
        }
        self.hosts[host as usize].endpoint.receive(self.now, packet);
        self.ports.links.pool.release(handle);
        self.settle(host);
    }

    fn timer(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if host.armed != self.now {
            // An earlier deadline was armed after this event was made, and has been served.
            return;
        }
        host.armed = Time::MAX;
        host.endpoint.timeout(self.now);
        self.settle(number);
    }

    /// Drains a machine after an input: events, a packet if the wire is free, deadline.
    #[inline]
    fn settle(&mut self, number: u32) {
        while let Some(event) = self.hosts[number as usize].endpoint.poll_event() {
            self.note(event);
        }
        self.pull(number);
        self.arm(number);
    }

    /// Schedules a machine's earliest deadline. A packet that leaves may set one, so this follows each pull.
    #[inline(always)]
    fn arm(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if let Some(at) = host.endpoint.next_timeout()
            && at < host.armed
        {
            let at = at.max(self.now);
            host.armed = at;
            self.ports.links.queue.push(at.0, CLASS_TIMER, TIMER | number, 0);
        }
    }

    #[inline]
    fn note(&mut self, event: EndpointEvent) {
        match event {
            EndpointEvent::Delivered { tag, bytes, .. } => {
                self.flows[tag as usize].delivered += u64::from(bytes);
                if let Some(sampler) = &mut self.sampler {
                    sampler.delivered(tag, bytes);
                }
            }
            EndpointEvent::Completed { tag, .. } => {
                if !self.waits_to_be_handed_out(tag) {
                    self.end_flow(tag, FlowState::Done);
                }
            }
            EndpointEvent::Failed { tag, .. } => {
                if !self.is_handing_out(tag) {
                    self.end_flow(tag, FlowState::Failed);
                }
            }
            EndpointEvent::Acknowledged { .. } => {}
        }
    }

    fn end_flow(&mut self, tag: u32, state: FlowState) {
        let flow = &mut self.flows[tag as usize];
        if flow.state == FlowState::Done {
            return;
        }
        flow.state = state;
        flow.finish = self.now;
        self.done += 1;
        self.open -= u64::from(self.spec.flows[tag as usize].responsive);
    }

    /// Asks a host for a packet if its wire is free.
    #[inline]
    fn pull(&mut self, host: u32) {
        let egress = &mut self.ports.egress[host as usize];
        if egress.armed {
            if self.work.is_some() {
                self.prepare(host);
            }
            return;
        }
        let free_at = egress.port.free_at();
        if self.now < free_at {
            if egress.port.is_down() {
                return self.pull_in_vain(host);
            }
            egress.armed = true;
            self.ports.links.queue.push(free_at.0, CLASS_PACKET, PORT_SERVICE | host, 0);
            return;
        }
        let endpoint = &mut self.hosts[host as usize].endpoint;
        let Some(packet) = endpoint.poll_transmit(self.now) else { return };
        let more = endpoint.wants_transmit();
        if packet.flags.has(PacketFlags::AGAIN) && packet.is_data() {
            self.flows[packet.tag as usize].retransmitted += u64::from(packet.payload);
        }
        self.ports.send(host, packet, self.now, more);
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
        self.ports.links.queue.push(next.0, CLASS_PACKET, PORT_SERVICE | host, 0);
        if packet.is_data() {
            let flow = &mut self.flows[packet.tag as usize];
            flow.drops += 1;
            if packet.flags.has(PacketFlags::AGAIN) {
                flow.retransmitted += u64::from(packet.payload);
            }
        }
    }

    /// Links go down, come up or change.
    #[cold]
    #[inline(never)]
    fn change(&mut self, number: u32) {
        let back = self.ports.change(number, self.now, self.spec.seed);
        for host in back {
            self.pull(host);
            self.arm(host);
        }
    }

    fn schedule_next_flow(&mut self) {
        if let Some(&flow) = self.order.get(self.next_flow) {
            let at = self.spec.flows[flow as usize].start;
            self.ports.links.queue.push(at.0, CLASS_FLOW, FLOW_START, 0);
        }
    }

    fn start_flows(&mut self) {
        while let Some(&number) = self.order.get(self.next_flow) {
            let flow = &self.spec.flows[number as usize];
            if flow.start > self.now {
                break;
            }
            self.next_flow += 1;
            self.flows[number as usize].state = FlowState::Unfinished;
            if !self.waits_to_open(number) {
                self.open_message(number);
            }
        }
        if self.arrivals.is_none() && self.next_flow > self.order.len() / 2 {
            self.arrivals = Some(Arrivals { middle: self.now, end: Time::MAX, busy: self.busy() });
        }
        if self.next_flow == self.order.len() {
            let busy = self.busy();
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.end = self.now;
                arrivals
                    .busy
                    .iter_mut()
                    .zip(busy)
                    .for_each(|(before, now)| *before = now.saturating_sub(*before));
            }
        }
        self.schedule_next_flow();
    }

    /// Time that each link spent transmitting until now. Ports are not made to catch up, which would settle before its turn
    /// what happens in this instant: what a port is behind by, at most a packet's way over its link, is missing.
    fn busy(&self) -> Vec<Time> {
        self.ports.records(self.now, self.spec.seed).iter().map(|link| link.busy).collect()
    }

    /// Hands a flow's message to its machine.
    fn open_message(&mut self, number: u32) {
        let flow = &self.spec.flows[number as usize];
        let message = self.message(number, flow);
        self.hosts[flow.src as usize].endpoint.open(self.now, &message);
        self.settle(flow.src);
    }

    fn message(&mut self, number: u32, flow: &FlowSpec) -> Message {
        let next = self.message_numbers.entry((flow.src, flow.dst, flow.transport)).or_insert(0);
        let id = *next;
        *next += 1;
        let mut message = flow.message(id, number, self.network.entropy(self.spec.seed, number, flow));
        if flow.connection.is_some_and(|carrier| !self.is_connected(carrier)) {
            message.initial_window.connected = false;
            self.unconnected += 1;
        }
        message
    }

    /// Whether the connection of a flow is open at both ends: data has arrived over it.
    fn is_connected(&self, flow: u32) -> bool {
        let flow = &self.flows[flow as usize];
        match flow.state {
            FlowState::Done => true,
            FlowState::Unfinished => flow.delivered > 0,
            FlowState::Pending | FlowState::Failed => false,
        }
    }

    fn sample(&mut self) {
        self.ports.catch_up_all(self.now);
        let Some(sampler) = &mut self.sampler else { return };
        sampler.take(self.now, &mut self.ports.egress, &self.flows);
        if sampler.is_full() {
            (self.full, self.stop) = (Some("samples"), self.now);
        }
        self.ports.links.queue.push((self.now + sampler.every()).0, CLASS_SAMPLE, SAMPLE, 0);
    }

    /// Collects the outcome. `machines` are those of a host, each with the position of its transport.
    pub(crate) fn finish(
        mut self,
        interrupted: bool,
        machines: impl Fn(&E) -> Vec<(u8, &dyn Endpoint)>,
    ) -> Outcome {
        self.ports.catch_up_all(self.now);
        if let Some(sampler) = &mut self.sampler {
            sampler.take(self.now, &mut self.ports.egress, &self.flows);
        }
        let mut ideals = Ideals::new(&self.network, self.spec);
        let flows = self.flows.iter().enumerate().map(|(number, flow)| FlowRecord {
            state: flow.state,
            finish: (flow.state == FlowState::Done).then_some(flow.finish),
            ideal: ideals.of(number),
            delivered: flow.delivered,
            retransmitted: Some(flow.retransmitted),
            drops: Some(flow.drops + self.ports.links.fault_drops(number)),
            trims: Some(flow.trims),
            marks: Some(flow.marks),
        });
        let flows = flows.collect();
        let links = self.ports.records(self.now, self.spec.seed);
        let packet_hops = links.iter().map(|link| link.counters.dequeued).sum();
        let hosts: Vec<_> = self.hosts.iter().map(|host| machines(host.endpoint.inner())).collect();
        let all = || hosts.iter().flatten().map(|(_, machine)| *machine);
        Outcome {
            flows,
            links,
            arrivals: self.arrivals.take().filter(|arrivals| arrivals.end < Time::MAX),
            warnings: self.warnings(interrupted),
            host_gauges: hosts.iter().map(|host| gauges(host.iter().map(|part| part.1), self.now)).collect(),
            round_trips: RoundTrips::together(all().filter_map(|machine| machine.round_trips())),
            by_transport: self.by_transport(&hosts),
            samples: self.sampler.map(Sampler::finish).unwrap_or_default(),
            end: self.now,
            events: self.events,
            packet_hops,
            digest: self.digest,
            interrupted,
        }
    }

    /// Of several transports, what no flow's record says.
    fn by_transport(&self, hosts: &[Vec<(u8, &dyn Endpoint)>]) -> Vec<TransportRecord> {
        let one = |(number, &(drops, data_drops))| {
            let own = || hosts.iter().flatten().filter(move |part| usize::from(part.0) == number);
            TransportRecord {
                drops: Some(drops),
                data_drops: Some(data_drops),
                gauges: gauges(own().map(|part| part.1), self.now),
                round_trips: RoundTrips::together(own().filter_map(|part| part.1.round_trips())),
            }
        };
        self.ports.links.dropped.counts().iter().enumerate().map(one).collect()
    }

    fn warnings(&self, interrupted: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(what) = self.full {
            warnings
                .push(format!("the run ended at {}: its {what} took all the memory that they may", self.now));
        }
        let unfinished = self.flows.iter().filter(|f| f.state != FlowState::Done).count();
        if unfinished > 0 {
            let why = if interrupted { "the run was interrupted" } else { "the run ended" };
            warnings.push(format!("{unfinished} of {} flows had not finished when {why}", self.flows.len()));
        }
        warnings.extend(headway_network::outcome::unconnected_warning(self.unconnected));
        if self.ports.links.lost > 0 {
            warnings.push(format!("{} packets had no route to their destination", self.ports.links.lost));
        }
        warnings
    }
}

fn gauges<'m>(machines: impl Iterator<Item = &'m dyn Endpoint>, now: Time) -> Vec<Gauge> {
    machines.flat_map(|machine| machine.gauges(now)).collect()
}

/// A packet in the pool, for [`Port`].
impl headway_fabric::Packets<u32> for PacketPool {
    #[inline]
    fn packet(&mut self, handle: u32) -> &mut Packet {
        self.get_mut(handle)
    }
}

mod work;

use work::Work;

#[cfg(test)]
mod tests;
