"""Measurement of a figure's claims on real packets: `[[testbed]]` tables of a ledger.

    [[testbed]]
    scenario = "l2dct/fig14-linux"
    runs = "l2dct/fig14-kernel"
    slowdown = 1

`scenario` is the figure that claims are about. `runs` is what is run for it, if that is another scenario: one with
the same variants and axes, so that the same measures apply. `set` overrides keys of it, such as the values of a
sweep. `claims` lists those that are judged, if not all. `otherwise` is what is known about claims that do not come
out, in place of what their own `otherwise` says, which is about the simulator. A figure without a table is run as it
is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from headway import names
from headway.claims.evaluate import judge_over_seeds
from headway.claims.ledger import Claim, claims_about, load_ledger
from headway.claims.tables import Source, TableReader, Types, near, read_document, read_text
from headway.claims.verdict import Judgement
from headway.data.claims import Interval, Value
from headway.errors import HeadwayError

TABLE = "testbed"
REQUIRED: Types = {"scenario": str}
OPTIONAL: Types = {"runs": str, "slowdown": int, "set": dict, "claims": list, "otherwise": str}
MOST_SLOWDOWN = 1_000_000


@dataclass(frozen=True)
class RealRuns:
    """Runs on real packets for the claims about a figure."""

    scenario: str
    runs: str
    slowdown: int | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    otherwise: str | None = None

    def judged(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims of a figure that are measured on real packets, with their records there."""
        measured = [claim for claim in claims if not self.only or claim.id in self.only]
        if self.otherwise is None:
            return measured
        return [replace(claim, otherwise=self.otherwise) for claim in measured]

    def facts(self) -> list[Any]:
        """Facts that a verdict depends on in addition to the claim and the scenario in `runs`."""
        return [self.runs, self.slowdown, dict(self.sets)]


def real_runs(scenario: str, ledger: Path) -> RealRuns:
    """Runs for the claims about a figure; the figure itself, as it is written, unless its ledger says otherwise."""
    return load_real_runs(ledger).get(scenario, RealRuns(scenario, scenario))


def load_real_runs(path: Path) -> Mapping[str, RealRuns]:
    """The tables of a ledger by figure; raises `ClaimsError` at the line of the first mistake."""
    return _tables(path, read_text(path)) if path.exists() else {}


@lru_cache(maxsize=32)
def _tables(path: Path, text: str) -> Mapping[str, RealRuns]:
    """The tables of a ledger whose text was read: parsed once, not for each claim that asks."""
    document, source = read_document(path, text)
    tables = document.get(TABLE, [])
    claims = load_ledger(path) if tables else []
    found: dict[str, RealRuns] = {}
    for index, entry in enumerate(tables):
        one = _read(source, index, entry, claims)
        if one.scenario in found:
            raise source.error(TABLE, index, "scenario", f"there are two tables about '{one.scenario}'")
        found[one.scenario] = one
    return found


def only_for_the_testbed(ledger: Path) -> dict[str, str]:
    """Scenarios that are there to be run on real packets, by name, with the figure whose claims they measure.

    No claim is about them, and in the simulator they would repeat that figure.
    """
    claimed = {claim.scenario for claim in load_ledger(ledger)} if ledger.exists() else set()
    tables = load_real_runs(ledger).values()
    return {one.runs: one.scenario for one in tables if one.runs != one.scenario and one.runs not in claimed}


def _read(source: Source, index: int, entry: Mapping[str, Any], claims: Sequence[Claim]) -> RealRuns:
    reader = TableReader(source, TABLE, index, entry)
    reader.check_keys(REQUIRED, OPTIONAL)
    about = [claim.id for claim in claims if claim.scenario == entry["scenario"]]
    if not about:
        scenarios = {claim.scenario for claim in claims}
        reader.fail("scenario", f"no claim is about '{entry['scenario']}'{near(entry['scenario'], scenarios)}")
    only = tuple(map(str, entry.get("claims", ())))
    for name in only:
        if name not in about:
            reader.fail("claims", f"no claim '{name}' is about {entry['scenario']}{near(name, about)}")
    slowdown = entry.get("slowdown")
    if slowdown is not None and not 1 <= slowdown <= MOST_SLOWDOWN:
        reader.fail("slowdown", f"'slowdown' is a whole number from 1 to {MOST_SLOWDOWN}, not {slowdown}")
    return RealRuns(
        entry["scenario"],
        entry.get("runs", entry["scenario"]),
        slowdown,
        entry.get("set", {}),
        only,
        entry.get("otherwise"),
    )


def scenario_of(runs: RealRuns) -> names.ScenarioFile:
    """The scenario that is run; raises `HeadwayError` if there is none of that name."""
    known = names.known_scenarios()
    if runs.runs not in known:
        raise HeadwayError(f"the testbed runs {runs.runs} for {runs.scenario}, and there is no such scenario")
    return known[runs.runs]


def variants_needed(claims: Sequence[Claim], variants: Sequence[str]) -> list[str]:
    """The variants that claims name; all of them where a claim with a measure names none."""
    needed: set[str] = set()
    for claim in claims:
        if claim.measure is None:
            continue
        own = {name for name in variants if name == claim.variant or claim.measure.quotes(name)}
        if not own:
            return list(variants)
        needed |= own
    return [name for name in variants if name in needed]


def judge_over_repetitions(claim: Claim, samples: Sequence[Value], stated: str) -> Judgement:
    """The verdict on the median of repeated measurements, with the smallest and the largest of them.

    The reason says how many repetitions would give the same verdict if each of them were alone.
    """
    middle = _by_place(samples, median)
    whole = judge_over_seeds(claim, [middle], stated)
    alone = sum(judge_over_seeds(claim, [sample], stated).verdict is whole.verdict for sample in samples)
    reason = f"{whole.reason}; {alone} of {len(samples)} repetitions alone give this verdict"
    low, high = _by_place(samples, min), _by_place(samples, max)
    return Judgement(whole.verdict, reason, whole.measured, None, len(samples), _ends(low, high))


def _by_place(samples: Sequence[Value], combine: Any) -> Value:  # noqa: ANN401  (of some numbers one)
    """Each number of a sample combined over all samples, in the shape of a sample."""
    first = samples[0]
    if isinstance(first, dict):
        tables = [sample for sample in samples if isinstance(sample, dict)]
        return {name: combine([table[name] for table in tables]) for name in first}
    if isinstance(first, list):
        lists = [sample for sample in samples if isinstance(sample, list)]
        return [combine(column) for column in zip(*lists, strict=True)]
    return float(combine(samples))


def _ends(low: Value, high: Value) -> Interval:
    if isinstance(low, dict) and isinstance(high, dict):
        return {name: (low[name], high[name]) for name in low}
    if isinstance(low, list) and isinstance(high, list):
        return list(zip(low, high, strict=True))
    assert isinstance(low, float)
    assert isinstance(high, float)
    return (low, high)


def digest_of(runs: RealRuns, claim_digest: str) -> str:
    """Digest of all that a verdict of the testbed depends on apart from the program and the machine."""
    facts = json.dumps([claim_digest, runs.facts()], sort_keys=True, default=str)
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def claims_measured(file: names.ScenarioFile) -> tuple[RealRuns, list[Claim]]:
    """Runs for a figure, and its claims that are judged by that; raises if there is none."""
    runs = real_runs(file.name, file.claims)
    claims = runs.judged(claims_about(file.name, file.claims))
    if not claims:
        raise HeadwayError(f"no claim of a ledger is about {file.name}: there is nothing to judge")
    return runs, claims
