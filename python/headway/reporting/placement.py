"""Place for the text of a reference line: at the end and on the side of the line that data keep away from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from .spec import Axis, Curve, Panel, Reference

NEAR = 0.1  # share of the y axis that a text takes
REACH = 0.45  # share of the x axis that a text may need
LOW = 0.25  # share of the y axis up to which data are likelier above a line
STEPS = 8  # places along a text at which curves are looked at


def beside(panel: Panel, reference: Reference) -> tuple[bool, bool]:
    """Place of the text: True if it goes to the left end, and True if below the line: to where the fewest data are.

    Where several places are as good, it is the right end, and above but for lines near the bottom.
    """
    goal = _share(panel.y, reference.y)
    sides = [False, True] if goal > NEAR else [False]
    if goal < LOW:
        sides.reverse()
    places = [(left, below) for below in sides for left in (False, True)]
    return min(places, key=lambda place: _crowd(panel, goal, left=place[0], below=place[1]))


def _crowd(panel: Panel, goal: float, *, left: bool, below: bool) -> int:
    """Share of the curves in the place of the text."""
    low, high = (goal - NEAR, goal) if below else (goal, goal + NEAR)
    start = 0.0 if left else 1.0 - REACH
    ends = (start, start + REACH)
    return sum(low - 1e-9 <= share <= high + 1e-9 for curve in panel.series for share in _along(panel, curve, ends))


def _along(panel: Panel, curve: Curve, ends: tuple[float, float]) -> Iterator[float]:
    """The heights of a curve, at its points and evenly between them, within a part of the x axis."""
    points = [
        (_share(panel.x, x), _share(panel.y, y)) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)
    ]
    yield from (y for x, y in points if ends[0] <= x <= ends[1])
    places = [ends[0] + (ends[1] - ends[0]) * step / STEPS for step in range(STEPS + 1)]
    for (x, y), (after, then) in itertools.pairwise(points):
        for place in places:
            if x < place < after:
                yield y if curve.step else y + (then - y) * (place - x) / (after - x)


def _share(axis: Axis, value: float) -> float:
    """Position along an axis, 0 to 1."""
    if axis.log:
        return math.log(max(value, axis.low) / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)
