//! SIRD: a receiver gives credit at the rate of its link, at most so much in all, and to each sender as much as that
//! sender and the network can use.
//!
//! Source: K. Prasopoulos, E. Bugnion et al., NSDI 2025, as the authors' simulator has it; the paper's text was not at hand.
//! [`buckets`] are the control loops, [`receiver`] has the credit, [`sender`] the order in which it is used.

mod buckets;
mod incoming;
mod outgoing;
mod packets;
mod pair;
mod receiver;
mod sender;

use crate::endpoint::{Capabilities, HostContext, Path, Room, Traffic, Transport, TransportInfo};
use crate::probes;
use crate::promises::{Promised, Promises};
use crate::shared::scale_time;
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketFlags, PacketKind};
use headway_params::ParamKind;
use headway_units::{Rate, Time};
use incoming::ReceiverState;
use outgoing::SenderState;
use receiver::Receiver;
use sender::Sender;

headway_params::choice! {
    /// Message that a receiver gives credit to first.
    pub enum Policy {
        /// The one with the fewest packets to receive.
        Srpt = "srpt",
        /// All in turn.
        RoundRobin = "round-robin",
    }
}

headway_params::choice! {
    /// Messages that begin without credit.
    pub enum Unscheduled {
        /// Those of at most `unscheduled_threshold`, as a whole.
        Short = "short",
        /// Every message, with a bandwidth-delay product of it.
        All = "all",
    }
}

headway_params::choice! {
    /// Messages that share one pool of credit.
    pub enum Pool {
        /// None: credit is for packets of one message.
        Message = "message",
        /// All messages from one host to another; the sender uses credit for the message that comes first by its order.
        Pair = "pair",
    }
}

headway_params::params! {
    /// Parameters of SIRD.
    pub struct SirdParams {
        /// Bytes that all others are multiples of, on the wire; 0 = a bandwidth-delay product of the longest path. The authors: 100 kB at 100 Gb/s
        bdp: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 54 };
        /// Credit that a receiver has out at most, in bandwidth-delay products: the paper's B. SIRD §4
        credit: f64 = 1.5, ParamKind::Float { min: 0.01, max: 1000.0 };
        /// Credit that one sender has at most, in bandwidth-delay products. SIRD §4.2
        bucket: f64 = 1.0, ParamKind::Float { min: 0.01, max: 1000.0 };
        /// Messages that begin without credit. SIRD §4.3
        unscheduled: Unscheduled = Unscheduled::Short, ParamKind::Choice(Unscheduled::WORDS);
        /// Size on the wire above which a message asks for credit first, in bandwidth-delay products: the paper's UnschT. SIRD §4.3
        unscheduled_threshold: f64 = 1.0, ParamKind::Float { min: 0.0, max: 1000.0 };
        /// Unused credit above which a sender says that it is congested, in bandwidth-delay products: the paper's SThr. SIRD §4.2
        sender_threshold: f64 = 0.5, ParamKind::Float { min: 0.0, max: 1000.0 };
        /// Weight of the newest batch in both shares of marked packets. SIRD §4.2
        gain: f64 = 0.08, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Smallest bucket of the loop that follows senders, in bandwidth-delay products.
        host_floor: f64 = 0.1, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Smallest bucket of the loop that follows marks, in bandwidth-delay products.
        network_floor: f64 = 0.03, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Share of a sender's link for the receiver of its shortest message; all receivers share the rest. SIRD §4.4
        shortest_share: f64 = 0.5, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Message that gets credit first. SIRD §4.4
        policy: Policy = Policy::Srpt, ParamKind::Choice(Policy::WORDS);
        /// Messages that share one pool of credit. The authors' simulator: `pair`
        pool: Pool = Pool::Message, ParamKind::Choice(Pool::WORDS);
        /// Rate of credited bytes, as a share of the receiver's link. The authors' simulator: 1
        credit_rate: f64 = 1.0, ParamKind::Float { min: 0.05, max: 1.0 };
        /// True if unscheduled data travels in class 1 and scheduled in 2; otherwise all in 1. SIRD §4.5
        priorities: bool = true, ParamKind::Bool;
        /// Silence after which credit is taken for lost and given again, in largest round trips.
        timeout: f64 = 3.0, ParamKind::Float { min: 0.5, max: 1000.0 };
    }
}

/// Numbers that follow from the parameters and the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    /// Bytes of a bandwidth-delay product: one frame at least.
    bdp: u64,
    /// Bytes of a full frame on the wire.
    frame: u64,
}

impl Budget {
    fn for_peer(params: &SirdParams, context: &HostContext, peer: HostId) -> Budget {
        let frame = u64::from(context.sizes.full_wire());
        let bdp = match params.bdp {
            0 => bdp_bytes(&(context.path)(peer), context.nic),
            bytes => bytes,
        };
        // Credit for less than a frame would never release a packet.
        Budget { bdp: bdp.max(frame), frame }
    }

    /// Bytes of so many bandwidth-delay products.
    fn times_bdp(&self, factor: f64) -> u64 {
        (self.bdp as f64 * factor) as u64
    }
}

fn bdp_bytes(path: &Path, nic: Rate) -> u64 {
    nic.bytes_in(path.base_rtt)
}

/// The transport's declaration.
pub struct Sird;

impl Transport for Sird {
    type Endpoint = SirdEndpoint;
    type Params = SirdParams;
    const CAPABILITIES: Capabilities =
        Capabilities { tunes: true, network_wide: true, room: Room::Deep, ..Capabilities::NONE };
    const PROBES: &'static [GaugeInfo] = &[probes::OUTSTANDING];
    const PACKETS: Family = packets::PACKETS;
    const INFO: TransportInfo = TransportInfo {
        name: "sird",
        summary: "receiver-driven credit, bounded in all and for each sender by what it and the network can use",
        paper: "SIRD, NSDI 2025",
        discipline: "core-ecn",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§4: credit belongs to a message. In the authors' simulator all messages of a pair of hosts draw from one pool, in the order of their sender: `pool = \"pair\"`.",
            "§4: a credit says how many packets of the message may leave in all, so that the next one makes up for one that was lost. The authors' says how many bytes the next packet has.",
            "§4: a bandwidth-delay product is the base round trip of the longest path at the rate of the host's link, unless `bdp` says it; the authors use 100 kB for a network of 5 and 7 us.",
            "§4.1: credit is given the moment it may be. The authors' simulator looks every 30 ns, and keeps up to one poll and a half of bytes in front of its pacers.",
            "§4.2: data packets drive both loops. In the authors' simulator every packet of a sender does, credits and requests among them, which are never marked.",
            "§4.2: an increase counts on marked packets too, as in the authors' simulator, where a flag that should prevent it is always set.",
            "§4.3: a message that a scenario starts as one of several sharers has a first window, whatever its size.",
            "§4.6: the authors' simulator loses nothing. Here credit whose data does not arrive within `timeout` is given again for the same packets, later where more packets may leave at once than that has room for; a sender that hears nothing announces its message again; a receiver that has everything says so.",
        ],
    };

    /// One number for the whole network, as both the authors' simulator and implementation have.
    fn tune_params(params: &mut SirdParams, traffic: &Traffic) {
        if params.bdp == 0 {
            params.bdp = bdp_bytes(&traffic.path, traffic.nic);
        }
    }

    fn make_endpoint(params: &SirdParams, context: HostContext) -> SirdEndpoint {
        Machine::new(Sender::new(params.clone()), Receiver::new(params.clone()), context)
    }
}

impl Promised for Sird {
    /// Long messages ask first.
    const FIRST_WINDOW: bool = false;

    fn make_promises(params: &SirdParams, path: &Path, _: u64) -> Promises {
        // One time-out of the sender before one of the receiver at worst, each looked for a time-out after the last look.
        Promises { repair: credit_timeout(params, path) * 4 + path.max_rtt * 2, ramp: path.base_rtt }
    }
}

fn credit_timeout(params: &SirdParams, path: &Path) -> Time {
    scale_time(path.max_rtt, params.timeout)
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// Credit of a received message may be lost.
        Missing(HostId, u32),
        /// The next credit may leave.
        Pacer,
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The SIRD machine of one host, with all its messages.
pub type SirdEndpoint = Machine<Sird>;

/// Marks a credit's number as counted from the beginning of the message.
const CUMULATIVE: PacketFlags = PacketFlags::PULL;
/// Marks a credit that all messages of a pair of hosts may use.
// Only data is sent unscheduled, so that this bit is free in a credit.
const POOLED: PacketFlags = PacketFlags::UNSCHEDULED;

impl TwoSided for Sird {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Rts => receiver.receive_announcement(shared, now, packet),
            PacketKind::Grant => sender.receive_credit(shared, now, packet),
            PacketKind::Resend => sender.receive_resend(shared, now, packet),
            PacketKind::Finished => sender.finish_message(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, now, peer, id),
            TimerKey::Missing(peer, id) => receiver.check_overdue(shared, at, now, (peer, id)),
            TimerKey::Pacer => receiver.pacer_due(shared, now),
        }
    }
}
