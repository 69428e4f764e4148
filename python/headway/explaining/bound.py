"""The most that a transport could gain on the flows of a run: each of its flows takes as long as alone.

A claim of a lower completion time compares a paper's transport with a peer. No transport beats the empty network, so
the claim measured with the transport's completion times replaced by the ideal ones bounds what any transport could
show: for means it is `1 - sum(ideal) / sum(measured)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headway.claims.evaluate import samples_of
from headway.claims.ledger import Claim
from headway.claims.verdict import TOLERANCE_PERCENT, Qualifier
from headway.data.claims import Value
from headway.data.later import pl
from headway.data.point import Point
from headway.data.run import Run
from headway.data.statistics import estimate
from headway.data.table import Table
from headway.errors import HeadwayError

# Of a claim with this unit, more can be reached by lower completion times of its transport alone.
GAIN = "percent lower"
# Quantiles of `summary.json`, by the names that they have there.
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


class IdealRun(Run):
    """A run in which each flow takes as long as it does alone. It has completion times and nothing else."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.directory)
        self._run = run

    @cached_property
    def flows(self) -> Table:
        """The flows, none of which met another. No mean is over those that did not finish."""
        frame = self._run.flows.to_polars()
        ideal = pl.when(pl.col("fct_s").is_not_null()).then(pl.col("ideal_s"))
        return Table(
            frame.with_columns(
                fct_s=ideal, finish_s=pl.col("start_s") + ideal, slowdown=pl.when(ideal.is_not_null()).then(1.0)
            )
        )

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers over completion times; no other can be known."""
        frame = self.flows.to_polars()
        times = frame.filter(pl.col("start_s") >= self._run.warmup_s)["fct_s"].drop_nulls().sort()
        if times.is_empty():
            return {}
        nearest = {name: times[max(1, _rank(q, len(times))) - 1] for name, q in QUANTILES.items()}
        numbers = {"mean": float(times.sum()) / len(times), **nearest, "max": times[-1]}
        slowdowns = {f"slowdown_{name}": 1.0 for name in numbers}
        return {f"fct_{name}_s": value for name, value in numbers.items()} | slowdowns

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Manifest of the run."""
        return self._run.manifest

    @cached_property
    def links(self) -> Table:
        """Not known."""
        raise HeadwayError("an ideal run has completion times only")

    @cached_property
    def series(self) -> Table:
        """Not known."""
        raise HeadwayError("an ideal run has completion times only")


def _rank(q: float, count: int) -> int:
    return -int(-(q * count) // 1)


@dataclass(frozen=True)
class Bound:
    """Bound on any transport for these flows, compared with these peers, and whether the published number lies below
    it."""

    gain: float
    wanted: float

    @property
    def reachable(self) -> bool:
        """True if some transport could reach the claimed number."""
        return self.gain >= self.wanted


def bound_of(claim: Claim, runs: Sequence[Point]) -> Bound | None:
    """The bound of a claim of a gain; None for any other, and where the runs do not give it.

    It is also None where the claim names no transport, and where more was measured than that: then lower completion
    times do not improve what is compared.
    """
    published = claim.published
    if not claim.unit.startswith(GAIN) or claim.measure is None or not isinstance(published, int | float):
        return None
    if not claim.transports:
        return None
    own = claim.transports[0]
    if not any(point.transport == own for point in runs):
        return None
    gains = _measured(claim, [ideal(point) if point.transport == own else point for point in runs])
    measured = _measured(claim, runs)
    if not gains or not measured or estimate(gains).mean < estimate(measured).mean:
        return None
    return Bound(estimate(gains).mean, wanted(float(published), claim.qualifier))


def ideal(point: Point) -> Point:
    """The point with an ideal run."""
    return replace(point, results=IdealRun(point.run))


def wanted(published: float, qualifier: Qualifier) -> float:
    """The least that counts as reproduced."""
    return published - abs(published) * TOLERANCE_PERCENT.get(qualifier, 0.0) / 100.0


def _measured(claim: Claim, runs: Iterable[Point]) -> list[float]:
    try:
        values: list[Value] = samples_of(claim, list(runs))
    except HeadwayError:
        return []
    return [value for value in values if isinstance(value, float)]
