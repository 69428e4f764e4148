"""Deadlines: how many flows miss theirs, and by how much."""

from __future__ import annotations

from headway.data.later import np, pl
from headway.data.point import Point
from headway.data.samples import Array, cdf
from headway.data.statistics import over_seeds

from ..picks import Pick, about, numbered, others, readable, runs_of, unread
from ..spec import Axis, Curve, Figure, Panel, Shade
from ..study import Facet, Study, short_axis, variant_key
from ..summaries import summary_number
from ..ticks import linear_axis, log_axis
from .fct_load import study_axis
from .kind import FigureKind, with_deadlines

POINTS = 160
MISSED = "deadline_missed_fraction"
NEVER = float("inf")


def deadlines(study: Study) -> Figure:
    """The share of deadlines missed against the swept key, and the distribution of time used over time allowed."""
    figure_id, title = "deadlines", "Deadlines"
    if not any(summary_number(point, MISSED) is not None for point in study.points):
        return Figure(figure_id, title, absent="no flow has a deadline")
    panels: list[Panel] = []
    more: list[Panel] = []
    for facet in study.facets:
        for pick in (Pick(), *others(study, facet, x=False)):
            if study.x_key and len(study.xs(facet)) > 1:
                (panels if pick.is_first else more).append(_missed(study, facet, pick))
        for pick in (Pick(), *(others(study, facet) if readable(study) else ())):
            (panels if pick.is_first else more).extend(_used(study, facet, pick))
    caption = (
        "A flow misses its deadline if it is not whole by then; flows whose deadline is after the end of the run do "
        "not count. Time used is the completion time over the time allowed; the shaded part is too late, and a flow "
        "that never ended is beyond the axis."
    )
    caption += unread(study)
    return Figure(figure_id, title, caption, tuple(panels), 2, study.legend(), more=tuple(more))


def _missed(study: Study, facet: Facet, pick: Pick) -> Panel:
    curves = []
    numbers = numbered(study)
    for variant in study.variants:
        rows = []
        for x in study.xs(facet):
            points = Pick(x, pick.seed).points(study, variant, facet)
            found = over_seeds([summary_number(p, MISSED) for p in points])
            if found:
                half = found.half_width or 0.0
                low, high = max(found.mean - half, 0.0), min(found.mean + half, 1.0)
                rows.append((x, found.mean, low, high, runs_of(numbers, points)))
        if rows:
            xs, means, lows, highs, runs = (tuple(column) for column in zip(*rows, strict=True))
            low_band, high_band = (lows, highs) if lows != highs else (None, None)
            curves.append(Curve(variant_key(variant), xs, means, low_band, high_band, markers=True, runs=runs))
    y = linear_axis("deadlines missed", "percent", [0.01, *[v for c in curves for v in (c.high or c.y)]])
    x_axis = study_axis(short_axis(study.x_key or ""), study.x_quantity, study.xs(facet))
    of = about(study, facet, pick, x=False)
    return Panel(facet.prefix("deadlines missed"), x_axis, y, tuple(curves), direct_labels=True, about=of)


def _used(study: Study, facet: Facet, pick: Pick) -> list[Panel]:
    curves = []
    for variant in study.variants:
        values = _pooled(pick.points(study, variant, facet))
        ended = values[np.isfinite(values)]
        if ended.size:
            x, share = cdf(ended, POINTS if pick.is_first else POINTS // 4)
            shares = share * (ended.size / values.size)
            curves.append(Curve(variant_key(variant), tuple(map(float, x)), tuple(map(float, shares)), step=True))
    if not curves:
        return []
    ends = [v for curve in curves for v in (curve.x[0], curve.x[-1])]
    x_axis = log_axis("time used ÷ time allowed", "ratio", [*ends, 1.2])
    y = Axis("share of flows", "percent", 0.0, 1.0)
    late = (Shade(1.0, x_axis.high, "too late"),)
    title = facet.prefix(f"time used{study.at_text(facet) if pick.x is None else ''}")
    return [Panel(title, x_axis, y, tuple(curves), shades=late, about=about(study, facet, pick))]


def _pooled(points: list[Point]) -> Array:
    """Time used over time allowed of every flow with a deadline that counts; infinite if it is open at the end."""
    parts = [np.empty(0)]
    for point in points:
        kept = point.counted_flows.filter(pl.col("deadline_s").is_not_null())
        used = pl.when(pl.col("is_open")).then(NEVER).otherwise(pl.col("fct_s") / pl.col("deadline_s"))
        parts.append(kept.select(used.cast(pl.Float64).alias("used"))["used"].to_numpy())
    return np.concatenate(parts)


KIND = FigureKind(
    "deadlines missed, and the time that flows use of what they are allowed", deadlines, needs=(with_deadlines,)
)
