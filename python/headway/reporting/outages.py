"""Changes of links while a scenario runs: the spans that figures over time shade, and sentences about them."""

from __future__ import annotations

from collections.abc import Iterable

from headway.data.changes import faults, sentence, span, word
from headway.data.point import Point

from .spec import Axis, Shade


def shades(points: Iterable[Point], x: Axis) -> tuple[Shade, ...]:
    """Spans in which links differ from the beginning, as far as the axis goes."""
    found: dict[Shade, None] = {}
    for point in points:
        for fault in faults(point.scenario):
            if (times := span(fault)) is not None and times[0] <= x.high:
                found[Shade(times[0], min(times[1], x.high), word(fault))] = None
    return tuple(found)


def caption(points: Iterable[Point]) -> str:
    """A sentence a span, each once; empty where nothing is shaded."""
    said = dict.fromkeys(sentence(fault) for point in points for fault in faults(point.scenario) if span(fault))
    return f" Shaded: {'; '.join(said)}." if said else ""
