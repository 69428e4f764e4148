//! The receiving half of SIRD: limits credit, and chooses the messages that get it.

use super::buckets::Buckets;
use super::incoming::{Incoming, ReceiverEvent};
use super::packets::Data;
use super::pair::PairCredit;
use super::{Budget, Policy, Pool, Shared, SirdParams, TimerKey, credit_timeout};
use crate::endpoint::Gone;
use crate::finished::FinishedMessages;
use crate::messages::{MessageId, Messages};
use crate::probes::{self, Sink};
use crate::ranking::Ranking;
use crate::shared::Leaving;
use crate::two_sided::ReceivingHalf;
use headway_packet::{Ecn, HostId, Packet, TypedView};
use headway_units::{Rate, Time};
use rustc_hash::FxHashMap;

/// A sender from its first message on: the next one finds its buckets as the last one left them.
struct Peer {
    buckets: Buckets,
    budget: Budget,
    /// Bytes of credit that it has, and has not answered by data; unscheduled data counts from its announcement on.
    out: u64,
    /// Credit of all its messages, where they have one pool.
    pair: PairCredit,
}

/// All messages that this host receives.
pub struct Receiver {
    params: SirdParams,
    messages: Messages<Incoming>,
    finished: FinishedMessages,
    peers: FxHashMap<HostId, Peer>,
    /// Messages that want credit.
    ranking: Ranking,
    /// Credit out in all, in bytes, and how much may be.
    out: u64,
    limit: u64,
    arrived: u64,
    turns: u32,
    /// Earliest time of the next credit, and true if a deadline for that is armed.
    turn: Time,
    armed: bool,
}

impl Receiver {
    pub(super) fn new(params: SirdParams) -> Receiver {
        Receiver {
            params,
            messages: Messages::default(),
            finished: FinishedMessages::default(),
            peers: FxHashMap::default(),
            ranking: Ranking::default(),
            out: 0,
            limit: 0,
            arrived: 0,
            turns: 0,
            turn: Time::ZERO,
            armed: false,
        }
    }

    /// Makes state for the message that a packet announces.
    pub(super) fn receive_announcement(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(incoming) = self.ensure_known(shared, packet) else { return };
        incoming.watch_credit(shared, (packet.src, packet.message), now);
        self.give_credit(shared, now);
    }

    /// Stores a data packet, counts its marks, and settles the credit that it used.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let sizes = shared.context.sizes;
        let Some(incoming) = self.ensure_known(shared, packet) else { return };
        let Data { index, congested, .. } = Data::from_packet(packet);
        if index >= incoming.packets {
            return;
        }
        let arrived = incoming.store_packet(&sizes, index);
        let whole = incoming.remaining_packets() == 0;
        // In a pool of a pair, a packet that needed credit has been paid for by whichever credit came.
        let paid = if index >= incoming.granted { incoming.wire_bytes(&sizes, index) } else { 0 };
        let share = incoming.share.as_mut().filter(|_| arrived.is_some() && paid > 0);
        let pooled = share.map(|share| {
            share.missing -= 1;
            share.missing_bytes -= paid;
        });
        if let Some(peer) = self.peers.get_mut(&key.0) {
            // Repetitions count as well: their marks say as much about the path.
            peer.buckets.count_packet(packet.ecn == Ecn::Ce, congested > 0);
            peer.pair.heard = now;
        }
        if pooled.is_some() {
            self.with_pair(key.0, |pair| pair.count_answer(paid));
        }
        if let Some(answered) = arrived {
            self.count_answered(key.0, answered);
            shared.report_delivered(packet);
            if whole {
                self.complete_message(shared, key, packet);
            } else {
                self.update_rank(key);
                if let Some(incoming) = self.messages.named_mut(key) {
                    incoming.watch_credit(shared, key, now);
                }
            }
        }
        self.give_credit(shared, now);
    }

    /// Credit has been answered, or was that of a message that is gone.
    fn count_answered(&mut self, peer: HostId, bytes: u64) {
        self.out -= bytes;
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.out -= bytes;
        }
    }

    /// Changes the pool of a pair of hosts, and counts the bytes that are out with it.
    fn with_pair<R>(&mut self, peer: HostId, change: impl FnOnce(&mut PairCredit) -> R) -> Option<R> {
        let peer = self.peers.get_mut(&peer)?;
        let before = peer.pair.bytes;
        let result = change(&mut peer.pair);
        peer.out = peer.out - before + peer.pair.bytes;
        self.out = self.out - before + peer.pair.bytes;
        Some(result)
    }

    /// The state of a message, made if it is new; `None` for one that is over, or makes no sense.
    fn ensure_known(&mut self, shared: &mut Shared, packet: &Packet) -> Option<&mut Incoming> {
        let key = (packet.src, packet.message);
        if let Some(place) = self.messages.find_key(key) {
            return Some(&mut self.messages[place]);
        }
        if self.finished.contains(key.0, key.1) {
            // The sender has not heard that it is done.
            shared.say_finished(packet);
            return None;
        }
        let context = &shared.context;
        // An announcement says this where data packets do.
        let packets =
            u32::try_from(context.sizes.packets_of(Data::from_packet(packet).message_bytes)).ok()?;
        let path = (context.path)(key.0);
        let timeout = credit_timeout(&self.params, &path);
        let waits = (timeout, Leaving::within_timeout(timeout, &path, context));
        self.arrived += 1;
        let order = (self.arrived, self.turns.saturating_mul(2));
        let mut incoming = Incoming::new(packet, packets, order, waits, &context.sizes);
        let out = incoming.out;
        let params = &self.params;
        let peer = self.peers.entry(key.0).or_insert_with(|| {
            let budget = Budget::for_peer(params, context, key.0);
            let buckets = Buckets::new(params, budget.bdp, budget.frame);
            Peer { buckets, budget, out: 0, pair: PairCredit::default() }
        });
        if params.pool == Pool::Pair {
            let share = incoming.join_pair(&context.sizes);
            peer.pair.expect_packets(share.missing, share.missing_bytes);
        }
        peer.out += out;
        // One number for all paths: the largest that is known.
        self.limit = self.limit.max(peer.budget.times_bdp(params.credit).max(peer.budget.frame));
        self.out += out;
        let place = self.messages.insert(key, incoming);
        self.update_rank(key);
        Some(&mut self.messages[place])
    }

    fn complete_message(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        self.drop_message(key);
        self.finished.insert(key.0, key.1);
        shared.report_completed(packet);
        shared.say_finished(packet);
    }

    fn drop_message(&mut self, key: MessageId) {
        let Some(mut incoming) = self.messages.remove(key) else { return };
        incoming.state.step(ReceiverEvent::Last);
        if let Some(rank) = incoming.ranked {
            self.ranking.remove(key, (rank, incoming.order));
        }
        if let Some(share) = incoming.share {
            self.with_pair(key.0, |pair| pair.give_up(share.missing, share.missing_bytes));
        }
        self.count_answered(key.0, incoming.out);
    }

    /// Puts a message where its rank is now.
    fn update_rank(&mut self, key: MessageId) {
        let policy = self.params.policy;
        let Some(incoming) = self.messages.named_mut(key) else { return };
        let rank = incoming.next().map(|_| match policy {
            Policy::Srpt => incoming.remaining_packets(),
            Policy::RoundRobin => incoming.turn,
        });
        if incoming.ranked == rank {
            return;
        }
        if let Some(before) = std::mem::replace(&mut incoming.ranked, rank) {
            self.ranking.remove(key, (before, incoming.order));
        }
        if let Some(rank) = rank {
            self.ranking.insert(key, (rank, incoming.order));
        }
    }

    /// Gives the credit whose time has come, to the first message by policy that may have some. SIRD §4
    fn give_credit(&mut self, shared: &mut Shared, now: Time) {
        while self.turn <= now {
            let Some((key, index, bytes)) = self.next(shared) else { return };
            let Some(incoming) = self.messages.named_mut(key) else { return };
            self.turns = self.turns.saturating_add(1);
            // The message goes behind those that began before, or have been served as often.
            incoming.turn = self.turns.saturating_mul(2).saturating_add(1);
            if let (Some(_), Some(peer)) = (incoming.share, self.peers.get_mut(&key.0)) {
                incoming.credit_pair(shared, key, peer.pair.give_credit(bytes));
            } else {
                incoming.credit_packet(shared, key, index);
            }
            incoming.watch_credit(shared, key, now);
            self.out += bytes;
            if let Some(peer) = self.peers.get_mut(&key.0) {
                peer.out += bytes;
            }
            self.update_rank(key);
            self.turn = now.saturating_add(self.credit_spacing(shared.context.nic, bytes));
        }
        if !self.armed && self.ranking.oldest_message().is_some() {
            self.armed = true;
            shared.timers.arm_deadline(self.turn, TimerKey::Pacer);
        }
    }

    /// Time that credited bytes take at the rate of credit.
    fn credit_spacing(&self, nic: Rate, bytes: u64) -> Time {
        // Integers from here on, so that each credit is due at an exact time; rounded to the nearest thousandth.
        let thousandths = (self.params.credit_rate * 1000.0 + 0.5) as u128;
        Time((u128::from(nic.time_of(bytes).0) * 1000 / thousandths.max(1)) as u64)
    }

    /// The message that gets the next credit, the packet that it is for, and its bytes.
    fn next(&mut self, shared: &Shared) -> Option<(MessageId, u32, u64)> {
        if self.out >= self.limit {
            return None;
        }
        let Receiver { ranking, messages, peers, params, .. } = self;
        let (out, limit) = (self.out, self.limit);
        // The first may have all that its sender can use, and another not yet.
        ranking.first_messages(usize::MAX).find_map(|key| {
            let incoming = messages.named_mut(key)?;
            let peer = peers.get(&key.0)?;
            let index = incoming.next()?;
            let bytes = match incoming.share {
                Some(_) => peer.pair.next_bytes(peer.budget.frame)?,
                None => incoming.wire_bytes(&shared.context.sizes, index),
            };
            let most = peer.budget.times_bdp(params.bucket).max(peer.budget.frame);
            let fits =
                out + bytes <= limit && peer.out + bytes <= most && peer.out <= peer.buckets.bucket_bytes();
            fits.then_some((key, index, bytes))
        })
    }

    /// The time of the next credit has come.
    pub(super) fn pacer_due(&mut self, shared: &mut Shared, now: Time) {
        self.armed = false;
        self.give_credit(shared, now);
    }

    /// The deadline of a message has come: credit that is out for long is given again.
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, at: Time, now: Time, key: MessageId) {
        let Some(incoming) = self.messages.named_mut(key) else { return };
        let Some(peer) = self.peers.get_mut(&key.0).filter(|_| incoming.share.is_some()) else {
            return incoming.check_overdue(shared, key, (at, now));
        };
        let before = peer.pair.bytes;
        let freed = incoming.overdue_pair(shared, &mut peer.pair, key, (at, now)) + before;
        let out = peer.pair.bytes;
        peer.out = peer.out - freed + out;
        self.out = self.out - freed + out;
        self.update_rank(key);
        self.give_credit(shared, now);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.named_now(id) {
            let pooled = incoming
                .share
                .and_then(|_| self.peers.get(&id.0))
                .map_or(0, |peer| peer.pair.outstanding_credits());
            found(
                &probes::OUTSTANDING,
                incoming.open_packets().max(pooled.min(incoming.remaining_packets())).into(),
            );
        }
    }

    /// The sender is gone, or a message: others may have the credit in its place.
    fn forget_messages(&mut self, shared: &mut Shared, now: Time, gone: Gone) {
        for key in self.messages.covered_ids(gone) {
            self.drop_message(key);
        }
        if let Gone::Peer(peer) = gone {
            self.peers.remove(&peer);
        }
        self.finished.forget_gone(gone);
        self.give_credit(shared, now);
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
