//! `headway-perf latency`: measures round trips of calls.

use crate::args::LatencyArgs;
use crate::carrier::{self, Carrier};
use crate::error::PerfError;
use crate::report::{LatencyReport, Measured, Percentiles, Side};
use crate::stop;
use bytes::Bytes;
use hdrhistogram::Histogram;
use headway_perf::protocol::{Answer, Order};
use headway_perf::usage::Usage;
use std::time::{Duration, Instant};

/// Requests before the first that is timed, at most.
const WARM_UP: u64 = 100;
/// Longest latency that is distinguished, in nanoseconds; longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Asks, one request after the other.
pub(crate) fn run_latency(args: &LatencyArgs, carrier: &dyn Carrier) -> Result<LatencyReport, PerfError> {
    if args.per_second.is_some() {
        // The default slack of 50 us would be added to every pause between requests.
        let _ = nix::sys::prctl::set_timerslack(1);
    }
    let run = carrier::begin_run(carrier)?;
    let request =
        Order::Echo { reply: args.reply_size, run: run as u32 }.to_message(args.request_size as usize);
    // The first requests include the handshake and a measurement of the round trip.
    for _ in 0..args.count.min(WARM_UP) {
        send_request(args, carrier, &request)?;
    }
    // Three digits: 0.1 % of any value, in memory that does not grow with the number of calls.
    let mut latencies = Histogram::new_with_bounds(1, LONGEST_NS, 3)
        .unwrap_or_else(|error| unreachable!("these bounds are in order: {error}"));
    // After the warm-up, which meets the peer, measures the path and fills caches.
    let (before, start) = (Usage::until_now(), Instant::now());
    while latencies.len() < args.count && !stop::stop_asked() {
        let asked = wait_begin(args, start, latencies.len());
        send_request(args, carrier, &request)?;
        // At least 1 ns: the histogram counts no zero.
        latencies.saturating_record(asked.elapsed().as_nanos().max(1) as u64);
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), Usage::until_now() - before);
    let totals = carrier::end_run(carrier, run)?;
    let calls = latencies.len();
    Ok(LatencyReport {
        measured: Measured::new("latency", carrier, seconds),
        calls,
        request_size: args.request_size,
        reply_size: args.reply_size,
        latency_us: Percentiles::from_histogram(&latencies),
        client: Side {
            bytes: calls * u64::from(args.request_size),
            messages: calls,
            cpu: cpu.cpu_report(None),
        },
        server: Side {
            bytes: calls * u64::from(args.reply_size),
            messages: calls,
            cpu: totals.cpu.cpu_report(None),
        },
        others: totals.others,
        counters: carrier.own_counters(),
    })
}

/// Waits until a request is to begin; when that was. One that is late because of others began in time, and one for which
/// this thread slept too long begins now.
fn wait_begin(args: &LatencyArgs, start: Instant, number: u64) -> Instant {
    let Some(rate) = args.per_second else { return Instant::now() };
    // Counted from the start, so that delays do not add up.
    let at = start + Duration::from_secs_f64(number as f64 / rate);
    let early = at.saturating_duration_since(Instant::now());
    if early.is_zero() {
        // From its own time on, although this thread begins late: otherwise a slow reply would hide the wait of
        // those behind it (coordinated omission).
        return at;
    }
    std::thread::sleep(early);
    Instant::now()
}

fn send_request(args: &LatencyArgs, carrier: &dyn Carrier, request: &Bytes) -> Result<(), PerfError> {
    let reply = carrier.call_server(request.clone())?;
    let right = reply.len() == args.reply_size as usize && Answer::from_message(&reply) == Some(Answer::Echo);
    if right { Ok(()) } else { Err(PerfError::Language(carrier.peer_name())) }
}
