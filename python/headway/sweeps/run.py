"""Runs the points of a sweep in local processes. Points are independent: one that fails, or takes its process
with it, costs the others nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from headway.directories import drop_derived
from headway.locks import is_free
from headway.sweeps.pace import learn_start
from headway.sweeps.plan import Job, State, SweepPlan
from headway.sweeps.sharing import entered
from headway.sweeps.worker import Elsewhere, Failed, Finished, PointProgress, initialise, run_point

POLL_S = 0.1
MEMORY_SHARE = 0.8
# The list of points is written at most so often, and takes at most this share of the time.
RECORD_S = 1.0
RECORD_SHARE = 0.02


class Observer(Protocol):
    """Who wants to know how a sweep is going."""

    def planned(self, total: int, done: int, notes: list[str]) -> None:
        """The sweep begins; `done` of `total` points are there already."""

    def progressed(self, label: str, state: dict[str, Any] | None) -> None:
        """A point began (None) or advanced."""

    def finished(self, point: Job, result: Finished) -> None:
        """A point ended, or was stopped."""

    def failed(self, point: Job, error: str) -> None:
        """A point could not be run."""

    def waiting(self, points: Sequence[Job]) -> None:
        """All points are done or failed but these, which other processes are running."""

    def elsewhere(self, point: Job) -> None:
        """Another process finished a point."""


class Silent:
    """An observer that wants to know nothing."""

    def planned(self, total: int, done: int, notes: list[str]) -> None: ...
    def progressed(self, label: str, state: dict[str, Any] | None) -> None: ...
    def finished(self, point: Job, result: Finished) -> None: ...
    def failed(self, point: Job, error: str) -> None: ...
    def waiting(self, points: Sequence[Job]) -> None: ...
    def elsewhere(self, point: Job) -> None: ...


@dataclass
class SweepOutcome:
    """Where every point stands at the end."""

    plan: SweepPlan
    states: dict[str, State]
    errors: dict[str, str] = field(default_factory=dict)
    reused: int = 0
    elsewhere: int = 0
    stored: int = 0

    @property
    def interrupted(self) -> bool:
        """Whether the sweep was stopped before it was through."""
        return any(s in (State.INTERRUPTED, State.PENDING) for s in self.states.values())

    def count(self, state: State) -> int:
        """How many points are in `state`."""
        return sum(1 for s in self.states.values() if s is state)


def run_sweep(
    plan: SweepPlan,
    *,
    jobs: int | None = None,
    observer: Observer | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
    overwrite: bool = False,
) -> SweepOutcome:
    """Run what is not finished, beside other processes that run the same sweep in the same directory.

    Raises `ResultsError` if the directory cannot be written, or holds another sweep and `overwrite` is false.
    """
    watching = observer or Silent()
    with entered(plan, overwrite=overwrite):
        states, notes = plan.survey()
        outcome = SweepOutcome(plan, states, reused=sum(1 for s in states.values() if s is State.DONE))
        if outcome.reused < len(plan.points):
            drop_derived(plan.out)
        watching.planned(len(plan.points), outcome.reused, notes)
        _Pools(outcome, watching, stop_requested).run_all(jobs)
        plan.record(outcome.states, outcome.errors)
    return outcome


def worker_count(jobs: int | None, points: Sequence[Job]) -> int:
    """As many workers as asked for, or as there are cores and memory for."""
    if jobs is not None:
        return max(1, min(jobs, len(points)))
    count = min(cores(), len(points))
    largest = max((p.memory_bytes for p in points), default=0)
    if largest:
        count = min(count, int(_available_memory() * MEMORY_SHARE) // largest)
    return max(1, count)


class _Pools:
    """Runs lists of points, each list in one pool of processes."""

    def __init__(self, outcome: SweepOutcome, observer: Observer, stop_requested: Callable[[], bool]) -> None:
        self._outcome = outcome
        self._observer = observer
        self._stop_requested = stop_requested
        self._record_from = 0.0
        self._start_cpu_s: float | None = None

    def run_all(self, jobs: int | None) -> None:
        """Run every pending point; those that other processes are running, if these do not finish them."""
        waiting: Sequence[Job] = ()
        while not self._stop_requested() and (todo := self._pending()):
            free = [point for point in todo if point.is_finished or is_free(point.lock)]
            if free:
                suspects = self.run(free, worker_count(jobs, free))
                for suspect in suspects:
                    if self.run([suspect], 1):
                        self.fail(suspect, "its process died twice (out of memory, or killed)")
                continue
            if todo != waiting:
                waiting = todo
                self._observer.waiting(todo)
            time.sleep(POLL_S)

    def _pending(self) -> list[Job]:
        states = self._outcome.states
        return [point for point in self._outcome.plan.points if states[point.label] is State.PENDING]

    def run(self, points: Sequence[Job], workers: int) -> list[Job]:
        """Run `points`; returns those that were under way when a process died."""
        suspects: list[Job] = []
        untouched: Sequence[Job] = points
        while untouched and not self._stop_requested():
            lost, untouched = self._one_pool(untouched, workers)
            suspects += lost
        return suspects

    def fail(self, point: Job, error: str) -> None:
        """Record that `point` cannot be run."""
        self._outcome.states[point.label] = State.FAILED
        self._outcome.errors[point.label] = error
        self._record()
        self._observer.failed(point, error)

    def _record(self) -> None:
        """Write down where all points stand, unless that was done a moment ago: the list of thousands takes its time.

        What is not in it is not lost: a sweep that goes on looks at the points themselves.
        """
        began = time.monotonic()
        if began < self._record_from:
            return
        self._outcome.plan.record(self._outcome.states, self._outcome.errors)
        took = time.monotonic() - began
        self._record_from = began + max(RECORD_S, took / RECORD_SHARE)

    def _one_pool(self, points: Sequence[Job], workers: int) -> tuple[list[Job], list[Job]]:
        """Run `points` until they are through, the user stops, or a process dies.

        A death breaks the whole pool: returned are the points that were under way then, and those not begun.
        """
        self._start_cpu_s = None
        context = multiprocessing.get_context("spawn")
        reports = context.SimpleQueue()
        stop = context.Event()
        lost: list[Job] = []
        waiting = iter(points)
        with _pool(workers, context, (reports, stop)) as pool:
            running: dict[Future[Finished | Elsewhere | Failed], Job] = {}
            _fill(pool, waiting, running, workers)
            while running:
                finished, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
                self._drain(reports)
                if self._stop_requested():
                    stop.set()
                for future in finished:
                    point = running.pop(future)
                    if not self._account(point, future):
                        lost.append(point)
                if not stop.is_set() and not lost:
                    _fill(pool, waiting, running, workers)
        if self._start_cpu_s is not None and not lost:
            learn_start(self._start_cpu_s)
        return lost, list(waiting)

    def _drain(self, reports: Any) -> None:  # noqa: ANN401  (a SimpleQueue has no public type)
        while not reports.empty():
            report: PointProgress = reports.get()
            if self._start_cpu_s is None:
                self._start_cpu_s = report.began_cpu_s
            self._observer.progressed(report.label, report.progress)

    def _account(self, point: Job, future: Future[Finished | Elsewhere | Failed]) -> bool:
        """Record how a point ended; False if its process died and it must be looked at again."""
        try:
            result = future.result()
        except BrokenProcessPool:
            return False
        if isinstance(result, Failed):
            self.fail(point, result.error)
            return True
        if isinstance(result, Elsewhere):
            self._settle_elsewhere(point, result)
            return True
        self._outcome.states[point.label] = State.INTERRUPTED if result.interrupted else State.DONE
        self._outcome.stored += result.reused
        self._record()
        self._observer.finished(point, result)
        return True

    def _settle_elsewhere(self, point: Job, result: Elsewhere) -> None:
        """Another process has the point: what it finished is done, what it is running stays pending."""
        if result.finished:
            self._outcome.states[point.label] = State.DONE
            self._outcome.elsewhere += 1
            self._observer.elsewhere(point)


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that begin in here never hear Ctrl-C, not even before their first line of ours is run. Ours waits."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fill(
    pool: ProcessPoolExecutor,
    waiting: Iterator[Job],
    running: dict[Future[Finished | Elsewhere | Failed], Job],
    workers: int,
) -> None:
    """Hand out points, one a worker, so that a death leaves few to look at again."""
    while len(running) < workers and (point := next(waiting, None)) is not None:
        try:
            with _deaf():
                running[pool.submit(run_point, point)] = point
        except BrokenProcessPool as error:
            broken: Future[Finished | Elsewhere | Failed] = Future()
            broken.set_exception(error)
            running[broken] = point
            return


@contextmanager
def _pool(workers: int, context: Any, arguments: tuple[Any, ...]) -> Iterator[ProcessPoolExecutor]:  # noqa: ANN401
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=initialise, initargs=arguments)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    """Cores that this process may use, where the system says; otherwise all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _available_memory() -> int:
    """Bytes that new processes may take, where the system says; otherwise a careful 2 GB."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 2_000_000_000
