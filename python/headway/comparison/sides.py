"""Sides of a comparison: a run, the runs of a sweep that differ in their seed only, or a table from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import _headway
from headway.data.point import Point, by_place
from headway.data.run import Run, read
from headway.data.sweep import Sweep, read_sweep
from headway.data.table import ArrowStream
from headway.errors import (
    HeadwayError,
    NameNotFound,
    ResultsError,
    did_you_mean,
    holds_results,
    made_by,
    nearest_paths,
    no_results,
    with_help,
)
from headway.layout import MANIFEST_FILE, SWEEP_FILE
from headway.loading import Scenario

from .tables import misspelt, read_flows

if TYPE_CHECKING:
    import polars

TABLES = (".csv", ".csv.gz", ".parquet")
TIMES = ("fct_s", "sender_fct_s")
NAME_IT = "name the reference, or with --reference-at another point of a sweep"
KEPT = ("name", "src", "dst", "bytes", "start_s", *TIMES)


@dataclass(frozen=True)
class Sample:
    """The flows of one run or of one table. `seed` is None where there is only one."""

    name: str
    flows: polars.DataFrame
    seed: int | None = None
    run: Run | None = None
    scenario: _headway.Scenario | None = field(default=None, repr=False)
    # Error to raise if its flows would be paired by their places.
    odd: HeadwayError | None = field(default=None, repr=False)

    @cached_property
    def native(self) -> _headway.Scenario | None:
        """The scenario as it was run; None for a table, and where it is not what it was."""
        if self.scenario is not None or self.run is None:
            return self.scenario
        written = self.run.manifest.get("written")
        if not isinstance(written, dict):
            return None
        try:
            found = _headway.Scenario.from_text(
                written["text"], written["name"], written["sets"], written["scale"], written["folder"]
            )
        except HeadwayError:
            return None
        return found if found.digest() == self.run.manifest.get("digest") else None


@dataclass(frozen=True)
class Side:
    """One of the two that are compared: a sample for each seed, in ascending order."""

    name: str
    samples: tuple[Sample, ...]


def of_run(run: Any, *, at: str | None = None, sets: Sequence[str] = ()) -> Side:  # noqa: ANN401
    """A run, a sweep or a scenario: as an object, by its directory, or by the scenario's name."""
    if isinstance(run, Run):
        _no_point(str(run.directory or "the run"), at)
        return _side(str(run.directory or "the run"), [_sample(run)])
    if isinstance(run, Sweep):
        return _of_points(str(run.directory), run, at)
    if isinstance(run, Scenario):
        return _of_scenario(run, at)
    path = Path(run)
    if not path.is_dir():
        return _of_scenario(_scenario(run, sets), at)
    if sets:
        raise HeadwayError(f"{path} holds results: --set overrides keys of a scenario that is yet to run")
    if not _is_sweep(path):
        _no_point(str(path), at)
    return _of_directory(path, at)


def summaries_of(run: str | Path, at: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The runs that a name stands for, as in `of_run`, and their summaries."""
    return [(one.name, one.run.summary) for one in of_run(run, at=at).samples if one.run is not None]


def _scenario(run: str | Path, sets: Sequence[str]) -> Scenario:
    """The scenario of a name that is not a directory; raises `ResultsError` if it is not a scenario either."""
    try:
        return Scenario.load(run, sets=list(sets))
    except NameNotFound as error:
        if error.kind != "scenario":
            raise
        path = Path(run)
        asked = did_you_mean(error.nearest)
        lines = [nearest_paths(path, folders=True), with_help(*filter(None, (asked, made_by(path))))]
        why = "is neither a directory of results nor the name of a scenario"
        raise ResultsError(path, why + next(line for line in lines if line)) from None


def _no_point(name: str, at: str | None) -> None:
    """Raise if a point is asked of one run."""
    if at is not None:
        raise HeadwayError(f"{name} is one run, and has no point '{at}': --at and --reference-at name points of sweeps")


def _is_sweep(path: Path) -> bool:
    return (path / SWEEP_FILE).exists() and not (path / MANIFEST_FILE).exists()


def of_reference(found: Any, column: str | None = None, *, at: str | None = None) -> Side:  # noqa: ANN401
    """Reference of a comparison: as for `of_run`, or a table by its path or as an Arrow table."""
    if isinstance(found, Run):
        return of_run(found)
    if isinstance(found, Sweep | Scenario):
        return of_run(found, at=at)
    if isinstance(found, ArrowStream):
        frame, odd = _of_frame(found)
        return _side("the table", [Sample("the table", frame, odd=odd)])
    path = Path(found)
    if path.is_dir():
        if column is not None:
            raise HeadwayError(f"{path} holds results: --reference names a column of a table")
        return _of_directory(path, at)
    if path.name.endswith(TABLES):
        flows, odd = read_flows(path, column)
        return _side(str(found), [Sample(str(found), flows, odd=odd)])
    hint = "give a table (.csv, .csv.gz, .parquet) or a directory of results"
    if path.suffix == ".toml" and path.is_file():
        hint += f": `headway run {path} --out DIR` makes one of a scenario"
    elif close := nearest_paths(path):
        raise ResultsError(path, "no such table, and no such directory" + close)
    raise ResultsError(path, "is neither a table nor a directory", hint)


def of_own_list(side: Side, column: str | None) -> Side:
    """The table of flows that a run was made from, where that holds completion times too."""
    native = side.samples[0].native
    if native is None:
        raise HeadwayError(f"{side.name}: which table its flows came from is not known; {NAME_IT}")
    written = side.samples[0].run.manifest.get("written") if side.samples[0].run is not None else None
    entries = json.loads(native.resolved_json()).get("traffic", [])
    paths = [entry["path"] for entry in entries if entry.get("kind") == "file" and entry.get("kept_columns")]
    if len(set(paths)) != 1:
        what = "no table of flows with other columns" if not paths else f"several tables of flows: {', '.join(paths)}"
        raise HeadwayError(f"{side.name}: its scenario names {what}; {NAME_IT}")
    folder = Path(written["folder"]) if isinstance(written, dict) else Path()
    return replace(of_reference(folder / paths[0], column), name=paths[0])


def _of_directory(path: Path, at: str | None) -> Side:
    if not holds_results(path):
        raise no_results(path)
    if _is_sweep(path):
        return _of_points(str(path), read_sweep(path), at)
    return _side(str(path), [_sample(read(path))])


def _of_scenario(scenario: Scenario, at: str | None) -> Side:
    """Run it: once for each requested seed."""

    def run(point: Point) -> Sample:
        return _sample(scenario.at(point).run(), point)

    called = scenario.name if at is None else f"{scenario.name} at {at}"
    return _side(called, [run(point) for point in _chosen(scenario.name, scenario.points(checked=False), at)])


def _of_points(name: str, points: Iterable[Point], at: str | None) -> Side:
    called = name if at is None else f"{name} at {at}"
    return _side(called, [_sample(point.run, point) for point in _chosen(name, list(points), at)])


def _chosen(name: str, points: Sequence[Point], at: str | None) -> list[Point]:
    """The points of one variant at one place of every axis: those that differ in their seed only."""
    groups = {place_of(own[0]): own for own in by_place(points)}
    if at is not None:
        wanted = ",".join(part for part in at.split(",") if not part.startswith("seed="))
        chosen = groups.get(wanted, [])
        seeds = [part.removeprefix("seed=") for part in at.split(",") if part.startswith("seed=")]
        chosen = [point for point in chosen if not seeds or str(point.seed) in seeds]
        if not chosen:
            raise NameNotFound("point", at, groups, f"{name} has {', '.join(groups)}")
        return chosen
    if len(groups) > 1:
        shown = ", ".join(list(groups)[:6]) + (", ..." if len(groups) > 6 else "")
        raise HeadwayError(f"{name} has several points: {shown}\n  say which one is meant (--at)")
    if not points:
        raise HeadwayError(f"{name}: no run of it is finished")
    return list(points)


def place_of(point: Point) -> str:
    """The label of a point without its seed."""
    return ",".join(part for part in point.label.split(",") if not part.startswith("seed="))


def _sample(run: Run, point: Point | None = None) -> Sample:
    frame = run.flows.to_polars()
    # Flows that started before the warm-up are not in the statistics of the run.
    frame = frame.filter(frame["start_s"] >= run.warmup_s)
    name = point.label if point is not None else str(run.directory or run.manifest.get("name") or "the run")
    return Sample(name, frame, point.seed if point is not None else None, run)


def _side(name: str, samples: list[Sample]) -> Side:
    if len(samples) == 1:
        return Side(name, (replace(samples[0], name=name),))
    return Side(name, tuple(sorted(samples, key=lambda sample: sample.seed or 0)))


def _of_frame(table: ArrowStream) -> tuple[polars.DataFrame, HeadwayError | None]:
    import polars

    frame = polars.DataFrame(table)
    if "fct_s" not in frame.columns:
        raise HeadwayError(f"the table has no column `fct_s`; it has {', '.join(frame.columns)}")
    wrong = frame.with_row_index("row").filter(frame["fct_s"] <= 0.0)
    if wrong.height:
        first = wrong["fct_s"][0]
        raise HeadwayError(f"row {wrong['row'][0]} of the table: a completion time is above 0 and not {first}")
    if "name" not in frame.columns and "id" in frame.columns:
        frame = frame.with_columns(frame["id"].cast(polars.String).alias("name"))
    heads = [name for name in frame.columns if name not in TIMES]
    odd = misspelt(heads, lambda name: ["" if v is None else str(v) for v in frame[name].to_list()])
    said = HeadwayError(f"the table: {odd[1]}") if odd else None
    return frame.select([name for name in KEPT if name in frame.columns]), said
