//! dcPIM: receivers and senders are matched in rounds of request, grant and accept, an epoch ahead of the data, and a
//! matched receiver clocks the data by tokens; short messages begin at once.
//!
//! Source: Q. Cai, M. T. Arashloo, R. Agarwal, SIGCOMM 2022, as the authors' simulator has it; the paper's text was not at
//! hand. [`schedule`] is the clock, [`matching`] assigns channels, [`incoming`] is a message at its receiver.

mod incoming;
mod matching;
mod packets;
mod receiver;
mod schedule;
mod sender;

use crate::endpoint::{Capabilities, HostContext, Path, Room, Traffic, Transport, TransportInfo};
use crate::probes;
use crate::promises::{Promised, Promises};
use crate::shared::scale_time;
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind, Sizes};
use headway_params::ParamKind;
use headway_units::{Rate, Time};
use incoming::ReceiverState;
use receiver::Receiver;
use schedule::Schedule;
use sender::{Sender, SenderState};

headway_params::choice! {
    /// Rules that hold where those of the authors' simulator are not the only ones.
    pub enum Rules {
        /// Those of this project's first machine: a receiver takes part from the next epoch on, asks for packets without a token, and a match keeps the pace of a prompt one.
        Usual = "usual",
        /// It takes part from the next round on, asks for packets that have not arrived, and every match starts from zero.
        Simulator = "simulator",
    }
}

headway_params::params! {
    /// Parameters of dcPIM.
    pub struct DcpimParams {
        /// Rounds of matching in an epoch: the paper's r. dcPIM §3.2
        rounds: u64 = 4, ParamKind::Int { min: 1, max: 16 };
        /// Parts into which a host's link is divided: the paper's k. dcPIM §3.3
        channels: u64 = 4, ParamKind::Int { min: 1, max: 64 };
        /// Length of a round, in round trips of control. dcPIM §3.4
        beta: f64 = 1.3, ParamKind::Float { min: 1.1, max: 100.0 };
        /// Length of the data phase, in matching phases. dcPIM §3.4
        alpha: f64 = 1.0, ParamKind::Float { min: 1.0, max: 100.0 };
        /// Rounds in which the message with the fewest packets to come is chosen; later ones choose at random. dcPIM §3.3
        smallest_rounds: u64 = 1, ParamKind::Int { min: 0, max: 16 };
        /// Round trip of control through empty queues; 0 = that of the longest path.
        control_rtt: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Packets of a bandwidth-delay product: up to so many begin at once; 0 = those of the longest path.
        bdp_packets: u64 = 0, ParamKind::Int { min: 0, max: u32::MAX as u64 };
        /// Packets with tokens that have not arrived at most; 0 = a bandwidth-delay product.
        token_window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Silence after the last token after which the window is forgiven, in bandwidth-delay products of frame times.
        window_timeout: f64 = 1.1, ParamKind::Float { min: 0.1, max: 1000.0 };
        /// Time that a receiver allows for packets under way before it asks for missing ones, in the same.
        resend_wait: f64 = 1.0, ParamKind::Float { min: 0.1, max: 1000.0 };
        /// True if a match begins at once on channels that are idle. dcPIM §3.3
        prompt: bool = true, ParamKind::Bool;
        /// Rules that hold: with `simulator` a receiver takes part from the next round on, asks for what has not
        /// arrived, and every match starts from zero; with `usual` it takes part from the next epoch on, asks for what
        /// has no token, and a match keeps the pace of a prompt one.
        rules: Rules = Rules::Simulator, ParamKind::Choice(Rules::WORDS);
        /// Time at which an epoch begins on every host; others begin a whole number of epochs before and after it.
        origin: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Upper limit of the random delay by which a host begins its epochs later than others.
        skew: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
    }
}

/// Numbers that follow from the parameters and the longest path that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    schedule: Schedule,
    /// Half a round trip of control.
    way: Time,
    bdp: u32,
    /// Time of a full frame on the host's link.
    slot: Time,
    channels: u32,
    window: u32,
    /// Packets of a channel in a data phase.
    phase_packets: u32,
}

/// Round trip of control over a path, from that of a full packet and a control packet: two frame times at least, because
/// control waits for the packet on the wire at either end.
fn control_rtt(path: &Path, sizes: &Sizes) -> Time {
    let links = u64::from(path.hops) + 1;
    let longer = u64::from(sizes.full_wire().saturating_sub(sizes.control)) * links;
    path.base_rtt.saturating_sub(path.bottleneck.time_of(longer)).max(sizes.slot_time(path.bottleneck) * 2)
}

fn bdp_packets(path: &Path, nic: Rate, sizes: &Sizes) -> u32 {
    path.bdp_packets(nic, sizes)
}

/// Round trip of control if no parameter sets it. All hosts have to count the same rounds, so that it cannot follow
/// from the paths that each of them knows.
const UNSAID: Time = Time::us(100);

impl Terms {
    fn for_path(params: &DcpimParams, context: &HostContext, path: &Path) -> Terms {
        let sizes = &context.sizes;
        let round_trip = match params.control_rtt {
            Time::ZERO => UNSAID,
            said => said,
        };
        let bdp = match params.bdp_packets {
            0 => bdp_packets(path, context.nic, sizes),
            said => said as u32,
        };
        let slot = sizes.slot_time(context.nic);
        let channels = params.channels as u32;
        // By hash, so that a host has the same lot in every run of a seed.
        let lot = headway_primitives::mix(context.seed ^ u64::from(context.host.0));
        // A remainder by 0 panics.
        let skew = Time(if params.skew == Time::ZERO { 0 } else { lot % params.skew.0 });
        let later = params.origin.saturating_add(skew);
        let schedule = Schedule::new(scale_time(round_trip, params.beta), params.rounds, params.alpha, later);
        let phase = schedule.period.0 / slot.0.max(1) / u64::from(channels);
        Terms {
            schedule,
            way: Time(round_trip.0 / 2),
            bdp,
            slot,
            channels,
            window: if params.token_window == 0 { bdp } else { params.token_window as u32 },
            // At least one: matches divide by it.
            phase_packets: u32::try_from(phase).unwrap_or(u32::MAX).max(1),
        }
    }

    /// Time of so many bandwidth-delay products of frame times.
    fn bdp_time(&self, factor: f64) -> Time {
        scale_time(self.slot.saturating_mul(self.bdp.into()), factor)
    }
}

/// The terms of a host: its bandwidth-delay product is that of the longest path that it has met, unless a parameter
/// sets it.
#[derive(Default)]
struct Known {
    longest: Option<Path>,
    terms: Option<Terms>,
}

impl Known {
    fn terms_for(&mut self, params: &DcpimParams, context: &HostContext, peer: HostId) -> Terms {
        let path = (context.path)(peer);
        let known = self.longest.is_some_and(|longest| longest.base_rtt >= path.base_rtt);
        match self.terms {
            Some(terms) if known => terms,
            _ => {
                let terms = Terms::for_path(params, context, &path);
                (self.longest, self.terms) = (Some(path), Some(terms));
                terms
            }
        }
    }
}

/// The transport's declaration.
pub struct Dcpim;

impl Transport for Dcpim {
    type Endpoint = DcpimEndpoint;
    type Params = DcpimParams;
    /// 1: offers of rounds that are over do not wait for the wire. 2: of equal bids, that of the message that began first comes first.
    const REVISION: u32 = 2;
    const CAPABILITIES: Capabilities =
        Capabilities { shared_clock: true, tunes: true, room: Room::Deep, ..Capabilities::NONE };
    const PROBES: &'static [GaugeInfo] = &[probes::PERMITTED, probes::OUTSTANDING];
    const PACKETS: Family = packets::PACKETS;
    const INFO: TransportInfo = TransportInfo {
        name: "dcpim",
        summary: "receivers and senders are matched in rounds, an epoch ahead; short messages begin at once",
        paper: "dcPIM, SIGCOMM 2022",
        discipline: "priority-buffers",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§3.2: boundaries are multiples of the epoch from `origin` on every host, which is time 0 by default. The authors' simulator runs epochs for ever; a host takes part from the first round that begins while it has demand, which is the same. With `rules = \"usual\"` it waits for an epoch.",
            "§3.2: what has arrived when a host's own half round ends takes part, as in the authors' DPDK implementation; one that is ahead waits for its round. The authors' simulator ignores what is late.",
            "§3.3: choices by lot are hashes of host, epoch, round and peer; the authors' simulator has one generator for all.",
            "§3.3: of equal bids the one of the message that began first is served first, as in the authors' simulator, where both ends read the same clock: a sender goes by when it opened its messages, a receiver by when they were announced, less the way of an announcement through empty queues.",
            "§3.3: channels of the ending data phase count as had in the next matching, as in the authors' simulator, although their packets may have been counted as received.",
            "§3.4: where neither a scenario nor `control_rtt` says the round trip of control, it counts as 100 us: hosts that went by what each has met would count different rounds.",
            "§3.5: tokens of one rank for one message are used in their order; the authors' simulator uses them in that of its heap.",
            "§3.5: the last packet of a message has its own size; the authors' simulator sends 1500 bytes.",
            "§3.6: a sender repeats the announcement of a message that hears nothing, and a receiver answers one of a finished message; the authors' simulator loses no control packets.",
            "§3.6: a free packet of a short message is not held back for the announcement of another; the hold-off of token timers is counted for each host, as in the authors' simulator.",
            "§3.7: a scenario that starts a message as one of several sharers gives it a first window; the rest of it is matched.",
        ],
    };

    fn tune_params(params: &mut DcpimParams, traffic: &Traffic) {
        if params.control_rtt == Time::ZERO {
            params.control_rtt = control_rtt(&traffic.path, &traffic.packet);
        }
        if params.bdp_packets == 0 {
            params.bdp_packets = bdp_packets(&traffic.path, traffic.nic, &traffic.packet).into();
        }
    }

    fn make_endpoint(params: &DcpimParams, context: HostContext) -> DcpimEndpoint {
        Machine::new(Sender::new(params.clone()), Receiver::new(params.clone()), context)
    }
}

impl Promised for Dcpim {
    /// Long messages are matched first.
    const FIRST_WINDOW: bool = false;

    fn make_promises(params: &DcpimParams, path: &Path, packets: u64) -> Promises {
        let context = HostContext {
            // Number and seed move the origin of the epochs alone, and no promise depends on that.
            host: HostId(0),
            nic: path.bottleneck,
            sizes: Sizes::default(),
            seed: 0,
            path: Box::new({
                let path = *path;
                move |_| path
            }),
        };
        let terms = Terms::for_path(params, &context, path);
        // At worst it just misses an epoch, is matched in the next, and has its data phase after that.
        let matching = terms.schedule.period.saturating_mul(2).saturating_add(terms.schedule.matching_time());
        let short = terms.slot.saturating_mul(packets.min(terms.bdp.into()));
        let waits = terms.bdp_time(params.resend_wait) + terms.bdp_time(params.window_timeout);
        let repair = short + waits + matching * 2 + path.max_rtt * 4;
        // A message that needs fewer channels than there are is slower by as much, and one of several epochs may miss one of them.
        let ramp = matching + terms.slot.saturating_mul(packets.saturating_mul(params.channels));
        Promises { repair, ramp }
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// Missing packets of a received message are asked for from now on.
        Missing(HostId, u32),
        /// A match gives its next token.
        Token(HostId, u32),
        /// A round or a data phase begins at this receiver.
        Boundary,
        /// This sender answers requests.
        Answer,
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The dcPIM machine of one host, with all its messages.
pub type DcpimEndpoint = Machine<Dcpim>;

impl TwoSided for Dcpim {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Rts => receiver.receive_announcement(shared, now, packet),
            PacketKind::Busy => receiver.receive_offer(shared, now, packet),
            PacketKind::Credit => sender.receive_matching(shared, now, packet),
            PacketKind::Token => sender.receive_token(shared, now, packet),
            PacketKind::Finished => sender.finish_message(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, at: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, now, peer, id),
            TimerKey::Answer => sender.answer_requests(shared, at, now),
            TimerKey::Missing(peer, id) => receiver.check_overdue(shared, at, now, (peer, id)),
            TimerKey::Token(_, number) => receiver.token_due(shared, now, number),
            TimerKey::Boundary => receiver.boundary_due(shared, at, now),
        }
    }
}
