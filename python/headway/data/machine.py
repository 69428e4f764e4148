"""The machine that measures: its properties, and its other work meanwhile."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CPUINFO = Path("/proc/cpuinfo")
STAT = Path("/proc/stat")
# Columns of the line `cpu` of /proc/stat that do not count as work: idle, iowait.
IDLE = (3, 4)
# Columns beyond these are also in others, or are of other machines on the same hardware: steal, guest.
WORK_COLUMNS = 7


def machine() -> dict[str, Any]:
    """Processor model, number of processors, kernel; None where the system does not say."""
    return {"cpu": _cpu_model(), "cores": os.cpu_count(), "kernel": platform.release()}


def cores() -> int:
    """Cores that this process may use, where the system says; otherwise all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine_text(machines: Sequence[Mapping[str, Any]] | None) -> str:
    """Machines as they are on record, in a few words."""
    shown = [f"{one.get('cpu')}, {one.get('cores')} cores, Linux {one.get('kernel')}" for one in machines or ()]
    return "; ".join(shown) or "an unknown machine"


def _cpu_model() -> str | None:
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


@dataclass(frozen=True)
class Work:
    """Processor time until now: of the whole machine, of this process and its children, and the time."""

    all_s: float
    own_s: float
    at_s: float

    @classmethod
    def now(cls) -> Work:
        """As it stands."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(_busy_s(), sum(one.ru_utime + one.ru_stime for one in used), time.monotonic())

    def others_since(self, earlier: Work) -> float:
        """Processors that other programs used on average since then."""
        others = (self.all_s - earlier.all_s) - (self.own_s - earlier.own_s)
        return max(0.0, others / max(self.at_s - earlier.at_s, 1e-9))


def _busy_s() -> float:
    """Processor time of everybody; 0 where the system does not say."""
    try:
        first = STAT.read_text(encoding="utf-8").partition("\n")[0].split()[1:]
    except OSError:
        return 0.0
    ticks = [int(text) for i, text in enumerate(first[:WORK_COLUMNS]) if i not in IDLE]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")
