//! ExpressPass: receivers send a credit for every data packet, and switches drop the credits whose data would
//! not fit.
//!
//! Source: I. Cho, K. Jang, D. Han, SIGCOMM 2017, and the authors' simulator where the paper leaves a choice.
//! Sections are cited where they are implemented. The switch side is the `credit-shaping` discipline of the
//! fabric crate. Each message is a flow of its own.
//!
//! [`ExpressPassAeolus`] is the same machine with the parts of [`crate::aeolus`]: a first window leaves beside the request
//! for credits, and credits bring what is lost of it.

mod burst;
mod feedback;
mod line;
mod params;
mod receiver;
mod sender;

pub use params::{ExpressPassAeolusParams, ExpressPassParams, Feedback, Preset, Recovery, Unheard, Values};

use crate::aeolus::AeolusParams;
use crate::endpoint::{Endpoint, HostContext, Path, Promises, Transport, TransportInfo};
use crate::message::Message;
use crate::shared;
use headway_packet::{HostId, Packet, PacketKind, Sizes};
use headway_units::Time;
use line::{CreditLine, credit_slot};
use params::BurstParams;
use receiver::{Receiver, ReceiverState};
use sender::{Sender, SenderState};

/// What ExpressPass does differently, with or without Aeolus.
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
    const FIRST_WINDOW: bool = false;
    const CREDITS: bool = true;
    const SYMMETRIC: bool = true;
    const INFO: TransportInfo = TransportInfo {
        name: "expresspass",
        summary: "receivers send a credit a packet, switches drop the credits whose data would not fit",
        paper: "ExpressPass, SIGCOMM 2017",
        discipline: "credit-shaping",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: deviations!(),
    };

    fn promises(params: &ExpressPassParams, path: &Path, packets: u64) -> Promises {
        promises(params, path, packets)
    }

    fn endpoint(params: &ExpressPassParams, context: HostContext) -> ExpressPassEndpoint {
        ExpressPassEndpoint::new(params, None, context)
    }
}

fn promises(params: &Values, path: &Path, packets: u64) -> Promises {
    let slot = credit_slot(params, path.bottleneck, &Sizes::default());
    // As many gaps at the first rate as a short message has credits, or a round trip of a long one's.
    let first = packets.min(40).max(params.adaptive_start);
    let ramp = Time((slot.0 as f64 * first as f64 / params.alpha) as u64) + path.max_rtt * 4;
    Promises { repair: (path.max_rtt * 4).saturating_add(params.retry), ramp }
}

/// ExpressPass with Aeolus: its declaration.
pub struct ExpressPassAeolus;

impl Transport for ExpressPassAeolus {
    type Endpoint = ExpressPassEndpoint;
    type Params = ExpressPassAeolusParams;
    const CREDITS: bool = true;
    const SYMMETRIC: bool = true;
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

    fn promises(params: &ExpressPassAeolusParams, path: &Path, packets: u64) -> Promises {
        promises(&params.expresspass, path, packets)
    }

    fn endpoint(params: &ExpressPassAeolusParams, context: HostContext) -> ExpressPassEndpoint {
        let aeolus = (params.aeolus.clone(), params.burst.clone());
        ExpressPassEndpoint::new(&params.expresspass, Some(aeolus), context)
    }
}

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimerKey {
    /// Nothing was heard of a request or a stop.
    Silence(HostId, u32),
    /// The next credit of a message is due.
    Credit(HostId, u32),
    /// What is missing of a message has not come.
    Missing(HostId, u32),
    /// More packets of a first window may leave.
    Opening(HostId, u32),
    /// A credit may leave this host.
    Line,
}

impl TimerKey {
    /// Whom it is about, if anyone.
    fn peer(self) -> Option<HostId> {
        match self {
            TimerKey::Silence(peer, _)
            | TimerKey::Credit(peer, _)
            | TimerKey::Missing(peer, _)
            | TimerKey::Opening(peer, _) => Some(peer),
            TimerKey::Line => None,
        }
    }
}

/// `control` is the data class of the host's link: one queue for data and all control but credits, in the order
/// of their making, as at a switch port.
type Shared = shared::Shared<TimerKey>;

/// What became of the credits of a host so far.
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

/// One host's ExpressPass.
pub struct ExpressPassEndpoint {
    sender: Sender,
    receiver: Receiver,
    line: CreditLine,
    shared: Shared,
}

impl ExpressPassEndpoint {
    fn new(params: &Values, aeolus: Option<(AeolusParams, BurstParams)>, context: HostContext) -> Self {
        ExpressPassEndpoint {
            sender: Sender::new(params.clone(), aeolus),
            receiver: Receiver::new(params.clone(), &context),
            line: CreditLine::new(params, context.nic, &context.sizes),
            shared: Shared::new(context),
        }
    }

    /// What became of credits.
    pub fn credits(&self) -> CreditCounters {
        let (received, wasted) = self.sender.credits();
        CreditCounters { made: self.receiver.made(), dropped: self.line.dropped(), received, wasted }
    }
}

impl Endpoint for ExpressPassEndpoint {
    fn open(&mut self, now: Time, message: &Message) {
        self.sender.open(&mut self.shared, now, message);
    }

    fn receive(&mut self, now: Time, packet: &Packet) {
        let (shared, line) = (&mut self.shared, &mut self.line);
        match packet.kind {
            PacketKind::Credit => self.sender.credit(shared, now, packet),
            PacketKind::Data => self.receiver.data(shared, line, now, packet),
            PacketKind::Rts => self.receiver.request(shared, line, now, packet),
            PacketKind::CreditStop => self.receiver.stop(shared, now, packet),
            PacketKind::Resend => self.sender.missing(shared, now, packet),
            PacketKind::Probe => self.receiver.probe(shared, line, now, packet),
            PacketKind::Ack => self.sender.acknowledged(shared, now, packet),
            PacketKind::Finished => self.sender.finished(shared, packet),
            _ => {}
        }
    }

    fn timeout(&mut self, now: Time) {
        while let Some((_, key)) = self.shared.timers.pop_due(now) {
            let shared = &mut self.shared;
            match key {
                TimerKey::Silence(peer, id) => self.sender.silence(shared, now, peer, id),
                TimerKey::Credit(peer, id) => self.receiver.credit(shared, &mut self.line, now, (peer, id)),
                TimerKey::Missing(peer, id) => self.receiver.insist(shared, now, (peer, id)),
                TimerKey::Opening(peer, id) => self.sender.release(shared, now, peer, id),
                TimerKey::Line => self.line.woken(shared, now),
            }
        }
    }

    fn forget(&mut self, _now: Time, peer: HostId) {
        self.shared.forget(peer, |key| key.peer() == Some(peer));
        self.line.retain(|credit| credit.dst != peer);
        self.sender.forget(&mut self.shared, peer);
        self.receiver.forget(peer);
    }

    /// Credits go first whenever they may leave. ExpressPass §3.1
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let Some(credit) = self.line.take(&mut self.shared, now) {
            return Some(credit);
        }
        self.shared.control.pop_front().or_else(|| self.sender.push(&self.shared, now))
    }

    #[inline]
    fn wants_transmit(&self) -> bool {
        !self.shared.control.is_empty() || !self.line.is_empty() || self.sender.is_ready()
    }

    crate::shared::drained_of_halves!();
}
