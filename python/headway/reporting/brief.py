"""One page for somebody who decides: one picture, one table, three sentences with intervals, and what was assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headway.data.bounds import Bound
from headway.data.point import Point
from headway.data.statistics import Estimate, Ratio, over_seeds, ratio_over_seeds
from headway.data.steadiness import unsteady
from headway.data.units import display
from headway.layout import BRIEF_FILE

from .assemble import Report, styles
from .load import Results
from .metrics import ends, is_higher_better, metrics_of, number_of
from .page import asset, colour_rules, environment
from .spec import Figure, LegendEntry, Panel, Sketch
from .study import Study, short_axis, value_text
from .summaries import number, summary_label
from .svg import draw_figure

# Numbers of the table: the one that decides, and another.
MOST_NUMBERS = 2


@dataclass(frozen=True)
class Side:
    """A variant at the place that is compared: its number with its interval, and over that of the best."""

    name: str
    points: tuple[Point, ...]
    found: Estimate
    ratio: Ratio | None = None

    def text(self, metric: str) -> str:
        """The number with the ends of its interval."""
        quantity = summary_label(metric)[1]
        if self.found.half_width is None:
            return display(quantity, self.found.mean)
        low, high = ends(self.found, metric)
        return f"{display(quantity, self.found.mean)} ({display(quantity, low)} to {display(quantity, high)})"


def write_brief(report: Report, directory: Path) -> Path:
    """Write `brief.html` into the directory; returns its path."""
    path = directory / BRIEF_FILE
    path.write_text(render_brief(report), encoding="utf-8")
    return path


def render_brief(report: Report) -> str:
    """The page as text."""
    study = report.study
    # Tails decide: the 99th percentile of calls stands before their median.
    every = metrics_of(study, ("slowdown_p99", "fct_mean_s"))
    metrics = sorted(every, key=lambda name: "p99" not in name)[:MOST_NUMBERS]
    tables = {metric: sides for metric in metrics if (sides := _sides(study, metric))}
    named = styles(report)
    slots = {key: place for place, key in enumerate(named)}
    figure = _picture(report)
    picture, legend = Markup(""), tuple[LegendEntry, ...]()
    if figure is not None:
        # Without a script that draws for the width at hand, one panel is as wide as the page.
        drawn, _ = draw_figure(figure, slots)
        picture, legend = Markup(drawn[0]), figure.legend
    page = environment().get_template("brief.html.j2")
    return page.render(
        title=report.results.title,
        place=_place(study),
        figure=figure,
        picture=picture,
        legend=[(slots[entry.key], entry.text) for entry in legend],
        head=["variant", *(summary_label(metric)[0] for metric in tables), "over the best", "flows not done"],
        rows=list(_rows(tables)),
        sentences=[*_sentences(study, tables)][:3],
        assumptions=[*_assumptions(report.results)],
        css=Markup(asset("report.css") + colour_rules(named, slots)),
    )


def _picture(report: Report) -> Figure | None:
    """The first figure of the report with its first panel."""
    figure = next((one for one in report.drawn if not isinstance(one.panels[0], Sketch)), None)
    if figure is None:
        return None
    panel = figure.panels[0]
    keys = {curve.key for curve in panel.series} if isinstance(panel, Panel) else set()
    legend = tuple(entry for entry in figure.legend if not keys or entry.key in keys)
    return replace(figure, panels=(panel,), columns=1, legend=legend)


def _sides(study: Study, metric: str) -> list[Side]:
    """The variants from the best on, at the largest value of the swept key."""
    facet = study.facets[0]
    found = []
    for variant in study.variants:
        points = study.group(variant, facet)
        if (estimate := over_seeds([number_of(point, metric, None) for point in points])) is not None:
            found.append(Side(variant, tuple(points), estimate))
    found.sort(key=lambda side: side.found.mean, reverse=is_higher_better(metric))
    if not found:
        return []
    best = {point.seed: number_of(point, metric, None) for point in found[0].points}

    def over(side: Side) -> Ratio | None:
        pairs = [(number_of(point, metric, None), best.get(point.seed)) for point in side.points]
        return ratio_over_seeds(pairs)

    return [found[0], *(replace(side, ratio=over(side)) for side in found[1:])]


def _rows(tables: Mapping[str, list[Side]]) -> Iterator[list[str]]:
    """A row a variant, in the order of the first number."""
    first = next(iter(tables.values()), [])
    for side in first:
        cells = []
        for metric, sides in tables.items():
            own = next((one for one in sides if one.name == side.name), None)
            cells.append("–" if own is None else own.text(metric))
        yield [side.name, *cells, _ratio(side.ratio), str(sum(map(_open, side.points)))]


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio.mean:.2f}" + (f" ({ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})" if ratio.interval else "")


def _open(point: Point) -> int:
    return int(sum(number(point.summary.get(key)) or 0 for key in ("flows_unfinished", "flows_failed")))


def _sentences(study: Study, tables: Mapping[str, list[Side]]) -> Iterator[str]:
    """The best, how far the next is from it, and how far the numbers can be trusted."""
    for metric, sides in list(tables.items())[:1]:
        label = summary_label(metric)[0]
        best, *others = sides
        word = "highest" if is_higher_better(metric) else "lowest"
        if others and isinstance(best.found.mean, Bound):
            yield f"No order of the variants follows: the {label} of {best.name} is {best.text(metric)}."
        elif others:
            yield f"{best.name} has the {word} {label}{_at(study)}: {best.text(metric)}."
            yield _next_to(best, others, metric)
        else:
            yield f"The {label}{_at(study)} is {best.text(metric)}."
            second = next((one for other, one in tables.items() if other != metric), None)
            if second:
                other = list(tables)[1]
                yield f"The {summary_label(other)[0]} is {second[0].text(other)}."
    yield _trust(study, tables)
    runs, seeds = len(study.points), len(study.seeds)
    yield f"The numbers are of {runs} run{'s' * (runs != 1)} over {seeds} seed{'s' * (seeds != 1)}."


def _next_to(best: Side, others: list[Side], metric: str) -> str:
    """The variants that are apart from the best, and those that are not."""
    alike = [side.name for side in others if side.ratio and side.ratio.contains_one]
    apart = [side for side in others if side.ratio and side.ratio.interval and not side.ratio.contains_one]
    if alike:
        text = f"{best.name} and {', '.join(alike)} are not apart: these runs do not order them"
        return f"{text}; {apart[0].name} is at {_ratio(apart[0].ratio)} times {best.name}." if apart else f"{text}."
    first = others[0]
    if first.ratio is None:
        return f"{first.name} follows with {first.text(metric)}; no ratio is known."
    if first.ratio.interval is None:
        return f"{first.name} follows at {_ratio(first.ratio)} times that; one seed, so that no interval is known."
    return f"{first.name} follows at {_ratio(first.ratio)} times that, more than chance between seeds."


def _trust(study: Study, tables: Mapping[str, list[Side]]) -> str:
    """The reason to doubt the numbers, or that none is known."""
    sides = next(iter(tables.values()), [])
    left = {side.name: sum(map(_open, side.points)) for side in sides}
    bounds = [side.name for side in sides if isinstance(side.found.mean, Bound)]
    if bounds:
        whom = "all variants" if len(bounds) == len(sides) > 1 else ", ".join(bounds)
        return f"Of {whom} the number is a bound, as flows were open at the end of the runs: it is at least that."
    if notes := unsteady({side.name: [point.summary for point in side.points] for side in sides}):
        return f"Take care: {notes[0]}."
    if any(left.values()):
        told = ", ".join(f"{count} of {name}" for name, count in left.items() if count)
        return f"Flows that did not end before the end of the runs: {told}."
    seeds = len(study.seeds)
    return f"All flows of all runs ended; intervals are of 95 % over {seeds} seeds." if seeds > 1 else (
        "All flows ended; more seeds would say how much other arrivals change."
    )  # fmt: skip


def _at(study: Study) -> str:
    return study.at_text(study.facets[0]) + (f", {study.facets[0].text}" if study.facets[0].text else "")


def _place(study: Study) -> str:
    runs = len(study.points)
    return f"{runs} run{'s' * (runs != 1)}, {len(study.seeds)} seed{'s' * (len(study.seeds) != 1)}{_at(study)}"


def _assumptions(results: Results) -> Iterator[str]:
    """Facts of the scenario that another answer could hang on."""
    scenario = results.scenario
    topology, fabric = scenario.get("topology") or {}, scenario.get("fabric") or {}
    sizes = ", ".join(f"{key.replace('_', ' ')} {value_text(value)}" for key, value in topology.items()
                      if key != "kind" and isinstance(value, str | int | float))  # fmt: skip
    yield f"Network: {topology.get('kind', 'of a file')}; {sizes}."
    yield f"Ports: {fabric.get('buffer')} of buffer a port, routing {fabric.get('routing')}."
    swept = dict.fromkeys(short_axis(key) for point in results.points for key in point.axes)
    for entry in scenario.get("traffic") or ():
        yield f"Traffic: {_traffic({key: value for key, value in entry.items() if key not in swept})}."
    presets = {point.variant: _preset(point.scenario) for point in results.points}
    yield "Transports: " + ", ".join(f"{name} ({preset})" for name, preset in presets.items()) + "."
    if swept:
        yield f"Swept: {', '.join(swept)}; the table is at the largest value."
    hosts = "as [hosts] says" if scenario.get("hosts") else "without delays of processors and interfaces"
    version = results.points[0].manifest.get("version")
    yield f"Simulated packet by packet by Headway {version}; hosts {hosts}."


def _traffic(entry: Mapping[str, Any]) -> str:
    known = ("cdf", "load", "load_reference", "flows", "duration", "bytes", "clients", "servers", "fan_out", "calls",
             "request", "reply")  # fmt: skip
    parts = [f"{key.replace('_', ' ')} {value_text(entry[key])}" for key in known
             if isinstance(entry.get(key), str | int | float)]  # fmt: skip
    return f"{entry.get('kind')}" + (f" ({', '.join(parts)})" if parts else "")


def _preset(scenario: Mapping[str, Any]) -> str:
    own = scenario.get("transport") or {}
    return f"{own.get('name')}, preset {own['preset']}" if own.get("preset") else str(own.get("name"))
