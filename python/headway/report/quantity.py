"""Physical quantities, written for people.

`display` decides once, for HTML, script and paper alike, in which unit an axis is drawn. Data stay in base units
(seconds, bytes, bits per second, fractions); only labels are scaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """How a quantity is written: base value times `1 / scale`, then `suffix`."""

    scale: float
    suffix: str


_LADDERS: dict[str, tuple[Unit, ...]] = {
    "time": (Unit(1e-9, "ns"), Unit(1e-6, "µs"), Unit(1e-3, "ms"), Unit(1.0, "s")),
    "bytes": (Unit(1.0, "B"), Unit(1e3, "kB"), Unit(1e6, "MB"), Unit(1e9, "GB")),
    "rate": (Unit(1.0, "b/s"), Unit(1e3, "kb/s"), Unit(1e6, "Mb/s"), Unit(1e9, "Gb/s"), Unit(1e12, "Tb/s")),
    "hops": (Unit(1.0, "/s"), Unit(1e3, "k/s"), Unit(1e6, "M/s")),
    "percent": (Unit(0.01, "%"),),
    "ratio": (Unit(1.0, ""),),
    "count": (Unit(1.0, ""),),
}


def unit_for(quantity: str, largest: float) -> Unit:
    """The largest unit in which `largest` is still at least 1 (or the smallest there is)."""
    ladder = _LADDERS[quantity]
    size = abs(largest)
    fitting = [unit for unit in ladder if size >= unit.scale * 0.9995]
    return fitting[-1] if fitting else ladder[0]


def plain(number: float, digits: int = 3) -> str:
    """A number with `digits` significant digits and thin spaces between thousands; integers below 10^9 stay exact."""
    if not math.isfinite(number):
        return "–"
    if number == 0:
        return "0"
    if abs(number - round(number)) < 1e-9 * abs(number) < 1.0:
        return f"{round(number):,}".replace(",", "\u202f")
    size = abs(number)
    if size >= 1e9 or size < 1e-4:
        return f"{number:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{number:,.{decimals}f}".replace(",", "\u202f")


def display(quantity: str, value: float | None, digits: int = 3) -> str:
    """A value with its unit, for tables and tooltips."""
    if value is None or not math.isfinite(value):
        return "–"
    unit = unit_for(quantity, value or 1.0)
    text = plain(value / unit.scale, digits)
    if unit.suffix == "%":
        return f"{value / unit.scale:.1f} %"
    return f"{text} {unit.suffix}".rstrip()
