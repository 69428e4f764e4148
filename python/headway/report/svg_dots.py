"""Draw a dot panel as inline SVG: rows of links, one lane a variant, on one axis."""

from __future__ import annotations

from html import escape

from .spec import Axis, Dot, DotPanel
from .svg_parts import CHARACTER, WIDTHS, Frame, Slots, group, line, readable, text
from .ticks import axis_title, ticks

LANE = 7.5


def draw_dots(panel: DotPanel, columns: int, slots: Slots) -> str:
    """The panel as one SVG element; each row is focusable and tells its values."""
    width = WIDTHS[min(columns, 2)]
    lanes = max((len(row.dots) for row in panel.rows), default=1)
    pitch = 11.0 + LANE * lanes
    left = 14.0 + max((len(row.name) for row in panel.rows), default=4) * CHARACTER
    top = 26.0 if panel.title else 6.0
    height = top + pitch * len(panel.rows) + 42.0
    frame = Frame(left, top, width - left - 24.0, height - top - 42.0, panel.x, Axis("", "count", 0.0, 1.0))
    parts = [text("title", 0, 14, panel.title)] if panel.title else []
    for tick in ticks(panel.x):
        x = frame.px(tick.value)
        parts += [line("grid", x, frame.top, x, frame.bottom), text("tick", x, frame.bottom + 17, tick.text, "middle")]
    parts.append(text("unit", frame.right, frame.bottom + 34, axis_title(panel.x), "end"))
    for index, row in enumerate(panel.rows):
        upper = frame.top + pitch * index
        middle = upper + pitch / 2
        cells = [
            f'<rect class="hit" x="0" y="{upper:.1f}" width="{width}" height="{pitch:.1f}"/>',
            line("grid", 0, upper, frame.right, upper),
            text("row", left - 10, middle + 4, row.name, "end"),
        ]
        for lane, dot in enumerate(row.dots):
            cells.append(_dot(dot, frame, middle + LANE * (lane - (len(row.dots) - 1) / 2), slots))
        tip = "\n".join([row.name, *[dot.detail for dot in row.dots]])
        parts.append(f'<g class="row-group" tabindex="0" {readable(tip)}>{"".join(cells)}</g>')
    label = escape(panel.title or axis_title(panel.x))
    box = f'viewBox="0 0 {width} {height:.0f}"'
    return f'<svg class="chart" {box} role="group" aria-label="{label}">{"".join(parts)}</svg>'


def _dot(dot: Dot, frame: Frame, y: float, slots: Slots) -> str:
    bar = ""
    if dot.low is not None and dot.high is not None:
        bar = line("range", frame.px(dot.low), y, frame.px(dot.high), y)
    return group(dot.key, slots, f'{bar}<circle class="dot" cx="{frame.px(dot.value):.1f}" cy="{y:.1f}" r="4"/>')
