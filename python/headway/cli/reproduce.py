"""`headway reproduce`: a published figure, its claims with verdicts, and the report."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway import names
from headway.claims.choices import Choices, load_choices
from headway.claims.evaluate import Result, evaluate_claims, finished_runs, write_results
from headway.claims.ledger import Claim, claims_about, known_claims, load_ledger
from headway.claims.record import record as put_on_record
from headway.claims.testbed import only_for_the_testbed
from headway.claims.verdict import EXPECTED, ORDERS, PUBLISHED, Verdict
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
from headway.cli.values import rounded, show_range, unit_and_rest, with_unit
from headway.data.reader import read_list
from headway.errors import NameNotFound, ScenarioError
from headway.explain.record import CANNOT, CONTRADICTS, listed
from headway.layout import CLAIMS_FILE, EXPECTATIONS_FILE, REPORT_FILE, SWEEP_FILE
from headway.names import ScenarioFile
from headway.scenario import Scenario, Threads
from headway.sweeps import Shard, SweepOutcome, SweepPlan, plan
from headway.sweeps.capacity import with_threads
from headway.sweeps.executor import Executor
from headway.sweeps.forecast import NOTHING, Forecast, forecast
from headway.sweeps.pace import learn_after

if TYPE_CHECKING:
    from headway.report.picture import Picture
    from headway.report.site import SitePaper
    from headway.report.site_summary import Chosen


# Where results go if nobody says: to a folder of the figure's name below this one.
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
@click.option("--record", is_flag=True, help="Write the verdicts to verdicts.json in the folder of claims.toml.")
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
    done = _one(scenario, _plan(scenario, out or Path(OUT) / scenario.name, request, strict=True), request)
    if as_json:
        click.echo(json.dumps(done.rows, indent=2, ensure_ascii=False))
    return status(done.outcome)


@dataclass(frozen=True)
class Request:
    """How figures are to be reproduced."""

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


@dataclass(frozen=True)
class Done:
    """A figure, as far as it came: the entries of its `claims.json`, whether it has a report, and a picture of it."""

    outcome: SweepOutcome
    rows: list[dict[str, Any]]
    report: bool
    picture: Picture | None = None


def _plan(file: ScenarioFile, out: Path, request: Request, *, strict: bool = False) -> SweepPlan:
    """`strict` refuses overrides without effect; one for all figures of a paper need not have one in each."""
    planned = plan(file, out, sets=request.sets, scale=request.scale, strict=strict)
    return with_threads(planned, request.threads, request.jobs)


def _one(file: ScenarioFile, planned: SweepPlan, request: Request) -> Done:
    """Run a figure, judge its claims, write its report, and print what came out."""
    quiet, scale, out = request.quiet, request.scale, planned.out
    claims = claims_about(file.name, file.claims)
    expectations = claims_about(file.name, file.expectations)
    if scale == "smoke" and not quiet:
        click.echo("smoke scale: fewer and smaller runs than the paper's, whose verdicts do not count (--scale paper)")
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
    began = time.process_time()
    unjudged = outcome.left > 0
    runs, needs_runs = finished_runs(out, read_list(out / SWEEP_FILE, "points")), bool(outcome.plan.points)
    judged = evaluate_claims(claims, runs, needs_runs=needs_runs)
    expected = evaluate_claims(expectations, runs, needs_runs=needs_runs, stated=EXPECTED)
    rows = write_results(out / CLAIMS_FILE, judged, scale)
    write_results(out / EXPECTATIONS_FILE, expected, scale)
    if not quiet:
        print_claims(judged)
        if not judged and (meant := _namesake(file)):
            click.echo(f"{file.claims} speaks of {meant}: it is called so where both lie below a directory `scenarios`")
        if expected:
            click.echo("\nexpected beyond the paper's claims:")
            print_claims(expected, EXPECTED)
        if scale == "smoke" and (text := beyond_smoke([*judged, *expected])):
            click.echo(text)
    if unjudged:
        click.echo("not all shards are finished: verdicts are of what is, and none goes on record", err=True)
    if request.record and not outcome.interrupted and not unjudged:
        written_to = put_on_record(file, judged, scale)
        if not quiet:
            click.echo(f"on record: {written_to}")
    if outcome.interrupted:
        click.echo("stopped early: verdicts are of what is finished", err=True)
    report = bool(runs or not outcome.plan.points)
    drawn: Picture | None = None
    if report:
        from headway.report import build_page
        from headway.report.picture import picture

        written, shown = build_page(out)
        drawn = picture(shown, file.name)
        if not quiet:
            click.echo(f"report: {written}")
        if not outcome.interrupted:
            learn_after(file.name, time.process_time() - began, len(outcome.plan.points))
    return Done(outcome, rows, report, drawn)


def _all(paper: str | None, out: Path, request: Request, seeds: int | None) -> int:
    """Every figure of a paper, or of all papers, each in its own directory below `out`, and the page above them."""
    from headway.report.site import write_site

    papers, left_out = _papers(paper)
    for name, measured in left_out.items():
        click.echo(f"{name} is left out: `headway testbed reproduce {measured}` runs it on real packets")
    figures = [figure for named in papers.values() for figure in named]
    _check_sets(figures, request)
    plans = {f.name: _plan(f, out / f.name, request) for f in figures}
    ahead = sum((_ahead(name, one, request) for name, one in plans.items()), NOTHING)
    announce(ahead, f"{len(plans)} figures, ")
    ask(ahead.bytes, out, yes=request.yes, smaller="one figure or another --scale writes less")
    request = replace(request, yes=True)
    done: dict[str, Done] = {}
    for figure in figures:
        click.echo(click.style(f"\n{figure.name}", bold=True))
        done[figure.name] = _one(figure, plans[figure.name], request)
        if done[figure.name].outcome.interrupted:
            break
    missing = len(figures) - sum(1 for one in done.values() if not one.outcome.interrupted)
    stopped = f"stopped early: {missing} of {len(figures)} figures are not finished" if missing else ""
    pages = [_paper(name, named, done, request.scale, seeds) for name, named in papers.items()]
    click.echo(f"\nevery claim: {write_site(out, pages, request.scale, stopped)}")
    worst = [status(one.outcome) for one in done.values()]
    return max(worst, default=0)


def _check_sets(figures: Sequence[ScenarioFile], request: Request) -> None:
    """Raise `ScenarioError` for an override that is in effect at no point of any figure."""
    if not request.sets:
        return
    idle = [dict(Scenario.load(f.path, sets=request.sets, scale=request.scale).native.idle_sets()) for f in figures]
    for number in range(len(request.sets)):
        if all(number in one for one in idle):
            raise ScenarioError(f"{idle[0][number].rstrip()}\n  so it is in every figure; this is of {figures[0].name}")


def _ahead(name: str, planned: SweepPlan, request: Request) -> Forecast:
    remote = request.executor.remote(len(planned.points), request.jobs)
    return forecast(planned.points, name, request.jobs, judged=True, remote=remote)


def _papers(name: str | None) -> tuple[dict[str, list[ScenarioFile]], dict[str, str]]:
    """The figures of each paper with claims, or of the one of that name; figures in the order of their numbers.

    Then the scenarios of these papers that are only for the testbed, each with the figure whose claims it measures.
    """
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
        known, _ = _papers(None)
        raise NameNotFound("paper", name, known, f"all papers: {', '.join(known)}")
    return papers, testbed


def in_words(choices: Choices) -> Callable[[str, Any], Chosen]:
    """What puts a value of a choice into words."""
    from headway.report.site_summary import Chosen

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
    """What the site shows of a paper."""
    from headway.report.site import SitePaper, site_figure
    from headway.report.site_summary import summary_of

    shown = []
    known = {row["id"]: row for row in listed(known_claims(), names.known_scenarios())}
    more = [*(["--scale", scale] if scale else []), *(["--seeds", str(seeds)] if seeds else [])]
    for file in figures:
        scenario, own = Scenario.load(file.path), done.get(file.name)
        lines = [shlex.join(["headway", "reproduce", file.name, *more, "--out", f"out/{file.name}"])]
        if claims_about(file.name, file.claims):
            lines.append(shlex.join(["headway", "explain", file.name, "--out", f"out/explain/{file.name}"]))
        report = f"{file.name}/{REPORT_FILE}" if own is not None and own.report else None
        rows = [_explained(row, known.get(row["id"])) for row in own.rows] if own is not None else []
        picture = own.picture if own is not None else None
        shown.append(site_figure(file.name, scenario.title, scenario.paper, rows, lines, report, picture))
    judged = [row for figure in shown for row in figure.rows]
    values = [known[row.id]["reading_values"] for row in judged if row.id in known]
    summary = summary_of(judged, values, in_words(load_choices(figures[0].claims)))
    lines = [
        shlex.join(["headway", "reproduce", "--all", name, *more, "--out", "out"]),
        shlex.join(["headway", "explain", name, "--out", f"out/explain/{name}"]),
    ]
    place = Scenario.load(figures[0].path).paper
    return SitePaper(name, place.partition(", Fig")[0].partition(", Table")[0], tuple(shown), summary, tuple(lines))


def _explained(row: Mapping[str, Any], known: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A claim as it was judged now, with its reading on record and the reason if it cannot come out."""
    if known is None:
        return row
    word = known["reading_word"].removesuffix(" under")
    row = {**row, "reading": word, "judged": row["verdict"], "reading_verdict": known["reading_verdict"]}
    row["testbed"] = known["testbed"]
    if row["verdict"] == Verdict.NOT_REPRODUCED and known["verdict"] in (CONTRADICTS, CANNOT):
        row |= {"verdict": known["verdict"], "reason": known["reason"]}
    return row


def _namesake(file: ScenarioFile) -> str | None:
    """The scenario that the claims in a file's folder name, where the file has that name in another directory."""
    named = {claim.scenario for claim in load_ledger(file.claims)} if file.claims.exists() else set()
    alike = (name for name in sorted(named - {file.name}) if name.rpartition("/")[2] == file.path.stem)
    return next(alike, None)


def print_claims(results: Sequence[Result], stated: str = PUBLISHED) -> None:
    """The table of claims, then how many came out how; `stated` heads the claimed values."""
    if not results:
        click.echo("no claim of the paper is measured on this scenario")
        return
    rows = []
    for r in results:
        unit, of = unit_and_rest(r.claim.unit)
        rows.append([str(r.judgement.verdict), r.claim.id, _published(r.claim, unit), _measured(r, unit), of])
    notes = [r.judgement.reason for r in results]
    print_table(["verdict", "claim", stated, "measured", "of"], rows, notes)
    counts = [(v, sum(1 for r in results if r.judgement.verdict is v)) for v in Verdict]
    click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts if count))


def beyond_smoke(results: Sequence[Result]) -> str:
    """Which claims small runs cannot judge, each for the reason in its verdict; empty if they judge all."""
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
