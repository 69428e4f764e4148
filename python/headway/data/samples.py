"""Arrays of samples: bins of equal count, distributions, thinning of long series. Quantiles are by nearest rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headway.data.later import np
from headway.data.statistics import nearest_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"


def equal_count_edges(sizes: Array, bins: int) -> Array:
    """Upper edges of at most `bins` bins with about equally many flows; equal sizes never part."""
    ordered = np.sort(sizes)
    cuts = [ordered[min(len(ordered) - 1, math.ceil(len(ordered) * (i + 1) / bins) - 1)] for i in range(bins)]
    return np.unique(np.asarray(cuts, dtype=np.float64))


@dataclass(frozen=True)
class SizeBins:
    """Slowdown in bins of flow size: `lo` and `hi` are the smallest and largest size met in each bin."""

    size: Array
    count: NDArray[np.int64]
    mean: Array
    p50: Array
    p99: Array


def by_size(sizes: Array, values: Array, edges: Array) -> SizeBins:
    """Mean, median and 99th percentile of `values` in each size bin (NaN where a bin is empty)."""
    place = np.searchsorted(edges, sizes, side="left").clip(0, len(edges) - 1)
    rows = []
    for index in range(len(edges)):
        inside = values[place == index]
        if len(inside) == 0:
            rows.append((0, math.nan, math.nan, math.nan))
        else:
            p50, p99 = nearest_rank(inside, 0.5), nearest_rank(inside, 0.99)
            rows.append((len(inside), float(np.mean(inside)), p50, p99))
    count, mean, p50s, p99s = (np.asarray(column) for column in zip(*rows, strict=True))
    return SizeBins(edges, count.astype(np.int64), mean.astype(float), p50s.astype(float), p99s.astype(float))


def cdf(values: Array, limit: int = 240) -> tuple[Array, Array]:
    """Points (x, share of values at or below x) of the empirical distribution.

    All of them if there are at most `limit`; else `limit` order statistics, denser towards the upper tail.
    """
    ordered = np.sort(values)
    n = len(ordered)
    if n <= limit:
        ranks = np.arange(n)
    else:
        tail = limit // 4
        body = np.linspace(0, 0.95 * (n - 1), limit - tail)
        ranks = np.unique(np.concatenate([body, np.linspace(0.95 * (n - 1), n - 1, tail)]).round().astype(np.int64))
    return ordered[ranks], (ranks + 1) / n


@dataclass(frozen=True)
class Thinned:
    """A series with at most a given number of points; `low` and `high` are the envelope when several became one."""

    time: Array
    value: Array
    low: Array | None
    high: Array | None
    factor: int


def thin(time: Array, value: Array, limit: int) -> Thinned:
    """Mean of every `factor` consecutive intervals, time-stamped with the end of the last, with their min and max."""
    factor = max(1, math.ceil(len(time) / limit))
    if factor == 1:
        return Thinned(time, value, None, None, 1)
    starts = np.arange(0, len(time), factor)
    ends = np.minimum(starts + factor, len(time)) - 1
    counts = ends - starts + 1
    mean = np.add.reduceat(value, starts) / counts
    return Thinned(time[ends], mean, np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts), factor)
