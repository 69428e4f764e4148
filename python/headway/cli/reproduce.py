"""`headway reproduce`: a published figure, its claims with verdicts, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from headway import names
from headway.claims.evaluate import Result
from headway.claims.ledger import Claim
from headway.claims.record import record as put_on_record
from headway.claims.values import rounded, show_range, unit_and_rest, with_unit
from headway.claims.verdict import EXPECTED, ORDERS, PUBLISHED
from headway.cli.echo import echo
from headway.cli.options import (
    executor_option,
    force_option,
    jobs_option,
    out_option,
    scale_option,
    set_option,
    shard_option,
    threads_option,
)
from headway.cli.progress import is_quiet, progress_options
from headway.cli.sizes import ask, yes_option
from headway.cli.sweep import announce, run_watched, status
from headway.cli.terminal import print_table
from headway.data.claims import Verdict
from headway.data.jsonable import json_text, plain
from headway.loading import Threads
from headway.names import ScenarioFile
from headway.reproducing.figure import SMOKE, Judged, Page, judge_figure, namesake, plan_figure, write_report
from headway.reproducing.papers import Done, papers_of
from headway.sweeps import Shard, SweepOutcome, SweepPlan
from headway.sweeps.executor import Executor
from headway.sweeps.forecast import NOTHING, Forecast, forecast

# Default place of results: a folder of the figure's name below this one.
OUT = "out"


@click.command()
@click.argument("file", required=False, metavar="FILE")
@out_option(required=False, default="out/NAME, and with --all out")
@scale_option
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Seeds for each point, instead of its own.")
@jobs_option
@executor_option
@shard_option
@set_option
@force_option
@click.option(
    "--record", is_flag=True, help="Write verdicts.json and the figures' points.json in the folder of claims.toml."
)
@threads_option
@click.option("--all", "everything", is_flag=True, help="Every figure of the paper that FILE names, or of all papers.")
@yes_option
@progress_options
@click.option("--json", "as_json", is_flag=True, help="Print claims.json and nothing else.")
def reproduce(
    file: str | None,
    out: Path | None,
    scale: str | None,
    seeds: int | None,
    jobs: int | None,
    threads: Threads,
    executor: Executor,
    shard: Shard | None,
    sets: tuple[str, ...],
    force: bool,
    record: bool,
    everything: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Run a figure's sweep, judge the paper's claims about it, and write report.html.

    With --all, every figure of a paper (`amrt`), or of all papers: their claims, verdicts, commands and reports are one
    site, which begins at index.html and needs no network.
    """
    if record and sets:
        raise click.UsageError("--record is for the scenario as it is written, without --set")
    if seeds is not None:
        sets = (*sets, f"sweep.seeds={seeds}")
    request = Request(sets, scale, jobs, threads, executor, shard, force, record, quiet=as_json, yes=yes)
    if everything:
        if as_json:
            raise click.UsageError("--json prints the claims of one figure; with --all they are in its claims.json")
        return _all(file, out or Path(OUT), request, seeds)
    if file is None:
        raise click.UsageError("say which figure, such as amrt/fig01, or --all")
    scenario = names.resolve(file)
    planned = _plan(scenario, out or Path(OUT) / scenario.name, request, strict=True)
    outcome, done = _one(scenario, planned, request)
    if as_json:
        echo(json_text(plain(done.claims)))
    return status(outcome)


@dataclass(frozen=True)
class Request:
    """Request to reproduce figures."""

    sets: tuple[str, ...]
    scale: str | None
    jobs: int | None
    threads: Threads
    executor: Executor
    shard: Shard | None
    force: bool
    record: bool
    quiet: bool
    yes: bool


def _plan(file: ScenarioFile, out: Path, request: Request, *, strict: bool = False) -> SweepPlan:
    return plan_figure(
        file,
        out,
        sets=request.sets,
        scale=request.scale,
        threads=request.threads,
        jobs=request.jobs,
        strict=strict,
    )


def _one(file: ScenarioFile, planned: SweepPlan, request: Request) -> tuple[SweepOutcome, Done]:
    """Run a figure, judge its claims, write its report, and print the result."""
    quiet, scale = request.quiet, request.scale
    if scale == SMOKE and not quiet:
        echo("smoke scale: fewer and smaller runs than the paper's, whose verdicts do not count (--scale paper)")
    outcome = run_watched(
        planned,
        request.jobs,
        quiet=quiet or is_quiet(),
        overwrite=request.force,
        executor=request.executor,
        shard=request.shard,
        judged=True,
        yes=request.yes,
    )
    judged = judge_figure(file, outcome, scale)
    unjudged = outcome.left > 0
    on_record = request.record and not outcome.interrupted and not unjudged
    if not quiet:
        _print_judged(file, judged, scale)
    if unjudged:
        echo("not all shards are finished: verdicts are of what is, and none goes on record", err=True)
    if on_record:
        written_to = put_on_record(file, judged.results, scale)
        if not quiet:
            echo(f"on record: {written_to}")
    if outcome.interrupted:
        echo("stopped early: verdicts are of what is finished", err=True)
    page: Page | None = None
    if judged.has_report:
        page = write_report(file, outcome, judged, record=on_record, scale=scale)
        if not quiet:
            echo(f"report: {page.path}")
    return outcome, Done(judged.claims, page, outcome.interrupted)


def _print_judged(file: ScenarioFile, judged: Judged, scale: str | None) -> None:
    print_claims(judged.results)
    if not judged.results and (meant := namesake(file)):
        echo(f"{file.claims} speaks of {meant}: it is called so where both lie below a directory `scenarios`")
    if judged.expected:
        echo("\nexpected beyond the paper's claims:")
        print_claims(judged.expected, EXPECTED)
    if scale == SMOKE and (text := beyond_smoke([*judged.results, *judged.expected])):
        echo(text)


def _all(paper: str | None, out: Path, request: Request, seeds: int | None) -> int:
    """Every figure of a paper, or of all papers, each in its own directory below `out`, and the page above them."""
    papers = papers_of(paper)
    for name, measured in papers.left_out.items():
        echo(f"{name} is left out: `headway testbed reproduce {measured}` runs it on real packets")
    papers.check_sets(request.sets, request.scale)
    plans = {f.name: _plan(f, out / f.name, request) for f in papers.every}
    ahead = sum((_ahead(name, one, request) for name, one in plans.items()), NOTHING)
    announce(ahead, f"{len(plans)} figures, ")
    ask(ahead.bytes, out, yes=request.yes, smaller="one figure or another --scale writes less")
    request = replace(request, yes=True)
    done: dict[str, Done] = {}
    worst = 0
    for figure in papers.every:
        echo(click.style(f"\n{figure.name}", bold=True))
        outcome, done[figure.name] = _one(figure, plans[figure.name], request)
        worst = max(worst, status(outcome))
        if outcome.interrupted:
            break
    echo(f"\nevery claim: {papers.write_site(out, done, request.scale, seeds)}")
    return worst


def _ahead(name: str, planned: SweepPlan, request: Request) -> Forecast:
    remote = request.executor.remote(len(planned.points), request.jobs)
    return forecast(planned.points, name, request.jobs, judged=True, remote=remote)


def print_claims(results: Sequence[Result], stated: str = PUBLISHED) -> None:
    """The table of claims, then how many came out how; `stated` heads the claimed values."""
    if not results:
        echo("no claim of the paper is measured on this scenario")
        return
    rows = []
    for r in results:
        unit, of = unit_and_rest(r.claim.unit)
        rows.append([str(r.judgement.verdict), r.claim.id, _published(r.claim, unit), _measured(r, unit), of])
    notes = [r.why or r.judgement.reason for r in results]
    print_table(["verdict", "claim", stated, "measured", "of"], rows, notes)
    counts = [(v, sum(1 for r in results if r.judgement.verdict is v)) for v in Verdict]
    echo(", ".join(f"{count} {verdict}" for verdict, count in counts if count))


def beyond_smoke(results: Sequence[Result]) -> str:
    """Claims that small runs cannot judge, each for the reason in its verdict; empty if they judge all."""
    missing = [r.claim.id for r in results if r.judgement.verdict is Verdict.PENDING and r.claim.measure is not None]
    if not missing:
        return ""
    of = f"{len(missing)} of {len(results)}"
    return f"smoke scale cannot judge {of}, for the reasons in their verdicts: {', '.join(missing)}"


def _published(claim: Claim, unit: str) -> str:
    """The published value with its qualifier; statements and orders are too long for a column."""
    if claim.holds is not None or claim.unit in ORDERS:
        return str(claim.qualifier)
    return f"{claim.qualifier} {rounded(claim.published, unit)}"


def _measured(result: Result, unit: str) -> str:
    judgement = result.judgement
    text = rounded(judgement.measured, "" if isinstance(judgement.ci95, tuple) else unit)
    if isinstance(judgement.ci95, tuple):
        low, high = judgement.ci95
        text = with_unit(f"{text} ± {(high - low) / 2:.2g}", unit)
    if judgement.range is not None:
        text += f" ({show_range(judgement.range)})"
    return text


COMMAND = reproduce
