"""Readings on record: `readings.json` beside the verdicts, one entry a claim.

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

from headway import __version__
from headway.claims.choices import load_choices
from headway.claims.contradictions import Contradiction, load_contradictions
from headway.claims.ledger import Claim
from headway.claims.record import OUTDATED
from headway.claims.record import digest as claim_digest
from headway.claims.record import recorded as verdicts_on_record
from headway.claims.verdict import Verdict
from headway.data.reader import read_record
from headway.data.toml import parsed
from headway.explain.result import REACHABLE, UNREACHABLE
from headway.explain.targets import Target
from headway.files import write_json
from headway.layout import READINGS_FILE
from headway.names import ScenarioFile

# Verdicts on claims that cannot come out, whatever is run.
CONTRADICTS = "contradicts itself"
CANNOT = UNREACHABLE
STILL_NOT = "not under"
IN_DIRECTION = "direction only under"
HOLDS_TOO = "also under"
NOT_ANY_MORE = "no longer under"


def readings_path(file: ScenarioFile) -> Path:
    """Where the readings of a paper's claims are kept."""
    return file.path.parent / READINGS_FILE


def record(target: Target, result: Mapping[str, Any]) -> Path:
    """Put what was found on record; entries about claims that this result does not speak of stay."""
    path = readings_path(target.paper[0])
    kept = _read(path)
    files = {file.name: file for file in target.paper}
    claims = {c.id: c for figure in target.to_hold(1) for c in figure.claims}
    for standing in result["paper"][:1]:
        scales = {figure["scenario"]: figure["scale"] for figure in standing["figures"]}
        for name, outcomes in standing["claims"].items():
            claim = claims[name]
            entry = _held(standing, outcomes)
            entry |= {"scale": scales[claim.scenario], "version": __version__}
            kept[name] = {**entry, "digest": digest(claim, files[claim.scenario], entry)}
    for found in result.get("claims", []):
        if found["status"] == UNREACHABLE:
            entry = kept.get(found["id"], {"values": {}, "scale": None, "version": __version__})
            entry |= {"word": UNREACHABLE, "text": found["text"], "bound": found["bound"]}
            claim = claims[found["id"]]
            kept[found["id"]] = {**entry, "digest": digest(claim, files[claim.scenario], entry)}
    write_json(path, dict(sorted(kept.items())))
    return path


def _held(standing: Mapping[str, Any], outcomes: Mapping[str, Any]) -> dict[str, Any]:
    """What a reading gives for a claim at the paper's own scale."""
    under, stated = outcomes["under"], outcomes["stated"]
    reading = standing["reading"]
    word = _word(under["verdict"], stated["verdict"] if stated else None)
    return {
        "word": word,
        "text": f"{word} {reading['text']}",
        "values": reading["values"],
        "degrees": reading["degrees"],
        "verdict": under["verdict"],
        "measured": under["measured"],
        "ci95": under["ci95"],
        "seeds": under["seeds"],
        "stated": stated["verdict"] if stated else None,
    }


def _word(under: str, stated: str | None) -> str:
    if under == Verdict.REPRODUCED:
        return HOLDS_TOO if stated == Verdict.REPRODUCED else REACHABLE
    if stated == Verdict.REPRODUCED:
        return NOT_ANY_MORE
    return IN_DIRECTION if under == Verdict.DIRECTION_ONLY else STILL_NOT


def digest(claim: Claim, file: ScenarioFile, entry: Mapping[str, Any]) -> str:
    """What a reading's entry depends on: the claim, its scenario, and what the reading's choices do to runs."""
    document = parsed(file.path.read_text(encoding="utf-8"))
    choices = load_choices(file.claims)
    known = {choice.id for choice in choices.all}
    used = {name: [one.facts() for one in choices[name].settings] for name in entry["values"] if name in known}
    facts = [claim_digest(claim, document, entry.get("scale")), entry["values"], used]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def listed(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[dict[str, Any]]:
    """For each claim its facts, its verdict on record, and what its reading gives.

    A claim that does not come out and that cannot, because the paper contradicts itself or because no transport could
    show it on these flows, has a verdict that says so; `judged` keeps what the runs alone gave.
    """
    against = cache(load_contradictions)
    verdicts = verdicts_on_record(claims, scenarios)
    rows = []
    for claim, verdict, reading in zip(claims, verdicts, _readings(claims, scenarios), strict=True):
        row = claim.published_facts() | verdict | reading | {"judged": verdict["verdict"]}
        if verdict["verdict"] == Verdict.NOT_REPRODUCED:
            file = scenarios[claim.scenario]
            row |= _why_not(claim, [c for c in against(file.claims) if claim.id in c.claims], reading)
        rows.append(row)
    return rows


def _why_not(claim: Claim, contradictions: Sequence[Contradiction], reading: Mapping[str, Any]) -> dict[str, str]:
    """The verdict on a claim that cannot come out, and why; nothing for another."""
    for one in contradictions:
        return {"verdict": CONTRADICTS, "reason": one.reason(claim.id)}
    if reading["reading_word"] == UNREACHABLE:
        return {"verdict": CANNOT, "reason": reading["reading"]}
    return {}


def _readings(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[dict[str, Any]]:
    """For each claim what its reading gives, and the words for it; empty where none is on record."""
    entries = cache(_read)
    rows = []
    for claim in claims:
        file = scenarios.get(claim.scenario)
        entry = entries(readings_path(file)).get(claim.id) if file is not None else None
        rows.append(_row(claim, file, entry))
    return rows


def _row(claim: Claim, file: ScenarioFile | None, entry: Mapping[str, Any] | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(("reading_verdict", "reading_measured", "reading_values"))
    row |= {"reading": "", "reading_word": ""}
    if file is None or entry is None:
        return row
    if entry.get("digest") != digest(claim, file, entry):
        return row | {"reading": OUTDATED, "reading_word": OUTDATED}
    row |= {"reading": entry["text"], "reading_word": entry["word"], "reading_values": entry["values"]}
    return row | {"reading_verdict": entry.get("verdict"), "reading_measured": entry.get("measured")}


def _read(path: Path) -> dict[str, Any]:
    return read_record(path, "headway explain")
