"""The same flows under several variants: the time of each over its time under a baseline."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.data.later import np, pl
from headway.data.point import Point
from headway.data.samples import Array, equal_count_edges
from headway.data.statistics import Estimate, estimate

from ..distributions import few_flows
from ..picks import Pick, about, numbered, others, readable, runs_of, unread
from ..spec import About, Axis, Curve, Figure, Panel, Reference
from ..study import Facet, Study, short_axis, variant_key
from ..ticks import log_axis
from .fct_load import study_axis
from .kind import FigureKind, several_variants

FIGURE_ID, TITLE = "paired", "The same flows, compared"
SAME = ("src", "dst", "bytes", "start_s")
# Pairs that a ratio needs, so that its interval says anything.
PAIRS_NEEDED = 5
PAIRS_PER_BIN = 50
MOST_BINS = 8


@dataclass(frozen=True)
class Pairs:
    """Flows that ended in both runs: their sizes, and the logarithm of the ratio of their completion times."""

    point: Point
    bytes: Array
    logs: Array

    def within(self, low: float, high: float) -> Array:
        """Of the flows above `low` and up to `high` bytes."""
        return self.logs[(self.bytes > low) & (self.bytes <= high)]


def paired(study: Study) -> Figure:
    """The geometric mean of the ratios, against the load and against flow size."""
    if len(study.variants) < 2:
        return Figure(FIGURE_ID, TITLE, absent="there is one variant, and so nothing to compare it with")
    baseline = baseline_of(study)
    maker = _Maker(study)
    panels = maker.panels(baseline, Pick())
    if not study.unmeasured and (few := few_flows(study)):
        return Figure(FIGURE_ID, TITLE, absent=few)
    if not panels:
        return Figure(FIGURE_ID, TITLE, absent=_why_not(study, baseline))
    more: list[Panel] = []
    if readable(study):
        for other in study.variants:
            if other != baseline:
                more += maker.panels(other, Pick())
        facet = study.facets[0]
        for pick in others(study, facet, sized=True):
            more += maker.panels(baseline, pick)
    drawn = {curve.key for panel in (*panels, *more) for curve in panel.series}
    legend = tuple(entry for entry in study.legend() if entry.key in drawn)
    seeds = len(study.seeds)
    caption = (
        "Completion time of a flow over that of the same flow (source, destination, size and start) under the "
        "baseline: the geometric mean of these ratios. Below 1 a variant is faster. Only flows that ended under both. "
    )
    if seeds > 1:
        caption += f"The band is the 95 % confidence interval over {seeds} seeds."
    else:
        caption += (
            "The band is the 95 % confidence interval over the flows of one run: it does not say how much other "
            "arrivals would change; more seeds do."
        )
    caption += unread(study)
    return Figure(FIGURE_ID, TITLE, caption, tuple(panels), 2, legend, more=tuple(more))


def baseline_of(study: Study) -> str:
    """The variant that `[report] baseline` names, else the first variant."""
    wanted = study.results.report.get("baseline")
    return str(wanted) if wanted in study.variants else study.variants[0]


def _why_not(study: Study, baseline: str) -> str:
    if study.unmeasured:
        return study.unmeasured
    for facet in study.facets:
        for variant in study.variants:
            for ours, theirs in _both(study, variant, baseline, facet, Pick()):
                if variant != baseline and _same_flows(ours, theirs):
                    return f"fewer than {PAIRS_NEEDED} flows ended under both of two variants"
    return "no two variants have the same flows"


class _Maker:
    """Panels of a study; the pairs of two runs are made once."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._numbers = numbered(study)
        self._pairs: dict[tuple[int, int], Pairs | None] = {}

    def panels(self, baseline: str, pick: Pick) -> list[Panel]:
        found = []
        for facet in self._study.facets:
            if self._study.x_key and pick.x is None and len(self._study.xs(facet)) > 1:
                found += self._over_x(facet, baseline, pick)
            if pick.band is None:
                found += self._over_size(facet, baseline, pick)
        return found

    def _over_x(self, facet: Facet, baseline: str, pick: Pick) -> list[Panel]:
        study, curves = self._study, []
        low, high = (pick.band.above, pick.band.upto) if pick.band else (0.0, math.inf)
        for variant in study.variants:
            rows = []
            for x in study.xs(facet):
                pairs = self._of(variant, baseline, facet, Pick(x, pick.seed))
                if ratio := ratio_of([one.within(low, high) for one in pairs]):
                    rows.append((x, *ratio, runs_of(self._numbers, [one.point for one in pairs])))
            if rows and variant != baseline:
                xs, means, lows, highs, runs = (tuple(column) for column in zip(*rows, strict=True))
                curves.append(Curve(variant_key(variant), xs, means, lows, highs, markers=True, runs=runs))
        if not curves:
            return []
        name = short_axis(study.x_key or "")
        axis = study_axis(name, study.x_quantity, study.xs(facet))
        of = about(study, facet, pick, x=False, sized=True)
        return [self._panel(facet, f"FCT ÷ {baseline}, all sizes", axis, curves, baseline, of)]

    def _over_size(self, facet: Facet, baseline: str, pick: Pick) -> list[Panel]:
        study = self._study
        of_variant = {v: self._of(v, baseline, facet, pick) for v in study.variants if v != baseline}
        of_variant = {variant: pairs for variant, pairs in of_variant.items() if pairs}
        if not of_variant:
            return []
        everyone = [one for pairs in of_variant.values() for one in pairs]
        sizes = np.concatenate([one.bytes for one in everyone])
        fewest = min(len(one.logs) for one in everyone)
        if not sizes.size:
            return []
        edges = equal_count_edges(sizes, max(1, min(MOST_BINS, fewest // PAIRS_PER_BIN)))
        bounds = [0.0, *[float(edge) for edge in edges]]
        curves = []
        for variant, pairs in of_variant.items():
            rows = []
            for low, high in itertools.pairwise(bounds):
                if ratio := ratio_of([one.within(low, high) for one in pairs]):
                    rows.append((high, *ratio))
            if rows:
                xs, means, lows, highs = (tuple(column) for column in zip(*rows, strict=True))
                curves.append(Curve(variant_key(variant), xs, means, lows, highs, markers=True))
        if not curves:
            return []
        axis = log_axis("flow size, up to", "bytes", [x for curve in curves for x in curve.x])
        of = about(study, facet, pick)
        where = study.at_text(facet) if pick.x is None else f" at {short_axis(study.x_key or '')} {pick.x:g}"
        return [self._panel(facet, f"FCT ÷ {baseline}, by size{where}", axis, curves, baseline, of)]

    def _panel(self, facet: Facet, title: str, x: Axis, curves: Sequence[Curve], baseline: str, of: About) -> Panel:
        y = ratio_axis(v for curve in curves for v in (*(curve.low or ()), *curve.y, *(curve.high or ())))
        reference = (Reference(1.0, f"{baseline} = 1"),)
        of = (*of, ("baseline", baseline))
        return Panel(facet.prefix(title), x, y, tuple(curves), references=reference, direct_labels=True, about=of)

    def _of(self, variant: str, baseline: str, facet: Facet, pick: Pick) -> list[Pairs]:
        """The pairs of each seed that both have."""
        both = _both(self._study, variant, baseline, facet, pick)
        return [pairs for ours, theirs in both if (pairs := self._made(ours, theirs)) is not None]

    def _made(self, ours: Point, theirs: Point) -> Pairs | None:
        key = (id(ours), id(theirs))
        if key not in self._pairs:
            self._pairs[key] = _pair(ours, theirs) if _same_flows(ours, theirs) else None
        return self._pairs[key]


def _both(study: Study, variant: str, baseline: str, facet: Facet, pick: Pick) -> Iterable[tuple[Point, Point]]:
    theirs = {point.seed: point for point in pick.points(study, baseline, facet)}
    ours = pick.points(study, variant, facet)
    return [(point, theirs[point.seed]) for point in ours if point.seed in theirs]


def _same_flows(ours: Point, theirs: Point) -> bool:
    """True if the lists of flows are the same, flow by flow."""
    return ours.flows.height == theirs.flows.height and bool(ours.flows.select(SAME).equals(theirs.flows.select(SAME)))


def _pair(ours: Point, theirs: Point) -> Pairs:
    """The flows that ended in both runs and started after the warm-up."""
    warmup = max(ours.run.warmup_s, theirs.run.warmup_s)
    columns = ours.flows.select("bytes", "start_s", pl.col("fct_s").alias("here"), pl.col("state"))
    columns = columns.with_columns(theirs.flows["fct_s"].alias("there"), theirs.flows["state"].alias("state_there"))
    kept = columns.filter(
        (pl.col("state") == "done") & (pl.col("state_there") == "done") & (pl.col("start_s") >= warmup)
    )
    logs = np.log(kept["here"].to_numpy() / kept["there"].to_numpy())
    return Pairs(ours, np.asarray(kept["bytes"].to_numpy(), dtype=np.float64), np.asarray(logs, dtype=np.float64))


def ratio_of(samples: Sequence[Array]) -> tuple[float, float, float] | None:
    """The geometric mean and the ends of its interval: over seeds where there are several, else over the flows.

    None where too few flows ended under both.
    """
    kept = [one for one in samples if one.size >= PAIRS_NEEDED]
    if not kept:
        return None
    found: Estimate = estimate([float(np.mean(one)) for one in kept] if len(kept) > 1 else kept[0].tolist())
    half = found.half_width or 0.0
    return math.exp(found.mean), math.exp(found.mean - half), math.exp(found.mean + half)


def ratio_axis(values: Iterable[float]) -> Axis:
    """Ratios have 1 in the middle of the thought: half as long and twice as long are equally far from it."""
    return log_axis("completion time ÷ baseline", "ratio", [0.9, 1.1, *values])


KIND = FigureKind(
    "completion times of the same flows over those under a baseline",
    paired,
    aliases=("ratio",),
    needs=(several_variants,),
    uses=("baseline",),
)
