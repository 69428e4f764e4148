"""The page of `headway compare`: a run and a reference, as distributions, flow by flow, and by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headway.data.later import np
from headway.data.samples import Array, cdf
from headway.data.units import display, duration
from headway.files import write_text

from .content import Content
from .page import asset, colour_rules, environment, script
from .palette import flow_styles
from .spec import Axis, Curve, Figure, LegendEntry, Panel
from .summaries import summary_label
from .svg import draw_figure
from .ticks import log_axis

OURS, THEIRS = "f:run", "f:reference"
# Dots that a page draws at most: more are neither told apart nor quick to scroll.
MOST_DOTS = 3000


@dataclass(frozen=True)
class Times:
    """Completion times in seconds that are compared; `paired` says whether the i-th of both are the same flow."""

    ours: Array
    theirs: Array
    paired: bool


def write_page(path: Path, document: Mapping[str, Any], facts: Sequence[str], times: Times) -> Path:
    """Write the page of a comparison; returns its path."""
    styles = flow_styles([OURS, THEIRS])
    slots = {OURS: 0, THEIRS: 1}
    names = {OURS: str(document["run"]), THEIRS: str(document["reference"])}
    legend = tuple(LegendEntry(key, names[key], styles[key]) for key in slots)
    drawn: list[tuple[Figure, list[Markup]]] = []
    content = Content()
    for figure in figures(times, legend):
        pictures, behind = draw_figure(figure, slots)
        content.add_figure(figure, behind)
        drawn.append((figure, [Markup(picture) for picture in pictures]))
    page = (
        environment()
        .get_template("comparison.html.j2")
        .render(
            found=document,
            facts=facts,
            figures=drawn,
            legend=[(entry.text, slots[entry.key]) for entry in legend],
            duration=duration,
            shown=lambda name, value: display(summary_label(name)[1], value, 4),
            bytes_of=bytes_of,
            css=Markup(asset("report.css") + asset("site.css") + colour_rules(styles, slots)),
            script=script(),
            data=content.block(),
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page)
    return path


def figures(times: Times, legend: tuple[LegendEntry, ...]) -> list[Figure]:
    """The two distributions, and the scatter of flows that are the same on both sides."""
    if not times.ours.size or not times.theirs.size:
        return []
    ends = [float(side[place]) for side in (np.sort(times.ours), np.sort(times.theirs)) for place in (0, -1)]
    axis = log_axis("flow completion time", "time", ends)
    curves = []
    for key, values in ((OURS, times.ours), (THEIRS, times.theirs)):
        x, share = cdf(values)
        curves.append(Curve(key, _floats(x), _floats(share), step=True))
    share_axis = Axis("share of flows", "percent", 0.0, 1.0)
    both = Panel("completion time", axis, share_axis, tuple(curves))
    found = [Figure("distributions", "Distributions", "Share of flows at or below x.", (both,), 1, legend)]
    if times.paired:
        kept = _thinned(times)
        equal = Curve(THEIRS, (axis.low, axis.high), (axis.low, axis.high))
        dots = Curve(OURS, _floats(times.theirs[kept]), _floats(times.ours[kept]), dots=True)
        there, here = (Axis(f"in the {side}", "time", axis.low, axis.high, log=True) for side in ("reference", "run"))
        count = f"{len(kept)} of {times.ours.size} flows" if len(kept) < times.ours.size else "A dot a flow"
        caption = f"{count}; those on the line take as long in both." + (
            " Those furthest from it are all there." if len(kept) < times.ours.size else ""
        )
        panel = Panel("flow by flow", there, here, (equal, dots))
        found.append(Figure("scatter", "Flow by flow", caption, (panel,), 1, ()))
    return found


def _thinned(times: Times) -> Sequence[int]:
    """Flows that are drawn: all, or half by their distance from the line and half evenly among the rest."""
    count = times.ours.size
    if count <= MOST_DOTS:
        return range(count)
    order = np.argsort(-np.abs(np.log(times.ours / times.theirs)), kind="stable")
    far, rest = order[: MOST_DOTS // 2], order[MOST_DOTS // 2 :]
    even = rest[np.linspace(0, len(rest) - 1, MOST_DOTS - len(far)).round().astype(np.int64)]
    return [int(place) for place in (*far, *even)]


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def bytes_of(band: Sequence[int]) -> str:
    """The sizes of a band in words."""
    least, most = (_size(count) for count in band)
    return f"below {most}" if not band[0] else f"{least} to {most}"


def _size(count: int) -> str:
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= scale:
            return f"{count / scale:g} {unit}"
    return f"{count} B"
