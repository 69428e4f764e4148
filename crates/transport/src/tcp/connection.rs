//! A sequence space with a window: the packets that may leave of it, and its changes when its timer expires.
//!
//! TCP sends a message over one of them (`outgoing.rs`), multipath transports over several. Acknowledgements are
//! taken in by `input.rs`.

use super::control::erased::{Controller, Controllers};
use super::control::{Flow, Phase, Window};
use super::params::{PartialAck, Recovery, Reduction};
use super::rate::{Proportional, RateSampler, Usage};
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use crate::probes::{self, Sink};
use headway_units::Time;

crate::state_machine! {
    /// A message at its sender.
    "sender connection" pub(crate) enum SenderState on SenderEvent {
        Connecting { Established => Open, Timeout => Connecting }
        Open { Marked => Reducing, LossFound => Recovery, Timeout => Loss, AllAcked => Done }
        Reducing { LossFound => Recovery, Timeout => Loss, Repaired => Open, AllAcked => Done }
        Recovery { Timeout => Loss, Repaired => Open, AllAcked => Done }
        Loss { Timeout => Loss, Repaired => Open, AllAcked => Done }
        Done {}
    }
    events { Established, Marked, LossFound, Timeout, Repaired, AllAcked }
}

/// A sender's packets, and the window for those under way.
pub(crate) struct Connection {
    pub(crate) state: SenderState,
    pub(crate) control: Box<dyn Controller>,
    /// [`Controller::uses_marks`], which does not change.
    pub(super) marks: bool,
    pub(super) owns_window: bool,
    pub(crate) window: Window,
    pub(crate) rtt: RttEstimator,
    pub(crate) board: Scoreboard,
    pub(super) rate: RateSampler,
    pub(super) usage: Usage,
    pub(super) prr: Proportional,
    pub(super) selective: bool,
    /// True if every partial acknowledgement sends a packet.
    pub(super) resends: bool,
    pub(super) proportional: bool,
    pub(super) min_window: f64,
    /// The phase ends when this packet, the first not sent as it began, is reached.
    pub(super) point: u32,
    /// Duplicate acknowledgements, each a packet that has left the network. RFC 6582
    pub(super) duplicates: u32,
    /// One repetition may leave, even if the window is full.
    pub(super) forced: bool,
    /// Expiry of the retransmission timer, and the earliest of its deadlines that is armed.
    pub(crate) deadline: Option<Time>,
    pub(crate) armed: Time,
    /// First packet not acknowledged as the timer last expired.
    timed_out: Option<u32>,
    slow_start: bool,
}

/// A packet that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    New,
    Again(u32),
}

impl Connection {
    pub(crate) fn new(controllers: &Controllers, flow: &Flow) -> Self {
        let Controllers { rules, connection: params, .. } = controllers;
        let control = controllers.make_controller(flow);
        Connection {
            state: SenderState::Connecting,
            marks: control.uses_marks(),
            control,
            owns_window: rules.owns_window,
            // RFC 5681 §3.1: the threshold begins arbitrarily high.
            window: Window { cwnd: 1.0, ssthresh: f64::INFINITY },
            rtt: RttEstimator::new(params, flow.rtt, rules.counts_ack_delay, flow.path.longest_timeout),
            board: Scoreboard::default(),
            rate: RateSampler::default(),
            usage: Usage::default(),
            prr: Proportional::new(params.reduction == Reduction::Linux419),
            selective: params.recovery == Recovery::Sack,
            resends: params.recovery == Recovery::Sack && params.partial_ack == PartialAck::Resend,
            proportional: params.reduction != Reduction::Immediate && !rules.owns_window,
            min_window: params.min_window as f64,
            point: 0,
            duplicates: 0,
            forced: false,
            deadline: None,
            armed: Time::MAX,
            timed_out: None,
            slow_start: params.slow_start,
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        match self.state {
            SenderState::Reducing => Phase::Reducing,
            SenderState::Recovery => Phase::Recovery,
            SenderState::Loss => Phase::Loss,
            _ => Phase::Open,
        }
    }

    /// Data may flow from now on, through a window of `cwnd` packets; `settled` if that is past slow start.
    pub(crate) fn establish(&mut self, cwnd: u32, settled: bool) {
        self.state.step(SenderEvent::Established);
        self.window.cwnd = f64::from(cwnd);
        if settled || !self.slow_start {
            // At the threshold, not below it: the first packet already grows the window by congestion avoidance.
            self.window.ssthresh = self.window.cwnd;
        }
        // The SYN's timer ends with its answer; data arms its own.
        self.deadline = None;
    }

    /// Packets in flight, as far as this kind of recovery can know.
    #[inline]
    pub(super) fn pipe(&self) -> u32 {
        // In `Loss` the board is exact without SACK, too: the time-out has given every packet a fate.
        if self.selective || self.state == SenderState::Loss {
            self.board.pipe()
        } else {
            self.board.outstanding().saturating_sub(self.duplicates)
        }
    }

    /// Values for the probes of every connection.
    pub(crate) fn probe_values(&self, found: &mut Sink<'_>) {
        found(&probes::WINDOW, self.window.cwnd);
        found(&probes::IN_FLIGHT, f64::from(self.pipe()));
        if let Some(rtt) = self.rtt.smoothed_rtt() {
            found(&probes::SMOOTHED_RTT, rtt.as_secs_f64());
        }
    }

    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        // A window below one packet still lets one out: without an acknowledgement it could never grow again.
        self.pipe() < (self.window.cwnd as u32).max(1)
    }

    /// The packet that may leave next; `has_data` is true if there are packets never sent. RFC 6675 §4
    pub(crate) fn pick_packet(&mut self, has_data: bool) -> Option<Pick> {
        let room = self.has_room();
        if !room && !self.forced {
            return None;
        }
        if let Some(index) = self.board.next_lost() {
            return Some(Pick::Again(index));
        }
        // Only a partial acknowledgement may force out a packet that was never sent.
        if has_data && (room || self.resends) {
            return Some(Pick::New);
        }
        // The permission to exceed the window is for the loss at hand, and must not last until the next.
        self.forced = false;
        if !room {
            return None;
        }
        // RFC 6675 §4 NextSeg (3): holes are guesses, so they come after losses and new data, and in recovery only.
        let repairing = self.selective && self.state == SenderState::Recovery;
        self.board.next_hole().filter(|_| repairing).map(Pick::Again)
    }

    /// A packet leaves. Returns its sequence number.
    #[inline]
    pub(crate) fn record_departure(&mut self, now: Time, pick: Pick) -> u32 {
        // Before the board counts the packet: the sampler adds it.
        let departed = self.rate.record_departure(now, self.pipe());
        let index = match pick {
            Pick::New => self.board.next(),
            Pick::Again(index) => index,
        };
        match pick {
            Pick::New => self.board.push(departed),
            Pick::Again(index) => self.board.repeat_packet(index, departed),
        }
        self.forced = false;
        self.prr.count_sent();
        index
    }

    /// Arms the timer for something that has left and is to be answered.
    #[inline]
    pub(crate) fn arm_timeout(&mut self, now: Time) {
        // RFC 6298 §5.1: a timer that runs is not moved by packets that leave.
        self.deadline.get_or_insert(now.saturating_add(self.rtt.rto()));
    }

    /// The retransmission timer's deadline, if it has to be armed: an earlier one that is armed looks again.
    #[inline]
    pub(crate) fn rearm_deadline(&mut self) -> Option<Time> {
        let at = self.deadline.filter(|&at| at < self.armed)?;
        self.armed = at;
        Some(at)
    }

    /// Records if the window holds back data; `has_data` is true if there is more to send.
    #[inline]
    pub(crate) fn account_usage(&mut self, now: Time, has_data: bool) {
        self.arm_timeout(now);
        let has_room = self.has_room();
        let (una, next) = (self.board.una(), self.board.next());
        self.usage.note_flight(una, next, self.board.outstanding(), has_data && !has_room);
        // A full window is not a lack of data: samples then are the path's.
        if !has_data && has_room {
            self.rate.lacks_data(self.pipe());
        }
    }

    /// The retransmission timer has expired. RFC 6298 §5
    pub(crate) fn timed_out(&mut self, now: Time) {
        // RFC 6298 §5.5 before §5.6: the time-out that is armed next is the doubled one.
        self.rtt.back_off();
        self.deadline = Some(now.saturating_add(self.rtt.rto()));
        if self.state == SenderState::Connecting {
            self.state.step(SenderEvent::Timeout);
            return;
        }
        let Connection { board, rate, control, window, .. } = self;
        board.lose_all(|departed| control.packet_lost(window, &rate.record_loss(departed, 0), now));
        let una = self.board.una();
        // RFC5681 §3.1: the threshold falls once for the same data.
        if self.timed_out != Some(una) {
            let flight = f64::from(self.board.outstanding()).min(self.window.cwnd);
            self.window.ssthresh = self.control.timed_out(&self.window, flight, now);
            self.timed_out = Some(una);
        } else {
            self.control.timed_out_again(now);
        }
        // RFC 5681 §3.1: the loss window is one packet, whichever controller there is.
        self.window.cwnd = 1.0;
        (self.duplicates, self.forced) = (0, false);
        self.point = self.board.next();
        self.state.step(SenderEvent::Timeout);
    }
}
