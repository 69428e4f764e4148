"""Choices of the selectors of a page: one value of the x axis, one seed or all, one band of flow sizes or all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headway.data.point import Point

from .spec import About
from .study import Facet, Study, short_axis, value_text
from .summaries import BANDS

ALL = "all"
# Flows that are read for panels that are not drawn at first; a page is made in seconds, also of a large sweep.
MOST_FLOWS = 3_000_000


@dataclass(frozen=True)
class Band:
    """A band of flow sizes."""

    key: str
    name: str
    above: float
    upto: float


@dataclass(frozen=True)
class Pick:
    """One choice: None stands for the largest x, for all seeds, and for all sizes."""

    x: float | None = None
    seed: int | None = None
    band: Band | None = None

    @property
    def is_first(self) -> bool:
        """True if it is the choice that a report shows at first."""
        return self == Pick()

    def points(self, study: Study, variant: str, facet: Facet) -> list[Point]:
        """The runs of a variant that are chosen."""
        found = study.group(variant, facet, self.x)
        return [point for point in found if self.seed in (None, point.seed)]


def bands() -> list[Band]:
    """All bands."""
    return [Band(*band) for band in BANDS]


def about(study: Study, facet: Facet, pick: Pick, *, x: bool = True, sized: bool = False) -> About:
    """Subject of a panel of this choice; `x` and `sized` are True if it depends on the x axis and on flow sizes."""
    found = [(short_axis(key), value_text(value)) for key, value in facet.key]
    if x and study.x_key:
        found.append((short_axis(study.x_key), x_text(study, facet, pick.x)))
    if len(study.seeds) > 1:
        found.append(("seed", ALL if pick.seed is None else str(pick.seed)))
    if sized:
        found.append(("size", ALL if pick.band is None else pick.band.name))
    return tuple(found)


def x_text(study: Study, facet: Facet, x: float | None) -> str:
    """A value of the x axis as the scenario writes it."""
    wanted = study.xs(facet)[-1] if x is None else x
    points = (p for p in study.points if study.facet_of(p) == facet and study.x_of(p) == wanted)
    return value_text(next(points).axes[study.x_key or ""])


def others(study: Study, facet: Facet, *, x: bool = True, sized: bool = False, pooled: bool = True) -> Iterator[Pick]:
    """Every other choice than the first: those that differ in one thing before those that differ in two."""
    xs: list[float | None] = list(study.xs(facet)[:-1]) if x and study.x_key else []
    seeds: list[int] = list(study.seeds if pooled else study.seeds[1:]) if len(study.seeds) > 1 else []
    sizes = bands() if sized else []
    yield from (Pick(x=value) for value in xs)
    yield from (Pick(band=band) for band in sizes)
    yield from (Pick(seed=seed) for seed in seeds)
    yield from (Pick(x=value, band=band) for value in xs for band in sizes)
    yield from (Pick(x=value, seed=seed) for value in xs for seed in seeds)


def readable(study: Study) -> bool:
    """True if the flows of all runs are few enough to read them for panels that are not drawn at first."""
    return sum(_flows(point) for point in study.points) <= MOST_FLOWS


def _flows(point: Point) -> int:
    value = point.summary.get("flows_done")
    return value if isinstance(value, int) else 0


def unread(study: Study) -> str:
    """A sentence for a figure whose other choices do not exist."""
    if readable(study) or len(study.points) <= len(study.variants) * len(study.facets):
        return ""
    return " The selectors do not change this figure: its runs have too many flows to put all of them into a page."


def numbered(study: Study) -> dict[int, int]:
    """The number of each run, by the identity of its point."""
    whole = study.whole or study
    return {id(point): number for number, point in enumerate(whole.points)}


def runs_of(numbers: dict[int, int], points: Iterable[Point]) -> tuple[int, ...]:
    """The numbers of runs; those of a part are its whole's."""
    return tuple(numbers[id(point.whole or point)] for point in points)
