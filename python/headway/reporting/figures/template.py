"""The figure to copy: the share of flows that are done, against the load. Say here what it shows, and of what."""

from __future__ import annotations

from headway.data.statistics import over_seeds

from ..spec import Curve, Figure, Panel
from ..study import Facet, Study, short_axis, variant_key
from ..summaries import summary_number
from ..ticks import linear_axis
from .kind import FigureKind


def draw(study: Study) -> Figure:
    """A panel a facet, a line a variant, the mean over seeds."""
    figure_id, title = "template", "Flows done"
    if study.x_key is None:
        return Figure(figure_id, title, absent="nothing was swept whose values are all numbers of one kind")
    panels = tuple(_panel(study, facet) for facet in study.facets)
    return Figure(figure_id, title, "Finished flows, as the mean over seeds.", panels, 2, study.legend())


def _panel(study: Study, facet: Facet) -> Panel:
    xs = study.xs(facet)
    lines = []
    for variant in study.variants:
        found = [over_seeds([summary_number(p, "flows_done") for p in study.group(variant, facet, x)]) for x in xs]
        kept = [(x, estimate.mean) for x, estimate in zip(xs, found, strict=True) if estimate]
        lines.append(Curve(variant_key(variant), tuple(x for x, _ in kept), tuple(y for _, y in kept), markers=True))
    x_axis = linear_axis(short_axis(study.x_key or ""), study.x_quantity, xs)
    y_axis = linear_axis("flows done", "count", [y for line in lines for y in line.y])
    return Panel(facet.prefix("flows done"), x_axis, y_axis, tuple(lines))


KIND = FigureKind("how many flows are done", draw)
