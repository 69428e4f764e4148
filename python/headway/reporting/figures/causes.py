"""Completion time of flows by cause: queues, waiting for permission, retransmission and so on."""

from __future__ import annotations

from headway.data.later import pl
from headway.data.point import Point

from ..causes import ABSENT, CAUSES, legend, shares, stacked, sums, told, what_is_meant
from ..distributions import in_band
from ..picks import bands
from ..spec import Axis, BarPanel, BarRow, Figure
from ..study import Facet, Study
from ..ticks import linear_axis
from .kind import FigureKind, told_causes

# With so many flows each has a bar of its own.
FLOWS_SHOWN = 16


def causes(study: Study) -> Figure:
    """A panel a facet and variant: a bar for each flow, or for each band of sizes."""
    figure_id, title = "causes", "Time by cause"
    panels: list[BarPanel] = []
    single = True
    for facet in study.facets:
        for variant in study.variants:
            flows = _flows(study.group(variant, facet))
            if flows.is_empty():
                continue
            named = facet.prefix(variant) if len(study.variants) > 1 or facet.key else ""
            if flows.height <= FLOWS_SHOWN and len(study.seeds) == 1:
                panels.append(_by_flow(named, flows))
            else:
                single = False
                panels.append(_by_size(named, flows))
    if not panels:
        return Figure(figure_id, title, absent=ABSENT)
    caption = (
        "Until the packet left that completed the flow, parts say what the link of the sender was doing for it; from "
        "there on, what became of that packet. The parts of a flow add up to its FCT."
    )
    if not single:
        caption += " Bars are shares of the time of all flows of a size together."
    caption += _pooled(study, study.facets[0])
    caption += what_is_meant(bar.key for panel in panels for row in panel.rows for bar in row.bars)
    shown = [c for c in CAUSES if any(bar.key.endswith(c) for p in panels for row in p.rows for bar in row.bars)]
    return Figure(figure_id, title, caption, tuple(panels), 1 if len(panels) == 1 else 2, legend(shown))


def _pooled(study: Study, facet: Facet) -> str:
    seeds = f" All {len(study.seeds)} seeds together{study.at_text(facet)}." if len(study.seeds) > 1 else ""
    return seeds or (f" Shown{study.at_text(facet)}." if study.x_key else "")


def _flows(points: list[Point]) -> pl.DataFrame:
    """The measured flows of runs whose time is known by cause."""
    frames = [told(point.measured_flows) for point in points]
    return pl.concat(frames) if frames else pl.DataFrame()


def _by_flow(title: str, flows: pl.DataFrame) -> BarPanel:
    rows = []
    for flow in flows.iter_rows(named=True):
        ends = f"h{flow['src']} → h{flow['dst']}"
        held = [f"held longest by {flow['held_by']}"] if flow["held_by"] else []
        rows.append(stacked(f"{flow['name']} {ends}", {c: flow[c] for c in CAUSES}, more=held))
    longest = float(flows.select(pl.max("fct_s")).item())
    return BarPanel(title, linear_axis("time since the start of the flow", "time", [longest], tight=True), tuple(rows))


def _by_size(title: str, flows: pl.DataFrame) -> BarPanel:
    rows: list[BarRow] = []
    for band in bands():
        own = in_band(flows, band)
        if own.height:
            rows.append(shares(f"{band.name} ({own.height})", sums(own), [f"{own.height} flows"]))
    rows.append(shares(f"all ({flows.height})", sums(flows), [f"{flows.height} flows"]))
    return BarPanel(title, Axis("share of completion time", "percent", 0.0, 1.0), tuple(rows))


KIND = FigureKind(
    "where the completion time of flows went, by cause", lambda study: causes(study.split), needs=(told_causes,)
)
