//! ProactMP: receivers give credit for what their downlinks can take, senders divide it among several paths.
//!
//! Source: R. Zhuang et al., "ProactMP: A Proactive Multipath Transport Protocol for Low-Latency Datacenters", IEEE
//! TNSM 2024. A message is the response of a remote procedure call; it is opened at its sender, the server, and its
//! receiver is the client. The first DATA stands for the Response. With `request`, the sender announces the message
//! and waits until the receiver asks for it.
//!
//! [`CreditPool`] is algorithm 1 alone, with the equations of §III-C4 as its tests.

mod credit;
mod incoming;
mod outgoing;
mod packets;
mod params;
mod paths;
mod receiver;
mod sender;
mod shares;

use crate::endpoint::{Capabilities, HostContext, Path, Transport, TransportInfo};
use crate::probes;
use crate::promises::{Promised, Promises};
use crate::two_sided::{Machine, TwoSided};
pub use credit::CreditPool;
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_units::Time;
use incoming::ReceiverState;
use outgoing::SenderState;
pub use params::{Order, Owd, Preset, ProactMpParams, Settings, Weights};
use receiver::Receiver;
use sender::Sender;
use shares::SubflowState;

/// The transport's declaration.
pub struct ProactMp;

impl Transport for ProactMp {
    type Endpoint = ProactMpEndpoint;
    type Params = ProactMpParams;
    const CAPABILITIES: Capabilities = Capabilities { multipath: true, ..Capabilities::NONE };
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] =
        &[probes::PERMITTED, probes::OUTSTANDING, incoming::LONGEST_ROUND_TRIP];
    const GAUGES: &'static [GaugeInfo] = &[credit::OUTSTANDING, receiver::HELD];
    const INFO: TransportInfo = TransportInfo {
        name: "proactmp",
        summary: "credit of the receiver's downlink, overcommitted with time, divided among the paths of a message",
        paper: "ProactMP, IEEE TNSM 2024",
        discipline: "drop-tail",
        states: &[SenderState::TABLE, SubflowState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§III-A: a message is opened at its sender, and a completion time begins there: the paper's begins when the client sends the Request, one way earlier. With `request` the sender announces the message and waits for the Request, which adds a round trip of control packets, half a round trip more than in the paper.",
            "§III-A: a Request is one packet; a larger one is a message in the other direction.",
            "§III-A, Table I: DATA carries the number of a packet, and all packets of a message but the last have one payload; there are no byte ranges.",
            "§IV: the paper's is a module of the Linux kernel under the remote procedure calls of Dubbo; here a library of user space over UDP, which carries gRPC.",
            "§III-B1: a connection is a message; weights, round trips and subflows begin anew with each. Pro_Capable is a number of subflows in DATA and in GRANT, with no connection number or token beside it.",
            "§III-B2: Pro_Join is a Request, a Response and a GRANT without payload. The receiver adds one subflow at a time, after the first DATA and while more than 2 OWDbytes of the message are not granted; it asks again for one that has been silent for a time-out.",
            "§III-B2: the text names removing subflows and gives no rule, and in §III-C5 losses change no credit: here a subflow is removed after `removal` RESENDs about it without a GRANT in between, its credit and its packets move to the others, and a GRANT on it brings it back. With `removal = 0`, as under `preset = \"paper\"`, none is removed. What is sent again takes the fastest of those that no RESEND was about since their last GRANT.",
            "§III-B2: a subflow is a pair of addresses in the paper; here it is a path that the field `entropy` chooses: between real hosts with several addresses a pair of them, in the simulator, whose hosts have one interface, a way through the switches.",
            "§III-C1: OWDbytes is half of what a full packet and a grant need on an empty path, times the payload rate of the downlink, as credit counts payload: the paper's 125 bytes leave the serialisation of packets out. `preset = \"seed\"` takes 125 bytes and 1 us; payloads of at most 125 bytes are the scenario's to set. It is never less than a packet. OWDbytes are rounded up to whole packets; under `preset = \"paper\"` they are not, and a packet that begins within them leaves.",
            "§III-C1: a packet goes to the subflow with the most credit among those with less than OWDbytes in flight, the fastest of several; the limit holds only where a message has several subflows. Filling the fastest first and dividing by equation 2 would contradict each other.",
            "§III-C2: at the limit of its buffer a receiver grants the oldest message alone; if it granted none, unfinished messages could fill it for ever.",
            "§III-C3: a GRANT says how many packets of the message may be sent in all, so that the next makes up for a lost one. Every DATA is answered by one GRANT at once, with or without credit; credit that comes up later travels in a GRANT that answers nothing.",
            "§III-C3: a GRANT that answers nothing raises no w.",
            "§III-C3: w grows to 16 and is 1 again for all subflows when one is added, or after 10 ms without a GRANT; where it only grows, as in the text (`weights = \"seed\"`, `preset = \"paper\"`), an early share is kept for ever.",
            "§III-C3: the round trip of equation 2 is that of the packet that the GRANT answers, smoothed by 1/8 unless `raw_rtt`, as under `preset = \"paper\"`.",
            "§III-C4: credit is given in whole packets. What algorithm 1 has beyond them, or beyond what the message needs, stays in the pool with the time in which it came up, so that the sums of equations 4 to 8 hold and no fraction of a packet lies at a sender.",
            "§III-C4: while credit is withheld, messages wait in a queue and are served when data arrives; the pseudo-code would block. T_last moves only when credit is given, and is unset when nothing is outstanding and nobody waits.",
            "§III-C4: credit comes back with the scheduled bytes of a packet, once; unscheduled bytes take none, unless `charge_unscheduled`.",
            "§III-C4: up to 3 OWDbytes are outstanding, as in the pseudo-code; the text says RTTbytes, which `clamp` enforces.",
            "§III-C5: T_out is the longest of 8 base round trips, 4 smoothed ones and, but for `preset = \"paper\"`, a drain of full buffers on the path. It runs only while something permitted is missing, doubles up to 64 times, and no message is given up.",
            "§III-C5: a packet is also missing when others behind it arrived a time-out ago: else what a dead path held would wait for the end of the message. Once a range is there, the next one is asked for at once.",
            "§III-C5: a sender that hears nothing asks whether its message is known, as a client that hears nothing repeats its Request; where nothing at all has been heard, by another path each time.",
        ],
    };

    fn needs_pinned_paths(params: &ProactMpParams) -> bool {
        params.0.path_manager.needs_pinned_paths(params.0.subflows)
    }

    fn make_endpoint(params: &ProactMpParams, context: HostContext) -> ProactMpEndpoint {
        Machine::new(Sender::new(params.0.clone()), Receiver::new(params.0.clone()), context)
    }
}

impl Promised for ProactMp {
    const GRANTS_NAME: bool = false;

    fn make_promises(params: &ProactMpParams, path: &Path, _packets: u64) -> Promises {
        // The round trip of a message alone is at most the largest.
        let timeout = params.0.resend_timeout(path, path.max_rtt);
        Promises { repair: timeout + path.max_rtt * 2, ramp: Time::ZERO }
    }
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More unscheduled packets may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// Packets of a received message may be missing.
        Missing(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// A message at its receiver: the sender and the number.
type Key = (HostId, u32);

/// A subflow and the option Pro_Capable in one field: its number, and the number of subflows that a message may have, 0
/// if the end that says so does not support several.
const fn subflow_label(number: u32, allowed: u32) -> u32 {
    // Both are at most 64.
    number & 0xffff | allowed << 16
}

const fn number_of(label: u32) -> u32 {
    label & 0xffff
}

const fn allowed_of(label: u32) -> u32 {
    label >> 16
}

/// The ProactMP machine of one host, with all its messages.
pub type ProactMpEndpoint = Machine<ProactMp>;

impl TwoSided for ProactMp {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Grant => sender.receive_grant(shared, now, packet),
            PacketKind::Resend => sender.receive_resend(shared, now, packet),
            PacketKind::Pull => sender.receive_request(shared, now, packet),
            PacketKind::Rts => receiver.receive_response(shared, now, packet),
            PacketKind::Probe => receiver.receive_probe(shared, now, packet),
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
