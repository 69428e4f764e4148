"""Packets of a run, one entry for each link that a packet crossed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Kinds of packets, in the order of a legend.
WHATS = ("data", "data, met only gaps", "data, marked congested", "data, sent again", "header of trimmed data",
         "permission", "answer", "announcement")  # fmt: skip


@dataclass(frozen=True)
class Link:
    """A link and direction: where it begins and ends, its rate, and its delay in seconds."""

    a: str
    b: str
    rate_bps: float
    delay_s: float


@dataclass(frozen=True)
class Tape:
    """Packets on links, in the order in which they start; times are in nanoseconds.

    `waited` is how long a packet waited at the port of its link; `lost` says that it is nowhere after this link.
    """

    links: tuple[Link, ...]
    flows: tuple[str, ...]
    starts_s: tuple[float, ...]
    start: tuple[int, ...]
    link: tuple[int, ...]
    wire_bytes: tuple[int, ...]
    what: tuple[int, ...]
    flow: tuple[int, ...]
    waited: tuple[int, ...]
    lost: tuple[int, ...]
    topology: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.start)
