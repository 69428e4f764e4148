"""What an expression is evaluated on: the runs of one seed, narrowed to a variant and to values of the axes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from headway.claims.language import CannotMeasure
from headway.errors import nearest
from headway.results import Run

# Two sample times are the same when they differ by less than this; sampling intervals are microseconds or more.
SAME_TIME_S = 1e-9


@dataclass(frozen=True)
class Series:
    """Samples of one or several entities: each value covers the interval that ends at its time."""

    label: str
    times: tuple[float, ...]
    values: tuple[float, ...]

    def window(self, start: float, end: float) -> list[tuple[float, float]]:
        """Samples whose interval lies in `start`..`end`; raises `CannotMeasure` if there is none."""
        first = bisect_right(self.times, start + SAME_TIME_S)
        last = bisect_right(self.times, end + SAME_TIME_S)
        if first >= last:
            raise CannotMeasure(f"{self.label} has no sample between {start:g} s and {end:g} s")
        return list(zip(self.times[first:last], self.values[first:last], strict=True))

    def __mul__(self, factor: float) -> Series:
        return Series(self.label, self.times, tuple(v * factor for v in self.values))

    def __add__(self, other: Series) -> Series:
        if self.times != other.times:
            raise CannotMeasure(f"{self.label} and {other.label} are not sampled at the same times")
        values = tuple(a + b for a, b in zip(self.values, other.values, strict=True))
        return Series(f"{self.label} + {other.label}", self.times, values)


@dataclass(frozen=True)
class PointRun:
    """One finished point of a sweep."""

    variant: str
    axes: Mapping[str, Any]
    seed: int
    run: Run

    @cached_property
    def _sampled(self) -> dict[tuple[str, str], dict[float, float]]:
        found: dict[tuple[str, str], dict[float, float]] = {}
        frame = self.run.series.to_polars().select("t_s", "entity", "metric", "value")
        for time, entity, metric, value in frame.iter_rows():
            found.setdefault((entity, metric), {})[time] = value
        return found

    @cached_property
    def _grid(self) -> tuple[float, ...]:
        return tuple(sorted({time for samples in self._sampled.values() for time in samples}))

    def series(self, entity: str, metric: str, *, absent: float | None = None) -> Series:
        """One sampled series; with `absent`, times at which the entity has no sample have that value."""
        samples = self._sampled.get((entity, metric))
        if samples is None:
            sampled = sorted({e for e, m in self._sampled if m == metric})
            raise CannotMeasure(f"no series {metric} of {entity} (of {', '.join(sampled) or 'nothing'})")
        label = f"{metric} of {entity}"
        if absent is None:
            times = tuple(sorted(samples))
            return Series(label, times, tuple(samples[t] for t in times))
        return Series(label, self._grid, tuple(samples.get(t, absent) for t in self._grid))

    @cached_property
    def frame_over_payload(self) -> float:
        """Bytes that a full packet takes on the wire over those it delivers."""
        # Real packets have sizes of their own, which their run wrote down.
        sizes = (self.run.manifest.get("testbed") or {}).get("packet_sizes") or self.run.manifest["scenario"]["fabric"]
        payload = float(sizes["payload"])
        return (payload + float(sizes["header"]) + float(sizes["framing"])) / payload


@dataclass(frozen=True)
class Context:
    """The runs of one seed, and which of them is meant."""

    points: Sequence[PointRun]
    variant: str | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)
    transport: str | None = None

    def of(self, variant: str) -> Self:
        """The same, for another variant."""
        return replace(self, variant=variant)

    def at(self, axes: Mapping[str, Any]) -> Self:
        """The same, at these values of the axes."""
        return replace(self, axes={**self.axes, **axes})

    def among(self, transport: str) -> Self:
        """The same, over the flows of one of several transports."""
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

    def point(self) -> PointRun:
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
    def _part(point: PointRun, transport: str) -> PointRun:
        known = point.run.transports
        if transport not in known:
            close = nearest(transport, known)
            hint = f"; nearest: {', '.join(close)}" if close else f" (it has {', '.join(known) or 'one'})"
            raise CannotMeasure(f"the run has no transport {transport} among several{hint}")
        return replace(point, run=point.run.among(transport))

    def _matches(self, point: PointRun) -> bool:
        return all(key in point.axes and point.axes[key] == value for key, value in self.axes.items())

    def _where(self) -> str:
        places = [f"{key} = {value}" for key, value in self.axes.items()]
        if self.variant:
            places.insert(0, f"variant {self.variant}")
        return "at " + ", ".join(places) if places else "is finished"
