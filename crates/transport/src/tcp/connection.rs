//! The sending half of a connection: what it may send, and what becomes of it when its timers expire.
//!
//! Acknowledgements are taken in by `input.rs`.

use super::control::{CongestionControl, Flow, Phase, Window};
use super::params::{ConnectionParams, Recovery, Reduction};
use super::rate::{Proportional, RateSampler, Usage};
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use crate::endpoint::HostContext;
use crate::message::Message;
use crate::opening::OpeningSchedule;
use headway_packet::{Ecn, Packet, PacketFlags};
use headway_units::Time;

crate::state_machine! {
    /// A message at its sender.
    "sender connection" pub(super) enum SenderState on SenderEvent {
        Connecting { Established => Open, Timeout => Connecting }
        Open { Marked => Reducing, LossFound => Recovery, Timeout => Loss, AllAcked => Done }
        Reducing { LossFound => Recovery, Timeout => Loss, Repaired => Open, AllAcked => Done }
        Recovery { Timeout => Loss, Repaired => Open, AllAcked => Done }
        Loss { Timeout => Loss, Repaired => Open, AllAcked => Done }
        Done {}
    }
    events { Established, Marked, LossFound, Timeout, Repaired, AllAcked }
}

/// A message being sent.
pub(super) struct Connection<C> {
    pub(super) message: Message,
    pub(super) packets: u32,
    pub(super) state: SenderState,
    pub(super) control: C,
    pub(super) window: Window,
    pub(super) rtt: RttEstimator,
    pub(super) board: Scoreboard,
    pub(super) rate: RateSampler,
    pub(super) usage: Usage,
    pub(super) prr: Proportional,
    pub(super) selective: bool,
    pub(super) proportional: bool,
    pub(super) min_window: f64,
    /// The phase ends when this packet, the first not sent as it began, is reached.
    pub(super) point: u32,
    /// Duplicate acknowledgements, each a packet that has left the network. RFC 6582
    pub(super) duplicates: u32,
    /// One repetition may leave whatever the window says.
    pub(super) forced: bool,
    /// First packet that the receiver does not take yet.
    pub(super) edge: u32,
    /// When the retransmission timer expires, and the earliest of its deadlines that is armed.
    pub(super) deadline: Option<Time>,
    pub(super) armed: Time,
    /// First packet not acknowledged as the timer last expired.
    timed_out: Option<u32>,
    slow_start: bool,
    opening: Option<OpeningSchedule>,
    /// Packets of the first window whose time has come.
    released: u32,
    /// When the next packet may leave, and the last such instant for which a timer is armed.
    pace: Time,
    pub(super) pace_armed: Time,
    /// Whether it waits for the wire.
    pub(super) queued: bool,
}

/// A packet that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    New,
    Again(u32),
}

/// What a connection has for a free wire.
pub(super) enum Poll {
    Send(Packet),
    /// Nothing before this instant.
    Later(Time),
    Nothing,
}

impl<C: CongestionControl> Connection<C> {
    pub(super) fn new(
        (params, control): (&ConnectionParams, &C::Params),
        context: &HostContext,
        now: Time,
        message: &Message,
    ) -> Self {
        let path = (context.path)(message.dst);
        let packets = context.sizes.packets(message.bytes) as u32;
        let primed = params.prime_rtt.then_some(path.base_rtt);
        let flow = Flow {
            start: now,
            bytes: message.bytes,
            packets,
            payload: context.sizes.payload,
            deadline: message.deadline,
            rtt: primed,
            entropy: message.entropy,
        };
        Connection {
            message: *message,
            packets,
            state: SenderState::Connecting,
            control: C::new(control, params, &flow),
            window: Window { cwnd: 1.0, ssthresh: f64::INFINITY },
            rtt: RttEstimator::new(params, primed),
            board: Scoreboard::default(),
            rate: RateSampler::default(),
            usage: Usage::default(),
            prr: Proportional::new(params.reduction == Reduction::Linux419),
            selective: params.recovery == Recovery::Sack,
            proportional: params.reduction != Reduction::Immediate && !C::OWNS_WINDOW,
            min_window: params.min_window as f64,
            point: 0,
            duplicates: 0,
            forced: false,
            edge: if params.receive_window == 0 { u32::MAX } else { params.receive_window as u32 },
            deadline: None,
            armed: Time::MAX,
            timed_out: None,
            slow_start: params.slow_start,
            opening: None,
            released: 0,
            pace: now,
            pace_armed: Time::MAX,
            queued: false,
        }
    }

    pub(super) fn step(&mut self, event: SenderEvent) {
        if let Some(next) = self.state.on(event) {
            self.state = next;
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.state {
            SenderState::Reducing => Phase::Reducing,
            SenderState::Recovery => Phase::Recovery,
            SenderState::Loss => Phase::Loss,
            _ => Phase::Open,
        }
    }

    /// Data may flow from now on: opens the first window.
    pub(super) fn establish(&mut self, context: &HostContext, initial: u32, now: Time) {
        self.step(SenderEvent::Established);
        let path = (context.path)(self.message.dst);
        let shared = self.message.opening.share > 1;
        let window = match shared {
            // One of several that share the path already, past slow start.
            true => path.bdp_packets(context.nic, &context.sizes),
            false => initial.max(C::LEAST_INITIAL_WINDOW),
        };
        let slot = context.sizes.slot(path.bottleneck);
        let opening = OpeningSchedule::new(self.message.opening, window, self.packets, slot, now);
        self.window.cwnd = f64::from(opening.window());
        if shared || !self.slow_start {
            self.window.ssthresh = self.window.cwnd;
        }
        self.opening = Some(opening);
        self.deadline = None;
        self.release(now);
    }

    /// Releases the packets of the first window whose time has come; answers when the next is to be.
    pub(super) fn release(&mut self, now: Time) -> Option<Time> {
        let opening = self.opening.as_mut()?;
        self.released += opening.take(now).1;
        opening.next()
    }

    /// Packets in flight, as far as the kind of recovery knows.
    pub(super) fn pipe(&self) -> u32 {
        if self.selective || self.state == SenderState::Loss {
            self.board.pipe()
        } else {
            self.board.outstanding().saturating_sub(self.duplicates)
        }
    }

    fn has_room(&self) -> bool {
        self.pipe() < (self.window.cwnd as u32).max(1)
    }

    /// Whether a packet never sent is there, and may be, but for the window.
    fn has_data(&self) -> bool {
        let (next, Some(opening)) = (self.board.next(), &self.opening) else { return false };
        let end = if self.message.responsive { self.packets } else { opening.window() };
        let released = opening.next().is_none() || next < self.released;
        next < end && next < self.edge && released
    }

    // RFC6675 §4
    pub(super) fn pick(&mut self) -> Option<Pick> {
        let room = self.has_room();
        if !room && !self.forced {
            return None;
        }
        if let Some(index) = self.board.next_lost() {
            return Some(Pick::Again(index));
        }
        self.forced = false;
        if !room {
            return None;
        }
        if self.has_data() {
            return Some(Pick::New);
        }
        let repairing = self.selective && self.state == SenderState::Recovery;
        self.board.next_hole().filter(|_| repairing).map(Pick::Again)
    }

    /// The next packet, for a wire that is free now.
    pub(super) fn poll(&mut self, context: &HostContext, now: Time) -> Poll {
        let Some(pick) = self.pick() else { return Poll::Nothing };
        if let Some(gap) = self.control.gap() {
            if now < self.pace {
                return Poll::Later(self.pace);
            }
            self.pace = now.saturating_add(gap);
        }
        let departed = self.rate.depart(now, self.pipe() == 0);
        let index = match pick {
            Pick::New => self.board.next(),
            Pick::Again(index) => index,
        };
        match pick {
            Pick::New => self.board.push(departed),
            Pick::Again(index) => self.board.repeat(index, departed),
        }
        self.forced = false;
        self.prr.sent();
        self.account(now);
        Poll::Send(self.data(context, index, pick != Pick::New, now))
    }

    fn account(&mut self, now: Time) {
        self.deadline.get_or_insert(now.saturating_add(self.rtt.rto()));
        let (has_data, has_room) = (self.board.next() < self.packets, self.has_room());
        let (una, next) = (self.board.una(), self.board.next());
        self.usage.note(una, next, self.board.outstanding(), has_data && !has_room);
        if !has_data && has_room {
            self.rate.lacks_data(self.pipe());
        }
    }

    fn data(&self, context: &HostContext, index: u32, again: bool, now: Time) -> Packet {
        let first_window = self.opening.as_ref().map_or(1, OpeningSchedule::window);
        let mut packet = context.data_packet(&self.message, index, first_window);
        packet.lifetime = now;
        packet.ecn = if C::ECN { Ecn::Ect } else { Ecn::NotEct };
        packet.flags = PacketFlags::when(again, PacketFlags::AGAIN);
        packet
    }

    /// The retransmission timer has expired. RFC 6298 §5
    pub(super) fn timed_out(&mut self, now: Time) {
        self.rtt.back_off();
        self.deadline = Some(now.saturating_add(self.rtt.rto()));
        if self.state == SenderState::Connecting {
            self.step(SenderEvent::Timeout);
            return;
        }
        let una = self.board.una();
        // RFC5681 §3.1: the threshold falls once for the same data.
        if self.timed_out != Some(una) {
            let flight = f64::from(self.board.outstanding()).min(self.window.cwnd);
            self.window.ssthresh = self.control.timed_out(&self.window, flight, now);
            self.timed_out = Some(una);
        }
        self.window.cwnd = 1.0;
        self.board.lose_all();
        (self.duplicates, self.forced, self.pace) = (0, false, now);
        self.point = self.board.next();
        self.step(SenderEvent::Timeout);
    }
}
