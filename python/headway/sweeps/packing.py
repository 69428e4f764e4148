"""Points into tasks, by the time and the memory that they are expected to need.

A task that is too short costs more to hand out than to run, and one that is too long leaves workers idle at the end.
The cost of points is forecast from similar ones before, and corrected by the real cost of the first of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from headway.errors import HeadwayError
from headway.sweeps.pace import known, run_expected, transport_of
from headway.sweeps.plan import Job

# Places of a sweep (a variant at one value of every axis) whose packet-hops are computed; others are like their
# neighbours in the list.
LOOKED_AT = 200
# Points that must have ended before their cost corrects the forecast.
ENOUGH = 10
# Points of each class of memory that stand for the others when the length of a task is chosen.
SAMPLE = 1000
# Points in one task, however short they are: so many are looked at again if its worker dies.
MOST_POINTS = 1000
# Each worker has so many tasks in its share of the rest, so that it finds another when it is through early.
TASKS_EACH = 6


@dataclass(frozen=True)
class Limits:
    """Limits on the duration of a task, for any number of workers: at least and at most so many seconds."""

    least_s: float
    most_s: float


class Packer:
    """Cuts the rest of a sweep into tasks, as workers ask for them."""

    def __init__(self, points: Iterable[Job], name: str, limits: Limits, in_hand: Collection[str] = ()) -> None:
        """`in_hand` are the labels of points that are in tasks already."""
        self._left: dict[int, deque[Job]] = {}
        self._limits = limits
        points = list(points)
        self._expected = expected_seconds(points, name)
        self._ended = 0
        self._took = self._forecast = 0.0
        self.put_back(point for point in points if point.label not in in_hand)

    def __len__(self) -> int:
        return sum(map(len, self._left.values()))

    def put_back(self, points: Iterable[Job]) -> None:
        """Points that have to be run, again or for the first time."""
        for point in points:
            self._left.setdefault(_size(point), deque()).append(point)

    def learn(self, point: Job, took_s: float) -> None:
        """Correct the forecast by the cost of a point."""
        self._ended += 1
        self._took += took_s
        self._forecast += self._expected[point.label]

    def seconds(self, point: Job) -> float:
        """Seconds that a point is expected to take."""
        factor = self._took / self._forecast if self._ended >= ENOUGH and self._forecast > 0.0 else 1.0
        return self._expected[point.label] * factor

    def cut(self, workers: int) -> tuple[tuple[Job, ...], float]:
        """The points of the next task for one of so many workers, and the seconds that they should take.

        Points of one task need about the same memory; those that need most come first, since they fit nowhere later.
        """
        size = max(size for size, points in self._left.items() if points)
        left = self._left[size]
        wanted = self.target(workers)
        taken = [left.popleft()]
        seconds = self.seconds(taken[0])
        while left and len(taken) < MOST_POINTS and seconds + self.seconds(left[0]) <= wanted:
            seconds += self.seconds(left[0])
            taken.append(left.popleft())
        return tuple(taken), seconds

    def target(self, workers: int) -> float:
        """The seconds that a task should take: a share of the rest, between the limits."""
        sample = [point for points in self._left.values() for point in islice(points, SAMPLE)]
        mean = sum(map(self.seconds, sample)) / len(sample) if sample else 0.0
        share = mean * len(self) / (workers * TASKS_EACH)
        return min(max(share, self._limits.least_s), self._limits.most_s)


def expected_seconds(points: Sequence[Job], name: str) -> dict[str, float]:
    """Seconds that each point is expected to take; the upper end for points whose like was never run here."""
    paces = known()
    places: dict[str, Job] = {}
    place_of = {}
    for point in points:
        place_of[point.label] = place = point.point.place
        places.setdefault(place, point)
    step = max(1, len(places) // LOOKED_AT)
    found: dict[str, float] = {}
    last = 0.0
    for number, (place, point) in enumerate(places.items()):
        if number % step == 0:
            last = _expected(point, paces, name)
        found[place] = last
    return {label: found[place] for label, place in place_of.items()}


def _expected(point: Job, paces: Mapping[str, object], name: str) -> float:
    try:
        scenario = point.load()
    except HeadwayError:
        # The point fails when it is run, and says why.
        return 0.0
    return run_expected(paces, name, transport_of(scenario), scenario.native.expected_hops()).seconds.high


def _size(point: Job) -> int:
    """The class of memory that a point belongs to: a power of two, none below 128 MB."""
    return max(128 << 20, 1 << max(0, point.memory_bytes - 1).bit_length())
