"""`headway explain`: under which readings of a paper its claims come out."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from headway.claims.choices import Choices, Reading
from headway.cli.options import executor_option, force_option, jobs_option, out_option
from headway.cli.progress import progress_options
from headway.cli.sweep import FAILED, INTERRUPTED, announce, run_watched
from headway.cli.terminal import print_table
from headway.cli.values import show
from headway.data.units import duration
from headway.explain import ahead
from headway.explain import record as on_record
from headway.explain.bench import Bench, Stopped
from headway.explain.paper import Standing, hold
from headway.explain.points import Figure
from headway.explain.result import document, standing_entry
from headway.explain.search import BEST, TRAJECTORIES, Search
from headway.explain.targets import SEARCH_SEEDS, Target, find
from headway.files import write_json
from headway.layout import EXPLAIN_FILE
from headway.sweeps import State, SweepOutcome, SweepPlan
from headway.sweeps.executor import Executor
from headway.sweeps.executors import Local
from headway.sweeps.forecast import MOST_WORKERS, forecast


@click.command()
@click.argument("target", metavar="CLAIM|FIGURE|PAPER")
@out_option(required=True)
@jobs_option
@executor_option
@force_option
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Seeds of whole figures.")
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
    out: Path,
    jobs: int | None,
    executor: Executor,
    force: bool,
    seeds: int,
    search_seeds: int,
    trajectories: int,
    most: int,
    search_only: bool,
    readings: tuple[str, ...],
    figures: tuple[str, ...],
    record: bool,
    as_json: bool,
) -> int:
    """Search what a paper leaves open for the readings under which its claims come out.

    First the bound: what no transport could exceed on these flows. Then each choice of the ledger by itself, Morris
    trajectories over all of them, every combination of the few that matter to each claim, pairs for claims that
    nothing has brought, and where the verdicts turn along each range, all on short runs. The best readings are then
    held against every figure of the paper at its own scale, with other seeds. What goes on record is the one under
    which most comes out there. What all of it takes at most is said first. Run again, it goes on where it stopped.
    """
    if search_only and readings:
        raise click.UsageError("--search-only leaves no reading to hold")
    began = time.monotonic()
    found = find(target)
    runner = _Runner(jobs, executor, quiet=as_json, force=force)
    given = [found.choices.parse(text.split(",")) for text in readings]
    for reading in given:
        if conflict := found.choices.conflict(reading):
            raise click.UsageError(conflict)
    seen = frozenset[str]() if given else frozenset(file.name for file in found.searched)
    whole = [] if search_only else _whole(found, seeds, figures)
    search = None if given else _search(found, out, runner, search_seeds, trajectories)
    if not as_json:
        held = len(given) or most
        remote = executor.remote(MOST_WORKERS, jobs)
        short = ahead.of_search(search.bench, trajectories, jobs, remote) if search is not None else None
        long = ahead.of_holding(whole, found.choices, held, jobs, remote) if whole else None
        runner.say(ahead.in_words(short, long))
    try:
        # A search is a row of short sweeps.
        with executor.staying() if isinstance(executor, Local) else nullcontext():
            if search is not None:
                search.run()
            best = given or (search.best(most) if search is not None else [])
            standings = _held(found, whole, out, runner, best, seen) if whole else []
    except (Stopped, KeyboardInterrupt):
        click.echo("stopped; the same command goes on from here", err=True)
        return INTERRUPTED
    result = _result(found, search, standings, runner.points, time.monotonic() - began)
    write_json(out / EXPLAIN_FILE, result)
    if record:
        path, count = on_record.record(found, result)
        what = f"{count} {'bound' if search_only else 'claim'}{'s' * (count != 1)}"
        runner.say(f"on record in {path}: {what}")
    if as_json:
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        print_explanation(found.choices, result)
        _page(out, result)
    return FAILED if runner.failed else 0


class _Runner:
    """Runs sweeps and counts what they ran."""

    def __init__(self, jobs: int | None, executor: Executor, *, quiet: bool, force: bool) -> None:
        self.points = 0
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
        self.points += len(plan.points)
        self.failed += outcome.count(State.FAILED)
        return outcome

    def say(self, text: str) -> None:
        """A line on the terminal, unless only JSON is wanted there."""
        if not self._quiet:
            click.echo(text)


def _search(target: Target, out: Path, runner: _Runner, seeds: int, trajectories: int) -> Search:
    figures = target.to_search(seeds)
    scales = ", ".join(f"{f.name} ({f.scale or 'whole'})" for f in figures)
    bench = Bench(figures, target.choices, out / "search", runner)
    search = Search(bench, lambda text: runner.say(f"  {text}"), trajectories)
    runner.say(f"{target.name}: {len(search.choices)} choices; the search runs {scales}, {seeds} seeds")
    return search


def _whole(target: Target, seeds: int, only: Sequence[str]) -> list[Figure]:
    """The whole figures that readings are held against."""
    figures = target.to_hold(seeds)
    if not only:
        return figures
    unknown = [name for name in only if not any(f.name.startswith(name) for f in figures)]
    if unknown:
        raise click.UsageError(f"no figure {unknown[0]!r}; there are: {', '.join(f.name for f in figures)}")
    return [f for f in figures if any(f.name.startswith(name) for name in only)]


def _held(
    target: Target,
    figures: Sequence[Figure],
    out: Path,
    runner: _Runner,
    readings: Sequence[Reading],
    searched: frozenset[str],
) -> list[Standing]:
    if not readings:
        return []
    for reading in readings:
        runner.say(f"whole figures under {target.choices.show(reading)}: {len(figures)}, {figures[0].seeds} seeds")
    standings, _ = hold(figures, target.choices, readings, searched, out, runner)
    return sorted(standings, key=lambda one: one.strength, reverse=True)


def _result(
    target: Target, search: Search | None, standings: Sequence[Standing], points: int, wall_s: float
) -> dict[str, Any]:
    if search is not None:
        return document(target.name, search, standings, points, wall_s)
    held = [standing_entry(target.choices, one) for one in standings]
    return {"target": target.name, "points": points, "wall_s": wall_s, "paper": held}


def print_explanation(choices: Choices, result: dict[str, Any]) -> None:
    """What was found, on a terminal."""
    if "claims" in result:
        _print_search(choices, result)
    for standing in result["paper"]:
        _print_standing(standing)
    click.echo(f"\n{result['points']} points in {duration(result['wall_s'])}")


def _print_search(choices: Choices, result: dict[str, Any]) -> None:
    rows = [[c["status"], c["id"], _published(c["published"]), _measured(c["stated"])] for c in result["claims"]]
    click.echo()
    print_table(["what was found", "claim", "published", "as stated"], rows, [_note(c) for c in result["claims"]])
    stated, best = (_counts(result["claims"], which) for which in ("stated", "best"))
    reading = result["best"]
    click.echo(f"\nbest reading of {result['readings_tried']}, on short runs: {reading['text']}")
    if reading["values"]:
        click.echo(f"  {_degrees(reading)}; {_three(best)} (as stated {_three(stated)})")
        for word in ("brings", "breaks"):
            if names := result[f"best_{word}"]:
                click.echo(f"  it {word} {len(names)} of the searched claims: {', '.join(names)}")
    for note in result["notes"]:
        click.echo(f"note: {note}")


def _published(published: Any) -> str:  # noqa: ANN401  (what JSON holds)
    """A statement is too long for a column."""
    return "" if isinstance(published, str) else show(published)


def _note(claim: dict[str, Any]) -> str:
    """What stands below a claim: the reading, its regions, the bound."""
    lines = [claim["text"]]
    if claim["smallest"] and claim["smallest"]["values"]:
        lines[0] += f" ({_degrees(claim['smallest'])})"
    lines += [region["text"] for region in claim["regions"]]
    return "\n".join(lines)


def _degrees(reading: dict[str, Any]) -> str:
    count = reading["degrees"]
    return f"{count} degree{'s' * (count != 1)} of freedom"


def _measured(outcome: dict[str, Any] | None) -> str:
    return show(outcome["measured"]) if outcome else "-"


def _counts(claims: Sequence[dict[str, Any]], which: str) -> list[int]:
    verdicts = [claim[which]["verdict"] for claim in claims if claim[which]]
    return [verdicts.count(name) for name in ("reproduced", "direction-only", "not-reproduced")]


def _three(counts: Sequence[int]) -> str:
    return f"{counts[0]} reproduced, {counts[1]} direction only, {counts[2]} not"


def _print_standing(standing: dict[str, Any]) -> None:
    click.echo(f"\nheld against whole figures: {standing['reading']['text']} ({_degrees(standing['reading'])})")
    rows = [
        [
            f["scenario"],
            f["part"],
            "/".join(map(str, f["stated"])),
            "/".join(map(str, f["under"])),
        ]
        for f in standing["figures"]
    ]
    print_table(["figure", "", "as stated", "under the reading"], rows, [""] * len(rows))
    click.echo(f"in all: as stated {_three(standing['stated'])}; under the reading {_three(standing['under'])}")
    for word in ("brings", "breaks"):
        if standing[word]:
            click.echo(f"it {word} {len(standing[word])}: {', '.join(standing[word])}")


def _page(out: Path, result: dict[str, Any]) -> None:
    from headway.report.explanation import write_page

    click.echo(f"report: {write_page(out, result)}")


COMMAND = explain
