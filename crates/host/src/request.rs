//! Requests of applications to an endpoint, and the completions that wait for their outcomes.

use crate::completion::{Awaited, Completion};
use crate::core::{Command, Measured, PathInfo, Purpose};
use crate::error::{AddressError, CallError, SendError};
use bytes::Bytes;
use headway_units::Time;
use std::net::SocketAddr;
use std::time::Instant;

/// Outcome of a send: the time at which it was acknowledged, on the endpoint's clock.
pub(crate) type SendOutcome = Result<Time, SendError>;
/// Outcome of a call.
pub(crate) type CallOutcome = Result<Bytes, CallError>;

/// Result of a change of addresses.
pub(crate) type AddressOutcome = Result<SocketAddr, AddressError>;

/// Receiver of a message's outcome.
pub(crate) enum Waiting {
    Send(Completion<SendOutcome>),
    /// The reply with this number.
    Call(u64, Completion<CallOutcome>),
}

impl Waiting {
    pub(crate) fn fail_with(self, error: SendError) {
        match self {
            Waiting::Send(completion) => completion.put_result(Err(error)),
            Waiting::Call(_, completion) => completion.put_result(Err(error.into())),
        }
    }
}

/// Request of an application to an endpoint.
pub(crate) enum Request {
    Send(Command, Waiting),
    /// The reply with this number is not awaited any more.
    Abandon(SocketAddr, u64),
    /// Measurements of the machine; `None` from an endpoint that is closed.
    Measure(Completion<Option<Measured>>),
    /// All paths; none of an endpoint that is closed.
    Paths(Completion<Option<Vec<PathInfo>>>),
    /// Another address, and one less; where it is, or was, bound.
    AddAddress(SocketAddr, Completion<AddressOutcome>),
    RemoveAddress(SocketAddr, Completion<AddressOutcome>),
}

impl Request {
    /// True if it is a reply to a request.
    pub(crate) fn is_reply(&self) -> bool {
        matches!(self, Request::Send(command, _) if matches!(command.purpose, Purpose::Reply(_)))
    }

    /// The endpoint is closed.
    pub(crate) fn refuse_closed(self) {
        match self {
            Request::Send(_, waiting) => waiting.fail_with(SendError::Closed),
            Request::Abandon(..) => {}
            Request::Measure(completion) => completion.put_result(None),
            Request::Paths(completion) => completion.put_result(None),
            Request::AddAddress(_, completion) | Request::RemoveAddress(_, completion) => {
                completion.put_result(Err(AddressError::Closed));
            }
        }
    }
}

impl Awaited for Completion<SendOutcome> {
    type Value = SendOutcome;

    fn take_value(&self) -> Option<SendOutcome> {
        Completion::take_result(self)
    }

    fn wait_value(&self, deadline: Option<Instant>) -> Option<SendOutcome> {
        Completion::wait_result(self, deadline)
    }

    fn leads_on(_: &SendOutcome) -> bool {
        false
    }
}

impl Awaited for Completion<CallOutcome> {
    type Value = CallOutcome;

    fn take_value(&self) -> Option<CallOutcome> {
        Completion::take_result(self)
    }

    fn wait_value(&self, deadline: Option<Instant>) -> Option<CallOutcome> {
        Completion::wait_result(self, deadline)
    }

    /// An application that has called is likely to call again.
    fn leads_on(value: &CallOutcome) -> bool {
        value.is_ok()
    }
}
