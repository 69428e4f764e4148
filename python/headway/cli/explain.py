"""`headway explain`: under which readings of a paper its claims come out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from headway.claims.values import show
from headway.claims.why import settings_of, why
from headway.cli.echo import echo
from headway.cli.options import as_usage, executor_option, force_option, jobs_option, out_option
from headway.cli.progress import progress_options
from headway.cli.sweep import FAILED, INTERRUPTED, announce, run_watched
from headway.cli.terminal import print_table
from headway.data.claims import Published
from headway.data.explanation import (
    ClaimFound,
    Explanation,
    HeldReading,
    OutcomeFound,
    ReadingFound,
    SearchFound,
)
from headway.data.jsonable import json_text
from headway.data.units import duration
from headway.explaining.bench import Stopped
from headway.explaining.record import claims_of as listed_claims
from headway.explaining.run import SEEDS, Request, explain_target, whole_ahead
from headway.explaining.search import BEST, TRAJECTORIES
from headway.explaining.targets import SEARCH_SEEDS
from headway.sweeps import State, SweepOutcome, SweepPlan
from headway.sweeps.executor import Executor
from headway.sweeps.forecast import forecast


@click.command()
@click.argument("target", metavar="CLAIM|FIGURE|PAPER")
@out_option(required=False, default="run nothing, and answer from what is on record")
@jobs_option
@executor_option
@force_option
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Seeds of whole figures.")
@click.option(
    "--search-seeds", type=click.IntRange(min=1), default=SEARCH_SEEDS, show_default=True, help="Seeds of short runs."
)
@click.option(
    "--trajectories",
    type=click.IntRange(min=0),
    default=TRAJECTORIES,
    show_default=True,
    help="Morris trajectories of the screening.",
)
@click.option(
    "--best",
    "most",
    type=click.IntRange(min=1),
    default=BEST,
    show_default=True,
    help="How many of the best readings of the search are held against whole figures.",
)
@click.option("--search-only", is_flag=True, help="Search on short runs, and hold nothing against whole figures.")
@click.option("--whole", is_flag=True, help="Also hold the best readings against all figures of the paper.")
@click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="CHOICE=VALUE[,...]",
    help="Search nothing: hold this reading against all figures of the paper. Repeatable.",
)
@click.option("--figures", multiple=True, metavar="NAME", help="Hold readings against these figures only.")
@click.option(
    "--record",
    is_flag=True,
    help="Write what came out to readings.json in the folder of claims.toml; with --search-only the bounds alone.",
)
@progress_options
@click.option("--json", "as_json", is_flag=True, help="Print explain.json and nothing else.")
def explain(
    target: str,
    out: Path | None,
    jobs: int | None,
    executor: Executor,
    force: bool,
    seeds: int,
    search_seeds: int,
    trajectories: int,
    most: int,
    search_only: bool,
    whole: bool,
    readings: tuple[str, ...],
    figures: tuple[str, ...],
    record: bool,
    as_json: bool,
) -> int:
    """Say why claims do not come out, and under which reading of the paper they do.

    Without --out the answer is what is on record, in seconds. With --out it searches on short runs. First the bound:
    what no transport could exceed on these flows. Then each choice of the ledger by itself, Morris trajectories over
    all of them, every combination of the few that matter to each claim, pairs for claims that nothing has brought, and
    where the verdicts turn along each range. With --whole, the best readings are then held against every figure of the
    paper at its own scale, with other seeds; what goes on record is the one under which most comes out there. What
    all of it takes at most is said first. Run again, it goes on where it stopped.
    """
    held = whole or record or bool(readings or figures)
    if whole and search_only:
        raise click.UsageError("--whole and --search-only contradict each other")
    if out is None:
        if held or search_only or force:
            raise click.UsageError("what runs something needs --out DIR, the directory of its results")
        _print_record(target, as_json=as_json)
        return 0
    runner = _Runner(jobs, executor, quiet=as_json, force=force)
    request = Request(
        target=target,
        out=out,
        executor=executor,
        jobs=jobs,
        seeds=seeds,
        search_seeds=search_seeds,
        trajectories=trajectories,
        most=most,
        search_only=search_only or not held,
        readings=readings,
        figures=figures,
        record=record,
    )
    try:
        with as_usage():
            result = explain_target(request, runner, None if as_json else echo)
            if not (held or search_only or as_json):
                print_explanation(result)
                if not _asked_whole(request):
                    _page(out, result)
                    return FAILED if runner.failed else 0
                result = explain_target(replace(request, search_only=False), runner, echo)
    except Stopped:
        echo("stopped; the same command goes on from here", err=True)
        return INTERRUPTED
    if as_json:
        echo(result.to_json())
    else:
        print_explanation(result)
        _page(out, result)
    return FAILED if runner.failed else 0


def _asked_whole(request: Request) -> bool:
    """Say what whole figures would take, and ask for them on a terminal."""
    text = f"all figures of the paper: {whole_ahead(request)}"
    if sys.stdin.isatty() and sys.stdout.isatty():
        return click.confirm(f"\n{text}; run them now?", default=False)
    echo(f"\n{text}: --whole")
    return False


def _print_record(target: str, *, as_json: bool) -> None:
    """Print what is on record about the claims of a target: why they do not come out, and their readings."""
    found = listed_claims(target)
    if as_json:
        echo(json_text([{**claim.document(), "why": why(claim)} for claim in found]))
        return
    rows = [[claim.verdict, claim.id, _published(claim.published), show(claim.measured)] for claim in found]
    print_table(["verdict", "claim", "published", "measured"], rows, [why(claim) for claim in found])
    told = {choice.id: (choice, value) for claim in found for choice, value in settings_of(claim)}
    if told:
        echo("\nthe reading on record, where the paper leaves it open:")
    for name, (choice, value) in told.items():
        says = "the paper is silent" if choice.silent else f'the paper, {choice.place}: "{choice.quotation}"'
        echo(f"  {name}: {choice.question} {choice.show(value)} in place of {choice.show(choice.default)} ({says})")
    echo(f"\nsearch again on short runs: headway explain {target} --out DIR")


class _Runner:
    """Runs sweeps, and counts the points that failed."""

    def __init__(self, jobs: int | None, executor: Executor, *, quiet: bool, force: bool) -> None:
        self.failed = 0
        self._jobs = jobs
        self._executor = executor
        self._quiet = quiet
        self._force = force

    def __call__(self, plan: SweepPlan) -> SweepOutcome:
        if not self._quiet:
            remote = self._executor.remote(len(plan.points), self._jobs)
            announce(forecast(plan.points, plan.file.name, self._jobs, remote=remote), f"    {plan.file.name}: ")
        outcome = run_watched(plan, self._jobs, quiet=True, overwrite=self._force, executor=self._executor, warn=False)
        self.failed += outcome.count(State.FAILED)
        return outcome


def print_explanation(result: Explanation) -> None:
    """Print the results on a terminal."""
    if result.search is not None:
        _print_search(result.search)
    for held in result.paper:
        _print_held(held)
    echo(f"\n{result.points} points in {duration(result.wall_s)}")


def _print_search(found: SearchFound) -> None:
    rows = [[c.status, c.id, _published(c.published), _measured(c.stated)] for c in found.claims]
    echo()
    print_table(["what was found", "claim", "published", "as stated"], rows, [_note(c) for c in found.claims])
    stated, best = _counts([c.stated for c in found.claims]), _counts([c.best for c in found.claims])
    echo(f"\nbest reading of {found.readings_tried}, on short runs: {found.best.text}")
    if found.best.values:
        echo(f"  {_degrees(found.best)}; {_three(best)} (as stated {_three(stated)})")
        for word, names in (("brings", found.best_brings), ("breaks", found.best_breaks)):
            if names:
                echo(f"  it {word} {len(names)} of the searched claims: {', '.join(names)}")
    for note in found.notes:
        echo(f"note: {note}")


def _published(published: Published) -> str:
    """A statement is too long for a column."""
    return "" if isinstance(published, str) else show(published)


def _note(claim: ClaimFound) -> str:
    """Lines below a claim: the reading, its regions, the bound."""
    lines = [claim.text]
    if claim.smallest is not None and claim.smallest.values:
        lines[0] += f" ({_degrees(claim.smallest)})"
    lines += [region.text for region in claim.regions]
    return "\n".join(lines)


def _degrees(reading: ReadingFound) -> str:
    count = reading.degrees
    return f"{count} degree{'s' * (count != 1)} of freedom"


def _measured(outcome: OutcomeFound | None) -> str:
    return show(outcome.measured) if outcome else "-"


def _counts(outcomes: Sequence[OutcomeFound | None]) -> list[int]:
    verdicts = [outcome.verdict for outcome in outcomes if outcome]
    return [verdicts.count(name) for name in ("reproduced", "direction-only", "not-reproduced")]


def _three(counts: Sequence[int]) -> str:
    return f"{counts[0]} reproduced, {counts[1]} direction only, {counts[2]} not"


def _print_held(held: HeldReading) -> None:
    echo(f"\nheld against whole figures: {held.reading.text} ({_degrees(held.reading)})")
    rows = [[f.scenario, f.part, "/".join(map(str, f.stated)), "/".join(map(str, f.under))] for f in held.figures]
    print_table(["figure", "", "as stated", "under the reading"], rows, [""] * len(rows))
    echo(f"in all: as stated {_three(held.stated)}; under the reading {_three(held.under)}")
    for word, names in (("brings", held.brings), ("breaks", held.breaks)):
        if names:
            echo(f"it {word} {len(names)}: {', '.join(names)}")


def _page(out: Path, result: Explanation) -> None:
    from headway.reporting.explanation import write_page

    echo(f"report: {write_page(out, result)}")


COMMAND = explain
