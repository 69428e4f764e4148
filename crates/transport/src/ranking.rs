//! The messages of a receiver that are not granted in full, by the rule that chooses the next one to grant.

use headway_packet::HostId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A message: its sender and its number.
pub(crate) type Key = (HostId, u32);

/// Packets still to be received, and order of arrival for ties.
type Rank = (u32, u64);

/// Messages by fewest packets to receive, of each sender only its best. Homa §3.5
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    /// The best message of each sender.
    heads: BTreeSet<(Rank, Key)>,
    /// All messages of a sender.
    senders: FxHashMap<HostId, BTreeSet<(Rank, u32)>>,
    /// All messages, the oldest first.
    ages: BTreeMap<u64, Key>,
}

impl Ranking {
    /// Adds a message, or the rest of one.
    pub(crate) fn insert(&mut self, (peer, id): Key, rank: Rank) {
        let own = self.senders.entry(peer).or_default();
        let before = own.first().copied();
        own.insert((rank, id));
        // Arrival numbers are never given twice, so that each is the key of one message.
        self.ages.insert(rank.1, (peer, id));
        self.update_head(peer, before);
    }

    /// Takes a message out that was added with this rank.
    pub(crate) fn remove(&mut self, (peer, id): Key, rank: Rank) {
        let Some(own) = self.senders.get_mut(&peer) else { return };
        let before = own.first().copied();
        own.remove(&(rank, id));
        self.ages.remove(&rank.1);
        self.update_head(peer, before);
    }

    /// The set of a sender whose best message was `before` has changed.
    fn update_head(&mut self, peer: HostId, before: Option<(Rank, u32)>) {
        let after = self.senders.get(&peer).and_then(|own| own.first().copied());
        // Most changes are behind the best message, and leave the tree of all senders alone.
        if before == after {
            return;
        }
        if let Some((rank, id)) = before {
            self.heads.remove(&(rank, (peer, id)));
        }
        match after {
            Some((rank, id)) => {
                self.heads.insert((rank, (peer, id)));
            }
            None => {
                // An empty set for each sender ever heard of would add up.
                self.senders.remove(&peer);
            }
        }
    }

    /// The first messages, one of each sender.
    pub(crate) fn first_messages(&self, most: usize) -> impl Iterator<Item = Key> {
        self.heads.iter().take(most).map(|(_, key)| *key)
    }

    /// The message that came first.
    pub(crate) fn oldest_message(&self) -> Option<Key> {
        self.ages.values().next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_has_one_place_and_its_best_message_takes_it() {
        let (a, b) = (HostId(1), HostId(2));
        let mut ranking = Ranking::default();
        ranking.insert((a, 0), (50, 0));
        ranking.insert((a, 1), (20, 1));
        ranking.insert((b, 0), (30, 2));
        ranking.insert((b, 1), (30, 3));
        assert_eq!(
            ranking.first_messages(5).collect::<Vec<_>>(),
            [(a, 1), (b, 0)],
            "ties in order of arrival"
        );
        assert_eq!(ranking.first_messages(1).collect::<Vec<_>>(), [(a, 1)]);
        ranking.remove((a, 1), (20, 1));
        assert_eq!(ranking.first_messages(5).collect::<Vec<_>>(), [(b, 0), (a, 0)]);
        assert_eq!(ranking.oldest_message(), Some((a, 0)));
        ranking.remove((a, 0), (50, 0));
        ranking.remove((b, 0), (30, 2));
        ranking.remove((b, 1), (30, 3));
        assert_eq!(
            (ranking.first_messages(5).count(), ranking.oldest_message(), ranking.senders.len()),
            (0, None, 0)
        );
    }
}
