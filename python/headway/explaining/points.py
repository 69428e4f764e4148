"""Runs figures under readings: a sweep whose points are those of the figure, once for each reading."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from headway.claims.choices import Choices, Reading
from headway.claims.ledger import Claim
from headway.data.point import Point
from headway.data.run import Run
from headway.layout import AS_STATED, POINTS
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.sweeps.plan import Job, SweepPlan, folder_name

# The axis that says of which reading a run is.
READING = "reading"
# Names of folders stay shorter than file systems allow.
LONGEST = 120
# The scale of short runs, where a scenario declares it.
PROXY = "proxy"
SMOKE = "smoke"
# The scale of whole figures.
PAPER_SCALE = "paper"

Place = tuple[str, str]


@dataclass(frozen=True)
class Figure:
    """A scenario with its claims, at a scale, with a number of seeds."""

    file: ScenarioFile
    claims: tuple[Claim, ...]
    scale: str | None
    seeds: int
    first_seed: int

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.file.name

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario at that scale."""
        return Scenario.load(self.file.path, sets=self.sets, scale=self.scale)

    @property
    def sets(self) -> tuple[str, ...]:
        """Overrides of every point."""
        return (f"seed={self.first_seed}", f"sweep.seeds={self.seeds}")

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Points that it runs as stated."""
        return tuple(self.scenario.points())


def scale_for_search(document: Mapping[str, Any]) -> str | None:
    """The scale of the short runs that a search is made of: `proxy`, else `smoke`, else the whole."""
    scales = document.get("scale", {})
    return PROXY if PROXY in scales else SMOKE if SMOKE in scales else None


def place(point: Point) -> Place:
    """Place of a point in its sweep, without its seed and its reading."""
    axes = {key: value for key, value in point.axes.items() if key != READING}
    return point.variant, json.dumps(axes, sort_keys=True)


def seen_by(claim: Claim, figure: Figure) -> list[Point]:
    """The points that a claim's measure may need, by the variants and the axes that it names."""
    measure = claim.measure
    if measure is None:
        return []
    elsewhere = any("at(" in text for text in measure.spelt_out())
    fixed = {} if elsewhere else claim.at or {}
    variants = dict.fromkeys(point.variant for point in figure.points)
    named = {variant for variant in variants if variant == claim.variant or measure.quotes(variant)}
    return [
        point
        for point in figure.points
        if (not named or point.variant in named)
        and all(point.axes.get(key, value) == value for key, value in fixed.items())
    ]


def looked_at(figure: Figure) -> list[Point]:
    """The points that some claim of a figure may need."""
    seen = {id(point) for claim in figure.claims for point in seen_by(claim, figure)}
    return [point for point in figure.points if id(point) in seen]


def restricted(reading: Reading, choices: Choices, scenario: str) -> Reading:
    """The part of a reading that a scenario has a part in."""
    return Reading(tuple((name, value) for name, value in reading.values if choices[name].in_scope(scenario)))


def plan_readings(
    figure: Figure, choices: Choices, readings: Sequence[Reading], out: Path, wanted: frozenset[Place] | None
) -> SweepPlan:
    """The points of a figure under each reading; with `wanted`, only the points at these places."""
    jobs = []
    for reading in readings:
        for point in figure.points:
            if wanted is not None and place(point) not in wanted:
                continue
            jobs.append(job_of(figure, choices, reading, point, out))
    return SweepPlan(figure.file, figure.scenario.resolved, out, tuple(jobs))


def job_of(figure: Figure, choices: Choices, reading: Reading, point: Point, out: Path) -> Job:
    """A point of a figure under a reading."""
    loaded = figure.scenario.at(point)
    sets = choices.sets(reading, figure.name, loaded)
    if sets:
        loaded = figure.scenario.at(replace(point, sets=(*point.sets, *sets)))
    label = point.label if not reading.values else f"{point.label} @ {reading.key}"
    changed = replace(
        point,
        label=label,
        axes={**point.axes, READING: reading.key},
        sets=(*figure.sets, *point.sets, *sets),
    )
    return Job(
        point=changed,
        digest=loaded.digest,
        scenario=str(figure.file.path.resolve()),
        scale=figure.scale,
        memory_bytes=int(loaded.estimate["memory_bytes"]),
        directory=out / POINTS / _folder(label),
    )


def _folder(label: str) -> str:
    name = folder_name(label)
    if len(name) <= LONGEST:
        return name
    return f"{name[:LONGEST]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"


@dataclass
class Trace:
    """Points that a claim's measure has looked at."""

    seen: set[Place] = field(default_factory=set)

    def watch(self, points: Iterable[Point]) -> list[Point]:
        """The points, watched."""
        return [_Watched.of(point, self) for point in points]


@dataclass(frozen=True)
class _Watched(Point):
    """A point that tells when its run is looked at."""

    trace: Trace | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, point: Point, trace: Trace) -> _Watched:
        own = {one.name: getattr(point, one.name) for one in fields(point)}
        return cls(**own, trace=trace)

    @property
    def run(self) -> Run:
        if self.trace is not None:
            self.trace.seen.add(place(self))
        return super().run


def by_reading(points: Iterable[Point]) -> dict[str, list[Point]]:
    """The runs of each reading, without the axis that says which."""
    found: dict[str, list[Point]] = {}
    for point in points:
        axes = {key: value for key, value in point.axes.items() if key != READING}
        found.setdefault(point.axes.get(READING, AS_STATED), []).append(replace(point, axes=axes))
    return found
