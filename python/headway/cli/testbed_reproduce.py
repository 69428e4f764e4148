"""`headway testbed reproduce`: the claims about a figure, judged on real packets over several repetitions."""

from __future__ import annotations

import time
from pathlib import Path

import click

from headway import names
from headway.claims.evaluate import Result, evaluate_claims, finished_runs, write_results
from headway.claims.testbed import claims_measured, judge_over_repetitions, scenario_of, variants_needed
from headway.claims.testbed_record import REPETITIONS
from headway.claims.testbed_record import record as put_on_record
from headway.cli.controls import controls_of
from headway.cli.echo import echo
from headway.cli.options import force_option, out_option, scale_option, scenario_argument, set_option
from headway.cli.progress import progress_options
from headway.cli.real import arguments, measure, probe
from headway.cli.reproduce import print_claims
from headway.cli.sweep import status
from headway.data.jsonable import json_text, plain
from headway.data.machine import machine_text
from headway.data.sweep import read_entries
from headway.data.units import duration
from headway.errors import HeadwayError
from headway.layout import CLAIMS_FILE
from headway.loading import Scenario, assignments
from headway.sweeps import Job, State, SweepOutcome, SweepPlan, plan
from headway.sweeps.real import conditions, real_plan, run_in_turn


@click.command("reproduce")
@scenario_argument
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=REPETITIONS,
    show_default=True,
    metavar="N",
    help="How often each point is run, each time with another seed.",
)
@out_option(required=True)
@scale_option
@set_option
@click.option("--slowdown", type=click.IntRange(1, 1_000_000), metavar="N", help="Instead of what the ledger says.")
@force_option
@click.option("--record", is_flag=True, help="Write the verdicts to testbed.json in the folder of claims.toml.")
@progress_options
@click.option("--json", "as_json", is_flag=True, help="Print claims.json and nothing else.")
def reproduce(
    file: names.ScenarioFile,
    repetitions: int,
    out: Path,
    scale: str | None,
    sets: tuple[str, ...],
    slowdown: int | None,
    force: bool,
    record: bool,
    as_json: bool,
) -> int:
    """Run a figure on real packets several times, and judge the paper's claims about it.

    The measures are those of the simulator. A verdict is of the median over the repetitions; beside it are the smallest
    and the largest. A [[testbed]] table of claims.toml says what is run, and how slowly. Run again, the command keeps
    what is finished and goes on.
    """
    if record and (sets or slowdown):
        raise click.UsageError("--record is for the scenario as it is written, without --set and --slowdown")
    runs, claims = claims_measured(file)
    run_file, factor = scenario_of(runs), slowdown or runs.slowdown
    overrides = (*assignments(runs.sets), *sets, f"sweep.seeds={repetitions}")
    whole = plan(run_file, out, sets=overrides, scale=scale)
    needed = variants_needed(claims, list(dict.fromkeys(point.point.variant for point in whole.points)))
    planned = real_plan(whole, needed, factor)
    if not all(point.is_finished for point in planned.points):
        probe()
    began = time.monotonic()
    outcome = _run(planned, scale, factor, quiet=as_json, overwrite=force)
    runs_done = finished_runs(out, read_entries(out))
    judged = evaluate_claims(claims, runs_done, judge=judge_over_repetitions)
    rows = write_results(out / CLAIMS_FILE, judged, scale)
    about = conditions(planned)
    if as_json:
        echo(json_text(plain(rows)))
    else:
        _show(planned, outcome, judged, about, time.monotonic() - began)
    whole_done = outcome.count(State.DONE) == len(planned.points)
    if record and whole_done:
        path, count = put_on_record(file, runs, run_file, judged, scale, about)
        echo(f"on record: {count} verdicts in {path}", err=as_json)
    elif record:
        echo("nothing is put on record: some runs are missing; the same command runs them", err=True)
    if outcome.count(State.DONE):
        from headway.reporting import build_page

        written, _ = build_page(out)
        echo(f"report: {written}", err=as_json)
    return status(outcome)


def _run(planned: SweepPlan, scale: str | None, slowdown: int | None, *, quiet: bool, overwrite: bool) -> SweepOutcome:
    total = len(planned.points)

    def told(place: int, point: Job, error: str) -> None:
        if error:
            echo(f"[{place}/{total}] {point.label}: failed: {error}", err=True)
        elif not quiet:
            echo(f"[{place}/{total}] {point.label}", err=True)

    def on_real_packets(point: Job) -> bool:
        command = arguments(Path(point.scenario), point.point.sets, point.partial, scale, slowdown, simulated=False)
        with controls_of(Scenario.load(point.scenario, sets=point.point.sets, scale=scale)):
            ended, said = measure(point.label, command)
        if said is None:
            raise HeadwayError("the program of the testbed was killed")
        return ended == 0

    return run_in_turn(planned, on_real_packets, told, overwrite=overwrite)


def _show(
    planned: SweepPlan, outcome: SweepOutcome, judged: list[Result], about: dict[str, object], wall_s: float
) -> None:
    print_claims(judged)
    done = outcome.count(State.DONE)
    before = f" ({outcome.reused} from before)" if outcome.reused else ""
    echo(f"{planned.file.name}: {done}/{len(planned.points)} runs on real packets{before}, in {duration(wall_s)}")
    machines = about["machine"]
    assert isinstance(machines, list)
    for one in machines:
        echo(f"machine: {machine_text([one])}")
    late, work = about["late_s"], about["other_work"]
    assert isinstance(late, float)
    echo(f"99 % of frames late by at most {duration(late)} in the worst run; other programs used {work} processors")
