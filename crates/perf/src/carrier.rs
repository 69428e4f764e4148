//! Interface between a measurement and the carrier of its messages.

use crate::error::PerfError;
use bytes::Bytes;
use headway_host::Pace;
use headway_perf::protocol::{Answer, Order, Totals};
use std::collections::BTreeMap;

/// A way to the server.
pub(crate) trait Carrier: Sync {
    /// `headway` or `tcp`.
    fn carrier_name(&self) -> &'static str;

    /// The transport or congestion control that it is driven by.
    fn transport_name(&self) -> String;

    /// Pace of the sender, if it sets one.
    fn sender_pace(&self) -> Option<&Pace>;

    /// The base round trip that it takes for granted, in microseconds, if it does.
    fn base_rtt_us(&self) -> Option<f64>;

    /// The server, for people.
    fn peer_name(&self) -> String;

    /// Sends a request and waits for its reply.
    fn call_server(&self, request: Bytes) -> Result<Bytes, PerfError>;

    /// A row of messages to the server.
    fn open_stream(&self) -> Result<Box<dyn Stream + '_>, PerfError>;

    /// Counters of this side, if it has any.
    fn own_counters(&self) -> BTreeMap<&'static str, u64>;
}

/// A row of messages.
pub(crate) trait Stream: Send {
    /// Sends one; waits only while enough others are under way.
    fn send_message(&mut self, message: Bytes) -> Result<(), PerfError>;

    /// Waits until the server has all of them.
    fn finish_stream(&mut self) -> Result<(), PerfError>;
}

/// Tells the server that a measurement begins; returns its name.
pub(crate) fn begin_run(carrier: &dyn Carrier) -> Result<u64, PerfError> {
    // At random: clients do not know of each other, and the server knows a measurement by its name alone.
    let mut run = [0; 8];
    getrandom::fill(&mut run)
        .map_err(|e| PerfError::io_error("reading random bytes")(std::io::Error::other(e)))?;
    let run = u64::from_be_bytes(run);
    match Answer::from_message(&carrier.call_server(Order::Begin { run }.to_message(0))?) {
        Some(Answer::Begun) => {
            let pace = carrier.sender_pace().map(|pace| format!(", {pace}")).unwrap_or_default();
            eprintln!("measuring {} to {}{pace}", carrier.carrier_name(), carrier.peer_name());
            Ok(run)
        }
        Some(Answer::Busy) => Err(PerfError::Busy(carrier.peer_name())),
        _ => Err(PerfError::Language(carrier.peer_name())),
    }
}

/// Tells the server that it is over; returns the server's counts.
pub(crate) fn end_run(carrier: &dyn Carrier, run: u64) -> Result<Totals, PerfError> {
    match Answer::from_message(&carrier.call_server(Order::End { run }.to_message(0))?) {
        Some(Answer::Totals(totals)) => Ok(totals),
        _ => Err(PerfError::Language(carrier.peer_name())),
    }
}
