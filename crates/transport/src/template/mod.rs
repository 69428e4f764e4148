//! A transport to copy: a window, and for every packet an acknowledgement and a time-out. It is from no
//! paper, and shows all that a transport has to do. How to start: `docs/adding-a-transport.md`.

mod packets;

use crate::two_sided::{Machine, ReceivingHalf, SendingHalf, TwoSided};
use crate::{HostContext, Message, Transport, TransportInfo};
use crate::{endpoint::Gone, messages::MessageId, probes, probes::Sink, promises::Promised};
use crate::{finished::FinishedMessages, index_window::IndexWindow};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketFlags, PacketKind, TypedView};
use headway_params::ParamKind;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

headway_params::params! {
    /// Parameters of the template.
    pub struct TemplateParams {
        /// Packets sent and not acknowledged at most; 0 = one bandwidth-delay product of the pair.
        window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
    }
}

/// The transport's declaration.
pub struct Template;

impl Transport for Template {
    type Endpoint = TemplateEndpoint;
    type Params = TemplateParams;
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::WINDOW, probes::IN_FLIGHT];
    const INFO: TransportInfo = TransportInfo {
        name: "template",
        summary: "a fixed window with an acknowledgement and a time-out for every packet: the one to copy",
        paper: "none",
        discipline: "drop-tail",
        states: &[],
        deviations: &[],
    };
    fn make_endpoint(params: &TemplateParams, context: HostContext) -> TemplateEndpoint {
        Machine::new(Sender { window: params.window, ..Sender::default() }, Receiver::default(), context)
    }
}

impl Promised for Template {}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// A packet's turn to leave: its message, its index, and how often it has left before.
        Turn(HostId, u32, u32, u32),
    }
}
type Shared = crate::shared::Shared<TimerKey>;
/// The template's machine of one host, with all its messages.
pub type TemplateEndpoint = Machine<Template>;

impl TwoSided for Template {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;
    fn route_packet(machine: &mut Machine<Self>, _now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, packet),
            PacketKind::Ack => sender.receive_ack(shared, packet),
            _ => {}
        }
    }
    fn handle_deadline(machine: &mut Machine<Self>, _at: Time, _now: Time, turn: TimerKey) {
        machine.sender.ready.push_back(turn);
    }
}

/// A message being sent; `next` is its first packet that has not had its turn.
struct Outgoing {
    message: Message,
    packets: u32,
    window: u32,
    next: u32,
    acked: IndexWindow,
}

/// All messages that this host sends, and the packets whose turn has come.
#[derive(Default)]
pub struct Sender {
    window: u64,
    messages: FxHashMap<(HostId, u32), Outgoing>,
    ready: VecDeque<TimerKey>,
}

impl Sender {
    fn receive_ack(&mut self, shared: &mut Shared, ack: &Packet) {
        let (key, index) = ((ack.src, ack.message), packets::Ack::from_packet(ack).index);
        // A stray index would make the window as large as it says.
        let Some(out) = self.messages.get_mut(&key).filter(|out| index < out.packets) else { return };
        let new = out.acked.insert(index);
        if out.acked.len() == out.packets {
            shared.report_acknowledged(&out.message);
            self.messages.remove(&key);
        } else if new && out.next < out.packets && out.message.responsive {
            self.ready.push_back(TimerKey::Turn(key.0, key.1, out.next, 0));
            out.next += 1;
        }
    }
}

impl SendingHalf<TimerKey> for Sender {
    fn open_message(&mut self, shared: &mut Shared, now: Time, message: &Message) {
        let (peer, id) = (message.dst, message.id);
        let mut initial_window = shared.context.initial_window(self.window, message, now);
        while let Some(at) = initial_window.next() {
            let (first, count) = initial_window.take_released(at);
            (first..first + count)
                .for_each(|index| shared.timers.arm_deadline(at, TimerKey::Turn(peer, id, index, 0)));
        }
        let (window, acked) = (initial_window.window_packets(), IndexWindow::default());
        let packets = shared.context.sizes.packets_of(message.bytes) as u32;
        self.messages
            .insert((peer, id), Outgoing { message: *message, packets, window, next: window, acked });
        // Those of this instant must be ready before the driver asks for the next deadline.
        self.ready.extend(std::iter::from_fn(|| shared.timers.pop_due(now)).map(|(_, turn)| turn));
    }
    fn poll_data(&mut self, shared: &mut Shared, now: Time) -> Option<Packet> {
        loop {
            let TimerKey::Turn(peer, id, index, times) = self.ready.pop_front()?;
            let out = self.messages.get(&(peer, id)).filter(|out| !out.acked.contains(index));
            // Deadlines are not cancelled: the turn of a packet that was acknowledged since comes to nothing.
            let Some(out) = out else { continue };
            let timeout = (shared.context.path)(peer).max_rtt.saturating_mul(2 << times.min(10));
            let turn = TimerKey::Turn(peer, id, index, times + 1);
            shared.timers.arm_deadline(now.saturating_add(timeout), turn);
            let flags = PacketFlags::only_if(times > 0, PacketFlags::AGAIN);
            return Some(Packet { flags, ..shared.context.data_packet(&out.message, index, out.window) });
        }
    }
    fn forget_messages(&mut self, shared: &mut Shared, gone: Gone) {
        let lost = self.messages.extract_if(|key, _| gone.covers_message(*key)).map(|(_, out)| out.message);
        shared.fail_messages(lost);
    }
    fn probe_message(&self, _: &Shared, id: MessageId, found: &mut Sink<'_>) {
        let Some(out) = self.messages.get(&id) else { return };
        found(&probes::WINDOW, out.window.into());
        found(&probes::IN_FLIGHT, f64::from(out.next - out.acked.len()));
    }
    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}

/// All messages that this host receives.
#[derive(Default)]
pub struct Receiver {
    messages: FxHashMap<(HostId, u32), IndexWindow>,
    finished: FinishedMessages,
}

impl Receiver {
    fn receive_data(&mut self, shared: &mut Shared, packet: &Packet) {
        let (src, message) = (packet.src, packet.message);
        let packets::Data { index, message_bytes, .. } = packets::Data::from_packet(packet);
        let packets = shared.context.sizes.packets_of(message_bytes);
        // Every copy is acknowledged: the acknowledgement of the one before may be lost.
        let ack = packets::Ack { index };
        shared.control.push_back(shared.control_view(ack, src, message, packet.tag, packet.entropy));
        if u64::from(index) >= packets || self.finished.contains(src, message) {
            return;
        }
        let received = self.messages.entry((src, message)).or_default();
        if received.insert(index) {
            shared.report_delivered(packet);
        }
        if u64::from(received.len()) == packets {
            self.messages.remove(&(src, message));
            self.finished.insert(src, message);
            shared.report_completed(packet);
        }
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    fn forget_messages(&mut self, _shared: &mut Shared, _now: Time, gone: Gone) {
        self.messages.retain(|key, _| !gone.covers_message(*key));
        self.finished.forget_gone(gone);
    }
    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
