//! A transport to copy: a window, and for every packet an acknowledgement and a time-out. It is from no
//! paper, and shows all that a transport has to do. How to start: `docs/adding-a-transport.md`.

use crate::{Endpoint, EndpointEvent, HostContext, Message, Transport, TransportInfo};
use crate::{finished::FinishedMessages, index_window::IndexWindow};
use crate::{opening::OpeningSchedule, shared::Shared};
use headway_packet::{HostId, Packet, PacketFlags, PacketKind};
use headway_units::{ParamKind, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

headway_units::params! {
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
    const INFO: TransportInfo = TransportInfo {
        name: "template",
        summary: "a fixed window with an acknowledgement and a time-out for every packet: the one to copy",
        paper: "none",
        discipline: "drop-tail",
        states: &[],
        deviations: &[],
    };
    fn endpoint(params: &TemplateParams, context: HostContext) -> TemplateEndpoint {
        let (window, shared) = (params.window as u32, Shared::new(context));
        let (outgoing, incoming, finished, ready) = Default::default();
        TemplateEndpoint { window, shared, outgoing, incoming, finished, ready }
    }
}

/// A packet's turn to leave: its message, its index, and how often it has left before.
type Turn = ((HostId, u32), u32, u32);

/// A message being sent; `next` is its first packet that has not had its turn.
struct Outgoing {
    message: Message,
    packets: u32,
    window: u32,
    next: u32,
    acked: IndexWindow,
}

/// One host's instance.
pub struct TemplateEndpoint {
    window: u32,
    shared: Shared<Turn>,
    outgoing: FxHashMap<(HostId, u32), Outgoing>,
    incoming: FxHashMap<(HostId, u32), IndexWindow>,
    finished: FinishedMessages,
    ready: VecDeque<Turn>,
}

impl TemplateEndpoint {
    fn data(&mut self, packet: &Packet) {
        let (src, message, tag) = (packet.src, packet.message, packet.tag);
        // Every copy is acknowledged: the acknowledgement of the one before may be lost.
        let ack = self.shared.control_packet(PacketKind::Ack, src, message, tag, packet.entropy);
        self.shared.control.push_back(Packet { index: packet.index, ..ack });
        if self.finished.contains(src, message) {
            return;
        }
        let (events, received) = (&mut self.shared.events, self.incoming.entry((src, message)).or_default());
        if received.insert(packet.index) {
            events.push_back(EndpointEvent::Delivered { tag, src, message, bytes: packet.payload.into() });
        }
        if u64::from(received.len()) == self.shared.context.sizes.packets(packet.message_bytes) {
            self.incoming.remove(&(src, message));
            self.finished.insert(src, message);
            events.push_back(EndpointEvent::Completed { tag, src, message });
        }
    }
    fn ack(&mut self, key: (HostId, u32), index: u32) {
        let Some(out) = self.outgoing.get_mut(&key) else { return };
        let new = out.acked.insert(index);
        if out.acked.len() == out.packets {
            self.shared.events.push_back(EndpointEvent::Acknowledged { tag: out.message.tag });
            self.outgoing.remove(&key);
        } else if new && out.next < out.packets && out.message.responsive {
            self.ready.push_back((key, out.next, 0));
            out.next += 1;
        }
    }
}

impl Endpoint for TemplateEndpoint {
    fn open(&mut self, now: Time, message: &Message) {
        let (context, key) = (&self.shared.context, (message.dst, message.id));
        let (path, sizes) = ((context.path)(message.dst), &context.sizes);
        let window = context.first_window(self.window.into(), &path, &message.opening);
        let (packets, slot) = (sizes.packets(message.bytes) as u32, sizes.slot(path.bottleneck));
        let mut opening = OpeningSchedule::new(message.opening, window, packets, slot, now);
        while let Some(at) = opening.next() {
            let (first, count) = opening.take(at);
            (first..first + count).for_each(|index| self.shared.timers.arm(at, (key, index, 0)));
        }
        let (window, acked) = (opening.window(), IndexWindow::default());
        self.outgoing.insert(key, Outgoing { message: *message, packets, window, next: window, acked });
        self.timeout(now);
    }
    fn receive(&mut self, _now: Time, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => self.data(packet),
            PacketKind::Ack => self.ack((packet.src, packet.message), packet.index),
            _ => {}
        }
    }
    fn timeout(&mut self, now: Time) {
        self.ready.extend(std::iter::from_fn(|| self.shared.timers.pop_due(now)).map(|(_, turn)| turn));
    }
    fn forget(&mut self, _now: Time, peer: HostId) {
        self.shared.forget(peer, |turn| turn.0.0 == peer);
        self.finished.forget(peer);
        self.incoming.retain(|key, _| key.0 != peer);
        self.ready.retain(|turn| turn.0.0 != peer);
        self.shared.fail(self.outgoing.extract_if(|key, _| key.0 == peer).map(|(_, out)| out.message));
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let Some(ack) = self.shared.control.pop_front() {
            return Some(ack);
        }
        loop {
            let (key, index, times) = self.ready.pop_front()?;
            let Some(out) = self.outgoing.get(&key).filter(|o| !o.acked.contains(index)) else { continue };
            let (m, context) = (&out.message, &self.shared.context);
            let patience = (context.path)(m.dst).max_rtt.saturating_mul(2 << times.min(10));
            self.shared.timers.arm(now.saturating_add(patience), (key, index, times + 1));
            let flags = PacketFlags::when(times > 0, PacketFlags::AGAIN);
            return Some(Packet { flags, ..context.data_packet(m, index, out.window) });
        }
    }
    fn next_timeout(&self) -> Option<Time> {
        self.shared.timers.next()
    }
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.shared.events.pop_front()
    }
    fn live_messages(&self) -> usize {
        self.outgoing.len() + self.incoming.len()
    }
}
