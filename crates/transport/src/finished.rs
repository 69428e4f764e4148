//! Numbers of finished messages, remembered for ever in little space.

use crate::endpoint::Gone;
use headway_packet::HostId;
use rustc_hash::FxHashMap;

/// Numbers of finished messages per peer. Message numbers of a pair of hosts are consecutive, so a
/// watermark and the few numbers above it are enough: a late duplicate can never open a message again.
#[derive(Clone, Debug, Default)]
pub struct FinishedMessages {
    peers: FxHashMap<HostId, Peer>,
}

#[derive(Clone, Debug, Default)]
struct Peer {
    /// All numbers below are finished.
    below: u32,
    /// Finished numbers at or above `below`, sorted.
    above: Vec<u32>,
}

impl FinishedMessages {
    /// Remembers that message `id` of `peer` has finished.
    pub fn insert(&mut self, peer: HostId, id: u32) {
        let known = self.peers.entry(peer).or_default();
        if id < known.below {
            return;
        }
        if let Err(place) = known.above.binary_search(&id) {
            known.above.insert(place, id);
        }
        // Numbers are consecutive, so that every gap closes in time and `above` stays short.
        let run = (known.below..).zip(&known.above).take_while(|(want, have)| want == *have).count();
        known.above.drain(..run);
        known.below += run as u32;
    }

    /// Forgets a peer whose messages will count from 0 again, or remembers a message that is over.
    pub fn forget_gone(&mut self, gone: Gone) {
        match gone {
            // Kept, the old numbers would make the peer's next message 0 look like a late duplicate.
            Gone::Peer(peer) => drop(self.peers.remove(&peer)),
            Gone::Message(peer, id) => self.insert(peer, id),
        }
    }

    /// All messages of `peer` with smaller numbers have finished.
    pub fn finished_below(&self, peer: HostId) -> u32 {
        self.peers.get(&peer).map_or(0, |p| p.below)
    }

    /// True if message `id` of `peer` has finished.
    pub fn contains(&self, peer: HostId, id: u32) -> bool {
        self.peers.get(&peer).is_some_and(|p| id < p.below || p.above.binary_search(&id).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_numbers_collapse_into_the_watermark() {
        let peer = HostId(7);
        let mut finished = FinishedMessages::default();
        for id in [1, 2, 4, 0] {
            assert!(!finished.contains(peer, id));
            finished.insert(peer, id);
            assert!(finished.contains(peer, id));
        }
        assert_eq!((finished.finished_below(peer), finished.finished_below(HostId(8))), (3, 0));
        assert_eq!(finished.peers[&peer].above, [4]);
        assert!(!finished.contains(peer, 3) && !finished.contains(HostId(8), 0));
        finished.forget_gone(Gone::Peer(peer));
        assert!(!finished.contains(peer, 0));
    }
}
