"""The critical path of a job: the chain of flows and steps that bound its end, each with where its time went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.data.point import Point
from headway.data.units import display

from ..causes import CAUSES, legend, stacked, told, what_is_meant
from ..palette import flow_styles
from ..spec import Axis, Bar, BarPanel, BarRow, Figure, LegendEntry
from ..study import Study
from ..ticks import linear_axis
from ..timelines import arrow, chosen_runs
from .kind import FigureKind

# All panels together are about one screen. Of a longer chain the links that took longest over their least are drawn.
LINKS_SHOWN = 30
LEAST_LINKS = 5
PANELS_SHOWN = 6
# Keys of time that has no cause.
FLOW, STEP = "p:flow", "p:step"
PLAIN = ((FLOW, "flow"), (STEP, "step between flows"))


def critical_path(study: Study) -> Figure:
    """A panel a run and job: a bar for each link of the chain, at its time."""
    figure_id, title = "critical-path", "Critical path"
    runs, said = chosen_runs(study)
    found: list[tuple[str, Point, list[Mapping[str, Any]]]] = []
    for facet, point in runs:
        for job in point.summary.get("jobs") or ():
            if path := job.get("critical_path"):
                found.append((facet.prefix(_title(study, point, job)), point, path))
    if not found:
        return Figure(figure_id, title, absent="no job here came to its end, or no flow waits for another")
    more = len(found) - PANELS_SHOWN
    found = found[:PANELS_SHOWN]
    most = max(LEAST_LINKS, LINKS_SHOWN // len(found))
    cut = any(len(path) > most for _, _, path in found)
    panels = [_panel(named, point, _slowest(path, most)) for named, point, path in found]
    keys = {bar.key for panel in panels for row in panel.rows for bar in row.bars}
    styles = flow_styles([*CAUSES, *(text for _, text in PLAIN)])
    plain = tuple(LegendEntry(key, text, styles[text]) for key, text in PLAIN if key in keys)
    entries = tuple(entry for entry in legend() if entry.key in keys) + plain
    caption = "The flows and steps that bound the end of the job; each begins when the one above it is over."
    caption += " Parts of a bar are in no order of time." if any(key.startswith("c:") for key in keys) else ""
    caption += what_is_meant(keys)
    caption += f" Of longer chains the {most} links that took longest over their least." if cut else ""
    caption += f" {more} more jobs are not drawn." if more > 0 else ""
    return Figure(figure_id, title, caption + said, tuple(panels), 1, entries)


def _title(study: Study, point: Point, job: Mapping[str, Any]) -> str:
    name = f"{job.get('kind', 'job')} {job.get('entry', 0)}"
    return f"{point.variant}: {name}" if len(study.variants) > 1 else name


def _slowest(path: list[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """The links of a path with the largest excess, in their order."""
    worst = sorted(range(len(path)), key=lambda place: -float(path[place]["excess_s"]))[:most]
    return [path[place] for place in sorted(worst)]


def _panel(title: str, point: Point, path: list[Mapping[str, Any]]) -> BarPanel:
    names = [str(link["flow"]) for link in path if "flow" in link]
    flows = told(point.flows)
    flows = flows.filter(flows["name"].is_in(names))
    known = {str(flow["name"]): flow for flow in flows.iter_rows(named=True)}
    rows = tuple(_row(link, known.get(str(link.get("flow")))) for link in path)
    start, end = float(path[0]["start_s"]), float(path[-1]["finish_s"])
    axis = linear_axis("time", "time", [start, end], zero=False, tight=True)
    return BarPanel(title, Axis(axis.label, axis.quantity, min(start, axis.low), max(end, axis.high)), rows)


def _row(link: Mapping[str, Any], flow: Mapping[str, Any] | None) -> BarRow:
    start, end = float(link["start_s"]), float(link["finish_s"])
    lines = [
        f"{display('time', end - start)} from {display('time', start)} to {display('time', end)}",
        f"{display('time', float(link['excess_s']))} longer than alone",
    ]
    if "flow" not in link:
        host = link.get("host")
        where = "" if host is None else f" h{host}"
        return BarRow(f"{link['step']}{where}", (Bar(STEP, start, end),), tuple(lines))
    name = f"{link['flow']} h{link['src']} → h{link['dst']}"
    if flow is None:
        return BarRow(name, (Bar(FLOW, start, end),), tuple(lines))
    if flow["held_by"]:
        name += f", {arrow(flow['held_by'])}"
        lines.append(f"held longest by {flow['held_by']}, {display('time', flow['held_s'])}")
    return stacked(name, {cause: flow[cause] for cause in CAUSES}, start=start, more=lines)


KIND = FigureKind("the chain of flows and steps that bound the end of a job", critical_path)
