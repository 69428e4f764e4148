//! Matching of receives and messages.
//!
//! Messages and receives of one sender, receiver, tag and size are counted, and the n-th receive takes the n-th message,
//! in the order of the calls, whichever arrives first.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Label that a message and its receive have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Label {
    /// Ranks of sender and receiver.
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) tag: i64,
    pub(crate) bytes: u64,
}

/// Messages or receives of one label that have no counterpart yet; one of the two lists is empty.
struct Unmatched<M, R> {
    messages: VecDeque<M>,
    receives: VecDeque<R>,
}

/// See the module. `M` stands for a message, `R` for a receive.
pub(crate) struct Matching<M, R> {
    by_label: FxHashMap<Label, Unmatched<M, R>>,
    waiting: u64,
}

impl<M, R> Default for Matching<M, R> {
    fn default() -> Self {
        Matching { by_label: FxHashMap::default(), waiting: 0 }
    }
}

impl<M, R> Matching<M, R> {
    /// A message is sent: the receive that will take it, or else it waits for one.
    pub(crate) fn add_message(&mut self, label: Label, message: M) -> Option<R> {
        // Waiting receives come first: of the two queues one is always empty.
        let unmatched = self.unmatched_for(label);
        let Some(receive) = unmatched.receives.pop_front() else {
            unmatched.messages.push_back(message);
            return None;
        };
        self.waiting -= 1;
        self.tidy_label(label);
        Some(receive)
    }

    /// Adds a receive: returns the message that it takes, or else queues it to wait for one.
    pub(crate) fn add_receive(&mut self, label: Label, receive: R) -> Option<M> {
        let unmatched = self.unmatched_for(label);
        let Some(message) = unmatched.messages.pop_front() else {
            unmatched.receives.push_back(receive);
            self.waiting += 1;
            return None;
        };
        self.tidy_label(label);
        Some(message)
    }

    /// Receives that no message has been sent for.
    pub(crate) fn waiting_receives(&self) -> u64 {
        self.waiting
    }

    /// The least label that receives wait for, and a message of other size or tag between its ranks that no receive takes.
    pub(crate) fn least_waiting(&self) -> Option<(Label, Option<Label>)> {
        let waits = self.by_label.iter().filter(|(_, all)| !all.receives.is_empty()).map(|(label, _)| *label);
        // The least, because the order of a hash map differs from run to run and the text must not.
        let least = waits.min()?;
        // Between the same ranks a different tag or size is the likely mistake.
        let like = |label: &Label| (label.from, label.to) == (least.from, least.to);
        let sent = self.by_label.iter().filter(|(_, all)| !all.messages.is_empty()).map(|(label, _)| *label);
        Some((least, sent.filter(like).min()))
    }

    fn unmatched_for(&mut self, label: Label) -> &mut Unmatched<M, R> {
        let none = || Unmatched { messages: VecDeque::new(), receives: VecDeque::new() };
        self.by_label.entry(label).or_insert_with(none)
    }

    /// Programs use many tags once.
    fn tidy_label(&mut self, label: Label) {
        let over = |all: &Unmatched<M, R>| all.messages.is_empty() && all.receives.is_empty();
        if self.by_label.get(&label).is_some_and(over) {
            self.by_label.remove(&label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Label = Label { from: 0, to: 1, tag: 5, bytes: 100 };

    #[test]
    fn the_nth_receive_takes_the_nth_message_whoever_is_first() {
        let mut matching: Matching<u32, char> = Matching::default();
        assert_eq!(matching.add_message(LABEL, 1), None);
        assert_eq!(matching.add_message(LABEL, 2), None);
        assert_eq!(matching.add_receive(LABEL, 'a'), Some(1));
        assert_eq!(matching.add_receive(LABEL, 'b'), Some(2));
        assert_eq!(matching.add_receive(LABEL, 'c'), None);
        assert_eq!(matching.add_receive(LABEL, 'd'), None);
        assert_eq!(matching.waiting_receives(), 2);
        assert_eq!(matching.add_message(LABEL, 3), Some('c'));
        assert_eq!(matching.add_message(LABEL, 4), Some('d'));
        assert_eq!((matching.waiting_receives(), matching.by_label.len()), (0, 0));
    }

    #[test]
    fn other_tags_and_sizes_do_not_match_and_are_named() {
        let mut matching: Matching<u32, char> = Matching::default();
        let other = Label { bytes: 200, ..LABEL };
        assert_eq!(matching.add_receive(LABEL, 'a'), None);
        assert_eq!(matching.add_receive(Label { tag: 6, ..LABEL }, 'b'), None);
        assert_eq!(matching.add_message(other, 1), None);
        assert_eq!(matching.add_message(Label { to: 2, ..other }, 2), None);
        assert_eq!(matching.least_waiting(), Some((LABEL, Some(other))));
    }
}
