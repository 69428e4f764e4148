"""The flows of several runs together, and whether they are enough for a distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headway.data.later import np, pl
from headway.data.point import Point
from headway.data.samples import Array

from .picks import Band
from .study import Study

FLOWS_NEEDED = 20
# With fewer values the 99th percentile by nearest rank is the largest of them.
P99_NEEDS = 100


def pooled(points: Sequence[Point], column: str, band: Band | None = None) -> Array:
    """The values of a column of all measured flows; with a band only of the flows of its sizes."""
    frames = [in_band(point.measured_flows, band).select(pl.col(column).cast(pl.Float64)) for point in points]
    values = pl.concat(frames)[column].to_numpy() if frames else np.empty(0)
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)


def pooled_counted(points: Sequence[Point], column: str, band: Band | None = None) -> tuple[Array, int]:
    """The values of a column of the flows that ended, and the number of those that are open at the end."""
    frames = [in_band(point.counted_flows, band) for point in points]
    values, still = [np.empty(0)], 0
    for frame in frames:
        ended = frame.filter(~frame["is_open"])[column].cast(pl.Float64).to_numpy()
        values.append(ended[np.isfinite(ended)])
        still += int(frame["is_open"].sum())
    return np.concatenate(values), still


def in_band(flows: pl.DataFrame, band: Band | None) -> pl.DataFrame:
    """The flows of the sizes of a band."""
    return flows if band is None else flows.filter((flows["bytes"] > band.above) & (flows["bytes"] <= band.upto))


def few_flows(study: Study) -> str | None:
    """Reason why there is no distribution; None if there is one."""
    most = max((pooled(study.group(v, f), "bytes").size for f in study.facets for v in study.variants), default=0)
    if most >= FLOWS_NEEDED:
        return None
    return f"{most} finished flows a variant; a distribution needs at least {FLOWS_NEEDED} (see the table of flows)"


def tail_name(label: str, counts: Iterable[float | None]) -> str:
    """A label such as `p99 FCT`, or of so few flows its meaning: the largest value."""
    if "p99" not in label:
        return label
    known = [count for count in counts if count]
    few = [count for count in known if count < P99_NEEDS]
    if not few:
        return label
    if len(few) == len(known):
        return f"{label.replace('p99', 'largest')} (under {P99_NEEDS} flows: no p99)"
    return f"{label} (the largest where under {P99_NEEDS} flows)"
