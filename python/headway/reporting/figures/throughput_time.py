"""Throughput of each sampled flow."""

from __future__ import annotations

import math

from headway.data.later import pl
from headway.data.point import Point
from headway.data.units import display, parse_bytes

from .. import outages
from ..spec import Axis, Event, Figure, LegendEntry, Panel, Reference
from ..study import FLOW_COLOURS, Facet, Study, flow_key, natural, variant_key
from ..ticks import linear_axis
from ..timelines import (
    FEWER_POINTS,
    Line,
    about,
    arrow,
    bottlenecks,
    chosen_runs,
    interval,
    lines_of,
    other_runs,
    thinning,
    time_axis,
)
from .kind import FigureKind, sampled_flows


def throughput(study: Study) -> Figure:
    """Goodput of each sampled flow, one panel a variant, the same axes everywhere."""
    figure_id, title = "throughput-time", "Throughput of each flow over time"
    runs, said = chosen_runs(study)
    by_run = [(facet, point, lines_of(point, facet, "throughput_bps")) for facet, point in runs]
    everything = [line for _, _, lines in by_run for line in lines]
    if not everything:
        return Figure(
            figure_id, title, absent="no flow was sampled; add `every` and `flows` to the scenario's [sample]"
        )
    shown = largest(everything)
    styles = study.flow_styles(shown)
    kept = [line for line in everything if line.entity in styles]
    values = [float(v) for line in kept for v in line.data.value]
    reference = payload_capacity(runs[0][1])
    if reference and not max(values) * 0.5 < reference.y < max(values) * 1.6:
        reference = None
    y = linear_axis("throughput", "rate", values + ([reference.y * 1.03] if reference else []))
    x = time_axis(kept)

    def panel(facet: Facet, point: Point, lines: list[Line], x: Axis) -> Panel:
        starts = _flow_frame(point)
        events = [Event(starts[n][0], n, flow_key(n)) for n in shown if n in starts and starts[n][0] <= x.high]
        series = tuple(line.series(flow_key(line.entity)) for line in lines if line.entity in styles)
        references = (reference,) if reference else ()
        key, title = variant_key(point.variant), facet.prefix(point.variant)
        shades, of = outages.shades([point], x), about(study, facet, point)
        return Panel(title, x, y, series, key, tuple(events), references, shades=shades, about=of)

    panels = [panel(facet, point, lines, x) for facet, point, lines in by_run]
    more = []
    for facet, points in other_runs(study):
        brought = [(p, lines_of(p, facet, "throughput_bps", FEWER_POINTS)) for p in points]
        drawn = [line for _, lines in brought for line in lines if line.entity in styles]
        if drawn:
            more += [panel(facet, p, lines, time_axis(drawn)) for p, lines in brought if lines]
    total = len({line.entity for line in everything})
    caption = "Payload bytes newly delivered to the receiver per interval; names at the top mark where a flow starts."
    if total > len(shown):
        caption += f" The {len(shown)} largest of {total} sampled flows are drawn."
    legend = tuple(LegendEntry(flow_key(n), _with_transport(study, n), styles[n]) for n in shown)
    columns = 1 if len(panels) == 1 else 2
    caption += outages.caption(point for _, point, _ in by_run) + interval(kept) + thinning(kept) + said
    return Figure(figure_id, title, caption, tuple(panels), columns, legend, more=tuple(more))


def _with_transport(study: Study, flow: str) -> str:
    """A flow's name, and where runs have several transports the flow's own, if it is the same in all of them."""
    mixed = [point.flows for _, point in chosen_runs(study)[0] if point.parts] if study.is_mixed else []
    found = {name for frame in mixed for name in frame.filter(pl.col("name") == flow)["transport"].unique()}
    return f"{flow} ({found.pop()})" if len(found) == 1 else flow


def largest(lines: list[Line]) -> list[str]:
    """The names of the flows that are drawn: those of the most bytes, in their natural order."""
    sizes: dict[str, float] = {}
    points = {id(line.point): line.point for line in lines}
    known = {key: _flow_frame(point) for key, point in points.items()}
    for line in lines:
        size = known[id(line.point)].get(line.entity, (0.0, 0.0))[1]
        sizes[line.entity] = max(sizes.get(line.entity, 0.0), size)
    if len(sizes) <= FLOW_COLOURS:
        return sorted(sizes, key=natural)
    kept = sorted(sizes, key=lambda name: (-sizes[name], natural(name)))[:FLOW_COLOURS]
    return sorted(kept, key=natural)


def _flow_frame(point: Point) -> dict[str, tuple[float, float]]:
    """(start in seconds, bytes) of each flow, under its name and under its number; of one that never began nan."""
    found: dict[str, tuple[float, float]] = {}
    for number, name, start, size in point.flows.select("flow", "name", "start_s", "bytes").iter_rows():
        found[str(number)] = found[str(name)] = (math.nan if start is None else float(start), float(size))
    return found


def payload_capacity(point: Point) -> Reference | None:
    """The payload rate of the bottleneck link: its line rate less headers and framing."""
    name = next(iter(bottlenecks(point)), None)
    rates = point.links.filter(pl.col("name") == name)["rate_bps"]
    fabric = point.fabric
    if not len(rates):
        return None
    sizes = [parse_bytes(fabric.get(part)) for part in ("payload", "header", "framing")]
    if name is None or None in sizes or not sizes[0]:
        return None
    payload, wire = sizes[0], sum(size or 0.0 for size in sizes)
    rate = float(rates[0]) * payload / wire
    return Reference(rate, f"{arrow(name)} carries {display('rate', rate)} of payload")


KIND = FigureKind("throughput of the sampled flows", throughput, aliases=("throughput",), needs=(sampled_flows,))
