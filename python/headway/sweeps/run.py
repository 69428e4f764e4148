"""Runs a sweep: makes its directory ready, examines its content, and hands the rest to an executor."""

from __future__ import annotations

from collections.abc import Callable

from headway.directories import drop_derived
from headway.sweeps.board import Board, Observer, Silent, SweepOutcome
from headway.sweeps.executor import Executor
from headway.sweeps.executors.local import Local
from headway.sweeps.plan import Shard, State, SweepPlan
from headway.sweeps.sharing import entered


def run_sweep(
    plan: SweepPlan,
    *,
    jobs: int | None = None,
    observer: Observer | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
    overwrite: bool = False,
    executor: Executor | None = None,
    shard: Shard | None = None,
) -> SweepOutcome:
    """Run the points that are not finished, together with other processes that run the same sweep in the same
    directory.

    With a `shard`, only its points. Raises `ResultsError` if the directory cannot be written, or holds another sweep
    and `overwrite` is false.
    """
    watching = observer or Silent()
    with entered(plan, overwrite=overwrite):
        mine = plan.points if shard is None else shard.of(plan.points)
        states, notes = plan.survey(mine)
        labels = {point.label for point in mine}
        others = {point.label for point in plan.points if point.label not in labels}
        reused = sum(1 for state in states.values() if state is State.DONE)
        outcome = SweepOutcome(plan, states, reused=reused, others=others)
        if outcome.reused < len(mine):
            drop_derived(plan.out)
        watching.planned(len(mine), outcome.reused, notes)
        board = Board(outcome, mine, watching, stop_requested)
        try:
            (executor or Local()).run(board, jobs)
        finally:
            plan.record(outcome.states, outcome.errors, final=True)
    return outcome
