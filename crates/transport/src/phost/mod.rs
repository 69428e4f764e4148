//! pHost: a message is announced, its receiver owns its own downlink and hands out tokens for it, one
//! token one packet; free tokens cover the first bandwidth-delay product.
//!
//! Source: P. X. Gao et al., ACM CoNEXT 2015 (`mode = "paced"`), and pHost as the AMRT and RPO papers
//! describe and simulate it (`mode = "arrival"`). The text of the former was not at hand: it is cited by
//! its design section, §3, as a whole. The two modes differ in when a receiver issues a token
//! ([`receiver`]) and in whether a token that waits at its source expires ([`sender`]).

mod incoming;
mod packets;
mod receiver;
mod sender;
mod token_scheduler;

use crate::endpoint::{HostContext, Transport, TransportInfo};
use crate::probes;
use crate::promises::Promised;
use crate::two_sided::{Machine, TwoSided};
use headway_gauges::GaugeInfo;
use headway_packet::{Family, HostId, Packet, PacketKind};
use headway_params::ParamKind;
use headway_units::Time;
use incoming::ReceiverState;
use receiver::Receiver;
use sender::{Sender, SenderState};

headway_params::choice! {
    /// Clock of a receiver's tokens.
    pub enum Mode {
        /// One token a frame time for all messages of a receiver together. pHost §3
        Paced = "paced",
        /// One token for each data packet that arrives. AMRT §III-A
        Arrival = "arrival",
    }
}

headway_params::choice! {
    /// Message that is served first.
    pub enum Policy {
        /// The one with the fewest packets remaining; ties in order of arrival.
        Srpt = "srpt",
        /// All in turn.
        Fair = "fair",
    }
}

headway_params::choice! {
    /// Messages that get free tokens.
    pub enum FreeRule {
        /// Every message, for its first window. pHost §3, AMRT §VII
        Paper = "paper",
        /// Only messages that fit the window as a whole, as the authors' simulator has it.
        Yaps = "yaps",
    }
}

headway_params::choice! {
    /// Tokens that a source that was downgraded may get when the time is over.
    pub enum Restore {
        /// A whole window of tokens. pHost §3
        Window = "window",
        /// One token, and the next when that is answered or the time is over again; the time counts from the
        /// last token, as the authors' simulator has it.
        Token = "token",
    }
}

headway_params::params! {
    /// Parameters of pHost.
    pub struct PhostParams {
        /// Clock of a receiver's tokens: one a frame time (CoNEXT'15) or one for each arriving packet (the AMRT and RPO papers).
        mode: Mode = Mode::Paced, ParamKind::Choice(Mode::WORDS);
        /// Message that a receiver gives a token to. pHost §3; AMRT §VIII-A simulates fair, AMRT §VII explains SRPT
        scheduler: Policy = Policy::Srpt, ParamKind::Choice(Policy::WORDS);
        /// Message that a source sends from, among those that hold tokens. pHost §3
        source_scheduler: Policy = Policy::Srpt, ParamKind::Choice(Policy::WORDS);
        /// Packets sent before the first token; 0 = one bandwidth-delay product of the pair. pHost §3
        free_tokens: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Messages that get free tokens.
        free_rule: FreeRule = FreeRule::Paper, ParamKind::Choice(FreeRule::WORDS);
        /// Frame times a token is valid for after its arrival at the source; 0 = 1.5 when paced, for ever on arrival. pHost §3
        token_lifetime: f64 = 0.0, ParamKind::Float { min: 0.0, max: 1_000_000.0 };
        /// Unanswered tokens at which a source is downgraded; 0 = the bandwidth-delay product plus 2. pHost §3
        outstanding_limit: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Time for which a silent source stays downgraded, in base round trips. AMRT §VII
        downgrade_time: f64 = 3.0, ParamKind::Float { min: 0.1, max: 1000.0 };
        /// The same in frame times; 0 = as `downgrade_time` says. The authors' simulator: 25
        downgrade_frames: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Tokens that a source gets when the downgrade is over; paced only.
        restore: Restore = Restore::Window, ParamKind::Choice(Restore::WORDS);
        /// Frame times after the last token before missing packets get new ones; 0 = the bandwidth-delay product plus 2 when paced, the largest round trip plus 2 on arrival. pHost §3
        resend_wait: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Frame times for each packet of a message within its free tokens, from its announcement on, before its missing packets get tokens; 0 = as any other, `resend_wait` after the last free packet. Paced only. The authors' simulator: twice a packet's 1.2 us at any rate, so 2 at 10 Gb/s
        short_wait: f64 = 0.0, ParamKind::Float { min: 0.0, max: 1000.0 };
        /// Silence after which a source announces a message again, in largest round trips; doubles each time.
        rts_retry: f64 = 3.0, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// An announcement makes a paced receiver skip the token slots that its free packets need, as far as other messages fill the pipe. pHost §3
        hold_back: bool = true, ParamKind::Bool;
        /// Messages of at most a bandwidth-delay product travel in class 1 and others in 2; otherwise all in 1. pHost §3
        priorities: bool = true, ParamKind::Bool;
    }
}

/// The transport's declaration.
pub struct Phost;

impl Transport for Phost {
    type Endpoint = PhostEndpoint;
    type Params = PhostParams;
    const PACKETS: Family = packets::PACKETS;
    const PROBES: &'static [GaugeInfo] = &[probes::PERMITTED, probes::OUTSTANDING];
    const INFO: TransportInfo = TransportInfo {
        name: "phost",
        summary: "receiver-driven; receivers schedule their downlink with tokens that name packets and expire",
        paper: "pHost, ACM CoNEXT 2015",
        discipline: "strict-priority",
        states: &[SenderState::TABLE, ReceiverState::TABLE],
        deviations: &[
            "§3: tokens are paced by the full frame on the wire, framing included; without it the downlink is over-committed by 2.5 %.",
            "§3: a downgraded source is restored as soon as it answers a token, not only at the end of the time-out; otherwise any queueing delay would stop a message for three round trips.",
            "§3: downgrading is per message, as in the authors' simulator, not per source.",
            "§3: a restored source may get a whole window of tokens, where the authors' simulator gives it one (`restore = \"token\"`); there a receiver that has no one to give a token to sleeps until the first time-out, whatever arrives.",
            "§3: the hold-back after an announcement counts only free packets that come on top of a full pipe; a lone message is never held back.",
            "§3: the limit of unanswered tokens is two above the bandwidth-delay product, so that a lone message does not trip it.",
            "§3: an announcement is repeated after silence, and a receiver answers any packet of a finished message with another acknowledgement; the authors' simulator never loses control packets.",
            "§3: a receiver that keeps issuing tokens for the same missing packets without result doubles its patience each time.",
            "AMRT §III-A, `arrival`: tokens do not expire at the source, because a token that expired behind another message's packet would shrink the window for ever, which that description does not know; a token issued again replaces its predecessor there.",
            "AMRT §III-A, `arrival`: a token whose packet has not arrived within the largest round trip plus two frames is issued again in place, so that a loss does not shrink the window; the wait doubles with each attempt.",
            "AMRT §III-A, `arrival`: tokens that no arrival triggers (issued again, or after a time-out) leave one a frame time.",
            "AMRT §III-B, `arrival`: each arrival that its own message has no use for becomes a token of another message of the same receiver once the downgrade time has passed, at most as many as the first message was ever given and at most up to the limit of the second.",
            "AMRT §VII, `arrival` with SRPT: arrivals of all messages of a receiver feed the one with the fewest packets remaining; what exceeds its limit is kept for it until it has no packets to ask for or stays silent for the downgrade time.",
        ],
    };

    fn make_endpoint(params: &PhostParams, context: HostContext) -> PhostEndpoint {
        Machine::new(Sender::new(params.clone()), Receiver::new(params.clone()), context)
    }
}

impl Promised for Phost {}

crate::timer_keys! {
    /// Purpose of a deadline.
    pub enum TimerKey {
        /// More packets of a first window may leave.
        InitialWindow(HostId, u32),
        /// A sent message has heard nothing.
        Idle(HostId, u32),
        /// A received message wants to be looked at.
        Wake(HostId, u32),
        /// The pacer's next token slot.
        Pacer,
        /// A token slot that a message had no use for is free for another.
        Released,
    }
}

type Shared = crate::shared::Shared<TimerKey>;

/// The pHost machine of one host, with all its messages.
pub type PhostEndpoint = Machine<Phost>;

impl TwoSided for Phost {
    type TimerKey = TimerKey;
    type Sender = Sender;
    type Receiver = Receiver;

    fn route_packet(machine: &mut Machine<Self>, now: Time, packet: &Packet) {
        let Machine { sender, receiver, shared } = machine;
        match packet.kind {
            PacketKind::Data => receiver.receive_data(shared, now, packet),
            PacketKind::Rts => receiver.receive_announcement(shared, now, packet),
            PacketKind::Token => sender.receive_token(shared, now, packet),
            PacketKind::Finished => sender.finish_message(shared, packet),
            _ => {}
        }
    }

    fn handle_deadline(machine: &mut Machine<Self>, _: Time, now: Time, key: TimerKey) {
        let Machine { sender, receiver, shared } = machine;
        match key {
            TimerKey::InitialWindow(peer, id) => sender.release_first_window(shared, now, peer, id),
            TimerKey::Idle(peer, id) => sender.idle_timeout(shared, now, peer, id),
            TimerKey::Wake(peer, id) => receiver.wake_message(shared, now, peer, id),
            TimerKey::Pacer => receiver.pacer_due(shared, now),
            TimerKey::Released => receiver.slot_released(shared, now),
        }
    }
}
