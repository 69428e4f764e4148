"""Look of figures for a paper: size, type, variants, labels, scales, limits, legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from headway.errors import HeadwayError, NameNotFound

from .load import Results
from .spec import Axis, BarPanel, DotPanel, Figure, Panel

SCALES = ("linear", "log")
LEGENDS = ("top", "bottom", "right", "inside", "none")
# Inches that a figure may be wide or high.
MOST_INCHES = 50.0

Limits = tuple[float | None, float | None]
P = TypeVar("P")


@dataclass(frozen=True)
class Look:
    """All of it; omitted settings are as the report has them. Limits are in base units (s, B, bit/s)."""

    width: float | None = None
    height: float | None = None
    style: Sequence[str] | str | Mapping[str, Any] | None = None
    font: str | None = None
    variants: Sequence[str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    xscale: str | None = None
    yscale: str | None = None
    xlim: Limits | None = None
    ylim: Limits | None = None
    legend: str | None = None

    def __post_init__(self) -> None:
        for name, inches in (("width", self.width), ("height", self.height)):
            if inches is not None and not 0.5 <= inches <= MOST_INCHES:
                raise HeadwayError(f"a {name} of {inches:g} in is no figure's: from 0.5 to {MOST_INCHES:g} in")
        for scale in (self.xscale, self.yscale):
            if scale is not None and scale not in SCALES:
                raise NameNotFound("scale", scale, SCALES, f"there is {' and '.join(SCALES)}")
        if self.legend is not None and self.legend not in LEGENDS:
            raise NameNotFound("place of a legend", self.legend, LEGENDS, f"there is {', '.join(LEGENDS)}")
        for name, limits in (("x", self.xlim), ("y", self.ylim)):
            if limits is not None and None not in limits and not limits[0] < limits[1]:  # type: ignore[operator]
                raise HeadwayError(f"limits of {name} from {limits[0]:g} to {limits[1]:g}: nothing is between them")

    @classmethod
    def of(cls, wanted: Mapping[str, Any]) -> tuple[Look, dict[str, Any]]:
        """Look from those of these keys that describe one, and the other keys."""
        names = {one.name for one in fields(cls)}
        own = {key: value for key, value in wanted.items() if key in names and value is not None}
        return cls(**own), {key: value for key, value in wanted.items() if key not in names}

    def results(self, found: Results) -> Results:
        """The results of the variants that are wanted, in the order in which they are named."""
        known = list(dict.fromkeys(point.variant for point in found.points))
        for name in (*(self.variants or ()), *self.labels):
            if name not in known:
                raise NameNotFound("variant", name, known, f"{found.directory} has {', '.join(known)}")
        if self.variants is None:
            return found
        order = {name: place for place, name in enumerate(self.variants)}
        kept = [point for point in found.points if point.variant in order]
        return replace(found, points=tuple(sorted(kept, key=lambda point: order[point.variant])))

    def figure(self, figure: Figure) -> Figure:
        """The figure with its labels, scales and limits."""
        legend = tuple(replace(one, text=self.labels.get(one.text, one.text)) for one in figure.legend)
        return replace(figure, legend=legend, panels=tuple(map(self._panel, figure.panels)))

    def _panel(self, panel: P) -> P:
        if isinstance(panel, Panel):
            title = self.labels.get(panel.title, panel.title)
            x, y = self._axis(panel.x, self.xscale, self.xlim), self._axis(panel.y, self.yscale, self.ylim)
            return replace(panel, title=title, x=x, y=y)
        if isinstance(panel, DotPanel):
            rows = tuple(replace(row, name=self.labels.get(row.name, row.name)) for row in panel.rows)
            return replace(panel, rows=rows, x=self._axis(panel.x, self.xscale, self.xlim))
        if isinstance(panel, BarPanel):
            rows_of_bars = tuple(replace(row, name=self.labels.get(row.name, row.name)) for row in panel.rows)
            return replace(panel, rows=rows_of_bars)
        return panel

    @staticmethod
    def _axis(axis: Axis, scale: str | None, limits: Limits | None) -> Axis:
        low, high = limits or (None, None)
        log = axis.log if scale is None else scale == "log"
        low, high = axis.low if low is None else low, axis.high if high is None else high
        if log and low <= 0.0:
            # A logarithm begins above 0: four powers of ten below the end, unless it is set.
            low = high / 1e4
        if not low < high:
            raise HeadwayError(f"limits from {low:g} to {high:g}: nothing is between them")
        return replace(axis, low=low, high=high, log=log)
