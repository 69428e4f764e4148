"""Forecast of a sweep's time and disk space on this machine.

A run takes its expected packet-hops times the processor time that one takes here, and what comes on top of the
simulation. To the runs come the start of the processes that make them and, of a figure, judging its claims and drawing
its report. By the clock all of it takes longer where other work shares the processors, as it does now.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from headway import store
from headway.data.machine import cores
from headway.data.units import quantity, size, wait
from headway.loading import Scenario
from headway.sweeps.capacity import worker_count
from headway.sweeps.contention import contention
from headway.sweeps.pace import Span, after_expected, known, run_expected, start_expected, transport_of
from headway.sweeps.plan import Job

T = TypeVar("T")

# Runs of a sweep whose packet-hops are computed; the others are taken to be like their neighbours.
LOOKED_AT = 100
# More do not run side by side on one machine.
MOST_WORKERS = 1024
NO_TIME = Span(0.0, 0.0, 0.0)
HERE = "here"


@dataclass(frozen=True)
class Forecast:
    """Runs to come, and their cost here; `guessed` counts the points whose like was never run here."""

    points: int
    finished: int
    stored: int
    span: Span
    bytes: float
    guessed: int
    where: str = HERE
    memory_bytes: int = 0

    @property
    def to_run(self) -> int:
        """Points that neither a directory nor the store holds."""
        return self.points - self.finished - self.stored

    @property
    def seconds(self) -> float:
        """Likely duration in seconds."""
        return self.span.likely

    @property
    def measured(self) -> bool:
        """True if all of it is known from runs on this machine."""
        return not self.guessed

    def __add__(self, other: Forecast) -> Forecast:
        return Forecast(
            self.points + other.points,
            self.finished + other.finished,
            self.stored + other.stored,
            self.span.plus(other.span),
            self.bytes + other.bytes,
            self.guessed + other.guessed,
            self.where if self.points else other.where,
            max(self.memory_bytes, other.memory_bytes),
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
        """Cost in words."""
        memory = f", {size(self.memory_bytes)} of memory" if self.memory_bytes else ""
        text = f"about {wait(self.seconds)} {self.where}{memory} and {size(self.bytes)} of disk"
        return text if self.measured else f"{text} ({self._doubt()})"

    def _doubt(self) -> str:
        """Uncertainty of the forecast, with its reason."""
        which = "nothing" if self.guessed == self.to_run else f"of {self.guessed} points nothing"
        ends = f"between {wait(self.span.low)} and {wait(self.span.high)}"
        return f"a guess, {ends}: {which} like it was run here before"


NOTHING = Forecast(0, 0, 0, NO_TIME, 0.0, 0)


@dataclass(frozen=True)
class Cost:
    """Cost of one run that is not made yet."""

    seconds: float
    text: str  # with its packet-hops


def expected_cost(name: str, scenario: Scenario) -> Cost:
    """Time of a run of a scenario on this machine, as busy as it is now."""
    hops = float(scenario.native.expected_hops())
    expected = run_expected(known(), name, transport_of(scenario), hops)
    low, likely, high = expected.seconds.times(contention(1))
    doubt = "" if expected.measured else f" (a guess, between {wait(low)} and {wait(high)})"
    return Cost(likely, f"{quantity(hops)} packet-hops, about {wait(likely)} here{doubt}")


def forecast(
    points: Sequence[Job], name: str, jobs: int | None, *, judged: bool = False, remote: int | None = None
) -> Forecast:
    """Cost of the points of a sweep of the scenario `name`, on as many cores as `jobs` says.

    `judged` adds what judging all of them and drawing their report takes. With `remote`, so many run at once on other
    machines, which are taken to be like this one and free.
    """
    paces = known()
    after = after_expected(paces, name).seconds.times(contention(1) * len(points)) if judged else NO_TIME
    finished = [point for point in points if point.is_finished]
    ended = {point.label for point in finished}
    stored = [point for point in points if point.label not in ended and store.has(point.digest)]
    ended |= {point.label for point in stored}
    todo = [point for point in points if point.label not in ended]
    if not todo:
        return Forecast(len(points), len(finished), len(stored), after, 0.0, 0)
    looked_at = spread(todo, LOOKED_AT)
    expected = [run_expected(paces, name, *_expected(point)) for point in looked_at]
    share = len(todo) / len(looked_at)
    workers = min(worker_count(jobs, todo), cores()) if remote is None else remote
    runs = Span(*(_together(one, share, workers) for one in zip(*(run.seconds for run in expected), strict=True)))
    return Forecast(
        len(points),
        len(finished),
        len(stored),
        start_expected(paces).seconds.plus(runs).times(contention(workers) if remote is None else 1.0).plus(after),
        share * sum(run.bytes for run in expected),
        round(share * sum(not run.measured for run in expected)),
        _where(remote),
        sum(heapq.nlargest(workers, (point.memory_bytes for point in todo))),
    )


def _where(remote: int | None) -> str:
    return HERE if remote is None else f"on {remote} workers"


def _together(seconds: Sequence[float], share: float, workers: int) -> float:
    """Duration of runs that workers take one by one in their order, each of them standing for `share` of its like."""
    if share > 1.0:
        return max(max(seconds), share * sum(seconds) / workers)
    free = [0.0] * workers
    for took in seconds:
        heapq.heapreplace(free, free[0] + took)
    return max(free)


def at_most(like: Sequence[Job], count: int, name: str, jobs: int | None, *, remote: int | None = None) -> Forecast:
    """Cost of so many runs like these, as if none of them were finished or in the store."""
    if not like or not count:
        return NOTHING
    paces = known()
    side_by_side = (list(like) * (1 + MOST_WORKERS // len(like)))[: min(count, MOST_WORKERS)]
    expected = [run_expected(paces, name, *_expected(point)) for point in like]
    share = count / len(like)
    workers = min(worker_count(jobs, side_by_side), cores()) if remote is None else min(remote, count)
    runs = Span(*(share * sum(one) / workers for one in zip(*(run.seconds for run in expected), strict=True)))
    size_of = share * sum(run.bytes for run in expected)
    guessed = round(share * sum(not run.measured for run in expected))
    seconds = start_expected(paces).seconds.plus(runs).times(contention(workers) if remote is None else 1.0)
    return Forecast(count, 0, 0, seconds, size_of, guessed, _where(remote))


def spread(things: Sequence[T], most: int) -> list[T]:
    """At most so many of some things, evenly over their list."""
    if len(things) <= most:
        return list(things)
    return [things[i * len(things) // most] for i in range(most)]


def _expected(point: Job) -> tuple[str, int, int]:
    """The transport of a point, the packet-hops that it should count, and the bytes of its files by their rows."""
    scenario = point.load()
    native = scenario.native
    return transport_of(scenario), native.expected_hops(), native.expected_file_bytes()
