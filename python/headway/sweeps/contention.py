"""How busy the machine is with other work: what a process takes by the clock, over what it takes of a processor.

Costs are remembered in processor time, which other work hardly changes. What they take by the clock is that, times what
is found here at the moment.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

# Processor time that the measurement takes, and how long one holds.
SPIN_S = 0.05
FRESH_S = 10.0


@dataclass
class _Last:
    at: float = -FRESH_S
    factor: float = 1.0


_last = _Last()


def contention() -> float:
    """Seconds by the clock for each second of a processor, now; at least 1."""
    now = time.monotonic()
    if now - _last.at >= FRESH_S:
        _last.factor = _measured()
        _last.at = time.monotonic()
    return _last.factor


def _measured() -> float:
    wall, cpu = time.perf_counter(), time.thread_time()
    while (spent := time.thread_time() - cpu) < SPIN_S:
        pass
    return max(1.0, (time.perf_counter() - wall) / spent)
