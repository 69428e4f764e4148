"""Sampled series that expressions calculate with."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from headway.claims.language import CannotMeasure
from headway.data.run import Run
from headway.errors import nearest


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


# Two sample times are the same when they differ by less than this; sampling intervals are microseconds or more.
SAME_TIME_S = 1e-9


def sampled(run: Run, entity: str, metric: str, *, absent: float | None = None) -> Series:
    """One sampled series; with `absent`, times at which the entity was not sampled have that value."""
    samples = run.samples.get((entity, metric))
    if samples is None:
        raise CannotMeasure(_not_sampled(run, entity, metric))
    label = f"{metric} of {entity}"
    if absent is None:
        times = tuple(sorted(samples))
        return Series(label, times, tuple(samples[t] for t in times))
    return Series(label, run.sampled_at, tuple(samples.get(t, absent) for t in run.sampled_at))


def _not_sampled(run: Run, entity: str, metric: str) -> str:
    """Reason why there is no such series, with the names of those that exist."""
    if not run.samples:
        return "this run sampled nothing: rates and queues over time need a [sample] table in the scenario"
    metrics = sorted({m for _, m in run.samples})
    if metric not in metrics:
        return f"this run sampled no {metric} (it sampled {', '.join(metrics)})"
    known = sorted({e for e, m in run.samples if m == metric})
    close = nearest(entity, known)
    hint = f"nearest: {', '.join(close)}" if close else f"it was of {', '.join(known)}"
    return f"no {metric} of {entity} was sampled; {hint}"
