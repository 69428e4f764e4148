"""All figures of papers, and the site that shows their verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import names
from headway.claims.choices import Choices, load_choices
from headway.claims.ledger import claims_about, known_claims
from headway.claims.testbed import only_for_the_testbed
from headway.data.claims import JudgedClaim
from headway.errors import NameNotFound, ScenarioError
from headway.explaining.record import listed
from headway.layout import REPORT_FILE
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.reporting.site_summary import Chosen, summary_of
from headway.reproducing.figure import Page

if TYPE_CHECKING:
    from headway.reporting.site import SitePaper


@dataclass(frozen=True)
class Done:
    """A figure, as far as it came."""

    claims: tuple[JudgedClaim, ...]
    page: Page | None
    interrupted: bool


@dataclass(frozen=True)
class Papers:
    """The figures of papers by paper, in the order of their numbers.

    `left_out` are the scenarios of these papers that are only for the testbed, each with the figure whose claims it
    measures.
    """

    figures: Mapping[str, Sequence[ScenarioFile]]
    left_out: Mapping[str, str]

    @property
    def every(self) -> list[ScenarioFile]:
        """The figures of all of them."""
        return [figure for named in self.figures.values() for figure in named]

    def check_sets(self, sets: Sequence[str], scale: str | None) -> None:
        """Raise `ScenarioError` for an override that is in effect at no point of any figure."""
        if not sets:
            return
        figures = self.every
        idle = [dict(Scenario.load(f.path, sets=sets, scale=scale).native.idle_sets()) for f in figures]
        for number in range(len(sets)):
            if all(number in one for one in idle):
                which = f"so it is in every figure; this is of {figures[0].name}"
                raise ScenarioError(f"{idle[0][number].rstrip()}\n  {which}")

    def write_site(self, out: Path, done: Mapping[str, Done], scale: str | None, seeds: int | None) -> Path:
        """Write the page above the figures that are done; returns its path."""
        # Templates are read only where there is a page to write.
        from headway.reporting.site import write_site

        whole = sum(1 for one in done.values() if not one.interrupted)
        missing = len(self.every) - whole
        stopped = f"stopped early: {missing} of {len(self.every)} figures are not finished" if missing else ""
        shown = [_paper(name, named, done, scale, seeds) for name, named in self.figures.items()]
        return write_site(out, shown, scale, stopped)


def papers_of(name: str | None) -> Papers:
    """The figures of each paper with claims, or of the one of that name; raises `NameNotFound` if there is none."""
    papers: dict[str, list[ScenarioFile]] = {}
    testbed: dict[str, str] = {}
    for file in sorted(names.known_scenarios().values(), key=lambda file: file.name):
        paper = file.name.partition("/")[0]
        if name is not None and paper != name:
            continue
        if figure := only_for_the_testbed(file.claims).get(file.name):
            testbed[file.name] = figure
        elif file.claims.exists() and Scenario.load(file.path).paper:
            papers.setdefault(paper, []).append(file)
    if name is not None and name not in papers:
        known = papers_of(None).figures
        raise NameNotFound("paper", name, known, f"all papers: {', '.join(known)}")
    return Papers(papers, testbed)


def in_words(choices: Choices) -> Callable[[str, Any], Chosen]:
    """Function that puts a value of a choice into words."""
    known = {choice.id: choice for choice in choices.all}

    def chosen(name: str, value: Any) -> Chosen:  # noqa: ANN401  (a choice's value)
        one = known.get(name)
        if one is None:
            return Chosen(name, str(value), "", "", "")
        evidence = "the paper is silent" if one.silent else f"{one.place}: “{one.quotation}”"
        return Chosen(name, one.show(value), one.show(one.default), one.question, evidence)

    return chosen


def _paper(
    name: str, figures: Sequence[ScenarioFile], done: Mapping[str, Done], scale: str | None, seeds: int | None
) -> SitePaper:
    """Part of the site about a paper."""
    from headway.reporting.site import SitePaper, site_figure

    shown = []
    known = {row.id: row for row in listed(known_claims(), names.known_scenarios())}
    more = [*(["--scale", scale] if scale else []), *(["--seeds", str(seeds)] if seeds else [])]
    for file in figures:
        scenario, own = Scenario.load(file.path), done.get(file.name)
        lines = [shlex.join(["headway", "reproduce", file.name, *more, "--out", f"out/{file.name}"])]
        if claims_about(file.name, file.claims):
            lines.append(shlex.join(["headway", "explain", file.name, "--out", f"out/explain/{file.name}"]))
        page = own.page if own is not None else None
        report = f"{file.name}/{REPORT_FILE}" if page is not None else None
        claims = own.claims if own is not None else ()
        picture = page.picture if page is not None else None
        shown.append(site_figure(file.name, scenario.title, scenario.paper, claims, known, lines, report, picture))
    judged = [row for figure in shown for row in figure.rows]
    values = [known[row.id].reading_values for row in judged if row.id in known]
    summary = summary_of(judged, values, in_words(load_choices(figures[0].claims)))
    lines = [
        shlex.join(["headway", "reproduce", "--all", name, *more, "--out", "out"]),
        shlex.join(["headway", "explain", name, "--out", f"out/explain/{name}"]),
    ]
    place = Scenario.load(figures[0].path).paper
    return SitePaper(name, place.partition(", Fig")[0].partition(", Table")[0], tuple(shown), summary, tuple(lines))
