//! TCP: one connection machine for a message, and a controller that decides its window.
//!
//! Sources: RFC 5681 (window), RFC 6298 (time-out), RFC 6675 and RFC 2018 (SACK), RFC 6582 (NewReno),
//! RFC 8257 (echo of marks), RFC 6937 (proportional reduction). A message is a connection: it may begin
//! with a handshake, and ends with the acknowledgement of its last packet instead of a FIN. Sequence numbers
//! count packets. The controllers are in [`control`], one file each, and stand behind a pointer.

pub(crate) mod acknowledger;
pub(crate) mod connection;
pub mod control;
pub(crate) mod input;
pub(crate) mod outgoing;
pub(crate) mod packets;
pub mod params;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;

use crate::endpoint::{Capabilities, HostContext, Path, Transport, TransportInfo};
use crate::promises::{Promised, Promises};
use crate::states::StateTable;
use crate::two_sided::{Machine, TwoSided};
use acknowledger::{AckRules, ReceiverState};
use connection::SenderState;
use control::erased::Controllers;
use control::{CongestionControl, Controlled};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_units::Time;
use params::TcpParams;
use receiver::Receiver;
use sender::Sender;
use std::marker::PhantomData;

/// TCP whose window follows the congestion controller `C`.
pub struct Tcp<C>(PhantomData<C>);

/// NewReno, the transport `tcp`.
pub type NewReno = Tcp<control::newreno::NewReno>;
/// The machine under DCTCP's control.
pub type Dctcp = Tcp<control::dctcp::Dctcp>;
/// The machine under D2TCP's control.
pub type D2tcp = Tcp<control::d2tcp::D2tcp>;
/// The machine under L2DCT's control.
pub type L2dct = Tcp<control::l2dct::L2dct>;
/// The machine under CUBIC's control.
pub type Cubic = Tcp<control::cubic::Cubic>;
/// The machine under the control of Vegas.
pub type Vegas = Tcp<control::vegas::Vegas>;
/// The machine under the control of BBR.
pub type Bbr = Tcp<control::bbr::Bbr>;
/// The machine under the control of BBR's third version.
pub type Bbr3 = Tcp<control::bbr3::Bbr3>;
/// The machine under the control of Swift.
pub type Swift = Tcp<control::swift::Swift>;

/// The machine's states, the same for every controller.
pub const STATES: &[StateTable] = &[SenderState::TABLE, ReceiverState::TABLE];

/// Deviations of a controller, followed by those of the machine.
macro_rules! deviations {
    ($($own:literal),* $(,)?) => { &[
        $($own,)*
        "RFC9293 §3.4: sequence numbers count packets, and a message is a connection of its own: no FIN, no idle restart, nothing carried over from one message to the next.",
        "RFC2018 §3: up to three SACK blocks travel in fields of the header that acknowledgements do not use otherwise.",
        "RFC7323 §4: every data packet carries the time of its departure and every acknowledgement echoes one, so that repetitions are measured as well.",
        "RFC3465 §2.3: after a time-out the window grows by what is acknowledged, not by what arrives: a repetition that fills a hole acknowledges what had come before as well, and the window leaps from one packet to the threshold at once.",
        "RFC6675 §4: rule 4 of NextSeg, the rescue retransmission, is left out: it repeats the tail of every recovery, lost or not.",
        "RFC5681 §4.1: packets leave when the host's wire is free for them, one of each connection in turn; there is no queue between TCP and its wire, and no packet waits there for its round trip to be counted.",
        "RFC3168 §6.1: acknowledgements are not ECN-capable; the `ecn-threshold` port neither counts nor drops them for it.",
        "RFC8985 §1: `linux-4.19` has neither RACK nor tail loss probes nor undo: a lost repetition, or a lost tail, costs a time-out.",
    ] };
}
pub(crate) use deviations;

impl<C: CongestionControl> Transport for Tcp<C> {
    const PACKETS: Family = packets::PACKETS;
    type Endpoint = TcpEndpoint;
    type Params = TcpParams<C::Params>;
    const CAPABILITIES: Capabilities =
        Capabilities { window_grows: true, room: C::ROOM, ..Capabilities::NONE };
    const INFO: TransportInfo = C::INFO;
    const PROBES: &'static [GaugeInfo] = C::PROBES;
    const REVISION: u32 = C::REVISION;

    fn make_endpoint(params: &Self::Params, context: HostContext) -> TcpEndpoint {
        let usual = AckRules::new(&params.connection);
        // A controller that follows the delay must not mistake a delayed acknowledgement for a queue.
        let rules = if C::COUNTS_ACK_DELAY { usual } else { usual.without_the_wait() };
        Machine::new(
            Sender::new(Controllers::for_transport::<C>(params)),
            Receiver::new(&params.connection, rules),
            context,
        )
    }
}

impl<C: CongestionControl> Controlled for Tcp<C> {
    type Control = C;
}

impl<C: CongestionControl> Promised for Tcp<C> {
    fn make_promises(params: &Self::Params, path: &Path, packets: u64) -> Promises {
        // BBR starts with four packets at least, also if `initial_window` is smaller.
        let initial = params.connection.initial_window.max(C::LEAST_INITIAL_WINDOW.into());
        // A lost tail waits for the timer.
        let rounds = C::rounds_to_fill(packets, initial);
        let repair = path.max_rtt * 4;
        Promises { repair: repair + params.connection.min_rto + path.max_rtt, ramp: path.base_rtt * rounds }
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// A sent message's retransmission timer.
        Retransmit(HostId, u32),
        /// A sent message may send its next packet.
        Pace(HostId, u32),
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// An acknowledgement is due.
        Ack(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The TCP machine of one host, with all its messages.
pub type TcpEndpoint = Machine<Halves>;

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
            // TCP's SYN is packet kind `Rts`: see `packets.rs`.
            PacketKind::Rts => receiver.receive_syn(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::Retransmit(peer, id) => sender.handle_expiry(shared, at, now, (peer, id)),
            TimerKey::Pace(peer, id) => sender.pace_due((peer, id)),
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, (peer, id)),
            TimerKey::Ack(peer, id) => receiver.handle_overdue(shared, at, now, (peer, id)),
        }
    }
}
