//! The status of gRPC for the failure of a message.

use headway_host::{CallError, SendError};
use std::sync::Arc;
use tonic::{Code, Status};

/// The status of a call that failed; its source is the error.
pub(crate) fn call_status(error: CallError) -> Status {
    let code = match error {
        CallError::TimedOut => Code::DeadlineExceeded,
        CallError::Send(error) => match error {
            SendError::PeerRestarted
            | SendError::Unreachable
            | SendError::KernelRefuses(_)
            | SendError::Refused(_)
            | SendError::Stalled
            | SendError::GaveUp(_)
            // Unavailable invites a client to try again, which may help with all of these.
            | SendError::Closed => Code::Unavailable,
            SendError::NotAdmitted => Code::PermissionDenied,
            SendError::OtherFamily | SendError::Forked(_) => Code::FailedPrecondition,
            SendError::TooLong { .. } | SendError::Full { .. } | SendError::TooManyPeers => {
                Code::ResourceExhausted
            }
        },
    };
    let mut status = Status::new(code, error.to_string());
    status.set_source(Arc::new(error));
    status
}
