"""The shape of the runs: variants, sweep axes, facets and seeds, with one style a variant.

A sweep's first axis to be drawn against (`x`) is the offered load if there is one, or what `[report] x` names, or the
first numeric axis. Every other axis (workload, start mode, ...) makes a facet: figures get one panel or row for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from headway.data.point import Point, Scalar
from headway.data.steadiness import unmeasured
from headway.data.units import parse_any

from .load import Results
from .palette import Style, flow_styles, variant_styles
from .spec import LegendEntry

FLOW_COLOURS = 8
FacetKey = tuple[tuple[str, Scalar], ...]


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key under which f2 comes before f10."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text) if part)


def short_axis(key: str) -> str:
    """Last part of a dotted key: `traffic.0.load` is `load`."""
    name = key.rsplit(".", 1)[-1]
    return {"cdf": "workload"}.get(name, name)


def value_text(value: Scalar) -> str:
    """A sweep value as people write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Facet:
    """One combination of the axes that are not drawn against."""

    key: FacetKey

    @property
    def text(self) -> str:
        """Such as `xpass_websearch` or `mode = line-rate`."""
        parts = []
        for name, value in self.key:
            short = short_axis(name)
            bare = short == "workload" or (isinstance(value, str) and short in ("mode", "kind", "name"))
            parts.append(value_text(value) if bare else f"{short} = {value_text(value)}")
        return ", ".join(parts)

    def prefix(self, title: str) -> str:
        """The facet's text in front of a panel title."""
        return f"{self.text} · {title}" if self.key else title


@dataclass(frozen=True)
class Study:
    """All points of a report, arranged."""

    results: Results
    whole: Study | None = None  # of which this is the split
    points: tuple[Point, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", self.results.points)

    @cached_property
    def is_mixed(self) -> bool:
        """True if some run has several transports."""
        return any(point.parts for point in self.points)

    @cached_property
    def unmeasured(self) -> str:
        """Reason why there is no number of flows although some finished; empty if there is one."""
        return unmeasured(point.summary for point in self.points)

    @cached_property
    def split(self) -> Study:
        """A study with a variant for each transport of runs that have several; this study if no run has several."""
        if not self.is_mixed:
            return self
        points = tuple(part for point in self.points for part in point.parts or (point,))
        return Study(replace(self.results, points=points), self)

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """Variants in order of appearance."""
        return tuple(dict.fromkeys(point.variant for point in self.points))

    @cached_property
    def styles(self) -> dict[str, Style]:
        """One style a variant, for every figure."""
        if self.whole is not None:
            return self.whole.styles
        # Transports first: what figures show of a mixture is its parts.
        points = (*self.split.points, *self.points) if self.is_mixed else self.points
        pairs = dict.fromkeys((p.variant, p.transport) for p in points)
        first = dict(reversed(pairs))
        return variant_styles([(variant, first[variant]) for variant in dict.fromkeys(p.variant for p in points)])

    @cached_property
    def axis_keys(self) -> tuple[str, ...]:
        """Axes that take more than one value, or any value at all where the sweep has points that differ in it."""
        keys = dict.fromkeys(key for point in self.points for key in point.axes)
        return tuple(k for k in keys if len({p.axes.get(k) for p in self.points}) > 1 or short_axis(k) == "load")

    @cached_property
    def x_key(self) -> str | None:
        """The axis that figures are drawn against; None if nothing was swept that has a size."""
        wanted = str(self.results.report.get("x", ""))
        numeric = [k for k in self.axis_keys if self._quantity_of(k)]
        named = [k for k in numeric if k == wanted or short_axis(k) == wanted]
        varied = [k for k in numeric if len({p.axes.get(k) for p in self.points}) > 1] or numeric
        loads = [k for k in varied if short_axis(k) == "load"]
        return next(iter(named or loads or varied), None)

    @cached_property
    def facets(self) -> tuple[Facet, ...]:
        """Combinations of the other axes, in order of appearance."""
        return tuple(dict.fromkeys(self.facet_of(point) for point in self.points))

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that were run."""
        return tuple(sorted({point.seed for point in self.points}))

    def facet_of(self, point: Point) -> Facet:
        """Facet a point belongs to."""
        keys = [k for k in self.axis_keys if k != self.x_key]
        return Facet(tuple((k, point.axes[k]) for k in keys if k in point.axes))

    def x_of(self, point: Point) -> float:
        """Position of a point on the x axis (0 where there is none)."""
        parsed = parse_any(point.axes[self.x_key]) if self.x_key else None
        return parsed[0] if parsed else 0.0

    @property
    def x_quantity(self) -> str:
        """Quantity of the x axis, such as `bytes` or `ratio`."""
        kind = self._quantity_of(self.x_key) if self.x_key else "ratio"
        return "bytes" if kind == "ratio" and self.x_key and short_axis(self.x_key) == "bytes" else kind

    def _quantity_of(self, axis: str) -> str:
        """Quantity of all values of an axis; empty if they are of several kinds, or not numbers. Sizes may be bare."""
        kinds = {_kind(point.axes.get(axis)) for point in self.points}
        if kinds == {"bytes", "ratio"}:
            return "bytes"
        return kinds.pop() if len(kinds) == 1 else ""

    def xs(self, facet: Facet) -> list[float]:
        """Positions on the x axis at which the facet has points."""
        return self._xs[facet]

    @cached_property
    def _xs(self) -> dict[Facet, list[float]]:
        found: dict[Facet, set[float]] = {}
        for point in self.points:
            found.setdefault(self.facet_of(point), set()).add(self.x_of(point))
        return {facet: sorted(xs) for facet, xs in found.items()}

    def group(self, variant: str, facet: Facet, x: float | None = None) -> list[Point]:
        """The points, one a seed, of a variant in a facet at `x` (default: the largest x of the facet)."""
        if x is None:
            x = self.xs(facet)[-1]
        return self._groups.get((variant, facet, x), [])

    @cached_property
    def _groups(self) -> dict[tuple[str, Facet, float], list[Point]]:
        """The points of each variant, facet and x, by seed."""
        found: dict[tuple[str, Facet, float], list[Point]] = {}
        for point in sorted(self.points, key=lambda one: one.seed):
            found.setdefault((point.variant, self.facet_of(point), self.x_of(point)), []).append(point)
        return found

    def first(self, variant: str, facet: Facet) -> Point | None:
        """The run that time-line figures show: largest x, smallest seed."""
        return next(iter(self.group(variant, facet)), None)

    def at_text(self, facet: Facet) -> str:
        """Such as ` at load 0.7`, empty without an x axis."""
        if not self.x_key:
            return ""
        largest = self.xs(facet)[-1]
        shown = next(p.axes[self.x_key] for p in self.points if self.facet_of(p) == facet and self.x_of(p) == largest)
        return f" at {short_axis(self.x_key)} {shown if isinstance(shown, str) else format(shown, 'g')}"

    def flow_styles(self, shown: Sequence[str]) -> dict[str, Style]:
        """Styles of the flows that a figure shows; the same flow looks the same in every figure."""
        everybody = self.points[0].flows.select("name").head(FLOW_COLOURS + 1)["name"].to_list()
        if len(everybody) <= FLOW_COLOURS and set(shown) <= set(everybody):
            styles = flow_styles(sorted(everybody, key=natural))
            return {name: styles[name] for name in shown}
        return flow_styles(shown)

    def legend(self, keys: Iterable[str] | None = None) -> tuple[LegendEntry, ...]:
        """Legend of the variants (those in `keys`, default all), in order."""
        wanted = set(self.variants if keys is None else keys)
        kept = [variant for variant in self.variants if variant in wanted]
        return tuple(LegendEntry(variant_key(v), v, self.styles[v]) for v in kept)


def variant_key(variant: str) -> str:
    """Legend key of a variant (flows have keys of their own, and may bear the same name)."""
    return f"v:{variant}"


def flow_key(flow: str) -> str:
    """Legend key of a flow."""
    return f"f:{flow}"


def _kind(value: object) -> str:
    """Quantity of an axis's value; empty if it is not a number."""
    parsed = parse_any(value)
    return parsed[1] if parsed else ""
