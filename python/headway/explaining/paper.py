"""Holds readings against whole figures: every claim of the paper, at its own scale, with seeds no search has seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.claims.choices import Choices, Reading
from headway.claims.record import recorded
from headway.data.claims import Verdict
from headway.explaining.bench import Bench, Outcome, RunSweep
from headway.explaining.points import PAPER_SCALE, Figure

STATED = Reading()
COUNTED = (Verdict.REPRODUCED, Verdict.DIRECTION_ONLY, Verdict.NOT_REPRODUCED)


@dataclass(frozen=True)
class Standing:
    """Every claim of a paper as stated and under a reading, figure by figure."""

    reading: Reading
    figures: tuple[Figure, ...]
    searched: frozenset[str]
    stated: Mapping[str, Outcome]
    under: Mapping[str, Outcome]

    def counts(self, outcomes: Mapping[str, Outcome], figure: Figure | None = None) -> tuple[int, int, int]:
        """Claims reproduced, in direction only, and not; of one figure or of all."""
        wanted = {c.id for f in self.figures if figure in (None, f) for c in f.claims}
        counted = Counter(o.verdict for name, o in outcomes.items() if name in wanted)
        return counted[COUNTED[0]], counted[COUNTED[1]], counted[COUNTED[2]]

    @property
    def strength(self) -> tuple[int, int]:
        """Greater is better: claims reproduced, then claims in direction only."""
        reproduced, direction, _ = self.counts(self.under)
        return reproduced, direction

    @property
    def breaks(self) -> list[str]:
        """Claims that come out as stated and not under the reading."""
        return [n for n, o in self.stated.items() if o.reproduced and n in self.under and not self.under[n].reproduced]

    @property
    def brings(self) -> list[str]:
        """Claims that come out under the reading and not as stated."""
        return [n for n, o in self.under.items() if o.reproduced and n in self.stated and not self.stated[n].reproduced]


def hold(
    figures: Sequence[Figure],
    choices: Choices,
    readings: Sequence[Reading],
    searched: frozenset[str],
    out: Path,
    run: RunSweep,
) -> tuple[list[Standing], int]:
    """The standing of every reading, and how many points were run for it.

    What is on record of a figure as stated, from no fewer seeds, is not run again.
    """
    bench = Bench(figures, choices, out, run)
    for figure in figures:
        if (known := on_record(figure)) is not None:
            bench.recall("record", figure, known)
    bench.try_all("paper", [STATED, *readings])
    stated = bench.under(STATED)
    standings = [Standing(reading, tuple(figures), searched, stated, bench.under(reading)) for reading in readings]
    return standings, bench.points


def on_record(figure: Figure) -> dict[str, Outcome] | None:
    """Recorded outcomes of a figure's claims as stated; none unless all of it is of this scale and of these seeds."""
    measured = [claim for claim in figure.claims if claim.measure is not None]
    found: dict[str, Outcome] = {}
    for claim, row in zip(measured, recorded(measured, {figure.name: figure.file}), strict=True):
        seeds = row.seeds or 0
        fits = row.scale in (figure.scale, PAPER_SCALE) and (seeds >= figure.seeds or not figure.points)
        if row.verdict not in set(COUNTED) or not fits:
            return None
        found[claim.id] = Outcome(Verdict(row.verdict), row.measured, None, seeds, row.reason or "", None)
    return found
