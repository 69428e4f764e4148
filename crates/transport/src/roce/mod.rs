//! RoCE: one machine that sends a message at a rate, from that of its link on, and a controller that decides the rate.
//!
//! Sources: HPCC's simulator (Y. Li et al., SIGCOMM 2019) for go-back-N, and R. Mittal et al., "Revisiting Network Support for
//! RDMA" (IRN), SIGCOMM 2018, for selective repeat. A message is a queue pair of its own. The controllers are in [`control`], one
//! file each, and stand behind a pointer.

pub mod control;
mod outgoing;
pub(crate) mod packets;
pub mod params;
mod receiver;
mod sender;

use crate::endpoint::{Capabilities, HostContext, Path, Room, Traffic, Transport, TransportInfo};
use crate::promises::{Bound, Promised, Promises};
use crate::states::StateTable;
use crate::two_sided::{Machine, SendingHalf, TwoSided};
use control::{Controllers, RateControl};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind, Stamps};
use headway_units::{Rate, Time};
use outgoing::SenderState;
use params::{Recovery, RoceParams};
use receiver::{Receiver, ReceiverState};
use sender::Sender;
use std::marker::PhantomData;

/// RoCE whose rate follows the controller `C`.
pub struct Roce<C>(PhantomData<C>);

/// The machine under DCQCN's control.
pub type Dcqcn = Roce<control::dcqcn::Dcqcn>;
/// The machine under TIMELY's control.
pub type Timely = Roce<control::timely::Timely>;
/// The machine under HPCC's control.
pub type Hpcc = Roce<control::hpcc::Hpcc>;
/// The machine under PowerTCP's control.
pub type PowerTcp = Roce<control::powertcp::PowerTcp>;
/// The machine under the control of theta-PowerTCP.
pub type PowerTcpTheta = Roce<control::powertcp::Theta>;

/// The machine's states, the same for every controller.
pub const STATES: &[StateTable] = &[SenderState::TABLE, ReceiverState::TABLE];

/// Deviations of a controller, followed by those of the machine.
macro_rules! deviations {
    ($($own:literal),* $(,)?) => { &[
        $($own,)*
        "RoCE §1: sequence numbers count packets, and a message is a queue pair of its own: nothing is carried over from one message to the next, and there is no handshake.",
        "RoCE §1: every packet is answered, and answers and notifications leave before data, in the class of control.",
        "RoCE §2: a sender that hears nothing for a time-out takes what is under way for lost. HPCC's simulator has no timer: a lost tail hangs for ever there. The time-out doubles up to five times while nothing is heard; IRN's is constant.",
        "RoCE §2: with go-back-N a packet that has arrived before is acknowledged again, since the acknowledgement may be lost; HPCC's simulator is silent. A loss does not change the rate.",
        "IRN §3.1: after a time-out all packets under way that were not acknowledged selectively are taken for lost. The paper takes the first one for lost, and each further one when a later one has been acknowledged.",
        "IRN §3.1: the two time-outs are multiples of the path's round trips, and not those of the paper's network.",
    ] };
}
pub(crate) use deviations;

impl<C: RateControl> Transport for Roce<C> {
    type Endpoint = RoceEndpoint;
    type Params = RoceParams<C::Params>;
    const PACKETS: Family = packets::PACKETS;
    const CAPABILITIES: Capabilities = Capabilities {
        tunes: true,
        network_wide: true,
        rate_alone: !C::WINDOWED,
        telemetry: C::TELEMETRY,
        // Go-back-N repeats a round trip for each loss. With `selective-repeat` it would do with less.
        room: Room::Lossless,
        ..Capabilities::NONE
    };
    const INFO: TransportInfo = C::INFO;
    const PROBES: &'static [GaugeInfo] = C::PROBES;

    fn tune_params(params: &mut Self::Params, traffic: &Traffic) {
        params.tune_base_rtt(traffic);
    }

    fn least_rate(params: &Self::Params) -> Option<Rate> {
        Some(C::least_rate(&params.control))
    }

    fn make_endpoint(params: &Self::Params, context: HostContext) -> RoceEndpoint {
        let rules = receiver::Rules {
            keeps: params.machine.recovery == Recovery::Selective,
            nack_gap: params.machine.nack_interval,
            notification_gap: C::notification_gap(&params.control),
            telemetry: C::TELEMETRY,
        };
        // Both halves know the rules from the same parameters: they never tell them to each other.
        Machine::new(Sender::new(Controllers::for_transport::<C>(params)), Receiver::new(rules), context)
    }
}

impl<C: RateControl> Promised for Roce<C> {
    /// A sender that goes back repeats the packets of a round trip.
    const COPIES: u64 = 64;
    const BOUND: Bound = if C::WINDOWED { Bound::WidestWindow } else { Bound::Rate };
    /// Windows are bytes of payload, and one packet may be begun.
    const WIDEST_WINDOW: (u32, u32) = (1100, 2);

    fn make_promises(params: &Self::Params, path: &Path, packets: u64) -> Promises {
        let (high, _) = params.machine.path_timeouts(path);
        // A bound that is set may be a packet a round trip.
        let bound = params.machine.recovery == Recovery::Selective && params.machine.cap > 0;
        let ramp = if bound { path.base_rtt * packets } else { Time::ZERO };
        Promises { repair: high + path.max_rtt * 3, ramp }
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// Nothing may have been heard of a sent message for too long.
        Timeout(HostId, u32),
        /// A sent message may send its next packet.
        Pace(HostId, u32),
        /// The rate of a sent message rises by itself.
        Rise(HostId, u32),
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The RoCE machine of one host, with all its messages.
pub type RoceEndpoint = Machine<Halves>;

/// The machine, whatever controls its rate.
pub struct Halves;

impl TwoSided for Halves {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn is_stamped(machine: &Machine<Self>) -> bool {
        machine.sender.is_stamped()
    }

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        machine.hear_packet(now, packet, None);
    }

    fn route_stamped(machine: &mut Machine<Self>, now: Time, packet: &Packet, stamps: &Stamps) {
        machine.hear_packet(now, packet, Some(stamps));
    }

    #[inline]
    fn poll_echo(machine: &mut Machine<Self>) -> Option<Stamps> {
        machine.receiver.poll_echo()
    }

    /// Answers leave first.
    #[inline]
    fn poll_transmit(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        let Machine { sender, receiver, shared } = machine;
        // Answers have a queue of their own, in step with the stamps that they bring back.
        receiver.poll_answer().or_else(|| sender.poll_data(shared, now))
    }

    #[inline]
    fn wants_transmit(machine: &Machine<Self>) -> bool {
        machine.receiver.has_answers() || machine.sender.is_ready()
    }

    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: TimerKey) {
        let Machine { sender, shared, .. } = machine;
        match key {
            TimerKey::Timeout(peer, id) => sender.timed_out(shared, at, now, (peer, id)),
            TimerKey::Pace(peer, id) => sender.pace_due(shared, at, now, (peer, id)),
            TimerKey::Rise(peer, id) => sender.rise_due(shared, at, now, (peer, id)),
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, (peer, id)),
        }
    }
}

impl RoceEndpoint {
    fn hear_packet(&mut self, now: Time, packet: &Packet, stamps: Option<&Stamps>) {
        let Machine { sender, receiver, shared } = self;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet, stamps),
            PacketKind::Ack | PacketKind::Nack => sender.process_answer(shared, now, packet, stamps),
            _ => {}
        }
    }
}
