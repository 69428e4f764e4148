//! The sending half of SIRD: announcements, unscheduled messages, and the order in which credit is used.

use super::outgoing::{Outgoing, Rank, SenderEvent};
use super::packets::{Grant, Resend};
use super::pair::PairPermits;
use super::{Budget, Pool, Shared, SirdParams, TimerKey, Unscheduled, credit_timeout};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::messages::Messages;
use crate::two_sided::SendingHalf;
use headway_packet::{HostId, Packet, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Messages to one receiver that have something to send.
#[derive(Default)]
struct Line {
    /// Messages by fewest packets left.
    ready: BTreeSet<(u32, u64, u32)>,
    /// Those that the receiver does not know, the largest first.
    fresh: BTreeSet<(Reverse<u32>, u64, u32)>,
    /// Those whose next packet takes credit of the pool of the pair, by fewest packets left.
    paying: BTreeSet<(u32, u64, u32)>,
    /// The pool has credit for them.
    credited: bool,
    /// Something can be sent.
    active: bool,
    /// Debt to this receiver, in packets.
    deficit: f64,
}

impl Line {
    /// Takes a message out that stands under `rank`, given all its packets, its order and its number.
    fn take_out(&mut self, Rank { remaining, pays }: Rank, (packets, order, id): (u32, u64, u32)) {
        let place = (remaining, order, id);
        if pays {
            self.paying.remove(&place)
        } else {
            self.ready.remove(&place)
        };
        self.fresh.remove(&(Reverse(packets), order, id));
    }

    /// The message with the fewest packets left of those that can send.
    fn first_sendable(&self) -> Option<(u32, u64, u32)> {
        let paying = self.paying.first().filter(|_| self.credited);
        self.ready.first().into_iter().chain(paying).min().copied()
    }
}

/// Credit for one receiver.
#[derive(Default)]
struct Held {
    /// Unused credit in bytes.
    bytes: u64,
    /// Credits of the pool of the pair.
    permits: PairPermits,
}

/// All messages that this host sends.
pub struct Sender {
    params: SirdParams,
    messages: Messages<Outgoing>,
    lines: BTreeMap<HostId, Line>,
    /// Lines that can send.
    active: u32,
    /// Unused credit in bytes, of all messages and of those to each receiver.
    pool: u64,
    pools: BTreeMap<HostId, Held>,
    /// Messages with packets that have not left.
    outbound: u32,
    opened: u64,
}

impl Sender {
    pub(super) fn new(params: SirdParams) -> Sender {
        Sender {
            params,
            messages: Messages::default(),
            lines: BTreeMap::new(),
            active: 0,
            pool: 0,
            pools: BTreeMap::new(),
            outbound: 0,
            opened: 0,
        }
    }

    /// The packets of a message that leave without credit, if it has any. SIRD §4.3
    fn first_window(
        &self,
        context: &HostContext,
        now: Time,
        message: &Message,
        packets: u32,
    ) -> Option<FirstWindowSchedule> {
        let budget = Budget::for_peer(&self.params, context, message.dst);
        let asked = message.initial_window.share > 1 || message.initial_window.window.is_some();
        let short =
            context.sizes.message_wire(message.bytes) <= budget.times_bdp(self.params.unscheduled_threshold);
        let schedule = |packets_at_most| {
            let slot = context.sizes.slot_time((context.path)(message.dst).bottleneck);
            FirstWindowSchedule::new(message.initial_window, packets_at_most, packets, slot, now)
        };
        if asked {
            let path = (context.path)(message.dst);
            return Some(schedule(context.bdp_packets(&path, &message.initial_window)));
        }
        if !short && self.params.unscheduled == Unscheduled::Short {
            return None;
        }
        // Unused credit for this receiver and the window of this message are one bandwidth-delay product together.
        let held = self.pools.get(&message.dst).map_or(0, |held| held.bytes);
        let room = budget.bdp.saturating_sub(held) / budget.frame;
        // At least one packet, which announces the message.
        Some(schedule(u32::try_from(room).unwrap_or(u32::MAX).max(1)))
    }

    /// Releases the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let Some(initial_window) = &mut out.initial_window else { return };
        let (first, count) =
            initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        out.released = first + count;
        self.update_message(&shared.context, key);
    }

    /// The numbers of a message have changed: its credit is counted, and it stands where its rank is.
    fn update_message(&mut self, context: &HostContext, key: DefaultKey) {
        let out = &mut self.messages[key];
        let (peer, id, held) = (out.message.dst, out.message.id, out.unused_credit(&context.sizes));
        let before = std::mem::replace(&mut out.held, held);
        self.pool = self.pool + held - before;
        let pool = self.pools.entry(peer).or_default();
        pool.bytes = pool.bytes + held - before;
        let (order, bytes, fresh) = (out.order, out.packets, out.is_fresh());
        let rank =
            out.pick_of(self.params.pool).map(|(_, pays)| Rank { remaining: out.remaining_packets(), pays });
        let ranked = std::mem::replace(&mut out.ranked, rank);
        if ranked == rank {
            return;
        }
        let line = self.lines.entry(peer).or_default();
        if let Some(before) = ranked {
            line.take_out(before, (bytes, order, id));
        }
        if let Some(Rank { remaining, pays }) = rank {
            let place = (remaining, order, id);
            if pays {
                line.paying.insert(place)
            } else {
                line.ready.insert(place)
            };
            if fresh && !pays {
                line.fresh.insert((Reverse(bytes), order, id));
            }
        }
        self.update_line(peer);
    }

    /// Brings a receiver's line up to date after its packets, or the credit of its pool, have changed.
    fn update_line(&mut self, peer: HostId) {
        let Some(line) = self.lines.get_mut(&peer) else { return };
        line.credited = self.pools.get(&peer).is_some_and(|held| held.permits.unused_permits() > 0);
        let active = line.first_sendable().is_some();
        if active != line.active {
            line.active = active;
            self.active = if active { self.active + 1 } else { self.active - 1 };
            // A receiver to which nothing can be sent is owed nothing.
            line.deficit = 0.0;
        }
        if line.ready.is_empty() && line.paying.is_empty() {
            self.lines.remove(&peer);
        }
    }

    /// Changes the credits of the pool of a pair of hosts, each of which is worth a full frame.
    fn with_permits(&mut self, context: &HostContext, peer: HostId, change: impl FnOnce(&mut PairPermits)) {
        let held = self.pools.entry(peer).or_default();
        let frame = u64::from(context.sizes.full_wire());
        let before = u64::from(held.permits.unused_permits()) * frame;
        change(&mut held.permits);
        let after = u64::from(held.permits.unused_permits()) * frame;
        held.bytes = held.bytes - before + after;
        self.pool = self.pool - before + after;
        self.update_line(peer);
    }

    /// The receiver has said something that brings a message on.
    fn mark_heard(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        if out.idle.mark_heard(now) {
            out.arm_timeout(shared, now);
        }
        self.update_message(&shared.context, key);
    }

    /// Credit for another packet.
    pub(super) fn receive_credit(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Grant { permitted, .. } = Grant::from_packet(packet);
        let pooled = self.params.pool == Pool::Pair;
        if pooled {
            self.with_permits(&shared.context, packet.src, |permits| permits.raise_permitted(permitted));
        }
        let Some(key) = self.messages.find_key((packet.src, packet.message)) else { return };
        if pooled {
            self.messages[key].state.step(SenderEvent::Credit);
        } else {
            self.messages[key].raise_permission(permitted);
        }
        self.mark_heard(shared, now, key);
    }

    /// Packets that have not arrived have credit once more.
    pub(super) fn receive_resend(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find_key((packet.src, packet.message)) else { return };
        let Resend { first, missing } = Resend::from_packet(packet);
        self.messages[key].queue_repetitions(first, first.saturating_add(missing), self.params.pool);
        self.mark_heard(shared, now, key);
    }

    /// The receiver has everything.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        let id = (packet.src, packet.message);
        if let Some(mut out) = self.messages.remove(id) {
            out.state.step(SenderEvent::Finished);
            self.remove_counts(&out);
            shared.report_acknowledged(&out.message);
        }
    }

    /// Takes a message that is gone out of all counts.
    fn remove_counts(&mut self, out: &Outgoing) {
        let (peer, id) = (out.message.dst, out.message.id);
        self.pool -= out.held;
        if let Some(pool) = self.pools.get_mut(&peer) {
            pool.bytes -= out.held;
            // The counts of a pool of a pair stay as long as the receiver is known.
            if pool.bytes == 0 && self.params.pool == Pool::Message {
                self.pools.remove(&peer);
            }
        }
        self.outbound -= u32::from(out.remaining_packets() > 0);
        if let (Some(rank), Some(line)) = (out.ranked, self.lines.get_mut(&peer)) {
            line.take_out(rank, (out.packets, out.order, id));
            self.update_line(peer);
        }
    }

    /// Announces a message again after silence: the announcement, or the receiver's last packet, may be lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let credited = self.lines.get(&peer).is_some_and(|line| line.credited);
        let held = out.ranked.is_some_and(|rank| !rank.pays || credited)
            || out.initial_window.as_ref().is_some_and(|w| w.next().is_some());
        let timeout = out.announce_timeout();
        if !out.idle.has_expired(&mut shared.timers, now, held, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        let request = out.request_packet(&shared.context);
        shared.control.push_back(request);
        out.arm_timeout(shared, now);
    }

    /// The receiver whose turn it is: each is owed a share of every packet, and that of the shortest message more. SIRD
    /// §4.4
    fn next_receiver(&mut self) -> Option<HostId> {
        let shortest = self.lines.iter().filter(|(_, line)| line.active);
        let shortest = shortest.map(|(peer, line)| (line.first_sendable(), *peer)).min()?.1;
        // Without others no receiver runs up a claim.
        if self.active == 1 {
            return Some(shortest);
        }
        let share = self.params.shortest_share;
        let even = (1.0 - share) / f64::from(self.active);
        loop {
            // Each round adds one packet in all, so that some receiver has a whole one after as many rounds as there
            // are receivers.
            for (peer, line) in self.lines.iter_mut().filter(|(_, line)| line.active) {
                line.deficit += even + if *peer == shortest { share } else { 0.0 };
            }
            let active = self.lines.iter_mut().filter(|(_, line)| line.active);
            let most = active.max_by(|a, b| a.1.deficit.total_cmp(&b.1.deficit))?;
            // Sums of shares are not exact.
            if most.1.deficit >= 1.0 - 1e-9 {
                most.1.deficit -= 1.0;
                return Some(*most.0);
            }
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// SIRD §4.3: a short message begins at once, a long one asks.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let packets = shared.context.sizes.packets_of(message.bytes) as u32;
        let initial_window = self.first_window(&shared.context, now, message, packets);
        let path = (shared.context.path)(message.dst);
        let timeout = (credit_timeout(&self.params, &path), &path);
        self.opened += 1;
        let out = Outgoing::new(message, (packets, self.opened), initial_window, timeout, now);
        if out.window == 0 {
            let request = out.request_packet(&shared.context);
            shared.control.push_back(request);
        }
        let key = self.messages.insert((message.dst, message.id), out);
        self.outbound += 1;
        if self.params.pool == Pool::Pair {
            // Credit that another message asked for may be its own.
            self.update_message(&shared.context, key);
        }
        self.release_first_window(shared, now, message.dst, message.id);
        self.messages[key].arm_timeout(shared, now);
    }

    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let peer = self.next_receiver()?;
        let line = &self.lines[&peer];
        let fresh = line.fresh.first().map(|(_, _, id)| *id);
        // A message that its receiver does not know is announced by its first packet.
        let id = fresh.or_else(|| line.first_sendable().map(|(_, _, id)| id))?;
        let key = self.messages.find_key((peer, id))?;
        let frame = u64::from(shared.context.sizes.full_wire());
        let (several, priorities) = (self.outbound >= 2, self.params.priorities);
        let budget = Budget::for_peer(&self.params, &shared.context, peer);
        let out = &mut self.messages[key];
        let (index, pays) = out.pick_of(self.params.pool)?;
        let (had, unused) = (out.remaining_packets(), out.held);
        // Unused credit once this packet has been paid for. SIRD §4.2
        let paid = if pays { frame } else { out.credit_price(&shared.context.sizes, index).min(unused) };
        let left = self.pool - paid;
        let congested = several && left > budget.times_bdp(self.params.sender_threshold);
        let packet = out.send_packet(&shared.context, now, index, congested, priorities);
        self.outbound -= u32::from(had > 0 && out.remaining_packets() == 0);
        if pays {
            self.with_permits(&shared.context, peer, PairPermits::pay_permit);
        }
        self.update_message(&shared.context, key);
        Some(packet)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.active > 0
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, from: Gone) {
        let gone = self.messages.forget_gone(from);
        gone.iter().for_each(|out| self.remove_counts(out));
        if let Gone::Peer(peer) = from
            && let Some(held) = self.pools.remove(&peer)
        {
            self.pool -= held.bytes;
        }
        shared.fail_messages(gone.iter().map(|out| out.message));
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
