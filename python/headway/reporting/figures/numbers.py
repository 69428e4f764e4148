"""One number of each variant with its interval: a dot and a line, at one value of the swept key."""

from __future__ import annotations

from headway.data.statistics import Estimate, over_seeds
from headway.data.units import display

from ..distributions import few_flows, tail_name
from ..metrics import ends, metrics_of, number_of, of_enough, owner, without
from ..picks import Pick, about, others
from ..spec import Dot, DotPanel, DotRow, Figure
from ..study import Facet, Study, short_axis, variant_key
from ..summaries import least_of, summary_label
from ..ticks import dot_axis
from .kind import FigureKind

# Numbers that are shown unless `[report] y` says otherwise.
USUAL = ("slowdown_mean", "slowdown_p99")


def numbers(study: Study) -> Figure:
    """A panel a metric and facet, a row a variant."""
    figure_id, title = "numbers", "Numbers of each variant"
    metrics = metrics_of(study, of_enough(study, USUAL))
    panels: list[DotPanel] = []
    more: list[DotPanel] = []
    for facet in study.facets:
        for pick in (Pick(), *others(study, facet, sized=True)):
            for metric in metrics:
                panel = _panel(owner(study, metric), facet, metric, pick)
                if panel.rows:
                    (panels if pick.is_first else more).append(panel)
    if not panels:
        return Figure(figure_id, title, absent=study.unmeasured or few_flows(study) or "no run finished a flow")
    seeds = len(study.seeds)
    if seeds > 1:
        caption = f"Dot: mean over {seeds} seeds; line: its 95 % confidence interval."
    else:
        caption = "One seed, so no interval: more seeds would say how much other arrivals change."
    caption += f" Shown{study.at_text(study.facets[0])}." if study.x_key else ""
    caption += (
        " Flows after the warm-up; those that are open at the end count, and a hollow dot says that the true"
        " value is at least that. Each panel has its own axis." + without(study)
    )
    columns = 1 if len(panels) == 1 else 2
    return Figure(figure_id, title, caption, tuple(panels), columns, more=tuple(more))


def _panel(study: Study, facet: Facet, metric: str, pick: Pick) -> DotPanel:
    label, quantity = summary_label(metric)
    rows: list[DotRow] = []
    counts: list[float | None] = []
    values: list[float] = []
    for variant in study.variants:
        points = pick.points(study, variant, facet)
        found = over_seeds([number_of(point, metric, pick.band) for point in points])
        if found is None:
            continue
        counts += [number_of(p, "flows_measured" if pick.band is None else "count", pick.band) for p in points]
        low, high = ends(found, metric)
        values += [found.mean, low, high]
        known = found.half_width is not None
        detail = _detail(found, quantity, low, high)
        dot = Dot(variant_key(variant), found.mean, low if known else None, high if known else None, detail)
        rows.append(DotRow(variant, (dot,)))
    told = tail_name(label, counts)
    axis = dot_axis(told, quantity, values, least_of(metric))
    title = facet.prefix(told)
    if pick.x is not None and study.x_key:
        title += f" at {short_axis(study.x_key)} {pick.x:g}"
    return DotPanel(title, axis, tuple(rows), about(study, facet, pick, sized=True))


def _detail(found: Estimate, quantity: str, low: float, high: float) -> str:
    if found.half_width is None:
        return display(quantity, found.mean)
    return f"{display(quantity, found.mean)} ({display(quantity, low)} to {display(quantity, high)})"


KIND = FigureKind(
    "numbers of the summary (`y`) of each variant: a dot and its interval", numbers, aliases=("dots",), uses=("y",)
)
