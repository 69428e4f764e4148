"""Draw a heat map as inline SVG: cells with their values, darker where the value is higher."""

from __future__ import annotations

from .spec import HeatPanel
from .svg_parts import CHARACTER, WIDTHS, readable, text

ROW = 30.0
# Opacity of the lowest and of the highest cell: text stays readable on both, in light and in dark mode.
LEAST, MOST = 0.06, 0.5


def draw_heat(panel: HeatPanel, columns: int) -> str:
    """The panel; each cell tells its value with its interval."""
    width = WIDTHS[columns]
    left = 16.0 + max(map(len, (*panel.rows, panel.y))) * CHARACTER
    top, height = 50.0, 50.0 + ROW * len(panel.rows) + 40.0
    wide = (width - left - 8.0) / len(panel.columns)
    parts = [text("title", 0, 14, panel.title), text("tick", left - 8, top - 8, panel.y, "end")]
    for row, name in enumerate(panel.rows):
        parts.append(text("tick", left - 8, top + ROW * (row + 0.5) + 4, name, "end"))
    for column, name in enumerate(panel.columns):
        parts.append(text("tick", left + wide * (column + 0.5), top + ROW * len(panel.rows) + 16, name, "middle"))
    parts.append(text("tick", left + wide * len(panel.columns) / 2, height - 4, panel.x, "middle"))
    # Frames of cells lie over the fills of their neighbours.
    for cell in sorted(panel.cells, key=lambda one: ("", "alike", "best").index(one.mark)):
        x, y = left + wide * cell.column, top + ROW * cell.row
        opacity = LEAST + (MOST - LEAST) * cell.share
        box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{wide - 2:.1f}" height="{ROW - 2:.1f}"'
        kind = f"heat {cell.mark}".rstrip()
        parts.append(
            f'<g tabindex="0" {readable(cell.detail)}><rect class="{kind}" {box} fill-opacity="{opacity:.3f}"/>'
            f"{text('value', x + wide / 2, y + ROW / 2 + 4, cell.text, 'middle')}</g>"
        )
    return f'<svg class="chart" viewBox="0 0 {width} {height:.0f}" role="group">{"".join(parts)}</svg>'
