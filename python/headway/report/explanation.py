"""The page of `headway explain`: what can be reached, under which reading, and what it costs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headway.files import write_text
from headway.layout import AS_STATED, REPORT_FILE

from .claims import value_text
from .page import asset, colour_rules, environment, script
from .palette import flow_styles
from .spec import Curve, Figure, Panel, Reference, Shade
from .svg import draw_figure
from .ticks import linear_axis

WORDS = {"r": "reproduced", "d": "direction only", "n": "not reproduced", "-": "not measured"}
CURVE = "m:measured"


@dataclass(frozen=True)
class Cell:
    """A claim under a reading: a letter, and the sentence behind it."""

    letter: str
    tip: str


@dataclass(frozen=True)
class Group:
    """The readings that move one choice alone."""

    title: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Matrix:
    """Claims over the values of every choice, moved alone."""

    groups: tuple[Group, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class EffectCell:
    """A choice's effects on a claim, and whether they are enough to matter."""

    text: str
    matters: bool


@dataclass(frozen=True)
class Effects:
    """Claims over choices, with what Morris' trajectories say of each."""

    choices: tuple[str, ...]
    rows: tuple[tuple[str, tuple[EffectCell, ...]], ...]


@dataclass(frozen=True)
class Picture:
    """Where a claim comes out along a range."""

    claim: str
    caption: str
    svg: Markup


def write_page(directory: Path, result: Mapping[str, Any]) -> Path:
    """Write `report.html` into the directory of an explanation; returns its path."""
    named = {CURVE: flow_styles([CURVE])[CURVE]}
    slots = {CURVE: 0}
    page = (
        environment()
        .get_template("explanation.html.j2")
        .render(
            result=result,
            claims=result.get("claims", []),
            statuses=_statuses(result),
            stated=_counts(result, "stated"),
            best=_counts(result, "best"),
            matrix=matrix(result) if "tried" in result else None,
            effects=effects(result),
            pictures=pictures(result, slots),
            value_text=value_text,
            css=Markup(asset("report.css") + asset("site.css") + asset("explanation.css") + colour_rules(named, slots)),
            script=script(),
        )
    )
    path = directory / REPORT_FILE
    write_text(path, page)
    return path


def _statuses(result: Mapping[str, Any]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for claim in result.get("claims", []):
        found[claim["status"]] = found.get(claim["status"], 0) + 1
    return sorted(found.items(), key=lambda item: -item[1])


def _counts(result: Mapping[str, Any], which: str) -> list[int]:
    verdicts = [claim[which]["verdict"] for claim in result.get("claims", []) if claim[which]]
    return [verdicts.count(name) for name in ("reproduced", "direction-only", "not-reproduced")]


def matrix(result: Mapping[str, Any]) -> Matrix:
    """Every claim under every choice that was moved alone from the scenarios as they are written."""
    tried = {one["key"]: one for one in result["tried"]}
    groups, columns = [Group("", (AS_STATED,))], [tried[AS_STATED]]
    for choice in result["choices"]:
        alone = [one for one in result["tried"] if list(one["values"]) == [choice["id"]]]
        alone.sort(key=lambda one: _order(choice, one["values"][choice["id"]]))
        if alone:
            groups.append(Group(choice["id"], tuple(_short(one["values"][choice["id"]]) for one in alone)))
            columns += alone
    rows = [(claim["id"], tuple(_cell(claim["id"], column) for column in columns)) for claim in result["claims"]]
    return Matrix(tuple(groups), tuple(rows))


def _order(choice: Mapping[str, Any], value: object) -> float:
    if choice["range"] is not None:
        return float(str(value))
    return float(choice["values"].index(value))


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _cell(claim: str, column: Mapping[str, Any]) -> Cell:
    letter = column["verdicts"].get(claim, "-")
    return Cell(letter, f"{claim}, {column['key']}: {WORDS[letter]}")


def effects(result: Mapping[str, Any]) -> Effects | None:
    """The elementary effects of every choice on every claim that has any; None without trajectories."""
    choices = tuple(choice["id"] for choice in result.get("choices", []))
    rows = []
    for claim in result.get("claims", []):
        found = [claim["effects"].get(name, {}) for name in choices]
        if any(one.get("mean") is not None for one in found):
            rows.append((claim["id"], tuple(_effect(one, result["matters"]) for one in found)))
    return Effects(choices, tuple(rows)) if rows else None


def _effect(found: Mapping[str, Any], enough: float) -> EffectCell:
    mean, spread = found.get("mean"), found.get("spread")
    if mean is None or spread is None:
        return EffectCell("", matters=False)
    if not mean and not spread:
        return EffectCell("0", matters=False)
    return EffectCell(f"{mean:.2g} ± {spread:.2g}", max(mean, spread) >= enough)


def pictures(result: Mapping[str, Any], slots: Mapping[str, int]) -> list[Picture]:
    """What each claim with a number measures along each range, with what is published and where it comes out."""
    found = []
    for claim in result.get("claims", []):
        for index, region in enumerate(claim["regions"]):
            drawn = _picture(claim, region, f"{claim['id']}.{index}", slots)
            if drawn is not None:
                found.append(drawn)
    return found


def _picture(
    claim: Mapping[str, Any], region: Mapping[str, Any], name: str, slots: Mapping[str, int]
) -> Picture | None:
    places = [(p["value"], p["measured"]) for p in region["tried"] if isinstance(p.get("measured"), int | float)]
    if len(places) < 3 or not isinstance(claim["published"], int | float):
        return None
    label = f"{region['choice']} {region['unit']}".strip()
    x = linear_axis(label, "ratio", [p[0] for p in places], zero=False, tight=True)
    y = linear_axis(claim["unit"], "ratio", [*(p[1] for p in places), claim["published"]], zero=False)
    curve = Curve(CURVE, tuple(p[0] for p in places), tuple(p[1] for p in places), name="measured")
    shades = tuple(Shade(low, high, "comes out") for low, high in region["holds"])
    reference = Reference(float(claim["published"]), f"published: {claim['qualifier']} {claim['published']:g}")
    panel = Panel(f"{claim['id']} · {claim['unit']}", x, y, (curve,), references=(reference,), shades=shades)
    svg = draw_figure(Figure(f"explain-{name}", claim["id"], "", (panel,), 1, ()), dict(slots))[0][0]
    return Picture(claim["id"], region["text"], Markup(svg))


def rows_of(values: Sequence[object]) -> str:
    """Three counts as `5/8/1`."""
    return "/".join(map(str, values))
