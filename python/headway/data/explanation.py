"""Results of `headway explain`, as `explain.json` holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.data.claims import Interval, Published, Value
from headway.data.jsonable import Jsonable, plain, table
from headway.data.point import Scalar
from headway.data.units import duration

# Claims reproduced, in direction only, and not.
Counts = tuple[int, int, int]


@dataclass(frozen=True)
class ReadingFound(Jsonable):
    """A reading with its costs."""

    key: str
    text: str
    values: Mapping[str, Scalar]
    degrees: int
    strain: int


@dataclass(frozen=True)
class OutcomeFound(Jsonable):
    """Outcome of a claim."""

    verdict: str
    measured: Value | None
    ci95: Interval | None
    seeds: int
    reason: str


@dataclass(frozen=True)
class BoundFound(Jsonable):
    """The most that any transport could show, and the least that counts as reproduced."""

    gain: float
    wanted: float
    reachable: bool


@dataclass(frozen=True)
class TriedValue(Jsonable):
    """A value of a range, and the verdict on a claim there."""

    value: float
    outcome: OutcomeFound | None

    def document(self) -> dict[str, Any]:
        """One object."""
        return {"value": self.value, **(self.outcome.document() if self.outcome is not None else {})}


@dataclass(frozen=True)
class RegionFound(Jsonable):
    """Part of one range where a claim is reproduced, with the other choices as in `others`."""

    choice: str
    unit: str
    others: str
    holds: tuple[tuple[float, float], ...]
    tried: tuple[TriedValue, ...]
    whatever: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class EffectFound(Jsonable):
    """Effect of a choice on a claim: alone, and over Morris' trajectories its mean effect and their spread."""

    alone: float
    mean: float | None
    spread: float | None


@dataclass(frozen=True)
class ClaimFound(Jsonable):
    """Results for one claim: as stated, under the best reading of all, and under its own smallest one."""

    id: str
    scenario: str
    figure: str
    published: Published
    unit: str
    qualifier: str
    stated: OutcomeFound | None
    best: OutcomeFound | None
    status: str
    text: str
    bound: BoundFound | None
    bound_as_stated: BoundFound | None
    smallest: ReadingFound | None
    regions: tuple[RegionFound, ...]
    effects: Mapping[str, EffectFound]


@dataclass(frozen=True)
class SearchedFigure(Jsonable):
    """A figure of the search, and the short runs that were made of it."""

    scenario: str
    scale: str | None
    seeds: int
    first_seed: int


@dataclass(frozen=True)
class ChoiceFound(Jsonable):
    """A choice that the paper leaves open."""

    id: str
    question: str
    default: Scalar
    values: tuple[Scalar, ...]
    range: tuple[float, float] | None
    scale: str
    unit: str
    natural: str
    place: str
    quotation: str
    joint: bool


@dataclass(frozen=True)
class Step(Jsonable):
    """Number of new readings that a step of the search tried, and of points that were run for it."""

    name: str
    readings: int
    points: int


@dataclass(frozen=True)
class TriedReading(Jsonable):
    """The verdicts under a reading, a letter each: r, d, n, or - where nothing was measured."""

    key: str
    values: Mapping[str, Scalar]
    verdicts: Mapping[str, str]


@dataclass(frozen=True)
class SearchFound(Jsonable):
    """Results of the short runs of a search."""

    figures: tuple[SearchedFigure, ...]
    choices: tuple[ChoiceFound, ...]
    factors: tuple[str, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    readings_tried: int
    best: ReadingFound
    best_brings: tuple[str, ...]
    best_breaks: tuple[str, ...]
    matters: float
    claims: tuple[ClaimFound, ...]
    tried: tuple[TriedReading, ...]


@dataclass(frozen=True)
class HeldFigure(Jsonable):
    """A whole figure, and how many of its claims came out how as stated and under a reading."""

    scenario: str
    searched: bool
    part: str
    scale: str | None
    seeds: int
    stated: Counts
    under: Counts


@dataclass(frozen=True)
class HeldClaim(Jsonable):
    """A claim of a whole figure as stated and under a reading."""

    stated: OutcomeFound | None
    under: OutcomeFound


@dataclass(frozen=True)
class HeldReading(Jsonable):
    """A reading held against whole figures."""

    reading: ReadingFound
    stated: Counts
    under: Counts
    breaks: tuple[str, ...]
    brings: tuple[str, ...]
    figures: tuple[HeldFigure, ...]
    claims: Mapping[str, HeldClaim]


# Keys of a search in JSON between the target and the number of points.
FIRST = ("figures", "choices", "factors", "steps", "notes", "readings_tried")


@dataclass(frozen=True)
class Explanation(Jsonable):
    """The readings of a paper under which its claims come out: the contents of `explain.json`.

    `search` is None where readings were given and nothing was searched. `paper` are the readings that were held
    against whole figures, the best first. `directory` is where it was written.
    """

    target: str
    search: SearchFound | None
    points: int
    wall_s: float
    paper: tuple[HeldReading, ...]
    directory: Path

    @property
    def claims(self) -> tuple[ClaimFound, ...]:
        """Results of the search for each claim."""
        return self.search.claims if self.search is not None else ()

    def document(self) -> dict[str, Any]:
        """Contents of `explain.json`; the parts of a search are keys of their own."""
        found = self.search.document() if self.search is not None else {}
        first = {key: found.pop(key) for key in FIRST if key in found}
        run = {"points": self.points, "wall_s": self.wall_s}
        return {"target": self.target, **first, **run, **found, "paper": plain(self.paper)}

    def __repr__(self) -> str:
        return f"<Explanation of {self.target} in {self.directory}: {self._said()}>"

    def _said(self) -> str:
        statuses = [claim.status for claim in self.claims]
        counted = [f"{statuses.count(one)} {one}" for one in dict.fromkeys(statuses)]
        counted += [f"{len(self.paper)} readings held against whole figures"] if self.paper else []
        return ", ".join([*counted, f"{self.points} points in {duration(self.wall_s)}"])

    def _repr_html_(self) -> str:
        claims = [(one.status, one.id, one.text) for one in self.claims]
        held = [(one.reading.text, _three(one.stated), _three(one.under)) for one in self.paper]
        parts = [table(("what was found", "claim", ""), claims, f"{self.target}: {self._said()}")]
        parts += [table(("reading", "as stated", "under it"), held)] if held else []
        return "".join(parts)


def _three(counts: Counts) -> str:
    return "/".join(map(str, counts))
