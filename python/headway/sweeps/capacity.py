"""Capacity of this machine for a sweep: cores and memory, and how both are divided among runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from headway.data.machine import cores
from headway.loading import Threads, thread_count
from headway.sweeps.plan import Job, SweepPlan

MEMORY_SHARE = 0.8


class Division(NamedTuple):
    """Division of cores: so many runs at once, each with so many threads."""

    at_once: int
    threads: int


def worker_count(jobs: int | None, points: Sequence[Job]) -> int:
    """As many workers as asked for, or as there are cores and memory for."""
    if jobs is not None:
        return max(1, min(jobs, len(points)))
    largest = max((p.memory_bytes for p in points), default=0)
    threads = max((p.threads for p in points), default=1)
    return divided(max(1, cores() // threads), available_memory(), len(points), largest).at_once


def with_threads(planned: SweepPlan, threads: Threads, jobs: int | None) -> SweepPlan:
    """The plan with so many threads for each run; of `auto`, with the cores that no other run needs, or one."""
    if threads == "auto":
        largest = max((p.memory_bytes for p in planned.points), default=0)
        points = min(len(planned.points), jobs or len(planned.points))
        count = divided(cores(), available_memory(), max(1, points), largest, most_threads=cores()).threads
    else:
        count = thread_count(threads)
    or_one = threads == "auto" and count > 1
    points_of = tuple(replace(point, threads=count, or_one=or_one) for point in planned.points)
    return replace(planned, points=points_of)


def divided(cores: int, memory_bytes: int, points: int, largest_bytes: int, most_threads: int = 1) -> Division:
    """Many runs at once as long as there are points and memory for them; the cores that are left over become threads.

    Runs side by side need no barrier between them, so they come first. `most_threads` is the number that a run can use.
    """
    at_once = min(cores, points)
    if largest_bytes:
        at_once = min(at_once, int(memory_bytes * MEMORY_SHARE) // largest_bytes)
    at_once = max(1, at_once)
    return Division(at_once, max(1, min(most_threads, cores // at_once)))


def available_memory() -> int:
    """Bytes that new processes may take, where the system says; otherwise a careful 2 GB."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 2_000_000_000
