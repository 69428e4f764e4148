"""Verdicts on record: measurements of `headway reproduce --record`, kept next to the claims that they judge.

`verdicts.json` holds one entry a claim. Each carries a digest of the claim and of what its scenario runs for it, so
that a verdict whose claim or scenario has changed since shows as outdated instead of speaking for what it did not
measure.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headway._headway import version
from headway.claims.evaluate import Result
from headway.claims.ledger import Claim
from headway.data.claims import OUTDATED, Recorded, Verdict
from headway.data.reader import read_record
from headway.data.toml import parsed
from headway.errors import ResultsError
from headway.files import write_json
from headway.inputs import read_text
from headway.names import VERDICTS_FILE, ScenarioFile

KEPT = ("verdict", "measured", "ci95", "seeds", "scale", "reason")
# Tables and keys of a scenario that change nothing about its runs.
PROSE = ("title", "description", "paper", "report")
# Seeds that a verdict takes where none is on record.
SEEDS = 5


def verdicts_path(file: ScenarioFile) -> Path:
    """File of the verdicts on a scenario's claims."""
    return file.path.parent / VERDICTS_FILE


def digest(claim: Claim, document: Mapping[str, Any], scale: str | None) -> str:
    """Digest of all that a verdict depends on apart from the program: the claim as it is judged, and what is run for
    it.

    `document` is the scenario's file. Its titles, its report, its other scales, and variants that the claim does not
    name do not enter: a user's transport may stand next to those of a paper without unsettling its verdicts.
    """
    expressions = [claim.measure, claim.holds, claim.direction]
    spelt_out = [e.spelt_out() if e else [] for e in expressions]
    facts = [claim.published_facts(), claim.variant, dict(claim.at or {}), spelt_out]
    run = {key: value for key, value in document.items() if key not in PROSE}
    run["scale"] = document.get("scale", {}).get(scale) if scale else None
    variants = document.get("variants", {})
    named = [name for name in variants if name == claim.variant or any(e.quotes(name) for e in expressions if e)]
    if named:
        run["variants"] = {name: variants[name] for name in named}
    return hashlib.sha256(json.dumps([facts, run], sort_keys=True, default=str).encode()).hexdigest()[:16]


def command(claim: Claim, scale: str | None = "paper", seeds: int | None = SEEDS) -> str:
    """The line that measures a claim."""
    words = ["headway", "reproduce", claim.scenario]
    words += ["--scale", scale] if scale else []
    words += ["--seeds", str(seeds)] if seeds else []
    return shlex.join([*words, "--out", f"out/{claim.scenario}"])


def record(file: ScenarioFile, results: Sequence[Result], scale: str | None) -> Path:
    """Replace the verdicts on a scenario's claims by these; those on other scenarios stay."""
    path = verdicts_path(file)
    kept = _read(path)
    document = scenario_document(file.path)
    for result in results:
        row = result.row(scale).document()
        entry = {key: row[key] for key in KEPT}
        kept[result.claim.id] = {**entry, "version": version(), "digest": digest(result.claim, document, scale)}
    write_json(path, dict(sorted(kept.items())))
    return path


def recorded(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[Recorded]:
    """For each claim its entry on record, and the command that measures it."""
    verdicts = cache(_read)
    documents = cache(scenario_document)
    rows = []
    for claim in claims:
        file = scenarios.get(claim.scenario)
        entry = verdicts(verdicts_path(file)).get(claim.id, {}) if file else {}
        rows.append(_row(claim, entry, documents(file.path) if file else None))
    return rows


def scenario_document(path: Path) -> Mapping[str, Any]:
    """A scenario's file; empty if it is none any more, so that nothing on record speaks for it."""
    try:
        return parsed(read_text(path))
    except (OSError, ResultsError):
        return {}


def _row(claim: Claim, entry: Mapping[str, Any], document: Mapping[str, Any] | None) -> Recorded:
    verdict, reason = str(entry.get("verdict")), entry.get("reason")
    if document is None:
        verdict, reason = Verdict.PENDING.value, f"there is no scenario {claim.scenario}"
    elif not entry:
        verdict, reason = Verdict.PENDING.value, claim.pending or "no verdict is on record"
    elif entry.get("digest") != digest(claim, document, entry.get("scale")):
        reason = f"the claim or its scenario has changed since; it was {verdict} before"
        verdict = OUTDATED
    return Recorded(
        verdict=verdict,
        measured=entry.get("measured"),
        ci95=entry.get("ci95"),
        seeds=entry.get("seeds"),
        scale=entry.get("scale"),
        reason=reason,
        command=command(claim, entry.get("scale", "paper"), entry.get("seeds") or SEEDS),
    )


def _read(path: Path) -> dict[str, Any]:
    return read_record(path, "headway reproduce")
