//! Ports, links and the packets between them.

use crate::pool::Pool;
use crate::prefetch::prefetch;
use crate::queue::{Event, EventQueue};
use crate::tap::Tap;
use headway_fabric::{Full, Port, PortContext};
use headway_network::{BuildError, Choice, FaultCounts, Injector, LinkRecord, Network, RunSpec, Verdict};
use headway_packet::Packet;
use headway_units::Time;
use std::sync::Arc;

/// Kinds of event, in the top bits of [`Event::what`]; the rest is the number of a port or host.
pub(crate) const FORWARD: u32 = 0 << KIND_SHIFT;
pub(crate) const DELIVER: u32 = 1 << KIND_SHIFT;
pub(crate) const WIRE_FREE: u32 = 2 << KIND_SHIFT;
pub(crate) const TIMER: u32 = 3 << KIND_SHIFT;
pub(crate) const FLOW_START: u32 = 4 << KIND_SHIFT;
pub(crate) const SAMPLE: u32 = 5 << KIND_SHIFT;
pub(crate) const RELEASE: u32 = 6 << KIND_SHIFT;
const KIND_SHIFT: u32 = 29;
pub(crate) const NUMBER: u32 = (1 << KIND_SHIFT) - 1;

/// Class of packets and wires among events of one instant.
pub(crate) const CLASS_PACKET: u8 = 0;

/// Networks of up to this many ports live in the cache, and looking ahead only costs.
const CACHED_PORTS: usize = 2048;

/// Events that are handled while memory answers.
const STEP: usize = 8;

/// A port with the link behind it, in whole cache lines: a packet that finds the port idle touches the
/// first two.
#[repr(C, align(64))]
pub(crate) struct Egress {
    /// Node at the far end.
    to: u32,
    /// An event is waiting that looks after this port: for a host's link when the wire is free, for a
    /// switch's no later than the first waiting packet's arrival at the far end.
    pub(crate) armed: bool,
    /// From the last bit's departure to its arrival there, forwarding time of a switch included.
    delay: Time,
    pub(crate) port: Port<u32>,
}

/// What is behind a port: the far end, and the time to it.
#[derive(Clone, Copy)]
struct Link {
    to: u32,
    delay: Time,
}

impl Egress {
    #[inline(always)]
    fn link(&self) -> Link {
        Link { to: self.to, delay: self.delay }
    }
}

const _: () = assert!(size_of::<Egress>() <= 5 * 64, "four lines for packets, one for drops");

/// All ports of a network, the packets at them and between them, and the events of their future.
///
/// A switch port with packets waiting has no event a departure; it is brought up to date when the next
/// packet arrives at it, and at the latest when the first waiting packet could reach the far end. That is
/// exact, because a departure depends on nothing later than its own start, and its effect elsewhere comes
/// a link's delay after that. The next hop's port is chosen as a packet leaves, while it is at hand: its
/// arrival then names all it will touch, and those can be brought into the cache ahead of time.
///
/// A port that shapes may hold packets back while its wire is free. Then an event of another kind looks after
/// it, [`RELEASE`], by when the first of them could reach the far end; an arrival that goes first moves it.
pub(crate) struct Wires<'a> {
    pub(crate) egress: Vec<Egress>,
    pub(crate) pool: Pool,
    pub(crate) queue: EventQueue,
    /// Packets without a route.
    pub(crate) lost: u64,
    /// Whether to ask for what later events touch.
    ahead: bool,
    /// Whether there is a tap, or there are faults: one branch a hop for both.
    special: bool,
    /// By port, where ports shape: the [`RELEASE`] event in force, `Time::MAX` when none is.
    releases: Vec<Time>,
    faults: Option<Box<Faults>>,
    network: Arc<Network>,
    hosts: u32,
    choice: Choice,
    tap: Option<&'a mut dyn Tap>,
}

/// The ports of a network, and the longest time from the start of a full packet on a link to its arrival.
fn ports(network: &Network, seed: u64) -> Result<(Vec<Egress>, Time), BuildError> {
    let mut egress = Vec::with_capacity(network.links().len());
    let mut reach = Time::ZERO;
    let mut contexts: Vec<Arc<PortContext>> = Vec::new();
    for (number, link) in network.links().iter().enumerate() {
        let (rules, context) = network.discipline(number as u32, seed)?;
        // Ports of a network differ in little but the seed, which the rules have made use of: a handful of
        // contexts serves all, and stays in cache.
        let context = PortContext { seed: 0, ..context };
        let context = match contexts.iter().find(|known| ***known == context) {
            Some(known) => Arc::clone(known),
            None => {
                contexts.push(Arc::new(context));
                Arc::clone(&contexts[contexts.len() - 1])
            }
        };
        let delay = network.hop_delay(link);
        reach = reach.max(delay + link.spec.rate.time_of(u64::from(network.sizes().full_wire())));
        egress.push(Egress { port: Port::new(rules, context), to: link.to, delay, armed: false });
    }
    Ok((egress, reach))
}

/// What goes wrong on links, and to which flows.
struct Faults {
    injector: Injector,
    /// Data packets lost, by flow.
    drops: Vec<u32>,
}

impl<'a> Wires<'a> {
    pub(crate) fn new(
        network: Arc<Network>,
        spec: &RunSpec,
        tap: Option<&'a mut dyn Tap>,
    ) -> Result<Wires<'a>, BuildError> {
        let faults = match &spec.faults[..] {
            [] => None,
            specs => {
                let injector = Injector::new(specs, &network, spec.seed)?;
                Some(Box::new(Faults { injector, drops: vec![0; spec.flows.len()] }))
            }
        };
        let (egress, reach) = ports(&network, spec.seed)?;
        let mut queue = EventQueue::new(reach.0.saturating_mul(2).max(1 << 12), egress.len() * 32);
        let ahead = egress.len() > CACHED_PORTS;
        if ahead {
            queue.look_ahead(3 * STEP);
        }
        let shaped = egress.iter().any(|e| e.port.is_shaped());
        Ok(Wires {
            releases: if shaped { vec![Time::MAX; egress.len()] } else { Vec::new() },
            queue,
            ahead,
            pool: Pool::default(),
            choice: Choice::new(&network, spec.seed),
            egress,
            lost: 0,
            special: faults.is_some() || tap.is_some(),
            faults,
            hosts: network.hosts(),
            network,
            tap,
        })
    }

    /// Looks ahead, or does not, whatever the size of the network.
    #[cfg(test)]
    pub(crate) fn force_look_ahead(&mut self, on: bool) {
        self.ahead = on;
        self.queue.look_ahead(if on { 3 * STEP } else { 0 });
    }

    /// Takes the earliest event. In a large network it also asks for what later ones will touch; `machine`
    /// asks for a host's.
    #[inline(always)]
    pub(crate) fn next_event(&mut self, machine: impl Fn(u32)) -> Option<Event> {
        let event = self.queue.pop()?;
        if self.ahead {
            self.look_ahead(machine);
        }
        Some(event)
    }

    /// Asks for what events will touch, in as many steps as there are references to follow: first the
    /// port or the host and the packet, then the place of the packets that wait, then those that will leave.
    #[inline(always)]
    fn look_ahead(&self, machine: impl Fn(u32)) {
        let (egress, pool) = (&self.egress, &self.pool);
        let number = |event: &Event| (event.what & NUMBER) as usize;
        let kind = |event: &Event| event.what & !NUMBER;
        if let Some(event) = self.queue.upcoming(3 * STEP) {
            prefetch(egress, number(&event));
            pool.prefetch(event.packet);
            if kind(&event) == DELIVER {
                machine(event.what & NUMBER);
            }
        }
        if let Some(event) = self.queue.upcoming(2 * STEP)
            && matches!(kind(&event), FORWARD | WIRE_FREE | RELEASE)
        {
            egress[number(&event)].port.waiting_places().for_each(|handles| prefetch(handles, 0));
        }
        if let Some(event) = self.queue.upcoming(STEP)
            && matches!(kind(&event), FORWARD | WIRE_FREE | RELEASE)
        {
            let leaving = egress[number(&event)].port.leaving(Time(event.at));
            leaving.for_each(|handle| pool.prefetch(handle));
        }
    }

    /// Puts a packet that left a port on its link.
    #[inline(always)]
    fn launch(&mut self, number: u32, link: Link, handle: u32, ends: Time) {
        if self.special {
            return self.launch_special(number, link, handle, ends);
        }
        self.carry(link, handle, ends);
    }

    /// The same where somebody watches, or links may lose, double or delay packets.
    #[cold]
    #[inline(never)]
    fn launch_special(&mut self, number: u32, link: Link, handle: u32, ends: Time) {
        if self.tap.is_some() {
            self.show(number, handle, ends);
        }
        let Some(faults) = &mut self.faults else { return self.carry(link, handle, ends) };
        let packet = *self.pool.get(handle);
        match faults.injector.judge(number, &packet) {
            Verdict::Pass => self.carry(link, handle, ends),
            Verdict::Drop => {
                if packet.is_data() {
                    faults.drops[packet.tag as usize] += 1;
                }
                self.pool.release(handle);
            }
            Verdict::Duplicate => {
                let copy = self.pool.insert(packet);
                self.carry(link, handle, ends);
                self.carry(link, copy, ends);
            }
            Verdict::Delay(by) => self.carry(link, handle, ends.saturating_add(by)),
        }
    }

    /// Data packets of a flow that were lost to faults.
    pub(crate) fn fault_drops(&self, flow: usize) -> u32 {
        self.faults.as_ref().map_or(0, |faults| faults.drops[flow])
    }

    /// Brings a packet to its host, or to the next port.
    #[inline(always)]
    fn carry(&mut self, link: Link, handle: u32, ends: Time) {
        let arrives = ends + link.delay;
        let what = if link.to < self.hosts {
            DELIVER | link.to
        } else {
            let switch = link.to - self.hosts;
            match self.choice.route(&self.network, switch, self.pool.get(handle)) {
                Some(next) => FORWARD | next,
                None => {
                    self.lost += 1;
                    return self.pool.release(handle);
                }
            }
        };
        self.queue.push(arrives.0, CLASS_PACKET, what, handle);
    }

    /// Shows the tap a packet that has started on a link.
    #[cold]
    #[inline(never)]
    fn show(&mut self, number: u32, handle: u32, ends: Time) {
        let packet = self.pool.get(handle);
        let rate = self.egress[number as usize].port.context().rate;
        if let Some(tap) = &mut self.tap {
            tap.started(number, ends - rate.time_of(u64::from(packet.wire)), packet);
        }
    }

    /// Sends what has left a switch port by `now`, in order, each at its own time.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, number: u32, now: Time) {
        loop {
            let port = &self.egress[number as usize].port;
            if port.is_deserted() || port.free_at() > now {
                return;
            }
            if port.is_shaped() {
                return self.catch_up_shaped(number, now);
            }
            self.send_next(number);
        }
    }

    /// The same for a port that shapes: the first packet may have to wait longer than for the wire.
    #[inline(never)]
    fn catch_up_shaped(&mut self, number: u32, now: Time) {
        let next = |wires: &Self| wires.egress[number as usize].port.next_start();
        while let Some(start) = next(self).filter(|start| *start <= now) {
            self.send_at(number, start);
        }
    }

    /// Sends the packet whose turn it is at `start`.
    fn send_at(&mut self, number: u32, start: Time) {
        let egress = &mut self.egress[number as usize];
        let (link, port) = (egress.link(), &mut egress.port);
        if let Some(departure) = port.next(start, &mut self.pool) {
            self.launch(number, link, departure.handle, departure.ends);
        }
    }

    /// Sends the next waiting packet. It has waited since before the wire became free, so it starts then.
    #[inline(always)]
    fn send_next(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        let (link, port) = (egress.link(), &mut egress.port);
        if let Some(departure) = port.next(port.free_at(), &mut self.pool) {
            self.launch(number, link, departure.handle, departure.ends);
        }
    }

    /// A packet arrives at a switch port; an error says which packet a full queue hit.
    #[inline(always)]
    pub(crate) fn offer(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        loop {
            let egress = &mut self.egress[number as usize];
            if egress.port.free_at() > now {
                egress.port.offer(now, handle, &mut self.pool)?;
                if !egress.armed {
                    self.arm(number);
                }
                return Ok(());
            }
            if egress.port.is_deserted() {
                let link = egress.link();
                let ends = egress.port.pass(now, self.pool.get_mut(handle));
                self.launch(number, link, handle, ends);
                return Ok(());
            }
            if egress.port.is_shaped() {
                return self.offer_shaped(number, handle, now);
            }
            self.send_next(number);
        }
    }

    /// A packet arrives at a port that shapes, whose wire may be free although others wait.
    #[inline(never)]
    fn offer_shaped(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        self.catch_up_shaped(number, now);
        let offered = self.egress[number as usize].port.offer(now, handle, &mut self.pool);
        // What waited has left if it could; only the newcomer can start at this instant.
        if self.egress[number as usize].port.next_start().is_some_and(|start| start <= now) {
            self.send_at(number, now);
        }
        self.watch_shaped(number, now);
        offered
    }

    /// Makes sure that a port that shapes is looked after in time, if something waits there.
    fn watch_shaped(&mut self, number: u32, now: Time) {
        let egress = &mut self.egress[number as usize];
        let Some(start) = egress.port.next_start() else { return };
        if egress.port.free_at() > now {
            // What arrives meanwhile may be first to leave, as soon as the wire is free.
            if !egress.armed {
                self.arm(number);
            }
            return;
        }
        let at = start + egress.delay;
        let release = &mut self.releases[number as usize];
        if at < *release {
            *release = at;
            self.queue.push(at.0, CLASS_PACKET, RELEASE | number, 0);
        }
    }

    /// The event that looks after a port whose wire is free but whose packets were held back.
    pub(crate) fn release(&mut self, number: u32, now: Time) {
        if self.releases[number as usize] != now {
            // An earlier one was made after this.
            return;
        }
        self.releases[number as usize] = Time::MAX;
        self.catch_up(number, now);
        self.watch_shaped(number, now);
    }

    /// After a full queue hit a packet at a port: something may wait there that did not before.
    #[cold]
    pub(crate) fn overflowed(&mut self, number: u32) {
        let egress = &self.egress[number as usize];
        if !egress.armed && !egress.port.is_empty() && !egress.port.is_shaped() {
            self.arm(number);
        }
    }

    /// The port by which a packet that came back from port `number` goes on; `None` when there is no way.
    #[cold]
    pub(crate) fn way_back(&mut self, number: u32, handle: u32) -> Option<u32> {
        let switch = self.network.links()[number as usize].from - self.network.hosts();
        let port = self.choice.route(&self.network, switch, self.pool.get(handle));
        self.lost += u64::from(port.is_none());
        port
    }

    /// Makes sure that a switch port with packets waiting is looked after in time.
    #[inline]
    fn arm(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        egress.armed = true;
        let at = egress.port.free_at() + egress.delay;
        self.queue.push(at.0, CLASS_PACKET, WIRE_FREE | number, 0);
    }

    /// The event that looks after a switch port.
    #[inline]
    pub(crate) fn look_after(&mut self, number: u32, now: Time) {
        self.egress[number as usize].armed = false;
        self.catch_up(number, now);
        let port = &self.egress[number as usize].port;
        if port.is_deserted() {
            return;
        }
        if port.is_shaped() {
            return self.watch_shaped(number, now);
        }
        self.arm(number);
    }

    /// Puts a host's packet on its idle wire; `more` asks for an event when the wire is free again.
    #[inline]
    pub(crate) fn send(&mut self, host: u32, packet: Packet, now: Time, more: bool) {
        let handle = self.pool.insert(packet);
        let egress = &mut self.egress[host as usize];
        let link = egress.link();
        let ends = egress.port.pass(now, self.pool.get_mut(handle));
        if more {
            egress.armed = true;
            self.queue.push(ends.0, CLASS_PACKET, WIRE_FREE | host, 0);
        }
        self.launch(host, link, handle, ends);
    }

    /// Brings every switch port up to date, so that what it shows is the state at this instant.
    pub(crate) fn catch_up_all(&mut self, now: Time) {
        for number in self.hosts..self.egress.len() as u32 {
            self.catch_up(number, now);
        }
    }

    /// Closes the books of every link.
    ///
    /// # Panics
    /// When a port's counters contradict each other: only a bug can cause that.
    pub(crate) fn records(&self, now: Time, seed: u64) -> Vec<LinkRecord> {
        let names = self.network.link_names();
        let record = |(number, (name, egress)): (usize, (String, &Egress))| {
            let port = &egress.port;
            if let Err(broken) = port.check() {
                panic!("counters of {name} at {now}: {broken} (seed {seed})");
            }
            let integral = port.queue_integral(now) as f64;
            LinkRecord {
                name,
                from_switch: number >= self.hosts as usize,
                rate: port.context().rate,
                counters: port.counters(),
                busy: port.busy_until(now),
                faults: self.faults.as_ref().map_or(FaultCounts::default(), |f| f.injector.counts()[number]),
                queue_mean_bytes: if now.0 == 0 { 0.0 } else { integral / now.0 as f64 },
            }
        };
        names.into_iter().zip(&self.egress).enumerate().map(record).collect()
    }
}
