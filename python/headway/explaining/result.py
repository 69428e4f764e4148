"""From a search and from readings that were held to what `explain.json` says of them."""

from __future__ import annotations

from headway.claims.choices import Choices, Reading
from headway.claims.ledger import Claim
from headway.data.claims import CANNOT, Verdict
from headway.data.explanation import (
    BoundFound,
    ChoiceFound,
    ClaimFound,
    EffectFound,
    HeldClaim,
    HeldFigure,
    HeldReading,
    OutcomeFound,
    ReadingFound,
    RegionFound,
    SearchedFigure,
    SearchFound,
    TriedReading,
    TriedValue,
)
from headway.explaining.bench import Outcome
from headway.explaining.bound import Bound
from headway.explaining.findings import AS_WRITTEN, MATTERS
from headway.explaining.paper import Standing
from headway.explaining.points import restricted
from headway.explaining.regions import Region, regions_of
from headway.explaining.search import Search

HOLDS = "holds as stated"
REACHABLE = "reachable under"
UNREACHABLE = CANNOT
NOWHERE = "no tried reading reaches it"
UNMEASURED = "not measured"
# Parts of a whole figure in the judgement of a reading.
SEARCHED, HELD_OUT, HELD = "searched", "held out", "held"


def search_found(search: Search) -> SearchFound:
    """Everything that a search found."""
    choices = search.bench.choices
    found = search.found
    return SearchFound(
        figures=tuple(SearchedFigure(f.name, f.scale, f.seeds, f.first_seed) for f in search.bench.figures),
        choices=tuple(_choice(choices, choice.id) for choice in search.choices),
        factors=found.factors,
        steps=tuple(found.steps),
        notes=tuple(found.notes),
        readings_tried=len(search.bench.tried),
        best=reading(choices, found.best),
        best_brings=_differing(search, best=True),
        best_breaks=_differing(search, best=False),
        matters=MATTERS,
        claims=tuple(claim_found(search, claim) for claim in search.bench.claims),
        tried=tuple(_tried(search, one) for one in search.bench.readings()),
    )


def reading(choices: Choices, one: Reading) -> ReadingFound:
    """A reading with its costs."""
    return ReadingFound(one.key, choices.show(one), dict(one.values), choices.degrees(one), choices.strain(one))


def _differing(search: Search, *, best: bool) -> tuple[str, ...]:
    """Searched claims that come out under the best reading only; without `best`, as stated only."""
    stated, under = search.bench.under(AS_WRITTEN), search.bench.under(search.found.best)
    found = []
    for claim in search.bench.claims:
        if claim.id in stated and claim.id in under:
            verdicts = (stated[claim.id].reproduced, under[claim.id].reproduced)
            if verdicts == (not best, best):
                found.append(claim.id)
    return tuple(found)


def _choice(choices: Choices, name: str) -> ChoiceFound:
    choice = choices[name]
    return ChoiceFound(
        id=choice.id,
        question=choice.question,
        default=choice.default,
        values=tuple(choice.values),
        range=choice.span or None,
        scale=choice.scale,
        unit=choice.unit,
        natural=choice.natural,
        place=choice.place,
        quotation=choice.quotation,
        joint=choice.joint,
    )


def claim_found(search: Search, claim: Claim) -> ClaimFound:
    """Results for one claim."""
    base = search.bench.outcome(claim.id, AS_WRITTEN)
    smallest = search.smallest(claim.id)
    status, text = _status(search, claim, base, smallest)
    best = search.bench.outcome(claim.id, search.found.best)
    return ClaimFound(
        id=claim.id,
        scenario=claim.scenario,
        figure=claim.figure,
        published=claim.published,
        unit=claim.unit,
        qualifier=str(claim.qualifier),
        stated=outcome_found(base),
        best=outcome_found(best),
        status=status,
        text=text,
        bound=bound_found(_highest_bound(search, claim)),
        bound_as_stated=bound_found(base.bound if base else None),
        smallest=reading(search.bench.choices, smallest) if smallest is not None else None,
        regions=tuple(_region(one) for one in regions_of(search, claim, smallest)),
        effects={
            name: EffectFound(effect.alone.get(claim.id, 0.0), effect.mean.get(claim.id), effect.spread.get(claim.id))
            for name, effect in search.found.effects.items()
        },
    )


def _region(one: Region) -> RegionFound:
    tried = tuple(TriedValue(value, outcome_found(outcome)) for value, outcome in one.tried)
    return RegionFound(one.choice, one.unit, one.others, one.holds, tried, one.whatever, one.text)


def _status(search: Search, claim: Claim, base: Outcome | None, smallest: Reading | None) -> tuple[str, str]:
    """The word for a claim, and a sentence."""
    if base is None or base.rank is None:
        return UNMEASURED, base.reason if base is not None else "nothing was run for it"
    if base.reproduced:
        return HOLDS, "comes out as the scenario is written"
    if smallest is not None:
        return REACHABLE, f"{REACHABLE} {search.bench.choices.show(smallest)}"
    bound, tried = _highest_bound(search, claim), _readings_of(search, claim)
    if bound is not None and not bound.reachable:
        return UNREACHABLE, (
            f"no transport could gain more than {bound.gain:.3g} % on {_flows(search, claim)} under any of "
            f"{tried} readings; at least {bound.wanted:.3g} % is claimed"
        )
    return NOWHERE, f"none of the {tried} readings that were tried reaches it"


def _readings_of(search: Search, claim: Claim) -> int:
    """Number of readings that were tried and differ in choices of the claim's scenario."""
    choices = search.bench.choices
    return len({restricted(one, choices, claim.scenario).key for one in search.bench.readings()})


def _flows(search: Search, claim: Claim) -> str:
    """The flows that a bound is of."""
    scale = next((f.scale for f in search.bench.figures if f.name == claim.scenario), None)
    return f"the flows of short runs ({scale})" if scale else "these flows"


def _highest_bound(search: Search, claim: Claim) -> Bound | None:
    outcomes = (search.bench.outcome(claim.id, one) for one in search.bench.readings())
    bounds = [outcome.bound for outcome in outcomes if outcome is not None and outcome.bound is not None]
    return max(bounds, key=lambda bound: bound.gain, default=None)


def _tried(search: Search, one: Reading) -> TriedReading:
    """The verdicts under a reading, in few characters."""
    letters = {Verdict.REPRODUCED: "r", Verdict.DIRECTION_ONLY: "d", Verdict.NOT_REPRODUCED: "n"}
    outcomes = search.bench.under(one)
    verdicts = {name: letters.get(outcome.verdict, "-") for name, outcome in outcomes.items()}
    return TriedReading(one.key, dict(one.values), verdicts)


def held_reading(choices: Choices, standing: Standing) -> HeldReading:
    """A reading held against whole figures."""
    return HeldReading(
        reading=reading(choices, standing.reading),
        stated=standing.counts(standing.stated),
        under=standing.counts(standing.under),
        breaks=tuple(standing.breaks),
        brings=tuple(standing.brings),
        figures=tuple(
            HeldFigure(
                scenario=figure.name,
                searched=figure.name in standing.searched,
                part=_part(standing, figure.name),
                scale=figure.scale,
                seeds=figure.seeds,
                stated=standing.counts(standing.stated, figure),
                under=standing.counts(standing.under, figure),
            )
            for figure in standing.figures
        ),
        claims={
            name: HeldClaim(outcome_found(standing.stated.get(name)), _outcome(outcome))
            for name, outcome in standing.under.items()
        },
    )


def _part(standing: Standing, figure: str) -> str:
    """Part of a figure: in a search it was seen or not; where nothing was searched, it is only held."""
    if not standing.searched:
        return HELD
    return SEARCHED if figure in standing.searched else HELD_OUT


def outcome_found(outcome: Outcome | None) -> OutcomeFound | None:
    """Outcome of a claim, if it is known."""
    return None if outcome is None else _outcome(outcome)


def _outcome(outcome: Outcome) -> OutcomeFound:
    return OutcomeFound(str(outcome.verdict), outcome.measured, outcome.ci95, outcome.seeds, outcome.reason)


def bound_found(bound: Bound | None) -> BoundFound | None:
    """The most that any transport could show."""
    return BoundFound(bound.gain, bound.wanted, bound.reachable) if bound else None
