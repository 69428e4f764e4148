"""A point of a sweep: a variant at one value of every axis, with one seed, and once it is run, its results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.data.reader import check_columns
from headway.data.run import Run, RunPart
from headway.errors import HeadwayError

if TYPE_CHECKING:
    import polars

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Point:
    """One run of a sweep, made or to be made: a variant at one value of every axis, with one seed.

    `sets` are the overrides that make the scenario this point; `results` is what its run left, if it was run.
    """

    label: str
    variant: str
    axes: Mapping[str, Any]
    seed: int
    sets: tuple[str, ...] = field(default=(), repr=False)
    results: Run | None = field(default=None, repr=False)
    whole: Point | None = field(default=None, repr=False)  # of which this is one transport's part

    @property
    def place(self) -> str:
        """Variant and axes as one text. Points of one place differ in their seeds alone: in random draws."""
        return json.dumps([self.variant, dict(self.axes)], sort_keys=True, default=str)

    @property
    def run(self) -> Run:
        """Its results."""
        if self.results is None:
            raise HeadwayError(f"the point {self.label} has not been run")
        return self.results

    @cached_property
    def parts(self) -> tuple[Point, ...]:
        """If the run has several transports, a point for each, with its flows and the numbers over them."""
        return tuple(self._part(name) for name in self.run.transports)

    def _part(self, transport: str) -> Point:
        """Its variant is called after both, or after the transport alone where the run has no variant."""
        variant = transport if self.variant == self.run.transport else f"{self.variant}: {transport}"
        return replace(self, variant=variant, results=self.run.among(transport), whole=self)

    @property
    def part(self) -> str:
        """The transport that this is the part of; empty of a whole run."""
        return self.results.transport if isinstance(self.results, RunPart) else ""

    @property
    def directory(self) -> Path:
        """Directory of its results."""
        return self.run.directory or Path()

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Manifest: scenario, version and machine of the run."""
        return self.run.manifest

    @property
    def summary(self) -> Mapping[str, Any]:
        """The numbers."""
        return self.run.summary

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario, every default filled in."""
        return self.run.scenario

    @property
    def fabric(self) -> Mapping[str, Any]:
        """The fabric, with the sizes of the packets that there were."""
        return self.run.fabric

    @property
    def transport(self) -> str:
        """Name of the transport, or the names of several with `+` between them."""
        return self.run.transport

    @cached_property
    def flows(self) -> polars.DataFrame:
        """All flows, finished or not, each with a name."""
        frame = self._table("flows")
        if "name" in frame.columns:
            return frame
        return frame.with_columns(frame["flow"].cast(str).alias("name"))

    @cached_property
    def measured_flows(self) -> polars.DataFrame:
        """Finished flows that started after the warm-up."""
        return self.flows.filter((self.flows["state"] == "done") & (self.flows["start_s"] >= self.run.warmup_s))

    @cached_property
    def counted_flows(self) -> polars.DataFrame:
        """The measured flows, and those that have begun and are open at the end (`is_open`): of these `fct_s` and
        `slowdown` are what they are at least."""
        import polars

        if "at_least_s" not in self.flows.columns:
            return self.measured_flows.with_columns(polars.lit(value=False).alias("is_open"))
        least = polars.col("at_least_s")
        kept = (polars.col("state") == "done") & (polars.col("start_s") >= self.run.warmup_s)
        slowdown = polars.max_horizontal(least / polars.col("ideal_s"), 1.0)
        return self.flows.filter(kept | least.is_not_null()).with_columns(
            least.is_not_null().alias("is_open"),
            polars.coalesce("fct_s", least).alias("fct_s"),
            polars.when(least.is_not_null()).then(slowdown).otherwise(polars.col("slowdown")).alias("slowdown"),
        )

    def _table(self, name: str) -> polars.DataFrame:
        return check_columns(self.directory / f"{name}.parquet", getattr(self.run, name).to_polars(), name)

    @cached_property
    def links(self) -> polars.DataFrame:
        """One row a directed link."""
        return self._table("links")

    @cached_property
    def series(self) -> polars.DataFrame:
        """Sampled series, long form; empty if the scenario samples nothing."""
        frame = self._table("series")
        return frame.with_columns(frame["entity"].cast(str))


def by_place(points: Iterable[Point]) -> list[list[Point]]:
    """Points of one place together, in order of appearance: those of a list differ in their seeds alone."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.place, []).append(point)
    return list(found.values())


# Type of the items of `read_sweep`.
SweepRun = Point
