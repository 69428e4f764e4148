//! Results of a measurement, for people and for programs.

use crate::carrier::Carrier;
use crate::error::PerfError;
use crate::stop;
use hdrhistogram::Histogram;
use headway_perf::usage::CpuReport;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// Facts that every measurement reports.
#[derive(Serialize)]
pub(crate) struct Measured {
    measurement: &'static str,
    version: &'static str,
    /// `headway` or `tcp`.
    carrier: &'static str,
    /// Transport, or the kernel's congestion control.
    transport: String,
    peer: String,
    seconds: f64,
    /// The rate at which packets leave; `None` over TCP.
    pace_gbps: Option<f64>,
    /// Pace in words, with its source.
    pace: Option<String>,
    /// Base round trip that the client takes for granted at the end; `None` over TCP.
    base_rtt_us: Option<f64>,
    /// True if it was ended early.
    interrupted: bool,
}

/// Counts of one end.
#[derive(Serialize)]
pub(crate) struct Side {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) cpu: CpuReport,
}

#[derive(Serialize)]
pub(crate) struct BulkReport {
    #[serde(flatten)]
    pub(crate) measured: Measured,
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) message_size: u32,
    pub(crate) streams: u16,
    pub(crate) goodput_gbps: f64,
    pub(crate) client: Side,
    pub(crate) server: Side,
    /// Other clients' measurements with the server at the same time, at most: its processor time is that of all.
    pub(crate) others: u64,
    /// Counters of the client's endpoint that are not 0; empty over TCP.
    pub(crate) counters: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
pub(crate) struct LatencyReport {
    #[serde(flatten)]
    pub(crate) measured: Measured,
    pub(crate) calls: u64,
    pub(crate) request_size: u32,
    pub(crate) reply_size: u32,
    /// Time from before the request is handed over until the reply is there.
    pub(crate) latency_us: Percentiles,
    /// The bytes are those of the requests; of the server, those of the replies.
    pub(crate) client: Side,
    /// Its processor time includes the warm-up.
    pub(crate) server: Side,
    /// Other clients' measurements with the server at the same time, at most: its processor time is that of all.
    pub(crate) others: u64,
    pub(crate) counters: BTreeMap<&'static str, u64>,
}

/// Percentiles in microseconds, to three digits.
#[derive(Serialize)]
pub(crate) struct Percentiles {
    min: f64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: f64,
    max: f64,
}

impl Measured {
    pub(crate) fn new(measurement: &'static str, carrier: &dyn Carrier, seconds: f64) -> Measured {
        Measured {
            measurement,
            version: env!("CARGO_PKG_VERSION"),
            carrier: carrier.carrier_name(),
            transport: carrier.transport_name(),
            peer: carrier.peer_name(),
            seconds,
            pace_gbps: carrier.sender_pace().map(|pace| pace.rate.bps() as f64 * 1e-9),
            pace: carrier.sender_pace().map(ToString::to_string),
            base_rtt_us: carrier.base_rtt_us(),
            // Read when the report is made: a signal that came while the totals were asked for counts as well,
            // and does no harm.
            interrupted: stop::stop_asked(),
        }
    }
}

impl Percentiles {
    /// Percentiles of latencies in nanoseconds.
    pub(crate) fn from_histogram(latencies: &Histogram<u64>) -> Percentiles {
        let at = |quantile| latencies.value_at_quantile(quantile) as f64 * 1e-3;
        Percentiles {
            min: latencies.min() as f64 * 1e-3,
            mean: latencies.mean() * 1e-3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: latencies.max() as f64 * 1e-3,
        }
    }
}

impl Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let early = if self.interrupted { ", interrupted" } else { "" };
        let (carrier, transport) = (self.carrier, &self.transport);
        writeln!(f, "{carrier} ({transport}) to {}, {:.2} s{early}", self.peer, self.seconds)?;
        if let Some(pace) = &self.pace {
            writeln!(f, "  pace         {pace}")?;
        }
        Ok(())
    }
}

/// Says how many other measurements the server answered, if any.
fn write_others(f: &mut fmt::Formatter<'_>, others: u64) -> fmt::Result {
    if others == 0 {
        return Ok(());
    }
    writeln!(f, "  in parallel  {others} other measurements; the server's CPU time is that of all of them")
}

impl Display for BulkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cost = |side: &Side| side.cpu.s_per_gb.unwrap_or(0.0);
        self.measured.fmt(f)?;
        writeln!(f, "  goodput      {:.3} Gb/s", self.goodput_gbps)?;
        writeln!(f, "  bytes        {} in {} messages, {} streams", self.bytes, self.messages, self.streams)?;
        writeln!(
            f,
            "  CPU          client {:.3} s/GB, server {:.3} s/GB",
            cost(&self.client),
            cost(&self.server)
        )?;
        write_others(f, self.others)
    }
}

impl Display for LatencyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = &self.latency_us;
        self.measured.fmt(f)?;
        writeln!(f, "  calls        {}, {} -> {} bytes", self.calls, self.request_size, self.reply_size)?;
        writeln!(
            f,
            "  latency us   p50 {:.1}  p90 {:.1}  p99 {:.1}  p99.9 {:.1}  max {:.1}",
            us.p50, us.p90, us.p99, us.p999, us.max
        )?;
        write_others(f, self.others)
    }
}

/// Prints a report to standard output.
pub(crate) fn print_report(report: &(impl Serialize + Display), json: bool) -> Result<(), PerfError> {
    let text = if json {
        let text = serde_json::to_string_pretty(report);
        text.map_err(|error| PerfError::io_error("writing")(error.into()))? + "\n"
    } else {
        report.to_string()
    };
    let mut out = io::stdout().lock();
    // Flushed here: an error of a pipe without a reader would be lost otherwise.
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(PerfError::io_error("writing"))
}
