"""Errors between hosts, by type; docs/real-hosts.md says what to do about each."""

from __future__ import annotations

import sys

from headway import _headway
from headway._headway import HeadwayError
from headway.errors import FeatureMissing


class HostError(HeadwayError):
    """Something that went wrong with an endpoint or a message of it."""


class SettingError(HostError, ValueError):
    """A setting has an unknown name, or its value is out of its range; the text says what would be right."""


class BindError(HostError, OSError):
    """The endpoint cannot be bound: other hosts can reach the address, and neither `allow` nor `key_file` says which of
    them are admitted; or the operating system refuses it."""


class TimedOut(HostError, TimeoutError):
    """No message or reply came in time, or a message was not acknowledged by then."""


class PeerRestarted(HostError):
    """The peer is a new process: whether the message was delivered is unknown."""


class Unreachable(HostError):
    """No datagram came from the peer for `peer_timeout`: whether the message was delivered is unknown."""


class KernelRefuses(HostError):
    """This host's kernel refuses every datagram to the peer; the text has its reason, such as EPERM of a firewall."""


class Refused(HostError):
    """The peer runs another version, transport or MTU: nothing was delivered."""


class Stalled(HostError):
    """The peer answers, and takes nothing of the message: whether it was delivered is unknown."""


class NotAdmitted(HostError):
    """The peer is outside this endpoint's own `allow`."""


class TooLong(HostError):
    """The message is longer than this endpoint's `message_bytes`."""


class Full(HostError):
    """The endpoint's memory for messages is taken: wait for earlier ones, or raise `total_bytes` or `peer_bytes`."""


class TooManyPeers(HostError):
    """All places for peers are taken by peers with something under way: `peers`."""


class GaveUp(HostError):
    """The transport gave the message up."""


class Closed(HostError):
    """The endpoint is closed, or its socket failed."""


class Forked(HostError):
    """The endpoint belongs to the process that bound it, from which this one was forked: nothing was sent."""


_ALL = (
    SettingError,
    BindError,
    TimedOut,
    PeerRestarted,
    Unreachable,
    KernelRefuses,
    Refused,
    Stalled,
    NotAdmitted,
    TooLong,
    Full,
    TooManyPeers,
    GaveUp,
    Closed,
    Forked,
)

if not hasattr(_headway, "HostEndpoint"):
    if sys.platform.startswith("linux"):
        raise FeatureMissing("headway.endpoints", "the feature `hosts` of the native module")
    raise ImportError("headway.endpoints is for Linux: real hosts need its sockets, timers and epoll")

_headway.set_host_errors({error.__name__: error for error in _ALL})
