//! `headway-perf bulk`: measures throughput.

use crate::args::{BulkArgs, SMALLEST};
use crate::carrier::{self, Carrier};
use crate::error::PerfError;
use crate::report::{BulkReport, Measured, Side};
use crate::stop;
use bytes::Bytes;
use headway_perf::protocol::Order;
use headway_perf::usage::Usage;
use std::time::{Duration, Instant};

/// Amount that a stream sends.
#[derive(Clone, Copy)]
enum Amount {
    /// Messages of full length until then.
    Until(Instant),
    /// The measurement ends after this number of bytes.
    Bytes(u64),
}

/// Bytes and messages.
#[derive(Clone, Copy, Default)]
struct Sent {
    bytes: u64,
    messages: u64,
}

/// Sends, and asks the server what arrived.
pub(crate) fn run_bulk(args: &BulkArgs, carrier: &dyn Carrier) -> Result<BulkReport, PerfError> {
    let run = carrier::begin_run(carrier)?;
    // After the beginning was acknowledged, so that connecting does not count.
    let (before, start) = (Usage::until_now(), Instant::now());
    let sent = send_streams(args, carrier, run, start)?;
    // Before the closing request, which does not count either.
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), Usage::until_now() - before);
    let totals = carrier::end_run(carrier, run)?;
    // Both carriers are reliable: a difference means that a message was lost or came twice.
    if totals.bytes != sent.bytes {
        let peer = carrier.peer_name();
        return Err(PerfError::Miscounted { peer, counted: totals.bytes, sent: sent.bytes });
    }
    Ok(BulkReport {
        measured: Measured::new("bulk", carrier, seconds),
        bytes: sent.bytes,
        messages: sent.messages,
        message_size: args.message_size,
        streams: args.streams,
        goodput_gbps: sent.bytes as f64 * 8e-9 / seconds,
        client: Side { bytes: sent.bytes, messages: sent.messages, cpu: cpu.cpu_report(Some(sent.bytes)) },
        server: Side {
            bytes: totals.bytes,
            messages: totals.messages,
            cpu: totals.cpu.cpu_report(Some(totals.bytes)),
        },
        others: totals.others,
        counters: carrier.own_counters(),
    })
}

/// Sends over all streams at once.
fn send_streams(args: &BulkArgs, carrier: &dyn Carrier, run: u64, start: Instant) -> Result<Sent, PerfError> {
    let message = Order::Data { run }.to_message(args.message_size as usize);
    let amount = |stream: u64| match args.bytes {
        None => Amount::Until(start + Duration::from_secs_f64(args.seconds)),
        Some(bytes) => {
            let streams = u64::from(args.streams);
            // The first streams send one byte more where the division leaves a rest.
            Amount::Bytes(bytes / streams + u64::from(stream < bytes % streams))
        }
    };
    std::thread::scope(|scope| {
        let begin = |stream| {
            let message = message.clone();
            let amount = amount(stream);
            scope.spawn(move || one_stream(carrier, run, &message, amount))
        };
        let streams: Vec<_> = (0..u64::from(args.streams)).map(begin).collect();
        let mut all = Sent::default();
        for stream in streams {
            // An error ends this function, but the scope still waits for the other streams: each ends by its
            // own time-out.
            let sent = stream.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            all = Sent { bytes: all.bytes + sent.bytes, messages: all.messages + sent.messages };
        }
        Ok(all)
    })
}

fn one_stream(carrier: &dyn Carrier, run: u64, message: &Bytes, amount: Amount) -> Result<Sent, PerfError> {
    let mut stream = carrier.open_stream()?;
    let mut sent = Sent::default();
    while !stop::stop_asked() {
        let length = match amount {
            Amount::Until(end) if Instant::now() < end => message.len() as u64,
            Amount::Bytes(bytes) if sent.bytes < bytes => next(bytes - sent.bytes, message.len() as u64),
            _ => break,
        };
        let whole = length == message.len() as u64;
        // Messages of full length share one buffer: copying would cost processor time that is being measured.
        let bytes = if whole { message.clone() } else { Order::Data { run }.to_message(length as usize) };
        stream.send_message(bytes)?;
        sent = Sent { bytes: sent.bytes + length, messages: sent.messages + 1 };
    }
    // Counted as sent only when the server has everything, so that the rate is one of delivered bytes.
    stream.finish_stream()?;
    Ok(sent)
}

/// Length of the next message when `left` bytes are to be sent. No message is shorter than its header: what
/// is left over at the end goes with the last one.
fn next(left: u64, message: u64) -> u64 {
    if left < message + u64::from(SMALLEST) { left } else { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_sent_in_messages_with_room_for_their_header() {
        // From the smallest message up to a few of the shortest, where the rest at the end matters most.
        for bytes in 16..300 {
            for message in [16, 17, 100, 1000] {
                let mut left = bytes;
                while left > 0 {
                    let length = next(left, message);
                    assert!(length >= 16 && length <= left && length < message + 16, "{bytes} {message}");
                    left -= length;
                }
            }
        }
    }
}
