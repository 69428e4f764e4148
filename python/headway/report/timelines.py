"""Figures over time: throughput of each flow, utilisation and queue of the sampled links, anything else sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.data.point import Point
from headway.data.samples import Thinned, thin
from headway.data.units import display

from . import outages
from .spec import Axis, Curve, Figure, Panel
from .study import Facet, Study, natural, variant_key
from .ticks import linear_axis

POINTS_PER_LINE = 500
LINKS_SHOWN = 4
PANELS_SHOWN = 12


@dataclass(frozen=True)
class Line:
    """One thinned series of one run."""

    point: Point
    facet: Facet
    entity: str
    data: Thinned

    def series(self, key: str, *, band: bool = False) -> Curve:
        """As drawn; the min-max envelope only where thinning made one and the figure wants it."""
        low = high = None
        if band and self.data.low is not None and self.data.high is not None:
            low, high = _tuple(self.data.low), _tuple(self.data.high)
        return Curve(key, _tuple(self.data.time), _tuple(self.data.value), low, high)


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


def thinning(lines: Iterable[Line], what: str = "Each point is the mean of") -> str:
    factor = max((line.data.factor for line in lines), default=1)
    return f" {what} {factor} sampling intervals." if factor > 1 else ""


def interval(lines: list[Line]) -> str:
    steps = [float(np.median(np.diff(line.data.time))) / line.data.factor for line in lines if len(line.data.time) > 1]
    return f" Sampling interval {display('time', min(steps))}." if steps else ""


def time_axis(lines: list[Line]) -> Axis:
    return linear_axis("time", "time", [float(line.data.time[-1]) for line in lines if len(line.data.time)], tight=True)


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


def links_figure(
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
    x, y = time_axis(kept), axis(limits)
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
    caption += interval(kept) + thinning(kept, "The line is the mean, the band the minimum and maximum of") + said
    legend = study.legend(line.point.variant for line in kept)
    return Figure(figure_id, title, caption, tuple(panels), 1 if len(panels) == 1 else 2, legend)
