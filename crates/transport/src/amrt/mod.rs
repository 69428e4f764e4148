//! AMRT: receivers grant packet by packet, switches leave a bit set on packets that followed an idle
//! gap (anti-ECN), and a marked grant lets the sender put two packets where there was one.
//!
//! Source: J. Hu et al., IEEE TNSM 2022 (and ICPP 2020). Sections are cited where they are implemented.
//! The switch side is the `anti-ecn` discipline of the fabric crate.

mod packets;
mod receiver;
mod sender;

use crate::endpoint::{HostContext, Transport, TransportInfo};
use crate::probes;
use crate::promises::Promised;
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_params::ParamKind;
use headway_units::Time;
use receiver::{Receiver, ReceiverState};
use sender::{Sender, SenderState};

headway_params::choice! {
    /// Round trip in which the loss time-out is measured.
    pub enum LossTimer {
        /// Base round trip plus one full-buffer drain at each switch.
        MaxRtt = "max-rtt",
        /// Base round trip: whatever waits in a standing queue is granted again as well.
        BaseRtt = "base-rtt",
    }
}

headway_params::choice! {
    /// Time at which a receiver grants overdue packets again.
    pub enum Reissue {
        /// One a frame time of the receiver's link, over all its messages.
        Paced = "paced",
        /// All at the moment they are overdue, as AMRT §IV-B says: packets lost together come back together, and are
        /// lost again where the buffer was too small for them.
        AtOnce = "at-once",
    }
}

headway_params::params! {
    /// Parameters of AMRT.
    pub struct AmrtParams {
        /// Packets sent before the first grant; 0 = one bandwidth-delay product of the pair. AMRT §IV-C
        window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Time after which a granted packet that has not arrived is granted again, in round trips. AMRT §IV-B
        loss_timeout: f64 = 1.0, ParamKind::Float { min: 0.1, max: 1000.0 };
        /// Round trip that `loss_timeout` counts.
        loss_timer: LossTimer = LossTimer::MaxRtt, ParamKind::Choice(LossTimer::WORDS);
        /// Time at which overdue packets are granted again. AMRT §IV-B
        reissue: Reissue = Reissue::AtOnce, ParamKind::Choice(Reissue::WORDS);
        /// Doublings of the time-out of a packet granted again and again, at most. AMRT §IV-B
        backoff: u64 = 0, ParamKind::Int { min: 0, max: 20 };
        /// Silence after which a sender repeats packet 0, in largest round trips; doubles each time.
        restart_timeout: f64 = 3.0, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Receivers hand marks to the message that has used fewest, instead of the one that brought them. AMRT §VIII-F
        fair_marks: bool = false, ParamKind::Bool;
    }
}

/// The transport's declaration.
pub struct Amrt;

impl Transport for Amrt {
    type Endpoint = AmrtEndpoint;
    type Params = AmrtParams;
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::PERMITTED, probes::OUTSTANDING, receiver::MARKS_USED];
    // 1: grants again as the paper says, at once and without doubling; marks by the interval from start to start.
    const REVISION: u32 = 1;
    const INFO: TransportInfo = TransportInfo {
        name: "amrt",
        summary: "receiver-driven; switches mark gaps with anti-ECN, a marked grant releases two packets",
        paper: "AMRT, IEEE TNSM 2022 (ICPP 2020)",
        discipline: "anti-ecn",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§IV-B: the paper counts the time-out in round trips and does not say which. Here it is the largest one, base plus a full buffer at each switch (`loss_timer`): by the base round trip a packet that waits in a full buffer is granted again.",
            "§IV-B: a re-issued grant names one packet and is never marked, so that a lost marked grant cannot inject a third packet. Two packets of one marked grant are granted again one by one.",
            "§IV-B: there is no grant for a packet of the first window. It counts as granted when the first packet of the message arrives, so that one that is lost is granted again a time-out later.",
            "§IV-B: a sender ignores a re-issued grant while the packet it names still waits in the sender's own queue.",
            "§IV-B: an arrival after which nothing of its message is left to grant earns no grant. The paper's §VIII-B says that flows to one receiver can share grants under every receiver-driven transport, and no rule of AMRT's says how.",
            "§IV-C: the paper does not say how a sender whose whole first window is lost continues; here it repeats packet 0 after a silence of three largest round trips (`restart_timeout`).",
            "§IV-C: the paper does not say how the packets of several messages share a sender; here they leave in the order in which they were permitted.",
            "§VIII-F: marks are spread among the messages that arrive, a newcomer counting from where the others are; a mark not used within a round trip expires. The paper says only that marked packets are reassigned fairly.",
            "§IV-A: a switch marks an interval that is greater than the time of a packet, as the text has it (`anti-ecn.rule`); equation 1 as printed marks one that is equal as well, and with it every packet of a saturated link.",
            "§IV-A: control packets go first, wait in a buffer of their own, and take their time out of the interval between two data packets: that time is not spare.",
            "§IV-A: the mark is ECT(1) (01), which a port without room clears to Not-ECT (00). The paper sets CE (11); other switches set CE where they are congested, which is the opposite of spare.",
            "§IV-A: the host's own link applies the gap rule as well; without it a sender of two messages over-commits its own wire.",
            "§VI: there is no program for DPDK. The switch and the hosts of real packets are processes over AF_XDP or packet sockets; a port finds gaps on its own departure clock, packet by packet, and not per burst of up to four packets.",
        ],
    };

    fn make_endpoint(params: &AmrtParams, context: HostContext) -> AmrtEndpoint {
        Machine::new(Sender::new(params.clone()), Receiver::new(params.clone()), context)
    }
}

impl Promised for Amrt {}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// A packet granted to this peer's message is overdue.
        Loss(HostId, u32),
        /// The next overdue packet may be granted again.
        Reissue,
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The AMRT machine of one host, with all its messages.
pub type AmrtEndpoint = Machine<Amrt>;

impl TwoSided for Amrt {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Grant => sender.receive_grant(shared, now, packet),
            PacketKind::Finished => sender.finish_message(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, _: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, now, peer, id),
            TimerKey::Loss(peer, id) => receiver.check_overdue(shared, now, peer, id),
            TimerKey::Reissue => receiver.reissue_grants(shared, now),
        }
    }
}
