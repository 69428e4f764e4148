"""Draw a figure as inline SVG, with the data that the page's script reads values from and draws from.

The script draws the same panels at other widths and for parts of an axis (`assets/draw.js`); a test in a browser
compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from headway.data.bounds import Bound, told

from .placement import beside
from .spec import Axis, BarPanel, Curve, DotPanel, Event, Figure, HeatPanel, Panel, Shade
from .svg_bars import draw_bars
from .svg_dots import draw_dots
from .svg_heat import draw_heat
from .svg_parts import CHARACTER, WIDTHS, Frame, Slots, group, line, text
from .svg_sketch import draw_sketch
from .ticks import Tick, axis_title, ticks

_HEIGHTS = {1: 310, 2: 270, 3: 240}
LABEL_GAP = 14.0
BOLD_CHARACTER = 8.4


def draw_still(panel: Panel, name: str, slots: Slots) -> str:
    """A small picture of one panel that answers no keys; `name` tells it from others of its page."""
    picture, _ = _draw_panel(replace(panel, direct_labels=False), name, max(WIDTHS), slots, {})
    return picture.replace(' tabindex="0"', "", 1).replace(". Arrow keys read values.", "", 1)


def draw_figure(figure: Figure, slots: Slots) -> tuple[list[str], list[dict[str, Any] | None]]:
    """The SVG of each panel and the data behind it (None for panels without a common x)."""
    pictures: list[str] = []
    data: list[dict[str, Any] | None] = []
    names = {entry.key: entry.text for entry in figure.legend}
    for index, panel in enumerate(figure.panels):
        behind = None
        if isinstance(panel, Panel):
            picture, behind = _draw_panel(panel, f"{figure.id}.{index}", figure.columns, slots, names)
        elif isinstance(panel, DotPanel):
            picture = draw_dots(panel, figure.columns, slots)
        elif isinstance(panel, BarPanel):
            picture = draw_bars(panel, figure.columns, slots)
        elif isinstance(panel, HeatPanel):
            picture = draw_heat(panel, figure.columns)
        else:
            picture = draw_sketch(panel, slots)
        pictures.append(picture)
        data.append(behind)
    return pictures, data


def more_panels(figure: Figure, slots: Slots) -> list[dict[str, Any]]:
    """The data of the panels that selectors bring; of those without axes the SVG."""
    names = {entry.key: entry.text for entry in figure.legend}
    found = []
    for panel in figure.more:
        if isinstance(panel, Panel):
            found.append(behind_panel(panel, figure.columns, names, digits=4))
        else:
            found.append({"title": panel.title, "svg": draw_dots(panel, figure.columns, slots)})
    return found


def _draw_panel(
    panel: Panel, panel_id: str, columns: int, slots: Slots, names: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    width, height = WIDTHS[columns], _HEIGHTS[columns]
    labels = [names.get(s.key, "") for s in panel.series] if panel.direct_labels and columns < 3 else []
    right = 18.0 + (min(170.0, max(map(len, labels)) * CHARACTER + 6) if labels else 0.0)
    top = 46.0 + (16.0 if panel.events else 0.0)
    tall = height - top - 42.0
    left = 12.0 + max((len(tick.text) for tick in _y_ticks(panel, tall)), default=3) * CHARACTER
    frame = Frame(left, top, width - left - right, tall, panel.x, panel.y)
    title = panel.title
    if len(title) * BOLD_CHARACTER > width:  # what follows the dot is also the label of the y axis
        title = title.partition(" · ")[0]
    shades, words = _shades(panel.shades, frame)
    parts = [text("title", 16 if panel.key else 0, 14, title), *shades, *_axes(panel, frame)]
    if panel.key:
        parts.append(f'<rect class="k{slots[panel.key]} fill" x="0" y="5" width="10" height="10" rx="2"/>')
    places = [(frame.py(reference.y), reference.text, beside(panel, reference)) for reference in panel.references]
    parts += [line("reference", frame.left, y, frame.right, y) for y, _, _ in places]
    parts += _events(panel.events, frame, slots)
    parts += _clipped(panel_id, frame, [_line(series, frame, slots) for series in panel.series])
    # In front of the lines: it stays readable without room at their sides.
    parts += [_note(y, words, frame, *place) for y, words, place in places]
    parts += words
    if labels:
        parts += _direct_labels(panel.series, labels, frame, slots)
    label = escape(f"{panel.title}: {axis_title(panel.y)} over {axis_title(panel.x)}. Arrow keys read values.")
    key = f' data-key="{escape(panel.key)}"' if panel.key else ""
    picture = (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" tabindex="0" aria-label="{label}"'
        f' data-panel="{panel_id}"{key}>{"".join(parts)}</svg>'
    )
    plot = [round(v, 2) for v in (frame.left, frame.top, frame.width, frame.height)]
    return picture, {"plot": plot, **behind_panel(panel, columns, names)}


def _shades(shades: Sequence[Shade], frame: Frame) -> tuple[list[str], list[str]]:
    """Grey spans, for behind everything, and their texts, for in front: at the left end, or where they fit."""
    parts, words = [], []
    taken: list[tuple[float, float, int]] = []
    for shade in sorted(shades, key=lambda s: s.start):
        left, right = frame.px(max(shade.start, frame.x.low)), frame.px(shade.end)
        parts.append(
            f'<rect class="shade" x="{left:.1f}" y="{frame.top:.1f}" width="{max(right - left, 1.0):.1f}"'
            f' height="{frame.height:.1f}"/>'
        )
        length = len(shade.text) * CHARACTER
        start = max(frame.left, min(left + 4, frame.right - length))
        rows = {row for a, b, row in taken if start < b and a < start + length}
        row = next(i for i in range(len(shades) + 1) if i not in rows)
        taken.append((start, start + length, row))
        words.append(text("tick", start, frame.top + 26 + 14 * row, shade.text))
    return parts, words


def _y_ticks(panel: Panel, tall: float) -> list[Tick]:
    return ticks(panel.y, 6 if tall > 130 else 4)


def _axes(panel: Panel, frame: Frame) -> list[str]:
    parts = []
    for tick in _y_ticks(panel, frame.height):
        if tick.text:
            y = frame.py(tick.value)
            parts += [
                line("grid", frame.left, y, frame.right, y),
                text("tick", frame.left - 7, y + 4, tick.text, "end"),
            ]
    last = -math.inf
    for tick in ticks(panel.x, max(3, int(frame.width / 75))):
        x = frame.px(tick.value)
        parts.append(line("axis", x, frame.bottom, x, frame.bottom + (5 if tick.text else 3)))
        half = len(tick.text) * CHARACTER / 2
        if tick.text and x - half > last:
            parts.append(text("tick", x, frame.bottom + 18, tick.text, "middle"))
            last = x + half + 6
    parts.append(line("axis", frame.left, frame.bottom, frame.right, frame.bottom))
    parts.append(text("unit", 0, 31, axis_title(panel.y)))
    parts.append(text("unit", frame.right, frame.bottom + 36, axis_title(panel.x), "end"))
    return parts


def _note(y: float, words: str, frame: Frame, left: bool, below: bool) -> str:
    """The text of a reference line."""
    x, anchor = (frame.left + 4, "start") if left else (frame.right, "end")
    return text("note", x, y + 14 if below else y - 5, words, anchor)


def _events(events: Sequence[Event], frame: Frame, slots: Slots) -> list[str]:
    """A dotted line at each event, names above the plot; names that would touch share one place."""
    parts = []
    groups: list[tuple[float, list[Event]]] = []
    end = -math.inf
    for event in sorted(events, key=lambda e: e.x):
        x = frame.px(event.x)
        if event.x > frame.x.low:
            parts.append(line("event", x, frame.top - 4, x, frame.bottom))
        if x > end:
            groups.append((x, []))
            end = x
        groups[-1][1].append(event)
        end += (len(event.text) + 1.5) * CHARACTER
    for x, together in groups:
        length = sum(len(event.text) + 1 for event in together) * CHARACTER
        anchor = ' text-anchor="end"' if x + length > frame.right + 14 else ""
        spans = " ".join(f'<tspan class="k{slots[e.key]} ink">{escape(e.text)}</tspan>' for e in together)
        parts.append(f'<text class="label" x="{x:.1f}" y="{frame.top - 8:.1f}"{anchor}>{spans}</text>')
    return parts


def _clipped(panel_id: str, frame: Frame, content: Sequence[str]) -> list[str]:
    """Keep the drawing inside the plot, with room for half a marker."""
    size = f'width="{frame.width + 8:.1f}" height="{frame.height + 6:.1f}"'
    box = f'x="{frame.left - 4:.1f}" y="{frame.top - 3:.1f}" {size}'
    name = f"clip.{panel_id}"
    return [f'<clipPath id="{name}"><rect {box}/></clipPath><g clip-path="url(#{name})">', *content, "</g>"]


def _line(series: Curve, frame: Frame, slots: Slots) -> str:
    points = [(frame.px(x), frame.py(y)) if math.isfinite(y) else None for x, y in zip(series.x, series.y, strict=True)]
    parts = []
    if series.low is not None and series.high is not None:
        upper = [f"{frame.px(x):.1f},{frame.py(y):.1f}" for x, y in zip(series.x, series.high, strict=True)]
        lower = [f"{frame.px(x):.1f},{frame.py(y):.1f}" for x, y in zip(series.x, series.low, strict=True)]
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower[::-1])}"/>')
    if series.dots:
        parts += [f'<circle class="sample" cx="{p[0]:.1f}" cy="{p[1]:.1f}" r="1.8"/>' for p in points if p]
        return group(series.key, slots, "".join(parts))
    parts.append(f'<path class="line" d="{_path(points, series.step, frame)}"/>')
    if series.markers:
        for i, p in enumerate(points):
            is_bound = isinstance(series.y[i], Bound)
            parts.append(_marker(p, series.runs[i] if series.runs else (), is_bound=is_bound) if p else "")
    return group(series.key, slots, "".join(parts))


def _marker(place: tuple[float, float], runs: Sequence[int], *, is_bound: bool) -> str:
    """The mark of a point; of one that belongs to runs a link to the first of them in the table of runs."""
    kind = "marker bound" if is_bound else "marker"
    circle = f'<circle class="{kind}" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="3.2"/>'
    if not runs:
        return circle
    return f'<a href="#run-{runs[0]}" tabindex="-1" data-runs="{" ".join(map(str, runs))}">{circle}</a>'


def _path(points: Sequence[tuple[float, float] | None], step: bool, frame: Frame) -> str:
    parts: list[str] = []
    pen = False
    for point in points:
        if point is None:
            pen = False
            continue
        x, y = point
        if pen:
            parts.append(f"H{x:.1f}V{y:.1f}" if step else f"L{x:.1f} {y:.1f}")
        else:
            parts.append(f"M{x:.1f} {frame.bottom:.1f}V{y:.1f}" if step else f"M{x:.1f} {y:.1f}")
        pen = True
    return "".join(parts)


def _direct_labels(lines: Sequence[Curve], labels: Sequence[str], frame: Frame, slots: Slots) -> list[str]:
    """Names at the right end of the lines, moved apart until none touches another."""
    ends = []
    for series, name in zip(lines, labels, strict=True):
        drawn = [(x, y) for x, y in zip(series.x, series.y, strict=True) if math.isfinite(y)]
        if drawn:
            ends.append((frame.px(drawn[-1][0]), frame.py(drawn[-1][1]), series.key, name))
    places = spread([end[1] for end in ends], LABEL_GAP, frame.top, frame.bottom + 4)
    parts = []
    for (x, y, key, name), place in zip(ends, places, strict=True):
        leader = f'<path class="leader" d="M{x + 2:.1f} {y:.1f}L{frame.right + 8:.1f} {place:.1f}"/>'
        needed = abs(place - y) > 4 or frame.right - x > 12
        label = text("label ink", frame.right + 10, place + 4, name)
        parts.append(group(key, slots, (leader if needed else "") + label))
    return parts


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move places apart to at least `gap`, keeping their order; they stay in low..high if there is room."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [places[i] for i in order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    ceiling = max(high, low + gap * (len(moved) - 1))
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    result = [0.0] * len(places)
    for position, index in enumerate(order):
        result[index] = moved[position]
    return result


def short(value: float, digits: int = 6) -> float | None:
    """Six significant digits are more than a screen shows; NaN becomes null."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def behind_panel(panel: Panel, columns: int, names: Mapping[str, str], digits: int = 6) -> dict[str, Any]:
    """Data for the script: axes, marks, and the values of every line (equal x lists are stored once)."""

    def column(values: Sequence[float]) -> list[float | None]:
        return [short(value, digits) for value in values]

    grids: list[tuple[float, ...]] = []
    lines = []
    for series in panel.series:
        if series.x not in grids:
            grids.append(series.x)
        entry: dict[str, Any] = {"key": series.key, "name": names.get(series.key, series.key)}
        entry |= {"x": grids.index(series.x), "y": column(series.y)}
        if series.low is not None and series.high is not None:
            entry |= {"lo": column(series.low), "hi": column(series.high)}
        entry |= {name: True for name in ("step", "markers", "dots") if getattr(series, name)}
        if series.runs:
            entry["runs"] = series.runs
        if bounds := {str(i): told(value, "").strip() for i, value in enumerate(series.y) if isinstance(value, Bound)}:
            entry["bounds"] = bounds
        lines.append(entry)
    found: dict[str, Any] = {
        "title": panel.title,
        "columns": columns,
        "x": _axis_data(panel.x),
        "y": _axis_data(panel.y),
        "xs": [column(grid) for grid in grids],
        "series": lines,
        "events": [(event.x, event.text, event.key) for event in panel.events],
        "refs": [(r.y, r.text, *beside(panel, r)) for r in panel.references],
        "shades": [(s.start, min(s.end, panel.x.high), s.text) for s in panel.shades],
    }
    if panel.key:
        found["key"] = panel.key
    if panel.direct_labels:
        found["labels"] = True
    return found


def _axis_data(axis: Axis) -> dict[str, Any]:
    found: dict[str, Any] = {"label": axis.label, "quantity": axis.quantity, "low": axis.low, "high": axis.high}
    if axis.marks:
        found["marks"] = axis.marks
    return {**found, "log": axis.log}
