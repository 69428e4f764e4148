//! The receiving half of NDP.

use super::packets::{Ack, Data, Nack, Pull};
use super::paths::Paths;
use super::pulls::PullQueue;
use super::{NdpParams, Shared, TimerKey};
use crate::endpoint::{Ahead, Gone, HostContext};
use crate::finished::FinishedMessages;
use crate::idle::{IdleTimer, MAX_BACKOFF};
use crate::index_window::IndexWindow;
use crate::messages::{MessageId, Messages};
use crate::probes::Sink;
use crate::two_sided::ReceivingHalf;
use headway_gauges::GaugeInfo;
use headway_packet::{HostId, Packet, PacketFlags, TypedView};
use headway_primitives::{mix, prefetch};
use headway_units::Time;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Receiving { Data => Receiving, Header => Receiving, IdleTimeout => Receiving, Last => TimeWait }
        TimeWait {}
    }
    events { Data, Header, IdleTimeout, Last }
}

/// Time-outs of a packet to wait in silence before the last pull is repeated: a lost packet comes first.
const SILENT_TIMEOUTS: u64 = 2;

/// Pulls that wait for their turn.
pub(super) const PULLS_WAITING: GaugeInfo = GaugeInfo::packets(
    "waiting_pulls_packets",
    "waiting pulls",
    "pulls of the message that wait at the receiver for their turn",
);

/// A message being received.
struct Incoming {
    packets: u32,
    received: IndexWindow,
    /// Pulls that have left, and that wait.
    pulled: u32,
    queued: u32,
    class: u32,
    tag: u32,
    paths: Paths,
    /// Silence after which the last pull is repeated, before any doubling.
    timeout: Time,
    idle: IdleTimer,
    state: ReceiverState,
}

/// All messages that this host receives.
pub struct Receiver {
    params: NdpParams,
    messages: Messages<Incoming>,
    /// NDP §3.2.2: a message that has finished is never taken for a new one.
    finished: FinishedMessages,
    pulls: PullQueue,
}

impl Receiver {
    pub(super) fn new(params: NdpParams, context: &HostContext) -> Receiver {
        let pulls = PullQueue::new(&params, context.sizes.slot_time(context.nic));
        let messages = Messages::default();
        Receiver { params, messages, finished: FinishedMessages::default(), pulls }
    }

    /// Prefetches the memory that a packet about message `id`, or a pull, will touch.
    #[inline]
    pub(super) fn prefetch_message(&self, id: Option<MessageId>, packet: Option<&Packet>, ahead: Ahead) {
        let Some(incoming) = self.messages.recent_entry(id) else { return };
        match ahead {
            Ahead::Far => prefetch(incoming),
            Ahead::Near => {
                packet
                    .into_iter()
                    .for_each(|packet| incoming.received.prefetch_index(Data::from_packet(packet).index));
                incoming.paths.prefetch_next();
            }
        }
    }

    /// NDP §3.2: a packet is acknowledged at once, and a header negatively; each earns a pull.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let Some(incoming) = self.messages.named_mut(key) else {
            return self.receive_first(shared, now, packet);
        };
        // A header has the fields of its packet.
        let index = Data::from_packet(packet).index;
        if index >= incoming.packets {
            return;
        }
        // Headers and repetitions are signs of life as well.
        if incoming.idle.mark_heard(now) {
            incoming.arm_timeout(shared, key, now);
        }
        let whole = packet.is_data();
        let new = match whole {
            true => incoming.received.insert(index),
            false => !incoming.received.contains(index),
        };
        if whole && new {
            shared.report_delivered(packet);
            if incoming.received.len() == incoming.packets {
                return self.complete_message(shared, key, packet);
            }
        }
        incoming.state.step(if whole { ReceiverEvent::Data } else { ReceiverEvent::Header });
        let (mut permitted, mut flags) = (0, PacketFlags::default());
        if new || self.params.pull_duplicates {
            if self.params.pull_ack && self.pulls.is_free(now) {
                (permitted, flags) = (incoming.next_pull(), PacketFlags::PULL);
                self.pulls.mark_sent(now);
            } else {
                incoming.queued += 1;
                // A message stands in the queue once, however many pulls it waits for.
                if incoming.queued == 1 {
                    self.pulls.push(incoming.class, key);
                }
            }
        }
        let arrived = incoming.received.next_missing(0);
        // A header of a packet that has arrived by now needs no repetition.
        let answer = match whole || !new {
            true => incoming.control_packet(shared, key, Ack { index, arrived, permitted }),
            false => incoming.control_packet(shared, key, Nack { index, arrived, permitted }),
        };
        shared.control.push_back(Packet { flags, ..answer });
        self.arm_pull_timer(shared, now);
    }

    /// A packet of a message that is not being received: a new one, or one that has finished.
    // Once a message; any other packet finds its entry.
    #[cold]
    fn receive_first(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (peer, id) = (packet.src, packet.message);
        let Data { index, message_bytes, class, .. } = Data::from_packet(packet);
        // The length comes from the wire: one of more packets than 32 bits can count is not a message.
        let Ok(packets) = u32::try_from(shared.context.sizes.packets_of(message_bytes)) else { return };
        if self.finished.contains(peer, id) {
            // The sender has not heard that it is done.
            let ack = Ack { index, arrived: packets, permitted: 0 };
            shared.control.push_back(shared.control_view(ack, peer, id, packet.tag, packet.entropy));
            return;
        }
        if index >= packets {
            return;
        }
        let path = (shared.context.path)(peer);
        let timeout = self.params.packet_timeout(&path).saturating_mul(SILENT_TIMEOUTS);
        // Receivers that all began with the same path would meet on it.
        let seed = mix(u64::from(shared.context.host.0) << 32 | u64::from(id));
        let paths = Paths::new(&self.params, &path, packet.entropy, seed, false);
        let mut incoming = Incoming {
            packets,
            received: IndexWindow::default(),
            pulled: 0,
            queued: 0,
            class,
            tag: packet.tag,
            paths,
            timeout,
            idle: IdleTimer::new(now, &path),
            state: ReceiverState::Receiving,
        };
        incoming.arm_timeout(shared, (peer, id), now);
        self.messages.insert((peer, id), incoming);
        self.receive_data(shared, now, packet);
    }

    /// NDP §3.2: with the last packet the message's pulls leave the queue; here, as their turn comes.
    fn complete_message(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        let Some(mut incoming) = self.messages.remove(key) else { return };
        incoming.state.step(ReceiverEvent::Last);
        let arrived = incoming.received.next_missing(0);
        let ack = Ack { index: Data::from_packet(packet).index, arrived, permitted: 0 };
        shared.control.push_back(incoming.control_packet(shared, key, ack));
        self.finished.insert(key.0, key.1);
        shared.report_completed(packet);
    }

    /// NDP §3.2: the next pull of the queue, one a frame time of this host's link.
    pub(super) fn send_pulls(&mut self, shared: &mut Shared, now: Time) {
        self.pulls.armed = false;
        while self.pulls.next() <= now {
            let Some(key) = self.pulls.pop() else { return };
            // Pulls of a message that is complete take no turn.
            let Some(incoming) = self.messages.named_mut(key) else { continue };
            incoming.queued -= 1;
            incoming.idle.mark_sent(now);
            let (arrived, permitted) = (incoming.received.next_missing(0), incoming.next_pull());
            let pull = incoming.control_packet(shared, key, Pull { arrived, permitted });
            shared.control.push_back(Packet { flags: PacketFlags::PULL, ..pull });
            if incoming.queued > 0 {
                self.pulls.push(incoming.class, key);
            }
            self.pulls.mark_sent(now);
        }
        self.arm_pull_timer(shared, now);
    }

    /// Arms the deadline of the next pull, if one waits.
    #[inline]
    fn arm_pull_timer(&mut self, shared: &mut Shared, now: Time) {
        if !self.pulls.armed && !self.pulls.is_empty() {
            shared.timers.arm_deadline(self.pulls.next().max(now), TimerKey::Pull);
            self.pulls.armed = true;
        }
    }

    /// Repeats the last pull when nothing has come of it: it may have been lost.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(incoming) = self.messages.named_mut((peer, id)) else { return };
        // A pull that waits here cannot have been answered.
        let (held, timeout) = (incoming.queued > 0, incoming.silence_timeout());
        if !incoming.idle.has_expired(&mut shared.timers, now, held, timeout, TimerKey::Idle(peer, id)) {
            return;
        }
        incoming.state.step(ReceiverEvent::IdleTimeout);
        let (arrived, permitted) = (incoming.received.next_missing(0), incoming.pulled);
        let pull = incoming.control_packet(shared, (peer, id), Pull { arrived, permitted });
        let flags = PacketFlags::PULL.with(PacketFlags::AGAIN);
        shared.control.push_back(Packet { flags, ..pull });
        incoming.arm_timeout(shared, (peer, id), now);
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        self.messages.forget_gone(gone);
        self.pulls.remove_messages(|key| !gone.covers_message(*key));
        self.finished.forget_gone(gone);
    }

    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.named_now(id) {
            found(&PULLS_WAITING, incoming.queued.into());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

impl Incoming {
    /// Silence after which the last pull is repeated.
    fn silence_timeout(&self) -> Time {
        self.idle.doubled_timeout(self.timeout, MAX_BACKOFF)
    }

    /// Arms the idle timer for a time-out from now on.
    fn arm_timeout(&mut self, shared: &mut Shared, (peer, id): MessageId, now: Time) {
        let at = now.saturating_add(self.silence_timeout());
        self.idle.arm_timer(&mut shared.timers, at, TimerKey::Idle(peer, id));
    }

    /// A control packet on the next path.
    fn control_packet<V: TypedView>(&mut self, shared: &Shared, (peer, id): MessageId, view: V) -> Packet {
        let path = self.paths.next(None);
        shared.control_view(view, peer, id, self.tag, self.paths.path_entropy(path))
    }

    /// NDP §3.2.1: pulls are numbered for each message, so that one that comes late has been made up for.
    fn next_pull(&mut self) -> u32 {
        self.pulled += 1;
        self.pulled
    }
}
