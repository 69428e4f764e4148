//! Measurements of connections of a kernel's TCP on real packets; the simulator has none of them.

use headway_gauges::GaugeInfo;

/// The largest congestion window of a connection.
pub const WINDOW: GaugeInfo = GaugeInfo::packets(
    "kernel_window_packets",
    "kernel's window",
    "on real packets: the largest congestion window of a connection",
);
/// Connections that were opened.
pub const CONNECTIONS: GaugeInfo = GaugeInfo::connections(
    "kernel_connections",
    "kernel's connections",
    "on real packets: connections that were opened",
);
/// Connections that use ECN.
pub const WITH_ECN: GaugeInfo = GaugeInfo::connections(
    "kernel_ecn_connections",
    "kernel's connections with ECN",
    "on real packets: connections whose two ends agreed on ECN",
);
/// Packets that were sent again.
pub const RETRANSMITTED: GaugeInfo = GaugeInfo::packets(
    "kernel_retransmitted_packets",
    "kernel's retransmissions",
    "on real packets: packets sent again, of all connections",
);
/// The smallest round trip.
pub const LEAST_ROUND_TRIP: GaugeInfo = GaugeInfo::nanoseconds(
    "kernel_min_rtt_ns",
    "kernel's smallest round trip",
    "on real packets: the smallest round trip of a connection, from `TCP_INFO`",
);

/// All of them.
pub const ALL: &[GaugeInfo] = &[WINDOW, CONNECTIONS, WITH_ECN, RETRANSMITTED, LEAST_ROUND_TRIP];
