"""Cost of runs on this machine: measured by every run, kept next to the store of runs in `pace.json`.

Runs are remembered by scenario and transport. A scenario that was never run here gets a guess from the others, with a
lower and an upper end, and is never said to be measured. Beside the runs stand what starting a sweep's processes takes,
and what judging and drawing a figure takes. The last ones count most. All of it is processor time: how busy the machine
was with other work does not enter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from headway import store
from headway.data.reader import glance
from headway.errors import HeadwayError
from headway.files import write_json
from headway.loading import Scenario
from headway.locks import acquire

PACE_FILE = "pace.json"
LOCK_FILE = ".pace.lock"
# Weight of the last run in an average.
NEWEST = 0.3
# An entry is written again if it moves by this share.
MOVED = 0.05
# The transport of a run of several.
ANY = "*"
# Keys of work that is no run: the start of a sweep's processes, and judging and drawing, by scenario.
START = "+start"
AFTER = "+after "
# Largest ratio of a run's packet-hops to those that a pace was measured with, before it is called a guess.
ALIKE = 30.0
# The least that the ends of a guess are away from its middle, as a factor.
WIDE = 3.0
# The same where nothing nearly as large was measured.
WIDEST = 8.0
# Time for which a new measurement waits for another process that writes, before it is dropped.
LOCK_WAIT_S = 2.0
LOCK_POLL_S = 0.005


@dataclass(frozen=True)
class Pace:
    """Cost of a run: processor seconds an expected packet-hop, processor seconds on top, and bytes of its files.

    `hops` is what a run has on average, the last runs counting most: how much `hop_s` is known from. `tables` is what
    the files of such a run take by the rows of their tables; 0 where nobody computed that.
    """

    hop_s: float
    extra_s: float
    bytes: float
    hops: float = 1.0
    tables: float = 0.0

    @classmethod
    def of(cls, entry: Any) -> Pace | None:  # noqa: ANN401  (what JSON holds)
        """From the file; none if it holds nothing of the kind."""
        with suppress(TypeError, KeyError, ValueError):
            hop_s, extra_s, files = (float(entry[name]) for name in ("hop_cpu_s", "extra_cpu_s", "bytes"))
            return cls(hop_s, extra_s, files, float(entry.get("hops", 1.0)), float(entry.get("tables", 0.0)))
        return None

    def seconds(self, hops: float) -> float:
        """Processor seconds of a run of so many packet-hops."""
        return hops * self.hop_s + self.extra_s

    def with_run(self, run: Pace) -> Pace:
        """The average, once another run is in it.

        Seconds and hops are averaged each for itself. What a run of a few hops takes is not its hops' doing, and a
        mean of the seconds a hop of small and of large runs would be that of the small ones.
        """
        hops = _towards(self.hops, run.hops)
        seconds = _towards(self.hops * self.hop_s, run.hops * run.hop_s)
        extra_s, files = _towards(self.extra_s, run.extra_s), _towards(self.bytes, run.bytes)
        return Pace(seconds / hops, extra_s, files, hops, _towards(self.tables or run.tables, run.tables))

    def files(self, tables: float) -> float:
        """Bytes of a run whose tables take so many by their rows."""
        return self.bytes * tables / self.tables if self.tables and tables else self.bytes

    def moved(self, other: Pace) -> bool:
        """True if another is so far from it that it is worth storing."""
        return any(map(_moved, self._all(), other._all()))

    def json(self) -> dict[str, float]:
        """As the file holds it."""
        return {
            "hop_cpu_s": self.hop_s,
            "extra_cpu_s": self.extra_s,
            "bytes": self.bytes,
            "hops": self.hops,
            "tables": self.tables,
        }

    def _all(self) -> tuple[float, float, float, float]:
        return self.hop_s, self.extra_s, self.bytes, self.tables


def _towards(old: float, new: float) -> float:
    return old + NEWEST * (new - old)


def _moved(old: float, new: float) -> bool:
    return abs(old - new) > MOVED * abs(old)


class Span(NamedTuple):
    """Processor seconds that are expected, and the least and the most that they are taken to be."""

    low: float
    likely: float
    high: float

    def plus(self, other: Span) -> Span:
        """Both, one after the other."""
        return Span(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def times(self, factor: float) -> Span:
        """As often as `factor` says."""
        return Span(self.low * factor, self.likely * factor, self.high * factor)


class Expected(NamedTuple):
    """Expected cost of a run, or of a part of the work; `measured` if that is known from its like."""

    seconds: Span
    bytes: float
    measured: bool


# Guesses before the first measurement: the cost on top of a run without samples; the start of a process that imports
# the package, and judging a run with its share of the report. What a hop takes is tried (`trial`).
GUESS = Pace(hop_s=1e-7, extra_s=0.05, bytes=50_000)
GUESS_START_S = 0.3
GUESS_AFTER_S = 0.1
# A run of some hundredths of a second.
TRIAL = """
[topology]
kind = "leaf-spine"
racks = 4
hosts_per_rack = 8
spines = 4
host_rate = "10 Gbps"
spine_rate = "10 Gbps"
host_delay = "1 us"
[transport]
name = "dctcp"
[[traffic]]
kind = "permutation"
bytes = "1 MB"
"""


@cache
def trial() -> Pace:
    """Cost of a packet-hop here, by a short run: machines differ, and builds of the simulator more."""
    with suppress(HeadwayError):
        scenario = Scenario.from_text(TRIAL, "trial")
        began, began_cpu = time.monotonic(), time.process_time()
        run = scenario.run(progress=False)
        spent, cpu_s = time.monotonic() - began, time.process_time() - began_cpu
        share = min(1.0, float(run.manifest["wall_s"]) / max(spent, 1e-9))
        return replace(GUESS, hop_s=cpu_s * share / max(1, scenario.native.expected_hops()))
    return GUESS


def learn(scenario: Scenario, cpu_s: float, simulation: float, files: int) -> None:
    """Remember the cost of a run: `cpu_s` of a processor, a share of `simulation` for that alone; `files` bytes."""
    hops = float(max(1, scenario.native.expected_hops()))
    share = min(1.0, max(0.0, simulation))
    tables = float(scenario.native.expected_file_bytes())
    run = Pace(cpu_s * share / hops, cpu_s * (1.0 - share), float(files), hops, tables)

    def add(paces: dict[str, Any]) -> bool:
        key = f"{scenario.name} {transport_of(scenario)}"
        old = Pace.of(paces.get(key))
        new = run if old is None else old.with_run(run)
        paces[key] = new.json()
        return old is None or old.moved(new)

    _change(add)


def learn_start(seconds: float) -> None:
    """Remember the processor time for the start of a process of a sweep."""
    _learn_seconds(START, seconds)


def learn_after(name: str, seconds: float, points: int) -> None:
    """Remember the processor time for judging the points of a figure and drawing its report."""
    if points:
        _learn_seconds(AFTER + name, seconds / points)


def transport_of(scenario: Scenario) -> str:
    """The transport that a run is of."""
    return str(json.loads(scenario.native.resolved_json()).get("transport", {}).get("name", ANY))


def known() -> dict[str, Any]:
    """Measurements on this machine; empty without a store."""
    path = _path()
    value = glance(path) if path is not None else None
    return dict(value) if isinstance(value, dict) else {}


def run_expected(
    paces: Mapping[str, Any], name: str, transport: str, hops: float, tables: float | None = None
) -> Expected:
    """Cost of a run: known from the scenario's own runs, else guessed from those of others.

    `tables` is what its files take by the rows of its tables. What other scenarios wrote says nothing about that.
    """
    own = Pace.of(paces.get(f"{name} {transport}"))
    if own is not None and own.hops / ALIKE <= hops <= own.hops * ALIKE:
        seconds = own.seconds(hops)
        return Expected(Span(seconds, seconds, seconds), own.files(tables or 0.0), measured=True)
    others = [(key, found) for key, entry in paces.items() if (found := _of_run(key, entry))]
    if not others:
        seconds = trial().seconds(hops)
        return Expected(Span(seconds / WIDE, seconds, seconds * WIDE), tables or GUESS.bytes, measured=False)
    like = [own] if own else [found for key, found in others if key.endswith(f" {transport}")]
    guess = _guessed(like or [found for _, found in others], hops)
    return guess._replace(bytes=own.files(tables) if own else tables) if tables else guess


def start_expected(paces: Mapping[str, Any]) -> Expected:
    """Cost of starting a sweep's processes."""
    return _known_seconds(paces, START) or _guess_of([], GUESS_START_S)


def after_expected(paces: Mapping[str, Any], name: str) -> Expected:
    """Cost of judging and drawing, for each point of the figure."""
    others = [found for key in paces if key.startswith(AFTER) and (found := _seconds(paces, key)) is not None]
    return _known_seconds(paces, AFTER + name) or _guess_of(others, GUESS_AFTER_S)


def _guessed(like: Sequence[Pace], hops: float) -> Expected:
    """From the runs of others. The time of a hop comes from runs of enough hops: that of small ones is their start."""
    large = [pace for pace in like if pace.hops * ALIKE >= hops]
    wide = WIDE if large else WIDEST
    large = large or [max(like, key=lambda pace: pace.hops)]
    hop_s = sum(pace.hop_s * pace.hops for pace in large) / sum(pace.hops for pace in large)
    extra_s = sum(pace.extra_s for pace in like) / len(like)
    likely = hops * hop_s + extra_s
    least = hops * min(pace.hop_s for pace in large) + min(pace.extra_s for pace in like)
    most = hops * max(pace.hop_s for pace in large) + max(pace.extra_s for pace in like)
    span = Span(min(least, likely / wide), likely, max(most, likely * wide))
    return Expected(span, sum(pace.bytes for pace in like) / len(like), measured=False)


def _guess_of(others: Sequence[float], default: float) -> Expected:
    if not others:
        return Expected(Span(default / WIDE, default, default * WIDE), 0.0, measured=False)
    likely = sum(others) / len(others)
    return Expected(Span(min(*others, likely / WIDE), likely, max(*others, likely * WIDE)), 0.0, measured=False)


def _known_seconds(paces: Mapping[str, Any], key: str) -> Expected | None:
    found = _seconds(paces, key)
    return None if found is None else Expected(Span(found, found, found), 0.0, measured=True)


def _of_run(key: str, entry: object) -> Pace | None:
    """An entry of runs of one scenario; a `*` in its place was that of all, which older versions kept."""
    return None if key.startswith(("+", f"{ANY} ")) else Pace.of(entry)


def _seconds(paces: Mapping[str, Any], key: str) -> float | None:
    with suppress(TypeError, KeyError, ValueError):
        return float(paces[key]["cpu_s"])
    return None


def _learn_seconds(key: str, seconds: float) -> None:
    def add(paces: dict[str, Any]) -> bool:
        old = _seconds(paces, key)
        new = seconds if old is None else _towards(old, seconds)
        paces[key] = {"cpu_s": new}
        return old is None or _moved(old, new)

    _change(add)


def _change(add: Callable[[dict[str, Any]], bool]) -> None:
    """Read, change and write the file while no other process does; `add` says whether it is worth writing.

    A forecast is worth no error: the run itself is finished.
    """
    path = _path()
    if path is None:
        return
    with suppress(OSError, HeadwayError), _alone(path.with_name(LOCK_FILE)) as alone:
        if not alone:
            return
        paces = known()
        if add(paces):
            write_json(path, paces)


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Hold the lock at `path`, waiting for it; gives whether it came in time."""
    end = time.monotonic() + LOCK_WAIT_S
    while (lock := acquire(path)) is None and time.monotonic() < end:
        time.sleep(LOCK_POLL_S)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def _path() -> Path | None:
    root = store.directory()
    return None if root is None else root / PACE_FILE
