//! One message at its sender: the packet that leaves next, and the end that it is taken from.

use super::opportunistic::Opportunistic;
use super::packets::Grant;
use super::sent_log::SentLog;
use super::{OPPORTUNISTIC, Shared, TimerKey};
use crate::endpoint::Path;
use crate::first_window::FirstWindowSchedule;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::message::Message;
use headway_packet::{Packet, PacketFlags, TypedView};
use headway_units::Time;
use std::collections::BTreeSet;

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Burst { Grant => Dual, MarkedGrant => Stopped, IdleTimeout => Burst, Met => Met, Finished => Done }
        Dual { Grant => Dual, MarkedGrant => Stopped, IdleTimeout => Dual, Met => Met, Finished => Done }
        Stopped { Grant => Dual, MarkedGrant => Stopped, IdleTimeout => Stopped, Met => Met, Finished => Done }
        Met { Grant => Met, MarkedGrant => Met, IdleTimeout => Met, Finished => Done }
        Done {}
    }
    events { Grant, MarkedGrant, IdleTimeout, Met, Finished }
}

/// Departures that a sender remembers of a queue although later ones were acknowledged, where these do not count
/// as lost.
const REMEMBERED: u32 = 1024;

/// Round trips after which a packet without acknowledgement may be lost. A receiver asks for packets that it permitted
/// three round trips ago, and so for a packet that left three round trips before.
const ON_ITS_WAY: u64 = 2;

/// A packet on its way to a queue of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) index: u32,
    /// It has left before.
    pub(super) again: bool,
}

/// See the module.
pub(super) struct Outgoing {
    pub(super) message: Message,
    packets: u32,
    pub(super) initial_window: FirstWindowSchedule,
    state: SenderState,
    /// First packet that has not been queued as a normal one in its turn; packets from `back` on have been
    /// queued as opportunistic ones. RPO §IV-A
    front: u32,
    back: u32,
    /// Packets known to have arrived: these, and all from `above` on.
    arrived: IndexWindow,
    above: u32,
    /// First packets that have not left as normal ones in their turn: of the first window, and after it.
    departed: [u32; 2],
    /// Normal packets that wait here out of turn.
    queued: Vec<u32>,
    /// Opportunistic packets without acknowledgement.
    opportunistic: Opportunistic,
    /// Packets to send again.
    lost: BTreeSet<u32>,
    /// Packets repeated with permissions at hand, until something is heard of them.
    repaired: BTreeSet<u32>,
    /// Departures of normal and of opportunistic packets.
    logs: [SentLog; 2],
    /// Permissions for normal packets that found nothing to send.
    credit: u32,
    /// The smoothed round trip of normal packets; 0 before the first.
    pub(super) round_trip: Time,
    /// Age at which an opportunistic packet is due as a normal one.
    meeting_timeout: Time,
    meeting_at: Option<Time>,
    restart: Time,
    idle: IdleTimer,
}

impl Outgoing {
    /// Normal packets that it is permitted to send, and has not sent: those that wait, and permissions that found nothing.
    pub(super) fn unsent_permissions(&self) -> u32 {
        self.queued.len() as u32 + self.credit
    }

    pub(super) fn new(
        message: &Message,
        initial_window: FirstWindowSchedule,
        packets: u32,
        now: Time,
        (meeting_timeout, restart): (Time, Time),
        path: &Path,
    ) -> Outgoing {
        let front = initial_window.window_packets();
        let mut out = Outgoing {
            message: *message,
            packets,
            initial_window,
            state: SenderState::Burst,
            front,
            back: packets,
            arrived: IndexWindow::default(),
            above: packets,
            departed: [0, front],
            queued: Vec::new(),
            opportunistic: Opportunistic::default(),
            lost: BTreeSet::new(),
            repaired: BTreeSet::new(),
            logs: [SentLog::new(packets), SentLog::new(packets)],
            credit: 0,
            round_trip: Time::ZERO,
            meeting_timeout,
            meeting_at: None,
            restart,
            idle: IdleTimer::new(now, path),
        };
        // Nothing lies between the ends of a message that fits into its first window.
        out.check_meeting();
        out
    }

    fn is_after_window(&self, index: u32) -> usize {
        usize::from(index >= self.initial_window.window_packets())
    }

    fn has_met(&self) -> bool {
        self.front >= self.back
    }

    fn check_meeting(&mut self) {
        if self.has_met() {
            self.state.step(SenderEvent::Met);
        }
    }

    fn has_arrived(&self, index: u32) -> bool {
        index >= self.above || self.arrived.contains(index)
    }

    /// True if an opportunistic packet has left before.
    pub(super) fn is_repeat(&self, index: u32) -> bool {
        self.opportunistic.is_repeat(index)
    }

    /// Opportunistic packets that wait at this host.
    pub(super) fn waiting_opportunistic(&self) -> u32 {
        self.opportunistic.waiting_packets()
    }

    /// Takes in the arrivals and losses of a grant; `false` for a grant heard before.
    pub(super) fn acknowledge_grant(&mut self, now: Time, grant: &Packet, tolerance: Option<u32>) -> bool {
        let Grant { index, departure, arrived_below, arrived_from, .. } = Grant::from_packet(grant);
        // The fields come from the wire: neither may point beyond the message.
        self.arrived.skip_to(arrived_below.min(self.packets));
        let above = arrived_from.min(self.above.into()) as u32;
        if above < self.above {
            self.above = above;
            self.opportunistic.remove_from(above);
        }
        // A repeated grant answers no departure.
        if grant.flags.has_all(PacketFlags::AGAIN) {
            return true;
        }
        let (queue, number) = ((departure & 1) as usize, departure >> 1);
        let left = self.logs[queue].take_departure(number, index);
        // Without an entry the grant is a duplicate, or answers a departure that counts as lost: that one still
        // permits.
        if left.is_none() && self.has_arrived(index) {
            return false;
        }
        self.arrived.insert(index);
        self.opportunistic.remove_packet(index);
        self.lost.remove(&index);
        self.repaired.remove(&index);
        let Some(left) = left else { return true };
        // Opportunistic packets wait for as long as normal ones need the link, which would stretch the time-out of
        // those.
        if queue == 0 && !left.repeated {
            self.smooth_round_trip(now.saturating_sub(left.at));
        }
        while let Some(index) = self.logs[queue].take_overtaken(number, tolerance.unwrap_or(REMEMBERED)) {
            // Without a tolerance the sender finds no losses: entries are dropped only to bound the log.
            if tolerance.is_some() {
                self.count_overtaken(queue, index);
            }
        }
        true
    }

    /// A normal packet's round trip.
    fn smooth_round_trip(&mut self, round_trip: Time) {
        // The first sample counts in full, later ones by an eighth, as in RFC 6298 §2.
        let before = if self.round_trip == Time::ZERO { round_trip } else { self.round_trip };
        self.round_trip = Time((before.0.saturating_mul(7).saturating_add(round_trip.0)) / 8);
    }

    /// A departure that later ones of its queue have overtaken: the packet is lost, unless it has arrived
    /// otherwise or left again.
    fn count_overtaken(&mut self, queue: usize, index: u32) {
        // An opportunistic packet that is not in the set any more became a normal one, whose own departure decides.
        let current = queue == 0 || self.opportunistic.remove_packet(index);
        if current && !self.has_arrived(index) {
            self.repaired.remove(&index);
            self.lost.insert(index);
        }
    }

    /// A grant permits a normal packet; returns true if an opportunistic one may leave next to it. RPO §IV-A
    pub(super) fn add_permission(&mut self, marked: bool) -> bool {
        self.credit = self.credit.saturating_add(1);
        self.state.step(if marked { SenderEvent::MarkedGrant } else { SenderEvent::Grant });
        !marked
    }

    /// The next normal packet, if one is permitted: lost ones, then the front, and after the meeting
    /// those opportunistic packets that are not heard of.
    pub(super) fn next_normal(&mut self, now: Time) -> Option<Next> {
        if self.credit == 0 {
            return None;
        }
        let next =
            self.repair_normal().or_else(|| self.fresh_normal()).or_else(|| self.due_opportunistic(now))?;
        self.credit -= 1;
        Some(next)
    }

    /// RPO §IV-C: lost normal packets keep their priority, lost opportunistic ones gain it once the normal
    /// ones have come past them.
    fn repair_normal(&mut self) -> Option<Next> {
        loop {
            let index = self.lost.first().copied().filter(|&i| i < self.back || self.has_met())?;
            self.lost.remove(&index);
            // Arrivals known by `arrived_below` and `arrived_from` do not touch `lost`; their entries are dropped
            // here.
            if !self.has_arrived(index) {
                self.queued.push(index);
                self.repaired.insert(index);
                return Some(Next { index, again: true });
            }
        }
    }

    fn fresh_normal(&mut self) -> Option<Next> {
        if self.has_met() {
            return None;
        }
        let index = self.front;
        self.front += 1;
        self.check_meeting();
        Some(Next { index, again: false })
    }

    /// RPO §IV-A: once the ends have met, opportunistic packets that still wait somewhere go again as
    /// normal ones, the smallest first.
    fn due_opportunistic(&mut self, now: Time) -> Option<Next> {
        if !self.has_met() {
            return None;
        }
        let (index, again) = self.opportunistic.due_packet(now, self.meeting_timeout)?;
        self.opportunistic.remove_packet(index);
        self.queued.push(index);
        Some(Next { index, again })
    }

    /// The next opportunistic packet: lost ones, then the next one from the end. RPO §IV-A
    ///
    /// After the meeting lost packets are all that is left to send, from either end: a message that lost most
    /// of its first window doubles like any other.
    pub(super) fn next_opportunistic(&mut self) -> Option<Next> {
        let met = self.has_met();
        while let Some(index) = self.lost.last().copied().filter(|&i| met || i >= self.back) {
            self.lost.remove(&index);
            if !self.has_arrived(index) {
                self.opportunistic.queue_packet(index, true);
                self.repaired.insert(index);
                return Some(Next { index, again: true });
            }
        }
        if met {
            return None;
        }
        // The ends have not met, so that `back` is above `front`.
        self.back -= 1;
        self.opportunistic.queue_packet(self.back, false);
        let index = self.back;
        self.check_meeting();
        Some(Next { index, again: false })
    }

    /// The receiver asks for packet `index`: the queue it goes to, if it is to be sent again. A packet that has
    /// never left counts as permitted instead. So does, where the grant is for `any` packet, one that a permission
    /// at hand has repeated already: the permission for it was lost. A packet that is on its way needs
    /// nothing, if this sender finds losses itself.
    pub(super) fn answer_request(
        &mut self,
        now: Time,
        index: u32,
        any: bool,
        finds: bool,
    ) -> Option<(Next, u8)> {
        if index >= self.packets || self.has_arrived(index) {
            return None;
        }
        let unsent = index >= self.front && index < self.back;
        // With nothing else left to send, a permission put aside would find no use: the packet itself goes again.
        let others = !self.has_met() || !self.lost.is_empty();
        if unsent || (any && self.repaired.remove(&index) && others) {
            self.credit = self.credit.saturating_add(1);
            return None;
        }
        if any && finds && self.is_on_its_way(now, index) {
            return None;
        }
        let in_turn = index >= self.departed[self.is_after_window(index)] && index < self.front;
        let waits = self.opportunistic.is_waiting(index);
        // It still waits at this host, and leaves without being asked for.
        if in_turn || self.queued.contains(&index) || (waits && !self.has_met()) {
            return None;
        }
        self.lost.remove(&index);
        self.logs.iter_mut().for_each(|log| log.mark_repeated(index));
        // An opportunistic packet that waited here changes queues now and has never left.
        let again = !waits;
        if index >= self.back && !self.has_met() {
            self.opportunistic.queue_packet(index, again);
            return Some((Next { index, again }, OPPORTUNISTIC));
        }
        self.opportunistic.remove_packet(index);
        self.queued.push(index);
        Some((Next { index, again }, super::NORMAL))
    }

    /// True if a packet left so lately that nothing can have been heard of it. A receiver knows how much it has
    /// permitted, but not which packets left for it: after losses that were repaired, it expects later ones too early.
    fn is_on_its_way(&self, now: Time, index: u32) -> bool {
        let left = self.logs.iter().filter_map(|log| log.last_departure(index)).max();
        left.is_some_and(|at| now.saturating_sub(at) < self.round_trip.saturating_mul(ON_ITS_WAY))
    }

    /// A normal packet leaves: its number.
    pub(super) fn normal_leaves(&mut self, now: Time, next: Next) -> u32 {
        self.idle.mark_sent(now);
        match self.queued.iter().position(|&i| i == next.index) {
            Some(place) => {
                self.queued.swap_remove(place);
            }
            // A packet that is not in `queued` leaves in order, so that all before it have left.
            None => self.departed[self.is_after_window(next.index)] = next.index + 1,
        }
        // The lowest bit says which of the logs it is.
        self.logs[0].push(next.index, now) << 1
    }

    /// An opportunistic packet leaves: its number, or `None` if it has become a normal one, or arrived.
    pub(super) fn opportunistic_leaves(&mut self, now: Time, index: u32) -> Option<u32> {
        if !self.opportunistic.mark_departed(now, index) {
            return None;
        }
        self.idle.mark_sent(now);
        Some(self.logs[1].push(index, now) << 1 | 1)
    }

    /// True if packet `index` of a first window is sent without permission.
    pub(super) fn is_unscheduled(&self, next: Next) -> bool {
        !next.again && next.index < self.initial_window.window_packets()
    }

    /// Arms the deadline at which the next opportunistic packet is due, if permissions wait for one.
    pub(super) fn await_due(&mut self, shared: &mut Shared, now: Time) {
        if self.credit == 0 || !self.has_met() {
            return;
        }
        let Some(oldest) = self.opportunistic.oldest_departure() else { return };
        let at = oldest.saturating_add(self.meeting_timeout);
        if self.meeting_at.is_none_or(|armed| armed <= now || at < armed) {
            shared.timers.arm_deadline(at, TimerKey::Meeting(self.message.dst, self.message.id));
            self.meeting_at = Some(at);
        }
    }

    /// Records that a packet of the receiver has arrived, and arms the time-out again.
    pub(super) fn mark_heard(&mut self, shared: &mut Shared, now: Time) {
        if self.idle.mark_heard(now) {
            self.arm_timeout(shared, now);
        }
    }

    /// Silence after which packet 0 is repeated.
    fn restart_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.restart, MAX_BACKOFF)
    }

    /// Arms the idle timer for a time-out from now on.
    pub(super) fn arm_timeout(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::Idle(self.message.dst, self.message.id);
        self.idle.arm_timer(&mut shared.timers, now.saturating_add(self.restart_timeout()), key);
    }

    /// The idle timer: packet 0, which carries the message's size, is repeated when nothing at all has
    /// been heard, because the whole first window or the receiver's last word was lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time) -> Option<Next> {
        let (timeout, key) = (self.restart_timeout(), TimerKey::Idle(self.message.dst, self.message.id));
        if !self.idle.has_expired(&mut shared.timers, now, false, timeout, key) {
            return None;
        }
        self.state.step(SenderEvent::IdleTimeout);
        self.arm_timeout(shared, now);
        // A window that waits for its slots, or for the wire, may not have sent even packet 0.
        let waits = self.departed[0] == 0 || self.queued.contains(&0);
        if waits {
            return None;
        }
        self.logs[0].mark_repeated(0);
        self.lost.remove(&0);
        self.queued.push(0);
        Some(Next { index: 0, again: true })
    }

    /// Notes that the receiver has everything.
    pub(super) fn mark_finished(&mut self) {
        self.state.step(SenderEvent::Finished);
    }
}
