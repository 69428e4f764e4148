"""Distributions of completion time and of slowdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headway.data.samples import Array, cdf

from ..distributions import FLOWS_NEEDED, few_flows, pooled, pooled_counted
from ..picks import Pick, about, others, readable, unread
from ..spec import Axis, Curve, Figure, Panel
from ..study import Facet, Study, variant_key
from ..ticks import log_axis, slowdown_axis
from .kind import FigureKind

CDF_POINTS = 240
# Panels that a selector brings are coarser, because there are many of them.
FEWER_POINTS = 48


def distributions(study: Study) -> Figure:
    """Empirical distributions of completion time and slowdown, a row a facet, a line a variant."""
    figure_id, title = "cdf", "Distribution of FCT and of slowdown"
    if reason := few_flows(study):
        return Figure(figure_id, title, absent=reason)
    panels = [panel for facet in study.facets for panel in _panels(study, facet, Pick(), CDF_POINTS)]
    more: list[Panel] = []
    if readable(study):
        for facet in study.facets:
            for pick in others(study, facet, sized=True):
                more += _panels(study, facet, pick, FEWER_POINTS)
    most = max(pooled(study.group(v, f), "bytes").size for f in study.facets for v in study.variants)
    thinned = most > CDF_POINTS
    caption = "Share of the flows that count that ended within x; a line that ends below 100 % leaves out open ones"
    caption += f", all seeds pooled{study.at_text(study.facets[0])}." if len(study.seeds) > 1 else "."
    if thinned:
        caption += f" Drawn through {CDF_POINTS} order statistics, denser above the 95th percentile."
    caption += unread(study)
    return Figure(figure_id, title, caption, tuple(panels), 2, study.legend(), more=tuple(more))


def _panels(study: Study, facet: Facet, pick: Pick, limit: int) -> list[Panel]:
    """Completion time and slowdown; nothing where a choice leaves too few flows."""
    found = []
    for column, name in (("fct_s", "FCT"), ("slowdown", "slowdown")):
        values = {v: pooled_counted(pick.points(study, v, facet), column, pick.band) for v in study.variants}
        if pick.is_first or max((one.size for one, _ in values.values()), default=0) >= FLOWS_NEEDED:
            panel = _cdf_panel(values, facet.prefix(name), column, limit)
            found.append(replace(panel, about=about(study, facet, pick, sized=True)))
    return found


def _cdf_panel(values: Mapping[str, tuple[Array, int]], title: str, column: str, limit: int) -> Panel:
    series, ends = [], []
    for variant, (found, still) in values.items():
        if found.size:
            x, share = cdf(found, limit)
            share = share * (found.size / (found.size + still))
            ends += [float(x[0]), float(x[-1])]
            xs, shares = tuple(float(v) for v in x), tuple(float(v) for v in share)
            series.append(Curve(variant_key(variant), xs, shares, step=True))
    x_axis = slowdown_axis(ends) if column == "slowdown" else log_axis("flow completion time", "time", ends)
    return Panel(title, x_axis, Axis("share of flows", "percent", 0.0, 1.0), tuple(series))


KIND = FigureKind("distributions of completion time and slowdown", lambda study: distributions(study.split))
