//! Machines broken on purpose: proof that the checks can fail.

use headway_gauges::{Gauge, RoundTrips};
use headway_packet::{HostId, Packet, PacketFlags, PacketKind, Stamps};
use headway_transport::endpoint::{Ahead, Next, SubflowShare};
use headway_transport::probes::Sink;
use headway_transport::{End, Endpoint, EndpointEvent, Message};
use headway_units::Time;
use std::cell::Cell;

/// Fault that is planted in a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine is correct.
    None,
    /// Permissions and acknowledgements of some packets are never heard.
    DeafToSomePermissions,
    /// The end of a message is reported twice.
    CompletesTwice,
    /// Bytes are delivered twice.
    DeliversTwice,
    /// One delivery is swallowed.
    DeliversShort,
    /// The sender's last word is swallowed.
    NeverAcknowledges,
    /// The sender's last word comes as soon as the first data packet leaves.
    AcknowledgesEarly,
    /// State of a message is never given back.
    KeepsState,
    /// A timer is always armed.
    EndlessTimer,
    /// No timer is ever armed.
    NoTimer,
    /// Sends the last packet of a message of more than a window right after its first.
    SendsUnauthorised,
    /// Sends a packet a second time without being asked.
    SendsTwice,
    /// Says that it has nothing to send.
    HidesPackets,
    /// Claims one more packet of first window in some data packets.
    WidensWindow,
    /// Data packets are a byte short.
    WrongSize,
    /// Packets carry another message's handle.
    WrongTag,
}

impl Fault {
    /// Every fault but none.
    pub const ALL: &[Fault] = &[
        Fault::DeafToSomePermissions,
        Fault::CompletesTwice,
        Fault::DeliversTwice,
        Fault::DeliversShort,
        Fault::NeverAcknowledges,
        Fault::AcknowledgesEarly,
        Fault::KeepsState,
        Fault::EndlessTimer,
        Fault::NoTimer,
        Fault::SendsUnauthorised,
        Fault::SendsTwice,
        Fault::HidesPackets,
        Fault::WidensWindow,
        Fault::WrongSize,
        Fault::WrongTag,
    ];
}

/// A machine with a fault.
pub struct Mutant<E> {
    inner: E,
    fault: Fault,
    pending: Option<EndpointEvent>,
    extra: Option<Packet>,
    /// Number of times that the fault has struck, where it strikes once.
    struck: u32,
    opened: usize,
    clock: Cell<Time>,
}

impl<E: Endpoint> Mutant<E> {
    /// `inner` with `fault`.
    pub fn new(inner: E, fault: Fault) -> Self {
        Mutant { inner, fault, pending: None, extra: None, struck: 0, opened: 0, clock: Cell::default() }
    }

    /// True if this is the first time.
    fn strike_once(&mut self) -> bool {
        self.struck += 1;
        self.struck == 1
    }

    /// True if the fault is that a packet is not heard.
    fn is_deaf_to(&self, packet: &Packet) -> bool {
        let kinds = [PacketKind::Grant, PacketKind::Token, PacketKind::Ack, PacketKind::Resend];
        let permission = kinds.contains(&packet.kind);
        // Credits are interchangeable: a machine does without some of them as a matter of course.
        let some = permission && packet.index % 7 == 3 || packet.kind == PacketKind::Credit;
        self.fault == Fault::DeafToSomePermissions && some
    }

    fn tamper_with(&mut self, packet: &mut Packet) {
        let fault = self.fault;
        match fault {
            Fault::WrongSize if packet.payload > 0 => packet.payload -= 1,
            // In every other packet, so that one message claims two windows.
            Fault::WidensWindow if packet.is_data() && packet.index % 2 == 1 => packet.count += 1,
            Fault::WrongTag => packet.tag += 1,
            Fault::SendsUnauthorised if packet.is_data() && packet.index == 0 => {
                let full = u64::from(headway_packet::Sizes::default().payload);
                let last = packet.message_bytes.div_ceil(full).max(1) as u32 - 1;
                let mut extra = *packet;
                extra.index = last;
                extra.payload =
                    headway_packet::Sizes::default().payload_of(packet.message_bytes, last.into());
                let sizes = headway_packet::Sizes::default();
                // Room for telemetry stays as it is in the packet.
                extra.wire = packet.wire - sizes.data_wire(packet.payload) + sizes.data_wire(extra.payload);
                extra.flags = PacketFlags::default();
                // Within the first window the packet would be allowed.
                self.extra = (last >= packet.count.max(1) && self.strike_once()).then_some(extra);
            }
            // A sender may repeat packet 0 by itself.
            Fault::SendsTwice if packet.is_data() && packet.index > 0 => {
                self.extra = self.strike_once().then_some(*packet);
            }
            Fault::AcknowledgesEarly if packet.is_data() && self.strike_once() => {
                self.pending = Some(EndpointEvent::Acknowledged { tag: packet.tag });
            }
            _ => {}
        }
    }
}

// A default in place of a forwarded call would hide the code of the machine inside.
#[deny(clippy::missing_trait_methods)]
impl<E: Endpoint> Endpoint for Mutant<E> {
    fn open_message(&mut self, now: Time, message: &Message) {
        self.clock.set(now);
        self.opened += 1;
        self.inner.open_message(now, message);
    }

    fn receive_packet(&mut self, now: Time, packet: &Packet) {
        self.clock.set(now);
        if !self.is_deaf_to(packet) {
            self.inner.receive_packet(now, packet);
        }
    }

    fn receive_and_poll(&mut self, now: Time, packet: &Packet) -> Option<EndpointEvent> {
        self.receive_packet(now, packet);
        self.poll_event()
    }

    fn poll_next(&mut self, now: Time, place: &mut Packet) -> Next {
        // Through the methods of this machine, where its fault lies.
        Next::poll_machine(self, now, place)
    }

    fn transport_parts(&self) -> Vec<(u8, &dyn Endpoint)> {
        self.inner.transport_parts()
    }

    fn path_lost(&mut self, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        self.clock.set(now);
        self.inner.path_lost(now, peer, lost);
    }

    fn visit_subflows(&self, found: &mut dyn FnMut(SubflowShare)) {
        self.inner.visit_subflows(found);
    }

    fn reads_stamps(&self) -> bool {
        self.inner.reads_stamps()
    }

    fn receive_stamped(&mut self, now: Time, packet: &Packet, stamps: &Stamps) {
        self.clock.set(now);
        if !self.is_deaf_to(packet) {
            self.inner.receive_stamped(now, packet, stamps);
        }
    }

    fn poll_echo(&mut self) -> Option<Stamps> {
        self.inner.poll_echo()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.clock.set(now);
        self.inner.handle_timeout(now);
    }

    fn forget_peer(&mut self, now: Time, peer: HostId) {
        self.clock.set(now);
        self.inner.forget_peer(now, peer);
    }

    fn abandon_message(&mut self, now: Time, end: End) {
        self.clock.set(now);
        self.inner.abandon_message(now, end);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let Some(packet) = self.extra.take() {
            return Some(packet);
        }
        let mut packet = self.inner.poll_transmit(now)?;
        self.tamper_with(&mut packet);
        Some(packet)
    }

    fn poll_control(&mut self, now: Time) -> Option<Packet> {
        let mut packet = self.inner.poll_control(now)?;
        self.tamper_with(&mut packet);
        Some(packet)
    }

    fn wants_transmit(&self) -> bool {
        match self.fault {
            Fault::HidesPackets => false,
            _ => self.extra.is_some() || self.inner.wants_transmit(),
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self.fault {
            // This call does not say the time: that of the last input has to do.
            Fault::EndlessTimer => Some(self.clock.get() + Time::us(1)),
            Fault::NoTimer => None,
            _ => self.inner.next_timeout(),
        }
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        if let Some(event) = self.pending.take() {
            return Some(event);
        }
        let event = self.inner.poll_event()?;
        match (self.fault, event) {
            (Fault::CompletesTwice, EndpointEvent::Completed { .. })
            | (Fault::DeliversTwice, EndpointEvent::Delivered { .. })
                if self.strike_once() =>
            {
                self.pending = Some(event);
                Some(event)
            }
            // An empty delivery would not be missed.
            (Fault::DeliversShort, EndpointEvent::Delivered { bytes: 1.., .. }) if self.strike_once() => {
                self.inner.poll_event()
            }
            (Fault::NeverAcknowledges, EndpointEvent::Acknowledged { .. }) => self.inner.poll_event(),
            _ => Some(event),
        }
    }

    fn prefetch_input(&self, packet: Option<&Packet>, ahead: Ahead) {
        self.inner.prefetch_input(packet, ahead);
    }

    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        self.inner.collect_gauges(now)
    }

    fn probe_message(&self, end: &End, found: &mut Sink<'_>) {
        self.inner.probe_message(end, found);
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        self.inner.round_trips()
    }

    fn live_messages(&self) -> usize {
        let kept = if self.fault == Fault::KeepsState { self.opened } else { 0 };
        self.inner.live_messages() + kept
    }
}
