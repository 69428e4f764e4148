"""Mean, median and 99th percentile of slowdown against flow size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.data.later import np, pl
from headway.data.point import Point
from headway.data.samples import Array, by_size, equal_count_edges
from headway.data.statistics import over_seeds

from ..distributions import P99_NEEDS, few_flows, tail_name
from ..metrics import above
from ..picks import Pick, about, others, readable, unread
from ..spec import Curve, Figure, Panel
from ..study import Facet, Study, variant_key
from ..summaries import least_of
from ..ticks import log_axis, slowdown_axis
from .kind import FigureKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOWS_PER_BIN = 50


BINS = 20


def slowdown_size(study: Study) -> Figure:
    """Mean, median and 99th percentile of slowdown in equal-count bins of flow size."""
    figure_id, title = "slowdown-size", "Slowdown by flow size"
    if reason := few_flows(study):
        return Figure(figure_id, title, absent=reason)
    panels: list[Panel] = []
    counts: list[int] = []
    for facet in study.facets:
        panels += _size_panels(study, facet, Pick(), counts)
    more: list[Panel] = []
    if readable(study):
        for facet in study.facets:
            for pick in others(study, facet):
                more += _size_panels(study, facet, pick, [])
    facet = study.facets[0]
    each = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
    caption = (
        f"Slowdown is FCT over ideal FCT. Equal-count bins of size, the same for every variant, {each} flows each and "
        "seed, drawn at the largest size in the bin."
    )
    if len(study.seeds) > 1:
        caption += f" Mean over {len(study.seeds)} seeds, the band is its 95 % confidence interval."
    caption += f" Flows that count{study.at_text(facet)}." if study.x_key else ""
    if min(counts) < P99_NEEDS:
        caption += f" The 99th percentile of fewer than {P99_NEEDS} flows is the largest of them."
    caption += unread(study)
    return Figure(figure_id, title, caption, tuple(panels), 3, study.legend(), more=tuple(more))


def _size_panels(study: Study, facet: Facet, pick: Pick, counts: list[int]) -> list[Panel]:
    groups = {v: [p for p in pick.points(study, v, facet) if p.counted_flows.height] for v in study.variants}
    groups = {variant: points for variant, points in groups.items() if points}
    if not groups:
        return []
    sizes = np.concatenate([_column(p, "bytes") for points in groups.values() for p in points])
    fewest = min(p.counted_flows.height for points in groups.values() for p in points)
    edges = equal_count_edges(sizes, max(4, min(BINS, fewest // FLOWS_PER_BIN)))
    least = least_of("slowdown_mean")
    lines: dict[str, list[Curve]] = {"mean": [], "p50": [], "p99": []}
    here: list[int] = []
    for variant, points in groups.items():
        binned = [by_size(_column(p, "bytes"), _column(p, "slowdown"), edges, _open(p)) for p in points]
        here += [int(c) for bins in binned for c in bins.count if c]
        for name, parts in lines.items():
            found = [over_seeds([getattr(bins, name)[i] for bins in binned]) for i in range(len(edges))]
            kept = [(float(edges[i]), e) for i, e in enumerate(found) if e is not None]
            band = any(e.half_width is not None for _, e in kept)
            low = tuple(above(e.mean, e.half_width or 0.0, least) for _, e in kept) if band else None
            high = tuple(e.mean + (e.half_width or 0.0) for _, e in kept) if band else None
            means = tuple(e.mean for _, e in kept)
            parts.append(Curve(variant_key(variant), tuple(s for s, _ in kept), means, low, high, markers=True))
    counts += here
    x = log_axis("flow size", "bytes", [float(edge) for edge in edges])
    panels = []
    for name, parts in lines.items():
        label = {"mean": "mean slowdown", "p50": "median slowdown", "p99": "p99 slowdown"}[name]
        told = tail_name(label, here)
        y = slowdown_axis((v for line in parts for v in (line.high or line.y)), told)
        title = facet.prefix(told)
        panels.append(Panel(title, x, y, tuple(parts), about=about(study, facet, pick)))
    return panels


def _column(point: Point, name: str) -> Array:
    return np.asarray(point.counted_flows[name].cast(pl.Float64).to_numpy(), dtype=np.float64)


def _open(point: Point) -> NDArray[np.bool_]:
    return np.asarray(point.counted_flows["is_open"].to_numpy(), dtype=bool)


KIND = FigureKind("slowdown in bins of flow size", lambda study: slowdown_size(study.split))
