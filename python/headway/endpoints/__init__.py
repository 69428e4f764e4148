"""Messages between real hosts over UDP, with the transports of the simulator. Linux only.

>>> from headway.endpoints import Endpoint
>>> async with Endpoint.bind("10.0.0.2:18519", allow=["10.0.0.0/8"]) as endpoint:
...     reply = await endpoint.call("10.0.0.3:18519", b"request")

A message arrives completely and once, or its sender gets an error. `BlockingEndpoint` is for threads, and has the
shortest calls. docs/python-hosts.md is the guide.

`headway.hosts(...)` is something else: the table `[hosts]` of a scenario.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.endpoints.blocking import BlockingEndpoint, BlockingMessage
    from headway.endpoints.errors import (
        BindError,
        Closed,
        Forked,
        Full,
        GaveUp,
        HostError,
        KernelRefuses,
        NotAdmitted,
        PeerRestarted,
        Refused,
        SettingError,
        Stalled,
        TimedOut,
        TooLong,
        TooManyPeers,
        Unreachable,
    )
    from headway.endpoints.settings import Parameter, Peer, Settings
    from headway.endpoints.tasks import Endpoint, Message

__all__ = [
    "BindError",
    "BlockingEndpoint",
    "BlockingMessage",
    "Closed",
    "Endpoint",
    "Forked",
    "Full",
    "GaveUp",
    "HostError",
    "KernelRefuses",
    "Message",
    "NotAdmitted",
    "Parameter",
    "Peer",
    "PeerRestarted",
    "Refused",
    "SettingError",
    "Settings",
    "Stalled",
    "TimedOut",
    "TooLong",
    "TooManyPeers",
    "Unreachable",
]

# A program that only simulates does not load asyncio, and systems other than Linux have no endpoints.
_FILES = ("errors", "settings", "blocking", "tasks")


def __getattr__(name: str) -> object:
    if name in __all__:
        for file in _FILES:
            module = importlib.import_module(f"headway.endpoints.{file}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
