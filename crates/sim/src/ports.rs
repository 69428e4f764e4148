//! The ports of a network, and when each is looked at.

mod shaped;

use crate::links::{CLASS_PACKET, DELIVER, FORWARD, Link, Links, NUMBER, PORT_SERVICE, RELEASE, TIMER};
use crate::queue::{Event, EventQueue};
use headway_fabric::{Full, Need, Offers, Port, PortContext, Rewrite};
use headway_network::Tap;
use headway_network::{BuildError, LinkRecord, LinkStats, Network, RunSpec};
use headway_packet::Packet;
use headway_primitives::prefetch_at;
use headway_transport::endpoint::Ahead;
use headway_units::Time;
use std::sync::Arc;

/// Networks of up to this many ports live in the cache, and looking ahead only costs.
const CACHED_PORTS: usize = 2048;

/// Buckets of the event queue for each port. Events in flight are more, but of the same few instants where links are
/// alike, and what the queue itself touches has to stay in cache beside them.
const BUCKETS_A_PORT: usize = 8;

/// Events that are handled while memory answers.
const STEP: usize = 6;

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
    pub(crate) delay: Time,
    pub(crate) port: Port<u32>,
}

impl Egress {
    #[inline(always)]
    pub(crate) fn link(&self, number: u32) -> Link {
        Link { number, to: self.to, delay: self.delay }
    }
}

const _: () = assert!(size_of::<Egress>() <= 5 * 64, "four lines for packets, one for drops");

/// All ports of a network, and what is between them.
///
/// A switch port with packets waiting has no event a departure; it is brought up to date when the next
/// packet arrives at it, and at the latest when the first waiting packet could reach the far end. That is
/// exact, because a departure depends on nothing later than its own start, and its effect elsewhere comes
/// a link's delay after that. Ports that may hold packets back are looked after in `ports/shaped.rs`.
pub(crate) struct Ports<'a> {
    pub(crate) egress: Vec<Egress>,
    pub(crate) links: Links<'a>,
    /// Whether to ask for what later events touch.
    ahead: bool,
    /// By port, where ports shape: the [`RELEASE`] event in force, `Time::MAX` when none is.
    pub(crate) releases: Vec<Time>,
    pub(crate) hosts: u32,
}

/// Ports do everything here that disciplines declare.
const OFFERS: Offers = Offers { driver: "the simulator", rewrites: Rewrite::ALL, needs: Need::ALL };

/// The ports of a network, and the longest time from the start of a full packet on a link to its arrival.
fn egress_of(network: &Network, seed: u64) -> Result<(Vec<Egress>, Time), BuildError> {
    let mut egress = Vec::with_capacity(network.links().len());
    let mut reach = Time::ZERO;
    let mut contexts: Vec<Arc<PortContext>> = Vec::new();
    network.check(&OFFERS)?;
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

impl<'a> Ports<'a> {
    pub(crate) fn new(
        network: Arc<Network>,
        spec: &'a RunSpec,
        tap: Option<&'a mut dyn Tap>,
    ) -> Result<Ports<'a>, BuildError> {
        let (egress, reach) = egress_of(&network, spec.seed)?;
        let mut queue =
            EventQueue::new(reach.0.saturating_mul(2).max(1 << 12), egress.len() * BUCKETS_A_PORT);
        let ahead = egress.len() > CACHED_PORTS;
        if ahead {
            queue.look_ahead(3 * STEP);
        }
        let hosts = network.hosts();
        let shaped = egress.iter().any(|e| e.port.is_shaped());
        let releases = if shaped { vec![Time::MAX; egress.len()] } else { Vec::new() };
        let links = Links::new(network, spec, tap, queue)?;
        let mut ports = Ports { egress, links, ahead, releases, hosts };
        ports.expect_changes();
        Ok(ports)
    }

    /// Looks ahead, or does not, whatever the size of the network.
    #[cfg(test)]
    pub(crate) fn force_look_ahead(&mut self, on: bool) {
        self.ahead = on;
        self.links.queue.look_ahead(if on { 3 * STEP } else { 0 });
    }

    /// Takes the earliest event. In a large network it also asks for what later ones will touch; `machine`
    /// asks for a host's: first for the machine itself, then as far ahead as said, with the packet for it if any.
    #[inline(always)]
    pub(crate) fn next_event(
        &mut self,
        machine: impl Fn(u32, Option<Ahead>, Option<&Packet>),
    ) -> Option<Event> {
        let event = self.links.queue.pop()?;
        if self.ahead {
            self.look_ahead(machine);
        }
        Some(event)
    }

    /// Asks for what events will touch, in as many steps as there are references to follow: first the port or the host
    /// and the packet, then the place of the packets that wait and the message, then the packets that will leave and
    /// what there is of the message for each packet.
    #[inline(always)]
    fn look_ahead(&self, machine: impl Fn(u32, Option<Ahead>, Option<&Packet>)) {
        let (egress, pool, queue) = (&self.egress, &self.links.pool, &self.links.queue);
        let number = |event: &Event| event.what & NUMBER;
        let kind = |event: &Event| event.what & !NUMBER;
        if let Some(event) = queue.upcoming(3 * STEP) {
            prefetch_at(egress, number(&event) as usize);
            pool.prefetch(event.packet);
            if self.is_of_host(&event) {
                machine(number(&event), None, None);
            }
        }
        let packet = |event: &Event| (kind(event) == DELIVER).then(|| pool.get(event.packet));
        if let Some(event) = queue.upcoming(2 * STEP) {
            if self.is_of_host(&event) {
                machine(number(&event), Some(Ahead::Far), packet(&event));
            } else if matches!(kind(&event), FORWARD | PORT_SERVICE | RELEASE) {
                let port = &egress[number(&event) as usize].port;
                port.waiting_places().for_each(|handles| prefetch_at(handles, 0));
            }
        }
        if let Some(event) = queue.upcoming(STEP) {
            if self.is_of_host(&event) {
                machine(number(&event), Some(Ahead::Near), packet(&event));
            } else if matches!(kind(&event), FORWARD | PORT_SERVICE | RELEASE) {
                let leaving = egress[number(&event) as usize].port.leaving(Time(event.at));
                leaving.for_each(|handle| pool.prefetch(handle));
            }
        }
    }

    /// Whether an event is an input of a host's machine.
    #[inline(always)]
    fn is_of_host(&self, event: &Event) -> bool {
        match event.what & !NUMBER {
            DELIVER | TIMER => true,
            PORT_SERVICE => event.what & NUMBER < self.hosts,
            _ => false,
        }
    }

    /// Sends what has left a switch port by `now`, in order, each at its own time: what waits has waited since
    /// before the wire became free, so it starts then.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, number: u32, now: Time) {
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        while egress.port.free_at() <= now && !egress.port.can_bypass() {
            if egress.port.is_shaped() {
                return self.catch_up_shaped(number, now);
            }
            let Some(departure) = egress.port.next(egress.port.free_at(), &mut links.pool) else { return };
            links.launch(egress.link(number), departure.handle, departure.ends);
        }
    }

    /// A packet arrives at a switch port; an error says which packet a full queue hit.
    #[inline(always)]
    pub(crate) fn offer(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        while egress.port.free_at() <= now {
            if egress.port.can_bypass() {
                let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
                links.launch(egress.link(number), handle, ends);
                return Ok(());
            }
            if egress.port.is_shaped() {
                return self.offer_shaped(number, handle, now);
            }
            let Some(waited) = egress.port.next(egress.port.free_at(), &mut links.pool) else { break };
            links.launch(egress.link(number), waited.handle, waited.ends);
        }
        egress.port.offer(now, handle, &mut links.pool)?;
        if !egress.armed {
            self.arm(number);
        }
        Ok(())
    }

    /// After a full queue hit a packet at a port: something may wait there that did not before.
    #[cold]
    pub(crate) fn overflowed(&mut self, number: u32) {
        let egress = &self.egress[number as usize];
        if !egress.armed && !egress.port.is_empty() && !egress.port.is_shaped() {
            self.arm(number);
        }
    }

    /// Makes sure that a switch port with packets waiting is looked after in time.
    #[inline]
    pub(crate) fn arm(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        egress.armed = true;
        let at = egress.port.free_at() + egress.delay;
        self.links.queue.push(at.0, CLASS_PACKET, PORT_SERVICE | number, 0);
    }

    /// The event that looks after a switch port.
    #[inline]
    pub(crate) fn look_after(&mut self, number: u32, now: Time) {
        self.egress[number as usize].armed = false;
        self.catch_up(number, now);
        let port = &self.egress[number as usize].port;
        if port.can_bypass() {
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
        let (egress, links) = (&mut self.egress[host as usize], &mut self.links);
        let handle = links.pool.insert(packet);
        let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
        if more {
            egress.armed = true;
            links.queue.push(ends.0, CLASS_PACKET, PORT_SERVICE | host, 0);
        }
        links.launch(egress.link(host), handle, ends);
    }

    /// Brings every switch port up to date, so that what it shows is the state at this instant.
    pub(crate) fn catch_up_all(&mut self, now: Time) {
        for number in self.hosts..self.egress.len() as u32 {
            self.catch_up(number, now);
        }
    }

    /// What every link did until `now`.
    ///
    /// # Panics
    /// When a port's counters contradict each other: only a bug can cause that.
    pub(crate) fn records(&self, now: Time, seed: u64) -> Vec<LinkRecord> {
        let ports = self.egress.iter().map(|egress| &egress.port);
        let faults = |number| self.links.fault_counts(number);
        let records = LinkStats::of_fresh_ports(Time::ZERO).records(now, &self.links.network, ports, faults);
        records.unwrap_or_else(|broken| panic!("{broken} (seed {seed})"))
    }
}
