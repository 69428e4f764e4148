"""Quantities as text: read as scenarios write them, such as "4 us" or "10 Gbps", and written for people.

Data stay in base units (seconds, bytes, bits per second, shares); only text has others.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from headway.data.bounds import told

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_AGE = {"min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BYTES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1048576.0}
_RATE = {f"{prefix}{unit}": size for prefix, size in _PREFIXES.items() for unit in ("bps", "b/s", "bit/s")}
# Endings of names that hold numbers of a kind.
ENDINGS = {"time": "_s", "bytes": "_bytes", "rate": "_bps", "count": "_packets"}
_QUANTITY = re.compile(r"^\s*([0-9.eE+-]+)\s*([A-Za-zµ/]+)\s*$")


def parse_seconds(value: object) -> float | None:
    """Seconds in a scenario value such as "4 us"; None if it is absent or no time."""
    return _parse(value, _TIME)


def parse_age(value: object) -> float | None:
    """Seconds in an age such as "30d", "12 h" or "2w"; None if it is none."""
    seconds = _parse(value, _AGE)
    return seconds if seconds is not None and 0 <= seconds < math.inf else None


def parse_bytes(value: object, frame_bytes: float = 1538.0) -> float | None:
    """Bytes in a scenario value such as "200 kB", "128 packets" (of `frame_bytes` each) or 1460."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return _parse(value, {**_BYTES, "packets": frame_bytes, "packet": frame_bytes})


def parse_rate(value: object) -> float | None:
    """Bits per second in a scenario value such as "10 Gbps"; a bare number is taken as it is."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return _parse(value, _RATE)


def parse_any(value: object) -> tuple[float, str] | None:
    """A scenario's number, with its dimension: "5 MB" is (5e6, "bytes"), 0.7 is (0.7, "ratio")."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value), "ratio"
    kinds = {"time": _TIME, "bytes": _BYTES, "rate": _RATE, "count": {"packets": 1.0, "packet": 1.0}}
    parsed = ((_parse(value, units), kind) for kind, units in kinds.items())
    return next(((number, kind) for number, kind in parsed if number is not None), None)


def _parse(value: object, units: dict[str, float]) -> float | None:
    if not isinstance(value, str) or not (match := _QUANTITY.match(value)):
        return None
    try:
        return float(match[1]) * units[match[2]]
    except (ValueError, KeyError):
        return None


@dataclass(frozen=True)
class Unit:
    """Notation of a quantity: base value times `1 / scale`, then `suffix`."""

    scale: float
    suffix: str


_LADDERS: dict[str, tuple[Unit, ...]] = {
    "time": tuple(Unit(_TIME[name], name) for name in ("ns", "µs", "ms", "s")),
    "bytes": tuple(Unit(_BYTES[name], name) for name in ("B", "kB", "MB", "GB")),
    "rate": tuple(Unit(_RATE[f"{prefix}b/s"], f"{prefix}b/s") for prefix in _PREFIXES),
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
    number = float(value)
    text = plain(number / unit.scale, digits)
    if unit.suffix == "%":
        return told(value, f"{number / unit.scale:.1f} %")
    return told(value, f"{text} {unit.suffix}".rstrip())


def duration(seconds: float) -> str:
    """A time with the unit that keeps it readable, as `43.9 us`."""
    number = float(seconds)
    for unit in ("s", "ms", "us"):
        if abs(number) >= _TIME[unit]:
            return told(seconds, f"{number / _TIME[unit]:.4g} {unit}")
    return told(seconds, f"{number / _TIME['ns']:.4g} ns" if number else "0 s")


def wait(seconds: float) -> str:
    """Duration of a wait, in the unit that people count it in: `14 s`, `35 min`, `27 h`, `3.1 days`."""
    for unit, length, most in (("min", 60.0, 7200.0), ("h", 3600.0, 172800.0), ("days", 86400.0, float("inf"))):
        if 120.0 <= seconds < most:
            return f"{plain(seconds / length, 2)} {unit}"
    return duration(seconds)


def size(count: float) -> str:
    """A number of bytes with the unit that keeps it readable, as `11.7 GB`."""
    for prefix in ("T", "G", "M", "k"):
        if abs(count) >= _PREFIXES[prefix] * 0.9995:
            return f"{count / _PREFIXES[prefix]:#.3g} {prefix}B".replace(". ", " ")
    return f"{count:.0f} B"


def quantity(value: float) -> str:
    """A count with k, M or G, as `3.2 M`."""
    for prefix in ("G", "M", "k"):
        if abs(value) >= _PREFIXES[prefix]:
            return f"{value / _PREFIXES[prefix]:.3g} {prefix}"
    return f"{value:.3g}"


def quantity_of_name(name: str) -> str:
    """The quantity of a number, by the end of its name; a count, where the end names no unit."""
    return next((kind for kind, end in ENDINGS.items() if name.endswith(end)), "count")
