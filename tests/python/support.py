"""Common parts of several tests: a scenario of milliseconds, and run directories made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars
import pytest

# Seconds after which a child process or a wait has failed: it is hung. Work that takes longer on a busy machine has
# not.
LIMIT = 600

TWO_FLOWS = """
title = "Two flows through one switch"
stop = "{stop}"

[topology]
kind = "single-switch"
hosts = 3
rate = "10 Gbps"
delay = "1 us"

[fabric]
buffer = "128 packets"

[transport]
name = "amrt"

[[traffic]]
kind = "flows"
flows = [
  {{ name = "f0", src = 0, dst = 2, bytes = "{size}", start = "0 s" }},
  {{ name = "f1", src = 1, dst = 2, bytes = "{size}", start = "0 s" }},
]

[sample]
every = "20 us"
flows = "all"
links = ["s0->h2"]

[variants.amrt]
"transport.name" = "amrt"

[variants.phost]
"transport.name" = "phost"

[sweep]
seeds = 2
"""


# Tests that read scenarios of the project read one of each folder in every run, and all of them in the long tests.
HOW_MANY = pytest.mark.parametrize("how_many", ["some", pytest.param("all", marks=pytest.mark.long)])


def chosen(names: Iterable[str], how_many: str) -> list[str]:
    """The last name of each folder, or all."""
    listed = sorted(names)
    return listed if how_many == "all" else list({name.partition("/")[0]: name for name in listed}.values())


@dataclass(frozen=True)
class Answer:
    """Output and status of a command."""

    status: int
    out: str
    err: str


@dataclass
class HandMade:
    """A run directory written by hand, for tests of measures and readers on given numbers."""

    summary: dict[str, Any] = field(default_factory=dict)
    series: list[tuple[float, str, str, float]] = field(default_factory=list)
    flows: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    manifest: dict[str, Any] = field(default_factory=dict)

    def sample(self, entity: str, metric: str, values: Sequence[float], every: float = 1e-3) -> None:
        """Add one value for each interval from the start."""
        self.series += [((i + 1) * every, entity, metric, value) for i, value in enumerate(values)]

    def write(self, directory: Path) -> Path:
        """Write the five files of a run directory."""
        directory.mkdir(parents=True, exist_ok=True)
        fabric = {"payload": 1460, "header": 40, "framing": 38}
        manifest = {"scenario": {"fabric": fabric}, "interrupted": False, **self.manifest}
        summary = {"flows_done": 1, "flows_unfinished": 0, "drops": 0, **self.summary}
        (directory / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        (directory / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        flows = self.flows or [{"flow": 0, "name": "f0", "start_s": 0.0, "finish_s": 1.0, "slowdown": 1.0}]
        links = self.links or [{"name": "s0->s1", "rate_bps": 10_000_000_000}]
        schema = {"t_s": polars.Float64, "entity": polars.String, "metric": polars.String, "value": polars.Float64}
        polars.DataFrame(flows).write_parquet(directory / "flows.parquet")
        polars.DataFrame(links).write_parquet(directory / "links.parquet")
        polars.DataFrame(self.series, schema=schema, orient="row").write_parquet(directory / "series.parquet")
        return directory


def sweep_row(variant: str, seed: int, directory: str, axes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A finished point as `sweep.json` lists it."""
    return {
        "label": directory,
        "variant": variant,
        "axes": dict(axes or {}),
        "seed": seed,
        "digest": "0",
        "dir": directory,
        "state": "done",
    }
