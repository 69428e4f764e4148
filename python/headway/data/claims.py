"""Claims as results hold them: judged by runs (`claims.json`), on record, and listed."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from headway.data.jsonable import SPARE, Jsonable
from headway.data.reader import read_list

Value: TypeAlias = float | list[float] | dict[str, float]
Ends: TypeAlias = tuple[float, float]
Interval: TypeAlias = Ends | list[Ends] | dict[str, Ends]
Published: TypeAlias = float | str | list[float] | list[str]

OUTDATED = "outdated"
# Verdicts on claims that no run can confirm.
CONTRADICTS = "contradicts itself"
CANNOT = "unreachable as set up"


class Verdict(enum.StrEnum):
    """Verdict on a claim."""

    REPRODUCED = "reproduced"
    DIRECTION_ONLY = "direction-only"
    NOT_REPRODUCED = "not-reproduced"
    PENDING = "pending"


@dataclass(frozen=True)
class JudgedClaim(Jsonable):
    """A claim with the results of its runs: an entry of `claims.json`, or of `expectations.json`.

    `ci95` are the ends of the 95 % confidence interval of `measured` over `seeds`. `range` are the smallest and the
    largest of repeated measurements. `beside` is the same measure on other variants and at other values of the axes.
    `scale` says how much of the scenario was run; None is all of it. `variants` are those that the claim is about, and
    `why` says why it is not reproduced, with the reading under which it is.
    """

    id: str
    place: tuple[str, ...]
    metric: str
    published: Published | None
    measured: Value | None
    ci95: Interval | None
    seeds: int
    verdict: str
    reason: str
    unit: str
    qualifier: str
    figure: str
    scenario: str
    how: str
    scale: str | None
    range: Interval | None = field(default=None, metadata=SPARE)
    beside: Mapping[str, float | None] = field(default_factory=dict, metadata=SPARE)
    variants: tuple[str, ...] = field(default=(), metadata=SPARE)
    why: str = field(default="", metadata=SPARE)

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> JudgedClaim:
        """Read an entry of a file; fields that an earlier version did not write are empty."""
        place = entry.get("place")
        return cls(
            id=str(entry.get("id", "")),
            place=tuple(map(str, place)) if isinstance(place, list) else (),
            metric=str(entry.get("metric") or ""),
            published=entry.get("published"),
            measured=entry.get("measured"),
            ci95=entry.get("ci95"),
            seeds=entry.get("seeds") or 0,
            verdict=str(entry.get("verdict") or Verdict.PENDING),
            reason=str(entry.get("reason") or ""),
            unit=str(entry.get("unit") or ""),
            qualifier=str(entry.get("qualifier") or ""),
            figure=str(entry.get("figure") or ""),
            scenario=str(entry.get("scenario") or ""),
            how=str(entry.get("how") or ""),
            scale=entry.get("scale"),
            range=entry.get("range"),
            beside=entry.get("beside") or {},
            variants=tuple(map(str, entry.get("variants") or ())),
            why=str(entry.get("why") or ""),
        )


def read_claims(path: Path) -> tuple[JudgedClaim, ...]:
    """The claims of `claims.json` or `expectations.json`; raises `ResultsError` where a file is missing or damaged."""
    return tuple(map(JudgedClaim.read, read_list(path, path.stem)))


@dataclass(frozen=True)
class Recorded:
    """The verdict on record about a claim, and the command that measures it."""

    verdict: str
    measured: Value | None
    ci95: Interval | None
    seeds: int | None
    scale: str | None
    reason: str | None
    command: str


@dataclass(frozen=True)
class RealClaim(Jsonable):
    """The testbed's record about a claim: the median of repetitions on real packets, and how it was run.

    `late_s` is how late 99 % of the frames were at most in the worst run, `other_work` how many processors other
    programs used.
    """

    arm: str
    verdict: str
    measured: Value | None
    range: Interval | None
    reason: str
    repetitions: int
    scale: str | None
    runs: str
    slowdown: int | None
    machine: Any
    other_work: float
    late_s: float
    command: str


@dataclass(frozen=True)
class UnderReading:
    """Result of the reading on record for a claim, and the words for it; empty if none is on record."""

    verdict: str | None = None
    measured: Value | None = None
    values: Mapping[str, Any] | None = None
    text: str = ""
    word: str = ""


@dataclass(frozen=True)
class ListedClaim(Jsonable):
    """A claim as `headway list claims` has it.

    The facts are the ledger's. `verdict` says whether it comes out, or why it cannot, and `judged` what the runs alone
    gave. What begins with `reading` is what the reading on record gives, `testbed` what real packets gave.
    """

    id: str
    figure: str
    place: tuple[str, ...]
    metric: str
    published: Published
    unit: str
    qualifier: str
    scenario: str
    how: str
    verdict: str
    measured: Value | None
    ci95: Interval | None
    seeds: int | None
    scale: str | None
    reason: str | None
    command: str
    reading_verdict: str | None
    reading_measured: Value | None
    reading_values: Mapping[str, Any] | None
    reading: str
    reading_word: str
    judged: str
    testbed: RealClaim | None

    @property
    def cannot(self) -> bool:
        """True if the verdict is that nothing can make the claim hold."""
        return self.verdict in (CONTRADICTS, CANNOT)

    def because(self, verdict: str, reason: str) -> ListedClaim:
        """The claim with a verdict that says why it cannot come out."""
        return replace(self, verdict=verdict, reason=reason)
