"""Upper limits on the work of an explanation, printed before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway.claims.choices import Choices, Reading
from headway.data.point import Point
from headway.explaining.bench import Bench
from headway.explaining.combine import COMBINATIONS, FEWER_LEVELS, LEVELS
from headway.explaining.paper import on_record
from headway.explaining.points import Figure, job_of, looked_at
from headway.explaining.search import IN_PAIRS, JOINED, MOST_VALUES, ROUNDS, TAKEN_BACK
from headway.sweeps.forecast import NOTHING, Forecast, at_most, spread

# Runs of a figure whose packet-hops are computed: so few that a paper with many is looked over in seconds.
LOOKED_AT = 12


@dataclass(frozen=True)
class Ahead:
    """Readings that are tried at most, and the cost of their runs; of a search by its steps."""

    readings: int
    runs: Forecast
    steps: Mapping[str, int] = field(default_factory=dict)

    def text(self) -> str:
        """In words."""
        said = f"{self.readings} reading{'s' * (self.readings != 1)}, {self.runs.points} points, {self.runs.costs()}"
        steps = ", ".join(f"{name} {count}" for name, count in self.steps.items() if count)
        return f"{said}; by steps: {steps}" if steps else said


def in_words(search: Ahead | None, whole: Ahead | None) -> str:
    """Upper limits in words, before anything is run."""
    lines = ["at most, if nothing were finished or in the store; most searches end long before:"]
    lines += [f"  short runs: {search.text()}"] if search is not None else []
    lines += [f"  whole figures: {whole.text()}"] if whole is not None else []
    if search is not None and whole is not None:
        runs = search.runs + whole.runs
        lines.append(f"  in all: {runs.points} points, {runs.costs()}")
    return "\n".join(lines)


def of_search(bench: Bench, trajectories: int, jobs: int | None, remote: int | None = None) -> Ahead:
    """Upper limit on the work of a search."""
    names = [figure.name for figure in bench.figures]
    choices = Choices([c for c in bench.choices.all if any(c.in_scope(name) for name in names)])
    steps = most_readings(choices, len(bench.claims), trajectories)
    runs = NOTHING
    for figure in bench.figures:
        own = Choices(bench.choices.about(figure.name))
        readings = in_all(own, most_readings(own, len(bench.claims), trajectories))
        points = looked_at(figure)
        for reading in (own.reading({c.id: v}) for c in own.all if c.costly for v in c.grid(LEVELS) if v != c.default):
            runs += _runs(figure, bench.choices, points, 1 + ROUNDS, jobs, remote, reading)
            readings -= 1 + ROUNDS
        runs += _runs(figure, bench.choices, points, readings, jobs, remote)
    return Ahead(in_all(choices, steps), runs, steps)


def most_readings(choices: Choices, claims: int, trajectories: int) -> dict[str, int]:
    """The readings that each step tries at most, with the choices that have a part in it; steps that are repeated,
    in all."""
    every = choices.all
    combined = [choice for choice in every if not choice.costly]
    ranges = sum(1 for choice in every if choice.span is not None)
    several = len(combined) > 1
    around = sum(len(choice.grid(FEWER_LEVELS)) for choice in every)
    return {
        "as stated": 1,
        "one at a time": sum(len(choice.grid(LEVELS)) - 1 for choice in every),
        "along ranges": ranges * MOST_VALUES * (1 + ROUNDS),
        "trajectories": trajectories * (len(combined) + 1) if several else 0,
        "together": COMBINATIONS if several else 0,
        "in pairs": IN_PAIRS if several else 0,
        "around the best": ROUNDS * around,
        "without one": ROUNDS * len(every),
        "joined": ROUNDS * min(JOINED, claims) if several else 0,
        "taken back": TAKEN_BACK if several else 0,
    }


def in_all(choices: Choices, steps: Mapping[str, int]) -> int:
    """Readings of all steps: never more than there are, where no choice is of a range."""
    most = sum(steps.values())
    if any(choice.span is not None for choice in choices.all):
        return most
    return min(most, math.prod(len(choice.values) for choice in choices.all))


def of_holding(
    figures: Sequence[Figure], choices: Choices, readings: int, jobs: int | None, remote: int | None = None
) -> Ahead:
    """Work of testing readings on whole figures, and of runs as stated that are not on record."""
    runs = NOTHING
    for figure in figures:
        points = looked_at(figure)
        recorded = on_record(figure) is not None
        runs += _runs(figure, choices, points, readings if recorded else readings + 1, jobs, remote)
        if recorded:
            first = [point for point in points if point.seed == figure.first_seed]
            runs += _runs(figure, choices, first, 1, jobs, remote)
    return Ahead(readings, runs)


def _runs(
    figure: Figure,
    choices: Choices,
    points: Sequence[Point],
    readings: int,
    jobs: int | None,
    remote: int | None,
    under: Reading | None = None,
) -> Forecast:
    like = [job_of(figure, choices, under or Reading(), point, Path()) for point in spread(points, LOOKED_AT)]
    return at_most(like, len(points) * readings, figure.name, jobs, remote=remote)
