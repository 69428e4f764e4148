"""The distribution of round trips, from data to its answer, as the machines that sent the data measured them."""

from __future__ import annotations

from collections import Counter

from headway.data.later import np
from headway.data.point import Point

from ..picks import Pick, about, others
from ..spec import About, Axis, Curve, Figure, Panel
from ..study import Study, variant_key
from ..ticks import log_axis
from .kind import FigureKind


def round_trips(study: Study) -> Figure:
    """Empirical distributions, a panel a facet, a line a variant."""
    figure_id, title = "round-trips", "Distribution of round trips"
    panels: list[Panel] = []
    more: list[Panel] = []
    for facet in study.facets:
        for pick in (Pick(), *others(study, facet)):
            groups = [(variant, pick.points(study, variant, facet)) for variant in study.variants]
            found = _panel(facet.prefix("round trip"), groups, about(study, facet, pick))
            (panels if pick.is_first else more).extend(found)
    if not panels:
        return Figure(figure_id, title, absent="no machine here measures them, or nothing was answered")
    caption = "Share of the answered data packets with a round trip at or below x, in bins of a hundredth"
    caption += f", all seeds pooled{study.at_text(study.facets[0])}." if len(study.seeds) > 1 else "."
    drawn = {series.key for panel in (*panels, *more) for series in panel.series}
    shown = [variant for variant in study.variants if variant_key(variant) in drawn]
    silent = [variant for variant in study.variants if variant not in shown]
    if silent:
        caption += f" Not measured under {', '.join(silent)}."
    return Figure(figure_id, title, caption, tuple(panels), 2, study.legend(shown), more=tuple(more))


def _panel(title: str, groups: list[tuple[str, list[Point]]], of: About) -> list[Panel]:
    """The panel of a facet; none if nothing in it was measured."""
    series, ends = [], []
    for variant, points in groups:
        bins = _pooled(points)
        if bins:
            xs = sorted(bins)
            shares = np.cumsum([bins[x] for x in xs]) / sum(bins.values())
            ends += [xs[0], xs[-1]]
            series.append(Curve(variant_key(variant), tuple(xs), tuple(float(v) for v in shares), step=True))
    if not series:
        return []
    x_axis = log_axis("round trip", "time", ends)
    return [Panel(title, x_axis, Axis("share of packets", "percent", 0.0, 1.0), tuple(series), about=of)]


def _pooled(points: list[Point]) -> Counter[float]:
    """Counts by the upper ends of their bins, in seconds."""
    bins: Counter[float] = Counter()
    for point in points:
        trips = point.summary.get("round_trips")
        histogram = trips.get("histogram") if isinstance(trips, dict) else None
        bins.update({float(end): int(count) for end, count in histogram or []})
    return bins


KIND = FigureKind("the distribution of round trips", lambda study: round_trips(study.split))
