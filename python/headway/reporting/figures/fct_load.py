"""Completion times, or other numbers of the summary, against the swept key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.data.statistics import over_seeds

from ..distributions import tail_name
from ..metrics import ends, metrics_of, number_of, owner, without
from ..picks import Pick, about, numbered, others, runs_of
from ..spec import Axis, Curve, Figure, Panel
from ..study import Facet, Study, short_axis, variant_key
from ..summaries import summary_label
from ..ticks import auto_axis, log_axis
from .kind import FigureKind, numbers_swept

ELSE = "the figure `numbers` shows numbers of each variant"


def fct_load(study: Study) -> Figure:
    """A row a metric, a panel a facet, a line a variant, a band over seeds."""
    figure_id, title = "fct-load", "Flow completion time against load"
    if study.x_key is None:
        return Figure(figure_id, title, absent=f"nothing was swept whose values are all numbers of one kind; {ELSE}")
    name = short_axis(study.x_key)
    metrics = metrics_of(study, ("fct_mean_s", "fct_p99_s"))
    if name != "load" or metrics != ["fct_mean_s", "fct_p99_s"]:
        labels = [summary_label(m)[0] for m in metrics]
        title = f"{', '.join(labels)} against {name}"
        title = title[0].upper() + title[1:]
    panels: list[Panel] = []
    more: list[Panel] = []
    for facet in study.facets:
        for pick in (Pick(), *others(study, facet, x=False, sized=True)):
            for metric in metrics:
                panel = _load_panel(owner(study, metric), facet, metric, name, pick)
                if pick.is_first:
                    panels.append(panel)
                elif panel.series:
                    more.append(panel)
    if not any(len(panel.series) for panel in panels):
        return Figure(figure_id, title, absent="no point of the sweep finished a flow")
    seeds = len(study.seeds)
    band = (
        f"Mean over {seeds} seeds; the band is its 95 % confidence interval." if seeds > 1 else "One seed, so no band."
    )
    caption = (
        f"{band} Flows after the warm-up; those that are open at the end count, and a hollow mark says that the true"
        " value is at least that. Each panel has its own y axis."
    )
    caption += without(study)
    drawn = {series.key for panel in panels for series in panel.series}
    owners = (study.split, study) if study.is_mixed else (study,)
    legend = [entry for owner in owners for entry in owner.legend() if entry.key in drawn]
    return Figure(figure_id, title, caption, tuple(panels), 2, tuple(legend), more=tuple(more))


def study_axis(name: str, quantity: str, xs: Sequence[float]) -> Axis:
    """The values that a sweep goes through: all of them marked, or logarithmic where they span decades."""
    if xs[0] > 0 and xs[-1] >= WIDE * xs[0]:
        return log_axis(name, quantity, xs)
    span = (xs[-1] - xs[0]) or 1.0
    marks = tuple(xs) if len(xs) <= 10 else ()
    return Axis(name, quantity, xs[0] - 0.04 * span, xs[-1] + 0.04 * span, marks=marks)


def _load_panel(study: Study, facet: Facet, metric: str, name: str, pick: Pick) -> Panel:
    label, quantity = summary_label(metric)
    series: list[Curve] = []
    counts: list[float | None] = []
    numbers = numbered(study)
    for variant in study.variants:
        rows = []
        for x in study.xs(facet):
            points = replace(pick, x=x).points(study, variant, facet)
            found = over_seeds([number_of(p, metric, pick.band) for p in points])
            if found:
                rows.append((x, found.mean, *ends(found, metric), runs_of(numbers, points)))
                counts += [number_of(p, "flows_measured" if pick.band is None else "count", pick.band) for p in points]
        if rows:
            xs, means, lows, highs, behind = (tuple(column) for column in zip(*rows, strict=True))
            low, high = (lows, highs) if lows != highs else (None, None)
            series.append(Curve(variant_key(variant), xs, means, low, high, markers=True, runs=behind))
    x_axis = study_axis(name, study.x_quantity, study.xs(facet))
    told = tail_name(label, counts)
    tops = [v for line in series for v in (line.high or line.y)]
    y_axis = auto_axis(told, quantity, [v for line in series for v in line.y] + tops)
    if metric == "goodput_share":
        # Parts of one whole are compared from nothing to all of it.
        y_axis = Axis(label, quantity, 0.0, 1.0)
    title = facet.prefix(told)
    of = about(study, facet, pick, x=False, sized=True)
    return Panel(title, x_axis, y_axis, tuple(series), direct_labels=True, about=of)


# Values of an axis that span this much or more are shown on a logarithmic one.
WIDE = 100


KIND = FigureKind(
    "numbers of the summary (`y`) against the load, or what `x` names", fct_load, needs=(numbers_swept,), uses=("y",)
)
