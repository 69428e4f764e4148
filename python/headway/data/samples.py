"""Arrays of samples: bins of equal count, distributions, thinning of long series. Quantiles are by nearest rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headway.data.bounds import Sample
from headway.data.later import np

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
    """Slowdown in bins of flow size, `size` being the largest of each; None where nothing in a bin ended."""

    size: Array
    count: tuple[int, ...]
    mean: tuple[float | None, ...]
    p50: tuple[float | None, ...]
    p99: tuple[float | None, ...]


def by_size(sizes: Array, values: Array, edges: Array, is_open: NDArray[np.bool_] | None = None) -> SizeBins:
    """Mean, median and 99th percentile of `values` in each size bin; those that are open are at least so much."""
    place = np.searchsorted(edges, sizes, side="left").clip(0, len(edges) - 1)
    among = np.zeros(len(values), dtype=bool) if is_open is None else is_open
    bins = [Sample(values[place == index], among[place == index]) for index in range(len(edges))]
    return SizeBins(
        edges,
        tuple(one.all.size for one in bins),
        tuple(one.mean() for one in bins),
        tuple(one.quantile(0.5) for one in bins),
        tuple(one.quantile(0.99) for one in bins),
    )


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
