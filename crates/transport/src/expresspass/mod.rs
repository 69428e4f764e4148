//! ExpressPass: receivers send a credit for every data packet, and switches drop the credits whose data would
//! not fit.
//!
//! Source: I. Cho, K. Jang, D. Han, SIGCOMM 2017, and the authors' simulator where the paper leaves a choice.
//! Sections are cited where they are implemented. The switch side is the `credit-shaping` discipline of the
//! fabric crate. Each message is a flow of its own.
//!
//! [`ExpressPassAeolus`] is the same machine with the parts of [`crate::aeolus`]: a first window leaves together with
//! the request for credits, and credits bring its lost packets.

mod burst;
mod feedback;
mod host_link;
mod packets;
mod params;
mod receiver;
mod sender;

pub use params::{
    ExpressPassAeolusParams, ExpressPassParams, Feedback, JitterFrom, Preset, Recovery, Unheard, Values,
};

use crate::aeolus::AeolusParams;
use crate::endpoint::{
    Capabilities, CreditBound, CreditDemand, HostContext, Path, Room, Transport, TransportInfo,
};
use crate::promises::{Promised, Promises};
use crate::two_sided::{Machine, SendingHalf, TwoSided};
use feedback::greatest_share;
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind, Sizes};
use headway_units::Time;
use host_link::{credit_slot, mean_bytes};
use params::BurstParams;
use receiver::{Receiver, ReceiverState};
use sender::{Sender, SenderState};

/// Deviations of ExpressPass from its paper, with or without Aeolus.
macro_rules! deviations {
    ($($more:literal),* $(,)?) => {
        &[
            "§3.2: the defaults are those of the authors' simulator and its fat-tree script, which differ from the paper in the rule of feedback and add a slower start of short messages and an early stop; `preset = \"paper\"` is the paper's rule and constants.",
            "§3.3: a stop is answered by one small packet once all data has arrived, and repeated until then, so that the sender knows that it is done. In the authors' simulator a sender is done when no credits come, and data lost at the end of a flow stays lost.",
            "§3.3: a receiver names what it misses when it finds a gap, and a sender sends that again; `recovery = \"go-back-n\"` sends all after it too, as the authors' simulator does. Their receivers keep nothing that arrives after a gap, these do.",
            "§3.3: requests, credits and stops carry the number of the sender's attempt, and credits older than the last one used are not used, so that late and repeated packets do no harm; the authors' simulator ends when credits are out of order.",
            "§3.3: repetitions of requests, stops and negative acknowledgements are further apart each time, up to 64 times; the authors' simulator repeats at a constant interval.",
            "§3.1: the jitter of gaps and the sizes of credits are hashes of host, message and credit number: machines own no generator.",
            "§3.2: a message that starts as one of n fair sharers has 1/n of the highest rate at first, instead of `alpha`.",
            $($more),*
        ]
    };
}

/// The transport's declaration.
pub struct ExpressPass;

impl Transport for ExpressPass {
    type Endpoint = ExpressPassEndpoint;
    type Params = ExpressPassParams;
    const CAPABILITIES: Capabilities =
        Capabilities { credits: true, symmetric: true, room: Room::Deep, ..Capabilities::NONE };
    const GAUGES: &'static [GaugeInfo] = &[receiver::CREDITS_MADE, receiver::CREDITS_DROPPED];
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[
        sender::FIRST_ROUND_TRIP,
        receiver::CREDIT_RATE,
        receiver::CREDITS_OUT,
        receiver::CREDIT_ROUND_TRIP,
    ];
    const INFO: TransportInfo = TransportInfo {
        name: "expresspass",
        summary: "receivers send a credit a packet, switches drop the credits whose data would not fit",
        paper: "ExpressPass, SIGCOMM 2017",
        discipline: "credit-shaping",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: deviations!(),
    };

    fn credit_bound(params: &ExpressPassParams, demand: &CreditDemand) -> Option<CreditBound> {
        Some(credit_bound(params, demand))
    }

    fn make_endpoint(params: &ExpressPassParams, context: HostContext) -> ExpressPassEndpoint {
        ExpressPassEndpoint::with_values(params, None, context)
    }
}

impl Promised for ExpressPass {
    const FIRST_WINDOW: bool = false;

    fn make_promises(params: &ExpressPassParams, path: &Path, packets: u64) -> Promises {
        repair_promises(params, path, packets)
    }
}

fn repair_promises(params: &Values, path: &Path, packets: u64) -> Promises {
    let slot = credit_slot(params, path.bottleneck, &Sizes::default());
    // Gaps at the first rate: as many as a short message has credits, or a long one in a round trip.
    // A shorter message starts slower in proportion, so that its credits take as long as `adaptive_start` of them.
    let first = packets.min(40).max(params.adaptive_start);
    let ramp = Time((slot.0 as f64 * first as f64 / params.alpha) as u64) + path.max_rtt * 4;
    Promises { repair: (path.max_rtt * 4).saturating_add(params.retry), ramp }
}

/// Credits of a receiver: their rate starts at its first value, and grows for as many round trips as the message needs.
fn credit_bound(params: &Values, demand: &CreditDemand) -> CreditBound {
    let slot = credit_slot(params, demand.nic, &demand.sizes);
    CreditBound {
        share: greatest_share(&params.shared_by(demand.sharers), demand.packets, demand.round_trip, slot),
        bytes: mean_bytes(params, &demand.sizes) + u64::from(demand.sizes.full_wire()),
        waiting: params.credit_queue,
        at_once: false,
    }
}

/// ExpressPass with Aeolus: its declaration.
pub struct ExpressPassAeolus;

impl Transport for ExpressPassAeolus {
    type Endpoint = ExpressPassEndpoint;
    type Params = ExpressPassAeolusParams;
    const CAPABILITIES: Capabilities =
        Capabilities { credits: true, symmetric: true, room: Room::Deep, ..Capabilities::NONE };
    const GAUGES: &'static [GaugeInfo] = &[receiver::CREDITS_MADE, receiver::CREDITS_DROPPED];
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[
        sender::FIRST_ROUND_TRIP,
        receiver::CREDIT_RATE,
        receiver::CREDITS_OUT,
        receiver::CREDIT_ROUND_TRIP,
    ];
    const INFO: TransportInfo = TransportInfo {
        name: "expresspass-aeolus",
        summary: "ExpressPass with a first window that is dropped where there is a queue, and sent again with credits",
        paper: "Aeolus, SIGCOMM 2020, over ExpressPass, SIGCOMM 2017",
        discipline: "selective-credit-shaping",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: deviations!(
            "Aeolus §4: a packet of the first window of which nothing is known takes a credit only a largest round trip after the probe (`unheard = \"at-once\"` is the published order without that wait): credits that come as early as the first acknowledgements would repeat half of every first window.",
            "Aeolus §4: the probe is not repeated. Credits come whether it arrives or not, and what is not heard of is sent with them.",
            "Aeolus §4: a packet of a first window, or the probe, of a message that its receiver does not know stands for the request, which is lost then.",
            "Aeolus §4: first windows leave a host in the order of its messages, after credits and after whatever credits released.",
        ),
    };

    fn credit_bound(params: &ExpressPassAeolusParams, demand: &CreditDemand) -> Option<CreditBound> {
        // The first window is a bandwidth-delay product of the message's share of the link.
        let window = demand.round_trip.0
            / demand.sizes.slot_time(demand.nic).0.max(1)
            / u64::from(demand.sharers.max(1));
        Some(CreditBound { at_once: demand.packets <= window, ..credit_bound(&params.expresspass, demand) })
    }

    fn make_endpoint(params: &ExpressPassAeolusParams, context: HostContext) -> ExpressPassEndpoint {
        let aeolus = (params.aeolus.clone(), params.burst.clone());
        ExpressPassEndpoint::with_values(&params.expresspass, Some(aeolus), context)
    }
}

impl Promised for ExpressPassAeolus {
    fn make_promises(params: &ExpressPassAeolusParams, path: &Path, packets: u64) -> Promises {
        repair_promises(&params.expresspass, path, packets)
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// Nothing was heard of a request or a stop.
        Idle(HostId, u32),
        /// The next credit of a message is due.
        Credit(HostId, u32),
        /// Missing packets of a message have not come.
        Missing(HostId, u32),
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A credit may leave this host.
        Line,
    }
}

/// `control` is the data class of the host's link: one queue for data and all control but credits, in the order
/// of their making, as at a switch port.
type Shared = crate::shared::Shared<TimerKey>;

/// Fate of a host's credits so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditCounters {
    /// Made for messages to this host.
    pub made: u64,
    /// Dropped at this host's own link.
    pub dropped: u64,
    /// Received for messages from this host.
    pub received: u64,
    /// Received and not used: there was nothing to send any more.
    pub wasted: u64,
}

/// The ExpressPass machine of one host, with all its messages.
pub type ExpressPassEndpoint = Machine<ExpressPass>;

impl ExpressPassEndpoint {
    fn with_values(
        params: &Values,
        aeolus: Option<(AeolusParams, BurstParams)>,
        context: HostContext,
    ) -> Self {
        Machine::new(Sender::new(params.clone(), aeolus), Receiver::new(params.clone(), &context), context)
    }

    /// Fate of credits so far.
    pub fn credit_counters(&self) -> CreditCounters {
        let (received, wasted) = self.sender.credit_counts();
        CreditCounters {
            made: self.receiver.made_credits(),
            dropped: self.receiver.host_link.dropped_credits(),
            received,
            wasted,
        }
    }
}

impl TwoSided for ExpressPass {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Credit => sender.receive_credit(shared, now, packet),
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Rts => receiver.receive_request(shared, now, packet),
            PacketKind::CreditStop => receiver.receive_stop(shared, now, packet),
            PacketKind::Resend => sender.receive_missing(shared, now, packet),
            PacketKind::Probe => receiver.receive_probe(shared, now, packet),
            PacketKind::Ack => sender.receive_ack(shared, now, packet),
            PacketKind::Finished => sender.finish_message(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, _: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, now, peer, id),
            TimerKey::Credit(peer, id) => receiver.credit_due(shared, now, (peer, id)),
            TimerKey::Missing(peer, id) => receiver.request_again(shared, now, (peer, id)),
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Line => receiver.host_link.line_due(shared, now),
        }
    }

    /// Credits go first whenever they may leave. ExpressPass §3.1
    fn poll_transmit(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        let Machine { sender, receiver, shared } = machine;
        if let Some(credit) = receiver.host_link.take_credit(shared, now) {
            return Some(credit);
        }
        shared.control.pop_front().or_else(|| sender.poll_data(shared, now))
    }

    fn poll_control(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        let Machine { receiver, shared, .. } = machine;
        receiver.host_link.take_credit(shared, now).or_else(|| shared.pop_control())
    }

    #[inline]
    fn wants_transmit(machine: &Machine<Self>) -> bool {
        let Machine { sender, receiver, shared } = machine;
        // A credit wants the wire even while the bucket holds it back: `take_credit` decides when it is asked.
        !shared.control.is_empty() || !receiver.host_link.is_empty() || sender.is_ready()
    }
}
