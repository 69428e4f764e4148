"""Changes of links while a scenario runs: the spans that figures over time shade, and sentences about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headway.data.point import Point
from headway.data.units import display, parse_seconds

from .spec import Axis, Shade

NAMED = 3  # links or switches that a sentence names


def shades(points: Iterable[Point], x: Axis) -> tuple[Shade, ...]:
    """Spans in which links differ from the beginning, as far as the axis goes."""
    found: dict[Shade, None] = {}
    for point in points:
        for fault in _faults(point):
            if (span := _span(fault)) is not None and span[0] <= x.high:
                found[Shade(span[0], min(span[1], x.high), _word(fault))] = None
    return tuple(found)


def caption(points: Iterable[Point]) -> str:
    """A sentence a span, each once; empty where nothing is shaded."""
    said = dict.fromkeys(_sentence(fault) for point in points for fault in _faults(point) if _span(fault))
    return f" Shaded: {'; '.join(said)}." if said else ""


def _faults(point: Point) -> list[Mapping[str, Any]]:
    faults = point.scenario.get("fault")
    return [fault for fault in faults if isinstance(fault, dict)] if isinstance(faults, list) else []


def _span(fault: Mapping[str, Any]) -> tuple[float, float] | None:
    """Beginning and end in seconds; without an end it lasts."""
    for begins, ends in (("down_at", "up_at"), ("at", "until"), ("dark_from", "dark_until")):
        start = parse_seconds(fault.get(begins))
        if start is not None:
            end = parse_seconds(fault.get(ends))
            return start, float("inf") if end is None else end
    return None


def _word(fault: Mapping[str, Any]) -> str:
    """Text in the shaded span."""
    if "down_at" in fault:
        return f"{_whom(fault)} down"
    if "at" in fault:
        return f"{_whom(fault)}: {_values(fault)}"
    return f"{_whom(fault)} black-holed"


def _values(fault: Mapping[str, Any]) -> str:
    """The new rate and delay."""
    delay = f"delay {fault['delay']}" if fault.get("delay") else None
    return ", ".join(str(part) for part in (fault.get("rate"), delay) if part)


def _whom(fault: Mapping[str, Any]) -> str:
    names = [str(name) for name in fault.get("switches") or []]
    links = fault.get("links")
    if links == "all":
        return "all links"
    names += _both_ways([str(name) for name in links or []])
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _both_ways(links: list[str]) -> list[str]:
    """The two directions of a link as one name."""
    found: dict[str, None] = {}
    for name in links:
        a, _, b = name.partition("->")
        back = f"{b}->{a}" in links
        if not (back and f"{b} ↔ {a}" in found):
            found[f"{a} ↔ {b}" if back else f"{a} → {b}"] = None
    return list(found)


def _sentence(fault: Mapping[str, Any]) -> str:
    span = _span(fault) or (0.0, 0.0)
    end = f" to {display('time', span[1])}" if span[1] < float("inf") else " on"
    said = f"{_word(fault)} from {display('time', span[0])}{end}"
    converge = parse_seconds(fault.get("converge"))
    if "down_at" not in fault:
        return said
    if converge is None:
        return f"{said}, and routes stay as they are"
    when = f"{display('time', converge)} later" if converge else "at once"
    return f"{said}, and routes follow {when}"
