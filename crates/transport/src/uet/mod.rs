//! Ultra Ethernet's transport: packets of a message are sprayed over many paths, arrive in any order, and are acknowledged
//! by bitmaps; a window at the sender (NSCC), credit from the receiver (RCCC) or both say how many may be under way.
//!
//! Source: Ultra Ethernet 1.0 as its public simulator has it, uet-htsim, whose sections here are those of
//! `docs/transports/uet-nscc.md`; the specification's text was not at hand. [`crate::eqds`] is the same machine with the numbers and the
//! pacer of EQDS. Entropies are those of [`crate::spraying`].

mod control;
mod outgoing;
mod pacer;
mod packets;
mod receiver;
mod sender;

use crate::endpoint::{Capabilities, HostContext, Path, Traffic, Transport, TransportInfo};
use crate::probes;
use crate::promises::{ByteBooks, Promised, Promises};
use crate::shared::scale_time;
use crate::spraying::{Spraying, USUAL_ENTROPIES};
use crate::two_sided::{Machine, SendingHalf, TwoSided};
pub use control::nscc::NsccParams;
use control::rccc::MOST_OVERSUBSCRIPTION;
pub use control::rccc::RcccParams;
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketFlags, PacketKind};
use headway_params::ParamKind;
use headway_units::Time;
pub(crate) use outgoing::SenderState as UetSenderState;
use outgoing::{STALLED_TIMEOUTS, is_of_sender};
pub(crate) use packets::PACKETS;
use receiver::Receiver;
pub(crate) use receiver::{ReceiverState as UetReceiverState, WANTED};
use sender::Sender;

headway_params::params! {
    /// Parameters of every variant of the machine.
    pub struct UetParams {
        /// Policy that spreads packets over the paths. UET §4
        spraying: Spraying = Spraying::Mixed, ParamKind::Choice(Spraying::WORDS);
        /// Entropies of a message where switches hash them; where paths have numbers, it has all paths. UET §4
        entropies: u64 = USUAL_ENTROPIES, ParamKind::Int { min: 1, max: 65_536 };
        /// Round trip of an empty path, that of the longest one; 0 = the network's, as far as it is known. UET §0.2
        base_rtt: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Time after which a packet that nothing was heard of is taken for lost; 0 = `rto_factor` says it. UET §2.6
        rto: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// The same in largest round trips of the path.
        rto_factor: f64 = 1.25, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Bytes on the wire after whose arrival a receiver acknowledges without being asked; a sixteenth of the largest window at most. UET §1.1
        ack_bytes: u64 = 16_384, ParamKind::Bytes { min: 1, max: 1 << 30 };
    }
}

headway_params::joined_params! {
    /// Parameters of NSCC with those of the machine, as one list.
    pub struct UetNsccParams {
        /// Parameters of every variant.
        uet: UetParams,
        /// Parameters of the window.
        nscc: NsccParams,
    }
}

headway_params::joined_params! {
    /// Parameters of RCCC with those of the machine, as one list.
    pub struct UetRcccParams {
        /// Parameters of every variant.
        uet: UetParams,
        /// Parameters of the credit.
        rccc: RcccParams,
    }
}

/// Rules of credit, for a variant that has any.
#[derive(Clone, Debug)]
pub(crate) struct CreditRules {
    /// Bytes on the wire that one pull permits.
    pub(crate) pull: u64,
    /// Rate of pulls, as a share of the link's.
    pub(crate) pull_rate: f64,
    /// True if the receiver counts packets to be sent again, pulls them first, and pulls whole pulls; otherwise senders
    /// ask for them.
    pub(crate) counts_again: bool,
    /// True if messages that wait for one wire ask for their share of its rate.
    pub(crate) shares: bool,
    /// Ratio of what hosts can send to what links upwards carry; the rate of pulls follows marks and trimming above 1.
    pub(crate) oversubscription: f64,
}

/// The largest first window, and the most credit or window that a message has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Most {
    /// A number of bandwidth-delay products.
    Products(f64),
    /// A number of full packets.
    Packets(u64),
}

/// Parts of a variant of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) common: UetParams,
    pub(crate) most: Most,
    pub(crate) window: Option<NsccParams>,
    pub(crate) credit: Option<CreditRules>,
}

impl Settings {
    /// The base round trip that windows are computed with.
    fn base_rtt(&self, path: &Path) -> Time {
        if self.common.base_rtt > Time::ZERO { self.common.base_rtt } else { path.base_rtt }
    }

    /// Bytes of the largest window over a path of this base round trip; a full packet at least.
    fn largest_window(&self, context: &HostContext, base_rtt: Time) -> u64 {
        let full = u64::from(context.sizes.full_wire());
        match self.most {
            Most::Products(products) => (context.nic.bytes_in(base_rtt) as f64 * products) as u64,
            Most::Packets(packets) => packets * full,
        }
        .max(full)
    }

    /// The time-out of a packet over `path`.
    fn packet_timeout(&self, path: &Path) -> Time {
        self.common.packet_timeout(path)
    }

    fn shares_credit(&self) -> bool {
        self.credit.as_ref().is_some_and(|credit| credit.shares)
    }
}

impl UetParams {
    /// The time-out of a packet over `path`: an empty round trip at least.
    fn packet_timeout(&self, path: &Path) -> Time {
        // A time-out that is set may be shorter than the path: the empty round trip bounds it.
        let set = if self.rto > Time::ZERO { self.rto } else { scale_time(path.max_rtt, self.rto_factor) };
        set.max(path.base_rtt)
    }

    /// The longest path has the round trip that the whole network is configured with.
    pub(crate) fn tune_base_rtt(&mut self, traffic: &Traffic) {
        // The network's longest path: a sender that goes by its own shorter path loses against farther ones (decision 76).
        if self.base_rtt == Time::ZERO {
            self.base_rtt = traffic.path.base_rtt;
        }
    }

    /// A loss is noticed after one time-out where something is under way, or else asked about after a few.
    pub(crate) fn repair_promises(&self, path: &Path) -> Promises {
        // The last pull may be lost: it is asked for again only after these time-outs.
        let repair = self.packet_timeout(path) * (1 + STALLED_TIMEOUTS) + path.max_rtt * 3;
        Promises { repair, ramp: Time::ZERO }
    }
}

/// Data packets at most that are sent again when one acknowledgement is lost: those that arrived since the one before it.
pub(crate) const COPIES: u64 = 4;

/// Differences from the specification, or from its public simulator, in every variant.
macro_rules! deviations {
    ($($own:literal),* $(,)?) => {
        &[
            $($own,)*
            "§0: rules and numbers are those of the public simulator (uet-htsim), whose authors say that it is not the specification. The specification's text was not at hand.",
            "§0.2: the base round trip is that of the longest path of the network, as there; where a machine does not know the network it is that of the pair.",
            "§1: a request for credit has no sequence number of its own. There it takes the next one of the data, and the end of a flow is computed around it.",
            "§1.1: an acknowledgement says how many packets have arrived, there how many bytes. Its bitmap has the 64 packets up to the one that it answers, or from the first missing one on; there it begins with a marked packet, or one that asked, and the sender does not learn of those before it. The penalty of a receiver's window is never sent, as there.",
            "§1.1: a receiver acknowledges sixteen times in a largest window at the least. There it is every 16,384 bytes, which is the same from 100 Gb/s and 14 us on; where a window has 24 packets, it would leave half of it unused.",
            "§1.1: a finished message is remembered by number; there its connection lives on.",
            "§2.6: the time-out is a share of the largest round trip of the path; there it is 15 us and six drains of a switch's queue, which is 1.17 of it at 100 Gb/s. It doubles up to five times while nothing is heard; there it is constant.",
            "§2.6: a sender that has no credit, and nothing under way, asks again after four time-outs. There it waits for good if the last pull is lost.",
            "§2.6: a header that a switch returns is sent again like one that was trimmed; there switches do not return any.",
            "§4: what is lost counts against the entropy that it had, there against entropy 0. The frozen ring of REPS thaws after a time-out, there after 10 ms, and needs no trimming.",
            "§4: entropies are counted from the message's own, so that messages do not share paths; there the simulator hashes the flow's number as well.",
            "§6: increases are numbers of double precision; there they overflow 32 bits from 800 Gb/s on.",
        ]
    };
}

/// NSCC: the declaration.
pub struct UetNscc;

impl Transport for UetNscc {
    type Endpoint = UetEndpoint;
    type Params = UetNsccParams;
    const CAPABILITIES: Capabilities =
        Capabilities { multipath: true, tunes: true, network_wide: true, ..Capabilities::NONE };
    const PACKETS: Family = PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::WINDOW, probes::IN_FLIGHT, sender::AVERAGE_DELAY];
    const INFO: TransportInfo = TransportInfo {
        name: "uet-nscc",
        summary: "packets sprayed over all paths; a window at the sender follows marks, delays and trimming",
        paper: "Ultra Ethernet 1.0, NSCC",
        discipline: "trimming-ecn",
        states: &[UetSenderState::TABLE, UetReceiverState::TABLE],
        deviations: deviations!(
            "§2.3: the round trip of a trimmed header is no sample of the base round trip unless `base_rtt_on_nack`, which is there the default: a header skips the queues and takes less time on every link, so that windows shrink for good.",
            "§2.6: a sender whose window is closed does not ask by a request; what is under way has a time-out of its own.",
            "§2.7: without `sleek` and without trimming, losses are found by the time-out alone, as there by default. With it the time-out stays in force while losses are repaired; there it is not, and a packet that is lost twice waits for the next answer. A probe is a request, there an empty data packet.",
        ),
    };

    fn tune_params(params: &mut UetNsccParams, traffic: &Traffic) {
        params.uet.tune_base_rtt(traffic);
    }

    fn make_endpoint(params: &UetNsccParams, context: HostContext) -> UetEndpoint {
        UetEndpoint::from_settings(
            Settings {
                common: params.uet.clone(),
                most: Most::Products(params.nscc.most),
                window: Some(params.nscc.clone()),
                credit: None,
            },
            context,
        )
    }
}

impl Promised for UetNscc {
    const COPIES: u64 = COPIES;
    const BYTES: ByteBooks = ByteBooks::Window;
    const WIDEST_WINDOW: (u32, u32) = (1500, 0);

    fn make_promises(params: &UetNsccParams, path: &Path, _: u64) -> Promises {
        params.uet.repair_promises(path)
    }
}

/// RCCC: the declaration.
pub struct UetRccc;

impl Transport for UetRccc {
    type Endpoint = UetEndpoint;
    type Params = UetRcccParams;
    /// 1: the rate of pulls follows marks and trimming where links upwards carry less than hosts can send.
    const REVISION: u32 = 1;
    const CAPABILITIES: Capabilities =
        Capabilities { multipath: true, tunes: true, network_wide: true, ..Capabilities::NONE };
    const PACKETS: Family = PACKETS;
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::PERMITTED, sender::AVERAGE_DELAY, WANTED];
    const INFO: TransportInfo = TransportInfo {
        name: "uet-rccc",
        summary: "packets sprayed over all paths; receivers give credit at the rate of their link",
        paper: "Ultra Ethernet 1.0, RCCC",
        discipline: "trimming-core-ecn",
        states: &[UetSenderState::TABLE, UetReceiverState::TABLE],
        deviations: deviations!(
            "§2.7: there is no SLEEK with credit: without trimming, losses are found by the time-out alone.",
            "§3.2: a finished message gets no more pulls; there its connection gets those that it may have beyond its target, up to 16 control packets a flow at 100 Gb/s.",
            "§3.4: where the network is not known, the rate of credit does not follow marks and trimming unless `oversubscription` says so. It never follows the receiver's bus.",
        ),
    };

    fn tune_params(params: &mut UetRcccParams, traffic: &Traffic) {
        params.uet.tune_base_rtt(traffic);
        if params.rccc.oversubscription == 0.0 {
            // Above this limit the lowest rate stays the same.
            params.rccc.oversubscription = traffic.oversubscription.min(MOST_OVERSUBSCRIPTION);
        }
    }

    fn make_endpoint(params: &UetRcccParams, context: HostContext) -> UetEndpoint {
        let rccc = &params.rccc;
        UetEndpoint::from_settings(
            Settings {
                common: params.uet.clone(),
                most: Most::Products(rccc.credit),
                window: rccc
                    .window
                    .then(|| NsccParams { base_rtt_on_nack: rccc.base_rtt_on_nack, ..NsccParams::default() }),
                credit: Some(CreditRules {
                    pull: rccc.pull,
                    pull_rate: rccc.pull_rate,
                    counts_again: false,
                    shares: true,
                    // A window follows marks and trimming itself, so pulls need not. RCCC §3.4
                    oversubscription: if rccc.window { 1.0 } else { rccc.oversubscription },
                }),
            },
            context,
        )
    }
}

impl Promised for UetRccc {
    const COPIES: u64 = COPIES;
    const BYTES: ByteBooks = ByteBooks::Pulls;
    const WIDEST_WINDOW: (u32, u32) = (1500, 0);

    fn make_promises(params: &UetRcccParams, path: &Path, _: u64) -> Promises {
        params.uet.repair_promises(path)
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A packet sent to this peer may be lost, or a pull.
        Lost(HostId, u32),
        /// A pull may leave.
        Pull,
        /// A sender may have heard nothing for too long.
        Probe(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// Marks a probe, which requests the arrivals alone, and its answer. NSCC §2.7
// The flag of pulls, which requests and acknowledgements do not have otherwise.
const PROBE: PacketFlags = PacketFlags::PULL;
/// Marks a header that was cut in front of its receiver.
const LAST_HOP: PacketFlags = PacketFlags::LAST_HOP;

/// The machine of any variant as a protocol of two halves.
pub struct Uet;

/// The machine of one host, with all its messages.
pub type UetEndpoint = Machine<Uet>;

impl UetEndpoint {
    /// A machine of one variant.
    pub(crate) fn from_settings(settings: Settings, context: HostContext) -> UetEndpoint {
        // Both halves have the settings: a receiver computes its senders' largest window for itself.
        Machine::new(Sender::new(settings.clone()), Receiver::new(settings, &context), context)
    }
}

impl TwoSided for Uet {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            // A header that a switch returned is for its sender, one that arrived for the receiver.
            PacketKind::Data | PacketKind::Header | PacketKind::Rts if is_of_sender(packet) => {
                receiver.receive_packet(shared, now, packet);
            }
            PacketKind::Header | PacketKind::Ack | PacketKind::Nack | PacketKind::Pull => {
                sender.process_answer(shared, now, packet);
            }
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, _: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Lost(peer, id) => sender.handle_overdue(shared, now, peer, id),
            TimerKey::Pull => receiver.pull_due(shared, now),
            TimerKey::Probe(peer, id) => sender.probe_due(shared, now, peer, id),
        }
    }

    /// Sends ten control packets, then one of data, while both wait. UET §0.4
    fn poll_transmit(machine: &mut Machine<Self>, now: Time) -> Option<Packet> {
        let Machine { sender, shared, .. } = machine;
        // The counter moves only while both wait: `&&` stops before it otherwise.
        if !shared.control.is_empty() && sender.is_ready() && sender.is_turn_of_data() {
            return sender.poll_data(shared, now).or_else(|| shared.control.pop_front());
        }
        shared.control.pop_front().or_else(|| sender.poll_data(shared, now))
    }
}
