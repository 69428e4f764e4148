"""What `explain` writes down: `explain.json`, from which the terminal, the page and the record are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.claims.choices import Choices, Reading
from headway.claims.ledger import Claim
from headway.claims.verdict import Verdict
from headway.explain.bench import Outcome
from headway.explain.bound import Bound
from headway.explain.findings import AS_WRITTEN, MATTERS
from headway.explain.paper import Standing
from headway.explain.points import restricted
from headway.explain.regions import regions_of
from headway.explain.search import Search

HOLDS = "holds as stated"
REACHABLE = "reachable under"
UNREACHABLE = "unreachable as set up"
NOWHERE = "no tried reading reaches it"
UNMEASURED = "not measured"
# What part a whole figure has in what is said of a reading.
SEARCHED, HELD_OUT, HELD = "searched", "held out", "held"


def document(target: str, search: Search, standings: Sequence[Standing], points: int, wall_s: float) -> dict[str, Any]:
    """Everything that was found."""
    choices = search.bench.choices
    found = search.found
    return {
        "target": target,
        "figures": [
            {"scenario": f.name, "scale": f.scale, "seeds": f.seeds, "first_seed": f.first_seed}
            for f in search.bench.figures
        ],
        "choices": [_choice(choices, choice.id) for choice in search.choices],
        "factors": list(found.factors),
        "steps": found.steps,
        "notes": found.notes,
        "readings_tried": len(search.bench.tried),
        "points": points,
        "wall_s": wall_s,
        "best": reading(choices, found.best),
        "best_brings": _differing(search, best=True),
        "best_breaks": _differing(search, best=False),
        "matters": MATTERS,
        "claims": [claim_entry(search, claim) for claim in search.bench.claims],
        "tried": [_tried(search, one) for one in search.bench.readings()],
        "paper": [standing_entry(choices, one) for one in standings],
    }


def reading(choices: Choices, one: Reading) -> dict[str, Any]:
    """A reading with what it costs."""
    return {
        "key": one.key,
        "text": choices.show(one),
        "values": dict(one.values),
        "degrees": choices.degrees(one),
        "strain": choices.strain(one),
    }


def _differing(search: Search, *, best: bool) -> list[str]:
    """Searched claims that come out under the best reading only; without `best`, as stated only."""
    stated, under = search.bench.under(AS_WRITTEN), search.bench.under(search.found.best)
    found = []
    for claim in search.bench.claims:
        if claim.id in stated and claim.id in under:
            verdicts = (stated[claim.id].reproduced, under[claim.id].reproduced)
            if verdicts == (not best, best):
                found.append(claim.id)
    return found


def _choice(choices: Choices, name: str) -> dict[str, Any]:
    choice = choices[name]
    return {
        "id": choice.id,
        "question": choice.question,
        "default": choice.default,
        "values": list(choice.values),
        "range": list(choice.span) if choice.span else None,
        "scale": choice.scale,
        "unit": choice.unit,
        "natural": choice.natural,
        "place": choice.place,
        "quotation": choice.quotation,
        "joint": choice.joint,
    }


def claim_entry(search: Search, claim: Claim) -> dict[str, Any]:
    """What is known of one claim."""
    base = search.bench.outcome(claim.id, AS_WRITTEN)
    smallest = search.smallest(claim.id)
    status, text = _status(search, claim, base, smallest)
    best = search.bench.outcome(claim.id, search.found.best)
    return {
        "id": claim.id,
        "scenario": claim.scenario,
        "figure": claim.figure,
        "published": claim.published,
        "unit": claim.unit,
        "qualifier": str(claim.qualifier),
        "stated": outcome_entry(base),
        "best": outcome_entry(best),
        "status": status,
        "text": text,
        "bound": bound_entry(_highest_bound(search, claim)),
        "bound_as_stated": bound_entry(base.bound if base else None),
        "smallest": reading(search.bench.choices, smallest) if smallest is not None else None,
        "regions": [
            region | {"tried": [_on_the_way(value, outcome) for value, outcome in region["tried"]]}
            for region in regions_of(search, claim, smallest)
        ],
        "effects": {
            name: {
                "alone": effect.alone.get(claim.id, 0.0),
                "mean": effect.mean.get(claim.id),
                "spread": effect.spread.get(claim.id),
            }
            for name, effect in search.found.effects.items()
        },
    }


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
    """How many readings were tried that differ in what has a part in the claim's scenario."""
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


def _on_the_way(value: float, outcome: Outcome | None) -> dict[str, Any]:
    return {"value": value, **(outcome_entry(outcome) or {})}


def _tried(search: Search, one: Reading) -> dict[str, Any]:
    """The verdicts under a reading, in few characters: r, d, n, or - where nothing was measured."""
    letters = {Verdict.REPRODUCED: "r", Verdict.DIRECTION_ONLY: "d", Verdict.NOT_REPRODUCED: "n"}
    outcomes = search.bench.under(one)
    verdicts = {name: letters.get(outcome.verdict, "-") for name, outcome in outcomes.items()}
    return {"key": one.key, "values": dict(one.values), "verdicts": verdicts}


def standing_entry(choices: Choices, standing: Standing) -> dict[str, Any]:
    """A reading held against whole figures."""
    return {
        "reading": reading(choices, standing.reading),
        "stated": list(standing.counts(standing.stated)),
        "under": list(standing.counts(standing.under)),
        "breaks": standing.breaks,
        "brings": standing.brings,
        "figures": [
            {
                "scenario": figure.name,
                "searched": figure.name in standing.searched,
                "part": _part(standing, figure.name),
                "scale": figure.scale,
                "seeds": figure.seeds,
                "stated": list(standing.counts(standing.stated, figure)),
                "under": list(standing.counts(standing.under, figure)),
            }
            for figure in standing.figures
        ],
        "claims": {
            name: {"stated": outcome_entry(standing.stated.get(name)), "under": outcome_entry(outcome)}
            for name, outcome in standing.under.items()
        },
    }


def _part(standing: Standing, figure: str) -> str:
    """What part a figure has: in a search it was seen or not; where nothing was searched, it is only held."""
    if not standing.searched:
        return HELD
    return SEARCHED if figure in standing.searched else HELD_OUT


def outcome_entry(outcome: Outcome | None) -> dict[str, Any] | None:
    """What came out of a claim."""
    if outcome is None:
        return None
    return {
        "verdict": str(outcome.verdict),
        "measured": outcome.measured,
        "ci95": outcome.ci95,
        "seeds": outcome.seeds,
        "reason": outcome.reason,
    }


def bound_entry(bound: Bound | None) -> Mapping[str, float | bool] | None:
    """The most that any transport could show."""
    return {"gain": bound.gain, "wanted": bound.wanted, "reachable": bound.reachable} if bound else None
