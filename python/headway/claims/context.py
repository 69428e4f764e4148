"""Data that an expression is evaluated on: the runs of one seed, narrowed to a variant and to values of the axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from headway.claims.language import CannotMeasure
from headway.data.point import Point
from headway.errors import nearest


@dataclass(frozen=True)
class Context:
    """The runs of one seed, and which of them is meant."""

    points: Sequence[Point]
    variant: str | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)
    transport: str | None = None

    def of(self, variant: str) -> Self:
        """A copy of this context for another variant."""
        return replace(self, variant=variant)

    def at(self, axes: Mapping[str, Any]) -> Self:
        """A copy of this context at these values of the axes."""
        return replace(self, axes={**self.axes, **axes})

    def among(self, transport: str) -> Self:
        """A copy of this context over the flows of one of several transports."""
        return replace(self, transport=transport)

    def combinations(self) -> list[Self]:
        """One context for each combination of axis values that the sweep holds."""
        found: list[dict[str, Any]] = []
        for point in self.points:
            if self._matches(point) and dict(point.axes) not in found:
                found.append(dict(point.axes))
        if not found:
            raise CannotMeasure(f"no run {self._where()}")
        return [self.at(axes) for axes in found]

    def point(self) -> Point:
        """The one run that is meant; raises `CannotMeasure` if none is there, or several are."""
        chosen = [p for p in self.points if self._matches(p) and self.variant in (None, p.variant)]
        if not chosen:
            known = sorted({p.variant for p in self.points})
            if self.variant is not None and self.variant not in known:
                raise CannotMeasure(f"the sweep has no variant {self.variant} (it has {', '.join(known) or 'no run'})")
            raise CannotMeasure(f"no run {self._where()}")
        if len(chosen) > 1:
            open_axes = sorted({key for p in chosen for key in p.axes} - set(self.axes))
            what = f"at {', '.join(open_axes)}" if open_axes else "without a variant"
            raise CannotMeasure(f"{len(chosen)} runs are meant; say which {what}")
        return chosen[0] if self.transport is None else self._part(chosen[0], self.transport)

    @staticmethod
    def _part(point: Point, transport: str) -> Point:
        known = point.run.transports
        if transport not in known:
            close = nearest(transport, known)
            hint = f"; nearest: {', '.join(close)}" if close else f" (it has {', '.join(known) or 'one'})"
            raise CannotMeasure(f"the run has no transport {transport} among several{hint}")
        return replace(point, results=point.run.among(transport))

    def _matches(self, point: Point) -> bool:
        return all(key in point.axes and point.axes[key] == value for key, value in self.axes.items())

    def _where(self) -> str:
        places = [f"{key} = {value}" for key, value in self.axes.items()]
        if self.variant:
            places.insert(0, f"variant {self.variant}")
        return "at " + ", ".join(places) if places else "is finished"
