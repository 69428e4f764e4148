//! Packets between ports, and the events of everything that is still to come.

use crate::attribution::{Attribution, Departure};
use crate::mixed::Dropped;
use crate::packet_pool::PacketPool;
use crate::queue::EventQueue;
use crate::rank;
use crate::stamping::Stamping;
use crate::volumes::Volumes;
use headway_fabric::Port;
use headway_network::{
    BuildError, Changes, FaultAction, FaultCounts, Forwarding, HostTiming, Injector, Instant, Network,
    PathSelector, Range, RunSpec, ranges,
};
use headway_packet::{Packet, Stamps};
use headway_units::Time;
use std::sync::Arc;

/// Kinds of event, in the top bits of [`crate::queue::Event::what`]; the rest is the number of a port or host.
pub(crate) const FORWARD: u32 = 0 << KIND_SHIFT;
pub(crate) const DELIVER: u32 = 1 << KIND_SHIFT;
pub(crate) const PORT_SERVICE: u32 = 2 << KIND_SHIFT;
pub(crate) const TIMER: u32 = 3 << KIND_SHIFT;
pub(crate) const FLOW_START: u32 = 4 << KIND_SHIFT;
pub(crate) const RELEASE: u32 = 6 << KIND_SHIFT;
/// The rest is the number of an instant of [`headway_network::Changes`], or has the bit [`OF_HOST`].
pub(crate) const CHANGE: u32 = 7 << KIND_SHIFT;
const KIND_SHIFT: u32 = 29;
pub(crate) const NUMBER: u32 = (1 << KIND_SHIFT) - 1;

/// Set in the number of a [`CHANGE`] that is a step of a host's processor or interface, which only hosts have that cost
/// time: all kinds are taken, and other runs pay nothing for this one.
pub(crate) const OF_HOST: u32 = 1 << (KIND_SHIFT - 1);
/// The number of the host in it.
pub(crate) const HOST: u32 = (1 << 25) - 1;
/// The step and its kind in it.
pub(crate) const STEPS: u32 = !HOST;
/// A packet has come over its link.
pub(crate) const ARRIVED: u32 = CHANGE | OF_HOST;
/// Packets that waited at the interface are handed to the processor.
pub(crate) const HANDED_UP: u32 = CHANGE | OF_HOST | 1 << 25;
/// The processor is done with a burst that is to leave.
pub(crate) const PREPARED: u32 = CHANGE | OF_HOST | 2 << 25;
/// A packet has left.
pub(crate) const SENT: u32 = CHANGE | OF_HOST | 3 << 25;
/// The processor hands a flow's message to the machine.
pub(crate) const OPENED: u32 = CHANGE | OF_HOST | 4 << 25;
/// The processor hands a flow's message to the application.
pub(crate) const HANDED_OUT: u32 = CHANGE | OF_HOST | 5 << 25;

/// The run no longer waits for a message that its sender gave up.
pub(crate) const GIVEN_UP: u32 = CHANGE | OF_HOST | 6 << 25;

/// Flows are over at a host, before they are complete.
pub(crate) const STOPPED: u32 = CHANGE | OF_HOST | 7 << 25;

/// Set in the number of a [`CHANGE`] that is a packet at a switch that chooses its next port by what it knows then; the rest
/// is the number of the link that the packet came over.
pub(crate) const AT_SWITCH: u32 = 1 << (KIND_SHIFT - 2);
/// A packet has come over its link, and its next port is still to be chosen.
pub(crate) const CHOOSE: u32 = CHANGE | AT_SWITCH;

/// Set in the number of a [`CHANGE`] that is a pause frame, which only lossless fabrics have; the rest is the number of the
/// port that it stops, or lets go on.
pub(crate) const AT_PORT: u32 = 1 << (KIND_SHIFT - 3);
/// A pause frame has come over its link.
pub(crate) const PAUSE: u32 = CHANGE | AT_PORT;
/// A packet that a full queue returned is at another port, whose switch shares its memory among ports.
pub(crate) const BACK: u32 = CHOOSE | AT_PORT;

/// The part behind a port: the far end, and the time to it.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    /// The port's number.
    pub(crate) number: u32,
    /// Node at the far end.
    pub(crate) to: u32,
    /// True if that belongs to another shard.
    pub(crate) cut: bool,
    /// Time from the last bit's departure to its arrival there, forwarding time of a switch included.
    pub(crate) delay: Time,
}

/// A packet on its way to another shard.
pub(crate) struct Letter {
    pub(crate) at: u64,
    pub(crate) rank: u64,
    pub(crate) what: u32,
    pub(crate) packet: Packet,
    /// Stamps that ports have written into it, if they write any.
    pub(crate) stamps: Option<Box<Stamps>>,
}

/// Packets that leave a shard.
pub(crate) struct Post {
    /// The shard of each node.
    pub(crate) of_node: Arc<[u8]>,
    /// Packets by shard.
    pub(crate) letters: Vec<Vec<Letter>>,
    /// Arrival of the first of them; the end of time without any.
    pub(crate) first: u64,
}

/// A packet that began to be sent on a link.
pub(crate) struct Sighting {
    pub(crate) start: Time,
    pub(crate) link: u32,
    pub(crate) packet: Packet,
}

/// Faults on links, and the flows that they meet.
struct Faults {
    injector: Injector,
    changes: Option<Changes>,
    /// Data packets lost, by flow.
    drops: Vec<u32>,
}

/// Rates that each link has during the run.
struct CutThrough {
    ranges: Vec<Range>,
}

impl CutThrough {
    fn new(network: &Network, spec: &RunSpec) -> Result<Option<CutThrough>, BuildError> {
        match spec.fabric.forwarding {
            Forwarding::StoreAndForward => Ok(None),
            Forwarding::CutThrough => Ok(Some(CutThrough { ranges: ranges(&spec.faults, network)? })),
        }
    }

    /// True if packets that come over a link may go on over another before all of them is there: at no time would that
    /// run out of bits.
    fn passes(&self, from: u32, to: u32) -> bool {
        self.ranges[to as usize].highest.bps() <= self.ranges[from as usize].lowest.bps()
    }
}

/// Packets while no port holds them. The next hop's port is chosen as a packet leaves, while it is
/// at hand: its arrival then names all it will touch, and those can be brought into the cache ahead of time.
pub(crate) struct Links<'a> {
    pub(crate) pool: PacketPool,
    pub(crate) queue: EventQueue,
    /// Packets without a route.
    pub(crate) lost: u64,
    /// Packets that ports dropped, of each of several transports.
    pub(crate) dropped: Dropped<'a>,
    /// True if there is a tap, or there are faults, or hosts have timing noise or take time, or switches cut through or
    /// choose late, or times are recorded by cause, or volumes are counted, or ports write into packets: one branch a
    /// hop for all.
    special: bool,
    faults: Option<Box<Faults>>,
    timing: Option<HostTiming>,
    /// State of switches that pass packets on before they have arrived.
    cut_through: Option<CutThrough>,
    /// Kind of event with which a packet comes to its host: [`DELIVER`], or [`ARRIVED`] if its processor comes first.
    at_host: u32,
    pub(crate) network: Arc<Network>,
    hosts: u32,
    choice: PathSelector,
    /// True if the next port of a packet is chosen as it arrives at its switch.
    late: bool,
    /// Packets to show to a tap, if there is one.
    pub(crate) seen: Option<Vec<Sighting>>,
    /// Time of flows by cause, if it is recorded.
    pub(crate) attribution: Option<Box<Attribution>>,
    /// Stamps of ports, if a transport reads them.
    pub(crate) stamping: Option<Box<Stamping>>,
    /// Bytes of links by group of flows, if they are counted.
    pub(crate) volumes: Option<Box<Volumes>>,
    pub(crate) post: Post,
}

impl<'a> Links<'a> {
    pub(crate) fn new(
        network: Arc<Network>,
        spec: &'a RunSpec,
        tapped: bool,
        queue: EventQueue,
        post: Post,
    ) -> Result<Links<'a>, BuildError> {
        let choice = PathSelector::new(&network, spec.seed);
        let faults = match &spec.faults[..] {
            [] => None,
            specs => {
                let injector = Injector::new(specs, &network, spec.seed)?;
                let changes = Changes::new(specs, &network, &choice)?;
                Some(Box::new(Faults { injector, changes, drops: vec![0; spec.flows.len()] }))
            }
        };
        let timing = HostTiming::new(spec.jitter, network.interfaces(), spec.seed);
        // An interface of several ports takes packets in by the same event as a processor.
        let held = spec.costs.holds_arrivals() || network.owners().is_bonded();
        let cut_through = CutThrough::new(&network, spec)?;
        let asked = spec.sample.as_ref().is_some_and(|sample| sample.causes);
        let stamping = Stamping::new(spec);
        let volumes = Volumes::new(spec, network.links().len());
        let attribution = asked.then(|| Box::new(Attribution::new(network.interfaces(), post.letters.len())));
        Ok(Links {
            pool: PacketPool::default(),
            queue,
            lost: 0,
            dropped: Dropped::new(spec),
            special: faults.is_some()
                || tapped
                || attribution.is_some()
                || stamping.is_some()
                || volumes.is_some()
                || timing.is_some()
                || held
                || cut_through.is_some()
                || choice.is_late()
                || spec.fabric.pfc.is_some()
                || spec.fabric.memory.is_some(),
            // A switch whose memory is shared has to know over which link a packet came before it takes it in.
            late: choice.is_late() || spec.fabric.pfc.is_some() || spec.fabric.memory.is_some(),
            faults,
            timing,
            cut_through,
            at_host: if held { ARRIVED } else { DELIVER },
            hosts: network.interfaces(),
            choice,
            network,
            seen: tapped.then(Vec::new),
            attribution,
            stamping,
            volumes,
            post,
        })
    }

    /// Puts a packet that left a port on its link.
    #[inline(always)]
    pub(crate) fn launch(&mut self, link: Link, port: &Port<u32>, handle: u32, ends: Time) {
        if self.special {
            if self.stamping.is_some() {
                self.stamp(link.number, port, handle, ends);
            }
            return self.launch_special(link, handle, ends);
        }
        self.carry(link, handle, ends, (DELIVER, false));
    }

    /// A packet that has begun to leave a port is written into: by those of switches into data.
    #[cold]
    #[inline(never)]
    fn stamp(&mut self, link: u32, port: &Port<u32>, handle: u32, ends: Time) {
        let Some(stamping) = &mut self.stamping else { return };
        let packet = self.pool.get(handle);
        if link < self.hosts {
            stamping.left_host(handle);
        } else if packet.is_data() {
            // Stamps describe the port as transmission starts, and this is called with its end.
            let start = ends - port.rate().time_of(packet.wire.into());
            stamping.stamp(handle, port, (start, packet.wire));
        }
    }

    /// Launches a packet in a run with observers, with links that may lose, double or delay packets, or with hosts that are
    /// not punctual or take time.
    #[cold]
    #[inline(never)]
    fn launch_special(&mut self, link: Link, handle: u32, ends: Time) {
        let packet = *self.pool.get(handle);
        if let Some(volumes) = &mut self.volumes {
            volumes.count(link.number, packet.tag, packet.wire);
        }
        let changes = self.faults.as_ref().and_then(|faults| faults.changes.as_ref());
        let watched = self.seen.is_some() || self.attribution.is_some();
        let start = watched.then(|| {
            // A fault may have changed the rate since; the network knows it as written.
            let written = self.network.links()[link.number as usize].spec.rate;
            let rate = changes.map_or(written, |changes| changes.rate(link.number));
            ends - rate.time_of(u64::from(packet.wire))
        });
        if let (Some(seen), Some(start)) = (&mut self.seen, start) {
            seen.push(Sighting { start, link: link.number, packet });
        }
        let left = match &mut self.timing {
            // A host's link has the host's number.
            Some(timing) if link.number < self.hosts => timing.leaves(link.number, ends),
            _ => ends,
        };
        if let (Some(attribution), Some(start)) = (&mut self.attribution, start) {
            // Before faults are asked: a packet that is lost behind its port took the wire all the same.
            attribution.depart(&Departure { link: link.number, handle, packet: &packet, start, ends, left });
        }
        let Some(faults) = &mut self.faults else {
            return self.carry(link, handle, left, (self.at_host, true));
        };
        let action = faults.injector.judge(link.number, &packet, ends);
        if action == FaultAction::Drop {
            return self.lose(handle);
        }
        if faults.changes.is_some() {
            return self.launch_around(link, handle, left, action);
        }
        let (handle, left) = match action {
            // `Drop` has returned above.
            FaultAction::Pass | FaultAction::Drop => (handle, left),
            FaultAction::Duplicate => (self.first_of_two(link, handle, left), left),
            FaultAction::Delay(by) => (handle, left.saturating_add(by)),
        };
        self.carry(link, handle, left, (self.at_host, true));
    }

    /// Carries a packet and gives the copy that follows it.
    #[cold]
    #[inline(never)]
    fn first_of_two(&mut self, link: Link, handle: u32, left: Time) -> u32 {
        let copy = self.copy(handle);
        self.carry(link, handle, left, (self.at_host, true));
        copy
    }

    /// A second packet like this one.
    fn copy(&mut self, handle: u32) -> u32 {
        let copy = self.pool.insert(*self.pool.get(handle));
        if let Some(attribution) = &mut self.attribution {
            attribution.copy(handle, copy);
        }
        if let Some(stamping) = &mut self.stamping {
            let stamps = stamping.of(handle);
            stamping.put(copy, stamps);
        }
        copy
    }

    /// Brings a packet that left a link on its way where links change during the run, unless that hits it.
    #[inline(never)]
    fn launch_around(&mut self, link: Link, handle: u32, left: Time, action: FaultAction) {
        let Some(Faults { injector, changes: Some(changes), .. }) = self.faults.as_deref_mut() else {
            return;
        };
        let flight = changes.launch(link.number, self.pool.get(handle).wire, left);
        if flight.cut {
            injector.note_cut(link.number);
            return self.lose(handle);
        }
        match action {
            // A drop does not come here: the caller has lost the packet.
            FaultAction::Pass | FaultAction::Drop => self.carry_around(link, handle, flight.arrives),
            FaultAction::Duplicate => {
                let copy = self.copy(handle);
                self.carry_around(link, handle, flight.arrives);
                self.carry_around(link, copy, flight.arrives);
            }
            FaultAction::Delay(by) => self.carry_around(link, handle, flight.arrives.saturating_add(by)),
        }
    }

    /// Takes a packet out of the network that a fault has cost.
    pub(crate) fn lose(&mut self, handle: u32) {
        let packet = self.pool.get(handle);
        if let (Some(faults), true) = (&mut self.faults, packet.is_data()) {
            let flow = packet.tag as usize;
            // Flows that are given while the run goes on have a place when it is needed.
            if faults.drops.len() <= flow {
                faults.drops.resize(flow + 1, 0);
            }
            faults.drops[flow] += 1;
        }
        self.pool.release(handle);
    }

    /// [`Links::carry`] where routes avoid links that are down: by those in force when the packet `arrives`.
    #[inline(never)]
    fn carry_around(&mut self, link: Link, handle: u32, arrives: Time) {
        let Some(switch) = link.to.checked_sub(self.hosts) else {
            return self.bring_one(link, self.at_host | link.to, handle, (arrives, arrives));
        };
        if self.late {
            return self.bring_to_choose(link, handle, arrives);
        }
        match self.route_around(switch, handle, (link.number, arrives)) {
            Some(next) => {
                let at = self.head_of(link, next, handle, arrives);
                self.bring_one(link, FORWARD | next, handle, (arrives, at));
            }
            None => self.lose_without_route(link.number, handle),
        }
    }

    /// Takes a packet out of the network that came over a link and cannot go on.
    #[cold]
    pub(crate) fn lose_without_route(&mut self, link: u32, handle: u32) {
        self.lost += 1;
        if let Some(faults) = &mut self.faults
            && faults.changes.is_some()
        {
            faults.injector.note_no_route(link);
            return self.lose(handle);
        }
        self.pool.release(handle);
    }

    /// Brings a packet to a switch that chooses when it is there.
    #[inline(never)]
    fn bring_to_choose(&mut self, link: Link, handle: u32, arrives: Time) {
        let at = if self.cut_through.is_some() {
            // It is there when its header is, if it could go on by any of the ports.
            let mut ports = Vec::new();
            let switch = link.to - self.hosts;
            if self.choice.is_late() {
                self.choices(switch, handle, arrives, &mut ports);
            } else {
                ports.extend(self.route_around(switch, handle, (link.number, arrives)));
            }
            let heads = ports.iter().map(|port| self.head_of(link, *port, handle, arrives));
            // The latest, since the choice may fall on a port that cannot cut through.
            heads.max().unwrap_or(arrives)
        } else {
            arrives
        };
        self.bring_one(link, CHOOSE | link.number, handle, (arrives, at));
    }

    /// The ports by which a switch may forward a packet that arrives at a time, in the place of what `ports` holds.
    pub(crate) fn choices(&mut self, switch: u32, handle: u32, at: Time, ports: &mut Vec<u32>) {
        let dst = self.pool.get(handle).dst.0;
        match self.faults.as_mut().and_then(|faults| faults.changes.as_mut()) {
            Some(changes) => changes.choices(&self.choice, &self.network, (switch, dst, at), ports),
            None => self.choice.choices(&self.network, switch, dst, ports),
        }
    }

    /// A number below `count`, all as likely, for a packet that arrives over a link at a time.
    pub(crate) fn any_of(&self, switch: u32, count: u32, arrival: (u32, Time)) -> u32 {
        self.choice.any_of(switch, count, arrival)
    }

    /// The port by which a switch forwards a packet that comes over a link at a time.
    pub(crate) fn route_around(&mut self, switch: u32, handle: u32, arrival: (u32, Time)) -> Option<u32> {
        let packet = self.pool.get(handle);
        match self.faults.as_mut().and_then(|faults| faults.changes.as_mut()) {
            Some(changes) => changes.route(&self.choice, &self.network, switch, packet, arrival),
            None => self.choice.route(&self.network, switch, packet, arrival),
        }
    }

    /// Time at which a control frame is known at the far end of a link; `None` if that goes down before.
    pub(crate) fn signal(&self, link: Link, (starts, ends): (Time, Time)) -> Option<Time> {
        match self.changes() {
            Some(changes) => changes.signal(link.number, (starts, ends)),
            None => Some(ends + link.delay),
        }
    }

    /// Changes of links during the run, if there are any.
    pub(crate) fn changes(&self) -> Option<&Changes> {
        self.faults.as_ref()?.changes.as_ref()
    }

    /// Ports that the instant of this number concerns.
    pub(crate) fn concerned(&self, number: u32) -> Vec<u32> {
        let instant = self.changes().and_then(|changes| changes.instants().get(number as usize));
        instant.into_iter().flat_map(|instant| &instant.steps).map(|(link, _)| *link).collect()
    }

    /// Changes at the instant of this number, which has come.
    pub(crate) fn pass(&mut self, number: u32) -> Option<Instant> {
        Some(self.faults.as_mut()?.changes.as_mut()?.pass(number as usize))
    }

    /// Brings a packet to its host, where `at_host` happens, or to the next port; `special` as the field.
    #[inline(always)]
    fn carry(&mut self, link: Link, handle: u32, ends: Time, (at_host, special): (u32, bool)) {
        let arrives = ends + link.delay;
        let what = if link.to < self.hosts {
            at_host | link.to
        } else if special && self.late {
            return self.bring_to_choose(link, handle, arrives);
        } else {
            let switch = link.to - self.hosts;
            match self.choice.route(&self.network, switch, self.pool.get(handle), (link.number, arrives)) {
                Some(next) => FORWARD | next,
                None => {
                    // Links never change on this path, so that the loss is not a fault's.
                    self.lost += 1;
                    return self.pool.release(handle);
                }
            }
        };
        if special {
            let at = match what {
                _ if link.to < self.hosts => arrives,
                next => self.head_of(link, next & NUMBER, handle, arrives),
            };
            return self.bring_one(link, what, handle, (arrives, at));
        }
        self.bring(link, (what, handle), arrives, rank::of_arrival(link.number));
    }

    /// Time at which the next port may have a packet whose last bit `arrives`: then, or when its header has arrived.
    fn head_of(&self, link: Link, next: u32, handle: u32, arrives: Time) -> Time {
        if !self.cut_through.as_ref().is_some_and(|cut| cut.passes(link.number, next)) {
            return arrives;
        }
        let written = self.network.links()[link.number as usize].spec.rate;
        let rate = self.changes().map_or(written, |changes| changes.rate(link.number));
        let wire = u64::from(self.pool.get(handle).wire);
        // Both rounded from the packet's start, as ports round: a difference in bytes could be a picosecond off.
        let rest = rate.time_of(wire) - rate.time_of(self.network.sizes().head_bytes(wire));
        arrives - rest
    }

    /// Brings a packet over a link on which a fault may bring several at once. Its last bit `arrives`, and its event is `at`.
    fn bring_one(&mut self, link: Link, what: u32, handle: u32, (arrives, at): (Time, Time)) {
        let rank = rank::of_one_arrival(link.number, self.pool.get(handle));
        if let Some(attribution) = &mut self.attribution {
            attribution.arrive(handle, arrives, at);
            if link.cut {
                // Before the packet itself goes, since its handle is released then.
                attribution.mail(handle, self.post.of_node[link.to as usize]);
            }
        }
        self.bring(link, (what, handle), at, rank);
    }

    /// Makes the arrival of a packet happen, here or in the shard of the far end.
    #[inline(always)]
    fn bring(&mut self, link: Link, (what, handle): (u32, u32), arrives: Time, rank: u64) {
        if link.cut {
            return self.mail(link.to, (what, handle), arrives, rank);
        }
        self.queue.push(arrives.0, rank, what, handle);
    }

    /// A pause frame that stops the port of a number, or lets it go on, arrives at its node. `frame` is its content, in
    /// the form of a packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn bring_frame(
        &mut self,
        link: Link,
        port: u32,
        frame: Packet,
        (arrives, place): (Time, u32),
    ) {
        let handle = self.pool.insert(frame);
        self.bring(link, (PAUSE | port, handle), arrives, rank::of_frame(link.number, place));
    }

    #[inline(never)]
    fn mail(&mut self, to: u32, (what, handle): (u32, u32), arrives: Time, rank: u64) {
        let shard = self.post.of_node[to as usize];
        // A handle is of one shard's pool, so that the packet itself goes to the other one.
        let packet = *self.pool.get(handle);
        self.pool.release(handle);
        let stamps = self.stamping.as_mut().map(|stamping| Box::new(stamping.of(handle)));
        let letter = Letter { at: arrives.0, rank, what, packet, stamps };
        self.post.first = self.post.first.min(letter.at);
        self.post.letters[usize::from(shard)].push(letter);
    }

    /// Takes in packets that come from the shard of this number.
    pub(crate) fn receive(&mut self, from: usize, letters: &mut Vec<Letter>) {
        if self.attribution.is_some() {
            return self.receive_with_trips(from, letters);
        }
        for Letter { at, rank, what, packet, stamps } in letters.drain(..) {
            let handle = self.pool.insert(packet);
            self.unpack(handle, stamps);
            self.queue.push(at, rank, what, handle);
        }
    }

    /// A packet has come from another shard with what ports there wrote into it.
    #[inline]
    fn unpack(&mut self, handle: u32, stamps: Option<Box<Stamps>>) {
        if let (Some(stamping), Some(stamps)) = (&mut self.stamping, stamps) {
            stamping.put(handle, *stamps);
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_with_trips(&mut self, from: usize, letters: &mut Vec<Letter>) {
        let Some(attribution) = &mut self.attribution else { return };
        let trips = std::mem::take(&mut attribution.inbox[from]);
        let mut trips = trips.into_iter();
        for Letter { at, rank, what, packet, stamps } in letters.drain(..) {
            let handle = self.pool.insert(packet);
            // A pause frame does not belong to a flow.
            let frame = what & !NUMBER == CHANGE && what & (OF_HOST | AT_SWITCH | AT_PORT) == AT_PORT;
            if !frame {
                let trip = trips.next();
                debug_assert!(trip.is_some(), "each packet has its trip");
                if let (Some(attribution), Some(trip)) = (&mut self.attribution, trip) {
                    attribution.receive(handle, trip);
                }
            }
            self.unpack(handle, stamps);
            self.queue.push(at, rank, what, handle);
        }
        debug_assert!(trips.next().is_none(), "each trip has its packet");
    }

    /// The port by which a packet that came back from port `number` goes on; `None` without a route.
    #[cold]
    pub(crate) fn way_back(&mut self, number: u32, handle: u32, now: Time) -> Option<u32> {
        let switch = self.network.links()[number as usize].from - self.network.interfaces();
        let port = self.route_around(switch, handle, (number, now));
        self.lost += u64::from(port.is_none());
        port
    }

    /// Data packets of a flow that were lost to faults.
    pub(crate) fn fault_drops(&self, flow: usize) -> u32 {
        self.faults.as_ref().and_then(|faults| faults.drops.get(flow).copied()).unwrap_or(0)
    }

    /// Counts of faults on a link.
    pub(crate) fn fault_counts(&self, number: usize) -> FaultCounts {
        self.faults.as_ref().map_or(FaultCounts::default(), |f| f.injector.counts()[number])
    }
}
