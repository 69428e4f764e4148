//! Congestion control: what decides the window of a connection, and its pace. Each controller has a file of its own.

pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod d2tcp;
pub mod dctcp;
pub(crate) mod erased;
pub mod l2dct;
mod marks;
pub mod newreno;
pub mod swift;
pub mod vegas;

pub use marks::Arithmetic;

use super::params::{ByPreset, ConnectionParams};
use crate::endpoint::{Path, Room, TransportInfo};
use crate::probes::{self, Sink};
use headway_gauges::GaugeInfo;
use headway_units::Time;

/// Properties of a message that its controller is created from.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Time of opening.
    pub start: Time,
    /// Application bytes of the message.
    pub bytes: u64,
    /// Packets it is cut into.
    pub packets: u32,
    /// Application bytes of a full packet.
    pub payload: u16,
    /// Absolute deadline, if it has one.
    pub deadline: Option<Time>,
    /// The unloaded round trip, where the estimator is primed with it.
    pub rtt: Option<Time>,
    /// Randomness of the message.
    pub entropy: u32,
    /// The path, as its host knows it.
    pub path: Path,
}

/// The window of a connection, in packets. The sender keeps the whole part of it in flight, at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, in packets.
    pub cwnd: f64,
    /// Slow start below this; infinite at first.
    pub ssthresh: f64,
}

impl Window {
    /// True if it grows by a packet for each acknowledged one.
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start for `acked` packets, up to the threshold; returns the packets that are left over for
    /// congestion avoidance.
    pub fn grow_slowly(&mut self, acked: u32) -> f64 {
        let acked = f64::from(acked);
        if !self.slow_start() {
            return acked;
        }
        // Stops exactly at the threshold: the rest of the packets counts for congestion avoidance. RFC 5681 §3.1
        let room = (self.ssthresh - self.cwnd).min(acked);
        self.cwnd += room;
        acked - room
    }

    /// Reno's growth with `increase` packets a round trip instead of one. RFC 5681 §3.1
    pub fn grow_reno(&mut self, acked: u32, increase: f64) {
        let left = self.grow_slowly(acked);
        if left > 0.0 {
            // Each acknowledged packet adds its part, so that a whole window of them adds `increase`.
            self.cwnd += increase * left / self.cwnd;
        }
    }
}

/// Phase of a connection, for its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Neither losses nor marks are being answered.
    Open,
    /// Marks were answered a window ago or less.
    Reducing,
    /// Losses are being repaired.
    Recovery,
    /// A time-out has expired, and not all that was sent before it is acknowledged.
    Loss,
}

/// A delivery rate, measured from one packet's departure to its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Packets delivered in `interval`.
    pub packets: u64,
    /// The longer of sending and acknowledging them.
    pub interval: Time,
    /// Packets that had been delivered when this one left.
    pub prior_delivered: u64,
    /// True if the sender lacked data when it left.
    pub app_limited: bool,
    /// Packets in flight when it left, itself among them.
    pub in_flight: u32,
    /// Packets found lost since it left.
    pub lost: u32,
    /// Packets reported as marked since it left.
    pub marked: u32,
}

/// A packet that was found lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    /// All packets that are known to have arrived.
    pub delivered_total: u64,
    /// Packets in flight when it left, itself among them.
    pub in_flight: u32,
    /// Packets found lost since it left, itself among them.
    pub lost: u32,
    /// True if the sender lacked data when it left.
    pub app_limited: bool,
}

/// A subflow of a message, as the controllers of the others see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sibling {
    /// Its window in packets; while losses are repaired, the one it returns to.
    pub window: f64,
    /// Its smoothed round trip in seconds; 0 before the first.
    pub rtt: f64,
    /// Quantity that its controller shows: [`CongestionControl::shown`].
    pub shown: f64,
    /// True if it is the one that the acknowledgement is about.
    pub own: bool,
}

/// An acknowledgement, after the connection has taken it in.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Time at which the acknowledgement arrived.
    pub now: Time,
    /// First packet not acknowledged.
    pub una: u32,
    /// First packet never sent.
    pub next: u32,
    /// Packets that it acknowledged cumulatively.
    pub acked: u32,
    /// Packets that it reports as arrived for the first time.
    pub delivered: u32,
    /// All packets that are known to have arrived.
    pub delivered_total: u64,
    /// True if a packet that was sent again is among those.
    pub repaired: bool,
    /// Packets found lost by it.
    pub lost: u32,
    /// True if it echoes a mark.
    pub ece: bool,
    /// The round trip it measured, if it is news.
    pub rtt: Option<Time>,
    /// Smoothed round trip; zero before the first.
    pub srtt: Time,
    /// Smallest round trip measured; [`Time::MAX`] before the first.
    pub min_rtt: Time,
    /// Packets in flight before it.
    pub pipe_before: u32,
    /// Packets in flight after it.
    pub pipe: u32,
    /// True if the window held back data lately.
    pub limited: bool,
    /// Phase of the connection when it came.
    pub phase: Phase,
    /// The delivery rate it measured.
    pub rate: Option<RateSample>,
    /// The usable subflows of the message, this one as it was before the acknowledgement. None for a message that
    /// has one path, or whose controller is not [`CongestionControl::COUPLED`].
    pub siblings: &'a [Sibling],
}

/// The decisions that make one TCP differ from another.
///
/// The machine calls [`CongestionControl::handle_ack`] for every acknowledgement, then at most one of
/// [`CongestionControl::window_after_mark`], [`CongestionControl::window_after_loss`] and [`CongestionControl::grow_window`].
pub trait CongestionControl: Send + Sized + 'static {
    /// Parameters of the controller.
    type Params: ByPreset + Send + Sync + 'static;
    /// Description of the transport.
    const INFO: TransportInfo;
    /// Probes of a message under its control: those of every connection, and its own.
    const PROBES: &'static [GaugeInfo] = &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT];
    /// [`Transport::REVISION`](crate::Transport::REVISION) of the transport that it makes.
    const REVISION: u32 = 0;
    /// True if packets are sent ECN-capable, and marks answered, unless its parameters say otherwise.
    const ECN: bool = false;
    /// True if it sets the window by itself when packets are lost and when they are repaired.
    const OWNS_WINDOW: bool = false;
    /// True if the round trips that it gets include the time for which a receiver puts an acknowledgement off.
    const COUNTS_ACK_DELAY: bool = true;
    /// Buffer that it assumes at ports.
    const ROOM: Room = Room::Any;
    /// True if it looks at the other subflows of its message: [`Ack::siblings`].
    const COUPLED: bool = false;
    /// Fewest packets of first window.
    const LEAST_INITIAL_WINDOW: u32 = 1;

    /// Round trips at most until the window of a message of `packets` packets fills any path, from `initial` packets on.
    /// A window doubles in slow start, unless a controller has none.
    fn rounds_to_fill(packets: u64, initial: u64) -> u64 {
        // One round more than full doublings, for the part of a window that is left.
        u64::from((packets / initial).checked_ilog2().map_or(0, |log| log + 1))
    }

    /// Makes the controller of one message.
    fn new(params: &Self::Params, connection: &ConnectionParams, flow: &Flow) -> Self;

    /// True if packets of this message are sent ECN-capable, and marks answered.
    fn uses_marks(&self) -> bool {
        // Asked once, as a connection is made: the answer must not change later.
        Self::ECN
    }

    /// A packet is found lost. Of an acknowledgement that shows it, this comes before
    /// [`CongestionControl::handle_ack`].
    fn packet_lost(&mut self, window: &Window, lost: &LostPacket, now: Time) {
        let _ = (window, lost, now);
    }

    /// Accounting, whatever the connection goes through.
    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// The connection is not held back by losses or marks, and uses all of its window.
    fn grow_window(&mut self, window: &mut Window, ack: &Ack);

    /// A mark is echoed, the first since the last was answered by a window of data: the window that is wanted.
    fn window_after_mark(&mut self, window: &Window, ack: &Ack) -> f64 {
        let _ = ack;
        window.cwnd
    }

    /// Losses are found, the first of their window: the threshold, and with it the window, that is wanted.
    /// `flight` is the number of packets in flight, at most a window.
    fn window_after_loss(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        let _ = (window, now);
        half_flight(flight)
    }

    /// The time-out has expired, for the first time for this data: the threshold that is wanted.
    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        // RFC 5681 §3.1: the threshold after a time-out is that of any loss.
        self.window_after_loss(window, flight, now)
    }

    /// The time-out has expired again, and nothing was acknowledged since it did before.
    fn timed_out_again(&mut self, now: Time) {
        let _ = now;
    }

    /// All that was lost is repaired; the machine has set the window.
    fn finish_recovery(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// Reports its own values among [`CongestionControl::PROBES`].
    fn probe_values(&self, found: &mut Sink<'_>) {
        let _ = found;
    }

    /// Quantity of its own that it shows the controllers of other subflows, in addition to window and round trip.
    fn shown_value(&self) -> f64 {
        0.0
    }

    /// Time between the starts of two full packets, for controllers that pace.
    fn packet_gap(&self) -> Option<Time> {
        None
    }
}

/// A transport whose windows a controller decides.
pub trait Controlled {
    /// Controller of the windows.
    type Control: CongestionControl;
}

/// Operation on a controller that is known only by the name of its transport, compiled once for each: see
/// [`visit_controller`](crate::registry::visit_controller), which reaches the controllers of all transports.
pub trait ControllerVisitor {
    /// Result of a visit.
    type Output;
    /// The work, with the controller as a type.
    fn visit_control<C: CongestionControl>(self) -> Self::Output;
}

/// Time between packets of which `pace` leave in a second; `None` while the pace is unknown.
fn gap_at(pace: f64) -> Option<Time> {
    // A pace too high for a whole picosecond still leaves one between two packets, so that time passes.
    (pace > 0.0).then(|| Time((1e12 / pace) as u64).max(Time(1)))
}

/// Half of the packets in flight, at least two packets. RFC 5681 §3.1
pub fn half_flight(flight: f64) -> f64 {
    // Of the flight and not of the window: a sender that lacked data had less under way.
    (flight / 2.0).max(2.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An acknowledgement of one packet in the open phase, with nothing special.
    pub(crate) fn plain_ack() -> Ack<'static> {
        Ack {
            now: Time::ZERO,
            una: 1,
            next: 2,
            acked: 1,
            delivered: 1,
            delivered_total: 1,
            repaired: false,
            lost: 0,
            ece: false,
            rtt: None,
            srtt: Time::us(300),
            min_rtt: Time::us(300),
            pipe_before: 2,
            pipe: 1,
            limited: true,
            phase: Phase::Open,
            rate: None,
            siblings: &[],
        }
    }

    /// 300 us at 1 Gb/s, over one switch.
    fn test_path() -> Path {
        // 25 packets of 1500 B fill it: the path of L2DCT's analysis (`analysis.rs`).
        let (base_rtt, max_rtt) = (Time::us(300), Time::ms(2));
        Path {
            longest_timeout: Time::MAX,
            base_rtt,
            max_rtt,
            bottleneck: headway_units::Rate::gbps(1),
            paths: 0,
            hops: 1,
        }
    }

    /// A message of `bytes` that begins at 0.
    pub(crate) fn test_flow(bytes: u64) -> Flow {
        let packets = headway_packet::Sizes::default().packets_of(bytes) as u32;
        Flow {
            start: Time::ZERO,
            bytes,
            packets,
            payload: 1460,
            deadline: None,
            rtt: None,
            entropy: 0,
            path: test_path(),
        }
    }

    /// A controller with defaults but for what `set` changes.
    pub(crate) fn test_control<C: CongestionControl>(bytes: u64, set: impl Fn(&mut C::Params)) -> C {
        let mut params = C::Params::default();
        set(&mut params);
        C::new(&params, &ConnectionParams::default(), &test_flow(bytes))
    }

    #[test]
    fn slow_start_doubles_and_hands_what_is_left_to_avoidance() {
        let mut window = Window { cwnd: 4.0, ssthresh: f64::INFINITY };
        window.grow_reno(4, 1.0);
        assert_eq!(window.cwnd, 8.0);
        window.ssthresh = 10.0;
        window.grow_reno(4, 1.0);
        assert_eq!(window.cwnd, 10.2, "two packets to the threshold, two at a tenth");
        window.grow_reno(0, 1.0);
        assert_eq!(window.cwnd, 10.2);
        // 200 packets at a twentieth are ten packets' worth, over a window of ten to eleven: nearly one.
        (0..200).for_each(|_| window.grow_reno(1, 0.05));
        assert!((window.cwnd - 11.13).abs() < 0.01, "{}", window.cwnd);
        assert_eq!((half_flight(3.0), half_flight(11.0)), (2.0, 5.5));
    }
}
