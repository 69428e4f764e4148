"""The search: the bound on all readings, the choices that matter, their combination, and the end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from headway.claims.choices import Choice, Reading
from headway.claims.ledger import Claim
from headway.data.explanation import Step
from headway.explaining import combine
from headway.explaining.bench import Bench, Outcome
from headway.explaining.combine import COMBINATIONS, FEWER_LEVELS, LEVELS, TOGETHER
from headway.explaining.findings import AS_WRITTEN, Effect, Findings, Found, as_rank, in_tolerances

# Readings of two changes that are tried at most, for all claims that nothing else has brought.
IN_PAIRS = 64
# Readings that are tried at most to find which changes of the smallest ones can be spared.
TAKEN_BACK = 96
# Claims of which the best reading is tried with what brings them, in each round.
JOINED = 24
# The end of a region is found to this share of the range.
PRECISION = 1 / 64
# Values of a range that are tried at most to find where regions end.
MOST_VALUES = 16
TRAJECTORIES = 4
# Number of times that the search goes on from a better reading that it found around the best one.
ROUNDS = 3
# The best readings that are held against whole figures.
BEST = 3


class Search(Findings):
    """Finds the readings under which the claims of a bench come out."""

    def __init__(self, bench: Bench, tell: Callable[[str], None], trajectories: int = TRAJECTORIES) -> None:
        super().__init__(bench)
        self._tell = tell
        self._trajectories = trajectories

    def run(self) -> Found:
        """All steps; raises `Stopped` if the user stops one of them."""
        self._step("as stated", [AS_WRITTEN])
        if self._open():
            self._alone()
            self._spare_costly()
            self._edges(AS_WRITTEN)
            self._close()
        if self._open():
            self._screen()
            self._together()
            self._in_pairs()
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
        self._take_back()
        self._choose()
        return self.found

    # --- steps ---

    def _step(self, name: str, readings: Iterable[Reading]) -> None:
        """Try readings, and keep the step."""
        wanted = [reading for reading in readings if not self._conflict(reading)]
        points, tried = self.bench.points, len(self.bench.tried)
        new = len({reading.key for reading in wanted} - self.bench.tried.keys())
        self._tell(f"{name}: {new} readings" if name != "as stated" else name)
        # A directory for each step: two steps along one range are two sweeps.
        self.bench.try_all(f"{len(self.found.steps):02}-{name.replace(' ', '-')}", wanted)
        self.found.steps.append(Step(name, len(self.bench.tried) - tried, self.bench.points - points))

    def _alone(self) -> None:
        """One choice at a time, at each of its values."""
        readings = [self._with(AS_WRITTEN, c, value) for c in self.choices for value in c.grid(LEVELS)]
        self._step("one at a time", readings)
        for choice in self.choices:
            effect = self.found.effects.setdefault(choice.id, Effect(choice.id))
            for claim in self.bench.claims:
                moves = (self._moved(claim, self._with(AS_WRITTEN, choice, v)) for v in choice.grid(LEVELS))
                effect.alone[claim.id] = max(moves, default=0.0)

    def _spare_costly(self) -> None:
        """Say of which choices no combinations are tried."""
        if costly := [choice.id for choice in self.choices if choice.costly]:
            self.found.notes.append(
                f"costly: {', '.join(costly)}; tried alone and around the best readings, in no other combination"
            )

    def _screen(self) -> None:
        """Morris' trajectories over choices: effects of one together with others, though it has none alone."""
        if len(self.combined) < 2 or not self._trajectories:
            return
        from headway.explaining import morris

        if not morris.installed():
            self.found.notes.append("no Morris screening: SALib is not installed: pip install SALib")
            return
        make = self.bench.choices.reading
        design = morris.Design(self.combined, self._trajectories, lambda values: not self._conflict(make(values)))
        readings = [make(design.values(row)) for row in design.rows]
        self._step("trajectories", readings)
        for claim in self.bench.claims:
            for height in (in_tolerances, as_rank):
                answers = [
                    None if self._conflict(r) else height(claim, self.bench.outcome(claim.id, r)) for r in readings
                ]
                for name, (mean, spread) in design.effects(answers).items():
                    effect = self.found.effects[name]
                    effect.mean[claim.id] = max(effect.mean.get(claim.id, 0.0), mean)
                    effect.spread[claim.id] = max(effect.spread.get(claim.id, 0.0), spread)

    def _together(self) -> None:
        """Every combination of the few choices that matter most to a claim, and of those that do to all of them.

        Of two for every claim first, then of three and of four, as long as there are not too many.
        """
        ranked = [self._ranked(claim) for claim in sorted(self._open(), key=lambda c: self.smallest(c.id) is not None)]
        ranked.append(self._ranked_for_all())
        wanted: dict[str, Reading] = {}
        used: set[str] = set()
        for many in range(2, TOGETHER + 1):
            for factors in ranked:
                if len(factors) < many:
                    continue
                new = self._untried(combine.all_of(self.bench.choices, factors[:many]), wanted)
                if len(wanted) + len(new) <= COMBINATIONS:
                    wanted |= new
                    used |= {choice.id for choice, _ in factors[:many]}
        self.found.factors = tuple(choice.id for choice in self.choices if choice.id in used)
        if wanted:
            self._step("together", wanted.values())

    def _in_pairs(self) -> None:
        """Two choices of one transport moved at once, for claims that nothing has brought yet; each claim in turn."""
        lists = [self._pairs(claim) for claim in self._open() if self.smallest(claim.id) is None]
        wanted: dict[str, Reading] = {}
        left: dict[str, Reading] = {}
        for pair in filter(None, itertools.chain.from_iterable(itertools.zip_longest(*lists))):
            new = self._untried(combine.all_of(self.bench.choices, pair, changed=True), wanted)
            (wanted if len(wanted) + len(new) <= IN_PAIRS else left).update(new)
        if wanted:
            self._step("in pairs", wanted.values())
        if rest := left.keys() - wanted.keys():
            self.found.notes.append(
                f"in pairs: {len(wanted)} readings of two changes were tried for claims that no other had brought; "
                f"{len(rest)} more were not"
            )

    def _take_back(self) -> None:
        """Each change of the smallest readings, until none of them can be spared."""
        left = TAKEN_BACK
        while left > 0 and (alone := self._to_take_back()):
            before = self._smallest_ones()
            left -= self._taken_back(alone, left)
            left -= self._taken_back([self._without(r, self._spared(name, r)) for name, r in before], left)
        if rest := self._to_take_back():
            self.found.notes.append(
                f"taken back: {TAKEN_BACK} readings were tried for what the smallest sets of changes can spare; "
                f"{len(rest)} more were not"
            )

    def _smallest_ones(self) -> list[tuple[str, Reading]]:
        """Claims with their smallest readings, but those that come out as stated."""
        found = ((claim.id, self.smallest(claim.id)) for claim in self.bench.claims)
        return [(name, reading) for name, reading in found if reading is not None and reading.values]

    def _to_take_back(self) -> list[Reading]:
        """The smallest readings with one change less, as far as they were not tried."""
        less = (self._without(r, [name]) for _, r in self._smallest_ones() for name, _ in r.values)
        return list(self._untried(less, {}).values())

    def _taken_back(self, readings: Iterable[Reading], most: int) -> int:
        """Try those of these readings that were not tried, but no more than some; returns how many."""
        new = list(self._untried(readings, {}).values())[:most]
        if new:
            self._step("taken back", new)
        return len(new)

    def _spared(self, claim: str, reading: Reading) -> list[str]:
        """The changes that a claim does not need, each taken alone, to be reproduced."""
        without = {name: self.bench.outcome(claim, self._without(reading, [name])) for name, _ in reading.values}
        return [name for name, outcome in without.items() if outcome is not None and outcome.reproduced]

    def _around(self) -> None:
        """Every other choice moved alone from the best reading: results that do not depend on it."""
        best = self.found.best
        readings = [
            self._with(best, choice, value)
            for choice in self.choices
            for value in choice.grid(FEWER_LEVELS)
            if value != best.of(choice)
        ]
        self._step("around the best", readings)
        self._step("without one", [self._without(best, [name]) for name, _ in best.values])
        here = self.bench.under(best)
        missing = (c.id for c in self._open() if c.id in here and not here[c.id].reproduced)
        small = (reading for name in missing if (reading := self.smallest(name)) is not None)
        joined = [self.bench.choices.reading({**dict(best.values), **dict(reading.values)}) for reading in small]
        if new := self._untried(joined, {}):
            self._step("joined", list(new.values())[:JOINED])

    def _edges(self, reading: Reading) -> None:
        """Places where verdicts turn along each range, with all else as in a reading, by bisection of all claims at
        once."""
        names = [name for name, _ in reading.values] or [choice.id for choice in self.choices]
        for choice in (self.bench.choices[name] for name in names):
            while choice.span is not None and (middles := self._unsettled(choice, reading)):
                self._step(f"along {choice.id}", [self._with(reading, choice, value) for value in middles])

    def _unsettled(self, choice: Choice, reading: Reading) -> list[float]:
        """Values to try next: the middle of each pair of neighbouring tried values where a claim's verdict turns."""
        assert choice.span is not None
        known = self.along(choice, reading)
        claims = [claim for claim in self.bench.claims if claim.id not in self.found.closed]
        middles = []
        for (low, below), (high, above) in itertools.pairwise(known):
            wide = high - low > PRECISION * (choice.span[1] - choice.span[0])
            if wide and any(_turns(claim, below.get(claim.id), above.get(claim.id)) for claim in claims):
                middles.append(choice.middle(low, high))
        return middles[: max(0, MOST_VALUES - len(known))]


def _turns(claim: Claim, below: Outcome | None, above: Outcome | None) -> bool:
    """True if a claim is reproduced at one of two values only, or passes the published value in between."""
    if below is None or above is None:
        return False
    if below.reproduced or above.reproduced:
        return below.reproduced != above.reproduced
    if below.number is None or above.number is None or not isinstance(claim.published, int | float):
        return False
    return (below.number - claim.published) * (above.number - claim.published) < 0
