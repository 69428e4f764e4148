//! Faults on links, as a scenario specifies them.

use crate::link::LinkChoice;
use headway_packet::PacketKind;
use headway_units::{Rate, Time};

/// A fault, with its links and the kind of its packets.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// On which links; `All` includes those that leave a host.
    pub links: LinkChoice,
    /// Kind of the packets that it meets; `None` for every kind.
    pub kind: Option<PacketKind>,
    /// The fault itself.
    pub what: Fault,
}

impl FaultSpec {
    /// True if it changes something after `now`: a link comes up or goes down, routes follow, a rate changes.
    pub fn changes_after(&self, now: Time) -> bool {
        let later = |times: &[Time]| times.iter().any(|at| *at > now && *at < Time::MAX);
        match &self.what {
            Fault::DropNth(_) | Fault::Random { .. } => false,
            Fault::Blackhole { from, until } => later(&[*from, *until]),
            Fault::Change(Change { at, until, .. }) => later(&[*at, *until]),
            Fault::Down(Down { at, until, converge, .. }) => {
                later(&[*at, *until, at.saturating_add(*converge), until.saturating_add(*converge)])
            }
        }
    }
}

/// Kind of a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// These packets are lost, counted from 1 on each link apart.
    DropNth(Vec<u64>),
    /// Each packet meets one of these, or none: the probabilities add up to at most 1.
    Random {
        /// Probability of loss.
        loss: f64,
        /// Probability that it arrives twice.
        duplicate: f64,
        /// Probability that it arrives late, behind packets that left after it.
        reorder: f64,
        /// Delay of a packet that arrives late.
        reorder_by: Time,
    },
    /// The link is a black hole: every packet is lost whose last bit leaves at or after `from` and before `until`. Its port
    /// goes on sending.
    Blackhole {
        /// Beginning of the span.
        from: Time,
        /// End of the span; `Time::MAX` for ever.
        until: Time,
    },
    /// The links are down, and with them those of whole switches: see [`crate::Changes`].
    Down(Down),
    /// The links have another rate, or another delay: see [`crate::Changes`].
    Change(Change),
}

/// Links that go down and come up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// Switches by name, all of whose links go down, both directions.
    pub switches: Vec<String>,
    /// Instant at which they go down.
    pub at: Time,
    /// Instant at which they are up again; `Time::MAX` never.
    pub until: Time,
    /// Time after each of them until routes change; `Time::MAX` never.
    pub converge: Time,
}

/// Links whose rate or delay changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Instant from which the new values hold.
    pub at: Time,
    /// Instant at which the earlier values hold again; `Time::MAX` until the next change of the link.
    pub until: Time,
    /// New rate; `None` leaves it as it was.
    pub rate: Option<Rate>,
    /// New one-way delay; `None` leaves it as it was.
    pub delay: Option<Time>,
}
