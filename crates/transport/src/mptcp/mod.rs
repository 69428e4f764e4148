//! MPTCP: a message over several paths, each a TCP connection of its own, whose windows may be coupled.
//!
//! Sources: RFC 8684 (machinery), RFC 6356 (LIA), and the papers of the couplings, named in [`control`], one file
//! each. Subflows are connections of the TCP machine ([`crate::tcp`]), with sequence space, selective
//! acknowledgements, round trips, time-outs and window each. A data packet carries its place in the message and its
//! number in the subflow; an acknowledgement reports the arrivals of both. Scheduler, reinjection and the rules for
//! a full receive window are those of the out-of-tree Linux implementation.

pub mod control;
mod outgoing;
mod packets;
pub mod params;
mod receiver;
mod sender;
mod subflow;

use crate::endpoint::{Capabilities, HostContext, Path, Transport, TransportInfo};
use crate::probes;
use crate::promises::{Promised, Promises};
use crate::states::StateTable;
use crate::tcp::Tcp;
use crate::tcp::acknowledger::ReceiverState;
use crate::tcp::connection::SenderState;
use crate::tcp::control::erased::Controllers;
use crate::tcp::control::{CongestionControl, Controlled, cubic, newreno};
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_units::Time;
use params::MptcpParams;
use receiver::Receiver;
use sender::Sender;
use std::marker::PhantomData;
use subflow::SubflowState;

/// MPTCP whose subflows' windows follow the scheme `S`.
pub struct Mptcp<S>(PhantomData<S>);

/// Windows of the subflows: a controller for each, and the names of the whole.
pub trait Scheme: 'static {
    /// The controller of one subflow.
    type Control: CongestionControl;
    /// Description of the transport.
    const INFO: TransportInfo;
}

/// The scheme of a controller that sees the other subflows.
pub struct Coupled<C>(PhantomData<C>);

impl<C: CongestionControl> Scheme for Coupled<C> {
    type Control = C;
    const INFO: TransportInfo = C::INFO;
}

/// Subflows that are NewReno connections, and know nothing of each other.
pub struct UncoupledReno;
/// Subflows that are CUBIC connections, and know nothing of each other.
pub struct UncoupledCubic;

/// The transport `mptcp-reno`: uncoupled subflows with NewReno.
pub type Reno = Mptcp<UncoupledReno>;
/// The transport `mptcp-cubic`: uncoupled subflows with CUBIC.
pub type Cubic = Mptcp<UncoupledCubic>;
/// The transport `mptcp-lia`: linked increases, RFC 6356.
pub type Lia = Mptcp<Coupled<control::lia::Lia>>;
/// The transport `mptcp-olia`: opportunistic linked increases.
pub type Olia = Mptcp<Coupled<control::olia::Olia>>;
/// The transport `mptcp-balia`: balanced linked adaptation.
pub type Balia = Mptcp<Coupled<control::balia::Balia>>;
/// The transport `mptcp-wvegas`: weighted Vegas.
pub type Wvegas = Mptcp<Coupled<control::wvegas::Wvegas>>;

/// The machine's states, the same for every scheme.
pub const STATES: &[StateTable] = &[SubflowState::TABLE, SenderState::TABLE, ReceiverState::TABLE];

/// Deviations of a scheme, followed by those of the machine and those of TCP's.
macro_rules! deviations {
    ($($own:literal),* $(,)?) => { $crate::tcp::deviations![
        $($own,)*
        "RFC8684 §3.3: the data sequence counts packets of the message; data and both acknowledgements travel in fields of the header, and packets are as long as the scenario says: the 20 bytes of option, which leave 1,428 of 1,460, have to be set with `fabric.payload` where they matter.",
        "RFC8684 §3.2: a subflow joins with four packets, the last of them an acknowledgement of nothing; tokens, keys and their authentication are left out, and so are backup paths. Addresses are exchanged, added and removed by the driver of real hosts, which also falls back to one path.",
        "RFC8684 §3.3: the message ends with the acknowledgement of its last packet, on whatever subflow; subflows are not closed one by one, and the number that a subflow repeats for its own sequence is forgotten with the message.",
        "RFC2018 §3: two SACK blocks are left of the three, beside the two cumulative acknowledgements, as in a real header.",
        "RFC8684 §3.3.6: after a time-out a subflow hands over what is neither acknowledged nor selectively acknowledged; Linux hands over the latter as well.",
    ] };
}
pub(crate) use deviations;

impl Scheme for UncoupledReno {
    type Control = newreno::NewReno;
    const INFO: TransportInfo = TransportInfo {
        name: "mptcp-reno",
        summary: "MPTCP whose subflows are NewReno connections that know nothing of each other",
        paper: "RFC 8684, RFC 5681",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "RFC6356 §1: not coupled: on a shared bottleneck each subflow takes what a connection takes. For comparison, and what Linux does.",
        ],
    };
}

impl Scheme for UncoupledCubic {
    type Control = cubic::Cubic;
    const INFO: TransportInfo = TransportInfo {
        name: "mptcp-cubic",
        summary: "MPTCP whose subflows are CUBIC connections that know nothing of each other",
        paper: "RFC 8684, RFC 9438",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "RFC6356 §1: not coupled: on a shared bottleneck each subflow takes what a connection takes. For comparison, and what Linux does by default.",
        ],
    };
}

impl<S: Scheme> Transport for Mptcp<S> {
    type Endpoint = MptcpEndpoint;
    type Params = MptcpParams<<S::Control as CongestionControl>::Params>;
    const CAPABILITIES: Capabilities =
        Capabilities { window_grows: true, multipath: true, ..Capabilities::NONE };
    const INFO: TransportInfo = S::INFO;
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT, sender::SUBFLOWS];
    const PACKETS: Family = packets::PACKETS;

    fn needs_pinned_paths(params: &Self::Params) -> bool {
        params.multipath.path_manager.needs_pinned_paths(params.multipath.subflows)
    }

    fn make_endpoint(params: &Self::Params, context: HostContext) -> MptcpEndpoint {
        let sender =
            Sender::new(params.multipath.clone(), Controllers::for_transport::<S::Control>(&params.tcp));
        Machine::new(sender, Receiver::new(&params.tcp.connection), context)
    }
}

impl<S: Scheme> Controlled for Mptcp<S> {
    type Control = S::Control;
}

impl<S: Scheme> Promised for Mptcp<S> {
    const SUBFLOWS: bool = true;
    /// Factor for packets that another subflow sends again after a time-out, next to the subflow that repeats them.
    const COPIES: u64 = 2;

    fn make_promises(params: &Self::Params, path: &Path, packets: u64) -> Promises {
        // A TCP's promises hold for one subflow, and further subflows only add to it.
        Tcp::<S::Control>::make_promises(&params.tcp, path, packets)
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// The retransmission timer of a sent message's subflow.
        Retransmit(HostId, u32, u32),
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// An acknowledgement is due on a subflow.
        Ack(HostId, u32, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The MPTCP machine of one host, with all its messages.
pub type MptcpEndpoint = Machine<Halves>;

/// The machine, whatever controls its windows.
pub struct Halves;

impl TwoSided for Halves {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Ack => sender.receive_ack(shared, now, packet),
            PacketKind::Rts => receiver.receive_syn(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::Retransmit(peer, id, number) => {
                sender.handle_expiry(shared, (at, now), (peer, id), number);
            }
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, (peer, id)),
            TimerKey::Ack(peer, id, number) => {
                receiver.handle_overdue(shared, (at, now), (peer, id), number);
            }
        }
    }
}
