"""Figures over flows: completion time against load, slowdown by size, distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from .load import Point
from .spec import Axis, Figure, Panel, Series
from .stats import Array, by_size, cdf, equal_count_edges, over_seeds
from .study import Facet, Study, short_axis, variant_key
from .ticks import auto_axis, log_axis, slowdown_axis

FLOWS_NEEDED = 20
FLOWS_PER_BIN = 50
BINS = 20
CDF_POINTS = 240
# Values of an axis that span this much or more are shown on a logarithmic one.
WIDE = 100

_SUMMARY_LABELS = {
    "fct_mean_s": ("mean FCT", "time"),
    "fct_p50_s": ("median FCT", "time"),
    "fct_p95_s": ("p95 FCT", "time"),
    "fct_p99_s": ("p99 FCT", "time"),
    "fct_max_s": ("longest FCT", "time"),
    "slowdown_mean": ("mean slowdown", "ratio"),
    "slowdown_p50": ("median slowdown", "ratio"),
    "slowdown_p95": ("p95 slowdown", "ratio"),
    "slowdown_p99": ("p99 slowdown", "ratio"),
    "slowdown_max": ("largest slowdown", "ratio"),
    "bottleneck_utilisation": ("bottleneck utilisation", "percent"),
    "link_utilisation": ("link utilisation", "percent"),
    "queue_max_bytes": ("largest queue", "bytes"),
    "queue_max_packets": ("largest queue (packets)", "count"),
    "retransmitted_bytes": ("retransmitted", "bytes"),
    "flows_done": ("flows done", "count"),
    "flows_unfinished": ("unfinished", "count"),
    "flows_failed": ("failed", "count"),
    "flows_measured": ("flows measured", "count"),
    "jain": ("Jain index", "ratio"),
    "deadline_missed_fraction": ("deadlines missed", "percent"),
    "drops": ("drops", "count"),
    "data_drops": ("data drops", "count"),
    "trims": ("trims", "count"),
    "marks": ("marks", "count"),
    "goodput_share": ("share of the goodput", "percent"),
    "delivered_bytes": ("delivered", "bytes"),
}


def number(value: object) -> float | None:
    """A finite number out of a summary, or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def summary_label(key: str) -> tuple[str, str]:
    """What a key of summary.json is called, and its quantity."""
    if key.startswith("gauges."):
        _, name, part = key.split(".")
        words = name.replace("_", " ")
        quantity = "bytes" if name.endswith("_bytes") else "count"
        return words.removesuffix(" bytes") + f", {part}", quantity
    if key.startswith("round_trips."):
        part = key.removeprefix("round_trips.")
        return (f"round trip, {part.removesuffix('_s')}", "time") if part.endswith("_s") else ("round trips", "count")
    return _SUMMARY_LABELS.get(key, (key, "count"))


def summary_number(point: Point, key: str) -> float | None:
    """A number of a point's summary; `a.b` goes into `a`."""
    found: object = point.summary
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return number(found)


def _load_metrics(study: Study) -> list[str]:
    wanted = study.results.report.get("y")
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, list) else []
    points = (*study.points, *study.split.points)
    known = [str(n) for n in names if any(summary_number(p, str(n)) is not None for p in points)]
    return known or ["fct_mean_s", "fct_p99_s"]


def fct_load(study: Study) -> Figure:
    """A row a metric, a panel a facet, a line a variant, a band over seeds."""
    figure_id, title = "fct-load", "Flow completion time against load"
    if study.x_key is None:
        return Figure(figure_id, title, absent="nothing was swept whose values are all numbers of one kind")
    name = short_axis(study.x_key)
    metrics = _load_metrics(study)
    if name != "load" or metrics != ["fct_mean_s", "fct_p99_s"]:
        labels = [summary_label(m)[0] for m in metrics]
        title = f"{', '.join(labels)} against {name}"
        title = title[0].upper() + title[1:]
    panels: list[Panel] = []
    for facet in study.facets:
        for metric in metrics:
            panels.append(_load_panel(_owner(study, metric), facet, metric, name))
    if not any(len(panel.series) for panel in panels):
        return Figure(figure_id, title, absent="no point of the sweep finished a flow")
    seeds = len(study.seeds)
    band = (
        f"Mean over {seeds} seeds; the band is its 95 % confidence interval." if seeds > 1 else "One seed, so no band."
    )
    caption = (
        f"{band} Finished flows after the warm-up; unfinished ones are listed below. Each panel has its own y axis."
    )
    drawn = {series.key for panel in panels for series in panel.series}
    owners = (study.split, study) if study.is_mixed else (study,)
    legend = [entry for owner in owners for entry in owner.legend() if entry.key in drawn]
    return Figure(figure_id, title, caption, tuple(panels), 2, tuple(legend))


def _owner(study: Study, metric: str) -> Study:
    """Whose a number is: each transport's where a run has several, or the run's where it is of links."""
    of_parts = any(summary_number(p, metric) is not None for point in study.points for p in point.parts)
    return study.split if of_parts else study


def _study_axis(name: str, quantity: str, xs: Sequence[float]) -> Axis:
    """The values that a sweep goes through: all of them marked, or logarithmic where they span decades."""
    if xs[0] > 0 and xs[-1] >= WIDE * xs[0]:
        return log_axis(name, quantity, xs)
    span = (xs[-1] - xs[0]) or 1.0
    marks = tuple(xs) if len(xs) <= 10 else ()
    return Axis(name, quantity, xs[0] - 0.04 * span, xs[-1] + 0.04 * span, marks=marks)


def _load_panel(study: Study, facet: Facet, metric: str, name: str) -> Panel:
    label, quantity = summary_label(metric)
    series: list[Series] = []
    for variant in study.variants:
        rows = []
        for x in study.xs(facet):
            found = over_seeds([summary_number(p, metric) for p in study.group(variant, facet, x)])
            if found:
                half = found.half or 0.0
                rows.append((x, found.mean, max(found.mean - half, 0.0), found.mean + half))
        if rows:
            xs, means, lows, highs = (tuple(column) for column in zip(*rows, strict=True))
            banded = lows != highs
            key = variant_key(variant)
            series.append(Series(key, xs, means, lows if banded else None, highs if banded else None, markers=True))
    x_axis = _study_axis(name, study.x_quantity, study.xs(facet))
    tops = [v for line in series for v in (line.high or line.y)]
    y_axis = auto_axis(label, quantity, [v for line in series for v in line.y] + tops)
    if metric == "goodput_share":
        # Parts of one whole are compared from nothing to all of it.
        y_axis = Axis(label, quantity, 0.0, 1.0)
    return Panel(facet.prefix(label), x_axis, y_axis, tuple(series), direct_labels=True)


def _pooled(points: Sequence[Point], column: str) -> Array:
    frames = [point.measured_flows.select(pl.col(column).cast(pl.Float64)) for point in points]
    values = pl.concat(frames)[column].to_numpy() if frames else np.empty(0)
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)


def _few_flows(study: Study) -> str | None:
    most = max((_pooled(study.group(v, f), "bytes").size for f in study.facets for v in study.variants), default=0)
    if most >= FLOWS_NEEDED:
        return None
    return f"{most} finished flows a variant; a distribution needs at least {FLOWS_NEEDED} (see the table of flows)"


def slowdown_size(study: Study) -> Figure:
    """Mean, median and 99th percentile of slowdown in equal-count bins of flow size."""
    figure_id, title = "slowdown-size", "Slowdown by flow size"
    if reason := _few_flows(study):
        return Figure(figure_id, title, absent=reason)
    panels: list[Panel] = []
    counts: list[int] = []
    for facet in study.facets:
        panels += _size_panels(study, facet, counts)
    facet = study.facets[0]
    each = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
    caption = (
        f"Slowdown is FCT over ideal FCT. Equal-count bins of size, the same for every variant, {each} flows each and "
        "seed, drawn at the largest size in the bin."
    )
    if len(study.seeds) > 1:
        caption += f" Mean over {len(study.seeds)} seeds, the band is its 95 % confidence interval."
    caption += f" Finished flows{study.at_text(facet)}." if study.x_key else ""
    return Figure(figure_id, title, caption, tuple(panels), 3, study.legend())


def _size_panels(study: Study, facet: Facet, counts: list[int]) -> list[Panel]:
    groups = {v: [p for p in study.group(v, facet) if p.measured_flows.height] for v in study.variants}
    groups = {variant: points for variant, points in groups.items() if points}
    if not groups:
        return []
    sizes = np.concatenate([_pooled(points, "bytes") for points in groups.values()])
    fewest = min(p.measured_flows.height for points in groups.values() for p in points)
    edges = equal_count_edges(sizes, max(4, min(BINS, fewest // FLOWS_PER_BIN)))
    lines: dict[str, list[Series]] = {"mean": [], "p50": [], "p99": []}
    for variant, points in groups.items():
        binned = [by_size(_column(p, "bytes"), _column(p, "slowdown"), edges) for p in points]
        counts += [int(c) for bins in binned for c in bins.count if c]
        for name, parts in lines.items():
            found = [over_seeds([float(getattr(bins, name)[i]) for bins in binned]) for i in range(len(edges))]
            kept = [(float(edges[i]), e) for i, e in enumerate(found) if e is not None]
            band = any(e.half is not None for _, e in kept)
            low = tuple(max(e.mean - (e.half or 0.0), 1e-9) for _, e in kept) if band else None
            high = tuple(e.mean + (e.half or 0.0) for _, e in kept) if band else None
            means = tuple(e.mean for _, e in kept)
            parts.append(Series(variant_key(variant), tuple(s for s, _ in kept), means, low, high, markers=True))
    x = log_axis("flow size", "bytes", [float(edge) for edge in edges])
    panels = []
    for name, parts in lines.items():
        label = {"mean": "mean slowdown", "p50": "median slowdown", "p99": "p99 slowdown"}[name]
        y = slowdown_axis((v for line in parts for v in (line.high or line.y)), label)
        panels.append(Panel(facet.prefix(label), x, y, tuple(parts)))
    return panels


def _column(point: Point, name: str) -> Array:
    return np.asarray(point.measured_flows[name].cast(pl.Float64).to_numpy(), dtype=np.float64)


def distributions(study: Study) -> Figure:
    """Empirical distributions of completion time and slowdown, a row a facet, a line a variant."""
    figure_id, title = "cdf", "Distribution of FCT and of slowdown"
    if reason := _few_flows(study):
        return Figure(figure_id, title, absent=reason)
    panels: list[Panel] = []
    thinned = False
    for facet in study.facets:
        for column, name in (("fct_s", "FCT"), ("slowdown", "slowdown")):
            values = {v: _pooled(study.group(v, facet), column) for v in study.variants}
            panels.append(_cdf_panel(values, facet.prefix(name), column))
            thinned |= any(found.size > CDF_POINTS for found in values.values())
    caption = "Share of finished flows at or below x"
    caption += f", all seeds pooled{study.at_text(study.facets[0])}." if len(study.seeds) > 1 else "."
    if thinned:
        caption += f" Drawn through {CDF_POINTS} order statistics, denser above the 95th percentile."
    return Figure(figure_id, title, caption, tuple(panels), 2, study.legend())


def _cdf_panel(values: Mapping[str, Array], title: str, column: str) -> Panel:
    series, ends = [], []
    for variant, found in values.items():
        if found.size:
            x, share = cdf(found, CDF_POINTS)
            ends += [float(x[0]), float(x[-1])]
            xs, shares = tuple(float(v) for v in x), tuple(float(v) for v in share)
            series.append(Series(variant_key(variant), xs, shares, step=True))
    x_axis = slowdown_axis(ends) if column == "slowdown" else log_axis("flow completion time", "time", ends)
    return Panel(title, x_axis, Axis("share of flows", "percent", 0.0, 1.0), tuple(series))
