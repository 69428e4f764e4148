"""The record of `scenarios/field`: the numbers of every run from which the tables of docs/field.md are made.

A run is known by its digest: version, epoch of behaviour, resolved scenario and seed. What stands in the record is not
run again, and so a new transport costs its own runs alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from headway.data.later import np
from headway.data.point import Point
from headway.data.reader import read_object
from headway.data.statistics import nearest_rank
from headway.files import write_text

# Sizes of messages: up to a bandwidth-delay product of this network, beyond ten of them, and between.
SHORT, LONG = 100_000, 1_000_000
BANDS = (("short", 0, SHORT), ("middle", SHORT, LONG), ("long", LONG, math.inf))
LOAD = "traffic.0.load"
RECORD_FILE = "measured.json"


@dataclass(frozen=True)
class Measured:
    """The numbers of one run.

    `slowdowns` has the median and the 99th percentile of completion times over those alone, for each band that has
    messages; `p99` is the percentile over all messages, infinite where more than 1 % never arrive. `goodput` is the
    mean of bytes over completion time, in bit/s, of the messages of the longest band. `queue` is in bytes.
    """

    question: str
    load: float | None
    variant: str
    seed: int
    slowdowns: Mapping[str, tuple[float, float]]
    p99: float
    goodput: float
    queue: float
    drops: float
    unfinished: int

    @classmethod
    def of(cls, question: str, point: Point) -> Self:
        """Measure a run."""
        flows = point.run.flows.to_polars()
        flows = flows.filter(flows["start_s"].is_null() | (flows["start_s"] >= point.run.warmup_s))
        summary = point.run.summary
        done = flows.filter(flows["fct_s"].is_not_null())
        size_of = done["bytes"].to_numpy()
        slowdown = done["slowdown"].to_numpy()
        fct = done["fct_s"].to_numpy()
        inside = {name: (size_of > low) & (size_of <= high) for name, low, high in BANDS}
        slowdowns = {
            name: (nearest_rank(slowdown[mask], 0.5), nearest_rank(slowdown[mask], 0.99))
            for name, mask in inside.items()
            if mask.any()
        }
        unfinished = len(flows) - len(done)
        longest = inside[list(slowdowns)[-1]]
        return cls(
            question,
            load_of(point),
            point.variant,
            point.seed,
            slowdowns,
            # A message that never arrives is later than any that does.
            nearest_rank(np.append(slowdown, np.full(unfinished, np.inf)), 0.99),
            float(np.mean(8 * size_of[longest] / fct[longest])),
            float(summary["queue_max_bytes"]),
            float(summary["drops"]),
            unfinished,
        )

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """As the record has it."""
        slowdowns = {band: (float(p50), float(p99)) for band, (p50, p99) in entry["slowdowns"].items()}
        p99 = math.inf if entry["p99"] is None else float(entry["p99"])
        return cls(**{**entry, "slowdowns": slowdowns, "p99": p99})

    @property
    def entry(self) -> dict[str, Any]:
        """As the record has it: JSON knows no infinity."""
        return {**asdict(self), "p99": None if math.isinf(self.p99) else self.p99}


def load_of(point: Point) -> float | None:
    """The load that a question is asked at, if it is asked at several."""
    load = point.axes.get(LOAD)
    return None if load is None else float(load)


class Record:
    """Measured runs by their digests, in a file or, without one, in memory."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        entries = read_object(file) if file is not None and file.is_file() else {}
        self._runs = {digest: Measured.read(entry) for digest, entry in entries.items()}
        self._asked: dict[str, None] = {}

    def get(self, digest: str) -> Measured | None:
        """The run of this digest, if it was made."""
        self._asked.setdefault(digest)
        return self._runs.get(digest)

    def add(self, runs: Mapping[str, Measured]) -> None:
        """Take in runs, and write the file."""
        self._runs.update(runs)
        self._write()

    def keep_asked(self) -> None:
        """Drop entries that were not used, and put the rest into the order in which they were."""
        self._runs = {digest: self._runs[digest] for digest in self._asked if digest in self._runs}
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            lines = (f"{json.dumps(digest)}: {json.dumps(run.entry)}" for digest, run in self._runs.items())
            write_text(self._file, "{\n" + ",\n".join(lines) + "\n}\n")
