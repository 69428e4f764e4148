"""Figures and tables of a report, in their order, with the reason if one is absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headway.data.sentences import of_calls

from .claims import ClaimRow, claim_rows
from .figures import NAMES, aliases, kind_of
from .load import Results
from .palette import Style
from .setting import setting
from .spec import Figure, Panel, Table
from .study import Study, variant_key
from .tables import (
    by_subject,
    flow_table,
    ideal_formulas,
    job_tables,
    notes,
    run_facts,
    summary,
    unfinished_table,
    unfinished_text,
    volume_tables,
)

# Figures that come first in a report about jobs.
OF_JOBS = ("critical-path", "causes")


@dataclass(frozen=True)
class Report:
    """Everything a renderer needs."""

    results: Results
    study: Study
    claims: tuple[ClaimRow, ...] | None
    expectations: tuple[ClaimRow, ...]
    figures: tuple[Figure, ...]
    unknown_figures: tuple[str, ...]
    wanted: tuple[str, ...]
    summary: Table | None
    facts: Table | None
    flows: Table | None
    unfinished: Table | None
    unfinished_text: str
    notes: tuple[str, ...]
    formulas: tuple[str, ...]
    jobs: tuple[Table, ...] = ()
    volumes: tuple[Table, ...] = ()

    @property
    def summaries(self) -> tuple[Table, ...]:
        """The summary as a page shows it."""
        return () if self.summary is None else by_subject(self.summary)

    @property
    def drawn(self) -> tuple[Figure, ...]:
        """Figures that have data."""
        return tuple(figure for figure in self.figures if figure.absent is None)

    @property
    def leading(self) -> int:
        """Number of the drawn figures that a page begins with: those that are asked for, else the first one."""
        asked = sum(figure.id in self.wanted for figure in self.drawn)
        return asked or min(1, len(self.drawn))

    @property
    def absent(self) -> tuple[Figure, ...]:
        """Figures that have none, each with the reason."""
        return tuple(figure for figure in self.figures if figure.absent is not None)

    @property
    def not_drawn(self) -> tuple[str, ...]:
        """Sentences about figures that the scenario asks for and that have no data."""
        lost = [figure for figure in self.absent if figure.id in self.wanted]
        return tuple(
            f"the figure `{figure.id}`, which [report] asks for, is not drawn: {figure.absent}" for figure in lost
        )


def assemble(results: Results) -> Report:
    """Compute every figure and table once."""
    study = Study(results)
    some = bool(study.points) and not results.is_model
    figures = _figures(study, runs=some)
    wanted, unknown = _wanted(results.report, [figure.id for figure in figures])
    jobs = job_tables(study) if some else ()
    # Figures that the scenario asks for are first, then why a job took its time, else the picture that likely answers.
    # Calls wait for each other, too, but their answer is how long they take.
    has_calls = bool(of_calls(point.summary for point in study.points))
    likely = [] if wanted else list(_answers(study))
    about_jobs = list(OF_JOBS) if jobs else []
    order = [*wanted, *(likely + about_jobs if has_calls else about_jobs + likely)]
    figures.sort(key=lambda figure: order.index(figure.id) if figure.id in order else len(order))
    if wanted and results.claims:
        figures = _paper_first(study, figures, wanted)
    return Report(
        results,
        study,
        None if results.claims is None else tuple(claim_rows(results.claims)),
        tuple(claim_rows(results.expectations)),
        tuple(figures),
        unknown,
        tuple(wanted),
        summary(study) if some else None,
        run_facts(study) if study.points else None,
        flow_table(study) if some else None,
        unfinished_table(study) if some else None,
        unfinished_text(study) if some else "",
        tuple(notes(study)),
        tuple(ideal_formulas(study)),
        jobs,
        volume_tables(study) if some else (),
    )


# Figures that answer the question of most scenarios, where [report] names none: of a sweep over numbers, of several
# variants, of one run.
OVER_X, OF_VARIANTS, OF_A_RUN = ("fct-load",), ("throughput-time", "numbers", "cdf"), ("throughput-time", "cdf")


def _answers(study: Study) -> tuple[str, ...]:
    """The figures that a report begins with, the likeliest first."""
    if study.x_key:
        return OVER_X
    return OF_VARIANTS if len(study.variants) > 1 else OF_A_RUN


def _paper_first(study: Study, figures: Sequence[Figure], wanted: Sequence[str]) -> list[Figure]:
    """The figures with the panels of the variants that claims are about first, and the other panels after those."""
    named = {name for claim in study.results.claims or () for name in claim.variants}
    keys = {variant_key(name) for name in study.variants if name in named}
    first, others = [], []
    for figure in figures:
        if figure.id in wanted and figure.panels and all(isinstance(p, Panel) and p.key for p in figure.panels):
            own = tuple(p for p in figure.panels if isinstance(p, Panel) and p.key in keys)
            rest = tuple(p for p in figure.panels if p not in own)
            if own and rest:
                columns = 1 if len(own) == 1 else 2
                first.append(replace(figure, panels=own, columns=columns))
                title = f"{figure.title}: variants beyond the paper's"
                others.append(replace(figure, id=f"{figure.id}-beyond", title=title, panels=rest, more=()))
                continue
        (first if figure.id in wanted else others).append(figure)
    return [*first, *others]


def _figures(study: Study, *, runs: bool) -> list[Figure]:
    kinds = [kind_of(name) for name in NAMES]
    drawn = [figure for kind in kinds if runs or not kind.needs_runs for figure in kind.figures(study)]
    return [replace(figure, setting=setting(study, figure)) for figure in drawn]


def _wanted(report: Mapping[str, object], known: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Ids the scenario asks for, and names that no figure bears."""
    value = report.get("figure")
    names = [value] if isinstance(value, str) else [str(v) for v in value] if isinstance(value, list) else []
    wanted: list[str] = []
    unknown: list[str] = []
    for name in names:
        found = [figure for figure in (aliases().get(name, name),) if figure in known]
        wanted += found
        if not found:
            unknown.append(name)
    return wanted, tuple(unknown)


def styles(report: Report) -> dict[str, Style]:
    """Style of every legend key in the report."""
    found = {variant_key(variant): style for variant, style in report.study.styles.items()}
    for figure in report.figures:
        for entry in figure.legend:
            found.setdefault(entry.key, entry.style)
    return found
