//! Probes: values of one message that can be read while a run goes on. A machine declares those that it has
//! ([`crate::Transport::PROBES`]), and computes one only when it is read ([`crate::Endpoint::probe_message`]).
//!
//! Probes of one name mean the same in every transport; they are here. One that only a single transport has is declared
//! there.

use headway_gauges::GaugeInfo;

/// Takes the present value of each probe. A count of packets may be a fraction, as windows are.
pub type Sink<'a> = dyn FnMut(&'static GaugeInfo, f64) + 'a;

/// At a sender: packets that may be on their way.
pub const WINDOW: GaugeInfo = GaugeInfo::packets(
    "window_packets",
    "window",
    "packets that the sender may have under way; of all subflows together where a message has several",
);
/// At a sender: packets on their way.
pub const IN_FLIGHT: GaugeInfo = GaugeInfo::packets(
    "in_flight_packets",
    "in flight",
    "packets that the sender takes for being under way; of all subflows together where a message has several",
);
/// At a sender: smoothed round trip.
pub const SMOOTHED_RTT: GaugeInfo = GaugeInfo::seconds(
    "smoothed_rtt_s",
    "smoothed round trip",
    "the round trip as the sender has smoothed it; the shortest of its subflows where a message has several",
);
/// At a sender: the round trip measured last.
pub const LAST_ROUND_TRIP: GaugeInfo =
    GaugeInfo::seconds("last_rtt_s", "last round trip", "the round trip that the sender measured last");
/// At a sender: its pace.
pub const RATE: GaugeInfo =
    GaugeInfo::rate("rate_bps", "sending rate", "the rate at which the sender may send, framing included");
/// At a sender: the share of packets that are marked.
pub const ALPHA: GaugeInfo =
    GaugeInfo::share("alpha", "alpha", "the share of packets that are marked, as the sender estimates it");
/// At a sender: permissions at hand.
pub const PERMITTED: GaugeInfo = GaugeInfo::packets(
    "permitted_packets",
    "permitted",
    "packets that the sender is permitted to send and has not sent",
);
/// At a receiver: packets on their way to it.
pub const OUTSTANDING: GaugeInfo = GaugeInfo::packets(
    "outstanding_packets",
    "outstanding",
    "packets that the receiver has permitted, or knows to leave without permission, and that have not arrived",
);
/// At a receiver: data that waits for a missing packet.
pub const HELD: GaugeInfo = GaugeInfo::bytes(
    "held_bytes",
    "held for a missing packet",
    "bytes that have arrived and wait at the receiver for a packet before them",
);
