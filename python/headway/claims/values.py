"""Published and measured values as text: in few characters, and rounded with their units."""

from __future__ import annotations

import re
from typing import Any

from headway.data.claims import Value

# Units that are written behind their numbers, as ledgers have them and as people read them.
UNITS = {
    unit: unit for unit in ("s", "ms", "us", "ns", "Gb/s", "Mb/s", "bytes", "B", "kB", "KB", "MB", "packets", "RTT")
}
UNITS |= {"percent": "%", "packet": "packets"}
_UNIT = re.compile(r"(\S+?)(?:, | (?=each|of|lower|higher|lost|for|later|fewer|busy|less|below|at|before)|$)(.*)")


def unit_and_rest(unit: str) -> tuple[str, str]:
    """The unit of a claim's numbers, if all have one that goes behind them, and what else its ledger says of them."""
    found = None if ";" in unit else _UNIT.fullmatch(unit)
    if found is None or found[1] not in UNITS:
        return "", unit
    return UNITS[found[1]], found[2]


def rounded(value: Value | str | list[str] | None, unit: str) -> str:
    """A value with three digits and its unit."""
    match value:
        case None:
            return "-"
        case str():
            return value
        case dict():
            return ", ".join(f"{name} {rounded(number, unit)}" for name, number in value.items())
        case list():
            shown = ", ".join(rounded(item, "") for item in value)
            return with_unit(shown, unit if all(isinstance(item, int | float) for item in value) else "")
        case _:
            return with_unit(_digits(value), unit)


def with_unit(text: str, unit: str) -> str:
    """A number, or several, with their unit."""
    return f"{text} {unit}" if unit else text


def _digits(value: float) -> str:
    """Three digits, and all of a larger whole part."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def show(value: Value | str | list[str] | None) -> str:
    """A published or measured value in few characters."""
    match value:
        case None:
            return "-"
        case str():
            return value
        case dict():
            return ", ".join(f"{name} {number:.4g}" for name, number in value.items())
        case list():
            return ", ".join(show(item) for item in value)
        case _:
            return f"{value:.4g}"


def show_range(ends: Any) -> str:  # noqa: ANN401  (what JSON holds of an interval)
    """The ends of one range, or of several, in few characters."""
    if isinstance(ends, dict):
        return ", ".join(f"{name} {show_range(pair)}" for name, pair in ends.items())
    if isinstance(ends[0], list | tuple):
        return ", ".join(show_range(pair) for pair in ends)
    return f"{show(ends[0])} to {show(ends[1])}"
