"""One figure: its sweep is planned, and when that has ended, its claims are judged and its report is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headway import names
from headway.claims.evaluate import Result, evaluate_claims, finished_runs, write_results
from headway.claims.ledger import claims_about, load_ledger
from headway.claims.verdict import EXPECTED
from headway.claims.why import why
from headway.data.claims import JudgedClaim
from headway.data.sweep import read_entries
from headway.explaining.record import listed
from headway.layout import CLAIMS_FILE, EXPECTATIONS_FILE
from headway.loading import Threads
from headway.names import ScenarioFile
from headway.sweeps import SweepOutcome, SweepPlan, plan
from headway.sweeps.capacity import with_threads
from headway.sweeps.pace import learn_after

if TYPE_CHECKING:
    from headway.reporting.picture import Picture

SMOKE = "smoke"


@dataclass(frozen=True)
class Judged:
    """The claims and expectations of a figure whose sweep has ended, as they were judged and as they were written.

    `began` is the processor time at which that began: it belongs to the cost of a figure.
    """

    results: Sequence[Result]
    expected: Sequence[Result]
    claims: tuple[JudgedClaim, ...]
    expectations: tuple[JudgedClaim, ...]
    has_report: bool
    began: float


@dataclass(frozen=True)
class Page:
    """The report of a figure, and a picture of it for the site."""

    path: Path
    picture: Picture | None


def plan_figure(
    file: ScenarioFile,
    out: Path,
    *,
    sets: Sequence[str] = (),
    scale: str | None = None,
    threads: Threads = 1,
    jobs: int | None = None,
    strict: bool = False,
) -> SweepPlan:
    """`strict` refuses overrides without effect; one for all figures of a paper need not have one in each."""
    return with_threads(plan(file, out, sets=sets, scale=scale, strict=strict), threads, jobs)


def judge_figure(file: ScenarioFile, outcome: SweepOutcome, scale: str | None) -> Judged:
    """Judge the claims and expectations of a ledger about a figure by the runs that there are, and write both."""
    began = time.process_time()
    out, needs_runs = outcome.plan.out, bool(outcome.plan.points)
    runs = finished_runs(out, read_entries(out))
    results = _with_reasons(evaluate_claims(claims_about(file.name, file.claims), runs, needs_runs=needs_runs))
    expectations = claims_about(file.name, file.expectations)
    expected = evaluate_claims(expectations, runs, needs_runs=needs_runs, stated=EXPECTED)
    claims = write_results(out / CLAIMS_FILE, results, scale)
    beyond = write_results(out / EXPECTATIONS_FILE, expected, scale)
    return Judged(results, expected, claims, beyond, has_report=bool(runs) or not needs_runs, began=began)


def _with_reasons(results: Sequence[Result]) -> list[Result]:
    """The results, each with the reason in full where its claim is not reproduced."""
    known = {row.id: row for row in listed([one.claim for one in results], names.known_scenarios())}
    return [
        replace(one, why=why(known[one.claim.id], str(one.judgement.verdict), one.judgement.reason)) for one in results
    ]


def write_report(
    file: ScenarioFile, outcome: SweepOutcome, judged: Judged, *, record: bool = False, scale: str | None = None
) -> Page:
    """Write the page of a figure that has one; with `record`, what it shows goes on record."""
    from headway.reporting import build_page
    from headway.reporting.picture import picture

    path, shown = build_page(outcome.plan.out)
    drawn = picture(shown, file.name)
    if record:
        from headway.reproducing.points import record_points

        record_points(file, shown, judged.results, scale)
    if not outcome.interrupted:
        learn_after(file.name, time.process_time() - judged.began, len(outcome.plan.points))
    return Page(path, drawn)


def namesake(file: ScenarioFile) -> str | None:
    """The scenario that the claims in a file's folder name, where the file has that name in another directory."""
    named = {claim.scenario for claim in load_ledger(file.claims)} if file.claims.exists() else set()
    alike = (name for name in sorted(named - {file.name}) if name.rpartition("/")[2] == file.path.stem)
    return next(alike, None)
