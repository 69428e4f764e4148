"""Runs the points of a sweep on real packets: one after the other, since each takes the machine for itself.

A repetition is a seed. All points of the first repetition come before those of the second, so that what is finished
when it is stopped are whole repetitions; the same command goes on from there.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from headway.data.machine import Work, machine
from headway.data.reader import glance
from headway.directories import drop_derived
from headway.errors import HeadwayError
from headway.layout import MANIFEST_FILE, POINT_FILE
from headway.locks import held
from headway.sweeps.board import SweepOutcome
from headway.sweeps.plan import Job, State, SweepPlan, settle
from headway.sweeps.sharing import entered

# Runs a point into its partial directory; returns true if it came to its end.
Measure = Callable[[Job], bool]
# Hears of a point: its place in the list, the point, and its error.
Told = Callable[[int, Job, str], None]


def real_plan(plan: SweepPlan, variants: Collection[str], slowdown: int | None) -> SweepPlan:
    """The points of some variants, repetition by repetition, told apart from simulated ones and other slowdowns."""
    points = [
        replace(point, digest=_digest(point.digest, slowdown))
        for point in sorted(plan.points, key=lambda point: point.point.seed)
        if point.point.variant in variants
    ]
    if not points:
        raise HeadwayError(f"{plan.file.name} runs nothing: there is nothing to measure on real packets")
    return replace(plan, points=tuple(points))


def _digest(simulated: str, slowdown: int | None) -> str:
    return hashlib.sha256(f"testbed {slowdown} {simulated}".encode()).hexdigest()


def run_in_turn(plan: SweepPlan, measure: Measure, told: Told, *, overwrite: bool = False) -> SweepOutcome:
    """Run the points that are not finished; a point that fails costs the others nothing.

    Raises `ResultsError` if the directory cannot be written, or holds another sweep and `overwrite` is false.
    """
    with entered(plan, overwrite=overwrite):
        states, _ = plan.survey()
        outcome = SweepOutcome(plan, states, reused=sum(1 for state in states.values() if state is State.DONE))
        if outcome.reused < len(plan.points):
            drop_derived(plan.out)
        for place, point in enumerate(plan.points, 1):
            if states[point.label] is State.DONE:
                continue
            told(place, point, "")
            states[point.label] = _run(point, measure, outcome.errors)
            if states[point.label] is State.FAILED:
                told(place, point, outcome.errors[point.label])
            plan.record(outcome.states, outcome.errors)
            if states[point.label] is State.INTERRUPTED:
                break
        plan.record(outcome.states, outcome.errors)
    return outcome


def _run(point: Job, measure: Measure, errors: dict[str, str]) -> State:
    with held(point.lock) as mine:
        if not mine:
            errors[point.label] = "another process is running it"
            return State.FAILED
        shutil.rmtree(point.partial, ignore_errors=True)
        before = Work.now()
        try:
            if not measure(point):
                return State.INTERRUPTED
        except HeadwayError as error:
            errors[point.label] = str(error)
            return State.FAILED
        settle(point, {"machine": machine(), "other_work": round(Work.now().others_since(before), 2)})
        return State.DONE


def conditions(plan: SweepPlan) -> dict[str, Any]:
    """Circumstances of the finished points: their machines, how much other work these had, and how late frames were.

    `other_work` is in processors, `late_s` the lateness that 99 % of the frames to hosts did not exceed; both are those
    of the worst run. `slowdown` is the one that the runs had, where they say it.
    """
    machines: list[dict[str, Any]] = []
    work, late = 0.0, 0.0
    slowdowns: set[int] = set()
    for point in plan.points:
        if not point.is_finished:
            continue
        said = glance(point.directory / POINT_FILE) or {}
        if said.get("machine") and said["machine"] not in machines:
            machines.append(said["machine"])
        work = max(work, said.get("other_work") or 0.0)
        about = (glance(point.directory / MANIFEST_FILE) or {}).get("testbed") or {}
        slowdowns |= {about["slowdown"]} if "slowdown" in about else set()
        # The unit of `switch_late_ns` is a real nanosecond at any slowdown.
        late = max(late, ((about.get("switch_late_ns") or {}).get("p99") or 0) * 1e-9)
    found: dict[str, Any] = {"machine": machines, "other_work": work, "late_s": late}
    return found | ({"slowdown": slowdowns.pop()} if len(slowdowns) == 1 else {})
