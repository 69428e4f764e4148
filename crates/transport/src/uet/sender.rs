//! The sending half: messages in turn, a packet each.

use super::control::nscc::{Scale, Window};
use super::control::rccc::Credit;
use super::outgoing::{Outgoing, SenderEvent, Start};
use super::packets::Pull;
use super::{Settings, Shared, TimerKey};
use crate::endpoint::{Gone, HostContext};
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::messages::{MessageId, Messages};
use crate::probes::{self, Sink};
use crate::spraying::Entropies;
use crate::two_sided::SendingHalf;
use headway_gauges::{GaugeInfo, RoundTrips};
use headway_packet::{HostId, Packet, PacketKind, TypedView};
use headway_primitives::mix;
use headway_units::Time;
use slotmap::DefaultKey;
use std::collections::VecDeque;

/// Delay that a sender with a window goes by.
pub(super) const AVERAGE_DELAY: GaugeInfo = GaugeInfo::seconds(
    "average_delay_s",
    "average delay",
    "the average time that packets spend beyond that of an empty path, as the sender keeps it",
);

/// All messages that this host sends.
pub struct Sender {
    settings: Settings,
    /// Constants of windows by base round trip: one of the network, or of each pair.
    scales: Vec<(Time, Scale)>,
    messages: Messages<(Outgoing, usize)>,
    /// Messages with something to send, a packet each in turn.
    turns: VecDeque<DefaultKey>,
    /// Control packets that left in a row while data waited.
    controls: u32,
    round_trips: RoundTrips,
}

/// Control packets for each data packet while both wait. UET §0.4
const CONTROLS: u32 = 10;

impl Sender {
    pub(super) fn new(settings: Settings) -> Sender {
        Sender {
            settings,
            scales: Vec::new(),
            messages: Messages::default(),
            turns: VecDeque::new(),
            controls: 0,
            round_trips: RoundTrips::default(),
        }
    }

    /// True if data leaves next; called when both data and control wait for the wire.
    pub(super) fn is_turn_of_data(&mut self) -> bool {
        self.controls = (self.controls + 1) % (CONTROLS + 1);
        self.controls == 0
    }

    /// The place of the numbers for windows over a path of this base round trip.
    fn scale_place(&mut self, context: &HostContext, base_rtt: Time) -> Option<usize> {
        let params = self.settings.window.as_ref()?;
        // One entry for a network whose base round trip is known, so a search is cheap.
        let known = self.scales.iter().position(|(rtt, _)| *rtt == base_rtt);
        Some(known.unwrap_or_else(|| {
            let sizes = (context.sizes.full_wire(), context.sizes.payload);
            self.scales.push((base_rtt, Scale::new(params, base_rtt, context.nic, sizes)));
            self.scales.len() - 1
        }))
    }

    /// Releases the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let out = &mut self.messages[key].0;
        let (first, count) =
            out.schedule.release_and_arm(&mut shared.timers, now, TimerKey::InitialWindow(peer, id));
        out.released = first + count;
        self.take_turns(key);
    }

    /// Puts a message into the ring if it has something to send.
    #[inline]
    fn take_turns(&mut self, key: DefaultKey) {
        let out = &mut self.messages[key].0;
        if !out.in_turns && out.is_ready() {
            out.in_turns = true;
            self.turns.push_back(key);
        }
    }

    /// Handles a receiver's answer about a message, or a header that a switch returns.
    pub(super) fn process_answer(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Some(key) = self.messages.find_key((packet.src, packet.message)) else { return };
        let (out, scale) = &mut self.messages[key];
        let scale = self.scales.get(*scale).map(|(_, scale)| scale);
        out.mark_heard(now);
        let mut event = SenderEvent::Answer;
        match packet.kind {
            PacketKind::Ack => {
                let sample = out.process_ack(scale, now, packet);
                sample.into_iter().for_each(|sample| self.round_trips.note(sample));
            }
            PacketKind::Nack => out.process_nack(scale, now, packet),
            PacketKind::Header => {
                event = SenderEvent::Bounce;
                out.process_bounce(now, packet);
            }
            _ => {}
        }
        out.step_state(event);
        // Speculation has ended before, so that what a pull permits is not voided with it.
        if packet.kind == PacketKind::Pull {
            let permitted = Pull::from_packet(packet).permitted;
            out.credit.iter_mut().for_each(|credit| credit.process_pull(permitted));
        }
        if out.is_done() {
            return self.finish_message(shared, key, (packet.src, packet.message));
        }
        // The receiver knows nothing of returned headers.
        if event == SenderEvent::Bounce && out.wants_credit() {
            out.request_credit(shared, now);
        }
        // `reset_backoff` has to run in any case, as it ends the doubling: it comes first.
        if out.reset_backoff() || out.is_unwatched() {
            out.arm_deadline(shared, now);
        }
        if packet.kind == PacketKind::Ack {
            out.put_off(shared, scale, now);
        }
        self.take_turns(key);
    }

    /// NSCC §2.7: a sender that has heard nothing for a while asks for the arrivals.
    pub(super) fn probe_due(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        if let Some(key) = self.messages.find_key((peer, id)) {
            self.messages[key].0.send_probe(shared, now);
        }
    }

    fn finish_message(&mut self, shared: &mut Shared, key: DefaultKey, id: MessageId) {
        if let Some((mut out, _)) = self.messages.remove(id) {
            out.step_state(SenderEvent::Finished);
            // Only a message in the ring has to be searched for.
            if out.in_turns {
                self.turns.retain(|k| *k != key);
            }
            shared.report_acknowledged(&out.message);
        }
    }

    /// UET §2.6: sends lost packets again, or requests credit for them.
    pub(super) fn handle_overdue(&mut self, shared: &mut Shared, now: Time, peer: HostId, id: u32) {
        let Some(key) = self.messages.find_key((peer, id)) else { return };
        let (out, scale) = &mut self.messages[key];
        if !out.expire_deadline(now) {
            return;
        }
        let scale = self.scales.get(*scale).map(|(_, scale)| scale);
        if out.give_up_overdue(scale, now) {
            if out.wants_credit() {
                out.request_credit(shared, now);
            }
        } else if out.stalled_at().is_some_and(|at| at <= now) {
            // Stalled: the pull that it waits for may be lost. UET §2.6
            out.request_credit(shared, now);
            out.back_off();
        }
        out.arm_deadline(shared, now);
        self.take_turns(key);
    }
}

impl SendingHalf<TimerKey> for Sender {
    /// UET §2.1, §3.1: a new message sends a bandwidth-delay product and a half at once.
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let context = &shared.context;
        let path = (context.path)(message.dst);
        let sizes = &context.sizes;
        let full = u64::from(sizes.full_wire());
        let packets = sizes.packets_of(message.bytes) as u32;
        let base_rtt = self.settings.base_rtt(&path);
        let most = self.settings.largest_window(context, base_rtt);
        let window = u32::try_from(most.div_ceil(full)).unwrap_or(u32::MAX);
        let slot = sizes.slot_time(path.bottleneck);
        let schedule = FirstWindowSchedule::new(message.initial_window, window, packets, slot, now);
        // A window in packets is converted to bytes only if it is asked for: the largest one is exact to the byte.
        let asked = message.initial_window.share > 1 || message.initial_window.window.is_some();
        let bytes = if asked { u64::from(schedule.window_packets()) * full } else { most } as i64;
        let scale = self.scale_place(context, base_rtt);
        let window = scale.map(|place| Window::new(&self.scales[place].1, bytes, now));
        let credit = self.settings.credit.as_ref().map(|_| Credit::new(bytes, most as i64));
        let timeout = self.settings.packet_timeout(&path);
        // By host and message, so that entropies do not depend on the order in which messages are opened.
        let seed = mix(u64::from(context.host.0) << 32 | u64::from(message.id)) ^ context.seed;
        let (policy, count) = (self.settings.common.spraying, self.settings.common.entropies);
        let start = Start {
            packets,
            schedule,
            window,
            credit,
            sleek: scale.is_some_and(|place| self.scales[place].1.sleek),
            entropies: Entropies::new(policy, count, (&path, timeout), message.entropy, seed),
            timeout,
            base_rtt,
            asks_again: self.settings.credit.as_ref().is_some_and(|credit| !credit.counts_again),
        };
        let out = Outgoing::new(context, message, start, now);
        // Without a window: `scales.get` finds nothing at this place.
        self.messages.insert((message.dst, message.id), (out, scale.unwrap_or(usize::MAX)));
        self.release_first_window(shared, now, message.dst, message.id);
    }

    /// The next data packet, for a wire that is free now.
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let key = self.turns.pop_front()?;
            let waiting = if self.settings.shares_credit() { self.turns.len() } else { 1 };
            let out = &mut self.messages[key].0;
            let Some(packet) = out.send_packet(&shared.context, now, waiting) else {
                out.in_turns = false;
                continue;
            };
            if out.is_unwatched() {
                out.arm_deadline(shared, now);
            }
            out.in_turns = out.is_ready();
            if out.in_turns {
                self.turns.push_back(key);
            }
            return Some(packet);
        }
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The receiver is gone.
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        shared.fail_messages(self.messages.forget_gone(gone).iter().map(|(out, _)| out.message));
        self.turns.retain(|key| self.messages.contains_key(*key));
    }

    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some((out, _)) = self.messages.named_now(id) else { return };
        found(&probes::IN_FLIGHT, out.packets_away());
        out.window_packets().into_iter().for_each(|packets| found(&probes::WINDOW, packets));
        let delay = out.window.as_ref().map(Window::average_delay);
        delay.into_iter().for_each(|seconds| found(&AVERAGE_DELAY, seconds));
        out.permitted_packets().into_iter().for_each(|packets| found(&probes::PERMITTED, packets));
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        Some(&self.round_trips)
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
