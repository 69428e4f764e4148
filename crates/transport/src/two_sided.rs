//! The machine that nearly every protocol is: a half that sends messages, a half that receives them, and what both
//! share. A protocol declares where packets and deadlines go; its [`Endpoint`] is the one in this file.

use crate::Message;
use crate::endpoint::{Ahead, End, Endpoint, EndpointEvent, Gone, HostContext, SubflowShare};
use crate::messages::MessageId;
use crate::probes::Sink;
use crate::shared::{Shared, drop_about};
use crate::timers::TimerKey;
use headway_gauges::{Gauge, RoundTrips};
use headway_packet::{HostId, Packet, Stamps};
use headway_units::Time;

/// The half of a machine that sends this host's messages.
pub trait SendingHalf<K> {
    /// Starts a message: see [`Endpoint::open_message`].
    fn open_message(&mut self, shared: &mut Shared<K>, now: Time, message: &Message);
    /// The next data packet, for a wire that is free now and that no control packet waits for.
    fn poll_data(&mut self, shared: &mut Shared<K>, now: Time) -> Option<Packet>;
    /// True if [`SendingHalf::poll_data`] may have a packet. A half that knows returns `false` and saves its driver the
    /// question; `true` is always right.
    #[inline]
    fn is_ready(&self) -> bool {
        true
    }
    /// A receiver is gone, or a message is over: drops its messages, or this one, and fails them by [`Shared::fail_messages`].
    fn forget_messages(&mut self, shared: &mut Shared<K>, gone: Gone);
    /// Messages that are being sent.
    fn live_messages(&self) -> usize;
    /// Measured round trips: see [`Endpoint::round_trips`].
    fn round_trips(&self) -> Option<&RoundTrips> {
        None
    }
    /// Measurements for the results: see [`Endpoint::gauges`].
    fn collect_gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
    /// See [`Endpoint::path_lost`]; of messages that this host sends.
    fn path_lost(&mut self, shared: &mut Shared<K>, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        let _ = (shared, now, peer, lost);
    }
    /// See [`Endpoint::visit_subflows`].
    fn visit_subflows(&self, shared: &Shared<K>, found: &mut dyn FnMut(SubflowShare)) {
        let _ = (shared, found);
    }
    /// See [`Endpoint::probe_message`]; of a message that this host sends.
    fn probe_message(&self, shared: &Shared<K>, id: MessageId, found: &mut Sink<'_>) {
        let _ = (shared, id, found);
    }
}

/// The half of a machine that receives messages of other hosts.
pub trait ReceivingHalf<K> {
    /// A sender is gone: drops its messages, and the records of finished ones. Or a message is over: it is dropped,
    /// and remembered as finished.
    fn forget_messages(&mut self, shared: &mut Shared<K>, now: Time, gone: Gone);
    /// Messages that are being received.
    fn live_messages(&self) -> usize;
    /// See [`Endpoint::path_lost`]; of messages that this host receives.
    fn path_lost(&mut self, shared: &mut Shared<K>, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        let _ = (shared, peer, lost);
    }
    /// See [`Endpoint::gauges`]; those of the sending half come first.
    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        let _ = now;
        Vec::new()
    }
    /// See [`Endpoint::probe_message`]; of a message that this host receives.
    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        let _ = (id, found);
    }
}

/// A protocol that is two halves: their types, and the half that an input is for.
pub trait TwoSided: Sized + 'static {
    /// Purpose of a deadline: see [`crate::timer_keys!`].
    type TimerKey: TimerKey;
    /// Its sending half.
    type Sender: SendingHalf<Self::TimerKey>;
    /// Its receiving half.
    type Receiver: ReceivingHalf<Self::TimerKey>;

    /// Hands a packet to the half that it is for. Packets of other protocols are ignored.
    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet);

    /// True if ports write into its packets: see [`Endpoint::reads_stamps`].
    fn is_stamped(machine: &Machine<Self>) -> bool {
        let _ = machine;
        false
    }

    /// [`TwoSided::route_packet`], with what ports have written into the packet.
    fn route_stamped(machine: &mut Machine<Self>, now: Time, packet: &Packet, stamps: &Stamps) {
        let _ = stamps;
        Self::route_packet(machine, now, packet);
    }

    /// Stamps for the packet polled last: see [`Endpoint::poll_echo`].
    #[inline]
    fn poll_echo(machine: &mut Machine<Self>) -> Option<Stamps> {
        let _ = machine;
        None
    }

    /// Hands a deadline that was `at` to the half that armed it.
    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: Self::TimerKey);

    /// The next packet: control leaves first, then packets of the sending half. A protocol whose host link has an
    /// order of its own overrides this.
    #[inline]
    fn poll_transmit(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        let Machine { sender, shared, .. } = machine;
        // A control packet is small, and the peer may be waiting for it.
        shared.control.pop_front().or_else(|| sender.poll_data(shared, now))
    }

    /// Next control packet: see [`Endpoint::poll_control`].
    #[inline]
    fn poll_control(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        let _ = now;
        machine.shared.pop_control()
    }

    /// True if [`TwoSided::poll_transmit`] may have a packet.
    #[inline]
    fn wants_transmit(machine: &Machine<Self>) -> bool {
        !machine.shared.control.is_empty() || machine.sender.is_ready()
    }

    /// Notes an announced input: see [`Endpoint::prefetch_input`].
    #[inline]
    fn prefetch_input(machine: &Machine<Self>, packet: Option<&Packet>, ahead: Ahead) {
        let _ = (machine, packet, ahead);
    }
}

/// One host's instance of a protocol that is two halves.
pub struct Machine<P: TwoSided> {
    pub(crate) sender: P::Sender,
    pub(crate) receiver: P::Receiver,
    pub(crate) shared: Shared<P::TimerKey>,
}

impl<P: TwoSided> Machine<P> {
    /// A fresh machine of fresh halves.
    pub(crate) fn new(sender: P::Sender, receiver: P::Receiver, context: HostContext) -> Self {
        Machine { sender, receiver, shared: Shared::new(context) }
    }
}

impl<P: TwoSided> Endpoint for Machine<P> {
    fn open_message(&mut self, now: Time, message: &Message) {
        self.sender.open_message(&mut self.shared, now, message);
    }

    #[inline]
    fn receive_packet(&mut self, now: Time, packet: &Packet) {
        P::route_packet(self, now, packet);
    }

    fn handle_timeout(&mut self, now: Time) {
        // A deadline may arm another one that is due at once: the loop takes that as well.
        while let Some((at, key)) = self.shared.timers.pop_due(now) {
            P::handle_deadline(self, at, now, key);
        }
    }

    fn forget_peer(&mut self, now: Time, peer: HostId) {
        self.shared.forget_peer(peer);
        self.sender.forget_messages(&mut self.shared, Gone::Peer(peer));
        self.receiver.forget_messages(&mut self.shared, now, Gone::Peer(peer));
    }

    fn abandon_message(&mut self, now: Time, end: End) {
        let gone = Gone::Message(end.peer, end.message);
        // By tag, which one message has: other messages of the peer keep their control packets. Deadlines
        // about this one stay in the heap and find nothing when they come.
        drop_about(&mut self.shared.control, end.tag);
        if end.sends {
            self.sender.forget_messages(&mut self.shared, gone);
        } else {
            self.receiver.forget_messages(&mut self.shared, now, gone);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        P::poll_transmit(self, now)
    }

    fn poll_control(&mut self, now: Time) -> Option<Packet> {
        P::poll_control(self, now)
    }

    #[inline]
    fn wants_transmit(&self) -> bool {
        P::wants_transmit(self)
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.shared.timers.next()
    }

    #[inline]
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.shared.events.pop_front()
    }

    #[inline]
    fn prefetch_input(&self, packet: Option<&Packet>, ahead: Ahead) {
        P::prefetch_input(self, packet, ahead);
    }

    #[inline]
    fn reads_stamps(&self) -> bool {
        P::is_stamped(self)
    }

    fn receive_stamped(&mut self, now: Time, packet: &Packet, stamps: &Stamps) {
        P::route_stamped(self, now, packet, stamps);
    }

    #[inline]
    fn poll_echo(&mut self) -> Option<Stamps> {
        P::poll_echo(self)
    }

    fn live_messages(&self) -> usize {
        self.sender.live_messages() + self.receiver.live_messages()
    }

    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        // `Transport::GAUGES` lists the sending half's first.
        let mut gauges = self.sender.collect_gauges();
        gauges.extend(self.receiver.collect_gauges(now));
        gauges
    }

    fn probe_message(&self, end: &End, found: &mut Sink<'_>) {
        let id = (end.peer, end.message);
        if end.sends {
            self.sender.probe_message(&self.shared, id, found);
        } else {
            self.receiver.probe_message(id, found);
        }
    }

    fn round_trips(&self) -> Option<&RoundTrips> {
        self.sender.round_trips()
    }

    fn path_lost(&mut self, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        self.sender.path_lost(&mut self.shared, now, peer, lost);
        self.receiver.path_lost(&mut self.shared, peer, lost);
    }

    fn visit_subflows(&self, found: &mut dyn FnMut(SubflowShare)) {
        self.sender.visit_subflows(&self.shared, found);
    }
}
