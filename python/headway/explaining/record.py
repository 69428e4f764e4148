"""Readings on record: `readings.json` next to the verdicts, one entry a claim.

A reading never turns a verdict into *reproduced*. What it gives has a word of its own, a file of its own, and a column
of its own in `headway list claims`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headway import names
from headway._headway import version
from headway.claims.choices import load_choices
from headway.claims.contradictions import Contradiction, load_contradictions
from headway.claims.ledger import Claim, known_claims
from headway.claims.record import digest as claim_digest
from headway.claims.record import recorded as verdicts_on_record
from headway.claims.testbed_record import recorded as testbed_on_record
from headway.data.claims import CONTRADICTS, OUTDATED, ListedClaim, RealClaim, Recorded, UnderReading, Verdict
from headway.data.explanation import (
    BoundFound,
    ClaimFound,
    Explanation,
    HeldClaim,
    HeldReading,
    ReadingFound,
)
from headway.data.jsonable import plain
from headway.data.reader import read_record
from headway.data.toml import parsed
from headway.errors import HeadwayError, NameNotFound
from headway.explaining.reach import Reach
from headway.explaining.result import HOLDS, REACHABLE, UNREACHABLE
from headway.explaining.targets import Target
from headway.files import write_json
from headway.inputs import read_text
from headway.layout import READINGS_FILE
from headway.names import ScenarioFile

STILL_NOT = "not under"
# The parts of an entry that say that a claim is out of reach.
PROOF = ("word", "text", "bound")
IN_DIRECTION = "direction only under"
HOLDS_TOO = "also under"
NOT_ANY_MORE = "no longer under"


def readings_path(file: ScenarioFile) -> Path:
    """File of the readings of a paper's claims."""
    return file.path.parent / READINGS_FILE


def record(target: Target, found: Explanation) -> tuple[Path, int]:
    """Put the findings on record, and say where and of how many claims; entries about all other claims stay.

    Entries of other figures become the reading's own where it sets the same for their runs as theirs did.
    Without whole figures these are the bounds of the search alone.
    """
    path = readings_path(target.paper[0])
    keeper = _Keeper(target, _read(path))
    for held in found.paper[:1]:
        keeper.hold(held)
        keeper.carry(held)
    for claim in found.claims:
        keeper.bound(claim)
    if keeper.written:
        write_json(path, dict(sorted(keeper.entries.items())))
    return path, len(keeper.written)


class _Keeper:
    """The entries of a paper, and the effect of new ones on them."""

    def __init__(self, target: Target, entries: Mapping[str, Any]) -> None:
        self.entries = dict(entries)
        self.written: set[str] = set()
        self._choices = target.choices
        self._files = {file.name: file for file in target.paper}
        figures = target.to_hold(1)
        self._claims = {c.id: c for figure in figures for c in figure.claims}
        self._reach = Reach(figures)

    def hold(self, held: HeldReading) -> None:
        """A reading held against whole figures; proofs that claims are out of reach stay, unless these come out."""
        scales = {figure.scenario: figure.scale for figure in held.figures}
        for name, claim in held.claims.items():
            entry = _held(held.reading, claim)
            entry |= {"scale": scales[self._claims[name].scenario], "version": version()}
            known = self._valid(name)
            if known.get("word") == UNREACHABLE and not _comes_out(entry):
                entry |= {key: known[key] for key in PROOF}
            self._write(name, entry)

    def carry(self, held: HeldReading) -> None:
        """Take over entries of other figures where the reading sets the same for their runs."""
        reading = held.reading
        for name, claim in self._claims.items():
            known = self._valid(name)
            if name in held.claims or "verdict" not in known:
                continue
            if self._part(known["values"], claim) == self._part(reading.values, claim):
                text = f"{_word(known['verdict'], known['stated'])} {reading.text}"
                kept = {"values": dict(reading.values), "degrees": reading.degrees}
                self._write(name, known | kept | ({} if known["word"] == UNREACHABLE else {"text": text}))

    def _part(self, values: Mapping[str, Any], claim: Claim) -> dict[str, Any]:
        """Part of a reading for the runs of a claim: choices in scope that set something for its transports."""
        return {
            choice.id: values[choice.id]
            for choice in self._choices.about(claim.scenario)
            if choice.id in values and self._reach.touches(choice, claim)
        }

    def bound(self, found: ClaimFound) -> None:
        """Record a search's result about the bound of a claim: a proof, or that one on record does not hold any
        more."""
        name = found.id
        known = self._valid(name)
        if found.status == UNREACHABLE:
            if not _comes_out(known):
                fresh: dict[str, Any] = {"values": {}, "scale": None, "version": version()}
                proof = {"word": UNREACHABLE, "text": found.text, "bound": plain(found.bound)}
                self._write(name, (known or fresh) | proof)
        elif known.get("word") == UNREACHABLE and (found.status in (HOLDS, REACHABLE) or _within(found.bound)):
            self._withdraw(name, known)

    def _withdraw(self, name: str, entry: dict[str, Any]) -> None:
        """Remove the bound from an entry whose proof no longer holds; the result of a reading stays."""
        entry = {key: value for key, value in entry.items() if key != "bound"}
        if "verdict" in entry:
            word = _word(entry["verdict"], entry["stated"])
            text = f"{word} {self._choices.show(self._choices.reading(entry['values']))}"
            self._write(name, entry | {"word": word, "text": text})
        else:
            del self.entries[name]
            self.written.add(name)

    def _valid(self, name: str) -> dict[str, Any]:
        """Entry of a claim; empty if the claim has changed since."""
        entry = self.entries.get(name)
        claim = self._claims[name]
        if entry is None or entry.get("digest") != digest(claim, self._files[claim.scenario], entry):
            return {}
        return dict(entry)

    def _write(self, name: str, entry: dict[str, Any]) -> None:
        claim = self._claims[name]
        self.entries[name] = {**entry, "digest": digest(claim, self._files[claim.scenario], entry)}
        self.written.add(name)


def _comes_out(entry: Mapping[str, Any]) -> bool:
    """True if a claim is reproduced in whole figures, as stated or under the reading: that refutes any proof."""
    return Verdict.REPRODUCED in (entry.get("verdict"), entry.get("stated"))


def _within(bound: BoundFound | None) -> bool:
    return bound is not None and bound.reachable


def _held(reading: ReadingFound, claim: HeldClaim) -> dict[str, Any]:
    """Result of a reading for a claim at the paper's own scale."""
    under, stated = claim.under, claim.stated
    word = _word(under.verdict, stated.verdict if stated else None)
    return {
        "word": word,
        "text": f"{word} {reading.text}",
        "values": dict(reading.values),
        "degrees": reading.degrees,
        "verdict": under.verdict,
        "measured": under.measured,
        "ci95": under.ci95,
        "seeds": under.seeds,
        "stated": stated.verdict if stated else None,
    }


def _word(under: str, stated: str | None) -> str:
    if under == Verdict.REPRODUCED:
        return HOLDS_TOO if stated == Verdict.REPRODUCED else REACHABLE
    if stated == Verdict.REPRODUCED:
        return NOT_ANY_MORE
    return IN_DIRECTION if under == Verdict.DIRECTION_ONLY else STILL_NOT


def digest(claim: Claim, file: ScenarioFile, entry: Mapping[str, Any]) -> str:
    """Digest of what a reading's entry depends on: the claim, its scenario, and what the reading's choices do to
    runs."""
    document = parsed(read_text(file.path))
    choices = load_choices(file.claims)
    known = {choice.id for choice in choices.all}
    used = {name: [one.facts() for one in choices[name].settings] for name in entry["values"] if name in known}
    facts = [claim_digest(claim, document, entry.get("scale")), entry["values"], used]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def listed(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[ListedClaim]:
    """For each claim its facts, its verdict on record, and the verdict under its reading.

    A claim that is not reproduced and cannot be, because the paper contradicts itself or because no transport could
    show it on these flows, has a verdict that says so; `judged` keeps what the runs alone gave.
    """
    against = cache(load_contradictions)
    verdicts = verdicts_on_record(claims, scenarios)
    testbed = testbed_on_record(claims, scenarios)
    rows = []
    for claim, verdict, reading, real in zip(claims, verdicts, _readings(claims, scenarios), testbed, strict=True):
        row = _listed(claim, verdict, reading, real)
        if row.verdict == Verdict.NOT_REPRODUCED:
            file = scenarios[claim.scenario]
            row = _why_not(row, [c for c in against(file.claims) if claim.id in c.claims])
        rows.append(row)
    return rows


def claims_of(target: str) -> list[ListedClaim]:
    """The claims of a claim's name, a figure or a paper, with what is on record about them.

    Raises `NameNotFound` for a name that is none of them.
    """
    every = known_claims()
    known = names.known_scenarios()
    papers = {claim.scenario.partition("/")[0] for claim in every}
    if target in papers:
        wanted = [claim for claim in every if claim.scenario.partition("/")[0] == target]
    elif named := [claim for claim in every if claim.id == target]:
        wanted = named
    else:
        try:
            file = names.resolve(target)
        except NameNotFound:
            every_name = [*papers, *(claim.id for claim in every), *known]
            raise NameNotFound(
                "claim, figure or paper", target, every_name, "all claims: headway list claims"
            ) from None
        wanted = [claim for claim in every if claim.scenario == file.name]
        if not wanted:
            raise HeadwayError(f"{file.name}: no claim of a paper is measured on it")
    return listed(wanted, known)


def _listed(claim: Claim, verdict: Recorded, reading: UnderReading, real: RealClaim | None) -> ListedClaim:
    return ListedClaim(
        id=claim.id,
        figure=claim.figure,
        place=claim.place,
        metric=claim.metric,
        published=claim.published,
        unit=claim.unit,
        qualifier=str(claim.qualifier),
        scenario=claim.scenario,
        how=claim.how,
        verdict=verdict.verdict,
        measured=verdict.measured,
        ci95=verdict.ci95,
        seeds=verdict.seeds,
        scale=verdict.scale,
        reason=verdict.reason,
        command=verdict.command,
        reading_verdict=reading.verdict,
        reading_measured=reading.measured,
        reading_values=reading.values,
        reading=reading.text,
        reading_word=reading.word,
        judged=verdict.verdict,
        testbed=real,
    )


def _why_not(row: ListedClaim, contradictions: Sequence[Contradiction]) -> ListedClaim:
    """The claim with the reason why it cannot come out, if there is one."""
    for one in contradictions:
        return row.because(CONTRADICTS, one.reason(row.id))
    return row.because(UNREACHABLE, row.reading) if row.reading_word == UNREACHABLE else row


def _readings(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[UnderReading]:
    """For each claim the verdict under its reading."""
    entries = cache(_read)
    rows = []
    for claim in claims:
        file = scenarios.get(claim.scenario)
        entry = entries(readings_path(file)).get(claim.id) if file is not None else None
        rows.append(_under(claim, file, entry))
    return rows


def _under(claim: Claim, file: ScenarioFile | None, entry: Mapping[str, Any] | None) -> UnderReading:
    if file is None or entry is None:
        return UnderReading()
    if entry.get("digest") != digest(claim, file, entry):
        return UnderReading(text=OUTDATED, word=OUTDATED)
    # No run can judge a pending claim, so its reading neither reproduces it nor fails to.
    judged = entry.get("verdict") != Verdict.PENDING.value
    return UnderReading(
        verdict=entry.get("verdict"),
        measured=entry.get("measured"),
        values=entry["values"],
        text=entry["text"] if judged else "",
        word=entry["word"] if judged else "",
    )


def _read(path: Path) -> dict[str, Any]:
    return read_record(path, "headway explain")
