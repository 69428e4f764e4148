"""Draw a bar panel as inline SVG: a row for each flow or class of flows, each a bar of several parts, on one axis."""

from __future__ import annotations

from collections.abc import Iterator

from .spec import BarPanel
from .svg_parts import Frame, Slots, group
from .svg_rows import draw_rows

PITCH = 22.0
THICK = 13.0


def draw_bars(panel: BarPanel, columns: int, slots: Slots) -> str:
    """The panel, wide and narrow; each row is focusable and tells its values."""

    def bars(index: int, frame: Frame, middle: float) -> Iterator[str]:
        for bar in panel.rows[index].bars:
            x1, x2 = frame.px(bar.start), frame.px(bar.end)
            place = f'x="{x1:.1f}" y="{middle - THICK / 2:.1f}" width="{x2 - x1:.1f}" height="{THICK}"'
            yield group(bar.key, slots, f'<rect class="bar" {place}/>')

    rows = [(row.name, row.detail) for row in panel.rows]
    return draw_rows(panel.title, panel.x, rows, PITCH, columns, bars)
