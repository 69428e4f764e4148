//! Rate control: what decides how fast a message is sent, and how much of it may be under way. One file a controller.

pub mod dcqcn;
pub mod hpcc;
pub mod powertcp;
pub mod timely;

use super::params::{ByPreset, MachineParams, RoceParams};
use crate::endpoint::TransportInfo;
use crate::probes::Sink;
use headway_gauges::GaugeInfo;
use headway_packet::Stamps;
use headway_units::{Rate, Time};

/// Properties of a message that its controller is created from. Rates are in bits a second.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Time of opening.
    pub start: Time,
    /// Rate of the host's link.
    pub line: f64,
    /// Rate at which the message begins: that of the link, or its share of it.
    pub first: f64,
    /// Round trip of an empty path.
    pub base_rtt: Time,
    /// Bytes that fill the link for a base round trip.
    pub bdp: f64,
    /// Application bytes of a full packet.
    pub payload: f64,
}

/// An answer of the receiver, after the message has taken it in.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Time at which the answer arrived.
    pub now: Time,
    /// First packet that has not arrived.
    pub arrived: u32,
    /// Packets that it reports as arrived in order for the first time.
    pub newly: u32,
    /// First packet never sent, or to be sent again.
    pub next: u32,
    /// True if it is a congestion notification.
    pub marked: bool,
    /// Time from the departure of the packet that it answers until now.
    pub rtt: Time,
    /// Stamps that ports wrote into that packet.
    pub stamps: Option<&'a Stamps>,
}

/// The decisions that make one RoCE transport differ from another.
pub trait RateControl: Send + Sized + 'static {
    /// Parameters of the controller.
    type Params: ByPreset + Send + Sync + 'static;
    /// Description of the transport.
    const INFO: TransportInfo;
    /// Probes of a message under its control: those of every message, and its own.
    const PROBES: &'static [GaugeInfo];
    /// True if packets are sent ECN-capable.
    const ECN: bool = false;
    /// True if it has a window whatever its parameters are; otherwise its rate may be all that bounds a message.
    const WINDOWED: bool = true;
    /// Bytes that data packets and answers have for what ports write into them, 0 where they write nothing.
    const TELEMETRY: u16 = 0;

    /// Time between two congestion notifications of a message; each marked packet is one with 0.
    fn notification_gap(params: &Self::Params) -> Time {
        let _ = params;
        Time::ZERO
    }

    /// The lowest rate that it sends at in any state of the network.
    fn least_rate(params: &Self::Params) -> Rate;

    /// Makes the controller of one message.
    fn new(params: &Self::Params, flow: &Flow) -> Self;

    /// Lets time pass: does the steps that were due until `now`.
    fn pass_time(&mut self, now: Time) {
        let _ = now;
    }

    /// Takes in an answer of the receiver.
    fn handle_answer(&mut self, answer: &Answer<'_>);

    /// A packet of `wire` bytes on the wire leaves.
    fn note_departure(&mut self, now: Time, wire: u16) {
        let _ = (now, wire);
    }

    /// The rate to send at, in bits a second.
    fn rate_bps(&self) -> f64;

    /// Bytes of payload that may be under way; `None` without such a bound.
    fn window_bytes(&self) -> Option<f64>;

    /// Time at which its rate will rise by itself.
    fn next_rise(&self) -> Option<Time> {
        None
    }

    /// Reports its own values among [`RateControl::PROBES`].
    fn probe_values(&self, found: &mut Sink<'_>) {
        let _ = found;
    }
}

/// The methods of a [`RateControl`] that has been made. A controller stands behind a pointer, so that the machine is
/// compiled once.
pub(super) trait Controller: Send {
    fn pass_time(&mut self, now: Time);
    fn handle_answer(&mut self, answer: &Answer<'_>);
    fn note_departure(&mut self, now: Time, wire: u16);
    fn rate_bps(&self) -> f64;
    fn window_bytes(&self) -> Option<f64>;
    fn next_rise(&self) -> Option<Time>;
    fn probe_values(&self, found: &mut Sink<'_>);
}

impl<C: RateControl> Controller for C {
    fn pass_time(&mut self, now: Time) {
        RateControl::pass_time(self, now);
    }
    fn handle_answer(&mut self, answer: &Answer<'_>) {
        RateControl::handle_answer(self, answer);
    }
    fn note_departure(&mut self, now: Time, wire: u16) {
        RateControl::note_departure(self, now, wire);
    }
    fn rate_bps(&self) -> f64 {
        RateControl::rate_bps(self)
    }
    fn window_bytes(&self) -> Option<f64> {
        RateControl::window_bytes(self)
    }
    fn next_rise(&self) -> Option<Time> {
        RateControl::next_rise(self)
    }
    fn probe_values(&self, found: &mut Sink<'_>) {
        RateControl::probe_values(self, found);
    }
}

type Make = dyn Fn(&Flow) -> Box<dyn Controller> + Send;

/// Makes the controllers of one transport, and knows the parameters of its machine.
pub(super) struct Controllers {
    make: Box<Make>,
    pub(super) machine: MachineParams,
    /// Bytes of stamps in a packet: [`RateControl::TELEMETRY`].
    pub(super) telemetry: u16,
    /// True if packets are sent ECN-capable: [`RateControl::ECN`].
    pub(super) ecn: bool,
}

impl Controllers {
    pub(super) fn for_transport<C: RateControl>(params: &RoceParams<C::Params>) -> Self {
        let own = params.control.clone();
        Controllers {
            // The parameters move into the closure, so that nothing else of the machine depends on their type.
            make: Box::new(move |flow| Box::new(C::new(&own, flow))),
            machine: params.machine.clone(),
            telemetry: C::TELEMETRY,
            ecn: C::ECN,
        }
    }

    /// Makes the controller of a message.
    pub(super) fn make_controller(&self, flow: &Flow) -> Box<dyn Controller> {
        (self.make)(flow)
    }
}

/// Answers that come a round trip apart: the first, and then each that is about a packet which left after the one before
/// was taken in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// First packet that had not left at the last one.
    next: Option<u32>,
}

/// Position of an answer in its controller's rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// It is the first of all.
    First,
    /// It ends a round.
    Ends,
    /// It is within one.
    Within,
}

impl Rounds {
    /// Takes an answer in.
    pub(super) fn classify_answer(&mut self, answer: &Answer<'_>) -> Round {
        let round = match self.next {
            None => Round::First,
            // Packet `next` has arrived, which had not left at the last decision.
            Some(next) if answer.arrived > next => Round::Ends,
            Some(_) => return Round::Within,
        };
        // A sender that has gone back does not take a round for over that it began before.
        self.next = Some(self.next.unwrap_or(0).max(answer.next));
        round
    }
}

/// A window of a bandwidth-delay product that shrinks with the rate.
pub(super) fn window_at(flow: &Flow, rate: f64) -> f64 {
    // At least a byte: the machine lets one packet leave through any window.
    (flow.bdp * rate / flow.line).max(1.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 100 Gb/s, a base round trip of 4.16 us, packets of 1000 bytes.
    pub(crate) fn test_flow() -> Flow {
        let line = 100e9;
        Flow {
            start: Time::ZERO,
            line,
            first: line,
            base_rtt: Time::ns(4160),
            bdp: 52_000.0,
            payload: 1000.0,
        }
    }

    /// An answer with nothing special: one more packet has arrived.
    pub(crate) fn plain_answer(now: Time) -> Answer<'static> {
        Answer { now, arrived: 1, newly: 1, next: 2, marked: false, rtt: Time::us(4), stamps: None }
    }

    #[test]
    fn a_round_is_over_when_what_left_after_it_began_is_answered() {
        let mut rounds = Rounds::default();
        let take = |rounds: &mut Rounds, arrived, next| {
            rounds.classify_answer(&Answer { arrived, next, ..plain_answer(Time(1)) })
        };
        assert_eq!(take(&mut rounds, 1, 50), Round::First);
        assert_eq!(take(&mut rounds, 50, 99), Round::Within);
        assert_eq!(take(&mut rounds, 51, 100), Round::Ends);
        assert_eq!(take(&mut rounds, 100, 100), Round::Within);
        assert_eq!(take(&mut rounds, 101, 60), Round::Ends, "it has gone back");
        assert_eq!(take(&mut rounds, 102, 103), Round::Ends, "and what left before does not count");
        assert_eq!(take(&mut rounds, 103, 104), Round::Within);
    }
}
