"""Explains a claim, a figure or a paper: the search on short runs, and a check of its findings against whole
figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.claims.choices import Reading
from headway.data.explanation import Explanation
from headway.errors import ArgumentError
from headway.explaining import ahead, record
from headway.explaining.bench import Bench, RunSweep, Stopped
from headway.explaining.paper import Standing, hold
from headway.explaining.points import Figure
from headway.explaining.result import held_reading, search_found
from headway.explaining.search import BEST, TRAJECTORIES, Search
from headway.explaining.targets import SEARCH_SEEDS, Target, find
from headway.files import write_json
from headway.layout import EXPLAIN_FILE
from headway.sweeps import SweepOutcome, SweepPlan
from headway.sweeps.executor import Executor
from headway.sweeps.forecast import MOST_WORKERS

# Seeds of whole figures.
SEEDS = 5


@dataclass(frozen=True)
class Request:
    """Target of an explanation, and its thoroughness.

    `most` of the best readings of the search are held against whole figures. With `readings` nothing is searched:
    these are held. `figures` are those that readings are held against, if not all of the paper.
    """

    target: str
    out: Path
    executor: Executor
    jobs: int | None = None
    seeds: int = SEEDS
    search_seeds: int = SEARCH_SEEDS
    trajectories: int = TRAJECTORIES
    most: int = BEST
    search_only: bool = False
    readings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    record: bool = False


class _Counted:
    """Runs sweeps, and counts their points."""

    def __init__(self, run: RunSweep) -> None:
        self.points = 0
        self._run = run

    def __call__(self, plan: SweepPlan) -> SweepOutcome:
        outcome = self._run(plan)
        self.points += len(plan.points)
        return outcome


def explain_target(request: Request, run: RunSweep, say: Callable[[str], None] | None = None) -> Explanation:
    """Explain the target of `request`; the result is written to `explain.json` in its directory.

    `run` runs sweeps, and `say` is told what is about to be done. Raises `Stopped` if the user stops a sweep, and
    `ArgumentError` for arguments that contradict each other or the ledger.
    """
    if request.search_only and request.readings:
        raise ArgumentError("--search-only leaves no reading to hold")
    began = time.monotonic()
    found = find(request.target)
    counted = _Counted(run)
    given = [found.choices.parse(text.split(",")) for text in request.readings]
    for reading in given:
        if conflict := found.choices.conflict(reading):
            raise ArgumentError(conflict)
    whole = [] if request.search_only else _whole(found, request.seeds, request.figures)
    search = None if given else _search(found, request, counted, say or _silent)
    if say is not None:
        say(_ahead(found, request, search, whole, len(given) or request.most))
    try:
        # A search is a row of short sweeps.
        with request.executor.staying():
            if search is not None:
                search.run()
            best = given or (search.best(request.most) if search is not None else [])
            standings = _held(found, whole, request, counted, say or _silent, best) if whole else []
    except KeyboardInterrupt:
        raise Stopped from None
    result = Explanation(
        target=found.name,
        search=None if search is None else search_found(search),
        points=counted.points,
        wall_s=time.monotonic() - began,
        paper=tuple(held_reading(found.choices, one) for one in standings),
        directory=request.out,
    )
    write_json(request.out / EXPLAIN_FILE, result.document())
    if request.record:
        path, count = record.record(found, result)
        what = f"{count} {'bound' if request.search_only else 'claim'}{'s' * (count != 1)}"
        (say or _silent)(f"on record in {path}: {what}")
    return result


def _silent(text: str) -> None:
    pass


def _search(target: Target, request: Request, run: RunSweep, say: Callable[[str], None]) -> Search:
    seeds = request.search_seeds
    figures = target.to_search(seeds)
    scales = ", ".join(f"{f.name} ({f.scale or 'whole'})" for f in figures)
    bench = Bench(figures, target.choices, request.out / "search", run)
    search = Search(bench, lambda text: say(f"  {text}"), request.trajectories)
    say(f"{target.name}: {len(search.choices)} choices; the search runs {scales}, {seeds} seeds")
    return search


def _whole(target: Target, seeds: int, only: Sequence[str]) -> list[Figure]:
    """The whole figures that readings are held against."""
    figures = target.to_hold(seeds)
    if not only:
        return figures
    unknown = [name for name in only if not any(f.name.startswith(name) for f in figures)]
    if unknown:
        raise ArgumentError(f"no figure {unknown[0]!r}; there are: {', '.join(f.name for f in figures)}")
    return [f for f in figures if any(f.name.startswith(name) for name in only)]


def _ahead(target: Target, request: Request, search: Search | None, whole: Sequence[Figure], held: int) -> str:
    """Upper limits on the work, in words."""
    jobs, remote = request.jobs, request.executor.remote(MOST_WORKERS, request.jobs)
    short = ahead.of_search(search.bench, request.trajectories, jobs, remote) if search is not None else None
    long = ahead.of_holding(whole, target.choices, held, jobs, remote) if whole else None
    return ahead.in_words(short, long)


def whole_ahead(request: Request) -> str:
    """Work of holding the best readings against whole figures, in words."""
    found = find(request.target)
    whole = _whole(found, request.seeds, request.figures)
    remote = request.executor.remote(MOST_WORKERS, request.jobs)
    return ahead.of_holding(whole, found.choices, request.most, request.jobs, remote).text()


def _held(
    target: Target,
    figures: Sequence[Figure],
    request: Request,
    run: RunSweep,
    say: Callable[[str], None],
    readings: Sequence[Reading],
) -> list[Standing]:
    if not readings:
        return []
    for reading in readings:
        say(f"whole figures under {target.choices.show(reading)}: {len(figures)}, {figures[0].seeds} seeds")
    searched = frozenset[str]() if request.readings else frozenset(file.name for file in target.searched)
    standings, _ = hold(figures, target.choices, readings, searched, request.out, run)
    return sorted(standings, key=lambda one: one.strength, reverse=True)
