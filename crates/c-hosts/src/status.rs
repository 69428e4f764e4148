//! Statuses that functions return, and the words for them.

use headway_host::{AddressError, BindError, CallError, Forked, RecvError, SendError};
use std::ffi::CStr;

/// Status that a function returns. `hw_error` has the words for the last answer in this thread that was not
/// `HW_OK`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the names in C")]
pub enum hw_status {
    /// All is well.
    HW_OK = 0,
    /// Of `hw_next`: nothing is there now. Wait until the descriptor is readable.
    HW_NOTHING = 1,
    /// An argument cannot be: a null pointer, a text that is not UTF-8, an address that is none.
    HW_BAD_ARGUMENT = 2,
    /// A setting has an unknown name, or its value is out of its range; or the transport cannot be configured so.
    HW_BAD_SETTING = 3,
    /// Other hosts can reach the address, and no setting says which of them are admitted.
    HW_NOT_LOOPBACK = 4,
    /// The operating system refused something.
    HW_SYSTEM = 5,
    /// No message or reply came in time, or a message was not acknowledged by then and is still under way.
    HW_TIMED_OUT = 6,
    /// The peer restarted: whether the message was delivered is unknown.
    HW_PEER_RESTARTED = 7,
    /// The peer does not answer: whether the message was delivered is unknown.
    HW_UNREACHABLE = 8,
    /// The peer runs another version, transport or MTU: nothing was delivered.
    HW_REFUSED = 9,
    /// The peer answers, and takes nothing of the message: whether it was delivered is unknown.
    HW_STALLED = 10,
    /// The peer's address is not admitted by this endpoint.
    HW_NOT_ADMITTED = 11,
    /// The message is longer than this endpoint allows: setting `message_bytes`.
    HW_TOO_LONG = 12,
    /// The memory for messages is taken: wait for earlier ones. Settings `total_bytes`, `peer_bytes`.
    HW_FULL = 13,
    /// All places for peers are taken by peers with something under way: setting `peers`.
    HW_TOO_MANY_PEERS = 14,
    /// The transport gave the message up.
    HW_GAVE_UP = 15,
    /// The endpoint is closed, or its socket failed.
    HW_CLOSED = 16,
    /// A mistake in Headway itself.
    HW_INTERNAL = 17,
    /// The endpoint was bound by another process, from which this one was forked: nothing was sent. Bind one in this process.
    HW_FORKED = 18,
}

impl hw_status {
    /// Every status with a few words for it, in the order of their numbers.
    pub const ALL: [(hw_status, &'static CStr); 19] = [
        (hw_status::HW_OK, c"all is well"),
        (hw_status::HW_NOTHING, c"nothing is there now"),
        (hw_status::HW_BAD_ARGUMENT, c"an argument cannot be"),
        (hw_status::HW_BAD_SETTING, c"a setting cannot be"),
        (hw_status::HW_NOT_LOOPBACK, c"other hosts can reach the address, and none is admitted"),
        (hw_status::HW_SYSTEM, c"the operating system refused something"),
        (hw_status::HW_TIMED_OUT, c"not in time"),
        (hw_status::HW_PEER_RESTARTED, c"the peer restarted"),
        (hw_status::HW_UNREACHABLE, c"the peer does not answer"),
        (hw_status::HW_REFUSED, c"the peer runs another version, transport or MTU"),
        (hw_status::HW_STALLED, c"the peer answers, and takes nothing of the message"),
        (hw_status::HW_NOT_ADMITTED, c"the peer's address is not admitted"),
        (hw_status::HW_TOO_LONG, c"the message is too long"),
        (hw_status::HW_FULL, c"the memory for messages is taken"),
        (hw_status::HW_TOO_MANY_PEERS, c"the table of peers is full"),
        (hw_status::HW_GAVE_UP, c"the transport gave the message up"),
        (hw_status::HW_CLOSED, c"the endpoint is closed"),
        (hw_status::HW_INTERNAL, c"a mistake in Headway itself"),
        (hw_status::HW_FORKED, c"the endpoint belongs to the process that bound it"),
    ];

    /// Meaning in a few words.
    pub fn words(self) -> &'static CStr {
        Self::ALL[self as usize].1
    }
}

impl From<&BindError> for hw_status {
    fn from(error: &BindError) -> hw_status {
        match error {
            BindError::NotLoopback(_) => hw_status::HW_NOT_LOOPBACK,
            BindError::Config(_) => hw_status::HW_BAD_SETTING,
            BindError::Io { .. } => hw_status::HW_SYSTEM,
            BindError::Address(error) => error.into(),
            BindError::Forked(forked) => forked.into(),
        }
    }
}

impl From<&AddressError> for hw_status {
    fn from(error: &AddressError) -> hw_status {
        match error {
            AddressError::NotLoopback(_) => hw_status::HW_NOT_LOOPBACK,
            AddressError::Kernel { .. } => hw_status::HW_SYSTEM,
            AddressError::Closed => hw_status::HW_CLOSED,
            AddressError::OtherFamily(_)
            | AddressError::Known(_)
            | AddressError::TooMany(_)
            | AddressError::Unknown(_)
            | AddressError::Last(_) => hw_status::HW_BAD_ARGUMENT,
        }
    }
}

impl From<&Forked> for hw_status {
    fn from(_: &Forked) -> hw_status {
        hw_status::HW_FORKED
    }
}

impl From<&SendError> for hw_status {
    fn from(error: &SendError) -> hw_status {
        match error {
            SendError::PeerRestarted => hw_status::HW_PEER_RESTARTED,
            SendError::Unreachable => hw_status::HW_UNREACHABLE,
            SendError::KernelRefuses(_) => hw_status::HW_SYSTEM,
            SendError::Refused(_) => hw_status::HW_REFUSED,
            SendError::Stalled => hw_status::HW_STALLED,
            SendError::NotAdmitted => hw_status::HW_NOT_ADMITTED,
            // A mistake of the program, as is an address that is none: no status of its own.
            SendError::OtherFamily => hw_status::HW_BAD_ARGUMENT,
            SendError::TooLong { .. } => hw_status::HW_TOO_LONG,
            SendError::Full { .. } => hw_status::HW_FULL,
            SendError::TooManyPeers => hw_status::HW_TOO_MANY_PEERS,
            SendError::GaveUp(_) => hw_status::HW_GAVE_UP,
            SendError::Closed => hw_status::HW_CLOSED,
            SendError::Forked(forked) => forked.into(),
        }
    }
}

impl From<&CallError> for hw_status {
    fn from(error: &CallError) -> hw_status {
        match error {
            CallError::Send(error) => error.into(),
            CallError::TimedOut => hw_status::HW_TIMED_OUT,
        }
    }
}

impl From<&RecvError> for hw_status {
    fn from(error: &RecvError) -> hw_status {
        match error {
            RecvError::TimedOut => hw_status::HW_TIMED_OUT,
            RecvError::Closed => hw_status::HW_CLOSED,
            RecvError::Forked(forked) => forked.into(),
        }
    }
}
