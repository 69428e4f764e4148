//! What applications ask of an endpoint, and who waits for what becomes of it.

use crate::completion::{Awaited, Completion};
use crate::core::{Command, Measured, PathInfo, Purpose};
use crate::error::{AddressError, CallError, SendError};
use bytes::Bytes;
use headway_units::Time;
use std::net::SocketAddr;
use std::time::Instant;

/// What a send ends with: when it was acknowledged, on the endpoint's clock.
pub(crate) type SendOutcome = Result<Time, SendError>;
/// What a call ends with.
pub(crate) type CallOutcome = Result<Bytes, CallError>;

/// What a change of addresses ends with.
pub(crate) type AddressOutcome = Result<SocketAddr, AddressError>;

/// Who waits for what becomes of a message.
pub(crate) enum Waiting {
    Send(Completion<SendOutcome>),
    /// The reply with this number.
    Call(u64, Completion<CallOutcome>),
}

impl Waiting {
    pub(crate) fn fail(self, error: SendError) {
        match self {
            Waiting::Send(completion) => completion.complete(Err(error)),
            Waiting::Call(_, completion) => completion.complete(Err(error.into())),
        }
    }
}

/// What applications ask of an endpoint.
pub(crate) enum Request {
    Send(Command, Waiting),
    /// Nobody waits for the reply with this number any more.
    Abandon(SocketAddr, u64),
    /// What the machine measured of itself; nothing from an endpoint that is closed.
    Measure(Completion<Option<Measured>>),
    /// What is known of paths; nothing from an endpoint that is closed.
    Paths(Completion<Option<Vec<PathInfo>>>),
    /// Another address, and one less; where it is, or was, bound.
    AddAddress(SocketAddr, Completion<AddressOutcome>),
    RemoveAddress(SocketAddr, Completion<AddressOutcome>),
}

impl Request {
    /// Whether it is a reply to somebody.
    pub(crate) fn is_reply(&self) -> bool {
        matches!(self, Request::Send(command, _) if matches!(command.purpose, Purpose::Reply(_)))
    }

    /// The endpoint is closed.
    pub(crate) fn refuse(self) {
        match self {
            Request::Send(_, waiting) => waiting.fail(SendError::Closed),
            Request::Abandon(..) => {}
            Request::Measure(completion) => completion.complete(None),
            Request::Paths(completion) => completion.complete(None),
            Request::AddAddress(_, completion) | Request::RemoveAddress(_, completion) => {
                completion.complete(Err(AddressError::Closed));
            }
        }
    }
}

impl Awaited for Completion<SendOutcome> {
    type Value = SendOutcome;

    fn take(&self) -> Option<SendOutcome> {
        Completion::take(self)
    }

    fn wait(&self, deadline: Option<Instant>) -> Option<SendOutcome> {
        Completion::wait(self, deadline)
    }

    fn leads_on(_: &SendOutcome) -> bool {
        false
    }
}

impl Awaited for Completion<CallOutcome> {
    type Value = CallOutcome;

    fn take(&self) -> Option<CallOutcome> {
        Completion::take(self)
    }

    fn wait(&self, deadline: Option<Instant>) -> Option<CallOutcome> {
        Completion::wait(self, deadline)
    }

    /// Who called once calls again.
    fn leads_on(value: &CallOutcome) -> bool {
        value.is_ok()
    }
}
