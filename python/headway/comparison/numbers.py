"""Numbers of two distributions, their ratios, and whether a ratio is more than chance between seeds."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway.data.later import np
from headway.data.samples import Array
from headway.data.statistics import Estimate, estimate, nearest_rank, spans_one
from headway.data.units import ENDINGS
from headway.errors import HeadwayError, NameNotFound
from headway.reporting.summaries import is_number, summary_names

from .pairs import Pairs

NUMBERS = ("mean", "median", "p99", "max")
# Flows that take as long on both sides: to a nanosecond (and what adding up seconds rounds), and to a hundredth.
SAME_S = 1e-9 + 1e-13
CLOSE = 0.01
KILO = 1000
WITHIN, NOISE, BEYOND = "within", "noise", "beyond"


@dataclass(frozen=True)
class Ratio:
    """A number of the run over that of the reference, in base units. `ratio` is over the seeds."""

    name: str
    ours: float
    theirs: float
    ratio: Estimate

    def verdict(self, within: float) -> str:
        """`within` the bound, `noise` where it is beyond but seeds make as much, or `beyond`."""
        if abs(self.ratio.mean - 1.0) <= within:
            return WITHIN
        return NOISE if spans_one(self.ratio.interval) else BEYOND


@dataclass(frozen=True)
class Band:
    """Flows of similar size."""

    least: int
    most: int
    flows: int
    ratios: tuple[Ratio, ...]
    close: float


def full_name(name: str) -> str:
    """The name of a number that can be compared, also from its short form.

    The short form leaves out what comes before its last part, and its unit, as `bus_bandwidth`. Raises `NameNotFound`
    for a name that is none.
    """
    if name in NUMBERS or is_number(name):
        return name
    ends = [one for one in summary_names() if name in _short_forms(one)]
    nearest = min(map(_depth, ends), default=0)
    if len(found := [one for one in ends if _depth(one) == nearest]) == 1:
        return found[0]
    known = (*NUMBERS, *summary_names())
    hint = f"there is {', '.join(NUMBERS)}, what `headway list numbers` lists, and p99[<=64kB] or its like"
    raise NameNotFound("number", str(name), known, f"it is short for {', '.join(ends)}" if ends else hint)


def _short_forms(name: str) -> set[str]:
    last = name.rsplit(".", 1)[-1]
    return {last, *(last.removesuffix(end) for end in ENDINGS.values())}


def _depth(name: str) -> int:
    return name.count(".")


def number(name: str, values: Array) -> float:
    """One of `NUMBERS`; quantiles are by nearest rank, as everywhere in results."""
    if name == "mean":
        return float(np.mean(values))
    if name == "max":
        return float(np.max(values))
    return nearest_rank(values, 0.5 if name == "median" else 0.99)


def ratios(samples: Sequence[tuple[Array, Array]]) -> tuple[Ratio, ...]:
    """The numbers of each pair of samples, and the mean of their ratios; none without a flow."""
    kept = [(ours, theirs) for ours, theirs in samples if ours.size and theirs.size]
    if not kept:
        return ()
    found = []
    for name in NUMBERS:
        both = [(number(name, ours), number(name, theirs)) for ours, theirs in kept]
        mean = [math.fsum(side) / len(both) for side in zip(*both, strict=True)]
        found.append(Ratio(name, mean[0], mean[1], estimate([a / b for a, b in both])))
    return tuple(found)


def share_same(pairs: Sequence[Pairs]) -> float | None:
    """Share of the flows that take as long to a nanosecond."""
    return _share([np.abs(p.ours - p.theirs) <= SAME_S for p in pairs if p.way != "none"])


def share_close(pairs: Sequence[Pairs]) -> float | None:
    """Share of the flows that take as long to a hundredth."""
    return _share([np.abs(p.ours / p.theirs - 1.0) <= CLOSE for p in pairs if p.way != "none"])


def _share(parts: Sequence[np.ndarray]) -> float | None:
    count = sum(part.size for part in parts)
    return sum(int(np.count_nonzero(part)) for part in parts) / count if count else None


def bands(pairs: Sequence[Pairs], sizes: Sequence[Array]) -> tuple[Band, ...]:
    """The flows by size: below 1 kB, and then a band for each power of ten. `sizes` are bytes of each pair's flows."""
    if not any(size.size for size in sizes):
        return ()
    largest = max(float(size.max()) for size in sizes if size.size)
    edges = [0, KILO]
    while edges[-1] <= largest:
        edges.append(edges[-1] * 10)
    found = []
    for least, most in itertools.pairwise(edges):
        inside = [(size >= least) & (size < most) for size in sizes]
        samples = [(p.ours[i], p.theirs[i]) for p, i in zip(pairs, inside, strict=True)]
        if numbers := ratios(samples):
            close = _share([np.abs(a / b - 1.0) <= CLOSE for a, b in samples])
            count = sum(a.size for a, _ in samples)
            found.append(Band(least, most, count, numbers, close if close is not None else 0.0))
    return tuple(found)


def bound(text: str) -> float:
    """A bound as people write it: `3%`, `3 %` or `0.03`."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*", text)
    if match is None:
        raise HeadwayError(f"`{text}` is no bound: write 3% or 0.03")
    value = float(match[1])
    if not match[2] and value > 1.0:
        raise HeadwayError(f"`{text}` is no bound: write {match[1]}% or {value / 100:g}")
    return checked(value / 100.0 if match[2] else value)


def checked(value: float) -> float:
    """A bound that is one."""
    if not 0.0 <= value < float("inf"):
        raise HeadwayError(f"a bound is a share of at least 0, not {value}")
    return value
