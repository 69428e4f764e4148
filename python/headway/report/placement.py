"""Where the text of a reference line has room: at the end of the line that data keep away from."""

from __future__ import annotations

import math

from .spec import Axis, Panel, Reference

NEAR = 0.1  # share of the y axis within which data would touch the text
REACH = 0.45  # share of the x axis that a text may need


def at_left(panel: Panel, reference: Reference) -> bool:
    """Whether the text goes to the left end: only if data are near it at the right, and less so at the left."""
    left, right = _crowd(panel, reference, 0.0), _crowd(panel, reference, 1.0 - REACH)
    return right > 0 and left < right


def _crowd(panel: Panel, reference: Reference, start: float) -> int:
    """How many points are near the line in the part of the x axis that begins at `start`."""
    goal = _share(panel.y, reference.y)
    return sum(
        start <= _share(panel.x, x) <= start + REACH and abs(_share(panel.y, y) - goal) < NEAR
        for line in panel.series
        for x, y in zip(line.x, line.y, strict=True)
        if math.isfinite(y)
    )


def _share(axis: Axis, value: float) -> float:
    """Position along an axis, 0 to 1."""
    if axis.log:
        return math.log(max(value, axis.low) / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)
