//! Hosts whose processors take time: the work between a machine and its link.
//!
//! A run whose hosts cost nothing has no [`Work`] and none of these events. In a run that has it, no event of the usual
//! kind serves a host's wire: [`Egress::armed`](crate::ports::Egress) stays set, and code that wants to pull a packet
//! comes to [`Engine::prepare`] instead.
//!
//! **Out.** While one burst is on the wire, the next one is prepared, and no more: the choice of later packets is the
//! machine's to choose for as long as possible. A burst is pulled from the machine in one instant, waits for the
//! processor, and leaves at the rate of the wire. **In.** A packet waits at the interface for others as long as
//! interrupts are put off, then for the processor; then the machine receives it. **Messages** wait for the processor as
//! they are handed to the machine, and again as they are handed out.

use super::Engine;
use crate::links::{
    ARRIVED, DELIVER, GIVEN_UP, HANDED_OUT, HANDED_UP, HOST, OPENED, PREPARED, SENT, STEPS, STOPPED,
};
use crate::rank;
use headway_network::{BuildError, HostCosts, Network, Owners, Processor, RunSpec, merged};
use headway_packet::{Packet, PacketFlags, Stamps};
use headway_transport::Endpoint;
use headway_units::Time;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Work of all hosts.
pub(super) struct Work {
    costs: HostCosts,
    /// By interface.
    hosts: Vec<OneHost>,
    /// By host: its interfaces share it.
    processors: Vec<Processor>,
    owners: Owners,
    /// Flows whose bytes are all there, and whose message the processor has not handed out yet.
    handing_out: FxHashSet<u32>,
}

#[derive(Default)]
struct OneHost {
    /// Packets of the burst on the wire that have not left.
    leaving: VecDeque<Packet>,
    /// True if the wire is taken: an event waits for its end.
    sends: bool,
    /// The next burst.
    next: VecDeque<Packet>,
    /// True if the processor is done with it.
    is_prepared: bool,
    /// Pulled, and the first of the burst after that.
    first: Option<Packet>,
    /// Stamps that each packet takes along that was pulled and has not left, if ports write into packets.
    echoes: VecDeque<Option<Stamps>>,
    /// Handles of packets that wait at the interface, and until when.
    waiting: Vec<u32>,
    until: Option<Time>,
}

impl Work {
    /// Work of hosts, or `None` if it takes no time.
    pub(super) fn new(spec: &RunSpec, network: &Network) -> Result<Option<Box<Work>>, BuildError> {
        let costs = spec.costs;
        if costs.is_free() {
            return Ok(None);
        }
        // The model prepares a burst while one is on the wire: a queue between would let it run ahead.
        if spec.fabric.host_queue.is_some() {
            let text = "hosts whose processors take time have no queue in front of their links".into();
            return Err(BuildError::Shape(text));
        }
        let interfaces = network.interfaces();
        // The number shares the word of an event with the kind of step.
        if interfaces > HOST {
            let text = format!(
                "{interfaces} interfaces of hosts are too many for hosts that cost time: {HOST} at most"
            );
            return Err(BuildError::Shape(text));
        }
        let hosts = (0..interfaces).map(|_| OneHost::default()).collect();
        let processors = vec![Processor::default(); network.hosts() as usize];
        let owners = network.owners().clone();
        Ok(Some(Box::new(Work { costs, hosts, processors, owners, handing_out: FxHashSet::default() })))
    }

    /// Time at which the processor of an interface's host is done with this work too.
    fn done(&mut self, interface: u32, now: Time, work: Time) -> Time {
        self.processors[self.owners.host_of(interface) as usize].done(now, work)
    }
}

impl Engine<'_> {
    /// An event of a host's processor or interface.
    #[cold]
    #[inline(never)]
    pub(super) fn host_step(&mut self, number: u32, item: u32) {
        let host = number & HOST;
        match number & STEPS {
            ARRIVED if self.bonds.is_some() => self.deliver_to_address(host, item),
            SENT if self.bonds.is_some() => self.wire_is_free(host),
            ARRIVED => self.arrived(host, item),
            HANDED_UP => self.handed_up(host),
            PREPARED => {
                if let Some(work) = &mut self.work {
                    work.hosts[host as usize].is_prepared = true;
                }
                self.go_on_sending(host);
            }
            SENT => {
                if let Some(work) = &mut self.work {
                    work.hosts[host as usize].sends = false;
                }
                self.go_on_sending(host);
            }
            OPENED => self.open_message(item),
            HANDED_OUT => self.handed_out(item),
            GIVEN_UP => {
                self.end_flow(item);
                self.lost(item);
            }
            STOPPED => self.stop_flows(),
            other => debug_assert!(false, "no step of a host has the number {other:#x}"),
        }
    }

    /// A packet has come over its link: it waits for others, or for the processor at once.
    fn arrived(&mut self, host: u32, handle: u32) {
        let Some(work) = &mut self.work else { return };
        let (costs, one) = (&work.costs, &mut work.hosts[host as usize]);
        one.waiting.push(handle);
        // Without coalescing nothing waits, hence nothing can be merged either.
        if costs.coalesce == Time::ZERO || costs.is_enough(one.waiting.len()) {
            return self.hand_up(host);
        }
        // The window counts from its first packet; later ones do not make it longer.
        if one.until.is_none() {
            let until = self.now.saturating_add(costs.coalesce);
            one.until = Some(until);
            self.ports.links.queue.push(until.0, rank::of_work(HANDED_UP | host), HANDED_UP | host, 0);
        }
    }

    /// A window ends, unless it ended early because enough packets were there.
    fn handed_up(&mut self, host: u32) {
        // The event of a window that ended early cannot be taken back. If another one began since, its end differs.
        if self.work.as_ref().is_some_and(|work| work.hosts[host as usize].until == Some(self.now)) {
            self.hand_up(host);
        }
    }

    /// Gives the processor all that waits at an interface; the machine receives each as it is done.
    fn hand_up(&mut self, host: u32) {
        let Some(work) = &mut self.work else { return };
        let (costs, one) = (&work.costs, &mut work.hosts[host as usize]);
        let links = &mut self.ports.links;
        one.until = None;
        let groups = merged(costs, one.waiting.iter().map(|handle| links.pool.get(*handle)));
        let mut grouped: Vec<(usize, u32)> = groups.into_iter().zip(one.waiting.drain(..)).collect();
        // Stable: a group keeps the order of its packets.
        grouped.sort_by_key(|(group, _)| *group);
        for group in grouped.chunk_by(|a, b| a.0 == b.0) {
            // Packets that GRO merges cost the processor as much as one.
            let done = work.done(host, self.now, work.costs.packet);
            for (place, (_, handle)) in group.iter().enumerate() {
                links.queue.push(done.0, rank::of_delivery(host, place), DELIVER | host, *handle);
            }
        }
    }

    /// Pulls the next burst and hands it to the processor, unless one is there already.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare(&mut self, host: u32) {
        let Some(work) = &mut self.work else { return };
        let (costs, one) = (&work.costs, &mut work.hosts[host as usize]);
        // One burst ahead is enough to keep the wire busy, and more would take the choice from the machine.
        if !one.next.is_empty() {
            return;
        }
        let machine = &mut self.hosts[host as usize];
        let (flows, now) = (&self.flows, self.now);
        let attribution = &mut self.ports.links.attribution;
        let echoes = &mut one.echoes;
        let mut pull = || {
            let packet = machine.endpoint.poll_transmit(now)?;
            if machine.reads_stamps {
                echoes.push_back(machine.endpoint.poll_echo());
            }
            if let Some(attribution) = attribution {
                attribution.pulled(host, now);
            }
            if packet.flags.has_all(PacketFlags::AGAIN) && packet.is_data() {
                flows[packet.tag as usize].retransmit(packet.payload);
            }
            Some(packet)
        };
        let mut bytes = 0;
        while let Some(packet) = one.first.take().or_else(&mut pull) {
            if one.next.front().is_some_and(|first| !costs.joins(first, bytes, &packet)) {
                // A pulled packet cannot be given back, so that it begins the next burst.
                one.first = Some(packet);
                break;
            }
            bytes += u64::from(packet.wire);
            one.next.push_back(packet);
            // Only data packets form bursts.
            if costs.burst == 0 || !packet.is_data() {
                break;
            }
        }
        if !one.next.is_empty() {
            // A burst costs as much as one packet: that is the point of TSO.
            let done = work.done(host, now, work.costs.packet);
            self.ports.links.queue.push(done.0, rank::of_work(PREPARED | host), PREPARED | host, 0);
        }
    }

    /// Puts the next packet on the wire if it is free and one is there; a burst that begins makes room for another.
    fn go_on_sending(&mut self, host: u32) {
        let Some(work) = &mut self.work else { return };
        let one = &mut work.hosts[host as usize];
        if one.sends {
            return;
        }
        let begins = one.leaving.is_empty() && one.is_prepared;
        if begins {
            std::mem::swap(&mut one.leaving, &mut one.next);
            one.is_prepared = false;
        }
        let port = &mut self.ports.egress[host as usize].port;
        let free_at = if port.is_down() || port.free_at() <= self.now {
            let Some(packet) = one.leaving.pop_front() else { return };
            self.send_now(host, packet)
        } else {
            port.free_at()
        };
        if let Some(work) = &mut self.work {
            work.hosts[host as usize].sends = true;
        }
        self.ports.links.queue.push(free_at.0, rank::of_work(SENT | host), SENT | host, 0);
        // The next burst is prepared while this one leaves, so that processor and wire work at the same time.
        if begins {
            self.prepare(host);
            self.arm(host);
        }
    }

    /// Sends a packet over a wire that is free, or loses it to a link that is down. Returns the time at which that
    /// ends.
    fn send_now(&mut self, host: u32, packet: Packet) -> Time {
        let echo = self.work.as_mut().and_then(|work| work.hosts[host as usize].echoes.pop_front());
        if let (Some(echo), Some(stamping)) = (echo, &mut self.ports.links.stamping) {
            stamping.take_along(echo);
        }
        if !self.ports.egress[host as usize].port.is_down() {
            let handle = self.ports.links.pool.insert(packet);
            self.ports.send(host, handle, self.now, false);
            return self.ports.egress[host as usize].port.free_at();
        }
        let takes = self.ports.egress[host as usize].port.refuse(&packet);
        if let Some(attribution) = &mut self.ports.links.attribution {
            attribution.refused(host, self.now + takes);
        }
        self.ports.links.dropped.note(packet.tag, packet.is_data());
        if packet.is_data() {
            self.flows[packet.tag as usize].drop_one();
        }
        self.now + takes
    }

    /// True if messages wait for processors.
    fn messages_cost(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.costs.message > Time::ZERO)
    }

    /// A flow begins: its message waits for the processor of its sender. `false` where that takes no time.
    pub(super) fn waits_to_open(&mut self, flow: u32) -> bool {
        if !self.messages_cost() {
            return false;
        }
        let src = self.flow(flow).src;
        let Some(work) = &mut self.work else { return false };
        let done = work.done(src, self.now, work.costs.message);
        self.ports.links.queue.push(done.0, rank::of_opening(flow), OPENED | src, flow);
        true
    }

    /// All bytes of a flow are there: its message waits for the processor of its receiver. `false` where that takes no
    /// time.
    pub(super) fn waits_to_be_handed_out(&mut self, flow: u32) -> bool {
        if !self.messages_cost() {
            return false;
        }
        let dst = self.flow(flow).dst;
        let Some(work) = &mut self.work else { return false };
        let done = work.done(dst, self.now, work.costs.message);
        work.handing_out.insert(flow);
        self.ports.links.queue.push(done.0, rank::of_work(HANDED_OUT | dst), HANDED_OUT | dst, flow);
        true
    }

    /// True if all bytes of a flow are there and only its receiver's processor is not done.
    pub(super) fn is_handing_out(&self, flow: u32) -> bool {
        self.work.as_ref().is_some_and(|work| work.handing_out.contains(&flow))
    }

    fn handed_out(&mut self, flow: u32) {
        if let Some(work) = &mut self.work {
            work.handing_out.remove(&flow);
        }
        self.finish_flow(flow);
    }
}

#[cfg(test)]
mod tests;
