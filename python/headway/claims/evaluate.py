"""Applies a ledger to the runs of a sweep, seed by seed, and writes `claims.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from headway import _headway
from headway.claims.context import Context
from headway.claims.language import CannotMeasure, Expression
from headway.claims.ledger import Claim
from headway.claims.verdict import (
    PUBLISHED,
    Judgement,
    judge_number,
    judge_order,
    judge_statement,
    pending,
)
from headway.data.bounds import Bound, ends
from headway.data.claims import JudgedClaim, Published, Value, Verdict
from headway.data.jsonable import plain
from headway.data.point import Point
from headway.data.run import Run
from headway.data.statistics import estimate
from headway.files import write_json


@dataclass(frozen=True)
class Result:
    """A claim with its judgement; `beside` holds the same measure on other variants and at other values of the axes.

    `variants` are those that the claim is about, and `why` is the reason in full where it is not reproduced.
    """

    claim: Claim
    judgement: Judgement
    beside: Mapping[str, float | None]
    variants: tuple[str, ...] = ()
    why: str = ""

    def row(self, scale: str | None = None) -> JudgedClaim:
        """The entry of `claims.json`; `scale` says how much of the scenario was run."""
        claim, judgement = self.claim, self.judgement
        return JudgedClaim(
            id=claim.id,
            place=claim.place,
            metric=claim.metric,
            published=claim.published,
            measured=judgement.measured,
            ci95=judgement.ci95,
            seeds=judgement.seeds,
            verdict=str(judgement.verdict),
            reason=judgement.reason,
            unit=claim.unit,
            qualifier=str(claim.qualifier),
            figure=claim.figure,
            scenario=claim.scenario,
            how=claim.how,
            scale=scale,
            range=judgement.range,
            beside=dict(self.beside),
            variants=self.variants,
            why=self.why,
        )


def finished_runs(out: Path, rows: Sequence[Mapping[str, Any]]) -> list[Point]:
    """The runs of the finished points of `sweep.json`."""
    return [
        Point(row["label"], row["variant"], row["axes"], row["seed"], results=Run(out / row["dir"]))
        for row in rows
        if row["state"] == "done"
    ]


# From a claim, the measures for each seed and the word for the claimed numbers to a verdict.
Judge: TypeAlias = Callable[[Claim, Sequence[Value], str], Judgement]


def evaluate_claims(
    claims: Sequence[Claim],
    runs: Sequence[Point],
    *,
    needs_runs: bool = True,
    stated: str = PUBLISHED,
    judge: Judge | None = None,
) -> list[Result]:
    """A verdict for each claim. A scenario that runs nothing, such as a closed-form model, is measured without runs.

    `stated` is what the reasons call the claimed numbers: `published`, or `expected` where no paper states them.
    `judge` makes the verdict, `judge_over_seeds` if it is None.
    """
    transports = {entry["name"] for entry in json.loads(_headway.catalogue("transports"))}
    by_seed: dict[int, list[Point]] = {}
    for run in runs:
        by_seed.setdefault(run.seed, []).append(run)
    if not needs_runs:
        by_seed.setdefault(0, [])
    judging = judge or judge_over_seeds
    results = [_evaluate(claim, by_seed, transports, stated, judging) for claim in claims]
    variants = list(dict.fromkeys(run.variant for run in runs))
    return [replace(one, variants=tuple(name for name in variants if _is_about(one.claim, name))) for one in results]


def _is_about(claim: Claim, variant: str) -> bool:
    """True if a claim is measured on this variant, or names it in its measure."""
    return claim.variant == variant or (claim.measure is not None and claim.measure.quotes(variant))


def samples_of(claim: Claim, runs: Sequence[Point]) -> list[Value]:
    """Value of a claim's measure for each seed that has the runs for it."""
    by_seed: dict[int, list[Point]] = {}
    for run in runs:
        by_seed.setdefault(run.seed, []).append(run)
    contexts = [Context(own, claim.variant, claim.at or {}) for _, own in sorted(by_seed.items())]
    return _samples(claim.measure, contexts)[0] if claim.measure else []


def write_results(path: Path, results: Sequence[Result], scale: str | None = None) -> tuple[JudgedClaim, ...]:
    """Write `claims.json` or `expectations.json`; returns its content."""
    rows = tuple(result.row(scale) for result in results)
    write_json(path, plain(rows))
    return rows


def _evaluate(
    claim: Claim, by_seed: Mapping[int, Sequence[Point]], transports: set[str], stated: str, judge: Judge
) -> Result:
    missing = [name for name in claim.transports if name not in transports]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        return Result(claim, pending(f"{', '.join(missing)} {are} not among the transports"), {})
    if claim.measure is None:
        return Result(claim, pending(claim.pending), {})
    if not by_seed:
        return Result(claim, pending("no run of the scenario is finished"), {})
    contexts = [Context(runs, claim.variant, claim.at or {}) for _, runs in sorted(by_seed.items())]
    samples, gaps = _samples(claim.measure, contexts)
    if not samples:
        return Result(claim, pending(gaps[0]), {})
    try:
        judgement = whatever_is_open(claim, samples, stated, judge)
    except CannotMeasure as error:
        return Result(claim, pending(str(error)), {})
    beside = _beside(claim, claim.measure, contexts)
    return Result(claim, _explained(claim, judgement, beside, gaps), beside)


def _samples(measure: Expression, contexts: Sequence[Context]) -> tuple[list[Value], list[str]]:
    """The measure for each seed that has the data for it, and the reasons for the others."""
    samples: list[Value] = []
    gaps: list[str] = []
    for context in contexts:
        try:
            value = measure.evaluate(context)
        except CannotMeasure as error:
            gaps.append(str(error))
        else:
            samples.append(float(value) if isinstance(value, bool | int) else value)
    return samples, gaps


def whatever_is_open(claim: Claim, samples: Sequence[Value], stated: str, judge: Judge) -> Judgement:
    """The verdict, if it is the same whatever the flows take that were open at the end; else that it is not known."""
    judgement = judge(claim, samples, stated)
    if not any(isinstance(number, Bound) for sample in samples for number in numbers_in(sample)):
        return judgement
    wanted = [float(one) for one in numbers_in(claim.published) if not isinstance(one, str)]
    for bound in (math.inf, -math.inf, *wanted):
        other = judge(claim, [_moved(sample, bound) for sample in samples], stated)
        if other.verdict is not judgement.verdict:
            text = f"flows were open at the end of the run, and the verdict depends on them: {judgement.reason}"
            return replace(judgement, verdict=Verdict.PENDING, reason=text)
    return judgement


def numbers_in(value: object) -> list[Any]:
    """The numbers of a value that is one, a list or a table."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


def _moved(value: Any, to: float) -> Any:  # noqa: ANN401
    """A value with every bound moved as far towards a number as it allows."""
    if isinstance(value, Mapping):
        return {key: _moved(one, to) for key, one in value.items()}
    if isinstance(value, list):
        return [_moved(one, to) for one in value]
    return min(max(to, min(ends(value))), max(ends(value))) if isinstance(value, Bound) else value


def judge_over_seeds(claim: Claim, samples: Sequence[Value], stated: str = PUBLISHED) -> Judgement:
    """The verdict on a claim of which `samples` holds the measure for each seed."""
    direction = _Holds(claim.direction, claim.published) if claim.direction else None
    if claim.holds is not None:
        return judge_statement(samples, _Holds(claim.holds, claim.published), direction)
    published = claim.published
    if isinstance(published, list) and any(isinstance(p, str) for p in published):
        return judge_order([str(p) for p in published], claim.unit, samples)
    numbers = [float(p) for p in published] if isinstance(published, list) else float(published)
    return judge_number(numbers, claim.qualifier, samples, direction, stated)


class _Holds:
    """A boolean expression over `measured` and `published`."""

    def __init__(self, expression: Expression, published: Published) -> None:
        self._expression = expression
        self._published = published

    def __call__(self, value: Value) -> bool:
        return bool(self._expression.evaluate(Context(()), {"measured": value, "published": self._published}))


def _explained(
    claim: Claim, judgement: Judgement, beside: Mapping[str, float | None], gaps: Sequence[str]
) -> Judgement:
    """Add the known reason of a difference, the values of other variants, and the missing seeds."""
    reason = judgement.reason
    if claim.otherwise and judgement.verdict in ("direction-only", "not-reproduced"):
        reason += f"; {claim.otherwise}"
    if beside:
        shown = ", ".join(f"{name} {'-' if value is None else f'{value:.4g}'}" for name, value in beside.items())
        reason += f" [beside: {shown}]"
    if gaps:
        reason += f" ({len(gaps)} seeds left out: {gaps[0]})"
    return replace(judgement, reason=reason)


def _beside(claim: Claim, measure: Expression, contexts: Sequence[Context]) -> dict[str, float | None]:
    """The measure on other variants and at other values, as means over seeds; None where nothing was run."""
    places = {variant: [context.of(variant) for context in contexts] for variant in claim.beside}
    for axes in claim.beside_at:
        name = ", ".join(f"{key.rsplit('.', 1)[-1]} = {json.dumps(value)}" for key, value in axes.items())
        places[name] = [context.at(axes) for context in contexts]
    found: dict[str, float | None] = {}
    for name, elsewhere in places.items():
        samples, _ = _samples(measure, elsewhere)
        numbers = [s for s in samples if isinstance(s, float)]
        found[name] = estimate(numbers).mean if numbers else None
    return found
