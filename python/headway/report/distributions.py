"""The flows of several runs together, and whether they are enough for a distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from headway.data.point import Point
from headway.data.samples import Array

from .study import Study

FLOWS_NEEDED = 20


def pooled(points: Sequence[Point], column: str) -> Array:
    frames = [point.measured_flows.select(pl.col(column).cast(pl.Float64)) for point in points]
    values = pl.concat(frames)[column].to_numpy() if frames else np.empty(0)
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)


def few_flows(study: Study) -> str | None:
    most = max((pooled(study.group(v, f), "bytes").size for f in study.facets for v in study.variants), default=0)
    if most >= FLOWS_NEEDED:
        return None
    return f"{most} finished flows a variant; a distribution needs at least {FLOWS_NEEDED} (see the table of flows)"
