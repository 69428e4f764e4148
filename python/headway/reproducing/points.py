"""Points of figures on record: what a figure's panels show, kept next to the verdicts on its claims.

`points.json` in the folder of a paper holds one entry a scenario, as `headway reproduce --record` drew it. The gallery
of the documentation is drawn from it, without a run. An entry carries a digest of what the scenario runs and the values
by which its claims were judged, so that a figure and a verdict of different runs are found.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway._headway import version
from headway.claims.context import Context
from headway.claims.evaluate import Result
from headway.claims.functions import seconds
from headway.claims.language import CannotMeasure, Evaluator, Expression
from headway.claims.ledger import Claim
from headway.claims.record import PROSE, scenario_document, verdicts_path
from headway.data.jsonable import plain
from headway.data.point import Point
from headway.data.reader import read_record
from headway.files import write_text
from headway.names import ScenarioFile
from headway.reporting import spec
from headway.reporting.assemble import Report, styles
from headway.reporting.palette import Style
from headway.reporting.picture import thinned
from headway.reporting.spec import BarPanel, DotPanel, Figure, Panel

POINTS_FILE = "points.json"
# Samples of a line that are kept: more than a picture of a column's width can show.
MOST_SAMPLES = 120
# Panels of a figure that are kept, those of its selectors among them, and rows of a panel of rows.
MOST_PANELS = 24
MOST_ROWS = 40
DIGITS = 4
# In place of the x of a line: that of the line before it in the panel.
SAME_X = "above"
_DRAWN = {kind.__name__: kind for kind in (Panel, DotPanel, BarPanel)}


# Series whose means over a time are the numbers that papers print in a panel over time, and what each is of.
_SERIES = {"rate": "flow", "throughput": "flow", "utilisation": "link"}


@dataclass(frozen=True)
class Mark:
    """A number that a paper prints: the mean rate of a flow, or use of a link, from `start` to `end`, in base units."""

    claim: str
    variant: str
    of: str
    name: str
    start: float
    end: float
    value: float


@dataclass(frozen=True)
class Points:
    """A scenario's figures as recorded: from which scale and how many seeds, and the values of its claims."""

    scenario: str
    scale: str | None
    seeds: int
    version: str
    digest: str
    measured: Mapping[str, Any]
    figures: tuple[Figure, ...]
    styles: Mapping[str, Style]
    marks: tuple[Mark, ...] = ()


def points_path(file: ScenarioFile) -> Path:
    """File of the points of a scenario's figures."""
    return file.path.parent / POINTS_FILE


def run_digest(file: ScenarioFile, scale: str | None) -> str:
    """Digest of what a scenario runs at a scale: its file without titles, its report and its other scales."""
    document = scenario_document(file.path)
    run = {key: value for key, value in document.items() if key not in PROSE}
    run["scale"] = document.get("scale", {}).get(scale) if scale else None
    return hashlib.sha256(json.dumps(run, sort_keys=True, default=str).encode()).hexdigest()[:16]


def record_points(file: ScenarioFile, report: Report, results: Sequence[Result], scale: str | None) -> Path:
    """Replace the points of a scenario's figures by those of a report; those of other scenarios stay."""
    path = points_path(file)
    kept = _read(path)
    figures = [kept_part(figure) for figure in asked_figures(report)]
    named = styles(report)
    used = {entry.key for figure in figures for entry in figure.legend} | {
        key for figure in figures for panel in figure.panels for key in _keys(panel)
    }
    rows = [result.row(scale).document() for result in results]
    kept[file.path.stem] = {
        "scale": scale,
        "seeds": len({point.seed for point in report.study.points}),
        "version": version(),
        "digest": run_digest(file, scale),
        "measured": {str(row["id"]): row["measured"] for row in rows},
        "styles": {key: asdict(named[key]) for key in sorted(used) if key in named},
        "marks": [_encoded(mark) for result in results for mark in marks_of(result.claim, report.study.points)],
        "figures": [_encoded(figure) for figure in figures],
    }
    # A line a scenario, so that a change shows which figure it is of.
    lines = (f"{json.dumps(name)}: {_compact(entry)}" for name, entry in sorted(kept.items()))
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
    return path


def recorded_points(file: ScenarioFile) -> Points | None:
    """The points on record of a scenario's figures; None if there are none."""
    entry = _read(points_path(file)).get(file.path.stem)
    if entry is None:
        return None
    return Points(
        file.name,
        entry["scale"],
        entry["seeds"],
        entry["version"],
        entry["digest"],
        entry["measured"],
        tuple(_decoded(Figure, figure) for figure in entry["figures"]),
        {key: Style(**style) for key, style in entry["styles"].items()},
        tuple(Mark(**mark) for mark in entry["marks"]),
    )


def marks_of(claim: Claim, points: Sequence[Point]) -> Iterator[Mark]:
    """The published numbers of a claim that are means over a time, with that time as the first seed has it."""
    published = claim.published if isinstance(claim.published, list) else [claim.published]
    numbers = [float(one) for one in published if isinstance(one, int | float)]
    if claim.measure is None or claim.variant is None or len(numbers) != len(published):
        return
    first = min((point.seed for point in points), default=0)
    context = Context([point for point in points if point.seed == first], claim.variant, claim.at or {})
    tree = _meant(claim.measure, claim.measure.tree)
    items = tree.elts if isinstance(tree, ast.List) else [tree]
    evaluator = Evaluator(claim.measure.vocabulary, {}, claim.measure.defined)
    for number, item in zip(numbers if len(numbers) == len(items) else numbers[:1] * len(items), items, strict=True):
        factor, node = _factor(claim.measure, item)
        match _meant(claim.measure, node):
            case ast.Call(
                func=ast.Name(id="mean"),
                args=[ast.Call(func=ast.Name(id=what), args=[ast.Constant(value=str() as name)]), start, end],
            ) if what in _SERIES:
                try:
                    times = [seconds(evaluator.value(one, context)) for one in (start, end)]
                except CannotMeasure:
                    continue
                yield Mark(claim.id, claim.variant, _SERIES[what], name, times[0], times[1], number / factor)


def _meant(expression: Expression, node: ast.expr) -> ast.expr:
    """The tree that a defined name stands for."""
    defined = expression.defined.get(node.id) if isinstance(node, ast.Name) else None
    return node if defined is None else _meant(defined, defined.tree)


def _factor(expression: Expression, node: ast.expr) -> tuple[float, ast.expr]:
    """The number by which a measure is multiplied, and the measure without it."""
    match node:
        case ast.BinOp(left=ast.Constant(value=int() | float() as by), op=ast.Mult(), right=inner):
            factor, bare = _factor(expression, inner)
            return by * factor, bare
        case ast.BinOp(left=inner, op=ast.Div(), right=ast.Constant(value=int() | float() as by)):
            factor, bare = _factor(expression, inner)
            return factor / by, bare
    return 1.0, node


def disagreements(file: ScenarioFile) -> list[str]:
    """Contradictions of a scenario's points on record with the scenario as it is, or with verdicts on its claims."""
    points = recorded_points(file)
    if points is None:
        return []
    found = []
    if points.digest != run_digest(file, points.scale):
        found.append(f"{file.name} has changed since its points were recorded")
    verdicts = read_record(verdicts_path(file), "headway reproduce")
    for claim, measured in points.measured.items():
        entry = verdicts.get(claim)
        if entry and entry["scale"] == points.scale and entry["seeds"] == points.seeds and not _close(measured, entry):
            found.append(
                f"{claim}: the points are of a run that measured {measured}, the verdict of {entry['measured']}"
            )
    return found


def _close(measured: object, entry: Mapping[str, Any]) -> bool:
    """True if a value is that of a verdict, up to what is rounded when it is written."""
    return bool(json.loads(json.dumps(plain(measured))) == entry["measured"])


def asked_figures(report: Report) -> list[Figure]:
    """The figures that the scenario's `[report]` asks for; the first one with axes where it asks for none."""
    drawn = {figure.id: figure for figure in report.drawn}
    asked = [drawn[name] for name in report.wanted if name in drawn]
    with_axes = [figure for figure in report.drawn if any(isinstance(panel, Panel) for panel in figure.panels)]
    return [figure for figure in asked or with_axes[:1] if any(type(p).__name__ in _DRAWN for p in figure.panels)]


def kept_part(figure: Figure) -> Figure:
    """A figure with all of its panels and as much of each as is kept."""
    drawn = [panel for panel in (*figure.panels, *figure.more) if type(panel).__name__ in _DRAWN]
    panels = of_first_seed(drawn)[:MOST_PANELS]
    fewer: list[Panel | DotPanel | BarPanel] = []
    for panel in panels:
        match panel:
            case Panel():
                lines = (replace(thinned(curve, MOST_SAMPLES), runs=()) for curve in panel.series)
                fewer.append(replace(panel, series=tuple(lines)))
            case DotPanel():
                fewer.append(replace(panel, rows=panel.rows[:MOST_ROWS]))
            case BarPanel():
                fewer.append(replace(panel, rows=panel.rows[:MOST_ROWS]))
    return replace(figure, panels=tuple(fewer), more=())


def of_first_seed(panels: Sequence[Any]) -> list[Any]:
    """The panels without those that show another seed than the first one does."""
    first = dict(getattr(panels[0], "about", ())).get("seed") if panels else None
    return [panel for panel in panels if dict(getattr(panel, "about", ())).get("seed", first) == first]


def _keys(panel: object) -> set[str]:
    if isinstance(panel, Panel):
        return {c.key for c in panel.series} | {e.key for e in panel.events} | ({panel.key} if panel.key else set())
    if isinstance(panel, DotPanel):
        return {dot.key for row in panel.rows for dot in row.dots}
    return {bar.key for row in panel.rows for bar in row.bars} if isinstance(panel, BarPanel) else set()


def _encoded(value: object) -> Any:  # noqa: ANN401
    """A part of a figure for JSON: what has its default is left out, and a number that is not finite is null."""
    if is_dataclass(value) and not isinstance(value, type):
        defaults = {field.name: field.default for field in fields(value)}
        own = {name: getattr(value, name) for name in defaults}
        found = {name: _encoded(one) for name, one in own.items() if one is None or one != defaults[name]}
        if isinstance(value, Panel):
            for before, after in reversed([*pairwise(found["series"])]):
                if before["x"] == after["x"]:
                    after["x"] = SAME_X
        return {"kind": type(value).__name__, **found} if type(value).__name__ in _DRAWN else found
    if isinstance(value, (tuple, list)):
        return [_encoded(one) for one in value]
    if isinstance(value, float):
        return _shortened(value)
    return value


def _shortened(value: float) -> float | int | None:
    """A number as it is written: a whole one without its point, one that is not finite as null."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _decoded(kind: type, found: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The inverse of `_encoded` for a dataclass of `spec`."""
    parts: dict[str, Any] = {"legend": spec.LegendEntry, "events": spec.Event}
    parts |= {"references": spec.Reference, "shades": spec.Shade, "dots": spec.Dot, "bars": spec.Bar}
    rows = {DotPanel: spec.DotRow, BarPanel: spec.BarRow}
    made: dict[str, Any] = {}
    for name, value in found.items():
        if name == "kind":
            continue
        if name == "panels":
            made[name] = tuple(_decoded(_DRAWN[one["kind"]], one) for one in value)
        elif name == "rows":
            made[name] = tuple(_decoded(rows[kind], one) for one in value)
        elif name == "series":
            above: list[Any] = []
            for one in value:
                above = above if one["x"] == SAME_X else one["x"]
                made[name] = (*made.get(name, ()), _decoded(spec.Curve, one | {"x": above}))
        elif name in parts:
            made[name] = tuple(_decoded(parts[name], one) for one in value)
        elif name == "style":
            made[name] = Style(**value)
        elif name in ("x", "y") and isinstance(value, Mapping):
            made[name] = _decoded(spec.Axis, value)
        elif kind is spec.Curve and name in ("x", "y", "low", "high") and value is not None:
            made[name] = tuple(math.nan if one is None else one for one in value)
        else:
            made[name] = _frozen(value)
    return kind(**made)


def _frozen(value: Any) -> Any:  # noqa: ANN401
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _read(path: Path) -> dict[str, Any]:
    return read_record(path, "headway reproduce")
