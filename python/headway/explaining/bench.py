"""Judges claims under readings, and remembers the verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.claims.choices import Choices, Reading
from headway.claims.evaluate import evaluate_claims, finished_runs
from headway.claims.ledger import Claim
from headway.claims.verdict import TOLERANCE_PERCENT
from headway.data.claims import Interval, Value, Verdict
from headway.data.point import Point
from headway.data.sweep import read_entries
from headway.errors import HeadwayError
from headway.explaining.bound import Bound, bound_of
from headway.explaining.points import Figure, Place, Trace, by_reading, looked_at, place, plan_readings, restricted
from headway.sweeps import SweepOutcome, SweepPlan

RunSweep = Callable[[SweepPlan], SweepOutcome]
# The order of verdicts, the best last.
RANKS = {Verdict.NOT_REPRODUCED: 0, Verdict.DIRECTION_ONLY: 1, Verdict.REPRODUCED: 2}


class Stopped(Exception):
    """The user stopped a sweep; finished points stay."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a claim under a reading."""

    verdict: Verdict
    measured: Value | None
    ci95: Interval | None
    seeds: int
    reason: str
    bound: Bound | None

    @property
    def rank(self) -> int | None:
        """2 for reproduced, 1 for the direction only, 0 for neither; none if nothing was measured."""
        return RANKS.get(self.verdict)

    @property
    def reproduced(self) -> bool:
        """True if the claim is reproduced."""
        return self.verdict is Verdict.REPRODUCED

    @property
    def number(self) -> float | None:
        """The measured value, if it is one number."""
        return self.measured if isinstance(self.measured, float) else None


class Bench:
    """Figures on which readings are tried."""

    def __init__(self, figures: Sequence[Figure], choices: Choices, out: Path, run: RunSweep) -> None:
        self.figures = tuple(figures)
        self.choices = choices
        self.tried: dict[str, Reading] = {}
        self.points = 0
        self._out = out
        self._run = run
        self._wanted: dict[str, frozenset[Place]] = {}
        self._figure_of = {claim.id: figure.name for figure in self.figures for claim in figure.claims}
        self._found: dict[tuple[str, str], dict[str, Outcome]] = {}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Every claim of its figures that can be measured."""
        return tuple(c for figure in self.figures for c in figure.claims if c.measure is not None)

    def try_all(self, step: str, readings: Iterable[Reading]) -> None:
        """Run the missing points of these readings; raises `Stopped` if the user stops it."""
        wanted = list(dict.fromkeys(reading for reading in readings if not self.choices.conflict(reading)))
        for figure in self.figures:
            parts = (restricted(reading, self.choices, figure.name) for reading in wanted)
            missing = [part for part in dict.fromkeys(parts) if (figure.name, part.key) not in self._found]
            if missing:
                self._figure(step, figure, missing)
        for reading in wanted:
            self.tried.setdefault(reading.key, reading)

    def recall(self, step: str, figure: Figure, outcomes: Mapping[str, Outcome]) -> None:
        """Take the verdicts on a figure as stated from the record; one seed is run, to see where its claims look."""
        one = replace(figure, seeds=1)
        runs = self._runs(step, one, [Reading()]).get(Reading().key, [])
        trace = Trace()
        evaluate_claims(figure.claims, trace.watch(runs), needs_runs=bool(figure.points))
        self._wanted[figure.name] = frozenset(trace.seen)
        self._found[figure.name, Reading().key] = dict(outcomes)

    def under(self, reading: Reading) -> dict[str, Outcome]:
        """The outcome of every claim under a reading that was tried; claims of figures without runs are left out."""
        found: dict[str, Outcome] = {}
        for figure in self.figures:
            part = restricted(reading, self.choices, figure.name)
            found |= self._found.get((figure.name, part.key), {})
        return found

    def outcome(self, claim: str, reading: Reading) -> Outcome | None:
        """The outcome of one claim under a reading, if there is one."""
        name = self._figure_of.get(claim)
        if name is None:
            return None
        return self._found.get((name, restricted(reading, self.choices, name).key), {}).get(claim)

    def readings(self) -> list[Reading]:
        """Every reading that was tried, in the order in which they were."""
        return list(self.tried.values())

    def _figure(self, step: str, figure: Figure, readings: Sequence[Reading]) -> None:
        runs = self._runs(step, figure, readings)
        for reading in readings:
            self._judge(figure, reading, runs.get(reading.key, []))

    def _runs(self, step: str, figure: Figure, readings: Sequence[Reading]) -> dict[str, list[Point]]:
        """The finished runs of a figure, by reading; none of one whose claims look at no run."""
        if not self._places(figure):
            return {}
        plan = plan_readings(figure, self.choices, readings, self._out / step / figure.name, self._places(figure))
        outcome = self._run(plan)
        if outcome.interrupted:
            raise Stopped
        self.points += len(plan.points)
        rows = read_entries(plan.out)
        return by_reading(finished_runs(plan.out, rows))

    def _judge(self, figure: Figure, reading: Reading, runs: list[Point]) -> None:
        trace = Trace()
        watched = trace.watch(runs)
        # A figure whose claims look at no run, only at its model, has none under any reading.
        results = evaluate_claims(figure.claims, watched, needs_runs=bool(self._places(figure)))
        self._found[figure.name, reading.key] = {
            one.claim.id: Outcome(
                one.judgement.verdict,
                one.judgement.measured,
                one.judgement.ci95,
                one.judgement.seeds,
                one.judgement.reason,
                bound_of(one.claim, runs),
            )
            for one in results
        }
        # A claim looks at the same points under every reading as it does as stated.
        if not reading.values:
            self._wanted[figure.name] = frozenset(trace.seen)

    def _places(self, figure: Figure) -> frozenset[Place]:
        """The points that the claims of a figure look at; before they have looked, those of the variants they name."""
        known = self._wanted.get(figure.name)
        if known is not None:
            return known
        return frozenset(place(point) for point in looked_at(figure))


def distance(claim: Claim, outcome: Outcome, base: Outcome) -> float:
    """Distance by which a reading moves a claim: in tolerances of the published value for a number, else in
    verdicts."""
    if outcome.rank is None or base.rank is None:
        return 0.0
    moved = float(abs(outcome.rank - base.rank))
    published = claim.published
    tolerance = TOLERANCE_PERCENT.get(claim.qualifier, 10.0) / 100.0
    if outcome.number is None or base.number is None or not isinstance(published, int | float) or not published:
        return moved
    return max(moved, abs(outcome.number - base.number) / (tolerance * abs(published)))


def nothing_to_try(choices: Mapping[str, Any], name: str) -> HeadwayError:
    """Error for a ledger that declares no choice."""
    return HeadwayError(f"{name}: its ledger declares no [[choice]] that has a part in it; docs/readings.md says how")
