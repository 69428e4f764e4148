"""The values that figures show, as CSV: with intervals and units, one file a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from headway.files import write_text
from headway.inputs import formula_free

from .assemble import Report
from .look import Look
from .spec import Axis, BarPanel, DotPanel, Figure, HeatPanel, Panel
from .study import variant_key

HEAD = ("figure", "panel", "series", "x", "y", "y_low", "y_high", "x_is", "x_unit", "y_is", "y_unit")
OF_VARIANT = variant_key("")
UNITS = {"time": "s", "bytes": "B", "rate": "bit/s", "share": "1", "ratio": "1", "count": "1"}


def write_values(report: Report, directory: Path, look: Look | None = None) -> list[Path]:
    """One file a figure that has data; returns the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in report.drawn:
        own = (look or Look()).figure(figure)
        if rows := list(values(own)):
            path = directory / f"{figure.id}.csv"
            write_text(path, as_csv(HEAD, rows))
            written.append(path)
    return written


def as_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as text: empty without a value, numbers in full, and no text that a spreadsheet would compute."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([formula_free(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in row])
    return text.getvalue()


def values(figure: Figure) -> Iterator[tuple[object, ...]]:
    """A row for each point, dot or bar of a figure, in base units."""
    names = {entry.key: entry.text for entry in figure.legend}
    for panel in figure.panels:
        if isinstance(panel, Panel):
            about = (*_of(panel.x), *_of(panel.y))
            for line in panel.series:
                name = names.get(line.key, line.key.removeprefix(OF_VARIANT))
                for place, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
                    low, high = (side[place] if side is not None else None for side in (line.low, line.high))
                    yield (figure.id, panel.title, name, x, y, low, high, *about)
        elif isinstance(panel, DotPanel):
            for row in panel.rows:
                for dot in row.dots:
                    name = names.get(dot.key, dot.key.removeprefix(OF_VARIANT))
                    yield (figure.id, panel.title, name, row.name, dot.value, dot.low, dot.high, "", "", *_of(panel.x))
        elif isinstance(panel, BarPanel):
            for bars in panel.rows:
                for bar in bars.bars:
                    name = names.get(bar.key, bar.key.removeprefix(OF_VARIANT))
                    about = ("", "", *_of(panel.x))
                    yield (figure.id, panel.title, name, bars.name, bar.end - bar.start, bar.start, bar.end, *about)
        elif isinstance(panel, HeatPanel):
            about = (panel.x, "", panel.label, UNITS.get(panel.quantity, "1"))
            for cell in panel.cells:
                series = f"{panel.y}={panel.rows[cell.row]}"
                yield (
                    figure.id,
                    panel.title,
                    series,
                    panel.columns[cell.column],
                    cell.value,
                    cell.low,
                    cell.high,
                    *about,
                )


def _of(axis: Axis) -> tuple[str, str]:
    """Quantity of an axis, and its unit."""
    return axis.label, UNITS.get(axis.quantity, "1")
