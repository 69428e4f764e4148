"""Draw a dot panel as inline SVG: rows of links, one lane a variant, on one axis."""

from __future__ import annotations

from collections.abc import Iterator

from headway.data.bounds import Bound

from .spec import Dot, DotPanel
from .svg_parts import Frame, Slots, group, line
from .svg_rows import draw_rows

LANE = 7.5


def draw_dots(panel: DotPanel, columns: int, slots: Slots) -> str:
    """The panel, wide and narrow; each row is focusable and tells its values."""

    def dots(index: int, frame: Frame, middle: float) -> Iterator[str]:
        row = panel.rows[index].dots
        for lane, dot in enumerate(row):
            yield _dot(dot, frame, middle + LANE * (lane - (len(row) - 1) / 2), slots)

    lanes = max((len(row.dots) for row in panel.rows), default=1)
    rows = [(row.name, [dot.detail for dot in row.dots]) for row in panel.rows]
    return draw_rows(panel.title, panel.x, rows, 11.0 + LANE * lanes, columns, dots, panel.reference)


def _dot(dot: Dot, frame: Frame, y: float, slots: Slots) -> str:
    bar = ""
    if dot.low is not None and dot.high is not None:
        bar = line("range", frame.px(dot.low), y, frame.px(dot.high), y)
    kind = "dot bound" if isinstance(dot.value, Bound) else "dot"
    return group(dot.key, slots, f'{bar}<circle class="{kind}" cx="{frame.px(dot.value):.1f}" cy="{y:.1f}" r="4"/>')
