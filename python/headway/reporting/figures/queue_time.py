"""Queues of the sampled links, and whatever else of them was sampled."""

from __future__ import annotations

import math
from dataclasses import replace

from headway.data.point import Point
from headway.data.schema import field_of, schema
from headway.data.units import display, parse_bytes, quantity_of_name

from ..spec import Axis, Figure, Panel, Reference
from ..study import Study
from ..ticks import linear_axis
from ..timelines import chosen_runs, lines_of, links_figure
from .kind import FigureKind, sampled_links


def queue(study: Study) -> Figure:
    """Queue of the sampled links, with the buffer when the queue comes near it."""

    def axis(values: list[float]) -> Axis:
        return linear_axis("queue", "bytes", values)

    metrics = ("queue_max_bytes", "queue_bytes")
    caption = "Largest queue met in each interval."
    point = study.points[0]
    if not lines_of(point, study.facet_of(point), "queue_max_bytes"):
        caption = "Queue at the end of each interval."
    figure = links_figure(study, "queue-time", "Queue over time", metrics, axis, caption)
    return figure if figure.absent else _with_buffer(study, figure)


def _with_buffer(study: Study, figure: Figure) -> Figure:
    """Draw the buffer size where a queue fills a good part of it; say its size otherwise."""
    sizes = sorted({size for _, point in chosen_runs(study)[0] if (size := _buffer(point)) is not None})
    panels = [panel for panel in figure.panels if isinstance(panel, Panel)]
    if not sizes or not panels:
        return figure
    if len(sizes) > 1:
        caption = f"{figure.caption} Buffers are from {display('bytes', sizes[0])} to {display('bytes', sizes[-1])}."
        return replace(figure, caption=caption)
    size = sizes[0]
    text = f"buffer {display('bytes', size)}"
    if panels[0].y.high < size * 0.6:
        caption = f"{figure.caption} The {text} is beyond the axis."
        return replace(figure, caption=caption)
    y = linear_axis("queue", "bytes", [size * 1.08, panels[0].y.high])
    drawn = tuple(replace(p, y=y, references=(Reference(size, text),)) for p in panels)
    line = (Reference(size, text),)
    others = [panel for panel in figure.more if isinstance(panel, Panel)]
    more = tuple(replace(panel, references=line if size <= panel.y.high else ()) for panel in others)
    return replace(figure, panels=drawn, more=more)


def _buffer(point: Point) -> float | None:
    """Bytes of data that a port of the run holds; None where it holds any number."""
    fabric = point.fabric
    frame = sum(parse_bytes(fabric.get(part)) or 0.0 for part in ("payload", "header", "framing")) or 1538.0
    size = parse_bytes(fabric.get("buffer"), frame)
    return size if size is not None and math.isfinite(size) else None


def others(study: Study) -> list[Figure]:
    """Every other sampled metric of links, so that nothing a scenario asked for stays unseen."""
    metrics: dict[str, None] = {}
    for _, point in chosen_runs(study)[0]:
        metrics.update(dict.fromkeys(str(m) for m in point.series["metric"].unique(maintain_order=True)))
    found = []
    for metric in metrics:
        if metric in schema()["metrics"] or metric in schema()["probes"]:
            continue
        declared = field_of("gauges", metric)
        quantity = declared.quantity if declared else quantity_of_name(metric)

        label = declared.label if declared and declared.label else metric

        def axis(values: list[float], label: str = label, quantity: str = quantity) -> Axis:
            return linear_axis(label, quantity, values)

        name = metric.replace("_", "-")
        caption = f"Sampled metric `{metric}`" + (f": {declared.doc.replace('`', '')}." if declared else ".")
        found.append(links_figure(study, f"series-{name}", f"{label} over time", (metric,), axis, caption))
    return found


def queues(study: Study) -> list[Figure]:
    """The queue, and behind it the other samples."""
    return [queue(study), *others(study)]


KIND = FigureKind("queues of the sampled links", queues, aliases=("queue",), needs=(sampled_links,))
