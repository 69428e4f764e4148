"""Figures of runs and sweeps as matplotlib objects, and cards for notebooks: the report's figures in its colours."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.data.point import Point
from headway.data.run import Run
from headway.data.sweep import Sweep
from headway.errors import HeadwayError, NameNotFound
from headway.reporting.load import Results
from headway.reporting.look import Look
from headway.reporting.spec import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from headway.reporting.assemble import Report
    from headway.reporting.spec import Figure
    from headway.reporting.study import Study

# Figures for a card, in the order of preference.
CARDS = ("fct-load", "throughput-time", "cdf", "queue-time", "link-utilisation", "model")
# A card of a large sweep would read the flows of every run.
MOST_READ = 20


@dataclass(frozen=True)
class _Asked(Results):
    """Results with another `[report]` table than that of the scenario."""

    wanted: Mapping[str, Any] | None = None

    @property
    def report(self) -> Mapping[str, Any]:
        """The table."""
        return super().report if self.wanted is None else self.wanted


class Plots:
    """The figures of a run or a sweep; each method gives a `matplotlib.figure.Figure`, which a notebook shows.

    >>> run.plot.fct_cdf()
    >>> sweep.plot.fct_load(y="fct_p99_s").savefig("p99.pdf")

    Raises `HeadwayError` with the reason where there is nothing to draw.
    """

    def __init__(self, points: Sequence[Point], directory: Path | None) -> None:
        self._points = tuple(points)
        self._directory = directory

    def topology(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """The network as drawn."""
        return self.figure("topology", **look)

    def throughput_time(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Throughput of the sampled flows."""
        return self.figure("throughput-time", **look)

    def probes(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Probes of transports for the sampled flows."""
        return self.figure("probes", **look)

    def utilisation_time(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Utilisation of the sampled links."""
        return self.figure("utilisation-time", **look)

    def queue_time(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Queues of the sampled links."""
        return self.figure("queue-time", **look)

    def numbers(self, *, y: str | Sequence[str] | None = None, **look: Any) -> Canvas:  # noqa: ANN401
        """Numbers of the summary of each variant: a dot and its 95 % confidence interval over seeds.

        y: numbers of `summary.json` (default: those of the scenario's report, else mean and p99 of slowdowns)
        """
        return self.figure("numbers", **look, **({} if y is None else {"y": y}))

    def ratios(
        self,
        *,
        y: str | Sequence[str] | None = None,
        baseline: str | None = None,
        **look: Any,  # noqa: ANN401
    ) -> Canvas:
        """Numbers of the summary of each variant over those of a baseline, paired by seed, with 95 % intervals.

        y: numbers of `summary.json` (default: those of the scenario's report, else median and p99 of slowdowns)
        baseline: a variant (default: that of the scenario's report, else the first)
        """
        wanted = {key: value for key, value in (("y", y), ("baseline", baseline)) if value is not None}
        return self.figure("ratios", **wanted, **look)

    def heat_map(self, *, y: str | Sequence[str] | None = None, **look: Any) -> Canvas:  # noqa: ANN401
        """A number over two swept keys, with the best cell and the cells that are not apart from it.

        y: numbers of `summary.json` (default: those of the scenario's report, else the mean completion time)
        """
        return self.figure("heat-map", **({} if y is None else {"y": y}), **look)

    def frontier(self, *, y: str | Sequence[str] | None = None, **look: Any) -> Canvas:  # noqa: ANN401
        """Two numbers of each variant against each other, and a line through those that nothing beats in both.

        y: the two numbers (default: the 99th percentile of calls, and the goodput)
        """
        return self.figure("frontier", **({} if y is None else {"y": y}), **look)

    def fct_load(
        self,
        *,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        **look: Any,  # noqa: ANN401
    ) -> Canvas:
        """Numbers of the summary against the swept key, with 95 % confidence intervals over seeds.

        x: a swept key, or its last part (default: the load if it varies, else the first number that varies)
        y: numbers of `summary.json` (default: those of the scenario's report, else `["fct_mean_s", "fct_p99_s"]`)
        """
        wanted = {key: value for key, value in (("x", x), ("y", y)) if value is not None}
        return self.figure("fct-load", **wanted, **look)

    def slowdown_size(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Slowdown in bins of flow size."""
        return self.figure("slowdown-size", **look)

    def cdf(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Distributions of completion time and of slowdown."""
        return self.figure("cdf", **look)

    def causes(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Completion time of flows by cause, for runs that sample `causes`."""
        return self.figure("causes", **look)

    def critical_path(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """The chain of flows and steps that bound the end of a job."""
        return self.figure("critical-path", **look)

    def fct_cdf(self) -> Canvas:
        """The distribution of completion time."""
        return self._distribution("flow completion time")

    def slowdown_cdf(self) -> Canvas:
        """The distribution of slowdown."""
        return self._distribution("slowdown")

    def paired(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Flows of each variant against the same flows of the baseline: ratios with their intervals."""
        return self.figure("paired", **look)

    def deadlines(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """Missed deadlines, and the time used of the time allowed."""
        return self.figure("deadlines", **look)

    def round_trips(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """The distribution of round trips, where the transport measures them."""
        return self.figure("round-trips", **look)

    def link_utilisation(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """The busy share of every link over the run."""
        return self.figure("link-utilisation", **look)

    def model(self, **look: Any) -> Canvas:  # noqa: ANN401  (keys of `figure`)
        """The scenario's closed-form model."""
        return self.figure("model", **look)

    def figure(self, name: str, **wanted: Any) -> Canvas:  # noqa: ANN401  (keys of a report table)
        """A figure by the name that `[report]` has for it; docs/scenario-format.md lists them.

        `wanted` are keys of the `[report]` table, such as `x` and `y`, and of how it looks: `width` and `height` in
        inches, `style` (names of matplotlib's, or a dict of rcParams), `font`, `variants`, `labels` (a dict), `xscale`,
        `yscale`, `xlim`, `ylim` in base units, `legend`. The rcParams of the program are respected.
        """
        from headway.reporting.figures import NAMES

        if name not in NAMES:
            raise NameNotFound("figure", name, NAMES, f"all figures: {', '.join(NAMES)}")
        look, keys = Look.of(wanted)
        plots = Plots(look.results(_results(self._points, self._directory, {})).points, self._directory)
        return _canvas(plots._study(keys), *plots._drawn(name, keys), look=look)

    def _distribution(self, axis: str) -> Canvas:
        """The panels of `cdf` over one axis."""
        figures, study = self._drawn("cdf", {}), self._study({})
        own = tuple(panel for panel in figures[0].panels if isinstance(panel, Panel) and panel.x.label == axis)
        return _canvas(study, replace(figures[0], panels=own, columns=1))

    def _study(self, wanted: Mapping[str, Any]) -> Study:
        from headway.reporting.study import Study

        return Study(_results(self._points, self._directory, wanted))

    def _drawn(self, name: str, wanted: Mapping[str, Any]) -> list[Figure]:
        """Figures of a kind; raises the reason if there are none."""
        from headway.reporting.figures import kind_of
        from headway.reporting.setting import setting

        if not self._points:
            raise HeadwayError(f"there is no figure `{name}`: no run is finished")
        study = self._study(wanted)
        figures = kind_of(name).figures(study)
        there = [
            replace(figure, setting=setting(study, figure))
            for figure in figures
            if figure.absent is None and figure.panels
        ]
        if not there:
            reason = next((figure.absent for figure in figures if figure.absent), "nothing to draw")
            raise HeadwayError(f"there is no figure `{name}`: {reason}")
        return there


def _results(points: Sequence[Point], directory: Path | None, wanted: Mapping[str, Any]) -> Results:
    """Points as a report has them; `wanted` replaces keys of the scenario's `[report]` table."""
    found = _Asked(directory or Path(), tuple(points))
    return _Asked(found.directory, found.points, wanted={**found.report, **wanted}) if wanted else found


def _report(study: Study, figures: Sequence[Figure]) -> Report:
    """A report of nothing but these figures."""
    from headway.reporting.assemble import Report

    return Report(
        study.results, study, None, (), tuple(figures), (), (), None, None, None, None, "", (), ()
    )  # fmt: skip


def _canvas(study: Study, *figures: Figure, look: Look | None = None) -> Canvas:
    """The first figure with matplotlib, as `report --format svg` draws it."""
    from headway.reporting.assemble import styles
    from headway.reporting.paper import draw, own_settings, paper_style

    with paper_style(look, own_settings()):
        return draw(figures[0], styles(_report(study, figures)), _shown_type(), look)


def _shown_type() -> type[Canvas]:
    """A matplotlib figure that a notebook shows as it would be saved. It is made when something is drawn: matplotlib
    takes a second to import."""
    # First: it says what to install where matplotlib is absent.
    from headway.reporting.paper import AS_FONT, paper_style  # isort: skip
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Base

    class Shown(Base):
        """A figure that shows itself, and is saved with fonts that journals take."""

        def savefig(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  (as its base)
            with rc_context(AS_FONT):
                super().savefig(*arguments, **named)

        def _repr_svg_(self) -> str:
            with paper_style():
                buffer = io.StringIO()
                self.savefig(buffer, format="svg", metadata={"Date": None})
            return buffer.getvalue()

    return Shown


class Drawings:
    """Draws for runs and sweeps."""

    def plots(self, results: Run | Sweep) -> Plots:
        """The figures of a run or a sweep."""
        if isinstance(results, Sweep):
            return Plots(results.runs, results.directory)
        seed = int(results.manifest.get("seed", 0))
        return Plots([Point(results.transport, results.transport, {}, seed, results=results)], results.directory)

    def card(self, results: Run | Sweep, numbers: str) -> str:
        """HTML for a notebook: a picture as the report draws it, and `numbers` below it."""
        from headway.reporting.picture import picture

        many = isinstance(results, Sweep) and len(results) > MOST_READ
        plots = self.plots(results)
        for name in CARDS:
            if many and name != "fct-load":
                break
            try:
                drawn = _report(plots._study({}), plots._drawn(name, {}))
            except HeadwayError:
                continue
            found = picture(drawn, hashlib.sha256(f"{numbers}{name}".encode()).hexdigest()[:12])
            if found is not None:
                return _card(found.scope, str(found.svg), found.css, found.legend, found.title, numbers)
        return f"<div>{numbers}</div>"


def _card(scope: str, svg: str, css: str, legend: Sequence[tuple[int, str]], title: str, numbers: str) -> str:
    """A picture with its legend and the notes below it; its rules hold for it alone."""
    entries = "".join(f'<span><i class="swatch k{slot}"></i>{escape(text)}</span> ' for slot, text in legend)
    style = _style(f".{scope}") + css
    return f'<div class="{scope}"><style>{style}</style><b>{escape(title)}</b>{svg}<p>{entries}</p>{numbers}</div>'


def _style(scope: str) -> str:
    """The rules of the report's style sheet that a picture needs, for elements below `scope`."""
    sheet = files("headway.reporting").joinpath("assets/report.css").read_text(encoding="utf-8")
    modes = r"^(?:@media screen and \(prefers-color-scheme:dark\)\{:root[^{]*|:root)\{([^}]*)\}"
    light, dark = re.findall(modes, sheet, flags=re.MULTILINE)[:2]
    rules = re.findall(r"^(?:\.chart|\.swatch|svg\.chart\{).*$", sheet, flags=re.MULTILINE)
    below = "".join(re.sub(r"(?:^|(?<=\}))(?=[.\w])", f"{scope} ", rule) for rule in rules)
    page = "background:var(--page);color:var(--ink);max-width:440px;padding:8px;font-family:sans-serif"
    return f"{scope}{{{light};{page}}}@media screen and (prefers-color-scheme:dark){{{scope}{{{dark}}}}}{below}"
