"""The page of `headway explain`: the best verdicts, their reading, and its costs elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from headway.data.explanation import (
    ChoiceFound,
    ClaimFound,
    EffectFound,
    Explanation,
    OutcomeFound,
    RegionFound,
    SearchFound,
    TriedReading,
)
from headway.data.point import Scalar
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
    """Claims over choices, with the effects of each by Morris' trajectories."""

    choices: tuple[str, ...]
    rows: tuple[tuple[str, tuple[EffectCell, ...]], ...]


@dataclass(frozen=True)
class Picture:
    """Picture of one range: the values at which a claim comes out."""

    claim: str
    caption: str
    svg: Markup


def write_page(directory: Path, result: Explanation) -> Path:
    """Write `report.html` into the directory of an explanation; returns its path."""
    named = {CURVE: flow_styles([CURVE])[CURVE]}
    slots = {CURVE: 0}
    page = (
        environment()
        .get_template("explanation.html.j2")
        .render(
            result=result,
            found=result.search,
            claims=result.claims,
            statuses=_statuses(result.claims),
            stated=_counts([claim.stated for claim in result.claims]),
            best=_counts([claim.best for claim in result.claims]),
            matrix=matrix(result.search) if result.search is not None else None,
            effects=effects(result.search) if result.search is not None else None,
            pictures=pictures(result.claims, slots),
            value_text=value_text,
            css=Markup(asset("report.css") + asset("site.css") + asset("explanation.css") + colour_rules(named, slots)),
            script=script(),
        )
    )
    path = directory / REPORT_FILE
    write_text(path, page)
    return path


def _statuses(claims: Sequence[ClaimFound]) -> list[tuple[str, int]]:
    return Counter(claim.status for claim in claims).most_common()


def _counts(outcomes: Sequence[OutcomeFound | None]) -> list[int]:
    verdicts = [outcome.verdict for outcome in outcomes if outcome]
    return [verdicts.count(name) for name in ("reproduced", "direction-only", "not-reproduced")]


def matrix(found: SearchFound) -> Matrix:
    """Every claim under every choice that was moved alone from the scenarios as they are written."""
    tried = {one.key: one for one in found.tried}
    groups, columns = [Group("", (AS_STATED,))], [tried[AS_STATED]]
    for choice in found.choices:
        moved = [(one.values[choice.id], one) for one in found.tried if list(one.values) == [choice.id]]
        moved.sort(key=lambda pair: _order(choice, pair[0]))
        if moved:
            groups.append(Group(choice.id, tuple(_short(value) for value, _ in moved)))
            columns += [one for _, one in moved]
    rows = [(claim.id, tuple(_cell(claim.id, column) for column in columns)) for claim in found.claims]
    return Matrix(tuple(groups), tuple(rows))


def _order(choice: ChoiceFound, value: Scalar) -> float:
    return float(value) if choice.range is not None else float(choice.values.index(value))


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _cell(claim: str, column: TriedReading) -> Cell:
    letter = column.verdicts.get(claim, "-")
    return Cell(letter, f"{claim}, {column.key}: {WORDS[letter]}")


def effects(found: SearchFound) -> Effects | None:
    """The elementary effects of every choice on every claim that has any; None without trajectories."""
    choices = tuple(choice.id for choice in found.choices)
    rows = []
    for claim in found.claims:
        own = [claim.effects.get(name) for name in choices]
        if any(one is not None and one.mean is not None for one in own):
            rows.append((claim.id, tuple(_effect(one, found.matters) for one in own)))
    return Effects(choices, tuple(rows)) if rows else None


def _effect(found: EffectFound | None, enough: float) -> EffectCell:
    if found is None or found.mean is None or found.spread is None:
        return EffectCell("", matters=False)
    mean, spread = found.mean, found.spread
    if not mean and not spread:
        return EffectCell("0", matters=False)
    return EffectCell(f"{mean:.2g} ± {spread:.2g}", max(mean, spread) >= enough)


def pictures(claims: Sequence[ClaimFound], slots: Mapping[str, int]) -> list[Picture]:
    """Measured numbers of each claim along each range, with the published number and the region where it comes out."""
    found = []
    for claim in claims:
        for index, region in enumerate(claim.regions):
            drawn = _picture(claim, region, f"{claim.id}.{index}", slots)
            if drawn is not None:
                found.append(drawn)
    return found


def _picture(claim: ClaimFound, region: RegionFound, name: str, slots: Mapping[str, int]) -> Picture | None:
    outcomes = ((one.value, one.outcome.measured) for one in region.tried if one.outcome is not None)
    places = [(value, measured) for value, measured in outcomes if isinstance(measured, int | float)]
    if len(places) < 3 or not isinstance(claim.published, int | float):
        return None
    label = f"{region.choice} {region.unit}".strip()
    x = linear_axis(label, "ratio", [p[0] for p in places], zero=False, tight=True)
    y = linear_axis(claim.unit, "ratio", [*(p[1] for p in places), claim.published], zero=False)
    curve = Curve(CURVE, tuple(p[0] for p in places), tuple(p[1] for p in places), name="measured")
    shades = tuple(Shade(low, high, "comes out") for low, high in region.holds)
    reference = Reference(float(claim.published), f"published: {claim.qualifier} {claim.published:g}")
    panel = Panel(f"{claim.id} · {claim.unit}", x, y, (curve,), references=(reference,), shades=shades)
    svg = draw_figure(Figure(f"explain-{name}", claim.id, "", (panel,), 1, ()), dict(slots))[0][0]
    return Picture(claim.id, region.text, Markup(svg))
