//! Paths in the text format of Prometheus.

use crate::core::{PathInfo, PathState};
use std::net::SocketAddr;

/// A metric of a path: its name, its type, its meaning and its value.
type Column = (&'static str, &'static str, &'static str, fn(&PathInfo) -> f64);

const COLUMNS: &[Column] = &[
    ("path_open", "gauge", "Whether the path carries packets.", |path| {
        f64::from(path.state == PathState::Open)
    }),
    ("path_round_trip_seconds", "gauge", "Smoothed round trip of challenges.", |path| {
        // A line for every path in each scrape, so that series have no gaps before the first answer.
        path.round_trip.map_or(0.0, headway_units::Time::as_secs_f64)
    }),
    ("path_mtu_bytes", "gauge", "Longest IP packet that is known to arrive.", |path| path.mtu.into()),
    ("path_weight", "gauge", "Sum of the weights of subflows there.", |path| path.share.weight),
    ("path_credit_bytes", "gauge", "Bytes that subflows may send there now.", |path| path.share.credit),
    ("path_cap_bytes", "gauge", "Bytes that subflows may have in flight there.", |path| {
        path.share.cap as f64
    }),
    ("path_in_flight_bytes", "gauge", "Bytes that subflows have in flight there.", |path| {
        path.share.in_flight as f64
    }),
    ("path_sent_bytes_total", "counter", "Bytes of packets that left there.", |path| {
        path.counts.bytes_sent as f64
    }),
    ("path_received_bytes_total", "counter", "Bytes of packets that came from there.", |path| {
        path.counts.bytes_received as f64
    }),
    ("path_deaths_total", "counter", "Times it was given up.", |path| path.counts.deaths as f64),
    ("path_returns_total", "counter", "Times it answered again.", |path| path.counts.returns as f64),
];

/// The paths of the endpoint at `local`; nothing where there are none.
pub(crate) fn path_text(local: SocketAddr, paths: &[PathInfo]) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in COLUMNS.iter().filter(|_| !paths.is_empty()) {
        text += &format!("# HELP headway_{name} {help}\n# TYPE headway_{name} {kind}\n");
        for path in paths {
            text += &format!(
                "headway_{name}{{endpoint=\"{local}\",peer=\"{}\",local=\"{}\",remote=\"{}\"}} {}\n",
                path.peer,
                path.local,
                path.remote,
                value(path)
            );
        }
    }
    text
}
