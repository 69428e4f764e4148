//! Ports that shape: their packets may have to wait longer than for the wire.
//!
//! An event of its own kind, [`RELEASE`], serves such a port while its wire is free: by when the first packet
//! that is held back could reach the far end. An arrival that goes first moves it.

use super::Ports;
use crate::links::RELEASE;
use crate::rank;
use headway_fabric::Full;
use headway_units::Time;

impl Ports<'_> {
    /// Sends the packets that have left a port that shapes by `now`, in order, each at its own time.
    #[inline(never)]
    pub(crate) fn catch_up_shaped(&mut self, number: u32, now: Time) {
        if self.lossless.is_some() {
            return self.serve(number, now);
        }
        if self.shares_memory(number) {
            return self.serve_from_memory(number, now);
        }
        let next = |ports: &Self| ports.egress[number as usize].port.next_start();
        while let Some(start) = next(self).filter(|start| *start <= now) {
            self.send_at(number, start);
        }
    }

    /// Sends the packet whose turn it is at `start`.
    fn send_at(&mut self, number: u32, start: Time) {
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        if let Some(departure) = egress.port.next(start, &mut links.pool) {
            links.launch(egress.link(number), &egress.port, departure.handle, departure.ends);
        }
    }

    /// A packet arrives at a port that shapes, whose wire may be free although others wait.
    #[inline(never)]
    pub(crate) fn offer_shaped(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        if self.lossless.is_some() {
            return self.offer_lossless(number, handle, now);
        }
        if self.shares_memory(number) {
            return self.offer_to_memory(number, handle, now);
        }
        self.catch_up_shaped(number, now);
        let offered = self.egress[number as usize].port.offer(now, handle, &mut self.links.pool);
        // Waiting packets have left if they could; only the newcomer can start at this instant.
        if self.egress[number as usize].port.next_start().is_some_and(|start| start <= now) {
            self.send_at(number, now);
        }
        self.watch_shaped(number, now);
        offered
    }

    /// Makes sure that a port that shapes is served in time, if something waits there.
    pub(crate) fn watch_shaped(&mut self, number: u32, now: Time) {
        if self.lossless.is_some() {
            return self.watch_lossless(number, now);
        }
        if self.shares_memory(number) {
            return self.watch_memory(number, now);
        }
        let egress = &mut self.egress[number as usize];
        let Some(start) = egress.port.next_start() else { return };
        if egress.port.free_at() > now {
            // A packet that arrives meanwhile may be first to leave, as soon as the wire is free.
            if !egress.armed {
                self.arm(number);
                self.watch_over(number);
            }
            return;
        }
        let at = start + egress.delay;
        let release = &mut self.releases[number as usize];
        // An earlier event serves the port, and makes the next one.
        if at < *release {
            *release = at;
            self.links.queue.push(at.0, rank::of_work(RELEASE | number), RELEASE | number, 0);
            self.watch_over(number);
        }
    }

    /// Event that serves a port whose wire is free but whose packets were held back.
    pub(crate) fn release(&mut self, number: u32, now: Time) {
        if self.releases[number as usize] != now {
            // An earlier one was made after this.
            return;
        }
        self.releases[number as usize] = Time::MAX;
        self.catch_up(number, now);
        self.watch_shaped(number, now);
    }
}
