"""Claims as the page shows them: text for published and measured values, and the distance between the two.

`claims.json` holds numbers, lists, tables by name or statements; nothing is judged here, only written out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.data.claims import JudgedClaim, ListedClaim, RealClaim, Verdict
from headway.data.machine import machine_text
from headway.data.units import plain

from .summaries import number

VERDICTS = ("reproduced", "direction-only", "not-reproduced", "contradicts itself", "unreachable as set up", "pending")


@dataclass(frozen=True)
class Agreement:
    """One measured number over its published one, with the ends of its 95 % interval."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Real:
    """Record of a claim on real packets, as text."""

    verdict: str
    measured: str
    how: str
    command: str


@dataclass(frozen=True)
class ClaimRow:
    """One claim as shown. `judged` is the verdict of the runs alone; `under` the one under the reading on record.

    `ranged` says that it was measured in repetitions, of which the smallest and the largest are shown.
    """

    id: str
    place: str
    metric: str
    published: str
    measured: str
    seeds: str
    verdict: str
    reason: str
    how: str
    beside: str
    agreement: tuple[Agreement, ...]
    ranged: bool = False
    reading: str = ""
    judged: str = ""
    under: str = ""
    testbed: Real | None = None


def claim_rows(claims: Sequence[JudgedClaim], known: Mapping[str, ListedClaim] | None = None) -> list[ClaimRow]:
    """Claims by verdict, in the order of VERDICTS, and within it as the file has them.

    `known` are those on record, by id: with them a row has the reading on record, what real packets gave, and the
    reason why a claim cannot come out.
    """
    rows = [_row(claim, (known or {}).get(claim.id)) for claim in claims]
    order = {verdict: i for i, verdict in enumerate(VERDICTS)}
    return sorted(rows, key=lambda row: order.get(row.verdict, len(order)))


def verdict_counts(rows: Sequence[ClaimRow]) -> list[tuple[str, int]]:
    """Number of claims by verdict; verdicts that did not occur are left out."""
    names = [*VERDICTS, *dict.fromkeys(row.verdict for row in rows if row.verdict not in VERDICTS)]
    counted = [(name, sum(row.verdict == name for row in rows)) for name in names]
    return [(name, count) for name, count in counted if count]


def _row(claim: JudgedClaim, known: ListedClaim | None) -> ClaimRow:
    published = value_text(claim.published)
    judged, verdict, reason = claim.verdict, claim.verdict, claim.reason
    if claim.why:
        reason = claim.why
    if known is not None and known.cannot and judged == Verdict.NOT_REPRODUCED:
        verdict, reason = known.verdict, known.reason or ""
    return ClaimRow(
        id=claim.id,
        place=value_text(claim.place),
        metric=", ".join(text for text in (claim.metric, claim.unit) if text),
        published=f"{claim.qualifier} {published}"
        if claim.qualifier in ("about", "up to", "at least", "at most", "over", "below")
        else published,
        measured=with_range(measured_text(claim.measured, claim.ci95), claim.range),
        seeds=value_text(claim.seeds),
        verdict=verdict,
        reason=_reason(reason, repeats_beside=bool(claim.beside)),
        how=claim.how,
        beside=value_text(claim.beside) if claim.beside else "",
        agreement=tuple(_agreements(claim.published, claim.measured, claim.ci95)),
        ranged=claim.range is not None,
        reading=known.reading_word.removesuffix(" under") if known is not None else "",
        judged=judged,
        under=(known.reading_verdict or "") if known is not None else "",
        testbed=_real(known.testbed) if known is not None and known.testbed is not None else None,
    )


def _real(entry: RealClaim) -> Real:
    how = f"median of {entry.repetitions} repetitions on {machine_text(entry.machine)}: {entry.reason}"
    return Real(entry.verdict, with_range(measured_text(entry.measured, None), entry.range), how, entry.command)


def with_range(measured: str, ends: object) -> str:
    """A measured value, with the smallest and the largest of repeated measurements where there were any."""
    return f"{measured} ({range_text(ends)})" if ends else measured


def range_text(ends: object) -> str:
    """The ends of one range, or of several."""
    if isinstance(ends, Mapping):
        return ", ".join(f"{name} {range_text(pair)}" for name, pair in ends.items())
    if isinstance(ends, (list, tuple)) and ends and isinstance(ends[0], (list, tuple)):
        return ", ".join(range_text(pair) for pair in ends)
    if isinstance(ends, (list, tuple)) and len(ends) == 2:
        return f"{value_text(ends[0])} to {value_text(ends[1])}"
    return value_text(ends)


def _reason(text: str, *, repeats_beside: bool) -> str:
    """The reason without the values of other variants, where they have a place of their own."""
    return re.sub(r" \[beside: [^]]*\]", "", text) if repeats_beside else text


def value_text(value: object) -> str:
    """A value out of JSON as people write it; a pair of numbers is a range, a table is listed by name."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:.4g}" if abs(value) < 1e4 else plain(float(value), 4)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {value_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        numbers = [item for item in value if number(item) is not None]
        return (" to " if len(value) == len(numbers) == 2 else ", ").join(value_text(item) for item in value)
    return str(value)


def half_width(ends: object) -> float | None:
    """Half of an interval given by its ends, or the half-width itself."""
    if isinstance(ends, (list, tuple)) and len(ends) == 2:
        low, high = number(ends[0]), number(ends[1])
        return None if low is None or high is None else (high - low) / 2
    return number(ends)


def measured_text(measured: object, ends: object) -> str:
    """Measured value with its 95 % half-width; lists and tables item by item."""
    if isinstance(measured, Mapping):
        table = ends if isinstance(ends, Mapping) else {}
        return ", ".join(f"{name} {measured_text(value, table.get(name))}" for name, value in measured.items())
    if isinstance(measured, (list, tuple)):
        return ", ".join(measured_text(value, end) for value, end in _paired(measured, ends))
    value, half = number(measured), half_width(ends)
    if value is None or half is None:
        return value_text(measured)
    if half == 0:
        return f"{value_text(measured)}\u00a0±\u00a00"
    decimals = min(6, max(0, 1 - math.floor(math.log10(half))))
    return f"{value:.{decimals}f}\u00a0±\u00a0{half:.{decimals}f}"


def _paired(values: Sequence[object], ends: object) -> list[tuple[object, object]]:
    """Each value with its interval, where there is one for each."""
    own = list(ends) if isinstance(ends, (list, tuple)) and len(ends) == len(values) else []
    if own and all(isinstance(end, (list, tuple)) for end in own):
        return list(zip(values, own, strict=True))
    return [(value, None) for value in values]


def _agreements(published: object, measured: object, ends: object) -> list[Agreement]:
    """One for each measured number that has a published number of its own."""
    if isinstance(measured, (list, tuple)):
        pairs = _paired(measured, ends)
        targets = list(published) if isinstance(published, (list, tuple)) else [published] * len(pairs)
        if len(targets) != len(pairs):
            return []
        return [a for (value, end), goal in zip(pairs, targets, strict=True) for a in _agreements(goal, value, end)]
    goal, value = number(published), number(measured)
    if not goal or value is None:
        return []
    half = half_width(ends) or 0.0
    low, high = sorted(((value - half) / goal, (value + half) / goal))
    return [Agreement(value / goal, low, high)]
