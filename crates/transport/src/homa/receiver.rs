//! The receiving half of Homa: decides which messages to grant, how much, and in which priority.

use super::cutoffs::{Priorities, bytes_from};
use super::incoming::{Incoming, ReceiverEvent};
use super::packets::{Ack, Data, Probe};
use super::params::{Asking, GrantWindow, LossTimer, Settings, packets_of};
use super::{Shared, TimerKey, WHOLE, share_to_thousandths};
use crate::aeolus::acknowledge_first;
use crate::endpoint::{Gone, HostContext};
use crate::finished::FinishedMessages;
use crate::messages::MessageId;
use crate::probes::{self, Sink};
use crate::ranking::{Key, Ranking};
use crate::shared::Leaving;
use crate::two_sided::ReceivingHalf;
use headway_packet::{HostId, Packet, PacketFlags, Sizes, TypedView};
use headway_units::Time;
use rustc_hash::FxHashMap;

/// Bytes that the oldest message is granted at a time. Homa §5.2
const FIFO_INCREMENT: u64 = 50_000;

/// All messages that this host receives.
pub struct Receiver {
    settings: Settings,
    priorities: Priorities,
    /// True if first windows are acknowledged, and grants are numbers that senders use as they like.
    aeolus: bool,
    messages: FxHashMap<Key, Incoming>,
    finished: FinishedMessages,
    ranking: Ranking,
    arrived: u64,
    /// Packets on their way to this host with permission.
    incoming: u64,
    /// Messages granted in this round; kept for its room.
    active: Vec<Key>,
    /// Debt to the oldest message, in thousandths of a packet, and its share of each packet granted.
    owed: u64,
    fifo_share: u32,
    /// Earliest time at which the next packet may be asked for.
    turn: Time,
}

impl Receiver {
    pub(super) fn new(settings: Settings, priorities: Priorities, aeolus: bool) -> Receiver {
        Receiver {
            fifo_share: share_to_thousandths(settings.fifo_share),
            settings,
            priorities,
            aeolus,
            messages: FxHashMap::default(),
            finished: FinishedMessages::default(),
            ranking: Ranking::default(),
            arrived: 0,
            incoming: 0,
            active: Vec::new(),
            owed: 0,
            turn: Time::ZERO,
        }
    }

    fn max_backoff(&self) -> u32 {
        self.settings.backoff as u32
    }

    fn drop_message(&mut self, key: Key) -> Option<Incoming> {
        let message = self.messages.remove(&key)?;
        self.incoming -= u64::from(message.counted);
        if let Some(rank) = message.ranked {
            self.ranking.remove(key, (rank, message.order));
        }
        Some(message)
    }

    /// Stores a data packet, reports its bytes, and grants what the message may send next.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if !self.ensure_known(shared, now, packet) {
            return;
        }
        let Some(message) = self.messages.get_mut(&key) else { return };
        let Data { index, left, .. } = Data::from_packet(packet);
        if index >= message.packets {
            return;
        }
        let pushed = packet.flags.has_all(PacketFlags::UNSCHEDULED);
        if self.aeolus && pushed {
            acknowledge_first(shared, Ack { index }, packet, PacketFlags::default());
        }
        if !message.received.insert(index) {
            if self.aeolus && !pushed {
                // Aeolus §4: the permission was used for a packet that was there.
                message.first.count_repeated();
                self.update_message(shared, now, key);
            }
            return;
        }
        if self.aeolus && pushed {
            // Before the probe this has no effect: packets of the window are only arriving.
            message.first.take_back_late();
        }
        message.mark_progress(now);
        message.echo = left;
        shared.report_delivered(packet);
        if message.remaining_packets() == 0 {
            self.complete_message(shared, key, packet);
            // Its place among the granted messages is free.
            self.grant_active(shared, now);
        } else {
            self.update_message(shared, now, key);
        }
    }

    /// Makes state for a message that is new; `false` for one that is over, or makes no sense.
    fn ensure_known(&mut self, shared: &mut Shared, now: Time, packet: &Packet) -> bool {
        let key = (packet.src, packet.message);
        if self.messages.contains_key(&key) {
            return true;
        }
        if self.finished.contains(key.0, key.1) {
            // The sender has not heard that it is done.
            shared.say_finished(packet);
            return false;
        }
        let context = &shared.context;
        // A probe says these two where data packets do.
        let Data { index, message_bytes, .. } = Data::from_packet(packet);
        let Ok(packets) = u32::try_from(context.sizes.packets_of(message_bytes)) else { return false };
        if index >= packets {
            return false;
        }
        self.arrived += 1;
        let mut message = Incoming::new(packet, packets, self.arrived, now);
        let path = (context.path)(packet.src);
        if self.settings.grant_window == GrantWindow::RttBytes {
            message.rtt_packets = self.settings.rtt_packets(&path, context);
        }
        message.timeout = self.settings.resend_timeout(&path);
        // The time-out has room for a bandwidth-delay product, and only with one of these may more be on its way. A
        // time-out that counts silence starts again with every arrival.
        let settings = &self.settings;
        let large = settings.rtt_bytes.max(settings.unscheduled_bytes).max(settings.max_incoming) > 0;
        if large && settings.loss_timer == LossTimer::Packet {
            message.leaving = Leaving::over_path(&path, context);
        }
        self.messages.insert(key, message);
        true
    }

    fn complete_message(&mut self, shared: &mut Shared, key: Key, packet: &Packet) {
        if let Some(mut message) = self.drop_message(key) {
            message.state.step(ReceiverEvent::Last);
        }
        self.finished.insert(key.0, key.1);
        shared.report_completed(packet);
        shared.say_finished(packet);
    }

    /// The numbers of a message have changed: it is ranked again, and messages with room are granted.
    fn update_message(&mut self, shared: &mut Shared, now: Time, key: Key) {
        self.update_rank(key);
        self.grant_active(shared, now);
        let backoff = self.max_backoff();
        if let Some(message) = self.messages.get_mut(&key) {
            message.watch_missing(shared, key, now, backoff);
        }
    }

    /// Puts a message where its rank is now, and accounts for the packets on their way.
    fn update_rank(&mut self, key: Key) {
        let Some(message) = self.messages.get_mut(&key) else { return };
        let counted = message.outstanding_packets();
        self.incoming = self.incoming + u64::from(counted) - u64::from(message.counted);
        message.counted = counted;
        let rank = (message.ungranted_packets() > 0).then(|| message.remaining_packets());
        if message.ranked == rank {
            return;
        }
        if let Some(before) = std::mem::replace(&mut message.ranked, rank) {
            self.ranking.remove(key, (before, message.order));
        }
        if let Some(rank) = rank {
            self.ranking.insert(key, (rank, message.order));
        }
    }

    /// The degree of overcommitment. Homa §3.5
    fn overcommitment_degree(&self) -> usize {
        match self.settings.overcommit {
            0 => self.priorities.scheduled_classes() as usize,
            n => n as usize,
        }
    }

    /// Grants the messages with the least left to receive, until each has as much on its way as it may. Homa §3.5
    fn grant_active(&mut self, shared: &mut Shared, now: Time) {
        // Taken out for its memory, while the messages are borrowed.
        let mut active = std::mem::take(&mut self.active);
        loop {
            active.clear();
            active.extend(self.ranking.first_messages(self.overcommitment_degree()));
            let mut promoted = false;
            for (rank, &key) in active.iter().enumerate() {
                let class = self.class_of(shared, key, (rank, active.len()));
                let room = self.grant_room(key, active.len(), &shared.context.sizes);
                promoted |= self.grant_one(shared, now, key, room, class);
            }
            // Homa §3.5: with the last grant of one, the next message becomes active.
            if !promoted {
                break;
            }
        }
        self.active = active;
        self.grant_oldest(shared, now);
    }

    /// The class in which a message is granted, as the one of this rank among so many. Homa §3.4
    fn class_of(&self, shared: &Shared, key: Key, rank: (usize, usize)) -> u8 {
        self.priorities.of_granted(rank, || {
            let lengths = |message: &Incoming| (message.bytes, bytes_of(&shared.context, message));
            self.messages.get(&key).map(lengths).unwrap_or_default()
        })
    }

    /// Packets that a message may be granted now, as one of `active`.
    fn grant_room(&self, key: Key, active: usize, sizes: &Sizes) -> u32 {
        let Some(message) = self.messages.get(&key) else { return 0 };
        let outstanding = message.outstanding_packets();
        if self.settings.max_incoming == 0 {
            return message.rtt_packets.saturating_sub(outstanding);
        }
        let window = packets_of(self.settings.max_incoming / (active as u64 + 1), sizes);
        let all = u64::from(packets_of(self.settings.max_incoming, sizes)).saturating_sub(self.incoming);
        window.saturating_sub(outstanding).min(u32::try_from(all).unwrap_or(u32::MAX))
    }

    /// Grants a message up to `room` packets; returns true if it is granted in full thereby.
    fn grant_one(&mut self, shared: &mut Shared, now: Time, key: Key, room: u32, class: u8) -> bool {
        let backoff = self.max_backoff();
        let Some(message) = self.messages.get_mut(&key) else { return false };
        let count = room.min(message.ungranted_packets());
        if count == 0 {
            return false;
        }
        message.grant_packets(shared, key, count, class);
        message.watch_missing(shared, key, now, backoff);
        let full = message.ungranted_packets() == 0;
        self.owed += u64::from(count) * u64::from(self.fifo_share);
        self.update_rank(key);
        full
    }

    /// Now and then the oldest message is granted, whatever its rank. Homa §5.2
    fn grant_oldest(&mut self, shared: &mut Shared, now: Time) {
        let increment = packets_of(FIFO_INCREMENT, &shared.context.sizes);
        let price = u64::from(increment) * u64::from(WHOLE);
        if self.owed < price {
            return;
        }
        // Without a message that waits for grants the debt stays.
        let Some(key) = self.ranking.oldest_message() else { return };
        self.owed -= price;
        // The first of as many as there are classes: the highest scheduled class, which the source leaves open.
        let class = self.class_of(shared, key, (0, self.priorities.scheduled_classes() as usize));
        self.grant_one(shared, now, key, increment, class);
    }

    /// The sender is alive, and serves others first. Homa §3.7
    pub(super) fn receive_busy(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (key, backoff) = ((packet.src, packet.message), self.max_backoff());
        if let Some(message) = self.messages.get_mut(&key) {
            message.mark_busy(shared, key, now, backoff);
        }
    }

    /// Answers a sender that asks for the state of a message.
    pub(super) fn receive_probe(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        // Looked up before `ensure_known` makes the state.
        let known = self.messages.contains_key(&key);
        if !self.ensure_known(shared, now, packet) {
            return;
        }
        if self.aeolus && packet.flags.has_all(PacketFlags::UNSCHEDULED) {
            let ack = Ack { index: Probe::from_packet(packet).index };
            acknowledge_first(shared, ack, packet, PacketFlags::UNSCHEDULED);
            if let Some(message) = self.messages.get_mut(&key) {
                // Aeolus §4: packets that have not arrived ahead of the probe were dropped.
                let arrived = message.received.next_missing(0).min(message.window);
                let missing = (arrived..message.window).filter(|i| !message.received.contains(*i)).count();
                message.first.write_off_missing(missing as u32);
            }
            return self.update_message(shared, now, key);
        }
        // A message that is known has a time-out of its own, which the probe does not bring forward.
        if !known {
            // Homa §3.7: nothing of it has arrived, so all of the first window is missing.
            self.update_rank(key);
            self.request_in_turn(shared, now, key, Probe::from_packet(packet).window);
        }
    }

    /// The deadline of a message has come. Homa §3.7
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let (key, backoff) = ((peer, id), self.max_backoff());
        let wait_for_idle = self.settings.loss_timer == LossTimer::Silence;
        let Some(message) = self.messages.get_mut(&key) else { return };
        match message.is_due(now) {
            None => {}
            Some(true) => self.request_missing(shared, now, key),
            Some(false) => {
                if let Some(missing) = message.look_for_missing(shared, key, now, wait_for_idle, backoff) {
                    self.request_in_turn(shared, now, key, missing);
                }
            }
        }
    }

    /// Asks for missing packets, or waits for the turn to do so.
    fn request_in_turn(&mut self, shared: &mut Shared, now: Time, key: Key, packets: u32) {
        let Some(message) = self.messages.get_mut(&key) else { return };
        if self.settings.asking == Asking::AtOnce {
            return self.request_missing(shared, now, key);
        }
        let slot = shared.context.sizes.slot_time(shared.context.nic);
        let at = self.turn.max(now);
        self.turn = at.saturating_add(slot.saturating_mul(packets.into()));
        if at > now { message.take_turn(shared, key, at) } else { self.request_missing(shared, now, key) }
    }

    fn request_missing(&mut self, shared: &mut Shared, now: Time, key: Key) {
        let backoff = self.max_backoff();
        let Some(message) = self.messages.get_mut(&key) else { return };
        // In a class of its own a repetition would overtake messages that are to go first.
        let rest = bytes_of(&shared.context, message);
        let class = message.class.unwrap_or(self.priorities.of_size(rest));
        message.request_missing(shared, key, now, class, backoff);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone; others may be granted in its place.
    fn forget_messages(&mut self, shared: &mut Shared, now: Time, gone: Gone) {
        let mut all: Vec<Key> =
            self.messages.keys().filter(|key| gone.covers_message(**key)).copied().collect();
        // The order of a hash map must not show in a run, which has to be the same each time.
        all.sort_unstable();
        for key in all {
            self.drop_message(key);
        }
        self.finished.forget_gone(gone);
        self.grant_active(shared, now);
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.get(&id) {
            found(&probes::OUTSTANDING, f64::from(incoming.granted.saturating_sub(incoming.received.len())));
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

/// Bytes still to be received, to a packet.
fn bytes_of(context: &HostContext, message: &Incoming) -> u64 {
    bytes_from(message.bytes, message.received.len(), &context.sizes)
}
