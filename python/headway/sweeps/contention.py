"""Contention with other work: the time that a process takes by the clock, over its time on a processor.

Costs are remembered in processor time, which other work hardly changes. What they take by the clock is that, times what
is found here at the moment, with as many threads at once as there will be processes: a system may share its
processors among groups of processes, so that two of one group get no more than one.
"""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

# Processor time that the measurement takes of each thread, and how long one holds.
SPIN_S = 0.05
FRESH_S = 10.0
# Bytes that are hashed at a time: enough for a thread to let others run meanwhile.
BLOCK = bytes(1 << 18)


@dataclass
class _Last:
    """Last measurements, with their times, by the number of threads."""

    found: dict[int, tuple[float, float]] = field(default_factory=dict)


_last = _Last()


def contention(at_once: int) -> float:
    """Seconds by the clock for each second of a processor, now, of so many processes at once; at least 1."""
    at, factor = _last.found.get(at_once, (-FRESH_S, 1.0))
    if time.monotonic() - at >= FRESH_S:
        factor = _measured(at_once)
        _last.found[at_once] = time.monotonic(), factor
    return factor


def _measured(at_once: int) -> float:
    with ThreadPoolExecutor(at_once) as threads:
        return max(1.0, sum(threads.map(_spin, range(at_once))) / at_once)


def _spin(_: int) -> float:
    wall, cpu = time.perf_counter(), time.thread_time()
    while (spent := time.thread_time() - cpu) < SPIN_S:
        hashlib.sha256(BLOCK).digest()
    return (time.perf_counter() - wall) / spent
