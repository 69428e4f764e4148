"""Runs the points of a sweep in processes of this machine. Points are independent: one that fails, or takes its
process with it, costs the others nothing."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headway.data.machine import cores
from headway.locks import is_free
from headway.sweeps.board import Board
from headway.sweeps.capacity import worker_count
from headway.sweeps.executor import Executor, ExecutorKind
from headway.sweeps.pace import learn_start
from headway.sweeps.plan import Job
from headway.sweeps.worker import Elsewhere, Failed, Finished, PointProgress, initialise, run_point

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext
    from multiprocessing.synchronize import Event

POLL_S = 0.1

# Processes are started afresh, so that nothing that the caller's program did is in them.
CONTEXT: BaseContext = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class _Crew:
    """Processes, the queue of their reports, and the event that stops them."""

    pool: ProcessPoolExecutor
    reports: Any  # a SimpleQueue, which has no public type
    stop: Event
    workers: int

    @classmethod
    def of(cls, workers: int) -> _Crew:
        reports, stop = CONTEXT.SimpleQueue(), CONTEXT.Event()
        pool = ProcessPoolExecutor(workers, mp_context=CONTEXT, initializer=initialise, initargs=(reports, stop))
        return cls(pool, reports, stop, workers)

    def end(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


class Local(Executor):
    """The cores of this machine."""

    def __init__(self) -> None:
        self._stays = False
        self._resting: _Crew | None = None

    def run(self, board: Board, jobs: int | None) -> None:
        """Run every pending point; as many at once as `jobs` says, or as there are cores and memory for."""
        _Pools(board, self).run_all(jobs)

    def close(self) -> None:
        """End the processes that rest."""
        if self._resting is not None:
            self._resting.end()
            self._resting = None

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Processes stay for the next sweep as long as this lasts. To start one takes longer than many a run."""
        self._stays = True
        try:
            yield
        finally:
            self._stays = False
            self.close()

    @contextmanager
    def crew(self, workers: int) -> Iterator[tuple[_Crew, bool]]:
        """Processes for a list of points, and whether they are new. They rest afterwards if nothing went wrong."""
        crew, self._resting = self._resting, None
        if crew is not None and crew.workers < workers:
            crew.end()
            crew = None
        new = crew is None
        # They begin one by one, when there is work for them: those that rest may be more than a later list needs.
        crew = crew or _Crew.of(max(workers, cores()) if self._stays else workers)
        well = False
        try:
            yield crew, new
            well = not crew.stop.is_set()
        finally:
            if self._stays and well:
                self._resting = crew
            else:
                crew.end()


class _Pools:
    """Runs lists of points, each list in one pool of processes."""

    def __init__(self, board: Board, local: Local) -> None:
        self._board = board
        self._local = local
        self._start_cpu_s: float | None = None

    def run_all(self, jobs: int | None) -> None:
        """Run every pending point; those that other processes are running, if these do not finish them."""
        waiting: Sequence[Job] = ()
        while not self._board.stop_requested() and (todo := self._board.pending()):
            free = [point for point in todo if point.is_finished or is_free(point.lock)]
            if free:
                suspects = self.run(free, worker_count(jobs, free))
                for suspect in suspects:
                    if self.run([suspect], 1):
                        self._board.fail(suspect, "its process died twice (out of memory, or killed)")
                continue
            if todo != waiting:
                waiting = todo
                self._board.observer.waiting(todo)
            time.sleep(POLL_S)

    def run(self, points: Sequence[Job], workers: int) -> list[Job]:
        """Run `points`; returns those that were under way when a process died."""
        suspects: list[Job] = []
        untouched: Sequence[Job] = points
        while untouched and not self._board.stop_requested():
            lost, untouched = self._one_pool(untouched, workers)
            suspects += lost
        return suspects

    def _one_pool(self, points: Sequence[Job], workers: int) -> tuple[list[Job], list[Job]]:
        """Run `points` until they are through, the user stops, or a process dies.

        A death breaks the whole pool: returned are the points that were under way then, and those not begun.
        """
        self._start_cpu_s = None
        lost: list[Job] = []
        waiting = iter(points)
        with self._local.crew(workers) as (crew, new):
            running: dict[Future[Finished | Elsewhere | Failed], Job] = {}
            try:
                _fill(crew.pool, waiting, running, workers)
                while running:
                    finished, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
                    self._drain(crew.reports)
                    if self._board.stop_requested():
                        crew.stop.set()
                    for future in finished:
                        point = running.pop(future)
                        if not self._account(point, future):
                            lost.append(point)
                    if not crew.stop.is_set() and not lost:
                        _fill(crew.pool, waiting, running, workers)
                if lost:
                    # Its pool is broken.
                    crew.stop.set()
                # The last reports are about points that are over: the next list is not to hear of them.
                while not crew.reports.empty():
                    crew.reports.get()
            except BaseException:
                # Ctrl-C in a notebook: the pool waits for its processes, and these for the word to stop.
                crew.stop.set()
                raise
        if new and self._start_cpu_s is not None and not lost:
            learn_start(self._start_cpu_s)
        return lost, list(waiting)

    def _drain(self, reports: Any) -> None:  # noqa: ANN401  (a SimpleQueue has no public type)
        while not reports.empty():
            report: PointProgress = reports.get()
            if self._start_cpu_s is None:
                self._start_cpu_s = report.began_cpu_s
            self._board.observer.progressed(report.label, report.progress)

    def _account(self, point: Job, future: Future[Finished | Elsewhere | Failed]) -> bool:
        """Note how a point ended; False if its process died and it must be looked at again."""
        try:
            result = future.result()
        except BrokenProcessPool:
            return False
        self._board.end(point, result)
        return True


# Several threads may start processes at once, and the program is one.
_PROGRAM = threading.Lock()


@contextmanager
def _apart() -> Iterator[None]:
    """Processes that begin in here never hear Ctrl-C, and do not run the program that called us, which Python would
    have them do: they need nothing of it, and it may begin a sweep at its top level, or come from a pipe."""
    with _PROGRAM:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            with _deaf():
                yield
        finally:
            sys.modules["__main__"] = program


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
            with _apart():
                running[pool.submit(run_point, point)] = point
        except BrokenProcessPool as error:
            broken: Future[Finished | Elsewhere | Failed] = Future()
            broken.set_exception(error)
            running[broken] = point
            return


KIND = ExecutorKind(
    type=Local,
    forms=("local",),
    written=lambda rest: Local() if rest is None else None,
)
