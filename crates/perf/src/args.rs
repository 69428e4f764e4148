//! The command line.

use crate::error::PerfError;
use clap::{Args, Parser, Subcommand};
use headway_host::{Admission, Config, MAX_MTU, MIN_MTU, Pace, PreSharedKey, RoundTrip, chosen};
use headway_packet::UDP_PORT;
use headway_perf::protocol::LARGEST;
use headway_transport::Path;
use headway_units::{Rate, Time};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of the smallest message of a bulk measurement: room for its header, and some.
pub(crate) const SMALLEST: u32 = 16;

/// Bulk throughput and request latency between two hosts, over Headway's transports or kernel TCP.
#[derive(Parser)]
#[command(name = "headway-perf", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Answer measurements until Ctrl-C
    Serve(ServeArgs),
    /// Send messages as fast as possible
    Bulk(BulkArgs),
    /// Send requests one after the other, and time their replies
    Latency(LatencyArgs),
    /// Look for what slows messages down on this host and its way to a peer, which need not run anything
    Doctor(DoctorArgs),
}

/// Settings that both ends must agree on.
#[derive(Args)]
pub(crate) struct TransportArgs {
    /// Transport; both ends must have the same
    #[arg(long, default_value = "amrt")]
    transport: String,
    /// Rate of the slowest link, in Gb/s: senders and receivers pace themselves by it; the default is the
    /// kernel's rate of the interface to the peer, and no pacing where the kernel has none
    #[arg(long, value_parser = parse_rate)]
    rate_gbps: Option<f64>,
    /// Round trip without queues, in microseconds; the default is to measure it
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rtt_us: Option<u32>,
    /// Longest IP packet of the path, in bytes; both ends must have the same
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(MIN_MTU as i64..=MAX_MTU as i64))]
    mtu: u16,
    /// Microseconds for which a thread that waits looks for datagrams again and again before it sleeps
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    spin_us: u32,
    /// A parameter of the transport, such as window=10; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_named)]
    param: Vec<(String, String)>,
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Address and port; port 0 = any, and the one chosen is printed
    #[arg(long, default_value_t = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), UDP_PORT))]
    pub(crate) bind: SocketAddr,
    /// File with the key that peers must have: 32 bytes, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub(crate) psk_file: Option<PathBuf>,
    /// Peers' networks, such as 10.0.0.0/8 or 2001:db8::/32; may be repeated
    #[arg(long, value_name = "PREFIX", conflicts_with = "psk_file")]
    pub(crate) allow: Vec<IpNet>,
    /// Answer kernel TCP at the same port as well; TCP connections are not authenticated
    #[arg(long, conflicts_with = "psk_file")]
    pub(crate) tcp: bool,
    #[command(flatten)]
    pub(crate) transport: TransportArgs,
}

/// Peer of the measurement, and the carrier.
#[derive(Args)]
pub(crate) struct PeerArgs {
    /// Host on which `headway-perf serve` runs: a name or an address, and a port if it is not the usual one
    #[arg(value_name = "PEER")]
    name: String,
    /// Measure kernel TCP instead
    #[arg(long, conflicts_with = "psk_file")]
    pub(crate) tcp: bool,
    /// File with the shared key: 32 bytes, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    psk_file: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Seconds without a datagram after which the peer counts as unreachable; a message without progress fails after
    /// four times as long
    #[arg(long, default_value_t = 5.0, value_parser = parse_positive)]
    timeout: f64,
    #[command(flatten)]
    pub(crate) transport: TransportArgs,
}

#[derive(Args)]
pub(crate) struct BulkArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Time for which to send
    #[arg(long, default_value_t = 5.0, value_parser = parse_positive, conflicts_with = "bytes")]
    pub(crate) seconds: f64,
    /// Bytes to send in all
    #[arg(long)]
    pub(crate) bytes: Option<u64>,
    /// Bytes of one message
    #[arg(long, default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(SMALLEST as i64..=LARGEST as i64))]
    pub(crate) message_size: u32,
    /// Number of senders: TCP connections, or sequences of messages to one endpoint
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) streams: u16,
}

#[derive(Args)]
pub(crate) struct LatencyArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Number of requests
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) count: u64,
    /// Requests a second: each begins at its time, or as soon as the one before has its reply, and its latency counts from
    /// its time; the default is to begin one as soon as the one before has its reply
    #[arg(long, value_parser = parse_positive)]
    pub(crate) per_second: Option<f64>,
    /// Bytes of a request
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(SMALLEST as i64..=LARGEST as i64))]
    pub(crate) request_size: u32,
    /// Bytes of a reply
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=LARGEST as i64))]
    pub(crate) reply_size: u32,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// The peer: a name or an address, and a port if it is not the usual one
    #[arg(value_name = "PEER")]
    name: String,
    /// Longest IPv4 packet that is to be sent, in bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(MIN_MTU as i64..=MAX_MTU as i64))]
    pub(crate) mtu: u16,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // The upper end keeps durations within what `Duration` and 64 bits of picoseconds hold. NaN fails both
        // comparisons.
        Ok(value) if value > 0.0 && value <= 1e6 => Ok(value),
        _ => Err("must be a number above 0 and at most 1000000".into()),
    }
}

fn parse_named(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be a name, `=` and a value")?;
    // Under the name that `Config::from_settings` has for it, which then checks name and value.
    Ok((format!("transport.{name}"), value.into()))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.001..=400.0).contains(&value) => Ok(value),
        _ => Err("must be from 0.001 to 400".into()),
    }
}

impl TransportArgs {
    /// Pace that the user set.
    pub(crate) fn user_pace(&self) -> Option<Pace> {
        self.rate_gbps.and_then(|gbps| Rate::new((gbps * 1e9) as u64)).map(Pace::given)
    }

    /// Configuration of an endpoint; its peers are admitted by `admission`.
    pub(crate) fn endpoint_config(&self, admission: Admission, pace: &Pace) -> Result<Config, PerfError> {
        let params = self.param.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = std::iter::once(("transport", self.transport_name())).chain(params);
        let config = Config::from_settings(settings).map_err(|error| PerfError::Usage(error.to_string()))?;
        let rate = pace.rate;
        let round_trip = if self.rtt_us.is_some() { RoundTrip::Given } else { RoundTrip::Measured };
        let base_rtt = self.rtt_us.map_or(config.path.base_rtt, |us| Time::us(us.into()));
        // Queues may add several base round trips; the configured bound stands if it is longer.
        let max_rtt = config.path.max_rtt.max(base_rtt * 10);
        let path = Path { base_rtt, max_rtt, bottleneck: rate, ..config.path };
        Ok(Config {
            nic: Some(rate),
            mtu: self.mtu,
            path,
            round_trip,
            admission,
            spin: Time::us(self.spin_us.into()),
            ..config
        })
    }

    pub(crate) fn transport_name(&self) -> &str {
        &self.transport
    }
}

impl ServeArgs {
    pub(crate) fn peers_admission(&self) -> Result<Admission, PerfError> {
        match &self.psk_file {
            Some(file) => Ok(Admission::PreSharedKey(read_key(file)?)),
            None if self.allow.is_empty() => Ok(Admission::Loopback),
            None => Ok(Admission::Prefixes(self.allow.clone())),
        }
    }
}

impl PeerArgs {
    /// The first IPv4 address of the peer, or else the first.
    pub(crate) fn peer_address(&self) -> Result<SocketAddr, PerfError> {
        resolve_address(&self.name)
    }

    /// Admits the peer: by the key, or by its address alone.
    pub(crate) fn peer_admission(&self, peer: SocketAddr) -> Result<Admission, PerfError> {
        match &self.psk_file {
            Some(file) => Ok(Admission::PreSharedKey(read_key(file)?)),
            None if peer.ip().is_loopback() => Ok(Admission::Loopback),
            // The whole address as a prefix: a client hears its server and no other host.
            None => Ok(Admission::Prefixes(vec![IpNet::from(peer.ip())])),
        }
    }

    pub(crate) fn peer_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout)
    }
}

impl BulkArgs {
    /// Checks that the types of the arguments cannot express.
    pub(crate) fn check_sizes(&self) -> Result<(), PerfError> {
        let least = u64::from(SMALLEST) * u64::from(self.streams);
        match self.bytes {
            Some(bytes) if bytes < least => {
                Err(PerfError::Usage(format!("--bytes must be at least {SMALLEST} for each stream: {least}")))
            }
            _ => Ok(()),
        }
    }
}

/// The first IPv4 address of a peer, or else the first; an IPv6 address with a port is in brackets.
fn resolve_address(name: &str) -> Result<SocketAddr, PerfError> {
    let unknown = |why: String| PerfError::Usage(format!("no address of `{name}`: {why}"));
    // An IPv6 address has colons too, so that a colon alone means no port.
    let bare = name.parse::<IpAddr>().is_ok() || !name.contains(':');
    let host = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let resolved: Vec<SocketAddr> = if bare || host != name {
        (host, UDP_PORT).to_socket_addrs().map_err(|e| unknown(e.to_string()))?.collect()
    // The standard library reads `name:port` and `[address]:port`.
    } else {
        name.to_socket_addrs().map_err(|e| unknown(e.to_string()))?.collect()
    };
    // Nothing can be sent to port 0.
    let usable: Vec<SocketAddr> = resolved.into_iter().filter(|address| address.port() != 0).collect();
    chosen(&usable[..]).map_err(|_| unknown("it has none, or the port is 0".into()))
}

impl DoctorArgs {
    /// The first IPv4 address of the peer, or else the first.
    pub(crate) fn peer_address(&self) -> Result<SocketAddr, PerfError> {
        resolve_address(&self.name)
    }
}

/// The key in a file.
fn read_key(file: &std::path::Path) -> Result<PreSharedKey, PerfError> {
    PreSharedKey::read(file).map_err(|error| PerfError::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
