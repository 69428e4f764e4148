//! Order and times of a receiver's pulls: they are paced so that the packets that they permit fill its link, and no
//! more.

use super::control::rccc::QUANTUM;
use super::control::uplinks::Uplinks;
use super::{LAST_HOP, Settings};
use crate::endpoint::HostContext;
use crate::messages::MessageId;
use crate::shared::scale_time;
use headway_packet::{Ecn, Packet, PacketKind};
use headway_primitives::mix;
use headway_units::Time;
use std::collections::VecDeque;

/// Messages that wait for a pull, in three lines, and the clock of pulls. Each message keeps the bytes it is owed. RCCC §3.2
pub(super) struct Pacer {
    /// Messages with packets to be sent again, where these are counted apart.
    pub(super) again: VecDeque<MessageId>,
    /// Messages that want more.
    pub(super) active: VecDeque<MessageId>,
    /// Messages that have all that they asked for, and may have more while no other message wants any.
    pub(super) idle: VecDeque<MessageId>,
    /// Time that a quantum takes at the rate of pulls.
    quantum: Time,
    next: Time,
    pub(super) armed: bool,
    /// Slows pulls down where the links upwards are too few. RCCC §3.4
    uplinks: Option<Uplinks>,
}

/// Quanta whose time passes after a pull that permits nothing more. RCCC §3.2
const EMPTY_PULL: u64 = 4;

/// Line of messages from which one is pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Again,
    Active,
    Idle,
}

impl Pacer {
    pub(super) fn new(settings: &Settings, context: &HostContext) -> Pacer {
        let (rules, nic) = (settings.credit.as_ref(), context.nic);
        let uplinks = rules.filter(|rules| rules.oversubscription > 1.0).map(|rules| {
            Uplinks::new(
                rules.oversubscription,
                settings.common.base_rtt,
                mix(context.host.0.into()) ^ context.seed,
            )
        });
        // Integers from here on, so that each pull is due at an exact time; rounded to the nearest thousandth.
        let thousandths = rules.map_or(1000, |rules| (rules.pull_rate * 1000.0 + 0.5) as u64).max(1);
        Pacer {
            again: VecDeque::new(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            quantum: Time(nic.time_of(QUANTUM).0 * 1000 / thousandths),
            next: Time::ZERO,
            armed: false,
            uplinks,
        }
    }

    /// Earliest time of the next pull.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Takes the next message to pull, with the line that it stood in.
    pub(super) fn pop(&mut self) -> Option<(MessageId, Line)> {
        if let Some(key) = self.again.pop_front() {
            return Some((key, Line::Again));
        }
        if let Some(key) = self.active.pop_front() {
            return Some((key, Line::Active));
        }
        Some((self.idle.pop_front()?, Line::Idle))
    }

    /// True if no message waits.
    pub(super) fn is_empty(&self) -> bool {
        self.again.is_empty() && self.active.is_empty() && self.idle.is_empty()
    }

    /// A pull leaves that permits `bytes` more.
    pub(super) fn record_pull(&mut self, now: Time, bytes: u64) {
        let quanta = if bytes == 0 { EMPTY_PULL } else { bytes.div_ceil(QUANTUM) };
        let quantum = match &mut self.uplinks {
            // Pulls come less often, and each permits as much as before.
            Some(uplinks) => scale_time(self.quantum, 1.0 / uplinks.pull_share(now)),
            None => self.quantum,
        };
        // From this pull on: time in which nothing was wanted is not made up for.
        self.next = now.saturating_add(quantum.saturating_mul(quanta));
    }

    /// A data packet has arrived, or its header, or a request.
    pub(super) fn note_arrival(&mut self, now: Time, packet: &Packet, base_rtt: impl FnOnce() -> Time) {
        if let Some(uplinks) = &mut self.uplinks {
            uplinks.learn_base_rtt(now, base_rtt);
            let header = packet.kind == PacketKind::Header;
            let trimmed = header.then(|| packet.flags.has_all(LAST_HOP));
            uplinks.note_arrival(now, packet.is_data() && packet.ecn == Ecn::Ce, trimmed);
        }
    }

    /// Takes messages out of all lines.
    pub(super) fn retain_messages(&mut self, keep: impl Fn(&MessageId) -> bool) {
        [&mut self.again, &mut self.active, &mut self.idle].into_iter().for_each(|line| line.retain(&keep));
    }
}
