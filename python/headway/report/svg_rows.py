"""Draw rows on one common axis as inline SVG: what panels of dots and panels of bars have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from .spec import Axis
from .svg_parts import CHARACTER, WIDTHS, Frame, line, readable, text
from .ticks import axis_title, ticks

# A row: its name, and the lines that tell it.
Row = tuple[str, Sequence[str]]


def draw_rows(
    title: str,
    axis: Axis,
    rows: Sequence[Row],
    pitch: float,
    columns: int,
    marks: Callable[[int, Frame, float], Iterable[str]],
) -> str:
    """The panel as one SVG element; each row is focusable and tells its values.

    pitch: the height of a row
    marks: what a row shows, by its number, the frame and the middle of the row
    """
    width = WIDTHS[min(columns, 2)]
    left = 14.0 + max((len(name) for name, _ in rows), default=4) * CHARACTER
    top = 26.0 if title else 6.0
    height = top + pitch * len(rows) + 42.0
    frame = Frame(left, top, width - left - 24.0, height - top - 42.0, axis, Axis("", "count", 0.0, 1.0))
    parts = [text("title", 0, 14, title)] if title else []
    for tick in ticks(axis):
        x = frame.px(tick.value)
        parts += [line("grid", x, frame.top, x, frame.bottom), text("tick", x, frame.bottom + 17, tick.text, "middle")]
    parts.append(text("unit", frame.right, frame.bottom + 34, axis_title(axis), "end"))
    for index, (name, detail) in enumerate(rows):
        upper = frame.top + pitch * index
        middle = upper + pitch / 2
        cells = [
            f'<rect class="hit" x="0" y="{upper:.1f}" width="{width}" height="{pitch:.1f}"/>',
            line("grid", 0, upper, frame.right, upper),
            text("row", left - 10, middle + 4, name, "end"),
            *marks(index, frame, middle),
        ]
        parts.append(
            f'<g class="row-group" tabindex="0" {readable(chr(10).join([name, *detail]))}>{"".join(cells)}</g>'
        )
    label = escape(title or axis_title(axis))
    box = f'viewBox="0 0 {width} {height:.0f}"'
    return f'<svg class="chart" {box} role="group" aria-label="{label}">{"".join(parts)}</svg>'
