//! Errors, and the exit status of each.

use headway_host::{BindError, CallError, SendError};
use std::io;

/// Reason why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PerfError {
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// The peer did not answer in time.
    #[error("no answer from {peer}: {why} (is `headway-perf serve` running there{hint}?)")]
    NoAnswer { peer: String, why: String, hint: &'static str },
    /// The peer measures with too many others.
    #[error("{0} is busy with too many other measurements")]
    Busy(String),
    /// The peer runs something else.
    #[error("{peer}: {why}: give both ends the same version, --transport and --mtu")]
    Refused { peer: String, why: String },
    /// The peer is there, and takes nothing.
    #[error("{peer}: {why}")]
    Stalled { peer: String, why: String },
    /// The peer answered something else than was asked.
    #[error("{0} runs another version of headway-perf")]
    Language(String),
    /// Some messages did not arrive.
    #[error("{peer} received {counted} of {sent} bytes")]
    Miscounted { peer: String, counted: u64, sent: u64 },
    /// A message was not sent for a reason of this side.
    #[error("cannot send: {0}")]
    Send(SendError),
    /// The operating system.
    #[error("{what}: {source}")]
    Io { what: &'static str, source: io::Error },
}

impl PerfError {
    /// Exit status of the program.
    pub(crate) fn exit_status(&self) -> u8 {
        if matches!(self, PerfError::Usage(_)) { 2 } else { 1 }
    }

    pub(crate) fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> PerfError {
        move |source| PerfError::Io { what, source }
    }

    /// A message to `peer` over Headway failed.
    pub(crate) fn send_error(peer: impl ToString, error: SendError) -> PerfError {
        match error {
            // A server that is started again under a measurement has lost its counts, which is as good as no
            // answer.
            SendError::Unreachable | SendError::PeerRestarted => {
                let hint = ", with the same transport, MTU and key";
                PerfError::NoAnswer { peer: peer.to_string(), why: error.to_string(), hint }
            }
            SendError::Refused(_) => PerfError::Refused { peer: peer.to_string(), why: error.to_string() },
            SendError::Stalled => PerfError::Stalled { peer: peer.to_string(), why: error.to_string() },
            other => PerfError::Send(other),
        }
    }

    /// A call to `peer` over Headway failed.
    pub(crate) fn call_error(peer: impl ToString, error: CallError) -> PerfError {
        match error {
            CallError::Send(error) => PerfError::send_error(peer, error),
            // A server answers at once, so that a call without a reply means that nothing answers.
            CallError::TimedOut => PerfError::send_error(peer, SendError::Unreachable),
        }
    }

    /// A TCP connection to `peer` failed.
    pub(crate) fn tcp_error(peer: impl ToString, source: io::Error) -> PerfError {
        let why = match source.kind() {
            // A read that times out ends with EAGAIN, which is `WouldBlock` (socket(7), SO_RCVTIMEO).
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "time-out".into(),
            io::ErrorKind::UnexpectedEof => "the connection was closed".into(),
            _ => source.to_string(),
        };
        PerfError::NoAnswer { peer: peer.to_string(), why, hint: " with --tcp" }
    }
}

impl From<BindError> for PerfError {
    fn from(error: BindError) -> PerfError {
        match error {
            BindError::NotLoopback(address) => PerfError::Usage(format!(
                "{address} is not a loopback address: say who may connect with --allow PREFIX or --psk-file FILE"
            )),
            BindError::Config(_) | BindError::Address(_) | BindError::Forked(_) => {
                PerfError::Usage(error.to_string())
            }
            BindError::Io { what, source } => PerfError::Io { what, source },
        }
    }
}
