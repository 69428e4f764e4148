//! RPO: every grant releases a normal packet from the front of the message and, while the way there has room,
//! an opportunistic one from its end, which gives way to all normal ones.
//!
//! Source: J. Hu et al., ICNP 2021. Sections are cited where they are implemented. The switch side is the
//! `cross-queue-ecn` discipline of the fabric crate; the host's own link is served and marked here by the
//! same rule. The sender chooses the packets, so a grant names none: it says which packet earned it, how many
//! it permits, and those that have arrived from either end of the message.

mod expected;
mod opportunistic;
mod outgoing;
mod packets;
mod receiver;
mod sender;
mod sent_log;

use crate::endpoint::{HostContext, Transport, TransportInfo};
use crate::probes;
use crate::promises::{Promised, Promises};
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_params::ParamKind;
use headway_units::Time;
use outgoing::SenderState;
use receiver::{Receiver, ReceiverState};
use sender::Sender;

headway_params::choice! {
    /// Way in which lost packets are found.
    pub enum Detection {
        /// The sender finds them, as soon as a grant acknowledges one that left later in the same queue.
        Acknowledgements = "acknowledgements",
        /// The receiver finds them, a time-out after the grant, as RPO §IV-C says.
        Timer = "timer",
        /// Both find them: the sender repairs with the permissions at hand, and the receiver restores those that were lost.
        Both = "both",
    }
}

headway_params::choice! {
    /// Time at which a receiver grants overdue packets again.
    pub enum Reissue {
        /// One a frame time of the receiver's link, over all its messages.
        Paced = "paced",
        /// All at the moment they are overdue, as RPO §IV-C says.
        AtOnce = "at-once",
    }
}

headway_params::choice! {
    /// Round trip in which the loss time-out is measured.
    pub enum LossTimer {
        /// The one through empty queues.
        BaseRtt = "base-rtt",
        /// That, plus one full-buffer drain at each switch.
        MaxRtt = "max-rtt",
        /// The one that the sender measures on normal packets, smoothed, and at least that through empty queues.
        Measured = "measured",
    }
}

headway_params::choice! {
    /// Mark in the grant for an opportunistic packet; only normal packets carry marks.
    pub enum OpportunisticMark {
        /// The mark of the last normal packet of the message.
        Inherit = "inherit",
        /// Nothing: it is never marked.
        Never = "never",
    }
}

headway_params::params! {
    /// Parameters of RPO.
    pub struct RpoParams {
        /// Packets sent before the first grant; 0 = one bandwidth-delay product of the pair. RPO §IV-A
        window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Way in which lost packets are found. RPO §IV-C
        detection: Detection = Detection::Timer, ParamKind::Choice(Detection::WORDS);
        /// Packets that may overtake one of the same queue before it counts as lost.
        reordering: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Time after which a receiver asks again, in round trips: since the grant, or without any arrival. RPO §IV-C
        loss_timeout: f64 = 3.0, ParamKind::Float { min: 0.1, max: 1000.0 };
        /// Round trip that `loss_timeout` counts; `restart_timeout` counts the one through empty queues where it is measured.
        loss_timer: LossTimer = LossTimer::Measured, ParamKind::Choice(LossTimer::WORDS);
        /// Time at which overdue packets are granted again. RPO §IV-C
        reissue: Reissue = Reissue::AtOnce, ParamKind::Choice(Reissue::WORDS);
        /// Doublings of that time-out, at most. RPO §IV-C
        backoff: u64 = 0, ParamKind::Int { min: 0, max: 20 };
        /// Silence after which a sender repeats packet 0, in round trips; doubles each time.
        restart_timeout: f64 = 3.0, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Age, in base round trips, at which an opportunistic packet without acknowledgement is sent again as a normal one once the two ends have met; 0 = at once. RPO §IV-A
        meeting_patience: f64 = 0.0, ParamKind::Float { min: 0.0, max: 1000.0 };
        /// Mark in grants for opportunistic packets.
        opportunistic_mark: OpportunisticMark = OpportunisticMark::Inherit, ParamKind::Choice(OpportunisticMark::WORDS);
        /// True if unmarked grants release an opportunistic packet as well; false shows their cost.
        opportunistic: bool = true, ParamKind::Bool;
        /// The host's own link marks by its opportunistic queue, as ports do.
        nic_marks: bool = true, ParamKind::Bool;
    }
}

impl RpoParams {
    /// `factor` of the round trips that time-outs count.
    fn scaled_timeout(&self, path: &crate::Path, factor: f64) -> Time {
        let rtt = match self.loss_timer {
            // The measured round trip starts from this one, and never falls below it.
            LossTimer::BaseRtt | LossTimer::Measured => path.base_rtt,
            LossTimer::MaxRtt => path.max_rtt,
        };
        crate::shared::scale_time(rtt, factor)
    }
}

/// A permitted packet that has not come.
struct Missing {
    index: u32,
    /// Times it was granted again before.
    attempts: u32,
}

/// Data classes: normal packets go first everywhere.
const NORMAL: u8 = 1;
const OPPORTUNISTIC: u8 = 2;

/// The transport's declaration.
pub struct Rpo;

impl Transport for Rpo {
    type Endpoint = RpoEndpoint;
    type Params = RpoParams;
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::PERMITTED, probes::SMOOTHED_RTT, probes::HELD];
    const GAUGES: &'static [GaugeInfo] =
        &[sender::SENT, sender::SENT_OPPORTUNISTIC, receiver::REORDER_BUFFER, receiver::DUPLICATES];
    // 1: losses are found by the receiver's time-out alone and granted again at once, and the ends meet at once, as the paper says.
    const REVISION: u32 = 1;
    const INFO: TransportInfo = TransportInfo {
        name: "rpo",
        summary: "receiver-driven; a grant releases a normal packet and, unless marked, an opportunistic one from the message's end",
        paper: "RPO, ICNP 2021",
        discipline: "cross-queue-ecn",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§IV-A: the paper does not say how a sender knows which opportunistic packets arrived. Here every grant says which packet earned it, and up to where the message has arrived from its front and from its end.",
            "§IV-A: an opportunistic packet that still waits at its own host at the meeting changes queues there instead of being sent twice.",
            "§IV-B: the host's own link serves and marks by the same rule as a switch port; without it the opportunistic packets of a lone message queue at its host, a bandwidth-delay product more each round trip. `nic_marks = false` leaves it out.",
            "§IV-C: only normal packets carry marks. The grant for an opportunistic packet repeats the last mark of the message's normal packets; otherwise a draining opportunistic queue would call for more. `opportunistic_mark = \"never\"` is the letter.",
            "§IV-C: the paper does not say which round trip the time-out of three counts. Here it is the one that the sender measures and tells with each packet: by the one through empty queues, packets that wait in a full buffer are granted again, and by the one through full buffers a message waits a millisecond for a first window of which nothing waits anywhere. `loss_timer` has the others.",
            "§IV-C: there is no grant for a packet of the first window. It is overdue when it would be had a grant brought it, two round trips after the first of the window has arrived and its own place in it later; and at once if all of the window is lost.",
            "§IV-C: what the receiver grants again for a packet of the first window is in addition to the grants for arrivals, so that a message has the rate of its whole first window back. The paper's Fig. 11 has a flow that lost 25 of 80 packets and stays below the link until another leaves; `detection = \"acknowledgements\"` restores nothing.",
            "§IV-C: packets are handed to the application as they arrive, and the re-sequencing buffer is measured and not kept.",
            "§IV-C: a missing opportunistic packet is asked for only while the message is not marked: it may wait in a queue for as long as it is.",
            "§IV-A: the paper does not say how a sender whose whole first window is lost continues; here it repeats packet 0 after a silence of three round trips (`restart_timeout`), each time twice as long.",
            "§IV-C: once the two ends have met, or in a message of one first window, an unmarked grant repeats two lost packets, the smallest as a normal and the largest as an opportunistic one; the paper names only the first, under which such a message repeats one packet for each that arrives and never doubles.",
            "§IV-A: a packet that arrives twice earns one grant.",
            "§IV-A: the drop threshold is for packets of first windows (`cross-queue-ecn.drop`), as in Aeolus, which the paper names as its model; its sentence says normal packets, which `drop = \"all\"` takes for all.",
            "§IV-B: the port has a third class, for grants, before both queues of data.",
            "§IV-B: the two queues share the buffer. A normal packet that finds it full takes the place of the last opportunistic one, and no more than half the buffer or two round trips of the link wait opportunistically (`cross-queue-ecn.push_out`, `cross-queue-ecn.low_limit`). The paper does not say how the buffer is divided.",
            "§IV-B: k counts packets of full size on the wire, where the paper divides by the TCP segment size, and is rounded down; the time t is the longest base round trip of the network's first host where a scenario gives none (`cross-queue-ecn.round_trip`), and the periods of two ports are not in step.",
            "§VI: there is no program for DPDK nor one for P4. The switch and the hosts of real packets are processes over AF_XDP or packet sockets, with the same rules.",
        ],
    };

    fn make_endpoint(params: &RpoParams, context: HostContext) -> RpoEndpoint {
        Machine::new(Sender::new(params.clone()), Receiver::new(params.clone()), context)
    }
}

impl Promised for Rpo {
    const GRANTS_NAME: bool = false;
    /// A loss moves the instant at which the two ends meet, and packets on their way then go again: a short path's
    /// packets.
    const COPIES: u64 = 10;

    fn make_promises(params: &RpoParams, path: &crate::Path, _: u64) -> Promises {
        // A lost tail waits for the receiver's time-out, and its repair for a round trip.
        let slow = params.scaled_timeout(path, params.loss_timeout.max(params.restart_timeout) + 1.0);
        // Time-outs that count the base round trip may be shorter than the way through full buffers.
        Promises { repair: slow.max(path.max_rtt * 4), ramp: Time::ZERO }
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// An opportunistic packet of a message whose ends have met is due as a normal one.
        Meeting(HostId, u32),
        /// Packets of this peer's message are overdue.
        Loss(HostId, u32),
        /// The next overdue packet may be granted again.
        Reissue,
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The RPO machine of one host, with all its messages.
pub type RpoEndpoint = Machine<Rpo>;

impl TwoSided for Rpo {
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
            TimerKey::Meeting(peer, id) => sender.meeting_due(shared, now, peer, id),
            TimerKey::Loss(peer, id) => receiver.check_overdue(shared, now, peer, id),
            TimerKey::Reissue => receiver.reissue_grants(shared, now),
        }
    }
}
