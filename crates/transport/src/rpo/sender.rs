//! The sending half of RPO: the messages, and the two queues at the host's own link.

use super::outgoing::{Next, Outgoing};
use super::packets::{Data, Grant};
use super::{Detection, NORMAL, OPPORTUNISTIC, RpoParams, Shared, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::messages::MessageId;
use crate::messages::Messages;
use crate::probes::{self, Sink};
use crate::shared::scale_time;
use crate::two_sided::SendingHalf;
use headway_gauges::{Gauge, GaugeInfo, SpareMeter};
use headway_packet::{Ecn, HostId, Packet, PacketFlags, TypedView};
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

pub(super) const SENT: GaugeInfo = GaugeInfo::packets("data_packets", "data packets", "sent by a host");
pub(super) const SENT_OPPORTUNISTIC: GaugeInfo = GaugeInfo::packets(
    "opportunistic_packets",
    "opportunistic packets",
    "of those, from the end of a message with low priority",
);

/// Packets of one message that wait for the wire.
#[derive(Clone, Copy)]
struct Run {
    message: DefaultKey,
    next: Next,
    count: u32,
}

/// All messages that this host sends.
pub struct Sender {
    params: RpoParams,
    messages: Messages<Outgoing>,
    /// First in, first out over all messages.
    normal: VecDeque<Run>,
    /// Served when nothing normal waits. Packets that have become normal ones are passed over.
    opportunistic: VecDeque<Run>,
    /// Opportunistic packets that do wait.
    waiting: u32,
    /// Part of the host's link that normal packets leave over, in round trips of its longest path.
    spare: SpareMeter,
    period: Time,
    data_packets: u64,
    opportunistic_packets: u64,
}

impl Sender {
    pub(super) fn new(params: RpoParams) -> Sender {
        Sender {
            params,
            messages: Messages::default(),
            normal: VecDeque::new(),
            opportunistic: VecDeque::new(),
            waiting: 0,
            // Replaced by `open_message`, as soon as there is a path to measure by.
            spare: SpareMeter::new(headway_units::Rate::gbps(1), Time::ZERO, Time::ZERO),
            period: Time::ZERO,
            data_packets: 0,
            opportunistic_packets: 0,
        }
    }

    /// Queues the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key];
        let (first, count) =
            out.initial_window.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        if count > 0 {
            let next = Next { index: first, again: false };
            self.normal.push_back(Run { message: key, next, count });
        }
    }

    /// RPO §IV-A: a grant releases a normal packet, and an opportunistic one unless it is marked.
    pub(super) fn receive_grant(&mut self, shared: &mut Shared, now: Time, grant: &Packet) {
        let Some(key) = self.messages.find_key((grant.src, grant.message)) else { return };
        let before = self.messages[key].waiting_opportunistic();
        // It queues, drops and converts opportunistic packets: what they add up to follows by difference.
        self.answer_grant(shared, now, grant, key);
        // Added before it is subtracted, because the numbers have no sign.
        self.waiting = self.waiting + self.messages[key].waiting_opportunistic() - before;
    }

    fn answer_grant(&mut self, shared: &mut Shared, now: Time, grant: &Packet, key: DefaultKey) {
        let out = &mut self.messages[key];
        out.mark_heard(shared, now);
        let acknowledged = self.params.detection != Detection::Timer;
        let tolerance = acknowledged.then_some(self.params.reordering as u32);
        if !out.acknowledge_grant(now, grant, tolerance) || !out.message.responsive {
            return;
        }
        let mut both = false;
        if grant.flags.has_all(PacketFlags::AGAIN) {
            let Grant { index, permitted, .. } = Grant::from_packet(grant);
            match out.answer_request(now, index, permitted > 0, acknowledged) {
                Some((next, NORMAL)) => self.normal.push_back(Run { message: key, next, count: 1 }),
                Some((next, _)) => self.opportunistic.push_back(Run { message: key, next, count: 1 }),
                None => {}
            }
        } else {
            both = out.add_permission(grant.flags.has_all(PacketFlags::ECE));
        }
        self.spend_permissions(shared, now, key);
        // The normal packet first: it may be the one at which the two ends meet.
        if both && let Some(next) = self.messages[key].next_opportunistic() {
            self.opportunistic.push_back(Run { message: key, next, count: 1 });
        }
    }

    /// Queues normal packets for the permissions at hand.
    fn spend_permissions(&mut self, shared: &mut Shared, now: Time, key: DefaultKey) {
        let out = &mut self.messages[key];
        while let Some(next) = out.next_normal(now) {
            match self.normal.back_mut() {
                Some(run) if run.message == key && run.is_followed_by(next) => run.count += 1,
                _ => self.normal.push_back(Run { message: key, next, count: 1 }),
            }
        }
        out.await_due(shared, now);
    }

    /// An opportunistic packet of a message whose ends have met is due.
    pub(super) fn meeting_due(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let before = self.messages[key].waiting_opportunistic();
        self.spend_permissions(shared, now, key);
        self.waiting = self.waiting + self.messages[key].waiting_opportunistic() - before;
    }

    /// Nothing has been heard of a message.
    pub(super) fn idle_timeout(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        if let Some(next) = self.messages[key].idle_timeout(shared, now) {
            self.normal.push_back(Run { message: key, next, count: 1 });
        }
    }

    /// The receiver has everything.
    pub(super) fn finish_message(&mut self, shared: &mut Shared, packet: &Packet) {
        if let Some(mut out) = self.messages.remove((packet.src, packet.message)) {
            out.mark_finished();
            self.waiting -= out.waiting_opportunistic();
            shared.report_acknowledged(&out.message);
        }
    }

    fn poll_normal(&mut self, shared: &Shared, now: Time) -> Option<Packet> {
        loop {
            let run = self.normal.front_mut()?;
            let (key, next) = (run.message, run.next);
            run.next.index += 1;
            run.count -= 1;
            if run.count == 0 {
                self.normal.pop_front();
            }
            // Packets of a finished message are left in the queue, rather than searched for.
            let Some(out) = self.messages.get_mut(key) else { continue };
            let token = out.normal_leaves(now, next);
            let mut packet = data_packet(out, &shared.context, next, token);
            if self.is_crowded(&shared.context, now) {
                packet.ecn = Ecn::Ce;
            }
            self.spare.note(now, packet.wire.into());
            return Some(packet);
        }
    }

    /// True if the host's own link marks: RPO §IV-B, as a port does.
    fn is_crowded(&mut self, context: &HostContext, now: Time) -> bool {
        let k = self.spare.spare(now) / u64::from(context.sizes.full_wire());
        self.params.nic_marks && u64::from(self.waiting) >= k
    }

    fn poll_opportunistic(&mut self, shared: &Shared, now: Time) -> Option<Packet> {
        loop {
            let run = self.opportunistic.pop_front()?;
            let Some(out) = self.messages.get_mut(run.message) else { continue };
            let Some(token) = out.opportunistic_leaves(now, run.next.index) else { continue };
            self.waiting -= 1;
            self.opportunistic_packets += 1;
            // An entry of before the packet was lost and queued again stands for the repeat.
            let next = Next { again: run.next.again || out.is_repeat(run.next.index), ..run.next };
            let mut packet = data_packet(out, &shared.context, next, token);
            packet.priority = OPPORTUNISTIC;
            return Some(packet);
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// RPO §IV-A: a new message sends one bandwidth-delay product of normal packets.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let context = &shared.context;
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets_of(message.bytes) as u32;
        let window = context.first_window(self.params.window, &path, &message.initial_window);
        // k counts the longest round trip so far; a longer one starts the measurement again.
        if path.base_rtt > self.period {
            self.period = path.base_rtt;
            self.spare = SpareMeter::new(context.nic, path.base_rtt, now + path.base_rtt);
        }
        let slot = context.sizes.slot_time(path.bottleneck);
        let initial_window = FirstWindowSchedule::new(message.initial_window, window, packets, slot, now);
        let meeting_timeout = scale_time(path.base_rtt, self.params.meeting_patience);
        let restart = self.params.scaled_timeout(&path, self.params.restart_timeout);
        let out = Outgoing::new(message, initial_window, packets, now, (meeting_timeout, restart), &path);
        let key = self.messages.insert((message.dst, message.id), out);
        self.release_first_window(shared, now, message.dst, message.id);
        self.messages[key].arm_timeout(shared, now);
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        let packet = self.poll_normal(shared, now).or_else(|| self.poll_opportunistic(shared, now))?;
        self.data_packets += 1;
        Some(packet)
    }

    fn is_ready(&self) -> bool {
        !self.normal.is_empty() || self.waiting > 0
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|out| out.message));
        self.normal.retain(|run| self.messages.contains_key(run.message));
        self.opportunistic.retain(|run| self.messages.contains_key(run.message));
        self.waiting = self.messages.values().map(Outgoing::waiting_opportunistic).sum();
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some(out) = self.messages.named_now(id) else { return };
        found(&probes::PERMITTED, out.unsent_permissions().into());
        if out.round_trip > Time::ZERO {
            found(&probes::SMOOTHED_RTT, out.round_trip.as_secs_f64());
        }
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }

    fn collect_gauges(&self) -> Vec<Gauge> {
        vec![SENT.count(self.data_packets), SENT_OPPORTUNISTIC.count(self.opportunistic_packets)]
    }
}

impl Run {
    /// True if a packet continues this run.
    fn is_followed_by(&self, next: Next) -> bool {
        // All of a run has the flags of its first packet, and a repetition has one of its own.
        !self.next.again && !next.again && self.next.index + self.count == next.index
    }
}

fn data_packet(out: &Outgoing, context: &HostContext, next: Next, departure: u32) -> Packet {
    let packet = context.data_packet(&out.message, next.index, out.initial_window.window_packets());
    let data = Data { departure, round_trip: out.round_trip, ..Data::from_packet(&packet) };
    let mut packet = data.put_on(packet);
    packet.ecn = Ecn::Ect;
    packet.flags = PacketFlags::only_if(out.is_unscheduled(next), PacketFlags::UNSCHEDULED)
        .with(PacketFlags::only_if(next.again, PacketFlags::AGAIN));
    packet
}
