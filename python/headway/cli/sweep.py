"""`headway sweep`: every point of a scenario's sweep, on the cores of this machine or elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from headway import store
from headway.cli.echo import echo
from headway.cli.options import (
    executor_option,
    fair_option,
    force_option,
    jobs_option,
    out_option,
    scale_option,
    scenario_argument,
    set_option,
    shard_option,
    threads_option,
)
from headway.cli.progress import is_quiet, is_verbose, progress_options
from headway.cli.sizes import ask, yes_option
from headway.cli.terminal import Progress, Stop, print_notes, print_table, print_warnings
from headway.data.bounds import name_of
from headway.data.earlier import earlier
from headway.data.fairness import times_in, unlike_times
from headway.data.jobs import lines_of, of_jobs
from headway.data.point import Point, by_place
from headway.data.sentences import one_line, surprising
from headway.data.statistics import over_seeds
from headway.data.steadiness import unsteady
from headway.data.sweep import Sweep, read_sweep
from headway.data.units import display, duration, wait
from headway.fair import with_fair
from headway.loading import Scenario, Threads
from headway.names import ScenarioFile
from headway.reporting.summaries import summary_label, summary_number, summary_value
from headway.reporting.values import UNITS, as_csv
from headway.sweeps import Job, Shard, State, SweepOutcome, SweepPlan, plan, run_sweep
from headway.sweeps.capacity import with_threads
from headway.sweeps.executor import Executor
from headway.sweeps.forecast import Forecast, forecast
from headway.sweeps.worker import Finished

FAILED = 1
NOT_DONE = ("flows_unfinished", "flows_failed")
INTERRUPTED = 130


@click.command()
@scenario_argument
@out_option(required=True)
@set_option
@scale_option
@fair_option
@jobs_option
@threads_option
@executor_option
@shard_option
@force_option
@yes_option
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print the numbers of all variants as CSV, with intervals and units."
)
@progress_options
def sweep(
    file: ScenarioFile,
    out: Path,
    sets: tuple[str, ...],
    scale: str | None,
    fair: bool,
    jobs: int | None,
    threads: Threads,
    executor: Executor,
    shard: Shard | None,
    force: bool,
    yes: bool,
    as_csv: bool,
) -> int:
    """Run every variant, axis value and seed of a scenario; run again, it goes on where it stopped."""
    if fair:
        scenario = Scenario.load(file.path, sets=sets, scale=scale)
        sets = with_fair(sets, scenario, whole=True)
    planned = with_threads(plan(file, out, sets=sets, scale=scale, strict=True), threads, jobs)
    quiet = is_quiet() or as_csv
    outcome = run_watched(planned, jobs, quiet=quiet, overwrite=force, executor=executor, shard=shard, yes=yes)
    if outcome.plan.points and as_csv:
        echo(_csv(read_sweep(out)), nl=False)
    elif outcome.plan.points:
        _print_numbers(read_sweep(out))
    return status(outcome)


# Rows of the table that a sweep ends with, at most.
MOST_ROWS = 60


def _print_numbers(results: Sweep) -> None:
    """A row for each variant and place on the axes: numbers of finished runs, each a mean over seeds."""
    groups = by_place(results)
    keys = list(dict.fromkeys(key for one in results for key in one.axes))
    # Each summary is a file: those of rows that are not shown are not read.
    shown = {_cells_of_place(own[0], keys): [one.run.summary for one in own] for own in groups[:MOST_ROWS]}
    of_first = of_jobs(one for summaries in shown.values() for one in summaries)
    rows = [(*place, *_cells(summaries, of_first)) for place, summaries in shown.items()]
    jobs = (SHORT_HEADS.get(name.split(".", 2)[2], name) for name in of_first)
    heads = ("variant", *keys, "runs", *jobs, "flows done", "mean FCT", "p99 FCT", "drops")
    print_table(heads, rows)
    judged = {" ".join(place): summaries for place, summaries in shown.items()}
    of_shown = (point for own in groups[:MOST_ROWS] for point in own)
    times = {own[0].variant: times_in(own[0].scenario) for own in reversed(groups[:MOST_ROWS])}
    print_notes((*unlike_times(times), *unsteady(judged), *earlier(of_shown)))
    if len(groups) > MOST_ROWS:
        echo(f"{len(groups) - MOST_ROWS} more rows are in the report: headway report {results.directory}")


# Share of a sweep, and seconds of it, after which the time left is known.
TELLING_SHARE = 0.02
TELLING_S = 1.0
# Heads of the columns of a job, which are the first ones.
SHORT_HEADS = {
    "completion_s": "completion",
    "algorithm_bandwidth_bps": "algorithm bw",
    "bus_bandwidth_bps": "bus bw",
    "straggler.behind_s": "last behind",
}
# Numbers of the table as CSV.
OF_CSV = ("flows_done", *NOT_DONE, "fct_mean_s", "fct_p50_s", "fct_p99_s", "fct_max_s", "slowdown_mean", "slowdown_p99",
          "drops", "queue_max_bytes")  # fmt: skip


def _csv(results: Sweep) -> str:
    """A row for each number at each place: its mean over seeds, with half of the 95 % interval."""
    keys = list(dict.fromkeys(key for one in results for key in one.axes))
    names = (*of_jobs(one.summary for one in results), *OF_CSV)
    rows = []
    for own in by_place(results):
        place = (own[0].variant, *(own[0].axes.get(key) for key in keys))
        for name in names:
            if (found := over_seeds([summary_number(point, name) for point in own])) is not None:
                unit = UNITS.get(summary_label(name)[1], "1")
                rows.append((*place, name, unit, found.mean, found.half_width, found.count, name_of(found.mean)))
    return as_csv(("variant", *keys, "number", "unit", "mean", "half_width_95", "seeds", "mean_is"), rows)


def _cells_of_place(point: Point, keys: Sequence[str]) -> tuple[str, ...]:
    """Its variant, and its value on every axis."""
    return (point.variant, *(str(point.axes.get(key, "")) for key in keys))


def _cells(summaries: Sequence[Mapping[str, Any]], of_first: Sequence[str]) -> tuple[str, ...]:
    """Numbers of the runs of one row, those of the first job in front."""
    jobs = []
    for name in of_first:
        found = over_seeds([summary_value(one, name) for one in summaries])
        jobs.append(display(summary_label(name)[1], found.mean) if found else "-")
    count = {key: sum(one.get(key) or 0 for one in summaries) for key in ("flows_done", *NOT_DONE)}
    times = []
    for key in ("fct_mean_s", "fct_p99_s"):
        found = over_seeds([summary_value(one, key) for one in summaries])
        times.append(duration(found.mean) if found else "-")
    drops = sum(one.get("drops") or 0 for one in summaries) / len(summaries)
    return (str(len(summaries)), *jobs, f"{count['flows_done']}/{sum(count.values())}", *times, f"{drops:.4g}")


def status(outcome: SweepOutcome) -> int:
    """The exit status that says how a sweep ended."""
    if outcome.interrupted:
        return INTERRUPTED
    return FAILED if outcome.count(State.FAILED) else 0


def run_watched(
    planned: SweepPlan,
    jobs: int | None,
    *,
    quiet: bool,
    overwrite: bool,
    executor: Executor,
    shard: Shard | None = None,
    warn: bool = True,
    judged: bool = False,
    yes: bool | None = None,
) -> SweepOutcome:
    """Run a sweep with progress, one line a point, and a closing line.

    `warn` also shows what runs warn of; `judged` says that its claims are judged after it, which takes time too.
    Unless `yes` is `None`, a large amount to be written is asked about first, or goes on by `yes`.
    """
    began = time.monotonic()
    mine = planned.points if shard is None else shard.of(planned.points)
    remote = executor.remote(len(mine), jobs)
    ahead = cache(partial(forecast, mine, planned.file.name, jobs, judged=judged, remote=remote))
    if yes is not None and mine:
        smaller = "fewer seeds, another --scale, or less in [sample] write less"
        ask(ahead().bytes, planned.out, yes=yes, smaller=smaller)
    with Stop().listening() as stop, Progress(quiet=quiet) as bars:

        def asked() -> bool:
            # Executors call this again and again, also while nothing moves.
            bars.tick()
            return stop()

        display = _Display(bars, planned.file.name, ahead, quiet=quiet)
        outcome = run_sweep(
            planned,
            jobs=jobs,
            observer=display,
            stop_requested=asked,
            overwrite=overwrite,
            executor=executor,
            shard=shard,
        )
    _print_end(outcome, shard, time.monotonic() - began, quiet)
    if display.stored and not quiet:
        echo(f"{store.said_of(len(display.stored), display.stored)}; {store.VARIABLE}=off runs all", err=True)
    in_order = {p.label: display.warnings[p.label] for p in planned.points if warn and p.label in display.warnings}
    print_warnings(in_order, "the `warnings` of each point's manifest.json", len(planned.points))
    # Asked for when nothing was left to stop here, it is meant for what would come next.
    if stop() and not outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


def announce(ahead: Forecast, before: str = "") -> None:
    """Say beforehand the work to do, and the time and space that it will take."""
    if ahead.points > 1:
        echo(f"{before}{ahead.text()}")


class _Display:
    """Shows a sweep on the terminal: one line a point, bars for those under way and for the whole."""

    def __init__(self, bars: Progress, name: str, ahead: Callable[[], Forecast], *, quiet: bool) -> None:
        self._bars = bars
        self._name = name
        self._ahead = ahead
        self._quiet = quiet
        self._began = time.monotonic()
        self._total = self._ended = self._reused = 0
        self._fractions: dict[str, float] = {}
        self._notes: set[str] = set()
        self.warnings: dict[str, list[str]] = {}
        self.stored: list[str] = []

    def planned(self, total: int, done: int, notes: list[str]) -> None:
        self._total, self._ended, self._reused = total, done, done
        if not self._quiet and total > 1:
            self._bars.say(self._ahead().text())
        for note in notes:
            self._bars.note(note)
        self._show_whole()

    def noted(self, text: str) -> None:
        self._bars.note(text, error=True)

    def progressed(self, label: str, state: dict[str, Any] | None) -> None:
        self._fractions[label] = (state or {}).get("fraction", 0.0)
        self._bars.update(label, state)
        self._show_whole()

    def finished(self, point: Job, result: Finished) -> None:
        self._end(point)
        if warnings := surprising(result.manifest):
            self.warnings[point.label] = warnings
        if result.reused:
            self.stored.append(str(result.manifest.get("digest")))
        if result.note and result.note not in self._notes:
            self._notes.add(result.note)
            self._bars.note(f"warning: {result.note}", error=True)
        stopped = "stopped: " if result.interrupted else "from the store: " if result.reused else ""
        if (self._bars.live or is_verbose()) and not self._quiet:
            jobs = [text for text in lines_of(result.summary) if not text.startswith(" ")][:1]
            line = ", ".join((*jobs, one_line(result.summary, result.manifest)))
            self._bars.note(f"[{self._ended}/{self._total}] {point.label}: {stopped}{line}")

    def failed(self, point: Job, error: str) -> None:
        self._end(point)
        self._bars.note(f"[{self._ended}/{self._total}] {point.label}: failed: {error}", error=True)

    def lost(self, label: str) -> None:
        self._bars.remove(label)
        self._fractions.pop(label, None)
        self._show_whole()

    def waiting(self, points: Sequence[Job]) -> None:
        labels = ", ".join(point.label for point in points[:3]) + (" ..." if len(points) > 3 else "")
        self._bars.note(f"waiting for {len(points)} that another process is running: {labels}")

    def elsewhere(self, point: Job) -> None:
        self._end(point)

    def _end(self, point: Job) -> None:
        self._bars.remove(point.label)
        self._fractions.pop(point.label, None)
        self._ended += 1
        self._show_whole()

    def _show_whole(self) -> None:
        """The whole sweep, with the time left at the pace of the runs so far."""
        if self._total < 2:
            return
        begun = self._ended + sum(self._fractions.values())
        worked = begun - self._reused
        note = f"{self._ended}/{self._total} points"
        left = self._total - begun
        # All may be there already, and reading them may have taken a while.
        if worked > 0 and worked >= TELLING_SHARE * (worked + left) and time.monotonic() - self._began >= TELLING_S:
            left_s = (time.monotonic() - self._began) * left / worked
            note += f", about {wait(max(0.0, left_s))} left"
        self._bars.overall(self._name, begun / self._total, note)


def _print_end(outcome: SweepOutcome, shard: Shard | None, wall_s: float, quiet: bool) -> None:
    if not outcome.plan.points:
        echo(f"{outcome.plan.file.name}: a model, nothing to run", err=quiet)
        return
    done, failed = outcome.count(State.DONE), outcome.count(State.FAILED)
    part = f", shard {shard}" if shard is not None else ""
    total = len(outcome.plan.points) - len(outcome.others)
    text = f"{outcome.plan.file.name}{part}: {done}/{total} points done"
    if outcome.reused:
        text += f" ({outcome.reused} from before)"
    if outcome.stored:
        text += f" ({outcome.stored} from the store)"
    if outcome.elsewhere:
        text += f" ({outcome.elsewhere} by other processes)"
    if failed:
        text += f", {failed} failed"
    if outcome.interrupted:
        text += ", stopped; the same command goes on from here"
    if not quiet or failed or outcome.interrupted:
        echo(f"{text}, in {duration(wall_s)}; {outcome.plan.out}", err=quiet)
    if outcome.others and not quiet:
        left = outcome.left
        echo(f"other shards: {len(outcome.others) - left}/{len(outcome.others)} points done")


COMMAND = sweep
