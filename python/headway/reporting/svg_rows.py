"""Draw rows on one common axis as inline SVG: the common part of panels of dots and panels of bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from .spec import Axis
from .svg_parts import CHARACTER, WIDTHS, Frame, line, readable, text
from .ticks import axis_title, ticks

# A row: its name, and the lines that tell it.
Row = tuple[str, Sequence[str]]
# Draws the marks of a row, by its number, the frame and the middle of the row.
Marks = Callable[[int, Frame, float], Iterable[str]]
# Width of a view box for narrow screens, where a row has its name above it and not at its side.
NARROW = 388.0
NAME = 16.0


def draw_rows(
    title: str,
    axis: Axis,
    rows: Sequence[Row],
    pitch: float,
    columns: int,
    marks: Marks,
    reference: float | None = None,
) -> str:
    """The panel as one element with two drawings, the second for narrow screens; pitch is the height of a row."""
    wide = _drawn("wide", title, axis, rows, pitch, WIDTHS[min(columns, 2)], marks, reference)
    narrow = _drawn("narrow", title, axis, rows, pitch, NARROW, marks, reference)
    return f'<div class="rows">{wide}{narrow}</div>'


def _drawn(
    form: str,
    title: str,
    axis: Axis,
    rows: Sequence[Row],
    pitch: float,
    width: float,
    marks: Marks,
    reference: float | None,
) -> str:
    """One SVG element; each row is focusable and tells its values."""
    above = NAME if form == "narrow" else 0.0
    beside = 0.0 if above else 14.0 + max((len(name) for name, _ in rows), default=4) * CHARACTER
    left, right = (8.0, 12.0) if above else (beside, 24.0)
    top = 26.0 if title else 6.0
    pitch += above
    height = top + pitch * len(rows) + 42.0
    frame = Frame(left, top, width - left - right, height - top - 42.0, axis, Axis("", "count", 0.0, 1.0))
    parts = [text("title", 0, 14, title)] if title else []
    for tick in ticks(axis):
        x = frame.px(tick.value)
        parts += [line("grid", x, frame.top, x, frame.bottom), text("tick", x, frame.bottom + 17, tick.text, "middle")]
    if reference is not None:
        parts.append(line("reference", frame.px(reference), frame.top, frame.px(reference), frame.bottom))
    parts.append(text("unit", frame.right, frame.bottom + 34, axis_title(axis), "end"))
    for index, (name, detail) in enumerate(rows):
        upper = frame.top + pitch * index
        middle = upper + (pitch + above) / 2
        named = text("row", 0, upper + 14, name) if above else text("row", left - 10, middle + 4, name, "end")
        cells = [
            f'<rect class="hit" x="0" y="{upper:.1f}" width="{width:g}" height="{pitch:.1f}"/>',
            line("grid", 0, upper, frame.right, upper),
            named,
            *marks(index, frame, middle),
        ]
        parts.append(
            f'<g class="row-group" tabindex="0" {readable(chr(10).join([name, *detail]))}>{"".join(cells)}</g>'
        )
    label = escape(title or axis_title(axis))
    box = f'viewBox="0 0 {width:g} {height:.0f}"'
    return f'<svg class="chart {form}" {box} role="group" aria-label="{label}">{"".join(parts)}</svg>'
