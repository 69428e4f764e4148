//! What a measurement needs of whatever carries its messages.

use crate::error::PerfError;
use crate::protocol::{Answer, Order, Totals};
use bytes::Bytes;
use std::collections::BTreeMap;

/// A way to the server.
pub(crate) trait Carrier: Sync {
    /// `headway` or `tcp`.
    fn name(&self) -> &'static str;

    /// The transport or congestion control that it is driven by.
    fn transport(&self) -> String;

    /// The name of what both ends have to run; empty where nothing has to be agreed on.
    fn agreement(&self) -> &str;

    /// The server, for people.
    fn peer(&self) -> String;

    /// Sends a request and waits for its reply.
    fn call(&self, request: Bytes) -> Result<Bytes, PerfError>;

    /// A row of messages to the server.
    fn stream(&self) -> Result<Box<dyn Stream + '_>, PerfError>;

    /// What this side counted, where it counts.
    fn counters(&self) -> BTreeMap<&'static str, u64>;
}

/// A row of messages.
pub(crate) trait Stream: Send {
    /// Sends one; waits only while enough others are under way.
    fn send(&mut self, message: Bytes) -> Result<(), PerfError>;

    /// Waits until the server has all of them.
    fn finish(&mut self) -> Result<(), PerfError>;
}

/// Tells the server that a measurement begins; its name.
pub(crate) fn begin(carrier: &dyn Carrier) -> Result<u64, PerfError> {
    let mut run = [0; 8];
    getrandom::fill(&mut run).map_err(|e| PerfError::io("reading random bytes")(std::io::Error::other(e)))?;
    let run = u64::from_be_bytes(run);
    let mut order = Order::Begin { run }.message(0).to_vec();
    order.extend(carrier.agreement().bytes());
    match Answer::parse(&carrier.call(order.into())?) {
        Some(Answer::Begun) => {
            eprintln!("measuring {} to {}", carrier.name(), carrier.peer());
            Ok(run)
        }
        Some(Answer::Busy) => Err(PerfError::Busy(carrier.peer())),
        Some(Answer::Other) => {
            Err(PerfError::OtherTransport { peer: carrier.peer(), ours: carrier.transport() })
        }
        _ => Err(PerfError::Language(carrier.peer())),
    }
}

/// Tells the server that it is over; what the server counted.
pub(crate) fn end(carrier: &dyn Carrier, run: u64) -> Result<Totals, PerfError> {
    match Answer::parse(&carrier.call(Order::End { run }.message(0))?) {
        Some(Answer::Totals(totals)) => Ok(totals),
        _ => Err(PerfError::Language(carrier.peer())),
    }
}
