"""Statistics of results: means with confidence intervals over seeds.

A confidence interval is Student's t over seeds: it says
how much a number would move with other random arrivals, and nothing about one run's own flows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from headway.data.bounds import bounded, joined
from headway.data.later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE = 0.95
# Relative spread that only the rounding of equal values causes.
ROUNDING = 1e-12


def nearest_rank(values: Sequence[float] | NDArray[np.float64], at: float) -> float:
    """The quantile `at` by nearest rank, as everywhere in results; of at least one value."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), at, method="inverted_cdf"))


@dataclass(frozen=True)
class Estimate:
    """A mean over `count` seeds; `half_width` is that of its 95 % interval, None for a single seed.

    If flows that were open at the end could move it, the mean is a `Bound` and has no interval.
    """

    mean: float
    half_width: float | None
    count: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval."""
        if self.half_width is None:
            return None
        return (self.mean - self.half_width, self.mean + self.half_width)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and Student-t interval of at least one value."""
    count = len(values)
    mean = math.fsum(values) / count
    if (sign := joined(values)) is not None:
        return Estimate(bounded(mean, sign), None, count)
    if count < 2 or not math.isfinite(mean):
        return Estimate(mean, None, count)
    variance = math.fsum((v - mean) ** 2 for v in values) / (count - 1)
    half_width = student_quantile(CONFIDENCE, count - 1) * math.sqrt(variance / count)
    return Estimate(mean, half_width if half_width > abs(mean) * ROUNDING else 0.0, count)


def over_seeds(values: Sequence[float | None]) -> Estimate | None:
    """The estimate of one value a seed; seeds without a finite value are left out."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    return estimate(finite) if finite else None


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios, each of one seed; `interval` has its ends at 95 %, None for a single one."""

    mean: float
    interval: tuple[float, float] | None

    @property
    def contains_one(self) -> bool:
        """True if the interval does not tell the two apart; False without an interval."""
        return spans_one(self.interval)


def spans_one(interval: tuple[float, float] | None) -> bool:
    """True if an interval of ratios contains 1."""
    return interval is not None and interval[0] <= 1.0 <= interval[1]


def ratio_over_seeds(pairs: Sequence[tuple[float | None, float | None]]) -> Ratio | None:
    """The ratio of the first to the second, over the pairs that have both; Student's interval of the logarithms.

    None without such a pair, and where one holds a number that has no ratio to another.
    """
    both = [(one, other) for one, other in pairs if one is not None and other is not None]
    if not both or any(not (math.isfinite(number) and number > 0.0) for pair in both for number in pair):
        return None
    if (sign := joined([one / other for one, other in both])) is not None:
        # A ratio that open flows on both sides could move is not reported.
        mean = math.exp(math.fsum(math.log(one / other) for one, other in both) / len(both))
        return Ratio(bounded(mean, sign), None) if sign else None
    found = estimate([math.log(one / other) for one, other in both])
    ends = found.interval
    return Ratio(math.exp(found.mean), None if ends is None else (math.exp(ends[0]), math.exp(ends[1])))


@cache
def student_quantile(confidence: float, degrees: int) -> float:
    """The t for which a Student variable lies within -t..t with probability `confidence`."""
    low, high = 0.0, 1.0
    while student_probability(high, degrees) < confidence:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if student_probability(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def student_probability(t: float, degrees: int) -> float:
    """P(|T| < t): the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    theta = math.atan2(t, math.sqrt(degrees))
    cosine = math.cos(theta)
    if degrees % 2 == 0:
        term = total = 1.0
        for k in range(2, degrees - 1, 2):
            term *= cosine * cosine * (k - 1) / k
            total += term
        return math.sin(theta) * total
    if degrees == 1:
        return 2.0 * theta / math.pi
    term = total = cosine
    for k in range(3, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2.0 / math.pi * (theta + math.sin(theta) * total)
