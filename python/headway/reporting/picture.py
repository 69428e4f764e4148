"""One small picture of a report, for a page that shows many: the first figure that has axes, with its legend."""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from .assemble import Report, styles
from .page import colour_rules
from .spec import Curve, Figure, LegendEntry, Panel
from .svg import draw_still

# A small picture shows no more of a line; the report has every sample.
MOST_SAMPLES = 300


@dataclass(frozen=True)
class Picture:
    """A figure's first panel as it stands on another page, below an element of the class `scope`."""

    title: str
    scope: str
    svg: Markup
    legend: tuple[tuple[int, str], ...]
    css: str


def picture(report: Report, name: str) -> Picture | None:
    """The picture of a report; none if it draws no axes. `name` tells it from others on the page."""
    for figure in report.drawn:
        for panel in figure.panels:
            if isinstance(panel, Panel):
                return _draw(report, figure, panel, name)
    return None


def _draw(report: Report, figure: Figure, panel: Panel, name: str) -> Picture:
    scope = "pic-" + "".join(c if c.isalnum() else "-" for c in name)
    keys = {curve.key for curve in panel.series} | {event.key for event in panel.events}
    keys |= {panel.key} if panel.key else set()
    named = {key: style for key, style in styles(report).items() if key in keys}
    slots = {key: slot for slot, key in enumerate(named)}
    thin = replace(panel, series=tuple(thinned(curve, MOST_SAMPLES) for curve in panel.series))
    legend = tuple((slots[key], entry) for key, entry in _legend(figure.legend, panel) if key in slots)
    svg = Markup(draw_still(thin, scope, slots))
    return Picture(figure.title, scope, svg, legend, colour_rules(named, slots, f".{scope}"))


def _legend(entries: tuple[LegendEntry, ...], panel: Panel) -> list[tuple[str, str]]:
    """The texts of the lines that the panel has."""
    drawn = {curve.key for curve in panel.series}
    return [(entry.key, entry.text) for entry in entries if entry.key in drawn]


def thinned(curve: Curve, most: int) -> Curve:
    """Evenly fewer samples, about `most` of them, the last one included."""
    step = -(-len(curve.x) // most)
    if step <= 1:
        return curve
    kept = [*range(0, len(curve.x) - 1, step), len(curve.x) - 1]

    def of(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(values[i] for i in kept)

    low, high = curve.low, curve.high
    return replace(curve, x=of(curve.x), y=of(curve.y), low=of(low) if low else low, high=of(high) if high else high)
