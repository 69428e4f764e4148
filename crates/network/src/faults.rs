//! What goes wrong on links, as it is asked for.

use crate::link::LinkChoice;
use headway_packet::PacketKind;
use headway_units::{Rate, Time};

/// What goes wrong, where, and with which packets.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// On which links; `All` includes those that leave a host.
    pub links: LinkChoice,
    /// To packets of which kind; `None` for every kind.
    pub kind: Option<PacketKind>,
    /// What.
    pub what: Fault,
}

/// What goes wrong.
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
        /// How late.
        reorder_by: Time,
    },
    /// The link is a black hole: every packet is lost whose last bit leaves at or after `from` and before `until`. Its port
    /// goes on sending.
    Blackhole {
        /// From when on.
        from: Time,
        /// Until when.
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
    /// From when on.
    pub at: Time,
    /// Until when; `Time::MAX` for ever.
    pub until: Time,
    /// How long after each routes take it into account; `Time::MAX` never.
    pub converge: Time,
}

/// Links whose rate or delay changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From when on.
    pub at: Time,
    /// Until when, and what was before holds again; `Time::MAX` for as long as nothing else is said.
    pub until: Time,
    /// The rate then.
    pub rate: Option<Rate>,
    /// The one-way delay then.
    pub delay: Option<Time>,
}
