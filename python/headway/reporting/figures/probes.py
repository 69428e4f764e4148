"""Probes of machines for each sampled flow: windows, rates, permissions, round trips."""

from __future__ import annotations

from headway.data.point import Point
from headway.data.schema import field_of, schema

from .. import outages
from ..spec import Figure, LegendEntry, Panel
from ..study import Facet, Study, flow_key, variant_key
from ..ticks import linear_axis
from ..timelines import FEWER_POINTS, Line, about, chosen_runs, interval, lines_of, other_runs, thinning, time_axis
from .kind import FigureKind, probed_flows
from .throughput_time import largest

ID, TITLE = "probes", "Inside each flow over time"


def probes(study: Study) -> Figure:
    """One panel a variant for the first probe; a selector brings the others."""
    runs, said = chosen_runs(study)
    sampled = {name for _, point in runs for name in point.series["metric"].unique()}
    metrics = [name for name in schema()["probes"] if name in sampled]
    if not metrics:
        return Figure(ID, TITLE, absent="no flow was probed; add `flows` and `probes = true` to [sample]")
    # Points contain their scenarios, and cannot be keys.
    lines = [(facet, point, name, lines_of(point, facet, name)) for facet, point in runs for name in metrics]
    shown = largest([line for *_, found in lines for line in found])
    styles = study.flow_styles(shown)

    def panel(facet: Facet, point: Point, name: str, found: list[Line]) -> Panel | None:
        kept = [line for line in found if line.entity in styles]
        field = field_of("probes", name)
        if not kept or field is None:
            return None
        y = linear_axis(field.label, field.quantity, [float(v) for line in kept for v in line.data.value])
        x = time_axis(kept)
        series = tuple(line.series(flow_key(line.entity)) for line in kept)
        title, key = facet.prefix(f"{point.variant}: {field.label}"), variant_key(point.variant)
        of = (*about(study, facet, point), ("probe", field.label))
        return Panel(title, x, y, series, key, shades=outages.shades([point], x), about=of)

    # The probe that most variants have of flows that are drawn comes first, and of those the first that is declared.
    having = {
        name: sum(any(line.entity in styles for line in found) for *_, of, found in lines if of == name)
        for name in metrics
    }
    first = max(metrics, key=lambda name: (having[name], -metrics.index(name)))
    drawn: list[Panel] = []
    more: list[Panel] = []
    for facet, point, name, found in lines:
        if made := panel(facet, point, name, found):
            (drawn if name == first else more).append(made)
    for facet, points in other_runs(study):
        for point in points:
            brought = ((name, lines_of(point, facet, name, FEWER_POINTS)) for name in metrics)
            more += [made for name, found in brought if (made := panel(facet, point, name, found))]
    field = field_of("probes", first)
    caption = f"{field.label}: {field.doc.replace('`', '')}." if field else ""
    total = len({line.entity for *_, found in lines for line in found})
    if total > len(shown):
        caption += f" The {len(shown)} largest of {total} sampled flows are drawn."
    if len(metrics) > 1:
        caption += " The selector has the other probes."
    kept = [line for *_, found in lines for line in found if line.entity in styles]
    caption += outages.caption(point for _, point in runs) + interval(kept) + thinning(kept) + said
    legend = tuple(LegendEntry(flow_key(name), name, styles[name]) for name in shown)
    return Figure(ID, TITLE, caption, tuple(drawn), 1 if len(drawn) == 1 else 2, legend, more=tuple(more))


KIND = FigureKind("probes of the sampled flows: what their machines hold", probes, needs=(probed_flows,))
