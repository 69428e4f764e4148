//! The ports of a network, and when each is served.

mod choosing;
pub(crate) mod lossless;
pub(crate) mod memory;
mod shaped;

use crate::division::Division;
use crate::links::{DELIVER, FORWARD, Link, Links, NUMBER, PORT_SERVICE, Post, RELEASE, TIMER};
use crate::queue::{Event, EventQueue};
use crate::rank;
use crate::shared::Shared;
use headway_fabric::{Full, Need, Offers, Port, PortContext, Rewrite};
use headway_network::{BuildError, Network, RunSpec};
use headway_packet::Packet;
use headway_primitives::{prefetch, prefetch_at};
use headway_transport::endpoint::Ahead;
use headway_units::Time;
use std::sync::Arc;

/// Networks of up to this many ports live in the cache, and looking ahead only costs.
const CACHED_PORTS: usize = 2048;

/// Buckets of the event queue for each port. Events in flight are more, but of the same few instants where links are
/// alike, and the memory of the queue itself has to stay in cache together with them.
const BUCKETS_A_PORT: usize = 8;

/// Events that are handled while memory answers.
const STEP: usize = 6;

/// A port with the link behind it, in whole cache lines: a packet that finds the port idle touches the
/// first two.
#[repr(C, align(64))]
pub(crate) struct Egress {
    /// Node at the far end.
    to: u32,
    /// An event is waiting that serves this port: for a host's link when the wire is free, for a
    /// switch's no later than the first waiting packet's arrival at the far end.
    pub(crate) armed: bool,
    /// True if the far end belongs to another shard.
    cut: bool,
    /// True if it is among the ports that are brought up to date at the end of a window.
    watched: bool,
    /// Time from the last bit's departure to its arrival there, forwarding time of a switch included.
    pub(crate) delay: Time,
    pub(crate) port: Port<u32>,
}

impl Egress {
    #[inline(always)]
    pub(crate) fn link(&self, number: u32) -> Link {
        Link { number, to: self.to, cut: self.cut, delay: self.delay }
    }
}

const _: () = assert!(size_of::<Egress>() <= 5 * 64, "four lines for packets, one for drops");

/// The ports of a shard, and the links between them.
///
/// A switch port with packets waiting needs no event for each departure; it is brought up to date when the
/// next packet arrives at it, and at the latest when the first waiting packet could reach the far end. That
/// is exact, because a departure depends on nothing later than its own start, and its effect elsewhere comes
/// a link's delay after that. Ports that may hold packets back are served in `ports/shaped.rs`.
pub(crate) struct Ports<'a> {
    pub(crate) egress: Shared<Egress>,
    /// Numbers of the shard's own.
    pub(crate) own: Arc<[u32]>,
    /// The shard of each link; empty where there is one shard.
    of_link: Arc<[u8]>,
    shard: u8,
    /// Ports whose next packet goes to another shard, and may have to be announced before the port is served.
    watched: Vec<u32>,
    pub(crate) links: Links<'a>,
    /// True if memory that later events touch is prefetched.
    ahead: bool,
    /// Time of the [`RELEASE`] event in force at each port that shapes, `Time::MAX` when none is.
    pub(crate) releases: Vec<Time>,
    /// State of switches that choose among next hops when packets arrive.
    choosing: Option<Box<choosing::Choosing>>,
    /// State of lossless switches.
    pub(crate) lossless: Option<Box<lossless::Guard>>,
    /// Memory that the ports of switches share.
    pub(crate) memory: Option<Box<memory::Stores>>,
    pub(crate) hosts: u32,
    /// Hosts whose machines are polled for a packet when their wire is free: all, or none where packets wait in a queue
    /// in front of it, which is then a port like those of switches.
    pub(crate) pulled: u32,
}

/// Ports do everything here that disciplines declare.
const OFFERS: Offers = Offers { driver: "the simulator", rewrites: Rewrite::ALL, needs: Need::ALL };

/// The ports of a network, and the longest time from the start of a full packet on a link to its arrival.
pub(crate) fn egress_of(
    network: &Network,
    seed: u64,
    division: &Division,
) -> Result<(Vec<Egress>, Time), BuildError> {
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
        let shares = network.fabric().memory.is_some() && number >= network.interfaces() as usize;
        // Limits of a port whose memory is shared change with each packet.
        let context = if shares { Arc::new(PortContext::clone(&context)) } else { context };
        let mut port = Port::new(rules, context);
        if shares {
            port.make_exact();
        }
        if lossless::has_gate(network, number as u32) {
            port.make_pausable(network.fabric().pfc.as_ref().map_or(1, |pfc| pfc.all_classes()));
        }
        let cut = division.cuts(link);
        egress.push(Egress { port, to: link.to, delay, armed: false, cut, watched: false });
    }
    Ok((egress, reach))
}

impl<'a> Ports<'a> {
    /// The ports of one shard, out of a handle of all.
    pub(crate) fn new(
        network: Arc<Network>,
        spec: &'a RunSpec,
        tapped: bool,
        (egress, reach): (Shared<Egress>, Time),
        (division, shard): (&Division, u8),
    ) -> Result<Ports<'a>, BuildError> {
        let own = division.links_of(shard);
        let mut queue = EventQueue::new(reach.0.saturating_mul(2).max(1 << 12), own.len() * BUCKETS_A_PORT);
        let ahead = own.len() > CACHED_PORTS;
        if ahead {
            queue.look_ahead(3 * STEP);
        }
        let hosts = network.interfaces();
        let shaped =
            spec.fabric.pfc.is_some() || own.iter().any(|number| egress[*number as usize].port.is_shaped());
        // Pauses use the same events as shapers.
        let releases = if shaped { vec![Time::MAX; egress.len()] } else { Vec::new() };
        let letters = (0..division.shards()).map(|_| Vec::new()).collect();
        let post = Post { of_node: Arc::clone(division.of_node()), letters, first: u64::MAX };
        let links = Links::new(network, spec, tapped, queue, post)?;
        let of_link = if division.shards() > 1 { Arc::clone(division.of_link()) } else { Arc::new([]) };
        let watched = Vec::new();
        let lossless = lossless::Guard::new(&links.network, spec)?.map(Box::new);
        // Machines of a lossless fabric are asked in a way of their own.
        let apart = lossless.is_some() || links.network.owners().is_bonded();
        let pulled = if spec.fabric.host_queue.is_some() || apart { 0 } else { hosts };
        let choosing = choosing::Choosing::new(spec.fabric.routing).map(Box::new);
        let memory = memory::Stores::new(&links.network, &egress, &own)?.map(Box::new);
        let mut ports = Ports {
            egress,
            own,
            of_link,
            shard,
            watched,
            links,
            ahead,
            releases,
            choosing,
            lossless,
            memory,
            hosts,
            pulled,
        };
        ports.expect_changes();
        Ok(ports)
    }

    /// True if a link's port belongs to this shard.
    pub(crate) fn owns(&self, link: u32) -> bool {
        // The list is empty with one shard, which owns all.
        self.of_link.get(link as usize).is_none_or(|owner| *owner == self.shard)
    }

    /// Looks ahead, or does not, whatever the size of the network.
    #[cfg(test)]
    pub(crate) fn force_look_ahead(&mut self, on: bool) {
        self.ahead = on;
        self.links.queue.look_ahead(if on { 3 * STEP } else { 0 });
    }

    /// Takes the earliest event if it is before `limit`. In a large network it also asks for what later ones will
    /// touch; `machine` asks for a host's: first for the machine itself, then as far ahead as said, with the packet for
    /// it if any.
    #[inline(always)]
    pub(crate) fn next_event(
        &mut self,
        limit: u64,
        machine: impl Fn(u32, Option<Ahead>, Option<&Packet>),
    ) -> Option<Event> {
        let event = self.links.queue.pop_before(limit)?;
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
            if let Some(egress) = egress.get(number(&event) as usize) {
                prefetch(egress);
            }
            pool.prefetch(event.packet);
            if kind(&event) != FORWARD && self.is_of_host(&event) {
                machine(number(&event), None, None);
            }
        }
        let packet = |event: &Event| (kind(event) == DELIVER).then(|| pool.get(event.packet));
        // The most frequent kind of event comes first, as in the engine.
        if let Some(event) = queue.upcoming(2 * STEP) {
            if kind(&event) != FORWARD && self.is_of_host(&event) {
                machine(number(&event), Some(Ahead::Far), packet(&event));
            } else if matches!(kind(&event), FORWARD | PORT_SERVICE | RELEASE) {
                let port = &egress[number(&event) as usize].port;
                port.waiting_places().for_each(|handles| prefetch_at(handles, 0));
            }
        }
        if let Some(event) = queue.upcoming(STEP) {
            if kind(&event) != FORWARD && self.is_of_host(&event) {
                machine(number(&event), Some(Ahead::Near), packet(&event));
            } else if matches!(kind(&event), FORWARD | PORT_SERVICE | RELEASE) {
                let port = &egress[number(&event) as usize].port;
                port.show_leaving(Time(event.at), |handle| pool.prefetch(handle));
            }
        }
    }

    /// True if an event is an input of a host's machine.
    #[inline(always)]
    fn is_of_host(&self, event: &Event) -> bool {
        match event.what & !NUMBER {
            DELIVER | TIMER => true,
            PORT_SERVICE => event.what & NUMBER < self.hosts,
            _ => false,
        }
    }

    /// Sends the packets that have left a switch port by `now`, in order, each at its own time: a waiting packet has
    /// waited since before the wire became free, so it starts then.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, number: u32, now: Time) {
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        // A port that can be bypassed has nothing waiting.
        while egress.port.free_at() <= now && !egress.port.can_bypass() {
            if egress.port.is_shaped() {
                return self.catch_up_shaped(number, now);
            }
            let Some(departure) = egress.port.next(egress.port.free_at(), &mut links.pool) else { return };
            links.launch(egress.link(number), &egress.port, departure.handle, departure.ends);
        }
    }

    /// A packet arrives at a switch port; an error says which packet a full queue hit.
    #[inline(always)]
    pub(crate) fn offer(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        while egress.port.free_at() <= now {
            if egress.port.can_bypass() {
                let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
                links.launch(egress.link(number), &egress.port, handle, ends);
                return Ok(());
            }
            if egress.port.is_shaped() {
                return self.offer_shaped(number, handle, now);
            }
            let Some(waited) = egress.port.next(egress.port.free_at(), &mut links.pool) else { break };
            links.launch(egress.link(number), &egress.port, waited.handle, waited.ends);
        }
        egress.port.offer(now, handle, &mut links.pool)?;
        // One event serves all that waits: it is pushed again if something is left.
        if !egress.armed {
            let cut = egress.cut;
            self.arm(number);
            if cut {
                self.watch_over(number);
            }
        }
        Ok(())
    }

    /// After a full queue hit a packet at a port: something may wait there that did not before.
    #[cold]
    pub(crate) fn overflowed(&mut self, number: u32, now: Time) {
        let egress = &self.egress[number as usize];
        if egress.port.is_shaped() {
            // The same whether the port was up to date before or not.
            return self.watch_shaped(number, now);
        }
        if !egress.armed && !egress.port.is_empty() {
            self.arm(number);
            self.watch_over(number);
        }
    }

    /// Brings a port up to date at the end of each window as long as something may wait at it, if its packets go to
    /// another shard.
    #[cold]
    #[inline(never)]
    pub(crate) fn watch_over(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        if egress.cut && !egress.watched {
            egress.watched = true;
            self.watched.push(number);
        }
    }

    /// Sends everything that leaves for another shard before `until`, and returns the time at which the next packet
    /// that waits will begin to; the end of time without any.
    pub(crate) fn flush(&mut self, until: u64) -> u64 {
        // Packets that start at `until` itself belong to the next window.
        let Some(last) = until.checked_sub(1) else { return u64::MAX };
        let mut watched = std::mem::take(&mut self.watched);
        let mut next = u64::MAX;
        watched.retain(|&number| {
            self.catch_up(number, Time(last));
            let egress = &mut self.egress[number as usize];
            if let Some(start) = egress.port.next_start() {
                next = next.min(start.0);
            }
            // The list is empty where nothing shapes.
            let released = self.releases.get(number as usize).is_none_or(|at| *at == Time::MAX);
            egress.watched = egress.armed || !released;
            egress.watched
        });
        // A packet that leaves may have been the reason to serve a port again.
        watched.append(&mut self.watched);
        self.watched = watched;
        next
    }

    /// Makes sure that a switch port with packets waiting is served in time.
    #[inline]
    pub(crate) fn arm(&mut self, number: u32) {
        let egress = &mut self.egress[number as usize];
        egress.armed = true;
        let at = egress.port.free_at() + egress.delay;
        self.links.queue.push(at.0, rank::of_work(PORT_SERVICE | number), PORT_SERVICE | number, 0);
    }

    /// Event that serves a switch port.
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
    pub(crate) fn send(&mut self, host: u32, handle: u32, now: Time, more: bool) {
        let (egress, links) = (&mut self.egress[host as usize], &mut self.links);
        let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
        if more {
            egress.armed = true;
            links.queue.push(ends.0, rank::of_work(PORT_SERVICE | host), PORT_SERVICE | host, 0);
        }
        links.launch(egress.link(host), &egress.port, handle, ends);
    }

    /// Brings every port with a queue of the shard up to date, so that it shows the state at this instant.
    pub(crate) fn catch_up_all(&mut self, now: Time) {
        let (own, pulled) = (Arc::clone(&self.own), self.pulled);
        own.iter().filter(|number| **number >= pulled).for_each(|number| self.catch_up(*number, now));
    }
}
