//! The messages of a job, and which wait for which.

use super::super::Making;
use headway_network::{Cause, GraphStep, Node, Until};
use headway_units::Time;

/// A message between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Send {
    /// Messages of one round go at about the same time.
    pub(crate) round: u32,
    /// Rank that sends.
    pub(crate) src: u32,
    /// Rank that receives.
    pub(crate) dst: u32,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

/// One iteration of a collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    sends: Vec<Send>,
    waits: Vec<(u32, u32, Until)>,
}

impl Schedule {
    /// Adds a message, and returns its number.
    pub(crate) fn send(&mut self, round: u32, src: u32, dst: u32, bytes: u64) -> u32 {
        self.sends.push(Send { round, src, dst, bytes });
        self.sends.len() as u32 - 1
    }

    /// A message begins when its sender has received another.
    pub(crate) fn after(&mut self, send: u32, received: u32) {
        debug_assert_eq!(
            self.sends[received as usize].dst, self.sends[send as usize].src,
            "hears of it without a packet"
        );
        self.waits.push((send, received, Until::Received));
    }

    /// A message begins when its sender knows that another of its own has arrived.
    pub(crate) fn after_own(&mut self, send: u32, own: u32) {
        debug_assert_eq!(
            self.sends[own as usize].src, self.sends[send as usize].src,
            "hears of it without a packet"
        );
        self.waits.push((send, own, Until::Known));
    }

    /// All messages of the schedule.
    pub(crate) fn sends(&self) -> &[Send] {
        &self.sends
    }

    /// Dependencies: the waiting message, the other one, and the event of it.
    pub(crate) fn waits(&self) -> &[(u32, u32, Until)] {
        &self.waits
    }

    fn rounds(&self) -> u32 {
        self.sends.iter().map(|send| send.round + 1).max().unwrap_or(0)
    }

    /// Adds the flows of all iterations. A rank begins an iteration when it has received everything of the one before,
    /// or, where it receives nothing, when it knows that what it sent has arrived; and `compute` later.
    pub(crate) fn generate(
        &self,
        hosts: &[u32],
        start: Time,
        repeat: u64,
        compute: Time,
        making: &mut Making<'_>,
    ) {
        let (common, rounds) = (making.common, self.rounds());
        let mut begin: Vec<u32> = Vec::new();
        for iteration in 0..repeat {
            let mut first = 0;
            for (index, send) in self.sends.iter().enumerate() {
                making.round = Some(iteration as u32 * rounds + send.round);
                let (src, dst) = (hosts[send.src as usize], hosts[send.dst as usize]);
                let number = making.push(common.flow(src, dst, send.bytes, Time::ZERO, index));
                if index == 0 {
                    first = number;
                }
                if let Some(step) = begin.get(send.src as usize) {
                    making.wait(Node::Flow(number), Cause::Step(*step));
                }
            }
            let mut waits = vec![iteration > 0; self.sends.len()];
            for &(send, cause, until) in &self.waits {
                waits[send as usize] = true;
                making.wait(Node::Flow(first + send), Cause::Flow(first + cause, until));
            }
            (0..)
                .zip(&waits)
                .filter(|(_, waits)| !**waits)
                .for_each(|(send, _)| making.set_start(first + send, start));
            if iteration + 1 < repeat {
                begin = between(hosts, compute, &self.lasts(hosts.len(), first), making);
            }
        }
        making.round = None;
    }

    /// Events that each rank waits for before it is done with an iteration whose first message has this number.
    pub(crate) fn lasts(&self, ranks: usize, first: u32) -> Vec<Vec<Cause>> {
        let mut lasts = vec![Vec::new(); ranks];
        for (number, send) in (first..).zip(&self.sends) {
            lasts[send.dst as usize].push(Cause::Flow(number, Until::Received));
        }
        let silent: Vec<bool> = lasts.iter().map(Vec::is_empty).collect();
        for (number, send) in (first..).zip(&self.sends).filter(|(_, send)| silent[send.src as usize]) {
            lasts[send.src as usize].push(Cause::Flow(number, Until::Known));
        }
        lasts
    }
}

/// A step at each rank that begins when its causes are over.
pub(crate) fn between(
    hosts: &[u32],
    takes: Time,
    causes: &[Vec<Cause>],
    making: &mut Making<'_>,
) -> Vec<u32> {
    let one = |(host, causes): (&u32, &Vec<Cause>)| {
        let step = making.step(GraphStep { host: Some(*host), takes, ..GraphStep::default() }, None);
        causes.iter().for_each(|cause| making.wait(Node::Step(step), *cause));
        step
    };
    hosts.iter().zip(causes).map(one).collect()
}
