"""Figures over time: throughput of each flow, utilisation and queue of the sampled links, anything else sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headway.data.later import np, pl
from headway.data.point import Point
from headway.data.samples import Thinned, thin
from headway.data.units import display

from . import outages
from .picks import Pick, others, x_text
from .spec import About, Axis, Curve, Figure, Panel
from .study import Facet, Study, natural, short_axis, value_text, variant_key
from .ticks import linear_axis

POINTS_PER_LINE = 500
# Of panels that a selector brings.
FEWER_POINTS = 160
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


def other_runs(study: Study) -> Iterator[tuple[Facet, list[Point]]]:
    """The runs that selectors bring, by the chosen values: facets that are not drawn, other values of x, other
    seeds."""
    drawn = {facet for facet, _ in chosen_runs(study)[0]}
    for facet in study.facets:
        picks = [] if facet in drawn else [Pick()]
        for pick in (*picks, *others(study, facet, pooled=False)):
            found = (pick.points(study, variant, facet)[:1] for variant in study.variants)
            if points := [point for one in found for point in one]:
                yield facet, points


def about(study: Study, facet: Facet, point: Point, *, link: str = "") -> About:
    """Subject of a panel of one run."""
    found = [(short_axis(key), value_text(value)) for key, value in facet.key]
    if study.x_key:
        found.append((short_axis(study.x_key), x_text(study, facet, study.x_of(point))))
    if len(study.seeds) > 1:
        found.append(("seed", str(point.seed)))
    return (*found, ("link", link)) if link else tuple(found)


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


def lines_of(point: Point, facet: Facet, metric: str, limit: int = POINTS_PER_LINE) -> list[Line]:
    """All series of one metric in one run, naturally ordered by entity."""
    frame = point.series.filter(pl.col("metric") == metric).sort("t_s")
    found = []
    for part in frame.partition_by("entity", maintain_order=True):
        time, value = part["t_s"].to_numpy().astype(np.float64), part["value"].to_numpy().astype(np.float64)
        found.append(Line(point, facet, str(part["entity"][0]), thin(time, value, limit)))
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


def declared(point: Point) -> list[str]:
    """The links that the scenario calls bottlenecks."""
    names = point.scenario.get("bottleneck")
    if isinstance(names, str):
        return [names]
    return [str(name) for name in names] if isinstance(names, list) else []


def busiest(points: Iterable[Point]) -> dict[str, float]:
    """Utilisation of each link in the busiest of the runs."""
    found: dict[str, float] = {}
    for point in points:
        for name, share in point.links.select("name", "busy_fraction").iter_rows():
            found[str(name)] = max(found.get(str(name), 0.0), float(share))
    return found


def bottlenecks(point: Point) -> list[str]:
    """Links the scenario declares, else those the summary is about, else those that were sampled, busiest first."""
    if names := declared(point):
        return names
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
    wanted = declared(runs[0][1])
    busy = busiest(point for _, point in runs)
    entities = sorted(
        dict.fromkeys(line.entity for line in lines),
        key=lambda name: (wanted.index(name) if name in wanted else len(wanted), -busy.get(name, 0.0), natural(name)),
    )
    shown = entities[:LINKS_SHOWN]
    kept = [line for line in lines if line.entity in shown]
    x, y = time_axis(kept), axis(_limits(kept))
    panels = _link_panels(study, kept, shown, x, y)
    more = _link_panels(study, [line for line in lines if line.entity not in shown], entities, x, axis)
    for facet, points in other_runs(study):
        brought = [line for p in points for line in lines_of(p, facet, metric, FEWER_POINTS)]
        more += _link_panels(study, brought, entities, None, axis)
    if len(entities) > len(shown):
        first = "declared bottlenecks first, then the busiest" if wanted else "the busiest"
        caption += f" {len(shown)} of {len(entities)} sampled links are drawn, {first}."
    caption += outages.caption(line.point for line in kept)
    caption += interval(kept) + thinning(kept, "The line is the mean, the band the minimum and maximum of") + said
    legend = study.legend(line.point.variant for line in kept)
    columns = 1 if len(panels) == 1 else 2
    return Figure(figure_id, title, caption, tuple(panels), columns, legend, more=tuple(more))


def _link_panels(
    study: Study, lines: list[Line], names: list[str], x: Axis | None, y: Axis | Callable[[list[float]], Axis]
) -> list[Panel]:
    """A panel for each facet and link, with axes of its own where none are given."""
    if not lines:
        return []
    x = x or time_axis(lines)
    panels = []
    for facet in dict.fromkeys(line.facet for line in lines):
        for name in names:
            here = [line for line in lines if line.facet == facet and line.entity == name]
            if here:
                y_axis = y if isinstance(y, Axis) else y(_limits(here))
                series = tuple(line.series(variant_key(line.point.variant), band=True) for line in here)
                shades = outages.shades((line.point for line in here), x)
                of = about(study, facet, here[0].point, link=name)
                title = facet.prefix(arrow(name))
                panels.append(Panel(title, x, y_axis, series, direct_labels=True, shades=shades, about=of))
    return panels


def _limits(lines: Iterable[Line]) -> list[float]:
    """The largest values, those of the envelope where there is one."""
    return [float(v) for line in lines for v in (line.data.value if line.data.high is None else line.data.high)]
