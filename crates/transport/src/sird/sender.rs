//! The sending half of SIRD: announcements, unscheduled messages, and the order in which credit is used.

use super::outgoing::{Outgoing, SenderEvent};
use super::packets::{Grant, Resend};
use super::{Budget, Shared, SirdParams, TimerKey, Unscheduled, timeout};
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
    /// By fewest packets left.
    ready: BTreeSet<(u32, u64, u32)>,
    /// Those that the receiver does not know, the largest first.
    fresh: BTreeSet<(Reverse<u32>, u64, u32)>,
    /// What this receiver is owed, in packets.
    deficit: f64,
}

/// All messages that this host sends.
pub struct Sender {
    params: SirdParams,
    messages: Messages<Outgoing>,
    lines: BTreeMap<HostId, Line>,
    /// Unused credit in bytes, of all messages and of those to each receiver.
    pool: u64,
    pools: BTreeMap<HostId, u64>,
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
        let budget = Budget::of(&self.params, context, message.dst);
        let asked = message.initial_window.share > 1 || message.initial_window.window.is_some();
        let short =
            context.sizes.message_wire(message.bytes) <= budget.times(self.params.unscheduled_threshold);
        let schedule = |packets_at_most| {
            let slot = context.sizes.slot((context.path)(message.dst).bottleneck);
            FirstWindowSchedule::new(message.initial_window, packets_at_most, packets, slot, now)
        };
        if asked {
            let path = (context.path)(message.dst);
            return Some(schedule(context.bdp_packets(&path, &message.initial_window)));
        }
        if !short && self.params.unscheduled == Unscheduled::Short {
            return None;
        }
        // What this receiver's messages hold without it, and this message, is one bandwidth-delay product.
        let held = self.pools.get(&message.dst).copied().unwrap_or(0);
        let room = budget.bdp.saturating_sub(held) / budget.frame;
        Some(schedule(u32::try_from(room).unwrap_or(u32::MAX).max(1)))
    }

    /// Lets the packets of the first window go whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find((peer, id)) else { return };
        let out = &mut self.messages[key];
        let Some(initial_window) = &mut out.initial_window else { return };
        let (first, count) =
            initial_window.release(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        out.released = first + count;
        self.changed(&shared.context, key);
    }

    /// The numbers of a message have changed: its credit is counted, and it stands where its rank is.
    fn changed(&mut self, context: &HostContext, key: DefaultKey) {
        let out = &mut self.messages[key];
        let (peer, id, held) = (out.message.dst, out.message.id, out.unused(&context.sizes));
        let before = std::mem::replace(&mut out.held, held);
        self.pool = self.pool + held - before;
        let pool = self.pools.entry(peer).or_default();
        *pool = *pool + held - before;
        let (order, bytes, fresh) = (out.order, out.packets, out.is_fresh());
        let rank = out.pick().map(|_| out.remaining());
        let ranked = std::mem::replace(&mut out.ranked, rank);
        if ranked == rank {
            return;
        }
        let line = self.lines.entry(peer).or_default();
        if let Some(before) = ranked {
            line.ready.remove(&(before, order, id));
            line.fresh.remove(&(Reverse(bytes), order, id));
        }
        if let Some(rank) = rank {
            line.ready.insert((rank, order, id));
            if fresh {
                line.fresh.insert((Reverse(bytes), order, id));
            }
        }
        // A receiver to which nothing can be sent is owed nothing.
        if line.ready.is_empty() {
            self.lines.remove(&peer);
        }
    }

    /// The receiver has said something that brings a message on.
    fn heard(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        if out.idle.heard(now) {
            out.arm_timeout(shared, now);
        }
        self.changed(&shared.context, key);
    }

    /// Credit for another packet.
    pub(super) fn credit(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find((packet.src, packet.message)) else { return };
        self.messages[key].permit(Grant::read(packet).permitted);
        self.heard(shared, now, key);
    }

    /// Packets that have not arrived have credit once more.
    pub(super) fn resend(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find((packet.src, packet.message)) else { return };
        let Resend { first, missing } = Resend::read(packet);
        self.messages[key].ask(first, first.saturating_add(missing));
        self.heard(shared, now, key);
    }

    /// The receiver has everything.
    pub(super) fn finished(&mut self, shared: &mut Shared, packet: &Packet) {
        let id = (packet.src, packet.message);
        if let Some(mut out) = self.messages.remove(id) {
            out.state.step(SenderEvent::Finished);
            self.leave(&out);
            shared.acknowledged(&out.message);
        }
    }

    /// Takes a message that is gone out of all counts.
    fn leave(&mut self, out: &Outgoing) {
        let (peer, id) = (out.message.dst, out.message.id);
        self.pool -= out.held;
        if let Some(pool) = self.pools.get_mut(&peer) {
            *pool -= out.held;
            if *pool == 0 {
                self.pools.remove(&peer);
            }
        }
        self.outbound -= u32::from(out.remaining() > 0);
        if let (Some(rank), Some(line)) = (out.ranked, self.lines.get_mut(&peer)) {
            line.ready.remove(&(rank, out.order, id));
            line.fresh.remove(&(Reverse(out.packets), out.order, id));
            if line.ready.is_empty() {
                self.lines.remove(&peer);
            }
        }
    }

    /// Announces a message again of which nothing is heard: it, or what the receiver said last, may be lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find((peer, id)) else { return };
        let out = &mut self.messages[key];
        let held = out.ranked.is_some() || out.initial_window.as_ref().is_some_and(|w| w.next().is_some());
        let timeout = out.timeout();
        if !out.idle.expired(&mut shared.timers, now, held, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        out.state.step(SenderEvent::IdleTimeout);
        let request = out.request(&shared.context);
        shared.control.push_back(request);
        out.arm_timeout(shared, now);
    }

    /// Whose turn it is among receivers: each is owed a share of every packet, and that of the shortest message more. SIRD §4.4
    fn next_receiver(&mut self) -> Option<HostId> {
        let shortest = self.lines.iter().map(|(peer, line)| (line.ready.first(), *peer)).min()?.1;
        if self.lines.len() == 1 {
            return Some(shortest);
        }
        let share = self.params.shortest_share;
        let even = (1.0 - share) / self.lines.len() as f64;
        loop {
            for (peer, line) in &mut self.lines {
                line.deficit += even + if *peer == shortest { share } else { 0.0 };
            }
            let most = self.lines.iter_mut().max_by(|a, b| a.1.deficit.total_cmp(&b.1.deficit))?;
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
    fn open(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let packets = shared.context.sizes.packets(message.bytes) as u32;
        let initial_window = self.first_window(&shared.context, now, message, packets);
        let path = (shared.context.path)(message.dst);
        let timeout = (timeout(&self.params, &path), &path);
        self.opened += 1;
        let out = Outgoing::new(message, (packets, self.opened), initial_window, timeout, now);
        if out.window == 0 {
            let request = out.request(&shared.context);
            shared.control.push_back(request);
        }
        let key = self.messages.insert((message.dst, message.id), out);
        self.outbound += 1;
        self.release_first_window(shared, now, message.dst, message.id);
        self.messages[key].arm_timeout(shared, now);
    }

    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let peer = self.next_receiver()?;
        let line = &self.lines[&peer];
        let fresh = line.fresh.first().map(|(_, _, id)| *id);
        let id = fresh.or_else(|| line.ready.first().map(|(_, _, id)| *id))?;
        let key = self.messages.find((peer, id))?;
        let (several, priorities) = (self.outbound >= 2, self.params.priorities);
        let budget = Budget::of(&self.params, &shared.context, peer);
        let out = &mut self.messages[key];
        let index = out.pick()?;
        let (had, unused) = (out.remaining(), out.held);
        // Unused credit once this packet has been paid for. SIRD §4.2
        let paid = out.price(&shared.context.sizes, index);
        let left = self.pool - paid.min(unused);
        let congested = several && left > budget.times(self.params.sender_threshold);
        let packet = out.depart(&shared.context, now, index, congested, priorities);
        self.outbound -= u32::from(had > 0 && out.remaining() == 0);
        self.changed(&shared.context, key);
        Some(packet)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The receiver is gone.
    fn forget(&mut self, shared: &mut Shared, gone: Gone) {
        let gone = self.messages.forget(gone);
        gone.iter().for_each(|out| self.leave(out));
        shared.fail(gone.iter().map(|out| out.message));
    }

    fn live(&self) -> usize {
        self.messages.len()
    }
}
