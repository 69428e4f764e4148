"""The commands as functions: they return the data that the command line prints.

Nothing here prints, and each function may be called from several threads at once, with directories of their own.
`overwrite` is `--force`, as it is of `headway.sweep`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from headway import names
from headway.claims.record import record as put_on_record
from headway.data.explanation import Explanation
from headway.data.run import Run
from headway.data.sweep import Sweep
from headway.difference import Difference, side
from headway.difference import diff as compare_events
from headway.directories import directory_of
from headway.errors import ArgumentError, HeadwayError, ResultsError
from headway.explaining.bench import Stopped
from headway.explaining.run import SEEDS, Request, explain_target
from headway.explaining.search import BEST, TRAJECTORIES
from headway.explaining.targets import SEARCH_SEEDS
from headway.loading import Threads, assignments, thread_count
from headway.names import ScenarioFile
from headway.progress import of_sweep
from headway.reporting.look import Look
from headway.reports import Format, ReportFiles, write_report
from headway.reproducing.figure import judge_figure, plan_figure
from headway.reproducing.figure import write_report as write_page
from headway.reproducing.papers import Done, papers_of
from headway.reproducing.result import Reproduction, Reproductions
from headway.sweeps import Shard, SweepOutcome, SweepPlan, run_sweep
from headway.sweeps.executor import Executor
from headway.sweeps.executors import executor_of

Scale = Literal["smoke", "proxy", "paper"]


def reproduce(
    figure: str | Path,
    out: str | Path,
    *,
    scale: Scale | None = None,
    seeds: int | None = None,
    sets: Mapping[str, Any] | Sequence[str] = (),
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,  # noqa: ANN401  (a name, or any pool)
    shard: str | None = None,
    overwrite: bool = False,
    record: bool = False,
    progress: bool | None = None,
) -> Reproduction:
    """Run a published figure's sweep, judge the paper's claims about it, and write `report.html`: `headway reproduce`.

    >>> done = headway.reproduce("amrt/fig01", "out/fig01", scale="smoke")
    >>> [(claim.id, claim.verdict) for claim in done.claims]

    Points that fail are in `.sweep.failed`. `progress` is as of `headway.sweep`. Raises `KeyboardInterrupt` if it is
    stopped; called again, it goes on.
    """
    overrides = assignments(sets)
    if record and overrides:
        raise ArgumentError("--record is for the scenario as it is written, without --set")
    file = names.resolve(str(figure))
    planned = plan_figure(
        file,
        directory_of(out),
        sets=_with_seeds(overrides, seeds),
        scale=scale,
        threads=_threads(threads),
        jobs=jobs,
        strict=True,
    )
    with _executor(executor) as where:
        outcome = run_sweep(
            planned,
            jobs=jobs,
            observer=of_sweep(file.name, progress),
            overwrite=overwrite,
            executor=where,
            shard=None if shard is None else Shard.parse(shard),
        )
    done = _settle(file, outcome, scale, record=record)
    if done.interrupted:
        raise KeyboardInterrupt
    return Reproduction.read(planned.out)


def reproduce_all(
    paper: str | None,
    out: str | Path,
    *,
    scale: Scale | None = None,
    seeds: int | None = None,
    sets: Mapping[str, Any] | Sequence[str] = (),
    jobs: int | None = None,
    threads: Threads = 1,
    executor: Any = None,  # noqa: ANN401  (a name, or any pool)
    shard: str | None = None,
    overwrite: bool = False,
    record: bool = False,
    progress: bool | None = None,
) -> Reproductions:
    """Reproduce every figure of a paper (`"amrt"`), or of all papers (`None`): `headway reproduce --all`.

    Each has its own directory below `out`, and `index.html` there shows all of them. Arguments are as of `reproduce`.
    """
    overrides = assignments(sets)
    if record and overrides:
        raise ArgumentError("--record is for the scenario as it is written, without --set")
    directory, papers = directory_of(out), papers_of(paper)
    every = _with_seeds(overrides, seeds)
    papers.check_sets(every, scale)
    plan = partial(plan_figure, sets=every, scale=scale, threads=_threads(threads), jobs=jobs)
    plans = {file.name: plan(file, directory / file.name) for file in papers.every}
    done: dict[str, Done] = {}
    with _executor(executor) as where:
        for file in papers.every:
            outcome = run_sweep(
                plans[file.name],
                jobs=jobs,
                observer=of_sweep(file.name, progress),
                overwrite=overwrite,
                executor=where,
                shard=None if shard is None else Shard.parse(shard),
            )
            done[file.name] = _settle(file, outcome, scale, record=record)
            if outcome.interrupted:
                break
    page = papers.write_site(directory, done, scale, seeds)
    if any(one.interrupted for one in done.values()):
        raise KeyboardInterrupt
    return Reproductions(directory, tuple(Reproduction.read(directory / name) for name in done), page)


def explain(
    target: str,
    out: str | Path,
    *,
    seeds: int = SEEDS,
    search_seeds: int | None = None,
    trajectories: int | None = None,
    best: int | None = None,
    search_only: bool = False,
    whole: bool | None = None,
    readings: Sequence[str] = (),
    figures: Sequence[str] = (),
    jobs: int | None = None,
    executor: Any = None,  # noqa: ANN401  (a name, or any pool)
    overwrite: bool = False,
    record: bool = False,
) -> Explanation:
    """Search the readings of a paper under which its claims come out: `headway explain`.

    `target` is a claim, a figure or a paper. `whole=False` is `search_only=True`: nothing is held against whole
    figures. Numbers that are None are those of the command line. Raises
    `KeyboardInterrupt` if it is stopped; called again, it goes on from there.
    """
    with _executor(executor) as where:
        request = Request(
            target=target,
            out=directory_of(out),
            executor=where,
            jobs=jobs,
            seeds=seeds,
            search_seeds=SEARCH_SEEDS if search_seeds is None else search_seeds,
            trajectories=TRAJECTORIES if trajectories is None else trajectories,
            most=BEST if best is None else best,
            search_only=search_only or whole is False,
            readings=tuple(readings),
            figures=tuple(figures),
            record=record,
        )

        def run(plan: SweepPlan) -> SweepOutcome:
            return run_sweep(plan, jobs=jobs, overwrite=overwrite, executor=where)

        try:
            return explain_target(request, run)
        except Stopped:
            raise KeyboardInterrupt from None


def report(
    results: str | Path | Run | Sweep | Reproduction | Sequence[str | Path],
    *,
    format: Format = "html",
    replay: bool = False,
    brief: bool = False,
    **look: Any,  # noqa: ANN401
) -> ReportFiles:
    """Write the report of a run, a sweep or a reproduction into its directory: `headway report`. Returns the files.

    `html` is one page, `report.html`. The other formats are one file a figure, in `figures/`: pictures, or as `csv` the
    values that they show. `look` says how pictures are to look: `width` and `height` in inches, `style`, `font`,
    `variants`, `labels`, `xscale`, `yscale`, `xlim`, `ylim`, `legend`, as for `sweep.plot.figure`. With `replay`, the
    page of a small run also shows its packets on the topology. With `brief`, it is one page to decide by, `brief.html`.
    A list of files is one of traces of messages between
    real hosts (`trace_file` of an endpoint), whose page is written beside the first.
    """
    given = results if isinstance(results, str | Path | Sequence) else results.directory
    if given is None:
        raise ResultsError(Path("run"), "this run was not written to a directory", "run it with out=...")
    places = (given,) if isinstance(given, str | Path) else tuple(given)
    if not places:
        raise HeadwayError("an empty list names neither results nor traces")
    wanted, others = Look.of(look)
    if others:
        raise TypeError(f"report() takes no `{next(iter(others))}`")
    return write_report(
        tuple(map(directory_of, places)), format, replay=replay, look=wanted if look else None, brief=brief
    )


def diff(
    left: str | Path,
    right: str | Path,
    *,
    left_set: Mapping[str, Any] | Sequence[str] = (),
    right_set: Mapping[str, Any] | Sequence[str] = (),
) -> Difference:
    """Run two scenarios, or two run directories again, and find the first event in which they differ: `headway diff`.

    `left_set` and `right_set` override keys of each.
    """
    found = compare_events(side(left, assignments(left_set)), side(right, assignments(right_set)))
    assert found is not None, "nothing stops it on the way"
    return found


def _settle(file: ScenarioFile, outcome: SweepOutcome, scale: Scale | None, *, record: bool) -> Done:
    """Judge a figure whose sweep has ended, put its verdicts on record, and write its page."""
    judged = judge_figure(file, outcome, scale)
    if record and not outcome.interrupted and not outcome.left:
        put_on_record(file, judged.results, scale)
    page = write_page(file, outcome, judged) if judged.has_report else None
    return Done(judged.claims, page, outcome.interrupted)


@contextmanager
def _executor(what: Any) -> Iterator[Executor]:  # noqa: ANN401  (a name, or any pool)
    """An executor, which is closed if it was made here."""
    where = executor_of(what)
    try:
        yield where
    finally:
        if where is not what:
            where.close()


def _with_seeds(overrides: Sequence[str], seeds: int | None) -> tuple[str, ...]:
    return (*overrides, *([] if seeds is None else [f"sweep.seeds={seeds}"]))


def _threads(threads: Threads) -> Threads:
    return threads if threads == "auto" else thread_count(threads)
