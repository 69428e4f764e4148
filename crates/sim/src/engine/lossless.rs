//! Events at hosts and ports of a lossless fabric, and at ports that share the memory of their switch.

use super::{Engine, note_repeated};
use crate::links::AT_PORT;
use crate::ports::lossless::Asks;
use headway_packet::Packet;
use headway_transport::Endpoint;

impl Engine<'_> {
    /// A port may send again.
    #[inline(never)]
    pub(super) fn port_release(&mut self, number: u32) {
        self.ports.release(number, self.now);
        self.ask(number);
    }

    /// Asks the machine of a host whose wire is free, if the port is a host's without a queue.
    fn ask(&mut self, number: u32) {
        // Ports of switches have no machine behind them.
        if number < self.ports.hosts && self.ports.lossless.is_some() {
            self.pull(number);
        }
    }

    /// A packet arrived over this link at a switch that chooses its next port now.
    #[inline(never)]
    pub(super) fn choose(&mut self, link: u32, handle: u32) {
        if link & AT_PORT != 0 {
            return self.forward_to_memory(link & !AT_PORT, handle);
        }
        match self.ports.choose(link, handle, self.now) {
            Some(next) if self.ports.lossless.is_some() => self.forward_lossless(link, next, handle),
            Some(next) if self.ports.memory.is_some() => self.forward_to_memory(next, handle),
            Some(next) => self.forward(next, handle),
            None => self.ports.links.lose_without_route(link, handle),
        }
    }

    /// A packet arrives at a port of a switch whose ports share memory.
    #[inline(never)]
    pub(super) fn forward_to_memory(&mut self, number: u32, handle: u32) {
        if let Err(full) = self.ports.offer_to_memory(number, handle, self.now) {
            self.overflowed(number, full);
        }
    }

    /// A pause frame stops a port, or lets it go on.
    #[cold]
    #[inline(never)]
    pub(super) fn pause_frame(&mut self, number: u32, handle: u32) {
        self.ports.hear(number, handle, self.now);
        self.ask(number);
    }

    /// A packet that came over a link goes on over another, if its switch has room for it.
    pub(super) fn forward_lossless(&mut self, link: u32, next: u32, handle: u32) {
        if !self.ports.admit(link, handle, self.now) {
            let packet = *self.ports.links.pool.get(handle);
            // Only a lost pause frame can let a packet arrive at a full switch: otherwise headroom was too small.
            let by_fault =
                // Counted apart if a fault kept the pause from its sender.
                self.ports.lossless.as_ref().is_some_and(|guard| guard.could_not_stop(link, &packet));
            self.ports.egress[next as usize].port.refuse_for_headroom(&packet, by_fault);
            self.ports.links.dropped.note(packet.tag, packet.is_data());
            if packet.is_data() {
                self.flows[packet.tag as usize].drop_one();
            }
            return self.ports.links.pool.release(handle);
        }
        self.queue_lossless(next, handle);
    }

    /// A packet waits at a port, or leaves it, as far as its class may. Whatever the wire does, the port has to know
    /// the first packet of each queue: a pause that found the queue empty holds it from now on.
    pub(super) fn queue_lossless(&mut self, number: u32, handle: u32) {
        if let Err(full) = self.ports.offer_lossless(number, handle, self.now) {
            self.overflowed(number, full);
        }
    }

    /// Asks a machine for a packet that its host may send.
    fn poll(&mut self, host: u32) -> Option<Packet> {
        let endpoint = &mut self.hosts[host as usize].endpoint;
        match self.ports.asks(host) {
            Asks::All => endpoint.poll_transmit(self.now),
            Asks::Control => endpoint.poll_control(self.now),
            Asks::Nothing => None,
        }
    }

    /// Asks a host for a packet although its link is down.
    #[cold]
    #[inline(never)]
    fn pull_in_the_dark(&mut self, host: u32) {
        let Some(packet) = self.poll(host) else { return };
        self.ports.refuse_lossless(host, &packet, self.now);
        if packet.is_data() {
            self.flows[packet.tag as usize].drop_one();
        }
        note_repeated(&self.flows, &packet);
    }

    /// Asks a host for packets as long as its wire is free: for control alone while its data is stopped.
    pub(super) fn pull_unless_stopped(&mut self, host: u32) {
        if let Some(free) = self.ports.is_dark(host) {
            if free {
                self.pull_in_the_dark(host);
            }
            return;
        }
        while self.ports.is_free(host, self.now) {
            // A packet that was kept back is older than any that the machine gives now.
            if self.ports.send_kept(host, self.now) {
                continue;
            }
            let Some(packet) = self.poll(host) else { return };
            let machine = &mut self.hosts[host as usize];
            let echo = machine.reads_stamps.then(|| machine.endpoint.poll_echo());
            note_repeated(&self.flows, &packet);
            self.ports.send_or_keep(host, (packet, echo), self.now);
        }
        if self.ports.keeps(host) || self.hosts[host as usize].endpoint.wants_transmit() {
            self.ports.wake(host);
        }
    }
}
