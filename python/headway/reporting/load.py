"""Read a run directory, or a sweep or reproduce directory, into typed Python objects.

Small files (manifest, summary, claims) are read at once, and the tables (flows, links, series) are looked at; they are
read when a figure asks for them, because a sweep of several hundred points rarely needs the flows of every one. Every
file is compared with its checksum, drawn or not: a report says nothing of a run of which anything was changed.
Whatever is missing, truncated, changed or of the wrong shape becomes a `ResultsError` that names the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.checksums import verify
from headway.data.claims import JudgedClaim, read_claims
from headway.data.point import Point
from headway.data.reader import read_object
from headway.data.run import Run
from headway.data.sweep import check_entry, read_entries
from headway.errors import ResultsError
from headway.layout import CLAIMS_FILE, EXPECTATIONS_FILE

BESIDE = "simulator"  # folder of a testbed's run that holds the same run in the simulator


@dataclass(frozen=True)
class Results:
    """Everything a report is made from."""

    directory: Path
    points: tuple[Point, ...]
    missing: tuple[str, ...] = ()  # points of a sweep without results, each with its state
    claims: tuple[JudgedClaim, ...] | None = None
    expectations: tuple[JudgedClaim, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scenario(self) -> Mapping[str, Any]:
        """Resolved scenario of the first point (title, report table)."""
        if self.points:
            return self.points[0].scenario
        return self.extra

    @property
    def is_model(self) -> bool:
        """True if the scenario is a closed-form model and simulates nothing."""
        return not self.points and self.asks_for_model

    @property
    def asks_for_model(self) -> bool:
        """True if the [report] table names the figure of the model."""
        wanted = self.report.get("figure")
        return "model" in wanted if isinstance(wanted, list) else wanted == "model"

    @property
    def title(self) -> str:
        """Title of the scenario, or the name of the directory."""
        return str(self.scenario.get("title") or self.directory.resolve().name)

    @property
    def name(self) -> str:
        """Name of the scenario, such as `amrt/fig14-fct-load`; empty if the results do not tell."""
        named = self.points[0].manifest.get("name") if self.points else None
        return str(named or self.scenario.get("name") or "")

    @property
    def report(self) -> Mapping[str, Any]:
        """The scenario's [report] table."""
        value = self.scenario.get("report")
        return value if isinstance(value, Mapping) else {}


def load_point(directory: Path, record: Mapping[str, Any] | None = None) -> Point:
    """Load one run directory; `record` is its line in sweep.json."""
    run = Run(directory)
    run.look()
    verify(directory)
    record = record or {}
    axes = record.get("axes") or {}
    return Point(
        label=str(record.get("label") or directory.name),
        variant=str(record.get("variant") or "") or run.transport,
        axes=dict(axes) if isinstance(axes, Mapping) else {},
        seed=_whole(record.get("seed", run.manifest.get("seed", 0))),
        results=run,
    )


def _whole(seed: object) -> int:
    """A seed as a record has it; 0 where it has none."""
    return seed if isinstance(seed, int) else 0


def _load_sweep(directory: Path) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """The finished points, and a line for each point that has no results, with the reason."""
    path = directory / "sweep.json"
    points: list[Point] = []
    missing: list[str] = []
    records = read_entries(directory)
    for record in records:
        label = str(record.get("label", ""))
        state = str(record.get("state", "done"))
        place = directory / record["dir"]
        if state == "done" or (place / "manifest.json").is_file():
            check_entry(directory, record)
            points.append(load_point(place, record))
        else:
            error = record.get("error")
            missing.append(f"{label}: {state}" + (f" ({error})" if error else ""))
    if records and not points and not (directory / "claims.json").is_file():
        raise ResultsError(path, f"none of its {len(records)} points has been run", "run `headway sweep` again")
    return tuple(points), tuple(missing)


def _load_run(directory: Path) -> tuple[Point, ...]:
    """The run, and for a run on a testbed the simulator's run of the same scenario, if there is one."""
    point = load_point(directory)
    if not isinstance(point.manifest.get("testbed"), Mapping) or not (directory / BESIDE / "manifest.json").is_file():
        return (point,)
    name = point.variant
    return (
        load_point(directory, {"label": "testbed", "variant": f"{name}, testbed"}),
        load_point(directory / BESIDE, {"label": BESIDE, "variant": f"{name}, simulator"}),
    )


def load(directory: Path) -> Results:
    """Load a run directory, or a sweep or reproduce directory."""
    if not directory.is_dir():
        raise ResultsError(directory, "is not a directory")
    points: tuple[Point, ...] = ()
    missing: tuple[str, ...] = ()
    if (directory / "sweep.json").is_file():
        points, missing = _load_sweep(directory)
    elif (directory / "manifest.json").is_file() or (directory / "summary.json").is_file():
        points = _load_run(directory)
    claims = _read_if_there(directory / CLAIMS_FILE)
    expectations = _read_if_there(directory / EXPECTATIONS_FILE) or ()
    if not points and claims is None:
        raise ResultsError(
            directory,
            "holds no results (no manifest.json, sweep.json or claims.json)",
            "give the --out directory of `headway run`, `headway sweep` or `headway reproduce`",
        )
    scenario_path = directory / "scenario.json"
    extra = read_object(scenario_path) if not points and scenario_path.is_file() else {}
    return Results(directory, points, missing, claims, expectations, extra)


def _read_if_there(path: Path) -> tuple[JudgedClaim, ...] | None:
    return read_claims(path) if path.is_file() else None
