//! NDP: senders push a first window at line rate over all paths, switches trim what does not fit to its
//! header, and receivers pull everything else, one packet a frame time of their link.
//!
//! Source: M. Handley et al., SIGCOMM 2017. Sections are cited where they are implemented. The switch side
//! is the `trimming` discipline of the fabric crate.

mod packets;
mod paths;
mod pulls;
mod receiver;
mod sender;

use crate::endpoint::{Ahead, Capabilities, HostContext, Path, Transport, TransportInfo};
use crate::message::InitialWindow;
use crate::probes;
use crate::promises::Promised;
use crate::shared::scale_time;
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketFlags, PacketKind};
use headway_params::ParamKind;
use headway_units::Time;
use receiver::{Receiver, ReceiverState};
use sender::{Sender, SenderState};

headway_params::choice! {
    /// Policy that spreads a message's packets over the paths.
    pub enum Spray {
        /// Each path once in a random order, then in another order.
        Permuted = "permuted",
        /// Each packet on any path.
        Random = "random",
        /// All packets on one path.
        Single = "single",
    }
}

headway_params::choice! {
    /// Order in which a receiver pulls messages.
    pub enum PullOrder {
        /// Messages of the lowest class that waits, in turn.
        Classes = "classes",
        /// All messages in turn, whatever their class.
        Fair = "fair",
    }
}

headway_params::params! {
    /// Parameters of NDP.
    pub struct NdpParams {
        /// Packets pushed before the first pull; 0 = the paper's 30, or a bandwidth-delay product if that is more. NDP §6.2
        window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Time after which a packet that nothing was heard of is sent again, in largest round trips. NDP §3.2.4
        rto: f64 = 2.5, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Doublings of that time at most, while nothing at all is heard.
        backoff: u64 = 5, ParamKind::Int { min: 0, max: 20 };
        /// Pulls sent for each frame time of the receiver's link. NDP §3.2
        pull_rate: f64 = 1.0, ParamKind::Float { min: 0.05, max: 1.0 };
        /// Order in which a receiver pulls messages. NDP §3.2
        pull_order: PullOrder = PullOrder::Classes, ParamKind::Choice(PullOrder::WORDS);
        /// A pull that need not wait rides in the acknowledgement. NDP §3.2
        pull_ack: bool = true, ParamKind::Bool;
        /// A packet that arrives again earns another pull.
        pull_duplicates: bool = false, ParamKind::Bool;
        /// Policy that spreads packets over the paths. NDP §3.1.1
        spray: Spray = Spray::Permuted, ParamKind::Choice(Spray::WORDS);
        /// Paths to use at most; 0 = all that have numbers, or 64 where switches hash.
        paths: u64 = 0, ParamKind::Int { min: 0, max: 65_535 };
        /// Paths with many more trimmed packets than the mean are left out for a while. NDP §3.2.3
        outliers: bool = true, ParamKind::Bool;
        /// Packets that must be known of a path before it can be an outlier.
        outlier_samples: u64 = 100, ParamKind::Int { min: 1, max: 1_000_000 };
    }
}

/// The paper's default first window. NDP §6.2
const PAPER_WINDOW: u32 = 30;

impl NdpParams {
    /// Packets of the first window over `path`, shared or not.
    fn first_window(&self, path: &Path, context: &HostContext, initial_window: &InitialWindow) -> u32 {
        // A window that a scenario gives stands, however small: the paper's is its default alone.
        let least = if self.window == 0 { PAPER_WINDOW } else { 0 };
        context.first_window(self.window, path, initial_window).max(least)
    }

    /// The time-out of a packet over `path`.
    fn packet_timeout(&self, path: &Path) -> Time {
        scale_time(path.max_rtt, self.rto)
    }
}

/// The transport's declaration.
pub struct Ndp;

impl Transport for Ndp {
    type Endpoint = NdpEndpoint;
    type Params = NdpParams;
    const CAPABILITIES: Capabilities = Capabilities { multipath: true, classes: true, ..Capabilities::NONE };
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::IN_FLIGHT, probes::PERMITTED, receiver::PULLS_WAITING];
    const INFO: TransportInfo = TransportInfo {
        name: "ndp",
        summary: "first window pushed over all paths, switches trim to headers, receivers pull the rest",
        paper: "NDP, SIGCOMM 2017",
        discipline: "trimming",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§3.2.4: the time-out is 2.5 largest round trips of the path, which is the paper's 1 ms for its 400 us; it doubles up to five times while nothing is heard. The paper's is constant.",
            "§3.2: the paper does not say how a transfer goes on whose last pull is lost. Here a receiver that has heard nothing for two time-outs after its last pull repeats that pull; its number is the same, so it permits nothing new, but a sender that has nothing under way answers it with one packet.",
            "§3.2: a sender whose repetition has waited sixteen time-outs for a pull, with nothing else under way and nothing heard, sends it without: the receiver may have finished, with its last acknowledgement lost and an older negative one late.",
            "§3.2: a packet that arrives again is acknowledged and earns no pull; `pull_duplicates = true` is what the authors' simulator does, which adds a packet to the window for each repetition.",
            "§3.2.2: finished messages are remembered by number for ever instead of for a segment's lifetime in time-wait state: their numbers are consecutive, so that this takes less room.",
            "§3.2.2: every packet, and not only those of the first round trip, carries its place in the message and the message's length; there is no mark on the last packet.",
            "§3.2.3: a path is an outlier by the numbers of the authors' simulator (1.25 times the mean, three in ten, after 100 packets), but counts are compared as ratios without its exemption for paths with fewer than eleven acknowledgements, under which a dead path is never left out.",
            "§6.2: the first window grows to a bandwidth-delay product where that is more than 30 packets; the paper sizes it for its own network.",
            "§3.1.1: where switches hash instead of following the path's number, a sender varies 64 entropies.",
        ],
    };

    fn make_endpoint(params: &NdpParams, context: HostContext) -> NdpEndpoint {
        Machine::new(Sender::new(params.clone()), Receiver::new(params.clone(), &context), context)
    }
}

impl Promised for Ndp {
    const WIDEST_WINDOW: (u32, u32) = (1000, PAPER_WINDOW);
}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A packet sent to this peer may be lost.
        Lost(HostId, u32),
        /// A pull may leave.
        Pull,
        /// Nothing has come of a message from this peer.
        Idle(HostId, u32),
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The NDP machine of one host, with all its messages.
pub type NdpEndpoint = Machine<Ndp>;

/// True if a packet comes from the message's sender.
#[inline]
fn is_of_sender(packet: &Packet) -> bool {
    match packet.kind {
        // A returned header is back at the message's sender.
        PacketKind::Header => !packet.flags.has_all(PacketFlags::BOUNCED),
        kind => kind == PacketKind::Data,
    }
}

impl TwoSided for Ndp {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            // A header that came back fails the test, and the next arm has it.
            PacketKind::Data | PacketKind::Header if is_of_sender(packet) => {
                receiver.receive_data(shared, now, packet);
            }
            PacketKind::Header | PacketKind::Ack | PacketKind::Nack | PacketKind::Pull => {
                sender.receive_answer(shared, now, packet);
            }
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, _: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Lost(peer, id) => sender.check_overdue(shared, now, peer, id),
            TimerKey::Pull => receiver.send_pulls(shared, now),
            TimerKey::Idle(peer, id) => receiver.idle_timeout(shared, now, peer, id),
        }
    }

    #[inline]
    fn prefetch_input(machine: &Machine<Self>, packet: Option<&Packet>, ahead: Ahead) {
        let id = packet.map(|packet| (packet.src, packet.message));
        if ahead == Ahead::Far {
            machine.shared.prefetch_queues();
        }
        // A deadline or a free wire may concern either end.
        if packet.is_none_or(is_of_sender) {
            machine.receiver.prefetch_message(id, packet, ahead);
        }
        if !packet.is_some_and(is_of_sender) {
            machine.sender.prefetch_message(id, packet, ahead);
        }
    }
}
