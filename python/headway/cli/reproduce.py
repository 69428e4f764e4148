"""`headway reproduce`: a published figure, its claims with verdicts, and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from headway.claims.evaluate import Result, evaluate_claims, finished_runs, write_results
from headway.claims.ledger import Claim, claims_about, load_ledger
from headway.claims.record import record as put_on_record
from headway.claims.sensitivity import sensitivity_claims
from headway.claims.verdict import EXPECTED, ORDERS, PUBLISHED, Value, Verdict
from headway.cli.options import force_option, jobs_option, out_option, scale_option, scenario_argument, set_option
from headway.cli.report import build_report
from headway.cli.sweep import run_watched, status
from headway.cli.terminal import print_table
from headway.layout import CLAIMS_FILE, EXPECTATIONS_FILE, SWEEP_FILE
from headway.names import ScenarioFile
from headway.sweeps import State, plan


@click.command()
@scenario_argument
@out_option(required=True)
@scale_option
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Seeds for each point, instead of its own.")
@jobs_option
@set_option
@force_option
@click.option("--record", is_flag=True, help="Write the verdicts to verdicts.json in the folder of claims.toml.")
@click.option("--json", "as_json", is_flag=True, help="Print claims.json and nothing else.")
def reproduce(
    file: ScenarioFile,
    out: Path,
    scale: str | None,
    seeds: int | None,
    jobs: int | None,
    sets: tuple[str, ...],
    force: bool,
    record: bool,
    as_json: bool,
) -> int:
    """Run a figure's sweep, judge the paper's claims about it, and write report.html."""
    if record and sets:
        raise click.UsageError("--record is for the scenario as it is written, without --set")
    claims = claims_about(file.name, file.claims) + sensitivity_claims(file.name, file.claims)
    expectations = claims_about(file.name, file.expectations)
    if seeds is not None:
        sets = (*sets, f"sweep.seeds={seeds}")
    outcome = run_watched(plan(file, out, sets=sets, scale=scale), jobs, quiet=as_json, overwrite=force)
    runs, needs_runs = finished_runs(out, _rows(out)), bool(outcome.plan.points)
    judged = evaluate_claims(claims, runs, needs_runs=needs_runs)
    expected = evaluate_claims(expectations, runs, needs_runs=needs_runs, stated=EXPECTED)
    rows = write_results(out / CLAIMS_FILE, judged, scale)
    write_results(out / EXPECTATIONS_FILE, expected, scale)
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        print_claims(judged)
        if not judged and (meant := _namesake(file)):
            click.echo(f"{file.claims} speaks of {meant}: it is called so where both lie below a directory `scenarios`")
        if expected:
            click.echo("\nexpected beyond the paper's claims:")
            print_claims(expected, EXPECTED)
    if record and not outcome.interrupted:
        written_to = put_on_record(file, judged, scale)
        if not as_json:
            click.echo(f"on record: {written_to}")
    if scale == "smoke" and not as_json:
        click.echo("smoke scale: fewer and smaller runs than the paper's; verdicts that count need --scale paper")
    if outcome.interrupted:
        click.echo("stopped early: verdicts are of what is finished", err=True)
    if outcome.count(State.DONE) or not outcome.plan.points:
        written = build_report(out, "html")
        if not as_json:
            click.echo("\n".join(f"report: {path}" for path in written))
    return status(outcome)


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
    rows = [[str(r.judgement.verdict), r.claim.id, _published(r.claim), _measured(r), r.claim.unit] for r in results]
    notes = [r.judgement.reason for r in results]
    print_table(["verdict", "claim", stated, "measured", "unit"], rows, notes)
    counts = [(v, sum(1 for r in results if r.judgement.verdict is v)) for v in Verdict]
    click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts if count))


def show(value: Value | str | list[str] | None) -> str:
    """A published or measured value in few characters."""
    match value:
        case None:
            return "-"
        case str():
            return value
        case dict():
            return ", ".join(f"{name} {number:.4g}" for name, number in value.items())
        case list():
            return ", ".join(show(item) for item in value)
        case _:
            return f"{value:.4g}"


def _published(claim: Claim) -> str:
    """The published value with its qualifier; statements and orders are too long for a column."""
    if claim.holds is not None or claim.unit in ORDERS:
        return str(claim.qualifier)
    return f"{claim.qualifier} {show(claim.published)}"


def _measured(result: Result) -> str:
    judgement = result.judgement
    text = show(judgement.measured)
    if isinstance(judgement.ci95, tuple):
        low, high = judgement.ci95
        text += f" ± {(high - low) / 2:.2g}"
    return text


def _rows(out: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((out / SWEEP_FILE).read_text(encoding="utf-8"))
    return rows


COMMAND = reproduce
