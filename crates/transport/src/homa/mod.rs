//! Homa: messages start at once at a priority that their size earns; receivers grant the rest, shortest
//! remaining first, to a few messages at a time and each in a priority of its own.
//!
//! Source: B. Montazeri et al., SIGCOMM 2018, whose text was not at hand: rules and numbers are as its authors'
//! simulator, Linux module and Internet-Draft have them, and sections are cited as the papers that build on it
//! do. `preset` chooses among these and Homa as the AMRT and RPO papers describe theirs. Messages are one-way
//! here: a request and its reply are two messages.
//!
//! [`HomaAeolus`] is the same machine with the parts of [`crate::aeolus`]: packets of the first window are
//! acknowledged, a probe follows them, and a grant permits a number of packets that the sender chooses, those
//! known to be lost first.

mod cutoffs;
mod incoming;
mod outgoing;
mod packets;
mod params;
mod receiver;
mod sender;

use crate::aeolus::AeolusParams;
use crate::endpoint::{Capabilities, HostContext, Path, Room, Traffic, Transport, TransportInfo};
use crate::probes;
use crate::promises::{Promised, Promises};
use crate::two_sided::{Machine, TwoSided};
use cutoffs::Priorities;
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketFlags, PacketKind};
use headway_units::Time;
use incoming::ReceiverState;
use outgoing::SenderState;
pub use params::{
    Asking, GrantWindow, HomaParams, LossTimer, Preset, ScheduledBy, ScheduledFrom, Settings, UnscheduledBy,
};
use receiver::Receiver;
use sender::Sender;

/// Deviations of Homa from its paper, with or without Aeolus.
macro_rules! deviations {
    ($($own:literal),* $(,)?) => {
        &[
            $($own,)*
            "§3: messages are one-way, each delivered once; the paper's remote procedure calls may be executed again after a loss, the Linux module's may not.",
            "§3.1: control packets have a priority of their own above the eight of data. With `control_apart = false` the ports put them into the highest of data, as the authors do.",
            "§3.3: a grant says how many packets of the message may be sent in all, as in the Linux module, so that a lost one is made up for by the next; the authors' simulator grants one packet at a time, a newly granted message included. Here such a message is granted RTTbytes at once.",
            "§3.3: sizes are in packets of the network; RTTbytes is rounded up to whole packets, and is a bandwidth-delay product of the pair unless it is set.",
            "§3.4: priorities are split by the share of unscheduled payload bytes in the traffic, to the nearest level; the authors' published configurations have 3, 4 and 6 scheduled levels for W2, W3 and the web server, where this rule finds 2, 6 and 7, and the same as it for the other workloads. `unscheduled_levels` sets it.",
            "§3.4: cut-offs are computed once from the distributions that a scenario names, as the authors' experiments do, not measured while running. Without a distribution they are those of the Linux module: 200, 2800 and 15,000 bytes, four unscheduled levels.",
            "§3.5: the packets of a message that has been granted in full no longer count against the degree of overcommitment, as in the authors' simulator.",
            "§3.6: incast control is not implemented, as in the Linux module: it concerns replies to a host's own requests.",
            "§3.7: the authors' simulator loses nothing and recovers nothing. The time-out is three base round trips and one drain of full buffers, and for packets on their way beyond a bandwidth-delay product the time in which they leave; the Linux module's is 5 ms. It doubles up to five times without result.",
            "§3.7: in `sigcomm18` and `amrt` a packet is missing when it was authorised a time-out ago, whatever else has arrived, and packets are asked for at the rate of the receiver's link; in `linux` when nothing of the message has arrived for a time-out, and all at once. By the latter rule a loss narrows the window of a long message until its end.",
            "§3.7: packets sent again travel in the class of the message's last grant, or before any grant in the one that unscheduled packets would have with the size that is still to be received; in a better class they would overtake shorter messages whose queue they were taken for lost in.",
            "§3.7: a sender does not answer with packets that it has sent within a base round trip while others asked for have not been sent at all, and answers busy when it sends nothing.",
            "§3.7: a sender that hears nothing asks by a probe whether its message has arrived; a receiver that does not know the message asks for all of its first window. Neither end ever gives a message up; the Linux module does after 100 ms.",
            "§5.2: the Linux module's pacer that keeps the queue of the NIC short has nothing to do: packets are pulled by a wire that is free.",
            "§5.2: increments for the oldest message (`fifo_share`) are granted in the highest scheduled class; the source does not say which.",
        ]
    };
}

/// The transport's declaration.
pub struct Homa;

impl Transport for Homa {
    type Endpoint = HomaEndpoint;
    type Params = HomaParams;
    const CAPABILITIES: Capabilities = Capabilities { tunes: true, room: Room::Deep, ..Capabilities::NONE };
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::PERMITTED, probes::OUTSTANDING];
    const INFO: TransportInfo = TransportInfo {
        name: "homa",
        summary: "receiver-driven messages, shortest remaining first, over switch priorities with controlled overcommitment",
        paper: "Homa, SIGCOMM 2018",
        discipline: "strict-priority",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: deviations!(),
    };

    fn tune_params(params: &mut HomaParams, traffic: &Traffic) {
        cutoffs::tune_priorities(&mut params.0, traffic);
    }

    fn make_endpoint(params: &HomaParams, context: HostContext) -> HomaEndpoint {
        HomaEndpoint::with_settings(&params.0, None, context)
    }
}

impl Promised for Homa {
    fn make_promises(params: &HomaParams, path: &Path, _packets: u64) -> Promises {
        repair_promises(&params.0, path)
    }
}

/// A loss is noticed within two time-outs, one of the sender before one of the receiver at worst.
fn repair_promises(settings: &Settings, path: &Path) -> Promises {
    let repair = settings.resend_timeout(path) * 2 + path.max_rtt * 2;
    Promises { repair, ramp: Time::ZERO }
}

headway_params::joined_params! {
    /// Parameters of Homa with Aeolus, as one list.
    pub struct HomaAeolusParams {
        /// Parameters of Homa itself.
        homa: HomaParams,
        /// Parameters of Aeolus.
        aeolus: AeolusParams,
    }
}

impl HomaAeolusParams {
    /// The rules that hold with Aeolus: a message's first window stays in order.
    fn ordered_settings(&self) -> Settings {
        // By remaining bytes the later packets of a window would have better classes, and overtake the earlier ones.
        Settings { unscheduled_by: UnscheduledBy::Length, ..self.homa.0.clone() }
    }
}

/// Homa with Aeolus: its declaration.
pub struct HomaAeolus;

impl Transport for HomaAeolus {
    type Endpoint = HomaEndpoint;
    type Params = HomaAeolusParams;
    // No `Room::Deep`: ports that drop packets of first windows are a part of Aeolus.
    const CAPABILITIES: Capabilities = Capabilities { tunes: true, ..Capabilities::NONE };
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::PERMITTED, probes::OUTSTANDING];
    const INFO: TransportInfo = TransportInfo {
        name: "homa-aeolus",
        summary: "Homa whose first window is dropped where there is a queue, and sent again with grants",
        paper: "Aeolus, SIGCOMM 2020, over Homa, SIGCOMM 2018",
        discipline: "selective-drop",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: deviations!(
            "Aeolus §4: all unscheduled packets of a message, and the probe behind them, have the priority of the message's length, whatever `unscheduled_by` says: a hole is a loss only where packets stay in order.",
            "Aeolus §4: a grant permits a number of packets; the sender chooses them in the published order: lost ones, new ones, ones of the first window that nothing is known of. The receiver adds a permission for each packet that the probe finds missing, and for each that arrives a second time.",
            "Aeolus §4: a sender that hears nothing repeats the probe; a repeated one is answered, and writes nothing off a second time.",
            "Aeolus §4: packets asked for again by name after a time-out are protected, as all scheduled ones are.",
        ),
    };

    fn tune_params(params: &mut HomaAeolusParams, traffic: &Traffic) {
        let mut settings = params.ordered_settings();
        cutoffs::tune_priorities(&mut settings, traffic);
        // Only the computation goes by length; the parameter stays as the user set it.
        params.homa.0 = Settings { unscheduled_by: params.homa.0.unscheduled_by, ..settings };
    }

    fn make_endpoint(params: &HomaAeolusParams, context: HostContext) -> HomaEndpoint {
        HomaEndpoint::with_settings(&params.ordered_settings(), Some(&params.aeolus), context)
    }
}

impl Promised for HomaAeolus {
    fn make_promises(params: &HomaAeolusParams, path: &Path, _packets: u64) -> Promises {
        repair_promises(&params.homa.0, path)
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// Packets of a received message may be missing.
        Missing(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// Shares are counted in thousandths, so that turns are decided in integers.
const WHOLE: u32 = 1000;

/// A share in thousandths.
fn share_to_thousandths(share: f64) -> u32 {
    // Rounded to the nearest, because 0.3 is a little less than 3 tenths as a float.
    (share * f64::from(WHOLE) + 0.5) as u32
}

/// The Homa machine of one host, with all its messages.
pub type HomaEndpoint = Machine<Homa>;

impl HomaEndpoint {
    fn with_settings(
        settings: &Settings,
        aeolus: Option<&AeolusParams>,
        context: HostContext,
    ) -> HomaEndpoint {
        let priorities = Priorities::new(settings);
        Machine::new(
            Sender::new(settings.clone(), priorities, aeolus.cloned()),
            Receiver::new(settings.clone(), priorities, aeolus.is_some()),
            context,
        )
    }
}

impl TwoSided for Homa {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Grant => sender.receive_grant(shared, now, packet),
            PacketKind::Resend => sender.receive_resend(shared, now, packet),
            PacketKind::Busy => receiver.receive_busy(shared, now, packet),
            PacketKind::Probe => receiver.receive_probe(shared, now, packet),
            PacketKind::Ack => sender.receive_ack(shared, now, packet),
            PacketKind::Finished => sender.finish_message(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, _: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, now, peer, id),
            TimerKey::Missing(peer, id) => receiver.check_overdue(shared, now, peer, id),
        }
    }
}

/// Marks a grant's numbers as counted from the beginning of the message.
const CUMULATIVE: PacketFlags = PacketFlags::PULL;
