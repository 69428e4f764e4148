"""From the measures over the seeds to a verdict. All tolerances are here and nowhere else.

A number is `reproduced` when the mean over seeds is within the tolerance of its qualifier; `direction-only` when it is
not, but the claim's `direction` (for instance `measured > 0`) holds at both ends of the 95 % interval. A statement is
`reproduced` when its predicate holds for every seed. An order is `reproduced` when all neighbouring places are as
published and no interval of a paired difference includes zero; `direction-only` when the means are in that order but
an interval includes zero, or when only the first place is right.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headway.claims.language import CannotMeasure
from headway.data.bounds import Bound, told
from headway.data.claims import Interval, Value, Verdict
from headway.data.statistics import Estimate, estimate


class Qualifier(enum.StrEnum):
    """Strictness of the paper's statement."""

    EXACT = "exact"
    ABOUT = "about"
    UP_TO = "up to"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    OVER = "over"
    BELOW = "below"
    RANGE = "range"
    STATED = "stated"
    IMPLIED = "implied"


# Percent of the published value by which a mean may differ. `up to` is the best point of a sweep, so it is compared
# like `about`; bounds are strict.
TOLERANCE_PERCENT: Mapping[Qualifier, float] = {
    Qualifier.EXACT: 5.0,
    Qualifier.IMPLIED: 5.0,
    Qualifier.ABOUT: 10.0,
    Qualifier.UP_TO: 10.0,
    Qualifier.RANGE: 5.0,
    Qualifier.STATED: 5.0,
}
BOUNDS: Mapping[Qualifier, tuple[str, Callable[[float, float], bool]]] = {
    Qualifier.AT_LEAST: ("at least", lambda measured, bound: measured >= bound),
    Qualifier.AT_MOST: ("at most", lambda measured, bound: measured <= bound),
    Qualifier.OVER: ("over", lambda measured, bound: measured > bound),
    Qualifier.BELOW: ("below", lambda measured, bound: measured < bound),
}
NUMERIC_QUALIFIERS = frozenset({*TOLERANCE_PERCENT, *BOUNDS})
# Words in reasons for the number that a measured one is compared with: a paper's, or one that Headway expects.
PUBLISHED = "published"
EXPECTED = "expected"
# A difference that is not worth telling.
SAME_AS_PUBLISHED = 5e-4
# Direction of an order, as the sign by which each place must differ from the next.
ORDERS: Mapping[str, int] = {"lowest first": 1, "highest first": -1, "equal": 0}

Predicate: TypeAlias = Callable[[Value], bool]


@dataclass(frozen=True)
class Judgement:
    """A verdict with the measured value behind it."""

    verdict: Verdict
    reason: str
    measured: Value | None = None
    ci95: Interval | None = None
    seeds: int = 0
    # The smallest and the largest of repeated measurements, of which `measured` is the median.
    range: Interval | None = None


def pending(reason: str) -> Judgement:
    """Nothing was measured."""
    return Judgement(Verdict.PENDING, reason)


def judge_number(
    published: float | Sequence[float],
    qualifier: Qualifier,
    samples: Sequence[Value],
    direction: Predicate | None,
    stated: str = PUBLISHED,
) -> Judgement:
    """Compare the means over seeds with the published numbers: one number for all of them, a number each, or a range.

    `stated` is what reasons call the number that is compared with.
    """
    if qualifier is Qualifier.RANGE:
        estimates = _estimates(samples)
        agrees, text = _in_range(_list(published), estimates, TOLERANCE_PERCENT[qualifier])
    else:
        estimates = _estimates(samples)
        wanted = _list(published) if isinstance(published, Sequence) else [float(published)] * len(estimates)
        if len(estimates) != len(wanted):
            raise CannotMeasure(f"the measure gives {len(estimates)} numbers, {len(wanted)} are {stated}")
        outcomes = [_compare(e.mean, p, qualifier, stated) for e, p in zip(estimates, wanted, strict=True)]
        agrees = all(ok for ok, _ in outcomes)
        text = "; ".join(text for _, text in outcomes)
    if agrees:
        return _judgement(Verdict.REPRODUCED, text, samples, estimates)
    if direction is not None and _holds_over_interval(direction, estimates, samples):
        return _judgement(Verdict.DIRECTION_ONLY, f"{text}; the direction is right", samples, estimates)
    return _judgement(Verdict.NOT_REPRODUCED, text, samples, estimates)


def judge_statement(samples: Sequence[Value], holds: Predicate, direction: Predicate | None) -> Judgement:
    """A statement must hold for every seed."""
    estimates = _estimates(samples)
    true = sum(1 for sample in samples if holds(sample))
    text = f"holds for {true} of {len(samples)} seeds" if len(samples) > 1 else ("holds" if true else "does not hold")
    if true == len(samples):
        return _judgement(Verdict.REPRODUCED, text, samples, estimates)
    if direction is not None and all(direction(sample) for sample in samples):
        return _judgement(Verdict.DIRECTION_ONLY, f"{text}; the direction is right", samples, estimates)
    return _judgement(Verdict.NOT_REPRODUCED, text, samples, estimates)


def judge_order(published: Sequence[str], unit: str, samples: Sequence[Value]) -> Judgement:
    """Compare the order of means with the published order of groups."""
    rows = [sample for sample in samples if isinstance(sample, dict)]
    groups = groups_of(published)
    names = {name for group in groups for name in group}
    if len(rows) != len(samples) or any(row.keys() != names for row in rows):
        raise CannotMeasure(f"the measure must give a number for each of {', '.join(sorted(names))}")
    estimates = _estimates(samples)
    sign = ORDERS[unit]
    if sign == 0:
        (first, *rest) = (e.mean for e in estimates)
        agree = [_compare(other, first, Qualifier.STATED, "first") for other in rest]
        verdict = Verdict.REPRODUCED if all(ok for ok, _ in agree) else Verdict.NOT_REPRODUCED
        return _judgement(verdict, "; ".join(text for _, text in agree), samples, estimates)
    # Places separated in the published order, and whether the means and the paired differences agree.
    pairs = [(a, b) for i, group in enumerate(groups[:-1]) for a in group for b in groups[i + 1]]
    wrong, unclear = [], []
    for a, b in pairs:
        difference = estimate([sign * (row[b] - row[a]) for row in rows])
        if not difference.mean > 0:
            wrong.append((a, b))
        elif difference.interval is not None and difference.interval[0] <= 0:
            unclear.append((a, b))
    text = ", ".join(f"{name} {_show(e.mean)}" for name, e in zip(rows[0], estimates, strict=True))
    if not wrong and not unclear:
        return _judgement(Verdict.REPRODUCED, text, samples, estimates)
    if not wrong:
        gaps = ", ".join(f"{a} and {b}" for a, b in unclear)
        return _judgement(Verdict.DIRECTION_ONLY, f"{text}; not told apart: {gaps}", samples, estimates)
    gaps = ", ".join(f"{a} and {b}" for a, b in wrong)
    first_is_right = not any(a in groups[0] for a, _ in wrong) and len(groups) > 2
    verdict = Verdict.DIRECTION_ONLY if first_is_right else Verdict.NOT_REPRODUCED
    return _judgement(verdict, f"{text}; the wrong way round: {gaps}", samples, estimates)


def groups_of(published: Sequence[str]) -> list[list[str]]:
    """`["amrt", "phost|homa"]` as places in order; `=` and `|` join names that share a place."""
    return [[name.strip() for name in place.replace("=", "|").split("|")] for place in published]


def _compare(measured: float, published: float, qualifier: Qualifier, stated: str) -> tuple[bool, str]:
    if qualifier in BOUNDS:
        words, test = BOUNDS[qualifier]
        ok = test(measured, published)
        return ok, f"{_show(measured)} {'is' if ok else 'is not'} {words} {_show(published)}"
    tolerance = TOLERANCE_PERCENT[qualifier]
    if not math.isfinite(measured):
        return False, f"never reached, {stated} {_show(published)}"
    apart = abs(measured - published)
    ok = apart <= abs(published) * tolerance / 100.0
    if published == 0:
        return ok, f"{_show(measured)}, {stated} 0"
    if apart < SAME_AS_PUBLISHED * abs(published):
        return ok, f"{_show(measured)} against the {stated} {_show(published)}"
    side = "above" if measured > published else "below"
    return ok, (
        f"{_show(measured)} is {100.0 * apart / abs(published):.1f} % {side} the {stated} {_show(published)} "
        f"({qualifier}: {tolerance:g} % allowed)"
    )


def _in_range(ends: Sequence[float], estimates: Sequence[Estimate], tolerance: float) -> tuple[bool, str]:
    low, high = min(ends), max(ends)
    slack_low, slack_high = abs(low) * tolerance / 100.0, abs(high) * tolerance / 100.0
    ok = all(low - slack_low <= e.mean <= high + slack_high for e in estimates)
    shown = ", ".join(_show(e.mean) for e in estimates)
    return (
        ok,
        f"{shown} {'within' if ok else 'not all within'} {_show(low)} to {_show(high)} ({tolerance:g} % slack)",
    )


def _holds_over_interval(direction: Predicate, estimates: Sequence[Estimate], samples: Sequence[Value]) -> bool:
    if len(estimates) == 1 and not isinstance(samples[0], list | dict):
        ends = estimates[0].interval or (estimates[0].mean,)
        return all(direction(end) for end in ends)
    return all(direction(sample) for sample in samples)


def _estimates(samples: Sequence[Value]) -> list[Estimate]:
    """One estimate for each number that a sample holds."""
    columns = zip(*(_numbers(sample) for sample in samples), strict=True)
    return [estimate(column) for column in columns]


def _numbers(sample: Value) -> list[float]:
    if isinstance(sample, dict):
        return _list(list(sample.values()))
    return _list(sample)


def _list(value: float | Sequence[float]) -> list[float]:
    values = value if isinstance(value, Sequence) else [value]
    return [v if isinstance(v, Bound) else float(v) for v in values]


def _judgement(verdict: Verdict, reason: str, samples: Sequence[Value], estimates: Sequence[Estimate]) -> Judgement:
    """The verdict with means and intervals in the shape of the samples; a mean that is not finite shows as none."""
    means = [e.mean for e in estimates]
    if not all(map(math.isfinite, means)):
        return Judgement(verdict, reason, seeds=len(samples))
    ends = [e.interval for e in estimates if e.interval is not None]
    known = len(ends) == len(estimates)
    sample = samples[0]
    if isinstance(sample, dict):
        interval = dict(zip(sample, ends, strict=True)) if known else None
        return Judgement(verdict, reason, dict(zip(sample, means, strict=True)), interval, len(samples))
    if isinstance(sample, list):
        return Judgement(verdict, reason, means, ends if known else None, len(samples))
    return Judgement(verdict, reason, means[0], ends[0] if known else None, len(samples))


def _show(value: float) -> str:
    return told(value, f"{float(value):.4g}")
