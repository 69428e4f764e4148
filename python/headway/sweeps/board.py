"""State of every point of a running sweep, with its observers. Executors report to it; it keeps the list of points."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headway.data.reader import glance
from headway.layout import MANIFEST_FILE
from headway.sweeps.plan import Job, State, SweepPlan
from headway.sweeps.worker import Elsewhere, Failed, Finished

# The list of points is written at most so often, and takes at most this share of the time.
RECORD_S = 1.0
RECORD_SHARE = 0.02


class Observer(Protocol):
    """Observer of a sweep's progress."""

    def planned(self, total: int, done: int, notes: list[str]) -> None:
        """The sweep begins; `done` of `total` points are there already."""

    def noted(self, text: str) -> None:
        """Something is worth telling that is about no single point."""

    def progressed(self, label: str, state: dict[str, Any] | None) -> None:
        """A point began (None) or advanced."""

    def finished(self, point: Job, result: Finished) -> None:
        """A point ended, or was stopped."""

    def failed(self, point: Job, error: str) -> None:
        """A point could not be run."""

    def lost(self, label: str) -> None:
        """The process that was running a point is gone; the point is run again."""

    def waiting(self, points: Sequence[Job]) -> None:
        """All points are done or failed but these, which other processes are running."""

    def elsewhere(self, point: Job) -> None:
        """Another process finished a point."""


class Silent:
    """An observer that wants to know nothing."""

    def planned(self, total: int, done: int, notes: list[str]) -> None: ...
    def noted(self, text: str) -> None: ...
    def progressed(self, label: str, state: dict[str, Any] | None) -> None: ...
    def finished(self, point: Job, result: Finished) -> None: ...
    def failed(self, point: Job, error: str) -> None: ...
    def lost(self, label: str) -> None: ...
    def waiting(self, points: Sequence[Job]) -> None: ...
    def elsewhere(self, point: Job) -> None: ...


@dataclass
class SweepOutcome:
    """State of every point at the end.

    `others` are the points of other shards: this command neither ran nor awaited them.
    """

    plan: SweepPlan
    states: dict[str, State]
    errors: dict[str, str] = field(default_factory=dict)
    reused: int = 0
    elsewhere: int = 0
    stored: int = 0
    others: Collection[str] = ()

    @property
    def interrupted(self) -> bool:
        """True if the sweep was stopped before it was through."""
        stopped = (State.INTERRUPTED, State.PENDING)
        return any(s in stopped for label, s in self.states.items() if label not in self.others)

    @property
    def left(self) -> int:
        """Number of points of other shards that are not finished, without a check of their files."""
        return sum(1 for point in self.plan.points if point.label in self.others and not point.is_finished)

    def count(self, state: State) -> int:
        """Number of points in `state`."""
        return sum(1 for s in self.states.values() if s is state)


class Board:
    """The states of a sweep's points while it runs."""

    def __init__(
        self, outcome: SweepOutcome, points: Iterable[Job], observer: Observer, stop_requested: Callable[[], bool]
    ) -> None:
        self.outcome = outcome
        self.observer = observer
        self.stop_requested = stop_requested
        self._points = {point.label: point for point in points}
        self._record_from = 0.0

    @property
    def plan(self) -> SweepPlan:
        """Plan that is run."""
        return self.outcome.plan

    def pending(self) -> list[Job]:
        """The points that this command is to run and that are neither done nor failed."""
        return [point for point in self._points.values() if self.is_pending(point)]

    def is_pending(self, point: Job) -> bool:
        """True if nothing has come of a point yet."""
        return self.outcome.states[point.label] is State.PENDING

    def of(self, label: str) -> Job | None:
        """The point of that label, if this command is to run it."""
        return self._points.get(label)

    def end(self, point: Job, result: Finished | Elsewhere | Failed) -> None:
        """Note how a point ended. A point that another process is running now stays pending."""
        if isinstance(result, Failed):
            self.fail(point, result.error)
        elif isinstance(result, Elsewhere):
            if result.finished:
                self.outcome.states[point.label] = State.DONE
                self.outcome.elsewhere += 1
                self.observer.elsewhere(point)
        else:
            self.outcome.states[point.label] = State.INTERRUPTED if result.interrupted else State.DONE
            self.outcome.stored += result.reused
            self.record()
            self.observer.finished(point, result)

    def found(self, point: Job) -> None:
        """A point is finished by a process of ours that died before it could say so."""
        manifest = glance(point.directory / MANIFEST_FILE)
        known = manifest if isinstance(manifest, dict) else {}
        self.end(point, Finished(point.label, {}, known, interrupted=False))

    def fail(self, point: Job, error: str) -> None:
        """Note that a point cannot be run."""
        self.outcome.states[point.label] = State.FAILED
        self.outcome.errors[point.label] = error
        self.record()
        self.observer.failed(point, error)

    def record(self) -> None:
        """Write down where all points stand, unless that was done a moment ago: the list of thousands takes its time.

        What is not in it is not lost: a sweep that goes on looks at the points themselves.
        """
        began = time.monotonic()
        if began < self._record_from:
            return
        self.plan.record(self.outcome.states, self.outcome.errors)
        took = time.monotonic() - began
        self._record_from = began + max(RECORD_S, took / RECORD_SHARE)
