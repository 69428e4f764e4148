"""Findings of a search so far, and the readings that they suggest to try next."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from headway.claims.choices import Choice, Reading, Value
from headway.claims.ledger import Claim
from headway.claims.verdict import TOLERANCE_PERCENT
from headway.data.claims import Verdict
from headway.data.explanation import Step
from headway.explaining import combine
from headway.explaining.bench import Bench, Outcome, distance
from headway.explaining.combine import LEVELS, Values
from headway.explaining.reach import Reach

AS_WRITTEN = Reading()
# A choice matters to a claim that it moves by at least half of its tolerance.
MATTERS = 0.5


@dataclass
class Effect:
    """Effect of a choice on claims: by itself, and over Morris' trajectories its mean effect and their spread."""

    choice: str
    alone: dict[str, float] = field(default_factory=dict)
    mean: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)

    def on(self, claim: str) -> float:
        """The largest effect on a claim: a spread too says that a choice moves it, together with others."""
        return max(kind.get(claim, 0.0) for kind in (self.alone, self.mean, self.spread))


@dataclass
class Found:
    """Findings of the search so far."""

    effects: dict[str, Effect] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    factors: tuple[str, ...] = ()
    best: Reading = AS_WRITTEN
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Findings:
    """Knowledge of a bench's claims, and the readings that it suggests to try next."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.found = Found()
        scopes = {figure.name for figure in bench.figures}
        self.choices = tuple(c for c in bench.choices.all if any(c.in_scope(name) for name in scopes))
        # Runs under the others take too long for hundreds of readings.
        self.combined = tuple(c for c in self.choices if not c.costly)
        self.reach = Reach(bench.figures)

    def along(self, choice: Choice, reading: Reading) -> list[tuple[float, dict[str, Outcome]]]:
        """The values of a range that were tried with everything else as in a reading, and the verdicts."""
        others = self._with(reading, choice, choice.default)
        found = {}
        for tried in self.bench.readings():
            if self._with(tried, choice, choice.default) == others:
                found[float(tried.of(choice))] = self.bench.under(tried)
        return sorted(found.items())

    def smallest(self, claim: str) -> Reading | None:
        """The reading that takes the fewest and most natural changes of those under which a claim is reproduced."""
        fit = [r for r in self.bench.readings() if (o := self.bench.outcome(claim, r)) is not None and o.reproduced]
        return min(fit, key=self._cost, default=None)

    def _open(self) -> list[Claim]:
        """Claims that do not come out as stated and that are not known to be out of reach."""
        base = self.bench.under(AS_WRITTEN)
        closed = self.found.closed
        return [c for c in self.bench.claims if c.id not in closed and c.id in base and not base[c.id].reproduced]

    def _close(self) -> None:
        """Give up claims that no transport could show under any reading that was tried."""
        for claim in self.bench.claims:
            outcomes = [self.bench.outcome(claim.id, reading) for reading in self.bench.readings()]
            bounds = [outcome.bound for outcome in outcomes if outcome is not None and outcome.bound is not None]
            if bounds and not any(bound.reachable for bound in bounds):
                self.found.closed.add(claim.id)

    def _ranked(self, claim: Claim) -> list[Values]:
        """The choices that matter to a claim, with the values to combine, those first that matter most to it."""
        mattering = [c for c in self.combined if self.reach.touches(c, claim) and self._effect(c, claim) >= MATTERS]
        mattering.sort(key=lambda c: (-self._gain(claim, c), -self._effect(c, claim)))
        return [(choice, combine.few(choice, partial(self._nearness, claim, choice))) for choice in mattering]

    def _ranked_for_all(self) -> list[Values]:
        """The choices that matter to any claim, those first that bring the most claims to a better verdict."""
        claims = self._open()
        mattering = [c for c in self.combined if any(self._effect(c, claim) >= MATTERS for claim in claims)]

        def pull(choice: Choice) -> tuple[float, float]:
            gains = sum(self._gain(claim, choice) for claim in claims)
            return -gains, -sum(min(1.0, self._effect(choice, claim)) for claim in self.bench.claims)

        def worth(choice: Choice, value: Value) -> tuple[float, ...]:
            return self.score(self._with(AS_WRITTEN, choice, value))[:2]

        mattering.sort(key=pull)
        return [(choice, combine.few(choice, partial(worth, choice))) for choice in mattering]

    def _pairs(self, claim: Claim) -> list[tuple[Values, Values]]:
        """Pairs of choices of one transport of a claim, those first that Morris' trajectories say most of."""
        touching = [choice for choice in self.combined if self.reach.touches(choice, claim)]
        pairs = [two for two in itertools.combinations(touching, 2) if self.reach.meet(*two, claim)]

        def order(two: tuple[Choice, Choice]) -> tuple[float, ...]:
            effects = sorted(self._effect(choice, claim) for choice in two)
            costs = self.bench.choices.reading({c.id: combine.changed(c)[0] for c in two})
            return -effects[0], -effects[1], *self._cost(costs)[:2]

        pairs.sort(key=order)
        return [((one, combine.changed(one)), (other, combine.changed(other))) for one, other in pairs]

    def _effect(self, choice: Choice, claim: Claim) -> float:
        return self.found.effects[choice.id].on(claim.id)

    def _gain(self, claim: Claim, choice: Choice) -> int:
        """By how many verdicts a choice betters a claim alone."""
        stated = self.bench.outcome(claim.id, AS_WRITTEN)
        here = (stated.rank if stated is not None else None) or 0
        return max([(o.rank or 0) - here for o in self._outcomes(claim, choice)], default=0)

    def _nearness(self, claim: Claim, choice: Choice, value: Value) -> tuple[float, ...]:
        """Greater is better: the verdict on a claim, and its distance from the published value."""
        outcome = self.bench.outcome(claim.id, self._with(AS_WRITTEN, choice, value))
        if outcome is None or outcome.rank is None:
            return (-1.0,)
        number = in_tolerances(claim, outcome)
        return outcome.rank, -abs(number - _published(claim)) if number is not None else 0.0

    def _outcomes(self, claim: Claim, choice: Choice) -> list[Outcome]:
        readings = (self._with(AS_WRITTEN, choice, value) for value in choice.grid(LEVELS))
        found = (self.bench.outcome(claim.id, reading) for reading in readings)
        return [outcome for outcome in found if outcome is not None]

    def _choose(self) -> None:
        """The reading under which most claims come out, with the fewest changes."""
        self.found.best = max(self.bench.readings(), key=self.score)

    def best(self, most: int) -> list[Reading]:
        """The readings under which most claims come out, the best first; only those that are better than as stated."""
        better = [r for r in self.bench.readings() if self.score(r)[:2] > self.score(AS_WRITTEN)[:2]]
        return sorted(better, key=self.score, reverse=True)[:most]

    def score(self, reading: Reading) -> tuple[float, ...]:
        """Greater is better: claims reproduced, claims at least in direction, then fewer and more natural changes."""
        outcomes = [o for o in self.bench.under(reading).values() if o.rank is not None]
        reproduced = sum(1 for o in outcomes if o.reproduced)
        direction = sum(1 for o in outcomes if o.verdict is not Verdict.NOT_REPRODUCED)
        return (reproduced, direction, *(-cost for cost in self._cost(reading)))

    def _cost(self, reading: Reading) -> tuple[float, ...]:
        """Degrees of freedom, how strained they are, and how far from the default."""
        choices = self.bench.choices
        far = sum(_share(choices[name], value) for name, value in reading.values)
        return choices.degrees(reading), choices.strain(reading), far

    def _with(self, reading: Reading, choice: Choice, value: Value) -> Reading:
        return self.bench.choices.reading({**dict(reading.values), choice.id: value})

    def _conflict(self, reading: Reading) -> bool:
        return bool(self.bench.choices.conflict(reading))

    def _moved(self, claim: Claim, reading: Reading) -> float:
        base, here = (self.bench.outcome(claim.id, one) for one in (AS_WRITTEN, reading))
        return distance(claim, here, base) if base is not None and here is not None else 0.0

    def _without(self, reading: Reading, names: Sequence[str]) -> Reading:
        return self.bench.choices.reading({name: value for name, value in reading.values if name not in names})

    def _untried(self, readings: Iterable[Reading], wanted: Container[str]) -> dict[str, Reading]:
        """Readings that make sense, and are neither tried nor wanted already, by key."""
        known = self.bench.tried
        return {r.key: r for r in readings if r.key not in known and r.key not in wanted and not self._conflict(r)}


def _published(claim: Claim) -> float:
    """The published number, in tolerances."""
    published = claim.published
    assert isinstance(published, int | float)
    return published / _tolerance(claim)


def _tolerance(claim: Claim) -> float:
    return abs(float(cast("float", claim.published))) * TOLERANCE_PERCENT.get(claim.qualifier, 10.0) / 100.0


def in_tolerances(claim: Claim, outcome: Outcome | None) -> float | None:
    """The measured number, in tolerances; None if it is not one number, or nothing can be said of tolerances."""
    if outcome is None or outcome.number is None or not isinstance(claim.published, int | float):
        return None
    return outcome.number / _tolerance(claim) if claim.published else None


def as_rank(claim: Claim, outcome: Outcome | None) -> float | None:
    """A verdict as a number."""
    return None if outcome is None or outcome.rank is None else float(outcome.rank)


def _share(choice: Choice, value: Value) -> float:
    """Distance of a value from the default, as a share of the range; 1 for another of several values."""
    if choice.span is None:
        return 1.0
    return abs(float(value) - float(choice.default)) / (choice.span[1] - choice.span[0])
