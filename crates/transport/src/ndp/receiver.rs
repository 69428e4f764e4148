//! The receiving half of NDP.

use super::paths::Paths;
use super::pulls::PullQueue;
use super::{NdpParams, Shared, TimerKey};
use crate::endpoint::{Ahead, EndpointEvent, HostContext};
use crate::finished::FinishedMessages;
use crate::index_window::IndexWindow;
use crate::messages::{MessageId, Messages};
use headway_packet::{HostId, Packet, PacketFlags, PacketKind};
use headway_units::{Time, mix, prefetch};

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Receiving { Data => Receiving, Header => Receiving, Silence => Receiving, Last => TimeWait }
        TimeWait {}
    }
    events { Data, Header, Silence, Last }
}

/// Time-outs of a packet to wait in silence before the last pull is repeated: a lost packet comes first.
const SILENT_TIMEOUTS: u64 = 2;

/// Doublings of that silence at most.
const MAX_REPEATS: u32 = 10;

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
    /// Last arrival, or pull.
    active: Time,
    patience: Time,
    repeats: u32,
    /// The one silence deadline in force; others of this message are left over and mean nothing.
    silence_at: Time,
    state: ReceiverState,
}

/// All messages that this host receives.
pub(super) struct Receiver {
    params: NdpParams,
    messages: Messages<Incoming>,
    /// NDP §3.2.2: a message that has finished is never taken for a new one.
    finished: FinishedMessages,
    pulls: PullQueue,
}

impl Receiver {
    pub(super) fn new(params: NdpParams, context: &HostContext) -> Receiver {
        let pulls = PullQueue::new(&params, context.sizes.slot(context.nic));
        let messages = Messages::default();
        Receiver { params, messages, finished: FinishedMessages::default(), pulls }
    }

    pub(super) fn live(&self) -> usize {
        self.messages.len()
    }

    /// Asks for what a packet about message `id` touches, or a pull.
    #[inline]
    pub(super) fn anticipate(&self, id: Option<MessageId>, packet: Option<&Packet>, ahead: Ahead) {
        let Some(incoming) = self.messages.recent(id) else { return };
        match ahead {
            Ahead::Far => prefetch(incoming),
            Ahead::Near => {
                packet.into_iter().for_each(|packet| incoming.received.anticipate(packet.index));
                incoming.paths.anticipate();
            }
        }
    }

    /// The sender is gone.
    pub(super) fn forget(&mut self, peer: HostId) {
        self.messages.forget(peer);
        self.pulls.remove(|key| key.0 != peer);
        self.finished.forget(peer);
    }

    /// NDP §3.2: a packet is acknowledged at once, and a header negatively; each earns a pull.
    pub(super) fn arrived(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        let Some(incoming) = self.messages.named(key) else {
            return self.first(shared, now, packet);
        };
        if packet.index >= incoming.packets {
            return;
        }
        incoming.active = now;
        if incoming.repeats > 0 {
            incoming.repeats = 0;
            incoming.listen(shared, key, now);
        }
        let whole = packet.is_data();
        let new = match whole {
            true => incoming.received.insert(packet.index),
            false => !incoming.received.contains(packet.index),
        };
        if whole && new {
            incoming.deliver(shared, key, packet);
            if incoming.received.len() == incoming.packets {
                return self.complete(shared, key, packet);
            }
        }
        incoming.step(if whole { ReceiverEvent::Data } else { ReceiverEvent::Header });
        // A header of what has arrived by now needs no repetition.
        let kind = if whole || !new { PacketKind::Ack } else { PacketKind::Nack };
        let mut answer = incoming.control(shared, key, kind);
        answer.index = packet.index;
        if new || self.params.pull_duplicates {
            if self.params.pull_ack && self.pulls.is_free(now) {
                incoming.pull(&mut answer);
                self.pulls.left(now);
            } else {
                incoming.queued += 1;
                if incoming.queued == 1 {
                    self.pulls.push(incoming.class, key);
                }
            }
        }
        shared.control.push_back(answer);
        self.arm(shared, now);
    }

    /// A packet of a message that is not being received: a new one, or one that has finished.
    #[cold]
    fn first(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let (peer, id) = (packet.src, packet.message);
        let Ok(packets) = u32::try_from(shared.context.sizes.packets(packet.message_bytes)) else { return };
        if self.finished.contains(peer, id) {
            // The sender has not heard that it is done.
            let ack = shared.control_packet(PacketKind::Ack, peer, id, packet.tag, packet.entropy);
            shared.control.push_back(Packet { index: packet.index, count: packets, ..ack });
            return;
        }
        if packet.index >= packets {
            return;
        }
        let path = (shared.context.path)(peer);
        let patience = self.params.timeout(&path).saturating_mul(SILENT_TIMEOUTS);
        let seed = mix(u64::from(shared.context.host.0) << 32 | u64::from(id));
        let paths = Paths::new(&self.params, &path, packet.entropy, seed, false);
        let mut incoming = Incoming {
            packets,
            received: IndexWindow::default(),
            pulled: 0,
            queued: 0,
            class: packet.remaining,
            tag: packet.tag,
            paths,
            active: now,
            patience,
            repeats: 0,
            silence_at: Time::MAX,
            state: ReceiverState::Receiving,
        };
        incoming.listen(shared, (peer, id), now);
        self.messages.insert((peer, id), incoming);
        self.arrived(shared, now, packet);
    }

    /// NDP §3.2: with the last packet the message's pulls leave the queue; here, as their turn comes.
    fn complete(&mut self, shared: &mut Shared, key: MessageId, packet: &Packet) {
        let Some(mut incoming) = self.messages.remove(key) else { return };
        incoming.step(ReceiverEvent::Last);
        let mut ack = incoming.control(shared, key, PacketKind::Ack);
        ack.index = packet.index;
        shared.control.push_back(ack);
        self.finished.insert(key.0, key.1);
        let completed = EndpointEvent::Completed { tag: packet.tag, src: key.0, message: key.1 };
        shared.events.push_back(completed);
    }

    /// NDP §3.2: the next pull of the queue, one a frame time of this host's link.
    pub(super) fn pull(&mut self, shared: &mut Shared, now: Time) {
        self.pulls.armed = false;
        while self.pulls.next() <= now {
            let Some(key) = self.pulls.pop() else { return };
            let Some(incoming) = self.messages.named(key) else { continue };
            incoming.queued -= 1;
            incoming.active = now;
            let mut pull = incoming.control(shared, key, PacketKind::Pull);
            incoming.pull(&mut pull);
            shared.control.push_back(pull);
            if incoming.queued > 0 {
                self.pulls.push(incoming.class, key);
            }
            self.pulls.left(now);
        }
        self.arm(shared, now);
    }

    /// Arms the deadline of the next pull, if one waits.
    #[inline]
    fn arm(&mut self, shared: &mut Shared, now: Time) {
        if !self.pulls.armed && !self.pulls.is_empty() {
            shared.timers.arm(self.pulls.next().max(now), TimerKey::Pull);
            self.pulls.armed = true;
        }
    }

    /// Repeats the last pull when nothing has come of it: it may have been lost.
    pub(super) fn silence(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(incoming) = self.messages.named((peer, id)) else { return };
        if now < incoming.silence_at {
            return;
        }
        let since = if incoming.queued > 0 { now } else { incoming.active };
        if since.saturating_add(incoming.patience()) > now {
            return incoming.listen(shared, (peer, id), since);
        }
        incoming.step(ReceiverEvent::Silence);
        incoming.active = now;
        incoming.repeats = (incoming.repeats + 1).min(MAX_REPEATS);
        let mut pull = incoming.control(shared, (peer, id), PacketKind::Pull);
        pull.token = incoming.pulled;
        pull.flags = PacketFlags::PULL.with(PacketFlags::AGAIN);
        shared.control.push_back(pull);
        incoming.listen(shared, (peer, id), now);
    }
}

impl Incoming {
    fn step(&mut self, event: ReceiverEvent) {
        if let Some(next) = self.state.on(event) {
            self.state = next;
        }
    }

    /// How long it may be silent before the last pull is repeated.
    fn patience(&self) -> Time {
        self.patience.saturating_mul(1 << self.repeats)
    }

    /// Puts the silence deadline where it is due when nothing happens after `since`.
    fn listen(&mut self, shared: &mut Shared, (peer, id): MessageId, since: Time) {
        self.silence_at = since.saturating_add(self.patience());
        shared.timers.arm(self.silence_at, TimerKey::Silence(peer, id));
    }

    fn deliver(&self, shared: &mut Shared, (src, message): MessageId, packet: &Packet) {
        let (tag, bytes) = (packet.tag, u32::from(packet.payload));
        shared.events.push_back(EndpointEvent::Delivered { tag, src, message, bytes });
    }

    /// A control packet on the next path, with what has arrived without a hole.
    fn control(&mut self, shared: &Shared, (peer, id): MessageId, kind: PacketKind) -> Packet {
        let path = self.paths.next(None);
        let packet = shared.control_packet(kind, peer, id, self.tag, self.paths.entropy(path));
        Packet { count: self.received.next_missing(0), ..packet }
    }

    /// NDP §3.2.1: pulls are numbered for each message, so that one that comes late has been made up for.
    fn pull(&mut self, packet: &mut Packet) {
        self.pulled += 1;
        packet.token = self.pulled;
        packet.flags = PacketFlags::PULL;
    }
}
