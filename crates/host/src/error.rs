//! Errors, by type.

use headway_packet::session::Terms;
use headway_params::ParamError;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why a configuration cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// No transport has this name.
    #[error("there is no transport `{}`{}", .0, near_name(.0, headway_transport::registry::NAMES))]
    UnknownTransport(String),
    /// The transport counts rounds of time that all hosts begin together, and this endpoint's clock begins when it does.
    #[error(
        "transport `{0}` needs one clock at all hosts: say `origin_ns`, a reading of the monotonic clock that they share"
    )]
    NeedsSharedClock(&'static str),
    /// The transport sets its rate by what ports of switches write into its packets; where they write nothing, it keeps the
    /// rate of its link.
    #[error(
        "transport `{0}` needs switches that write into its packets (in-band telemetry): say `telemetry` where all paths have them"
    )]
    NeedsTelemetry(&'static str),
    /// A parameter that the transport refuses.
    #[error("transport `{name}`: {source}")]
    Transport {
        /// Name of the transport.
        name: String,
        /// Fault of its parameters.
        source: ParamError,
    },
    /// No such port discipline.
    #[error("there is no port discipline `{}`{}", .0, near_name(.0, headway_fabric::registry::NAMES))]
    UnknownDiscipline(String),
    /// The discipline wants something that a host's own link does not offer.
    #[error("port discipline `{name}`: {source}")]
    Unoffered {
        /// Name of the discipline.
        name: String,
        /// The thing that a host's own link does not offer.
        source: headway_fabric::Unoffered,
    },
    /// A parameter that the discipline refuses.
    #[error("port discipline `{name}`: {source}")]
    Discipline {
        /// Name of the discipline.
        name: String,
        /// Fault of its parameters.
        source: ParamError,
    },
    /// Another key is set although none is shared.
    #[error(
        "another key is said, and none that hosts share: `Admission::PreSharedKey` (the setting `key_file`) has it"
    )]
    OtherKeyAlone,
    /// A key that protects nothing.
    #[error("the shared key is all zeros, which protects nothing: make one by `openssl rand -hex 32`")]
    ZeroKey,
    /// A number out of its range.
    #[error("{what} is {value}, and must be {range}")]
    Range {
        /// Name of the setting.
        what: &'static str,
        /// Value of the setting.
        value: u64,
        /// Range of its values.
        range: &'static str,
    },
}

/// Why an endpoint cannot have another address, or be without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// One is IPv4 and the other IPv6.
    #[error("{0} is of another family than the address that the endpoint is bound to")]
    OtherFamily(SocketAddr),
    /// The endpoint has it, or it stands for all addresses.
    #[error("{0} is one of the endpoint's addresses already, or stands for all of them")]
    Known(SocketAddr),
    /// There are as many as a list holds.
    #[error(
        "{0} would be one address too many: an endpoint has the one that it is bound to, and 8 more at most"
    )]
    TooMany(SocketAddr),
    /// The endpoint does not have it.
    #[error("{0} is none of the endpoint's addresses")]
    Unknown(SocketAddr),
    /// The endpoint would have none.
    #[error("{0} is the endpoint's last address")]
    Last(SocketAddr),
    /// The endpoint may use loopback addresses only.
    #[error("{0} is not a loopback address, and nothing says who may talk to it")]
    NotLoopback(SocketAddr),
    /// The operating system does not give it.
    #[error("{address} cannot be bound: {why}")]
    Kernel {
        /// The address.
        address: SocketAddr,
        /// The kernel's reason.
        why: Refusal,
    },
    /// The endpoint is closed, or belongs to another process.
    #[error("the endpoint is closed")]
    Closed,
}

pub(crate) fn near_name(name: &str, names: &[&'static str]) -> String {
    let help = headway_params::names::name_suggestion(name, names.iter().copied());
    help.map_or(String::new(), |help| format!(": {help}"))
}

/// Fault of a setting of [`crate::Config::from_settings`].
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No setting has this name, or no parameter of the transport or of the discipline.
    #[error("there is no setting `{name}`{}", .help.as_ref().map_or(String::new(), |help| format!(": {help}")))]
    Unknown {
        /// The name as it was given.
        name: String,
        /// Suggestion of a similar name.
        help: Option<String>,
    },
    /// The value cannot be read, or is out of its range.
    #[error("setting `{name}` is `{value}`, and takes {expected}")]
    Value {
        /// Name of the setting.
        name: String,
        /// The value as it was given.
        value: String,
        /// Values that it takes, in words.
        expected: String,
    },
    /// It was set before, or excludes one that was.
    #[error("setting `{name}` was said before, or `{other}`, which excludes it")]
    Twice {
        /// Name of the setting.
        name: String,
        /// The one that was set before.
        other: String,
    },
    /// The file with a key cannot be used.
    #[error("setting `{name}`: {error}")]
    Key {
        /// Name of the setting.
        name: String,
        /// Fault of the file.
        error: crate::key::KeyFileError,
    },
    /// No such transport or discipline.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The endpoint was bound by another process: a fork copied it into this one, where nothing can be done with it but to drop or close
/// it, which leaves it untouched in the process that bound it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the endpoint was bound before this process was forked, and belongs to the process that bound it: bind one here"
)]
pub struct Forked;

/// Why an endpoint cannot be bound, or a queue of one cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Without admission rules, only loopback addresses may be bound.
    #[error(
        "{0} is not a loopback address: to be reached from other machines, an endpoint needs \
         `Admission::Prefixes` or `Admission::PreSharedKey` (the settings `allow` and `key_file`)"
    )]
    NotLoopback(SocketAddr),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The operating system refused an operation.
    #[error("{what}: {source}")]
    Io {
        /// Action that failed.
        what: &'static str,
        /// Error of the action.
        source: io::Error,
    },
    /// One of several addresses cannot be the endpoint's.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Of a queue: the endpoint belongs to another process.
    #[error(transparent)]
    Forked(#[from] Forked),
}

/// Versions in which two hosts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Versions of this endpoint.
    pub ours: Terms,
    /// Versions of the peer.
    pub theirs: Terms,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { ours, theirs } = self;
        let mut before = "the peer speaks";
        let mut say = |f: &mut fmt::Formatter<'_>, theirs: String, ours: String| {
            write!(f, "{before} {theirs}, this endpoint {ours}")?;
            before = "; it speaks";
            Ok(())
        };
        let version = |terms: &Terms| format!("version {}.{}", terms.wire, terms.session);
        if version(theirs) != version(ours) {
            say(f, version(theirs), version(ours))?;
        }
        if theirs.transport != ours.transport {
            say(f, format!("`{}`", theirs.transport), format!("`{}`", ours.transport))?;
        }
        if theirs.mtu != ours.mtu {
            say(f, format!("packets of {} bytes (MTU)", theirs.mtu), format!("of {}", ours.mtu))?;
        }
        Ok(())
    }
}

/// Error of the kernel when it does not take a datagram, such as `EPERM` where a firewall of this host forbids it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(i32);

impl Refusal {
    pub(crate) fn from_error(error: &io::Error) -> Refusal {
        // Errors of the standard library's own have no number; none of them comes from a send.
        Refusal(error.raw_os_error().unwrap_or_default())
    }

    #[cfg(test)]
    pub(crate) fn from_raw(errno: i32) -> Refusal {
        Refusal(errno)
    }

    /// Its number, as in `errno`.
    pub fn errno(self) -> i32 {
        self.0
    }

    /// True if it only means that a queue or the memory is full.
    pub(crate) fn is_about_room(self) -> bool {
        matches!(self.0, libc::ENOBUFS | libc::ENOMEM)
    }

    /// True if the datagram is longer than the link or the path carries.
    pub(crate) fn is_about_length(self) -> bool {
        self.0 == libc::EMSGSIZE
    }

    /// True if it is about the network as it is now, and may pass by itself.
    pub(crate) fn may_pass(self) -> bool {
        let about_routes = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::ENETDOWN, libc::EHOSTDOWN];
        self.is_about_room() || about_routes.contains(&self.0)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        nix::errno::Errno::from_raw(self.0).fmt(f)
    }
}

/// Why a message was not delivered, or may not have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The peer restarted, or forgot this host, before it acknowledged the message: it may or may not have
    /// been delivered.
    #[error("the peer restarted; whether the message was delivered is unknown")]
    PeerRestarted,
    /// The peer was silent for too long: the message may or may not have been delivered.
    #[error("the peer does not answer")]
    Unreachable,
    /// This host's kernel refuses every datagram to the peer, for the reason that is given.
    #[error("this host's kernel refuses to send to the peer: {0}")]
    KernelRefuses(Refusal),
    /// The peer runs another version, transport or MTU: nothing was delivered.
    #[error("{0}")]
    Refused(Disagreement),
    /// The peer answers, and has taken nothing of this message for [`crate::Config::progress_timeout`]: it may or may not
    /// have been delivered.
    #[error("the peer answers, but a message to it makes no progress")]
    Stalled,
    /// The peer's address is IPv6 and this endpoint's is IPv4, or the other way round.
    #[error(
        "an endpoint at an IPv4 address sends to IPv4 addresses, and one at an IPv6 address to IPv6 addresses"
    )]
    OtherFamily,
    /// The peer's address is not admitted by this endpoint's own configuration.
    #[error("the peer's address is not admitted by this endpoint")]
    NotAdmitted,
    /// The message is larger than this endpoint allows.
    #[error("{bytes} bytes are more than the {limit} of the largest message")]
    TooLong {
        /// Length in bytes.
        bytes: u64,
        /// Most bytes that a message may have.
        limit: u64,
    },
    /// The endpoint's memory for messages is taken: wait for earlier ones, then try again.
    #[error("no memory is left for another message {scope}")]
    Full {
        /// `of this endpoint`, or `to this peer`.
        scope: &'static str,
    },
    /// All places for peers are taken by peers with something under way.
    #[error("the table of peers is full")]
    TooManyPeers,
    /// The transport gave the message up.
    #[error("the transport gave the message up: {0}")]
    GaveUp(&'static str),
    /// The endpoint was closed.
    #[error("the endpoint is closed")]
    Closed,
    /// The endpoint belongs to another process: nothing was sent.
    #[error(transparent)]
    Forked(#[from] Forked),
}

/// Reason why a call has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The request could not be delivered, or the peer is gone.
    #[error(transparent)]
    Send(#[from] SendError),
    /// No reply came in time.
    #[error("no reply came in time")]
    TimedOut,
}

/// Why nothing can be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecvError {
    /// No message came in time.
    #[error("no message came in time")]
    TimedOut,
    /// The endpoint was closed, or its thread ended because the socket failed.
    #[error("the endpoint is closed")]
    Closed,
    /// The endpoint belongs to another process.
    #[error(transparent)]
    Forked(#[from] Forked),
}
