"""Draw a bar panel as inline SVG: a row for each flow or class of flows, each a bar of several parts, on one axis."""

from __future__ import annotations

from html import escape

from .spec import Axis, BarPanel
from .svg_parts import CHARACTER, WIDTHS, Frame, Slots, group, line, readable, text
from .ticks import axis_title, ticks

PITCH = 22.0
THICK = 13.0


def draw_bars(panel: BarPanel, columns: int, slots: Slots) -> str:
    """The panel as one SVG element; each row is focusable and tells its values."""
    width = WIDTHS[min(columns, 2)]
    left = 14.0 + max((len(row.name) for row in panel.rows), default=4) * CHARACTER
    top = 26.0 if panel.title else 6.0
    height = top + PITCH * len(panel.rows) + 42.0
    frame = Frame(left, top, width - left - 24.0, height - top - 42.0, panel.x, Axis("", "count", 0.0, 1.0))
    parts = [text("title", 0, 14, panel.title)] if panel.title else []
    for tick in ticks(panel.x):
        x = frame.px(tick.value)
        parts += [line("grid", x, frame.top, x, frame.bottom), text("tick", x, frame.bottom + 17, tick.text, "middle")]
    parts.append(text("unit", frame.right, frame.bottom + 34, axis_title(panel.x), "end"))
    for index, row in enumerate(panel.rows):
        upper = frame.top + PITCH * index
        cells = [
            f'<rect class="hit" x="0" y="{upper:.1f}" width="{width}" height="{PITCH:.1f}"/>',
            line("grid", 0, upper, frame.right, upper),
            text("row", left - 10, upper + PITCH / 2 + 4, row.name, "end"),
        ]
        for bar in row.bars:
            x1, x2 = frame.px(bar.start), frame.px(bar.end)
            place = f'x="{x1:.1f}" y="{upper + (PITCH - THICK) / 2:.1f}" width="{x2 - x1:.1f}" height="{THICK}"'
            cells.append(group(bar.key, slots, f'<rect class="bar" {place}/>'))
        tip = "\n".join([row.name, *row.detail])
        parts.append(f'<g class="row-group" tabindex="0" {readable(tip)}>{"".join(cells)}</g>')
    label = escape(panel.title or axis_title(panel.x))
    box = f'viewBox="0 0 {width} {height:.0f}"'
    return f'<svg class="chart" {box} role="group" aria-label="{label}">{"".join(parts)}</svg>'
