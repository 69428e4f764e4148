"""Write `report.html`: one page that opens from disk, with everything it needs inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup

from headway.data.changes import said
from headway.data.notes import brief
from headway.data.tape import Tape
from headway.data.units import plain

from .assemble import Report, styles
from .claims import ClaimRow, verdict_counts
from .content import PAGE_BYTES, Content
from .palette import Style
from .replay import replay_of
from .spec import Figure, LegendEntry, Sketch, Table
from .study import variant_key
from .svg import draw_figure
from .svg_parts import readable
from .tables import dictionary

_BADGES = {
    "reproduced": ("good", "✓"),
    "direction-only": ("fair", "≈"),
    "not-reproduced": ("bad", "✗"),
    "contradicts itself": ("open", "↯"),
    "unreachable as set up": ("open", "∅"),
    "pending": ("open", "…"),
}
_OPEN_FACTS = 6


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its pictures, ready for the template."""

    figure: Figure
    pictures: tuple[Markup, ...]
    legend: tuple[LegendEntry, ...]
    has_data: bool


def write_page(report: Report, path: Path, tape: Tape | None = None) -> Path:
    """Write the page and return its path."""
    path.write_text(render(report, tape), encoding="utf-8")
    return path


def render(report: Report, tape: Tape | None = None) -> str:
    """The whole page as text; with a tape it plays the packets of the run."""
    named = styles(report)
    slots = {key: index for index, key in enumerate(named)}
    replay = replay_of(tape) if tape is not None else None
    content = Content(replay=replay.data if replay else None)
    drawn = _drawn(report.drawn, slots, content)
    claims = list(report.claims or ())
    templates = environment()
    templates.globals.update(slot=slots.__getitem__, dash=lambda key: named[key].dash, agreement=agreement)
    page = templates.get_template("report.html.j2")
    parts = {
        "report": report,
        "results": report.results,
        "kicker": [text for text in (report.results.scenario.get("paper"), report.results.name) if text],
        "description": report.results.scenario.get("description"),
        "changes": said(point.scenario for point in report.results.points),
        "settled": [claim for claim in claims if claim.verdict != "pending"],
        "pending": [claim for claim in claims if claim.verdict == "pending"],
        "counts": verdict_counts(claims),
        "expected_counts": verdict_counts(report.expectations),
        "figures": drawn,
        "leading": report.leading,
        "scale": _scale(report),
        "headline": _headline(report),
        "notes": report.results.report.get("notes"),
        "dictionary": dictionary(),
        "facts_open": report.facts is not None and len(report.facts.rows) <= _OPEN_FACTS,
        "css": Markup(asset("report.css") + colour_rules(named, slots) + (replay.css if replay else "")),
        "replay": replay,
        "script": script(),
        "variants": report.study.split.legend() if report.study.points else (),
    }
    content.add_runs(report)
    bare = page.render(parts, data=content.block(), content=content)
    content.add_more(report.drawn, slots, PAGE_BYTES - len(bare.encode()))
    content.add_asks(report)
    return page.render(parts, data=content.block(), content=content)


class _Compiled(jinja2.BytecodeCache):
    """Templates that this process has compiled, which takes longer than to fill them in."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """The code of a template, if it is known."""
        if code := self._code.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Remembers it."""
        self._code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


def environment() -> jinja2.Environment:
    """Environment of templates, with the functions that all of them may use."""
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, bytecode_cache=_COMPILED,
    )  # fmt: skip
    made.globals.update(badge=_badge)
    made.filters["prose"] = prose
    made.filters["brief"] = brief
    return made


def asset(name: str) -> str:
    """The text of a template, a style sheet or a script."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


SCRIPTS = ("core", "draw", "charts", "tables", "save", "ask", "replay", "main")


def script() -> Markup:
    """The scripts of a page as one, in a scope of their own."""
    return Markup('(() => {\n"use strict";\n' + "".join(asset(f"{name}.js") for name in SCRIPTS) + "})();")


def _drawn(figures: Sequence[Figure], slots: dict[str, int], content: Content) -> list[DrawnFigure]:
    drawn: list[DrawnFigure] = []
    for figure in figures:
        pictures, behind = draw_figure(figure, slots)
        content.add_figure(figure, behind)
        legend = () if all(isinstance(panel, Sketch) for panel in figure.panels) else figure.legend
        has_data = any(panel is not None for panel in behind)
        drawn.append(DrawnFigure(figure, tuple(Markup(p) for p in pictures), legend, has_data))
    return drawn


def colour_rules(named: Mapping[str, Style], slots: Mapping[str, int], scope: str = "") -> str:
    """CSS that gives every legend key its colour in light and dark mode, and its dashes; `scope` says below what."""

    def rules(mode: str, colour: Callable[[Style], str]) -> str:
        below = " ".join(filter(None, (mode, scope)))
        return "".join(f"{below} .k{slots[key]}{{--c:{colour(style)}}}".strip() for key, style in named.items())

    light, dark = (lambda style: style.light), (lambda style: style.dark)
    dashes = "".join(
        f"{scope} .k{slots[key]} .line{{stroke-dasharray:{style.dash}}}".strip()
        for key, style in named.items()
        if style.dash
    )
    scoped = rules(":root[data-mode=dark]", dark) + rules(":root[data-mode=light]", light)
    asked_for = f"@media screen and (prefers-color-scheme:dark){{{rules('', dark)}}}"
    return f"{rules('', light)}{dashes}{asked_for}@media screen{{{scoped}}}"


def _badge(verdict: str) -> Markup:
    kind, sign = _BADGES.get(verdict, ("open", "?"))
    return Markup('<span class="badge {}"><span aria-hidden="true">{}</span> {}</span>').format(kind, sign, verdict)


def prose(text: object) -> Markup:
    """Text of a scenario, a ledger or a run as HTML; text between backticks is set as code."""
    parts = re.split(r"`([^`\n]+)`", str(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def agreement(row: ClaimRow, stated: str) -> Markup:
    """Measured over published (or expected: `stated` says which) from 0 to 2, the published value in the middle."""
    if not row.agreement:
        return Markup("")

    def place(value: float) -> str:
        return f"{4.0 + 112.0 * min(max(value, 0.0), 2.0) / 2.0:.1f}"

    parts = ['<line class="axis" x1="4" x2="116" y1="9" y2="9"/><line class="goal" x1="60" x2="60" y1="1" y2="17"/>']
    for found in row.agreement:
        beyond = "" if 0.0 <= found.ratio <= 2.0 else " beyond"
        parts.append(f'<line class="spread" x1="{place(found.low)}" x2="{place(found.high)}" y1="9" y2="9"/>')
        parts.append(f'<circle class="met{beyond}" cx="{place(found.ratio)}" cy="9" r="4"/>')
    tip = "measured is " + ", ".join(plain(found.ratio) for found in row.agreement) + f" × {stated}"
    box = 'viewBox="0 0 120 18" width="120" height="18"'
    return Markup(f'<svg class="agreement" {box} {readable(tip)}>{"".join(parts)}</svg>')


def _scale(report: Report) -> str:
    """Scale at which the scenario was run, as far as its verdicts record it."""
    judged = (*(report.results.claims or ()), *report.results.expectations)
    scales = {row.scale for row in judged if row.scale}
    return ", ".join(f"{scale} scale" for scale in sorted(scales))


def _headline(report: Report) -> list[tuple[str, list[tuple[str, str]]]]:
    """For a report without claims: the few numbers of each variant that people look for first."""
    table: Table | None = report.summary
    most = 6 if report.study.is_mixed else 4
    if table is None or report.claims is not None or len(table.rows) > most:
        return []
    names = [key.removeprefix(variant_key("")) for key in table.keys]
    wanted = (
        "share of the goodput",
        "mean FCT",
        "p99 FCT",
        "p99 slowdown",
        "bottleneck utilisation",
        "largest queue",
        "data drops",
    )
    shown = [[(name, row[table.head.index(name)]) for name in wanted if name in table.head] for row in table.rows]
    # A row for one transport leaves columns about links empty: these exist for the whole run only.
    return [(name, [cell for cell in cells if cell[1] != "–"]) for name, cells in zip(names, shown, strict=True)]
