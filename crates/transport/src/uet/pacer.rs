//! Whom a receiver pulls next, and when: pulls are paced so that what they permit fills its link, and no more.

use super::CreditRules;
use super::control::rccc::QUANTUM;
use crate::messages::MessageId;
use headway_units::{Rate, Time};
use std::collections::VecDeque;

/// Messages that wait for a pull, in three lines, and the clock of pulls. What each is owed, the message knows. RCCC §3.2
pub(super) struct Pacer {
    /// Messages with packets to be sent again, where these are counted apart.
    pub(super) again: VecDeque<MessageId>,
    /// Messages that want more.
    pub(super) active: VecDeque<MessageId>,
    /// Messages that have all that they asked for, and may have more while nobody else wants any.
    pub(super) idle: VecDeque<MessageId>,
    /// Time that a quantum takes at the rate of pulls.
    quantum: Time,
    next: Time,
    pub(super) armed: bool,
}

/// Quanta whose time passes after a pull that permits nothing more. RCCC §3.2
const EMPTY_PULL: u64 = 4;

/// Why a message has its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Again,
    Active,
    Idle,
}

impl Pacer {
    pub(super) fn new(rules: Option<&CreditRules>, nic: Rate) -> Pacer {
        let thousandths = rules.map_or(1000, |rules| (rules.pull_rate * 1000.0 + 0.5) as u64).max(1);
        Pacer {
            again: VecDeque::new(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            quantum: Time(nic.time_of(QUANTUM).0 * 1000 / thousandths),
            next: Time::ZERO,
            armed: false,
        }
    }

    /// When the next pull may leave.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// The message whose turn it is, and why.
    pub(super) fn pop(&mut self) -> Option<(MessageId, Line)> {
        if let Some(key) = self.again.pop_front() {
            return Some((key, Line::Again));
        }
        if let Some(key) = self.active.pop_front() {
            return Some((key, Line::Active));
        }
        Some((self.idle.pop_front()?, Line::Idle))
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.again.is_empty() && self.active.is_empty() && self.idle.is_empty()
    }

    /// A pull leaves that permits so many bytes more.
    pub(super) fn left(&mut self, now: Time, bytes: u64) {
        let quanta = if bytes == 0 { EMPTY_PULL } else { bytes.div_ceil(QUANTUM) };
        self.next = now.saturating_add(self.quantum.saturating_mul(quanta));
    }

    /// Takes messages out of all lines.
    pub(super) fn retain(&mut self, keep: impl Fn(&MessageId) -> bool) {
        [&mut self.again, &mut self.active, &mut self.idle].into_iter().for_each(|line| line.retain(&keep));
    }
}
