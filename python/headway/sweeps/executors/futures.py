"""Anything with the interface of `concurrent.futures`: a Dask client's executor, an MPI pool, submitit, a pool of
processes. Only `submit` is needed, and `done`, `result` and `cancel` of what it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Protocol

from headway.data.machine import cores
from headway.errors import HeadwayError
from headway.sweeps.board import Board
from headway.sweeps.dispatch import Dispatch, Handle, opened
from headway.sweeps.executor import Executor, ExecutorKind
from headway.sweeps.packing import Limits
from headway.sweeps.task import Task, run_task

# Handing out a task takes a few milliseconds. At the end of a sweep workers are idle for half of the longest task.
LIMITS = Limits(least_s=1.0, most_s=60.0)
# Interval at which workers are counted.
COUNT_S = 5.0
# Names under which pools say how many workers they have.
WIDTHS = ("_max_workers", "num_workers", "max_workers")


class Future(Protocol):
    """Future that a pool returns for a task."""

    def done(self) -> bool: ...
    def result(self) -> Any: ...  # noqa: ANN401  (what `concurrent.futures` says)
    def cancel(self) -> Any: ...  # noqa: ANN401


class Pool(Protocol):
    """Pool that tasks are submitted to."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future: ...  # noqa: ANN401


class Futures(Executor):
    """A pool that the user made, and keeps."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def run(self, board: Board, jobs: int | None) -> None:
        """Run every pending point in tasks for the workers of the pool."""
        if not board.pending():
            return
        with opened(board.plan.out) as desk:
            dispatch = Dispatch(board, PoolLane(self._pool, self, jobs), desk)
            try:
                dispatch.run()
            except BaseException:
                dispatch.give_up()
                raise

    def workers(self) -> int:
        """Workers of the pool, if it says how many; otherwise as many as this machine has cores."""
        for name in WIDTHS:
            number = getattr(self._pool, name, None)
            if isinstance(number, int) and number > 0:
                return number
        return cores()

    def memory(self) -> int | None:
        """Bytes of memory that its workers have together, if it says so."""
        return None

    def news(self) -> Sequence[str]:
        """Why its tasks wait, where that is known; each reason once."""
        return ()

    def remote(self, points: int, jobs: int | None) -> int | None:
        """As many as the pool has workers."""
        return max(1, min(jobs or self.workers(), points))


class PoolLane:
    """Hands tasks to a pool."""

    limits = LIMITS
    shared = True
    batch = 1

    def __init__(self, pool: Pool, owner: Futures, jobs: int | None) -> None:
        self._pool = pool
        self._owner = owner
        self._jobs = jobs
        self._count_from = 0.0
        self._count = 1
        self._bytes: int | None = None

    def width(self) -> int:
        """Workers: those that are there now, since some join and leave."""
        if time.monotonic() >= self._count_from:
            self._count_from = time.monotonic() + COUNT_S
            self._count = self._jobs or self._owner.workers()
            self._bytes = self._owner.memory()
        return self._count

    def in_hand(self) -> int:
        """One task under way and one in reserve for each."""
        return 2 * self.width()

    def memory(self) -> int | None:
        """Bytes of all workers together."""
        self.width()
        return self._bytes

    def news(self) -> Sequence[str]:
        """News of its owner."""
        return self._owner.news()

    def submit(self, tasks: Sequence[Task]) -> Sequence[Handle]:
        """Hand out tasks one by one."""
        try:
            return [PoolHandle(self._pool.submit(run_task, task)) for task in tasks]
        except HeadwayError:
            raise
        except Exception as error:
            raise HeadwayError(f"the executor takes no task: {said(error)}") from error

    def withdraw(self) -> None:
        """Does nothing: tasks notice by themselves that they are not wanted any more."""


class PoolHandle:
    """A task of a pool."""

    def __init__(self, future: Future) -> None:
        self._future = future

    def done(self, said: bool) -> bool:
        """True if it has ended."""
        return bool(self._future.done())

    def error(self) -> str:
        """Error of the task, if it failed."""
        try:
            refused = self._future.result()
        except (Exception, CancelledError) as error:
            return said(error)
        if refused:
            raise HeadwayError(str(refused))
        return ""

    def blameless(self) -> bool:
        """False: a pool does not report that."""
        return False

    def cancel(self) -> None:
        """Take it back."""
        self._future.cancel()


def said(error: BaseException) -> str:
    """An error of a pool in one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def wraps(what: Any) -> Futures | None:  # noqa: ANN401  (any pool)
    """A pool, which its owner keeps."""
    return Futures(what) if callable(getattr(what, "submit", None)) else None


KIND = ExecutorKind(type=Futures, wraps=wraps)
