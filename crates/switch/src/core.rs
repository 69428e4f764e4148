//! The switch without sockets and without a clock: frames and times in, frames and the next instant out.
//!
//! *After any input, drain [`Core::poll_frame`]; then wait until [`Core::next_event`] or the next frame.*
//! Events happen at the time they are due, however late the driver comes round: the actions of a port are a
//! function of the frames and their arrival times alone.

use crate::egress::Egress;
use crate::frame::{self, FrameError, ParsedFrame};
use crate::measuring::Measuring;
use crate::{Addresses, SwitchCounters};
use headway_fabric::registry::AnyDiscipline;
use headway_fabric::{Buffer, Fate, Full, Limit, Need, Offers, Packets, Port, PortContext, Rewrite};
use headway_network::{
    BuildError, Changes, FaultAction, FaultSpec, Flight, Injector, LinkRecord, Miscounted, Network,
    PathSelector, Routing, Sample, SampleSpec, Step,
};
use headway_packet::{Hop, Packet};
use headway_units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Frames that may wait on a host's own link: a host that keeps its rate never has more than a few there.
const UPLINK_FRAMES: u32 = 8192;
/// Bytes of the shortest frame on a wire, framing included.
const SHORTEST_FRAME: u64 = 84;

/// Changes that ports may make to real frames, and needs that they may have: each takes one line in `frame.rs`.
const OFFERS: Offers = Offers {
    driver: "the switch of real packets",
    rewrites: &[Rewrite::Mark, Rewrite::Rate, Rewrite::Trim, Rewrite::Return],
    needs: &[Need::RoundTrip, Need::Shaping, Need::Displacement],
};

/// Parts that a switch is made from.
pub struct CoreConfig {
    /// Nodes, links, ports and routes.
    pub network: Arc<Network>,
    /// Seed of ECMP salts and spray.
    pub seed: u64,
    /// Mapping between addresses and hosts.
    pub addresses: Addresses,
    /// Samples that the switch takes.
    pub sample: Option<SampleSpec>,
    /// Faults on links, from the beginning of measuring on.
    pub faults: Vec<FaultSpec>,
}

/// A frame inside the switch, with what ports changed of it.
struct Slot {
    /// The packet as ports have made it so far.
    packet: Packet,
    /// The packet as the bytes have it.
    written: Packet,
    /// Position of its header, and its bytes.
    seen: ParsedFrame,
    bytes: Vec<u8>,
}

/// Frames by number; a freed slot keeps its memory for the next frame.
#[derive(Default)]
struct Frames {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Packets<u32> for Frames {
    fn packet(&mut self, handle: u32) -> &mut Packet {
        &mut self.slots[handle as usize].packet
    }

    /// The rest of a real frame has its own length; a foreign frame has no header that could be left.
    fn trim_payload(&mut self, handle: u32, _: u16) -> bool {
        let slot = &mut self.slots[handle as usize];
        let Some(wire) = slot.seen.cut.and_then(|left| frame::wire(left).ok()) else { return false };
        slot.packet.trim_payload(wire);
        true
    }
}

impl Frames {
    fn insert(&mut self, seen: ParsedFrame, bytes: &[u8]) -> u32 {
        let packet = seen.packet;
        let handle = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { packet, written: packet, seen, bytes: Vec::new() });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[handle as usize];
        (slot.packet, slot.written, slot.seen) = (packet, packet, seen);
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        handle
    }

    /// The frame's bytes, with what ports did to its packet.
    fn bytes(&mut self, handle: u32) -> &[u8] {
        let slot = &mut self.slots[handle as usize];
        if slot.packet != slot.written {
            frame::rewrite(&mut slot.bytes, &slot.seen, &slot.written, &slot.packet);
            slot.written = slot.packet;
        }
        &slot.bytes
    }

    /// A port of a switch puts its stamp into a frame that asks for it and is still whole.
    fn stamp(&mut self, handle: u32, port: &Port<u32>, ends: Time) {
        let slot = &mut self.slots[handle as usize];
        if slot.seen.stamps.is_none() || !slot.packet.is_data() {
            return;
        }
        let wire = slot.packet.wire;
        let hop = Hop {
            at: ends.saturating_sub(port.rate().time_of(wire.into())),
            sent: port.sent_bytes().saturating_sub(wire.into()),
            queue: port.queue_bytes(),
            rate: port.rate(),
        };
        frame::stamp(&mut slot.bytes, &slot.seen, &hop);
    }

    fn copy(&mut self, handle: u32) -> u32 {
        let slot = &mut self.slots[handle as usize];
        let (packet, written, seen) = (slot.packet, slot.written, slot.seen);
        // Taken for a moment: `insert` needs all slots.
        let bytes = std::mem::take(&mut slot.bytes);
        let copy = self.insert(seen, &bytes);
        let made = &mut self.slots[copy as usize];
        (made.packet, made.written) = (packet, written);
        self.slots[handle as usize].bytes = bytes;
        copy
    }

    /// Frames inside: taken, and not yet free again.
    fn held(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}

/// Sees every frame as it starts on a link, in order of time, with the marks that the link's port has made.
pub trait FrameTap {
    /// A frame began to be sent on link number `link` at `start`.
    fn started(&mut self, link: u32, start: Time, frame: &[u8]);
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// Links go down, come up or change: the number of an instant.
    Change { number: u32 },
    /// A frame reaches a port.
    Arrive { port: u32, frame: u32 },
    /// A port with frames waiting has its wire free, or may send frames that it held back.
    Serve { port: u32 },
    /// Time for a sample.
    Sample,
    /// A frame reaches a host.
    Deliver { host: u32, frame: u32 },
}

/// Events in order of time, then of creation.
type Events = BinaryHeap<Reverse<(Time, u64, EventKind)>>;

/// See the module.
pub struct Core {
    network: Arc<Network>,
    choice: PathSelector,
    addresses: Addresses,
    frames: Frames,
    pub(crate) egress: Vec<Egress>,
    /// Events inside the switch. They may be handled late, as long as what follows from them is on time.
    inside: Events,
    /// Frames on their way to hosts: those have to be in time.
    deliveries: Events,
    /// The shortest time in which anything that happens inside can become a frame for a host.
    slack: Time,
    sequence: u64,
    now: Time,
    out: VecDeque<(u32, u32, Time)>,
    measuring: Measuring,
    injector: Injector,
    changes: Option<Changes>,
    seed: u64,
    counters: SwitchCounters,
    tap: Option<Box<dyn FrameTap>>,
}

impl Core {
    /// A switch whose clock starts at zero.
    pub fn new(config: CoreConfig) -> Result<Core, BuildError> {
        let CoreConfig { network, seed, addresses, sample, faults } = config;
        network.check(&OFFERS)?;
        if network.fabric().routing.is_late() {
            return Err(BuildError::LateRouting { driver: OFFERS.driver });
        }
        if network.fabric().pfc.is_some() {
            let text = format!("{} does not stop links", OFFERS.driver);
            return Err(BuildError::Lossless(text));
        }
        if network.fabric().memory.is_some() {
            let text = format!("{}: ports have no memory that they share ([fabric.memory])", OFFERS.driver);
            return Err(BuildError::Shape(text));
        }
        let mut egress = Vec::with_capacity(network.links().len());
        for (number, link) in network.links().iter().enumerate() {
            let (rules, context) = network.discipline(number as u32, seed)?;
            let (rules, context) = as_port(link.from < network.interfaces(), (rules, context))?;
            let delay = network.hop_delay(link);
            egress.push(Egress {
                port: Port::new(rules, context.into()),
                to: link.to,
                delay,
                due: Time::MAX,
            });
        }
        let choice = PathSelector::new(&network, seed);
        let changes = Changes::new(&faults, &network, &choice)?;
        Ok(Core {
            slack: slack(&network, changes.as_ref()),
            choice,
            changes,
            seed,
            measuring: Measuring::new(&network, sample),
            injector: Injector::new(&faults, &network, seed)?,
            network,
            addresses,
            frames: Frames::default(),
            egress,
            inside: BinaryHeap::new(),
            deliveries: BinaryHeap::new(),
            sequence: 0,
            now: Time::ZERO,
            out: VecDeque::new(),
            counters: SwitchCounters::default(),
            tap: None,
        })
    }

    /// Shows every frame to `tap` from now on.
    pub fn set_tap(&mut self, tap: Box<dyn FrameTap>) {
        self.tap = Some(tap);
    }

    /// The network it is a model of.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Begins to measure at `at`: samples and means count from there.
    pub fn start_measuring(&mut self, at: Time) {
        let instants = self.changes.iter().flat_map(|c| c.instants()).map(|instant| instant.at);
        for (number, after) in instants.collect::<Vec<_>>().into_iter().enumerate() {
            self.push(at.saturating_add(after), EventKind::Change { number: number as u32 });
        }
        if let Some(first) = self.measuring.start(at, &self.egress) {
            self.push(first, EventKind::Sample);
        }
    }

    /// A frame came in from a host at `at`. A frame that is not Headway's is counted.
    pub fn receive(&mut self, at: Time, host: u32, bytes: &[u8]) -> Result<(), FrameError> {
        self.counters.received += 1;
        let mut seen = frame::inspect(bytes, host, &self.addresses).inspect_err(|&why| {
            self.counters.refused[why as usize] += 1;
        })?;
        // Where paths are numbered, each subflow of the kernel's multipath TCP has its own.
        if let Some(subflow) = seen.subflow.filter(|_| self.network.fabric().routing == Routing::Pinned) {
            seen.packet.entropy = subflow;
        }
        let frame = self.frames.insert(seen, bytes);
        self.push(at, EventKind::Arrive { port: host, frame });
        Ok(())
    }

    /// Time of the next event, inside or for a host.
    pub fn next_event(&self) -> Option<Time> {
        let first = |events: &Events| events.peek().map(|Reverse((at, ..))| *at);
        [first(&self.inside), first(&self.deliveries)].into_iter().flatten().min()
    }

    /// Time at which the next frame for a host is due: [`Core::advance`] has to be called then, on time.
    pub fn next_delivery(&self) -> Option<Time> {
        self.deliveries.peek().map(|Reverse((at, ..))| *at)
    }

    /// Latest time at which [`Core::advance`] has to be called for the events inside, so that no frame that
    /// follows from them is late.
    pub fn inside_deadline(&self) -> Option<Time> {
        self.inside.peek().map(|Reverse((at, ..))| at.saturating_add(self.slack))
    }

    /// Lets everything happen that is due by `now`, in order of time.
    pub fn advance(&mut self, now: Time) {
        while let Some((at, what)) = self.next_until(now) {
            self.now = at;
            match what {
                EventKind::Change { number } => self.change(number),
                EventKind::Arrive { port, frame } => self.offer(port, frame),
                EventKind::Serve { port } => self.serve(port),
                EventKind::Deliver { host, frame } => self.out.push_back((host, frame, at)),
                EventKind::Sample => {
                    let next = self.measuring.sample(at, &mut self.egress);
                    self.push(next, EventKind::Sample);
                }
            }
        }
    }

    fn next_until(&mut self, now: Time) -> Option<(Time, EventKind)> {
        let first = |events: &Events| events.peek().map(|Reverse((at, sequence, _))| (*at, *sequence));
        let (inside, delivery) = (first(&self.inside), first(&self.deliveries));
        let from = match (inside, delivery) {
            (Some(i), Some(d)) if d < i => &mut self.deliveries,
            (None, Some(_)) => &mut self.deliveries,
            _ => &mut self.inside,
        };
        if from.peek().is_none_or(|Reverse((at, ..))| *at > now) {
            return None;
        }
        from.pop().map(|Reverse((at, _, what))| (at, what))
    }

    /// Hands the next frame that is due to `send`, with its host and the time it was due.
    pub fn poll_frame<T>(&mut self, send: impl FnOnce(u32, Time, &[u8]) -> T) -> Option<T> {
        let (host, number, due) = self.out.pop_front()?;
        let sent = send(host, due, self.frames.bytes(number));
        self.frames.free.push(number);
        self.counters.delivered += 1;
        Some(sent)
    }

    /// Counters of frames outside the ports.
    pub fn counters(&self) -> &SwitchCounters {
        &self.counters
    }

    /// Frames inside: at ports, on links, or due at a host.
    pub fn held(&self) -> u64 {
        self.frames.held()
    }

    /// Counters of every link, with means from the beginning of measuring to `now`; an error where a port's counters
    /// contradict each other, which only a bug can cause.
    pub fn links(&self, now: Time) -> Result<Vec<LinkRecord>, Miscounted> {
        self.measuring.links(now, &self.network, &self.egress, &self.injector)
    }

    /// Samples so far; times count from the beginning of measuring.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        self.measuring.take()
    }

    /// Queues an event. The past cannot be changed: a late event happens now.
    fn push(&mut self, at: Time, what: EventKind) {
        self.sequence += 1;
        let events = match what {
            EventKind::Deliver { .. } => &mut self.deliveries,
            _ => &mut self.inside,
        };
        events.push(Reverse((at.max(self.now), self.sequence, what)));
    }

    fn offer(&mut self, number: u32, frame: u32) {
        let egress = &mut self.egress[number as usize];
        if egress.port.can_bypass() && egress.port.free_at() <= self.now {
            let ends = egress.port.transmit_idle(self.now, self.frames.packet(frame));
            return self.launch(number, frame, ends);
        }
        let offered = egress.port.offer(self.now, frame, &mut self.frames);
        // A port that shapes may have its wire free, and this frame go first.
        match egress.port.next_start() {
            Some(start) if start <= self.now && egress.port.is_shaped() => self.send_next(number),
            _ => self.watch(number),
        }
        if let Err(full) = offered {
            self.overflowed(number, full);
        }
    }

    /// A full queue at this port hit a frame: the one offered, or one that waited.
    fn overflowed(&mut self, number: u32, full: Full<u32>) {
        let frame = full.handle;
        match full.fate {
            Fate::Kept => {}
            Fate::Dropped(_) => self.frames.free.push(frame),
            Fate::Returned => {
                let from = self.network.links()[number as usize].from;
                let back = from.checked_sub(self.network.interfaces());
                match back.and_then(|switch| self.route(switch, frame, (number, self.now))) {
                    Some(port) => self.offer(port, frame),
                    None => {
                        self.counters.unroutable += 1;
                        self.frames.free.push(frame);
                    }
                }
            }
        }
    }

    /// Event that serves a port, unless another has taken its place.
    fn serve(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        if egress.due != self.now {
            return;
        }
        // The event has come: what follows sets the next one.
        egress.due = Time::MAX;
        match egress.port.next_start() {
            Some(start) if start <= self.now => self.send_next(number),
            _ => self.watch(number),
        }
    }

    /// Starts the next frame on a free wire, and schedules the one behind it.
    fn send_next(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        let Some(departure) = egress.port.next(self.now, &mut self.frames) else { return };
        self.watch(number);
        self.launch(number, departure.handle, departure.ends);
    }

    /// Makes sure that the next frame that waits at a port leaves as soon as it may.
    fn watch(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        let Some(start) = egress.port.next_start() else { return };
        // On a busy wire, look again when it is free: a frame that arrives in the meantime may have to leave first.
        let free_at = egress.port.free_at();
        let at = if free_at > self.now { free_at } else { start };
        if at < egress.due {
            egress.due = at;
            self.push(at, EventKind::Serve { port: number });
        }
    }

    /// Puts a frame that left a port on its link, where faults may meet it.
    fn launch(&mut self, number: u32, frame: u32, ends: Time) {
        if number >= self.network.interfaces() {
            self.frames.stamp(frame, &self.egress[number as usize].port, ends);
        }
        if let Some(tap) = &mut self.tap {
            tap.started(number, self.now, self.frames.bytes(frame));
        }
        // Times in faults count from the beginning of measuring.
        let open = self.measuring.measured_for(self.now).and(self.measuring.measured_for(ends));
        let action = match open {
            Some(ends) => self.injector.judge(number, self.frames.packet(frame), ends),
            None => FaultAction::Pass,
        };
        let Some(flight) = self.fly(number, frame, ends, open) else {
            self.injector.note_cut(number);
            return self.frames.free.push(frame);
        };
        match action {
            FaultAction::Pass => self.carry(number, frame, flight),
            FaultAction::Drop => self.frames.free.push(frame),
            FaultAction::Delay(by) => self.carry(number, frame, flight + by),
            FaultAction::Duplicate => {
                let copy = self.frames.copy(frame);
                self.carry(number, frame, flight);
                self.carry(number, copy, flight);
            }
        }
    }

    /// Time at which a frame whose last bit leaves at `ends`, which is `open` on the clock of faults, is at the far end
    /// of its link; `None` when the link goes down under it.
    fn fly(&mut self, number: u32, frame: u32, ends: Time, open: Option<Time>) -> Option<Time> {
        let (Some(changes), Some(open)) = (&self.changes, open) else {
            return Some(ends + self.egress[number as usize].delay);
        };
        let Flight { arrives, cut } = changes.launch(number, self.frames.packet(frame).wire, open);
        (!cut).then(|| arrives + (ends - open))
    }

    /// Links go down, come up or change.
    #[cold]
    fn change(&mut self, number: u32) {
        let Some(instant) = self.changes.as_mut().map(|changes| changes.pass(number as usize)) else {
            return;
        };
        for (link, step) in instant.steps {
            let port = &mut self.egress[link as usize].port;
            match step {
                Step::Down => {
                    port.take_down(self.now, &mut self.frames, |frame, frames| frames.free.push(frame))
                }
                Step::Up => port.bring_up(self.now),
                Step::Rate(rate) => {
                    let made = self.network.discipline_at(link, rate, self.seed);
                    let rules = made
                        .and_then(|made| as_port(link < self.network.interfaces(), made))
                        .map(|(rules, _)| rules);
                    if let Ok(fresh) = rules {
                        self.egress[link as usize].port.retune(self.now, fresh, rate);
                        self.watch(link);
                    }
                }
                // Frames learn it as they start.
                Step::Delay(_) => {}
            }
        }
    }

    /// Brings a frame to its host, or to the next port.
    fn carry(&mut self, number: u32, frame: u32, arrives: Time) {
        let to = self.egress[number as usize].to;
        if to < self.network.interfaces() {
            return self.push(arrives, EventKind::Deliver { host: to, frame });
        }
        let switch = to - self.network.interfaces();
        match self.route(switch, frame, (number, arrives)) {
            Some(port) => self.push(arrives, EventKind::Arrive { port, frame }),
            None => {
                if self.changes.is_some() {
                    self.injector.note_no_route(number);
                }
                self.counters.unroutable += 1;
                self.frames.free.push(frame);
            }
        }
    }

    /// The port by which a switch forwards a frame that comes over a link at a time, if there is a way.
    fn route(&mut self, switch: u32, frame: u32, (link, at): (u32, Time)) -> Option<u32> {
        let packet = self.frames.packet(frame);
        match (&mut self.changes, self.measuring.measured_for(at)) {
            (Some(changes), Some(at)) => {
                changes.route(&self.choice, &self.network, switch, packet, (link, at))
            }
            _ => self.choice.route(&self.network, switch, packet, (link, at)),
        }
    }
}

/// The shortest time in which anything that happens inside can become a frame for a host.
fn slack(network: &Network, changes: Option<&Changes>) -> Time {
    let links = network.links();
    let delays = links.iter().map(|link| network.hop_delay(link)).collect();
    let rates = links.iter().map(|link| link.spec.rate).collect();
    let (delays, rates) = changes.map_or((delays, rates), |c| (c.least_delays(), c.highest_rates()));
    let to_hosts = (0..links.len()).filter(|number| links[*number].to < network.interfaces());
    let shortest = to_hosts.map(|number| delays[number] + rates[number].time_of(SHORTEST_FRAME));
    shortest.min().unwrap_or(Time::ZERO)
}

/// Rules of a link's port in the switch.
fn as_port(
    from_host: bool,
    (rules, context): (AnyDiscipline, PortContext),
) -> Result<(AnyDiscipline, PortContext), BuildError> {
    if from_host { uplink(context) } else { Ok((rules, context)) }
}

/// The link from a host: its rate and delay, no marks. Marking on a host's own port is the host's, which
/// knows what waits there.
fn uplink(context: PortContext) -> Result<(AnyDiscipline, PortContext), BuildError> {
    let limit = Limit::Packets(UPLINK_FRAMES);
    let context = PortContext { buffer: Buffer { data: limit, control: limit }, ..context };
    let name = "drop-tail";
    let fail = |reason: String| BuildError::Discipline { name: name.into(), reason };
    let rules = AnyDiscipline::make(name, &[], &context)
        .ok_or_else(|| fail("there is none of that name".into()))?
        .map_err(|e| fail(e.to_string()))?;
    Ok((rules, context))
}
