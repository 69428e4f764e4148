"""Numbers of each variant over those of a baseline with the same seed: the ratio and its interval."""

from __future__ import annotations

from dataclasses import replace

from headway.data.point import Point
from headway.data.statistics import Ratio, ratio_over_seeds

from ..distributions import few_flows, tail_name
from ..metrics import metrics_of, number_of, of_enough, owner, without
from ..picks import Pick, about, numbered, others, runs_of
from ..spec import About, Curve, Dot, DotPanel, DotRow, Figure, Panel, Reference
from ..study import Facet, Study, short_axis, variant_key
from ..summaries import summary_label
from ..ticks import log_axis
from .fct_load import study_axis
from .kind import FigureKind, several_variants
from .paired import baseline_of

# Numbers that are shown unless `[report] y` says otherwise.
USUAL = ("slowdown_p50", "slowdown_p99")
# Smallest range of an axis, so that a small difference does not look like a large one.
LEAST = (0.9, 1.1)


def ratios(study: Study) -> Figure:
    """A panel a metric and facet: a line a variant against the swept key, or else a row a variant."""
    figure_id, title = "ratios", "Ratios to a baseline"
    if len(study.variants) < 2:
        return Figure(figure_id, title, absent="there is one variant, and so nothing to compare it with")
    maker = _Maker(study)
    first = baseline_of(study)
    panels = maker.panels(first, Pick())
    if not panels:
        return Figure(
            figure_id,
            title,
            absent=study.unmeasured or few_flows(study) or "no two variants have finished flows of the same seed",
        )
    more = [panel for other in study.variants if other != first for panel in maker.panels(other, Pick())]
    for facet in study.facets:
        for pick in others(study, facet, x=False, sized=True):
            more += maker.of_facet(first, facet, pick)
    seeds = len(study.seeds)
    caption = (
        "Each number over that of the baseline with the same seed, and so with the same flows; below 1 it is lower"
        " than the baseline's."
    )
    if seeds > 1:
        caption += (
            f" Geometric mean over {seeds} seeds, with Student's 95 % interval of the logarithms: where it does not"
            " reach 1, the difference is more than chance."
        )
    else:
        caption += " One seed, so no interval: more seeds would say how much other arrivals change."
    drawn = {curve.key for panel in (*panels, *more) if isinstance(panel, Panel) for curve in panel.series}
    legend = tuple(entry for entry in study.legend() if entry.key in drawn)
    columns = 1 if len(panels) == 1 else 2
    return Figure(figure_id, title, caption + without(study), tuple(panels), columns, legend, more=tuple(more))


class _Maker:
    """Panels of a study."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._numbers = numbered(study)
        self._metrics = metrics_of(study, of_enough(study, USUAL))

    def panels(self, baseline: str, pick: Pick) -> list[Panel | DotPanel]:
        """Panels of all facets that have something to show."""
        return [panel for facet in self._study.facets for panel in self.of_facet(baseline, facet, pick)]

    def of_facet(self, baseline: str, facet: Facet, pick: Pick) -> list[Panel | DotPanel]:
        """A panel a metric."""
        found: list[Panel | DotPanel] = []
        for metric in self._metrics:
            # A number of links exists once for the whole run, whichever the baseline is.
            study = owner(self._study, metric)
            if baseline not in study.variants:
                continue
            of = (*about(study, facet, pick, x=False, sized=True), ("baseline", baseline))
            swept = study.x_key is not None and len(study.xs(facet)) > 1
            panel: Panel | DotPanel
            if swept:
                panel = self._over_x(study, facet, metric, baseline, pick, of)
                if panel.series:
                    found.append(panel)
                continue
            panel = self._dots(study, facet, metric, baseline, pick, of)
            if len(panel.rows) > 1:
                found.append(panel)
        return found

    def _over_x(self, study: Study, facet: Facet, metric: str, baseline: str, pick: Pick, of: About) -> Panel:
        curves: list[Curve] = []
        counts: list[float | None] = []
        for variant in study.variants:
            rows = []
            for x in study.xs(facet):
                at = replace(pick, x=x)
                points = at.points(study, variant, facet)
                counts += _counts(points, pick)
                if variant != baseline and (ratio := _ratio(points, at.points(study, baseline, facet), metric, pick)):
                    low, high = ratio.interval or (ratio.mean, ratio.mean)
                    rows.append((x, ratio.mean, low, high, runs_of(self._numbers, points)))
            if rows:
                xs, means, lows, highs, runs = (tuple(column) for column in zip(*rows, strict=True))
                least, most = (lows, highs) if lows != highs else (None, None)
                curves.append(Curve(variant_key(variant), xs, means, least, most, markers=True, runs=runs))
        told = tail_name(summary_label(metric)[0], counts)
        values = [v for curve in curves for v in (*(curve.low or ()), *curve.y, *(curve.high or ()))]
        name = short_axis(study.x_key or "")
        return Panel(
            facet.prefix(f"{told} ÷ {baseline}"),
            study_axis(name, study.x_quantity, study.xs(facet)),
            log_axis(f"{told} ÷ {baseline}", "ratio", [*LEAST, *values]),
            tuple(curves),
            references=(Reference(1.0, f"{baseline} = 1"),),
            direct_labels=True,
            about=of,
        )

    def _dots(self, study: Study, facet: Facet, metric: str, baseline: str, pick: Pick, of: About) -> DotPanel:
        rows: list[DotRow] = []
        counts: list[float | None] = []
        values: list[float] = []
        theirs = pick.points(study, baseline, facet)
        for variant in study.variants:
            points = pick.points(study, variant, facet)
            counts += _counts(points, pick)
            if variant == baseline:
                rows.append(DotRow(variant, (Dot(variant_key(variant), 1.0, None, None, "the baseline"),)))
            elif ratio := _ratio(points, theirs, metric, pick):
                low, high = ratio.interval or (None, None)
                values += [ratio.mean, *(ratio.interval or ())]
                rows.append(DotRow(variant, (Dot(variant_key(variant), ratio.mean, low, high, _detail(ratio)),)))
        told = tail_name(summary_label(metric)[0], counts)
        title = f"{told} ÷ {baseline}"
        axis = log_axis(title, "ratio", [*LEAST, *values])
        return DotPanel(facet.prefix(title), axis, tuple(rows), of, reference=1.0)


def _counts(points: list[Point], pick: Pick) -> list[float | None]:
    """Of how many flows the numbers of runs are."""
    return [number_of(point, "flows_measured" if pick.band is None else "count", pick.band) for point in points]


def _ratio(ours: list[Point], theirs: list[Point], metric: str, pick: Pick) -> Ratio | None:
    """Over the seeds that both have."""
    before = {point.seed: number_of(point, metric, pick.band) for point in theirs}
    return ratio_over_seeds([(number_of(point, metric, pick.band), before.get(point.seed)) for point in ours])


def _detail(ratio: Ratio) -> str:
    if ratio.interval is None:
        return f"{ratio.mean:.3f}"
    return f"{ratio.mean:.3f} ({ratio.interval[0]:.3f} to {ratio.interval[1]:.3f})"


KIND = FigureKind(
    "numbers of the summary (`y`) of each variant over those of a baseline, paired by seed",
    ratios,
    needs=(several_variants,),
    uses=("y", "baseline"),
)
