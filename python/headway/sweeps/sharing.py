"""Sharing of one sweep among several processes, or machines on one file system: each point is run by the one that locks
it.

Each process in the directory shares a lock on it, and holds one on each point that it runs. The system gives a lock
back when its process ends, however it ends, and the point is free for others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from headway.directories import clear_locks, directory_of
from headway.errors import ResultsError
from headway.layout import LOCKS, SWEEP_FILE
from headway.locks import Lock, acquire, holder
from headway.sweeps.plan import SweepPlan

SWEEP_LOCK = "sweep.lock"
# Time that another process may take to make the directory ready: it writes the list of points, and may have a million.
TIMEOUT_S = 600.0
WAIT_S = 0.05


@contextmanager
def entered(plan: SweepPlan, *, overwrite: bool) -> Iterator[None]:
    """Make the sweep's directory ready, or join the processes that run the same sweep in it.

    Raises `ResultsError` if it holds another sweep and `overwrite` is false, or if another sweep is running in it.
    """
    directory_of(plan.out)
    lock = _enter(plan, overwrite=overwrite)
    try:
        yield
    finally:
        lock.release()


def _enter(plan: SweepPlan, *, overwrite: bool) -> Lock:
    path = plan.out / LOCKS / SWEEP_LOCK
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        if (lock := acquire(path)) is not None:
            return _prepare(plan, lock, overwrite=overwrite)
        # A process that is making the directory ready holds its lock alone.
        if (lock := acquire(path, shared=True)) is not None:
            return _join(plan, lock)
        time.sleep(WAIT_S)
    raise ResultsError(plan.out, f"a sweep is being prepared in it, by {holder(path)}")


def _prepare(plan: SweepPlan, lock: Lock, *, overwrite: bool) -> Lock:
    """Make the directory ready, alone in it; from then on others may join."""
    try:
        plan.prepare(overwrite=overwrite)
        plan.begin()
        lock.share()
    except BaseException:
        lock.release()
        if not (plan.out / SWEEP_FILE).exists():
            clear_locks(plan.out)
        raise
    return lock


def _join(plan: SweepPlan, lock: Lock) -> Lock:
    """Join a sweep that is running; the list of points says whether it is the same."""
    if plan.is_recorded:
        return lock
    lock.release()
    first = holder(plan.out / LOCKS / SWEEP_LOCK)
    raise ResultsError(
        plan.out, f"another sweep is running in it, begun by {first}: wait until it ends, or choose another directory"
    )
