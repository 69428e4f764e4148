"""Two numbers of each variant against each other: what is worse in both is not on the frontier."""

from __future__ import annotations

from collections.abc import Sequence

from headway.data.later import pl
from headway.data.point import Point
from headway.data.sentences import of_calls
from headway.data.statistics import over_seeds

from ..metrics import asked, is_higher_better, number_of
from ..palette import Style
from ..picks import numbered, runs_of
from ..spec import Curve, Figure, LegendEntry, Panel
from ..study import Study, short_axis, variant_key
from ..summaries import summary_label
from ..ticks import auto_axis
from .kind import FigureKind

# Payload that the links to hosts carried, by the time of the run: a number that no summary has.
GOODPUT = "goodput_bps"
FRONTIER = LegendEntry("frontier", "the frontier", Style("#5b6472", "#9aa3af", "2 2.5"))


def frontier(study: Study) -> Figure:
    """A mark for each variant and place of the sweep, and a line through those that nothing beats in both numbers."""
    figure_id, title = "frontier", "Two numbers against each other"
    wanted = study.results.report.get("figure")
    is_asked = figure_id in (wanted if isinstance(wanted, list) else [wanted])
    calls = [name for name in of_calls(point.summary for point in study.points) if name.endswith("p99_s")]
    if not (is_asked or calls):
        return Figure(figure_id, title, absent='there are no calls; [report] figure = "frontier" draws it all the same')
    named = asked(study)
    latency = next(iter(named or calls), "fct_p99_s")
    other = named[1] if len(named) > 1 else GOODPUT
    found: dict[str, list[tuple[float, float, list[Point]]]] = {}
    for variant in study.variants:
        for facet in study.facets:
            for x in study.xs(facet):
                points = study.group(variant, facet, x)
                late, moved = (over_seeds([_number(point, name) for point in points]) for name in (latency, other))
                if late is not None and moved is not None:
                    found.setdefault(variant, []).append((moved.mean, late.mean, points))
    marks = [mark for own in found.values() for mark in own]
    if len(marks) < 2:
        return Figure(figure_id, title, absent=study.unmeasured or "fewer than two points have both numbers")
    best = _best([(x, y) for x, y, _ in marks], is_higher_better(other), is_higher_better(latency))
    numbers = numbered(study)
    curves = []
    for variant, own in found.items():
        xs, ys, behind = zip(*sorted(own, key=lambda mark: mark[0]), strict=True)
        runs = tuple(runs_of(numbers, points) for points in behind)
        curves.append(Curve(variant_key(variant), tuple(xs), tuple(ys), markers=True, runs=runs))
    if len(best) > 1:
        xs, ys = zip(*best, strict=True)
        curves.append(Curve(FRONTIER.key, tuple(xs), tuple(ys)))
    labels = [_label(name) for name in (other, latency)]
    x_axis = auto_axis(*labels[0], [x for x, _, _ in marks])
    y_axis = auto_axis(*labels[1], [y for _, y, _ in marks])
    title = f"{labels[1][0]} against {labels[0][0]}"
    swept = f" A line joins the values of {short_axis(study.x_key)}." if study.x_key else ""
    caption = "Nothing is better in both numbers than what the dotted line joins. "
    caption += f"Means over {len(study.seeds)} seed{'s' * (len(study.seeds) != 1)}.{swept}"
    drawn = (*study.legend(found), *([FRONTIER] if len(best) > 1 else []))
    panel = Panel(labels[1][0], x_axis, y_axis, tuple(curves))
    return Figure(figure_id, title[0].upper() + title[1:], caption, (panel,), 1, drawn)


def _number(point: Point, name: str) -> float | None:
    if name != GOODPUT:
        return number_of(point, name, None)
    hosts = {str(node["name"]) for node in point.manifest["topology"]["nodes"] if node["kind"] == "host"}
    last = point.links.filter(pl.col("name").str.extract("->(.+)$").is_in(list(hosts)))
    return float(last["goodput_bps"].sum()) if last.height else None


def _label(name: str) -> tuple[str, str]:
    return ("goodput", "rate") if name == GOODPUT else summary_label(name)


def _best(marks: Sequence[tuple[float, float]], more_x: bool, more_y: bool) -> list[tuple[float, float]]:
    """The marks that no other beats in both numbers, from left to right."""
    signs = (1.0 if more_x else -1.0, 1.0 if more_y else -1.0)

    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return a != b and all(sign * u >= sign * v for sign, u, v in zip(signs, a, b, strict=True))

    return sorted({mark for mark in marks if not any(beats(other, mark) for other in marks)})


KIND = FigureKind(
    "two numbers of the summary (`y`) against each other, as the p99 of calls against goodput, and what nothing beats",
    frontier,
    uses=("y",),
)
