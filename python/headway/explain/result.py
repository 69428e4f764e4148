"""What `explain` writes down: `explain.json`, from which the terminal, the page and the record are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.claims.choices import Choices, Reading
from headway.claims.ledger import Claim
from headway.claims.verdict import Verdict
from headway.explain.bench import Outcome
from headway.explain.bound import Bound
from headway.explain.paper import Standing
from headway.explain.search import AS_WRITTEN, Search, regions, whatever

HOLDS = "holds as stated"
REACHABLE = "reachable under"
UNREACHABLE = "unreachable as set up"
NOWHERE = "no value reaches it"
UNMEASURED = "not measured"


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
    base = search.bench.under(AS_WRITTEN).get(claim.id)
    smallest = search.smallest(claim.id)
    status, text = _status(search, claim, base, smallest)
    best = search.bench.under(search.found.best).get(claim.id)
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
        "regions": _regions(search, claim, smallest),
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
    bound = _highest_bound(search, claim)
    if bound is not None and not bound.reachable:
        return UNREACHABLE, (
            f"no transport could gain more than {bound.gain:.3g} % on these flows under any of "
            f"{len(search.bench.tried)} readings; at least {bound.wanted:.3g} % is claimed"
        )
    return NOWHERE, f"none of {len(search.bench.tried)} readings brings it out"


def _highest_bound(search: Search, claim: Claim) -> Bound | None:
    outcomes = (search.bench.under(one).get(claim.id) for one in search.bench.readings())
    bounds = [outcome.bound for outcome in outcomes if outcome is not None and outcome.bound is not None]
    return max(bounds, key=lambda bound: bound.gain, default=None)


def _regions(search: Search, claim: Claim, smallest: Reading | None) -> list[dict[str, Any]]:
    """Where the claim comes out along each range: from its own smallest reading, and from the best reading of all."""
    found: list[dict[str, Any]] = []
    places = dict.fromkeys(one for one in (smallest, search.found.best, AS_WRITTEN) if one is not None)
    for place in places:
        for choice in search.choices:
            if choice.span is None:
                continue
            along = search.along(choice, place)
            stretches = regions(along, claim.id)
            if len(along) < 3 or not stretches:
                continue
            here = search.bench.under(place).get(claim.id)
            free = whatever(search, search.bench.choices, place, claim.id) if here and here.reproduced else []
            free = [name for name in free if name != choice.id]
            others = search.bench.choices.reading({n: v for n, v in place.values if n != choice.id})
            entry = {
                "choice": choice.id,
                "unit": choice.unit,
                "others": search.bench.choices.show(others),
                "holds": [list(stretch) for stretch in stretches],
                "tried": [_on_the_way(value, outcomes.get(claim.id)) for value, outcomes in along],
                "whatever": free,
            }
            if not any(same["choice"] == choice.id and same["others"] == entry["others"] for same in found):
                found.append(entry)
    return found


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
