"""Read a run directory, or a sweep or reproduce directory, into typed Python objects.

Small files (manifest, summary, claims) are read at once, and the tables (flows, links, series) are looked at; they are
read when a figure asks for them, because a sweep of several hundred points rarely needs the flows of every one.
Whatever is missing, truncated or of the wrong shape becomes a `ReportError` that names the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from headway.quantities import parse_seconds

from .errors import ReportError

Scalar = str | int | float | bool

FLOW_COLUMNS = ("flow", "src", "dst", "bytes", "start_s", "finish_s", "fct_s", "ideal_s", "slowdown", "state")
LINK_COLUMNS = ("name", "rate_bps", "busy_fraction", "queue_max_bytes", "queue_mean_bytes")
SERIES_COLUMNS = ("t_s", "entity", "metric", "value")
BESIDE = "simulator"  # folder of a testbed's run that holds the same run in the simulator
TEXT_COLUMNS = frozenset({"name", "entity", "metric", "state"})


def read_json(path: Path) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """Parse a JSON file; a missing, unreadable or truncated one is a `ReportError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReportError(path, "file is missing", "run the scenario again to produce it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(path, f"cannot be read ({error})") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ReportError(
            path, f"is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})", "it may be truncated"
        ) from None


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that must hold an object."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ReportError(path, f"should hold a JSON object, holds a {type(value).__name__}")
    return value


def read_list(path: Path, key: str) -> list[dict[str, Any]]:
    """A JSON file that holds a list of objects, bare or under `key`."""
    value = read_json(path)
    if isinstance(value, dict):
        value = value.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ReportError(path, f"should hold a list of {key}, each an object")
    return value


def read_table(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    """Read a Parquet table and check that the columns a report needs are there."""
    check_table(path)
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise ReportError(path, f"lacks the column{'s' if len(absent) > 1 else ''} {', '.join(absent)}")
    for name in columns:
        if name not in TEXT_COLUMNS and not (
            frame[name].dtype.is_numeric() or frame[name].null_count() == frame.height
        ):
            raise ReportError(path, f"column {name} should hold numbers, holds {frame[name].dtype}")
    return frame


def check_table(path: Path) -> None:
    """Raise `ReportError` if a Parquet file is missing or its end, where its table of contents is, is not whole.

    This costs little, so it is done for every table of every point, also for those that no figure reads.
    """
    if not path.is_file():
        raise ReportError(path, "file is missing", "run the scenario again to produce it")
    try:
        pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> ReportError:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return ReportError(path, f"is not a readable Parquet file ({reason})", "it may be truncated")


@dataclass(frozen=True)
class Point:
    """One finished run: where it lies, and what of the sweep it stands for."""

    label: str
    directory: Path
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    variant: str
    axes: Mapping[str, Scalar]
    seed: int

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario, every default filled in."""
        value = self.manifest.get("scenario", {})
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def fabric(self) -> Mapping[str, Any]:
        """The fabric; beside and on a testbed, with the sizes of the packets that there were."""
        declared, testbed = self.scenario.get("fabric"), self.manifest.get("testbed")
        sizes = testbed.get("packet_sizes") if isinstance(testbed, Mapping) else None
        parts = (part for part in (declared, sizes) if isinstance(part, Mapping))
        return {key: value for part in parts for key, value in part.items()}

    @property
    def parts(self) -> tuple[Point, ...]:
        """Where the run has several transports a point for each, with its flows and the numbers over them."""
        split = self.summary.get("by_transport")
        return tuple(PartPoint.of(self, name) for name in split) if isinstance(split, Mapping) else ()

    @property
    def transport(self) -> str:
        """Name of the transport, or the names of several with `+` between them."""
        split = self.summary.get("by_transport")
        if isinstance(split, Mapping) and split:
            return "+".join(dict.fromkeys(str(label).split("(")[0] for label in split))
        value = self.scenario.get("transport", {})
        return str(value.get("name", "unknown")) if isinstance(value, Mapping) else str(value)

    @property
    def warmup_s(self) -> float:
        """Flows that start earlier do not enter statistics."""
        return parse_seconds(self.scenario.get("warmup")) or 0.0

    @cached_property
    def flows(self) -> pl.DataFrame:
        """All flows, finished or not."""
        frame = read_table(self.directory / "flows.parquet", FLOW_COLUMNS)
        if "name" not in frame.columns:
            frame = frame.with_columns(pl.col("flow").cast(pl.String).alias("name"))
        return frame

    @cached_property
    def measured_flows(self) -> pl.DataFrame:
        """Finished flows that started after the warm-up."""
        return self.flows.filter((pl.col("state") == "done") & (pl.col("start_s") >= self.warmup_s))

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row a directed link."""
        return read_table(self.directory / "links.parquet", LINK_COLUMNS)

    @cached_property
    def series(self) -> pl.DataFrame:
        """Sampled series, long form; empty if the scenario samples nothing."""
        path = self.directory / "series.parquet"
        return read_table(path, SERIES_COLUMNS).with_columns(pl.col("entity").cast(pl.String))


@dataclass(frozen=True)
class PartPoint(Point):
    """One transport's part of a run that has several."""

    whole: Point
    part: str

    @classmethod
    def of(cls, whole: Point, transport: str) -> PartPoint:
        """The part of `transport`; its variant is called after both, or after it alone where the run has no variant."""
        summary = whole.summary["by_transport"][transport]
        variant = transport if whole.variant == whole.transport else f"{whole.variant}: {transport}"
        place = (whole.label, whole.directory, whole.manifest)
        return cls(*place, summary, variant, whole.axes, whole.seed, whole, transport)

    @property
    def transport(self) -> str:
        """Its transport."""
        return self.part

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The flows of its transport."""
        return self.whole.flows.filter(pl.col("transport") == self.part)


@dataclass(frozen=True)
class Results:
    """Everything a report is made from."""

    directory: Path
    points: tuple[Point, ...]
    missing: tuple[str, ...] = ()  # points of a sweep without results, each with its state
    claims: tuple[Mapping[str, Any], ...] | None = None
    expectations: tuple[Mapping[str, Any], ...] = ()
    model_rows: tuple[Mapping[str, Any], ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scenario(self) -> Mapping[str, Any]:
        """Resolved scenario of the first point (title, report table)."""
        if self.points:
            return self.points[0].scenario
        return self.extra

    @property
    def is_model(self) -> bool:
        """Whether the scenario is a closed-form model and simulates nothing."""
        return self.model_rows is not None or (not self.points and self.asks_for_model)

    @property
    def asks_for_model(self) -> bool:
        """Whether the [report] table names the figure of the model."""
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
    manifest = read_object(directory / "manifest.json")
    summary = read_object(directory / "summary.json")
    for name in ("flows", "links", "series"):
        check_table(directory / f"{name}.parquet")
    record = record or {}
    seed = record.get("seed", manifest.get("seed", 0))
    axes = record.get("axes") or {}
    draft = Point(
        label=str(record.get("label") or directory.name),
        directory=directory,
        manifest=manifest,
        summary=summary,
        variant=str(record.get("variant") or ""),
        axes=dict(axes) if isinstance(axes, Mapping) else {},
        seed=int(seed),
    )
    if draft.variant:
        return draft
    return Point(draft.label, directory, manifest, summary, draft.transport, draft.axes, draft.seed)


def _load_sweep(directory: Path) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """The finished points, and a line for each point that has no results, with the reason."""
    path = directory / "sweep.json"
    points: list[Point] = []
    missing: list[str] = []
    records = read_list(path, "points")
    for record in records:
        label = str(record.get("label", ""))
        state = str(record.get("state", "done"))
        place = directory / str(record.get("dir") or Path("points") / label)
        if state == "done" or (place / "manifest.json").is_file():
            points.append(load_point(place, record))
        else:
            error = record.get("error")
            missing.append(f"{label}: {state}" + (f" ({error})" if error else ""))
    if records and not points and not (directory / "claims.json").is_file():
        raise ReportError(path, f"none of its {len(records)} points has been run", "run `headway sweep` again")
    return tuple(points), tuple(missing)


def _load_run(directory: Path) -> tuple[Point, ...]:
    """The run, and for a run on a testbed the simulator's beside it, if that was made."""
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
        raise ReportError(directory, "is not a directory")
    points: tuple[Point, ...] = ()
    missing: tuple[str, ...] = ()
    if (directory / "sweep.json").is_file():
        points, missing = _load_sweep(directory)
    elif (directory / "manifest.json").is_file() or (directory / "summary.json").is_file():
        points = _load_run(directory)
    claims = _read_if_there(directory / "claims.json", "claims")
    expectations = _read_if_there(directory / "expectations.json", "expectations") or ()
    rows = _read_if_there(directory / "model.json", "rows")
    if not points and claims is None and rows is None:
        raise ReportError(
            directory,
            "holds no results (no manifest.json, sweep.json, claims.json or model.json)",
            "give the --out directory of `headway run`, `headway sweep` or `headway reproduce`",
        )
    scenario_path = directory / "scenario.json"
    extra = read_object(scenario_path) if not points and scenario_path.is_file() else {}
    return Results(directory, points, missing, claims, expectations, rows, extra)


def _read_if_there(path: Path, key: str) -> tuple[dict[str, Any], ...] | None:
    return tuple(read_list(path, key)) if path.is_file() else None
