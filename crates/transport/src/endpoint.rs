//! The contract of a transport.
//!
//! **After any input, drain the outputs until the machine says idle-until-T; only then give it the
//! next input.**
//!
//! Inputs are [`Endpoint::open_message`], [`Endpoint::receive_packet`], [`Endpoint::handle_timeout`],
//! [`Endpoint::forget_peer`] and [`Endpoint::abandon_message`]. The driver drains at once the events
//! ([`Endpoint::poll_event`] until `None`) and the deadline ([`Endpoint::next_timeout`]).
//! Packets are pulled ([`Endpoint::poll_transmit`]) one at a time whenever the wire is free: the owner of the
//! wire polls, so host scheduling and pacing are the machine's business and no queue stands between a machine
//! and its wire. [`Checked`] asserts the sentence in debug builds.

use crate::Message;
use crate::probes::Sink;
use crate::states::StateTable;
use headway_gauges::{Gauge, GaugeInfo, RoundTrips};
use headway_packet::{Family, HostId, Packet, Sizes, Stamps};
use headway_params::Params;
use headway_units::{Rate, Time};

/// Event that a machine reports to its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// `bytes` of a message arrived here for the first time.
    Delivered {
        /// The message's driver handle.
        tag: u32,
        /// The host that sends the message.
        src: HostId,
        /// The message's number.
        message: u32,
        /// Application bytes, never counted twice.
        bytes: u32,
    },
    /// All bytes of a message have arrived here. Exactly once for each message.
    Completed {
        /// The message's driver handle.
        tag: u32,
        /// The host that sends the message.
        src: HostId,
        /// The message's number.
        message: u32,
    },
    /// The sender knows that the message arrived and has forgotten it.
    Acknowledged {
        /// The message's driver handle.
        tag: u32,
    },
    /// The sender gave the message up.
    Failed {
        /// The message's driver handle.
        tag: u32,
        /// Reason of the failure, in words.
        reason: &'static str,
    },
}

/// One end of a message, which is over before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// True if this host sends the message, false if it receives it.
    pub sends: bool,
    /// The host at the other end.
    pub peer: HostId,
    /// The message's number.
    pub message: u32,
    /// The message's driver handle.
    pub tag: u32,
}

/// State that one half of a machine drops: a peer, or one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// All about a host, whose messages will count from 0 again.
    Peer(HostId),
    // A peer comes back with numbers from 0, so its records of finished messages go as well. A single message
    // stays on record, so that a late packet of it cannot open it again.
    /// One message, by the host at its other end and by number. It is as if it were complete.
    Message(HostId, u32),
}

impl Gone {
    /// True if `message` is covered, so that its state is dropped.
    #[inline]
    pub fn covers_message(self, message: (HostId, u32)) -> bool {
        match self {
            Gone::Peer(peer) => message.0 == peer,
            Gone::Message(peer, number) => message == (peer, number),
        }
    }
}

/// Reason with which messages to a host fail once its driver has given it up.
pub const FORGOTTEN: &str = "the peer is gone";

/// Properties of the path to a peer. Times include serialisation on every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Round trip of a full data packet out and a control packet back through empty queues.
    pub base_rtt: Time,
    /// `base_rtt`, plus one drain of a full buffer at each switch on the way out, plus two full packets
    /// on the host's own link: what a packet takes at most when nothing is lost.
    pub max_rtt: Time,
    /// Rate of the slowest link of the path.
    pub bottleneck: Rate,
    /// Ways to the peer that a packet's entropy numbers from 0; 0 where switches hash it, or choose at random.
    pub paths: u32,
    /// Switches on the way out; 0 where the number is unknown.
    pub hops: u32,
    /// Upper limit of a time-out that doubles while nothing is heard, unless it was longer at first. In the simulator
    /// protocols alone say how often theirs double.
    pub longest_timeout: Time,
}

impl Path {
    /// `timeout` after `times` expiries in a row: it doubles with each of the first `most`.
    pub fn doubled_timeout(&self, timeout: Time, times: u32, most: u32) -> Time {
        // A time-out that is beyond the longest from the start stays as it is.
        timeout.saturating_mul(1 << times.min(most)).min(self.longest_timeout.max(timeout))
    }

    /// Full packets that fill the path for a base round trip at `rate`, rounded up: that of this host's link for
    /// what leaves at once, and that of the slowest link for what several share.
    ///
    /// With 40 us of propagation over three links at 10 Gb/s this is 36, not 33: the base round trip
    /// includes serialisation.
    pub fn bdp_packets(&self, rate: Rate, sizes: &Sizes) -> u32 {
        let slot = sizes.slot_time(rate).0;
        // A zero base round trip would divide to nothing, and a message without a first packet never begins.
        u32::try_from(self.base_rtt.0.div_ceil(slot).max(1)).unwrap_or(u32::MAX)
    }

    /// Full packets that fill the path for a base round trip at `rate`, not rounded.
    pub fn bdp_slots(&self, rate: Rate, sizes: &Sizes) -> f64 {
        self.base_rtt.0 as f64 / sizes.slot_time(rate).0 as f64
    }
}

/// Identity and surroundings of a host; given to a machine when it is made.
pub struct HostContext {
    /// Number of the host that the machine runs on.
    pub host: HostId,
    /// Rate of its link.
    pub nic: Rate,
    /// Sizes of packets on the wire and of their payload.
    pub sizes: Sizes,
    /// Seed of the machine's random choices, where it has any that may differ from run to run.
    pub seed: u64,
    /// The path to a peer.
    pub path: Box<dyn Fn(HostId) -> Path + Send>,
}

/// Distance of an input that is announced: see [`Endpoint::prefetch_input`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ahead {
    /// The machine itself is at hand: it may ask for the memory that it points at.
    Far,
    /// The input that it requested is at hand, and may be followed further.
    Near,
}

/// The answer to [`Endpoint::poll_next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// True if [`Endpoint::poll_transmit`] had a packet.
    pub sent: bool,
    /// The answer to [`Endpoint::wants_transmit`] after that.
    pub more: bool,
    /// The answer to [`Endpoint::next_timeout`] after that.
    pub timeout: Option<Time>,
}

impl Next {
    /// Asks a machine for the three, one after the other, and writes the packet into `place`.
    #[inline]
    pub fn poll_machine<E: Endpoint + ?Sized>(machine: &mut E, now: Time, place: &mut Packet) -> Next {
        // Polled first: sending may arm a timer or empty the queue, so the other two answers hold only afterwards.
        let packet = machine.poll_transmit(now);
        let sent = packet.is_some();
        if let Some(packet) = packet {
            *place = packet;
        }
        Next { sent, more: machine.wants_transmit(), timeout: machine.next_timeout() }
    }
}

/// Weight, credit and bytes of a subflow at its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowShare {
    /// The receiver of the message.
    pub peer: HostId,
    /// The subflow's path.
    pub entropy: u32,
    /// Its weight among the subflows of the message; a window in packets where windows divide the message.
    pub weight: f64,
    /// Bytes that it may send now.
    pub credit: f64,
    /// Bytes that it may have in flight; `None` = any number.
    pub cap: Option<u64>,
    /// Bytes that it has in flight.
    pub in_flight: u64,
}

/// One host's instance of one protocol, with all its messages in both directions.
pub trait Endpoint {
    /// Input: a message to send.
    fn open_message(&mut self, now: Time, message: &Message);
    /// Input: a packet addressed to this host has arrived.
    fn receive_packet(&mut self, now: Time, packet: &Packet);
    /// The instant of [`Endpoint::next_timeout`] has come. Harmless when early.
    fn handle_timeout(&mut self, now: Time);
    /// The host `peer` is gone: all state about it is dropped, in both directions, and every message to it
    /// is answered by [`EndpointEvent::Failed`] with the reason [`FORGOTTEN`]. Nothing is sent to it any
    /// more; its number may be given to another host afterwards, whose messages count from 0 again.
    fn forget_peer(&mut self, now: Time, peer: HostId);
    /// A message is over before it is complete: this host sends no more of it, or wants no more of it, according to `end`.
    /// A driver that can reach both ends calls both in the same instant; a message that is being sent is answered by
    /// [`EndpointEvent::Failed`] with the reason [`FORGOTTEN`], and what still arrives of one that was received counts
    /// as repeated. Harmless when the message is complete or was never heard of.
    fn abandon_message(&mut self, now: Time, end: End);
    /// The next packet for the wire, which is free now; `None` until the next input if there is none.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;
    /// The next control packet, for a wire that is free now while the far end of the link holds data back:
    /// [`Endpoint::poll_transmit`] follows when it does no longer. A machine that cannot tell the two apart returns
    /// `None`.
    fn poll_control(&mut self, now: Time) -> Option<Packet> {
        let _ = now;
        None
    }
    /// True if [`Endpoint::poll_transmit`] may have a packet now. A machine that knows returns `false`
    /// and saves its driver the question at the end of every packet; `true` is always right.
    #[inline]
    fn wants_transmit(&self) -> bool {
        true
    }
    /// The earliest instant at which [`Endpoint::timeout`] is wanted.
    fn next_timeout(&self) -> Option<Time>;
    /// The next event for the application.
    fn poll_event(&mut self) -> Option<EndpointEvent>;
    /// [`Endpoint::receive_packet`], and then [`Endpoint::poll_event`] for the first time.
    ///
    /// This method and [`Endpoint::poll_next`] exist for drivers that hold machines behind pointers: one call through a
    /// pointer replaces several, and within it the compiler knows the machine.
    #[inline]
    fn receive_and_poll(&mut self, now: Time, packet: &Packet) -> Option<EndpointEvent> {
        self.receive_packet(now, packet);
        self.poll_event()
    }
    /// [`Endpoint::poll_transmit`], whose packet it writes into `place`, and then [`Endpoint::wants_transmit`] and
    /// [`Endpoint::next_timeout`].
    #[inline]
    fn poll_next(&mut self, now: Time, place: &mut Packet) -> Next {
        Next::poll_machine(self, now, place)
    }
    /// A hint, and nothing more: `packet` will be received soon, or if there is none, a deadline is near or the wire
    /// will be free. Called by drivers of so many machines that their state does not stay in the processor's cache.
    #[inline]
    fn prefetch_input(&self, packet: Option<&Packet>, ahead: Ahead) {
        let _ = (packet, ahead);
    }
    /// True if ports write into the packets of this machine, and [`Endpoint::receive_stamped`] brings their stamps
    /// ([`Capabilities::telemetry`]).
    #[inline]
    fn reads_stamps(&self) -> bool {
        false
    }
    /// [`Endpoint::receive_packet`], with what ports have written into the packet.
    #[inline]
    fn receive_stamped(&mut self, now: Time, packet: &Packet, stamps: &Stamps) {
        let _ = stamps;
        self.receive_packet(now, packet);
    }
    /// Stamps that the packet polled last takes along: those that ports have written into the packet that it answers.
    /// Called after every packet of a machine that reads stamps; ports write into packets that take nothing along.
    #[inline]
    fn poll_echo(&mut self) -> Option<Stamps> {
        None
    }
    /// Messages that the machine holds state for, in either direction: 0 when it is quiet.
    fn live_messages(&self) -> usize;
    /// Measurements of the machine for the results of a run: all of [`Transport::GAUGES`].
    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        let _ = now;
        Vec::new()
    }
    /// Reports the present value of each probe that the machine has of one message at this end of it: some of
    /// [`Transport::PROBES`]. Nothing of a message that it does not hold.
    fn probe_message(&self, end: &End, found: &mut Sink<'_>) {
        let _ = (end, found);
    }
    /// Round trips from the departure of a data packet to the arrival of its answer, of all messages; `None` from a
    /// machine whose answers do not tell which packet they are to.
    fn round_trips(&self) -> Option<&RoundTrips> {
        None
    }
    /// A path to `peer` carries nothing more for now: that of all entropies for which `lost` is true. Packets there do not
    /// arrive. Harmless where there are none. Drivers of real hosts, which watch paths, call it; otherwise a machine finds out by
    /// its time-outs.
    fn path_lost(&mut self, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        let _ = (now, peer, lost);
    }
    /// Reports weight, credit and bytes of the subflows of all messages that this host sends.
    fn visit_subflows(&self, found: &mut dyn FnMut(SubflowShare)) {
        let _ = found;
    }
    /// The machines that this one consists of, each with the position of its transport; empty for a machine of one
    /// transport.
    fn transport_parts(&self) -> Vec<(u8, &dyn Endpoint)> {
        Vec::new()
    }
}

/// A machine around another machine. Its [`Endpoint`] is the one implementation below, which forwards every method:
/// a wrapper does its own work in the hooks.
pub trait Around {
    /// The machine inside.
    type Inner: Endpoint + ?Sized;
    /// The machine inside.
    fn inner(&self) -> &Self::Inner;
    /// The machine inside.
    fn inner_mut(&mut self) -> &mut Self::Inner;
    /// Before an input is passed on.
    #[inline]
    fn before_input(&mut self, now: Time) {
        let _ = now;
    }
    /// Before a packet is pulled.
    #[inline]
    fn before_transmit(&mut self, now: Time) {
        let _ = now;
    }
    /// After an event was drained; `None` when there was none left.
    #[inline]
    fn after_event(&mut self, event: Option<&EndpointEvent>) {
        let _ = event;
    }
}

// A provided method that is not forwarded would silently answer its default for every wrapped machine.
#[deny(clippy::missing_trait_methods)]
impl<A: Around> Endpoint for A {
    #[inline]
    fn open_message(&mut self, now: Time, message: &Message) {
        self.before_input(now);
        self.inner_mut().open_message(now, message);
    }
    #[inline]
    fn receive_packet(&mut self, now: Time, packet: &Packet) {
        self.before_input(now);
        self.inner_mut().receive_packet(now, packet);
    }
    #[inline]
    fn handle_timeout(&mut self, now: Time) {
        self.before_input(now);
        self.inner_mut().handle_timeout(now);
    }
    fn forget_peer(&mut self, now: Time, peer: HostId) {
        self.before_input(now);
        self.inner_mut().forget_peer(now, peer);
    }
    fn abandon_message(&mut self, now: Time, end: End) {
        self.before_input(now);
        self.inner_mut().abandon_message(now, end);
    }
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.before_transmit(now);
        self.inner_mut().poll_transmit(now)
    }
    fn poll_control(&mut self, now: Time) -> Option<Packet> {
        self.before_transmit(now);
        self.inner_mut().poll_control(now)
    }
    #[inline]
    fn wants_transmit(&self) -> bool {
        self.inner().wants_transmit()
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.inner().next_timeout()
    }
    #[inline]
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        let event = self.inner_mut().poll_event();
        self.after_event(event.as_ref());
        event
    }
    #[inline]
    fn receive_and_poll(&mut self, now: Time, packet: &Packet) -> Option<EndpointEvent> {
        self.before_input(now);
        // The inner machine's own method is called, not the default: within it the compiler knows the machine.
        let event = self.inner_mut().receive_and_poll(now, packet);
        self.after_event(event.as_ref());
        event
    }
    #[inline]
    fn poll_next(&mut self, now: Time, place: &mut Packet) -> Next {
        self.before_transmit(now);
        self.inner_mut().poll_next(now, place)
    }
    #[inline]
    fn prefetch_input(&self, packet: Option<&Packet>, ahead: Ahead) {
        self.inner().prefetch_input(packet, ahead);
    }
    #[inline]
    fn reads_stamps(&self) -> bool {
        self.inner().reads_stamps()
    }
    #[inline]
    fn receive_stamped(&mut self, now: Time, packet: &Packet, stamps: &Stamps) {
        self.before_input(now);
        self.inner_mut().receive_stamped(now, packet, stamps);
    }
    #[inline]
    fn poll_echo(&mut self) -> Option<Stamps> {
        self.inner_mut().poll_echo()
    }
    fn live_messages(&self) -> usize {
        self.inner().live_messages()
    }
    fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
        self.inner().collect_gauges(now)
    }
    fn probe_message(&self, end: &End, found: &mut Sink<'_>) {
        self.inner().probe_message(end, found);
    }
    fn round_trips(&self) -> Option<&RoundTrips> {
        self.inner().round_trips()
    }
    fn path_lost(&mut self, now: Time, peer: HostId, lost: &dyn Fn(u32) -> bool) {
        self.before_input(now);
        self.inner_mut().path_lost(now, peer, lost);
    }
    fn visit_subflows(&self, found: &mut dyn FnMut(SubflowShare)) {
        self.inner().visit_subflows(found);
    }
    fn transport_parts(&self) -> Vec<(u8, &dyn Endpoint)> {
        self.inner().transport_parts()
    }
}

impl<E: Endpoint + ?Sized> Around for Box<E> {
    type Inner = E;
    #[inline]
    fn inner(&self) -> &E {
        self
    }
    #[inline]
    fn inner_mut(&mut self) -> &mut E {
        self
    }
}

/// Description of a protocol, as it declares itself.
#[derive(Clone, Debug)]
pub struct TransportInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Publication that describes the protocol.
    pub paper: &'static str,
    /// The port discipline it is meant to run over.
    pub discipline: &'static str,
    /// State machines of the transport, from which state diagrams and tables are made.
    pub states: &'static [StateTable],
    /// Deliberate differences from the paper, one sentence each, with the section.
    pub deviations: &'static [&'static str],
}

/// Facts about the messages before any is sent, for protocols that are configured by them.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Sizes in bytes with their weights, which add up to 1.
    pub sizes: Vec<(u64, f64)>,
    /// Mean size, exact where `sizes` are samples.
    pub mean: f64,
    /// A longest path.
    pub path: Path,
    /// Rate of the hosts' links.
    pub nic: Rate,
    /// Sizes of packets on the wire and of their payload.
    pub packet: Sizes,
    /// Ratio of the rates of a switch's hosts to those of its uplinks, at the worst switch; at least 1.
    pub oversubscription: f64,
}

/// Quantities that bound the credits of a receiver on the way to its senders.
#[derive(Clone, Copy, Debug)]
pub struct CreditDemand {
    /// Packets of one message.
    pub packets: u64,
    /// Number of fair sharers, this message included, as which it opens.
    pub sharers: u32,
    /// Time from a credit to its data.
    pub round_trip: Time,
    /// Rate of the receiver's link.
    pub nic: Rate,
    /// Sizes of packets on the wire and of their payload.
    pub sizes: Sizes,
}

/// Upper bound of a receiver's credits on the way to its senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditBound {
    /// Largest share of the highest rate at which a receiver gives credits to one message. All of its messages
    /// together have the whole of it.
    pub share: f64,
    /// Bytes of a link that a credit stands for at the highest rate: its own, and those of its data.
    pub bytes: u64,
    /// Largest number of credits that wait at the receiver's own link.
    pub waiting: u64,
    /// True if the whole message leaves at once, so that credits end when it has arrived unless some of it is lost.
    pub at_once: bool,
}

/// Buffer that a design assumes at ports, which decides how losses of data there have to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// Nothing: losses, marks or trimmed packets are a part of it.
    #[default]
    Any,
    /// Ports hardly drop data: a loss is found by a time-out, or costs much otherwise.
    Deep,
    /// Switches lose nothing, as with priority flow control.
    Lossless,
}

impl Room {
    /// The requirement in words; `None` if there is none.
    pub const fn describe_need(self) -> Option<&'static str> {
        match self {
            Room::Any => None,
            Room::Deep => Some("ports that hardly drop data"),
            Room::Lossless => Some("switches that lose nothing"),
        }
    }
}

/// Requirements and effects of a protocol on its surroundings: other code goes by these instead of by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Windows grow until packets are lost or marked: senders find their own rate, and an acknowledged packet may
    /// release two.
    pub window_grows: bool,
    /// A rate alone may bound the data that a sender has under way: it needs no answer to go on.
    pub rate_alone: bool,
    /// Receivers give out credits at the rate of a link, whether data answers them or not; every packet but those of
    /// first windows takes one, which has a number and no name.
    pub credits: bool,
    /// Both directions of a flow have to take the same links: routes are symmetric, unless a scenario says otherwise.
    pub symmetric: bool,
    /// Packets of one message may take several paths although switches choose by flow: they have subflows, or name
    /// their path themselves.
    pub multipath: bool,
    /// Hosts count rounds of time together, so that their clocks have to begin at the same time and go equally fast.
    pub shared_clock: bool,
    /// Parameters that are not set follow from the traffic: [`Transport::tune_params`].
    pub tunes: bool,
    /// These parameters follow from the network, and [`Transport::tune_params`] is called for any set of messages.
    pub network_wide: bool,
    /// Bytes that data packets and their answers have in addition to their sizes, for what ports of switches write into
    /// them hop by hop (in-band network telemetry); 0 where they write nothing.
    pub telemetry: u16,
    /// Messages of a lower class come before those of a higher one ([`Message::class`]).
    pub classes: bool,
    /// Buffer that it assumes at ports.
    pub room: Room,
}

impl Capabilities {
    /// None of them.
    pub const NONE: Capabilities = Capabilities {
        window_grows: false,
        rate_alone: false,
        credits: false,
        symmetric: false,
        multipath: false,
        shared_clock: false,
        tunes: false,
        network_wide: false,
        telemetry: 0,
        classes: false,
        room: Room::Any,
    };
}

/// A protocol: its description, its parameters, and how to make a host's instance.
pub trait Transport: 'static {
    /// State machine of one host.
    type Endpoint: Endpoint + Send + 'static;
    /// Parameters of the protocol.
    type Params: Params + Send + Sync + 'static;
    /// Description of the protocol.
    const INFO: TransportInfo;
    /// Meaning of the packets' fields.
    const PACKETS: Family;
    /// Requirements and effects that other code may know without the protocol's name.
    const CAPABILITIES: Capabilities = Capabilities::NONE;
    /// Measurements that [`Endpoint::gauges`] of its machines reports, in its order.
    const GAUGES: &'static [GaugeInfo] = &[];
    /// Values that [`Endpoint::probe_message`] of its machines reports at either end of a message.
    const PROBES: &'static [GaugeInfo] = &[];
    /// Counts changes of its behaviour within an epoch of all: no run of another revision is one of its own.
    const REVISION: u32 = 0;
    /// Sets the parameters that operators of this protocol compute from their traffic, unless they are set.
    fn tune_params(params: &mut Self::Params, traffic: &Traffic) {
        let _ = (params, traffic);
    }
    /// True if subflows of one message must take different paths with these parameters, which switches that choose
    /// by a hash do not give them.
    fn needs_pinned_paths(params: &Self::Params) -> bool {
        let _ = params;
        false
    }
    /// Largest number of credits that a receiver has on their way, where it gives them out whether data answers them or
    /// not ([`Capabilities::credits`]): these flow for a round trip however little is left to send.
    fn credit_bound(params: &Self::Params, demand: &CreditDemand) -> Option<CreditBound> {
        let _ = (params, demand);
        None
    }
    /// The rate below which a sender does not go in any state of the network; `None` where nothing is too slow.
    fn least_rate(params: &Self::Params) -> Option<Rate> {
        let _ = params;
        None
    }
    /// A fresh instance for one host.
    fn make_endpoint(params: &Self::Params, context: HostContext) -> Self::Endpoint;
}

/// Asserts the contract of this module around a machine; free in release builds.
pub struct Checked<E> {
    inner: E,
    #[cfg(debug_assertions)]
    drained: bool,
    #[cfg(debug_assertions)]
    clock: Time,
}

impl<E: Endpoint> Checked<E> {
    /// Wraps a fresh machine.
    pub fn new(inner: E) -> Self {
        Checked {
            inner,
            #[cfg(debug_assertions)]
            drained: true,
            #[cfg(debug_assertions)]
            clock: Time::ZERO,
        }
    }
}

impl<E: Endpoint> Around for Checked<E> {
    type Inner = E;
    #[inline]
    fn inner(&self) -> &E {
        &self.inner
    }
    #[inline]
    fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }
    #[inline]
    fn before_input(&mut self, now: Time) {
        #[cfg(debug_assertions)]
        {
            assert!(self.drained, "input at {now} before the events of the last one were drained");
            // Equal times are legal: several inputs may come in the same instant.
            assert!(now >= self.clock, "time went back from {} to {now}", self.clock);
            self.clock = now;
            // Any input may produce events, so the machine counts as drained only once a poll has returned `None`.
            self.drained = false;
        }
        // Keeps the parameter used in release builds, where nothing is checked.
        let _ = now;
    }
    #[inline]
    fn before_transmit(&mut self, now: Time) {
        #[cfg(debug_assertions)]
        assert!(self.drained, "packet pulled at {now} before the events were drained");
        let _ = now;
    }
    #[inline]
    fn after_event(&mut self, event: Option<&EndpointEvent>) {
        #[cfg(debug_assertions)]
        {
            // Only `None` shows that the queue is empty; `Some` says nothing about a further event.
            self.drained |= event.is_none();
        }
        let _ = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose every answer differs from the default.
    #[derive(Default)]
    struct Probe {
        inputs: u32,
        trips: RoundTrips,
        hints: std::cell::Cell<u32>,
    }

    impl Endpoint for Probe {
        // Inputs add different powers of ten: one sum shows which of them were forwarded, and how often.
        fn open_message(&mut self, _: Time, _: &Message) {
            self.inputs += 1;
        }
        fn receive_packet(&mut self, _: Time, _: &Packet) {
            self.inputs += 10;
        }
        fn handle_timeout(&mut self, _: Time) {
            self.inputs += 100;
        }
        fn abandon_message(&mut self, _: Time, _: End) {}
        fn forget_peer(&mut self, _: Time, _: HostId) {
            self.inputs += 1000;
        }
        fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
            // The sum travels in a field of the packet, so that the test reads it through the wrapper.
            Some(Packet::new(headway_packet::PacketKind::Ack, HostId(0), HostId(1), self.inputs))
        }
        fn poll_control(&mut self, _: Time) -> Option<Packet> {
            Some(Packet::new(headway_packet::PacketKind::Ack, HostId(0), HostId(1), self.inputs + 1))
        }
        fn wants_transmit(&self) -> bool {
            false
        }
        fn next_timeout(&self) -> Option<Time> {
            Some(Time::us(7))
        }
        fn poll_event(&mut self) -> Option<EndpointEvent> {
            None
        }
        fn prefetch_input(&self, _: Option<&Packet>, _: Ahead) {
            self.hints.set(self.hints.get() + 1);
        }
        fn live_messages(&self) -> usize {
            9
        }
        fn collect_gauges(&self, now: Time) -> Vec<Gauge> {
            vec![Gauge::count("probe_packets", now.0)]
        }
        fn round_trips(&self) -> Option<&RoundTrips> {
            Some(&self.trips)
        }
    }

    #[test]
    fn a_wrapped_machine_answers_everything_as_the_one_inside_does() {
        // A box inside `Checked`: both implementations of `Around` are exercised.
        let boxed: Box<dyn Endpoint> = Box::new(Probe::default());
        let mut machine = Checked::new(boxed);
        let packet = Packet::new(headway_packet::PacketKind::Data, HostId(1), HostId(0), 0);
        let message = Message {
            id: 0,
            dst: HostId(1),
            bytes: 1,
            class: 0,
            deadline: None,
            initial_window: crate::InitialWindow::default(),
            responsive: true,
            entropy: 0,
            tag: 0,
        };
        machine.open_message(Time(1), &message);
        // Each input is followed by a poll, or `Checked` would fail the test for its own contract.
        assert_eq!(machine.poll_event(), None);
        machine.receive_packet(Time(2), &packet);
        assert_eq!(machine.poll_event(), None);
        machine.handle_timeout(Time(3));
        assert_eq!(machine.poll_event(), None);
        machine.forget_peer(Time(4), HostId(1));
        assert_eq!(machine.poll_event(), None);
        assert_eq!(machine.poll_transmit(Time(5)).map(|p| p.message), Some(1111));
        assert_eq!(machine.poll_control(Time(5)).map(|p| p.message), Some(1112));
        machine.prefetch_input(None, Ahead::Far);
        assert_eq!((machine.wants_transmit(), machine.next_timeout()), (false, Some(Time::us(7))));
        assert_eq!(machine.live_messages(), 9);
        assert_eq!(machine.collect_gauges(Time(8)), [Gauge::count("probe_packets", 8)]);
        assert!(machine.round_trips().is_some());
    }
}
