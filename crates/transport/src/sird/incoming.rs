//! A message at its receiver: the packets that have credit, and those of them that have not arrived.

use super::packets::{Data, Grant, Resend};
use super::pair::PairCredit;
use super::{CUMULATIVE, POOLED, Shared, TimerKey};
use crate::index_window::IndexWindow;
use crate::messages::MessageId;
use crate::shared::Leaving;
use headway_packet::{Packet, Sizes, TypedView};
use headway_units::Time;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Known { Data => Known, Credit => Credited, Missing => Known, Last => Done }
        Credited { Data => Credited, Credit => Credited, Missing => Credited, Last => Done }
        Done {}
    }
    events { Data, Credit, Missing, Last }
}

/// Largest number of doublings of the time-out, while requested packets do not come.
const MAX_BACKOFF: u32 = 10;
/// Largest number of gaps in one request.
const MOST_GAPS: usize = 64;

/// A message being received.
pub(super) struct Incoming {
    pub(super) packets: u32,
    bytes: u64,
    /// Packets with credit in all, those that need none among them.
    pub(super) granted: u32,
    pub(super) received: IndexWindow,
    /// Bytes on the wire of those that have not arrived.
    pub(super) out: u64,
    /// Order of arrival of the messages, for ties.
    pub(super) order: u64,
    /// Twice the credits that its receiver had given when it began, or one more than that at its last one.
    pub(super) turn: u32,
    /// Rank under which it stands among the messages that want credit.
    pub(super) ranked: Option<u32>,
    pub(super) state: ReceiverState,
    timeout: Time,
    /// Extra time until packets with credit are here.
    leaving: Leaving,
    /// The deadline in force, and what had credit when it was armed.
    armed: Time,
    looked_at: u32,
    attempts: u32,
    tag: u32,
    entropy: u32,
    /// Its part in the pool of its pair of hosts, if there is one.
    pub(super) share: Option<Share>,
}

/// The part of a message in the pool of credit of its pair of hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Packets that need credit and have not arrived, and their bytes on the wire.
    pub(super) missing: u32,
    pub(super) missing_bytes: u64,
    /// One more than the last packet that has arrived.
    end: u32,
    /// Time at which the deadline in force was armed, and the packets that had arrived by then.
    since: Time,
    seen: u32,
}

impl Incoming {
    /// Packets that may be on their way.
    pub(super) fn open_packets(&self) -> u32 {
        self.granted.saturating_sub(self.received.len())
    }

    /// A message that `packet` is the first to speak of.
    pub(super) fn new(
        packet: &Packet,
        packets: u32,
        (order, turn): (u64, u32),
        (timeout, leaving): (Time, Leaving),
        sizes: &Sizes,
    ) -> Incoming {
        // An announcement says these two where data packets do.
        let Data { window, message_bytes, .. } = Data::from_packet(packet);
        let mut incoming = Incoming {
            packets,
            bytes: message_bytes,
            granted: 0,
            received: IndexWindow::default(),
            out: 0,
            order,
            turn,
            ranked: None,
            state: ReceiverState::Known,
            timeout,
            leaving,
            armed: Time::MAX,
            looked_at: 0,
            attempts: 0,
            tag: packet.tag,
            entropy: packet.entropy,
            share: None,
        };
        incoming.granted = window.min(packets);
        if let Some(last) = incoming.granted.checked_sub(1) {
            // All packets but the last of a window are full; that one may be the tail of the message.
            incoming.out = u64::from(sizes.full_wire()) * u64::from(last) + incoming.wire_bytes(sizes, last);
        }
        incoming
    }

    /// Makes it one of several messages that have one pool of credit. Returns its part in it.
    pub(super) fn join_pair(&mut self, sizes: &Sizes) -> Share {
        let missing_bytes = sizes.message_wire(self.bytes) - self.out;
        *self.share.insert(Share { missing: self.packets - self.granted, missing_bytes, ..Share::default() })
    }

    /// Bytes of a packet on the wire.
    pub(super) fn wire_bytes(&self, sizes: &Sizes, index: u32) -> u64 {
        u64::from(sizes.data_wire(sizes.payload_of(self.bytes, index.into())))
    }

    /// Packets still to be received.
    pub(super) fn remaining_packets(&self) -> u32 {
        self.packets - self.received.len()
    }

    /// The next packet that needs credit, if any does. Where a pair has one pool, a packet needs credit until it arrives.
    pub(super) fn next(&self) -> Option<u32> {
        let next = self.received.next_missing(self.granted);
        (next < self.packets).then_some(next)
    }

    /// A packet arrives. Returns the bytes of credit that it was out, or `None` if it was here.
    pub(super) fn store_packet(&mut self, sizes: &Sizes, index: u32) -> Option<u64> {
        if !self.received.insert(index) {
            return None;
        }
        self.attempts = 0;
        self.state.step(ReceiverEvent::Data);
        if let Some(share) = &mut self.share {
            share.end = share.end.max(index + 1);
        }
        // A packet of a pool, or of a sender that does not keep to the protocol, was not counted when credit was
        // given.
        let answered = if index < self.granted { self.wire_bytes(sizes, index) } else { 0 };
        self.out -= answered;
        Some(answered)
    }

    /// Gives credit for packet `index`, which is [`Incoming::next`].
    pub(super) fn credit_packet(&mut self, shared: &mut Shared, (peer, id): MessageId, index: u32) {
        self.state.step(ReceiverEvent::Credit);
        self.granted = index + 1;
        self.out += self.wire_bytes(&shared.context.sizes, index);
        let credit = Grant { index, permitted: self.granted };
        let credit = shared.control_view(credit, peer, id, self.tag, self.entropy);
        shared.control.push_back(Packet { flags: CUMULATIVE, ..credit });
    }

    /// Credit of the pool of its pair, the `permitted`-th.
    pub(super) fn credit_pair(&mut self, shared: &mut Shared, (peer, id): MessageId, permitted: u32) {
        self.state.step(ReceiverEvent::Credit);
        let credit = Grant { index: 0, permitted };
        let credit = shared.control_view(credit, peer, id, self.tag, self.entropy);
        shared.control.push_back(Packet { flags: CUMULATIVE.with(POOLED), ..credit });
    }

    /// Looks for lost credit in a while, if any is out and no deadline is in force.
    pub(super) fn watch_credit(&mut self, shared: &mut Shared, (peer, id): MessageId, now: Time) {
        // In a pool the receiver does not know which message its sender spends credit on, so that all are watched.
        if self.armed == Time::MAX && (self.out > 0 || self.share.is_some()) {
            // Nothing is lost of a large first window before it had the time to leave.
            let path = (shared.context.path)(peer);
            let timeout = path.doubled_timeout(self.timeout, self.attempts, MAX_BACKOFF);
            let timeout = timeout.saturating_add(self.leaving.extra_time(self.open_packets()));
            (self.armed, self.looked_at) = (now.saturating_add(timeout), self.granted);
            if let Some(share) = &mut self.share {
                (share.since, share.seen) = (now, self.received.len());
                self.looked_at = share.end;
            }
            shared.timers.arm_deadline(self.armed, TimerKey::Missing(peer, id));
        }
    }

    /// The deadline `at` has come: packets that had credit when it was armed are taken for lost.
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, key: MessageId, (at, now): (Time, Time)) {
        // Deadlines are not cancelled: one that another has replaced has no effect.
        if self.armed != at {
            return;
        }
        self.armed = Time::MAX;
        if self.request_missing(shared, key) > 0 {
            self.attempts = self.attempts.saturating_add(1);
            self.state.step(ReceiverEvent::Missing);
        }
        self.watch_credit(shared, key, now);
    }

    /// Handles the deadline of a message in a pool of a pair, where the receiver does not know which packets have left. Packets
    /// that others have overtaken count as lost, and all of them if nothing of the message came. The sender repeats those that
    /// have left. Returns the bytes of the first window that were out and need credit now; 0 if the deadline is not in force.
    pub(super) fn overdue_pair(
        &mut self,
        shared: &mut Shared,
        pair: &mut PairCredit,
        key: MessageId,
        (at, now): (Time, Time),
    ) -> u64 {
        let Some(share) = self.share.filter(|_| self.armed == at) else { return 0 };
        self.armed = Time::MAX;
        let silent = pair.heard <= share.since;
        let stands = share.seen == self.received.len();
        if stands {
            self.looked_at = self.packets;
        }
        let asked = self.request_missing(shared, key);
        if silent {
            pair.write_off(now, now.saturating_sub(share.since));
        } else if !stands {
            pair.lose_credits(asked);
        }
        let mut freed = 0;
        if asked > 0 {
            self.attempts = self.attempts.saturating_add(1);
            self.state.step(ReceiverEvent::Missing);
            freed = self.reschedule_window(pair, &shared.context.sizes);
        }
        self.watch_credit(shared, key, now);
        freed
    }

    /// Packets of the first window that have not arrived need credit from now on. Returns the bytes that were out for them.
    fn reschedule_window(&mut self, pair: &mut PairCredit, sizes: &Sizes) -> u64 {
        let missing = (0..self.granted).filter(|&index| !self.received.contains(index));
        let (packets, bytes) = missing
            .fold((0, 0), |(packets, bytes), index| (packets + 1, bytes + self.wire_bytes(sizes, index)));
        pair.expect_packets(packets, bytes);
        if let Some(share) = &mut self.share {
            share.missing += packets;
            share.missing_bytes += bytes;
        }
        self.granted = 0;
        std::mem::take(&mut self.out)
    }

    /// Gives credit again for the missing ones of the examined packets. Returns how many these are.
    fn request_missing(&self, shared: &mut Shared, (peer, id): MessageId) -> u32 {
        let mut first = self.received.next_missing(0);
        let (mut gaps, mut asked) = (0, 0);
        while first < self.looked_at && gaps < MOST_GAPS {
            let end = (first..self.looked_at).find(|&i| self.received.contains(i)).unwrap_or(self.looked_at);
            let resend = Resend { first, missing: end - first };
            shared.control.push_back(shared.control_view(resend, peer, id, self.tag, self.entropy));
            gaps += 1;
            asked += end - first;
            first = self.received.next_missing(end);
        }
        asked
    }
}
