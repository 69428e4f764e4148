"""Figures over time: throughput of each flow, utilisation and queue of the sampled links, anything else sampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from headway.quantities import parse_bytes

from . import outages
from .load import Point
from .quantity import display
from .spec import Axis, Event, Figure, LegendEntry, Panel, Reference, Series
from .stats import Thinned, thin
from .study import FLOW_COLOURS, Facet, Study, flow_key, natural, variant_key
from .ticks import linear_axis

POINTS_PER_LINE = 500
LINKS_SHOWN = 4
PANELS_SHOWN = 12
KNOWN_METRICS = frozenset({"throughput_bps", "utilisation", "queue_bytes", "queue_max_bytes"})


@dataclass(frozen=True)
class Line:
    """One thinned series of one run."""

    point: Point
    facet: Facet
    entity: str
    data: Thinned

    def series(self, key: str, *, band: bool = False) -> Series:
        """As drawn; the min-max envelope only where thinning made one and the figure wants it."""
        low = high = None
        if band and self.data.low is not None and self.data.high is not None:
            low, high = _tuple(self.data.low), _tuple(self.data.high)
        return Series(key, _tuple(self.data.time), _tuple(self.data.value), low, high)


def _tuple(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def chosen_runs(study: Study) -> tuple[list[tuple[Facet, Point]], str]:
    """The runs that time-line figures show, and how to say so in a caption."""
    facets = study.facets
    if len(facets) * len(study.variants) > PANELS_SHOWN:
        facets = facets[:1]
    runs = [(facet, p) for facet in facets for v in study.variants if (p := study.first(v, facet)) is not None]
    said = []
    if len(study.seeds) > 1:
        said.append(f"seed {runs[0][1].seed} of {len(study.seeds)}")
    if study.x_key:
        said.append(study.at_text(facets[0]).strip())
    if len(facets) < len(study.facets):
        said.append(f"{facets[0].text} only (1 of {len(study.facets)} combinations)")
    return runs, (" Shown: " + ", ".join(said) + "." if said else "")


def lines_of(point: Point, facet: Facet, metric: str) -> list[Line]:
    """All series of one metric in one run, naturally ordered by entity."""
    frame = point.series.filter(pl.col("metric") == metric).sort("t_s")
    found = []
    for part in frame.partition_by("entity", maintain_order=True):
        time, value = part["t_s"].to_numpy().astype(np.float64), part["value"].to_numpy().astype(np.float64)
        found.append(Line(point, facet, str(part["entity"][0]), thin(time, value, POINTS_PER_LINE)))
    return sorted(found, key=lambda line: natural(line.entity))


def _thinning(lines: Iterable[Line], what: str = "Each point is the mean of") -> str:
    factor = max((line.data.factor for line in lines), default=1)
    return f" {what} {factor} sampling intervals." if factor > 1 else ""


def _interval(lines: list[Line]) -> str:
    steps = [float(np.median(np.diff(line.data.time))) / line.data.factor for line in lines if len(line.data.time) > 1]
    return f" Sampling interval {display('time', min(steps))}." if steps else ""


def _time_axis(lines: list[Line]) -> Axis:
    return linear_axis("time", "time", [float(line.data.time[-1]) for line in lines if len(line.data.time)], tight=True)


def _flow_frame(point: Point) -> dict[str, tuple[float, float]]:
    """(start in seconds, bytes) of each flow, under its name and under its number."""
    found: dict[str, tuple[float, float]] = {}
    for row in point.flows.select("flow", "name", "start_s", "bytes").iter_rows():
        found[str(row[0])] = found[str(row[1])] = (float(row[2]), float(row[3]))
    return found


def _largest(lines: list[Line]) -> list[str]:
    sizes: dict[str, float] = {}
    for line in lines:
        sizes[line.entity] = max(sizes.get(line.entity, 0.0), _flow_frame(line.point).get(line.entity, (0.0, 0.0))[1])
    if len(sizes) <= FLOW_COLOURS:
        return sorted(sizes, key=natural)
    kept = sorted(sizes, key=lambda name: (-sizes[name], natural(name)))[:FLOW_COLOURS]
    return sorted(kept, key=natural)


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


def arrow(link: str) -> str:
    """A link's name as people read it."""
    return link.replace("->", " → ")


def bottlenecks(point: Point) -> list[str]:
    """Links the scenario declares, else those the summary is about, else those that were sampled, busiest first."""
    declared = point.scenario.get("bottleneck")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list) and declared:
        return [str(name) for name in declared]
    measured = point.summary.get("bottleneck_links")
    if isinstance(measured, list) and measured:
        return [str(name) for name in measured]
    sampled = point.series.filter(pl.col("metric") == "utilisation")
    if sampled.height:
        means = (
            sampled.group_by("entity").agg(pl.col("value").mean()).sort(["value", "entity"], descending=[True, False])
        )
        return [str(name) for name in means["entity"]]
    switch = point.links.filter(~pl.col("name").str.starts_with("h"))
    return [str(n) for n in switch.sort(["busy_fraction", "name"], descending=[True, False])["name"].head(1)]


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
    shown = _largest(everything)
    styles = study.flow_styles(shown)
    kept = [line for line in everything if line.entity in styles]
    values = [float(v) for line in kept for v in line.data.value]
    reference = payload_capacity(runs[0][1])
    if reference and not max(values) * 0.5 < reference.y < max(values) * 1.6:
        reference = None
    y = linear_axis("throughput", "rate", values + ([reference.y * 1.03] if reference else []))
    x = _time_axis(kept)
    panels = []
    for facet, point, lines in by_run:
        starts = _flow_frame(point)
        events = [Event(starts[n][0], n, flow_key(n)) for n in shown if n in starts and starts[n][0] <= x.high]
        series = tuple(line.series(flow_key(line.entity)) for line in lines if line.entity in styles)
        references = (reference,) if reference else ()
        key = variant_key(point.variant)
        shades = outages.shades([point], x)
        panels.append(Panel(facet.prefix(point.variant), x, y, series, key, tuple(events), references, shades=shades))
    total = len({line.entity for line in everything})
    caption = "Payload bytes newly delivered to the receiver per interval; names at the top mark where a flow starts."
    if total > len(shown):
        caption += f" The {len(shown)} largest of {total} sampled flows are drawn."
    legend = tuple(LegendEntry(flow_key(n), _with_transport(study, n), styles[n]) for n in shown)
    columns = 1 if len(panels) == 1 else 2
    caption += outages.caption(point for _, point, _ in by_run) + _interval(kept) + _thinning(kept) + said
    return Figure(figure_id, title, caption, tuple(panels), columns, legend)


def _with_transport(study: Study, flow: str) -> str:
    """A flow's name, and where runs have several transports the flow's own, if it is the same in all of them."""
    mixed = [point.flows for _, point in chosen_runs(study)[0] if point.parts] if study.is_mixed else []
    found = {name for frame in mixed for name in frame.filter(pl.col("name") == flow)["transport"].unique()}
    return f"{flow} ({found.pop()})" if len(found) == 1 else flow


def _links_figure(
    study: Study,
    figure_id: str,
    title: str,
    metrics: tuple[str, ...],
    axis: Callable[[list[float]], Axis],
    caption: str,
) -> Figure:
    """One panel a link (and facet), one line a variant."""
    runs, said = chosen_runs(study)
    lines: list[Line] = []
    for metric in metrics:
        lines = [line for facet, point in runs for line in lines_of(point, facet, metric)]
        if lines:
            break
    if not lines:
        return Figure(
            figure_id, title, absent="no link was sampled; add `every` and `links` to the scenario's [sample]"
        )
    wanted = bottlenecks(runs[0][1])
    entities = sorted(
        dict.fromkeys(line.entity for line in lines),
        key=lambda name: (wanted.index(name) if name in wanted else len(wanted), natural(name)),
    )
    shown = entities[:LINKS_SHOWN]
    kept = [line for line in lines if line.entity in shown]
    limits = [float(v) for line in kept for v in (line.data.value if line.data.high is None else line.data.high)]
    x, y = _time_axis(kept), axis(limits)
    panels = []
    for facet in dict.fromkeys(line.facet for line in kept):
        for name in shown:
            here = [line for line in kept if line.facet == facet and line.entity == name]
            if here:
                series = tuple(line.series(variant_key(line.point.variant), band=True) for line in here)
                shades = outages.shades((line.point for line in here), x)
                panels.append(Panel(facet.prefix(arrow(name)), x, y, series, direct_labels=True, shades=shades))
    if len(entities) > len(shown):
        caption += f" {len(shown)} of {len(entities)} sampled links are drawn, declared bottlenecks first."
    caption += outages.caption(line.point for line in kept)
    caption += _interval(kept) + _thinning(kept, "The line is the mean, the band the minimum and maximum of") + said
    legend = study.legend(line.point.variant for line in kept)
    return Figure(figure_id, title, caption, tuple(panels), 1 if len(panels) == 1 else 2, legend)


def utilisation(study: Study) -> Figure:
    """Busy fraction of the sampled links."""

    def axis(values: list[float]) -> Axis:
        return Axis("link busy", "percent", 0.0, max(1.05, max(values)))

    caption = "Share of each interval in which the link was sending (headers and framing included)."
    return _links_figure(study, "utilisation-time", "Bottleneck utilisation over time", ("utilisation",), axis, caption)


def queue(study: Study) -> Figure:
    """Queue of the sampled links, with the buffer when the queue comes near it."""

    def axis(values: list[float]) -> Axis:
        return linear_axis("queue", "bytes", values)

    metrics = ("queue_max_bytes", "queue_bytes")
    caption = "Largest queue met in each interval."
    point = study.points[0]
    if not lines_of(point, study.facet_of(point), "queue_max_bytes"):
        caption = "Queue at the end of each interval."
    figure = _links_figure(study, "queue-time", "Queue over time", metrics, axis, caption)
    return figure if figure.absent else _with_buffer(study, figure)


def _with_buffer(study: Study, figure: Figure) -> Figure:
    """Draw the buffer size where a queue fills a good part of it; say its size otherwise."""
    sizes = sorted({size for _, point in chosen_runs(study)[0] if (size := _buffer(point)) is not None})
    panels = [panel for panel in figure.panels if isinstance(panel, Panel)]
    if not sizes or not panels:
        return figure
    if len(sizes) > 1:
        caption = f"{figure.caption} Buffers are from {display('bytes', sizes[0])} to {display('bytes', sizes[-1])}."
        return Figure(figure.id, figure.title, caption, figure.panels, figure.columns, figure.legend)
    size = sizes[0]
    text = f"buffer {display('bytes', size)}"
    if panels[0].y.high < size * 0.6:
        caption = f"{figure.caption} The {text} is beyond the axis."
        return Figure(figure.id, figure.title, caption, figure.panels, figure.columns, figure.legend)
    y = linear_axis("queue", "bytes", [size * 1.08, panels[0].y.high])
    drawn = tuple(replace(p, y=y, references=(Reference(size, text),)) for p in panels)
    return Figure(figure.id, figure.title, figure.caption, drawn, figure.columns, figure.legend)


def _buffer(point: Point) -> float | None:
    """Bytes of data that a port of the run holds; None where it holds any number."""
    fabric = point.fabric
    frame = sum(parse_bytes(fabric.get(part)) or 0.0 for part in ("payload", "header", "framing")) or 1538.0
    size = parse_bytes(fabric.get("buffer"), frame)
    return size if size is not None and math.isfinite(size) else None


def others(study: Study) -> list[Figure]:
    """Every other sampled metric, so that nothing a scenario asked for stays unseen."""
    metrics: dict[str, None] = {}
    for _, point in chosen_runs(study)[0]:
        metrics.update(dict.fromkeys(str(m) for m in point.series["metric"].unique(maintain_order=True)))
    found = []
    for metric in metrics:
        if metric in KNOWN_METRICS:
            continue
        quantity = "bytes" if metric.endswith("_bytes") else "rate" if metric.endswith("_bps") else "count"
        quantity = "time" if metric.endswith("_s") else quantity

        def axis(values: list[float], metric: str = metric, quantity: str = quantity) -> Axis:
            return linear_axis(metric, quantity, values)

        name = metric.replace("_", "-")
        caption = f"Sampled metric `{metric}`."
        found.append(_links_figure(study, f"series-{name}", f"{metric} over time", (metric,), axis, caption))
    return found
