"""The search: what could be reached at all, which choices matter, what they give together, and where it ends."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.claims.choices import Choice, Choices, Reading, Value
from headway.claims.ledger import Claim
from headway.claims.verdict import Verdict
from headway.explain.bench import Bench, Outcome, distance

AS_WRITTEN = Reading()
# Values of a range that are tried by itself, and together with others.
LEVELS, FEWER_LEVELS = 5, 3
# A choice matters to a claim that it moves by at least half of its tolerance.
MATTERS = 0.5
# Choices that are tried in every combination, and combinations at most.
TOGETHER, COMBINATIONS = 4, 48
# Where a region ends is found to this share of the range.
PRECISION = 1 / 64
# Values of a range that are tried at most to find where regions end.
MOST_VALUES = 16
TRAJECTORIES = 4
# How often the search goes on from a better reading that it found around the best one.
ROUNDS = 3
# The best readings that are held against whole figures.
BEST = 3


@dataclass
class Effect:
    """How much a choice moves claims: by itself, and over Morris' trajectories its mean effect and their spread."""

    choice: str
    alone: dict[str, float] = field(default_factory=dict)
    mean: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """The largest effect on any claim."""
        return max([*self.alone.values(), *self.mean.values(), 0.0])


@dataclass
class Found:
    """What the search has found so far."""

    effects: dict[str, Effect] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    factors: tuple[str, ...] = ()
    best: Reading = AS_WRITTEN
    steps: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Search:
    """Finds the readings under which the claims of a bench come out."""

    def __init__(self, bench: Bench, tell: Callable[[str], None], trajectories: int = TRAJECTORIES) -> None:
        self.bench = bench
        self.found = Found()
        self._tell = tell
        self._trajectories = trajectories
        scopes = {figure.name for figure in bench.figures}
        self.choices = tuple(c for c in bench.choices.all if any(c.in_scope(name) for name in scopes))

    def run(self) -> Found:
        """All steps; raises `Stopped` if the user stops one of them."""
        self._step("as stated", [AS_WRITTEN])
        if self._open():
            self._alone()
            self._edges(AS_WRITTEN)
            self._close()
        if self._open():
            self._trajectories_of(self._mattering())
            self._together()
        self._choose()
        known = AS_WRITTEN
        for _ in range(ROUNDS):
            if self.found.best == known:
                break
            known = self.found.best
            self._edges(known)
            self._choose()
            self._around()
            self._choose()
        return self.found

    # --- steps ---

    def _step(self, name: str, readings: Iterable[Reading]) -> None:
        """Try readings, and keep what the step was."""
        wanted = [reading for reading in readings if not self._conflict(reading)]
        points, tried = self.bench.points, len(self.bench.tried)
        new = len({reading.key for reading in wanted} - self.bench.tried.keys())
        self._tell(f"{name}: {new} readings" if name != "as stated" else name)
        # A directory for each step: two steps along one range are two sweeps.
        self.bench.try_all(f"{len(self.found.steps):02}-{name.replace(' ', '-')}", wanted)
        step = {"name": name, "readings": len(self.bench.tried) - tried, "points": self.bench.points - points}
        self.found.steps.append(step)

    def _alone(self) -> None:
        """One choice at a time, at each of its values."""
        readings = [self._with(AS_WRITTEN, c, value) for c in self.choices for value in c.grid(LEVELS)]
        self._step("one at a time", readings)
        for choice in self.choices:
            effect = self.found.effects.setdefault(choice.id, Effect(choice.id))
            for claim in self.bench.claims:
                moves = (self._moved(claim, self._with(AS_WRITTEN, choice, v)) for v in choice.grid(LEVELS))
                effect.alone[claim.id] = max(moves, default=0.0)

    def _trajectories_of(self, choices: Sequence[Choice]) -> None:
        """Morris' trajectories over the choices that matter: effects from many places, not from one alone."""
        if len(choices) < 2:
            return
        from headway.explain import morris

        if not morris.installed():
            self.found.notes.append("no Morris screening: SALib is not installed: pip install SALib")
            return
        design = morris.Design(choices, self._trajectories)
        readings = [self.bench.choices.reading(dict(zip(design.names, row, strict=True))) for row in design.rows]
        self._step("trajectories", readings)
        for claim in self.bench.claims:
            answers = [None if self._conflict(r) else self._height(claim, r) for r in readings]
            for name, (mean, spread) in design.effects(answers).items():
                effect = self.found.effects[name]
                effect.mean[claim.id], effect.spread[claim.id] = mean, spread

    def _together(self) -> None:
        """Every combination of the few choices that matter most."""
        factors = sorted(self._mattering(), key=lambda c: -self._pull(c))[:TOGETHER]
        while factors and _combinations(grids := [self._few(choice) for choice in factors]) > COMBINATIONS:
            factors.pop()
        self.found.factors = tuple(choice.id for choice in factors)
        if len(factors) < 2:
            return
        readings = [
            self.bench.choices.reading(dict(zip(self.found.factors, values, strict=True)))
            for values in itertools.product(*grids)
        ]
        self._step("together", readings)

    def _around(self) -> None:
        """Every other choice moved alone from the best reading: what holds whatever it is."""
        best = self.found.best
        readings = [
            self._with(best, choice, value)
            for choice in self.choices
            for value in choice.grid(FEWER_LEVELS)
            if value != best.of(choice)
        ]
        self._step("around the best", readings)
        moved = (self.bench.choices[name] for name, _ in best.values)
        self._step("without one", [self._with(best, choice, choice.default) for choice in moved])

    def _edges(self, reading: Reading) -> None:
        """Where verdicts turn along each range, with all else as in a reading, by bisection of all claims at once."""
        names = [name for name, _ in reading.values] or [choice.id for choice in self.choices]
        for choice in (self.bench.choices[name] for name in names):
            while choice.span is not None and (middles := self._unsettled(choice, reading)):
                self._step(f"along {choice.id}", [self._with(reading, choice, value) for value in middles])

    def _unsettled(self, choice: Choice, reading: Reading) -> list[float]:
        """Values of a range halfway between two between which a claim turns."""
        assert choice.span is not None
        known = self.along(choice, reading)
        claims = [claim for claim in self.bench.claims if claim.id not in self.found.closed]
        middles = []
        for (low, below), (high, above) in itertools.pairwise(known):
            wide = high - low > PRECISION * (choice.span[1] - choice.span[0])
            if wide and any(_turns(claim, below.get(claim.id), above.get(claim.id)) for claim in claims):
                middles.append(choice.middle(low, high))
        return middles[: max(0, MOST_VALUES - len(known))]

    # --- what was found ---

    def along(self, choice: Choice, reading: Reading) -> list[tuple[float, dict[str, Outcome]]]:
        """The values of a range that were tried with everything else as in a reading, and what came out."""
        others = self._with(reading, choice, choice.default)
        found = {}
        for tried in self.bench.readings():
            if self._with(tried, choice, choice.default) == others:
                found[float(tried.of(choice))] = self.bench.under(tried)
        return sorted(found.items())

    def smallest(self, claim: str) -> Reading | None:
        """The reading that takes the fewest and most natural changes of those under which a claim comes out."""
        fit = [r for r in self.bench.readings() if (o := self.bench.under(r).get(claim)) is not None and o.reproduced]
        return min(fit, key=self._cost, default=None)

    def _open(self) -> list[Claim]:
        """Claims that do not come out as stated and that are not known to be out of reach."""
        base = self.bench.under(AS_WRITTEN)
        closed = self.found.closed
        return [c for c in self.bench.claims if c.id not in closed and c.id in base and not base[c.id].reproduced]

    def _close(self) -> None:
        """Give up claims that no transport could show under any reading that was tried."""
        for claim in self.bench.claims:
            outcomes = [self.bench.under(reading).get(claim.id) for reading in self.bench.readings()]
            bounds = [outcome.bound for outcome in outcomes if outcome is not None and outcome.bound is not None]
            if bounds and not any(bound.reachable for bound in bounds):
                self.found.closed.add(claim.id)

    def _mattering(self) -> list[Choice]:
        open_claims = {claim.id for claim in self._open()}

        def matters(choice: Choice) -> bool:
            effect = self.found.effects[choice.id]
            return any(max(effect.alone.get(n, 0.0), effect.mean.get(n, 0.0)) >= MATTERS for n in open_claims)

        return [choice for choice in self.choices if matters(choice)]

    def _pull(self, choice: Choice) -> float:
        """How many claims a choice brings to a better verdict, then how far it moves them."""
        base = self.bench.under(AS_WRITTEN)
        gains = 0
        for claim in self._open():
            here = base[claim.id].rank or 0
            ranks = [o.rank or 0 for o in self._outcomes(claim, choice)]
            gains += max([rank - here for rank in ranks], default=0)
        effect = self.found.effects[choice.id]
        return gains + min(0.999, sum(min(1.0, v) for v in effect.alone.values()) / (len(effect.alone) + 1))

    def _outcomes(self, claim: Claim, choice: Choice) -> list[Outcome]:
        readings = (self._with(AS_WRITTEN, choice, value) for value in choice.grid(LEVELS))
        found = (self.bench.under(reading).get(claim.id) for reading in readings)
        return [outcome for outcome in found if outcome is not None]

    def _few(self, choice: Choice) -> tuple[Value, ...]:
        """The values that are tried together with others: of a range its ends, its default and the best by itself."""
        if choice.span is None:
            return choice.values
        best = max(choice.grid(LEVELS), key=lambda v: self.score(self._with(AS_WRITTEN, choice, v))[:2])
        return tuple(sorted({float(v) for v in (*choice.grid(FEWER_LEVELS), best)}))

    def _choose(self) -> None:
        """The reading under which most claims come out, with the fewest changes."""
        self.found.best = max(self.bench.readings(), key=self.score)

    def best(self, most: int) -> list[Reading]:
        """The readings under which most claims come out, the best first; none that is no better than as stated."""
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

    # --- small parts ---

    def _with(self, reading: Reading, choice: Choice, value: Value) -> Reading:
        return self.bench.choices.reading({**dict(reading.values), choice.id: value})

    def _conflict(self, reading: Reading) -> bool:
        return bool(self.bench.choices.conflict(reading))

    def _moved(self, claim: Claim, reading: Reading) -> float:
        base, here = self.bench.under(AS_WRITTEN).get(claim.id), self.bench.under(reading).get(claim.id)
        return distance(claim, here, base) if base is not None and here is not None else 0.0

    def _height(self, claim: Claim, reading: Reading) -> float | None:
        """What elementary effects are differences of: tolerances of what is published, or verdicts."""
        outcome = self.bench.under(reading).get(claim.id)
        if outcome is None or outcome.rank is None:
            return None
        published = claim.published
        if outcome.number is None or not isinstance(published, int | float) or not published:
            return float(outcome.rank)
        return outcome.number / (0.1 * abs(published))


def _combinations(grids: Sequence[Sequence[Value]]) -> int:
    total = 1
    for grid in grids:
        total *= len(grid)
    return total


def _share(choice: Choice, value: Value) -> float:
    """How far a value is from the default, as a share of the range; 1 for another of several values."""
    if choice.span is None:
        return 1.0
    return abs(float(value) - float(choice.default)) / (choice.span[1] - choice.span[0])


def _turns(claim: Claim, below: Outcome | None, above: Outcome | None) -> bool:
    """Whether a claim comes out at one of two values and not at the other, or passes what is published in between."""
    if below is None or above is None:
        return False
    if below.reproduced or above.reproduced:
        return below.reproduced != above.reproduced
    if below.number is None or above.number is None or not isinstance(claim.published, int | float):
        return False
    return (below.number - claim.published) * (above.number - claim.published) < 0


def regions(along: Sequence[tuple[float, Mapping[str, Outcome]]], claim: str) -> list[tuple[float, float]]:
    """The stretches of tried values over which a claim comes out, each with its first and its last value."""
    found: list[tuple[float, float]] = []
    inside = False
    for value, outcomes in along:
        fits = claim in outcomes and outcomes[claim].reproduced
        if fits and inside:
            found[-1] = (found[-1][0], value)
        elif fits:
            found.append((value, value))
        inside = fits
    return found


def whatever(search: Search, choices: Choices, reading: Reading, claim: str) -> list[str]:
    """Choices that were moved alone from a reading without the claim ceasing to come out."""
    free = []
    for choice in search.choices:
        if choice.id in dict(reading.values):
            continue
        moved = [r for r in search.bench.readings() if _differs_only_in(choices, r, reading, choice)]
        outcomes = [search.bench.under(r).get(claim) for r in moved]
        if moved and all(outcome is not None and outcome.reproduced for outcome in outcomes):
            free.append(choice.id)
    return free


def _differs_only_in(choices: Choices, one: Reading, other: Reading, choice: Choice) -> bool:
    values = {**dict(one.values), choice.id: other.of(choice)}
    return one != other and choices.reading(values) == other
