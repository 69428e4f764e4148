"""Distributions of completion time and of slowdown."""

from __future__ import annotations

from collections.abc import Mapping

from headway.data.samples import Array, cdf

from ..distributions import few_flows, pooled
from ..spec import Axis, Curve, Figure, Panel
from ..study import Study, variant_key
from ..ticks import log_axis, slowdown_axis
from .kind import FigureKind

CDF_POINTS = 240


def distributions(study: Study) -> Figure:
    """Empirical distributions of completion time and slowdown, a row a facet, a line a variant."""
    figure_id, title = "cdf", "Distribution of FCT and of slowdown"
    if reason := few_flows(study):
        return Figure(figure_id, title, absent=reason)
    panels: list[Panel] = []
    thinned = False
    for facet in study.facets:
        for column, name in (("fct_s", "FCT"), ("slowdown", "slowdown")):
            values = {v: pooled(study.group(v, facet), column) for v in study.variants}
            panels.append(_cdf_panel(values, facet.prefix(name), column))
            thinned |= any(found.size > CDF_POINTS for found in values.values())
    caption = "Share of finished flows at or below x"
    caption += f", all seeds pooled{study.at_text(study.facets[0])}." if len(study.seeds) > 1 else "."
    if thinned:
        caption += f" Drawn through {CDF_POINTS} order statistics, denser above the 95th percentile."
    return Figure(figure_id, title, caption, tuple(panels), 2, study.legend())


def _cdf_panel(values: Mapping[str, Array], title: str, column: str) -> Panel:
    series, ends = [], []
    for variant, found in values.items():
        if found.size:
            x, share = cdf(found, CDF_POINTS)
            ends += [float(x[0]), float(x[-1])]
            xs, shares = tuple(float(v) for v in x), tuple(float(v) for v in share)
            series.append(Curve(variant_key(variant), xs, shares, step=True))
    x_axis = slowdown_axis(ends) if column == "slowdown" else log_axis("flow completion time", "time", ends)
    return Panel(title, x_axis, Axis("share of flows", "percent", 0.0, 1.0), tuple(series))


KIND = FigureKind("distributions of completion time and slowdown", lambda study: distributions(study.split))
