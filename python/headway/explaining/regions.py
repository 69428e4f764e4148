"""Regions of choices in which claims come out, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.claims.choices import Choice, Choices, Reading
from headway.claims.ledger import Claim
from headway.explaining.bench import Outcome
from headway.explaining.findings import AS_WRITTEN
from headway.explaining.search import Search
from headway.layout import AS_STATED

# Number of values of a range that must have been tried before a region is reported.
FEWEST = 3

Along = Sequence[tuple[float, Mapping[str, Outcome]]]


@dataclass(frozen=True)
class Region:
    """Regions of a choice's range in which a claim is reproduced, with the other choices as in `others`.

    `holds` are stretches of values under which it comes out, `tried` are all that were tried with what came out, and
    `whatever` names choices that make no difference to that.
    """

    choice: str
    unit: str
    others: str
    holds: tuple[tuple[float, float], ...]
    tried: tuple[tuple[float, Outcome | None], ...]
    whatever: tuple[str, ...]

    @property
    def text(self) -> str:
        """The region in a sentence."""
        spans = " and ".join(f"{a:.4g} to {b:.4g}" if a != b else f"{a:.4g}" for a, b in self.holds)
        text = f"holds for {self.choice} of {spans} {self.unit}".rstrip()
        text += ", all else as stated" if self.others == AS_STATED else f", with {self.others}"
        return text + (f", whatever {', '.join(self.whatever)}" if self.whatever else "")


def regions_of(search: Search, claim: Claim, smallest: Reading | None) -> list[Region]:
    """Regions of each range in which the claim is reproduced: from its own smallest reading, and from the best reading
    of all."""
    found: list[Region] = []
    for place in dict.fromkeys(one for one in (smallest, search.found.best, AS_WRITTEN) if one is not None):
        for choice in search.choices:
            entry = _region(search, claim, choice, place) if choice.span is not None else None
            if entry is None:
                continue
            if not any(same.choice == choice.id and same.others == entry.others for same in found):
                found.append(entry)
    return found


def _region(search: Search, claim: Claim, choice: Choice, place: Reading) -> Region | None:
    """Region of one range in which a claim is reproduced, with all else as in a reading; None if it is not known to."""
    choices = search.bench.choices
    along = search.along(choice, place)
    holds = stretches(along, claim.id)
    if len(along) < FEWEST or not holds:
        return None
    here = search.bench.outcome(claim.id, place)
    free = whatever(search, place, claim) if here and here.reproduced else []
    others = choices.reading({name: value for name, value in place.values if name != choice.id})
    return Region(
        choice=choice.id,
        unit=choice.unit,
        others=choices.show(others),
        holds=tuple(holds),
        tried=tuple((value, outcomes.get(claim.id)) for value, outcomes in along),
        whatever=tuple(name for name in free if name != choice.id),
    )


def stretches(along: Along, claim: str) -> list[tuple[float, float]]:
    """The stretches of tried values over which a claim is reproduced, each with its first and its last value."""
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


def whatever(search: Search, reading: Reading, claim: Claim) -> list[str]:
    """Choices that were moved alone from a reading without the claim ceasing to come out.

    One that sets nothing in the runs of the claim says nothing about it, and is left out.
    """
    free = []
    for choice in search.choices:
        if choice.id in dict(reading.values) or not search.reach.touches(choice, claim):
            continue
        moved = [r for r in search.bench.readings() if _differs_only_in(search.bench.choices, r, reading, choice)]
        outcomes = [search.bench.outcome(claim.id, r) for r in moved]
        if moved and all(outcome is not None and outcome.reproduced for outcome in outcomes):
            free.append(choice.id)
    return free


def _differs_only_in(choices: Choices, one: Reading, other: Reading, choice: Choice) -> bool:
    values = {**dict(one.values), choice.id: other.of(choice)}
    return one != other and choices.reading(values) == other
