"""A paper at a glance, for a reviewer: how many claims came out, how far off the others are, what cannot
come out and why, and the reading, once."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.units import plain

from .claims import ClaimRow

COUNTED = ("reproduced", "direction-only", "not-reproduced", "pending")
# As many deviations, and as many claims that cannot come out, as one screen bears.
MOST = 5


@dataclass(frozen=True)
class Tally:
    """Number of claims by verdict, in the order of COUNTED."""

    name: str
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Deviation:
    """A claim whose measured number is far from the published one."""

    row: ClaimRow
    ratio: float

    @property
    def text(self) -> str:
        """Distance in words."""
        return "of the other sign" if self.ratio <= 0 else f"{plain(self.ratio, 2)} × published"


@dataclass(frozen=True)
class Chosen:
    """Value that the reading gives one choice."""

    id: str
    value: str
    stated: str
    question: str
    evidence: str


@dataclass(frozen=True)
class Summary:
    """One paper on one screen."""

    tallies: tuple[Tally, ...]
    chosen: tuple[Chosen, ...]
    otherwise: int
    deviations: tuple[Deviation, ...]
    cannot: tuple[ClaimRow, ...]

    @property
    def shown(self) -> tuple[ClaimRow, ...]:
        """The claims that cannot come out, one a reason, as far as there is room."""
        one = {row.reason.partition(": ")[2] or row.reason: row for row in self.cannot}
        return tuple(one.values())[:MOST]


def summary_of(
    rows: Sequence[ClaimRow], values: Sequence[Mapping[str, Any] | None], chosen: Callable[[str, Any], Chosen]
) -> Summary:
    """The summary of a paper's claims; `values` are those of each claim's reading on record, and
    `chosen` puts one of them into words.
    """
    readings = Counter(json.dumps(one) for one in values if one)
    common = json.loads(readings.most_common(1)[0][0]) if readings else {}
    tallies = [_tally("as stated", [row.judged for row in rows])]
    if common:
        tallies.append(_tally("under the reading", [row.under or row.judged for row in rows]))
    if real := [row.testbed.verdict for row in rows if row.testbed is not None]:
        tallies.append(_tally("on real packets", real))
    return Summary(
        tuple(tallies),
        tuple(chosen(name, value) for name, value in common.items()),
        readings.total() - readings[json.dumps(common)] if common else 0,
        tuple(_deviations(rows)[:MOST]),
        tuple(row for row in rows if row.verdict != row.judged),
    )


def _tally(name: str, verdicts: Sequence[str]) -> Tally:
    counted = Counter(verdicts)
    return Tally(name, tuple((verdict, counted[verdict]) for verdict in COUNTED))


def _deviations(rows: Sequence[ClaimRow]) -> list[Deviation]:
    """The claims with numbers that are not reproduced and could be, the farthest first."""
    found = [
        Deviation(row, max((a.ratio for a in row.agreement), key=_distance))
        for row in rows
        if row.verdict in ("not-reproduced", "direction-only") and row.agreement
    ]
    return sorted(found, key=lambda one: -_distance(one.ratio))


def _distance(ratio: float) -> float:
    return math.inf if ratio <= 0 else abs(math.log(ratio))
