//! The messages of one direction of a host, by peer and number.

use crate::endpoint::Gone;
use headway_packet::HostId;
use rustc_hash::FxHashMap;
use slotmap::{DefaultKey, SlotMap};
use std::ops::{Index, IndexMut};

/// A message at one of its ends: the other end, and its number.
pub type MessageId = (HostId, u32);

/// State that a host keeps for each message that it sends, or for each that it receives.
///
/// Packets name a message by peer and number; queues within a machine name it by key, which costs no search. A
/// key of a message that is gone finds nothing, even where another has taken its place.
#[derive(Debug)]
pub(crate) struct Messages<V> {
    entries: SlotMap<DefaultKey, V>,
    keys: FxHashMap<MessageId, DefaultKey>,
    /// Result of the last search: most packets are about the same message as the one before.
    recent: Option<(MessageId, DefaultKey)>,
}

impl<V> Default for Messages<V> {
    fn default() -> Self {
        Messages { entries: SlotMap::new(), keys: FxHashMap::default(), recent: None }
    }
}

impl<V> Messages<V> {
    /// Adds a message; an older one with the same name can no longer be found by that name.
    pub(crate) fn insert(&mut self, id: MessageId, entry: V) -> DefaultKey {
        let key = self.entries.insert(entry);
        self.keys.insert(id, key);
        self.recent = Some((id, key));
        key
    }

    /// The key of a message, if there is one of that name.
    #[inline]
    pub(crate) fn find_key(&mut self, id: MessageId) -> Option<DefaultKey> {
        match self.recent {
            Some((recent, key)) if recent == id => Some(key),
            _ => self.search_key(id),
        }
    }

    // Out of line, so that callers inline no more than the comparison of `find_key`.
    fn search_key(&mut self, id: MessageId) -> Option<DefaultKey> {
        let key = *self.keys.get(&id)?;
        self.recent = Some((id, key));
        Some(key)
    }

    /// The entry of a message, if there is one of that name.
    #[inline]
    pub(crate) fn named_mut(&mut self, id: MessageId) -> Option<&mut V> {
        let key = self.find_key(id)?;
        self.entries.get_mut(key)
    }

    /// The entry of a message, if there is one of that name; leaves the cache as it is.
    pub(crate) fn named_now(&self, id: MessageId) -> Option<&V> {
        // Probes read through a shared reference, so that `recent` cannot be updated.
        self.entries.get(*self.keys.get(&id)?)
    }

    /// The entry behind a key, if the message is still there.
    #[inline]
    pub(crate) fn get(&self, key: DefaultKey) -> Option<&V> {
        self.entries.get(key)
    }

    /// The entry behind a key, to change it, if the message is still there.
    #[inline]
    pub(crate) fn get_mut(&mut self, key: DefaultKey) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    /// True if the message behind a key still exists.
    #[inline]
    pub(crate) fn contains_key(&self, key: DefaultKey) -> bool {
        self.entries.contains_key(key)
    }

    /// The entry found last, if it has that name or none is given; asked for without being read.
    #[inline]
    #[allow(unsafe_code, reason = "the checked way reads what is to be fetched")]
    pub(crate) fn recent_entry(&self, id: Option<MessageId>) -> Option<&V> {
        let (_, key) = self.recent.filter(|recent| id.is_none_or(|id| id == recent.0))?;
        debug_assert!(self.entries.contains_key(key));
        // SAFETY: `recent` is `None` from the removal of any entry until one is found again, so its key is valid.
        Some(unsafe { self.entries.get_unchecked(key) })
    }

    /// Takes a message out.
    pub(crate) fn remove(&mut self, id: MessageId) -> Option<V> {
        let key = self.keys.remove(&id)?;
        // Even if `recent` names another message: the unchecked access in `recent` relies on this line alone.
        self.recent = None;
        self.entries.remove(key)
    }

    /// Takes out all messages of a peer, or one.
    pub(crate) fn forget_gone(&mut self, gone: Gone) -> Vec<V> {
        if let Gone::Message(peer, number) = gone {
            return self.remove((peer, number)).into_iter().collect();
        }
        self.covered_ids(gone).into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// The names of all messages of a peer, or of one, in their order.
    pub(crate) fn covered_ids(&self, gone: Gone) -> Vec<MessageId> {
        covered_by(&self.keys, gone)
    }

    /// All entries, in no particular order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values()
    }

    /// True if it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of messages.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// See [`Messages::covered_ids`]. It does not depend on the kept type, so that it is compiled once.
fn covered_by(keys: &FxHashMap<MessageId, DefaultKey>, gone: Gone) -> Vec<MessageId> {
    let mut ids: Vec<MessageId> = keys.keys().copied().filter(|id| gone.covers_message(*id)).collect();
    // The order of a hash map must not show in a run, which has to be the same each time.
    ids.sort_unstable();
    ids
}

impl<V> Index<DefaultKey> for Messages<V> {
    type Output = V;

    #[inline]
    fn index(&self, key: DefaultKey) -> &V {
        &self.entries[key]
    }
}

impl<V> IndexMut<DefaultKey> for Messages<V> {
    #[inline]
    fn index_mut(&mut self, key: DefaultKey) -> &mut V {
        &mut self.entries[key]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MessageId = (HostId(1), 7);
    const B: MessageId = (HostId(2), 7);

    #[test]
    fn a_name_and_a_key_find_the_same_message_until_it_is_taken_out() {
        let mut messages = Messages::default();
        let (a, b) = (messages.insert(A, 'a'), messages.insert(B, 'b'));
        for _ in 0..2 {
            assert_eq!((messages.find_key(A), messages.find_key(B)), (Some(a), Some(b)));
        }
        assert_eq!(messages.recent_entry(None), Some(&'b'));
        assert_eq!(messages.recent_entry(Some(A)), None, "another was found last");
        assert_eq!(messages.remove(B), Some('b'));
        assert_eq!(messages.recent_entry(None), None);
        assert_eq!(messages.find_key(B), None);
        assert!(!messages.contains_key(b) && messages.get(b).is_none());
        let again = messages.insert(B, 'c');
        assert!(messages.get(b).is_none(), "its place is taken, but the old key is another");
        assert_eq!((messages[again], messages.len()), ('c', 2));
    }

    #[test]
    fn a_peer_is_forgotten_with_all_its_messages_in_their_order() {
        let mut messages = Messages::default();
        for number in [3, 1, 2] {
            messages.insert((HostId(1), number), number);
            messages.insert((HostId(2), number), 10 * number);
        }
        assert_eq!(messages.forget_gone(Gone::Peer(HostId(1))), [1, 2, 3]);
        assert_eq!(messages.find_key((HostId(1), 2)), None);
        assert_eq!(messages.values().sum::<u32>(), 60);
        assert_eq!(messages.named_mut((HostId(2), 3)), Some(&mut 30));
        assert_eq!(messages.forget_gone(Gone::Message(HostId(2), 3)), [30]);
        assert_eq!((messages.len(), messages.forget_gone(Gone::Message(HostId(2), 3)).len()), (2, 0));
    }
}
