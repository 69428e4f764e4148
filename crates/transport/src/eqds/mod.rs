//! EQDS: senders push a window over all paths, switches trim what does not fit, and receivers pull the rest at the rate of
//! their link, those first whose packets were trimmed.
//!
//! Source: V. Olteanu et al., NSDI 2022, as its authors' simulator has it, which Ultra Ethernet's grew from; the paper's text was not at
//! hand. The machine is that of [`crate::uet`], with EQDS's window, pulls and pacer.

use crate::endpoint::{Capabilities, HostContext, Path, Transport, TransportInfo};
use crate::probes;
use crate::promises::{ByteBooks, Promised, Promises};
use crate::spraying::Spraying;
use crate::uet::{
    COPIES, CreditRules, Most, PACKETS, Settings, UetEndpoint, UetParams, UetReceiverState, UetSenderState,
    WANTED,
};
use headway_gauges::GaugeInfo;
use headway_packet::Family;
use headway_params::ParamKind;
use headway_units::Time;

headway_params::params! {
    /// Parameters of EQDS.
    pub struct EqdsParams {
        /// Packets that a message sends before it hears anything, and most that it may have credit for. EQDS §5
        window: u64 = 64, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Bytes on the wire that one pull permits. EQDS §5
        pull: u64 = 4096, ParamKind::Bytes { min: 1024, max: 1 << 24 };
        /// Rate of pulls in bytes on the wire, as a share of the rate of the receiver's link. EQDS §5
        pull_rate: f64 = 0.988, ParamKind::Float { min: 0.05, max: 1.0 };
        /// Policy that spreads packets over the paths. EQDS §5
        spraying: Spraying = Spraying::Bitmap, ParamKind::Choice(Spraying::WORDS);
        /// Entropies of a message where switches hash them; where paths have numbers, it has all paths. EQDS §5
        entropies: u64 = 64, ParamKind::Int { min: 1, max: 65_536 };
        /// Time after which a packet that nothing was heard of is taken for lost; 0 = `rto_factor` says it. EQDS §5
        rto: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// The same in largest round trips of the path.
        rto_factor: f64 = 2.0, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Bytes on the wire after whose arrival a receiver acknowledges without being asked; a sixteenth of the window at most. EQDS §5
        ack_bytes: u64 = 16_384, ParamKind::Bytes { min: 1, max: 1 << 30 };
    }
}

impl EqdsParams {
    /// The parameters that all variants of the machine have.
    fn common_params(&self) -> UetParams {
        UetParams {
            spraying: self.spraying,
            entropies: self.entropies,
            // Windows are in packets, so the network's round trip is not needed.
            base_rtt: Time::ZERO,
            rto: self.rto,
            rto_factor: self.rto_factor,
            ack_bytes: self.ack_bytes,
        }
    }
}

/// The transport's declaration.
pub struct Eqds;

impl Transport for Eqds {
    type Endpoint = UetEndpoint;
    type Params = EqdsParams;
    const CAPABILITIES: Capabilities = Capabilities { multipath: true, ..Capabilities::NONE };
    const PACKETS: Family = PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::IN_FLIGHT, probes::PERMITTED, WANTED];
    const INFO: TransportInfo = TransportInfo {
        name: "eqds",
        summary: "a window pushed over all paths, switches trim, receivers pull in bytes and repair first",
        paper: "EQDS, NSDI 2022",
        discipline: "trimming",
        states: &[UetSenderState::TABLE, UetReceiverState::TABLE],
        deviations: &[
            "§5: credit belongs to a message. The paper's belongs to a tunnel between two hosts; the authors' simulator has no tunnels either.",
            "§5: the first answer voids what is left of the window that needs no credit. The authors' simulator keeps it, unused, and asks for so much less; a flow of 44 to 64 packets at 100 Gb/s then waits for a time-out, of which the paper says nothing.",
            "§5: while a message waits for its first answer it asks for a packet at least.",
            "§5: credit is counted in units of 256 bytes, there of 512; a pull is 4096 bytes for either.",
            "§5: a sender sends as long as it has credit. The authors' simulator sends one packet for each pull or answer that finds its host's wire idle, and more only while the wire is busy: credit for several packets smaller than a pull stays unused.",
            "§5: packets without the first window's right leave by pulled credit only, repetitions among them, as there.",
            "§5: an entropy of a trimmed packet is left out for four turns, one of a marked packet for one, and only the first that is passed over has less of it; there each is left out for one turn and each passed over has less.",
            "§5: the time-out is two largest round trips of the path; there it is 150 us and six drains of a switch's queue. It doubles up to five times while nothing is heard; there it is constant.",
            "§5: a sender that has no credit, and nothing under way, asks again after four time-outs. There it waits for good if the last pull is lost.",
            "§5: a receiver acknowledges sixteen times in a window at the least, there every 16,384 bytes: the same for packets of 4150 bytes.",
            "§5: a finished message gets no more pulls; there its connection gets some beyond what it asked for.",
            "§5: a header that a switch returns (`trimming` has the paper's rules of NDP) is sent again once there is credit, which is asked for by a request.",
            "§5: there is no mode without trimming, in which the paper's hosts ask before they send.",
        ],
    };

    fn make_endpoint(params: &EqdsParams, context: HostContext) -> UetEndpoint {
        UetEndpoint::from_settings(
            Settings {
                common: params.common_params(),
                most: Most::Packets(params.window),
                window: None,
                credit: Some(CreditRules {
                    pull: params.pull,
                    pull_rate: params.pull_rate,
                    // EQDS §5: the receiver owes pulls for trimmed packets, and gives these first.
                    counts_again: true,
                    shares: false,
                    // Pulls of EQDS do not follow marks.
                    oversubscription: 1.0,
                }),
            },
            context,
        )
    }
}

impl Promised for Eqds {
    const COPIES: u64 = COPIES;
    const BYTES: ByteBooks = ByteBooks::Pulls;
    /// 64 packets, whatever the path holds.
    const WIDEST_WINDOW: (u32, u32) = (0, 64);

    fn make_promises(params: &EqdsParams, path: &Path, _: u64) -> Promises {
        params.common_params().repair_promises(path)
    }
}
