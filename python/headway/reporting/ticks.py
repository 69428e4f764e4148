"""Axis ranges and tick marks, the same for the page and for paper figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from headway.data.units import unit_for

from .spec import Axis


@dataclass(frozen=True)
class Tick:
    """A tick at `value` (base units); minor ticks carry no text."""

    value: float
    text: str


def _step(span: float, count: int) -> float:
    """The round step (1, 2 or 5 times a power of ten) that gives at most `count` intervals or just over."""
    raw = span / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if raw <= factor * power * 1.0000001:
            return factor * power
    return 10.0 * power


def linear_axis(label: str, quantity: str, values: Iterable[float], *, zero: bool = True, tight: bool = False) -> Axis:
    """A linear axis over `values`, from zero unless told otherwise; `tight` ends at the largest value."""
    finite = [v for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if zero:
        low = min(0.0, low)
    if high <= low:
        high = low + (abs(low) if low else 1.0)
    if tight:
        return Axis(label, quantity, low, high)
    scale = unit_for(quantity, high).scale
    step = _step((high - low) / scale, 5)
    top = math.ceil(1.02 * (high - low) / scale / step * 2) * step / 2
    return Axis(label, quantity, low, low + top * scale)


def log_axis(label: str, quantity: str, values: Iterable[float]) -> Axis:
    """A logarithmic axis that holds all positive `values` with a little room on both sides."""
    finite = [v for v in values if math.isfinite(v) and v > 0]
    low, high = (min(finite), max(finite)) if finite else (1.0, 10.0)
    room = max(1.06, (high / low) ** 0.03)
    return Axis(label, quantity, low / room, high * room, log=True)


def auto_axis(label: str, quantity: str, values: Iterable[float], ratio: float = 25.0) -> Axis:
    """Linear from zero, or logarithmic when the values span more than `ratio`."""
    kept = [v for v in values if math.isfinite(v)]
    if kept and min(kept) > 0 and max(kept) / min(kept) > ratio:
        return log_axis(label, quantity, kept)
    return linear_axis(label, quantity, kept)


def dot_axis(label: str, quantity: str, values: Iterable[float], least: float) -> Axis:
    """Linear from the least that a number can be, or logarithmic where the values span decades."""
    kept = [v for v in values if math.isfinite(v)]
    if kept and min(kept) > 0 and max(kept) / min(kept) > 25.0:
        return log_axis(label, quantity, kept)
    return linear_axis(label, quantity, [least, *kept], zero=not least)


def slowdown_axis(values: Iterable[float], label: str = "slowdown") -> Axis:
    """Slowdown begins at 1, the ideal; logarithmic when it goes beyond 12."""
    kept = [1.0, *[v for v in values if math.isfinite(v)]]
    if max(kept) > 12.0:
        return log_axis(label, "ratio", [max(v, 0.99) for v in kept])
    return linear_axis(label, "ratio", kept, zero=False)


def ticks(axis: Axis, count: int = 5) -> list[Tick]:
    """Ticks of an axis; on a logarithmic axis those without text are minor."""
    return _log_ticks(axis, count) if axis.log else _linear_ticks(axis, count)


def _linear_ticks(axis: Axis, count: int) -> list[Tick]:
    scale = unit_for(axis.quantity, axis.high).scale
    if axis.marks:
        return [Tick(mark, f"{mark / scale:g}") for mark in axis.marks]
    low, high = axis.low / scale, axis.high / scale
    step = _step(high - low, count)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    found = [Tick(i * step * scale, f"{i * step:.{decimals}f}") for i in range(first, last + 1)]
    if first * step - low > 0.4 * step:
        found.insert(0, Tick(axis.low, f"{low:.{decimals}f}"))
    return found


# Multiples of a power of ten that have texts on a logarithmic axis, from the fewest to the most.
WITH_TEXT = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 4, 5, 7))


def _log_ticks(axis: Axis, count: int) -> list[Tick]:
    first, last = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    decades = math.log10(axis.high / axis.low)
    coarse = 0 if decades > 2.2 else 1 if decades > 1.2 else 2 if decades > 0.5 else 3
    every = max(1, math.ceil(decades / (count + 2)))
    for with_text in WITH_TEXT[coarse:]:
        found = []
        for power in range(first, last + 1):
            for factor in range(1, 10):
                value = factor * 10.0**power
                if axis.low <= value <= axis.high:
                    named = factor in with_text and (factor > 1 or power % every == 0)
                    found.append(Tick(value, log_text(axis.quantity, value) if named else ""))
        if sum(1 for tick in found if tick.text) >= 2:
            return found
    # The end of such an axis is not a round number, and gets no text.
    even = [tick.value for tick in _linear_ticks(axis, count) if tick.value != axis.low]
    if len(even) < 2:
        even = [tick.value for tick in _linear_ticks(axis, 2 * count) if tick.value != axis.low]
    return [Tick(value, log_text(axis.quantity, value)) for value in even]


def log_text(quantity: str, value: float) -> str:
    """A tick on a logarithmic axis carries its own unit, because one axis spans several."""
    unit = unit_for(quantity, value)
    number = value / unit.scale
    text = f"{number:.6g}"
    return f"{text} {unit.suffix}".rstrip()


def axis_title(axis: Axis) -> str:
    """Label with unit: on a linear axis the unit the ticks are in, on a logarithmic one the ticks carry it."""
    if axis.log:
        return axis.label
    suffix = unit_for(axis.quantity, axis.high).suffix
    return f"{axis.label} ({suffix})" if suffix else axis.label
