//! Links that go down, come up, and change: the actions of the engine when the time comes.
//!
//! An event of its own kind, [`CHANGE`], comes for each such instant, before all else that happens in it. It brings the
//! ports concerned up to date and tells them. A run in which nothing changes has none.

use crate::links::CHANGE;
use crate::ports::Ports;
use crate::rank;
use headway_network::Step;
use headway_units::{Rate, Time};

impl Ports<'_> {
    /// Plans all changes ahead.
    pub(crate) fn expect_changes(&mut self) {
        let Some(changes) = self.links.changes() else { return };
        // Ports are served by the time at which their first packet could reach the far end: at the shortest delay.
        let least = changes.least_delays();
        for number in self.own.iter() {
            self.egress[*number as usize].delay = least[*number as usize];
        }
        let instants: Vec<Time> = changes.instants().iter().map(|instant| instant.at).collect();
        for (number, at) in instants.into_iter().enumerate() {
            self.links.queue.push(at.0, rank::of_change(number as u32), CHANGE | number as u32, 0);
        }
    }

    /// The instant of this number has come. Returns the hosts that have their link back.
    #[cold]
    pub(crate) fn change(&mut self, number: u32, now: Time, seed: u64) -> Vec<u32> {
        // Packets that start in this instant start after the change, and earlier ones before it.
        if let Some(before) = now.0.checked_sub(1) {
            for link in self.links.concerned(number) {
                // Links below `pulled` have no queue to bring up to date.
                if link >= self.pulled && self.owns(link) {
                    self.catch_up(link, Time(before));
                }
            }
        }
        let mut back = Vec::new();
        let Some(instant) = self.links.pass(number) else { return back };
        for &(link, step) in &instant.steps {
            if !self.owns(link) {
                continue;
            }
            // Each shard applies the steps of its own ports alone, though the event happens in all.
            match step {
                Step::Down => self.go_down(link, now),
                Step::Up => {
                    self.egress[link as usize].port.bring_up(now);
                    // A machine has to be polled again; queues in switches go on by themselves.
                    back.extend((link < self.hosts).then_some(link));
                }
                Step::Rate(rate) => self.retune(link, rate, now, seed),
                // Packets learn it as they start.
                Step::Delay(_) => {}
            }
        }
        if self.lossless.is_some() {
            self.change_lossless(&instant.steps, now, &mut back);
        }
        back
    }

    fn go_down(&mut self, link: u32, now: Time) {
        let (port, links) = (&mut self.egress[link as usize].port, &mut self.links);
        let mut gone = Vec::new();
        port.take_down(now, &mut links.pool, |handle, _| gone.push(handle));
        // Their room in the switch's memory has to be free before anything else arrives.
        if let Some(guard) = &mut self.lossless {
            guard.free(&gone);
        }
        if let Some(memory) = &mut self.memory {
            memory.free(&gone);
        }
        for handle in gone {
            let packet = links.pool.get(handle);
            links.dropped.note(packet.tag, packet.is_data());
            links.lose(handle);
        }
    }

    fn retune(&mut self, link: u32, rate: Rate, now: Time, seed: u64) {
        // The same rules were made for the rate as written, and the parameters are as valid as they were.
        let Ok((fresh, _)) = self.links.network.discipline_at(link, rate, seed) else { return };
        let port = &mut self.egress[link as usize].port;
        port.retune(now, fresh, rate);
        // At another rate a shaper lets its first packet go at another time than was planned.
        if link >= self.pulled && port.is_shaped() {
            self.watch_shaped(link, now);
        }
    }
}
