//! RCP: routers compute one rate for all flows through a port, every packet brings back the lowest on its way,
//! and senders pace at that rate, without window or slow start; a message costs a round trip to ask.
//!
//! Source: N. Dukkipati, M. Kobayashi, R. Zhang-Shen, N. McKeown, IWQoS 2005, as the authors' ns-2 agent
//! (`rcp-host.cc`) and queue (`rcp.cc`) have it; their functions are cited where they are implemented. The
//! router side is the `explicit-rate` discipline of the fabric crate. Recovery is not theirs: the agent counts
//! packets and sends as many more as are missing, here acknowledgements name arrived packets.

mod flight;
mod packets;
mod receiver;
mod sender;

use crate::endpoint::{Endpoint, HostContext, Path, Transport, TransportInfo};
use crate::probes;
use crate::promises::Promised;
use crate::two_sided::{Machine, SendingHalf, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_params::ParamKind;
use headway_units::Time;
use receiver::{Receiver, ReceiverState};
use sender::{Sender, SenderState};

headway_params::params! {
    /// Parameters of RCP's hosts; those of its routers are the port discipline's.
    pub struct RcpParams {
        /// Time after which a SYN or a packet that nothing was heard of is sent again, in largest round trips. rcp-host.cc §retrans_timeout
        timeout: f64 = 2.0, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Doublings of that time at most, while nothing at all is heard.
        backoff: u64 = 10, ParamKind::Int { min: 0, max: 20 };
        /// Packets above one that must have arrived before it is sent again.
        reordering: u64 = 3, ParamKind::Int { min: 1, max: 1_000 };
        /// A sender whose packets are further apart than this many smallest round trips asks for its rate in between. rcp-host.cc §ref_timeout
        reference: f64 = 1.0, ParamKind::Float { min: 0.1, max: 1000.0 };
        /// Packets sent and not acknowledged at most; 0 = the largest round trip at the rate of the host's link.
        window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
    }
}

impl RcpParams {
    /// Packets sent and not acknowledged over `path` at most. A path that loses nothing never holds more.
    fn flight_limit(&self, path: &Path, context: &HostContext) -> u32 {
        match self.window {
            0 => path.max_rtt.0.div_ceil(context.sizes.slot_time(context.nic).0).clamp(1, u32::MAX.into())
                as u32,
            n => n as u32,
        }
    }
}

/// The transport's declaration.
pub struct Rcp;

impl Transport for Rcp {
    type Endpoint = RcpEndpoint;
    type Params = RcpParams;
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::IN_FLIGHT, probes::RATE, probes::LAST_ROUND_TRIP];
    const INFO: TransportInfo = TransportInfo {
        name: "rcp",
        summary: "routers compute one rate for all flows through a port, packets bring the lowest back, senders pace at it",
        paper: "RCP, IWQoS 2005, and the authors' ns-2 code",
        discipline: "explicit-rate",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "rcp.cc §init_vars: constants for round trips of microseconds: an interval lasts one mean round trip, whose first value is the first one measured (theirs: 200 ms), and a port gives its link's rate before it knows anything (theirs: 0.05 of it).",
            "rcp.cc §do_on_packet_arrival: routers learn round trips from packets towards the receiver; the authors' acknowledgements carry them as well.",
            "rcp-host.cc §retrans_timeout: acknowledgements name what has arrived, cumulatively and in up to three blocks, and a packet is sent again once three that left later have arrived or after two largest round trips in silence. The authors' agent waits two round trips after its last packet and sends as many more as the receiver's count is short.",
            "rcp-host.cc §ref_timeout: an unanswered SYN is repeated after two largest round trips and then twice that, and so on (theirs: every 500 ms).",
            "rcp-host.cc §ref_timeout: reference packets of all messages of one host take no more than a twentieth of its link (theirs: once a round trip each), because they count as load and so would keep down the rate that they ask for.",
            "rcp-host.cc §recv: a rate of zero does not occur, because ports give at least a hundredth of a packet a round trip; the agent's state for it, and its chance of giving up, are left out.",
            "rcp-host.cc §sendlast: the last packet carries no FIN; a message ends with the acknowledgement of all of its packets.",
            "rcp-host.cc §sendpkt: a sender stops when as many packets are not acknowledged as fit its link in a largest round trip, which happens only after losses; the agent has no such bound.",
            "rcp-host.cc §start: a message that opens as one of n that share fairly takes 1/n of the rate it is told until its first data is acknowledged, and a first window that is given bounds what it sends until then.",
            "rcp-host.cc §rate_change: messages of one host take turns at its wire, one packet each, when their rates together exceed it.",
        ],
    };

    fn make_endpoint(params: &RcpParams, context: HostContext) -> RcpEndpoint {
        Machine::new(Sender::new(params.clone(), &context), Receiver::default(), context)
    }
}

impl Promised for Rcp {}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// A message's next packet may leave.
        Pace(HostId, u32),
        /// Nothing was heard of a SYN, or of a packet.
        Idle(HostId, u32),
        /// A message that waits long for its next packet asks for its rate.
        Reference(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The RCP machine of one host, with all its messages.
pub type RcpEndpoint = Machine<Rcp>;

impl TwoSided for Rcp {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, packet),
            PacketKind::Rts => receiver.receive_request(shared, packet),
            PacketKind::Ack => sender.receive_ack(shared, now, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: TimerKey) {
        let Machine { sender, shared, .. } = machine;
        match key {
            TimerKey::Pace(peer, id) => sender.pace_due(shared, at, now, (peer, id)),
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, at, now, (peer, id)),
            TimerKey::Reference(peer, id) => sender.reference_due(shared, at, now, (peer, id)),
        }
    }

    fn poll_transmit(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        // At the rate of the link a packet is due at the instant at which the wire is free.
        machine.handle_timeout(now);
        let Machine { sender, shared, .. } = machine;
        shared.control.pop_front().or_else(|| sender.poll_data(shared, now))
    }
}
