//! Messages over `headway-host`.

use crate::args::PeerArgs;
use crate::carrier::{Carrier, Stream};
use crate::error::PerfError;
use crate::stop;
use bytes::Bytes;
use headway_host::{CallError, Config, Endpoint, Limits, Pace, Refused, SendError, SendHandle, toward};
use headway_perf::protocol::LARGEST;
use headway_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Interval between checks for a request to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Time that messages under way may take after that.
const GRACE: Duration = Duration::from_secs(2);
/// Messages of a stream under way at most: while one waits for its acknowledgement the others use the link.
const UNDER_WAY: usize = 4;

/// Limits of both ends: 64 streams of the largest messages fit. Nothing is taken before it is needed.
pub(crate) fn endpoint_limits() -> Limits {
    // 64 is the most that `--streams` takes.
    let all = 64 * UNDER_WAY as u64 * u64::from(LARGEST);
    // The last message of a stream takes along what is left over, and calls have a header.
    let message_bytes = u64::from(LARGEST) * 2;
    Limits { total_bytes: all, peer_bytes: all, message_bytes, ..Limits::default() }
}

/// An endpoint of this side, and where the server is.
pub(crate) struct Headway {
    endpoint: Endpoint,
    peer: SocketAddr,
    transport: String,
    pace: Pace,
}

impl Headway {
    pub(crate) fn new(peer: SocketAddr, args: &PeerArgs) -> Result<Headway, PerfError> {
        let timeout = Time::ns(args.peer_timeout().as_nanos() as u64);
        let pace = args.transport.user_pace().map_or_else(|| Pace::to(peer), Ok);
        let pace = pace.map_err(PerfError::io_error("looking for a route"))?;
        let config = Config {
            limits: endpoint_limits(),
            peer_timeout: timeout,
            // Longer, because a peer that answers is not gone.
            progress_timeout: timeout * 4,
            call_timeout: timeout,
            ..args.transport.endpoint_config(args.peer_admission(peer)?, &pace)?
        };
        let endpoint = Endpoint::bind(toward(peer.ip()), config)?;
        Ok(Headway { endpoint, peer, transport: args.transport.transport_name().into(), pace })
    }
}

impl Carrier for Headway {
    fn carrier_name(&self) -> &'static str {
        "headway"
    }

    fn transport_name(&self) -> String {
        self.transport.clone()
    }

    fn sender_pace(&self) -> Option<&Pace> {
        Some(&self.pace)
    }

    fn base_rtt_us(&self) -> Option<f64> {
        let measured = self.endpoint.measured()?;
        // Asked at the end of a measurement: what is known at its beginning comes from a few idle handshakes.
        let (_, time) = measured.base_round_trips.into_iter().find(|(peer, _)| self.peer == *peer)?;
        Some(time.as_secs_f64() * 1e6)
    }

    fn peer_name(&self) -> String {
        self.peer.to_string()
    }

    fn call_server(&self, request: Bytes) -> Result<Bytes, PerfError> {
        self.endpoint.call(self.peer, request).map_err(|error| {
            match (error, self.endpoint.refused().sending) {
                // The time was too short to be sure, and this is the only hint.
                (CallError::TimedOut, Some(refusal)) if self.endpoint.stats().datagrams_received == 0 => {
                    PerfError::send_error(self.peer, SendError::KernelRefuses(refusal))
                }
                (error, _) => PerfError::call_error(self.peer, error),
            }
        })
    }

    fn open_stream(&self) -> Result<Box<dyn Stream + '_>, PerfError> {
        Ok(Box::new(Row { carrier: self, under_way: VecDeque::new() }))
    }

    fn own_counters(&self) -> BTreeMap<&'static str, u64> {
        self.endpoint.stats().iter().filter(|(_, count)| *count > 0).collect()
    }
}

/// Reports calls that the kernel refuses while messages go on.
impl Drop for Headway {
    fn drop(&mut self) {
        say_refused(&self.endpoint, &mut Refused::default());
    }
}

/// Reports calls that the kernel has refused to this endpoint, and not `before`.
pub(crate) fn say_refused(endpoint: &Endpoint, before: &mut Refused) {
    let refused = endpoint.refused();
    for (what, why) in refused.iter().filter(|(what, _)| !before.iter().any(|(said, _)| said == *what)) {
        eprintln!("headway-perf: the kernel refused {what} ({why})");
    }
    *before = refused;
}

/// Messages in the order in which they were handed over.
struct Row<'a> {
    carrier: &'a Headway,
    under_way: VecDeque<SendHandle>,
}

impl Row<'_> {
    /// Waits for the first; the endpoint fails it when the peer is silent for too long.
    fn wait_for_one(&mut self) -> Result<(), PerfError> {
        let Some(handle) = self.under_way.pop_front() else { return Ok(()) };
        let mut asked: Option<Instant> = None;
        let outcome = loop {
            if let Some(outcome) = handle.wait_timeout(LOOK) {
                break outcome;
            }
            // A request to stop is obeyed even if the peer is there and does not acknowledge.
            if stop::stop_asked() && asked.get_or_insert_with(Instant::now).elapsed() > GRACE {
                // The outcome is unknown. A stopped measurement must not count bytes that the peer has not
                // acknowledged.
                break Err(SendError::Unreachable);
            }
        };
        outcome.map(|_| ()).map_err(|error| PerfError::send_error(self.carrier.peer, error))
    }
}

impl Stream for Row<'_> {
    fn send_message(&mut self, message: Bytes) -> Result<(), PerfError> {
        if self.under_way.len() >= UNDER_WAY {
            self.wait_for_one()?;
        }
        loop {
            // A clone shares the bytes; the message is needed again if there is no room.
            match self.carrier.endpoint.send_nowait(self.carrier.peer, message.clone()) {
                Ok(handle) => {
                    self.under_way.push_back(handle);
                    return Ok(());
                }
                // There is no room before an earlier message is done.
                Err(SendError::Full { .. }) if !self.under_way.is_empty() => self.wait_for_one()?,
                Err(error) => return Err(PerfError::send_error(self.carrier.peer, error)),
            }
        }
    }

    fn finish_stream(&mut self) -> Result<(), PerfError> {
        while !self.under_way.is_empty() {
            self.wait_for_one()?;
        }
        Ok(())
    }
}
