"""The gallery of the documentation site: every figure of a paper, drawn from the points on record.

Nothing is run: `headway reproduce FIGURE --record` has written the points (`scenarios/PAPER/points.json`), and a
figure whose scenario or verdicts have changed since says so on its page.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from front import NAMES, VERDICTS, paper_name
from kept import ALTS, digest, keep_only, kept, of_tools
from matplotlib.text import Text
from svgs import finished

from headway.catalogues import catalogue
from headway.claims.record import scenario_document
from headway.claims.values import rounded, unit_and_rest
from headway.data.claims import ListedClaim
from headway.loading import Scenario
from headway.names import ScenarioFile, known_scenarios
from headway.reporting.figures import kind_of
from headway.reporting.paper import METADATA, draw, paper_style
from headway.reporting.spec import BarPanel, DotPanel, Figure, HeatPanel, LegendEntry, Panel, Sketch
from headway.reproducing.points import Mark, Points, disagreements, of_first_seed, recorded_points

REPOSITORY = Path(__file__).resolve().parents[1]
FIGURES = "figures"
# Panels of one picture: it stays readable, and small.
AT_ONCE = 6
# Characters of a line of an axis' label, and of a panel's title.
MOST_LABEL, MOST_TITLE = 26, 40
# The question that figures of a kind answer; other kinds are under their own summary.
QUESTIONS = {
    "fct-load": "How do completion times grow?",
    "throughput-time": "Who gets how much of a link, and when?",
    "utilisation-time": "How full are links over time?",
    "link-utilisation": "How full are links?",
    "queue-time": "How long do queues get?",
    "slowdown-size": "Which message sizes pay?",
    "cdf": "How are completion times distributed?",
    "model": "What does the model say?",
    "numbers": "How do transports compare in one number?",
    "probes": "What do transports see?",
    "round-trips": "How long is a round trip?",
}


@dataclass(frozen=True)
class Shown:
    """A scenario of a paper with its claims as they are on record, and its points, if there are any."""

    file: ScenarioFile
    scenario: Scenario
    claims: Sequence[ListedClaim]
    points: Points | None

    @property
    def paper(self) -> str:
        """The folder of its paper."""
        return self.file.name.partition("/")[0]

    @property
    def stem(self) -> str:
        """Its name without that of the paper."""
        return self.file.name.partition("/")[2]

    @property
    def description(self) -> str:
        """Description in its file."""
        return str(scenario_document(self.file.path).get("description", ""))

    @property
    def place(self) -> str:
        """Its figure in the paper."""
        found = re.search(r"((?:Figs?\.|Figures?|Tables?).*?)(?: \(|$)", self.scenario.paper)
        return found[1].rstrip(",") if found else self.stem


@cache
def figures() -> tuple[Shown, ...]:
    """Every scenario of the papers that has claims or points."""
    claims: dict[str, list[ListedClaim]] = defaultdict(list)
    for one in catalogue("claims"):
        claims[one.scenario].append(one)
    found = []
    for name, file in sorted(known_scenarios().items()):
        if name.partition("/")[0] in NAMES and (claims[name] or recorded_points(file)):
            found.append(Shown(file, Scenario.load(file.path), claims[name], recorded_points(file)))
    return tuple(found)


def draw_gallery() -> dict[str, dict[str, str]]:
    """Draw the figures whose points have changed; returns what each picture of a scenario shows, by its file."""
    package = REPOSITORY / "python/headway"
    code = [*of_tools("gallery", "svgs"), package / "reporting", package / "reproducing/points.py"]
    found: dict[str, dict[str, str]] = {}
    folders = []
    for shown in figures():
        if shown.points is not None:
            made_from = digest(code, repr(shown.points))
            folder = kept(f"{FIGURES}/{shown.paper}/{shown.stem}", made_from, partial(draw_figures, shown))
            folders.append(folder)
            found[shown.file.name] = json.loads((folder / ALTS).read_text("utf-8"))
    keep_only(FIGURES, folders)
    return found


def draw_figures(shown: Shown, place: Path) -> None:
    """The pictures and data of a scenario, and for each picture what it shows."""
    assert shown.points is not None
    found: dict[str, str] = {}
    for figure in shown.points.figures:
        for number, part in enumerate(parts(figure)):
            name = f"{figure.id}{f'-{number + 1}' if number else ''}.svg"
            text = picture(part, shown.points)
            (place / name).write_text(text, "utf-8")
            found[name] = seen(part)
    if (first := first_panel(shown.points.figures)) is not None:
        figure, panel = first
        thumb = replace(figure, panels=(panel,), legend=(), setting="", columns=1)
        (place / "thumb.svg").write_text(picture(thumb, shown.points), "utf-8")
    # Without a time in it, so that the same points are the same file.
    (place / "points.csv.gz").write_bytes(gzip.compress(as_csv(shown.points).encode(), mtime=0))
    (place / ALTS).write_text(json.dumps(found), "utf-8")


def first_panel(drawn: Sequence[Figure]) -> tuple[Figure, Panel | DotPanel | BarPanel | HeatPanel | Sketch] | None:
    """The panel for a thumbnail, with its figure: the first one with axes, or else the first one."""
    panels = [(figure, panel) for figure in drawn for panel in figure.panels]
    return next((one for one in panels if isinstance(one[1], Panel)), panels[0] if panels else None)


def parts(figure: Figure) -> Iterator[Figure]:
    """A figure, at most so many panels at once, each with the legend of its own lines."""
    every = with_subjects([ranged(panel) for panel in of_first_seed(figure.panels)])
    for start in range(0, len(every), AT_ONCE):
        panels = tuple(every[start : start + AT_ONCE])
        legend, columns = legend_of(figure.legend, panels), 2 if len(panels) > 1 else 1
        # The words in the corner are about the panels that a report begins with; here titles say it.
        setting = figure.setting if len(every) <= 1 else ""
        yield replace(figure, panels=panels, legend=legend, columns=columns, setting=setting)


def with_subjects(panels: Sequence[Any]) -> list[Any]:
    """Panels whose titles say what each is about, as far as they differ in it."""
    abouts = [dict(getattr(panel, "about", ())) for panel in panels]
    differing = [
        key for key in dict.fromkeys(key for one in abouts for key in one) if len({a.get(key) for a in abouts}) > 1
    ]
    named = []
    for panel, about in zip(panels, abouts, strict=True):
        missing = [
            f"{key} {about[key]}"
            for key in differing
            if key in about and about[key] != "all" and about[key].replace("->", " → ") not in panel.title
        ]
        named.append(replace(panel, title=" · ".join(filter(None, (panel.title, *missing)))))
    return named


def ranged(panel: Any) -> Any:  # noqa: ANN401
    """A panel whose y axis holds all of its lines: on the page a script moves the axis with the subject."""
    if not isinstance(panel, Panel):
        return panel
    values = sorted(y for curve in panel.series for y in curve.y if math.isfinite(y))
    # A few samples beyond the axis, as of an interval that a run's end has cut short, do not move it.
    if not values or values[int(0.9 * (len(values) - 1))] <= panel.y.high:
        return panel
    return replace(panel, y=replace(panel.y, high=1.05 * values[-1]))


def legend_of(legend: Sequence[LegendEntry], panels: Sequence[object]) -> tuple[LegendEntry, ...]:
    """The entries of the lines and dots that are drawn."""
    keys = {curve.key for panel in panels if isinstance(panel, Panel) for curve in panel.series}
    keys |= {dot.key for panel in panels if isinstance(panel, DotPanel) for row in panel.rows for dot in row.dots}
    return tuple(entry for entry in legend if entry.key in keys)


def picture(figure: Figure, points: Points) -> str:
    """A figure as SVG, with the numbers that the paper prints as marks where they belong."""
    named = dict(points.styles) | {entry.key: entry.style for entry in figure.legend}
    with paper_style():
        canvas = draw(figure, named)
        for axes, panel in zip(canvas.axes, figure.panels, strict=False):
            if not isinstance(panel, Panel):
                continue
            axes.set_ylabel(textwrap.fill(axes.get_ylabel(), MOST_LABEL))
            for text in axes.findobj(Text):
                if isinstance(text, Text) and text.get_text() == panel.title:
                    text.set_text(textwrap.fill(panel.title, MOST_TITLE))
            for mark in points.marks:
                if (key := place_of(mark, panel)) is not None:
                    axes.plot(
                        [mark.start, mark.end], [mark.value, mark.value],
                        color=named[key].light if key in named else "black", linewidth=5, alpha=0.35,
                        solid_capstyle="butt", zorder=1,
                    )  # fmt: skip
        drawn = io.StringIO()
        canvas.savefig(drawn, format="svg", metadata=METADATA["svg"])
    return finished(drawn.getvalue())


def place_of(mark: Mark, panel: Panel) -> str | None:
    """The line of a panel that a published number is about; None if it is about another panel."""
    same = panel.key == f"v:{mark.variant}" or dict(panel.about).get("variant") == mark.variant
    for curve in panel.series:
        if mark.of == "flow" and same and curve.key == f"f:{mark.name}" and panel.y.quantity == "rate":
            return curve.key
        of_link = panel.title.replace(" ", "").replace("→", "->") == mark.name and panel.y.quantity == "share"
        if mark.of == "link" and of_link and curve.key == f"v:{mark.variant}":
            return curve.key
    return None


def has_marks(points: Points) -> bool:
    """True if a published number lies in one of its panels."""
    panels = [panel for figure in points.figures for panel in figure.panels if isinstance(panel, Panel)]
    return any(place_of(mark, panel) is not None for mark in points.marks for panel in panels)


def seen(figure: Figure) -> str:
    """Description of a figure for a reader who cannot see it."""
    said = []
    for panel in figure.panels:
        if isinstance(panel, Panel):
            tops = [(max(ys), curve) for curve in panel.series if (ys := [y for y in curve.y if math.isfinite(y)])]
            names = {entry.key: entry.text for entry in figure.legend}
            top = max(tops, key=lambda one: one[0], default=None)
            most = (
                f", highest for {top[1].name or names.get(top[1].key, top[1].key[2:])}" if top and len(tops) > 1 else ""
            )
            over = f"{panel.y.label} over {panel.x.label}"
            said.append(f"{panel.title}: {over}" if panel.title and panel.title != panel.y.label else over)
            said[-1] += f", {len(panel.series)} lines{most}" if len(panel.series) > 1 else ""
        elif isinstance(panel, DotPanel):
            said.append(f"{panel.title}: {panel.x.label} in {len(panel.rows)} rows".lstrip(": "))
        else:
            said.append(getattr(panel, "title", ""))
    return f"{figure.title}. " + "; ".join(said)


def as_csv(points: Points) -> str:
    """The points of all panels, a line each, in base units."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["figure", "panel", "about", "line", "x", "y", "low", "high", "x_axis", "y_axis"])
    for figure in points.figures:
        names = {entry.key: entry.text for entry in figure.legend}
        for panel in figure.panels:
            about = " ".join(f"{key}={value}" for key, value in getattr(panel, "about", ()))
            if isinstance(panel, Panel):
                axes = (panel.x.label, panel.y.label)
                for curve in panel.series:
                    for i, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
                        ends = (curve.low[i], curve.high[i]) if curve.low and curve.high else ("", "")
                        name = curve.name or names.get(curve.key, curve.key)
                        out.writerow([figure.id, panel.title, about, name, x, y, *ends, *axes])
            elif isinstance(panel, DotPanel):
                for row in panel.rows:
                    for dot in row.dots:
                        name = names.get(dot.key, dot.key)
                        line = [figure.id, panel.title, about, name, row.name, dot.value, dot.low, dot.high]
                        out.writerow([*line, "", panel.x.label])
    return text.getvalue()


def strip(claims: Sequence[ListedClaim]) -> str:
    """The verdicts on a figure's claims, a box each, with their number in words."""
    counts = Counter(str(one.verdict) for one in claims)
    ordered = [name for name in (*VERDICTS, *counts) if counts.get(name)]
    words = ", ".join(f"{counts[name]} {name}" for name in dict.fromkeys(ordered))
    boxes = "".join(
        f'<i class="hw-v hw-{name.split(" ")[0].split("-")[0]}" title="{name}"></i>' * counts[name]
        for name in dict.fromkeys(ordered)
    )
    return f'<p class="hw-strip" role="img" aria-label="{words}">{boxes}</p><p class="hw-words">{words}</p>'


def sentence(text: str) -> str:
    """The first sentence of a description."""
    return re.split(r"(?<=[.?!])\s", " ".join(text.split()), maxsplit=1)[0]


def figure_page(shown: Shown, alts: Mapping[str, str], images: str) -> str:
    """The page of a scenario's figures."""
    out = [f"# {shown.scenario.title}\n", f"{shown.scenario.paper}. {sentence(shown.description)}\n"]
    if shown.claims:
        out.append(strip(shown.claims) + "\n")
    points = shown.points
    if points is None:
        out.append(
            f"No points are on record: `headway reproduce {shown.file.name} --scale paper --record` writes them.\n"
        )
    else:
        out.append(notice(shown, points))
        for name, alt in alts.items():
            out.append(
                f'<img class="hw-drawn" src="{images}/{shown.paper}/{shown.stem}/{name}" alt="{alt}" loading="lazy">\n'
            )
        if has_marks(points):
            out.append("A broad light line is a number that the paper prints, over the time for which it prints it.\n")
    if shown.claims:
        out += ["## Claims\n", *claims_table(shown.claims), ""]
    scale = points.scale if points and points.scale else "paper"
    out += [
        "## Make it yourself\n",
        f"```console\n$ headway reproduce {shown.file.name} --scale {scale} --out out/{shown.file.name}\n```\n",
        f"The scenario is [{shown.file.name}](@@scenarios/{shown.file.name}.toml@@).",
    ]
    if points is not None:
        out.append(
            f"The points of the pictures are [a table]({images}/{shown.paper}/{shown.stem}/points.csv.gz) "
            "in base units."
        )
    return "\n".join(out) + "\n"


def notice(shown: Shown, points: Points) -> str:
    """From what the points are, and what they do not agree with."""
    seeds = f"{points.seeds} seed{'s' if points.seeds != 1 else ''}"
    scaled = points.scale in scenario_document(shown.file.path).get("scale", {})
    text = f"Recorded at the scale `{points.scale}` with {seeds}." if scaled else f"Recorded with {seeds}."
    if scaled and points.scale == "smoke":
        text += (
            " This scale has fewer and smaller runs than the paper's: the pictures show the shape and not the paper's "
            "numbers. Verdicts are of the paper's scale."
        )
    if found := disagreements(shown.file):
        text += " **Out of date:** " + "; ".join(found) + "."
    return text + "\n"


def claims_table(claims: Sequence[ListedClaim]) -> Iterator[str]:
    """The claims of a figure with the published and the measured values."""
    yield "| | published | measured | of | verdict |"
    yield "|---|---|---|---|---|"
    for one in claims:
        unit, of = unit_and_rest(one.unit)
        statement = isinstance(one.published, str) or not is_number(one.published)
        published = (
            str(one.published if isinstance(one.published, str) else "; ".join(map(str, as_list(one.published))))
            if statement
            else f"{one.qualifier} {rounded(one.published, unit)}"
        )
        measured = "" if one.measured is None else rounded(one.measured, unit)
        yield f"| {one.figure} | {cell(published)} | {cell(str(measured))} | {cell(of)} | {one.verdict} |"


def as_list(value: object) -> list[object]:
    """A list, or the only entry of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def is_number(value: object) -> bool:
    """True for a number or a list of numbers."""
    return all(isinstance(one, (int, float)) for one in as_list(value))


def cell(text: str) -> str:
    """A text in a table of Markdown."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def card(shown: Shown, images: str, up: str = "") -> str:
    """A figure in the index: its thumbnail, place and title."""
    there = shown.points is not None and bool(shown.points.figures)
    alt = f"Thumbnail of {shown.place}: {shown.scenario.title}".replace('"', "")
    image = (
        f'<img class="hw-drawn" src="{images}/{shown.paper}/{shown.stem}/thumb.svg" alt="{alt}" loading="lazy">'
        if there
        else '<span class="hw-none">no points on record</span>'
    )
    words = f"<span>{shown.place}: {shown.scenario.title}</span>"
    return f'<a class="hw-card" href="{up}{shown.paper}-{shown.stem}.html">{image}{words}</a>'


def index_page(images: str) -> str:
    """All figures, by paper and by question."""
    out = [
        "# Gallery\n",
        "Every figure of the papers as Headway reproduces it. "
        "A page has the panels, the published numbers, a verdict on each claim, "
        "the command, and the data. `headway list claims` prints the verdicts.\n",
        "## By paper\n",
    ]
    for paper, name in NAMES.items():
        own = [one for one in figures() if one.paper == paper]
        if own:
            out += [f"### {name}\n", '<div class="hw-cards">', *(card(one, images) for one in own), "</div>\n"]
    out.append("## By question\n")
    kinds: dict[str, list[Shown]] = defaultdict(list)
    for one in figures():
        for figure in one.points.figures[:1] if one.points else ():
            kinds[figure.id].append(one)
    for kind in sorted(kinds, key=lambda kind: list(QUESTIONS).index(kind) if kind in QUESTIONS else len(QUESTIONS)):
        text = QUESTIONS.get(kind) or kind_of(kind).summary
        links = ", ".join(f"[{paper_name(one.paper)}, {one.place}]({one.paper}-{one.stem}.md)" for one in kinds[kind])
        out += [f"### {text}\n", f"{links}\n"]
    return "\n".join(out)


def gallery_pages(alts: Mapping[str, Mapping[str, str]], images: str) -> dict[str, str]:
    """Every page of the gallery by its name in the site."""
    found = {"gallery/index.md": index_page(images)}
    for one in figures():
        found[f"gallery/{one.paper}-{one.stem}.md"] = figure_page(one, alts.get(one.file.name, {}), images)
    return found
