//! Choice of the requests that are given channels: the smallest first in the first rounds, random later. dcPIM §3.3

use headway_packet::HostId;
use headway_primitives::mix;
use headway_units::Time;

/// A host that asks for channels, or offers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bid {
    pub(super) peer: HostId,
    /// The message that it is for, and its handle.
    pub(super) message: u32,
    pub(super) tag: u32,
    pub(super) epoch: u64,
    pub(super) round: u64,
    /// Packets of that message to come.
    pub(super) packets: u32,
    /// Start of the message, as far as this host knows.
    pub(super) began: Time,
    pub(super) channels: u32,
    /// Of these, those that may be used, or are wanted, at once.
    pub(super) prompt: u32,
}

/// Places of a packet's round number.
const ROUNDS: u64 = 100;

/// Epoch and round in one number.
pub(super) fn round_number((epoch, round): (u64, u64)) -> u64 {
    epoch.saturating_mul(ROUNDS).saturating_add(round)
}

/// Epoch and round of a number, the inverse of the above.
pub(super) fn epoch_and_round(number: u64) -> (u64, u64) {
    (number / ROUNDS, number % ROUNDS)
}

/// Puts bids into the order in which they are served in a round; those that are equal in all keep the order in which they came.
pub(super) fn sort_bids(bids: &mut [Bid], host: HostId, (epoch, round): (u64, u64), smallest: bool) {
    if smallest {
        // A stable sort: bids that are equal in both stay in the order in which they came.
        bids.sort_by_key(|bid| (bid.packets, bid.began));
    } else {
        // A hash in place of a generator: the choice depends on host, epoch and round alone, so that runs repeat.
        let salt = mix(mix(u64::from(host.0) << 32 ^ round) ^ epoch);
        bids.sort_unstable_by_key(|bid| (mix(salt ^ u64::from(bid.peer.0)), bid.peer.0));
    }
}

/// Replaces the bid of the same host, or adds one.
pub(super) fn put_bid(bids: &mut Vec<Bid>, bid: Bid) {
    // Only the latest bid of a host counts: in a round it asks for its smallest message alone.
    bids.retain(|known| known.peer != bid.peer);
    bids.push(bid);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_bids() -> Vec<Bid> {
        let bid = |peer| Bid {
            peer: HostId(peer),
            message: 0,
            tag: 0,
            epoch: 1,
            round: 1,
            packets: 100 - peer % 5,
            began: Time::us(50 - u64::from(peer) / 5),
            channels: 4,
            prompt: 0,
        };
        (0..20).map(bid).collect()
    }

    #[test]
    fn the_smallest_and_the_earliest_come_first_or_all_by_lot() {
        let mut smallest = test_bids();
        sort_bids(&mut smallest, HostId(3), (1, 1), true);
        assert_eq!(smallest.iter().map(|bid| bid.peer.0).take(5).collect::<Vec<_>>(), [19, 14, 9, 4, 18]);
        smallest.iter_mut().for_each(|bid| (bid.packets, bid.began) = (7, Time::ZERO));
        let came = smallest.clone();
        sort_bids(&mut smallest, HostId(3), (1, 1), true);
        assert_eq!(smallest, came, "equal bids are served as they came");
        let by_lot = |host, round| {
            let mut all = test_bids();
            sort_bids(&mut all, HostId(host), round, false);
            all.iter().map(|bid| bid.peer.0).collect::<Vec<_>>()
        };
        assert_eq!(by_lot(3, (1, 2)), by_lot(3, (1, 2)));
        assert_ne!(by_lot(3, (1, 2)), by_lot(3, (1, 3)));
        assert_ne!(by_lot(3, (1, 2)), by_lot(4, (1, 2)));
        assert_ne!(by_lot(3, (1, 2)), by_lot(3, (2, 2)));
        let mut firsts = [0u32; 20];
        (0..2000).for_each(|epoch| firsts[by_lot(3, (epoch, 2))[0] as usize] += 1);
        assert!(firsts.iter().all(|&n| (60..150).contains(&n)), "everybody comes first as often: {firsts:?}");
    }

    #[test]
    fn epoch_and_round_are_one_number() {
        assert_eq!(epoch_and_round(round_number((12_345, 16))), (12_345, 16));
        let mut all = test_bids();
        let seventh = all[7];
        put_bid(&mut all, Bid { channels: 1, ..seventh });
        assert_eq!((all.len(), all[19].peer, all[19].channels), (20, HostId(7), 1));
    }
}
