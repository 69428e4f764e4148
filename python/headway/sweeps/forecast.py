"""How long a sweep will take on this machine, and how much disk.

A run takes its expected packet-hops times the seconds that one takes here, and what comes on top of the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from headway import store
from headway.data.units import size, wait
from headway.scenario import Scenario
from headway.sweeps.pace import GUESS, known, pace, transport_of
from headway.sweeps.plan import Job
from headway.sweeps.run import worker_count

T = TypeVar("T")

# Runs of a sweep whose packet-hops are computed; the others are taken to be like their neighbours.
LOOKED_AT = 100
# More do not run side by side on one machine.
MOST_WORKERS = 1024


@dataclass(frozen=True)
class Forecast:
    """What is to be run, and what it will take here."""

    points: int
    finished: int
    stored: int
    seconds: float
    bytes: float
    measured: bool

    @property
    def to_run(self) -> int:
        """Points that neither a directory nor the store holds."""
        return self.points - self.finished - self.stored

    def __add__(self, other: Forecast) -> Forecast:
        return Forecast(
            self.points + other.points,
            self.finished + other.finished,
            self.stored + other.stored,
            self.seconds + other.seconds,
            self.bytes + other.bytes,
            self.measured and other.measured,
        )

    def text(self) -> str:
        """In a sentence."""
        parts = [f"{self.points} points"]
        if self.finished:
            parts.append(f"{self.finished} of them finished")
        if self.stored:
            parts.append(f"{self.stored} in the store")
        parts.append(f"{self.to_run} to run")
        if not self.to_run:
            return ", ".join(parts)
        return f"{', '.join(parts)}: {self.costs()}"

    def costs(self) -> str:
        """What it takes, in words."""
        guess = "" if self.measured else " (a guess: nothing like it was run here before)"
        return f"about {wait(self.seconds)} here and {size(self.bytes)} of disk{guess}"


NOTHING = Forecast(0, 0, 0, 0.0, 0.0, measured=True)


def forecast(points: Sequence[Job], name: str, jobs: int | None) -> Forecast:
    """What the points of a sweep of the scenario `name` will take, on as many cores as `jobs` says."""
    finished = [point for point in points if point.is_finished]
    ended = {point.label for point in finished}
    stored = [point for point in points if point.label not in ended and store.has(point.digest)]
    ended |= {point.label for point in stored}
    todo = [point for point in points if point.label not in ended]
    if not todo:
        return Forecast(len(points), len(finished), len(stored), 0.0, 0.0, measured=True)
    workers = worker_count(jobs, todo)
    seconds, size_of, measured = _each(spread(todo, LOOKED_AT), name)
    return Forecast(
        len(points),
        len(finished),
        len(stored),
        seconds * len(todo) / workers,
        size_of * len(todo),
        measured=measured,
    )


def at_most(like: Sequence[Job], count: int, name: str, jobs: int | None) -> Forecast:
    """What so many runs like these take, as if none of them were finished or in the store."""
    if not like or not count:
        return NOTHING
    side_by_side = (list(like) * (1 + MOST_WORKERS // len(like)))[: min(count, MOST_WORKERS)]
    seconds, size_of, measured = _each(like, name)
    return Forecast(count, 0, 0, seconds * count / worker_count(jobs, side_by_side), size_of * count, measured=measured)


def _each(points: Sequence[Job], name: str) -> tuple[float, float, bool]:
    """Seconds and bytes that a run takes, in the mean of these, and whether they are known from runs here."""
    paces = known()
    seconds = size_of = 0.0
    measured = True
    for point in points:
        transport, hops = _expected(point)
        cost = pace(paces, name, transport)
        measured = measured and cost is not None
        cost = cost or GUESS
        seconds += hops * cost.hop_s + cost.extra_s
        size_of += cost.bytes
    return seconds / len(points), size_of / len(points), measured


def spread(things: Sequence[T], most: int) -> list[T]:
    """At most so many of some things, evenly over their list."""
    if len(things) <= most:
        return list(things)
    return [things[i * len(things) // most] for i in range(most)]


def _expected(point: Job) -> tuple[str, int]:
    """The transport of a point and the packet-hops that it should count."""
    scenario = Scenario.load(point.scenario, sets=point.point.sets, scale=point.scale)
    return transport_of(scenario), scenario.native.expected_hops()
