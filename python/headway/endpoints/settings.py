"""Settings of an endpoint when it is bound."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

Peer = str | tuple[str, int]
"""An address such as "10.0.0.2:18519", or a pair such as ("10.0.0.2", 18519). Names are not looked up."""

Parameter = bool | int | float | str
"""A parameter of a transport or of a port discipline; times and rates are texts such as "40 us"."""


class Settings(TypedDict, total=False):
    """Settings of an endpoint; those that are left out have the defaults of `headway-host`.

    Rates are texts such as "25 Gbps", and durations such as "200 us". Sizes are bytes, or texts such as "64 MB".
    """

    transport: str
    """Name of the transport; both ends must have the same. "amrt" if left out."""
    transport_params: Mapping[str, Parameter]
    """Parameters of the transport that differ from their defaults."""
    discipline: str
    """Port discipline of this host's own link, instead of the transport's usual one."""
    discipline_params: Mapping[str, Parameter]
    """Parameters of the discipline that differ from their defaults."""
    allow: Sequence[str]
    """Networks, such as "10.0.0.0/8", whose hosts may exchange messages with this endpoint. Nothing is encrypted."""
    key_file: str | os.PathLike[str]
    """File with the key that all hosts share. With neither this nor `allow`, only this machine reaches the endpoint."""
    other_key_file: str | os.PathLike[str]
    """File with another key that a host may have instead, while keys change. Needs `key_file`."""
    renew_datagrams: int
    """Datagrams that are sealed with one generation of keys, from 1 to 2^31."""
    renew_after: str
    """Time for which one generation of keys seals; at least `renew_late`."""
    renew_late: str
    """Time for which keys of before a renewal are kept for late datagrams, from 1 us to 1000 s."""
    trace_file: str | os.PathLike[str]
    """File that what happens to messages is written to, as qlog; `headway report FILE` draws it."""
    rate: str
    """Rate of this host's link, instead of the one that the kernel reports."""
    mtu: int
    """Largest IP packet on every path, in bytes; both ends must have the same. 1500 if left out."""
    round_trip: str
    """Base round trip of every path: "measured", or a duration that is taken instead."""
    max_round_trip: str
    """Longest round trip when nothing is lost, which sizes time-outs."""
    bottleneck: str
    """Rate of the slowest link of every path, if it is slower than this host's."""
    clock: str
    """"machine": the monotonic clock of this machine, for transports whose hosts count rounds of time together."""
    telemetry: bool
    """Whether switches on every path write stamps into packets (in-band telemetry), for transports that need it."""
    addresses: Sequence[str]
    """More addresses of this host, such as "10.0.1.2", each with a socket and a path of its own."""
    follow_interfaces: bool
    """True if addresses go when their interfaces lose them, and come back with them."""
    path_timeout: str
    """Silence of a path after which others take its place."""
    total_bytes: int | str
    """Most memory that all messages take."""
    peer_bytes: int | str
    """Most memory that messages to and from one peer take."""
    message_bytes: int | str
    """Longest message that is sent or accepted."""
    peer_messages: int
    """Messages under way at a time to one peer, and from one peer."""
    peers: int
    """Peers that are remembered."""
    peer_timeout: str
    """Silence after which a peer counts as unreachable."""
    progress_timeout: str
    """Time for which a message may be without progress while its peer answers."""
    call_timeout: str
    """Longest wait of a call for its reply, where the call does not say."""
    spin: str
    """Time for which a waiting thread polls for datagrams before it sleeps."""


def texts(settings: Settings) -> list[tuple[str, str]]:
    """Settings as the native module takes them."""
    found: list[tuple[str, str]] = []
    for name, value in settings.items():
        if name in ("transport_params", "discipline_params") and isinstance(value, Mapping):
            of = name.removesuffix("_params")
            found += [(f"{of}.{key}", text(parameter)) for key, parameter in value.items()]
        elif name in ("allow", "addresses") and not isinstance(value, str) and isinstance(value, Sequence):
            found.append((name, ", ".join(value)))
        else:
            found.append((name, os.fspath(value) if isinstance(value, os.PathLike) else text(value)))
    return found


def text(value: object) -> str:
    """A value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
