//! The pull queue: one for all messages of a host's link, paced so that the pulled data fills the link.

use super::{NdpParams, PullOrder};
use crate::messages::MessageId;
use headway_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Messages in the order of their turns to be pulled; each message counts its waiting pulls itself. NDP §3.2
pub(super) struct PullQueue {
    order: PullOrder,
    /// Messages with pulls waiting, each once, by class; without entries for classes that have none.
    turns: BTreeMap<u32, VecDeque<MessageId>>,
    spacing: Time,
    last: Option<Time>,
    /// A deadline for the next pull is armed.
    pub(super) armed: bool,
}

impl PullQueue {
    /// For a link on which a full packet takes `slot`.
    pub(super) fn new(params: &NdpParams, slot: Time) -> PullQueue {
        // Integers from here on, so that each pull is due at an exact time; rounded to the nearest thousandth.
        let thousandths = (params.pull_rate * 1000.0 + 0.5) as u64;
        let spacing = Time((u128::from(slot.0) * 1000 / u128::from(thousandths.max(1))) as u64);
        PullQueue { order: params.pull_order, turns: BTreeMap::new(), spacing, last: None, armed: false }
    }

    /// Earliest time at which the next pull may leave.
    pub(super) fn next(&self) -> Time {
        self.last.map_or(Time::ZERO, |last| last.saturating_add(self.spacing))
    }

    /// True if a pull need not wait.
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.turns.is_empty() && self.next() <= now
    }

    /// Notes that a pull leaves.
    pub(super) fn mark_sent(&mut self, now: Time) {
        self.last = Some(now);
    }

    /// Puts a message in line behind the others of its class.
    pub(super) fn push(&mut self, class: u32, key: MessageId) {
        let class = if self.order == PullOrder::Fair { 0 } else { class };
        self.turns.entry(class).or_default().push_back(key);
    }

    /// The message whose turn it is.
    pub(super) fn pop(&mut self) -> Option<MessageId> {
        let mut first = self.turns.first_entry()?;
        let key = first.get_mut().pop_front();
        // `is_empty` looks at the map alone.
        if first.get().is_empty() {
            first.remove();
        }
        key
    }

    /// True if no message waits.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// A message has all that it needs, or its sender is gone.
    pub(super) fn remove_messages(&mut self, keep: impl Fn(&MessageId) -> bool) {
        self.turns.retain(|_, line| {
            line.retain(&keep);
            !line.is_empty()
        });
    }
}
